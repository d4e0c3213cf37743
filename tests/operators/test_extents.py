"""Static extents are exact integers: a result has its exact shape, or the error says which size does not fit."""

import re
from math import prod
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stepwell import GraphExecutor, StepwellError, build_graph, relay
from stepwell.core.dtypes import parse_dtype
from stepwell.core.sizes import MAX_SIZE
from stepwell.frontends.te import TeError
from stepwell.operators.relay import dtype_of_tensor, result_types, shape_of, tensor_type
from stepwell.tools.testing.operators.extents import SHAPE_SAMPLES, ShapeSample
from stepwell.transforms.pipelines import parse_passes, run_pipeline

TOO_LARGE = re.compile(
    rf"expected (at least 0 and )?at most ({MAX_SIZE}|{2**53}|{2**31})( bytes)?$|does not fit int64$"
)


def is_representable(shape: list[int], element_bytes: int) -> bool:
    return all(0 <= n <= MAX_SIZE for n in shape) and prod(n for n in shape if n) * element_bytes <= MAX_SIZE


def inferred_types(name: str, sample: ShapeSample) -> Any:
    """The types of the results of an operator, or its error."""
    dtype = "float32" if name == "image.affine_grid" else "int8"
    second = "int64" if name in ("take", "gather_nd") else dtype
    try:
        kinds = zip(sample.operands, [dtype, second, *[dtype] * 4], strict=False)
        operands = tuple(tensor_type(shape, kind) for shape, kind in kinds)
        return result_types(name, operands, tuple(sample.attributes.items()))
    except StepwellError as error:
        return error


@pytest.mark.parametrize("name", SHAPE_SAMPLES)
@given(data=st.data())
def test_a_result_has_its_exact_shape_or_is_refused(name: str, data: st.DataObject) -> None:
    sample = SHAPE_SAMPLES[name](data.draw)
    types = inferred_types(name, sample)
    if isinstance(types, StepwellError):
        is_empty = min(n for shape in sample.results for n in shape) <= 0  # no window fits the image
        assert is_empty or TOO_LARGE.search(str(types)), (sample, types)
        return
    assert [list(shape_of(type)) for type in types] == sample.results
    for type in types:
        sizes: Any = shape_of(type)
        assert is_representable(list(sizes), parse_dtype(dtype_of_tensor(type)).bytes)


@pytest.mark.parametrize(
    ("name", "shapes", "attributes"),
    [
        ("tile", [[65537]], {"reps": (65537,)}),
        ("concatenate", [[2**30], [2**30], [2**30], [2**30], [8]], {"axis": 0}),
        ("concatenate", [[2**31 - 1], [2**31 - 1]], {"axis": 0}),
    ],
)
def test_an_extent_beyond_int32_is_no_smaller_number(
    name: str, shapes: list[list[int]], attributes: dict[str, Any]
) -> None:
    (type,) = result_types(name, tuple(tensor_type(shape, "int8") for shape in shapes), tuple(attributes.items()))
    assert shape_of(type) == (65537**2 if name == "tile" else sum(shape[0] for shape in shapes),)


def test_an_error_states_the_tensor_the_size_and_the_limit() -> None:
    with pytest.raises(TeError, match=r"a size of 21267647932558653966460912964485513216, expected at most \d+$"):
        result_types("tile", (tensor_type([2**62], "int8"),), (("reps", (2**62,)),))
    with pytest.raises(
        TeError, match=r"shape of T_ones: \[4, 4611686018427387904\] of 1 bytes an element, expected at"
    ):
        result_types("ones", (), (("shape", (4, 2**62)), ("dtype", "int8")))


def test_positions_among_many_elements_are_not_truncated() -> None:
    with pytest.raises(TeError, match="positions of type int32 among 4294967296 elements, expected at most 2147483648"):
        result_types("argmax", (tensor_type([2**16, 2**16], "int8"),), ())


@pytest.mark.parametrize("start", [65537**2 - 4, 2**31 - 2])
def test_slices_of_large_results_have_the_elements_at_their_positions(start: int) -> None:
    x = relay.var("x", shape=(65537,), dtype="int32")
    part = relay.strided_slice(relay.tile(x, [65537]), [start], [start + 4])  # one kernel, which computes four elements
    executor = GraphExecutor(build_graph(relay.module(relay.Function([x], part))))
    executor.run(x=np.arange(65537, dtype="int32"))
    np.testing.assert_array_equal(executor.get_output(0), np.arange(start, start + 4) % 65537)


def test_kernels_reshape_more_elements_than_int32_counts() -> None:
    x = relay.var("x", shape=(2**16, 2**16), dtype="int8")
    rows = relay.strided_slice(relay.reshape(x, [2**15, 2**17]), [2**15 - 1, 2**17 - 1], [2**15, 2**17])
    text = str(
        run_pipeline(relay.module(relay.Function([x], rows)), parse_passes("relay-fuse-operators,convert-relay-to-te"))
    )
    assert "i64" in text
    assert "arith.muli" in text
    assert all(": i64" in line for line in text.splitlines() if "arith.muli" in line)

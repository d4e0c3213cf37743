"""Operators that round once, and whose intermediate values do not overflow."""

from typing import Any

import numpy as np
import pytest

from stepwell import build
from stepwell.core.dtypes import dtype_of_numpy, numpy_dtype
from stepwell.frontends import te
from stepwell.operators import OPERATORS


def run(name: str, *arrays: np.ndarray, **attributes: Any) -> np.ndarray:
    inputs = [te.placeholder(x.shape, dtype_of_numpy(x.dtype).name, name=f"in{n}") for n, x in enumerate(arrays)]
    made = OPERATORS[name].formula(*inputs, **attributes)
    got = np.zeros([int(extent) for extent in made.shape], made.dtype)
    build(te.create_prim_func([*inputs, made]))["main"](*arrays, got)
    return got


@pytest.mark.parametrize("name", ["nn.layer_norm", "nn.rms_norm", "nn.l2_normalize"])
def test_sums_of_half_floats_are_wide(name: str) -> None:
    """The sum of 70000 ones and the square of 300 exceed the largest half float."""
    x = np.random.default_rng(0).normal(300, 20, (2, 70_000)).astype("float16")
    ones = [np.ones(70_000, "float16")] * {"nn.layer_norm": 2, "nn.rms_norm": 1, "nn.l2_normalize": 0}[name]
    said = {"eps": 1e-9, "axis": -1} if name == "nn.l2_normalize" else {}
    wanted = OPERATORS[name].reference(x, *ones, **said).astype("float32")
    np.testing.assert_allclose(run(name, x, *ones, **said).astype("float32"), wanted, 2**-10, 1e-4)


def test_a_variance_next_to_a_large_mean() -> None:
    """The mean of squares minus the square of the mean would cancel all digits."""
    x = (np.random.default_rng(0).normal(0, 1, (3, 100)) + 1e4).astype("float32")
    ones, zeros = np.ones(100, "float32"), np.zeros(100, "float32")
    wanted = OPERATORS["nn.layer_norm"].reference(x, ones, zeros)
    np.testing.assert_allclose(run("nn.layer_norm", x, ones, zeros), wanted, atol=1e-2)


@pytest.mark.parametrize("name", ["nn.elu", "nn.selu", "nn.celu", "nn.softplus", "nn.mish", "nn.silu", "nn.gelu"])
def test_no_digit_is_lost_next_to_0_and_nothing_overflows(name: str) -> None:
    small = np.geomspace(1e-30, 1, 50).astype("float32")
    x = np.concatenate([-small, small, np.array([-1e30, -200, -90, 0, 90, 200, 1e30], "float32")])
    got, wanted = run(name, x), OPERATORS[name].reference(x)
    np.testing.assert_allclose(got, wanted, 3e-6, 1e-37)


def test_a_range_counts_exactly() -> None:
    got = run("arange", start=0, stop=20_000_001, step=5_000_000, dtype="float32")
    np.testing.assert_array_equal(got, np.arange(0, 20_000_001, 5_000_000, dtype="float32"))
    halves = run("arange", start=0, stop=6000, dtype="float16")
    np.testing.assert_array_equal(halves, np.arange(6000).astype("float16"))
    assert run("arange", start=2**62, stop=2**62 + 2, dtype="int64").tolist() == [2**62, 2**62 + 1]


IMAGE, LINE = (1, 2, 5, 4), (2, 6)
SMALL_FLOATS: dict[str, tuple[str, list[tuple[int, ...]], dict[str, Any]]] = {
    "nn.dense": ("nn.dense", [LINE, (3, 6)], {}),
    "nn.matmul": ("nn.matmul", [LINE, (6, 3)], {}),
    "nn.batch_matmul": ("nn.batch_matmul", [(2, 3, 6), (2, 4, 6)], {}),
    "nn.contrib_dense_pack": ("nn.contrib_dense_pack", [LINE, (1, 6, 4)], {"weight_layout": "NC4n"}),
    "nn.conv2d": ("nn.conv2d", [IMAGE, (3, 2, 3, 3)], {"padding": 1}),
    "nn.conv2d_transpose": ("nn.conv2d_transpose", [IMAGE, (2, 3, 3, 3)], {}),
    "einsum": ("einsum", [LINE, (6, 3)], {"equation": "ij,jk->ik"}),
    "nn.avg_pool2d": ("nn.avg_pool2d", [IMAGE], {"pool_size": 2}),
    "nn.max_pool2d": ("nn.max_pool2d", [IMAGE], {"pool_size": 3, "padding": 1}),
    "nn.adaptive_avg_pool2d": ("nn.adaptive_avg_pool2d", [IMAGE], {"output_size": 2}),
    "nn.adaptive_max_pool2d": ("nn.adaptive_max_pool2d", [IMAGE], {"output_size": 2}),
    "cumsum": ("cumsum", [LINE], {"axis": 1}),
    "cumprod": ("cumprod", [LINE], {"axis": 1}),
    "scatter_nd": ("scatter_nd", [LINE, (1, 1), (1, 6)], {"mode": "add"}),
    "sort": ("sort", [LINE], {"is_ascend": False}),
    "argsort": ("argsort", [LINE], {"is_ascend": False}),
    "topk": ("topk", [LINE], {"k": 3, "ret_type": "values"}),
}


@pytest.mark.parametrize("dtype", ["bfloat16", "float8_e4m3fn"])
@pytest.mark.parametrize("case", SMALL_FLOATS)
def test_references_of_small_floats_have_fractions(case: str, dtype: str) -> None:
    """References of data types from ml_dtypes compute as those of float32, and round once."""
    name, shapes, said = SMALL_FLOATS[case]
    draw = np.random.default_rng(3)
    operands = [(draw.integers(-8, 9, shape) / 8).astype(numpy_dtype(dtype)) for shape in shapes]
    if case == "scatter_nd":
        operands[1] = np.array([[1]])
    exact = [each.astype("float32") if each.dtype.name == dtype else each for each in operands]
    got, wanted = OPERATORS[name].reference(*operands, **said), OPERATORS[name].reference(*exact, **said)
    if case != "argsort":
        assert got.dtype == numpy_dtype(dtype)
    np.testing.assert_array_equal(got.astype("float32"), wanted.astype(got.dtype).astype("float32"))


def test_a_range_of_small_floats_has_fractions() -> None:
    got = OPERATORS["arange"].reference(start=0, stop=2, step=0.5, dtype="bfloat16")
    assert got.astype("float32").tolist() == [0, 0.5, 1, 1.5]

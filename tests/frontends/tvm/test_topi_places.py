"""Names of `tvm.topi` on places of elements, scans and slices whose bounds are tensors, beside numpy."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import stepwell.frontends.tvm as tvm
from stepwell import OptionError
from stepwell.expressions.errors import TeError
from stepwell.frontends.tvm import te, tir, topi

Array = np.ndarray[Any, Any]
INTEGERS = st.lists(st.integers(-3, 3), min_size=0, max_size=9)


def placeholder(array: Array, name: str) -> te.Tensor:
    return te.placeholder(array.shape, array.dtype.name, name)


def run(results: Any, inputs: dict[te.Tensor, Array]) -> list[Array]:
    outs = list(results) if isinstance(results, list) else [results]
    arrays = [np.full(topi.get_const_tuple(each.shape), 99, each.dtype) for each in outs]
    tvm.build(te.create_prim_func([*inputs, *outs]))(*inputs.values(), *arrays)
    return arrays


# Places of elements


@pytest.mark.parametrize("shape", [(1,), (7,), (0,), (2, 3), (1, 5, 2), (2, 1, 2, 3), (1, 2, 1, 2, 2)])
def test_the_places_of_elements_that_are_not_zero(shape: tuple[int, ...]) -> None:
    x = np.random.default_rng(0).integers(-1, 2, shape).astype("float32")
    data, expected = placeholder(x, "x"), np.argwhere(x)
    for rows in (0, max(len(expected) - 1, 0), len(expected) + 2):
        (found,) = run(topi.argwhere((rows, x.ndim), data), {data: x})
        np.testing.assert_array_equal(found[: len(expected)], expected[:rows])
        assert (found[len(expected) :] == -1).all()
    like = te.placeholder((len(expected), x.ndim), "int32")
    np.testing.assert_array_equal(run(topi.argwhere(like, data), {data: x})[0], expected)
    named = getattr(topi, f"hybrid_argwhere_{x.ndim}d")
    np.testing.assert_array_equal(run(named((max(x.size, 1), x.ndim), data), {data: x})[0][: len(expected)], expected)


def test_places_have_an_index_for_each_dimension() -> None:
    condition = te.placeholder((2, 3), "bool")
    with pytest.raises(TeError, match=r"argwhere: output_shape \[4, 3\] for 2 dimensions, expected a number of rows"):
        topi.argwhere((4, 3), condition)
    with pytest.raises(TeError, match="argwhere: output_shape"):
        topi.argwhere((4, 0), te.placeholder((), "bool"))
    with pytest.raises(TeError, match="hybrid_argwhere_3d of 2 dimensions, expected 3"):
        topi.hybrid_argwhere_3d((4, 3), condition)


def in_order(x: Array) -> tuple[Array, Array, Array, Array]:
    """The distinct elements in the order of their first occurrence, these, the numbers of all elements, the counts."""
    values, first, inverse, counts = np.unique(x, True, True, True)
    order = np.argsort(first)
    return values[order], first[order], np.argsort(order)[inverse.reshape(-1)], counts[order]


@given(elements=INTEGERS, is_sorted=st.booleans(), dtype=st.sampled_from(("int32", "int64", "float32")))
def test_distinct_elements(elements: list[int], is_sorted: bool, dtype: str) -> None:
    x = np.asarray(elements, dtype)
    data = placeholder(x, "x")
    found = run(topi.unique(data, is_sorted, True), {data: x})
    values, first, inverse, counts = np.unique(x, True, True, True) if is_sorted else in_order(x)
    number = len(values)
    assert [each.dtype.name for each in found] == [dtype, "int32", "int32", "int32", "int32"]
    assert found[3].tolist() == [number]
    for result, expected, rest in zip((found[0], found[1], found[4]), (values, first, counts), (0, len(x), 0)):
        np.testing.assert_array_equal(result[:number], expected)
        assert (result[number:] == rest).all()
    np.testing.assert_array_equal(found[2], inverse.reshape(-1))


def test_distinct_elements_are_those_of_a_vector() -> None:
    assert len(topi.unique(te.placeholder((3,), "int32"))) == 4
    with pytest.raises(TeError, match="unique of 2 dimensions, expected 1"):
        topi.unique(te.placeholder((3, 1), "int32"))
    with pytest.raises(TeError, match="unique of bool, expected numbers"):
        topi.unique(te.placeholder((3,), "bool"))


def filled_rows(indices: Array, values: Array, rows: int, new: Any) -> tuple[list[list[int]], list[Any], list[int]]:
    places, numbers, empty = list[list[int]](), list[Any](), list[int]()
    for row in range(rows):
        own = [n for n, index in enumerate(indices.tolist()) if index[0] == row]
        empty.append(int(not own))
        places += [indices[n].tolist() for n in own] or [[row, *[0] * (indices.shape[1] - 1)]]
        numbers += [values[n] for n in own] or [new]
    return places, numbers, empty


@given(data=st.data(), dtype=st.sampled_from(("int64", "float32")))
def test_rows_without_elements_get_one(data: st.DataObject, dtype: str) -> None:
    rows, rank = data.draw(st.integers(1, 5)), data.draw(st.integers(1, 3))
    chosen = sorted(data.draw(st.lists(st.integers(0, rows - 1), max_size=7)))
    choose = np.random.default_rng(0)
    indices = np.array([[row, *choose.integers(0, 4, rank - 1)] for row in chosen], "int64").reshape(-1, rank)
    arrays = {
        "indices": indices,
        "values": choose.integers(1, 9, len(chosen)).astype(dtype),
        "shape": np.array([rows, *[4] * (rank - 1)], "int64"),
        "default": np.array([-1] if data.draw(st.booleans()) else -1, dtype),
    }
    places, numbers, empty = filled_rows(indices, arrays["values"], rows, -1)
    length = len(places) + data.draw(st.integers(0, 2))
    inputs = {placeholder(each, name): each for name, each in arrays.items()}
    operands: list[Any] = [*inputs, (length, rank), (length,), (rows,)]
    found = run(topi.sparse_fill_empty_rows(*operands), inputs)
    assert [each.dtype.name for each in found] == ["int64", dtype, "int64"]
    assert found[0].tolist() == places + [[0] * rank] * (length - len(places))
    assert found[1].tolist() == numbers + [0] * (length - len(places))
    assert found[2].tolist() == empty


@pytest.mark.parametrize(
    ("shapes", "results", "message"),
    [
        (((4, 2), (3,), (2,)), ((5, 2), (5,), (3,)), r"of shapes \[4, 2\], \[3\], \[2\], expected \[n, d\], \[n\]"),
        (((4,), (4,), (2,)), ((5, 2), (5,), (3,)), r"of shapes \[4\], \[4\], \[2\], expected"),
        (((4, 2), (4,), (2,)), ((5, 3), (5,), (3,)), r"results of shapes \[5, 3\], \[5\], \[3\], expected \[k, 2\]"),
        (((4, 2), (4,), (2,)), ((5, 2), (6,), (3,)), r"results of shapes \[5, 2\], \[6\], \[3\], expected"),
        (((4, 2), (4,), (2,)), ((5, 2), (5,), (3, 1)), r"results of shapes \[5, 2\], \[5\], \[3, 1\], expected"),
    ],
)
def test_rows_of_sparse_elements_go_together(shapes: Any, results: Any, message: str) -> None:
    operands: list[Any] = [te.placeholder(shape, "int64") for shape in (*shapes, (1,))]
    with pytest.raises(TeError, match=f"sparse_fill_empty_rows: .*{message}"):
        topi.sparse_fill_empty_rows(*operands, *results)


# Scans and searches


@pytest.mark.parametrize("shape", [(1,), (5,), (0,), (2, 3), (3, 1, 4)])
@pytest.mark.parametrize("exclusive", [None, True])
def test_scans_of_a_function_of_the_user(shape: tuple[int, ...], exclusive: bool | None) -> None:
    x = np.random.default_rng(0).integers(-9, 9, shape).astype("int32")
    data = placeholder(x, "x")
    for axis in (None, -1, 0):
        made = topi.scanop(data, te.max, te.min_value("int32"), "so_far", axis, exclusive=exclusive)
        expected = np.maximum.accumulate(x.reshape(-1) if axis is None else x, axis or 0)
        if exclusive:
            along = np.moveaxis(expected, axis or 0, 0)
            first = np.full((1, *along.shape[1:]), -(2**31), "int32")
            expected = np.moveaxis(np.concatenate([first, along])[: len(along)], 0, axis or 0)
        np.testing.assert_array_equal(run(made, {data: x})[0], expected)
    assert topi.scanop(data, lambda a, b: a * b, 1, "products", 0, "int64").dtype == "int64"


@pytest.mark.parametrize("right", [False, True])
@pytest.mark.parametrize("dtype", ["int32", "int64"])
def test_a_search_by_statements(right: bool, dtype: str) -> None:
    rows = np.array([[1, 3, 3, 7], [0, 0, 2, 2]], "float32")
    values = np.array([[0, 1, 3], [2, 9, -1]], "float32")
    data, sought = placeholder(rows, "rows"), placeholder(values, "values")

    def search(ins: Sequence[Any], outs: Sequence[Any]) -> Any:
        ib = topi.ir_builder.create()
        ordered, numbers, places = map(ib.buffer_ptr, (*ins, *outs))
        with ib.for_range(0, 6) as i:
            offset = te.floordiv(i, 3) * 4
            places[i] = topi.binary_search(ib, offset, 4, ordered, numbers[i], right, dtype)
        return ib.get()

    made = topi.extern((2, 3), [data, sought], search, dtype=dtype)
    expected = topi.testing.searchsorted_ref(rows, values, right, dtype)
    np.testing.assert_array_equal(run(made, {data: rows, sought: values})[0], expected)


def logarithms(data: te.Tensor) -> te.Tensor:
    return te.compute(data.shape, lambda i: topi.ceil_log2(data[i]))


def test_logarithms_rounded_up() -> None:
    x = np.array([1, 2, 3, 4, 5, 1023, 1024, 1025, 2**30, 2**31 - 1], "int32")
    for dtype in ("int32", "int64", "uint32"):
        numbers = x.astype(dtype)
        data = placeholder(numbers, "x")
        made = logarithms(data)
        assert made.dtype == dtype
        np.testing.assert_array_equal(run(made, {data: numbers})[0], [(int(each) - 1).bit_length() for each in x])
    floats = np.array([1.5, 0.3, 8], "float32")
    data = placeholder(floats, "x")
    made = logarithms(data)
    np.testing.assert_array_equal(run(made, {data: floats})[0], [1, -1, 3])


# Slices


@given(drawn=st.data())
def test_slices_whose_bounds_are_tensors(drawn: st.DataObject) -> None:
    shape = [drawn.draw(st.integers(1, 5)) for _ in range(drawn.draw(st.integers(1, 3)))]
    x = np.random.default_rng(0).random(shape)
    count = drawn.draw(st.integers(0, len(shape)))
    bounds = [
        (
            drawn.draw(st.integers(-size, size - 1)),
            drawn.draw(st.integers(0, size + 2)),
            drawn.draw(st.sampled_from((1, 2, 3, -1, -2))),
        )
        for size in shape[:count]
    ]
    expected = x[tuple(slice(*each) for each in bounds)]
    arrays = [np.array([each[n] for each in bounds], "int64").reshape(count) for n in range(3)]
    data = placeholder(x, "x")
    tensors = {placeholder(each, name): each for name, each in zip(("begin", "end", "strides"), arrays)}
    begin, end, strides = tensors
    made = topi.dynamic_strided_slice(data, begin, end, strides, expected.shape)
    np.testing.assert_array_equal(run(made, {data: x, **tensors})[0], expected)
    if count:
        known = topi.dynamic_strided_slice(data, arrays[0], arrays[1], arrays[2], expected.shape)
        np.testing.assert_array_equal(run(known, {data: x})[0], expected)


def test_slices_stay_in_the_tensor() -> None:
    x = np.arange(5.0)
    data = placeholder(x, "x")
    (found,) = run(topi.dynamic_strided_slice(data, [3], [9], [1], [4]), {data: x})
    assert found.tolist() == [3, 4, 4, 4]
    (found,) = run(topi.dynamic_strided_slice(data, [99], [0], [-4], [3]), {data: x})
    assert found.tolist() == [4, 0, 0]


@pytest.mark.parametrize(
    ("bounds", "shape"),
    [(([0], [1], [1, 1]), (1, 3)), (([0], [1], [1]), (1, 2)), (([0], [1], [1]), (1,)), (([0.5], [1], [1]), (1, 3))],
)
def test_slices_have_a_bound_for_each_axis(bounds: Any, shape: tuple[int, ...]) -> None:
    with pytest.raises(TeError, match=r"dynamic_strided_slice: .*expected integers for each axis that differs"):
        topi.dynamic_strided_slice(te.placeholder((2, 3)), bounds[0], bounds[1], bounds[2], shape)


@pytest.fixture(scope="module")
def numbers_in_slices() -> Any:
    """A program of the numbers of indices from -3 on in a slice, -1 for those out of it."""
    said = te.placeholder((4,), "int32", "said")
    begin, end, step, size = (said[n] for n in range(4))

    def number(i: Any) -> Any:
        within = topi.within_index(begin, end, step, i - 3)
        return te.if_then_else(within, topi.make_idx(begin, end, step, size, i - 3), -1)

    return tvm.build(te.create_prim_func([said, te.compute((13,), number)]))


@given(
    begin=st.integers(-1, 7),
    end=st.integers(-2, 9),
    step=st.sampled_from((1, 2, 3, -1, -2, -3)),
    more=st.integers(1, 7),
)
def test_indices_within_a_slice(numbers_in_slices: Any, begin: int, end: int, step: int, more: int) -> None:
    indices = list(range(begin, end, step))
    found = np.zeros(13, "int32")
    numbers_in_slices(np.array([begin, end, step, begin + more], "int32"), found)
    assert found.tolist() == [indices.index(i) if i in indices else -1 for i in range(-3, 10)]


def test_a_slice_begins_in_its_axis(numbers_in_slices: Any) -> None:
    found = np.zeros(13, "int32")
    numbers_in_slices(np.array([7, 1, -2, 6], "int32"), found)
    assert found.tolist()[3:9] == [-1, -1, -1, 1, -1, 0]


# Fixed-point numbers


def per_axis(x: Array, y: Array, left: Array, right: Array, shifts: bool) -> Array:
    """In integers of Python."""
    result = np.zeros_like(x)
    for at in np.ndindex(x.shape):
        channel = at[1]
        wide = int(x[at]) << int(left[channel]) if shifts else int(x[at])
        total = 31 + int(right[channel])
        result[at] = (wide * int(y[channel]) + (1 << (total - 1))) >> total
    return result


@pytest.mark.parametrize("shifts", [0, 1])
@pytest.mark.parametrize("shape", [(1, 1, 1), (2, 3, 5)])
def test_products_of_fixed_point_numbers_along_an_axis(shifts: int, shape: tuple[int, ...]) -> None:
    choose = np.random.default_rng(0)
    arrays = {"x": choose.integers(-(2**20), 2**20, shape).astype("int32")}
    arrays["y"] = choose.integers(2**30, 2**31 - 1, shape[1]).astype("int32")
    arrays |= {name: choose.integers(0, 5, shape[1]).astype("int32") for name in ("left", "right")}
    inputs = {placeholder(each, name): each for name, each in arrays.items()}
    operands: list[Any] = [*inputs, shifts, 1, [1]]
    expected = per_axis(arrays["x"], arrays["y"], arrays["left"], arrays["right"], bool(shifts))
    np.testing.assert_array_equal(run(topi.fixed_point_multiply_per_axis(*operands), inputs)[0], expected)


def test_fixed_point_numbers_have_the_sizes_of_their_axes() -> None:
    x, y = te.placeholder((2, 3), "int32"), te.placeholder((2,), "int32")
    with pytest.raises(TeError, match=r"fixed_point_multiply_per_axis: int32 by int32\[2\], expected int32\[3\]"):
        topi.fixed_point_multiply_per_axis(x, y, y, y, 1, 1, [1])
    with pytest.raises(TeError, match="axis 2 of 2 dimensions"):
        topi.fixed_point_multiply_per_axis(x, y, y, y, 1, 1, [2])


def test_a_fixed_point_number_shifted_both_ways() -> None:
    value = te.compute((1,), lambda _: tir.q_multiply_shift_per_axis(3, 2**30, 4, 1, 31, True, True))
    assert run(value, {})[0].tolist() == [(3 << 4) >> 2]


# Layouts, targets and names


def test_layouts_and_shapes() -> None:
    utils = topi.utils
    assert utils.get_shape((1, 2, 3, 4), "NCHW", "NHWC") == (1, 3, 4, 2)
    assert utils.get_shape((1, 2, 3, 4, 8), "NCHW8c", "NHWC8c") == (1, 3, 4, 2, 8)
    with pytest.raises(TeError, match="get_shape: layout NCHW of 4 axes and NC, expected each axis once in both"):
        utils.get_shape((1, 2, 3, 4), "NCHW", "NC")
    for layout, packed, blocks in (("NCHW1n16c", True, False), ("NCHW16c", False, True), ("NCHW", False, False)):
        assert utils.nchw_pack_layout(layout) is utils.ncw_pack_layout(layout.replace("H", "")) is packed
        assert utils.nchw_xc_layout(layout) is utils.ncw_xc_layout(layout.replace("H", "")) is blocks
    assert not utils.ncw_xc_layout("NCHW16c")
    assert not utils.nchw_xc_layout("NCHWxc")
    assert not utils.is_dynamic_shape([1, tir.IntImm("int32", 3)])
    assert utils.is_dynamic_shape([1, te.var("n")])
    assert utils.is_dynamic_shape([tvm.relay.Any(), 1])


def test_a_target_has_keys() -> None:
    with tvm.target.Target("llvm"):
        assert topi.utils.is_target("cpu")
        assert topi.utils.is_target(["gpu", "cpu"])
        assert not topi.utils.is_target(["cuda", "gpu"])
    with pytest.raises(OptionError, match="no current target"):
        topi.utils.is_target("cpu")


def test_names_of_other_modules() -> None:
    assert topi.te is te
    assert topi.hybrid is te.hybrid
    assert topi.ir_builder is tir.ir_builder
    assert topi.utils.tag is topi.tag
    assert (topi.Cast, topi.decl_buffer, topi.extern) == (tir.Cast, te.decl_buffer, te.extern)
    assert topi.InvalidShapeError is topi.utils.InvalidShapeError

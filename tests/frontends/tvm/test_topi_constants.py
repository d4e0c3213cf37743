"""Arguments of `tvm.topi` that are constants and expressions, as programs of users pass them."""

from typing import Any

import numpy as np
import pytest

import stepwell.frontends.tvm as tvm
from stepwell.core.errors import UnsupportedError
from stepwell.frontends.te import TeError
from stepwell.frontends.tvm import te, tir, topi


def constant(value: int, dtype: str = "int32") -> Any:
    """A constant expression."""
    return tir.const(value, dtype)


def run(tensors: list[Any], *arrays: Any) -> Any:
    """The result of tensors for arrays."""
    result = np.zeros([int(size) for size in tensors[-1].shape], tensors[-1].dtype)
    tvm.build(te.create_schedule(tensors[-1].op), tensors)(*arrays, result)
    return result


def test_constants_are_numbers() -> None:
    x = te.placeholder((4, 4), name="x")
    places = te.placeholder((2,), "int32", "places")
    ones = np.ones((4, 4), "float32")
    np.testing.assert_array_equal(run([topi.full((2, 2), "float32", constant(3))]), np.full((2, 2), 3))
    np.testing.assert_array_equal(run([x, topi.trilu(x, constant(1), True)], ones), np.triu(ones, 1))
    hot = topi.one_hot(places, constant(7), constant(2), 3, -1, "int32")
    np.testing.assert_array_equal(run([places, hot], np.array([0, 2], "int32")), [[7, 2, 2], [2, 2, 7]])
    assert te.const(constant(3, "uint8")).dtype == "uint8"
    assert te.const(constant(3, "uint8"), "float32").dtype == "float32"


def test_the_number_elsewhere_is_a_tensor() -> None:
    places, values = te.placeholder((2,), "int32", "places"), te.placeholder((2,), "float32", "values")
    rest = te.placeholder((), "float32", "rest")
    dense = topi.sparse_to_dense(places, (5,), values, rest)
    arrays = np.array([1, 3], "int32"), np.array([5, 6], "float32"), np.array(9, "float32")
    np.testing.assert_array_equal(run([places, values, rest, dense], *arrays), [9, 5, 9, 6, 9])


@pytest.mark.parametrize(("low", "high"), [(1, 4), (0, 6), (2, 2), (-3, 9), (5, 1)])
def test_bounds_of_slices_are_expressions(low: int, high: int) -> None:
    x, bounds = te.placeholder((3, 6), name="x"), [te.var("low"), te.var("high")]
    is_inside = 0 <= low <= high <= 6
    part = topi.strided_slice(x, [bounds[0]], [bounds[1]], [2], [1], assume_inbound=is_inside)
    numbers = np.arange(18, dtype="float32").reshape(3, 6)
    expected = numbers[:, max(low, 0) : max(high, 0) : 2]
    result = np.zeros_like(expected)
    tvm.build(te.create_schedule(part.op), [x, *bounds, part])(numbers, low, high, result)
    np.testing.assert_array_equal(result, expected)


def test_bounds_of_slices_that_do_not_fit_are_errors() -> None:
    x, n = te.placeholder((3, 6), name="x"), te.var("n")
    begin: Any = te.placeholder((2,), "int32", "begin")
    with pytest.raises(UnsupportedError, match="expected dynamic_strided_slice"):
        topi.strided_slice(x, begin, [1, 2])
    with pytest.raises(UnsupportedError, match="expressions with slice_mode 'size', expected 'end'"):
        topi.strided_slice(x, [n], [2], slice_mode="size")
    with pytest.raises(TeError, match="stride -1 of bounds that are expressions"):
        topi.strided_slice(x, [n], [0], [-1])


def test_simulated_devices_of_opencl_do_not_exist() -> None:
    assert not tvm.device("aocl_sw_emu", 0).exist

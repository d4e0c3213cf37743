"""`tvm.tir.PrimFunc.specialize`: values in place of parameters and sizes."""

from typing import Any

import numpy as np
import pytest

import stepwell.frontends.tvm as tvm
from stepwell.core.errors import OptionError, UnsupportedError
from stepwell.frontends.tvm.script import tir as T


@T.prim_func
def scale(a: T.handle, b: T.handle, n: T.int32) -> None:  # pyright: ignore[reportInvalidTypeForm]
    m = T.int32()
    A = T.match_buffer(a, [m, n])
    B = T.match_buffer(b, [m, n])
    for i, j in T.grid(m, n):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] * T.Cast("float32", n + 1)


@T.prim_func
def strided(a: T.handle, b: T.handle, m: T.int32, p: T.int32, q: T.int32) -> None:  # pyright: ignore[reportInvalidTypeForm]
    A = T.match_buffer(a, (m, 4), "float32", strides=[p, 1], elem_offset=q)
    B = T.match_buffer(b, (m, 4), "float32")
    for i, j in T.grid(m, 4):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj]


def check_scales(func: Any, *sizes: int) -> None:
    x, y = np.random.default_rng(0).random((3, 5), np.float32), np.zeros((3, 5), "float32")
    tvm.build(func, target="llvm")(x, y, *sizes)
    np.testing.assert_allclose(y, x * 6)


def test_a_number_replaces_a_parameter() -> None:
    n = scale.params[2]
    func = scale.specialize({n: 5})
    assert len(func.params) == 2
    assert 'T.Cast("float32", 6)' in func.script() or "T.float32(6" in func.script()
    check_scales(func)
    check_scales(scale, 5)


def test_a_buffer_replaces_sizes() -> None:
    func = scale.specialize({scale.params[0]: tvm.tir.decl_buffer((3, 5))})
    assert [int(size) for size in func.buffer_map[func.params[1]].shape] == [3, 5]
    check_scales(func)


def test_an_expression_of_a_parameter_replaces_another() -> None:
    m, p = strided.params[2:4]
    func = strided.specialize({p: m * 4})
    assert [each.name for each in func.params][-2:] == ["m", "q"]
    assert "strides=(m * 4, 1)" in func.script()


def test_strides_and_the_offset_of_a_buffer_replace_those_of_a_parameter() -> None:
    func = strided.specialize({strided.params[0]: tvm.tir.decl_buffer((3, 4), strides=[8, 1], elem_offset=2)})
    assert "strides=(8, 1), elem_offset=2" in func.script()
    assert len(func.params) == 2


def test_no_value_leaves_the_function() -> None:
    assert scale.specialize({}).same_as(scale)
    assert not scale.specialize({scale.params[2]: 5}).same_as(scale)


def test_values_that_do_not_fit_are_errors() -> None:
    a, b = scale.params[:2]
    with pytest.raises(OptionError, match="is no parameter, expected one of a, b, n"):
        scale.specialize({tvm.tir.Var("k", "int32"): 1})
    with pytest.raises(OptionError, match="a buffer for a with 3 dimensions, expected 2"):
        scale.specialize({a: tvm.tir.decl_buffer((3, 5, 1))})
    with pytest.raises(OptionError, match="dimensions of b are 5, expected 6"):
        scale.specialize({a: tvm.tir.decl_buffer((3, 5)), b: tvm.tir.decl_buffer((3, 6))})
    with pytest.raises(OptionError, match="dimensions of a are 4, expected 5"):
        strided.specialize({strided.params[0]: tvm.tir.decl_buffer((3, 5), strides=[8, 1], elem_offset=2)})
    with pytest.raises(UnsupportedError, match="expected a buffer for a buffer"):
        scale.specialize({a: 3})

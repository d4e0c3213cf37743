"""Functions of Python in TVMScript that use functions on expressions: `tir.exp`, `te.power`, `tir.if_then_else`."""

# Annotations are TVMScript here, not types.
# pyright: reportInvalidTypeForm=false, reportGeneralTypeIssues=false

from typing import Any

import numpy as np
import pytest

import stepwell.frontends.tvm as tvm
from stepwell.core.errors import ParseError
from stepwell.frontends.tvm import te, tir
from stepwell.frontends.tvm.script import tir as T


def neighbours(buffer: Any, i: Any) -> Any:
    """The sum of the elements beside an element, which are read inside of the buffer alone."""
    return tir.if_then_else(tir.all(i > 0, i < 3), te.exp(buffer[i - 1]) + buffer[i + 1], tir.sqrt(buffer[i]))


def smallest(x: Any, y: Any) -> Any:
    return tir.Select(x < y, x, y) + te.power(x, 2.0) * tir.const(0.5, "float32")


def test_results_are_those_of_the_expressions() -> None:
    @T.prim_func
    def program(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32"), C: T.Buffer((4,), "float32")):
        for i in range(4):
            B[i] = neighbours(A, i)
            C[i] = smallest(A[i], T.float32(2))

    a = np.array([4, 1, 2, 9], np.float32)
    b, c = np.empty(4, np.float32), np.empty(4, np.float32)
    tvm.build(program)(a, b, c)
    np.testing.assert_allclose(b, [2, np.exp(4) + 2, np.exp(1) + 9, 3], rtol=1e-6)
    np.testing.assert_allclose(c, np.minimum(a, 2) + a * a / 2, rtol=1e-6)
    func: Any = program
    assert "T.if_then_else(i > 0 and i < 3, T.exp(A[i - 1]) + A[i + 1], T.sqrt(A[i]))" in func.script()
    assert str(func.op).count("tir.load") == 6


def test_converted_values_have_operators() -> None:
    def widen(x: Any) -> Any:
        bits = T.reinterpret("uint16", x).astype("uint32")
        return T.reinterpret("float32", bits << tir.const(16, "uint32"))

    @T.prim_func
    def program(A: T.Buffer((4,), "bfloat16"), B: T.Buffer((4,), "float32")):
        for i in range(4):
            B[i] = widen(A[i]) + i.astype("float32")  # pyright: ignore[reportAttributeAccessIssue]

    a, b = np.array([0x3F80, 0x4000, 0xC040, 0x3F00], np.uint16), np.empty(4, np.float32)
    tvm.build(program)(a, b)
    np.testing.assert_array_equal(b, [1, 3, -1, 3.5])


def test_a_variable_of_another_program_is_an_error() -> None:
    other = te.var("other")

    def shift(x: Any) -> Any:
        return tir.Select(x > 0, x, other)

    with pytest.raises(ParseError, match="variable other is neither an axis here"):

        @T.prim_func
        def program(A: T.Buffer((4,), "int32")):
            A[0] = shift(A[1])

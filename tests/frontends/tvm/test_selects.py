"""Selections of elements out of bounds, in programs that `tvm.lower` and `tvm.build` lower."""

from typing import Any

import numpy as np

import stepwell.frontends.tvm as tvm
from stepwell.frontends.tvm import te

X = np.arange(1, 9, dtype="float32")


def padded(border: int) -> tuple[Any, Any, Any]:
    """An array with zeros around it, by `Select`."""
    a = te.placeholder((8,), name="A")
    b = te.compute(
        (8 + 2 * border,),
        lambda i: tvm.tir.Select(te.all(i >= border, i - border < 8), a[i - border] * 2.0, te.const(0.0, "float32")),
        name="B",
    )
    return a, b, te.create_schedule(b.op)


def test_an_element_out_of_bounds_is_not_read() -> None:
    a, b, s = padded(2)
    assert "T.if_then_else(i >= 2 and i - 2 < 8, A[i - 2] * T.float32(2.0), T.float32(0.0))" in str(
        tvm.lower(s, [a, b], simple_mode=True)
    )
    out = np.ones(12, "float32")
    tvm.build(s, [a, b], "llvm")(X, out)
    np.testing.assert_array_equal(out, np.pad(X * 2, 2))


def test_elements_in_bounds_are_selected() -> None:
    a = te.placeholder((8,), name="A")
    b = te.compute((8,), lambda i: tvm.tir.Select(a[i] > 4.0, a[i], a[7 - i]), name="B")
    text = str(tvm.lower(te.create_schedule(b.op), [a, b], simple_mode=True))
    assert "T.Select(" in text
    assert "T.if_then_else" not in text


def test_nested_selections_are_lazy() -> None:
    a = te.placeholder((8,), name="A")
    zero = te.const(0.0, "float32")
    b = te.compute((10,), lambda i: tvm.tir.Select(i < 1, zero, tvm.tir.Select(i - 1 < 8, a[i - 1], zero)), name="B")
    func = te.create_prim_func([a, b])
    before = func.script()
    out = np.ones(10, "float32")
    tvm.build(func, target="llvm")(X, out)
    np.testing.assert_array_equal(out, np.pad(X, 1))
    assert func.script() == before


def test_shared_operands_are_visited_once() -> None:
    a = te.placeholder((8,), name="A")

    def element(i: Any) -> Any:
        value = a[i]
        for _ in range(64):
            value = value * value
        return tvm.tir.Select(i < 4, value, a[i])

    b = te.compute((8,), element, name="B")
    out = np.ones(8, "float32")
    tvm.build(te.create_schedule(b.op), [a, b], "llvm")(np.ones(8, "float32"), out)
    np.testing.assert_array_equal(out, np.ones(8, "float32"))

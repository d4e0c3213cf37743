"""Errors in tensor expressions, each raised at its source line."""

import re
from collections.abc import Callable
from typing import Any

import pytest

from stepwell.frontends import te
from stepwell.frontends.te import TeError

A = te.placeholder((8, 4), name="A")
I = te.placeholder((8,), "int32", name="I")  # noqa: E741
U = te.placeholder((8,), "uint8", name="U")
n = te.var("n")
k = te.reduce_axis((0, 4), "k")
bounds = te.comm_reducer(
    lambda x, y: (te.min(x[0], y[0]), te.max(x[1], y[1])), lambda a, b: (te.max_value(a), te.min_value(b))
)


def row(fcompute: Callable[..., object]) -> Any:
    return te.compute((8,), fcompute, name="B")


WRONG: dict[str, tuple[Callable[[], object], str]] = {
    "too many indices": (lambda: row(lambda i: A[i, k, k]), "3 indices into tensor A of 2 dimensions"),
    "too few indices": (lambda: row(lambda i: A(i)), "1 indices into tensor A of 2 dimensions"),
    "a tensor for an element": (lambda: row(lambda i: A[i] + 1.0), "1 indices into tensor A of 2 dimensions"),
    "a whole tensor for an element": (
        lambda: row(lambda i: A + 1.0),
        "tensor T_add of 2 dimensions, expected an element of it",
    ),
    "an index that is no integer": (lambda: row(lambda i: A[i * 1.5, 0]), "index into tensor A: "),
    "a tensor of vectors": (lambda: te.placeholder((8,), "float32x2", "V"), "placeholder V: elements of float32x2"),
    "vectors as elements": (lambda: row(lambda i: A[i, 0].astype("float32x4")), "compute B: elements of float32x4"),
    "more variables than dimensions": (lambda: row(lambda i, j: i), "a function of 2 variables for 1 dimensions"),
    "fewer variables than dimensions": (
        lambda: te.compute((8, 8), lambda i: i),
        "a function of 1 variables for 2 dimensions",
    ),
    "names for too few variables": (
        lambda: te.compute((8, 8), lambda *i: i[0], varargs_names=["x"]),
        "1 names for the 2 variables of *i",
    ),
    "a reduction in an expression": (
        lambda: row(lambda i: te.sum(A[i, k], axis=k) + 1.0),
        "a reduction inside of an expression",
    ),
    "a reduction of a reduction": (
        lambda: row(lambda i: te.sum(te.max(A[i, k], axis=k), axis=k)),
        "a reduction inside of an expression",
    ),
    "two different reductions": (
        lambda: row(lambda i: (te.sum(A[i, k], axis=k), te.max(A[i, k], axis=k))),
        "its values are of different reductions",
    ),
    "one value of a reduction that gives two": (
        lambda: row(lambda i: bounds((A[i, k], A[i, k]), axis=k)[1]),
        "value 1 of a reduction that gives 2, expected all of them in their order",
    ),
    "the values of a reduction in another order": (
        lambda: row(lambda i: bounds((A[i, k], A[i, k]), axis=k)[::-1]),
        "values 1, 0 of a reduction that gives 2, expected all of them in their order",
    ),
    "a reduction beside an element": (
        lambda: row(lambda i: (te.sum(A[i, k], axis=k), A[i, 0])),
        "some values are reductions and others are not",
    ),
    "a spatial axis to reduce over": (
        lambda: row(lambda i: te.sum(A[i, i], axis=i)),
        "expected what te.reduce_axis gives",
    ),
    "an axis given twice": (lambda: row(lambda i: te.sum(A[i, k], axis=[k, k])), "an axis is given twice"),
    "an index behind the end": (lambda: row(lambda i: A[i, 4]), "index 4 into dimension 1 of tensor A, expected one"),
    "a negative index": (lambda: row(lambda i: A[-1, i]), "index -1 into dimension 0 of tensor A, expected one"),
    "no axis to reduce over": (lambda: row(lambda i: te.sum(A[i, 0])), "expected what te.reduce_axis gives"),
    "an axis that ends before it starts": (lambda: te.reduce_axis((4, 0)), "ends before it starts"),
    "an axis of three numbers": (lambda: te.reduce_axis((0, 4, 1)), "a domain of 3 numbers"),
    "an unknown data type": (lambda: te.placeholder((8,), "float13"), "unknown dtype 'float13'"),
    "a negative extent": (lambda: te.placeholder((8, -1), name="C"), "shape of C: extent -1 of dimension 1"),
    "an extent that is no integer": (lambda: te.placeholder((8.5,)), "expected an integer"),
    "integers divided by /": (lambda: row(lambda i: i / 2), "a / b of integers"),
    "the negative of an unsigned number": (lambda: row(lambda i: -U[i]), "-x of an unsigned uint8"),
    "a float shifted": (lambda: row(lambda i: A[i, 0] << 1), "operator shl needs integers, got float32"),
    "a condition of Python": (lambda: row(lambda i: 1 if i > 2 else 0), "an expression has no value before"),
    "a chained comparison": (lambda: row(lambda i: 0 < i < 3), "an expression has no value before"),
    "a number that does not fit": (lambda: te.const(300, "int8"), "300 does not fit int8"),
    "a fraction as an integer": (lambda: te.const(1.5, "int32"), "1.5 is not of type int32"),
    "text as a value": (lambda: row(lambda i: "x"), "'x' of type str, expected an expression or a number"),
    "no value": (lambda: row(lambda i: ()), "compute B: no value"),
    "an argument that is no tensor": (
        lambda: te.create_prim_func([A, 3]),  # pyright: ignore[reportArgumentType]
        "argument 1: 3, expected a tensor or a variable",
    ),
    "an argument given twice": (lambda: te.create_prim_func([A, A]), "argument 1: A is given twice"),
    "a tensor that is not given": (lambda: te.create_prim_func([row(lambda i: A[i, 0])]), "tensor A is read, and is"),
    "a size that is nowhere": (
        lambda: te.create_prim_func([A, row(lambda i: A[i, 0] + n)]),
        "variable n is neither an axis here nor a size",
    ),
    "an axis of another tensor": (
        lambda: te.create_prim_func([A, row(lambda i: A[i, k])]),
        "variable k is neither an axis here nor a size",
    ),
    "a combiner that gives too little": (
        lambda: te.comm_reducer(lambda x, y: x[0], lambda a, b: (0, 0))((I[0], I[1]), axis=k),
        "fcombine gives 1 values, expected 2",
    ),
    "an identity that gives too much": (
        lambda: te.comm_reducer(lambda x, y: x + y, lambda t: (0, 0))(I[0], axis=k),
        "fidentity gives 2 values, expected 1",
    ),
    "something odd about a tensor": (
        lambda: te.create_prim_func([A, te.compute((8,), lambda i: A[i, 0], name="B", attrs={"x": object()})]),
        "attrs of B: ",
    ),
}


@pytest.mark.parametrize("mistake", WRONG)
def test_a_mistake_is_an_error_that_says_what_was_expected(mistake: str) -> None:
    make, message = WRONG[mistake]
    with pytest.raises(TeError, match=re.escape(message)):
        make()


def test_an_error_starts_with_the_line_of_the_user() -> None:
    frame: dict[str, Any] = {"te": te, "__name__": "user"}
    program = compile("\nA = te.placeholder((8,), name='A')\nte.compute((8,), lambda i: A[i, i])\n", "user.py", "exec")
    with pytest.raises(TeError, match=r"^user\.py:3: error: 2 indices into tensor A"):
        exec(program, frame)


def test_an_error_of_a_later_stage_shows_the_line_of_the_tensor() -> None:
    frame: dict[str, Any] = {"te": te, "__name__": "user"}
    exec(compile("\nB = te.compute((8,), lambda i: i)\n", "user.py", "exec"), frame)
    mod = te.create_te_func([frame["B"]])
    computed = next(op for op in mod.op.walk() if op.name == "te.compute")
    assert "user.py" in str(computed.location)
    assert "2" in str(computed.location)

"""Cases of operators on whole tensors, scalar arguments, and alternative forms of the other topics."""

from typing import Any

import numpy as np

from .case import Table

TABLE = Table()


@TABLE.case(lambda a, b: a + b)
def sum_of_tensors(te: Any) -> list[Any]:
    A, B = te.placeholder((4, 5), name="A"), te.placeholder((4, 5), name="B")
    return [A, B, A + B]


@TABLE.case(lambda a, b: a - b)
def difference_of_tensors_that_broadcasts(te: Any) -> list[Any]:
    A, B = te.placeholder((3, 4, 5), name="A"), te.placeholder((4, 1), name="B")
    return [A, B, A - B]


@TABLE.case(lambda a, b: -((2 - a) * b) / np.float32(4))
def operators_on_tensors_and_numbers(te: Any) -> list[Any]:
    A, B = te.placeholder((4, 5), name="A"), te.placeholder((5,), name="B")
    return [A, B, -((2 - A) * B) / 4.0]


@TABLE.case(lambda a, x: a * x.astype("float32"))
def product_of_tensors_of_two_dtypes(te: Any) -> list[Any]:
    A, X = te.placeholder((4,), name="A"), te.placeholder((4,), dtype="int32", name="X")
    return [A, X, A * X]


@TABLE.case(lambda a, b: a / b, ranges={"B": (1, 2)}, sizes={"n": 5})
def quotient_of_symbolic_tensors(te: Any) -> list[Any]:
    n = te.var("n")
    A, B = te.placeholder((n, 3), name="A"), te.placeholder((n, 3), name="B")
    return [A, B, A / B]


@TABLE.case(lambda n, a, b: a + b, sizes={"n": 5})
def sum_of_tensors_of_one_computed_extent(te: Any) -> list[Any]:
    n = te.var("n")
    A, B = te.placeholder((n + 1, 3), name="A"), te.placeholder((n + 1, 3), name="B")
    return [n, A, B, A + B]


@TABLE.case(lambda a: a.astype("float16"))
def cast_of_a_tensor(te: Any) -> list[Any]:
    A = te.placeholder((4, 5), name="A")
    return [A, A.astype("float16")]


@TABLE.case(lambda a, b: (a @ b + 1).max(axis=1))
def operator_between_computes(te: Any) -> list[Any]:
    A, B = te.placeholder((4, 5), name="A"), te.placeholder((5, 6), name="B")
    k, j = te.reduce_axis((0, 5), name="k"), te.reduce_axis((0, 6), name="j")
    C = te.compute((4, 6), lambda i, j: te.sum(A[i, k] * B[k, j], axis=k), name="C") + 1.0
    return [A, B, te.compute((4,), lambda i: te.max(C[i, j], axis=j), name="D")]


@TABLE.case(lambda alpha, a: np.float32(alpha) * a, sizes={"alpha": 3})
def a_scalar_argument(te: Any) -> list[Any]:
    alpha = te.var("alpha", "float32")
    A = te.placeholder((4,), name="A")
    return [alpha, A, te.compute((4,), lambda i: A[i] * alpha, name="B")]


@TABLE.case(lambda n, a: np.float32(n) * a, sizes={"n": 3})
def a_scalar_argument_that_is_no_size(te: Any) -> list[Any]:
    n = te.var("n")
    A = te.placeholder((4,), name="A")
    return [n, A, te.compute((4,), lambda i: A[i] * (n + i * 0).astype("float32"), name="B")]


@TABLE.case(lambda a, x: np.where(a == 1, a, np.float32(7)) * np.where(x != 2, 1, 2).astype("float32"))
def equality_by_operators(te: Any) -> list[Any]:
    A, X = te.placeholder((9,), name="A"), te.placeholder((9,), dtype="int32", name="X")
    B = te.compute(
        (9,), lambda i: te.if_then_else(A[i] == 1.0, A[i], 7.0) * te.if_then_else(X[i] != 2, 1.0, 2.0), name="B"
    )
    return [A, X, B]


@TABLE.case(lambda a: (a + 1, a * 2), outputs=(1, 2))
def several_values_as_a_list(te: Any) -> list[Any]:
    A = te.placeholder((4,), name="A")
    return [A, *te.compute((4,), lambda i: [A[i] + 1.0, A[i] * 2.0], name="B")]


@TABLE.case(lambda x: x.astype("int64") + 2**40)
def literal_beyond_int32(te: Any) -> list[Any]:
    X = te.placeholder((4,), dtype="int32", name="X")
    return [X, te.compute((4,), lambda i: X[i] + 2**40, name="B")]


@TABLE.case(lambda x: x)
def floor_of_int32(te: Any) -> list[Any]:
    X = te.placeholder((4,), dtype="int32", name="X")
    return [X, te.compute((4,), lambda i: te.floor(X[i]), name="B")]


@TABLE.case(lambda a, x: a < x)
def comparison_of_two_dtypes(te: Any) -> list[Any]:
    A, X = te.placeholder((9,), dtype="int8", name="A"), te.placeholder((9,), dtype="int64", name="X")
    return [A, X, te.compute((9,), lambda i: A[i] < X[i], name="B")]


@TABLE.case(lambda a: a)
def placeholder_with_a_number_as_its_shape(te: Any) -> list[Any]:
    A = te.placeholder(4, name="A")
    return [A, te.compute((4,), lambda i: A(i), name="B")]


@TABLE.case(lambda a: a * 3)
def sum_over_an_axis_that_is_not_used(te: Any) -> list[Any]:
    A = te.placeholder((4,), name="A")
    k = te.reduce_axis((0, 3), name="k")
    return [A, te.compute((4,), lambda i: te.sum(A[i], axis=k), name="B")]

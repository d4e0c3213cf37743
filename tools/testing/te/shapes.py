"""Cases of shapes: symbolic, scalar, empty, of one element, beyond 32 bits; dtypes of indices."""

from typing import Any

import numpy as np

from .case import Array, Table

TABLE = Table()


@TABLE.case(lambda a: a + 1, sizes={"n": 5})
def one_symbol(te: Any) -> list[Any]:
    n = te.var("n")
    A = te.placeholder((n,), name="A")
    return [A, te.compute((n,), lambda i: A[i] + 1.0, name="B")]


@TABLE.case(lambda a: a + 1, sizes={"n": 5})
def shape_of_a_tensor(te: Any) -> list[Any]:
    n = te.size_var("n")
    A = te.placeholder((n, 3), name="A")
    return [A, te.compute(A.shape, lambda *i: A(*i) + 1.0, name="B")]


@TABLE.case(lambda a, b: a + b, sizes={"n": 3, "m": 5})
def two_symbols(te: Any) -> list[Any]:
    n, m = te.var("n"), te.var("m")
    A, B = te.placeholder((n, m), name="A"), te.placeholder((m,), name="B")
    return [A, B, te.compute((n, m), lambda i, j: A[i, j] + B[j], name="C")]


@TABLE.case(lambda a: a.sum(axis=1), sizes={"n": 3, "m": 5})
def sum_over_a_symbolic_axis(te: Any) -> list[Any]:
    n, m = te.var("n"), te.var("m")
    A = te.placeholder((n, m), name="A")
    k = te.reduce_axis((0, m), name="k")
    return [A, te.compute((n,), lambda i: te.sum(A[i, k], axis=k), name="B")]


@TABLE.case(lambda a: a[:, 1:].max(axis=1), sizes={"n": 3, "m": 5})
def max_over_a_part_of_a_symbolic_axis(te: Any) -> list[Any]:
    n, m = te.var("n"), te.var("m")
    A = te.placeholder((n, m), name="A")
    k = te.reduce_axis((1, m), name="k")
    return [A, te.compute((n,), lambda i: te.max(A[i, k], axis=k), name="B")]


@TABLE.case(lambda a, b: a @ b, sizes={"n": 3, "m": 4, "l": 5})
def symbolic_matmul(te: Any) -> list[Any]:
    n, m, length = te.var("n"), te.var("m"), te.var("l")
    A, B = te.placeholder((n, length), name="A"), te.placeholder((length, m), name="B")
    k = te.reduce_axis((0, length), name="k")
    return [A, B, te.compute((n, m), lambda i, j: te.sum(A[i, k] * B[k, j], axis=k), name="C")]


@TABLE.case(lambda a: np.pad(a, (0, 1)), sizes={"n": 5})
def size_plus_one(te: Any) -> list[Any]:
    n = te.var("n")
    A = te.placeholder((n,), name="A")
    return [A, te.compute((n + 1,), lambda i: te.if_then_else(i < n, A[i], 0.0), name="B")]


@TABLE.case(lambda a: np.pad(a, ((2, 2), (1, 1))), sizes={"n": 3, "m": 4})
def symbolic_padding(te: Any) -> list[Any]:
    n, m = te.var("n"), te.var("m")
    A = te.placeholder((n, m), name="A")
    B = te.compute(
        (n + 4, m + 2),
        lambda i, j: te.if_then_else(te.all(i >= 2, i < n + 2, j >= 1, j < m + 1), A[i - 2, j - 1], 0.0),
        name="B",
    )
    return [A, B]


@TABLE.case(lambda a: np.repeat(a, 2), sizes={"n": 5})
def size_times_two(te: Any) -> list[Any]:
    n = te.var("n")
    A = te.placeholder((n,), name="A")
    return [A, te.compute((n * 2,), lambda i: A[i // 2], name="B")]


@TABLE.case(lambda a: a[: len(a) // 2 * 2 : 2] + a[1::2], sizes={"n": 7})
def half_of_a_size(te: Any) -> list[Any]:
    n = te.var("n")
    A = te.placeholder((n,), name="A")
    return [A, te.compute((n // 2,), lambda i: A[i * 2] + A[i * 2 + 1], name="B")]


@TABLE.case(lambda a, b: np.concatenate([a, b]), sizes={"n": 3, "m": 4})
def concatenation_of_symbolic_sizes(te: Any) -> list[Any]:
    n, m = te.var("n"), te.var("m")
    A, B = te.placeholder((n,), name="A"), te.placeholder((m,), name="B")
    return [A, B, te.compute((n + m,), lambda i: te.if_then_else(i < n, A[i], B[i - n]), name="C")]


@TABLE.case(lambda a, b: a.reshape(-1, 2).sum(axis=1) + b, sizes={"n": 3})
def input_of_twice_the_size(te: Any) -> list[Any]:
    n = te.var("n")
    A, B = te.placeholder((n * 2,), name="A"), te.placeholder((n,), name="B")
    return [A, B, te.compute((n,), lambda i: A[2 * i] + A[2 * i + 1] + B[i], name="C")]


@TABLE.case(lambda a: a.reshape(-1), sizes={"n": 3, "m": 4})
def symbolic_flattening(te: Any) -> list[Any]:
    n, m = te.var("n"), te.var("m")
    A = te.placeholder((n, m), name="A")
    return [A, te.compute((n * m,), lambda i: A[te.floordiv(i, m), te.floormod(i, m)], name="B")]


@TABLE.case(lambda a: a[::-1], sizes={"n": 5})
def symbolic_reversal(te: Any) -> list[Any]:
    n = te.var("n")
    A = te.placeholder((n,), name="A")
    return [A, te.compute((n,), lambda i: A[n - 1 - i], name="B")]


@TABLE.case(lambda a: a / np.float32(len(a)), sizes={"n": 5})
def the_size_as_a_value(te: Any) -> list[Any]:
    n = te.var("n")
    A = te.placeholder((n,), name="A")
    return [A, te.compute((n,), lambda i: A[i] / te.const(1, "float32") / (i * 0 + n).astype("float32"), name="B")]


def _softmax(a: Array) -> Array:
    raised = np.exp(a - a.max(axis=1, keepdims=True))
    return raised / raised.sum(axis=1, keepdims=True)


@TABLE.case(_softmax, sizes={"n": 3, "m": 5})
def symbolic_softmax(te: Any) -> list[Any]:
    n, m = te.var("n"), te.var("m")
    A = te.placeholder((n, m), name="A")
    k, r = te.reduce_axis((0, m), name="k"), te.reduce_axis((0, m), name="r")
    most = te.compute((n,), lambda i: te.max(A[i, k], axis=k), name="maximum")
    raised = te.compute((n, m), lambda i, j: te.exp(A[i, j] - most[i]), name="exponential")
    total = te.compute((n,), lambda i: te.sum(raised[i, r], axis=r), name="total")
    return [A, te.compute((n, m), lambda i, j: raised[i, j] / total[i], name="softmax")]


@TABLE.case(lambda n, a: a * np.float32(2), sizes={"n": 5})
def a_symbol_among_the_arguments(te: Any) -> list[Any]:
    n = te.var("n")
    A = te.placeholder((n,), name="A")
    return [n, A, te.compute((n,), lambda i: A[i] * 2.0, name="B")]


@TABLE.case(lambda a: a + 1, sizes={"n": 5})
def a_symbol_of_int64(te: Any) -> list[Any]:
    n = te.var("n", dtype="int64")
    A = te.placeholder((n,), name="A")
    return [A, te.compute((n,), lambda i: A[i] + 1.0, name="B")]


@TABLE.case(lambda a: a.sum(axis=2) + 1, sizes={"n": 3, "m": 4})
def axes_of_both_index_dtypes(te: Any) -> list[Any]:
    n, m = te.var("n", dtype="int64"), te.var("m")
    A = te.placeholder((n, m, 5), name="A")
    k = te.reduce_axis((0, 5), name="k")
    B = te.compute((n, m), lambda i, j: te.sum(A[i, j, k], axis=k), name="B")
    return [A, te.compute((n, m), lambda i, j: B[i, j] + 1.0, name="C")]


@TABLE.case(lambda a: a[::-1, : len(a) // 2 * 2 : 2], sizes={"n": 7})
def arithmetic_on_indices_of_int64(te: Any) -> list[Any]:
    n = te.var("n", dtype="int64")
    A = te.placeholder((n, n), name="A")
    return [A, te.compute((n, n // 2), lambda i, j: A[n - 1 - i, j * 2], name="B")]


@TABLE.case(lambda a: a.sum(axis=1), index_dtype="int64")
def indices_overridden_to_int64(te: Any) -> list[Any]:
    A = te.placeholder((4, 6), name="A")
    k = te.reduce_axis((0, 6), name="k")
    return [A, te.compute((4,), lambda i: te.sum(A[i, k], axis=k), name="B")]


@TABLE.case(lambda a: np.arange(len(a), dtype="int32"), sizes={"n": 5}, index_dtype="int64")
def index_values_overridden_to_int64(te: Any) -> list[Any]:
    n = te.var("n")
    A = te.placeholder((n,), name="A")
    return [A, te.compute((n,), lambda i: i, name="B")]


@TABLE.case(lambda a: np.pad(a, (1, 0)), sizes={"n": 5}, index_dtype="int64")
def symbols_overridden_to_int64(te: Any) -> list[Any]:
    n = te.var("n")
    A = te.placeholder((n,), name="A")
    return [A, te.compute((n + 1,), lambda i: te.if_then_else(i >= 1, A[i - 1], 0.0), name="B")]


@TABLE.case(lambda s: s + np.float32(1))
def scalar(te: Any) -> list[Any]:
    S = te.placeholder((), name="S")
    return [S, te.compute((), lambda: S() + 1.0, name="T")]


@TABLE.case(lambda s: (s * s + s * s) / np.float32(2))
def chain_of_scalars(te: Any) -> list[Any]:
    S = te.placeholder((), name="S")
    T = te.compute((), lambda: S[()] * S(), name="T")
    U = te.compute((), lambda: T() + T(), name="U")
    return [S, te.compute((), lambda: U() / 2.0, name="V")]


@TABLE.case(lambda a: a - a.sum())
def scalar_in_the_middle(te: Any) -> list[Any]:
    A = te.placeholder((6,), name="A")
    k = te.reduce_axis((0, 6), name="k")
    S = te.compute((), lambda: te.sum(A[k], axis=k), name="S")
    return [A, te.compute((6,), lambda i: A[i] - S(), name="B")]


@TABLE.case(lambda s: np.full((2, 3), s))
def scalar_to_matrix(te: Any) -> list[Any]:
    S = te.placeholder((), dtype="int64", name="S")
    return [S, te.compute((2, 3), lambda i, j: S(), name="B")]


@TABLE.case(lambda a: a + 1)
def no_elements(te: Any) -> list[Any]:
    A = te.placeholder((0, 4), name="A")
    return [A, te.compute((0, 4), lambda i, j: A[i, j] + 1.0, name="B")]


@TABLE.case(lambda a: a.sum(axis=1))
def sum_with_no_elements(te: Any) -> list[Any]:
    A = te.placeholder((0, 4), name="A")
    k = te.reduce_axis((0, 4), name="k")
    return [A, te.compute((0,), lambda i: te.sum(A[i, k], axis=k), name="B")]


@TABLE.case(lambda a: a + 1, sizes={"n": 0}, fixed=True)
def a_symbol_that_is_zero(te: Any) -> list[Any]:
    n = te.var("n")
    A = te.placeholder((n, 4), name="A")
    return [A, te.compute((n, 4), lambda i, j: A[i, j] + 1.0, name="B")]


@TABLE.case(lambda a: a * 2)
def axes_of_one(te: Any) -> list[Any]:
    A = te.placeholder((1, 4, 1), name="A")
    return [A, te.compute((1, 4, 1), lambda i, j, k: A[i, j, k] * 2.0, name="B")]


@TABLE.case(lambda a: a.transpose(5, 4, 3, 2, 1, 0) + 1)
def six_axes(te: Any) -> list[Any]:
    A = te.placeholder((1, 2, 3, 2, 1, 2), dtype="int32", name="A")
    return [A, te.compute((2, 1, 2, 3, 2, 1), lambda a, b, c, d, e, f: A[f, e, d, c, b, a] + 1, name="B")]


@TABLE.case(lambda a: a + np.int8(1), runs=False)
def more_elements_than_int32(te: Any) -> list[Any]:
    A = te.placeholder((3 * 2**30,), dtype="int8", name="A")
    return [A, te.compute((3 * 2**30,), lambda i: A[i] + te.const(1, "int8"), name="B")]


@TABLE.case(lambda a: a[:, ::-1] + np.int8(1), runs=False)
def one_axis_beyond_int32(te: Any) -> list[Any]:
    A = te.placeholder((2, 2**32), dtype="int8", name="A")
    return [A, te.compute((2, 2**32), lambda i, j: A[i, 2**32 - 1 - j] + te.const(1, "int8"), name="B")]


@TABLE.case(lambda a: a + np.int8(1), runs=False)
def product_of_the_shape_beyond_int32(te: Any) -> list[Any]:
    A = te.placeholder((2**16, 2**16), dtype="int8", name="A")
    return [A, te.compute((2**16, 2**16), lambda i, j: A[i, j] + te.const(1, "int8"), name="B")]


@TABLE.case(
    lambda a: a + np.float32(1), tvm_fails="the strides that it checks are those that numpy has only for elements"
)
def no_elements_on_an_axis_beyond_int32(te: Any) -> list[Any]:
    A = te.placeholder((0, 2**33), name="A")
    return [A, te.compute((0, 2**33), lambda i, j: A[i, j] + 1.0, name="B")]


@TABLE.case(lambda a, b: a + b[: len(a)] * 2, sizes={"n": 4, "m": 9}, fixed=True)
def a_symbol_that_only_an_input_has(te: Any) -> list[Any]:
    n, m = te.var("n"), te.var("m")
    A, B = te.placeholder((n,), name="A"), te.placeholder((m,), name="B")
    return [A, B, te.compute((n,), lambda i: A[i] + B[i] * 2.0, name="C")]

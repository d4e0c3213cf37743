"""Cases of reductions: all combiners, dtypes, axes, several values at once."""

from collections.abc import Callable
from typing import Any

import numpy as np

from .case import Array, Table

TABLE = Table()

REDUCERS: dict[str, Callable[[Array], Array]] = {
    "sum": lambda a: a.sum(axis=1, dtype=a.dtype),
    "prod": lambda a: a.prod(axis=1, dtype=a.dtype),
    "max": lambda a: a.max(axis=1),
    "min": lambda a: a.min(axis=1),
}


def _reducer(name: str, dtype: str, function: Callable[[Array], Array]) -> None:
    def build(te: Any) -> list[Any]:
        A = te.placeholder((4, 6), dtype=dtype, name="A")
        k = te.reduce_axis((0, 6), name="k")
        B = te.compute((4,), lambda i: getattr(te, name)(A[i, k], axis=k), name="B")
        return [A, B]

    # The product of six numbers of four bits is exact in float32.
    TABLE.add(f"{name}_{dtype}", build, function, rtol=2e-2 if dtype == "float16" else 1e-5)


for _name, _function in REDUCERS.items():
    for _dtype in ("float16", "float32", "float64", "int8", "int32", "int64", "uint8"):
        _reducer(_name, _dtype, _function)


@TABLE.case(lambda a: a.all(axis=1))
def all_of_bools(te: Any) -> list[Any]:
    A = te.placeholder((8, 3), dtype="bool", name="A")
    k = te.reduce_axis((0, 3), name="k")
    return [A, te.compute((8,), lambda i: te.all(A[i, k], axis=k), name="B")]


@TABLE.case(lambda a: a.any(axis=1))
def any_of_bools(te: Any) -> list[Any]:
    A = te.placeholder((8, 3), dtype="bool", name="A")
    k = te.reduce_axis((0, 3), name="k")
    return [A, te.compute((8,), lambda i: te.any(A[i, k], axis=k), name="B")]


@TABLE.case(lambda a: (a > 1).any(axis=1))
def any_of_comparisons_by_a_user_defined_reducer(te: Any) -> list[Any]:
    A = te.placeholder((8, 3), name="A")
    k = te.reduce_axis((0, 3), name="k")
    some = te.comm_reducer(lambda x, y: te.any(x, y), lambda t: te.const(False, t), name="some")
    return [A, te.compute((8,), lambda i: some(A[i, k] > 1.0, axis=k), name="B")]


@TABLE.case(lambda a: a.max(axis=1), tvm_refuses="it knows no least bool, so no identity of max")
def max_of_bools(te: Any) -> list[Any]:
    A = te.placeholder((8, 3), dtype="bool", name="A")
    k = te.reduce_axis((0, 3), name="k")
    return [A, te.compute((8,), lambda i: te.max(A[i, k], axis=k), name="B")]


def _argmax(te: Any) -> Any:
    def combine(x: Any, y: Any) -> Any:
        keep = x[1] >= y[1]
        return te.Select(keep, x[0], y[0]), te.Select(keep, x[1], y[1])

    return te.comm_reducer(combine, lambda t0, t1: (te.const(-1, t0), te.min_value(t1)), name="argmax")


def _argmin(te: Any) -> Any:
    def combine(x: Any, y: Any) -> Any:
        keep = te.any(x[1] < y[1], te.all(x[1].equal(y[1]), x[0] < y[0]))
        return te.Select(keep, x[0], y[0]), te.Select(keep, x[1], y[1])

    return te.comm_reducer(combine, lambda t0, t1: (te.const(-1, t0), te.max_value(t1)), name="argmin")


@TABLE.case(lambda a: (a.argmax(axis=1).astype("int32"), a.max(axis=1)), outputs=(1, 2))
def argmax(te: Any) -> list[Any]:
    A = te.placeholder((4, 9), name="A")
    k = te.reduce_axis((0, 9), name="k")
    return [A, *te.compute((4,), lambda i: _argmax(te)((k, A[i, k]), axis=k), name="B")]


@TABLE.case(lambda a: (a.argmin(axis=1).astype("int32"), a.min(axis=1)), outputs=(1, 2))
def argmin_with_the_first_of_equal_ones(te: Any) -> list[Any]:
    A = te.placeholder((4, 9), dtype="int32", name="A")
    k = te.reduce_axis((0, 9), name="k")
    return [A, *te.compute((4,), lambda i: _argmin(te)((k, A[i, k]), axis=k), name="B")]


@TABLE.case(lambda a: (a.reshape(4, 20).argmax(axis=1).astype("int32"), a.max(axis=(1, 2))), outputs=(1, 2))
def argmax_over_two_axes(te: Any) -> list[Any]:
    A = te.placeholder((4, 4, 5), name="A")
    r, c = te.reduce_axis((0, 4), name="r"), te.reduce_axis((0, 5), name="c")
    return [A, *te.compute((4,), lambda i: _argmax(te)((r * 5 + c, A[i, r, c]), axis=[r, c]), name="B")]


@TABLE.case(lambda a, x: (x[np.arange(4), a.argmax(axis=1)], a.max(axis=1)), outputs=(2, 3))
def argmax_with_indices_from_a_tensor(te: Any) -> list[Any]:
    A = te.placeholder((4, 9), name="A")
    X = te.placeholder((4, 9), dtype="int64", name="X")
    k = te.reduce_axis((0, 9), name="k")
    return [A, X, *te.compute((4,), lambda i: _argmax(te)((X[i, k], A[i, k]), axis=k), name="B")]


@TABLE.case(lambda a: a.argmax(axis=1).astype("float32"))
def argmax_whose_value_nobody_wants(te: Any) -> list[Any]:
    A = te.placeholder((4, 9), name="A")
    k = te.reduce_axis((0, 9), name="k")
    index, _ = te.compute((4,), lambda i: _argmax(te)((k, A[i, k]), axis=k), name="B")
    return [A, te.compute((4,), lambda i: index[i].astype("float32"), name="C")]


@TABLE.case(lambda a: np.bitwise_xor.reduce(a, axis=0))
def exclusive_or(te: Any) -> list[Any]:
    A = te.placeholder((9, 4), dtype="int32", name="A")
    k = te.reduce_axis((0, 9), name="k")
    parity = te.comm_reducer(lambda x, y: x ^ y, lambda t: te.const(0, t), name="xor")
    return [A, te.compute((4,), lambda j: parity(A[k, j], axis=k), name="B")]


@TABLE.case(lambda a: np.abs(a).max(axis=1))
def largest_magnitude(te: Any) -> list[Any]:
    A = te.placeholder((4, 9), name="A")
    k = te.reduce_axis((0, 9), name="k")
    return [A, te.compute((4,), lambda i: te.max(te.abs(A[i, k]), axis=k), name="B")]


@TABLE.case(lambda a, b: _complex_product(a, b), outputs=(2, 3))
def product_of_complex_numbers(te: Any) -> list[Any]:
    A, B = te.placeholder((4, 5), name="re"), te.placeholder((4, 5), name="im")
    k = te.reduce_axis((0, 5), name="k")
    product = te.comm_reducer(
        lambda x, y: (x[0] * y[0] - x[1] * y[1], x[0] * y[1] + x[1] * y[0]),
        lambda t0, t1: (te.const(1, t0), te.const(0, t1)),
        name="complex_product",
    )
    return [A, B, *te.compute((4,), lambda i: product((A[i, k], B[i, k]), axis=k), name="P")]


def _complex_product(re: Array, im: Array) -> tuple[Array, Array]:
    product = (re + 1j * im).prod(axis=1)
    return product.real.astype("float32"), product.imag.astype("float32")


@TABLE.case(lambda a: (a.sum(axis=0), a.prod(axis=0)), outputs=(1, 2), rtol=1e-4)
def sum_and_product_at_once(te: Any) -> list[Any]:
    A = te.placeholder((6, 4), name="A")
    k = te.reduce_axis((0, 6), name="k")
    both = te.comm_reducer(
        lambda x, y: (x[0] + y[0], x[1] * y[1]), lambda t0, t1: (te.const(0, t0), te.const(1, t1)), name="both"
    )
    return [A, *te.compute((4,), lambda j: both((A[k, j], A[k, j]), axis=k), name="B")]


@TABLE.case(lambda a: (np.full(4, 7, "float32"), a.mean(axis=1), a.var(axis=1) * np.float32(7)), outputs=(1, 2, 3))
def count_mean_and_squares_after_welford(te: Any) -> list[Any]:
    A = te.placeholder((4, 7), name="A")
    k = te.reduce_axis((0, 7), name="k")

    def combine(x: Any, y: Any) -> Any:
        count = x[0] + y[0]
        share = te.if_then_else(count > 0.0, y[0] / te.max(count, 1.0), 0.0)
        delta = y[1] - x[1]
        return count, x[1] + delta * share, x[2] + y[2] + delta * delta * x[0] * share

    welford = te.comm_reducer(combine, lambda *t: tuple(te.const(0, each) for each in t), name="welford")
    one = te.const(1.0, "float32")
    zero = te.const(0.0, "float32")
    return [A, *te.compute((4,), lambda i: welford((one, A[i, k], zero), axis=k), name="B")]


@TABLE.case(lambda a: (a.max(axis=1), np.exp(a - a.max(axis=1, keepdims=True)).sum(axis=1)), outputs=(1, 2))
def maximum_and_sum_of_exponentials(te: Any) -> list[Any]:
    A = te.placeholder((4, 7), name="A")
    k = te.reduce_axis((0, 7), name="k")

    def combine(x: Any, y: Any) -> Any:
        most = te.max(x[0], y[0])
        return most, x[1] * te.exp(x[0] - most) + y[1] * te.exp(y[0] - most)

    online = te.comm_reducer(combine, lambda t0, t1: (te.min_value(t0), te.const(0, t1)), name="online")
    return [A, *te.compute((4,), lambda i: online((A[i, k], te.const(1.0, "float32")), axis=k), name="B")]


@TABLE.case(lambda a: a.sum(axis=(1, 2)))
def sum_over_two_axes(te: Any) -> list[Any]:
    A = te.placeholder((4, 5, 6), name="A")
    j, k = te.reduce_axis((0, 5), name="j"), te.reduce_axis((0, 6), name="k")
    return [A, te.compute((4,), lambda i: te.sum(A[i, j, k], axis=[j, k]), name="B")]


@TABLE.case(lambda a: a.sum(axis=(1, 2)))
def sum_over_two_axes_the_inner_first(te: Any) -> list[Any]:
    A = te.placeholder((4, 5, 6), name="A")
    j, k = te.reduce_axis((0, 5), name="j"), te.reduce_axis((0, 6), name="k")
    return [A, te.compute((4,), lambda i: te.sum(A[i, j, k], axis=(k, j)), name="B")]


@TABLE.case(lambda a: a.max(axis=(0, 1, 2)))
def max_over_all_axes(te: Any) -> list[Any]:
    A = te.placeholder((4, 5, 6), name="A")
    axes = [te.reduce_axis((0, size), name=f"r{n}") for n, size in enumerate((4, 5, 6))]
    return [A, te.compute((), lambda: te.max(A[tuple(axes)], axis=axes), name="B")]


@TABLE.case(lambda a: a.sum(keepdims=True))
def sum_over_all_axes_that_keeps_them(te: Any) -> list[Any]:
    A = te.placeholder((4, 5), name="A")
    j, k = te.reduce_axis((0, 4), name="j"), te.reduce_axis((0, 5), name="k")
    return [A, te.compute((1, 1), lambda i0, i1: te.sum(A[j, k], axis=[j, k]), name="B")]


@TABLE.case(lambda a: a[:, 2:7].sum(axis=1))
def axis_that_starts_at_two(te: Any) -> list[Any]:
    A = te.placeholder((4, 9), name="A")
    k = te.reduce_axis((2, 7), name="k")
    return [A, te.compute((4,), lambda i: te.sum(A[i, k], axis=k), name="B")]


@TABLE.case(lambda a: a[:, :5].sum(axis=1))
def axis_that_starts_below_zero(te: Any) -> list[Any]:
    A = te.placeholder((4, 9), name="A")
    k = te.reduce_axis((-2, 3), name="k")
    return [A, te.compute((4,), lambda i: te.sum(A[i, k + 2], axis=k), name="B")]


@TABLE.case(lambda a: a[:, 1::2].sum(axis=1))
def every_second_element(te: Any) -> list[Any]:
    A = te.placeholder((4, 10), name="A")
    k = te.reduce_axis((0, 5), name="k")
    return [A, te.compute((4,), lambda i: te.sum(A[i, 2 * k + 1], axis=k), name="B")]


@TABLE.case(lambda a: np.where(a > 0, a, 0).sum(axis=1))
def sum_of_what_is_positive_by_condition(te: Any) -> list[Any]:
    A = te.placeholder((4, 9), name="A")
    k = te.reduce_axis((0, 9), name="k")
    return [A, te.compute((4,), lambda i: te.sum(te.if_then_else(A[i, k] > 0.0, A[i, k], 0.0), axis=k), name="B")]


@TABLE.case(lambda a: a[:, 4:].sum(axis=1), tvm_differs="create_prim_func drops `where`")
def sum_where_the_axis_is_large(te: Any) -> list[Any]:
    A = te.placeholder((4, 9), name="A")
    k = te.reduce_axis((0, 9), name="k")
    return [A, te.compute((4,), lambda i: te.sum(A[i, k], axis=k, where=k > 3), name="B")]


@TABLE.case(
    lambda a, m: np.where(m, a, -np.inf).max(axis=1, initial=np.finfo("float32").min).astype("float32"),
    tvm_differs="create_prim_func drops `where`",
)
def max_where_a_mask_says(te: Any) -> list[Any]:
    A = te.placeholder((4, 9), name="A")
    M = te.placeholder((4, 9), dtype="bool", name="M")
    k = te.reduce_axis((0, 9), name="k")
    return [A, M, te.compute((4,), lambda i: te.max(A[i, k], axis=k, where=M[i, k]), name="B")]


@TABLE.case(lambda a: a.sum(axis=1) + np.float32(3), tvm_differs="create_prim_func drops `init`")
def sum_on_top_of_a_number(te: Any) -> list[Any]:
    A = te.placeholder((4, 9), name="A")
    k = te.reduce_axis((0, 9), name="k")
    return [A, te.compute((4,), lambda i: te.sum(A[i, k], axis=k, init=3.0), name="B")]


@TABLE.case(lambda a, c: c + a.sum(axis=1), tvm_differs="create_prim_func drops `init`")
def sum_on_top_of_a_tensor(te: Any) -> list[Any]:
    A, C = te.placeholder((4, 9), name="A"), te.placeholder((4,), name="C")
    k = te.reduce_axis((0, 9), name="k")
    return [A, C, te.compute((4,), lambda i: te.sum(A[i, k], axis=k, init=C[i]), name="B")]


@TABLE.case(
    lambda a: np.full(4, np.finfo("float32").min), tvm_differs="what is reduced over no elements is not written at all"
)
def max_of_nothing(te: Any) -> list[Any]:
    A = te.placeholder((4, 0), name="A")
    k = te.reduce_axis((0, 0), name="k")
    return [A, te.compute((4,), lambda i: te.max(A[i, k], axis=k), name="B")]


@TABLE.case(lambda a: a[:, 0])
def sum_of_one(te: Any) -> list[Any]:
    A = te.placeholder((4, 1), name="A")
    k = te.reduce_axis((0, 1), name="k")
    return [A, te.compute((4,), lambda i: te.sum(A[i, k], axis=k), name="B")]


@TABLE.case(lambda a: a.astype("int32").sum(axis=1, dtype="int32"), ranges={"A": (-128, 127)})
def sum_of_int8_in_int32(te: Any) -> list[Any]:
    A = te.placeholder((4, 9), dtype="int8", name="A")
    k = te.reduce_axis((0, 9), name="k")
    return [A, te.compute((4,), lambda i: te.sum(A[i, k].astype("int32"), axis=k), name="B")]


@TABLE.case(lambda a: (a > 0).sum(axis=1, dtype="int32"))
def count_of_what_is_positive(te: Any) -> list[Any]:
    A = te.placeholder((4, 9), name="A")
    k = te.reduce_axis((0, 9), name="k")
    return [A, te.compute((4,), lambda i: te.sum((A[i, k] > 0.0).astype("int32"), axis=k), name="B")]


@TABLE.case(lambda a, b: np.abs(a[:, None] - b[None]).sum(axis=2))
def distances(te: Any) -> list[Any]:
    A, B = te.placeholder((4, 6), name="A"), te.placeholder((5, 6), name="B")
    k = te.reduce_axis((0, 6), name="k")
    return [A, B, te.compute((4, 5), lambda i, j: te.sum(te.abs(A[i, k] - B[j, k]), axis=k), name="C")]


@TABLE.case(lambda a: np.cumsum(a))
def prefix_sums_by_condition(te: Any) -> list[Any]:
    A = te.placeholder((9,), name="A")
    k = te.reduce_axis((0, 9), name="k")
    return [A, te.compute((9,), lambda i: te.sum(te.if_then_else(k <= i, A[k], 0.0), axis=k), name="B")]


@TABLE.case(lambda: np.array([0, 1, 3, 6, 10], "int32"), outputs=(0,))
def sum_of_indices(te: Any) -> list[Any]:
    k = te.reduce_axis((0, 5), name="k")
    return [te.compute((5,), lambda i: te.sum(te.Select(k <= i, k, 0), axis=k), name="B")]


@TABLE.case(lambda a: a.sum(axis=1) + np.float32(1), tvm_refuses="reductions stand alone in a compute")
def reduction_inside_of_an_expression(te: Any) -> list[Any]:
    A = te.placeholder((4, 9), name="A")
    k = te.reduce_axis((0, 9), name="k")
    return [A, te.compute((4,), lambda i: te.sum(A[i, k], axis=k) + 1.0, name="B")]


@TABLE.case(lambda a: (a.sum(axis=1), a.max(axis=1)), outputs=(1, 2), tvm_refuses="one compute has one combiner")
def two_reductions_in_one_compute(te: Any) -> list[Any]:
    A = te.placeholder((4, 9), name="A")
    k = te.reduce_axis((0, 9), name="k")
    return [A, *te.compute((4,), lambda i: (te.sum(A[i, k], axis=k), te.max(A[i, k], axis=k)), name="B")]

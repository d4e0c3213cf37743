"""Cases of indexing: permutations, windows, padding, data-dependent indices, indices as values."""

from typing import Any

import numpy as np

from .case import Table

TABLE = Table()


@TABLE.case(lambda a: a.T)
def transpose(te: Any) -> list[Any]:
    A = te.placeholder((4, 6), name="A")
    return [A, te.compute((6, 4), lambda i, j: A[j, i], name="B")]


@TABLE.case(lambda a: a.transpose(0, 2, 3, 1))
def nchw_to_nhwc(te: Any) -> list[Any]:
    A = te.placeholder((2, 3, 4, 5), name="A")
    return [A, te.compute((2, 4, 5, 3), lambda n, h, w, c: A[n, c, h, w], name="B")]


@TABLE.case(lambda a: a)
def slices_of_slices(te: Any) -> list[Any]:
    A = te.placeholder((3, 4, 5), name="A")
    return [A, te.compute((3, 4, 5), lambda i, j, k: A[i][j][k], name="B")]


@TABLE.case(lambda a: a[1] * a[0].T)
def slices_at_constants(te: Any) -> list[Any]:
    A = te.placeholder((2, 4, 4), name="A")
    return [A, te.compute((4, 4), lambda i, j: A[1][i, j] * A[0, j][i], name="B")]


@TABLE.case(lambda a: a + a)
def calls_and_subscripts(te: Any) -> list[Any]:
    A = te.placeholder((4, 5), name="A")
    return [A, te.compute((4, 5), lambda *i: A(*i) + A[i], name="B")]


@TABLE.case(lambda a: a[::-1])
def reversal(te: Any) -> list[Any]:
    A = te.placeholder((8,), name="A")
    return [A, te.compute((8,), lambda i: A[7 - i], name="B")]


@TABLE.case(lambda a: np.roll(a, -3))
def roll(te: Any) -> list[Any]:
    A = te.placeholder((8,), name="A")
    return [A, te.compute((8,), lambda i: A[(i + 3) % 8], name="B")]


@TABLE.case(lambda a: np.repeat(a, 2, axis=1))
def repeat_of_elements(te: Any) -> list[Any]:
    A = te.placeholder((3, 4), name="A")
    return [A, te.compute((3, 8), lambda i, j: A[i, j // 2], name="B")]


@TABLE.case(lambda a: np.tile(a, 3))
def tiling_by_indexmod(te: Any) -> list[Any]:
    A = te.placeholder((4,), name="A")
    return [A, te.compute((12,), lambda i: A[te.indexmod(i, 4)] + A[te.indexdiv(i, 4)] * 0.0, name="B")]


@TABLE.case(lambda a: a[1:9:2])
def strided_slice(te: Any) -> list[Any]:
    A = te.placeholder((10,), name="A")
    return [A, te.compute((4,), lambda i: A[2 * i + 1], name="B")]


@TABLE.case(lambda a: a.reshape(3, 8))
def reshape(te: Any) -> list[Any]:
    A = te.placeholder((4, 6), name="A")

    def element(i: Any, j: Any) -> Any:
        position = i * 8 + j
        return A[te.floordiv(position, 6), te.floormod(position, 6)]

    return [A, te.compute((3, 8), element, name="B")]


@TABLE.case(lambda a: a.reshape(24))
def flattening(te: Any) -> list[Any]:
    A = te.placeholder((2, 3, 4), name="A")
    return [A, te.compute((24,), lambda i: A[i // 12, i // 4 % 3, i % 4], name="B")]


@TABLE.case(lambda a: a.reshape(2, 2, 3, 2).transpose(1, 3, 0, 2))
def space_to_depth(te: Any) -> list[Any]:
    A = te.placeholder((4, 6), name="A")
    return [A, te.compute((2, 2, 2, 3), lambda p, q, i, j: A[i * 2 + p, j * 2 + q], name="B")]


@TABLE.case(lambda a: a.reshape(2, 2, 3, 3).transpose(2, 0, 3, 1).reshape(6, 6))
def pixel_shuffle(te: Any) -> list[Any]:
    A = te.placeholder((4, 3, 3), name="A")
    return [A, te.compute((6, 6), lambda i, j: A[i % 2 * 2 + j % 2, i // 2, j // 2], name="B")]


@TABLE.case(lambda a: np.diagonal(a))
def diagonal(te: Any) -> list[Any]:
    A = te.placeholder((5, 5), name="A")
    return [A, te.compute((5,), lambda i: A[i, i], name="B")]


@TABLE.case(lambda a: np.tril(a))
def lower_triangle_by_select(te: Any) -> list[Any]:
    A = te.placeholder((5, 5), name="A")
    return [A, te.compute((5, 5), lambda i, j: te.Select(i >= j, A[i, j], te.const(0.0, "float32")), name="B")]


@TABLE.case(lambda a: np.triu(np.tril(a, 1), -1))
def band(te: Any) -> list[Any]:
    A = te.placeholder((6, 6), name="A")
    return [
        A,
        te.compute((6, 6), lambda i, j: te.if_then_else(te.all(i - j <= 1, j - i <= 1), A[i, j], 0.0), name="B"),
    ]


@TABLE.case(lambda: np.arange(6, dtype="int32"), outputs=(0,))
def the_index_itself(te: Any) -> list[Any]:
    return [te.compute((6,), lambda i: i, name="B")]


@TABLE.case(lambda: np.arange(6, dtype="float32") / np.float32(2) + np.float32(1), outputs=(0,))
def the_index_as_float(te: Any) -> list[Any]:
    return [te.compute((6,), lambda i: i.astype("float32") * 0.5 + 1.0, name="B")]


@TABLE.case(lambda a: np.arange(6, dtype="float32") * a)
def the_index_times_an_element(te: Any) -> list[Any]:
    A = te.placeholder((6,), name="A")
    return [A, te.compute((6,), lambda i: i * A[i], name="B")]


@TABLE.case(lambda: np.eye(5, dtype="float32"), outputs=(0,))
def identity_matrix(te: Any) -> list[Any]:
    return [te.compute((5, 5), lambda i, j: te.if_then_else(i.equal(j), 1.0, 0.0), name="B")]


@TABLE.case(lambda: np.full((3, 4), 2.5, "float32"), outputs=(0,))
def a_literal(te: Any) -> list[Any]:
    return [te.compute((3, 4), lambda i, j: 2.5, name="B")]


@TABLE.case(lambda: np.full((3,), True), outputs=(0,))
def a_literal_bool(te: Any) -> list[Any]:
    return [te.compute((3,), lambda i: True, name="B")]


@TABLE.case(lambda a: a[3:13] + a[:10])
def two_places_of_one_tensor(te: Any) -> list[Any]:
    A = te.placeholder((16,), name="A")
    return [A, te.compute((10,), lambda i: A[i + 3] + A[i], name="B")]


@TABLE.case(lambda a: a[1:-1, 1:-1] * 4 - a[:-2, 1:-1] - a[2:, 1:-1] - a[1:-1, :-2] - a[1:-1, 2:])
def laplacian(te: Any) -> list[Any]:
    A = te.placeholder((6, 7), name="A")

    def stencil(i: Any, j: Any) -> Any:
        return A[i + 1, j + 1] * 4 - A[i, j + 1] - A[i + 2, j + 1] - A[i + 1, j] - A[i + 1, j + 2]

    return [A, te.compute((4, 5), stencil, name="B")]


@TABLE.case(lambda a: np.pad(a, (2, 3)))
def zero_padding(te: Any) -> list[Any]:
    A = te.placeholder((9,), name="A")
    return [A, te.compute((14,), lambda i: te.if_then_else(te.all(i >= 2, i < 11), A[i - 2], 0.0), name="B")]


@TABLE.case(lambda a: np.pad(a, ((1, 1), (2, 2)), constant_values=-1))
def padding_of_two_axes_by_a_constant(te: Any) -> list[Any]:
    A = te.placeholder((4, 5), dtype="int32", name="A")
    B = te.compute(
        (6, 9),
        lambda i, j: te.if_then_else(te.all(1 <= i, i < 5, 2 <= j, j < 7), A[i - 1, j - 2], te.const(-1, "int32")),
        name="B",
    )
    return [A, B]


@TABLE.case(lambda a: np.pad(a, 3, mode="edge"))
def padding_by_the_edge(te: Any) -> list[Any]:
    A = te.placeholder((6,), name="A")
    return [A, te.compute((12,), lambda i: A[te.max(te.min(i - 3, 5), 0)], name="B")]


@TABLE.case(lambda a: np.pad(a, 2, mode="reflect"))
def padding_by_reflection(te: Any) -> list[Any]:
    A = te.placeholder((6,), name="A")
    B = te.compute(
        (10,),
        lambda i: A[te.if_then_else(i < 2, 2 - i, te.if_then_else(i < 8, i - 2, 12 - i))],
        name="B",
    )
    return [A, B]


@TABLE.case(lambda a, b: np.concatenate([a, b]))
def concatenation(te: Any) -> list[Any]:
    A, B = te.placeholder((4,), name="A"), te.placeholder((5,), name="B")
    return [A, B, te.compute((9,), lambda i: te.if_then_else(i < 4, A[i], B[i - 4]), name="C")]


@TABLE.case(lambda a, b, c: np.concatenate([a, b, c], axis=1))
def concatenation_of_three_along_the_second_axis(te: Any) -> list[Any]:
    A, B, C = (te.placeholder((3, size), name=name) for name, size in zip("ABC", (2, 3, 4), strict=True))

    def element(i: Any, j: Any) -> Any:
        return te.if_then_else(j < 2, A[i, j], te.if_then_else(j < 5, B[i, j - 2], C[i, j - 5]))

    return [A, B, C, te.compute((3, 9), element, name="D")]


@TABLE.case(lambda a, b: np.stack([a, b], axis=1))
def stack_by_select(te: Any) -> list[Any]:
    A, B = te.placeholder((4,), name="A"), te.placeholder((4,), name="B")
    return [A, B, te.compute((4, 2), lambda i, j: te.Select(j.equal(0), A[i], B[i]), name="C")]


@TABLE.case(lambda a: (a[:, :2], a[:, 2:]), outputs=(1, 2))
def two_parts_of_different_shapes(te: Any) -> list[Any]:
    A = te.placeholder((3, 5), name="A")
    left = te.compute((3, 2), lambda i, j: A[i, j], name="left")
    return [A, left, te.compute((3, 3), lambda i, j: A[i, j + 2], name="right")]


@TABLE.case(lambda a, x: a[x], ranges={"X": (0, 8)})
def gather(te: Any) -> list[Any]:
    A = te.placeholder((9,), name="A")
    X = te.placeholder((5,), dtype="int32", name="X")
    return [A, X, te.compute((5,), lambda i: A[X[i]], name="B")]


@TABLE.case(lambda a, x: a[x], ranges={"X": (0, 8)})
def gather_by_int64(te: Any) -> list[Any]:
    A = te.placeholder((9,), name="A")
    X = te.placeholder((5,), dtype="int64", name="X")
    return [A, X, te.compute((5,), lambda i: A[X[i]], name="B")]


@TABLE.case(lambda a, x: a[x], ranges={"X": (0, 8)})
def rows_of_a_table(te: Any) -> list[Any]:
    A = te.placeholder((9, 4), name="table")
    X = te.placeholder((2, 3), dtype="int32", name="X")
    return [A, X, te.compute((2, 3, 4), lambda b, i, j: A[X[b, i], j], name="B")]


@TABLE.case(lambda a, x: a[x[x]], ranges={"X": (0, 4)})
def gather_of_gathered_indices(te: Any) -> list[Any]:
    A = te.placeholder((5,), name="A")
    X = te.placeholder((5,), dtype="int32", name="X")
    return [A, X, te.compute((5,), lambda i: A[X[X[i]]], name="B")]


@TABLE.case(lambda a, x: np.where(x < 9, a[np.clip(x, 0, 8)], np.float32(0)), ranges={"X": (0, 20)})
def gather_guarded_by_the_index(te: Any) -> list[Any]:
    A = te.placeholder((9,), name="A")
    X = te.placeholder((5,), dtype="int32", name="X")
    return [A, X, te.compute((5,), lambda i: te.if_then_else(X[i] < 9, A[X[i]], 0.0), name="B")]


@TABLE.case(lambda x: (x[:, None] == np.arange(6)).astype("float32"), ranges={"X": (0, 5)})
def one_hot(te: Any) -> list[Any]:
    X = te.placeholder((4,), dtype="int32", name="X")
    return [X, te.compute((4, 6), lambda i, j: (X[i].equal(j)).astype("float32"), name="B")]


@TABLE.case(
    lambda x, u: np.stack([np.where(x == r, u, np.float32(0)).sum() for r in range(4)]).astype("float32"),
    ranges={"X": (0, 3)},
)
def scatter_add_by_comparison(te: Any) -> list[Any]:
    X = te.placeholder((9,), dtype="int32", name="X")
    U = te.placeholder((9,), name="U")
    k = te.reduce_axis((0, 9), name="k")
    return [X, U, te.compute((4,), lambda i: te.sum(te.if_then_else(X[k].equal(i), U[k], 0.0), axis=k), name="B")]


@TABLE.case(lambda a: np.array([[a[max(i - j, 0)] for j in range(3)] for i in range(6)]))
def select_computes_both(te: Any) -> list[Any]:
    A = te.placeholder((6,), name="A")
    return [A, te.compute((6, 3), lambda i, j: A[te.Select(i >= j, i - j, 0)], name="B")]


@TABLE.case(lambda a: a[np.abs(np.fmod(np.arange(9) - 4, 3))])
def truncating_remainder_of_indices(te: Any) -> list[Any]:
    A = te.placeholder((9,), name="A")
    return [A, te.compute((9,), lambda i: A[te.abs(te.truncmod(i - 4, 3))], name="B")]


@TABLE.case(lambda a: a[np.arange(9) % 4 + np.arange(9) // 4])
def indices_that_cannot_be_simplified(te: Any) -> list[Any]:
    A = te.placeholder((9,), name="A")
    return [A, te.compute((9,), lambda i: A[i % 4 + i // 4], name="B")]


@TABLE.case(lambda a: a * 2)
def indices_that_simplify(te: Any) -> list[Any]:
    A = te.placeholder((12,), name="A")
    return [A, te.compute((12,), lambda i: A[i // 4 * 4 + i % 4] + A[(i * 4 + 3) // 4], name="B")]


@TABLE.case(lambda a: np.where(np.arange(9) > 1, a, np.float32(0)))
def conditions_that_simplify(te: Any) -> list[Any]:
    A = te.placeholder((9,), name="A")
    B = te.compute(
        (9,),
        lambda i: te.if_then_else(te.all(i * 2 > 3, i + 1 >= 3, i >= 0, i < 100), A[i], 0.0),
        name="B",
    )
    return [A, B]


@TABLE.case(lambda a: np.lib.stride_tricks.sliding_window_view(a, (2, 3)).reshape(3, 4, 6))
def image_to_columns(te: Any) -> list[Any]:
    A = te.placeholder((4, 6), name="A")
    return [A, te.compute((3, 4, 6), lambda i, j, k: A[i + k // 3, j + k % 3], name="B")]

"""Cases of several stages: matrix products, convolutions, pooling, normalisation, chains."""

from typing import Any

import numpy as np

from .case import Array, Table

TABLE = Table()


def _matmul(te: Any, A: Any, B: Any, name: str) -> Any:
    k = te.reduce_axis((0, A.shape[1]), name="k")
    return te.compute((A.shape[0], B.shape[1]), lambda i, j: te.sum(A[i, k] * B[k, j], axis=k), name=name)


@TABLE.case(lambda a, b: a @ b)
def matmul(te: Any) -> list[Any]:
    A, B = te.placeholder((4, 5), name="A"), te.placeholder((5, 6), name="B")
    return [A, B, _matmul(te, A, B, "C")]


@TABLE.case(lambda a, b: a @ b.T)
def matmul_with_the_second_transposed(te: Any) -> list[Any]:
    A, B = te.placeholder((4, 5), name="A"), te.placeholder((6, 5), name="B")
    k = te.reduce_axis((0, 5), name="k")
    return [A, B, te.compute((4, 6), lambda i, j: te.sum(A[i, k] * B[j, k], axis=k), name="C")]


@TABLE.case(lambda a, b: a.astype("float32") @ b.astype("float32"))
def matmul_of_float16_in_float32(te: Any) -> list[Any]:
    A, B = te.placeholder((4, 5), dtype="float16", name="A"), te.placeholder((5, 6), dtype="float16", name="B")
    k = te.reduce_axis((0, 5), name="k")
    C = te.compute((4, 6), lambda i, j: te.sum(A[i, k].astype("float32") * B[k, j].astype("float32"), axis=k), name="C")
    return [A, B, C]


@TABLE.case(lambda a, b: a.astype("int32") @ b.astype("int32"), ranges={"A": (0, 255), "B": (-128, 127)})
def matmul_of_uint8_and_int8_in_int32(te: Any) -> list[Any]:
    A, B = te.placeholder((4, 5), dtype="uint8", name="A"), te.placeholder((5, 6), dtype="int8", name="B")
    k = te.reduce_axis((0, 5), name="k")
    C = te.compute((4, 6), lambda i, j: te.sum(A[i, k].astype("int32") * B[k, j].astype("int32"), axis=k), name="C")
    return [A, B, C]


@TABLE.case(lambda a, b: a @ b)
def batch_matmul(te: Any) -> list[Any]:
    A, B = te.placeholder((2, 4, 5), name="A"), te.placeholder((2, 5, 6), name="B")
    k = te.reduce_axis((0, 5), name="k")
    return [A, B, te.compute((2, 4, 6), lambda b, i, j: te.sum(A[b, i, k] * B[b, k, j], axis=k), name="C")]


@TABLE.case(lambda a, x: a @ x)
def matrix_times_vector(te: Any) -> list[Any]:
    A, X = te.placeholder((4, 5), name="A"), te.placeholder((5,), name="x")
    k = te.reduce_axis((0, 5), name="k")
    return [A, X, te.compute((4,), lambda i: te.sum(A[i, k] * X[k], axis=k), name="y")]


@TABLE.case(lambda a, b: np.dot(a, b))
def dot_product(te: Any) -> list[Any]:
    A, B = te.placeholder((9,), name="A"), te.placeholder((9,), name="B")
    k = te.reduce_axis((0, 9), name="k")
    return [A, B, te.compute((), lambda: te.sum(A[k] * B[k], axis=k), name="C")]


@TABLE.case(lambda x, w, b: np.maximum(x @ w.T + b, 0))
def dense_with_bias_and_relu(te: Any) -> list[Any]:
    X, W, B = te.placeholder((4, 5), name="X"), te.placeholder((6, 5), name="W"), te.placeholder((6,), name="B")
    k = te.reduce_axis((0, 5), name="k")
    product = te.compute((4, 6), lambda i, j: te.sum(X[i, k] * W[j, k], axis=k), name="dense")
    sums = te.compute((4, 6), lambda i, j: product[i, j] + B[j], name="bias_add")
    return [X, W, B, te.compute((4, 6), lambda i, j: te.max(sums[i, j], 0.0), name="relu")]


@TABLE.case(lambda a, b, c: a @ b @ c)
def product_of_three_matrices(te: Any) -> list[Any]:
    A, B = te.placeholder((3, 4), name="A"), te.placeholder((4, 5), name="B")
    C = te.placeholder((5, 6), name="C")
    return [A, B, C, _matmul(te, _matmul(te, A, B, "AB"), C, "ABC")]


@TABLE.case(lambda a, m, b: np.einsum("bi,oij,bj->bo", a, m, b))
def bilinear_form(te: Any) -> list[Any]:
    A, M, B = te.placeholder((3, 4), name="A"), te.placeholder((2, 4, 5), name="M"), te.placeholder((3, 5), name="B")
    i, j = te.reduce_axis((0, 4), name="i"), te.reduce_axis((0, 5), name="j")
    C = te.compute((3, 2), lambda b, o: te.sum(A[b, i] * M[o, i, j] * B[b, j], axis=[i, j]), name="C")
    return [A, M, B, C]


@TABLE.case(lambda a, w: np.correlate(a, w))
def conv1d(te: Any) -> list[Any]:
    A, W = te.placeholder((9,), name="A"), te.placeholder((3,), name="W")
    k = te.reduce_axis((0, 3), name="k")
    return [A, W, te.compute((7,), lambda i: te.sum(A[i + k] * W[k], axis=k), name="B")]


def _conv2d(x: Array, w: Array, stride: int = 1, dilation: int = 1, groups: int = 1) -> Array:
    """The convolution of `x` in layout NCHW with `w` in layout OIHW."""
    filters, channels, height, width = w.shape
    rows, columns = (
        (size - (kernel - 1) * dilation - 1) // stride + 1
        for size, kernel in zip(x.shape[2:], (height, width), strict=True)
    )
    result = np.zeros((x.shape[0], filters, rows, columns), x.dtype)
    each = filters // groups
    for group in range(groups):
        of = slice(group * channels, (group + 1) * channels)
        for p in range(height):
            for q in range(width):
                top, left = p * dilation, q * dilation
                part = x[:, of, top : top + rows * stride : stride, left : left + columns * stride : stride]
                part = part[:, :, :rows, :columns]
                kernel = w[group * each : (group + 1) * each, :, p, q]
                result[:, group * each : (group + 1) * each] += np.einsum("nchw,oc->nohw", part, kernel)
    return result


def _window(te: Any, channels: int, height: int, width: int) -> tuple[Any, Any, Any]:
    return (
        te.reduce_axis((0, channels), name="rc"),
        te.reduce_axis((0, height), name="ry"),
        te.reduce_axis((0, width), name="rx"),
    )


@TABLE.case(lambda x, w: _conv2d(np.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1))), w))
def conv2d_with_padding(te: Any) -> list[Any]:
    X, W = te.placeholder((1, 3, 6, 7), name="X"), te.placeholder((4, 3, 3, 3), name="W")
    rc, ry, rx = _window(te, 3, 3, 3)
    padded = te.compute(
        (1, 3, 8, 9),
        lambda n, c, h, w: te.if_then_else(te.all(h >= 1, h < 7, w >= 1, w < 8), X[n, c, h - 1, w - 1], 0.0),
        name="pad",
    )
    Y = te.compute(
        (1, 4, 6, 7),
        lambda n, f, y, x: te.sum(padded[n, rc, y + ry, x + rx] * W[f, rc, ry, rx], axis=[rc, ry, rx]),
        name="conv",
    )
    return [X, W, Y]


@TABLE.case(lambda x, w: _conv2d(x, w, stride=2))
def conv2d_with_stride(te: Any) -> list[Any]:
    X, W = te.placeholder((2, 3, 7, 9), name="X"), te.placeholder((4, 3, 3, 3), name="W")
    rc, ry, rx = _window(te, 3, 3, 3)
    Y = te.compute(
        (2, 4, 3, 4),
        lambda n, f, y, x: te.sum(X[n, rc, y * 2 + ry, x * 2 + rx] * W[f, rc, ry, rx], axis=[rc, ry, rx]),
        name="conv",
    )
    return [X, W, Y]


@TABLE.case(lambda x, w: _conv2d(x, w, dilation=2))
def conv2d_with_dilation(te: Any) -> list[Any]:
    X, W = te.placeholder((1, 2, 8, 8), name="X"), te.placeholder((3, 2, 3, 3), name="W")
    rc, ry, rx = _window(te, 2, 3, 3)
    Y = te.compute(
        (1, 3, 4, 4),
        lambda n, f, y, x: te.sum(X[n, rc, y + ry * 2, x + rx * 2] * W[f, rc, ry, rx], axis=[rc, ry, rx]),
        name="conv",
    )
    return [X, W, Y]


@TABLE.case(lambda x, w: _conv2d(x, w, groups=4))
def depthwise_conv2d(te: Any) -> list[Any]:
    X, W = te.placeholder((1, 4, 6, 6), name="X"), te.placeholder((4, 1, 3, 3), name="W")
    _, ry, rx = _window(te, 1, 3, 3)
    Y = te.compute(
        (1, 4, 4, 4),
        lambda n, c, y, x: te.sum(X[n, c, y + ry, x + rx] * W[c, 0, ry, rx], axis=[ry, rx]),
        name="depthwise",
    )
    return [X, W, Y]


@TABLE.case(lambda x, w: _conv2d(x, w, groups=2))
def grouped_conv2d(te: Any) -> list[Any]:
    X, W = te.placeholder((1, 4, 5, 5), name="X"), te.placeholder((6, 2, 3, 3), name="W")
    rc, ry, rx = _window(te, 2, 3, 3)
    Y = te.compute(
        (1, 6, 3, 3),
        lambda n, f, y, x: te.sum(X[n, f // 3 * 2 + rc, y + ry, x + rx] * W[f, rc, ry, rx], axis=[rc, ry, rx]),
        name="conv",
    )
    return [X, W, Y]


def _conv2d_transpose(x: Array, w: Array) -> Array:
    """The transposed convolution of stride 2, with `w` in layout IOHW."""
    spread = np.zeros((x.shape[0], x.shape[1], x.shape[2] * 2 - 1, x.shape[3] * 2 - 1), x.dtype)
    spread[:, :, ::2, ::2] = x
    return _conv2d(np.pad(spread, ((0, 0), (0, 0), (2, 2), (2, 2))), w.transpose(1, 0, 2, 3)[:, :, ::-1, ::-1])


@TABLE.case(_conv2d_transpose)
def transposed_conv2d(te: Any) -> list[Any]:
    X, W = te.placeholder((1, 3, 4, 4), name="X"), te.placeholder((3, 2, 3, 3), name="W")
    rc, ry, rx = _window(te, 3, 3, 3)

    def spread(n: Any, c: Any, h: Any, w: Any) -> Any:
        inside = te.all(h >= 2, h < 9, w >= 2, w < 9, (h - 2) % 2 < 1, (w - 2) % 2 < 1)
        return te.if_then_else(inside, X[n, c, (h - 2) // 2, (w - 2) // 2], 0.0)

    dilated = te.compute((1, 3, 11, 11), spread, name="dilate")
    Y = te.compute(
        (1, 2, 9, 9),
        lambda n, f, y, x: te.sum(dilated[n, rc, y + ry, x + rx] * W[rc, f, 2 - ry, 2 - rx], axis=[rc, ry, rx]),
        name="conv_transpose",
    )
    return [X, W, Y]


@TABLE.case(lambda x, w: _conv2d(x.transpose(0, 3, 1, 2), w.transpose(3, 2, 0, 1)).transpose(0, 2, 3, 1))
def conv2d_nhwc(te: Any) -> list[Any]:
    X, W = te.placeholder((1, 6, 6, 3), name="X"), te.placeholder((3, 3, 3, 4), name="W")
    rc, ry, rx = _window(te, 3, 3, 3)
    Y = te.compute(
        (1, 4, 4, 4),
        lambda n, y, x, f: te.sum(X[n, y + ry, x + rx, rc] * W[ry, rx, rc, f], axis=[ry, rx, rc]),
        name="conv",
    )
    return [X, W, Y]


@TABLE.case(lambda x: np.lib.stride_tricks.sliding_window_view(x, (3, 3), (2, 3))[:, :, ::2, ::2].max(axis=(4, 5)))
def max_pooling(te: Any) -> list[Any]:
    X = te.placeholder((1, 2, 7, 9), name="X")
    _, ry, rx = _window(te, 1, 3, 3)
    Y = te.compute((1, 2, 3, 4), lambda n, c, y, x: te.max(X[n, c, y * 2 + ry, x * 2 + rx], axis=[ry, rx]), name="pool")
    return [X, Y]


@TABLE.case(lambda x: x.reshape(1, 2, 3, 2, 4, 2).mean(axis=(3, 5)))
def average_pooling(te: Any) -> list[Any]:
    X = te.placeholder((1, 2, 6, 8), name="X")
    _, ry, rx = _window(te, 1, 2, 2)
    S = te.compute(
        (1, 2, 3, 4), lambda n, c, y, x: te.sum(X[n, c, y * 2 + ry, x * 2 + rx], axis=[ry, rx]), name="pool_sum"
    )
    return [X, te.compute((1, 2, 3, 4), lambda *i: S(*i) / 4.0, name="pool_avg")]


@TABLE.case(lambda x: x.mean(axis=(2, 3), keepdims=True))
def global_average_pooling(te: Any) -> list[Any]:
    X = te.placeholder((1, 3, 4, 5), name="X")
    _, ry, rx = _window(te, 1, 4, 5)
    S = te.compute((1, 3, 1, 1), lambda n, c, h, w: te.sum(X[n, c, ry, rx], axis=[ry, rx]))
    return [X, te.compute((1, 3, 1, 1), lambda *i: S(*i) * 0.05)]


def _softmax(a: Array) -> Array:
    raised = np.exp(a - a.max(axis=-1, keepdims=True))
    return raised / raised.sum(axis=-1, keepdims=True)


def _softmax_stages(te: Any, A: Any) -> Any:
    n, m = A.shape
    k, k1 = te.reduce_axis((0, m), name="k"), te.reduce_axis((0, m), name="k")
    most = te.compute((n,), lambda i: te.max(A[i, k], axis=k), name="maxelem")
    raised = te.compute((n, m), lambda i, j: te.exp(A[i, j] - most[i]), name="exp")
    total = te.compute((n,), lambda i: te.sum(raised[i, k1], axis=k1), name="expsum")
    return te.compute((n, m), lambda i, j: raised[i, j] / total[i], name="norm")


@TABLE.case(_softmax)
def softmax(te: Any) -> list[Any]:
    A = te.placeholder((4, 7), name="A")
    return [A, _softmax_stages(te, A)]


@TABLE.case(lambda a: np.log(_softmax(a)))
def log_softmax(te: Any) -> list[Any]:
    A = te.placeholder((4, 7), name="A")
    S = _softmax_stages(te, A)
    return [A, te.compute((4, 7), lambda i, j: te.log(S[i, j]), name="log_softmax")]


def _layer_norm(a: Array, gamma: Array, beta: Array) -> Array:
    mean, variance = a.mean(axis=1, keepdims=True), a.var(axis=1, keepdims=True)
    return (a - mean) / np.sqrt(variance + np.float32(1e-5)) * gamma + beta


@TABLE.case(_layer_norm, rtol=1e-4)
def layer_norm(te: Any) -> list[Any]:
    A = te.placeholder((4, 8), name="A")
    G, B = te.placeholder((8,), name="gamma"), te.placeholder((8,), name="beta")
    k, k1 = te.reduce_axis((0, 8), name="k"), te.reduce_axis((0, 8), name="k1")
    mean = te.compute((4,), lambda i: te.sum(A[i, k] / 8.0, axis=k), name="mean")
    squares = te.compute(
        (4,), lambda i: te.sum((A[i, k1] - mean[i]) * (A[i, k1] - mean[i]) / 8.0, axis=k1), name="variance"
    )
    scale = te.compute((4,), lambda i: te.rsqrt(squares[i] + 1e-5), name="scale")
    N = te.compute((4, 8), lambda i, j: (A[i, j] - mean[i]) * scale[i] * G[j] + B[j], name="norm")
    return [A, G, B, N]


@TABLE.case(lambda a: a / np.sqrt((a * a).mean(axis=1, keepdims=True) + np.float32(1e-5)), rtol=1e-4)
def root_mean_square_norm_with_two_values(te: Any) -> list[Any]:
    A = te.placeholder((4, 8), name="A")
    k = te.reduce_axis((0, 8), name="k")
    both = te.comm_reducer(
        lambda x, y: (x[0] + y[0], x[1] + y[1]), lambda t0, t1: (te.const(0, t0), te.const(0, t1)), name="both"
    )
    _, squares = te.compute((4,), lambda i: both((A[i, k], A[i, k] * A[i, k]), axis=k), name="sums")
    return [A, te.compute((4, 8), lambda i, j: A[i, j] / te.sqrt(squares[i] / 8.0 + 1e-5), name="norm")]


@TABLE.case(lambda x, m, v: (x - m[:, None]) / np.sqrt(v[:, None] + np.float32(1e-3)), ranges={"variance": (0.5, 2)})
def batch_norm(te: Any) -> list[Any]:
    X = te.placeholder((3, 8), name="X")
    M, V = te.placeholder((3,), name="mean"), te.placeholder((3,), name="variance")
    return [X, M, V, te.compute((3, 8), lambda c, i: (X[c, i] - M[c]) / te.sqrt(V[c] + 1e-3), name="Y")]


@TABLE.case(lambda q, k, v: _softmax(q @ k.T * np.float32(0.5)) @ v)
def attention(te: Any) -> list[Any]:
    Q, K, V = (te.placeholder((5, 4), name=name) for name in "QKV")
    d = te.reduce_axis((0, 4), name="d")
    scores = te.compute((5, 5), lambda i, j: te.sum(Q[i, d] * K[j, d], axis=d), name="scores")
    scaled = te.compute((5, 5), lambda i, j: scores[i, j] * 0.5, name="scaled")
    return [Q, K, V, _matmul(te, _softmax_stages(te, scaled), V, "out")]


@TABLE.case(lambda a: 0.5 * a * (1 + np.tanh(0.7978845608 * (a + 0.044715 * a**3))).astype("float32"))
def gelu(te: Any) -> list[Any]:
    A = te.placeholder((4, 5), name="A")

    def element(i: Any, j: Any) -> Any:
        x = A[i, j]
        return x * 0.5 * (te.tanh((x + x * x * x * 0.044715) * 0.7978845608) + 1.0)

    return [A, te.compute((4, 5), element, name="gelu")]


def _repeat_steps(a: Array, length: int) -> Array:
    for count in range(length):
        a = a * np.float32(0.5) + np.float32(count)
    return a


def _step(te: Any, T: Any, count: int) -> Any:
    return te.compute((4, 8), lambda i, j: T[i, j] * 0.5 + count, name=f"T{count}")


def _chain(length: int) -> None:
    def build(te: Any) -> list[Any]:
        A = last = te.placeholder((4, 8), name="A")
        for count in range(length):
            last = _step(te, last, count)
        return [A, last]

    TABLE.add(f"chain_of_{length}", build, lambda a: _repeat_steps(a, length))


_chain(10)
_chain(40)


def _turn_repeatedly(a: Array, times: int) -> Array:
    for _ in range(times):
        a = a.T[::-1] * np.float32(0.5)
    return a


def _turn(te: Any, T: Any) -> Any:
    return te.compute((4, 4), lambda i, j: T[j, 3 - i] * 0.5)


@TABLE.case(lambda a: _turn_repeatedly(a, 11))
def chain_of_11_unnamed_turns(te: Any) -> list[Any]:
    A = last = te.placeholder((4, 4), name="A")
    for _ in range(11):
        last = _turn(te, last)
    return [A, last]


@TABLE.case(lambda a: (a + 1) * 2 + (a + 1) * (a - 3))
def diamond(te: Any) -> list[Any]:
    A = te.placeholder((4, 5), name="A")
    B = te.compute((4, 5), lambda i, j: A[i, j] + 1.0, name="B")
    C = te.compute((4, 5), lambda i, j: B[i, j] * 2.0, name="C")
    D = te.compute((4, 5), lambda i, j: A[i, j] - 3.0, name="D")
    E = te.compute((4, 5), lambda i, j: B[i, j] * D[i, j], name="E")
    return [A, te.compute((4, 5), lambda i, j: C[i, j] + E[i, j], name="F")]


@TABLE.case(lambda a: (a - a.mean(axis=0)) / np.float32(4))
def column_means_subtracted(te: Any) -> list[Any]:
    A = te.placeholder((4, 5), name="A")
    k = te.reduce_axis((0, 4), name="k")
    S = te.compute((5,), lambda j: te.sum(A[k, j], axis=k), name="S")
    M = te.compute((5,), lambda j: S[j] / 4.0, name="M")
    return [A, te.compute((4, 5), lambda i, j: (A[i, j] - M[j]) / 4.0, name="C")]

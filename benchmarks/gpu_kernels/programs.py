"""Programs for a GPU, as tensor expressions: their schedules are the default ones."""

from typing import Any

from stepwell import te
from stepwell.operators import OPERATORS


def add(size: int) -> Any:
    """C = A + B."""
    a, b = (te.placeholder((size,), "float32", name=name) for name in "AB")
    return te.create_prim_func([a, b, te.compute((size,), lambda i: a[i] + b[i], name="C")])


def transpose(size: int) -> Any:
    """B = A transposed."""
    a = te.placeholder((size, size), "float32", name="A")
    return te.create_prim_func([a, te.compute((size, size), lambda i, j: a[j, i], name="B")])


def row_sum(rows: int, columns: int) -> Any:
    """B[r] = the sum of A[r, :]."""
    a = te.placeholder((rows, columns), "float32", name="A")
    k = te.reduce_axis((0, columns), "k")
    return te.create_prim_func([a, te.compute((rows,), lambda r: te.sum(a[r, k], axis=k), name="B")])


def column_sum(rows: int, columns: int) -> Any:
    """B[c] = the sum of A[:, c]."""
    a = te.placeholder((rows, columns), "float32", name="A")
    k = te.reduce_axis((0, rows), "k")
    return te.create_prim_func([a, te.compute((columns,), lambda c: te.sum(a[k, c], axis=k), name="B")])


def softmax(rows: int, columns: int) -> Any:
    """B = softmax of the rows of A."""
    a = te.placeholder((rows, columns), "float32", name="A")
    return te.create_prim_func([a, OPERATORS["nn.softmax"].formula(a)])


def gemm(size: int) -> Any:
    """C = A B."""
    a, b = (te.placeholder((size, size), "float32", name=name) for name in "AB")
    k = te.reduce_axis((0, size), "k")
    return te.create_prim_func(
        [a, b, te.compute((size, size), lambda i, j: te.sum(a[i, k] * b[k, j], axis=k), name="C")]
    )


def convolution(batch: int, channels: int, size: int) -> Any:
    """D = relu(conv(A, W) * S + B): 3 x 3, padded, as many channels as before, each with a scale and a shift."""
    shape = (batch, channels, size, size)
    a = te.placeholder(shape, "float32", name="A")
    w = te.placeholder((channels, channels, 3, 3), "float32", name="W")
    s, b = (te.placeholder((channels,), "float32", name=name) for name in "SB")
    c = OPERATORS["nn.conv2d"].formula(a, w, padding=(1, 1))
    zero = te.const(0, "float32")
    d = te.compute(shape, lambda n, f, y, x: te.max(c[n, f, y, x] * s[f] + b[f], zero), name="D")
    return te.create_prim_func([a, w, s, b, d])

"""Operators as tensors, placeholders first: `tvm.meta_schedule.testing.te_workload`.

N is the number of images, H, W and L are their sizes, CI and CO their channels.
"""

from __future__ import annotations

from .....expressions.tensor import Tensor
from ... import te, topi
from ...absent import report_absent

__getattr__ = report_absent("tvm.meta_schedule.testing.te_workload")


def matmul(
    n: int, m: int, k: int, in_dtype: str = "float32", out_dtype: str = "float32"
) -> tuple[Tensor, Tensor, Tensor]:
    """The product of matrices of shapes (n, k) and (k, m)."""
    a = te.placeholder((n, k), in_dtype, name="A")
    b = te.placeholder((k, m), in_dtype, name="B")
    r = te.reduce_axis((0, k), name="k")
    c = te.compute((n, m), lambda i, j: te.sum(a[i, r].astype(out_dtype) * b[r, j].astype(out_dtype), r), name="C")
    return a, b, c


def matmul_fp16(n: int, m: int, k: int) -> tuple[Tensor, Tensor, Tensor]:
    """The product of matrices of `float16` in `float32`."""
    return matmul(n, m, k, "float16", "float32")


def matmul_relu(
    n: int, m: int, k: int, in_dtype: str = "float32", out_dtype: str = "float32"
) -> tuple[Tensor, Tensor, Tensor]:
    """A product of matrices, without its negative elements."""
    a, b, c = matmul(n, m, k, in_dtype, out_dtype)
    return a, b, topi.nn.relu(c)


def batch_matmul_nkkm(
    B: int, N: int, M: int, K: int, in_dtype: str = "float32", out_dtype: str = "float32"
) -> tuple[Tensor, Tensor, Tensor]:
    """B products of matrices of shapes (N, K) and (K, M)."""
    x = te.placeholder((B, N, K), in_dtype, name="X")
    y = te.placeholder((B, K, M), in_dtype, name="Y")
    r = te.reduce_axis((0, K), name="k")
    z = te.compute(
        (B, N, M),
        lambda b, i, j: te.sum(x[b, i, r].astype(out_dtype) * y[b, r, j].astype(out_dtype), r),
        name="Z",
    )
    return x, y, z


def norm_bmn(B: int, M: int, N: int) -> tuple[Tensor, Tensor]:
    """The roots of the sums of squares of B matrices."""
    a = te.placeholder((B, M, N), name="A")
    i, j = te.reduce_axis((0, M), name="i"), te.reduce_axis((0, N), name="j")
    c = te.compute((B,), lambda b: te.sum(a[b, i, j] * a[b, i, j], axis=[i, j]), name="C")
    return a, te.compute((B,), lambda b: te.sqrt(c[b]), name="D")


def softmax_mn(m: int, n: int) -> tuple[Tensor, Tensor]:
    """The softmax of each row of a matrix."""
    a = te.placeholder((m, n), name="A")
    return a, topi.nn.softmax(a, axis=1)


def max_pool2d_nchw(n: int, h: int, w: int, ci: int, padding: int) -> tuple[Tensor, Tensor]:
    """The maxima of windows of 2 x 2."""
    x = te.placeholder((n, ci, h, w), name="X")
    return x, topi.nn.pool2d(x, [2, 2], [1, 1], [1, 1], [padding] * 4, "max")


def conv1d_nlc(
    N: int, L: int, CI: int, CO: int, kernel_size: int, stride: int = 1, padding: int = 0, dilation: int = 1,
    groups: int = 1, in_dtype: str = "float32", out_dtype: str = "float32",
) -> tuple[Tensor, Tensor, Tensor]:  # fmt: skip
    """A convolution of sequences, with weights of shape (kernel_size, CI / groups, CO)."""
    inputs = te.placeholder((N, L, CI), in_dtype, name="inputs")
    weight = te.placeholder((kernel_size, CI // groups, CO), in_dtype, name="weight")
    length = (L + 2 * padding - dilation * (kernel_size - 1) - 1) // stride + 1
    rl, rc = te.reduce_axis((0, kernel_size), name="rl"), te.reduce_axis((0, CI // groups), name="rc")
    padded = topi.nn.pad(inputs, [0, padding, 0], name="PadInput")
    output = te.compute(
        (N, length, CO),
        lambda n, x, co: te.sum(
            padded[n, x * stride + rl * dilation, co // (CO // groups) * (CI // groups) + rc].astype(out_dtype)
            * weight[rl, rc, co].astype(out_dtype),
            axis=[rl, rc],
        ),
        name="conv1d_nlc",
    )
    return inputs, weight, output


def conv2d_nhwc(
    N: int, H: int, W: int, CI: int, CO: int, kernel_size: int, stride: int = 1, padding: int = 0, dilation: int = 1,
    groups: int = 1, in_dtype: str = "float32", out_dtype: str = "float32",
) -> tuple[Tensor, Tensor, Tensor]:  # fmt: skip
    """A convolution of images, with weights of shape (kernel_size, kernel_size, CI / groups, CO)."""
    inputs = te.placeholder((N, H, W, CI), in_dtype, name="inputs")
    weight = te.placeholder((kernel_size, kernel_size, CI // groups, CO), in_dtype, name="weight")
    height, width = ((size + 2 * padding - dilation * (kernel_size - 1) - 1) // stride + 1 for size in (H, W))
    rh, rw = te.reduce_axis((0, kernel_size), name="rh"), te.reduce_axis((0, kernel_size), name="rw")
    rc = te.reduce_axis((0, CI // groups), name="rc")
    padded = topi.nn.pad(inputs, [0, padding, padding, 0], name="PadInput")
    output = te.compute(
        (N, height, width, CO),
        lambda n, h, w, co: te.sum(
            padded[
                n, h * stride + rh * dilation, w * stride + rw * dilation, co // (CO // groups) * (CI // groups) + rc
            ].astype(out_dtype)
            * weight[rh, rw, rc, co].astype(out_dtype),
            axis=[rh, rw, rc],
        ),
        name="conv2d_nhwc",
    )
    return inputs, weight, output


def conv2d_nchw(
    n: int, h: int, w: int, ci: int, co: int, kh: int, kw: int, stride: int, padding: int, dilation: int = 1
) -> tuple[Tensor, Tensor, Tensor]:
    """A convolution of images, with weights of shape (co, ci, kh, kw)."""
    x = te.placeholder((n, ci, h, w), name="X")
    weight = te.placeholder((co, ci, kh, kw), name="W")
    return x, weight, topi.nn.conv2d_nchw(x, weight, stride, padding, dilation)


__all__ = [
    "batch_matmul_nkkm", "conv1d_nlc", "conv2d_nchw", "conv2d_nhwc", "matmul", "matmul_fp16", "matmul_relu",
    "max_pool2d_nchw", "norm_bmn", "softmax_mn",
]  # fmt: skip

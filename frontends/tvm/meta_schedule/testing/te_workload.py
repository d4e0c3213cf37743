"""Operators as tensors, placeholders first: `tvm.meta_schedule.testing.te_workload`.

N is the number of images, H, W and L are their sizes, CI and CO their channels.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from .....core.errors import OptionError
from .....expressions.tensor import Tensor
from ... import te, tir, topi
from ...absent import report_absent
from ...ir.module import PrimFunc

__getattr__ = report_absent("tvm.meta_schedule.testing.te_workload")

_IMAGES = (
    (224, 224, 3, 64, 7, 2, 3),
    (56, 56, 64, 64, 1, 1, 0),
    (14, 14, 256, 256, 3, 1, 1),
    (7, 7, 512, 512, 3, 1, 1),
)
"""Convolutions of ResNet-18: height, width, channels before and after, sizes of windows, stride, padding."""


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


def _conv_channels_last(
    name: str, axes: str, sizes: Sequence[int], N: int, CI: int, CO: int, kernel: int, stride: int, padding: int,
    dilation: int, groups: int, in_dtype: str, out_dtype: str,
) -> tuple[Tensor, Tensor, Tensor]:  # fmt: skip
    """A convolution of arrays of shape (N, *sizes, CI), with weights of shape (kernel, ..., CI / groups, CO). axes: a
    letter for each dimension of an image."""
    inputs = te.placeholder((N, *sizes, CI), in_dtype, name="inputs")
    weight = te.placeholder((*[kernel] * len(sizes), CI // groups, CO), in_dtype, name="weight")
    results = [(size + 2 * padding - dilation * (kernel - 1) - 1) // stride + 1 for size in sizes]
    windows = [te.reduce_axis((0, kernel), name=f"r{letter}") for letter in axes]
    rc = te.reduce_axis((0, CI // groups), name="rc")
    padded = topi.nn.pad(inputs, [0, *[padding] * len(sizes), 0], name="PadInput")

    def element(n: Any, *indices: Any) -> Any:
        *spatial, co = indices
        places = [x * stride + r * dilation for x, r in zip(spatial, windows, strict=True)]
        channel = co // (CO // groups) * (CI // groups) + rc
        factor = weight[(*windows, rc, co)].astype(out_dtype)
        return te.sum(padded[(n, *places, channel)].astype(out_dtype) * factor, axis=[*windows, rc])

    return inputs, weight, te.compute((N, *results, CO), element, name=name)


def conv1d_nlc(
    N: int, L: int, CI: int, CO: int, kernel_size: int, stride: int = 1, padding: int = 0, dilation: int = 1,
    groups: int = 1, in_dtype: str = "float32", out_dtype: str = "float32",
) -> tuple[Tensor, Tensor, Tensor]:  # fmt: skip
    """A convolution of sequences, with weights of shape (kernel_size, CI / groups, CO)."""
    return _conv_channels_last(
        "conv1d_nlc", "l", (L,), N, CI, CO, kernel_size, stride, padding, dilation, groups, in_dtype, out_dtype
    )


def conv2d_nhwc(
    N: int, H: int, W: int, CI: int, CO: int, kernel_size: int, stride: int = 1, padding: int = 0, dilation: int = 1,
    groups: int = 1, in_dtype: str = "float32", out_dtype: str = "float32",
) -> tuple[Tensor, Tensor, Tensor]:  # fmt: skip
    """A convolution of images, with weights of shape (kernel_size, kernel_size, CI / groups, CO)."""
    return _conv_channels_last(
        "conv2d_nhwc", "hw", (H, W), N, CI, CO, kernel_size, stride, padding, dilation, groups, in_dtype, out_dtype
    )


def conv3d_ndhwc(
    N: int, D: int, H: int, W: int, CI: int, CO: int, kernel_size: int, stride: int = 1, padding: int = 0,
    dilation: int = 1, groups: int = 1, in_dtype: str = "float32", out_dtype: str = "float32",
) -> tuple[Tensor, Tensor, Tensor]:  # fmt: skip
    """A convolution of volumes of depth D, with weights of shape (kernel_size, kernel_size, kernel_size, CI / groups,
    CO)."""
    return _conv_channels_last(
        "conv3d_ndhwc", "dhw", (D, H, W), N, CI, CO, kernel_size, stride, padding, dilation, groups, in_dtype, out_dtype
    )


def depthwise_conv2d_nhwc(
    N: int, H: int, W: int, C: int, kernel_size: int, stride: int = 1, padding: int = 0, dilation: int = 1,
    factor: int = 1, in_dtype: str = "float32", out_dtype: str = "float32",
) -> tuple[Tensor, Tensor, Tensor]:  # fmt: skip
    """A convolution of each channel, with weights of shape (1, kernel_size, kernel_size, C). OptionError for another
    factor than 1."""
    if factor != 1:
        raise OptionError(f"depthwise_conv2d_nhwc: factor {factor}, expected 1")
    inputs = te.placeholder((N, H, W, C), in_dtype, name="placeholder")
    weight = te.placeholder((factor, kernel_size, kernel_size, C), in_dtype, name="placeholder")
    height, width = ((size + 2 * padding - dilation * (kernel_size - 1) - 1) // stride + 1 for size in (H, W))
    rh, rw = te.reduce_axis((0, kernel_size), name="rh"), te.reduce_axis((0, kernel_size), name="rw")
    padded = topi.nn.pad(inputs, [0, padding, padding, 0], name="PadInput")
    output = te.compute(
        (N, height, width, C),
        lambda n, h, w, c: te.sum(
            padded[n, h * stride + rh * dilation, w * stride + rw * dilation, c].astype(out_dtype)
            * weight[0, rh, rw, c].astype(out_dtype),
            axis=[rh, rw],
        ),
        name="depth_conv2d_nhwc",
    )
    return inputs, weight, output


def conv2d_transpose_nhwc(
    N: int, H: int, W: int, CI: int, CO: int, kernel_size: int, stride: int = 1, padding: int = 0,
    in_dtype: str = "float32", out_dtype: str = "float32",
) -> tuple[Tensor, Tensor, Tensor]:  # fmt: skip
    """A transposed convolution of images, with weights of shape (kernel_size, kernel_size, CI, CO): an element of the
    image is at each `stride`-th place, the others are 0."""
    inputs = te.placeholder((N, H, W, CI), in_dtype, name="inputs")
    weight = te.placeholder((kernel_size, kernel_size, CI, CO), in_dtype, name="weight")
    margin = kernel_size - 1 - padding
    before = -(-margin // stride)
    skipped = before * stride - margin
    padded = topi.nn.pad(inputs, [0, before, before, 0], name="PadInput")
    rc = te.reduce_axis((0, CI), name="rc")
    rh, rw = te.reduce_axis((0, kernel_size), name="rh"), te.reduce_axis((0, kernel_size), name="rw")

    def element(n: Any, h: Any, w: Any, co: Any) -> Any:
        y, x = h + rh + skipped, w + rw + skipped
        value = padded[n, te.indexdiv(y, stride), te.indexdiv(x, stride), rc]
        if stride != 1:
            is_element = te.all(te.indexmod(y, stride).equal(0), te.indexmod(x, stride).equal(0))
            value = te.if_then_else(is_element, value, tir.const(0.0, in_dtype))
        factor = weight[kernel_size - 1 - rh, kernel_size - 1 - rw, rc, co]
        return te.sum(value.astype(out_dtype) * factor.astype(out_dtype), axis=[rh, rw, rc])

    sizes = [(size - 1) * stride - 2 * padding + kernel_size for size in (H, W)]
    return inputs, weight, te.compute((N, *sizes, CO), element, name="conv2d_transpose_nhwc")


def conv2d_capsule_nhwijc(
    N: int, H: int, W: int, CI: int, CO: int, kernel_size: int, stride: int = 1, padding: int = 0,
    capsule_size: int = 4, in_dtype: str = "float32", out_dtype: str = "float32",
) -> tuple[Tensor, Tensor, Tensor]:  # fmt: skip
    """A convolution of images of matrices: elements and weights are matrices of capsule_size rows and columns, and are
    multiplied as such."""
    inputs = te.placeholder((N, H, W, capsule_size, capsule_size, CI), in_dtype, name="inputs")
    weight = te.placeholder((kernel_size, kernel_size, capsule_size, capsule_size, CI, CO), in_dtype, name="weight")
    height, width = ((size + 2 * padding - kernel_size) // stride + 1 for size in (H, W))
    rh, rw = te.reduce_axis((0, kernel_size), name="rh"), te.reduce_axis((0, kernel_size), name="rw")
    k, rc = te.reduce_axis((0, capsule_size), name="cap_k"), te.reduce_axis((0, CI), name="rc")
    padded = topi.nn.pad(inputs, [0, padding, padding, 0, 0, 0], name="PadInput")
    output = te.compute(
        (N, height, width, capsule_size, capsule_size, CO),
        lambda n, h, w, i, j, co: te.sum(
            padded[n, h * stride + rh, w * stride + rw, i, k, rc].astype(out_dtype)
            * weight[rh, rw, k, j, rc, co].astype(out_dtype),
            axis=[rh, rw, k, rc],
        ),
        name="conv2d_capsule_nhwijc",
    )
    return inputs, weight, output


def _bias_norm_relu(y: Tensor, bias: Tensor, scale: Tensor, offset: Tensor, channel: int) -> Tensor:
    """The maxima of 0 and `(y + bias) * scale + offset`. channel: the axis of the channels."""

    def at(values: Tensor, indices: Sequence[Any]) -> Any:
        return values[(indices[channel], *[0] * (len(values.shape) - 1))]

    y = te.compute(y.shape, lambda *i, y=y: y(*i) + at(bias, i), name="bias_add")
    y = te.compute(y.shape, lambda *i, y=y: y(*i) * at(scale, i), name="bn_mul")
    y = te.compute(y.shape, lambda *i, y=y: y(*i) + at(offset, i), name="bn_add")
    return topi.nn.relu(y)


def conv2d_nhwc_bn_relu(
    N: int, H: int, W: int, CI: int, CO: int, kernel_size: int, strides: int, padding: int, dilation: int = 1,
    in_dtype: str = "float32", out_dtype: str = "float32",
) -> tuple[Tensor, ...]:  # fmt: skip
    """A convolution of images with a bias, a scale and an offset of each channel, without negative elements: (data,
    kernel, bias, bn_offset, bn_scale, result)."""
    data = te.placeholder((N, H, W, CI), in_dtype, name="data")
    kernel = te.placeholder((kernel_size, kernel_size, CI, CO), in_dtype, name="kernel")
    bias, scale, offset = (te.placeholder((CO,), name=name) for name in ("bias", "bn_scale", "bn_offset"))
    conv = topi.nn.conv2d_nhwc(data, kernel, strides, padding, dilation, out_dtype)
    return data, kernel, bias, offset, scale, _bias_norm_relu(conv, bias, scale, offset, 3)


def conv2d_nchw_bias_bn_relu(
    n: int, h: int, w: int, ci: int, co: int, kh: int, kw: int, stride: int, padding: int, dilation: int = 1,
    in_dtype: str = "float32", out_dtype: str = "float32",
) -> tuple[Tensor, ...]:  # fmt: skip
    """A convolution of images with a bias, a scale and an offset of each channel, without negative elements: (X, W, B,
    bn_scale, bn_offset, result)."""
    x, weight, y = conv2d_nchw(n, h, w, ci, co, kh, kw, stride, padding, dilation, in_dtype, out_dtype)
    bias, scale, offset = (te.placeholder((co, 1, 1), out_dtype, name=name) for name in ("B", "bn_scale", "bn_offset"))
    return x, weight, bias, scale, offset, _bias_norm_relu(y, bias, scale, offset, 1)


def transpose_batch_matmul(
    batch: int, seq_len: int, n_head: int, n_dim: int, in_dtype: str = "float32", out_dtype: str = "float32"
) -> tuple[Tensor, Tensor, Tensor]:
    """The products of queries and values of each head, of shape (batch, seq_len, n_head, n_dim)."""
    query = te.placeholder((batch, seq_len, n_head, n_dim), in_dtype, name="query")
    value = te.placeholder((batch, seq_len, n_head, n_dim), in_dtype, name="value")
    rows = te.compute((batch, n_head, seq_len, n_dim), lambda b, h, i, d: query[b, i, h, d], name="query_T")
    columns = te.compute((batch, n_head, n_dim, seq_len), lambda b, h, d, i: value[b, i, h, d], name="value_T")
    k = te.reduce_axis((0, n_dim), name="k")
    out = te.compute(
        (batch, n_head, seq_len, seq_len),
        lambda b, h, i, j: te.sum(rows[b, h, i, k].astype(out_dtype) * columns[b, h, k, j].astype(out_dtype), axis=k),
        name="C",
    )
    return query, value, out


def conv2d_nchw(
    n: int, h: int, w: int, ci: int, co: int, kh: int, kw: int, stride: int, padding: int, dilation: int = 1,
    in_dtype: str = "float32", out_dtype: str = "float32",
) -> tuple[Tensor, Tensor, Tensor]:  # fmt: skip
    """A convolution of images, with weights of shape (co, ci, kh, kw)."""
    x = te.placeholder((n, ci, h, w), in_dtype, name="X")
    weight = te.placeholder((co, ci, kh, kw), in_dtype, name="W")
    return x, weight, topi.nn.conv2d_nchw(x, weight, stride, padding, dilation, out_dtype=out_dtype)


CONFIGS: dict[str, tuple[Callable[..., tuple[Tensor, ...]], list[tuple[int, ...]]]] = {
    "C1D": (
        conv1d_nlc,
        [
            (1, 256, 64, 128, 3, 2, 1),
            (1, 128, 128, 256, 1, 2, 0),
            (1, 64, 256, 256, 5, 1, 2),
            (1, 32, 512, 512, 3, 1, 1),
        ],
    ),
    "C2D": (conv2d_nhwc, [(1, *size) for size in _IMAGES]),
    "C3D": (conv3d_ndhwc, [(1, 16, *size) for size in _IMAGES]),
    "GMM": (batch_matmul_nkkm, [(1, 128, 128, 128), (1, 512, 32, 512), (1, 512, 512, 512), (1, 1024, 1024, 1024)]),
    "GRP": (conv2d_nhwc, [(1, *size, 1, 4) for size in ((56, 56, 64, 128, 3, 2, 1), *_IMAGES[1:])]),
    "DIL": (conv2d_nhwc, [(1, *size, 2) for size in _IMAGES]),
    "DEP": (
        depthwise_conv2d_nhwc,
        [(1, 112, 112, 32, 3, 1, 1), (1, 112, 112, 64, 3, 2, 1), (1, 14, 14, 512, 3, 2, 1), (1, 7, 7, 1024, 3, 1, 1)],
    ),
    "T2D": (
        conv2d_transpose_nhwc,
        [
            (1, 4, 4, 512, 256, 4, 2, 1),
            (1, 8, 8, 256, 128, 4, 2, 1),
            (1, 16, 16, 128, 64, 4, 2, 1),
            (1, 32, 32, 64, 3, 4, 2, 1),
        ],
    ),
    "CAP": (
        conv2d_capsule_nhwijc,
        [
            (1, 16, 16, 32, 32, 3, 2, 1),
            (1, 8, 8, 32, 32, 3, 1, 1),
            (1, 16, 16, 8, 16, 3, 2, 1),
            (1, 8, 8, 16, 16, 3, 1, 1),
        ],
    ),
    "NRM": (norm_bmn, [(1, 256, 256), (1, 512, 512), (1, 1024, 1024), (1, 4096, 1024)]),
    "SFM": (softmax_mn, [(256, 256), (512, 512), (1024, 1024), (2048, 2048)]),
    "CBR": (
        conv2d_nhwc_bn_relu,
        [
            (1, 224, 224, 3, 64, 7, 2, 3),
            (1, 56, 56, 64, 128, 3, 2, 1),
            (1, 28, 28, 128, 256, 1, 2, 0),
            (1, 7, 7, 512, 512, 3, 1, 1),
        ],
    ),
    "TBG": (transpose_batch_matmul, [(1, 128, 12, 64), (1, 128, 16, 64), (1, 64, 12, 128), (1, 128, 12, 128)]),
}
"""The functions of the workloads by name, each with the arguments of its sizes, those of TVM's measurements."""


def create_te_workload(name: str, idx: int) -> PrimFunc:
    """The function of a workload of `CONFIGS` for its sizes number `idx`. OptionError for another name."""
    if name not in CONFIGS:
        raise OptionError(f"workload {name!r}, expected {', '.join(CONFIGS)}")
    function, sizes = CONFIGS[name]
    return te.create_prim_func(list(function(*sizes[idx])))


__all__ = [
    "CONFIGS", "batch_matmul_nkkm", "conv1d_nlc", "conv2d_capsule_nhwijc", "conv2d_nchw", "conv2d_nchw_bias_bn_relu",
    "conv2d_nhwc", "conv2d_nhwc_bn_relu", "conv2d_transpose_nhwc", "conv3d_ndhwc", "create_te_workload",
    "depthwise_conv2d_nhwc", "matmul", "matmul_fp16", "matmul_relu", "max_pool2d_nchw", "norm_bmn", "softmax_mn",
    "transpose_batch_matmul",
]  # fmt: skip

"""Neural-network operators: `relay.nn`, each with the parameters of its definition unless its signature in Relay, as of
v0.16, differs.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Sequence
from typing import Any

from ...core.errors import OptionError, UnsupportedError
from ...operators.windows import SPATIAL, Window
from .expr import Call, Expr, Tuple, TupleWrapper, call
from .operators import bind_operator_arguments, call_operator, constant_number, operator_function, relay_function

batch_flatten = operator_function("nn.batch_flatten")
batch_to_space_nd = operator_function("nn.batch_to_space_nd")
batch_norm: Callable[..., Any] = operator_function("nn.batch_norm")
batch_norm_training: Callable[..., Any] = operator_function("nn.batch_norm_training")
bias_add = operator_function("nn.bias_add")
bitserial_conv2d = operator_function("nn.bitserial_conv2d")
bitserial_dense = operator_function("nn.bitserial_dense")
celu = operator_function("nn.celu")
contrib_conv2d_pack = operator_function("nn.contrib_conv2d_pack")
contrib_conv2d_pack_int8 = operator_function("nn.contrib_conv2d_pack_int8")
contrib_depthwise_conv2d_pack = operator_function("nn.contrib_depthwise_conv2d_pack")
contrib_dense_pack = operator_function("nn.contrib_dense_pack")
contrib_depthwise_conv2d_pack_int8 = operator_function("nn.contrib_depthwise_conv2d_pack_int8")
contrib_dense_pack_int8 = operator_function("nn.contrib_dense_pack_int8")
conv1d = operator_function("nn.conv1d")
conv2d = operator_function("nn.conv2d")
conv2d_backward_weight = operator_function("nn.conv2d_backward_weight")
contrib_conv2d_winograd_weight_transform = operator_function("nn.contrib_conv2d_winograd_weight_transform")
contrib_conv2d_winograd_without_weight_transform = operator_function(
    "nn.contrib_conv2d_winograd_without_weight_transform"
)
conv2d_winograd = operator_function("nn.conv2d_winograd")
conv2d_winograd_weight_transform = operator_function("nn.conv2d_winograd_weight_transform")
conv3d = operator_function("nn.conv3d")
correlation = operator_function("nn.correlation")
dense = operator_function("nn.dense")
dilate = operator_function("nn.dilate")
dropout = operator_function("nn.dropout")
elu = operator_function("nn.elu")
fifo_buffer = operator_function("nn.fifo_buffer")
gelu = operator_function("nn.gelu")
group_norm = operator_function("nn.group_norm")
hard_sigmoid = operator_function("nn.hard_sigmoid")
hard_swish = operator_function("nn.hard_swish")
instance_norm = operator_function("nn.instance_norm")
l2_normalize = operator_function("nn.l2_normalize")
layer_norm = operator_function("nn.layer_norm")
log_softmax = operator_function("nn.log_softmax")
lrn = operator_function("nn.lrn")
mirror_pad = operator_function("nn.mirror_pad")
mish = operator_function("nn.mish")
nll_loss = operator_function("nn.nll_loss")
prelu = operator_function("nn.prelu")
relu = operator_function("nn.relu")
rms_norm = operator_function("nn.rms_norm")
selu = operator_function("nn.selu")
silu = operator_function("nn.silu")
softmax = operator_function("nn.softmax")
softplus = operator_function("nn.softplus")
sparse_conv2d = operator_function("nn.sparse_conv2d")
space_to_batch_nd = operator_function("nn.space_to_batch_nd")
space_to_depth = operator_function("nn.space_to_depth")
upsampling = operator_function("nn.upsampling")
upsampling3d = operator_function("nn.upsampling3d")


@relay_function("nn.matmul")
def matmul(
    tensor_a: Expr,
    tensor_b: Expr,
    units: int | None = None,
    out_dtype: str = "",
    transpose_a: bool = False,
    transpose_b: bool = False,
) -> Expr:
    """The product of two matrices. units: the number of columns, which `tensor_b` determines."""
    return call(
        "nn.matmul", tensor_a, tensor_b, transpose_a=transpose_a, transpose_b=transpose_b, out_dtype=out_dtype or ""
    )


@relay_function("nn.batch_matmul")
def batch_matmul(
    tensor_a: Expr, tensor_b: Expr, out_dtype: str = "", transpose_a: bool = False, transpose_b: bool = True
) -> Expr:
    """The products of a batch of matrix pairs; the second operand is transposed."""
    attributes = {"transpose_a": transpose_a, "transpose_b": transpose_b, "out_dtype": out_dtype or ""}
    return call("nn.batch_matmul", tensor_a, tensor_b, **attributes)


@relay_function("nn.pad")
def pad(data: Expr, pad_width: Sequence[Sequence[int]], pad_value: Any = 0, pad_mode: str = "constant") -> Expr:
    """Pads each dimension before and after its elements. pad_value: a number, or a constant."""
    value = constant_number(pad_value, "nn.pad: pad_value")
    return call("nn.pad", data, pad_width=pad_width, pad_value=value, pad_mode=pad_mode)


@relay_function("nn.leaky_relu")
def leaky_relu(data: Expr, alpha: float) -> Expr:
    """`x if x > 0 else alpha * x` for each element x."""
    return call("nn.leaky_relu", data, alpha=alpha)


@relay_function("nn.fast_softmax")
def fast_softmax(data: Expr, axis: int = -1) -> Expr:
    """`nn.softmax`; TVM's is an approximation."""
    return call("nn.softmax", data, axis=axis)


@relay_function("nn.dropout_raw")
def dropout_raw(data: Expr, rate: float = 0.5) -> TupleWrapper:
    """The result of `nn.dropout`, and 1 for each element that it keeps, which are all elements."""
    return TupleWrapper(Tuple([call("nn.dropout", data, rate=rate), call("ones_like", data)]), 2)


# Images


@relay_function("nn.depth_to_space")
def depth_to_space(data: Expr, block_size: int, layout: str = "NCHW", mode: str = "DCR") -> Expr:
    """Moves channels into blocks of pixels. mode: "DCR" for channels in the order block, channel; "CDR", as Relay calls
    it, or "CRD" for channel, block."""
    return call("nn.depth_to_space", data, block_size=block_size, layout=layout, mode=mode.replace("CDR", "CRD"))


def _pool(name: str) -> Callable[..., Call]:
    """The function of a pooling operator, which in Relay takes `out_layout` after `layout`."""
    function = operator_function(name)
    parameters: list[inspect.Parameter] = []
    for each in inspect.signature(function).parameters.values():
        parameters.append(each)
        if each.name == "layout":
            parameters.append(each.replace(name="out_layout", default=""))
    signature = inspect.Signature(parameters)

    def pool(*args: Any, **kwargs: Any) -> Any:
        attributes = {
            "layout": signature.parameters["layout"].default,
            **bind_operator_arguments(name, signature, args, kwargs),
        }
        layout, out_layout = attributes["layout"], attributes.pop("out_layout", "")
        if out_layout not in ("", layout):
            raise UnsupportedError(f"{name}: out_layout {out_layout!r} of data in {layout!r} is not supported yet")
        return function(**attributes)

    pool.__name__ = pool.__qualname__ = function.__name__
    pool.__doc__ = function.__doc__
    pool.__signature__ = signature  # pyright: ignore[reportFunctionMemberAccess]
    return pool


adaptive_avg_pool1d = _pool("nn.adaptive_avg_pool1d")
adaptive_avg_pool2d = _pool("nn.adaptive_avg_pool2d")
adaptive_avg_pool3d = _pool("nn.adaptive_avg_pool3d")
adaptive_max_pool1d = _pool("nn.adaptive_max_pool1d")
adaptive_max_pool2d = _pool("nn.adaptive_max_pool2d")
adaptive_max_pool3d = _pool("nn.adaptive_max_pool3d")
avg_pool1d = _pool("nn.avg_pool1d")
avg_pool2d = _pool("nn.avg_pool2d")
avg_pool2d_grad = _pool("nn.avg_pool2d_grad")
avg_pool3d = _pool("nn.avg_pool3d")
global_avg_pool1d = _pool("nn.global_avg_pool1d")
global_avg_pool2d = _pool("nn.global_avg_pool2d")
global_avg_pool3d = _pool("nn.global_avg_pool3d")
global_max_pool1d = _pool("nn.global_max_pool1d")
global_max_pool2d = _pool("nn.global_max_pool2d")
global_max_pool3d = _pool("nn.global_max_pool3d")
max_pool1d = _pool("nn.max_pool1d")
max_pool1d_with_places: Callable[..., Any] = _pool("nn.max_pool1d_with_places")
max_pool2d = _pool("nn.max_pool2d")
max_pool2d_grad = _pool("nn.max_pool2d_grad")
max_pool2d_with_places: Callable[..., Any] = _pool("nn.max_pool2d_with_places")
max_pool3d = _pool("nn.max_pool3d")
max_pool3d_with_places: Callable[..., Any] = _pool("nn.max_pool3d_with_places")


def _transposed_convolution(rank: int) -> Callable[..., Expr]:
    name, image = f"nn.conv{rank}d_transpose", SPATIAL[3 - rank :]
    usual = f"NC{image}"

    @relay_function(name)
    def convolution(
        data: Expr,
        weight: Expr,
        strides: Window = 1,
        padding: Window = 0,
        dilation: Window = 1,
        groups: int = 1,
        channels: int | None = None,
        kernel_size: Window | None = None,
        data_layout: str = usual,
        kernel_layout: str = f"IO{image}",
        out_layout: str = "",
        output_padding: Window = 0,
        out_dtype: str = "",
    ) -> Expr:
        """The transposed convolution: each input element times the weights, accumulated into a window of the output.

        kernel_layout: Relay's OIW and OIDHW put the input channels first, and denote IOW and IODHW here.
        """
        sizes = {"strides": strides, "padding": padding, "dilation": dilation, "output_padding": output_padding}
        attributes = {"groups": groups, "channels": channels, "kernel_size": kernel_size, "out_dtype": out_dtype or ""}
        kernel = kernel_layout if rank == 2 else kernel_layout.replace("OI", "IO")
        layouts = {"data_layout": data_layout, "kernel_layout": kernel, "out_layout": out_layout}
        return call(name, data, weight, **sizes, **attributes, **layouts)

    return convolution


conv1d_transpose = _transposed_convolution(1)
conv2d_transpose = _transposed_convolution(2)
conv3d_transpose = _transposed_convolution(3)


def _convolution_of_blocks(name: str) -> Callable[..., Expr]:
    @relay_function(name)
    def convolution(
        data: Expr,
        kernel: Expr,
        strides: Window = 1,
        padding: Window = 0,
        dilation: Window = 1,
        groups: int = 1,
        channels: int | None = None,
        kernel_size: Window | None = None,
        data_layout: str = "NCHW8c",
        kernel_layout: str = "OIHW",
        out_layout: str = "",
        out_dtype: str = "",
    ) -> Expr:
        """The call of `nn.conv2d` on images whose channels are in blocks."""
        sizes = {"strides": strides, "padding": padding, "dilation": dilation}
        attributes = {"groups": groups, "channels": channels, "kernel_size": kernel_size, "out_dtype": out_dtype or ""}
        layouts = {"data_layout": data_layout, "kernel_layout": kernel_layout, "out_layout": out_layout}
        return call("nn.conv2d", data, kernel, **sizes, **attributes, **layouts)

    return convolution


contrib_conv2d_nchwc = _convolution_of_blocks("nn.contrib_conv2d_nchwc")
contrib_depthwise_conv2d_nchwc = _convolution_of_blocks("nn.contrib_depthwise_conv2d_nchwc")


@relay_function("nn.deformable_conv2d")
def deformable_conv2d(
    data: Expr,
    offset: Expr,
    weight: Expr,
    strides: Window = 1,
    padding: Window = 0,
    dilation: Window = 1,
    deformable_groups: int = 1,
    groups: int = 1,
    channels: int | None = None,
    kernel_size: Window | None = None,
    data_layout: str = "NCHW",
    kernel_layout: str = "OIHW",
    out_layout: str = "",
    out_dtype: str = "",
) -> Expr:
    """The convolution of images whose windows have moved taps. channels, kernel_size: those of the weight."""
    windows = {"strides": strides, "padding": padding, "dilation": dilation}
    windows |= {"channels": channels, "kernel_size": kernel_size}
    counts = {"deformable_groups": deformable_groups, "groups": groups, "out_dtype": out_dtype or ""}
    layouts = {"data_layout": data_layout, "kernel_layout": kernel_layout, "out_layout": out_layout or ""}
    return call("nn.deformable_conv2d", data, offset, weight, **windows, **counts, **layouts)


# Words of bits


@relay_function("nn.bitpack")
def bitpack(
    data: Expr, bits: int = 1, pack_axis: int = 1, bit_axis: int = 2, pack_type: str = "uint32", name: str = "BitPack"
) -> Expr:
    """The bits of integers in words, as of the operator. name: of no effect."""
    return call("nn.bitpack", data, bits=bits, pack_axis=pack_axis, bit_axis=bit_axis, pack_type=pack_type)


# Sparse matrices


def _parts(matrix: Any, name: str) -> list[Any]:
    """The elements or blocks, the columns and the rows of a sparse matrix: a sequence of three, or its attributes.
    OptionError for another value.
    """
    found = [getattr(matrix, each, None) for each in ("data", "indices", "indptr")]
    parts: list[Any] = found if None not in found else list(matrix) if isinstance(matrix, tuple | list) else []
    if len(parts) != 3:
        raise OptionError(f"{name}: {matrix!r}, expected the data, the indices and the indptr of a sparse matrix")
    return parts


@relay_function("nn.sparse_dense", "sparse_mat")
def sparse_dense(dense_mat: Expr, sparse_mat: Any, sparse_lhs: bool = False) -> Expr:
    """The product of a dense matrix and the transpose of a sparse one. sparse_mat: its parts in CSR or BSR, a tuple or
    attributes: data, indices, indptr.  sparse_lhs: as of the operator."""
    return call("nn.sparse_dense", dense_mat, *_parts(sparse_mat, "nn.sparse_dense"), sparse_lhs=sparse_lhs)


@relay_function("nn.sparse_add", "sparse_mat")
def sparse_add(dense_mat: Expr, sparse_mat: Any) -> Expr:
    """The sum of a dense matrix and a sparse one. sparse_mat: its parts in CSR, as of `sparse_dense`."""
    return call("nn.sparse_add", dense_mat, *_parts(sparse_mat, "nn.sparse_add"))


@relay_function("nn.sparse_transpose", "x")
def sparse_transpose(x: Any) -> Any:
    """The parts of the transpose of a square matrix in CSR. x: its parts, as of `sparse_dense`."""
    return call_operator("nn.sparse_transpose", *_parts(x, "nn.sparse_transpose"))


# Losses


@relay_function("nn.cross_entropy")
def cross_entropy(predictions: Expr, targets: Expr) -> Expr:
    """The negated sum of `targets * log(predictions)` over all elements, divided by the number of rows; each row holds
    probabilities.
    """
    return cross_entropy_with_logits(call("log", predictions), targets)


@relay_function("nn.cross_entropy_with_logits")
def cross_entropy_with_logits(predictions: Expr, targets: Expr) -> Expr:
    """The negated sum of `targets * predictions` over all elements, divided by the number of rows; rows hold
    log-probabilities.
    """
    rows = call("sum", call("multiply", predictions, targets), axis=1)
    return call("negative", call("mean", rows))


nn = sys.modules[__name__]
"""This module: TVM's package `relay.op.nn` has a file `nn` with its names."""

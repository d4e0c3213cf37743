"""Neural-network operators: `relay.nn`, each with the parameters of its definition unless its signature in Relay, as of
v0.16, differs.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any

from ...core.errors import UnsupportedError
from ...operators.windows import SPATIAL, Window
from .expr import Call, Expr, call
from .operators import bind, function_of, named, number_of

batch_flatten = function_of("nn.batch_flatten")
batch_norm: Callable[..., Any] = function_of("nn.batch_norm")
bias_add = function_of("nn.bias_add")
celu = function_of("nn.celu")
conv1d = function_of("nn.conv1d")
conv2d = function_of("nn.conv2d")
conv3d = function_of("nn.conv3d")
dense = function_of("nn.dense")
depth_to_space = function_of("nn.depth_to_space")
dropout = function_of("nn.dropout")
elu = function_of("nn.elu")
gelu = function_of("nn.gelu")
group_norm = function_of("nn.group_norm")
hard_sigmoid = function_of("nn.hard_sigmoid")
hard_swish = function_of("nn.hard_swish")
instance_norm = function_of("nn.instance_norm")
l2_normalize = function_of("nn.l2_normalize")
layer_norm = function_of("nn.layer_norm")
log_softmax = function_of("nn.log_softmax")
lrn = function_of("nn.lrn")
mirror_pad = function_of("nn.mirror_pad")
mish = function_of("nn.mish")
prelu = function_of("nn.prelu")
relu = function_of("nn.relu")
rms_norm = function_of("nn.rms_norm")
selu = function_of("nn.selu")
silu = function_of("nn.silu")
softmax = function_of("nn.softmax")
softplus = function_of("nn.softplus")
space_to_depth = function_of("nn.space_to_depth")
upsampling = function_of("nn.upsampling")
upsampling3d = function_of("nn.upsampling3d")


@named("nn.matmul")
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


@named("nn.batch_matmul")
def batch_matmul(
    tensor_a: Expr, tensor_b: Expr, out_dtype: str = "", transpose_a: bool = False, transpose_b: bool = True
) -> Expr:
    """The products of a batch of matrix pairs; the second operand is transposed."""
    attributes = {"transpose_a": transpose_a, "transpose_b": transpose_b, "out_dtype": out_dtype or ""}
    return call("nn.batch_matmul", tensor_a, tensor_b, **attributes)


@named("nn.pad")
def pad(data: Expr, pad_width: Sequence[Sequence[int]], pad_value: Any = 0, pad_mode: str = "constant") -> Expr:
    """Pads each dimension before and after its elements. pad_value: a number, or a constant."""
    value = number_of(pad_value, "nn.pad: pad_value")
    return call("nn.pad", data, pad_width=pad_width, pad_value=value, pad_mode=pad_mode)


@named("nn.leaky_relu")
def leaky_relu(data: Expr, alpha: float) -> Expr:
    """`x if x > 0 else alpha * x` for each element x."""
    return call("nn.leaky_relu", data, alpha=alpha)


# Images


def _pool(name: str) -> Callable[..., Call]:
    """The function of a pooling operator, which in Relay takes `out_layout` after `layout`."""
    function = function_of(name)
    parameters: list[inspect.Parameter] = []
    for each in inspect.signature(function).parameters.values():
        parameters.append(each)
        if each.name == "layout":
            parameters.append(each.replace(name="out_layout", default=""))
    signature = inspect.Signature(parameters)

    def pool(*args: Any, **kwargs: Any) -> Any:
        attributes = {"layout": signature.parameters["layout"].default, **bind(name, signature, args, kwargs)}
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
max_pool2d_with_places: Callable[..., Any] = _pool("nn.max_pool2d_with_places")
max_pool3d = _pool("nn.max_pool3d")
max_pool3d_with_places: Callable[..., Any] = _pool("nn.max_pool3d_with_places")


def _transposed_convolution(rank: int) -> Callable[..., Expr]:
    name, image = f"nn.conv{rank}d_transpose", SPATIAL[3 - rank :]
    usual = f"NC{image}"

    @named(name)
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


# Losses


@named("nn.cross_entropy")
def cross_entropy(predictions: Expr, targets: Expr) -> Expr:
    """The negated sum of `targets * log(predictions)` over all elements, divided by the number of rows; each row holds
    probabilities.
    """
    return cross_entropy_with_logits(call("log", predictions), targets)


@named("nn.cross_entropy_with_logits")
def cross_entropy_with_logits(predictions: Expr, targets: Expr) -> Expr:
    """The negated sum of `targets * predictions` over all elements, divided by the number of rows; rows hold
    log-probabilities.
    """
    rows = call("sum", call("multiply", predictions, targets), axis=1)
    return call("negative", call("mean", rows))

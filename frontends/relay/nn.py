"""Operators of neural networks: `relay.nn`. Those that stand below have a form of their own in Relay, as of v0.16."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from ...core.errors import UnsupportedError
from ...operators.windows import SPATIAL, Window
from .expr import Expr, call
from .operators import functions_in, named, number_of

if not TYPE_CHECKING:
    globals().update(functions_in("nn."))

if TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        """The function of an operator."""


@named("nn.matmul")
def matmul(
    tensor_a: Expr,
    tensor_b: Expr,
    units: int | None = None,
    out_dtype: str = "",
    transpose_a: bool = False,
    transpose_b: bool = False,
) -> Expr:
    """The product of two matrices. units: how many columns it has, which the second one says."""
    return call(
        "nn.matmul", tensor_a, tensor_b, transpose_a=transpose_a, transpose_b=transpose_b, out_dtype=out_dtype or ""
    )


@named("nn.batch_matmul")
def batch_matmul(
    tensor_a: Expr, tensor_b: Expr, out_dtype: str = "", transpose_a: bool = False, transpose_b: bool = True
) -> Expr:
    """The product of two matrices, for each of a batch; the second one is transposed."""
    said = {"transpose_a": transpose_a, "transpose_b": transpose_b, "out_dtype": out_dtype or ""}
    return call("nn.batch_matmul", tensor_a, tensor_b, **said)


@named("nn.pad")
def pad(data: Expr, pad_width: Sequence[Sequence[int]], pad_value: Any = 0, pad_mode: str = "constant") -> Expr:
    """With elements in front of and behind each dimension. pad_value: a number, or a constant."""
    value = number_of(pad_value, "nn.pad: pad_value")
    return call("nn.pad", data, pad_width=pad_width, pad_value=value, pad_mode=pad_mode)


@named("nn.leaky_relu")
def leaky_relu(data: Expr, alpha: float) -> Expr:
    """Of each element x `x if x > 0 else alpha * x`."""
    return call("nn.leaky_relu", data, alpha=alpha)


def _own_layout(name: str, layout: str, out_layout: str) -> None:
    """UnsupportedError for a result in another layout."""
    if out_layout not in ("", layout):
        raise UnsupportedError(f"{name}: out_layout {out_layout!r} of data in {layout!r} is not supported yet")


# Images


def _max_pool(rank: int) -> Callable[..., Expr]:
    name, usual = f"nn.max_pool{rank}d", f"NC{SPATIAL[3 - rank :]}"

    @named(name)
    def pool(
        data: Expr,
        pool_size: Window = 1,
        strides: Window = 1,
        dilation: Window = 1,
        padding: Window = 0,
        layout: str = usual,
        out_layout: str = "",
        ceil_mode: bool = False,
    ) -> Expr:
        """The greatest element in each window of an image."""
        _own_layout(name, layout, out_layout)
        said = {"pool_size": pool_size, "strides": strides, "dilation": dilation, "padding": padding}
        return call(name, data, **said, layout=layout, ceil_mode=ceil_mode)

    return pool


def _avg_pool(rank: int) -> Callable[..., Expr]:
    name, usual = f"nn.avg_pool{rank}d", f"NC{SPATIAL[3 - rank :]}"

    @named(name)
    def pool(
        data: Expr,
        pool_size: Window = 1,
        strides: Window = 1,
        dilation: Window = 1,
        padding: Window = 0,
        layout: str = usual,
        out_layout: str = "",
        ceil_mode: bool = False,
        count_include_pad: bool = False,
    ) -> Expr:
        """The mean of the elements in each window of an image."""
        _own_layout(name, layout, out_layout)
        said = {"pool_size": pool_size, "strides": strides, "dilation": dilation, "padding": padding}
        return call(name, data, **said, layout=layout, ceil_mode=ceil_mode, count_include_pad=count_include_pad)

    return pool


def _global_pool(kind: str, rank: int) -> Callable[..., Expr]:
    name, usual = f"nn.global_{kind}_pool{rank}d", f"NC{SPATIAL[3 - rank :]}"

    @named(name)
    def pool(data: Expr, layout: str = usual, out_layout: str = "") -> Expr:
        """The greatest element, or the mean, of each image."""
        _own_layout(name, layout, out_layout)
        return call(name, data, layout=layout)

    return pool


def _adaptive_pool(kind: str, rank: int) -> Callable[..., Expr]:
    name, usual = f"nn.adaptive_{kind}_pool{rank}d", f"NC{SPATIAL[3 - rank :]}"

    @named(name)
    def pool(data: Expr, output_size: Window | None = None, layout: str = usual, out_layout: str = "") -> Expr:
        """The greatest element, or the mean, in windows that divide an image. output_size: into how many."""
        _own_layout(name, layout, out_layout)
        return call(name, data, output_size=output_size or None, layout=layout)

    return pool


max_pool1d, max_pool2d, max_pool3d = (_max_pool(rank) for rank in (1, 2, 3))
avg_pool1d, avg_pool2d, avg_pool3d = (_avg_pool(rank) for rank in (1, 2, 3))
global_max_pool1d, global_max_pool2d, global_max_pool3d = (_global_pool("max", rank) for rank in (1, 2, 3))
global_avg_pool1d, global_avg_pool2d, global_avg_pool3d = (_global_pool("avg", rank) for rank in (1, 2, 3))
adaptive_max_pool1d, adaptive_max_pool2d, adaptive_max_pool3d = (_adaptive_pool("max", rank) for rank in (1, 2, 3))
adaptive_avg_pool1d, adaptive_avg_pool2d, adaptive_avg_pool3d = (_adaptive_pool("avg", rank) for rank in (1, 2, 3))


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
        """The transpose of a convolution: each element of an image times the weights, added to a window.

        kernel_layout: what Relay calls OIW and OIDHW has the channels of data first, and is IOW and IODHW here.
        """
        sizes = {"strides": strides, "padding": padding, "dilation": dilation, "output_padding": output_padding}
        said = {"groups": groups, "channels": channels, "kernel_size": kernel_size, "out_dtype": out_dtype or ""}
        kernel = kernel_layout if rank == 2 else kernel_layout.replace("OI", "IO")
        layouts = {"data_layout": data_layout, "kernel_layout": kernel, "out_layout": out_layout}
        return call(name, data, weight, **sizes, **said, **layouts)

    return convolution


conv1d_transpose, conv2d_transpose, conv3d_transpose = (_transposed_convolution(rank) for rank in (1, 2, 3))


# Losses


@named("nn.cross_entropy")
def cross_entropy(predictions: Expr, targets: Expr) -> Expr:
    """Less the sum of `targets * log(predictions)`, of probabilities in rows, by the number of rows."""
    return cross_entropy_with_logits(call("log", predictions), targets)


@named("nn.cross_entropy_with_logits")
def cross_entropy_with_logits(predictions: Expr, targets: Expr) -> Expr:
    """Less the sum of `targets * predictions`, of logarithms of probabilities in rows, by the number of rows."""
    rows = call("sum", call("multiply", predictions, targets), axis=1)
    return call("negative", call("mean", rows))

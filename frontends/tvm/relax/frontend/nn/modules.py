"""Layers."""

from __future__ import annotations

from typing import Any

from . import operators as op
from .core import Module, Parameter, Tensor


class Identity(Module):
    """The operand."""

    def forward(self, x: Tensor) -> Tensor:
        return x


class ReLU(Module):
    """`max(x, 0)`."""

    def forward(self, x: Tensor) -> Tensor:
        return op.relu(x)


class SiLU(Module):
    """`x * sigmoid(x)`."""

    def forward(self, x: Tensor) -> Tensor:
        return op.silu(x)


class GELU(Module):
    """`x * (1 + erf(x / sqrt(2))) / 2`."""

    def forward(self, x: Tensor) -> Tensor:
        return op.gelu(x)


class Linear(Module):
    """`x @ weight.T + bias`. weight: `[out_features, in_features]`."""

    def __init__(
        self, in_features: Any, out_features: Any, bias: bool = True, dtype: str | None = None,
        out_dtype: str | None = None,
    ):  # fmt: skip
        self.in_features, self.out_features, self.out_dtype = in_features, out_features, out_dtype
        self.weight = Parameter((out_features, in_features), dtype)
        self.bias = Parameter((out_features,), out_dtype or dtype) if bias else None

    def forward(self, x: Tensor) -> Tensor:
        product = op.matmul(x, op.permute_dims(self.weight), out_dtype=self.out_dtype)
        return product if self.bias is None else product + self.bias


class LayerNorm(Module):
    """Normalization by the mean and the variance along the last dimension."""

    def __init__(
        self, normalized_shape: int, eps: float = 1e-5, elementwise_affine: bool = True, dtype: str | None = None
    ):
        self.normalized_shape, self.eps = normalized_shape, eps
        self.weight = Parameter((normalized_shape,), dtype) if elementwise_affine else None
        self.bias = Parameter((normalized_shape,), dtype) if elementwise_affine else None

    def forward(self, x: Tensor) -> Tensor:
        return op.layer_norm(x, self.normalized_shape, self.weight, self.bias, self.eps)


class RMSNorm(Module):
    """Division by the root of the mean of squares along the last dimension. axes: that dimension."""

    def __init__(
        self, hidden_size: int, axes: Any = -1, epsilon: float = 1e-5, bias: bool = True, dtype: str | None = None
    ):
        self.axes, self.epsilon = axes, epsilon
        self.weight = Parameter((hidden_size,), dtype)
        self.bias = Parameter((hidden_size,), dtype) if bias else None

    def forward(self, x: Tensor) -> Tensor:
        result = op.rms_norm(x, self.weight, self.axes, self.epsilon)
        return result if self.bias is None else result + self.bias


class Conv2D(Module):
    """The convolution of images NCHW. weight: `[out_channels, in_channels / groups, height, width]`."""

    def __init__(
        self, in_channels: int, out_channels: int, kernel_size: Any, stride: Any = 1, padding: Any = 0,
        dilation: Any = 1, groups: int = 1, bias: bool = True, dtype: str | None = None,
    ):  # fmt: skip
        taps = (kernel_size, kernel_size) if isinstance(kernel_size, int) else tuple(kernel_size)
        self.options: dict[str, Any] = {"stride": stride, "padding": padding, "dilation": dilation, "groups": groups}
        self.weight = Parameter((out_channels, in_channels // groups, *taps), dtype)
        self.bias = Parameter((out_channels,), dtype) if bias else None

    def forward(self, x: Tensor) -> Tensor:
        return op.conv2d(x, self.weight, self.bias, **self.options)


class Conv1D(Module):
    """The convolution of signals NCW. weight: `[out_channels, in_channels / groups, kernel_size]`."""

    def __init__(
        self, in_channels: int, out_channels: int, kernel_size: int, stride: int = 1, padding: int = 0,
        dilation: int = 1, groups: int = 1, bias: bool = True, dtype: str | None = None,
    ):  # fmt: skip
        self.options: dict[str, Any] = {"stride": stride, "padding": padding, "dilation": dilation, "groups": groups}
        self.weight = Parameter((out_channels, in_channels // groups, kernel_size), dtype)
        self.bias = Parameter((out_channels,), dtype) if bias else None

    def forward(self, x: Tensor) -> Tensor:
        return op.conv1d(x, self.weight, self.bias, **self.options)


class Conv3D(Module):
    """The convolution of volumes. weight: `[out_channels, in_channels / groups, depth, height, width]`."""

    def __init__(
        self, in_channels: int, out_channels: int, kernel_size: Any, stride: Any = 1, padding: Any = 0,
        dilation: Any = 1, groups: int = 1, bias: bool = True, dtype: str | None = None, data_layout: str = "NCDHW",
    ):  # fmt: skip
        taps = [kernel_size] * 3 if isinstance(kernel_size, int) else list(kernel_size)
        shape = [in_channels // groups, *taps] if data_layout == "NCDHW" else [*taps, in_channels // groups]
        self.options: dict[str, Any] = {"stride": stride, "padding": padding, "dilation": dilation, "groups": groups}
        self.data_layout = data_layout
        self.weight = Parameter((out_channels, *shape), dtype)
        self.bias = Parameter((out_channels,), dtype) if bias else None

    def forward(self, x: Tensor) -> Tensor:
        return op.conv3d(x, self.weight, self.bias, data_layout=self.data_layout, **self.options)


class ConvTranspose1D(Module):
    """The transposed convolution of signals NCW. weight: `[in_channels, out_channels / groups, kernel_size]`."""

    def __init__(
        self, in_channels: int, out_channels: int, kernel_size: int, stride: int = 1, padding: int = 0,
        output_padding: int = 0, dilation: int = 1, groups: int = 1, bias: bool = True, dtype: str | None = None,
    ):  # fmt: skip
        self.options: dict[str, Any] = {
            "stride": stride, "padding": padding, "output_padding": output_padding, "dilation": dilation,
            "groups": groups,
        }  # fmt: skip
        self.weight = Parameter((in_channels, out_channels // groups, kernel_size), dtype)
        self.bias = Parameter((out_channels,), dtype) if bias else None

    def forward(self, x: Tensor) -> Tensor:
        return op.conv1d_transpose(x, self.weight, self.bias, **self.options)


class GroupNorm(Module):
    """Normalization by the mean and the variance of each group of channels."""

    def __init__(
        self, num_groups: int, num_channels: int, eps: float = 1e-5, affine: bool = True, dtype: str | None = None
    ):
        self.num_groups, self.num_channels, self.eps = num_groups, num_channels, eps
        self.weight = Parameter((num_channels,), dtype) if affine else None
        self.bias = Parameter((num_channels,), dtype) if affine else None

    def forward(self, x: Tensor, channel_axis: int = 1, axes: Any = None) -> Tensor:
        return op.group_norm(x, self.num_groups, self.weight, self.bias, self.eps, channel_axis, axes)


class Embedding(Module):
    """Rows of a table, by their numbers. weight: `[num, dim]`."""

    def __init__(self, num: Any, dim: Any, dtype: str | None = None):
        self.num, self.dim = num, dim
        self.weight = Parameter((num, dim), dtype)

    def forward(self, x: Tensor) -> Tensor:
        if x.ndim == 1:
            return op.take(self.weight, x, axis=0)
        return op.take(self.weight, x.reshape(-1), axis=0).reshape(*x.shape, self.dim)

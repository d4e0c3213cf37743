"""Layers."""

from __future__ import annotations

from typing import Any

from .....relay import nn, op
from .core import Module, Parameter, Tensor, as_expr


class Identity(Module):
    """The operand."""

    def forward(self, x: Tensor) -> Tensor:
        return x


class ReLU(Module):
    """`max(x, 0)`."""

    def forward(self, x: Tensor) -> Tensor:
        return Tensor(nn.relu(x.expr))


class SiLU(Module):
    """`x * sigmoid(x)`."""

    def forward(self, x: Tensor) -> Tensor:
        return Tensor(nn.silu(x.expr))


class GELU(Module):
    """`x * (1 + erf(x / sqrt(2))) / 2`."""

    def forward(self, x: Tensor) -> Tensor:
        return Tensor(nn.gelu(x.expr))


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
        product = nn.dense(x.expr, self.weight.expr, out_dtype=self.out_dtype or "")
        return Tensor(product if self.bias is None else op.add(product, self.bias.expr))


class LayerNorm(Module):
    """Normalization by the mean and the variance along the last dimension."""

    def __init__(
        self, normalized_shape: int, eps: float = 1e-5, elementwise_affine: bool = True, dtype: str | None = None
    ):
        self.eps = eps
        self.weight = Parameter((normalized_shape,), dtype) if elementwise_affine else None
        self.bias = Parameter((normalized_shape,), dtype) if elementwise_affine else None

    def forward(self, x: Tensor) -> Tensor:
        if self.weight is None or self.bias is None:
            size = (x.shape[-1],)
            scale, shift = op.ones(size, x.dtype), op.zeros(size, x.dtype)
        else:
            scale, shift = self.weight.expr, self.bias.expr
        return Tensor(nn.layer_norm(x.expr, scale, shift, axis=-1, epsilon=self.eps))


class Conv2D(Module):
    """The convolution of images NCHW. weight: `[out_channels, in_channels / groups, height, width]`."""

    def __init__(
        self, in_channels: int, out_channels: int, kernel_size: Any, stride: Any = 1, padding: Any = 0,
        dilation: Any = 1, groups: int = 1, bias: bool = True, dtype: str | None = None,
    ):  # fmt: skip
        taps = (kernel_size, kernel_size) if isinstance(kernel_size, int) else tuple(kernel_size)
        self.options = {"strides": stride, "padding": padding, "dilation": dilation, "groups": groups}
        self.weight = Parameter((out_channels, in_channels // groups, *taps), dtype)
        self.bias = Parameter((out_channels,), dtype) if bias else None

    def forward(self, x: Tensor) -> Tensor:
        result = nn.conv2d(x.expr, self.weight.expr, **self.options)
        return Tensor(result if self.bias is None else nn.bias_add(result, self.bias.expr))


class Embedding(Module):
    """Rows of a table, by their numbers. weight: `[num, dim]`."""

    def __init__(self, num: Any, dim: Any, dtype: str | None = None):
        self.num, self.dim = num, dim
        self.weight = Parameter((num, dim), dtype)

    def forward(self, x: Tensor) -> Tensor:
        return Tensor(op.take(self.weight.expr, as_expr(x), axis=0))

"""Layers with variables named after them as parameters: `tvm.relay.testing.layers`."""

from __future__ import annotations

from typing import Any

from ....relay import nn
from ....relay.expr import Expr, Var, var


def conv2d(data: Expr, weight: Expr | None = None, *, name: str = "conv2d", **attributes: Any) -> Expr:
    """A convolution. weight: a variable `<name>_weight` if missing."""
    return nn.conv2d(data, weight or var(f"{name}_weight"), **attributes)


def conv2d_transpose(data: Expr, weight: Expr | None = None, *, name: str = "deconv2d", **attributes: Any) -> Expr:
    """A transposed convolution. weight: a variable `<name>_weight` if missing."""
    return nn.conv2d_transpose(data, weight or var(f"{name}_weight"), **attributes)


def batch_norm_infer(
    data: Expr,
    gamma: Expr | None = None,
    beta: Expr | None = None,
    moving_mean: Expr | None = None,
    moving_var: Expr | None = None,
    *,
    name: str = "batch_norm",
    **attributes: Any,
) -> Expr:
    """A batch normalization at inference: its missing inputs are the variables `<name>_gamma`, `_beta`, `_moving_mean`
    and `_moving_var`.
    """
    inputs = {"gamma": gamma, "beta": beta, "moving_mean": moving_mean, "moving_var": moving_var}
    params = [value or var(f"{name}_{role}") for role, value in inputs.items()]
    return nn.batch_norm(data, *params, **attributes)[0]


def dense_add_bias(
    data: Expr, weight: Expr | None = None, bias: Expr | None = None, units: int | None = None, *, name: str = "dense"
) -> Expr:
    """A dense layer with a bias: variables `<name>_weight` and `<name>_bias` if missing."""
    product = nn.dense(data, weight or var(f"{name}_weight"), units)
    return nn.bias_add(product, bias or var(f"{name}_bias"), -1)


def conv_bias(data: Expr, name: str, **attributes: Any) -> Expr:
    """A convolution with a bias: variables `<name>_weight` and `<name>_bias`."""
    return nn.bias_add(conv2d(data, name=name, **attributes), var(f"{name}_bias"))


def conv_bn_relu(data: Expr, name: str, epsilon: float = 1e-5, **attributes: Any) -> Expr:
    """A convolution, a batch normalization and a ReLU: variables named after `<name>` and `<name>_bn`."""
    convolved = conv2d(data, name=name, **attributes)
    return nn.relu(batch_norm_infer(convolved, name=f"{name}_bn", epsilon=epsilon))


def classifier(data: Expr, num_classes: int, name: str = "fc") -> Expr:
    """A dense layer with a bias, followed by a softmax."""
    return nn.softmax(dense_add_bias(nn.batch_flatten(data), units=num_classes, name=name))


def data_of(batch_size: int, image_shape: tuple[int, ...], dtype: str) -> Var:
    """The input images of a network, a variable called `data`."""
    return var("data", shape=(batch_size, *image_shape), dtype=dtype)

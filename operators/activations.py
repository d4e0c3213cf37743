"""Activations: functions of each element, between the layers of neural networks.

Floats are computed in at least 32 bits and rounded once.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ..expressions import functions as scalar
from ..expressions.errors import TeError
from ..expressions.expr import PrimExpr, Select, cast, const
from ..expressions.tensor import Tensor, compute, elementwise_tensor, is_same_extent
from .axes import nonnegative_axis
from .definition import Pattern, operator
from .math import define_unary
from .requirements import require_floats, wide_dtype

Array = Any


def _activation(data: Tensor, name: str, function: Callable[[PrimExpr], PrimExpr]) -> Tensor:
    """Applies a function to each element, in at least 32 bits."""
    require_floats(data, name)
    kind = wide_dtype(data)
    return elementwise_tensor(
        lambda x: cast(data.dtype, function(cast(kind, x))), [data], f"T_{name.rpartition('.')[2]}"
    )


def _in_float64(function: Callable[..., Array]) -> Callable[..., Array]:
    """The function `function` on arrays of floats, computed in 64 bits and rounded."""

    def wrapper(data: Array, **attributes: Any) -> Array:
        with np.errstate(all="ignore"):
            return np.asarray(function(data.astype("float64"), **attributes)).astype(data.dtype)

    return wrapper


def _define(
    name: str, function: Callable[[PrimExpr], PrimExpr], reference: Callable[[Array], Array], meaning: str
) -> Any:
    """Defines an activation without attributes. meaning: its docstring."""

    def formula(data: Tensor) -> Tensor:
        return _activation(data, name, function)

    formula.__name__ = formula.__qualname__ = name.rpartition(".")[2]
    formula.__doc__ = meaning
    return operator(name, Pattern.ELEMWISE, _in_float64(reference))(formula)


# Rectified linear units


def _relu(x: Any) -> PrimExpr:
    return scalar.max(x, const(0, x.dtype))


relu = define_unary(
    "nn.relu",
    _relu,
    lambda x: np.where(x > 0, x, np.zeros_like(x)),
    "The rectified linear unit `max(x, 0)` of each element x.",
)


def _leaky_reference(data: Array, alpha: float) -> Array:
    with np.errstate(all="ignore"):
        return np.where(data > 0, data, data * data.dtype.type(alpha)).astype(data.dtype)


@operator("nn.leaky_relu", Pattern.ELEMWISE, _leaky_reference)
def leaky_relu(data: Tensor, alpha: float = 0.01) -> Tensor:
    """The leaky rectified linear unit of each element x: `x if x > 0 else alpha * x`."""
    require_floats(data, "nn.leaky_relu")
    slope = const(alpha, data.dtype)
    return elementwise_tensor(lambda x: Select(x > const(0, data.dtype), x, x * slope), [data], "T_leaky_relu")


def _prelu_reference(data: Array, alpha: Array, axis: int) -> Array:
    shape = [1] * data.ndim
    shape[nonnegative_axis(axis, data.ndim, "nn.prelu")] = -1
    return np.where(data > 0, data, data * alpha.reshape(shape)).astype(data.dtype)


@operator("nn.prelu", Pattern.BROADCAST, _prelu_reference)
def prelu(data: Tensor, alpha: Tensor, axis: int = 1) -> Tensor:
    """The parametric rectified linear unit of each element x: `x if x > 0 else a * x`, with a from `alpha` along
    `axis`."""
    require_floats(data, "nn.prelu")
    dimension = nonnegative_axis(axis, data.ndim, "nn.prelu")
    if alpha.ndim != 1 or not is_same_extent(alpha.shape[0], data.shape[dimension]) or alpha.dtype != data.dtype:
        kinds = " and ".join(f"{list(each.shape)} of {each.dtype}" for each in (data, alpha))
        raise TeError(f"nn.prelu: data and alpha of {kinds} along axis {dimension}")

    def fcompute(*axes: PrimExpr) -> PrimExpr:
        x = data(*axes)
        return Select(x > const(0, data.dtype), x, x * alpha(axes[dimension]))

    names = [f"ax{d}" for d in range(data.ndim)]
    return compute(data.shape, fcompute, "T_prelu", "broadcast", varargs_names=names)


# Exponential units


def _expm1(x: PrimExpr) -> PrimExpr:
    """`e ** x - 1`, without the cancellation that a difference suffers near 0."""
    return scalar.tanh(x * const(0.5, x.dtype)) * (scalar.exp(x) + const(1, x.dtype))


def _softplus(x: PrimExpr) -> PrimExpr:
    """`log(1 + e ** x)`; the exponent is not positive, so the power is finite."""
    zero = const(0, x.dtype)
    return Select(x > zero, x, zero) + scalar.log1p(scalar.exp(zero - scalar.abs(x)))


def _elu(x: PrimExpr, outer: float, inner: float = 1.0) -> PrimExpr:
    """`x if x > 0 else outer * (e ** (x / inner) - 1)`."""
    zero, ratio = const(0, x.dtype), const(inner, x.dtype)
    below = Select(x > zero, zero, x)  # the power of a positive x may be infinite
    return Select(x > zero, x, const(outer, x.dtype) * _expm1(below / ratio))


@operator(
    "nn.elu",
    Pattern.ELEMWISE,
    _in_float64(lambda x, alpha=1.0: np.where(x > 0, x, alpha * np.expm1(x))),
)
def elu(data: Tensor, alpha: float = 1.0) -> Tensor:
    """The exponential linear unit of each element x: `x if x > 0 else alpha * (e ** x - 1)`."""
    return _activation(data, "nn.elu", lambda x: _elu(x, alpha))


@operator(
    "nn.celu",
    Pattern.ELEMWISE,
    _in_float64(lambda x, alpha=1.0: np.where(x > 0, x, alpha * np.expm1(x / alpha))),
)
def celu(data: Tensor, alpha: float = 1.0) -> Tensor:
    """The continuous exponential linear unit of each element x: `x if x > 0 else alpha * (e ** (x / alpha) - 1)`.

    alpha: nonzero.
    """
    if alpha == 0:
        raise TeError("nn.celu: alpha 0, expected another number")
    return _activation(data, "nn.celu", lambda x: _elu(x, alpha, alpha))


@operator(
    "nn.selu",
    Pattern.ELEMWISE,
    _in_float64(
        lambda x, alpha=1.6732632423543772, gamma=1.0507009873554805: gamma * np.where(x > 0, x, alpha * np.expm1(x))
    ),
)
def selu(data: Tensor, alpha: float = 1.6732632423543772, gamma: float = 1.0507009873554805) -> Tensor:
    """The scaled exponential linear unit of each element x: `gamma * (x if x > 0 else alpha * (e ** x - 1))`.

    alpha, gamma: the defaults preserve a mean of 0 and a variance of 1.
    """
    return _activation(data, "nn.selu", lambda x: const(gamma, x.dtype) * _elu(x, alpha))


softplus = _define(
    "nn.softplus", _softplus, lambda x: np.logaddexp(0, x), "The softplus function `log(1 + e ** x)` of each element x."
)


# Gated units: x times a gate


def _gelu_reference(data: Array, approximate: str) -> Array:
    if approximate == "tanh":
        return data * 0.5 * (1 + np.tanh(np.sqrt(2 / np.pi) * (data + 0.044715 * data**3)))
    return data * 0.5 * np.vectorize(lambda x: math.erfc(-x / math.sqrt(2)), otypes=["float64"])(data)


@operator("nn.gelu", Pattern.ELEMWISE, _in_float64(_gelu_reference))
def gelu(data: Tensor, approximate: str = "none") -> Tensor:
    """The Gaussian error linear unit of each element x: `x * P(X <= x)`, where X has the standard normal distribution.

    approximate: the formula of the probability, "none" for `(1 + erf(x / sqrt(2))) / 2`, "tanh" for the approximation
    `(1 + tanh(sqrt(2 / pi) * (x + 0.044715 * x ** 3))) / 2`.
    """
    if approximate not in ("none", "tanh"):
        raise TeError(f"nn.gelu: approximate {approximate!r}, expected 'none' or 'tanh'")

    def function(x: PrimExpr) -> PrimExpr:
        def number(value: float) -> PrimExpr:
            return const(value, x.dtype)

        if approximate == "none":
            shifted = scalar.erf(x * number(math.sqrt(0.5)))
        else:
            shifted = scalar.tanh(number(math.sqrt(2 / math.pi)) * (x + number(0.044715) * x * x * x))
        return x * number(0.5) * (number(1) + shifted)

    return _activation(data, "nn.gelu", function)


silu = _define(
    "nn.silu",
    lambda x: x * scalar.sigmoid(x),
    lambda x: x / (1 + np.exp(-x)),
    "The sigmoid linear unit `x / (1 + e ** -x)` of each element x.",
)

mish = _define(
    "nn.mish",
    lambda x: x * scalar.tanh(_softplus(x)),
    lambda x: x * np.tanh(np.logaddexp(0, x)),
    "The Mish function `x * tanh(log(1 + e ** x))` of each element x.",
)


def _clamp(x: PrimExpr) -> PrimExpr:
    """x clamped to the interval from 0 to 1; NaN remains NaN."""
    zero, one = const(0, x.dtype), const(1, x.dtype)
    return Select(x < zero, zero, Select(x > one, one, x))


@operator(
    "nn.hard_sigmoid",
    Pattern.ELEMWISE,
    _in_float64(lambda x, alpha=0.2, beta=0.5: np.clip(alpha * x + beta, 0, 1)),
)
def hard_sigmoid(data: Tensor, alpha: float = 0.2, beta: float = 0.5) -> Tensor:
    """The hard sigmoid of each element x: `alpha * x + beta`, clamped to the interval from 0 to 1."""
    return _activation(data, "nn.hard_sigmoid", lambda x: _clamp(const(alpha, x.dtype) * x + const(beta, x.dtype)))


hard_swish = _define(
    "nn.hard_swish",
    lambda x: x * _clamp(x / const(6, x.dtype) + const(0.5, x.dtype)),
    lambda x: x * np.clip(x / 6 + 0.5, 0, 1),
    "The hard Swish function `x * min(max(x / 6 + 1 / 2, 0), 1)` of each element x.",
)


# For training


@operator("nn.dropout", Pattern.ELEMWISE, lambda data: np.copy(data))
def dropout(data: Tensor, rate: float = 0.5) -> Tensor:
    """A copy of the tensor: elements are dropped in training only.

    rate: the fraction of dropped elements, from 0 to 1.
    """
    if not 0 <= rate <= 1:
        raise TeError(f"nn.dropout: rate {rate}, expected a number from 0 to 1")
    return elementwise_tensor(lambda x: x, [data], "T_dropout")

"""Gradients of functions of elements."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from ..expr import Call, Expr, call
from .rules import RULES, collapse, dtype, is_float, number, rule, shape, zeros_like

_Slope = Callable[[Expr, Expr, Callable[[float], Expr]], Expr]
"""A function from the operand, the result and a maker of constants to the derivative."""


def _define(slopes: dict[str, _Slope]) -> None:
    for name, slope in slopes.items():
        RULES[name] = _unary(slope)


def _unary(slope: _Slope) -> Callable[[Call, Any], Sequence[Expr | None]]:
    def apply(node: Call, grad: Any) -> Sequence[Expr | None]:
        x = node.args[0]
        return [grad * slope(x, node, lambda value: number(value, x))]

    return apply


def _root(inside: Expr) -> Expr:
    return call("sqrt", inside)


_define(
    {
        "exp": lambda x, y, c: y,
        "exp2": lambda x, y, c: y * c(math.log(2)),
        "log": lambda x, y, c: c(1) / x,
        "log2": lambda x, y, c: c(1) / (x * c(math.log(2))),
        "log10": lambda x, y, c: c(1) / (x * c(math.log(10))),
        "log1p": lambda x, y, c: c(1) / (x + c(1)),
        "sqrt": lambda x, y, c: c(0.5) / y,
        "rsqrt": lambda x, y, c: c(-0.5) * y / x,
        "sigmoid": lambda x, y, c: y * (c(1) - y),
        "tanh": lambda x, y, c: c(1) - y * y,
        "erf": lambda x, y, c: c(2 / math.sqrt(math.pi)) * call("exp", -(x * x)),
        "sin": lambda x, y, c: call("cos", x),
        "cos": lambda x, y, c: -call("sin", x),
        "tan": lambda x, y, c: c(1) + y * y,
        "sinh": lambda x, y, c: call("cosh", x),
        "cosh": lambda x, y, c: call("sinh", x),
        "asin": lambda x, y, c: c(1) / _root(c(1) - x * x),
        "acos": lambda x, y, c: c(-1) / _root(c(1) - x * x),
        "atan": lambda x, y, c: c(1) / (c(1) + x * x),
        "asinh": lambda x, y, c: c(1) / _root(x * x + c(1)),
        "acosh": lambda x, y, c: c(1) / _root(x * x - c(1)),
        "atanh": lambda x, y, c: c(1) / (c(1) - x * x),
        "nn.softplus": lambda x, y, c: call("sigmoid", x),
        "nn.silu": lambda x, y, c: (s := call("sigmoid", x)) * (c(1) + x * (c(1) - s)),
    }
)


@rule("negative")
def _negative(node: Call, grad: Any) -> Sequence[Expr | None]:
    return [-grad]


@rule("copy")
def _copy(node: Call, grad: Any) -> Sequence[Expr | None]:
    return [grad]


@rule("cast")
def _cast(node: Call, grad: Any) -> Sequence[Expr | None]:
    x = node.args[0]
    return [call("cast", grad, dtype=dtype(x)) if is_float(x) and is_float(node) else None]


@rule("abs")
def _abs(node: Call, grad: Any) -> Sequence[Expr | None]:
    x = node.args[0]
    return [call("where", x < number(0, x), -grad, grad)]


@rule("nn.relu")
def _relu(node: Call, grad: Any) -> Sequence[Expr | None]:
    x = node.args[0]
    return [call("where", x < number(0, x), zeros_like(grad), grad)]


@rule("nn.leaky_relu")
def _leaky_relu(node: Call, grad: Any) -> Sequence[Expr | None]:
    x = node.args[0]
    return [call("where", x < number(0, x), grad * number(node.attrs.alpha, x), grad)]  # pyright: ignore[reportAttributeAccessIssue]


@rule("clip")
def _clip(node: Call, grad: Any) -> Sequence[Expr | None]:
    x, low, high = node.args[0], node.attrs.a_min, node.attrs.a_max  # pyright: ignore[reportAttributeAccessIssue]
    inside = call("logical_and", x >= number(low, x), x <= number(high, x))
    return [call("where", inside, grad, zeros_like(grad))]


# Two operands


def _pair(node: Call, left: Expr, right: Expr) -> list[Expr | None]:
    """The gradients of two operands that broadcast."""
    lhs, rhs = node.args
    return [collapse(left, shape(node), lhs), collapse(right, shape(node), rhs)]


@rule("add")
def _add(node: Call, grad: Any) -> Sequence[Expr | None]:
    return _pair(node, grad, grad)


@rule("subtract")
def _subtract(node: Call, grad: Any) -> Sequence[Expr | None]:
    return _pair(node, grad, -grad)


@rule("multiply")
def _multiply(node: Call, grad: Any) -> Sequence[Expr | None]:
    lhs, rhs = node.args
    return _pair(node, grad * rhs, grad * lhs)


@rule("divide")
def _divide(node: Call, grad: Any) -> Sequence[Expr | None]:
    rhs = node.args[1]
    return _pair(node, grad / rhs, -(grad * node / rhs))


@rule("power")
def _power(node: Call, grad: Any) -> Sequence[Expr | None]:
    lhs, rhs = node.args
    return _pair(node, grad * rhs * call("power", lhs, rhs - number(1, rhs)), grad * node * call("log", lhs))


@rule("atan2")
def _atan2(node: Call, grad: Any) -> Sequence[Expr | None]:
    y, x = node.args
    scaled = grad / (x * x + y * y)
    return _pair(node, scaled * x, -(scaled * y))


@rule("maximum", "minimum")
def _extreme(node: Call, grad: Any) -> Sequence[Expr | None]:
    lhs, rhs = node.args
    takes_left = lhs >= rhs if node.op.name == "maximum" else lhs <= rhs
    nothing = zeros_like(grad)
    return _pair(node, call("where", takes_left, grad, nothing), call("where", takes_left, nothing, grad))


@rule("where")
def _where(node: Call, grad: Any) -> Sequence[Expr | None]:
    condition, x, y = node.args
    nothing = zeros_like(grad)
    chosen = call("where", condition, grad, nothing), call("where", condition, nothing, grad)
    return [None, collapse(chosen[0], shape(node), x), collapse(chosen[1], shape(node), y)]


@rule("equal", "not_equal", "less", "less_equal", "greater", "greater_equal", "floor_divide", "trunc_divide")
@rule("logical_and", "logical_or", "logical_xor", "bitwise_and", "bitwise_or", "bitwise_xor")
def _compare(node: Call, grad: Any) -> Sequence[Expr | None]:
    return [None, None]


@rule("zeros_like", "ones_like", "full_like", "logical_not", "sign", "floor", "ceil", "round", "trunc")
@rule("isnan", "isinf", "isfinite", "argmax", "argmin", "argsort", "one_hot")
def _constant(node: Call, grad: Any) -> Sequence[Expr | None]:
    return [None]

"""Products with scales as products of weights: `ForwardFoldScaleAxis` and `BackwardFoldScaleAxis`.

A demand says along which axes a value may be scaled. Operators with weights demand it of their data (forward), or offer
it to the users of their results (backward).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from ....core.dtypes import is_float_dtype, numpy_dtype
from ....operators import Operator
from ....operators.layouts import Layout
from ...relay.expr import Call, Constant, Expr, Function, operator_name
from ...relay.expr import call as new_call
from ...relay.functor import TypedMutator, post_order

_CONVOLUTIONS = ("nn.conv2d", "nn.conv3d")
_SIGNED = ("nn.relu", "nn.leaky_relu")
_SUMS = ("add", "subtract")


@dataclass(frozen=True)
class _Demand:
    """The axes along which a value may be scaled. positive: whether the scale is to be positive.  nonzero: whether it
    is to have no zero, by which a sum would be divided."""

    axes: tuple[int, ...]
    positive: bool = False
    nonzero: bool = False

    def allows(self, scale: Expr) -> bool:
        """Whether a scale is known to have the signs that are demanded."""
        if not self.positive and not self.nonzero:
            return True
        while isinstance(scale, Call) and operator_name(scale) in _MOVES:
            scale = scale.args[0]
        if not isinstance(scale, Constant):
            return False
        return bool((scale.array > 0).all() if self.positive else (scale.array != 0).all())


_MOVES = ("expand_dims", "reshape", "transpose", "squeeze", "repeat", "broadcast_to")
"""The operators whose results have the numbers of their first operand."""


@dataclass(frozen=True)
class _Scaled:
    """A value that is to be multiplied by a scale along axes."""

    value: Expr
    scale: Expr
    axes: tuple[int, ...]


def _shape(expr: Expr) -> tuple[Any, ...]:
    return expr.checked_type.shape


def _fits(whole: Expr, part: Expr, axes: Sequence[int]) -> bool:
    """Whether a tensor has the extents of another one along axes, and no others, so that it broadcasts along the
    rest."""
    shape, own = _shape(whole), _shape(part)
    base = len(shape) - len(own)
    if base < 0:
        return False
    for d, extent in enumerate(shape):
        if d in axes:
            if d < base or own[d - base] != extent:
                return False
        elif d >= base and own[d - base] != 1:
            return False
    return True


def _scale_of(whole: Expr, part: Expr, axes: Sequence[int]) -> Expr | None:
    """The factor of a product as a scale along axes alone, None if it is no such scale."""
    shape, own = _shape(whole), _shape(part)
    if not own:
        sizes = [shape[d] for d in axes]
        known = all(isinstance(size, int) for size in sizes)
        return new_call("broadcast_to", part, shape=sizes) if known else None
    if not _fits(whole, part, axes):
        return None
    base = len(shape) - len(own)
    ones = [d - base for d in range(base, len(shape)) if d not in axes]
    return new_call("squeeze", part, axis=ones) if ones else part


def _along(scale: Expr, shape: Sequence[Any], axes: Sequence[int]) -> Expr:
    """A scale along axes in a shape that broadcasts to another one."""
    if len(axes) > 1:
        return new_call("reshape", scale, newshape=[size if d in axes else 1 for d, size in enumerate(shape)])
    behind = len(shape) - axes[0] - 1
    return new_call("expand_dims", scale, axis=1, num_newaxis=behind) if behind else scale


def _is_known(shape: Sequence[Any], axes: Sequence[int]) -> bool:
    return len(axes) == 1 or all(isinstance(shape[d], int) for d in axes)


def _has_floats(expr: Expr) -> bool:
    return is_float_dtype(numpy_dtype(expr.checked_type.dtype))


# Operators with weights


def _axes_of(layout: str, letter: str) -> tuple[int, ...]:
    """The axes of a dimension in a layout."""
    return tuple(d for d, (other, _) in enumerate(Layout.of(layout).axes) if other == letter)


def _is_depthwise(call: Call) -> bool:
    kernel = Layout.of(call.attrs.kernel_layout)  # pyright: ignore[reportAttributeAccessIssue]
    extents = kernel.extents(_shape(call.args[1]))
    return extents["O"] == call.attrs.groups and extents["I"] == 1  # pyright: ignore[reportAttributeAccessIssue]


def _channels(call: Call, is_input: bool) -> tuple[int, ...] | None:
    """The axes of the channels of the data, or of the result, of an operator with weights; None if its weights are in
    groups, or divide their channels otherwise."""
    if operator_name(call) not in ("nn.dense", *_CONVOLUTIONS):
        return None
    if len({each.checked_type.dtype for each in (call, *call.args)}) > 1 or not _has_floats(call):
        return None
    if operator_name(call) == "nn.dense":
        return (len(_shape(call)) - 1,)
    attrs: Any = call.attrs
    layout = attrs.data_layout if is_input else attrs.out_layout or attrs.data_layout
    axes, weight = _axes_of(layout, "C"), [_axes_of(attrs.kernel_layout, letter) for letter in "IO"]
    sizes = {len(axes), *map(len, weight)}
    is_plain = sizes in ({1}, {2}) and all(list(each) == sorted(each) for each in (axes, *weight))
    is_known = attrs.groups == 1 or _is_depthwise(call)
    return axes if is_plain and is_known and _is_known(_shape(call.args[1]), weight[1]) else None


def _with_weight(call: Call, data: Expr, weight: Expr, scale: Expr, is_input: bool) -> Call:
    """An operator whose weight is multiplied by the scale of its data, or of its result."""
    if operator_name(call) == "nn.dense":
        factor = scale if is_input else _along(scale, (0, 0), (0,))
    else:
        attrs: Any = call.attrs
        letter = "I" if is_input and not _is_depthwise(call) else "O"
        factor = _along(scale, _shape(call.args[1]), _axes_of(attrs.kernel_layout, letter))
    return call.with_args([data, new_call("multiply", weight, factor)])


# Forward


def fold_forward(func: Function) -> Function:
    """A typed graph in which products with scales before operators with weights are products of the weights, where all
    users of the products have weights."""
    demands = _forward_demands(func)
    return _Forward(demands).visit(func) if any(demands.values()) else func


def _both(a: _Demand | None, b: _Demand | None) -> _Demand | None:
    if a is None or b is None or a.axes != b.axes:
        return None
    return _Demand(a.axes, a.positive or b.positive, a.nonzero or b.nonzero)


def _forward_demands(func: Function) -> dict[Expr, _Demand | None]:
    """The demand of the users of each value of its scale; None if it cannot have one."""
    demands: dict[Expr, _Demand | None] = {func.body: None}
    for node in reversed(list(post_order(func))):
        if not isinstance(node, Expr):
            continue
        operands = node.args if isinstance(node, Call) else node.children
        wanted = _of_operands(node, demands.get(node)) if isinstance(node, Call) else [None] * len(operands)
        if isinstance(node, Function):
            operands, wanted = [node.body], [None]
        for operand, demand in zip(operands, wanted, strict=True):
            demands[operand] = _both(demands[operand], demand) if operand in demands else demand
    return demands


def _of_operands(call: Call, demand: _Demand | None) -> list[_Demand | None]:
    """The demands of a call of its operands, given that of its users."""
    none: list[_Demand | None] = [None] * len(call.args)
    if not isinstance(call.op, Operator):
        return none
    channels = _channels(call, is_input=True)
    if channels is not None:
        return [_Demand(channels), *none[1:]]
    if demand is None:
        return none
    if operator_name(call) in _SIGNED:
        return [replace(demand, positive=True)]
    if operator_name(call) in _SUMS:
        for n, (whole, part) in enumerate((call.args, call.args[::-1])):
            if _fits(whole, part, demand.axes) and _is_known(_shape(whole), demand.axes):
                return [None] * n + [replace(demand, nonzero=True)] + [None] * (1 - n)
    return none


class _Forward(TypedMutator):
    def __init__(self, demands: dict[Expr, _Demand | None]):
        super().__init__()
        self.demands = demands
        self.scaled: dict[Expr, _Scaled] = {}

    def visit_call(self, call: Call) -> Expr:
        args = [self.visit(arg) for arg in call.args]
        found = [self.scaled.get(arg) for arg in call.args]
        demand = self.demands.get(call)
        if operator_name(call) == "multiply" and demand is not None:
            for value, factor, n in ((0, 1, 0), (1, 0, 1)):
                scale = _scale_of(call.args[value], call.args[factor], demand.axes)
                if scale is not None and demand.allows(scale):
                    self.scaled[call] = _Scaled(args[n], scale, demand.axes)
                    return args[n]
        index = next((n for n, each in enumerate(found) if each is not None), None)
        if index is None:
            return super().visit_call(call)
        scaled = found[index]
        assert scaled is not None
        if operator_name(call) in ("nn.dense", *_CONVOLUTIONS):
            return _with_weight(call, scaled.value, args[1], scaled.scale, is_input=True)
        operands = [*args]
        if operator_name(call) in _SUMS:
            factor = _along(scaled.scale, _shape(call.args[index]), scaled.axes)
            operands[1 - index] = new_call("divide", args[1 - index], factor)
        new = call.with_args(operands)
        self.scaled[call] = _Scaled(new, scaled.scale, scaled.axes)
        return new


# Backward


def fold_backward(func: Function) -> Function:
    """A typed graph in which products of results of operators with weights and scales are products of the weights,
    where no other operator uses the results."""
    return _Backward(func).visit(func)


class _Backward(TypedMutator):
    """Pushes scales down to weights. demands: what values demand of the scales of their users' products."""

    def __init__(self, func: Function):
        super().__init__()
        self.demands: dict[Expr, _Demand] = {}
        nodes = list(post_order(func))
        uses = Counter(child for node in nodes if isinstance(node, Expr) for child in node.children)
        uses[func.body] += 1
        for node in nodes:
            if isinstance(node, Call) and isinstance(node.op, Operator) and uses[node] == 1:
                demand = self._demand(node)
                if demand is not None:
                    self.demands[node] = demand

    def _demand(self, call: Call) -> _Demand | None:
        name = operator_name(call)
        inner = [self.demands.get(arg) for arg in call.args]
        if name in ("nn.dense", *_CONVOLUTIONS):
            axes = _channels(call, is_input=False)
            return None if axes is None else _Demand(axes)
        if name in _SIGNED and inner[0] is not None:
            return replace(inner[0], positive=True)
        if name == "nn.bias_add" and inner[0] is not None:
            axis = call.attrs.axis % len(_shape(call))  # pyright: ignore[reportAttributeAccessIssue]
            return inner[0] if inner[0].axes == (axis,) else None
        return self._of_sum(call, inner) if name in _SUMS else None

    def _of_sum(self, call: Call, inner: Sequence[_Demand | None]) -> _Demand | None:
        first, second = inner
        if first is not None and second is not None:
            both = _both(first, second)
            return both if both is not None and _shape(call.args[0]) == _shape(call.args[1]) else None
        for own, whole, part in ((first, *call.args), (second, *call.args[::-1])):
            if own is not None and _fits(whole, part, own.axes) and _is_known(_shape(whole), own.axes):
                return own
        return None

    def visit_call(self, call: Call) -> Expr:
        if operator_name(call) == "multiply":
            for value, factor in (call.args, call.args[::-1]):
                demand = self.demands.get(value)
                scale = None if demand is None else _scale_of(value, factor, demand.axes)
                if demand is not None and scale is not None and demand.allows(scale):
                    return self._scaled(value, scale, demand.axes)
        return super().visit_call(call)

    def _scaled(self, call: Expr, scale: Expr, axes: tuple[int, ...]) -> Expr:
        """The product of a value that demands it, and a scale."""
        assert isinstance(call, Call)
        name = operator_name(call)
        if name in ("nn.dense", *_CONVOLUTIONS):
            data, weight = (self.visit(arg) for arg in call.args)
            return _with_weight(call, data, weight, scale, is_input=False)
        if name == "nn.bias_add":
            bias = new_call("multiply", self.visit(call.args[1]), scale)
            return call.with_args([self._scaled(call.args[0], scale, axes), bias])
        operands: list[Expr] = []
        for n, arg in enumerate(call.args):
            if arg in self.demands:
                operands.append(self._scaled(arg, scale, axes))
            else:
                factor = _along(scale, _shape(call.args[1 - n]), axes)
                operands.append(new_call("multiply", self.visit(arg), factor))
        return call.with_args(operands)

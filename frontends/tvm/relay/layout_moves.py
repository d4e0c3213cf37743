"""Movement of transposes past operators, so that operators between two converted ones need none."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ....operators import Operator
from ....operators.definition import Pattern
from ...relay.expr import Call, Constant, Expr, Function, TupleGetItem
from ...relay.expr import call as new_call
from ...relay.functor import ExprMutator
from ...relay.types import TupleType

Axes = tuple[int, ...]
"""The axes of a transpose: dimension n of the result is dimension `axes[n]` of the operand."""


def move_transposes(func: Function, chosen: set[Expr]) -> Function:
    """A typed graph in which transposes are after the operators that use them, where these compute the same on the
    operands of the transposes. A transpose of a transpose that restores the order is its operand.

    chosen: the transposes that move.
    """
    return _Movement(chosen).visit(func)


class _Movement(ExprMutator):
    """Moves transposes.

    moved: for each transpose in the new graph that may move further, its operand and its axes.  several: the axes by
    which the results of an operator with several are transposed.  transposes: those of the new graph.
    """

    def __init__(self, chosen: set[Expr]):
        super().__init__()
        self.chosen = chosen
        self.moved: dict[Expr, tuple[Expr, Axes]] = {}
        self.several: dict[Expr, Axes] = {}
        self.transposes: dict[tuple[Expr, Axes], Expr] = {}

    def visit_call(self, call: Call) -> Expr:
        if not isinstance(call.op, Operator):
            return super().visit_call(call)
        operands = [self.visit(arg) for arg in call.args]
        if call.op.name == "transpose" and call.attrs.axes is not None:  # pyright: ignore[reportAttributeAccessIssue]
            return self._transpose(call, operands[0])
        rules = [self.moved[each] for each in operands if each in self.moved]
        new = None
        if rules and all(axes == rules[0][1] for _, axes in rules):
            new = self._past(call, operands, rules[0][1])
        return new or _again(call, operands, {})

    def _transpose(self, call: Call, operand: Expr) -> Expr:
        axes: Axes = tuple(axis % len(call.attrs.axes) for axis in call.attrs.axes)  # pyright: ignore[reportAttributeAccessIssue]
        inner = self.moved.get(operand)
        if inner is not None:
            together = tuple(inner[1][axis] for axis in axes)
            if together == tuple(range(len(together))):
                return inner[0]
        new = self.transposes.setdefault((operand, axes), _again(call, [operand], {}))
        if call in self.chosen:
            self.moved[new] = (operand, axes)
        return new

    def _past(self, call: Call, operands: Sequence[Expr], axes: Axes) -> Expr | None:
        """The transpose of an operator on the operands of transposes, None if the operator depends on the order."""
        rank = len(axes)
        name = call.op.name
        if name == "nn.bias_add":
            return self._bias(call, operands, axes)
        if name in ("qnn.add", "qnn.subtract", "qnn.mul"):
            return self._quantized_pair(call, operands, axes)
        if name in _FIRST:
            return self._past_first(call, operands, axes)
        changes = _changes(call, axes)
        if changes is None:
            return None
        inner: list[Expr] = []
        for old, new in zip(call.args, operands, strict=True):
            own = len(old.checked_type.shape)
            if new in self.moved:
                inner.append(self.moved[new][0])
            elif own == 0:
                inner.append(new)
            elif own == rank or isinstance(old, Constant):
                inner.append(_inverse(_expanded(new, own, rank), axes))
            else:
                return None
        result = _again(call, inner, changes)
        if len(call.checked_type.shape) != rank:
            return result if _keeps_order(call, axes) else None
        return self._back(result, axes)

    def _quantized_pair(self, call: Call, operands: Sequence[Expr], axes: Axes) -> Expr | None:
        """A sum or a product of two quantized tensors that are both transposed."""
        pair, attrs = operands[:2], call.attrs
        if not all(each in self.moved for each in pair):
            return None
        names = ("lhs_axis", "rhs_axis")
        changes = {name: axes[getattr(attrs, name) % len(axes)] for name in names}
        return self._back(_again(call, [*(self.moved[each][0] for each in pair), *operands[2:]], changes), axes)

    def _past_first(self, call: Call, operands: Sequence[Expr], axes: Axes) -> Expr | None:
        """An operator whose first operand alone has the order of the transpose, and whose results have the same."""
        data, *others = operands
        if data not in self.moved or any(each in self.moved for each in others):
            return None
        result = _again(call, [self.moved[data][0], *others], _FIRST[call.op.name](call, axes) or {})
        if isinstance(call.checked_type, TupleType):
            self.several[result] = axes
            return result
        return self._back(result, axes)

    def visit_tuple_getitem(self, op: TupleGetItem) -> Expr:
        new = super().visit_tuple_getitem(op)
        if not isinstance(new, TupleGetItem) or new.tuple_value not in self.several:
            return new
        axes = self.several[new.tuple_value]
        return self._back(new, axes) if len(op.checked_type.shape) == len(axes) else new

    def _bias(self, call: Call, operands: Sequence[Expr], axes: Axes) -> Expr | None:
        """A sum with the bias in the shape of the data."""
        data, bias = operands
        if data not in self.moved or bias in self.moved:
            return None
        rank = len(axes)
        axis = call.attrs.axis % rank  # pyright: ignore[reportAttributeAccessIssue]
        if axis + 1 < rank:
            bias = new_call("expand_dims", bias, axis=1, num_newaxis=rank - axis - 1)
        if axis:
            bias = new_call("expand_dims", bias, axis=0, num_newaxis=axis)
        result = new_call("add", self.moved[data][0], _inverse(bias, axes))
        result.location = call.location
        return self._back(result, axes)

    def _back(self, inner: Expr, axes: Axes) -> Expr:
        new = new_call("transpose", inner, axes=axes)
        self.moved[new] = (inner, axes)
        return new


def _again(call: Call, operands: Sequence[Expr], changes: dict[str, Any]) -> Call:
    if not changes and list(operands) == list(call.args):
        return call
    return call.with_args(operands, changes)


def _expanded(value: Expr, own: int, rank: int) -> Expr:
    """A tensor with as many axes as another one, to which it broadcasts."""
    return new_call("expand_dims", value, axis=0, num_newaxis=rank - own) if own < rank else value


def _inverse(value: Expr, axes: Axes) -> Expr:
    """A tensor in the order of the operand of a transpose."""
    return new_call("transpose", value, axes=tuple(axes.index(n) for n in range(len(axes))))


# Operators


def _layout(call: Call, axes: Axes) -> dict[str, Any]:
    """The layout of a pool on the operand of a transpose: its letters in the order of the operand."""
    layout = call.attrs.layout  # pyright: ignore[reportAttributeAccessIssue]
    changes = {"layout": "".join(layout[axes.index(n)] for n in range(len(axes)))}
    default = next(each.default for each in call.op.attributes if each.name == "layout")
    return changes if changes["layout"] != default or "layout" in call.attrs else {}


def _axis(call: Call, axes: Axes) -> dict[str, Any]:
    return {"axis": axes[call.attrs.axis % len(axes)]}  # pyright: ignore[reportAttributeAccessIssue]


def _reduced(call: Call, axes: Axes) -> dict[str, Any] | None:
    """The axes of a reduction on the operand of a transpose."""
    if call.attrs.axis is None:  # pyright: ignore[reportAttributeAccessIssue]
        return {}
    return {"axis": [axes[axis] for axis in _axes_of(call, len(axes))]}


def _axes_of(call: Call, rank: int) -> list[int]:
    """The axes that the attribute `axis` states, all without one."""
    axis = call.attrs.axis  # pyright: ignore[reportAttributeAccessIssue]
    given = range(rank) if axis is None else [axis] if isinstance(axis, int) else axis
    return [each % rank for each in given]


def _slice(call: Call, axes: Axes) -> dict[str, Any]:
    """The axes of a slice of the operand of a transpose."""
    attrs: Any = call.attrs
    given = range(len(attrs.begin)) if attrs.axes is None else attrs.axes
    return {"axes": [axes[axis % len(axes)] for axis in given]}


_RULES: dict[str, Callable[[Call, Axes], dict[str, Any] | None]] = {
    **{f"nn.{kind}_pool2d": _layout for kind in ("max", "avg", "global_max", "global_avg")},
    **{f"nn.adaptive_{kind}_pool2d": _layout for kind in ("max", "avg")},
    **dict.fromkeys(("concatenate", "nn.softmax", "nn.log_softmax"), _axis),
    "strided_slice": _slice,
    **dict.fromkeys(("sum", "mean", "max", "min", "prod"), _reduced),
}
"""Functions to the changes of attributes for the operand of a transpose, by the name of the operator."""


def _axis_list(call: Call, axes: Axes) -> dict[str, Any]:
    moved = [axes[axis] for axis in _axes_of(call, len(axes))]
    is_number = isinstance(call.attrs.axis, int)  # pyright: ignore[reportAttributeAccessIssue]
    return {"axis": moved[0] if is_number else moved}


_FIRST: dict[str, Callable[[Call, Axes], dict[str, Any] | None]] = {
    **dict.fromkeys(("nn.batch_norm", "nn.instance_norm", "nn.prelu"), _axis),
    **dict.fromkeys(("nn.l2_normalize", "nn.layer_norm"), _axis_list),
    "image.resize2d": _layout,
    **dict.fromkeys(("qnn.requantize", "qnn.quantize", "qnn.dequantize"), _axis),
    "split": _axis,
    "topk": _axis,
}
"""As `_RULES`, of operators whose other operands have an order of their own."""


def _changes(call: Call, axes: Axes) -> dict[str, Any] | None:
    """The changes of the attributes of an operator for the operand of a transpose, None if it depends on the order."""
    name = call.op.name
    if name in _RULES:
        return _RULES[name](call, axes)
    is_by_element = call.op.pattern in (Pattern.ELEMWISE, Pattern.BROADCAST)
    names = {each.name for each in call.op.attributes}
    return {} if is_by_element and not names & {"axis", "layout", "lhs_axis", "shape"} else None


def _keeps_order(call: Call, axes: Axes) -> bool:
    """Whether the axes that a reduction keeps are in the same order before and after a transpose."""
    if call.op.name not in _RULES or call.attrs.exclude:  # pyright: ignore[reportAttributeAccessIssue]
        return False
    reduced = _axes_of(call, len(axes))
    kept = [axes[n] for n in range(len(axes)) if n not in reduced]
    return kept == sorted(kept)

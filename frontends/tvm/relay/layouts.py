"""Conversion of operators on images to other layouts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ....core.errors import OptionError
from ....operators import OPERATORS
from ...relay.expr import Call, Expr, Function, operator_name
from ...relay.expr import call as new_call
from ...relay.functor import TypedMutator
from .layout_moves import move_transposes

_DATA = ("data_layout", "layout")
"""The names of the attribute that states the layout of the data."""
_LAYOUTS = (*_DATA, "kernel_layout", "out_layout")
"""The names of all attributes that state layouts."""


def convert_layouts(func: Function, desired: Mapping[str, Sequence[str]]) -> Function:
    """A graph whose operators named by `desired` compute in the layouts of data and weight that it states, between
    transposes.

    OptionError for an operator without layouts, and for a layout of other dimensions.
    """
    for name in desired:
        if name not in OPERATORS or not any(each.name in _DATA for each in OPERATORS[name].attributes):
            raise OptionError(f"ConvertLayout: {name!r} is no operator with a layout")
    converter = _Converter(desired)
    return move_transposes(converter.visit(func), converter.results)


class _Converter(TypedMutator):
    def __init__(self, desired: Mapping[str, Sequence[str]]):
        super().__init__()
        self.desired = desired
        self.results: set[Expr] = set()

    def visit_call(self, call: Call) -> Expr:
        new = super().visit_call(call)
        assert isinstance(new, Call)
        name = operator_name(call)
        if name is None or name not in self.desired:
            return new
        result = _converted(new, [str(each) for each in self.desired[name]])
        result.known_type = call.known_type
        self.results.add(result)
        return result


def _converted(call: Call, desired: Sequence[str]) -> Expr:
    """An operator in other layouts, between transposes. An operator in the desired ones is itself."""
    attributes = {each.name: each.default for each in call.op.attributes}
    values: dict[str, str] = {name: str(getattr(call.attrs, name)) for name in _LAYOUTS if name in attributes}
    data = next(name for name in _DATA if name in values)
    old, new = values[data], values[data] if desired[0] == "default" else desired[0]
    changed, args = {data: new}, list(call.args)
    args[0] = _transposed(args[0], old, new)
    if "kernel_layout" in values:
        wanted = (
            desired[1] if len(desired) > 1 and desired[1] != "default" else _weight(attributes["kernel_layout"], new)
        )
        args[1] = _transposed(args[1], values["kernel_layout"], wanted)
        changed["kernel_layout"] = wanted
    if values.get("out_layout"):
        changed["out_layout"] = new
    out = values.get("out_layout") or old
    if out == new and all(values[name] in ("", value) for name, value in changed.items()):
        return call
    return _transposed(call.with_args(args, changed), new, out)


def _weight(default: str, data: str) -> str:
    """The usual layout of weights beside a layout of the data: channels are last in both, or in none."""
    return f"{default[2:]}{default[1]}{default[0]}" if data.endswith("C") else default


def in_layout(expr: Expr, source: str, target: str) -> Expr:
    """A tensor in another layout: itself, a transpose, or a tensor with other blocks."""
    if source == target:
        return expr
    if source.isalpha() and sorted(source) == sorted(target):
        return new_call("transpose", expr, axes=[source.index(letter) for letter in target])
    return new_call("layout_transform", expr, src_layout=source, dst_layout=target)


def _transposed(expr: Expr, old: str, new: str) -> Expr:
    """An expression in layout `old` converted to layout `new`."""
    if sorted(old) != sorted(new):
        raise OptionError(f"ConvertLayout: layout {new} of a tensor in layout {old}, expected the same dimensions")
    return in_layout(expr, old, new)

"""Attributes that are known at run time, replaced by numbers where constants determine them: `DynamicToStatic`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...relay.adt import DynamicCall, expressions_in
from ...relay.expr import Constant, Expr, Function, TupleWrapper
from ...relay.functor import TypedMutator
from ...relay.inference import infer_types
from .folding import fold_constants


def make_static(functions: Mapping[str, Function]) -> dict[str, Function]:
    """Functions in which the attributes of operators are numbers wherever constants and known shapes determine them.
    The types of a round show the shapes that the next one needs."""
    current = dict(functions)
    while True:
        infer_types(current)
        mutator = _Static()
        current = {name: mutator.visit(each) for name, each in current.items()}
        if not mutator.has_changed:
            return current


class _Static(TypedMutator):
    def __init__(self) -> None:
        super().__init__()
        self.has_changed = False

    def visit_dynamic_call(self, call: DynamicCall) -> Expr:
        new = super().visit_dynamic_call(call)
        assert isinstance(new, DynamicCall)
        values = {name: _folded(new.arguments[name]) for name in new.attributes}
        if not all(isinstance(each, Constant) for value in values.values() for each in expressions_in(value)):
            return new
        self.has_changed = True
        static = new.function(**{**new.arguments, **{name: _plain(value) for name, value in values.items()}})
        return static.tuple_value if isinstance(static, TupleWrapper) else static


def _folded(value: Any) -> Any:
    """An argument whose expressions of constants are constants."""
    if isinstance(value, Expr):
        return fold_constants(value)
    if isinstance(value, list | tuple):
        return [_folded(each) for each in value]  # pyright: ignore[reportUnknownVariableType]
    return value


def _plain(value: Any) -> Any:
    """An argument with numbers and lists of numbers in place of constants."""
    if isinstance(value, Constant):
        return value.array.tolist()
    return [_plain(each) for each in value] if expressions_in(value) else value

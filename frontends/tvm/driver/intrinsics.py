"""Intrinsics with rules, in programs that are built."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ....core.errors import UnsupportedError
from ....expressions.errors import TeError
from ....expressions.expr import Call, PrimExpr, PureExternCall, as_expr
from ....expressions.intrinsic_names import PREFIX, IntrinsicName
from ..intrinsics import Rule, has_intrinsics, is_user_intrinsic, rules_of
from ..ir.module import IRModule, PrimFunc
from ..nodes.functor import ir_transform


def lower_intrinsics(mod: IRModule, kind: str) -> IRModule:
    """A module with the intrinsics that have rules for a kind of target replaced; the same module if none has one.

    TeError for an expression of another type than the intrinsic's; UnsupportedError for an intrinsic of a user's
    without a rule.
    """
    if not has_intrinsics():
        return mod
    rules = rules_of(kind)
    functions: dict[str, PrimFunc] = {}
    for name, func in mod.items():
        if isinstance(func, PrimFunc):
            body = func.body
            new = ir_transform(body, None, lambda node: _replacement(node, rules, kind))
            if new is not body:
                functions[name] = func.with_body(new)
    return IRModule(dict(mod.items()) | functions, mod.constants) if functions else mod


def _replacement(node: Any, rules: Mapping[str, Rule], kind: str) -> PrimExpr | None:
    call = _call(node)
    if call is None:
        return None
    name = IntrinsicName(call.op)
    if name.intrinsic not in rules:
        if isinstance(node, PureExternCall) and is_user_intrinsic(name.intrinsic):
            raise UnsupportedError(
                f"intrinsic {name.name}: no rule for target {kind}, expected register_intrin_lowering"
            )
        return None
    result = rules[name.intrinsic](call)
    if result is call:
        return None
    value = as_expr(result)
    if value.dtype != call.dtype:
        raise TeError(f"rule of {name.name} for target {kind}: an expression of {value.dtype}, expected {call.dtype}")
    return value


def _call(node: Any) -> Call | None:
    """A node as the call of an intrinsic."""
    if isinstance(node, PureExternCall) and node.name.startswith(PREFIX):
        return Call(node.dtype, node.name.removeprefix(PREFIX), node.args)
    return node if isinstance(node, Call) else None

"""The module `tvm.relay.analysis`."""

from __future__ import annotations

from typing import Any

from ....core.errors import OptionError
from ....operators import Operator
from ...relay.analysis import free_vars
from ...relay.expr import Expr, Function, Var
from ...relay.functor import post_order_visit
from ...relay.types import (
    FuncType,
    GlobalTypeVar,
    IncompleteType,
    TypeCall,
    TypeData,
    TypeKind,
    TypeRelation,
    TypeVar,
    type_parts,
    type_variables,
)
from ..absent import report_absent
from ..ir.module import IRModule
from .fake_quantization import operators_of_region

__getattr__ = report_absent("tvm.relay.analysis")


def all_vars(expr: Expr) -> list[Var]:
    """The variables of an expression, parameters among them, in the order of their first use."""
    return [node for node in _nodes(expr) if isinstance(node, Var)]


def bound_vars(expr: Expr) -> list[Var]:
    """The variables of an expression that are parameters, or bound by a `Let`."""
    free = set(free_vars(expr))
    return [variable for variable in all_vars(expr) if variable not in free]


def free_type_vars(expr: Any, mod: IRModule | None = None) -> list[TypeVar]:
    """The free variables of types in a type, or in the annotations of an expression, in the order of their first use.

    mod: ignored; types refer to no module.
    """
    bound = set(bound_type_vars(expr))
    return [each for each in all_type_vars(expr) if each not in bound]


def all_type_vars(expr: Any, mod: IRModule | None = None) -> list[TypeVar]:
    """The variables of types in a type, or in the annotations of an expression, in the order of their first use.

    mod: ignored, as of `free_type_vars`.
    """
    if not isinstance(expr, Expr):
        return type_variables(expr)
    found: dict[TypeVar, None] = {}
    functions = [node for node in _nodes(expr) if isinstance(node, Function)]
    found.update(dict.fromkeys(each for func in functions for each in func.type_params))
    for type in _annotations(expr):
        found.update(dict.fromkeys(type_variables(type)))
    return list(found)


def bound_type_vars(expr: Any, mod: IRModule | None = None) -> list[TypeVar]:
    """The variables of types that are parameters of functions, in the order of `all_type_vars`."""
    if not isinstance(expr, Expr):
        return type_variables(expr, only_bound=True)
    bound = {each for node in _nodes(expr) if isinstance(node, Function) for each in node.type_params}
    for type in _annotations(expr):
        bound.update(type_variables(type, only_bound=True))
    return [each for each in all_type_vars(expr) if each in bound]


def _annotations(expr: Expr) -> list[Any]:
    """The types that the user wrote in an expression."""
    nodes = _nodes(expr)
    written = [node.type_annotation if isinstance(node, Var) else getattr(node, "ret_type", None) for node in nodes]
    return [type for type in written if type is not None]


def check_kind(type: Any, mod: IRModule | None = None) -> TypeKind:
    """The kind of a type. OptionError for a type of another kind than its place expects.

    mod: the module with the data types of users.
    """
    for part, expected in _expected_kinds(type):
        kind = check_kind(part, mod)
        if kind != expected:
            raise OptionError(f"type {type}: {part} of kind {kind.name}, expected {expected.name}")
    match type:
        case TypeVar() | GlobalTypeVar() | IncompleteType():
            return TypeKind(type.kind)
        case TypeRelation():
            return TypeKind.Constraint
        case TypeData():
            return TypeKind.TypeData
        case TypeCall():
            data = None if mod is None else mod.type_definitions.get(type.func)
            if data is None or len(data.type_vars) != len(type.args):
                count = "no definition in the module" if data is None else f"{len(data.type_vars)} variables"
                raise OptionError(f"type {type} with {len(type.args)} arguments, which has {count}")
            return TypeKind.Type
        case _:
            return TypeKind.Type


def _expected_kinds(type: Any) -> list[tuple[Any, TypeKind]]:
    """The parts of a type, with the kinds that they must have."""
    match type:
        case FuncType():
            constraints = [(each, TypeKind.Constraint) for each in type.type_constraints]
            return [*((each, TypeKind.Type) for each in (*type.arg_types, type.ret_type)), *constraints]
        case TypeCall():
            return [(type.func, TypeKind.AdtHandle), *((each, TypeKind.Type) for each in type.args)]
        case TypeData():
            return [(type.header, TypeKind.AdtHandle), *((each, TypeKind.Type) for each in type.type_vars)]
        case _:
            return [(each, TypeKind.Type) for each in type_parts(type)]


def list_op_freqs(expr: Expr) -> dict[str, int]:
    """The number of calls of each operator, by its name."""
    counts: dict[str, int] = {}
    for node in _nodes(expr):
        if isinstance(getattr(node, "op", None), Operator):
            counts[node.op.name] = counts.get(node.op.name, 0) + 1
    return counts


def list_fake_quantized_op_freqs(mod: IRModule) -> dict[str, int]:
    """The number of calls of each operator between `qnn.dequantize` and `qnn.quantize`, by its name."""
    counts: dict[str, int] = {}
    for _, func in mod.items():
        for node in _nodes(func):
            if getattr(getattr(node, "op", None), "name", None) == "qnn.quantize":
                names = operators_of_region(node)
                for name in names if "qnn.dequantize" in names else ():
                    counts[name] = counts.get(name, 0) + (name != "qnn.dequantize")
    return {name: count for name, count in counts.items() if count}


def _nodes(expr: Expr) -> list[Any]:
    nodes: list[Any] = []
    post_order_visit(expr, nodes.append)
    return nodes


__all__ = [
    "all_type_vars",
    "all_vars",
    "bound_type_vars",
    "bound_vars",
    "check_kind",
    "free_type_vars",
    "free_vars",
    "list_fake_quantized_op_freqs",
    "list_op_freqs",
    "post_order_visit",
]

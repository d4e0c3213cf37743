"""The attributes of nodes in JSON, by the keys of their types: of graphs, types, and expressions of `tir`."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from ....expressions import axes, expr
from ....expressions.expr import OPERATORS, BinaryOp, Call, FloatImm, IntImm, SizeVar, StringImm
from ....expressions.expr import Var as NumberVar
from ....expressions.tensor import CommReducer, Reduce
from ...relay.expr import Function, GlobalVar, If, Let, RefCreate, RefRead, RefWrite, Tuple, TupleGetItem
from ...relay.types import (
    FuncType,
    GlobalTypeVar,
    IncompleteType,
    RefType,
    TensorType,
    TupleType,
    TypeCall,
    TypeVar,
)
from ..nodes import declarations
from ..nodes.expr import Broadcast, BufferLoad, PointerType, PrimType, Ramp, Shuffle
from ..nodes.expr import Let as LetExpr
from .node_graph import kind_of
from .span import Span


@dataclass(frozen=True)
class Form:
    """The attributes of the nodes of a class.

    nodes: those that are other nodes.  plain: those that are texts and numbers; the names of integers end in `#`, of
    floats in `%`, of texts in nodes of their own in `$`.  make: the constructor, by default the class.
    """

    cls: type
    nodes: str = ""
    plain: str = ""
    make: Callable[..., Any] | None = None

    def create(self, values: Mapping[str, Any]) -> Any:
        """The object with attributes."""
        return (self.make or self.cls)(**values)


class Bitwise(BinaryOp):
    """The operators of v0.27 on the bits of integers, which are calls here."""


_BITWISE = {"BitwiseAnd": "and", "BitwiseOr": "or", "BitwiseXor": "xor", "LShift": "shl", "RShift": "shr"}


def _bitwise(name: str) -> Callable[..., Any]:
    return lambda a, b: Call(a.dtype, name, (a, b))


def _reducer(**attributes: Any) -> CommReducer:
    return CommReducer("reducer", **{name: tuple(value) for name, value in attributes.items()})


_OPERATORS = {f"tir.{kind.__name__}": Form(kind, "a b") for kind in dict.fromkeys(OPERATORS.values())}
_EXPRESSIONS: Mapping[str, Form] = {
    **_OPERATORS,
    **{f"prim.{kind}": Form(Bitwise, "a b", "", _bitwise(name)) for kind, name in _BITWISE.items()},
    "prim.BitwiseNot": Form(Bitwise, "a", "", operator.invert),
    "tir.And": Form(expr.And, "a b"),
    "tir.Or": Form(expr.Or, "a b"),
    "tir.Not": Form(expr.Not, "a"),
    "tir.Select": Form(expr.Select, "condition true_value false_value"),
    "tir.Cast": Form(expr.Cast, "value", "dtype"),
    "tir.StringImm": Form(StringImm, "", "value$"),
    "tir.Let": Form(LetExpr, "var value body"),
    "tir.Ramp": Form(Ramp, "base stride lanes"),
    "tir.Broadcast": Form(Broadcast, "value lanes"),
    "tir.Shuffle": Form(Shuffle, "vectors indices"),
    "tir.BufferLoad": Form(BufferLoad, "buffer indices"),
    "tir.CommReducer": Form(CommReducer, "lhs rhs result identity_element", "", _reducer),
    "tir.Reduce": Form(Reduce, "combiner source axis condition init", "value_index#"),
    "tir.IterVar": Form(axes.IterVar, "dom var", "iter_type# thread_tag$", declarations.IterVar),
    "tir.Var": Form(NumberVar, "", "name$ dtype"),
    "tir.SizeVar": Form(SizeVar, "", "name$ dtype"),
    "IntImm": Form(IntImm, "", "value# dtype"),
    "FloatImm": Form(FloatImm, "", "value% dtype"),
    "Range": Form(axes.Range, "min extent"),
    "PrimType": Form(PrimType, "", "dtype"),
    "PointerType": Form(PointerType, "element_type", "storage_scope$"),
}
"""The nodes of expressions, which have a place in a text, `span`; numbers also have a data type, `dtype`."""
_GRAPHS: Mapping[str, Form] = {
    "relay.Tuple": Form(Tuple, "fields"),
    "relay.TupleGetItem": Form(TupleGetItem, "tuple_value", "index#"),
    "relay.Let": Form(Let, "var value body"),
    "relay.If": Form(If, "cond true_branch false_branch"),
    "relay.Function": Form(Function, "params body ret_type type_params attrs"),
    "relay.RefCreate": Form(RefCreate, "value"),
    "relay.RefRead": Form(RefRead, "ref"),
    "relay.RefWrite": Form(RefWrite, "ref value"),
    "GlobalVar": Form(GlobalVar, "", "name_hint"),
    "relay.TensorType": Form(TensorType, "shape", "dtype"),
    "TupleType": Form(TupleType, "fields"),
    "FuncType": Form(FuncType, "arg_types ret_type type_params type_constraints"),
    "TypeVar": Form(TypeVar, "", "name_hint kind#"),
    "GlobalTypeVar": Form(GlobalTypeVar, "", "name_hint kind#"),
    "IncompleteType": Form(IncompleteType, "", "kind#"),
    "relay.TypeCall": Form(TypeCall, "func args"),
    "relay.RefType": Form(RefType, "value"),
    "Span": Form(Span, "source_name", "line# end_line# column# end_column#"),
}
FORMS: Mapping[str, Form] = {**_GRAPHS, **_EXPRESSIONS}
"""The forms by the keys of v0.16."""
FORMS_BY_KIND = {kind_of(key): form for key, form in FORMS.items()}
"""The forms by the kinds of `Node`."""


def key_of(node: object) -> str | None:
    """The key of a class with a form, None for another object."""
    cls = axes.Range if isinstance(node, axes.Range) else type(node)
    return next((key for key, form in FORMS.items() if cls is form.cls), None)


def is_expression(key: str) -> bool:
    """Whether the nodes of a key are expressions, or parts of them."""
    return key in _EXPRESSIONS


def is_operator(cls: type) -> bool:
    """Whether a class has two operands of one type."""
    return issubclass(cls, BinaryOp)


__all__ = ["FORMS", "FORMS_BY_KIND", "Form", "is_expression", "is_operator", "key_of"]

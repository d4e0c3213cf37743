"""Visitors and transformers of types."""

from __future__ import annotations

from typing import Any

from ...core.errors import OptionError
from .types import (
    FuncType,
    GlobalTypeVar,
    IncompleteType,
    RefType,
    TensorType,
    TupleType,
    TypeCall,
    TypeData,
    TypeRelation,
    TypeVar,
    type_parts,
)

_METHODS: dict[type, str] = {
    TypeVar: "visit_type_var",
    IncompleteType: "visit_incomplete_type",
    TensorType: "visit_tensor_type",
    FuncType: "visit_func_type",
    TupleType: "visit_tuple_type",
    TypeRelation: "visit_type_relation",
    RefType: "visit_ref_type",
    GlobalTypeVar: "visit_global_type_var",
    TypeCall: "visit_type_call",
    TypeData: "visit_type_data",
}


class TypeFunctor:
    """Calls a method for the class of a type: `visit_tensor_type`, `visit_func_type`, ..."""

    def visit(self, typ: Any) -> Any:
        """The result of the method of the class of `typ`. OptionError for a value that is no type."""
        name = _METHODS.get(type(typ))
        if name is None:
            raise OptionError(f"visit: {typ!r}, expected a type")
        return getattr(self, name)(typ)

    def visit_default(self, typ: Any) -> Any:
        """The result for a type whose class has no method of its own."""
        raise NotImplementedError

    def __getattr__(self, name: str) -> Any:
        if name in _METHODS.values():
            return self.visit_default
        raise AttributeError(name)


class TypeVisitor(TypeFunctor):
    """Visits every type of which a type consists."""

    def visit_default(self, typ: Any) -> Any:
        for part in type_parts(typ):
            self.visit(part)


class TypeMutator(TypeFunctor):
    """Rebuilds a type from the types of which it consists."""

    def visit_default(self, typ: Any) -> Any:
        match typ:
            case TupleType():
                return TupleType(self._all(typ.fields))
            case FuncType():
                variables, constraints = self._all(typ.type_params), self._all(typ.type_constraints)
                result = None if typ.ret_type is None else self.visit(typ.ret_type)
                return FuncType(self._all(typ.arg_types), result, variables, constraints)
            case TypeCall():
                return TypeCall(self.visit(typ.func), self._all(typ.args))
            case RefType():
                return RefType(self.visit(typ.value))
            case TypeRelation():
                return TypeRelation(typ.func, self._all(typ.args), typ.num_inputs, typ.attrs)
            case TypeData():
                return TypeData(self.visit(typ.header), self._all(typ.type_vars), typ.constructors)
            case _:
                return typ

    def _all(self, types: Any) -> list[Any]:
        return [self.visit(each) for each in types]


__all__ = ["TypeFunctor", "TypeMutator", "TypeVisitor"]

"""Operations of expressions, and the types of their values."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from xdsl.dialects.builtin import TupleType
from xdsl.ir import Attribute, Block, SSAValue

from ....core.errors import ArgumentError
from ....operators import relax
from ....operators.relax.types import known_dtype, known_rank, names_in, shape, tensor, tuple_type
from ....operators.relay import RelayBuilder

if TYPE_CHECKING:
    from .expr import Expr, Var


class Writer(RelayBuilder):
    """Inserts the operations of expressions into a block.

    values: the values of variables.  functions: those of the module, by name.  stated: values with the devices that
    types state for them.
    """

    def __init__(
        self,
        block: Block,
        constants: dict[str, Any] | None = None,
        values: Mapping[Var, SSAValue] | None = None,
        functions: Mapping[str, Any] | None = None,
    ):
        super().__init__(block, constants)
        self.values = dict(values or {})
        self.functions = functions or {}
        self.stated: list[tuple[SSAValue, str]] = []

    def inside(self, block: Block) -> Writer:
        """A writer of a nested block, which knows the variables of this one."""
        writer = type(self)(block, self.constants, self.values, self.functions)
        writer.stated, writer.size_names = self.stated, self.size_names
        return writer

    def value_of(self, var: Var) -> SSAValue:
        """The value of a variable. ArgumentError for a variable without a value."""
        if var not in self.values:
            raise unknown_variable(var)
        return self.values[var]

    def field(self, value: SSAValue, index: int) -> SSAValue:
        """A field of a tuple. ArgumentError for a value without such a field."""
        if isinstance(value.owner, relax.TupleOp) and 0 <= index < len(value.owner.values):
            return value.owner.values[index]
        try:
            return self.insert(relax.TupleGetOp(value, index)).output
        except (AttributeError, IndexError):
            raise ArgumentError(f"field {index} of a value of type {value.type}") from None


def unknown_variable(var: Var) -> ArgumentError:
    """The error for a variable that has no value at the place of its use."""
    return ArgumentError(
        f"{var.name_hint} has no value here, expected a parameter of the function, a result of emit in its "
        "region, or a result of emit_output"
    )


class _TypeWriter(Writer):
    """Writes operations for their types: a variable without a value stands for any value of its type."""

    def value_of(self, var: Var) -> SSAValue:
        if var not in self.values:
            self.values[var] = Block(arg_types=[var.struct_info.type]).args[0]
        return self.values[var]


def type_of_expr(expr: Expr, functions: Mapping[str, Any] | None = None) -> Attribute:
    """The type of the value of an expression. functions: those of the module, by name. Raises the errors of operators
    that do not fit their operands."""
    block = Block()
    writer = _TypeWriter(block, functions=functions)
    type = expr.emit(writer).type
    given = {name for value in writer.values.values() for name in names_in(value.type)}
    casts = [op.output.type for op in block.ops if isinstance(op, relax.MatchCastOp)]
    return _without({name for each in casts for name in names_in(each)} - given, type)


def _without(names: set[str], type: Attribute) -> Attribute:
    """A type without the shapes that contain names, which denote sizes of casts of operands."""
    if names.isdisjoint(names_in(type)):
        return type
    match type:
        case TupleType():
            return tuple_type([_without(names, each) for each in type.types.data])
        case relax.ShapeType():
            return shape(None, known_rank(type))
        case _:
            return tensor(None, known_dtype(type), known_rank(type))

"""Expressions of programs as in `tvm.relax`. A `BlockBuilder` inserts the operations that they denote."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np
from xdsl.ir import SSAValue

from ....core.arrays import plain_array
from ....core.dtypes import numpy_dtype
from ....core.errors import ArgumentError
from ....expressions.expr import PrimExpr
from ....operators import relax
from ....operators.relax.spelling import all_words, build_word
from ....operators.relax.types import prim, shape
from ....operators.relay import RelayBuilder
from ...relay.expr import GlobalVar
from .struct_info import StructInfo, output_type, size_of

Emission: TypeAlias = Callable[[RelayBuilder], SSAValue]
"""Inserts the operations of an expression; returns its value."""


class Expr:
    """An expression. emission: of its operations."""

    def __init__(self, emission: Emission):
        self.emission = emission

    def emit(self, builder: RelayBuilder) -> SSAValue:
        """Inserts the operations of the expression; returns its value."""
        return self.emission(builder)

    def __getitem__(self, index: int) -> Expr:
        return TupleGetItem(self, index)

    def __add__(self, other: Any) -> Expr:
        return op.add(self, other)

    def __sub__(self, other: Any) -> Expr:
        return op.subtract(self, other)

    def __mul__(self, other: Any) -> Expr:
        return op.multiply(self, other)

    def __truediv__(self, other: Any) -> Expr:
        return op.divide(self, other)


class Var(Expr):
    """A variable: a parameter, or a value that a builder has emitted."""

    def __init__(self, name_hint: str, struct_info: StructInfo):
        super().__init__(self._read)
        self.name_hint = name_hint
        self.struct_info = struct_info
        self.value: SSAValue | None = None

    def _read(self, _builder: RelayBuilder) -> SSAValue:
        if self.value is None:
            raise ArgumentError(
                f"{self.name_hint} has no value here, expected a parameter of the function, a result of emit in its "
                "region, or a result of emit_output"
            )
        return self.value

    def __repr__(self) -> str:
        return self.name_hint


def emit_operand(builder: RelayBuilder, value: Any) -> SSAValue:
    """The value of an operand: an expression, a list of expressions as a tuple, a size or a number."""
    match value:
        case Expr():
            return value.emit(builder)
        case list() | tuple():
            return Tuple(value).emit(builder)  # pyright: ignore[reportUnknownArgumentType]
        case PrimExpr() | int() | float():
            return PrimValue(value).emit(builder)
        case str():
            return StringImm(value).emit(builder)
        case _:
            raise ArgumentError(f"a value of type {type(value).__name__}, expected an expression of relax")


def _emission(make: Callable[[RelayBuilder], Any]) -> Expr:
    return Expr(lambda builder: builder.insert(make(builder)).results[0])


# Values


def const(value: Any, dtype: str | None = None) -> Expr:
    """A constant tensor. dtype: by default that of an array, int32 or float32 for numbers of Python."""
    array = plain_array(value)
    if dtype is None and not hasattr(value, "dtype"):
        dtype = "bool" if array.dtype == bool else "int32" if array.dtype.kind in "iu" else "float32"
    array = np.asarray(array, None if dtype is None else numpy_dtype(dtype))
    return Expr(lambda builder: builder.constant(array, "const"))


def PrimValue(value: Any) -> Expr:
    """A number, or a size."""
    known = value if isinstance(value, float) else size_of(value)
    return _emission(lambda _: relax.PrimValueOp(prim(known)))


def StringImm(value: str) -> Expr:
    """A text, an argument of packed functions."""
    return _emission(lambda _: relax.StringOp(value))


def ShapeExpr(values: Sequence[Any]) -> Expr:
    """A shape of sizes."""
    return _emission(lambda _: relax.ShapeOp(shape([size_of(each) for each in values])))


def Tuple(fields: Sequence[Any]) -> Expr:
    """A tuple of values."""
    return _emission(lambda builder: relax.TupleOp([emit_operand(builder, each) for each in fields]))


def TupleGetItem(tuple_value: Expr, index: int) -> Expr:
    """A field of a tuple."""
    return _emission(lambda builder: relax.TupleGetOp(tuple_value.emit(builder), index))


# Calls


def _args(args: Any) -> list[Any]:
    return list(args) if isinstance(args, list | tuple) else [args]  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]


def call_tir(
    gvar: GlobalVar, args: Any, out_sinfo: StructInfo | Sequence[StructInfo], tir_vars: Sequence[Any] | None = None
) -> Expr:
    """The results of a kernel of the module. tir_vars: the numbers that follow its tensors."""
    type, numbers = output_type(out_sinfo), [str(size_of(each)) for each in tir_vars or ()]

    def make(builder: RelayBuilder) -> relax.CallTirOp:
        return relax.CallTirOp(gvar.name_hint, [emit_operand(builder, each) for each in _args(args)], type, numbers)

    return _emission(make)


def call_dps_packed(func: str, args: Any, out_sinfo: StructInfo | Sequence[StructInfo]) -> Expr:
    """The results of a packed function in destination-passing style."""
    type = output_type(out_sinfo)
    return _emission(
        lambda builder: relax.CallDpsPackedOp(func, [emit_operand(builder, each) for each in _args(args)], type)
    )


def call_packed(func: str, *args: Any, sinfo_args: StructInfo | Sequence[StructInfo]) -> Expr:
    """The result of a packed function, which may have side effects."""
    type = output_type(sinfo_args)
    return _emission(lambda builder: relax.CallPackedOp(func, [emit_operand(builder, each) for each in args], type))


def call_pure_packed(func: str, *args: Any, sinfo_args: StructInfo | Sequence[StructInfo]) -> Expr:
    """The result of a packed function without side effects."""
    type = output_type(sinfo_args)
    return _emission(lambda builder: relax.CallPurePackedOp(func, [emit_operand(builder, each) for each in args], type))


# Operators


class Words:
    """The operators under the names of TVMScript, `op.add(x, y)`, `op.nn.softmax(x, axis=1)`, and the calls above."""

    def __init__(self, path: str = ""):
        self._path = path

    def __getattr__(self, name: str) -> Any:
        path = f"{self._path}.{name}" if self._path else name
        if path in _CALLS:
            return _CALLS[path]
        if not any(word == path or word.startswith(f"{path}.") for word in all_words()):
            raise AttributeError(f"relax.op has no operator {path!r}")
        return Words(path)

    def __call__(self, *args: Any, **attributes: Any) -> Expr:
        """The results of the operator: a tensor, or a tuple of several. Errors of the operands are raised by `emit`."""

        def emit(builder: RelayBuilder) -> SSAValue:
            values = [_argument(builder, each) for each in args]
            named = {name: _argument(builder, each) for name, each in attributes.items()}
            results = build_word(builder, self._path, values, named)
            return results[0] if len(results) == 1 else builder.insert(relax.TupleOp(results)).output

        return Expr(emit)


def _argument(builder: RelayBuilder, value: Any) -> Any:
    """An argument of an operator: a tensor, a list of tensors, or the value of an attribute."""
    match value:
        case Expr():
            return value.emit(builder)
        case PrimExpr():
            return size_of(value)
        case list() | tuple():
            return [_argument(builder, each) for each in value]  # pyright: ignore[reportUnknownVariableType]
        case _:
            return value


_CALLS: dict[str, Any] = {
    "call_dps_packed": call_dps_packed,
    "call_pure_packed": call_pure_packed,
    "call_tir": call_tir,
}

op = Words()

__all__ = [
    "Expr", "GlobalVar", "PrimValue", "ShapeExpr", "StringImm", "Tuple", "TupleGetItem", "Var", "call_dps_packed",
    "call_packed", "call_pure_packed", "call_tir", "const", "op",
]  # fmt: skip

"""The signatures of the functions of an upstream module: parameters and written buffers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

from xdsl.dialects import arith, func, llvm, memref, vector
from xdsl.dialects.builtin import DictionaryAttr, MemRefType, StringAttr, UnrealizedConversionCastOp
from xdsl.dialects.llvm import LLVMPointerType
from xdsl.ir import Attribute, SSAValue, Use

from ...core.dtypes import dtype_of, parse_dtype
from ...core.errors import UnsupportedError
from ...dialects.attributes import NOALIAS, PACKED, PARAMETER_DTYPE, PARAMETER_NAME, READ_ONLY
from ..runtime.signature import (
    BufferParameter,
    FunctionSignature,
    HandleParameter,
    PackedSignature,
    RuntimeParameter,
    ScalarParameter,
)
from .types import layout_of

Lookup = Callable[[str], func.FuncOp]

_VIEWS = (
    memref.SubviewOp,
    memref.CastOp,
    memref.ReinterpretCastOp,
    memref.ViewOp,
    memref.MemorySpaceCastOp,
    memref.ExtractStridedMetaDataOp,
    memref.ExtractAlignedPointerAsIndexOp,
    UnrealizedConversionCastOp,
    arith.AddiOp,
    arith.BitcastOp,
    arith.IndexCastOp,
    arith.SelectOp,
    llvm.IntToPtrOp,
    llvm.PtrToIntOp,
)
_READERS = (memref.LoadOp, memref.DimOp, memref.RankOp, vector.LoadOp, vector.MaskedLoadOp)


def function_signature(function: func.FuncOp, lookup: Lookup) -> FunctionSignature:
    """The signature of a public function. `lookup`: the functions it may call, by name."""
    name = function.sym_name.data
    written = MemRefWrites(lookup)
    parameters = tuple(
        _parameter(type, attributes, index, name, written.writes(function, index))
        for index, (type, attributes) in enumerate(_inputs(function))
    )
    return FunctionSignature(name, parameters, _result(function), NOALIAS in function.attributes)


def packed_signature(declaration: func.FuncOp) -> PackedSignature:
    """The signature of a declaration with `stepwell.packed`."""
    name = declaration.attributes[PACKED]
    if not isinstance(name, StringAttr):
        raise UnsupportedError(f"{declaration.sym_name.data}: {PACKED} must be a string, got {name}")
    parameters = tuple(
        _parameter(type, attributes, index, name.data, True)
        for index, (type, attributes) in enumerate(_inputs(declaration))
    )
    return PackedSignature(name.data, parameters, _result(declaration))


def argument_dtype(function: func.FuncOp, index: int) -> str | None:
    """The data type in the attributes of an argument."""
    return _text(_inputs(function)[index][1], PARAMETER_DTYPE)


def _inputs(function: func.FuncOp) -> list[tuple[Attribute, DictionaryAttr | None]]:
    types = list(function.function_type.inputs)
    attributes = function.arg_attrs
    return list(zip(types, attributes or [None] * len(types), strict=True))


def _text(attributes: DictionaryAttr | None, key: str) -> str | None:
    value = attributes.data.get(key) if attributes is not None else None
    return value.data if isinstance(value, StringAttr) else None


def _result(function: func.FuncOp) -> str | None:
    outputs = function.function_type.outputs.data
    if len(outputs) > 1:
        raise UnsupportedError(f"{function.sym_name.data}: at most one result can be returned, got {len(outputs)}")
    if not outputs:
        return None
    attributes = function.res_attrs
    declared = _text(attributes.data[0] if attributes else None, PARAMETER_DTYPE)
    return "handle" if isinstance(outputs[0], LLVMPointerType) else _dtype(outputs[0], declared, function.sym_name.data)


def _parameter(
    type: Attribute, attributes: DictionaryAttr | None, index: int, function: str, written: bool
) -> RuntimeParameter:
    name = _text(attributes, PARAMETER_NAME) or f"arg{index}"
    declared = _text(attributes, PARAMETER_DTYPE)
    if isinstance(type, LLVMPointerType):
        return HandleParameter(name)
    if not isinstance(type, MemRefType):
        return ScalarParameter(name, _dtype(type, declared, f"{function}: {name}"))
    layout = layout_of(type)
    element = cast(Attribute, type.element_type)
    dtype = "uint64" if isinstance(element, LLVMPointerType) else _dtype(element, declared, f"{function}: {name}")
    strides = None if layout.identity else layout.strides
    return BufferParameter(name, dtype, layout.shape, strides, layout.offset or 0, written)


def _dtype(type: Attribute, declared: str | None, where: str) -> str:
    try:
        known = dtype_of(type)
    except ValueError as error:
        raise UnsupportedError(f"{where}: {error}") from error
    if known.lanes != 1:
        raise UnsupportedError(f"{where}: a vector cannot be passed, got {type}")
    if declared is None:
        return known.name
    if parse_dtype(declared).bits != known.bits:
        raise UnsupportedError(f"{where}: {PARAMETER_DTYPE} is {declared}, but the type is {type}")
    return declared


class MemRefWrites:
    """The buffer arguments that a function may write. Unsupported uses count as writes."""

    def __init__(self, lookup: Lookup) -> None:
        self._lookup = lookup
        self._known: dict[tuple[str, int], bool] = {}

    def writes(self, function: func.FuncOp, index: int) -> bool:
        """Whether argument `index` of `function` may be written."""
        key = (function.sym_name.data, index)
        if key not in self._known:
            self._known[key] = True  # the answer for recursive calls
            self._known[key] = (
                self._of_declaration(function, index) if function.is_declaration else self._value(function.args[index])
            )
        return self._known[key]

    def _of_declaration(self, declaration: func.FuncOp, index: int) -> bool:
        attributes = _inputs(declaration)[index][1]
        return attributes is None or READ_ONLY not in attributes.data

    def _value(self, value: SSAValue) -> bool:
        return any(self._use(use) for use in value.uses)

    def _use(self, use: Use) -> bool:
        op = use.operation
        match op:
            case memref.CopyOp():
                return use.index == 1
            case func.CallOp():
                return self.writes(self._lookup(op.callee.string_value()), use.index)
            case _ if isinstance(op, _READERS) or READ_ONLY in op.attributes:
                return False
            case _ if isinstance(op, _VIEWS):
                return any(self._value(cast(Any, result)) for result in op.results)
            case _:
                return True

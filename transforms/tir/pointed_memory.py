"""The buffers and the positions of pointers that builtins take."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod

from xdsl.ir import SSAValue
from xdsl.rewriter import InsertPoint

from ...analysis.names import memory_name
from ...core.diagnostics import unsupported_op_error
from ...dialects.tir import (
    AccessPtrOp,
    AddressOfOp,
    AllocateOp,
    BufferDataOp,
    CallIntrinOp,
    DeclBufferOp,
    HandleType,
    LetOp,
    MatchBufferOp,
    Mixed,
    ReinterpretOp,
    TirBuilder,
    memory_space,
)
from ...dialects.tir.base import memref_type
from ...dialects.tir.copying import copy_expression
from .layouts import Layouts


class PointedMemory:
    """The memory that pointers refer to. Allocated memory without a buffer gets a buffer of one dimension."""

    def __init__(self) -> None:
        self._flat: dict[SSAValue, SSAValue] = {}

    def place(
        self, op: CallIntrinOp, pointer: SSAValue, builder: TirBuilder, known: Mapping[SSAValue, SSAValue]
    ) -> tuple[SSAValue, SSAValue]:
        """The buffer that a pointer points into, and the position there, in elements. known: the values that the
        position has in place of others. UnsupportedError for a pointer of unknown memory."""
        offsets: list[SSAValue] = []
        element = pointer.type.element if isinstance(pointer.type, HandleType) else None
        while isinstance(inner := pointer.owner, AccessPtrOp | LetOp | ReinterpretOp):
            if isinstance(inner, AccessPtrOp):
                offsets.append(inner.offset)
                pointer = inner.data
            else:
                pointer = inner.value
        indices: list[SSAValue] = []
        match inner:
            case BufferDataOp():
                memory = inner.buffer
            case AddressOfOp():
                memory, indices = inner.buffer, list(inner.indices)
            case _ if isinstance(pointer.type, HandleType) and isinstance(inner, AllocateOp):
                memory = self.buffer(op, pointer)
            case _:
                memory = _only_view(op, pointer)
        if element is not None and offsets and element != memref_type(memory).element_type:
            got, expected = element, memref_type(memory).element_type
            raise unsupported_op_error(op, f"T.{op.intrinsic.data}: an address of {got} in memory of {expected}")
        copies = dict(known)
        indices = [copy_expression(index, builder, copies) if known else index for index in indices]
        offsets = [copy_expression(offset, builder, copies) if known else offset for offset in offsets]
        layouts = Layouts(builder)
        total: Mixed = layouts.position(memory, indices) if indices else 0
        for offset in offsets:
            total = layouts.add(total, offset) if total != 0 else offset
        return memory, builder.cast(builder.value(total), "int64")

    def buffer(self, op: CallIntrinOp, pointer: SSAValue) -> SSAValue:
        """The buffer of one dimension that is declared over allocated memory."""
        alloc = pointer.owner
        if not isinstance(alloc, AllocateOp) or not all(isinstance(n, int) for n in alloc.mixed_extents):
            raise unsupported_op_error(
                op, f"T.{op.intrinsic.data}: {memory_name(pointer)} has no shape, expected memory of static size"
            )
        if pointer not in self._flat:
            type = alloc.pointer.type
            size = prod(n for n in alloc.mixed_extents if isinstance(n, int))
            space = memory_space(type.scope.data or "global")
            declared = DeclBufferOp(alloc.var_name.data, pointer, type.element, [size], space=space)
            self._flat[pointer] = TirBuilder(InsertPoint.after(alloc), alloc.location).insert(declared).buffer
        return self._flat[pointer]


def _only_view(op: CallIntrinOp, pointer: SSAValue) -> SSAValue:
    """The only buffer that is declared over a pointer."""
    views = [use.operation for use in pointer.uses if isinstance(use.operation, DeclBufferOp | MatchBufferOp)]
    if len(views) != 1:
        raise unsupported_op_error(
            op, f"T.{op.intrinsic.data}: {memory_name(pointer)} has no shape, expected the address of a buffer"
        )
    return views[0].buffer

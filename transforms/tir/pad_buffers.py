"""The pass `tir-pad-buffers`."""

from __future__ import annotations

from xdsl.context import Context
from xdsl.dialects.builtin import ArrayAttr, IntegerAttr, MemRefType, ModuleOp
from xdsl.passes import ModulePass
from xdsl.rewriter import Rewriter

from ...core.remarks import PassRemarks
from ...core.walking import find_ops
from ...dialects.attributes import ALIGNED_STRIDES
from ...dialects.tir import AllocBufferOp, FuncOp, LoadOp, StoreOp, scope_of
from .preconditions import report_blocks

_remarks = PassRemarks("tir-pad-buffers")


class TirPadBuffersPass(ModulePass):
    """Pads rows of shared memory as `storage_align` requires, so that accesses of threads fall into different banks.

    A dimension with an alignment (factor, offset) gets a stride `offset` above a multiple of `factor`, by unused
    elements in the next dimension. The stride is unchanged where no number of elements yields such a stride: for the
    last dimension, whose stride is 1, and where a divisor of the next stride forbids it.

    Before
        %S = tir.alloc_buffer "S" attributes {stepwell.aligned = [[2, 32, 1]]} : memref<8x32xf32, "shared">

    After
        %S = tir.alloc_buffer "S" : memref<8x33xf32, "shared">

    Must hold before: no tir.block; the attribute comes from `tir-resolve-blocks`, with three integers for each
    alignment: its dimension, counted from the last, factor and offset. Shared memory has its final extents
    (`tir-compact-buffers`).

    Gone after: the attribute.
    """

    name = "tir-pad-buffers"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in find_ops(op, FuncOp):
            report_blocks(_remarks, function)
        for alloc in list(find_ops(op, AllocBufferOp)):
            rows = alloc.attributes.pop(ALIGNED_STRIDES, None)
            if isinstance(rows, ArrayAttr) and (scope_of(alloc.type) or "").startswith("shared"):
                _pad(alloc, [_numbers(row) for row in rows.data])  # pyright: ignore[reportUnknownVariableType, reportUnknownMemberType, reportUnknownArgumentType]


def _numbers(row: ArrayAttr[IntegerAttr]) -> tuple[int, int, int]:
    dimension, factor, offset = (number.value.data for number in row.data)
    return dimension, factor, offset


def _pad(alloc: AllocBufferOp, rows: list[tuple[int, int, int]]) -> None:
    name, extents = alloc.buffer_name.data, [n for n in alloc.mixed_shape if isinstance(n, int)]
    users = [use.operation for use in alloc.buffer.uses]
    if len(extents) != len(alloc.mixed_shape) or alloc.mixed_strides is not None:
        _remarks.missed(alloc, lambda: f"buffer {name} keeps its shape: it has dynamic extents or strides")
        return
    if not all(isinstance(user, LoadOp | StoreOp) for user in users):
        _remarks.missed(alloc, lambda: f"buffer {name} keeps its shape: it has uses that are no loads and stores")
        return
    old = _size(extents)
    stride = 1
    alignments = {dimension: (factor, offset) for dimension, factor, offset in rows}
    for n in range(len(extents) - 1, 0, -1):
        factor, offset = alignments.get(len(extents) - n + 1, (1, 0))  # of the preceding dimension
        longer = range(extents[n], extents[n] + factor)
        extents[n] = next((e for e in longer if (e * stride - offset) % factor == 0), extents[n])
        stride *= extents[n]
    type = alloc.type
    padded = MemRefType(type.element_type, extents, type.layout, type.memory_space)
    Rewriter.replace_value_with_new_type(alloc.buffer, padded)
    _remarks.applied(alloc, lambda: f"buffer {name} grows from {old} to {_size(extents)} elements")


def _size(extents: list[int]) -> str:
    """The extents of a buffer: `8x33`."""
    return "x".join(map(str, extents))

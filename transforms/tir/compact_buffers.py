"""The pass `tir-compact-buffers`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import arith, vector
from xdsl.dialects.builtin import ModuleOp, VectorType
from xdsl.ir import Attribute, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint

from ...analysis.index import Analyzer, Lin, export
from ...analysis.regions import IndexRange, required_region, shape_sides, touched_box
from ...core.dtypes import dtype_of
from ...core.remarks import PassRemarks
from ...core.walking import find_ops
from ...dialects.tir import AccessOp, AllocBufferOp, FuncOp, LoadOp, RampOp, StoreOp, SymbolOp, TirBuilder, scope_of
from ...dialects.tir.operands import redirect_access
from ...dialects.tir.tree import erase_if_dead
from .allocations import sink_allocation

_remarks = PassRemarks("tir-compact-buffers")

MOST_FOR_SYMBOLIC = 2**16
"""The exclusive maximum of constant extents that replace symbolic ones. Tiles are smaller; a larger bound is the range
of a data type, and says nothing of the size."""


@dataclass(frozen=True)
class TirCompactBuffersPass(ModulePass):
    """Shrinks allocations to the box of elements that each execution of the enclosing region uses.

    Each allocation first moves to the innermost region around its uses where that is legal (`tir-plan-allocations`
    states when). Its extents become the extents of the smallest box around its loads and stores, and indices are
    relative to the lower corner of the box. Indices that are vectors of lanes (ramps, and quotients and remainders
    of ramps) count with all their lanes, and with those of the mask only. A dimension in which the box has no known
    extent keeps its extent, and so does a dimension of symbolic extent in which the box has 65,536 elements or
    more.

    scopes: the scopes (memory spaces) of the buffers to shrink; all by default.

    Before
        %s = tir.alloc_buffer "S" : memref<64xf32, "shared">
        tir.for serial "k" %k : i32 in [0 +: 8] {
          tir.for serial "i" %i : i32 in [0 +: 8] {
            tir.store %x, %s[%k * 8 + %i] : memref<64xf32, "shared">
          }
          ...
        }

    After
        tir.for serial "k" %k : i32 in [0 +: 8] {
          %s = tir.alloc_buffer "S" : memref<8xf32, "shared">
          tir.for serial "i" %i : i32 in [0 +: 8] {
            tir.store %x, %s[%i] : memref<8xf32, "shared">
          }
          ...
        }

    Must hold before: no tir.block (`tir-resolve-blocks`). Buffers with strides, or with uses other than loads and
    stores, stay as they are.

    Gone after: nothing.
    """

    name = "tir-compact-buffers"

    scopes: tuple[str, ...] = ()

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for alloc in [a for f in op.body.block.ops if isinstance(f, FuncOp) for a in find_ops(f, AllocBufferOp)]:
            if not self.scopes or scope_of(alloc.type) in self.scopes:
                users = [use.operation for use in alloc.buffer.uses]
                if users and alloc.mixed_strides is None and all(isinstance(u, LoadOp | StoreOp) for u in users):
                    analyzer = Analyzer()
                    sink_allocation(alloc, analyzer)
                    _compact(analyzer, alloc, [u for u in users if isinstance(u, LoadOp | StoreOp)])
                elif any(isinstance(user, AccessOp) for user in users):
                    _keep(alloc, "blocks access it, run tir-resolve-blocks first")
                elif users:
                    _keep(alloc, "it has strides, or uses that are no loads and stores")


def _keep(alloc: AllocBufferOp, reason: str) -> None:
    _remarks.missed(alloc, lambda: f"buffer {alloc.buffer_name.data} keeps its shape: {reason}")


def _compact(analyzer: Analyzer, alloc: AllocBufferOp, users: Sequence[LoadOp | StoreOp]) -> None:
    """Replaces an allocation, at its position, by an allocation with the extents of the box that is used."""
    block = alloc.parent
    outer = alloc.parent_op()
    assert block is not None
    assert outer is not None

    def is_fixed(value: SSAValue) -> bool:
        owner = value.owner
        return owner is block or not outer.is_ancestor(owner) or (isinstance(owner, SymbolOp) and owner.parent is block)

    boxes = [touched_box(analyzer, user, outer) for user in users]
    if any(box is None for box in boxes):
        _keep(alloc, "the elements that an access uses are unknown")
        return
    shape = shape_sides(analyzer, alloc.mixed_shape)
    region = required_region(analyzer, [box for box in boxes if box is not None], is_fixed, shape)
    assert not isinstance(region, str), "a shape is given, so there is a region"
    sides = [a if _is_less(a, b) else b for a, b in zip(region, shape, strict=True)]
    if sides == shape:
        return
    extents = [old if b is a else b.extent.const for old, a, b in zip(alloc.mixed_shape, shape, sides, strict=True)]
    new = alloc.copy_with_shape(extents, alloc.type.memory_space)
    new.attributes.update(alloc.attributes)
    TirBuilder(InsertPoint.before(alloc), alloc.location).insert(new)
    for user in users:
        _shift(
            analyzer,
            user,
            new.buffer,
            [side.low if side is not whole else Lin(0) for side, whole in zip(sides, shape, strict=True)],
        )
    _remarks.applied(
        alloc, lambda: f"buffer {alloc.buffer_name.data} shrinks from {_size(alloc)} to {_size(new)} elements"
    )
    alloc.detach()
    alloc.erase()


def _size(alloc: AllocBufferOp) -> str:
    """The extents of a buffer: `8x?`."""
    return "x".join(str(d) if isinstance(d, int) else "?" for d in alloc.mixed_shape) or "1"


def _is_less(side: IndexRange, whole: IndexRange) -> bool:
    """Whether the extent of a side is a constant less than the extent of the buffer, or replaces a symbolic extent."""
    if side.extent.terms:
        return False
    return side.extent.const < (whole.extent.const if not whole.extent.terms else MOST_FOR_SYMBOLIC)


def _shift(analyzer: Analyzer, user: LoadOp | StoreOp, buffer: SSAValue, lows: Sequence[Lin]) -> None:
    """Makes the indices of a load or store relative to the lower corner of the box."""
    builder = TirBuilder(InsertPoint.before(user), user.location)
    indices = [_minus(analyzer, builder, i, low) for i, low in zip(user.indices, lows, strict=True)]
    old = list(user.indices)
    redirect_access(user, buffer, indices)
    for value in old:
        erase_if_dead(value)


def _minus(analyzer: Analyzer, builder: TirBuilder, index: SSAValue, low: Lin) -> SSAValue:
    if low == Lin(0):
        return index
    if isinstance(ramp := index.owner, RampOp):
        lanes = dtype_of(index.type).lanes
        return builder.insert(RampOp(_minus(analyzer, builder, ramp.base, low), ramp.stride, lanes)).result
    if isinstance(index.type, VectorType):
        return _minus_in_lanes(analyzer, builder, index, low, index.type.element_type)
    return export(analyzer, analyzer.combine(analyzer.exact(index) - low), builder, index.type)


def _minus_in_lanes(analyzer: Analyzer, builder: TirBuilder, index: SSAValue, low: Lin, element: Attribute) -> SSAValue:
    """A vector less a number in each lane, taken from a term that is the same in all lanes if there is one."""
    for term, rest in _terms(index):
        if isinstance(op := term.owner, vector.BroadcastOp):
            number = analyzer.combine(analyzer.exact(op.source) - low)
            return rest if number == Lin(0) else builder.add(export(analyzer, number, builder, element), rest)
    return builder.sub(index, export(analyzer, low, builder, element))


def _terms(index: SSAValue) -> list[tuple[SSAValue, SSAValue]]:
    """Each term of a sum of two, with the other."""
    op = index.owner
    return [(op.lhs, op.rhs), (op.rhs, op.lhs)] if isinstance(op, arith.AddiOp) else []

"""The pass `stream-stores`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import gcd
from typing import cast

from xdsl.context import Context
from xdsl.dialects import arith, func, memref, scf, vector
from xdsl.dialects.builtin import BoolAttr, IndexType, IntegerAttr, MemRefType, ModuleOp, NoneAttr, VectorType
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter

from ...analysis.index import Analyzer, Atom, Lin
from ...core.remarks import PassRemarks
from ...dialects.tir import constant_value
from .accesses import byte_offset, described, known_bytes, vector_bytes

_remarks = PassRemarks("stream-stores")

_ALIGNMENT = 16
"""The alignment in bytes of the arrays that are streamed: that of large arrays of numpy, and of the narrowest streaming
store of a vector of x86-64."""
_SHORTEST_RUN = 1024
"""The least number of consecutive bytes of an innermost loop: 16 cache lines, of which 2 may be written in part."""
_MANY = 1 << 62
"""The number of iterations of a loop with unknown bounds, as the part of a parallel loop that a thread executes."""
_MOST_OPERATIONS = 8
"""The greatest number of operations on vectors for each stored vector. With more, memory no longer limits the loop, and
streaming stores delay it: exp takes up to 1.14 times the time."""
_STORES = (vector.StoreOp, vector.MaskedStoreOp, memref.StoreOp)

_InnerLoop = scf.ForOp | scf.ParallelOp


@dataclass(frozen=True)
class StreamStoresPass(ModulePass):
    """Stores vectors into large results by streaming (non-temporal) stores, which bypass the caches.

    An ordinary store reads its cache line from memory first. Streaming stores combine to whole lines, which are written
    without that read: the sum of two arrays moves three arrays, not four. A loop is rewritten if its buffer is a
    parameter of at least `from-bytes`, from which the function does not load; if its iterations store consecutive
    vectors of 16 bytes or more, with at most 8 operations for each vector; and if no loop around stores an element
    twice. All offsets must be multiples of 16 bytes: the loop then streams into arrays that are aligned to 16 bytes,
    and a copy of the loop stores as before into others.

    Streaming stores are weakly ordered. The thread that executes them reads the stored values; other threads learn of
    the end of a call by a locked instruction (the release of a mutex), which the stores precede; the worker pool
    reports the end of iterations by one too.

    from-bytes: the least size of a buffer in bytes; by default that of a last-level cache. An innermost loop stores at
    least 1024 bytes, or this number if it is less.

    Before
        scf.for %i = %c0 to %c1048576 step %c1 {
          %0 = arith.muli %i, %c16 : index
          vector.store %x, %A[%0] : memref<16777216xf32>, vector<16xf32>
        }

    After
        %1 = memref.extract_aligned_pointer_as_index %A : memref<16777216xf32> -> index
        %2 = arith.remui %1, %c16 : index
        %3 = arith.cmpi eq, %2, %c0 : index
        scf.if %3 {
          scf.for %i = %c0 to %c1048576 step %c1 {
            %0 = arith.muli %i, %c16 : index
            vector.store %x, %A[%0] {nontemporal = true, alignment = 16 : i64} : memref<16777216xf32>, vector<16xf32>
          }
        } else {
          scf.for %i = %c0 to %c1048576 step %c1 {
            %0 = arith.muli %i, %c16 : index
            vector.store %x, %A[%0] : memref<16777216xf32>, vector<16xf32>
          }
        }

    Must hold before: no iteration of `scf.parallel` runs beside another
    (`outline-parallel-loops`); vectors have their final widths
    (`split-vectors`).

    Gone after: nothing.
    """

    name = "stream-stores"

    from_bytes: int = 32 << 20

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in op.body.block.ops:
            if isinstance(function, func.FuncOp) and function.body.blocks:
                _stream_function(function, self.from_bytes)


def _stream_function(function: func.FuncOp, from_bytes: int) -> None:
    streams: dict[_InnerLoop, dict[SSAValue, list[vector.StoreOp]]] = {}
    analyzer = Analyzer()
    for buffer in function.body.blocks[0].args:
        size = known_bytes(buffer)
        if size is None or size < from_bytes:
            continue
        for block, stores in _stores_by_block(buffer).items():
            reason = _obstacle(buffer, block, stores, min(_SHORTEST_RUN, from_bytes), analyzer)
            if reason is None:
                streams.setdefault(cast(_InnerLoop, block.parent_op()), {})[buffer] = stores
            else:
                _remarks.missed(stores[0], lambda: f"{described(buffer)} is stored through the caches: {reason}")
    checks = {
        buffer: _alignment_check(function, buffer)
        for buffer in dict.fromkeys(buffer for buffers in streams.values() for buffer in buffers)
    }
    for loop, buffers in streams.items():
        _version(loop, [checks[buffer] for buffer in buffers], [each for group in buffers.values() for each in group])


def _stores_by_block(buffer: SSAValue) -> dict[Block, list[vector.StoreOp]]:
    """The stores of vectors into a buffer, by their blocks."""
    blocks: dict[Block, list[vector.StoreOp]] = {}
    for use in buffer.uses:
        if isinstance(use.operation, vector.StoreOp) and (block := use.operation.parent) is not None:
            blocks.setdefault(block, []).append(use.operation)
    return blocks


# Conditions


@dataclass(frozen=True)
class _Loop:
    """A loop around stores: its variable, lower bound, step and number of iterations, `_MANY` if that is unknown."""

    variable: SSAValue
    low: SSAValue
    step: int
    count: int


def _obstacle(
    buffer: SSAValue, block: Block, stores: Sequence[vector.StoreOp], shortest: int, analyzer: Analyzer
) -> str | None:
    """The reason for which the stores of a block into a buffer are not streamed; None without one. shortest: the least
    number of consecutive bytes of the loop."""
    type = cast("MemRefType[Attribute]", buffer.type)
    if not isinstance(type.layout, NoneAttr):
        return "it has strides of its own"
    if other := next((each.operation for each in buffer.uses if not isinstance(each.operation, _STORES)), None):
        return f"it has other uses, {other.name}"
    if (
        narrow := next((size for size in map(vector_bytes, stores) if size % 16 or size & (size - 1)), None)
    ) is not None:
        return f"a vector of {narrow} bytes, expected a power of 2 from 16 on"
    if not isinstance(block.parent_op(), _InnerLoop):
        return "the stores are not directly in a loop"
    if any(op.regions for op in block.ops):
        return "the loop has loops or branches inside"
    if (operations := sum(map(_is_computation, block.ops))) > _MOST_OPERATIONS * len(stores):
        return f"{operations} operations for {len(stores)} vectors, expected at most {_MOST_OPERATIONS} for each"
    loops = _loops_around(block)
    if loops is None:
        return "a loop has an unknown step, or is a while loop"
    return _order_obstacle(stores, loops, shortest, analyzer)


def _order_obstacle(
    stores: Sequence[vector.StoreOp], loops: Sequence[_Loop], shortest: int, analyzer: Analyzer
) -> str | None:
    """The reason for which the offsets of vectors exclude streaming stores; None without one. loops: innermost first.
    shortest: as of `_obstacle`."""
    offsets = [byte_offset(store, analyzer) for store in stores]
    first, size = min(offsets, key=lambda each: each.const), sum(map(vector_bytes, stores))
    if not _are_contiguous(offsets, stores):
        return "the vectors of an iteration are not consecutive"
    strides = {loop.variable: first.terms.get(loop.variable, 0) * loop.step for loop in loops}
    if first.terms.keys() - strides.keys():
        return "the index is not a sum of multiples of loop variables"
    if strides[loops[0].variable] != size:
        return f"an iteration stores {size} bytes, the next one begins {strides[loops[0].variable]} bytes later"
    if (run := size * loops[0].count) < shortest:
        return f"{run} consecutive bytes, expected at least {shortest}"
    if not _are_disjoint(strides, size, loops):
        return "the loops store elements more than once"
    if _divisor(first, {loop.variable: loop for loop in loops}, analyzer) % _ALIGNMENT:
        return f"the offsets are not known to be multiples of {_ALIGNMENT} bytes"
    return None


def _is_computation(op: Operation) -> bool:
    """Whether an op computes a vector."""
    is_vector = any(isinstance(result.type, VectorType) for result in op.results)
    return is_vector and not isinstance(op, vector.LoadOp | vector.BroadcastOp | arith.ConstantOp)


def _loops_around(block: Block) -> list[_Loop] | None:
    """The loops around the operations of a block, innermost first; None if a step is unknown."""
    loops: list[_Loop] = []
    while (op := block.parent_op()) is not None and not isinstance(op, func.FuncOp):
        if not isinstance(op, scf.IfOp):
            bounds = list(_bounds(op, block))
            if not bounds:
                return None
            for variable, low, high, step in bounds:
                first, end, stride = (constant_value(value) for value in (low, high, step))
                if not isinstance(stride, int):
                    return None
                count = _MANY
                if isinstance(first, int) and isinstance(end, int):
                    count = max(0, -(-(end - first) // stride))
                loops.append(_Loop(variable, low, stride, count))
        assert op.parent is not None
        block = op.parent
    return loops


def _bounds(op: Operation, body: Block) -> Iterator[tuple[SSAValue, SSAValue, SSAValue, SSAValue]]:
    """The variable, the bounds and the step of each dimension of a loop, innermost first; none for another op."""
    match op:
        case scf.ForOp():
            yield body.args[0], op.lb, op.ub, op.step
        case scf.ParallelOp():
            yield from reversed(list(zip(body.args, op.lowerBound, op.upperBound, op.step, strict=False)))
        case _:
            pass


def _are_contiguous(offsets: Sequence[Lin], stores: Sequence[vector.StoreOp]) -> bool:
    """Whether the vectors of an iteration are consecutive, in any order."""
    vectors = sorted(zip((each.const for each in offsets), map(vector_bytes, stores), strict=True))
    ends = [start + size for start, size in vectors]
    return all(each.terms == offsets[0].terms for each in offsets) and ends[:-1] == [start for start, _ in vectors[1:]]


def _are_disjoint(strides: Mapping[SSAValue, int], size: int, loops: Sequence[_Loop]) -> bool:
    """Whether the iterations of loops store different bytes, each of them `size` bytes: the distance of the iterations
    of each loop is at least the extent of the iterations of all loops with smaller distances."""
    extent = size
    for stride, count in sorted((abs(strides[loop.variable]), loop.count) for loop in loops if loop.count > 1):
        if stride < extent:
            return False
        extent += stride * (count - 1)
    return True


def _divisor(lin: Lin, loops: Mapping[Atom, _Loop], analyzer: Analyzer) -> int:
    """A common divisor of all values of a sum of multiples of loop variables; 0 for the sum 0."""
    divisor = abs(lin.const)
    for atom, factor in lin.terms.items():
        loop = loops[atom]
        low = analyzer.number(loop.low)
        divisor = gcd(divisor, factor * (1 if low is None else low), factor * loop.step)
    return divisor


# Rewrite


def _alignment_check(function: func.FuncOp, buffer: SSAValue) -> SSAValue:
    """Whether the address of a parameter is a multiple of 16, computed at the start of a function."""
    address = memref.ExtractAlignedPointerAsIndexOp.get(buffer)
    alignment, zero = (arith.ConstantOp(IntegerAttr(number, IndexType())) for number in (_ALIGNMENT, 0))
    rest = arith.RemUIOp(address.aligned_pointer, alignment.result)
    check = arith.CmpiOp(rest.result, zero.result, "eq")
    ops = [address, alignment, rest, zero, check]
    for op in ops:
        op.location = function.location
    Rewriter.insert_op(ops, InsertPoint.at_start(function.body.blocks[0]))
    return check.result


def _version(loop: _InnerLoop, checks: Sequence[SSAValue], stores: Sequence[vector.StoreOp]) -> None:
    """Replaces a loop by a branch: with streaming stores if all checks hold, else as before."""
    _remarks.applied(loop, lambda: _summary(stores))
    condition, *rest = checks
    for check in rest:
        both = arith.AndIOp(condition, check)
        both.location = loop.location
        Rewriter.insert_op(both, InsertPoint.before(loop))
        condition = both.result
    chosen = set(stores)
    copy = loop.clone()
    for op, twin in zip(loop.walk(), copy.walk(), strict=True):
        if op in chosen:
            twin.properties["nontemporal"] = BoolAttr.from_bool(True)
            twin.attributes["alignment"] = IntegerAttr(_ALIGNMENT, 64)
    types = [result.type for result in loop.results]
    branch = scf.IfOp(
        condition, types, [copy, scf.YieldOp(*copy.results)], [kept := loop.clone(), scf.YieldOp(*kept.results)]
    )
    branch.location = loop.location
    Rewriter.replace_op(loop, branch)


def _summary(stores: Sequence[vector.StoreOp]) -> str:
    buffers = dict.fromkeys(described(store.base) for store in stores)
    return f"{' and '.join(buffers)} is stored past the caches where it is aligned to {_ALIGNMENT} bytes"

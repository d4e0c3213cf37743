"""The pass `tir-insert-barriers`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from itertools import takewhile
from math import prod
from typing import TypeAlias

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint

from ...analysis import isl
from ...analysis.dependence.digits import loop_of_step
from ...analysis.dependence.model import Region
from ...analysis.dependence.statements import Statement
from ...analysis.names import memory_name
from ...analysis.threads.atomics import is_read_in
from ...analysis.threads.axes import (
    BLOCK_AXES,
    THREAD_AXES,
    is_thread_loop,
    outermost_bound_loops,
    thread_axes_of,
    thread_axis_of,
    written_memory,
)
from ...analysis.threads.barriers import SYNC
from ...analysis.threads.execution import (
    effects_of,
    has_copy_for_each_thread,
    is_executed_in_parts,
    statements_of_threads,
)
from ...analysis.threads.fragments import has_fragment_nests, is_in_fragment_nest
from ...analysis.threads.memories import memory_of
from ...analysis.threads.shuffles import is_active_mask, is_exchange
from ...core.diagnostics import where
from ...core.errors import UnsupportedError
from ...core.gpu import WARP_SIZE
from ...dialects.tir import CallIntrinOp, ForOp, FuncOp, IfOp, LaunchThreadOp, LetOp, LoadOp, TirBuilder
from ...dialects.tir.tree import (
    expressions_before,
    has_effect,
    insertion_point_before,
    is_expression_op,
    treeify,
    with_expressions,
)
from .launch_ops import thread_extents


class TirInsertBarriersPass(ModulePass):
    """Inserts barriers between the threads of a block exactly where a dependence between two threads requires them.

    A barrier separates two statements if a thread writes an element, in memory that several threads see, that another
    thread reads or writes. A loop gets a barrier at the end of its body if an iteration and a later iteration require
    one. Dependences are computed with isl. Where all such pairs of threads belong to one warp, the barrier is one of
    the warp (scope "warp").

    Before
        tir.for thread_binding "tx" %tx : i32 in [0 +: 64] thread "threadIdx.x" {
          tir.store %a, %S[%tx] : memref<64xf32, "shared">
        }
        tir.for thread_binding "tx" %tx : i32 in [0 +: 64] thread "threadIdx.x" {
          %x = tir.load %S[%m] : memref<64xf32, "shared">
          ...
        }

    After
        tir.for thread_binding "tx" %tx : i32 in [0 +: 64] thread "threadIdx.x" {
          tir.store %a, %S[%tx] : memref<64xf32, "shared">
        }
        %0 = tir.const "shared" : !tir.handle
        tir.call_intrin "tvm_storage_sync"(%0) : !tir.handle
        tir.for thread_binding "tx" %tx : i32 in [0 +: 64] thread "threadIdx.x" {
          ...
        }

    Must hold before: kernels are launches of blocks (`tir-launch-blocks`), statements have their own loops over threads
    (`tir-distribute-threads`).

    Raises UnsupportedError for a statement in which threads read or update elements that other threads write: no
    barrier can be inside a statement.

    Gone after: nothing.
    """

    name = "tir-insert-barriers"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in [f for f in op.body.block.ops if isinstance(f, FuncOp)]:
            for kernel in list(outermost_bound_loops(function, BLOCK_AXES)):
                _Kernel(kernel).insert()


@dataclass(frozen=True)
class _Frame:
    """The meaning of the dimensions of a statement's instances.

    around: the loops that enclose the loops over threads; they come first, a loop with two digits twice.  rank: the
    number of dimensions.  threads: for each axis of the kernel, the position of the loop bound to it.  is_of_all:
    whether all threads of an axis without a loop execute the statement, as it writes no memory that several threads
    see; else only the first thread does.  is_of_warp: whether the threads of a warp execute the statement together, in
    parts that nobody knows.
    """

    around: tuple[Operation, ...]
    rank: int
    threads: tuple[int | None, ...]
    is_of_all: bool
    is_of_warp: bool = False

    def beside(self, other: _Frame, loop: Operation | None) -> isl.Map:
        """{ instance -> instances in the same iteration of all common loops }; with `loop`, in a later iteration of
        `loop`.
        """
        pairs = self.pairs(other)
        for n, (x, y) in enumerate(zip(self.around, other.around, strict=False)):
            if x is not y:
                break
            if x is loop:
                return _later(pairs, range(n, n + self.around.count(loop)))
            pairs = pairs.equate(isl.dim_type.in_, n, isl.dim_type.out, n)
        return pairs

    def by_same_thread(self, other: _Frame) -> isl.Map:
        """{ instance -> instances executed by the same thread }."""
        pairs = self.pairs(other)
        for mine, others in zip(self.threads, other.threads, strict=True):
            match mine, others:
                case int(), int():
                    pairs = pairs.equate(isl.dim_type.in_, mine, isl.dim_type.out, others)
                case int(), None:
                    pairs = pairs.fix_val(isl.dim_type.in_, mine, 0)
                case None, int():
                    pairs = pairs.fix_val(isl.dim_type.out, others, 0)
                case _:
                    pass
        return pairs

    def pairs(self, other: _Frame) -> isl.Map:
        """{ instance -> all instances }."""
        return isl.Map.universe(isl.Space.alloc(isl.DEFAULT_CONTEXT, 0, self.rank, other.rank))


def _later(pairs: isl.Map, dims: Sequence[int]) -> isl.Map:
    """The pairs of which the second instance is later in lexicographic order of some dimensions."""
    first, *rest = dims
    later = pairs.order_lt(isl.dim_type.in_, first, isl.dim_type.out, first)
    return later.union(_later(pairs.equate(isl.dim_type.in_, first, isl.dim_type.out, first), rest)) if rest else later


@dataclass(frozen=True)
class _Touch:
    """The accesses of statements of one frame to one memory: { instance -> element read }, { instance -> element
    written }.

    Updates are both.
    """

    reads: isl.Map | None
    writes: isl.Map | None

    def and_(self, other: _Touch) -> _Touch:
        """The union of both accesses."""
        return _Touch(_union(self.reads, other.reads), _union(self.writes, other.writes))


_Touches: TypeAlias = Mapping[tuple[SSAValue | None, _Frame], _Touch]
"""The accesses of some statements to each memory that several threads see, merged by frame, so that the number of
queries
depends on the number of loop nests rather than on the number of statements.
"""


@dataclass
class _Walked:
    """The accesses of some statements relative to their barriers.

    last: the accesses after the last barrier.  first: the accesses before the first barrier.  has_barrier: whether all
    threads execute a barrier.  near: the accesses after the last barrier of any kind, barriers of a warp included.
    """

    last: _Touches
    first: _Touches
    has_barrier: bool
    near: _Touches


class _Distance(IntEnum):
    """The distance between threads that access the same element."""

    NONE = 0
    WARP = 1
    BLOCK = 2


class _Kernel:
    """The insertion of barriers into a kernel, given by its launch of blocks."""

    def __init__(self, root: Operation):
        self.root = root
        _name_conditions(root)
        self.guarded = {
            inner
            for op in statements_of_threads(root.regions[0].block)
            if effects_of(op).is_seen or has_fragment_nests(op)
            for inner in op.walk()
        }
        self.extents = thread_extents(root)
        self.touches: dict[Operation, _Touches] = {}
        for statement in Region(root, is_left_out=_is_private).statements():
            op = statement.key if isinstance(statement.key, Operation) else statement.key.block
            self.touches[op] = _merge((self.touches.get(op, {}), _touches(statement, self._frame(statement, op))))
        self._queries: dict[tuple[_Frame, _Frame, Operation | None], _DistanceQuery] = {}

    def _frame(self, statement: Statement, op: Operation) -> _Frame:
        loops = [loop_of_step(step) for step in statement.loops]
        around = tuple(takewhile(lambda loop: not is_thread_loop(loop), loops))
        positions = {thread_axis_of(loop): n for n, loop in reversed(list(enumerate(loops)))}
        threads = tuple(positions.get(axis) for axis in self.extents)
        is_partial = any(extent != 1 and axis not in positions for axis, extent in self.extents.items())
        of_warp = is_in_fragment_nest(op)
        return _Frame(around, len(loops), threads, is_partial and op not in self.guarded, of_warp)

    def insert(self) -> None:
        block = self.root.regions[0].block
        while isinstance(inner := _only_launch(block), LaunchThreadOp):
            block = inner.body.block
        self._block(block)

    # Walking

    def _block(self, block: Block) -> _Walked:
        walked = _Walked({}, {}, False, {})
        for op in list(block.ops):
            if is_expression_op(op):
                continue
            inside = self._inside(op)
            self._wait(walked, inside, insertion_point_before(op))
            if is_executed_in_parts(op):
                part = self._loop(op) if isinstance(op, ForOp) else self._branches(op)
            else:
                self._check_races(op, inside)
                part = _Walked(inside, inside, False, inside)
            if not walked.has_barrier:
                walked.first = _merge((walked.first, part.first))
            walked.last = part.last if part.has_barrier else _merge((walked.last, part.last))
            walked.near = part.near if part.has_barrier else _merge((walked.near, part.near))
            walked.has_barrier = walked.has_barrier or part.has_barrier
        return walked

    def _wait(self, walked: _Walked, then: _Touches, point: InsertPoint, loop: ForOp | None = None) -> None:
        """Inserts a barrier between the statements walked and the next statements if required. loop: a loop around
        both.
        """
        farthest = self._farthest(walked.last, then, loop)
        if farthest is _Distance.BLOCK:
            self._barrier(point, "shared")
            walked.last, walked.near, walked.has_barrier = {}, {}, True
        elif farthest is _Distance.WARP and self._farthest(walked.near, then, loop) is _Distance.WARP:
            self._barrier(point, "warp")
            walked.near = {}

    def _loop(self, op: ForOp) -> _Walked:
        walked = self._block(op.body.block)
        self._wait(walked, walked.first, InsertPoint.at_end(op.body.block), op)
        extent = op.mixed_bounds[1]
        walked.has_barrier = walked.has_barrier and isinstance(extent, int) and extent > 0
        return walked

    def _branches(self, op: Operation) -> _Walked:
        parts = [self._block(block) for region in op.regions for block in region.blocks]
        last, first, near = (_merge(getattr(part, name) for part in parts) for name in ("last", "first", "near"))
        return _Walked(last, first, all(part.has_barrier for part in parts), near)

    def _inside(self, op: Operation) -> _Touches:
        return _merge(self.touches[inner] for inner in op.walk() if inner in self.touches)

    def _barrier(self, point: InsertPoint, scope: str) -> None:
        builder = TirBuilder(point, self.root.location)
        builder.insert(CallIntrinOp(SYNC, [builder.string(scope)]))

    # Dependences

    def _check_races(self, op: Operation, inside: _Touches) -> None:
        """Raises UnsupportedError for dependences between threads within one statement, where no barrier can be.

        Several threads may write an element: they write the same value (docs/semantics.md). Atomic operations are
        allowed as well.
        """
        for memory in filter(None, dict.fromkeys(memory for memory, _ in inside)):
            writes = [(frame, t.writes) for (m, frame), t in inside.items() if m is memory and t.writes is not None]
            reads = [(frame, t.reads) for (m, frame), t in inside.items() if m is memory and t.reads is not None]
            pairs = ((self._query(x, y, None), a, b) for x, a in writes for y, b in reads)
            if writes and reads and is_read_in(memory, op) and any(question.of(a, b) for question, a, b in pairs):
                name = memory_name(memory)
                raise UnsupportedError(
                    f"{where(op)}a thread reads or adds to {name} what another one writes in one statement; a "
                    "reduction over threads needs an init, or rfactor, so that each has its own part"
                )

    def _farthest(self, a: _Touches, b: _Touches, loop: ForOp | None) -> _Distance:
        """The greatest distance between two threads, one with an access in `a` and one with an access in `b`, to the
        same element, at least one of them a write.

        loop: `a` runs in an earlier iteration of this loop; if None, both run in the same iteration of all common
        loops.
        """
        farthest = _Distance.NONE
        for (memory, mine), x in a.items():
            for (other, others), y in b.items():
                if memory is not other:
                    continue
                for one, two in ((x.writes, y.writes), (x.writes, y.reads), (x.reads, y.writes)):
                    if one is not None and two is not None:
                        farthest = max(farthest, self._query(mine, others, loop).of(one, two))
                    if farthest is _Distance.BLOCK:
                        return farthest
        return farthest

    def _query(self, a: _Frame, b: _Frame, loop: ForOp | None) -> _DistanceQuery:
        if (a, b, loop) not in self._queries:
            near = self._near(a, b)
            same = None if a.is_of_all or b.is_of_all else a.by_same_thread(b)
            if a.is_of_warp or b.is_of_warp:
                same = None
            self._queries[a, b, loop] = _DistanceQuery(a.beside(b, loop), same, near)
        return self._queries[a, b, loop]

    def _near(self, a: _Frame, b: _Frame) -> isl.Map | None:
        """{ instance -> instances of threads of the same warp }; None if the warps are not known statically, or all
        threads execute one of the statements and are several warps.
        """
        extents = [extent for extent in self.extents.values() if isinstance(extent, int)]
        if len(extents) < len(self.extents):
            return None
        if prod(extents) <= WARP_SIZE:
            return a.pairs(b)
        if a.is_of_all or b.is_of_all:
            return None
        first, second = (self._warp(frame, name) for frame, name in ((a, "i"), (b, "o")))
        names = [", ".join(f"{name}{n}" for n in range(frame.rank)) for frame, name in ((a, "i"), (b, "o"))]
        return isl.Map(f"{{ [{names[0]}] -> [{names[1]}] : {first} = {second} }}")

    def _warp(self, frame: _Frame, name: str) -> str:
        """The index of the warp that executes a statement, as an isl expression; thread indices count x fastest."""
        number, stride = ["0"], 1
        positions = dict(zip(self.extents, frame.threads, strict=True))
        for axis in THREAD_AXES:
            position = positions.get(axis)
            if position is not None:
                number.append(f"{stride}{name}{position}")
            extent = self.extents.get(axis, 1)
            assert isinstance(extent, int)
            stride *= extent
        return f"floor(({' + '.join(number)})/{WARP_SIZE})"


@dataclass(frozen=True)
class _DistanceQuery:
    """A distance query for two statements, which depends on their frames only.

    ordered: { instance -> instances that may run before the next barrier }.  same: { instance -> instances of the same
    thread }, None if several threads execute one of the statements.  near: { instance -> instances of threads of the
    same warp }.
    """

    ordered: isl.Map
    same: isl.Map | None
    near: isl.Map | None

    def of(self, a: isl.Map, b: isl.Map) -> _Distance:
        """The distance for accesses `a` of the first and `b` of the second statement, both { instance -> element }."""
        pairs = a.apply_range(b.reverse()).intersect(self.ordered)
        if pairs.is_empty() if self.same is None else pairs.is_subset(self.same):
            return _Distance.NONE
        return _Distance.WARP if self.near is not None and pairs.is_subset(self.near) else _Distance.BLOCK


def _is_private(memory: SSAValue) -> bool:
    """Whether no thread sees the accesses of other threads to some memory."""
    return has_copy_for_each_thread(memory) or bool(thread_axes_of(memory))


def _name_conditions(kernel: Operation) -> None:
    """Evaluates the conditions and bounds that all threads load from memory of the kernel in a statement of their own,
    so that barriers can be before and after it.
    """
    written, is_changed = written_memory(kernel), False
    for op in list(kernel.walk()):
        if isinstance(op, LaunchThreadOp) or not is_executed_in_parts(op):
            continue
        inner = [inner for each in expressions_before(op) for inner in each.walk()]
        if any(has_effect(each) or (isinstance(each, LoadOp) and memory_of(each.buffer) in written) for each in inner):
            builder = TirBuilder(InsertPoint.before(op), op.location)
            op.operands = [builder.insert(LetOp(_name_of_operand(op), value)).result for value in op.operands]
            is_changed = True
    if is_changed:
        treeify(kernel)


def _name_of_operand(op: Operation) -> str:
    return "condition" if isinstance(op, IfOp) else "bound"


def _touches(statement: Statement, frame: _Frame) -> _Touches:
    """The accesses of a statement to memory that several threads see, except effects that synchronize themselves."""
    return {
        (memory, frame): _Touch(_union(access.reads, access.updates), _union(access.writes, access.updates))
        for memory, access in statement.accesses.items()
        if memory is not None or not _only_exchanges(statement)
    }


def _merge(parts: Iterable[_Touches]) -> _Touches:
    """The union of accesses."""
    touches: dict[tuple[SSAValue | None, _Frame], _Touch] = {}
    for part in parts:
        for key, touch in part.items():
            touches[key] = touches[key].and_(touch) if key in touches else touch
    return touches


def _union(a: isl.Map | None, b: isl.Map | None) -> isl.Map | None:
    return b if a is None else a if b is None else a.union(b)


def _only_exchanges(statement: Statement) -> bool:
    """Whether the only effects of a statement outside of buffers are exchanges between lanes, which synchronize."""
    op = statement.key
    if not isinstance(op, Operation):
        return False
    inside = (inner for outer in with_expressions(op) for inner in outer.walk())
    return all(is_exchange(inner) or is_active_mask(inner) for inner in inside if has_effect(inner))


def _only_launch(block: Block) -> Operation | None:
    """The launch of another block axis, if it is the only launch in a block."""
    ops: Sequence[Operation] = [op for op in block.ops if isinstance(op, LaunchThreadOp)]
    return ops[0] if len(ops) == 1 and thread_axis_of(ops[0]) in BLOCK_AXES else None

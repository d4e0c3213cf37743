"""`tir-insert-barriers`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import IntEnum

import islpy as isl
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint

from ..core.errors import UnsupportedError
from ..core.gpu import WARP
from ..dialects.tir import AttrOp, CallIntrinOp, ForOp, FuncOp, IfOp, LaunchThreadOp, TirBuilder
from .analysis.atomics import is_read_in
from .analysis.dependence.affine import DIM
from .analysis.dependence.model import Region
from .analysis.dependence.statements import Accesses, Statement
from .analysis.names import memory_name
from .analysis.shuffles import is_active_mask, is_shuffle
from .analysis.threads import BLOCK_AXES, THREAD_AXES, axis_of, is_thread_loop, outermost, thread_axes_of
from .analysis.tree import has_effect, is_expression
from .lowering.launches import SYNC, extents_of, start_of
from .lowering.types import where
from .schedule.nest import with_expressions


class TirInsertBarriersPass(ModulePass):
    """Write down where the threads of a block wait for each other: exactly where one needs what another has done.

    Between two statements is a barrier if a thread writes an element that another one reads or writes, in memory that
    both see. For a loop that is asked of its end and its next iteration too. Dependences are those of isl. Where all
    such pairs of threads are of one warp, only the threads of a warp wait for each other (scope "warp").

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

    UnsupportedError for a statement in which threads read or add to what others write: no barrier can be inside.

    Gone after: nothing.
    """

    name = "tir-insert-barriers"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in [f for f in op.body.block.ops if isinstance(f, FuncOp)]:
            for kernel in list(outermost(function, BLOCK_AXES)):
                _Kernel(kernel).insert()


@dataclass(frozen=True)
class _Touch:
    """What a statement does to some memory: { execution -> element }."""

    statement: Statement
    relation: isl.Map
    is_write: bool
    is_read: bool


@dataclass
class _Walked:
    """What came behind the last barrier of some statements, what in front of the first, and whether there is one that
    all threads come to.

    near: what came behind the last barrier of any kind.
    """

    last: list[Statement]
    first: list[Statement]
    has_barrier: bool
    near: list[Statement]


class _Distance(IntEnum):
    """How far apart the threads are that touch an element."""

    NONE = 0
    WARP = 1
    BLOCK = 2


class _Kernel:
    """Puts barriers into a kernel, from its launch of blocks on."""

    def __init__(self, root: Operation):
        self.root = root
        region = Region(root)
        self.statements: dict[Operation, list[Statement]] = {}
        for statement in region.statements():
            key = statement.key if isinstance(statement.key, Operation) else statement.key.block
            self.statements.setdefault(key, []).append(statement)
        self._known: dict[tuple[int, int, bool], _Distance] = {}
        self.extents = extents_of([op for op in root.walk() if is_thread_loop(op)], root)

    def insert(self) -> None:
        block = self.root.regions[0].block
        while isinstance(inner := _only_launch(block), LaunchThreadOp):
            block = inner.body.block
        self._block(block)

    # Walking

    def _block(self, block: Block) -> _Walked:
        walked = _Walked([], [], False, [])
        for op in list(block.ops):
            if is_expression(op):
                continue
            inside = self._inside(op)
            self._wait(walked, inside, start_of(op))
            if isinstance(op, ForOp) and not is_thread_loop(op):
                part = self._loop(op)
            elif isinstance(op, IfOp | AttrOp) and any(is_thread_loop(i) for i in op.walk()):
                part = self._branches(op)
            else:
                self._check_races(op, inside)
                part = _Walked(inside, inside, False, inside)
            if not walked.has_barrier:
                walked.first = walked.first + part.first
            walked.last = part.last if part.has_barrier else walked.last + part.last
            walked.near = part.near if part.has_barrier else walked.near + part.near
            walked.has_barrier = walked.has_barrier or part.has_barrier
        return walked

    def _wait(self, walked: _Walked, then: Sequence[Statement], point: InsertPoint, loop: ForOp | None = None) -> None:
        """Put a barrier between what was walked and what comes then, if one is needed. loop: around both."""
        if self._farthest(walked.last, then, loop) is _Distance.BLOCK:
            self._barrier(point, "shared")
            walked.last, walked.near, walked.has_barrier = [], [], True
        elif self._farthest(walked.near, then, loop) is _Distance.WARP:
            self._barrier(point, "warp")
            walked.near = []

    def _farthest(self, a: Sequence[Statement], b: Sequence[Statement], loop: ForOp | None) -> _Distance:
        return max((self._crosses(x, y, loop) for x in a for y in b), default=_Distance.NONE)

    def _loop(self, op: ForOp) -> _Walked:
        walked = self._block(op.body.block)
        self._wait(walked, walked.first, InsertPoint.at_end(op.body.block), op)
        extent = op.mixed_bounds[1]
        walked.has_barrier = walked.has_barrier and isinstance(extent, int) and extent > 0
        return walked

    def _branches(self, op: IfOp | AttrOp) -> _Walked:
        parts = [self._block(block) for region in op.regions for block in region.blocks]
        last, first, near = ([s for part in parts for s in getattr(part, name)] for name in ("last", "first", "near"))
        return _Walked(last, first, all(part.has_barrier for part in parts), near)

    def _inside(self, op: Operation) -> list[Statement]:
        return [s for inner in op.walk() for s in self.statements.get(inner, ())]

    def _barrier(self, point: InsertPoint, scope: str) -> None:
        builder = TirBuilder(point, self.root.location)
        builder.insert(CallIntrinOp(SYNC, [builder.string(scope)]))

    # Dependences

    def _check_races(self, op: Operation, inside: Sequence[Statement]) -> None:
        """UnsupportedError if threads need what others do in the same statement, where no barrier can be.

        That several threads write an element is allowed: what they write is the same (docs/semantics.md). So are atomic
        operations.
        """
        for n, a in enumerate(inside):
            for b in inside[n:]:
                for memory in filter(None, self._shared(a, b)):
                    if not is_read_in(memory, op):
                        continue
                    pairs = [(x, y) for x in _touches(a, memory) for y in _touches(b, memory)]
                    needed = [(x, y) for x, y in pairs if (x.is_write and y.is_read) or (x.is_read and y.is_write)]
                    if any(self._meet(x, y, None) for x, y in needed):
                        name = memory_name(memory)
                        raise UnsupportedError(
                            f"{where(op)}a thread reads or adds to {name} what another one writes in one statement; a "
                            "reduction over threads needs an init, or rfactor, so that each has its own part"
                        )

    def _shared(self, a: Statement, b: Statement) -> list[SSAValue | None]:
        """The memory that two statements touch and several threads see."""
        both = [m for m in a.accesses if m in b.accesses and not thread_axes_of(m)]
        return [m for m in both if m is not None or not (_only_exchanges(a) or _only_exchanges(b))]

    def _crosses(self, a: Statement, b: Statement, loop: ForOp | None = None) -> _Distance:
        """How far from a thread another one is that touches in `b` what the first has touched in `a`, one of them
        writing it.

        loop: `a` runs in an earlier iteration of it; else both in the same of all loops that they share.
        """
        key = (id(a), id(b), loop is not None)
        if key not in self._known:
            memories = self._shared(a, b)
            pairs = (
                (x, y) for m in memories for x in _touches(a, m) for y in _touches(b, m) if x.is_write or y.is_write
            )
            self._known[key] = max((self._meet(x, y, loop) for x, y in pairs), default=_Distance.NONE)
        return self._known[key]

    def _meet(self, a: _Touch, b: _Touch, loop: ForOp | None) -> _Distance:
        pairs = a.relation.apply_range(b.relation.reverse())
        for n, (x, y) in enumerate(zip(a.statement.loops, b.statement.loops, strict=False)):
            if x is not y or is_thread_loop(x):
                break
            if x is loop:
                pairs = pairs.order_lt(DIM.in_, n, DIM.out, n)
                break
            pairs = pairs.equate(DIM.in_, n, DIM.out, n)
        if self._all_do(a.statement) or self._all_do(b.statement):
            return _Distance.NONE if pairs.is_empty() else _Distance.BLOCK
        same = pairs
        for axis in self.extents:
            match [_place(axis, t.statement) for t in (a, b)]:
                case [int(i), int(o)]:
                    same = same.equate(DIM.in_, i, DIM.out, o)
                case [int(i), None]:
                    same = same.fix_val(DIM.in_, i, 0)
                case [None, int(o)]:
                    same = same.fix_val(DIM.out, o, 0)
                case _:
                    pass
        if pairs.is_subset(same):
            return _Distance.NONE
        return _Distance.WARP if self._are_near(pairs, a, b) else _Distance.BLOCK

    def _are_near(self, pairs: isl.Map, a: _Touch, b: _Touch) -> bool:
        """Whether the threads of all pairs are of one warp."""
        if not all(isinstance(extent, int) for extent in self.extents.values()):
            return False
        first, second = (self._warp(t.statement, name) for t, name in ((a, "i"), (b, "o")))
        names = [", ".join(f"{name}{n}" for n in range(pairs.dim(kind))) for kind, name in _TUPLES]
        near = isl.Map(f"{{ [{names[0]}] -> [{names[1]}] : {first} = {second} }}")
        for kind, _ in _TUPLES:
            if pairs.has_tuple_id(kind):
                near = near.set_tuple_id(kind, pairs.get_tuple_id(kind))
        return pairs.is_subset(near.align_params(pairs.get_space()))

    def _warp(self, statement: Statement, name: str) -> str:
        """The number of the warp that does a statement, in isl's words: of threads as they are counted, x first."""
        number, stride = ["0"], 1
        for axis in THREAD_AXES:
            place = _place(axis, statement)
            if place is not None:
                number.append(f"{stride}{name}{place}")
            extent = self.extents.get(axis, 1)
            assert isinstance(extent, int)
            stride *= extent
        return f"floor(({' + '.join(number)})/{WARP})"

    def _all_do(self, statement: Statement) -> bool:
        """Whether all threads of an axis that no loop is around a statement for do it: it writes nothing that several
        see. Else the first one does."""
        written = [m for m, a in statement.accesses.items() if a.writes is not None or a.updates is not None]
        is_partial = any(extent != 1 and _place(axis, statement) is None for axis, extent in self.extents.items())
        return is_partial and all(thread_axes_of(memory) for memory in written)


_TUPLES = ((DIM.in_, "i"), (DIM.out, "o"))


def _place(axis: str, statement: Statement) -> int | None:
    """Which of the loops around a statement is bound to an axis."""
    return next((n for n, loop in enumerate(statement.loops) if axis_of(loop) == axis), None)


def _only_exchanges(statement: Statement) -> bool:
    """Whether all that a statement does outside of buffers is that lanes exchange values, for which they wait."""
    op = statement.key
    if not isinstance(op, Operation):
        return False
    inside = (inner for outer in with_expressions(op) for inner in outer.walk())
    return all(is_shuffle(inner) or is_active_mask(inner) for inner in inside if has_effect(inner))


def _touches(statement: Statement, memory: SSAValue | None) -> Iterable[_Touch]:
    access: Accesses = statement.accesses[memory]
    for relation, is_write in ((access.reads, False), (access.writes, True), (access.updates, True)):
        if relation is not None:
            yield _Touch(statement, relation, is_write, relation is not access.writes)


def _only_launch(block: Block) -> Operation | None:
    """The launch of another axis that is all there is in a block."""
    ops: Sequence[Operation] = [op for op in block.ops if isinstance(op, LaunchThreadOp)]
    return ops[0] if len(ops) == 1 and axis_of(ops[0]) in BLOCK_AXES else None

"""Loops cut, joined and reordered."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from math import prod

from xdsl.ir import Attribute, Operation, SSAValue

from ...core.dtypes import dtype_of, int_range
from ...core.errors import ScheduleError
from ...dialects.schedule import INFERRED, FuseOp, ReorderOp, SplitOp
from ...dialects.tir import ForOp, TirBuilder
from ..analysis.index import Analyzer, Lin, export
from ..analysis.scopes import depends_on, only_child
from .handles import ExprRV, LoopRV
from .legality import keeps_any_order
from .nest import (
    builder_before,
    erase_statement,
    guard,
    make_loop,
    move_body,
    number,
    replace_by_sum,
    simplify_blocks,
    with_expressions,
)
from .recorder import Recorder
from .state import State, applies

Factor = int | ExprRV | None


class LoopPrimitives(Recorder):
    """Primitives that change the nest of loops around blocks."""

    def split(
        self,
        loop: LoopRV,
        factors: Sequence[Factor],
        preserve_unit_iters: bool = True,
        disable_predication: bool = False,
    ) -> list[LoopRV]:
        """Cut a loop into a nest of loops, one for each factor, outermost first.

            for i in range(130):                for i_0, i_1 in T.grid(17, 8):
                with T.block("B"):                  with T.block("B"):
                    vi = T.axis.spatial(130, i) ->      vi = T.axis.spatial(130, i_0 * 8 + i_1)
                    B[vi] = A[vi] + 1.0                 T.where(i_0 * 8 + i_1 < 130)
                                                        B[vi] = A[vi] + 1.0

        loop: without annotations, not bound to a thread.  factors: the extents of the new loops; one may be None or -1:
        it follows from the others.  preserve_unit_iters: kept in the trace as TVM does; a loop of one iteration is
        always kept as a loop.  disable_predication: no guard; only where the factors divide the extent.
        Returns the new loops. Always legal: the instances and their order stay. ScheduleError if the factors are too
        small for the extent, or the loop cannot be split.
        """
        factors = [INFERRED if factor is None else factor for factor in factors]
        return self.record(
            SplitOp,
            loop=loop,
            factors=factors,
            preserve_unit_iters=preserve_unit_iters,
            disable_predication=disable_predication,
        )

    def fuse(self, *loops: LoopRV, preserve_unit_iters: bool = True) -> LoopRV:
        """Join loops that stand directly in each other into one.

            for i, j in T.grid(16, 8):              for i_j_fused in range(128):
                with T.block("B"):                      with T.block("B"):
                    vi, vj = ...remap("SS", [i, j]) ->      vi = T.axis.spatial(16, i_j_fused // 8)
                                                            vj = T.axis.spatial(8, i_j_fused % 8)

        loops: outermost first, each the only statement in the one before it; without annotations, not bound to threads.
        Returns the new loop. Always legal. ScheduleError if the loops do not stand like that, or the extent of one
        depends on another.
        """
        return self.record(FuseOp, loops=loops, preserve_unit_iters=preserve_unit_iters)[0]

    def reorder(self, *ordered_loops: LoopRV) -> None:
        """Put loops of one nest into this order, outermost first; other loops between them keep their places.

            for i, j in T.grid(16, 8):          for j, i in T.grid(8, 16):
                with T.block("B"):       ->         with T.block("B"):

        ordered_loops: loops of one nest, in which each loop from the outermost to the innermost of them is the only
        statement in the one before it. A bound must not depend on a loop that would come to stand inside.
        Legal if every instance still reads what it read before; the contributions to a reduction may come in any order.
        ScheduleError with two instances that conflict if not.
        """
        self.record(ReorderOp, ordered_loops=ordered_loops)


def name_of(loop: ForOp) -> str:
    """What the program calls the variable of a loop."""
    return loop.loop_var.data


def require_plain(loop: ForOp, action: str) -> None:
    """ScheduleError if a loop has annotations, is bound to a thread or has a step: they say nothing of its parts."""
    if loop.thread is not None:
        raise ScheduleError(f"loop {name_of(loop)} is bound to {loop.thread.data}; {action} before binding", [loop])
    if loop.annotations is not None:
        keys = ", ".join(loop.annotations.data)
        raise ScheduleError(f"loop {name_of(loop)} has annotations ({keys}); {action} before annotating", [loop])
    if loop.mixed_bounds[2] != 1:
        raise ScheduleError(f"loop {name_of(loop)} has a step other than 1", [loop])


# split


@applies(SplitOp)
def split(
    state: State, loop: ForOp, factors: list[int], preserve_unit_iters: bool, disable_predication: bool
) -> list[ForOp]:
    require_plain(loop, "split it")
    analyzer = Analyzer(through_lets=False)
    low, extent = (analyzer.exact(bound) for bound in loop.mixed_bounds[:2])
    _check_factors(loop, factors)
    known = prod(factor for factor in factors if factor != INFERRED)
    inferred = INFERRED in factors
    sizes = [Lin(factor) for factor in factors]
    if inferred:
        sizes[factors.index(INFERRED)] = analyzer.floordiv(extent + (known - 1), known)
    divides = _divides(analyzer, loop, extent, known, inferred=inferred)
    if disable_predication and not divides:
        raise ScheduleError(
            f"the factors {_text(factors)} do not divide the extent of loop {name_of(loop)}, so it needs the guard "
            "that disable_predication forbids",
            [loop],
        )
    _check_width(loop, analyzer, low, sizes)
    with state.changing(check=False):
        return _split(analyzer, loop, low, extent, sizes, guarded=not divides)


def _text(factors: Sequence[int]) -> str:
    return f"[{', '.join('None' if factor == INFERRED else str(factor) for factor in factors)}]"


def _check_factors(loop: ForOp, factors: Sequence[int]) -> None:
    if factors.count(INFERRED) > 1:
        raise ScheduleError(f"factors {_text(factors)}: at most one may be None", [loop])
    if not factors or any(factor <= 0 and factor != INFERRED for factor in factors):
        raise ScheduleError(f"factors {_text(factors)}: expected positive numbers, at least one", [loop])


def _divides(analyzer: Analyzer, loop: ForOp, extent: Lin, known: int, *, inferred: bool) -> bool:
    """Whether the new loops run exactly the iterations of the old one. ScheduleError if they would run fewer."""
    if inferred:
        return analyzer.constant(analyzer.floormod(extent, known)) == 0
    if not analyzer.is_provably("ge", known, extent):
        most = analyzer.bounds(extent)[1] if analyzer.constant(extent) is not None else "an extent that is not known"
        raise ScheduleError(
            f"the product of the factors, {known}, is less than the extent of loop {name_of(loop)}, {most}; "
            "a None among the factors is inferred",
            [loop],
        )
    return analyzer.is_provably("eq", extent, known)


def _check_width(loop: ForOp, analyzer: Analyzer, low: Lin, sizes: Sequence[Lin]) -> None:
    """ScheduleError if the last iteration that the new loops run does not fit the type of the variable."""
    dtype = dtype_of(loop.variable.type)
    last = analyzer.bounds(low)[1] + prod(max(analyzer.bounds(size)[1], 0) for size in sizes) - 1
    known = all(analyzer.constant(size) is not None for size in sizes)
    if known and last > int_range(dtype)[1]:
        raise ScheduleError(f"loop {name_of(loop)} would count to {last}, which does not fit {dtype}", [loop])


def _split(
    analyzer: Analyzer, loop: ForOp, low: Lin, extent: Lin, sizes: Sequence[Lin], *, guarded: bool
) -> list[ForOp]:
    type = loop.variable.type
    builder = builder_before(loop)
    loops = [
        make_loop(f"{name_of(loop)}_{i}", 0, number(analyzer, size, builder, type), type, kind=loop.kind.data)
        for i, size in enumerate(sizes)
    ]
    index = Lin()
    for new, size in zip(loops, sizes, strict=True):
        index = index.times(size) + Lin.of(new.variable)
    outer = place_nest(loops, loop)
    replace_by_sum(analyzer, loop.variable, low + index)
    move_body(loop.body.block, loops[-1].body.block)
    erase_statement(loop)
    if guarded:
        guard(loops[-1].body.block, lambda b: _less(analyzer, b, low + index, low + extent, type))
    simplify_blocks([outer])
    return loops


def place_nest(loops: Sequence[ForOp], place: Operation) -> ForOp:
    """Put loops into each other, outermost first, and all in front of a statement: its expressions stay with it. Gives
    the outermost."""
    block = place.parent
    assert block is not None
    for outer, inner in pairwise(loops):
        outer.body.block.add_op(inner)
    block.insert_op_before(loops[0], place)
    return loops[0]


def _less(analyzer: Analyzer, builder: TirBuilder, a: Lin, b: Lin, type: Attribute) -> SSAValue:
    lhs, rhs = (export(analyzer, side, builder, type) for side in (a, b))
    return builder.binary("lt", lhs, rhs)


# fuse


@applies(FuseOp)
def fuse(state: State, loops: list[ForOp], preserve_unit_iters: bool) -> ForOp:
    if not loops:
        raise ScheduleError("expected one or more loops")
    for loop in loops:
        require_plain(loop, "fuse it")
    for outer, inner in pairwise(loops):
        if only_child(outer) is not inner:
            raise ScheduleError(
                f"loop {name_of(inner)} is not the only statement in loop {name_of(outer)}",
                {outer: "expected directly around the other", inner: ""},
            )
        for other in loops[: loops.index(inner)]:
            if depends_on(inner.bounds, other.variable):
                raise ScheduleError(
                    f"the bounds of loop {name_of(inner)} depend on loop {name_of(other)}", {inner: "", other: ""}
                )
    with state.changing(check=False):
        return _fuse(loops)


def _fuse(loops: Sequence[ForOp]) -> ForOp:
    analyzer = Analyzer(through_lets=False)
    outermost, innermost = loops[0], loops[-1]
    type = outermost.variable.type
    extents = [analyzer.exact(loop.mixed_bounds[1]) for loop in loops]
    total = Lin(1)
    for extent in extents:
        total = total.times(extent)
    fused = make_loop(
        "_".join(name_of(loop) for loop in loops) + "_fused",
        0,
        number(analyzer, total, builder_before(outermost), type),
        type,
    )
    outermost.parent.insert_op_before(fused, outermost)  # pyright: ignore[reportOptionalMemberAccess]
    rest = Lin.of(fused.variable)
    indices: list[Lin] = []
    for loop, extent in reversed(list(zip(loops, extents, strict=True))):
        last = loop is outermost
        index = rest if last else analyzer.floormod(rest, extent)
        rest = rest if last else analyzer.floordiv(rest, extent)
        indices.append(index + analyzer.exact(loop.mixed_bounds[0]))
    for loop, index in zip(reversed(loops), indices, strict=True):
        replace_by_sum(analyzer, loop.variable, index)
    move_body(innermost.body.block, fused.body.block)
    erase_statement(outermost)
    simplify_blocks([fused])
    return fused


# reorder


@applies(ReorderOp)
def reorder(state: State, ordered_loops: list[ForOp]) -> None:
    if len(set(ordered_loops)) != len(ordered_loops):
        twice = next(loop for loop in ordered_loops if ordered_loops.count(loop) > 1)
        raise ScheduleError(f"loop {name_of(twice)} is given twice", [twice])
    if len(ordered_loops) < 2:
        return
    nest = _nest(ordered_loops)
    moved = iter(ordered_loops)
    chosen = set(ordered_loops)
    order = [next(moved) if loop in chosen else loop for loop in nest]
    _check_bounds(order)
    with state.changing([nest[0]], check=not keeps_any_order(nest[0])):
        _rearrange(nest, order)


def _nest(loops: Sequence[ForOp]) -> list[ForOp]:
    """The loops from the outermost to the innermost of some, each the only statement in the one before."""
    waiting = set(loops)
    outermost = next(
        loop for loop in loops if all(loop is other or loop.is_ancestor(other) for other in loops) or loop is loops[-1]
    )
    nest: list[ForOp] = []
    op: Operation | None = outermost
    while isinstance(op, ForOp):
        nest.append(op)
        waiting.discard(op)
        if not waiting:
            return nest
        op = only_child(op)
    missing = next(loop for loop in loops if loop in waiting)
    raise ScheduleError(
        f"loops {', '.join(map(name_of, loops))} are not in one nest, in which each loop is the only statement in the "
        f"one around it: {name_of(missing)} is not reached from {name_of(outermost)}",
        {missing: "", nest[-1]: "ends here"},
    )


def _check_bounds(order: Sequence[ForOp]) -> None:
    for position, loop in enumerate(order):
        for inner in order[position + 1 :]:
            if depends_on(loop.bounds, inner.variable):
                raise ScheduleError(
                    f"the bounds of loop {name_of(loop)} depend on loop {name_of(inner)}, which would be inside of it",
                    {loop: "", inner: ""},
                )


def _rearrange(nest: Sequence[ForOp], order: Sequence[ForOp]) -> None:
    innermost = nest[-1]
    last = order[-1]
    content = list(innermost.body.block.ops)
    head = {loop: with_expressions(loop)[:-1] for loop in nest}
    place = head[nest[0]][0] if head[nest[0]] else nest[0]
    parent, after = place.parent, nest[0].next_op
    assert parent is not None
    for op in content:
        op.detach()
    for loop in reversed(nest):
        for op in (*head[loop], loop):
            op.detach()
    target = parent
    for loop in order:
        for op in (*head[loop], loop):
            if target is parent and after is not None:
                parent.insert_op_before(op, after)
            else:
                target.add_op(op)
        target = loop.body.block
    for op in content:
        last.body.block.add_op(op)

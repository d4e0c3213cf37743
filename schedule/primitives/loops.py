"""The primitives `split`, `fuse` and `reorder`: transformations of loop nests."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from math import prod
from typing import Any, cast

from xdsl.dialects.builtin import i64
from xdsl.ir import Attribute, Operation, SSAValue

from ...analysis.index import Analyzer, Lin, export, type_range
from ...analysis.names import loop_name
from ...analysis.scopes import depends_on, only_child
from ...core.dtypes import dtype_of
from ...core.errors import ScheduleError
from ...dialects.schedule import INFERRED, FuseOp, ReorderOp, SplitOp
from ...dialects.tir import ForOp, TirBuilder
from ...dialects.tir.tree import (
    erase_if_dead,
    erase_statement,
    is_expression_op,
    is_pure_expression,
    treeify,
    with_expressions,
)
from ..concurrency import require_concurrent_loops
from ..handles import ExprRV, LoopRV
from ..legality import allows_any_order
from ..recorder import Recorder
from ..rewriting.nest import (
    builder_before,
    export_mixed,
    guard,
    make_loop,
    move_body,
    replace_by_sum,
    simplify_blocks,
)
from ..state import State, applies

Factor = int | ExprRV | None


class LoopPrimitives(Recorder):
    """Primitives that change the loop nest around blocks."""

    def split(
        self,
        loop: LoopRV,
        factors: Sequence[Factor],
        preserve_unit_iters: bool = True,
        disable_predication: bool = False,
    ) -> list[LoopRV]:
        """Split a loop into a nest of loops, one for each factor, outermost first.

            for i in range(130):                for i_0, i_1 in T.grid(17, 8):
                with T.block("B"):                  with T.block("B"):
                    vi = T.axis.spatial(130, i) ->      vi = T.axis.spatial(130, i_0 * 8 + i_1)
                    B[vi] = A[vi] + 1.0                 T.where(i_0 * 8 + i_1 < 130)
                                                        B[vi] = A[vi] + 1.0

        loop: a loop without annotations, not bound to a thread.  factors: the extents of the new loops; one may be None
        or -1, which is inferred from the others.  preserve_unit_iters: recorded in the trace as in TVM; a loop of one
        iteration is always kept.  disable_predication: emit no guard; the factors must divide the extent.
        Returns the new loops. There is no guard if the factors provably divide the extent, which may be symbolic
        (`n * 32`); for a product that may wrap, only powers of two do. Always legal: the instances and their order do
        not change. ScheduleError if the factors are too small for the extent, or the loop cannot be split.
        """
        factors = checked_factors("split", factors)
        return self.record(
            SplitOp,
            loop=loop,
            factors=factors,
            preserve_unit_iters=preserve_unit_iters,
            disable_predication=disable_predication,
        )

    def fuse(self, *loops: LoopRV, preserve_unit_iters: bool = True) -> LoopRV:
        """Fuse directly nested loops into one loop.

            for i, j in T.grid(16, 8):              for i_j_fused in range(128):
                with T.block("B"):                      with T.block("B"):
                    vi, vj = ...remap("SS", [i, j]) ->      vi = T.axis.spatial(16, i_j_fused // 8)
                                                            vj = T.axis.spatial(8, i_j_fused % 8)

        loops: outermost first, each the only statement in the previous loop; without annotations, not bound to threads.
        Returns the new loop, whose variable is an int64 if the number of iterations may not fit the type of the others.
        Always legal. ScheduleError if the loops are not nested in this way, the extent of one loop depends on another
        loop, or the number of iterations may not fit int64.
        """
        return self.record(FuseOp, loops=loops, preserve_unit_iters=preserve_unit_iters)[0]

    def reorder(self, *ordered_loops: LoopRV) -> None:
        """Reorder loops of one nest, outermost first; other loops between them keep their positions.

            for i, j in T.grid(16, 8):          for j, i in T.grid(8, 16):
                with T.block("B"):       ->         with T.block("B"):

        ordered_loops: loops of one nest, in which each loop from the outermost to the innermost of them is the only
        statement in the previous loop. The bounds of a loop must not depend on a loop that would be nested in it.
        Legal if every instance still reads the same values; the contributions to a reduction may come in any order.
        ScheduleError with two conflicting instances if not.
        """
        self.record(ReorderOp, ordered_loops=ordered_loops)


def checked_factors(primitive: str, factors: Any) -> list[int | ExprRV]:
    """The factors of a primitive, with INFERRED for None. ScheduleError unless they are a list of numbers."""
    items = cast("list[Any]", list(factors) if isinstance(factors, list | tuple) else ["none"])
    if not all(factor is None or isinstance(factor, int | ExprRV) for factor in items):
        error = ScheduleError(f"factors {factors!r}: expected a list of numbers, numbers of the trace, and None")
        error.primitive = primitive
        raise error
    return [INFERRED if factor is None else factor for factor in items]


def require_plain(loop: ForOp, action: str) -> None:
    """Raise ScheduleError if a loop has annotations, a thread axis or a step, which do not apply to parts of it."""
    if loop.thread is not None:
        raise ScheduleError(f"loop {loop_name(loop)} is bound to {loop.thread.data}; {action} before binding", [loop])
    if loop.annotations is not None:
        keys = ", ".join(loop.annotations.data)
        raise ScheduleError(f"loop {loop_name(loop)} has annotations ({keys}); {action} before annotating", [loop])
    if loop.mixed_bounds[2] != 1:
        raise ScheduleError(f"loop {loop_name(loop)} has a step other than 1", [loop])


def require_distinct(loops: Sequence[ForOp]) -> None:
    """Raise ScheduleError if a loop occurs twice in a list."""
    for loop in loops:
        if loops.count(loop) > 1:
            raise ScheduleError(f"loop {loop_name(loop)} is given twice", [loop])


def require_nested(loops: Sequence[ForOp]) -> None:
    """Raise ScheduleError unless each loop is the only statement in the previous one."""
    for outer, inner in pairwise(loops):
        if only_child(outer) is not inner:
            raise ScheduleError(
                f"loop {loop_name(inner)} is not the only statement in loop {loop_name(outer)}",
                {outer: "expected directly around the other", inner: ""},
            )


def widest_type(loops: Sequence[ForOp]) -> Attribute:
    """The widest type of the variables of loops."""
    return max((loop.variable.type for loop in loops), key=lambda type: dtype_of(type).bits)


# split


@applies(SplitOp)
def split(
    state: State, loop: ForOp, factors: list[int], preserve_unit_iters: bool, disable_predication: bool
) -> list[ForOp]:
    require_plain(loop, "split it")
    analyzer = Analyzer(through_lets=False)
    low, extent = (analyzer.exact(bound) for bound in loop.mixed_bounds[:2])
    require_factors(loop, factors)
    known = prod(factor for factor in factors if factor != INFERRED)
    inferred = INFERRED in factors
    divides = _divides(analyzer, loop, extent, known, inferred=inferred)
    rounded = extent if divides else extent + (known - 1)
    sizes = [Lin(factor) for factor in factors]
    if inferred:
        sizes[factors.index(INFERRED)] = analyzer.floordiv(rounded, known)
    if disable_predication and not divides:
        raise ScheduleError(
            f"the factors {factors_text(factors)} may not divide the extent of loop {loop_name(loop)}, so it needs the "
            "guard that disable_predication forbids",
            [loop],
        )
    guard_type = _counting_type(analyzer, loop, low, None if divides else rounded, sizes)
    with state.changing(check=False):
        return _split(analyzer, loop, low, extent, sizes, None if divides else guard_type)


def factors_text(factors: Sequence[int]) -> str:
    """Factors as a Python list, None for the inferred one."""
    return f"[{', '.join('None' if factor == INFERRED else str(factor) for factor in factors)}]"


def require_factors(loop: ForOp, factors: Sequence[int]) -> None:
    """Raise ScheduleError unless factors are positive, at least one, and at most one of them is inferred."""
    if factors.count(INFERRED) > 1:
        raise ScheduleError(f"factors {factors_text(factors)}: at most one may be None", [loop])
    if not factors or any(factor <= 0 and factor != INFERRED for factor in factors):
        raise ScheduleError(f"factors {factors_text(factors)}: expected positive numbers, at least one", [loop])


def _divides(analyzer: Analyzer, loop: ForOp, extent: Lin, known: int, *, inferred: bool) -> bool:
    """Whether the new loops run exactly the iterations of the old loop. ScheduleError if they would run fewer."""
    if inferred:
        return analyzer.is_multiple(loop.mixed_bounds[1], known)
    if not analyzer.is_provably("ge", known, extent):
        number = analyzer.constant(extent)
        most = "which is not known" if number is None else str(number)
        raise ScheduleError(
            f"the product of the factors, {known}, must not be less than the extent of loop {loop_name(loop)}, {most}; "
            "a None among the factors is inferred",
            [loop],
        )
    return analyzer.is_provably("eq", extent, known)


def _counting_type(analyzer: Analyzer, loop: ForOp, low: Lin, rounded: Lin | None, sizes: Sequence[Lin]) -> Attribute:
    """The integer type for the index of the last iteration and the intermediate values of its computation: the type of
    the variable, or a wider one. ScheduleError if no type is wide enough.

    rounded: the sum from which an extent is inferred by division; None if the factors divide the extent.
    """
    own = loop.variable.type
    for size in sizes:
        if not analyzer.fits(size, own):
            raise ScheduleError(f"a loop of extent {analyzer.bounds(size)[1]} does not fit {dtype_of(own)}", [loop])
    first = analyzer.bounds(low)[1]
    last = first + prod(max(analyzer.bounds(size)[1], 0) for size in sizes) - 1
    if rounded is not None and not all(analyzer.constant(size) is not None for size in sizes):
        last = max(last, analyzer.bounds(rounded)[1], first + analyzer.bounds(rounded)[1])
    for type in (own, i64):
        if last <= type_range(type)[1]:
            return type
    raise ScheduleError(f"loop {loop_name(loop)} may count to {last}, which does not fit {dtype_of(i64)}", [loop])


def _split(
    analyzer: Analyzer, loop: ForOp, low: Lin, extent: Lin, sizes: Sequence[Lin], guard_type: Attribute | None
) -> list[ForOp]:
    """Replace a loop by nested loops of the given sizes. guard_type: the type of the guard; None without a guard."""
    type = loop.variable.type
    builder = builder_before(loop)
    loops = [
        make_loop(f"{loop_name(loop)}_{i}", 0, export_mixed(analyzer, size, builder, type), type)
        for i, size in enumerate(sizes)
    ]
    index = Lin()
    for new, size in zip(loops, sizes, strict=True):
        index = index.times(size) + Lin.of(new.variable)
    outer = insert_nest(loops, loop)
    replace_by_sum(analyzer, loop.variable, low + index)
    move_body(loop.body.block, loops[-1].body.block)
    erase_statement(loop)
    if guard_type is not None:
        guard(loops[-1].body.block, lambda b: _less(analyzer, b, low + index, low + extent, guard_type))
    _unshare(outer, (low, extent))
    simplify_blocks([outer])
    return loops


def insert_nest(loops: Sequence[ForOp], place: Operation) -> ForOp:
    """Nest loops in each other, outermost first, and insert them before a statement, after its expressions; returns the
    outermost loop."""
    block = place.parent
    assert block is not None
    for outer, inner in pairwise(loops):
        outer.body.block.add_op(inner)
    block.insert_op_before(loops[0], place)
    return loops[0]


def _less(analyzer: Analyzer, builder: TirBuilder, a: Lin, b: Lin, type: Attribute) -> SSAValue:
    lhs, rhs = (export(analyzer, side, builder, type) for side in (a, b))
    return builder.binary("lt", lhs, rhs)


def _unshare(loop: ForOp, sums: Sequence[Lin]) -> None:
    """Give each statement its own copy of the expressions from which the bounds of a loop were computed; names are not
    copied."""
    owners = (leaf.owner for lin in sums for leaf in lin.leaves())
    parent = loop.parent_op()
    if parent is not None and any(isinstance(owner, Operation) and is_expression_op(owner) for owner in owners):
        treeify(parent)


# fuse


@applies(FuseOp)
def fuse(state: State, loops: list[ForOp], preserve_unit_iters: bool) -> ForOp:
    if not loops:
        raise ScheduleError("expected one or more loops")
    require_distinct(loops)
    for loop in loops:
        require_plain(loop, "fuse it")
    require_nested(loops)
    for n, inner in enumerate(loops):
        _check_hoistable(inner, loops[:n])
    analyzer = Analyzer(through_lets=False)
    type = widest_type(loops)
    extents = [analyzer.maximum(analyzer.exact(loop.mixed_bounds[1]), Lin()) for loop in loops]
    total = Lin(1)
    for extent in extents:
        total = analyzer.mul(total, extent)
    fitting = next((t for t in (type, i64) if analyzer.fits(total, t)), None)
    if fitting is None:
        raise ScheduleError(
            f"the product of the extents may be as large as {analyzer.bounds(total)[1]}, which does not fit "
            f"{dtype_of(i64)}",
            loops,
        )
    with state.changing(check=False):
        return _fuse(analyzer, loops, extents, total, fitting)


def _check_hoistable(loop: ForOp, around: Sequence[ForOp]) -> None:
    """Raise ScheduleError unless the bounds of a loop can be computed before the loops around it."""
    for other in around:
        if depends_on(loop.bounds, other.variable):
            raise ScheduleError(
                f"the bounds of loop {loop_name(loop)} depend on loop {loop_name(other)}", {loop: "", other: ""}
            )
    if around and not all(is_pure_expression(op) for op in with_expressions(loop)[:-1]):
        raise ScheduleError(
            f"the bounds of loop {loop_name(loop)} are read from memory, or come from a call, inside of loop "
            f"{loop_name(around[-1])}",
            {loop: "", around[-1]: ""},
        )


def _fuse(analyzer: Analyzer, loops: Sequence[ForOp], extents: Sequence[Lin], total: Lin, type: Attribute) -> ForOp:
    outermost, innermost = loops[0], loops[-1]
    lows = [analyzer.exact(loop.mixed_bounds[0]) for loop in loops]
    bounds = [bound for loop in loops for bound in loop.bounds]
    block = outermost.parent
    assert block is not None
    for loop in loops[1:]:
        for op in with_expressions(loop)[:-1]:
            op.detach()
            block.insert_op_before(op, outermost)
    name = "_".join(loop_name(loop) for loop in loops) + "_fused"
    fused = make_loop(name, 0, export_mixed(analyzer, total, builder_before(outermost), type), type)
    block.insert_op_before(fused, outermost)
    for loop, index in zip(loops, _digits(analyzer, fused, extents), strict=True):
        replace_by_sum(analyzer, loop.variable, index + lows[loops.index(loop)])
    move_body(innermost.body.block, fused.body.block)
    erase_statement(outermost)
    for value in bounds:
        erase_if_dead(value)
    _unshare(fused, [*lows, *extents])
    simplify_blocks([fused])
    return fused


def _digits(analyzer: Analyzer, fused: ForOp, extents: Sequence[Lin]) -> list[Lin]:
    """The digits of the variable of a loop in a mixed radix, most significant first. The extents are assumed to be
    positive, as the loop would not run otherwise."""
    if Lin() in extents:
        return [Lin.of(fused.variable), *(Lin() for _ in extents[1:])]
    digits: list[Lin] = []
    with analyzer.assumptions():
        for extent in extents:
            analyzer.assume_not_negative(extent - 1)
        rest = Lin.of(fused.variable)
        for extent in reversed(extents[1:]):
            digits.append(analyzer.floormod(rest, extent))
            rest = analyzer.floordiv(rest, extent)
    return [rest, *reversed(digits)]


# reorder


@applies(ReorderOp)
def reorder(state: State, ordered_loops: list[ForOp]) -> None:
    require_distinct(ordered_loops)
    if len(ordered_loops) < 2:
        return
    nest = _nest(ordered_loops)
    moved = iter(ordered_loops)
    chosen = set(ordered_loops)
    order = [next(moved) if loop in chosen else loop for loop in nest]
    _check_bounds(order)
    with state.changing([nest[0]], check=state.checked and not allows_any_order(nest[0])):
        _rearrange(nest, order)
        if state.checked:
            require_concurrent_loops(order)


def _nest(loops: Sequence[ForOp]) -> list[ForOp]:
    """The loops from the outermost to the innermost of `loops`, each the only statement in the previous loop."""
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
        f"loops {', '.join(map(loop_name, loops))} are not in one nest, in which each loop is the only statement in "
        f"the one around it: {loop_name(missing)} is not reached from {loop_name(outermost)}",
        {missing: "", nest[-1]: "ends here"},
    )


def _check_bounds(order: Sequence[ForOp]) -> None:
    for position, loop in enumerate(order):
        for inner in order[position + 1 :]:
            if depends_on(loop.bounds, inner.variable):
                raise ScheduleError(
                    f"the bounds of loop {loop_name(loop)} depend on loop {loop_name(inner)}, which would be inside of "
                    "it",
                    {loop: "", inner: ""},
                )


def _rearrange(nest: Sequence[ForOp], order: Sequence[ForOp]) -> None:
    innermost = nest[-1]
    last = order[-1]
    content = list(innermost.body.block.ops)
    head = {loop: with_expressions(loop)[:-1] for loop in nest}
    first = head[nest[0]][0] if head[nest[0]] else nest[0]
    parent, after = first.parent, nest[0].next_op
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

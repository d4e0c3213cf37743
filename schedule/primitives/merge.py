"""The primitive `merge`: loops of sibling nests become one loop."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import Operation, SSAValue

from ...analysis.index import Analyzer, Lin
from ...analysis.names import loop_name
from ...analysis.scopes import (
    child_towards,
    lowest_common_ancestor,
    ops_between,
    precedes_in_text,
    statements,
)
from ...core.errors import ScheduleError
from ...dialects.schedule import MergeOp
from ...dialects.tir import ForOp, TirBuilder
from ...dialects.tir.tree import erase_statement, treeify
from ..handles import LoopRV
from ..recorder import Recorder
from ..rewriting.nest import (
    builder_before,
    export_mixed,
    function_of,
    make_loop,
    move_body,
    replace_by_sum,
    simplify_blocks,
)
from ..state import State, applies
from .loops import require_distinct, require_nested, require_plain, widest_type


class MergePrimitives(Recorder):
    """The primitive that merges sibling loops."""

    def merge(self, *loops: LoopRV) -> LoopRV:
        """Merge loops of sibling nests, with the same extents, into one loop that contains all of their bodies.

            for i in range(8):                      for i_m in range(8):
                with T.block("B"):                      with T.block("B"):
                    vi = T.axis.spatial(8, i)               vi = T.axis.spatial(8, i_m)
                    B[vi] = A[vi] * 2.0                     B[vi] = A[vi] * 2.0
            for i in range(8):              ->          with T.block("C"):
                with T.block("C"):                          vi = T.axis.spatial(8, i_m)
                    vi = T.axis.spatial(8, i)               C[vi] = A[vi] + 1.0
                    C[vi] = A[vi] + 1.0

        loops: two or more loops without annotations, not bound to threads, in nests of the same depth below the
        innermost statement around all of them. From the outermost loop of each nest on, each loop must be the only
        statement in the previous loop, and equal to the loops of the other nests at its depth in the number of
        iterations.
        Returns the new loop. The outer loops of the nests are merged too; the new nest is at the position of the last
        one, and contains the bodies in the order of the arguments.
        Legal if every instance still reads the same values. ScheduleError with two conflicting instances if not, or if
        the nests differ.
        """
        return self.record(MergeOp, loops=loops)[0]


Nest = list[ForOp]
"""Loops, each the only statement in the previous one."""


@applies(MergeOp)
def merge(state: State, loops: list[ForOp]) -> ForOp:
    if len(loops) < 2:
        raise ScheduleError("expected two or more loops", loops)
    require_distinct(loops)
    common = lowest_common_ancestor(loops)
    nests = [_nest(loop, common) for loop in loops]
    _require_siblings(nests, common)
    analyzer = Analyzer(through_lets=False)
    extents = _common_extents(analyzer, nests)
    bodies = [op for loop in loops for op in statements(loop.body.block)]
    with state.changing(bodies, among=[common]):
        return _merge(analyzer, nests, extents)


def _nest(loop: ForOp, common: Operation) -> Nest:
    """The loops from below `common` to `loop`. ScheduleError unless each is the only statement in the previous one."""
    if loop is common:
        raise ScheduleError(f"loop {loop_name(loop)} is around another of the loops", [loop])
    path = [*ops_between(loop, common), loop]
    other = next((op for op in path if not isinstance(op, ForOp)), None)
    if other is not None:
        raise ScheduleError(
            f"loop {loop_name(loop)} is in another scope or branch than the other loops", {loop: "", other: "in this"}
        )
    nest = [op for op in path if isinstance(op, ForOp)]
    for each in nest:
        require_plain(each, "merge it")
    require_nested(nest)
    return nest


def _require_siblings(nests: Sequence[Nest], common: Operation) -> None:
    """Raise ScheduleError unless nests have the same depth and are in the same branch."""
    first = nests[0]
    for nest in nests[1:]:
        if len(nest) != len(first):
            raise ScheduleError(
                f"loop {loop_name(nest[-1])} is nested {len(nest)} deep, and loop {loop_name(first[-1])} "
                f"{len(first)} deep, expected the same depth",
                {nest[-1]: "", first[-1]: ""},
            )
        if child_towards(common, nest[0]).parent is not child_towards(common, first[0]).parent:
            raise ScheduleError("the loops are in different branches", {nest[-1]: "", first[-1]: ""})


def _common_extents(analyzer: Analyzer, nests: Sequence[Nest]) -> list[Lin]:
    """The extents of the loops at each depth, as sums of the variables of the first nest and of values defined before
    the nests. ScheduleError unless they are equal in all nests."""
    extents = [_extents(analyzer, nest, nests[0]) for nest in nests]
    for nest, sums in zip(nests[1:], extents[1:], strict=True):
        for mine, theirs, loop, other in zip(sums, extents[0], nest, nests[0], strict=True):
            if not analyzer.is_provably("eq", mine, theirs):
                raise ScheduleError(
                    f"loops {loop_name(loop)} and {loop_name(other)} may differ in their number of iterations",
                    {loop: "", other: ""},
                )
    return extents[0]


def _extents(analyzer: Analyzer, nest: Nest, first: Nest) -> list[Lin]:
    """The extents of the loops of a nest in the variables of the first nest."""
    values: dict[SSAValue, Lin] = {}
    extents: list[Lin] = []
    for loop, other in zip(nest, first, strict=True):
        low, extent = (analyzer.substitute(analyzer.exact(bound), values) for bound in loop.mixed_bounds[:2])
        start = analyzer.substitute(analyzer.exact(other.mixed_bounds[0]), values)
        values[loop.variable] = Lin.of(other.variable) - start + low
        for leaf in extent.leaves():
            if nest[0].is_ancestor(leaf.owner) and all(leaf is not around.variable for around in first):
                raise ScheduleError(
                    f"the bounds of loop {loop_name(loop)} are read from memory, or come from a call, inside of loop "
                    f"{loop_name(nest[0])}",
                    {loop: "", nest[0]: ""},
                )
        extents.append(extent)
    return extents


def _merge(analyzer: Analyzer, nests: Sequence[Nest], extents: Sequence[Lin]) -> ForOp:
    last = nests[0][0]
    for nest in nests[1:]:
        last = nest[0] if precedes_in_text(last, nest[0]) else last
    merged = _new_nest(analyzer, nests, extents, last)
    for nest in nests:
        values: dict[SSAValue, Lin] = {}
        for loop, new in zip(nest, merged, strict=True):
            low = analyzer.substitute(analyzer.exact(loop.mixed_bounds[0]), values)
            values[loop.variable] = Lin.of(new.variable) + low
        for loop in nest:
            replace_by_sum(analyzer, loop.variable, values[loop.variable])
        move_body(nest[-1].body.block, merged[-1].body.block)
        erase_statement(nest[0])
    treeify(function_of(merged[0]))
    simplify_blocks([merged[0]])
    return merged[-1]


def _new_nest(analyzer: Analyzer, nests: Sequence[Nest], extents: Sequence[Lin], place: Operation) -> Nest:
    """Insert a nest of loops from 0 with some extents, which are sums of the variables of the first nest, before a
    statement; returns the loops."""
    merged: Nest = []
    values: dict[SSAValue, Lin] = {}
    builder = builder_before(place)
    for depth, extent in enumerate(extents):
        loops = [nest[depth] for nest in nests]
        type = widest_type(loops)
        count = export_mixed(analyzer, analyzer.substitute(extent, values), builder, type)
        new = builder.insert(make_loop(f"{loop_name(loops[0])}_m", 0, count, type))
        first = loops[0]
        values[first.variable] = Lin.of(new.variable) + analyzer.substitute(
            analyzer.exact(first.mixed_bounds[0]), values
        )
        builder = TirBuilder(new.body.block)
        merged.append(new)
    return merged

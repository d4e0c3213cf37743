"""The primitive `loop_partition`: the iterations of a loop divided among several loops."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import SSAValue

from ...analysis.names import block_name, fresh_block_name, loop_name
from ...analysis.scopes import child_blocks
from ...core.errors import ScheduleError
from ...core.walking import find_ops
from ...dialects.schedule import INFERRED, LoopPartitionOp
from ...dialects.tir import Axis, BlockOp, ForOp, SymbolOp
from ...dialects.tir.tree import captured_operands, erase_statement
from ..handles import LoopRV
from ..recorder import Recorder
from ..rewriting.init_nests import declare_accumulator_reads
from ..rewriting.nest import (
    function_of,
    make_loop,
    move_body,
    rename_block,
    renew_accesses,
    set_axes,
    simplify_blocks,
)
from ..state import State, applies
from .loops import Factor, checked_factors, factors_text, require_factors, require_plain


class LoopPartitionPrimitives(Recorder):
    """The primitive that divides the iterations of a loop among several loops."""

    def loop_partition(self, loop: LoopRV, factors: Sequence[Factor], preserve_unit_iters: bool = True) -> list[LoopRV]:
        """Divide the iterations of a loop among several loops, which follow one another.

            for i in range(16):                     with T.block("B_i_common"):
                with T.block("B"):                      with T.block("B_i0_partition"):
                    vi = T.axis.spatial(16, i)              for i0 in range(12):
                    B[vi] = A[vi] + 1.0       ->                with T.block("B_i0"):
                                                        with T.block("B_i1_partition"):
                                                            for i1 in range(12, 16):
                                                                with T.block("B_i1"):

        loop: a loop from a known start with a known extent, without annotations, not bound to a thread.  factors: the
        numbers of iterations of the new loops; one may be None or -1, which is inferred from the others. If none is,
        the rest of the iterations is one more loop.  preserve_unit_iters: recorded in the trace as in TVM; a loop of
        one iteration is always kept.
        Returns the new loops. Each is in a block of its own, and these are in one block, as in TVM, so that they are
        scopes of their own. The blocks in the loop are copied, and renamed after the new loops; a spatial axis that is
        bound to the loop has the iterations of the new loop as its domain.
        Always legal: the instances and their order do not change. The init of a reduction stays in the partition that
        runs it. ScheduleError if the factors exceed the extent, or the loop cannot be divided.
        """
        return self.record(
            LoopPartitionOp,
            loop=loop,
            factors=checked_factors("loop_partition", factors),
            preserve_unit_iters=preserve_unit_iters,
        )


@applies(LoopPartitionOp)
def loop_partition(state: State, loop: ForOp, factors: list[int], preserve_unit_iters: bool) -> list[ForOp]:
    require_plain(loop, "divide it")
    low, extent = loop.mixed_bounds[:2]
    if not isinstance(low, int) or not isinstance(extent, int):
        raise ScheduleError(f"the start and the extent of loop {loop_name(loop)} are not known numbers", [loop])
    counts = _counts(loop, factors, extent)
    with state.changing(check=False):
        return _partition(loop, low, counts)


def _counts(loop: ForOp, factors: list[int], extent: int) -> list[int]:
    """The numbers of iterations of the new loops. ScheduleError if no iteration is left for the last, or inferred,
    loop."""
    require_factors(loop, factors)
    rest = extent - sum(factor for factor in factors if factor != INFERRED)
    if rest <= 0:
        raise ScheduleError(
            f"the sum of the factors {factors_text(factors)} must be less than the extent of loop {loop_name(loop)}, "
            f"{extent}",
            [loop],
        )
    wanted = factors if INFERRED in factors else [*factors, rest]
    return [rest if factor == INFERRED else factor for factor in wanted]


def _partition(loop: ForOp, low: int, counts: Sequence[int]) -> list[ForOp]:
    func = function_of(loop)
    blocks = child_blocks(loop)
    prefix = f"{block_name(blocks[0])}_{loop_name(loop)}" if blocks else loop_name(loop)
    common = BlockOp(fresh_block_name(func, f"{prefix}_common"))
    assert loop.parent is not None
    loop.parent.insert_op_before(common, loop)
    parts: list[BlockOp] = []
    loops: list[ForOp] = []
    for n, count in enumerate(counts):
        part = BlockOp(fresh_block_name(func, f"{prefix}{n}_partition"))
        common.body.block.add_op(part)
        new = make_loop(f"{loop_name(loop)}{n}", low, count, loop.variable.type)
        part.body.block.add_op(new)
        _copy_body(loop, new)
        for block in find_ops(new, BlockOp):
            rename_block(block, fresh_block_name(func, f"{block_name(block)}_{loop_name(new)}"))
            _restrict(block, new.variable, low, count)
        parts.append(part)
        loops.append(new)
        low += count
    _erase_with_symbols(loop)
    simplify_blocks(loops)
    renew_accesses([*parts, common])
    return loops


def _copy_body(loop: ForOp, new: ForOp) -> None:
    """Copy the body of a loop into a new loop, with symbols of its own for the views in it."""
    copy = loop.clone(_own_symbols(loop))
    copy.variable.replace_all_uses_with(new.variable)
    move_body(copy.body.block, new.body.block)
    copy.erase()


def _own_symbols(loop: ForOp) -> dict[SSAValue, SSAValue]:
    """New symbols for those that are used in a loop alone: views in it define their values."""
    known: dict[SSAValue, SSAValue] = {}
    for value in dict.fromkeys(captured_operands(loop)):
        symbol = value.owner
        if isinstance(symbol, SymbolOp) and all(loop.is_ancestor(use.operation) for use in value.uses):
            assert symbol.parent is not None
            new = symbol.clone()
            symbol.parent.insert_op_before(new, symbol)
            known[value] = new.results[0]
    return known


def _erase_with_symbols(loop: ForOp) -> None:
    """Erase a loop, and the symbols that are used in it alone."""
    symbols = dict.fromkeys(value.owner for value in captured_operands(loop) if isinstance(value.owner, SymbolOp))
    erase_statement(loop)
    for symbol in symbols:
        if symbol.results[0].first_use is None:
            symbol.detach()
            symbol.erase()


def _restrict(block: BlockOp, variable: SSAValue, low: int, count: int) -> None:
    """Restrict the domains of the spatial axes that are bound to a loop variable to its values, and remove an init that
    runs in none of them."""
    axes: list[Axis] = []
    has_init = True
    for axis in block.axes:
        is_bound = axis.binding is variable
        if is_bound and axis.kind != "spatial" and isinstance(axis.low, int):
            has_init = has_init and low <= axis.low < low + count
        axes.append(
            Axis(axis.name, axis.kind, low, count, axis.binding) if is_bound and axis.kind == "spatial" else axis
        )
    set_axes(block, axes)
    if block.init is not None and not has_init:
        erase_statement(block.init)
        declare_accumulator_reads(block)

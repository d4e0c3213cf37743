"""`blockize`: what is inside of a loop, or some blocks side by side, as one block around them."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import Operation

from ...analysis.names import block_name, fresh_block_name, loop_name
from ...analysis.scopes import child_blocks, child_towards, lowest_common_ancestor, scope_of, statements
from ...core.errors import ScheduleError
from ...dialects.schedule import BlockizeOp
from ...dialects.tir import BlockOp, ForOp, FuncOp, IfOp
from ..handles import BlockLike, BlockRV, LoopRV
from ..legality import Change
from ..recorder import Recorder
from ..rewriting.init_nests import TakenInit, plan_init, take_out_init
from ..rewriting.nest import all_in_blocks, function_of
from ..rewriting.subspaces import OuterBlock, Part, divide_block
from ..state import Place, State, applies


class BlockizePrimitives(Recorder):
    """Primitives that make scopes."""

    def blockize(self, target: LoopRV | BlockLike | list[BlockLike], preserve_unit_iters: bool = True) -> BlockRV:
        """Make everything inside of a loop, and the loop, one block; or some blocks that stand side by side.

            for i_0, i_1 in T.grid(4, 8):           for i_0 in range(4):
                with T.block("B"):                      with T.block("B_o"):
                    vi = T.axis.spatial(                    vi_o = T.axis.spatial(4, i_0)
                        32, i_0 * 8 + i_1)      ->          T.reads(A[vi_o * 8:vi_o * 8 + 8])
                    B[vi] = A[vi] + 1.0                     T.writes(B[vi_o * 8:vi_o * 8 + 8])
                                                            for i_1 in range(8):
                                                                with T.block("B"):
                                                                    vi_i = T.axis.spatial(8, i_1)
                                                                    B[vi_o * 8 + vi_i] = A[vi_o * 8 + vi_i] + 1.0

        The axes of each block inside are taken apart into what the loops around the new block choose and what those in
        it do. The init of a reduction becomes that of the new block, with loops around it.

        target: a loop, with one or more blocks below and nothing outside of blocks; or blocks whose statements directly
        follow each other, with no other blocks in these.  preserve_unit_iters: kept in the trace as TVM does; an outer
        axis of one value is always there, and bound to 0.
        Returns the new block. `get_loops` of the blocks inside gives the loops in it from now on.
        Legal where all inits of one instance of the new block may run before everything else in it. ScheduleError with
        two instances that conflict if not, or with the axis that cannot be taken apart.
        """
        if isinstance(target, list | tuple):
            targets: list[BlockRV | LoopRV] = [self._block(block) for block in target]
        else:
            targets = [target if isinstance(target, LoopRV) else self._block(target)]
        return self.record(BlockizeOp, target=targets, preserve_unit_iters=preserve_unit_iters)[0]


@applies(BlockizeOp)
def blockize(state: State, target: list[ForOp | BlockOp | FuncOp | Place], preserve_unit_iters: bool) -> BlockOp:
    roots, blocks = _roots(target)
    for root in roots:
        if isinstance(root, ForOp | IfOp) and not all(all_in_blocks(region.block) for region in root.regions):
            raise ScheduleError("expected all statements to be inside of blocks; not so in", {root: "here"})
    parts = [divide_block(block, roots) for block in blocks]
    inits = [plan_init(part.block, part.root, roots[0]) for part in parts if part.block.init is not None]
    outer = OuterBlock(parts, roots)
    func = function_of(blocks[0])
    name = _name(blocks if isinstance(target[0], ForOp) else [op for op in target if isinstance(op, BlockOp)])

    def take_out(change: Change) -> list[TakenInit]:
        taken: list[TakenInit] = []
        for plan in inits:
            init_name = fresh_block_name(func, f"{block_name(plan.block)}_init")
            init = take_out_init(plan, init_name, further=outer.write_is_first)
            change.renamed[init.block] = plan.block
            taken.append(init)
        return taken

    taken: list[TakenInit] = []
    if inits:
        with state.changing(_checked(roots, parts)) as change:
            taken = take_out(change)
    with state.changing(check=False):
        by_block = {plan.block: init for plan, init in zip(inits, taken, strict=True)}
        return outer.build(fresh_block_name(func, name), by_block)


def _checked(roots: Sequence[Operation], parts: Sequence[Part]) -> Sequence[Operation]:
    """What moves, for the check: with the loops around where their extents are not known, as the init may run by what
    is known of these."""
    loops = parts[0].outer_loops
    return [loops[0]] if any(loop.bounds for loop in loops) else roots


def _name(blocks: Sequence[BlockOp]) -> str:
    names = [block_name(block) for block in blocks]
    return f"{names[0]}_o" if len(names) == 1 else f"outer_{'_'.join(names)}_"


def _roots(target: Sequence[Operation | Place]) -> tuple[list[Operation], list[BlockOp]]:
    """The statements that the new block will contain, and the blocks in them, in program order."""
    if len(target) == 1 and isinstance(loop := target[0], ForOp):
        blocks = child_blocks(loop)
        if not blocks:
            raise ScheduleError(f"no block is inside of loop {loop_name(loop)}", [loop])
        return [loop], blocks
    given = [op for op in target if isinstance(op, BlockOp)]
    if not given or len(given) != len(target):
        raise ScheduleError("expected a loop, or one or more blocks, not the root block")
    if len(set(given)) != len(given):
        raise ScheduleError("a block is given twice", given)
    if len(given) == 1:
        return [given[0]], given
    if any(scope_of(block) is not scope_of(given[0]) for block in given):
        raise ScheduleError("the blocks are not in the same scope", given)
    common = lowest_common_ancestor(given)
    roots = list(dict.fromkeys(child_towards(common, block) for block in given))
    parent = roots[0].parent
    if parent is None or any(root.parent is not parent for root in roots):
        raise ScheduleError("the blocks are in different branches", given)
    return _side_by_side(statements(parent), set(roots)), _only_given(roots, given)


def _side_by_side(all_statements: Sequence[Operation], roots: set[Operation]) -> list[Operation]:
    places = [n for n, op in enumerate(all_statements) if op in roots]
    found = list(all_statements[places[0] : places[-1] + 1])
    between = [op for op in found if op not in roots]
    if between:
        marks = dict.fromkeys(roots, "") | dict.fromkeys(between, "stands between")
        raise ScheduleError("the blocks do not directly follow each other", marks)
    return found


def _only_given(roots: Sequence[Operation], given: Sequence[BlockOp]) -> list[BlockOp]:
    inside = [b for root in roots for b in ([root] if isinstance(root, BlockOp) else child_blocks(root))]
    others = [block for block in inside if block not in given]
    if others:
        names = ", ".join(map(block_name, others))
        raise ScheduleError(
            f"the loops around the blocks are also around {names}: expected all blocks inside of them", others
        )
    order = {block: n for n, block in enumerate(inside)}
    return sorted(given, key=order.__getitem__)

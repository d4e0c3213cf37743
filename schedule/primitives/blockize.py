"""The primitive `blockize`: a loop, or adjacent blocks, in one outer block."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import Operation

from ...analysis.names import block_name, fresh_block_name, loop_name
from ...analysis.scopes import child_blocks, child_towards, enclosing_scope, lowest_common_ancestor, statements
from ...core.errors import ScheduleError
from ...dialects.schedule import BlockizeOp
from ...dialects.tir import BlockOp, ForOp, FuncOp, IfOp, InitOp
from ...dialects.tir.tree import treeify
from ..handles import BlockLike, BlockRV, LoopRV
from ..legality import Change
from ..recorder import Recorder
from ..rewriting.init_nests import InitNest, build_init_nest, plan_init
from ..rewriting.nest import all_in_blocks, function_of
from ..rewriting.subspaces import InnerBlock, OuterBlock, divide_block
from ..state import ComputeLocation, State, applies


class BlockizePrimitives(Recorder):
    """Primitives that create scopes."""

    def blockize(self, target: LoopRV | BlockLike | list[BlockLike], preserve_unit_iters: bool = True) -> BlockRV:
        """Turn a loop with its body, or adjacent blocks, into one block.

            for i_0, i_1 in T.grid(4, 8):           for i_0 in range(4):
                with T.block("B"):                      with T.block("B_o"):
                    vi = T.axis.spatial(                    vi_o = T.axis.spatial(4, i_0)
                        32, i_0 * 8 + i_1)      ->          T.reads(A[vi_o * 8:vi_o * 8 + 8])
                    B[vi] = A[vi] + 1.0                     T.writes(B[vi_o * 8:vi_o * 8 + 8])
                                                            for i_1 in range(8):
                                                                with T.block("B"):
                                                                    vi_i = T.axis.spatial(8, i_1)
                                                                    B[vi_o * 8 + vi_i] = A[vi_o * 8 + vi_i] + 1.0

        The axes of each inner block are divided into an outer part, determined by the loops around the new block, and
        an inner part, determined by the loops in it. The init of a reduction becomes the init of the new block, with
        loops around it.

        target: a loop that contains one or more blocks and no statement outside of blocks; or blocks whose statements
        directly follow each other and contain no other blocks, all inside or all outside of the init of the enclosing
        block.  preserve_unit_iters: recorded in the trace as in TVM;
        an outer axis with a single value is always kept, bound to 0.
        Returns the new block. From now on, `get_loops` of the inner blocks returns the loops inside of the new block.
        Legal if all inits of one instance of the new block may run before everything else in it. ScheduleError with
        two conflicting instances if not, or with the axis that cannot be divided.
        """
        if isinstance(target, list | tuple):
            targets: list[BlockRV | LoopRV] = [self._block(block) for block in target]
        else:
            targets = [target if isinstance(target, LoopRV) else self._block(target)]
        return self.record(BlockizeOp, target=targets, preserve_unit_iters=preserve_unit_iters)[0]


@applies(BlockizeOp)
def blockize(
    state: State, target: list[ForOp | BlockOp | FuncOp | ComputeLocation], preserve_unit_iters: bool
) -> BlockOp:
    roots, blocks = _roots(target)
    for root in roots:
        if isinstance(root, ForOp | IfOp) and not all(all_in_blocks(region.block) for region in root.regions):
            raise ScheduleError("expected all statements to be inside of blocks; not so in", {root: "here"})
    parts = [divide_block(block, roots) for block in blocks]
    inits = [plan_init(part.block, part.root, roots[0]) for part in parts if part.block.init is not None]
    outer = OuterBlock(parts, roots)
    func = function_of(blocks[0])
    name = _name(blocks if isinstance(target[0], ForOp) else [op for op in target if isinstance(op, BlockOp)])

    def take_out(change: Change) -> list[InitNest]:
        init_blocks: list[InitNest] = []
        for plan in inits:
            init_name = fresh_block_name(func, f"{block_name(plan.block)}_init")
            init = build_init_nest(plan, init_name, further=outer.emit_init_conditions)
            change.counterparts[init.block] = plan.block
            init_blocks.append(init)
        return init_blocks

    init_blocks: list[InitNest] = []
    if inits:
        with state.changing(_roots_to_check(roots, parts)) as change:
            init_blocks = take_out(change)
    with state.changing(check=False):
        by_block = {plan.block: init for plan, init in zip(inits, init_blocks, strict=True)}
        block = outer.build(fresh_block_name(func, name), by_block)
        if outer.is_symbolic:
            treeify(func)  # the bounds of loops may be operands of domains now
        return block


def _roots_to_check(roots: Sequence[Operation], parts: Sequence[InnerBlock]) -> Sequence[Operation]:
    """The statements that the check regards as moved: `roots`, or the outermost loop around them if an enclosing loop
    has dynamic bounds, as these may determine whether the init runs."""
    loops = parts[0].outer_loops
    return [loops[0]] if any(loop.bounds for loop in loops) else roots


def _name(blocks: Sequence[BlockOp]) -> str:
    names = [block_name(block) for block in blocks]
    return f"{names[0]}_o" if len(names) == 1 else f"outer_{'_'.join(names)}_"


def _roots(target: Sequence[Operation | ComputeLocation]) -> tuple[list[Operation], list[BlockOp]]:
    """The statements that the new block will contain, and their blocks, in program order."""
    if len(target) == 1 and isinstance(loop := target[0], ForOp):
        blocks = child_blocks(loop)
        if not blocks:
            raise ScheduleError(f"no block is inside of loop {loop_name(loop)}", [loop])
        return [loop], blocks
    targets = [op for op in target if isinstance(op, BlockOp)]
    if not targets or len(targets) != len(target):
        raise ScheduleError("expected a loop, or one or more blocks, not the root block")
    if len(set(targets)) != len(targets):
        raise ScheduleError("a block is given twice", targets)
    if len(targets) == 1:
        return [targets[0]], targets
    if any(enclosing_scope(block) is not enclosing_scope(targets[0]) for block in targets):
        raise ScheduleError("the blocks are not in the same scope", targets)
    common = lowest_common_ancestor(targets)
    roots = list(dict.fromkeys(child_towards(common, block) for block in targets))
    parent = roots[0].parent
    if parent is None or any(root.parent is not parent for root in roots):
        raise ScheduleError("the blocks are in different branches", targets)
    if any(isinstance(root, InitOp) for root in roots):
        raise ScheduleError("an init runs before the first step alone: expected all blocks in it, or none", targets)
    return _adjacent_statements(statements(parent), set(roots)), _program_order(roots, targets)


def _adjacent_statements(all_statements: Sequence[Operation], roots: set[Operation]) -> list[Operation]:
    positions = [n for n, op in enumerate(all_statements) if op in roots]
    span = list(all_statements[positions[0] : positions[-1] + 1])
    between = [op for op in span if op not in roots]
    if between:
        marks = dict.fromkeys(roots, "") | dict.fromkeys(between, "stands between")
        raise ScheduleError("the blocks do not directly follow each other", marks)
    return span


def _program_order(roots: Sequence[Operation], targets: Sequence[BlockOp]) -> list[BlockOp]:
    inside = [b for root in roots for b in ([root] if isinstance(root, BlockOp) else child_blocks(root))]
    others = [block for block in inside if block not in targets]
    if others:
        names = ", ".join(map(block_name, others))
        raise ScheduleError(
            f"the loops around the blocks are also around {names}: expected all blocks inside of them", others
        )
    order = {block: n for n, block in enumerate(inside)}
    return sorted(targets, key=order.__getitem__)

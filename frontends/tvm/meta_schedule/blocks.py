"""Properties of blocks by which the rules of a search select them."""

from __future__ import annotations

from math import prod

from xdsl.dialects import arith
from xdsl.dialects.builtin import IntegerAttr, StringAttr
from xdsl.ir import Attribute, BlockArgument, Operation, SSAValue

from ....analysis.index import Analyzer
from ....analysis.scopes import (
    all_blocks,
    consumers,
    depends_on,
    enclosing_scope,
    function_around,
    loops_around,
    only_child,
    reads_of,
    root_buffer,
    writes_of,
)
from ....analysis.work import static_extent
from ....core.errors import ScheduleError
from ....core.walking import find_ops
from ....dialects.tir import UNARY_NAMES, AccessOp, BlockOp, ForOp, FuncOp, IfOp, IfThenElseOp, IntrinsicOp
from ....schedule.handles import LoopRV
from ....schedule.primitives.queries import ROOT_BLOCK
from ..tir import SBlockRV, Schedule

TILING = "meta_schedule.tiling_structure"
"""The annotation of a block whose loops a rule has tiled: the structure of the tiles."""

TENSORIZE, TENSORIZE_INIT = "meta_schedule.auto_tensorize", "meta_schedule.auto_tensorize_init"
"""The annotations of a block that a tensor intrinsic will replace: the name of the intrinsic, and that of its init."""


def target_of_block(sch: Schedule, block: SBlockRV) -> BlockOp | FuncOp:
    """The op of a block; of a root block without annotations its function."""
    op = sch.op(block)
    assert isinstance(op, BlockOp | FuncOp)
    return op


def inner_block(sch: Schedule, block: SBlockRV) -> BlockOp | None:
    """The op of a block, None for a root block."""
    op = target_of_block(sch, block)
    return None if is_root(op) else op if isinstance(op, BlockOp) else None


def is_root(op: Operation) -> bool:
    """Whether an op is the root of a function: the function itself, or the block named root around its body."""
    is_block = isinstance(op, BlockOp) and op.block_name.data == ROOT_BLOCK and not op.axes
    return isinstance(op, FuncOp) or (is_block and isinstance(op.parent_op(), FuncOp))


def exists(sch: Schedule, block: SBlockRV) -> bool:
    """Whether the program still contains a block."""
    try:
        target_of_block(sch, block)
    except ScheduleError:
        return False
    return True


def annotation(op: Operation, name: str) -> Attribute | None:
    """An annotation of a block or loop, None without it."""
    found = op.annotations if isinstance(op, BlockOp | ForOp) else None
    return None if found is None else found.data.get(name)


def text_annotation(op: Operation, name: str) -> str | None:
    """An annotation that is a text, None without it."""
    value = annotation(op, name)
    return value.data if isinstance(value, StringAttr) else None


def int_annotation(op: Operation, name: str) -> int | None:
    """An annotation that is an integer, None without it."""
    value = annotation(op, name)
    return value.value.data if isinstance(value, IntegerAttr) else None


def is_tiled(block: BlockOp) -> bool:
    """Whether a rule has tiled the loops of a block."""
    return annotation(block, TILING) is not None


def is_spatial(block: BlockOp) -> bool:
    """Whether all axes of a block are spatial."""
    return all(axis.kind == "spatial" for axis in block.axes)


def is_in_spatial_function(block: BlockOp | FuncOp) -> bool:
    """Whether all axes of all blocks of the function of a block, or of a function, are spatial."""
    func = function_around(block)
    assert func is not None
    return all(is_spatial(each) for each in all_blocks(func))


def is_complete(block: BlockOp) -> bool:
    """Whether each instance of a block writes elements of its own: it has spatial axes only, and is the only writer."""
    scope = enclosing_scope(block)
    others = [each for each in find_ops(scope, BlockOp) if each not in (block, scope)]
    return is_spatial(block) and not any(set(writes_of(block)) & set(writes_of(each)) for each in others)


def has_trivial_binding(block: BlockOp) -> bool:
    """Whether the axes of a block are the variables of the loops around it, in their order."""
    loops = loops_around(block)
    return len(loops) == len(block.axes) and all(
        axis.binding is loop.variable for axis, loop in zip(block.axes, loops, strict=True)
    )


def kind_of_loop(loop: ForOp) -> str:
    """The kind of a loop: "spatial" or "reduce" if it determines only such axes of the blocks inside of it, else
    "other". A loop that determines no axis is spatial."""
    kinds = {
        axis.kind
        for block in loop.walk()
        if isinstance(block, BlockOp) and enclosing_scope(block) is enclosing_scope(loop)
        for axis in block.axes
        if depends_on([axis.binding], loop.variable)
    }
    if len(kinds) == 1 and kinds <= {"spatial", "reduce"}:
        return next(iter(kinds))
    return "other" if kinds else "spatial"


def accesses(block: BlockOp, *, write: bool) -> list[AccessOp]:
    """The regions that a block reads or writes, without those that it reads of the buffers that it writes."""
    written = set(writes_of(block))
    found = [each for each in block.accesses if each.is_write is write]
    return found if write else [each for each in found if root_buffer(each.buffer) not in written]


def needs_tiling(block: BlockOp) -> bool:
    """Whether tiles of the loops of a block read elements several times: a reduction whose reads leave out a spatial
    axis, as in products of matrices."""
    if is_tiled(block) or is_spatial(block) or not has_trivial_binding(block):
        return False
    reads = accesses(block, write=False)
    buffers = [root_buffer(each.buffer) for each in reads]
    if len(writes_of(block)) != 1 or not reads or len(set(buffers)) < len(buffers):
        return False
    if not all(isinstance(extent, int) for each in reads for _, extent in each.region):
        return False
    spatial = [
        variable
        for variable, axis in zip(block.variables, block.axes, strict=True)
        if axis.kind == "spatial" and (axis.low, axis.extent) != (0, 1)
    ]
    return any(
        not depends_on([low for low, _ in each.region if isinstance(low, SSAValue)], variable)
        for each in reads
        for variable in spatial
    )


def is_split_reduction(block: BlockOp, most: int) -> bool:
    """Whether the steps of a reduction are worth a distribution: those of a product only if it has few results.

    most: the number of results above which a product has enough of them.
    """
    loops = loops_around(block)
    if block.init is None or is_tiled(block) or not has_trivial_binding(block) or not writes_of(block):
        return False
    kinds = [kind_of_loop(loop) for loop in loops]
    nested = all(only_child(a) is b for a, b in zip(loops, [*loops[1:], block], strict=True))
    extents = [static_extent(loop) for loop in loops]
    if "reduce" not in kinds or "other" in kinds or not nested or None in extents:
        return False
    results, steps = (
        prod(extent or 1 for extent, each in zip(extents, kinds, strict=True) if each == kind)
        for kind in ("spatial", "reduce")
    )
    return results < steps and results <= most if needs_tiling(block) else steps > 1


def fuse_reduction_loops(sch: Schedule, block: SBlockRV) -> tuple[LoopRV, int]:
    """Moves the reduction loops of a block inside of its spatial loops, and fuses them.

    Returns the loop, and the number of spatial loops.
    """
    loops = sch.get_loops(block)
    kinds = [kind_of_loop(op) for loop in loops if isinstance(op := sch.op(loop), ForOp)]
    spatial = [loop for loop, kind in zip(loops, kinds, strict=True) if kind == "spatial"]
    steps = [loop for loop, kind in zip(loops, kinds, strict=True) if kind == "reduce"]
    if [*spatial, *steps] != loops:
        sch.reorder(*spatial, *steps)
    return (sch.fuse(*steps) if len(steps) > 1 else steps[0]), len(spatial)


def read_order(read: AccessOp, write: AccessOp) -> tuple[bool, bool] | None:
    """Whether an axis of the written element occurs at most once among the indices that are read, and whether the axes
    occur in the order of the written element. None if an index is neither a constant nor an axis plus a constant."""
    analyzer = Analyzer()
    positions: dict[SSAValue, int] = {}
    for n, (low, extent) in enumerate(write.region):
        if not isinstance(low, BlockArgument) or not isinstance(extent, int):
            return None
        positions.setdefault(low, n)
    mapped: list[int] = []
    for low, extent in read.region:
        if not isinstance(extent, int):
            return None
        terms = {} if isinstance(low, int) else analyzer.lin(low).terms
        if not terms:
            continue
        ((axis, factor), *others) = terms.items()
        if others or factor != 1 or not isinstance(axis, SSAValue) or axis not in positions:
            return None
        mapped.append(positions[axis])
    return len(set(mapped)) == len(mapped), mapped == sorted(mapped)


def is_copy_in_order(block: BlockOp) -> bool:
    """Whether a block computes each element from elements at the same position: it may stand for a copy of results."""
    writes = accesses(block, write=True)
    if len(writes) != 1:
        return False
    return all(read_order(read, writes[0]) == (True, True) for read in accesses(block, write=False))


def has_condition(block: BlockOp) -> bool:
    """Whether a block has a predicate, a branch, or an expression that selects one of two values."""
    return block.predicate is not None or any(
        isinstance(op, IfOp | IfThenElseOp | arith.SelectOp) for op in block.body.block.walk()
    )


def calls(block: BlockOp, names: frozenset[str]) -> bool:
    """Whether a block computes a function of the names, such as `tir.exp`."""
    plain = {name.removeprefix("tir.") for name in names}
    return any(_function(op) in plain for op in block.body.block.walk())


def _function(op: Operation) -> str:
    return op.intrinsic.data if isinstance(op, IntrinsicOp) else UNARY_NAMES.get(type(op), "")


def scalar_constant(block: BlockOp) -> bool:
    """Whether a block computes one element from nothing, for other blocks of its function."""
    writes = accesses(block, write=True)
    return not reads_of(block) and len(writes) == 1 and not writes[0].region and bool(consumers(block))

"""Postprocessors that change blocks: `RewriteReductionBlock`, `RewriteUnboundBlock`, `RewriteTensorize`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .....analysis.scopes import all_blocks, ancestors, child_blocks, depends_on, loops_around
from .....analysis.threads.axes import is_block_loop, is_thread_loop
from .....dialects.tir import BlockOp, ForOp, FuncOp
from ...tir import SBlockRV, Schedule
from ..blocks import TENSORIZE, TENSORIZE_INIT, is_root, kind_of_loop, text_annotation
from ..thread_binding import bind_block
from .postproc import Postproc

if TYPE_CHECKING:
    from ..tune_context import TuneContext


def handle(sch: Schedule, function: FuncOp, block: BlockOp) -> SBlockRV:
    """The handle of a block. ScheduleError if another block has its name."""
    return sch.get_block(block.block_name.data, function.sym_name.data)


class RewriteReductionBlock(Postproc):
    """Moves the inits of reductions to blocks of their own before the first reduction loop."""

    def apply(self, sch: Schedule) -> bool:
        while found := _reduction(sch):
            function, block, depth = found
            tensorize, of_init = (text_annotation(block, name) for name in (TENSORIZE, TENSORIZE_INIT))
            rv = handle(sch, function, block)
            init = sch.decompose_reduction(rv, sch.get_loops(rv)[depth])
            if tensorize is not None:
                sch.unannotate(init, TENSORIZE)
                sch.annotate(init, TENSORIZE, of_init or "")
            if tensorize is not None and of_init is not None:
                sch.unannotate(rv, TENSORIZE_INIT)
                sch.unannotate(init, TENSORIZE_INIT)
        return True


def _reduction(sch: Schedule) -> tuple[FuncOp, BlockOp, int] | None:
    """A reduction with an init, of which no thread computes a part, with the index of its first reduction loop."""
    for function in sch.mod.function_ops.values():
        for block in all_blocks(function):
            if block.init is not None and not _is_distributed(block):
                kinds = [kind_of_loop(loop) for loop in loops_around(block)]
                depth = next((n for n, kind in enumerate(kinds) if kind != "spatial"), None)
                if depth is not None:
                    return function, block, depth
    return None


def _is_distributed(block: BlockOp) -> bool:
    """Whether threads, or blocks of threads, compute parts of a reduction."""
    bound = [
        op.variable for op in ancestors(block) if isinstance(op, ForOp) and (is_block_loop(op) or is_thread_loop(op))
    ]
    steps = [axis.binding for axis in block.axes if axis.kind == "reduce"]
    return any(depends_on(steps, variable) for variable in bound)


class RewriteUnboundBlock(Postproc):
    """Binds the loops of blocks outside of kernels to blocks and threads of a GPU.

    max_threadblocks: the greatest number of blocks.
    """

    def __init__(self, max_threadblocks: int = 256):
        self.max_threadblocks = max_threadblocks
        self._threads = -1

    def _initialize_with_tune_context(self, context: TuneContext) -> None:
        self._threads = int(context.target.max_threads_per_block)

    def apply(self, sch: Schedule) -> bool:
        for function in list(sch.mod.function_ops.values()):
            for block in [handle(sch, function, each) for each in _outer_blocks(function) if not _is_in_kernel(each)]:
                bind_block(sch, block, self.max_threadblocks, self._threads, lambda most: min(self._threads, most))
        return True


def _outer_blocks(function: FuncOp) -> list[BlockOp]:
    blocks = child_blocks(function)
    return child_blocks(blocks[0]) if len(blocks) == 1 and is_root(blocks[0]) else blocks


def _is_in_kernel(block: BlockOp) -> bool:
    loops = loops_around(block)
    return any(map(is_block_loop, loops)) and any(map(is_thread_loop, loops))


class RewriteTensorize(Postproc):
    """Replaces the blocks that rules have tiled for tensor intrinsics by these intrinsics.

    vectorize_init_loop: whether the inits of such blocks without an intrinsic of their own are vectors.
    `apply` raises ScheduleError for a block that is not the computation of its intrinsic.
    """

    def __init__(self, vectorize_init_loop: bool = False):
        self.vectorize_init_loop = vectorize_init_loop

    def apply(self, sch: Schedule) -> bool:
        functions = sch.mod.function_ops.values()
        found = [
            (handle(sch, function, block), name)
            for function in functions
            for block in reversed(all_blocks(function))
            if (name := text_annotation(block, TENSORIZE)) is not None
        ]
        for block, name in found:
            sch.unannotate(block, TENSORIZE)
            if name:
                sch.tensorize(block, name)
            elif self.vectorize_init_loop:
                (inner,) = sch.get_child_blocks(block)
                (loop,) = sch.get_loops(inner)
                sch.vectorize(loop)
        return True

"""Handles of the parts of a program: blocks by name, loops by block, blocks by their reads and writes."""

from __future__ import annotations

from ...analysis.names import block_name
from ...analysis.scopes import all_blocks, child_blocks, consumers, loops_around, output_blocks, producers
from ...core.diagnostics import did_you_mean
from ...core.errors import ScheduleError
from ...dialects.schedule import (
    GetBlockOp,
    GetChildBlocksOp,
    GetConsumersOp,
    GetLoopsOp,
    GetOutputBlocksOp,
    GetProducersOp,
    GetSizeOp,
)
from ...dialects.tir import BlockOp, ForOp, FuncOp
from ..handles import BlockLike, BlockRV, LoopRV, Size, SizeRV
from ..recorder import Recorder
from ..state import State, applies

ROOT_BLOCK = "root"


class Queries(Recorder):
    """Queries for blocks and loops, which do not change the program."""

    def get_block(self, name: str, func_name: str | None = None) -> BlockRV:
        """The block named `name`.

        name: the name in the program; "root" is the body of the function.  func_name: the function to search; by
        default the current one (`work_on`), the only one, or "main".
        ScheduleError if there is no such block, or several.
        """
        return self.record(GetBlockOp, name=name, func_name=func_name or self._state.default_function())[0]

    get_sblock = get_block
    """The name of `get_block` in TVM 0.27."""

    def get_size(self, name: str, func_name: str | None = None) -> SizeRV:
        """The symbolic size, or the integer parameter, named `name`, for index maps: `lambda i, j: (i * n + j,)`.

        func_name: the function; by default the current one (`work_on`), the only one, or "main".
        ScheduleError if there is no such size, or several.
        """
        return self.record(GetSizeOp, name=name, func_name=func_name or self._state.default_function())[0]

    def get_loops(self, block: BlockLike) -> list[LoopRV]:
        """The loops around a block, up to the enclosing block, outermost first."""
        return self.record(GetLoopsOp, block=self._block(block))

    def get_child_blocks(self, block_or_loop: BlockLike | LoopRV) -> list[BlockRV]:
        """The blocks directly in a block or loop, with no other block in between, in program order."""
        where = block_or_loop if isinstance(block_or_loop, LoopRV) else self._block(block_or_loop)
        return self.record(GetChildBlocksOp, block_or_loop=where)

    def get_producers(self, block: BlockLike) -> list[BlockRV]:
        """The blocks in the same scope that write a buffer which the block reads."""
        return self.record(GetProducersOp, block=self._block(block))

    def get_consumers(self, block: BlockLike) -> list[BlockRV]:
        """The blocks in the same scope that read a buffer which the block writes."""
        return self.record(GetConsumersOp, block=self._block(block))

    def get_output_blocks(
        self, scope_block: BlockLike | None = None, *, block: BlockLike | None = None
    ) -> list[BlockRV]:
        """The blocks in a block that write a buffer which is allocated outside of it, and likewise in nested blocks.

        scope_block: the enclosing block; "root" is the function's body.  block: the same, as named in TVM's traces.
        """
        scope = scope_block if block is None else block
        if scope is None:
            raise ScheduleError("get_output_blocks: expected a block")
        return self.record(GetOutputBlocksOp, scope_block=self._block(scope))


@applies(GetBlockOp)
def get_block(state: State, name: str, func_name: str | None) -> BlockOp | FuncOp:
    func_name = func_name or state.default_function()
    func = state.function(func_name)
    blocks = all_blocks(func)
    matches = [block for block in blocks if block_name(block) == name]
    if not matches and name == ROOT_BLOCK:
        return func
    if len(matches) == 1:
        return matches[0]
    if matches:
        raise ScheduleError(
            f"{len(matches)} blocks of function {func_name!r} are called {name!r}, expected one", matches
        )
    names = [block_name(block) for block in blocks]
    known = ", ".join(names) or "none"
    raise ScheduleError(f"no block {name!r} in function {func_name!r}{did_you_mean(name, names)} (has: {known})")


@applies(GetSizeOp)
def get_size(state: State, name: str, func_name: str | None) -> Size:
    size = Size(func_name or state.default_function(), name)
    state.size(size)
    return size


@applies(GetLoopsOp)
def get_loops(state: State, block: BlockOp | FuncOp) -> list[ForOp]:
    return [] if isinstance(block, FuncOp) else loops_around(block)


@applies(GetChildBlocksOp)
def get_child_blocks(state: State, block_or_loop: BlockOp | FuncOp | ForOp) -> list[BlockOp]:
    return child_blocks(block_or_loop)


@applies(GetProducersOp)
def get_producers(state: State, block: BlockOp | FuncOp) -> list[BlockOp]:
    return [] if isinstance(block, FuncOp) else producers(block)


@applies(GetConsumersOp)
def get_consumers(state: State, block: BlockOp | FuncOp) -> list[BlockOp]:
    return [] if isinstance(block, FuncOp) else consumers(block)


@applies(GetOutputBlocksOp)
def get_output_blocks(state: State, scope_block: BlockOp | FuncOp) -> list[BlockOp]:
    return output_blocks(scope_block)

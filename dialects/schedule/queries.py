"""Queries for the parts of a program: blocks by name, loops by block, blocks by their reads and writes."""

from __future__ import annotations

from typing import ClassVar

from xdsl.dialects.builtin import StringAttr
from xdsl.irdl import irdl_op_definition, operand_def, opt_prop_def, prop_def, result_def, traits_def, var_result_def
from xdsl.traits import MemoryReadEffect

from .base import BlockType, LoopType, ScheduleOp, SizeType, size


@irdl_op_definition
class GetBlockOp(ScheduleOp):
    """The block named `name`; `root` is the body of the function.

    func_name: the function that contains the block, if there are several.

    Example
        %C = schedule.get_block "C" {func_name = "main"}

    Source: `sch.get_block(name, func_name)`, `sch.get_sblock`
    """

    name = "schedule.get_block"
    SYNTAX: ClassVar = ("name",)
    traits = traits_def(MemoryReadEffect())

    name_ = prop_def(StringAttr, prop_name="name")
    func_name = opt_prop_def(StringAttr)
    result = result_def(BlockType)


@irdl_op_definition
class GetSizeOp(ScheduleOp):
    """The symbolic size, or the integer parameter, of a function with the name `name`.

    func_name: the function, if there are several.

    Example
        %n = schedule.get_size "n" {func_name = "main"}

    Source: a variable of the program in an index map
    """

    name = "schedule.get_size"
    SYNTAX: ClassVar = ("name",)
    RESULT: ClassVar = size
    traits = traits_def(MemoryReadEffect())

    name_ = prop_def(StringAttr, prop_name="name")
    func_name = opt_prop_def(StringAttr)
    result = result_def(SizeType)


@irdl_op_definition
class GetLoopsOp(ScheduleOp):
    """The loops around a block, up to the enclosing block, outermost first.

    Example
        %i, %j = schedule.get_loops %C : !schedule.loop, !schedule.loop

    Source: `sch.get_loops(block)`
    """

    name = "schedule.get_loops"
    SYNTAX: ClassVar = ("block",)
    traits = traits_def(MemoryReadEffect())

    block = operand_def(BlockType)
    loops = var_result_def(LoopType)


@irdl_op_definition
class GetChildBlocksOp(ScheduleOp):
    """The blocks directly in a block or loop.

    Example
        %B, %C = schedule.get_child_blocks %i : !schedule.block, !schedule.block

    Source: `sch.get_child_blocks(block_or_loop)`
    """

    name = "schedule.get_child_blocks"
    SYNTAX: ClassVar = ("block_or_loop",)
    traits = traits_def(MemoryReadEffect())

    block_or_loop = operand_def(BlockType | LoopType)
    blocks = var_result_def(BlockType)


@irdl_op_definition
class GetProducersOp(ScheduleOp):
    """The blocks that write a buffer which the block reads.

    Example
        %A = schedule.get_producers %B : !schedule.block

    Source: `sch.get_producers(block)`
    """

    name = "schedule.get_producers"
    SYNTAX: ClassVar = ("block",)
    traits = traits_def(MemoryReadEffect())

    block = operand_def(BlockType)
    blocks = var_result_def(BlockType)


@irdl_op_definition
class GetConsumersOp(ScheduleOp):
    """The blocks that read a buffer which the block writes.

    Example
        %C = schedule.get_consumers %B : !schedule.block

    Source: `sch.get_consumers(block)`
    """

    name = "schedule.get_consumers"
    SYNTAX: ClassVar = ("block",)
    traits = traits_def(MemoryReadEffect())

    block = operand_def(BlockType)
    blocks = var_result_def(BlockType)


@irdl_op_definition
class GetOutputBlocksOp(ScheduleOp):
    """The blocks in a block that write a buffer which is allocated outside of it.

    Example
        %C = schedule.get_output_blocks %root : !schedule.block

    Source: `sch.get_output_blocks(scope_block)`
    """

    name = "schedule.get_output_blocks"
    SYNTAX: ClassVar = ("scope_block",)
    traits = traits_def(MemoryReadEffect())

    scope_block = operand_def(BlockType)
    blocks = var_result_def(BlockType)

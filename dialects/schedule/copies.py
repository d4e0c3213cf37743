"""Primitives that copy a buffer with other indices, beside one block, or in a loop; and buffers in reused memory."""

from __future__ import annotations

from typing import ClassVar

from xdsl.dialects.builtin import AffineMapAttr, IntegerAttr, IntegerType, StringAttr, i64
from xdsl.irdl import (
    BaseAttr,
    EqAttrConstraint,
    irdl_op_definition,
    operand_def,
    prop_def,
    result_def,
    var_operand_def,
    var_result_def,
)

from .base import BlockType, LoopType, ScheduleOp, SizeType


@irdl_op_definition
class ReindexCacheReadOp(ScheduleOp):
    """Copy the elements of a buffer that a block reads to memory of another scope, with indices computed from the axes
    of the block, and read the copy.

    parameters: the values of the symbols of the map: sampled numbers, and sizes of the program.

    Constraints
        (C1) the map has one symbol for each parameter.

    Example
        %A_shared = schedule.reindex_cache_read %C, 0, "shared", affine_map<(i, j) -> (j, i)>

    Source: `sch.reindex_cache_read(block, read_buffer_index, storage_scope, index_map)`
    """

    name = "schedule.reindex_cache_read"
    SYNTAX: ClassVar = ("block", "read_buffer_index", "storage_scope", "index_map")
    MAPS: ClassVar = ("index_map",)

    block = operand_def(BlockType)
    parameters = var_operand_def(EqAttrConstraint(i64) | BaseAttr(SizeType))
    read_buffer_index = prop_def(IntegerAttr[IntegerType])
    storage_scope = prop_def(StringAttr)
    index_map = prop_def(AffineMapAttr)
    result = result_def(BlockType)

    def verify_(self) -> None:
        self.verify_maps("(C1)")


@irdl_op_definition
class ReindexCacheWriteOp(ScheduleOp):
    """Redirect the writes of a block to memory of another scope, with indices computed from the axes of the block, and
    copy them from there to the buffer.

    parameters: the values of the symbols of the map: sampled numbers, and sizes of the program.

    Constraints
        (C1) the map has one symbol for each parameter.

    Example
        %C_local = schedule.reindex_cache_write %C, 0, "local", affine_map<(i, j) -> (j, i)>

    Source: `sch.reindex_cache_write(block, write_buffer_index, storage_scope, index_map)`
    """

    name = "schedule.reindex_cache_write"
    SYNTAX: ClassVar = ("block", "write_buffer_index", "storage_scope", "index_map")
    MAPS: ClassVar = ("index_map",)

    block = operand_def(BlockType)
    parameters = var_operand_def(EqAttrConstraint(i64) | BaseAttr(SizeType))
    write_buffer_index = prop_def(IntegerAttr[IntegerType])
    storage_scope = prop_def(StringAttr)
    index_map = prop_def(AffineMapAttr)
    result = result_def(BlockType)

    def verify_(self) -> None:
        self.verify_maps("(C1)")


@irdl_op_definition
class CacheIndexOp(ScheduleOp):
    """Compute the indices of a block beforehand, each in a buffer of its own, and load them.

    cse_thresh: 0 for the indices of loads; else the least number of times that an expression occurs in the block.

    Example
        %index_0, %index_1 = schedule.cache_index %B, "global", 0 : !schedule.block, !schedule.block

    Source: `sch.cache_index(block, storage_scope, cse_thresh)`
    """

    name = "schedule.cache_index"
    SYNTAX: ClassVar = ("block", "storage_scope", "cse_thresh")

    block = operand_def(BlockType)
    storage_scope = prop_def(StringAttr)
    cse_thresh = prop_def(IntegerAttr[IntegerType])
    blocks = var_result_def(BlockType)


@irdl_op_definition
class CacheInplaceOp(ScheduleOp):
    """Copy the elements of a buffer that a block reads and writes to memory of another scope before the block, and back
    after it.

    Example
        %A_read, %A_write = schedule.cache_inplace %B, 0, "local"

    Source: `sch.cache_inplace(block, read_buffer_index, storage_scope)`
    """

    name = "schedule.cache_inplace"
    SYNTAX: ClassVar = ("block", "read_buffer_index", "storage_scope")

    block = operand_def(BlockType)
    read_buffer_index = prop_def(IntegerAttr[IntegerType])
    storage_scope = prop_def(StringAttr)
    read = result_def(BlockType)
    write = result_def(BlockType)


@irdl_op_definition
class ReadAtOp(ScheduleOp):
    """In each iteration of a loop, copy the elements of a buffer that the blocks in it read to memory of another scope,
    and read the copy.

    Example
        %A_shared = schedule.read_at %i, %C, 0, "shared"

    Source: `sch.read_at(loop, block, read_buffer_index, storage_scope)`
    """

    name = "schedule.read_at"
    SYNTAX: ClassVar = ("loop", "block", "read_buffer_index", "storage_scope")

    loop = operand_def(LoopType)
    block = operand_def(BlockType)
    read_buffer_index = prop_def(IntegerAttr[IntegerType])
    storage_scope = prop_def(StringAttr)
    result = result_def(BlockType)


@irdl_op_definition
class WriteAtOp(ScheduleOp):
    """In each iteration of a loop, redirect the writes of the blocks in it to memory of another scope, and copy them
    from there to the buffer.

    Example
        %C_local = schedule.write_at %i, %C, 0, "local"

    Source: `sch.write_at(loop, block, write_buffer_index, storage_scope)`
    """

    name = "schedule.write_at"
    SYNTAX: ClassVar = ("loop", "block", "write_buffer_index", "storage_scope")

    loop = operand_def(LoopType)
    block = operand_def(BlockType)
    write_buffer_index = prop_def(IntegerAttr[IntegerType])
    storage_scope = prop_def(StringAttr)
    result = result_def(BlockType)


@irdl_op_definition
class RollingBufferOp(ScheduleOp):
    """Keep only the elements of a buffer that later iterations of a loop read, in memory that is used in turn, and
    compute each of them once.

    Example
        schedule.rolling_buffer %B, 0

    Source: `sch.rolling_buffer(block, write_buffer_index)`
    """

    name = "schedule.rolling_buffer"
    SYNTAX: ClassVar = ("block", "write_buffer_index")

    block = operand_def(BlockType)
    write_buffer_index = prop_def(IntegerAttr[IntegerType])

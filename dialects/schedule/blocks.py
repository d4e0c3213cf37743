"""Primitives on blocks: their position, init, buffers, layout and annotations."""

from __future__ import annotations

from typing import Any, ClassVar

from xdsl.dialects.builtin import (
    AffineMapAttr,
    BoolAttr,
    DenseArrayBase,
    FloatAttr,
    IntegerAttr,
    IntegerType,
    StringAttr,
    i64,
)
from xdsl.ir import Attribute
from xdsl.irdl import (
    AttrSizedOperandSegments,
    BaseAttr,
    EqAttrConstraint,
    irdl_op_definition,
    operand_def,
    opt_operand_def,
    opt_prop_def,
    prop_def,
    result_def,
    var_operand_def,
)

from ..tir.base import require
from .base import BlockType, LoopType, ScheduleOp, SizeType, to_attribute

BUFFER_SIDES = ("read", "write")
"""The sides of a block: an index of a buffer counts the buffers that it reads, or the buffers that it writes."""


class _BufferOp(ScheduleOp):
    """The base of primitives on a buffer of a block: its side, and its index there."""

    def verify_(self) -> None:
        side = self.properties["buffer_side"]
        known = isinstance(side, StringAttr) and side.data in BUFFER_SIDES
        require(known, f"(C1) buffer side {side}, expected one of {', '.join(BUFFER_SIDES)}")


@irdl_op_definition
class CacheReadOp(ScheduleOp):
    """Copy the elements of a buffer that a block reads to memory of another scope, and read the copy.

    consumer_blocks: the blocks that read the copy; all possible readers if the list is empty.

    Example
        %A_shared = schedule.cache_read %C, 0, "shared", []

    Source: `sch.cache_read(block, read_buffer_index, storage_scope, consumer_blocks)`
    """

    name = "schedule.cache_read"
    SYNTAX: ClassVar = ("block", "read_buffer_index", "storage_scope", "consumer_blocks")

    block = operand_def(BlockType)
    consumer_blocks = var_operand_def(BlockType)
    read_buffer_index = prop_def(IntegerAttr[IntegerType])
    storage_scope = prop_def(StringAttr)
    result = result_def(BlockType)


@irdl_op_definition
class CacheWriteOp(ScheduleOp):
    """Redirect the writes of a block to memory of another scope, and copy them from there to the buffer.

    consumer_blocks: the blocks that read the copy in the other scope; the others read the buffer.

    Example
        %C_local = schedule.cache_write %C, 0, "local", []

    Source: `sch.cache_write(block, write_buffer_index, storage_scope, consumer_blocks)`
    """

    name = "schedule.cache_write"
    SYNTAX: ClassVar = ("block", "write_buffer_index", "storage_scope", "consumer_blocks")

    block = operand_def(BlockType)
    consumer_blocks = var_operand_def(BlockType)
    write_buffer_index = prop_def(IntegerAttr[IntegerType])
    storage_scope = prop_def(StringAttr)
    result = result_def(BlockType)


@irdl_op_definition
class ReindexOp(_BufferOp):
    """Copy a buffer so that the block indexes the copy by its own axes, in their order.

    buffer: its index among the buffers that the block reads or writes (buffer_side).

    Constraints
        (C1) buffer_side is read or write.

    Example
        %A_reindex = schedule.reindex %C, "read", 0

    Source: `sch.reindex(block, buffer=("read", 0))`
    """

    name = "schedule.reindex"
    SYNTAX: ClassVar = ("block", "buffer_side", "buffer_index")

    block = operand_def(BlockType)
    buffer_side = prop_def(StringAttr)
    buffer_index = prop_def(IntegerAttr[IntegerType])
    result = result_def(BlockType)


@irdl_op_definition
class ComputeAtOp(ScheduleOp):
    """Move a producer into a loop of its consumers, where it computes the elements that one iteration reads.

    index: the position among the statements in the loop; -1 as late as possible, -2 as early.

    Example
        schedule.compute_at %B, %i

    Source: `sch.compute_at(block, loop, preserve_unit_loops, index)`
    """

    name = "schedule.compute_at"
    SYNTAX: ClassVar = ("block", "loop")
    DEFAULTS: ClassVar = {"preserve_unit_loops": to_attribute(False), "index": to_attribute(-1)}

    block = operand_def(BlockType)
    loop = operand_def(LoopType)
    preserve_unit_loops = prop_def(BoolAttr)
    index = prop_def(IntegerAttr[IntegerType])


@irdl_op_definition
class ReverseComputeAtOp(ScheduleOp):
    """Move a consumer into a loop of its producers, where it processes the elements that one iteration completes.

    index: the position among the statements in the loop; -1 as late as possible, -2 as early.

    Example
        schedule.reverse_compute_at %D, %i

    Source: `sch.reverse_compute_at(block, loop, preserve_unit_loops, index)`
    """

    name = "schedule.reverse_compute_at"
    SYNTAX: ClassVar = ("block", "loop")
    DEFAULTS: ClassVar = {"preserve_unit_loops": to_attribute(False), "index": to_attribute(-1)}

    block = operand_def(BlockType)
    loop = operand_def(LoopType)
    preserve_unit_loops = prop_def(BoolAttr)
    index = prop_def(IntegerAttr[IntegerType])


@irdl_op_definition
class ComputeInlineOp(ScheduleOp):
    """Compute the values of a block at each load of them, and erase the block.

    Example
        schedule.compute_inline %B

    Source: `sch.compute_inline(block)`
    """

    name = "schedule.compute_inline"
    SYNTAX: ClassVar = ("block",)

    block = operand_def(BlockType)


@irdl_op_definition
class ReverseComputeInlineOp(ScheduleOp):
    """Inline a block into the producer of the element that it reads, and erase the block.

    Example
        schedule.reverse_compute_inline %D

    Source: `sch.reverse_compute_inline(block)`
    """

    name = "schedule.reverse_compute_inline"
    SYNTAX: ClassVar = ("block",)

    block = operand_def(BlockType)


@irdl_op_definition
class FuseReductionEpilogueOp(ScheduleOp):
    """Start a sum with a term that another block adds to it, and erase that block.

    Example
        schedule.fuse_reduction_epilogue %S, %D

    Source: `sch.fuse_reduction_epilogue(reduction_block, epilogue_block)`
    """

    name = "schedule.fuse_reduction_epilogue"
    SYNTAX: ClassVar = ("reduction_block", "epilogue_block")

    reduction_block = operand_def(BlockType)
    epilogue_block = operand_def(BlockType)


@irdl_op_definition
class DecomposeReductionOp(ScheduleOp):
    """Move the init of a reduction into a block of its own, before a loop.

    Example
        %C_init = schedule.decompose_reduction %C, %k

    Source: `sch.decompose_reduction(block, loop)`
    """

    name = "schedule.decompose_reduction"
    SYNTAX: ClassVar = ("block", "loop")

    block = operand_def(BlockType)
    loop = operand_def(LoopType)
    result = result_def(BlockType)


@irdl_op_definition
class RfactorOp(ScheduleOp):
    """Factor a reduction into two steps: along all loops but one, into a buffer with one dimension more; then along it.

    Example
        %C_rf = schedule.rfactor %k_1, 0

    Source: `sch.rfactor(loop, factor_axis)`
    """

    name = "schedule.rfactor"
    SYNTAX: ClassVar = ("loop", "factor_axis")

    loop = operand_def(LoopType)
    factor_axis = prop_def(IntegerAttr[IntegerType])
    result = result_def(BlockType)


@irdl_op_definition
class StorageAlignOp(ScheduleOp):
    """Require a stride of `factor * n + offset` elements for a dimension of a buffer.

    Example
        schedule.storage_align %B, 0, 0, 16, 4

    Source: `sch.storage_align(block, buffer_index, axis, factor, offset)`
    """

    name = "schedule.storage_align"
    SYNTAX: ClassVar = ("block", "buffer_index", "axis", "factor", "offset")

    block = operand_def(BlockType)
    buffer_index = prop_def(IntegerAttr[IntegerType])
    axis = prop_def(IntegerAttr[IntegerType])
    factor = prop_def(IntegerAttr[IntegerType])
    offset = prop_def(IntegerAttr[IntegerType])


@irdl_op_definition
class AnnotateBufferAccessOp(ScheduleOp):
    """Declare the region of a buffer that a block reads or writes.

    gen_new_ranges: a map from the axes of the block to the first element and the end of the range in each dimension.
    parameters: the values of the symbols of the map: sampled numbers, and sizes of the program.

    Constraints
        (C1) the map has one symbol for each parameter.

    Example
        schedule.annotate_buffer_access %B, 0, "read", affine_map<(i) -> (i - 1, i + 2)>

    Source: `sch.annotate_buffer_access(block, buffer_index, buf_type, gen_new_ranges)`
    """

    name = "schedule.annotate_buffer_access"
    SYNTAX: ClassVar = ("block", "buffer_index", "buf_type", "gen_new_ranges")
    MAPS: ClassVar = ("gen_new_ranges",)

    block = operand_def(BlockType)
    parameters = var_operand_def(EqAttrConstraint(i64) | BaseAttr(SizeType))
    buffer_index = prop_def(IntegerAttr[IntegerType])
    buf_type = prop_def(StringAttr)
    gen_new_ranges = prop_def(AffineMapAttr)

    def verify_(self) -> None:
        self.verify_maps("(C1)")


@irdl_op_definition
class SetScopeOp(ScheduleOp):
    """Move a buffer that a block writes to another memory scope.

    Example
        schedule.set_scope %B, 0, "shared"

    Source: `sch.set_scope(block, buffer_index, storage_scope)`
    """

    name = "schedule.set_scope"
    SYNTAX: ClassVar = ("block", "buffer_index", "storage_scope")

    block = operand_def(BlockType)
    buffer_index = prop_def(IntegerAttr[IntegerType])
    storage_scope = prop_def(StringAttr)


@irdl_op_definition
class SetAxisSeparatorOp(_BufferOp):
    """Divide the dimensions of a buffer into groups.

    Constraints
        (C1) buffer_side is read or write.

    Example
        schedule.set_axis_separator %B, "write", 0, [1]

    Source: `sch.set_axis_separator(block, buffer, axis_separators)`
    """

    name = "schedule.set_axis_separator"
    SYNTAX: ClassVar = ("block", "buffer_side", "buffer_index", "axis_separators")

    block = operand_def(BlockType)
    buffer_side = prop_def(StringAttr)
    buffer_index = prop_def(IntegerAttr[IntegerType])
    axis_separators = prop_def(DenseArrayBase[IntegerType])


@irdl_op_definition
class UnsafeSetDtypeOp(ScheduleOp):
    """Change the data type of a buffer that a block writes.

    Example
        schedule.unsafe_set_dtype %B, 0, "float16"

    Source: `sch.unsafe_set_dtype(block, buffer_index, dtype)`
    """

    name = "schedule.unsafe_set_dtype"
    SYNTAX: ClassVar = ("block", "buffer_index", "dtype")

    block = operand_def(BlockType)
    buffer_index = prop_def(IntegerAttr[IntegerType])
    dtype = prop_def(StringAttr)


@irdl_op_definition
class BlockizeOp(ScheduleOp):
    """Turn a loop with its body, or adjacent blocks, into one block.

    Constraints
        (C1) one loop, or one or more blocks.

    Example
        %C_o = schedule.blockize [%i_1]

    Source: `sch.blockize(target, preserve_unit_iters)`
    """

    name = "schedule.blockize"
    SYNTAX: ClassVar = ("target",)
    DEFAULTS: ClassVar = {"preserve_unit_iters": to_attribute(True)}

    target = var_operand_def(BlockType | LoopType)
    preserve_unit_iters = prop_def(BoolAttr)
    result = result_def(BlockType)

    def verify_(self) -> None:
        loops = sum(isinstance(value.type, LoopType) for value in self.target)
        fine = bool(self.target) and (not loops or len(self.target) == 1)
        require(fine, f"(C1) {loops} loops and {len(self.target) - loops} blocks")


@irdl_op_definition
class TensorizeOp(ScheduleOp):
    """Replace the statements of a block, or of a loop turned into a block, by those of a tensor intrinsic.

    tensor_intrin: the name under which the intrinsic is registered.

    Example
        schedule.tensorize %i_1, "dot_16x4_vnni"

    Source: `sch.tensorize(block_or_loop, tensor_intrin, preserve_unit_iters)`
    """

    name = "schedule.tensorize"
    SYNTAX: ClassVar = ("block_or_loop", "tensor_intrin")
    DEFAULTS: ClassVar = {"preserve_unit_iters": to_attribute(True)}

    block_or_loop = operand_def(BlockType | LoopType)
    tensor_intrin = prop_def(StringAttr)
    preserve_unit_iters = prop_def(BoolAttr)


@irdl_op_definition
class AnnotateOp(ScheduleOp):
    """Annotate a block or loop for later passes.

    ann_val: the value, an attribute; or ann_number, a number of the trace.

    Constraints
        (C1) exactly one of ann_val and ann_number.

    Example
        schedule.annotate %i, "pragma_auto_unroll_max_step", 16 : i32

    Source: `sch.annotate(block_or_loop, ann_key, ann_val)`
    """

    name = "schedule.annotate"
    SYNTAX: ClassVar = ("block_or_loop", "ann_key", "ann_val")
    EITHER: ClassVar = {"ann_val": "ann_number"}

    block_or_loop = operand_def(BlockType | LoopType)
    ann_number = opt_operand_def(i64)
    ann_key = prop_def(StringAttr)
    ann_val = opt_prop_def(Attribute)
    irdl_options = (AttrSizedOperandSegments(as_property=True),)

    def verify_(self) -> None:
        require((self.ann_number is None) != (self.ann_val is None), "(C1) expected ann_val or ann_number")

    def arguments(self) -> dict[str, Any]:
        """The arguments; ann_val remains an attribute, with the type of the annotation."""
        return {**super().arguments(), "ann_val": self.ann_number if self.ann_val is None else self.ann_val}


@irdl_op_definition
class UnannotateOp(ScheduleOp):
    """Remove an annotation from a block or loop.

    Example
        schedule.unannotate %i, "pragma_auto_unroll_max_step"

    Source: `sch.unannotate(block_or_loop, ann_key)`
    """

    name = "schedule.unannotate"
    SYNTAX: ClassVar = ("block_or_loop", "ann_key")

    block_or_loop = operand_def(BlockType | LoopType)
    ann_key = prop_def(StringAttr)


@irdl_op_definition
class TransformLayoutOp(_BufferOp):
    """Change the layout of a buffer: the element at `index` moves to `index_map(index)`, wherever it is used.

    pad_value: the value of new elements, if the map enlarges the buffer: a number, or a map from their new indices to
    their values.  parameters: the values of the symbols of each map: sampled numbers, and sizes of the program.

    Constraints
        (C1) buffer_side is read or write.
        (C2) each map has one symbol for each parameter.

    Example
        schedule.transform_layout %B, "write", 0, affine_map<(i, j) -> (i, j floordiv 4, j mod 4)>
        schedule.transform_layout %B, "write", 0, affine_map<(i, j)[a] -> (i, j floordiv a, j mod a)>[%tile]

    Source: `sch.transform_layout(block, buffer, index_map, pad_value, assume_injective_transform)`
    """

    name = "schedule.transform_layout"
    SYNTAX: ClassVar = ("block", "buffer_side", "buffer_index", "index_map")
    DEFAULTS: ClassVar = {"assume_injective_transform": to_attribute(False)}
    MAPS: ClassVar = ("index_map", "pad_value")

    block = operand_def(BlockType)
    parameters = var_operand_def(EqAttrConstraint(i64) | BaseAttr(SizeType))
    buffer_side = prop_def(StringAttr)
    buffer_index = prop_def(IntegerAttr[IntegerType])
    index_map = prop_def(AffineMapAttr)
    pad_value = opt_prop_def(IntegerAttr | FloatAttr | AffineMapAttr)
    assume_injective_transform = prop_def(BoolAttr)

    def verify_(self) -> None:
        super().verify_()
        self.verify_maps("(C2)")


@irdl_op_definition
class TransformBlockLayoutOp(ScheduleOp):
    """Replace the axes of a block by `index_map` of them.

    parameters: the values of the symbols of the map: sampled numbers, and sizes of the program.

    Constraints
        (C1) the map has one symbol for each parameter.

    Example
        schedule.transform_block_layout %B, affine_map<(i, j) -> (i * 16 + j)>
        schedule.transform_block_layout %B, affine_map<(i, j)[n] -> (i * n + j)>[%n]

    Source: `sch.transform_block_layout(block, index_map)`
    """

    name = "schedule.transform_block_layout"
    SYNTAX: ClassVar = ("block", "index_map")
    MAPS: ClassVar = ("index_map",)

    block = operand_def(BlockType)
    parameters = var_operand_def(EqAttrConstraint(i64) | BaseAttr(SizeType))
    index_map = prop_def(AffineMapAttr)

    def verify_(self) -> None:
        self.verify_maps("(C1)")


@irdl_op_definition
class PadEinsumOp(ScheduleOp):
    """Pad the extents of a block's axes to multiples of given numbers, with zero-padded copies of its operands.

    Example
        schedule.pad_einsum %C, [16, 16, 16]

    Source: `sch.pad_einsum(block, padding)`
    """

    name = "schedule.pad_einsum"
    SYNTAX: ClassVar = ("block", "padding")

    block = operand_def(BlockType)
    padding = prop_def(DenseArrayBase[IntegerType])


@irdl_op_definition
class DecomposePaddingOp(ScheduleOp):
    """Split a block that copies with padding into one that fills all elements and one that copies the interior.

    Example
        %pad_const = schedule.decompose_padding %pad, %i

    Source: `sch.decompose_padding(block, loop)`
    """

    name = "schedule.decompose_padding"
    SYNTAX: ClassVar = ("block", "loop")

    block = operand_def(BlockType)
    loop = operand_def(LoopType)
    result = result_def(BlockType)


@irdl_op_definition
class EnterPostprocOp(ScheduleOp):
    """Mark the end of the search for a schedule and the start of fixed steps; no effect on the program.

    Example
        schedule.enter_postproc

    Source: `sch.enter_postproc()`
    """

    name = "schedule.enter_postproc"

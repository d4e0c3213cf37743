"""Annotations of loops, blocks and buffers for later passes: keys, alignment, memory scope; data types of buffers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias, cast

from xdsl.dialects.builtin import ArrayAttr, IntegerAttr, MemRefType, StringAttr, i32
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from ...analysis.names import buffer_name, fresh_buffer_name
from ...core.diagnostics import did_you_mean
from ...core.dtypes import DType, dtype_of, int_fits, literal_dtype, mlir_type, parse_dtype
from ...core.errors import ScheduleError
from ...core.xdsl_compat import set_name_hint
from ...dialects.schedule import AnnotateOp, SetScopeOp, StorageAlignOp, UnannotateOp, UnsafeSetDtypeOp
from ...dialects.tir import (
    AccessOp,
    AccessPtrOp,
    AddressOfOp,
    AllocBufferOp,
    BlockOp,
    BufferDataOp,
    DeclBufferOp,
    ForOp,
    FuncOp,
    HandleType,
    LetOp,
    LoadOp,
    MatchRegionOp,
    StoreOp,
    TirBuilder,
    memory_space,
)
from ...dialects.tir.annotations import annotation_key, annotation_value
from ..handles import BlockLike, ExprRV, LoopRV
from ..recorder import Recorder
from ..rewriting.nest import function_of
from ..rewriting.nest import set_annotation as set_annotation
from ..rewriting.root import unwrap_root, wrap_root
from ..state import State, applies

Annotation: TypeAlias = "bool | int | float | str | Sequence[Annotation] | Mapping[str, Annotation]"
"""A value of an annotation."""

BUFFER_ALIGNMENT = "buffer_dim_align"
"""The block annotation for buffer alignment: rows of (index of the written buffer, axis, factor, offset)."""

MEMORIES = ("global", "local", "m16n8k8", "metal", "shared", "texture", "warp", "wmma")
"""Memory scopes; a suffix after a dot refines them: `shared.dyn`, `wmma.matrix_a`."""


class AnnotationPrimitives(Recorder):
    """Primitives that annotate loops, blocks and buffers and leave the computation unchanged."""

    def annotate(
        self, block_or_loop: BlockLike | LoopRV, ann_key: str, ann_val: Annotation | Attribute | ExprRV
    ) -> None:
        """Annotate a block or loop for later passes.

            for i in range(16):      ->      for i in T.serial(16, annotations={"pragma_unroll_explicit": 1}):

            with T.block("C"):       ->      with T.block("C"):
                vi = ...                         vi = ...
                                                 T.block_attr({"schedule_rule": "tile"})

        block_or_loop: annotations of the root block are written on a block named root around the body of the function.
        ann_key: the key.  ann_val: a bool, number or string, a list or dictionary of these; or a number of the trace
        (from sampling), not nested in a list or dictionary. Integers are i32, or i64 if too large; floats are f64.
        Legal if the key is new or already has this value; ScheduleError if it has another one (`unannotate` it first):
        TVM keeps the old value silently.
        """
        where = block_or_loop if isinstance(block_or_loop, LoopRV) else self._block(block_or_loop)
        value = ann_val if isinstance(ann_val, ExprRV) else annotation_attribute(ann_val)
        self.record(AnnotateOp, block_or_loop=where, ann_key=ann_key, ann_val=value)

    def unannotate(self, block_or_loop: BlockLike | LoopRV, ann_key: str) -> None:
        """Remove an annotation from a block or loop.

            for i in T.serial(16, annotations={"pragma_unroll_explicit": 1}):      ->      for i in range(16):

        ScheduleError if there is no annotation `ann_key`.
        """
        where = block_or_loop if isinstance(block_or_loop, LoopRV) else self._block(block_or_loop)
        self.record(UnannotateOp, block_or_loop=where, ann_key=ann_key)

    def storage_align(self, block: BlockLike, buffer_index: int, axis: int, factor: int, offset: int) -> None:
        """Require a stride of `factor * n + offset` elements for a dimension of a buffer.

            with T.block("B"):       ->      with T.block("B"):
                vi, vj = ...                     vi, vj = ...
                                                 T.block_attr({"buffer_dim_align": [[0, 0, 16, 4]]})

        block, buffer_index: the buffer is the one at this index among the buffers that the block writes; it must be
        allocated in the program.  axis: the dimension; counted from the last one if negative.  factor: at least 1.
        The alignment is an annotation of the block, in TVM's form, that replaces an earlier one for the same dimension.
        It never changes the computed values. Shared memory of a GPU follows it if longer rows have such a stride
        (`tir-pad-buffers`); other memory does not.
        """
        arguments = {"buffer_index": buffer_index, "axis": axis, "factor": factor, "offset": offset}
        self.record(StorageAlignOp, block=self._block(block), **arguments)

    def set_scope(self, block: BlockLike, buffer_index: int | str, storage_scope: str) -> None:
        """Move a buffer to another memory scope.

            B = T.alloc_buffer((16, 12))      ->      B_shared = T.alloc_buffer((16, 12), scope="shared")

        block, buffer_index: the buffer is the one at this index among the buffers that the block writes, or the one of
        this name among them; it must be allocated in the program.  storage_scope: "global", "shared", "local", "warp",
        "wmma.matrix_a", "shared.dyn", ...
        The buffer is renamed after the scope, as in TVM, and views of the buffer move to that memory too.
        Always legal: the scope determines the memory of the elements, not their values.
        """
        handle = self._block(block)
        if isinstance(buffer_index, str):
            buffer_index = self._written_index(handle, buffer_index)
        self.record(SetScopeOp, block=handle, buffer_index=buffer_index, storage_scope=storage_scope)

    def unsafe_set_dtype(self, block: BlockLike, buffer_index: int | str, dtype: str) -> None:
        """Store the elements of a buffer in another data type.

            B = T.alloc_buffer((16, 12))      ->      B = T.alloc_buffer((16, 12), "float16")
            B[vi, vj] = A[vi, vj] * 2.0               B[vi, vj] = T.Cast("float16", A[vi, vj] * 2.0)
            C[vi, vj] = B[vi, vj] + 1.0               C[vi, vj] = T.Cast("float32", B[vi, vj]) + 1.0

        block, buffer_index: the buffer, as of `set_scope`.  dtype: the name of a scalar data type.
        Stored values are converted to the data type, loaded ones back to the former one; views change too.
        Unlike every other primitive, it changes the results of the program: it rounds each stored value. ScheduleError
        for a buffer that the program does not allocate, and for one used otherwise than to load and store elements.
        """
        handle = self._block(block)
        if isinstance(buffer_index, str):
            buffer_index = self._written_index(handle, buffer_index)
        self.record(UnsafeSetDtypeOp, block=handle, buffer_index=buffer_index, dtype=dtype)

    def _written_index(self, block: Any, name: str) -> int:
        """The index of the buffer `name` among the buffers that a block writes."""
        target = self._target(block)
        names = [buffer_name(access.buffer) for access in _writes(target)] if isinstance(target, BlockOp) else []
        if name not in names:
            known = ", ".join(names) or "none"
            raise ScheduleError(f"block {block.name} writes no buffer {name!r}{did_you_mean(name, names)} ({known})")
        return names.index(name)


# Annotations


def annotation_attribute(value: Annotation | Attribute) -> Attribute:
    """The attribute of a Python value, as parsed from the same text. ScheduleError for an unsupported value."""
    try:
        return annotation_value(value)
    except ValueError as error:
        raise ScheduleError(f"annotation {error}, or a number of the trace alone") from None


def _key(key: object) -> str:
    """The name of an annotation key in classic TVM. ScheduleError unless the key is a string."""
    if not isinstance(key, str):
        raise ScheduleError(f"key {key!r} of an annotation: expected a string")
    return annotation_key(key)


@applies(AnnotateOp)
def annotate(state: State, block_or_loop: BlockOp | FuncOp | ForOp, ann_key: str, ann_val: Attribute | int) -> None:
    key = _key(ann_key)
    value = annotation_attribute(ann_val)
    old = (
        {} if isinstance(block_or_loop, FuncOp) or block_or_loop.annotations is None else block_or_loop.annotations.data
    )
    if key in old:
        if old[key] == value:
            return
        raise ScheduleError(f"annotation {ann_key!r} is there already, with another value", [block_or_loop])
    with state.changing(check=False):
        target = wrap_root(state, block_or_loop) if isinstance(block_or_loop, FuncOp) else block_or_loop
        set_annotation(target, key, value)


@applies(UnannotateOp)
def unannotate(state: State, block_or_loop: BlockOp | FuncOp | ForOp, ann_key: str) -> None:
    key = _key(ann_key)
    existing = None if isinstance(block_or_loop, FuncOp) else block_or_loop.annotations
    keys = [] if existing is None else list(existing.data)
    if isinstance(block_or_loop, FuncOp) or key not in keys:
        known = ", ".join(keys) or "none"
        raise ScheduleError(f"no annotation {ann_key!r}{did_you_mean(key, keys)} (has: {known})", [block_or_loop])
    with state.changing(check=False):
        set_annotation(block_or_loop, key, None)
        if isinstance(block_or_loop, BlockOp):
            unwrap_root(state, block_or_loop)


# Buffers


def _writes(block: BlockOp) -> list[AccessOp]:
    return [access for access in block.accesses if access.is_write]


def _allocation(block: BlockOp | FuncOp, buffer_index: int) -> AllocBufferOp:
    """The allocation of the buffer at `buffer_index` among the buffers that a block writes."""
    writes = [] if isinstance(block, FuncOp) else _writes(block)
    if not 0 <= buffer_index < len(writes):
        names = ", ".join(buffer_name(access.buffer) for access in writes) or "none"
        raise ScheduleError(
            f"buffer_index {buffer_index}: expected a number below {len(writes)}, that of a buffer which the block "
            f"writes ({names})",
            [block],
        )
    buffer = writes[buffer_index].buffer
    owner = buffer.owner
    if not isinstance(owner, AllocBufferOp):
        what = "a view of another" if isinstance(owner, MatchRegionOp | DeclBufferOp) else "a parameter"
        marks: dict[Operation, str] = {block: f"writes {buffer_name(buffer)}"}
        raise ScheduleError(
            f"buffer {buffer_name(buffer)} is {what}, expected one that the program allocates (T.alloc_buffer)", marks
        )
    return owner


@applies(StorageAlignOp)
def storage_align(state: State, block: BlockOp, buffer_index: int, axis: int, factor: int, offset: int) -> None:
    rank = _allocation(block, buffer_index).type.get_num_dims()
    if not -rank <= axis < rank:
        raise ScheduleError(f"axis {axis}: expected a number from {-rank} to {rank - 1}", [block])
    if factor < 1:
        raise ScheduleError(f"factor {factor}: expected a positive number", [block])
    for number in (factor, offset):
        if not int_fits(number, literal_dtype(0)):
            raise ScheduleError(f"{number} does not fit {literal_dtype(0)}", [block])
    dimension = (buffer_index, axis % rank)
    rows = _alignment_rows(block)
    rows[dimension] = (factor, offset)
    value = ArrayAttr([ArrayAttr([IntegerAttr(n, i32) for n in (*key, *row)]) for key, row in rows.items()])
    with state.changing(check=False):
        set_annotation(block, BUFFER_ALIGNMENT, value)


def _alignment_rows(block: BlockOp) -> dict[tuple[int, int], tuple[int, int]]:
    """The (factor, offset) of each alignment that a block requires, by written buffer and axis."""
    known = None if block.annotations is None else block.annotations.data.get(BUFFER_ALIGNMENT)
    if known is None:
        return {}
    rows: dict[tuple[int, int], tuple[int, int]] = {}
    for row in known.data if isinstance(known, ArrayAttr) else (known,):
        items = row.data if isinstance(row, ArrayAttr) else ()
        numbers = [item.value.data for item in items if isinstance(item, IntegerAttr)]
        if len(numbers) != 4:
            raise ScheduleError(f"annotation {BUFFER_ALIGNMENT} of the block: expected rows of four numbers", [block])
        rows[numbers[0], numbers[1]] = (numbers[2], numbers[3])
    return rows


@applies(SetScopeOp)
def set_scope(state: State, block: BlockOp, buffer_index: int, storage_scope: str) -> None:
    allocation = _allocation(block, buffer_index)
    require_memory(storage_scope, block)
    space = memory_space(storage_scope)
    if space == allocation.type.memory_space:
        return
    name = f"{allocation.buffer_name.data}_{storage_scope.replace('.', '_')}"
    with state.changing(check=False):
        name = fresh_buffer_name(function_of(allocation), name)
        allocation.buffer_name = StringAttr(name)
        set_name_hint(move_to_memory(allocation.buffer, storage_scope), name)


@applies(UnsafeSetDtypeOp)
def unsafe_set_dtype(state: State, block: BlockOp, buffer_index: int, dtype: str) -> None:
    allocation = _allocation(block, buffer_index)
    try:
        new = parse_dtype(dtype)
    except ValueError as error:
        raise ScheduleError(f"dtype: {error}", [block]) from None
    if new.lanes != 1:
        raise ScheduleError(f"dtype {dtype!r}, expected a scalar data type", [block])
    if new == dtype_of(allocation.type.element_type):
        return
    views = [allocation.buffer]
    for buffer in views:
        for use in buffer.uses:
            user = use.operation
            if isinstance(user, MatchRegionOp):
                views.append(user.buffer)
            elif not isinstance(user, AccessOp | LoadOp | StoreOp):
                raise ScheduleError(
                    f"buffer {buffer_name(buffer)} is used otherwise than to load and store elements ({user.name}), "
                    "which is not supported",
                    [allocation],
                )
    with state.changing(check=False):
        for buffer in views:
            _store_as(buffer, new)


def _store_as(buffer: SSAValue, dtype: DType) -> None:
    """Change the data type of the elements of a buffer, and convert the values that are loaded and stored."""
    old = cast("MemRefType[Attribute]", buffer.type)
    type = MemRefType(mlir_type(dtype), old.get_shape(), old.layout, old.memory_space)
    for use in list(Rewriter.replace_value_with_new_type(buffer, type).uses):
        match use.operation:
            case LoadOp() as op:
                _convert_loaded(op, dtype)
            case StoreOp() as op:
                builder = TirBuilder(InsertPoint.before(op), op.location)
                op.operands[0] = builder.cast(op.value, dtype.with_lanes(dtype_of(op.value.type).lanes))
            case _:
                pass


def _convert_loaded(op: LoadOp, dtype: DType) -> None:
    """Make a load one of another data type, whose value is converted to the former type."""
    former = dtype_of(op.results[0].type)
    value = Rewriter.replace_value_with_new_type(op.results[0], mlir_type(dtype.with_lanes(former.lanes)))
    uses = list(value.uses)
    loaded = TirBuilder(InsertPoint.after(op), op.location).cast(value, former)
    for use in uses:
        use.operation.operands[use.index] = loaded


def require_memory(scope: str, *marks: Operation) -> None:
    """Raise ScheduleError unless `scope` names a memory scope."""
    if scope.partition(".")[0] not in MEMORIES or scope.endswith("."):
        hint = did_you_mean(scope, MEMORIES)
        raise ScheduleError(f"no memory {scope!r}{hint} (has: {', '.join(MEMORIES)}, and these with a suffix)", marks)


_VIEWS = (AccessPtrOp, AddressOfOp, BufferDataOp, DeclBufferOp, LetOp, MatchRegionOp)


def move_to_memory(buffer: SSAValue, scope: str) -> SSAValue:
    """Change the memory scope in the types of a buffer and of all views of its memory; returns the new buffer."""
    todo: list[SSAValue] = [buffer]
    new_values: list[SSAValue] = []
    while todo:
        old = todo.pop()
        new = Rewriter.replace_value_with_new_type(old, _in_memory(old.type, scope))
        new_values.append(new)
        for use in list(new.uses):
            user = use.operation
            if isinstance(user, _VIEWS) and use.index == 0:
                todo.append(user.results[0])
    return new_values[0]


def _in_memory(type: Attribute, scope: str) -> Attribute:
    if isinstance(type, HandleType):
        return HandleType.new([type.element, StringAttr(scope)])
    assert isinstance(type, MemRefType)
    return MemRefType(type.element_type, type.get_shape(), type.layout, memory_space(scope))

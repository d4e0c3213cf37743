"""Memory: allocations, pointers, loads and stores."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import (
    DenseIntOrFPElementsAttr,
    DictionaryAttr,
    IntegerAttr,
    IntegerType,
    MemRefType,
    NoneAttr,
    StringAttr,
    VectorType,
    i64,
)
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import (
    AttrSizedOperandSegments,
    irdl_op_definition,
    operand_def,
    opt_operand_def,
    opt_prop_def,
    prop_def,
    result_def,
    traits_def,
    var_operand_def,
)
from xdsl.traits import MemoryAllocEffect, MemoryReadEffect, MemoryWriteEffect, Pure

from ...core.dtypes import dtype_of, element_type_of
from ...core.xdsl_compat import set_name_hint
from .base import (
    HandleType,
    Mixed,
    TirOp,
    annotations_attr,
    indexed_type,
    join_mixed,
    memref_type,
    require,
    scope_of,
    split_mixed,
    verify_memory,
    verify_mixed,
)
from .directives import AccessType, Dictionary, Index, Indices, Keyword, MixedIndices


@irdl_op_definition
class AllocateOp(TirOp):
    """Allocate memory whose lifetime ends with the enclosing region; its contents are undefined.

    extents: the number of elements per dimension.  condition: allocate only if true (true if missing).
    pointer: the result, whose type determines element type and scope.  memory: `stack` or `heap`, missing if undecided.

    Constraints
        (C1) one operand for each dynamic extent.
        (C2) the pointer's type has an element type.
        (C3) memory is stack or heap.

    Example
        %p = tir.allocate "p" [%n, 8] : !tir.handle<f32, "shared">
        %q = tir.allocate "q" [8] on stack : !tir.handle<f32>

    Source: `T.allocate` (until v0.23)
    """

    name = "tir.allocate"

    var_name = prop_def(StringAttr)
    static_extents = prop_def(Attribute)
    memory = opt_prop_def(StringAttr)
    annotations = opt_prop_def(DictionaryAttr)
    extents = var_operand_def(IntegerType)
    condition = opt_operand_def(IntegerType(1))
    pointer = result_def(HandleType)

    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    traits = traits_def(MemoryAllocEffect())
    custom_directives = (Dictionary, Keyword, MixedIndices)
    assembly_format = (
        "$var_name custom<MixedIndices>($static_extents, $extents, type($extents)) (`if` $condition^)? "
        "(`on` custom<Keyword>($memory)^)? (`annotations` custom<Dictionary>($annotations)^)? "
        "attr-dict-with-keyword `:` type($pointer)"
    )

    def __init__(
        self,
        name: str,
        extents: Sequence[Mixed],
        type: HandleType,
        *,
        condition: SSAValue | None = None,
        annotations: DictionaryAttr | dict[str, Attribute] | None = None,
    ):
        static, operands = split_mixed(extents)
        super().__init__(
            operands=[operands, condition],
            properties={
                "var_name": StringAttr(name),
                "static_extents": static,
                "annotations": annotations_attr(annotations),
            },
            result_types=[type],
        )
        set_name_hint(self.pointer, name)

    @property
    def mixed_extents(self) -> list[Mixed]:
        return join_mixed(self.static_extents, self.extents)  # pyright: ignore[reportArgumentType]

    def verify_(self) -> None:
        verify_mixed("(C1) extents", self.static_extents, self.extents)  # pyright: ignore[reportArgumentType]
        require(not isinstance(self.pointer.type.element, NoneAttr), "(C2) the pointer has no element type")
        verify_memory(self.memory, "(C3)")


@irdl_op_definition
class AllocateConstOp(TirOp):
    """Memory that contains a constant array and must not be written.

    value: the elements, row-major.

    Example
        %w = tir.allocate_const "w" dense<[1, 2, 3]> : tensor<3xi32> : !tir.handle<i32>

    Source: `T.allocate_const` (until v0.23)
    """

    name = "tir.allocate_const"

    var_name = prop_def(StringAttr)
    value = prop_def(DenseIntOrFPElementsAttr)
    annotations = opt_prop_def(DictionaryAttr)
    pointer = result_def(HandleType)

    traits = traits_def(MemoryAllocEffect())
    custom_directives = (Dictionary,)
    assembly_format = (
        "$var_name $value (`annotations` custom<Dictionary>($annotations)^)? attr-dict-with-keyword `:` type($pointer)"
    )

    def __init__(
        self,
        name: str,
        value: DenseIntOrFPElementsAttr,
        type: HandleType,
        annotations: DictionaryAttr | dict[str, Attribute] | None = None,
    ):
        super().__init__(
            properties={"var_name": StringAttr(name), "value": value, "annotations": annotations_attr(annotations)},
            result_types=[type],
        )
        set_name_hint(self.pointer, name)


@irdl_op_definition
class FreePointerOp(TirOp):
    """A pointer to memory that nothing in the program provides. A program that uses it can be printed and transformed,
    but not run.

    Constraints
        (C1) the pointer's type has an element type.

    Example
        %p = tir.free_pointer "C" : !tir.handle<f32>

    Source: `T.Buffer(...)`, `T.buffer_decl(...)` in a body, without data
    """

    name = "tir.free_pointer"

    var_name = prop_def(StringAttr)
    pointer = result_def(HandleType)

    traits = traits_def(MemoryAllocEffect())
    assembly_format = "$var_name attr-dict `:` type($pointer)"

    def __init__(self, name: str, type: HandleType):
        super().__init__(properties={"var_name": StringAttr(name)}, result_types=[type])
        set_name_hint(self.pointer, name)

    def verify_(self) -> None:
        require(not isinstance(self.pointer.type.element, NoneAttr), "(C1) the pointer has no element type")


@irdl_op_definition
class BufferDataOp(TirOp):
    """The pointer to the memory of a buffer.

    Example
        %p = tir.buffer_data %A : memref<8xf32> -> !tir.handle<f32>

    Source: `A.data`
    """

    name = "tir.buffer_data"

    buffer = operand_def(MemRefType)
    pointer = result_def(HandleType)

    traits = traits_def(Pure())
    assembly_format = "$buffer attr-dict `:` type($buffer) `->` type($pointer)"

    def __init__(self, buffer: SSAValue):
        assert isinstance(buffer.type, MemRefType)
        super().__init__(operands=[buffer], result_types=[HandleType(buffer.type.element_type, scope_of(buffer.type))])


@irdl_op_definition
class AddressOfOp(TirOp):
    """The pointer to one element of a buffer.

    Constraints
        (C1) one index for each dimension.

    Example
        %p = tir.address_of %A[%i] : memref<8xf32> -> !tir.handle<f32>

    Source: `T.address_of(A[i])`
    """

    name = "tir.address_of"

    buffer = operand_def(MemRefType)
    indices = var_operand_def(IntegerType)
    pointer = result_def(HandleType)

    traits = traits_def(Pure())
    custom_directives = (Indices,)
    assembly_format = (
        "$buffer `` custom<Indices>($indices, type($indices)) "
        "attr-dict-with-keyword `:` type($buffer) `->` type($pointer)"
    )

    def __init__(self, buffer: SSAValue, indices: Sequence[SSAValue]):
        assert isinstance(buffer.type, MemRefType)
        super().__init__(
            operands=[buffer, indices],
            result_types=[HandleType(buffer.type.element_type, scope_of(buffer.type))],
        )

    def verify_(self) -> None:
        rank = memref_type(self.buffer).get_num_dims()
        require(len(self.indices) == rank, lambda: f"(C1) {len(self.indices)} indices for a buffer of rank {rank}")


@irdl_op_definition
class AccessPtrOp(TirOp):
    """A pointer derived from a base pointer, with the memory range and kind of access of the call that takes it.

    data: the base pointer.  offset, extent: the start and the length of the accessed range, in elements of the result's
    element type.  access: 1 read, 2 write, 3 both.

    Constraints
        (C1) the result has an element type, which is a scalar or a vector.

    Example
        %p = tir.access_ptr %d[%o +: %n] access 1 : !tir.handle<f32> -> !tir.handle<f32>

    Source: `A.access_ptr(...)`, `T.tvm_access_ptr(...)`
    """

    name = "tir.access_ptr"

    access = prop_def(IntegerAttr.constr(i64))
    data = operand_def(HandleType)
    offset = operand_def(IntegerType)
    extent = operand_def(IntegerType)
    pointer = result_def(HandleType)

    traits = traits_def(Pure())
    custom_directives = (Index,)
    assembly_format = (
        "$data `` `[` custom<Index>($offset, type($offset)) `+` `` `:` custom<Index>($extent, type($extent)) `]` "
        "`access` $access attr-dict-with-keyword `:` type($data) `->` type($pointer)"
    )

    def __init__(self, data: SSAValue, offset: SSAValue, extent: SSAValue, access: int, type: HandleType):
        super().__init__(
            operands=[data, offset, extent], properties={"access": IntegerAttr(access, i64)}, result_types=[type]
        )

    @property
    def is_read(self) -> bool:
        """Whether the call that takes the pointer only reads the range."""
        return self.access.value.data == 1

    def verify_(self) -> None:
        is_typed = not isinstance(self.pointer.type.element, NoneAttr | HandleType)
        require(is_typed, "(C1) the pointer has no scalar or vector as element type")


# Elements of a buffer


_ACCESS = (
    "$buffer `` custom<Indices>($indices, type($indices)) (`if` $predicate^ `:` type($predicate))? "
    "attr-dict-with-keyword `:` type($buffer)"
)


class _AccessOp(TirOp):
    """Base class of load and store: a buffer, indices, an optional predicate, and their constraints."""

    buffer = operand_def(MemRefType)
    indices = var_operand_def()
    predicate = opt_operand_def()

    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    custom_directives = (AccessType, Indices)

    @property
    def vector_indices(self) -> list[SSAValue]:
        """The indices that differ between the lanes of the access; none for an access of one element."""
        return [index for index in self.indices if isinstance(index.type, VectorType)]

    def _verify_indices(self) -> None:
        rank = memref_type(self.buffer).get_num_dims()
        require(len(self.indices) == rank, lambda: f"(C1) {len(self.indices)} indices for a buffer of rank {rank}")
        for index in self.indices:
            require(
                isinstance(element_type_of(index.type), IntegerType),
                lambda: f"(C2) index of type {index.type}, expected an integer",
            )
        lengths = {dtype_of(index.type).lanes for index in self.vector_indices}
        require(len(lengths) <= 1, "(C2) vectors of indices have different numbers of lanes")
        if self.predicate is not None:
            lanes, type = indexed_type(self.buffer.type, self.indices.types), self.predicate.type
            require(
                isinstance(lanes, VectorType)
                and isinstance(type, VectorType)
                and type.get_shape() == lanes.get_shape(),
                lambda: f"(C3) predicate of type {type} for an access of {lanes}",
            )


@irdl_op_definition
class LoadOp(_AccessOp):
    """Read an element of a buffer, or a vector of elements if an index is a vector.

    A lane of the access has the lane of each index that is a vector; other indices are the same in all lanes.
    predicate: lanes with a false predicate are not read and yield 0.

    Constraints
        (C1) one index for each dimension.
        (C2) indices are integers, or vectors of integers with the same number of lanes.
        (C3) a predicate has the lanes of the indices.
        (C4) the result has the buffer's element type, with the lanes of the indices.

    Example
        %x = tir.load %A[%i, %j] : memref<8x8xf32>

    Source: `A[i, j]` as a value (BufferLoad), `T.load` (v0.8)
    """

    name = "tir.load"

    result = result_def()

    traits = traits_def(MemoryReadEffect())
    assembly_format = _ACCESS + " custom<AccessType>(type($result), ref(type($buffer)), ref(type($indices)))"

    def __init__(self, buffer: SSAValue, indices: Sequence[SSAValue], predicate: SSAValue | None = None):
        super().__init__(
            operands=[buffer, indices, predicate], result_types=[indexed_type(buffer.type, [i.type for i in indices])]
        )

    def verify_(self) -> None:
        self._verify_indices()
        expected = indexed_type(self.buffer.type, self.indices.types)
        require(self.result.type == expected, lambda: f"(C4) result of type {self.result.type}, expected {expected}")


@irdl_op_definition
class StoreOp(_AccessOp):
    """Write an element of a buffer, or a vector of elements if an index is a vector.

    A lane of the access has the lane of each index that is a vector; other indices are the same in all lanes.
    predicate: lanes with a false predicate are not written.

    Constraints
        (C1) one index for each dimension.
        (C2) indices are integers, or vectors of integers with the same number of lanes.
        (C3) a predicate has the lanes of the indices.
        (C4) the value has the buffer's element type, with the lanes of the indices.

    Example
        tir.store %x, %A[%i, %j] : memref<8x8xf32>

    Source: `A[i, j] = x` (BufferStore), `T.store` (v0.8)
    """

    name = "tir.store"

    value = operand_def()

    traits = traits_def(MemoryWriteEffect())
    assembly_format = (
        "$value `,` " + _ACCESS + " custom<AccessType>(type($value), ref(type($buffer)), ref(type($indices)))"
    )

    def __init__(
        self, value: SSAValue, buffer: SSAValue, indices: Sequence[SSAValue], predicate: SSAValue | None = None
    ):
        super().__init__(operands=[value, buffer, indices, predicate])

    def verify_(self) -> None:
        self._verify_indices()
        expected = indexed_type(self.buffer.type, self.indices.types)
        require(self.value.type == expected, lambda: f"(C4) value of type {self.value.type}, expected {expected}")

"""Buffers: declarations, allocations, views, and regions.

A buffer is a memref: its memory space is TVM's scope, its layout the strides. Its name is a property. The dynamic
entries of the memref type (`?` in shape, strides, offset) are operands `dims`, `strides`, `offset`, in order.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from xdsl.dialects.builtin import (
    DenseArrayBase,
    IntegerAttr,
    IntegerType,
    MemRefType,
    NoneAttr,
    StridedLayoutAttr,
    StringAttr,
    i64,
)
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import (
    AttrSizedOperandSegments,
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    prop_def,
    result_def,
    traits_def,
    var_operand_def,
)
from xdsl.traits import MemoryAllocEffect
from xdsl.utils.exceptions import VerifyException

from ...core.dtypes import element_byte_size
from ...core.errors import SizeError
from ...core.sizes import check_shape, check_size
from ...core.xdsl_compat import set_name_hint
from .base import (
    DYNAMIC,
    HandleType,
    Mixed,
    TirOp,
    join_mixed,
    memref_type,
    require,
    split_mixed,
    verify_memory,
    verify_mixed,
)
from .directives import Box, Indices, Keyword


def buffer_type(
    element: Attribute,
    shape: Sequence[Mixed],
    *,
    strides: Sequence[Mixed] | None = None,
    offset: Mixed = 0,
    space: Attribute | None = None,
) -> MemRefType[Attribute]:
    """The memref type of a buffer; values in `shape`, `strides` and `offset` become `?`.

    Without strides and offset, the layout is the identity: row-major and compact, starting at the data pointer.
    """
    layout: Attribute = NoneAttr()
    if strides or offset != 0:
        if strides is None:
            strides = row_major_strides(shape)
        layout = StridedLayoutAttr(
            [s if isinstance(s, int) else None for s in strides], offset if isinstance(offset, int) else None
        )
    dims = [d if isinstance(d, int) else DYNAMIC for d in shape]
    return MemRefType(element, dims, layout, NoneAttr() if space is None else space)  # pyright: ignore[reportArgumentType]


def row_major_strides(shape: Sequence[Mixed]) -> list[int]:
    """The strides of a compact row-major array in elements; ValueError if an inner extent is dynamic."""
    strides = [1]
    for extent in reversed(shape[1:]):
        if not isinstance(extent, int):
            raise ValueError("row-major strides of a symbolic shape must be given")
        strides.insert(0, strides[0] * extent)
    return strides[: len(shape)]


def dynamic_operands(values: Sequence[Mixed] | None) -> list[SSAValue]:
    """The SSA values among mixed values."""
    return [v for v in values or () if not isinstance(v, int)]


_LAYOUT = (
    "(`dims` custom<Indices>($dims, type($dims))^)? (`strides` custom<Indices>($strides, type($strides))^)? "
    "(`offset` custom<Indices>($offset, type($offset))^)? (`align` $alignment^)? (`offset_factor` $offset_factor^)? "
    "(`axis_separators` $axis_separators^)?"
)
_BOX = "custom<Box>($static_mins, $mins, type($mins), $static_extents, $extents, type($extents))"


class BufferOp(TirOp):
    """Base class of the ops that declare a buffer: name, shape, strides, offset, alignment, groups of dimensions, and
    their syntax.

    axis_separators: the positions that divide the dimensions into groups, one for each axis of the physical memory:
    `[2]` divides four dimensions into the first two and the last two. No effect on the elements of the buffer.
    The operands of this class follow the operands of the derived class.
    """

    buffer_name = prop_def(StringAttr)
    alignment = opt_prop_def(IntegerAttr.constr(i64))
    offset_factor = opt_prop_def(IntegerAttr.constr(i64))
    axis_separators = opt_prop_def(DenseArrayBase.constr(i64))
    dims = var_operand_def(IntegerType)
    strides = var_operand_def(IntegerType)
    offset = var_operand_def(IntegerType)
    buffer = result_def(MemRefType)

    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    traits = traits_def(MemoryAllocEffect())
    custom_directives = (Box, Indices, Keyword)

    @property
    def type(self) -> MemRefType[Attribute]:
        """The type of the declared buffer."""
        return self.buffer.type

    @property
    def mixed_shape(self) -> list[Mixed]:
        rest = iter(self.dims)
        return [next(rest) if d == DYNAMIC else d for d in self.type.get_shape()]

    @property
    def mixed_strides(self) -> list[Mixed] | None:
        """The strides in elements, or None for a compact row-major buffer."""
        if not isinstance(layout := self.type.layout, StridedLayoutAttr):
            return None
        rest = iter(self.strides)
        return [next(rest) if isinstance(s, NoneAttr) else s.data for s in layout.strides]

    @property
    def mixed_offset(self) -> Mixed:
        """The offset of element 0 from the data pointer, in elements."""
        if not isinstance(layout := self.type.layout, StridedLayoutAttr):
            return 0
        return self.offset[0] if isinstance(layout.offset, NoneAttr) else layout.offset.data

    @property
    def separators(self) -> tuple[int, ...]:
        """The axis separators; empty if all dimensions are one group."""
        return () if self.axis_separators is None else self.axis_separators.get_values()

    @separators.setter
    def separators(self, positions: Sequence[int]) -> None:
        if positions:
            self.properties["axis_separators"] = DenseArrayBase.from_list(i64, positions)
        else:
            self.properties.pop("axis_separators", None)

    def _verify_separators(self, tag: str, rank: int) -> None:
        if self.axis_separators is None:
            return
        place = f"{tag} buffer '{self.buffer_name.data}': axis_separators {list(self.separators)}, expected"
        try:
            check_separators(self.separators, rank)
        except ValueError as error:
            raise VerifyException(f"{place} {error}") from None
        require(bool(self.separators), lambda: f"{place} at least one position")

    def _verify_layout(self) -> None:
        dims = [d for d in self.type.get_shape() if d == DYNAMIC]
        require(len(dims) == len(self.dims), lambda: f"(C1) {len(dims)} dynamic extents, {len(self.dims)} operands")
        strides, offset = 0, 0
        if isinstance(layout := self.type.layout, StridedLayoutAttr):
            strides = sum(isinstance(s, NoneAttr) for s in layout.strides)
            given, rank = len(layout.strides), self.type.get_num_dims()
            require(given == rank, lambda: f"(C1) {given} strides for a buffer of rank {rank}")
            offset = int(isinstance(layout.offset, NoneAttr))
        require(strides == len(self.strides), lambda: f"(C1) {strides} dynamic strides, {len(self.strides)} operands")
        require(offset == len(self.offset), lambda: f"(C1) {offset} dynamic offsets, {len(self.offset)} operands")
        self._verify_size()

    def _verify_size(self) -> None:
        place, strides = f"(C1) buffer '{self.buffer_name.data}'", self.mixed_strides
        shape = [extent if isinstance(extent, int) else None for extent in self.mixed_shape]
        numbers = [number for number in (*(strides or ()), self.mixed_offset) if isinstance(number, int)]
        try:
            element_bytes = element_byte_size(self.type.element_type)
            size = check_shape(shape, element_bytes, place)
            if strides is not None:
                steps = zip(shape, strides, strict=True)
                ends = (abs(step) * (extent - 1) for extent, step in steps if extent and isinstance(step, int))
                size = sum(ends) * element_bytes
            for number in (size, *numbers):
                check_size(number, place)
        except SizeError as error:
            raise VerifyException(str(error)) from None


def check_separators(separators: Sequence[int], rank: int) -> None:
    """Raises ValueError, with the expected numbers, unless `separators` divide the dimensions of a buffer into
    groups."""
    if list(separators) != sorted(separators) or not all(0 <= each <= rank for each in separators):
        raise ValueError(f"positions from 0 to {rank}, none less than the one before it")


def _layout_operands(shape: Sequence[Mixed], strides: Sequence[Mixed] | None, offset: Mixed) -> list[list[SSAValue]]:
    return [dynamic_operands(shape), dynamic_operands(strides), dynamic_operands([offset])]


def _numbers(
    alignment: int | None, offset_factor: int | None, axis_separators: Sequence[int]
) -> dict[str, Attribute | None]:
    return {
        "axis_separators": DenseArrayBase.from_list(i64, axis_separators) if axis_separators else None,
        "alignment": None if alignment is None else IntegerAttr(alignment, i64),
        "offset_factor": None if offset_factor is None else IntegerAttr(offset_factor, i64),
    }


def separators_of(buffer: SSAValue) -> tuple[int, ...]:
    """The axis separators of a buffer, as positions among its own dimensions; empty if all are one group."""
    op = buffer.owner
    if not isinstance(op, BufferOp):
        return ()
    omitted = op.omitted if isinstance(op, MatchRegionOp) else 0
    return tuple(max(each - omitted, 0) for each in op.separators)


def dimension_groups(axis_separators: Sequence[int], rank: int) -> list[range]:
    """The groups into which separators divide the dimensions of a buffer, each as the range of its dimensions."""
    return [range(start, end) for start, end in pairwise((0, *axis_separators, rank))]


class _ViewOp(BufferOp):
    """Base class of the ops that view the memory of a pointer as a buffer; the pointer is the first operand."""

    def __init__(
        self,
        name: str,
        pointer: SSAValue,
        element: Attribute,
        shape: Sequence[Mixed],
        *,
        strides: Sequence[Mixed] | None = None,
        offset: Mixed = 0,
        space: Attribute | None = None,
        alignment: int | None = None,
        offset_factor: int | None = None,
        axis_separators: Sequence[int] = (),
    ):
        super().__init__(
            operands=[pointer, *_layout_operands(shape, strides, offset)],
            properties={"buffer_name": StringAttr(name), **_numbers(alignment, offset_factor, axis_separators)},
            result_types=[buffer_type(element, shape, strides=strides, offset=offset, space=space)],
        )
        set_name_hint(self.buffer, name)


@irdl_op_definition
class MatchBufferOp(_ViewOp):
    """View the memory of a handle parameter of the function as a buffer.

    source: the handle.  dims, strides, offset: the values of the `?` of the type. A `tir.symbol` among them is bound to
    the corresponding value of the run-time argument, any other value is checked against it.

    Constraints
        (C1) one operand for each `?` of the type, and one stride for each dimension; the known numbers span fewer than
             2**63 bytes.
        (C2) source is a parameter of the function.
        (C3) axis_separators are positions from 0 to the rank in order, if any.

    Example
        %A = tir.match_buffer "A" %a dims [%n] : !tir.handle -> memref<?x128xf32>

    Source: `T.match_buffer` of a parameter (PrimFunc.buffer_map)
    """

    name = "tir.match_buffer"

    source = operand_def(HandleType)

    assembly_format = f"$buffer_name $source {_LAYOUT} attr-dict-with-keyword `:` type($source) `->` type($buffer)"

    @property
    def is_parameter(self) -> bool:
        """Whether the buffer may be the parameter of the function itself: its type describes it fully, and nothing else
        uses the handle."""
        known = not (self.dims or self.strides or self.offset)
        plain = self.alignment is None and self.offset_factor is None and self.axis_separators is None
        return known and plain and not self.source.has_more_than_one_use()

    def copy_with_shape(self, shape: Sequence[Mixed], space: Attribute | None) -> MatchBufferOp:
        """A row-major view of another shape and memory space, with the same name, element type, alignment and multiple
        of its offset, for a shape of the same rank the same axis separators, without discardable attributes."""
        alignment, factor = (
            None if number is None else number.value.data for number in (self.alignment, self.offset_factor)
        )
        return MatchBufferOp(
            self.buffer_name.data,
            self.source,
            self.type.element_type,
            shape,
            space=space,
            alignment=alignment,
            offset_factor=factor,
            axis_separators=self.separators if len(shape) == self.type.get_num_dims() else (),
        )

    def verify_(self) -> None:
        # lazy: functions have buffers, and buffers are in functions
        from .functions import FuncOp

        self._verify_layout()
        owner = self.source.owner
        require(
            not isinstance(owner, TirOp) and isinstance(owner.parent_op(), FuncOp),
            "(C2) source must be a parameter of the function",
        )
        self._verify_separators("(C3)", self.type.get_num_dims())


_LIMITS = {32: 2**30, 64: 2**62}


def element_limit(op: MatchBufferOp) -> int | None:
    """The exclusive upper bound of the number of elements of an argument, extents of 0 counted as 1, that prevents
    index arithmetic on its symbolic extents from wrapping: 2**30 with a 32-bit symbol as extent, 2**62 with a 64-bit
    symbol.

    None if no extent is a symbol of these types. See docs/semantics.md, "symbolic sizes".
    """
    # lazy: functions have buffers, and buffers are in functions
    from .functions import SymbolOp

    types = [d.type for d in op.dims if isinstance(d.owner, SymbolOp)]
    limits = [_LIMITS[t.width.data] for t in types if isinstance(t, IntegerType) and t.width.data in _LIMITS]
    return min(limits, default=None)


@irdl_op_definition
class AllocBufferOp(BufferOp):
    """Allocate a buffer whose lifetime ends with the enclosing region; its contents are undefined.

    memory: `stack` or `heap`, missing if undecided.

    Constraints
        (C1) one operand for each `?` of the type, and one stride for each dimension; the known numbers span fewer than
             2**63 bytes.
        (C2) memory is stack or heap.
        (C3) axis_separators are positions from 0 to the rank in order, if any.

    Example
        %s = tir.alloc_buffer "A_shared" dims [%n] : memref<?x128xf32, "shared">
        %P = tir.alloc_buffer "P" axis_separators [1] : memref<8x128xf32>
        %t = tir.alloc_buffer "T" on stack : memref<8xf32>

    Source: `T.alloc_buffer`, `T.sblock_alloc_buffer` (Block.alloc_buffers)
    """

    name = "tir.alloc_buffer"

    memory = opt_prop_def(StringAttr)

    assembly_format = (
        f"$buffer_name {_LAYOUT} (`on` custom<Keyword>($memory)^)? attr-dict-with-keyword `:` type($buffer)"
    )

    def __init__(
        self,
        name: str,
        element: Attribute,
        shape: Sequence[Mixed],
        *,
        strides: Sequence[Mixed] | None = None,
        offset: Mixed = 0,
        space: Attribute | None = None,
        alignment: int | None = None,
        offset_factor: int | None = None,
        axis_separators: Sequence[int] = (),
    ):
        super().__init__(
            operands=_layout_operands(shape, strides, offset),
            properties={"buffer_name": StringAttr(name), **_numbers(alignment, offset_factor, axis_separators)},
            result_types=[buffer_type(element, shape, strides=strides, offset=offset, space=space)],
        )
        set_name_hint(self.buffer, name)

    def copy_with_shape(self, shape: Sequence[Mixed], space: Attribute | None) -> AllocBufferOp:
        """A row-major allocation of another shape and memory space, with the same name, element type and alignment, for
        a shape of the same rank the same axis separators, without discardable attributes."""
        return AllocBufferOp(
            self.buffer_name.data,
            self.type.element_type,
            shape,
            space=space,
            alignment=None if self.alignment is None else self.alignment.value.data,
            axis_separators=self.separators if len(shape) == self.type.get_num_dims() else (),
        )

    def verify_(self) -> None:
        self._verify_layout()
        verify_memory(self.memory, "(C2)")
        self._verify_separators("(C3)", self.type.get_num_dims())


@irdl_op_definition
class DeclBufferOp(_ViewOp):
    """View the memory of a pointer as a buffer, with any element type, shape and strides.

    data: the pointer; other buffers over the same pointer share its memory.

    Constraints
        (C1) one operand for each `?` of the type, and one stride for each dimension; the known numbers span fewer than
             2**63 bytes.
        (C2) axis_separators are positions from 0 to the rank in order, if any.

    Example
        %p = tir.allocate "p" [64] : !tir.handle<f32>
        %B = tir.decl_buffer "B" %p : !tir.handle<f32> -> memref<8x8xf32>

    Source: `T.decl_buffer(..., data=p)`, `T.Buffer(..., data=p)` in a body
    """

    name = "tir.decl_buffer"

    data = operand_def(HandleType)

    assembly_format = f"$buffer_name $data {_LAYOUT} attr-dict-with-keyword `:` type($data) `->` type($buffer)"

    def verify_(self) -> None:
        self._verify_layout()
        self._verify_separators("(C2)", self.type.get_num_dims())


@irdl_op_definition
class MatchRegionOp(BufferOp):
    """View a region (box) of a buffer as a buffer: element `[i, j]` of the view is `source[min0 + i, min1 + j]`.

    source: the viewed buffer.  mins, static_extents: the minimum and the extent of the region per dimension of source;
    the shape of the view may omit leading dimensions of extent 1; axis_separators count these too.

    Constraints
        (C1) one operand for each `?` of the type, and one stride for each dimension; the known numbers span fewer than
             2**63 bytes.
        (C2) one min and one extent for each dimension of source.
        (C3) source and the view have the same element type.
        (C4) axis_separators are positions from 0 to the rank of source in order, if any.

    Example
        %B = tir.match_region "B" %A[%i +: 4, %j +: 4] : memref<16x16xf32> -> memref<4x4xf32>

    Source: `T.match_buffer(A[i:i + 4, j:j + 4], ...)` in a block (Block.match_buffers)
    """

    name = "tir.match_region"

    static_mins = prop_def(Attribute)
    static_extents = prop_def(Attribute)
    source = operand_def(MemRefType)
    mins = var_operand_def(IntegerType)
    extents = var_operand_def(IntegerType)

    assembly_format = (
        f"$buffer_name $source `` {_BOX} {_LAYOUT} attr-dict-with-keyword `:` type($source) `->` type($buffer)"
    )

    def __init__(
        self,
        name: str,
        source: SSAValue,
        region: Sequence[tuple[Mixed, Mixed]],
        shape: Sequence[Mixed],
        *,
        strides: Sequence[Mixed] | None = None,
        offset: Mixed = 0,
        alignment: int | None = None,
        offset_factor: int | None = None,
        axis_separators: Sequence[int] = (),
    ):
        assert isinstance(source.type, MemRefType)
        static_mins, mins = split_mixed(m for m, _ in region)
        static_extents, extents = split_mixed(e for _, e in region)
        type = buffer_type(
            source.type.element_type, shape, strides=strides, offset=offset, space=source.type.memory_space
        )
        super().__init__(
            operands=[source, mins, extents, *_layout_operands(shape, strides, offset)],
            properties={
                "buffer_name": StringAttr(name),
                "static_mins": static_mins,
                "static_extents": static_extents,
                **_numbers(alignment, offset_factor, axis_separators),
            },
            result_types=[type],
        )
        set_name_hint(self.buffer, name)

    @property
    def region(self) -> list[tuple[Mixed, Mixed]]:
        """The (min, extent) per dimension of the source."""
        return mixed_region(self)

    @property
    def omitted(self) -> int:
        """The number of leading dimensions of the source that the view omits."""
        return memref_type(self.source).get_num_dims() - self.type.get_num_dims()

    def verify_(self) -> None:
        self._verify_layout()
        verify_region(self, "(C2)")
        require(memref_type(self.source).element_type == self.type.element_type, "(C3) element types differ")
        self._verify_separators("(C4)", memref_type(self.source).get_num_dims())


# Regions of a buffer: `[%i, %j +: 3]`


def mixed_region(op: Any) -> list[tuple[Mixed, Mixed]]:
    """The (min, extent) per dimension of an op with `static_mins`, `mins`, `static_extents`, `extents`."""
    return list(zip(join_mixed(op.static_mins, op.mins), join_mixed(op.static_extents, op.extents), strict=True))


def verify_region(op: Any, tag: str) -> None:
    """Raise `VerifyException` unless `op` has one min and one extent for each dimension of its buffer (operand 0)."""
    rank = op.operands[0].type.get_num_dims()
    for what, static, dynamic in (("mins", op.static_mins, op.mins), ("extents", op.static_extents, op.extents)):
        verify_mixed(f"{tag} {what}", static, dynamic)
        require(len(static) == rank, lambda: f"{tag} {len(static)} {what} for a buffer of rank {rank}")

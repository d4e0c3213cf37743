"""Buffers, the memory of tensors, and calls of external functions on them."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import prod
from typing import TYPE_CHECKING, Any, TypeAlias

from ..core.dtypes import DType, parse_dtype
from .errors import TeError
from .expr import FloatImm, IntImm, PrimExpr, as_expr, cast

if TYPE_CHECKING:
    from .statements import BufferElement, Store


@dataclass(frozen=True, eq=False)
class Buffer:
    """The memory of a tensor, as `te.extern` and `te.decl_tensor_intrin` pass it to their functions.

    strides: in elements; empty for row-major and compact memory.  elem_offset: the position of the first element after
    `data`, a variable where the memory determines it.  memory: its scope.  axis_separators: the positions that divide
    the dimensions into groups, one for each axis of physical memory.
    """

    name: str
    shape: tuple[PrimExpr, ...]
    data_type: DType
    strides: tuple[PrimExpr, ...] = ()
    elem_offset: PrimExpr = field(default_factory=lambda: as_expr(0))
    memory: str = "global"
    axis_separators: tuple[int, ...] = ()

    @property
    def dtype(self) -> str:
        return self.data_type.name

    @property
    def data(self) -> BufferPointer:
        """The address of the memory, for `te.call_extern`: that of the first element, less `elem_offset`."""
        return BufferPointer(self, is_base=True)

    @property
    def is_compact(self) -> bool:
        """Whether the memory is row-major, compact and global, and starts with the first element."""
        return not self.strides and isinstance(self.elem_offset, IntImm) and self.memory == "global"

    def scope(self) -> str:
        """The scope of the memory."""
        return self.memory

    def access_ptr(
        self,
        access_mask: str | int,
        ptr_type: str = "handle",
        content_lanes: int = 1,
        offset: Any = 0,
        extent: Any = None,
    ) -> BufferPointer:
        """The address of an element, for `te.call_extern`.

        access_mask: the kind of access, "r", "w" or "rw", 1, 2 or 3; arrays that are only read may be read-only.
        offset: the position of the element in row-major order, in memory for a buffer with strides.  extent: the number
        of elements that are read, by default all from there on; without effect for another access.  ptr_type: without
        effect. TeError for another access, for vectors (content_lanes), and for an offset in a buffer whose last stride
        is not 1.
        """
        if access_mask not in ("r", "w", "rw", "wr", 1, 2, 3):
            raise TeError(f"access_ptr of {self.name}: access_mask {access_mask!r}, expected 'r', 'w' or 'rw'")
        if content_lanes != 1:
            raise TeError(f"access_ptr of {self.name}: content_lanes {content_lanes}, expected 1")
        rest = as_expr(offset)
        read = None
        if access_mask in ("r", 1):
            read = as_expr(prod(self.shape) - rest if extent is None else extent)
        if isinstance(rest, IntImm) and rest.value == 0:
            return BufferPointer(self, read=read)
        indices: list[PrimExpr] = []
        if self.strides:
            if not isinstance(step := self.strides[-1], IntImm) or step.value != 1:
                raise TeError(f"access_ptr of {self.name}: offset {rest!r} with last stride {step!r}, expected 1")
            return BufferPointer(self, (*(as_expr(0) for _ in self.shape[1:]), rest), read=read)
        if not self.shape:
            raise TeError(f"access_ptr of {self.name}: offset {rest!r} in a buffer of one element, expected 0")
        for size in reversed(self.shape[1:]):
            indices.insert(0, rest % size)
            rest = rest // size
        return BufferPointer(self, (rest, *indices), read=read)

    def __getitem__(self, indices: Any) -> BufferElement:
        """An element, by an index for each dimension. TeError for another number of indices."""
        return self._elements(list(indices) if isinstance(indices, tuple) else indices, self.data_type)  # pyright: ignore[reportUnknownArgumentType]

    def offset_of(self, indices: Any) -> list[PrimExpr]:
        """The position of an element after the address of the memory, in elements. indices: one for each dimension.
        TeError for another number of indices."""
        places: list[Any] = list(indices) if isinstance(indices, list | tuple) else [indices]  # pyright: ignore[reportUnknownArgumentType]
        if len(places) != len(self.shape):
            raise TeError(f"offset_of {self.name}: {len(places)} indices for {len(self.shape)} dimensions")
        position = as_expr(0)
        for n, place in enumerate(places):
            position = position + place * self.strides[n] if self.strides else position * self.shape[n] + place
        return [self.elem_offset + position]

    def vload(self, begin: Any, dtype: str | None = None) -> BufferElement:
        """An element, or a vector of adjacent elements along the last dimension.

        begin: the index of the first element, or an index for each dimension.  dtype: that of the buffer, with a number
        of lanes (`int8x4`). TeError for another data type or number of indices.
        """
        return self._elements(begin, self.data_type if dtype is None else parse_dtype(dtype))

    def vstore(self, begin: Any, value: Any) -> Store:
        """A statement that stores an element, or a vector of adjacent elements along the last dimension. begin: as of
        `vload`.  value: of the data type of the buffer. TeError as of `vload`."""
        # lazy: statements contain buffers
        from .statements import Store

        expr = as_expr(value, self.data_type)
        if isinstance(expr, IntImm | FloatImm):
            expr = cast(self.data_type.with_lanes(expr.data_type.lanes).name, expr)
        return Store(self._elements(begin, expr.data_type), expr)

    def _elements(self, begin: Any, dtype: DType) -> BufferElement:
        # lazy: elements contain buffers
        from .statements import BufferElement

        if dtype.scalar != self.data_type:
            raise TeError(f"buffer {self.name}: elements of {dtype.name}, expected {self.dtype}")
        indices: list[Any] = list(begin) if isinstance(begin, list | tuple) else [begin]  # pyright: ignore[reportUnknownArgumentType]
        return BufferElement(self, indices, dtype.lanes)

    def address_of(self, *indices: Any) -> BufferPointer:
        """The address of an element, for `te.call_extern`. TeError unless there is one index for each dimension."""
        if len(indices) != len(self.shape):
            raise TeError(f"address_of {self.name}: {len(indices)} indices for {len(self.shape)} dimensions")
        return BufferPointer(self, tuple(as_expr(index) for index in indices))


@dataclass(frozen=True, eq=False)
class BufferPointer:
    """The address of an element of a buffer, by default of the first element; or of its memory, if `is_base`.

    read: the number of elements from there on that a call reads and does not write; None if the call may write.
    """

    buffer: Buffer
    indices: tuple[PrimExpr, ...] = ()
    is_base: bool = False
    read: PrimExpr | None = None

    @property
    def name(self) -> str:
        """The name of the buffer."""
        return self.buffer.name


Argument: TypeAlias = "Buffer | BufferPointer | PrimExpr"


@dataclass(frozen=True, eq=False)
class ExternCall:
    """A call of an external function.

    args: buffers, addresses and numbers.  dtype: the result type of a C function, "" for no result; None for a
    registered Python function.  is_intrinsic: whether the function is a builtin of the target.
    """

    name: str
    args: tuple[Argument, ...]
    dtype: str | None = None
    is_intrinsic: bool = False

    @property
    def buffers(self) -> list[Buffer]:
        """The buffers among the arguments, and the buffers that address arguments point into."""
        args = [arg.buffer if isinstance(arg, BufferPointer) else arg for arg in self.args]
        return [arg for arg in args if isinstance(arg, Buffer)]

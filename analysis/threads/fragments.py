"""Matrix operations of a warp on fragments (`T.tvm_load_matrix_sync`, `T.tvm_mma_sync`, ...): operands and types."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import prod
from typing import TypeGuard

from xdsl.dialects.builtin import StringAttr
from xdsl.ir import Attribute, Operation, SSAValue

from ...core.diagnostics import where
from ...core.dtypes import dtype_of
from ...core.errors import UnsupportedError
from ...core.gpu import WARP_SIZE
from ...core.walking import find_ops
from ...dialects.tir import AllocateOp, AttrOp, CallIntrinOp, ConstOp, HandleType, Mixed, constant_value, scope_of
from ...dialects.tir.base import memref_type
from ..names import memory_name
from ..scopes import ancestors
from .memories import FRAGMENT, is_fragment, memory_of

LOAD = "tvm_load_matrix_sync"
FILL = "tvm_fill_fragment"
MULTIPLY = "tvm_mma_sync"
STORE = "tvm_store_matrix_sync"
_OPERANDS = {LOAD: 8, FILL: 6, MULTIPLY: 8, STORE: 8}
"""The number of operands of each builtin."""

NEST = "stepwell.fragments"
"""The key of the `tir.attr` around the loops of a matrix operation (`tir-lower-fragments`); its node is the name of the
builtin."""

LEFT, RIGHT, SUMS = (f"{FRAGMENT}{use}" for use in ("matrix_a", "matrix_b", "accumulator"))
"""The scopes of fragments: the factors of a product, and its sums."""

ROWS, COLUMNS = "row_major", "col_major"
LAYOUTS = (ROWS, COLUMNS)
"""The layouts of a matrix in memory, by the part that is contiguous: its rows, or its columns."""

SHAPES = ((16, 16, 16), (8, 32, 16), (32, 8, 16))
"""The shapes (m, n, k) of products of matrices of m x k and k x n elements."""
SUMS_OF = {
    "float16": ("float16", "float32"),
    "bfloat16": ("float32",),
    "int8": ("int32",),
    "uint8": ("int32",),
}
"""The data types of the sums of products, by the data type of the factors (CUDA C++ Programming Guide, "Element Types
and Matrix Sizes")."""


@dataclass(frozen=True)
class FragmentType:
    """The type of a fragment. scope: of its memory.  shape: of the product (m, n, k).  element: of the matrix.  layout:
    of the matrix in memory; None if it is not known, or for sums.
    """

    scope: str
    shape: tuple[int, int, int]
    element: Attribute
    layout: str | None = None

    @property
    def matrix(self) -> tuple[int, int]:
        """The number of rows and columns of the matrix."""
        m, n, k = self.shape
        return {LEFT: (m, k), RIGHT: (k, n), SUMS: (m, n)}[self.scope]

    @property
    def tile(self) -> tuple[int, int]:
        """The rows and columns of the tile of the buffer that has the matrix: transposed for `col_major`."""
        rows, columns = self.matrix
        return (columns, rows) if self.layout == COLUMNS else (rows, columns)


def is_matrix_operation(op: Operation) -> TypeGuard[CallIntrinOp]:
    """Whether an op is a builtin that a warp computes together on fragments."""
    return isinstance(op, CallIntrinOp) and op.intrinsic.data in _OPERANDS


def is_fragment_nest(op: Operation) -> TypeGuard[AttrOp]:
    """Whether an op has the loops of a matrix operation."""
    return isinstance(op, AttrOp) and op.key.data == NEST


def has_fragment_nests(op: Operation) -> bool:
    """Whether an op is, or contains, the loops of a matrix operation."""
    return any(map(is_fragment_nest, op.walk()))


def is_in_fragment_nest(op: Operation) -> bool:
    """Whether an op is in the loops of a matrix operation."""
    return any(map(is_fragment_nest, ancestors(op)))


# Operands


def fragments_of(op: CallIntrinOp) -> list[tuple[SSAValue, SSAValue]]:
    """The pointers to fragments among the operands of a matrix operation, each with the number of the fragment."""
    count = _OPERANDS[op.intrinsic.data]
    if len(op.args) != count:
        raise _error(op, f"expected {count} operands, got {len(op.args)}")
    if op.intrinsic.data == MULTIPLY:
        return list(zip(op.args[::2], op.args[1::2], strict=True))
    return [(op.args[0], op.args[4])]


@dataclass(frozen=True)
class MatrixAccess:
    """An access of a matrix operation through a pointer, to a fragment or to a matrix in memory. size: its number of
    elements; None if the operation does not state it.
    """

    pointer: SSAValue
    is_write: bool
    size: int | None


def matrix_accesses(op: CallIntrinOp) -> list[MatrixAccess]:
    """The accesses of a matrix operation, the reads first."""
    name = op.intrinsic.data
    fragments = [pointer for pointer, _ in fragments_of(op)]
    reads, written = [], fragments[0]
    if name == MULTIPLY:
        reads = fragments[1:]
    elif name == LOAD:
        reads = [op.args[5]]
    elif name == STORE:
        reads, written = fragments, op.args[5]
    size = None if name == MULTIPLY else _matrix_size(op)
    return [*(MatrixAccess(pointer, False, size) for pointer in reads), MatrixAccess(written, True, size)]


def _matrix_size(op: CallIntrinOp) -> int | None:
    """The number of elements of the matrix that an operation accesses."""
    numbers = [constant_value(value) for value in op.args[1:4]]
    if not all(isinstance(n, int) for n in numbers):
        return None
    m, n, k = map(int, filter(None, numbers))
    scope = op.args[0].type.scope.data if isinstance(op.args[0].type, HandleType) else ""
    return {LEFT: m * k, RIGHT: k * n}.get(scope, m * n)


def layout_of(op: CallIntrinOp) -> str:
    """The layout of the matrix in memory that a load or store has as its last operand."""
    text = op.args[7].owner
    layout = text.value.data if isinstance(text, ConstOp) and isinstance(text.value, StringAttr) else "an expression"
    if layout not in LAYOUTS:
        raise _error(op, f"the layout is {layout!r}, expected {' or '.join(map(repr, LAYOUTS))}")
    return layout


def fragment_memory(op: Operation, pointer: SSAValue) -> SSAValue:
    """The memory of a fragment: a buffer or a pointer of a scope of fragments."""
    memory = memory_of(pointer)
    if memory is None or not is_fragment(memory):
        scope = "none" if memory is None else _scope(memory)
        name = "a pointer" if memory is None else memory_name(memory)
        raise _error(op, f"{name} is in memory {scope!r}, expected a fragment: {LEFT}, {RIGHT} or {SUMS}")
    if _scope(memory) not in (LEFT, RIGHT, SUMS):
        raise _error(op, f"no fragments in memory {_scope(memory)!r}, expected {LEFT}, {RIGHT} or {SUMS}")
    return memory


def fragment_types(root: Operation) -> dict[SSAValue, FragmentType]:
    """The type of the fragments in each memory, from the loads, fills and stores below an op.

    UnsupportedError for shapes and data types that tensor cores do not have, and for operations that disagree.
    """
    types: dict[SSAValue, FragmentType] = {}
    for op in find_ops(root, CallIntrinOp):
        if is_matrix_operation(op) and op.intrinsic.data != MULTIPLY:
            ((pointer, _),) = fragments_of(op)
            memory = fragment_memory(op, pointer)
            type = _type_for(op, memory)
            types[memory] = _common(op, memory, types.get(memory, type), type)
    return types


def _type_for(op: CallIntrinOp, memory: SSAValue) -> FragmentType:
    """The type of a fragment as an op states it."""
    numbers = [constant_value(value) for value in op.args[1:4]]
    shape = (numbers[0], numbers[1], numbers[2])
    if shape not in SHAPES:
        known = ", ".join("x".join(map(str, each)) for each in SHAPES)
        raise _error(op, f"the shape is {'x'.join(map(str, numbers))}, expected one of {known}")
    scope, element = _scope(memory), _element(memory)
    dtype = dtype_of(element).name
    factors = scope != SUMS
    expected = SUMS_OF if factors else dict.fromkeys(each for sums in SUMS_OF.values() for each in sums)
    if dtype not in expected:
        raise _error(op, f"{memory_name(memory)} has elements of {dtype}, expected {', '.join(expected)} for {scope}")
    layout = layout_of(op) if op.intrinsic.data == LOAD and factors else None
    return FragmentType(scope, shape, element, layout)  # pyright: ignore[reportArgumentType]


def _common(op: CallIntrinOp, memory: SSAValue, known: FragmentType, type: FragmentType) -> FragmentType:
    """The type that two operations state together; a fill and a store leave the layout open."""
    if None in (known.layout, type.layout):
        layout = known.layout or type.layout
        known, type = replace(known, layout=layout), replace(type, layout=layout)
    if known != type:
        raise _error(op, f"{memory_name(memory)} has fragments of {_text(type)}, and of {_text(known)} before")
    return known


def check_product(op: CallIntrinOp, sums: FragmentType, left: FragmentType, right: FragmentType) -> None:
    """Raises UnsupportedError unless fragments are the sums and the factors of one product."""
    for type, scope in ((sums, SUMS), (left, LEFT), (right, RIGHT)):
        if type.scope != scope:
            raise _error(op, f"a fragment of {type.scope}, expected {scope}")
        if type.shape != sums.shape:
            raise _error(op, f"fragments of {_text(type)} and {_text(sums)}, expected one shape")
    if left.element != right.element:
        raise _error(op, f"factors of {dtype_of(left.element)} and {dtype_of(right.element)}, expected one data type")
    known = SUMS_OF[dtype_of(left.element).name]
    if dtype_of(sums.element).name not in known:
        raise _error(
            op, f"sums of {dtype_of(sums.element)}, expected {' or '.join(known)} for {dtype_of(left.element)}"
        )


def _text(type: FragmentType) -> str:
    layout = f" {type.layout}" if type.layout else ""
    return f"{'x'.join(map(str, type.shape))}{layout}"


def _scope(memory: SSAValue) -> str:
    """The scope of a memory: of a buffer, or of a pointer that is allocated or a parameter."""
    return memory.type.scope.data if isinstance(memory.type, HandleType) else scope_of(memref_type(memory))


def _element(memory: SSAValue) -> Attribute:
    return memory.type.element if isinstance(memory.owner, AllocateOp) else memref_type(memory).element_type  # pyright: ignore[reportAttributeAccessIssue]


def fragment_buffer_shape(op: Operation, buffer: SSAValue, tile: tuple[int, int]) -> tuple[int, ...]:
    """The shape of a buffer that consists of whole tiles. UnsupportedError for any other buffer."""
    shape = memref_type(buffer).get_shape()
    size = tile[0] * tile[1]
    whole = shape[0] % size == 0 if len(shape) == 1 else shape[-1] % tile[1] == 0 and prod(shape[:-1]) % tile[0] == 0
    if not shape or min(shape) < 1 or not whole:
        raise _error(op, f"a buffer of {'x'.join(map(str, shape))} elements, expected tiles of {tile[0]}x{tile[1]}")
    return tuple(shape)


def check_warp(op: Operation, extent: Mixed) -> None:
    """Raises UnsupportedError unless a number of threads along `threadIdx.x` is that of a warp, for an operation that a
    warp computes together."""
    if extent != WARP_SIZE:
        got = extent if isinstance(extent, int) else "a number that is not constant"
        raise _error(op, f"a warp computes matrices together: expected {WARP_SIZE} threads of threadIdx.x, got {got}")


def builtin_of(op: Operation) -> str:
    """The name of the builtin of a matrix operation, or of its loops."""
    if isinstance(op, CallIntrinOp):
        return op.intrinsic.data
    return op.node_attr.data if isinstance(op, AttrOp) and isinstance(op.node_attr, StringAttr) else op.name


def _error(op: Operation, message: str) -> UnsupportedError:
    return UnsupportedError(f"{where(op)}T.{builtin_of(op)}: {message}")

"""Matrix operations of a warp: fragments and calls of <mma.h>."""

from __future__ import annotations

from xdsl.dialects import func, memref
from xdsl.dialects.builtin import MemRefType, StringAttr

from ....analysis.threads.fragments import FILL, LOAD, MULTIPLY, STORE, SUMS
from ....dialects.attributes import FRAGMENT_TYPE
from .expression import PRIMARY, CudaExpr, index_arithmetic
from .function import CudaBuffer, CudaFunctionEmitter
from .types import FRAGMENT, memory_type

_NAMES = {
    LOAD: "load_matrix_sync",
    FILL: "fill_fragment",
    MULTIPLY: "mma_sync",
    STORE: "store_matrix_sync",
}


def declare_fragments(f: CudaFunctionEmitter, op: memref.AllocaOp, count: int) -> CudaExpr:
    """Declares an array of the fragments of an allocation of `count` elements; returns its name."""
    type = op.memref.type
    assert isinstance(type, MemRefType)
    text = op.attributes[FRAGMENT_TYPE]
    assert isinstance(text, StringAttr)
    shape, *layout = text.data.split()
    m, n, k = map(int, shape.split("x"))
    scope = _scope(type)
    size = {"matrix_a": m * k, "matrix_b": k * n}.get(scope, m * n)
    arguments = [f"{FRAGMENT}{scope}", str(m), str(n), str(k), f.module.use_type(memory_type(type.element_type))]
    kind = f"{FRAGMENT}fragment<{', '.join([*arguments, *(f'{FRAGMENT}{each}' for each in layout)])}>"
    new = f.names.fresh(op.memref.name_hint or "fragment")
    f.line(f"{f.module.use_type(kind)} {new}[{count // size}];")
    return CudaExpr(new, PRIMARY, f"{kind}*")


def _scope(type: MemRefType) -> str:
    """The scope of fragments without its prefix: `matrix_a`."""
    assert isinstance(type.memory_space, StringAttr)
    return type.memory_space.data.rpartition(".")[2]


def emit_matrix_operation(f: CudaFunctionEmitter, op: func.CallOp, name: str, layout: str = "") -> None:
    """Emits a call of a matrix operation. Its operands are fragments, each as an array and an index, then the operands
    of the operation: a value, or a matrix in memory as memory, the position of its first element, and the distance
    between its rows."""
    count = 8 if name == MULTIPLY else 2
    pairs = zip(op.arguments[:count:2], op.arguments[1:count:2], strict=True)
    arguments = [f"{f.buffer(array).pointer.text}[{f.operand(index).text}]" for array, index in pairs]
    rest = op.arguments[count:]
    if name == FILL:
        arguments.append(f.operand(rest[0]).text)
    elif rest:
        memory, position, distance = f.buffer(rest[0]), *f.operands(rest[1:])
        matrix = [address_in(memory, position), distance.text]
        arguments = [*arguments, *matrix] if name == LOAD else [matrix[0], *arguments, matrix[1]]
        type = op.arguments[0].type
        assert isinstance(type, MemRefType)
        if type.memory_space == StringAttr(SUMS):
            arguments.append(f"{FRAGMENT}mem_{layout}")
    f.statement(f"{f.module.use_type(FRAGMENT)}{_NAMES[name]}({', '.join(arguments)});")


def address_in(memory: CudaBuffer, position: CudaExpr) -> str:
    """The address of an element of memory by its position."""
    where = index_arithmetic("+", memory.offset, position, flat=True)
    return f"&{memory.pointer.parenthesized(PRIMARY)}[{(where if memory.small else where.wide or where).text}]"

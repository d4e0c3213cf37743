"""The workload of a function, as of the roofline model: arithmetic on elements, and traffic with memory.

Source of the model: Williams, Waterman, Patterson, "Roofline: an insightful visual performance model for multicore
architectures", CACM 52(4), 2009.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from math import prod
from typing import TypeAlias

from xdsl.dialects import arith
from xdsl.dialects.builtin import MemRefType, VectorType
from xdsl.ir import Attribute, Operation, SSAValue

from ..core.dtypes import element_byte_size
from ..core.walking import find_ops
from ..dialects.tir import (
    BINARY_NAMES,
    UNARY_NAMES,
    ForOp,
    FuncOp,
    IfThenElseOp,
    IntrinsicOp,
    LoadOp,
    MatchBufferOp,
    Mixed,
    StoreOp,
)
from .scopes import ancestors, root_buffer
from .sizes import SizeValues

_COUNTED = frozenset((*BINARY_NAMES, *UNARY_NAMES, arith.NegfOp, IntrinsicOp))
"""The operations that count: an arithmetic operation and an elementary function count one for each lane."""
_Access: TypeAlias = LoadOp | StoreOp
_UNKNOWN = ("tir.call", "tir.while")
"""The prefixes of the names of statements and expressions whose work is unknown."""


@dataclass(frozen=True)
class Workload:
    """The work of a function.

    operations: of arithmetic on the elements of buffers, as many as the text of the program has; those on indices do
    not count, and a condition counts as if it held.  bytes: of the elements of parameters that are read from memory and
    written to memory, each once.
    """

    operations: int
    bytes: int

    @property
    def intensity(self) -> float:
        """The operations for each byte."""
        return self.operations / self.bytes if self.bytes else 0.0


def workload_of(func: FuncOp, symbol: Callable[[str], int | None]) -> Workload | None:
    """The workload of a call; None if the function calls others, has loops of an unknown number of iterations, or has
    no buffers. symbol: the value of a symbol or an integer parameter, None if unknown."""
    if any(op.name.startswith(_UNKNOWN) for op in func.walk()):
        return None
    sizes = SizeValues(func, symbol)
    operations = 0
    for store in find_ops(func, StoreOp):
        instances = _instances(store, sizes)
        if instances is None:
            return None
        operations += instances * sum(_lanes(op) for op in _arithmetic(store.value) if type(op) in _COUNTED)
    traffic = _traffic(func, sizes)
    return None if traffic is None else Workload(operations, traffic)


def _arithmetic(value: SSAValue) -> Iterator[Operation]:
    """The operations that compute a value from loaded elements, each once."""
    pending, seen = [value], set[Operation]()
    while pending:
        op = pending.pop().owner
        if not isinstance(op, Operation) or op in seen:
            continue
        seen.add(op)
        yield op
        if isinstance(op, LoadOp):  # its operands are indices
            continue
        pending.extend(op.operands if not isinstance(op, IfThenElseOp) or _reads_elements(op.condition) else [])
        blocks = [block for region in op.regions for block in region.blocks]
        pending.extend(operand for block in blocks if block.last_op for operand in block.last_op.operands)


def _reads_elements(value: SSAValue) -> bool:
    """Whether a value is computed from loaded elements."""
    return any(isinstance(op, LoadOp) for op in _arithmetic(value))


def _lanes(op: Operation) -> int:
    """The number of lanes of the results of an operation."""
    return max((prod(_shape_of_vector(result.type)) for result in op.results), default=1)


def _shape_of_vector(type: Attribute) -> tuple[int, ...]:
    return type.get_shape() if isinstance(type, VectorType) else ()


def _instances(op: Operation, sizes: SizeValues) -> int | None:
    """The number of times that the loops around an operation execute it; None if it is unknown."""
    count = 1
    for loop in ancestors(op):
        if not isinstance(loop, ForOp):
            continue
        _, extent, step = map(sizes.of, loop.mixed_bounds)
        if extent is None or not step:
            return None
        count *= max(0, -(-extent // step))
    return count


def _traffic(func: FuncOp, sizes: SizeValues) -> int | None:
    """The bytes of parameters that the function reads and writes; None if a size is unknown. Elements that are written
    first, as those of a sum, are not read from memory."""
    parameters = dict(_parameters(func))
    accesses: dict[SSAValue, list[_Access]] = {}
    for op in find_ops(func, LoadOp, StoreOp):
        buffer = root_buffer(op.buffer)
        if buffer in parameters:
            accesses.setdefault(buffer, []).append(op)
    total = 0
    for buffer, ops in accesses.items():
        stores = [op for op in ops if isinstance(op, StoreOp)]
        loads = [op for op in ops if op not in stores]
        whole = _byte_size(buffer, parameters[buffer], sizes)
        for group in (stores,) if ops[0] in stores else (loads, stores):
            moved = _accessed_bytes(group, sizes)
            if whole is None or moved is None:
                return None
            total += min(whole, moved)
    return total


def _accessed_bytes(accesses: Sequence[_Access], sizes: SizeValues) -> int | None:
    """The bytes of all instances of some accesses; None if their number is unknown."""
    total = 0
    for op in accesses:
        instances = _instances(op, sizes)
        if instances is None:
            return None
        value = op.result if isinstance(op, LoadOp) else op.value
        total += instances * prod(_shape_of_vector(value.type)) * _element_size(op.buffer)
    return total


def _parameters(func: FuncOp) -> Iterator[tuple[SSAValue, tuple[Mixed, ...]]]:
    """The buffers of the parameters, with their shapes."""
    for _, value in func.params:
        if isinstance(value.type, MemRefType):
            yield value, tuple(value.type.get_shape())
    for op in find_ops(func, MatchBufferOp):
        yield op.buffer, tuple(op.mixed_shape)


def _byte_size(buffer: SSAValue, shape: tuple[Mixed, ...], sizes: SizeValues) -> int | None:
    extents = [sizes.of(extent) for extent in shape]
    return None if None in extents else prod(extent or 0 for extent in extents) * _element_size(buffer)


def _element_size(buffer: SSAValue) -> int:
    assert isinstance(buffer.type, MemRefType)
    return element_byte_size(buffer.type.element_type)

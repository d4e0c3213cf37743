"""Atomic operations: calls of CUDA's functions by name, on an element of a buffer."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects.builtin import MemRefType, VectorType
from xdsl.ir import Operation, SSAValue

from ...core.diagnostics import where
from ...core.dtypes import DType, dtype_of
from ...core.errors import UnsupportedError
from ...dialects.tir import AddressOfOp, CallExternOp, HandleType, StoreOp
from .memories import memory_of

ATOMICS = {"atomicAdd": "add", "atomicMin": "min", "atomicMax": "max"}
"""The operation on the element, by the name of the function."""

_TYPES = ("int32", "uint32", "int64", "uint64", "float16", "bfloat16", "float32", "float64")


@dataclass(frozen=True)
class Atomic:
    """An atomic operation of `kind` on the element at an address; the call returns the old element."""

    kind: str
    address: AddressOfOp
    dtype: DType


def is_atomic(op: Operation) -> bool:
    """Whether an op is an atomic call such as `T.call_extern(dtype, "atomicAdd", T.address_of(A[i]), value)`."""
    return isinstance(op, CallExternOp) and op.callee.data in ATOMICS


def is_read_in(memory: SSAValue, op: Operation) -> bool:
    """Whether an op, or an op nested in it, reads some memory other than by atomic operations."""
    for inner in op.walk():
        if isinstance(inner, AddressOfOp):
            reads = not all(is_atomic(use.operation) for use in inner.pointer.uses)
        else:
            reads = not is_atomic(inner) and not isinstance(inner, StoreOp)
        if reads and any(_points_into(value, memory) for value in inner.operands):
            return True
    return False


def _points_into(value: SSAValue, memory: SSAValue) -> bool:
    return isinstance(value.type, MemRefType | HandleType) and memory_of(value) is memory


def atomic_of(op: CallExternOp) -> Atomic | None:
    """The description of an atomic call; None for other calls. UnsupportedError if its operands are unsupported."""
    name = op.callee.data
    if name not in ATOMICS:
        return None
    kind = ATOMICS[name]
    if len(op.args) != 2 or not isinstance(address := op.args[0].owner, AddressOfOp):
        expected = "expected T.address_of an element, and a value"
        raise UnsupportedError(f"{where(op)}{name}: {expected}, got {len(op.args)} operands")
    type, value_type = address.buffer.type, op.args[1].type
    assert isinstance(type, MemRefType)
    element = type.element_type
    if isinstance(element, VectorType) or dtype_of(element).name not in _TYPES:
        known = ", ".join(_TYPES)
        raise UnsupportedError(f"{where(op)}{name} on {dtype_of(element)}, expected one of {known}")
    result = element if op.result is None else op.result.type
    if value_type != element or result != element:
        types = f"{dtype_of(value_type)} to {dtype_of(result)}"
        raise UnsupportedError(f"{where(op)}{name} on {dtype_of(element)}: expected that type for all, got {types}")
    return Atomic(kind, address, dtype_of(element))

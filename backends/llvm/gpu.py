"""Lowering of the `gpu` dialect on the host: kernel launches and device memory, by functions of the device's driver.

The functions are in a table (`runtime/launch_table.py`), a symbol like the variables that hold the handles of kernels.
Their signatures are the driver's. The arguments of a kernel are the components of its operands, in order: for a memref
the pointer, then its dynamic sizes, strides and offset.
"""

from __future__ import annotations

from xdsl.dialects import gpu
from xdsl.dialects.builtin import MemRefType

from ..runtime.launch_table import COPY_FAILED, LAUNCH_FAILED, OUT_OF_DEVICE_MEMORY, TABLE, LaunchTable, kernel_symbol
from ..runtime.signature import Failure
from .function import LlvmFunctionEmitter, Lowerings, call_instruction, lowering_unsupported
from .memref import (
    allocation_sizes,
    bind_allocation,
    byte_count,
    first_element_pointer,
    out_of_memory,
    release_allocation,
)
from .types import constant_value_of_operand, element_size

_OUT_OF_MEMORY = Failure(OUT_OF_DEVICE_MEMORY, False)


def _launch(f: LlvmFunctionEmitter, op: gpu.LaunchFuncOp) -> None:
    name = op.kernel.nested_references.data[-1].data
    sizes = [op.gridSizeX, op.gridSizeY, op.gridSizeZ, op.blockSizeX, op.blockSizeY, op.blockSizeZ]
    values: list[tuple[str, str]] = []
    for value in op.kernelOperands:
        values += zip(f.component_types(value.type), f.components(value), strict=True)
    params = f.emit_in_entry(f"alloca [{max(len(values), 1)} x ptr]")
    for n, (kind, operand) in enumerate(values):
        slot = f.emit_in_entry(f"alloca {kind}")
        f.emit(f"store {kind} {operand}, ptr {slot}")
        f.emit(f"store ptr {slot}, ptr {f.emit_value(f'getelementptr ptr, ptr {params}, i64 {n}')}")
    counts = [("i32", _narrow(f, f.operand(size))) for size in sizes]
    end = _skip_empty(f, [count for _, count in counts])
    shared = "0" if op.dynamicSharedMemorySize is None else f.operand(op.dynamicSharedMemorySize)
    counts.append(("i32", shared))
    for n, (_, count) in enumerate(counts):
        f.emit(f"store i32 {count}, ptr {_table_field(f, 'sizes', 4 * n)}")
    handle = f.emit_value(f"load ptr, ptr {f.module.external(kernel_symbol(name))}")
    arguments = [("ptr", handle), *counts, ("ptr", _load(f, "stream")), ("ptr", params), ("ptr", "null")]
    _call(f, "launch", arguments, Failure(LAUNCH_FAILED + name, False))
    if end is not None:
        f.branch(end)
        f.start_block(end)


def _skip_empty(f: LlvmFunctionEmitter, counts: list[str]) -> str | None:
    """Skips a launch without blocks or threads, which no driver accepts. Returns the label after the launch; None if
    all counts are known to be positive.
    """
    if all((constant_value_of_operand(count) or 0) > 0 for count in counts):
        return None
    least = counts[0]
    for count in counts[1:]:
        least = f.emit_value(f.intrinsic("umin", "i32", [("i32", least), ("i32", count)]))
    launch, end = f.fresh_label("launch"), f.fresh_label("launched")
    f.branch_if(f.emit_value(f"icmp ne i32 {least}, 0"), launch, end)
    f.start_block(launch)
    return end


def _table_field(f: LlvmFunctionEmitter, field: str, more: int = 0) -> str:
    """The address of a field of the table, plus `more` bytes."""
    table = f.module.external(TABLE)
    return f"getelementptr (i8, ptr {table}, i64 {getattr(LaunchTable, field).offset + more})"


def _load(f: LlvmFunctionEmitter, field: str) -> str:
    return f.emit_value(f"load ptr, ptr {_table_field(f, field)}")


def _call(f: LlvmFunctionEmitter, field: str, arguments: list[tuple[str, str]], failure: Failure) -> None:
    """Calls a function of the table. A nonzero status is stored in the table and exits the function."""
    status = f.emit_value(call_instruction(_load(f, field), "i32", arguments))
    f.emit(f"store i32 {status}, ptr {_table_field(f, 'status')}")
    f.check(f.emit_value(f"icmp eq i32 {status}, 0"), str(f.module.failure(failure)))


def _narrow(f: LlvmFunctionEmitter, operand: str) -> str:
    """The i32 of a number of blocks or threads; a number beyond 32 bits becomes one that the launch rejects."""
    known = constant_value_of_operand(operand)
    if known is not None:
        return str(min(max(known, 0), 2**31 - 1))
    least = f.emit_value(f.intrinsic("smax", "i64", [("i64", operand), ("i64", "0")]))
    most = f.emit_value(f.intrinsic("smin", "i64", [("i64", least), ("i64", str(2**32 - 1))]))
    return f.emit_value(f"trunc i64 {most} to i32")


def _alloc(f: LlvmFunctionEmitter, op: gpu.AllocOp) -> None:
    if op.asyncDependencies or op.asyncToken is not None or op.symbolOperands:
        raise lowering_unsupported(op, "memory of the device is allocated in order, without tokens and symbols")
    sizes = allocation_sizes(f, op.result, op.dynamicSizes)
    failure = str(f.module.failure(out_of_memory(op, op.result)))
    size = byte_count(f, sizes, element_size(op.result.type.element_type), 1, failure)
    f.emit(f"store i64 {size}, ptr {_table_field(f, 'asked')}")
    slot = f.emit_in_entry("alloca ptr")
    _call(f, "allocate", [("ptr", slot), ("i64", size), ("ptr", _load(f, "stream"))], _OUT_OF_MEMORY)
    pointer = f.emit_value(f"load ptr, ptr {slot}", op.result.name_hint)
    f.own(pointer, _free)
    bind_allocation(f, op, op.result, pointer, sizes)


def _dealloc(f: LlvmFunctionEmitter, op: gpu.DeallocOp) -> None:
    release_allocation(f, op, op.buffer)


def _free(f: LlvmFunctionEmitter, pointer: str) -> None:
    """Frees device memory in stream order. Errors of earlier launches are reported later."""
    f.emit_value(call_instruction(_load(f, "free"), "i32", [("ptr", pointer), ("ptr", _load(f, "stream"))]))


def _copy(f: LlvmFunctionEmitter, op: gpu.MemcpyOp) -> None:
    """Copies one element from or to the device, and waits for completion."""
    type = op.dst.type
    assert isinstance(type, MemRefType)
    if op.asyncDependencies or op.asyncToken is not None or type.get_shape():
        raise lowering_unsupported(op, f"one element is copied, in order and without tokens, got {type}")
    failure = Failure(COPY_FAILED + (op.dst.name_hint or "an element"), False)
    size, stream = str(element_size(type.element_type)), _load(f, "stream")
    f.emit(f"store i64 {size}, ptr {_table_field(f, 'asked')}")
    pointers = [("ptr", first_element_pointer(f, op.dst)), ("ptr", first_element_pointer(f, op.src))]
    _call(f, "copy", [*pointers, ("i64", size), ("ptr", stream)], failure)
    _call(f, "wait", [("ptr", stream)], failure)


LOWERINGS: Lowerings = {
    gpu.LaunchFuncOp: _launch,
    gpu.MemcpyOp: _copy,
    gpu.AllocOp: _alloc,
    gpu.DeallocOp: _dealloc,
}

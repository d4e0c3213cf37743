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
from .function import FunctionEmitter, Lowerings, call, unsupported
from .memref import byte_count, fresh_buffer, sizes_of, start
from .types import byte_size, constant

_OUT_OF_MEMORY = Failure(OUT_OF_DEVICE_MEMORY, False)


def _launch(f: FunctionEmitter, op: gpu.LaunchFuncOp) -> None:
    name = op.kernel.nested_references.data[-1].data
    sizes = [op.gridSizeX, op.gridSizeY, op.gridSizeZ, op.blockSizeX, op.blockSizeY, op.blockSizeZ]
    values: list[tuple[str, str]] = []
    for value in op.kernelOperands:
        values += zip(f.component_types(value.type), f.components(value), strict=True)
    params = f.entry(f"alloca [{max(len(values), 1)} x ptr]")
    for n, (kind, operand) in enumerate(values):
        slot = f.entry(f"alloca {kind}")
        f.emit(f"store {kind} {operand}, ptr {slot}")
        f.emit(f"store ptr {slot}, ptr {f.op(f'getelementptr ptr, ptr {params}, i64 {n}')}")
    counts = [("i32", _narrow(f, f.operand(size))) for size in sizes]
    end = _skip_empty(f, [count for _, count in counts])
    shared = "0" if op.dynamicSharedMemorySize is None else f.operand(op.dynamicSharedMemorySize)
    counts.append(("i32", shared))
    for n, (_, count) in enumerate(counts):
        f.emit(f"store i32 {count}, ptr {_table_field(f, 'sizes', 4 * n)}")
    handle = f.op(f"load ptr, ptr {f.module.external(kernel_symbol(name))}")
    arguments = [("ptr", handle), *counts, ("ptr", _load(f, "stream")), ("ptr", params), ("ptr", "null")]
    _call(f, "launch", arguments, Failure(LAUNCH_FAILED + name, False))
    if end is not None:
        f.branch(end)
        f.start(end)


def _skip_empty(f: FunctionEmitter, counts: list[str]) -> str | None:
    """Skips a launch without blocks or threads, which no driver accepts. Returns the label after the launch; None if
    all counts are known to be positive.
    """
    if all((constant(count) or 0) > 0 for count in counts):
        return None
    least = counts[0]
    for count in counts[1:]:
        least = f.op(f.intrinsic("umin", "i32", [("i32", least), ("i32", count)]))
    launch, end = f.label("launch"), f.label("launched")
    f.branch_if(f.op(f"icmp ne i32 {least}, 0"), launch, end)
    f.start(launch)
    return end


def _table_field(f: FunctionEmitter, field: str, more: int = 0) -> str:
    """The address of a field of the table, plus `more` bytes."""
    table = f.module.external(TABLE)
    return f"getelementptr (i8, ptr {table}, i64 {getattr(LaunchTable, field).offset + more})"


def _load(f: FunctionEmitter, field: str) -> str:
    return f.op(f"load ptr, ptr {_table_field(f, field)}")


def _call(f: FunctionEmitter, field: str, arguments: list[tuple[str, str]], failure: Failure) -> None:
    """Calls a function of the table. A nonzero status is stored in the table and exits the function."""
    status = f.op(call(_load(f, field), "i32", arguments))
    f.emit(f"store i32 {status}, ptr {_table_field(f, 'status')}")
    f.check(f.op(f"icmp eq i32 {status}, 0"), str(f.module.failure(failure)))


def _narrow(f: FunctionEmitter, operand: str) -> str:
    """The i32 of a number of blocks or threads; a number beyond 32 bits becomes one that the launch rejects."""
    known = constant(operand)
    if known is not None:
        return str(min(max(known, 0), 2**31 - 1))
    least = f.op(f.intrinsic("smax", "i64", [("i64", operand), ("i64", "0")]))
    most = f.op(f.intrinsic("smin", "i64", [("i64", least), ("i64", str(2**32 - 1))]))
    return f.op(f"trunc i64 {most} to i32")


def _alloc(f: FunctionEmitter, op: gpu.AllocOp) -> None:
    if op.asyncDependencies or op.asyncToken is not None or op.symbolOperands:
        raise unsupported(op, "memory of the device is allocated in order, without tokens and symbols")
    sizes = sizes_of(f, op.result, op.dynamicSizes)
    size = byte_count(f, sizes, byte_size(op.result.type.element_type), 1)
    f.emit(f"store i64 {size}, ptr {_table_field(f, 'asked')}")
    slot = f.entry("alloca ptr")
    _call(f, "allocate", [("ptr", slot), ("i64", size), ("ptr", _load(f, "stream"))], _OUT_OF_MEMORY)
    pointer = f.op(f"load ptr, ptr {slot}", op.result.name_hint)
    f.own(pointer, _free)
    fresh_buffer(f, op, op.result, pointer, sizes)


def _dealloc(f: FunctionEmitter, op: gpu.DeallocOp) -> None:
    pointer = f.memref(op.buffer).pointer
    f.disown(pointer)
    _free(f, pointer)


def _free(f: FunctionEmitter, pointer: str) -> None:
    """Frees device memory in stream order. Errors of earlier launches are reported later."""
    f.op(call(_load(f, "free"), "i32", [("ptr", pointer), ("ptr", _load(f, "stream"))]))


def _copy(f: FunctionEmitter, op: gpu.MemcpyOp) -> None:
    """Copies one element from or to the device, and waits for completion."""
    type = op.dst.type
    assert isinstance(type, MemRefType)
    if op.asyncDependencies or op.asyncToken is not None or type.get_shape():
        raise unsupported(op, f"one element is copied, in order and without tokens, got {type}")
    failure = Failure(COPY_FAILED + (op.dst.name_hint or "an element"), False)
    size, stream = str(byte_size(type.element_type)), _load(f, "stream")
    f.emit(f"store i64 {size}, ptr {_table_field(f, 'asked')}")
    pointers = [("ptr", start(f, op.dst)), ("ptr", start(f, op.src))]
    _call(f, "copy", [*pointers, ("i64", size), ("ptr", stream)], failure)
    _call(f, "wait", [("ptr", stream)], failure)


LOWERINGS: Lowerings = {
    gpu.LaunchFuncOp: _launch,
    gpu.MemcpyOp: _copy,
    gpu.AllocOp: _alloc,
    gpu.DeallocOp: _dealloc,
}

"""The `gpu` dialect on the host: launches of kernels, and memory of the device, by C functions of whoever has it.

A kernel is known by the address of a symbol, which is its handle; it is launched by a function with the signature of
the driver's cuLaunchKernel. What a kernel is given are the components of its operands, in order: for a memref the
pointer, then its open sizes, strides and offset.
"""

from __future__ import annotations

from xdsl.dialects import gpu

from ..runtime.signature import Failure
from .function import FunctionEmitter, Lowerings, call, unsupported
from .memref import byte_count, fresh_buffer, sizes_of
from .types import byte_size, constant

LAUNCH = "stepwell_gpu_launch"
"""`int (void* kernel, unsigned grid[3], unsigned block[3], unsigned shared_bytes, void* stream, void** params,
void** extra)`, the sizes one by one; 0 is success."""
ALLOCATE = "stepwell_gpu_alloc"
"""`void* (size_t bytes, const char* name)`; null if there is none."""
FREE = "stepwell_gpu_free"
"""`int (void*)`."""
LAUNCH_FAILED = "a kernel failed: "
"""What the message of a failed launch starts with; the name of the kernel follows."""
_OUT_OF_DEVICE_MEMORY = Failure("out of memory of the device", False)
_LAUNCH_TYPES = ("ptr", *["i32"] * 7, "ptr", "ptr", "ptr")


def kernel_symbol(name: str) -> str:
    """The symbol whose address is the handle of a kernel."""
    return f"stepwell_gpu_kernel.{name}"


def _launch(f: FunctionEmitter, op: gpu.LaunchFuncOp) -> None:
    name = op.kernel.nested_references.data[-1].data
    sizes = [op.gridSizeX, op.gridSizeY, op.gridSizeZ, op.blockSizeX, op.blockSizeY, op.blockSizeZ]
    counts = [("i32", _narrow(f, f.operand(size))) for size in sizes]
    open_counts = [count for _, count in counts if constant(count) is None]
    if any(constant(count) == 0 for _, count in counts):
        return
    if not open_counts:
        _launch_threads(f, op, name, counts)
        return
    launch, join = f.label("launch"), f.label("join")
    any_threads = f.op(f"icmp ne i32 {open_counts[0]}, 0")
    for count in open_counts[1:]:
        any_threads = f.op(f"and i1 {any_threads}, {f.op(f'icmp ne i32 {count}, 0')}")
    f.branch_if(any_threads, launch, join)
    f.start(launch)
    _launch_threads(f, op, name, counts)
    f.branch(join)
    f.start(join)


def _launch_threads(f: FunctionEmitter, op: gpu.LaunchFuncOp, name: str, counts: list[tuple[str, str]]) -> None:
    """Launch some blocks of threads: the driver refuses none."""
    values: list[tuple[str, str]] = []
    for value in op.kernelOperands:
        values += zip(f.component_types(value.type), f.components(value), strict=True)
    params = f.entry(f"alloca [{max(len(values), 1)} x ptr]")
    for n, (kind, operand) in enumerate(values):
        slot = f.entry(f"alloca {kind}")
        f.emit(f"store {kind} {operand}, ptr {slot}")
        f.emit(f"store ptr {slot}, ptr {f.op(f'getelementptr ptr, ptr {params}, i64 {n}')}")
    shared = "0" if op.dynamicSharedMemorySize is None else f.operand(op.dynamicSharedMemorySize)
    arguments = [
        ("ptr", f.module.declare(kernel_symbol(name), "void", ())),
        *counts,
        ("i32", shared),
        ("ptr", "null"),
        ("ptr", params),
        ("ptr", "null"),
    ]
    status = f.op(call(f.module.declare(LAUNCH, "i32", _LAUNCH_TYPES), "i32", arguments))
    failure = f.module.failure(Failure(LAUNCH_FAILED + name, False))
    f.check(f.op(f"icmp eq i32 {status}, 0"), str(failure))


def _narrow(f: FunctionEmitter, operand: str) -> str:
    """A number of blocks or threads, which the launch looks at as 32 bits: one that has more becomes none it takes."""
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
    allocate = f.module.declare(ALLOCATE, "ptr", ("i64", "ptr"))
    pointer = f.op(call(allocate, "ptr", [("i64", size), ("ptr", "null")]), op.result.name_hint)
    f.check(f.op(f"icmp ne ptr {pointer}, null"), str(f.module.failure(_OUT_OF_DEVICE_MEMORY)))
    fresh_buffer(f, op, op.result, pointer, sizes)


def _dealloc(f: FunctionEmitter, op: gpu.DeallocOp) -> None:
    f.op(call(f.module.declare(FREE, "i32", ("ptr",)), "i32", [("ptr", f.memref(op.buffer).pointer)]))


LOWERINGS: Lowerings = {
    gpu.LaunchFuncOp: _launch,
    gpu.AllocOp: _alloc,
    gpu.DeallocOp: _dealloc,
}

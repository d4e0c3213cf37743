"""The pass `tir-check-launches`."""

from __future__ import annotations

from math import prod

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, VectorType
from xdsl.ir import Operation
from xdsl.passes import ModulePass

from ...analysis.threads.atomics import is_atomic
from ...analysis.threads.axes import BLOCK_AXES, THREAD_AXES, outermost_bound_loops, thread_axis_of
from ...core.diagnostics import where
from ...core.dtypes import dtype_of
from ...core.errors import UnsupportedError
from ...core.gpu import MAX_BLOCK_DIMS, MAX_GRID_DIMS, MAX_THREADS_PER_BLOCK, STATIC_SHARED_BYTES
from ...core.walking import find_ops
from ...dialects.tir import AllocBufferOp, FuncOp, LaunchThreadOp, LoadOp, StoreOp, scope_of


class TirCheckLaunchesPass(ModulePass):
    """Rejects launches that exceed the limits of every GPU; changes nothing.

    The limits concern threads, blocks and static shared memory. Raises UnsupportedError with the reason.

    Before
        tir.launch_thread "bx" %bx : i32 in 4 thread "blockIdx.x" {
          tir.launch_thread "tx" %tx : i32 in 2048 thread "threadIdx.x" {
            ...
          }
        }

    After
        UnsupportedError: 2048 threads of threadIdx.x ("tx"), expected at most 1024

    Must hold before: kernels are launches (`tir-launch-threads`). Raises UnsupportedError also for stores and vector
    loads by the host, which only loads the single elements that it branches on. The driver checks dynamic numbers.

    Gone after: nothing.
    """

    name = "tir-check-launches"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in [f for f in op.body.block.ops if isinstance(f, FuncOp)]:
            for kernel in outermost_bound_loops(function, BLOCK_AXES):
                _check_sizes(kernel)
                _check_shared(kernel)
        for inner in op.walk():
            if isinstance(inner, StoreOp) or is_atomic(inner) or _is_vector_load(inner):
                _check_is_on_device(inner)


def _check_sizes(kernel: Operation) -> None:
    """Raises UnsupportedError for more blocks or threads than a launch can have."""
    launches = list(find_ops(kernel, LaunchThreadOp))
    threads: list[int] = []
    for op in launches:
        axis, extent, name = op.thread.data, op.mixed_extent, op.var_name.data
        kind, most = ("threads", MAX_BLOCK_DIMS) if axis in THREAD_AXES else ("blocks", MAX_GRID_DIMS)
        limit = most[axis[-1]]
        if isinstance(extent, int):
            if extent > limit:
                raise UnsupportedError(f'{where(op)}{extent} {kind} of {axis} ("{name}"), expected at most {limit}')
            if kind == "threads":
                threads.append(extent)
    if prod(threads) > MAX_THREADS_PER_BLOCK:
        sizes = " * ".join(map(str, threads))
        raise UnsupportedError(
            f"{where(kernel)}{sizes} = {prod(threads)} threads in a block, expected at most {MAX_THREADS_PER_BLOCK}"
        )


def _check_shared(kernel: Operation) -> None:
    """Raises UnsupportedError for more static shared memory than a block of threads can have."""
    sizes: dict[str, int] = {}
    for op in kernel.walk():
        if isinstance(op, AllocBufferOp) and (scope := scope_of(op.type)) in ("shared", "shared.dyn"):
            name = op.buffer_name.data
            extents = [n for n in op.mixed_shape if isinstance(n, int)]
            if len(extents) != len(op.mixed_shape):
                raise UnsupportedError(f"{where(op)}the size of {name}, in shared memory, is not known")
            if scope == "shared":
                sizes[name] = sizes.get(name, 0) + prod(extents) * dtype_of(op.type.element_type).bytes
    if (static := sum(sizes.values())) > STATIC_SHARED_BYTES:
        listed = ", ".join(f"{name}: {n}" for name, n in sizes.items())
        raise UnsupportedError(
            f"{where(kernel)}{static} bytes ({listed}) of scope shared, expected at most {STATIC_SHARED_BYTES}"
        )


def _check_is_on_device(op: Operation) -> None:
    """Raises UnsupportedError for accesses of the host to device memory."""
    parent = op.parent_op()
    while parent is not None and not (isinstance(parent, LaunchThreadOp) and thread_axis_of(parent) is not None):
        parent = parent.parent_op()
    if parent is None:
        done = "several elements are loaded" if isinstance(op, LoadOp) else "an element is stored"
        raise UnsupportedError(
            f"{where(op)}{done} outside of loops bound to blockIdx or threadIdx, by the host, which does not reach the "
            "memory of a GPU: did you forget to bind?"
        )


def _is_vector_load(op: Operation) -> bool:
    return isinstance(op, LoadOp) and isinstance(op.result.type, VectorType)

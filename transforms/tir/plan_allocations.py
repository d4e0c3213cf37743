"""The pass `tir-plan-allocations`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, NoneAttr, StringAttr
from xdsl.passes import ModulePass

from ...analysis.index import Analyzer
from ...core.dtypes import element_byte_size
from ...core.remarks import PassRemarks
from ...core.walking import find_ops
from ...dialects.tir import (
    AllocateOp,
    AllocBufferOp,
    CallExternOp,
    CallOp,
    ForOp,
    FuncOp,
    HandleType,
    constant_value,
)
from .allocations import sink_allocation

_remarks = PassRemarks("tir-plan-allocations")


@dataclass(frozen=True)
class TirPlanAllocationsPass(ModulePass):
    """Moves each allocation to the innermost region around its uses, and assigns it to the stack or the heap.

    An allocation moves into a loop only if every iteration reads only elements that it has written before, or accesses
    only elements of its own: then it is private to the iteration. A buffer that only a parallel loop uses is private to
    each iteration by definition: it moves into the loop, unless each iteration accesses elements of its own.
    Allocations without uses are erased. Allocations of static size are on the stack, smallest first, up to
    `max-stack-bytes` in a function; none in functions that can call themselves.

    max-stack-bytes: the size of the stack allocations of a function, in bytes.  launches: whether the program is for a
    GPU. Memory of blocks and threads then stays in place, for `tir-compact-buffers`.

    Before
        %t = tir.alloc_buffer "T" : memref<4xf32>
        tir.for parallel "i" %i : i32 in [0 +: 8] {
          tir.store %x, %t[%c0] : memref<4xf32>
          %y = tir.load %t[%c0] : memref<4xf32>
          ...
        }

    After
        tir.for parallel "i" %i : i32 in [0 +: 8] {
          %t = tir.alloc_buffer "T" on stack : memref<4xf32>
          tir.store %x, %t[%c0] : memref<4xf32>
          %y = tir.load %t[%c0] : memref<4xf32>
          ...
        }

    Must hold before: no tir.block (`tir-resolve-blocks`): memory of a block lives as long as one instance of it.

    Gone after: allocations without a kind of memory.
    """

    name = "tir-plan-allocations"

    max_stack_bytes: int = 16384
    launches: bool = False

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        functions = {f.sym_name.data: f for f in op.body.block.ops if isinstance(f, FuncOp)}
        analyzer = Analyzer()
        for function in functions.values():
            for alloc in list(find_ops(function, AllocBufferOp)):
                if not self.launches or alloc.type.memory_space == NoneAttr():
                    sink_allocation(alloc, analyzer)
            self._decide(function, _is_recursive(function, functions))

    def _decide(self, function: FuncOp, is_recursive: bool) -> None:
        room = 0 if is_recursive else self.max_stack_bytes
        allocs = list(find_ops(function, AllocBufferOp, AllocateOp))
        for size, alloc in sorted(((_byte_size(a), a) for a in allocs), key=lambda pair: pair[0] or 0):
            if alloc.memory is None:
                fits = size is not None and size <= room
                alloc.memory = StringAttr("stack" if fits else "heap")
                if not (self.launches and _is_of_kernel(alloc)):
                    _report(
                        alloc, size, "its function can call itself" if is_recursive else f"{room} bytes are left there"
                    )
            if alloc.memory.data == "stack":
                room -= size or 0


def _is_of_kernel(alloc: AllocBufferOp | AllocateOp) -> bool:
    """Whether the memory of an allocation has a scope, so that kernels decide where it is."""
    if isinstance(alloc, AllocateOp):
        return alloc.pointer.type.scope.data != "global"
    return alloc.type.memory_space != NoneAttr()


def _report(alloc: AllocBufferOp | AllocateOp, size: int | None, lack: str) -> None:
    """Reports the memory of an allocation. lack: the reason why an allocation of static size is not on the stack."""
    if alloc.memory == StringAttr("stack"):
        _remarks.applied(alloc, lambda: f"{_name(alloc)} of {size} bytes is on the stack{_loop(alloc)}")
    elif size is None:
        _remarks.missed(alloc, lambda: f"{_name(alloc)} is on the heap{_loop(alloc)}: its size is dynamic")
    else:
        _remarks.missed(
            alloc, lambda: f"{_name(alloc)} of {size} bytes is on the heap{_loop(alloc)}, not on the stack: {lack}"
        )


def _name(alloc: AllocBufferOp | AllocateOp) -> str:
    return f"buffer {(alloc.buffer_name if isinstance(alloc, AllocBufferOp) else alloc.var_name).data}"


def _loop(alloc: AllocBufferOp | AllocateOp) -> str:
    """The innermost loop that contains an allocation: `, in loop i`."""
    around = alloc.parent_op()
    while around is not None and not isinstance(around, ForOp):
        around = around.parent_op()
    return f", in loop {around.loop_var.data}" if isinstance(around, ForOp) else ""


# Sizes


def _byte_size(alloc: AllocBufferOp | AllocateOp) -> int | None:
    """The size of an allocation in bytes; None if it is dynamic."""
    if isinstance(alloc, AllocateOp):
        if alloc.condition is not None and constant_value(alloc.condition) != 1:
            return None
        extents, element = alloc.mixed_extents, alloc.pointer.type.element
        elements = 1
        for extent in extents:
            if not isinstance(extent, int):
                return None
            elements *= extent
    else:
        element = alloc.type.element_type
        elements = _span(alloc)
    if elements is None:
        return None
    size = 8 if isinstance(element, HandleType) else element_byte_size(element)
    return max(elements, 0) * size


def _span(alloc: AllocBufferOp) -> int | None:
    """The number of elements from the data pointer of a buffer to its last element; None if it is dynamic."""
    shape, strides, offset = alloc.mixed_shape, alloc.mixed_strides, alloc.mixed_offset
    extents = [number for d in shape if isinstance(number := d if isinstance(d, int) else constant_value(d), int)]
    if len(extents) != len(shape) or not isinstance(offset, int):
        return None
    if strides is None:
        total = 1
        for extent in extents:
            total *= extent
        return total
    steps = [s for s in strides if isinstance(s, int)]
    if len(steps) != len(strides):
        return None
    return offset + 1 + sum((d - 1) * s for d, s in zip(extents, steps, strict=True))


# Recursion


def _is_recursive(function: FuncOp, functions: dict[str, FuncOp]) -> bool:
    """Whether a function can call itself, directly or through other functions."""
    seen: set[str] = set()
    todo = list(_callees(function))
    while todo:
        name = todo.pop()
        if name in functions and name not in seen:
            seen.add(name)
            todo += _callees(functions[name])
    return function.sym_name.data in seen


def _callees(function: FuncOp) -> Iterator[str]:
    for op in find_ops(function, CallOp, CallExternOp):
        yield op.callee.data if isinstance(op, CallExternOp) else op.callee.string_value()

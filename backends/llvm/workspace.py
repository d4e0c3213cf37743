"""The workspaces of functions: memory that a module keeps between calls.

A module keeps one block of memory for each thread that executes its functions at the same time, up to a limit. A
function takes a kept block, or allocates one if none is kept or the block is too small, and hands it back at its end; a
block that finds no place is freed. Taking and handing back are atomic exchanges, so that functions may run in several
threads and call each other. A call thus neither maps nor clears pages that an earlier call had. The two words before a
block are its size and the address to free.
"""

from __future__ import annotations

import sys

from .function import FREE, LlvmFunctionEmitter, LlvmModule
from .linking import DISCARD_WORKSPACE
from .types import constant_value_of_operand

ALLOCATE = ("aligned_alloc", "ptr", ("i64", "i64"), "nounwind")
"""The declaration of `aligned_alloc`."""

_ALLOCATE_LARGE = "stepwell.allocate"
_LARGE = 1 << 22
"""The bytes of memory that consists of huge pages where the system has them, at least: as in numpy."""
_PAGE = 4096
"""A divisor of the start of the advised memory; systems with larger pages refuse the advice unless it is aligned."""
_MADV_HUGEPAGE = 14
"""`MADV_HUGEPAGE` of Linux, `include/uapi/asm-generic/mman-common.h`."""

_ALLOCATE_LARGE_TEXT = f"""\
define internal noalias ptr @{_ALLOCATE_LARGE}(i64 %alignment, i64 %size) nounwind {{
  %base = call ptr @aligned_alloc(i64 %alignment, i64 %size)
  %failed = icmp eq ptr %base, null
  %small = icmp ult i64 %size, {_LARGE}
  %plain = or i1 %failed, %small
  br i1 %plain, label %end, label %advise
advise:
  %start = ptrtoint ptr %base to i64
  %start.up = add i64 %start, {_PAGE - 1}
  %first = and i64 %start.up, {-_PAGE}
  %stop = add i64 %start, %size
  %last = and i64 %stop, {-_PAGE}
  %length = sub i64 %last, %first
  %page = inttoptr i64 %first to ptr
  %ignored = call i32 @madvise(ptr %page, i64 %length, i32 {_MADV_HUGEPAGE})
  br label %end
end:
  ret ptr %base
}}"""

_TAKE, _HAND_BACK, _PART = "stepwell.take", "stepwell.hand_back", "stepwell.part"
_RELEASE = "stepwell.release"
_WORKSPACE = "stepwell.workspace"

_PLACES = 32
"""The number of blocks that a module keeps."""

_TAKE_TEXT = f"""\
define internal noalias ptr @{_TAKE}(i64 %size, i64 %alignment) noinline nounwind minsize optsize {{
  br label %look
look:
  %n = phi i64 [ 0, %0 ], [ %n.next, %next ]
  %place = getelementptr ptr, ptr @{_WORKSPACE}, i64 %n
  %kept = atomicrmw xchg ptr %place, ptr null acq_rel
  %none = icmp eq ptr %kept, null
  br i1 %none, label %next, label %compare
next:
  %n.next = add i64 %n, 1
  %more = icmp ult i64 %n.next, {_PLACES}
  br i1 %more, label %look, label %allocate
compare:
  %size.word = getelementptr i8, ptr %kept, i64 -16
  %capacity = load i64, ptr %size.word
  %large = icmp ule i64 %size, %capacity
  %number = ptrtoint ptr %kept to i64
  %below = sub i64 %alignment, 1
  %rest = and i64 %number, %below
  %aligned = icmp eq i64 %rest, 0
  %fits = and i1 %large, %aligned
  br i1 %fits, label %take, label %replace
take:
  ret ptr %kept
replace:
  call void @{_RELEASE}(ptr %kept)
  br label %allocate
allocate:
  %bytes = add i64 %size, %alignment
  %base = call ptr @{{allocate}}(i64 %alignment, i64 %bytes)
  %failed = icmp eq ptr %base, null
  br i1 %failed, label %fail, label %fill
fail:
  ret ptr null
fill:
  %block = getelementptr i8, ptr %base, i64 %alignment
  %new.size = getelementptr i8, ptr %block, i64 -16
  store i64 %size, ptr %new.size
  %new.base = getelementptr i8, ptr %block, i64 -8
  store ptr %base, ptr %new.base
  ret ptr %block
}}"""

_RELEASE_TEXT = f"""\
define internal void @{_RELEASE}(ptr %block) nounwind {{
  %none = icmp eq ptr %block, null
  br i1 %none, label %end, label %release
release:
  %base.word = getelementptr i8, ptr %block, i64 -8
  %base = load ptr, ptr %base.word
  call void @free(ptr %base)
  br label %end
end:
  ret void
}}"""

_HAND_BACK_TEXT = f"""\
define internal void @{_HAND_BACK}(ptr %block) noinline nounwind minsize optsize {{
  %none = icmp eq ptr %block, null
  br i1 %none, label %end, label %look
look:
  %n = phi i64 [ 0, %0 ], [ %n.next, %next ]
  %place = getelementptr ptr, ptr @{_WORKSPACE}, i64 %n
  %pair = cmpxchg ptr %place, ptr null, ptr %block acq_rel monotonic
  %kept = extractvalue {{ ptr, i1 }} %pair, 1
  br i1 %kept, label %end, label %next
next:
  %n.next = add i64 %n, 1
  %more = icmp ult i64 %n.next, {_PLACES}
  br i1 %more, label %look, label %free
free:
  call void @{_RELEASE}(ptr %block)
  br label %end
end:
  ret void
}}"""

_PART_TEXT = f"""\
define internal noalias ptr @{_PART}(ptr %block, i64 %offset) noinline nounwind willreturn memory(none) {{
  %part = getelementptr inbounds i8, ptr %block, i64 %offset
  ret ptr %part
}}"""


_DISCARD = f"""\
  br label %look
look:
  %n = phi i64 [ 0, %0 ], [ %n.next, %look ]
  %place = getelementptr ptr, ptr @{_WORKSPACE}, i64 %n
  %kept = atomicrmw xchg ptr %place, ptr null acq_rel
  call void @{_RELEASE}(ptr %kept)
  %n.next = add i64 %n, 1
  %more = icmp ult i64 %n.next, {_PLACES}
  br i1 %more, label %look, label %end
end:
"""


def allocate(f: LlvmFunctionEmitter, size: str, alignment: int, hint: str | None) -> str:
    """Emits an allocation that ends with the call. Returns the pointer to it, which is null if there is no memory."""
    callee = _allocating_function(f.module, constant_value_of_operand(size))
    return f.emit_value(f"call noalias align {alignment} ptr @{callee}(i64 {alignment}, i64 {size})", hint)


def _allocating_function(module: LlvmModule, size: int | None) -> str:
    """The function that allocates memory of a size, perhaps unknown. On Linux, large memory asks for huge pages."""
    module.declare(*ALLOCATE)
    if sys.platform != "linux" or (size is not None and size < _LARGE):
        return ALLOCATE[0]
    module.declare("madvise", "i32", ("ptr", "i64", "i32"), "nounwind")
    module.helper(_ALLOCATE_LARGE, lambda: _ALLOCATE_LARGE_TEXT)
    return _ALLOCATE_LARGE


def take_workspace(f: LlvmFunctionEmitter, size: str, alignment: int, hint: str | None) -> str:
    """Emits the call that takes a block. Returns the pointer to it, which is null if there is no memory."""
    f.module.declare(*FREE)
    callee = _allocating_function(f.module, None)
    f.module.variable(_WORKSPACE, f"[{_PLACES} x ptr]", "zeroinitializer")
    f.module.helper(_RELEASE, lambda: _RELEASE_TEXT)
    taking = f.module.helper(_TAKE, lambda: _TAKE_TEXT.replace("{allocate}", callee))
    return f.emit_value(f"call noalias align {alignment} ptr {taking}(i64 {size}, i64 {alignment})", hint)


def hand_back_workspace(f: LlvmFunctionEmitter, pointer: str) -> None:
    """Emits the call that hands back a block, or nothing for a null pointer."""
    f.emit(f"call void {f.module.helper(_HAND_BACK, lambda: _HAND_BACK_TEXT)}(ptr {pointer})")


def part_of_workspace(f: LlvmFunctionEmitter, pointer: str, offset: str) -> str:
    """Emits a pointer to a part of a block that LLVM takes for memory of its own. The call hides that the parts of a
    block have one base."""
    callee = f.module.helper(_PART, lambda: _PART_TEXT)
    return f.emit_value(f"call noalias align 64 ptr {callee}(ptr {pointer}, i64 {offset})")


def emit_discard(module: LlvmModule) -> str:
    """The text of the function that frees the kept blocks of a module, which may have none."""
    keeps = module.has_variable(_WORKSPACE)
    if keeps:
        module.declare(*FREE)
        module.helper(_RELEASE, lambda: _RELEASE_TEXT)
    return f"define void @{DISCARD_WORKSPACE}() nounwind {{\n{_DISCARD if keeps else ''}  ret void\n}}"

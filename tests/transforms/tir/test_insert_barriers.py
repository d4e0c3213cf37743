"""Barriers are inserted exactly where a thread depends on another thread."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from hypothesis import given
from hypothesis import strategies as st
from xdsl.ir import Operation

from stepwell import apply_passes
from stepwell.analysis.threads.axes import is_thread_loop
from stepwell.analysis.threads.barriers import is_barrier, is_barrier_of_warp
from stepwell.dialects.tir import ForOp
from stepwell.dialects.tir.tree import is_expression_op
from stepwell.frontends.mlir import parse_mlir
from stepwell.frontends.tvmscript import parse_tvmscript

THREADS, WARP, ROUNDS = 64, 32, 3
PASSES = "tir-resolve-blocks,tir-launch-blocks,tir-distribute-threads,tir-insert-barriers"


@dataclass(frozen=True)
class Element:
    """The index `a * thread + b * round + c`."""

    a: int
    b: int
    c: int

    def at(self, thread: int, number: int) -> int:
        return self.a * thread + self.b * number + self.c

    def text(self, thread: str) -> str:
        return f"{self.a} * {thread} + {self.b} * k + {self.c}"


@dataclass(frozen=True)
class Copy:
    """A copy of an element by each thread, from one of two shared buffers to the other. threads: the number of threads;
    0 for the first thread alone, without a loop over threads."""

    target: str
    written: Element
    read: Element
    threads: int

    @property
    def source(self) -> str:
        return "Q" if self.target == "P" else "P"

    def text(self) -> str:
        thread, indent = ("tx", " " * 16) if self.threads else ("0", " " * 12)
        store = f"{indent}{self.target}[{self.written.text(thread)}] = {self.source}[{self.read.text(thread)}]\n"
        loop = f'            for tx in T.thread_binding({self.threads}, thread="threadIdx.x"):\n'
        return loop + store if self.threads else store

    def touched(self, number: int) -> set[tuple[str, int, int, bool]]:
        """The accesses of a round: (buffer, element, thread, whether it is written)."""
        threads = range(self.threads or 1)
        return {(self.target, self.written.at(t, number), t, True) for t in threads} | {
            (self.source, self.read.at(t, number), t, False) for t in threads
        }


ELEMENTS = st.builds(Element, st.sampled_from((0, 1, 1, 2)), st.sampled_from((0, 0, 1, 16)), st.integers(0, 40))
COPIES = st.builds(Copy, st.sampled_from("PQ"), ELEMENTS, ELEMENTS, st.sampled_from((THREADS, THREADS, WARP, 16, 0)))


def program(copies: Sequence[Copy]) -> str:
    """A loop of copies by the threads of a block of `THREADS`; the last statement determines the number of threads."""
    return f"""
@T.prim_func
def main():
    for bx in T.thread_binding(1, thread="blockIdx.x"):
        P = T.alloc_buffer((256,), "int32", scope="shared")
        Q = T.alloc_buffer((256,), "int32", scope="shared")
        for k in range({ROUNDS}):
{"".join(map(Copy.text, copies))}            for tx in T.thread_binding({THREADS}, thread="threadIdx.x"):
                T.evaluate(tx)
"""


def distance(a: Copy, b: Copy, *, later: bool) -> int:
    """The distance of conflicting threads: 0 without a conflict, 1 if all conflicts are within a warp, otherwise 2.
    later: whether `b` is in a later round instead of the same round."""
    found = 0
    for n in range(ROUNDS):
        for m in range(n + 1, ROUNDS) if later else (n,):
            for buffer, element, thread, is_write in a.touched(n):
                for other, place, another, writes in b.touched(m):
                    if (buffer, element) == (other, place) and thread != another and (is_write or writes):
                        found = max(found, 1 if thread // WARP == another // WARP else 2)
    return found


def farthest(some: Sequence[Copy], then: Sequence[Copy], *, later: bool = False) -> int:
    return max((distance(a, b, later=later) for a in some for b in then), default=0)


def expected(copies: Sequence[Copy]) -> list[str]:
    """The statements of the loop with their barriers, each at the first position required by a pair of threads."""
    found, last, near, first, waited = list[str](), list[Copy](), list[Copy](), list[Copy](), False

    def wait(then: Sequence[Copy], *, later: bool) -> None:
        nonlocal last, near, waited
        if farthest(last, then, later=later) == 2:
            found.append("block")
            last, near, waited = [], [], True
        elif farthest(near, then, later=later) == 1:
            found.append("warp")
            near = []

    for copy in copies:
        wait([copy], later=False)
        found.append("copy")
        last, near, first = [*last, copy], [*near, copy], first if waited else [*first, copy]
    found.append("copy")  # the statement that determines the number of threads
    wait(first, later=True)
    return found


def inserted(copies: Sequence[Copy]) -> list[str]:
    module = apply_passes(parse_tvmscript(program(copies)), PASSES)
    (loop,) = (op for op in module.op.walk() if isinstance(op, ForOp) and not is_thread_loop(op))
    return [_name(op) for op in loop.body.block.ops if not is_expression_op(op) or is_barrier(op)]


def _name(op: Operation) -> str:
    return "warp" if is_barrier_of_warp(op) else "block" if is_barrier(op) else "copy"


@given(st.lists(COPIES, min_size=1, max_size=6))
def test_barriers_are_where_pairs_of_threads_need_them(copies: list[Copy]) -> None:
    assert inserted(copies) == expected(copies)


INIT = """
tir.func @main("A" %A: memref<4x8xf32>) {
  tir.launch_thread "bx" %bx : i32 in 1 thread "blockIdx.x" {
    %s = tir.alloc_buffer "S" : memref<8xf32, "shared">
    tir.for thread_binding "tx" %tx : i32 in [0 +: 8] thread "threadIdx.x" {
      tir.for serial "k" %k : i32 in [0 +: 4] {
        tir.block "C" (spatial "v" %v : i32 in [0 +: 8] = %tx, reduce "w" %w : i32 in [0 +: 4] = %k) {
          tir.access reads %A[%w, %v] : memref<4x8xf32>
          tir.access writes %s[%v] : memref<8xf32, "shared">
          tir.init {
            %c = arith.constant 0.0 : f32
            %e = tir.call_extern "f"(%v) : i32 -> i32
            tir.evaluate %e : i32
            tir.store %c, %s[%v] : memref<8xf32, "shared">
          }
          %x = tir.load %A[%w, %v] : memref<4x8xf32>
          tir.store %x, %s[%v] : memref<8xf32, "shared">
        }
      }
    }
  }
}
"""


def test_an_init_with_an_effect_outside_of_buffers_is_no_exchange() -> None:
    after = apply_passes(parse_mlir(INIT), "tir-insert-barriers")
    assert not any(is_barrier(op) for op in after.op.walk())

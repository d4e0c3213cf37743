"""Loops, branches and assertions."""

import re

import numpy as np
import pytest

from stepwell.backends.build import build
from stepwell.core.errors import ArgumentError, ExecutionError, UnsupportedError
from stepwell.frontends.tvmscript import parse_tvmscript
from stepwell.tools.testing.upstream import PARALLEL, collatz, expected_of_loop, loop


@pytest.mark.parametrize("kind", ["index", "i32", "i8"])
def test_loops_run_from_lower_to_below_upper(compile_text, kind: str) -> None:
    lib = compile_text(loop(kind))

    for bounds in [(0, 3, 1), (3, 3, 1), (5, 3, 1), (1, 10, 4), (-3, 2, 2), (0, 1, 100)]:
        assert lib(*bounds) == expected_of_loop(*bounds)


@pytest.mark.parametrize(("lower", "upper", "result"), [(0, 4, 6), (4, 4, 0), (5, 0, 0)])
def test_loops_with_known_bounds(compile_text, lower: int, upper: int, result: int) -> None:
    lib = compile_text(f"""func.func @main() -> index {{
      %l = arith.constant {lower} : index
      %u = arith.constant {upper} : index
      %one = arith.constant 1 : index
      %z = arith.constant 0 : index
      %r = scf.for %i = %l to %u step %one iter_args(%acc = %z) -> (index) {{
        %n = arith.addi %acc, %i : index
        scf.yield %n : index
      }}
      func.return %r : index
    }}""")
    assert lib() == result


@pytest.mark.parametrize(("rows", "kept"), [(1, False), (8, True)])
def test_loops_over_tiles_of_registers_are_kept(rows: int, kept: bool) -> None:
    program = build(
        parse_tvmscript(f"""
@T.prim_func
def main(A: T.Buffer(({rows}, 3), "float32"), B: T.Buffer((3, 16), "float32"), C: T.Buffer(({rows}, 16), "float32")):
    T.func_attr({{"tir.noalias": True}})
    for k in range(3):
        for i in T.unroll({rows}):
            for j in T.vectorized(16):
                C[i, j] = C[i, j] + A[i, k] * B[k, j]
""")
    )
    assert ("!llvm.loop !3" in program.source("llvm")) == kept
    assert bool(re.search(r"\.p2align\s+5", program.source("asm"))) == kept
    a, b, c = np.ones((rows, 3), "float32"), np.ones((3, 16), "float32"), np.ones((rows, 16), "float32")
    program["main"](a, b, c)
    np.testing.assert_array_equal(c, np.full((rows, 16), 4))


def test_loops_carry_several_values_and_buffers(compile_text) -> None:
    lib = compile_text("""func.func @main(%a: memref<?xf32>, %b: memref<?xf32>, %n: index) -> f32 {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %one = arith.constant 1.0 : f32
      %r:3 = scf.for %i = %c0 to %n step %c1 iter_args(%x = %a, %y = %b, %s = %one)
          -> (memref<?xf32>, memref<?xf32>, f32) {
        %d = memref.dim %x, %c0 : memref<?xf32>
        %last = arith.subi %d, %c1 : index
        %v = memref.load %x[%last] : memref<?xf32>
        %t = arith.addf %s, %v : f32
        scf.yield %y, %x, %t : memref<?xf32>, memref<?xf32>, f32
      }
      %z = memref.load %r#0[%c0] : memref<?xf32>
      %q = arith.addf %r#2, %z : f32
      func.return %q : f32
    }""")
    a, b = np.array([1, 2], np.float32), np.array([10, 20, 30], np.float32)
    assert lib(a, b, 0) == 1 + 1
    assert lib(a, b, 3) == 1 + 2 + 30 + 2 + 10


def test_branches_give_values(compile_text) -> None:
    lib = compile_text("""func.func @main(%c: i1, %d: i1, %a: memref<4xi32>) -> i32 {
      %c0 = arith.constant 0 : index
      %one = arith.constant 1 : i32
      %two = arith.constant 2 : i32
      %three = arith.constant 3 : i32
      %r = scf.if %c -> (i32) {
        %s = scf.if %d -> (i32) {
          scf.yield %one : i32
        } else {
          scf.yield %two : i32
        }
        scf.yield %s : i32
      } else {
        scf.yield %three : i32
      }
      scf.if %d {
        memref.store %r, %a[%c0] : memref<4xi32>
      }
      func.return %r : i32
    }""")
    for c, d, expected in [(1, 1, 1), (1, 0, 2), (0, 1, 3), (0, 0, 3)]:
        a = np.zeros(4, np.int32)
        assert lib(c, d, a) == expected
        assert a[0] == (expected if d else 0)


def test_while_tests_before_each_round(compile_text) -> None:
    lib = compile_text(collatz())
    assert [lib(n) for n in (1, 2, 6, 27)] == [0, 1, 8, 111]


def test_parallel_loops_visit_every_point(compile_text) -> None:
    lib = compile_text(PARALLEL)
    a = np.full((3, 6), -1, np.int32)
    lib(a)
    expected = np.full((3, 6), -1)
    i, j = np.meshgrid(range(3), range(1, 6, 2), indexing="ij")
    expected[i, j] = i + j
    np.testing.assert_array_equal(a, expected)


def test_parallel_reductions_are_refused(compile_text) -> None:
    with pytest.raises(UnsupportedError, match=r"scf\.parallel.*reductions"):
        compile_text("""func.func @main(%n: index, %x: f32) {
          %r = "scf.parallel"(%n, %n, %n, %x) <{operandSegmentSizes = array<i32: 1, 1, 1, 1>}> ({
          ^bb0(%i: index):
            "scf.reduce"(%x) ({
            ^bb1(%a: f32, %b: f32):
              "scf.reduce.return"(%a) : (f32) -> ()
            }) : (f32) -> ()
          }) : (index, index, index, f32) -> f32
          func.return
        }""")


def test_a_failed_assertion_is_an_error_with_its_message_and_the_arguments(compile_text) -> None:
    lib = compile_text("""func.func @main(%n: i32 {stepwell.name = "n"}, %a: memref<?xf32> {stepwell.name = "A"}) {
      %zero = arith.constant 0 : i32
      %two = arith.constant 2 : i32
      %ok = arith.cmpi sgt, %n, %zero : i32
      cf.assert %ok, "n must be positive"
      %small = arith.cmpi slt, %n, %two : i32
      cf.assert %small, "n must be \\"small\\""
      func.return
    }""")
    a = np.zeros(3, np.float32)
    lib(1, a)
    with pytest.raises(ExecutionError, match=r"main: assertion failed: n must be positive \(called with n: int 0, "
                                             r"A: float32\[3\]\)"):  # fmt: skip
        lib(0, a)
    with pytest.raises(ExecutionError, match='n must be "small"'):
        lib(2, a)


def test_nothing_after_a_failed_assertion_runs(compile_text) -> None:
    lib = compile_text("""func.func @main(%a: memref<4xi32>, %limit: index) {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c4 = arith.constant 4 : index
      %one = arith.constant 1 : i32
      scf.for %i = %c0 to %c4 step %c1 {
        %ok = arith.cmpi slt, %i, %limit : index
        cf.assert %ok, "too far"
        memref.store %one, %a[%i] : memref<4xi32>
      }
      func.return
    }""")
    a = np.zeros(4, np.int32)
    with pytest.raises(ExecutionError, match="too far"):
        lib(a, 2)
    np.testing.assert_array_equal(a, [1, 1, 0, 0])


class Heap:
    """C's allocator with counters. Pass `symbols` to `compile_text`."""

    def __init__(self) -> None:
        import ctypes

        self.live: set[int] = set()
        self.allocated = 0
        self._libc = ctypes.CDLL(None)
        self._libc.aligned_alloc.restype = ctypes.c_void_p
        self._libc.aligned_alloc.argtypes = [ctypes.c_size_t, ctypes.c_size_t]
        self._libc.free.argtypes = [ctypes.c_void_p]
        self._alloc = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_size_t, ctypes.c_size_t)(self._allocate)
        self._free = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(self._release)
        self.symbols = {
            "aligned_alloc": ctypes.cast(self._alloc, ctypes.c_void_p).value,
            "free": ctypes.cast(self._free, ctypes.c_void_p).value,
        }

    def _allocate(self, alignment: int, size: int) -> int:
        pointer = self._libc.aligned_alloc(alignment, size)
        self.live.add(pointer)
        self.allocated += 1
        return pointer

    def _release(self, pointer: int | None) -> None:
        if pointer is not None:
            self.live.remove(pointer)
            self._libc.free(pointer)


NESTED = """
func.func private @inner(%n: index, %k: index, %out: memref<1xf32>) -> f32 {
  %c0 = arith.constant 0 : index
  %t = memref.alloc(%n) : memref<?xf32>
  %x = memref.load %out[%c0] : memref<1xf32>
  memref.store %x, %t[%c0] : memref<?xf32>
  func.call @use(%t) : (memref<?xf32>) -> ()
  %two = arith.constant 2 : index
  %ok = arith.cmpi ne, %k, %two : index
  cf.assert %ok, "inner"
  %y = memref.load %t[%c0] : memref<?xf32>
  memref.dealloc %t : memref<?xf32>
  func.return %y : f32
}
func.func @main(%n: index, %fail: index, %out: memref<1xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %a = memref.alloc(%n) : memref<?xf32>
  func.call @use(%a) : (memref<?xf32>) -> ()
  scf.for %k = %c0 to %c4 step %c1 {
    %b = memref.alloc(%n) : memref<?xf32>
    func.call @use(%b) : (memref<?xf32>) -> ()
    %ok = arith.cmpi ne, %k, %fail : index
    cf.assert %ok, "loop"
    %far = arith.addi %fail, %c4 : index
    %even = arith.cmpi slt, %k, %c1 : index
    scf.if %even {
      memref.dealloc %b : memref<?xf32>
      %sum = arith.addi %k, %fail : index
      %good = arith.cmpi ne, %sum, %far : index
      cf.assert %good, "unreachable"
    } else {
      %i = arith.subi %k, %fail : index
      %y = func.call @inner(%n, %i, %out) : (index, index, memref<1xf32>) -> f32
      memref.store %y, %out[%c0] : memref<1xf32>
      memref.dealloc %b : memref<?xf32>
    }
  }
  memref.dealloc %a : memref<?xf32>
  func.return
}
func.func private @use(memref<?xf32>)
"""


@pytest.mark.parametrize(("fail", "message"), [(0, "loop"), (3, "loop"), (1, "loop"), (-1, "inner"), (-9, None)])
def test_assertions_free_what_is_allocated_wherever_they_fail(compile_text, fail: int, message: str | None) -> None:
    import ctypes

    heap = Heap()
    use = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(lambda pointer: None)
    lib = compile_text(NESTED, symbols={**heap.symbols, "use": ctypes.cast(use, ctypes.c_void_p).value})
    out = np.zeros(1, np.float32)
    if message is None:
        lib(10, fail, out)
    else:
        with pytest.raises(ExecutionError, match=message):
            lib(10, fail, out)
    assert heap.allocated >= 2
    assert not heap.live


def test_an_assertion_about_an_argument_is_an_argument_error(compile_text) -> None:
    lib = compile_text("""func.func @main(%n: i32 {stepwell.name = "n"}) {
      %zero = arith.constant 0 : i32
      %ok = arith.cmpi sgt, %n, %zero : i32
      cf.assert %ok, "n must be positive" {stepwell.argument}
      func.return
    }""")
    lib(1)
    with pytest.raises(ArgumentError, match=r"^main: n must be positive"):
        lib(0)

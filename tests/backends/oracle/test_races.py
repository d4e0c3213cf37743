"""Detection of races, and its absence of cost when disabled."""

from typing import Any

import numpy as np
import pytest

from stepwell.backends.oracle import compile_oracle, run_oracle
from stepwell.core.errors import UndefinedBehaviorError
from stepwell.frontends.mlir import parse_mlir
from stepwell.frontends.tvmscript import parse_tvmscript


def run(text: str, *arguments: Any, **options: Any) -> Any:
    module = parse_tvmscript(text) if "T.prim_func" in text else parse_mlir(text)
    module.verify()
    return run_oracle(module, "main", arguments, **options)


def excluded(message: str) -> Any:
    return pytest.raises(UndefinedBehaviorError, match=message)


def _loops(kind: str, body: str, extra: str = "") -> str:
    return f"""
    tir.func @main("A" %A: memref<8xi32>, "B" %B: memref<8xi32>) {{
      %z = arith.constant 0 : i32
      %one = arith.constant 1 : i32
      {extra}
      tir.for {kind} "i" %i : i32 in [0 +: 7] {'thread "threadIdx.x"' if kind == "thread_binding" else ""} {{
        {body}
      }}
    }}
    """


CONCURRENT = pytest.mark.parametrize("kind", ["parallel", "vectorized", "thread_binding"])
SEQUENTIAL = pytest.mark.parametrize("kind", ["serial", "unrolled"])
ARRAYS = (np.zeros(8, np.int32), np.zeros(8, np.int32))

WRITE_WRITE = "tir.store %i, %A[%z] : memref<8xi32>"
READ_AFTER_WRITE = """
  %j = arith.addi %i, %one : i32
  %x = tir.load %A[%i] : memref<8xi32>
  tir.store %x, %A[%j] : memref<8xi32>
"""
WRITE_AFTER_READ = """
  %j = arith.addi %i, %one : i32
  %x = tir.load %A[%j] : memref<8xi32>
  tir.store %x, %A[%i] : memref<8xi32>
"""
APART = """
  %x = tir.load %B[%z] : memref<8xi32>
  %y = tir.load %A[%i] : memref<8xi32>
  %s = arith.addi %x, %y : i32
  tir.store %s, %A[%i] : memref<8xi32>
"""


@CONCURRENT
@pytest.mark.parametrize(
    ("body", "message"),
    [
        (WRITE_WRITE, r"race on A\[0\]: iteration 1 writes what iteration 0 wrote"),
        (READ_AFTER_WRITE, r"race on A\[1\]: iteration 1 reads what iteration 0 wrote"),
        (WRITE_AFTER_READ, r"race on A\[1\]: iteration 1 writes what iteration 0 read"),
    ],
)
def test_iterations_that_touch_what_another_one_writes_are_a_race(kind: str, body: str, message: str) -> None:
    with excluded(message):
        run(_loops(kind, body), *ARRAYS)


@CONCURRENT
def test_a_race_in_a_nest_of_serial_loops_is_found(kind: str) -> None:
    text = _loops(kind, WRITE_WRITE)
    text = text.replace(f"tir.for {kind}", f'tir.for serial "o" %o : i32 in [0 +: 2] {{ tir.for {kind}')
    with excluded(r"race on A\[0\]: iteration 1 writes what iteration 0 wrote"):
        run(text.rstrip().removesuffix("}") + "}}", *ARRAYS)


@SEQUENTIAL
@pytest.mark.parametrize("body", [WRITE_WRITE, READ_AFTER_WRITE, WRITE_AFTER_READ])
def test_iterations_of_a_serial_loop_may_depend_on_each_other(kind: str, body: str) -> None:
    run(_loops(kind, body), *ARRAYS)


@CONCURRENT
def test_iterations_that_write_apart_and_read_together_are_no_race(kind: str) -> None:
    run(_loops(kind, APART), *ARRAYS)


@CONCURRENT
def test_a_write_after_the_first_of_several_readers_is_found(kind: str) -> None:
    body = """
      %x = tir.load %A[%z] : memref<8xi32>
      %six = arith.constant 6 : i32
      %last = arith.cmpi eq, %i, %six : i32
      tir.if %last {
        tir.store %x, %A[%z] : memref<8xi32>
      }
    """
    if kind == "thread_binding":  # a named value is a statement, which all threads execute before the next statement
        run(_loops(kind, body), *ARRAYS)
        return
    with excluded("iteration 6 writes what iteration 0 read"):
        run(_loops(kind, body), *ARRAYS)


@CONCURRENT
def test_memory_that_is_allocated_in_an_iteration_is_its_own(kind: str) -> None:
    body = """
      %s = tir.alloc_buffer "S" : memref<1xi32>
      tir.store %i, %s[%z] : memref<1xi32>
      %x = tir.load %s[%z] : memref<1xi32>
      tir.store %x, %A[%i] : memref<8xi32>
    """
    run(_loops(kind, body), *ARRAYS)


@CONCURRENT
def test_a_buffer_that_only_one_loop_uses_is_one_for_each_iteration(kind: str) -> None:
    extra = """%s = tir.alloc_buffer "S" : memref<1xi32>"""
    own = """
      tir.store %i, %s[%z] : memref<1xi32>
      %x = tir.load %s[%z] : memref<1xi32>
      tir.store %x, %A[%i] : memref<8xi32>
    """
    run(_loops(kind, own, extra), *ARRAYS)
    passed_on = """
      %first = arith.cmpi eq, %i, %z : i32
      tir.if %first {
        tir.store %i, %s[%z] : memref<1xi32>
      }
      %x = tir.load %s[%z] : memref<1xi32>
      tir.store %x, %A[%i] : memref<8xi32>
    """
    race = r"race on S\[0\]: iteration 1 reads what iteration 0 wrote"
    with excluded(r"S\[1, 0\] is read, but was never written" if kind == "thread_binding" else race):
        run(_loops(kind, passed_on, extra), *ARRAYS)


THREADS = """
@T.prim_func
def main(A: T.Buffer((4, 4), "int32"), B: T.Buffer((4,), "int32")):
    for i in T.thread_binding(4, thread="blockIdx.x"):
        for k in T.thread_binding(4, thread="{thread}"):
            with T.block("B"):
                vi, vk = T.axis.remap("SR", [i, k])
                {init}
                B[vi] = B[vi] + A[vi, vk]
"""
INIT = """with T.init():
                    B[vi] = 0"""


def test_threads_of_a_block_reduce_together() -> None:
    out = np.zeros(4, np.int32)
    run(THREADS.format(thread="threadIdx.x", init=INIT), np.arange(16, dtype=np.int32).reshape(4, 4), out)
    assert list(out) == [6, 22, 38, 54]


@pytest.mark.parametrize(("thread", "init"), [("threadIdx.x", "pass"), ("blockIdx.y", INIT)])
def test_others_that_contribute_to_one_element_race(thread: str, init: str) -> None:
    with excluded("race on B"):
        run(THREADS.format(thread=thread, init=init), np.zeros((4, 4), np.int32), np.zeros(4, np.int32))


def test_loops_one_after_the_other_do_not_race() -> None:
    text = """
    tir.func @main("A" %A: memref<8xi32>) {
      %seven = arith.constant 7 : i32
      tir.for serial "t" %t : i32 in [0 +: 2] {
        tir.for parallel "i" %i : i32 in [0 +: 8] {
          tir.store %i, %A[%i] : memref<8xi32>
        }
        tir.for parallel "i" %i : i32 in [0 +: 8] {
          %j = arith.subi %seven, %i : i32
          %x = tir.load %A[%j] : memref<8xi32>
          tir.store %x, %A[%j] : memref<8xi32>
        }
      }
    }
    """
    run(text, np.zeros(8, np.int32))


NESTED = """
tir.func @main("A" %A: memref<4xi32>) {
  tir.for parallel "i" %i : i32 in [0 +: 4] {
    tir.for KIND "j" %j : i32 in [0 +: 2] {
      tir.store %j, %A[INDEX] : memref<4xi32>
    }
  }
}
"""


def test_races_are_found_in_every_loop_of_a_nest() -> None:
    array = np.zeros(4, np.int32)
    run(NESTED.replace("KIND", "serial").replace("INDEX", "%i"), array)
    with excluded("iteration 1 writes what iteration 0 wrote"):
        run(NESTED.replace("KIND", "parallel").replace("INDEX", "%i"), array)
    with excluded("iteration 1 writes what iteration 0 wrote"):
        run(NESTED.replace("KIND", "serial").replace("INDEX", "%j"), array)


def test_a_race_inside_of_called_functions_is_found() -> None:
    text = """
    tir.func @main("A" %A: memref<4xi32>) {
      tir.for parallel "i" %i : i32 in [0 +: 4] {
        %z = arith.constant 0 : i32
        tir.call @put(%A, INDEX) : memref<4xi32>, i32
      }
    }
    tir.func @put("B" %B: memref<4xi32>, "j" %j: i32) {
      tir.store %j, %B[%j] : memref<4xi32>
    }
    """
    run(text.replace("INDEX", "%i"), np.zeros(4, np.int32))
    with excluded(r"race on B\[0\]: iteration 1 writes what iteration 0 wrote"):
        run(text.replace("INDEX", "%z"), np.zeros(4, np.int32))


def test_a_race_through_elements_of_another_size_is_found() -> None:
    text = """
    tir.func @main("A" %A: memref<4xi32>) {
      %d = tir.buffer_data %A : memref<4xi32> -> !tir.handle<i32>
      %B = tir.decl_buffer "B" %d : !tir.handle<i32> -> memref<16xi8>
      tir.for parallel "i" %i : i32 in [0 +: 4] {
        %b = tir.cast %i : i32 -> i8
        %stride = arith.constant STRIDE : i32
        %j = arith.muli %i, %stride : i32
        tir.store %b, %B[%j] : memref<16xi8>
        %x = tir.load %A[%i] : memref<4xi32>
      }
    }
    """
    run(text.replace("STRIDE", "4"), np.zeros(4, np.int32))
    with excluded("race on"):
        run(text.replace("STRIDE", "1"), np.zeros(4, np.int32))


def test_threads_of_one_axis_are_the_same_thread_inside_of_each_other() -> None:
    text = """
    tir.func @main("A" %A: memref<8xi32>) {
      tir.launch_thread "tx" %tx : i32 in 8 thread "threadIdx.x" {
        tir.launch_thread "ty" %ty : i32 in 6 thread "threadIdx.x" {
          tir.store %tx, %A[%ty] : memref<8xi32>
        }
      }
    }
    """
    array = np.full(8, -1, np.int32)
    run(text, array)
    assert list(array) == [0, 1, 2, 3, 4, 5, -1, -1]


def test_an_unchecked_program_does_not_record_anything() -> None:
    source = compile_oracle(parse_mlir(_loops("parallel", WRITE_WRITE)), check=False).source("python")
    assert "races" not in source
    assert "out_of_bounds" not in source


HALF_FILLED = """
tir.func @main("A" %A: memref<8xf32>, "n" %n: i32) {
  %s = tir.alloc_buffer "S" : memref<8xf32>
  tir.for serial "i" %i : i32 in [0 +: %n] {
    %z = arith.constant 1.0 : f32
    tir.store %z, %s[%i] : memref<8xf32>
  }
  tir.for serial "j" %j : i32 in [0 +: 8] {
    %x = tir.load %s[%j] : memref<8xf32>
    tir.store %x, %A[%j] : memref<8xf32>
  }
}
"""


def test_unchecked_programs_read_garbage() -> None:
    run(HALF_FILLED, np.zeros(8, np.float32), 0, check=False)


REDUCTION_IN_THREADS = """
@T.prim_func
def main(A: T.Buffer((7,), "int32")):
    for bx in T.thread_binding(1, thread="blockIdx.x"):
        for tx in T.thread_binding(1, thread="threadIdx.x"):
            for i in range(7):
                f: T.int32 = A[i] & 3
                for j in T.vectorized(4):
                    A[f] = A[f] + 2
"""


def test_lanes_reduce_into_an_element_whose_index_each_thread_keeps_in_its_memory() -> None:
    initial = np.array([3, 5, 2, 9, 4, 1, 6], np.int32)
    expected = initial.copy()
    for i in range(7):
        expected[expected[i] & 3] += 8
    array = initial.copy()
    run(REDUCTION_IN_THREADS, array)
    np.testing.assert_array_equal(array, expected)


KEPT_INDEX = """
@T.prim_func
def main(A: T.Buffer((8,), "int32"), B: T.Buffer((8,), "int32")):
    K = T.alloc_buffer((1,), "int32")
    K[0] = B[0] & 7
    for j in T.vectorized(8):
        A[{index}] = A[{index}] + j
"""


def test_an_element_that_a_loop_only_reads_may_be_an_index_of_its_reduction_if_it_is_in_memory_of_the_function() -> (
    None
):
    array = np.zeros(8, np.int32)
    run(KEPT_INDEX.format(index="K[0]"), array, np.full(8, 3, np.int32))
    assert array.tolist() == [0, 0, 0, 28, 0, 0, 0, 0]
    with excluded(r"race on A\[3\]"):
        run(KEPT_INDEX.format(index="B[0]"), np.zeros(8, np.int32), np.full(8, 3, np.int32))

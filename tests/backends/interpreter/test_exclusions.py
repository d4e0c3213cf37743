"""What semantics excludes is found, with the line it happens on; what is just allowed runs."""

from typing import Any

import numpy as np
import pytest

from stepwell.backends.interpreter import checks as oracle_checks
from stepwell.backends.interpreter import compile_oracle, run_oracle
from stepwell.core.errors import ArgumentError, ExecutionError, UndefinedBehaviorError
from stepwell.frontends.mlir import parse_mlir
from stepwell.frontends.tvmscript import parse_tvmscript


def run(text: str, *arguments: Any, **options: Any) -> Any:
    module = parse_tvmscript(text) if "T.prim_func" in text else parse_mlir(text)
    module.verify()
    return run_oracle(module, "main", arguments, **options)


def excluded(message: str) -> Any:
    return pytest.raises(UndefinedBehaviorError, match=message)


# Bounds


SHIFTED = """
tir.func @main("A" %A: memref<8xi32>, "B" %B: memref<8xi32>, "o" %o: i32) {
  tir.for serial "i" %i : i32 in [0 +: 4] {
    %j = arith.addi %i, %o : i32
    %x = tir.load %A[%j] : memref<8xi32>
    tir.store %x, %B[%i] : memref<8xi32>
  }
}
"""


def test_a_load_behind_the_end_is_excluded() -> None:
    with excluded(r"main: tir.load: A\[8\] is out of bounds: index 8 of dimension 0, expected 0 <= index < 8"):
        run(SHIFTED, np.zeros(8, np.int32), np.zeros(8, np.int32), 5)


def test_a_load_before_the_start_is_excluded() -> None:
    with excluded(r"A\[-1\] is out of bounds"):
        run(SHIFTED, np.zeros(8, np.int32), np.zeros(8, np.int32), -1)


def test_a_load_of_the_last_element_is_allowed() -> None:
    out = np.zeros(8, np.int32)
    run(SHIFTED, np.arange(8, dtype=np.int32), out, 4)
    assert list(out[:4]) == [4, 5, 6, 7]


def test_what_only_says_what_a_block_reads_is_not_computed() -> None:
    text = """
    @T.prim_func
    def main(A: T.Buffer((4,), "int32"), index: T.Buffer((4,), "int32"), B: T.Buffer((5,), "int32")):
        for i in range(5):
            with T.block("B"):
                vi = T.axis.spatial(5, i)
                T.reads(A[index[vi] % 4], index[vi])
                T.writes(B[vi])
                B[vi] = T.if_then_else(vi < 4, A[index[vi] % 4], 7)
    """
    out = np.zeros(5, np.int32)
    run(text, np.arange(4, dtype=np.int32), np.array([3, 2, 1, 0], np.int32), out)
    assert list(out) == [3, 2, 1, 0, 7]


def test_an_index_beyond_one_dimension_is_excluded_inside_of_the_memory_too() -> None:
    text = """
    tir.func @main("A" %A: memref<4x8xi32>, "j" %j: i32) {
      %z = arith.constant 0 : i32
      tir.store %z, %A[%z, %j] : memref<4x8xi32>
    }
    """
    run(text, np.zeros((4, 8), np.int32), 7)
    with excluded(r"tir.store: A\[0, 8\] is out of bounds: index 8 of dimension 1"):
        run(text, np.zeros((4, 8), np.int32), 8)


def test_a_fault_names_the_line_of_the_program() -> None:
    module = parse_tvmscript(
        "@T.prim_func\ndef main(A: T.Buffer((4,), 'int32'), n: T.int32):\n    A[n] = 1\n", filename="kernel.py"
    )
    with excluded(r"^kernel.py:3:\d+: error: tir.store: A\[4\] is out of bounds"):
        run_oracle(module, "main", [np.zeros(4, np.int32), 4])


def test_every_lane_of_a_vector_access_is_checked() -> None:
    text = """
    tir.func @main("A" %A: memref<8xi32>, "o" %o: i32) {
      %one = arith.constant 1 : i32
      %r = tir.ramp %o, %one : vector<4xi32>
      %x = tir.load %A[%r : vector<4xi32>] : memref<8xi32>
      tir.store %x, %A[%r : vector<4xi32>] : memref<8xi32>
    }
    """
    run(text, np.zeros(8, np.int32), 4)
    with excluded(r"A\[8\] is out of bounds"):
        run(text, np.zeros(8, np.int32), 5)


def test_a_lane_whose_predicate_is_false_is_not_touched() -> None:
    text = """
    tir.func @main("A" %A: memref<8xi32>) {
      %o = arith.constant 6 : i32
      %one = arith.constant 1 : i32
      %r = tir.ramp %o, %one : vector<4xi32>
      %e = arith.constant 8 : i32
      %ends = vector.broadcast %e : i32 to vector<4xi32>
      %p = arith.cmpi slt, %r, %ends : vector<4xi32>
      %x = tir.load %A[%r : vector<4xi32>] if %p : vector<4xi1> : memref<8xi32>
      %ones = vector.broadcast %one : i32 to vector<4xi32>
      %y = arith.addi %x, %ones : vector<4xi32>
      tir.store %y, %A[%r : vector<4xi32>] if %p : vector<4xi1> : memref<8xi32>
    }
    """
    array = np.arange(8, dtype=np.int32)
    run(text, array)
    assert list(array) == [0, 1, 2, 3, 4, 5, 7, 8]


def test_a_region_that_reaches_over_the_edge_is_excluded_where_it_is_touched() -> None:
    text = """
    tir.func @main("A" %A: memref<10xi32>, "o" %o: i32, "n" %n: i32) {
      %z = arith.constant 0 : i32
      %v = tir.match_region "V" %A[%o +: 4] : memref<10xi32> -> memref<4xi32>
      tir.store %z, %v[%n] : memref<4xi32>
    }
    """
    run(text, np.zeros(10, np.int32), 8, 1)
    with excluded(r"A\[10\] is out of bounds"):
        run(text, np.zeros(10, np.int32), 8, 2)
    with excluded(r"V\[4\] is out of bounds"):
        run(text, np.zeros(10, np.int32), 0, 4)


def test_a_declared_buffer_must_stay_inside_of_its_memory() -> None:
    text = """
    tir.func @main("n" %n: i32) {
      %z = arith.constant 0 : i32
      %p = tir.allocate "p" [8] : !tir.handle<i32>
      %B = tir.decl_buffer "B" %p : !tir.handle<i32> -> memref<16xi32>
      tir.store %z, %B[%n] : memref<16xi32>
    }
    """
    run(text, 7)
    with excluded(r"B\[8\] lies outside of the memory of B"):
        run(text, 8)


def test_an_allocation_whose_condition_is_false_has_no_elements() -> None:
    text = """
    tir.func @main("c" %c: i1) {
      %z = arith.constant 0 : i32
      %p = tir.allocate "p" [8] if %c : !tir.handle<i32>
      %B = tir.decl_buffer "B" %p : !tir.handle<i32> -> memref<8xi32>
      tir.store %z, %B[%z] : memref<8xi32>
    }
    """
    run(text, True)
    with excluded("lies outside of the memory"):
        run(text, False)


# What was never written


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


def test_reading_what_was_never_written_is_excluded() -> None:
    with excluded(r"tir.load: S\[7\] is read, but was never written"):
        run(HALF_FILLED, np.zeros(8, np.float32), 7)


def test_reading_what_was_all_written_is_allowed() -> None:
    out = np.zeros(8, np.float32)
    run(HALF_FILLED, out, 8)
    assert out.all()


def test_unchecked_programs_read_garbage() -> None:
    run(HALF_FILLED, np.zeros(8, np.float32), 0, check=False)


def test_a_buffer_forgets_what_it_held_when_its_block_is_entered_again() -> None:
    text = """
    tir.func @main("A" %A: memref<2xi32>) {
      tir.for serial "i" %i : i32 in [0 +: 2] {
        %z = arith.constant 0 : i32
        %s = tir.alloc_buffer "S" : memref<1xi32>
        %first = arith.cmpi eq, %i, %z : i32
        tir.if %first {
          tir.store %i, %s[%z] : memref<1xi32>
        }
        %x = tir.load %s[%z] : memref<1xi32>
        tir.store %x, %A[%i] : memref<2xi32>
      }
    }
    """
    with excluded(r"S\[0\] is read, but was never written"):
        run(text, np.zeros(2, np.int32))


def test_outputs_can_be_taken_as_never_written() -> None:
    text = """
    tir.func @main("A" %A: memref<4xi32>) {
      %z = arith.constant 0 : i32
      %x = tir.load %A[%z] : memref<4xi32>
    }
    """
    run(text, np.zeros(4, np.int32))
    with excluded(r"A\[0\] is read, but was never written"):
        run(text, np.zeros(4, np.int32), uninitialized=["A"])


def test_what_was_written_is_known_through_elements_of_another_size() -> None:
    text = """
    tir.func @main("A" %A: memref<1xi32>, "n" %n: i32) {
      %p = tir.allocate "p" [1] : !tir.handle<i32>
      %W = tir.decl_buffer "W" %p : !tir.handle<i32> -> memref<1xi32>
      %B = tir.decl_buffer "B" %p : !tir.handle<i32> -> memref<4xi8>
      tir.for serial "i" %i : i32 in [0 +: %n] {
        %b = tir.cast %i : i32 -> i8
        tir.store %b, %B[%i] : memref<4xi8>
      }
      %z = arith.constant 0 : i32
      %w = tir.load %W[%z] : memref<1xi32>
      tir.store %w, %A[%z] : memref<1xi32>
    }
    """
    array = np.zeros(1, np.int32)
    run(text, array, 4)
    assert array[0] == 0x03020100
    with excluded(r"W\[0\] is read, but was never written"):
        run(text, array, 3)


# Arithmetic


def _binary(op: str, type: str = "i32") -> str:
    return f"""
    tir.func @main("a" %a: {type}, "b" %b: {type}) -> {type} {{
      %r = {op} %a, %b : {type}
      tir.return %r : {type}
    }}
    """


DIVISIONS = ["arith.floordivsi", "tir.floormod", "arith.divsi", "arith.remsi"]


@pytest.mark.parametrize("op", DIVISIONS)
def test_a_division_by_zero_is_excluded(op: str) -> None:
    with excluded("division by zero"):
        run(_binary(op), 3, 0)


@pytest.mark.parametrize(("op", "expected"), [*zip(DIVISIONS, (-(2**31), 0, -(2**31), 0), strict=True)])
def test_the_smallest_number_divided_by_minus_one_wraps(op: str, expected: int) -> None:
    assert run(_binary(op), -(2**31), -1) == expected


def test_an_unsigned_division_by_zero_is_excluded() -> None:
    assert run(_binary("arith.divui", "ui8"), 200, 3) == 66
    with excluded("division by zero"):
        run(_binary("arith.divui", "ui8"), 200, 0)


@pytest.mark.parametrize("op", ["arith.shli", "arith.shrsi"])
@pytest.mark.parametrize("amount", [-1, 32])
def test_a_shift_beyond_the_width_is_excluded(op: str, amount: int) -> None:
    with excluded("shift amount out of range"):
        run(_binary(op), 1, amount)


def test_a_shift_by_all_but_one_bit_is_allowed() -> None:
    assert run(_binary("arith.shli"), 1, 31) == -(2**31)
    assert run(_binary("arith.shrsi"), -1, 31) == -1


def test_an_excluded_lane_of_a_vector_is_found() -> None:
    text = """
    tir.func @main("A" %A: memref<4xi32>) {
      %z = arith.constant 0 : i32
      %one = arith.constant 1 : i32
      %r = tir.ramp %z, %one : vector<4xi32>
      %x = tir.load %A[%r : vector<4xi32>] : memref<4xi32>
      %q = arith.divsi %r, %x : vector<4xi32>
      tir.store %q, %A[%r : vector<4xi32>] : memref<4xi32>
    }
    """
    run(text, np.ones(4, np.int32))
    with excluded("division by zero"):
        run(text, np.array([1, 1, 0, 1], np.int32))


def test_a_division_that_is_not_chosen_is_not_computed() -> None:
    text = """
    tir.func @main("a" %a: i32, "b" %b: i32) -> i32 {
      %z = arith.constant 0 : i32
      %c = arith.cmpi ne, %b, %z : i32
      %r = tir.if_then_else %c {
        %q = arith.divsi %a, %b : i32
        tir.yield %q : i32
      } else {
        tir.yield %z : i32
      } : i32
      tir.return %r : i32
    }
    """
    assert run(text, 7, 2) == 3
    assert run(text, 7, 0) == 0


# Constants, overlap, endless loops


def test_writing_a_constant_is_excluded() -> None:
    text = """
    tir.func @main("c" %c: i1) -> i32 {
      %z = arith.constant 0 : i32
      %w = tir.allocate_const "w" dense<[1, 2, 3]> : tensor<3xi32> : !tir.handle<i32>
      %W = tir.decl_buffer "W" %w : !tir.handle<i32> -> memref<3xi32>
      tir.if %c {
        tir.store %z, %W[%z] : memref<3xi32>
      }
      %two = arith.constant 2 : i32
      %x = tir.load %W[%two] : memref<3xi32>
      tir.return %x : i32
    }
    """
    assert run(text, False) == 3
    with excluded("W is constant, but is written"):
        run(text, True)


def test_writing_a_constant_in_a_called_function_is_excluded() -> None:
    text = """
    tir.func @main() {
      %w = tir.allocate_const "w" dense<[1, 2, 3]> : tensor<3xi32> : !tir.handle<i32>
      tir.call @clear(%w) : !tir.handle<i32>
    }
    tir.func @clear("B" %B: memref<3xi32>) {
      %z = arith.constant 0 : i32
      tir.store %z, %B[%z] : memref<3xi32>
    }
    """
    with excluded("read-only"):
        run(text)


OVERLAPPING = """
tir.func @main("A" %A: memref<8xi32>) {
  %lo = tir.match_region "L" %A[0 +: 4] : memref<8xi32> -> memref<4xi32, strided<[1], offset: 0>>
  %hi = tir.match_region "H" %A[START +: 4] : memref<8xi32> -> memref<4xi32, strided<[1], offset: 0>>
  tir.call @copy(%lo, %hi) : memref<4xi32, strided<[1], offset: 0>>, memref<4xi32, strided<[1], offset: 0>>
}
tir.func @copy("X" %X: memref<4xi32, strided<[1], offset: 0>>, "Y" %Y: memref<4xi32, strided<[1], offset: 0>>)
    attrs {tir.noalias = true} {
  tir.for serial "i" %i : i32 in [0 +: 4] {
    %x = tir.load %X[%i] : memref<4xi32, strided<[1], offset: 0>>
    tir.store %x, %Y[%i] : memref<4xi32, strided<[1], offset: 0>>
  }
}
"""


def test_overlapping_buffers_of_a_call_are_excluded_where_the_callee_promises_there_are_none() -> None:
    array = np.arange(8, dtype=np.int32)
    run(OVERLAPPING.replace("START", "4"), array)
    assert list(array) == [0, 1, 2, 3, 0, 1, 2, 3]
    with excluded("copy promises that its buffers do not overlap, but X and Y do"):
        run(OVERLAPPING.replace("START", "3"), array)
    run(OVERLAPPING.replace("START", "3").replace("attrs {tir.noalias = true} ", ""), array)


def test_overlapping_arguments_are_refused_where_the_function_promises_there_are_none() -> None:
    text = """
    tir.func @main("A" %A: memref<4xi32>, "B" %B: memref<4xi32>) attrs {tir.noalias = true} {
      %z = arith.constant 0 : i32
      tir.store %z, %B[%z] : memref<4xi32>
    }
    """
    array = np.zeros(7, np.int32)
    with pytest.raises(ArgumentError, match="must not overlap"):
        run(text, array[:4], array[3:])


WHILE = """
tir.func @main("A" %A: memref<1xi32>, "n" %n: i32) {
  %z = arith.constant 0 : i32
  tir.while {
    %x = tir.load %A[%z] : memref<1xi32>
    %c = arith.cmpi ne, %x, %n : i32
    tir.yield %c : i1
  } do {
    %one = arith.constant 1 : i32
    %y = tir.load %A[%z] : memref<1xi32>
    %next = arith.addi %y, %one : i32
    tir.store %next, %A[%z] : memref<1xi32>
  }
}
"""


def test_a_while_runs_until_its_condition_is_false() -> None:
    array = np.zeros(1, np.int32)
    run(WHILE, array, 10)
    assert array[0] == 10


def test_an_endless_while_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(oracle_checks, "MAX_ROUNDS", 1000)
    with excluded("while does not end: gave up after 1000 rounds"):
        run(WHILE, np.zeros(1, np.int32), -1)


def test_a_loop_with_a_step_that_is_not_positive_is_excluded() -> None:
    text = """
    tir.func @main("A" %A: memref<8xi32>, "s" %s: i32) {
      tir.for serial "i" %i : i32 in [0 +: 8] step %s {
        tir.store %i, %A[%i] : memref<8xi32>
      }
    }
    """
    array = np.zeros(8, np.int32)
    run(text, array, 3)
    assert list(array) == [0, 0, 0, 3, 0, 0, 6, 0]
    with excluded("the step of a loop is not positive"):
        run(text, array, 0)


# Races


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
    with excluded(r"race on S\[0\]: iteration 1 reads what iteration 0 wrote"):
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


# What is trapped


def test_a_failed_assert_raises_its_message() -> None:
    text = """
    tir.func @main("n" %n: i32) {
      %z = arith.constant 0 : i32
      %c = arith.cmpi sgt, %n, %z : i32
      tir.assert %c, "n must be positive"
    }
    """
    run(text, 1)
    with pytest.raises(ExecutionError, match="n must be positive") as raised:
        run(text, 0)
    assert not isinstance(raised.value, UndefinedBehaviorError)


def test_an_unchecked_program_does_not_record_anything() -> None:
    source = compile_oracle(parse_mlir(_loops("parallel", WRITE_WRITE)), check=False).source("python")
    assert "races" not in source
    assert "out_of_bounds" not in source


AXIS = """
@T.prim_func
def main(A: T.Buffer((16,), "float32"), n: T.int32):
    for i in range(9):
        with T.block("A"):
            vi = T.axis.spatial({}, i)
            T.where({})
            A[vi] = T.float32(0)
"""


@pytest.mark.parametrize("domain", ["8", "n", "(1, 9)"])
def test_an_axis_outside_of_its_domain_is_excluded(domain: str) -> None:
    with excluded("block A: axis vi is outside of its domain"):
        run_oracle(parse_tvmscript(AXIS.format(domain, "i < 10")), "main", [np.zeros(16, np.float32), 8])


@pytest.mark.parametrize(("domain", "predicate"), [("8", "i < 8"), ("n", "i < n"), ("(1, 9)", "1 <= i and i < n")])
def test_an_axis_may_leave_its_domain_where_the_predicate_is_false(domain: str, predicate: str) -> None:
    run_oracle(parse_tvmscript(AXIS.format(domain, predicate)), "main", [np.zeros(16, np.float32), 8])


def test_a_block_that_never_runs_may_say_anything_of_its_axis() -> None:
    text = AXIS.format("8", "i < 0").replace("range(9)", "range(20, 24)").replace("A[vi]", "A[T.shift_left(1, vi)]")
    run_oracle(parse_tvmscript(text), "main", [np.zeros(16, np.float32), 8])

"""Undefined behaviour is detected, with its line; similar defined behaviour runs."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from stepwell.backends.oracle import checks as oracle_checks
from stepwell.core.errors import ArgumentError, ExecutionError, UndefinedBehaviorError
from stepwell.frontends.tvmscript import parse_tvmscript

Run = Callable[..., Any]


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


def test_a_load_past_the_end_is_excluded(run_checked: Run) -> None:
    with excluded(r":5:5: error: tir.load: A\[8\] is out of bounds: index 8 of dimension 0, expected 0 <= index < 8"):
        run_checked(SHIFTED, np.zeros(8, np.int32), np.zeros(8, np.int32), 5)


def test_a_load_before_the_start_is_excluded(run_checked: Run) -> None:
    with excluded(r"A\[-1\] is out of bounds"):
        run_checked(SHIFTED, np.zeros(8, np.int32), np.zeros(8, np.int32), -1)


def test_a_load_of_the_last_element_is_allowed(run_checked: Run) -> None:
    out = np.zeros(8, np.int32)
    run_checked(SHIFTED, np.arange(8, dtype=np.int32), out, 4)
    assert list(out[:4]) == [4, 5, 6, 7]


def test_what_only_says_what_a_block_reads_is_not_computed(run_checked: Run) -> None:
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
    run_checked(text, np.arange(4, dtype=np.int32), np.array([3, 2, 1, 0], np.int32), out)
    assert list(out) == [3, 2, 1, 0, 7]


def test_an_index_beyond_one_dimension_is_excluded_inside_of_the_memory_too(run_checked: Run) -> None:
    text = """
    tir.func @main("A" %A: memref<4x8xi32>, "j" %j: i32) {
      %z = arith.constant 0 : i32
      tir.store %z, %A[%z, %j] : memref<4x8xi32>
    }
    """
    run_checked(text, np.zeros((4, 8), np.int32), 7)
    with excluded(r"tir.store: A\[0, 8\] is out of bounds: index 8 of dimension 1"):
        run_checked(text, np.zeros((4, 8), np.int32), 8)


def test_a_fault_names_the_line_of_the_program(run_checked: Run) -> None:
    module = parse_tvmscript(
        "@T.prim_func\ndef main(A: T.Buffer((4,), 'int32'), n: T.int32):\n    A[n] = 1\n", filename="kernel.py"
    )
    with excluded(r"^kernel.py:3:\d+: error: tir.store: A\[4\] is out of bounds"):
        run_checked(module, np.zeros(4, np.int32), 4)


def test_every_lane_of_a_vector_access_is_checked(run_checked: Run) -> None:
    text = """
    tir.func @main("A" %A: memref<8xi32>, "o" %o: i32) {
      %one = arith.constant 1 : i32
      %r = tir.ramp %o, %one : vector<4xi32>
      %x = tir.load %A[%r : vector<4xi32>] : memref<8xi32>
      tir.store %x, %A[%r : vector<4xi32>] : memref<8xi32>
    }
    """
    run_checked(text, np.zeros(8, np.int32), 4)
    with excluded(r"A\[8\] is out of bounds"):
        run_checked(text, np.zeros(8, np.int32), 5)


def test_a_lane_whose_predicate_is_false_is_not_touched(run_checked: Run) -> None:
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
    run_checked(text, array)
    assert list(array) == [0, 1, 2, 3, 4, 5, 7, 8]


def test_a_region_that_reaches_over_the_edge_is_excluded_where_it_is_touched(run_checked: Run) -> None:
    text = """
    tir.func @main("A" %A: memref<10xi32>, "o" %o: i32, "n" %n: i32) {
      %z = arith.constant 0 : i32
      %v = tir.match_region "V" %A[%o +: 4] : memref<10xi32> -> memref<4xi32>
      tir.store %z, %v[%n] : memref<4xi32>
    }
    """
    run_checked(text, np.zeros(10, np.int32), 8, 1)
    with excluded(r"A\[10\] is out of bounds"):
        run_checked(text, np.zeros(10, np.int32), 8, 2)
    with excluded(r"V\[4\] is out of bounds"):
        run_checked(text, np.zeros(10, np.int32), 0, 4)


def test_a_declared_buffer_must_stay_inside_of_its_memory(run_checked: Run) -> None:
    text = """
    tir.func @main("n" %n: i32) {
      %z = arith.constant 0 : i32
      %p = tir.allocate "p" [8] : !tir.handle<i32>
      %B = tir.decl_buffer "B" %p : !tir.handle<i32> -> memref<16xi32>
      tir.store %z, %B[%n] : memref<16xi32>
    }
    """
    run_checked(text, 7)
    with excluded(r"B\[8\] lies outside of the memory of B"):
        run_checked(text, 8)


def test_an_allocation_whose_condition_is_false_has_no_elements(run_checked: Run) -> None:
    text = """
    tir.func @main("c" %c: i1) {
      %z = arith.constant 0 : i32
      %p = tir.allocate "p" [8] if %c : !tir.handle<i32>
      %B = tir.decl_buffer "B" %p : !tir.handle<i32> -> memref<8xi32>
      tir.store %z, %B[%z] : memref<8xi32>
    }
    """
    run_checked(text, True)
    with excluded("lies outside of the memory"):
        run_checked(text, False)


# Uninitialized elements


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


def test_reading_what_was_never_written_is_excluded(run_checked: Run) -> None:
    with excluded(r"tir.load: S\[7\] is read, but was never written"):
        run_checked(HALF_FILLED, np.zeros(8, np.float32), 7)


def test_reading_what_was_all_written_is_allowed(run_checked: Run) -> None:
    out = np.zeros(8, np.float32)
    run_checked(HALF_FILLED, out, 8)
    assert out.all()


def test_a_buffer_forgets_what_it_held_when_its_block_is_entered_again(run_checked: Run) -> None:
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
        run_checked(text, np.zeros(2, np.int32))


def test_outputs_can_be_taken_as_never_written(run: Run) -> None:
    text = """
    tir.func @main("A" %A: memref<4xi32>) {
      %z = arith.constant 0 : i32
      %x = tir.load %A[%z] : memref<4xi32>
    }
    """
    run(text, np.zeros(4, np.int32))
    with excluded(r"A\[0\] is read, but was never written"):
        run(text, np.zeros(4, np.int32), uninitialized=["A"])


def test_what_was_written_is_known_through_elements_of_another_size(run_checked: Run) -> None:
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
    run_checked(text, array, 4)
    assert array[0] == 0x03020100
    with excluded(r"W\[0\] is read, but was never written"):
        run_checked(text, array, 3)


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
def test_a_division_by_zero_is_excluded(run_checked: Run, op: str) -> None:
    with excluded("division by zero"):
        run_checked(_binary(op), 3, 0)


@pytest.mark.parametrize(("op", "expected"), [*zip(DIVISIONS, (-(2**31), 0, -(2**31), 0), strict=True)])
def test_the_smallest_number_divided_by_minus_one_wraps(run_checked: Run, op: str, expected: int) -> None:
    assert run_checked(_binary(op), -(2**31), -1) == expected


def test_an_unsigned_division_by_zero_is_excluded(run_checked: Run) -> None:
    assert run_checked(_binary("arith.divui", "ui8"), 200, 3) == 66
    with excluded("division by zero"):
        run_checked(_binary("arith.divui", "ui8"), 200, 0)


@pytest.mark.parametrize("op", ["arith.shli", "arith.shrsi"])
@pytest.mark.parametrize("amount", [-1, 32])
def test_a_shift_beyond_the_width_is_excluded(run_checked: Run, op: str, amount: int) -> None:
    with excluded("shift amount out of range"):
        run_checked(_binary(op), 1, amount)


def test_a_shift_by_all_but_one_bit_is_allowed(run_checked: Run) -> None:
    assert run_checked(_binary("arith.shli"), 1, 31) == -(2**31)
    assert run_checked(_binary("arith.shrsi"), -1, 31) == -1


@pytest.mark.parametrize("amount", [-1, 40])
def test_a_constant_shift_beyond_the_width_is_not_computed_where_an_and_decides_before_it(
    run_checked: Run, amount: int
) -> None:
    text = f"""
    @T.prim_func
    def main(a: T.bool, x: T.int32, B: T.Buffer((1,), "int32")):
        if a and (x << {amount}) > 0:
            B[0] = 1
        else:
            B[0] = 2
    """
    out = np.zeros(1, np.int32)
    run_checked(text, False, 3, out)
    assert list(out) == [2]
    with excluded("shift amount out of range"):
        run_checked(text, True, 3, out)


def test_an_excluded_lane_of_a_vector_is_found(run_checked: Run) -> None:
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
    run_checked(text, np.ones(4, np.int32))
    with excluded("division by zero"):
        run_checked(text, np.array([1, 1, 0, 1], np.int32))


def test_a_division_that_is_not_chosen_is_not_computed(run_checked: Run) -> None:
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
    assert run_checked(text, 7, 2) == 3
    assert run_checked(text, 7, 0) == 0


# Constants, overlap, endless loops


def test_writing_a_constant_is_excluded(run_checked: Run) -> None:
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
    assert run_checked(text, False) == 3
    with excluded("W is constant, but is written"):
        run_checked(text, True)


def test_writing_a_constant_in_a_called_function_is_excluded(run: Run) -> None:
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
    with excluded("read-only|is constant"):
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


def test_overlapping_buffers_of_a_call_are_excluded_where_the_callee_promises_there_are_none(run: Run) -> None:
    array = np.arange(8, dtype=np.int32)
    run(OVERLAPPING.replace("START", "4"), array)
    assert list(array) == [0, 1, 2, 3, 0, 1, 2, 3]
    with excluded("copy promises that its buffers do not overlap, but X and Y do"):
        run(OVERLAPPING.replace("START", "3"), array)
    run(OVERLAPPING.replace("START", "3").replace("attrs {tir.noalias = true} ", ""), array)


def test_overlapping_arguments_are_refused_where_the_function_promises_there_are_none(run_checked: Run) -> None:
    text = """
    tir.func @main("A" %A: memref<4xi32>, "B" %B: memref<4xi32>) attrs {tir.noalias = true} {
      %z = arith.constant 0 : i32
      tir.store %z, %B[%z] : memref<4xi32>
    }
    """
    array = np.zeros(7, np.int32)
    with pytest.raises(ArgumentError, match="must not overlap"):
        run_checked(text, array[:4], array[3:])


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


def test_a_while_runs_until_its_condition_is_false(run_checked: Run) -> None:
    array = np.zeros(1, np.int32)
    run_checked(WHILE, array, 10)
    assert array[0] == 10


def test_an_endless_while_is_given_up(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(oracle_checks, "MAX_ROUNDS", 1000)
    with excluded("while does not end: gave up after 1000 rounds"):
        run(WHILE, np.zeros(1, np.int32), -1)


def test_a_loop_with_a_step_that_is_not_positive_is_excluded(run_checked: Run) -> None:
    text = """
    tir.func @main("A" %A: memref<8xi32>, "s" %s: i32) {
      tir.for serial "i" %i : i32 in [0 +: 8] step %s {
        tir.store %i, %A[%i] : memref<8xi32>
      }
    }
    """
    array = np.zeros(8, np.int32)
    run_checked(text, array, 3)
    assert list(array) == [0, 0, 0, 3, 0, 0, 6, 0]
    with excluded("the step of a loop is not positive"):
        run_checked(text, array, 0)


# Traps


def test_a_failed_assert_raises_its_message(run_checked: Run) -> None:
    text = """
    tir.func @main("n" %n: i32) {
      %z = arith.constant 0 : i32
      %c = arith.cmpi sgt, %n, %z : i32
      tir.assert %c, "n must be positive"
    }
    """
    run_checked(text, 1)
    with pytest.raises(ExecutionError, match="n must be positive") as raised:
        run_checked(text, 0)
    assert not isinstance(raised.value, UndefinedBehaviorError)


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
def test_an_axis_outside_of_its_domain_is_excluded(run_checked: Run, domain: str) -> None:
    with excluded("block A: axis vi is outside of its domain"):
        run_checked(parse_tvmscript(AXIS.format(domain, "i < 10")), np.zeros(16, np.float32), 8)


@pytest.mark.parametrize(("domain", "predicate"), [("8", "i < 8"), ("n", "i < n"), ("(1, 9)", "1 <= i and i < n")])
def test_an_axis_may_leave_its_domain_where_the_predicate_is_false(
    run_checked: Run, domain: str, predicate: str
) -> None:
    run_checked(parse_tvmscript(AXIS.format(domain, predicate)), np.zeros(16, np.float32), 8)


def test_a_block_that_never_runs_may_say_anything_of_its_axis(run_checked: Run) -> None:
    text = AXIS.format("8", "i < 0").replace("range(9)", "range(20, 24)").replace("A[vi]", "A[T.shift_left(1, vi)]")
    run_checked(parse_tvmscript(text), np.zeros(16, np.float32), 8)

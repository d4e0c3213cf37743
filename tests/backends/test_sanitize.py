"""Sanitized native code stops at undefined behaviour, with the message of the oracle where the oracle has one."""

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import stepwell
from stepwell import (
    ExecutionError,
    GraphExecutor,
    UndefinedBehaviorError,
    UnsupportedError,
    build,
    build_graph,
    parse_tvmscript,
    relay,
)
from stepwell.backends.oracle import run_oracle
from stepwell.backends.runtime import Program
from stepwell.frontends.mlir import parse_mlir
from stepwell.module import Module

I32_MAX, I64_MAX = 2**31 - 1, 2**63 - 1


def parsed(text: str) -> Module:
    module = parse_tvmscript(text, filename="k.py") if "T.prim_func" in text else parse_mlir(text)
    module.verify()
    return module


def message_of(text: str, *arguments: Any) -> str | None:
    """The message of sanitized native code, None if it runs."""
    try:
        build(parsed(text), sanitize=True)["main"](*arguments)
    except UndefinedBehaviorError as error:
        return str(error)
    return None


def in_oracle(text: str, *arguments: Any) -> str | None:
    try:
        run_oracle(parsed(text), "main", arguments)
    except UndefinedBehaviorError as error:
        return str(error)
    return None


# Bounds

ROWS = """
@T.prim_func
def main(A: T.Buffer((4, 8), "float32"), B: T.Buffer((32,), "float32"), n: T.int32):
    for i in {loop}:
        B[i] = A[1, i]
"""


@pytest.mark.parametrize("loop", ["range(n)", "T.unroll(9)", "T.vectorized(9)", "T.parallel(9)"])
def test_an_index_past_a_row_names_buffer_dimension_index_extent_and_line(loop: str) -> None:
    arguments = np.zeros((4, 8), np.float32), np.zeros(32, np.float32), 9
    expected = "k.py:5:16: error: tir.load: A[1, 8] is out of bounds: index 8 of dimension 1, expected 0 <= index < 8"
    assert message_of(ROWS.format(loop=loop), *arguments) == expected == in_oracle(ROWS.format(loop=loop), *arguments)


def test_a_symbolic_extent_is_named_by_its_value() -> None:
    text = """
@T.prim_func
def main(a: T.handle, o: T.int32):
    n = T.int32()
    A = T.match_buffer(a, (n, 4), "int32", strides=(8, 1))
    for i in range(n):
        A[i + o, 3] = i
"""
    rows = np.zeros((6, 8), np.int32)[:, :4]
    assert message_of(text, rows, 0) is None
    assert message_of(text, rows, 2) == (
        "k.py:7:9: error: tir.store: A[6, 3] is out of bounds: index 6 of dimension 0, expected 0 <= index < 6"
    )


def test_a_lane_out_of_bounds_is_checked_where_its_predicate_holds() -> None:
    text = """
    tir.func @main("A" %A: memref<8xi32>, "n" %n: i32) {
      %o = arith.constant 6 : i32
      %one = arith.constant 1 : i32
      %r = tir.ramp %o, %one : vector<4xi32>
      %ends = vector.broadcast %n : i32 to vector<4xi32>
      %p = arith.cmpi slt, %r, %ends : vector<4xi32>
      %x = tir.load %A[%r : vector<4xi32>] if %p : vector<4xi1> : memref<8xi32>
      tir.store %x, %A[%r : vector<4xi32>] if %p : vector<4xi1> : memref<8xi32>
    }
    """
    assert message_of(text, np.zeros(8, np.int32), 8) is None
    for n in (9, 10):
        assert message_of(text, np.zeros(8, np.int32), n) == in_oracle(text, np.zeros(8, np.int32), n)


def test_a_lazily_evaluated_load_is_checked_where_it_is_evaluated() -> None:
    text = """
@T.prim_func
def main(A: T.Buffer((8,), "int32"), B: T.Buffer((8,), "int32"), n: T.int32):
    for i in range(8):
        if i < n and A[A[i] + n] > 0:
            B[i] = T.if_then_else(i + 1 < n, A[i + n], 7)
"""
    assert message_of(text, np.zeros(8, np.int32), np.zeros(8, np.int32), 0) is None
    messages: list[str | None] = []
    for n in (4, 5, 7, 8):
        arguments = [np.ones(8, np.int32), np.zeros(8, np.int32), n]
        messages.append(message_of(text, *arguments))
        assert messages[-1] == in_oracle(text, *arguments)
    assert messages == [
        None,
        "k.py:6:46: error: tir.load: A[8] is out of bounds: index 8 of dimension 0, expected 0 <= index < 8",
        "k.py:5:22: error: tir.load: A[8] is out of bounds: index 8 of dimension 0, expected 0 <= index < 8",
        "k.py:5:22: error: tir.load: A[9] is out of bounds: index 9 of dimension 0, expected 0 <= index < 8",
    ]


def test_the_condition_of_a_while_is_checked_each_time() -> None:
    text = """
@T.prim_func
def main(A: T.Buffer((4,), "int32"), B: T.Buffer((1,), "int32")):
    B[0] = 0
    while A[B[0]] < 1:
        B[0] = B[0] + 1
"""
    assert message_of(text, np.array([0, 0, 1, 0], np.int32), np.zeros(1, np.int32)) is None
    assert message_of(text, np.zeros(4, np.int32), np.zeros(1, np.int32)) == (
        "k.py:5:11: error: tir.load: A[4] is out of bounds: index 4 of dimension 0, expected 0 <= index < 4"
    )


def test_an_atomic_operation_is_checked() -> None:
    text = """
@T.prim_func
def main(A: T.Buffer((4,), "int32"), n: T.int32):
    T.evaluate(T.call_extern("int32", "atomicAdd", T.address_of(A[n]), 3))
"""
    array = np.zeros(4, np.int32)
    assert message_of(text, array, 3) is None
    assert array[3] == 3
    assert message_of(text, array, 4) == (
        "k.py:4:16: error: tir.call_extern: A[4] is out of bounds: index 4 of dimension 0, expected 0 <= index < 4"
    )


# Elements that were never written


def test_memory_of_each_iteration_of_a_parallel_loop_starts_unwritten() -> None:
    text = """
@T.prim_func
def main(A: T.Buffer((4,), "int32")):
    S = T.alloc_buffer((4,), "int32")
    for i in T.{kind}(4):
        if i == 0:
            for j in range(4):
                S[j] = j
        A[i] = S[i]
"""
    parallel, serial = (text.format(kind=kind) for kind in ("parallel", "serial"))
    assert message_of(serial, np.zeros(4, np.int32)) is None
    expected = "k.py:9:16: error: tir.load: S[1] is read, but was never written"
    assert message_of(parallel, np.zeros(4, np.int32)) == expected


def test_a_call_counts_as_a_write_of_the_memory_that_it_gets() -> None:
    text = """
@T.prim_func
def main(A: T.Buffer((4,), "int32"), n: T.int32):
    S = T.alloc_buffer((4,), "int32")
    if n > 0:
        T.call_packed("test.fill", S)
    A[0] = S[3]
"""
    stepwell.register_func("test.fill", lambda array: array.fill(5), override=True)
    array = np.zeros(4, np.int32)
    assert message_of(text, array, 1) is None
    assert array[0] == 5
    assert message_of(text, array, 0) == "k.py:7:12: error: tir.load: S[3] is read, but was never written"


# Arithmetic

SUM = """
tir.func @main("A" %A: memref<8xi32>, "a" %a: {type}, "b" %b: {type}) {{
  %i = {op} %a, %b : {type}
  %x = tir.load %A[%i : {type}] : memref<8xi32>
  tir.store %x, %A[%i : {type}] : memref<8xi32>
}}
"""


@pytest.mark.parametrize(
    ("op", "type", "a", "b", "sign"),
    [
        ("arith.addi", "i32", I32_MAX, 2, "+"),
        ("arith.subi", "i32", -2, I32_MAX, "-"),
        ("arith.muli", "i32", 2**16, 2**16, "*"),
        ("arith.addi", "i64", I64_MAX, 1, "+"),
        ("arith.subi", "i64", -2, I64_MAX, "-"),
        ("arith.muli", "i64", 2**32, 2**32, "*"),
        ("arith.muli", "i64", -1, -I64_MAX - 1, "*"),
        ("arith.muli", "i64", -I64_MAX - 1, -1, "*"),
        ("arith.floordivsi", "i32", -I32_MAX - 1, -1, "/"),
        ("arith.divsi", "i64", -I64_MAX - 1, -1, "/"),
    ],
)
def test_overflow_in_an_index_is_found(op: str, type: str, a: int, b: int, sign: str) -> None:
    array, text = np.zeros(8, np.int32), SUM.format(op=op, type=type)
    dtype = "int32" if type == "i32" else "int64"
    expected = f"<string>:3:3: error: {op}: {a} {sign} {b} overflows {dtype} in the computation of an index"
    assert message_of(text, array, a, b) == expected
    assert message_of(text, array, *((6, 2) if sign == "/" else (3, 2))) is None
    assert message_of(text, array, 0, 5 if sign in "+*" else 1 if sign == "/" else 0) is None


def test_overflow_in_a_quotient_by_a_constant_is_found() -> None:
    text = """
    tir.func @main("A" %A: memref<8xi32>, "a" %a: i64) {
      %b = arith.constant -1 : i64
      %i = arith.divsi %a, %b : i64
      %x = tir.load %A[%i : i64] : memref<8xi32>
      tir.store %x, %A[%i : i64] : memref<8xi32>
    }
    """
    array, smallest = np.zeros(8, np.int32), -I64_MAX - 1
    expected = f"<string>:4:7: error: arith.divsi: {smallest} / -1 overflows int64 in the computation of an index"
    assert message_of(text, array, smallest) == expected
    assert message_of(text, array, -3) is None


def test_a_wrapped_size_of_an_allocation_is_found() -> None:
    text = """
@T.prim_func
def main(n: T.int32):
    S = T.alloc_buffer((n * n,), "int8")
    S[0] = T.int8(1)
"""
    assert message_of(text, 65536) == (
        "k.py:4:27: error: arith.muli: 65536 * 65536 overflows int32 in the computation of an index"
    )


def test_arithmetic_may_wrap_outside_of_indices_and_before_a_remainder() -> None:
    text = """
@T.prim_func
def main(A: T.Buffer((8,), "int32"), n: T.int32):
    A[(n * 2654435) % 8] = n * n
"""
    assert message_of(text, np.zeros(8, np.int32), 2**30) is None


@pytest.mark.parametrize("amount", [-1, 32])
def test_a_shift_out_of_range_names_its_line(amount: int) -> None:
    text = """
@T.prim_func
def main(A: T.Buffer((1,), "int32"), n: T.int32):
    A[0] = T.shift_left(1, n)
"""
    assert message_of(text, np.zeros(1, np.int32), amount) == (
        "k.py:4:12: error: arith.shli: shift amount out of range"
    )


def test_a_false_assumption_is_found() -> None:
    text = """
@T.prim_func
def main(A: T.Buffer((8,), "int32"), n: T.int32):
    T.assume(n < 8)
    A[n] = 1
"""
    assert message_of(text, np.zeros(8, np.int32), 7) is None
    assert message_of(text, np.zeros(8, np.int32), 8) == (
        "k.py:4:5: error: tir.call_intrin: the assumed condition is false"
    )


# Pointers

VIEW = """
tir.func @main("A" %A: memref<16xi8>, "o" %o: i32) {
  %z = arith.constant 0 : i32
  %p = tir.address_of %A[%o] : memref<16xi8> -> !tir.handle<i8>
  %B = tir.decl_buffer "B" %p : !tir.handle<i8> -> memref<2xi32>
  tir.store %z, %B[%z] : memref<2xi32>
}
"""


def test_a_pointer_must_be_aligned_for_the_elements_of_its_buffer() -> None:
    array = np.zeros(8, np.int32).view(np.int8)[:16]
    assert message_of(VIEW, array, 4) is None
    found = message_of(VIEW, array, 3)
    assert found is not None
    assert found.startswith("<string>:5:3: error: tir.decl_buffer: B is looked at as int32 at address ")
    assert found.endswith(", which is not aligned")


def test_a_view_of_a_parameter_must_end_before_the_parameter() -> None:
    array = np.zeros(8, np.int32).view(np.int8)[:16]
    assert message_of(VIEW, array, 16) == "<string>:6:3: error: tir.store: B[0] lies outside of the memory of B"


def test_an_unaligned_view_of_an_allocation_is_named_by_its_byte() -> None:
    text = VIEW.replace('"A" %A: memref<16xi8>, ', "").replace(
        "  %p =", '  %A = tir.alloc_buffer "A" : memref<16xi8>\n  %p ='
    )
    assert message_of(text, 8) is None
    assert (
        message_of(text, 2)
        == "<string>:6:3: error: tir.decl_buffer: B is looked at as int32 at byte 2, which is not aligned"
    )


def test_a_null_pointer_is_found() -> None:
    text = """
    tir.func @main("p" %p: !tir.handle<i32>) {
      %z = arith.constant 0 : i32
      %B = tir.decl_buffer "B" %p : !tir.handle<i32> -> memref<2xi32>
      tir.store %z, %B[%z] : memref<2xi32>
    }
    """
    array = np.zeros(2, np.int32)
    assert message_of(text, array.ctypes.data) is None
    assert message_of(text, None) == "<string>:4:7: error: tir.decl_buffer: B looks behind a null pointer"


def test_the_range_of_a_derived_pointer_must_lie_in_its_memory() -> None:
    text = """
    tir.func @main("A" %A: memref<8xf32>, "o" %o: i32) {
      %n = arith.constant 4 : i32
      %d = tir.buffer_data %A : memref<8xf32> -> !tir.handle<f32>
      %p = tir.access_ptr %d[%o +: %n] access 3 : !tir.handle<f32> -> !tir.handle<f32>
      tir.call_packed "test.ignore"(%p) : !tir.handle<f32>
    }
    """
    stepwell.register_func("test.ignore", lambda pointer: None, override=True)
    assert message_of(text, np.zeros(8, np.float32), 4) is None
    assert message_of(text, np.zeros(8, np.float32), 5) == (
        "<string>:5:7: error: tir.access_ptr: 4 elements of 4 bytes from element 5 leave the memory, which has 32 bytes"
    )


BEHIND_OFFSET = """
tir.func @main("n" %n: i32, "i" %i: i32) {
  %d = tir.allocate "d" [16] : !tir.handle<i16>
  %p = tir.access_ptr %d[%n +: %i] access 3 : !tir.handle<i16> -> !tir.handle<i16>
  %B = tir.decl_buffer "B" %p : !tir.handle<i16> -> memref<8xi32>
  tir.store %n, %B[%i] : memref<8xi32>
}
"""


def test_the_memory_of_a_derived_pointer_ends_at_the_same_position() -> None:
    assert message_of(BEHIND_OFFSET, 6, 4) is None
    assert message_of(BEHIND_OFFSET, 6, 5) == "<string>:6:3: error: tir.store: B[5] lies outside of the memory of B"


def test_the_alignment_of_a_derived_pointer_is_that_of_its_offset() -> None:
    assert message_of(BEHIND_OFFSET, 2, 0) is None
    assert message_of(BEHIND_OFFSET, 3, 0) == (
        "<string>:5:3: error: tir.decl_buffer: B is looked at as int32 at byte 6, which is not aligned"
    )


# Programs


def run_in_threads(function: Callable[[int], None], count: int) -> None:
    threads = [threading.Thread(target=function, args=(n,)) for n in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def test_each_thread_gets_the_error_of_its_own_call() -> None:
    program = build(parsed(ROWS.format(loop="range(n, n + 1)")), sanitize=True)
    messages: dict[int, str] = {}

    def call(n: int) -> None:
        for _ in range(50):
            with pytest.raises(UndefinedBehaviorError) as raised:
                program(np.zeros((4, 8), np.float32), np.zeros(32, np.float32), 10 + n)
            messages[n] = str(raised.value)

    run_in_threads(call, 4)
    assert all(f"A[1, {10 + n}]" in messages[n] for n in range(4))


def test_a_saved_program_keeps_its_checks(path: Path) -> None:
    build(parsed(ROWS.format(loop="range(n)")), sanitize=True).export(path)
    with pytest.raises(UndefinedBehaviorError, match=r"A\[1, 8\] is out of bounds"):
        Program.load(path)(np.zeros((4, 8), np.float32), np.zeros(32, np.float32), 9)


def test_an_assertion_with_values_is_an_execution_error_of_the_call() -> None:
    text = """
@T.prim_func
def main(n: T.int32, x: T.float32):
    assert n < 3, ("RuntimeError", ["n is ", n, " and x is ", x])
"""
    with pytest.raises(ExecutionError) as raised:
        build(parsed(text))(3, 0.5)
    assert str(raised.value) == "main: assertion failed: n is 3 and x is 0.5 (called with n: int 3, x: float 0.5)"
    assert not isinstance(raised.value, UndefinedBehaviorError)


@pytest.mark.parametrize("target", ["cuda", "cuda-emulated"])
def test_a_gpu_is_refused(target: str) -> None:
    with pytest.raises(UnsupportedError, match=f"target {target} does not support sanitize, expected llvm"):
        build(parsed(ROWS.format(loop="range(n)")), target, sanitize=True)


def test_a_sanitized_graph_computes_the_same() -> None:
    x, w = relay.var("x", shape=(1, 3, 8, 8)), relay.var("w", shape=(4, 3, 3, 3))
    y = relay.nn.softmax(relay.nn.conv2d(x, w, padding=(1, 1)))
    module = relay.module(relay.Function(relay.free_vars(y), y))
    rng = np.random.default_rng(0)
    arrays = [rng.standard_normal(shape).astype(np.float32) for shape in ((1, 3, 8, 8), (4, 3, 3, 3))]
    results: list[Any] = []
    for sanitize in (False, True):
        executor = GraphExecutor(build_graph(module, sanitize=sanitize))
        executor.run(x=arrays[0], w=arrays[1])
        results.append(np.array(executor.get_output(0)))
    np.testing.assert_allclose(*results, rtol=1e-5)  # the default schedule of the convolution sums in another order


def test_an_index_that_a_graph_computes_is_checked() -> None:
    x, i = relay.var("x", shape=(4, 3)), relay.var("i", shape=(2,), dtype="int32")
    y = relay.take(x, i, axis=0, mode="fast")
    executor = GraphExecutor(build_graph(relay.module(relay.Function(relay.free_vars(y), y)), sanitize=True))
    executor.run(x=np.ones((4, 3), np.float32), i=np.array([0, 3], np.int32))
    with pytest.raises(UndefinedBehaviorError, match=r"\[4, 0\] is out of bounds: index 4 of dimension 0"):
        executor.run(x=np.ones((4, 3), np.float32), i=np.array([0, 4], np.int32))

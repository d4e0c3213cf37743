"""`tir-sanitize`: the checks that remain, their place, and shadows of views."""

from typing import Any

import numpy as np
import pytest

from stepwell.backends.oracle import run_oracle
from stepwell.backends.passes import apply_passes
from stepwell.core.errors import UndefinedBehaviorError, UnsupportedError
from stepwell.dialects.tir import AssertOp
from stepwell.frontends.mlir import parse_mlir
from stepwell.frontends.tvmscript import parse_tvmscript
from stepwell.module import Module


def sanitized(text: str) -> Module:
    module = parse_tvmscript(text, filename="k.py") if "T.prim_func" in text else parse_mlir(text)
    module.verify()
    checked = apply_passes(module, "tir-sanitize")
    checked.verify()
    again = parse_mlir(str(checked))
    assert str(again) == str(checked)
    return checked


def messages(module: Module) -> list[str]:
    return [op.message.data for op in module.op.walk() if isinstance(op, AssertOp)]


def fault(module: Module, *arguments: Any) -> str | None:
    try:
        run_oracle(module, "main", arguments)
    except UndefinedBehaviorError as error:
        return str(error)
    return None


@pytest.mark.parametrize("size", ["16", "n"])
def test_proved_indices_have_no_checks(size: str) -> None:
    text = f"""
@T.prim_func
def main(a: T.handle, b: T.handle, c: T.handle):
    n = T.int32()
    A = T.match_buffer(a, ({size}, {size}), "float32")
    B = T.match_buffer(b, ({size}, {size}), "float32")
    C = T.match_buffer(c, ({size}, {size}), "float32")
    for i, j, k in T.grid({size}, {size}, {size}):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = T.float32(0)
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]
"""
    assert messages(sanitized(text.replace("    n = T.int32()\n", "") if size == "16" else text)) == []


def test_a_condition_is_checked_once() -> None:
    text = """
@T.prim_func
def main(A: T.Buffer((8,), "float32"), n: T.int32):
    A[n] = A[n] + A[n]
"""
    assert len(messages(sanitized(text))) == 1


def test_expressions_that_nothing_evaluates_have_no_checks() -> None:
    text = """
@T.prim_func
def main(A: T.Buffer((8,), "int32"), n: T.int32):
    for i in range(8):
        with T.block("A"):
            vi = T.axis.spatial(8, i)
            T.reads(A[vi // n + A[n]])
            T.writes(A[vi])
            A[vi] = 1
"""
    assert messages(sanitized(text)) == []


def test_a_call_beside_a_checked_lazy_access_is_unsupported() -> None:
    text = """
    tir.func @main("A" %A: memref<8xi32>, "c" %c: i1) -> i32 {
      %z = arith.constant 0 : i32
      %x = tir.if_then_else %c {
        %i = tir.call_packed "f"() -> i32
        %y = tir.load %A[%i] : memref<8xi32>
        tir.yield %y : i32
      } else {
        tir.yield %z : i32
      } : i32
      tir.return %x : i32
    }
    """
    with pytest.raises(UnsupportedError, match="tir-sanitize does not support a call among lazily evaluated accesses"):
        sanitized(text)


def test_a_region_of_an_allocation_has_a_region_of_its_shadow() -> None:
    text = """
    tir.func @main("A" %A: memref<4xi32>, "n" %n: i32) {
      %S = tir.alloc_buffer "S" : memref<4x4xi32>
      %one = arith.constant 1 : i32
      %V = tir.match_region "V" %S[1, 0 +: 4] : memref<4x4xi32> -> memref<4xi32>
      tir.for serial "i" %i : i32 in [0 +: %n] {
        tir.store %i, %V[%i] : memref<4xi32>
      }
      tir.for serial "j" %j : i32 in [0 +: 4] {
        %x = tir.load %S[%one, %j] : memref<4x4xi32>
        tir.store %x, %A[%j] : memref<4xi32>
      }
    }
    """
    checked = sanitized(text)
    assert fault(checked, np.zeros(4, np.int32), 4) is None
    assert (
        fault(checked, np.zeros(4, np.int32), 3)
        == "<string>:10:9: error: tir.load: S[1, 3] is read, but was never written"
    )
    assert fault(checked, np.zeros(4, np.int32), 5) == (
        "<string>:7:9: error: tir.store: V[4] is out of bounds: index 4 of dimension 0, expected 0 <= index < 4"
    )


def test_the_bytes_of_an_element_are_recorded_apart_where_views_differ_in_size() -> None:
    text = """
    tir.func @main("A" %A: memref<2xi32>, "n" %n: i32) {
      %S = tir.alloc_buffer "S" : memref<2xi32>
      %d = tir.buffer_data %S : memref<2xi32> -> !tir.handle<i32>
      %four = arith.constant 4 : i32
      %p = tir.access_ptr %d[%four +: %four] access 3 : !tir.handle<i32> -> !tir.handle<i8>
      %B = tir.decl_buffer "B" %p : !tir.handle<i8> -> memref<4xi8>
      %zero = arith.constant 0 : i32
      tir.store %n, %S[%zero] : memref<2xi32>
      tir.for serial "i" %i : i32 in [0 +: %n] {
        %b = tir.cast %i : i32 -> i8
        tir.store %b, %B[%i] : memref<4xi8>
      }
      tir.for serial "j" %j : i32 in [0 +: 2] {
        %x = tir.load %S[%j] : memref<2xi32>
        tir.store %x, %A[%j] : memref<2xi32>
      }
    }
    """
    checked, array = sanitized(text), np.zeros(2, np.int32)
    assert fault(checked, array, 4) is None
    assert list(array) == [4, 0x03020100]
    assert fault(checked, array, 3) == "<string>:15:9: error: tir.load: S[1] is read, but was never written"


def test_a_pointer_into_unknown_memory_has_no_checks() -> None:
    text = """
    tir.func @main("p" %p: !tir.handle<i32>, "n" %n: i32) {
      %q = tir.access_ptr %p[%n +: %n] access 2 : !tir.handle<i32> -> !tir.handle<i32>
      tir.evaluate %q : !tir.handle<i32>
    }
    """
    assert messages(sanitized(text)) == []


def test_memory_that_escapes_has_no_shadow() -> None:
    text = """
    tir.func @main("A" %A: memref<1xi32>) {
      %S = tir.alloc_buffer "S" : memref<1xi32>
      %z = arith.constant 0 : i32
      %p = tir.buffer_data %S : memref<1xi32> -> !tir.handle<i32>
      %bits = tir.reinterpret %p : !tir.handle<i32> -> i64
      %x = tir.load %S[%z] : memref<1xi32>
      tir.store %x, %A[%z] : memref<1xi32>
      tir.evaluate %bits : i64
    }
    """
    assert messages(sanitized(text)) == []


def test_the_checked_program_is_tvmscript() -> None:
    text = """
@T.prim_func
def main(A: T.Buffer((8,), "int32"), n: T.int32):
    S = T.alloc_buffer((8,), "int32")
    S[n] = n
    while A[S[n]] < 3:
        A[S[n]] = T.if_then_else(n < 4, A[n + 1], A[S[n] // n])
"""
    script = sanitized(text).script()
    assert parse_tvmscript(script, filename="k.py").script() == script
    assert "assert S_written[n]" in script


def test_a_reduction_of_a_vectorized_loop_has_no_race_of_its_shadow() -> None:
    text = """
@T.prim_func
def main(A: T.Buffer((8,), "int32"), B: T.Buffer((1,), "int32")):
    S = T.alloc_buffer((2,), "int32")
    S[START] = 0
    for i in T.vectorized(8):
        S[1] = S[1] + A[i]
    B[0] = S[1]
"""
    total = np.zeros(1, "int32")
    run_oracle(sanitized(text.replace("START", "1")), "main", [np.arange(8, dtype="int32"), total])
    assert total[0] == 28
    error = fault(sanitized(text.replace("START", "0")), np.arange(8, dtype="int32"), total)
    assert error is not None
    assert "S[1] is read, but was never written" in error

"""Loops, branches, assertions and calls."""

import numpy as np
import pytest

from stepwell.core.errors import UnsupportedError
from stepwell.tools.testing.upstream import PARALLEL, collatz, expected_of_loop, loop


def lines(source: str) -> list[str]:
    return [line.strip() for line in source.splitlines()]


@pytest.mark.parametrize("kind", ["index", "i32", "i8"])
def test_loops_carry_values_from_lower_to_below_upper(on_host, kind: str) -> None:
    run = on_host(loop(kind))["main"]

    for bounds in [(0, 3, 1), (3, 3, 1), (5, 3, 1), (1, 10, 4), (-3, 2, 2)]:
        out = np.zeros(1, np.int64)
        run(*bounds, out)
        assert out[0] == expected_of_loop(*bounds)


def test_what_loops_carry_is_assigned_at_once(on_host) -> None:
    run = on_host("""func.func @fibonacci(%n: index) -> i64 {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %zero = arith.constant 0 : i64
      %one = arith.constant 1 : i64
      %r:2 = scf.for %i = %c0 to %n step %c1 iter_args(%x = %zero, %y = %one) -> (i64, i64) {
        %z = arith.addi %x, %y : i64
        scf.yield %y, %z : i64, i64
      }
      func.return %r#0 : i64
    }""")["fibonacci"]
    out = np.zeros(1, np.int64)
    for n, value in ((0, 0), (1, 1), (10, 55)):
        run(n, out)
        assert out[0] == value


def test_loops_carry_buffers_and_vectors(on_host) -> None:
    run = on_host("""func.func @main(%a: memref<?xf32>, %b: memref<?xf32>, %n: index) -> f32 {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %one = arith.constant dense<1.0> : vector<2xf32>
      %r:3 = scf.for %i = %c0 to %n step %c1 iter_args(%x = %a, %y = %b, %s = %one)
          -> (memref<?xf32>, memref<?xf32>, vector<2xf32>) {
        %d = memref.dim %x, %c0 : memref<?xf32>
        %last = arith.subi %d, %c1 : index
        %v = memref.load %x[%last] : memref<?xf32>
        %w = vector.broadcast %v : f32 to vector<2xf32>
        %t = arith.addf %s, %w : vector<2xf32>
        scf.yield %y, %x, %t : memref<?xf32>, memref<?xf32>, vector<2xf32>
      }
      %z = memref.load %r#0[%c0] : memref<?xf32>
      %u = vector.reduction <add>, %r#2 : vector<2xf32> into f32
      %q = arith.addf %u, %z : f32
      func.return %q : f32
    }""")["main"]
    a, b = np.array([1, 2], np.float32), np.array([10, 20, 30], np.float32)
    for n, expected in ((0, 2 + 1), (3, 2 * (1 + 2 + 30 + 2) + 10)):
        out = np.zeros(1, np.float32)
        run(a, b, n, out)
        assert out[0] == expected


def test_a_branch_without_statements_is_an_expression(emit_text, on_host) -> None:
    text = """func.func @pad(%a: memref<4xf32>, %n: i32) -> f32 {
      %zero = arith.constant 0.0 : f32
      %four = arith.constant 4 : i32
      %i = arith.index_cast %n : i32 to index
      %inside = arith.cmpi slt, %n, %four : i32
      %r = scf.if %inside -> (f32) {
        %x = memref.load %a[%i] : memref<4xf32>
        scf.yield %x : f32
      } else {
        scf.yield %zero : f32
      }
      func.return %r : f32
    }"""
    assert "result[0] = n < 4 ? a[n] : 0.0f;" in lines(emit_text(text).source)
    out = np.zeros(1, np.float32)
    for n, expected in ((2, 7), (4, 0)):
        on_host(text)["pad"](np.array([5, 6, 7, 8], np.float32), n, out)
        assert out[0] == expected


def test_branches_give_several_values_and_names_do_not_hide(on_host) -> None:
    run = on_host("""func.func @main(%c: i1, %a: memref<4xi32>) {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c2 = arith.constant 2 : index
      %one = arith.constant 1 : i32
      %r, %s = scf.if %c -> (i32, index) {
        %r = memref.load %a[%c0] : memref<4xi32>
        memref.store %one, %a[%c0] : memref<4xi32>
        scf.yield %r, %c1 : i32, index
      } else {
        scf.yield %one, %c2 : i32, index
      }
      memref.store %r, %a[%s] : memref<4xi32>
      func.return
    }""")["main"]
    for c, expected in ((1, [1, 9, 0, 0]), (0, [9, 0, 1, 0])):
        a = np.array([9, 0, 0, 0], np.int32)
        run(c, a)
        np.testing.assert_array_equal(a, expected)


@pytest.mark.parametrize(("passed", "head"), [("%k", "while (x != 1LL) {"), ("%m", "while (true) {")])
def test_while_tests_before_each_round(on_host, passed: str, head: str) -> None:
    text = collatz(passed)
    if passed == "%m":
        text = text.replace("scf.condition", "%m = arith.muli %k, %one : i64\n scf.condition").replace(
            "%m = arith.muli %k, %one", "%m = arith.ori %k, %zero")  # fmt: skip
    kernel = on_host(text)["main"]
    assert head in lines(kernel.source)
    out = np.zeros(1, np.int64)
    for n, steps in ((1, 0), (2, 1), (6, 8), (27, 111)):
        kernel(n, out)
        assert out[0] == steps


def test_parallel_loops_visit_every_point(on_host) -> None:
    run = on_host(PARALLEL)["main"]
    a = np.full((3, 6), -1, np.int32)
    run(a)
    expected = np.full((3, 6), -1)
    i, j = np.meshgrid(range(3), range(1, 6, 2), indexing="ij")
    expected[i, j] = i + j
    np.testing.assert_array_equal(a, expected)


def test_a_failed_assertion_traps(on_host) -> None:
    kernel = on_host("""func.func @main(%n: i32) {
      %zero = arith.constant 0 : i32
      %ok = arith.cmpi sgt, %n, %zero : i32
      cf.assert %ok, "n must be positive"
      func.return
    }""")["main"]
    kernel(1)
    assert not kernel.trapped
    kernel(0)
    assert kernel.trapped


def test_what_is_read_before_a_write_is_not_read_after_it(on_host) -> None:
    run = on_host("""func.func @swap(%a: memref<2xi32>, %n: index) {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %x = memref.load %a[%c0] : memref<2xi32>
      %y = memref.load %a[%c1] : memref<2xi32>
      memref.store %y, %a[%c0] : memref<2xi32>
      memref.store %x, %a[%c1] : memref<2xi32>
      %z = memref.load %a[%c0] : memref<2xi32>
      scf.for %i = %c0 to %n step %c1 {
        %k = arith.index_cast %i : index to i32
        memref.store %k, %a[%c0] : memref<2xi32>
      }
      memref.store %z, %a[%c1] : memref<2xi32>
      func.return
    }""")["swap"]
    a = np.array([1, 2], np.int32)
    run(a, 3)
    np.testing.assert_array_equal(a, [2, 2])


def test_functions_without_a_kernel_are_called(on_host) -> None:
    kernel = on_host("""func.func private @axpy(%a: f32, %x: vector<2xf32>, %y: memref<?xf32>) -> f32 {
      %c1 = arith.constant 1 : index
      %l = vector.extract %x[1] : f32 from vector<2xf32>
      %p = arith.mulf %a, %l : f32
      %q = memref.load %y[%c1] : memref<?xf32>
      %s = arith.addf %p, %q : f32
      func.return %s : f32
    }
    func.func private @sqrtf(f32) -> f32
    func.func @main(%x: memref<?xf32>) -> f32 {
      %c0 = arith.constant 0 : index
      %two = arith.constant 2.0 : f32
      %v = vector.load %x[%c0] : memref<?xf32>, vector<2xf32>
      %r = func.call @axpy(%two, %v, %x) : (f32, vector<2xf32>, memref<?xf32>) -> f32
      %s = func.call @sqrtf(%r) : (f32) -> f32
      func.return %s : f32
    }""")["main"]
    assert "static __device__ float axpy(float a, float x_0, float x_1, const float* y, long long y_size0) {" in lines(
        kernel.source
    )
    out = np.zeros(1, np.float32)
    kernel(np.array([1, 3], np.float32), out)
    assert out[0] == 3


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("func.call @h() : () -> ()", r"func\.call.*no function called 'h' on the device"),
        ("func.call @p() : () -> ()", "p is a function of Python"),
    ],
)
def test_what_cannot_be_called_is_refused(emit_text, body: str, message: str) -> None:
    with pytest.raises(UnsupportedError, match=message):
        emit_text(f"""func.func private @p() attributes {{stepwell.packed = "p"}}
          func.func @f() {{ {body}\n func.return }}""")


@pytest.mark.parametrize("name", ["f); __trap(", "f\\0A", "while", "a.b", "\\C3\\A9", "sw_f", "1f", ""])
def test_a_device_function_is_called_by_an_identifier(emit_text, name: str) -> None:
    with pytest.raises(UnsupportedError, match="expected an identifier of CUDA"):
        emit_text(f"""func.func private @"{name}"()
          func.func @f() {{ func.call @"{name}"() : () -> ()\n func.return }}""")


def test_a_kernel_is_not_called(emit_text) -> None:
    with pytest.raises(UnsupportedError, match="g is a kernel, which is launched, not called"):
        emit_text("""
          "gpu.module"() <{sym_name = "device"}> ({
            "gpu.func"() <{function_type = () -> (), kernel}> ({
              "gpu.return"() : () -> ()
            }) {sym_name = "g"} : () -> ()
            "gpu.func"() <{function_type = () -> (), kernel}> ({
              func.call @g() : () -> ()
              "gpu.return"() : () -> ()
            }) {sym_name = "f"} : () -> ()
          }) : () -> ()
        """)


def test_functions_that_call_themselves_are_refused(emit_text) -> None:
    with pytest.raises(UnsupportedError, match="f calls itself"):
        emit_text("func.func private @f() { func.call @f() : () -> ()\n func.return }")

"""Statements, buffers and calls conform to docs/semantics.md."""

import ctypes
from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from stepwell.backends.build import build
from stepwell.backends.runtime import register_func
from stepwell.core.errors import ArgumentError, ExecutionError, LinkError, UndefinedBehaviorError, UnsupportedError
from stepwell.frontends.tvmscript import parse_tvmscript

Run = Callable[..., Any]


# Loops


def test_a_loop_over_nothing_does_not_run(run: Run) -> None:
    text = """
    tir.func @main("A" %A: memref<4xi32>, "n" %n: i32) {
      tir.for serial "i" %i : i32 in [0 +: %n] {
        tir.store %i, %A[%i] : memref<4xi32>
      }
    }
    """
    array = np.full(4, 9, np.int32)
    run(text, array, -3)
    run(text, array, 0)
    assert list(array) == [9, 9, 9, 9]


def test_a_loop_starts_at_its_minimum_and_counts_in_steps(run: Run) -> None:
    text = """
    tir.func @main("A" %A: memref<10xi32>, "m" %m: i32) {
      tir.for serial "i" %i : i32 in [%m +: 7] step 3 {
        tir.store %i, %A[%i] : memref<10xi32>
      }
    }
    """
    array = np.zeros(10, np.int32)
    run(text, array, 2)
    assert list(array) == [0, 0, 2, 0, 0, 5, 0, 0, 8, 0]


@pytest.mark.parametrize("extra", [0, 1])
def test_any_number_of_loops_may_nest(run: Run, extra: int) -> None:
    """Loops nest deeper than Python's limit. `extra`: with a statement between the loops, so that they form no grid."""
    depth = 45
    lines = ['tir.func @main("A" %A: memref<1xi32>, "n" %n: i32) -> i32 {', "%z = arith.constant 0 : i32"]
    for d in range(depth):
        lines.append(f'tir.for serial "i" %i{d} : i32 in [0 +: {2 if d % 15 == 0 else 1}] {{')
        if extra:
            lines.append("tir.store %z, %A[%z] : memref<1xi32>")
    lines += [
        "%x = tir.load %A[%z] : memref<1xi32>",
        "%one = arith.constant 1 : i32",
        "%y = arith.addi %x, %one : i32",
        "tir.store %y, %A[%z] : memref<1xi32>",
        "%stop = arith.cmpi eq, %i30, %n : i32",
        "tir.if %stop {",
        "  tir.return %y : i32",
        "}",
        *["}"] * depth,
        "tir.return %z : i32",
        "}",
    ]
    array = np.zeros(1, np.int32)
    assert run("\n".join(lines), array, 1) == (1 if extra else 2)
    assert run("\n".join(lines), array, 7) == 0


# Blocks


REDUCTION = """
@T.prim_func
def main(A: T.Buffer((6, 5), "int32"), B: T.Buffer((6,), "int32")):
    for k, i in T.grid(5, 6):
        with T.block("B"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                B[vi] = 100
            B[vi] = B[vi] + A[vi, vk]
"""


def test_init_runs_where_all_reduction_axes_are_at_their_start(run: Run) -> None:
    a, b = np.arange(30, dtype=np.int32).reshape(6, 5), np.zeros(6, np.int32)
    run(REDUCTION, a, b, uninitialized=["B"])
    assert list(b) == list(100 + a.sum(1))


def test_init_follows_axis_values_and_not_the_order_of_the_loops(run: Run) -> None:
    text = """
    @T.prim_func
    def main(B: T.Buffer((2,), "int32")):
        for k in range(4):
            with T.block("B"):
                vk = T.axis.reduce(4, 3 - k)
                with T.init():
                    B[1] = 10
                B[0] = B[0] + 1
                B[1] = B[1] + 1
    """
    array = np.zeros(2, np.int32)
    run(text, array)
    assert list(array) == [4, 11]  # the init ran before the last step


def test_a_block_without_reduction_axes_always_runs_its_init(run: Run) -> None:
    text = """
    @T.prim_func
    def main(B: T.Buffer((4,), "int32")):
        for i in range(4):
            with T.block("B"):
                vi = T.axis.spatial(4, i)
                with T.init():
                    B[vi] = 7
                B[vi] = B[vi] + vi
    """
    array = np.zeros(4, np.int32)
    run(text, array, uninitialized=["B"])
    assert list(array) == [7, 8, 9, 10]


def test_neither_init_nor_body_run_where_the_predicate_is_false(run: Run) -> None:
    text = """
    @T.prim_func
    def main(B: T.Buffer((5,), "int32")):
        for i0, i1 in T.grid(2, 3):
            with T.block("B"):
                vi = T.axis.spatial(5, i0 * 3 + i1)
                T.where(i0 * 3 + i1 < 5)
                with T.init():
                    B[vi] = 1
                B[vi] = B[vi] + vi
    """
    array = np.zeros(5, np.int32)
    run(text, array)
    assert list(array) == [1, 2, 3, 4, 5]


def test_blocks_nest(run: Run) -> None:
    text = """
    @T.prim_func
    def main(A: T.Buffer((4, 4), "int32")):
        for i in range(2):
            with T.block("outer"):
                vi = T.axis.spatial(2, i)
                S = T.alloc_buffer((2,), "int32")
                M = T.match_buffer(A[vi * 2:vi * 2 + 2, 0:4], (2, 4), "int32", offset_factor=1)
                for j in range(2):
                    with T.block("inner"):
                        vj = T.axis.spatial(2, j)
                        S[vj] = vi * 10 + vj
                        M[vj, 3 - vj] = S[vj]
    """
    array = np.zeros((4, 4), np.int32)
    run(text, array)
    assert array.tolist() == [[0, 0, 0, 0], [0, 0, 1, 0], [0, 0, 0, 10], [0, 0, 11, 0]]


# Symbolic sizes


SYMBOLIC = """
@T.prim_func
def main(a: T.handle, b: T.handle):
    n = T.int32()
    A = T.match_buffer(a, (n, 3), "float32")
    B = T.match_buffer(b, (n * 2,), "float32")
    for i in range(n):
        B[i * 2 + 1] = A[i, 2]
"""


def test_sizes_are_bound_by_the_arguments(run: Run) -> None:
    for n in (0, 1, 5):
        a, b = np.arange(n * 3, dtype=np.float32).reshape(n, 3), np.zeros(n * 2, np.float32)
        run(SYMBOLIC, a, b)
        assert b[1::2].tolist() == a[:, 2].tolist()


def test_sizes_that_disagree_are_refused_before_anything_is_written(run: Run) -> None:
    b = np.zeros(7, np.float32)
    with pytest.raises(ArgumentError, match=r"B: shape\[0\] is 7, expected 8"):
        run(SYMBOLIC, np.ones((4, 3), np.float32), b)
    assert not b.any()


LIMITED = """
@T.prim_func
def main(a: T.handle):
    n = T.{type}()
    m = T.{type}()
    k = T.{type}()
    A = T.match_buffer(a, (n, 4, m, k), "int8")
    for i, j, l in T.grid(n, m, k):
        A[i, 0, j, l] = T.int8(1)
"""


@pytest.mark.parametrize("target", ["llvm", "python"])
@pytest.mark.parametrize(("type", "bits"), [("int32", 30), ("int64", 62)])
def test_an_argument_of_symbolic_sizes_must_not_have_too_many_elements(target: str, type: str, bits: int) -> None:
    main = build(parse_tvmscript(LIMITED.format(type=type)), target)
    half = 2 ** (bits // 2 - 1)
    for shape in ((2 ** (bits - 2), 4, 0, 1), (0, 4, 1, 2 ** (bits - 2)), (half, 4, half, 0), (half, 4, 0, half)):
        with pytest.raises(ArgumentError, match=f"A: expected fewer than {2**bits} elements"):
            main(np.zeros(shape, np.int8))
    for shape in ((0, 4, 1, 2 ** (bits - 2) - 1), (0, 4, half, half - 1), (0, 4, 0, 0)):
        main(np.zeros(shape, np.int8))
    array = np.zeros((3, 4, 2, 2), np.int8)
    main(array)
    assert array.sum() == 12


def test_a_size_may_be_used_before_the_buffer_that_binds_it(run: Run) -> None:
    text = """
    tir.func @main("a" %a: !tir.handle, "b" %b: !tir.handle) -> i32 {
      %n = tir.symbol "n" : i32
      %two = arith.constant 2 : i32
      %m = arith.muli %n, %two : i32
      %A = tir.match_buffer "A" %a dims [%m] : !tir.handle -> memref<?xi8>
      %B = tir.match_buffer "B" %b dims [%n] : !tir.handle -> memref<?xi8>
      tir.return %m : i32
    }
    """
    assert run(text, np.zeros(6, np.int8), np.zeros(3, np.int8)) == 6
    with pytest.raises(ArgumentError, match=r"A: shape\[0\] is 5, expected 6"):
        run(text, np.zeros(5, np.int8), np.zeros(3, np.int8))


def test_strides_are_bound_by_the_arguments(run: Run) -> None:
    text = """
    @T.prim_func
    def main(a: T.handle, b: T.handle):
        n = T.int32()
        s0 = T.int32()
        s1 = T.int32()
        A = T.match_buffer(a, (n, 4), "int32", strides=(s0, s1))
        B = T.match_buffer(b, (n,), "int32")
        for i in range(n):
            B[i] = A[i, 3] + s0
    """
    whole = np.arange(60, dtype=np.int32).reshape(5, 12)
    out = np.zeros(5, np.int32)
    run(text, whole[:, ::3], out)
    assert list(out) == [9 + 12 * i + 12 for i in range(5)]


def test_fixed_strides_are_followed(run: Run) -> None:
    text = """
    @T.prim_func
    def main(a: T.handle):
        A = T.match_buffer(a, (3, 2), "int32", strides=(4, 1))
        for i, j in T.grid(3, 2):
            A[i, j] = i * 10 + j
    """
    whole = np.full((3, 4), -1, np.int32)
    run(text, whole[:, :2])
    assert whole.tolist() == [[0, 1, -1, -1], [10, 11, -1, -1], [20, 21, -1, -1]]


# Memory


def test_a_declared_buffer_shares_the_memory_of_another(run: Run) -> None:
    text = """
    tir.func @main("A" %A: memref<4xf32>) {
      %d = tir.buffer_data %A : memref<4xf32> -> !tir.handle<f32>
      %B = tir.decl_buffer "B" %d : !tir.handle<f32> -> memref<2x2xi32>
      %z = arith.constant 0 : i32
      %one = arith.constant 1 : i32
      %bits = arith.constant 1065353216 : i32
      tir.store %bits, %B[%one, %z] : memref<2x2xi32>
    }
    """
    array = np.zeros(4, np.float32)
    run(text, array)
    assert list(array) == [0, 0, 1.0, 0]


def test_a_declared_buffer_has_an_offset_and_strides(run: Run) -> None:
    text = """
    tir.func @main("A" %A: memref<16xi32>, "o" %o: i32) {
      %d = tir.buffer_data %A : memref<16xi32> -> !tir.handle<i32>
      %B = tir.decl_buffer "B" %d offset [%o] : !tir.handle<i32> -> memref<2x2xi32, strided<[4, 1], offset: ?>>
      tir.for serial "i" %i : i32 in [0 +: 2] {
        %one = arith.constant 1 : i32
        tir.store %one, %B[%i, %one] : memref<2x2xi32, strided<[4, 1], offset: ?>>
      }
    }
    """
    array = np.zeros(16, np.int32)
    run(text, array, 3)
    assert np.flatnonzero(array).tolist() == [4, 8]
    with pytest.raises(UndefinedBehaviorError, match="lies outside of the memory"):
        run(text, array, 11)


def test_pointers_move(run: Run) -> None:
    text = """
    tir.func @main("A" %A: memref<8xi32>) {
      %two = arith.constant 2 : i32
      %p = tir.address_of %A[%two] : memref<8xi32> -> !tir.handle<i32>
      %q = tir.access_ptr %p[%two +: %two] access 2 : !tir.handle<i32> -> !tir.handle<i32>
      %B = tir.decl_buffer "B" %q : !tir.handle<i32> -> memref<2xi32>
      %one = arith.constant 1 : i32
      tir.store %two, %B[%one] : memref<2xi32>
    }
    """
    array = np.zeros(8, np.int32)
    run(text, array)
    assert np.flatnonzero(array).tolist() == [5]


def test_memory_for_vectors_holds_their_lanes(run: Run) -> None:
    text = """
    tir.func @main("A" %A: memref<16xf32>) {
      %p = tir.allocate "p" [2] : !tir.handle<vector<8xf32>>
      %B = tir.decl_buffer "B" %p : !tir.handle<vector<8xf32>> -> memref<16xf32>
      tir.for serial "i" %i : i32 in [0 +: 16] {
        %x = tir.cast %i : i32 -> f32
        tir.store %x, %B[%i] : memref<16xf32>
      }
      tir.for serial "i" %i : i32 in [0 +: 16] {
        %x = tir.load %B[%i] : memref<16xf32>
        tir.store %x, %A[%i] : memref<16xf32>
      }
    }
    """
    array = np.zeros(16, np.float32)
    run(text, array)
    assert array.tolist() == list(range(16))


def test_buffers_of_vectors_are_refused(run: Run) -> None:
    text = 'tir.func @main("A" %A: memref<16xvector<4xf32>>) {\n}'
    with pytest.raises(UnsupportedError, match="has no buffers of vectors"):
        run(text, np.zeros((16, 4), np.float32))


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint64", "float16", "bfloat16", "float32", "float64"])
def test_every_element_type_is_loaded_and_stored(run: Run, dtype: str) -> None:
    text = f"""
    @T.prim_func
    def main(A: T.Buffer((5,), "{dtype}"), B: T.Buffer((5,), "{dtype}")):
        S = T.alloc_buffer((5,), "{dtype}")
        for i in range(5):
            S[i] = A[4 - i]
        for i in range(5):
            B[i] = S[i]
    """
    numpy = ml_dtypes.bfloat16 if dtype == "bfloat16" else dtype
    a, b = np.array([0, 1, 0, 1, 1]).astype(numpy), np.zeros(5, numpy)
    run(text, a, b)
    assert b.tolist() == a[::-1].tolist()


def test_a_buffer_without_dimensions_has_one_element(run: Run) -> None:
    text = """
    tir.func @main("A" %A: memref<i32>, "x" %x: i32) {
      tir.store %x, %A[] : memref<i32>
    }
    """
    array = np.zeros((), np.int32)
    run(text, array, 5)
    assert array[()] == 5


def test_a_number_from_outside_is_believed_to_be_an_address(run: Run) -> None:
    text = """
    tir.func @main("p" %p: !tir.handle<i32>) {
      %A = tir.decl_buffer "A" %p : !tir.handle<i32> -> memref<4xi32>
      %one = arith.constant 1 : i32
      tir.store %one, %A[%one] : memref<4xi32>
    }
    """
    array = np.zeros(4, np.int32)
    run(text, array.ctypes.data)
    assert list(array) == [0, 1, 0, 0]
    run(text, ctypes.c_void_p(array.ctypes.data))
    with pytest.raises(UndefinedBehaviorError, match="A looks behind a null pointer"):
        run(text, None)


# Statements


def test_lets_keep_what_they_were_bound_to(run: Run) -> None:
    text = """
    @T.prim_func
    def main(A: T.Buffer((2,), "int32")):
        x: T.int32 = A[0]
        A[0] = 5
        A[1] = x + A[0]
    """
    array = np.array([3, 0], np.int32)
    run(text, array)
    assert list(array) == [5, 8]


def test_a_value_is_loaded_where_its_load_is_written(run: Run) -> None:
    text = """
    tir.func @main("A" %A: memref<2xi32>) {
      %z = arith.constant 0 : i32
      %one = arith.constant 1 : i32
      %x = tir.load %A[%z] : memref<2xi32>
      %y = arith.addi %x, %one : i32
      tir.store %z, %A[%z] : memref<2xi32>
      tir.store %y, %A[%one] : memref<2xi32>
    }
    """
    array = np.array([3, 0], np.int32)
    run(text, array)
    assert list(array) == [0, 4]


def test_a_branch_runs_or_the_other(run: Run) -> None:
    text = """
    @T.prim_func
    def main(A: T.Buffer((4,), "int32")):
        for i in range(4):
            if i % 2 == 0:
                A[i] = 1
            else:
                if i == 3:
                    A[i] = 2
    """
    array = np.zeros(4, np.int32)
    run(text, array)
    assert list(array) == [1, 0, 1, 2]


def test_attributes_do_not_matter(run: Run) -> None:
    text = """
    tir.func @main("A" %A: memref<4xi32>) {
      tir.attr "pragma_auto_unroll_max_step" of 0 : i32 is 16 : i32 {
        tir.for unrolled "i" %i : i32 in [0 +: 4] annotations {x = 1 : i32} {
          tir.store %i, %A[%i] : memref<4xi32>
          tir.evaluate %i : i32
        }
      }
    }
    """
    array = np.zeros(4, np.int32)
    run(text, array)
    assert list(array) == [0, 1, 2, 3]


# Calls


CALLS = """
tir.func @main("A" %A: memref<8xi32>, "n" %n: i32) -> i32 {
  %z = arith.constant 0 : i32
  %d = tir.buffer_data %A : memref<8xi32> -> !tir.handle<i32>
  tir.call @fill(%d, %n) : !tir.handle<i32>, i32
  %s = tir.call @sum(%A) : memref<8xi32> -> i32
  tir.return %s : i32
}
tir.func private @fill("B" %B: memref<8xi32>, "x" %x: i32) {
  tir.for serial "i" %i : i32 in [0 +: 8] {
    tir.store %x, %B[%i] : memref<8xi32>
  }
}
tir.func private @sum("b" %b: !tir.handle) -> i32 {
  %m = tir.symbol "m" : i32
  %B = tir.match_buffer "B" %b dims [%m] : !tir.handle -> memref<?xi32>
  %s = tir.alloc_buffer "S" : memref<1xi32>
  %z = arith.constant 0 : i32
  tir.store %z, %s[%z] : memref<1xi32>
  tir.for serial "i" %i : i32 in [0 +: %m] {
    %x = tir.load %B[%i] : memref<?xi32>
    %y = tir.load %s[%z] : memref<1xi32>
    %w = arith.addi %x, %y : i32
    tir.store %w, %s[%z] : memref<1xi32>
  }
  %r = tir.load %s[%z] : memref<1xi32>
  tir.return %r : i32
}
"""


def test_functions_call_each_other(run: Run) -> None:
    assert run(CALLS, np.zeros(8, np.int32), 3) == 24


def test_what_a_called_function_reads_must_have_been_written(run: Run) -> None:
    text = CALLS.replace("  tir.call @fill(%d, %n) : !tir.handle<i32>, i32\n", "")
    run(text, np.zeros(8, np.int32), 3)
    with pytest.raises(UndefinedBehaviorError, match=r"B\[0\] is read, but was never written"):
        run(text, np.zeros(8, np.int32), 3, uninitialized=["A"])


PACKED = """
tir.func @main("A" %A: memref<2x2xf32>, "x" %x: f32) -> i32 {
  %name = tir.const "scale" : !tir.handle
  %r = tir.call_packed "env.scale"(%A, %x, %name) : memref<2x2xf32>, f32, !tir.handle -> i32
  tir.return %r : i32
}
"""


def test_packed_functions_get_arrays_over_the_same_memory(run: Run) -> None:
    seen: list[Any] = []

    def scale(array: np.ndarray[Any, Any], x: float, name: str) -> int:
        array *= x
        seen.append((array.shape, name))
        return 7

    array = np.ones((2, 2), np.float32)
    assert run(PACKED, array, 2.5, packed={"env.scale": scale}) == 7
    assert array.tolist() == [[2.5, 2.5], [2.5, 2.5]]
    assert seen == [((2, 2), "scale")]


def test_registered_functions_are_found_without_a_table(run: Run) -> None:
    register_func("env.scale", lambda array, x, name: 3, override=True)
    assert run(PACKED, np.ones((2, 2), np.float32), 1.0) == 3


def test_errors_of_packed_functions(run: Run) -> None:
    array = np.ones((2, 2), np.float32)
    with pytest.raises(LinkError, match=r"packed function 'env.scale' is not registered"):
        run(PACKED, array, 1.0, packed={})
    with pytest.raises(ExecutionError, match=r"packed function 'env.scale' failed: ZeroDivisionError"):
        run(PACKED, array, 1.0, packed={"env.scale": lambda *args: 1 // 0})
    with pytest.raises(ExecutionError, match="expected a result of type int32, got 'x'"):
        run(PACKED, array, 1.0, packed={"env.scale": lambda *args: "x"})


def test_c_functions_of_the_math_library_are_known(run: Run) -> None:
    text = """
    tir.func @main("x" %x: f32) -> f32 {
      %y = tir.call_extern pure "powf"(%x, %x) : f32, f32 -> f32
      tir.return %y : f32
    }
    """
    assert run(text, 2.0) == 4.0
    with pytest.raises(UnsupportedError, match="does not know the C function 'powfoo'"):
        run(text.replace("powf", "powfoo"), 2.0)
    with pytest.raises(UnsupportedError, match="does not know the C function 'pow' on these types"):
        run(text.replace("powf", "pow"), 2.0)


def test_builtins_of_targets_are_refused(run: Run) -> None:
    text = """
    tir.func @main() {
      %n = arith.constant 0 : i32
      tir.call_intrin "ptx_wait_group"(%n) : i32
    }
    """
    with pytest.raises(UnsupportedError, match=r"tir.call_intrin: only a target runs the builtin 'ptx_wait_group'"):
        run(text)


@pytest.mark.parametrize("axis", ["threadIdx.x", "vthread.x", "vthread"])
def test_a_loop_inside_of_one_over_the_same_threads_runs_for_the_thread_that_is_there(run: Run, axis: str) -> None:
    text = f"""
@T.prim_func
def main(A: T.Buffer((4, 4), "int32")):
    for i in T.thread_binding(4, thread="{axis}"):
        for j in T.thread_binding(3, thread="{axis}"):
            A[i, j] = 1
"""
    a = np.zeros((4, 4), np.int32)
    run(text, a)
    assert a.tolist() == np.diag([1, 1, 1, 0]).tolist()


def test_loops_over_threads_run_one_by_one(run: Run) -> None:
    text = """
    @T.prim_func
    def main(A: T.Buffer((8,), "int32")):
        for bx in T.thread_binding(2, thread="blockIdx.x"):
            for tx in T.thread_binding(4, thread="threadIdx.x"):
                A[bx * 4 + tx] = bx * 10 + tx
    """
    array = np.zeros(8, np.int32)
    run(text, array)
    assert list(array) == [0, 1, 2, 3, 10, 11, 12, 13]


def test_names_of_python_are_no_trouble(run: Run) -> None:
    text = """
    @T.prim_func
    def main(range: T.Buffer((4,), "int32"), run: T.int32):
        for product in range(4):
            for min in range(2):
                range[product] = product + run
    """.replace("in range(", "in T.serial(")
    array = np.zeros(4, np.int32)
    run(text, array, 5)
    assert list(array) == [5, 6, 7, 8]

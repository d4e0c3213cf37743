"""Vectorized loops: results are preserved, and statements that cannot be vectorized become serial loops."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stepwell.analysis.scopes import ancestors
from stepwell.backends.build import build
from stepwell.backends.oracle import run_oracle
from stepwell.backends.passes import apply_passes
from stepwell.backends.runtime import register_func
from stepwell.core.dtypes import numpy_dtype, parse_dtype
from stepwell.core.errors import UndefinedBehaviorError
from stepwell.dialects.tir import ForOp, LoadOp, RampOp, ShuffleOp, StoreOp
from stepwell.frontends.mlir import parse_mlir
from stepwell.frontends.tvmscript import parse_tvmscript
from stepwell.module import Module

F32 = np.arange(64, dtype="float32") / 4 - 3
PASSES = "tir-resolve-blocks,tir-vectorize-loops"


def _module(parameters: str, body: str) -> Module:
    lines = [f"        {line}" for line in body.strip("\n").splitlines()]
    head = ["@T.prim_func", f"def main({parameters}):"]
    return parse_tvmscript("\n".join([*head, *lines]))


def _run(module: Module, arguments: list[Any], native: bool) -> list[Any]:
    values = [a.copy() if isinstance(a, np.ndarray) else a for a in arguments]
    if native:
        build(module)["main"](*values)
    else:
        run_oracle(module, "main", values)
    return values


def _vectorized(parameters: str, body: str, *arguments: Any, passes: str = PASSES) -> Module:
    """The program after the passes, checked to preserve results in the oracle and in native code."""
    module = _module(parameters, body)
    after = apply_passes(module, passes)
    after.verify()
    assert "vectorized" not in str(after)
    expected = _run(module, list(arguments), native=False)
    for native in (False, True):
        for a, b in zip(_run(after, list(arguments), native), expected, strict=True):
            np.testing.assert_array_equal(a, b)
    return after


def _body(module: Module) -> list[str]:
    """The statements of the function in TVMScript."""
    lines = module.script().splitlines()
    start = next(n for n, line in enumerate(lines) if "def main" in line)
    return [line[8:] for line in lines[start + 1 :]]


def _is_vector(op: LoadOp | StoreOp) -> bool:
    return bool(op.vector_indices)


def _stores(module: Module) -> list[bool]:
    """For each store, in order, whether it writes a vector."""
    return [_is_vector(op) for op in module.op.walk() if isinstance(op, StoreOp)]


def _loops(module: Module) -> list[str]:
    return [f"{op.kind.data} {op.loop_var.data}" for op in module.op.walk() if isinstance(op, ForOp)]


AB = 'A: T.Buffer((64,), "float32"), B: T.Buffer((64,), "float32")'
ABC = f'{AB}, C: T.Buffer((64,), "float32")'
ZEROS = np.zeros(64, "float32")


def test_a_sum_of_vectors_prints_as_slices() -> None:
    body = """
for i in range(8):
    for j in T.vectorized(8):
        C[i * 8 + j] = A[i * 8 + j] + B[i * 8 + j]
"""
    after = _vectorized(ABC, body, F32, F32, ZEROS)
    assert _body(after) == [
        "for i in range(8):",
        "    C[i * 8:i * 8 + 8] = A[i * 8:i * 8 + 8] + B[i * 8:i * 8 + 8]",
    ]


def test_what_does_not_depend_on_the_loop_is_computed_once() -> None:
    body = """
for j in T.vectorized(8):
    B[2 * j] = A[j] * A[3] + T.Cast("float32", j)
"""
    after = _vectorized(AB, body, F32, ZEROS)
    assert _body(after) == ['B[0:16:2] = A[0:8] * T.Broadcast(A[3], 8) + T.Cast("float32x8", T.Ramp(0, 1, 8))']


@pytest.mark.parametrize(
    ("index", "ramp"),
    [
        ("(n + j) * 2", "n * 2:n * 2 + 8:2"),
        ("2 * (j + n)", "n * 2:n * 2 + 8:2"),
        ("(n + j) * 1", "n:n + 4"),
        ("(n + j) * 0 + j", "0:4"),
        ("j * n + 1", "T.Ramp(1, n, 4)"),
        ("2 * j * n", "T.Ramp(0, 2 * n, 4)"),
        ("10 - j - n", "T.Ramp(10 - n, -1, 4)"),
    ],
)
def test_sums_and_products_of_ramps_are_ramps(index: str, ramp: str) -> None:
    body = f"for j in T.vectorized(4):\n    B[j] = A[{index}]"
    after = _vectorized(f"{AB}, n: T.int32", body, F32, ZEROS, 3)
    assert _body(after) == [f"B[0:4] = A[{ramp}]"]


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "uint32", "int64", "float16", "bfloat16", "float64"])
def test_arithmetic_of_every_type_is_that_of_one_iteration(dtype: str) -> None:
    parameters = f'A: T.Buffer((8, 8), "{dtype}"), B: T.Buffer((8, 8), "{dtype}"), M: T.Buffer((8, 8), "bool")'
    body = f"""
for i in range(8):
    for j in T.vectorized(8):
        x = A[i, j] * A[i, 7 - j] + T.Cast("{dtype}", j * 100)
        M[i, j] = x < A[i, j]
        B[i, j] = T.Select(M[i, j], T.max(x, A[i, j]), T.Cast("{dtype}", i) - x)
"""
    numbers = np.random.default_rng(0).integers(0, 100, (8, 8))
    data = numbers.astype(numpy_dtype(parse_dtype(dtype)))
    after = _vectorized(parameters, body, data, np.zeros_like(data), np.zeros((8, 8), "bool"))
    assert _stores(after) == [True, True]


def test_a_branch_on_lanes_becomes_predicates() -> None:
    body = """
for j in T.vectorized(8):
    if j < n:
        B[j] = A[j + 3]
    else:
        B[j] = T.float32(7)
"""
    after = _vectorized(f"{AB}, n: T.int32", body, F32, ZEROS, 5)
    assert _stores(after) == [True, True]
    assert all(op.predicate is not None for op in after.op.walk() if isinstance(op, StoreOp | LoadOp))


@pytest.mark.parametrize("n", [-3, 0, 5, 61, 64, 100])
def test_elements_that_a_condition_keeps_out_are_not_touched(n: int) -> None:
    body = """
for i in range(8):
    for j in T.vectorized(8):
        if i * 8 + j < n:
            B[i * 8 + j] = T.if_then_else(i * 8 + j >= 1, A[i * 8 + j - 1], T.float32(0)) + A[i * 8 + j]
"""
    parameters = 'A: T.Buffer((64,), "float32"), B: T.Buffer((64,), "float32"), n: T.int32'
    assert _stores(_vectorized(parameters, body, F32, ZEROS, n)) == [True]


def test_a_lazy_choice_of_all_lanes_stays_lazy() -> None:
    body = """
for j in T.vectorized(8):
    B[j] = T.if_then_else(n < 4, A[n * 8 + j], T.float32(1))
"""
    for n in (3, 1000):
        after = _vectorized(f"{AB}, n: T.int32", body, F32, ZEROS, n)
        assert _stores(after) == [True]
        assert "tir.if_then_else" in str(after)


def test_what_all_lanes_read_is_not_read_where_all_are_off() -> None:
    body = """
for j in T.vectorized(8):
    if j < n:
        x = A[n * 100]
        B[j] = x + T.if_then_else(j > n, A[2 * n], T.float32(1))
"""
    after = _vectorized(f"{AB}, n: T.int32", body, F32, ZEROS, 0)
    assert _stores(after) == [True]
    with pytest.raises(UndefinedBehaviorError):
        _run(after, [F32, ZEROS, 5], native=False)


def test_a_branch_that_cannot_be_lanes_becomes_serial_as_a_whole() -> None:
    parameters = 'A: T.Buffer((8, 8), "float32"), C: T.Buffer((8,), "float32"), n: T.int32'
    body = """
for j in T.vectorized(8):
    C[j] = T.float32(1)
    if C[j] < T.Cast("float32", n):
        C[j] = T.float32(9)
        A[j, 0:8] = T.Broadcast(C[j], 8)
    C[j] = C[j] + A[j, 0]
"""
    after = _vectorized(parameters, body, F32.reshape(8, 8), F32[:8], 3)
    assert _body(after) == [
        "C[0:8] = T.Broadcast(T.float32(1.0), 8)",
        "for j in range(8):",
        '    if C[j] < T.Cast("float32", n):',
        "        C[j] = T.float32(9.0)",
        "        A[j, 0:8] = T.Broadcast(C[j], 8)",
        "C[0:8] = C[0:8] + A[T.Ramp(0, 1, 8), 0]",
    ]


def test_divisions_that_a_condition_guards_stay_one_by_one() -> None:
    parameters = 'A: T.Buffer((8,), "int32"), B: T.Buffer((8,), "int32")'
    body = """
for j in T.vectorized(8):
    B[j] = T.if_then_else(A[j] != 0, 100 // A[j], 0)
"""
    after = _vectorized(parameters, body, np.arange(-3, 5, dtype="int32"), np.zeros(8, "int32"))
    assert _loops(after) == ["serial j"]


def test_only_the_statements_that_cannot_be_lanes_become_a_loop() -> None:
    parameters = 'A: T.Buffer((8, 8), "float32"), B: T.Buffer((8, 8), "float32"), C: T.Buffer((8,), "float32")'
    body = """
for j in T.vectorized(8):
    C[j] = A[0, j] + T.float32(1)
    B[j, 0:2] = T.Broadcast(C[j], 2)
    C[j] = C[j] * T.float32(2)
"""
    after = _vectorized(parameters, body, F32.reshape(8, 8), F32.reshape(8, 8), np.zeros(8, "float32"))
    assert _body(after) == [
        "C[0:8] = A[0, 0:8] + T.Broadcast(T.float32(1.0), 8)",
        "for j in range(8):",
        "    B[j, 0:2] = T.Broadcast(C[j], 2)",
        "C[0:8] = C[0:8] * T.Broadcast(T.float32(2.0), 8)",
    ]


def test_names_that_a_serial_loop_needs_are_computed_in_it() -> None:
    parameters = 'A: T.Buffer((8, 8), "float32"), B: T.Buffer((8, 8), "float32"), C: T.Buffer((8,), "float32")'
    body = """
for j in T.vectorized(8):
    k = j * 3 + n
    r = (k + 1) % 8
    C[j] = T.Cast("float32", k)
    B[r, 2:4] = T.Broadcast(A[j, r], 2)
"""
    after = _vectorized(f"{parameters}, n: T.int32", body, F32.reshape(8, 8), F32.reshape(8, 8), F32[:8], 5)
    assert _stores(after) == [True, True]
    assert _loops(after) == ["serial j"]


def test_what_was_read_before_is_not_read_again() -> None:
    parameters = 'A: T.Buffer((8, 8), "float32"), C: T.Buffer((8,), "float32")'
    body = """
for j in T.vectorized(8):
    x = C[j]
    C[j] = x + T.float32(1)
    A[j, 2:4] = T.Broadcast(x, 2)
    C[j] = C[j] * T.float32(2)
"""
    after = _vectorized(parameters, body, F32.reshape(8, 8), F32[:8])
    assert _body(after) == [
        "for j in range(8):",
        "    x: T.float32 = C[j]",
        "    C[j] = x + T.float32(1.0)",
        "    A[j, 2:4] = T.Broadcast(x, 2)",
        "C[0:8] = C[0:8] * T.Broadcast(T.float32(2.0), 8)",
    ]


M8 = 'A: T.Buffer((8, 8), "float32")'
I8 = 'P: T.Buffer((8,), "int32")'
PERMUTATION = np.array([3, 1, 7, 0, 2, 6, 5, 4], "int32")


@pytest.mark.parametrize(
    ("statement", "vectors"),
    [
        ("B[j] = A[j, 3]", "B[0:8] = A[T.Ramp(0, 1, 8), 3]"),
        ("B[j] = A[j, j]", "B[0:8] = A[T.Ramp(0, 1, 8), 0:8]"),
        ("B[j] = A[7 - j, j]", "B[0:8] = A[T.Ramp(7, -1, 8), 0:8]"),
        ("B[j] = A[P[j], 2]", "B[0:8] = A[P[0:8], 2]"),
        ("B[j] = A[P[j], P[7 - j]]", "B[0:8] = A[P[0:8], P[T.Ramp(7, -1, 8)]]"),
        ("A[j, 3] = B[j]", "A[T.Ramp(0, 1, 8), 3] = B[0:8]"),
        ("A[P[j], j] = B[j]", "A[P[0:8], 0:8] = B[0:8]"),
        ("B[P[j]] = A[3, j]", "B[P[0:8]] = A[3, 0:8]"),
    ],
)
def test_lanes_may_be_elements_anywhere_in_a_buffer(statement: str, vectors: str) -> None:
    parameters = f'{M8}, B: T.Buffer((8,), "float32"), {I8}'
    body = f"for j in T.vectorized(8):\n    {statement}"
    after = _vectorized(parameters, body, F32.reshape(8, 8), F32[:8] + 100, PERMUTATION)
    assert _body(after) == [vectors]


def test_lanes_that_a_condition_keeps_out_compute_no_element() -> None:
    body = """
for j in T.vectorized(8):
    if P[j] < 8:
        A[P[j], j] = A[P[j], 7 - j] + T.float32(1)
"""
    indices = np.array([3, 1 << 30, 7, 0, 8, 6, 5, 1 << 20], "int32")
    after = _vectorized(f"{M8}, {I8}", body, F32.reshape(8, 8), indices)
    assert _stores(after) == [True]


COLUMNS = """
S = T.alloc_buffer(({rows}, {columns}), "{dtype}", scope="local")
for i in range({rows}):
    for j in range({columns}):
        S[i, j] = A[i, j]
for i in T.{outer}({columns}):
    for j in T.vectorized({rows}):
        B[i, j] = {value}
"""


def _columns(rows: int, columns: int, dtype: str, value: str = "S[j, i]", outer: str = "unroll") -> Module:
    body = COLUMNS.format(rows=rows, columns=columns, dtype=dtype, value=value, outer=outer)
    parameters = f'A: T.Buffer(({rows}, {columns}), "{dtype}"), B: T.Buffer(({columns}, {rows}), "{dtype}")'
    data = np.arange(rows * columns).astype(dtype).reshape(rows, columns)
    return _vectorized(parameters, body, data, np.zeros_like(data.T))


@pytest.mark.parametrize(
    ("rows", "columns", "dtype"),
    [
        (4, 4, "float32"),
        (8, 8, "float32"),
        (16, 16, "int32"),
        (16, 4, "float32"),
        (4, 16, "float32"),
        (2, 8, "float64"),
        (8, 8, "int16"),
        (16, 16, "uint8"),
    ],
)
def test_columns_of_registers_are_transposed_rows(rows: int, columns: int, dtype: str) -> None:
    after = _columns(rows, columns, dtype)
    assert _loops(after) == ["serial i", "serial j"]
    shuffles = [op for op in after.op.walk() if isinstance(op, ShuffleOp)]
    assert shuffles
    assert all(len(op.vectors) <= 2 for op in shuffles)


@given(
    rows=st.sampled_from((2, 3, 4, 8, 16)),
    columns=st.sampled_from((2, 3, 4, 8, 16)),
    dtype=st.sampled_from(("float32", "float64", "int16", "uint8")),
    value=st.sampled_from(
        ("S[j, i]", "S[j, i] + A[j, i]", "S[j, i] * S[j, 0]", "S[{rows} - 1 - j, i]", "S[j // 2, i]")
    ),
)
def test_any_columns_of_registers(rows: int, columns: int, dtype: str, value: str) -> None:
    _columns(rows, columns, dtype, value.format(rows=rows))


def test_transposed_rows_are_operands_of_operators_on_lanes() -> None:
    after = _columns(8, 8, "float32", "T.max(S[j, i] * A[i, j], T.float32(i)) + S[j, i] + A[0, i]")
    assert _loops(after) == ["serial i", "serial j"]


@pytest.mark.parametrize(
    ("rows", "columns", "value", "outer"),
    [
        (3, 8, "S[j, i]", "unroll"),  # no power of two
        (8, 4, "S[7 - j, i * 3 % 4]", "unroll"),  # elements of a row in another order
        (8, 8, "S[j, i]", "serial"),  # columns that are not read together
        (2, 16, "S[j, i]", "unroll"),  # rows of less than 16 bytes each
    ],
)
def test_other_columns_of_registers_stay_scalar(rows: int, columns: int, value: str, outer: str) -> None:
    outer_kind = "unrolled" if outer == "unroll" else outer
    assert _loops(_columns(rows, columns, "float32", value, outer)) == [
        "serial i",
        "serial j",
        f"{outer_kind} i",
        "serial j",
    ]


def test_columns_of_registers_that_the_statement_changes_stay_scalar() -> None:
    body = """
S = T.alloc_buffer((8, 8), scope="local")
for i in T.unroll(8):
    for j in T.vectorized(8):
        S[i, j] = A[i, j]
for i in T.unroll(8):
    for j in T.vectorized(8):
        S[i, j] = S[j, i]
for i in T.unroll(8):
    for j in T.vectorized(8):
        A[i, j] = S[i, j]
"""
    after = _vectorized(M8, body, F32.reshape(8, 8))
    assert _loops(after) == ["unrolled i", "unrolled i", "serial j", "unrolled i"]


def test_loops_that_all_lanes_run_alike_stay_around() -> None:
    body = """
for j in T.vectorized(8):
    B[j] = T.float32(0)
    for k in range(n):
        B[j] = B[j] + A[k * 8 + j]
"""
    after = _vectorized(f"{AB}, n: T.int32", body, F32, ZEROS, 4)
    assert _body(after) == [
        "B[0:8] = T.Broadcast(T.float32(0.0), 8)",
        "for k in range(n):",
        "    B[0:8] = B[0:8] + A[k * 8:k * 8 + 8]",
    ]


def test_loops_with_bounds_of_their_own_for_each_lane_become_serial() -> None:
    body = """
for j in T.vectorized(8):
    for k in range(j):
        B[j] = B[j] + A[k * 8 + j]
"""
    assert _loops(_vectorized(AB, body, F32, ZEROS)) == ["serial j", "serial k"]


def test_a_vectorized_loop_inside_of_another_goes_first() -> None:
    parameters = 'A: T.Buffer((8, 8), "float32"), B: T.Buffer((8, 8), "float32")'
    body = """
for i in T.vectorized(8):
    for j in T.vectorized(4, 8):
        B[i, j] = A[i, j]
"""
    after = _vectorized(parameters, body, F32.reshape(8, 8), ZEROS.reshape(8, 8))
    assert _body(after) == ["for i in range(8):", "    B[i, 4:8] = A[i, 4:8]"]


def test_memory_of_each_iteration_is_kept_by_a_serial_loop() -> None:
    body = """
t = T.alloc_buffer((2,), "float32")
for j in T.vectorized(8):
    C[j] = A[j]
    t[0] = A[j] * T.float32(2)
    for k in range(2):
        t[1] = t[0] + B[j]
        C[j] = C[j] + t[1]
    C[j] = C[j] * T.float32(3)
"""
    after = _vectorized(ABC, body, F32, F32, ZEROS)
    assert _loops(after) == ["serial j", "serial k"]
    assert _stores(after) == [True, False, False, False, True]


def test_memory_allocated_in_an_iteration_is_kept_by_a_serial_loop() -> None:
    body = """
for j in T.vectorized(8):
    C[j] = A[j]
    t = T.decl_buffer((1,), "float32")
    t[0] = A[j] * T.float32(2)
    C[j] = C[j] + t[0]
    C[j] = C[j] * T.float32(3)
"""
    after = _vectorized(ABC, body, F32, F32, ZEROS)
    assert _stores(after) == [True, False, False, True]


def test_each_lane_may_keep_to_its_own_elements_of_memory() -> None:
    body = """
t = T.alloc_buffer((16,), "float32")
for j in T.vectorized(8):
    t[2 * j + 1] = A[j]
    C[j] = t[2 * j + 1] + B[j]
"""
    after = _vectorized(ABC, body, F32, F32, ZEROS)
    assert _stores(after) == [True, True]
    assert _loops(after) == []


def test_each_lane_may_keep_to_its_own_element_at_a_named_index() -> None:
    text = """
    tir.func @main("A" %A: memref<4xi32>, "B" %B: memref<4xi32>) {
      %S = tir.alloc_buffer "S" : memref<8xi32>
      tir.for vectorized "i" %i : i32 in [0 +: 4] {
        %two = arith.constant 2 : i32
        %0 = arith.muli %i, %two : i32
        %j = tir.let "j" %0 : i32
        %x = tir.load %A[%i] : memref<4xi32>
        tir.store %x, %S[%j] : memref<8xi32>
        %y = tir.load %S[%j] : memref<8xi32>
        tir.store %y, %B[%i] : memref<4xi32>
      }
    }
    """
    after = apply_passes(parse_mlir(text), PASSES)
    assert _stores(after) == [True, True]
    assert _loops(after) == []


def test_elements_that_wrap_to_the_same_one_are_not_each_lanes_own() -> None:
    body = """
t = T.alloc_buffer((256,), "float32")
for j in T.serial(0, T.uint8(4)):
    C[j] = A[j]
for j in T.vectorized(T.uint8(0), T.uint8(4)):
    t[j * T.uint8(128)] = A[j]
    C[j] = t[j * T.uint8(128)] + B[j]
"""
    assert _loops(_vectorized(ABC, body, F32, F32, ZEROS))[-1] == "serial j"


def test_an_unsigned_index_that_wraps_is_no_ramp() -> None:
    parameters = 'A: T.Buffer((256,), "float32"), B: T.Buffer((256,), "float32"), n: T.uint8'
    body = """
for j in T.vectorized(T.uint8(0), T.uint8(8)):
    B[j + n] = A[j + n]
"""
    numbers = np.arange(256, dtype="float32")
    after = _vectorized(parameters, body, numbers, np.zeros_like(numbers), 252)
    assert _stores(after) == [True]


def test_stores_of_all_lanes_to_one_element_stay_in_order() -> None:
    body = """
for j in T.vectorized(8):
    if j == 7:
        B[0] = A[j]
"""
    assert _stores(_vectorized(AB, body, F32, ZEROS)) == [False]


def test_assertions_are_checked_for_each_iteration() -> None:
    body = """
for j in T.vectorized(8):
    assert j < 8, "a lane too many"
    B[j] = A[j]
"""
    after = _vectorized(AB, body, F32, ZEROS)
    assert str(after).count("tir.assert") == 1
    assert _stores(after) == [True]


@pytest.mark.parametrize("loop", ["T.vectorized(1)", "T.vectorized(0)"])
def test_loops_of_one_or_no_iterations_are_no_vectors(loop: str) -> None:
    after = _vectorized(f"{AB}, n: T.int32", f"\nfor j in {loop}:\n    B[j] = A[j]\n", F32, ZEROS, 9)
    assert not _loops(after)
    assert not any(_stores(after))


@pytest.mark.parametrize("extent", ["64", "n"])
def test_loops_of_many_iterations_are_serial_without_vectors_of_chunks(extent: str) -> None:
    body = f"\nfor j in T.vectorized({extent}):\n    B[j] = A[j]\n"
    passes = "tir-vectorize-loops{max-lanes=32 vector-bytes=0}"
    assert _loops(_vectorized(f"{AB}, n: T.int32", body, F32, ZEROS, 9, passes=passes)) == ["serial j"]


# Loops over chunks

SIZED = 'A: T.Buffer((64,), "float32"), B: T.Buffer((64,), "float32"), n: T.int32'
CHUNKS = "tir-resolve-blocks,tir-vectorize-loops{vector-bytes=32}"
MASKS = "tir-resolve-blocks,tir-vectorize-loops{vector-bytes=32 masks=true}"
COUNTS = [-3, 0, 1, 7, 8, 9, 31, 32, 33, 64]


@pytest.mark.parametrize("n", COUNTS)
def test_an_unknown_number_of_iterations_is_a_loop_over_vectors_and_a_serial_loop(n: int) -> None:
    after = _vectorized(SIZED, "\nfor j in T.vectorized(n):\n    B[j] = A[j] * 2.0\n", F32, ZEROS, n, passes=CHUNKS)
    assert _loops(after) == ["serial j", "serial j"]
    assert _body(after)[1] == "    B[j:j + 8] = A[j:j + 8] * T.Broadcast(T.float32(2.0), 8)"
    assert _body(after)[3] == "    B[j] = A[j] * T.float32(2.0)"


@pytest.mark.parametrize("n", COUNTS)
def test_the_rest_of_the_iterations_are_lanes_of_a_mask(n: int) -> None:
    after = _vectorized(SIZED, "\nfor j in T.vectorized(n):\n    B[j] = A[j] * A[1]\n", F32, ZEROS, n, passes=MASKS)
    assert _loops(after) == ["serial j"]
    assert _stores(after) == [True, True]
    scalar_loads = [op for op in after.op.walk() if isinstance(op, LoadOp) and not op.vector_indices]
    assert [op.predicate for op in scalar_loads] == [None, None]  # of the element that all lanes read


@pytest.mark.parametrize(("count", "rest"), [(40, 0), (41, 1), (47, 7)])
def test_a_known_number_of_iterations_leaves_a_narrower_vector(count: int, rest: int) -> None:
    body = f"\nfor j in T.vectorized(3, {3 + count}):\n    B[j] = A[j]\n"
    after = _vectorized(AB, body, F32, ZEROS, passes="tir-vectorize-loops{max-lanes=8 vector-bytes=32}")
    assert _loops(after) == ["serial j", *(["serial j"] if rest == 1 else [])]
    assert _body(after)[1] == "    B[j:j + 8] = A[j:j + 8]"
    assert _body(after)[2:3] == {0: [], 1: ["for j in range(43, 44):"], 7: ["B[43:50] = A[43:50]"]}[rest]


def test_steps_of_many_iterations_are_strides() -> None:
    body = "\nfor j in T.vectorized(1, 60, step=3):\n    B[j] = A[j]\n"
    after = _vectorized(AB, body, F32, ZEROS, passes="tir-vectorize-loops{max-lanes=8 vector-bytes=32}")
    assert _body(after) == [
        "for j in range(1, 49, 24):",
        "    B[j:j + 24:3] = A[j:j + 24:3]",
        "B[49:61:3] = A[49:61:3]",
    ]


def test_a_multiple_of_the_lanes_leaves_no_iterations() -> None:
    body = "\nfor j in T.vectorized(n * 16):\n    B[j] = A[j]\n"
    assert _loops(_vectorized(SIZED, body, F32, ZEROS, 3, passes=CHUNKS)) == ["serial j"]


@pytest.mark.parametrize(("dtype", "lanes"), [("float64", 4), ("float16", 16), ("int8", 32)])
def test_chunks_have_the_lanes_of_the_widest_element(dtype: str, lanes: int) -> None:
    parameters = f'A: T.Buffer((64,), "int8"), B: T.Buffer((64,), "{dtype}"), n: T.int32'
    body = f'\nfor j in T.vectorized(n):\n    B[j] = T.Cast("{dtype}", A[j])\n'
    zeros = np.zeros(64, numpy_dtype(parse_dtype(dtype)))
    after = _vectorized(parameters, body, np.arange(64, dtype="int8"), zeros, 61, passes=CHUNKS)
    assert _body(after)[1].startswith(f"    B[j:j + {lanes}] = ")


@pytest.mark.parametrize("passes", [CHUNKS, MASKS])
def test_memory_of_an_iteration_is_not_shared_by_the_lanes_of_a_chunk(passes: str) -> None:
    body = """
t = T.alloc_buffer((1,), "float32")
for j in T.vectorized(n):
    t[0] = A[j] * 2.0
    B[j] = A[j] + 1.0
    A[j] = t[0]
"""
    after = _vectorized(SIZED, body, F32, ZEROS, 21, passes=passes)
    assert _loops(after) == ["serial j"]  # the store of B is between the others
    body = body.replace("    B[j] = A[j] + 1.0\n", "") + "    B[j] = T.float32(1)\n"
    after = _vectorized(SIZED, body, F32, ZEROS, 21, passes=passes)
    assert _stores(after)[:3] == [False, False, True]


def test_vectors_whose_indices_are_quotients_are_stored_first() -> None:
    module = _module(
        "A: T.Buffer((7, 3), 'int32')",
        """
B = T.alloc_buffer((7, 3), "int32")
for f in T.vectorized(21):
    B[f // 3, f % 3] = 0
for i, j in T.grid(7, 3):
    B[i, j] = B[i, j] + i * 3 + j
for i, j in T.grid(7, 3):
    A[i, j] = B[i, j] * 2
""",
    )
    (result,) = _run(module, [np.ones((7, 3), "int32")], native=True)
    np.testing.assert_array_equal(result.reshape(-1), np.arange(21) * 2)


@pytest.mark.parametrize("n", COUNTS[1:])
def test_statements_that_have_no_masked_form_are_a_serial_rest(n: int) -> None:
    parameters = 'A: T.Buffer((64,), "int32"), B: T.Buffer((64,), "int32"), n: T.int32'
    body = "\nfor j in T.vectorized(n):\n    B[j] = 100 // A[j]\n"
    ones = np.arange(1, 65, dtype="int32")
    after = _vectorized(parameters, body, ones, np.zeros(64, "int32"), n, passes=MASKS)
    assert _loops(after) == ["serial j", "serial j"]
    assert _stores(after) == [True, False]


def test_a_loop_over_chunks_without_vectors_stays_one_loop() -> None:
    body = """
for j in T.vectorized(n):
    assert j < n, "a lane too many"
    for k in T.vectorized(n):
        B[k] = A[k]
"""
    after = _vectorized(SIZED, body.replace("B[k]", "B[k + j - j]").replace("n)", "1)"), F32, ZEROS, 1, passes=CHUNKS)
    assert _loops(after) == []
    body = "\nfor j in T.vectorized(n):\n    assert j < n, 'a lane too many'\n"
    assert _loops(_vectorized(SIZED, body, F32, ZEROS, 9, passes=CHUNKS)) == ["serial j"]


def test_steps_are_strides() -> None:
    body = "\nfor j in T.vectorized(5, 21, step=3):\n    B[j] = A[j] + T.Cast('float32', j)\n"
    assert _body(_vectorized(AB, body, F32, ZEROS)) == ['B[5:23:3] = A[5:23:3] + T.Cast("float32x6", T.Ramp(5, 3, 6))']


def test_a_known_ramp_is_one_in_other_integer_types() -> None:
    body = """
for j in T.vectorized(8):
    B[T.Cast("int64", j) + n] = A[T.Cast("int64", T.Cast("int8", j * 40))]
"""
    parameters = 'A: T.Buffer((512,), "float32"), B: T.Buffer((64,), "float32"), n: T.int64'
    with pytest.raises(UndefinedBehaviorError):
        _vectorized(parameters, body, np.arange(512, dtype="float32"), ZEROS, 3)
    after = _vectorized(parameters, body.replace("40", "18"), np.arange(512, dtype="float32"), ZEROS, 3)
    assert _body(after)[0].startswith("B[n:n + T.int64(8)] = A[")
    assert all(isinstance(op.indices[-1].owner, RampOp) for op in after.op.walk() if isinstance(op, LoadOp | StoreOp))


def test_a_loop_that_is_left_by_return_is_serial() -> None:
    text = """
    tir.func @main("A" %A: memref<8xi32>) -> i32 {
      tir.for vectorized "i" %i : i32 in [0 +: 8] {
        tir.return %i : i32
      }
    }"""
    after = apply_passes(parse_mlir(text), PASSES)
    assert _loops(after) == ["serial i"]
    assert run_oracle(after, "main", [np.zeros(8, "int32")]) == 0


def test_calls_run_once_for_each_iteration() -> None:
    seen: list[int] = []
    register_func("test.lane", seen.append, override=True)
    module = _module(
        AB,
        """
for j in T.vectorized(4):
    B[j] = A[j]
    T.evaluate(T.call_packed("test.lane", j))
    B[j] = B[j] * A[j]
""",
    )
    after = apply_passes(module, PASSES)
    assert _stores(after) == [True, True]
    _run(after, [F32, ZEROS], native=True)
    assert seen == [0, 1, 2, 3]


# Reductions

SUM = 'A: T.Buffer((64,), "float32"), S: T.Buffer((4,), "float32"), n: T.int32'
FOUR = np.array([1, 2, 3, 4], "float32")


def _reduced(body: str, *arguments: Any, noalias: bool = True) -> Module:
    attributes = 'T.func_attr({"tir.noalias": True})\n' if noalias else ""
    return _vectorized(SUM, attributes + body, *arguments)


def _combined_in(module: Module) -> list[str]:
    """The loop around each store of an element of S, "" outside of loops."""
    stores = [op for op in module.op.walk() if isinstance(op, StoreOp) and not op.vector_indices]
    loops = [next((p for p in ancestors(op) if isinstance(p, ForOp)), None) for op in stores]
    return ["" if loop is None else loop.loop_var.data for loop in loops]


def test_lanes_are_combined_after_the_serial_loops_around() -> None:
    body = """
for i in range(2):
    for k in range(4):
        for j in T.vectorized(8):
            S[i] = S[i] + A[k * 8 + j]
"""
    assert _combined_in(_reduced(body, F32, FOUR, 0)) == ["i"]
    assert _combined_in(_reduced(body, F32, FOUR, 0, noalias=False)) == ["k"]


def test_lanes_are_combined_before_another_use_of_the_element() -> None:
    body = """
for k in range(4):
    for j in T.vectorized(8):
        S[0] = T.max(S[0], A[k * 8 + j])
    S[1] = S[0]
"""
    assert _combined_in(_reduced(body, F32, FOUR, 0)) == ["k", "k"]


@pytest.mark.parametrize("n", [-1, 0, 3, 8])
def test_an_element_that_no_lane_reaches_is_not_accessed(n: int) -> None:
    body = """
for k in range(n):
    for j in T.vectorized(8):
        if j < n:
            S[n - 1 + k - k] = S[n - 1 + k - k] + A[j]
for j in T.vectorized(8):
    if j + 4 < n:
        S[n] = S[n] * A[j]
"""
    if n < 4:
        _reduced(body.split("for j in T.vectorized(8):\n    if j + 4")[0], F32, FOUR, n)
    _reduced("for j in T.vectorized(8):\n    if j + 20 < n:\n        S[n] = S[n] * A[j]", F32, FOUR, n)


@pytest.mark.parametrize(
    "update",
    [
        "S[j % 2] = S[j % 2] + A[j]",
        "S[0] = A[j] - S[0]",
        "S[0] = S[0] + S[1] * A[j]",
        "S[0] = S[0] + A[j]\n    S[1] = S[1] + A[j]",
        "S[0] = S[0] + A[j]\n    if A[j] < 0:\n        S[0] = A[j]",
    ],
)
def test_other_updates_of_one_element_are_races(update: str) -> None:
    module = _module(SUM, f"for j in T.vectorized(8):\n    {update}")
    with pytest.raises(UndefinedBehaviorError, match="race"):
        run_oracle(module, "main", [F32.copy(), FOUR.copy(), 0])


def test_concurrent_loops_in_a_reduction_are_races() -> None:
    for around, inside in (("T.parallel", "T.vectorized"), ("T.vectorized", "T.parallel")):
        body = f"for i in {around}(2):\n    for j in {inside}(4):\n        S[0] = S[0] + A[i * 4 + j]"
        with pytest.raises(UndefinedBehaviorError, match="race"):
            run_oracle(_module(SUM, body), "main", [F32.copy(), FOUR.copy(), 0])


def test_a_reduction_in_a_vectorized_loop_has_results_as_lanes() -> None:
    body = "for i in T.vectorized(4):\n    for j in T.vectorized(8):\n        S[i] = S[i] + A[i * 8 + j]"
    assert _body(_reduced(body, F32, FOUR, 0))[1:] == [
        "for j in range(8):",
        "    S[0:4] = S[0:4] + A[j:j + 32:8]",
    ]


def test_elements_that_a_loop_inside_selects_are_reduced_in_order() -> None:
    body = """
for j in T.vectorized(8):
    for i in range(4):
        S[i] = S[i] + A[i * 8 + j]
"""
    assert _loops(_reduced(body, F32, FOUR, 0)) == ["serial i", "serial j"]


@pytest.mark.parametrize("masks", [False, True])
@pytest.mark.parametrize("n", [-1, 0, 1, 15, 16, 17, 63])
def test_chunks_reduce_into_four_vectors(n: int, masks: bool) -> None:
    body = """
for j in T.vectorized(n):
    S[0] = S[0] + A[j]
"""
    passes = f"tir-vectorize-loops{{vector-bytes=16 masks={str(masks).lower()}}}"
    after = _vectorized(SUM, body, F32, FOUR, n, passes=passes)
    assert 'S_1 = T.alloc_buffer((16,), scope="local")' in _body(after)
    assert "if n > 0:" in _body(after)
    assert not any("reached" in line for line in _body(after))


@pytest.mark.parametrize("n", [0, 1, 9, 16])
def test_chunks_of_rows_are_combined_after_all_rows(n: int) -> None:
    body = """
T.func_attr({"tir.noalias": True})
for i in range(n):
    for j in T.vectorized(n):
        if j < n * 2:
            S[2] = S[2] + A[i + j]
    for j in T.vectorized(n):
        S[1] = T.max(S[1], A[i + j])
"""
    for piece in (
        body,
        body.replace("        if j < n * 2:\n    ", "").split("    for j in T.vectorized(n):\n        S[1]")[0],
    ):
        after = _vectorized(SUM, piece, F32, FOUR, n, passes="tir-vectorize-loops{vector-bytes=16}")
        assert _stores(after).count(True) > 0


def test_elements_that_are_no_longer_accessed_if_a_loop_has_no_iterations() -> None:
    body = "\nfor i in range(n):\n    for j in T.vectorized(n):\n        S[n + 4 - n] = S[n + 4 - n] + A[j]\n"
    _vectorized(SUM, body, F32, FOUR, 0)
    with pytest.raises(UndefinedBehaviorError):
        run_oracle(apply_passes(_module(SUM, body), PASSES), "main", [F32.copy(), FOUR.copy(), 1])

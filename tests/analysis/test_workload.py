"""The workload of functions: operations and bytes."""

import pytest

from stepwell.analysis.workload import Workload, workload_of
from stepwell.backends.passes import apply_passes
from stepwell.dialects.tir import FuncOp
from stepwell.frontends.tvmscript import parse_tvmscript


def workload(text: str, passes: str = "", **sizes: int) -> Workload | None:
    module = parse_tvmscript(f"@T.prim_func\ndef main{text}")
    func = apply_passes(module, passes).functions["main"] if passes else module.functions["main"]
    assert isinstance(func, FuncOp)
    return workload_of(func, sizes.get)


MATMUL = """(A: T.Buffer((8, 4), "float32"), B: T.Buffer((4, 16), "float32"), C: T.Buffer((8, 16), "float32")):
    for i, j, k in T.grid(8, 16, 4):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = T.float32(0)
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]
"""


def test_a_product_counts_two_operations_for_each_summand_and_reads_no_sums() -> None:
    expected = Workload(2 * 8 * 16 * 4, 4 * (8 * 4 + 4 * 16 + 8 * 16))
    assert workload(MATMUL) == expected
    assert expected.intensity == expected.operations / expected.bytes


def test_the_lowered_loops_have_the_workload_of_the_blocks() -> None:
    assert workload(MATMUL, "tir-resolve-blocks,tir-simplify") == workload(MATMUL)


def test_vectors_count_their_lanes() -> None:
    text = """(A: T.Buffer((64,), "float32"), B: T.Buffer((64,), "float32")):
    for i in T.vectorized(64):
        B[i] = T.exp(A[i]) + T.float32(1)
"""
    assert workload(text) == Workload(128, 512)
    assert workload(text, "tir-vectorize-loops") == Workload(128, 512)


def test_elements_that_are_updated_in_place_are_read_and_written() -> None:
    assert workload("""(A: T.Buffer((10,), "float64")):
    for i in range(10):
        A[i] = A[i] * T.float64(3)
""") == Workload(10, 160)


def test_arithmetic_on_indices_does_not_count_but_integer_elements_do() -> None:
    assert workload("""(A: T.Buffer((10,), "int32"), B: T.Buffer((10,), "int32")):
    for i in range(10):
        B[9 - i] = A[(i * 3 + 1) % 10] + 2
""") == Workload(10, 80)


def test_a_part_of_a_buffer_counts_the_elements_that_are_accessed() -> None:
    assert workload("""(A: T.Buffer((1000, 8), "float32"), I: T.Buffer((2,), "int32"), B: T.Buffer((2, 8), "float32")):
    for i, j in T.grid(2, 8):
        B[i, j] = A[I[i], j]
""") == Workload(0, 4 * (16 + 2 + 16))


def test_both_branches_of_a_choice_count() -> None:
    assert workload("""(A: T.Buffer((10,), "float32"), B: T.Buffer((10,), "float32")):
    for i in range(10):
        B[i] = T.if_then_else(i < 5, A[i] + T.float32(1), A[i] * T.float32(2))
""") == Workload(20, 80)


SYMBOLIC = """(a: T.handle, b: T.handle, n: T.int32):
    m = T.int32()
    A = T.match_buffer(a, (n, m), "float32")
    B = T.match_buffer(b, (n,), "float32")
    for i, j in T.grid(n, m):
        B[i] = B[i] + A[i, j]
"""


def test_symbols_and_parameters_have_the_given_values() -> None:
    assert workload(SYMBOLIC, n=5, m=7) == Workload(35, 4 * (35 + 5 + 5))


@pytest.mark.parametrize(
    "text",
    [
        SYMBOLIC,
        """(A: T.Buffer((10, 10), "float32")):
    for i in range(10):
        for j in range(i):
            A[i, j] = T.float32(0)
""",
        """(A: T.Buffer((10,), "float32")):
    for i in range(10):
        A[i] = T.call_extern("float32", "sinf", A[i])
""",
    ],
    ids=["unknown symbols", "loops that depend on loops", "calls"],
)
def test_the_workload_of_other_functions_is_unknown(text: str) -> None:
    assert workload(text) is None


def test_conditions_on_indices_do_not_count_but_conditions_on_elements_do() -> None:
    text = """(A: T.Buffer((10,), "float32"), B: T.Buffer((10,), "float32")):
    for i in range(10):
        B[i] = T.if_then_else({condition}, A[i * 3 // 4 - 1] * T.float32(2), T.float32(0))
"""
    assert workload(text.format(condition="i * 3 // 4 >= 1")) == Workload(10, 80)
    assert workload(text.format(condition="A[i] + T.float32(1) > T.float32(0)")) == Workload(20, 80)

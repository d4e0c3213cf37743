"""Matrix operations of warps in CUDA: the text of kernels, and products on the emulated GPU."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from stepwell import UnsupportedError, build, parse_tvmscript
from stepwell.analysis.threads.fragments import COLUMNS, ROWS
from stepwell.backends.cuda.emulation import compiler
from stepwell.tools.testing.matrix_programs import MatrixProgram

pytestmark = pytest.mark.skipif(compiler() is None, reason="needs g++ and binutils")

PLAIN = MatrixProgram(
    shape=(16, 16, 16),
    dtype="float16",
    sums="float32",
    tiles=(1, 2, 2),
    warps=2,
    layouts=(ROWS, COLUMNS, ROWS),
    pads=(8, 0, 0),
    is_shared=True,
    is_flat=False,
    is_added=False,
    in_lanes=False,
)
PROGRAMS = {
    "plain": PLAIN,
    "half sums": replace(PLAIN, sums="float16", in_lanes=True, is_flat=True),
    "bfloat16": replace(PLAIN, dtype="bfloat16", shape=(8, 32, 16), is_shared=False),
    "integers": replace(PLAIN, dtype="int8", sums="int32", shape=(32, 8, 16), pads=(16, 16, 4), is_added=True),
    "unsigned": replace(PLAIN, dtype="uint8", sums="int32", layouts=(COLUMNS, ROWS, COLUMNS), pads=(0, 0, 0)),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_products_have_the_results_of_numpy(name: str) -> None:
    program = PROGRAMS[name]
    a, b, c = program.arguments(seed=0)
    expected = program.results(a, b, c)
    build(parse_tvmscript(program.text()), target="cuda-emulated")(a, b, c)
    np.testing.assert_array_equal(c, expected)


def test_kernels_use_the_functions_of_cuda() -> None:
    lines = build(parse_tvmscript(PLAIN.text()), target="cuda-emulated").source("cuda").splitlines()
    text = [line.strip() for line in lines]
    scope = "nvcuda::wmma::"
    assert "#include <mma.h>" in text
    assert f"{scope}fragment<{scope}matrix_b, 16, 16, 16, __half, {scope}col_major> Bf[2];" in text
    assert f"{scope}fragment<{scope}accumulator, 16, 16, 16, float> Cf[2];" in text
    assert "__shared__ __align__(32) __half As[1280];" in text
    assert f"{scope}load_matrix_sync(Af[0], &As[ty * 16 * 40 + k * 16], 40);" in text
    assert f"{scope}mma_sync(Cf[j], Af[0], Bf[j], Cf[j]);" in text
    assert f"{scope}store_matrix_sync(&C[ty * 16 * 32 + j * 16], Cf[j], 32, {scope}mem_row_major);" in text


@pytest.mark.parametrize("target", ["python", "cuda-emulated"])
def test_memory_may_have_a_last_dimension_of_one_element(target: str) -> None:
    text = """
@T.prim_func
def main(A: T.Buffer((256, 1), "float32")):
    for bx in T.thread_binding(1, thread="blockIdx.x"):
        F = T.alloc_buffer((16, 16), scope="wmma.accumulator")
        for tx in T.thread_binding(32, thread="threadIdx.x"):
            T.tvm_fill_fragment(F.data, 16, 16, 16, 0, 1.0)
            T.tvm_store_matrix_sync(F.data, 16, 16, 16, 0, T.address_of(A[0, 0]), 16, "row_major")
"""
    a = np.zeros((256, 1), np.float32)
    build(parse_tvmscript(text), target=target)(a)
    np.testing.assert_array_equal(a, 1)


SINGLE = """
@T.prim_func
def main(A: T.Buffer((16, 16), "float32")):
    for bx in T.thread_binding(1, thread="blockIdx.x"):
        F = T.alloc_buffer((16, 16), scope="wmma.accumulator")
        for tx in T.thread_binding({threads}, thread="threadIdx.x"):
            T.tvm_fill_fragment(F.data, 16, 16, 16, 0, 1.0)
            {statement}
            T.tvm_store_matrix_sync(F.data, 16, 16, 16, 0, T.address_of(A[0, {column}]), 16, "row_major")
"""


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"statement": "F[0, tx % 16] = 2.0"}, "an element of F in memory 'wmma.accumulator'"),
        ({"threads": 64}, "a warp computes matrices together: expected 32 threads of threadIdx.x, got 64"),
        ({"column": "tx"}, "differs between the threads of a warp, or not all of them come"),
        (
            {"statement": "if tx < 8:\n                T.tvm_fill_fragment(F.data, 16, 16, 16, 0, 1.0)"},
            "differs between the threads of a warp, or not all of them come",
        ),
    ],
)
def test_operations_of_a_part_of_a_warp_are_rejected(changes: dict[str, object], expected: str) -> None:
    text = SINGLE.format(**{"threads": 32, "column": 0, "statement": "pass", **changes})
    with pytest.raises(UnsupportedError, match=expected):
        build(parse_tvmscript(text), target="cuda-emulated")


TILES = """
@T.prim_func
def main(A: T.Buffer((32, 512), "float32")):
    for bx in T.thread_binding(1, thread="blockIdx.x"):
        for tx in T.thread_binding(32, thread="threadIdx.x"):
            F = T.alloc_buffer((32, 512), scope="wmma.accumulator")
            for i, j in T.grid(2, 32):
                n = T.int32()
                C = T.match_buffer(
                    F[i * 16:i * 16 + 16, j * 16:j * 16 + 16], (16, 16), elem_offset=n, scope="wmma.accumulator"
                )
                T.tvm_fill_fragment(C.data, 16, 16, 16, n // 256 + n % 256 // 16, T.cast(i * 32 + j, "float32"))
            for i, j in T.grid(2, 32):
                T.tvm_store_matrix_sync(
                    F.data, 16, 16, 16, i * 32 + j, T.address_of(A[i * 16, j * 16]), 512, "row_major"
                )
"""


def test_the_offset_of_a_tile_without_strides_counts_whole_tiles() -> None:
    a = np.zeros((32, 512), np.float32)
    build(parse_tvmscript(TILES), target="cuda-emulated")(a)
    np.testing.assert_array_equal(a, np.kron(np.arange(64).reshape(2, 32), np.ones((16, 16))))

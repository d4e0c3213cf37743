"""Explicit shuffles in emulated CUDA kernels."""

from __future__ import annotations

import numpy as np
import pytest

from stepwell import UnsupportedError, build
from stepwell.backends.cuda.emulation import compiler
from stepwell.backends.oracle import compile_oracle
from stepwell.core.dtypes import numpy_dtype
from stepwell.frontends.tvmscript import parse_tvmscript

pytestmark = pytest.mark.skipif(compiler() is None, reason="needs g++ and binutils")

DTYPES = ("bool", "int8", "int16", "int32", "int64", "uint8", "uint32", "uint64", "float16", "bfloat16", "float32",
          "float64")  # fmt: skip
MODES = {
    "": lambda lane, n, width: lane - lane % width + n % width,
    "_up": lambda lane, n, width: np.where(lane % width - n >= 0, lane - n, lane),
    "_down": lambda lane, n, width: np.where(lane % width + n < width, lane + n, lane),
}
WIDTHS = (32, 8)


ROWS = [(mode, width) for mode in MODES for width in WIDTHS]


def program(*dtypes: str) -> str:
    """A function for each type, with a row for each mode and width. Warp w reads lane 5 + w, or the lane at distance 5
    + w."""
    text = "@I.ir_module\nclass Module:\n"
    for dtype in dtypes:
        text += f"""
    @T.prim_func
    def {dtype}(A: T.Buffer((128,), "{dtype}"), B: T.Buffer(({len(ROWS)}, 128), "{dtype}")):
        for b in T.thread_binding(1, thread="blockIdx.x"):
            for y in T.thread_binding(8, thread="threadIdx.y"):
                for x in T.thread_binding(16, thread="threadIdx.x"):
"""
        for row, (mode, width) in enumerate(ROWS):
            call = f"T.tvm_warp_shuffle{mode}(T.tvm_warp_activemask(), A[y * 16 + x], 5 + y // 2, {width}, 32)"
            text += f"                    B[{row}, y * 16 + x] = {call}\n"
    return text


def test_shuffles_of_every_type() -> None:
    module = parse_tvmscript(program(*DTYPES))
    lib, oracle = build(module, target="cuda-emulated"), compile_oracle(module)
    lanes = np.arange(128)
    sources = np.array([MODES[mode](lanes, 5 + lanes // 32, width) for mode, width in ROWS])
    for dtype in DTYPES:
        numbers = np.random.default_rng(0).integers(0, 100, 128)
        a = (numbers % 2 if dtype == "bool" else numbers).astype(numpy_dtype(dtype))
        expected, got = (np.zeros(sources.shape, a.dtype) for _ in range(2))
        oracle[dtype](a, expected)
        lib[dtype](a, got)
        for made in (expected, got):
            np.testing.assert_array_equal(made, a[sources], err_msg=dtype)


def test_shuffles_of_a_part_of_the_threads_are_no_kernel() -> None:
    indent = " " * 20
    text = program("int32").replace(f"{indent}B[0", f"{indent}if x < 8:\n{indent}    B[0")
    with pytest.raises(UnsupportedError, match=r"lanes exchange values where not all threads of the block come"):
        build(parse_tvmscript(text), target="cuda-emulated")


def test_a_program_for_the_processor_has_no_lanes() -> None:
    text = 'def main(A: T.Buffer((1,), "int32")):\n    A[0] = T.tvm_warp_shuffle(T.uint32(1), A[0], 0, 32, 32)'
    with pytest.raises(UnsupportedError, match="target llvm has no threads"):
        build(parse_tvmscript("@T.prim_func\n" + text), target="llvm")

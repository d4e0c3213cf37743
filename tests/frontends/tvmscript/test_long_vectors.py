"""Vectors of `vload` and `vstore` that are longer than the last dimension of their buffer."""

import platform

import numpy as np
import pytest

import stepwell
from stepwell.tools.testing.execution import oracle_results


@pytest.mark.parametrize("start", ["[0, 0, 0]", "[1, 1, 0]", "[2, 0, 0]"])
def test_vectors_continue_in_the_next_rows(start: str) -> None:
    mod = stepwell.parse_tvmscript(f"""
@T.prim_func
def main(A: T.Buffer((4, 2, 4), "int32"), B: T.Buffer((4, 2, 4), "int32")):
    B.vstore({start}, A.vload({start}, dtype="int32x16") * T.Broadcast(3, 16))
""")
    a, b = np.arange(32, dtype="int32").reshape(4, 2, 4), np.zeros((4, 2, 4), "int32")
    first = int(np.ravel_multi_index(eval(start), a.shape))
    if first + 16 > 32:
        with pytest.raises(stepwell.StepwellError, match="accessed out of bounds"):
            stepwell.build(mod, "llvm")
        return
    expected = b.copy()
    expected.reshape(-1)[first : first + 16] = 3 * a.reshape(-1)[first : first + 16]
    np.testing.assert_array_equal(oracle_results(mod, {"A": a, "B": b})["B"], expected)
    program = stepwell.build(mod, "llvm")
    program["main"](a, b)
    np.testing.assert_array_equal(b, expected)


@pytest.mark.skipif(platform.machine() != "x86_64", reason="shows instructions of x86-64")
def test_a_long_vector_is_one_access() -> None:
    mod = stepwell.parse_tvmscript("""
@T.prim_func
def main(A: T.Buffer((16, 4), "int8"), B: T.Buffer((64,), "int8")):
    B[0:64] = A.vload([0, 0], dtype="int8x64")
""")
    text = stepwell.build(mod, "llvm -mcpu=skylake-avx512").source("asm")
    assert "vmovups\t(%rdi), %zmm" in text
    assert "vpinsrb" not in text

"""Kernels on every data type, with calls of C functions: the emulation is bitwise equal to the oracle."""

from __future__ import annotations

import numpy as np
import pytest

from stepwell import Schedule, build
from stepwell.backends.cuda.build import cuda_source
from stepwell.backends.cuda.emulation import compiler
from stepwell.core.dtypes import SCALAR_DTYPES, SMALL_FLOATS, numpy_dtype, parse_dtype
from stepwell.frontends.tvmscript import parse_tvmscript
from stepwell.module import Module
from stepwell.tools.testing.comparison import same

emulated = pytest.mark.skipif(compiler() is None, reason="needs g++ and binutils")

INTEGERS: tuple[str, ...] = ("int2", "uint2", "int4", "uint4")


def program(dtypes: list[str], expression: str) -> str:
    """A kernel with `O0[i] = expression` of `A0[i]` and `B0[i]` for the first data type `T`, and so on for each data
    type."""
    names = [f"{letter}{n}" for n in range(len(dtypes)) for letter in "ABO"]
    buffers = ", ".join(f'{name}: T.Buffer((256,), "{dtypes[int(name[1:])]}")' for name in names)
    lines = ["@T.prim_func", f"def main({buffers}):", '    for i in T.thread_binding(256, thread="threadIdx.x"):']
    for n, dtype in enumerate(dtypes):
        text = expression.replace("$a", f"A{n}[i]").replace("$b", f"B{n}[i]").replace("$t", f'"{dtype}"')
        lines.append(f"        O{n}[i] = {text}")
    return "\n".join(lines) + "\n"


def values(dtype: str, seed: int) -> np.ndarray:
    """Random values of a type of at most a byte; the unused high bits are zero, as in numpy's arrays."""
    bits = np.random.default_rng(seed).integers(0, 2 ** parse_dtype(dtype).bits, 256, dtype=np.uint8)
    return bits.view(numpy_dtype(dtype))


def both(module: Module, arrays: list[np.ndarray]) -> None:
    ours, expected = ([array.copy() for array in arrays] for _ in range(2))
    build(module, target="cuda-emulated")(*ours)
    with np.errstate(all="ignore"):
        build(module, target="python")(*expected)
    for a, b in zip(ours, expected, strict=True):
        assert same(a, b), (a, b)


def arrays(dtypes: list[str]) -> list[np.ndarray]:
    return [values(dtype, 3 * n + k) for n, dtype in enumerate(dtypes) for k in range(3)]


@emulated
def test_small_floats_are_computed_in_kernels() -> None:
    dtypes = list(SMALL_FLOATS)
    text = program(dtypes, 'T.max($a * $b + $a, T.Cast($t, T.Cast("float64", $b) * T.float64(0.3)))')
    both(parse_tvmscript(text), arrays(dtypes))


@emulated
def test_small_integers_are_computed_in_kernels() -> None:
    dtypes = list(INTEGERS)
    text = program(dtypes, "T.max(($a * $b - $a) // T.max($b, T.Cast($t, 1)), T.truncmod($a, $b | T.Cast($t, 1)))")
    both(parse_tvmscript(text), arrays(dtypes))


def test_of_small_integers_what_lies_above_is_not_read() -> None:
    text = program(["int4", "uint2"], "$a")
    text = text.replace('O0: T.Buffer((256,), "int4")', 'O0: T.Buffer((256,), "int32")')
    text = text.replace("O0[i] = A0[i]", 'O0[i] = T.Cast("int32", A0[i])')
    source = cuda_source(parse_tvmscript(text))
    assert "(unsigned char)(A0[i] & 0xf)" in source.replace("tx", "i")
    assert "O1[i] = (unsigned char)(A1[i] & 0x3);" in source.replace("tx", "i")


VECTORS = """
@T.prim_func
def main(A: T.Buffer((64,), "{small}"), B: T.Buffer((64,), "{small}"), S: T.Buffer((16,), "{small}")):
    for i in range(64):
        with T.block("B"):
            vi = T.axis.spatial(64, i)
            B[vi] = A[vi] + A[vi]
    for i, k in T.grid(16, 4):
        with T.block("S"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                S[vi] = T.Cast("{small}", 0)
            S[vi] = S[vi] + B[vi * 4 + vk]
"""


@emulated
@pytest.mark.parametrize("small", ["float8_e5m2", "int4"])
def test_vectors_and_reductions_of_small_types(small: str) -> None:
    sch = Schedule(parse_tvmscript(VECTORS.format(small=small)))
    outer, inner = sch.split(sch.get_loops(sch.get_block("B"))[0], [None, 4])
    sch.bind(outer, "threadIdx.x")
    sch.vectorize(inner)
    sch.bind(sch.get_loops(sch.get_block("S"))[0], "threadIdx.x")
    both(sch.mod, [values(small, 0)[:64].copy(), np.zeros(64, numpy_dtype(small)), np.zeros(16, numpy_dtype(small))])
    assert "uchar4" in cuda_source(sch.mod)


SCALARS = """
@T.prim_func
def main(x: T.float8_e4m3fn, y: T.int4, A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "int32")):
    for i in T.thread_binding(8, thread="threadIdx.x"):
        A[i] = T.Cast("float32", x * x)
        B[i] = T.Cast("int32", y)
"""


@emulated
def test_scalars_of_small_types_are_given_to_kernels() -> None:
    library = build(parse_tvmscript(SCALARS), target="cuda-emulated")
    a, b = np.zeros(8, "f4"), np.zeros(8, "i4")
    library(numpy_dtype("float8_e4m3fn").type(-1.5), -3, a, b)
    assert a.tolist() == [2.25] * 8
    assert b.tolist() == [-3] * 8


LIBRARY = """
@T.prim_func
def main(A: T.Buffer((64,), "float32"), B: T.Buffer((64,), "float64"), C: T.Buffer((64,), "float32")):
    for i in T.thread_binding(64, thread="threadIdx.x"):
        C[i] = T.fmod(A[i], T.Cast("float32", B[i])) + T.hypot(A[i], A[i]) + T.ldexp(A[i], 3)
        B[i] = T.fmod(B[i], T.float64(0.7))
    for i in T.thread_binding(64, thread="threadIdx.x"):
        A[i] = T.fmod(A[i], T.float32(2.5))
"""


@emulated
def test_functions_of_c_are_called_in_kernels() -> None:
    rng = np.random.default_rng(0)
    numbers = [rng.standard_normal(64).astype(kind) * 9 for kind in ("f4", "f8")]
    module = parse_tvmscript(LIBRARY)
    both(module, [*numbers, np.zeros(64, "f4")])
    assert "fmodf(" in cuda_source(module)
    assert "fmod" not in build(module, target="cuda-emulated").source("llvm")  # the host does not call it


@emulated
def test_every_data_type_is_copied_and_converted() -> None:
    """Converts every type to float32 and back."""
    dtypes = [dtype for dtype in SCALAR_DTYPES if dtype != "float8_e8m0fnu"]  # the type has no zero
    lines = ["@T.prim_func", f"def main({', '.join(f'A{n}: T.Buffer((4,), {d!r})' for n, d in enumerate(dtypes))}):"]
    lines += ['    for i in T.thread_binding(4, thread="threadIdx.x"):']
    lines += [f'        A{n}[i] = T.Cast("{d}", T.Cast("float32", A{n}[i]))' for n, d in enumerate(dtypes)]
    both(parse_tvmscript("\n".join(lines) + "\n"), [np.array([0, 1, 1, 0]).astype(numpy_dtype(d)) for d in dtypes])

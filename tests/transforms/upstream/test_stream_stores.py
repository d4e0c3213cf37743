"""`stream-stores`: results at every alignment, the conditions of streaming stores, and the target."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from xdsl.dialects import arith, vector
from xdsl.ir import Operation

from stepwell import apply_passes, build, parse_mlir, parse_tvmscript
from stepwell.core.cpu import CPU_MODELS, host_cpu
from stepwell.core.remarks import collect_remarks
from stepwell.module import Module
from stepwell.transforms.pipelines import lower

ROWS = """
@T.prim_func
def main(A: T.Buffer(({rows}, {columns}), "{dtype}"), B: T.Buffer(({rows}, {columns}), "{dtype}")):
    for i in T.{outer}({rows}):
        for j in range({groups}):
            for v in T.vectorized({lanes}):
                if j * {lanes} + v < {columns}:
                    B[i, j * {lanes} + v] = A[i, j * {lanes} + v] + A[i, j * {lanes} + v]
"""


def streamed(op: Operation) -> bool:
    """Whether an op is a streaming store."""
    return isinstance(op, vector.StoreOp) and op.nontemporal is not None and bool(op.nontemporal)


def streams(module: Module) -> int:
    """The number of streaming stores of a module."""
    return sum(map(streamed, module.op.walk()))


def stream(module: Module) -> Module:
    """A program in which every possible store streams, lowered without the option of the target."""
    return apply_passes(lower(module, cpu=CPU_MODELS["neon"]), "stream-stores{from-bytes=16}")


def shifted(shape: tuple[int, ...], dtype: str, elements: int) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """An array of zeros at an address that is a number of elements after a multiple of 64 bytes, and the bytes of the
    memory around it."""
    size = np.dtype(dtype).itemsize
    count = int(np.prod(shape)) * size
    memory = np.zeros(count + 64 + 20 * size + 64, np.uint8)
    start = -memory.ctypes.data % 64 + elements * size
    return memory[start : start + count].view(dtype).reshape(shape), memory


@given(
    rows=st.integers(1, 3),
    columns=st.integers(1, 70),
    lanes=st.sampled_from((2, 4, 8, 16, 32, 48)),
    dtype=st.sampled_from(("float32", "float64", "int16", "int8", "float16")),
    outer=st.sampled_from(("serial", "parallel")),
    shift=st.integers(0, 20),
)
def test_arrays_at_every_address_have_the_same_result(
    rows: int, columns: int, lanes: int, dtype: str, outer: str, shift: int
) -> None:
    text = ROWS.format(rows=rows, columns=columns, lanes=lanes, groups=-(-columns // lanes), dtype=dtype, outer=outer)
    main = build(stream(parse_tvmscript(text)))["main"]
    a = np.arange(rows * columns, dtype=dtype).reshape(rows, columns)
    b, memory = shifted(a.shape, dtype, shift)
    main(a, b)
    np.testing.assert_array_equal(b, a + a)
    assert np.count_nonzero(memory) == np.count_nonzero((a + a).view(np.uint8))  # no byte outside of the array


@pytest.mark.parametrize("outer", ["serial", "parallel"])
@pytest.mark.parametrize(("dtype", "lanes"), [("float32", 16), ("float64", 2), ("int8", 16), ("float16", 8)])
def test_whole_rows_are_streamed(dtype: str, lanes: int, outer: str) -> None:
    text = ROWS.format(rows=4, columns=64, lanes=lanes, groups=64 // lanes, dtype=dtype, outer=outer)
    assert streams(stream(parse_tvmscript(text))) == 1


def test_a_stored_vector_is_not_read_from_memory_first() -> None:
    text = ROWS.format(rows=4096, columns=2048, lanes=16, groups=128, dtype="float32", outer="serial")
    program = build(parse_tvmscript(text))
    assert ("!nontemporal" in program.source("llvm")) == host_cpu().streaming


def test_the_processor_decides() -> None:
    text = ROWS.format(rows=4096, columns=2048, lanes=16, groups=128, dtype="float32", outer="serial")
    module = parse_tvmscript(text)
    assert streams(lower(module)) == 1
    assert not streams(lower(module, cpu=CPU_MODELS["neon"]))


LOOP = """
func.func @main(%a: memref<{type}>, %b: memref<4096xf32>, %n: index) {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c4 = arith.constant 4 : index
  %c8 = arith.constant 8 : index
  %c64 = arith.constant 64 : index
  %c1024 = arith.constant 1024 : index
  %p = arith.cmpi slt, %n, %c4 : index
  %v = arith.constant dense<1.0> : vector<{lanes}xf32>
  scf.for %i = %c0 to {count} step %c1 {{
    scf.for %j = {low} to {high} step {step} {{
{body}
    }}
  }}
  func.return
}}
"""
STORE = "%k = arith.muli %i, %c1024 : index %l = arith.addi %k, %j : index vector.store %v, %a[%l] : {} "
VALUES = {"type": "4096xf32", "lanes": 4, "count": "%c4", "low": "%c0", "high": "%c1024", "step": "%c4"}
"""A loop nest that is streamed with the body STORE."""


def reasons(body: str, **values: Any) -> list[str]:
    """The reasons for which a loop nest is not streamed."""
    chosen = VALUES | values
    type = f"memref<{chosen['type']}>, vector<{chosen['lanes']}xf32>"
    module = parse_mlir(LOOP.format(body=body.replace("{}", type), **chosen))
    with collect_remarks() as remarks:
        result = apply_passes(module, "stream-stores{from-bytes=4096}")
    assert streams(result) == sum(each.kind == "applied" for each in remarks)
    return [each.message.split("caches: ")[1] for each in remarks if each.kind == "missed"]


def test_the_outer_loop_may_have_an_unknown_number_of_iterations() -> None:
    assert reasons(STORE, count="%n") == []


def test_a_loop_nest_is_streamed() -> None:
    assert reasons(STORE) == []
    assert reasons(STORE, low="%c8", high="%c1024") == []


ADDS = " ".join(f"%v{n + 1} = arith.addf %v{n}, %v{n} : vector<4xf32>" for n in range(9))


@pytest.mark.parametrize(
    ("body", "values", "reason"),
    [
        (f"{STORE} %m = memref.load %a[%l] : memref<4096xf32>", {}, "it has other uses, memref.load"),
        (STORE, {"lanes": 2, "step": "%c2"}, "a vector of 8 bytes, expected a power of 2 from 16 on"),
        (STORE, {"lanes": 24}, "a vector of 96 bytes, expected a power of 2 from 16 on"),
        (f"scf.if %p {{ {STORE} }}", {}, "the stores are not directly in a loop"),
        (f"scf.for %q = %c0 to %c4 step %c1 {{ }} {STORE}", {}, "the loop has loops or branches inside"),
        (
            f"%v0 = vector.load %b[%j] : memref<4096xf32>, vector<4xf32> {ADDS} {STORE}",
            {},
            "9 operations for 1 vectors, expected at most 8 for each",
        ),
        (STORE, {"high": "%n"}, "the loops store elements more than once"),
        (STORE, {"step": "%n"}, "a loop has an unknown step, or is a while loop"),
        (STORE, {"step": "%c8"}, "an iteration stores 16 bytes, the next one begins 32 bytes later"),
        (STORE, {"step": "%c2"}, "an iteration stores 16 bytes, the next one begins 8 bytes later"),
        (STORE, {"high": "%c64"}, "256 consecutive bytes, expected at least 1024"),
        (STORE, {"low": "%c2"}, "the offsets are not known to be multiples of 16 bytes"),
        (STORE.replace("%c1024", "%c64"), {}, "the loops store elements more than once"),
        ("vector.store %v, %a[%j] : {}", {}, "the loops store elements more than once"),
        (STORE.replace("%i, ", "%n, "), {}, "the index is not a sum of multiples of loop variables"),
        (f"{STORE} vector.store %v, %a[%c0] : {{}}", {}, "the vectors of an iteration are not consecutive"),
        (STORE, {"type": "4096xf32, strided<[1], offset: 2>"}, "it has strides of its own"),
    ],
)
def test_a_loop_nest_is_not_streamed(body: str, values: dict[str, Any], reason: str) -> None:
    assert set(reasons(body, **values)) == {reason}


def test_buffers_of_dynamic_or_small_size_are_not_considered() -> None:
    assert reasons(STORE, type="?xf32") == []
    text = LOOP.format(body=STORE.replace("{}", "memref<4096xf32>, vector<4xf32>"), **VALUES)
    module = parse_mlir(text)
    assert not streams(apply_passes(module, "stream-stores"))
    assert not any(isinstance(op, arith.RemUIOp) for op in apply_passes(module, "stream-stores").op.walk())

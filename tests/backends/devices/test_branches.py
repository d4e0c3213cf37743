"""Programs whose host code branches on values in device memory: the host copies the value and waits for it."""

from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import stepwell
from stepwell import Device, ExecutionError, nd, parse_tvmscript
from stepwell.backends.runtime import Program

LOOPS = """
@T.prim_func
def main(a: T.handle, b: T.handle, N: T.Buffer((2, 3), "int32"), flag: T.Buffer((), "bool")):
    n = T.int32()
    A = T.match_buffer(a, (n,), "float32", strides=(2,))
    B = T.match_buffer(b, (n,), "float32")
    for t in range(N[1, 2]):
        if flag[()] and A[t] > T.float32(0):
            for bx in T.thread_binding(N[0, 0], thread="blockIdx.x"):
                for tx in T.thread_binding(1, thread="threadIdx.x"):
                    B[bx] = B[bx] + A[t]
    while B[0] < T.float32(10):
        for tx in T.thread_binding(8, thread="threadIdx.x"):
            if tx < n:
                B[tx] = B[tx] + T.float32(1)
"""
TYPED = """
@T.prim_func
def main(A: T.Buffer((4,), "{dtype}"), B: T.Buffer((1,), "int32")):
    if A[2] > T.cast(1, "{dtype}"):
        for tx in T.thread_binding(1, thread="threadIdx.x"):
            B[0] = 1
    else:
        for tx in T.thread_binding(1, thread="threadIdx.x"):
            B[0] = 2
"""
VIEWS = """
@T.prim_func
def main(A: T.Buffer((8,), "float32"), B: T.Buffer((1,), "int32")):
    V = T.decl_buffer((), "float32", data=A.data, elem_offset=3)
    W = T.decl_buffer((2, 4), "int32", data=A.data)
    if V[()] > T.float32(0) and W[1, 2] == 0:
        for tx in T.thread_binding(1, thread="threadIdx.x"):
            B[0] = 1
"""
CHOOSES = """
@T.prim_func
def main(A: T.Buffer((4,), "int32"), B: T.Buffer((1,), "float32")):
    if A[A[0]] > 0:
        for tx in T.thread_binding(1, thread="threadIdx.x"):
            B[0] = T.float32(1)
"""


def build(device: Device, text: str) -> Program:
    target = "cuda" if device.kind == "cuda" else "cuda-emulated"
    return stepwell.build(parse_tvmscript(text), target=target)


@pytest.mark.parametrize("flag", [False, True])
def test_bounds_conditions_and_numbers_of_blocks_are_copied(device: Device, tmp_path: Path, flag: bool) -> None:
    whole = np.array([1, 9, -1, 9, 2, 9, 3, 9, 4, 9, 5, 9], "float32")
    counts = np.full((2, 3), 2, "int32")
    counts[1, 2] = 5
    expected = np.zeros(6, "float32")
    stepwell.build(parse_tvmscript(LOOPS), target="python")(whole[::2], expected, counts, np.asarray(flag))
    build(device, LOOPS).export(tmp_path / "out")
    lib = Program.load(tmp_path / "out")
    on_device = nd.array(whole, device)
    assert isinstance(on_device, nd.DeviceArray)
    a = nd.DeviceArray(device, on_device.layout[::2], on_device)
    b = nd.array(np.zeros(6, "float32"), device)
    with device.stream():
        lib(a, b, nd.array(counts, device), nd.array(np.asarray(flag), device))
        np.testing.assert_array_equal(b.numpy(), expected)


@pytest.mark.parametrize("dtype", ["bfloat16", "float16", "float64", "float8_e4m3fn", "int4", "uint8", "int64"])
def test_the_host_branches_on_any_type(device: Device, dtype: str) -> None:
    lib, b = build(device, TYPED.format(dtype=dtype)), nd.array(np.zeros(1, "int32"), device)
    for number, expected in ((2, 1), (1, 2)):
        a = np.array([1, 1, number, 1]).astype(np.dtype(getattr(ml_dtypes, dtype, dtype)))
        lib(nd.array(a, device), b)
        assert b.numpy().tolist() == [expected]


@pytest.mark.parametrize(("place", "expected"), [(3, 1), (0, 0)])
def test_the_host_looks_at_parts_of_buffers(device: Device, place: int, expected: int) -> None:
    a = np.zeros(8, "float32")
    a[place] = 1
    b = nd.array(np.zeros(1, "int32"), device)
    build(device, VIEWS)(nd.array(a, device), b)
    assert b.numpy().tolist() == [expected]


def test_an_element_that_is_not_there(device: Device) -> None:
    if device.kind == "cuda":
        pytest.skip("no driver looks at this")
    lib: Any = build(device, CHOOSES)
    with pytest.raises(ExecutionError, match="main: A: out of bounds: the host reads 4 bytes outside of every buffer"):
        lib(nd.array(np.array([1000, 0, 0, 0], "int32"), device), nd.array(np.zeros(1, "float32"), device))

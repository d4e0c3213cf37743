"""Programs on devices: results, arguments, files."""

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import stepwell
from stepwell import ArgumentError, Device, DeviceError, ExecutionError, OptionError, UnsupportedError, nd
from stepwell.backends.devices import timing
from stepwell.backends.runtime import Program

ADD = """
@T.prim_func
def main(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32"), C: T.Buffer((8,), "float32")):
    T.func_attr({"tir.noalias": True})
    for i in range(8):
        with T.block("C"):
            vi = T.axis.spatial(8, i)
            C[vi] = A[vi] + B[vi]
"""
# Two kernels with an intermediate buffer, small enough for the stack of a CPU program.
CHAIN = """
@T.prim_func
def main(A: T.Buffer((8,), "float32"), C: T.Buffer((8,), "float32")):
    T.func_attr({"tir.noalias": True})
    B = T.alloc_buffer((8,), "float32")
    for i in range(8):
        with T.block("B"):
            vi = T.axis.spatial(8, i)
            B[vi] = A[vi] * 2.0
    for i in range(8):
        with T.block("C"):
            vi = T.axis.spatial(8, i)
            C[vi] = B[7 - vi]
"""
SYMBOLIC = """
@T.prim_func
def main(a: T.handle, b: T.handle, x: T.float32):
    n = T.int32()
    A = T.match_buffer(a, (n,), "float32")
    B = T.match_buffer(b, (n,), "float32")
    for i in range(n):
        with T.block("B"):
            vi = T.axis.spatial(n, i)
            B[vi] = A[vi] * x
"""
VALUES = np.arange(8, dtype=np.float32)


@pytest.fixture
def add(build_on: Callable[..., Program]) -> Program:
    return build_on(ADD)


@pytest.fixture
def arrays(device: Device) -> Callable[[int], list[nd.NDArray]]:
    return lambda count: [nd.array(VALUES, device) for _ in range(count)]


def test_kernels_compute_on_the_device(add: Program, arrays: Any) -> None:
    a, b, c = arrays(3)
    add(a, b, c)
    np.testing.assert_array_equal(c.numpy(), VALUES * 2)
    add(a, a, c)  # both are read
    add(c, a, b)
    np.testing.assert_array_equal(b.numpy(), VALUES * 3)


def test_the_program_is_shown(add: Program, device: Device) -> None:
    assert "__global__ void __launch_bounds__(4) main_kernel(" in add.source("cuda")
    assert "stepwell_gpu" in add.source("llvm")
    if device.kind == "cuda":
        assert ".entry main_kernel" in add.source("ptx")


def test_memory_between_kernels_is_of_the_device(build_on: Any, arrays: Any) -> None:
    chain = build_on(CHAIN)
    a, c = arrays(2)
    for _ in range(3):
        chain(a, c)
    np.testing.assert_array_equal(c.numpy(), VALUES[::-1] * 2)


def test_functions_of_a_module_launch_their_own_kernels(device: Device, build_on: Any, arrays: Any) -> None:
    two = ADD.replace("def main", "def add").replace('"C"', '"D"') + CHAIN.replace("def main", "def chain")
    lib = _two(device, two)
    a, b, c = arrays(3)
    lib["add"](a, b, c)
    np.testing.assert_array_equal(c.numpy(), VALUES * 2)
    lib["chain"](a, c)
    np.testing.assert_array_equal(c.numpy(), VALUES[::-1] * 2)


def _two(device: Device, text: str) -> Program:
    sch = stepwell.Schedule(stepwell.parse_tvmscript(text))
    for function, blocks in (("add", "D"), ("chain", "BC")):
        for block in blocks:
            sch.bind(sch.get_loops(sch.get_block(block, func_name=function))[0], "threadIdx.x")
    return stepwell.build(sch.mod, target="cuda" if device.kind == "cuda" else "cuda-emulated")


@pytest.mark.parametrize("size", [0, 1, 7, 64])
def test_sizes_and_numbers_are_given_by_the_call(device: Device, build_on: Any, size: int) -> None:
    lib = build_on(SYMBOLIC)
    a, b = nd.array(np.arange(size, dtype=np.float32), device), nd.empty((size,), "float32", device)
    lib(a, b, 3.0)
    np.testing.assert_array_equal(b.numpy(), np.arange(size, dtype=np.float32) * 3)


def test_launches_of_several_threads_and_streams(add: Program, arrays: Any, device: Device) -> None:
    sets = [arrays(3) for _ in range(4)]

    def work(n: int) -> None:
        with device.stream() as stream:
            for _ in range(5):
                add(*sets[n])
            stream.sync()

    threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    for _, _, c in sets:
        np.testing.assert_array_equal(c.numpy(), VALUES * 2)


def test_time_is_measured_on_the_device(add: Program, arrays: Any) -> None:
    found = add["main"].time_evaluator(number=2, repeat=3)(*arrays(3))
    assert len(found.results) == 3
    assert 0 < found.min <= found.median <= found.max
    with pytest.raises(OptionError, match="number: 0, expected a number of at least 1"):
        add["main"].time_evaluator(number=0)(*arrays(3))


def test_calls_of_a_measurement_end_on_the_emulated_gpu(arrays: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    mod = stepwell.parse_tvmscript(ADD.replace("A[vi] + B[vi]", "C[vi] + A[vi]"))
    add = stepwell.build(mod, target="cuda-emulated")
    monkeypatch.setattr(timing, "EMULATED_SECONDS", 0.0)
    a, b, c = arrays(3)
    before = c.numpy()
    found = add["main"].time_evaluator(number=100, repeat=3, min_repeat_ms=1000)(a, b, c)
    assert found.results == (found.mean,) * 3
    np.testing.assert_array_equal(c.numpy(), before + VALUES)


def test_time_is_measured_on_this_machine() -> None:
    lib = stepwell.build(stepwell.parse_tvmscript(ADD))
    found = lib["main"].time_evaluator(number=1, repeat=2, min_repeat_ms=1)(VALUES, VALUES, VALUES.copy())
    assert len(found.results) == 2


def test_programs_are_saved(add: Program, arrays: Any, tmp_path: Path) -> None:
    for name in ("folder", "file.tar"):
        add.export(tmp_path / name)
        loaded = Program.load(tmp_path / name)
        a, b, c = arrays(3)
        loaded(a, b, c)
        np.testing.assert_array_equal(c.numpy(), VALUES * 2)
        assert loaded.source("cuda") == add.source("cuda")
        with pytest.raises(ArgumentError, match="argument A"):
            loaded(VALUES[:7], b, c)


# Arguments


def test_arrays_of_this_machine_are_not_on_a_gpu(device: Device, build_on: Any, arrays: Any) -> None:
    lib = build_on(ADD)
    a, b, _ = arrays(3)
    with pytest.raises(ArgumentError, match=f"argument C: expected an array on {device.kind}, got an array of numpy's"):
        lib["main"].bind(a, b, VALUES)
    if device.kind == "cuda":
        with pytest.raises(ArgumentError, match=r"stepwell.nd.array\(x, stepwell.cuda\(0\)\) is a copy on the device"):
            lib(a, b, VALUES)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda a: nd.array(VALUES[:7], a.device), r"argument B: expected shape \(8,\), got \(7,\)"),
        (lambda a: nd.array(VALUES.astype("int32"), a.device), "argument B: expected elements of type float32"),
        (lambda a: nd.DeviceArray(a.device, nd.array(np.arange(16.0, dtype="f4"), a.device).layout[::2], a),
         "argument B: expected a C-contiguous array"),
        (lambda a: a, "arguments B and C must not overlap"),
        (lambda a: "x", "argument B: expected an array of float32, got str 'x'"),
        (lambda a: nd.array(VALUES), r"argument B: expected an array on cuda.*, got one on cpu\(0\)"),
    ],
)  # fmt: skip
def test_arguments_are_checked(add: Program, arrays: Any, make: Any, message: str) -> None:
    a, c = arrays(2)
    if "got one on cpu" in message and a.device.kind == "cuda_emulated":
        pytest.skip("copied there")
    with pytest.raises(ArgumentError, match=message):
        add(a, make(c), c)
    with pytest.raises(ArgumentError, match="expected 3 arguments"):
        add(a, c)


def test_vectors_ask_for_aligned_memory(device: Device) -> None:
    sch = stepwell.Schedule(stepwell.parse_tvmscript(ADD))
    outer, inner = sch.split(sch.get_loops(sch.get_block("C"))[0], [2, 4])
    sch.bind(outer, "threadIdx.x")
    sch.vectorize(inner)
    lib = stepwell.build(sch.mod, target="cuda" if device.kind == "cuda" else "cuda-emulated")
    assert "float4" in lib.source("cuda")
    whole = nd.array(np.arange(9, dtype=np.float32), device)
    assert isinstance(whole, nd.DeviceArray)
    part = nd.DeviceArray(device, whole.layout[1:], whole)
    a, c = (nd.array(VALUES, device) for _ in range(2))
    with pytest.raises(ArgumentError, match="argument A: expected memory aligned to 16 bytes, got an address 4"):
        lib(part, a, c)
    lib(a, a, c)
    np.testing.assert_array_equal(c.numpy(), VALUES * 2)


# Failures


def test_a_launch_that_is_refused(build_on: Any, device: Device) -> None:
    lib = stepwell.build(_bound(SYMBOLIC, "blockIdx.y"), target="cuda" if device.kind == "cuda" else "cuda-emulated")
    a, b = (nd.empty((70_000,), "float32", device) for _ in range(2))
    with pytest.raises(ExecutionError, match=r"65535|CUDA_ERROR_INVALID_VALUE"):
        lib(a, b, 1.0)
    small = nd.array(VALUES, device)
    lib(small, small, 2.0)  # a refused call has no effect
    np.testing.assert_array_equal(small.numpy(), VALUES * 2)


def _bound(text: str, axis: str) -> Any:
    sch = stepwell.Schedule(stepwell.parse_tvmscript(text))
    sch.bind(sch.get_loops(sch.get_block("B"))[0], axis)
    return sch.mod


def test_memory_between_kernels_that_there_is_not(device: Device, build_on: Any) -> None:
    text = CHAIN.replace("B = T.alloc_buffer((8,)", "B = T.alloc_buffer((8, 1 << 46)").replace("B[vi]", "B[vi, 0]")
    lib = build_on(text.replace("B[7 - vi]", "B[7 - vi, 0]").replace("1 << 46", str(1 << 46)))
    a, c = (nd.array(VALUES, device) for _ in range(2))
    with pytest.raises(DeviceError, match=r"main: memory between kernels: out of memory .* 2097152.0 GiB asked for"):
        lib(a, c)


# Targets


def test_options_of_the_target(device: Device) -> None:
    mod = _bound(SYMBOLIC, "blockIdx.x")
    with pytest.raises(OptionError, match="unknown option of cuda 'warp_size'"):
        stepwell.build(mod, target="cuda -warp_size=32")
    with pytest.raises(OptionError, match="max_num_threads 4096, expected 1 to 1024"):
        stepwell.build(mod, target="cuda -max_num_threads=4096")
    with pytest.raises(UnsupportedError, match="libraries are for graphs"):
        stepwell.build(mod, target="cuda -libs=cublas")
    with pytest.raises(OptionError, match="unknown target 'cuda-emulted', did you mean"):
        stepwell.build(mod, target="cuda-emulted")

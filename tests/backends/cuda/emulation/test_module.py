"""Launches, their arguments and limits, and the functions called by host code."""

import ctypes
import gc
import subprocess
import sys
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from stepwell import StepwellError
from stepwell.backends.cuda.emulation import (
    DeviceMemory,
    EmulatedModule,
    EmulationError,
    InvalidCudaError,
    compile,
    compile_emulated,
    compiler,
    driver_addresses,
    last_error,
)
from stepwell.core.errors import ArgumentError, PluginError

pytestmark = [
    pytest.mark.skipif(compiler() is None, reason="g++ is not installed, which the emulation of CUDA needs"),
    pytest.mark.usefixtures("compiles_anew"),
]

SCALE = """
extern "C" __global__ void __launch_bounds__(64)
scale(float* __restrict__ B, const float* A, float factor, long long n) {
  extern __shared__ float row[];
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) B[i] = A[i] * factor;
}
extern "C" __global__ void nothing() {}
extern "C" __global__ __launch_bounds__(2 * (16 + 4), 2) void bounded(void* p, bool flag) {}
"""
NAMES = ["scale", "nothing", "bounded"]


@pytest.fixture(scope="module")
def module() -> EmulatedModule:
    return compile_emulated(SCALE, NAMES)


def _arguments(n: int = 100, dtype: Any = np.float32) -> list[Any]:
    return [np.zeros(n, dtype), np.arange(n, dtype=dtype), np.float32(3), np.int64(n)]


def test_a_kernel_says_what_it_takes(module: EmulatedModule) -> None:
    scale, nothing, bounded = (module.kernels[name] for name in NAMES)
    said = [(each.name, each.kind, each.size, each.pointee) for each in scale.parameters]
    assert said == [("B", "pointer", 8, 4), ("A", "pointer", 8, 4), ("factor", "float", 4, 0), ("n", "signed", 8, 0)]
    assert nothing.parameters == ()
    assert [(each.name, each.kind, each.pointee) for each in bounded.parameters] == [
        ("p", "pointer", 0),
        ("flag", "unsigned", 0),
    ]
    assert (scale.max_threads, nothing.max_threads, bounded.max_threads) == (64, 1024, 40)


def test_arrays_are_copied_in_and_out(module: EmulatedModule) -> None:
    whole = np.zeros((100, 2), np.float32)
    a = np.arange(100, dtype=np.float32)
    a.flags.writeable = False
    module.launch("scale", [2], [64], [whole[:, 1], a, np.float32(3), np.int64(100)])
    np.testing.assert_array_equal(whole[:, 1], 3 * a)
    assert not whole[:, 0].any()


def test_memory_stays_between_launches(module: EmulatedModule) -> None:
    a, b = DeviceMemory.of(np.arange(10, dtype=np.float32)), DeviceMemory(40)
    assert np.isnan(b.view((10,), np.float32)).all()
    for to, source in ((b, a), (a, b)):
        module.launch("scale", (1,), (32,), [to, source, np.float32(2), np.int64(10)])
    np.testing.assert_array_equal(a.view((5, 2), np.float32).ravel(), 4 * np.arange(10))
    with pytest.raises(ArgumentError, match="an array of 44 bytes is asked for, it has 40"):
        a.view((11,), np.float32)


@pytest.mark.parametrize("dtype", [ml_dtypes.bfloat16, ml_dtypes.float8_e5m2, ml_dtypes.float8_e4m3fn, np.bool_])
def test_memory_holds_every_data_type(dtype: Any) -> None:
    array = np.array([[1, 0, 1], [0, 0, 1]]).astype(dtype)
    view = DeviceMemory.of(array.T).view((3, 2), dtype)
    assert view.dtype == array.dtype
    np.testing.assert_array_equal(view, array.T)


def test_an_array_keeps_the_memory_that_it_is_a_view_of() -> None:
    view = DeviceMemory.of(np.arange(1000)).view((1000,), np.int64)
    gc.collect()
    others = [DeviceMemory(8000) for _ in range(4)]
    np.testing.assert_array_equal(view, np.arange(1000))
    assert len(others) == 4


def test_empty_memory_may_be_passed_and_not_touched(module: EmulatedModule) -> None:
    module.launch("scale", (1,), (1,), [*_arguments(0)[:2], np.float32(1), np.int64(0)])
    with pytest.raises(
        EmulationError, match=r"out of bounds: .* reads 4 bytes at A\[0\], byte 0 of A, which has 0 bytes"
    ):
        module.launch("scale", (1,), (1,), [*_arguments(0)[:2], np.float32(1), np.int64(1)])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (_arguments()[:3], "scale: 3 arguments, expected 4"),
        ([np.float32(0), *_arguments()[1:]], "B: expected a pointer of 8 bytes, got float32"),
        ([*_arguments()[:2], np.float64(3), np.int64(1)], "factor: expected a float of 4 bytes, got float64"),
        ([*_arguments()[:2], np.int32(3), np.int64(1)], "factor: expected a float of 4 bytes, got int32"),
        ([*_arguments()[:3], np.int32(1)], "n: expected a signed of 8 bytes, got int32"),
        ([*_arguments()[:3], _arguments()[0]], "n: expected a signed of 8 bytes, got ndarray"),
        (
            [np.zeros(3, np.float16), *_arguments()[1:]],
            "B: expected a pointer to elements of 4 bytes, got an array of flo",
        ),
    ],
)
def test_arguments_that_do_not_fit_are_refused(module: EmulatedModule, arguments: list[Any], message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        module.launch("scale", (1,), (1,), arguments)


@pytest.mark.parametrize(
    ("grid", "block", "shared_bytes", "message"),
    [
        ((1,), (65,), 0, r"block \(65, 1, 1\) has 65 threads, __launch_bounds__ says 64 at most"),
        ((1,), (0,), 0, r"block \(0, 1, 1\): expected 1 to \(1024, 1024, 64\) threads, 1024 in all"),
        ((1,), (33, 32), 0, r"block \(33, 32, 1\): expected"),
        ((1,), (1, 1, 65), 0, r"block \(1, 1, 65\): expected"),
        ((0,), (1,), 0, r"grid \(0, 1, 1\): expected 1 to \(2147483647, 65535, 65535\) blocks"),
        ((1, 65536), (1,), 0, r"grid \(1, 65536, 1\): expected"),
        ((1,), (1,), 227 * 1024 + 1, r"232449 bytes of dynamic and 0 of static shared memory, expected 232448 in all"),
    ],
)
def test_launches_that_the_driver_would_refuse_are_refused(
    module: EmulatedModule, grid: tuple[int, ...], block: tuple[int, ...], shared_bytes: int, message: str
) -> None:
    with pytest.raises(EmulationError, match=f"kernel scale: {message}"):
        module.launch("scale", grid, block, _arguments(), shared_bytes=shared_bytes)


def test_extents_are_one_to_three(module: EmulatedModule) -> None:
    with pytest.raises(ArgumentError, match="grid has 4 extents, expected 1 to 3"):
        module.launch("nothing", (1, 1, 1, 1), (1,), [])


def test_a_kernel_may_have_all_dynamic_shared_memory() -> None:
    module = compile_emulated(
        """
        extern "C" __global__ void fill(int* A) {
          extern __shared__ int s[];
          __shared__ int other[1024];
          for (int i = threadIdx.x; i < 223 * 256; i += 32) s[i] = i;
          other[threadIdx.x] = 0;
          __syncthreads();
          if (threadIdx.x == 0) A[0] = s[223 * 256 - 1];
        }
        """,
        ["fill"],
    )
    a = np.zeros(1, np.int32)
    module.launch("fill", (1,), (32,), [a], shared_bytes=223 * 1024)
    assert a[0] == 223 * 256 - 1
    with pytest.raises(EmulationError, match=r"out of bounds: .* of s, which has 1000 bytes"):
        module.launch("fill", (1,), (32,), [a], shared_bytes=1000)


def test_too_much_static_shared_memory_does_not_compile() -> None:
    text = 'extern "C" __global__ void k(float* A) { __shared__ float s[12289]; s[threadIdx.x] = A[0]; }'
    with pytest.raises(InvalidCudaError, match="kernel k: 49156 bytes of static shared memory, expected 49152 at most"):
        compile_emulated(text, ["k"])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('extern "C" __global__ void k() {\n  int x = y;\n}', r"kernels.cu:2:11: error: .*y.* was not declared"),
        ('extern "C" __global__ void k() {\n  int64_t x = 0;\n}', r"kernels.cu:2:3: error: .*int64_t"),
        ('extern "C" __global__ void other() {}', "error: .*k"),
        ('extern "C" __global__ void k(float* p) {\n  float x[40000];\n  p[0] = x[*(int*)p];\n}', "frame size of 1"),
        ('extern "C" __global__ void k(int* p) {\n  atomicAdd((short*)p, (short)1);\n}', "kernels.cu:2:"),
    ],
)
def test_text_that_is_no_cuda_is_an_error_with_its_line(text: str, message: str) -> None:
    with pytest.raises(InvalidCudaError, match=message):
        compile_emulated(text, ["k"])


def test_no_kernel_is_an_error() -> None:
    with pytest.raises(ArgumentError, match="no kernel is named"):
        compile_emulated("", [])


def test_a_missing_compiler_is_an_error_that_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    assert compiler() is None
    with pytest.raises(PluginError, match=r"g\+\+ is not installed, which the emulation of CUDA needs: install g\+\+"):
        compile_emulated(SCALE, NAMES)


def test_the_runtime_lies_elsewhere_if_the_cache_cannot_be_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    folder = compile._cache_folder()
    assert folder.is_dir()
    assert tmp_path not in folder.parents
    folder.rmdir()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert compile._cache_folder() == tmp_path / "stepwell"


def test_after_an_error_the_next_launch_is_as_the_first() -> None:
    module = compile_emulated(
        """
        extern "C" __global__ void k(int* A, int bad) {
          __shared__ int s[64];
          s[threadIdx.x] = threadIdx.x;
          if (!bad || threadIdx.x != 5) __syncthreads();
          A[threadIdx.x] = s[63 - threadIdx.x];
        }
        """,
        ["k"],
    )
    for _ in range(3):
        a = np.zeros(64, np.int32)
        with pytest.raises(EmulationError, match=r"data race on s\[\d+\]"):
            module.launch("k", (1,), (64,), [a, np.int32(1)])
        module.launch("k", (1,), (64,), [a, np.int32(0)])
        np.testing.assert_array_equal(a, np.arange(63, -1, -1))


def test_modules_do_not_share_names() -> None:
    first = compile_emulated(
        'extern "C" __global__ void index(int* A) { __shared__ int s; s = 1; A[0] = s; }', ["index"]
    )
    second = compile_emulated('extern "C" __global__ void index(float x) {}', ["index"])
    a = np.zeros(1, np.int32)
    first.launch("index", (1,), (1,), [a])
    second.launch("index", (1,), (1,), [np.float32(1)])
    assert a[0] == 1


def test_launches_do_not_race_with_each_other(module: EmulatedModule) -> None:
    a = DeviceMemory.of(np.ones(64, np.float32))
    for factor in (2, 3):
        module.launch("scale", (1,), (64,), [a, a, np.float32(factor), np.int64(64)])
    assert set(a.view((64,), np.float32)) == {6.0}


def test_errors_belong_to_the_family() -> None:
    assert issubclass(EmulationError, StepwellError)
    assert issubclass(InvalidCudaError, StepwellError)


# The driver's functions

LAUNCH = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, *[ctypes.c_uint] * 7, *[ctypes.c_void_p] * 3)
SET_ATTRIBUTE = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_int, ctypes.c_int)
ALLOC = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_size_t, ctypes.c_char_p)
FREE = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p)


def test_host_code_launches_by_addresses_as_it_would_by_the_driver(module: EmulatedModule) -> None:
    addresses = driver_addresses()
    launch, alloc, free = LAUNCH(addresses["launch"]), ALLOC(addresses["alloc"]), FREE(addresses["free"])
    to, source = alloc(40, b"to"), alloc(40, b"from")
    assert to % 256 == source % 256 == 0
    values = np.arange(10, dtype=np.float32)
    ctypes.memmove(source, values.ctypes.data, 40)
    held = [ctypes.c_void_p(to), ctypes.c_void_p(source), ctypes.c_float(2), ctypes.c_longlong(10)]
    pointers = (ctypes.c_void_p * 4)(*(ctypes.addressof(each) for each in held))
    scale = module.kernels["scale"].address
    assert launch(scale, 1, 1, 1, 32, 1, 1, 0, None, pointers, None) == 0
    result = np.zeros(10, np.float32)
    ctypes.memmove(result.ctypes.data, to, 40)
    np.testing.assert_array_equal(result, 2 * values)

    held[3].value = 11
    assert launch(scale, 1, 1, 1, 32, 1, 1, 0, None, pointers, None) == 719
    assert last_error().reason == (
        "kernel scale: out of bounds: thread (10, 0, 0) of block (0, 0, 0) in line 6 reads 4 bytes at from[10], byte "
        "40 of from, which has 40 bytes (global memory)"
    )
    assert last_error().lines == (6,)
    assert str(last_error()).endswith("    6 |   if (i < n) B[i] = A[i] * factor;")

    assert [free(to), free(source), free(to), free(None)] == [0, 0, 1, 0]
    assert launch(scale, 1, 1, 1, 1, 1, 1, 0, None, pointers, None) == 719
    assert launch(scale, 1, 1, 1, 1, 1, 1, 0, None, None, None) == 1
    assert "there are no arguments" in last_error().reason
    assert launch(ctypes.addressof(held[0]), 1, 1, 1, 1, 1, 1, 0, None, pointers, None) == 400
    assert "the handle is none of a kernel" in last_error().reason


def test_host_code_asks_for_much_shared_memory_by_an_attribute() -> None:
    module = compile_emulated('extern "C" __global__ void k() {}', ["k"])
    addresses = driver_addresses()
    launch, set_attribute = LAUNCH(addresses["launch"]), SET_ATTRIBUTE(addresses["set_attribute"])
    kernel, size, most = module.kernels["k"].address, 100 * 1024, 227 * 1024
    assert launch(kernel, 1, 1, 1, 1, 1, 1, size, None, None, None) == 1
    assert "102400 bytes of dynamic shared memory, expected 49152 at most" in last_error().reason
    assert set_attribute(kernel, 8, most + 1) == 1
    assert set_attribute(kernel, 8, size) == 0
    assert launch(kernel, 1, 1, 1, 1, 1, 1, size, None, None, None) == 0
    assert set_attribute(kernel, 77, 0) == 1


def test_fibres_of_the_general_kind_do_the_same() -> None:
    """On processors without a context switch of the emulation, the fibres of the C library are used."""
    script = """
import numpy as np
from stepwell.backends.cuda.emulation import EmulationError, compile, compile_emulated
compile.RUNTIME_FLAGS = (*compile.RUNTIME_FLAGS, "-DSTEPWELL_UCONTEXT")
text = 'extern "C" __global__ void k(int* A, int n) {'
text += " __shared__ int s[64]; int t = threadIdx.x; s[t] = t; if (t < n) __syncthreads(); A[t] = s[63 - t]; }"
module = compile_emulated(text, ["k"])
a = np.zeros(64, np.int32)
for n in (60, 64):
    try:
        module.launch("k", (1,), (64,), [a, np.int32(n)])
    except EmulationError as error:
        print(error.reason[:20])
print(a.tolist() == list(range(63, -1, -1)))
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.stdout.splitlines() == ["kernel k: data race ", "True"], done.stderr

"""CUDA C++ compiled without a GPU, by NVRTC and by nvcc, and their messages."""

import shutil

import pytest

import stepwell
from stepwell import OptionError, Schedule, UnsupportedError, parse_tvmscript
from stepwell.backends.cuda import nvrtc
from stepwell.backends.cuda.emitter import emit_cuda
from stepwell.backends.cuda.emulation import InvalidCudaError
from stepwell.transforms.pipelines import lower_launches

SOURCE = """#include <cuda_fp16.h>

extern "C" __global__ void __launch_bounds__(64) first(const float* a, float* b, int n) {
  __shared__ float s[64];
  float local[40];
  for (int i = 0; i < n; ++i) local[i * 7 % 40] = a[i];
  s[threadIdx.x] = local[n % 40];
  __syncthreads();
  b[threadIdx.x] = s[63 - threadIdx.x];
}

extern "C" __global__ void second(__half* a) {
  a[threadIdx.x] = __float2half(1.0f);
}
"""


@pytest.fixture(params=["nvrtc", "nvcc"])
def compile_for(request: pytest.FixtureRequest):
    """`compile_for(source, architecture)`, with each compiler that is installed."""
    if request.param == "nvcc":
        nvcc = nvrtc._nvcc()
        if nvcc is None or shutil.which("g++") is None:
            pytest.skip("no nvcc")
        return lambda source, architecture: nvrtc._compile_by_nvcc(nvcc, source, architecture)
    pytest.importorskip("cuda.bindings")
    if not nvrtc.header_folders():
        pytest.skip("no CUDA headers")
    return nvrtc.compile_cuda


def test_machine_code_says_what_it_takes(compile_for) -> None:
    compiled = compile_for(SOURCE, "sm_80")
    assert compiled.image.startswith(b"\x7fELF")
    assert ".target sm_80" in compiled.ptx.replace("compute_80", "sm_80")
    assert compiled.log == ""
    assert set(compiled.usage) == {"first", "second"}
    first = compiled.usage["first"]
    assert first.registers > 0
    assert (first.shared, first.stack, first.spill_stores, first.spill_loads) == (256, 160, 0, 0)
    assert str(first).endswith("256 bytes shared, 160 bytes local, 0 + 0 bytes spilled")


def test_a_virtual_architecture_gives_ptx(compile_for) -> None:
    compiled = compile_for(SOURCE, nvrtc.PORTABLE)
    assert compiled.image == compiled.ptx.encode() + b"\0"
    assert ".version" in compiled.ptx
    assert compiled.usage == {}


def test_text_that_does_not_compile_is_shown(compile_for) -> None:
    with pytest.raises(InvalidCudaError) as error:
        compile_for(SOURCE.replace("63 - threadIdx.x", "63 - thread"), "sm_90")
    assert "does not compile the kernels for sm_90:\nkernels.cu(9): error: identifier" in str(error.value)
    assert "    9 |   b[threadIdx.x] = s[63 - thread];" in str(error.value)


def test_what_is_no_architecture() -> None:
    with pytest.raises(OptionError, match="architecture 'hopper', expected one like sm_90"):
        nvrtc.compile_cuda(SOURCE, "hopper")


def test_an_architecture_that_the_compiler_does_not_know(compile_for) -> None:
    with pytest.raises(InvalidCudaError, match="sm_35"):
        compile_for(SOURCE, "sm_35")


# Messages of ptxas of other versions
LOG = """ptxas info    : 0 bytes gmem
ptxas info    : Compiling entry function 'k' for 'sm_70'
ptxas info    : Function properties for k
    8 bytes stack frame, 4 bytes spill stores, 12 bytes spill loads
ptxas info    : Used 255 registers, 380 bytes cmem[0]
kernels.cu(3): warning #177-D: variable "x" was declared but never referenced
"""


def test_spills_and_warnings_are_read() -> None:
    assert nvrtc.read_usage(LOG) == {"k": nvrtc.KernelUsage(255, 0, 8, 4, 12)}
    assert nvrtc._warnings(LOG).startswith("kernels.cu(3): warning")
    assert nvrtc.read_usage("") == {}


ADD = """
@T.prim_func
def main(A: T.Buffer((1024,), "float32"), B: T.Buffer((1024,), "float32")):
    for i in range(1024):
        with T.block("B"):
            vi = T.axis.spatial(1024, i)
            B[vi] = A[vi] + 1.0
"""


def _bound():
    sch = Schedule(parse_tvmscript(ADD))
    sch.bind(sch.get_loops(sch.get_block("B"))[0], "threadIdx.x")
    return sch.mod


def test_a_program_is_built_for_a_gpu_that_is_not_there() -> None:
    pytest.importorskip("cuda.bindings")
    lib = stepwell.build(_bound(), target="cuda -arch=sm_90a")
    assert ".target sm_90a" in lib.source("ptx")
    assert lib.usage["main_kernel"].registers > 0


def test_a_block_has_no_more_threads_than_the_target_says() -> None:
    with pytest.raises(UnsupportedError, match=r"blocks of 1024 threads .1024, 1, 1., max_num_threads is 512"):
        stepwell.build(_bound(), target="cuda -max_num_threads=512 -arch=sm_90")


SHUFFLES = """
    @T.prim_func
    def {dtype}(A: T.Buffer((64,), "{dtype}")):
        for b in T.thread_binding(1, thread="blockIdx.x"):
            for t in T.thread_binding(64, thread="threadIdx.x"):
                A[t] = T.tvm_warp_shuffle_down(T.tvm_warp_activemask(), A[t], 3, 16, 32)
"""


@pytest.mark.parametrize("architecture", ["sm_80", "sm_90a"])
def test_shuffles_of_every_type_compile_without_a_warning(compile_for, architecture: str) -> None:
    dtypes = ("bool", "int8", "int16", "uint32", "int64", "float16", "bfloat16", "float32", "float64")
    text = "@I.ir_module\nclass Module:\n" + "".join(SHUFFLES.format(dtype=dtype) for dtype in dtypes)
    compiled = compile_for(emit_cuda(lower_launches(parse_tvmscript(text)).op).source, architecture)
    assert compiled.log == ""
    assert len(compiled.usage) == len(dtypes)


@pytest.mark.parametrize("architecture", ["sm_90", "compute_90"])
def test_an_empty_log_overwrites_no_object_of_python(compile_for, architecture: str) -> None:
    """Python has one object for all `bytes` of a single space."""
    compile_for('extern "C" __global__ void first(float* a) { a[threadIdx.x] = 1.0f; }', architecture)
    assert bytes([32])[0] == 32
    assert b" "[0] == 32

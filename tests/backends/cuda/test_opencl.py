"""Kernels as OpenCL C: `backends.cuda.opencl`."""

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import stepwell.frontends.tvm as tvm
from stepwell import OptionError, UnsupportedError
from stepwell.backends.cuda.emulation import compiler
from stepwell.frontends.tvm import devices as tvm_devices
from stepwell.frontends.tvm import te


def source(schedule: te.Schedule, tensors: list[Any]) -> str:
    return tvm.build(schedule, tensors, "opencl").imported_modules[0].get_source()


def bound(compute: Any, dtype: str = "float32") -> tuple[te.Schedule, list[Any]]:
    a = te.placeholder((256,), dtype=dtype, name="a")
    b = te.compute((256,), lambda i: compute(a[i]), name="b")
    schedule = te.create_schedule(b.op)
    outer, inner = schedule[b].split(b.op.axis[0], 64)
    schedule[b].bind(outer, te.thread_axis("blockIdx.x"))
    schedule[b].bind(inner, te.thread_axis("threadIdx.x"))
    return schedule, [a, b]


def test_a_kernel_has_the_words_of_opencl() -> None:
    text = source(*bound(te.exp))
    assert "__kernel __attribute__((reqd_work_group_size(64, 1, 1))) void" in text
    assert "__global const float* restrict a, __global float* restrict b" in text
    assert "(int)get_group_id(0)" in text
    assert "(int)get_local_id(0)" in text
    assert " exp(a[" in text
    assert "cl_khr_fp64" not in text
    assert "cl_khr_fp64 : enable" in source(*bound(te.exp, "float64"))


def test_vectors_and_shared_memory_have_their_address_space() -> None:
    a = te.placeholder((256,), name="a")
    b = te.compute((256,), lambda i: a[255 - i] + 1.0, name="b")
    schedule = te.create_schedule(b.op)
    shared: Any = schedule.cache_read(a, "shared", [b])
    outer, inner = schedule[b].split(b.op.axis[0], 64)
    schedule[b].bind(outer, te.thread_axis("blockIdx.x"))
    schedule[b].bind(inner, te.thread_axis((0, 64), "threadIdx.x"))
    schedule[shared].compute_at(schedule[b], outer)
    lane, vector = schedule[shared].split(shared.op.axis[0], 4)
    schedule[shared].bind(lane, te.thread_axis((0, 64), "threadIdx.x"))
    schedule[shared].vectorize(vector)
    text = source(schedule, [a, b])
    assert re.search(r"__local __attribute__\(\(aligned\(16\)\)\) float a_shared\[\d+\]", text)
    assert "*(__global const float4*)(&a[" in text
    assert "*(__local float4*)(&a_shared[" in text
    assert "barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);" in text
    assert not re.search(r"\b(__shared__|reinterpret_cast|threadIdx|__syncthreads)\b", text)


def test_a_keyword_of_opencl_is_renamed() -> None:
    a = te.placeholder((64,), name="global")
    b = te.compute((64,), lambda i: a[i] + 1.0, name="kernel")
    schedule = te.create_schedule(b.op)
    schedule[b].bind(b.op.axis[0], te.thread_axis("threadIdx.x"))
    assert "__global const float* restrict global_0, __global float* restrict kernel_0" in source(schedule, [a, b])


@pytest.mark.parametrize(("dtype", "word"), [("float16", "include"), ("bfloat16", "include")])
def test_types_without_a_translation_are_refused(dtype: str, word: str) -> None:
    with pytest.raises(UnsupportedError, match=f"opencl: no OpenCL C for {word} of CUDA"):
        source(*bound(lambda x: x + x, dtype))


def test_an_intrinsic_of_cuda_is_refused() -> None:
    with pytest.raises(UnsupportedError, match="opencl: no OpenCL C for __expf of CUDA"):
        source(*bound(lambda x: tvm.tir.call_pure_extern("float32", "__expf", x)))


def test_a_module_of_opencl_is_text(tmp_path: Path) -> None:
    module = tvm.build(*bound(te.exp), "opencl")
    (kernels,) = module.imported_modules
    kernels.save(tmp_path / "a.cl")
    assert (tmp_path / "a.cl").read_text() == kernels.get_source("cl") == kernels.get_source()
    with pytest.raises(OptionError, match="format 'ptx', expected cl"):
        kernels.get_source("ptx")
    for use in (module, lambda: module["main"], module.get_source, lambda: module.entry_name):
        with pytest.raises(UnsupportedError, match="exist as source only"):
            use()


@pytest.mark.skipif(compiler() is None, reason="needs g++ and binutils")
@pytest.mark.parametrize("kind", ["opencl", "rocm", "metal", "vulkan", "webgpu"])
def test_the_emulated_gpu_stands_for_gpus_of_other_kinds(monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    assert not tvm.target.Target(kind).is_local
    assert not tvm.device(kind).exist
    monkeypatch.setattr(tvm_devices, "_emulated", True)
    module = tvm.build(*bound(lambda x: x + 1.0), kind)
    device = tvm.device(kind, 0)
    a = tvm.nd.array(np.arange(256, dtype="float32"), device)
    b = tvm.nd.array(np.zeros(256, "float32"), device)
    module(a, b)
    np.testing.assert_array_equal(b.numpy(), a.numpy() + 1)
    assert ("__kernel" in module.imported_modules[0].get_source()) == (kind == "opencl")

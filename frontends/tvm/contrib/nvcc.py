"""The CUDA compiler: `tvm.contrib.nvcc`."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from ....backends.cuda.nvrtc import compile_cuda as _compile
from ....backends.cuda.nvrtc import compiler_version, header_folders
from ....core.errors import DeviceError, OptionError, PluginError
from ..absent import report_absent
from ..nd import cuda
from ..target.target import Target, TargetLike

__getattr__ = report_absent("tvm.contrib.nvcc")


def compile_cuda(
    code: str,
    target_format: str = "ptx",
    arch: str | None = None,
    options: str | Sequence[str] | None = None,
    path_target: str | None = None,
    target: str | None = None,
) -> bytearray:
    """CUDA C++ compiled by NVRTC or nvcc. target_format: `ptx`, or `cubin` for the machine code; `target` is its name
    until v0.7.  arch: `sm_90`, by default that of the GPU.  path_target: a file to write besides.

    OptionError for another format, and for options: the compiler gets those of `tvm.build`. Errors of the compiler.
    """
    kind = target or target_format
    if kind not in ("ptx", "cubin"):
        raise OptionError(f"compile_cuda: format {kind!r}, expected ptx or cubin")
    if options:
        raise OptionError(f"compile_cuda: options {options!r} are not supported, expected none")
    architecture = arch or f"sm_{get_target_compute_version().replace('.', '')}"
    compiled = _compile(code, architecture)
    data = bytearray(compiled.ptx.encode() if kind == "ptx" else compiled.image)
    if path_target is not None:
        Path(path_target).write_bytes(data)
    return data


def find_cuda_path() -> str:
    """The folder of CUDA. PluginError if there is none."""
    folders = header_folders()
    if not folders:
        raise PluginError("no CUDA: neither the wheel nvidia-cuda-runtime nor a toolkit in $CUDA_HOME")
    return str(folders[0].parent)


def get_cuda_version(cuda_path: str | None = None) -> tuple[int, ...]:
    """The version of the CUDA compiler. PluginError if there is none."""
    return tuple(map(int, re.findall(r"\d+", compiler_version())[:2]))


def get_target_compute_version(target: TargetLike | None = None) -> str:
    """The compute capability of a target: of its `arch`, else of the current target, else of GPU 0: `8.6`.

    DeviceError without any of them.
    """
    given = Target(target) if target is not None else Target.current()
    arch = "" if given is None else str(given.arch)
    if match := re.fullmatch(r"(?:sm|compute)_(\d+)(\d)[af]?", arch):
        return f"{match[1]}.{match[2]}"
    if cuda(0).exist:
        return cuda(0).compute_version
    raise DeviceError("no compute version: neither a target with `-arch=sm_XX` nor a GPU")


def parse_compute_version(compute_version: str) -> tuple[int, int]:
    """The two numbers of a compute capability. OptionError for other text."""
    major, _, minor = compute_version.partition(".")
    if not major.isdigit() or not (minor or "0").isdigit():
        raise OptionError(f"compute version {compute_version!r}, expected two numbers, 8.6")
    return int(major), int(minor or 0)


def have_fp16(compute_version: str) -> bool:
    """Whether a GPU computes on float16: from 5.3 on."""
    return parse_compute_version(compute_version) >= (5, 3)


def have_int8(compute_version: str) -> bool:
    """Whether a GPU multiplies vectors of int8: from 6.1 on."""
    return parse_compute_version(compute_version) >= (6, 1)


def have_bf16(compute_version: str) -> bool:
    """Whether a GPU computes on bfloat16: from 8.0 on."""
    return parse_compute_version(compute_version) >= (8, 0)


def have_fp8(compute_version: str) -> bool:
    """Whether a GPU converts floats of 8 bits: from 8.9 on."""
    return parse_compute_version(compute_version) >= (8, 9)


def have_tensorcore(compute_version: str | None = None, target: TargetLike | None = None) -> bool:
    """Whether a GPU multiplies matrices by instructions: from 7.0 on."""
    return parse_compute_version(compute_version or get_target_compute_version(target)) >= (7, 0)


__all__ = [
    "compile_cuda",
    "find_cuda_path",
    "get_cuda_version",
    "get_target_compute_version",
    "have_bf16",
    "have_fp8",
    "have_fp16",
    "have_int8",
    "have_tensorcore",
    "parse_compute_version",
]

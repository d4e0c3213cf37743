"""Compilation of CUDA C++ to machine code of GPUs: by NVRTC in this process, or else by nvcc."""

from __future__ import annotations

import importlib
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any

from ...core.errors import DeviceError, OptionError, PluginError, StepwellError
from ...core.target import Target
from ..devices.device import driver_of
from .emitter import NVRTC_OPTIONS
from .emulation import InvalidCudaError

PORTABLE = "compute_75"
"""The default architecture without a GPU: PTX, which drivers compile for any GPU since 2018."""
SOURCE_NAME = "kernels.cu"
_ARCHITECTURE = re.compile(r"(sm|compute)_\d{2,3}[af]?")


@dataclass(frozen=True)
class KernelUsage:
    """The resources that a kernel uses of a GPU. registers: per thread.  shared, stack: bytes, static shared memory of
    a block and local memory of a thread.  spill_stores, spill_loads: bytes of spilled registers.
    """

    registers: int
    shared: int
    stack: int
    spill_stores: int
    spill_loads: int

    def __str__(self) -> str:
        spills = f"{self.spill_stores} + {self.spill_loads} bytes spilled"
        return f"{self.registers} registers, {self.shared} bytes shared, {self.stack} bytes local, {spills}"


@dataclass(frozen=True)
class CompiledCuda:
    """Compiled CUDA C++. image: a cubin, or PTX for a virtual architecture (`compute_90`).  ptx: as text.  log:
    warnings. usage: of each kernel, empty for a virtual architecture.
    """

    architecture: str
    image: bytes
    ptx: str
    log: str
    usage: dict[str, KernelUsage]


def compile_cuda(source: str, architecture: str) -> CompiledCuda:
    """Compiles CUDA C++ for an architecture: `sm_90` for a GPU, `compute_90` for later GPUs as well.

    No GPU is required. Raises OptionError for an invalid architecture, InvalidCudaError with the compiler's messages
    and the source if compilation fails, PluginError if no compiler is installed.
    """
    if not _ARCHITECTURE.fullmatch(architecture):
        raise OptionError(f"architecture {architecture!r}, expected one like sm_90 or compute_90")
    return _compiler().compile(source, architecture)


def architecture_of(target: Target) -> str:
    """The architecture to compile for: that of a target, else of GPU 0, else `PORTABLE`."""
    if target.arch:
        return target.arch
    try:
        driver = driver_of("cuda")
        driver.count()
        return driver.properties(0).architecture
    except (DeviceError, PluginError):
        return PORTABLE


def compiler_version() -> str:
    """The compiler of CUDA C++ and its headers, with versions; empty if none is installed."""
    try:
        return f"{_compiler().version} {header_folders()}"
    except PluginError:
        return ""


@dataclass(frozen=True)
class _Compiler:
    version: str
    compile: Callable[[str, str], CompiledCuda]


@cache
def _compiler() -> _Compiler:
    try:
        nvrtc: Any = importlib.import_module("cuda.bindings.nvrtc")
        _, *version = nvrtc.nvrtcVersion()  # loads the library
    except (ImportError, RuntimeError) as error:
        nvcc = _nvcc()
        if nvcc is None:
            raise PluginError(
                f"no compiler of CUDA C++: pip install 'stepwell[cuda]', or put nvcc on the path ({error})"
            ) from None
        file = os.stat(nvcc)
        version = f"{os.path.realpath(nvcc)} {file.st_size} {file.st_mtime_ns}"
        return _Compiler(version, partial(_compile_by_nvcc, nvcc))
    file = os.stat(nvrtc.__file__)
    return _Compiler(f"NVRTC {version} {file.st_size} {file.st_mtime_ns}", partial(_compile_by_nvrtc, nvrtc))


# NVRTC


def _compile_by_nvrtc(nvrtc: Any, source: str, architecture: str) -> CompiledCuda:
    def call_nvrtc(name: str, *arguments: Any) -> Any:
        status, *results = getattr(nvrtc, name)(*arguments)
        if status != nvrtc.nvrtcResult.NVRTC_SUCCESS:
            raise StepwellError(f"{name}: {nvrtc.nvrtcGetErrorString(status)[1].decode()}")
        return results[0] if results else None

    def text(kind: str) -> bytes:
        # NVRTC writes to the buffer. It may not be `bytes`: Python has one object for all `bytes` of a single space.
        data = bytearray(call_nvrtc(f"nvrtcGet{kind}Size", program))
        call_nvrtc(f"nvrtcGet{kind}", program, data)
        return bytes(data)

    program = call_nvrtc("nvrtcCreateProgram", source.encode(), SOURCE_NAME.encode(), 0, [], [])
    try:
        headers = [f"-I{folder}" for folder in header_folders()] if "#include" in source else []
        options = [f"--gpu-architecture={architecture}", *headers, *NVRTC_OPTIONS]
        if architecture.startswith("sm_"):
            options.append("--ptxas-options=-v")
        (status,) = nvrtc.nvrtcCompileProgram(program, len(options), [option.encode() for option in options])
        log = text("ProgramLog").decode().strip("\0 \n")
        if status != nvrtc.nvrtcResult.NVRTC_SUCCESS:
            raise _invalid_cuda("NVRTC", architecture, log, source)
        ptx = text("PTX").rstrip(b"\0")
        image = text("CUBIN") if architecture.startswith("sm_") else ptx + b"\0"
    finally:
        nvrtc.nvrtcDestroyProgram(program)
    return CompiledCuda(architecture, image, ptx.decode(), _warnings(log), read_usage(log))


def _invalid_cuda(compiler: str, architecture: str, log: str, source: str) -> InvalidCudaError:
    lines = source.splitlines()
    numbered = "\n".join(f"{n:5} | {line}" for n, line in enumerate(lines, 1))
    return InvalidCudaError(f"{compiler} does not compile the kernels for {architecture}:\n{log}\n{numbered}")


def header_folders() -> list[Path]:
    """The folder of CUDA's headers (`cuda_fp16.h`), if any: in the wheel `nvidia-cuda-runtime`, or in a toolkit."""
    return list(dict.fromkeys(folder for folder in _header_folders() if (folder / "cuda_fp16.h").is_file()))[:1]


def _header_folders() -> Iterator[Path]:
    for package in ("nvidia.cu13", "nvidia.cuda_runtime"):
        try:
            yield from (Path(path) / "include" for path in importlib.import_module(package).__path__)
        except ImportError:
            pass
    for home in (os.environ.get("CUDA_HOME"), os.environ.get("CUDA_PATH"), "/usr/local/cuda"):
        if home:
            yield Path(home) / "include"


# nvcc


def _nvcc() -> str | None:
    homes = [home for home in (os.environ.get("CUDA_HOME"), "/usr/local/cuda") if home]
    return shutil.which("nvcc") or next(filter(None, (shutil.which(f"{home}/bin/nvcc") for home in homes)), None)


def _compile_by_nvcc(nvcc: str, source: str, architecture: str) -> CompiledCuda:
    number = architecture.partition("_")[2]
    with tempfile.TemporaryDirectory(prefix="stepwell-") as name:
        folder = Path(name)
        (folder / SOURCE_NAME).write_text(source)

        def run(kind: str, *options: str) -> tuple[bytes, str]:
            command = [nvcc, f"-{kind}", *NVRTC_OPTIONS, *options, SOURCE_NAME, "-o", f"kernels.{kind}"]
            completed = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
            if completed.returncode != 0:
                raise _invalid_cuda("nvcc", architecture, completed.stderr.strip(), source)
            return (folder / f"kernels.{kind}").read_bytes(), completed.stderr

        ptx, log = run("ptx", f"-arch=compute_{number}")
        image = ptx + b"\0"
        if architecture.startswith("sm_"):
            image, log = run("cubin", f"-arch={architecture}", "-Xptxas", "-v")
    return CompiledCuda(architecture, image, ptx.decode(), _warnings(log), read_usage(log))


# The output of ptxas


def _warnings(log: str) -> str:
    warnings = (line for line in log.splitlines() if line.strip("\0 ") and not line.startswith(("ptxas ", "    ")))
    return "\n".join(warnings)


_NAME = re.compile(r"Compiling entry function '(\w+)'")
_FRAME = re.compile(r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads")
_USED = re.compile(r"Used (\d+) registers")
_SHARED = re.compile(r"(\d+) bytes smem")


def read_usage(log: str) -> dict[str, KernelUsage]:
    """The resource usage of each kernel, from the output of `ptxas -v`."""
    usage: dict[str, KernelUsage] = {}
    names = [*_NAME.finditer(log)]
    ends = [*(name.start() for name in names[1:]), len(log)]
    for name, end in zip(names, ends, strict=False):
        entry = log[name.end() : end]
        frame, used, shared = _FRAME.search(entry), _USED.search(entry), _SHARED.search(entry)
        if frame is None or used is None:
            continue
        stack, stores, loads = map(int, frame.groups())
        usage[name[1]] = KernelUsage(int(used[1]), int(shared[1]) if shared else 0, stack, stores, loads)
    return usage

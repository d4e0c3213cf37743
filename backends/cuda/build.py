"""Building programs for a GPU: kernels as CUDA C++, compiled or emulated, and native host code that launches them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import prod

from xdsl.dialects import gpu
from xdsl.dialects.builtin import ModuleOp

from ...core.errors import UnsupportedError
from ...core.target import Target
from ...module import Module
from ...transforms.observers import stage
from ...transforms.pipelines import AfterPass, lower_launches
from ..devices.device import cuda_emulated
from ..devices.driver import DeviceCode, KernelCode
from ..llvm.compile import compile_native
from ..llvm.emitter import DeviceRequirements
from ..runtime.code import NativeCode
from .demands import BufferRequirements
from .emitter import EmittedCuda, emit_cuda
from .nvrtc import architecture_of, compile_cuda
from .program import DeviceProgram, Launcher


def build_cuda(
    module: Module, target: Target, after: AfterPass | None = None, symbols: Mapping[str, int] | None = None
) -> DeviceProgram:
    """Compiles a module for GPUs. No GPU is required before the first launch.

    target: with the architecture to compile kernels for; by default that of `cuda(0)`, or `PORTABLE` if the machine has
    no GPU.  after: is called with the module after each pass.  symbols: addresses of C functions that host code calls.
    Raises UnsupportedError for operations that cannot be compiled, PluginError if no compiler is installed.
    """
    emitted = _Emitted.of(module, target, after)
    emitted.check_threads(target.max_num_threads)
    architecture = architecture_of(target)
    with stage("NVRTC"):
        compiled = [compile_cuda(each.source, architecture) for each in emitted.cuda]
    code = [
        DeviceCode(each.source, _kernels(each), architecture, binary.image)
        for each, binary in zip(emitted.cuda, compiled, strict=True)
    ]
    ptx = "\n".join(binary.ptx for binary in compiled)
    usage = {name: used for binary in compiled for name, used in binary.usage.items()}
    native, sources = emitted.native("cuda")
    return DeviceProgram(native, Launcher("cuda", code), {**sources, "ptx": lambda: ptx}, usage, symbols)


def build_emulated(
    module: Module, target: Target, after: AfterPass | None = None, symbols: Mapping[str, int] | None = None
) -> DeviceProgram:
    """Compiles a module with kernels that run emulated. after, symbols, errors: as of `build_cuda`."""
    emitted = _Emitted.of(module, target, after)
    launcher = Launcher(
        "cuda_emulated", [DeviceCode(each.source, _kernels(each), checks=target.checks) for each in emitted.cuda]
    )
    with stage("compilation of the emulated kernels"):
        launcher.load(cuda_emulated())
    native, sources = emitted.native("cuda_emulated")
    return DeviceProgram(native, launcher, sources, {}, symbols)


def cuda_source(module: Module, target: Target | None = None, annotate: bool = False) -> str:
    """The CUDA C++ of a module at any landing.

    annotate: whether lines end with a comment that states their place in the source. Raises UnsupportedError for
    operations that cannot be compiled.
    """
    return _Emitted.of(module, target or Target("cuda"), annotate=annotate).source


def emit_kernels(module: Module, target: Target) -> tuple[EmittedCuda, ...]:
    """The kernels of a module at any landing: one text for each function with launches. Errors as of `cuda_source`."""
    return _Emitted.of(module, target).cuda


@dataclass(frozen=True)
class _Emitted:
    """A module in upstream MLIR, and its kernels as text: one source for each function with launches."""

    lowered: ModuleOp
    cuda: tuple[EmittedCuda, ...]

    @staticmethod
    def of(module: Module, target: Target, after: AfterPass | None = None, annotate: bool = False) -> _Emitted:
        """Lowers a module and emits its kernels. after: as of `build_cuda`.  annotate: as of `cuda_source`. Without an
        architecture the limits are those of the largest GPUs.
        """
        limits = {"arch": target.arch} if target.arch else {}
        lowered = lower_launches(module, after, contract=target.contract, **limits).op
        with stage("emission of CUDA C++"):
            modules = [op for op in lowered.ops if isinstance(op, gpu.ModuleOp)]
            return _Emitted(lowered, tuple(emit_cuda(op, annotate) for op in modules))

    @property
    def source(self) -> str:
        return "\n".join(each.source for each in self.cuda)

    def check_threads(self, most: int) -> None:
        for kernel in (kernel for each in self.cuda for kernel in each.kernels):
            if kernel.block_size is not None and (threads := prod(kernel.block_size)) > most:
                raise UnsupportedError(
                    f"kernel {kernel.name}: blocks of {threads} threads {kernel.block_size}, max_num_threads is {most}"
                )

    def native(self, device: str) -> tuple[NativeCode, Mapping[str, Callable[[], str]]]:
        """The native host code for a kind of device, and the texts of the program."""
        demands = BufferRequirements(
            self.lowered, {kernel.name: kernel for each in self.cuda for kernel in each.kernels}
        )
        facts = (device, *(kernel for each in self.cuda for kernel in _kernels(each)))
        code, sources = compile_native(
            self.lowered, requirements=DeviceRequirements(demands.signature, facts), callables=False
        )
        return code, {**sources, "cuda": lambda: self.source}


def _kernels(emitted: EmittedCuda) -> tuple[KernelCode, ...]:
    return tuple(KernelCode(each.name, each.symbol, each.dynamic_shared_bytes) for each in emitted.kernels)

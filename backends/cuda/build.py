"""Programs for a GPU: kernels as CUDA C++, compiled for it or emulated, and native code of the host around them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from math import prod

from xdsl.dialects import gpu
from xdsl.dialects.builtin import ModuleOp

from ...core.errors import DeviceError, PluginError, UnsupportedError
from ...core.target import Target
from ...module import Module
from ...transforms.pipelines import AfterPass, lower_launches
from ..devices.device import cuda_emulated, driver_of
from ..devices.driver import DeviceCode, KernelCode
from ..llvm.compile import compile_native
from ..runtime.code import NativeCode
from .demands import Demands
from .emitter import EmittedCuda, emit_cuda
from .library import DeviceLibrary, Launcher
from .nvrtc import PORTABLE, compile_cuda


def build_cuda(
    module: Module, target: Target, after: AfterPass | None = None, symbols: Mapping[str, int] | None = None
) -> DeviceLibrary:
    """The functions of a module for GPUs. None needs to be there before something is launched.

    target: with the architecture that kernels are compiled for. If it says none, that of `cuda(0)` if there is one,
    else a virtual one that all have.  after: is shown the module behind each pass.  symbols: addresses of C functions
    that the host calls.
    Raises UnsupportedError for what cannot be compiled, PluginError if there is no compiler.
    """
    made = _Emitted.of(module, target, after)
    made.check_threads(target.max_num_threads)
    architecture = target.arch or _found_architecture()
    compiled = [compile_cuda(each.source, architecture) for each in made.cuda]
    code = [
        DeviceCode(each.source, _kernels(each), architecture, binary.image)
        for each, binary in zip(made.cuda, compiled, strict=True)
    ]
    ptx = "\n".join(binary.ptx for binary in compiled)
    usage = {name: used for binary in compiled for name, used in binary.usage.items()}
    native, sources = made.native()
    return DeviceLibrary(native, Launcher("cuda", code), {**sources, "ptx": lambda: ptx}, usage, symbols)


def build_emulated(
    module: Module, target: Target, after: AfterPass | None = None, symbols: Mapping[str, int] | None = None
) -> DeviceLibrary:
    """The functions of a module, with kernels that run emulated. after, symbols, errors: as of `build_cuda`."""
    made = _Emitted.of(module, target, after)
    launcher = Launcher("cuda_emulated", [DeviceCode(each.source, _kernels(each)) for each in made.cuda])
    launcher.load(cuda_emulated())
    native, sources = made.native()
    return DeviceLibrary(native, launcher, sources, {}, symbols)


def cuda_source(module: Module) -> str:
    """The CUDA C++ of a module at any landing. UnsupportedError for what cannot be compiled."""
    return _Emitted.of(module, Target("cuda")).source


@dataclass(frozen=True)
class _Emitted:
    """A module in plain MLIR, and the kernels in it as text: one for each function that launches some."""

    lowered: ModuleOp
    cuda: tuple[EmittedCuda, ...]

    @staticmethod
    def of(module: Module, target: Target, after: AfterPass | None = None) -> _Emitted:
        """after: as of `build_cuda`. The limits are those of the largest GPUs if the target names none."""
        limits = {"arch": target.arch} if target.arch else {}
        lowered = lower_launches(module, after, contract=target.contract, **limits).op
        return _Emitted(lowered, tuple(emit_cuda(op) for op in lowered.ops if isinstance(op, gpu.ModuleOp)))

    @property
    def source(self) -> str:
        return "\n".join(each.source for each in self.cuda)

    def check_threads(self, most: int) -> None:
        for kernel in (kernel for each in self.cuda for kernel in each.kernels):
            if kernel.block_size is not None and (threads := prod(kernel.block_size)) > most:
                raise UnsupportedError(
                    f"kernel {kernel.name}: blocks of {threads} threads {kernel.block_size}, max_num_threads is {most}"
                )

    def native(self) -> tuple[NativeCode, Mapping[str, Callable[[], str]]]:
        """What the host runs, and the texts of the program."""
        code, sources = compile_native(self.lowered)
        demands = Demands(self.lowered, {kernel.name: kernel for each in self.cuda for kernel in each.kernels})
        signatures = tuple(map(demands.signature, code.functions))
        return replace(code, functions=signatures), {**sources, "cuda": lambda: self.source}


def _kernels(emitted: EmittedCuda) -> tuple[KernelCode, ...]:
    return tuple(KernelCode(each.name, each.symbol, each.dynamic_shared_bytes) for each in emitted.kernels)


def _found_architecture() -> str:
    """That of the first GPU, if there is one."""
    try:
        driver = driver_of("cuda")
        driver.count()
        return driver.properties(0).architecture
    except (DeviceError, PluginError):
        return PORTABLE

"""xDSL targets: the output formats of modules."""

from __future__ import annotations

from dataclasses import dataclass
from typing import IO

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.utils.target import Target

from ..module import Module


@dataclass(frozen=True)
class TvmscriptTarget(Target):
    """The TVMScript of a `tir` module, in the style `classic` (v0.12-0.23) or `0.27`."""

    name = "tvmscript"

    style: str = "classic"

    def emit(self, ctx: Context, module: ModuleOp, output: IO[str]) -> None:
        output.write(Module(module).script(self.style) + "\n")


@dataclass(frozen=True)
class StepwellLlvmTarget(Target):
    """The LLVM IR of a module at any landing; `stepwell-llvm{optimize=true}` optimises the IR for this machine."""

    name = "stepwell-llvm"

    optimize: bool = False

    def emit(self, ctx: Context, module: ModuleOp, output: IO[str]) -> None:
        # lazy: every xDSL tool imports this module to list the targets
        from ..backends.build import build

        output.write(build(Module(module)).source("llvm-optimized" if self.optimize else "llvm"))


@dataclass(frozen=True)
class StepwellAsmTarget(Target):
    """The assembly of a module at any landing, for this machine."""

    name = "stepwell-asm"

    def emit(self, ctx: Context, module: ModuleOp, output: IO[str]) -> None:
        # lazy: every xDSL tool imports this module to list the targets
        from ..backends.build import build

        output.write(build(Module(module)).source("asm"))


@dataclass(frozen=True)
class StepwellCudaTarget(Target):
    """The CUDA C++ of the kernels of a module at any landing."""

    name = "stepwell-cuda"

    def emit(self, ctx: Context, module: ModuleOp, output: IO[str]) -> None:
        # lazy: every xDSL tool imports this module to list the targets
        from ..backends.cuda.build import cuda_source

        output.write(cuda_source(Module(module)))


@dataclass(frozen=True)
class StepwellCTarget(Target):
    """The C11 of the functions of a module at any landing."""

    name = "stepwell-c"

    def emit(self, ctx: Context, module: ModuleOp, output: IO[str]) -> None:
        # lazy: every xDSL tool imports this module to list the targets
        from ..backends.c import c_source

        output.write(c_source(Module(module)).source)

"""The lowering: one list of landings after another, with the check of each."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from xdsl.passes import ModulePass

from ...core.collection import rare_collection
from ...core.cpu import CpuModel
from ...module import Module
from .checks import check_module
from .division import Part, divide
from .landings import CUDA, GRAPHS, LLVM, TIR, C, Landing, Options
from .run import AfterPass, run_in_place

_DEFAULTS = Options()
_LANDINGS_OF_PARTS = LLVM[len(TIR) :]


def go_down(
    mod: Module, landings: Iterable[Landing], options: Options = _DEFAULTS, after: AfterPass | None = None
) -> Module:
    """Applies the passes of `landings` to a copy of `mod`, and checks the module after each landing that it needs.

    after: called with the module after each pass.
    Raises `UnsupportedError` for unsupported programs, `PassError` for a pass that fails or leaves an operation that
    its landing excludes.
    """
    mod = mod.clone()
    go_down_in_place(mod, landings, options, after)
    return mod


def go_down_in_place(
    mod: Module,
    landings: Iterable[Landing],
    options: Options,
    after: AfterPass | None = None,
    verify: bool = False,
) -> None:
    """Applies the passes of `landings` to `mod` itself, like `go_down`. verify: as of `run_pipeline`."""
    with rare_collection():
        for landing in landings:
            if landing.needed(mod.op):
                run_in_place(mod, landing.passes(options), after, verify)
                check_module(mod.op, landing.leaves, landing.name)


def lower(
    mod: Module,
    after: AfterPass | None = None,
    contract: bool | None = None,
    sanitize: bool = False,
    cpu: CpuModel = _DEFAULTS.cpu,
    schedule: bool = True,
) -> Module:
    """Lowers a copy of `mod`, at any landing, to the plain MLIR that the LLVM emitter accepts.

    after: called with the module after each pass.  contract: as of `Options`.  sanitize:
    whether the code detects undefined behaviour.  cpu: the processor.  schedule: whether functions that nobody has
    scheduled get default schedules.
    Raises `UnsupportedError` for unsupported programs, `PassError` for a pass that left ops it is specified to remove.
    """
    options = Options(contract=contract, sanitize=sanitize, cpu=cpu, schedule=schedule)
    return lower_with(mod, options, after)


def lower_with(mod: Module, options: Options, after: AfterPass | None = None) -> Module:
    """Lowers like `lower`, with the options of a processor and a program."""
    return go_down(mod, LLVM, options, after)


def lower_to_parts(mod: Module) -> list[Part]:
    """Lowers a copy of `mod`, at any landing, to parts on the landing of loops, or one part at a landing below. Errors:
    as of `lower`."""
    return divide(go_down(mod, TIR))


def lower_part(part: Part, options: Options) -> None:
    """Lowers a part, in place, to the plain MLIR that the LLVM emitter accepts. Errors: as of `lower`."""
    go_down_in_place(part.module, _LANDINGS_OF_PARTS, options)


def import_passes(parts: Sequence[Part], options: Options) -> None:
    """Imports the passes that `lower_part` applies to some parts, before several processes would import them."""
    for landing in _LANDINGS_OF_PARTS:
        if any(landing.needed(part.module.op) for part in parts):
            landing.passes(options)


def lower_launches(
    mod: Module, after: AfterPass | None = None, arch: str = "sm_90", contract: bool | None = None
) -> Module:
    """Lowers a copy of `mod`, at any landing, to plain MLIR with functions of a GPU and their launches.

    arch: the architecture whose limits apply.  after, contract, errors: as of `lower`.
    """
    return go_down(mod, CUDA, Options(arch=arch, contract=contract), after)


def lower_to_c(mod: Module) -> Module:
    """Lowers a copy of `mod`, at any landing, to the plain MLIR that the emitter of C accepts, without default
    schedules. Errors: as of `lower`."""
    return go_down(mod, C)


def lower_to_tir(mod: Module) -> Module:
    """Lowers a copy of `mod`, at any landing above, to functions with loops and blocks. Errors: as of `lower`."""
    return go_down(mod, TIR)


def lower_graph(
    mod: Module,
    opt_level: int = 2,
    libraries: tuple[str, ...] = (),
    after: AfterPass | None = None,
    winograd: bool = False,
    pack: bool = False,
    cpu: CpuModel = _DEFAULTS.cpu,
) -> Module:
    """Lowers the graphs in a copy of `mod` to calls of kernels with planned memory.

    opt_level, libraries, winograd, pack, cpu: as of `Options`.  after, errors: as of `lower`.
    """
    options = Options(opt_level=opt_level, libraries=libraries, winograd=winograd, pack=pack, cpu=cpu)
    return go_down(mod, GRAPHS, options, after)


def passes_of(landings: Sequence[Landing], options: Options = _DEFAULTS) -> list[ModulePass]:
    """The passes of `landings`, in order, those of graphs and kernels included."""
    return [each for landing in landings for each in landing.passes(options)]

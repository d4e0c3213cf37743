"""The pipelines: one list of passes per landing, and the check of the invariants that hold after a landing.

A pass leaves functions that are below its landing unchanged, so the whole lowering accepts a module at any landing. The
passes of graphs are imported only for graphs: with the operators and schedules they use, they have half the size of all
other passes.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import TypeAlias

from xdsl.dialects import arith, cf, func, llvm, math, memref, scf, vector
from xdsl.dialects.builtin import (
    DictionaryAttr,
    IntegerType,
    MemRefType,
    ModuleOp,
    Signedness,
    UnrealizedConversionCastOp,
    VectorType,
)
from xdsl.ir import Attribute, Operation
from xdsl.passes import ModulePass, PassPipeline
from xdsl.transforms import get_all_passes as get_upstream_passes
from xdsl.utils.exceptions import ArgSpecParseError, DiagnosticException

from ...core.diagnostics import where
from ...core.errors import OptionError, PassError, StepwellError
from ...core.plugins import installed_universe
from ...dialects import mlir_context
from ...dialects.attributes import KERNEL
from ...dialects.tir import AccessOp, BlockOp, HandleType, InitOp, MatchRegionOp
from ...module import Module
from .. import get_all_passes
from ..te.to_tir import ConvertTeToTirPass
from ..tir.interleave_vthreads import TirInterleaveVthreadsPass
from ..tir.lower_match_buffers import TirLowerMatchBuffersPass
from ..tir.plan_allocations import TirPlanAllocationsPass
from ..tir.resolve_blocks import TirResolveBlocksPass
from ..tir.simplify import TirSimplifyPass
from ..tir.to_scf import ConvertTirToScfPass
from ..tir.unroll_loops import TirUnrollLoopsPass
from ..tir.vectorize_loops import TirVectorizeLoopsPass
from ..upstream.legalize_small_floats import LegalizeSmallFloatsPass
from ..upstream.legalize_small_integers import LegalizeSmallIntegersPass

AfterPass: TypeAlias = Callable[[str, Module], None]
"""A callback after each pass, with the name of the pass and the resulting module."""


def optimize_relay() -> list[ModulePass]:
    """The optimizations of graphs."""
    from xdsl.transforms.common_subexpression_elimination import CommonSubexpressionElimination

    from ..relay.eliminate_dead_code import RelayEliminateDeadCodePass
    from ..relay.fold_constants import RelayFoldConstantsPass
    from ..relay.fold_scale_axis import RelayFoldScaleAxisPass
    from ..relay.simplify import RelaySimplifyPass
    from ..relay.simplify_inference import RelaySimplifyInferencePass

    return [
        RelaySimplifyInferencePass(),
        RelayFoldConstantsPass(),
        RelaySimplifyPass(),
        RelayFoldScaleAxisPass(),
        RelayFoldConstantsPass(),
        CommonSubexpressionElimination(),
        RelayEliminateDeadCodePass(),
    ]


def relay_to_calls(opt_level: int = 2) -> list[ModulePass]:
    """From graphs of operators to graphs of kernels, and where their tensors are kept. opt_level: 0 for no fusion."""
    from ..relay.copy_results import RelayCopyResultsPass
    from ..relay.fuse_operators import RelayFuseOperatorsPass
    from ..relay.plan_memory import RelayPlanMemoryPass

    return [RelayCopyResultsPass(), RelayFuseOperatorsPass(level=2 if opt_level else 0), RelayPlanMemoryPass()]


def relay_to_tir() -> list[ModulePass]:
    """From graphs to loops and blocks: calls of kernels on buffers, and the kernels, which are not scheduled yet."""
    from ..relay.to_te import ConvertRelayToTePass
    from ..relay.to_tir import ConvertRelayToTirPass

    return [*relay_to_calls(), ConvertRelayToTePass(), *te_to_tir(), ConvertRelayToTirPass()]


def schedule_kernels() -> list[ModulePass]:
    """The kernels of graphs as the processor likes them."""
    from ..tir.schedule_kernels import TirScheduleKernelsPass

    return [*te_to_tir(), TirScheduleKernelsPass()]


def schedule_gpu() -> list[ModulePass]:
    """Functions that nobody has scheduled for a GPU, as its threads like them."""
    from ..tir.schedule_gpu import TirScheduleGpuPass

    return [*te_to_tir(), TirScheduleGpuPass()]


def te_to_tir() -> list[ModulePass]:
    """From tensor expressions to loops and blocks."""
    return [ConvertTeToTirPass()]


def to_tir(module: ModuleOp) -> list[ModulePass]:
    """From graphs (if the module has any) or tensor expressions to loops and blocks."""
    return relay_to_tir() if has_graphs(module) else te_to_tir()


def resolve_tir(launches: bool = False) -> list[ModulePass]:
    """From programs with blocks, or tensor expressions, to loops, branches and accesses of buffers.

    launches: whether the target is a GPU, whose blocks and threads have private memory.
    """
    return [
        *te_to_tir(),
        TirResolveBlocksPass(),
        TirLowerMatchBuffersPass(),
        TirUnrollLoopsPass(),
        TirSimplifyPass(unit_loops=True),
        TirVectorizeLoopsPass(),
        TirPlanAllocationsPass(launches=launches),
        *([] if launches else [TirInterleaveVthreadsPass(serial=True)]),
    ]


def launch_tir() -> list[ModulePass]:
    """From loops bound to the axes of a GPU's grid to launches of blocks and threads, which wait for each other."""
    from ..tir.compact_buffers import TirCompactBuffersPass
    from ..tir.distribute_threads import TirDistributeThreadsPass
    from ..tir.insert_barriers import TirInsertBarriersPass
    from ..tir.launch_blocks import TirLaunchBlocksPass
    from ..tir.launch_threads import TirLaunchThreadsPass
    from ..tir.pad_buffers import TirPadBuffersPass

    return [
        TirLaunchBlocksPass(),
        TirCompactBuffersPass(scopes=("local",)),
        TirInterleaveVthreadsPass(),
        TirDistributeThreadsPass(),
        TirCompactBuffersPass(scopes=("shared", "shared.dyn")),
        TirPadBuffersPass(),
        TirInsertBarriersPass(),
        TirLaunchThreadsPass(),
        TirSimplifyPass(unit_loops=True),
    ]


def tir_to_launches(arch: str = "sm_90") -> list[ModulePass]:
    """From loops and blocks, scheduled or not, to plain MLIR with functions of a GPU. arch: whose limits hold."""
    from ..gpu.merge_shared_memory import GpuMergeSharedMemoryPass
    from ..gpu.outline_kernels import GpuOutlineKernelsPass
    from ..tir.check_launches import TirCheckLaunchesPass
    from ..tir.lower_thread_reductions import TirLowerThreadReductionsPass

    return [
        *schedule_gpu(),
        TirLowerThreadReductionsPass(),
        *resolve_tir(launches=True),
        *launch_tir(),
        TirCheckLaunchesPass(),
        ConvertTirToScfPass(launches=True),
        GpuMergeSharedMemoryPass(arch=arch),
        GpuOutlineKernelsPass(),
        *clean_device(),
    ]


def tir_to_upstream() -> list[ModulePass]:
    """From `tir` to func, scf, memref, arith, math and vector."""
    return [ConvertTirToScfPass()]


def clean_upstream() -> list[ModulePass]:
    """Legalizations that the LLVM emitter requires beyond plain MLIR."""
    return [LegalizeSmallFloatsPass()]


def clean_device() -> list[ModulePass]:
    """Legalizations that the CUDA emitter requires beyond plain MLIR."""
    return [*clean_upstream(), LegalizeSmallIntegersPass()]


@dataclass(frozen=True)
class Landing:
    """A level of the lowering: the passes that lead to it, and the check that holds after them."""

    name: str
    passes: Callable[[], list[ModulePass]]
    check: Callable[[ModuleOp], None]


def contract_upstream(contract: bool) -> list[ModulePass]:
    """Sums of products rounded once, where that is asked for."""
    from ..upstream.contract_floats import ContractFloatsPass

    return [ContractFloatsPass()] if contract else []


def lower(mod: Module, after: AfterPass | None = None, contract: bool = False) -> Module:
    """Lowers a copy of `mod`, at any landing, to the plain MLIR that the LLVM emitter accepts.

    after: called with the module after each pass.  contract: whether sums of products may be rounded once.
    Raises `UnsupportedError` for unsupported programs, `PassError` for a pass that left ops it is specified to remove.
    """
    mod = mod.clone()
    if has_graphs(mod.op):
        _apply(mod, relay_to_tir(), after)
    if _has_kernels(mod.op):
        _apply(mod, schedule_kernels(), after)
    for landing in LANDINGS:
        _apply(mod, landing.passes(), after)
        landing.check(mod.op)
    _apply(mod, contract_upstream(contract), after)
    return mod


def lower_launches(mod: Module, after: AfterPass | None = None, arch: str = "sm_90", contract: bool = False) -> Module:
    """Lowers a copy of `mod`, at any landing, to plain MLIR with functions of a GPU and their launches.

    arch: the architecture whose limits apply.  after, contract, errors: as of `lower`.
    """
    mod = mod.clone()
    if has_graphs(mod.op):
        _apply(mod, relay_to_tir(), after)
    _apply(mod, [*tir_to_launches(arch), *contract_upstream(contract)], after)
    return mod


def has_graphs(module: ModuleOp) -> bool:
    """Whether a module contains graphs."""
    return any(op.name == "relay.func" for op in module.body.block.ops)


def _has_kernels(module: ModuleOp) -> bool:
    """Whether a module contains kernels generated from graphs."""
    attributes = (op.properties.get("func_attrs") for op in module.body.block.ops)
    return any(isinstance(each, DictionaryAttr) and KERNEL in each.data for each in attributes)


def run_pipeline(mod: Module, passes: Iterable[ModulePass], after: AfterPass | None = None) -> Module:
    """Applies `passes` to a copy of `mod` and returns the result.

    With the environment variable STEPWELL_VERIFY set to 1, each pass is followed by the verifier.
    Raises `PassError` for a pass that fails with an error that is not a `StepwellError`.
    """
    mod = mod.clone()
    _apply(mod, passes, after)
    return mod


def apply_passes(mod: Module, spec: str, after: AfterPass | None = None) -> Module:
    """Applies a pipeline, such as `tir-resolve-blocks,tir-simplify{unit-loops=true}`, to a copy of `mod`.

    Passes are Stepwell's, xDSL's and those of other packages, in the syntax of `stepwell-opt -p`. after: called with
    the module after each pass.
    Raises `OptionError` for a malformed pipeline, `PassError` for a pass that fails.
    """
    return run_pipeline(mod, parse_passes(spec), after)


def parse_passes(spec: str) -> tuple[ModulePass, ...]:
    """The passes of a pipeline in the syntax of `apply_passes`. Raises OptionError for a malformed pipeline."""
    known = {**installed_universe().all_passes, **get_upstream_passes(), **get_all_passes()}
    try:
        return PassPipeline.parse_spec(known, spec).passes
    except (ArgSpecParseError, ValueError) as error:
        raise OptionError(f"pipeline {spec!r}: {error}") from None


def _apply(mod: Module, passes: Iterable[ModulePass], after: AfterPass | None) -> None:
    context = mlir_context()
    for module_pass in passes:
        try:
            module_pass.apply(context, mod.op)
        except StepwellError:
            raise
        except DiagnosticException as error:
            raise PassError(str(error)) from error
        except Exception as error:
            raise PassError(f"pass {module_pass.name} failed: {type(error).__name__}: {error}") from error
        if os.environ.get("STEPWELL_VERIFY") == "1":
            mod.verify()
        if after is not None:
            after(module_pass.name, mod)


# Invariants of landings


def check_resolved(module: ModuleOp) -> None:
    """Raises `PassError` if a block, a part of a block, or a named box of a buffer remains."""
    for op in module.walk():
        if isinstance(op, _BLOCKS):
            raise PassError(f"{where(op)}{op.name} is left behind the passes that resolve blocks")


def check_upstream(module: ModuleOp) -> None:
    """Raises `PassError` unless all operations and types are in the output language of `convert-tir-to-scf`."""
    for op in module.walk():
        if type(op) not in _UPSTREAM:
            raise PassError(f"{where(op)}{op.name} is left behind convert-tir-to-scf")
        for type_ in _types(op):
            if not _is_upstream(type_):
                raise PassError(f"{where(op)}{op.name} with type {type_} is left behind convert-tir-to-scf")


_BLOCKS = (BlockOp, InitOp, AccessOp, MatchRegionOp)

_UPSTREAM: frozenset[type[Operation]] = frozenset(
    (
        ModuleOp,
        UnrealizedConversionCastOp,
        llvm.IntToPtrOp,
        llvm.PtrToIntOp,
        llvm.ZeroOp,
        *(
            op
            for dialect in (func.Func, scf.Scf, cf.Cf, memref.MemRef, arith.Arith, math.Math, vector.Vector)
            for op in dialect.operations
        ),
    )
)


def _types(op: Operation) -> Iterator[Attribute]:
    yield from op.result_types
    for region in op.regions:
        for block in region.blocks:
            yield from block.arg_types


def _is_upstream(type: Attribute) -> bool:
    match type:
        case MemRefType() | VectorType():
            return _is_upstream(type.element_type)
        case IntegerType():
            return type.signedness.data is Signedness.SIGNLESS
        case _:
            return not isinstance(type, HandleType)


LANDINGS = [
    Landing("tir", resolve_tir, check_resolved),
    Landing("upstream", tir_to_upstream, check_upstream),
    Landing("legal upstream", clean_upstream, check_upstream),
]
"""The landings of the lowering to the input of the LLVM emitter, in order."""

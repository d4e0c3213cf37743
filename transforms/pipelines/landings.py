"""The landings of the lowering as data: for each, its passes and the operations that may remain after them.

A pass leaves functions below its landing unchanged, so each list of landings accepts a module at any of them. Passes of
graphs and default schedules are imported where they run: with the operators and primitives that they use, they are half
of the compiler.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass
from xdsl.transforms.common_subexpression_elimination import CommonSubexpressionElimination

from ...analysis.threads.fragments import LEFT, RIGHT, SUMS
from ...analysis.unscheduled import unscheduled_functions
from ...core.cpu import CPU_MODELS, CpuModel
from ...core.diagnostics import did_you_mean
from ...core.errors import OptionError
from ...core.remarks import is_collecting
from ...dialects.extensions import statement
from ...module import has_graphs, has_programs
from ..te.to_tir import ConvertTeToTirPass
from ..tir.check_bounds import TirCheckBoundsPass
from ..tir.compact_buffers import TirCompactBuffersPass
from ..tir.hoist_conditions import TirHoistConditionsPass
from ..tir.interleave_vthreads import TirInterleaveVthreadsPass
from ..tir.lower_extension_scalars import TirLowerExtensionScalarsPass
from ..tir.lower_extension_statements import TirLowerExtensionStatementsPass
from ..tir.lower_fragments import TirLowerFragmentsPass
from ..tir.lower_match_buffers import TirLowerMatchBuffersPass
from ..tir.partition_loops import TirPartitionLoopsPass
from ..tir.plan_allocations import TirPlanAllocationsPass
from ..tir.promote_elements import TirPromoteElementsPass
from ..tir.promote_tiles import TirPromoteTilesPass
from ..tir.resolve_blocks import TirResolveBlocksPass
from ..tir.simplify import TirSimplifyPass
from ..tir.to_scf import ConvertTirToScfPass
from ..tir.unroll_loops import TirUnrollLoopsPass
from ..tir.vectorize_loops import TirVectorizeLoopsPass
from ..tir.version_overlaps import TirVersionOverlapsPass
from ..upstream.contract_floats import ContractFloatsPass
from ..upstream.expand_math import ExpandMathPass
from ..upstream.hoist_allocations import HoistAllocationsPass
from ..upstream.legalize_small_floats import LegalizeSmallFloatsPass
from ..upstream.legalize_small_integers import LegalizeSmallIntegersPass
from ..upstream.merge_allocations import MergeAllocationsPass
from ..upstream.outline_loops import OutlineLoopsPass
from ..upstream.outline_parallel_loops import OutlineParallelLoopsPass
from ..upstream.prefetch_blocks import PrefetchBlocksPass
from ..upstream.prefetch_loads import PrefetchLoadsPass
from ..upstream.split_vectors import SplitVectorsPass
from ..upstream.stream_stores import StreamStoresPass
from . import checks
from .checks import Check, every


@dataclass(frozen=True)
class Options:
    """The options of a lowering.

    arch: the GPU architecture whose limits apply.  contract: whether a sum of a product may round once; None
    for the sums of default schedules.
    cpu: the processor.  schedule: whether functions that nobody has scheduled get default schedules for it.
    opt_level: of graphs; 0 for a kernel for each operator without optimization, 1 for fusion besides, 2 for all.
    libraries: the libraries that compute operators of graphs, by name.  winograd: whether Winograd's algorithm computes
    convolutions of graphs where it saves time.  pack: whether graphs have their constant weights as the products of
    processors read them.  sanitize: whether the code detects undefined behaviour
    (`tir-sanitize`); for LLVM only.
    """

    arch: str = "sm_90"
    contract: bool | None = None
    cpu: CpuModel = CPU_MODELS["avx2"]
    schedule: bool = True
    opt_level: int = 2
    libraries: tuple[str, ...] = ()
    winograd: bool = False
    pack: bool = False
    sanitize: bool = False


@dataclass(frozen=True)
class Landing:
    """A level of the lowering.

    passes: the passes that lead to it.  leaves: the check of the operations that may remain after them.
    needed: whether a module needs the landing.
    """

    name: str
    passes: Callable[[Options], list[ModulePass]]
    leaves: Check
    needed: Callable[[ModuleOp], bool] = lambda _: True


def has_unscheduled(module: ModuleOp) -> bool:
    """Whether a module contains functions that get default schedules for a processor, or remarks about others."""
    return is_collecting() or next(unscheduled_functions(module), None) is not None


def has_statements_of_packages(module: ModuleOp) -> bool:
    """Whether a module contains statements of other packages."""
    return any(statement(op) is not None for op in module.walk())


# Passes of graphs


def _optimize_graphs(options: Options) -> list[ModulePass]:
    # lazy: the operators of relay are needed for graphs only
    from ..relay.convert_conv1d import RelayConvertConv1dPass
    from ..relay.convert_convolutions import RelayConvertConvolutionsPass
    from ..relay.eliminate_dead_code import RelayEliminateDeadCodePass
    from ..relay.fold_constants import RelayFoldConstantsPass
    from ..relay.fold_scale_axis import RelayFoldScaleAxisPass
    from ..relay.quantize_products import RelayQuantizeProductsPass
    from ..relay.simplify import RelaySimplifyPass
    from ..relay.simplify_inference import RelaySimplifyInferencePass
    from ..relay.widen_operands import RelayWidenOperandsPass

    if options.opt_level < 2:
        return []
    return [
        *([RelayQuantizeProductsPass()] if options.pack and options.cpu.byte_products else []),
        RelaySimplifyInferencePass(),
        *([RelayWidenOperandsPass()] if options.pack else []),
        RelayFoldConstantsPass(),
        RelaySimplifyPass(),
        RelayFoldScaleAxisPass(),
        *([RelayConvertConv1dPass()] if options.pack else []),
        RelayFoldConstantsPass(),
        *([RelayConvertConvolutionsPass(), RelayFoldConstantsPass()] if options.winograd else []),
        CommonSubexpressionElimination(),
        RelayEliminateDeadCodePass(),
    ]


def _partition_graphs(options: Options) -> list[ModulePass]:
    # lazy: the operators of relay are needed for graphs only
    from ..relay.partition import RelayPartitionPass

    return [RelayPartitionPass(options.libraries)] if options.libraries else []


def _call_kernels(options: Options) -> list[ModulePass]:
    # lazy: the operators of relay are needed for graphs only
    from ..relax.plan_memory import RelaxPlanMemoryPass
    from ..relay.convert_layout import RelayConvertLayoutPass
    from ..relay.copy_results import RelayCopyResultsPass
    from ..relay.eliminate_dead_code import RelayEliminateDeadCodePass
    from ..relay.fold_constants import RelayFoldConstantsPass
    from ..relay.fuse_attention import RelayFuseAttentionPass
    from ..relay.fuse_operators import RelayFuseOperatorsPass
    from ..relay.pack_quantized import RelayPackQuantizedPass
    from ..relay.pack_weights import RelayPackWeightsPass
    from ..relay.plan_memory import RelayPlanMemoryPass
    from ..relay.slice_images import RelaySliceImagesPass

    packs = options.pack and options.opt_level >= 2
    packing = [
        RelayPackQuantizedPass(bytes=options.cpu.byte_products),
        RelaySliceImagesPass(),
        RelayConvertLayoutPass(),
        RelayPackWeightsPass(),
        CommonSubexpressionElimination(),  # weights of several products
        RelayFoldConstantsPass(),
        RelayEliminateDeadCodePass(),
    ]
    return [
        *(packing if packs else []),
        RelayCopyResultsPass(),
        *([RelayFuseAttentionPass(options.cpu.l2_bytes)] if packs and options.schedule else []),
        RelayFuseOperatorsPass(level=2 if options.opt_level else 0),
        RelayPlanMemoryPass(),
        RelaxPlanMemoryPass(),
    ]


def _graphs_to_tensors(options: Options) -> list[ModulePass]:
    # lazy: the operators of relay are needed for graphs only
    from ..relay.to_te import ConvertRelayToTePass

    return [*_call_kernels(options), ConvertRelayToTePass()]


def _graphs_to_loops(_options: Options) -> list[ModulePass]:
    # lazy: the operators of relay are needed for graphs only
    from ..relay.to_tir import ConvertRelayToTirPass

    return [ConvertTeToTirPass(), ConvertRelayToTirPass()]


# Passes of loops


_SHARE_OF_MATRIX = 4
"""The divisor of the L2 cache for the least matrix of products that get a version for one row."""


def _schedule_cpu(options: Options) -> list[ModulePass]:
    # lazy: the schedule primitives are needed for functions without a schedule only
    from ..tir.collapse_axes import TirCollapseAxesPass
    from ..tir.merge_kernels import TirMergeKernelsPass
    from ..tir.schedule_cpu import TirScheduleCpuPass
    from ..tir.split_batch import TirSplitBatchPass
    from ..tir.version_rows import TirVersionRowsPass

    # The checks of `sanitize` state the accesses of the program as its user wrote it.
    if not options.schedule or options.sanitize:
        return []
    return [
        TirSplitBatchPass(),
        TirCollapseAxesPass(),
        TirVersionRowsPass(least_bytes=options.cpu.l2_bytes // _SHARE_OF_MATRIX),
        TirScheduleCpuPass(cpu=str(options.cpu), contract=options.contract is None),
        TirMergeKernelsPass(),
    ]


def _schedule_gpu(_options: Options) -> list[ModulePass]:
    # lazy: needed for GPUs only
    from ..tir.lower_thread_reductions import TirLowerThreadReductionsPass
    from ..tir.schedule_gpu import TirScheduleGpuPass

    return [TirScheduleGpuPass(), TirLowerThreadReductionsPass()]


def _sanitize(options: Options) -> list[ModulePass]:
    # lazy: needed on request only
    from ..tir.sanitize import TirSanitizePass

    return [TirSanitizePass()] if options.sanitize else []


def _resolve(options: Options, launches: bool) -> list[ModulePass]:
    vectorize = (
        TirVectorizeLoopsPass(vector_bytes=0, reductions=False)
        if launches
        else TirVectorizeLoopsPass(masks=options.cpu.masks)
    )
    return [
        TirResolveBlocksPass(),
        TirLowerMatchBuffersPass(),
        TirLowerFragmentsPass(),
        TirCheckBoundsPass(),
        *([] if launches or options.sanitize else [TirVersionOverlapsPass()]),
        *([] if launches else [TirPartitionLoopsPass()]),
        TirSimplifyPass(unit_loops=True),
        *([] if launches else [TirHoistConditionsPass(), TirPromoteTilesPass(masks=options.cpu.masks)]),
        vectorize,
        *([] if launches else [TirCompactBuffersPass()]),
        TirUnrollLoopsPass(),
        TirSimplifyPass(unit_loops=True),
        *([] if launches else [TirPromoteElementsPass()]),
        TirPlanAllocationsPass(launches=launches),
    ]


def _launch(_options: Options) -> list[ModulePass]:
    # lazy: needed for GPUs only
    from ..tir.check_launches import TirCheckLaunchesPass
    from ..tir.distribute_threads import TirDistributeThreadsPass
    from ..tir.insert_barriers import TirInsertBarriersPass
    from ..tir.launch_blocks import TirLaunchBlocksPass
    from ..tir.launch_threads import TirLaunchThreadsPass
    from ..tir.pad_buffers import TirPadBuffersPass
    from ..tir.raise_fragments import TirRaiseFragmentsPass

    return [
        TirLaunchBlocksPass(),
        TirCompactBuffersPass(scopes=("local", LEFT, RIGHT, SUMS)),
        TirInterleaveVthreadsPass(),
        TirDistributeThreadsPass(),
        TirCompactBuffersPass(scopes=("shared", "shared.dyn")),
        TirPadBuffersPass(),
        TirInsertBarriersPass(),
        TirLaunchThreadsPass(),
        TirRaiseFragmentsPass(),
        TirSimplifyPass(unit_loops=True),
        TirCheckLaunchesPass(),
    ]


def _outline(options: Options) -> list[ModulePass]:
    # lazy: needed for GPUs only
    from ..gpu.merge_shared_memory import GpuMergeSharedMemoryPass
    from ..gpu.outline_kernels import GpuOutlineKernelsPass

    return [GpuMergeSharedMemoryPass(arch=options.arch), GpuOutlineKernelsPass()]


def _contract(options: Options) -> list[ModulePass]:
    return [ContractFloatsPass()] if options.contract else []


def _stream(options: Options) -> list[ModulePass]:
    return [StreamStoresPass()] if options.cpu.streaming else []


def _outline_graphs(_options: Options) -> list[ModulePass]:
    # lazy: needed for programs of relax only
    from ..relax.inline_dataflow import RelaxInlineDataflowPass
    from ..relax.outline_graphs import RelaxOutlineGraphsPass
    from ..relax.realize_devices import RelaxRealizeDevicesPass

    return [
        RelaxRealizeDevicesPass(),
        RelaxInlineDataflowPass(),
        CommonSubexpressionElimination(),
        RelaxOutlineGraphsPass(),
    ]


# Landings

PROGRAMS = Landing("programs of graphs", _outline_graphs, checks.no_operators_in_programs, has_programs)
"""Functions of relax that call a graph for their operators and kernels."""

OPTIMIZED = Landing("optimized graphs", _optimize_graphs, checks.any_operation)
"""Graphs of fewer and cheaper operators."""

PARTITIONED = Landing("partitioned graphs", _partition_graphs, checks.any_operation)
"""Graphs whose operators that a library computes are in functions for that library."""

CALLS = Landing("calls of kernels", _call_kernels, checks.only_calls)
"""Graphs that call a function for each kernel, with the offset of each tensor in the workspace."""

TENSORS = Landing("tensors", _graphs_to_tensors, checks.no_operators, has_graphs)
"""Functions on tensors for the kernels of graphs."""

KERNELS = Landing("loops of graphs", _graphs_to_loops, checks.no_tensors, has_graphs)
"""Functions on buffers for graphs and their kernels."""

BLOCKS = Landing("loops and blocks", lambda _: [ConvertTeToTirPass()], checks.no_tensors)
"""Functions on buffers, with loops and blocks."""

STATEMENTS = Landing(
    "statements",
    lambda _: [TirLowerExtensionStatementsPass()],
    every(checks.no_tensors, checks.no_statements_of_packages),
    has_statements_of_packages,
)
"""Statements of other packages are loops and blocks."""

SCHEDULED = Landing("scheduled functions", _schedule_cpu, checks.no_tensors, has_unscheduled)
"""Functions with default schedules for a processor, kernels of graphs among them."""

SCHEDULED_GPU = Landing("default schedules", _schedule_gpu, checks.no_tensors)
"""Functions with loops bound to the axes of a grid; reductions across threads are trees."""

LOOPS = Landing(
    "loops",
    lambda options: [*_sanitize(options), *_resolve(options, launches=False), TirInterleaveVthreadsPass(serial=True)],
    every(checks.no_tensors, checks.no_blocks),
)
"""Loops, branches and accesses of buffers, with a place for each allocation."""

LOOPS_GPU = Landing(
    "loops", lambda options: _resolve(options, launches=True), every(checks.no_tensors, checks.no_blocks)
)
"""The same for a GPU, whose blocks and threads have memory of their own."""

LAUNCHES = Landing("launches", _launch, every(checks.no_tensors, checks.no_blocks, checks.no_bound_loops))
"""Launches of blocks and threads, with barriers, within the limits of every GPU."""

UPSTREAM = Landing("upstream", lambda _: [TirLowerExtensionScalarsPass(), ConvertTirToScfPass()], checks.only_upstream)
"""Plain MLIR."""

UPSTREAM_GPU = Landing(
    "upstream", lambda _: [TirLowerExtensionScalarsPass(), ConvertTirToScfPass(launches=True)], checks.only_device
)
"""Plain MLIR with launches."""

DEVICE = Landing("functions of the device", _outline, every(checks.only_device, checks.no_launch_regions))
"""A function of the device for each launch, and the host's calls of them."""

LEGAL = Landing(
    "legal upstream",
    lambda options: [
        *([] if options.sanitize else [OutlineParallelLoopsPass()]),
        MergeAllocationsPass(),
        HoistAllocationsPass(),
        SplitVectorsPass(masks=options.cpu.masks),
        LegalizeSmallFloatsPass(),
        *_contract(options),
        ExpandMathPass(options.cpu.fma, options.cpu.scales),
        *_stream(options),
        PrefetchLoadsPass(cpu=str(options.cpu)),
        PrefetchBlocksPass(cpu=str(options.cpu)),
        OutlineLoopsPass(),
    ],
    every(checks.only_upstream, checks.no_small_floats),
)
"""The operations that the LLVM emitter accepts."""

LEGAL_GPU = Landing(
    "legal upstream",
    lambda options: [LegalizeSmallFloatsPass(), LegalizeSmallIntegersPass(), *_contract(options)],
    every(checks.only_device, checks.no_launch_regions, checks.no_small_floats, checks.no_small_integers),
)
"""The operations that the CUDA emitter accepts."""

LOOPS_C = Landing(
    "loops",
    lambda _: [
        TirResolveBlocksPass(),
        TirLowerMatchBuffersPass(),
        TirLowerFragmentsPass(),
        TirCheckBoundsPass(),
        TirSimplifyPass(unit_loops=True),
        TirUnrollLoopsPass(),
        TirSimplifyPass(unit_loops=True),
        TirPlanAllocationsPass(),
        TirInterleaveVthreadsPass(serial=True),
    ],
    every(checks.no_tensors, checks.no_blocks),
)
"""The same in the order of the program, without vectors."""

LEGAL_C = Landing(
    "legal upstream",
    lambda _: [LegalizeSmallFloatsPass(), LegalizeSmallIntegersPass()],
    every(checks.only_upstream, checks.no_small_floats, checks.no_small_integers),
)
"""The operations that the emitter of C accepts."""

GRAPHS = (PROGRAMS, OPTIMIZED, PARTITIONED, CALLS)
"""From graphs of operators, and programs that contain operators, to graphs of calls."""

TIR = (TENSORS, KERNELS, BLOCKS)
"""From any landing above to loops and blocks."""

LLVM = (*TIR, STATEMENTS, SCHEDULED, LOOPS, UPSTREAM, LEGAL)
"""From any landing to the input of the LLVM emitter."""

CUDA = (*TIR, STATEMENTS, SCHEDULED_GPU, LOOPS_GPU, LAUNCHES, UPSTREAM_GPU, DEVICE, LEGAL_GPU)
"""From any landing to the input of the CUDA emitter."""

C = (*TIR, STATEMENTS, LOOPS_C, UPSTREAM, LEGAL_C)
"""From any landing to the input of the emitter of C."""


def landings_until(name: str, launches: bool = False) -> tuple[Landing, ...]:
    """The landings from graphs to the landing called `name`, whose words may be separated by dashes.

    launches: whether the landings to CUDA are searched before those to LLVM. OptionError for an unknown name.
    """
    ways = [(*GRAPHS, *way) for way in ((CUDA, LLVM) if launches else (LLVM, CUDA))]
    wanted = name.replace("-", " ")
    for way in ways:
        names = [landing.name for landing in way]
        if wanted in names:
            return way[: names.index(wanted) + 1]
    known = list(dict.fromkeys(landing.name.replace(" ", "-") for way in ways for landing in way))
    raise OptionError(f"no landing {name!r}{did_you_mean(name, known)} (there are {', '.join(known)})")

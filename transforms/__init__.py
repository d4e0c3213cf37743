"""The passes, one module per pass, named after it; `pipelines` orders them."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from xdsl.passes import ModulePass

PASSES: dict[str, str] = {
    "apply-schedule": "ApplySchedulePass",
    "contract-floats": "ContractFloatsPass",
    "convert-relay-to-te": "ConvertRelayToTePass",
    "convert-relay-to-tir": "ConvertRelayToTirPass",
    "convert-te-to-tir": "ConvertTeToTirPass",
    "convert-tir-to-scf": "ConvertTirToScfPass",
    "gpu-merge-shared-memory": "GpuMergeSharedMemoryPass",
    "gpu-outline-kernels": "GpuOutlineKernelsPass",
    "legalize-small-floats": "LegalizeSmallFloatsPass",
    "legalize-small-integers": "LegalizeSmallIntegersPass",
    "relay-copy-results": "RelayCopyResultsPass",
    "relay-eliminate-dead-code": "RelayEliminateDeadCodePass",
    "relay-fold-constants": "RelayFoldConstantsPass",
    "relay-fold-scale-axis": "RelayFoldScaleAxisPass",
    "relay-fuse-operators": "RelayFuseOperatorsPass",
    "relay-partition": "RelayPartitionPass",
    "relay-infer-types": "RelayInferTypesPass",
    "relay-plan-memory": "RelayPlanMemoryPass",
    "relay-simplify": "RelaySimplifyPass",
    "relay-simplify-inference": "RelaySimplifyInferencePass",
    "te-inline": "TeInlinePass",
    "tir-check-launches": "TirCheckLaunchesPass",
    "tir-compact-buffers": "TirCompactBuffersPass",
    "tir-distribute-threads": "TirDistributeThreadsPass",
    "tir-insert-barriers": "TirInsertBarriersPass",
    "tir-interleave-vthreads": "TirInterleaveVthreadsPass",
    "tir-launch-blocks": "TirLaunchBlocksPass",
    "tir-launch-threads": "TirLaunchThreadsPass",
    "tir-lower-match-buffers": "TirLowerMatchBuffersPass",
    "tir-lower-thread-reductions": "TirLowerThreadReductionsPass",
    "tir-pad-buffers": "TirPadBuffersPass",
    "tir-plan-allocations": "TirPlanAllocationsPass",
    "tir-resolve-blocks": "TirResolveBlocksPass",
    "tir-schedule-gpu": "TirScheduleGpuPass",
    "tir-schedule-kernels": "TirScheduleKernelsPass",
    "tir-simplify": "TirSimplifyPass",
    "tir-unroll-loops": "TirUnrollLoopsPass",
    "tir-vectorize-loops": "TirVectorizeLoopsPass",
}
"""{ name of a pass -> its class }; the module has the name of the pass, with underscores."""


def get_all_passes() -> dict[str, Callable[[], type[ModulePass]]]:
    """The loader of every pass, by name; modules are imported when a loader is called."""
    return {name: partial(_load, name) for name in PASSES}


def _load(name: str) -> type[ModulePass]:
    return getattr(import_module(f".{name.replace('-', '_')}", __name__), PASSES[name])

"""The passes of `relax.build` by phase, as lists that programs change: `tvm.relax.backend.cuda.legalize_passes`."""

from __future__ import annotations

from typing import Any

from ...transform import Runnable, Sequential


def library_dispatch_passes(target: Any) -> list[Runnable]:
    """The passes that replace operators by functions of libraries. target: ignored, as of the other functions."""
    # lazy: the module imports this package
    from . import DispatchSampling, DispatchSortScan

    return [DispatchSampling(), DispatchSortScan()]


def legalize_passes(target: Any) -> list[Runnable]:
    """The passes that replace operators by kernels; schedules are chosen when they are built."""
    # lazy: the module imports this package
    from ..transform import AnnotateTIROpPattern, FoldConstant, FuseOps, FuseTIR, LegalizeOps

    return [LegalizeOps(), AnnotateTIROpPattern(), FoldConstant(), FuseOps(), FuseTIR()]


def dataflow_lower_passes(target: Any) -> list[Runnable]:
    """The passes that make calls of kernels calls with memory for their results."""
    # lazy: the module imports this package
    from ..transform import CallTIRRewrite, RemovePurityChecking, RewriteDataflowReshape, ToNonDataflow

    return [RewriteDataflowReshape(), ToNonDataflow(), RemovePurityChecking(), CallTIRRewrite()]


def finalize_passes(target: Any) -> list[Runnable]:
    """The passes that plan memory and lower sizes."""
    # lazy: the module imports this package
    from .. import transform

    return [
        transform.StaticPlanBlockMemory(),
        transform.RewriteCUDAGraph(),
        transform.LowerAllocTensor(),
        transform.KillAfterLastUse(),
        transform.LowerRuntimeBuiltin(),
        transform.ComputePrimValue(),
        transform.VMShapeLower(),
        transform.AttachGlobalSymbol(),
    ]


def get_default_pipeline(target: Any) -> Sequential:
    """The passes of all phases, in order."""
    phases = (library_dispatch_passes, legalize_passes, dataflow_lower_passes, finalize_passes)
    return Sequential([each for phase in phases for each in phase(target)], name="default")


__all__ = [
    "dataflow_lower_passes", "finalize_passes", "get_default_pipeline", "legalize_passes", "library_dispatch_passes",
]  # fmt: skip

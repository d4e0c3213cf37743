"""Changes of drawn schedules, and conditions on them: `tvm.meta_schedule.postproc`."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from ...absent import report_absent
from .blocks import RewriteReductionBlock, RewriteTensorize, RewriteUnboundBlock
from .conditions import DisallowDynamicLoop, RewriteLayout, VerifyGPUCode
from .postproc import Postproc, PyPostproc
from .rewrite_cooperative_fetch import RewriteCooperativeFetch
from .rewrite_parallel_vectorize_unroll import RewriteParallelVectorizeUnroll

__getattr__ = report_absent("tvm.meta_schedule.postproc")


def _processor() -> list[Postproc]:
    return [DisallowDynamicLoop(), RewriteParallelVectorizeUnroll(), RewriteReductionBlock()]


def _cuda() -> list[Postproc]:
    return [
        DisallowDynamicLoop(),
        RewriteCooperativeFetch(),
        RewriteUnboundBlock(max_threadblocks=256),
        RewriteParallelVectorizeUnroll(),
        RewriteReductionBlock(),
        VerifyGPUCode(),
    ]


DEFAULTS: Mapping[str, Callable[[], list[Postproc]]] = {
    "llvm": lambda: [*_processor(), RewriteLayout()],
    "cuda": _cuda,
    "hexagon": lambda: [*_processor(), RewriteLayout()],
    "c": _processor,
}
"""The postprocessors by the kind of a target."""

__all__ = [
    "DisallowDynamicLoop", "Postproc", "PyPostproc", "RewriteCooperativeFetch", "RewriteLayout",
    "RewriteParallelVectorizeUnroll", "RewriteReductionBlock", "RewriteTensorize", "RewriteUnboundBlock",
    "VerifyGPUCode",
]  # fmt: skip

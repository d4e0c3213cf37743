"""Passes on quantized graphs: `tvm.relay.qnn.transform`."""

from __future__ import annotations

from .....module import Module
from .....transforms.pipelines import run_pipeline
from .....transforms.relay.infer_types import RelayInferTypesPass
from ...absent import report_absent
from ...ir.module import IRModule
from ...transform import FunctionalPass, PassContext, PassInfo
from .. import transform

__getattr__ = report_absent("tvm.relay.qnn.transform")


def Legalize() -> FunctionalPass:
    """Replaces calls of operators on quantized integers by the expressions of functions that are registered for
    "FTVMQnnLegalize"."""
    return transform.Legalize("FTVMQnnLegalize")


def CanonicalizeOps() -> FunctionalPass:
    """The graph with its types inferred: kernels compute operators on quantized integers as they are, so that no
    operator has to become several."""

    def run(mod: IRModule, ctx: PassContext) -> Module:
        return run_pipeline(mod, [RelayInferTypesPass()])

    return FunctionalPass(run, PassInfo(1, "CanonicalizeOps"))


__all__ = ["CanonicalizeOps", "Legalize"]

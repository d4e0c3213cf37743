"""Passes on functions: `tvm.tir.transform`. Each name of TVM runs passes of this package; options are not taken."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from xdsl.passes import ModulePass

from ....core.errors import PassError
from ....module import Module
from ....transforms.pipelines import run_pipeline
from ....transforms.tir.compact_buffers import TirCompactBuffersPass
from ....transforms.tir.hoist_conditions import TirHoistConditionsPass
from ....transforms.tir.lower_match_buffers import TirLowerMatchBuffersPass
from ....transforms.tir.partition_loops import TirPartitionLoopsPass
from ....transforms.tir.plan_allocations import TirPlanAllocationsPass
from ....transforms.tir.resolve_blocks import TirResolveBlocksPass
from ....transforms.tir.simplify import TirSimplifyPass
from ....transforms.tir.unroll_loops import TirUnrollLoopsPass
from ....transforms.tir.vectorize_loops import TirVectorizeLoopsPass
from ..absent import report_absent
from ..ir.module import IRModule, PrimFunc
from ..transform import FunctionalPass, PassContext, PassInfo

PrimFuncPass = FunctionalPass
"""The type of passes, as TVM's users ask for it: all of them transform modules."""


def prim_func_pass(
    pass_func: Callable[[PrimFunc, IRModule, PassContext], Module] | None = None,
    opt_level: int = 0,
    name: str | None = None,
    required: Sequence[str] | None = None,
) -> Any:
    """A pass from a function of one `PrimFunc`, the module and the context that returns a function.

    @tir.transform.prim_func_pass(opt_level=0)
    def a_pass(f, mod, ctx):
        return f.with_body(...)
    """

    def create(function: Callable[[PrimFunc, IRModule, PassContext], Module]) -> FunctionalPass:
        info = PassInfo(opt_level, name or function.__name__, tuple(required or ()))

        def run(mod: IRModule, ctx: PassContext) -> Module:
            functions: dict[str, Module] = {}
            for key, func in mod.items():
                result = function(func, mod, ctx)
                if not isinstance(result, Module):  # pyright: ignore[reportUnnecessaryIsInstance]
                    raise PassError(f"pass {info.name} gives {result!r} for function {key}, expected a function")
                functions[key] = result
            return IRModule(functions, mod.constants)

        return FunctionalPass(run, info)

    return create if pass_func is None else create(pass_func)


def _named(name: str, meaning: str, passes: Callable[[], list[ModulePass]], opt_level: int = 0) -> Any:
    """A function that returns the pass called `name` in TVM, which runs passes of this package."""

    def create(*_options: Any) -> FunctionalPass:
        def run(mod: IRModule, ctx: PassContext) -> Module:
            return run_pipeline(mod, passes())

        return FunctionalPass(run, PassInfo(opt_level, f"tir.{name}"))

    create.__name__ = name
    create.__doc__ = meaning
    return create


def _thread_reductions() -> list[ModulePass]:
    # lazy: needed for GPUs only
    from ....transforms.tir.lower_thread_reductions import TirLowerThreadReductionsPass

    return [TirLowerThreadReductionsPass()]


def _vthreads() -> list[ModulePass]:
    # lazy: needed for GPUs only
    from ....transforms.tir.interleave_vthreads import TirInterleaveVthreadsPass

    return [TirInterleaveVthreadsPass(serial=True)]


Simplify = _named("Simplify", "`tir-simplify`.", lambda: [TirSimplifyPass()])
RemoveNoOp = _named(
    "RemoveNoOp", "`tir-simplify`, which removes statements without effects.", lambda: [TirSimplifyPass()]
)
UnrollLoop = _named("UnrollLoop", "`tir-unroll-loops`.", lambda: [TirUnrollLoopsPass()])
VectorizeLoop = _named("VectorizeLoop", "`tir-vectorize-loops`.", lambda: [TirVectorizeLoopsPass()])
LoopPartition = _named("LoopPartition", "`tir-partition-loops`.", lambda: [TirPartitionLoopsPass()])
HoistIfThenElse = _named("HoistIfThenElse", "`tir-hoist-conditions`.", lambda: [TirHoistConditionsPass()])
HoistExpression = _named("HoistExpression", "`tir-hoist-conditions`.", lambda: [TirHoistConditionsPass()])
CompactBufferAllocation = _named("CompactBufferAllocation", "`tir-compact-buffers`.", lambda: [TirCompactBuffersPass()])
LowerMatchBuffer = _named("LowerMatchBuffer", "`tir-lower-match-buffers`.", lambda: [TirLowerMatchBuffersPass()])
LowerOpaqueBlock = _named("LowerOpaqueBlock", "`tir-resolve-blocks`.", lambda: [TirResolveBlocksPass()])
PlanAndUpdateBufferAllocationLocation = _named(
    "PlanAndUpdateBufferAllocationLocation", "`tir-plan-allocations`.", lambda: [TirPlanAllocationsPass()]
)
LowerCrossThreadReduction = _named("LowerCrossThreadReduction", "`tir-lower-thread-reductions`.", _thread_reductions)
InjectVirtualThread = _named("InjectVirtualThread", "`tir-interleave-vthreads{serial}`.", _vthreads)


def DefaultGPUSchedule() -> Any:
    """Schedules each function that is not scheduled by the rule `Fallback` of `tvm.dlight`, for the current target."""
    # lazy: the rules import this package
    from ..dlight.base import ApplyDefaultSchedule
    from ..dlight.gpu import Fallback

    return ApplyDefaultSchedule(Fallback())


def Apply(ftransform: Callable[[PrimFunc], PrimFunc]) -> FunctionalPass:
    """A pass that applies a function to each function of a module."""
    return prim_func_pass(lambda func, mod, ctx: ftransform(func), opt_level=0, name="tir.Apply")


def Filter(fcond: Callable[[PrimFunc], bool]) -> FunctionalPass:
    """A pass that keeps the functions for which `fcond` holds."""

    def run(mod: IRModule, ctx: PassContext) -> Module:
        return IRModule({name: func for name, func in mod.items() if fcond(func)}, mod.constants)

    return FunctionalPass(run, PassInfo(0, "tir.Filter"))


__getattr__ = report_absent("tvm.tir.transform")

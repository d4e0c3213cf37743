"""Passes on functions: `tvm.tir.transform`.

Each name of TVM runs passes of this package, whose options are not taken, or leaves a module as it is if its work is
that of `tvm.build`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import IntFlag
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
from ..target.target import Target, TargetLike
from ..transform import FunctionalPass, PassContext, PassInfo, no_change
from .analysis import verify_memory
from .block_passes import (
    BindAxesPass,
    LowerInitsPass,
    RemoveStatementsPass,
    SerialLoopsPass,
    is_assumption,
    is_check,
)
from .flatten_buffers import FlattenBuffersPass
from .inline_functions import InlineFunctionsPass
from .tensorize_mapping import tile_with_tensor_intrin as tile_with_tensor_intrin

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


FlattenBuffer = _named(
    "FlattenBuffer",
    "Compact buffers of several dimensions as buffers of one, parameters by views of their memory.",
    lambda: [FlattenBuffersPass()],
)
InlinePrivateFunctions = _named(
    "InlinePrivateFunctions",
    "Calls of private functions without blocks and results as their statements.",
    lambda: [InlineFunctionsPass()],
)
LowerInitBlock = _named("LowerInitBlock", "The inits of blocks as conditional statements.", lambda: [LowerInitsPass()])
ConvertBlocksToOpaque = _named(
    "ConvertBlocksToOpaque",
    "Blocks without axes: the bindings replace the axes. PassError for a block with an init.",
    lambda: [BindAxesPass()],
)
SkipAssert = _named("SkipAssert", "Removes checks.", lambda: [RemoveStatementsPass(is_check)])
RemoveAssume = _named("RemoveAssume", "Removes `T.assume`.", lambda: [RemoveStatementsPass(is_assumption)])
ConvertForLoopsToSerial = _named(
    "ConvertForLoopsToSerial", "Parallel, vectorized and unrolled loops as serial ones.", lambda: [SerialLoopsPass()]
)


def _lowered_later(name: str) -> Any:
    """A function that returns the pass called `name` in TVM, whose work `tvm.build` does: it leaves a module as it
    is."""

    def create(*_options: Any, **_named_options: Any) -> FunctionalPass:
        return no_change(f"tir.{name}")

    create.__name__ = name
    create.__doc__ = "Leaves a module as it is: `tvm.build` does the work."
    return create


AnnotateDeviceRegions = _lowered_later("AnnotateDeviceRegions")
BF16ComputeLegalize = _lowered_later("BF16ComputeLegalize")
BF16StorageLegalize = _lowered_later("BF16StorageLegalize")
CommonSubexprElimTIR = _lowered_later("CommonSubexprElimTIR")
ConvertSSA = _lowered_later("ConvertSSA")
FP8ComputeLegalize = _lowered_later("FP8ComputeLegalize")
FP8StorageLegalize = _lowered_later("FP8StorageLegalize")
ForceNarrowIndexToInt32 = _lowered_later("ForceNarrowIndexToInt32")
InferFragment = _lowered_later("InferFragment")
InjectDoubleBuffer = _lowered_later("InjectDoubleBuffer")
InjectPTXAsyncCopy = _lowered_later("InjectPTXAsyncCopy")
InjectPermutedLayout = _lowered_later("InjectPermutedLayout")
InjectSoftwarePipeline = _lowered_later("InjectSoftwarePipeline")
LegalizePackedCalls = _lowered_later("LegalizePackedCalls")
LiftThreadBinding = _lowered_later("LiftThreadBinding")
LowerAutoCopy = _lowered_later("LowerAutoCopy")
LowerCustomDatatypes = _lowered_later("LowerCustomDatatypes")
LowerDeviceKernelLaunch = _lowered_later("LowerDeviceKernelLaunch")
LowerDeviceStorageAccessInfo = _lowered_later("LowerDeviceStorageAccessInfo")
LowerIntrin = _lowered_later("LowerIntrin")
LowerTVMBuiltin = _lowered_later("LowerTVMBuiltin")
LowerThreadAllreduce = _lowered_later("LowerThreadAllreduce")
LowerWarpMemory = _lowered_later("LowerWarpMemory")
MakePackedAPI = _lowered_later("MakePackedAPI")
MakeUnpackedAPI = _lowered_later("MakeUnpackedAPI")
ManifestSharedMemoryLocalStage = _lowered_later("ManifestSharedMemoryLocalStage")
MergeDynamicSharedMemoryAllocations = _lowered_later("MergeDynamicSharedMemoryAllocations")
MergeSharedMemoryAllocations = _lowered_later("MergeSharedMemoryAllocations")
NarrowDataType = _lowered_later("NarrowDataType")
PointerValueTypeRewrite = _lowered_later("PointerValueTypeRewrite")
RenormalizeSplitPattern = _lowered_later("RenormalizeSplitPattern")
RewriteUnsafeSelect = _lowered_later("RewriteUnsafeSelect")
SplitHostDevice = _lowered_later("SplitHostDevice")
StorageFlatten = _lowered_later("StorageFlatten")
StorageRewrite = _lowered_later("StorageRewrite")
ThreadSync = _lowered_later("ThreadSync")
UnifyThreadBinding = _lowered_later("UnifyThreadBinding")


def BindTarget(target: TargetLike) -> FunctionalPass:
    """A pass that states a target as the attribute `target` of functions.

    A function that has a target gets the host of `target`, a function of the host (`tir.is_host_func`) the host alone;
    private functions get targets without a host.
    """
    chosen = Target(target)
    host = chosen.host or Target("llvm")

    def bind(func: PrimFunc, mod: IRModule, ctx: PassContext) -> PrimFunc:
        is_exposed = "global_symbol" in func.attrs
        own: Target | None = func.attrs.get("target")
        if own is not None:
            bound = own.with_host(chosen.host) if chosen.host and own.host is None and is_exposed else own
        elif func.attrs.get(_IS_HOST):
            bound = host.with_host(host)
        else:
            bound = chosen if is_exposed else chosen.without_host()
        return func.with_attr("target", bound).without_attr(_IS_HOST)

    return prim_func_pass(bind, opt_level=0, name="tir.BindTarget")


_IS_HOST = "tir.is_host_func"
_IS_ENTRY = "tir.is_entry_func"


def AnnotateEntryFunc() -> FunctionalPass:
    """A pass that marks the function that other programs call, if it is known: the only one, or the only one that is
    not private."""

    def run(mod: IRModule, ctx: PassContext) -> Module:
        functions = dict(mod.items())
        exposed = [name for name, func in functions.items() if "global_symbol" in func.attrs]
        entries = list(functions) if len(functions) == 1 else exposed
        if len(entries) == 1 and isinstance(functions[entries[0]], PrimFunc):
            functions[entries[0]] = functions[entries[0]].with_attr(_IS_ENTRY, True)
        return IRModule(functions, mod.constants)

    return FunctionalPass(run, PassInfo(0, "tir.AnnotateEntryFunc"))


def VerifyMemory() -> FunctionalPass:
    """A pass that raises PassError for a function of a GPU that accesses the memory of the GPU outside of threads."""

    def verify(func: PrimFunc, mod: IRModule, ctx: PassContext) -> PrimFunc:
        if not verify_memory(func):
            (name,) = func.function_ops
            raise PassError(f"function {name} accesses memory of the GPU outside of threads: did you forget to bind?")
        return func

    return prim_func_pass(verify, opt_level=0, name="tir.VerifyMemory")


class HoistedConditionals(IntFlag):
    """The kinds of conditions that `HoistExpression` moves out of loops. The options of the pass have no effect."""

    Never = 0
    IfElseStmt = 1
    IfElseExpr = 2
    BooleanExpression = 4
    UsingBlockVar = 8
    All = IfElseStmt | IfElseExpr | BooleanExpression | UsingBlockVar


class HoistedLetBindings(IntFlag):
    """The kinds of bindings that `HoistExpression` moves out of loops. The options of the pass have no effect."""

    Never = 0
    RequiredByConditional = 1
    LetStmt = 2
    LetExpr = 4
    All = RequiredByConditional | LetStmt | LetExpr


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

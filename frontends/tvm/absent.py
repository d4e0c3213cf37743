"""Names of TVM that this package lacks, and what does their work."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from types import ModuleType
from typing import Any, NoReturn

from ...core.errors import UnsupportedError
from .submodules import submodule

_NO_SEARCH = "schedules are drawn and measured: tvm.meta_schedule.tune_tir with a ScheduleFn"
_LEGALIZATION = "relay.op.register_legalize, whose functions relay.transform.Legalize calls"
_NO_ARRAYS = "use the lists of tvm.relay.prelude.Prelude"
ABSENT_MODULES: dict[str, str] = {
    "tvm.autotvm.database": "records are lines of files: autotvm.callback.log_to_file, autotvm.record",
    "tvm.autotvm.feature": "models of speed have the knobs as features",
    "tvm.auto_scheduler.feature": "schedules are measured; there is no model of speed",
    **dict.fromkeys(
        (
            "tvm.meta_schedule.builder.async_build",
            "tvm.meta_schedule.logging",
            "tvm.meta_schedule.runner.rpc_runner",
            "tvm.meta_schedule.runner.utils",
            "tvm.meta_schedule.trace_apply",
            "tvm.meta_schedule.feature_extractor",
            "tvm.meta_schedule.post_optimization",
            "tvm.meta_schedule.testing.custom_builder_runner",
            "tvm.meta_schedule.testing.dataset_collect_models",
            "tvm.meta_schedule.testing.tlcbench",
            "tvm.meta_schedule.testing.local_rpc",
            "tvm.meta_schedule.testing.relay_workload",
            "tvm.meta_schedule.testing.schedule_rule",
            "tvm.meta_schedule.testing.tune_utils",
            "tvm.meta_schedule.testing.utils",
        ),
        _NO_SEARCH,
    ),
    "tvm.relay.SpanCheck": "places in source texts are not recorded",
    "tvm.relay.testing.byoc": "tvm.relax has code generators of users",
    "tvm.relay.transform.infer_layout_utils": "ConvertLayout inserts transposes around operators",
    "tvm.topi.cuda.conv3d_winograd": "relay.build chooses Winograd's algorithm",
    "tvm.relay.op.op_attrs": "attributes of all operators are of one class, tvm.ir.Attrs",
    "tvm.relay.query_layout": "relay.transform.ConvertLayout",
    **dict.fromkeys(
        (
            f"tvm.relay.backend.{name}"
            for name in ("contrib", "graph_executor_codegen", "graph_runtime_codegen", "utils")
        ),
        "relay.build",
    ),
    **dict.fromkeys(
        (f"tvm.relay.quantize.{name}" for name in ("_annotate", "_calibrate", "_partition", "_partition_conversions")),
        "the steps are passes: relay.quantize.annotate, calibrate, partition, realize",
    ),
    "tvm.relay.frontend.pytorch_utils": "models of detection are imported as they are",
    "tvm.relay.testing.tf": "convert the model to ONNX, and read it with relay.frontend.from_onnx",
    "tvm.relay.testing.darknet": "convert the model to ONNX, and read it with relay.frontend.from_onnx",
    "tvm.relay.testing.yolo_detection": "boxes are those of the model",
    **dict.fromkeys(
        (
            f"tvm.{each}"
            for each in (
                "contrib.cutlass",
                "contrib.dnnl",
                "contrib.mps",
                "contrib.msir",
                "relay.op.contrib.arm_compute_lib",
                "relay.op.contrib.clml",
                "relay.op.contrib.cutlass",
                "relay.op.contrib.dnnl",
                "relay.op.contrib.tensorrt",
                "relax.backend.contrib.tensorrt",
            )
        ),
        "expected native code, or the target `llvm -libs=cblas`, `cuda -libs=cudnn` or `cuda -libs=cublas`",
    ),
    **dict.fromkeys(
        (
            "tvm.contrib.emcc",
            "tvm.contrib.emscripten",
            "tvm.contrib.pipeline_executor",
            "tvm.contrib.pipeline_executor_build",
            "tvm.contrib.rpc",
            "tvm.contrib.rpc_proxy",
            "tvm.contrib.tvmjs",
            "tvm.rpc.proxy",
            "tvm.rpc.server",
            "tvm.rpc.tracker",
        ),
        "programs run on this machine, in this process: tvm.rpc.LocalSession, relay.build",
    ),
    "tvm.contrib.msc": "relax.frontend.torch.from_exported_program, relax.transform",
    "tvm.script.printer": "script, show and astext of modules and functions",
    "tvm.script.parser.core": "tvm.script.from_source, T.macro, and functions of Python that build expressions",
    "tvm.contrib.peak": "stepwell profile, which measures the limits of the machine",
    "tvm.contrib.mxnet": "tvm.nd.array of the array of numpy",
    "tvm.contrib.hexagon": "expected the target llvm or cuda",
    "tvm.contrib.cuda_graph": "relay.build, whose graphs start their kernels without gaps",
    "tvm.utils": "tvm.contrib.debugger.debug_executor measures kernels",
    "tvm._ffi.libinfo": "there is no library of TVM, the compiler is a package of Python",
    "tvm.contrib.cublas": "relay.build with the target `cuda -libs=cublas`",
    "tvm.contrib.cudnn": "relay.build with the target `cuda -libs=cudnn`",
    "tvm.contrib.popen_pool": "multiprocessing of Python; tuners measure in processes of their own",
    "tvm.contrib.rocblas": "relay.build with the target `cuda -libs=cublas`",
    "tvm.contrib.miopen": "relay.build with the target `cuda -libs=cudnn`",
    "tvm.contrib.nnpack": "relay.build with the target `llvm -libs=cblas`",
    "tvm.contrib.thrust": "topi.sort and topi.argsort",
    "tvm.contrib.sort": "topi.sort and topi.argsort",
    "tvm.contrib.tf_op": "export the model to ONNX, and read it with relay.frontend.from_onnx",
    "tvm.autotvm.tuner.model_based_tuner": "models of speed have the knobs as features: autotvm.tuner.XGBTuner",
    "tvm.autotvm.tuner.xgboost_cost_model": "models of speed have the knobs as features: autotvm.tuner.XGBTuner",
    "tvm.tir.tensor_intrin.hexagon": "intrinsics of processors and of cuda: tvm.tir.tensor_intrin.x86, cuda",
    "tvm.tir.tensor_intrin.riscv_cpu": "intrinsics of processors and of cuda: tvm.tir.tensor_intrin.x86, cuda",
    "tvm.topi.hexagon": "expected the target llvm or cuda",
    **dict.fromkeys(
        ("tvm.meta_schedule.cost_model.mlp_model", "tvm.meta_schedule.cost_model.xgb_model"),
        "each schedule is measured, or a CostModel of users orders them",
    ),
    "tvm.tir.tensor_intrin.metal": "intrinsics of processors and of cuda: tvm.tir.tensor_intrin.x86, cuda",
    "tvm.topi.arm_cpu.tensor_intrin": "tvm.tir.tensor_intrin.arm_cpu, whose names Schedule.tensorize takes",
    "tvm.relax.distributed": "programs run in one process, on devices of their module: R.Tensor(..., vdevice=...)",
    "tvm.relax.exec_builder": "there is no byte code: relax.BlockBuilder and relax.build",
    "tvm.script.ir_builder.relax": "TVMScript as text or as decorated functions, relax.BlockBuilder",
    "tvm.contrib.spirv": "expected the target llvm or cuda",
}
"""The absent modules that programs may import, each with what does its work."""

_ASYNCHRONOUS = (
    "create_barriers", "ptx_arrive_barrier", "ptx_arrive_barrier_expect_tx", "ptx_commit_group", "ptx_cp_async",
    "ptx_cp_async_barrier", "ptx_cp_async_bulk", "ptx_init_barrier_thread_count", "ptx_wait_barrier", "ptx_wait_group",
)  # fmt: skip
"""The names of copies that run while others compute."""
ABSENT: dict[str, dict[str, str]] = {
    "tvm": {
        "register_extension": "compiled functions take every object that supports DLPack",
        "make": "use the nodes of tvm.tir",
        "ScheduleOps": "tvm.lower",
        "codegen": "tvm.build",
        "datatype": "types of users' own are absent, expected float16, bfloat16, the float8 types, or integers",
        "generic": "tvm.target.generic_func",
        "opengl": "expected the target llvm or cuda",
        "extract_ext_funcs": "tvm.register_func registers functions of Python",
        "trace": "tvm.tir.Print, which prints values when the program runs",
    },
    "tvm.rpc": {"Server": "programs run on this machine, in this process: tvm.rpc.LocalSession"},
    "tvm.te": dict.fromkeys(
        ("HybridOp", "TensorComputeOp"), "the operations of tensors are te.ComputeOp, te.ExternOp and te.ScanOp"
    ),
    "tvm.arith": {
        **dict.fromkeys(
            ("solve_linear_equations", "solve_linear_inequalities"),
            "arith.detect_iter_map of indices, arith.deduce_bound of one condition",
        ),
        "PresburgerSet": "arith.IntSet",
        "normalize_to_iter_sum": "arith.detect_iter_map",
        "detect_common_subexpr": "tir.transform.CommonSubexprElimTIR",
    },
    "tvm.runtime": {
        "disco": "programs run in this process, on one device",
        "load_static_library": "tvm.runtime.load_module of a shared library, or tvm.contrib.cc.create_shared",
        "system_lib": "tvm.runtime.load_module of the exported file",
        **dict.fromkeys(("ObjectGeneric", "ObjectTypes", "convert_to_object"), "values of Python are nodes"),
    },
    "tvm.ir_pass": dict.fromkeys(
        (
            "ArgBinder",
            "CombineContextCall",
            "CoProcSync",
            "HoistIfThenElse",
            "InferFragment",
            "InjectCopyIntrin",
            "InjectDoubleBuffer",
            "InjectPrefetch",
            "InjectVirtualThread",
            "InstrumentBoundCheckers",
            "LiftAttrScope",
            "LoopPartition",
            "LowerIntrin",
            "LowerStorageAccessInfo",
            "LowerThreadAllreduce",
            "LowerTVMBuiltin",
            "LowerWarpMemory",
            "MakeAPI",
            "NarrowChannelAccess",
            "RemapThreadAxis",
            "RemoveNoOp",
            "SkipAssert",
            "SplitHostDevice",
            "SplitPipeline",
            "SSA",
            "StorageFlatten",
            "StorageRewrite",
            "ThreadSync",
            "UnrollLoop",
            "VectorizeLoop",
            "VerifyMemory",
            "VerifySSA",
            "VerifyGPUCode",
        ),
        "tvm.lower applies all passes; those on one function are in tvm.tir.transform",
    ),
    "tvm.target": {
        "datatype": "types of users' own are absent, expected float16, bfloat16, the float8 types, or integers",
    },
    "tvm.tir": {
        "usmp": "the memory of graphs is planned by relay.build",
        **dict.fromkeys(
            _ASYNCHRONOUS,
            "copies are loads and stores, barriers tvm_storage_sync",
        ),
        "ptx_mma_sp": "ptx_mma: matrices are not sparse",
        **dict.fromkeys(
            ("BlockDependenceInfo", "BlockScope", "ScheduleState"),
            "Schedule.get_producers, get_consumers, get_child_blocks, get_loops",
        ),
        **dict.fromkeys(
            (
                "call_cpacked",
                "call_cpacked_lowered",
                "call_packed_lowered",
                "tvm_check_return",
                "tvm_stack_alloca",
                "tvm_stack_make_array",
                "tvm_stack_make_shape",
                "tvm_struct_get",
                "tvm_tuple",
            ),
            "tvm.tir.call_packed, which passes numbers and buffers to functions of tvm.register_func",
        ),
        **dict.fromkeys(("start_profile_intrinsic", "end_profile_intrinsic"), "stepwell profile"),
        "lookup_param": "constants are arrays of a module",
        "tvm_access_ptr": "Buffer.access_ptr",
        "undef": "a block that stores nothing where elements have no value",
        "tvm_bmma_sync": "tvm_mma_sync: matrices of bits are products of integers of 4 bits or more",
    },
    "tvm.topi.vision": {
        name: f"the number of boxes depends on their elements, expected relay.vision.{name}"
        for name in (
            "all_class_non_max_suppression",
            "get_valid_counts",
            "multibox_transform_loc",
            "non_max_suppression",
            "proposal",
        )
    }
    | {"multibox_detection": "relay.vision.multibox_transform_loc and relay.vision.non_max_suppression"},
    "tvm.topi": {
        "cpp": "the names of tvm.topi, which are functions of Python",
        **dict.fromkeys(("erf_legalize", "take_legalize"), _LEGALIZATION),
    },
    "tvm.topi.nn": {
        **dict.fromkeys(
            (
                "add_alter_layout",
                "conv2d_alter_layout",
                "conv2d_transpose_alter_layout",
                "conv3d_alter_layout",
                "dense_alter_layout",
                "qnn_conv2d_alter_layout",
                "qnn_dense_alter_layout",
                "qnn_requantize_alter_layout",
                "sparse_dense_alter_layout",
            ),
            "relay.op.register_alter_op_layout, whose functions relay.transform.AlterOpLayout calls",
        ),
        **dict.fromkeys(
            (
                "batch_matmul_legalize",
                "bias_add_legalize",
                "bitserial_conv2d_legalize",
                "conv2d_legalize",
                "conv2d_transpose_legalize",
                "conv3d_transpose_legalize",
                "dense_legalize",
                "matmul_legalize",
            ),
            _LEGALIZATION,
        ),
        **dict.fromkeys(
            ("conv2d_infer_layout", "depthwise_conv2d_infer_layout"),
            "layouts are attributes of operators: relay.transform.ConvertLayout",
        ),
        "conv2d_winograd_nnpack_weight_transform": "tvm.topi.nn.conv2d_winograd_weight_transform",
        "cpp": "the names of tvm.topi.nn, which are functions of Python",
        "logger": "logging.getLogger of Python",
        "try_get_conv2d_sparse_input": "task_inputs of auto_scheduler.SearchTask by the names of tensors",
    },
    "tvm.topi.utils": {"cpp": "the names of tvm.topi.utils, which are functions of Python"},
    "tvm.tir.transform": {
        "ApplyLayoutTransforms": "Schedule.transform_layout",
        "CoProcSync": "expected the target llvm or cuda",
        "CombineContextCall": "expected the target llvm or cuda",
        "DecorateDeviceScope": "expected the target llvm or cuda",
        "ExtractPrimFuncConstants": "constants are arrays of a module at once",
        "InjectCopyIntrin": "copies are loops of loads and stores",
        "InjectPrefetch": "processors fetch memory ahead by themselves",
        "InjectRollingBuffer": "Schedule.rolling_buffer",
        "InstrumentBoundCheckers": "stepwell.build(mod, sanitize=True), whose program checks accesses",
        "InstrumentProfileIntrinsics": "stepwell profile",
        "InstallDebugSpans": "errors show the line of the source",
        "LiftAttrScope": "expected the target llvm or cuda",
        "ReduceBranchingThroughOvercompute": "Schedule.pad_einsum",
        "RemoveStoreUndef": "a block that stores nothing where elements have no value",
        "RemoveWeightLayoutRewriteBlock": "weights are transformed once by relay.build",
        "TextureFlatten": "expected the target llvm or cuda",
        "TransformMmaBufferLayout": "T.mma_sync and the intrinsics of tvm.tir.tensor_intrin.cuda",
        "VerifyVTCMLimit": "expected the target llvm or cuda",
    },
    "tvm.relax": {
        "ExprFunctor": "relax.PyExprVisitor, relax.PyExprMutator",
        "FuncType": "relax.FuncStructInfo",
        "PackedFuncType": "relax.ObjectStructInfo",
        "call_tir_with_grad": "relax.call_tir; relax.transform.Gradient has the derivatives of operators",
    },
    "tvm.relax.analysis": {
        **dict.fromkeys(("definable_tir_vars_in_struct_info", "tir_vars_in_struct_info"), "defined_symbolic_vars"),
        "get_static_type": "the struct_info of an expression",
        "suggest_layout_transforms": "relax.transform.AlterOpImpl takes the layouts",
    },
    "tvm.relax.transform": {
        "AttachAttrLayoutFreeBuffers": "relax.build transforms the layouts of constant weights",
        "FewShotTuning": "relax.transform.MetaScheduleTuneIRMod, MetaScheduleApplyDatabase",
        "IPCAllReduceRewrite": "programs run in one process",
        "LowerGPUIPCAllocStorage": "programs run in one process",
        "OptimizeLayoutTransform": "relax.build fuses transposes and kernels of layouts",
        "SpecializePrimFuncBasedOnCallSite": "buffers of kernels are in the scope global",
        "SplitCallTIRByPattern": "FuseOpsByPattern on operators, before LegalizeOps",
        "TopologicalSort": "relax.build orders operations by their dependences",
    },
    "tvm.relax.utils": {
        "gen_call_tir_inputs": "relax.BlockBuilder.call_te",
        "metadata_partitioner": "mod.script() has the constants as names",
    },
    "tvm.relay": {
        "collage": "relay.build with a target of libraries (`llvm -libs=cblas`), or relay.transform.PartitionGraph",
        "copy_shape_func": "sizes of results follow from the types of operators",
        "debug": "tvm.contrib.debugger.debug_executor, which shows the results of kernels",
        "dyn": "relay.reshape and others, whose attributes may be expressions",
        "memory_alloc": "the memory of graphs is planned by relay.build",
        "memory_plan": "the memory of graphs is planned by relay.build",
    },
    "tvm.relay.analysis": {
        **dict.fromkeys(
            ("collect_device_annotation_ops", "collect_device_info"),
            "relay.transform.PlanDevices, and relay.transform.RecoverVirtualDeviceMap on its result",
        ),
        "sparse_conv2d": "relay.data_dep_optimization.bsr_conv2d.convert",
        "sparse_dense": "relay.data_dep_optimization.bsr_dense.convert",
    },
    "tvm.relay.transform": {
        "CapturePostDfsIndexInSpans": "places in source texts are not recorded",
        "CollagePartition": "relay.transform.MergeComposite and PartitionGraph, with the patterns of one compiler",
        "Defunctionalization": "functions as values are interpreted: relay.create_executor, relay.transform.LambdaLift",
        "InferLayout": "relay.transform.ConvertLayout",
        "InlineCompilerFunctionsBoundTo": "relay.transform.Inline of functions with the attribute `Inline`",
        "LayoutConfig": "relay.transform.ConvertLayout changes all layers, AlterOpLayout those of a user's function",
        "ManifestLifetimes": "the memory of graphs is planned by relay.build",
        **dict.fromkeys(
            ("MarkCompilerFunctionsAsExtern", "OutlineCompilerFunctionsWithExistingGlobalSymbols"),
            "relay.transform.PartitionGraph, whose functions relay.build gives to their compiler",
        ),
        "RewriteAnnotatedOps": "relay.transform.PlanDevices",
        "SplitArgs": "kernels have any number of arguments",
        **dict.fromkeys(
            ("ToCPS", "to_cps", "un_cps"),
            "functions return their results: relay.transform.ToANormalForm orders the steps of a graph",
        ),
    },
    "tvm._ffi": {"extract_ext_funcs": "tvm.register_func registers functions of Python"},
    "tvm.relay.frontend": dict.fromkeys(
        (
            "from_caffe",
            "from_caffe2",
            "from_coreml",
            "from_darknet",
            "from_mxnet",
            "from_oneflow",
            "from_paddle",
        ),
        "convert the model to ONNX, and read it with relay.frontend.from_onnx",
    ),
    "tvm.contrib": {},
}
"""The replacements, by module and name."""

ABSENT_NAMES: dict[str, dict[str, str]] = {
    "tvm.contrib.torch": dict.fromkeys(
        ("GraphModule", "PyTorchTVMModule", "TraceTvmModule", "VMModule"), "tvm.contrib.torch.optimize_torch"
    ),
    "tvm.auto_scheduler": {"ApplyHistoryBestOrSample": "ApplyHistoryBest"},
    "tvm.auto_scheduler.measure": dict.fromkeys(
        ("local_build_worker", "rpc_runner_run"),
        "a builder and a runner measure in processes of their own: auto_scheduler.LocalBuilder, LocalRunner",
    ),
    "tvm.ir": {"DummyGlobalInfo": "the global infos of a module are devices: VDevice"},
    "tvm.autotvm.tuner": {
        "DropletTuner": "XGBTuner or GATuner",
        "SimulatedAnnealingOptimizer": "XGBTuner",
    },
    "tvm.autotvm.task": {"attach_code_hash": "configurations have no hash of the template's text"},
    "tvm.meta_schedule": dict.fromkeys(
        ("FeatureExtractor",),
        _NO_SEARCH,
    ),
    "tvm.meta_schedule.task_scheduler": {
        "PyTaskScheduler": "kernels are searched one after another: RoundRobin().tune",
    },
    "tvm.meta_schedule.schedule_rule": {
        "MultiLevelTilingTensorCore": "PostOrderApply() without rules, whose schedules for cuda use matrix units",
    },
    "tvm.meta_schedule.runner": dict.fromkeys(("RPCConfig", "RPCRunner"), "programs run on this machine: LocalRunner"),
    "tvm.meta_schedule.cost_model": dict.fromkeys(
        ("MLPModel", "XGBModel"), "each schedule is measured, or a CostModel of users orders them"
    ),
    "tvm.relax": {
        "ExecBuilder": "there is no byte code: relax.BlockBuilder and relax.build",
    },
    "tvm.relax.frontend.nn": {
        **dict.fromkeys(
            ("ObjectModule", "SourceModule"),
            "their sources include headers of TVM; nn.ExternModule calls functions of tvm.register_func",
        ),
        **dict.fromkeys(
            ("Effect", "IOEffect", "KVCache"),
            "functions keep no state, expected a cache as an argument (nn.spec.Object)",
        ),
    },
    "tvm.relax.frontend.torch": {
        **dict.fromkeys(
            ("BaseFXGraphImporter", "ExportedProgramImporter", "TorchFXImporter"),
            "functions of users convert no operators, from_exported_program converts all of them",
        ),
    },
    "tvm.relay.backend.te_compiler": {
        "get_valid_implementations": "each operator has one formula (tvm.topi), and a default schedule",
    },
    "tvm.runtime.profiling": {
        name: "kernels are measured by their time, without counters"
        for name in ("HDEEMMetricCollector", "MetricCollector", "PAPIMetricCollector")
    },
    "tvm.relay.prelude": dict.fromkeys(("StaticTensorArrayOps", "TensorArrayOps"), _NO_ARRAYS),
    "tvm.relay.testing": {
        **dict.fromkeys(
            ("resnet_3d",),
            "export the network to ONNX, and read it with relay.frontend.from_onnx",
        ),
    },
}
"""The absent names that programs may import, by module, each with what does its work."""


class AbsentModule(ModuleType):
    """A module of TVM that is absent: its import succeeds, a use of one of its names is an error.

    Programs import tuners and interpreters that they do not always use.
    """

    def __init__(self, name: str, hint: str):
        super().__init__(name, f"Absent: {hint}")
        self._hint = hint
        self.__path__ = []

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return AbsentName(f"{self.__name__}.{name}", self._hint)


@cache
def absent_module(name: str) -> AbsentModule:
    """The absent module of a name of TVM."""
    return AbsentModule(name, ABSENT_MODULES[name])


class AbsentName:
    """A name of an absent module. Every use is an UnsupportedError."""

    def __init__(self, name: str, hint: str):
        self._name = name
        self._hint = hint

    def _refuse(self, *args: Any, **named: Any) -> NoReturn:
        raise UnsupportedError(f"{self._name} is absent in Stepwell: {self._hint}")

    __call__ = __bool__ = __iter__ = __getitem__ = __enter__ = __mro_entries__ = __instancecheck__ = _refuse

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return AbsentName(f"{self._name}.{name}", self._hint)


def report_absent(module: str) -> Callable[[str], Any]:
    """The `__getattr__` of a module: a submodule of TVM whose names another module has; else it raises AttributeError,
    with the replacement if there is one.
    """
    hints = ABSENT.get(module, {})

    def __getattr__(name: str) -> Any:
        found = submodule(module, name)
        if found is None and f"{module}.{name}" in ABSENT_MODULES:
            found = absent_module(f"{module}.{name}")
        if found is None and name in ABSENT_NAMES.get(module, {}):
            return AbsentName(f"{module}.{name}", ABSENT_NAMES[module][name])
        if found is not None:
            return found
        hint = f": {hints[name]}" if name in hints else " (docs/tvm.md lists the names that it has)"
        raise AttributeError(f"module {module!r} of Stepwell has no attribute {name!r}{hint}")

    return __getattr__


def refuse_options(function: str, **options: Any) -> None:
    """UnsupportedError for an option that is set: neither None, False nor empty."""
    for name, value in options.items():
        if value:
            raise UnsupportedError(f"{function}: {name} is not supported yet")

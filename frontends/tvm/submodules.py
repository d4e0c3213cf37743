"""The modules of TVM whose names another module of this package has."""

from __future__ import annotations

import importlib
from types import ModuleType

SUBMODULES: dict[str, dict[str, str]] = {
    "tvm": {
        "_ffi": "tvm._ffi",
        "api": "tvm.te",
        "base": "tvm._ffi",
        "parser": "tvm.relay.parser",
        "container": "tvm.ir",
        "error": "tvm.error",
        "intrin": "tvm.te",
        "micro": "tvm.micro",
        "node": "tvm.ir",
    },
    "tvm.contrib": {"mkl": "tvm.contrib.cblas"},
    "tvm._ffi": {"base": "tvm._ffi", "registry": "tvm.registry", "runtime_ctypes": "tvm.runtime_ctypes"},
    "tvm.arith": {"analyzer": "tvm.arith"},
    "tvm.autotvm": {"util": "tvm.autotvm.utils"},
    "tvm.autotvm.measure": dict.fromkeys(
        ("executor", "local_executor", "measure", "measure_methods"), "tvm.autotvm.measure"
    ),
    "tvm.autotvm.tuner": {"sa_model_optimizer": "tvm.autotvm.tuner.xgboost_tuner"},
    "tvm.contrib.debugger": {"debug_runtime": "tvm.contrib.debugger.debug_executor"},
    "tvm.driver.tvmc": {"common": "tvm.driver.tvmc.transform"},
    "tvm.ir": dict.fromkeys(("base", "container", "expr", "function", "op", "type", "type_relation"), "tvm.ir"),
    "tvm.meta_schedule": {"tune": "tvm.meta_schedule"},
    **{
        f"tvm.meta_schedule.{package}": dict.fromkeys(names, f"tvm.meta_schedule.{package}")
        for package, names in (
            ("schedule_rule", ("multi_level_tiling",)),
            ("postproc", ("disallow_dynamic_loop", "rewrite_reduction_block", "rewrite_tensorize", "verify_gpu_code")),
            ("mutator", ("mutate_tile_size", "mutate_parallel", "mutate_unroll", "mutate_thread_binding")),
            ("cost_model", ("cost_model", "random_model")),
            ("search_strategy", ("evolutionary_search", "replay_trace", "replay_func")),
            ("space_generator", ("post_order_apply", "schedule_fn", "space_generator_union")),
        )
    },
    "tvm.meta_schedule.builder": {"local_builder": "tvm.meta_schedule.builder"},
    "tvm.meta_schedule.database": dict.fromkeys(
        ("json_database", "memory_database", "ordered_union_database", "schedule_fn_database", "union_database"),
        "tvm.meta_schedule.database",
    ),
    "tvm.meta_schedule.runner": {"config": "tvm.meta_schedule.runner", "local_runner": "tvm.meta_schedule.runner"},
    "tvm.relay": {
        **dict.fromkeys(("base", "function", "module", "ty"), "tvm.relay"),
        "contrib": "tvm.relay.pattern_tables",
        "feature": "tvm.relay.analysis",
        "profiler_vm": "tvm.runtime.profiler_vm",
        "reg": "tvm.relay.op",
        "vmobj": "tvm.containers",
    },
    "tvm.relay.analysis": {
        "analysis": "tvm.relay.analysis",
        "annotated_regions": "tvm.relay.regions",
        "call_graph": "tvm.relay.call_graph",
        "feature": "tvm.relay.analysis",
    },
    "tvm.relay.frontend": dict.fromkeys(("common", "onnx", "pytorch", "tensorflow", "tflite"), "tvm.relay.frontend"),
    "tvm.relay.qnn.op": {"qnn": "tvm.relay.qnn.op"},
    "tvm.relay.transform": {
        "fake_quantization_to_integer": "tvm.relay.fake_quantization",
        "mixed_precision": "tvm.relay.mixed_precision",
        "transform": "tvm.relay.transform",
    },
    "tvm.relay.backend": {
        **dict.fromkeys(("executor", "runtime"), "tvm.relay.executors"),
        "executor_factory": "tvm.relay.building",
        "interpreter": "tvm.relay.interpreter",
        "te_compiler": "tvm.relay.te_compiler",
    },
    "tvm.relay.op.contrib": {"register": "tvm.relay.pattern_tables"},
    "tvm.relay.op": {
        "contrib": "tvm.relay.pattern_tables",
        **dict.fromkeys(("algorithm", "op", "reduce", "tensor", "transform"), "tvm.relay.op"),
    },
    "tvm.relax.frontend.torch": dict.fromkeys(
        ("base_fx_graph_translator", "dynamo", "exported_program_translator", "fx_translator"),
        "tvm.relax.frontend.torch",
    ),
    "tvm.dlight.gpu": dict.fromkeys(
        ("fallback", "gemv", "general_reduction", "low_batch_gemv", "matmul", "reduction", "rmsnorm", "transpose"),
        "tvm.dlight.gpu",
    ),
    "tvm.dlight.cpu": dict.fromkeys(("gemv", "reduction"), "tvm.dlight.cpu"),
    "tvm.relax": {
        "pipeline": "tvm.relax.pipelines",
        "testing": "tvm.relax.testing",
        **dict.fromkeys(("vm_build", "ty"), "tvm.relax"),
    },
    "tvm.relax.backend.contrib": {name: f"tvm.relax.backend.cuda.{name}" for name in ("cublas", "cudnn")},
    "tvm.relax.transform": {"tuning_api": "tvm.relax.tuning_api", "transform": "tvm.relax.transform"},
    "tvm.relax.dpl": dict.fromkeys(("context", "pattern", "rewrite"), "tvm.relax.dpl"),
    "tvm.runtime": {
        **dict.fromkeys(("module", "object", "packed_func"), "tvm.runtime"),
        "container": "tvm.containers",
        "object_path": "tvm.object_path",
        "relax_vm": "tvm.relax",
    },
    "tvm.s_tir": {
        "meta_schedule": "tvm.meta_schedule",
        "pipeline": "tvm.tir.pipelines",
        "schedule": "tvm.tir",
    },
    "tvm.script": {"parser": "tvm.script", "ir_builder": "tvm.ir_frames"},
    "tvm.script.ir_builder": {"base": "tvm.ir_frames.base", "ir": "tvm.ir_frames.ir", "tir": "tvm.ir_frames.tir"},
    "tvm.target": {"tag": "tvm.target"},
    "tvm.te": {
        **dict.fromkeys(("operation", "tensor"), "tvm.te"),
        "schedule": "tvm.te_schedule",
        "hybrid": "tvm.hybrid",
        "tag": "tvm.tags",
    },
    "tvm.te.hybrid": {"runtime": "tvm.hybrid.numbers"},
    "tvm.hybrid": {"runtime": "tvm.hybrid.numbers"},
    "tvm.testing": {"utils": "tvm.testing"},
    "tvm.tir": {
        **dict.fromkeys(("block_scope", "buffer", "expr", "function", "op", "schedule", "stmt"), "tvm.tir"),
        "pipeline": "tvm.tir.pipelines",
    },
    "tvm.tir.analysis": dict.fromkeys(("_ffi_api", "analysis"), "tvm.tir.analysis"),
    "tvm.topi": {
        **dict.fromkeys(
            ("adreno", "arm_cpu", "bifrost", "gpu", "hls", "intel_graphics", "mali", "rocm"), "tvm.topi.cuda"
        ),
        **dict.fromkeys(("broadcast", "math", "reduction", "scan", "scatter", "tensor", "transform"), "tvm.topi"),
    },
    "tvm.topi.image": {"resize": "tvm.topi.image", "dilation2d": "tvm.topi.image"},
    "tvm.topi.random": {"kernel": "tvm.topi.random"},
    "tvm.topi.vision": dict.fromkeys(("nms", "rcnn", "reorg", "ssd"), "tvm.topi.vision"),
    "tvm.topi.x86": {"tensor_intrin": "tvm.topi.x86_intrinsics"},
    "tvm.topi.cuda": {"tensor_intrin": "tvm.topi.cuda_intrinsics"}
    | dict.fromkeys(
        (
            "batch_matmul",
            "conv1d",
            "conv2d",
            "conv2d_direct",
            "conv2d_hwcn",
            "conv2d_int8",
            "conv2d_winograd",
            "conv3d",
            "conv3d_direct",
            "dense",
            "depthwise_conv2d",
            "group_conv2d_nchw",
            "injective",
            "nn",
            "pooling",
            "reduction",
            "scan",
            "softmax",
            "sort",
            "sparse",
            "vision",
        ),
        "tvm.topi.cuda",
    ),
    "tvm.topi.generic": dict.fromkeys(("conv2d", "image", "injective", "nn", "search", "sort"), "tvm.topi.generic"),
    "tvm.topi.nn": {
        **dict.fromkeys(
            (
                "batch_to_space_nd",
                "conv1d_transpose",
                "conv2d_transpose",
                "conv3d_transpose",
                "correlation",
                "deformable_conv2d",
                "depthwise_conv2d",
                "elemwise",
                "group_conv2d",
                "local_response_norm",
                "loss",
                "mapping",
                "pooling",
                "qnn",
                "space_to_batch_nd",
                "sparse",
            ),
            "tvm.topi.nn",
        ),
        **dict.fromkeys(("bitserial_conv2d", "bitserial_util", "bnn"), "tvm.topi.bitserial"),
        "util": "tvm.topi.utils",
        "utils": "tvm.topi.utils",
        "winograd_util": "tvm.topi.winograd_util",
    },
}
"""The module that has the names, by module and submodule of TVM. Submodules with the names of functions,
`tvm.topi.nn.conv2d`, are modules that are called (`aliases.py`)."""


def submodule(module: str, name: str) -> ModuleType | None:
    """The module that has the names of a submodule of TVM, or None."""
    known = SUBMODULES.get(module, {}).get(name)
    return None if known is None else importlib.import_module(_own(known))


def _own(name: str) -> str:
    return f"{__package__}{name.removeprefix('tvm')}"

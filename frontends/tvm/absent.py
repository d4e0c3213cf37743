"""Names of TVM that this package lacks, and what does their work."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .submodules import submodule

ABSENT: dict[str, dict[str, str]] = {
    "tvm": {
        "autotvm": "templates are not searched; write the schedule, or compile without one for a default schedule",
        "auto_scheduler": "compile without a schedule for a default schedule",
        "meta_schedule": "compile without a schedule for a default schedule, or write one with tvm.tir.Schedule",
        "micro": "programs run on this machine",
        "opencl": "expected tvm.cpu or tvm.cuda",
        "metal": "expected tvm.cpu or tvm.cuda",
        "vulkan": "expected tvm.cpu or tvm.cuda",
        "rocm": "expected tvm.cpu or tvm.cuda",
        "register_extension": "compiled functions take every object that supports DLPack",
        "ir_pass": "use the passes of tvm.tir.transform",
        "make": "use the nodes of tvm.tir",
    },
    "tvm.te": {
        "gradient": "write the gradient as a te.compute",
        "AutodiffConfig": "write the gradient as a te.compute",
    },
    "tvm.target": {
        "datatype": "types of users' own are absent, expected float16, bfloat16, the float8 types, or integers",
    },
    "tvm.tir": {
        "Block": "blocks are read with tvm.tir.Schedule, and written with T.block",
        "BlockRealize": "blocks are read with tvm.tir.Schedule, and written with T.block",
        "usmp": "the memory of graphs is planned by relay.build",
    },
    "tvm.tir.transform": {
        "BF16ComputeLegalize": "legalize-small-floats, which tvm.build runs",
        "BF16StorageLegalize": "legalize-small-floats, which tvm.build runs",
        "BindTarget": "the target of tvm.build",
        "CommonSubexprElimTIR": "LLVM and NVRTC eliminate common subexpressions",
        "ConvertBlocksToOpaque": "LowerOpaqueBlock, which resolves blocks with axes too",
        "FlattenBuffer": "convert-tir-to-scf, which tvm.build runs",
        "LowerInitBlock": "LowerOpaqueBlock, which resolves inits too",
        "MakePackedAPI": "tvm.build",
        "MergeSharedMemoryAllocations": "gpu-merge-shared-memory, which tvm.build runs",
        "NarrowDataType": "convert-tir-to-scf selects the width of indices",
        "RewriteUnsafeSelect": "tvm.tir.if_then_else computes the selected value only",
        "SplitHostDevice": "gpu-outline-kernels, which tvm.build runs",
        "StorageRewrite": "merge-allocations, which tvm.build runs",
        "ThreadSync": "tir-insert-barriers, which tvm.build runs",
    },
    "tvm.relay": {
        "quantize": "quantized operators are those of relay.qnn",
        "adt": "use tuples",
    },
    "tvm.relay.frontend": dict.fromkeys(
        (
            "from_caffe",
            "from_caffe2",
            "from_coreml",
            "from_darknet",
            "from_keras",
            "from_mxnet",
            "from_oneflow",
            "from_paddle",
            "from_tensorflow",
            "from_tflite",
        ),
        "convert the model to ONNX, and read it with relay.frontend.from_onnx",
    ),
    "tvm.relay.testing": {
        "darknet": "convert the model to ONNX, and read it with relay.frontend.from_onnx",
        "yolo_detection": "boxes are those of the model",
        "tf": "convert the model to ONNX, and read it with relay.frontend.from_onnx",
    },
    "tvm.contrib": {
        "cublas": "relay.build with the target `cuda -libs=cublas`",
        "cudnn": "relay.build with the target `cuda -libs=cudnn`",
        "xcode": "programs run on this machine",
        "ndk": "programs run on this machine",
        "spirv": "expected the target llvm or cuda",
    },
}
"""The replacements, by module and name."""


def report_absent(module: str) -> Callable[[str], Any]:
    """The `__getattr__` of a module: a submodule of TVM whose names another module has; else it raises AttributeError,
    with the replacement if there is one.
    """
    hints = ABSENT.get(module, {})

    def __getattr__(name: str) -> Any:
        found = submodule(module, name)
        if found is not None:
            return found
        hint = f": {hints[name]}" if name in hints else " (docs/tvm.md lists the names that it has)"
        raise AttributeError(f"module {module!r} of Stepwell has no attribute {name!r}{hint}")

    return __getattr__

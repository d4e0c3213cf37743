"""Fixtures that emit CUDA C++ for MLIR text, and compile it for the host with g++ and for GPUs with NVRTC."""

import ctypes
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from xdsl.context import Context
from xdsl.dialects import arith, func, gpu, memref
from xdsl.dialects.builtin import IndexType, IntegerAttr, MemRefType, ModuleOp, StringAttr, UnitAttr
from xdsl.ir import SSAValue

from stepwell.backends.cuda.emitter import NVRTC_OPTIONS, EmittedCuda, EmittedKernel, KernelParameter, emit_cuda
from stepwell.core.dtypes import numpy_dtype
from stepwell.transforms.upstream.legalize_small_floats import LegalizeSmallFloatsPass
from stepwell.transforms.upstream.legalize_small_integers import LegalizeSmallIntegersPass

HOST = Path(__file__).with_name("host.h")
# `-Wall` warns of misleading parentheses and constants out of range. Comparisons that are always true or false, such as
# `x == x`, are those of the program, as are elements that only a condition keeps from being read.
FLAGS = (
    "-O1", "-std=c++17", "-shared", "-fPIC", "-ffp-contract=off", "-fno-strict-aliasing", "-Wall", "-Werror",
    "-Wno-unused-function", "-Wno-unused-variable", "-Wno-unused-but-set-variable", "-Wno-unknown-pragmas",
    "-Wno-tautological-compare", "-Wno-maybe-uninitialized",
)  # fmt: skip


def _on_device(module: ModuleOp) -> gpu.ModuleOp:
    """Moves the functions of a module into a `gpu.module`. Public functions without callers become kernels, which store
    their result through a last argument."""
    block = module.body.block
    new = gpu.ModuleOp.create(properties={"sym_name": StringAttr("device")}, regions=[module.regions[0].clone()])
    block = new.body.block
    called = {op.callee.string_value() for op in new.walk() if isinstance(op, func.CallOp)}
    for op in [op for op in block.ops if isinstance(op, func.FuncOp) and not op.is_declaration]:
        kernel = op.sym_visibility is None and op.sym_name.data not in called
        made = _device_function(op, kernel)
        block.insert_op_before(made, op)
        op.detach()
        op.erase(safe_erase=False)
    _heap_to_stack(new)
    return new


def _heap_to_stack(module: gpu.ModuleOp) -> None:
    """Replaces heap allocations by arrays of the function, because a thread has no heap."""
    for op in list(module.walk()):
        if isinstance(op, memref.AllocOp):
            sizes = [[], []] if not op.dynamic_sizes else [list(op.dynamic_sizes), []]
            new = memref.AllocaOp.build(operands=sizes, result_types=[op.memref.type])
            assert op.parent is not None
            op.parent.insert_op_before(new, op)
            new.memref.name_hint = op.memref.name_hint
            op.memref.replace_all_uses_with(new.memref)
            op.detach()
            op.erase()
        elif isinstance(op, memref.DeallocOp):
            op.detach()
            op.erase()


def _device_function(op: func.FuncOp, kernel: bool) -> gpu.FuncOp:
    region = op.body
    body = region.block
    outputs = list(op.function_type.outputs)
    last = body.last_op
    assert isinstance(last, func.ReturnOp)
    results: list[SSAValue] = list(last.arguments)
    if kernel and outputs:
        out = body.insert_arg(MemRefType(outputs[0], [1]), len(body.args))
        out.name_hint = "result"
        zero = arith.ConstantOp(IntegerAttr(0, IndexType()))
        body.insert_ops_before([zero, memref.StoreOp.get(results[0], out, [zero.result])], last)
        outputs, results = [], []
    body.insert_op_before(gpu.ReturnOp(results), last)
    last.detach()
    last.erase()
    types = [argument.type for argument in body.args]
    made = gpu.FuncOp(op.sym_name.data, (types, outputs), region.clone(), kernel)
    made.attributes.update({name: value for name, value in op.attributes.items() if name != "sym_name"})
    made.properties.pop("kernel", None)
    if kernel:
        made.properties["kernel"] = UnitAttr()
    return made


class HostKernel:
    """A kernel compiled for the host, callable with arrays and numbers."""

    def __init__(self, kernel: EmittedKernel, library: ctypes.CDLL, source: str) -> None:
        self.kernel, self.source = kernel, source
        self._library = library
        self._function = library[kernel.symbol]
        self._function.restype = None
        self._function.argtypes = [_c_type(parameter) for parameter in kernel.parameters]

    def __call__(self, *arguments: Any) -> None:
        values = [_passed(parameter, arguments[parameter.argument]) for parameter in self.kernel.parameters]
        self._function(*values)

    @property
    def trapped(self) -> bool:
        """Whether an assertion failed since the previous query."""
        flag = ctypes.c_int.in_dll(self._library, "trapped")
        failed, flag.value = bool(flag.value), 0
        return failed


class Half(ctypes.Structure):
    """A half float, as declared in host.h."""

    _fields_ = (("bits", ctypes.c_ushort),)


def _c_type(parameter: KernelParameter) -> Any:
    if parameter.role == "pointer":
        return ctypes.c_void_p
    if parameter.role != "scalar":
        return ctypes.c_longlong
    assert parameter.dtype is not None
    if parameter.dtype in ("float16", "bfloat16"):
        return Half
    if parameter.ctype == "unsigned char":  # the bits of types that C lacks
        return ctypes.c_ubyte
    return np.ctypeslib.as_ctypes_type(numpy_dtype(parameter.dtype))


def _passed(parameter: KernelParameter, value: Any) -> Any:
    match parameter.role:
        case "pointer" if isinstance(value, np.ndarray):
            assert value.ctypes.data % parameter.alignment == 0
            return value.ctypes.data
        case "scalar" if parameter.dtype in ("float16", "bfloat16"):
            return Half(int(np.array(value, numpy_dtype(parameter.dtype)).view(np.uint16)))
        case "scalar" if parameter.ctype == "unsigned char":
            bits = value if isinstance(value, np.generic) else np.array(value, numpy_dtype(parameter.dtype))
            return int(bits.view(np.uint8))
        case "size":
            return value.shape[parameter.axis]
        case "stride":
            return value.strides[parameter.axis] // value.itemsize
        case "offset":
            return 0
        case _:
            return value.item() if isinstance(value, np.generic) else value


def _emit(module: ModuleOp | str, parse: Callable[[str], ModuleOp]) -> EmittedCuda:
    module = parse(module) if isinstance(module, str) else module
    LegalizeSmallFloatsPass().apply(Context(), module)
    LegalizeSmallIntegersPass().apply(Context(), module)
    if any(isinstance(op, gpu.ModuleOp) for op in module.ops):
        return emit_cuda(module)
    return emit_cuda(_on_device(module))


@pytest.fixture(scope="session")
def emit_text(parse_upstream) -> Callable[..., EmittedCuda]:
    """Emits CUDA C++ for a module or its text. Functions outside a `gpu.module` become kernels."""
    return lambda module: _emit(module, parse_upstream)


@pytest.fixture(scope="session")
def on_host(emit_text, tmp_path_factory) -> Callable[..., dict[str, HostKernel]]:
    """`on_host(module)`: the kernels of a module or of its text, compiled for the host, by name."""
    if shutil.which("g++") is None:
        pytest.skip("no g++ to compile with")
    folder = tmp_path_factory.mktemp("cuda")
    header = folder / HOST.name
    header.write_text(HOST.read_text())
    # compiled once: its standard headers take longer than most kernels
    subprocess.run(["g++", *FLAGS, "-x", "c++-header", str(header), "-o", f"{header}.gch"], check=True)

    def compile_all(module: ModuleOp | str) -> dict[str, HostKernel]:
        emitted = emit_text(module)
        stem = f"m{len(list(folder.glob('*.so')))}"
        lines = [line for line in emitted.source.splitlines() if not line.startswith("#include")]
        (folder / f"{stem}.cpp").write_text("\n".join([f'#include "{header}"', *lines, ""]))
        command = ["g++", *FLAGS, str(folder / f"{stem}.cpp"), "-o", str(folder / f"{stem}.so")]
        done = subprocess.run(command, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr[:4000] + emitted.source[:4000]
        library = ctypes.CDLL(str(folder / f"{stem}.so"))
        return {kernel.name: HostKernel(kernel, library, emitted.source) for kernel in emitted.kernels}

    return compile_all


@pytest.fixture(scope="session")
def nvrtc() -> Callable[..., None]:
    """`nvrtc(source)`: compiles CUDA C++ for two generations of GPUs; fails on a warning."""
    binding = pytest.importorskip("cuda.bindings.nvrtc")
    runtime = pytest.importorskip("nvidia.cu13")
    include = next(
        (Path(path) / "include" for path in runtime.__path__ if (Path(path) / "include/cuda_fp16.h").exists()), None
    )
    if include is None:
        pytest.skip("no CUDA headers")

    def compile_for(source: str, architecture: str) -> None:
        options = [f"--gpu-architecture={architecture}", f"-I{include}", *NVRTC_OPTIONS]
        error, program = binding.nvrtcCreateProgram(source.encode(), b"kernels.cu", 0, [], [])
        assert error == binding.nvrtcResult.NVRTC_SUCCESS
        (error,) = binding.nvrtcCompileProgram(program, len(options), [option.encode() for option in options])
        _, size = binding.nvrtcGetProgramLogSize(program)
        log = bytearray(size)
        binding.nvrtcGetProgramLog(program, log)
        text = log.decode().strip("\0 \n")
        assert error == binding.nvrtcResult.NVRTC_SUCCESS, text[:3000] + source[:3000]
        assert text == ""

    def compile_both(source: str) -> None:
        for architecture in ("sm_80", "sm_90"):
            compile_for(source, architecture)

    return compile_both

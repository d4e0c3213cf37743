"""Translation of upstream MLIR to CUDA C++ text, in one walk, by a table of lowerings per operation class."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import ClassVar

import numpy as np
from xdsl.dialects import arith as arith_ops
from xdsl.dialects import func, gpu, memref, vector
from xdsl.dialects.builtin import (
    ArrayAttr,
    DictionaryAttr,
    MemRefType,
    ModuleOp,
    StringAttr,
    UnitAttr,
)
from xdsl.ir import Attribute, BlockArgument, Operation, SSAValue

from ....analysis.threads.fragments import LOAD
from ....analysis.threads.registers import LDMATRIX
from ....core.diagnostics import did_you_mean
from ....core.dtypes import dtype_of, is_small_float, numpy_dtype
from ....core.errors import UnsupportedError
from ....core.walking import find_ops
from ....dialects.attributes import CUDA_EXPRESSION, MATRIX_OPERATION, NOALIAS, PACKED, PARAMETER_NAME
from ...llvm.function import lowering_unsupported
from ...llvm.types import byte_size, dense_bytes, lane_count, layout_of
from . import arith, control, math
from . import gpu as threads
from . import memref as buffers
from . import vector as vectors
from .expression import LONG, PRIMARY, UNSIGNED, CudaExpr
from .function import CudaBuffer, CudaFunctionEmitter, Lowering, Lowerings
from .helpers import helper_text
from .memref import ALIGNMENT
from .names import PREFIX, CudaNames, is_callable, legalize_name
from .types import HEADERS, decimal, low_bits, memory_type, scalar_type

LOWERINGS: Lowerings = {
    **arith.LOWERINGS,
    **math.LOWERINGS,
    **buffers.LOWERINGS,
    **vectors.LOWERINGS,
    **control.LOWERINGS,
    **threads.LOWERINGS,
}
"""The lowering of every supported operation."""

NVRTC_OPTIONS: tuple[str, ...] = ("-std=c++17", "-fmad=false", "-ftz=false", "-prec-div=true", "-prec-sqrt=true")
"""The required compiler options: no contraction of products and sums, no flushing of subnormal numbers, and correctly
rounded quotients and roots.
"""


@dataclass(frozen=True)
class KernelParameter:
    """A parameter of a kernel. An argument of the `gpu.func` is one parameter or, for a memref with a dynamic layout,
    several: the pointer, then each dynamic size, each dynamic stride of a strided layout, and the offset if dynamic,
    all `long long`. Offsets and strides are in elements, relative to the pointer.

    `argument`: the index of the argument. `role`: pointer, scalar, size, stride or offset; `axis` of a size or stride.
    `ctype`: the type in the text. `dtype`: the data type of the scalar or of the elements, None for a bare pointer.
    `writes`: whether the kernel may write through the pointer. `alignment`: bytes that must divide the pointer.
    """

    name: str
    ctype: str
    argument: int
    role: str
    dtype: str | None = None
    axis: int | None = None
    writes: bool = False
    alignment: int = 1


@dataclass(frozen=True)
class EmittedKernel:
    """A kernel: the name of its `gpu.func`, its `symbol` in the text (`extern "C"`), and its launch requirements.

    `block_size`: the required block size, if known. `shared_bytes`: of static shared memory. `dynamic_shared_bytes`: of
    dynamic shared memory, set by the launch.
    """

    name: str
    symbol: str
    parameters: tuple[KernelParameter, ...]
    block_size: tuple[int, int, int] | None
    shared_bytes: int
    dynamic_shared_bytes: int


@dataclass(frozen=True)
class EmittedCuda:
    """CUDA C++ text and its kernels, in order."""

    source: str
    kernels: tuple[EmittedKernel, ...]


def emit_cuda(module: ModuleOp | gpu.ModuleOp, annotate: bool = False) -> EmittedCuda:
    """CUDA C++ for the `gpu.module`s of a module in the upstream subset, half floats legalized, as one text.

    annotate: whether lines end with a comment that states their place in the source. Raises UnsupportedError for
    operations that cannot be emitted.
    """
    if isinstance(module, gpu.ModuleOp):
        return ModuleEmitter([module], annotate).emit()
    modules = [op for op in module.ops if isinstance(op, gpu.ModuleOp)]
    if not modules:
        raise UnsupportedError("expected a gpu.module, got none: no function has anything for a GPU to do")
    return ModuleEmitter(modules, annotate).emit()


class ModuleEmitter:
    """The modules under construction; implements `CudaModule`.

    lowerings: the lowering of every supported operation.  language, place: the language and the place of the code, for
    errors.
    """

    lowerings: ClassVar[Lowerings] = LOWERINGS
    language: ClassVar[str] = "CUDA"
    place: ClassVar[str] = "the device"

    def __init__(self, modules: Sequence[gpu.ModuleOp], annotate: bool, reserved: Iterable[str] = ()) -> None:
        """annotate: as of `emit_cuda`. reserved: names that no function, parameter or variable may have."""
        self._annotate = annotate
        ops = [op for module in modules for op in module.body.block.ops]
        self._functions = {op.sym_name.data: op for op in ops if isinstance(op, gpu.FuncOp)}
        self.external = {op.sym_name.data: op for op in ops if isinstance(op, func.FuncOp) and op.is_declaration}
        self._globals = {op.sym_name.data: op for module in modules for op in _globals_around(module)}
        _check_unique_names(op for op in ops if isinstance(op, gpu.FuncOp))
        for op in ops:
            if not isinstance(op, gpu.FuncOp | memref.GlobalOp) and op not in self.external.values():
                raise lowering_unsupported(op, f"no {self.language} lowering in a gpu.module")
        self._names = CudaNames([*reserved, *map(legalize_name, self.external)])
        self.symbols = {name: self._names.fresh(name) for name in self._functions}
        self._headers: list[str] = []
        self._structs: dict[str, str] = {}
        self._helpers: dict[str, str] = {}
        self._arrays: dict[str, tuple[str, str, bool]] = {}
        self._declared: list[str] = []
        self._writing: dict[SSAValue, bool] = {}
        self.parameters: dict[str, tuple[KernelParameter, ...]] = {}
        """The parameters of each emitted function by the name of its operation."""

    def emit(self) -> EmittedCuda:
        emitted: list[EmittedKernel] = []
        texts: list[str] = []
        shared: dict[str, int] = {}
        for op in _callees_first(self._functions):
            text, kernel, shared_bytes = self._function(op, shared)
            shared[op.sym_name.data] = shared_bytes
            texts.append(text)
            if kernel is not None:
                emitted.append(kernel)
        includes = "\n".join(f"#include <{header}>" for header in self._headers)
        parts = [includes, *self._structs.values(), *self._helpers.values(), "\n".join(self._declared), *texts]
        order = list(self._functions)
        emitted.sort(key=lambda kernel: order.index(kernel.name))
        return EmittedCuda("\n\n".join(filter(None, parts)) + "\n", tuple(emitted))

    # services for functions

    def helper(self, name: str) -> str:
        if name not in self._helpers:
            text, dependencies = helper_text(name)
            for each in dependencies:
                self.helper(each)
            self._helpers[name] = text
        return PREFIX + name

    def use_type(self, type: str) -> str:
        for known, header in HEADERS.items():
            if known in type and header not in self._headers:
                self._headers.append(header)
        return type

    def aligned_struct(self, element: str, count: int) -> str:
        name = f"{PREFIX}{element.strip('_').replace(' ', '_')}_{count}"
        size = count * {"unsigned char": 1, "signed char": 1, "short": 2, "__half": 2, "__nv_bfloat16": 2}[element]
        self._structs[name] = f"struct __align__({size}) {name} {{\n  {self.use_type(element)} lane[{count}];\n}};"
        return name

    def global_buffer(self, op: memref.GetGlobalOp) -> tuple[str, str, bool]:
        name = op.name_.string_value()
        if name not in self._arrays:
            if name not in self._globals:
                raise lowering_unsupported(op, f"no memref.global called {name!r}{did_you_mean(name, self._globals)}")
            self._arrays[name] = self._declare(self._globals[name])
        return self._arrays[name]

    def _declare(self, op: memref.GlobalOp) -> tuple[str, str, bool]:
        """Declares a static array; returns its name, the type of its elements in the text, and whether it is constant.
        Elements without a decimal literal are declared as their bits.
        """
        if None in layout_of(op.type).shape:
            raise lowering_unsupported(op, f"a global needs a static shape, got {op.type}")
        new = self._names.fresh(op.sym_name.data)
        count, kind, const = (
            max(prod(op.type.get_shape()), 1),
            memory_type(op.type.element_type),
            op.constant is not None,
        )
        values = ""
        if not isinstance(op.initial_value, UnitAttr):
            literals, kind = _literals(dense_bytes(op.initial_value, op.type), op.type.element_type, kind)
            values = f" = {{{', '.join(literals)}}}" if literals else ""
        qualifier = "static __device__ const " if const else "static __device__ "
        self._declared.append(f"{qualifier}__align__({ALIGNMENT}) {self.use_type(kind)} {new}[{count}]{values};")
        return new, kind, const

    def callee(self, op: func.CallOp) -> tuple[str, gpu.FuncOp | None]:
        name = op.callee.string_value()
        if name in self._functions:
            function = self._functions[name]
            if function.kernel is not None:
                raise lowering_unsupported(op, f"{name} is a kernel, which is launched, not called")
            return self.symbols[name], function
        if name not in self.external:
            raise lowering_unsupported(
                op, f"no function called {name!r} on {self.place}{did_you_mean(name, self._functions)}"
            )
        if PACKED in self.external[name].attributes:
            raise lowering_unsupported(op, f"{name} is a function of Python, which {self.place} cannot call")
        if not is_callable(name):
            raise lowering_unsupported(op, f"the function {name!r}: expected an identifier of {self.language}")
        return name, None

    def expression(self, op: func.CallOp) -> func.FuncOp | None:
        declaration = self.external.get(op.callee.string_value())
        return declaration if declaration is not None and CUDA_EXPRESSION in declaration.attributes else None

    def matrix_operation(self, op: func.CallOp) -> list[str]:
        declaration = self.external.get(op.callee.string_value())
        text = None if declaration is None else declaration.attributes.get(MATRIX_OPERATION)
        return text.data.split() if isinstance(text, StringAttr) else []

    def writes(self, value: SSAValue) -> bool:
        if value not in self._writing:
            self._writing[value] = True  # the assumption for recursive calls
            self._writing[value] = any(self._writes_through(use.operation, use.index) for use in value.uses)
        return self._writing[value]

    def _writes_through(self, op: Operation, operand: int) -> bool:
        """Whether `op` may write through the operand with an index, or the use cannot be analyzed."""
        match op:
            case memref.LoadOp() | vector.LoadOp() | vector.MaskedLoadOp() | memref.DimOp() | memref.RankOp():
                return False
            case (
                memref.CastOp()
                | memref.MemorySpaceCastOp()
                | memref.SubviewOp()
                | memref.ReinterpretCastOp()
                | memref.ViewOp()
                | arith_ops.BitcastOp()
            ):
                return self.writes(op.results[0])
            case memref.ExtractStridedMetaDataOp():
                return self.writes(op.base_buffer)
            case func.CallOp() if (callee := self._functions.get(op.callee.string_value())) is not None:
                return self.writes(callee.body.block.args[operand])
            case func.CallOp() if LOAD in self.matrix_operation(op):
                return operand == 0
            case func.CallOp() if LDMATRIX in self.matrix_operation(op):
                return False
            case _:
                return True

    def lowering(self, op: Operation) -> Lowering:
        lowering = self.lowerings.get(type(op))
        if lowering is None:
            raise lowering_unsupported(op, f"no {self.language} lowering")
        return lowering

    # functions

    def _function(self, op: gpu.FuncOp, shared: dict[str, int]) -> tuple[str, EmittedKernel | None, int]:
        """The text of a function, its launch requirements if it is a kernel, and its static shared
        memory, including its callees'.
        """
        if len(op.body.blocks) != 1:
            raise lowering_unsupported(op, f"{op.sym_name.data} must be structured, got {len(op.body.blocks)} blocks")
        with self._names.scope():
            f = CudaFunctionEmitter(self, self._names, op, self._annotate)
            parameters = [
                p for n, argument in enumerate(op.body.block.args) for p in self._parameter(f, op, n, argument)
            ]
            self.parameters[op.sym_name.data] = tuple(parameters)
            f.walk(op.body.block)
        called = {each.callee.string_value() for each in find_ops(op, func.CallOp)}
        shared_bytes = f.shared_bytes + sum(shared.get(name, 0) for name in called)
        symbol = self.symbols[op.sym_name.data]
        parameter_list = ", ".join(f"{p.ctype} {p.name}" for p in parameters)
        text = "\n".join([f"{self.head(op, f.block_size)} {symbol}({parameter_list}) {{", *f.lines, "}"])
        if op.kernel is None:
            return text, None, shared_bytes
        aligned = tuple(replace(p, alignment=max(p.alignment, f.alignments.get(p.name, 1))) for p in parameters)
        size = None if f.block_size is None else _pad_block_size(f.block_size)
        kernel = EmittedKernel(op.sym_name.data, symbol, aligned, size, shared_bytes, f.dynamic_shared_bytes)
        return text, kernel, shared_bytes

    def head(self, op: gpu.FuncOp, block_size: tuple[int, ...] | None) -> str:
        """The declaration of a function before its name."""
        outputs = op.function_type.outputs.data
        if op.kernel is not None:
            bounds = "" if block_size is None else f" __launch_bounds__({prod(block_size)})"
            return f'extern "C" __global__ void{bounds}'
        if len(outputs) > 1 or any(isinstance(type, MemRefType) or lane_count(type) is not None for type in outputs):
            raise lowering_unsupported(op, f"a function on {self.place} gives one scalar")
        return f"static __device__ {scalar_type(outputs[0]) if outputs else 'void'}"

    def _parameter(
        self, f: CudaFunctionEmitter, op: gpu.FuncOp, number: int, argument: BlockArgument
    ) -> Iterator[KernelParameter]:
        """Binds an argument to new parameters, and yields the parameters."""
        hint = _argument_name(op, number) or argument.name_hint or f"arg{number}"
        type = argument.type
        if not isinstance(type, MemRefType):
            yield from self._scalars(f, number, argument, hint)
            return
        layout = layout_of(type)
        const = not self.writes(argument)
        kind = self.use_type(memory_type(type.element_type))
        pointer = self._names.fresh(hint)
        restrict = " __restrict__" if _is_unaliased(op, number) else ""
        ctype = f"{'const ' if const else ''}{kind}*"
        dtype = dtype_of(type.element_type).name
        yield KernelParameter(
            pointer, ctype + restrict, number, "pointer", dtype, None, not const, byte_size(type.element_type)
        )
        parts = [CudaExpr(pointer, PRIMARY, ctype)]
        open_parts: list[tuple[str, int | None]] = [
            ("size", axis) for axis, extent in enumerate(layout.shape) if extent is None
        ]
        if not layout.identity:
            open_parts += [("stride", axis) for axis, stride in enumerate(layout.strides) if stride is None]
        if layout.offset is None:
            open_parts.append(("offset", None))
        for role, axis in open_parts:
            name = self._names.fresh(f"{pointer}_{role}{'' if axis is None else axis}")
            least = 0 if role == "size" else -(2**63)
            parts.append(CudaExpr(name, PRIMARY, LONG, (least, 2**63 - 1)))
            yield KernelParameter(name, LONG, number, role, axis=axis)
        buffer = f.assemble(type, parts)
        assert isinstance(buffer, CudaBuffer)
        alignment = ALIGNMENT if f.is_kernel else byte_size(type.element_type)
        f.bind(
            argument,
            replace(buffer, const=const, alignment=alignment, parameter=pointer if f.is_kernel else None),
        )

    def _scalars(
        self, f: CudaFunctionEmitter, number: int, argument: BlockArgument, hint: str
    ) -> Iterator[KernelParameter]:
        type, count = scalar_type(argument.type), lane_count(argument.type)
        if count is not None and f.is_kernel:
            raise UnsupportedError(f"a kernel cannot have a vector as its parameter {hint}")
        dtype = None if type == "void*" else dtype_of(argument.type).scalar.name
        hints = [hint] if count is None else [f"{hint}_{lane}" for lane in range(count)]
        parts = [CudaExpr(self._names.fresh(each), PRIMARY, self.use_type(type)) for each in hints]
        f.bind(argument, parts[0] if count is None else tuple(parts))
        for part in parts:
            yield KernelParameter(part.text, type, number, "pointer" if dtype is None else "scalar", dtype)


def _pad_block_size(sizes: tuple[int, ...]) -> tuple[int, int, int]:
    x, y, z, *_ = (*sizes, 1, 1)
    return x, y, z


def _check_unique_names(functions: Iterable[gpu.FuncOp]) -> None:
    """Raises UnsupportedError for two functions with one name, in different modules."""
    seen: set[str] = set()
    for op in functions:
        if op.sym_name.data in seen:
            raise lowering_unsupported(op, f"there are two functions {op.sym_name.data!r} for the device")
        seen.add(op.sym_name.data)


def _globals_around(module: gpu.ModuleOp) -> Iterator[memref.GlobalOp]:
    """The globals visible to functions of the module: those beside the module, shadowed by those inside."""
    outer = module.parent_op()
    if isinstance(outer, ModuleOp):
        yield from (op for op in outer.ops if isinstance(op, memref.GlobalOp))
    yield from (op for op in module.body.block.ops if isinstance(op, memref.GlobalOp))


def _callees_first(functions: dict[str, gpu.FuncOp]) -> Iterator[gpu.FuncOp]:
    """The functions, callees before callers."""
    done: dict[str, bool] = {}

    def visit(name: str) -> Iterator[gpu.FuncOp]:
        if name in done:
            if not done[name]:
                raise lowering_unsupported(functions[name], f"{name} calls itself")
            return
        done[name] = False
        for op in functions[name].walk():
            if isinstance(op, func.CallOp) and op.callee.string_value() in functions:
                yield from visit(op.callee.string_value())
        done[name] = True
        yield functions[name]

    for name in functions:
        yield from visit(name)


def _argument_attributes(op: gpu.FuncOp, number: int) -> dict[str, Attribute]:
    attributes = op.attributes.get("arg_attrs")
    if not isinstance(attributes, ArrayAttr):
        return {}
    attribute = attributes.data[number]
    return dict(attribute.data) if isinstance(attribute, DictionaryAttr) else {}


def _argument_name(op: gpu.FuncOp, number: int) -> str | None:
    name = _argument_attributes(op, number).get(PARAMETER_NAME)
    return name.data if isinstance(name, StringAttr) else None


def _is_unaliased(op: gpu.FuncOp, number: int) -> bool:
    """Whether an argument is the only pointer to its memory."""
    return NOALIAS in op.attributes or NOALIAS in _argument_attributes(op, number)


def _literals(data: bytes, type: Attribute, kind: str) -> tuple[list[str], str]:
    """The literals of the elements of an array, and their C++ type."""
    dtype = dtype_of(type)
    values = np.frombuffer(data, numpy_dtype(dtype))
    if dtype.is_float:
        decimals = [None if is_small_float(type) else decimal(value.item(), type) for value in values]
        known = [text for text in decimals if text is not None]
        if len(known) == len(decimals):
            return known, kind
        bits = values.view(f"u{values.itemsize}")
        suffix = "ull" if values.itemsize == 8 else "u"
        return [f"0x{value:x}{suffix}" for value in bits.tolist()], UNSIGNED[8 * values.itemsize]
    if dtype.is_bool:
        return [str(int(value)) for value in values], kind
    if (mask := low_bits(type)) is not None:
        return [str(value & mask) for value in values.tolist()], kind
    suffix = "LL" if dtype.bits == 64 else ""
    low = -(2 ** (dtype.bits - 1))
    return [f"{low + 1}{suffix} - 1" if v == low else f"{v}{suffix}" for v in values.tolist()], kind

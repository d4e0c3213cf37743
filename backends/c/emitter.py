"""Translation of upstream MLIR to C, by the emitter of CUDA C++: the same statements and expressions, with the words of
C, functions that any program of C calls, and memory of the heap.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import ClassVar

from xdsl.dialects import arith, cf, func, gpu, memref
from xdsl.dialects.builtin import FunctionType, MemRefType, ModuleOp, SymbolRefAttr, f32
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.rewriter import Rewriter

from ...core.dtypes import is_small_float
from ...core.errors import UnsupportedError
from ...core.identifiers import is_c_identifier
from ...core.walking import find_ops
from ..cuda.emitter.emitter import LOWERINGS, KernelParameter, ModuleEmitter
from ..cuda.emitter.expression import LONG, PRIMARY, CudaExpr, index_arithmetic, integer_literal
from ..cuda.emitter.function import CudaBuffer, CudaFunctionEmitter, Lowerings, lowering_unsupported
from ..cuda.emitter.memref import declare_array
from ..cuda.emitter.types import memory_type, scalar_type
from ..llvm.types import byte_size, layout_of
from .words import C_NAMES, translate, translate_type

_HEADERS = ("assert.h", "math.h", "stdbool.h", "stdlib.h", "string.h")


@dataclass(frozen=True)
class CFunction:
    """A function of a text: its name in the program, its `symbol` in the text, its parameters, and the type of its
    result in C (`void` for none)."""

    name: str
    symbol: str
    parameters: tuple[KernelParameter, ...]
    result: str


@dataclass(frozen=True)
class EmittedC:
    """C text and its functions, in order."""

    source: str
    functions: tuple[CFunction, ...]


def emit_c(module: ModuleOp) -> EmittedC:
    """The C11 of the functions of a module in the upstream subset, half floats and small integers legalized.

    A function has the parameters of its program: a pointer to the first element for each buffer, then its dynamic
    sizes, strides and offset as `long long`. A failed check of sizes is a failed `assert`. Loops that may run in
    parallel run in order. Raises UnsupportedError for operations that cannot be emitted.
    """
    for update in list(find_ops(module, memref.AtomicRMWOp)):
        _serialize(update)
    device = gpu.ModuleOp(SymbolRefAttr("functions"), Region(Block()))
    device_functions: list[gpu.FuncOp] = []
    for op in list(module.ops):
        op.detach()
        if isinstance(op, func.FuncOp) and not op.is_declaration:
            device_functions.append(op := _as_device_function(op))
        device.body.block.add_op(op)
    emitter = _CEmitter([device], annotate=False)
    body = emitter.emit().source
    return EmittedC(translate(emitter.prototypes() + body, _HEADERS), tuple(map(emitter.function, device_functions)))


_UPDATES: dict[int, type[Operation]] = {
    0: arith.AddfOp, 1: arith.AddiOp, 3: arith.MaximumfOp, 4: arith.MaxSIOp, 5: arith.MaxUIOp, 6: arith.MinimumfOp,
    7: arith.MinSIOp, 8: arith.MinUIOp,
}  # fmt: skip
"""The operation that computes the new element of an atomic update, by MLIR's AtomicRMWKind."""


def _serialize(update: memref.AtomicRMWOp) -> None:
    """Replaces an atomic update by a load, its operation and a store, since all loops run in order."""
    kind, type = update.kind.value.data, update.value.type
    if kind not in _UPDATES:
        raise lowering_unsupported(update, f"no atomic operation {kind} on {type}")
    load = memref.LoadOp.get(update.memref, update.indices)
    ops: list[Operation] = [load]
    operands: list[SSAValue] = [load.res, update.value]
    if is_small_float(type):
        ops += (wide := [arith.ExtFOp(each, f32) for each in operands])
        operands = [each.result for each in wide]
    ops.append(_UPDATES[kind].create(operands=operands, result_types=[operands[0].type]))
    if is_small_float(type):
        ops.append(arith.TruncFOp(ops[-1].results[0], type))
    ops.append(memref.StoreOp.get(ops[-1].results[0], update.memref, update.indices))
    Rewriter.replace_op(update, ops, [load.res])


def _as_device_function(op: func.FuncOp) -> gpu.FuncOp:
    """The function as the emitter takes it, with the body of `op`."""
    result = gpu.FuncOp(op.sym_name.data, op.function_type, op.detach_region(op.body))
    result.attributes.update(op.attributes)
    if op.arg_attrs is not None:
        result.attributes["arg_attrs"] = op.arg_attrs
    result.location = op.location
    return result


def _assert(f: CudaFunctionEmitter, op: cf.AssertOp) -> None:
    condition = f.operand(op.arg)
    message = op.msg.data.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    f.statement(f'assert({condition.parenthesized(6)} && "{message}");')


def _alloca(f: CudaFunctionEmitter, op: memref.AllocaOp) -> None:
    """An array of the function, whatever the scope of the buffer."""
    if not op.memref.uses:
        return
    type = _type(op)
    sizes = [size for size in layout_of(type).shape if size is not None]
    if len(sizes) != type.get_num_dims():
        raise lowering_unsupported(op, f"an array needs a static shape, got {type}")
    pointer, _ = declare_array(f, op, memory_type(type.element_type), max(prod(sizes), 1))
    f.bind(op.memref, f.assemble(type, [pointer]))


def _alloc(f: CudaFunctionEmitter, op: memref.AllocOp) -> None:
    """Memory of the heap. A failed allocation ends the program."""
    type = _type(op)
    dynamic = [f.as_repeatable(size, "size") for size in f.operands(op.dynamic_sizes)]
    kind, new = memory_type(type.element_type), f.names.fresh(op.memref.name_hint or "buffer")
    buffer = f.assemble(type, [CudaExpr(new, PRIMARY, f"{kind}*"), *dynamic])
    assert isinstance(buffer, CudaBuffer)
    count = integer_literal(byte_size(type.element_type), LONG)
    for size in buffer.sizes:
        count = index_arithmetic("*", count, size)
    f.emit_pending_reads()
    f.line(f"{f.module.use_type(kind)}* {new} = malloc(({count.text}) + 1);")
    f.line(f"if ({new} == NULL) {{")
    f.line("  abort();")
    f.line("}")
    f.bind(op.memref, buffer)


def _type(op: memref.AllocaOp | memref.AllocOp) -> MemRefType:
    type = op.memref.type
    assert isinstance(type, MemRefType)
    if not layout_of(type).identity:
        raise lowering_unsupported(op, f"a new buffer must be contiguous, got {type}")
    return type


def _dealloc(f: CudaFunctionEmitter, op: memref.DeallocOp) -> None:
    f.statement(f"free({f.buffer(op.memref).pointer.text});")


def _return(f: CudaFunctionEmitter, op: func.ReturnOp) -> None:
    if op.arguments:
        f.line(f"return {f.operand(op.arguments[0]).text};")


class _CEmitter(ModuleEmitter):
    """The functions under construction."""

    lowerings: ClassVar[Lowerings] = {
        **{kind: lowering for kind, lowering in LOWERINGS.items() if not kind.name.startswith("gpu.")},
        cf.AssertOp: _assert,
        func.ReturnOp: _return,
        memref.AllocaOp: _alloca,
        memref.AllocOp: _alloc,
        memref.DeallocOp: _dealloc,
    }
    language: ClassVar[str] = "C"
    place: ClassVar[str] = "the target c"

    def __init__(self, modules: Sequence[gpu.ModuleOp], annotate: bool) -> None:
        super().__init__(modules, annotate, C_NAMES)

    def head(self, op: gpu.FuncOp, block_size: tuple[int, ...] | None) -> str:
        """The declaration of a function that any program of C may call."""
        return super().head(op, block_size).removeprefix("static __device__ ")

    def function(self, op: gpu.FuncOp) -> CFunction:
        """The description of an emitted function."""
        name, outputs = op.sym_name.data, op.function_type.outputs.data
        result = translate_type(scalar_type(outputs[0])) if outputs else "void"
        parameters = tuple(replace(each, ctype=translate_type(each.ctype)) for each in self.parameters[name])
        return CFunction(name, self.symbols[name], parameters, result)

    def prototypes(self) -> str:
        """The declarations of the functions of others that the functions call."""
        return "".join(f"{self._prototype(name, op.function_type)};\n" for name, op in self.external.items())

    def _prototype(self, name: str, type: FunctionType) -> str:
        if not is_c_identifier(name):
            raise UnsupportedError(f"c: the function {name!r}: expected an identifier of C")
        inputs = [self._c_type(each) for each in type.inputs.data]
        result = self._c_type(type.outputs.data[0]) if type.outputs.data else "void"
        return f"{result} {name}({', '.join(inputs) or 'void'})"

    def _c_type(self, type: Attribute) -> str:
        if isinstance(type, MemRefType):
            return f"{self.use_type(memory_type(type.element_type))}*"
        return self.use_type(scalar_type(type))

"""The requirements of kernels on the arguments of the functions that launch them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from xdsl.dialects import func, gpu, memref
from xdsl.dialects.builtin import MemRefType, ModuleOp
from xdsl.ir import SSAValue, Use

from ..runtime.signature import BufferParameter, FunctionSignature
from .emitter import EmittedKernel


@dataclass(frozen=True)
class BufferRequirement:
    """The requirements on a buffer. alignment: bytes that must divide its address.  written: whether it may be
    written.
    """

    alignment: int = 1
    written: bool = False


class BufferRequirements:
    """The requirements on each argument of the host functions of a module. Unsupported uses count as writes."""

    def __init__(self, module: ModuleOp, kernels: Mapping[str, EmittedKernel]):
        """kernels: by name."""
        self._functions = {op.sym_name.data: op for op in module.ops if isinstance(op, func.FuncOp)}
        self._kernels = kernels
        self._known: dict[tuple[str, int], BufferRequirement] = {}

    def signature(self, function: FunctionSignature) -> FunctionSignature:
        """The signature with the required alignments and writes of its buffers."""
        parameters = list(function.parameters)
        for n, parameter in enumerate(parameters):
            if isinstance(parameter, BufferParameter):
                demand = self._demand(function.name, n)
                parameters[n] = replace(parameter, alignment=demand.alignment, written=demand.written)
        return replace(function, parameters=tuple(parameters))

    def _demand(self, function: str, index: int) -> BufferRequirement:
        key = function, index
        if key not in self._known:
            op = self._functions.get(function)
            self._known[key] = BufferRequirement(written=True)  # the assumption for recursive calls
            if op is not None and not op.is_declaration:
                self._known[key] = _combine(self._demands(op.body.block.args[index]))
        return self._known[key]

    def _demands(self, value: SSAValue) -> Iterator[BufferRequirement]:
        for use in value.uses:
            yield from self._of_use(value, use)

    def _of_use(self, value: SSAValue, use: Use) -> Iterator[BufferRequirement]:
        match op := use.operation:
            case gpu.LaunchFuncOp():
                kernel = self._kernels[op.kernel.nested_references.data[-1].data]
                indices = [n for n, operand in enumerate(op.kernelOperands) if operand is value]
                for parameter in kernel.parameters:
                    if parameter.role == "pointer" and parameter.argument in indices:
                        yield BufferRequirement(parameter.alignment, parameter.writes)
            case func.CallOp():
                yield self._demand(op.callee.string_value(), use.index)
            case memref.DimOp() | memref.RankOp() | memref.LoadOp():
                pass
            case gpu.MemcpyOp() if op.src is value:
                pass
            case _:
                views = [result for result in op.results if isinstance(result.type, MemRefType)]
                if not views:
                    yield BufferRequirement(written=True)
                for view in views:
                    yield from self._demands(view)


def _combine(demands: Iterator[BufferRequirement]) -> BufferRequirement:
    every = list(demands)
    return BufferRequirement(
        max((each.alignment for each in every), default=1),
        any(each.written for each in every),
    )

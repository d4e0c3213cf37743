"""What kernels ask of the arguments of the functions that launch them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from xdsl.dialects import func, gpu, memref
from xdsl.dialects.builtin import MemRefType, ModuleOp
from xdsl.ir import SSAValue, Use

from ..runtime.signature import BufferParameter, FunctionSignature
from .emitter import EmittedKernel


@dataclass(frozen=True)
class Demand:
    """What is asked of a buffer. alignment: bytes that must divide its address.  written: whether it may be written."""

    alignment: int = 1
    written: bool = False


class Demands:
    """What is asked of each argument of the functions of the host in a module. What is not understood may write."""

    def __init__(self, module: ModuleOp, kernels: Mapping[str, EmittedKernel]):
        """kernels: by name."""
        self._functions = {op.sym_name.data: op for op in module.ops if isinstance(op, func.FuncOp)}
        self._kernels = kernels
        self._known: dict[tuple[str, int], Demand] = {}

    def signature(self, function: FunctionSignature) -> FunctionSignature:
        """A signature that says what is asked."""
        parameters = list(function.parameters)
        for n, parameter in enumerate(parameters):
            if isinstance(parameter, BufferParameter):
                asked = self._of(function.name, n)
                parameters[n] = replace(parameter, alignment=asked.alignment, written=asked.written)
        return replace(function, parameters=tuple(parameters))

    def _of(self, function: str, index: int) -> Demand:
        key = function, index
        if key not in self._known:
            op = self._functions.get(function)
            self._known[key] = Demand(written=True)  # for who calls itself, while it is not known
            if op is not None and not op.is_declaration:
                self._known[key] = _both(self._asked(op.body.block.args[index]))
        return self._known[key]

    def _asked(self, value: SSAValue) -> Iterator[Demand]:
        for use in value.uses:
            yield from self._of_use(value, use)

    def _of_use(self, value: SSAValue, use: Use) -> Iterator[Demand]:
        match op := use.operation:
            case gpu.LaunchFuncOp():
                kernel = self._kernels[op.kernel.nested_references.data[-1].data]
                given = [n for n, operand in enumerate(op.kernelOperands) if operand is value]
                for parameter in kernel.parameters:
                    if parameter.role == "pointer" and parameter.argument in given:
                        yield Demand(parameter.alignment, parameter.writes)
            case func.CallOp():
                yield self._of(op.callee.string_value(), use.index)
            case memref.DimOp() | memref.RankOp() | memref.LoadOp():
                pass
            case gpu.MemcpyOp() if op.src is value:
                pass
            case _:
                views = [result for result in op.results if isinstance(result.type, MemRefType)]
                if not views:
                    yield Demand(written=True)
                for view in views:
                    yield from self._asked(view)


def _both(demands: Iterator[Demand]) -> Demand:
    every = list(demands)
    return Demand(
        max((each.alignment for each in every), default=1),
        any(each.written for each in every),
    )

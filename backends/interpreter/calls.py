"""Implementations of calls: of functions of the program, packed functions, and supported C functions."""

from __future__ import annotations

from typing import Any

from xdsl.interpreter import Interpreter, PythonValues, impl, register_impls

from ...analysis.threads.atomics import atomic_of
from ...core.dtypes import dtype_of
from ...dialects.attributes import TIR_NOALIAS
from ...dialects.tir import CallExternOp, CallIntrinOp, CallOp, CallPackedOp, FuncOp
from ...module import Module
from ..oracle import numerics
from ..oracle.aliases import ParameterWrites
from ..oracle.calls import FALSE_ASSUMPTION, dtype_name, libm, promises_noalias
from ..oracle.checks import atomic, check_noalias
from ..oracle.context import unsupported
from ..oracle.expressions import PythonExpr
from ..oracle.memory import Fault, Pointer, View
from .functions import call_function
from .state import StatefulFunctions


@register_impls
class CallFunctions(StatefulFunctions):
    """Implementations of calls."""

    @impl(CallOp)
    def run_call(self, interpreter: Interpreter, op: CallOp, args: PythonValues) -> PythonValues:
        name = op.callee.string_value()
        callee = Module(interpreter.module).function_ops.get(name)
        if not isinstance(callee, FuncOp):
            raise unsupported(op, f"no function {name!r} in the module")
        if promises_noalias(callee.attr(TIR_NOALIAS)):
            writes = ParameterWrites({name: callee})
            views = [
                (param, writes.parameter(callee, n), arg)
                for n, ((param, _), arg) in enumerate(zip(callee.params, args, strict=True))
                if isinstance(arg, View | Pointer)
            ]
            check_noalias(name, views)
        return call_function(interpreter, callee, args)

    @impl(CallPackedOp)
    def run_call_packed(self, interpreter: Interpreter, op: CallPackedOp, args: PythonValues) -> PythonValues:
        dtype = None if op.result is None else dtype_name(op.result.type)
        result = self.state(interpreter).run.call_packed(op.callee.data, args, dtype)
        return () if op.result is None else (result,)

    @impl(CallExternOp)
    def run_call_extern(self, interpreter: Interpreter, op: CallExternOp, args: PythonValues) -> PythonValues:
        if (update := atomic_of(op)) is not None:
            old = atomic(update.kind, update.dtype.name, args[0], args[1])
            return () if op.result is None else (old,)
        names = [f"x{n}" for n in range(len(args))]
        text = libm(op, [PythonExpr(name) for name in names]).text
        known: dict[str, Any] = {**vars(numerics), **dict(zip(names, args, strict=True))}
        return (eval(text, known),)

    @impl(CallIntrinOp)
    def run_call_intrin(self, interpreter: Interpreter, op: CallIntrinOp, args: PythonValues) -> PythonValues:
        if op.intrinsic.data == "assume":
            if not args[0]:
                raise Fault(FALSE_ASSUMPTION)
            return tuple(0 for _ in op.results)
        if op.intrinsic.data == "undef" and dtype_of(op.results[0].type).lanes == 1:
            return (0.0 if dtype_of(op.results[0].type).is_float else 0,)
        raise unsupported(op, f"only a target runs the builtin {op.intrinsic.data!r}")

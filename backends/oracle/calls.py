"""Handlers for calls."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from xdsl.dialects.builtin import IntegerAttr, MemRefType
from xdsl.ir import Attribute, Operation, SSAValue

from ...analysis.threads.atomics import atomic_of
from ...analysis.threads.axes import team_of
from ...analysis.threads.barriers import is_barrier
from ...analysis.threads.shuffles import ALL_LANES, is_active_mask
from ...core.dtypes import dtype_of
from ...dialects.attributes import TIR_NOALIAS
from ...dialects.tir import CallExternOp, CallIntrinOp, CallOp, CallPackedOp, FuncOp, HandleType
from .aliases import ParameterWrites
from .context import unsupported
from .expressions import NOT, PythonExpr, call_text, round_through_f32

if TYPE_CHECKING:
    from .functions import FunctionCompiler

LIBM: dict[str, int] = {
    **dict.fromkeys(
        "acos acosh asin asinh atan atanh cbrt ceil cos cosh erf erfc exp exp10 exp2 expm1 fabs floor log log10 log1p "
        "log2 sin sinh sqrt tan tanh trunc".split(),
        1,
    ),
    **dict.fromkeys(["atan2", "copysign", "fmod", "hypot", "pow"], 2),
}
"""The supported C functions, with their number of operands: on f64, and with the suffix `f` on f32."""

FALSE_ASSUMPTION = "the condition of T.assume does not hold"

_PYTHON = {"pow": "power"}


def _argument(f: FunctionCompiler, value: SSAValue) -> PythonExpr:
    """An argument: a buffer as a view; a handle parameter unchanged."""
    if isinstance(value.type, MemRefType):
        return f.buffers[value].view()
    return PythonExpr(f.handles[value]) if value in f.handles else f.writer.value(value)


def _bind_result(f: FunctionCompiler, op: CallOp | CallExternOp | CallPackedOp, result: PythonExpr) -> None:
    if op.result is None:
        f.writer.line(result.text)
    else:
        f.writer.bind(op.result, result)


def _call(f: FunctionCompiler, op: CallOp) -> None:
    name = op.callee.string_value()
    callee = f.context.functions.get(name)
    if callee is None:
        raise unsupported(op, f"no function {name!r} in the module")
    args = [_argument(f, a) for a in op.args]
    if f.context.check and promises_noalias(callee.attr(TIR_NOALIAS)):
        _check_noalias(f, callee, args)
    strand = [f.strand or "0"] if f.context.check and name in f.context.concurrent else []
    _bind_result(f, op, call_text(f.context.names[name], "run", *strand, *args))


def promises_noalias(attr: Attribute | None) -> bool:
    """Whether `attr`, the attribute `tir.noalias` of a function, forbids overlapping buffers."""
    match attr:
        case IntegerAttr() as attr:
            return attr.value.data != 0
        case None:
            return False
        case _:
            return True


def _check_noalias(f: FunctionCompiler, callee: FuncOp, args: list[PythonExpr]) -> None:
    writes = ParameterWrites(f.context.functions)
    views = [
        f"({name!r}, {writes.parameter(callee, i)}, {arg.text})"
        for i, ((name, param), arg) in enumerate(zip(callee.params, args, strict=True))
        if isinstance(param.type, MemRefType | HandleType)
    ]
    if len(views) > 1:
        f.writer.line(f"check_noalias({callee.sym_name.data!r}, [{', '.join(views)}])")


def _call_packed(f: FunctionCompiler, op: CallPackedOp) -> None:
    args: list[str] = []
    for value in op.args:
        args.append(f.emit_written_view(value) if isinstance(value.type, MemRefType) else _argument(f, value).text)
    dtype = "None" if op.result is None else repr(dtype_name(op.result.type))
    _bind_result(f, op, call_text("run.call_packed", repr(op.callee.data), f"[{', '.join(args)}]", dtype))


def dtype_name(type: Attribute) -> str:
    """The name of a type in a call: of its data type, or "handle"."""
    return "handle" if isinstance(type, HandleType) else dtype_of(type).name


def _call_extern(f: FunctionCompiler, op: CallExternOp) -> None:
    args = [f.writer.value(a) for a in op.args]
    if (atomic := atomic_of(op)) is not None:
        _bind_result(f, op, call_text("atomic", repr(atomic.kind), repr(atomic.dtype.name), *args))
        return
    result = libm(op, args)
    assert op.result is not None
    f.writer.bind(op.result, result)


def libm(op: CallExternOp, args: Sequence[PythonExpr]) -> PythonExpr:
    """A call of a supported C function. Raises UnsupportedError for others."""
    symbol = op.callee.data
    for name, bits in ((symbol, 64), (symbol[:-1], 32)):
        if symbol in (name, f"{name}f") and name in LIBM and op.result is not None and len(op.args) == LIBM[name]:
            types = {value.type for value in (*op.args, op.result)}
            dtype = dtype_of(op.result.type) if len(types) == 1 else None
            if dtype is not None and dtype.kind == "float" and dtype.bits == bits and dtype.lanes == 1:
                return round_through_f32(call_text(_PYTHON.get(name, name), *args), dtype)
    raise unsupported(op, f"the oracle does not know the C function {symbol!r} on these types")


def _call_intrin(f: FunctionCompiler, op: CallIntrinOp) -> None:
    if is_barrier(op) and team_of(op) is None:
        return  # all threads have executed the code before the barrier
    if is_active_mask(op):
        f.writer.bind(op.results[0], PythonExpr(str(ALL_LANES)))
        return
    if op.intrinsic.data == "assume":
        _assume(f, op)
        return
    if op.intrinsic.data == "undef" and dtype_of(op.results[0].type).lanes == 1:
        f.writer.bind(op.results[0], PythonExpr("0.0" if dtype_of(op.results[0].type).is_float else "0"))
        return
    raise unsupported(op, f"only a target runs the builtin {op.intrinsic.data!r}")


def _assume(f: FunctionCompiler, op: CallIntrinOp) -> None:
    if f.context.check:
        with f.writer.block(f"if not {f.writer.value(op.args[0]).parenthesized(NOT)}:"):
            f.writer.line(f"fault({FALSE_ASSUMPTION!r})")
    for result in op.results:
        f.writer.bind(result, PythonExpr("0"))


HANDLERS: dict[type[Operation], Callable[[FunctionCompiler, Any], None]] = {
    CallOp: _call,
    CallPackedOp: _call_packed,
    CallExternOp: _call_extern,
    CallIntrinOp: _call_intrin,
}

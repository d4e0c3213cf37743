"""Words of `R` for values, calls and casts: `R.const`, `R.call_tir`, `R.match_cast`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import cast

import numpy as np
from xdsl.dialects.builtin import DictionaryAttr
from xdsl.ir import Attribute, SSAValue

from ....core.arrays import plain_array
from ....core.diagnostics import Span
from ....core.dtypes import numpy_dtype
from ....core.errors import SizeError
from ....operators.relax import (
    CallDpsPackedOp,
    CallInplacePackedOp,
    CallPackedOp,
    CallPurePackedOp,
    CallTirInplaceOp,
    CallTirOp,
    HintOnDeviceOp,
    MatchCastOp,
    ObjectType,
    PrimValueOp,
    ShapeOfOp,
    ShapeOp,
    StringOp,
    ToVdeviceOp,
)
from ....operators.relax.types import NARROW_DTYPES, is_tensor, prim, shape, tensor, tuple_type
from ....operators.relay import ConstantOp
from ..context import ElaborationContext
from ..values import (
    DataflowFrame,
    ExternFunction,
    FunctionRef,
    RelaxType,
    RelaxValue,
    Value,
    VirtualDevice,
    describe_value,
    device_name,
    python_number,
)
from ..vocabulary import RELAX_WORDS, ReaderT, word
from .context import RelaxContext
from .memory import call_packed_on_allocated


def _word(*names: str) -> Callable[[ReaderT], ReaderT]:
    return word(*names, words=RELAX_WORDS)


# ---- values


@_word("const")
def _const(context: RelaxContext, span: Span, value: Value, dtype: Value = None) -> Value:
    if isinstance(dtype, RelaxType):
        return _splat(context, python_number(value), dtype.type, span)
    number = python_number(value)
    if isinstance(number, str):
        number = _special_float(number, span)
    is_number = isinstance(number, int | float)
    if dtype is None:
        name = None if not is_number else _default_dtype(number)
    else:
        name = context.dtype(dtype, span).name
    if is_number:
        assert name is not None
        return RelaxValue(context.at(span).number(number, name))
    try:
        array = plain_array(number)
        kind = numpy_dtype(NARROW_DTYPES.get(str(array.dtype), str(array.dtype)) if name is None else name)
        array = np.asarray(array, kind)
        return RelaxValue(context.at(span).constant(array, "const"))
    except (ValueError, TypeError) as error:
        raise span.error(f"R.const: {error}") from None


def _default_dtype(number: bool | int | float) -> str:
    return "bool" if isinstance(number, bool) else "int32" if isinstance(number, int) else "float32"


def _special_float(text: str, span: Span) -> float:
    if text not in ("inf", "-inf", "nan"):
        raise span.error(f"R.const: expected a number or an array, got {text!r}")
    return float(text)


def _splat(context: RelaxContext, number: Value, type: Attribute, span: Span) -> Value:
    """A constant tensor whose elements are one number."""
    if not isinstance(number, int | float):
        raise span.error(f"R.const: expected a number for every element, got {describe_value(number)}")
    return RelaxValue(context.insert(ConstantOp(number, type), span).result)


@_word("shape", "ShapeExpr")
def _shape(context: RelaxContext, span: Span, value: Value) -> Value:
    sizes = context.shape(value, span)
    if any(isinstance(size, int) and size < 0 for size in sizes):  # codes of R.reshape
        return tuple(sizes)
    return RelaxValue(context.insert(ShapeOp(shape(sizes)), span).output)


@_word("prim_value")
def _prim_value(context: RelaxContext, span: Span, value: Value, dtype: Value = None) -> Value:
    name = None if dtype is None else context.dtype(dtype, span).name
    number = python_number(value)
    type = prim(number if isinstance(number, float) else context.size(value, span), name)
    return RelaxValue(context.insert(PrimValueOp(type), span).output)


@_word("str", "dtype")
def _str(context: RelaxContext, span: Span, value: Value) -> Value:
    return RelaxValue(context.insert(StringOp(context.string(value, span, "R.str")), span).output)


@_word("tuple")
def _tuple(context: RelaxContext, span: Span, *fields: Value) -> Value:
    return RelaxValue(context.relax_value(list(fields), span))


@_word("TupleGetItem")
def _tuple_get_item(context: RelaxContext, span: Span, tuple_value: Value, index: Value) -> Value:
    fields, number = context.fields(tuple_value, span), python_number(index)
    if not isinstance(number, int) or not 0 <= number < len(fields):
        raise span.error(f"R.TupleGetItem: index {describe_value(index)}, expected one of {len(fields)} fields")
    return RelaxValue(fields[number])


@_word("emit")
def _emit(context: RelaxContext, span: Span, value: Value) -> Value:
    return RelaxValue(context.relax_value(value, span))


@_word("shape_of")
def _shape_of(context: RelaxContext, span: Span, expr: Value) -> Value:
    value = context.relax_value(expr, span)
    if not is_tensor(value.type):
        raise span.error(f"R.shape_of: expected a tensor, got a value of type {value.type}")
    return RelaxValue(context.insert(ShapeOfOp(value), span).output)


@_word("match_cast")
def _match_cast(context: RelaxContext, span: Span, value: Value, struct_info: Value) -> Value:
    operand, type = context.relax_value(value, span), context.relax_type(struct_info, span)
    op = context.insert(MatchCastOp(operand, type), span)
    context.state_device(op.output, struct_info, span)
    return RelaxValue(op.output)


@_word("to_vdevice")
def _to_vdevice(context: RelaxContext, span: Span, data: Value, dst_vdevice: Value) -> Value:
    op = ToVdeviceOp(context.relax_value(data, span), context.device(dst_vdevice, span))
    return RelaxValue(context.insert(op, span).output)


_DEVICE_TYPES = {1: "llvm", 2: "cuda", 12: "cuda-emulated"}
"""The kinds of targets by DLPack's device types."""


@_word("device")
def _device(context: RelaxContext, span: Span, device_type: Value, index: Value) -> Value:
    kind, number = context.size(device_type, span), context.size(index, span)
    if not isinstance(kind, int) or not isinstance(number, int):
        raise span.error("expected two numbers, R.device(2, 0)")
    if kind not in _DEVICE_TYPES:
        raise span.error(f"R.device: device type {kind}, expected one of {', '.join(map(str, _DEVICE_TYPES))}")
    return VirtualDevice(_DEVICE_TYPES[kind], number)


@_word("hint_on_device")
def _hint_on_device(
    context: RelaxContext, span: Span, data: Value, dst_vdevice: Value, memory_scope: Value = "global"
) -> Value:
    scope, given = context.string(memory_scope, span, "the memory scope"), python_number(dst_vdevice)
    if scope != "global" and (name := device_name(given)) is not None:
        given = f"{name}:{scope}"
    op = HintOnDeviceOp(context.relax_value(data, span), context.device(given, span))
    return RelaxValue(context.insert(op, span).output)


# ---- calls


@_word("ExternFunc")
def _extern_func(context: RelaxContext, span: Span, name: Value) -> Value:
    return ExternFunction(context.string(name, span, "the name of the function"))


@_word("call_tir")
def _call_tir(
    context: RelaxContext,
    span: Span,
    gvar: Value,
    args: Value,
    out_sinfo: Value = None,
    tir_vars: Value = None,
    *,
    out_ty: Value = None,
    dtype: Value = None,
) -> Value:
    type = _result_type(context, out_sinfo if out_ty is None else out_ty, dtype, span)
    operands = context.fields(args, span)
    if isinstance(gvar, str | ExternFunction):  # until v0.12
        return _dps_packed(context, gvar, operands, type, span)
    if not isinstance(gvar, FunctionRef):
        raise span.error(f"R.call_tir: expected a function of the module, got {describe_value(gvar)}")
    sizes = [] if tir_vars is None else [str(size) for size in context.shape(tir_vars, span)]
    call = context.insert(CallTirOp(gvar.name, operands, type, sizes), span)
    context.state_device(call.output, out_sinfo if out_ty is None else out_ty, span)
    return RelaxValue(call.output)


@_word("call_tir_with_grad")
def _call_tir_with_grad(
    context: RelaxContext,
    span: Span,
    gvar: Value,
    args: Value,
    out_sinfo: Value = None,
    te_grad_name: Value = None,
    te_grad_kwargs: Value = None,
    tir_vars: Value = None,
    *,
    out_ty: Value = None,
) -> Value:
    """The call of the kernel: the name of its gradient is dropped, as programs have no gradients."""
    return _call_tir(context, span, gvar, args, out_sinfo, tir_vars, out_ty=out_ty)


@_word("call_tir_inplace")
def _call_tir_inplace(
    context: RelaxContext,
    span: Span,
    gvar: Value,
    args: Value,
    inplace_indices: Value,
    out_sinfo: Value = None,
    tir_vars: Value = None,
    *,
    out_ty: Value = None,
) -> Value:
    type = _result_type(context, out_sinfo if out_ty is None else out_ty, None, span)
    if not isinstance(gvar, FunctionRef):
        raise span.error(f"R.call_tir_inplace: expected a function of the module, got {describe_value(gvar)}")
    sizes = [] if tir_vars is None else [str(size) for size in context.shape(tir_vars, span)]
    positions = _positions(inplace_indices, span)
    call = context.insert(CallTirInplaceOp(gvar.name, context.fields(args, span), positions, type, sizes), span)
    context.state_device(call.output, out_sinfo if out_ty is None else out_ty, span)
    return RelaxValue(call.output)


def _positions(value: Value, span: Span) -> list[int]:
    """The positions of the operands that results overwrite."""
    given = cast("Sequence[Value]", value) if isinstance(value, list | tuple) else [value]
    numbers = [python_number(each) for each in given]
    if not all(isinstance(number, int) and not isinstance(number, bool) for number in numbers):
        raise span.error(f"inplace_indices: expected integers, got {describe_value(value)}")
    return cast("list[int]", numbers)


@_word("call_inplace_packed")
def _call_inplace_packed(
    context: RelaxContext,
    span: Span,
    func: Value,
    *args: Value,
    inplace_indices: Value,
    sinfo_args: Value = None,
    ty_args: Value = None,
) -> Value:
    type = _type_of_packed(context, ty_args if sinfo_args is None else sinfo_args, span)
    operands = [_packed_argument(context, arg, span) for arg in args]
    positions = _positions(inplace_indices, span)
    call = context.insert(CallInplacePackedOp(_function_name(context, func, span), operands, positions, type), span)
    context.state_device(call.output, ty_args if sinfo_args is None else sinfo_args, span)
    return RelaxValue(call.output)


@_word("call_dps_packed")
def _call_dps_packed(
    context: RelaxContext,
    span: Span,
    func: Value,
    args: Value,
    out_sinfo: Value = None,
    *,
    out_ty: Value = None,
    dtype: Value = None,
) -> Value:
    given = out_sinfo if out_ty is None else out_ty
    type = _result_type(context, given, dtype, span)
    is_tuple = isinstance(args, tuple | list)
    items = [_packed_argument(context, each, span) for each in args] if is_tuple else context.fields(args, span)
    value = _dps_packed(context, func, items, type, span)
    context.state_device(context.relax_value(value, span), given, span)
    return value


@_word("call_py_func")
def _call_py_func(context: RelaxContext, span: Span, py_func_name: Value, args: Value, out_sinfo: Value) -> Value:
    name = context.string(py_func_name, span, "the name of the function")
    type = _result_type(context, out_sinfo, None, span)
    call = CallPurePackedOp(f"{PY_FUNC_PREFIX}{name}", context.fields(args, span), type)
    return RelaxValue(context.insert(call, span).output)


PY_FUNC_PREFIX = "py_func."
"""The prefix of the names of the packed functions that compute Python functions of a module."""


def _dps_packed(context: RelaxContext, func: Value, args: Sequence[SSAValue], type: Attribute, span: Span) -> Value:
    return RelaxValue(context.insert(CallDpsPackedOp(_function_name(context, func, span), args, type), span).output)


def _function_name(context: RelaxContext, func: Value, span: Span) -> str:
    return func.name if isinstance(func, ExternFunction) else context.string(func, span, "the name of the function")


def _result_type(context: RelaxContext, given: Value, dtype: Value, span: Span) -> Attribute:
    """The type of the result of a call in destination-passing style: of one tensor, or a tuple for a list of them.

    Until v0.12 it was a shape beside a data type.
    """
    if given is None:
        raise span.error("expected the type of the result, out_sinfo=R.Tensor(...)")
    if dtype is not None:
        try:
            return tensor(context.shape(given, span), context.dtype(dtype, span).name)
        except (ValueError, SizeError) as error:
            raise span.error(str(error)) from None
    if isinstance(given, list | tuple):
        types = [context.relax_type(each, span) for each in cast("Sequence[Value]", given)]
        return types[0] if len(types) == 1 else tuple_type(types)
    return context.relax_type(given, span)


def _packed(name: str, op: type[CallPackedOp | CallPurePackedOp]) -> None:
    @_word(name)
    def read(
        context: RelaxContext,
        span: Span,
        func: Value,
        *args: Value,
        sinfo_args: Value = None,
        ty_args: Value = None,
        **attributes: Value,
    ) -> Value:
        if attributes:
            raise span.error(f"R.{name}: attributes {', '.join(attributes)} are not supported")
        type = _type_of_packed(context, ty_args if sinfo_args is None else sinfo_args, span)
        operands = [_packed_argument(context, arg, span) for arg in args]
        if op is CallPackedOp:
            written = call_packed_on_allocated(context, _function_name(context, func, span), operands, span)
            if written is not None:
                return written
        call = context.insert(op(_function_name(context, func, span), operands, type), span)
        context.state_device(call.output, ty_args if sinfo_args is None else sinfo_args, span)
        return RelaxValue(call.output)


_packed("call_packed", CallPackedOp)
_packed("call_pure_packed", CallPurePackedOp)


def _packed_argument(context: RelaxContext, value: Value, span: Span) -> SSAValue:
    """An argument of a packed function, which may be a number or a text too."""
    value = python_number(value)
    if isinstance(value, str):
        return context.insert(StringOp(value), span).output
    if isinstance(value, int | float):
        return context.insert(PrimValueOp(prim(int(value) if isinstance(value, bool) else value)), span).output
    return context.relax_value(value, span)


@_word("print")
def _print(context: RelaxContext, span: Span, *values: Value, format: Value = "") -> Value:
    return _call_effect(context, span, "relax.run.print", [format, *values])


@_word("assert_op")
def _assert(
    context: RelaxContext, span: Span, condition: Value, format_args: Value = None, *others: Value, format: Value = ""
) -> Value:
    items = [] if format_args is None else format_args if isinstance(format_args, list | tuple) else [format_args]
    return _call_effect(context, span, "relax.run.assert_op", [condition, format, *items, *others])


def _call_effect(context: RelaxContext, span: Span, name: str, arguments: Sequence[Value]) -> Value:
    """A call of a packed function for its effect."""
    operands = [_packed_argument(context, arg, span) for arg in arguments]
    return RelaxValue(context.insert(CallPackedOp(name, operands, ObjectType()), span).output)


# ---- closures


@_word("make_closure")
def _make_closure(context: RelaxContext, span: Span, func: Value, args: Value) -> Value:
    operands = [context.relax_value(func, span), *context.fields(args, span)]
    call = CallPurePackedOp("vm.builtin.make_closure", operands, ObjectType())
    return RelaxValue(context.insert(call, span).output)


def _invoke(name: str, op: type[CallPackedOp | CallPurePackedOp]) -> None:
    @_word(name)
    def read(
        context: RelaxContext,
        span: Span,
        closure: Value,
        args: Value,
        sinfo_args: Value = None,
        ty_args: Value = None,
    ) -> Value:
        type = _type_of_packed(context, ty_args if sinfo_args is None else sinfo_args, span)
        operands = [context.relax_value(closure, span), *context.fields(args, span)]
        return RelaxValue(context.insert(op("vm.builtin.invoke_closure", operands, type), span).output)


_invoke("invoke_closure", CallPackedOp)
_invoke("invoke_pure_closure", CallPurePackedOp)


def _unsupported(name: str, reason: str) -> None:
    @_word(name)
    def read(context: RelaxContext, span: Span, *args: Value, **named: Value) -> Value:
        raise span.error(f"R.{name} is not supported: {reason}")


for _name in ("ccl.allgather", "ccl.allreduce", "ccl.broadcast_from_worker0", "ccl.scatter_from_worker0"):
    _unsupported(_name, "programs run in one process, without other workers")
_unsupported("call_builtin_with_ctx", "programs are read as they are before TVM's VMShapeLower")


@_word("null_value")
def _null_value(context: RelaxContext, span: Span) -> Value:
    return RelaxValue(context.insert(CallPurePackedOp("vm.builtin.null_value", [], ObjectType()), span).output)


def _type_of_packed(context: RelaxContext, given: Value, span: Span) -> Attribute:
    if given is None:
        return ObjectType()
    types = cast("Sequence[Value]", given) if isinstance(given, list | tuple) else [given]
    known = [context.relax_type(each, span) for each in types]
    return known[0] if len(known) == 1 else tuple_type(known)


# ---- statements


@_word("dataflow")
def _dataflow(context: RelaxContext, span: Span) -> Value:
    return DataflowFrame(span)


@_word("output")
def _output(context: RelaxContext, span: Span, *values: Value) -> Value:
    raise span.error("R.output takes names of a dataflow region, as a statement of its own")


@_word("func_attr")
def _func_attr(context: ElaborationContext, span: Span, attrs: Value) -> Value:
    attributes: DictionaryAttr = context.attributes(attrs, span)
    context.function_attrs = {**(context.function_attrs or {}), **attributes.data}
    return None

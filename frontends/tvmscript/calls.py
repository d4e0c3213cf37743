"""Calls with side effects: functions of the module, C functions, packed functions, target builtins."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import cast

from xdsl.ir import Attribute, BlockArgument, SSAValue

from ...core.diagnostics import Span, did_you_mean
from ...core.dtypes import mlir_type
from ...core.gpu import DOT4
from ...core.llvm_intrinsics import LLVM_INTRINSICS
from ...dialects.extensions import operation_names
from ...dialects.tir import (
    CallExternOp,
    CallIntrinOp,
    CallLlvmOp,
    CallOp,
    CallPackedOp,
    ConstOp,
    FuncOp,
    HandleType,
    MatchBufferOp,
    ParameterAttr,
)
from . import pytime
from .annotations import read_result_type
from .buffers import buffer_pointer
from .context import ElaborationContext, spell_type
from .dispatch import apply, calls
from .statements import write_return, write_value
from .values import BufferValue, FunctionRef, PendingCall, TypeAnnotation, Value, Word
from .vocabulary import WORDS, is_dtype, word


def call_operand(context: ElaborationContext, value: Value, span: Span) -> SSAValue:
    """The operand for an argument of a call: a value, a buffer, or a string."""
    if isinstance(value, str):
        return context.locate(span).insert(ConstOp(value)).result
    if isinstance(value, BufferValue):
        return value.value
    return context.expr(value, span)


def _data_of(context: ElaborationContext, value: Value, span: Span) -> SSAValue:
    """The operand for an argument of a C function, which receives a buffer as a pointer."""
    return (
        buffer_pointer(context, value, span) if isinstance(value, BufferValue) else call_operand(context, value, span)
    )


def _arguments(context: ElaborationContext, values: Sequence[Value], span: Span) -> list[SSAValue]:
    return [call_operand(context, value, span) for value in values]


def _result_type(context: ElaborationContext, dtype: Value, span: Span) -> Attribute | None:
    return None if dtype in ("void", "") else context.type(dtype, span)


# ---- functions of the module


@calls(FunctionRef)
def _call_function(
    context: ElaborationContext, function: FunctionRef, span: Span, args: list[Value], keywords: dict[str, Value]
) -> Value:
    """A call of a function of the module: `cls.f(A.data, n)`."""
    if keywords:
        raise span.error(f"{function.name} takes its arguments by position")
    node = context.module.nodes[function.name]
    if len(args) != len(node.params):
        raise span.error(f"{function.name} takes {len(node.params)} arguments, got {len(args)}")
    operands = _arguments(context, args, span)

    def insert(wanted: bool) -> SSAValue | None:
        type = _type_of_result(context, function.name, wanted, span)
        op = context.locate(span).insert(CallOp(function.name, operands, type))
        return op.results[0] if op.results else None

    return PendingCall(insert, span)


def _type_of_result(context: ElaborationContext, name: str, wanted: bool, span: Span) -> Attribute | None:
    finished = context.module.finished.get(name)
    if isinstance(finished, FuncOp):
        return finished.result_type
    returns = context.module.nodes[name].returns
    if returns is not None:
        return read_result_type(context, returns)
    if wanted:
        raise span.error(f"the result type of {name} must be written (-> T.int32), or {name} come first")
    return None


# ---- external functions


@word("call_extern")
def _call_extern(context: ElaborationContext, span: Span, *args: Value, dtype: Value = None) -> Value:
    return _extern(context, span, args, dtype, pure=False)


@word("call_pure_extern")
def _call_pure_extern(context: ElaborationContext, span: Span, *args: Value, dtype: Value = None) -> Value:
    return _extern(context, span, args, dtype, pure=True)


def _split_dtype(args: Sequence[Value], dtype: Value, what: str, span: Span) -> tuple[Value, Value, Sequence[Value]]:
    """The result type, name and arguments; the type is the first argument, or until v0.11 the keyword `dtype=`."""
    if len(args) < (2 if dtype is None else 1):
        raise span.error(f"{what} takes a type and the name of the function")
    return (args[0], args[1], args[2:]) if dtype is None else (dtype, args[0], args[1:])


def _extern(context: ElaborationContext, span: Span, args: Sequence[Value], dtype: Value, pure: bool) -> Value:
    dtype, func_name, args = _split_dtype(args, dtype, "T.call_extern", span)
    name = context.string(func_name, span, "the name of the function")
    operands = [_data_of(context, arg, span) for arg in args]
    if name == DOT4 and len(operands) == 3:
        try:
            return context.locate(span).dot4(*operands)
        except ValueError as error:
            raise span.error(f"{DOT4}: {error}") from None
    op = CallExternOp(name, operands, _result_type(context, dtype, span), pure=pure)
    return _insert(context, span, op)


def _insert(context: ElaborationContext, span: Span, op: CallExternOp | CallIntrinOp) -> Value:
    """Inserts an op; returns its result, None for a call without one."""
    context.locate(span).insert(op)
    return op.results[0] if op.results else None


@word("llvm_lookup_intrinsic_id")
def _llvm_lookup_intrinsic_id(context: ElaborationContext, span: Span, name: Value) -> Value:
    return context.string(name, span, "the name of an intrinsic of LLVM")


@word("call_llvm_pure_intrin", "call_llvm_intrin")
def _call_llvm(context: ElaborationContext, span: Span, *args: Value, dtype: Value = None) -> Value:
    """`T.call_llvm_pure_intrin("int32x16", name, ...)`; until v0.18 the number of operands may precede these."""
    dtype, intrinsic, values = _split_dtype(args, dtype, "T.call_llvm_pure_intrin", span)
    name = context.string(intrinsic, span, "the name of an intrinsic of LLVM")
    if name not in LLVM_INTRINSICS:
        known = ", ".join(LLVM_INTRINSICS)
        raise span.error(
            f"intrinsic {name!r} of LLVM is not supported{did_you_mean(name, LLVM_INTRINSICS)} ({known} are)"
        )
    expected = LLVM_INTRINSICS[name]
    values = values[1:] if len(values) == len(expected.operands) + 1 else values
    if len(values) != len(expected.operands):
        raise span.error(f"{name} of {len(values)} operands, expected {len(expected.operands)}")
    operands = [context.number(value, span) for value in values]
    result = context.locate(span).insert(CallLlvmOp(name, operands)).result
    wanted = context.type(dtype, span)
    return result if wanted == result.type else context.locate(span).reinterpret(result, wanted)


@word("call_packed", "tvm_call_packed")
def _call_packed(context: ElaborationContext, span: Span, *args: Value) -> Value:
    """A call of a packed function; its result, if used, is an int32."""
    if not args or not isinstance(args[0], str):
        raise span.error("T.call_packed: expected the name of the function")
    name, operands = args[0], _arguments(context, args[1:], span)

    def insert(wanted: bool) -> SSAValue | None:
        type = mlir_type("int32") if wanted else None
        return _result_of(context.locate(span).insert(CallPackedOp(name, operands, type)))

    return PendingCall(insert, span)


def _result_of(op: CallPackedOp) -> SSAValue | None:
    return op.results[0] if op.results else None


# ---- target builtins, kept by name

_BUILTINS: dict[str, str | None] = {
    "tvm_storage_sync": None,
    "tvm_thread_allreduce": None,
    "tvm_load_matrix_sync": None,
    "tvm_mma_sync": None,
    "tvm_fill_fragment": None,
    "tvm_store_matrix_sync": None,
    "tvm_warp_activemask": "uint32",
    "tvm_struct_set": "int32",
    "tvm_throw_last_error": "handle",
    "tvm_check_return": "int32",
    "TVMBackendAllocWorkspace": "handle",
    "TVMBackendFreeWorkspace": "int32",
    "lookup_param": "handle",
    "tvm_thread_context": "handle",
    "tvm_thread_invariant": "int32",
    "tvm_static_handle": "handle",
}
"""The result types of the builtins with a fixed one; None for no result."""


def _builtin_reader(name: str, dtype: str | None) -> Callable[..., Value]:
    def read(context: ElaborationContext, span: Span, *args: Value) -> Value:
        type = None if dtype is None else context.type(dtype, span)
        return _insert(context, span, CallIntrinOp(name, _builtin_arguments(context, args, span), type))

    return read


def _builtin_arguments(context: ElaborationContext, args: Sequence[Value], span: Span) -> list[SSAValue]:
    return [_builtin_argument(context, value, span) for value in args]


def _builtin_argument(context: ElaborationContext, value: Value, span: Span) -> SSAValue:
    if isinstance(value, Word | TypeAnnotation):
        raise span.error("a type cannot be an argument of this call")
    return _data_of(context, value, span)


for _name, _dtype in _BUILTINS.items():
    word(_name)(_builtin_reader(_name, _dtype))


def _first_operand_builtin(name: str, position: int) -> Callable[..., Value]:
    def read(context: ElaborationContext, span: Span, *args: Value) -> Value:
        if len(args) <= position:
            raise span.error(f"T.{name}: missing arguments")
        operands = _builtin_arguments(context, args, span)
        return _insert(context, span, CallIntrinOp(name, operands, operands[position].type))

    return read


for _name in ("tvm_warp_shuffle", "tvm_warp_shuffle_up", "tvm_warp_shuffle_down"):
    word(_name)(_first_operand_builtin(_name, 1))


def _register_builtin(name: str) -> Callable[..., Value]:
    """The reader of an operation on registers, whose data type may be the first argument, and has no meaning."""

    def read(context: ElaborationContext, span: Span, *args: Value) -> Value:
        values = args[1:] if args and isinstance(args[0], str | Word | TypeAnnotation) and _is_dtype(args[0]) else args
        return _insert(context, span, CallIntrinOp(name, _builtin_arguments(context, values, span)))

    return read


def _is_dtype(value: Value) -> bool:
    return not isinstance(value, str) or is_dtype(value)


for _name in ("ptx_mma", "ptx_ldmatrix", "mma_fill", "mma_store"):
    word(_name)(_register_builtin(_name))


@word("assume")
def _assume(context: ElaborationContext, span: Span, condition: Value) -> Value:
    return _insert(context, span, CallIntrinOp("assume", [context.condition(condition, span)]))


@word("undef")
def _undef(context: ElaborationContext, span: Span, dtype: Value = "int32") -> Value:
    return _insert(context, span, CallIntrinOp("undef", [], mlir_type(context.dtype(dtype, span))))


@word("tvm_stack_alloca")
def _tvm_stack_alloca(context: ElaborationContext, span: Span, dtype_str: Value, num: Value) -> Value:
    operands = _builtin_arguments(context, (dtype_str, num), span)
    return _insert(context, span, CallIntrinOp("tvm_stack_alloca", operands, HandleType()))


@word("tvm_struct_get")
def _tvm_struct_get(
    context: ElaborationContext, span: Span, arr: Value, index: Value, field: Value, dtype: Value
) -> Value:
    operands = _builtin_arguments(context, (arr, index, field), span)
    return _insert(context, span, CallIntrinOp("tvm_struct_get", operands, context.type(dtype, span)))


@word("call_intrin")
def _call_intrin(context: ElaborationContext, span: Span, *args: Value, dtype: Value = None) -> Value:
    """A call of an operator by name: `T.call_intrin("float32", "tir.exp", x)`."""
    dtype, func_name, operands = _split_dtype(args, dtype, "T.call_intrin", span)
    name = context.string(func_name, span, "the name of the builtin").removeprefix("tirx.").removeprefix("tir.")
    if name in _INTERNAL or (name not in WORDS and name not in operation_names(name)):
        known = [word for word in (*WORDS, *operation_names(name)) if word not in _INTERNAL]
        raise span.error(f"builtin {name!r} is not supported{did_you_mean(name, known)}")
    if name == "tvm_call_packed" and operands and isinstance(operands[0], str):
        values = _arguments(context, operands[1:], span)
        return _result_of(
            context.locate(span).insert(CallPackedOp(operands[0], values, _result_type(context, dtype, span)))
        )
    if name == "undef":
        return _undef(context, span, dtype)
    if name in _BUILTINS:
        values = _builtin_arguments(context, operands, span)
        return _insert(context, span, CallIntrinOp(name, values, _result_type(context, dtype, span)))
    result = apply(context, Word("T", name), span, list(operands), {})
    if not pytime.is_symbolic(result):
        return result
    value, expected = context.expr(result, span), _result_type(context, dtype, span)
    if expected is not None and value.type != expected:
        raise span.error(f"builtin {name!r} gives {spell_type(value.type)}, expected {spell_type(expected)}")
    return value


_INTERNAL = frozenset(["<dtype>", "call_intrin"])


# ---- evaluate and return


@word("evaluate")
def _evaluate(context: ElaborationContext, span: Span, value: Value) -> Value:
    if isinstance(value, Word | str | BufferValue):
        context.operand(value, span)
    write_value(context, value, span)
    return None


@word("ret")
def _ret(context: ElaborationContext, span: Span, value: Value = None) -> Value:
    write_return(context, span, value)
    return None


# ---- attributes of the function


@word("func_attr")
def _func_attr(context: ElaborationContext, span: Span, attrs: Value) -> Value:
    if context.blocks or context.builder.point.block is not context.block:
        raise span.error("T.func_attr belongs at the top of a function")
    if context.function_attrs is not None:
        raise span.error("T.func_attr is given twice")
    context.function_attrs = dict(context.attributes(_name_parameters(context, attrs), span).data)
    return None


def _name_parameters(context: ElaborationContext, value: Value) -> Value:
    """A value of `T.func_attr`, in which parameters are attributes with their names."""
    match value:
        case list() | tuple():
            return [_name_parameters(context, item) for item in cast("list[Value]", value)]
        case dict():
            return {key: _name_parameters(context, item) for key, item in cast("dict[Value, Value]", value).items()}
        case BufferValue(value=SSAValue(owner=MatchBufferOp(source=source))):
            return _name_parameters(context, source)
        case BlockArgument(owner=block, index=index) if block is context.block:
            return ParameterAttr(context.param_names[index])
        case _:
            return value


@word("func_name", "func_ret")
def _func_name(context: ElaborationContext, span: Span, value: Value) -> Value:
    raise span.error("the builder form of functions is not supported, write def name(...) -> type")

"""Words of `R` for memory: allocated tensors, and calls of kernels that write them.

Storages and the ends of lifetimes are read, and dropped: memory is planned by the compilation.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from xdsl.ir import Attribute, SSAValue

from ....core.diagnostics import Span
from ....core.errors import SizeError
from ....operators.relax import AllocTensorOp, CallDpsPackedOp, CallTirInplaceOp, ShapeType, StringOp
from ....operators.relax.calls import result_types
from ....operators.relax.types import number_of, tensor, tuple_type
from ..values import FunctionRef, RelaxValue, Value, describe_value, python_number
from ..vocabulary import RELAX_WORDS, word
from .context import RelaxContext


@word("builtin.alloc_tensor", words=RELAX_WORDS)
def _alloc_tensor(
    context: RelaxContext,
    span: Span,
    shape: Value,
    dtype: Value,
    runtime_device_index: Value = 0,
    storage_scope: Value = "global",
    *,
    ty_args: Value = None,
    sinfo_args: Value = None,
) -> Value:
    _require_first_device(runtime_device_index, span)
    return _new_tensor(context, shape, dtype, span)


@word("memory.alloc_tensor", "vm.alloc_tensor", words=RELAX_WORDS)
def _tensor_in_storage(
    context: RelaxContext,
    span: Span,
    storage: Value,
    offset: Value,
    shape: Value,
    dtype: Value,
    runtime_device_ind: Value = 0,
    *,
    ty_args: Value = None,
    sinfo_args: Value = None,
) -> Value:
    _require_first_device(runtime_device_ind, span)
    return _new_tensor(context, shape, dtype, span)


@word("memory.alloc_storage", "vm.alloc_storage", words=RELAX_WORDS)
def _alloc_storage(
    context: RelaxContext, span: Span, size: Value, device_index: Value = None, *options: Value, **named: Value
) -> Value:
    given = [named.pop(name) for name in ("virtual_device_index", "runtime_device_index") if name in named]
    if (device_index is None) == (not given):
        raise span.error("expected the index of the device, once")
    _require_first_device(given[0] if given else device_index, span)
    return RelaxValue(context.insert(StringOp("global"), span).output)  # erased, as no operation uses it


@word("memory.kill_storage", "memory.kill_tensor", "vm.kill_object", words=RELAX_WORDS)
def _kill(context: RelaxContext, span: Span, value: Value) -> Value:
    context.relax_value(value, span)
    return _nothing(context, span)


@word("memory.ensure_zero_offset", words=RELAX_WORDS)
def _ensure_zero_offset(context: RelaxContext, span: Span, data: Value) -> Value:
    return RelaxValue(context.relax_value(data, span))


@word("vm.call_tir_dyn", words=RELAX_WORDS)
def _call_tir_dyn(context: RelaxContext, span: Span, func: Value, args: Value) -> Value:
    if not isinstance(func, FunctionRef):
        raise span.error(f"R.vm.call_tir_dyn: expected a function of the module, got {describe_value(func)}")
    return call_kernel(context, func, context.fields(args, span), span)


def call_kernel(context: RelaxContext, function: FunctionRef, args: Sequence[SSAValue], span: Span) -> Value:
    """The call of a kernel that writes allocated tensors among its arguments, whose names then refer to the results.
    A shape as the last argument states numbers that follow the tensors."""
    tensors, sizes = list(args), list[str]()
    if tensors and isinstance(tensors[-1].type, ShapeType):
        sizes = [str(size) for size in context.shape(RelaxValue(tensors.pop()), span)]
    positions = allocated(tensors)
    if not positions:
        raise span.error(
            f"{function.name} is a function of tir, expected R.call_tir(cls.{function.name}, ...), or a tensor of"
            " R.builtin.alloc_tensor among its arguments"
        )
    type = _type_of([tensors[n].type for n in positions])
    call = context.insert(CallTirInplaceOp(function.name, tensors, positions, type, sizes), span)
    _rename(context, [tensors[n] for n in positions], call.output, span)
    return _nothing(context, span)


def call_packed_on_allocated(context: RelaxContext, name: str, args: Sequence[SSAValue], span: Span) -> Value | None:
    """The call of a packed function that writes allocated tensors, its last arguments, whose names then refer to the
    results. None for other arguments."""
    positions = allocated(args)
    first = len(args) - len(positions)
    if not positions or positions != list(range(first, len(args))):
        return None
    type = _type_of([args[n].type for n in positions])
    call = context.insert(CallDpsPackedOp(name, args[:first], type), span)
    _rename(context, args[first:], call.output, span)
    return _nothing(context, span)


def allocated(args: Sequence[SSAValue]) -> list[int]:
    """The positions of allocated tensors, whose elements are undefined."""
    return [n for n, arg in enumerate(args) if isinstance(arg.owner, AllocTensorOp)]


def _type_of(types: Sequence[Attribute]) -> Attribute:
    return types[0] if len(types) == 1 else tuple_type(types)


def _rename(context: RelaxContext, old: Sequence[SSAValue], result: SSAValue, span: Span) -> None:
    """Binds the names of values to the results of a call that overwrites them."""
    fields = [result] if len(result_types(result.type)) == 1 else context.fields(RelaxValue(result), span)
    new = dict(zip(old, fields, strict=True))
    scope = context.scope
    while scope is not None:
        for name, value in scope.names.items():
            if isinstance(value, RelaxValue) and value.value in new:
                scope.names[name] = RelaxValue(new[value.value])
        scope = scope.parent


def _nothing(context: RelaxContext, span: Span) -> Value:
    return RelaxValue(context.relax_value([], span))


def _new_tensor(context: RelaxContext, shape: Value, dtype: Value, span: Span) -> Value:
    given = python_number(dtype)
    if isinstance(given, RelaxValue) and isinstance(given.value.owner, StringOp):
        given = given.value.owner.text.data
    try:
        type = tensor(context.shape(shape, span), context.dtype(given, span).name)
    except (ValueError, SizeError) as error:
        raise span.error(str(error)) from None
    return RelaxValue(context.insert(AllocTensorOp(type), span).output)


def _require_first_device(index: Value, span: Span) -> None:
    """Raises ParseError for memory of another device than the first: tensors are where the kernel that writes them
    is."""
    number = number_of(index.value.type) if isinstance(index, RelaxValue) else python_number(index)  # pyright: ignore[reportArgumentType]
    if cast("object", number) != 0:
        raise span.error(f"memory on device {number}, expected 0: a tensor is on the device of its operands")

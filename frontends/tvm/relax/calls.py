"""Calls: of kernels, of packed functions, of functions of the module, and of operators."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from types import ModuleType
from typing import Any

from xdsl.dialects.builtin import TupleType
from xdsl.ir import SSAValue

from ....backends.devices.device import Device
from ....core.errors import ArgumentError, UnsupportedError
from ....expressions.expr import PrimExpr
from ....operators import relax
from ....operators.relax.functions import sizes_of_call
from ....operators.relax.spelling import COMPOSITES, all_words, spelling_of_word
from ....operators.relax.types import ShapeType, known_shape, substitute
from ....operators.relax.words import build_word, whole_value
from ...relay.expr import GlobalVar
from ...tvmscript.values import Word
from ..ir.vdevice import VDevice, name_of_device
from .expr import Call, Expr, ExternFunc, Op, PrimValue, ShapeExpr, StringImm, Tuple, const, emit_value
from .newer_names import accept_newer_names
from .struct_info import StructInfo, as_struct_info, output_type, size_of
from .writing import Writer

PREFIX = "relax."
"""The prefix of the names of operators."""
INPLACE = "inplace_indices"
"""The attribute of calls with the positions of overwritten arguments."""


def _args(args: Any) -> Tuple:
    if isinstance(args, Tuple):
        return args
    return Tuple(list(args) if isinstance(args, list | tuple) else [args])  # pyright: ignore[reportUnknownArgumentType]


def _infos(infos: Any) -> list[StructInfo]:
    return [as_struct_info(each) for each in (infos if isinstance(infos, list | tuple) else [infos])]


@accept_newer_names
def call_tir(gvar: GlobalVar, args: Any, out_sinfo: StructInfo | Sequence[StructInfo], tir_vars: Any = None) -> Call:
    """The results of a kernel of the module. tir_vars: the numbers that follow its tensors."""
    numbers = tir_vars.sizes if isinstance(tir_vars, ShapeExpr) else tir_vars
    shape = [] if not numbers else [ShapeExpr(numbers)]
    return Call(Op.get("relax.call_tir"), [gvar, _args(args), *shape], sinfo_args=_infos(out_sinfo))


@accept_newer_names
def call_tir_inplace(
    gvar: GlobalVar,
    args: Any,
    inplace_indices: int | Sequence[int],
    out_sinfo: StructInfo | Sequence[StructInfo],
    tir_vars: Any = None,
) -> Call:
    """The results of a kernel of the module that overwrites arguments.

    inplace_indices: for each result the position of the argument whose memory it is, -1 for new memory.  tir_vars: the
    numbers that follow its tensors.
    """
    call = call_tir(gvar, args, out_sinfo, tir_vars)
    return Call(Op.get("relax.call_tir_inplace"), call.args, _positions(inplace_indices), call.sinfo_args)


@accept_newer_names
def call_inplace_packed(
    func: str | ExternFunc,
    *args: Any,
    inplace_indices: int | Sequence[int],
    sinfo_args: StructInfo | Sequence[StructInfo],
) -> Call:
    """The results of a packed function that overwrites arguments, as of `call_tir_inplace`, which it returns."""
    arguments = [_extern(func), *args]
    return Call(Op.get("relax.call_inplace_packed"), arguments, _positions(inplace_indices), _infos(sinfo_args))


def _positions(indices: int | Sequence[int]) -> dict[str, list[int]]:
    """The attribute of a call with the positions of overwritten arguments."""
    return {INPLACE: [indices] if isinstance(indices, int) else [int(each) for each in indices]}


@accept_newer_names
def call_dps_packed(func: str | ExternFunc, args: Any, out_sinfo: StructInfo | Sequence[StructInfo]) -> Call:
    """The results of a packed function in destination-passing style."""
    return Call(Op.get("relax.call_dps_packed"), [_extern(func), _args(args)], sinfo_args=_infos(out_sinfo))


@accept_newer_names
def call_packed(func: str | ExternFunc, *args: Any, sinfo_args: StructInfo | Sequence[StructInfo]) -> Call:
    """The result of a packed function, which may have side effects."""
    return Call(_extern(func), args, sinfo_args=_infos(sinfo_args))


@accept_newer_names
def call_pure_packed(func: str | ExternFunc, *args: Any, sinfo_args: StructInfo | Sequence[StructInfo]) -> Call:
    """The result of a packed function without side effects."""
    return Call(Op.get("relax.call_pure_packed"), [_extern(func), *args], sinfo_args=_infos(sinfo_args))


def shape_of(expr: Expr) -> Call:
    """The shape of a tensor."""
    return Call(Op.get("relax.shape_of"), [expr])


def to_vdevice(data: Expr, dst_vdevice: VDevice | Device | str) -> Call:
    """A copy of a tensor on a device of the module. ArgumentError for another value than a device."""
    return Call(Op.get("relax.to_vdevice"), [data], {"dst_vdevice": VDevice.of_name(name_of_device(dst_vdevice))})


def hint_on_device(data: Expr, dst_vdevice: VDevice | Device | str, memory_scope: str = "global") -> Call:
    """A tensor on a device of the module, to which `relax-realize-devices` copies it if it is on another one.
    ArgumentError for another value than a device."""
    device = VDevice.of_name(name_of_device(dst_vdevice))
    device = device if memory_scope == "global" else replace(device, memory_scope=memory_scope)
    return Call(Op.get("relax.hint_on_device"), [data], {"dst_vdevice": device})


def _extern(func: str | ExternFunc) -> ExternFunc:
    return func if isinstance(func, ExternFunc) else ExternFunc(func)


# Operators


class Words(ModuleType):
    """The operators under the names of TVMScript, `op.add(x, y)`, `op.nn.softmax(x, axis=1)`, and the calls above."""

    def __init__(self, name: str, path: str = ""):
        super().__init__(name)
        self._path = path

    @property
    def __tvmscript__(self) -> Word:
        """The meaning of the operator in a TVMScript program."""
        return Word("R", self._path)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        if name in ("linear_algebra", "manipulate", "unary", "binary", "create", "statistical"):
            return self  # the file that has the words
        path = f"{self._path}.{name}" if self._path else name
        path = _FORMER.get(path, path)
        if path in _CALLS:
            return _CALLS[path]
        if not any(word == path or word.startswith(f"{path}.") for word in all_words()):
            raise AttributeError(f"relax.op has no operator {path!r}")
        return Words(f"{self.__name__}.{name}", path)

    def __call__(self, *args: Any, **attributes: Any) -> Call:
        """The results of the operator: a tensor, or a tuple of several. Errors of the operands are raised by `emit`.
        MissingOperandError for an operand without an argument."""
        parameters = _parameters(self._path)
        named = {**dict(zip(parameters, args, strict=False)), **attributes}
        if len(args) > len(parameters):
            text = f"relax.op.{self._path}: {len(args)} arguments, expected {', '.join(parameters)}"
            raise OperandCountError(text)
        _require_operands(self._path, named)
        operands = _operands_of(self._path, named, parameters)
        others = {name: value for name, value in named.items() if name not in operands}
        return Call(Op.get(PREFIX + self._path), list(operands.values()), others)


def _operands_of(word: str, named: Mapping[str, Any], parameters: Sequence[str]) -> dict[str, Any]:
    """The operands of a call, which have the first parameters of the word: a shape before a tensor is an operand. Other
    tensors are attributes."""
    count = max((n for n, name in enumerate(parameters, 1) if _is_given(word, name, named)), default=0)
    operands: dict[str, Any] = {}
    for name in parameters[:count]:
        value = named.get(name)
        if _is_given(word, name, named):
            operands[name] = value
        elif isinstance(value, list | tuple) and value:
            operands[name] = ShapeExpr(value)  # pyright: ignore[reportUnknownArgumentType]
        else:
            break
    return operands


def _is_given(word: str, name: str, named: Mapping[str, Any]) -> bool:
    return name in named and _is_operand(word, name, named[name])


class OperandCountError(ArgumentError, TypeError):
    """A call of an operator with more arguments than it has parameters."""


class MissingOperandError(ArgumentError, TypeError):
    """A call of an operator without an argument for one of its operands."""


def _require_operands(word: str, named: Mapping[str, Any]) -> None:
    if word in COMPOSITES:
        return
    for operand in spelling_of_word(word).operands:
        if operand not in named:
            raise MissingOperandError(f"relax.op.{word}: no argument {operand!r}, expected a tensor")


def _parameters(word: str) -> list[str]:
    if word in COMPOSITES:
        return list(inspect.signature(COMPOSITES[word]).parameters)[1:]
    return list(spelling_of_word(word).parameters)


def _is_operand(word: str, name: str, value: Any) -> bool:
    if word not in COMPOSITES:
        return name in spelling_of_word(word).operands
    items: Sequence[Any] = value if isinstance(value, list | tuple) else [value]  # pyright: ignore[reportUnknownVariableType]
    return bool(items) and all(isinstance(item, Expr) and not isinstance(item, PrimValue) for item in items)


op = Words(f"{__package__}.op")


# Emission


def emit_call(writer: Writer, call: Call) -> SSAValue:
    """Inserts the operations of a call; returns its result, a tuple of several."""
    value = _emit(writer, call)
    writer.stated += [(value, info.device) for info in call.sinfo_args if info.device is not None]
    return value


def _emit(writer: Writer, call: Call) -> SSAValue:
    match call.op:
        case ExternFunc(global_symbol=name):
            return writer.insert(relax.CallPackedOp(name, _values(writer, call.args), _type(call))).output
        case GlobalVar(name_hint=name):
            return _emit_function_call(writer, call, name)
        case Op(name=name):
            emitter = _EMITTERS.get(name)
            return _emit_operator(writer, call, name) if emitter is None else emitter(writer, call)
        case _:
            raise UnsupportedError(f"a call of {call.op!r}, expected a function of the module or an operator")


def _emit_function_call(writer: Writer, call: Call, name: str) -> SSAValue:
    args = _values(writer, call.args)
    callee = writer.functions.get(name)
    if callee is not None:
        sizes = sizes_of_call([arg.type for arg in args], callee.body.block.arg_types)
        type = substitute(callee.result_type, sizes)
    elif call.sinfo_args:
        type = _type(call)
    elif (known := call.known_struct_info) is not None:
        type = known.type
    else:
        raise ArgumentError(f"a call of {name}, expected a function of relax in the module of the builder")
    return writer.insert(relax.CallOp(name, args, type)).output


def _emit_operator(writer: Writer, call: Call, name: str) -> SSAValue:
    arguments = [_argument(writer, each) for each in call.args]
    attributes = {key: _argument(writer, each) for key, each in call.attrs.explicit.items()}
    word = name.removeprefix(PREFIX)
    return whole_value(writer, word, build_word(writer, word, arguments, attributes))


def _argument(writer: Writer, value: Any) -> Any:
    """An argument of an operator: a tensor, a list of tensors, or the value of an attribute."""
    match value:
        case Tuple():
            return [_argument(writer, each) for each in value.fields]
        case ShapeExpr():
            return value.sizes
        case PrimValue() | StringImm():
            return value.value
        case Expr():
            emitted = value.emit(writer)
            sizes = known_shape(emitted.type) if isinstance(emitted.type, ShapeType) else None
            return _fields(writer, emitted) if sizes is None else list(sizes)
        case PrimExpr():
            return size_of(value)
        case list() | tuple():
            return [_argument(writer, each) for each in value]  # pyright: ignore[reportUnknownVariableType]
        case _:
            return size_of(value) if getattr(value, "is_size", False) else value


def _fields(writer: Writer, value: SSAValue) -> Any:
    """A tensor, or the list of the fields of a tuple."""
    if not isinstance(value.type, TupleType):
        return value
    return [writer.field(value, n) for n in range(len(value.type.types.data))]


def _values(writer: Writer, args: Sequence[Any]) -> list[SSAValue]:
    return [emit_value(writer, each) for each in args]


def _type(call: Call) -> Any:
    return output_type(call.sinfo_args[0] if len(call.sinfo_args) == 1 else call.sinfo_args)


def _emit_call_tir(writer: Writer, call: Call) -> SSAValue:
    kernel, args, *shape = call.args
    assert isinstance(kernel, GlobalVar)
    sizes = [str(size) for each in shape if isinstance(each, ShapeExpr) for size in each.sizes]
    name, values = kernel.name_hint, _operands(writer, args)
    if INPLACE in call.attrs:
        positions = call.attrs[INPLACE]
        return writer.insert(relax.CallTirInplaceOp(name, values, positions, _type(call), sizes)).output
    return writer.insert(relax.CallTirOp(name, values, _type(call), sizes)).output


def _operands(writer: Writer, args: Any) -> list[SSAValue]:
    """The values of the operands of a call in destination-passing style, which are a tuple or one value."""
    values = _values(writer, args.fields if isinstance(args, Tuple) else [args])
    fields = [_fields(writer, each) for each in values]
    return [each for field in fields for each in (field if isinstance(field, list) else [field])]


def _emit_dps_packed(writer: Writer, call: Call) -> SSAValue:
    func, args = call.args
    assert isinstance(func, ExternFunc)
    values = _values(writer, args.fields if isinstance(args, Tuple) else [args])
    return writer.insert(relax.CallDpsPackedOp(func.global_symbol, values, _type(call))).output


def _emit_pure_packed(writer: Writer, call: Call) -> SSAValue:
    func, *args = call.args
    assert isinstance(func, ExternFunc)
    name, values = func.global_symbol, _values(writer, args)
    if INPLACE in call.attrs:
        return writer.insert(relax.CallInplacePackedOp(name, values, call.attrs[INPLACE], _type(call))).output
    return writer.insert(relax.CallPurePackedOp(name, values, _type(call))).output


def _emit_shape_of(writer: Writer, call: Call) -> SSAValue:
    return writer.insert(relax.ShapeOfOp(emit_value(writer, call.args[0]))).output


def _emit_placement(writer: Writer, call: Call) -> SSAValue:
    """A copy on a device, or a hint."""
    assert isinstance(call.op, Op)
    kind = relax.ToVdeviceOp if call.op.name == "relax.to_vdevice" else relax.HintOnDeviceOp
    return writer.insert(kind(emit_value(writer, call.args[0]), name_of_device(call.attrs["dst_vdevice"]))).output


_EMITTERS: Mapping[str, Callable[[Writer, Call], SSAValue]] = {
    "relax.builtin.alloc_tensor": lambda writer, call: writer.insert(relax.AllocTensorOp(_type(call))).output,
    "relax.call_dps_packed": _emit_dps_packed,
    "relax.call_inplace_packed": _emit_pure_packed,
    "relax.call_pure_packed": _emit_pure_packed,
    "relax.call_tir": _emit_call_tir,
    "relax.call_tir_inplace": _emit_call_tir,
    "relax.hint_on_device": _emit_placement,
    "relax.shape_of": _emit_shape_of,
    "relax.to_vdevice": _emit_placement,
}

for _function in (
    call_dps_packed, call_inplace_packed, call_packed, call_pure_packed, call_tir, call_tir_inplace, const,
    hint_on_device, shape_of, to_vdevice,
):  # fmt: skip
    vars(_function)["__tvmscript__"] = Word("R", _function.__name__)


def _dense(data: Expr, weight: Expr) -> Call:
    """The product of rows and the rows of a weight, a word of 2022."""
    return op.matmul(data, op.permute_dims(weight))


def _masked_fill(x: Expr, mask: Expr, value: Expr) -> Call:
    """The elements of a tensor, or a scalar where a mask holds."""
    return op.where(mask, op.full_like(x, value), x)


_FORMER = {"relu": "nn.relu", "nn.leaky_relu": "nn.leakyrelu", "softmax": "nn.softmax"}
"""The words of 2022, each with the word of today."""
_CALLS: Mapping[str, Any] = {
    "dense": _dense,
    "nn.dense": _dense,
    "call_dps_packed": call_dps_packed,
    "call_inplace_packed": call_inplace_packed,
    "call_pure_packed": call_pure_packed,
    "call_tir": call_tir,
    "call_tir_inplace": call_tir_inplace,
    "hint_on_device": hint_on_device,
    "masked_fill": _masked_fill,
    "shape_of": shape_of,
    "to_vdevice": to_vdevice,
}

__all__ = [
    "INPLACE", "call_dps_packed", "call_inplace_packed", "call_packed", "call_pure_packed", "call_tir",
    "call_tir_inplace", "op",
]  # fmt: skip

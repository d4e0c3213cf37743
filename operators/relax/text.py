"""Printing of functions as TVMScript: `@R.function`."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from typing import Any, cast

from xdsl.dialects.builtin import IntAttr, ModuleOp, NoneAttr, StringAttr, TupleType
from xdsl.ir import Attribute, Block, Operation, SSAValue

from ...core.dtypes import dtype_of
from ...core.errors import UnsupportedError
from ...core.target import Target
from ...dialects.text.functions import FUNCTION_PRINTERS, MODULE_NAME, MODULE_PRINTERS
from ...dialects.text.lines import Line
from ...dialects.text.literals import dictionary_literal, string_literal
from ...dialects.text.names import Callees, IdentifierScope
from ...dialects.text.styles import CLASSIC, Style
from ..relay import ConstantOp, OperatorOp, Size, dtype_of_tensor, shape_of
from .calls import CallDpsPackedOp, CallPackedOp, CallPurePackedOp, CallTirOp
from .control import DataflowOp, IfOp, OutputOp
from .devices import DEVICES, PARAM_DEVICES, Devices, HintOnDeviceOp, ToVdeviceOp, device_names, targets_in
from .functions import CallOp, FuncOp, FuncRefOp, ReturnOp, YieldOp
from .in_place import CallInplacePackedOp, CallTirInplaceOp
from .memory import AllocTensorOp
from .spelling import spell
from .types import (
    CallableType,
    ObjectType,
    PrimType,
    ShapeType,
    is_tensor,
    known_dtype,
    known_rank,
    known_shape,
    names_in,
    number_of,
    prim,
    replace_names,
)
from .values import MatchCastOp, PrimValueOp, ShapeOfOp, ShapeOp, StringOp, TupleGetOp, TupleOp
from .words import MEMBER, TUPLES, ApplyOp, parameters_of

METADATA = 'metadata["relax.expr.Constant"]'
"""The table of constant arrays of a module, in the text of its functions."""


def function_lines(
    op: FuncOp, style: Style, callees: Callees, reserved: tuple[str, ...], indent: int = 0
) -> list[Line]:
    """The lines of a function, indented by `indent` levels.

    callees: the names of the functions of the module.  reserved: names that the function must not use. Raises
    `UnsupportedError` for ops without a form in TVMScript.
    """
    printer = _Printer(style, callees, reserved, indent)
    printer.function(op)
    return printer.lines


def type_text(type: Attribute) -> str:
    """A type as TVMScript: `R.Tensor((n, 4), dtype="float32")`. Raises `UnsupportedError` for a type without a form."""
    return _Printer(CLASSIC, Callees(MODULE_NAME), (MODULE_NAME,), 0).type(type)


def _device_lines(module: ModuleOp) -> list[str]:
    """The lines that declare the devices of a module."""
    targets = targets_in(module.attributes.get(DEVICES))
    names = [name.split(":") for name in device_names(module)]
    parts = [", ".join([name[1], *map(string_literal, name[2:])]) for name in names]
    items = [f"I.vdevice({_target_text(target)}, {part})" for target, part in zip(targets, parts, strict=True)]
    return [f'I.module_global_infos({{"vdevice": [{", ".join(items)}]}})', ""] if items else []


def _target_text(text: str) -> str:
    """A target as a literal: its kind, or a dictionary with its options."""
    target = Target.from_value(text)
    numbers = {name: int(value) if isinstance(value, bool) else value for name, value in target.options.items()}
    return json.dumps({"kind": target.kind, **numbers} if numbers else target.kind)


MODULE_PRINTERS.append(_device_lines)
FUNCTION_PRINTERS[FuncOp.name] = (function_lines, "R", "# from tvm.script import relax as R")


class _Printer:
    """Prints one function. values: the text of each value.  sizes: the printed name of each size."""

    def __init__(self, style: Style, callees: Callees, reserved: tuple[str, ...], indent: int):
        self.style = style
        self.callees = callees
        self.names = IdentifierScope((*reserved, "R", "metadata"))
        self.module = reserved[0]
        self.lines: list[Line] = []
        self.indent = indent
        self.values: dict[SSAValue, str] = {}
        self.sizes: dict[str, Size] = {}
        self.devices: Devices | None = None

    def emit(self, text: str) -> None:
        self.lines.append(Line(text, self.indent))

    @contextmanager
    def suite(self) -> Generator[None]:
        """Indents the lines printed inside."""
        self.indent += 1
        try:
            yield
        finally:
            self.indent -= 1

    # Functions

    def function(self, op: FuncOp) -> None:
        for name in _size_names(op):
            self.sizes[name] = self.names.define(name)
        self.devices = Devices.of_function(op) if len(device_names(op.parent_op())) > 1 else None
        params = ", ".join(self._param(name, value) for name, value in op.params)
        self.emit(_decorator(op))
        self.emit(f"def {self.callees.name(op.sym_name.data)}({params}) -> {self.type(op.result_type, quoted=True)}:")
        with self.suite():
            attrs = {} if op.func_attrs is None else op.func_attrs.data
            if attrs := {key: value for key, value in attrs.items() if key != PARAM_DEVICES}:
                self.emit(f"R.func_attr({dictionary_literal(attrs, self.style)})")
            for name in self.sizes.values():
                self.emit(f"{name} = T.int64()")
            if self.style.module is not None and any(
                isinstance(each, CallOp | CallTirInplaceOp | CallTirOp | FuncRefOp) for each in op.walk()
            ):
                self.emit(f"{self.style.module} = {self.module}")
            self.block(op.body.block)

    def _param(self, name: str, value: SSAValue) -> str:
        self.values[value] = self.names.define(name)
        return f"{self.values[value]}: {self.typed(value, quoted=True)}"

    def block(self, block: Block) -> None:
        for op in block.ops:
            _print_op(self, op)

    # Values

    def value(self, value: SSAValue) -> str:
        """The text of a use of a value."""
        if value not in self.values:
            inline = _INLINE.get(type(value.owner))  # pyright: ignore[reportArgumentType, reportUnknownMemberType]
            if inline is None:
                raise UnsupportedError(f"TVMScript has no way to write a value of {value.owner}")
            return inline(self, value.owner)
        return self.values[value]

    def tuple(self, values: Sequence[SSAValue]) -> str:
        """The text of a tuple of values."""
        return tuple_text([self.value(value) for value in values])

    def bind(self, result: SSAValue, text: str, *, annotated: bool = False) -> None:
        """Prints the binding of a result to a name."""
        name = self.names.define(result.name_hint or "lv")
        self.values[result] = name
        annotation = f": {self.typed(result)}" if annotated else ""
        self.emit(f"{name}{annotation} = {text}")

    # Types and sizes

    def size(self, size: Size, quoted: bool = False) -> str:
        """The text of a size, in a string if `quoted` and symbolic."""
        if isinstance(size, int):
            return str(size)
        text = str(replace_names(size, self.sizes))
        return string_literal(text) if quoted else _CALL.sub(r"T.\1(", text)

    def shape(self, sizes: Sequence[Size], quoted: bool = False) -> str:
        return f"[{', '.join(self.size(size, quoted) for size in sizes)}]"

    def type(self, type: Attribute, quoted: bool = False) -> str:
        """The text of a type; symbolic sizes are in strings if `quoted`, as in signatures."""
        if is_tensor(type):
            return f"R.Tensor({', '.join(self._tensor_arguments(type, quoted))})"
        match type:
            case TupleType():
                return f"R.Tuple({', '.join(self.type(each, quoted) for each in type.types.data)})"
            case ShapeType():
                sizes, rank = known_shape(type), known_rank(type)
                if sizes is not None:
                    return f"R.Shape({self.shape(sizes, quoted)})"
                return "R.Shape()" if rank is None else f"R.Shape(ndim={rank})"
            case PrimType():
                return f"R.Prim({', '.join(self._prim_arguments(type, quoted))})"
            case CallableType():
                return self._callable(type, quoted)
            case ObjectType():
                return "R.Object"
            case _:
                raise UnsupportedError(f"TVMScript has no way to write the type {type}")

    def typed(self, value: SSAValue, quoted: bool = False) -> str:
        """The text of the type of a value, and of its device if it is not the first one of the module."""
        device = None if self.devices is None else self.devices.of(value)
        text = self.type(value.type, quoted)
        if self.devices is None or device in (None, self.devices.names[0]) or not is_tensor(value.type):
            return text
        return f"{text[:-1]}, vdevice={string_literal(str(device))})".replace("(, ", "(")

    def _tensor_arguments(self, type: Attribute, quoted: bool) -> list[str]:
        sizes, rank, dtype = known_shape(type), known_rank(type), known_dtype(type)
        arguments: list[str] = []
        if sizes is not None:
            arguments.append(tuple_text([self.size(size, quoted) for size in sizes]))
        if dtype is not None:
            arguments.append(f"dtype={string_literal(dtype)}")
        if sizes is None and rank is not None:
            arguments.append(f"ndim={rank}")
        return arguments

    def _prim_arguments(self, type: PrimType, quoted: bool) -> list[str]:
        arguments = [string_literal(dtype_of(type.dtype).name)]
        match type.value:
            case StringAttr() | IntAttr():
                arguments.append(f"value={self.size(type.value.data, quoted)}")
            case NoneAttr():
                pass
            case _:
                arguments.append(f"value={self.attribute(number_of(type))}")
        return arguments

    def _callable(self, type: CallableType, quoted: bool) -> str:
        arguments: list[str] = []
        if not isinstance(type.inputs, NoneAttr):
            inputs = tuple_text([self.type(each, quoted) for each in type.inputs.data])
            arguments = [inputs, self.type(type.result, quoted)]
        pure = "" if isinstance(type.impure, NoneAttr) else "purity=False"
        return f"R.Callable({', '.join([*arguments, *filter(None, [pure])])})"

    def attribute(self, value: Any) -> str:
        """The text of the value of an attribute of an operator."""
        match value:
            case float() if not math.isfinite(value):
                return f'float("{value}")'
            case str():
                return string_literal(value)
            case tuple():
                return f"[{', '.join(map(self.attribute, cast('tuple[Any, ...]', value)))}]"
            case _:
                return repr(value)


_CALL = re.compile(r"\b(min|max)\(")


def tuple_text(items: Sequence[str]) -> str:
    """The text of a tuple of Python."""
    return f"({items[0]},)" if len(items) == 1 else f"({', '.join(items)})"


def _size_names(op: FuncOp) -> list[str]:
    """The names of sizes in a function, in order of appearance."""
    types = [value.type for _, value in op.params]
    types += [result.type for each in op.walk() for result in each.results]
    calls = [each for each in op.walk() if isinstance(each, CallTirOp | CallTirInplaceOp)]
    names = [name for type in (*types, op.result_type) for name in names_in(type)]
    names += [name for call in calls for size in call.size_texts for name in names_in(prim(size))]
    return list(dict.fromkeys(names))


def _decorator(op: FuncOp) -> str:
    arguments = ["private=True"] if op.private is not None else []
    arguments += ["pure=False"] if op.impure is not None else []
    return f"@R.function({', '.join(arguments)})" if arguments else "@R.function"


# Operations

_PRINTERS: dict[type[Operation], Callable[[_Printer, Any], None]] = {}
_INLINE: dict[type[Operation], Callable[[_Printer, Any], str]] = {}
"""The texts of operations without a binding, printed where their results are used."""


def _print_op(printer: _Printer, op: Operation) -> None:
    if isinstance(op, OperatorOp):
        _print_operator(printer, op)
    elif type(op) in _PRINTERS:
        _PRINTERS[type(op)](printer, op)
    elif type(op) not in _INLINE:
        raise UnsupportedError(f"TVMScript has no way to write {op.name} in a function of relax")


def _print_operator(printer: _Printer, op: OperatorOp) -> None:
    word, operands, attributes, is_variadic = spell(op)
    texts = [printer.tuple(operands)] if is_variadic else [printer.value(operand) for operand in operands]
    for name, value in attributes.items():
        is_shape = word == "reshape"
        texts.append(f"R.shape({printer.shape(value)})" if is_shape else f"{name}={printer.attribute(value)}")
    text = f"R.{word}({', '.join(texts)})"
    if len(op.outputs) == 1 and word not in TUPLES:
        printer.bind(op.outputs[0], text, annotated=True)
        return
    users = [use.operation for output in op.outputs[:1] for use in output.uses]
    tuples = [user.output for user in users if isinstance(user, TupleOp) and user.operator is op]
    named = next((each for each in (*tuples, op.outputs[0]) if each.name_hint is not None), op.outputs[0])
    printer.bind(named, text)
    name = printer.values[named]
    printer.values |= dict.fromkeys(tuples, name)
    printer.values |= {output: f"{name}[{n}]" for n, output in enumerate(op.outputs)}


def _print_apply(printer: _Printer, op: ApplyOp) -> None:
    texts: dict[str, list[str]] = {}
    for parameter, arg in zip((each.data for each in op.parameters.data), op.args, strict=True):
        texts.setdefault(parameter, []).append(printer.value(arg))
    arguments: list[str] = []
    for (parameter, items), name in zip(texts.items(), parameters_of(op.word.data), strict=False):
        text = tuple_text(items) if parameter.endswith(MEMBER) else items[0]
        is_next = parameter.removesuffix(MEMBER) == name
        arguments.append(text if is_next else f"{parameter.removesuffix(MEMBER)}={text}")
    arguments += [f"{name}={printer.attribute(value)}" for name, value in op.attribute_values.items()]
    printer.bind(op.output, f"R.{op.word.data}({', '.join(arguments)})", annotated=True)


def _print_constant(printer: _Printer, op: ConstantOp) -> None:
    if op.array_name is not None:
        printer.bind(op.result, f"{METADATA}[{string_literal(op.array_name.data)}]", annotated=True)
    else:
        printer.values[op.result] = _number(printer, op)


def _number(printer: _Printer, op: ConstantOp) -> str:
    dtype = string_literal(dtype_of_tensor(op.result))
    shape = shape_of(op.result)
    type = f"R.Tensor({tuple_text(list(map(str, shape)))}, dtype={dtype})" if shape else dtype
    return f"R.const({printer.attribute(op.number)}, {type})"


def _print_call_tir(printer: _Printer, op: CallTirOp | CallTirInplaceOp) -> None:
    arguments = [printer.callees.path(op.callee.string_value()), printer.tuple(list(op.args))]
    if isinstance(op, CallTirInplaceOp):
        arguments.append(f"inplace_indices={op.positions}")
    arguments.append(f"{printer.style.result_types}={_result_types(printer, op.output.type)}")
    if op.size_texts:
        arguments.append(f"tir_vars=R.shape({printer.shape(op.size_texts)})")
    printer.bind(op.output, f"R.{op.name.partition('.')[2]}({', '.join(arguments)})")


def _print_call_dps_packed(printer: _Printer, op: CallDpsPackedOp) -> None:
    name, args = string_literal(op.func_name.data), printer.tuple(list(op.args))
    types = f"{printer.style.result_types}={_result_types(printer, op.output.type)}"
    printer.bind(op.output, f"R.call_dps_packed({name}, {args}, {types})")


def _result_types(printer: _Printer, type: Attribute) -> str:
    if isinstance(type, TupleType):
        return f"[{', '.join(map(printer.type, type.types.data))}]"
    return printer.type(type)


def _print_packed(word: str) -> Callable[[_Printer, Any], None]:
    def print_call(printer: _Printer, op: CallPackedOp | CallPurePackedOp | CallInplacePackedOp) -> None:
        arguments = [string_literal(op.func_name.data), *map(printer.value, op.args)]
        if isinstance(op, CallInplacePackedOp):
            arguments.append(f"inplace_indices={op.positions}")
        arguments.append(f"{printer.style.type_args}=({printer.type(op.output.type)},)")
        printer.bind(op.output, f"R.{word}({', '.join(arguments)})")

    return print_call


def _print_call(printer: _Printer, op: CallOp) -> None:
    arguments = ", ".join(map(printer.value, op.args))
    printer.bind(op.output, f"{printer.callees.path(op.callee.string_value())}({arguments})", annotated=True)


def _print_alloc_tensor(printer: _Printer, op: AllocTensorOp) -> None:
    shape, dtype = printer.shape(shape_of(op.output)), string_literal(dtype_of_tensor(op.output))
    printer.bind(
        op.output, f"R.builtin.alloc_tensor(R.shape({shape}), R.dtype({dtype}), R.prim_value(0))", annotated=True
    )


def _print_placement(printer: _Printer, op: ToVdeviceOp | HintOnDeviceOp) -> None:
    word, device = op.name.partition(".")[2], string_literal(op.device.data)
    printer.bind(op.output, f"R.{word}({printer.value(op.value)}, {device})", annotated=isinstance(op, ToVdeviceOp))


def _print_tuple(printer: _Printer, op: TupleOp) -> None:
    if op.output in printer.values:
        return  # the results of one operator
    if [type(use.operation) for use in op.output.uses] == [ReturnOp]:
        printer.values[op.output] = printer.tuple(list(op.values))
        return
    printer.bind(op.output, printer.tuple(list(op.values)))


def _print_tuple_get(printer: _Printer, op: TupleGetOp) -> None:
    printer.bind(op.output, f"{printer.value(op.value)}[{op.index.value.data}]", annotated=True)


def _print_match_cast(printer: _Printer, op: MatchCastOp) -> None:
    printer.bind(op.output, f"R.match_cast({printer.value(op.value)}, {printer.type(op.output.type)})")


def _print_dataflow(printer: _Printer, op: DataflowOp) -> None:
    last = op.body.block.last_op
    assert isinstance(last, OutputOp)
    printer.emit("with R.dataflow():")
    with printer.suite():
        printer.block(op.body.block)
        names = [_own_name(printer, output, value) for output, value in zip(op.outputs, last.values, strict=True)]
        if names:
            printer.emit(f"R.output({', '.join(dict.fromkeys(names))})")
        elif len(op.body.block.ops) == 1:
            printer.emit("pass")
    printer.values |= dict(zip(op.outputs, names, strict=True))


def _own_name(printer: _Printer, output: SSAValue, value: SSAValue) -> str:
    """The name of an output of a dataflow region; prints a binding for a value without a name of the region."""
    text = printer.value(value)
    owner = value.owner
    is_inside = isinstance(owner, Operation) and owner.parent_op() is output.owner
    if is_inside and text.isidentifier():
        return text
    name = printer.names.define(output.name_hint or "gv")
    printer.emit(f"{name} = {text}")
    return name


def _print_if(printer: _Printer, op: IfOp) -> None:
    name = printer.names.define(op.output.name_hint or "y")
    for head, region in ((f"if {printer.value(op.condition)}:", op.then), ("else:", op.orelse)):
        printer.emit(head)
        with printer.suite():
            printer.block(region.block)
            last = region.block.last_op
            assert isinstance(last, YieldOp)
            printer.emit(f"{name} = {printer.value(last.value)}")
    printer.values[op.output] = name


def _print_return(printer: _Printer, op: ReturnOp) -> None:
    printer.emit(f"return {printer.value(op.value)}")


def _print_nothing(printer: _Printer, op: Operation) -> None:
    """The statement that contains a terminator prints its values."""


def _print_shape_of(printer: _Printer, op: ShapeOfOp) -> None:
    printer.bind(op.output, f"R.shape_of({printer.value(op.value)})", annotated=True)


def _shape_text(printer: _Printer, op: ShapeOp) -> str:
    return f"R.shape({printer.shape(known_shape(op.output.type) or ())})"


def _prim_text(printer: _Printer, op: PrimValueOp) -> str:
    type = op.output.type
    value = number_of(type)
    text = printer.attribute(value) if isinstance(value, float) else printer.size(cast(Size, value))
    dtype = dtype_of(type.dtype).name
    default = "float32" if isinstance(value, float) else "int64"
    return f"R.prim_value({text})" if dtype == default else f"R.prim_value({text}, {string_literal(dtype)})"


_PRINTERS.update(
    {
        AllocTensorOp: _print_alloc_tensor,
        ApplyOp: _print_apply,
        CallDpsPackedOp: _print_call_dps_packed,
        CallInplacePackedOp: _print_packed("call_inplace_packed"),
        CallOp: _print_call,
        CallPackedOp: _print_packed("call_packed"),
        CallPurePackedOp: _print_packed("call_pure_packed"),
        CallTirInplaceOp: _print_call_tir,
        CallTirOp: _print_call_tir,
        ConstantOp: _print_constant,
        DataflowOp: _print_dataflow,
        HintOnDeviceOp: _print_placement,
        IfOp: _print_if,
        MatchCastOp: _print_match_cast,
        OutputOp: _print_nothing,
        ReturnOp: _print_return,
        ShapeOfOp: _print_shape_of,
        ToVdeviceOp: _print_placement,
        TupleGetOp: _print_tuple_get,
        TupleOp: _print_tuple,
        YieldOp: _print_nothing,
    }
)
_INLINE.update(
    {
        FuncRefOp: lambda printer, op: printer.callees.path(op.callee.string_value()),
        PrimValueOp: _prim_text,
        ShapeOp: _shape_text,
        StringOp: lambda _, op: f"R.str({string_literal(op.text.data)})",
    }
)

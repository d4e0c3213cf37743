"""Printing of functions and modules."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping

from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    DictionaryAttr,
    MemRefType,
    ModuleOp,
    NoneAttr,
    StridedLayoutAttr,
    StringAttr,
)
from xdsl.ir import Attribute, Operation, SSAValue

from ...core.errors import UnsupportedError
from ...core.walking import find_ops
from ..attributes import MODULE_ATTRS
from ..tir import AllocBufferOp, BlockOp, FuncOp, MatchBufferOp, SymbolOp, rename_parameters
from ..tir.tree import is_expression_op
from .expressions import ExpressionPrinter
from .folding import tvmscript_unsupported_error
from .lines import Line, Printed
from .literals import attribute_literal, dictionary_literal, dtype_literal, type_text
from .names import Callees, IdentifierScope, legal_name
from .placement import values_to_name
from .statements import StatementPrinter
from .styles import Style, style_named

MODULE_NAME = "Module"


def print_tvmscript(op: ModuleOp, style: str = "classic") -> str:
    """The TVMScript of a module of functions of `tir` and `relax`, without a line end after the last line.

    style: `classic` (TVM v0.12-0.23) or `0.27`; `OptionError`, a ValueError, for another style. Raises
    `UnsupportedError` for ops of other landings, which have no form in TVMScript.
    """
    chosen = style_named(style)
    name = legal_name(op.sym_name.data) if op.sym_name is not None else MODULE_NAME
    printers = [_printer_of(function) for function in op.body.block.ops]
    others = {vocabulary: header for _, vocabulary, header in printers if vocabulary}
    lines = [*chosen.header, *others.values(), "", "@I.ir_module", f"class {name}:"]
    callees = Callees(chosen.module or name, map(_symbol_of, op.body.block.ops))
    reserved = (name, *others)
    if isinstance(attrs := op.attributes.get(MODULE_ATTRS), DictionaryAttr):
        lines += [f"    I.module_attrs({dictionary_literal(attrs.data, chosen)})", ""]
    lines += [f"    {line}".rstrip() for printer in MODULE_PRINTERS for line in printer(op)]
    for i, (function, (print_lines, *_)) in enumerate(zip(op.body.block.ops, printers, strict=True)):
        lines += ([""] if i else []) + [str(line) for line in print_lines(function, chosen, callees, reserved, 1)]
    if not op.body.block.ops:
        lines.append("    pass")
    return "\n".join(lines)


FunctionPrinter = Callable[..., "list[Line]"]
"""Prints a function: takes the first five arguments of `function_lines`."""

MODULE_PRINTERS: list[Callable[[ModuleOp], list[str]]] = []
"""The printers of attributes of a module, as lines before its functions. Each dialect adds its own."""

FUNCTION_PRINTERS: dict[str, tuple[FunctionPrinter, str, str]] = {}
"""The printers of functions of other dialects, by the names of their ops: the printer, the name of its vocabulary, and
the line of the header that imports the vocabulary. Each dialect adds its own."""


def _printer_of(function: Operation) -> tuple[FunctionPrinter, str, str]:
    if isinstance(function, FuncOp):
        return function_lines, "", ""
    if function.name not in FUNCTION_PRINTERS:
        raise tvmscript_unsupported_error(function)
    return FUNCTION_PRINTERS[function.name]


def _symbol_of(function: Operation) -> str:
    symbol = function.properties.get("sym_name")
    assert isinstance(symbol, StringAttr)
    return symbol.data


def print_function(op: FuncOp, style: str = "classic") -> str:
    """The TVMScript of a function, which can be parsed on its own; otherwise as `print_tvmscript`."""
    chosen = style_named(style)
    lines = function_lines(op, chosen, Callees(chosen.module or MODULE_NAME), (MODULE_NAME,))
    return "\n".join([*chosen.header[1:], "", *map(str, lines)])


def expression_text(value: SSAValue, style: str = "classic", names: Mapping[SSAValue, str] | None = None) -> str:
    """The text of the expression that computes `value`, with the names of the program, for messages.

    names: the names of values that the program does not name. Never fails: an op without a form in TVMScript is printed
    as its name.
    """
    expressions = ExpressionPrinter(style_named(style), IdentifierScope(), Callees(MODULE_NAME), lambda _: None)
    for named, name in (names or {}).items():
        expressions.bind(named, name)
    try:
        return expressions[value].text
    except UnsupportedError:
        return f"<{value.owner.name}>" if isinstance(value.owner, Operation) else "_"


def attribute_text(attr: Attribute, style: str = "classic") -> str:
    """The TVMScript of an annotation value; `UnsupportedError` for an attribute without a form in TVMScript."""
    return attribute_literal(attr, style_named(style))


def function_lines(
    op: FuncOp,
    style: Style,
    callees: Callees,
    reserved: tuple[str, ...],
    indent: int = 0,
    separate: Collection[Printed] = (),
) -> list[Line]:
    """The lines of a function, indented by `indent` levels.

    callees: the names of the functions of the module.  reserved: names that the function must not use.  separate: as in
    `StatementPrinter`.
    """
    printer = StatementPrinter(style, IdentifierScope(reserved), callees, indent, separate)
    name = callees.name(op.sym_name.data)
    attrs = dict(op.func_attrs.data) if op.func_attrs is not None else {}
    if name != op.sym_name.data and op.private is None:
        attrs.setdefault("global_symbol", op.sym_name)
    params = ", ".join(_param(printer, name, value) for name, value in op.params)
    result = "" if op.result_type is None else f" -> {type_text(op.result_type, style)}"
    printer.emit(_decorator(op, style))
    printer.emit(f"def {name}({params}){result}:", op)
    with printer.suite():
        if attrs:
            names = {name: printer.text(value) for name, value in op.params}
            attrs = {key: rename_parameters(value, names) for key, value in attrs.items()}
            printer.emit(f"T.func_attr({dictionary_literal(attrs, style)})")
        _body(op, printer, style)
    return printer.lines


def _decorator(op: FuncOp, style: Style) -> str:
    arguments: list[str] = []
    if op.private is not None:
        arguments.append("private=True")
    if style.has_s_tir and any(find_ops(op, BlockOp, AllocBufferOp)):
        arguments.append("s_tir=True")
    return f"@T.prim_func({', '.join(arguments)})" if arguments else "@T.prim_func"


def _param(printer: StatementPrinter, name: str, value: SSAValue) -> str:
    if any(isinstance(op := use.operation, MatchBufferOp) and op.buffer_name.data == name for use in value.uses):
        name = f"var_{name}"  # the buffer keeps its name
    name = printer.expressions.define(value, name)
    if not isinstance(value.type, MemRefType):
        return f"{name}: {type_text(value.type, printer.style)}"
    return f"{name}: T.Buffer({', '.join(_buffer_type(printer, name, value.type))})"


def _buffer_type(printer: StatementPrinter, name: str, type: MemRefType[Attribute]) -> list[str]:
    strides, offset = None, 0
    if isinstance(layout := type.layout, StridedLayoutAttr):
        strides = [_require_static(name, None if isinstance(s, NoneAttr) else s.data) for s in layout.strides]
        offset = _require_static(name, None if isinstance(layout.offset, NoneAttr) else layout.offset.data)
    shape = [_require_static(name, None if d == DYNAMIC_INDEX else d) for d in type.get_shape()]
    arguments = [printer.expressions.sequence(shape), dtype_literal(type.element_type)]
    return arguments + printer.layout_arguments(type, strides, offset)


def _require_static(name: str, value: int | None) -> int:
    if value is None:
        raise UnsupportedError(f"parameter {name}: a size that nothing names, expected a handle and tir.match_buffer")
    return value


def _body(op: FuncOp, printer: StatementPrinter, style: Style) -> None:
    """Prints the statements; a comment after the parameter declarations represents an implicit root block."""
    ops, named = list(op.body.block.ops), values_to_name(op.body.block)
    signature = max((i + 1 for i, o in enumerate(ops) if isinstance(o, SymbolOp | MatchBufferOp)), default=0)
    printer.ops(ops[:signature], named)
    if _has_implicit_root(op):
        printer.emit(f'# with T.{style.block}("root"):')
    printer.ops(ops[signature:], named)


def _has_implicit_root(op: FuncOp) -> bool:
    """Whether the parser wraps the statements of the function in a root block."""
    statements = [
        o for o in op.body.block.ops if not is_expression_op(o) and not isinstance(o, SymbolOp | MatchBufferOp)
    ]
    match statements:
        case [BlockOp() as block]:
            return bool(block.axes)
        case _:
            return any(isinstance(o, AllocBufferOp) for o in statements) or any(
                isinstance(o, BlockOp) for s in statements for o in s.walk()
            )

"""Relay's text of expressions and modules, as TVM prints it: `%0 = nn.dense(%x, %w, units=10); nn.relu(%0)`.

Constants of rank above 0 are `meta[relay.Constant][n]`; the arrays follow the text under `#[metadata]`, as JSON.
"""

from __future__ import annotations

import base64
import inspect
import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np

from ...core.errors import OptionError
from ...operators import Operator
from .adt import Constructor, DynamicCall, Match, Pattern, PatternConstructor, PatternTuple, PatternVar, expressions_in
from .analysis import free_vars
from .expr import (
    VIRTUAL_DEVICE,
    Call,
    Constant,
    Expr,
    Function,
    FunctionCall,
    GlobalVar,
    If,
    Let,
    Number,
    RefCreate,
    RefRead,
    RefWrite,
    Tuple,
    TupleGetItem,
    TupleWrapper,
    Var,
)
from .types import TensorType, TupleType, Type, TypeData

VERSION = '#[version = "0.0.5"]'
METADATA = "#[metadata]"
SUFFIXES = {
    "int32": "",
    "int64": "i64",
    "int16": "i16",
    "int8": "i8",
    "uint8": "u8",
    "uint16": "u16",
    "uint32": "u32",
    "uint64": "u64",
    "float16": "f16",
    "float32": "f",
    "float64": "f64",
}
"""The suffixes of numbers by data type."""


def print_expr(expr: Expr, show_meta_data: bool = True) -> str:
    """The text of an expression; its free variables are declared first. show_meta_data: whether arrays follow."""
    printer = _Printer()
    lines = [f"free_var {printer.declared(each)};" for each in ([] if isinstance(expr, Function) else free_vars(expr))]
    return "\n".join([VERSION, *lines, *printer.scope(expr), *printer.metadata(show_meta_data)])


def print_module(functions: Mapping[str, Function], show_meta_data: bool = True, types: Sequence[TypeData] = ()) -> str:
    """The text of the functions of a module. show_meta_data: whether arrays follow.  types: its data types."""
    printer = _Printer()
    lines: list[str] = [line for each in types for line in print_type_data(each)]
    for name, func in functions.items():
        lines += ["", *printer.function(func, f"def @{name}")] if lines else printer.function(func, f"def @{name}")
    return "\n".join([VERSION, *lines, *printer.metadata(show_meta_data), ""])


def print_type_data(data: TypeData) -> list[str]:
    """The lines of the definition of a data type."""
    variables = f"[{', '.join(map(str, data.type_vars))}]" if data.type_vars else ""
    if not data.constructors:
        return [f"type {data.header}{variables} {{ }}"]
    fields = [f"({', '.join(map(print_type, each.inputs))})" if each.inputs else "" for each in data.constructors]
    constructors = [f"  {each.name_hint}{text}," for each, text in zip(data.constructors, fields, strict=True)]
    return [f"type {data.header}{variables} {{", *constructors, "}"]


def canonical_form(expr: Expr, map_free_vars: bool) -> list[str]:
    """The lines of a text that is equal for expressions that are equal up to the names of bound variables.

    map_free_vars: whether free variables may correspond to others; else they are compared by identity.
    """
    printer = _Canonical(map_free_vars)
    return [*printer.scope(expr), *printer.metadata(show=True)]


def print_type(type: Type | None) -> str:
    """The text of a type: `Tensor[(2, 3), float32]`, and `float32` for a tensor of rank 0."""
    match type:
        case None:
            return "_"
        case TensorType():
            return re.sub(r"\bany\d+\b", "?", str(type))
        case TupleType():
            fields = ", ".join(map(print_type, type.fields))
            return f"({fields},)" if len(type.fields) == 1 else f"({fields})"
        case _:
            return str(type)


def _is_inline(expr: Expr) -> bool:
    return isinstance(expr, Var | GlobalVar | Constant | Number | TupleGetItem | Operator | Constructor) or (
        isinstance(expr, Tuple) and not expr.fields
    )


class _Printer:
    """Prints expressions; each that is no leaf is a line `%n = ...;` of its scope, except the last."""

    shows_types = True

    def __init__(self) -> None:
        self.texts: dict[Any, str] = {}
        self.taken: Counter[str] = Counter()
        self.arrays: list[np.ndarray[Any, Any]] = []
        self.count = 0

    # Scopes

    def scope(self, expr: Expr) -> list[str]:
        """The lines of the bindings that an expression needs, and those of the expression."""
        lines: list[str] = []
        outside = self.texts
        self.texts = dict(outside)
        while isinstance(expr, Let):
            if expr in self.texts:
                break
            if isinstance(expr.value, Function):
                self.texts[expr.var] = self.name(expr.var)
            self._bind_operands(expr.value, lines)
            value = self._whole(expr.value)
            self.texts[expr.var] = self.texts.get(expr.var) or self.name(expr.var)
            annotation = "" if expr.var.type_annotation is None else f": {print_type(expr.var.type_annotation)}"
            lines += _lines(f"let {self.texts[expr.var]}{annotation} = ", value, ";")
            expr = expr.body
        self._bind_operands(expr, lines)
        lines += self._whole(expr)
        self.texts = outside
        return lines

    def _bind_operands(self, root: Expr, lines: list[str]) -> None:
        """Binds the subexpressions of an expression, in the order of computation."""
        todo: list[tuple[Expr, bool]] = [(each, False) for each in reversed(_operands(root))]
        while todo:
            expr, is_ready = todo.pop()
            if expr in self.texts:
                continue
            if not is_ready:
                todo += [(expr, True), *((each, False) for each in reversed(_operands(expr)))]
                continue
            whole = self._whole(expr)
            if _is_inline(expr):
                self.texts[expr] = whole[0]
                continue
            self.texts[expr] = f"%{self.count}"
            self.count += 1
            lines += _lines(f"{self.texts[expr]} = ", whole, ";")

    def _whole(self, expr: Any) -> list[str]:
        """The lines of an expression whose operands are bound."""
        if expr in self.texts:
            return [self.texts[expr]]
        match expr:
            case Var():
                self.texts[expr] = self.name(expr)
                return [self.texts[expr]]
            case GlobalVar():
                return [f"@{expr.name_hint}"]
            case Constant():
                return [self.constant(expr.array)]
            case Number():
                return [self.constant(np.asarray(expr.value, "float32" if isinstance(expr.value, float) else None))]
            case Operator():
                return [expr.name]
            case Constructor():
                return [expr.name_hint]
            case Match():
                keyword = "match" if expr.complete else "match?"
                return [f"{keyword} ({self.texts[expr.data]}) {{", *self.clauses(expr), "}"]
            case RefCreate():
                return [f"ref({self.texts[expr.value]})"]
            case RefRead():
                return [f"ref_read({self.texts[expr.ref]})"]
            case RefWrite():
                return [f"ref_write({self.texts[expr.ref]}, {self.texts[expr.value]})"]
            case DynamicCall():
                return [self.dynamic_call(expr)]
            case Call():
                return [self.call(expr) + self.type_comment(expr)]
            case Tuple():
                fields = ", ".join(self.texts[each] for each in expr.fields)
                return [(f"({fields},)" if len(expr.fields) == 1 else f"({fields})") + self.type_comment(expr)]
            case TupleGetItem():
                return [f"{self.texts[_operand(expr.tuple_value)]}.{expr.index}{self.type_comment(expr)}"]
            case TupleWrapper():
                return [self.texts[expr.tuple_value]]
            case If():
                head = f"if ({self.texts[expr.cond]}) {{"
                branches = [_indented(self.scope(each)) for each in (expr.true_branch, expr.false_branch)]
                return [head, *branches[0], "} else {", *branches[1], "}"]
            case Function():
                return self.function(expr, "fn ")
            case Let():
                return ["(", *_indented(self.scope(expr)), ")"]
            case _:
                raise OptionError(f"{expr!r} has no text in Relay")

    def function(self, func: Function, head: str) -> list[str]:
        """The lines of a function after `head`: `def @main` or `fn `."""
        outside, self.texts = self.texts, dict(self.texts)
        params = ", ".join([*map(self.declared, func.params), *self.attributes(func)])
        result = func.ret_type
        arrow = f" -> {print_type(result)}" if result is not None and self.shows_types else ""
        outer, self.count = self.count, 0 if head.startswith("def") else self.count
        variables = f"[{', '.join(map(str, func.type_params))}]" if func.type_params else ""
        lines = [
            f"{head.rstrip() if variables else head}{variables}({params}){arrow} {{",
            *_indented(self.scope(func.body)),
            "}",
        ]
        self.texts, self.count = outside, outer if head.startswith("def") else self.count
        return lines

    def clauses(self, match: Match) -> list[str]:
        """The lines of the clauses of a match."""
        lines: list[str] = []
        for clause in match.clauses:
            outside, self.texts = self.texts, dict(self.texts)
            pattern = self.pattern(clause.lhs)
            lines += [f"{pattern} => {{", *_indented(self.scope(clause.rhs)), "},"]
            self.texts = outside
        return _indented(lines)

    def pattern(self, pattern: Pattern) -> str:
        """A pattern, whose variables are declared."""
        parts = [self.pattern(part) for part in pattern.parts]
        match pattern:
            case PatternVar():
                return self.declared(pattern.var)
            case PatternConstructor():
                fields = f"({', '.join(parts)})" if parts else ""
                return f"{pattern.constructor.name_hint}{fields}"
            case PatternTuple():
                return f"({', '.join(parts)})"
            case _:
                return "_"

    def dynamic_call(self, expr: DynamicCall) -> str:
        """A call of an operator with expressions as attributes."""
        arguments = [f"{name}={self.argument(value)}" for name, value in expr.arguments.items()]
        return f"dyn.{expr.op_name}({', '.join(arguments)})"

    def argument(self, value: Any) -> str:
        """An argument of a call with expressions as attributes."""
        if isinstance(value, Expr):
            return self.texts[_operand(value)]
        return f"[{', '.join(map(self.argument, value))}]" if expressions_in(value) else self.value(value)

    # Parts

    def attributes(self, func: Function) -> list[str]:
        """The attributes of a function, among its parameters."""
        return [f"{name}={self.value(value)}" for name, value in func.attrs.items()]

    def declared(self, variable: Var) -> str:
        """A variable with its type."""
        self.texts[variable] = self.name(variable)
        annotation = "" if variable.type_annotation is None else f": {print_type(variable.type_annotation)}"
        device = (
            "" if variable.virtual_device is None else f" {{{VIRTUAL_DEVICE}={self.value(variable.virtual_device)}}}"
        )
        return f"{self.texts[variable]}{device}{annotation}"

    def name(self, variable: Var) -> str:
        """A new name for a variable."""
        hint = re.sub(r"[^\w.]", "_", variable.name_hint) or "v"
        hint = f"v{hint}" if hint[0].isdigit() else hint
        number = self.taken[hint]
        self.taken[hint] += 1
        return f"%{hint}{number or ''}"

    def call(self, expr: Call) -> str:
        """A call with its operands and attributes."""
        if isinstance(expr, FunctionCall):
            return f"{self.texts[expr.op]}({', '.join(self.texts[each] for each in expr.args)})"
        operands = [self.texts[_operand(each)] for each in expr.args]
        if expr.op.variadic:
            operands = [f"({', '.join(operands)}{',' if len(operands) == 1 else ''})"]
        defaults = defaults_in_relay(expr.op)
        texts = {name: self.value(value) for name, value in shown_attributes(expr)}
        attributes = [f"{name}={text}" for name, text in texts.items() if text != self.value(defaults[name])]
        return f"{expr.op.name}({', '.join(operands + attributes)})"

    def value(self, value: Any) -> str:
        """The text of the value of an attribute."""
        return _value(value)

    def type_comment(self, expr: Expr) -> str:
        """The type of an expression as a comment."""
        if not self.shows_types or expr.known_type is None:
            return ""
        return f" /* ty={print_type(expr.known_type)} */"

    def constant(self, data: np.ndarray[Any, Any]) -> str:
        """A number, or a reference to an array of the metadata."""
        if data.ndim == 0:
            dtype, value = data.dtype.name, data.item()
            if dtype == "bool":
                return str(value)
            if dtype in SUFFIXES and np.isfinite(value):
                return f"{_number(value, dtype)}{SUFFIXES[dtype]}{self.number_comment(dtype)}"
        self.arrays.append(data)
        return f"meta[relay.Constant][{len(self.arrays) - 1}]"

    def number_comment(self, dtype: str) -> str:
        """The type of a number as a comment."""
        return ""

    def metadata(self, show: bool) -> list[str]:
        """The lines of the arrays."""
        if not self.arrays or not show:
            return []
        return ["", METADATA, json.dumps({"relay.Constant": [_encoded(each) for each in self.arrays]})]


class _Canonical(_Printer):
    """Prints equal texts for expressions that are equal up to the names of bound variables."""

    shows_types = False

    def __init__(self, map_free_vars: bool):
        super().__init__()
        self.map_free_vars = map_free_vars
        self.names: dict[Var, str] = {}
        self.is_free = True

    def name(self, variable: Var) -> str:
        if variable not in self.names:
            number = f"v{len(self.names)}"
            free = f"{number}: {print_type(variable.type_annotation)}" if self.map_free_vars else f"free{id(variable)}"
            self.names[variable] = f"%{free if self.is_free else number}"
        return self.names[variable]

    def declared(self, variable: Var) -> str:
        self.is_free = False
        text = super().declared(variable)
        self.is_free = True
        return text

    def attributes(self, func: Function) -> list[str]:
        return [f"{name}={self.value(func.attrs[name])}" for name in sorted(func.attrs) if name != VIRTUAL_DEVICE]

    def value(self, value: Any) -> str:
        """The text of the value of an attribute; numbers with the same float32 are equal."""
        return _value(float(str(np.float32(value)))) if isinstance(value, float) else _value(value)

    def scope(self, expr: Expr) -> list[str]:
        inner = expr
        while isinstance(inner, Let):
            self.is_free = False
            self.name(inner.var)
            self.is_free = True
            inner = inner.body
        return super().scope(expr)

    def metadata(self, show: bool) -> list[str]:
        return [f"{each.dtype} {each.shape} {each.tobytes().hex()}" for each in self.arrays]


def shown_attributes(expr: Call) -> list[tuple[str, Any]]:
    """The attributes of a call of an operator that differ from the defaults of its function in Relay."""
    defaults = defaults_in_relay(expr.op)
    values = {each.name: expr.attrs.get(each.name, each.default) for each in expr.op.attributes}
    return [(name, value) for name, value in values.items() if value is not None and value != defaults[name]]


@cache
def defaults_in_relay(operator: Operator) -> dict[str, Any]:
    """The defaults of the attributes of an operator in its function in Relay, or those of the operator."""
    function = function_of(operator.name)
    own = {} if function is None else dict(inspect.signature(function).parameters)
    return {each.name: own[each.name].default if each.name in own else each.default for each in operator.attributes}


def function_of(name: str) -> Any:
    """The function in Relay that builds calls of an operator, or None."""
    # lazy: the functions are written in terms of the classes of expressions
    from . import op, qnn

    roots: dict[str, Any] = {"qnn": qnn}
    head, _, rest = name.partition(".")
    found: Any = roots.get(head, getattr(op, head, None))
    for part in filter(None, rest.split(".")):
        found = getattr(found, part, None)
    return found if callable(found) else None


def _operands(expr: Any) -> Sequence[Any]:
    """The subexpressions of an expression that are bound in its own scope."""
    match expr:
        case If():
            return [expr.cond]
        case Match():
            return [_operand(expr.data)]
        case Function() | Let() | Var() | Constant() | Operator() | Constructor():
            return []
        case Call() | Tuple() | TupleGetItem() | TupleWrapper() | DynamicCall() | RefCreate() | RefRead() | RefWrite():
            return [_operand(each) for each in expr.children]
        case _:
            return []


def _operand(expr: Expr) -> Expr:
    return expr.tuple_value if isinstance(expr, TupleWrapper) else expr


def _lines(head: str, lines: Sequence[str], tail: str) -> list[str]:
    """Lines with a text before the first and one after the last."""
    result = [*lines]
    result[0] = head + result[0]
    result[-1] += tail
    return result


def _indented(lines: Sequence[str]) -> list[str]:
    return [f"  {line}" for line in lines]


def _number(value: float, dtype: str) -> str:
    if "float" not in dtype:
        return str(value)
    text = repr(float(np.dtype(dtype).type(value))) if dtype == "float64" else str(np.dtype(dtype).type(value))
    return text.removesuffix(".0")


def _value(value: Any) -> str:
    """The text of the value of an attribute."""
    match value:
        case str():
            return json.dumps(value)
        case bool() | None:
            return str(value)
        case list() | tuple():
            return f"[{', '.join(map(_value, value))}]"  # pyright: ignore[reportUnknownArgumentType]
        case float() | np.floating():
            return f"{float(value)!r}f".replace(".0f", "f")
        case _:
            return str(value)


def _encoded(data: np.ndarray[Any, Any]) -> dict[str, Any]:
    return {"dtype": data.dtype.name, "shape": list(data.shape), "data": base64.b64encode(data.tobytes()).decode()}

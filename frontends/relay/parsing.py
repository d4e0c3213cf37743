"""Relay's text read as expressions and modules: the inverse of `text.py`."""

from __future__ import annotations

import base64
import inspect
import json
import re
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from importlib.resources import files
from types import MappingProxyType
from typing import Any, cast

import numpy as np
from lark import Lark, Token, Tree
from lark.exceptions import UnexpectedInput

from ...core.diagnostics import did_you_mean
from ...core.dtypes import numpy_dtype
from ...core.errors import StepwellError
from ...expressions.errors import TeError
from ...operators import OPERATORS, operator_of
from .adt import Clause, Constructor, Match, Pattern, PatternConstructor, PatternTuple, PatternVar, PatternWildcard
from .annotation import MARKS
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
    RefCreate,
    RefRead,
    RefWrite,
    Tuple,
    TupleGetItem,
    Var,
    as_expr,
    call,
    flat_operands,
)
from .host import HOST_OPERATORS
from .text import METADATA, SUFFIXES, function_of
from .types import Any_, FuncType, GlobalTypeVar, RefType, TensorType, TupleType, Type, TypeCall, TypeData, TypeVar

Node = Tree[Token]
_BINARY = {
    "<": "less",
    "<=": "less_equal",
    ">": "greater",
    ">=": "greater_equal",
    "==": "equal",
    "!=": "not_equal",
    "+": "add",
    "-": "subtract",
    "*": "multiply",
    "/": "divide",
}


class RelayTextError(StepwellError):
    """An error in Relay's text, with its line."""


def parse_expr(text: str) -> Any:
    """The expression of a text; an `Operator` for the name of one. RelayTextError."""
    tree, metadata = _tree(text)
    if tree.data == "module":
        raise RelayTextError("line 1: a module, expected an expression")
    return _Builder(metadata).block(tree)


def parse_functions(text: str, metadata: Mapping[str, Sequence[Any]] = MappingProxyType({})) -> dict[str, Function]:
    """The functions of a module by name; an expression is the function `main`. metadata: see `parse_program`.
    RelayTextError."""
    tree, own = _tree(text)
    builder = _Builder({**metadata, **own})
    if tree.data == "module":
        return builder.module(tree)
    expr = builder.block(tree)
    return {"main": expr if isinstance(expr, Function) else Function(list(builder.free), expr)}


def is_program(text: str) -> bool:
    """Whether a text defines functions or data types by name."""
    body = text.partition(METADATA)[0]
    return re.search(r"\bdef\s*@|^\s*(extern\s+)?type\s+[A-Za-z_]", body, re.MULTILINE) is not None


def parse_program(
    text: str, types: Mapping[GlobalTypeVar, TypeData], metadata: Mapping[str, Sequence[Any]] = MappingProxyType({})
) -> tuple[dict[str, Function], list[TypeData]]:
    """The functions of a module by name, and its data types. types: those that are known before.  metadata: objects by
    kind, which `meta[kind][n]` names beside those of the text.  RelayTextError."""
    tree, own = _tree(text)
    if tree.data != "module":
        return parse_functions(text, metadata), []
    builder = _Builder({**metadata, **own}, types)
    functions = builder.module(tree)
    return functions, [builder.data[name] for name in builder.data if name not in {each.name_hint for each in types}]


def _tree(text: str) -> tuple[Node, Mapping[str, Any]]:
    body, _, data = text.partition(METADATA)
    try:
        tree = _lark().parse(_without_comments(body))
        metadata = json.loads(data) if data.strip() else {}
    except UnexpectedInput as error:
        line = text.splitlines()[error.line - 1] if 0 < error.line <= len(text.splitlines()) else "the end"
        raise RelayTextError(f"line {error.line}: unexpected text in {line.strip()!r}") from None
    except json.JSONDecodeError as error:
        raise RelayTextError(f"metadata: {error}") from None
    return _subtrees(tree)[-1] if _subtrees(tree) else tree, metadata


@cache
def _lark() -> Lark:
    grammar = files(cast(str, __package__)).joinpath("relay.lark").read_text(encoding="utf-8")
    return Lark(grammar, parser="lalr", maybe_placeholders=False, propagate_positions=True)


def _without_comments(text: str) -> str:
    """A text with spaces in place of comments: `// line`, and `/* block */`, which nest. RelayTextError."""
    result: list[str] = []
    depth, n = 0, 0
    while n < len(text):
        pair = text[n : n + 2]
        if depth == 0 and text[n] == '"':
            end = n + 1
            while end < len(text) and text[end] != '"':
                end += 2 if text[end] == "\\" else 1
            result.append(text[n : end + 1])
            n = end + 1
        elif pair == "/*" or (pair == "*/" and depth):
            depth += 1 if pair == "/*" else -1
            n += 2
        elif depth == 0 and pair == "//":
            n = (text + "\n").index("\n", n)
        else:
            result.append(text[n] if depth == 0 or text[n] == "\n" else " ")
            n += 1
    if depth:
        raise RelayTextError("a comment without end")
    return "".join(result)


class _Builder:
    """Builds expressions of syntax trees. metadata: the arrays of constants."""

    def __init__(self, metadata: Mapping[str, Any], types: Mapping[GlobalTypeVar, TypeData] = MappingProxyType({})):
        self.metadata = metadata
        self.headers: dict[str, GlobalTypeVar] = {each.name_hint: each for each in types}
        self.data = {each.name_hint: data for each, data in types.items()}
        self.type_vars: dict[str, TypeVar] = {}
        self.locals: dict[str, Var] = {}
        self.temps: dict[str, Any] = {}
        self.free: dict[Var, None] = {}

    @property
    def constructors(self) -> dict[str, Constructor]:
        """The constructors of the data types by name."""
        return {each.name_hint: each for data in self.data.values() for each in data.constructors}

    def module(self, tree: Node) -> dict[str, Function]:
        """The functions of a module by name; its data types are in `data`. RelayTextError for a repeated name."""
        definitions = [each for each in _subtrees(tree) if each.data in ("typedef", "extern")]
        for each in definitions:
            name = str(each.children[0])
            if name in self.headers:
                raise RelayTextError(f"line {each.meta.line}: type {name} is defined twice")
            self.headers[name] = GlobalTypeVar(name)
        for each in definitions:
            self._define(each)
        functions: dict[str, Function] = {}
        for each in _subtrees(tree):
            if each.data == "def":
                name = _name(each.children[0])
                if name in functions:
                    raise RelayTextError(f"line {each.meta.line}: function @{name} is defined twice")
                functions[name] = self.function(each.children[1:])
        return functions

    def _define(self, node: Node) -> None:
        name, parts = str(node.children[0]), _subtrees(node)
        outside, variables = self.type_vars, self._type_variables(parts)
        header = self.headers[name]
        constructors = [
            Constructor(str(each.children[0]), [self.type(part) for part in each.children[1:]], header)
            for each in parts
            if each.data == "constructor"
        ]
        for each in constructors:
            if each.name_hint in self.constructors:
                raise RelayTextError(f"line {node.meta.line}: constructor {each!r} is defined twice")
        self.data[name] = TypeData(header, variables, constructors)
        self.type_vars = outside

    def _type_variables(self, parts: list[Any]) -> list[TypeVar]:
        """The variables of types that a definition declares as its first part; they are known from here on."""
        declared = parts[0].children if parts and parts[0].data == "type_params" else []
        names = list(map(str, declared))
        if len(set(names)) < len(names):
            raise RelayTextError(f"line {parts[0].meta.line}: type variables {', '.join(names)}, one of them twice")
        variables = {name: TypeVar(name) for name in names}
        self.type_vars = {**self.type_vars, **variables}
        return list(variables.values())

    def block(self, node: Node) -> Any:
        """The expression of a block."""
        outside = dict(self.locals), dict(self.temps)
        lets: list[tuple[Var, Any]] = []
        while (step := getattr(node, "data", "")) in ("free_var", "let", "temp", "sequence"):
            self._bind(step, node, lets)
            node = cast(Node, node.children[-1])
        result = self.expr(node)
        for variable, value in reversed(lets):
            result = Let(variable, value, result)
        self.locals, self.temps = outside
        return result

    def _bind(self, step: str, node: Node, lets: list[tuple[Var, Any]]) -> None:
        first = node.children[0]
        match step:
            case "free_var":
                variable = self._declare(
                    _name(node.children[1]), self.type(node.children[2]) if len(node.children) == 4 else None
                )
                self.free[variable] = None
            case "let":
                annotation = self.type(node.children[1]) if len(node.children) == 4 else None
                if isinstance(value := node.children[-2], Tree) and value.data == "function":
                    variable = self._declare(_name(first), annotation)
                    lets.append((variable, self.expr(value)))
                    return
                bound = self.expr(value)
                lets.append((self._declare(_name(first), annotation), bound))
            case "temp":
                self.temps[str(first)] = self.expr(node.children[1])
            case _:
                lets.append((Var("_"), self.expr(first)))

    def _declare(self, name: str, type: Type | None) -> Var:
        self.locals[name] = Var(name, type)
        return self.locals[name]

    def expr(self, node: Any) -> Any:
        """The expression of a node."""
        if node.data in ("free_var", "let", "temp", "sequence"):
            return self.block(node)
        method: Callable[[Node], Any] = getattr(self, f"_{node.data}")
        return method(node)

    def _binary(self, node: Node) -> Expr:
        left, sign, right = node.children
        return call(_BINARY[str(sign)], self.expr(left), self.expr(right))

    def _signed(self, node: Node) -> Expr:
        sign, operand = node.children
        if isinstance(operand, Tree) and operand.data == "number" and str(sign) == "-":
            return self._literal(f"-{operand.children[0]}", operand)
        value = self.expr(operand)
        if str(sign) == "+":
            return value
        return Constant(np.negative(value.data)) if isinstance(value, Constant) else call("negative", value)

    def _call(self, node: Node) -> Expr:
        callee, *rest = node.children
        args: list[Expr] = []
        attributes: dict[str, Any] = {}
        for each in cast(Node, rest[0]).children if rest else ():
            if isinstance(each, Tree) and each.data == "attribute":
                attributes[str(each.children[0])] = self.value(each.children[1])
            else:
                args.append(self.expr(each))
        if isinstance(callee, Tree) and callee.data == "operator":
            name = str(callee.children[0])
            if name in self.constructors:
                return self.constructors[name](*args)
            if name in _REFERENCES and not attributes:
                return _REFERENCES[name](*args)
            return self._operator_call(node, name, args, attributes)
        return FunctionCall(self.expr(callee), args, attributes)

    def _operator_call(self, node: Node, name: str, args: list[Expr], attributes: dict[str, Any]) -> Expr:
        operator = self._operator(node, name)
        function = function_of(name)
        try:
            if function is not None and not attributes.keys() - _parameters(function):
                if len(args) <= len(names := _OPERANDS.get(name, ())):
                    return as_expr(function(**dict(zip(names, args, strict=False)), **attributes))
                return as_expr(function(*args, **attributes))
            return Call(operator, args if name in MARKS else flat_operands(args), attributes)
        except TeError as error:
            raise RelayTextError(f"line {node.meta.line}: {error.what}") from None
        except StepwellError as error:
            raise RelayTextError(f"line {node.meta.line}: {error}") from None

    def _operator(self, node: Node, name: str = "") -> Any:
        name = name or str(node.children[0])
        if constructor := self.constructors.get(name):
            return constructor if constructor.inputs else constructor()
        if name in MARKS:
            return MARKS[name]
        if name not in OPERATORS and function_of(name) is None and name in HOST_OPERATORS:
            return HOST_OPERATORS[name]
        if name not in OPERATORS and function_of(name) is None:
            raise RelayTextError(f"line {node.meta.line}: no operator {name!r}{did_you_mean(name, OPERATORS)}")
        return operator_of(name) if name in OPERATORS else function_of(name)

    def _item(self, node: Node) -> Expr:
        return TupleGetItem(self.expr(node.children[0]), int(str(node.children[1])))

    def _local(self, node: Node) -> Expr:
        name = _name(node.children[0])
        whole, _, index = name.rpartition(".")
        if name not in self.locals and index.isdigit() and whole in self.locals:
            return TupleGetItem(self.locals[whole], int(index))
        return self._known(self.locals, node, name)

    def _temp_use(self, node: Node) -> Expr:
        return self._known(self.temps, node, str(node.children[0]))

    def _known(self, names: Mapping[str, Any], node: Node, name: str) -> Any:
        if name not in names:
            raise RelayTextError(f"line {node.meta.line}: {name} is not defined")
        return names[name]

    def _global_var(self, node: Node) -> Expr:
        return GlobalVar(_name(node.children[0]))

    def _number(self, node: Node) -> Expr:
        return self._literal(str(node.children[0]), node)

    def _literal(self, text: str, node: Node) -> Expr:
        digits = text.rstrip("0123456789")
        suffix = digits[-1:] + text[len(digits) :] if digits[-1:] in ("f", "i", "u") else ""
        number = text.removesuffix(suffix)
        is_float = suffix.startswith("f") or (not suffix and any(each in number for each in ".eE"))
        value: float = float(number) if is_float else int(number)
        wide = "float32" if is_float else "int32" if -(2**31) <= value < 2**31 else "int64"
        dtype = _DTYPES.get(suffix, "") if suffix else wide
        limits = np.finfo(dtype) if is_float else np.iinfo(dtype or "int32")
        if not dtype or not limits.min <= value <= limits.max:
            raise RelayTextError(f"line {node.meta.line}: number {text}, which its data type lacks")
        return Constant(np.asarray(value, dtype))

    def _boolean(self, node: Node) -> Expr:
        return Constant(np.asarray(str(node.children[0]) == "True"))

    def _entry(self, node: Node) -> Any:
        """The entry of the metadata that a text names."""
        kind, index = str(node.children[0]), int(str(node.children[1]))
        entries = self.metadata.get(kind, [])
        if not 0 <= index < len(entries):
            raise RelayTextError(f"line {node.meta.line}: no meta[{kind}][{index}] in the metadata")
        return entries[index]

    def _meta(self, node: Node) -> Expr:
        entry = self._entry(node)
        if isinstance(entry, Expr):
            return entry
        if str(node.children[0]) != "relay.Constant":
            raise RelayTextError(f"line {node.meta.line}: {entry!r} in the metadata, expected an expression")
        data = np.frombuffer(base64.b64decode(entry["data"]), numpy_dtype(entry["dtype"]))
        return Constant(data.reshape(entry["shape"]).copy())

    def _tuple(self, node: Node) -> Expr:
        return Tuple([self.expr(each) for each in node.children])

    def _function(self, node: Node) -> Expr:
        return self.function(node.children)

    def function(self, parts: list[Any]) -> Function:
        """A function. parts: its variables of types if it has any, its parameters and attributes, the type of its
        result if the text has it, and its body."""
        outside = dict(self.locals), dict(self.temps), self.type_vars
        variables = self._type_variables(parts)
        by_kind = {each.data: each for each in parts}
        params: list[Var] = []
        attributes: dict[str, Any] = {}
        for each in _subtrees(by_kind["params"]):
            if each.data == "attribute":
                attributes[str(each.children[0])] = self.value(each.children[1])
            else:
                params.append(self._param(each))
        result = self.type(by_kind["result"].children[0]) if "result" in by_kind else None
        body = self.block(by_kind["body"].children[0])
        self.locals, self.temps, self.type_vars = outside
        return Function(params, body, result, variables, attributes)

    def _param(self, node: Node) -> Var:
        """A parameter: its name, its device and its type, as far as the text states them."""
        annotations = {each.data: each for each in _subtrees(node)}
        device = annotations.pop("device", None)
        (type,) = annotations.values() or (None,)
        variable = self._declare(_name(node.children[0]), None if type is None else self.type(type))
        if device is not None:
            name, value = device.children
            if str(name) != VIRTUAL_DEVICE:
                raise RelayTextError(f"line {node.meta.line}: annotation {name}, expected {VIRTUAL_DEVICE}")
            variable.virtual_device = self.value(value)
        return variable

    def value(self, node: Any) -> Any:
        """The value of an attribute."""
        match node.data:
            case "text":
                return json.loads(str(node.children[0]))
            case "number_value":
                return _attribute_number("".join(map(str, node.children)))
            case "boolean_value":
                return str(node.children[0]) == "True"
            case "none":
                return None
            case "name_value":
                return str(node.children[0])
            case "meta_value":
                return self._entry(node)
            case _:
                return [self.value(each) for each in node.children]

    def _match(self, node: Node) -> Expr:
        keyword, data, *clauses = node.children
        return Match(self.expr(data), [self._clause(cast(Node, each)) for each in clauses], str(keyword) == "match")

    def _clause(self, node: Node) -> Clause:
        lhs, rhs = node.children
        outside = dict(self.locals), dict(self.temps)
        pattern = self._pattern(cast(Node, lhs))
        is_block = isinstance(rhs, Tree) and rhs.data == "body"
        result = self.block(cast(Node, rhs.children[0])) if is_block else self.expr(rhs)  # pyright: ignore[reportAttributeAccessIssue]
        self.locals, self.temps = outside
        return Clause(pattern, result)

    def _pattern(self, node: Node) -> Pattern:
        match node.data:
            case "wildcard":
                return PatternWildcard()
            case "bound":
                annotation = self.type(node.children[1]) if len(node.children) > 1 else None
                return PatternVar(self._declare(_name(node.children[0]), annotation))
            case "constructed":
                name, *parts = node.children
                constructor = self._known(self.constructors, node, str(name))
                return PatternConstructor(constructor, [self._pattern(cast(Node, each)) for each in parts])
            case _:
                return PatternTuple([self._pattern(cast(Node, each)) for each in node.children])

    def _conditional(self, node: Node) -> Expr:
        condition, then, orelse = node.children
        branches = [self.block(cast(Node, each.children[0])) for each in (then, orelse)]  # pyright: ignore[reportAttributeAccessIssue]
        return If(self.expr(condition), *branches)

    def _named_type(self, name: str) -> Any:
        if name in self.type_vars:
            return self.type_vars[name]
        return TypeCall(self.headers[name], []) if name in self.headers else TensorType((), name)

    def type(self, node: Any) -> Any:
        """The type of a node, None for `_`."""
        try:
            match node.data:
                case "any_type":
                    return None
                case "scalar_type":
                    return self._named_type(str(node.children[0]))
                case "type_call":
                    name, *args = node.children
                    header = self._known(self.headers, node, str(name))
                    return TypeCall(header, [self.type(each) for each in args])
                case "ref_type":
                    return RefType(self.type(node.children[0]))
                case "func_type":
                    outside, variables = self.type_vars, self._type_variables(_subtrees(node))
                    by_kind = {each.data: each for each in _subtrees(node)}
                    result = self.type(by_kind["result"].children[0]) if "result" in by_kind else None
                    func = FuncType([self.type(each) for each in by_kind["types"].children], result, variables)
                    self.type_vars = outside
                    return func
                case "tensor_type":
                    *sizes, dtype = node.children
                    return TensorType([_size(each) for each in sizes], str(dtype))
                case _:
                    return TupleType([self.type(each) for each in node.children])
        except StepwellError as error:
            raise RelayTextError(f"line {node.meta.line}: {error}") from None


# operands in TVM's order, of functions whose parameters have another
_OPERANDS = {
    "nn.pad": ("data", "pad_value"),
    "sparse_to_dense": ("sparse_indices", "sparse_values", "default_value"),
}

_REFERENCES: dict[str, Any] = {"ref": RefCreate, "ref_read": RefRead, "ref_write": RefWrite}
_DTYPES = {suffix: dtype for dtype, suffix in SUFFIXES.items()} | {"i": "int32", "i32": "int32", "f32": "float32"}


def _parameters(function: Any) -> set[str]:
    return set(inspect.signature(function).parameters)


def _size(node: Any) -> Any:
    match node.data:
        case "size":
            return int(str(node.children[0]))
        case "any_size":
            return Any_()
        case _:
            return str(node.children[0])


def _attribute_number(text: str) -> float:
    digits = text.rstrip("0123456789")
    number = digits[:-1] if digits[-1:] in ("f", "i", "u") else text
    return float(number) if "f" in text or any(each in number for each in ".eE") else int(number)


def _name(token: Any) -> str:
    return str(token)[1:]


def _subtrees(tree: Any) -> list[Node]:
    return [each for each in tree.children if isinstance(each, Tree)]

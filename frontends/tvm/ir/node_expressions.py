"""Expressions of `tir` from the nodes of TVM's JSON, and values of attributes, as text of TVMScript."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from math import isfinite

from ....core.dtypes import int_fits, parse_dtype
from .node_graph import Node

SCALARS = ("Var", "SizeVar")
"""The kinds of variables."""
_MAX_CHARACTERS = 1_000_000
"""The maximum length of the text of an expression. An operand of several expressions is part of the text of each."""
_INFIX = {
    "Add": "+", "Sub": "-", "Mul": "*", "FloorDiv": "//", "FloorMod": "%", "EQ": "==", "NE": "!=", "LT": "<",
    "LE": "<=", "GT": ">", "GE": ">=", "BitwiseAnd": "&", "BitwiseOr": "|", "BitwiseXor": "^", "LShift": "<<",
    "RShift": ">>",
}  # fmt: skip
_FUNCTIONS = {"Div": "Div", "Mod": "truncmod", "Min": "min", "Max": "max"}
_PREFIX = {"Not": "not ", "BitwiseNot": "~"}
_LOGICAL = {"And": "and", "Or": "or"}
_DTYPE_FIRST = frozenset((
    "call_extern", "call_pure_extern", "call_llvm_intrin", "call_llvm_pure_intrin", "reinterpret", "ptx_mma",
    "ptx_mma_sp", "ptx_ldmatrix", "ptx_cp_async", "mma_store", "mma_fill", "vectorhigh", "vectorlow", "vectorcombine",
))  # fmt: skip
"""The builtins whose data type is their first argument in TVMScript (src/tir/op/builtin.cc of TVM 0.16)."""
_NAMESPACES = ("tir.", "tirx.", "prim.")
"""The namespaces of operators in versions of TVM."""
_DTYPE_ALONE = frozenset(("type_annotation", "undef", "infinity", "min_value", "max_value"))
_OPERATOR = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(\.[A-Za-z_][A-Za-z0-9_]*)*")


class ExpressionWriter(ABC):
    """The writer of the expressions of a function. functions: the identifiers of the functions of the module by name.
    texts: those of expressions by position."""

    def __init__(self, functions: Mapping[str, str]):
        self.functions = functions
        self.texts: dict[int, str] = {}

    @abstractmethod
    def define(self, variable: Node) -> str:
        """The identifier of a new variable."""

    @abstractmethod
    def buffer(self, buffer: Node) -> str:
        """The identifier of a buffer."""

    @abstractmethod
    def variable(self, node: Node) -> str:
        """The text of a variable."""

    def expression(self, node: Node) -> str:
        """The text of an expression."""
        if node.position in self.texts:
            return self.texts[node.position]
        writer = _EXPRESSIONS.get(node.kind)
        if writer is None:
            raise node.error("expected an expression")
        text = node.graph.visit(node, lambda each: writer(self, each))
        if len(text) > _MAX_CHARACTERS:
            raise node.error(f"{len(text)} characters as text, expected at most {_MAX_CHARACTERS}")
        self.texts[node.position] = text
        return text

    def integer(self, node: Node) -> str:
        dtype, value = node.dtype("dtype"), node.integer("value")
        kind = parse_dtype(number_type(node))
        if kind.is_float or not int_fits(value, kind):
            raise node.error(f"{value} does not fit {dtype}")
        if dtype == "bool":
            return f"T.bool({bool(value)})"
        return str(value) if dtype == "int32" else f"T.{number_type(node)}({value})"

    def string(self, node: Node) -> str:
        return repr(node.text("value"))

    def cast(self, node: Node) -> str:
        return f"T.Cast({node.dtype('dtype')!r}, {self.typed(node.child('value'))})"

    def typed(self, node: Node) -> str:
        """An expression, whose data type its text states."""
        text = self.expression(node)
        return f"T.int32({text})" if node.kind == "IntImm" and node.dtype("dtype") == "int32" else text

    def _operands(self, node: Node) -> tuple[str, str]:
        """The operands of a binary operator. LoadError for operands of two data types."""
        a, b = node.child("a"), node.child("b")
        types = [each.dtype("dtype") for each in (a, b) if each.has("dtype")]
        if len(set(types)) > 1:
            raise node.error(f"operands of type {' and '.join(types)}, expected one type")
        if a.kind == "IntImm" and b.kind == "IntImm":
            return self.typed(a), self.typed(b)
        return self.expression(a), self.expression(b)

    def infix(self, node: Node) -> str:
        a, b = self._operands(node)
        return f"({a} {_INFIX[node.kind]} {b})"

    def function_of_two(self, node: Node) -> str:
        a, b = self._operands(node)
        return f"T.{_FUNCTIONS[node.kind]}({a}, {b})"

    def logical(self, node: Node) -> str:
        a, b = self._operands(node)
        return f"({a} {_LOGICAL[node.kind]} {b})"

    def prefix(self, node: Node) -> str:
        return f"({_PREFIX[node.kind]}{self.typed(node.child('a'))})"

    def select(self, node: Node) -> str:
        names = ("condition", "true_value", "false_value")
        return f"T.Select({', '.join(self.expression(node.child(name)) for name in names)})"

    def ramp(self, node: Node) -> str:
        base, stride = self.typed(node.child("base")), self.typed(node.child("stride"))
        return f"T.Ramp({base}, {stride}, {self._lanes(node)})"

    def broadcast(self, node: Node) -> str:
        return f"T.Broadcast({self.typed(node.child('value'))}, {self._lanes(node)})"

    def _lanes(self, node: Node) -> str:
        return str(parse_dtype(node.dtype("dtype")).lanes)

    def shuffle(self, node: Node) -> str:
        parts = [", ".join(self.typed(each) for each in node.children(name)) for name in ("vectors", "indices")]
        return f"T.Shuffle([{parts[0]}], [{parts[1]}])"

    def let_expression(self, node: Node) -> str:
        value = self.typed(node.child("value"))
        name = self.define(node.child("var", *SCALARS))
        return f"T.Let({self.typed(node.child('body'))}, where={{{name}: {value}}})"

    def load(self, node: Node) -> str:
        buffer = self.buffer(node.child("buffer", "Buffer"))
        indices = [self.expression(each) for each in node.children("indices")]
        if (predicate := node.find("predicate")) is not None:
            return f"{buffer}.vload([{', '.join(indices)}], predicate={self.expression(predicate)})"
        return f"{buffer}[{', '.join(indices) or '()'}]"

    def pointer_load(self, node: Node) -> str:
        """A load from a pointer, until v0.8."""
        parts = [self.typed(node.child(name)) for name in ("buffer_var", "index", "predicate")]
        return f"T.load({node.dtype('dtype')!r}, {', '.join(parts)})"

    def call(self, node: Node) -> str:
        op = node.child("op", "Op", "GlobalVar")
        nodes = node.children("args")
        if op.kind == "GlobalVar":
            name = op.text("name_hint")
            if name not in self.functions:
                raise op.error(f"function {name!r}, expected one of {', '.join(self.functions)}")
            return f"cls.{self.functions[name]}({', '.join(self.typed(each) for each in nodes)})"
        name = op.string.removeprefix(next((each for each in _NAMESPACES if op.string.startswith(each)), ""))
        if not _OPERATOR.fullmatch(name):
            raise op.error(f"{name!r}, expected the name of an operator")
        if name == "large_uint_imm":
            low, high = (number_of(each) for each in nodes)
            return f"T.{number_type(node)}({high << 32 | low})"
        if name == "buffer_data" and len(nodes) == 1:
            return f"{self.buffer(nodes[0])}.data"
        arguments = [self.typed(each) for each in nodes]
        if name in _DTYPE_FIRST or (name in _DTYPE_ALONE and not arguments):
            arguments.insert(0, repr(node.dtype("dtype")))
        elif name == "tvm_struct_get":
            arguments.append(repr(node.dtype("dtype")))
        return f"T.{name}({', '.join(arguments)})"


_EXPRESSIONS: Mapping[str, Callable[[ExpressionWriter, Node], str]] = {
    **dict.fromkeys(SCALARS, lambda writer, node: writer.variable(node)),
    "Buffer": lambda writer, node: writer.buffer(node),
    "IntImm": ExpressionWriter.integer,
    "FloatImm": lambda _, node: _real_literal(node),
    "StringImm": ExpressionWriter.string,
    "Cast": ExpressionWriter.cast,
    **dict.fromkeys(_INFIX, ExpressionWriter.infix),
    **dict.fromkeys(_FUNCTIONS, ExpressionWriter.function_of_two),
    **dict.fromkeys(_LOGICAL, ExpressionWriter.logical),
    **dict.fromkeys(_PREFIX, ExpressionWriter.prefix),
    "Select": ExpressionWriter.select,
    "Ramp": ExpressionWriter.ramp,
    "Broadcast": ExpressionWriter.broadcast,
    "Shuffle": ExpressionWriter.shuffle,
    "Let": ExpressionWriter.let_expression,
    "BufferLoad": ExpressionWriter.load,
    "Load": ExpressionWriter.pointer_load,
    "Call": ExpressionWriter.call,
}


def number_type(node: Node) -> str:
    """The data type of a number. LoadError for an address."""
    dtype = node.dtype("dtype")
    if dtype in ("handle", "void"):
        raise node.error(f"attribute 'dtype' is {dtype!r}, expected the type of a number")
    return dtype


def number_of(node: Node) -> int:
    """The integer that a node is."""
    return node.integer("value") if node.of("IntImm", "int").kind == "IntImm" else int(node.plain)


def is_number(node: Node, value: int) -> bool:
    return node.kind == "IntImm" and node.integer("value") == value


def is_true(node: Node) -> bool:
    return is_number(node, 1)


def dictionary(pairs: Iterable[tuple[str | Node, Node | None]]) -> str:
    """A dictionary of values of Python, as text."""
    return f"{{{', '.join(f'{_key(key)}: {literal(value)}' for key, value in pairs)}}}"


def _real_literal(node: Node) -> str:
    """A float in its data type; infinities and NaN are texts."""
    value = node.number("value")
    return f"T.{number_type(node)}({value if isfinite(value) else str(value)!r})"


def _key(key: str | Node) -> str:
    return repr(key) if isinstance(key, str) else literal(key)


def literal(node: Node | None) -> str:
    """A value of Python as text. LoadError for a node without a value."""
    return "None" if node is None else node.graph.visit(node, _literal_of)


def _literal_of(node: Node) -> str:
    match node.kind:
        case "String" | "StringImm" | "TargetKind":
            return repr(node.string)
        case "bool" | "int" | "float":
            return repr(node.plain)
        case "IntImm":
            dtype, value = node.dtype("dtype"), node.integer("value")
            return repr(bool(value)) if dtype == "bool" else f"T.{dtype}({value})" if dtype != "int32" else str(value)
        case "FloatImm":
            return _real_literal(node)
        case "Array":
            return f"[{', '.join(literal(each) for each in node.items)}]"
        case "Map" | "DictAttrs":
            return dictionary(node.pairs)
        case "Target":
            return f"T.target({_target(node)})"
        case _:
            raise node.error("expected a number, a text, a list, a dictionary or a target")


def _target(node: Node) -> str:
    """The configuration of a target."""
    entries = [f"'kind': {node.child('kind').string!r}"]
    if tag := node.text("tag") if node.has("tag") else "":
        entries.append(f"'tag': {tag!r}")
    if keys := node.children("keys"):
        entries.append(f"'keys': {[key.string for key in keys]!r}")
    entries += [f"{_key(key)}: {literal(value)}" for key, value in node.entries("attrs") if key != "feature"]
    if (host := node.optional("host")) is not None:
        entries.append(f"'host': {literal(host)}")
    return f"{{{', '.join(entries)}}}"


__all__ = ["SCALARS", "ExpressionWriter", "dictionary", "is_number", "is_true", "literal", "number_of", "number_type"]

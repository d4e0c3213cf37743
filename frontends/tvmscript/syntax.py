"""The syntax tree of the Python subset used by TVMScript: plain data, each node with its source span.

The node classes follow Python's `ast`, without its contexts. The elaborator defines the meaning of each construct, and
rejects those without a meaning in TVMScript.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields
from enum import Enum
from typing import cast

from ...core.diagnostics import Span


@dataclass(frozen=True, slots=True)
class Node:
    """A node with a source span."""

    span: Span

    def children(self) -> Iterator[Node]:
        """The direct children, in source order as far as the fields follow it."""
        for field in fields(self):
            yield from _nodes_in(getattr(self, field.name))


def _nodes_in(value: object) -> Iterator[Node]:
    if isinstance(value, Node):
        yield value
    elif isinstance(value, tuple):
        for item in value:  # pyright: ignore[reportUnknownVariableType]
            yield from _nodes_in(item)  # pyright: ignore[reportUnknownArgumentType]


def equal_syntax(lhs: object, rhs: object) -> bool:
    """Whether two nodes are equal apart from their spans."""
    if isinstance(lhs, Node):
        names = [field.name for field in fields(lhs) if field.type != "Span"]
        return type(lhs) is type(rhs) and all(equal_syntax(getattr(lhs, name), getattr(rhs, name)) for name in names)
    if isinstance(lhs, tuple):
        items = cast("tuple[object, ...]", lhs)
        others = cast("tuple[object, ...]", rhs)
        return type(rhs) is tuple and len(items) == len(others) and all(map(equal_syntax, items, others))
    return type(lhs) is type(rhs) and lhs == rhs


# ---- expressions


@dataclass(frozen=True, slots=True)
class Expr(Node):
    """The base class of expressions."""


@dataclass(frozen=True, slots=True)
class Name(Expr):
    id: str


@dataclass(frozen=True, slots=True)
class Constant(Expr):
    """A literal: int, float, str, bytes, bool, None or Ellipsis."""

    value: object


@dataclass(frozen=True, slots=True)
class EvaluatedExpr(Expr):
    """A value in place of an expression: an argument computed by a host function. Never produced by the parser."""

    value: object


@dataclass(frozen=True, slots=True)
class Attribute(Expr):
    value: Expr
    attr: str
    attr_span: Span


@dataclass(frozen=True, slots=True)
class Keyword(Node):
    """A keyword argument `name=value` of a call; `name` is None for `**value`."""

    name: str | None
    value: Expr


@dataclass(frozen=True, slots=True)
class Call(Expr):
    func: Expr
    args: tuple[Expr, ...]
    keywords: tuple[Keyword, ...]


@dataclass(frozen=True, slots=True)
class Slice(Expr):
    """A slice `lower:upper:step`, only inside a subscript."""

    lower: Expr | None
    upper: Expr | None
    step: Expr | None


@dataclass(frozen=True, slots=True)
class Subscript(Expr):
    """A subscript `value[index]`; several indices are a `Tuple`."""

    value: Expr
    index: Expr


@dataclass(frozen=True, slots=True)
class Unary(Expr):
    """A unary operation. op: `+ - ~ not`."""

    op: str
    operand: Expr


@dataclass(frozen=True, slots=True)
class Binary(Expr):
    """A binary operation. op: `+ - * / // % @ ** << >> & ^ |`."""

    op: str
    lhs: Expr
    rhs: Expr
    op_span: Span


@dataclass(frozen=True, slots=True)
class Compare(Expr):
    """A comparison `first ops[0] rest[0] ops[1] rest[1] ...`; ops: `< <= > >= == != in`, `not in`, `is`, `is not`."""

    first: Expr
    ops: tuple[str, ...]
    rest: tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class BoolOp(Expr):
    """Two or more values joined by `and` or by `or`."""

    op: str
    values: tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class IfExp(Expr):
    test: Expr
    body: Expr
    orelse: Expr


class ParamKind(Enum):
    """The kind of a parameter: how arguments bind to it."""

    PLAIN = "plain"
    VARARGS = "*"
    KWARGS = "**"
    KEYWORD_ONLY = "keyword only"
    POSITIONAL_ONLY = "positional only"


@dataclass(frozen=True, slots=True)
class Param(Node):
    name: str
    annotation: Expr | None
    default: Expr | None
    kind: ParamKind


@dataclass(frozen=True, slots=True)
class Lambda(Expr):
    params: tuple[Param, ...]
    body: Expr


@dataclass(frozen=True, slots=True)
class Starred(Expr):
    value: Expr


@dataclass(frozen=True, slots=True)
class Tuple(Expr):
    items: tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class List(Expr):
    items: tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class Set(Expr):
    items: tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class DictItem(Node):
    """An item `key: value` of a dictionary; `key` is None for `**value`."""

    key: Expr | None
    value: Expr


@dataclass(frozen=True, slots=True)
class Dict(Expr):
    items: tuple[DictItem, ...]


@dataclass(frozen=True, slots=True)
class Generator(Node):
    """A clause `for target in iterable if conditions[0] if conditions[1] ...`."""

    target: Expr
    iterable: Expr
    conditions: tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class Comprehension(Expr):
    """A comprehension; `kind` is one of list, set, dict, generator, `element` the value, `key` the key of a dict."""

    kind: str
    key: Expr | None
    element: Expr
    generators: tuple[Generator, ...]


@dataclass(frozen=True, slots=True)
class Interpolation(Node):
    """An interpolation `{value!conversion:format}` of an f-string; `conversion` is one of r, s, a or empty."""

    value: Expr
    conversion: str
    format: FString | None


@dataclass(frozen=True, slots=True)
class Text(Node):
    """Literal text of an f-string."""

    value: str


@dataclass(frozen=True, slots=True)
class FString(Expr):
    parts: tuple[Text | Interpolation, ...]


# ---- statements


@dataclass(frozen=True, slots=True)
class Stmt(Node):
    """The base class of statements. The span of a compound statement is its header, up to the colon."""


Body = tuple[Stmt, ...]


@dataclass(frozen=True, slots=True)
class ExprStmt(Stmt):
    value: Expr


@dataclass(frozen=True, slots=True)
class Assign(Stmt):
    """An assignment `targets[0] = targets[1] = ... = value`."""

    targets: tuple[Expr, ...]
    value: Expr


@dataclass(frozen=True, slots=True)
class AnnAssign(Stmt):
    target: Expr
    annotation: Expr
    value: Expr | None


@dataclass(frozen=True, slots=True)
class AugAssign(Stmt):
    """An augmented assignment `target op= value`; `op` as in `Binary`."""

    target: Expr
    op: str
    value: Expr


@dataclass(frozen=True, slots=True)
class For(Stmt):
    target: Expr
    iterable: Expr
    body: Body


@dataclass(frozen=True, slots=True)
class While(Stmt):
    test: Expr
    body: Body


@dataclass(frozen=True, slots=True)
class If(Stmt):
    """An `if` statement; `elif` is an `If` alone in `orelse`."""

    test: Expr
    body: Body
    orelse: Body


@dataclass(frozen=True, slots=True)
class WithItem(Expr):
    """A context manager `context as target`."""

    context: Expr
    target: Expr | None


@dataclass(frozen=True, slots=True)
class With(Stmt):
    items: tuple[WithItem, ...]
    body: Body


@dataclass(frozen=True, slots=True)
class Assert(Stmt):
    test: Expr
    message: Expr | None


@dataclass(frozen=True, slots=True)
class Return(Stmt):
    value: Expr | None


@dataclass(frozen=True, slots=True)
class Pass(Stmt):
    pass


@dataclass(frozen=True, slots=True)
class Break(Stmt):
    pass


@dataclass(frozen=True, slots=True)
class Continue(Stmt):
    pass


@dataclass(frozen=True, slots=True)
class Import(Stmt):
    """An import of any form: the bound names, each with its full path. `import *` binds none."""

    names: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class FunctionDef(Stmt):
    name: str
    name_span: Span
    type_params: tuple[str, ...]
    params: tuple[Param, ...]
    returns: Expr | None
    body: Body
    decorators: tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class ClassDef(Stmt):
    name: str
    name_span: Span
    bases: tuple[Expr, ...]
    body: Body
    decorators: tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class File(Node):
    """A text. size: the number of its nodes."""

    body: Body
    size: int = 0

"""The syntax tree of the Python subset that TVMScript is written in: plain data, each node with the place it stands at.

Shapes follow Python's own `ast`, without its contexts. What a construct means, and whether TVMScript has a meaning for
it at all, is decided by the elaborator.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields
from enum import Enum
from typing import cast

from ...core.diagnostics import Span


@dataclass(frozen=True, slots=True)
class Node:
    """Anything with a place in the text."""

    span: Span

    def children(self) -> Iterator[Node]:
        """The nodes directly below this one, in the order of the text as far as the fields follow it."""
        for field in fields(self):
            yield from _nodes_in(getattr(self, field.name))


def _nodes_in(value: object) -> Iterator[Node]:
    if isinstance(value, Node):
        yield value
    elif isinstance(value, tuple):
        for item in value:  # pyright: ignore[reportUnknownVariableType]
            yield from _nodes_in(item)  # pyright: ignore[reportUnknownArgumentType]


def same(lhs: object, rhs: object) -> bool:
    """Whether two nodes are written the same, wherever they stand."""
    if isinstance(lhs, Node):
        names = [field.name for field in fields(lhs) if field.type != "Span"]
        return type(lhs) is type(rhs) and all(same(getattr(lhs, name), getattr(rhs, name)) for name in names)
    if isinstance(lhs, tuple):
        items = cast("tuple[object, ...]", lhs)
        others = cast("tuple[object, ...]", rhs)
        return type(rhs) is tuple and len(items) == len(others) and all(map(same, items, others))
    return type(lhs) is type(rhs) and lhs == rhs


# ---- expressions


@dataclass(frozen=True, slots=True)
class Expr(Node):
    """Base of the expressions."""


@dataclass(frozen=True, slots=True)
class Name(Expr):
    id: str


@dataclass(frozen=True, slots=True)
class Constant(Expr):
    """A literal: int, float, str, bytes, bool, None or Ellipsis."""

    value: object


@dataclass(frozen=True, slots=True)
class Held(Expr):
    """A value where an expression is expected: an argument that a function of the caller computed. No text has it."""

    value: object


@dataclass(frozen=True, slots=True)
class Attribute(Expr):
    value: Expr
    attr: str
    attr_span: Span


@dataclass(frozen=True, slots=True)
class Keyword(Node):
    """`name=value` in a call; `name` is None for `**value`."""

    name: str | None
    value: Expr


@dataclass(frozen=True, slots=True)
class Call(Expr):
    func: Expr
    args: tuple[Expr, ...]
    keywords: tuple[Keyword, ...]


@dataclass(frozen=True, slots=True)
class Slice(Expr):
    """`lower:upper:step`, only inside a subscript."""

    lower: Expr | None
    upper: Expr | None
    step: Expr | None


@dataclass(frozen=True, slots=True)
class Subscript(Expr):
    """`value[index]`; several indices are a `Tuple`."""

    value: Expr
    index: Expr


@dataclass(frozen=True, slots=True)
class Unary(Expr):
    """`op` one of `+ - ~ not`."""

    op: str
    operand: Expr


@dataclass(frozen=True, slots=True)
class Binary(Expr):
    """`op` one of `+ - * / // % @ ** << >> & ^ |`."""

    op: str
    lhs: Expr
    rhs: Expr
    op_span: Span


@dataclass(frozen=True, slots=True)
class Compare(Expr):
    """`first ops[0] rest[0] ops[1] rest[1] ...`; ops: `< <= > >= == != in`, `not in`, `is`, `is not`."""

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
    """How a parameter takes its argument."""

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
    """`key: value`; `key` is None for `**value`."""

    key: Expr | None
    value: Expr


@dataclass(frozen=True, slots=True)
class Dict(Expr):
    items: tuple[DictItem, ...]


@dataclass(frozen=True, slots=True)
class Generator(Node):
    """`for target in iterable if conditions[0] if conditions[1] ...`."""

    target: Expr
    iterable: Expr
    conditions: tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class Comprehension(Expr):
    """`kind` one of list, set, dict, generator; `element` is the value, `key` the key of a dict's."""

    kind: str
    key: Expr | None
    element: Expr
    generators: tuple[Generator, ...]


@dataclass(frozen=True, slots=True)
class Interpolation(Node):
    """`{value!conversion:format}` of an f-string; `conversion` one of r, s, a or empty."""

    value: Expr
    conversion: str
    format: FString | None


@dataclass(frozen=True, slots=True)
class Text(Node):
    """The literal text between two interpolations of an f-string."""

    value: str


@dataclass(frozen=True, slots=True)
class FString(Expr):
    parts: tuple[Text | Interpolation, ...]


# ---- statements


@dataclass(frozen=True, slots=True)
class Stmt(Node):
    """Base of the statements. The span of a compound statement is its first line, up to the colon."""


Body = tuple[Stmt, ...]


@dataclass(frozen=True, slots=True)
class ExprStmt(Stmt):
    value: Expr


@dataclass(frozen=True, slots=True)
class Assign(Stmt):
    """`targets[0] = targets[1] = ... = value`."""

    targets: tuple[Expr, ...]
    value: Expr


@dataclass(frozen=True, slots=True)
class AnnAssign(Stmt):
    target: Expr
    annotation: Expr
    value: Expr | None


@dataclass(frozen=True, slots=True)
class AugAssign(Stmt):
    """`target op= value`; `op` as in `Binary`."""

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
    """`elif` is an `If` alone in `orelse`."""

    test: Expr
    body: Body
    orelse: Body


@dataclass(frozen=True, slots=True)
class WithItem(Expr):
    """`context as target`."""

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
    """An import of any form: the names it binds, each with the path it stands for. `import *` binds none here."""

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
    body: Body

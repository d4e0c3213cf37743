"""Statements on the buffers of a `te.extern`: loops, branches, stores to elements, memory of their own."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from .buffers import Buffer, ExternCall
from .errors import TeError
from .expr import ExprLike, PrimExpr, Var, as_expr


class BufferElement(PrimExpr):
    """An element of a buffer, or a vector of elements along the last dimension. lanes: their number."""

    __slots__ = ("buffer", "indices", "lanes")

    def __init__(self, buffer: Buffer, indices: Sequence[ExprLike], lanes: int = 1):
        self.buffer = buffer
        self.lanes = lanes
        self.indices = tuple(as_expr(index) for index in indices)
        if len(self.indices) != len(buffer.shape):
            raise TeError(f"{len(self.indices)} indices into buffer {buffer.name} of {len(buffer.shape)} dimensions")
        self.data_type = buffer.data_type.with_lanes(lanes)

    @property
    def children(self) -> tuple[PrimExpr, ...]:
        return self.indices

    def with_children(self, children: Sequence[PrimExpr]) -> PrimExpr:
        return BufferElement(self.buffer, children, self.lanes)

    def text(self) -> str:
        return f"{self.buffer.name}[{', '.join(map(repr, self.indices))}]"


@dataclass(frozen=True, eq=False)
class Store:
    """A store of a value, converted to the data type of the buffer; a scalar in all elements of a vector."""

    target: BufferElement
    value: PrimExpr


@dataclass(frozen=True, eq=False)
class Loop:
    """A loop over `[low, low + extent)`. kind: serial, parallel, vectorized, unrolled or thread_binding, for a thread
    axis.
    """

    variable: Var
    low: PrimExpr
    extent: PrimExpr
    body: tuple[Statement, ...]
    kind: str = "serial"
    thread: str | None = None


@dataclass(frozen=True, eq=False)
class While:
    """A loop that runs while a condition holds."""

    condition: PrimExpr
    body: tuple[Statement, ...]


@dataclass(frozen=True, eq=False)
class Branch:
    """Statements that run if a condition holds, and others if not."""

    condition: PrimExpr
    then: tuple[Statement, ...]
    orelse: tuple[Statement, ...] = ()


@dataclass(frozen=True, eq=False)
class Allocation:
    """Memory for a buffer, up to the end of the statements around it."""

    buffer: Buffer


@dataclass(frozen=True, eq=False)
class Let:
    """A variable with a value, up to the end of the statements around it."""

    variable: Var
    value: PrimExpr


@dataclass(frozen=True, eq=False)
class Evaluation:
    """The computation of an expression, whose value is not used."""

    value: PrimExpr


@dataclass(frozen=True, eq=False)
class Assertion:
    """A check of a condition. message: the text of the error if the condition does not hold."""

    condition: PrimExpr
    message: str


class StatementConvertible:
    """An object that converts to statements, such as a tree of a front end."""

    __slots__ = ()

    def asstatements(self) -> Sequence[Statement]:
        """The object as statements. TeError if the object cannot be converted."""
        raise NotImplementedError


def flatten_statements(value: Any) -> list[Any]:
    """A statement, an object that converts to statements, or a list of these, as one list. Other objects stay as they
    are."""
    every: list[Any] = list(value) if isinstance(value, list | tuple) else [value]  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]
    return [
        inner for each in every for inner in (each.asstatements() if isinstance(each, StatementConvertible) else [each])
    ]


Statement: TypeAlias = ExternCall | Store | Loop | While | Branch | Allocation | Let | Evaluation | Assertion
STATEMENTS = (ExternCall, Store, Loop, While, Branch, Allocation, Let, Evaluation, Assertion)


def for_each(extent: Any, call: Callable[[Var], ExternCall], name: str = "i") -> Loop:
    """A loop over `[0, extent)` around a call. call: builds the call from the loop variable.  name: of the variable."""
    last = as_expr(extent)
    variable = Var(name, last.dtype)
    return Loop(variable, as_expr(0), last, (call(variable),))


def walk(statements: Sequence[Statement]) -> Iterator[Statement]:
    """All statements, outer before inner."""
    for each in statements:
        yield each
        match each:
            case Loop() | While():
                yield from walk(each.body)
            case Branch():
                yield from walk(each.then)
                yield from walk(each.orelse)
            case _:
                pass


def buffers_of(statement: Statement) -> Iterator[Buffer]:
    """The buffers that a statement uses itself, without the statements in it."""
    match statement:
        case ExternCall():
            yield from statement.buffers
        case Store():
            yield statement.target.buffer
            yield from _buffers_in(statement.target, statement.value)
        case Loop():
            yield from _buffers_in(statement.low, statement.extent)
        case While() | Branch() | Assertion():
            yield from _buffers_in(statement.condition)
        case Let() | Evaluation():
            yield from _buffers_in(statement.value)
        case Allocation():
            return


def _buffers_in(*exprs: PrimExpr) -> Iterator[Buffer]:
    todo = list(exprs)
    while todo:
        top = todo.pop()
        if isinstance(top, BufferElement):
            yield top.buffer
        todo += top.children

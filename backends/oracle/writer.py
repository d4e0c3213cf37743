"""The text of one generated Python function: lines, names, and the text of each SSA value."""

from __future__ import annotations

import builtins
import keyword
import re
from collections.abc import Generator, Iterable
from contextlib import contextmanager
from dataclasses import dataclass, field

from xdsl.dialects import vector
from xdsl.ir import Operation, SSAValue

from ...core.dtypes import DType, dtype_of
from ...dialects.extensions import scalar_operation
from ...dialects.tir import AccessOp, HandleType, LetOp, LoadOp, RampOp, ShuffleOp
from . import checks, numerics
from .expressions import RULES, PythonExpr, number_text

PythonLine = tuple[int, str, Operation | None]
"""Indentation, text, and the op of a line."""

_ENDS_A_LINE = frozenset("\n\r\f\0")
"""Characters that end a line or the text for Python's compiler, or reset its indentation."""

_INT64 = DType("int", 64)
_INLINE_LENGTH = 80
_LOOPS_PER_FRAME = 15  # CPython allows 20 statically nested blocks, lanes of vectors among them
_LEVELS_PER_FRAME = 60  # and 100 levels of indentation

PURE = frozenset((*RULES, LetOp, RampOp, ShuffleOp, vector.BroadcastOp))
"""Ops that only compute: not emitted if unused."""

_RESERVED = {*keyword.kwlist, *dir(builtins), *vars(numerics), *checks.NAMESPACE, "run", "strand", "product"}


@dataclass
class _Frame:
    """A Python function: nested functions and body."""

    indent: int
    nested: list[PythonLine] = field(default_factory=list[PythonLine])
    body: list[PythonLine] = field(default_factory=list[PythonLine])
    loops: int = 0

    @property
    def lines(self) -> list[PythonLine]:
        """The lines after the header of the function."""
        is_empty = all(text.startswith("#") for _, text, _ in self.body)
        return [*self.nested, *self.body, *([(self.indent, "pass", None)] if is_empty else [])]


class PythonWriter:
    """Emits the body of one function. reserved: names that must not be used.  dead: pure ops without uses."""

    def __init__(self, reserved: Iterable[str], dead: set[Operation]):
        self._taken = {*_RESERVED, *reserved}
        self._values: dict[SSAValue, PythonExpr] = {}
        self._frames = [_Frame(1)]
        self._indent = 1
        self.op: Operation | None = None
        self._dead = dead

    # Lines

    def line(self, text: str) -> None:
        """Appends a line; names of the program must pass through `fresh_name`, `name_in_comment` or `repr`."""
        assert _ENDS_A_LINE.isdisjoint(text), f"a line of generated Python holds the end of a line: {text!r}"
        self._frames[-1].body.append((self._indent, text, self.op))

    @contextmanager
    def block(self, header: str) -> Generator[None]:
        """Appends `header`, with the lines emitted inside indented below it."""
        self.line(header)
        start = len(self._frames[-1].body)
        self._indent += 1
        yield
        if not any(not text.startswith("#") for _, text, _ in self._frames[-1].body[start:]):
            self.line("pass")
        self._indent -= 1

    @contextmanager
    def region(self, header: str) -> Generator[None]:
        """A block of statements, in a nested function of its own beyond a limit of nesting."""
        with self.block(header):
            if self._indent - self._frames[-1].indent < _LEVELS_PER_FRAME:
                yield
            else:
                with self._part():
                    yield

    @contextmanager
    def loop(self, header: str) -> Generator[None]:
        """A region in a loop, in a nested function beyond a limit of nested loops."""
        frame = self._frames[-1]
        if frame.loops < _LOOPS_PER_FRAME and self._indent - frame.indent < _LEVELS_PER_FRAME:
            frame.loops += 1
            with self.block(header):
                yield
            frame.loops -= 1
        else:
            with self._part(), self.loop(header):
                yield

    @contextmanager
    def _part(self) -> Generator[None]:
        """Moves the lines emitted inside to a nested function, and calls the function here."""
        name = self.fresh_name("part")
        with self._nested_scope(name):
            yield
        self.line(f"returned = {name}()")
        with self.block("if returned is not None:"):
            self.line("return returned" if self.is_nested else "return returned[0]")

    @contextmanager
    def _nested_scope(self, name: str) -> Generator[None]:
        outer, indent = self._frames[-1], self._indent
        inner = _Frame(outer.indent + 1)
        self._frames.append(inner)
        self._indent = inner.indent
        yield
        self._frames.pop()
        self._indent = indent
        outer.nested += [(outer.indent, f"def {name}():", None), *inner.lines]

    @property
    def is_nested(self) -> bool:
        """Whether the current lines belong to a nested function, which returns a tuple for a return."""
        return len(self._frames) > 1

    @property
    def lines(self) -> list[PythonLine]:
        """All lines of the function."""
        (frame,) = self._frames
        return frame.lines

    @contextmanager
    def capture(self) -> Generator[list[PythonLine]]:
        """Collects the lines emitted inside, one level deeper, instead of appending them."""
        frame = self._frames[-1]
        saved, frame.body = frame.body, []
        collected: list[PythonLine] = []
        self._indent += 1
        yield collected
        self._indent -= 1
        collected += frame.body
        frame.body = saved

    def paste(self, lines: list[PythonLine]) -> None:
        self._frames[-1].body += lines

    # Names and values

    def fresh_name(self, hint: str) -> str:
        """An unused Python name similar to `hint`."""
        base = re.sub(r"\W", "_", hint, flags=re.ASCII) or "t"
        if base[0].isdigit():
            base = f"t{base}"
        name, number = base, 0
        while name in self._taken:
            number += 1
            name = f"{base}_{number}"
        self._taken.add(name)
        return name

    def value(self, value: SSAValue | int) -> PythonExpr:
        """The Python text of `value`."""
        if isinstance(value, int):
            return number_text(value, _INT64)
        return self._values[value]

    def has_text(self, value: SSAValue) -> bool:
        """Whether `value` has a text already."""
        return value in self._values

    def set(self, value: SSAValue, expr: PythonExpr) -> None:
        self._values[value] = expr

    def bind(self, value: SSAValue, expr: PythonExpr, hint: str | None = None) -> PythonExpr:
        """Emits an assignment to a new variable, which becomes the text of `value`."""
        name = self.fresh_name(hint or value.name_hint or "t")
        self.line(f"{name} = {expr.text}")
        self._values[value] = PythonExpr(name)
        return self._values[value]

    def as_simple(self, expr: PythonExpr, hint: str = "t") -> PythonExpr:
        """An expression that may be repeated: `expr` if it is simple, else a variable with its value."""
        if expr.is_simple:
            return expr
        name = self.fresh_name(hint)
        self.line(f"{name} = {expr.text}")
        return PythonExpr(name)

    def define(self, op: Operation, expr: PythonExpr) -> None:
        """Binds the result of a pure op: short expressions are inlined into a single user in the same
        block, others assigned.
        """
        result = op.results[0]
        users = [use.operation for use in result.uses if not self.is_dead(use.operation)]
        beside = len(users) == 1 and users[0].parent is op.parent
        if expr.is_simple or (beside and len(expr.text) <= _INLINE_LENGTH and not _is_vector(result)):
            self.set(result, expr)
        else:
            self.bind(result, expr)

    def is_dead(self, op: Operation) -> bool:
        """Whether `op` is unused."""
        return op in self._dead


def name_in_comment(name: str) -> str:
    """The text of a program's name in a comment: the name if all its characters are printable ASCII, else a literal."""
    return name if name.isascii() and name.isprintable() else ascii(name)


def dead_ops(root: Operation) -> set[Operation]:
    """The unused ops inside `root`: declarations of accesses, loads for them, and unused pure ops."""
    dead: set[Operation] = set()
    declarative: set[Operation] = set()
    for op in reversed(list(root.walk())):
        users = [use.operation for result in op.results for use in result.uses]
        is_pure = type(op) in PURE or scalar_operation(op) is not None
        is_expression = (is_pure or isinstance(op, LoadOp)) and bool(users)
        if isinstance(op, AccessOp) or (is_expression and declarative.issuperset(users)):
            declarative.add(op)
        if op in declarative or (is_pure and dead.issuperset(users)):
            dead.add(op)
    return dead


def _is_vector(value: SSAValue) -> bool:
    return not isinstance(value.type, HandleType) and dtype_of(value.type).lanes != 1

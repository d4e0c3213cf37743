"""Builders of programs and their frames."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, ClassVar, Self, TypeVar

from ....core.errors import StepwellError
from ....expressions.axes import IterVar
from ....expressions.buffers import Buffer
from ....expressions.expr import Var
from ..nodes.stmt import Stmt, seq


class BuilderError(StepwellError, ValueError):
    """A frame at a place where it does not belong, or the absence of a builder."""


class IRBuilder:
    """A builder of a program. Statements and frames belong to the innermost builder whose `with` is open."""

    _open: ClassVar[list[IRBuilder]] = []

    def __init__(self) -> None:
        self.frames: list[Frame] = []
        self._result: Any = None

    def __enter__(self) -> Self:
        self._open.append(self)
        return self

    def __exit__(self, *error: object) -> None:
        self._open.remove(self)

    @staticmethod
    def current() -> IRBuilder:
        """The innermost open builder. BuilderError, a ValueError, without one."""
        if not IRBuilder._open:
            raise BuilderError("no builder: expected `with IRBuilder()` around frames and statements")
        return IRBuilder._open[-1]

    @staticmethod
    def is_in_scope() -> bool:
        """Whether a builder is open."""
        return bool(IRBuilder._open)

    def get(self) -> Any:
        """The program: a module, a function or a statement. BuilderError without one."""
        if self._result is None:
            raise BuilderError("the builder has no result: expected a frame or a statement in it")
        return self._result

    def add(self, made: Any) -> None:
        """Adds a function or a statement to the innermost frame; without a frame it is the result. BuilderError for a
        second result."""
        if self.frames:
            self.frames[-1].add(made)
        elif self._result is not None:
            raise BuilderError("a second result: expected a frame around the statements")
        else:
            self._result = made

    @staticmethod
    def name(s: str, v: Any) -> Any:
        """Names a variable, an axis or a buffer, and returns it."""
        match v:
            case IterVar():
                v.var.name = s
            case Var():
                v.name = s
            case Buffer():
                object.__setattr__(v, "name", s)
            case _:
                raise BuilderError(f"name {s}: {v!r}, expected a variable or a buffer")
        return v

    @staticmethod
    def name_many(s: list[str], vs: list[Any]) -> list[Any]:
        """Names several variables, axes or buffers."""
        return [IRBuilder.name(name, value) for name, value in zip(s, vs, strict=True)]


class Frame:
    """A context whose statements become a part of a program. `value` is that of `with frame as value`."""

    def __init__(self, value: Any = None):
        self.value = value
        self.statements: list[Stmt] = []
        self._callbacks: list[Callable[[], None]] = []

    def __enter__(self) -> Any:
        IRBuilder.current().frames.append(self)
        return self.value

    def __exit__(self, error: type[BaseException] | None = None, *details: object) -> None:
        builder = IRBuilder.current()
        frame = builder.frames.pop()
        if error is not None:
            return
        if frame is not self:
            raise BuilderError(f"the end of {type(self).__name__} in {type(frame).__name__}")
        self.close(builder)
        for callback in reversed(self._callbacks):
            callback()

    def add_callback(self, callback: Callable[[], None]) -> None:
        """Calls a function when the frame ends."""
        self._callbacks.append(callback)

    def add(self, made: Any) -> None:
        """Adds a statement. BuilderError for another object."""
        if not isinstance(made, Stmt):
            raise BuilderError(f"{made!r} in {type(self).__name__}, expected a statement")
        self.statements.append(made)

    @property
    def body(self) -> Stmt:
        """The statements. BuilderError without one."""
        if not self.statements:
            raise BuilderError(f"{type(self).__name__} without a statement")
        return seq(*self.statements)

    def close(self, builder: IRBuilder) -> None:
        """Adds the frame's part of the program to the frame around."""
        raise NotImplementedError


class StatementFrame(Frame):
    """A context whose statements become one. create: makes it of the body."""

    def __init__(self, create: Callable[[Stmt], Stmt], value: Any = None):
        super().__init__(value)
        self._create = create

    def close(self, builder: IRBuilder) -> None:
        builder.add(self._create(self.body))


F = TypeVar("F", bound=Frame)


def innermost(kind: type[F], what: str) -> F:
    """The innermost frame, which is of a kind. BuilderError for another frame; `what` names the use."""
    frames = IRBuilder.current().frames
    if not frames or not isinstance(frames[-1], kind):
        found = type(frames[-1]).__name__ if frames else "no frame"
        raise BuilderError(f"{what}: {found} around it, expected {kind.__name__}")
    return frames[-1]


def around(kind: type[F]) -> F | None:
    """The innermost of the frames of a kind, or None."""
    return next(_around(kind), None)


def _around(kind: type[F]) -> Iterator[F]:
    return (frame for frame in reversed(IRBuilder.current().frames) if isinstance(frame, kind))


__all__ = ["BuilderError", "Frame", "IRBuilder", "StatementFrame", "around", "innermost"]

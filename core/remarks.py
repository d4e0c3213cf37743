"""Remarks: the decisions of passes, with their reasons and their places in the source.

A pass reports by a `PassRemarks` of its module; whoever wants the remarks receives them for the time of a `with`
statement (`report_remarks`, `collect_remarks`). Without a receiver no message is built.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Generator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from xdsl.dialects.builtin import StringAttr
from xdsl.ir import Operation

from .diagnostics import Location, location_of

RemarkKind: TypeAlias = Literal["applied", "missed"]


@dataclass(frozen=True)
class Place:
    """The place of an operation: its source location, None if unknown, and the name of its function, "" if outside."""

    location: Location | None = None
    function: str = ""

    @staticmethod
    def of(op: Operation) -> Place:
        """The place of an operation."""
        return Place(location_of(op), _function_around(op))

    def __str__(self) -> str:
        return f"@{self.function}" if self.location is None and self.function else str(self.location or "")


def _function_around(op: Operation) -> str:
    """The name of the innermost function that contains an operation or is the operation; "" without one."""
    around: Operation | None = op
    while around is not None:
        name = around.properties.get("sym_name")
        if isinstance(name, StringAttr):
            return name.data
        around = around.parent_op()
    return ""


@dataclass(frozen=True)
class Remark:
    """A decision of a pass.

    kind: `applied` for a transformation, `missed` for a transformation that the pass did not make.  pass_name: the name
    of the pass, or `llvm`.  message: the decision, with the reason if it is missed.
    """

    kind: RemarkKind
    pass_name: str
    message: str
    place: Place = Place()

    def __str__(self) -> str:
        return ": ".join(filter(None, [str(self.place), self.pass_name, self.kind, self.message]))

    def to_json(self) -> str:
        """The remark as a JSON object in one line; `file`, `line` and `column` are null without a source location."""
        location = self.place.location
        return json.dumps(
            {
                "kind": self.kind,
                "pass": self.pass_name,
                "message": self.message,
                "function": self.place.function,
                "file": location and location.file,
                "line": location and location.line,
                "column": location and location.column,
            }
        )


RemarkReceiver: TypeAlias = Callable[[Remark], object]
"""A function called with each remark, as `print` or `list.append`."""


@dataclass
class _Reception:
    """A receiver, and the remarks that it has received: passes copy statements, and each copy yields equal remarks."""

    receive: RemarkReceiver
    known: set[Remark] = field(default_factory=set[Remark])

    def report(self, remark: Remark) -> None:
        if remark not in self.known:
            self.known.add(remark)
            self.receive(remark)


_reception: ContextVar[_Reception | None] = ContextVar("stepwell.remarks", default=None)


@contextmanager
def report_remarks(receive: RemarkReceiver | None) -> Generator[None]:
    """Calls `receive` with each remark of the body, once for equal remarks; None keeps the receiver around, if any."""
    if receive is None:
        yield
        return
    token = _reception.set(_Reception(receive))
    try:
        yield
    finally:
        _reception.reset(token)


@contextmanager
def collect_remarks() -> Generator[list[Remark]]:
    """The list to which the remarks of the body are added."""
    remarks: list[Remark] = []
    with report_remarks(remarks.append):
        yield remarks


class PassRemarks:
    """The remarks of one pass, of which its module has one instance.

    The message is a function, called only if there is a receiver.
    """

    def __init__(self, pass_name: str) -> None:
        self.pass_name = pass_name

    @property
    def are_received(self) -> bool:
        """Whether there is a receiver: a condition of work that only remarks need."""
        return _reception.get() is not None

    def applied(self, at: Operation | Place, message: Callable[[], str]) -> None:
        """Reports a transformation. at: the operation, or its place if the operation has been replaced."""
        self._report("applied", at, message)

    def missed(self, at: Operation | Place, message: Callable[[], str]) -> None:
        """Reports a transformation that was not made. at: as of `applied`.  message: states the reason."""
        self._report("missed", at, message)

    def _report(self, kind: RemarkKind, at: Operation | Place, message: Callable[[], str]) -> None:
        reception = _reception.get()
        if reception is not None:
            place = Place.of(at) if isinstance(at, Operation) else at
            reception.report(Remark(kind, self.pass_name, message(), place))

"""Remarks: the decisions of passes, with their reasons and their places in the source.

A pass reports by the `PassRemarks` of its module. Remarks are collected for the time of a `with` statement
(`collect_remarks`, `report_remarks`); outside of such a statement no message is built.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Generator
from contextlib import contextmanager, nullcontext
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Literal, TypeAlias

from xdsl.dialects.builtin import StringAttr
from xdsl.ir import Operation

from .diagnostics import Location, location_of

RemarkKind: TypeAlias = Literal["applied", "missed"]


@dataclass(frozen=True)
class Place:
    """The place of an operation: its source location, and the name of its function, "" outside of functions.

    location: of the operation, or of the first operation inside that has a location, as for the loops of an expression;
    None without one.
    """

    location: Location | None = None
    function: str = ""

    @staticmethod
    def of(op: Operation) -> Place:
        """The place of an operation."""
        locations = (location_of(inner) for inner in op.walk())
        return Place(next(filter(None, locations), None), _function_around(op))

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


_collection: ContextVar[Counter[Remark] | None] = ContextVar("stepwell.remarks", default=None)
"""The remarks collected so far, in order, each with the number of its reports: passes copy statements, and each copy
yields equal remarks. None if nobody collects."""


@contextmanager
def collect_remarks() -> Generator[Counter[Remark]]:
    """Collects the remarks of the body, in order, each with the number of its reports. Collections around the body do
    not receive them."""
    remarks = Counter[Remark]()
    with _replace_collection(remarks):
        yield remarks


@contextmanager
def ignore_remarks() -> Generator[None]:
    """Hides the remarks of the body from collections around it."""
    with _replace_collection(None):
        yield


@contextmanager
def _replace_collection(remarks: Counter[Remark] | None) -> Generator[None]:
    token = _collection.set(remarks)
    try:
        yield
    finally:
        _collection.reset(token)


@contextmanager
def report_remarks(receive: RemarkReceiver | None) -> Generator[None]:
    """Calls `receive` with each remark of the body after its end, even if the body raises an error: an error of
    `receive` is not an error of a pass. None changes nothing."""
    if receive is None:
        yield
        return
    remarks = Counter[Remark]()
    try:
        with collect_remarks() as remarks:
            yield
    finally:
        for remark in remarks:
            receive(remark)


def report_again(remarks: Counter[Remark]) -> None:
    """Adds the remarks of a collection inside of the current one to it, in their order."""
    around = _collection.get()
    if around is not None:
        around.update(remarks)


@contextmanager
def collect_apart() -> Generator[Counter[Remark]]:
    """Collects the remarks of the body like `collect_remarks` if somebody collects; otherwise no message is built."""
    with collect_remarks() if is_collecting() else nullcontext(Counter[Remark]()) as remarks:
        yield remarks


def is_collecting() -> bool:
    """Whether somebody collects remarks."""
    return _collection.get() is not None


class PassRemarks:
    """The reports of a pass, by its module.

    The message is a function, called only if somebody collects.
    """

    def __init__(self, pass_name: str) -> None:
        self.pass_name = pass_name

    @property
    def are_collected(self) -> bool:
        """Whether somebody collects remarks: a condition of work that only remarks need."""
        return is_collecting()

    def applied(self, at: Operation | Place, message: Callable[[], str]) -> None:
        """Reports a transformation. at: the operation, or its place if the operation has been replaced."""
        self._report("applied", at, message)

    def missed(self, at: Operation | Place, message: Callable[[], str]) -> None:
        """Reports a transformation that was not made. at: as of `applied`.  message: states the reason."""
        self._report("missed", at, message)

    def _report(self, kind: RemarkKind, at: Operation | Place, message: Callable[[], str]) -> None:
        remarks = _collection.get()
        if remarks is not None:
            place = Place.of(at) if isinstance(at, Operation) else at
            remarks[Remark(kind, self.pass_name, message(), place)] += 1

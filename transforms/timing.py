"""The times of passes and of other stages of compilation."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TypeAlias

from xdsl.passes import ModulePass

from ..module import Module
from .observers import PassObserver, observe_passes


@dataclass(frozen=True)
class StageTime:
    """The duration of a pass or another stage. before, after: the numbers of operations before and after a pass."""

    name: str
    seconds: float
    before: int | None = None
    after: int | None = None

    @property
    def operations(self) -> str:
        """`before -> after`, one number if they are equal, "" for a stage that is no pass."""
        if self.before is None:
            return ""
        return str(self.after) if self.before == self.after else f"{self.before} -> {self.after}"


@dataclass
class PassTimes(PassObserver):
    """The times of the stages of a compilation, in order. Its text is a table with shares and the total."""

    stages: list[StageTime] = field(default_factory=list[StageTime])
    _operations: int = 0

    @property
    def seconds(self) -> float:
        """The sum of all times."""
        return sum(each.seconds for each in self.stages)

    def before_pass(self, module_pass: ModulePass, module: Module) -> None:
        self._operations = _count(module)

    def after_pass(self, module_pass: ModulePass, module: Module, seconds: float) -> None:
        self.stages.append(StageTime(str(module_pass), seconds, self._operations, _count(module)))

    def after_stage(self, name: str, seconds: float) -> None:
        self.stages.append(StageTime(name, seconds))

    def __str__(self) -> str:
        total = self.seconds
        rows = [("time", "share", "operations", "pass")]
        rows += [(_milliseconds(t.seconds), _share(t.seconds, total), t.operations, t.name) for t in self.stages]
        rows.append((_milliseconds(total), _share(total, total), "", "total"))
        widths = [max(map(len, column)) for column in list(zip(*rows, strict=True))[:3]]
        return "\n".join(
            "  ".join([*(cell.rjust(width) for cell, width in zip(row[:3], widths, strict=True)), row[3]])
            for row in rows
        )


TimesReceiver: TypeAlias = Callable[[PassTimes], object]
"""A function called with the times of a compilation, as `print`."""


@contextmanager
def report_times(receive: TimesReceiver | None) -> Generator[None]:
    """Calls `receive` with the times of the passes and stages of the body after its end. None changes nothing."""
    if receive is None:
        yield
        return
    times = PassTimes()
    with observe_passes(times):
        yield
    receive(times)


def _count(module: Module) -> int:
    return sum(1 for _ in module.op.walk())


def _milliseconds(seconds: float) -> str:
    return f"{seconds * 1e3:.2f} ms"


def _share(seconds: float, total: float) -> str:
    return f"{100 * seconds / total:.1f} %" if total else ""

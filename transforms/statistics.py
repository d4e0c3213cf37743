"""Statistics of passes: the numbers of the decisions that their remarks report."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TypeAlias

from ..core.remarks import Remark, collect_remarks, report_again
from ..core.tables import text_table


@dataclass(frozen=True)
class PassCounts:
    """The numbers of the transformations that a pass made, and of those that it missed. pass_name: or `llvm`."""

    pass_name: str
    applied: int
    missed: int


@dataclass(frozen=True)
class PassStatistics:
    """The counts of the passes with decisions, in the order of their first ones. Its text is a table with the total."""

    passes: tuple[PassCounts, ...]

    @staticmethod
    def of(remarks: Counter[Remark]) -> PassStatistics:
        """The statistics of a collection of remarks."""
        kinds: dict[str, Counter[str]] = {}
        for remark, count in remarks.items():
            kinds.setdefault(remark.pass_name, Counter())[remark.kind] += count
        return PassStatistics(tuple(PassCounts(name, each["applied"], each["missed"]) for name, each in kinds.items()))

    def __str__(self) -> str:
        total = PassCounts("total", sum(each.applied for each in self.passes), sum(each.missed for each in self.passes))
        rows = [(each.pass_name, str(each.applied), str(each.missed), "") for each in (*self.passes, total)]
        return text_table([("pass", "applied", "missed", ""), *rows])


StatisticsReceiver: TypeAlias = Callable[[PassStatistics], object]
"""A function called with the statistics of a compilation, as `print`."""


@contextmanager
def report_statistics(receive: StatisticsReceiver | None) -> Generator[None]:
    """Calls `receive` with the statistics of the passes of the body after its end; collections around the body receive
    the remarks too. None changes nothing."""
    if receive is None:
        yield
        return
    remarks = Counter[Remark]()
    try:
        with collect_remarks() as remarks:
            yield
    finally:
        report_again(remarks)
    receive(PassStatistics.of(remarks))

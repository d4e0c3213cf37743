"""Kernels and their measured schedules: the workloads and records of databases."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from ....core.errors import OptionError
from ....module import Module
from ....schedule.trace import Trace
from ..ir.comparison import structural_hash
from ..ir.module import IRModule, PrimFunc
from ..target.target import Target
from ..tir import Schedule

MAIN = "main"
"""The name of the function of a workload."""
SCHEDULED = ("tir.is_scheduled", "tirx.is_scheduled")
"""The attributes of functions that somebody has scheduled."""
_IGNORED = (*SCHEDULED, "op_pattern")
"""The attributes of functions, besides their symbols, in which equal workloads may differ."""


def normalized(mod: Module) -> IRModule:
    """The kernel of a module, or a kernel, as a workload: a module of one function `main` with its symbol. OptionError
    for a module of several functions."""
    name = MAIN
    if not isinstance(mod, PrimFunc):
        functions = IRModule(mod.op, mod.constants).items()
        kernels = [func for _, func in functions if isinstance(func, PrimFunc)]
        name = next((each for each, func in functions if isinstance(func, PrimFunc)), MAIN)
        if len(kernels) != 1:
            raise OptionError(f"a module of {len(kernels)} kernels, expected one")
        (mod,) = kernels
    for key in _IGNORED:
        if key in mod.attrs:
            mod = mod.without_attr(key)
    return IRModule({MAIN: mod if "global_symbol" in mod.own_attrs else mod.with_attr("global_symbol", name)})


@dataclass(frozen=True, eq=False)
class Workload:
    """A kernel, by its structure."""

    mod: IRModule

    @cached_property
    def shash(self) -> int:
        """A number that is equal for equal kernels."""
        return structural_hash(self.mod[MAIN].with_attr("global_symbol", MAIN))

    @property
    def key(self) -> str:
        """The number as text."""
        return f"{self.shash:016x}"


class Seconds(float):
    """Seconds, as a number."""

    __slots__ = ()

    @property
    def value(self) -> float:
        """The number, as of an expression."""
        return float(self)


@dataclass(frozen=True, eq=False)
class TuningRecord:
    """A schedule of a kernel. run_secs: the seconds of the measured repetitions, empty if nothing was measured.
    is_default: whether the schedule is the default schedule for the target."""

    trace: Trace
    workload: Workload
    run_secs: Sequence[float] = field(default_factory=tuple[float, ...])
    target: Target | None = None
    args_info: Any = None
    is_default: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "run_secs", tuple(Seconds(each) for each in self.run_secs or ()))

    @property
    def mean(self) -> float:
        """The mean of the seconds, infinite without a measurement."""
        return sum(self.run_secs) / len(self.run_secs) if self.run_secs else float("inf")

    @property
    def is_failed(self) -> bool:
        """Whether all measurements failed."""
        return bool(self.run_secs) and all(each >= _FAILED for each in self.run_secs)

    def as_json(self) -> dict[str, Any]:
        """The record as a database writes it: the program with its schedule, the seconds and the target, as values of
        JSON."""
        program = self.workload.mod.op.clone()
        program.body.block.add_op(self.trace.op.clone())
        target = None if self.target is None else str(self.target)
        fields = {"program": str(program), "run_secs": [float(each) for each in self.run_secs], "target": target}
        if self.args_info is not None:
            fields["args_info"] = [each.as_json() for each in self.args_info]
        return fields | ({"is_default": True} if self.is_default else {})

    @staticmethod
    def from_json(json_obj: Any, workload: Workload) -> TuningRecord:
        """The record of values of JSON, as of `as_json` or of TVM. workload: its kernel. LoadError for other values."""
        # lazy: the forms of files are read by databases
        from .database_files import record_of

        return record_of(json_obj, workload)

    def as_measure_candidate(self) -> Any:
        """The schedule as one to measure."""
        # lazy: candidates are measured by programs of users only
        from .arg_info import args_info_of
        from .candidates import MeasureCandidate

        return MeasureCandidate(self.schedule(), self.args_info or args_info_of(self.workload.mod))

    def schedule(self) -> Schedule:
        """The kernel with the schedule."""
        sch = Schedule(self.workload.mod, enable_check=False)
        sch.replay(self.trace)
        return sch


_FAILED = 1e10
"""The seconds by which TVM denotes a failed measurement (src/meta_schedule/database/database.cc, kMaxMeanTime)."""


__all__ = ["MAIN", "SCHEDULED", "Seconds", "TuningRecord", "Workload", "normalized"]

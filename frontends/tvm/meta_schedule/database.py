"""Kernels with the schedules that were measured: `tvm.meta_schedule.database`."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, Self

from ....core.errors import LoadError, OptionError
from ....dialects.schedule import TraceOp
from ....module import Module
from ....schedule.trace import Trace
from ...mlir import parse_mlir
from ..absent import report_absent
from ..ir.comparison import structural_hash
from ..ir.module import IRModule, PrimFunc
from ..target.target import Target, TargetLike
from ..tir import Schedule

__getattr__ = report_absent("tvm.meta_schedule.database")

MAIN = "main"
"""The name of the function of a workload."""
_SCHEDULED = ("tir.is_scheduled", "tirx.is_scheduled")
"""The attributes of functions that somebody has scheduled."""
_IGNORED = (*_SCHEDULED, "op_pattern")
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
        return fields | ({"is_default": True} if self.is_default else {})

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


class Database:
    """Records of kernels in memory. `with database:` makes a database the one of `MetaScheduleApplyDatabase`."""

    _entered: ClassVar[list[Database]] = []

    def __init__(self, module_equality: str = "structural"):
        """module_equality: ignored, kernels are equal by their structure."""
        self._records: dict[int, list[TuningRecord]] = {}
        self._workloads: dict[int, Workload] = {}

    @staticmethod
    def create(kind: Any = "json", *args: Any, **kwargs: Any) -> Database:
        """A database in any accepted form: itself, "memory", "json", "union" or "ordered_union" with the arguments of
        the class, or a function of schedules (`ScheduleFnDatabase`). OptionError for another value."""
        if isinstance(kind, Database):
            return kind
        classes: dict[str, type[Database]] = {
            "memory": MemoryDatabase, "json": JSONDatabase, "union": UnionDatabase,
            "ordered_union": OrderedUnionDatabase,
        }  # fmt: skip
        if callable(kind):
            schedule_fn: Callable[..., Any] = kind
            return ScheduleFnDatabase(schedule_fn)
        if kind not in classes:
            raise OptionError(f"database {kind!r}, expected a Database, a function, {', '.join(map(repr, classes))}")
        return classes[kind](*args, **kwargs)

    @staticmethod
    def current() -> Database | None:
        """The database of the innermost `with`, None outside of one."""
        return Database._entered[-1] if Database._entered else None

    def __enter__(self) -> Self:
        Database._entered.append(self)
        return self

    def __exit__(self, *exception: object) -> None:
        Database._entered.pop()

    def has_workload(self, mod: Module) -> bool:
        """Whether the database has a kernel."""
        return Workload(normalized(mod)).shash in self._workloads

    def commit_workload(self, mod: Module) -> Workload:
        """Adds a kernel unless the database has it."""
        workload = Workload(normalized(mod))
        return self._workloads.setdefault(workload.shash, workload)

    def commit_tuning_record(self, record: TuningRecord) -> None:
        """Adds a record."""
        self.commit_workload(record.workload.mod)
        self._records.setdefault(record.workload.shash, []).append(record)

    def get_top_k(self, workload: Workload, top_k: int) -> list[TuningRecord]:
        """The fastest records of a kernel, the fastest first. Those without a measurement are last, those of failed
        measurements are left out."""
        records = [each for each in self._records.get(workload.shash, ()) if not each.is_failed]
        return sorted(records, key=lambda each: each.mean)[:top_k]

    def get_all_tuning_records(self) -> list[TuningRecord]:
        """All records."""
        return [record for records in self._records.values() for record in records]

    def __len__(self) -> int:
        return len(self.get_all_tuning_records())

    def __bool__(self) -> bool:
        return True

    def query_tuning_record(
        self, mod: Module, target: TargetLike | None = None, workload_name: str | None = None
    ) -> TuningRecord | None:
        """The fastest record of a kernel for the kind of a target, None if there is none. workload_name: ignored."""
        kind = None if target is None else Target(target).kind
        for record in self.get_top_k(Workload(normalized(mod)), len(self)):
            if kind is None or record.target is None or record.target.kind == kind:
                return record
        return None

    def query_schedule(
        self, mod: Module, target: TargetLike | None = None, workload_name: str | None = None
    ) -> Schedule | None:
        """A kernel with its fastest schedule, as of `query_tuning_record`."""
        record = self.query_tuning_record(mod, target, workload_name)
        return None if record is None else record.schedule()

    def query_ir_module(
        self, mod: Module, target: TargetLike | None = None, workload_name: str | None = None
    ) -> IRModule | None:
        """The module of `query_schedule`."""
        sch = self.query_schedule(mod, target, workload_name)
        return None if sch is None else sch.mod

    def query(
        self,
        mod: Module,
        target: TargetLike | None = None,
        *,
        workload_name: str = MAIN,
        kind: str = "schedule",
    ) -> Any:
        """The fastest record of a kernel as "schedule", "record" or "ir_module". OptionError for another kind."""
        queries = {
            "schedule": self.query_schedule,
            "record": self.query_tuning_record,
            "ir_module": self.query_ir_module,
        }
        if kind not in queries:
            raise OptionError(f"query: kind {kind!r}, expected {', '.join(queries)}")
        return queries[kind](mod, target, workload_name)

    def has_schedules_of_users(self) -> bool:
        """Whether a record may have another schedule than the default schedule."""
        return any(not record.is_default for record in self.get_all_tuning_records())

    def dump_pruned(self, destination: Database) -> None:
        """Adds the fastest record of each kernel to another database."""
        for workload in self._workloads.values():
            for record in self.get_top_k(workload, 1):
                destination.commit_tuning_record(record)


class MemoryDatabase(Database):
    """A database of this process."""


class JSONDatabase(Database):
    """A database in a file of a folder, to which records are added."""

    def __init__(
        self,
        path_workload: str | os.PathLike[str] | None = None,
        path_tuning_record: str | os.PathLike[str] | None = None,
        *,
        work_dir: str | os.PathLike[str] | None = None,
        allow_missing: bool = True,
        module_equality: str = "structural",
    ):
        """work_dir: the folder, or path_tuning_record: the file; a record has its kernel, so no file `path_workload` is
        written. allow_missing: whether a missing file is an empty database. OptionError without a path,
        LoadError for a file that is missing or no database."""
        super().__init__()
        if work_dir is None and path_tuning_record is None:
            raise OptionError("JSONDatabase: expected work_dir or path_tuning_record")
        self.path = Path(path_tuning_record or Path(work_dir or "") / "database_tuning_record.json")
        self.path_tuning_record = str(self.path)
        self.path_workload = str(path_workload or self.path.with_name("database_workload.json"))
        if self.path.exists():
            for line in self.path.read_text().splitlines():
                super().commit_tuning_record(_read(line, self.path))
        elif not allow_missing:
            raise LoadError(f"{self.path}: there is nothing")

    def commit_tuning_record(self, record: TuningRecord) -> None:
        """Adds a record, also to the file. OSError."""
        super().commit_tuning_record(record)
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("a") as file:
            file.write(f"{_write(record)}\n")


class PyDatabase(Database):
    """The base class of the databases of users, which override the methods of `Database`: `query_tuning_record` and
    the others look the records up by `get_top_k`."""

    def has_schedules_of_users(self) -> bool:
        return True


class ScheduleFnDatabase(PyDatabase):
    """A database whose schedules a function makes when a kernel is looked up.

    schedule_fn: transforms a schedule, and returns whether it has one for the kernel; the attribute `task_name` of the
    module of the schedule is the name of the kernel.
    """

    def __init__(self, schedule_fn: Callable[[Schedule], bool], module_equality: str = "structural"):
        """module_equality: ignored."""
        super().__init__()
        self.schedule_fn = schedule_fn

    def query_schedule(
        self, mod: Module, target: TargetLike | None = None, workload_name: str | None = None
    ) -> Schedule | None:
        sch = Schedule(normalized(mod).with_attr("task_name", workload_name or MAIN))
        return sch if self.schedule_fn(sch) else None

    def query_tuning_record(
        self, mod: Module, target: TargetLike | None = None, workload_name: str | None = None
    ) -> TuningRecord | None:
        sch = self.query_schedule(mod, target, workload_name)
        if sch is None:
            return None
        return TuningRecord(sch.trace, Workload(normalized(mod)), (), None if target is None else Target(target))


class UnionDatabase(PyDatabase):
    """Several databases, of whose records the fastest is the record of a kernel."""

    def __init__(self, *databases: Database):
        super().__init__()
        self.databases = databases

    def has_schedules_of_users(self) -> bool:
        return any(each.has_schedules_of_users() for each in self.databases)

    def _found(self, mod: Module, target: TargetLike | None, workload_name: str | None) -> list[TuningRecord]:
        """The records of a kernel in the databases."""
        records = (each.query_tuning_record(mod, target, workload_name) for each in self.databases)
        return [record for record in records if record is not None]

    def query_tuning_record(
        self, mod: Module, target: TargetLike | None = None, workload_name: str | None = None
    ) -> TuningRecord | None:
        return min(self._found(mod, target, workload_name), key=lambda record: record.mean, default=None)


class OrderedUnionDatabase(UnionDatabase):
    """Several databases, of which the first with a record has the record of a kernel."""

    def query_tuning_record(
        self, mod: Module, target: TargetLike | None = None, workload_name: str | None = None
    ) -> TuningRecord | None:
        return next(iter(self._found(mod, target, workload_name)), None)


def apply_database(
    database: Database, mod: Module, target: TargetLike | None, report: Callable[[str], None] = lambda _: None
) -> IRModule:
    """A copy of a module whose kernels have their fastest schedules of a database. report: is called with the name of
    each kernel that has none."""
    result = IRModule(mod.op.clone(), mod.constants)
    for name, func in IRModule(mod.op, mod.constants).items():
        if not isinstance(func, PrimFunc):
            continue
        found = database.query_ir_module(func, target, name)
        if found is None:
            report(name)
            continue
        scheduled = found[MAIN].with_attrs({**func.own_attrs, **dict.fromkeys(_SCHEDULED, True)})
        result[name] = scheduled if "global_symbol" in func.own_attrs else scheduled.with_attr("global_symbol", name)
    return result


def _write(record: TuningRecord) -> str:
    """A record as a line of text."""
    return json.dumps(record.as_json())


def _read(line: str, path: Path) -> TuningRecord:
    """The record of a line. LoadError for another text."""
    try:
        fields = json.loads(line)
        program = parse_mlir(fields["program"])
        (trace,) = (op for op in program.op.body.block.ops if isinstance(op, TraceOp))
        seconds = [float(each) for each in fields["run_secs"]]
        target = None if fields["target"] is None else Target(fields["target"])
    except (ValueError, KeyError, TypeError) as error:
        raise LoadError(f"{path}: {line[:40]!r}, expected a record of a schedule: {error}") from None
    trace.detach()
    workload = Workload(IRModule(program.op))
    return TuningRecord(Trace(trace), workload, seconds, target, is_default=bool(fields.get("is_default")))


__all__ = [
    "Database", "JSONDatabase", "MemoryDatabase", "OrderedUnionDatabase", "PyDatabase", "ScheduleFnDatabase",
    "TuningRecord", "UnionDatabase", "Workload", "apply_database",
]  # fmt: skip

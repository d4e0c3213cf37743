"""Kernels with the schedules that were measured: `tvm.meta_schedule.database`."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar, Self

from ....core.errors import LoadError, OptionError
from ....module import Module
from ..absent import report_absent
from ..ir.module import IRModule, PrimFunc
from ..target.target import Target, TargetLike
from ..tir import Schedule
from .database_files import is_of_tvm, read_records, read_workloads
from .records import MAIN, SCHEDULED, TuningRecord, Workload, normalized

__getattr__ = report_absent("tvm.meta_schedule.database")


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
        self._add(record)

    def _add(self, record: TuningRecord) -> None:
        """Adds a record of a normalized kernel."""
        shash = record.workload.shash
        self._workloads.setdefault(shash, record.workload)
        self._records.setdefault(shash, []).append(record)

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
    """A database in a file of a folder, to which records are added. Databases of TVM are read: a file with its records
    remains as it is, and new ones are in a file of their own beside it, `*.stepwell.json`, which is read too."""

    def __init__(
        self,
        path_workload: str | os.PathLike[str] | None = None,
        path_tuning_record: str | os.PathLike[str] | None = None,
        *,
        work_dir: str | os.PathLike[str] | None = None,
        allow_missing: bool = True,
        module_equality: str = "structural",
    ):
        """work_dir: the folder, or path_tuning_record: the file.  path_workload: the kernels of the records of TVM,
        which are not written, since records of here have their kernels.  allow_missing: whether missing files are
        created, as those of an empty database.  module_equality: ignored. OptionError without a path, LoadError for a
        file that is missing or no database, OSError."""
        super().__init__()
        if work_dir is None and path_tuning_record is None:
            raise OptionError("JSONDatabase: expected work_dir or path_tuning_record")
        path = Path(path_tuning_record or Path(work_dir or "") / "database_tuning_record.json")
        self.path_tuning_record = str(path)
        self.path_workload = str(path_workload or path.with_name("database_workload.json"))
        for each in (path, Path(self.path_workload)):
            if not each.exists() and allow_missing:
                each.parent.mkdir(parents=True, exist_ok=True)
                each.touch()
        if not path.exists():
            raise LoadError(f"{path}: there is nothing")
        is_read_only = is_of_tvm(path)
        self.path = path.with_suffix(".stepwell.json") if is_read_only else path
        workloads = read_workloads(kernels) if (kernels := Path(self.path_workload)).exists() else []
        for workload in workloads:
            self._workloads.setdefault(workload.shash, workload)
        for each in dict.fromkeys((path, self.path)):
            for record in read_records(each, workloads) if each.exists() else ():
                self._add(record)

    def commit_tuning_record(self, record: TuningRecord) -> None:
        """Adds a record, also to the file. OSError."""
        super().commit_tuning_record(record)
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("a") as file:
            file.write(f"{json.dumps(record.as_json())}\n")


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
        scheduled = found[MAIN].with_attrs({**func.own_attrs, **dict.fromkeys(SCHEDULED, True)})
        result[name] = scheduled if "global_symbol" in func.own_attrs else scheduled.with_attr("global_symbol", name)
    return result


__all__ = [
    "Database", "JSONDatabase", "MemoryDatabase", "OrderedUnionDatabase", "PyDatabase", "ScheduleFnDatabase",
    "TuningRecord", "UnionDatabase", "Workload", "apply_database", "normalized",
]  # fmt: skip

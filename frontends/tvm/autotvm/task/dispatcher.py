"""The configuration of a template in a context: `tvm.autotvm.task.dispatcher`."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterable, Iterator
from io import TextIOBase
from statistics import fmean
from typing import Any, ClassVar, Self

from .....core.errors import OptionError
from ...absent import report_absent
from ...target.target import Target
from .. import env
from .space import ConfigSpace, FallbackConfigEntity

__getattr__ = report_absent("tvm.autotvm.task.dispatcher")
logger = logging.getLogger("autotvm")


class DispatchContext:
    """A source of configurations; `with context:` makes it the first. current: the innermost context.

    warning_messages: the warnings of templates without a record, each of which is written once.
    """

    current: ClassVar[DispatchContext]
    warning_messages: ClassVar[set[str]] = set()

    def __init__(self) -> None:
        self._outer: DispatchContext | None = getattr(DispatchContext, "current", None)

    def query(self, target: Target | None, workload: Any) -> Any:
        """The configuration of a workload for a target: of this context, else of those around it."""
        found = self._query_inside(target, workload)
        if found is None and self._outer is not None:
            return self._outer.query(target, workload)
        return found

    def _query_inside(self, target: Target | None, workload: Any) -> Any:
        """The configuration in this context, or None."""
        raise NotImplementedError(f"{type(self).__name__} has no method _query_inside")

    def update(self, target: Target | None, workload: Any, cfg: ConfigSpace) -> None:
        """Sets the configuration of a workload for a target."""
        raise NotImplementedError(f"{type(self).__name__} has no method update")

    def __enter__(self) -> Self:
        self._outer = DispatchContext.current
        DispatchContext.current = self
        return self

    def __exit__(self, *exception: object) -> None:
        assert self._outer is not None
        DispatchContext.current = self._outer


class ApplyConfig(DispatchContext):
    """The same configuration for all templates. workload: of the last query."""

    def __init__(self, config: ConfigSpace):
        super().__init__()
        self._config = config
        self.workload: Any = None

    def _query_inside(self, target: Target | None, workload: Any) -> ConfigSpace:
        self.workload = workload
        return self._config

    def update(self, target: Target | None, workload: Any, cfg: ConfigSpace) -> None:
        self.workload, self._config = workload, cfg


class ApplyFixedConfig(DispatchContext):
    """The first configuration of each task. The cost is low for tasks with the given names, high for others."""

    def __init__(self, tasks: Iterable[Any], schedule_names: str | list[str]):
        super().__init__()
        self._tasks = list(tasks)
        self._names = [schedule_names] if isinstance(schedule_names, str) else list(schedule_names)
        self.workload: Any = None

    def _query_inside(self, target: Target | None, workload: Any) -> ConfigSpace:
        self.workload = workload
        task = next((each for each in self._tasks if workload is not None and each.name == workload[0]), None)
        if task is None:
            raise OptionError(f"workload {workload}: none of the tasks {', '.join(each.name for each in self._tasks)}")
        config = task.config_space.get(0)
        config.cost = 1e-6 if task.name in self._names else 100000.0
        return config


class ApplyHistoryBest(DispatchContext):
    """The fastest configuration of each workload in records: of the target's model, else of the first of its keys.

    records: a file by its path, an open file, pairs of an input and a result, or several of these. Records of templates
    that the program does not have are without effect: operators of graphs have default schedules.
    """

    def __init__(self, records: Any):
        super().__init__()
        self.best_by_targetkey: dict[tuple[str, Any], Any] = {}
        self.best_by_model: dict[tuple[str, Any], Any] = {}
        self._best_user_defined: dict[tuple[str, Any], ConfigSpace] = {}
        if records:
            self.load(records)

    def load(self, records: Any) -> None:
        """Adds records. OSError for a missing file, LoadError for a line that is no record."""
        count = 0
        for inp, result in records_of(records):
            count += 1
            if result.error_no != 0:
                continue
            for key in inp.target.keys:
                _keep_faster(self.best_by_targetkey, (key, inp.task.workload), inp, result)
            if inp.target.model != "unknown":
                _keep_faster(self.best_by_model, (inp.target.model, inp.task.workload), inp, result)
        logger.debug("Finish loading %d records", count)
        unknown = sorted({key[1][0] for key in self.best_by_targetkey if not _is_template(key[1][0])})
        if unknown:
            logger.debug("No template here for %s: default schedules", ", ".join(unknown))

    def _query_inside(self, target: Target | None, workload: Any) -> Any:
        if target is None:
            raise OptionError("no current target, expected `with tvm.target.Target('llvm'):` around the template")
        keys = [(target.model, self.best_by_model), *((key, self.best_by_targetkey) for key in target.keys)]
        for key, table in keys:
            if (key, workload) in self._best_user_defined:
                return self._best_user_defined[key, workload]
            if (key, workload) in table:
                return table[key, workload][0].config
        return None

    def update(self, target: Target | None, workload: Any, cfg: ConfigSpace) -> None:
        if target is not None:
            cfg.cost = 0
            for key in (target.model, *target.keys):
                self._best_user_defined[key, workload] = cfg


def _keep_faster(table: dict[tuple[str, Any], Any], key: tuple[str, Any], inp: Any, result: Any) -> None:
    if key not in table or fmean(result.costs) < fmean(table[key][1].costs):
        table[key] = (inp, result)


def _is_template(name: str) -> bool:
    # lazy: tasks create contexts
    from .task import TASK_TABLE

    return name in TASK_TABLE


def records_of(records: Any) -> Iterator[tuple[Any, Any]]:
    """The pairs of inputs and results in any accepted form of records."""
    # lazy: records create tasks
    from ..record import load_from_buffer, load_from_file

    if isinstance(records, str | bytes | os.PathLike):
        yield from load_from_file(records)  # pyright: ignore[reportUnknownArgumentType]
    elif isinstance(records, TextIOBase):
        yield from load_from_buffer(records)
    else:
        for each in records:
            if isinstance(each, tuple) and hasattr(each[0], "config"):  # pyright: ignore[reportUnknownArgumentType]
                yield each[0], each[1]  # pyright: ignore[reportUnknownMemberType]
            else:
                yield from records_of(each)


class FallbackContext(DispatchContext):
    """The outermost context: a configuration without a record, the same for each query of a workload. A warning states
    the workload, once."""

    def __init__(self) -> None:
        super().__init__()
        self.memory: dict[tuple[str, Any], ConfigSpace] = {}

    def _query_inside(self, target: Target | None, workload: Any) -> ConfigSpace:
        key = str(target), workload
        if key not in self.memory:
            _warn(f"Cannot find config for target={target}, workload={workload}. A fallback configuration is used.")
            self.memory[key] = FallbackConfigEntity()
        return self.memory[key]

    def clear_cache(self, target: Target | None, workload: Any) -> None:
        """Forgets the configuration of a workload."""
        self.memory.pop((str(target), workload), None)

    def update(self, target: Target | None, workload: Any, cfg: ConfigSpace) -> None:
        self.memory[str(target), workload] = cfg


def _warn(message: str) -> None:
    if not env.GLOBAL_SCOPE.silent and message not in DispatchContext.warning_messages:
        DispatchContext.warning_messages.add(message)
        logger.warning(message)


DispatchContext.current = FallbackContext()


def clear_fallback_cache(target: Target | None, workload: Any) -> None:
    """Forgets the configuration that the outermost context has for a workload."""
    context: Any = DispatchContext.current
    while not isinstance(context, FallbackContext):
        context = context._outer
    context.clear_cache(target, workload)


class ApplyGraphBest(DispatchContext):
    """The configurations of records one by one, in the order of queries; then those set by `update`, and configurations
    without a record. OptionError for a query of another workload than that of the next record."""

    def __init__(self, records: Any):
        super().__init__()
        self._records = iter(list(records_of(records)))
        self._known: dict[tuple[str, Any], ConfigSpace] = {}

    def _query_inside(self, target: Target | None, workload: Any) -> ConfigSpace:
        record = next(self._records, None)
        if record is None:
            if (str(target), workload) not in self._known:
                _warn(f"Config for target={target}, workload={workload} is missing in ApplyGraphBest context.")
            return self._known.setdefault((str(target), workload), FallbackConfigEntity())
        inp = record[0]
        if workload is not None and inp.task.workload != workload:
            raise OptionError(f"workload {workload}, expected that of the next record, {inp.task.workload}")
        self.update(target, inp.task.workload, inp.config)
        return inp.config

    def update(self, target: Target | None, workload: Any, cfg: ConfigSpace) -> None:
        self._known[str(target), workload] = cfg


__all__ = [
    "ApplyConfig", "ApplyFixedConfig", "ApplyGraphBest", "ApplyHistoryBest", "DispatchContext", "FallbackContext",
    "clear_fallback_cache",
]  # fmt: skip

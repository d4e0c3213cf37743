"""Templates of a function of tensors and its schedule: `tvm.autotvm.task.topi_integration`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any, ClassVar, Self
from weakref import WeakKeyDictionary

from .....core.errors import OptionError
from .....expressions.tensor import Operation, Tensor, topological_order
from ...absent import report_absent
from ...target.target import Target
from .dispatcher import DispatchContext
from .task import args_to_workload, register_function, serialize_args

__getattr__ = report_absent("tvm.autotvm.task.topi_integration")
_WORKLOADS: WeakKeyDictionary[Operation, tuple[Any, ...]] = WeakKeyDictionary()
"""The workload of each operation that a template has computed."""


class TaskExtractEnv:
    """The templates that are called inside of `with env:`. allow_duplicate: whether equal calls count apart."""

    current: ClassVar[TaskExtractEnv | None] = None

    def __init__(self, allow_duplicate: bool = False):
        self.allow_duplicate = allow_duplicate
        self.tracing = False
        self.task_collection: list[tuple[str, tuple[Any, ...]]] = []
        self.wanted_relay_ops: Any = None

    def __enter__(self) -> Self:
        self.tracing = True
        return self

    def __exit__(self, *exception: object) -> None:
        self.tracing = False

    def reset(self, wanted_relay_ops: Any = None) -> None:
        """Forgets the calls. wanted_relay_ops: kept, operators of graphs call no templates."""
        self.task_collection, self.wanted_relay_ops = [], wanted_relay_ops

    def add_task(self, task_name: str, args: Sequence[Any]) -> None:
        """Adds a call."""
        key = task_name, serialize_args(args)
        if self.allow_duplicate or key not in self.task_collection:
            self.task_collection.append(key)

    def get_tasks(self) -> list[tuple[str, tuple[Any, ...]]]:
        """The names and the arguments of the calls."""
        return self.task_collection

    @staticmethod
    def get(allow_duplicate: bool = False) -> TaskExtractEnv:
        """The environment of this process."""
        if TaskExtractEnv.current is None:
            TaskExtractEnv.current = TaskExtractEnv(allow_duplicate)
        TaskExtractEnv.current.allow_duplicate = allow_duplicate
        return TaskExtractEnv.current


def register_topi_compute(task_name: str, func: Callable[..., Any] | None = None) -> Any:
    """The tensors of a template: `@autotvm.register_topi_compute("name")` on a function of a configuration and
    arguments, which is called without the configuration. The operation keeps the workload for
    `register_topi_schedule`."""
    _check_name("register_topi_compute", task_name)

    def decorate(compute: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(compute)
        def call(*args: Any, **named: Any) -> Any:
            _check_positional(task_name, named)
            env = TaskExtractEnv.current
            if env is not None and env.tracing:
                env.add_task(task_name, args)
            workload = args_to_workload(args, task_name)
            config = DispatchContext.current.query(Target.current(), workload)
            out = compute(config, *args)
            _WORKLOADS[(out if isinstance(out, Tensor) else out[0]).op] = workload
            return out

        register_function(task_name, "fcompute", call)
        return call

    return decorate if func is None else decorate(func)


def register_topi_schedule(task_name: str, func: Callable[..., Any] | None = None) -> Any:
    """The schedule of a template: `@autotvm.register_topi_schedule("name")` on a function of a configuration and the
    tensors, which is called without the configuration. OptionError for tensors that the template of the name has not
    computed."""
    _check_name("register_topi_schedule", task_name)

    def decorate(schedule: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(schedule)
        def call(outs: Any, *args: Any, **named: Any) -> Any:
            workload = get_workload(outs, task_name)
            if workload is None:
                raise OptionError(f"task {task_name}: no tensor of register_topi_compute({task_name!r}) among {outs}")
            config = DispatchContext.current.query(Target.current(), workload)
            return schedule(config, outs, *args, **named)

        register_function(task_name, "fschedule", call)
        return call

    return decorate if func is None else decorate(func)


def _check_name(what: str, name: object) -> None:
    if not isinstance(name, str):
        raise OptionError(f"{what}: {name!r}, expected the name of a task, as since v0.7")


def _check_positional(name: str, named: dict[str, Any]) -> None:
    if named:
        raise OptionError(f"task {name}: arguments {', '.join(named)} by name, expected them in order")


def get_workload(outs: Any, task_name: str | None = None) -> tuple[Any, ...] | None:
    """The workload of the template that has computed one of the tensors, None without one. task_name: of the
    template."""
    tensors = [outs] if isinstance(outs, Tensor) else list(outs)
    for op in topological_order(tensors):
        workload = _WORKLOADS.get(op)
        if workload is not None and task_name in (None, workload[0]):
            return workload
    return None


__all__ = ["TaskExtractEnv", "get_workload", "register_topi_compute", "register_topi_schedule"]

"""Templates and their tasks: `tvm.autotvm.task.task`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any, NoReturn

from .....core.errors import OptionError
from .....expressions.expr import FloatImm, IntImm, StringImm, Var
from .....expressions.tensor import PlaceholderOp, Tensor, placeholder, topological_order
from ...absent import report_absent
from ...target.target import Target, TargetLike, target_of
from .dispatcher import ApplyConfig, DispatchContext
from .flops import compute_flop
from .space import ConfigEntity, ConfigSpace
from .topi_tasks import topi_functions

__getattr__ = report_absent("tvm.autotvm.task.task")


def serialize_args(args: Sequence[Any]) -> tuple[Any, ...]:
    """Arguments of a template as a tuple that can be compared and written as JSON; a tensor is `("TENSOR", shape,
    dtype)`. OptionError for an argument that is neither a tensor, a number, a text, a variable nor a list of these."""
    return tuple(map(_encode, args))


def _encode(value: Any) -> Any:
    if isinstance(value, Tensor):
        return "TENSOR", tuple(map(_encode, value.shape)), value.dtype
    if isinstance(value, tuple | list):
        return tuple(map(_encode, value))  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]
    if isinstance(value, StringImm | IntImm | FloatImm):
        return value.value
    if value is None or isinstance(value, str | int | float | Var):
        return value
    if hasattr(value, "item"):  # a number of numpy
        return value.item()
    raise OptionError(f"argument {value!r} of a template, expected tensors, numbers, text, or lists of these")


def tuples_of_lists(value: Any) -> Any:
    """The arguments of `serialize_args` that were read from JSON, which has lists instead of tuples."""
    return tuple(map(tuples_of_lists, value)) if isinstance(value, list) else value  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]


def deserialize_args(args: Sequence[Any]) -> list[Any]:
    """The arguments of `serialize_args`: each tensor is a new placeholder."""
    return [
        placeholder(each[1], each[2]) if isinstance(each, tuple) and each and each[0] == "TENSOR" else each
        for each in args
    ]


def args_to_workload(args: Sequence[Any], task_name: str | None = None) -> tuple[Any, ...]:
    """The workload of a call: the name of the task, if any, and the arguments as of `serialize_args`."""
    return serialize_args(args) if task_name is None else (task_name, *serialize_args(args))


class TaskTemplate:
    """A template: a function that returns a schedule and its tensors, or a function of tensors and one that schedules
    its result."""

    def __init__(self, name: str):
        self.name = name
        self.fcompute: Callable[..., Any] | None = None
        self.fschedule: Callable[..., Any] | None = None
        self.fcustomized: Callable[..., Any] | None = None

    def __call__(self, *args: Any) -> tuple[Any, list[Any]]:
        """The schedule and the tensors. OptionError without a function."""
        values = deserialize_args(args)
        if self.fcustomized is not None:
            return self.fcustomized(*values)
        if self.fcompute is None or self.fschedule is None:
            missing = "register_topi_compute" if self.fcompute is None else "register_topi_schedule"
            raise OptionError(f"task {self.name}: no function of {missing}")
        out = self.fcompute(*values)
        results = [out] if isinstance(out, Tensor) else list(out)
        schedule = self.fschedule(results)
        inputs = [each.output(0) for each in topological_order(results) if isinstance(each, PlaceholderOp)]
        return schedule, [*results, *inputs]


TASK_TABLE: dict[str, TaskTemplate] = {}
"""The templates of the program by name."""


def register_function(name: str, kind: str, function: Callable[..., Any], override: bool = False) -> None:
    """Sets a function of a template: "fcompute", "fschedule" or "fcustomized". OptionError for a second function,
    unless `override`."""
    template = TASK_TABLE.setdefault(name, TaskTemplate(name))
    if getattr(template, kind) is not None and not override:
        raise OptionError(f"task {name!r} is registered already")
    setattr(template, kind, function)


class Task:
    """A template with arguments: a space of configurations for a target.

    flop: the operations of a run.  workload: the name and the arguments.
    """

    def __init__(self, name: str, args: Sequence[Any]):
        self.name = name
        self.args = tuple(args)
        self.kwargs: dict[str, Any] = {}
        self.config_space: Any = None
        self.flop: float | None = None
        self.target: Any = None
        self.target_host: Any = None

    @property
    def func(self) -> Callable[..., tuple[Any, list[Any]]]:
        """The template. A call of a template that neither the program nor TVM has is an OptionError."""
        if self.name in TASK_TABLE:
            return TASK_TABLE[self.name]
        functions = topi_functions(self.name)
        if functions is None:
            return self._report_missing
        template = TaskTemplate(self.name)
        template.fcompute, template.fschedule = functions
        return template

    def _report_missing(self, *_args: Any) -> NoReturn:
        raise OptionError(f"no template {self.name!r} in this program: import the module that registers it")

    @property
    def workload(self) -> tuple[Any, ...]:
        """The name and the arguments, as of `args_to_workload`."""
        return args_to_workload(self.args, self.name)

    def instantiate(self, config: ConfigEntity) -> tuple[Any, list[Any]]:
        """The schedule of a configuration, and its tensors. Errors of the template."""
        config.flop = 0
        with ApplyConfig(config):
            schedule, tensors = self.func(*self.args)
        if not self.flop:
            self.flop = config.flop or compute_flop(schedule)
        return schedule, tensors

    def __repr__(self) -> str:
        return f"Task(func_name={self.name}, args={self.args}, kwargs={self.kwargs}, workload={self.workload})"


def template(task_name: str | Callable[..., Any], func: Callable[..., Any] | None = None) -> Any:
    """A template: `@autotvm.template("name")` on a function that returns a schedule and its tensors; until v0.6
    `@autotvm.template`, whose name is that of the function.

    A call of the template uses the configuration of the context (`apply_history_best`), for the current target.
    OptionError for a name that has a template, and for arguments by name in a call.
    """
    if callable(task_name):
        return template(task_name.__qualname__, task_name)

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(function)
        def call(*args: Any, **named: Any) -> Any:
            if named:
                raise OptionError(f"template {task_name}: arguments {', '.join(named)} by name, expected them in order")
            config = DispatchContext.current.query(Target.current(), args_to_workload(args, task_name))
            with ApplyConfig(config):
                return function(*args)

        register_function(task_name, "fcustomized", function, override=_is_redefined(task_name, function))
        call.task_name = task_name  # pyright: ignore[reportAttributeAccessIssue]
        return call

    return decorate if func is None else decorate(func)


def _is_redefined(name: str, function: Callable[..., Any]) -> bool:
    """Whether a template of a name is the same function of the program, which has been run again (in a notebook)."""
    known = TASK_TABLE[name].fcustomized if name in TASK_TABLE else None
    return known is not None and (known.__module__, known.__qualname__) == (function.__module__, function.__qualname__)


def register(name: str, func: Callable[..., Any] | None = None, override: bool = False) -> Any:
    """Registers a function as the template of a task, as until v0.6. OptionError for a name that has a template,
    unless `override`."""

    def add(function: Callable[..., Any]) -> Callable[..., Any]:
        register_function(name, "fcustomized", function, override)
        return function

    return add if func is None else add(func)


def create(
    task_name: str | Callable[..., Any],
    args: Sequence[Any],
    target: TargetLike,
    target_host: TargetLike | None = None,
    template_key: str | None = None,
) -> Task:
    """A task: a template with arguments for a target.

    task_name: of the template, or the template; a function that is no template becomes one. A template of TVM's own,
    `conv2d_nchw.cuda`, has one configuration, the default schedule.  The template runs once to
    define its space. template_key: of v0.6, part of records.  OptionError for a name without a template, errors of the
    template.
    """
    if callable(task_name):
        name = str(getattr(task_name, "task_name", task_name.__qualname__))
        if name not in TASK_TABLE:
            register_function(name, "fcustomized", task_name)
        task_name = name
    task = Task(task_name, serialize_args(args))
    where = target_of(target, target_host)
    space = ConfigSpace()
    space.template_key = template_key
    with where, ApplyConfig(space):
        schedule, _ = task.func(*task.args)
    task.config_space = space
    task.flop = space.flop or compute_flop(schedule)
    task.target, task.target_host = where, where.host
    return task


def get_config() -> Any:
    """The configuration of the template that runs: its space while a task is created, a configuration while it is
    measured or applied, else that without a record."""
    return DispatchContext.current.query(Target.current(), None)


__all__ = [
    "TASK_TABLE", "Task", "TaskTemplate", "args_to_workload", "compute_flop", "create", "deserialize_args",
    "get_config", "register", "serialize_args", "template",
]  # fmt: skip

"""Functions of users that compute tensors: `tvm.auto_scheduler.workload_registry`."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

from ....core.errors import OptionError
from ....expressions.tensor import Tensor
from ..absent import report_absent
from ..autotvm.task.task import deserialize_args, serialize_args, tuples_of_lists

__getattr__ = report_absent("tvm.auto_scheduler.workload_registry")

WORKLOAD_FUNC_REGISTRY: dict[str, Callable[..., Any] | list[Tensor]] = {}
"""The functions by name, and the tensors of workloads without a function by key."""


def register_workload(
    func_name: str | Callable[..., Any], f: Callable[..., Any] | None = None, override: bool = False
) -> Any:
    """Registers a function that returns tensors, inputs and results in the order of arguments:
    `@auto_scheduler.register_workload`, or with a name. OptionError for a name of another function, unless
    `override`."""
    if callable(func_name):
        return register_workload(func_name.__qualname__, func_name, override)

    def add(function: Callable[..., Any]) -> Callable[..., Any]:
        known = WORKLOAD_FUNC_REGISTRY.get(func_name)
        if known is not None and not override and getattr(known, "__qualname__", None) != function.__qualname__:
            raise OptionError(f"workload {func_name!r} is registered already")
        WORKLOAD_FUNC_REGISTRY[func_name] = function
        return function

    return add if f is None else add(f)


def register_workload_tensors(workload_key: str, tensors: Sequence[Tensor], override: bool = True) -> str:
    """Registers the tensors of a key, and returns it. OptionError for a key that has tensors, unless `override`."""
    if workload_key in WORKLOAD_FUNC_REGISTRY and not override:
        raise OptionError(f"workload {workload_key!r} is registered already")
    WORKLOAD_FUNC_REGISTRY[workload_key] = list(tensors)
    return workload_key


def make_workload_key(func: str | Callable[..., Any], args: Sequence[Any]) -> str:
    """The key of a function with arguments, as JSON. OptionError for a function that is not registered."""
    name = func if isinstance(func, str) else func.__qualname__
    names = [each for each, known in WORKLOAD_FUNC_REGISTRY.items() if known is func] or [name]
    if names[0] not in WORKLOAD_FUNC_REGISTRY:
        raise OptionError(f"function {name} is no workload, expected @auto_scheduler.register_workload")
    return json.dumps([names[0], *serialize_args(args)])


def workload_key_to_tensors(workload_key: str) -> list[Tensor]:
    """The tensors of a key. OptionError for a key without a function or tensors."""
    known = WORKLOAD_FUNC_REGISTRY.get(workload_key)
    if isinstance(known, list):
        return known
    name, *args = json.loads(workload_key)
    function = WORKLOAD_FUNC_REGISTRY.get(name)
    if not callable(function):
        raise OptionError(f"workload {workload_key}: no function {name!r} is registered")
    return list(function(*deserialize_args(tuples_of_lists(args))))


def serialize_workload_registry_entry(workload_key: str) -> tuple[str, Callable[..., Any] | list[Tensor]]:
    """The entry of a key or of the name of a function, which can be pickled for another process. OptionError without an
    entry."""
    name = workload_key if workload_key in WORKLOAD_FUNC_REGISTRY else json.loads(workload_key)[0]
    if name not in WORKLOAD_FUNC_REGISTRY:
        raise OptionError(f"workload {workload_key}: no function {name!r} is registered")
    return name, WORKLOAD_FUNC_REGISTRY[name]


def deserialize_workload_registry_entry(data: tuple[str, Callable[..., Any] | list[Tensor]]) -> None:
    """Registers an entry of `serialize_workload_registry_entry`, unless its name has one."""
    name, value = data
    WORKLOAD_FUNC_REGISTRY.setdefault(name, value)


__all__ = [
    "WORKLOAD_FUNC_REGISTRY", "deserialize_workload_registry_entry", "make_workload_key", "register_workload",
    "register_workload_tensors", "serialize_workload_registry_entry", "workload_key_to_tensors",
]  # fmt: skip

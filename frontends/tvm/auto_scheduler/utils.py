"""Helpers of search tasks, as programs import them: `tvm.auto_scheduler.utils`."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from multiprocessing import Pipe, Process
from typing import Any

import numpy as np

from ..absent import report_absent
from ..autotvm.measure import request_remote
from ..autotvm.task.task import deserialize_args, serialize_args, tuples_of_lists
from ..topi.utils import get_const_int, get_const_tuple

__getattr__ = report_absent("tvm.auto_scheduler.utils")


def decode_workload_key(workload_key: str) -> tuple[str, tuple[Any, ...] | None]:
    """The name of a function, or the hash of a computation, in a key of a workload, with its arguments in one tuple
    without nesting. A key that is no list in JSON is a name without arguments."""
    try:
        decoded = json.loads(workload_key)
    except json.JSONDecodeError:
        return workload_key, None
    if not isinstance(decoded, list) or not decoded:
        return workload_key, None
    return decoded[0], tuple(_flat(decoded[1:]))


def _flat(values: Sequence[Any]) -> list[Any]:
    """The elements of nested lists in order."""
    return [each for value in values for each in (_flat(value) if isinstance(value, list) else [value])]


def calc_workload_dis_factor(
    target_workload_pair: tuple[str, Sequence[Any] | None], workload_pair: tuple[str, Sequence[Any] | None]
) -> float:
    """The distance of a workload to another, both as `decode_workload_key` returns them: the product of the quotients
    of their sizes; infinity for other functions, for sizes that do not divide, and for other arguments that differ."""
    (target, target_args), (name, args) = target_workload_pair, workload_pair
    target_args, args = target_args or (), args or ()
    if target != name or len(target_args) != len(args):
        return float("inf")
    factor = 1.0
    for wanted, found in zip(target_args, args, strict=True):
        if wanted == found:
            continue
        if not isinstance(wanted, int) or wanted == 0 or found == 0 or wanted % found:
            return float("inf")
        factor *= wanted / found
    return factor


def get_func_name(func: Callable[..., Any]) -> str:
    """The name of a function: its `func_name`, else its qualified name."""
    return getattr(func, "func_name", func.__qualname__)


def list_to_tuple(x: Sequence[Any]) -> tuple[Any, ...]:
    """Nested lists as nested tuples."""
    return tuples_of_lists(x)


def array_mean(arr: Sequence[Any]) -> float:
    """The mean of constants."""
    return sum(each.value if hasattr(each, "value") else each for each in arr) / len(arr)


def to_str_round(x: Any, decimal: int = 6) -> str:
    """A value as text in which floats have a number of decimals: numbers, texts, lists, tuples, arrays, dictionaries.
    ValueError for values of other types."""
    if isinstance(x, str):
        return x
    if isinstance(x, list | tuple | np.ndarray):
        return "[" + ", ".join(to_str_round(each, decimal) for each in x) + "]"
    if isinstance(x, Mapping):
        return str({key: to_str_round(value) for key, value in x.items()})
    if isinstance(x, int | np.integer):
        return str(x)
    if isinstance(x, float | np.floating):
        return f"{x:.{decimal}f}"
    raise ValueError(f"a value of type {type(x).__name__}, expected numbers, texts, and lists and dictionaries of them")


def call_func_with_timeout(
    timeout: float,
    func: Callable[..., Any],
    args: Sequence[Any] = (),
    kwargs: Mapping[str, Any] | None = None,
    add_thread_wrapper: bool = False,
) -> Any:
    """The result of a function that runs in a process of its own for at most `timeout` seconds: TimeoutError, as a
    result, after that; the exception of the function, as a result, if it raises one. add_thread_wrapper: accepted
    without effect."""
    del add_thread_wrapper
    reader, writer = Pipe(duplex=False)
    process = Process(target=_send_result, args=(writer, func, args, kwargs or {}))
    process.start()
    writer.close()
    try:
        return reader.recv() if reader.poll(timeout) else TimeoutError()
    except EOFError:
        return RuntimeError(f"the process of {get_func_name(func)} ended without a result")
    finally:
        process.kill()
        process.join()
        reader.close()


def _send_result(writer: Any, func: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]) -> None:
    """Calls a function, and sends its result, or its exception."""
    try:
        writer.send(func(*args, **kwargs))
    except Exception as error:
        writer.send(error)


def check_remote(
    device_key: str, host: str | None = None, port: int | None = None, priority: int = 100, timeout: int = 10
) -> bool:
    """False: programs run on this machine only."""
    del device_key, host, port, priority, timeout
    return False


def run_cmd(cmd: str) -> None:
    """Prints a command and runs it in a shell; ends the program if it fails."""
    print(cmd)
    status = subprocess.run(cmd, shell=True, check=False).returncode
    if status:
        sys.exit(status)


__all__ = [
    "array_mean", "calc_workload_dis_factor", "call_func_with_timeout", "check_remote", "decode_workload_key",
    "deserialize_args", "get_const_int", "get_const_tuple", "get_func_name", "list_to_tuple", "request_remote",
    "run_cmd", "serialize_args", "to_str_round",
]  # fmt: skip

"""Packed functions: Python functions that native code calls by name.

A packed function receives numpy arrays on the caller's memory (valid during the call only) and Python numbers; it
returns a number if its declaration has a result. Its exceptions propagate out of the compiled function.

An exception does not cross native code. Native code keeps it in `pending_errors` under a negative status, by which the
caller of the native code, perhaps in another thread, retrieves it.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar, overload

import numpy as np

from ...core.assertions import DEFAULT_KIND, UNDEFINED_BEHAVIOR, fill_message
from ...core.diagnostics import did_you_mean
from ...core.dtypes import int_range, numpy_dtype, parse_dtype
from ...core.errors import ArgumentError, ExecutionError, LinkError
from ...core.printing import print_line
from ...dialects.attributes import PRINT, REPORT_ASSERTION, REPORT_UNDEFINED
from .memory import array_at
from .signature import BufferParameter, HandleParameter, PackedSignature, RuntimeParameter, ScalarParameter

F = TypeVar("F", bound=Callable[..., Any])

_registry: dict[str, Callable[..., Any]] = {}

CANCELLED = -(2**31)
"""The status of a thread that leaves a parallel loop because an iteration in another thread has failed."""
STATUSES = 2**31 - 2
"""The number of statuses of exceptions: -1, -2, ..."""
pending_errors: dict[int, BaseException] = {}
"""The exceptions that their callers have not retrieved yet, by status."""
_MOST_PENDING = 1024
"""The number of exceptions that are kept. A parallel loop whose iterations raise several exceptions reports one."""


def take_error(status: int) -> BaseException:
    """Removes and returns the exception with a negative status."""
    if status == CANCELLED:
        return ExecutionError("cancelled: another thread has failed in an iteration of the same parallel loop")
    error = pending_errors.pop(status)
    for _ in range(len(pending_errors) - _MOST_PENDING):
        pending_errors.pop(next(iter(pending_errors)), None)
    return error


def registered_names() -> list[str]:
    """The names of the packed functions."""
    return list(_registry)


@overload
def register_func(name: str, f: F, override: bool = False) -> F: ...
@overload
def register_func(name: str, f: None = None, override: bool = False) -> Callable[[F], F]: ...
def register_func(name: str, f: Any = None, override: bool = False) -> Any:
    """Registers `f` as the packed function `name`; without `f`, returns a decorator. Raises ArgumentError if `name` is
    registered already, unless `override`.
    """

    def register(function: Any) -> Any:
        if not callable(function):
            raise ArgumentError(f"packed function {name!r}: expected a callable, got {type(function).__name__}")
        if name in _registry and not override:
            raise ArgumentError(f"packed function {name!r} is registered already, pass override=True to replace it")
        _registry[name] = function
        return function

    return register if f is None else register(f)


def get_global_func(name: str) -> Callable[..., Any]:
    """The packed function `name`. Raises LinkError if it is not registered."""
    if name not in _registry:
        raise LinkError(f"packed function {name!r} is not registered{did_you_mean(name, _registry)}")
    return _registry[name]


class FailedAssertion(Exception):
    """An assertion of native code failed. kind, text: of the assertion, with its values."""

    def __init__(self, kind: str, message: int, *values: Any) -> None:
        super().__init__(kind)
        self.kind = kind
        self.text = fill_message(ctypes.string_at(message).decode(), values)


def _report(kind: str) -> Callable[..., Any]:
    """The function to which native code passes the address of a message and the values of a failed assertion."""

    def report(message: int, *values: Any) -> None:
        raise FailedAssertion(kind, message, *values)

    return report


def _print(message: int, *values: Any) -> None:
    print_line(ctypes.string_at(message).decode(), *values)


_OF_RUNTIME = {
    REPORT_ASSERTION: _report(DEFAULT_KIND),
    REPORT_UNDEFINED: _report(UNDEFINED_BEHAVIOR),
    PRINT: _print,
}
"""The functions that native code calls besides those of users."""


def call_function(name: str, function: Callable[..., Any], arguments: Sequence[Any]) -> Any:
    """The result of a packed function. Raises ExecutionError, with its cause, if the function fails."""
    try:
        return function(*arguments)
    except FailedAssertion:
        raise
    except Exception as error:
        raise ExecutionError(f"packed function {name!r} failed: {type(error).__name__}: {error}") from error


class PackedCalls:
    """The packed functions of a library. `dispatch(number, slots)` calls one of them, with an array of slots at an
    address."""

    def __init__(self, signatures: Mapping[int, PackedSignature]) -> None:
        """signatures: by number."""
        calls = {number: _Call(signature) for number, signature in signatures.items()}

        def dispatch(number: int, slots: int) -> None:
            calls[number](slots)

        self.dispatch = dispatch


class _Call:
    """Calls one packed function with the arguments in an array of slots."""

    def __init__(self, signature: PackedSignature) -> None:
        self._signature = signature
        self._fields = [_field(parameter) for parameter in signature.parameters]
        self._slots = sum(_slot_count(parameter) for parameter in signature.parameters)

    def __call__(self, address: int) -> None:
        name = self._signature.name
        report = _OF_RUNTIME.get(name)
        function = get_global_func(name) if report is None else report
        position, arguments = address, []
        for read in self._fields:
            argument, position = read(position)
            arguments.append(argument)
        result = call_function(name, function, arguments)
        if self._signature.result is not None:
            ctypes.memmove(address + 8 * self._slots, _result_bytes(name, self._signature.result, result), 8)


def _slot_count(parameter: RuntimeParameter) -> int:
    return 1 + 2 * len(parameter.shape) if isinstance(parameter, BufferParameter) else 1


Field = Callable[[int], tuple[Any, int]]
"""Reads the argument at an address; returns it and the address of the next argument."""


def _field(parameter: RuntimeParameter) -> Field:
    match parameter:
        case ScalarParameter():
            return _scalar_field(numpy_dtype(parameter.dtype))
        case HandleParameter():
            return lambda address: (ctypes.c_void_p.from_address(address).value or 0, address + 8)
        case BufferParameter():
            return _buffer_field(numpy_dtype(parameter.dtype), len(parameter.shape))


def _scalar_field(dtype: np.dtype[Any]) -> Field:
    def read(address: int) -> tuple[Any, int]:
        bytes_ = ctypes.string_at(address, dtype.itemsize)
        value = np.frombuffer(bytes_, dtype)[0]
        return value.item(), address + 8

    return read


def _buffer_field(dtype: np.dtype[Any], rank: int) -> Field:
    numbers = ctypes.c_int64 * (1 + 2 * rank)

    def read(address: int) -> tuple[Any, int]:
        pointer, *rest = numbers.from_address(address)
        array = array_at(pointer, tuple(rest[:rank]), tuple(rest[rank:]), dtype)
        return array, address + ctypes.sizeof(numbers)

    return read


def _result_bytes(name: str, dtype: str, result: Any) -> bytes:
    try:
        if dtype == "handle":
            return int(result or 0).to_bytes(8, "little")
        kind = parse_dtype(dtype)
        if kind.is_float:
            return np.array(float(result), numpy_dtype(dtype)).tobytes().ljust(8, b"\0")
        limits, number = int_range(kind), int(result)
        if limits[0] <= number <= limits[1]:
            return number.to_bytes(8, "little", signed=number < 0)
    except (TypeError, ValueError, OverflowError):
        pass
    raise ExecutionError(f"packed function {name!r}: expected a result of type {dtype}, got {result!r}")

"""Calls of native code with arguments that Python checks and converts."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, NoReturn

import numpy as np

from ...core.assertions import UNDEFINED_BEHAVIOR, failure_error
from ...core.dtypes import numpy_dtype
from ...core.errors import ArgumentError, ExecutionError, OutOfMemoryError, StepwellError
from .arguments import ArgumentPacker, describe_argument
from .packed import FailedAssertion, PackedCalls, take_error
from .python_calls import CallCode, create_bound, is_supported
from .signature import OUT_OF_MEMORY, Failure, FunctionSignature

_ENTRY = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p)


class CheckedCall:
    """A native function that takes an array of slots, as a callable of Python. Errors: as of `CompiledFunction`."""

    def __init__(
        self,
        signature: FunctionSignature,
        address: int,
        failures: Mapping[int, Failure],
        packed: PackedCalls,
        keep_alive: object,
        code: Callable[[], CallCode] | None = None,
    ) -> None:
        """`address`: an `i32 (ptr slots)`; `failures`: the meanings of positive statuses; `keep_alive`: owns it;
        `code`: returns that of functions with bound arguments, None to call them through Python.
        """
        self.signature = signature
        self.failures = failures
        self.keep_alive = keep_alive
        packer = ArgumentPacker(signature)
        self.pack, self.reject_names = packer.pack, packer.reject_names
        self._address = address
        self._entry = _ENTRY(address)
        self._code = code
        self._slots = ctypes.c_int64 * (signature.slot_count + 1)
        self._packed = packed
        self._read_result = _result_reader(signature)

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        self.reject_names(named)
        values, _arrays = self.pack(arguments)
        return self._run(values, arguments)

    def bind(self, *arguments: Any, **named: Any) -> Callable[[], Any]:
        """The function bound to arguments, which are checked once, here. Raises the errors of a call."""
        self.reject_names(named)
        values, arrays = self.pack(arguments)

        if self._read_result is not None:  # each call stores its result in slots of its own
            return partial(self._run_bound, values, arguments, arrays)
        slots = self._slots(*values)
        if self._code is None or not is_supported():
            return partial(self._enter_bound, slots, arguments, arrays)
        fail = partial(self._fail_bound, arguments, arrays)
        return create_bound(self.signature.name, self._code(), self._address, slots, self.signature.short, fail)

    def _enter_bound(self, slots: ctypes.Array[ctypes.c_int64], arguments: Sequence[Any], _alive: object) -> None:
        if status := self.enter(slots):
            self.fail(status, *arguments)

    def _fail_bound(self, arguments: Sequence[Any], _alive: object, status: int) -> NoReturn:
        self.fail(status, *arguments)

    def _run_bound(self, values: Sequence[int], arguments: Sequence[Any], _alive: object) -> Any:
        return self._run(values, arguments)

    def enter(self, slots: ctypes.Array[ctypes.c_int64]) -> int:
        """Runs native code. Returns its status."""
        return self._entry(ctypes.addressof(slots))

    def create_slots(self, values: Sequence[int]) -> ctypes.Array[ctypes.c_int64]:
        """The array of slots for native code, with space for the result."""
        return self._slots(*values)

    def result(self, slots: ctypes.Array[ctypes.c_int64]) -> Any:
        """The result that native code has stored, None for a function without result."""
        return self._read_result(slots) if self._read_result is not None else None

    def _run(self, values: Sequence[int], arguments: Sequence[Any]) -> Any:
        slots = self._slots(*values)
        status = self._entry(ctypes.addressof(slots))
        if status:
            self.fail(status, *arguments)
        return self._read_result(slots) if self._read_result is not None else None

    def fail(self, status: int, *arguments: Any) -> NoReturn:
        """Raises the error of a call with a status that is not 0."""
        failure = self._take_error(status) if status < 0 else self.failures[status]
        names = (parameter.name for parameter in self.signature.parameters)
        called = ", ".join(f"{name}: {describe_argument(value)}" for name, value in zip(names, arguments, strict=True))
        raise _family(failure)(f"{self.signature.name}: {failure.message} (called with {called or 'no arguments'})")

    def _take_error(self, status: int) -> Failure:
        """The failed assertion that native code has reported. Raises the exception itself if it is another one."""
        error = take_error(status)
        if not isinstance(error, FailedAssertion):
            raise error
        if error.kind == UNDEFINED_BEHAVIOR:
            raise failure_error(error.kind, error.text)
        return Failure(f"assertion failed: {error.text}")


def _family(failure: Failure) -> type[StepwellError]:
    if failure.message.startswith(OUT_OF_MEMORY):
        return OutOfMemoryError
    return ArgumentError if failure.argument else ExecutionError


def _result_reader(signature: FunctionSignature) -> Callable[[Any], Any] | None:
    if signature.result is None:
        return None
    dtype = np.dtype(np.uint64) if signature.result == "handle" else numpy_dtype(signature.result)
    position = 8 * signature.slot_count

    def read(slots: Any) -> Any:
        value = np.frombuffer(slots, dtype, 1, position)[0]
        return value.item()

    return read

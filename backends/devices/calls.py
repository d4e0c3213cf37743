"""Python functions as C callbacks for native code, for libraries that native code does not link."""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable
from typing import Any

from .device import Device


class _Call(threading.local):
    """The state of the running call of a thread. device: the device of the call.  error: the first error of a
    callback.
    """

    device: Device | None = None
    error: BaseException | None = None


_call = _Call()


def begin_calls(device: Device) -> None:
    """Sets the device that callbacks in this thread receive until `end_calls`."""
    _call.device, _call.error = device, None


def end_calls() -> None:
    """Raises the first error of a callback since `begin_calls`."""
    error, _call.device, _call.error = _call.error, None, None
    if error is not None:
        raise error


def create_c_callback(function: Callable[..., None], *types: Any) -> tuple[int, object]:
    """The address of a C function without result that calls `function` with the device and its arguments, and the owner
    of that C function.

    types: the ctypes types of the arguments after the device. Native code cannot raise: the first exception is kept for
    `end_calls`, and further callbacks return at once until then.
    """

    def run(*arguments: Any) -> None:
        if _call.error is not None:
            return
        try:
            function(_call.device, *arguments)
        except BaseException as error:  # re-raised by `end_calls`, past the native code
            _call.error = error

    callback = ctypes.CFUNCTYPE(None, *types)(run)
    address = ctypes.cast(callback, ctypes.c_void_p).value
    assert address is not None
    return address, callback

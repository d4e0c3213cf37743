"""Functions of Python that native code calls while it works on a device, for libraries that are not ours to link."""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable
from typing import Any

from .device import Device


class _Call(threading.local):
    """What this thread runs. device: on which.  error: the first one of a function that it has called."""

    device: Device | None = None
    error: BaseException | None = None


_call = _Call()


def begin_calls(device: Device) -> None:
    """What native code calls from now on, in this thread, is for a device."""
    _call.device, _call.error = device, None


def end_calls() -> None:
    """Raise the first error of a function that native code has called since `begin_calls`."""
    error, _call.device, _call.error = _call.error, None, None
    if error is not None:
        raise error


def c_function(function: Callable[..., None], *types: Any) -> tuple[int, object]:
    """The address of a C function without a result that calls one of Python, with the device in front, and what keeps
    it alive.

    types: of the other arguments, ctypes's. Native code cannot raise: what is raised waits for `end_calls`, and until
    then nothing else is called.
    """

    def run(*arguments: Any) -> None:
        if _call.error is not None:
            return
        try:
            function(_call.device, *arguments)
        except BaseException as error:  # of native code's caller
            _call.error = error

    made = ctypes.CFUNCTYPE(None, *types)(run)
    address = ctypes.cast(made, ctypes.c_void_p).value
    assert address is not None
    return address, made

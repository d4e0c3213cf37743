"""Objects that forward their calls to another callable without a function of Python in between."""

from __future__ import annotations

import ctypes
import platform
import sys
from collections.abc import Callable
from functools import partial
from typing import Any, NoReturn, Self

_FLAGS = 168
"""The offset of `tp_flags` in a type of CPython 3.11, in bytes."""
_HAVE_VECTORCALL = 1 << 11


class Forwarding(partial[Any]):
    """An object whose calls are those of another callable, `func`, unless its class defines calls.

    Python calls an instance of `partial` by its vectorcall protocol, without a tuple of the arguments. Copies are the
    object itself, as those of functions.
    """

    def __new__(cls, *_arguments: Any, **_named: Any) -> Self:
        return super().__new__(cls, _fail)

    def forward_to(self, function: Callable[..., Any]) -> None:
        """Forwards later calls to a callable; to that of an object that itself forwards its calls."""
        if isinstance(function, Forwarding) and type(function).__call__ is partial.__call__:
            function = function.func
        self.__setstate__((function, (), {}, self.__dict__))

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        if cls.__call__ is partial.__call__:
            _enable_vectorcall(cls)

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, _memo: dict[int, Any]) -> Self:
        return self

    def __reduce__(self) -> NoReturn:
        raise TypeError(f"cannot pickle {type(self).__name__!r} object, which has native code: export the program")


def _fail(*_arguments: Any, **_named: Any) -> NoReturn:
    raise TypeError("the object is called before it is initialized")


def _enable_vectorcall(kind: type) -> None:
    """Lets Python call the instances of a subclass of `partial` by vectorcall, which Python 3.12 and later do."""
    if sys.version_info >= (3, 12) or platform.python_implementation() != "CPython":
        return
    flags = ctypes.c_ulong.from_address(id(kind) + _FLAGS)
    if flags.value == kind.__flags__:
        flags.value |= _HAVE_VECTORCALL

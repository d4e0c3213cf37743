"""Objects that forward their calls to another callable without a function of Python in between."""

from __future__ import annotations

import ctypes
import platform
import sys
from collections.abc import Callable
from functools import cache, partial
from typing import Any, NoReturn, Self

_FLAGS, _VECTORCALL_OFFSET = 168, 56
"""The offsets of `tp_flags` and `tp_vectorcall_offset` in a type of CPython, in bytes."""
_HAVE_VECTORCALL = 1 << 11
FUNCTION, SELF_OF_BUILTIN = 16, 24
"""The offsets of `func` in a partial object and of `__self__` in a builtin function, in bytes."""


class Forwarding(partial[Any]):
    """An object whose calls are those of another callable, `func`, unless its class defines calls.

    Python calls an instance of `partial` by its vectorcall protocol, without a tuple of the arguments. Copies are the
    object itself, as those of functions.
    """

    def __new__(cls, *_arguments: Any, **_named: Any) -> Self:
        return super().__new__(cls, _fail)

    def forward_to(self, function: Callable[..., Any], code: int | None = None) -> None:
        """Forwards later calls to a callable; to that of an object that itself forwards its calls.

        code: the address of a vectorcall function, which Python calls with this object in place of that of `partial`;
        it need not be called, and `function` owns it.
        """
        if isinstance(function, Forwarding) and type(function).__call__ is partial.__call__:
            function, code = function.func, function._code
        self._code = code
        self.__setstate__((function, (), {}, self.__dict__))  # pyright: ignore[reportAttributeAccessIssue]
        offset = _vectorcall_offset()
        if code is not None and offset is not None:
            ctypes.c_void_p.from_address(id(self) + offset).value = code

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


@cache
def _vectorcall_offset() -> int | None:
    """The offset of the vectorcall function in a partial object, in bytes; None where objects have another layout than
    `FUNCTION` and `SELF_OF_BUILTIN` say."""
    if platform.python_implementation() != "CPython":
        return None
    offset = ctypes.c_ssize_t.from_address(id(partial) + _VECTORCALL_OFFSET).value
    builtin = [0].count
    pointers = ((partial(builtin), FUNCTION, builtin), (builtin, SELF_OF_BUILTIN, builtin.__self__))
    is_known = all(ctypes.c_void_p.from_address(id(each) + at).value == id(part) for each, at, part in pointers)
    return offset if is_known and FUNCTION < offset <= partial.__basicsize__ - 8 else None


def _enable_vectorcall(kind: type) -> None:
    """Lets Python call the instances of a subclass of `partial` by vectorcall, which Python 3.12 and later do."""
    if sys.version_info >= (3, 12) or platform.python_implementation() != "CPython":
        return
    flags = ctypes.c_ulong.from_address(id(kind) + _FLAGS)
    if flags.value == kind.__flags__:
        flags.value |= _HAVE_VECTORCALL

"""The module `tvm._ffi`, and `tvm.base` since v0.20: functions by name, and the error of programs."""

from ...core.errors import StepwellError as TVMError
from .absent import report_absent
from .containers import register_object
from .registry import get_global_func, register_func

_RUNTIME_ONLY = False
"""Whether the compiler is absent, as TVM says by this name."""

__getattr__ = report_absent("tvm._ffi")


def py_str(value: bytes) -> str:
    """Bytes as text."""
    return value.decode("utf-8")


__all__ = ["TVMError", "get_global_func", "py_str", "register_func", "register_object"]

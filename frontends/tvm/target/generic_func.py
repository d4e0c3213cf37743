"""Functions with versions for targets: `tvm.target.generic_func`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any

from ....core.errors import OptionError
from .target import Target


def generic_func(fdefault: Callable[..., Any]) -> Any:
    """A function with a version for each key of a target: `@f.register("cpu")`, or `["cuda", "gpu"]`.

    A call runs the version of the first key of the current target that has one, by default the decorated function.
    OptionError for a second version of a key, unless `override`.
    """
    versions: dict[str, Callable[..., Any]] = {}

    @wraps(fdefault)
    def call(*args: Any, **named: Any) -> Any:
        target = Target.current()
        keys = [] if target is None else target.keys
        chosen = next((versions[key] for key in keys if key in versions), fdefault)
        return chosen(*args, **named)

    def register(key: str | Sequence[str], func: Callable[..., Any] | None = None, override: bool = False) -> Any:
        def add(function: Callable[..., Any]) -> Callable[..., Any]:
            for each in [key] if isinstance(key, str) else key:
                if each in versions and not override:
                    raise OptionError(f"{fdefault.__name__}: the key {each!r} has a version already")
                versions[each] = function
            return function

        return add if func is None else add(func)

    call.register = register  # pyright: ignore[reportAttributeAccessIssue]
    call.fdefault = fdefault  # pyright: ignore[reportAttributeAccessIssue]
    return call


def override_native_generic_func(func_name: str) -> Callable[[Callable[..., Any]], Any]:
    """The decorator `generic_func`, under TVM's name of functions that it also defines natively. func_name: ignored."""
    return generic_func

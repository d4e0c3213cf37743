"""Tags of the tensors that a block of code computes: `tvm.te.tag_scope`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from typing import Any, Self

from ...expressions.errors import TeError
from ...expressions.expr import as_expr
from ..te import intrinsic_calls


class tag_scope:
    """A context, or a decorator of a function, in which `te.compute` without a tag has a tag, and these annotations.

    TeError for a scope within another.
    """

    _current: tag_scope | None = None

    def __init__(self, tag: str, attrs: Mapping[str, Any] | None = None):
        self.tag = tag
        self.attrs = dict(attrs or {})

    def __enter__(self) -> Self:
        if tag_scope._current is not None:
            raise TeError(f"tag_scope {self.tag!r} within tag_scope {tag_scope._current.tag!r}")
        tag_scope._current = self
        return self

    def __exit__(self, *error: object) -> None:
        tag_scope._current = None

    def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            with self:
                return function(*args, **kwargs)

        return call

    @staticmethod
    def current() -> tag_scope | None:
        """The entered scope, or None."""
        return tag_scope._current


def compute(
    shape: Any,
    fcompute: Callable[..., Any],
    name: str = "compute",
    tag: str = "",
    attrs: Mapping[str, Any] | None = None,
    varargs_names: Sequence[str] | None = None,
) -> Any:
    """`te.compute`, with the tag and the annotations of the scope around it. TeError for a tag within a scope.

    The annotation of tensors whose layout may change is left out: no layout of a parameter changes.
    """
    attrs = {
        key: as_expr(value) if isinstance(value, int | float) else value
        for key, value in (attrs or {}).items()
        if key != "layout_free_placeholders"
    }
    scope = tag_scope.current()
    if scope is None:
        return intrinsic_calls.compute(shape, fcompute, name, tag, attrs, varargs_names)
    if tag:
        raise TeError(f"compute {name}: tag {tag!r} within tag_scope {scope.tag!r}")
    return intrinsic_calls.compute(shape, fcompute, name, scope.tag, {**scope.attrs, **attrs}, varargs_names)

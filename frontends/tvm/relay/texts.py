"""Texts of graphs, expressions and types: `tvm.relay.astext`, `tvm.relay.pretty_print`."""

from __future__ import annotations

from typing import Any

from ..absent import refuse_options


def astext(obj: Any, show_meta_data: bool = True, annotate: Any = None) -> str:
    """Relay's text of a module, an expression or a type. show_meta_data: whether the arrays of constants follow.

    UnsupportedError for `annotate`: there are no comments of users.
    """
    refuse_options("relay.astext", annotate=annotate)
    return obj.astext(show_meta_data) if hasattr(obj, "astext") else str(obj)


def pretty_print(obj: Any) -> str:
    """Relay's text of a module, an expression or a type, without the arrays of constants."""
    return astext(obj, show_meta_data=False)


__all__ = ["astext", "pretty_print"]

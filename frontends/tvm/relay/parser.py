"""Relay's text as modules and expressions: `tvm.relay.parse`, `tvm.relay.parse_expr`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ...relay.parsing import is_program, parse_expr
from ..ir.module import IRModule


def parse(
    source: str,
    source_name: str = "from_string",
    init_module: IRModule | None = None,
    init_meta_table: Mapping[str, Sequence[Any]] | None = None,
) -> Any:
    """The module of a text; an expression is its function `main`. source_name: ignored.

    init_module: the functions and data types that the module has before those of the text.  init_meta_table: objects by
    kind, to which `meta[kind][n]` refers.  RelayTextError.
    """
    result = IRModule({} if init_module is None else dict(init_module.items()))
    if init_module is not None:
        result.type_definitions |= init_module.type_definitions
    result.add_program(source, init_meta_table)
    return result


def fromtext(source: str) -> Any:
    """The module of a text, or its expression if the text has no definition. RelayTextError."""
    return parse(source) if is_program(source) else parse_expr(source)


__all__ = ["fromtext", "parse", "parse_expr"]

"""Relay's text as modules and expressions: `tvm.relay.parse`, `tvm.relay.parse_expr`."""

from __future__ import annotations

from typing import Any

from ...relay.parsing import is_program, parse_expr
from ..ir.module import IRModule


def parse(
    source: str, source_name: str = "from_string", init_module: object = None, init_meta_table: object = None
) -> Any:
    """The module of a text; an expression is its function `main`. source_name, init_module, init_meta_table: ignored.
    RelayTextError.
    """
    result = IRModule()
    result.add_program(source)
    return result


def fromtext(source: str) -> Any:
    """The module of a text, or its expression if the text has no definition. RelayTextError."""
    return parse(source) if is_program(source) else parse_expr(source)


__all__ = ["fromtext", "parse", "parse_expr"]

"""Tables of patterns by compiler: `tvm.relay.op.contrib`, for `relay.transform.MergeComposite`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..submodules import submodule

Table = Sequence[Sequence[Any]]
_TABLES: dict[str, Table] = {}


def register_pattern_table(compiler: str, table: Any = None) -> Any:
    """Registers the patterns of a compiler, or a function that returns them. Without a table a decorator."""

    def register(entries: Any) -> Any:
        rows: Any = entries() if callable(entries) else entries
        _TABLES[compiler] = rows
        return entries

    return register if table is None else register(table)


def get_pattern_table(compiler: str) -> Table | None:
    """The patterns of a compiler, None without a table."""
    return _TABLES.get(compiler)


def __getattr__(name: str) -> Any:
    found = submodule("tvm.relay.op.contrib", name)
    if found is None:
        raise AttributeError(f"module 'tvm.relay.op.contrib' of Stepwell has no attribute {name!r}")
    return found

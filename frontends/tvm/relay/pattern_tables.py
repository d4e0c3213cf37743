"""Tables of patterns by compiler: `tvm.relay.op.contrib`, for `relay.transform.MergeComposite`. It has the operators
of v0.6 that are those of `relay` and `relay.nn` today, too.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...relay.nn import adaptive_avg_pool2d as adaptive_avg_pool2d
from ...relay.nn import adaptive_max_pool2d as adaptive_max_pool2d
from ...relay.op import ndarray_size as ndarray_size
from ..absent import report_absent

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


__getattr__ = report_absent("tvm.relay.op.contrib")

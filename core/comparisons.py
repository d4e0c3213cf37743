"""Comparisons: by name, and the predicates of the comparison ops of arith by their names in xDSL."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from xdsl.dialects import arith

COMPARE: dict[str, Callable[[Any, Any], Any]] = {
    name: getattr(operator, name) for name in ("eq", "ne", "lt", "le", "gt", "ge")
}
"""The comparison of two numbers by its name."""

SIGNED_PREDICATES = frozenset(("slt", "sle", "sgt", "sge"))
"""The predicates that compare integers as signed numbers."""

UNSIGNED_PREDICATES = frozenset(("ult", "ule", "ugt", "uge"))
"""The predicates that compare integers as unsigned numbers."""


def predicate_of(op: arith.CmpiOp | arith.CmpfOp) -> str:
    """The name of the predicate of a comparison op: `slt`, `oeq`."""
    is_float = isinstance(op, arith.CmpfOp)
    names = arith.CMPF_COMPARISON_OPERATIONS if is_float else arith.CMPI_COMPARISON_OPERATIONS
    return names[op.predicate.value.data]

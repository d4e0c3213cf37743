"""A check for tests of operations: their texts round trip, and all back ends compute their meaning."""

from __future__ import annotations

from typing import Any

from ...backends.build import build
from ...module import Module
from .comparison import assert_same
from .execution import interpreter_results, oracle_results, results
from .scheduling import check_well_formed


def check_meaning(module: Module, arguments: dict[str, Any]) -> None:
    """Raises AssertionError unless a program is well formed, and the oracle, xDSL's interpreter and native code give the
    same results of `main`, bit by bit."""
    check_well_formed(module)
    expected = oracle_results(module, arguments)
    assert_same(interpreter_results(module, arguments), expected, module)
    assert_same(results(build(module), arguments), expected, module)

"""Thresholds of comparisons in loops."""

import pytest
from xdsl.dialects import arith

from stepwell.analysis.index import Analyzer
from stepwell.analysis.thresholds import Thresholds, thresholds_of
from stepwell.dialects.tir import ForOp
from stepwell.frontends.tvmscript import parse_tvmscript

SIZES = {"n": 70, "m": 9}


@pytest.mark.parametrize(
    ("condition", "first", "second", "between"),
    [
        ("i < m", 9, 9, 0),
        ("i * 32 + j < n", 2, 3, 1),
        ("i * 3 - j >= 2", 1, 11, 11),
        ("n - i > 2", 68, 68, 0),
        ("m == i", 9, 10, 1),
        ("i != 5", 5, 6, 1),
        ("m - i * 2 <= 2", 4, 4, 0),
    ],
)
def test_thresholds_bound_the_iterations_in_which_a_comparison_is_unknown(
    condition: str, first: int, second: int, between: int
) -> None:
    found = _thresholds(condition)
    assert found is not None
    numbers = [lin.evaluate(lambda value: SIZES[value.name_hint or ""]) for lin in (found.first, found.second)]
    assert (*numbers, found.between) == (first, second, between)


@pytest.mark.parametrize("condition", ["i // 2 < m", "i * i < n", "i * 2 == n", "i + j == n", "j < m", "A[i] < 3"])
def test_comparisons_that_are_not_linear_in_the_variable_have_no_thresholds(condition: str) -> None:
    assert _thresholds(condition) is None


def _thresholds(condition: str) -> Thresholds | None:
    module = parse_tvmscript(f"""
@T.prim_func
def main(a: T.handle, b: T.handle):
    n, m = T.int64(), T.int64()
    A = T.match_buffer(a, (n,), "int32")
    B = T.match_buffer(b, (m,))
    for i in range((n + 31) // 32):
        for j in range(32):
            if {condition}:
                A[i] = 1
""")
    loop = next(op for op in module.op.walk() if isinstance(op, ForOp))
    comparison = next(op for op in module.op.walk() if isinstance(op, arith.CmpiOp))
    return thresholds_of(Analyzer(), loop, comparison)

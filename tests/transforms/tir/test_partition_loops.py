"""Loops are divided where comparisons of their variable with numbers change."""

from itertools import pairwise
from operator import eq, ge, gt, le, lt, ne

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from stepwell import build, parse_tvmscript
from stepwell.backends.passes import apply_passes

PROGRAM = """\
@T.prim_func
def main(A: T.Buffer((40,), "int32")):
    for i in range({low}, {high}):
        if i * {factor} + {start} {comparison} {number}:
            A[i] = i + 1
        else:
            A[i] = -i
"""
COMPARISONS = {"<": lt, "<=": le, ">": gt, ">=": ge, "==": eq, "!=": ne}


@given(
    bounds=st.tuples(st.integers(0, 40), st.integers(0, 40)).map(sorted),
    factor=st.integers(1, 4) | st.integers(-4, -1),
    start=st.integers(-9, 9),
    number=st.integers(-50, 50),
    comparison=st.sampled_from(sorted(COMPARISONS)),
)
def test_parts_compute_what_the_loop_computes(
    bounds: list[int], factor: int, start: int, number: int, comparison: str
) -> None:
    low, high = bounds
    module = parse_tvmscript(
        PROGRAM.format(low=low, high=high, factor=factor, start=start, comparison=comparison, number=number)
    )
    parts = apply_passes(module, "tir-partition-loops")
    truth = [COMPARISONS[comparison](i * factor + start, number) for i in range(low, high)]
    if sum(a != b for a, b in pairwise(truth)) == 1:
        assert "if " not in parts.script()
    before, after = np.zeros(40, "int32"), np.zeros(40, "int32")
    build(module, "python")["main"](before)
    build(parts, "python")["main"](after)
    np.testing.assert_array_equal(after, before)

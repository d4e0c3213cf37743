"""The `sat` dialect: its constraints, its canonical form, and the results of all back ends."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sat.dialect import AddOp, ClampOp
from xdsl.dialects.builtin import i8, i16, i32

import stepwell
from stepwell.tools.testing.meanings import check_meaning
from stepwell.tools.testing.strategies import functions_of_values

PROGRAM = """
@T.prim_func
def main(x: T.int8) -> T.int8:
    return T.sat.{}
"""


@given(st.data(), st.sampled_from([i8, i16, i32]))
@settings(deadline=None, max_examples=20)
def test_all_back_ends_compute_the_meaning(data: st.DataObject, type: Any) -> None:
    low, high = sorted(data.draw(st.tuples(st.integers(-128, 127), st.integers(-128, 127))))
    check_meaning(*data.draw(functions_of_values(AddOp, [type, type])))
    check_meaning(*data.draw(functions_of_values(lambda x: ClampOp(x, low, high), [type])))


@pytest.mark.parametrize(
    ("value", "canonical"),
    [("add(x, 0)", "x"), ("clamp(T.sat.clamp(x, low=-5, high=9), low=0, high=7)", "T.sat.clamp(x, low=0, high=7)")],
)
def test_canonical_forms(value: str, canonical: str) -> None:
    mod = stepwell.apply_passes(stepwell.parse_tvmscript(PROGRAM.format(value)), "canonicalize")
    assert mod.script("0.27").endswith(f"return {canonical}")


def test_the_bounds_of_a_clamp_are_verified() -> None:
    with pytest.raises(stepwell.ParseError, match=r"\(C1\) expected -128 <= low <= high <= 127, got 3 and 2"):
        stepwell.parse_tvmscript(PROGRAM.format("clamp(x, low=3, high=2)"))

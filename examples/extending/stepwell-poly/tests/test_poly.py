"""The `poly` dialect: its text, its constraints, and the results of native code."""

from functools import reduce
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from poly.dialect import EvalOp
from xdsl.dialects.builtin import FloatAttr, f16, f32, f64

import stepwell
from stepwell.tools.testing.comparison import same
from stepwell.tools.testing.scheduling import check_well_formed
from stepwell.tools.testing.strategies import functions_of


@st.composite
def evaluations(draw: st.DrawFn) -> tuple[stepwell.Module, dict[str, Any], list[float]]:
    """A function of one `poly.eval` on buffers of any rank and size, arguments for a call, and its coefficients."""
    element = draw(st.sampled_from([f16, f32, f64]))
    numbers = draw(st.lists(st.floats(width=16), min_size=1, max_size=5))
    coefficients = [FloatAttr(number, element) for number in numbers]
    return (*draw(functions_of(lambda x, y: EvalOp(x, y, coefficients), [element, element])), numbers)


@given(evaluations())
@settings(deadline=None, max_examples=10)
def test_native_code_computes_the_polynomial(evaluation: Any) -> None:
    mod, arguments, numbers = evaluation
    assert str(stepwell.parse_mlir(str(mod))) == str(mod)
    lowered = stepwell.apply_passes(mod, "convert-poly-to-tir")
    check_well_formed(lowered)
    x, y = arguments.values()
    stepwell.build(lowered)(x, y)
    with np.errstate(all="ignore"):
        *lower, last = (np.full_like(x, number) for number in numbers)
        assert same(y, reduce(lambda value, number: number + x * value, reversed(lower), last))


@pytest.mark.parametrize(
    ("coefficients", "message"),
    [("[]", r"\(C1\) expected at least one"), ("[1.0 : f64]", r"\(C2\) expected .* f32, got 1.0")],
)
def test_the_error_names_the_violated_constraint(coefficients: str, message: str) -> None:
    op = f"poly.eval %X to %X, {coefficients} : memref<8xf32>"
    with pytest.raises(stepwell.VerifyError, match=message):
        stepwell.parse_mlir(f'tir.func @main("X" %X: memref<8xf32>) {{ {op} }}').verify()

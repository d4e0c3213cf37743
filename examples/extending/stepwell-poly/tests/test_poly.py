"""The `poly` dialect: its text, its constraints, and the results of native code."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from poly.dialect import EvalOp
from xdsl.dialects.builtin import f16, f32, f64

import stepwell
from stepwell.tools.testing.comparison import same
from stepwell.tools.testing.scheduling import check_well_formed
from stepwell.tools.testing.strategies import functions_of


@st.composite
def evaluations(draw: st.DrawFn) -> tuple[stepwell.Module, dict[str, Any]]:
    """A function of one `poly.eval` on buffers of any rank and size, and arguments for a call."""
    element = draw(st.sampled_from([f16, f32, f64]))
    coefficients = draw(st.lists(st.floats(-100, 100, width=16), min_size=1, max_size=5))
    return draw(functions_of(lambda x, y: EvalOp(x, y, coefficients), [element, element]))


@given(evaluations())
@settings(deadline=None, max_examples=10)
def test_native_code_computes_the_meaning(evaluation: Any) -> None:
    mod, arguments = evaluation
    check_well_formed(mod)
    x, y = arguments.values()
    expected = np.empty_like(y)
    stepwell.build(mod, target="python")(x, expected)
    stepwell.build(mod)(x, y)
    assert same(y, expected)


@pytest.mark.parametrize(
    ("coefficients", "message"),
    [("[]", r"\(C1\) expected at least one"), ("[1.0 : f64]", r"\(C2\) expected .* f32, got 1.0")],
)
def test_the_error_names_the_violated_constraint(coefficients: str, message: str) -> None:
    op = f"poly.eval %X to %X, {coefficients} : memref<8xf32>"
    with pytest.raises(stepwell.VerifyError, match=message):
        stepwell.parse_mlir(f'tir.func @main("X" %X: memref<8xf32>) {{ {op} }}').verify()

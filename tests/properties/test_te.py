"""Tensor expressions compute what numpy says, whatever the sizes and values: natively, and as the oracle does it."""

from dataclasses import replace

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from stepwell import build
from stepwell.frontends import te
from stepwell.tools.testing.te import CASES, Case

RUNNING = [case for case in CASES if case.runs and not case.tvm_refuses]


@st.composite
def sized_cases(draw: st.DrawFn) -> Case:
    """A case of the corpus, with other numbers for its sizes where they may be any."""
    case = draw(st.sampled_from(RUNNING))
    if case.fixed:
        return case
    sizes = {
        name: draw(st.integers(2, 9)) if isinstance(number, int) else number for name, number in case.sizes.items()
    }
    return replace(case, sizes=sizes)


@given(case=sized_cases(), seed=st.integers(0, 2**16), target=st.sampled_from(("llvm", "python")))
@settings(max_examples=150)
def test_expressions_compute_what_numpy_computes(case: Case, seed: int, target: str) -> None:
    mod = te.create_prim_func(case.build(te), case.index_dtype)
    inputs = case.inputs(te, seed)
    expected = case.expected(inputs)
    outputs = [np.zeros(each.shape, each.dtype) for each in expected]
    build(mod, target=target)["main"](*case.arguments(inputs, outputs))
    assert not any(case.differs(got, wanted) for got, wanted in zip(outputs, expected, strict=True))

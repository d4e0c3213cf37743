"""Tensor expressions agree with numpy for random sizes and values: in native code, in the oracle, and as tensors before
any pass."""

from dataclasses import replace

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from stepwell.frontends import te
from stepwell.tools.testing.te import CASES, TensorCase
from stepwell.tools.testing.te_expressions import TARGETS, RandomTensors, random_tensors, run_tensors

RUNNING = [case for case in CASES if case.runs and not case.tvm_refuses]


@st.composite
def sized_cases(draw: st.DrawFn) -> TensorCase:
    """A case of the corpus, with random sizes unless they are fixed."""
    case = draw(st.sampled_from(RUNNING))
    if case.fixed:
        return case
    sizes = {
        name: draw(st.integers(2, 9)) if isinstance(number, int) else number for name, number in case.sizes.items()
    }
    return replace(case, sizes=sizes)


@given(case=sized_cases(), seed=st.integers(0, 2**16), target=st.sampled_from(TARGETS))
@settings(max_examples=settings().max_examples * 5)
def test_expressions_compute_what_numpy_computes(case: TensorCase, seed: int, target: str) -> None:
    mod = te.create_te_func(case.build(te), case.index_dtype)
    inputs = case.inputs(te, seed)
    expected = case.reference_outputs(inputs)
    outputs = [np.zeros(each.shape, each.dtype) for each in expected]
    run_tensors(mod, target, *case.arguments(inputs, outputs))
    assert not any(case.differs(got, wanted) for got, wanted in zip(outputs, expected, strict=True))


@given(drawn=random_tensors())
@settings(max_examples=settings().max_examples * 2)
def test_all_agree_on_expressions_of_any_types_and_shapes(drawn: RandomTensors) -> None:
    first, *others = [drawn.run(target) for target in TARGETS]
    for output in others:
        np.testing.assert_array_equal(first, output)

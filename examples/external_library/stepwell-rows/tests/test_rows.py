"""The library `rows`: the choice of operators, and the equality of results."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import stepwell
from stepwell import GraphExecutor, build_graph
from stepwell.frontends import relay as graphs_in_python
from stepwell.operators import operator_of

relay: Any = graphs_in_python  # its functions are created at import
EXTENTS = st.sampled_from((0, 1, 2, 3, 7))


def graph(shape: Any, axis: int, dtype: str) -> stepwell.Module:
    x = relay.var("x", shape=shape, dtype=dtype)
    return relay.module(relay.Function([x], relay.nn.softmax(x, axis=axis)))


@given(st.lists(EXTENTS, min_size=1, max_size=3), st.booleans(), st.integers(0, 2**16))
@settings(deadline=None, max_examples=10)
def test_rows_equal_the_rows_of_the_operator(shape: list[int], is_known: bool, seed: int) -> None:
    x = np.random.default_rng(seed).normal(size=shape).astype("float32")
    mod = graph(shape if is_known else [f"n{n}" for n, _ in enumerate(shape)], -1, "float32")
    executor = GraphExecutor(build_graph(mod, target="llvm -libs=rows"))
    executor.run(x=x)
    if x.size:
        np.testing.assert_allclose(executor.get_output(0), *operator_of("nn.softmax").arrays([x], {}), rtol=1e-5)


@pytest.mark.parametrize(("axis", "dtype"), [(0, "float32"), (-1, "float64")])
def test_other_softmaxes_stay(axis: int, dtype: str) -> None:
    mod = graph((2, 3), axis, dtype)
    assert str(stepwell.apply_passes(mod, "relay-partition{libraries=rows}")) == str(mod)

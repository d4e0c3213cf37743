"""The package: the results of its operator in graphs, and its primitive."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import stepwell
from stepwell import relay, te
from stepwell.operators import operator_of


@given(st.integers(1, 4), st.integers(0, 9), st.sampled_from([-1.0, 0.5, 3.0]))
@settings(deadline=None, max_examples=3)
def test_graphs_compute_the_reference(rows: int, columns: int, beta: float) -> None:
    x = np.random.default_rng(rows).standard_normal((rows, columns), "float32") * 50
    data = relay.var("x", shape=x.shape)
    graph = relay.Function([data], relay.nn.relu(relay.gates.swish(data, beta=beta)))
    executor = stepwell.GraphExecutor(stepwell.build_graph(relay.module(graph)))
    executor.run(x=x)
    (expected,) = operator_of("gates.swish").arrays([x], {"beta": beta})
    np.testing.assert_allclose(executor.get_output(0), np.maximum(expected, 0), rtol=1e-5, atol=1e-6)


def test_a_rejected_tile_changes_nothing() -> None:
    a = te.placeholder((8, 8), name="A")
    mod = te.create_prim_func([a, te.compute((8, 8), lambda i, j: a[i, j] + 1.0, name="B")])
    sch = stepwell.Schedule(mod)
    before = str(sch.mod)
    with pytest.raises(stepwell.ScheduleError, match="split"):
        sch.tile(sch.get_block("B"), 4, 0)
    assert str(sch.mod) == before
    assert len(sch.tile(sch.get_block("B"), 4, 2)) == 2
    assert "in T.grid(2, 4, 4, 2):" in sch.mod.script()

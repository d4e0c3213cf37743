"""Kernels for a batch that compute its items one by one."""

from unittest.mock import patch

import numpy as np

from stepwell import relay
from stepwell.backends.graph import GraphExecutor, build_graph
from stepwell.core.remarks import collect_remarks
from stepwell.schedule.cpu import threads as sharing


def test_a_batch_of_items_without_elements() -> None:
    x = relay.var("x", shape=("n", 3, 1, 2))
    empty = relay.split(x, (0, 3), axis=1)[2]
    with patch.object(sharing, "LEAST_TIME", 0):
        executor = GraphExecutor(build_graph(relay.module(relay.Function([x], relay.Tuple([empty, relay.exp(x)])))))
    image = np.ones((4, 3, 1, 2), "float32")
    executor.run(x=image)
    assert executor.get_output(0).shape == (4, 0, 1, 2)
    np.testing.assert_allclose(executor.get_output(1), np.exp(image), 1e-6)


def test_batches_without_items_and_with_items_that_are_not_aligned() -> None:
    x = relay.var("x", shape=("n", 5, 7, 9))
    with patch.object(sharing, "LEAST_TIME", 0), collect_remarks() as remarks:
        executor = GraphExecutor(build_graph(relay.module(relay.Function([x], relay.nn.relu(x)))))
    assert any(remark.pass_name == "tir-split-batch" and remark.kind == "applied" for remark in remarks)
    for count in (0, 1, 5):
        image = np.random.default_rng(count).integers(-3, 4, (count, 5, 7, 9)).astype("float32")
        executor.run(x=image)
        np.testing.assert_array_equal(executor.get_output(0), np.maximum(image, 0))

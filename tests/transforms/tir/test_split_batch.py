"""Kernels for a batch that compute its items one by one."""

from unittest.mock import patch

import numpy as np

from stepwell import apply_passes, relay
from stepwell.backends.graph import GraphExecutor, build_graph
from stepwell.backends.interpreter import interpret
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


def test_functions_of_items_compute_nothing_from_the_number_of_items() -> None:
    """The extents of loops over all tiles of a batch stay in no loop of an item, so that functions are comparable."""
    x = relay.var("x", shape=("n", 3, 9, 9))
    net, inputs = x, 3
    for channels in (8, 8, 16):
        weight = relay.const(np.full((channels, inputs, 3, 3), 0.1, "float32"))
        net, inputs = relay.nn.relu(relay.nn.conv2d(net, weight, padding=1)), channels
    module = apply_passes(relay.module(relay.Function([x], net)), "relay-convert-convolutions{tile-size=4}")
    with patch.object(sharing, "LEAST_TIME", 0):
        executor = GraphExecutor(build_graph(module))
    image = np.random.default_rng(0).normal(size=(2, 3, 9, 9)).astype("float32")
    executor.run(x=image)
    np.testing.assert_allclose(executor.get_output(0), interpret(module, "main", [image]), 1e-4, 1e-4)

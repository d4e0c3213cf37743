"""The pass `outline-loops`: results of functions that are divided."""

import numpy as np

from stepwell import GraphExecutor, build_graph, relay


def test_parts_of_a_divided_function_see_what_others_write() -> None:
    count, shape = 16, (8, 32)
    params = [relay.var(f"x{n}", shape=shape) for n in range(count)]
    results = [relay.nn.relu(each) for each in params]
    pairs = [relay.stack([results[n], results[-1 - n]], axis=0) for n in range(count // 2)]
    mod = relay.module(relay.Function(params, relay.stack(pairs, axis=0)))
    inputs = np.random.default_rng(0).random((count, *shape), np.float32) - np.float32(0.5)
    executor = GraphExecutor(build_graph(mod, opt_level=1))
    executor.run(**{each.name_hint: value for each, value in zip(params, inputs, strict=True)})
    expected = [[inputs[n], inputs[-1 - n]] for n in range(count // 2)]
    np.testing.assert_array_equal(executor.get_output(0), np.maximum(expected, 0))

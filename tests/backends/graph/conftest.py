"""Fixtures of devices for graphs, and of small models."""

from typing import Any

import numpy as np
import pytest

from stepwell import Module
from stepwell.frontends import relay


class Models:
    """Graphs with an input `x` and random weights, and values for the input."""

    def __init__(self) -> None:
        self.random = np.random.default_rng(0)

    def array(self, *shape: int, low: float = -1) -> np.ndarray:
        return self.random.uniform(low, 1, shape).astype("float32")

    def weight(self, *shape: int, low: float = -1) -> Any:
        return relay.const(self.array(*shape, low=low))

    def module(self, body: Any) -> Module:
        return relay.module(relay.Function(relay.free_vars(body), body))

    def perceptron(self, rows: Any = 3) -> Module:
        """Two dense layers, and a softmax: (rows, 8) to (rows, 5)."""
        x = relay.var("x", shape=(rows, 8))
        hidden = relay.nn.relu(relay.nn.bias_add(relay.nn.dense(x, self.weight(16, 8)), self.weight(16)))
        return self.module(relay.nn.softmax(relay.nn.dense(hidden, self.weight(5, 16))))

    def images(self) -> Module:
        """A convolution with a batch norm and a relu, pools, and a dense layer: (2, 3, 8, 8) to (2, 3)."""
        x = relay.var("x", shape=(2, 3, 8, 8))
        y = relay.nn.conv2d(x, self.weight(4, 3, 3, 3), padding=(1, 1), kernel_size=(3, 3), channels=4)
        statistics = [self.weight(4), self.weight(4), self.weight(4), self.weight(4, low=0.5)]
        y = relay.nn.relu(relay.nn.batch_norm(y, *statistics)[0])
        y = relay.nn.global_avg_pool2d(relay.nn.max_pool2d(y, pool_size=(2, 2), strides=(2, 2)))
        return self.module(relay.nn.dense(relay.nn.batch_flatten(y), self.weight(3, 4)))

    def attention(self) -> Module:
        """One head of attention with a residual connection and a layer norm: (2, 4, 8) to (2, 4, 8)."""
        x = relay.var("x", shape=(2, 4, 8))
        rows = relay.reshape(x, (8, 8))
        q, k, v = (relay.reshape(relay.nn.dense(rows, self.weight(8, 8)), (2, 4, 8)) for _ in range(3))
        shares = relay.nn.softmax(relay.nn.batch_matmul(q, k) * relay.const(np.float32(8**-0.5)))
        mixed = relay.nn.batch_matmul(shares, v, transpose_b=False) + x
        return self.module(relay.nn.layer_norm(mixed, self.weight(8), self.weight(8)))


@pytest.fixture(scope="module")
def models() -> Models:
    return Models()

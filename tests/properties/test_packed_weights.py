"""Products with packed weights compute what products with weights as they are compute, for any extents."""

from dataclasses import dataclass
from typing import Any
from unittest.mock import patch

import numpy as np
from hypothesis import example, given
from hypothesis import strategies as st

from stepwell import Module, apply_passes, relay
from stepwell.backends.graph import GraphExecutor, build_graph
from stepwell.backends.interpreter import interpret
from stepwell.core.processors import threads
from stepwell.frontends.relay.parameters import bind_parameters
from stepwell.schedule.cpu import threads as sharing

TOLERANCE = {"float32": 1e-5, "float64": 1e-13}
"""The largest error of an element, relative to the largest element."""


@dataclass(frozen=True)
class Product:
    """A product of data and constant weights. rows: the extents of the data but the last.  after: the operators after
    it."""

    rows: tuple[int, ...]
    inner: int
    units: int
    dtype: str
    after: str

    def arrays(self) -> dict[str, Any]:
        shapes = {"x": (*self.rows, self.inner), "w": (self.units, self.inner), "r": (*self.rows, self.units)}
        choose = np.random.default_rng(self.units)
        return {name: choose.normal(size=shape).astype(self.dtype) for name, shape in shapes.items()}

    def module(self) -> Module:
        arrays = self.arrays()
        x, w, r = (relay.var(name, shape=array.shape, dtype=self.dtype) for name, array in arrays.items())
        net = relay.nn.dense(x, w)
        if "residual" in self.after:
            net = net + r
        if "relu" in self.after:
            net = relay.nn.relu(net)
        if "twice" in self.after:
            net = relay.Tuple([net, relay.exp(net)])
        return bind_parameters(relay.module(relay.Function([x, w, r], net)), {"w": arrays["w"]})


products = st.builds(
    Product,
    st.sampled_from(((4,), (6,), (13,), (2, 3), (1, 5, 2))),
    st.sampled_from((1, 3, 16, 40)),
    st.sampled_from((16, 17, 32, 39, 65)),
    st.sampled_from(("float32", "float64")),
    st.sampled_from(("", "residual relu", "relu twice")),
)


@given(products, st.sampled_from((1, 3)))
@example(Product((70,), 40, 48, "float32", "residual"), 3)  # several tiles of rows for each thread
def test_packed_weights_compute_what_weights_compute(case: Product, count: int) -> None:
    module = case.module()
    arrays = {name: array for name, array in case.arrays().items() if name != "w"}
    expected = interpret(module, "main", list(arrays.values()))
    packed = apply_passes(module, "relay-pack-weights,relay-fold-constants")
    assert "nn.contrib_dense_pack" in str(packed)
    with patch.object(sharing, "LEAST_TIME", 0), threads(count):
        executor = GraphExecutor(build_graph(packed))
        executor.run(**arrays)
    tolerance = TOLERANCE[case.dtype]
    for n, wanted in enumerate(expected if isinstance(expected, list | tuple) else [expected]):
        np.testing.assert_allclose(executor.get_output(n), wanted, tolerance, tolerance * float(abs(wanted).max()))

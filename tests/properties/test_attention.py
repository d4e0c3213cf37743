"""Attention in one kernel computes what its operators compute, for any extents, masks and batches."""

from contextlib import ExitStack
from dataclasses import dataclass, replace
from typing import Any
from unittest.mock import patch

import numpy as np
from hypothesis import example, given, settings
from hypothesis import strategies as st

from stepwell import Module, apply_passes, relay
from stepwell.backends.graph import GraphExecutor, build_graph
from stepwell.backends.graph import build as graph_build
from stepwell.backends.interpreter import interpret
from stepwell.backends.llvm import build as llvm_build
from stepwell.core.cpu import CpuModel, cpu_of
from stepwell.core.processors import threads
from stepwell.core.target import Target
from stepwell.frontends.relay.expr import Expr
from stepwell.schedule.cpu import threads as sharing

TOLERANCE = {"float32": 1e-5, "float64": 1e-13}
"""The largest error of an element, relative to the largest element."""
SMALL_CACHE = 2048
"""The bytes of an L2 cache that holds no scores but the smallest."""


@dataclass(frozen=True)
class Attention:
    """An attention. batch: the batch dimensions.  queries, keys, width: the extents of queries, keys and values.
    form: the words for its operators.
    """

    batch: tuple[int, ...]
    queries: int
    keys: int
    width: int
    dtype: str
    form: str

    def arrays(self) -> dict[str, Any]:
        choose = np.random.default_rng(self.queries)
        keys = (self.width, self.keys) if "turned" in self.form else (self.keys, self.width)
        shapes = {"q": (self.queries, self.width), "k": keys, "v": (self.keys, self.width + 3)}
        arrays = {name: choose.normal(size=(*self.batch, *shape)) for name, shape in shapes.items()}
        rows = self.queries if "masks" in self.form else 1
        arrays["m"] = choose.normal(size=(self.batch[0], *[1] * (len(self.batch) - 1), rows, self.keys))
        return {name: array.astype(self.dtype) for name, array in arrays.items()}

    def module(self, is_dynamic: bool) -> Module:
        """The program. is_dynamic: whether the first extent is known at run time."""
        shapes = {name: array.shape for name, array in self.arrays().items()}
        first: Any = "n" if is_dynamic else self.batch[0]
        q, k, v, m = (relay.var(name, shape=(first, *shape[1:]), dtype=self.dtype) for name, shape in shapes.items())
        scores = self.scores(q, k)
        if "scale" in self.form:
            scores = scores * relay.const(0.3, self.dtype)
        if "mask" in self.form:
            scores = scores + m
        weights = relay.nn.softmax(scores, axis=-1)
        if "rows" in self.form:  # as of torch: rows whose scores are all infinite
            is_full = relay.equal(relay.max(scores, axis=-1, keepdims=True), relay.const(-np.inf, self.dtype))
            weights = relay.where(is_full, relay.const(0, self.dtype), weights)
        return relay.module(relay.Function([q, k, v, m], self.results(weights, v)))

    def scores(self, q: Expr, k: Expr) -> Expr:
        if len(self.batch) == 1:
            return relay.nn.batch_matmul(q, k, transpose_b="turned" not in self.form)
        if "einsum" in self.form:
            return relay.einsum([q, k], "abxz,abzy->abxy" if "turned" in self.form else "abxz,abyz->abxy")
        product = relay.nn.batch_matmul(self.merged(q), self.merged(k), transpose_b="turned" not in self.form)
        return relay.reshape(product, (-1, self.batch[1], self.queries, self.keys))

    def results(self, weights: Expr, v: Expr) -> Expr:
        if len(self.batch) == 1:
            return relay.nn.batch_matmul(weights, v, transpose_b=False)
        if "einsum" in self.form:
            return relay.einsum([weights, v], "abxz,abzy->abxy")
        merged = relay.reshape(weights, (-1, self.queries, self.keys))
        return relay.nn.batch_matmul(merged, self.merged(v), transpose_b=False)

    def merged(self, x: Expr) -> Expr:
        """A batch of matrices with one batch dimension."""
        return relay.reshape(x, (-3, -2))


attentions = st.builds(
    Attention,
    st.sampled_from(((1,), (3,), (1, 2), (2, 3))),
    st.sampled_from((1, 3, 8, 13, 40, 70)),
    st.sampled_from((2, 5, 16, 33, 70)),
    st.sampled_from((1, 7, 16, 20)),
    st.sampled_from(("float32", "float64")),
    st.sampled_from(("", "scale mask", "turned masks", "scale masks rows", "einsum scale", "turned einsum mask")),
)


@settings(max_examples=max(1, settings().max_examples // 3))
@given(attentions, st.sampled_from((1, 3)), st.booleans(), st.booleans())
@example(Attention((2, 3), 70, 70, 16, "float32", "scale masks rows"), 3, False, False)  # two tiles of rows
@example(Attention((2, 3), 70, 64, 16, "float32", "scale masks rows"), 3, False, True)  # keys in tiles of columns
@example(Attention((3,), 13, 33, 20, "float64", "turned masks"), 1, True, False)
def test_attention_computes_what_its_operators_compute(
    case: Attention, count: int, is_dynamic: bool, is_narrow: bool
) -> None:
    """is_dynamic: whether the first extent is known at run time.  is_narrow: whether a tile in registers has columns
    of one cache line."""
    module, arrays = case.module(is_dynamic), case.arrays()
    expected = interpret(module, "main", list(arrays.values()))
    fused = apply_passes(module, "relay-infer-types,relay-fuse-attention")
    assert "@attention(" in str(fused)
    fused.verify()
    with ExitStack() as stack:
        for builder in (graph_build, llvm_build):
            stack.enter_context(patch.object(builder, "cpu_of", _narrow if is_narrow else _with_small_cache))
        stack.enter_context(patch.object(sharing, "LEAST_TIME", 0))
        stack.enter_context(threads(count))
        executor = GraphExecutor(build_graph(fused))
        executor.run(**arrays)
    tolerance = TOLERANCE[case.dtype]
    np.testing.assert_allclose(executor.get_output(0), expected, tolerance, tolerance * float(abs(expected).max()))


def _with_small_cache(target: Target) -> CpuModel:
    return replace(cpu_of(target), l2_bytes=SMALL_CACHE)


def _narrow(target: Target) -> CpuModel:
    return replace(_with_small_cache(target), l1_bytes=64, vector_bytes=16, vector_registers=16)

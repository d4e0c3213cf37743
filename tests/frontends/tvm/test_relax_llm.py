"""Models of language with caches of keys and values: `tvm.relax.frontend.nn.llm`."""

from typing import Any

import numpy as np
import pytest

import stepwell.frontends.tvm as tvm
from stepwell.core.errors import UnsupportedError
from stepwell.decoding.packed import FUNCTIONS
from stepwell.frontends.tvm import relax
from stepwell.frontends.tvm.relax.frontend import nn
from stepwell.frontends.tvm.relax.frontend.nn.llm.kv_cache import PagedKVCache, RopeMode, TIRPagedKVCache

HEADS, KEYS, SIZE = 4, 2, 6
RNG = np.random.default_rng(0)


class Attention(nn.Module):
    """One layer of attention without projections."""

    def __init__(self, mode: RopeMode):
        self.mode = mode

    def forward(self, qkv: Any, cache: PagedKVCache) -> Any:
        positions = cache.get_query_positions(qkv.shape[1])
        scale = {"sm_scale": SIZE**-0.5} if self.mode == RopeMode.NONE else {"attn_score_scaling_factor": 1.0}
        return cache.attention_with_fused_qkv(0, qkv, HEADS, **scale), positions, cache

    def create(self, sequences: Any, tokens: Any, page_size: Any) -> PagedKVCache:
        return TIRPagedKVCache(
            max_batch_size=sequences, max_total_seq_len=tokens, page_size=page_size, num_hidden_layers=1,
            num_attention_heads=HEADS, num_key_value_heads=KEYS, head_dim=SIZE, rope_mode=self.mode, rope_theta=100.0,
        )  # fmt: skip


SPEC = {
    "forward": {
        "qkv": nn.spec.Tensor([1, "n", HEADS + 2 * KEYS, SIZE]),
        "cache": nn.spec.Object(object_type=PagedKVCache),
    },
    "create": {"sequences": int, "tokens": int, "page_size": int},
}


def rotated(heads: Any) -> Any:
    half = SIZE // 2
    angles = np.arange(len(heads))[:, None, None] / 100.0 ** (np.arange(half) * 2 / SIZE)
    first, second = heads[..., :half], heads[..., half:]
    cos, sin = np.cos(angles), np.sin(angles)
    return np.concatenate([first * cos - second * sin, second * cos + first * sin], axis=-1)


@pytest.mark.parametrize("target", ["llvm", "cuda-emulated"])
@pytest.mark.parametrize("mode", [RopeMode.NONE, RopeMode.NORMAL])
def test_a_model_attends_to_earlier_tokens(mode: RopeMode, target: str) -> None:
    mod, _ = Attention(mode).export_tvm(SPEC)
    machine = relax.VirtualMachine(tvm.compile(mod, target), tvm.device(target))
    cache = machine["create"]((1,), (16,), (4,))
    begin, end = (FUNCTIONS[f"vm.builtin.kv_state_{name}_forward"] for name in ("begin", "end"))
    FUNCTIONS["vm.builtin.kv_state_add_sequence"](cache, 7)
    qkv = RNG.standard_normal((1, 5, HEADS + 2 * KEYS, SIZE)).astype("float32")
    results: list[Any] = []
    for tokens in (slice(0, 4), slice(4, 5)):
        begin(cache, (7,), (tokens.stop - tokens.start,))
        given = tvm.nd.array(np.ascontiguousarray(qkv[:, tokens]), tvm.device(target))
        found, positions, cache = machine["forward"](given, cache)
        end(cache)
        assert positions.numpy().tolist() == list(range(tokens.start, tokens.stop))
        results.append(found.numpy()[0])
    queries, keys, values = np.split(qkv[0], [HEADS, HEADS + KEYS], axis=1)
    if mode == RopeMode.NORMAL:
        queries, keys = rotated(queries), rotated(keys)
    keys, values = (np.repeat(each, HEADS // KEYS, axis=1) for each in (keys, values))
    scores = np.einsum("qhd,khd->hqk", queries, keys) * SIZE**-0.5
    weights = np.exp(np.where(np.tri(5, dtype=bool), scores, -np.inf))
    expected = np.einsum("hqk,khd->qhd", weights / weights.sum(-1, keepdims=True), values)
    np.testing.assert_allclose(np.concatenate(results), expected, rtol=1e-4, atol=1e-5)


def test_other_kinds_of_attention_are_errors() -> None:
    with pytest.raises(UnsupportedError, match="TIRPagedKVCache: attn_kind is not supported yet"):
        TIRPagedKVCache("mla", head_dim=4)
    with pytest.raises(UnsupportedError, match="rope_scaling"):
        TIRPagedKVCache("mha", head_dim=4, rope_scaling={"rope_type": "yarn"})

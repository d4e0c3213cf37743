"""A decoder as a program: tokens one by one, in parts and all at once have the logits of full attention."""

from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from stepwell import ExecutionError, KVCache, VirtualMachine, build_relax, get_global_func, parse_tvmscript
from stepwell.decoding.packed import FUNCTIONS
from stepwell.tools.testing.decoder import Decoder
from stepwell.tools.testing.decoding import attention_by_numpy

SMALL = Decoder(layers=1, width=32, query_heads=4, heads=2, inner=48, tokens=64, longest=64)
LARGE = Decoder(layers=2, width=256)
TOKENS = np.random.default_rng(1).integers(0, 64, 40).astype("int32")


class Compiled:
    """A compiled decoder, and its weights."""

    def __init__(self, decoder: Decoder):
        self.decoder, self.weights = decoder, decoder.weights()
        self.main = VirtualMachine(build_relax(decoder.program(self.weights)))["main"]

    def run(self, cache: KVCache, tokens: dict[int, Any]) -> np.ndarray[Any, Any]:
        """The logits of new tokens of sequences."""
        with cache.forward(list(tokens), [len(each) for each in tokens.values()]):
            return self.main(np.concatenate(list(tokens.values())), cache).numpy()

    def assert_logits(self, result: Any, tokens: Any) -> None:
        """Compares the logits of the last tokens of a sequence with those of full attention."""
        expected = self.decoder.logits(self.weights, tokens)[-len(result) :]
        np.testing.assert_allclose(result, expected, rtol=1e-3, atol=1e-3)


@pytest.fixture(scope="module", params=["small", pytest.param("large", marks=pytest.mark.slow)])
def decoder(request: pytest.FixtureRequest) -> Compiled:
    return Compiled({"small": SMALL, "large": LARGE}[request.param])


@pytest.mark.parametrize("parts", [[40], [1] * 40, [17, *[1] * 7, 16]])
def test_tokens_in_parts_have_the_logits_of_full_attention(decoder: Compiled, parts: list[int]) -> None:
    cache = decoder.decoder.cache(pages=3)
    cache.add_sequence(0)
    places = np.cumsum([0, *parts])
    rows = [decoder.run(cache, {0: TOKENS[start:end]}) for start, end in pairwise(places)]
    decoder.assert_logits(np.concatenate(rows), TOKENS)


def test_sequences_of_a_batch_do_not_see_each_other(decoder: Compiled) -> None:
    cache = decoder.decoder.cache(pages=8)
    cache.add_sequence(0)
    cache.add_sequence(1)
    decoder.run(cache, {0: TOKENS[:5], 1: TOKENS[5:20]})
    both = decoder.run(cache, {1: TOKENS[20:21], 0: TOKENS[20:22]})
    decoder.assert_logits(both[:1], TOKENS[5:21])
    decoder.assert_logits(both[1:], np.concatenate([TOKENS[:5], TOKENS[20:22]]))


def test_a_prompt_is_computed_once_for_several_continuations(decoder: Compiled) -> None:
    cache = decoder.decoder.cache(pages=8)
    cache.add_sequence(0)
    decoder.run(cache, {0: TOKENS[:20]})
    cache.fork(0, 1)
    for n in range(3):
        rows = decoder.run(cache, {0: TOKENS[20 + n : 21 + n], 1: TOKENS[30 + n : 31 + n]})
        decoder.assert_logits(rows[:1], TOKENS[: 21 + n])
        decoder.assert_logits(rows[1:], np.concatenate([TOKENS[:20], TOKENS[30 : 31 + n]]))
    cache.trim(1, 18)
    decoder.assert_logits(decoder.run(cache, {1: TOKENS[35:37]}), np.concatenate([TOKENS[:18], TOKENS[35:37]]))


def test_prefill_and_token_step_share_weights(decoder: Compiled) -> None:
    executable = decoder.main.machine.executable
    assert sorted(executable.constants) == sorted(decoder.weights)
    assert all(executable.constants[name].shape == decoder.weights[name].shape for name in decoder.weights)


def test_a_program_without_a_forward_pass_is_an_error(decoder: Compiled) -> None:
    with pytest.raises(ExecutionError, match="query_positions: no forward pass is under way"):
        decoder.main(TOKENS, decoder.decoder.cache(pages=4))
    with pytest.raises(ExecutionError, match="a value of type str, expected a KVCache"):
        decoder.main(TOKENS, "cache")


FUSED = """
@R.function
def main(qkv: R.Tensor(("n", 8, 4), "float32"), cache: R.Object):
    n = T.int64()
    y = R.call_dps_packed("vm.builtin.attention_kv_cache_attention_with_fused_qkv",
        (cache, R.prim_value(0), R.prim_value(T.float32(0.25)), qkv), out_sinfo=R.Tensor((n, 4, 4), "float32"))
    return y
"""


def test_the_names_of_tvm_are_registered() -> None:
    cache = KVCache(layers=1, query_heads=4, heads=2, head_size=4, pages=4, page_size=2)
    state = {name: get_global_func(f"vm.builtin.kv_state_{name}") for name in (
        "add_sequence", "begin_forward", "end_forward", "fork_sequence", "popn", "remove_sequence", "clear"
    )}  # fmt: skip
    qkv = np.random.default_rng(0).standard_normal((3, 8, 4)).astype("float32")
    state["add_sequence"](cache, 0)
    state["begin_forward"](cache, (0,), (3,))
    result = VirtualMachine(build_relax(parse_tvmscript(FUSED)))["main"](qkv, cache).numpy()
    state["end_forward"](cache)
    expected = attention_by_numpy(qkv[:, :4], qkv[:, 4:6], qkv[:, 6:], 0, 0.25)
    np.testing.assert_allclose(result, expected, rtol=1e-5, atol=1e-6)
    state["fork_sequence"](cache, 0, 1, -1)
    state["fork_sequence"](cache, 0, 2, 2)
    state["popn"](cache, 1, 2)
    assert [cache.length(sequence) for sequence in cache.sequences] == [3, 1, 2]
    state["remove_sequence"](cache, 0)
    state["clear"](cache)
    assert cache.sequences == []
    assert all(get_global_func(name) is function for name, function in FUNCTIONS.items())

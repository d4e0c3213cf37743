"""Compares decoding token by token with a cache of keys and values: a program of relax, and a decoder in PyTorch.

The decoder has 2 layers and 256 elements of each token, and random weights. A run decodes tokens after a prompt of
each length; the ways take turns, and the table shows medians. "any n" is the program that also computes the prompt;
"n = 1" is compiled for one token. PyTorch runs eagerly, with keys and values in tensors allocated before, and its own
attention. error: the largest difference of logits from PyTorch's attention without a cache, by the largest logit.

    python benchmarks/decoding.py [--prompts 16 128 512] [--tokens N] [--runs N] [--threads N]

Without torch, Stepwell is measured alone, and errors are against numpy.
"""

from __future__ import annotations

import argparse
import statistics
import sys
from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

import numpy as np
from measuring import describe_package, machine, relative_error, times_in_turn

from stepwell import VirtualMachine, build_relax, set_num_threads
from stepwell.tools.testing.decoder import Decoder

Array = np.ndarray[Any, Any]
Step = Callable[[Array, int], Array]
"""Computes the logits of tokens at the positions from a number on."""

DECODER = Decoder()


class OfStepwell:
    """The decoder as a program. size: the number of tokens of a step, by default any."""

    def __init__(self, weights: dict[str, Array], prefill: OfStepwell | None = None):
        self.name = "any n" if prefill is None else "n = 1"
        self.main = VirtualMachine(build_relax(DECODER.program(weights, None if prefill is None else 1)))["main"]
        self.prompt = self.main if prefill is None else prefill.main
        self.cache = DECODER.cache(pages=DECODER.longest // 16)
        self.cache.add_sequence(0)

    def start(self, tokens: Array) -> Array:
        """Computes a prompt."""
        self.cache.trim(0, 0)
        with self.cache.forward([0], [len(tokens)]):
            return self.prompt(tokens, self.cache).numpy()

    def step(self, token: Array) -> Array:
        """Computes a token."""
        with self.cache.forward([0], [1]):
            return self.main(token, self.cache).numpy()

    def back(self, length: int) -> None:
        """Removes the tokens after the first ones."""
        self.cache.trim(0, length)


class OfTorch:
    """The decoder in PyTorch."""

    name = "torch"

    def __init__(self, weights: dict[str, Array]):
        import torch

        self.torch = torch
        self.w = {name: torch.from_numpy(weight) for name, weight in weights.items()}
        shape = (1, DECODER.heads, DECODER.longest, DECODER.head_size)
        self.keys, self.values = ([torch.zeros(shape) for _ in range(DECODER.layers)] for _ in range(2))
        self.length = 0

    def start(self, tokens: Array) -> Array:
        """Computes a prompt."""
        self.length = 0
        return self.step(tokens)

    def step(self, token: Array) -> Array:
        """Computes tokens after those that the cache has."""
        torch, nn, w, start = self.torch, self.torch.nn.functional, self.w, self.length
        count = len(token)
        self.length = end = start + count

        def normal(x: Any, gamma: str, beta: str) -> Any:
            return nn.layer_norm(x, (DECODER.width,), w[gamma], w[beta])

        def heads(x: Any) -> Any:
            return x.view(1, count, -1, DECODER.head_size).transpose(1, 2)

        with torch.inference_mode():
            x = w["embedding"][torch.from_numpy(token).long()] + w["places"][start:end]
            for i in range(DECODER.layers):
                h = normal(x, f"gamma{i}", f"beta{i}")
                query, key, value = (heads(h @ w[f"{name}{i}"]) for name in ("query", "key", "value"))
                keys, values = self.keys[i], self.values[i]
                keys[:, :, start:end], values[:, :, start:end] = key, value
                attention = nn.scaled_dot_product_attention(
                    query, keys[:, :, :end], values[:, :, :end], is_causal=count > 1, enable_gqa=True
                )
                x = x + attention.transpose(1, 2).reshape(count, -1) @ w[f"output{i}"]
                up = nn.gelu(normal(x, f"gamma_up{i}", f"beta_up{i}") @ w[f"up{i}"])
                x = x + up @ w[f"down{i}"]
            return (normal(x, "gamma", "beta") @ w["head"]).numpy()

    def back(self, length: int) -> None:
        """Removes the tokens after the first ones."""
        self.length = length


def compare(ways: list[Any], prompt: int, count: int, runs: int, weights: dict[str, Array]) -> None:
    """Prints the tokens per second of each way after a prompt, and its error."""
    tokens = np.random.default_rng(0).integers(0, DECODER.tokens, prompt + count).astype("int32")
    is_torch = isinstance(ways[-1], OfTorch)
    expected = ways[-1].start(tokens) if is_torch else DECODER.logits(weights, tokens).astype("float32")

    def decode(way: Any) -> Array:
        way.back(prompt)
        return np.concatenate([way.step(tokens[n : n + 1]) for n in range(prompt, prompt + count)])

    prefills = times_in_turn([lambda way=way: way.start(tokens[:prompt]) for way in ways], runs)
    decodes = times_in_turn([lambda way=way: decode(way) for way in ways], runs)
    for way, prefill, times in zip(ways, prefills, decodes, strict=True):
        way.start(tokens[:prompt])
        error = relative_error(decode(way), expected[prompt:])
        speed = count / statistics.median(times)
        spread = f"{count / max(times):.0f}-{count / min(times):.0f}"
        rate = prompt / statistics.median(prefill)
        print(f"{prompt:7}  {way.name:8}{speed:12.0f}  {spread:>12}{rate:14.0f}{error:12.1e}", flush=True)


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--prompts", type=int, nargs="+", default=[16, 128, 512], help="the lengths of prompts")
    arguments.add_argument("--tokens", type=int, default=64, help="the tokens that a run decodes")
    arguments.add_argument("--runs", type=int, default=9, help="how often to run each")
    arguments.add_argument("--threads", type=int, default=1)
    options = arguments.parse_args()
    set_num_threads(options.threads)
    weights = DECODER.weights()
    any_size = OfStepwell(weights)
    ways: list[Any] = [any_size, OfStepwell(weights, any_size)]
    if find_spec("torch") is not None:
        ways.append(OfTorch(weights))
        ways[-1].torch.set_num_threads(options.threads)
    print(f"# {machine()}")
    print(f"# {', '.join(map(describe_package, ('stepwell', 'torch', 'numpy')))}; {' '.join(sys.argv)}")
    print(f"# {DECODER}; {options.tokens} tokens, {options.runs} runs, {options.threads} threads")
    print(f"{'prompt':>7}  {'way':8}{'tokens/s':>12}  {'slowest-best':>12}{'prompt tok/s':>14}{'error':>12}")
    for prompt in options.prompts:
        compare(ways, prompt, options.tokens, options.runs, weights)


if __name__ == "__main__":
    main()

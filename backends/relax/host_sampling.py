"""Packed functions of TVM's runtime that choose tokens by their probabilities, and change these."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...core.errors import ArgumentError
from ..devices.nd import NDArray
from ..runtime.packed import register_func
from .host_functions import host_array, on_host

Array = np.ndarray[Any, Any]


def multinomial_from_uniform(probabilities: Array, samples: Array) -> Array:
    """The first position of each row at which the sum of its probabilities exceeds the row's sample, else the last
    one, as an array [rows, 1]. samples: of [0, 1), one for each row. ArgumentError for another number."""
    rows = probabilities.reshape(-1, probabilities.shape[-1])
    if samples.size != len(rows):
        raise ArgumentError(f"multinomial_from_uniform: {samples.size} samples for {len(rows)} rows")
    sums = np.cumsum(rows, axis=-1, dtype=np.float32)
    exceeds = sums > samples.reshape(-1, 1)
    exceeds[:, -1] = True
    return exceeds.argmax(-1).astype(np.int64).reshape(-1, 1)


def sample_top_p_from_prob(probabilities: Any, top_p: float, sample: float) -> int:
    """A position among the most probable ones whose probabilities sum to `top_p`, by a sample of [0, 1). ArgumentError
    for several rows, and for probabilities that are not numbers."""
    row = _row("sample_top_p_from_prob", probabilities)
    if np.isnan(row).all():
        raise ArgumentError("sample_top_p_from_prob: the probabilities are not numbers")
    order = np.argsort(-row, kind="stable")
    sums = np.cumsum(row[order], dtype=np.float32)
    kept = int(np.searchsorted(sums, np.float32(top_p), side="left")) + 1
    chosen = np.flatnonzero(np.float32(sample) < sums[:kept] / sums[min(kept, len(sums)) - 1])
    return int(order[chosen[0] if len(chosen) else min(kept, len(sums)) - 1])


def sample_top_p_from_logits(logits: Any, temperature: float, top_p: float, sample: float) -> int:
    """`sample_top_p_from_prob` of the softmax of logits; the position of the greatest logit for a temperature of 0."""
    row = _row("sample_top_p_from_logits", logits)
    if temperature < 1e-6:
        return int(row.argmax())
    return sample_top_p_from_prob(_softmax(row, temperature), top_p, sample)


def apply_softmax_with_temperature(logits: Any, temperature: float) -> None:
    """Replaces logits by their softmax along the last dimension."""
    _update(logits, lambda rows: _softmax(rows, temperature))


def apply_repetition_penalty(logits: Any, tokens: Any, penalty: float) -> None:
    """Divides the positive logits of tokens by a penalty, and multiplies the others."""

    def apply(rows: Array) -> Array:
        row, places = rows.reshape(-1), host_array(tokens).reshape(-1)
        row[places] = np.where(row[places] > 0, row[places] / penalty, row[places] * penalty)
        return rows

    _update(logits, apply)


def apply_presence_and_frequency_penalty(
    logits: Any, tokens: Any, counts: Any, presence_penalty: float, frequency_penalty: float
) -> None:
    """Subtracts penalties from the logits of tokens: one for their presence, one for each time that they occur."""

    def apply(rows: Array) -> Array:
        row, places = rows.reshape(-1), host_array(tokens).reshape(-1)
        row[places] -= (host_array(counts).reshape(-1) * frequency_penalty + presence_penalty).astype(row.dtype)
        return rows

    _update(logits, apply)


def _softmax(rows: Array, temperature: float) -> Array:
    scaled = np.exp((rows - rows.max(-1, keepdims=True)) / np.float32(temperature))
    return scaled / scaled.sum(-1, keepdims=True)


def _row(name: str, value: Any) -> Array:
    array = host_array(value)
    if array.size != array.shape[-1]:
        raise ArgumentError(f"{name}: an array of shape {array.shape}, expected one row")
    return array.reshape(-1).astype(np.float32)


def _update(value: Any, function: Callable[[Array], Array]) -> None:
    """Replaces the elements of an array."""
    if isinstance(value, NDArray):
        value.copyfrom(function(value.numpy().copy()))
    else:
        value[...] = function(value.copy())


SAMPLING_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "vm.builtin.apply_presence_and_frequency_penalty": apply_presence_and_frequency_penalty,
    "vm.builtin.apply_repetition_penalty": apply_repetition_penalty,
    "vm.builtin.apply_softmax_with_temperature": apply_softmax_with_temperature,
    "vm.builtin.multinomial_from_uniform": on_host(multinomial_from_uniform),
    "vm.builtin.sample_top_p_from_logits": sample_top_p_from_logits,
    "vm.builtin.sample_top_p_from_prob": sample_top_p_from_prob,
}
"""The functions by name."""

for _name, _function in SAMPLING_FUNCTIONS.items():
    register_func(_name, _function, override=True)

"""The cache of keys and values: attention over pages, sequences that share pages, errors that leave it unchanged."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from stepwell import ArgumentError, KVCache, OptionError, OutOfMemoryError
from stepwell.core.dtypes import numpy_dtype
from stepwell.tools.testing.decoding import CacheModel, attention_by_numpy

Array = np.ndarray[Any, Any]


def model(**options: Any) -> CacheModel:
    """A cache of 2 layers and small pages beside its reference."""
    default: dict[str, Any] = {"layers": 2, "query_heads": 4, "heads": 2, "head_size": 8, "pages": 8, "page_size": 4}
    return CacheModel(KVCache(**default | options))


@pytest.mark.parametrize(("query_heads", "heads"), [(1, 1), (3, 3), (4, 1), (6, 2)])
@pytest.mark.parametrize("page_size", [1, 4, 16])
def test_attention_is_that_of_numpy(query_heads: int, heads: int, page_size: int) -> None:
    pair = model(query_heads=query_heads, heads=heads, page_size=page_size, pages=20)
    pair.add(0)
    for count in (3, 1, 5, 1):
        pair.extend([0], [count])
    pair.add(7)
    pair.extend([7, 0], [2, 1])


@pytest.mark.parametrize(("dtype", "tolerance"), [("float16", 2e-3), ("bfloat16", 2e-2)])
def test_small_floats_are_summed_in_float32(dtype: str, tolerance: float) -> None:
    pair = model(dtype=dtype, pages=100)
    pair.tolerance = tolerance
    pair.add(0)
    pair.extend([0], [300])
    pair.extend([0], [1])


def test_large_scores_do_not_overflow() -> None:
    cache = KVCache(layers=1, query_heads=1, head_size=2, pages=2, page_size=2)
    cache.add_sequence(0)
    keys = np.array([[[-1e4, 0]], [[1e4, 0]], [[2e4, 0]]], "float32")
    with cache.forward([0], [3]):
        cache.append(0, keys, keys)
        result = cache.attention(0, np.ones((3, 1, 2), "float32"), scale=1.0)
    np.testing.assert_array_equal(result, keys)


def test_the_scale_and_the_result_may_be_given() -> None:
    cache = KVCache(layers=1, query_heads=2, head_size=4, pages=1)
    rng = np.random.default_rng(0)
    queries, keys, values = (rng.standard_normal((3, 2, 4), "float32") for _ in range(3))
    cache.add_sequence(0)
    out = np.empty((3, 2, 4), "float32")
    with cache.forward([0], [3]):
        cache.append(0, keys, values)
        assert cache.attention(0, queries, 0.25, out) is out
    np.testing.assert_allclose(out, attention_by_numpy(queries, keys, values, 0, 0.25), rtol=1e-5, atol=1e-6)


def test_a_fork_shares_pages_until_one_sequence_writes() -> None:
    pair = model()
    pair.add(0)
    pair.extend([0], [6])
    pair.fork(0, 1)
    assert len(pair.cache.pool.free) == 6
    pair.extend([1], [1])
    assert len(pair.cache.pool.free) == 5
    pair.extend([0], [1])
    assert len(pair.cache.pool.free) == 5
    pair.check()


def test_a_whole_page_is_never_copied() -> None:
    pair = model()
    pair.add(0)
    pair.extend([0], [4])
    pair.fork(0, 1)
    pair.extend([0, 1], [1, 1])
    assert len(pair.cache.pool.free) == 5
    pair.check()


def test_both_sharers_of_a_page_may_be_extended_at_once() -> None:
    pair = model(pages=3)
    pair.add(0)
    pair.extend([0], [3])
    pair.fork(0, 1)
    pair.fork(0, 2)
    pair.extend([0, 1, 2], [1, 1, 1])
    assert list(pair.cache.pool.free) == []
    pair.check()


def test_a_trimmed_page_that_is_shared_is_copied() -> None:
    pair = model()
    pair.add(0)
    pair.extend([0], [8])
    pair.fork(0, 1, 6)
    pair.trim(0, 5)
    pair.extend([0], [1])
    pair.check()
    pair.remove(1)
    pair.trim(0, 0)
    assert len(pair.cache.pool.free) == 8


def test_a_pass_without_enough_pages_leaves_the_cache_as_it_was() -> None:
    pair = model(pages=2)
    pair.add(0)
    pair.extend([0], [6])
    pair.fork(0, 1)
    message = "key-value cache: 1 pages needed, 0 of 2 are free"
    with pytest.raises(OutOfMemoryError, match=message):
        pair.cache.begin_forward([0], [1])
    pair.remove(1)
    pair.extend([0], [1])
    with pytest.raises(OutOfMemoryError, match="2 pages needed, 0 of 2 are free"):
        pair.cache.begin_forward([0], [6])
    pair.check()


def fail_in_a_pass(cache: KVCache) -> None:
    with cache.forward([0], [7]):
        cache.append(0, *np.zeros((2, 7, 2, 8), "float32"))
        cache.attention(0, tokens(1))


def test_a_pass_that_fails_is_undone() -> None:
    pair = model()
    pair.add(0)
    pair.extend([0], [3])
    with pytest.raises(ArgumentError, match="queries"):
        fail_in_a_pass(pair.cache)
    assert (pair.cache.length(0), len(pair.cache.pool.free)) == (3, 7)
    pair.extend([0], [2])
    pair.cache.begin_forward([0], [1])
    with pytest.raises(ArgumentError, match="end_forward: no keys and values of layer 0, 1"):
        pair.cache.end_forward()
    pair.cache.cancel_forward()
    pair.check()


def test_positions_are_those_in_each_sequence() -> None:
    pair = model()
    pair.add(0)
    pair.add(1)
    pair.extend([0], [3])
    pair.cache.begin_forward([1, 0], [2, 3])
    np.testing.assert_array_equal(pair.cache.query_positions(), np.array([0, 1, 3, 4, 5], "int32"))
    pair.cache.cancel_forward()


def test_clear_removes_all_sequences() -> None:
    pair = model()
    pair.add(0)
    pair.extend([0], [3])
    pair.fork(0, 1)
    pair.cache.clear()
    assert (pair.cache.sequences, len(pair.cache.pool.free)) == ([], 8)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"layers": 0}, "KVCache: layers = 0, expected at least 1"),
        ({"pages": -1}, "KVCache: pages = -1, expected at least 1"),
        ({"heads": 3}, "KVCache: 4 heads of queries, expected a multiple of 3 heads"),
        ({"dtype": "int8"}, "KVCache: dtype int8, expected one of float32, float16, bfloat16"),
    ],
)
def test_invalid_options_are_errors(options: dict[str, Any], message: str) -> None:
    with pytest.raises(OptionError) as caught:
        model(**options)
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda c: c.length(5), "no sequence 5 in the cache, there is 0, 1"),
        (lambda c: c.trim(5, 0), "no sequence 5 in the cache"),
        (lambda c: c.remove_sequence(5), "no sequence 5 in the cache"),
        (lambda c: c.fork(5, 6), "no sequence 5 in the cache"),
        (lambda c: c.fork(0, 1), "sequence 1 is in the cache already"),
        (lambda c: c.fork(0, 2, 4), "length 4 of sequence 0, expected 0 to 3"),
        (lambda c: c.trim(0, -1), "length -1 of sequence 0, expected 0 to 3"),
        (lambda c: c.add_sequence(0), "sequence 0 is in the cache already"),
        (lambda c: c.begin_forward([0], [0]), "begin_forward: 0 tokens of sequence 0, expected at least 1"),
        (lambda c: c.begin_forward([0, 0], [1, 1]), "begin_forward: sequence 0 occurs 2 times, expected once"),
        (lambda c: c.begin_forward([0, 1], [1]), "begin_forward: 2 sequences and 1 counts, expected as many"),
        (lambda c: c.begin_forward([], []), "begin_forward: 0 sequences and 0 counts"),
        (lambda c: c.end_forward(), "end_forward: no forward pass is under way, expected begin_forward before"),
        (lambda c: c.cancel_forward(), "cancel_forward: no forward pass is under way"),
        (lambda c: c.query_positions(), "query_positions: no forward pass is under way"),
        (lambda c: c.append(0, tokens(1), tokens(1)), "append: no forward pass is under way"),
    ],
)
def test_invalid_calls_between_passes_are_errors(call: Callable[[KVCache], Any], message: str) -> None:
    pair = model()
    pair.add(0)
    pair.add(1)
    pair.extend([0], [3])
    with pytest.raises(ArgumentError) as caught:
        call(pair.cache)
    assert message in str(caught.value)
    pair.check()


def tokens(count: int, heads: int = 2, dtype: str = "float32") -> Array:
    return np.zeros((count, heads, 8), numpy_dtype(dtype))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda c: c.append(2, tokens(2), tokens(2)), "append: layer 2, expected 0 to 1"),
        (lambda c: c.append(0, tokens(2), tokens(2)), "append: layer 0 has keys and values of these tokens"),
        (lambda c: c.append(1, tokens(1), tokens(2)), "append: keys: float32 of shape (1, 2, 8), expected float32 of"),
        (
            lambda c: c.append(1, tokens(2), tokens(2, 4)),
            "append: values: float32 of shape (2, 4, 8), expected float32",
        ),
        (
            lambda c: c.append(1, tokens(2, 2, "float16"), tokens(2)),
            "append: keys: float16 of shape (2, 2, 8), expected",
        ),
        (lambda c: c.attention(1, tokens(2, 4)), "attention: layer 1 has no keys and values of these tokens"),
        (
            lambda c: c.attention(0, tokens(2)),
            "attention: queries: float32 of shape (2, 2, 8), expected float32 of shape",
        ),
        (lambda c: c.attention(0, tokens(2, 4), None, tokens(1, 4)), "attention: out: float32 of shape (1, 4, 8)"),
        (lambda c: c.begin_forward([1], [1]), "begin_forward: a forward pass is under way, expected end_forward or"),
        (lambda c: c.fork(0, 2), "fork: a forward pass is under way"),
        (lambda c: c.trim(0, 0), "trim: a forward pass is under way"),
        (lambda c: c.add_sequence(2), "add_sequence: a forward pass is under way"),
        (lambda c: c.clear(), "clear: a forward pass is under way"),
    ],
)
def test_invalid_calls_during_a_pass_are_errors(call: Callable[[KVCache], Any], message: str) -> None:
    cache = model().cache
    cache.add_sequence(0)
    cache.add_sequence(1)
    cache.begin_forward([0], [2])
    cache.append(0, tokens(2), tokens(2))
    with pytest.raises(ArgumentError) as caught:
        call(cache)
    assert message in str(caught.value)

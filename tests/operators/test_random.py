"""Random numbers: those of Threefry with TVM's states."""

from typing import Any

import numpy as np
import pytest

from stepwell.expressions.errors import TeError
from stepwell.frontends import te, tvm
from stepwell.frontends.tvm import relay, topi
from stepwell.operators import OPERATORS

_MASK = 2**64 - 1
_TURNS = [[14, 16], [52, 57], [23, 40], [5, 37], [25, 33], [46, 12], [58, 22], [32, 32]]


def words_of(state: np.ndarray, number: int) -> list[int]:
    """A block of four random words, in integers of Python: TVM's loop, word by word."""
    key = [int(word) for word in state[:4]]
    key.append(0x1BD11BDAA9FC1A22 ^ key[0] ^ key[1] ^ key[2] ^ key[3])
    out = [(int(word) + number) & _MASK for word in state[4:8]]
    for i in range(5):
        for j in range(4):
            out[j] = (out[j] + key[(i + j) % 5] + (i if j == 3 else 0)) & _MASK
        for k in range(4):
            for j in range(2):
                a, b = out[2 * j], out[2 * j + 1]
                turn = _TURNS[(i * 4 + k) % 8][j]
                x = (a + b) & _MASK
                out[2 * j], out[2 * j + 1] = x, x ^ (((b << turn) | (b >> (64 - turn))) & _MASK)
            out = [out[0], out[3], out[2], out[1]]
    return out


def drawn(name: str, *arrays: np.ndarray, **said: Any) -> Any:
    return OPERATORS[f"random.{name}"].reference(*arrays, **said)


KEY = relay.random.threefry_key(42).data.numpy()


def test_numbers_are_those_of_the_loop() -> None:
    after, numbers = drawn("threefry_generate", KEY, out_shape=[2, 5])
    blocks = [words_of(KEY, n) for n in range(2)]
    later = KEY.copy()
    later[7] += np.uint64(8)
    expected = [*blocks[0], *blocks[1], *words_of(later, 0)[:2]]
    assert numbers.ravel().tolist() == expected
    assert after.tolist() == [42, 0, 0, 0, 0, 0, 0, 12, 2**63, 0]


def test_a_state_at_the_end_of_its_counter_has_another_path_or_key() -> None:
    state = np.array([1, 2, 3, 4, 0, 0, 0, 2**64 - 2, 1, 0], "uint64")
    after, _ = drawn("threefry_generate", state, out_shape=[2048])
    assert after.tolist() == [1, 2, 3, 4, 1, 0, 0, 2048, 0, 2**63]
    state[8] = 0
    after, _ = drawn("threefry_generate", state, out_shape=[4])
    full = np.array([1, 2, 3, 4, *[_MASK] * 4, 0, 0], "uint64")
    assert after.tolist() == [*words_of(full, 0), 0, 0, 0, 4, 2**63, 0]


def test_splits_append_to_the_path() -> None:
    left, right = drawn("threefry_split", relay.random.threefry_key(0).data.numpy())
    assert left.tolist() == [0, 0, 0, 0, 0, 0, 0, 0, 2**62, 0]
    assert right.tolist() == [0, 0, 0, 0, 2**63, 0, 0, 0, 2**62, 0]
    for _ in range(127):
        left, right = drawn("threefry_split", right)
    assert right.tolist() == [0, 0, 0, 0, 2**64 - 1, 2**64 - 1, 0, 0, 0, 0]
    left, after = drawn("threefry_split", right)
    assert left[:4].tolist() == after[:4].tolist() == words_of(right, 0)
    assert (left[4], after[4], after[8]) == (0, 2**63, 2**62)


def test_graphs_draw_numbers() -> None:
    key, second = relay.random.threefry_split(relay.random.threefry_key(7))
    key, unit = relay.random.uniform(key, (64, 64), low=5, high=relay.const(10.0))
    _, bell = relay.random.normal(key, (64, 64), "float64", mean=3, scale=2)
    _, rows = relay.random.multinomial(second, relay.const(np.array([[0, 1, 3], [5, -2, 0]], "float32")), 4000)
    run = relay.create_executor("graph", tvm.IRModule.from_expr(relay.Tuple([unit, bell, rows]))).evaluate()
    found, bells, places = (each.numpy() for each in run())
    assert 5 <= found.min() < found.max() < 10
    assert abs(found.mean() - 7.5) < 0.1
    assert abs(bells.mean() - 3) < 0.15
    assert abs(bells.std() - 2) < 0.1
    assert places.shape == (2, 4000)
    assert abs((places[0] == 2).mean() - 0.75) < 0.05
    assert (set(places[0]), set(places[1])) == ({1, 2}, {0})


def test_the_names_of_topi() -> None:
    state = te.placeholder((10,), "uint64", "state")
    after, numbers = topi.random.threefry_generate(state, (7,))
    results = [np.zeros(10, "uint64"), np.zeros(7, "uint64")]
    tvm.build(te.create_prim_func([state, after, numbers]))(KEY, *results)
    for got, expected in zip(results, drawn("threefry_generate", KEY, out_shape=[7]), strict=True):
        np.testing.assert_array_equal(got, expected)
    assert topi.random.threefry_test_wrapping("llvm", tvm.cpu())


def test_other_states_are_errors() -> None:
    state = te.placeholder((10,), "uint64", "state")
    with pytest.raises(TeError, match=r"a state of shape \[4\] and float32, expected \[10\] and uint64"):
        topi.random.threefry_split(te.placeholder((4,)))
    with pytest.raises(TeError, match=r"out_dtype 'int8', expected 'float32' or 'float64'"):
        topi.random.uniform(state, te.placeholder(()), te.placeholder(()), [2], "int8")
    with pytest.raises(TeError, match="low of float64 of 0 dimensions, expected float32"):
        topi.random.uniform(state, te.placeholder((), "float64"), te.placeholder(()), [2], "float32")
    with pytest.raises(tvm.TVMError, match="seed -1, expected a number from 0"):
        relay.random.threefry_key(-1)

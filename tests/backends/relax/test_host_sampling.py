"""Functions of TVM's runtime that choose tokens."""

from typing import Any

import numpy as np
import pytest

from stepwell.backends.relax.host_tvm import TVM_FUNCTIONS
from stepwell.backends.runtime.packed import get_global_func
from stepwell.core.errors import ArgumentError
from stepwell.frontends import tvm

RANDOM = np.random.default_rng(0)


def function(name: str) -> Any:
    """A registered function of TVM's virtual machine."""
    return get_global_func(f"vm.builtin.{name}")


def probabilities(*shape: int) -> Any:
    numbers = RANDOM.random(shape, np.float32)
    return numbers / numbers.sum(-1, keepdims=True)


def test_samples_choose_positions_by_sums_of_probabilities() -> None:
    sample = function("multinomial_from_uniform")
    rows = np.array([[0.5, 0.25, 0.25], [0, 0, 1], [1, 0, 0]], "float32")
    assert sample(rows, np.array([[0.6], [0.0], [1.0]], "float32")).tolist() == [[1], [2], [2]]
    many = probabilities(1, 4)
    draws = [int(sample(many, np.array([[u]], "float32"))[0, 0]) for u in RANDOM.random(4000)]
    np.testing.assert_allclose(np.bincount(draws, minlength=4) / 4000, many[0], atol=0.03)
    with pytest.raises(ArgumentError, match="2 samples for 1 rows"):
        sample(many, np.zeros((2, 1), "float32"))


def test_the_most_probable_positions_are_chosen() -> None:
    sample = function("sample_top_p_from_prob")
    row = np.array([0.1, 0.5, 0.1, 0.3], "float32")
    assert {sample(row, 0.5, u) for u in (0.0, 0.5, 0.99)} == {1}
    assert [sample(row, 0.7, u) for u in (0.0, 0.6, 0.65, 0.99)] == [1, 1, 3, 3]
    assert {sample(row, 1.0, u) for u in np.linspace(0, 0.999, 50)} == {0, 1, 2, 3}
    assert sample(tvm.nd.array(row.reshape(1, 1, 4)), 0.9, 0.0) == 1
    with pytest.raises(ArgumentError, match=r"an array of shape \(2, 2\), expected one row"):
        sample(row.reshape(2, 2), 0.9, 0.0)
    with pytest.raises(ArgumentError, match="the probabilities are not numbers"):
        sample(np.full(3, np.nan, "float32"), 0.9, 0.0)


def test_logits_are_scaled_by_the_temperature() -> None:
    sample = function("sample_top_p_from_logits")
    logits = np.log(np.array([0.1, 0.5, 0.1, 0.3], "float32"))
    assert sample(logits, 0.0, 1.0, 0.99) == 1
    assert [sample(logits, 1.0, 0.7, u) for u in (0.0, 0.6, 0.65, 0.99)] == [1, 1, 3, 3]
    assert {sample(logits, 0.01, 1.0, u) for u in np.linspace(0, 0.99, 20)} == {1}


def test_logits_are_changed_in_place() -> None:
    logits = tvm.nd.array(np.array([[1, 2, -1, 0]], "float32"))
    function("apply_repetition_penalty")(logits, tvm.nd.array(np.array([1, 2], "int32")), 2.0)
    np.testing.assert_allclose(logits.numpy(), [[1, 1, -2, 0]])
    counts = np.array([3, 1], "int32")
    function("apply_presence_and_frequency_penalty")(logits, np.array([0, 3], "int32"), counts, 0.5, 0.25)
    np.testing.assert_allclose(logits.numpy(), [[-0.25, 1, -2, -0.75]])
    function("apply_softmax_with_temperature")(logits, 0.5)
    expected = np.exp(2 * np.array([-0.25, 1, -2, -0.75]))
    np.testing.assert_allclose(logits.numpy(), [expected / expected.sum()], rtol=1e-5)
    plain = np.array([1.0, 1.0], "float32")
    function("apply_softmax_with_temperature")(plain, 1.0)
    assert plain.tolist() == [0.5, 0.5]


def test_shapes_and_copies() -> None:
    x = probabilities(2, 3)
    assert TVM_FUNCTIONS["vm.builtin.shape_of"](x) == (2, 3)
    assert TVM_FUNCTIONS["vm.builtin.copy"](x) is x

"""Equality of results."""

import ml_dtypes
import numpy as np

from stepwell.tools.testing.comparison import near, same


def test_zeros_of_both_signs_differ() -> None:
    assert not same(np.float32(0.0), np.float32(-0.0))
    assert near(np.float32(0.0), np.float32(-0.0))


def test_nan_is_the_same_as_nan() -> None:
    array = np.array([np.nan, np.inf, 1.0], ml_dtypes.bfloat16)
    assert same(array, array.copy())
    assert near(array, array.copy())


def test_types_and_shapes_must_be_the_same() -> None:
    assert not same(np.zeros(2, np.int32), np.zeros(2, np.int64))
    assert not same(np.zeros(2, np.int32), np.zeros((1, 2), np.int32))


def test_near_allows_units_in_the_last_place() -> None:
    one = np.float32(1.0)
    assert near(one + np.float32(2**-22), one)
    assert not near(one + np.float32(2**-16), one)
    assert not near(np.int32(1), np.int32(2))

"""The reference of casts between integers of few bits wraps, for all pairs of types."""

import itertools

import numpy as np
import pytest

from stepwell.core.dtypes import int_range, numpy_dtype, parse_dtype
from stepwell.operators import OPERATORS

INTEGERS = ("int2", "uint2", "int4", "uint4", "int8", "uint8", "int32")


@pytest.mark.parametrize(("source", "target"), [*itertools.product(INTEGERS[:-1], INTEGERS)])
def test_a_cast_of_a_small_integer_wraps(source: str, target: str) -> None:
    low, high = int_range(parse_dtype(source))
    numbers = np.arange(low, high + 1)
    least, greatest = int_range(parse_dtype(target))
    expected = (numbers - least) % (greatest - least + 1) + least
    got = OPERATORS["cast"].reference(numbers.astype("int16").astype(numpy_dtype(source)), dtype=target)
    assert got.dtype == numpy_dtype(target)
    np.testing.assert_array_equal(got.astype("int64"), expected)

"""Constants as operands of Python's comparisons."""

import pytest

from stepwell import te
from stepwell.frontends.te import TeError


def test_constants_of_one_value_are_equal() -> None:
    greatest = te.max_value("int8")
    assert greatest == 127
    assert greatest != 126
    assert not greatest == 126
    assert te.const(1.5, "float32") in [te.const(1.5, "float32")]
    x = te.var("x")
    assert x == x
    assert x != te.var("x")


def test_comparisons_of_constants_have_a_truth_value() -> None:
    a = te.placeholder((8, te.var("n")), name="A")
    size, symbol = a.shape
    assert size > 5
    assert size <= 8
    assert not size < 8
    assert 9 >= size
    assert te.const(2.5, "float32") > 2
    with pytest.raises(TeError, match="an expression has no value before the program runs"):
        bool(symbol > 5)

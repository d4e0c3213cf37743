"""Constants in functions on expressions."""

import pytest

from stepwell import te
from stepwell.expressions.expr import IntImm
from stepwell.frontends.tvm import tir


def test_maxima_and_minima_of_numbers_are_numbers() -> None:
    largest, smallest = te.max(3, 5, 4), te.min(3, 5, 4)
    assert isinstance(largest, IntImm)
    assert isinstance(smallest, IntImm)
    assert (largest.value, smallest.value) == (5, 3)


def test_constants_among_conditions() -> None:
    x = te.var("x") > 3
    assert te.all(x, True) is x
    assert te.all(True, x) is x
    assert te.any(False, x, False) is x
    for constant, expected in ((te.all(x, False), False), (te.any(x, True), True)):
        assert isinstance(constant, IntImm)
        assert bool(constant.value) is expected


@pytest.mark.parametrize("name", ["shift_left", "shift_right", "bitwise_and", "bitwise_or", "bitwise_xor"])
def test_calls_of_operators_on_bits_have_the_names_of_intrinsics(name: str) -> None:
    a, b = tir.Var("a", "int32"), tir.Var("b", "int32")
    assert getattr(tir, name)(a, b).op.name == f"tir.{name}"

"""The names of the predicates of comparisons."""

import pytest
from xdsl.dialects import arith
from xdsl.dialects.builtin import f32, i32
from xdsl.dialects.test import TestOp

from stepwell.core.comparisons import SIGNED_PREDICATES, UNSIGNED_PREDICATES, predicate_of


@pytest.mark.parametrize("name", arith.CMPI_COMPARISON_OPERATIONS)
def test_a_comparison_of_integers_has_the_name_it_was_built_with(name: str) -> None:
    a, b = TestOp(result_types=[i32, i32]).results
    assert predicate_of(arith.CmpiOp(a, b, name)) == name


@pytest.mark.parametrize("name", arith.CMPF_COMPARISON_OPERATIONS)
def test_a_comparison_of_floats_has_the_name_it_was_built_with(name: str) -> None:
    a, b = TestOp(result_types=[f32, f32]).results
    assert predicate_of(arith.CmpfOp(a, b, name)) == name


def test_a_predicate_of_integers_has_a_sign_unless_it_tests_for_equality() -> None:
    assert {*arith.CMPI_COMPARISON_OPERATIONS} - SIGNED_PREDICATES - UNSIGNED_PREDICATES == {"eq", "ne"}

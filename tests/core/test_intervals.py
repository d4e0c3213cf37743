"""Intervals of integers: every result contains the results for all members, and no smaller interval does."""

import operator
from collections.abc import Callable
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stepwell.core import intervals
from stepwell.core.intervals import Interval

Operation = Callable[[int, int], int]
Rule = Callable[[Interval, Interval], Interval]


def truncated(a: int, b: int) -> int:
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


TIGHT: dict[str, tuple[Rule, Operation]] = {
    "add": (intervals.add, operator.add),
    "sub": (intervals.sub, operator.sub),
    "mul": (intervals.mul, operator.mul),
    "minimum": (intervals.minimum, min),
    "maximum": (intervals.maximum, max),
}
QUOTIENTS: dict[str, tuple[Rule, Operation]] = {
    "floordiv": (intervals.floordiv, operator.floordiv),
    "truncdiv": (intervals.truncdiv, truncated),
}
REMAINDERS: dict[str, tuple[Rule, Operation]] = {
    "floormod": (intervals.floormod, operator.mod),
    "truncmod": (intervals.truncmod, lambda a, b: a - truncated(a, b) * b),
}

between = st.tuples(st.integers(-20, 20), st.integers(0, 12)).map(lambda pair: (pair[0], pair[0] + pair[1]))
divisors = between.filter(lambda b: b != (0, 0))


def members(a: Interval) -> range:
    return range(a[0], a[1] + 1)


def results(operation: Operation, a: Interval, b: Interval, *, division: bool = False) -> list[int]:
    return [operation(x, y) for x, y in product(members(a), members(b)) if y or not division]


def span(numbers: list[int]) -> Interval:
    return min(numbers), max(numbers)


@pytest.mark.parametrize("name", TIGHT)
@given(a=between, b=between)
def test_an_operation_has_the_smallest_interval_of_its_results(name: str, a: Interval, b: Interval):
    rule, operation = TIGHT[name]
    assert rule(a, b) == span(results(operation, a, b))


@pytest.mark.parametrize("name", QUOTIENTS)
@given(a=between, b=divisors)
def test_a_quotient_has_the_smallest_interval_by_divisors_that_are_not_0(name: str, a: Interval, b: Interval):
    rule, operation = QUOTIENTS[name]
    assert rule(a, b) == span(results(operation, a, b, division=True))


@pytest.mark.parametrize("name", REMAINDERS)
@given(a=between, b=divisors)
def test_a_remainder_by_divisors_that_are_not_0_is_a_member(name: str, a: Interval, b: Interval):
    rule, operation = REMAINDERS[name]
    assert intervals.within(span(results(operation, a, b, division=True)), rule(a, b))


@pytest.mark.parametrize("name", REMAINDERS)
@given(a=between, b=st.integers(-12, 12).filter(bool))
def test_a_remainder_by_one_divisor_has_the_smallest_interval(name: str, a: Interval, b: int):
    rule, operation = REMAINDERS[name]
    assert rule(a, (b, b)) == span(results(operation, a, (b, b)))


@given(a=between, b=between)
def test_bits_are_members_or_unknown(a: Interval, b: Interval):
    both, either = intervals.bit_and(a, b), intervals.bit_or(a, b)
    assert both is None or intervals.within(span(results(operator.and_, a, b)), both)
    assert either is None or intervals.within(span(results(operator.or_, a, b)), either)
    assert either is None or intervals.within(span(results(operator.xor, a, b)), either)
    assert (both is None) == (a[0] < 0 and b[0] < 0)
    assert (either is None) == (a[0] < 0 or b[0] < 0)


@given(constant=st.integers(-9, 9), terms=st.lists(st.tuples(between, st.integers(-3, 3)), max_size=3))
def test_a_sum_of_terms_is_the_sum_of_the_products(constant: int, terms: list[tuple[Interval, int]]):
    total = (constant, constant)
    for interval, k in terms:
        total = intervals.add(total, intervals.mul(interval, (k, k)))
    assert intervals.linear(constant, terms) == total


@given(a=between, b=between)
def test_a_hull_has_all_members_and_an_intersection_those_of_both(a: Interval, b: Interval):
    assert intervals.hull(a, b) == span([*members(a), *members(b)])
    common = sorted(set(members(a)) & set(members(b)))
    assert intervals.intersect(a, b) == (span(common) if common else None)
    assert intervals.within(a, b) == (set(members(a)) <= set(members(b)))
    assert intervals.negate(a) == span([-x for x in members(a)])


@given(value=st.integers(-(2**70), 2**70), bits=st.integers(1, 64))
def test_a_wrapped_integer_has_the_same_last_bits(value: int, bits: int):
    whole = intervals.signed_range(bits)
    wrapped = intervals.wrap(value, whole)
    assert intervals.within((wrapped, wrapped), whole)
    assert (wrapped - value) % 2**bits == 0


@pytest.mark.parametrize(
    ("a", "b", "quotient", "remainder"),
    [
        ((-7, 7), (2, 2), (-4, 3), (0, 1)),
        ((-7, 7), (-2, -2), (-4, 3), (-1, 0)),
        ((5, 6), (8, 8), (0, 0), (5, 6)),
        ((8, 9), (8, 8), (1, 1), (0, 1)),
        ((5, 6), (0, 3), (1, 6), (0, 2)),
        ((5, 6), (-3, 3), (-6, 6), (-2, 2)),
        ((5, 6), (0, 0), (5, 6), (0, 0)),  # no member: any interval is right
    ],
)
def test_quotients_and_remainders_round_down(a: Interval, b: Interval, quotient: Interval, remainder: Interval):
    assert intervals.floordiv(a, b) == quotient
    assert intervals.floormod(a, b) == remainder


@pytest.mark.parametrize(
    ("a", "b", "quotient", "remainder"),
    [
        ((-7, 7), (2, 2), (-3, 3), (-1, 1)),
        ((-7, -5), (2, 2), (-3, -2), (-1, 0)),
        ((-3, 5), (8, 8), (0, 0), (-3, 5)),
        ((-9, -1), (-4, 4), (-9, 9), (-3, 0)),
    ],
)
def test_truncating_quotients_and_remainders_round_toward_0(
    a: Interval, b: Interval, quotient: Interval, remainder: Interval
):
    assert intervals.truncdiv(a, b) == quotient
    assert intervals.truncmod(a, b) == remainder

"""Symbolic sizes: equal sizes have equal text, which parses to the same size."""

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stepwell import SizeError
from stepwell.expressions.sizes import evaluate_size, size_function, size_interval
from stepwell.operators.relay import normal_size

NAMES = ("n", "m", "k")


def _grown(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    sums = st.builds("({} {} {})".format, inner, st.sampled_from("+-*"), inner)
    parts = st.builds("({} {} {})".format, inner, st.sampled_from(("//", "%")), st.integers(1, 7))
    chosen = st.builds("{}({}, {})".format, st.sampled_from(("min", "max")), inner, inner)
    return st.one_of(sums, parts, chosen)


SIZES = st.recursive(st.one_of(st.sampled_from(NAMES), st.integers(0, 7).map(str)), _grown, max_leaves=8)
NUMBERS = st.fixed_dictionaries({name: st.integers(0, 20) for name in NAMES})


def python_of(size: str, numbers: dict[str, int]) -> int:
    return eval(size, {"min": min, "max": max}, dict(numbers))


@given(size=SIZES, numbers=NUMBERS)
def test_the_normal_form_is_the_same_number(size: str, numbers: dict[str, int]) -> None:
    assert python_of(str(normal_size(size)), numbers) == python_of(size, numbers)
    assert evaluate_size(size, numbers) == python_of(size, numbers)


@given(size=SIZES, numbers=NUMBERS, more=NUMBERS)
def test_a_size_is_within_the_interval_of_bounds(size: str, numbers: dict[str, int], more: dict[str, int]) -> None:
    interval = size_interval(size, {name: number + more[name] for name, number in numbers.items()})
    assert interval is not None
    assert interval[0] <= python_of(size, numbers) <= interval[1]


def test_a_size_without_a_bound_has_no_interval() -> None:
    assert size_interval("n * m", {"n": 3}) is None
    assert size_interval("2 * n + 1", {"n": 3}) == (1, 7)
    assert size_interval("8 // n", {"n": 0}) is None


@pytest.mark.parametrize("size", ["8 // (n - m)", "8 % (n - m)"])
def test_a_size_that_divides_by_0_is_an_error(size: str) -> None:
    compute = size_function(size)
    assert compute({"n": 9, "m": 1}) == evaluate_size(size, {"n": 9, "m": 1})
    with pytest.raises(SizeError, match=re.escape(f"size {size} divides by 0 for n = 2, m = 2")):
        compute({"n": 2, "m": 2})


@given(size=SIZES)
def test_the_text_of_a_normal_form_reads_as_itself(size: str) -> None:
    normal = normal_size(size)
    assert normal_size(normal) == normal
    assert normal_size(str(normal)) == normal


@given(a=SIZES, b=SIZES, c=SIZES)
def test_sums_and_products_are_the_same_in_any_order(a: str, b: str, c: str) -> None:
    assert normal_size(f"{a} + {b} - {c}") == normal_size(f"{b} - ({c} - {a})")
    assert normal_size(f"{a} * ({b} + {c})") == normal_size(f"{c} * {a} + {b} * {a}")
    assert normal_size(f"min({a}, {b})") == normal_size(f"min({b}, {a})")


@pytest.mark.parametrize(
    ("size", "normal"),
    [
        ("1 + n", "n + 1"),
        ("n * 2 * m", "2 * m * n"),
        ("n - n", 0),
        ("2 * n // 2", "n"),
        ("(2 * n + 4) // 2", "n + 2"),
        ("(2 * n + 3) // 2", "n + 1"),
        ("(6 * n) % 3", 0),
        ("n // 2 // 3", "n // 6"),
        ("(n + m) // (n + m)", 1),
        ("7 // 2", 3),
        ("(n // 2) * 2", "2 * (n // 2)"),
        ("-n + 1", "-n + 1"),
        ("max(m, n)", "max(m, n)"),
        ("min(1, n % 1)", 0),
    ],
)
def test_a_size_has_one_text(size: str, normal: Any) -> None:
    assert normal_size(size) == normal


@pytest.mark.parametrize("size", ["n +", "f(n)", "n / 2", "n.x", "'n'", "1.5", "max(n)"])
def test_what_is_no_size_is_refused(size: str) -> None:
    with pytest.raises(ValueError, match="size"):
        normal_size(size)

"""The collection of reference cycles during compilation."""

import gc
from collections.abc import Iterator

import pytest

from stepwell.core.collection import RARELY, rare_collection


@pytest.fixture(autouse=True)
def _threshold() -> Iterator[None]:
    before = gc.get_threshold()
    yield
    gc.set_threshold(*before)


def test_the_threshold_returns_with_the_last_of_nested_uses() -> None:
    gc.set_threshold(700, 10, 10)
    with rare_collection():
        with rare_collection():
            pass
        assert gc.get_threshold()[0] == RARELY
    assert gc.get_threshold() == (700, 10, 10)


def test_the_threshold_returns_after_an_error() -> None:
    gc.set_threshold(700, 10, 10)
    with pytest.raises(KeyError), rare_collection():
        raise KeyError
    assert gc.get_threshold() == (700, 10, 10)


@pytest.mark.parametrize("first", [0, 2 * RARELY])
def test_a_caller_who_collects_less_often_is_not_overruled(first: int) -> None:
    gc.set_threshold(first, 10, 10)
    with rare_collection():
        assert gc.get_threshold() == (first, 10, 10)
    assert gc.get_threshold() == (first, 10, 10)

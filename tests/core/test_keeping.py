"""Results that are kept with an object are computed once for the object."""

import pytest
from xdsl.dialects.builtin import IntegerType, i32
from xdsl.ir import Attribute

from stepwell.core.keeping import kept_with_argument


def test_a_result_is_computed_once_for_an_object() -> None:
    calls = list[Attribute]()

    @kept_with_argument
    def text(type: Attribute) -> str:
        """The text of a type."""
        calls.append(type)
        return str(type)

    other = IntegerType(32)
    assert [text(i32), text(other), text(i32), text(other)] == ["i32"] * 4
    assert [each is i32 for each in calls] == [True, False]
    assert other == i32
    assert hash(other) == hash(i32)
    assert text.__doc__ == "The text of a type."


def test_functions_keep_results_apart() -> None:
    @kept_with_argument
    def first(type: Attribute) -> str:
        return f"first {type}"

    @kept_with_argument
    def second(type: Attribute) -> str:
        return f"second {type}"

    type = IntegerType(7)
    assert [first(type), second(type), first(type)] == ["first i7", "second i7", "first i7"]


def test_an_error_is_not_kept() -> None:
    calls = 0

    @kept_with_argument
    def refuse(type: Attribute) -> str:
        nonlocal calls
        calls += 1
        raise ValueError(str(type))

    for _ in range(2):
        with pytest.raises(ValueError, match="i32"):
            refuse(i32)
    assert calls == 2

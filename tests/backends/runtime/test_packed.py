"""The registry of packed functions."""

import pytest

from stepwell.backends.runtime import get_global_func, register_func
from stepwell.core.errors import ArgumentError, LinkError


def test_functions_are_registered_by_call_and_as_decorator() -> None:
    def f() -> None: ...

    assert register_func("test.packed.call", f) is f
    assert get_global_func("test.packed.call") is f

    @register_func("test.packed.decorator")
    def g() -> None: ...

    assert get_global_func("test.packed.decorator") is g


def test_a_name_is_taken_once_unless_told_otherwise() -> None:
    register_func("test.packed.twice", min)
    with pytest.raises(ArgumentError, match=r"'test\.packed\.twice' is registered already, pass override=True"):
        register_func("test.packed.twice", max)
    assert get_global_func("test.packed.twice") is min
    register_func("test.packed.twice", max, override=True)
    assert get_global_func("test.packed.twice") is max


def test_what_is_not_there_is_named_with_what_is_near() -> None:
    register_func("test.packed.nearby", min, override=True)
    with pytest.raises(LinkError, match=r"'test\.packed\.naerby' is not registered, did you mean 'test\.packed\.near"):
        get_global_func("test.packed.naerby")


def test_only_callables_are_registered() -> None:
    with pytest.raises(ArgumentError, match="expected a callable, got int"):
        register_func("test.packed.number", 5)  # pyright: ignore[reportArgumentType, reportCallIssue]

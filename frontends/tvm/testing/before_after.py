"""Tests of passes by a program before and after: `tvm.testing.CompareBeforeAfter`."""

from __future__ import annotations

import inspect
import textwrap
from collections.abc import Callable
from typing import Any, ClassVar, cast

from ....module import Module
from ..ir.comparison import assert_structural_equal
from ..ir.module import IRModule, PrimFunc
from ..script import from_source


class CompareBeforeAfter:
    """A class of tests for pytest that compares the result of a pass on a program with another program.

    A subclass defines `before`, `transform` and `expected`. A program is a function on buffers, a module, TVMScript
    without a decorator, a class of such functions, a method that returns a program, or a fixture. `transform` is a
    pass, a method that returns one, or a fixture. `expected` may also be a class of exceptions, which the pass raises.

        class TestSimplify(tvm.testing.CompareBeforeAfter):
            transform = tvm.tir.transform.Simplify()

            def before(A: T.Buffer((1,), "int32")):
                A[0] = 1 + 1

            def expected(A: T.Buffer((1,), "int32")):
                A[0] = 2
    """

    check_well_formed: ClassVar[bool] = True
    """Without an effect: every program is checked."""

    def __init_subclass__(cls) -> None:
        for name, other in (("before", "Before"), ("expected", "Expected")):
            given = vars(cls).get(name, vars(cls).get(other))
            if given is not None:
                setattr(cls, name, _fixture(given, _reader(given)))
        transform = vars(cls).get("transform")
        if transform is not None and not _is_fixture(transform):
            cls.transform = _fixture(transform, _maker(transform))

    def test_compare(self, before: Any, expected: Any, transform: Any) -> None:
        """The result of the pass equals the expected program up to the symbols of functions, or the pass raises the
        expected exception. ValueError with the programs if not.
        """
        # lazy: pytest runs tests alone
        import pytest

        if inspect.isclass(expected) and issubclass(expected, Exception):
            with pytest.raises(expected):
                _apply(transform, before)
            return
        after: Any = _apply(transform, before)
        try:
            assert_structural_equal(_without_symbol(after), _without_symbol(expected))
        except ValueError as error:
            texts = f"after:\n{after.script()}\nexpected:\n{cast('Any', expected).script()}"
            raise ValueError(f"{error}\n{texts}") from error


def _apply(transform: Callable[[Any], Any], program: Module) -> Any:
    """The result of a pass on a module, or on a function."""
    if not isinstance(program, PrimFunc):
        return transform(program)
    return transform(IRModule({"main": program}))["main"]


def _without_symbol(program: Any) -> Any:
    return program.without_attr("global_symbol") if isinstance(program, PrimFunc) else program


def _is_fixture(value: object) -> bool:
    return hasattr(value, "_fixture_function_marker") or hasattr(value, "_pytestfixturefunction")


def _is_method(value: object) -> bool:
    return callable(value) and not inspect.isclass(value) and "self" in inspect.signature(value).parameters


def _fixture(value: object, make: Callable[[Any], Any]) -> Any:
    """The fixture of a value; a fixture itself."""
    # lazy: pytest runs tests alone
    import pytest

    return value if _is_fixture(value) else pytest.fixture(make)


def _reader(value: Any) -> Callable[[Any], Any]:
    """A method that returns a program, or a class of exceptions."""
    if isinstance(value, Module) or (inspect.isclass(value) and issubclass(value, Exception)):
        return lambda self: value
    if _is_method(value):
        return cast("Callable[[Any], Any]", value)
    if inspect.isclass(value):
        return lambda self: _module_of(value)
    return lambda self: _function_of(value)


def _function_of(function: Any) -> Any:
    return from_source("@T.prim_func\n" + textwrap.dedent(inspect.getsource(function)))


def _module_of(functions: type) -> IRModule:
    """The module of the functions of a class, each with its name as its symbol."""
    parsed: dict[str, Any] = {
        name: each if isinstance(each, Module) else _function_of(each)
        for name, each in vars(functions).items()
        if not name.startswith("_")
    }
    return IRModule({name: each.with_attr("global_symbol", name) for name, each in parsed.items()})


def _maker(transform: Any) -> Callable[[Any], Any]:
    """A method that returns a pass."""
    return (lambda self: transform(self)) if _is_method(transform) else (lambda self: transform)

"""`tvm.testing.CompareBeforeAfter`: tests that compare a program after a pass with an expected program."""

from __future__ import annotations

import inspect
import textwrap
from collections.abc import Callable
from typing import Any

import pytest

from ..ir.comparison import assert_structural_equal
from ..ir.module import IRModule, PrimFunc
from ..script import from_source
from ..transform import Pass


class CompareBeforeAfter:
    """The base of classes of tests with the members `before` (or `Before`), `transform` and `expected` (`Expected`).

    The test `test_compare` of such a class applies the pass `transform` to the program `before`, and compares the
    result with the program `expected`, or expects an error if `expected` is a class of errors. A program is a module, a
    `PrimFunc`, a function of TVMScript without its decorator, a class of such functions, or a method or fixture of
    pytest that returns one. transform: a pass, or a method or fixture that returns one.
    """

    check_well_formed: bool = True

    def __init_subclass__(cls) -> None:
        for name in ("before", "expected"):
            spellings = [each for each in (name, name.capitalize()) if hasattr(cls, each)]
            if len(spellings) > 1:
                raise TypeError(f"class {cls.__name__}: {' and '.join(spellings)}, expected one of them")
            for spelling in spellings:
                setattr(cls, name, _program_fixture(getattr(cls, spelling)))
        if hasattr(cls, "transform"):
            cls.transform = _pass_fixture(cls.transform)

    def test_compare(self, before: Any, expected: Any, transform: Any) -> None:
        """Raises ValueError unless the result of the pass is the expected program, and AssertionError unless it raises
        the expected error.
        """
        if _is_error(expected):
            with pytest.raises(expected):
                _apply(transform, before)
            return
        after = _apply(transform, before)
        try:
            assert_structural_equal(_as_main(after), _as_main(expected))
        except ValueError as error:
            texts = [f"{name}:\n{each.script()}" for name, each in (("after", after), ("expected", expected))]
            raise ValueError(f"{error}\n{chr(10).join(texts)}") from None


def _program_fixture(member: Any) -> Any:
    """The fixture of a program, or of a class of errors."""
    if _is_fixture(member):
        return member
    if _is_method(member):
        return pytest.fixture(member)

    def program(self: CompareBeforeAfter) -> Any:
        return _program(member, self.check_well_formed)

    return pytest.fixture(program)


def _program(member: Any, is_checked: bool) -> Any:
    if isinstance(member, PrimFunc | IRModule) or _is_error(member):
        return member
    if not inspect.isclass(member):
        return _read(member, is_checked)
    functions: dict[str, PrimFunc] = {}
    for name, each in vars(member).items():
        if not name.startswith("_"):
            function = each if isinstance(each, PrimFunc) else _read(each, is_checked)
            functions[name] = function.with_attr("global_symbol", name)
    return IRModule(functions)


def _read(function: Callable[..., Any], is_checked: bool) -> Any:
    """The function of TVMScript that a Python function without a decorator spells."""
    decorator = "@T.prim_func" if is_checked else "@T.prim_func(check_well_formed=False)"
    names = {**inspect.getclosurevars(function).nonlocals, **getattr(function, "__globals__", {})}
    return from_source(f"{decorator}\n{textwrap.dedent(inspect.getsource(function))}", names)


def _pass_fixture(member: Any) -> Any:
    if _is_fixture(member) or _is_method(member):
        return member if _is_fixture(member) else pytest.fixture(member)
    if not isinstance(member, Pass):
        raise TypeError(f"transform is {member!r}, expected a pass, or a method that returns one")
    return pytest.fixture(lambda self: member)


def _apply(transform: Pass, program: Any) -> Any:
    if isinstance(program, PrimFunc):
        return transform(IRModule({"main": program}))["main"]
    return transform(program)


def _as_main(program: Any) -> Any:
    return program.with_attr("global_symbol", "main") if isinstance(program, PrimFunc) else program


def _is_error(member: Any) -> bool:
    return inspect.isclass(member) and issubclass(member, Exception)


def _is_fixture(member: Any) -> bool:
    return type(member).__name__ == "FixtureFunctionDefinition"


def _is_method(member: Any) -> bool:
    return inspect.isfunction(member) and "self" in inspect.signature(member).parameters

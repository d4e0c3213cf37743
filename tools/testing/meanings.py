"""Tests of operations of other packages: their texts round trip, and all back ends compute their meaning."""

from __future__ import annotations

from typing import Any

from xdsl.ir import Operation

from ...backends.build import build
from ...core.errors import PluginError
from ...core.plugins import extension_names, warn_of_package
from ...dialects.extensions import ScalarOperation, extension_of
from ...module import Module
from .comparison import assert_same
from .execution import interpreter_results, oracle_results, results
from .scheduling import check_well_formed


def installed_operations() -> tuple[type[Operation], ...]:
    """The operations on numbers of all installed packages. Warns of broken packages."""
    operations: list[type[Operation]] = []
    for name in extension_names():
        try:
            extension = extension_of(name)
        except PluginError as error:
            warn_of_package(error)
            continue
        assert extension is not None
        operations += [each.op for each in extension.definitions if isinstance(each, ScalarOperation)]
    return tuple(operations)


def check_meaning(module: Module, arguments: dict[str, Any]) -> None:
    """Raises AssertionError unless a program is well formed, and the oracle, xDSL's interpreter and native code compute
    the same, bit by bit."""
    check_well_formed(module)
    expected = oracle_results(module, arguments)
    assert_same(interpreter_results(module, arguments), expected, module)
    assert_same(results(build(module), arguments), expected, module)

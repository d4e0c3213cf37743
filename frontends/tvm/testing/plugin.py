"""The plugin `tvm.testing.plugin` of pytest: tests with a parameter `target` run for each enabled target, unless they
choose targets themselves; `dev` is the device of the target. Values of `tvm.testing.parameters` vary together.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from ..devices import Device, device
from ..target.target import Target
from . import enabled_targets


@pytest.fixture
def dev(target: Any) -> Device:
    """The device of the parameter `target`."""
    return device(Target(target).kind.name)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Runs a test for each enabled target, and for each set of values of `tvm.testing.parameters`."""
    chosen = {name for mark in metafunc.definition.iter_markers("parametrize") for name in _names(mark.args[0])}
    if "target" in metafunc.fixturenames and "target" not in chosen:
        excluded = getattr(metafunc.function, "excluded_targets", ())
        metafunc.parametrize("target", [name for name, _ in enabled_targets() if name not in excluded])
    groups: dict[int, dict[str, Sequence[Any]]] = {}
    for name in metafunc.fixturenames:
        definitions = metafunc._arg2fixturedefs.get(name)  # pyright: ignore[reportPrivateUsage]
        column = getattr(definitions[-1].func, "column", None) if definitions else None
        if column is not None and name not in chosen:
            groups.setdefault(column.group, {})[name] = column.values
    for columns in groups.values():
        metafunc.parametrize(list(columns), list(zip(*columns.values(), strict=True)))


def _names(argument: str | Sequence[str]) -> list[str]:
    names = argument.split(",") if isinstance(argument, str) else argument
    return [name.strip() for name in names]

"""Dialects, passes and targets of other packages: what is installed under the entry point group `xdsl.universe`."""

from __future__ import annotations

from functools import cache
from importlib.metadata import entry_points
from typing import TYPE_CHECKING

from .errors import PluginError

if TYPE_CHECKING:
    from xdsl.universe import Universe

GROUP = "xdsl.universe"


@cache
def installed_universe() -> Universe:
    """All that is installed, xDSL's own and ours included; looked up once per process.

    Raises `PluginError` for a package that cannot be imported, has no universe at the place it names, or gives a name
    that another one gives too. xDSL's tools stop at any of these as well.
    """
    from xdsl.universe import Universe

    for entry in entry_points(group=GROUP):
        package = f"entry point {entry.name} = {entry.value!r} of the group {GROUP}"
        try:
            universe = entry.load()
        except Exception as error:  # whatever a module raises while it is imported
            raise PluginError(f"{package} cannot be loaded: {type(error).__name__}: {error}") from error
        if not isinstance(universe, Universe):
            raise PluginError(f"{package} is of type {type(universe).__name__}, expected a Universe")
    try:
        return Universe.get_multiverse()
    except ValueError as error:
        raise PluginError(f"two packages of the group {GROUP} give the same name: {error}") from error

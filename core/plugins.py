"""What other packages add: dialects, passes and targets under the entry point group `xdsl.universe`, libraries of
functions under `stepwell.libraries`."""

from __future__ import annotations

from functools import cache
from importlib.metadata import EntryPoint, entry_points
from typing import TYPE_CHECKING, Any

from .errors import PluginError

if TYPE_CHECKING:
    from xdsl.universe import Universe

GROUP = "xdsl.universe"
LIBRARIES = "stepwell.libraries"


@cache
def installed_universe() -> Universe:
    """All that is installed, xDSL's own and ours included; looked up once per process.

    Raises `PluginError` for a package that cannot be imported, has no universe at the place it names, or gives a name
    that another one gives too. xDSL's tools stop at any of these as well.
    """
    from xdsl.universe import Universe

    for entry in entry_points(group=GROUP):
        load_entry(entry, Universe)
    try:
        return Universe.get_multiverse()
    except ValueError as error:
        raise PluginError(f"two packages of the group {GROUP} give the same name: {error}") from error


def library_names() -> list[str]:
    """The names of the libraries that are installed, ours included. None is loaded."""
    return sorted(_library_entries())


def library_entry(name: str) -> EntryPoint | None:
    """Where the library of a name is. PluginError if two packages give it."""
    found = _library_entries().get(name, [])
    if len({entry.value for entry in found}) > 1:
        places = " and ".join(sorted(entry.value for entry in found))
        raise PluginError(f"two packages of the group {LIBRARIES} give the name {name!r}: {places}")
    return found[0] if found else None


@cache
def _library_entries() -> dict[str, list[EntryPoint]]:
    found: dict[str, list[EntryPoint]] = {}
    for entry in entry_points(group=LIBRARIES):
        found.setdefault(entry.name, []).append(entry)
    return found


def load_entry(entry: EntryPoint, kind: type[Any]) -> Any:
    """What an entry point names. PluginError if it cannot be imported, or is of another type."""
    package = f"entry point {entry.name} = {entry.value!r} of the group {entry.group}"
    try:
        value = entry.load()
    except Exception as error:  # whatever a module raises while it is imported
        raise PluginError(f"{package} cannot be loaded: {type(error).__name__}: {error}") from error
    if not isinstance(value, kind):
        raise PluginError(f"{package} is of type {type(value).__name__}, expected a {kind.__name__}")
    return value

"""Plug-ins of other packages: dialects, passes and targets under the entry point group `xdsl.universe`, libraries of
functions under `stepwell.libraries`."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from .errors import PluginError

if TYPE_CHECKING:
    from collections.abc import Iterable
    from importlib.metadata import EntryPoint

    from xdsl.universe import Universe

GROUP = "xdsl.universe"
LIBRARIES = "stepwell.libraries"


def _entries(group: str) -> Iterable[EntryPoint]:
    # lazy: most programs need no plug-ins, and the import takes 0.02 s
    from importlib.metadata import entry_points

    return entry_points(group=group)


@cache
def installed_universe() -> Universe:
    """The universe of all installed dialects, passes and targets, xDSL's own and ours included, cached per process.

    Raises `PluginError` for a package that cannot be imported, has no universe at its entry point, or defines a name
    that another package defines too. xDSL's tools fail in each of these cases as well.
    """
    # lazy: the universe is slow to import, and most programs need no plug-ins
    from xdsl.universe import Universe

    for entry in _entries(GROUP):
        load_entry(entry, Universe)
    try:
        return Universe.get_multiverse()
    except ValueError as error:
        raise PluginError(f"two packages of the group {GROUP} give the same name: {error}") from error


def library_names() -> list[str]:
    """The sorted names of the installed libraries, ours included. Loads no library."""
    return sorted(_library_entries())


def library_entry(name: str) -> EntryPoint | None:
    """The entry point of a library, or None if it is not installed. PluginError if two packages define the library."""
    entries = _library_entries().get(name, [])
    if len({entry.value for entry in entries}) > 1:
        places = " and ".join(sorted(entry.value for entry in entries))
        raise PluginError(f"two packages of the group {LIBRARIES} give the name {name!r}: {places}")
    return entries[0] if entries else None


@cache
def _library_entries() -> dict[str, list[EntryPoint]]:
    entries: dict[str, list[EntryPoint]] = {}
    for entry in _entries(LIBRARIES):
        entries.setdefault(entry.name, []).append(entry)
    return entries


def load_entry(entry: EntryPoint, kind: type[Any]) -> Any:
    """The object that an entry point refers to. PluginError if it cannot be imported or is no instance of `kind`."""
    package = f"entry point {entry.name} = {entry.value!r} of the group {entry.group}"
    try:
        value = entry.load()
    except Exception as error:  # importing a module may raise any exception
        raise PluginError(f"{package} cannot be loaded: {type(error).__name__}: {error}") from error
    if not isinstance(value, kind):
        raise PluginError(f"{package} is of type {type(value).__name__}, expected a {kind.__name__}")
    return value

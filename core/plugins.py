"""Plug-ins of other packages: dialects, passes and targets under the entry point group `xdsl.universe`, operations
under `stepwell.extensions`, libraries of functions under `stepwell.libraries`.

A broken package is named in a `PluginWarning` and left out; parts of it that are loaded later raise a `PluginError`.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from functools import cache, partial
from typing import TYPE_CHECKING, Any, TypeVar

from .errors import PluginError, PluginWarning

if TYPE_CHECKING:
    from collections.abc import Iterable
    from importlib.metadata import EntryPoint

    from xdsl.universe import Universe

GROUP = "xdsl.universe"
EXTENSIONS = "stepwell.extensions"
LIBRARIES = "stepwell.libraries"
_FIRST = ("xdsl", "stepwell")
"""The universes whose names no other package may define."""

T = TypeVar("T")


def _entries(group: str) -> Iterable[EntryPoint]:
    # lazy: most programs need no plug-ins, and the import takes 0.02 s
    from importlib.metadata import entry_points

    return entry_points(group=group)


# Dialects, passes and targets


@cache
def installed_universe() -> Universe:
    """The universe of all installed dialects, passes and targets, xDSL's own and ours included, cached per process.

    Warns of a package that cannot be imported, has no universe at its entry point, or defines a name that another
    package defines too, and leaves the package out. A dialect, pass or target that cannot be imported raises a
    `PluginError` when it is loaded.
    """
    # lazy: the universe is slow to import, and most programs need no plug-ins
    from xdsl.universe import Universe

    universe = Universe()
    for entry in sorted(_entries(GROUP), key=lambda entry: (entry.name not in _FIRST, entry.name)):
        try:
            _add(universe, load_entry(entry, Universe), entry)
        except PluginError as error:
            warn_of_package(error)
    return universe


def _add(universe: Universe, more: Universe, entry: EntryPoint) -> None:
    """Adds the parts of a package. PluginError, before any change, for a name that another package defines."""
    tables: list[tuple[str, dict[str, Any], Mapping[str, Any]]] = [
        ("dialect", universe.all_dialects, more.all_dialects),
        ("pass", universe.all_passes, more.all_passes),
        ("target", universe.all_targets, more.all_targets),
    ]
    for kind, known, new in tables:
        if both := sorted(known.keys() & new.keys()):
            raise PluginError(f"{_describe(entry)} defines the {kind} {both[0]}, which another package defines too")
    for kind, known, new in tables:
        known.update({name: partial(load_part, kind, name, load, entry) for name, load in new.items()})


def load_part(kind: str, name: str, load: Callable[[], T], entry: EntryPoint) -> T:
    """A part of a package: a dialect, a pass, a module. PluginError if it cannot be imported."""
    try:
        return load()
    except Exception as error:  # importing a module may raise any exception
        message = f"{kind} {name} of package {package_of(entry)} cannot be loaded: {type(error).__name__}: {error}"
        raise PluginError(message) from error


def warn_of_package(error: PluginError) -> None:
    """Warns of a package, or a part of it, that is left out."""
    warnings.warn(f"{error}; it is left out", PluginWarning, stacklevel=2)


# Operations


def extension_names() -> list[str]:
    """The sorted names of the dialects that installed packages extend. Loads no package."""
    return sorted(_entries_by_name(EXTENSIONS))


def extension_entry(dialect: str) -> EntryPoint | None:
    """The entry point of the extension of a dialect, or None. PluginError if two packages define it."""
    return _only_entry(EXTENSIONS, dialect)


# Libraries


def library_names() -> list[str]:
    """The sorted names of the installed libraries, ours included. Loads no library."""
    return sorted(_entries_by_name(LIBRARIES))


def library_entry(name: str) -> EntryPoint | None:
    """The entry point of a library, or None if it is not installed. PluginError if two packages define the library."""
    return _only_entry(LIBRARIES, name)


# Entry points


@cache
def _entries_by_name(group: str) -> dict[str, list[EntryPoint]]:
    entries: dict[str, list[EntryPoint]] = {}
    for entry in _entries(group):
        entries.setdefault(entry.name, []).append(entry)
    return entries


def _only_entry(group: str, name: str) -> EntryPoint | None:
    entries = _entries_by_name(group).get(name, [])
    if len({entry.value for entry in entries}) > 1:
        places = " and ".join(sorted(entry.value for entry in entries))
        raise PluginError(f"two packages of the group {group} give the name {name!r}: {places}")
    return entries[0] if entries else None


def package_of(entry: EntryPoint) -> str:
    """The name of the package that declares an entry point."""
    return entry.dist.name if entry.dist is not None else entry.module


def _describe(entry: EntryPoint) -> str:
    return f"package {package_of(entry)} (entry point {entry.name} = {entry.value!r} of the group {entry.group})"


def load_entry(entry: EntryPoint, kind: type[Any]) -> Any:
    """The object that an entry point refers to. PluginError if it cannot be imported or is no instance of `kind`."""
    try:
        value = entry.load()
    except Exception as error:  # importing a module may raise any exception
        raise PluginError(f"{_describe(entry)} cannot be loaded: {type(error).__name__}: {error}") from error
    if not isinstance(value, kind):
        raise PluginError(f"{_describe(entry)} is of type {type(value).__name__}, expected a {kind.__name__}")
    return value


def forget_packages() -> None:
    """Forgets which packages are installed, after a change of `sys.path`."""
    installed_universe.cache_clear()
    _entries_by_name.cache_clear()

"""Libraries of functions that compute parts of graphs: what they take, and what becomes of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TypeAlias

from xdsl.dialects.builtin import DictionaryAttr

from ....core.diagnostics import did_you_mean, where
from ....core.errors import OptionError, PluginError
from ....core.plugins import library_entry, library_names, load_entry
from ....core.target import Target
from ....dialects import te, tir
from ....dialects.attributes import HOST
from ....dialects.tir.annotations import annotation_value
from ....module import Module
from ....operators.relay import FuncOp, OperatorOp
from ..kernels import sizes_of_kernel
from .patterns import Pattern

Check: TypeAlias = Callable[[Sequence[OperatorOp]], bool]


@dataclass(frozen=True)
class LibraryPattern:
    """Operators that a library computes in one call. check: what must hold of those that match, the last of which gives
    the result."""

    pattern: Pattern
    check: Check = lambda ops: True


@dataclass(frozen=True)
class Library:
    """A library of functions.

    name: as targets say it.  patterns: what it computes.  lower: makes of a `relay.func` of operators that match one of
    these the function that computes it, with the parameters that `kernel_of` gives its kernels.  symbols: the addresses
    of the C functions that are called there; the library is loaded when this is asked for, and no sooner.  kind: of
    targets on which it computes.
    """

    name: str
    patterns: tuple[LibraryPattern, ...]
    lower: Callable[[FuncOp], te.FuncOp | tir.FuncOp]
    symbols: Callable[[Target], Mapping[str, int]] = lambda target: {}
    kind: str = "llvm"


@cache
def library_of(name: str) -> Library:
    """The library of a name. OptionError if there is none, PluginError if its package is broken."""
    entry = library_entry(name)
    if entry is None:
        names = library_names()
        raise OptionError(
            f"unknown library {name!r}{did_you_mean(name, names)} (there are {', '.join(names) or 'none'})"
        )
    library: Library = load_entry(entry, Library)
    if library.name != name:
        raise PluginError(f"entry point {name} = {entry.value!r} gives a library called {library.name!r}")
    return library


def libraries_of(target: Target) -> tuple[Library, ...]:
    """The libraries of a target. OptionError for one that computes on others."""
    found = tuple(library_of(name) for name in target.libs)
    for library in found:
        _check_kind(library, target)
    return found


def lower_function(func: FuncOp) -> te.FuncOp | tir.FuncOp:
    """What the library makes of a function that is for it. PluginError if that is something else than it promises."""
    assert func.compiler is not None
    library = library_of(func.compiler.data)
    made = library.lower(func)
    what = f"{where(func)}library {library.name} makes of {func.sym_name.data}"
    if not isinstance(made, te.FuncOp | tir.FuncOp):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise PluginError(f"{what} {made!r}, expected a te.func or tir.func")
    if made.sym_name != func.sym_name:
        raise PluginError(f"{what} a function called {made.sym_name.data}")
    expected = len(sizes_of_kernel(func)) + len(func.params) + len(func.returned)
    if len(made.params) != expected:
        raise PluginError(f"{what} a function of {len(made.params)} parameters, expected {expected}")
    made.location = func.location
    if library.kind != "llvm":
        said = made.func_attrs.data if made.func_attrs is not None else {}
        made.func_attrs = DictionaryAttr({**said, HOST: annotation_value(True)})
    return made


def library_symbols(mod: Module, target: Target | None = None) -> dict[str, int]:
    """The addresses of the C functions of the libraries that functions of a module are for.

    target: by default any processor. OptionError, PluginError as of `library_of`, for libraries that compute on other
    targets, and for those that are not there.
    """
    target = target or Target()
    funcs = (func for func in mod.functions.values() if isinstance(func, FuncOp))
    names = dict.fromkeys(func.compiler.data for func in funcs if func.compiler is not None)
    found: dict[str, int] = {}
    for library in map(library_of, names):
        _check_kind(library, target)
        found |= library.symbols(target)
    return found


def _check_kind(library: Library, target: Target) -> None:
    if library.kind != target.kind:
        raise OptionError(f"library {library.name} is for {library.kind}, not for {target.kind}")

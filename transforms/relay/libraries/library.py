"""Libraries of functions that compute parts of graphs: their patterns and lowerings."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TypeAlias

from xdsl.dialects.builtin import DictionaryAttr

from ....core.diagnostics import did_you_mean, where
from ....core.errors import OptionError, PluginError
from ....core.plugins import library_entry, library_names, load_entry
from ....core.target import Target
from ....dialects import te, tir
from ....dialects.attributes import HOST_FUNCTION
from ....dialects.tir.annotations import annotation_value
from ....module import Module
from ....operators.relay import FuncOp, OperatorOp
from ..kernels import sizes_of_kernel
from .patterns import GraphPattern

Check: TypeAlias = Callable[[Sequence[OperatorOp]], bool]


@dataclass(frozen=True)
class LibraryPattern:
    """Operators that a library computes in one call.

    check: a condition on the matching operators, the last of which computes the result.
    """

    pattern: GraphPattern
    check: Check = lambda ops: True


@dataclass(frozen=True)
class Library:
    """A library of functions.

    name: its name in targets.  patterns: the operators that it computes.  lower: converts a `relay.func` of operators
    that match a pattern to the function that computes it, with the parameters that `kernel_of` gives its kernels.
    symbols: the addresses of the C functions that the lowered functions call; a call loads the library.  kind: the kind
    of targets on which it computes.
    """

    name: str
    patterns: tuple[LibraryPattern, ...]
    lower: Callable[[FuncOp], te.FuncOp | tir.FuncOp]
    symbols: Callable[[Target], Mapping[str, int]] = lambda target: {}
    kind: str = "llvm"


@cache
def library_of(name: str) -> Library:
    """The library of a name. Raises OptionError for an unknown name, PluginError if its package is broken."""
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
    """The libraries of a target. Raises OptionError for a library that computes on other targets."""
    libraries = tuple(library_of(name) for name in target.libs)
    for library in libraries:
        _check_kind(library, target)
    return libraries


def lower_function(func: FuncOp) -> te.FuncOp | tir.FuncOp:
    """The lowering, by its library, of a function for a library. Raises PluginError for an invalid lowering."""
    assert func.compiler is not None
    library = library_of(func.compiler.data)
    lowered = library.lower(func)
    what = f"{where(func)}library {library.name} makes of {func.sym_name.data}"
    if not isinstance(lowered, te.FuncOp | tir.FuncOp):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise PluginError(f"{what} {lowered!r}, expected a te.func or tir.func")
    if lowered.sym_name != func.sym_name:
        raise PluginError(f"{what} a function called {lowered.sym_name.data}")
    expected = len(sizes_of_kernel(func)) + len(func.params) + len(func.return_values)
    if len(lowered.params) != expected:
        raise PluginError(f"{what} a function of {len(lowered.params)} parameters, expected {expected}")
    lowered.location = func.location
    if library.kind != "llvm":
        attributes = lowered.func_attrs.data if lowered.func_attrs is not None else {}
        lowered.func_attrs = DictionaryAttr({**attributes, HOST_FUNCTION: annotation_value(True)})
    return lowered


def library_symbols(mod: Module, target: Target) -> dict[str, int]:
    """The addresses of the C functions of the libraries that functions of a module for a target use. Raises the errors
    of `symbols_of_libraries`.
    """
    return symbols_of_libraries(libraries_in(mod), target)


def libraries_in(mod: Module) -> tuple[str, ...]:
    """The names of the libraries that functions of a module use."""
    funcs = (func for func in mod.function_ops.values() if isinstance(func, FuncOp))
    return tuple(dict.fromkeys(func.compiler.data for func in funcs if func.compiler is not None))


def symbols_of_libraries(names: Iterable[str], target: Target) -> dict[str, int]:
    """The addresses of the C functions of libraries.

    Raises OptionError and PluginError as `library_of`, also for libraries that compute on other targets or are not
    installed.
    """
    symbols: dict[str, int] = {}
    for library in map(library_of, names):
        _check_kind(library, target)
        symbols |= library.symbols(target)
    return symbols


def _check_kind(library: Library, target: Target) -> None:
    if library.kind != target.kind:
        raise OptionError(f"library {library.name} is for {library.kind}, not for {target.kind}")

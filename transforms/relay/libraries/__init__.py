"""External libraries of functions: the operators that they compute, and their calls."""

from ..kernels import kernel_of
from .library import (
    Library,
    LibraryPattern,
    libraries_in,
    libraries_of,
    library_of,
    library_symbols,
    lower_function,
    symbols_of_libraries,
)
from .matching import Match, Refusal, find_matches, find_refusals
from .patterns import GraphPattern, is_constant, is_op, is_var, wildcard

__all__ = [
    "GraphPattern",
    "Library",
    "LibraryPattern",
    "Match",
    "Refusal",
    "find_matches",
    "find_refusals",
    "is_constant",
    "is_op",
    "is_var",
    "kernel_of",
    "libraries_in",
    "libraries_of",
    "library_of",
    "library_symbols",
    "lower_function",
    "symbols_of_libraries",
    "wildcard",
]

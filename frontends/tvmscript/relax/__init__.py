"""Elaboration of functions with `@R.function` into the dialect `relax`."""

from ..vocabulary import RELAX_WORDS
from . import expressions, operators, statements, types, words  # their import registers words, calls and statements
from .context import RelaxContext
from .functions import RelaxFunctionReader, check_decorator

__all__ = [
    "RELAX_WORDS",
    "RelaxContext",
    "RelaxFunctionReader",
    "check_decorator",
    "expressions",
    "operators",
    "statements",
    "types",
    "words",
]

"""Elaboration of functions with `@R.function` into the dialect `relax`."""

from ..vocabulary import RELAX_WORDS
from . import (  # their import registers words, calls and statements
    expressions,
    layouts,
    local_functions,
    memory,
    operators,
    statements,
    types,
    words,
)
from .context import RelaxContext
from .functions import RelaxFunctionReader, check_decorator

__all__ = [
    "RELAX_WORDS",
    "RelaxContext",
    "RelaxFunctionReader",
    "check_decorator",
    "expressions",
    "layouts",
    "local_functions",
    "memory",
    "operators",
    "statements",
    "types",
    "words",
]

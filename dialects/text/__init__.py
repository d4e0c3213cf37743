"""The printer of TVMScript, the second text form of the `tir` dialect, for programs and for parts of messages."""

from .functions import attribute_text, expression_text, print_function, print_tvmscript
from .literals import string_literal
from .marks import print_marked
from .styles import STYLES

__all__ = [
    "STYLES",
    "attribute_text",
    "expression_text",
    "print_function",
    "print_marked",
    "print_tvmscript",
    "string_literal",
]

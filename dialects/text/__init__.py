"""TVMScript, the second text form of the `tir` dialect: what prints it, and what messages use to show expressions."""

from .functions import attribute_text, expression_text, print_function, print_tvmscript
from .marks import print_marked
from .styles import STYLES

__all__ = ["STYLES", "attribute_text", "expression_text", "print_function", "print_marked", "print_tvmscript"]

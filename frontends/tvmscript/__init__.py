"""The TVMScript front end: translates text and decorated Python functions into the `tir` dialect."""

from .elaborate import parse_tvmscript

__all__ = ["parse_tvmscript"]

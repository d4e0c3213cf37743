"""The translation of programs to C."""

from .emitter import CFunction, EmittedC
from .source import c_source

__all__ = ["CFunction", "EmittedC", "c_source"]

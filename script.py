"""The TVMScript vocabularies `I` and `T`: `from stepwell.script import ir as I, tir as T`."""

from .frontends.tvmscript.decorators import I as ir
from .frontends.tvmscript.decorators import T as tir

__all__ = ["ir", "tir"]

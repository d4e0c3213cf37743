"""The TVMScript vocabularies `I`, `T` and `R`: `from stepwell.script import ir as I, relax as R, tir as T`."""

from .frontends.tvmscript.decorators import I as ir
from .frontends.tvmscript.decorators import R as relax
from .frontends.tvmscript.decorators import T as tir

__all__ = ["ir", "relax", "tir"]

"""The module `tvm.script`: the vocabularies, and decorators that return an `IRModule`."""

from __future__ import annotations

from typing import Any

from ...core.errors import UnsupportedError
from ...module import Module
from ..tvmscript import decorators, parse_tvmscript
from ..tvmscript.decorators import I as ir
from ..tvmscript.decorators import R as relax
from ..tvmscript.decorators import T as tir
from .absent import report_absent
from .ir.module import IRModule


def ir_module(cls: type | None = None, /, *, check_well_formed: bool = True) -> Any:
    """The module of the functions of a class, parsed from its source. Raises `ParseError` at the user's line.

    UnsupportedError for `check_well_formed=False`: every module is checked.
    """
    if not check_well_formed:
        raise UnsupportedError("ir_module: check_well_formed=False is not supported yet")
    if cls is None:
        return lambda definition: _as_ir_module(decorators.ir_module(definition))
    return _as_ir_module(decorators.ir_module(cls))


def from_source(text: str) -> IRModule:
    """The module written as TVMScript in `text`. Raises `ParseError` at the line of the error."""
    return _as_ir_module(parse_tvmscript(text))


def _as_ir_module(mod: Module) -> IRModule:
    return IRModule(mod.op, mod.constants)


tirx = tir
parse = from_source

__getattr__ = report_absent("tvm.script")

__all__ = ["from_source", "ir", "ir_module", "parse", "relax", "tir", "tirx"]

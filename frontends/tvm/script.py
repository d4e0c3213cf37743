"""What `tvm.script` has: the vocabularies, and decorators that give modules in TVM's shape."""

from __future__ import annotations

from typing import Any

from ...module import Module
from ..tvmscript import decorators, parse_tvmscript
from ..tvmscript.decorators import I as ir
from ..tvmscript.decorators import T as tir
from .ir.module import IRModule


def ir_module(cls: type | None = None, /, *, check_well_formed: bool = True) -> Any:
    """The module of a class's functions, from its source. Raises `ParseError` at the user's line."""
    if cls is None:
        return lambda definition: _shaped(decorators.ir_module(definition))
    return _shaped(decorators.ir_module(cls))


def from_source(text: str) -> IRModule:
    """The module that is written as TVMScript. Raises `ParseError` at the line."""
    return _shaped(parse_tvmscript(text))


def _shaped(mod: Module) -> IRModule:
    return IRModule(mod.op, mod.constants)


__all__ = ["from_source", "ir", "ir_module", "tir"]

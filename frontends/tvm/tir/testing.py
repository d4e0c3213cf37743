"""Comparisons of schedules: `tvm.tir.schedule.testing`."""

from __future__ import annotations

from typing import Any

from ....module import Module
from ..ir.comparison import assert_structural_equal
from ..ir.module import IRModule, PrimFunc


def assert_structural_equal_ignore_global_symbol(lhs: Module, rhs: Module, map_free_vars: bool = False) -> None:
    """Raises ValueError unless two modules or functions are equal but for the symbols of their functions."""
    assert_structural_equal(_unnamed(lhs), _unnamed(rhs), map_free_vars)


def _unnamed(mod: Module) -> IRModule:
    module = mod if isinstance(mod, IRModule) else IRModule({"main": mod})  # pyright: ignore[reportArgumentType]
    functions: dict[str, Any] = dict(module.items())
    return IRModule(
        {
            name: func.without_attr("global_symbol") if isinstance(func, PrimFunc) else func
            for name, func in functions.items()
        }
    )


def verify_trace_roundtrip(
    sch: Any, mod: Module, *, debug_mask: str | int = "all", text_format: Any = ("python", "json")
) -> Any:
    """A schedule of a program with the instructions of another schedule, replayed from their text. Raises ValueError
    unless the programs are equal. text_format: without an effect, there is one text."""
    again = type(sch)(mod, debug_mask=debug_mask)
    again.replay(str(sch.trace))
    assert_structural_equal_ignore_global_symbol(again.mod, sch.mod)
    return again


assert_structural_equal_gs = assert_structural_equal_ignore_global_symbol

__all__ = ["assert_structural_equal_gs", "assert_structural_equal_ignore_global_symbol", "verify_trace_roundtrip"]

"""Passes on functions: `tvm.tir.transform`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ....core.errors import PassError
from ....module import Module
from ..ir.module import IRModule, PrimFunc
from ..transform import FunctionalPass, PassContext, PassInfo


def prim_func_pass(
    pass_func: Callable[[PrimFunc, IRModule, PassContext], Module] | None = None,
    opt_level: int = 0,
    name: str | None = None,
    required: Sequence[str] | None = None,
) -> Any:
    """A pass from a function of one `PrimFunc`, the module and the context that returns a function.

    @tir.transform.prim_func_pass(opt_level=0)
    def a_pass(f, mod, ctx):
        return f.with_body(...)
    """

    def create(function: Callable[[PrimFunc, IRModule, PassContext], Module]) -> FunctionalPass:
        info = PassInfo(opt_level, name or function.__name__, tuple(required or ()))

        def run(mod: IRModule, ctx: PassContext) -> Module:
            functions: dict[str, Module] = {}
            for key, func in mod.items():
                result = function(func, mod, ctx)
                if not isinstance(result, Module):  # pyright: ignore[reportUnnecessaryIsInstance]
                    raise PassError(f"pass {info.name} gives {result!r} for function {key}, expected a function")
                functions[key] = result
            return IRModule(functions, mod.constants)

        return FunctionalPass(run, info)

    return create if pass_func is None else create(pass_func)

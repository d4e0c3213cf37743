"""Numbers in place of the names of sizes: `BindSymbolicVars`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, StringAttr
from xdsl.rewriter import Rewriter

from ....core.diagnostics import did_you_mean
from ....core.errors import ArgumentError
from ....operators.relax import CallTirInplaceOp, CallTirOp, FuncOp
from ....operators.relax.types import names_in, replace_names, substitute
from ....operators.relay import Size
from ..ir.module import IRModule
from .struct_info import size_of

UPPER_BOUNDS = "tir_var_upper_bound"
"""The name of the function attribute with the greatest values of sizes by name."""


def sizes_by_name(values: Mapping[Any, Any]) -> dict[str, Size]:
    """Sizes by the names that they replace. values: numbers or expressions, by names or variables."""
    return {str(size_of(name)): size_of(value) for name, value in values.items()}


def bind_sizes(func: FuncOp, sizes: Mapping[str, Size]) -> None:
    """Replaces the names of sizes in the types of all values of a function, in place."""
    for value in [*func.body.block.args, *(result for op in func.walk() for result in op.results)]:
        type = substitute(value.type, sizes)
        if type != value.type:
            Rewriter.replace_value_with_new_type(value, type)
    for op in func.walk():
        if isinstance(op, CallTirOp | CallTirInplaceOp) and op.sizes is not None:
            op.sizes = ArrayAttr([StringAttr(str(replace_names(size.data, sizes))) for size in op.sizes])
    func.result_type = substitute(func.result_type, sizes)
    named = {} if func.func_attrs is None else dict(func.func_attrs.data)
    bounds = named.get(UPPER_BOUNDS)
    if isinstance(bounds, DictionaryAttr):
        named[UPPER_BOUNDS] = DictionaryAttr({name: each for name, each in bounds.data.items() if name not in sizes})
        func.func_attrs = DictionaryAttr(named)


def size_names(func: FuncOp) -> list[str]:
    """The names of sizes in the types of the parameters."""
    return list(dict.fromkeys(name for each in func.body.block.args for name in names_in(each.type)))


def bind_checked(funcs: Sequence[FuncOp], values: Mapping[Any, Any]) -> None:
    """Replaces names of sizes in functions, in place. ArgumentError for a name that none of them has."""
    sizes = sizes_by_name(values)
    known = list(dict.fromkeys(name for func in funcs for name in size_names(func)))
    for name in sizes:
        if name not in known:
            raise ArgumentError(f"no size {name!r}{did_you_mean(name, known)} (has: {', '.join(known) or 'none'})")
    for func in funcs:
        bind_sizes(func, sizes)


def with_sizes(mod: IRModule, values: Mapping[Any, Any], func_name: str | None = None) -> IRModule:
    """A module with numbers in place of names of sizes.

    values: by name or variable.  func_name: the function, by default all that are not private. ArgumentError for a
    function that is no program, and as of `bind_checked`.
    """
    result = IRModule(mod.op.clone(), mod.constants)
    programs = {name: each for name, each in result.function_ops.items() if isinstance(each, FuncOp)}
    if func_name is not None and func_name not in programs:
        raise ArgumentError(f"function {func_name}, expected one of {', '.join(programs) or 'none'}")
    public = [each for each in programs.values() if each.private is None]
    bind_checked(public if func_name is None else [programs[func_name]], values)
    return result

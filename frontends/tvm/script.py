"""The module `tvm.script`: the vocabularies, and decorators that return an `IRModule`."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from ...core.errors import StepwellError
from ...dialects import tir as tir_dialect
from ...module import Module
from ...operators.relax import FuncOp
from ..tvmscript import decorators, parse_tvmscript
from ..tvmscript.decorators import Vocabulary, inline, macro
from ..tvmscript.values import Word
from .absent import report_absent
from .ir.diagnostics import show_errors
from .ir.module import IRModule, PrimFunc
from .relax.struct_info import (
    FuncStructInfo,
    ObjectStructInfo,
    PrimStructInfo,
    ShapeStructInfo,
    StructInfo,
    TensorStructInfo,
    TupleStructInfo,
)


def ir_module(cls: type | None = None, /, *, check_well_formed: bool = True) -> Any:
    """The module of the functions of a class, parsed from its source, as the options are. Raises `ParseError` at the
    user's line."""
    return _define if cls is None else _define(cls)


def _define(cls: type) -> Any:
    define = getattr(cls, "define_module", None)
    if define is not None:
        return define()
    mod = _as_ir_module(decorators.ir_module(cls))
    vars(mod)["__name__"] = cls.__name__
    return mod


def prim_func(
    function: Any = None, /, *, private: bool = False, check_well_formed: bool = True, s_tir: bool = False
) -> Any:
    """The function, parsed from its source; inside a class, the function itself, for `ir_module` to parse. The options
    are parsed from the source too. Raises `ParseError` at the user's line."""
    return _as_prim_func if function is None else _as_prim_func(function)


def _as_prim_func(function: Any) -> Any:
    parsed: Any = decorators.prim_func(function)
    return PrimFunc(parsed.op, parsed.constants) if isinstance(parsed, Module) else parsed


def function(
    definition: Any = None, /, *, private: bool = False, pure: bool = True, check_well_formed: bool = True
) -> Any:
    """A function of a program, parsed from its source; inside a class, the function itself, for `ir_module` to parse.
    The options are parsed from the source too. Raises `ParseError` at the user's line."""
    return _as_function if definition is None else _as_function(definition)


def _as_function(definition: Any) -> Any:
    parsed: Any = decorators.function(definition)
    if not isinstance(parsed, Module):
        return parsed
    # lazy: functions of programs are modules
    from .relax.function import Function

    mod = IRModule(parsed.op, parsed.constants)
    functions = [op for op in mod.function_ops.values() if isinstance(op, FuncOp)]
    return Function.from_op(functions[0], mod.constants, mod)


def pyfunc(function: Any) -> Any:
    """The decorator of methods of a subclass of `BasePyModule` that run in Python."""
    vars(function)[IS_PYTHON] = True
    return function


IS_PYTHON = "is_python_function"
"""The attribute of functions that `pyfunc` has decorated."""


def from_source(text: str, extra_vars: Mapping[str, Any] | None = None, check_well_formed: bool = True) -> Any:
    """The module written as TVMScript in `text`, or the function on buffers if the text is one without a module.

    extra_vars: the values of names that the text uses and does not define.  check_well_formed: ignored; every program
    is checked, and decorators state exceptions. Raises `ParseError` at the line of the error.
    """
    with show_errors():
        mod = parse_tvmscript(text, extra_vars=extra_vars)
    functions = list(mod.function_ops.values())
    if (
        len(functions) == 1
        and isinstance(functions[0], tir_dialect.FuncOp)
        and not re.search(r"^class\b", text, re.MULTILINE)
    ):
        return PrimFunc(mod.op)
    return _as_ir_module(mod)


def _as_ir_module(mod: Module) -> IRModule:
    return IRModule(mod.op, mod.constants)


def _struct_info(name: str, kind: Callable[..., StructInfo]) -> Callable[..., Any]:
    """The word of a type: its calls outside of functions denote the type where all arguments are known, else they are
    evaluated where a program uses them."""
    recorded = getattr(decorators.R, name)

    def build(*args: Any, **keywords: Any) -> Any:
        try:
            return kind(*args, **keywords)
        except (TypeError, ValueError, StepwellError):
            return recorded(*args, **keywords)

    vars(build)["__tvmscript__"] = recorded.__tvmscript__
    return build


def _tensor(shape: Any = None, dtype: str | None = None, vdevice: Any = None, ndim: int = -1) -> TensorStructInfo:
    """The type of a tensor, of unknown data type unless it is stated; a data type may stand in the place of a shape."""
    if isinstance(shape, str) and dtype is None:
        shape, dtype = None, shape
    return TensorStructInfo(shape, dtype, vdevice, ndim)


def _callable(params: Any = None, ret: Any = None, purity: bool = True) -> FuncStructInfo:
    if params is None:
        return FuncStructInfo.opaque(ret, purity)
    return FuncStructInfo([params] if isinstance(params, StructInfo) else params, ret, purity)


def _tuple(*fields: StructInfo) -> TupleStructInfo:
    return TupleStructInfo(fields[0] if len(fields) == 1 and isinstance(fields[0], list | tuple) else fields)


def _rewriter(cls: type) -> Any:
    """The rewrite of programs of a class with the functions `pattern` and `replacement`, as of
    `PatternMatchingRewriter.from_module`."""
    # lazy: rewrites use modules and functions
    from .relax.dpl import PatternMatchingRewriter

    return PatternMatchingRewriter.from_module(_define(cls))


tir = Vocabulary("T", prim_func=prim_func, macro=macro, inline=inline)
"""The vocabulary of functions on buffers: `T.prim_func` and all words that a function uses."""

ir = Vocabulary("I", ir_module=ir_module, pyfunc=pyfunc)
"""The vocabulary of modules."""

relax = Vocabulary(
    "R",
    function=function,
    macro=macro,
    rewriter=_rewriter,
    Callable=_struct_info("Callable", _callable),
    Object=_struct_info("Object", ObjectStructInfo),
    Tensor=_struct_info("Tensor", _tensor),
    Shape=_struct_info("Shape", ShapeStructInfo),
    Prim=_struct_info("Prim", PrimStructInfo),
    Tuple=_struct_info("Tuple", _tuple),
)
"""The vocabulary of relax: `R.function`, types, which are also those of `tvm.relax`, and all words of functions."""

__tvmscript__ = Word("tvm", "script")
"""The meaning of the module in TVMScript: `@script.ir_module`."""

tirx = tir
parse = from_source

__getattr__ = report_absent("tvm.script")

__all__ = ["from_source", "ir", "ir_module", "parse", "relax", "tir", "tirx"]

"""Expressions and bindings as texts of TVMScript: `expr.script()`, `block.show()`."""

from __future__ import annotations

from functools import singledispatch
from typing import Any

from ....dialects.text.literals import string_literal
from .bindings import BindingBlock, DataflowBlock, If, MatchCast, SeqExpr, VarBinding
from .expr import Call, Constant, ExternFunc, GlobalVar, Op, PrimValue, ShapeExpr, StringImm, Tuple, TupleGetItem

_INDENT = "    "


def text_of(node: Any) -> str:
    """The text of an expression, a binding, or a block of bindings."""
    return "\n".join(_lines(node))


@singledispatch
def _lines(node: Any) -> list[str]:
    return [_text(node)]


@_lines.register
def _(node: VarBinding) -> list[str]:
    if isinstance(node.value, If):
        return _branches(node.value, node.var.name_hint)
    return [f"{node.var.name_hint} = {_text(node.value)}"]


@_lines.register
def _(node: MatchCast) -> list[str]:
    return [f"{node.var.name_hint} = R.match_cast({_text(node.value)}, {node.struct_info})"]


@_lines.register
def _(node: BindingBlock) -> list[str]:
    return [line for binding in node.bindings for line in _lines(binding)]


@_lines.register
def _(node: DataflowBlock) -> list[str]:
    outputs = ", ".join(var.name_hint for var in node.outputs)
    inner = [*(line for binding in node.bindings for line in _lines(binding)), f"R.output({outputs})"]
    return ["with R.dataflow():", *(_INDENT + line for line in inner)]


@_lines.register
def _(node: SeqExpr) -> list[str]:
    return [*(line for block in node.blocks for line in _lines(block)), _text(node.body)]


@_lines.register
def _(node: If) -> list[str]:
    return _branches(node, "")


def _branches(node: If, name: str) -> list[str]:
    """The lines of a branch, whose values have a name."""
    lines: list[str] = []
    for head, branch in ((f"if {_text(node.cond)}:", node.true_branch), ("else:", node.false_branch)):
        *before, last = _lines(branch)
        inner = [*before, f"{name} = {last}" if name else last]
        lines += [head, *(_INDENT + line for line in inner)]
    return lines


@singledispatch
def _text(node: Any) -> str:
    """An expression on one line."""
    return repr(node)


@_text.register
def _(node: Call) -> str:
    args = [_text(arg) for arg in node.args]
    options = [f"{name}={value!r}" for name, value in node.attrs.items()]
    infos = [f"sinfo_args={list(node.sinfo_args)}"] if node.sinfo_args else []
    return f"{_text(node.op)}({', '.join([*args, *options, *infos])})"


@_text.register
def _(node: Op) -> str:
    return f"R.{node.name.removeprefix('relax.')}"


@_text.register
def _(node: GlobalVar) -> str:
    return f"cls.{node.name_hint}"


@_text.register
def _(node: ExternFunc) -> str:
    return f"R.ExternFunc({node.global_symbol!r})"


@_text.register
def _(node: Tuple) -> str:
    return f"({', '.join(map(_text, node.fields))}{',' if len(node.fields) == 1 else ''})"


@_text.register
def _(node: TupleGetItem) -> str:
    return f"{_text(node.tuple_value)}[{node.index}]"


@_text.register
def _(node: Constant) -> str:
    if node.data.ndim == 0:
        return f'R.const({node.data.tolist()}, "{node.data.dtype}")'
    return f'metadata["relax.expr.Constant"][{list(node.data.shape)}, "{node.data.dtype}"]'


@_text.register
def _(node: PrimValue) -> str:
    return f"R.prim_value({node.value})"


@_text.register
def _(node: StringImm) -> str:
    return f"R.str({string_literal(node.value)})"


@_text.register
def _(node: ShapeExpr) -> str:
    return f"R.shape([{', '.join(map(str, node.sizes))}])"


__all__ = ["text_of"]

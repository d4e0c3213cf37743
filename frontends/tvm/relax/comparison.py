"""The forms of types and expressions of programs by which `tvm.ir.structural_equal` compares them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ....operators.relax.text import type_text
from ....operators.relax.types import names_in, substitute
from ...relay.expr import GlobalVar
from .bindings import Binding, BindingBlock, DataflowBlock, If, MatchCast, SeqExpr
from .expr import (
    Call,
    Constant,
    ExternFunc,
    Op,
    PrimValue,
    Scriptable,
    ShapeExpr,
    StringImm,
    Tuple,
    TupleGetItem,
    Var,
)
from .struct_info import StructInfo


class Former:
    """Writes nodes as texts that are equal for structurally equal nodes.

    map_free_vars: whether a variable or a name of a size that the node does not bind may correspond to another one.
    """

    def __init__(self, map_free_vars: bool):
        self._map_free_vars = map_free_vars
        self._numbers: dict[Var, int] = {}
        self._sizes: dict[str, str] = {}

    def form(self, node: Any) -> list[str]:
        """The lines of a node. ArgumentError for another object."""
        match node:
            case StructInfo():
                return [self.type(node)]
            case SeqExpr():
                return [*(line for block in node.blocks for line in self.form(block)), self._text(node.body)]
            case BindingBlock():
                return self._block(node)
            case _:
                return [self._text(node)]

    def type(self, info: StructInfo) -> str:
        """The text of a type."""
        device = "" if info.device is None else f" on {info.device}"
        if not self._map_free_vars:
            return type_text(info.type) + device
        for name in names_in(info.type):
            self._sizes.setdefault(name, f"size_{len(self._sizes)}")
        return type_text(substitute(info.type, self._sizes)) + device

    def _block(self, block: BindingBlock) -> list[str]:
        lines = ["dataflow"] if isinstance(block, DataflowBlock) else []
        for binding in block.bindings:
            lines += self._binding(binding)
            self._define(binding.var)
        outputs = block.outputs if isinstance(block, DataflowBlock) else ()
        return [*lines, *(f"output {self._text(each)}" for each in outputs)]

    def _binding(self, binding: Binding) -> list[str]:
        if isinstance(binding, MatchCast):
            return [f"match_cast {self._text(binding.value)} {self.type(binding.struct_info)}"]
        value = binding.value  # pyright: ignore[reportAttributeAccessIssue]
        return self._branches(value) if isinstance(value, If) else [self._text(value)]

    def _branches(self, node: If) -> list[str]:
        return [
            f"if {self._text(node.cond)}", *self.form(node.true_branch), "else", *self.form(node.false_branch), "end",
        ]  # fmt: skip

    def _define(self, var: Var) -> str:
        return f"%{self._numbers.setdefault(var, len(self._numbers))}"

    def _variable(self, var: Var) -> str:
        if var not in self._numbers and not self._map_free_vars:
            return f"{var.name_hint} {id(var)}"
        info = var.known_struct_info
        return self._define(var) + ("" if info is None else f" {self.type(info)}")

    def _text(self, node: Any) -> str:
        match node:
            case Var():
                return self._variable(node)
            case Constant(data=data):
                return f"constant {data.dtype} {data.shape} {np.ascontiguousarray(data).tobytes().hex()}"
            case StringImm():
                return repr(node.value)
            case PrimValue() | ShapeExpr():
                return self.type(node.struct_info)
            case Tuple():
                return f"({', '.join(map(self._text, node.fields))})"
            case TupleGetItem():
                return f"{self._text(node.tuple_value)}[{node.index}]"
            case Call():
                return self._call(node)
            case If() | SeqExpr():
                return "; ".join(self._branches(node) if isinstance(node, If) else self.form(node))
            case Op() | ExternFunc() | GlobalVar():
                return _name(node)
            case Mapping():
                return ", ".join(f"{key} = {self._text(node[key])}" for key in sorted(node))  # pyright: ignore[reportUnknownVariableType]
            case list() | tuple():
                return f"[{', '.join(map(self._text, node))}]"  # pyright: ignore[reportUnknownArgumentType]
            case StructInfo():
                return self.type(node)
            case _:
                return repr(node)

    def _call(self, call: Call) -> str:
        args: Sequence[Any] = call.args
        infos = f" : {', '.join(map(self.type, call.sinfo_args))}" if call.sinfo_args else ""
        return f"{self._text(call.op)}({', '.join(map(self._text, args))}) {{{self._text(call.attrs)}}}{infos}"


def _name(node: Op | ExternFunc | GlobalVar) -> str:
    match node:
        case Op():
            return node.name
        case ExternFunc():
            return f"packed {node.global_symbol}"
        case GlobalVar():
            return f"@{node.name_hint}"


def form_of(node: Scriptable | StructInfo, map_free_vars: bool) -> list[str]:
    """The lines of a text that is equal for structurally equal nodes. map_free_vars: as of `Former`."""
    return Former(map_free_vars).form(node)

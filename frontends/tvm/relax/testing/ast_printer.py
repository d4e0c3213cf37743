"""Programs as the text of their nodes, as TVM writes it: `tvm.relax.testing.ast_printer`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from .....core.errors import OptionError
from .....operators.relax import CallableType
from ....relay.expr import GlobalVar
from ...absent import report_absent
from ..bindings import Binding, BindingBlock, DataflowBlock, If, MatchCast, SeqExpr
from ..expr import (
    Call,
    Constant,
    DataflowVar,
    ExternFunc,
    Op,
    PrimValue,
    ShapeExpr,
    StringImm,
    Tuple,
    TupleGetItem,
    Var,
)
from ..function import Function
from ..struct_info import PrimStructInfo, ShapeStructInfo, StructInfo, TensorStructInfo, TupleStructInfo

__getattr__ = report_absent("tvm.relax.testing.ast_printer")


def dump_ast(
    exp: Any,
    indent_str: str = "    ",
    include_struct_info_annotations: bool = True,
    include_type_annotations: bool = False,
    include_call_attrs: bool = True,
) -> str:
    """The nodes of an expression, a function, a binding or a block: `Var(name_hint="x")`, ...

    indent_str: before the fields of a node.  include_struct_info_annotations: whether expressions have the field
    `struct_info`.  include_call_attrs: whether calls have the field `attrs`.  OptionError for types of TVM's former
    type system (include_type_annotations), and for another value.
    """
    if include_type_annotations:
        raise OptionError("dump_ast: include_type_annotations, expected False: expressions have struct_info alone")
    return _Printer(indent_str, include_struct_info_annotations, include_call_attrs).node(exp)


def _quoted(text: Any) -> str:
    return f'"{text}"'


class _Printer:
    """Writes nodes. The options are those of `dump_ast`."""

    def __init__(self, indent: str, with_info: bool, with_attrs: bool):
        self.indent, self.with_info, self.with_attrs = indent, with_info, with_attrs

    def members(self, items: Sequence[str], opening: str = "[", closing: str = "]", on_lines: bool = False) -> str:
        """Items between brackets: one on the same line, several on lines of their own."""
        if not items:
            return opening + closing
        if len(items) == 1 and "\n" not in items[0] and not on_lines:
            return f"{opening}{items[0]}{closing}"
        lines = ",\n".join("\n".join(self.indent + line for line in item.split("\n")) for item in items)
        return f"{opening}\n{lines}\n{closing}"

    def fields(self, name: str, fields: Mapping[str, Any], on_lines: bool = False) -> str:
        """A node with its fields."""
        return self.members([f"{key}={value}" for key, value in fields.items()], f"{name}(", ")", on_lines)

    def each(self, nodes: Sequence[Any]) -> str:
        """Nodes as a list."""
        return self.members([self.node(each) for each in nodes])

    def node(self, node: Any) -> str:
        """A node of any kind. OptionError for another value."""
        match node:
            case DataflowBlock() | BindingBlock():
                bindings = [self.binding(each) for each in node.bindings]
                return self.fields(
                    type(node).__name__, {"bindings": self.members(bindings, on_lines=True) if bindings else "[]"}
                )
            case Binding():
                return self.binding(node)
            case StructInfo():
                return self.info(node)
            case Op():
                return self.fields("Op", {"name": _quoted(node.name)})
            case ExternFunc():
                return self.fields("ExternFunc", {"global_symbol": _quoted(node.global_symbol)})
            case GlobalVar():
                return self.fields("GlobalVar", {"name_hint": _quoted(node.name_hint)})
            case Function():
                return self.function(node)
            case _:
                name, fields = self.expression(node)
                if self.with_info and not isinstance(node, SeqExpr | If):
                    fields["struct_info"] = self.info(node.struct_info)
                is_long = isinstance(node, Constant) and node.data.ndim > 0
                return self.fields(name, fields, is_long)

    def expression(self, node: Any) -> tuple[str, dict[str, Any]]:
        """The name and the fields of an expression."""
        match node:
            case Constant():
                return "Constant", {"data": str(node.data)}
            case DataflowVar() | Var():
                return type(node).__name__, {"name_hint": _quoted(node.name_hint)}
            case Tuple():
                return "Tuple", {"fields": self.each(node.fields)}
            case ShapeExpr():
                return "ShapeExpr", {"values": self.members([self.number(each) for each in node.sizes])}
            case PrimValue():
                return "PrimValue", {"value": self.number(node.value)}
            case StringImm():
                return "StringImm", {"value": _quoted(node.value)}
            case TupleGetItem():
                return "TupleGetItem", {"tuple_value": self.node(node.tuple_value), "index": node.index}
            case Call():
                return "Call", self.call(node)
            case SeqExpr():
                return "SeqExpr", {"blocks": self.each(node.blocks), "body": self.node(node.body)}
            case If():
                branches = {"true_branch": self.node(node.true_branch), "false_branch": self.node(node.false_branch)}
                return "If", {"cond": self.node(node.cond), **branches}
            case _:
                raise OptionError(f"dump_ast of {type(node).__name__}, expected an expression of relax")

    def call(self, node: Call) -> dict[str, Any]:
        """The fields of a call."""
        fields: dict[str, Any] = {"op": self.node(node.op), "args": self.each(node.args)}
        if node.sinfo_args:
            fields["sinfo_args"] = self.each(node.sinfo_args)
        if node.attrs and self.with_attrs:
            pairs = [
                f"{_quoted(key)}: {_quoted(value) if isinstance(value, str) else value}"
                for key, value in node.attrs.items()
            ]
            fields["attrs"] = self.members(pairs, "{", "}")
        return fields

    def function(self, node: Function) -> str:
        """A function."""
        fields = {
            "params": self.each(node.params),
            "body": self.node(node.body),
            "ret_struct_info": self.info(node.ret_struct_info),
            "is_pure": int(node.is_pure),
        }
        if node.attrs:
            pairs = [f"{_quoted(key)}: {_quoted(value)}" for key, value in node.attrs.items()]
            fields["attrs"] = self.members(pairs, "{", "}")
        return self.fields("Function", fields)

    def binding(self, node: Binding) -> str:
        """A binding."""
        fields = {"var": self.node(node.var), "value": self.node(node.value)}  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType]
        if isinstance(node, MatchCast):
            return self.fields("MatchCast", {**fields, "struct_info": self.info(node.struct_info)})
        return self.fields("VarBinding", fields)

    def number(self, value: Any) -> str:
        """A size or a number."""
        return self.fields("PrimExpr", {"value": f"`{value}`"})

    def info(self, info: StructInfo) -> str:
        """The type of a value."""
        match info:
            case TensorStructInfo():
                kind = {"dtype": info.dtype or ""}
                if info.shape is None:
                    return self.fields("TensorStructInfo", {**kind, "ndim": info.ndim})
                return self.fields("TensorStructInfo", {**kind, "shape": self.node(ShapeExpr(info.shape))})
            case ShapeStructInfo():
                sizes = {"ndim": info.ndim}
                if info.shape is not None:
                    sizes["values"] = self.members([self.number(each) for each in info.shape])  # pyright: ignore[reportArgumentType]
                return self.fields("ShapeStructInfo", sizes)
            case TupleStructInfo():
                return self.fields("TupleStructInfo", {"fields": self.each(info.fields)})
            case PrimStructInfo():
                return self.fields("PrimStructInfo", {"dtype": info.dtype or "int64"})
            case _:
                name = "FuncStructInfo" if isinstance(info.type, CallableType) else "ObjectStructInfo"
                return self.fields(name, {})

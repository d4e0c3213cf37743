"""Nodes as JSON: `tvm.ir.save_json` and `tvm.ir.load_json`.

The text is a list of nodes in TVM's shape: each with the key of its type and its attributes, which are numbers, texts
or positions of other nodes in the list. Position 0 stands for no node.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from ....core.errors import ArgumentError, StepwellError
from ....expressions.expr import FloatImm, IntImm, SizeVar, StringImm
from ....expressions.expr import Var as PrimVar
from ....operators import Operator, operator_of
from ...mlir import parse_mlir
from ...relay.expr import (
    Call,
    Constant,
    Expr,
    Function,
    GlobalVar,
    If,
    Let,
    RefCreate,
    RefRead,
    RefWrite,
    Tuple,
    TupleGetItem,
    Var,
)
from ...relay.types import (
    FuncType,
    GlobalTypeVar,
    IncompleteType,
    RefType,
    TensorType,
    TupleType,
    TypeCall,
    TypeKind,
    TypeVar,
)
from ..params import array_bytes, read_array_bytes
from .module import IRModule, PrimFunc
from .span import Span

VERSION = "0.16.0"


class _Form(NamedTuple):
    """The attributes of a node: those that are other nodes, and those that are texts and numbers, in the order of the
    arguments of its class. Numbers end in `#`."""

    cls: type
    nodes: str = ""
    plain: str = ""


_FORMS: dict[str, _Form] = {
    "relay.Tuple": _Form(Tuple, "fields"),
    "relay.TupleGetItem": _Form(TupleGetItem, "tuple_value", "index#"),
    "relay.Let": _Form(Let, "var value body"),
    "relay.If": _Form(If, "cond true_branch false_branch"),
    "relay.Function": _Form(Function, "params body ret_type type_params attrs"),
    "relay.RefCreate": _Form(RefCreate, "value"),
    "relay.RefRead": _Form(RefRead, "ref"),
    "relay.RefWrite": _Form(RefWrite, "ref value"),
    "GlobalVar": _Form(GlobalVar, "", "name_hint"),
    "relay.TensorType": _Form(TensorType, "shape", "dtype"),
    "TupleType": _Form(TupleType, "fields"),
    "FuncType": _Form(FuncType, "arg_types ret_type type_params type_constraints"),
    "TypeVar": _Form(TypeVar, "", "name_hint kind#"),
    "GlobalTypeVar": _Form(GlobalTypeVar, "", "name_hint kind#"),
    "IncompleteType": _Form(IncompleteType, "", "kind#"),
    "relay.TypeCall": _Form(TypeCall, "func args"),
    "relay.RefType": _Form(RefType, "value"),
    "Span": _Form(Span, "source_name", "line# end_line# column# end_column#"),
    "IntImm": _Form(IntImm, "", "value# dtype"),
    "FloatImm": _Form(FloatImm, "", "value# dtype"),
    "tir.Var": _Form(PrimVar, "", "name dtype"),
    "tir.SizeVar": _Form(SizeVar, "", "name dtype"),
}
_OLD = {
    "relay.TypeVar": "TypeVar",
    "relay.GlobalTypeVar": "GlobalTypeVar",
    "relay.GlobalVar": "GlobalVar",
    "relay.IncompleteType": "IncompleteType",
    "relay.TupleType": "TupleType",
    "relay.FuncType": "FuncType",
    "relay.Op": "Op",
    "Variable": "tir.Var",
    "SizeVar": "tir.SizeVar",
}
"""The keys of types until v0.6, with those of today."""


def save_json(node: Any) -> str:
    """The text of a module, a function, an expression, a type, a place in a text, or a list, a dictionary, a text or a
    number. ArgumentError for other objects. Functions on buffers and of relax are texts of their own, which TVM does
    not read."""
    writer = _Writer()
    root = writer.position(node)
    data = {"root": root, "nodes": writer.nodes, "b64ndarrays": writer.arrays, "attrs": {"tvm_version": VERSION}}
    return json.dumps(data, indent=2)


def load_json(json_str: str) -> Any:
    """The node of a text of `save_json`, or of TVM since v0.6. ArgumentError for a text that is no such list, and for
    nodes of types that are absent here."""
    try:
        data = json.loads(json_str)
        return _Reader(data["nodes"], data.get("b64ndarrays", [])).node(int(data["root"]))
    except (ValueError, KeyError, TypeError, IndexError) as error:
        if isinstance(error, StepwellError):
            raise
        raise ArgumentError(f"load_json: {type(error).__name__}: {error}") from None


class _Writer:
    def __init__(self) -> None:
        self.nodes: list[dict[str, Any]] = [{"type_key": ""}]
        self.arrays: list[str] = []
        self.positions: dict[int, int] = {}
        self.kept: list[Any] = []

    def position(self, node: Any) -> int:
        """The position of a node, which is added unless it is in the list."""
        if node is None:
            return 0
        if id(node) not in self.positions:
            entry = self.entry(node)
            self.nodes.append(entry)
            self.kept.append(node)
            self.positions[id(node)] = len(self.nodes) - 1
        return self.positions[id(node)]

    def entry(self, node: Any) -> dict[str, Any]:
        """The entry of a node."""
        match node:
            case Var():
                name = self.position({"name_hint": node.name_hint})
                return _entry("relay.Var", vid=name, type_annotation=self.position(node.type_annotation))
            case Constant():
                self.arrays.append(base64.b64encode(array_bytes(np.asarray(node.array))).decode())
                return _entry("relay.Constant", data=len(self.arrays) - 1)
            case Call():
                parts = {"op": node.op, "args": node.args, "attrs": dict(node.attrs)}
                return _entry("relay.Call", **{name: self.position(value) for name, value in parts.items()})
            case PrimFunc():
                return _entry("tir.PrimFunc", script=self.position(str(node.op)))
            case IRModule():
                return self.module(node)
            case Operator():
                return {"type_key": "Op", "repr_str": node.name}
            case str() | StringImm():
                return {"type_key": "runtime.String", "repr_str": node if isinstance(node, str) else node.value}
            case bool() | int():
                return _entry("IntImm", value=int(node), dtype="bool" if isinstance(node, bool) else "int32")
            case float():
                return _entry("FloatImm", value=node, dtype="float32")
            case Mapping():
                if all(isinstance(key, str) for key in node):  # pyright: ignore[reportUnknownVariableType]
                    values = [self.position(value) for value in node.values()]  # pyright: ignore[reportUnknownVariableType]
                    return {"type_key": "Map", "keys": list(node), "data": values}  # pyright: ignore[reportUnknownArgumentType]
                return {"type_key": "Map", "data": [self.position(part) for pair in node.items() for part in pair]}  # pyright: ignore[reportUnknownVariableType]
            case list() | tuple():
                return {"type_key": "Array", "data": [self.position(each) for each in node]}  # pyright: ignore[reportUnknownVariableType]
            case _:
                return self.by_form(node)

    def module(self, mod: IRModule) -> dict[str, Any]:
        """The entry of a module: its graphs, or the text of a module with other functions, and its constants."""
        if all(isinstance(mod[name], Function) for name in mod):
            functions = {GlobalVar(name): mod[name] for name in mod}
            return _entry("IRModule", functions=self.position(functions))
        constants = self.position({name: Constant(value) for name, value in mod.constants.items()})
        return _entry("IRModule", text=self.position(str(mod.op)), constants=constants)

    def by_form(self, node: Any) -> dict[str, Any]:
        """The entry of a node whose attributes are in `_FORMS`."""
        for key, form in _FORMS.items():
            if type(node) is form.cls:
                nodes = {name: self.position(getattr(node, name)) for name in form.nodes.split()}
                plain = {name.strip("#"): _plain(getattr(node, name.strip("#"))) for name in form.plain.split()}
                return _entry(key, **nodes, **plain)
        raise ArgumentError(f"save_json of {type(node).__name__}, expected a module, an expression or a type")


def _plain(value: Any) -> Any:
    return int(value) if isinstance(value, TypeKind) else str(value) if not isinstance(value, int | float) else value


def _entry(key: str, **attributes: Any) -> dict[str, Any]:
    return {"type_key": key, "attrs": {name: str(value) for name, value in attributes.items()}}


class _Reader:
    def __init__(self, nodes: Sequence[Mapping[str, Any]], arrays: Sequence[str]):
        self.entries = nodes
        self.arrays = arrays
        self.known: dict[int, Any] = {0: None}

    def node(self, position: int) -> Any:
        """The node at a position."""
        if position not in self.known:
            self.known[position] = self.read(self.entries[position])
        return self.known[position]

    def read(self, entry: Mapping[str, Any]) -> Any:
        """The node of an entry."""
        key = _OLD.get(entry["type_key"], entry["type_key"])
        attributes: Mapping[str, str] = entry.get("attrs", {})
        if key in _FORMS:
            return self.by_form(_FORMS[key], attributes)
        readers: dict[str, Callable[[], Any]] = {
            "relay.Var": lambda: Var(self.name(attributes["vid"]), self.node(int(attributes["type_annotation"]))),
            "relay.Constant": lambda: Constant(
                read_array_bytes(base64.b64decode(self.arrays[int(attributes["data"])]))
            ),
            "relay.Call": lambda: self.call(attributes),
            "relay.Id": lambda: {"name_hint": self.text(attributes["name_hint"])},
            "Op": lambda: operator_of(entry.get("repr_str") or entry["global_key"]),
            "runtime.String": lambda: entry.get("repr_str", ""),
            "Array": lambda: [self.node(each) for each in entry.get("data", ())],
            "Map": lambda: self.map(entry),
            "StrMap": lambda: self.map(entry),
            "IRModule": lambda: self.module(attributes),
            "tir.PrimFunc": lambda: self.prim_func(attributes),
        }
        if key not in readers:
            raise ArgumentError(f"load_json: a node of type {key}, expected an expression or a type of graphs")
        return readers[key]()

    def module(self, attributes: Mapping[str, str]) -> IRModule:
        """A module of graphs, or of a text."""
        if "text" not in attributes:
            return IRModule(self.node(int(attributes["functions"])) or {})
        constants = {name: each.array for name, each in self.node(int(attributes["constants"])).items()}
        return IRModule(parse_mlir(self.node(int(attributes["text"]))).op, constants)

    def prim_func(self, attributes: Mapping[str, str]) -> PrimFunc:
        """A function on buffers. ArgumentError for one of TVM, which is a list of its statements."""
        if "script" not in attributes:
            raise ArgumentError("load_json: a function on buffers as TVM saves it, expected one of save_json here")
        return PrimFunc(parse_mlir(self.node(int(attributes["script"]))).op)

    def call(self, attributes: Mapping[str, str]) -> Call:
        """A call. Its operator checks its attributes."""
        op, args, attrs = (self.node(int(attributes[name])) for name in ("op", "args", "attrs"))
        values = {} if attrs is None else attrs
        return Call(op, args, values if isinstance(op, Expr) else {name: _value(each) for name, each in values.items()})

    def map(self, entry: Mapping[str, Any]) -> dict[Any, Any]:
        """A dictionary, whose keys are texts, or nodes at each second position."""
        values = [self.node(each) for each in entry.get("data", ())]
        if "keys" in entry:
            return dict(zip(entry["keys"], values, strict=True))
        return dict(zip(values[::2], values[1::2], strict=True))

    def by_form(self, form: _Form, attributes: Mapping[str, str]) -> Any:
        """A node of a class of `_FORMS`."""
        values: dict[str, Any] = {}
        for name in form.nodes.split():
            value = self.node(int(attributes[name]))
            values["variable" if (form.cls, name) == (Let, "var") else name] = (
                _value(value) if name == "attrs" else value
            )
        for name in form.plain.split():
            if name.endswith("#"):
                text = attributes[name[:-1]]
                values[name[:-1]] = float(text) if form.cls is FloatImm else int(text)
            elif name == "name_hint" and "var" in attributes:
                values[name] = self.node(int(attributes["var"])).name
            else:
                text = attributes[name]
                values[name] = self.text(text) if name in ("name", "name_hint") else text
        if "kind" in values:
            values["kind"] = TypeKind(values["kind"])
        if form.cls is TensorType:
            values["shape"] = [_value(each) for each in values["shape"]]
        return form.cls(**values)

    def name(self, position: str) -> str:
        """The name of a variable."""
        return str(self.node(int(position))["name_hint"])

    def text(self, text: str) -> str:
        """A name, which is a text, or the position of one."""
        is_position = text.isdigit() and int(text) < len(self.entries)
        node = self.node(int(text)) if is_position and self.entries[int(text)]["type_key"] == "runtime.String" else text
        return str(node)


def _value(node: Any) -> Any:
    """The value of an attribute: numbers in place of constants of te."""
    match node:
        case IntImm() if node.dtype == "bool":
            return bool(node.value)
        case IntImm() | FloatImm():
            return node.value
        case list():
            return [_value(each) for each in node]  # pyright: ignore[reportUnknownVariableType]
        case dict():
            return {key: _value(each) for key, each in node.items()}  # pyright: ignore[reportUnknownVariableType]
        case _:
            return node


__all__ = ["load_json", "save_json"]

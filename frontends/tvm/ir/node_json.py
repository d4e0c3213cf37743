"""Nodes as JSON: `tvm.ir.save_json` and `tvm.ir.load_json`.

The text is a list of nodes in TVM's shape: each with the key of its type and its attributes, which are numbers, texts
or positions of other nodes in the list. Position 0 stands for no node. Texts of every version of TVM since v0.6 are
read, `node_graph` has their forms.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Mapping
from typing import Any, cast

import numpy as np

from ....core.dtypes import parse_dtype
from ....core.errors import ArgumentError, LoadError, StepwellError
from ....expressions.buffers import Buffer as DeclaredBuffer
from ....expressions.expr import Call as CallExpr
from ....expressions.expr import ExtentImm, FloatImm, IfThenElse, IntImm, PrimExpr, PureExternCall, StringImm
from ....expressions.intrinsic_names import IntrinsicName
from ....operators import Operator, operator_of
from ...mlir import parse_mlir
from ...relay.expr import Call, Constant, Expr, Function, GlobalVar, Let, Var
from ...relay.types import TensorType, TypeKind
from ..nd import HostArray, array
from ..nodes.declarations import decl_buffer
from ..nodes.expr import PointerType, PointerVar, PrimType, pointer_of
from ..params import array_bytes
from ..target.target import Target
from .module import IRModule, PrimFunc
from .node_forms import FORMS, FORMS_BY_KIND, Form, is_expression, is_operator, key_of
from .node_graph import Node, NodeGraph
from .node_scripts import read_module, read_prim_func

VERSION = "0.16.0"
_UNFIT = (ArithmeticError, AttributeError, LookupError, TypeError, ValueError)


def save_json(node: Any) -> str:
    """The text of a module, a function, an expression, a type, a place in a text, an array on the processor, or a list,
    a dictionary, a text or a number. ArgumentError for other objects. Functions on buffers and of relax are texts of
    their own, which TVM does not read."""
    writer = _Writer()
    root = writer.position(node)
    data = {"root": root, "nodes": writer.nodes, "b64ndarrays": writer.arrays, "attrs": {"tvm_version": VERSION}}
    return json.dumps(data, indent=2)


def load_json(json_str: str) -> Any:
    """The node of a text of `save_json`, or of TVM since v0.6, functions on buffers included. LoadError for a text that
    is no such list, for nodes that do not fit each other, and for nodes of types that are absent here."""
    graph = NodeGraph(json_str)
    try:
        return _Reader().node(graph.root)
    except RecursionError:
        raise LoadError(f"{graph.root!r}: nodes are nested too deeply") from None


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
            case HostArray():
                return {"type_key": "runtime.NDArray", "repr_str": base64.b64encode(array_bytes(node.numpy())).decode()}
            case PrimFunc():
                return _entry("tir.PrimFunc", script=self.position(str(node.op)))
            case IRModule():
                return self.module(node)
            case Operator() | IntrinsicName():
                return {"type_key": "Op", "repr_str": node.name}
            case str():
                return {"type_key": "runtime.String", "repr_str": node}
            case bool() | int():
                return _entry("IntImm", value=int(node), dtype="bool" if isinstance(node, bool) else "int32", span=0)
            case float():
                return _entry("FloatImm", value=node, dtype="float32", span=0)
            case Mapping():
                if all(isinstance(key, str) for key in node):  # pyright: ignore[reportUnknownVariableType]
                    values = [self.position(value) for value in node.values()]  # pyright: ignore[reportUnknownVariableType]
                    return {"type_key": "Map", "keys": list(node), "data": values}  # pyright: ignore[reportUnknownArgumentType]
                return {"type_key": "Map", "data": [self.position(part) for pair in node.items() for part in pair]}  # pyright: ignore[reportUnknownVariableType]
            case list() | tuple():
                return {"type_key": "Array", "data": [self.position(each) for each in node]}  # pyright: ignore[reportUnknownVariableType]
            case CallExpr() | PureExternCall():
                return self.call(node)
            case PointerVar():
                return self.pointer(node)
            case ExtentImm():
                return _entry("IntImm", value=node.value, dtype=node.dtype, span=0)
            case DeclaredBuffer():
                return self.buffer(node)
            case _:
                return self.by_form(node)

    def module(self, mod: IRModule) -> dict[str, Any]:
        """The entry of a module: its graphs, or the text of a module with other functions, and its constants."""
        if all(isinstance(mod[name], Function) for name in mod):
            functions = {GlobalVar(name): mod[name] for name in mod}
            return _entry("IRModule", functions=self.position(functions))
        constants = self.position({name: Constant(value) for name, value in mod.constants.items()})
        return _entry("IRModule", text=self.position(str(mod.op)), constants=constants)

    def call(self, node: CallExpr | PureExternCall) -> dict[str, Any]:
        """The entry of a call on numbers. ArgumentError for one that is an operation of a program."""
        if isinstance(node, PureExternCall):
            op, args = IntrinsicName("call_pure_extern"), [StringImm(node.name), *node.args]
        elif type(node) is CallExpr or type(node) is IfThenElse:
            op, args = node.op, list(node.args)
        else:
            raise ArgumentError(f"save_json of {type(node).__name__}, an operation of a program, expected its function")
        return _entry("tir.Call", dtype=node.dtype, op=self.position(op), args=self.position(args), span=0)

    def pointer(self, node: PointerVar) -> dict[str, Any]:
        """The entry of the variable of an address."""
        type = None if node.element is None else PointerType(PrimType(node.element), node.scope)
        name, annotation = self.position(node.name), self.position(type)
        return _entry("tir.Var", dtype=node.dtype, name=name, type_annotation=annotation, span=0)

    def buffer(self, node: DeclaredBuffer) -> dict[str, Any]:
        """The entry of a buffer."""
        data = getattr(node, "pointer", None) or pointer_of(node.data)
        parts = {
            "data": data, "shape": node.shape, "strides": node.strides, "elem_offset": node.elem_offset,
            "name": node.name, "axis_separators": node.axis_separators,
        }  # fmt: skip
        plain = {"dtype": node.dtype, "data_alignment": 64, "offset_factor": 1, "buffer_type": 1, "span": 0}
        return _entry("tir.Buffer", **{name: self.position(value) for name, value in parts.items()}, **plain)

    def by_form(self, node: Any) -> dict[str, Any]:
        """The entry of a node whose attributes are in `FORMS`."""
        key = key_of(node)
        if key is None:
            raise ArgumentError(f"save_json of {type(node).__name__}, expected a module, an expression or a type")
        form = FORMS[key]
        entries: dict[str, Any] = {name: self.position(getattr(node, name)) for name in form.nodes.split()}
        for name in form.plain.split():
            value = getattr(node, name.strip("#%$"))
            entries[name.strip("#%$")] = self.position(value) if name.endswith("$") else _plain(value)
        if isinstance(node, PrimExpr):
            entries["dtype"] = "handle" if isinstance(node, StringImm) else node.dtype
        if key in ("tir.Var", "tir.SizeVar"):
            entries["type_annotation"] = 0
        if is_expression(key) and key not in ("PrimType", "PointerType"):
            entries["span"] = 0
        return _entry(key, **entries)


def _plain(value: Any) -> Any:
    return int(value) if isinstance(value, TypeKind) else str(value) if not isinstance(value, int | float) else value


def _entry(key: str, **attributes: Any) -> dict[str, Any]:
    return {"type_key": key, "attrs": {name: str(value) for name, value in attributes.items()}}


class _Reader:
    def __init__(self) -> None:
        self.known: dict[int, Any] = {}

    def node(self, node: Node | None) -> Any:
        """The object of a node."""
        if node is None:
            return None
        if node.position not in self.known:
            self.known[node.position] = node.graph.visit(node, self.read)
        return self.known[node.position]

    def read(self, node: Node) -> Any:
        """The object of a node. LoadError for a node that does not fit its class."""
        reader = _Reader.by_form if node.kind in FORMS_BY_KIND else _READERS.get(node.kind)
        if reader is None:
            raise node.error("expected a module, a function, an expression or a type")
        try:
            return reader(self, node)
        except LoadError:
            raise
        except (StepwellError, *_UNFIT) as error:
            raise node.error(f"attributes that do not fit each other ({type(error).__name__}: {error})") from None

    def attribute(self, node: Node, name: str) -> Any:
        """The object of an attribute."""
        return self.node(node.optional(name))

    def by_form(self, node: Node) -> Any:
        """An object of a class of `FORMS`."""
        form = FORMS_BY_KIND[node.kind]
        values: dict[str, Any] = {}
        for name in form.nodes.split():
            if name == "lanes":
                values[name] = parse_dtype(node.dtype("dtype")).lanes
                continue
            value = self.attribute(node, name)
            values["variable" if (form.cls, name) == (Let, "var") else name] = (
                _value(value) if name == "attrs" else value
            )
        for name in form.plain.split():
            values[name.strip("#%$")] = self.plain_attribute(node, name)
        if "kind" in values:
            values["kind"] = TypeKind(values["kind"])
        if form.cls is TensorType:
            values["shape"] = [_value(each) for each in values["shape"]]
        if node.kind in ("Var", "SizeVar") and values["dtype"] == "handle":
            return self.pointer(node, values["name"])
        return self.checked(node, form, values)

    def checked(self, node: Node, form: Form, values: dict[str, Any]) -> Any:
        """An object of attributes. LoadError for operands of two types, and for a result of another type than the node
        states."""
        if is_operator(form.cls) and "b" in values and values["a"].dtype != values["b"].dtype:
            raise node.error(f"operands of type {values['a'].dtype} and {values['b'].dtype}, expected one type")
        result = form.create(values)
        is_number = isinstance(result, PrimExpr) and not isinstance(result, StringImm)
        if is_number and node.has("dtype") and result.dtype != node.dtype("dtype"):
            raise node.error(f"attribute 'dtype' is {node.dtype('dtype')!r}, expected {result.dtype!r}")
        return result

    def plain_attribute(self, node: Node, name: str) -> Any:
        """A number or a text. name: as of `Form.plain`."""
        base = name.strip("#%$")
        if name.endswith("#"):
            return node.integer(base)
        if name.endswith("%"):
            return node.number(base)
        if name == "name_hint" and node.has("var"):  # of v0.6
            return self.attribute(node, "var").name
        return node.dtype(name) if base == "dtype" else node.text(base)

    def pointer(self, node: Node, name: str) -> PointerVar:
        """The variable of an address."""
        type = self.node(node.find("type_annotation"))
        if isinstance(type, PointerType) and isinstance(type.element_type, PrimType):  # pyright: ignore[reportUnnecessaryIsInstance]
            return PointerVar(name, type.element_type.dtype, type.storage_scope)
        return PointerVar(name)

    def buffer(self, node: Node) -> DeclaredBuffer:
        """A buffer, with memory of its own."""
        data = self.node(node.child("data", "Var", "SizeVar")) if node.has("data") else None
        scope = data.scope if isinstance(data, PointerVar) else node.text("storage_scope") if data is None else ""
        separators = self.node(node.find("axis_separators"))
        return decl_buffer(
            self.attribute(node, "shape"),
            node.dtype("dtype"),
            node.text("name"),
            None,
            self.attribute(node, "strides"),
            self.attribute(node, "elem_offset"),
            scope,
            axis_separators=[int(each) for each in separators or ()],
        )

    def number_call(self, node: Node) -> PrimExpr:
        """A call of a function on numbers."""
        op, args = node.child("op", "Op"), cast("list[Any]", self.node(node.child("args", "Array")))
        name = op.string.rpartition(".")[2] if not op.string.startswith("tir.llvm.") else op.string[4:]
        name = IntrinsicName.of(name)
        match name, args:
            case "if_then_else", [condition, then, other]:
                return IfThenElse(condition, then, other)
            case "call_pure_extern", [StringImm(), *rest]:
                return PureExternCall(node.dtype("dtype"), args[0].value, rest)
            case _:
                return CallExpr(node.dtype("dtype"), name, args)

    def index_map(self, node: Node) -> Any:
        """A map of indices."""
        # lazy: maps of indices are written in terms of modules
        from ..tir.index_map import IndexMap

        inverse = self.node(node.find("inverse_index_map"))
        return IndexMap(self.attribute(node, "initial_indices"), self.attribute(node, "final_indices"), inverse)

    def target(self, node: Node) -> Target:
        """A target."""
        attrs = cast("dict[str, Any]", _value(self.attribute(node, "attrs") or {}))
        host = self.attribute(node, "host")
        config = {"kind": node.child("kind").string, **attrs} | ({} if host is None else {"host": host})
        keys = [each.string for each in node.children("keys")]
        return Target(config | ({"keys": keys} if keys else {}))

    def module(self, node: Node) -> IRModule:
        """A module of functions, or of a text."""
        if node.has("text"):
            constants = {name: each.array for name, each in self.attribute(node, "constants").items()}
            return IRModule(parse_mlir(node.child("text", "String").string).op, constants)
        functions: dict[str, Node] = {}
        for key, value in node.entries("functions"):
            if isinstance(key, str) or value is None:
                raise node.error(f"function {key!r} is {value!r}, expected a variable and a function")
            functions[key.of("GlobalVar").text("name_hint")] = value
        attrs = {key: value for key, value in node.entries("attrs") if isinstance(key, str)}
        if functions and all(each.kind == "PrimFunc" and not each.has("script") for each in functions.values()):
            return read_module(functions, attrs)
        return IRModule({GlobalVar(name): self.node(each) for name, each in functions.items()})

    def prim_func(self, node: Node) -> PrimFunc:
        """A function on buffers: of a text, or of its statements."""
        if node.has("script"):
            return PrimFunc(parse_mlir(node.child("script", "String").string).op)
        return read_prim_func(node)

    def graph_call(self, node: Node) -> Call:
        """A call in a graph. Its operator checks its attributes."""
        op, args, attrs = (self.attribute(node, name) for name in ("op", "args", "attrs"))
        values = {} if attrs is None else attrs
        return Call(op, args, values if isinstance(op, Expr) else {name: _value(each) for name, each in values.items()})

    def map(self, node: Node) -> dict[Any, Any]:
        """A dictionary, whose keys are texts or nodes."""
        return {key if isinstance(key, str) else self.node(key): self.node(value) for key, value in node.pairs}

    def graph_variable(self, node: Node) -> Var:
        """A variable of a graph."""
        return Var(str(self.attribute(node, "vid")["name_hint"]), self.attribute(node, "type_annotation"))


_READERS: Mapping[str, Callable[[_Reader, Node], Any]] = {
    "relay.Var": _Reader.graph_variable,
    "Tensor": lambda self, node: array(node.own_array),
    "relay.Constant": lambda self, node: Constant(node.array("data")),
    "relay.Call": _Reader.graph_call,
    "relay.Id": lambda self, node: {"name_hint": node.text("name_hint")},
    "Op": lambda self, node: operator_of(node.string),
    "String": lambda self, node: node.string,
    **dict.fromkeys(("bool", "int", "float"), lambda self, node: node.plain),
    "Array": lambda self, node: [self.node(each) for each in node.items],
    **dict.fromkeys(("Map", "DictAttrs"), _Reader.map),
    "IRModule": _Reader.module,
    "PrimFunc": _Reader.prim_func,
    "Call": _Reader.number_call,
    "Buffer": _Reader.buffer,
    "IndexMap": _Reader.index_map,
    "Target": _Reader.target,
}


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

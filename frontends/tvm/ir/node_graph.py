"""The nodes of TVM's JSON, with checked access to their attributes.

TVM until v0.21 writes an attribute as text: a number, a name, or the position of a node; later versions write a
number, a text, or the position of a node. Position 0 denotes no node in the former.

Since v0.26 the data type of an expression is that of the node `ty`, and a buffer is a variable, whose type has its
shape and the other attributes; since v0.27 the value of an integer is a node. A `Node` has the attributes of v0.25 for
them.
"""

from __future__ import annotations

import base64
import binascii
import json
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar, cast

import numpy as np

from ....core.dtypes import parse_dtype
from ....core.errors import LoadError
from ..params import read_array_bytes

T = TypeVar("T")

_PREFIXES = ("tir.", "tirx.", "s_tir.", "prim.", "ir.", "ffi.", "object.", "runtime.", "node.", "target.")
_KINDS = {
    "Variable": "Var",
    "SBlock": "Block",
    "SBlockRealize": "BlockRealize",
    "StrMap": "Map",
    "SmallStr": "String",
    "NDArray": "Tensor",
    "TensorLoad": "BufferLoad",
    "TensorRegion": "BufferRegion",
    "": "None",
    **{f"relay.{name}": name for name in ("TypeVar", "GlobalTypeVar", "GlobalVar", "IncompleteType", "TupleType")},
    "relay.FuncType": "FuncType",
    "relay.Op": "Op",
    "relay.Module": "IRModule",
}
"""The keys of types of other versions of TVM, without their prefixes, with the keys of v0.16."""
_NEWER_NAMES = {
    ("BufferLoad", "buffer"): "source",
    ("BufferRegion", "buffer"): "source",
    ("Var", "type_annotation"): "ty",
    ("SizeVar", "type_annotation"): "ty",
}
"""The names of attributes since v0.26, by the kind and the name until v0.25."""
_NONE = "None"
_INTEGER = re.compile(r"-?[0-9]{1,20}")
_WORDS = {"inf": float("inf"), "-inf": float("-inf"), "nan": float("nan"), "-nan": float("nan")}
_LENGTH = 8
"""The bytes of the length before a text in base64, as dmlc::Stream writes it."""


class Node:
    """A node: its kind, which is the key of its type in v0.16 without a prefix, and its position in the graph.

    The methods that return an attribute raise LoadError for one that is missing or of another type.
    """

    __slots__ = ("_attributes", "_entry", "graph", "kind", "position")

    def __init__(self, graph: NodeGraph, position: int, entry: Mapping[str, Any]):
        self.graph = graph
        self.position = position
        self._entry = entry
        self.kind = kind_of(entry.get(graph.type_name))
        attributes = entry.get(graph.attributes_name)
        self._attributes: Mapping[str, Any] = cast("dict[str, Any]", attributes) if isinstance(attributes, dict) else {}
        if self.kind == "Var" and (type := self._type()) is not None and type.kind == "BufferType":
            self.kind = "Buffer"
            self._attributes = {**type._attributes, **self._attributes}

    def __repr__(self) -> str:
        return f"node {self.position} ({self.kind})"

    def error(self, message: str) -> LoadError:
        """An error about the node."""
        return LoadError(f"{self!r}: {message}")

    def _type(self) -> Node | None:
        """The type of the node since v0.26."""
        return None if self.graph.is_text else self._reference(self._attributes.get("ty"))

    def _name(self, name: str) -> str:
        return name if name in self._attributes else _NEWER_NAMES.get((self.kind, name), name)

    def has(self, name: str) -> bool:
        """Whether the node has an attribute."""
        if name == "dtype" and "dtype" not in self._attributes:
            type = self._type()
            return type is not None and type.kind in ("PrimType", "PointerType")
        return self._name(name) in self._attributes

    def _raw(self, name: str) -> Any:
        name = self._name(name)
        if name not in self._attributes:
            known = ", ".join(self._attributes) or "no attributes"
            raise self.error(f"{known}, expected attribute {name!r}")
        return self._attributes[name]

    def _mismatch(self, name: str, expected: str, got: object) -> LoadError:
        return self.error(f"attribute {name!r} is {_excerpt(got)}, expected {expected}")

    def integer(self, name: str) -> int:
        """An integer."""
        raw = self._raw(name)
        if (self.kind, name) == ("IntImm", "value") and self.graph.has_integer_nodes:
            raw = self.child(name, "int").plain
        if isinstance(raw, str) and _INTEGER.fullmatch(raw):
            return int(raw)
        if not isinstance(raw, int):
            raise self._mismatch(name, "an integer", raw)
        return int(raw)

    def number(self, name: str) -> float:
        """A number."""
        raw = self._raw(name)
        if isinstance(raw, str):
            if raw in _WORDS:
                return _WORDS[raw]
            try:
                return float(raw)
            except ValueError:
                raise self._mismatch(name, "a number", raw) from None
        if not isinstance(raw, int | float):
            raise self._mismatch(name, "a number", raw)
        return float(raw)

    def text(self, name: str) -> str:
        """A text, or the text of the node at a position."""
        raw = self._raw(name)
        reference = self._reference(raw)
        if reference is not None and reference.kind == "String":
            return reference.string
        if not isinstance(raw, str):
            raise self._mismatch(name, "a text", raw if reference is None else reference)
        return raw

    def dtype(self, name: str) -> str:
        """The name of a data type, in the spelling of today."""
        type = self._type()
        if name == "dtype" and "dtype" not in self._attributes and type is not None:
            return type.dtype("dtype") if type.kind == "PrimType" else type.of("PointerType") and "handle"
        raw = self._raw(name)
        reference = self._reference(raw)
        if reference is not None and reference.kind == "PrimType":
            return reference.dtype("dtype")
        if reference is not None and reference.kind == "DataType":
            raw = reference.plain
        if raw in ("handle", "void", ""):
            return "void" if raw == "" else cast(str, raw)
        if not isinstance(raw, str):
            raise self._mismatch(name, "a data type", raw)
        try:
            return parse_dtype(re.sub(r"^uint1(?=x|$)", "bool", raw)).name
        except ValueError:
            raise self._mismatch(name, "a data type", raw) from None

    def _reference(self, raw: object) -> Node | None:
        """The node at a position, None for a value that is no position."""
        if isinstance(raw, str) and self.graph.is_text and _INTEGER.fullmatch(raw):
            raw = int(raw)
        if not isinstance(raw, int) or isinstance(raw, bool) or not 0 <= raw < len(self.graph):
            return None
        return self.graph[raw]

    def optional(self, name: str) -> Node | None:
        """Another node, None for no node."""
        raw = self._raw(name)
        if raw is None or raw in ("null", "None"):
            return None
        node = self._reference(raw)
        if node is None:
            raise self._mismatch(name, f"the position of one of {len(self.graph)} nodes", raw)
        return None if node.kind == _NONE else node

    def find(self, name: str) -> Node | None:
        """Another node, None for no node and for a missing attribute."""
        return self.optional(name) if self.has(name) else None

    def child(self, name: str, *kinds: str) -> Node:
        """Another node. kinds: those that it may have, by default any."""
        node = self.optional(name)
        if node is None:
            raise self._mismatch(name, f"a node{_of(kinds)}", None)
        return node.of(*kinds)

    def of(self, *kinds: str) -> Node:
        """The node itself. LoadError for one of another kind."""
        if kinds and self.kind not in kinds:
            raise self.error(f"expected a node{_of(kinds)}")
        return self

    def children(self, name: str, *kinds: str) -> list[Node]:
        """The nodes of an array. kinds: those that they may have, by default any."""
        node = self.optional(name)
        return [] if node is None else [each.of(*kinds) for each in node.of("Array").required_items]

    def entries(self, name: str) -> list[tuple[str | Node, Node | None]]:
        """The keys and values of a map, or of attributes; none for no node."""
        node = self.find(name)
        return [] if node is None else node.pairs

    @property
    def items(self) -> list[Node | None]:
        """The nodes of an array, which may be None."""
        return [self._item(each) for each in self._data()]

    @property
    def required_items(self) -> list[Node]:
        """The nodes of an array. LoadError for one that has None."""
        result: list[Node] = []
        for n, each in enumerate(self.items):
            if each is None:
                raise self.error(f"item {n} is None, expected a node")
            result.append(each)
        return result

    def _data(self) -> list[Any]:
        data = self._entry.get("data", [])
        if not isinstance(data, list):
            raise self.error(f"data is {_excerpt(data)}, expected a list of positions")
        return cast("list[Any]", data)

    def _item(self, raw: object) -> Node | None:
        node = self._reference(raw)
        if node is None:
            raise self.error(f"item {_excerpt(raw)}, expected the position of one of {len(self.graph)} nodes")
        return None if node.kind == _NONE else node

    @property
    def pairs(self) -> list[tuple[str | Node, Node | None]]:
        """The keys and values of a map. LoadError for another node, and a list of another length."""
        if self.kind == "DictAttrs":
            return self.entries("__dict__")
        values = self.of("Map").items
        keys = self._entry.get("keys")
        if keys is None:
            names = [self._key(each) for each in values[::2]]
            values = values[1::2]
        else:
            if not isinstance(keys, list) or not all(isinstance(each, str) for each in cast("list[Any]", keys)):
                raise self.error(f"keys are {_excerpt(keys)}, expected a list of texts")
            names = cast("list[str | Node]", keys)
        if len(names) != len(values):
            raise self.error(f"{len(names)} keys of {len(values)} values")
        return list(zip(names, values, strict=True))

    def _key(self, node: Node | None) -> str | Node:
        if node is None:
            raise self.error("a key is None, expected a node")
        return node.string if node.kind == "String" else node

    @property
    def string(self) -> str:
        """The text that the node is. LoadError for another node."""
        self.of("String", "Op", "TargetKind", "StringImm", "Axis")
        if self.kind == "StringImm":
            return self.text("value")
        for name in ("repr_str", "global_key", "data"):
            if name in self._entry:
                text = self._entry[name]
                if not isinstance(text, str):
                    raise self.error(f"{name} is {_excerpt(text)}, expected a text")
                return text
        if "repr_b64" in self._entry:
            try:
                return self._bytes(self._entry["repr_b64"]).decode()
            except UnicodeDecodeError as error:
                raise self.error(f"{error}, expected a text") from None
        if self.has("name"):
            return self.text("name")
        return ""

    @property
    def plain(self) -> bool | int | float | str:
        """The number or data type that the node is. LoadError for another node."""
        self.of("bool", "int", "float", "DataType")
        if self.graph.is_text:
            if self.kind == "DataType":
                return self.text("v_type")
            if self.kind == "float":
                return self.number("v_float64")
            return bool(self.integer("v_int64")) if self.kind == "bool" else self.integer("v_int64")
        data = self._entry.get("data")
        match self.kind, data:
            case ("bool", bool()) | ("DataType", str()):
                return data
            case ("int" | "float", int() | float()) if not isinstance(data, bool):
                return data if self.kind == "int" and isinstance(data, int) else float(data)
            case _:
                raise self.error(f"data is {_excerpt(data)}, expected a value of type {self.kind}")

    def array(self, name: str) -> np.ndarray[Any, Any]:
        """An array of numbers."""
        raw = self._raw(name)
        node = self._reference(raw)
        if node is not None and node.kind == "Tensor":
            return node.own_array
        number = self.integer(name) if self.graph.is_text else -1
        if not 0 <= number < len(self.graph.arrays):
            raise self._mismatch(name, f"the number of one of {len(self.graph.arrays)} arrays", raw)
        return self._array(self.graph.arrays[number])

    @property
    def own_array(self) -> np.ndarray[Any, Any]:
        """The array that the node is. LoadError for another node."""
        entry = self.of("Tensor")._entry
        return self._array(entry.get("repr_str", entry.get("data")))

    def _array(self, text: object) -> np.ndarray[Any, Any]:
        try:
            return read_array_bytes(self._bytes(text))
        except LoadError as error:
            raise self.error(str(error)) from None

    def _bytes(self, text: object) -> bytes:
        if not isinstance(text, str):
            raise self.error(f"{_excerpt(text)}, expected bytes in base64")
        try:
            return decode_base64(text)
        except LoadError as error:
            raise self.error(str(error)) from None


class NodeGraph:
    """The nodes of a text by position. LoadError for a text that is no graph.

    arrays: those that attributes refer to by number, in base64.  root: the node that was saved, None for no node.
    is_text: whether attributes are texts.  has_integer_nodes: whether the value of an integer is a node.
    """

    def __init__(self, text: str):
        try:
            data = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise LoadError(f"load_json: {error}, expected JSON") from None
        if not isinstance(data, dict) or not isinstance(data.get("nodes"), list):  # pyright: ignore
            raise LoadError(f"load_json: {_excerpt(data)}, expected an object with a list of nodes")
        content = cast("dict[str, Any]", data)
        self.is_text = "root_index" not in content
        self.type_name, self.attributes_name = ("type_key", "attrs") if self.is_text else ("type", "data")
        self._entries: Sequence[Any] = content["nodes"]
        self.has_integer_nodes = not self.is_text and _version_of(content.get("metadata")) >= (0, 27)
        arrays = content.get("b64ndarrays", [])
        if not isinstance(arrays, list):
            raise LoadError(f"load_json: arrays are {_excerpt(arrays)}, expected a list")
        self.arrays: Sequence[Any] = cast("list[Any]", arrays)
        self._nodes: dict[int, Node] = {}
        self._open: dict[int, None] = {}
        root = content.get("root" if self.is_text else "root_index")
        if not isinstance(root, int) or isinstance(root, bool) or not 0 <= root < len(self):
            raise LoadError(f"load_json: root {_excerpt(root)}, expected the position of one of {len(self)} nodes")
        self.root = None if self[root].kind == _NONE else self[root]

    def __len__(self) -> int:
        return len(self._entries)

    def __getitem__(self, position: int) -> Node:
        if position not in self._nodes:
            entry = self._entries[position]
            if not isinstance(entry, dict):
                raise LoadError(f"node {position}: {_excerpt(entry)}, expected an object")
            self._nodes[position] = Node(self, position, cast("dict[str, Any]", entry))
        return self._nodes[position]

    def visit(self, node: Node, read: Callable[[Node], T]) -> T:
        """The result of a function of a node. LoadError for a node that refers to itself, directly or not."""
        if node.position in self._open:
            raise node.error("refers to itself, expected a node that does not")
        self._open[node.position] = None
        try:
            return read(node)
        finally:
            del self._open[node.position]


def decode_base64(text: str) -> bytes:
    """The bytes of base64, without the length that TVM writes before some. LoadError for another text."""
    try:
        data = base64.b64decode(text, validate=True)
    except (ValueError, binascii.Error) as error:
        raise LoadError(f"{_excerpt(text)}, expected base64: {error}") from None
    if len(data) >= _LENGTH and int.from_bytes(data[:_LENGTH], "little") == len(data) - _LENGTH:
        return data[_LENGTH:]
    return data


def kind_of(key: object) -> str:
    """The kind of a key: the key of v0.16 without its prefix."""
    if not isinstance(key, str):
        return _NONE if key is None else _excerpt(key)
    for prefix in _PREFIXES:
        if key.startswith(prefix):
            key = key.removeprefix(prefix)
            break
    return _KINDS.get(key, key)


def _version_of(metadata: object) -> tuple[int, int]:
    """The version of TVM that wrote a graph; (0, 0) if it is unknown."""
    version = cast("dict[str, Any]", metadata).get("tvm_version") if isinstance(metadata, dict) else None
    match = re.match(r"([0-9]{1,3})\.([0-9]{1,3})", version) if isinstance(version, str) else None
    return (0, 0) if match is None else (int(match[1]), int(match[2]))


def _of(kinds: Sequence[str]) -> str:
    return f" of kind {' or '.join(kinds)}" if kinds else ""


def _excerpt(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


__all__ = ["Node", "NodeGraph", "decode_base64", "kind_of"]

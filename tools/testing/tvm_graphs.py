"""Programs as TVM writes them to JSON: a graph of the nodes of v0.25, and the same in the formats of other versions.

The names of nodes and attributes are those of the files that TVM 0.25 to 0.27 write (tests/data/databases), and of
`VisitAttrs` in the headers of TVM 0.16 for the format until v0.21.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from ...expressions import expr
from ...expressions.axes import IterVar, Range
from ...expressions.expr import BinaryOp, Call, FloatImm, IntImm, PrimExpr, Var
from ...frontends.tvm.ir.module import PrimFunc
from ...frontends.tvm.nodes import stmt
from ...frontends.tvm.nodes.blocks import Block, BlockRealize
from ...frontends.tvm.nodes.expr import Broadcast, Buffer, BufferLoad, BufferRegion, Ramp
from ...module import Module

Graph = list[dict[str, Any]]
"""The nodes of v0.25, the last one of which is the root."""

_KINDS = {"spatial": 0, "thread": 1, "reduce": 2, "scan": 3, "opaque": 4}
_LOGICAL = {"and": "tirx.And", "or": "tirx.Or"}


def graph_of(mod: Module) -> Graph:
    """The graph of a module of functions on buffers. NotImplementedError for statements other than loops, blocks,
    branches, lets and stores."""
    writer = _Writer()
    functions: list[tuple[int, int]] = []
    for func in mod.op.body.block.ops:
        read = PrimFunc(func.clone())  # pyright: ignore[reportArgumentType]
        name = writer.add("ir.GlobalVar", span=0, struct_info_=0, name_hint=writer.text(read.__name__))
        functions.append((name, writer.function(read)))
    writer.add("ir.IRModule", functions=writer.map(functions), attrs=0, global_infos=writer.map(()))
    return writer.nodes


class _Writer:
    def __init__(self) -> None:
        self.nodes: Graph = [{"type": "None"}]
        self.known: dict[Any, int] = {}

    def node(self, type: str, data: Any) -> int:
        self.nodes.append({"type": type, "data": data})
        return len(self.nodes) - 1

    def add(self, type: str, **data: Any) -> int:
        return self.node(type, data)

    def once(self, key: Any, make: Callable[[], int]) -> int:
        """The position of an object, which is written on first use."""
        if key not in self.known:
            self.known[key] = make()
        return self.known[key]

    def text(self, text: str) -> int:
        return self.once(("text", text), lambda: self.node("ffi.String", text))

    def array(self, items: Iterable[int]) -> int:
        return self.node("ffi.Array", list(items))

    def map(self, pairs: Iterable[tuple[int, int]]) -> int:
        return self.node("ffi.Map", [part for pair in pairs for part in pair])

    def value(self, value: Any) -> int:
        """The position of a value of an attribute."""
        match value:
            case bool():
                return self.node("bool", value)
            case int():
                return self.node("int", value)
            case str():
                return self.text(value)
            case list() | tuple():
                return self.array(self.value(each) for each in value)  # pyright: ignore[reportUnknownVariableType]
            case PrimExpr():
                return self.expression(value)
            case _:
                raise NotImplementedError(f"attribute {value!r}")

    def attributes(self, attributes: Mapping[str, Any]) -> int:
        return self.map((self.text(key), self.value(value)) for key, value in attributes.items())

    # Functions

    def function(self, func: PrimFunc) -> int:
        buffers = func.buffer_map
        params: list[int] = []
        pairs: list[tuple[int, int]] = []
        for param in func.params:
            if param not in buffers:
                params.append(self.expression(param))
                continue
            params.append(self.pointer(param.name, "", ""))
            pairs.append((params[-1], self.buffer(buffers[param])))
        attrs = self.add("ir.DictAttrs", __dict__=self.attributes(func.attrs))
        body = self.statement(func.body)
        return self.add(
            "tirx.PrimFunc", span=0, attrs=attrs, params=self.array(params), ret_type=0, buffer_map=self.map(pairs),
            body=body,
        )  # fmt: skip

    def pointer(self, name: str, dtype: str, scope: str) -> int:
        """A new variable of an address. dtype: of the elements, "" for an array of the caller."""
        element = self.add("ir.PrimType", span=0, dtype=dtype or "handle")
        type = self.add("ir.PointerType", span=0, element_type=element, storage_scope=self.text(scope))
        named = self.text(name)
        return self.add("tirx.Var", span=0, dtype="handle", name=named, type_annotation=type if dtype else element)

    def buffer(self, buffer: Any) -> int:
        return self.once(buffer, lambda: self._buffer(buffer))

    def _buffer(self, buffer: Buffer) -> int:
        separators = self.array(self.expression(IntImm("int32", each)) for each in buffer.axis_separators)
        parts = {
            "data": self.pointer(buffer.name, buffer.dtype, buffer.scope()),
            "shape": self.expressions(buffer.shape),
            "strides": self.expressions(buffer.strides),
            "elem_offset": self.expression(buffer.elem_offset),
            "axis_separators": separators,
            "name": self.text(buffer.name),
        }
        plain = {"dtype": buffer.dtype, "data_alignment": 64, "offset_factor": 1, "buffer_type": 1, "span": 0}
        return self.add("tirx.Buffer", **parts, **plain)

    # Statements

    def statement(self, node: Any) -> int:
        match node:
            case BlockRealize():
                values, predicate = self.expressions(node.iter_values), self.expression(node.predicate)
                block = self.block(node.block)
                return self.add("tirx.SBlockRealize", span=0, iter_values=values, predicate=predicate, block=block)
            case stmt.For():
                variable, bounds = self.expression(node.loop_var), map(self.expression, (node.min, node.extent))
                low, extent = bounds
                tag = node.thread_binding
                return self.add(
                    "tirx.For", span=0, loop_var=variable, min=low, extent=extent, kind=int(node.kind),
                    body=self.statement(node.body), thread_binding=0 if tag is None else self.axis(tag), step=0,
                    annotations=self.attributes(node.annotations),
                )  # fmt: skip
            case stmt.SeqStmt():
                return self.add("tirx.SeqStmt", span=0, seq=self.array(map(self.statement, node.seq)))
            case stmt.BufferStore():
                buffer, value = self.buffer(node.buffer), self.expression(node.value)
                indices = self.expressions(node.indices)
                return self.add("tirx.BufferStore", span=0, buffer=buffer, value=value, indices=indices, predicate=0)
            case stmt.IfThenElse():
                cases = [0 if each is None else self.statement(each) for each in (node.then_case, node.else_case)]
                condition = self.expression(node.condition)
                return self.add("tirx.IfThenElse", span=0, condition=condition, then_case=cases[0], else_case=cases[1])
            case stmt.LetStmt():
                variable, value = self.expression(node.var), self.expression(node.value)
                return self.add("tirx.LetStmt", span=0, var=variable, value=value, body=self.statement(node.body))
            case stmt.Evaluate():
                return self.add("tirx.Evaluate", span=0, value=self.expression(node.value))
            case _:
                raise NotImplementedError(f"{node!r}")

    def block(self, block: Block) -> int:
        axes = self.array(self.axis(axis) for axis in block.iter_vars)
        memory = self.array(self.buffer(each) for each in block.alloc_buffers)
        views = [
            self.add("tirx.MatchBufferRegion", buffer=self.buffer(each.buffer), source=self.region(each.source))
            for each in block.match_buffers
        ]
        reads, writes = (self.array(map(self.region, each)) for each in (block.reads, block.writes))
        init = 0 if block.init is None else self.statement(block.init)
        return self.add(
            "tirx.SBlock", span=0, iter_vars=axes, reads=reads, writes=writes, name_hint=self.text(block.name_hint),
            alloc_buffers=memory, match_buffers=self.array(views), annotations=self.attributes(block.annotations),
            init=init, body=self.statement(block.body),
        )  # fmt: skip

    def axis(self, axis: IterVar) -> int:
        domain = 0 if axis.dom is None else self.range(axis.dom)
        variable, tag = self.expression(axis.var), self.text(axis.thread_tag)
        return self.add("tirx.IterVar", dom=domain, var=variable, iter_type=_KINDS[axis.kind], thread_tag=tag)

    def range(self, side: Range) -> int:
        return self.add("ir.Range", min=self.expression(side.min), extent=self.expression(side.extent), span=0)

    def region(self, region: BufferRegion) -> int:
        sides = self.array(map(self.range, region.region))
        return self.add("tirx.BufferRegion", buffer=self.buffer(region.buffer), region=sides)

    # Expressions

    def expressions(self, nodes: Sequence[PrimExpr]) -> int:
        return self.array(map(self.expression, nodes))

    def expression(self, node: PrimExpr) -> int:
        return self.once(node, lambda: self._expression(node))

    def _expression(self, node: PrimExpr) -> int:
        def add(type: str, **parts: Any) -> int:
            return self.add(type, span=0, dtype=node.dtype, **parts)

        match node:
            case IntImm() | FloatImm():
                return add("ir.IntImm" if isinstance(node, IntImm) else "ir.FloatImm", value=node.value)
            case Var():
                annotation = self.add("ir.PrimType", span=0, dtype=node.dtype)
                return add("tirx.Var", name=self.text(node.name), type_annotation=annotation)
            case BinaryOp() | expr.And():
                kind = f"tirx.{type(node).__name__}"
                return add(kind, a=self.expression(node.a), b=self.expression(node.b))
            case expr.Not():
                return add("tirx.Not", a=self.expression(node.a))
            case expr.Select():
                condition, then, other = map(self.expression, node.children)
                return add("tirx.Select", condition=condition, true_value=then, false_value=other)
            case expr.Cast():
                return add("tirx.Cast", value=self.expression(node.value))
            case Ramp():
                base, stride = self.expression(node.base), self.expression(node.stride)
                return add("tirx.Ramp", base=base, stride=stride, lanes=self.expression(IntImm("int32", node.lanes)))
            case Broadcast():
                lanes = self.expression(IntImm("int32", node.lanes))
                return add("tirx.Broadcast", value=self.expression(node.value), lanes=lanes)
            case BufferLoad():
                buffer, indices = self.buffer(node.buffer), self.expressions(node.indices)
                return add("tirx.BufferLoad", buffer=buffer, indices=indices, predicate=0)
            case Call() if node.op in _LOGICAL and node.dtype == "bool":
                a, b = map(self.expression, node.args)
                return add(_LOGICAL[node.op], a=a, b=b)
            case Call() if type(node) is Call or type(node) is expr.IfThenElse:
                name = f"tirx.{node.op.intrinsic}"
                op = self.once(("op", name), lambda: self.node("ir.Op", name))
                return add("tirx.Call", op=op, args=self.expressions(node.args))
            case _:
                raise NotImplementedError(f"{type(node).__name__} {node!r}")


# Formats


def as_json(graph: Graph, version: str = "0.25.0") -> str:
    """The text of a graph that TVM 0.22 and later write."""
    return json.dumps({"root_index": len(graph) - 1, "nodes": graph, "metadata": {"tvm_version": version}})


_OLD_TYPES = {
    "ffi.String": "runtime.String", "ffi.Array": "Array", "ffi.Map": "Map", "ir.Op": "Op", "tirx.SBlock": "tir.Block",
    "tirx.SBlockRealize": "tir.BlockRealize",
}  # fmt: skip
_NUMBERS = ("value", "iter_type", "kind", "data_alignment", "offset_factor", "buffer_type")


def as_old_json(graph: Graph) -> str:
    """The text of a graph in the format of TVM 0.6 to 0.21, with the nodes of 0.16."""
    entries: list[dict[str, Any]] = []
    for node in graph:
        type, data = node["type"], node.get("data")
        kind = _OLD_TYPES.get(type, type.replace("tirx.", "tir.").removeprefix("ir."))
        match data:
            case None:
                entries.append({"type_key": ""})
            case bool() | int():
                dtype = "bool" if isinstance(data, bool) else "int32"
                entries.append({"type_key": "IntImm", "attrs": {"dtype": dtype, "span": "0", "value": str(int(data))}})
            case str():
                entries.append({"type_key": kind, "repr_str": data.replace("tirx.", "tir.")})
            case list():
                keys = [graph[each] for each in data[::2]] if kind == "Map" else []
                if keys and all(each["type"] == "ffi.String" for each in keys):
                    entries.append({"type_key": kind, "keys": [each["data"] for each in keys], "data": data[1::2]})
                else:
                    entries.append({"type_key": kind} | ({"data": data} if data else {}))
            case _:
                entries.append({"type_key": kind, "attrs": {key: _old_text(value) for key, value in data.items()}})
    arrays = {"b64ndarrays": [], "attrs": {"tvm_version": "0.16.0"}}
    return json.dumps({"root": len(graph) - 1, "nodes": entries, **arrays})


def as_json_of_v0_21(graph: Graph) -> str:
    """The text of a graph in the format of TVM 0.20 and 0.21: that of 0.16, with numbers as nodes, and `null`."""
    data = json.loads(as_old_json(graph))
    for node, entry in zip(graph, data["nodes"], strict=True):
        value = node.get("data")
        if isinstance(value, bool | int):
            entry["type_key"], entry["attrs"] = node["type"], {"v_int64": str(int(value))}
        elif node["type"] in ("ffi.String", "ffi.Array", "ffi.Map"):
            entry["type_key"] = node["type"]
        elif isinstance(value, dict):
            no_nodes = {name for name, text in entry["attrs"].items() if text == "0" and name not in _NUMBERS}
            entry["attrs"].update(dict.fromkeys(no_nodes, "null"))
    return json.dumps(data)


def _old_text(value: Any) -> str:
    return f"{value:.17g}" if isinstance(value, float) else str(int(value)) if isinstance(value, bool) else str(value)


_OF_PRIM = frozenset(
    """
    Add Sub Mul Div Mod FloorDiv FloorMod Min Max EQ NE LT LE GT GE And Or Not Select Cast Ramp Broadcast
""".split()
)


def as_newest_json(graph: Graph) -> str:
    """The text of a graph in the format of TVM 0.27, in which buffers are variables, and data types are nodes."""
    nodes: Graph = [{"type": node["type"], "data": node["data"]} if "data" in node else dict(node) for node in graph]
    newer = _Newer(nodes)
    for n, node in enumerate(graph):
        if isinstance(data := node.get("data"), dict):
            nodes[n] = newer.node(node["type"].removeprefix("tirx."), node["type"], dict(data), graph)
    text = {"root_index": len(graph) - 1, "nodes": nodes, "metadata": {"tvm_version": "0.27.0"}}
    return json.dumps(text)


class _Newer:
    """The writer of the nodes of v0.27, which adds types and integers to `nodes`."""

    def __init__(self, nodes: Graph):
        self.nodes = nodes
        self.types: dict[str, int] = {}

    def add(self, type: str, data: Any) -> int:
        self.nodes.append({"type": type, "data": data})
        return len(self.nodes) - 1

    def type_of(self, dtype: str) -> int:
        if dtype not in self.types:
            self.types[dtype] = self.add("ir.PrimType", {"span": 0, "dtype": dtype})
        return self.types[dtype]

    def node(self, kind: str, type: str, data: dict[str, Any], graph: Graph) -> dict[str, Any]:
        """A node of v0.27 for a node of v0.25."""
        if kind == "Buffer":
            pointer = graph[graph[data["data"]]["data"]["type_annotation"]]["data"]
            layout = {
                name: data[name] for name in ("shape", "strides", "elem_offset", "data_alignment", "offset_factor")
            }
            rest = {"layout": 0, "allocated_addr": self.add("ffi.Array", [])}
            whole = {"span": 0, "dtype": self.type_of(data["dtype"]), "storage_scope": pointer["storage_scope"]}
            return {
                "type": "ir.Var",
                "data": {"span": 0, "ty": self.add("tirx.BufferType", whole | layout | rest), "name": data["name"]},
            }
        if kind == "PrimFunc":
            buffers = graph[data.pop("buffer_map")]["data"]
            matched = dict(zip(buffers[::2], buffers[1::2], strict=True))
            params = [matched.get(param, param) for param in graph[data["params"]]["data"]]
            return {"type": type, "data": data | {"params": self.add("ffi.Array", params)}}
        if kind == "Var":
            annotation = data.pop("type_annotation")
            data.pop("dtype")
            return {"type": "ir.Var", "data": data | {"ty": annotation}}
        if kind in ("BufferLoad", "BufferRegion"):
            type, data["source"] = f"ir.Tensor{kind.removeprefix('Buffer')}", data.pop("buffer")
        if type == "ir.IntImm":
            data["value"] = self.add("int", int(data["value"]))
        if "dtype" in data and type not in ("ir.PrimType",):
            data["ty"] = self.type_of(data.pop("dtype"))
        kinds = {"Call": "ir.Call", "SBlock": "s_tir.SBlock", "SBlockRealize": "s_tir.SBlockRealize"}
        return {"type": f"prim.{kind}" if kind in _OF_PRIM else kinds.get(kind, type), "data": data}


__all__ = ["Graph", "as_json", "as_json_of_v0_21", "as_newest_json", "as_old_json", "graph_of"]

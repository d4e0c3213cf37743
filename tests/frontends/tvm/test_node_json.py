"""JSON of nodes, as TVM writes it: `tvm.ir.load_json`, `tvm.ir.save_json`."""

import base64
import json
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import stepwell.frontends.tvm as tvm
from stepwell.core.errors import ArgumentError, LoadError
from stepwell.frontends.tvm import te, tir
from stepwell.frontends.tvm.params import array_bytes
from stepwell.frontends.tvmscript import parse_tvmscript
from stepwell.module import Module
from stepwell.tools.testing.choices import HypothesisChoices, SeededChoices
from stepwell.tools.testing.computations import random_computation
from stepwell.tools.testing.limits import limits
from stepwell.tools.testing.tvm_graphs import as_json, as_json_of_v0_21, as_newest_json, as_old_json, graph_of

DATA = Path(__file__).parents[2] / "data" / "databases"
VERSIONS = ("0.25", "0.26", "0.27")
OLD = (as_old_json, as_json_of_v0_21)
FORMATS = (*OLD, as_json, as_newest_json)


def function(body: str) -> Module:
    """A function of a buffer `A` of 16 float32 and a number `n`."""
    lines = "\n".join(f"    {line}" for line in body.splitlines())
    return parse_tvmscript(f'@T.prim_func\ndef main(A: T.Buffer((16,), "float32"), n: T.int32):\n{lines}\n')


def as_module(mod: Module) -> tvm.IRModule:
    return tvm.IRModule(mod.op, mod.constants)


@st.composite
def computations(draw: Callable[..., Any]) -> Module:
    return random_computation(HypothesisChoices(draw))


@given(computations(), st.sampled_from(FORMATS))
def test_functions_are_read_in_the_format_of_every_version(mod: Module, form: Callable[..., str]) -> None:
    tvm.ir.assert_structural_equal(tvm.ir.load_json(form(graph_of(mod))), as_module(mod))


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize(
    "body",
    [
        "for i in T.thread_binding(4, thread='threadIdx.x'):\n    A[i] = T.float32(0)",
        "for i in T.parallel(2, n + 2, annotations={'unroll': 1, 'note': 'text', 'list': [1, 2]}):\n    A[i] = A[0]",
        "for i in T.serial(T.int64(4)):\n    A[i] = T.Cast('float32', i) / T.float32(3)",
        "if n > 3 and n < 5 or not n == 4:\n    A[0] = T.exp(A[1])\nelse:\n    A[0] = T.float32('inf')",
        "x: T.int32 = n * 2\nA[x] = T.Select(x < 3, A[x], T.if_then_else(x > 5, A[0], T.float32(1)))",
        "A[0:4] = T.Broadcast(T.float32(1), 4) + A[T.Ramp(0, 2, 4)]",
        "A[T.min(n, 3)] = T.Cast('float32', T.truncdiv(n, 3) + T.truncmod(n, 3) + n // 2 + n % 2)",
        "with T.block('b'):\n    v = T.axis.spatial(2, n)\n    T.where(n < 2)\n    T.reads(A[v])\n"
        "    T.writes(A[v:v + 2])\n    T.block_attr({'k': 1})\n    B = T.alloc_buffer((4, 4), scope='shared')\n"
        "    B[v, 0] = A[v]\n    A[v] = B[v, 0]",
        "with T.block('b'):\n    T.reads()\n    T.writes(A[0:4])\n    s = T.int32()\n"
        "    B = T.match_buffer(A[0:4], (4,), strides=(s,), offset_factor=1)\n    B[0] = T.float32(1)",
    ],
)
def test_statements_are_read_in_the_format_of_every_version(body: str, form: Callable[..., str]) -> None:
    mod = function(body)
    read = tvm.ir.load_json(form(graph_of(mod)))
    assert read.script() == mod.script()


@pytest.mark.parametrize("form", FORMATS)
def test_a_function_alone_is_read(form: Callable[..., str]) -> None:
    mod = function("A[n] = T.float32(1)")
    graph = graph_of(mod)
    position = next(n for n, node in enumerate(graph) if node["type"] == "tirx.PrimFunc")
    data = json.loads(form(graph))
    data["root" if "root" in data else "root_index"] = position
    read = tvm.ir.load_json(json.dumps(data))
    assert isinstance(read, tvm.tir.PrimFunc)
    tvm.ir.assert_structural_equal(read, as_module(mod)["main"])


class OldNodes:
    """A file in the format of v0.16 by hand: `nodes.add("tir.Add", a=1, b=2)` is the position of a node."""

    def __init__(self) -> None:
        self.nodes: list[dict[str, Any]] = [{"type_key": ""}]
        self.arrays: list[str] = []

    def node(self, **entry: Any) -> int:
        self.nodes.append(entry)
        return len(self.nodes) - 1

    def add(self, key: str, **attributes: Any) -> int:
        return self.node(type_key=key, attrs={name: str(value) for name, value in attributes.items()})

    def text(self, text: str) -> int:
        return self.node(type_key="runtime.String", repr_str=text)

    def array(self, *items: int) -> int:
        return self.node(type_key="Array", data=list(items))

    def number(self, value: int, dtype: str = "int32") -> int:
        return self.add("IntImm", dtype=dtype, value=value, span=0)

    def pointer(self, name: str, dtype: str, scope: str = "global") -> int:
        type = self.add("PointerType", element_type=self.add("PrimType", dtype=dtype), storage_scope=self.text(scope))
        return self.add("tir.Var", dtype="handle", name=self.text(name), type_annotation=type, span=0)

    def buffer(self, name: str, data: int, extent: int, dtype: str = "float32") -> int:
        return self.add(
            "tir.Buffer", data=data, dtype=dtype, shape=self.array(self.number(extent)), strides=self.array(),
            axis_separators=self.array(), elem_offset=self.number(0), name=self.text(name), data_alignment=64,
            offset_factor=0, buffer_type=1, span=0,
        )  # fmt: skip

    def function(self, body: int, params: list[int], buffers: list[int], attrs: int = 0) -> str:
        root = self.add(
            "tir.PrimFunc", params=self.array(*params), body=body, ret_type=0, attrs=attrs, span=0,
            buffer_map=self.node(type_key="Map", data=buffers),
        )  # fmt: skip
        return json.dumps({"root": root, "nodes": self.nodes, "b64ndarrays": self.arrays, "attrs": {}})


@pytest.mark.parametrize("is_node", [True, False])
def test_constant_arrays_and_buffers_without_a_declaration_are_read(is_node: bool) -> None:
    nodes = OldNodes()
    text = base64.b64encode(array_bytes(np.array([3, 5], "int32"))).decode()
    data: Any = 0 if not is_node else nodes.node(type_key="runtime.NDArray", repr_str=text)
    nodes.arrays.append(text)
    constant, parameter = nodes.pointer("constant", "int32"), nodes.pointer("A", "int32")
    view, target = nodes.buffer("view", constant, 2, "int32"), nodes.buffer("A", parameter, 2, "int32")
    handle = nodes.add("tir.Var", dtype="handle", name=nodes.text("a"), type_annotation=0, span=0)
    load = nodes.add("tir.BufferLoad", dtype="int32", buffer=view, indices=nodes.array(nodes.number(1)), span=0)
    store = nodes.add("tir.BufferStore", buffer=target, value=load, indices=nodes.array(nodes.number(0)), span=0)
    body = nodes.add(
        "tir.AllocateConst", buffer_var=constant, data=data, irmod_storage_idx=0, dtype="int32", body=store, span=0,
        extents=nodes.array(nodes.number(2)), annotations=nodes.node(type_key="Map"),
    )  # fmt: skip
    named = nodes.node(type_key="Map", keys=["global_symbol"], data=[nodes.text("main")])
    func = tvm.ir.load_json(nodes.function(body, [handle], [handle, target], nodes.add("DictAttrs", __dict__=named)))
    array = np.zeros(2, "int32")
    tvm.build(func)(array)
    assert array.tolist() == [5, 0]


def test_pointers_of_v0_8_are_read() -> None:
    nodes = OldNodes()
    memory, true = nodes.pointer("memory", "float32"), nodes.number(1, "bool")
    index = nodes.number(1)
    loaded = nodes.add("tir.Load", dtype="float32", buffer_var=memory, index=index, predicate=true, span=0)
    store = nodes.add("tir.Store", buffer_var=memory, value=loaded, index=nodes.number(0), predicate=true, span=0)
    body = nodes.add(
        "tir.Allocate", buffer_var=memory, dtype="float32", extents=nodes.array(nodes.number(4)), condition=true,
        body=store, annotations=nodes.node(type_key="Map"), span=0,
    )  # fmt: skip
    script = tvm.ir.load_json(nodes.function(body, [], [])).script()
    assert "memory[0] = memory[1]" in script.replace("memory_1", "memory")


def test_targets_are_attributes_of_functions() -> None:
    nodes = OldNodes()
    kinds = [nodes.node(type_key="TargetKind", repr_str=name) for name in ("cuda", "llvm")]
    common = {"tag": nodes.text(""), "features": nodes.node(type_key="Map")}
    host = nodes.add("Target", kind=kinds[1], keys=nodes.array(), attrs=nodes.node(type_key="Map"), host=0, **common)
    options = nodes.node(type_key="Map", keys=["max_num_threads"], data=[nodes.number(512)])
    keys = nodes.array(nodes.text("cuda"), nodes.text("gpu"))
    target = nodes.add("Target", kind=kinds[0], keys=keys, attrs=options, host=host, **common)
    named = nodes.node(
        type_key="Map", keys=["target", "global_symbol", "flag", "list"],
        data=[target, nodes.text("f"), nodes.number(1, "bool"), nodes.array(nodes.number(1, "int64"))],
    )  # fmt: skip
    body = nodes.add("tir.Evaluate", value=nodes.number(0), span=0)
    func = tvm.ir.load_json(nodes.function(body, [], [], nodes.add("DictAttrs", __dict__=named)))
    expected = tvm.target.Target({"kind": "cuda", "keys": ["cuda", "gpu"], "max_num_threads": 512}, host="llvm")
    assert str(func.attrs["target"]) == str(expected)
    assert (func.__name__, func.attrs["flag"], func.attrs["list"]) == ("f", True, (1,))
    assert str(tvm.ir.load_json(json.dumps({"root": target, "nodes": nodes.nodes}))) == str(expected)


# Expressions


def saved_expressions() -> dict[str, Any]:
    """The expressions of tests/peer/json_record.py."""
    x, y, f = tir.Var("x", "int32"), tir.Var("y", "int64"), tir.Var("f", "float32")
    half = tir.const(0.5, "float32")
    return {
        "sum": x + 1,
        "bits": (x & 3) | (x ^ 5) << 2 >> 1,
        "quotients": tir.floordiv(y, 3) + tir.truncmod(y, 4) * tir.floormod(y, 5) - tir.truncdiv(y, 2),
        "functions": tir.exp(f) + tir.pow(f, tir.const(2.0, "float32")) + tir.abs(f) + tir.max(f, half),
        "choices": tir.Select(tir.all(x > 1, x < 5), x, tir.if_then_else(tir.Not(x == 3), x, 2)),
        "casts": tir.Cast("float64", x) + tir.const(1.5, "float64"),
        "vectors": tir.Ramp(x, 2, 4) * tir.Broadcast(x, 4),
        "infinity": f < tir.const(float("inf"), "float32"),
    }


@pytest.mark.parametrize("version", VERSIONS)
def test_expressions_of_tvm_are_read(version: str) -> None:
    saved = json.loads((DATA / f"tvm-{version}" / "expressions.json").read_text())
    for name, expected in saved_expressions().items():
        read = tvm.ir.load_json(saved[name][1])
        tvm.ir.assert_structural_equal(read, expected, map_free_vars=True)
    x, total, named = tvm.ir.load_json(saved["shared"][1])
    assert total.a is x
    assert named["key"] is x
    mapping = tvm.ir.load_json(saved["map"][1])
    assert mapping.is_equivalent_to(tir.IndexMap.from_func(lambda i, j: [i // 4, j, i % 4]))


X, Y, F = te.var("x"), te.var("y", "int64"), te.var("f", "float32")
INTEGERS = st.recursive(
    st.sampled_from((X, Y)) | st.integers(-5, 5).map(lambda n: tir.const(n, "int32")),
    lambda each: st.one_of(
        st.builds(lambda a, b: a + b, each, each),
        st.builds(lambda a, b: a * b, each, each),
        st.builds(lambda a, b: a ^ b, each, each),
        st.builds(lambda a, b: tir.floordiv(a, tir.max(b, 1)), each, each),
        st.builds(lambda a, b: tir.truncmod(a, tir.max(b, 1)), each, each),
        st.builds(lambda a, b: tir.Select(tir.all(a > b, tir.Not(b < 2)), a, b), each, each),
        st.builds(lambda a, b: tir.if_then_else(tir.any(a == b, a != 3), a, b), each, each),
        st.builds(lambda a: tir.Cast("int64", tir.exp(F * tir.Cast("float32", a))), each),
    ),
    max_leaves=8,
)


@given(INTEGERS)
def test_expressions_are_read_as_they_were_saved(node: Any) -> None:
    read, x = tvm.ir.load_json(tvm.ir.save_json([node, X]))
    tvm.ir.assert_structural_equal([read, x], [node, X], map_free_vars=True)


def test_parts_of_expressions_are_read_as_they_were_saved() -> None:
    i, k = te.thread_axis("threadIdx.x"), te.reduce_axis((0, 8), "k")
    pointer = tir.Var("p", tvm.ir.PointerType(tvm.ir.PrimType("float32"), "shared"))
    buffer = tir.decl_buffer((4, X), "float32", "B", scope="shared", strides=[X, 1])
    total = te.sum(F * tir.Cast("float32", k), axis=k)
    for each in (
        i,
        k,
        pointer,
        tir.StringImm("text"),
        tvm.ir.Range.from_min_extent(0, X),
        tir.BufferLoad(buffer, [0, X]),
        total,
    ):
        read = tvm.ir.load_json(tvm.ir.save_json(each))
        assert type(read) is type(each)
        assert tvm.ir.save_json(read) == tvm.ir.save_json(each)
    with pytest.raises(ArgumentError, match="save_json of ProducerLoad"):
        tvm.ir.save_json(te.placeholder((4,), name="A")[0])


# Errors


def graph(form: Callable[..., str] = as_json) -> tuple[dict[str, Any], dict[str, int]]:
    """A file, with the last position of each type of node."""
    data = json.loads(form(graph_of(function("for i in range(16):\n    A[i] = A[i] + T.exp(A[0])"))))
    return data, {node.get("type", node.get("type_key")): n for n, node in enumerate(data["nodes"])}


@pytest.mark.parametrize(
    ("type", "changes", "message"),
    [
        ("tirx.Add", {"a": None}, r"node \d+ \(Add\): attribute 'a' is None, expected a node"),
        ("tirx.Add", {"a": 10**6}, r"attribute 'a' is 1000000, expected the position of one of \d+ nodes"),
        ("tirx.Add", {"a": "x"}, "attribute 'a' is 'x', expected the position"),
        ("tirx.Add", {"a": [1]}, "expected the position"),
        ("tirx.For", {"kind": 9}, r"\(For\): attribute 'kind' is 9, expected 0 to 4"),
        ("tirx.For", {"kind": "serial"}, "attribute 'kind' is 'serial', expected an integer"),
        ("tirx.Buffer", {"dtype": "float33"}, "attribute 'dtype' is 'float33', expected a data type"),
        ("tirx.Buffer", {"name": 0}, r"attribute 'name' is node 0 \(None\), expected a text"),
        ("tirx.BufferLoad", {"indices": 0}, "0 indices"),
        ("ir.IntImm", {"value": 2**40}, "does not fit int32"),
        ("ir.IRModule", {"functions": 1}, "expected a node of kind Map"),
    ],
)
def test_wrong_attributes_are_errors(type: str, changes: dict[str, Any], message: str) -> None:
    data, places = graph()
    data["nodes"][places[type]]["data"] |= changes
    with pytest.raises(LoadError, match=message):
        tvm.ir.load_json(json.dumps(data))


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("kind", ["Add", "For"])
def test_a_node_that_refers_to_itself_is_an_error(kind: str, form: Callable[..., str]) -> None:
    data, places = graph(form)
    position = next(n for type, n in places.items() if type.rpartition(".")[2] == kind)
    parts = data["nodes"][position]["attrs" if form in OLD else "data"]
    name = "a" if kind == "Add" else "body"
    parts[name] = str(position) if form in OLD else position
    with pytest.raises(LoadError, match=rf"\({kind}\): refers to itself"):
        tvm.ir.load_json(json.dumps(data))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "expected JSON"),
        ("[" * 100_000, "expected JSON"),
        ("[]", "expected an object with a list of nodes"),
        ('{"nodes": [], "root": 0}', "root 0, expected the position of one of 0 nodes"),
        ('{"nodes": [1], "root": 0}', "node 0: 1, expected an object"),
        ('{"nodes": [{"type_key": "relax.Function"}], "root": 0}', r"node 0 \(relax.Function\): expected a module"),
        ('{"nodes": [{"type_key": "Array", "data": 3}], "root": 0}', "data is 3, expected a list of positions"),
        ('{"nodes": [{"type_key": "Map", "keys": ["a"]}], "root": 0}', "1 keys of 0 values"),
        ('{"nodes": [{"type": "bool", "data": 1}], "root_index": 0}', "data is 1, expected a value of type bool"),
        ('{"nodes": [{"type_key": "runtime.String", "repr_b64": "?"}], "root": 0}', "expected base64"),
    ],
)
def test_other_texts_are_errors(text: str, message: str) -> None:
    with pytest.raises(LoadError, match=message):
        tvm.ir.load_json(text)


def chain(count: int, is_shared: bool) -> str:
    """A file with a sum of many sums, whose operands are one node, or a sum and a constant."""
    data, places = graph()
    last = places["tirx.BufferLoad"]
    load, position = data["nodes"][last], len(data["nodes"])
    for n in range(count):
        before = last if n == 0 else position + n - 1
        parts = {"span": 0, "dtype": load["data"]["dtype"], "a": before, "b": before if is_shared else last}
        data["nodes"].append({"type": "tirx.Add", "data": parts})
    data["nodes"][places["tirx.BufferStore"]]["data"]["value"] = len(data["nodes"]) - 1
    return json.dumps(data)


def test_sums_of_many_nodes_are_read_or_are_errors() -> None:
    assert tvm.ir.load_json(chain(50, False))["main"].script().count("A[0]") == 51
    with limits(), pytest.raises(LoadError, match="nested too deeply"):
        tvm.ir.load_json(chain(50_000, False))
    with limits(), pytest.raises(LoadError, match="characters as text, expected at most 1000000"):
        tvm.ir.load_json(chain(60, True))


def test_texts_in_a_file_are_no_programs() -> None:
    data, places = graph()
    name, tag = '"]\nimport os\n', "'); print('"
    data["nodes"].append({"type": "ffi.String", "data": name})
    data["nodes"][places["tirx.Buffer"]]["data"]["name"] = len(data["nodes"]) - 1
    data["nodes"].append({"type": "ffi.String", "data": tag})
    data["nodes"].append({"type": "ffi.Map", "data": [len(data["nodes"]) - 1, len(data["nodes"]) - 1]})
    data["nodes"][places["tirx.For"]]["data"]["annotations"] = len(data["nodes"]) - 1
    read = tvm.ir.load_json(json.dumps(data))
    (loop,) = [op for op in read["main"].op.walk() if op.name == "tir.for"]
    assert loop.annotations.data[tag].data == tag
    data["nodes"][places["ir.Op"]]["data"] = "tirx.exp(A[0]), T.exp"
    with pytest.raises(LoadError, match="expected the name of an operator"):
        tvm.ir.load_json(json.dumps(data))


# Random changes

VALUES = st.sampled_from((0, 1, -1, 3, 10**6, 2**70, "0", "x", "int32", "float32", "", None, True, 0.5, [], [0], {}))


@given(st.data())
@pytest.mark.parametrize("form", FORMATS)
def test_a_changed_file_is_read_or_is_an_error_of_the_house(form: Callable[..., str], data: st.DataObject) -> None:
    mod = random_computation(SeededChoices(data.draw(st.integers(0, 20))))
    content = json.loads(form(graph_of(mod)))
    nodes = content["nodes"]
    for _ in range(data.draw(st.integers(1, 3))):
        node = nodes[data.draw(st.integers(0, len(nodes) - 1))]
        parts = next((node[name] for name in ("data", "attrs") if isinstance(node.get(name), dict)), node)
        key = data.draw(st.sampled_from(sorted(parts)))
        kind = data.draw(st.sampled_from(("value", "reference", "missing")))
        if kind == "missing":
            del parts[key]
        else:
            place = data.draw(st.integers(0, len(nodes) - 1))
            parts[key] = data.draw(VALUES) if kind == "value" else str(place) if form in OLD else place
    with limits(), suppress(LoadError):
        tvm.ir.load_json(json.dumps(content))


@pytest.mark.parametrize("dtype", ["float32", "int8", "bfloat16", "bool"])
def test_arrays_are_saved(dtype: str) -> None:
    saved = tvm.nd.array(np.arange(6).reshape(2, 3).astype(tvm.nd.empty((1,), dtype).numpy().dtype))
    read = tvm.ir.load_json(tvm.ir.save_json({"weights": [saved]}))["weights"][0]
    assert isinstance(read, tvm.nd.NDArray)
    assert read.dtype == dtype
    np.testing.assert_array_equal(read.numpy(), saved.numpy())

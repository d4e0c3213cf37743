"""Loading of models: the graphs of valid models, and the errors for invalid models."""

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import settings

from stepwell import StepwellError, UnsupportedError

onnx = pytest.importorskip("onnx")
from onnx import TensorProto, helper, numpy_helper  # noqa: E402

from stepwell.frontends.onnx import (  # noqa: E402
    OnnxError,
    OnnxGraph,
    OnnxUnsupportedError,
    OptionalType,
    SequenceType,
    TensorType,
    load_model,
)

FLOAT = TensorProto.FLOAT


def value(name: str, shape: Any = (2, 3), dtype: int = FLOAT) -> Any:
    return helper.make_tensor_value_info(name, dtype, shape)


def weight(name: str = "w", shape: tuple[int, ...] = (2, 3)) -> Any:
    return numpy_helper.from_array(np.arange(np.prod(shape), dtype="float32").reshape(shape), name)


def model(*nodes: Any, inputs: Any = ("x",), outputs: Any = ("y",), weights: Any = (), opset: int = 21) -> Any:
    graph = helper.make_graph(
        nodes,
        "g",
        [value(item) if isinstance(item, str) else item for item in inputs],
        [value(item) if isinstance(item, str) else item for item in outputs],
        weights,
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=10)


def relu(source: str = "x", result: str = "y", name: str = "") -> Any:
    return helper.make_node("Relu", [source], [result], name=name)


def add_weight() -> Any:
    return model(helper.make_node("Add", ["x", "w"], ["y"], name="add"), weights=[weight()])


def ops(graph: OnnxGraph) -> list[str]:
    return [node.op_type for node in graph.nodes]


# Valid models


def test_a_graph_holds_types_arrays_and_nodes() -> None:
    graph = load_model(model(relu(), inputs=[value("x", ("n", 3)), value("t", None)], weights=[weight()]))
    assert [(item.name, str(item.type)) for item in graph.inputs] == [("x", "float32[n, 3]"), ("t", "float32")]
    assert [(item.name, item.type) for item in graph.outputs] == [("y", TensorType("float32", (2, 3)))]
    (node,) = graph.nodes
    assert (node.op_type, node.domain, node.version, node.inputs, node.outputs) == ("Relu", "", 21, ("x",), ("y",))
    np.testing.assert_array_equal(graph.initializers["w"], [[0, 1, 2], [3, 4, 5]])
    assert graph.opset == {"": 21}


def test_a_model_can_be_a_file_its_bytes_or_a_message_which_stays_as_it_is(tmp_path: Path) -> None:
    proto = add_weight()
    before = proto.SerializeToString()
    file = tmp_path / "model.onnx"
    file.write_bytes(before)
    for given in (proto, before, file, str(file)):
        assert ops(load_model(given)) == ["Add"]
    assert proto.SerializeToString() == before


def test_extents_that_are_not_known_get_a_name_each() -> None:
    graph = load_model(model(relu(), inputs=[value("x", (None, -1, "n"))]))
    assert graph.inputs[0].type == TensorType("float32", ("x_0", "x_1", "n"))


def test_sequences_and_optional_values_have_types() -> None:
    tensor = helper.make_tensor_type_proto(TensorProto.STRING, ["n"])
    types = [helper.make_sequence_type_proto(tensor), helper.make_optional_type_proto(tensor)]
    inputs = ["x", *(helper.make_value_info(f"i{index}", item) for index, item in enumerate(types))]
    element = TensorType("string", ("n",))
    graph = load_model(model(relu(), inputs=inputs))
    assert [item.type for item in graph.inputs[1:]] == [SequenceType(element), OptionalType(element)]


def test_an_input_with_an_initializer_is_none() -> None:
    graph = load_model(model(helper.make_node("Add", ["x", "w"], ["y"]), inputs=["x", "w"], weights=[weight()]))
    assert [item.name for item in graph.inputs] == ["x"]


def test_attributes_are_python_values() -> None:
    given = {"kernel_shape": [3, 3], "pads": [1, 1, 1, 1], "auto_pad": "NOTSET", "group": 1}
    nodes = [
        helper.make_node("Conv", ["x", "w"], ["c"], **given),
        helper.make_node("LeakyRelu", ["c"], ["y"], alpha=0.5),
        helper.make_node("Constant", [], ["k"], value=weight()),
    ]
    conv, leaky, constant = load_model(model(*nodes, weights=[weight("w", (1, 1, 3, 3))])).nodes
    assert conv.attributes == {"kernel_shape": (3, 3), "pads": (1, 1, 1, 1), "auto_pad": "NOTSET", "group": 1}
    assert leaky.attributes == {"alpha": 0.5}
    np.testing.assert_array_equal(constant.attributes["value"], [[0, 1, 2], [3, 4, 5]])


def test_nodes_are_put_in_order_only_if_they_are_out_of_it() -> None:
    graph = load_model(model(relu("b", "y"), relu("x", "a"), relu("a", "b")))
    assert [node.outputs[0] for node in graph.nodes] == ["a", "b", "y"]
    graph = load_model(model(relu("x", "q"), relu("x", "p"), relu("p", "y")))
    assert [node.outputs[0] for node in graph.nodes] == ["q", "p", "y"]


def branch(name: str, *nodes: Any) -> Any:
    return helper.make_graph(nodes, name, [], [value("r")])


def test_a_subgraph_sees_what_is_around_it_and_counts_for_the_order() -> None:
    condition = value("c", (), TensorProto.BOOL)
    choice = helper.make_node(
        "If", ["c"], ["y"], then_branch=branch("t", relu("late", "r")), else_branch=branch("e", relu("x", "r"))
    )
    graph = load_model(model(choice, relu("x", "late"), inputs=["x", condition]))
    assert ops(graph) == ["Relu", "If"]
    assert [inner.name for inner in graph.nodes[1].subgraphs] == ["e", "t"]


@pytest.mark.parametrize(
    "dtype", ["float16", "bfloat16", "int4", "uint4", "float8_e4m3fn", "bool", "uint64", "complex64"]
)
def test_weights_of_every_kind_survive_raw_and_as_numbers(dtype: str) -> None:
    code = next(c for c in helper.get_all_tensor_dtypes() if helper.tensor_dtype_to_np_dtype(c).name == dtype)
    array = np.array([1, 0, 1]).astype(helper.tensor_dtype_to_np_dtype(code))
    raw = numpy_helper.from_array(array, "raw")
    plain = helper.make_tensor("plain", code, [3], [1, 0, 1])
    graph = load_model(model(relu(), weights=[raw, plain]))
    for name in ("raw", "plain"):
        assert graph.initializers[name].dtype == array.dtype
        assert (graph.initializers[name] == array).all()


def test_weights_cannot_be_written() -> None:
    with pytest.raises(ValueError, match="read-only"):
        load_model(add_weight()).initializers["w"][0, 0] = 1


# Files beside a model


def external(folder: Path, data: bytes, **entries: object) -> Path:
    proto = add_weight()
    tensor = proto.graph.initializer[0]
    tensor.ClearField("raw_data")
    tensor.data_location = TensorProto.EXTERNAL
    for key, text in {"location": "weights.bin", **entries}.items():
        tensor.external_data.add(key=key, value=str(text))
    (folder / "weights.bin").write_bytes(data)
    (folder / "model.onnx").write_bytes(proto.SerializeToString())
    return folder / "model.onnx"


DATA = np.arange(6, dtype="float32").tobytes()


def test_external_data_is_looked_at_where_it_is(tmp_path: Path) -> None:
    array = load_model(external(tmp_path, b"head" + DATA, offset=4, length=24)).initializers["w"]
    np.testing.assert_array_equal(array, [[0, 1, 2], [3, 4, 5]])
    bases: list[Any] = [array]
    while getattr(bases[-1], "base", None) is not None:
        bases.append(bases[-1].base)
    assert any(isinstance(base, np.memmap) for base in bases)


def test_external_data_at_an_odd_place_is_aligned(tmp_path: Path) -> None:
    array = load_model(external(tmp_path, b"x" + DATA, offset=1)).initializers["w"]
    assert array.flags.aligned
    assert array[1, 2] == 5


@pytest.mark.parametrize(
    ("entries", "data", "said"),
    [
        ({"location": "gone.bin"}, DATA, "external data in 'gone.bin', which is not there"),
        ({"location": "../weights.bin"}, DATA, "expected a file inside of the model's folder"),
        ({"location": "/etc/passwd"}, DATA, "expected a file inside of the model's folder"),
        ({"location": "link.bin"}, DATA, "expected a file inside of the model's folder"),
        ({}, DATA[:-1], "expected 24 bytes at 0 in 'weights.bin', got a file of 23 bytes"),
        ({"offset": 8}, DATA, "expected 24 bytes at 8 in 'weights.bin', got a file of 24 bytes"),
        ({"length": 20}, DATA, "expected 24 bytes of external data, got a length of 20"),
        ({"offset": -4}, DATA, "expected a number of bytes as offset, got '-4'"),
    ],
)
def test_external_data_that_is_not_there_is_an_error(tmp_path: Path, entries: Any, data: bytes, said: str) -> None:
    folder = tmp_path / "model"
    folder.mkdir()
    (tmp_path / "weights.bin").write_bytes(DATA)
    (folder / "link.bin").symlink_to(tmp_path / "weights.bin")
    file = external(folder, data, **entries)
    with pytest.raises(OnnxError) as error:
        load_model(file)
    assert str(error.value).startswith(f"{file}: initializers: tensor 'w': ")
    assert said in str(error.value)


def test_external_data_of_bytes_needs_a_folder(tmp_path: Path) -> None:
    data = external(tmp_path, DATA).read_bytes()
    with pytest.raises(OnnxError, match="has no folder"):
        load_model(data)
    assert load_model(data, tmp_path).initializers["w"][1, 2] == 5


# Broken models


def changed(change: Callable[[Any], None], proto: Any = None) -> Any:
    proto = add_weight() if proto is None else proto
    change(proto)
    return proto


def set_attribute_type(proto: Any) -> None:
    proto.graph.node[0].attribute.add(name="a", type=0)


def test_a_file_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(OnnxError, match=r"gone\.onnx: cannot be read: No such file"):
        load_model(tmp_path / "gone.onnx")


@pytest.mark.parametrize("data", [b"", b"not a model at all", b"\x08\x0a", b"\xff" * 64])
def test_bytes_that_are_no_model_are_an_error(data: bytes, tmp_path: Path) -> None:
    file = tmp_path / "model.onnx"
    file.write_bytes(data)
    with pytest.raises(OnnxError, match=r"model\.onnx: "):
        load_model(file)


def test_a_model_that_is_cut_anywhere_is_an_error_or_was_complete() -> None:
    data = add_weight().SerializeToString()
    for size in range(len(data)):
        with pytest.raises(OnnxError):
            load_model(data[:size])


def test_a_name_that_is_no_text_is_an_error() -> None:
    data = model(relu("x", "uvw"), outputs=["uvw"]).SerializeToString()
    with pytest.raises(OnnxError, match=r"expected a name in UTF-8, got b'u\\xffw'"):
        load_model(data.replace(b"uvw", b"u\xffw"))


@pytest.mark.fuzz
def test_bytes_that_are_changed_are_read_or_an_error(fuzz_seed: int) -> None:
    random, data = Random(fuzz_seed), add_weight().SerializeToString()
    for _ in range(30 * settings().max_examples):
        broken = bytearray(data)
        for _ in range(random.randint(1, 3)):
            broken[random.randrange(len(broken))] = random.randrange(256)
        with suppress(OnnxError):
            load_model(bytes(broken))


BROKEN = {
    "ir": (changed(lambda m: setattr(m, "ir_version", 99)), "g: expected ONNX's IR version 3 to"),
    "opset": (model(relu(), opset=9999), "g: expected opset 1 to "),
    "old": (
        model(helper.make_node("Tile", ["x", "x", "x"], ["y"], name="a"), opset=5),
        "g: node 'a' (Tile): expected opset 7 or newer, got opset 5",
    ),
    "domain": (
        model(helper.make_node("Relu", ["x"], ["y"], domain="elsewhere")),
        "g: the node of 'y' (elsewhere.Relu): the model imports no opset of domain 'elsewhere' (imports: '')",
    ),
    "operator": (
        model(helper.make_node("Rleu", ["x"], ["y"])),
        "g: the node of 'y' (Rleu): opset 21 of domain '' has no operator Rleu",
    ),
    "operands": (model(helper.make_node("Relu", ["x", "x"], ["y"])), "(Relu): expected 1 inputs, got 2"),
    "results": (model(helper.make_node("Relu", ["x"], ["y", "z"])), "(Relu): expected 1 outputs, got 2"),
    "attribute": (
        model(helper.make_node("Relu", ["x"], ["y"], alpha=1.0)),
        "(Relu): unknown attribute 'alpha' (has: none)",
    ),
    "attribute missing": (model(helper.make_node("Cast", ["x"], ["y"])), "(Cast): attribute 'to' is missing"),
    "attribute type": (
        model(helper.make_node("LeakyRelu", ["x"], ["y"], alpha=1)),
        "(LeakyRelu): attribute 'alpha': expected FLOAT, got INT",
    ),
    "attribute kind": (
        changed(set_attribute_type),
        "g: node 'add' (Add): attribute 'a': unknown type of attribute UNDEFINED (expected one of FLOAT, INT,",
    ),
    "missing": (
        model(helper.make_node("Add", ["x", "w"], ["y"], name="add")),
        "g: node 'add' (Add): 'w' is no input, no initializer, and no node makes it",
    ),
    "output": (model(relu(), outputs=["y", "z"]), "g: output 'z': 'z' is no input"),
    "cycle": (
        model(relu("b", "a", "one"), relu("a", "b", "two"), relu("x", "y")),
        "g: nodes need each other: node 'one' (Relu) <- node 'two' (Relu)",
    ),
    "self": (model(relu("y", "y", "one")), "g: nodes need each other: node 'one' (Relu)"),
    "twice": (model(relu(), relu()), "g: expected one input, initializer or node that makes 'y', got 2"),
    "input twice": (model(relu(), inputs=["x", "x"]), "expected one input, initializer or node that makes 'x', got 2"),
    "weight twice": (model(relu(), weights=[weight(), weight()]), "g: there are two initializers 'w'"),
    "node makes input": (model(relu("x", "x"), relu()), "expected one input, initializer or node that makes 'x'"),
    "declared": (
        model(helper.make_node("Add", ["x", "w"], ["y"]), inputs=["x", value("w", (3, 2))], weights=[weight()]),
        "g: initializer 'w': declared as float32[3, 2], got data of float32[2, 3]",
    ),
    "no type": (changed(lambda m: m.graph.input[0].ClearField("type")), "g: input 'x' has no type"),
    "short": (
        changed(lambda m: setattr(m.graph.initializer[0], "raw_data", b"1234")),
        "g: initializers: tensor 'w': expected 24 bytes for float32[2, 3], got 4",
    ),
    "numbers": (
        model(relu(), weights=[TensorProto(name="w", data_type=FLOAT, dims=[2], float_data=[1.0])]),
        "g: initializers: tensor 'w': expected 2 numbers in float_data for float32[2], got 1",
    ),
    "extent": (
        model(relu(), weights=[TensorProto(name="w", data_type=FLOAT, dims=[-2])]),
        "tensor 'w': expected extents of at least 0, got [-2]",
    ),
    "size": (
        model(relu(), weights=[TensorProto(name="w", data_type=FLOAT, dims=[0, 2**40, 2**40], raw_data=b"")]),
        "tensor 'w': expected extents of an array that memory can hold, got [0,",
    ),
    "element": (
        model(relu(), weights=[TensorProto(name="w", data_type=77, dims=[0])]),
        "tensor 'w': unknown data type 77",
    ),
    "subgraph": (
        model(
            helper.make_node(
                "If",
                ["c"],
                ["y"],
                name="if",
                then_branch=branch("t", relu("q", "r")),
                else_branch=branch("e", relu("x", "r")),
            ),
            inputs=["x", value("c", (), TensorProto.BOOL)],
        ),
        "g: node 'if' (If): 'q' is no input, no initializer, and no node makes it",
    ),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_model_is_an_error_that_says_where(name: str) -> None:
    proto, said = BROKEN[name]
    with pytest.raises(StepwellError) as error:
        load_model(proto)
    assert isinstance(error.value, OnnxError)
    assert said in str(error.value)


def test_what_only_onnx_has_is_unsupported() -> None:
    sparse = helper.make_sparse_tensor(weight("v", (1,)), helper.make_tensor("i", TensorProto.INT64, [1], [0]), [6])
    with pytest.raises(OnnxUnsupportedError, match="sparse") as error:
        load_model(model(helper.make_node("Constant", [], ["y"], sparse_value=sparse)))
    assert isinstance(error.value, UnsupportedError)
    assert (
        str(error.value) == "g: the node of 'y' (Constant): attribute 'sparse_value': sparse tensors are not supported"
    )


def test_an_opset_older_than_7_is_read_where_nothing_has_changed() -> None:
    flags = [value(name, (2,), TensorProto.BOOL) for name in "xy"]
    proto = model(helper.make_node("Not", ["x"], ["y"]), inputs=flags[:1], outputs=flags[1:], opset=1)
    assert ops(load_model(proto)) == ["Not"]


def test_a_long_chain_backwards_is_put_in_order() -> None:
    nodes = [relu(f"v{index}", f"v{index + 1}") for index in range(3000)]
    graph = load_model(model(*reversed(nodes), inputs=["v0"], outputs=["v3000"]))
    assert [node.outputs[0] for node in graph.nodes] == [f"v{index + 1}" for index in range(3000)]


def test_a_model_of_no_bytes_is_empty() -> None:
    with pytest.raises(OnnxError, match=r"^is empty$"):
        load_model(b"")

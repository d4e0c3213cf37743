"""Limits of the work of an import, and numbers of a model that no program can represent."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

onnx = pytest.importorskip("onnx")
from onnx import TensorProto, helper, numpy_helper  # noqa: E402

from stepwell import from_onnx  # noqa: E402
from stepwell.frontends.models import limits  # noqa: E402
from stepwell.frontends.onnx import OnnxError, OnnxUnsupportedError, load_model  # noqa: E402
from stepwell.operators.relay import FuncOp, shape_of  # noqa: E402

OPSETS = [helper.make_opsetid("", 21), helper.make_opsetid("mine", 1)]
ROW = helper.make_tensor_value_info("x", TensorProto.FLOAT, [3])
INTEGER, BOOL = TensorProto.INT64, TensorProto.BOOL


def model(nodes: list[Any], inputs: Any = (ROW,), functions: Any = (), output: str = "y", **constants: Any) -> Any:
    initializers = [numpy_helper.from_array(np.asarray(array), name) for name, array in constants.items()]
    outputs = [helper.make_empty_tensor_value_info(output)]
    graph = helper.make_graph(nodes, "g", list(inputs), outputs, initializers)
    return helper.make_model(graph, opset_imports=OPSETS, functions=list(functions), ir_version=10)


def node(op_type: str, inputs: list[str], output: str = "y", **attributes: Any) -> Any:
    return helper.make_node(op_type, inputs, [output], **attributes)


def chain(count: int, calls: int) -> Any:
    """A model whose function `f<n>` calls `f<n + 1>` once or twice."""
    functions: list[Any] = []
    for n in range(count):
        names = ["a", *(f"t{k}" for k in range(1, calls)), "b"]
        last = n == count - 1
        body = [
            node("Neg" if last else f"f{n + 1}", [names[k]], names[k + 1], domain="" if last else "mine")
            for k in range(calls)
        ]
        functions.append(helper.make_function("mine", f"f{n}", ["a"], ["b"], body, OPSETS))
    return model([node("f0", ["x"], domain="mine")], functions=functions)


# Work


def test_functions_that_double_with_each_call_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "MOST_NODES", 1000)
    with pytest.raises(OnnxUnsupportedError, match="inlined functions and unrolled loops, expected 1000 nodes at most"):
        load_model(chain(40, 2))
    assert len(load_model(chain(8, 2)).nodes) == 2**8


def test_long_chains_of_functions_are_refused() -> None:
    with pytest.raises(OnnxUnsupportedError, match="calls of functions in functions, expected 64 at most"):
        load_model(chain(2000, 1))
    assert len(load_model(chain(60, 1)).nodes) == 1


def test_nested_loops_are_refused_by_their_nodes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "MOST_NODES", 1000)
    inner = node("Neg", ["v"], "v2")
    for depth in range(3):
        counter, going = (helper.make_tensor_value_info(n, kind, []) for n, kind in (("i", INTEGER), ("c", BOOL)))
        after = helper.make_tensor_value_info("c2", BOOL, [])
        value, result = (helper.make_tensor_value_info(n, TensorProto.FLOAT, [3]) for n in ("v", "v2"))
        body = helper.make_graph([inner, node("Identity", ["c"], "c2")], "b", [counter, going, value], [after, result])
        outer = depth == 2
        inner = node("Loop", ["N", "", "x" if outer else "v"], "y" if outer else "v2", body=body)
    with pytest.raises(OnnxUnsupportedError, match="unrolled loops, expected 1000 nodes at most"):
        from_onnx(model([inner], N=np.int64(1000)))


def test_scans_of_many_rounds_are_not_written_out() -> None:
    value, result = (helper.make_tensor_value_info(n, TensorProto.FLOAT, []) for n in "vw")
    body = helper.make_graph([node("Identity", ["v"], "w")], "b", [value], [result])
    rows = helper.make_tensor_value_info("x", TensorProto.FLOAT, [2**31])
    assert "loop" in from_onnx(model([node("Scan", ["x"], body=body, num_scan_inputs=1)], [rows])).script()


def test_ranges_that_no_constant_holds_are_refused() -> None:
    proto = model([node("Range", ["a", "b", "c"])], a=np.int64(0), b=np.int64(10**12), c=np.int64(1))
    with pytest.raises(OnnxUnsupportedError, match="Range of 1000000000000 elements, expected 16777216 at most"):
        from_onnx(proto)


def test_powers_of_sizes_are_refused_when_their_text_grows() -> None:
    nodes = [node("Shape", ["x"], "s0"), *(node("Mul", [f"s{n}"] * 2, f"s{n + 1}") for n in range(40))]
    rows = helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n"])
    with pytest.raises(OnnxUnsupportedError, match="operators, expected at most 400"):
        from_onnx(model(nodes, [rows], output="s40"))


# Numbers


BYTES = helper.make_tensor_value_info("x", TensorProto.INT8, [65537])
MATRIX = helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 1, 4, 4])


@pytest.mark.parametrize(
    ("proto", "shape"),
    [
        (model([node("Tile", ["x", "n"])], [BYTES], n=[65537]), (65537**2,)),
        (model([node("Concat", ["x"] * 4, axis=0)], [helper.make_tensor_value_info("x", 3, [2**30])]), (2**32,)),
        (
            model(
                [node("DepthToSpace", ["x"], blocksize=65537)],
                [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 65537**2, 65537, 1])],
            ),
            (1, 1, 65537**2, 65537),
        ),
    ],
)
def test_extents_beyond_int32_are_exact(proto: Any, shape: tuple[int, ...]) -> None:
    func = from_onnx(proto).functions["main"]
    assert isinstance(func, FuncOp)
    assert shape_of(func.return_values[0]) == shape


@pytest.mark.parametrize(
    ("proto", "message"),
    [
        (model([node("ConstantOfShape", ["s"])], s=[-1]), "extent -1 of dimension 0, expected at least 0"),
        (model([node("ConstantOfShape", ["s"])], s=[1] * 70), "a tensor of 70 dimensions, expected 32 at most"),
        (model([node("ConstantOfShape", ["s"])], s=[2**40, 2**40]), "of 4 bytes an element, expected at most"),
        (model([node("Gather", ["d", "i"])], d=[1, 2], i=[7]), "Gather: index 7, expected -2 to 1"),
        (model([node("Gather", ["x", "i"])], i=[-4]), "Gather: index -4, expected -3 to 2"),
        (model([node("GatherND", ["x", "i"])], i=[[3]]), "GatherND: index 3, expected -3 to 2"),
        (
            model([node("ScatterND", ["x", "i", "u"])], i=[[-4]], u=np.ones(1, "float32")),
            "ScatterND: index -4, expected -3 to 2",
        ),
        (
            model([node("ScatterElements", ["x", "i", "u"])], i=[0, 3], u=np.ones(2, "float32")),
            "ScatterElements: index 3, expected -3 to 2",
        ),
        (
            model([node("Compress", ["x", "c"], axis=0)], c=np.array([True] * 4)),
            "Compress: index 3, expected -3 to 2",
        ),
        *(
            (model([helper.make_node("TopK", ["x", "k"], ["y", "z"])], k=[k]), f"TopK: k {k}, expected at least 0")
            for k in (-1, -(2**63))
        ),
        (
            model([node("Range", ["a", "b", "c"])], a=np.float32(0), b=np.float32(np.inf), c=np.float32(1)),
            "expected a finite number of elements",
        ),
        (
            model([node("Range", ["a", "b", "c"])], a=np.float32(0), b=np.float32(np.nan), c=np.float32(1)),
            "expected a finite number of elements",
        ),
        *(
            (
                model([node("Resize", ["x", "", "s"])], [MATRIX], s=np.array([1, 1, scale, 2], "float32")),
                "expected 4 finite numbers above 0",
            )
            for scale in (np.inf, np.nan, -1, 0)
        ),
        (model([node("Expand", ["x", ""])]), r"operand 1 \(shape\) is missing"),
        (model([node("Split", ["x"], num_outputs=2**40)]), "num_outputs 1099511627776 of 1 outputs"),
        (model([node("Neg", ["x"])], [helper.make_tensor_value_info("x", 1, [1] * 70)]), "a tensor of 70 dimensions"),
    ],
)
def test_numbers_that_no_program_has_are_errors_at_the_node(proto: Any, message: str) -> None:
    with pytest.raises(OnnxError, match=message):
        from_onnx(proto)


@pytest.mark.parametrize(
    ("location", "offset", "message"),
    [
        ("a\0b", "0", "expected a path of at most 4095 bytes as location, without NUL"),
        ("a" * 5000, "0", "expected a path of at most 4095 bytes as location, without NUL"),
        ("weights", "9" * 5000, "expected a number of bytes as offset, got '9999"),
    ],
)
def test_external_data_at_places_that_no_file_has(tmp_path: Path, location: str, offset: str, message: str) -> None:
    (tmp_path / "weights").write_bytes(b"1234")
    proto = model([node("Neg", ["w"])], w=np.zeros(1, "float32"))
    tensor = proto.graph.initializer[0]
    tensor.ClearField("raw_data")
    tensor.data_location = TensorProto.EXTERNAL
    for key, text in (("location", location), ("offset", offset)):
        tensor.external_data.add(key=key, value=text)
    (tmp_path / "model.onnx").write_bytes(proto.SerializeToString())
    with pytest.raises(OnnxError, match=message):
        load_model(tmp_path / "model.onnx")

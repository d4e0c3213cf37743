"""Random changes of the attributes, shapes and constants of valid ONNX models."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from hypothesis import strategies as st
from onnx import AttributeProto, TensorProto, helper, numpy_helper

from ...core.errors import StepwellError
from ...frontends.onnx import from_onnx
from ...frontends.onnx.importing import UNEXPECTED
from .limits import limits

_IMAGE, _ROWS, _INTEGERS = ("f", (1, 2, 6, 6)), ("f", (3, 4)), ("i", (3, 4))
_Constant = np.ndarray[Any, Any]


def _ints(*values: int) -> _Constant:
    return np.array(values, "int64")


def _floats(*values: float) -> _Constant:
    return np.array(values, "float32")


def _scalar(value: int) -> _Constant:
    return np.array(value, "int64")


MODELS: dict[str, tuple[list[Any], dict[str, Any]]] = {
    "Tile": ([_ROWS, _ints(2, 3)], {}),
    "Reshape": ([_ROWS, _ints(2, -1)], {"allowzero": 0}),
    "Expand": ([("f", (1, 4)), _ints(3, 4)], {}),
    "ConstantOfShape": ([_ints(2, 3)], {}),
    "Range": ([_scalar(0), _scalar(9), _scalar(2)], {}),
    "Range ": ([np.float32(0), np.float32(2), np.float32(0.5)], {}),
    "TopK": ([_ROWS, _ints(2)], {"axis": -1, "largest": 1, "sorted": 1}),
    "Gather": ([_ROWS, _ints(0, 2)], {"axis": 0}),
    "Gather ": ([_ints(5, 6, 7), _ints(0, 2)], {"axis": 0}),
    "GatherElements": ([_ROWS, np.zeros((3, 4), "int64")], {"axis": 1}),
    "GatherND": ([_ROWS, np.array([[0, 1], [2, 3]])], {"batch_dims": 0}),
    "ScatterElements": ([_ROWS, np.zeros((1, 4), "int64"), np.ones((1, 4), "float32")], {"axis": 0}),
    "ScatterND": ([_ROWS, np.array([[1], [2]]), np.ones((2, 4), "float32")], {}),
    "OneHot": ([_INTEGERS, _scalar(5), _floats(0, 1)], {"axis": -1}),
    "Slice": ([_ROWS, _ints(0, 1), _ints(2, 4), _ints(0, 1), _ints(1, 2)], {}),
    "Split": ([_ROWS, _ints(1, 2)], {"axis": 0}),
    "Concat": ([_ROWS, np.ones((3, 2), "float32")], {"axis": 1}),
    "Pad": ([_ROWS, _ints(1, 1, 2, 0), np.float32(1)], {"mode": "constant"}),
    "Resize": ([_IMAGE, _floats(), _floats(1, 1, 2, 2)], {"mode": "linear", "cubic_coeff_a": -0.75}),
    "Resize ": ([_IMAGE, _floats(), _floats(), _ints(1, 2, 3, 3)], {"mode": "nearest", "axes": [0, 1, 2, 3]}),
    "Conv": (
        [_IMAGE, np.ones((4, 2, 3, 3), "float32"), np.ones(4, "float32")],
        {"strides": [1, 2], "pads": [1, 1, 1, 1], "dilations": [1, 1], "group": 1, "kernel_shape": [3, 3]},
    ),
    "ConvTranspose": (
        [_IMAGE, np.ones((2, 4, 3, 3), "float32")],
        {"strides": [2, 2], "pads": [1, 1, 1, 1], "output_padding": [1, 1], "output_shape": [12, 12]},
    ),
    "MaxPool": ([_IMAGE], {"kernel_shape": [2, 2], "strides": [2, 2], "pads": [0, 0, 1, 1], "ceil_mode": 1}),
    "AveragePool": ([_IMAGE], {"kernel_shape": [2, 2], "strides": [1, 2], "count_include_pad": 1}),
    "LpPool": ([_IMAGE], {"kernel_shape": [2, 2], "p": 2, "strides": [1, 1]}),
    "GlobalLpPool": ([_IMAGE], {"p": 2}),
    "MaxUnpool": ([("f", (1, 1, 2, 2)), np.arange(4).reshape(1, 1, 2, 2)], {"kernel_shape": [2, 2], "strides": [2, 2]}),
    "CenterCropPad": ([_ROWS, _ints(2, 6)], {"axes": [0, 1]}),
    "BlackmanWindow": ([_scalar(6)], {"periodic": 0}),
    "RMSNormalization": ([_ROWS, np.ones(4, "float32")], {"axis": -1}),
    "TensorScatter": ([("f", (1, 2, 4, 3)), ("f", (1, 2, 2, 3)), _ints(1)], {"axis": -2, "mode": "linear"}),
    "BatchNormalization": ([_IMAGE, *[np.ones(2, "float32")] * 4], {"epsilon": 1e-5, "momentum": 0.9}),
    "InstanceNormalization": ([_IMAGE, np.ones(2, "float32"), np.ones(2, "float32")], {"epsilon": 1e-5}),
    "QuantizeLinear": ([_ROWS, _floats(0.5, 1, 2, 3), np.zeros(4, "uint8")], {"axis": 1, "saturate": 1}),
    "ConvInteger": ([("b", (1, 1, 3, 3)), np.ones((1, 1, 2, 2), "uint8")], {"pads": [0, 0, 1, 1], "group": 1}),
    "GRU": ([("f", (3, 1, 4)), np.ones((1, 6, 4), "float32"), np.ones((1, 6, 2), "float32")], {"hidden_size": 2}),
    "RNN": ([("f", (3, 1, 4)), np.ones((1, 2, 4), "float32"), np.ones((1, 2, 2), "float32")], {"hidden_size": 2}),
    "Pow": ([_ROWS, _scalar(2)], {}),
    "Where": ([np.array([True, False, True, True]), _ROWS, np.float32(0)], {}),
    "Det": ([("f", (1, 3, 3))], {}),
    "LpNormalization": ([_ROWS], {"axis": 1, "p": 2}),
    "RotaryEmbedding": (
        [("f", (1, 2, 3, 4)), np.ones((1, 3, 2), "float32"), np.ones((1, 3, 2), "float32")],
        {"rotary_embedding_dim": 4},
    ),
    "LRN": ([_IMAGE], {"size": 3, "alpha": 0.1, "beta": 0.5, "bias": 1.0}),
    "DepthToSpace": ([("f", (1, 8, 2, 2))], {"blocksize": 2, "mode": "CRD"}),
    "SpaceToDepth": ([("f", (1, 2, 4, 4))], {"blocksize": 2}),
    "Transpose": ([_ROWS], {"perm": [1, 0]}),
    "Squeeze": ([("f", (1, 4)), _ints(0)], {}),
    "Unsqueeze": ([_ROWS, _ints(0, 3)], {}),
    "Flatten": ([_IMAGE], {"axis": 2}),
    "ReduceSum": ([_ROWS, _ints(1)], {"keepdims": 0, "noop_with_empty_axes": 0}),
    "ReduceMax": ([_ROWS, _ints(0)], {"keepdims": 1}),
    "ArgMax": ([_ROWS], {"axis": 1, "keepdims": 0, "select_last_index": 1}),
    "CumSum": ([_ROWS, _scalar(1)], {"exclusive": 1, "reverse": 1}),
    "Softmax": ([_ROWS], {"axis": -1}),
    "LayerNormalization": ([_ROWS, np.ones(4, "float32")], {"axis": -1, "epsilon": 1e-5}),
    "GroupNormalization": ([_IMAGE, np.ones(2, "float32"), np.ones(2, "float32")], {"num_groups": 2}),
    "Gemm": ([_ROWS, np.ones((5, 4), "float32")], {"transB": 1, "alpha": 2.0, "beta": 1.0}),
    "MatMul": ([_ROWS, np.ones((4, 2), "float32")], {}),
    "Einsum": ([_ROWS, np.ones((4, 2), "float32")], {"equation": "ij,jk->ik"}),
    "Clip": ([_ROWS, np.float32(0), np.float32(1)], {}),
    "Trilu": ([_ROWS, _scalar(1)], {"upper": 0}),
    "EyeLike": ([_ROWS], {"k": 1, "dtype": 1}),
    "Cast": ([_ROWS], {"to": 7}),
    "Shape": ([_ROWS], {"start": 0, "end": 2}),
    "ReverseSequence": ([_ROWS, _ints(1, 2, 3, 4)], {"time_axis": 0, "batch_axis": 1}),
    "DFT": ([("f", (1, 4, 1)), _scalar(4), _scalar(1)], {"onesided": 0, "inverse": 0}),
    "Col2Im": ([("f", (1, 4, 9)), _ints(4, 4), _ints(2, 2)], {"strides": [1, 1], "pads": [0, 0, 0, 0]}),
    "HannWindow": ([_scalar(6)], {"periodic": 1, "output_datatype": 1}),
    "DequantizeLinear": ([("b", (3, 4)), _floats(0.5, 1, 2, 3)], {"axis": 1}),
    "BitShift": ([np.array([1, 2], "uint8"), np.array([1, 2], "uint8")], {"direction": "LEFT"}),
    "Mod": ([_INTEGERS, _ints(1, 2, 3, 4)], {"fmod": 0}),
    "Div": ([_INTEGERS, _ints(1, 2, 3, 4)], {}),
    "Compress": ([_ROWS, np.array([True, False, True])], {"axis": 0}),
    "SplitToSequence": ([_ROWS, _scalar(1)], {"axis": 0}),
    "Dropout": ([_ROWS, np.float32(0.5)], {"seed": 1}),
    "Upsample": ([_IMAGE, _floats(1, 1, 2, 2)], {"mode": "nearest"}),
    "Scatter": ([_ROWS, np.zeros((1, 4), "int64"), np.ones((1, 4), "float32")], {"axis": 0}),
    "LSTM": (
        [("f", (3, 1, 4)), np.ones((1, 8, 4), "float32"), np.ones((1, 8, 2), "float32")],
        {"hidden_size": 2, "direction": "forward", "clip": 3.0},
    ),
    "GridSample": ([_IMAGE, ("f", (1, 3, 3, 2))], {"align_corners": 1}),
    "Attention": ([("f", (1, 4, 8)), ("f", (1, 4, 8)), ("f", (1, 4, 8))], {"q_num_heads": 2, "kv_num_heads": 2}),
    "Loop": ([_scalar(3), np.array(True), _ROWS], {}),
    "Scan": ([_ROWS], {"num_scan_inputs": 1, "scan_input_axes": [0], "scan_output_axes": [0]}),
}
"""A valid node for each operator: its operands, which are types of inputs or constants, and its attributes."""

_VERSIONS = {
    "Upsample": 9,
    "Scatter": 9,
    "Attention": 23,
    "RMSNormalization": 23,
    "RotaryEmbedding": 23,
    "TensorScatter": 24,
}
_RESULTS = {"TopK": 2, "Split": 2, "MaxPool": 2, "LSTM": 3, "Loop": 1}
_CODES = {"f": TensorProto.FLOAT, "i": TensorProto.INT64, "b": TensorProto.UINT8}
_EDGE_INTEGERS = st.sampled_from(
    (0, 1, -1, 2, -2, 3, 7, 64, 70, 2**16 + 1, 2**31, 2**40, 2**63 - 1, -(2**31), -(2**63))
)
_EDGE_FLOATS = st.sampled_from(
    (0.0, -0.0, 1.0, -1.0, 0.5, 1e-30, 1e30, 3e38, float("inf"), float("-inf"), float("nan"))
)


def _body(name: str) -> Any:
    """The body of a loop or a scan."""
    rows = [helper.make_tensor_value_info(n, TensorProto.FLOAT, None) for n in ("v", "w")]
    if name == "Scan":
        return helper.make_graph([helper.make_node("Neg", ["v"], ["w"])], "body", rows[:1], rows[1:])
    given = [helper.make_tensor_value_info("n", TensorProto.INT64, []), helper.make_tensor_value_info("c", 9, [])]
    nodes = [helper.make_node("Neg", ["v"], ["w"]), helper.make_node("Identity", ["c"], ["d"])]
    going = helper.make_tensor_value_info("d", TensorProto.BOOL, [])
    return helper.make_graph(nodes, "body", [*given, rows[0]], [going, rows[1]])


def valid_model(name: str) -> Any:
    """The model with the node `MODELS[name]`."""
    operands, attributes = MODELS[name]
    op, inputs, constants, names = name.strip(), [], [], []
    for n, operand in enumerate(operands):
        names.append("" if isinstance(operand, np.ndarray) and operand.size == 0 else f"in{n}")
        if isinstance(operand, tuple):
            inputs.append(helper.make_tensor_value_info(names[-1], _CODES[operand[0]], operand[1]))
        elif names[-1]:
            constants.append(numpy_helper.from_array(np.asarray(operand), names[-1]))
    results = [f"out{n}" for n in range(_RESULTS.get(op, 1))]
    node = helper.make_node(op, names, results, **attributes)
    if op in ("Loop", "Scan"):
        node.attribute.append(helper.make_attribute("body", _body(op)))
    outputs = [helper.make_empty_tensor_value_info(each) for each in results]
    graph = helper.make_graph([node], "g", inputs, outputs, constants)
    opsets = [helper.make_opsetid("", _VERSIONS.get(op, 21))]
    return helper.make_model(graph, opset_imports=opsets, ir_version=10)


# Changes


def _pick_node(draw: Callable[..., Any], proto: Any) -> Any:
    return proto.graph.node[draw(st.integers(0, len(proto.graph.node) - 1))]


def _change_attribute(draw: Callable[..., Any], proto: Any) -> None:
    node = _pick_node(draw, proto)
    if not node.attribute:
        return
    attribute = node.attribute[draw(st.integers(0, len(node.attribute) - 1))]
    match attribute.type:
        case AttributeProto.INT:
            attribute.i = draw(_EDGE_INTEGERS)
        case AttributeProto.FLOAT:
            attribute.f = draw(_EDGE_FLOATS)
        case AttributeProto.INTS:
            attribute.ints[:] = draw(st.lists(_EDGE_INTEGERS, max_size=4))
        case AttributeProto.STRING:
            attribute.s = draw(st.sampled_from((b"", b"nearest", b"wrap", b"edge", b"\xff", b"ij->k", b"...")))
        case _:
            pass


def _change_shape(draw: Callable[..., Any], proto: Any) -> None:
    if not proto.graph.input:
        return
    shape = proto.graph.input[draw(st.integers(0, len(proto.graph.input) - 1))].type.tensor_type.shape
    kind = draw(st.sampled_from(("extent", "name", "fewer", "more")))
    if kind == "more":
        for _ in range(draw(st.sampled_from((1, 66)))):
            shape.dim.add(dim_value=1)
    elif shape.dim:
        place = draw(st.integers(0, len(shape.dim) - 1))
        if kind == "fewer":
            del shape.dim[place]
        elif kind == "name":
            shape.dim[place].dim_param = "n"
        else:
            shape.dim[place].dim_value = draw(_EDGE_INTEGERS)


def _change_constant(draw: Callable[..., Any], proto: Any) -> None:
    if not proto.graph.initializer:
        return
    place = draw(st.integers(0, len(proto.graph.initializer) - 1))
    old = proto.graph.initializer[place]
    array = np.array(numpy_helper.to_array(old))
    kind = draw(st.sampled_from(("element", "element", "fewer", "more", "dtype", "rank")))
    if kind == "element" and array.size:
        edges = _EDGE_FLOATS if array.dtype.kind == "f" else _EDGE_INTEGERS
        with np.errstate(all="ignore"):
            array.flat[draw(st.integers(0, array.size - 1))] = np.array(draw(edges)).astype(array.dtype)
    elif kind == "fewer":
        array = array.reshape(-1)[:-1]
    elif kind == "more":
        array = np.concatenate([array.reshape(-1), array.reshape(-1)])
    elif kind == "dtype":
        with np.errstate(all="ignore"):
            array = array.astype(draw(st.sampled_from(("float32", "int64", "int32", "bool"))))
    else:
        array = (
            array.reshape((1,) * draw(st.sampled_from((1, 3, 29 - array.ndim))) + array.shape)
            if array.ndim < 20
            else array
        )
    old.CopyFrom(numpy_helper.from_array(array, old.name))


def _drop_operand(draw: Callable[..., Any], proto: Any) -> None:
    node = _pick_node(draw, proto)
    if node.input:
        node.input[draw(st.integers(0, len(node.input) - 1))] = ""


_CHANGES = (_change_attribute, _change_shape, _change_constant, _change_constant, _drop_operand)


def change(draw: Callable[..., Any], proto: Any) -> None:
    """One to three changes of a model in place, after which it is seldom valid."""
    for each in draw(st.lists(st.sampled_from(_CHANGES), min_size=1, max_size=3)):
        each(draw, proto)


def check_import(proto: Any) -> None:
    """Raises an error unless a model is imported, or is refused by an error that names the reason, within `limits`."""
    with limits():
        try:
            from_onnx(proto)
        except StepwellError as error:
            reason = str(error)
        else:
            return
    for text in ("needs more memory", "nested too deeply", UNEXPECTED):
        assert text not in reason, reason

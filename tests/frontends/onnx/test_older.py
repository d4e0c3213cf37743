"""Models of opsets before 7: operators with the attributes and the broadcast of their time."""

from typing import Any

import numpy as np
import pytest

onnx = pytest.importorskip("onnx")
from onnx import helper  # noqa: E402

from stepwell.backends.graph import build_graph  # noqa: E402
from stepwell.frontends.onnx import OnnxError, OnnxUnsupportedError, from_onnx  # noqa: E402
from stepwell.tools.testing.execution import run_graph  # noqa: E402

X = np.random.default_rng(0).uniform(0.5, 2, (2, 3, 4, 5)).astype("float32")
C = np.array([1, 2, 3], "float32")
ROW = np.arange(1, 6, dtype="float32")
WHOLE = C.reshape(3, 1, 1)


def run(op: str, opset: int, arrays: list[np.ndarray], **attributes: Any) -> np.ndarray:
    """The result of one node."""
    names = [f"i{n}" for n in range(len(arrays))]
    inputs = [
        helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(array.dtype), array.shape)
        for name, array in zip(names, arrays, strict=True)
    ]
    outputs = [helper.make_empty_tensor_value_info("out")]
    graph = helper.make_graph([helper.make_node(op, names, ["out"], **attributes)], "g", inputs, outputs)
    proto = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=3)
    return run_graph(build_graph(from_onnx(proto)), arrays)[0]


CASES: dict[str, tuple[str, int, list[np.ndarray], dict[str, Any], Any]] = {
    "a sum along an axis": ("Add", 6, [X, C], {"broadcast": 1, "axis": 1}, X + WHOLE),
    "a difference from the last axes": ("Sub", 1, [X, ROW], {"broadcast": 1, "consumed_inputs": [0, 0]}, X - ROW),
    "a product of two axes": ("Mul", 6, [X, X[0, :, :, 0]], {"broadcast": 1, "axis": 1}, X * X[0, :, :, :1]),
    "a quotient along a negative axis": ("Div", 6, [X, C], {"broadcast": 1, "axis": -3}, X / WHOLE),
    "powers": ("Pow", 1, [X, C], {"broadcast": 1, "axis": 1}, X**WHOLE),
    "comparisons": ("Greater", 1, [X, C / 2], {"broadcast": 1, "axis": 1}, X > WHOLE / 2),
    "equal shapes": ("Add", 6, [X, X], {}, X + X),
    "consumed inputs": ("Relu", 1, [X - 1], {"consumed_inputs": [0]}, np.maximum(X - 1, 0)),
    "bounds": ("Clip", 1, [X], {"min": 0.75, "max": 1.5, "consumed_inputs": [0]}, X.clip(0.75, 1.5)),
    "a slope for each channel": ("PRelu", 6, [X - 1, C], {}, np.where(X < 1, (X - 1) * WHOLE, X - 1)),
    "a slope for all": ("PRelu", 1, [X - 1, C[2:]], {"consumed_inputs": [0, 0]}, np.where(X < 1, (X - 1) * 3, X - 1)),
    "an attribute for the shape": ("Reshape", 1, [X], {"shape": [0, -1, 10]}, X.reshape(2, 6, 10)),
    "dropout": ("Dropout", 6, [X], {"is_test": 1}, X),
    "a sum with a row": ("Gemm", 6, [X[0, 0], X[0, 0].T, C[[0, 1, 2, 0]]], {"broadcast": 1}, None),
    "concatenation by default": ("Concat", 1, [X, X], {}, np.concatenate([X, X], 1)),
    "a data type by name": ("Cast", 1, [X], {"to": "INT32"}, X.astype("int32")),
    "paddings": ("Pad", 1, [X[0, 0]], {"paddings": [0, 1, 2, 0], "value": 3.0}, None),
    "scales by name": ("Upsample", 1, [X], {"height_scale": 2.0, "width_scale": 1.0}, X.repeat(2, 2)),
    "a batch norm": ("BatchNormalization", 6, [X, C, C, C, C], {"is_test": 1, "epsilon": 0.0}, None),
}


@pytest.mark.parametrize("case", CASES)
def test_operators_of_old_opsets(case: str) -> None:
    op, opset, arrays, attributes, expected = CASES[case]
    if op == "Gemm":
        expected = arrays[0] @ arrays[1] + arrays[2]
    if op == "Pad":
        expected = np.pad(arrays[0], ((0, 2), (1, 0)), constant_values=3)
    if op == "BatchNormalization":
        expected = (X - WHOLE) / np.sqrt(WHOLE) * WHOLE + WHOLE
    got = run(op, opset, arrays, **attributes)
    assert got.dtype == expected.dtype
    np.testing.assert_allclose(got, expected, 1e-5, 1e-6)


def test_errors_of_old_opsets() -> None:
    with pytest.raises(OnnxError, match="axis 3 of operands of 4 and 2 dimensions"):
        run("Add", 6, [X, X[0, 0]], broadcast=1, axis=3)
    with pytest.raises(OnnxError, match=r"the node of 'out' \(Tile\): expected opset 7 or newer, got opset 1"):
        run("Tile", 1, [X, np.array([2]), np.array([1])])
    for op, arrays in (("Dropout", [X]), ("BatchNormalization", [X, C, C, C, C])):
        with pytest.raises(OnnxUnsupportedError, match="training"):
            run(op, 6, arrays)

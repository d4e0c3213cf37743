"""Operators of quantized models: those of ONNX whose operands stay bytes, and those that ONNX Runtime adds."""

from typing import Any

import numpy as np
import pytest

pytest.importorskip("onnx")

from onnx import TensorProto, helper, numpy_helper

from stepwell import apply_passes
from stepwell.backends.graph import GraphExecutor, build_graph
from stepwell.frontends.onnx import from_onnx

CHOOSE = np.random.default_rng(0)
SCALE, OTHER, RESULT = (np.float32(x) for x in (0.05, 0.02, 0.1))


def integers(*shape: int, dtype: str = "uint8") -> np.ndarray:
    limits = np.iinfo(dtype)
    return CHOOSE.integers(limits.min, limits.max, shape, endpoint=True).astype(dtype)


def run(
    node: Any, arrays: dict[str, Any], inputs: tuple[str, ...], dtype: int = TensorProto.UINT8, opset: int = 17
) -> np.ndarray:
    """The result of a model of one node. inputs: the arrays that are not constants.  dtype: of the result."""
    kinds = {"uint8": TensorProto.UINT8, "int8": TensorProto.INT8}
    infos = [helper.make_tensor_value_info(x, kinds[arrays[x].dtype.name], arrays[x].shape) for x in inputs]
    constants = [numpy_helper.from_array(np.asarray(a), x) for x, a in arrays.items() if x not in inputs]
    result = helper.make_tensor_value_info("result", dtype, None)
    graph = helper.make_graph([node], "g", infos, [result], constants)
    opsets = [helper.make_opsetid("", opset), helper.make_opsetid("com.microsoft", 1)]
    executor = GraphExecutor(build_graph(from_onnx(helper.make_model(graph, opset_imports=opsets, ir_version=10))))
    executor.run(**{x: arrays[x] for x in inputs})
    return executor.get_output(0)


def numbers(x: np.ndarray, scale: Any, zero: int) -> np.ndarray:
    return (x.astype("int64") - zero).astype("float32") * scale


def quantized(x: np.ndarray, zero: int, dtype: str = "uint8") -> np.ndarray:
    limits = np.iinfo(dtype)
    return np.clip(np.rint(x / RESULT) + zero, limits.min, limits.max).astype(dtype)


def binary(op: str) -> tuple[Any, dict[str, Any]]:
    arrays: dict[str, Any] = {"a": integers(3, 40), "as": SCALE, "az": np.uint8(120), "b": integers(3, 40), "bs": OTHER}
    arrays |= {"bz": np.uint8(7), "ys": RESULT, "yz": np.uint8(128)}
    return helper.make_node(op, [*arrays], ["result"], domain="com.microsoft"), arrays


@pytest.mark.parametrize(("op", "meaning"), [("QLinearAdd", np.add), ("QLinearMul", np.multiply)])
def test_arithmetic(op: str, meaning: Any) -> None:
    node, arrays = binary(op)
    expected = quantized(meaning(numbers(arrays["a"], SCALE, 120), numbers(arrays["b"], OTHER, 7)), 128)
    np.testing.assert_array_equal(run(node, arrays, ("a", "b")), expected)


@pytest.mark.parametrize("op", ["QLinearSigmoid", "QLinearLeakyRelu"])
def test_functions(op: str) -> None:
    arrays: dict[str, Any] = {
        "x": integers(3, 40, dtype="int8"),
        "s": SCALE,
        "z": np.int8(3),
        "t": RESULT,
        "y": np.int8(1),
    }
    attributes: dict[str, Any] = {"alpha": 0.25} if op == "QLinearLeakyRelu" else {}
    node = helper.make_node(op, [*arrays], ["result"], domain="com.microsoft", **attributes)
    x = numbers(arrays["x"], SCALE, 3)
    expected = np.where(x < 0, x * np.float32(0.25), x) if attributes else 1 / (1 + np.exp(-x))
    got, wanted = run(node, arrays, ("x",), TensorProto.INT8), quantized(expected, 1, "int8")
    assert got.dtype == np.int8
    assert np.abs(got.astype(int) - wanted).max() <= (0 if attributes else 1)


def test_global_average_pool_and_concat() -> None:
    arrays: dict[str, Any] = {"x": integers(2, 5, 6, 7), "s": SCALE, "z": np.uint8(9), "t": RESULT, "y": np.uint8(30)}
    node = helper.make_node("QLinearGlobalAveragePool", [*arrays], ["result"], domain="com.microsoft")
    wanted = quantized(numbers(arrays["x"], SCALE, 9).mean((2, 3), keepdims=True), 30)
    assert np.abs(run(node, arrays, ("x",)).astype(int) - wanted).max() <= 1  # halves of sums in another order
    arrays = {"t": RESULT, "y": np.uint8(30), "a": integers(2, 3), "s": SCALE, "z": np.uint8(9), "b": integers(2, 4)}
    node = helper.make_node(
        "QLinearConcat", ["t", "y", "a", "s", "z", "b", "s", "z"], ["result"], domain="com.microsoft", axis=1
    )
    joined = numbers(np.concatenate([arrays["a"], arrays["b"]], 1), SCALE, 9)
    np.testing.assert_array_equal(run(node, arrays, ("a", "b")), quantized(joined, 30))


@pytest.mark.parametrize("has_result", [True, False])
def test_gemm(has_result: bool) -> None:
    arrays: dict[str, Any] = {
        "a": integers(5, 24),
        "as": SCALE,
        "az": np.uint8(120),
        "b": integers(33, 24, dtype="int8"),
    }
    arrays |= {"bs": CHOOSE.uniform(0.01, 0.02, 33).astype("float32"), "bz": np.zeros(33, "int8")}
    arrays |= {"c": CHOOSE.integers(-9, 9, 33).astype("int32")}
    arrays |= {"ys": RESULT, "yz": np.uint8(100)} if has_result else {}
    node = helper.make_node("QGemm", [*arrays], ["result"], domain="com.microsoft", transB=1, alpha=0.5)
    total = (arrays["a"].astype("int32") - 120) @ arrays["b"].astype("int32").T + arrays["c"]
    expected = total.astype("float32") * (SCALE * np.float32(0.5) * arrays["bs"])
    got = run(node, arrays, ("a",), TensorProto.UINT8 if has_result else TensorProto.FLOAT)
    if has_result:
        assert np.abs(got.astype(int) - quantized(expected, 100)).max() <= 1
    else:
        np.testing.assert_allclose(got, expected, 1e-5)


@pytest.mark.parametrize("zeros", ["numbers", "rows"])
def test_integer_products_with_zero_points_for_each_row_or_column(zeros: str) -> None:
    rows = zeros == "rows"
    a, b = integers(5, 24), integers(24, 18, dtype="int8")
    arrays = {
        "a": a,
        "b": b,
        "az": integers(5) if rows else np.uint8(3),
        "bz": integers(18, dtype="int8") if rows else np.int8(0),
    }
    node = helper.make_node("MatMulInteger", ["a", "b", "az", "bz"], ["result"])
    left = a.astype("int32") - arrays["az"].astype("int32").reshape(-1, 1)
    right = b.astype("int32") - arrays["bz"].astype("int32")
    np.testing.assert_array_equal(run(node, arrays, ("a",), TensorProto.INT32), left @ right)


def test_a_scale_for_each_block_of_a_vector() -> None:
    x = integers(6)
    arrays = {"x": x, "s": np.array([0.5, 2], "float32")}
    node = helper.make_node("DequantizeLinear", ["x", "s"], ["result"], axis=0, block_size=3)
    got = run(node, arrays, ("x",), TensorProto.FLOAT, opset=21)
    np.testing.assert_array_equal(got, x * np.repeat(arrays["s"], 3))


@pytest.mark.parametrize("shape", [(), (5,), (2, 3)])
def test_one_scale_has_no_axis(shape: tuple[int, ...]) -> None:
    """The default axis 1 is of vectors of scales alone."""
    arrays = {"x": integers(*shape), "scale": SCALE, "zero": np.uint8(9)}
    node = helper.make_node("DequantizeLinear", list(arrays), ["result"])
    expected = (arrays["x"].astype("float32") - 9) * SCALE
    np.testing.assert_array_equal(run(node, arrays, ("x",), TensorProto.FLOAT, 21), expected)


def test_dequantized_products_are_products_of_integers() -> None:
    """A model in the form of `QuantizeLinear` and `DequantizeLinear`, whose weights stay integers."""
    a, w = integers(6, 40), integers(33, 40, dtype="int8")
    arrays = {
        "a": a,
        "s": SCALE,
        "z": np.uint8(100),
        "w": w,
        "t": CHOOSE.uniform(0.01, 0.02, 33).astype("float32"),
        "y": np.zeros(33, "int8"),
    }
    nodes = [
        helper.make_node("DequantizeLinear", ["a", "s", "z"], ["x"]),
        helper.make_node("DequantizeLinear", ["w", "t", "y"], ["v"], axis=0),
        helper.make_node("Gemm", ["x", "v"], ["result"], transB=1),
    ]
    constants = [numpy_helper.from_array(np.asarray(array), name) for name, array in arrays.items() if name != "a"]
    graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info("a", TensorProto.UINT8, a.shape)],
        [helper.make_tensor_value_info("result", TensorProto.FLOAT, (6, 33))],
        constants,
    )
    module = from_onnx(helper.make_model(graph, ir_version=8, opset_imports=[helper.make_opsetid("", 17)]))
    assert "qnn.dense" in str(apply_passes(module, "relay-quantize-products"))
    executor = GraphExecutor(build_graph(module))
    executor.run(a=a)
    expected = numbers(a, SCALE, 100).astype("float64") @ (w * arrays["t"].reshape(-1, 1).astype("float64")).T
    np.testing.assert_allclose(executor.get_output(0), expected, 1e-5, 1e-4)

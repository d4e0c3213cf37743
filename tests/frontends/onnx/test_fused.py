"""Operators into which ONNX Runtime fuses parts of transformers."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

pytest.importorskip("onnx")

from onnx import helper

from stepwell.backends.graph import GraphExecutor, build_graph
from stepwell.frontends.onnx import OnnxError, OnnxUnsupportedError, from_onnx

CHOOSE = np.random.default_rng(0)
OPSETS = [helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)]


def numbers(*shape: int, dtype: str = "float32") -> np.ndarray:
    return CHOOSE.standard_normal(shape).astype(dtype)


def run(
    op: str,
    arrays: dict[str, Any],
    outputs: tuple[str, ...] = ("y",),
    inputs: list[str] | None = None,
    **attributes: Any,
) -> list[np.ndarray]:
    """The results of a model of one node. inputs: the names of its operands, `""` for an omitted one."""
    node = helper.make_node(op, inputs or [*arrays], [*outputs], domain="com.microsoft", **attributes)
    kind = helper.np_dtype_to_tensor_dtype(next(iter(arrays.values())).dtype)
    infos = [helper.make_tensor_value_info(name, kind, array.shape) for name, array in arrays.items()]
    results = [helper.make_tensor_value_info(name, kind, None) for name in outputs if name]
    graph = helper.make_graph([node], "g", infos, results)
    executor = GraphExecutor(build_graph(from_onnx(helper.make_model(graph, opset_imports=OPSETS, ir_version=8))))
    executor.run(**arrays)
    return [executor.get_output(n) for n in range(len(results))]


def gelu(x: np.ndarray, approximate: bool) -> np.ndarray:
    wide = x.astype("float64")
    if approximate:
        return wide / 2 * (1 + np.tanh(math.sqrt(2 / math.pi) * (wide + 0.044715 * wide**3)))
    return wide / 2 * (1 + np.vectorize(math.erf)(wide / math.sqrt(2)))


@pytest.mark.parametrize("dtype", ["float32", "float16"])
@pytest.mark.parametrize(
    ("op", "has_bias"), [("Gelu", False), ("BiasGelu", True), ("FastGelu", False), ("FastGelu", True)]
)
def test_gelu(op: str, has_bias: bool, dtype: str) -> None:
    arrays = {"x": numbers(3, 5, 16, dtype=dtype), **({"bias": numbers(16, dtype=dtype)} if has_bias else {})}
    (result,) = run(op, arrays)
    assert result.dtype == dtype
    total = sum(array.astype("float64") for array in arrays.values())
    tolerance = 1e-5 if dtype == "float32" else 2e-3
    np.testing.assert_allclose(result, gelu(np.asarray(total), op == "FastGelu"), tolerance, tolerance)


@pytest.mark.parametrize("dtype", ["float32", "float16"])
@pytest.mark.parametrize("has_bias", [True, False])
def test_layer_norm_of_a_sum(has_bias: bool, dtype: str) -> None:
    arrays = {name: numbers(2, 5, 16, dtype=dtype) for name in ("x", "skip")}
    arrays |= {name: numbers(16, dtype=dtype) for name in ("scale", "beta", *(["bias"] if has_bias else []))}
    result, total = run("SkipLayerNormalization", arrays, ("y", "", "", "total"), epsilon=1e-3)
    wide = {name: array.astype("float64") for name, array in arrays.items()}
    expected = wide["x"] + wide["skip"] + wide.get("bias", 0)
    tolerance = 1e-5 if dtype == "float32" else 5e-3
    np.testing.assert_allclose(total, expected, tolerance, tolerance)
    centered = expected - expected.mean(-1, keepdims=True)
    slope = 1 / np.sqrt((centered**2).mean(-1, keepdims=True) + 1e-3)
    np.testing.assert_allclose(result, centered * slope * wide["scale"] + wide["beta"], tolerance, tolerance)


def test_layer_norm_of_a_sum_with_its_mean_and_without_beta() -> None:
    arrays = {"x": numbers(2, 5, 16), "skip": numbers(1, 5, 16), "scale": numbers(16), "bias": numbers(16)}
    names = ["x", "skip", "scale", "", "bias"]
    result, mean, slope = run("SkipLayerNormalization", arrays, ("y", "mean", "slope"), names)
    total = arrays["x"] + arrays["skip"] + arrays["bias"]
    np.testing.assert_allclose(mean, total.mean(-1, keepdims=True), 1e-5, 1e-6)
    np.testing.assert_allclose(slope, 1 / total.std(-1, keepdims=True), 1e-5)
    np.testing.assert_allclose(result, (total - mean) * slope * arrays["scale"], 1e-4, 1e-5)


@pytest.mark.parametrize("has_bias", [True, False])
def test_root_mean_square_norm_of_a_sum(has_bias: bool) -> None:
    arrays = {"x": numbers(2, 5, 16), "skip": numbers(2, 5, 16), "scale": numbers(16)}
    arrays |= {"bias": numbers(16)} if has_bias else {}
    result, total = run("SkipSimplifiedLayerNormalization", arrays, ("y", "", "", "total"), epsilon=1e-3)
    expected = arrays["x"] + arrays["skip"] + arrays.get("bias", 0)
    np.testing.assert_allclose(total, expected, 1e-6, 1e-6)
    slope = 1 / np.sqrt((expected**2).mean(-1, keepdims=True) + 1e-3)
    np.testing.assert_allclose(result, expected * slope * arrays["scale"], 1e-5, 1e-5)
    with pytest.raises(OnnxUnsupportedError, match="the mean of the squares as a result is not supported"):
        run("SkipSimplifiedLayerNormalization", arrays, ("y", "", "slope"))


@pytest.mark.parametrize(("trans_a", "trans_b"), [(0, 0), (1, 0), (0, 1), (1, 1)])
def test_fused_matmul(trans_a: int, trans_b: int) -> None:
    a, b = numbers(2, 3, 4, 5), numbers(3, 5, 6)
    arrays = {"a": a.swapaxes(-1, -2).copy() if trans_a else a, "b": b.swapaxes(-1, -2).copy() if trans_b else b}
    (result,) = run("FusedMatMul", arrays, transA=trans_a, transB=trans_b, alpha=0.125)
    np.testing.assert_allclose(result, 0.125 * (a @ b), 1e-5, 1e-5)


def test_fused_matmul_that_is_not_supported() -> None:
    arrays = {"a": numbers(5), "b": numbers(5, 6)}
    with pytest.raises(OnnxError, match="attribute 'transA': operand 0 has 1 dimensions, expected at least 2"):
        run("FusedMatMul", arrays, transA=1)
    with pytest.raises(OnnxUnsupportedError, match="a transposed batch is not supported"):
        run("FusedMatMul", arrays, transBatchA=1)

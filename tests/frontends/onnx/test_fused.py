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


def layer_norm(x: np.ndarray, epsilon: float) -> np.ndarray:
    return (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + epsilon)


@pytest.mark.parametrize("is_whole", [True, False])
def test_layer_norm_of_embeddings(is_whole: bool) -> None:
    arrays = {"words": CHOOSE.integers(0, 9, (2, 5)), "segments": CHOOSE.integers(0, 2, (2, 5))}
    arrays |= {"table": numbers(9, 8), "places": numbers(7, 8), "parts": numbers(2, 8)}
    arrays |= {"gamma": numbers(8), "beta": numbers(8)}
    arrays |= {"mask": CHOOSE.integers(0, 2, (2, 5)), "at": CHOOSE.integers(0, 7, (2, 5))}
    arrays = {name: array.astype("int32") if array.dtype == "int64" else array for name, array in arrays.items()}
    names = [*arrays]
    total = arrays["table"][arrays["words"]]
    if is_whole:
        total = total + arrays["places"][arrays["at"]] + arrays["parts"][arrays["segments"]]
    else:
        names = ["words", "", "table", "places", "", "gamma", "beta"]
        arrays = {name: array for name, array in arrays.items() if name in names}
        total = total + arrays["places"][:5]
    types = {name: helper.np_dtype_to_tensor_dtype(array.dtype) for name, array in arrays.items()}
    node = helper.make_node(
        "EmbedLayerNormalization", names, ["y", "count", "sum"], domain="com.microsoft", epsilon=1e-3
    )
    infos = [helper.make_tensor_value_info(name, types[name], array.shape) for name, array in arrays.items()]
    results = [helper.make_tensor_value_info(name, kind, None) for name, kind in (("y", 1), ("count", 6), ("sum", 1))]
    model = helper.make_model(helper.make_graph([node], "g", infos, results), opset_imports=OPSETS, ir_version=8)
    executor = GraphExecutor(build_graph(from_onnx(model)))
    executor.run(**arrays)
    got = [executor.get_output(n) for n in range(3)]
    np.testing.assert_allclose(got[0], layer_norm(total, 1e-3) * arrays["gamma"] + arrays["beta"], 1e-4, 1e-5)
    np.testing.assert_array_equal(got[1], arrays["mask"].sum(1) if is_whole else [0, 0])
    np.testing.assert_allclose(got[2], total, 1e-5, 1e-5)


def attended(
    x: np.ndarray, weight: np.ndarray, bias: np.ndarray, sizes: list[int], past: np.ndarray | None, added: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The attention of two heads, its keys and its values. added: to the scores."""
    parts = np.split(x.astype("float64") @ weight + bias, np.cumsum(sizes)[:-1], -1)
    q, k, v = (part.reshape(*x.shape[:2], 2, -1).swapaxes(1, 2) for part in parts)
    if past is not None:
        k, v = np.concatenate([past[0], k], 2), np.concatenate([past[1], v], 2)
    scores = q @ k.swapaxes(2, 3) / np.sqrt(sizes[0] // 2) + added
    powers = np.exp(scores - scores.max(-1, keepdims=True))
    heads = powers / powers.sum(-1, keepdims=True) @ v
    return heads.swapaxes(1, 2).reshape(*x.shape[:2], sizes[2]), k, v


@pytest.mark.parametrize("kind", ["plain", "causal", "past", "words", "pairs", "counts", "bias", "sizes", "half"])
def test_attention(kind: str) -> None:
    dtype = "float16" if kind == "half" else "float32"
    sizes = [8, 8, 12] if kind == "sizes" else [8, 8, 8]
    arrays = {"x": numbers(2, 3, 6, dtype=dtype), "weight": numbers(6, sum(sizes), dtype=dtype)}
    arrays["bias"] = numbers(sum(sizes), dtype=dtype)
    names, added, every = [*arrays], np.zeros((2, 1, 3, 3)), 3
    attributes: dict[str, Any] = {"num_heads": 2}
    match kind:
        case "causal":
            attributes["unidirectional"] = 1
            added = np.where(np.tri(3, 3), 0.0, -np.inf)
        case "past":
            arrays["past"], every = numbers(2, 2, 2, 4, 4), 7
            names += ["", "past"]
            attributes |= {"unidirectional": 1, "scale": 0.5}
            added = np.where(np.tri(3, 7, 4), 0.0, -np.inf)
        case "words" | "pairs" | "counts":
            shape = {"words": (2, 3), "pairs": (2, 3, 3), "counts": (2,)}[kind]
            mask = np.maximum(CHOOSE.integers(0, 2, shape), np.arange(shape[-1]) == 0).astype("int32")
            mask = mask + 1 if kind == "counts" else mask
            arrays["mask"] = mask
            names.append("mask")
            full = np.arange(3) < mask[:, None] if kind == "counts" else mask
            added = np.where(full.reshape(2, 1, -1, 3) > 0, 0.0, -10000.0)
        case "bias":
            arrays["added"] = numbers(2, 2, 3, 3)
            names += ["", "", "added"]
            added = arrays["added"]
        case "sizes":
            attributes["qkv_hidden_sizes"] = sizes
    outputs = ["y"] if kind == "sizes" else ["y", "present"]
    node = helper.make_node("Attention", names, outputs, domain="com.microsoft", **attributes)
    types = {name: helper.np_dtype_to_tensor_dtype(array.dtype) for name, array in arrays.items()}
    infos = [helper.make_tensor_value_info(name, types[name], array.shape) for name, array in arrays.items()]
    results = [helper.make_tensor_value_info(name, types["x"], None) for name in outputs]
    model = helper.make_model(helper.make_graph([node], "g", infos, results), opset_imports=OPSETS, ir_version=8)
    executor = GraphExecutor(build_graph(from_onnx(model)))
    executor.run(**arrays)
    x, weight, bias = (arrays[name].astype("float64") for name in ("x", "weight", "bias"))
    expected, keys, values = attended(x, weight, bias, sizes, arrays.get("past"), added)
    tolerance = 2e-2 if kind == "half" else 1e-4
    np.testing.assert_allclose(executor.get_output(0), expected, tolerance, tolerance)
    if kind != "sizes":
        assert executor.get_output(1).shape == (2, 2, 2, every, 4)
        np.testing.assert_allclose(executor.get_output(1), [keys, values], tolerance, tolerance)


def test_attention_that_is_not_supported() -> None:
    arrays = {"x": numbers(2, 3, 6), "weight": numbers(6, 24), "bias": numbers(24)}
    with pytest.raises(OnnxUnsupportedError, match="attribute 'do_rotary' is not supported"):
        run("Attention", arrays, num_heads=2, do_rotary=1)
    with pytest.raises(OnnxError, match="3 heads of 8 columns"):
        run("Attention", arrays, num_heads=3)
    with pytest.raises(OnnxError, match="weights of 24 columns, expected those of queries"):
        run("Attention", arrays, num_heads=2, qkv_hidden_sizes=[8, 8, 4])

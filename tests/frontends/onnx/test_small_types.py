"""Models with floats and integers of at most a byte conform to ONNX."""

from typing import Any

import ml_dtypes
import numpy as np
import pytest

onnx = pytest.importorskip("onnx")
from onnx import TensorProto, helper, numpy_helper  # noqa: E402
from onnx.reference import ReferenceEvaluator  # noqa: E402

from stepwell.backends.graph import build_graph  # noqa: E402
from stepwell.core.dtypes import max_value, min_value, numpy_dtype, parse_dtype  # noqa: E402
from stepwell.frontends.onnx import OnnxError, from_onnx  # noqa: E402
from stepwell.tools.testing.execution import run_graph  # noqa: E402

FLOAT8 = {
    "float8_e4m3fn": TensorProto.FLOAT8E4M3FN,
    "float8_e4m3fnuz": TensorProto.FLOAT8E4M3FNUZ,
    "float8_e5m2": TensorProto.FLOAT8E5M2,
    "float8_e5m2fnuz": TensorProto.FLOAT8E5M2FNUZ,
}
NUMBERS = np.array(
    [0, -0.0, 0.3, -0.3, 1e-9, 240, 248, 448, 464, 480, -1e6, 57344, 61440, 1e30, np.nan, np.inf, -np.inf], "float32"
)


def model(nodes: Any, inputs: Any, outputs: Any, weights: Any = (), opset: int = 25) -> Any:
    """A model. inputs, outputs: (name, shape, data type); weights: TensorProtos, or arrays by name."""
    initializers = (
        weights
        if isinstance(weights, list)
        else [numpy_helper.from_array(np.asarray(array), name) for name, array in dict(weights).items()]
    )

    def values(each: Any) -> list[Any]:
        return [helper.make_tensor_value_info(name, dtype, shape) for name, shape, dtype in each]

    graph = helper.make_graph(nodes, "g", values(inputs), values(outputs), initializers)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=13)


def run(proto: Any, *arrays: Any, fold: bool = True) -> Any:
    assert len(arrays) == len(proto.graph.input)
    return run_graph(build_graph(from_onnx(proto, fold=fold)), arrays)[0]


def cast(data: np.ndarray, to: int, **said: Any) -> Any:
    code = helper.np_dtype_to_tensor_dtype(data.dtype)
    node = helper.make_node("Cast", ["x"], ["y"], to=to, **said)
    return run(model([node], [("x", data.shape, code)], [("y", data.shape, to)]), data)


@pytest.mark.parametrize("name", FLOAT8)
@pytest.mark.parametrize("wide", ["float16", "bfloat16", "float32", "float64"])
def test_casts_saturate_unless_told_otherwise(name: str, wide: str) -> None:
    with np.errstate(all="ignore"):
        x = NUMBERS.astype(numpy_dtype(wide))
        free = x.astype(numpy_dtype(name))
        least, most = (bound(parse_dtype(name)) for bound in (min_value, max_value))
        kept = np.clip(x.astype("float64"), least, most).astype(numpy_dtype(name))
    for said, expected in (({}, kept), ({"saturate": 1}, kept), ({"saturate": 0}, free)):
        got = cast(x, FLOAT8[name], **said)
        assert got.dtype == expected.dtype
        np.testing.assert_array_equal(got.astype("float32"), expected.astype("float32"))
        np.testing.assert_array_equal(np.signbit(got.astype("float32"))[:2], np.signbit(expected.astype("float32"))[:2])


def test_integers_saturate_too() -> None:
    x = np.array([0, 3, 448, 449, 1000, -(2**31)], "int32")
    assert cast(x, TensorProto.FLOAT8E4M3FN).astype("float32").tolist() == [0, 3, 448, 448, 448, -448]


def test_casts_like_another_tensor() -> None:
    node = helper.make_node("CastLike", ["x", "w"], ["y"], saturate=0)
    proto = model(
        [node], [("x", (3,), TensorProto.FLOAT)], [("y", (3,), TensorProto.FLOAT8E5M2)],
        {"w": np.zeros(1, ml_dtypes.float8_e5m2)},
    )  # fmt: skip
    assert run(proto, np.array([1.1, 1e9, -1e9], "float32")).astype("float32").tolist() == [1, np.inf, -np.inf]


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ({}, [-127, -127, 0, 1, 1, 2, 127, 127, None]),
        ({"round_mode": "down"}, [-127, -127, 0, 0, 0, 1, 127, 127, None]),
        ({"round_mode": "nearest"}, [-127, -127, 0, 0, 1, 1, 127, 127, None]),
        ({"round_mode": "nearest", "saturate": 0}, [None, None, 0, 0, 1, 1, None, None, None]),
    ],
)
def test_powers_of_two_are_rounded_as_asked(said: dict[str, Any], expected: list[int | None]) -> None:
    x = np.array([0, 1e-40, 1, 1 + 2**-23, 1.5, 2 + 2**-22, 3.4e38, np.inf, np.nan], "float32")
    got = cast(x, TensorProto.FLOAT8E8M0, **said).view(np.uint8)
    assert got.tolist() == [255 if power is None else power + 127 for power in expected]


def test_a_round_mode_that_is_not_there_is_refused() -> None:
    with pytest.raises(OnnxError, match="round_mode 'odd', expected one of up, down, nearest"):
        cast(NUMBERS, TensorProto.FLOAT8E8M0, round_mode="odd")


@pytest.mark.parametrize("dtype", ["int4", "uint4", "int2", "uint2", "float4_e2m1fn", "float8_e4m3fn"])
@pytest.mark.parametrize("raw", [True, False])
@pytest.mark.parametrize("fold", [True, False])
def test_initializers_are_unpacked(dtype: str, raw: bool, fold: bool) -> None:
    values = (
        (np.arange(15, dtype="uint8") & np.uint8(2 ** parse_dtype(dtype).bits - 1))
        .view(numpy_dtype(dtype))
        .reshape(3, 5)
    )
    code = helper.np_dtype_to_tensor_dtype(values.dtype)
    packed = numpy_helper.from_array(values, "w")
    if not raw:
        packed = helper.make_tensor("w", code, values.shape, values.astype("float32").ravel().tolist())
    nodes = [helper.make_node("Cast", ["w"], ["v"], to=TensorProto.FLOAT), helper.make_node("Add", ["v", "x"], ["y"])]
    floats = TensorProto.FLOAT
    proto = model(nodes, [("x", (3, 5), floats)], [("y", (3, 5), floats)], [packed])
    np.testing.assert_array_equal(run(proto, np.ones((3, 5), "float32"), fold=fold), values.astype("float32") + 1)


@pytest.mark.parametrize("dtype", ["int4", "uint4", "int2", "uint2", *FLOAT8, "float4_e2m1fn"])
def test_quantization_and_back(dtype: str) -> None:
    code = helper.np_dtype_to_tensor_dtype(numpy_dtype(dtype))
    x = np.random.default_rng(0).uniform(-40, 40, (4, 3)).astype("float32")
    weights = {"s": np.array([0.5, 2, 4], "float32"), "z": np.array([0, 1, 1], numpy_dtype(dtype))}
    if "float" in dtype:
        weights["z"] = np.zeros(3, numpy_dtype(dtype))
    for output, code_out in (("q", code), ("y", TensorProto.FLOAT)):
        nodes = [
            helper.make_node("QuantizeLinear", ["x", "s", "z"], ["q"], axis=1),
            helper.make_node("DequantizeLinear", ["q", "s", "z"], ["y"], axis=1),
        ]
        proto = model(
            nodes[: 1 + (output == "y")], [("x", (4, 3), TensorProto.FLOAT)], [(output, (4, 3), code_out)], weights
        )
        reference: Any = ReferenceEvaluator(proto)
        (expected,) = reference.run(None, {"x": x})
        got = run(proto, x)
        assert got.dtype == expected.dtype
        np.testing.assert_array_equal(got.astype("float32"), expected.astype("float32"))

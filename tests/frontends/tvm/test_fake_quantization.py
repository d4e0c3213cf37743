"""Operators on quantized integers, and the conversion of operators between `qnn.dequantize` and `qnn.quantize`."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from stepwell import OptionError, StepwellError
from stepwell.frontends import tvm
from stepwell.frontends.tvm import relay
from stepwell.frontends.tvm.relay.fake_quantization import FakeQuantizationError

qnn = relay.qnn
RNG = np.random.default_rng(0)


def dequantized(shape: list[int], scale: Any = 0.5, zero: int = 3, axis: int = -1, dtype: str = "int8") -> Any:
    return qnn.dequantize(relay.var("x", shape=shape, dtype=dtype), relay.const(scale), relay.const(zero), axis)


def quantized(expr: Any, scale: float = 0.25, zero: int = -5, dtype: str = "int8") -> Any:
    return qnn.quantize(expr, relay.const(scale), relay.const(zero), out_dtype=dtype)


def weight(shape: list[int], scale: Any = 0.125) -> Any:
    value = relay.const(np.arange(int(np.prod(shape)), dtype="int8").reshape(shape))
    return qnn.dequantize(value, relay.const(scale), relay.const(1), axis=0)


PER_CHANNEL = np.asarray([0.1, 0.2, 0.3], "float32")

CASES: dict[str, tuple[Callable[[], Any], str]] = {
    "a reshape": (lambda: relay.reshape(dequantized([2, 6]), (3, 4)), "reshape"),
    "a pool": (lambda: relay.nn.max_pool2d(dequantized([1, 2, 4, 4]), (2, 2)), "nn.max_pool2d"),
    "an average": (lambda: relay.nn.avg_pool2d(dequantized([1, 2, 4, 4]), (2, 2)), "nn.avg_pool2d"),
    "a global average": (lambda: relay.nn.global_avg_pool2d(dequantized([1, 2, 4, 4])), "sum"),
    "a mean": (lambda: relay.mean(dequantized([4, 6]), axis=1), "sum"),
    "a sum of tensors": (lambda: dequantized([4, 6]) + dequantized([4, 6], 0.3, 1), "qnn.add"),
    "a sum with a constant": (lambda: dequantized([4, 6]) + relay.const(1.5), "qnn.add"),
    "a product": (lambda: dequantized([4, 6], 0.03) * dequantized([4, 6], 0.3, 1), "qnn.mul"),
    "a difference to move": (lambda: relay.transpose(dequantized([4, 6]) - relay.const(2.0)), "qnn.subtract"),
    "a product before relu": (lambda: relay.nn.relu(dequantized([4, 6]) * dequantized([4, 6], 0.3)), "multiply"),
    "a sum before relu": (lambda: relay.nn.relu(dequantized([4, 6]) + dequantized([4, 6])), "add"),
    "the greater one": (lambda: relay.maximum(dequantized([4, 6]), dequantized([4, 6], 0.3)), "maximum"),
    "relu": (lambda: relay.nn.relu(dequantized([4, 3], PER_CHANNEL, 3)), "maximum"),
    "clip": (lambda: relay.clip(dequantized([4, 3], PER_CHANNEL, 3), 0.0, 3.0), "minimum"),
    "tanh": (lambda: relay.tanh(dequantized([4, 6], 0.02)), "qnn.tanh"),
    "leaky relu": (lambda: relay.nn.leaky_relu(dequantized([4, 6]), 0.1), "qnn.leaky_relu"),
    "padding": (lambda: relay.nn.pad(dequantized([4, 6]), ((1, 0), (0, 2)), 1.0), "nn.pad"),
    "parts": (lambda: relay.split(dequantized([4, 6]), 2, axis=1)[1], "split"),
    "joined tensors": (lambda: relay.concatenate([dequantized([4, 6]), dequantized([2, 6], 0.3)], 0), "concatenate"),
    "rows": (lambda: relay.take(dequantized([4, 6]), relay.const(np.array([3, 1])), axis=0), "take"),
    "the greatest": (lambda: relay.topk(dequantized([4, 6]), 2, ret_type="values"), "topk"),
    "dense": (lambda: relay.nn.dense(dequantized([4, 6], 0.01), weight([3, 6], PER_CHANNEL)), "qnn.dense"),
    "a dense layer with a bias": (
        lambda: relay.nn.bias_add(relay.nn.dense(dequantized([4, 6], 0.01), weight([3, 6])), relay.const([1.0, 2, 3])),
        "nn.bias_add",
    ),
    "a batch": (lambda: relay.nn.batch_matmul(dequantized([2, 3, 4], 0.01), weight([2, 3, 4])), "qnn.batch_matmul"),
    "a convolution": (
        lambda: relay.nn.conv2d(dequantized([1, 2, 5, 5], 0.01), weight([3, 2, 3, 3], PER_CHANNEL), padding=1),
        "qnn.conv2d",
    ),
    "a transposed convolution": (
        lambda: relay.nn.conv2d_transpose(dequantized([1, 2, 5, 5], 0.01), weight([2, 3, 3, 3])),
        "qnn.conv2d_transpose",
    ),
}


def evaluate(expr: Any, values: dict[Any, Any]) -> Any:
    """The value of an expression by the references of its operators."""
    if expr not in values:
        match expr:
            case relay.Constant():
                values[expr] = expr.data.numpy()
            case relay.TupleGetItem():
                values[expr] = evaluate(expr.tuple_value, values)[expr.index]
            case relay.Call():
                values[expr] = expr.op.reference(*(evaluate(arg, values) for arg in expr.args), **expr.attrs)
    return values[expr]


def run(func: Any, inputs: list[np.ndarray]) -> np.ndarray:
    return evaluate(func.body, dict(zip(func.params, inputs, strict=True))).astype("int64")


@pytest.mark.parametrize("name", CASES)
def test_operators_between_dequantize_and_quantize_become_operators_on_integers(name: str) -> None:
    build, operator = CASES[name]
    mod = tvm.IRModule.from_expr(quantized(build()))
    converted = relay.transform.FakeQuantizationToInteger(hard_fail=True)(mod)
    names = relay.analysis.list_op_freqs(converted["main"])
    assert operator in names
    assert "qnn.dequantize" not in names
    inputs = [RNG.integers(-128, 128, param.checked_type.shape, "int8") for param in converted["main"].params]
    assert np.abs(run(mod["main"], inputs) - run(converted["main"], inputs)).max() <= 1


@pytest.mark.parametrize(
    ("expr", "message"),
    [
        (lambda: relay.cos(dequantized([4])), "cos has no form on integers"),
        (
            lambda: relay.reshape(dequantized([4, 3], PER_CHANNEL), (12,)),
            "moves elements with parameters along",
        ),
        (lambda: relay.nn.relu(dequantized([4])) + relay.var("y", shape=(4,)), "%y is not quantized"),
    ],
)
def test_a_region_with_another_operator_stays_or_is_an_error(expr: Callable[[], Any], message: str) -> None:
    mod = tvm.IRModule.from_expr(quantized(expr()))
    assert tvm.ir.structural_equal(mod, relay.transform.FakeQuantizationToInteger()(mod))
    with pytest.raises(FakeQuantizationError, match=message):
        relay.transform.FakeQuantizationToInteger(hard_fail=True)(mod)


def test_operators_after_dequantize_are_converted_on_request() -> None:
    mod = tvm.IRModule.from_expr(relay.cos(relay.reshape(dequantized([4, 3]), (12,))))
    assert tvm.ir.structural_equal(mod, relay.transform.FakeQuantizationToInteger()(mod))
    converted = relay.transform.FakeQuantizationToInteger(use_qat=True)(mod)
    assert list(relay.analysis.list_op_freqs(converted["main"])) == ["reshape", "qnn.dequantize", "cos"]


def test_the_operators_of_regions_are_counted() -> None:
    region = relay.nn.relu(relay.reshape(dequantized([4, 3]), (12,)))
    mod = tvm.IRModule.from_expr(relay.sigmoid(quantized(region)))
    assert relay.analysis.list_fake_quantized_op_freqs(mod) == {"nn.relu": 1, "reshape": 1}


def test_requantize_takes_the_rounding_of_the_context() -> None:
    def halves() -> list[int]:
        data = relay.const(np.array([-3, -1, 1, 3], "int32"))
        one = [relay.const(0.5), relay.const(0), relay.const(1.0), relay.const(0)]
        return relay.create_executor().evaluate(qnn.requantize(data, *one)).numpy().tolist()

    assert halves() == [-1, 0, 1, 2]
    with qnn.requantize_config(rounding="TONEAREST"):
        assert halves() == [-2, -1, 1, 2]


def test_concatenate_requantizes_its_operands() -> None:
    parts = [relay.const(np.array([n, n + 1], "int8")) for n in (4, 10)]
    scales, zeros = [relay.const(0.5), relay.const(1.0)], [relay.const(0), relay.const(2)]
    joined = qnn.concatenate(parts, scales, zeros, relay.const(1.0), relay.const(1), axis=0)
    assert relay.create_executor().evaluate(joined).numpy().tolist() == [3, 4, 9, 10]
    with pytest.raises(OptionError, match="2 tensors, 1 scales and 2 zero points, expected as many of each"):
        qnn.concatenate(parts, scales[:1], zeros, relay.const(1.0), relay.const(1), axis=0)


def test_a_function_that_legalizes_gets_any_number_of_tensors_as_a_tuple() -> None:
    def swap(attrs: Any, inputs: list[Any], types: list[Any]) -> Any:
        assert [str(each) for each in types] == [
            "(Tensor[(2,), float32], Tensor[(3,), float32])",
            "Tensor[(5,), float32]",
        ]
        return relay.concatenate([inputs[0][1], inputs[0][0]], attrs.axis)

    x, y = relay.var("x", shape=(2,)), relay.var("y", shape=(3,))
    mod = tvm.IRModule.from_expr(relay.Function([x, y], relay.concatenate([x, y], 0)))
    with relay.testing.TempOpAttr("concatenate", "FTVMLegalize", swap):
        legal = relay.transform.Legalize()(mod)
    expected = tvm.IRModule.from_expr(relay.Function([x, y], relay.concatenate([y, x], 0)))
    assert tvm.ir.structural_equal(legal, expected)


def test_a_registered_function_legalizes_an_operator() -> None:
    def twice(attrs: Any, inputs: list[Any], types: list[Any]) -> Any:
        assert [each.dtype for each in types] == ["int8", "float32", "int32", "float32"]
        return qnn.dequantize(*inputs, axis=attrs.axis) * relay.const(2.0)

    mod = tvm.IRModule.from_expr(dequantized([3]))
    with relay.testing.TempOpAttr("qnn.dequantize", "FTVMQnnLegalize", lambda attrs, inputs, types: None):
        assert tvm.ir.structural_equal(qnn.transform.Legalize()(mod), mod)
    with relay.testing.TempOpAttr("qnn.dequantize", "FTVMQnnLegalize", twice):
        legal = qnn.transform.Legalize()(mod)
    got = relay.create_executor("graph", qnn.transform.CanonicalizeOps()(legal)).evaluate()(np.array([3, 4, 5], "int8"))
    np.testing.assert_array_equal(got.numpy(), [0, 1, 2])
    with (
        relay.testing.TempOpAttr("qnn.dequantize", "FTVMLegalize", lambda *args: 3),
        pytest.raises(StepwellError, match=r"Legalize: qnn.dequantize: 3, expected an expression or None"),
    ):
        relay.transform.Legalize()(mod)

"""Products of quantized integers have the same results with bytes, with int32, and with floats up to rounding."""

from dataclasses import dataclass, replace
from math import prod
from typing import Any
from unittest.mock import patch

import numpy as np
from hypothesis import example, given, settings
from hypothesis import strategies as st

from stepwell import Module, apply_passes, relay
from stepwell.backends.graph import GraphExecutor, build_graph
from stepwell.backends.interpreter import interpret
from stepwell.core.processors import threads
from stepwell.frontends.relay import qnn
from stepwell.frontends.relay.expr import Expr
from stepwell.frontends.relay.parameters import bind_parameters
from stepwell.schedule.cpu import threads as sharing


@dataclass(frozen=True)
class Quantized:
    """A product of quantized data and constant quantized weights.

    data, weight: the shapes.  kinds: their data types.  zeros: the zero points of data and weights; None for one zero
    point of weights for each row.  is_bound: whether the zero point of data is a constant.  attributes: of the
    convolution, None for a product of matrices.  divisor: the divisor of the dequantized product, which has a bias and
    an activation then; None for the product alone.  result: the data type that the products
    are quantized to; None for int32.  varies: whether a number for each column of the result is added "before" or
    "after" the products are quantized; of dequantized products, whether the bias is a multiple of the scale, and
    dequantized integers are added.
    """

    data: tuple[int, ...]
    weight: tuple[int, ...]
    kinds: tuple[str, str]
    zeros: tuple[int, int | None]
    is_bound: bool = True
    attributes: dict[str, Any] | None = None
    divisor: float | None = None
    result: str | None = None
    varies: str = ""

    def arrays(self) -> dict[str, Any]:
        choose = np.random.default_rng(prod(self.data))

        def integers(shape: tuple[int, ...], kind: str) -> Any:
            limits = np.iinfo(kind)
            return choose.integers(limits.min, limits.max + 1, shape).astype(kind)

        x, w = (integers(shape, kind) for shape, kind in zip((self.data, self.weight), self.kinds, strict=True))
        zero, weight_zero = self.zeros
        rows = choose.integers(0, 2, self.weight[0]) if weight_zero is None else np.asarray(weight_zero)
        return {"x": x, "w": w, "z": np.asarray(zero, "int32"), "y": rows.astype("int32")}

    def module(self, dequantized: bool, is_dynamic: bool = False) -> Module:
        """The program. dequantized: whether the operands are dequantized to floats before the product.  is_dynamic:
        whether the first extent of the data is known at run time."""
        arrays = self.arrays()
        x, w, z, y = (relay.var(name, shape=array.shape, dtype=array.dtype.name) for name, array in arrays.items())
        x = relay.var("x", shape=("n", *self.data[1:]), dtype=self.kinds[0]) if is_dynamic else x
        s, t = relay.const(0.5, "float32"), relay.const(0.25, "float32")
        convolution = self.attributes is not None
        if dequantized:
            x_, w_ = qnn.dequantize(x, s, z), qnn.dequantize(w, t, y, axis=0)
            net: Expr = relay.nn.conv2d(x_, w_, **self.attributes or {}) if convolution else relay.nn.dense(x_, w_)
            if self.divisor is not None:
                numbers = np.linspace(-2, 2, self.weight[0])
                bias = relay.const(np.rint(numbers * 99) * 0.125 if self.varies else numbers, "float32")
                biased = relay.nn.bias_add(net, bias, axis=1 if convolution else -1)
                if self.varies == "after":
                    others = np.arange(self.weight[0], dtype="uint8").reshape(-1, *[1] * (2 * convolution))
                    biased = relay.add(biased, qnn.dequantize(relay.const(others), t, z))
                net = relay.divide(relay.nn.relu(biased), relay.const(self.divisor, "float32"))
        else:
            required: dict[str, Any] = {"units": self.weight[0]}
            if self.attributes is not None:
                required = {"kernel_size": self.weight[2:], "channels": self.weight[0], **self.attributes}
            net = (qnn.conv2d if convolution else qnn.dense)(x, w, z, y, s, t, **required)
            net = net if self.result is None else self.quantized(net, self.result)
        bound = {name: arrays[name] for name in (("w", "y", "z") if self.is_bound else ("w", "y"))}
        return bind_parameters(relay.module(relay.Function([x, w, z, y], net)), bound)

    def quantized(self, sums: Expr, dtype: str) -> Expr:
        """The sums times a scale for each channel, as integers of few bits."""
        scales = np.linspace(0.001, 0.02, self.weight[0], dtype="float32")
        scales = scales.reshape(-1, 1, 1) if self.attributes is not None else scales
        number = relay.multiply(relay.cast(sums, "float32"), relay.const(scales, "float32"))
        case, limits = replace(self, result=None), np.iinfo(dtype)
        columns = interpret(case.module(dequantized=False), "main", list(self.arguments().values())).shape[-1]
        varying = relay.const(np.linspace(0, 9, columns), "float32")

        def rounded(number: Expr) -> Expr:
            number = relay.add(relay.round(number), relay.const(12.0, "float32"))
            return relay.cast(relay.clip(number, float(limits.min), float(limits.max)), dtype)

        result = rounded(relay.add(number, varying) if self.varies == "before" else number)
        return result if self.varies != "after" else rounded(relay.add(relay.cast(result, "float32"), varying))

    def arguments(self) -> dict[str, Any]:
        return {name: array for name, array in self.arrays().items() if name in (("x",) if self.is_bound else "xz")}


kinds = st.tuples(st.sampled_from(("uint8", "int8")), st.sampled_from(("uint8", "int8")))
zeros = st.tuples(st.sampled_from((0, 3, -5, 128)), st.sampled_from((0, 128, None, 1)))
products = st.builds(
    lambda rows, inner, units, *rest: Quantized((*rows, inner), (units, inner), *rest),
    st.sampled_from(((1,), (4,), (13,), (2, 3))),
    st.sampled_from((1, 4, 16, 23)),
    st.sampled_from((3, 16, 39, 64)),
    kinds,
    zeros,
    st.booleans(),
    st.none(),
    st.none(),
    st.sampled_from((None, "uint8")),
)


@st.composite
def convolutions(draw: Any) -> Quantized:
    inputs, size = draw(st.sampled_from((1, 3, 8))), draw(st.sampled_from((1, 2, 3, 5)))
    groups = draw(st.sampled_from((1, 1, inputs)))
    attributes: dict[str, Any] = {"strides": draw(st.sampled_from((1, 2, 3))), "groups": groups}
    attributes["padding"] = draw(st.sampled_from((0, 1, (0, 1, 2, 1))))
    attributes["dilation"] = draw(st.sampled_from((1, 2)))
    least = (size - 1) * attributes["dilation"] + 1
    image = [least + draw(st.sampled_from((0, 3, 8, 15))) for _ in range(2)]
    data, weight = (
        (draw(st.sampled_from((1, 2))), inputs, *image),
        (
            groups * draw(st.sampled_from((1, 2))) if groups > 1 else draw(st.sampled_from((4, 16, 33))),
            inputs // groups,
            size,
            size,
        ),
    )
    zero = draw(zeros)
    kind = draw(kinds)
    low, high = np.iinfo(kind[0]).min, np.iinfo(kind[0]).max  # the padding is a number of the data type
    zero = (min(max(zero[0], low), high), zero[1])
    result, varies = draw(st.sampled_from((None, "uint8", "int8"))), draw(st.sampled_from(("", "before", "after")))
    return Quantized(data, weight, kind, zero, draw(st.booleans()), attributes, None, result, varies)


@settings(max_examples=max(1, settings().max_examples // 2))
@given(products | convolutions(), st.sampled_from((1, 3)), st.booleans())
@example(Quantized((37, 64), (96, 64), ("int8", "int8"), (3, 0)), 3, True)
@example(Quantized((1, 8, 17, 40), (48, 8, 3, 3), ("uint8", "int8"), (7, 0), True, {"padding": 1}), 3, False)
@example(
    Quantized((2, 8, 5, 40), (48, 8, 3, 3), ("uint8", "int8"), (7, 0), True, {"padding": 1}, None, "uint8"), 1, True
)
@example(Quantized((1, 8, 5, 23), (20, 8, 1, 1), ("uint8", "int8"), (7, 0), True, {}, None, "int8"), 3, False)
@example(Quantized((1, 8, 5, 23), (32, 8, 1, 1), ("uint8", "int8"), (7, 0), True, {}, None, "int8", "before"), 1, False)
@example(Quantized((1, 8, 5, 23), (32, 8, 1, 1), ("uint8", "int8"), (7, 0), True, {}, None, "int8", "after"), 1, False)
@example(Quantized((1, 4, 30, 70), (16, 4, 1, 1), ("uint8", "uint8"), (7, 128), True, {"strides": 2}), 1, False)
@example(Quantized((2, 3, 9, 56), (6, 1, 3, 5), ("int8", "int8"), (7, 0), True, {"padding": 2, "groups": 3}), 1, False)
@example(Quantized((1, 3, 1, 1), (3, 1, 1, 1), ("uint8", "int8"), (0, 0), False, {"groups": 3}), 1, False)  # one pixel
@example(Quantized((1, 4, 19, 60), (4, 1, 3, 3), ("uint8", "int8"), (7, 0), True, {"strides": 2, "groups": 4}), 3, True)
def test_bytes_compute_what_integers_compute(case: Quantized, count: int, is_dynamic: bool) -> None:
    module, arguments = case.module(dequantized=False, is_dynamic=is_dynamic), case.arguments()
    expected = interpret(module, "main", list(arguments.values()))
    for passes in ("relay-pack-quantized", "relay-pack-quantized{bytes=true}"):
        lowered = apply_passes(module, passes)
        assert "qnn." not in str(lowered)
        with patch.object(sharing, "LEAST_TIME", 0), threads(count):
            executor = GraphExecutor(build_graph(lowered))
            executor.run(**arguments)
        np.testing.assert_array_equal(executor.get_output(0), expected, passes)


@given(products | convolutions(), st.sampled_from((None, 0.375)))
@example(Quantized((37, 64), (96, 64), ("int8", "int8"), (3, 0)), 0.375)
@example(Quantized((3, 64), (9, 64), ("int8", "int8"), (3, 0), varies="before"), 0.375)
@example(Quantized((1, 8, 5, 9), (4, 8, 3, 3), ("uint8", "int8"), (7, 0), True, {"padding": 1}, varies="after"), 0.375)
@example(Quantized((1, 8, 17, 40), (48, 8, 3, 3), ("uint8", "int8"), (7, 0), True, {"padding": 1}), None)
def test_integers_compute_what_dequantized_numbers_compute(case: Quantized, divisor: float | None) -> None:
    case = replace(case, divisor=divisor, result=None)
    module, arguments = case.module(dequantized=True), case.arguments()
    expected = interpret(module, "main", list(arguments.values()))
    quantized = apply_passes(module, "relay-quantize-products")
    (got,) = [interpret(quantized, "main", list(arguments.values()))]
    np.testing.assert_allclose(got, expected, 1e-5, 1e-5 * float(abs(expected).max(initial=0)))

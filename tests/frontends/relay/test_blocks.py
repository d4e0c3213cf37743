"""Operators on tensors in layouts with blocks."""

from typing import Any

import numpy as np
import pytest

from stepwell import relay
from stepwell.expressions.errors import TeError
from stepwell.operators import OPERATORS
from stepwell.operators.layouts import Layout
from stepwell.tools.testing.execution import interpret_graph

LAYOUT = OPERATORS["layout_transform"]


def in_layout(data: Any, source: str, target: str) -> Any:
    return data if source == target else LAYOUT.reference(data, src_layout=source, dst_layout=target)


@pytest.mark.parametrize(
    ("data_layout", "kernel_layout", "out_layout"),
    [
        ("NCHW4c", "OIHW", ""),
        ("NCHW2c", "OIHW2i4o", "NCHW4c"),
        ("NHWC4c", "HWIO1i2o", "NHWC2c"),
        ("NCHW", "OHWI2i4o2i", "NCHW4c"),
    ],
)
def test_a_convolution_in_blocks_computes_that_without_blocks(
    data_layout: str, kernel_layout: str, out_layout: str
) -> None:
    rng = np.random.default_rng(1)
    x, w = (rng.integers(-3, 4, shape).astype("float32") for shape in ((1, 8, 5, 6), (8, 8, 3, 3)))
    data = in_layout(x, "NCHW", data_layout)
    attributes = {"channels": 8, "kernel_size": (3, 3), "padding": 1}
    layouts = {"data_layout": data_layout, "kernel_layout": kernel_layout, "out_layout": out_layout}
    call = relay.nn.conv2d(relay.var("x", shape=data.shape), relay.var("w"), **attributes, **layouts)
    mod = relay.module(relay.Function(relay.free_vars(call), call))
    (result,) = interpret_graph(mod, [data, in_layout(w, "OIHW", kernel_layout)])
    expected = OPERATORS["nn.conv2d"].reference(x, w, **attributes)
    np.testing.assert_array_equal(result, in_layout(expected, "NCHW", out_layout or data_layout))


def test_convolutions_named_after_blocks() -> None:
    rng = np.random.default_rng(2)
    x = rng.integers(-3, 4, (1, 8, 5, 6)).astype("float32")
    w, single = (rng.integers(-3, 4, shape).astype("float32") for shape in ((4, 8, 3, 3), (8, 1, 3, 3)))
    data, images = relay.var("x", shape=(1, 2, 5, 6, 4)), in_layout(x, "NCHW", "NCHW4c")
    layouts = {"data_layout": "NCHW4c", "out_layout": "NCHW2c"}
    dense = relay.nn.contrib_conv2d_nchwc(data, relay.const(w), **layouts)
    packed = relay.const(in_layout(single, "OIHW", "OIHW1i4o"))
    deep = relay.nn.contrib_depthwise_conv2d_nchwc(data, packed, groups=8, kernel_layout="OIHW1i4o", **layouts)
    for call, weight, groups in ((dense, w, 1), (deep, single, 8)):
        (result,) = interpret_graph(relay.module(relay.Function([data], call)), [images])
        expected = OPERATORS["nn.conv2d"].reference(x, weight, groups=groups)
        np.testing.assert_array_equal(result, in_layout(expected, "NCHW", "NCHW2c"))


def test_a_pool_in_blocks() -> None:
    x = np.arange(2 * 8 * 4 * 4, dtype="float32").reshape(2, 8, 4, 4)
    call = relay.nn.max_pool2d(relay.var("x", shape=(2, 2, 4, 4, 4)), 2, 2, layout="NCHW4c")
    mod = relay.module(relay.Function(relay.free_vars(call), call))
    (result,) = interpret_graph(mod, [in_layout(x, "NCHW", "NCHW4c")])
    expected = x.reshape(2, 8, 2, 2, 2, 2).max((3, 5))
    np.testing.assert_array_equal(result, in_layout(expected, "NCHW", "NCHW4c"))


@pytest.mark.parametrize(
    ("layout", "message"),
    [
        ("NCHW4x", "capital letters"),
        ("NNC", "capital letters"),
        ("NC0c", "capital letters"),
        ("NC4", "capital letters"),
    ],
)
def test_texts_that_are_no_layouts(layout: str, message: str) -> None:
    with pytest.raises(TeError, match=message):
        Layout.of(layout)


def test_extents_that_blocks_do_not_divide() -> None:
    with pytest.raises(TeError, match=r"extent 6 of C, expected a multiple of 4"):
        Layout.of("NC4c").shape({"N": 1, "C": 6})
    with pytest.raises(TeError, match=r"layout NC4c of a tensor of shape \[1, 2, 3\]"):
        Layout.of("NC4c").extents([1, 2, 3])

"""Convolutions of `tvm.topi.nn` under the names of layouts, against references by windows."""

from itertools import product
from typing import Any

import numpy as np
import pytest

import stepwell.frontends.tvm as tvm
from stepwell.frontends.te import TeError
from stepwell.frontends.tvm import te, topi
from stepwell.frontends.tvm.topi.utils import get_const_tuple, get_pad_tuple

RNG = np.random.default_rng(0)


def run(inputs: list[Any], result: te.Tensor, *arrays: Any) -> Any:
    """The elements of a tensor."""
    out = np.zeros(get_const_tuple(result.shape), result.dtype)
    tvm.build(te.create_schedule(result.op), [*inputs, result])(*arrays, out)
    return out


def windows(data: Any, taps: tuple[int, int], stride: int, dilation: int, pads: tuple[int, ...]) -> Any:
    """The windows of images NCHW: `[n, c, y, x, i, j]`."""
    top, left, down, right = pads
    padded = np.pad(data, ((0, 0), (0, 0), (top, down), (left, right)))
    spans = [(tap - 1) * dilation + 1 for tap in taps]
    every = np.lib.stride_tricks.sliding_window_view(padded, spans, axis=(2, 3))
    return every[:, :, ::stride, ::stride, ::dilation, ::dilation]


@pytest.mark.parametrize(
    ("padding", "pads"),
    [(1, (1, 1, 1, 1)), ("SAME", (1, 2, 1, 1)), ("VALID", (0, 0, 0, 0)), ((0, 1, 2, 0), (0, 1, 2, 0))],
)
def test_conv2d_hwcn(padding: Any, pads: tuple[int, ...]) -> None:
    a, w = te.placeholder((6, 7, 3, 2), name="A"), te.placeholder((3, 4, 3, 5), name="W")
    result = topi.nn.conv2d_hwcn(a, w, 1, padding, 1)
    x, k = (RNG.standard_normal(get_const_tuple(t.shape)).astype("float32") for t in (a, w))
    expected = np.einsum("ncyxij,ijco->yxon", windows(x.transpose(3, 2, 0, 1), (3, 4), 1, 1, pads), k)
    np.testing.assert_allclose(run([a, w], result, x, k), expected, rtol=1e-4, atol=1e-5)


def test_conv2d_has_the_arguments_of_early_versions() -> None:
    a, w = te.placeholder((1, 3, 6, 6), name="A"), te.placeholder((2, 3, 3, 3), name="W")
    x, k = (RNG.standard_normal(get_const_tuple(t.shape)).astype("float32") for t in (a, w))
    early, late = topi.nn.conv2d(a, w, 1, 1, layout="NCHW"), topi.nn.conv2d(a, w, 1, 1, 1, data_layout="NCHW")
    np.testing.assert_array_equal(run([a, w], early, x, k), run([a, w], late, x, k))


@pytest.mark.parametrize(("stride", "dilation", "padding"), [(1, 1, "SAME"), (2, 1, 1), (1, 2, (2, 1))])
def test_depthwise_convolutions(stride: int, dilation: int, padding: Any) -> None:
    a, w = te.placeholder((2, 3, 8, 9), name="A"), te.placeholder((3, 2, 3, 3), name="W")
    x, k = (RNG.standard_normal(get_const_tuple(t.shape)).astype("float32") for t in (a, w))
    pads = get_pad_tuple(padding, [2 * dilation + 1] * 2)
    every = windows(x, (3, 3), stride, dilation, pads)
    expected = np.einsum("ncyxij,cmij->ncmyx", every, k)
    n, c, m, *image = expected.shape
    expected = expected.reshape(n, c * m, *image)
    result = run([a, w], topi.nn.depthwise_conv2d_nchw(a, w, stride, padding, dilation), x, k)
    np.testing.assert_allclose(result, expected, rtol=1e-4, atol=1e-5)
    a, w = te.placeholder((2, 8, 9, 3), name="A"), te.placeholder((3, 3, 3, 2), name="W")
    last = topi.nn.depthwise_conv2d_nhwc(a, w, stride, padding, dilation)
    moved = run([a, w], last, x.transpose(0, 2, 3, 1).copy(), k.transpose(2, 3, 0, 1).copy())
    np.testing.assert_allclose(moved.transpose(0, 3, 1, 2), expected, rtol=1e-4, atol=1e-5)


def test_dilate_and_scale_shift() -> None:
    a = te.placeholder((1, 2, 3, 2), name="A")
    x = RNG.standard_normal((1, 2, 3, 2)).astype("float32")
    expected = np.full((1, 2, 5, 4), 7, "float32")
    expected[:, :, ::2, ::3] = x
    np.testing.assert_array_equal(run([a], topi.nn.dilate(a, (1, 1, 2, 3), 7.0), x), expected)
    for shape, scale_shift in (((2,), topi.nn.scale_shift_nchw), ((2,), topi.nn.scale_shift_nhwc)):
        s, b = te.placeholder(shape, name="S"), te.placeholder(shape, name="B")
        scale, shift = np.array([2, 3], np.float32), np.array([1, -1], np.float32)
        axes = (slice(None), None, None) if scale_shift is topi.nn.scale_shift_nchw else (slice(None),)
        result = run([a, s, b], scale_shift(a, s, b), x, scale, shift)
        np.testing.assert_allclose(result, x * scale[axes] + shift[axes], rtol=1e-6)
    with pytest.raises(TeError, match="2 strides for 4 dimensions"):
        topi.nn.dilate(a, (1, 2))


def test_paddings() -> None:
    for padding, kernel in product((2, (1, 2), (1, 2, 3, 4)), ((3, 3),)):
        numbers = padding if isinstance(padding, tuple) else (padding,)
        assert get_pad_tuple(padding, kernel) == (numbers * 4)[:4]
    with pytest.raises(TeError, match="expected 1, 2 or 4 numbers"):
        get_pad_tuple("FULL", (3, 3))

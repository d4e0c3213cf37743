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
    result = topi.nn.conv2d_hwcn(a, w, 1, padding)
    x, k = (RNG.standard_normal(get_const_tuple(t.shape)).astype("float32") for t in (a, w))
    expected = np.einsum("ncyxij,ijco->yxon", windows(x.transpose(3, 2, 0, 1), (3, 4), 1, 1, pads), k)
    np.testing.assert_allclose(run([a, w], result, x, k), expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("padding", ["SAME", "VALID", 1])
@pytest.mark.parametrize(("stride", "dilation"), [(2, 1), (1, 2)])
def test_references_pad_as_the_operators_do(padding: Any, stride: int, dilation: int) -> None:
    a, w = te.placeholder((6, 8, 3, 2), name="A"), te.placeholder((3, 2, 3, 5), name="W")
    x, k = (RNG.standard_normal(get_const_tuple(t.shape)).astype("float32") for t in (a, w))
    result = topi.nn.conv2d_hwcn(a, w, stride, padding, dilation)
    expected = topi.testing.conv2d_hwcn_python(x, k, stride, padding, dilation)
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
    with pytest.raises(TeError, match=r"strides \[1, 2\], expected 4 numbers from 1 on"):
        topi.nn.dilate(a, (1, 2))


def test_paddings() -> None:
    for padding, kernel in product((2, (1, 2), (1, 2, 3, 4)), ((3, 3),)):
        numbers = padding if isinstance(padding, tuple) else (padding,)
        assert get_pad_tuple(padding, kernel) == (numbers * 4)[:4]
    with pytest.raises(TeError, match="expected 1, 2 or 4 numbers"):
        get_pad_tuple("FULL", (3, 3))


def computed(function: Any, *arrays: Any) -> Any:
    """The value of a function of tensors for arrays."""
    inputs = [te.placeholder(each.shape, str(each.dtype), f"x{n}") for n, each in enumerate(arrays)]
    return run(inputs, function(*inputs), *arrays)


def test_channels_in_blocks() -> None:
    rng = np.random.default_rng(0)
    x, w = rng.random((1, 6, 7, 8), np.float32), rng.random((4, 6, 3, 2), np.float32)
    blocks = x.reshape(1, 2, 3, 7, 8).transpose(0, 1, 3, 4, 2).copy()
    weights = w.reshape(2, 2, 2, 3, 3, 2).transpose(0, 2, 4, 5, 3, 1).copy()
    found = computed(
        lambda a, b: topi.nn.conv2d_NCHWc(a, b, (2, 1), (1, 0), (1, 2), "NCHW3c", "NCHW2c"), blocks, weights
    )
    expected = computed(lambda a, b: topi.nn.conv2d(a, b, (2, 1), (1, 0), (1, 2)), x, w)
    got = found.transpose(0, 1, 4, 2, 3).reshape(expected.shape)
    np.testing.assert_allclose(got, expected, rtol=1e-4)


@pytest.mark.parametrize("kind", ["max", "avg"])
def test_gradients_of_pools(kind: str) -> None:
    rng = np.random.default_rng(0)
    x, slopes = rng.random((1, 2, 5, 5)), rng.random((1, 2, 2, 2))
    options: tuple[Any, ...] = ((3, 3), (2, 2), (0, 0, 0, 0), kind)
    found = computed(lambda grads, data: topi.nn.pool_grad(grads, data, *options), slopes, x)
    windows = np.lib.stride_tricks.sliding_window_view(x, (3, 3), (2, 3))[:, :, ::2, ::2]
    values = windows.max((4, 5)) if kind == "max" else windows.mean((4, 5))
    np.testing.assert_allclose(computed(lambda data: topi.nn.pool(data, *options), x), values)
    expected = np.zeros_like(x)
    for place in np.ndindex(*slopes.shape):
        n, c, y, z = place
        window = (n, c, slice(2 * y, 2 * y + 3), slice(2 * z, 2 * z + 3))
        share = x[window] == values[place] if kind == "max" else np.full((3, 3), 1 / 9)
        expected[window] += slopes[place] * share
    np.testing.assert_allclose(found, expected)


def test_products_by_a_blas_and_replaced_slices() -> None:
    rng = np.random.default_rng(0)
    x, y = rng.random((3, 4), np.float32), rng.random((5, 4), np.float32)
    np.testing.assert_allclose(computed(topi.x86.dense_cblas, x, y), x @ y.T, rtol=1e-5)
    assert topi.x86.schedule_matmul_cblas([topi.x86.matmul_cblas(te.placeholder((2, 2)), te.placeholder((2, 2)))])
    a, b = rng.random((2, 3, 3)), rng.random((2, 2, 3))
    np.testing.assert_allclose(computed(topi.x86.batch_matmul_cblas, a, b), a @ b.transpose(0, 2, 1))
    data, part = np.arange(12.0).reshape(2, 6), -np.ones((2, 2))
    changed = data.copy()
    changed[:, 1:5:2] = part
    assert (computed(lambda a, b: topi.slice_scatter(a, b, 1, 5, 2, 1), data, part) == changed).all()
    with pytest.raises(te.TeError, match="expected 2 along 1"):
        topi.slice_scatter(te.placeholder((2, 6)), te.placeholder((2, 3)), 1, 5, 2, -1)


def test_paddings_and_strides_are_those_of_shapes() -> None:
    image, padded = te.placeholder((1, 2, 7, 8)), te.placeholder((1, 2, 9, 8))
    assert topi.util.infer_pad(image) == (0, 0)
    assert topi.util.infer_pad(image, padded) == (1, 0)
    assert topi.util.infer_stride(padded, te.placeholder((4, 2, 3, 2)), te.placeholder((1, 4, 4, 7))) == (2, 1)

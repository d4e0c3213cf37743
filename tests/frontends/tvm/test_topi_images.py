"""Operators of `tvm.topi.nn` on images, windows and streams beside numpy."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import stepwell.frontends.tvm as tvm
from stepwell.expressions.errors import TeError
from stepwell.frontends.tvm import te, topi

nn = topi.nn
Array = np.ndarray[Any, Any]


def run(result: te.Tensor, inputs: dict[te.Tensor, Array]) -> Array:
    output = np.full(topi.utils.get_const_tuple(result.shape), np.nan, "float32")
    tvm.build(te.create_schedule(result.op), [*inputs, result], "llvm")(*inputs.values(), output)
    return output


def integers(shape: tuple[int, ...], seed: int) -> Array:
    return np.random.default_rng(seed).integers(-3, 4, shape).astype("float32")


def placeholder(array: Array, name: str) -> te.Tensor:
    return te.placeholder(array.shape, "float32", name)


def depthwise(image: Array, weight: Array, stride: tuple[int, int], pad: tuple[int, int, int, int]) -> Array:
    """The convolution of each channel of an image NHWC."""
    padded = np.pad(image, [(0, 0), (pad[0], pad[2]), (pad[1], pad[3]), (0, 0)])
    height, width, channels, multiplier = weight.shape
    rows = (padded.shape[1] - height) // stride[0] + 1
    columns = (padded.shape[2] - width) // stride[1] + 1
    result = np.zeros((len(image), rows, columns, channels * multiplier), "float32")
    for y in range(rows):
        for x in range(columns):
            top, left = y * stride[0], x * stride[1]
            window = padded[:, top : top + height, left : left + width]
            result[:, y, x] = np.einsum("nhwc,hwcm->ncm", window, weight).reshape(len(image), -1)
    return result


@given(data=st.data())
def test_gradients_of_depthwise_convolutions(data: st.DataObject) -> None:
    height, width, channels, multiplier = (data.draw(st.integers(1, 3)) for _ in range(4))
    stride = data.draw(st.integers(1, 3)), data.draw(st.integers(1, 3))
    top, left = data.draw(st.integers(0, height - 1)), data.draw(st.integers(0, width - 1))
    pad = top, left, data.draw(st.integers(0, 2)), data.draw(st.integers(0, 2))
    image = integers((2, height + data.draw(st.integers(0, 4)), width + data.draw(st.integers(0, 4)), channels), 1)
    weight = integers((height, width, channels, multiplier), 2)
    out = depthwise(image, weight, stride, pad)
    grad = integers(out.shape, 3)
    total = np.zeros_like(image)
    for at in np.ndindex(image.shape):  # the result is linear in each element of the image and of the weight
        one = np.zeros_like(image)
        one[at] = 1
        total[at] = (depthwise(one, weight, stride, pad) * grad).sum()
    w, g = placeholder(weight, "w"), placeholder(grad, "g")
    found = nn.depthwise_conv2d_backward_input_nhwc(w, g, out.shape, image.shape, stride, list(pad))
    np.testing.assert_array_equal(run(found, {w: weight, g: grad}), total)
    of_weight = np.zeros_like(weight)
    for at in np.ndindex(weight.shape):
        one = np.zeros_like(weight)
        one[at] = 1
        of_weight[at] = (depthwise(image, one, stride, pad) * grad).sum()
    x = placeholder(image, "x")
    found = nn.depthwise_conv2d_backward_weight_nhwc(x, g, out.shape, weight.shape, stride, list(pad))
    np.testing.assert_array_equal(run(found, {x: image, g: grad}), of_weight)


@pytest.mark.parametrize(("multiplier", "stride", "far"), [(1, 1, 1), (2, 2, 1), (2, 1, 2)])
def test_depthwise_convolutions_of_blocks(multiplier: int, stride: int, far: int) -> None:
    image, weight = integers((1, 2, 7, 6, 4), 1), integers((2 * multiplier, 1, 3, 2, 1, 4), 2)
    x, w = placeholder(image, "x"), placeholder(weight, "w")
    result = nn.depthwise_conv2d_NCHWc(x, w, stride, 1, far, "NCHW4c", "NCHW4c", "float32")
    plain = image.transpose(0, 2, 3, 1, 4).reshape(1, 7, 6, 8)
    taps = weight[:, 0, :, :, 0].transpose(1, 2, 0, 3).reshape(3, 2, 8, multiplier)
    spread = np.zeros((2 * far + 1, far + 1, 8, multiplier), "float32")
    spread[::far, ::far] = taps
    expected = depthwise(plain, spread, (stride, stride), (1, 1, 1, 1))
    unpacked = run(nn.unpack_NCHWc_to_nchw(result, "float32"), {x: image, w: weight})
    np.testing.assert_array_equal(unpacked, expected.transpose(0, 3, 1, 2))


@pytest.mark.parametrize("blocks", [1, 3])
def test_depthwise_convolutions_have_a_multiple_of_the_channels(blocks: int) -> None:
    image, weight = te.placeholder((1, 2, 7, 6, 4)), te.placeholder((blocks, 1, 3, 2, 1, 4))
    with pytest.raises(TeError, match="depthwise_conv2d_NCHWc: an image of shape"):
        nn.depthwise_conv2d_NCHWc(image, weight, 1, 1, 1)


def test_gradients_have_the_channels_of_the_weight() -> None:
    weight = te.placeholder((3, 3, 4, 2))
    for shape in ((1, 4, 4, 6), (2, 4, 4, 8)):
        grad = te.placeholder(shape)
        with pytest.raises(TeError, match="expected 4 and 8 channels, and equal batches"):
            nn.depthwise_conv2d_backward_input_nhwc(weight, grad, shape, (1, 4, 4, 4), 1, 1)


@pytest.mark.parametrize("shape", [(2, 3), (2, 5, 1), (2,)])
def test_a_buffer_takes_slices_of_its_shape(shape: tuple[int, ...]) -> None:
    with pytest.raises(TeError, match=r"nn\.fifo_buffer: "):
        nn.fifo_buffer(te.placeholder(shape), te.placeholder((4, 5)), 0)


def test_products_with_weights_in_blocks() -> None:
    data, weight, bias = integers((3, 5), 1), integers((2, 5, 4), 2), integers((8,), 3)
    x, w, b = placeholder(data, "x"), placeholder(weight, "w"), placeholder(bias, "b")
    expected = data @ weight.transpose(1, 0, 2).reshape(5, 8)
    np.testing.assert_array_equal(run(nn.dense_pack(x, w), {x: data, w: weight}), expected)
    np.testing.assert_array_equal(run(nn.dense_pack(x, w, b), {x: data, w: weight, b: bias}), expected + bias)


@given(data=st.data())
def test_a_buffer_keeps_the_last_slices(data: st.DataObject) -> None:
    axis, length = data.draw(st.integers(-3, 2)), data.draw(st.integers(1, 5))
    new = data.draw(st.integers(1, length))
    shapes = [2, 3, 2], [2, 3, 2]
    shapes[0][axis], shapes[1][axis] = new, length
    arriving, buffer = integers(tuple(shapes[0]), 1), integers(tuple(shapes[1]), 2)
    x, b = placeholder(arriving, "x"), placeholder(buffer, "b")
    expected = np.concatenate((buffer, arriving), axis).take(range(new, new + length), axis)
    np.testing.assert_array_equal(run(nn.fifo_buffer(x, b, axis), {x: arriving, b: buffer}), expected)
    if new < length:
        with pytest.raises(TeError, match=r"nn\.fifo_buffer: data of shape"):
            nn.fifo_buffer(b, x, axis)


@pytest.mark.parametrize("is_multiply", [True, False])
@pytest.mark.parametrize(
    ("size", "most", "stride1", "stride2", "pad"), [(1, 2, 1, 1, 2), (3, 2, 2, 2, 3), (3, 0, 1, 1, 1)]
)
def test_correlations(size: int, most: int, stride1: int, stride2: int, pad: int, is_multiply: bool) -> None:
    first, second = integers((2, 3, 6, 7), 1), integers((2, 3, 6, 7), 2)
    a, b = placeholder(first, "a"), placeholder(second, "b")
    result = run(nn.correlation_nchw(a, b, size, most, stride1, stride2, pad, is_multiply), {a: first, b: second})
    around = [(0, 0), (0, 0), (pad, pad), (pad, pad)]
    x, y = np.pad(first, around), np.pad(second, around)
    radius, border = most // stride2, most + size // 2
    counts = [-(-(x.shape[d] - 2 * border) // stride1) for d in (2, 3)]
    assert result.shape == (2, (2 * radius + 1) ** 2, *counts)
    for i, j in np.ndindex(*counts):
        for q, (down, along) in enumerate(np.ndindex(2 * radius + 1, 2 * radius + 1)):
            top, left = i * stride1 + most, j * stride1 + most
            below, right = top + (down - radius) * stride2, left + (along - radius) * stride2
            windows = x[:, :, top : top + size, left : left + size], y[:, :, below : below + size, right : right + size]
            terms = windows[0] * windows[1] if is_multiply else abs(windows[0] - windows[1])
            np.testing.assert_allclose(result[:, q, i, j], terms.mean((1, 2, 3)), rtol=1e-5, atol=1e-6)
    with pytest.raises(TeError, match="kernel_size 2, expected an odd number"):
        nn.correlation_nchw(a, b, 2, most, stride1, stride2, pad, is_multiply)


def test_padding_of_rows_and_volumes() -> None:
    assert nn.get_pad_tuple1d(2, 3) == nn.get_pad_tuple1d((2,), (3,)) == (2, 2)
    assert nn.get_pad_tuple1d((1, 2), 3) == (1, 2)
    assert nn.get_pad_tuple1d("SAME", 4) == (2, 1)
    assert nn.get_pad_tuple3d((1, 2, 3), (3, 3, 3)) == (1, 2, 3, 1, 2, 3)
    assert nn.get_pad_tuple3d("VALID", (3, 3, 3)) == (0,) * 6
    assert nn.get_pad_tuple_generic((1, 2, 3, 4, 5, 6, 7, 8), (1, 1, 1, 1)) == ([1, 2, 3, 4], [5, 6, 7, 8])
    assert nn.get_pad_tuple("SAME", (3, 4)) == (1, 2, 1, 1)
    volume, padded = te.placeholder((1, 2, 3, 4, 5)), te.placeholder((1, 2, 5, 4, 8))
    assert nn.infer_pad3d(volume, padded, "NCDHW") == (2, 0, 3)
    assert nn.infer_pad3d(volume, None, "NDHWC") == (0, 0, 0)
    with pytest.raises(TeError, match="padding \\(1, 2, 3\\), expected 1, 2 or 4 numbers"):
        nn.get_pad_tuple((1, 2, 3), (3, 3))
    with pytest.raises(TeError, match="layout 'NHWC', expected NCDHW or NDHWC"):
        nn.infer_pad3d(volume, padded, "NHWC")


# References in numpy


def near(result: te.Tensor, inputs: dict[te.Tensor, Array], expected: Array) -> None:
    np.testing.assert_allclose(run(result, inputs), expected, rtol=1e-4, atol=1e-5)


def test_references_of_normalizations() -> None:
    data, gamma, beta = integers((2, 6, 3, 4), 1), integers((6,), 2), integers((6,), 3)
    x, g, b = placeholder(data, "x"), placeholder(gamma, "g"), placeholder(beta, "b")
    inputs, references = {x: data, g: gamma, b: beta}, topi.testing
    expected = references.group_norm_python(data, gamma, beta, 2, 1, [2, 3])
    near(nn.group_norm(x, g, b, 2, 1, [2, 3]), inputs, expected)
    broadcast = gamma.reshape(6, 1, 1), beta.reshape(6, 1, 1)
    near(nn.instance_norm(x, g, b, 1, [2, 3]), inputs, references.instance_norm_python(data, *broadcast, (2, 3)))
    plain = references.instance_norm_python(data, np.ones(1, "float32"), None, -1)
    np.testing.assert_allclose(plain.mean(-1), 0, atol=1e-5)
    weight = integers((4,), 4)
    w = placeholder(weight, "w")
    near(nn.rms_norm(x, w, [-1]), {x: data, w: weight}, references.rms_norm_python(data, weight, -1))


@pytest.mark.parametrize("training", [False, True])
def test_the_reference_of_batch_norm(training: bool) -> None:
    data = integers((3, 2, 4), 1)
    gamma, beta, mean, variance = (np.abs(integers((2,), n)) + 1 for n in range(4))
    found = topi.testing.batch_norm(data, gamma, beta, mean, variance, 1, 1e-3, True, True, training, 0.25)
    own = (data.mean((0, 2)), data.var((0, 2))) if training else (mean, variance)
    scaled = (data - own[0].reshape(2, 1)) / np.sqrt(own[1].reshape(2, 1) + 1e-3) * gamma.reshape(2, 1)
    np.testing.assert_allclose(found[0], scaled + beta.reshape(2, 1), rtol=1e-5, atol=1e-5)
    moved = (0.75 * mean + 0.25 * own[0], 0.75 * variance + 0.25 * own[1]) if training else own
    np.testing.assert_allclose(found[1:], moved, rtol=1e-6)
    bare = topi.testing.batch_norm(data, gamma, beta, mean, variance, 1, 1e-3, False, False, training, 0.25)
    np.testing.assert_allclose(bare[0] * gamma.reshape(2, 1), scaled, rtol=1e-5, atol=1e-5)


def test_references_of_slices_and_correlations() -> None:
    data = integers((4, 5, 6), 1)
    np.testing.assert_array_equal(topi.testing.slice_axis_python(data, -1, 1, 4), data[..., 1:4])
    np.testing.assert_array_equal(topi.testing.slice_axis_python(data, 0, 2), data[2:])
    part = integers((2, 5), 2)
    result = topi.testing.strided_set_python(data[..., 0], part, [0, 0], [4, 5], [2, 1])
    np.testing.assert_array_equal(result[::2], part)
    np.testing.assert_array_equal(result[1::2], data[1::2, :, 0])
    image, other = integers((1, 2, 5, 6), 3), integers((1, 2, 5, 6), 4)
    a, b = placeholder(image, "a"), placeholder(other, "b")
    for is_multiply in (True, False):
        expected = topi.testing.correlation_nchw_python(image, other, 3, 1, 1, 1, 2, is_multiply)
        near(nn.correlation_nchw(a, b, 3, 1, 1, 1, 2, is_multiply), {a: image, b: other}, expected)
    row, weight = integers((1, 4, 7), 5), integers((2, 2, 3), 6)
    found = topi.testing.group_conv1d_ncw_python(row, weight, 1, 0, 1, 2)
    assert found.shape == (1, 2, 5)
    assert found[0, 1, 0] == (row[0, 2:, :3] * weight[1]).sum()

"""The workloads of `tvm.meta_schedule.testing`."""

from typing import Any

import numpy as np
import pytest

import stepwell.frontends.tvm as tvm
from stepwell import UnsupportedError
from stepwell.core.errors import OptionError
from stepwell.frontends.tvm import te
from stepwell.frontends.tvm.meta_schedule.testing import te_workload

RNG = np.random.default_rng(0)


def result_of(tensors: Any, *arrays: Any) -> Any:
    out = np.zeros([int(each) for each in tensors[-1].shape], tensors[-1].dtype)
    tvm.build(te.create_prim_func(list(tensors)), "llvm")(*arrays, out)
    return out


def test_products() -> None:
    a, b = RNG.random((4, 6), "float32"), RNG.random((6, 5), "float32")
    np.testing.assert_allclose(result_of(te_workload.matmul(4, 5, 6), a, b), a @ b, rtol=1e-5)
    x, y = a.astype("float16"), b.astype("float16")
    expected = x.astype("float32") @ y.astype("float32")
    np.testing.assert_allclose(result_of(te_workload.matmul_fp16(4, 5, 6), x, y), expected, rtol=1e-5)
    np.testing.assert_allclose(result_of(te_workload.matmul_relu(4, 5, 6), -a, b), 0 * (a @ b))
    batch = result_of(te_workload.batch_matmul_nkkm(1, 4, 5, 6), a[None], b[None])
    np.testing.assert_allclose(batch[0], a @ b, rtol=1e-5)
    assert te_workload.matmul(4, 5, 6)[2].op.name == "C"


def test_reductions() -> None:
    a = RNG.random((2, 3, 4), "float32")
    np.testing.assert_allclose(result_of(te_workload.norm_bmn(2, 3, 4), a), np.sqrt((a * a).sum((1, 2))), rtol=1e-5)
    powers = np.exp(a[0])
    np.testing.assert_allclose(
        result_of(te_workload.softmax_mn(3, 4), a[0]), powers / powers.sum(1, keepdims=True), rtol=1e-5
    )
    windows = np.maximum(np.maximum(a[:, :-1, :-1], a[:, 1:, :-1]), np.maximum(a[:, :-1, 1:], a[:, 1:, 1:]))
    np.testing.assert_array_equal(result_of(te_workload.max_pool2d_nchw(1, 3, 4, 2, 0), a[None])[0], windows)


def test_convolutions() -> None:
    image, weight = RNG.random((1, 6, 6, 4), "float32"), RNG.random((3, 3, 4, 2), "float32")
    padded = np.pad(image, ((0, 0), (1, 1), (1, 1), (0, 0)))
    windows = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), (1, 2))[:, ::2, ::2]
    expected = np.einsum("nhwcij,ijco->nhwo", windows, weight)
    found = result_of(te_workload.conv2d_nhwc(1, 6, 6, 4, 2, 3, 2, 1), image, weight)
    np.testing.assert_allclose(found, expected, rtol=1e-5)
    moved = [np.ascontiguousarray(each) for each in (image.transpose(0, 3, 1, 2), weight.transpose(3, 2, 0, 1))]
    found = result_of(te_workload.conv2d_nchw(1, 6, 6, 4, 2, 3, 3, 2, 1), *moved)
    np.testing.assert_allclose(found.transpose(0, 2, 3, 1), expected, rtol=1e-5)
    line, taps = image[:, 0], np.ascontiguousarray(weight[0, :, :2])
    found = result_of(te_workload.conv1d_nlc(1, 6, 4, 2, 3, groups=2), line, taps)
    parts = np.lib.stride_tricks.sliding_window_view(line, 3, 1)
    for group in range(2):
        sums = np.einsum("nlci,ic->nl", parts[:, :, 2 * group : 2 * group + 2], taps[:, :, group])
        np.testing.assert_allclose(found[:, :, group], sums, rtol=1e-5)


def test_convolutions_of_volumes_channels_and_matrices() -> None:
    volume, weight = RNG.random((1, 4, 4, 4, 2), "float32"), RNG.random((3, 3, 3, 2, 2), "float32")
    windows = np.lib.stride_tricks.sliding_window_view(volume, (3, 3, 3), (1, 2, 3))
    found = result_of(te_workload.conv3d_ndhwc(1, 4, 4, 4, 2, 2, 3), volume, weight)
    np.testing.assert_allclose(found, np.einsum("ndhwcijk,ijkco->ndhwo", windows, weight), rtol=1e-5)
    image, weight = RNG.random((1, 5, 5, 3), "float32"), RNG.random((1, 3, 3, 3), "float32")
    padded = np.pad(image, ((0, 0), (1, 1), (1, 1), (0, 0)))
    windows = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), (1, 2))[:, ::2, ::2]
    found = result_of(te_workload.depthwise_conv2d_nhwc(1, 5, 5, 3, 3, 2, 1), image, weight)
    np.testing.assert_allclose(found, np.einsum("nhwcij,ijc->nhwc", windows, weight[0]), rtol=1e-5)
    with pytest.raises(OptionError, match="factor 2, expected 1"):
        te_workload.depthwise_conv2d_nhwc(1, 5, 5, 3, 3, factor=2)
    image, weight = RNG.random((1, 3, 3, 2, 2, 2), "float32"), RNG.random((3, 3, 2, 2, 2, 3), "float32")
    windows = np.lib.stride_tricks.sliding_window_view(image, (3, 3), (1, 2))
    found = result_of(te_workload.conv2d_capsule_nhwijc(1, 3, 3, 2, 3, 3, capsule_size=2), image, weight)
    np.testing.assert_allclose(found, np.einsum("nhwikcyx,yxkjco->nhwijo", windows, weight), rtol=1e-5)


@pytest.mark.parametrize(("kernel", "stride", "padding"), [(4, 2, 1), (3, 1, 1), (3, 3, 0)])
def test_transposed_convolutions(kernel: int, stride: int, padding: int) -> None:
    image, weight = RNG.random((1, 3, 3, 2), "float32"), RNG.random((kernel, kernel, 2, 3), "float32")
    size = 2 * stride + kernel
    whole = np.zeros((1, size, size, 3), "float32")
    for y, x in np.ndindex(3, 3):
        part = np.einsum("nc,ijco->nijo", image[:, y, x], weight)
        whole[:, y * stride : y * stride + kernel, x * stride : x * stride + kernel] += part
    expected = whole[:, padding : size - padding, padding : size - padding]
    found = result_of(te_workload.conv2d_transpose_nhwc(1, 3, 3, 2, 3, kernel, stride, padding), image, weight)
    np.testing.assert_allclose(found, expected, rtol=1e-5)


def test_chains_of_operators() -> None:
    image, weight = RNG.random((1, 4, 4, 2), "float32"), RNG.random((3, 3, 2, 3), "float32")
    bias, offset, scale = RNG.standard_normal((3, 3), "float32")
    windows = np.lib.stride_tricks.sliding_window_view(image, (3, 3), (1, 2))
    expected = np.maximum((np.einsum("nhwcij,ijco->nhwo", windows, weight) + bias) * scale + offset, 0)
    tensors = te_workload.conv2d_nhwc_bn_relu(1, 4, 4, 2, 3, 3, 1, 0)
    np.testing.assert_allclose(result_of(tensors, image, weight, bias, offset, scale), expected, rtol=1e-5)
    moved = [np.ascontiguousarray(each) for each in (image.transpose(0, 3, 1, 2), weight.transpose(3, 2, 0, 1))]
    tensors = te_workload.conv2d_nchw_bias_bn_relu(1, 4, 4, 2, 3, 3, 3, 1, 0)
    found = result_of(tensors, *moved, *(each.reshape(3, 1, 1) for each in (bias, scale, offset)))
    np.testing.assert_allclose(found.transpose(0, 2, 3, 1), expected, rtol=1e-5)
    query, value = RNG.random((2, 1, 4, 2, 3), "float32")
    found = result_of(te_workload.transpose_batch_matmul(1, 4, 2, 3), query, value)
    np.testing.assert_allclose(found, np.einsum("bihd,bjhd->bhij", query, value), rtol=1e-5)


def test_workloads_have_names() -> None:
    for name in te_workload.CONFIGS:
        func = te_workload.create_te_workload(name, 3)
        assert "T.block" in func.script()
    with pytest.raises(OptionError, match="workload 'C4D', expected C1D, C2D"):
        te_workload.create_te_workload("C4D", 0)


def test_other_modules_are_absent() -> None:
    with pytest.raises(UnsupportedError, match=r"tvm\.meta_schedule\.testing\.local_rpc"):
        tvm.meta_schedule.testing.local_rpc.LocalRPC()


def test_comparisons_of_a_function_of_tensors_have_the_order_of_tvm() -> None:
    a = te.placeholder((8,), name="A")
    b = te.compute((10,), lambda i: te.if_then_else(te.all(i >= 1, 9 > i), a[i - 1], 0.0), name="B")
    c = te.compute((10,), lambda i: te.if_then_else(b[i] >= 0.5, b[i], 0.5), name="C")
    func = te.create_prim_func([a, c])
    assert "1 <= v_i and v_i < 9" in func.script()
    assert "T.float32(0.5) <= B[v_i]" in func.script()
    x, result = np.array([1, 0.25, -1, 0.5, 3, 0, np.nan, 2], "float32"), np.zeros(10, "float32")
    tvm.build(func, "llvm")(x, result)
    np.testing.assert_array_equal(result, [0.5, 1, 0.5, 0.5, 0.5, 3, 0.5, 0.5, 2, 0.5])

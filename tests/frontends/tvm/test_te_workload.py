"""The workloads of `tvm.meta_schedule.testing`."""

from typing import Any

import numpy as np
import pytest

import stepwell.frontends.tvm as tvm
from stepwell import UnsupportedError
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


def test_other_modules_are_absent() -> None:
    with pytest.raises(UnsupportedError, match=r"tvm\.meta_schedule\.testing\.local_rpc"):
        tvm.meta_schedule.testing.local_rpc.LocalRPC()

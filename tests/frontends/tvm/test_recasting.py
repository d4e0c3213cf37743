"""Operators in other data types and batches: `recast`, `ChangeBatch`, and lists of slices that are too short."""

from typing import Any, cast

import numpy as np
import pytest

from stepwell.core.errors import ArgumentError, OptionError, StepwellError
from stepwell.frontends import tvm
from stepwell.frontends.tvm import relay
from stepwell.frontends.tvm.relay.transform import ChangeBatch, recast


def layers() -> relay.Function:
    x, w, v = (
        relay.var(name, shape=shape) for name, shape in (("x", (1, 2, 4, 4)), ("w", (3, 2, 3, 3)), ("v", (1, 3)))
    )
    y = relay.nn.relu(relay.nn.conv2d(x, w, padding=1))
    pooled = relay.squeeze(relay.nn.global_avg_pool2d(y), axis=[2, 3])
    return relay.Function([x, w, v], relay.concatenate([pooled, v], axis=1))


def run(func: Any, *arrays: np.ndarray) -> np.ndarray:
    return relay.create_executor("graph").evaluate(func)(*arrays).numpy()


def arrays() -> list[np.ndarray]:
    rng = np.random.default_rng(0)
    return [rng.integers(-3, 4, shape).astype("float32") for shape in ((1, 2, 4, 4), (3, 2, 3, 3), (1, 3))]


def test_operators_are_computed_on_casts() -> None:
    func = layers()
    new = recast(func, "int8", "int32")
    assert str(new).count("cast(") == 3
    assert 'out_dtype="int32"' in str(new)
    np.testing.assert_allclose(run(new, *arrays()), run(func, *arrays()), 1e-6)
    both = recast(func, "float16", "float16", ops=["nn.conv2d", "concatenate"])
    assert str(both).count('dtype="float16"') == 5
    np.testing.assert_allclose(run(both, *arrays()), run(func, *arrays()), 1e-2)
    skipped = recast(func, "float16", "float16", ops=["nn.conv2d", "concatenate"], skip_layers=[-1])
    assert str(skipped).count("cast(") == 3
    mod = recast(tvm.IRModule.from_expr(func), "int8", "int32")
    assert isinstance(mod, tvm.IRModule)
    assert str(mod).count("cast(") == 3
    with pytest.raises(OptionError, match=r"recast of .*, expected a function or a module"):
        recast(cast(Any, func.body), "int8", "int32")


def test_parameters_have_another_batch() -> None:
    mod = tvm.IRModule.from_expr(layers())
    x, _, v = mod["main"].params
    new = ChangeBatch({x: 0, v: 0}, batch_size=5)(mod)["main"]
    assert new.checked_type.ret_type.concrete_shape == (5, 6)
    untyped = relay.var("u")
    with pytest.raises(ArgumentError, match="ChangeBatch: parameter u of type None, expected a tensor"):
        relay.transform.change_batch(relay.Function([untyped], untyped), {untyped: 0}, 2)


@pytest.mark.parametrize(
    ("begin", "end", "strides", "slices"),
    [
        ([1], [2, 3], None, np.s_[1:2, :3]),
        ([1, 1], [4, 4, 3], [1], np.s_[1:4, 1:4, :3]),
        ([2, -1], [0], [-1, -2], np.s_[2:0:-1, ::-2]),
        ([1], [], [2], np.s_[1::2]),
    ],
)
def test_short_lists_of_slices(begin: Any, end: Any, strides: Any, slices: Any) -> None:
    x, data = relay.var("x", shape=(3, 4, 3)), np.arange(36, dtype="float32").reshape(3, 4, 3)
    got = run(relay.Function([x], relay.strided_slice(x, begin, end, strides)), data)
    np.testing.assert_array_equal(got, data[slices])


def test_moments_of_many_small_floats() -> None:
    data = np.random.default_rng(0).random((2, 70000)).astype("float16")
    x = relay.var("x", shape=data.shape, dtype="float16")
    wide = data.astype("float64")
    for moment, expected in (
        (relay.mean(x, axis=1), wide.mean(1)),
        (relay.variance(x, axis=1), wide.var(1)),
        (relay.mean_std(x, axis=1)[1], wide.std(1)),
        (relay.mean_std(x, axis=1)[0], wide.mean(1)),
    ):
        np.testing.assert_allclose(run(relay.Function([x], moment), data), expected, 1e-3)


def test_bits_are_bools_and_executors_describe_their_inputs() -> None:
    assert relay.var("x", shape=(), dtype="uint1").type_annotation == relay.TensorType((), "bool")
    x, y = relay.var("x", shape=(2, 3)), relay.var("y", shape=(3,), dtype="int32")
    lib = relay.build(tvm.IRModule.from_expr(relay.Function([x, y], x * relay.cast(y, "float32"))), "llvm")
    shapes, dtypes = tvm.contrib.graph_executor.GraphModule(lib["default"](tvm.cpu())).get_input_info()
    assert shapes == {"x": (2, 3), "y": (3,)}
    assert dtypes == {"x": "float32", "y": "int32"}


def test_references_of_regions_and_deformed_windows() -> None:
    rng, testing = np.random.default_rng(0), tvm.topi.testing
    images = rng.random((1, 2, 5, 5)).astype("float32")
    regions = np.array([[0, 0, 0, 3, 4], [0, 1, 1, 2, 2]], "float32")
    means = testing.roi_align_nchw_python(images, regions, 2, 1.0, 2)
    last = testing.roi_align_nhwc_python(images.transpose(0, 2, 3, 1), regions, 2, 1.0, 2, "avg")
    np.testing.assert_array_equal(means, last.transpose(0, 3, 1, 2))
    assert (testing.roi_align_nchw_python(images, regions, 2, 1.0, 2, b"max") >= means).all()
    assert testing.roi_pool_nchw_python(images, regions[:1], 1, 1.0)[0, 0, 0, 0] == images[0, 0, :, :4].max()
    weight, still = rng.random((3, 2, 3, 3)).astype("float32"), np.zeros((1, 18, 5, 5), "float32")
    plain = testing.conv2d_nchw_python(images, weight, 1, 1)
    moved = testing.deformable_conv2d_nchw_python(images, still, weight, 1, 1, 1, 1, 1)
    np.testing.assert_allclose(moved, plain, 1e-5)


@pytest.mark.parametrize(
    ("layout", "kernel", "image", "offset", "weight", "result"),
    [
        ("NCHW", "OIHW", (2, 4, 9, 8), (2, 36, 5, 4), (6, 2, 3, 3), (2, 6, 5, 4)),
        ("NHWC", "HWIO", (2, 9, 8, 4), (2, 5, 4, 36), (3, 3, 2, 6), (2, 5, 4, 6)),
    ],
)
def test_weights_and_distances_of_deformable_convolutions_have_types(
    layout: str, kernel: str, image: tuple[int, ...], offset: tuple[int, ...], weight: tuple[int, ...], result: object
) -> None:
    call: Any = relay.nn.deformable_conv2d(
        relay.var("data", shape=image), relay.var("offset"), relay.var("weight"), strides=2, padding=1,
        deformable_groups=2, groups=2, channels=6, kernel_size=(3, 3), data_layout=layout, kernel_layout=kernel,
    )  # fmt: skip
    typed = relay.transform.InferTypeLocal(call)
    assert typed.shape == result
    assert [each.checked_type.shape for each in call.args[1:]] == [offset, weight]
    wrong = relay.nn.deformable_conv2d(
        *(relay.var(f"x{n}", shape=each) for n, each in enumerate((image, offset, weight))), strides=2, padding=1,
        deformable_groups=2, groups=2, channels=5, data_layout=layout, kernel_layout=kernel,
    )  # fmt: skip
    with pytest.raises(StepwellError, match=r"weights of \[3, 3\] for 6 channels, expected \[3, 3\] for 5"):
        relay.transform.InferTypeLocal(wrong)


def test_dilations_take_the_first_two_of_four_strides() -> None:
    data, weight = relay.var("x", shape=(1, 2, 6, 6)), relay.var("w", shape=(2, 2, 2))
    call = relay.image.dilation2d(data, weight, strides=[2, 2, 1, 1], dilations=[1, 1, 1, 1])
    assert relay.transform.InferTypeLocal(call).shape == (1, 2, 3, 3)

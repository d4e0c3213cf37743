"""`tvm.topi.nn`: products of numbers of few bits."""

from typing import Any

import numpy as np
import pytest

import stepwell.frontends.tvm as tvm
from stepwell.expressions.errors import TeError
from stepwell.frontends.tvm import relay, te, topi

RNG = np.random.default_rng(7)


def run(made: Any, *inputs: tuple[Any, np.ndarray]) -> np.ndarray:
    out = tvm.nd.empty([int(extent) for extent in made.shape], made.dtype)
    tvm.build(te.create_prim_func([*(tensor for tensor, _ in inputs), made]))(*(array for _, array in inputs), out)
    return out.numpy()


def integers(shape: tuple[int, ...], bits: int, name: str) -> tuple[Any, np.ndarray]:
    return te.placeholder(shape, "int16", name=name), RNG.integers(0, 2**bits, shape).astype("int16")


def signs(weight: np.ndarray, bits: int) -> np.ndarray:
    """The weights whose bits stand for 1 and -1."""
    return 2 * weight - (2**bits - 1)


def test_the_bits_of_numbers_are_words() -> None:
    A = integers((2, 16), 3, "A")
    packed = run(topi.nn.bitpack(A[0], 3, 1, 0, "uint8"), A)
    expected = [np.packbits((A[1] >> bit) & 1, axis=1) for bit in range(3)]
    np.testing.assert_array_equal(packed, expected)
    with pytest.raises(TeError, match="axis 1: 16 elements, expected a multiple of the 32 bits of a word"):
        topi.nn.bitpack(A[0], 3, 1, 0, "uint32")


def test_a_product_of_signs() -> None:
    values = [RNG.standard_normal(shape).astype("float32") for shape in ((3, 64), (5, 64))]
    tensors = [te.placeholder(each.shape, name=name) for each, name in zip(values, "AB", strict=True)]
    made = topi.nn.binary_dense(*(topi.nn.binarize_pack(each) for each in tensors))
    a, b = (np.where(each >= 0, 1.0, -1.0) for each in values)
    np.testing.assert_array_equal(run(made, *zip(tensors, values, strict=True)), a @ b.T)


@pytest.mark.parametrize("unipolar", [True, False])
def test_a_product_of_few_bits(unipolar: bool) -> None:
    A, W = integers((3, 64), 2, "A"), integers((4, 64), 1, "W")
    made = topi.nn.bitserial_dense(A[0], W[0], 2, 1, unipolar=unipolar)
    weight = signs(W[1], 1) if unipolar else W[1]
    np.testing.assert_array_equal(run(made, A, W), A[1] @ weight.T)


@pytest.mark.parametrize("layout", ["nchw", "nhwc"])
def test_a_convolution_of_few_bits(layout: str) -> None:
    A, W = integers((1, 32, 5, 6), 2, "A"), integers((2, 32, 3, 3), 2, "W")
    expected = topi.testing.conv2d_nchw_python(A[1].astype("int32"), signs(W[1], 2).astype("int32"), 2, 1)
    convolve, image, window = topi.nn.bitserial_conv2d_nchw, (0, 1, 2, 3), (0, 1, 2, 3)
    if layout == "nhwc":
        convolve, image, window = topi.nn.bitserial_conv2d_nhwc, (0, 2, 3, 1), (2, 3, 1, 0)
    data, kernel = A[1].transpose(image).copy(), W[1].transpose(window).copy()
    tensors = [te.placeholder(each.shape, "int16", name=name) for each, name in ((data, "A"), (kernel, "W"))]
    made = convolve(tensors[0], tensors[1], 2, 1, 2, 2)
    result = run(made, (tensors[0], data), (tensors[1], kernel))
    np.testing.assert_array_equal(result, expected.transpose(image))


def test_a_graph_of_words_of_bits() -> None:
    x, w = relay.var("x", shape=(3, 32), dtype="int16"), relay.var("w", shape=(4, 32), dtype="int16")
    words = relay.nn.bitpack(w, bits=2, pack_axis=1, bit_axis=1, pack_type="uint8", name="words")
    product = relay.nn.bitserial_dense(x, words, 4, 1, 2, pack_dtype="uint8")
    data, weight = RNG.integers(0, 2, (3, 32)).astype("int16"), RNG.integers(0, 4, (4, 32)).astype("int16")
    mod = tvm.IRModule.from_expr(relay.Function([x, w], product))
    result = relay.create_executor(mod=mod).evaluate()(data, weight)
    np.testing.assert_array_equal(result.numpy(), data @ signs(weight, 2).T)


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda x, w: relay.nn.bitpack(x, bits=9), "9 bits of int8"),
        (lambda x, w: relay.nn.bitserial_dense(x, w, 5), "expected 5 rows"),
        (lambda x, w: relay.nn.bitserial_dense(x, relay.nn.bitpack(w, pack_type="uint8", bit_axis=1)), "equal words"),
        (lambda x, w: relay.nn.bitserial_conv2d(x, w), "data of 2 dimensions"),
        (lambda x, w: relay.nn.bitserial_conv2d(x, w, data_layout="NCHW", kernel_layout="HWIO"), "NCHW and HWIO"),
    ],
)
def test_words_of_bits_of_other_sizes_are_errors(build: Any, message: str) -> None:
    x, w = relay.var("x", shape=(3, 32), dtype="int8"), relay.var("w", shape=(4, 32), dtype="int8")
    with pytest.raises(TeError, match=message):
        tvm.IRModule.from_expr(relay.Function([x, w], build(x, w)))


def test_operators_of_all_kinds_have_schedules() -> None:
    made = te.compute((4,), lambda i: i, "made")
    for name in ("schedule_bitserial_dense", "schedule_nms", "schedule_scan", "schedule_conv2d_cudnn"):
        assert getattr(topi.generic, name)([made]).outputs == [made.op]
    s = te.create_schedule(made.op)
    assert topi.cuda.schedule_injective_from_existing(s, made) is s

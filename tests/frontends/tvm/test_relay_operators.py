"""Operators of tvm.relay on images, slices, sparse elements and signals, with the examples of their definitions."""

from typing import Any

import numpy as np
import pytest

import stepwell.frontends.tvm as tvm
from stepwell.frontends.te import TeError
from stepwell.frontends.tvm import relay, te, topi
from stepwell.frontends.tvm.relay.dataflow_pattern import is_op, wildcard
from stepwell.frontends.tvm.topi.utils import get_const_int

Array = np.ndarray[Any, Any]


def evaluate(result: Any, kind: str = "graph", /, **inputs: Any) -> Any:
    body = result.astuple() if isinstance(result, relay.TupleWrapper) else result
    func = relay.Function(relay.analysis.free_vars(body), body)
    values = [inputs[each.name_hint] for each in func.params]
    results = relay.create_executor(kind, tvm.IRModule.from_expr(func)).evaluate()(*values)
    return [each.numpy() for each in results] if isinstance(result, relay.TupleWrapper) else results.numpy()


# Images


def test_gradients_of_pools_are_operators() -> None:
    data, slopes = np.arange(32, dtype="float32").reshape(1, 2, 4, 4) % 7, np.ones((1, 2, 2, 2), "float32")
    g, x = relay.var("g", shape=slopes.shape), relay.var("x", shape=data.shape)
    said = (2, 2), (2, 2), (0, 0), "NCHW", "", False
    for name, function in (("max", relay.nn.max_pool2d_grad), ("avg", relay.nn.avg_pool2d_grad)):
        expected = topi.testing.pool_grad_nchw(data, slopes, [2, 2], [2, 2], [0, 0, 0, 0], name, False)
        np.testing.assert_array_equal(evaluate(function(g, x, *said), g=slopes, x=data), expected)
        pool = getattr(relay.nn, f"{name}_pool2d")(x, (2, 2), (2, 2))
        backward = relay.transform.gradient(relay.Function([x], pool), mode="first_order")
        results = relay.create_executor("graph", tvm.IRModule.from_expr(backward)).evaluate()(data)
        np.testing.assert_array_equal(results[1][0].numpy(), expected)
    assert "nn.max_pool2d_grad" in relay.nn.max_pool2d_grad(g, x, *said).astext()


@pytest.mark.parametrize("groups", [1, 2])
def test_the_gradient_of_a_weight_is_an_operator(groups: int) -> None:
    choose = np.random.default_rng(0)
    data, weight = choose.integers(-3, 4, (2, 4, 6, 5)), choose.integers(-3, 4, (6, 4 // groups, 3, 2))
    x, w = relay.var("x", shape=data.shape), relay.var("w", shape=weight.shape)
    attributes: Any = {"strides": (2, 1), "padding": (1, 0), "groups": groups}
    func = relay.Function([x, w], relay.nn.conv2d(x, w, channels=6, kernel_size=(3, 2), **attributes))
    backward = relay.transform.gradient(func, mode="first_order")
    arrays = [each.astype("float32") for each in (data, weight)]
    results = relay.create_executor("graph", tvm.IRModule.from_expr(backward)).evaluate()(*arrays)
    slopes = np.ones_like(results[0].numpy())
    g = relay.var("g", shape=slopes.shape)
    made = relay.nn.conv2d_backward_weight(g, x, kernel_size=(3, 2), channels=6, **attributes)
    np.testing.assert_array_equal(evaluate(made, g=slopes, x=arrays[0]), results[1][1].numpy())


def test_a_correlation_of_images() -> None:
    choose = np.random.default_rng(0)
    images = [choose.integers(-3, 4, (1, 3, 6, 7)).astype("float32") for _ in range(2)]
    a, b = relay.var("a", shape=images[0].shape), relay.var("b", shape=images[1].shape)
    made = relay.nn.correlation(a, b, 3, 1, 1, 1, 2, True, "NCHW")
    expected = topi.testing.correlation_nchw_python(images[0], images[1], 3, 1, 1, 1, 2, True)
    np.testing.assert_allclose(evaluate(made, a=images[0], b=images[1]), expected, rtol=1e-5)


# Streams and others


def test_a_buffer_of_a_stream() -> None:
    data, buffer = relay.var("data", shape=(1, 2)), relay.var("buffer", shape=(1, 5))
    given = {"data": np.array([[7, 8]], "float32"), "buffer": np.arange(5, dtype="float32").reshape(1, 5)}
    assert evaluate(relay.nn.fifo_buffer(data, buffer, axis=1), "graph", **given).tolist() == [[2, 3, 4, 7, 8]]


def test_dropout_keeps_all_elements() -> None:
    x = np.arange(6, dtype="float32").reshape(2, 3)
    kept, mask = evaluate(relay.nn.dropout_raw(relay.var("x", shape=(2, 3)), rate=0.2), x=x)
    np.testing.assert_array_equal(kept, x)
    np.testing.assert_array_equal(mask, np.ones_like(x))
    with pytest.raises(TeError, match=r"nn\.dropout: rate 2\.0, expected a number from 0 to 1"):
        evaluate(relay.nn.dropout_raw(relay.var("x", shape=(2, 3)), 2.0), x=x)


def test_a_fast_softmax_is_the_exact_one() -> None:
    x = np.random.default_rng(0).random((2, 3), "float32")
    found = evaluate(relay.nn.fast_softmax(relay.var("x", shape=(2, 3)), axis=0), x=x)
    np.testing.assert_allclose(found, topi.testing.softmax_python(x, 0), rtol=1e-6)


# Pairs


def test_quotients_are_rounded_towards_zero() -> None:
    a, b = np.array([7, -7, 7, -7], "int32"), np.array([2, 2, -2, -2], "int32")
    x, y = relay.var("x", shape=(4,), dtype="int32"), relay.var("y", shape=(4,), dtype="int32")
    assert evaluate(relay.trunc_divide(x, y), x=a, y=b).tolist() == [3, -3, -3, 3]
    assert evaluate(relay.trunc_mod(x, y), x=a, y=b).tolist() == [1, -1, 1, -1]
    x, y = relay.var("x", shape=(4,)), relay.var("y", shape=(4,))
    given = {"x": (a + 0.5).astype("float32"), "y": b.astype("float32")}
    assert evaluate(relay.trunc_divide(x, y), "graph", **given).tolist() == [3, -3, -3, 3]
    assert evaluate(relay.trunc_mod(x, y), "graph", **given).tolist() == [1.5, -0.5, 1.5, -0.5]


# Slices


@pytest.mark.parametrize(
    ("begin", "end", "strides", "shape"),
    [
        ([0, 0, 0], [4, -5, 4], [1, -1, 2], (3, 1, 2)),
        ([1, 1, 0], [4, 4, 3], [2, 1, 1], (1, 3, 3)),
        ([1, -1, 0], [4, -5, 3], [2, -1, 1], (1, 4, 3)),
        ([1, -1, 0], [2, -3, 3], [1, -1, 1], (1, 2, 3)),
        ([1, 1, 0], [4, 1000, 3], None, (2, 3, 3)),
        ([1, 1, 0], [4, 4], None, (2, 3, 3)),
        ([1, 1], [4, 4, 3], None, (2, 3, 3)),
    ],
)
def test_a_slice_is_replaced(
    begin: list[int], end: list[int], strides: list[int] | None, shape: tuple[int, ...]
) -> None:
    whole = np.arange(36, dtype="float32").reshape(3, 4, 3)
    part = -np.ones(shape, "float32")
    x, v = relay.var("x", shape=whole.shape), relay.var("v", shape=shape)
    expected, steps = whole.copy(), [*(strides or []), 1, 1, 1]
    slices = [slice(a, b, c) for a, b, c in zip([*begin, 0], [*end, None], steps, strict=False)][:3]
    expected[tuple(slices)] = part
    constants = [None if each is None else relay.const(np.array(each, "int32")) for each in (begin, end, strides)]
    for given in ([begin, end, strides], constants):
        np.testing.assert_array_equal(evaluate(relay.strided_set(x, v, *given), x=whole, v=part), expected)


def test_bounds_of_a_slice_may_be_computed() -> None:
    x, v = relay.var("x", shape=(5,)), relay.var("v", shape=(2,))
    begin = relay.var("begin", shape=(1,), dtype="int32")
    result = relay.strided_set(x, v, begin, begin + relay.const(2, "int32"))
    given = {"x": np.zeros(5, "float32"), "v": np.ones(2, "float32"), "begin": np.array([2], "int32")}
    assert evaluate(result, "vm", **given).tolist() == [0, 0, 1, 1, 0]


# Sums


DATA = np.array([[1, 2, 3, 4], [4, -3, 2, -1], [5, 6, 7, 8]], "float32")


def test_slices_of_one_number_are_added() -> None:
    x, numbers = relay.var("x", shape=(3, 4)), relay.var("numbers", shape=(3,), dtype="int32")
    given = {"x": DATA, "numbers": np.array([2, 0, 0], "int32")}
    expected = [[9, 3, 9, 7], [0, 0, 0, 0], [1, 2, 3, 4]]
    assert evaluate(relay.segment_sum(x, numbers, 3), "graph", **given).tolist() == expected
    assert evaluate(relay.segment_sum(x, numbers), "vm", **given).tolist() == expected
    known = relay.segment_sum(x, relay.const(np.array([0, 0, 1], "int32")))
    assert evaluate(known, x=DATA).tolist() == [[5, -1, 5, 3], [5, 6, 7, 8]]


# Sparse elements


PLACES = np.array([[0, 0, 0], [0, 0, 1], [0, 1, 0], [1, 0, 0], [1, 2, 3]], "int32")


def test_sparse_elements_have_indices_in_another_shape() -> None:
    places = relay.var("places", shape=(5, 3), dtype="int32")
    old, new = relay.const(np.array([2, 3, 6], "int32")), relay.const(np.array([9, -1], "int32"))
    indices, shape = evaluate(relay.sparse_reshape(places, old, new), places=PLACES)
    assert indices.tolist() == [[0, 0], [0, 1], [1, 2], [4, 2], [8, 1]]
    assert shape.tolist() == [9, 4]


def test_empty_rows_are_filled() -> None:
    places = relay.var("places", shape=(4, 2), dtype="int64")
    values = relay.var("values", shape=(4,))
    shape, default = relay.const(np.array([5, 6], "int64")), relay.const(np.array([10], "float32"))
    results = relay.sparse_fill_empty_rows(places, values, shape, default)
    rows = np.array([[0, 1], [0, 3], [2, 0], [3, 1]], "int64")
    indices, numbers, is_empty = evaluate(results, "vm", places=rows, values=np.array([1, 2, 3, 4], "float32"))
    assert indices.tolist() == [[0, 1], [0, 3], [1, 0], [2, 0], [3, 1], [4, 0]]
    assert numbers.tolist() == [1, 2, 10, 3, 4, 10]
    assert is_empty.tolist() == [0, 1, 0, 0, 1]
    assert numbers.dtype == np.float32


def test_filled_rows_of_a_vector_are_an_error() -> None:
    one = relay.var("one", shape=(4,), dtype="int64")
    results = relay.sparse_fill_empty_rows(one, one, one, relay.const(1, "int64"))
    mod = tvm.IRModule.from_expr(relay.Function([one], results.astuple()))
    with pytest.raises(TeError, match=r"sparse_fill_empty_rows: an operand of type .*, expected 2 dimensions"):
        relay.transform.InferType()(mod)


# Signals


def test_parts_of_a_signal_have_spectra() -> None:
    signal = np.arange(1, 7, dtype="float32")
    x, window = relay.var("x", shape=(6,)), relay.const(np.array([4, 3, 2], "int32"))
    got = evaluate(relay.stft(x, 3, 3, 3, window, False, True), x=signal)
    expected = [[[16, 0], [43, 0]], [[-2, 0], [2.5, -2.5981]]]
    np.testing.assert_allclose(got, expected, 1e-4, 1e-6)
    batch = relay.stft(relay.var("x", shape=(2, 6)), 4, normalized=True, onesided=False)
    last = evaluate(batch, x=np.stack([signal] * 2))[1]
    parts = np.stack([signal[n : n + 4] for n in range(3)])
    spectra = np.fft.fft(parts).T / 2
    np.testing.assert_allclose(last, np.stack([spectra.real, spectra.imag], -1), 1e-5, 1e-5)


@pytest.mark.parametrize("inverse", [False, True])
def test_transforms_of_signals(inverse: bool) -> None:
    real, imaginary = np.random.default_rng(0).random((2, 3, 5)).astype("float32")
    parts = relay.dft(relay.var("re", shape=(3, 5)), relay.var("im", shape=(3, 5)), inverse)
    got = evaluate(parts, re=real, im=imaginary)
    expected = (np.fft.ifft if inverse else np.fft.fft)(real + 1j * imaginary)
    np.testing.assert_allclose(got, [expected.real, expected.imag], 1e-5, 1e-5)


def test_signals_and_sparse_elements_of_topi() -> None:
    real, imaginary = te.placeholder((4,), name="re"), te.placeholder((4,), name="im")
    outputs = topi.dft(real, imaginary, False)
    run = tvm.build(te.create_prim_func([real, imaginary, *outputs]), "llvm")
    results = [np.zeros(4, "float32") for _ in range(2)]
    run(np.array([1, 2, 3, 4], "float32"), np.zeros(4, "float32"), *results)
    np.testing.assert_allclose(results, [[10, -2, -2, -2], [0, 2, 0, -2]], atol=1e-6)
    window = te.placeholder((2,), name="window")
    assert list(map(get_const_int, topi.stft(real, 2, 1, 2, window, True, False).shape)) == [2, 3, 2]
    places, shape = te.placeholder((5, 3), "int32"), te.placeholder((3,), "int32")
    indices, new = topi.sparse_reshape(places, shape, te.placeholder((2,), "int32"), (5, 2), (2,))
    assert [list(map(get_const_int, each.shape)) for each in (indices, new)] == [[5, 2], [2]]


# Convolutions


@pytest.mark.parametrize("tile", [2, 4])
def test_convolutions_with_transformed_weights(tile: int) -> None:
    draw = np.random.default_rng(0)
    image, weight = draw.random((1, 3, 8, 7)).astype("float32"), draw.random((5, 3, 3, 3)).astype("float32")
    x, w = relay.var("x", shape=image.shape), relay.var("w", shape=weight.shape)
    points = relay.nn.contrib_conv2d_winograd_weight_transform(w, tile)
    result = relay.nn.contrib_conv2d_winograd_without_weight_transform(
        x, points, tile, padding=(1, 1), channels=5, kernel_size=(3, 3)
    )
    assert evaluate(points, w=weight).shape == (tile + 2, tile + 2, 5, 3)
    expected = evaluate(relay.nn.conv2d(x, w, padding=(1, 1)), x=image, w=weight)
    np.testing.assert_allclose(evaluate(result, x=image, w=weight), expected, 1e-4, 1e-4)
    pattern = is_op("nn.contrib_conv2d_winograd_without_weight_transform")(wildcard(), wildcard())
    assert pattern.match(result)

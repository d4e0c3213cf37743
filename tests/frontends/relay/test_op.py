"""Functions of `relay` accept TVM's arguments in TVM's order, and compute the operators of their names."""

import re
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import stepwell.frontends.tvm as tvm
from stepwell.backends.interpreter import interpret
from stepwell.core.errors import OptionError, UnsupportedError
from stepwell.expressions.errors import TeError
from stepwell.frontends import relay
from stepwell.operators import OPERATORS, UnknownOperatorError

X = (np.arange(24, dtype="float32").reshape(2, 3, 4) - 7) / 8
IMAGE = np.arange(2 * 3 * 6 * 6, dtype="float32").reshape(2, 3, 6, 6) / 64


def computed(body: Any, data: np.ndarray = X) -> Any:
    params = relay.free_vars(body if isinstance(body, relay.Expr) else relay.Tuple(body))
    return interpret(relay.module(relay.Function(params, body)), "main", [data] if params else [])


def x(data: np.ndarray = X) -> relay.Var:
    return relay.var("x", shape=data.shape, dtype=str(data.dtype))


def softmax(values: np.ndarray) -> np.ndarray:
    powers = np.exp(values - values.max(-1, keepdims=True))
    return powers / powers.sum(-1, keepdims=True)


@pytest.mark.parametrize(
    ("made", "expected"),
    [
        (lambda: relay.full(relay.const(2.5), (2, 2), "float32"), np.full((2, 2), 2.5, "float32")),
        (lambda: relay.full(3, (2,)), np.full(2, 3, "int32")),
        (lambda: relay.full(relay.max(x()), (2, 2)), np.full((2, 2), X.max())),
        (lambda: relay.full(relay.max(x()), (2,), "int32"), np.full(2, X.max().astype("int32"))),
        (lambda: relay.full_like(x(), relay.const(2.0)), np.full_like(X, 2)),
        (lambda: relay.full_like(v := x(), relay.max(v)), np.full_like(X, X.max())),
        (lambda: relay.zeros((2, 3), "int8"), np.zeros((2, 3), "int8")),
        (lambda: relay.ones((2,), "float32"), np.ones(2, "float32")),
        (lambda: relay.arange(relay.const(1), relay.const(7), relay.const(2), "int32"), np.array([1, 3, 5], "int32")),
        (lambda: relay.clip(a=x(), a_min=-0.5, a_max=0.5), X.clip(-0.5, 0.5)),
        (lambda: relay.reshape(x(), newshape=(-1, 4)), X.reshape(-1, 4)),
        (lambda: relay.reshape(x(), relay.const(np.array([4, 6]))), X.reshape(4, 6)),
        (lambda: relay.reshape(x(), -1), X.reshape(-1)),
        (lambda: relay.transpose(x(), axes=(2, 0, 1)), X.transpose(2, 0, 1)),
        (lambda: relay.layout_transform(x(), "ABC", "CAB"), X.transpose(2, 0, 1)),
        (lambda: relay.expand_dims(x(), 1, 2), X[:, None, None]),
        (lambda: relay.strided_slice(x(), [0, 1], [2, 3]), X[0:2, 1:3]),
        (lambda: relay.strided_slice(x(), [1], [1], strides=[1], axes=[1], slice_mode="size"), X[:, 1:2]),
        (lambda: relay.strided_slice(x(), begin=[0, 0, 1], end=[-1, -1, -1], slice_mode="size"), X[:, :, 1:]),
        (lambda: relay.take(x(), relay.const([2, 0]), 1), X[:, [2, 0]]),
        (lambda: relay.gather(x(), 1, relay.zeros((2, 1, 4), "int32")), X[:, :1]),
        (lambda: relay.gather_nd(x(), relay.const([[0, 1], [2, 0]]), index_rank=2), X[[0, 1], [2, 0]]),
        (lambda: relay.adv_index([x(), relay.const([[1], [0]]), relay.const([2, 0])]), X[[[1], [0]], [2, 0]]),
        (
            lambda: relay.meshgrid([relay.const([1, 2]), relay.const([3, 4, 5])], "xy")[1],
            np.array([[3, 3], [4, 4], [5, 5]]),
        ),
        (lambda: relay.unravel_index(relay.const([22, 41]), relay.const([7, 6])), np.array([[3, 6], [4, 5]])),
        (lambda: relay.invert_permutation(relay.const([3, 0, 2, 1])), np.array([1, 3, 2, 0])),
        (
            lambda: relay.sparse_to_dense(
                relay.const([[0, 1], [2, 0]]), (3, 2), relay.const([1.5, 2.5]), relay.const(9.0)
            ),
            np.array([[9, 1.5], [9, 9], [2.5, 9]]),
        ),
        (
            lambda: relay.matrix_set_diag(
                relay.zeros((2, 3), "int32"), relay.const([[0, 1], [2, 3]]), (0, 1), "RIGHT_LEFT"
            ),
            np.array([[2, 0, 0], [0, 3, 1]]),
        ),
        (lambda: relay.fixed_point_multiply(relay.const([13, -13]), 1073741824, -1), np.array([3, -3])),
        (lambda: relay.sort(x(), 1, 0), -np.sort(-X, 1)),
        (lambda: relay.argsort(x(), 1, False, "int64"), np.argsort(-X, 1, "stable")),
        (lambda: relay.topk(x(), 2, -1, "values", False), -np.sort(-X)[..., :2]),
        (lambda: relay.topk(x(), k=1, dtype="int64")[1], X.argmax(-1)[..., None]),
        (lambda: relay.cumsum(x(), 1), X.cumsum(1)),
        (lambda: relay.cumprod(x(), 2, "float64"), X.cumprod(2, "float64")),
        (lambda: relay.std(x(), 1), X.std(1)),
        (lambda: relay.mean_variance(x(), [0, 2])[1], X.var((0, 2))),
        (lambda: relay.variance(v := x(), 1, with_mean=relay.mean(v, 1)), X.var(1)),
        (lambda: relay.logsumexp(x(), 2), np.log(np.exp(X).sum(2))),
        (lambda: relay.logsumexp(x(), [0, 1], True), np.log(np.exp(X).sum((0, 1), keepdims=True))),
        (
            lambda: relay.one_hot(relay.const([0, 2]), relay.const(1.0), relay.const(0.0), 3, -1, "float32"),
            np.eye(3)[[0, 2]],
        ),
        (lambda: relay.trilu(x(), relay.const(1), False), np.tril(X, 1)),
        (
            lambda: relay.nn.pad(x(), ((0, 0), (1, 0), (0, 2)), relay.const(1.0)),
            np.pad(X, ((0, 0), (1, 0), (0, 2)), constant_values=1),
        ),
        (lambda: relay.nn.batch_matmul(x(), relay.const(X), "", False, True), X @ X.transpose(0, 2, 1)),
        (
            lambda: relay.nn.batch_matmul(x(), relay.const(X), transpose_a=True, transpose_b=False),
            X.transpose(0, 2, 1) @ X,
        ),
        (lambda: relay.nn.matmul(relay.const(X[0]), relay.const(X[1]), None, "", False, True), X[0] @ X[1].T),
        (lambda: relay.nn.leaky_relu(x(), 0.5), np.where(X > 0, X, X / 2)),
        (lambda: relay.nn.dropout(x(), 0.3), X),
        (lambda: relay.nn.softmax(x()), softmax(X)),
        (
            lambda: relay.nn.layer_norm(x(), relay.ones((4,), "float32"), relay.zeros((4,), "float32"), -1, 1e-5),
            (X - X.mean(-1, keepdims=True)) / np.sqrt(X.var(-1, keepdims=True) + 1e-5),
        ),
        (
            lambda: relay.nn.cross_entropy(
                relay.nn.softmax(relay.const(X[0])), relay.const(np.eye(3, 4, dtype="float32"))
            ),
            -(np.eye(3, 4) * np.log(softmax(X[0]))).sum(1).mean(),
        ),
        (lambda: relay.op.nn.relu(relay.op.add(x(), relay.const(1.0))), np.maximum(X + 1, 0)),
        (
            lambda: relay.qnn.op.quantize(x(), relay.const(0.5), relay.const(3)),
            (np.sign(X) * np.floor(np.abs(X) / 0.5 + 0.5) + 3).astype("int8"),
        ),
        (
            lambda: relay.qnn.dequantize(relay.const(np.array([3, 5], "int8")), relay.const(0.5), relay.const(3)),
            np.array([0, 1.0]),
        ),
    ],
)
def test_a_function_computes_what_tvm_says(made: Callable[[], Any], expected: Any) -> None:
    np.testing.assert_allclose(np.asarray(computed(made())), expected, 1e-5, 1e-6)


@pytest.mark.parametrize(
    ("made", "expected"),
    [
        (lambda v: relay.nn.max_pool2d(v, (2, 2), (2, 2)), IMAGE[:, :, 1::2, 1::2]),
        (lambda v: relay.nn.max_pool2d(v, (2, 2), (2, 2), (1, 1), (0, 0), "NCHW", "", False), IMAGE[:, :, 1::2, 1::2]),
        (lambda v: relay.nn.avg_pool2d(v, 6, 1, 1, 0, "NCHW", "NCHW", False, True), IMAGE.mean((2, 3), keepdims=True)),
        (lambda v: relay.nn.global_avg_pool2d(v), IMAGE.mean((2, 3), keepdims=True)),
        (lambda v: relay.nn.global_max_pool2d(v, "NCHW", ""), IMAGE.max((2, 3), keepdims=True)),
        (lambda v: relay.nn.adaptive_avg_pool2d(v, (1, 1), "NCHW", ""), IMAGE.mean((2, 3), keepdims=True)),
        (lambda v: relay.nn.adaptive_avg_pool2d(v), IMAGE),
        (lambda v: relay.nn.upsampling(v, 2, 2), IMAGE.repeat(2, 2).repeat(2, 3)),
        (
            lambda v: relay.image.resize2d(v, (12, 12), None, "NCHW", "nearest_neighbor", "asymmetric"),
            IMAGE.repeat(2, 2).repeat(2, 3),
        ),
        (lambda v: relay.nn.batch_flatten(v), IMAGE.reshape(2, -1)),
    ],
)
def test_a_function_of_images_computes_what_tvm_says(made: Callable[[Any], Any], expected: Any) -> None:
    np.testing.assert_allclose(computed(made(x(IMAGE)), IMAGE), expected, 1e-5)


@pytest.mark.parametrize(("rank", "layout"), [(1, "OIW"), (2, "IOHW"), (3, "OIDHW")])
def test_transposed_convolutions_have_the_channels_of_data_first(rank: int, layout: str) -> None:
    data = relay.const(np.ones((1, 2, *[3] * rank), "float32"))
    weight = relay.const(np.ones((2, 5, *[2] * rank), "float32"))
    convolution = getattr(relay.nn, f"conv{rank}d_transpose")
    got = computed(convolution(data, weight, 1, 0, 1, 1, 5, [2] * rank, kernel_layout=layout))
    assert got.shape == (1, 5, *[4] * rank)
    assert got.max() == 2 * 2**rank
    np.testing.assert_array_equal(got, computed(convolution(data, weight)))


@pytest.mark.parametrize("name", OPERATORS)
def test_every_operator_has_a_function(name: str) -> None:
    space: Any = relay
    for part in name.split("."):
        space = getattr(space, part)
    assert space.__doc__
    with pytest.raises(TeError, match=f"error: {re.escape(name)}: no argument 'unknown'"):
        space(unknown=0)


def test_operators_of_one_word_are_names_of_relay() -> None:
    words = {name for name in OPERATORS if "." not in name}
    assert words <= set(relay.op.__all__) <= set(relay.__all__) & set(tvm.relay.__all__)


def test_an_operator_is_found_by_name() -> None:
    assert relay.op.get("nn.dense") is OPERATORS["nn.dense"]
    assert relay.op.get("nn.dense") is relay.nn.dense(x(), x()).op
    with pytest.raises(UnknownOperatorError, match=r"no operator 'nn\.dens', did you mean 'nn\.dense'"):
        relay.op.get("nn.dens")


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda: relay.nn.conv2d(x(), x(), stride=2),
            r"test_op.py:\d+: error: nn.conv2d: no argument 'stride'.*did you mean 'strides'",
        ),
        (
            lambda: relay.nn.max_pool2d(x(), (2, 2), stride=2),
            "nn.max_pool2d: no argument 'stride'.*did you mean 'strides'",
        ),
        (lambda: relay.add(x()), "add: missing a required argument: 'rhs' .has: lhs, rhs."),
        (lambda: relay.exp(x(), x()), "exp: too many positional arguments .has: data."),
        (lambda: relay.nn.leaky_relu(x()), "nn.leaky_relu: missing a required argument: 'alpha'"),  # pyright: ignore[reportCallIssue]
        (lambda: relay.nn.softmax(x(), "last"), "nn.softmax: axis = 'last', expected int"),
        (lambda: relay.clip(x(), "low", 1), "clip: a_min = 'low', expected float"),  # pyright: ignore[reportArgumentType]
        (
            lambda: relay.module(relay.Function([v := x()], relay.nn.pad(v, ((0, 0),), relay.exp(v)))),
            "nn.pad.* is no operation of a graph",
        ),
        (
            lambda: relay.module(relay.Function([v := x()], relay.reshape(v, (2, relay.exp(v))))),
            "reshape.* is no operation of a graph",
        ),
        (lambda: relay.reshape(x(), (0, 2), allowzero=True), "newshape .0, 2. with allowzero is not supported yet"),
        (
            lambda: relay.strided_slice(x(), [0], [1], slice_mode="begin"),
            "slice_mode 'begin', expected 'end' or 'size'",
        ),
        (lambda: relay.layout_transform(x(), "NCHW", "NCHW4x"), "layout 'NCHW4x', expected capital letters"),
        (lambda: relay.layout_transform(x(), "NCHW", "NDHW"), "layout NDHW, expected the dimensions of NCHW"),
        (
            lambda: relay.nn.max_pool2d(x(), 2, out_layout="NHWC"),
            "out_layout 'NHWC' of data in 'NCHW' is not supported",
        ),
    ],
)
def test_wrong_arguments_are_errors_that_name_the_operator(make: Callable[[], Any], message: str) -> None:
    with pytest.raises((TeError, OptionError, UnsupportedError), match=message):
        make()


def test_sparse_matrices_are_three_tensors() -> None:
    matrix = np.array([[0, 2, 0, 0], [0, 0, 5, 0], [1, 0, 3, 4], [0, 0, 0, 0]], "float32")
    rows, columns = np.nonzero(matrix)
    starts = np.cumsum([0, *np.count_nonzero(matrix, axis=1)])
    parts = [relay.const(each) for each in (matrix[rows, columns], columns.astype("int32"), starts.astype("int32"))]
    held = SimpleNamespace(data=parts[0], indices=parts[1], indptr=parts[2])
    for body, expected in [
        (relay.nn.sparse_dense(x(X[0]), held), X[0] @ matrix.T),
        (relay.nn.sparse_dense(x(X[0]), parts, sparse_lhs=True), matrix @ X[0].T),
        (relay.nn.sparse_dense(x(X[0]), tuple(relay.nn.sparse_transpose(held))), X[0] @ matrix),
        (relay.nn.sparse_add(x(matrix), parts), matrix * 2),
    ]:
        data = matrix if body.op.name == "nn.sparse_add" else X[0]
        np.testing.assert_allclose(computed(body, data), expected)
    with pytest.raises(OptionError, match="expected the data, the indices and the indptr of a sparse matrix"):
        relay.nn.sparse_dense(x(X[0]), parts[:2])

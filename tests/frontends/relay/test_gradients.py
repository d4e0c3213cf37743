"""Gradients of graphs, compared with quotients of differences."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

from stepwell.backends.interpreter import interpret
from stepwell.core.errors import OptionError, UnsupportedError
from stepwell.frontends import tvm
from stepwell.frontends.relay.gradients import RULES
from stepwell.frontends.tvm import relay
from stepwell.frontends.tvm.relay.testing import check_grad
from stepwell.operators import OPERATORS

op, nn = relay.op, relay.nn


def variable(name: str, *shape: int) -> relay.Var:
    return relay.var(name, shape=shape, dtype="float64")


def total(parts: Sequence[Any]) -> Any:
    """The weighted sum of all elements of tensors, so that no gradient cancels."""
    sums = [op.sum(part * relay.const(1.0 + n, "float64")) for n, part in enumerate(parts)]
    result = sums[0]
    for each in sums[1:]:
        result = result + each
    return result


def parts_of(expr: Any) -> list[Any]:
    return list(expr) if isinstance(expr, relay.TupleWrapper) else [expr]


ABOVE_ONE = ("acosh",)
UNARY = [
    *("exp", "exp2", "log", "log2", "log10", "log1p", "sqrt", "rsqrt", "sigmoid", "tanh", "erf", "sin", "cos", "tan"),
    *("sinh", "cosh", "asin", "acos", "atan", "asinh", "atanh", "abs", "negative", "copy"),
    *("nn.relu", "nn.silu", "nn.softplus", "nn.leaky_relu"),
]

X, Y, IMAGE, ROW = (2, 3), (3,), (1, 2, 6, 5), (1, 3)
INDICES = relay.const(np.array([[2, 0], [1, 2]], "int32"))
ROWS = np.array([[1, 0, 1], [2, 2, 0]], "int32")

CASES: dict[str, tuple[list[tuple[int, ...]], Callable[..., list[Any]]]] = {
    "functions": ([X], lambda x: [relay.Call(OPERATORS[name], [x]) for name in UNARY]),
    "functions above one": ([X], lambda x: [op.acosh(x + relay.const(1.5, "float64")), op.clip(x, 0.2, 0.5)]),
    "pairs": ([X, Y], lambda x, y: [x + y, x - y, x * y, x / y, op.power(x, y), op.maximum(x, y), op.minimum(x, y)]),
    "choices": ([X, ROW], lambda x, y: [op.where(x > y, x * x, y), op.cast(x, "float64") * x]),
    "reductions": (
        [X],
        lambda x: [
            *(f(x, **said) * op.mean(x) for f in (op.sum, op.mean, op.max, op.min, op.prod, op.variance) for said in (
                {}, {"axis": 1}, {"axis": -1, "keepdims": True}, {"axis": 1, "exclude": True})),
            op.variance(x, 1, unbiased=True), nn.softmax(x) * x, nn.log_softmax(x, 0) * x, op.cumsum(x, 1) * x,
        ],
    ),
    "products": (
        [X, (4, 3), (3, 4)],
        lambda x, w, v: [
            nn.dense(x, w) * nn.dense(x, w), nn.matmul(x, v) * nn.dense(x, w), nn.matmul(v, w),
            nn.bias_add(x, op.sum(v, 1)),
            nn.matmul(v, x, transpose_a=True, transpose_b=True), op.einsum([x, v], "ij,jk->ik"),
        ],
    ),
    "batches": (
        [(2, 2, 3), (1, 4, 3)],
        lambda x, y: [
            nn.batch_matmul(x, y), nn.batch_matmul(x, op.transpose(y, [0, 2, 1]), transpose_b=False),
            nn.batch_matmul(op.transpose(x, [0, 2, 1]), y, transpose_a=True), nn.dense(x, op.squeeze(y, [0])),
        ],
    ),
    "moves": (
        [X, (1, 3)],
        lambda x, y: [
            op.reshape(x, [3, 2]), op.transpose(x), op.expand_dims(x, 1, 2), op.squeeze(y), op.reverse(x, 1) * x,
            op.concatenate([x, y], 0) * op.concatenate([y, x], 0), op.stack([x, x * x], 1),
            op.broadcast_to(y, [2, 3]) * x,
            op.tile(x, [2, 1, 2]), op.repeat(x, 2, 1), nn.pad(x, [[1, 0], [0, 2]]), *op.split(x * x, 3, 1),
            op.strided_slice(x, [0, 0], [2, 3], [1, 2]), op.strided_slice(x, [1, 2], [-3, -4], [-1, -1]),
            op.take(x, INDICES, 1), op.take(x, INDICES), op.gather(x, 1, INDICES),
            op.gather_nd(x, relay.const(ROWS)),
            nn.batch_flatten(x), nn.dropout(x), op.sliding_window(x * x, 0, [2, 2], [1, 1]),
            op.sliding_window(x, -1, [1], [2]),
            op.strided_set(x * x, op.strided_slice(x, [0, 0], [2, 2]), [0, 2], [2, 0], [1, -1]),
            op.segment_sum(x, relay.const(np.array([2, 0], "int32")), 3), op.trunc_divide(x, y),
            op.segment_sum(x * x, relay.const(np.array([-1, 5], "int32")), 2),
        ],
    ),
    "coordinates": (
        [X, Y],
        lambda x, y: [
            op.adv_index([x, INDICES - relay.const(1), relay.const(np.array([[2], [0]], "int32"))]),
            op.adv_index([x * x, relay.const(np.array([1, 1, 0], "int32"))]),
            *op.meshgrid([y * y, y]), *op.meshgrid([y, op.sum(x), y * y], "xy"),
            op.matrix_set_diag(x * x, op.strided_slice(y, [0], [2])) * x,
            op.matrix_set_diag(x, op.stack([z := op.strided_slice(y, [0], [2]), z * z, z]), (-1, 1), "LEFT_RIGHT") * x,
        ],
    ),
    "losses": (
        [(3, 4), (2, 4, 2), (4,)],
        lambda x, v, w: [
            each
            for reduction in ("mean", "sum", "none")
            for each in (
                nn.nll_loss(x, relay.const(np.array([1, 3, 2], "int32")), w, reduction, 2),
                nn.nll_loss(v * v, relay.const(np.array([[1, -1], [0, 9]], "int32")), w, reduction),
            )
        ],
    ),
    "likes": (
        [X, Y],
        lambda x, y: [
            op.reshape_like(x, op.reshape(x, [3, 2])), op.broadcast_to_like(y, x) * x, op.cast_like(x, y),
            op.collapse_sum_like(x * x, y), op.collapse_sum_to(x, [2, 1]) * x,
            x * op.cast(op.ndarray_size(x), "float64"),
        ],
    ),
    "convolutions": (
        [IMAGE, (4, 1, 3, 2)],
        lambda x, w: [
            nn.conv2d(x, w, strides=[2, 1], padding=[1, 0, 2, 1], groups=2),
            nn.conv2d(x, op.strided_slice(w, [0], [2]), dilation=[2, 1], groups=2, padding=1),
            nn.conv2d(x, op.concatenate([w, w], 1), strides=3),
        ],
    ),
    "pools": (
        [IMAGE],
        lambda x: [
            nn.max_pool2d(x, 2, 2), op.maximum(nn.max_pool2d(x, (1, 1), padding=1), relay.const(0.0, "float64")),
            nn.avg_pool2d(x, 3, 2, padding=1),
            nn.avg_pool2d(x, 2, 2, ceil_mode=True, count_include_pad=True, padding=1), nn.global_avg_pool2d(x) * x,
        ],
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_a_gradient_is_the_limit_of_quotients(case: str) -> None:
    """In three random directions of each parameter, by the interpreter."""
    shapes, build = CASES[case]
    params = [variable(f"p{n}", *shape) for n, shape in enumerate(shapes)]
    body = total([part for each in build(*params) for part in parts_of(each)])
    func = relay.transform.InferType()(tvm.IRModule.from_expr(relay.Function(params, body)))
    backward = tvm.IRModule.from_expr(relay.transform.gradient(func["main"]))
    draw = np.random.default_rng(2)
    inputs = [draw.uniform(0.1, 0.9, shape) for shape in shapes]
    _, *grads = interpret(backward, "main", inputs)
    for n, grad in enumerate(grads):
        for _ in range(3):
            step = draw.uniform(-1e-5, 1e-5, shapes[n])
            up, down = (
                interpret(func, "main", [x + sign * step if m == n else x for m, x in enumerate(inputs)])
                for sign in (1, -1)
            )
            np.testing.assert_allclose((grad * step).sum(), (up - down) / 2, rtol=1e-4, atol=1e-12)


def test_compiled_gradients_are_limits_of_quotients() -> None:
    shapes, build = CASES["pairs"]
    params = [variable(f"p{n}", *shape) for n, shape in enumerate(shapes)]
    draw = np.random.default_rng(2)
    inputs = [draw.uniform(0.1, 0.9, shape) for shape in shapes]
    check_grad(relay.Function(params, total(build(*params))), inputs=inputs, eps=1e-5, rtol=1e-4)


def test_results_of_several_tensors() -> None:
    x = variable("x", 3)
    func = relay.Function([x], relay.Tuple([x * x, x * relay.const(3.0, "float64")]))
    values = np.arange(3.0)
    for mode, wanted in {"first_order": 2 * values + 3, "higher_order": 2 * values}.items():
        (_, triple), (grad,) = relay.create_executor().evaluate(relay.transform.gradient(func, mode=mode))(values)
        np.testing.assert_allclose(triple.numpy(), 3 * values)
        np.testing.assert_allclose(grad.numpy(), wanted)


def test_branches_bindings_and_functions_have_gradients() -> None:
    x, y, bound = variable("x", 3), variable("y", 3), relay.var("bound")
    inner = variable("inner", 3)
    square = relay.Function([inner], inner * inner)
    condition = op.sum(x) > op.sum(y)
    body = relay.Let(bound, square(x), relay.If(condition, bound * y, op.exp(y) + bound))
    func = relay.Function([x, y], body)
    for inputs in ([np.arange(3.0), np.ones(3) / 2], [np.ones(3) / 2, np.arange(3.0)]):
        check_grad(func, inputs=inputs, eps=1e-5)


def test_a_gradient_has_a_gradient() -> None:
    x, y = variable("x", 3), variable("y", 3)
    first = relay.transform.gradient(relay.Function([x], op.exp(x) * x))
    inner = relay.TupleGetItem(relay.TupleGetItem(first(y), 1), 0)
    check_grad(relay.Function([y], inner), inputs=[np.arange(3.0) / 4], eps=1e-5)


def test_an_integer_parameter_has_zeros() -> None:
    x, n = variable("x", 3), relay.var("n", shape=(3,), dtype="int32")
    func = relay.transform.gradient(relay.Function([x, n], x * op.cast(n, "float64")))
    _, grads = relay.create_executor().evaluate(func)(np.ones(3), np.arange(3, dtype="int32"))
    assert grads[0].numpy().tolist() == [0, 1, 2]
    assert (grads[1].numpy().dtype, grads[1].numpy().tolist()) == (np.int32, [0, 0, 0])


def test_what_has_no_gradient_is_named() -> None:
    x = variable("x", 4)
    with pytest.raises(UnsupportedError, match="operator sort has no gradient"):
        relay.transform.gradient(relay.Function([x], op.sort(x)))
    with pytest.raises(OptionError, match="mode 'reverse', expected"):
        relay.transform.gradient(relay.Function([x], x), mode="reverse")


def test_users_register_gradients() -> None:
    older = RULES["round"]
    try:
        relay.op.register_gradient("round", lambda orig, grad: [grad])
        x = variable("x", 2)
        func = relay.transform.gradient(relay.Function([x], op.round(x) * x))
        _, (grad,) = relay.create_executor().evaluate(func)(np.array([1.2, 3.9]))
        np.testing.assert_allclose(grad.numpy(), [2.2, 7.9])
    finally:
        RULES["round"] = older

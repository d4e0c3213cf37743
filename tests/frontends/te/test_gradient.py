"""Gradients of tensors: `te.gradient`."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import stepwell
from stepwell import te
from stepwell.core.errors import UnsupportedError
from stepwell.expressions.errors import TeError
from stepwell.frontends.te.gradient import gradient
from stepwell.operators import convolutions, math, nn, normalization, padding, pools, transform
from stepwell.operators.reduction import sum as total

Array = np.ndarray[Any, Any]
RNG = np.random.default_rng(0)


def evaluate(inputs: list[Any], outputs: list[Any], arrays: list[Array]) -> list[Array]:
    """The values of tensors for arrays of the inputs."""
    func = te.create_prim_func([*inputs, *outputs])
    results = [np.zeros([int(size) for size in each.shape], each.dtype) for each in outputs]
    stepwell.build(func, "llvm")(*arrays, *results)
    return results


def check(function: Callable[..., Any], *shapes: tuple[int, ...], low: float = -1.0) -> None:
    """Compares the gradients of the sum of a function's elements, weighted, with differences of its values."""
    inputs = [te.placeholder(shape, "float64", f"x{n}") for n, shape in enumerate(shapes)]
    arrays = [RNG.uniform(low, 1, shape) for shape in shapes]
    output = function(*inputs)
    weights = RNG.uniform(-1, 1, [int(size) for size in output.shape])
    head = te.placeholder(output.shape, "float64", "head")
    found = evaluate([*inputs, head], gradient(output, inputs, head), [*arrays, weights])
    (value,) = evaluate(inputs, [output], arrays)
    for n, (array, slope) in enumerate(zip(arrays, found, strict=True)):
        step = RNG.uniform(-1, 1, array.shape)
        near = [a + 1e-6 * step if k == n else a for k, a in enumerate(arrays)]
        (moved,) = evaluate(inputs, [output], near)
        np.testing.assert_allclose((slope * step).sum(), ((moved - value) * weights).sum() / 1e-6, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    ("function", "shapes"),
    [
        (lambda x, y: x * y + x / (y * y + 2.0), [(3, 4), (3, 4)]),
        (lambda x, w: nn.dense(math.tanh(x), w), [(2, 3), (4, 3)]),
        (lambda x, w: convolutions.conv2d(x, w, 2, 1), [(1, 2, 5, 5), (3, 2, 3, 3)]),
        (lambda x: nn.softmax(x, 1), [(2, 5)]),
        (lambda x: pools.max_pool2d(x, 2, 2), [(1, 1, 4, 4)]),
        (lambda x: total(math.exp(transform.transpose(x, [1, 0])) * 2.0, 0), [(3, 2)]),
        (lambda x: padding.pad_tensor(x, [(1, 2)], 0.0, "reflect", "pad"), [(4,)]),
        (lambda x: transform.reshape(x, [6]) * transform.reshape(x, [6]), [(2, 3)]),
        (lambda x, g, b: normalization.layer_norm(x, g, b), [(2, 4), (4,), (4,)]),
        (lambda x: transform.strided_slice(x, [5], [0], [-2]), [(6,)]),
    ],
)
def test_gradients_are_limits_of_differences(function: Callable[..., Any], shapes: list[tuple[int, ...]]) -> None:
    check(function, *shapes)


@pytest.mark.parametrize(
    "name", "exp exp2 log log2 log10 sqrt rsqrt sigmoid tanh sin cos tan sinh cosh atan erf abs".split()
)
def test_gradients_of_functions(name: str) -> None:
    def apply(x: Any) -> Any:
        return te.compute(x.shape, lambda i: getattr(te, name)(x[i] + 0.1) * x[i], name="f")

    check(apply, (5,), low=0.2)


def test_powers_and_choices_have_gradients() -> None:
    check(lambda x, y: te.compute((4,), lambda i: te.power(x[i], y[i]), name="f"), (4,), (4,), low=0.2)
    check(lambda x: te.compute((4,), lambda i: te.max(x[i], 0.1) + te.min(x[i], 0.2) * x[i], name="f"), (4,))


product = te.comm_reducer(lambda a, b: a * b, lambda t: te.const(1, t), "product")
distance = te.comm_reducer(lambda a, b: te.sqrt(a * a + b * b), lambda t: te.const(0, t), "distance")
first_of = te.comm_reducer(
    lambda a, b: (te.if_then_else(a[1] >= b[1], a[0], b[0]), te.if_then_else(a[1] >= b[1], a[1], b[1])),
    lambda t, u: (te.const(-1, t), te.const(-100, u)),
    "first_of",
)


def columns(reducer: Callable[..., Any], **options: Any) -> Callable[..., Any]:
    """The function that reduces `x[i, k] + 2 x[k, i]` for each `i`."""

    def apply(x: Any) -> Any:
        k = te.reduce_axis((0, 3), "k")
        return te.compute((3,), lambda i: reducer(x[i, k] + 2.0 * x[k, i], axis=k, **options), name="reduced")

    return apply


def pairs(x: Any) -> Any:
    k = te.reduce_axis((0, 4), "k")
    return te.compute((3,), lambda i: first_of((k, x[i, k] * x[i, 3 - k]), axis=k), name="pairs")[1]


@pytest.mark.parametrize(
    ("function", "shape"),
    [
        (columns(product), (3, 3)),
        (columns(distance), (3, 3)),
        (columns(te.sum, init=2.0), (3, 3)),
        (lambda x: columns(product)(columns_squared(x)), (3, 3)),
        (pairs, (3, 4)),
    ],
)
def test_reductions_by_any_combiner_have_gradients(function: Callable[..., Any], shape: tuple[int, ...]) -> None:
    check(function, shape, low=0.1)


def columns_squared(x: Any) -> Any:
    k = te.reduce_axis((0, 3), "k")
    return te.compute((3, 3), lambda i, j: product(x[i, k] * x[k, j], axis=k, where=k < 2), name="squared")


def test_a_product_of_all_elements_has_a_gradient() -> None:
    x = te.placeholder((3,), "float64", "x")
    k = te.reduce_axis((0, 3), "k")
    y = te.compute((), lambda: product(x[k], axis=k))
    (slopes,) = evaluate([x], gradient(y, x), [np.array([2.0, 0.0, 5.0])])
    np.testing.assert_array_equal(slopes, [0, 10, 0])


def test_without_a_head_the_results_are_jacobians() -> None:
    x = te.placeholder((2, 3), "float64", "x")
    y = total(x * x, 1)
    (found,) = gradient(y, x)
    values = RNG.uniform(size=(2, 3))
    (slopes,) = evaluate([x], [found], [values])
    assert slopes.shape == (2, 2, 3)
    np.testing.assert_allclose(slopes[0], [2 * values[0], [0, 0, 0]])
    (of_scalar, none) = gradient(total(y), [x, te.placeholder((2,), "float64", "z")])
    np.testing.assert_allclose(evaluate([x], [of_scalar, none], [values])[0], 2 * values)
    assert not evaluate([x], [of_scalar, none], [values])[1].any()


def test_inner_tensors_have_gradients_too() -> None:
    x = te.placeholder((3,), "float64", "x")
    y = math.exp(x)
    inner, outer = gradient(total(y * y), [y, x])
    values = RNG.uniform(size=3)
    found = evaluate([x], [inner, outer], [values])
    np.testing.assert_allclose(found, [2 * np.exp(values), 2 * np.exp(2 * values)])


def test_what_has_no_gradient_is_an_error() -> None:
    x = te.placeholder((3,), "float64", "x")
    with pytest.raises(TeError, match=r"head of shape \[2\], expected one that ends in \[3\]"):
        gradient(math.exp(x), x, te.placeholder((2,), "float64"))
    with pytest.raises(UnsupportedError, match="atan2 in f has no derivative here"):
        gradient(te.compute((3,), lambda i: te.atan2(x[i], x[i]), name="f"), x)

"""The matrices of Winograd's algorithm, its errors, and the operands that its operators reject."""

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from stepwell import relay
from stepwell.expressions.errors import TeError
from stepwell.operators import operator_of
from stepwell.operators.winograd import transforms


@pytest.mark.parametrize("tile", [2, 4])
def test_the_matrices_compute_a_convolution_exactly(tile: int) -> None:
    matrices = transforms(tile)
    data, weight = [Fraction(n * n + 1) for n in range(tile + 2)], [Fraction(3), Fraction(-2), Fraction(5)]

    def times(matrix: Any, vector: Any) -> list[Fraction]:
        return [sum((a * b for a, b in zip(row, vector, strict=True)), Fraction(0)) for row in matrix]

    products = [a * b for a, b in zip(times(matrices.data, data), times(matrices.weight, weight), strict=True)]
    assert times(matrices.result, products) == [sum(data[n + m] * weight[m] for m in range(3)) for n in range(tile)]


@pytest.mark.parametrize("tile", [2, 4])
def test_the_factors_of_images_and_results_are_exact_in_binary(tile: int) -> None:
    matrices = transforms(tile)
    factors = {factor for row in (*matrices.data, *matrices.result) for factor in row}
    assert all(Fraction(float(np.float32(float(factor)))) == factor for factor in factors)


@pytest.mark.parametrize(("tile", "tolerance"), [(2, 5e-7), (4, 3e-6)])
def test_the_error_in_single_precision_is_small(tile: int, tolerance: float) -> None:
    choose = np.random.default_rng(0)
    image, weights = choose.normal(size=(64, tile + 2, tile + 2)), choose.normal(size=(64, 3, 3))
    matrices = transforms(tile)
    before, of_weight, after = (
        np.array(each, float).astype("float32") for each in (matrices.data, matrices.weight, matrices.result)
    )
    data = np.einsum("ia,jb,cab->ijc", before, before, image.astype("float32"))
    factors = np.einsum("ia,jb,cab->ijc", of_weight, of_weight, weights.astype("float32"))
    result = np.einsum("ui,vj,ij->uv", after, after, (data * factors).sum(2))
    windows = np.lib.stride_tricks.sliding_window_view(image.astype("float32").astype(float), (3, 3), (1, 2))
    exact = np.einsum("cuvab,cab->uv", windows, weights.astype("float32").astype(float))
    assert abs(result - exact).max() / abs(exact).max() < tolerance


def var(*shape: int, dtype: str = "float32") -> Any:
    return relay.var("v", shape=shape, dtype=dtype)


def winograd(data: Any, weight: Any, channels: int) -> Any:
    return relay.nn.conv2d_winograd(data, weight, channels=channels)


transform = relay.nn.conv2d_winograd_weight_transform
IMAGE = relay.var("x", shape=(1, 5, 8, 8))


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: transform(var(4, 5, 3, 1)), r"weight of shape \[4, 5, 3, 1\], expected windows of 3 by 3"),
        (lambda: transform(var(4, 5, 3, 3), tile_size=3), "tile_size 3, expected 2 or 4"),
        (lambda: transform(var(4, 5, 3, 3, dtype="int8")), "of int8, expected float32 or float64"),
        (lambda: winograd(IMAGE, var(6, 6, 1, 4, 16), 4), r"expected \[6, 6, 1, 5, 16\] of float32"),
        (lambda: winograd(IMAGE, var(6, 6, 1, 5, 16), 17), r"expected \[6, 6, 2, 5, 16\] of float32"),
        (lambda: winograd(IMAGE, var(6, 6, 5, 16), 4), "weight of 4 dimensions, expected 5"),
        (
            lambda: winograd(relay.var("y", shape=(1, 5, 2, 8)), var(6, 6, 1, 5, 16), 4),
            r"a window of 3 by 3 is larger than the image \[1, 5, 2, 8\]",
        ),
    ],
)
def test_operands_that_do_not_fit_are_rejected(build: Any, message: str) -> None:
    with pytest.raises(TeError, match=message):
        module_of(build())


def module_of(net: Any) -> None:
    relay.module(relay.Function(relay.free_vars(net), net))


def test_padding_lanes_of_weights_are_zero() -> None:
    (packed,) = operator_of("nn.conv2d_winograd_weight_transform").arrays([np.ones((3, 2, 3, 3), "float32")], {})
    assert packed.shape == (6, 6, 1, 2, 16)
    assert not packed[..., 3:].any()

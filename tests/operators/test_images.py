"""Operators on images of symbolic sizes, and their behaviour at bounds."""

from typing import Any

import numpy as np
import pytest

from stepwell import build
from stepwell.frontends import te
from stepwell.operators import OPERATORS

h, w = te.var("h"), te.var("w")

CASES: dict[str, tuple[str, dict[str, Any]]] = {
    "adaptive means": ("nn.adaptive_avg_pool2d", {"output_size": [2, 3]}),
    "adaptive maxima": ("nn.adaptive_max_pool2d", {"output_size": 2}),
    "windows of one element": ("nn.adaptive_avg_pool2d", {}),
    "a size between": ("image.resize2d", {"size": [5, 3]}),
    "the nearest": ("image.resize2d", {"size": [5, 3], "method": "nearest_neighbor"}),
    "corners": ("image.resize2d", {"size": [5, 1], "coordinate_transformation_mode": "align_corners"}),
    "cubic": ("image.resize2d", {"size": 5, "method": "cubic", "cubic_exclude": 1}),
    "a part": (
        "image.resize2d",
        {"size": 4, "coordinate_transformation_mode": "tf_crop_and_resize", "roi": [0.25, 0.0, 1.0, 1.25]},
    ),
    "twice as large": ("nn.upsampling", {"scale_h": 2, "scale_w": 3}),
    "larger between corners": ("nn.upsampling", {"scale_h": 2, "method": "bilinear", "align_corners": True}),
    "larger and cubic": ("nn.upsampling", {"scale_h": 2, "scale_w": 2, "method": "bicubic"}),
    "blocks": ("nn.depth_to_space", {"block_size": 2}),
    "blocks into channels": ("nn.space_to_depth", {"block_size": 2}),
}


def computed(name: str, shapes: list[tuple[Any, ...]], arrays: list[np.ndarray], said: dict[str, Any]) -> np.ndarray:
    """The result of an operator in native code, for placeholders of the given shapes."""
    inputs = [te.placeholder(shape, a.dtype.name, f"in{n}") for n, (shape, a) in enumerate(zip(shapes, arrays))]
    expected = OPERATORS[name].reference(*arrays, **said)
    got = np.zeros(expected.shape, expected.dtype)
    build(te.create_prim_func([*inputs, OPERATORS[name].formula(*inputs, **said)]))["main"](*arrays, got)
    np.testing.assert_allclose(got, expected, 1e-5, 1e-6)
    return got


@pytest.mark.parametrize("case", CASES)
def test_sizes_are_known_at_the_call(case: str) -> None:
    name, said = CASES[case]
    data = te.placeholder((1, 4, h, w), "float32", "in0")
    program = build(te.create_prim_func([data, OPERATORS[name].formula(data, **said)]))
    for size in ((2, 4), (6, 2)):
        array = np.random.default_rng(0).random((1, 4, *size), "float32")
        expected = OPERATORS[name].reference(array, **said)
        got = np.zeros(expected.shape, expected.dtype)
        program["main"](array, got)
        np.testing.assert_allclose(got, expected, 1e-5, 1e-6, err_msg=str(size))


@pytest.mark.parametrize("stride", [1, 2, 3])
def test_a_transposed_convolution_of_an_image_of_any_size(stride: int) -> None:
    x, weight = (np.random.default_rng(0).random(shape, "float32") for shape in ((1, 2, 3, 4), (2, 3, 3, 2)))
    said = {"strides": stride, "padding": 1, "dilation": 2, "output_padding": 1}
    computed("nn.conv2d_transpose", [(1, 2, h, w), weight.shape], [x, weight], said)


def test_what_a_transposed_convolution_does_not_add_is_no_product() -> None:
    x, weight = np.ones((1, 1, 2)), np.array([[[1.0, np.inf, 2.0]]])
    made = computed("nn.conv1d_transpose", [x.shape, weight.shape], [x, weight], {"strides": 3})
    assert made.tolist() == [[[1, np.inf, 2, 1, np.inf, 2]]]


def test_a_place_halfway_between_elements_is_rounded_as_said() -> None:
    x = np.arange(4.0).reshape(1, 1, 4)
    for method, wanted in {
        "round": [0, 2],
        "floor": [0, 2],
        "ceil": [1, 3],
        "round_prefer_floor": [0, 2],
        "round_prefer_ceil": [1, 3],
    }.items():
        said = {"size": 2, "method": "nearest_neighbor", "rounding_method": method}
        assert computed("image.resize1d", [x.shape], [x], said).tolist() == [[wanted]]


def test_the_place_of_an_element_is_exact() -> None:
    """In float32, and in float64 with a rounded scale, 49 * (1 / 49) is less than 1; coordinates must be exact."""
    for extent, size in ((1, 49), (3, 147), (7, 700), (10, 490)):
        x = np.arange(float(extent)).reshape(1, 1, extent)
        said = {"size": size, "method": "nearest_neighbor", "coordinate_transformation_mode": "asymmetric"}
        made = computed("image.resize1d", [x.shape], [x], said)
        np.testing.assert_array_equal(made[0, 0], np.repeat(np.arange(extent), size // extent))


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int32"])
@pytest.mark.parametrize(("ties", "halves"), [("away", [1, 2, 3]), ("even", [0, 2, 2])])
def test_numbers_beyond_the_integers_are_the_nearest_of_them(dtype: str, ties: str, halves: list[int]) -> None:
    x = np.array([-np.inf, -1e30, 0.49999997, 0.5, 1.5, 2.5, 1e30, np.inf, np.nan], "float32")
    arrays = [x, np.ones((), "float32"), np.zeros((), "int32")]
    got = computed("qnn.quantize", [each.shape for each in arrays], arrays, {"out_dtype": dtype, "ties": ties})
    least, most = np.iinfo(dtype).min, np.iinfo(dtype).max
    assert got.tolist() == [least, least, 0, *halves, most, most, least]


@pytest.mark.parametrize(("ties", "halves"), [("away", [-3, -2, -1, 0]), ("even", [-2, -2, 0, 0])])
def test_halves_below_zero_are_quantized_as_said(ties: str, halves: list[int]) -> None:
    x = np.array([-2.5, -1.5, -0.5, -0.49999997], "float32")
    arrays = [x, np.ones((), "float32"), np.zeros((), "int32")]
    assert computed("qnn.quantize", [each.shape for each in arrays], arrays, {"ties": ties}).tolist() == halves


@pytest.mark.parametrize(("padding_mode", "wanted"), [("zeros", [0, 0, 0]), ("border", [1, 2, 1])])
def test_places_that_are_no_numbers_are_outside(padding_mode: str, wanted: list[float]) -> None:
    x, grid = np.array([[[[1.0, 2.0]]]]), np.array([[[[np.nan, np.inf, -np.inf]], [[0.0, 0.0, 0.0]]]])
    X, G = te.placeholder(x.shape, "float64", "X"), te.placeholder(grid.shape, "float64", "G")
    got = np.zeros((1, 1, 1, 3))
    made = OPERATORS["image.grid_sample"].formula(X, G, padding_mode=padding_mode)
    build(te.create_prim_func([X, G, made]))["main"](x, grid, got)
    assert got[0, 0, 0].tolist() == wanted


@pytest.mark.parametrize("name", ["nn.avg_pool2d", "nn.adaptive_avg_pool2d"])
@pytest.mark.parametrize("dtype", ["uint8", "int8", "int16"])
def test_averages_of_small_integers_are_added_in_32_bits(name: str, dtype: str) -> None:
    largest = int(np.iinfo(dtype).max)
    data = np.full((1, 1, 8, 8), largest, dtype)
    said = {"pool_size": (8, 8)} if name == "nn.avg_pool2d" else {"output_size": 1}
    assert computed(name, [data.shape], [data], said).tolist() == [[[[largest]]]]


@pytest.mark.parametrize("counts", [False, True])
def test_the_last_window_of_a_pool_may_begin_in_the_padding(counts: bool) -> None:
    x = np.arange(1, 5, dtype="float32").reshape(1, 1, 4)
    numbers: dict[str, Any] = {"pool_size": 2, "strides": 3, "padding": [1, 1], "ceil_mode": True}
    numbers["count_include_pad"] = counts
    first = 0.5 if counts else 1.0
    shapes = x.shape, (1, 1, w)
    for shape in shapes:
        assert computed("nn.avg_pool1d", [shape], [x], numbers).tolist() == [[[first, 3.5, 0.0]]]
    for shape in shapes if counts else shapes[:1]:  # the extent of the result does not depend on the counts
        assert computed("nn.avg_pool1d", [shape], [x], numbers | {"skip_padding": True}).tolist() == [[[first, 3.5]]]


def test_the_last_window_of_a_maximum_may_begin_in_the_padding() -> None:
    x = np.arange(1, 5, dtype="float32").reshape(1, 1, 4)
    said: dict[str, Any] = {"pool_size": 2, "strides": 3, "padding": [1, 1], "ceil_mode": True}
    assert computed("nn.max_pool1d", [(1, 1, w)], [x], said).tolist() == [[[1.0, 4.0, -np.inf]]]
    values, places = OPERATORS["nn.max_pool1d_with_places"].reference(x, **said)
    assert values.tolist() == [[[1.0, 4.0, -np.inf]]]
    assert places.tolist() == [[[0, 3, 2**31 - 1]]]


@pytest.mark.parametrize(("move", "expected"), [(0.0, 1.0), (0.5, 1.5), (-0.25, 0.0), (3.5, 2.0), (4.0, 0.0)])
def test_taps_of_deformable_convolutions_are_inside_or_nothing(move: float, expected: float) -> None:
    image = np.array([1.0, 2.0, 3.0, 4.0], "float32").reshape(1, 1, 1, 4)
    offset = np.zeros((1, 2, 1, 4), "float32")
    offset[0, 1, 0, 0] = move
    arrays = [image, offset, np.ones((1, 1, 1, 1), "float32")]
    result = computed("nn.deformable_conv2d", [each.shape for each in arrays], arrays, {"out_dtype": "float64"})
    np.testing.assert_allclose(result[0, 0, 0], [expected, 2, 3, 4])

"""Names of `tvm.topi.nn` and `tvm.topi.testing` that are formulas of their own, beside numpy."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import stepwell.frontends.tvm as tvm
from stepwell import UnsupportedError
from stepwell.expressions.errors import TeError
from stepwell.frontends.tvm import te, topi
from stepwell.operators.winograd import transforms

nn, references = topi.nn, topi.testing
Array = np.ndarray[Any, Any]


def placeholder(array: Array, name: str) -> te.Tensor:
    return te.placeholder(array.shape, array.dtype.name, name)


def computed(make: Any, *arrays: Array) -> Array:
    """The result of a function of tensors."""
    inputs = [placeholder(each, f"in{n}") for n, each in enumerate(arrays)]
    result = make(*inputs)
    out = np.full(topi.get_const_tuple(result.shape), 99, result.dtype)
    tvm.build(te.create_prim_func([*inputs, result]))(*arrays, out)
    return out


def floats(*shape: int, seed: int = 0) -> Array:
    return np.random.default_rng(seed).random(shape, "float32") - 0.5


def integers(*shape: int, seed: int = 0, dtype: str = "float32") -> Array:
    return np.random.default_rng(seed).integers(-3, 4, shape).astype(dtype)


# Winograd's algorithm


@pytest.mark.parametrize("padding", [1, "SAME", "VALID", (0, 2, 1, 0)])
@pytest.mark.parametrize("shape", [(1, 1, 3, 3), (2, 5, 7, 10), (1, 17, 5, 4)])
def test_convolutions_by_winograds_algorithm(shape: tuple[int, ...], padding: Any) -> None:
    x, weight = floats(*shape), floats(3, shape[1], 3, 3, seed=1)
    expected = references.conv2d_nchw_python(x, weight, 1, padding)
    near: Any = {"rtol": 1e-4, "atol": 1e-5}

    def direct(data: te.Tensor, kernel: te.Tensor) -> te.Tensor:
        return nn.conv2d_winograd_nchw(data, kernel, 1, padding, 1, "float32")

    def by_points(data: te.Tensor, kernel: te.Tensor) -> te.Tensor:
        points = topi.transpose(nn.conv2d_winograd_weight_transform(kernel, 4), [0, 1, 3, 2])
        return nn.conv2d_winograd_nchw_without_weight_transform(data, points, [1, 1], padding, [1, 1], "float32")

    for make in (direct, by_points):
        np.testing.assert_allclose(computed(make, x, weight), expected, **near)
    last, taps = np.ascontiguousarray(x.transpose(0, 2, 3, 1)), np.ascontiguousarray(weight.transpose(2, 3, 1, 0))

    def direct_last(data: te.Tensor, kernel: te.Tensor) -> te.Tensor:
        return nn.conv2d_winograd_nhwc(data, kernel, 1, padding, 1, "float32")

    def points_last(data: te.Tensor, kernel: te.Tensor) -> te.Tensor:
        points = nn.conv2d_winograd_weight_transform(topi.transpose(kernel, [3, 2, 0, 1]), 4)
        return nn.conv2d_winograd_nhwc_without_weight_transform(data, points, 1, padding, 1, "float32")

    for make in (direct_last, points_last):
        np.testing.assert_allclose(computed(make, last, taps), expected.transpose(0, 2, 3, 1), **near)


def test_winograds_algorithm_has_windows_of_three_in_steps_of_one() -> None:
    x, weight = te.placeholder((1, 2, 6, 6)), te.placeholder((4, 2, 3, 3))
    with pytest.raises(TeError, match="strides 2, expected 1"):
        nn.conv2d_winograd_nchw(x, weight, 2, 1, 1, "float32")
    with pytest.raises(TeError, match="dilation 2, expected 1"):
        nn.conv2d_winograd_nhwc(te.placeholder((1, 6, 6, 2)), te.placeholder((3, 3, 2, 4)), 1, 1, 2, "float32")
    with pytest.raises(TeError, match="expected windows of 3 by 3"):
        nn.conv2d_winograd_nchw(x, te.placeholder((4, 2, 5, 5)), 1, 1, 1, "float32")
    with pytest.raises(TeError, match="out_dtype 'float64', expected '' or 'float32'"):
        nn.conv2d_winograd_nchw(x, weight, 1, 1, 1, "float64")
    with pytest.raises(UnsupportedError, match="conv2d_winograd_nchw: layout is not supported yet"):
        nn.conv2d_winograd_nchw(x, weight, 1, 1, 1, "float32", auto_scheduler_rewritten_layout="OI")
    with pytest.raises(TeError, match="tile_size 3, expected 2 or 4"):
        nn.conv2d_winograd_weight_transform(weight, 3)


@pytest.mark.parametrize("tile", [2, 4])
@pytest.mark.parametrize("depth", [1, 3, 5])
def test_weights_of_volumes_at_points(tile: int, depth: int) -> None:
    weight = floats(2, 3, depth, 3, 3)
    matrix = np.array([[float(each) for each in row] for row in transforms(tile).weight])
    if depth == 3:
        expected = np.einsum("az,by,cx,oizyx->abcoi", matrix, matrix, matrix, weight)
    else:
        expected = np.einsum("by,cx,oizyx->bczoi", matrix, matrix, weight)
    found = computed(lambda kernel: nn.conv3d_winograd_weight_transform(kernel, tile), weight)
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(
    ("shape", "dtype", "tile", "message"),
    [
        ((2, 3, 3, 3, 5), "float32", 4, r"weight of shape \[2, 3, 3, 3, 5\], expected windows of 3 by 3"),
        ((2, 3, 3, 3), "float32", 4, r"weight of shape \[2, 3, 3, 3\], expected windows of 3 by 3"),
        ((2, 3, 3, 3, 3), "float32", 6, "tile_size 6, expected 2 or 4"),
        ((2, 3, 3, 3, 3), "int8", 4, "of int8, expected floats"),
    ],
)
def test_weights_of_volumes_have_windows_of_three(shape: Any, dtype: str, tile: int, message: str) -> None:
    with pytest.raises(TeError, match=f"conv3d_winograd_weight_transform:? {message}"):
        nn.conv3d_winograd_weight_transform(te.placeholder(shape, dtype), tile)


# Channels in blocks


def unpacked(x: Array) -> Array:
    """The image NCHW of an image in blocks."""
    return x.transpose(0, 1, 4, 2, 3).reshape(len(x), -1, *x.shape[2:4])


@pytest.mark.parametrize(("groups", "stride", "far", "padding"), [(1, 1, 1, 1), (2, 2, 1, "SAME"), (3, 1, 2, (0, 1))])
def test_convolutions_of_blocks(groups: int, stride: int, far: int, padding: Any) -> None:
    x, weight = integers(2, 2 * groups, 7, 6, 4), integers(2 * groups, 2, 3, 2, 4, 3, seed=1)
    plain = weight.transpose(0, 5, 1, 4, 2, 3).reshape(2 * groups * 3, 8, 3, 2)
    expected = references.conv2d_nchw_python(unpacked(x), plain, stride, padding, far, groups)
    options = stride, padding, far, "NCHW4c", "NCHW3c"
    found = computed(lambda data, kernel: nn.conv2d_NCHWc(data, kernel, *options, "float32"), x, weight)
    np.testing.assert_array_equal(unpacked(found), expected)
    of_bytes = weight.reshape(*weight.shape[:4], 2, 2, 3).transpose(0, 1, 2, 3, 4, 6, 5)
    inputs = x.astype("uint8"), np.ascontiguousarray(of_bytes).astype("int8")
    expected = references.conv2d_nchw_python(unpacked(inputs[0]).astype("int32"), plain, stride, padding, far, groups)
    found = computed(lambda data, kernel: nn.conv2d_NCHWc_int8(data, kernel, *options, "int32", 2), *inputs)
    assert found.dtype == "int32"
    np.testing.assert_array_equal(unpacked(found), expected)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda: nn.conv2d_NCHWc(te.placeholder((1, 2, 5, 5, 4)), te.placeholder((2, 2, 3, 3, 3, 4)), 1, 1, 1),
            r"conv2d_NCHWc: data of shape \[1, 2, 5, 5, 4\], kernel of shape \[2, 2, 3, 3, 3, 4\], expected blocks",
        ),
        (
            lambda: nn.conv2d_NCHWc(te.placeholder((1, 3, 5, 5, 4)), te.placeholder((2, 2, 3, 3, 4, 4)), 1, 1, 1),
            "expected blocks of equal channels in groups of 2",
        ),
        (
            lambda: nn.conv2d_NCHWc(te.placeholder((1, 4, 5, 5, 4)), te.placeholder((3, 2, 3, 3, 4, 4)), 1, 1, 1),
            "expected blocks of equal channels in groups of 2",
        ),
        (
            lambda: nn.conv2d_NCHWc(te.placeholder((1, 4, 5, 5)), te.placeholder((3, 2, 3, 3, 4, 4)), 1, 1, 1),
            "data and kernel of 4 and 6 dimensions, expected 5 and 6",
        ),
        (
            lambda: nn.conv2d_NCHWc_int8(
                te.placeholder((1, 2, 5, 5, 4), "uint8"), te.placeholder((2, 2, 3, 3, 2, 4, 2), "int8"), 1, 1, 1
            ),
            "conv2d_NCHWc_int8: .*, expected 5 and 7 dimensions, and groups of 4",
        ),
        (
            lambda: nn.conv2d_gemm_weight_transform(te.placeholder((3, 3, 2)), 4, 4),
            r"conv2d_gemm_weight_transform: kernel of shape \[3, 3, 2\], blocks of 4 by 4",
        ),
        (
            lambda: nn.conv2d_gemm_weight_transform(te.placeholder((3, 3, 2, 2)), 0, 4),
            "blocks of 4 by 0, expected 4 known sizes, and numbers from 1 on",
        ),
    ],
)
def test_blocks_that_do_not_go_together(make: Any, message: str) -> None:
    with pytest.raises(TeError, match=message):
        make()


@pytest.mark.parametrize("dtype", ["float32", "int8"])
@pytest.mark.parametrize(
    ("shape", "columns", "rows"), [((1, 1, 1, 1), 4, 4), ((3, 2, 3, 5), 4, 2), ((1, 2, 4, 8), 4, 2)]
)
def test_weights_as_blocks_of_a_matrix(shape: tuple[int, ...], columns: int, rows: int, dtype: str) -> None:
    weight = integers(*shape, dtype=dtype)
    flat = weight.reshape(-1, shape[3])
    padded = np.pad(flat, [(0, -flat.shape[0] % (4 * rows)), (0, -shape[3] % columns)])
    blocks = padded.reshape(-1, rows, padded.shape[1] // columns, columns)
    expected = blocks.transpose(2, 0, 3, 1) if dtype == "int8" else blocks.transpose(2, 0, 1, 3)
    found = computed(lambda kernel: nn.conv2d_gemm_weight_transform(kernel, columns, rows), weight)
    np.testing.assert_array_equal(found, expected)


# Transposed convolutions


@pytest.mark.parametrize(
    ("sizes", "taps", "strides", "padding", "more"),
    [
        ((1, 1), (1, 1), (1, 1), 0, (0, 0)),
        ((4, 3), (3, 2), (2, 3), (1, 0, 0, 1), (1, 2)),
        ((2, 5), (2, 3), (2, 1), "SAME", (1, 0)),
        ((3, 3), (1, 2), (2, 2), (1, 1), (0, 1)),
        ((2, 3, 2), (2, 1, 3), (1, 2, 2), 1, (0, 1, 0)),
    ],
)
def test_a_transposed_convolution_is_a_convolution(
    sizes: Any, taps: Any, strides: Any, padding: Any, more: Any
) -> None:
    x, weight = integers(2, 3, *sizes), integers(3, 2, *taps, seed=1)
    deep = len(sizes) == 3
    prepare = nn.conv3d_transpose_ncdhw_preprocess if deep else nn.conv2d_transpose_nchw_preprocess
    convolve = nn.conv3d_ncdhw if deep else nn.conv2d_nchw
    around = nn.get_pad_tuple3d(padding, taps) if deep else nn.get_pad_tuple(padding, taps)

    def by_parts(data: te.Tensor, kernel: te.Tensor) -> te.Tensor:
        image, turned = prepare(data, kernel, strides, padding, "float32", more)
        assert topi.get_const_tuple(turned.shape) == (2, 3, *taps)
        return convolve(image, turned, 1, 0, 1, out_dtype="float32")

    declare = nn.declaration_conv3d_transpose_impl if deep else nn.declaration_conv2d_transpose_impl

    def declared(data: te.Tensor, kernel: te.Tensor) -> te.Tensor:
        return declare(
            data=data, kernel=kernel, strides=strides, padding=around, out_dtype="float32", output_padding=more
        )

    reference = references.conv3d_transpose_ncdhw_python if deep else references.conv2d_transpose_nchw_python
    expected = reference(x, weight, strides, around, more)
    for make in (by_parts, declared):
        np.testing.assert_array_equal(computed(make, x, weight), expected)


def test_output_padding_is_less_than_the_strides() -> None:
    x, weight = te.placeholder((1, 2, 3, 3)), te.placeholder((2, 2, 3, 3))
    with pytest.raises(TeError, match=r"output_padding \[1, 1\] with strides \[1, 2\], expected less than the strides"):
        nn.conv2d_transpose_nchw_preprocess(x, weight, (1, 2), 0, "float32", 1)
    with pytest.raises(
        TeError, match="conv3d_transpose_ncdhw_preprocess: data and kernel of 4 and 4 dimensions, expected 5"
    ):
        nn.conv3d_transpose_ncdhw_preprocess(x, weight, 1, 0, "float32", 0)


# Quantized numbers as floats


@pytest.mark.parametrize("dtype", ["disable", "int8", "uint8", "int32"])
@pytest.mark.parametrize(("channels", "axis"), [(1, -1), (3, 1), (3, -2)])
def test_quantized_numbers_as_floats(dtype: str, channels: int, axis: int) -> None:
    x = (floats(2, 3, 5) * 600).astype("float32")
    scale = np.linspace(0.5, 2, channels).astype("float32")
    zero = np.arange(channels, dtype="int32") * 3 - 1
    code = np.array(nn.SQNN_DTYPE_TO_CODE[dtype], "int32")
    factors, offsets = (each.reshape(-1, 1) for each in (scale, zero))
    expected = x
    if dtype != "disable":
        limits = np.iinfo(dtype)
        expected = np.clip(np.round(x / factors) + offsets, limits.min, limits.max)
    found = computed(lambda d, n, s, z: nn.simulated_quantize(d, n, s, z, axis), x, code, scale, zero)
    np.testing.assert_allclose(found, expected, rtol=1e-6)
    known = computed(lambda d, s, z: nn.simulated_quantize(d, int(code), s, z, axis), x, scale, zero)
    np.testing.assert_array_equal(known, found)
    back = computed(lambda d, n, s, z: nn.simulated_dequantize(d, n, s, z, axis), found, code, scale, zero)
    np.testing.assert_allclose(back, found if dtype == "disable" else (found - offsets) * factors, rtol=1e-6)


def test_quantized_numbers_have_a_scale_for_each_channel() -> None:
    x = floats(2, 3) * 100
    found = computed(lambda data: nn.simulated_quantize(data, nn.SQNN_UINT8), x)
    np.testing.assert_array_equal(found, np.clip(np.round(x), 0, 255))
    size = te.var("n")
    data, scale = placeholder(x, "x"), te.placeholder((size,), name="scale")
    made = nn.simulated_dequantize(data, nn.SQNN_INT8, scale, axis=1)
    program = tvm.build(te.create_prim_func([data, scale, made]))
    for scales in (np.array([2], "float32"), np.array([1, 2, 3], "float32")):
        out = np.zeros_like(x)
        program(x, scales, out)
        np.testing.assert_allclose(out, x * scales)
    with pytest.raises(
        TeError, match=r"simulated_quantize: scale or zero point of shape \[2\], expected one number or 3"
    ):
        nn.simulated_quantize(data, nn.SQNN_INT8, te.placeholder((2,)))
    with pytest.raises(TeError, match="simulated_dequantize of int32, expected floats"):
        nn.simulated_dequantize(te.placeholder((2,), "int32"), nn.SQNN_INT8)
    with pytest.raises(TeError, match="a data type of 1 dimensions, expected 0"):
        nn.simulated_quantize(data, te.placeholder((1,), "int32"))
    assert nn.SQNN_CODE_TO_DTYPE == {0: "disable", 1: "int8", 2: "uint8", 3: "int32"}


# Positions between elements


@given(y=st.integers(-8, 24), x=st.integers(-8, 24))
def test_a_position_between_elements(y: int, x: int) -> None:
    image = np.random.default_rng(0).random((1, 2, 4, 5), "float32")
    data = te.placeholder(image.shape, name="image")
    at = te.placeholder((2,), name="at")
    last = te.placeholder((1, 4, 5, 2), name="last")
    first = te.compute((2,), lambda c: nn.bilinear_sample_nchw(data, (0, c, at[0], at[1]), 3, 4))
    second = te.compute((2,), lambda c: nn.bilinear_sample_nhwc(last, (0, at[0], at[1], c), 3, 4))
    places = np.array([y / 4, x / 4], "float32")
    results = np.zeros((2, 2), "float32")
    _SAMPLERS.setdefault("program", tvm.build(te.create_prim_func([data, last, at, first, second])))(
        image, np.ascontiguousarray(image.transpose(0, 2, 3, 1)), places, results[0], results[1]
    )
    padded = np.pad(image[0], [(0, 0), (3, 4), (3, 4)])
    low = np.floor(places).astype(int)
    (top, left), (down, right) = low + 3, places - low
    window = padded[:, top : top + 2, left : left + 2]
    expected = np.einsum("cyx,y,x->c", window, [1 - down, down], [1 - right, right])
    np.testing.assert_allclose(results, [expected, expected], rtol=1e-5, atol=1e-6)


_SAMPLERS: dict[str, Any] = {}


# Names


def test_a_workload_is_a_key() -> None:
    fields = (
        "in_dtype out_dtype height width in_filter groups out_filter kernel_h kernel_w padt padl padb padr "
        "dilation_h dilation_w stride_h stride_w"
    )
    assert nn.Workload._fields == tuple(fields.split())
    first = nn.Workload("float32", "float32", 56, 56, 64, 1, 64, 3, 3, 1, 1, 1, 1, 1, 1, 1, 1)
    assert {first: "table"}[nn.Workload(*first)] == "table"
    assert first._replace(height=28).height == 28


def test_names_of_other_modules() -> None:
    assert nn.concatenate is topi.concatenate
    assert nn.strided_slice is topi.strided_slice
    assert nn.layout_transform is topi.layout_transform
    assert (nn.equal_const_int, nn.get_const_int, nn.simplify) == (
        topi.utils.equal_const_int,
        topi.utils.get_const_int,
        topi.utils.simplify,
    )
    assert nn.tag is topi.tag
    assert nn.POOL_TYPE_CODE == {"avg": 0, "max": 1}
    x = floats(2, 3)
    np.testing.assert_allclose(
        computed(lambda data: nn.softmax_common(data, 0, True), x), references.softmax_python(x, 0), rtol=1e-6
    )


@pytest.mark.parametrize(
    ("module", "name", "hint"),
    [
        (nn, "conv2d_alter_layout", "relay.op.register_alter_op_layout"),
        (nn, "dense_legalize", "relay.op.register_legalize"),
        (nn, "conv2d_infer_layout", "relay.transform.ConvertLayout"),
        (topi, "erf_legalize", "relay.op.register_legalize"),
        (topi, "cpp", "functions of Python"),
    ],
)
def test_functions_of_targets_say_what_to_use(module: Any, name: str, hint: str) -> None:
    with pytest.raises(AttributeError, match=hint):
        getattr(module, name)


@pytest.mark.parametrize("target", ["adreno", "arm_cpu", "cuda", "gpu", "hls", "x86"])
def test_modules_of_targets_have_the_operators_of_all_targets(target: str) -> None:
    module = getattr(topi, target)
    assert (module.argwhere, module.correlation_nchw) == (topi.argwhere, nn.correlation_nchw)
    assert (module.resize2d, module.reorg) == (topi.image.resize2d, topi.vision.reorg)
    assert module.schedule_argwhere is topi.generic.schedule_argwhere
    with pytest.raises(AttributeError, match="has no attribute 'unknown'"):
        _ = module.unknown


# References


@pytest.mark.parametrize("layout", ["NCHW", "NHWC"])
@pytest.mark.parametrize("groups", [1, 4])
def test_the_reference_of_gradients_of_weights(layout: str, groups: int) -> None:
    x, channels = integers(2, 4, 6, 5), 4 if groups > 1 else 3
    weight = np.zeros((channels, 4 // groups, 3, 2), "float32")
    grad = integers(*references.conv2d_nchw_python(x, weight, (2, 1), (1, 0), 1, groups).shape, seed=1)
    expected = np.zeros_like(weight)
    for at in np.ndindex(weight.shape):  # the result is linear in each element of the weight
        one = np.zeros_like(weight)
        one[at] = 1
        expected[at] = (references.conv2d_nchw_python(x, one, (2, 1), (1, 0), 1, groups) * grad).sum()
    if layout == "NHWC":
        x, grad, expected = (np.ascontiguousarray(each.transpose(0, 2, 3, 1)) for each in (x, grad, expected))
    found = references.conv2d_backward_weight_python(grad, x, (3, 2), (2, 1), (1, 0), layout, groups, channels)
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("padding", ["SAME", "VALID"])
def test_the_reference_of_depthwise_convolutions_of_blocks(padding: str) -> None:
    x, weight = integers(1, 2, 5, 6, 4), integers(2, 1, 3, 3, 1, 4, seed=1)
    found = references.depthwise_conv2d_python_nchwc(x, weight, (1, 1), padding)
    plain = weight[:, 0, :, :, 0].transpose(0, 3, 1, 2).reshape(8, 1, 3, 3)
    expected = references.depthwise_conv2d_python_nchw(unpacked(x), plain, (1, 1), padding)
    np.testing.assert_array_equal(unpacked(found), expected)

    def blocks(data: te.Tensor, kernel: te.Tensor) -> te.Tensor:
        return nn.depthwise_conv2d_NCHWc(data, kernel, 1, padding, 1)

    np.testing.assert_array_equal(computed(blocks, x, weight), found)


def test_the_reference_of_grouped_transposed_convolutions() -> None:
    x, weight = integers(2, 4, 5), integers(4, 3, 3, seed=1)
    found = references.group_conv1d_transpose_ncw_python(x, weight, 2, 1, (1,), 2)
    parts = [
        references.conv1d_transpose_ncw_python(x[:, part], weight[part], 2, 1, (1,)) for part in (slice(2), slice(2, 4))
    ]
    np.testing.assert_array_equal(found, np.concatenate(parts, 1))


@pytest.mark.parametrize(("rank", "layout"), [(1, None), (1, "NWC"), (2, None), (2, "NHWC"), (3, "NDHWC")])
def test_the_reference_of_maxima_has_zeros_around_it(rank: int, layout: str | None) -> None:
    x = -1 - np.arange(2 * 3**rank, dtype="float32").reshape(1, 2, *[3] * rank)
    x = np.moveaxis(x, 1, -1) if layout else x
    said = [2] * rank, [2] * rank, [1] * rank, [1] * rank, [0] * rank, "max"
    zeros = references.poolnd_python(x, *said, layout=layout)
    least = references.poolnd_python(x, *said, False, layout=layout)
    first, plain, image = (np.moveaxis(each, -1, 1) if layout else each for each in (zeros, least, x))
    assert (first[:, :, 0] == 0).all()
    corner = image[(..., *[slice(1, 3)] * rank)].reshape(1, 2, -1)
    for found in (first, plain):
        np.testing.assert_array_equal(found[(..., *[-1] * rank)], corner.max(-1))
    assert (plain < 0).all()


def test_the_reference_of_gradients_of_pools_has_windows_in_the_padding() -> None:
    x, slopes = floats(1, 2, 5, 5), floats(1, 2, 4, 5, seed=1)
    found = references.pool_grad_nchw(x, slopes, [2, 2], [2, 2], [0, 3, 3, 2], "avg", False, False)
    expected = np.zeros_like(x)
    for n, y in np.ndindex(4, 5):
        rows, columns = slice(2 * n, 2 * n + 2), slice(max(2 * y - 3, 0), max(2 * y - 1, 0))
        size = expected[0, 0, rows, columns].size
        expected[:, :, rows, columns] += slopes[:, :, n, y, None, None] / max(size, 1)
    np.testing.assert_allclose(found, expected, rtol=1e-6)


def test_functions_by_target() -> None:
    table = {"generic": "any", "gpu": "a GPU"}
    assert references.dispatch("llvm", table) == "any"
    assert references.dispatch(tvm.target.Target("cuda"), table) == "a GPU"
    with pytest.raises(KeyError, match="generic"):
        references.dispatch("llvm", {"gpu": "a GPU"})
    compute, schedule = references.get_conv2d_nchw_implement("llvm")
    x, weight = integers(1, 2, 4, 4), integers(3, 2, 3, 3, seed=1)
    inputs = placeholder(x, "x"), placeholder(weight, "w")
    made = compute(*inputs, 1, 1, 1)
    out = np.zeros((1, 3, 4, 4), "float32")
    tvm.build(schedule([made]), [*inputs, made])(x, weight, out)
    np.testing.assert_array_equal(out, references.conv2d_nchw_python(x, weight, 1, 1))


POOLS = [
    lambda x, layout: nn.pool2d(x, [2, 3], [2, 1], [1, 1], [0, 1, 0, 1], "max", layout=layout),
    lambda x, layout: nn.pool2d(x, [3, 3], [1, 1], [1, 1], [1, 1, 1, 1], "avg", True, layout, False),
    lambda x, layout: nn.adaptive_pool(x, (2, 3), "avg", layout),
    lambda x, layout: nn.global_pool(x, "max", layout),
]


@pytest.mark.parametrize("pool", POOLS)
def test_pools_of_images_with_blocks_of_channels(pool: Any) -> None:
    x = integers(2, 3, 5, 6, 4)
    found = computed(lambda data: pool(data, "NCHW4c"), x)
    assert found.shape[:2] == (2, 3)
    assert found.shape[-1] == 4
    np.testing.assert_array_equal(unpacked(found), computed(lambda data: pool(data, "NCHW"), unpacked(x)))

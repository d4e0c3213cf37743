"""Errors in the use of operators, which state the expected arguments."""

import re
from collections.abc import Callable

import pytest

from stepwell.frontends import te
from stepwell.frontends.te import TeError
from stepwell.operators import (
    activations,
    broadcast,
    convolutions,
    coordinates,
    correlation,
    einsum,
    filling,
    fixed_point,
    grids,
    image,
    indexing,
    losses,
    math,
    nn,
    normalization,
    packed_convolutions,
    padding,
    pools,
    quantization,
    reduction,
    scans,
    sorting,
    spectra,
    transform,
    vision,
    winograd,
)

A = te.placeholder((2, 3), name="A")
I = te.placeholder((2, 3), "int32", name="I")  # noqa: E741
U = te.placeholder((2, 3), "uint8", name="U")
B = te.placeholder((2, 3), "bool", name="B")
size = te.var("n")
N = te.placeholder((size, 3), name="N")
V = te.placeholder((3,), name="V")
Q = te.placeholder((), name="Q")
X = te.placeholder((1, 3, 3, 3), name="X")
D = te.placeholder((1, 3, 3, 3, 3), name="D")
W = te.placeholder((3, 2, 3, 3), name="W")
P = te.placeholder((1, 1, 3, 3, 4), name="P")

PLAIN = te.placeholder((4, 4, 2, 3), name="plain")

WRONG: dict[str, tuple[Callable[[], object], str]] = {
    "bits of a float": (lambda: math.bitwise_not(A), "bitwise_not of float32, expected integers"),
    "not a number": (lambda: math.logical_not(I), "logical_not of int32, expected bool"),
    "negative of unsigned": (lambda: math.negative(U), "negative of uint8, expected signed integers or floats"),
    "a cast to nothing": (lambda: math.cast_to(A, "f13"), "unknown dtype 'f13'"),
    "shapes": (lambda: broadcast.add(A, te.placeholder((3, 2))), "shapes [2, 3] and [3, 2] do not go together"),
    "power of integers": (lambda: broadcast.power(I, I), "power of int32, expected floats"),
    "a shift of floats": (lambda: broadcast.left_shift(A, A), "left_shift of float32, expected integers"),
    "logic of integers": (lambda: broadcast.logical_and(I, I), "logical_and of int32, expected bool"),
    "a quotient of bools": (lambda: broadcast.divide(B, B), "divide of bool, expected numbers"),
    "a sum of bools": (lambda: reduction.sum(B), "sum of bool, expected numbers"),
    "all of numbers": (lambda: reduction.all(A), "all of float32, expected bool"),
    "a mean of bool": (lambda: reduction.mean(B), "mean of bool, expected integers"),
    "the greatest bool": (lambda: reduction.argmax(B), "argmax of bool, expected numbers"),
    "no such axis": (lambda: reduction.sum(A, 2), "sum: axis 2 of 2 dimensions, expected one from -2 to 1"),
    "an axis twice": (lambda: reduction.max(A, (0, -2)), "max: axes [0, -2], one of them twice"),
    "a shape of others": (
        lambda: transform.reshape(A, [4, 2]),
        "a tensor of shape [2, 3]: 8 elements, expected 6",
    ),
    "nothing for -1": (lambda: transform.reshape(A, [4, -1]), "of a tensor of shape [2, 3]: nothing stands for -1"),
    "two of -1": (lambda: transform.reshape(A, [-1, -1]), "newshape [-1, -1] has several -1"),
    "a code that fits nothing": (lambda: transform.reshape(A, [0, 0, 0]), "reshape: 0 in newshape [0, 0, 0]"),
    "no known code": (lambda: transform.reshape(A, [-5]), "reshape: -5 in newshape [-5]"),
    "a size that is not known": (lambda: transform.reshape(N, [6]), "not known to have as many elements"),
    "squeezed what is not 1": (lambda: transform.squeeze(A, 1), "squeeze: axis 1 of extent 3, expected 1"),
    "fewer than no axes": (lambda: transform.expand_dims(A, 0, -1), "num_newaxis -1, expected at least 0"),
    "a smaller shape": (lambda: transform.broadcast_to(A, [3]), "of shape [2, 3] does not go into [3]"),
    "too few axes": (lambda: transform.transpose(A, [0]), "transpose: 1 axes of 2 dimensions"),
    "no repetition": (lambda: transform.repeat(A, 0, 0), "repeat: 0 times, expected at least once"),
    "no tile": (lambda: transform.tile(A, [0]), "tile: [0] times, expected at least once"),
    "a stride of 0": (lambda: transform.strided_slice(A, [0], [1], [0]), "strided_slice: axis 0 with a stride of 0"),
    "ends": (lambda: transform.strided_slice(A, [0, 0], [1]), "2 begins, 1 ends, 2 strides, 2 axes of 2 dimensions"),
    "sections": (lambda: transform.split(A, 2, 1), "split: 2 sections of an extent of 3"),
    "the order of sections": (
        lambda: transform.split(A, [2, 1], 1),
        "split: at [2, 1] of an extent of 3, expected",
    ),
    "parts of what": (lambda: transform.split(N, 2), "split: axis 0 of extent n, which is not known"),
    "nothing together": (lambda: transform.concatenate(), "concatenate: no tensor"),
    "nothing stacked": (lambda: transform.stack(), "stack: no tensor"),
    "of two types": (lambda: transform.concatenate(A, I), "[2, 3] of float32 and [2, 3] of int32 do not go together"),
    "of two shapes": (lambda: transform.stack(A, te.placeholder((2, 4))), "[2, 3] of float32 and [2, 4] of float32"),
    "a place between": (lambda: transform.take(A, A), "take: indices of float32, expected integers"),
    "an unknown mode": (lambda: transform.take(A, I, mode="x"), "take: mode 'x', expected 'clip', 'wrap' or 'fast'"),
    "an activation of integers": (lambda: activations.gelu(I), "nn.gelu of int32, expected floats"),
    "a way to approximate": (lambda: activations.gelu(A, "x"), "approximate 'x', expected 'none' or 'tanh'"),
    "no exponent": (lambda: activations.celu(A, 0.0), "nn.celu: alpha 0, expected another number"),
    "more than all": (lambda: activations.dropout(A, 2.0), "nn.dropout: rate 2.0, expected a number from 0 to 1"),
    "slopes of others": (lambda: activations.prelu(A, V, 0), "[2, 3] of float32 and [3] of float32 along axis 0"),
    "a norm of integers": (lambda: normalization.layer_norm(I, V, V), "nn.layer_norm of int32, expected floats"),
    "a factor of another size": (
        lambda: normalization.layer_norm(A, V, te.placeholder((2,))),
        "nn.layer_norm: beta of shape [2] and float32, expected [3] and float32",
    ),
    "a factor of another type": (
        lambda: normalization.rms_norm(A, te.placeholder((3,), "float16")),
        "nn.rms_norm: weight of shape [3] and float16, expected [3] and float32",
    ),
    "variances of rows": (
        lambda: normalization.batch_norm(A, V, V, V, A),
        "nn.batch_norm: moving_var of shape [2, 3] and float32, expected [3] and float32",
    ),
    "groups of two of three": (
        lambda: normalization.group_norm(A, V, V, 2),
        "nn.group_norm: 2 groups of 3 channels, expected a known multiple",
    ),
    "groups of what": (
        lambda: normalization.group_norm(N, te.placeholder((size,)), te.placeholder((size,)), 2, 0),
        "nn.group_norm: 2 groups of n channels, expected a known multiple",
    ),
    "no image": (lambda: normalization.instance_norm(V, V, V), "nn.instance_norm: axis 1 of 1 dimensions"),
    "no neighbours": (lambda: normalization.lrn(A, 0), "nn.lrn: size 0, expected at least 1"),
    "a length of integers": (lambda: normalization.l2_normalize(I, 1e-5), "nn.l2_normalize of int32, expected floats"),
    "widths of one axis": (lambda: padding.pad(A, [(1, 1)]), "pad_width [(1, 1)], expected 2 pairs of numbers"),
    "a width": (lambda: padding.pad(A, [(1,), (1, 1)]), "pad_width [(1,), (1, 1)], expected 2 pairs of numbers"),
    "a way to pad": (
        lambda: padding.pad(A, [(1, 1)] * 2, 0, "x"),
        "nn.pad: pad_mode 'x', expected 'constant', 'edge', 'reflect' or 'wrap'",
    ),
    "half an integer": (lambda: padding.pad(I, [(1, 1)] * 2, 0.5), "0.5 is not of type int32"),
    "more cut off than there is": (
        lambda: padding.pad(A, [(-2, -1), (0, 0)]),
        "nn.pad: (-2, -1) cuts elements off axis 0 of extent 2, expected a known one, of at least 3",
    ),
    "cut off what": (
        lambda: padding.pad(N, [(0, -1), (0, 0)]),
        "nn.pad: (0, -1) cuts elements off axis 0 of extent n, expected a known one, of at least 1",
    ),
    "nothing to repeat": (
        lambda: padding.pad(te.placeholder((0,)), [(1, 0)], 0, "edge"),
        "nn.pad: axis 0 of extent 0 has no element that could be repeated",
    ),
    "a mirror": (lambda: padding.mirror_pad(A, [(1, 1)] * 2, "x"), "mode 'x', expected 'SYMMETRIC' or 'REFLECT'"),
    "cut by a mirror": (
        lambda: padding.mirror_pad(A, [(0, 0), (-1, 0)]),
        "pad_width [(0, 0), (-1, 0)], expected numbers from 0 on",
    ),
    "less than nothing": (lambda: filling.zeros([-1], "int8"), "extent -1 of dimension 0, expected at least 0"),
    "full of halves": (lambda: filling.full(0.5, [2], "int32"), "0.5 is not of type int32"),
    "too much for a byte": (lambda: filling.full_like(U, 256), "256 does not fit uint8"),
    "no step": (lambda: filling.arange(0, 5, 0), "arange: from 0 to 5 by 0, expected finite numbers, and a step that"),
    "no end": (lambda: filling.arange(0, float("inf")), "arange: from 0 to inf by 1, expected finite numbers"),
    "a range of bools": (lambda: filling.arange(2, dtype="bool"), "arange of bool, expected numbers"),
    "a range of nothing": (lambda: filling.arange(2, dtype="f13"), "unknown dtype 'f13'"),
    "half steps": (lambda: filling.arange(0, 2, 0.5, "int8"), "arange: from 0 by 0.5 of int8, expected integers"),
    "too far": (lambda: filling.arange(-2, 1, 1, "uint8"), "from -2 to 0, which are not all of type uint8"),
    "a part of a row": (lambda: filling.trilu(V), "trilu: data of 1 dimensions, expected at least 2"),
    "a flat number": (
        lambda: filling.batch_flatten(te.placeholder(())),
        "nn.batch_flatten: data of 0 dimensions, expected at least 1",
    ),
    "softmax of integers": (lambda: nn.softmax(I), "nn.softmax of int32, expected floats"),
    "rows that do not fit": (lambda: nn.dense(A, te.placeholder((4, 4))), "data of shape [2, 3] and weight of [4, 4]"),
    "other units": (lambda: nn.dense(A, A, units=5), "weight of shape [2, 3], expected 5 rows as units says"),
    "matrices": (lambda: nn.matmul(A, A), "nn.matmul: shapes [2, 3] and [2, 3] do not go together"),
    "no batch": (lambda: nn.batch_matmul(A, A), "do not go together, expected 3 dimensions"),
    "a bias of another size": (lambda: nn.bias_add(A, te.placeholder((2,))), "[2, 3] of float32 and [2] of float32"),
    "an image": (lambda: convolutions.conv2d(A, A), "nn.conv2d: data and weight of 2 and 2 dimensions, expected 4"),
    "channels": (
        lambda: convolutions.conv2d(X, X, groups=2),
        "3 channels and weight of 1 by 3 do not go together in 2",
    ),
    "other channels": (
        lambda: convolutions.conv2d(X, X, channels=2),
        "nn.conv2d: weight for 1 channels, expected 2 as channels says",
    ),
    "other windows": (
        lambda: convolutions.conv2d(X, X, kernel_size=2),
        "nn.conv2d: weight for windows of [3, 3], expected 2 as kernel_size says",
    ),
    "transposed channels": (
        lambda: convolutions.conv2d_transpose(X, X),
        "nn.conv2d_transpose: 3 channels and weight of 1 by 3 do not go together in 1 groups",
    ),
    "no group": (
        lambda: convolutions.conv2d_transpose(X, W, groups=0),
        "weight of 3 by 2 do not go together in 0 groups",
    ),
    "channels of all groups": (
        lambda: convolutions.conv2d_transpose(X, W, groups=3, channels=2),
        "weight for 6 channels, expected 2 as channels says",
    ),
    "less than no output_padding": (
        lambda: convolutions.conv2d_transpose(X, W, output_padding=-1),
        "nn.conv2d_transpose: output_padding -1, expected 2 numbers from 0 on",
    ),
    "nothing left": (
        lambda: convolutions.conv2d_transpose(X, W, padding=3),
        "nn.conv2d_transpose: nothing of the result [-1, -1] is left by a padding of [(3, 3), (3, 3)]",
    ),
    "rows to pool": (
        lambda: pools.adaptive_max_pool2d(A, 1),
        "nn.adaptive_max_pool2d: data of 2 dimensions, expected 4",
    ),
    "no windows": (
        lambda: pools.adaptive_avg_pool2d(X, [2, 0]),
        "nn.adaptive_avg_pool2d: output_size [2, 0], expected 2 numbers from 1 on",
    ),
    "bools to pool": (
        lambda: pools.adaptive_avg_pool1d(te.placeholder((1, 1, 2), "bool"), 1),
        "nn.adaptive_avg_pool1d of bool, expected numbers",
    ),
    "a layout": (lambda: convolutions.conv2d(X, X, data_layout="NCHC"), "layout 'NCHC', expected an order of NCHW"),
    "strides": (lambda: convolutions.conv2d(X, X, strides=0), "nn.conv2d: strides 0, expected 2 numbers from 1 on"),
    "paddings": (lambda: convolutions.conv2d(X, X, padding=[1, 2, 3]), "padding [1, 2, 3], expected 1, 2 or 4 numbers"),
    "less than no padding": (lambda: convolutions.conv2d(X, X, padding=-1), "padding -1, expected numbers from 0 on"),
    "a window too large": (lambda: convolutions.conv2d(X, X, dilation=2), "dilated [2, 2], is larger than the image"),
    "channels that are not known": (
        lambda: convolutions.conv2d(te.placeholder((1, size, 4, 4)), X),
        "expected known numbers",
    ),
    "a pool of bools": (
        lambda: pools.max_pool2d(te.placeholder((1, 1, 2, 2), "bool"), 1),
        "of bool, expected numbers",
    ),
    "a pool of rows": (lambda: pools.avg_pool2d(A, 2), "nn.avg_pool2d: data of 2 dimensions, expected 4"),
    "a pool too large": (lambda: pools.max_pool2d(X, 5), "a window of [5, 5], dilated [1, 1], is larger than the"),
    "a whole row": (lambda: pools.global_avg_pool2d(A), "nn.global_avg_pool2d: data of 2 dimensions, expected 4"),
    "a row to resize": (lambda: image.resize2d(A, 2), "image.resize2d: data of 2 dimensions, expected 4"),
    "no size": (lambda: image.resize2d(X, [1, 0]), "image.resize2d: size [1, 0], expected 2 numbers from 1 on"),
    "nothing to resize": (
        lambda: image.resize1d(te.placeholder((1, 1, 0)), 2),
        "image.resize1d: an image of shape [1, 1, 0] has no elements",
    ),
    "an unknown method": (
        lambda: image.resize2d(X, 2, method="bilinear"),
        "method 'bilinear', expected 'nearest_neighbor', 'linear' or 'cubic'",
    ),
    "an unknown place": (
        lambda: image.resize2d(X, 2, coordinate_transformation_mode="corners"),
        "image.resize2d: coordinate_transformation_mode 'corners', expected 'half_pixel', ",
    ),
    "an unknown rounding": (
        lambda: image.resize2d(X, 2, rounding_method="up"),
        "image.resize2d: rounding_method 'up', expected '', 'round', ",
    ),
    "no part": (
        lambda: image.resize2d(X, 2, coordinate_transformation_mode="tf_crop_and_resize"),
        "image.resize2d: roi None, expected 4 numbers, where it begins and where it ends",
    ),
    "scales": (lambda: image.resize2d(X, 2, scales=[1.0, 0.0]), "scales [1.0, 0.0], expected 2 numbers above 0"),
    "bools between": (
        lambda: image.resize1d(te.placeholder((1, 1, 2), "bool"), 2),
        "image.resize1d: method 'linear' of bool, expected numbers",
    ),
    "no times as large": (lambda: image.upsampling(X, 0), "nn.upsampling: scale 0, expected a number above 0"),
    "a part of what": (
        lambda: image.upsampling(te.placeholder((1, 1, size, 2)), 1.5),
        "nn.upsampling: scale 1.5 of an extent of n, expected a known one from 1 on",
    ),
    "a mode of upsampling": (
        lambda: image.upsampling3d(te.placeholder((1, 1, 1, 1, 1)), coordinate_transformation_mode="cubic"),
        "coordinate_transformation_mode 'cubic', expected 'half_pixel', 'align_corners' or 'asymmetric'",
    ),
    "channels of blocks": (
        lambda: image.depth_to_space(X, 2),
        "nn.depth_to_space: 3 channels, expected a multiple of 4",
    ),
    "an order of blocks": (lambda: image.depth_to_space(X, 1, mode="x"), "mode 'x', expected 'DCR' or 'CRD'"),
    "rows of blocks": (
        lambda: image.space_to_depth(X, 2),
        "nn.space_to_depth: 3 elements along H, expected a multiple of 2",
    ),
    "no blocks": (lambda: image.space_to_depth(X, 0), "nn.space_to_depth: block_size 0, expected a number from 1 on"),
    "a grid of rows": (
        lambda: grids.grid_sample(X, A),
        "image.grid_sample: layout 'NCHW', data and grid of 4 and 2 dimensions",
    ),
    "a grid of one number": (
        lambda: grids.grid_sample(X, X),
        "grid [1, 3, 3, 3], expected a grid of shape [1, 2, ...]",
    ),
    "a method of volumes": (
        lambda: grids.grid_sample(D, D, "bicubic", "NCDHW"),
        "image.grid_sample: method 'bicubic', expected 'nearest' or 'bilinear'",
    ),
    "what is outside": (
        lambda: grids.grid_sample(X, X, padding_mode="x"),
        "padding_mode 'x', expected 'zeros', 'border' or 'reflection'",
    ),
    "no matrix": (
        lambda: grids.affine_grid(X, [2, 2]),
        "image.affine_grid: data of shape [1, 3, 3, 3], expected [N, 2, 3]",
    ),
    "no target": (
        lambda: grids.affine_grid(te.placeholder((1, 2, 3)), [2]),
        "image.affine_grid: target_shape [2], expected 2 numbers from 1 on",
    ),
    "parts of no image": (
        lambda: image.crop_and_resize(V, te.placeholder((2, 4)), te.placeholder((2,), "int32"), 2),
        "image.crop_and_resize: operands of shapes [3], [2, 4], [2], expected an image, [B, 4] boxes and [B] indices",
    ),
    "parts without images": (
        lambda: image.crop_and_resize(X, te.placeholder((2, 4)), te.placeholder((3,), "int32"), 2),
        "image.crop_and_resize: 2 boxes and 3 indices, expected as many",
    ),
    "parts by cubic weights": (
        lambda: image.crop_and_resize(X, te.placeholder((2, 4)), te.placeholder((2,), "int32"), 2, method="cubic"),
        "image.crop_and_resize: method 'cubic', expected 'bilinear' or 'nearest_neighbor'",
    ),
    "regions of four numbers": (
        lambda: vision.roi_align(X, te.placeholder((2, 4)), 2, 1.0, 2),
        "vision.roi_align: data and rois of shapes [1, 3, 3, 3] and [2, 4], expected [R, 5] rois",
    ),
    "samples of unknown number": (
        lambda: vision.roi_align(X, te.placeholder((2, 5)), 2, 1.0, 0),
        "vision.roi_align: sample_ratio 0, expected at least 1",
    ),
    "a mode of regions": (
        lambda: vision.roi_align(X, te.placeholder((2, 5)), 2, 1.0, 2, mode="min"),
        "vision.roi_align: mode 'min', expected 'avg', 'max' or 'max_tap'",
    ),
    "regions of nothing": (
        lambda: vision.roi_align(te.placeholder((1, 1, 0, 2)), te.placeholder((2, 5)), 2, 1.0, 2),
        "vision.roi_align: an image of shape [1, 1, 0, 2] has no elements",
    ),
    "offsets of one window": (
        lambda: vision.deformable_patches(X, te.placeholder((1, 8, 1, 1)), 2),
        "vision.deformable_patches: offset of shape [1, 8, 1, 1], expected [1, 8, 2, 2]",
    ),
    "groups of channels": (
        lambda: vision.deformable_patches(X, te.placeholder((1, 16, 2, 2)), 2, deformable_groups=2),
        "vision.deformable_patches: 3 channels in 2 deformable groups",
    ),
    "offsets of no dimension": (
        lambda: vision.deformable_patches(X, A, 2),
        "vision.deformable_patches: data and offset of 4 and 2 dimensions, expected 4",
    ),
    "windows of no image": (
        lambda: vision.deformable_patches(te.placeholder((1, 1, 0, 2)), te.placeholder((1, 2, 0, 2)), 1),
        "vision.deformable_patches: an image of shape [1, 1, 0, 2] has no elements",
    ),
    "quantities of integers": (lambda: quantization.quantize(I, Q, U), "qnn.quantize of int32, expected floats"),
    "scales of integers": (lambda: quantization.quantize(A, I, U), "qnn.quantize: scale of int32, expected floats"),
    "zero points of floats": (
        lambda: quantization.quantize(A, Q, Q),
        "qnn.quantize: zero point of float32, expected integers",
    ),
    "as many scales": (
        lambda: quantization.quantize(A, te.placeholder((2,)), te.placeholder((), "int8")),
        "qnn.quantize: scale of shape [2], expected [] or [3], as along axis 1 of data",
    ),
    "quantized to": (
        lambda: quantization.quantize(A, Q, U, out_dtype="int64"),
        "qnn.quantize: out_dtype 'int64', expected 'int4', 'uint4', 'int8', ",
    ),
    "quantized from": (
        lambda: quantization.dequantize(A, Q, U),
        "qnn.dequantize: data of 'float32', expected 'int4', 'uint4', 'int8', ",
    ),
    "hot floats": (lambda: transform.one_hot(A, 1, 0, 3), "one_hot: indices of float32, expected integers"),
    "a batch that is not": (
        lambda: transform.take(A, te.placeholder((3,), "int32"), 1, 1),
        "take: data of shape [2, 3] and indices of [3], expected the same 1 axes first, in front of axis 1",
    ),
    "a batch behind the axis": (lambda: transform.take(A, I, 0, 1), "the same 1 axes first, in front of axis 0"),
    "gathered by floats": (lambda: indexing.gather(A, A, 0), "gather: indices of float32, expected integers"),
    "too many places": (
        lambda: indexing.gather(A, te.placeholder((2, 4), "int32"), 0),
        "gather: indices of shape [2, 4] for data of [2, 3], expected as many dimensions, and none longer but axis 0",
    ),
    "places of fewer dimensions": (lambda: indexing.gather(A, te.placeholder((2,), "int32"), 0), "as many dimensions"),
    "more places than axes": (
        lambda: indexing.gather_nd(A, te.placeholder((3, 2), "int32")),
        "gather_nd: indices of shape [3, 2], expected a first axis of at most 2",
    ),
    "places of how many axes": (
        lambda: indexing.gather_nd(A, te.placeholder((size, 2), "int32")),
        "indices of shape [n, 2], expected a first axis of at most 2",
    ),
    "a batch of others": (
        lambda: indexing.gather_nd(A, te.placeholder((1, 3), "int32"), 1),
        "indices of shape [1, 3] and data of [2, 3], expected 1 axes of the same extents behind the first of indices",
    ),
    "less than no batch": (
        lambda: indexing.gather_nd(A, I, -1),
        "gather_nd: batch_dims -1 for data of 2 and indices of 2 dimensions",
    ),
    "windows of too few axes": (
        lambda: transform.sliding_window(A, 0, [2], [1]),
        "sliding_window: window_shape [2] and strides [1], expected 2 numbers from 1 on for axes from 0 on",
    ),
    "windows that are too large": (
        lambda: transform.sliding_window(A, 1, [4], [1]),
        "sliding_window: windows [4] of a tensor of shape [2, 3]",
    ),
    "a grid of images": (
        lambda: coordinates.meshgrid(A),
        "meshgrid of float32[2, 3], expected vectors of one data type",
    ),
    "a grid of nothing": (lambda: coordinates.meshgrid(), "meshgrid of no tensor, expected vectors"),
    "a grid in another order": (
        lambda: coordinates.meshgrid(V, indexing="ji"),
        "meshgrid: indexing 'ji', expected 'ij' or 'xy'",
    ),
    "a position in what": (
        lambda: coordinates.unravel_index(I, te.placeholder((size,), "int32")),
        "unravel_index: shape of shape [n], expected a vector of known length",
    ),
    "indices of no axis": (lambda: coordinates.adv_index(A), "adv_index: 0 indices of data of 2 dimensions"),
    "indices that do not broadcast": (
        lambda: coordinates.adv_index(A, te.placeholder((3,), "int32"), te.placeholder((2,), "int32")),
        "adv_index: indices of shapes [[3], [2]], which do not broadcast",
    ),
    "a permutation of rows": (
        lambda: coordinates.invert_permutation(I),
        "invert_permutation: data of 2 dimensions, expected 1",
    ),
    "sparse matrices of values": (
        lambda: coordinates.sparse_to_dense(I, A, te.placeholder(()), (2, 3)),
        "sparse_to_dense: indices, values and default of 2, 2, 0 dimensions, expected at most 2, 1 and 0",
    ),
    "too few sparse values": (
        lambda: coordinates.sparse_to_dense(I, te.placeholder((5,)), te.placeholder(()), (2, 3)),
        "sparse_to_dense: values of shape [5] at 2 indices",
    ),
    "sparse indices of another length": (
        lambda: coordinates.sparse_to_dense(I, te.placeholder(()), te.placeholder(()), (2, 3, 4, 5)),
        "sparse_to_dense: indices of length 3, expected 4 for shape [2, 3, 4, 5]",
    ),
    "diagonals of another type": (
        lambda: coordinates.matrix_set_diag(A, te.placeholder((2,), "int32")),
        "matrix_set_diag: diagonals of int32 in data of float32[2, 3], expected matrices of one data type",
    ),
    "diagonals outside": (
        lambda: coordinates.matrix_set_diag(A, te.placeholder((2,)), 1, 3),
        "matrix_set_diag: diagonals 1 to 3 of matrices [2, 3]",
    ),
    "a diagonal too long": (
        lambda: coordinates.matrix_set_diag(A, te.placeholder((3,))),
        "matrix_set_diag: diagonal of shape [3], expected [2]",
    ),
    "fixed points of floats": (
        lambda: fixed_point.fixed_point_multiply(A, 1, 0),
        "fixed_point_multiply of float32, expected int32",
    ),
    "a shift too far": (
        lambda: fixed_point.fixed_point_multiply(I, 1, 32),
        "fixed_point_multiply: multiplier 1 and shift 32, expected 32 bits and -30 to 31",
    ),
    "a loss of other targets": (
        lambda: losses.nll_loss(A, I, te.placeholder((3,))),
        "nn.nll_loss: predictions, targets and weights of shapes [[2, 3], [2, 3], [3]], expected [N, C, ...], [N, ...]",
    ),
    "weights of another type": (
        lambda: losses.nll_loss(A, te.placeholder((2,), "int32"), te.placeholder((3,), "float64")),
        "nn.nll_loss: [3] weights of float64, expected float32 of classes",
    ),
    "a dilated matrix": (
        lambda: image.dilation2d(A, X),
        "image.dilation2d: data of float32[2, 3] and weight of shape [1, 3, 3, 3], expected numbers of 4 and 3",
    ),
    "a dilation of other channels": (
        lambda: image.dilation2d(X, te.placeholder((5, 1, 1))),
        "image.dilation2d: weights of 5 channels, data of 3",
    ),
    "sequences along their number": (
        lambda: indexing.reverse_sequence(A, I, 0),
        "reverse_sequence: axis 0 as seq_axis and as batch_axis, expected two axes",
    ),
    "lengths of others": (
        lambda: indexing.reverse_sequence(A, te.placeholder((3,), "int32")),
        "lengths of shape [3] for data of [2, 3], expected one for each number of axis 0",
    ),
    "lengths between": (
        lambda: indexing.sequence_mask(A, te.placeholder((3,))),
        "sequence_mask: lengths of float32, expected integers",
    ),
    "a mask along what": (
        lambda: indexing.sequence_mask(X, I, axis=2),
        "sequence_mask: axis 2 of 4 dimensions, expected 0 or 1 of at least 2",
    ),
    "an unknown reduction": (
        lambda: indexing.scatter_elements(A, I, A, 0, "div"),
        "scatter_elements: 'div', expected one of 'update', 'add', 'mul', 'min', 'max', 'mean'",
    ),
    "updates of another type": (
        lambda: indexing.scatter_elements(A, I, I),
        "scatter_elements: updates of int32, expected float32 as data",
    ),
    "a mean of numbers": (
        lambda: indexing.scatter_elements(I, I, I, 0, "mean"),
        "scatter_elements: 'mean' of int32, expected floats",
    ),
    "bools added": (
        lambda: indexing.scatter_nd(B, te.placeholder((1, 2), "int32"), B, "add"),
        "scatter_nd: 'add' of bool, expected numbers",
    ),
    "updates of another shape": (
        lambda: indexing.scatter_elements(A, I, te.placeholder((1, 3))),
        "scatter_elements: updates of shape [1, 3], expected [2, 3] as indices",
    ),
    "slices of another shape": (
        lambda: indexing.scatter_nd(A, te.placeholder((1, 4), "int32"), A),
        "scatter_nd: updates of shape [2, 3], expected [4, 3]",
    ),
    "bools in order": (lambda: sorting.sort(B), "sort of bool, expected numbers"),
    "too many in order": (
        lambda: sorting.argsort(te.placeholder((2**26 + 1,))),
        "argsort: axis 0 of extent 67108865, expected at most 67108864",
    ),
    "no order": (lambda: sorting.sort(te.placeholder(())), "sort: axis -1 of 0 dimensions"),
    "too many of an order": (
        lambda: sorting.topk(A, 4),
        "topk: k 4 of an axis of extent 3, expected at most that",
    ),
    "an unknown result": (
        lambda: sorting.topk(A, ret_type="value"),
        "topk: ret_type 'value', expected 'both', 'values' or 'indices'",
    ),
    "a sequence of others": (
        lambda: sorting.searchsorted(te.placeholder((3, 3)), A),
        "sorted_sequence of shape [3, 3] and values of [2, 3], expected one dimension or the same rows",
    ),
    "values of others": (
        lambda: sorting.searchsorted(te.placeholder((3,)), I),
        "searchsorted: int32 in float32, expected numbers of one data type",
    ),
    "a count in bools": (
        lambda: scans.cumsum(B),
        "cumsum of bool, expected numbers, or a dtype to count in",
    ),
    "bits as more of them": (
        lambda: math.reinterpret(A, "int64"),
        "reinterpret of float32 as int64, expected as many bits, and no bool",
    ),
    "so far in what": (lambda: scans.cumprod(A, dtype="f13"), "unknown dtype 'f13'"),
    "an empty product": (lambda: einsum.einsum(equation=""), "einsum: no operand"),
    "a product of two types": (
        lambda: einsum.einsum(A, I, equation="ij,ij"),
        "einsum of float32, int32, expected numbers of one data type",
    ),
    "operands of an equation": (lambda: einsum.einsum(A, equation="ij,jk"), "einsum: 'ij,jk' for 1 operands"),
    "names of too many axes": (
        lambda: einsum.einsum(A, equation="ijk->i"),
        "einsum: 'ijk' in 'ijk->i' for an operand of 2 dimensions",
    ),
    "no names": (
        lambda: einsum.einsum(A, equation="i1->i"),
        "einsum: 'i1' in 'i1->i', expected letters and one ellipsis at most",
    ),
    "a result of nothing": (
        lambda: einsum.einsum(A, equation="ij->ik"),
        "einsum: result 'ik' in 'ij->ik', expected names of axes of operands, each once",
    ),
    "an ellipsis that is lost": (
        lambda: einsum.einsum(A, equation="i...->i"),
        "einsum: result 'i' in 'i...->i', expected the ellipsis of the operands",
    ),
    "a diagonal of what": (
        lambda: einsum.einsum(A, equation="ii"),
        "einsum: axes 'i' in 'ii' of extents 2 and 3",
    ),
    "axes of one name": (
        lambda: einsum.einsum(A, A, equation="ij,jk"),
        "einsum: axes 'j' in 'ij,jk' of extents 3 and 2",
    ),
    "a layout of images": (
        lambda: packed_convolutions.contrib_conv2d_pack(X, P, 4, weight_layout="OIHW4o", data_layout="NHWC"),
        "layout 'NHWC' of images, expected NCHW or NCHW4c",
    ),
    "an image without blocks": (
        lambda: packed_convolutions.contrib_conv2d_pack(X, P, 4, weight_layout="OIHW4o", data_layout="NCHW4c"),
        "data of 4 dimensions, expected 5 in the layout NCHW4c",
    ),
    "an image with other blocks": (
        lambda: packed_convolutions.contrib_conv2d_pack(D, P, 4, weight_layout="OIHW4o", data_layout="NCHW4c"),
        "data of shape [1, 3, 3, 3, 3], expected blocks of 4 in the layout NCHW4c",
    ),
    "no whole blocks of a result": (
        lambda: packed_convolutions.contrib_conv2d_pack(
            te.placeholder((1, 1, 3, 3)), P, 3, weight_layout="OIHW4o", out_layout="NCHW4c"
        ),
        "3 output channels, expected whole blocks of 4",
    ),
    "no blocks of depthwise data": (
        lambda: packed_convolutions.contrib_depthwise_conv2d_pack(
            te.placeholder((1, 4, 3, 3)), P, 4, weight_layout="OIHW4o", out_layout="NCHW4c"
        ),
        "data_layout NCHW, expected NCHW4c as of the result",
    ),
    "a window larger than an image in blocks": (
        lambda: packed_convolutions.contrib_depthwise_conv2d_pack(
            te.placeholder((1, 1, 2, 2, 4)), P, 4, weight_layout="OIHW4o", data_layout="NCHW4c"
        ),
        "a window of [3, 3], dilated [1, 1], is larger than the image [1, 1, 2, 2, 4]",
    ),
    "a rounded quotient of bools": (lambda: broadcast.trunc_divide(B, B), "trunc_divide of bool, expected numbers"),
    "a slice set to another": (
        lambda: transform.strided_set(A, A, [0], [1]),
        "strided_set: v of float32[2, 3], expected float32[1, 3]",
    ),
    "a slice of more axes": (
        lambda: transform.strided_set(A, A, [0, 0, 0], [1, 1, 1]),
        "strided_set: 3 begins, 3 ends, 3 strides, 3 axes of 2 dimensions",
    ),
    "too few numbers of slices": (
        lambda: indexing.segment_sum(A, te.placeholder((3,), "int32"), 2),
        "segment_sum: data of shape [2, 3] with segment_ids of shape [3], expected a number for each slice",
    ),
    "a negative number of sums": (
        lambda: indexing.segment_sum(A, te.placeholder((2,), "int32"), -1),
        "segment_sum: num_segments -1, expected 0 or more",
    ),
    "sums of bools": (
        lambda: indexing.segment_sum(B, te.placeholder((2,), "int32"), 1),
        "scatter_nd: 'add' of bool, expected numbers",
    ),
    "a shape of floats": (
        lambda: coordinates.sparse_reshape(I, te.placeholder((3,)), te.placeholder((2,), "int32")),
        "sparse_reshape: prev_shape of float32, expected integers",
    ),
    "a shape of two dimensions": (
        lambda: coordinates.sparse_reshape(I, te.placeholder((3,), "int32"), I),
        "sparse_reshape: new_shape of 2 dimensions, expected 1",
    ),
    "indices of another shape": (
        lambda: coordinates.sparse_reshape(I, te.placeholder((2,), "int32"), te.placeholder((2,), "int32")),
        "sparse_reshape: indices of length 3, shapes of 2 and 2 sizes",
    ),
    "a spectrum of integers": (lambda: spectra.dft(I, I), "dft: a signal of int32, expected float32 or float64"),
    "parts of other types": (
        lambda: spectra.dft(A, I),
        "dft: parts of float32 of 2 dimensions and int32 of 2 dimensions, expected the same",
    ),
    "parts of other shapes": (
        lambda: spectra.dft(A, te.placeholder((3, 2))),
        "dft: parts of shapes [2, 3] and [3, 2], expected the same",
    ),
    "a batch of batches": (
        lambda: spectra.stft(X, te.placeholder((2,)), 2, 1, 2),
        "stft: a signal of 4 dimensions, expected 1, or 2 for a batch",
    ),
    "a wide window": (
        lambda: spectra.stft(A, te.placeholder((3,)), 2, 1, 3),
        "stft: n_fft 2, win_length 3, hop_length 1, expected positive sizes, and win_length up to n_fft",
    ),
    "a window of another length": (
        lambda: spectra.stft(A, te.placeholder((3,)), 2, 1, 2),
        "stft: window of shape [3], expected [2]",
    ),
    "a short signal": (
        lambda: spectra.stft(A, te.placeholder((2,)), 4, 1, 2),
        "stft: a signal of 3 elements, expected 4 or more",
    ),
    "steps by Winograd's algorithm": (
        lambda: winograd.contrib_conv2d_winograd_without_weight_transform(X, PLAIN, 2, strides=2),
        "nn.contrib_conv2d_winograd_without_weight_transform: strides 2, expected 1 or [1, 1]",
    ),
    "a weight in blocks": (
        lambda: winograd.contrib_conv2d_winograd_without_weight_transform(X, A, 2),
        "nn.contrib_conv2d_winograd_without_weight_transform: weight of 2 dimensions, expected 4",
    ),
    "images of different shapes": (
        lambda: correlation.correlation(X, te.placeholder((1, 3, 3, 4))),
        "nn.correlation: images of shapes [1, 3, 3, 3] of float32 and [1, 3, 3, 4] of float32, expected equal ones",
    ),
    "an image of three dimensions": (
        lambda: correlation.correlation(X, te.placeholder((1, 3, 3))),
        "nn.correlation: images of shapes [1, 3, 3, 3] of float32 and [1, 3, 3] of float32, expected equal ones",
    ),
    "correlations of integers": (
        lambda: correlation.correlation(I, I),
        "nn.correlation: data1 of int32, expected floats",
    ),
    "a window without a centre": (
        lambda: correlation.correlation(X, X, 2),
        "nn.correlation: kernel_size 2, expected an odd number",
    ),
    "a displacement to nowhere": (
        lambda: correlation.correlation(X, X, 1, 1, 1, 0),
        "nn.correlation: max_displacement 1, stride1 1, stride2 0, expected a displacement from 0 on",
    ),
    "a displacement out of the image": (
        lambda: correlation.correlation(X, X, 1, 2),
        "nn.correlation: a window of 1 displaced by 2 is larger than the image [1, 3, 3, 3], padded by [(0, 0)",
    ),
    "images with channels last": (
        lambda: correlation.correlation(X, X, layout="NHWC"),
        "nn.correlation: layout 'NHWC', expected 'NCHW'",
    ),
    "more new slices than old ones": (
        lambda: transform.fifo_buffer(te.placeholder((3, 3)), A, 0),
        "nn.fifo_buffer: data of shape [3, 3], buffer of shape [2, 3], expected no more slices of data along axis 0",
    ),
    "new slices of another shape": (
        lambda: transform.fifo_buffer(te.placeholder((2, 2)), A, 0),
        "nn.fifo_buffer: tensors [2, 2] of float32 and [2, 3] of float32 do not go together",
    ),
    "the gradient of another pool": (
        lambda: pools.max_pool2d_grad(X, X, 2),
        "nn.max_pool2d_grad: out_grad of shape [1, 3, 3, 3] of float32, expected [1, 3, 2, 2] of float32",
    ),
    "the gradient of a mean of another type": (
        lambda: pools.avg_pool2d_grad(te.placeholder((1, 3, 2, 2), "float64"), X, 2),
        "nn.avg_pool2d_grad: out_grad of shape [1, 3, 2, 2] of float64, expected [1, 3, 2, 2] of float32",
    ),
    "the gradient of a pool of integers": (
        lambda: pools.max_pool2d_grad(te.placeholder((1, 3, 3, 3), "int32"), te.placeholder((1, 3, 3, 3), "int32")),
        "nn.max_pool2d_grad: data of int32, expected floats",
    ),
    "the gradient of a large pool": (
        lambda: pools.avg_pool2d_grad(X, X, 4),
        "nn.avg_pool2d_grad: a window of [4, 4], dilated [1, 1], is larger than the image [1, 3, 3, 3]",
    ),
    "a gradient of weights without taps": (
        lambda: convolutions.conv2d_backward_weight(X, X),
        "nn.conv2d_backward_weight: kernel_size is missing, expected the taps of the weight",
    ),
    "a gradient of weights of other taps": (
        lambda: convolutions.conv2d_backward_weight(X, X, kernel_size=2),
        "nn.conv2d_backward_weight: grad of shape [1, 3, 3, 3], expected [1, 3, 2, 2] in NCHW",
    ),
    "a gradient of weights of other channels": (
        lambda: convolutions.conv2d_backward_weight(X, X, kernel_size=1, channels=4),
        "nn.conv2d_backward_weight: grad of 3 channels, expected 4 as channels says",
    ),
    "a gradient of weights of groups": (
        lambda: convolutions.conv2d_backward_weight(X, X, kernel_size=1, groups=2),
        "nn.conv2d_backward_weight: 3 and 3 channels in 2 groups",
    ),
    "a gradient of weights of volumes": (
        lambda: convolutions.conv2d_backward_weight(D, X, kernel_size=1),
        "nn.conv2d_backward_weight: grad and data of 5 and 4 dimensions, expected 4",
    ),
}


@pytest.mark.parametrize("mistake", WRONG)
def test_a_mistake_is_an_error_that_says_what_was_expected(mistake: str) -> None:
    make, message = WRONG[mistake]
    with pytest.raises(TeError, match=re.escape(message)) as raised:
        make()
    assert __file__ in str(raised.value)

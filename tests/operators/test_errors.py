"""A mistake in the use of an operator is an error that says what was expected."""

import re
from collections.abc import Callable

import pytest

from stepwell.frontends import te
from stepwell.frontends.te import TeError
from stepwell.operators import (
    activations,
    broadcast,
    filling,
    math,
    nn,
    normalization,
    padding,
    reduction,
    transform,
    windows,
)

A = te.placeholder((2, 3), name="A")
I = te.placeholder((2, 3), "int32", name="I")  # noqa: E741
U = te.placeholder((2, 3), "uint8", name="U")
B = te.placeholder((2, 3), "bool", name="B")
size = te.var("n")
N = te.placeholder((size, 3), name="N")
V = te.placeholder((3,), name="V")
X = te.placeholder((1, 3, 3, 3), name="X")

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
    "a mean of integers": (lambda: reduction.mean(I), "mean of int32, expected floats"),
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
    "a slice of what": (lambda: transform.strided_slice(N, [0], [1]), "axis 0 with extent n, which is not known"),
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
    "a choice by numbers": (lambda: transform.where(A, A, A), "where: condition of float32, expected bool"),
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
    "an image": (lambda: windows.conv2d(A, A), "nn.conv2d: data and weight of 2 and 2 dimensions, expected 4"),
    "channels": (lambda: windows.conv2d(X, X, groups=2), "3 channels and weight of 1 by 3 do not go together in 2"),
    "a layout": (lambda: windows.conv2d(X, X, data_layout="NCHC"), "layout 'NCHC', expected an order of NCHW"),
    "strides": (lambda: windows.conv2d(X, X, strides=0), "nn.conv2d: strides 0, expected 2 numbers from 1 on"),
    "paddings": (lambda: windows.conv2d(X, X, padding=[1, 2, 3]), "padding [1, 2, 3], expected 1, 2 or 4 numbers"),
    "less than no padding": (lambda: windows.conv2d(X, X, padding=-1), "padding -1, expected numbers from 0 on"),
    "a window too large": (lambda: windows.conv2d(X, X, dilation=2), "dilated [2, 2], is larger than the image"),
    "channels that are not known": (
        lambda: windows.conv2d(te.placeholder((1, size, 4, 4)), X),
        "expected known numbers",
    ),
    "a pool of bools": (
        lambda: windows.max_pool2d(te.placeholder((1, 1, 2, 2), "bool"), 1),
        "of bool, expected numbers",
    ),
    "a pool of rows": (lambda: windows.avg_pool2d(A, 2), "nn.avg_pool2d: data of 2 dimensions, expected 4"),
    "a pool too large": (lambda: windows.max_pool2d(X, 5), "a window of [5, 5], dilated [1, 1], is larger than the"),
    "a whole row": (lambda: windows.global_avg_pool2d(A), "nn.global_avg_pool2d: data of 2 dimensions, expected 4"),
    "hot floats": (lambda: transform.one_hot(A, 1, 0, 3), "one_hot: indices of float32, expected integers"),
}


@pytest.mark.parametrize("mistake", WRONG)
def test_a_mistake_is_an_error_that_says_what_was_expected(mistake: str) -> None:
    make, message = WRONG[mistake]
    with pytest.raises(TeError, match=re.escape(message)) as raised:
        make()
    assert __file__ in str(raised.value)

"""The cases of the sweep: operators of `relay` with their counterparts in torch, a table of shapes for each.

The shapes are 1, primes, powers of two, and those of networks. Words after the numbers of a row are neighbours: `scale`
and `mask` precede the operator, the others follow it in the given order.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

Shape = tuple[int, ...]
Function = Callable[..., Any]
"""A function of a module, `relay` or torch, and of operands."""


@dataclass(frozen=True)
class Case:
    """An operator with its neighbours. shapes: of the operands, all float32.  ours, peer: the function of `relay` and
    operands that returns a graph, and the function of torch and operands that returns a tensor."""

    name: str
    shapes: tuple[Shape, ...]
    ours: Function
    peer: Function


# Neighbours


@dataclass(frozen=True)
class _Neighbour:
    """An operator before or after another. shape: of its second operand, a function of the shape of its first operand
    and of the axis of channels; None without a second operand."""

    ours: Function
    peer: Function
    shape: Callable[[Shape, int], Shape] | None = None


def _same_shape(shape: Shape, axis: int) -> Shape:
    return shape


def _last_axis(shape: Shape, axis: int) -> Shape:
    return shape[-1:]


def _channels(shape: Shape, axis: int) -> Shape:
    """A shape of one element along all axes but one, up to the last axis."""
    return (shape[axis], *(1 for _ in shape[axis % len(shape) + 1 :]))


_BEFORE = {
    "scale": _Neighbour(
        lambda relay, x: x * relay.const(0.125, "float32"),
        lambda torch, x: x * 0.125,
    ),
    "mask": _Neighbour(
        lambda relay, x, mask: x * relay.const(0.125, "float32") + mask,
        lambda torch, x, mask: x * 0.125 + mask,
        _last_axis,
    ),
}
_AFTER = {
    "bias": _Neighbour(lambda relay, x, b: x + b, lambda torch, x, b: x + b, _channels),
    "times": _Neighbour(lambda relay, x, y: x * y, lambda torch, x, y: x * y, _channels),
    "residual": _Neighbour(lambda relay, x, y: x + y, lambda torch, x, y: x + y, _same_shape),
    "relu": _Neighbour(lambda relay, x: relay.nn.relu(x), lambda torch, x: torch.relu(x)),
    "gelu": _Neighbour(lambda relay, x: relay.nn.gelu(x), lambda torch, x: torch.nn.functional.gelu(x)),
    "sigmoid": _Neighbour(lambda relay, x: relay.sigmoid(x), lambda torch, x: torch.sigmoid(x)),
}


@dataclass(frozen=True)
class _Operator:
    """An operator on operands of fixed shapes. result: the shape of its result.  channel: the axis of channels of the
    result.  with_bias: torch's function with a bias as its last operand, None if torch has no such function."""

    shapes: tuple[Shape, ...]
    result: Shape
    ours: Function
    peer: Function
    channel: int = -1
    with_bias: Function | None = None


def _case(name: str, operator: _Operator, neighbours: Sequence[str]) -> Case:
    """A case of an operator with neighbours; a bias that torch adds in its operator is no separate operation there."""
    before = [_BEFORE[word] for word in neighbours if word in _BEFORE]
    after = [_AFTER[word] for word in neighbours if word not in _BEFORE]
    extra = [*((each, operator.shapes[0]) for each in before), *((each, operator.result) for each in after)]
    shapes = [each.shape(shape, operator.channel) for each, shape in extra if each.shape is not None]
    count = len(operator.shapes)
    fused = operator.with_bias if not before and "bias" in neighbours[:1] else None

    def ours(relay: Any, *operands: Any) -> Any:
        rest = list(operands[count:])
        first = _chain(relay, [each.ours for each in before], before, operands[0], rest)
        result = operator.ours(relay, first, *operands[1:count])
        return _chain(relay, [each.ours for each in after], after, result, rest)

    def peer(torch: Any, *operands: Any) -> Any:
        rest = list(operands[count:])
        if fused is not None:
            result = fused(torch, *operands[:count], rest.pop(0).reshape(-1))
            return _chain(torch, [each.peer for each in after[1:]], after[1:], result, rest)
        first = _chain(torch, [each.peer for each in before], before, operands[0], rest)
        result = operator.peer(torch, first, *operands[1:count])
        return _chain(torch, [each.peer for each in after], after, result, rest)

    return Case(" ".join([name, *neighbours]), (*operator.shapes, *shapes), ours, peer)


def _chain(
    module: Any, functions: Sequence[Function], neighbours: Sequence[_Neighbour], x: Any, rest: list[Any]
) -> Any:
    """The result of functions in order; their second operands are the first elements of `rest`, which are removed."""
    for function, neighbour in zip(functions, neighbours, strict=True):
        x = function(module, x) if neighbour.shape is None else function(module, x, rest.pop(0))
    return x


# Tables


def _rows(table: str) -> Iterator[tuple[list[str], list[str]]]:
    """The rows of a table, separated by lines or commas: the words that describe the shape, and the neighbours after
    them."""
    for row in table.replace(",", "\n").split("\n"):
        words = row.split()
        neighbours = [word for word in words if word in _BEFORE or word in _AFTER]
        if words:
            yield words[: len(words) - len(neighbours)], neighbours


def _shape(text: str) -> Shape:
    return tuple(map(int, text.split("x")))


# Rows of the data, units (rows of the weights), length of a row.
_DENSE = """
    1x1x1, 1x1x1024, 1x1024x1 bias, 1024x1x1024, 1024x1024x1, 1x1x65536, 4096x1x64 bias sigmoid, 64x1x64 relu, 2x3x5
    7x7x7 bias, 13x17x19 bias relu, 31x37x41 bias, 127x131x137 bias relu, 251x257x263 bias gelu, 1x509x1021 bias
    3x1009x509, 61x67x1013 residual, 97x101x103 scale, 509x11x13 bias relu, 5x4099x61, 1009x7x3 bias, 2x2x2
    4x4x4 bias, 8x8x8 relu, 16x16x16 bias relu, 32x32x32, 64x64x64 bias gelu, 128x128x128, 256x256x256 bias
    512x512x512 bias relu, 1024x1024x1024, 8x256x32 bias, 16x4096x256 relu, 2048x16x16 bias, 256x32x2048
    1x128x784 bias relu, 1x10x128 bias, 1x1000x512 bias, 1x1000x2048 bias, 8x1000x512 bias, 32x1000x1280 bias
    1x4096x4096 bias relu, 1x2304x768 bias, 1x3072x768 bias gelu, 1x768x3072 bias residual, 128x768x768 bias
    128x768x768 scale, 128x3072x768 bias gelu, 128x768x3072 bias residual, 197x768x768 bias residual, 49x384x384 bias
    64x512x512 bias relu, 32x256x64 bias sigmoid, 100x256x256 bias relu, 77x512x512 bias, 2x640x320 bias
"""
# Batch, rows, columns, length; `nt` if the second operand is transposed, else `nn`.
_BATCH_MATMUL = """
    1x1x1x1 nt, 1x1x1x64 nn, 64x1x1x64 nt, 12x1x128x64 nt scale, 12x1x64x128 nn, 512x1x16x16 nn, 16x64x1x64 nt
    3x5x7x11 nt, 3x5x7x11 nn, 7x31x37x41 nt relu, 7x31x37x41 nn relu, 5x97x101x103 nt, 5x97x101x103 nn residual
    13x17x19x23 nn residual, 2x251x257x263 nt, 2x2x2x2 nn, 4x4x4x4 nt, 8x8x8x8 nn, 64x16x16x16 nt, 32x32x32x32 nn relu
    16x64x64x64 nt scale, 8x128x128x128 nn, 4x256x256x256 nt, 4x256x256x256 nn, 2x512x512x64 nt, 2x512x64x512 nn
    1x512x512x512 nt, 256x4x4x64 nt, 12x128x128x64 nt scale, 12x128x64x128 nn, 12x197x197x64 nt scale
    12x197x64x197 nn, 4x384x384x32 nt scale, 64x49x49x32 nt scale, 64x49x32x49 nn, 8x77x77x64 nt
    8x1024x77x40 nt scale, 8x1024x40x77 nn, 3x196x64x576 nn bias
"""
# Shapes of the data and of the weights; then stride, padding, dilation and groups as letters with numbers.
_CONV2D = """
    1x1x1x1 1x1x1x1, 1x1x8x8 1x1x3x3 p1, 1x1x28x28 6x1x5x5 p2 bias relu, 1x6x14x14 16x6x5x5 bias relu
    1x64x1x1 32x64x1x1 bias relu, 1x1x224x224 8x1x3x3 p1 bias, 1x64x56x56 1x64x1x1 bias sigmoid, 1x1x1x1024 8x1x1x3
    1x3x7x7 5x3x3x3, 1x7x31x31 11x7x3x3 p1 bias relu, 1x13x37x41 17x13x3x3 s2p1 bias, 2x17x29x29 19x17x1x1 bias relu
    1x31x53x53 37x31x3x3 p1 residual, 3x23x17x19 29x23x5x5 p2 bias relu, 1x101x13x13 103x101x1x1 bias
    1x4x8x8 4x4x3x3 p1, 1x8x16x16 16x8x3x3 p1 bias relu, 1x16x32x32 16x16x3x3 p1 bias relu
    1x32x32x32 64x32x3x3 s2p1 bias, 1x64x64x64 64x64x3x3 p1, 2x128x16x16 128x128x3x3 p1 bias relu
    16x16x8x8 32x16x3x3 p1 bias relu, 1x3x224x224 64x3x7x7 s2p3, 1x3x224x224 64x3x7x7 s2p3 bias relu
    2x3x224x224 64x3x7x7 s2p3 bias relu, 1x3x224x224 32x3x3x3 s2p1 bias relu, 1x3x224x224 64x3x3x3 p1 bias relu
    1x3x224x224 768x3x16x16 s16 bias, 1x3x112x112 16x3x5x5 s2p2 bias relu, 4x3x32x32 16x3x3x3 p1 bias relu
    1x64x56x56 64x64x3x3 p1 bias relu, 1x64x56x56 64x64x3x3 p1 bias residual relu
    1x64x56x56 128x64x3x3 s2p1 bias relu, 1x128x28x28 128x128x3x3 p1 bias relu, 1x128x28x28 256x128x3x3 s2p1 bias relu
    1x256x14x14 256x256x3x3 p1 bias relu, 1x256x14x14 512x256x3x3 s2p1 bias, 1x512x7x7 512x512x3x3 p1 bias relu
    4x256x14x14 256x256x3x3 p1 bias residual relu, 1x64x56x56 64x64x3x3 p1 scale, 1x64x56x56 64x64x1x1 bias relu
    1x64x56x56 256x64x1x1 bias residual relu, 1x256x56x56 64x256x1x1 bias relu, 1x256x56x56 128x256x1x1 s2 bias
    1x512x28x28 128x512x1x1 bias relu, 1x1024x14x14 256x1024x1x1 bias relu
    1x256x14x14 1024x256x1x1 bias residual relu, 1x2048x7x7 512x2048x1x1 bias relu, 1x512x7x7 2048x512x1x1 bias
    1x16x112x112 96x16x1x1 bias relu, 1x96x56x56 24x96x1x1 bias, 1x320x7x7 1280x320x1x1 bias relu
    8x32x28x28 64x32x1x1 bias relu, 1x64x56x56 64x64x1x1 scale, 1x32x112x112 32x1x3x3 p1g32 bias relu
    1x96x112x112 96x1x3x3 s2p1g96 bias relu, 1x144x56x56 144x1x3x3 p1g144 bias relu
    1x192x28x28 192x1x3x3 s2p1g192 bias relu, 1x384x14x14 384x1x3x3 p1g384 bias relu
    1x960x7x7 960x1x3x3 p1g960 bias relu, 1x240x28x28 240x1x5x5 p2g240 bias sigmoid, 1x96x56x56 96x1x7x7 p3g96 bias
    4x32x28x28 32x1x3x3 p1g32 bias relu, 1x37x23x23 37x1x3x3 p1g37 bias relu, 1x16x64x64 32x1x3x3 p1g16
    1x128x28x28 128x4x3x3 p1g32 bias relu, 1x64x28x28 64x32x3x3 p1g2 bias relu, 1x240x14x14 240x80x1x1 g3 bias
    1x30x17x17 20x6x3x3 p1g5 bias, 1x256x14x14 256x8x3x3 s2p1g32 bias relu, 1x64x28x28 64x64x3x3 p2d2 bias relu
    1x256x14x14 256x256x3x3 p4d4 bias relu, 1x19x31x31 23x19x3x3 p3d3, 1x64x33x33 64x1x3x3 p6d6g64 bias relu
    1x32x28x28 32x32x5x5 p2 bias relu, 1x48x27x27 128x48x5x5 p2 bias relu, 1x64x17x17 64x64x1x7 bias relu
    1x64x17x17 64x64x7x1 bias relu, 1x16x28x28 32x16x2x2 s2 bias, 1x3x227x227 64x3x11x11 s4p2 bias relu
    1x768x1x197 64x768x1x1 bias, 32x64x7x7 64x64x3x3 p1 bias relu
"""
# Shape of the data, window, stride and padding.
_POOLS = """
    max 1x1x1x1 1, max 1x1x8x8 2s2, max 1x6x28x28 2s2, max 1x16x10x10 2s2 scale, max 1x64x112x112 3s2p1
    max 1x64x112x112 3s2p1 relu, max 2x64x112x112 3s2p1, max 1x192x56x56 3s2, max 1x480x28x28 3s1p1
    max 1x256x13x13 5s1p2, max 1x256x13x13 13s1p6, max 1x64x224x224 2s2, max 1x512x14x14 2s2 relu
    max 1x13x37x41 3s2p1, max 3x17x31x29 5s3p2 relu, max 8x32x32x32 2s2, max 16x8x8x8 2s2, max 1x31x53x53 2s2
    max 1x1x1024x1024 4s4, max 1x3x1x1024 1s2, avg 1x1x1x1 1, avg 1x6x28x28 2s2 sigmoid, avg 1x128x56x56 2s2
    avg 1x192x35x35 3s1p1, avg 1x256x28x28 2s2 relu, avg 1x13x37x41 3s2p1, avg 2x17x31x29 5s3p2, avg 8x32x32x32 2s2
    avg 1x512x7x7 7, avg 1x64x128x128 8s8, avg 4x7x61x61 2s2, avg 1x32x64x64 3s2p1 bias relu, gavg 1x1x1x1 0
    gavg 1x512x7x7 0, gavg 1x2048x7x7 0, gavg 8x1280x7x7 0, gavg 1x64x112x112 0, gavg 1x1000x13x13 0 relu
    gavg 3x37x17x19 0, gavg 1x96x56x56 0 sigmoid, gavg 1x1x512x512 0, gavg 32x64x8x8 0 scale, gavg 1x960x14x14 0
    gmax 1x512x7x7 0, gmax 1x64x112x112 0, gmax 3x37x17x19 0 relu, gmax 8x128x16x16 0, gmax 1x1x256x256 0
"""
# Shape of the data and axis.
_SOFTMAX = """
    1x1 1, 1x1024 1, 1024x1 1, 1x2 1, 1x65536 1, 65536x2 1, 1x1000 1, 1x50257 1, 32x1000 1 bias, 1x10 1, 64x10 1
    7x11 1, 97x101 1, 31x37x41 2 scale, 1009x13 1, 13x1009 1 mask, 5x7x11x13 3, 3x251x257 2 mask, 2x2 1, 16x16 1
    256x256 1, 4096x1024 1, 1024x64 1 scale, 64x4096 1, 4096x8 1, 2048x32 1, 12x128x128 2 mask, 12x197x197 2 scale
    12x1x128 2 mask, 8x77x77 2 mask, 64x49x49 2 scale, 8x1024x77 2, 4x384x384 2 mask, 1x21x64x64 1, 1x1000x7x7 1
    2x19x97x101 1, 1x128x1024 1, 256x256 0, 1009x13 0, 16x512x64 1 scale, 1x2x512x512 1, 64x64x64 0, 128x1 0
    8x8x8x8 2
"""
_LAYER_NORM = """
    1x1, 1x1024, 1024x1, 1x65536, 7x11, 97x101, 31x37x41, 1009x13 relu, 13x1009, 2x4099, 5x7x509 residual, 2x2, 16x16
    64x64 relu, 256x256, 1024x64, 4096x8, 4096x32, 64x4096 gelu, 2048x1024, 1x768, 1x128x768, 128x768
    128x768 residual, 8x128x768, 197x768, 77x512 gelu, 1x3136x96, 784x192, 196x384 relu, 49x768, 32x128x256 scale
    384x1024 residual, 1x4096, 1x16x12288, 512x256 scale, 100x256 times
"""
# Shape of the data and axes.
_TRANSPOSE = """
    1x1 10, 1x1024 10, 1024x1 10, 7x11 10, 97x101 10, 1009x13 10, 13x1009 10 relu, 251x257 10 scale, 2x2 10, 16x16 10
    64x64 10, 256x256 10 relu, 1024x1024 10, 2048x2048 10, 4096x16 10, 16x4096 10 relu, 768x3072 10
    512x512 10 residual, 128x768 10 bias, 1000x512 10, 31x37x41 021, 31x37x41 102, 31x37x41 210, 5x97x101 021 relu
    16x64x64 021, 64x16x64 102, 64x64x64 210, 64x64x64 201, 128x12x64 102 scale, 12x128x64 021, 1x196x768 021 bias
    197x3x64 102, 3x224x224 120, 224x224x3 201 scale, 1x3x224x224 0231, 1x224x224x3 0312 scale, 1x64x56x56 0231 relu
    1x56x56x64 0312 relu, 8x7x7x512 0312, 8x512x7x7 0231, 1x128x12x64 0213, 1x12x128x64 0213 relu
    1x12x128x64 0132 scale, 8x77x8x40 0213, 5x7x11x13 3210, 5x7x11x13 0321, 2x3x5x7 1032, 1x8x56x56 0132
    16x16x16x16 3012, 4x32x32x32 2301, 1x2x58x784 0213
"""
# Axis, then the shapes of the data.
_CONCATENATE = """
    0 1 1, 0 1024 1, 0 1000003 1000003, 0 1x64 1x64 relu, 1 1x1 1x1, 1 1x1000 1x24, 0 1x1024 1x1024 1x1024 relu
    1 7x11 7x13, 1 97x101 97x103 relu, 0 97x101 103x101 scale, 1 31x37x41 31x43x41, 2 31x37x41 31x37x1 bias
    1 1009x3 1009x5 relu, 1 5x7 5x11 5x13 5x17, 1 16x16 16x16, 1 256x256 256x256 relu, 0 256x256 256x256 relu
    1 1024x64 1024x64 1024x64 1024x64, 1 2048x512 2048x512, 1 65536x1 65536x1, 1 65536x2 65536x2 scale
    2 64x64x1 64x64x1 64x64x1, 1 4096x8 4096x16 relu, 1 1x64x56x56 1x64x56x56 relu, 1 1x128x28x28 1x32x28x28
    1 1x512x7x7 1x32x7x7 bias relu, 1 8x64x14x14 8x64x14x14 relu, 1 1x256x28x28 1x128x28x28 scale
    1 1x192x28x28 1x208x28x28 1x48x28x28 1x64x28x28 relu, 1 1x320x64x64 1x320x64x64 scale
    1 1x1x768 1x196x768 residual, 1 1x12x128x64 1x12x128x64, 2 1x12x127x64 1x12x1x64, 3 1x12x128x32 1x12x128x32
    2 2x100x256 2x100x4, 1 1x1024x20x20 1x1024x20x20 relu, 3 1x16x32x32 1x16x32x32 scale
"""


# Operators


def _dense(words: list[str]) -> _Operator:
    rows, units, length = _shape(words[0])
    return _Operator(
        ((rows, length), (units, length)),
        (rows, units),
        lambda relay, x, w: relay.nn.dense(x, w),
        lambda torch, x, w: torch.nn.functional.linear(x, w),
        with_bias=lambda torch, x, w, b: torch.nn.functional.linear(x, w, b),
    )


def _batch_matmul(words: list[str]) -> _Operator:
    batch, rows, columns, length = _shape(words[0])
    is_transposed = words[1] == "nt"
    return _Operator(
        ((batch, rows, length), (batch, columns, length) if is_transposed else (batch, length, columns)),
        (batch, rows, columns),
        lambda relay, a, b: relay.nn.batch_matmul(a, b, transpose_b=is_transposed),
        lambda torch, a, b: torch.bmm(a, b.transpose(1, 2) if is_transposed else b),
    )


def _window(text: str) -> dict[str, int]:
    """Numbers by their letters: stride, padding, dilation, groups."""
    return {letter: int(number) for letter, number in re.findall(r"([a-z])(\d+)", text)}


def _extent(size: int, window: int, stride: int, padding: int, dilation: int = 1) -> int:
    """The number of windows along an axis."""
    return (size + 2 * padding - dilation * (window - 1) - 1) // stride + 1


def _conv2d(words: list[str]) -> _Operator:
    data, weight = map(_shape, words[:2])
    sizes = {"s": 1, "p": 0, "d": 1, "g": 1, **_window("".join(words[2:]))}
    stride, padding, dilation, groups = (sizes[letter] for letter in "spdg")
    image = (_extent(data[n], weight[n], stride, padding, dilation) for n in (2, 3))
    attributes = {"padding": padding, "dilation": dilation, "groups": groups}
    kernel = {"channels": weight[0], "kernel_size": weight[2:]}
    return _Operator(
        (data, weight),
        (data[0], weight[0], *image),
        lambda relay, x, w: relay.nn.conv2d(x, w, strides=stride, **attributes, **kernel),
        lambda torch, x, w: torch.nn.functional.conv2d(x, w, stride=stride, **attributes),
        channel=1,
        with_bias=lambda torch, x, w, b: torch.nn.functional.conv2d(x, w, b, stride=stride, **attributes),
    )


def _pool(words: list[str]) -> _Operator:
    kind, data = words[0], _shape(words[1])
    if kind.startswith("g"):
        return _global_pool(kind[1:], data)
    sizes = {"s": 1, "p": 0, **_window(f"k{words[2]}")}
    window, stride, padding = (sizes[letter] for letter in "ksp")
    image = (_extent(size, window, stride, padding) for size in data[2:])
    ours, peer = f"{kind}_pool2d", {"stride": stride, "padding": padding}
    average: dict[str, bool] = {"count_include_pad": False} if kind == "avg" else {}
    return _Operator(
        (data,),
        (*data[:2], *image),
        lambda relay, x: getattr(relay.nn, ours)(x, window, strides=stride, padding=padding, **average),
        lambda torch, x: getattr(torch.nn.functional, ours)(x, window, **peer, **average),
        channel=1,
    )


def _global_pool(kind: str, data: Shape) -> _Operator:
    return _Operator(
        (data,),
        (*data[:2], 1, 1),
        lambda relay, x: getattr(relay.nn, f"global_{kind}_pool2d")(x),
        lambda torch, x: getattr(torch.nn.functional, f"adaptive_{kind}_pool2d")(x, 1),
        channel=1,
    )


def _softmax(words: list[str]) -> _Operator:
    shape, axis = _shape(words[0]), int(words[1])
    return _Operator(
        (shape,),
        shape,
        lambda relay, x: relay.nn.softmax(x, axis=axis),
        lambda torch, x: torch.softmax(x, axis),
    )


def _layer_norm(words: list[str]) -> _Operator:
    shape = _shape(words[0])
    return _Operator(
        (shape, shape[-1:], shape[-1:]),
        shape,
        lambda relay, x, gamma, beta: relay.nn.layer_norm(x, gamma, beta),
        lambda torch, x, gamma, beta: torch.nn.functional.layer_norm(x, shape[-1:], gamma, beta),
    )


def _transpose(words: list[str]) -> _Operator:
    shape, axes = _shape(words[0]), tuple(map(int, words[1]))

    def peer(torch: Any, x: Any) -> Any:
        return x.permute(axes).clone(memory_format=torch.contiguous_format)

    return _Operator((shape,), tuple(shape[n] for n in axes), lambda relay, x: relay.transpose(x, axes=axes), peer)


def _concatenate(words: list[str]) -> _Operator:
    axis, shapes = int(words[0]), tuple(map(_shape, words[1:]))
    total = sum(shape[axis] for shape in shapes)
    return _Operator(
        shapes,
        (*shapes[0][:axis], total, *shapes[0][axis + 1 :]),
        lambda relay, *parts: relay.concatenate(parts, axis=axis),
        lambda torch, *parts: torch.cat(parts, axis),
        channel=axis,
    )


_OPERATORS = {
    "dense": (_dense, _DENSE),
    "batch_matmul": (_batch_matmul, _BATCH_MATMUL),
    "conv2d": (_conv2d, _CONV2D),
    "pool": (_pool, _POOLS),
    "softmax": (_softmax, _SOFTMAX),
    "layer_norm": (_layer_norm, _LAYER_NORM),
    "transpose": (_transpose, _TRANSPOSE),
    "concatenate": (_concatenate, _CONCATENATE),
}


@cache
def all_cases() -> dict[str, Case]:
    """The cases by name."""
    cases = [
        _case(" ".join([name, *words]), make(words), neighbours)
        for name, (make, table) in _OPERATORS.items()
        for words, neighbours in _rows(table)
    ]
    by_name = {case.name: case for case in cases}
    if len(by_name) != len(cases):
        raise ValueError("two cases have the same name")
    return by_name

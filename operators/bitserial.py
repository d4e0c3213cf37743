"""Products of integers of few bits by logical operations on words that hold one bit of many elements each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..expressions.axes import reduce_axis
from ..expressions.errors import TeError
from ..expressions.expr import PrimExpr, cast, const
from ..expressions.functions import popcount, sum
from ..expressions.tensor import Tensor, compute, is_same_extent
from .axes import nonnegative_axis
from .definition import Pattern, operator
from .extents import known_extent
from .padding import pad_tensor
from .requirements import require_integers
from .windows import Window, each_dimension, layout_axes, paddings

Array = Any

_WORDS = {"uint8": 8, "uint16": 16, "uint32": 32, "uint64": 64}


# Words of bits


def words_of(size: Any, width: int, axis: int) -> int:
    """The number of words along an axis. TeError for an extent that is unknown or no multiple of their width."""
    extent = known_extent(size)
    if extent is None or extent % width:
        raise TeError(f"axis {axis}: {size} elements, expected a multiple of the {width} bits of a word")
    return extent // width


def _packed_reference(data: Array, bits: int, pack_axis: int, bit_axis: int, pack_type: str) -> Array:
    width, axis = _WORDS[pack_type], pack_axis % data.ndim
    rows = np.moveaxis(data, axis, -1).astype("int64")
    ones = np.stack([(rows >> bit) & 1 for bit in range(bits)])
    places = np.uint64(1) << np.arange(width - 1, -1, -1, dtype="uint64")
    words = (ones.reshape(*ones.shape[:-1], -1, width).astype("uint64") * places).sum(-1).astype(pack_type)
    return np.moveaxis(np.moveaxis(words, -1, axis + 1), 0, bit_axis)


@operator("nn.bitpack", Pattern.OUT_FUSABLE, _packed_reference)
def bitpack(data: Tensor, bits: int = 1, pack_axis: int = 1, bit_axis: int = 2, pack_type: str = "uint32") -> Tensor:
    """The bits of integers in words, a word for one bit of consecutive elements, the first of which is the highest.

    pack_axis: the axis of these elements.  bit_axis: the axis of the result that counts the lowest `bits` bits.
    pack_type: the data type of words, uint8 to uint64.
    """
    return pack_bits(data, bits, pack_axis, bit_axis, pack_type, "BitPack")


def pack_bits(data: Tensor, bits: int, pack_axis: int, bit_axis: int, pack_type: str, name: str) -> Tensor:
    """The formula of `nn.bitpack`. name: of the tensor. TeError for other words, axes and sizes."""
    require_integers(data, "bitpack")
    if pack_type not in _WORDS:
        raise TeError(f"bitpack: words of {pack_type}, expected one of {', '.join(_WORDS)}")
    if not 1 <= bits <= data.data_type.bits or not 0 <= bit_axis <= data.ndim:
        raise TeError(f"bitpack: {bits} bits of {data.dtype} along axis {bit_axis} of {data.ndim + 1}")
    width, axis = _WORDS[pack_type], nonnegative_axis(pack_axis, data.ndim, "bitpack")
    shape: list[Any] = list(data.shape)
    shape[axis] = words_of(shape[axis], width, axis)
    shape.insert(bit_axis, bits)

    def word(*axes: PrimExpr) -> PrimExpr:
        place = list(axes)
        bit = place.pop(bit_axis)
        first = place[axis] * width
        result: PrimExpr = const(0, pack_type)
        for n in range(width):
            place[axis] = first + n
            element = data(*place)
            one = cast(pack_type, (element >> cast(element.dtype, bit)) & 1)
            result = result | (one << const(width - 1 - n, pack_type))
        return result

    return compute(shape, word, name, "bitpack")


# Products


def _ones(data: PrimExpr, weight: PrimExpr, unipolar: bool, dtype: str) -> PrimExpr:
    """The sum of the products of the bits of two words; of a weight that stands for 1 and -1 if unipolar."""
    both = cast(dtype, popcount(data & weight))
    return both - cast(dtype, popcount(data & ~weight)) if unipolar else both


def _numbers(data: Array, bits: int, signs: bool) -> Array:
    """The integers of the lowest bits; those whose bits stand for 1 and -1 if signs."""
    low = data.astype("int64") & (2**bits - 1)
    return 2 * low - (2**bits - 1) if signs else low


def _unpacked(words: Array, word_axis: int, bit_axis: int) -> Array:
    """The integers of which `bitpack` makes words."""
    width = words.dtype.itemsize * 8
    planes = np.moveaxis(words, (bit_axis, word_axis), (0, -1)).astype("uint64")
    ones = (planes[..., None] >> np.arange(width - 1, -1, -1, dtype="uint64")) & np.uint64(1)
    flat = ones.astype("int64").reshape(*planes.shape[:-1], -1)
    numbers = np.tensordot(1 << np.arange(len(planes)), flat, 1)
    return np.moveaxis(numbers, -1, word_axis - (bit_axis < word_axis))


def _dense_reference(
    data: Array, weight: Array, data_bits: int, weight_bits: int, out_dtype: str, unipolar: bool
) -> Array:
    bits = weight_bits if weight.ndim == 2 else weight.shape[1]
    numbers = weight if weight.ndim == 2 else _unpacked(weight, 2, 1)
    return (_numbers(data, data_bits, False) @ _numbers(numbers, bits, unipolar).T).astype(out_dtype)


@operator("nn.bitserial_dense", Pattern.OUT_FUSABLE, _dense_reference)
def bitserial_dense(
    data: Tensor,
    weight: Tensor,
    units: int | None = None,
    data_bits: int = 1,
    weight_bits: int = 1,
    pack_dtype: str = "uint32",
    out_dtype: str = "int16",
    unipolar: bool = True,
) -> Tensor:
    """The product of a matrix and the transpose of another, of unsigned integers of few bits.

    weight: of two dimensions, or of three `[n, weight_bits, words]` as `nn.bitpack` packs them.  units: the expected
    number of rows of weight.  data_bits, weight_bits: the number of lowest bits that count.  pack_dtype: the data type
    of words.  out_dtype: that of the sums.  unipolar: whether bits of weights stand for 1 and -1, not for 1 and 0.
    """
    if data.ndim != 2 or weight.ndim not in (2, 3):
        raise TeError(
            f"bitserial_dense: data of {data.ndim} dimensions and weight of {weight.ndim}, expected 2 and 2 or 3"
        )
    if units is not None and known_extent(weight.shape[0]) != units:
        raise TeError(f"bitserial_dense: weight of shape {list(weight.shape)}, expected {units} rows as units says")
    left = bitpack(data, data_bits, 1, 1, pack_dtype)
    right = bitpack(weight, weight_bits, 1, 1, pack_dtype) if weight.ndim == 2 else weight
    _require_equal_words("bitserial_dense", left, right, (left.shape[2], right.shape[2]))
    k, db, wb = (
        reduce_axis((0, extent), name)
        for extent, name in ((left.shape[2], "k"), (left.shape[1], "db"), (right.shape[1], "wb"))
    )

    def element(i: PrimExpr, j: PrimExpr) -> PrimExpr:
        ones = _ones(left[i, db, k], right[j, wb, k], unipolar, out_dtype)
        return sum(ones << cast(out_dtype, db.var + wb.var), axis=[wb, db, k])

    return compute([left.shape[0], right.shape[0]], element, "bitserial_dense", "bitserial_dense")


def _require_equal_words(name: str, left: Tensor, right: Tensor, counts: tuple[Any, Any]) -> None:
    if left.dtype != right.dtype or not is_same_extent(*counts):
        raise TeError(
            f"{name}: {counts[0]} words of {left.dtype} and {counts[1]} of {right.dtype}, expected equal words"
        )


# Convolutions: the axes of packed images (image, word of channels, height, width, bit) and of packed weights (filter,
# word, height, width, bit) by layout of images

_AXES = {"NCHW": ((0, 1, 3, 4, 2), (0, 1, 2, 3, 4)), "NHWC": ((0, 3, 1, 2, 4), (3, 2, 0, 1, 4))}
_KERNELS = {"NCHW": "OIHW", "NHWC": "HWIO"}


def _convolution_reference(
    data: Array, weight: Array, strides: Window, padding: Window, activation_bits: int, weight_bits: int,
    data_layout: str, out_dtype: str, unipolar: bool,
) -> Array:  # fmt: skip
    layout = _KERNELS[data_layout]
    bits, channels = weight.shape[4] if weight.ndim == 5 else weight_bits, layout.index("I")
    numbers = weight if weight.ndim == 4 else _unpacked(weight, channels, 4)
    taps = np.transpose(_numbers(numbers, bits, unipolar), [layout.index(letter) for letter in "OIHW"])
    images = np.transpose(_numbers(data, activation_bits, False), [data_layout.index(letter) for letter in "NCHW"])
    images = np.pad(images, [(0, 0), (0, 0), *paddings(padding, 2, "padding")])
    windows = np.lib.stride_tricks.sliding_window_view(images, taps.shape[2:], (2, 3))
    step = each_dimension(strides, 2, "strides")
    sums = np.einsum("nchwyx,ocyx->nohw", windows[:, :, :: step[0], :: step[1]], taps)
    return np.transpose(sums, ["NCHW".index(letter) for letter in data_layout]).astype(out_dtype)


@operator("nn.bitserial_conv2d", Pattern.OUT_FUSABLE, _convolution_reference)
def bitserial_conv2d(
    data: Tensor,
    weight: Tensor,
    strides: Window = 1,
    padding: Window = 0,
    channels: int | None = None,
    kernel_size: Window | None = None,
    activation_bits: int = 1,
    weight_bits: int = 1,
    data_layout: str = "NCHW",
    kernel_layout: str = "",
    pack_dtype: str = "uint32",
    out_dtype: str = "int16",
    unipolar: bool = True,
) -> Tensor:
    """The convolution of images of unsigned integers of few bits, as `nn.bitserial_dense`.

    data_layout: NCHW or NHWC.  weight: in the layout OIHW, of images NHWC in HWIO, or packed along the input channels
    with the bits as the fifth axis.  padding: one number, those of height and width, or all four (top, left, bottom,
    right), with zeros.  channels, kernel_size: the expected number of filters and their extents.  kernel_layout: the
    expected layout.
    """
    name = "bitserial_conv2d"
    if data_layout not in _AXES or kernel_layout not in ("", _KERNELS[data_layout]):
        raise TeError(f"{name}: layouts {data_layout} and {kernel_layout}, expected NCHW and OIHW, or NHWC and HWIO")
    if data.ndim != 4 or weight.ndim not in (4, 5):
        raise TeError(f"{name}: data of {data.ndim} dimensions and weight of {weight.ndim}, expected 4 and 4 or 5")
    channel, bit = (1, 2) if data_layout == "NCHW" else (3, 4)
    packed = bitpack(data, activation_bits, channel, bit, pack_dtype)
    word = layout_axes(_KERNELS[data_layout], "OIHW", name)[1]
    weights = bitpack(weight, weight_bits, word, 4, pack_dtype) if weight.ndim == 4 else weight
    image, window = _AXES[data_layout]
    sizes = [weights.shape[d] for d in window]
    _require_equal_words(name, packed, weights, (packed.shape[image[1]], sizes[1]))
    expected = [channels, *([None] * 2 if kernel_size is None else each_dimension(kernel_size, 2, "kernel_size"))]
    for wish, size, what in zip(expected, (sizes[0], *sizes[2:4]), ("channels", "height", "width"), strict=True):
        if wish is not None and known_extent(size) != wish:
            raise TeError(f"{name}: weight of shape {list(weight.shape)}, expected {wish} as {what}")
    output = [data_layout.index(letter) for letter in "NCHW"]
    tag = f"{name}_{data_layout.lower()}"
    return _convolution(packed, weights, strides, padding, (image, window, output), (out_dtype, unipolar, tag))


def _convolution(
    data: Tensor, weights: Tensor, strides: Window, padding: Window,
    axes: tuple[Sequence[int], Sequence[int], Sequence[int]], kind: tuple[str, bool, str],
) -> Tensor:  # fmt: skip
    """axes: of packed data: image, word of channels, height, width, bit; of the weights: filter, word, height, width,
    bit; of the result: image, filter, height, width.  kind: out_dtype, unipolar and the tag."""
    (image, window, output), (out_dtype, unipolar, tag) = axes, kind
    filters, words, *taps, weight_bits = (weights.shape[d] for d in window)
    steps = each_dimension(strides, 2, "strides")
    widths = [(0, 0)] * 5
    widths[image[2]], widths[image[3]] = paddings(padding, 2, "bitserial_conv2d")
    padded = pad_tensor(data, widths, 0, "constant", "PaddedInput")
    extents = [padded.shape[image[0]], filters]
    extents += [(padded.shape[image[n]] - taps[n - 2]) // steps[n - 2] + 1 for n in (2, 3)]
    rc, ry, rx = reduce_axis((0, words), "rc"), reduce_axis((0, taps[0]), "ry"), reduce_axis((0, taps[1]), "rx")
    b1, b2 = reduce_axis((0, data.shape[image[4]]), "b1"), reduce_axis((0, weight_bits), "b2")

    def element(*indices: PrimExpr) -> PrimExpr:
        n, f, y, x = (indices[d] for d in output)
        at = [n, rc.var, y * steps[0] + ry.var, x * steps[1] + rx.var, b1.var]
        tap = [f, rc.var, ry.var, rx.var, b2.var]
        one = padded(*(at[image.index(d)] for d in range(5)))
        other = weights(*(tap[window.index(d)] for d in range(5)))
        ones = _ones(one, other, unipolar, out_dtype)
        return sum(ones << cast(out_dtype, b1.var + b2.var), axis=[rc, ry, rx, b2, b1])

    return compute([extents[output.index(d)] for d in range(4)], element, tag, tag)


__all__ = ["bitpack", "bitserial_conv2d", "bitserial_dense", "pack_bits", "words_of"]

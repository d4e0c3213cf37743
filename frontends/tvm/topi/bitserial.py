"""Products of numbers of few bits by logical operations on words that hold one bit of many elements each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ....expressions.axes import reduce_axis
from ....expressions.errors import TeError
from ....expressions.expr import PrimExpr, cast, const
from ....expressions.functions import popcount, sum
from ....expressions.tensor import Tensor, compute
from ....operators.axes import nonnegative_axis
from ....operators.padding import pad_tensor
from ....operators.windows import Window, each_dimension
from .utils import get_const_int, get_pad_tuple

_WORDS = {"uint8": 8, "uint16": 16, "uint32": 32, "uint64": 64}


def _words(size: Any, width: int, axis: int) -> int:
    """The number of words along an axis. TeError for an extent that is no multiple of their width."""
    extent = get_const_int(size)
    if extent % width:
        raise TeError(f"axis {axis}: {extent} elements, expected a multiple of the {width} bits of a word")
    return extent // width


def bitpack(
    data: Tensor, bits: int, pack_axis: int, bit_axis: int, pack_type: str, name: str = "QuantizeInput"
) -> Tensor:
    """The bits of integers in words, a word for one bit of consecutive elements, the first of which is the highest.

    pack_axis: the axis of these elements.  bit_axis: the axis of the result that counts the lowest `bits` bits.
    pack_type: the data type of words, uint8 to uint64. TeError for other words and sizes.
    """
    if pack_type not in _WORDS:
        raise TeError(f"bitpack: words of {pack_type}, expected one of {', '.join(_WORDS)}")
    width = _WORDS[pack_type]
    shape: list[Any] = list(data.shape)
    shape[pack_axis] = _words(shape[pack_axis], width, pack_axis)
    shape.insert(bit_axis, bits)

    def word(*axes: PrimExpr) -> PrimExpr:
        place = list(axes)
        bit = place.pop(bit_axis)
        first = place[pack_axis] * width
        result: PrimExpr = const(0, pack_type)
        for n in range(width):
            place[pack_axis] = first + n
            element = data(*place)
            one = cast(pack_type, (element >> cast(element.dtype, bit)) & 1)
            result = result | (one << const(width - 1 - n, pack_type))
        return result

    return compute(shape, word, name, "bitpack")


def binarize_pack(data: Tensor, axis: int | None = None, name: str = "PackedInput") -> Tensor:
    """The signs of numbers in words of uint32 along an axis, by default the last one: 1 for those from 0 on. The first
    of 32 elements is the highest bit. TeError for an extent that is no multiple of 32."""
    along = data.ndim - 1 if axis is None else nonnegative_axis(axis, data.ndim, "binarize_pack")
    shape: list[Any] = list(data.shape)
    shape[along] = _words(shape[along], 32, along)

    def word(*axes: PrimExpr) -> PrimExpr:
        result: PrimExpr = const(0, "uint32")
        for n in range(32):
            place = [*axes[:along], axes[along] * 32 + n, *axes[along + 1 :]]
            result = result | (cast("uint32", data(*place) >= 0) << const(31 - n, "uint32"))
        return result

    return compute(shape, word, name, "binarize_pack")


def binary_dense(data: Tensor, weight: Tensor) -> Tensor:
    """The product of a matrix and the transpose of another, of numbers 1 and -1 as `binarize_pack` packs them, as
    float32. TeError for tensors that are no matrices of uint32."""
    for each in (data, weight):
        if each.ndim != 2 or each.dtype != "uint32":
            raise TeError(f"binary_dense: {each.ndim} dimensions of {each.dtype}, expected a matrix of uint32")
    shape = [data.shape[0], weight.shape[0]]
    k = reduce_axis((0, data.shape[1]), "k")
    different = compute(shape, lambda i, j: sum(popcount(data[i, k] ^ weight[j, k]), axis=k), "binary", "binary_dense")
    count = 32 * get_const_int(data.shape[1])
    return compute(shape, lambda i, j: count - 2.0 * cast("float32", different(i, j)), "binary_dense", "elemwise")


def _ones(data: PrimExpr, weight: PrimExpr, unipolar: bool, dtype: str) -> PrimExpr:
    """The sum of the products of the bits of two words; of a weight that stands for 1 and -1 if unipolar."""
    both = cast(dtype, popcount(data & weight))
    return both - cast(dtype, popcount(data & ~weight)) if unipolar else both


def bitserial_dense(
    data: Tensor,
    weight: Tensor,
    data_bits: int,
    weight_bits: int,
    pack_dtype: str = "uint32",
    out_dtype: str = "int16",
    unipolar: bool = True,
) -> Tensor:
    """The product of a matrix and the transpose of another, of unsigned integers of few bits.

    weight: of two dimensions, or of three `[n, weight_bits, words]` as `bitpack` packs them.  unipolar: whether bits of
    weights stand for 1 and -1, not for 1 and 0.
    """
    left = bitpack(data, data_bits, 1, 1, pack_dtype)
    right = bitpack(weight, weight_bits, 1, 1, pack_dtype) if weight.ndim == 2 else weight
    k, db, wb = (
        reduce_axis((0, extent), name)
        for extent, name in ((left.shape[2], "k"), (left.shape[1], "db"), (right.shape[1], "wb"))
    )

    def element(i: PrimExpr, j: PrimExpr) -> PrimExpr:
        ones = _ones(left[i, db, k], right[j, wb, k], unipolar, out_dtype)
        return sum(ones << cast(out_dtype, db.var + wb.var), axis=[wb, db, k])

    return compute([left.shape[0], right.shape[0]], element, "bitserial_dense", "bitserial_dense")


def bitserial_conv2d_nchw(
    data: Tensor,
    kernel: Tensor,
    stride: Window,
    padding: Window | str,
    activation_bits: int,
    weight_bits: int,
    pack_dtype: str = "uint32",
    out_dtype: str = "int16",
    unipolar: bool = True,
) -> Tensor:
    """The convolution of images NCHW of unsigned integers of few bits, as `bitserial_dense`.

    kernel: in the layout OIHW, or packed with the bits as the fifth axis.
    """
    packed = bitpack(data, activation_bits, 1, 2, pack_dtype)
    weights = bitpack(kernel, weight_bits, 1, 4, pack_dtype) if kernel.ndim == 4 else kernel
    words, taps, bits = weights.shape[1], weights.shape[2:4], weights.shape[4]
    return _convolution(
        packed, weights, (words, taps, bits, activation_bits), stride, padding, out_dtype, unipolar,
        image=(0, 1, 3, 4, 2), window=(0, 1, 2, 3, 4), filters=weights.shape[0], output=(0, 1, 2, 3),
        name="bitserial_conv2d_nchw",
    )  # fmt: skip


def bitserial_conv2d_nhwc(
    data: Tensor,
    kernel: Tensor,
    stride: Window,
    padding: Window | str,
    activation_bits: int,
    weight_bits: int,
    pack_dtype: str = "uint32",
    out_dtype: str = "int16",
    unipolar: bool = True,
) -> Tensor:
    """The convolution of images NHWC of unsigned integers of few bits, as `bitserial_dense`.

    kernel: in the layout HWIO, or packed with the bits as the fifth axis.
    """
    packed = bitpack(data, activation_bits, 3, 4, pack_dtype)
    weights = bitpack(kernel, weight_bits, 2, 4, pack_dtype) if kernel.ndim == 4 else kernel
    words, taps, bits = weights.shape[2], weights.shape[0:2], weights.shape[4]
    return _convolution(
        packed, weights, (words, taps, bits, activation_bits), stride, padding, out_dtype, unipolar,
        image=(0, 3, 1, 2, 4), window=(3, 2, 0, 1, 4), filters=weights.shape[3], output=(0, 3, 1, 2),
        name="bitserial_conv2d_nhwc",
    )  # fmt: skip


def _convolution(
    data: Tensor, weights: Tensor, sizes: tuple[Any, Sequence[Any], Any, int], stride: Window,
    padding: Window | str, out_dtype: str, unipolar: bool, image: Sequence[int], window: Sequence[int], filters: Any,
    output: Sequence[int], name: str,
) -> Tensor:  # fmt: skip
    """image: the axes of packed data: image, word of channels, height, width, bit.  window: those of the weights:
    filter, word, height, width, bit.  output: those of the result: image, filter, height, width."""
    words, taps, weight_bits, data_bits = sizes
    steps = each_dimension(stride, 2, "stride")
    top, left, down, right = get_pad_tuple(padding, taps)
    widths = [(0, 0)] * 5
    widths[image[2]], widths[image[3]] = (top, down), (left, right)
    padded = pad_tensor(data, widths, 0, "constant", "PaddedInput")
    extents = [padded.shape[image[0]], filters]
    extents += [(padded.shape[image[n]] - taps[n - 2]) // steps[n - 2] + 1 for n in (2, 3)]
    rc, ry, rx = reduce_axis((0, words), "rc"), reduce_axis((0, taps[0]), "ry"), reduce_axis((0, taps[1]), "rx")
    b1, b2 = reduce_axis((0, data_bits), "b1"), reduce_axis((0, weight_bits), "b2")

    def element(*axes: PrimExpr) -> PrimExpr:
        n, f, y, x = (axes[d] for d in output)
        at = [n, rc.var, y * steps[0] + ry.var, x * steps[1] + rx.var, b1.var]
        tap = [f, rc.var, ry.var, rx.var, b2.var]
        one = padded(*(at[image.index(d)] for d in range(5)))
        other = weights(*(tap[window.index(d)] for d in range(5)))
        ones = _ones(one, other, unipolar, out_dtype)
        return sum(ones << cast(out_dtype, b1.var + b2.var), axis=[rc, ry, rx, b2, b1])

    shape = [extents[output.index(d)] for d in range(4)]
    return compute(shape, element, name, name)


__all__ = [
    "binarize_pack", "binary_dense", "bitpack", "bitserial_conv2d_nchw", "bitserial_conv2d_nhwc", "bitserial_dense",
]  # fmt: skip

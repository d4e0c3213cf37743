"""Products of numbers of few bits by logical operations on words that hold one bit of many elements each."""

from __future__ import annotations

from typing import Any

from ....expressions.axes import reduce_axis
from ....expressions.errors import TeError
from ....expressions.expr import PrimExpr, cast, const
from ....expressions.functions import popcount, sum
from ....expressions.tensor import Tensor, compute
from ....operators import bitserial
from ....operators.axes import nonnegative_axis
from ....operators.windows import Window
from .utils import get_const_int, get_pad_tuple


def bitpack(
    data: Tensor, bits: int, pack_axis: int, bit_axis: int, pack_type: str, name: str = "QuantizeInput"
) -> Tensor:
    """The bits of integers in words, as of the operator `nn.bitpack`. name: of the tensor. TeError."""
    return bitserial.pack_bits(data, bits, pack_axis, bit_axis, pack_type, name)


def binarize_pack(data: Tensor, axis: int | None = None, name: str = "PackedInput") -> Tensor:
    """The signs of numbers in words of uint32 along an axis, by default the last one: 1 for those from 0 on. The first
    of 32 elements is the highest bit. TeError for an extent that is no multiple of 32."""
    along = data.ndim - 1 if axis is None else nonnegative_axis(axis, data.ndim, "binarize_pack")
    shape: list[Any] = list(data.shape)
    shape[along] = bitserial.words_of(shape[along], 32, along)

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


def bitserial_dense(
    data: Tensor,
    weight: Tensor,
    data_bits: int,
    weight_bits: int,
    pack_dtype: str = "uint32",
    out_dtype: str = "int16",
    unipolar: bool = True,
) -> Tensor:
    """The product of a matrix and the transpose of another, as of the operator `nn.bitserial_dense`."""
    return bitserial.bitserial_dense(data, weight, None, data_bits, weight_bits, pack_dtype, out_dtype, unipolar)


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
    """The convolution of images NCHW of unsigned integers of few bits, as of the operator `nn.bitserial_conv2d`.

    kernel: in the layout OIHW, or packed with the bits as the fifth axis.
    """
    around = get_pad_tuple(padding, kernel.shape[2:4])
    return bitserial.bitserial_conv2d(
        data, kernel, stride, around, None, None, activation_bits, weight_bits, "NCHW", "OIHW", pack_dtype, out_dtype,
        unipolar,
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
    """The convolution of images NHWC of unsigned integers of few bits, as of the operator `nn.bitserial_conv2d`.

    kernel: in the layout HWIO, or packed with the bits as the fifth axis.
    """
    around = get_pad_tuple(padding, kernel.shape[0:2])
    return bitserial.bitserial_conv2d(
        data, kernel, stride, around, None, None, activation_bits, weight_bits, "NHWC", "HWIO", pack_dtype, out_dtype,
        unipolar,
    )  # fmt: skip


__all__ = [
    "binarize_pack", "binary_dense", "bitpack", "bitserial_conv2d_nchw", "bitserial_conv2d_nhwc", "bitserial_dense",
]  # fmt: skip

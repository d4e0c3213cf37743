"""Operators of neural networks: matrix products, bias addition and softmax."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from ..core.byte_products import GROUP
from ..core.dtypes import numpy_dtype, wide_dtype
from ..expressions import functions as scalar
from ..expressions.axes import reduce_axis
from ..expressions.errors import TeError
from ..expressions.expr import PrimExpr, as_expr, cast, const
from ..expressions.tensor import Tensor, compute, elementwise_tensor, is_same_extent
from . import reduction
from .axes import nonnegative_axis
from .definition import Pattern, operator
from .requirements import require_floats
from .windows import pad_with_value, require_known_extents

Array = Any


def accumulator_dtype(out_dtype: str, data: Tensor) -> str:
    """The data type of the accumulator and of the result."""
    return out_dtype or data.dtype


def wide_product(formula: str, a: Array, b: Array, out_dtype: str) -> Array:
    """A sum of products in the notation of `np.einsum`, computed in a wide data type and rounded once."""
    result = numpy_dtype(out_dtype or a.dtype.name)
    kind = wide_dtype(result)
    return np.asarray(np.einsum(formula, a.astype(kind), b.astype(kind))).astype(result)


# Products of matrices


@operator(
    "nn.dense",
    Pattern.OUT_FUSABLE,
    lambda data, weight, out_dtype: wide_product("...k,nk->...n", data, weight, out_dtype),
)
def dense(data: Tensor, weight: Tensor, units: int | None = None, out_dtype: str = "") -> Tensor:
    """The product of `data` and the transposed weight: `out[..., n] = sum over k of data[..., k] * weight[n, k]`.

    units: the expected number of rows of weight.  out_dtype: the data type of the sums and of the result, by default
    the data type of data.
    """
    if not data.ndim or weight.ndim != 2 or not is_same_extent(data.shape[-1], weight.shape[1]):
        raise TeError(f"nn.dense: data of shape {list(data.shape)} and weight of {list(weight.shape)}")
    if units is not None and not is_same_extent(weight.shape[0], as_expr(units)):
        raise TeError(f"nn.dense: weight of shape {list(weight.shape)}, expected {units} rows as units says")
    kind = accumulator_dtype(out_dtype, data)
    k = reduce_axis((0, data.shape[-1]), "k")
    return compute(
        [*data.shape[:-1], weight.shape[0]],
        lambda *i: scalar.sum(cast(kind, data(*i[:-1], k.var)) * cast(kind, weight(i[-1], k.var)), axis=k),
        "T_matmul_NT",
        "dense",
        varargs_names=[f"ax{d}" for d in range(data.ndim)],
    )


_PACKED = re.compile(r"NC([1-9][0-9]*)n")


def _packed_reference(data: Array, weight: Array, weight_layout: str, units: int | None, out_dtype: str) -> Array:
    if weight_layout == "NC":
        return wide_product("...k,nk->...n", data, weight, out_dtype)
    blocks = wide_product("...k,bkl->...bl", data, weight, out_dtype)
    rows = blocks.reshape(*data.shape[:-1], blocks.shape[-2] * blocks.shape[-1])
    return np.ascontiguousarray(rows[..., :units])


@operator("nn.contrib_dense_pack", Pattern.OUT_FUSABLE, _packed_reference)
def contrib_dense_pack(
    data: Tensor, weight: Tensor, weight_layout: str = "NC", units: int | None = None, out_dtype: str = ""
) -> Tensor:
    """The product of `data` and the transposed weight, as `nn.dense`, with a weight in blocks of rows.

    weight_layout: `NC16n` for blocks of 16 rows, in which the elements of a column are adjacent: the axes of weight are
    block, column, and row in the block; other numbers than 16 likewise; `NC` for the weight of `nn.dense`.  units: the
    number of rows of the weight without those that fill the last block, by default all.  out_dtype: as of `nn.dense`.
    """
    name = "nn.contrib_dense_pack"
    if weight_layout == "NC":
        return dense(data, weight, units, out_dtype)
    match = _PACKED.fullmatch(weight_layout)
    if match is None:
        raise TeError(f"{name}: weight_layout {weight_layout!r}, expected NC, or NC16n or another size of blocks")
    lanes = int(match[1])
    is_packed = weight.ndim == 3 and is_same_extent(weight.shape[2], const(lanes))
    if not data.ndim or not is_packed or not is_same_extent(data.shape[-1], weight.shape[1]):
        shapes = f"data of shape {list(data.shape)} and weight of {list(weight.shape)}"
        raise TeError(f"{name}: {shapes} in the layout {weight_layout}")
    (blocks,) = require_known_extents(weight.shape[:1], name)
    units = blocks * lanes if units is None else units
    if -(-units // lanes) != blocks:
        raise TeError(f"{name}: units {units} with {blocks} blocks of {lanes}")
    kind = accumulator_dtype(out_dtype, data)
    k = reduce_axis((0, data.shape[-1]), "k")
    axes = [f"ax{d}" for d in range(data.ndim - 1)]
    products = compute(
        [*data.shape[:-1], blocks, lanes],
        lambda *i: scalar.sum(cast(kind, data(*i[:-2], k.var)) * cast(kind, weight(i[-2], k.var, i[-1])), axis=k),
        "T_dense_blocks",
        "dense",
        attrs={"schedule_rule": "dense_pack"},
        varargs_names=[*axes, "block", "lane"],
    )
    return compute(
        [*data.shape[:-1], units],
        lambda *i: products(*i[:-1], i[-1] // lanes, i[-1] % lanes),
        "T_dense_pack",
        "injective",
        varargs_names=[*axes, "column"],
    )


def _packed_bytes_reference(data: Array, weight: Array, units: int) -> Array:
    blocks, groups, _ = weight.shape
    each = weight.reshape(blocks, groups, -1, GROUP)
    filled = np.pad(data, [*([(0, 0)] * (data.ndim - 1)), (0, groups * GROUP - data.shape[-1])])
    pairs = filled.reshape(*data.shape[:-1], groups, GROUP)
    sums = wide_product("...gk,bglk->...bl", pairs, each, "int32")
    return np.ascontiguousarray(sums.reshape(*data.shape[:-1], -1)[..., :units])


@operator("nn.contrib_dense_pack_int8", Pattern.OUT_FUSABLE, _packed_bytes_reference)
def contrib_dense_pack_int8(data: Tensor, weight: Tensor, units: int) -> Tensor:
    """The product of uint8 data and the transposed int8 weight, as `nn.dense` with sums of int32, with a weight in
    blocks of 16 rows by 4 columns.

    weight: its axes are block of rows, group of 4 columns, and `4 * row + column` in the block; columns that data lacks
    are not read.  units: the number of rows of the weight without those that fill the last block.
    """
    name = "nn.contrib_dense_pack_int8"
    blocks, groups, size = require_packed_bytes(data, weight, units, 3, name)
    (inner,) = require_known_extents(data.shape[-1:], name)
    if groups != -(-inner // GROUP):
        raise TeError(f"{name}: weight of {groups} groups of columns, expected {-(-inner // GROUP)} for {inner}")
    axes = [f"ax{d}" for d in range(data.ndim - 1)]
    source = pad_with_value(data, {data.ndim - 1: (0, -inner % GROUP)}, const(0, data.dtype))
    group, column = reduce_axis((0, groups), "group"), reduce_axis((0, GROUP), "k")

    def product(*i: PrimExpr) -> PrimExpr:
        *row, block, lane = i
        x = cast("int32", source(*row, group.var * GROUP + column.var))
        return scalar.sum(x * cast("int32", weight(block, group.var, lane * GROUP + column.var)), axis=[group, column])

    sums = compute(
        [*data.shape[:-1], blocks, size // GROUP],
        product,
        "T_dense_blocks",
        "dense",
        attrs={"schedule_rule": "dense_pack_int8"},
        varargs_names=[*axes, "block", "lane"],
    )
    return compute(
        [*data.shape[:-1], units],
        lambda *i: sums(*i[:-1], i[-1] // (size // GROUP), i[-1] % (size // GROUP)),
        "T_dense_pack",
        "injective",
        varargs_names=[*axes, "column"],
    )


def require_bytes(data: Tensor, weight: Tensor, name: str) -> None:
    """TeError for other data types than uint8 of data and int8 of weights."""
    if data.dtype != "uint8" or weight.dtype != "int8":
        raise TeError(f"{name}: data of {data.dtype} and weight of {weight.dtype}, expected uint8 and int8")


def require_packed_bytes(data: Tensor, weight: Tensor, units: int, rank: int, name: str) -> list[int]:
    """The extents of a packed weight of bytes. TeError for operands of other data types, or if the weight has not the
    blocks of a number of rows."""
    require_bytes(data, weight, name)
    if not data.ndim or weight.ndim != rank:
        raise TeError(f"{name}: data of shape {list(data.shape)} and weight of {list(weight.shape)}")
    extents = require_known_extents(weight.shape, name)
    lanes = extents[-1] // GROUP
    if not lanes or extents[-1] % GROUP or -(-units // lanes) != extents[0]:
        blocks = f"blocks of 16 rows by {GROUP} columns"
        raise TeError(f"{name}: weight of shape {extents} for {units} rows, expected {blocks}")
    return extents


def require_pad_value(value: int, name: str) -> None:
    """TeError for a padding of an image that is no number of uint8."""
    if not 0 <= value <= 255:
        raise TeError(f"{name}: pad_value {value}, expected a number of uint8")


def pack_bytes(weight: Array, lanes: int) -> Array:
    """A weight in blocks of `lanes` rows by `GROUP` columns, filled with zeros.

    weight: its axes are row, column, and others, as the taps of a convolution. The axes of the result are block of
    rows, group of columns, the others, and `GROUP * row + column` in the block.
    """
    rows, columns, *others = weight.shape
    filled = np.pad(weight, [(0, -rows % lanes), (0, -columns % GROUP), *[(0, 0)] * len(others)])
    blocks, groups = filled.shape[0] // lanes, filled.shape[1] // GROUP
    apart = np.moveaxis(filled.reshape(blocks, lanes, groups, GROUP, *others), (1, 3), (-2, -1))
    return np.ascontiguousarray(apart).reshape(blocks, groups, *others, lanes * GROUP)


def _matmul_reference(tensor_a: Array, tensor_b: Array, transpose_a: bool, transpose_b: bool, out_dtype: str) -> Array:
    formula = f"{'km' if transpose_a else 'mk'},{'nk' if transpose_b else 'kn'}->mn"
    return wide_product(formula, tensor_a, tensor_b, out_dtype)


@operator("nn.matmul", Pattern.OUT_FUSABLE, _matmul_reference)
def matmul(
    tensor_a: Tensor, tensor_b: Tensor, transpose_a: bool = False, transpose_b: bool = False, out_dtype: str = ""
) -> Tensor:
    """The product of two matrices: `out[m, n] = sum over k of a[m, k] * b[k, n]`.

    transpose_a, transpose_b: whether the operand is given as its transpose.  out_dtype: the data type of the sums and
    of the result, by default the data type of the first operand.
    """
    return _product("nn.matmul", tensor_a, tensor_b, transpose_a, transpose_b, out_dtype, 0)


def _batch_reference(tensor_a: Array, tensor_b: Array, transpose_a: bool, transpose_b: bool, out_dtype: str) -> Array:
    formula = f"b{'km' if transpose_a else 'mk'},b{'nk' if transpose_b else 'kn'}->bmn"
    batch = max(tensor_a.shape[0], tensor_b.shape[0]) if 0 not in (tensor_a.shape[0], tensor_b.shape[0]) else 0
    a, b = (np.broadcast_to(each, (batch, *each.shape[1:])) for each in (tensor_a, tensor_b))
    return wide_product(formula, a, b, out_dtype)


@operator("nn.batch_matmul", Pattern.OUT_FUSABLE, _batch_reference)
def batch_matmul(
    tensor_a: Tensor, tensor_b: Tensor, transpose_a: bool = False, transpose_b: bool = True, out_dtype: str = ""
) -> Tensor:
    """The matrix products of two batches of matrices; a batch extent of 1 broadcasts.

    `out[b, m, n] = sum over k of x[b, m, k] * y[b, n, k]`, where y is given as its transpose unless transpose_b is
    False.  transpose_a: whether x is given as its transpose.  out_dtype: the data type of the sums and of the result,
    by default the data type of the first operand.
    """
    return _product("nn.batch_matmul", tensor_a, tensor_b, transpose_a, transpose_b, out_dtype, 1)


def _product(
    name: str, a: Tensor, b: Tensor, transpose_a: bool, transpose_b: bool, out_dtype: str, batched: int
) -> Tensor:
    """The matrix product over the last two axes, after `batched` batch axes."""
    where = f"{name}: shapes {list(a.shape)} and {list(b.shape)} do not go together"
    if a.ndim != batched + 2 or b.ndim != batched + 2:
        raise TeError(f"{where}, expected {batched + 2} dimensions")
    m, inner = (a.shape[-1], a.shape[-2]) if transpose_a else (a.shape[-2], a.shape[-1])
    other, n = (b.shape[-1], b.shape[-2]) if transpose_b else (b.shape[-2], b.shape[-1])
    ones = [batched and is_same_extent(each.shape[0], const(1)) for each in (a, b)]
    if not is_same_extent(inner, other) or (batched and not any(ones) and not is_same_extent(a.shape[0], b.shape[0])):
        raise TeError(where)
    kind = accumulator_dtype(out_dtype, a)
    k = reduce_axis((0, inner), "k")
    front = [b.shape[0] if ones[0] else a.shape[0]] if batched else []

    def fcompute(*axes: PrimExpr) -> PrimExpr:
        row, column = axes[-2:]
        at = [[const(0) if one else axis for axis in axes[:-2]] for one in ones]
        x = a(*at[0], k.var, row) if transpose_a else a(*at[0], row, k.var)
        y = b(*at[1], column, k.var) if transpose_b else b(*at[1], k.var, column)
        return scalar.sum(cast(kind, x) * cast(kind, y), axis=k)

    names = ["b", "i", "j"][1 - batched :]
    return compute([*front, m, n], fcompute, f"T_{name.rpartition('.')[2]}", "matmul", varargs_names=names)


def _bias_reference(data: Array, bias: Array, axis: int) -> Array:
    shape = [1] * data.ndim
    shape[nonnegative_axis(axis, data.ndim, "nn.bias_add")] = -1
    return data + bias.reshape(shape)


@operator("nn.bias_add", Pattern.BROADCAST, _bias_reference)
def bias_add(data: Tensor, bias: Tensor, axis: int = 1) -> Tensor:
    """Adds `bias` to `data` along `axis`."""
    dimension = nonnegative_axis(axis, data.ndim, "nn.bias_add")
    if bias.ndim != 1 or not is_same_extent(bias.shape[0], data.shape[dimension]) or bias.dtype != data.dtype:
        kinds = " and ".join(f"{list(each.shape)} of {each.dtype}" for each in (data, bias))
        raise TeError(f"nn.bias_add: data and bias of {kinds} along axis {dimension}")
    names = [f"ax{d}" for d in range(data.ndim)]
    return compute(data.shape, lambda *i: data(*i) + bias(i[dimension]), "T_add", "broadcast", varargs_names=names)


# Softmax


def _softmax_reference(data: Array, axis: int) -> Array:
    wide = data.astype("float64")
    powers = np.exp(wide - wide.max(axis, keepdims=True))
    return (powers / powers.sum(axis, keepdims=True)).astype(data.dtype)


@operator("nn.softmax", Pattern.OUT_FUSABLE, _softmax_reference)
def softmax(data: Tensor, axis: int = -1) -> Tensor:
    """The softmax along `axis`: `e ** x / sum of e ** x`, with the maximum along `axis` first subtracted from x."""
    require_floats(data, "nn.softmax")
    dimension = nonnegative_axis(axis, data.ndim, "nn.softmax")
    greatest = reduction.max(data, dimension, True)
    powers = elementwise_tensor(lambda x, most: scalar.exp(x - most), [data, greatest], "T_softmax_exp")
    total = reduction.sum(powers, dimension, True)
    return elementwise_tensor(lambda x, whole: x / whole, [powers, total], "T_softmax_norm")


def _log_softmax_reference(data: Array, axis: int) -> Array:
    wide = data.astype("float64")
    left = wide - wide.max(axis, keepdims=True)
    return (left - np.log(np.exp(left).sum(axis, keepdims=True))).astype(data.dtype)


@operator("nn.log_softmax", Pattern.OUT_FUSABLE, _log_softmax_reference)
def log_softmax(data: Tensor, axis: int = -1) -> Tensor:
    """The logarithm of the softmax along `axis`: `x - log(sum of e ** x)`, with the maximum first subtracted from x."""
    require_floats(data, "nn.log_softmax")
    dimension = nonnegative_axis(axis, data.ndim, "nn.log_softmax")
    greatest = reduction.max(data, dimension, True)
    left = elementwise_tensor(lambda x, most: x - most, [data, greatest], "T_subtract")
    total = reduction.sum(elementwise_tensor(scalar.exp, [left], "T_exp"), dimension, True)
    return elementwise_tensor(lambda x, whole: x - scalar.log(whole), [left, total], "T_log_softmax")

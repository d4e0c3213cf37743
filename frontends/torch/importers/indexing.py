"""Importers of operators that read at computed indices."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import reduce
from typing import Any

import numpy as np

from ...models.data_sizes import call_host
from ...models.indices import check_indices
from ...models.shapes import insert_axes, permute_axes
from ...models.symbols import Symbol
from ...models.values import ModelTensor
from ..call import Call
from ..registry import aten


@aten("embedding.default")
def embedding(call: Call) -> ModelTensor:
    weight, indices = call.tensor("weight"), call.tensor("indices")
    check_indices(call, indices, weight.shape[:1])
    return call.op("take", weight, indices, axis=0)


@aten("index_select.default")
def index_select(call: Call) -> ModelTensor:
    x, index = call.tensor(), call.tensor("index")
    index = insert_axes(call, index, [0]) if not index.rank else index
    if not x.rank:
        return call.builder.reshape(x, [])
    check_indices(call, index, [x.shape[call.axis()]])
    return call.op("take", x, index, axis=call.axis())


@aten("gather.default")
def gather(call: Call) -> ModelTensor:
    x, index = call.tensor(), call.tensor("index")
    if not x.rank or not index.rank:
        flat = x if x.rank else call.builder.reshape(x, [1])
        return call.builder.reshape(call.op("take", flat, index, axis=0), index.extents)
    check_indices(call, index, [x.shape[call.axis()]])
    return call.op("gather", x, index, axis=call.axis())


@aten("index.Tensor", "_unsafe_index.Tensor")
def index_tensor(call: Call) -> ModelTensor:
    """Elements at the positions in index tensors, one for each indexed axis, as `x[i, :, j]` in numpy."""
    x, indices = call.tensor(), Indices(call, call.get("indices"))
    if len(indices.axes) == 1:
        (axis,) = indices.axes
        check_indices(call, indices.tensors[0], [x.shape[axis]])
        return call.op("take", x, indices.tensors[0], axis=axis, mode="wrap")
    front = permute_axes(call, x, indices.order(x.rank))
    taken = call.op("gather_nd", front, indices.stack(call))
    return permute_axes(call, taken, indices.result_order(x.rank))


@aten("nonzero.default")
def nonzero(call: Call) -> ModelTensor:
    """The indices of the elements that are not zero, a row for each."""
    return permute_axes(call, places_of(call, call.tensor()), [1, 0])


def places_of(call: Call, data: ModelTensor) -> ModelTensor:
    """The indices of the elements that are not zero, a column for each, which the host computes."""
    types = [("int64", [data.rank, call.builder.new_size("nonzero")])]
    return call_host(call.builder, "nonzero", [data], types)[0]


@aten("masked_select.default")
def masked_select(call: Call) -> ModelTensor:
    """The elements at which a mask is true, once both are broadcast to one shape."""
    x, mask = call.tensor(), call.tensor("mask")
    rank = max(x.rank, mask.rank)
    padded = [[1] * (rank - each.rank) + list(each.extents) for each in (x, mask)]
    shape = [reduce(_broadcast, extents) for extents in zip(*padded, strict=True)]
    if not rank:
        x, mask, shape = call.builder.reshape(x, [1]), call.builder.reshape(mask, [1]), [1]
    places = places_of(call, call.builder.expand(mask, shape))
    return call.op("gather_nd", call.builder.expand(x, shape), places)


class Indices:
    """The index tensors of an access, and the axes that they index. A mask is as many tensors as it has dimensions: the
    indices of its true elements."""

    def __init__(self, call: Call, indices: Sequence[ModelTensor | None]):
        self.axes: list[int] = []
        self.tensors: list[ModelTensor] = []
        axis = 0
        for given in indices:
            parts: list[ModelTensor | None] = [given]
            if given is not None and given.dtype in ("bool", "uint8"):
                places = places_of(call, given)
                rows = [call.constant(np.asarray(n, "int64")) for n in range(given.rank)]
                parts = [call.op("take", places, row, axis=0) for row in rows]
            for tensor in parts:
                if tensor is not None:
                    self.axes.append(axis)
                    self.tensors.append(call.cast(tensor, "int64"))
                axis += 1

    @property
    def rank(self) -> int:
        """The rank of the index tensors, which broadcast."""
        return max(tensor.rank for tensor in self.tensors)

    def order(self, rank: int) -> list[int]:
        """The order of the axes of a tensor, with the indexed axes first."""
        return [*self.axes, *(axis for axis in range(rank) if axis not in self.axes)]

    def result_order(self, rank: int) -> list[int]:
        """The order of the axes of a result whose index axes are first: they replace adjacent indexed axes, and stay
        first otherwise."""
        total = self.rank + rank - len(self.axes)
        first, count = self.axes[0], len(self.axes)
        if self.axes != list(range(first, first + count)):
            return list(range(total))
        rest = list(range(self.rank, total))
        return [*rest[:first], *range(self.rank), *rest[first:]]

    def stack(self, call: Call) -> ModelTensor:
        """The indices with a new first axis that selects the indexed axis."""
        return call.op("stack", *(call.builder.expand(tensor, self.shape) for tensor in self.tensors), axis=0)

    @property
    def shape(self) -> list[Any]:
        """The common shape of the index tensors, integers and symbols."""
        padded = [[1] * (self.rank - tensor.rank) + list(tensor.extents) for tensor in self.tensors]
        return [reduce(_broadcast, extents) for extents in zip(*padded, strict=True)]


def _broadcast(a: Any, b: Any) -> Any:
    return b if not isinstance(a, Symbol) and a == 1 else a


@aten("col2im.default")
def col2im(call: Call) -> ModelTensor:
    """Sums overlapping blocks into an image, by a transposed convolution whose weights are 1 at one position each."""
    x, size, block = call.tensor(), call.integers("output_size"), call.integers("kernel_size")
    stride, padding, dilation = (call.window(name, 2) for name in ("stride", "padding", "dilation"))
    batch = [] if x.rank == 2 else [x.extents[0]]
    rows = call.static_extent(x, x.rank - 2)
    taps = math.prod(block)
    spans = [(k - 1) * d + 1 for k, d in zip(block, dilation, strict=True)]
    counts = [(n + 2 * p - span) // s + 1 for n, p, span, s in zip(size, padding, spans, stride, strict=True)]
    left = [
        n + 2 * p - (c - 1) * s - span for n, p, c, s, span in zip(size, padding, counts, stride, spans, strict=True)
    ]
    channels = rows // taps
    data = call.builder.reshape(x, [math.prod(batch) * channels, taps, *counts])
    weight = call.constant(np.eye(taps, dtype=x.dtype).reshape(taps, 1, *block))
    options: dict[str, Any] = {"strides": stride, "padding": padding * 2, "dilation": dilation}
    image = call.op("nn.conv2d_transpose", data, weight, output_padding=left, **options)
    return call.builder.reshape(image, [*batch, channels, *size])

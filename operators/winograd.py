"""Convolutions of images with windows of 3 by 3 by Winograd's algorithm: products of transformed tiles.

The algorithm is that of A. Lavin and S. Gray, Fast Algorithms for Convolutional Neural Networks, CVPR 2016.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, reduce
from itertools import product
from typing import Any

import numpy as np

from ..expressions import functions as scalar
from ..expressions.axes import reduce_axis
from ..expressions.errors import TeError
from ..expressions.expr import PrimExpr, const
from ..expressions.tensor import Tensor, compute
from .definition import Pattern, operator
from .extents import are_known, known_extent
from .layouts import channels_of, has_blocks, transform_array
from .windows import Window, paddings, require_known_extents

_STAYS = {"meta_schedule.inline_rule": "disable"}
"""The annotation of tensors that are copied between layouts, in squares of elements."""

Array = Any
Indices = Sequence[PrimExpr]
Matrix = tuple[tuple[Fraction, ...], ...]

TAPS = 3
"""The taps of a window along each dimension."""
LANES = 16
"""The rows or output channels of a block of packed or transformed weights: the floats of the widest vectors."""
GROUP = 8
"""The rows and columns of elements of a group of tiles in images of unknown size."""
_CACHED = 8192
"""The number of weights that are transformed at a time, with sums in a near cache."""
POINTS = {2: (Fraction(0), Fraction(1), Fraction(-1)), 4: tuple(Fraction(n, 4) for n in (0, 3, -3, 6, -6))}
"""The points of interpolation for each tile size. The factors of images and results are exact in binary. Errors of
tiles of 4 are a quarter of those with the points 1, -1, 2, -2 in place of 3/4, -3/4, 3/2, -3/2."""


@dataclass(frozen=True)
class Transforms:
    """The matrices of the algorithm for tiles of results, along one dimension.

    data: from the elements of a tile of the image, with a border, to values at the points.  weight: from the taps of a
    window to values at the points.  result: from products at the points to a tile of the result.
    """

    data: Matrix
    weight: Matrix
    result: Matrix


@cache
def transforms(tile: int) -> Transforms:
    """The matrices for tiles of a size and windows of `TAPS`."""
    return transforms_at(POINTS[tile], tile, TAPS)


def transforms_at(points: Sequence[Fraction], tile: int, taps: int) -> Transforms:
    """The matrices for tiles of a size, by the algorithm of Toom and Cook: the polynomials of a window and of a tile
    are multiplied by their values at points, the last of which is infinity.

    points: `tile + taps - 2` distinct numbers.  taps: of a window.
    """
    whole = _with_roots(points)
    data = [[*_with_roots([p for p in points if p != point]), Fraction(0)] for point in points]
    weight = [[point**n / _at_others(point, points) for n in range(taps)] for point in points]
    result = [[*(point**n for point in points), Fraction(n == tile - 1)] for n in range(tile)]
    infinity = [Fraction(n == taps - 1) for n in range(taps)]
    return Transforms(_matrix([*data, whole]), _matrix([*weight, infinity]), _matrix(result))


def _matrix(rows: Sequence[Sequence[Fraction]]) -> Matrix:
    return tuple(map(tuple, rows))


def _with_roots(roots: Sequence[Fraction]) -> list[Fraction]:
    """The coefficients of the monic polynomial with some roots, of the lowest degree first."""
    result = [Fraction(1)]
    for root in roots:
        result = [a - root * b for a, b in zip([Fraction(0), *result], [*result, Fraction(0)], strict=True)]
    return result


def _at_others(point: Fraction, points: Sequence[Fraction]) -> Fraction:
    """The value at a point of the polynomial whose roots are the other points."""
    return reduce(lambda value, other: value * (point - other), (p for p in points if p != point), Fraction(1))


def _array(matrix: Matrix) -> Array:
    return np.array([[float(each) for each in row] for row in matrix])


# Weights


def _weight_reference(weight: Array, tile_size: int) -> Array:
    matrix = _array(transforms(tile_size).weight)
    channels, inputs = weight.shape[:2]
    blocks = -(-channels // LANES)
    padded = np.pad(weight, [(0, blocks * LANES - channels), (0, 0), (0, 0), (0, 0)]) if channels % LANES else weight
    packed = np.ascontiguousarray(padded.reshape(blocks, LANES, inputs, TAPS * TAPS).transpose(3, 0, 2, 1))
    values = np.empty((len(matrix), len(matrix), *packed.shape[1:]), weight.dtype)
    points, taps = values.reshape(len(matrix) ** 2, -1), packed.reshape(TAPS * TAPS, -1)
    products = np.kron(matrix, matrix)
    for start in range(0, taps.shape[1], _CACHED):
        part = slice(start, start + _CACHED)
        _transform_weights(points[:, part], taps[:, part].astype("float64"), products)
    return values


def _transform_weights(points: Array, taps: Array, matrix: Array) -> None:
    """Writes the products of a matrix with some taps to the values at points. Factors of zero are left out."""
    total, product = np.empty_like(taps[0]), np.empty_like(taps[0])
    for point, factors in zip(points, matrix, strict=True):
        first, *others = np.flatnonzero(factors)
        np.multiply(taps[first], factors[first], out=total)
        for tap in others:
            np.multiply(taps[tap], factors[tap], out=product)
            np.add(total, product, out=total)
        point[...] = total


@operator("nn.conv2d_winograd_weight_transform", Pattern.OPAQUE, _weight_reference)
def conv2d_winograd_weight_transform(weight: Tensor, tile_size: int = 4) -> Tensor:
    """The weights of a convolution of 3 by 3, in the form of `nn.conv2d_winograd`.

    tile_size: the size of the tiles of results, 2 or 4. The weight has the layout OIHW. The result has the axes y and x
    of the points of a tile, block of 16 output channels, input channel, and output channel in the block; output
    channels are padded with zeros.
    """
    name = "nn.conv2d_winograd_weight_transform"
    _require_tile(name, tile_size)
    _require_dtype(name, weight)
    if weight.ndim != 4 or [known_extent(extent) for extent in weight.shape[2:]] != [TAPS, TAPS]:
        raise TeError(f"{name}: weight of shape {list(weight.shape)}, expected windows of {TAPS} by {TAPS}")
    outputs, inputs = require_known_extents(weight.shape[:2], name)
    matrix = transforms(tile_size).weight

    blocks = -(-outputs // LANES)

    def tap(block: PrimExpr, c: PrimExpr, y: PrimExpr, x: PrimExpr, lane: PrimExpr) -> PrimExpr:
        o = block * LANES + lane
        element = weight(o, c, y, x)
        return element if outputs % LANES == 0 else scalar.if_then_else(o < outputs, element, const(0, weight.dtype))

    names = ["block", "c", "y", "x", "lane"]
    shape = (blocks, inputs, TAPS, TAPS, LANES)
    taps = compute(shape, tap, "winograd_taps", attrs=_STAYS, varargs_names=names)
    rows = compute(
        (len(matrix), blocks, inputs, TAPS, LANES),
        lambda i, block, c, x, lane: row_product(matrix, i, lambda y: taps(block, c, y, x, lane)),
        "winograd_weight_rows",
        varargs_names=["i", "block", "c", "x", "lane"],
    )
    return compute(
        (len(matrix), len(matrix), blocks, inputs, LANES),
        lambda i, j, block, c, lane: row_product(matrix, j, lambda x: rows(i, block, c, x, lane)),
        "winograd_weight",
        varargs_names=["i", "j", "block", "c", "lane"],
    )


def _require_dtype(name: str, data: Tensor) -> None:
    if data.dtype not in ("float32", "float64"):
        raise TeError(f"{name} of {data.dtype}, expected float32 or float64")


def _require_tile(name: str, tile_size: int) -> None:
    if tile_size not in POINTS:
        raise TeError(f"{name}: tile_size {tile_size}, expected {' or '.join(map(str, POINTS))}")


def row_product(matrix: Matrix, row: PrimExpr, element: Callable[[int], PrimExpr]) -> PrimExpr:
    """The product of a row of a matrix and a vector of elements. The row is a loop variable that a schedule unrolls."""
    element = cache(element)
    *first, result = [_combination(factors, element) for factors in matrix]
    for n, value in reversed(list(enumerate(first))):
        result = scalar.if_then_else(row.equal(n), value, result)
    return result


def _combination(factors: Sequence[Fraction], element: Callable[[int], PrimExpr]) -> PrimExpr:
    """The sum of the elements times factors, without the terms of factors of 0."""
    terms = [(factor, element(n)) for n, factor in enumerate(factors) if factor]
    first, *rest = sorted(terms, key=lambda term: term[0] < 0)
    result = _scaled(*first)
    for factor, x in rest:
        result = result - _scaled(-factor, x) if factor < 0 else result + _scaled(factor, x)
    return result


def _scaled(factor: Fraction, x: PrimExpr) -> PrimExpr:
    return x if factor == 1 else x * const(float(factor), x.dtype)


# Convolutions


def _convolution_reference(
    data: Array, weight: Array, channels: int, tile_size: int, padding: Window, data_layout: str, out_layout: str
) -> Array:
    result = _plain_reference(transform_array(data, data_layout, "NCHW"), weight, channels, tile_size, padding)
    return transform_array(result, "NCHW", out_layout or data_layout)


def _plain_reference(data: Array, weight: Array, channels: int, tile_size: int, padding: Window) -> Array:
    (top, bottom), (left, right) = paddings(padding, 2, "nn.conv2d_winograd")
    ours = transforms(tile_size)
    before, after = _array(ours.data), _array(ours.result)
    height, width = data.shape[2] + top + bottom - TAPS + 1, data.shape[3] + left + right - TAPS + 1
    rows, columns = -(-height // tile_size), -(-width // tile_size)
    image = np.zeros((*data.shape[:2], rows * tile_size + TAPS - 1, columns * tile_size + TAPS - 1))
    image[:, :, top : top + data.shape[2], left : left + data.shape[3]] = data
    result = np.zeros((data.shape[0], channels, rows * tile_size, columns * tile_size))
    by_channel = np.moveaxis(weight.astype("float64"), 2, 3)
    factors = by_channel.reshape(*by_channel.shape[:3], -1)[..., :channels]
    for y, x in product(range(0, rows * tile_size, tile_size), range(0, columns * tile_size, tile_size)):
        tile = image[:, :, y : y + len(before), x : x + len(before)]
        values = np.einsum("ia,jb,ncab->ijnc", before, before, tile)
        sums = np.einsum("ijnc,ijck->ijnk", values, factors)
        result[:, :, y : y + tile_size, x : x + tile_size] = np.einsum("ui,vj,ijnk->nkuv", after, after, sums)
    return np.ascontiguousarray(result[:, :, :height, :width]).astype(data.dtype)


@operator("nn.conv2d_winograd", Pattern.OUT_FUSABLE, _convolution_reference)
def conv2d_winograd(
    data: Tensor,
    weight: Tensor,
    channels: int,
    tile_size: int = 4,
    padding: Window = 0,
    data_layout: str = "NCHW",
    out_layout: str = "",
) -> Tensor:
    """The convolution of an image with windows of 3 by 3 in steps of 1, by Winograd's algorithm.

    channels: the number of output channels.  tile_size: the size of the tiles of results, 2 or 4.  padding: the zeros
    around the image, as of `nn.conv2d`.  data_layout, out_layout: NCHW, or NCHW16c for channels in blocks of 16;
    out_layout is data_layout by default. The weight is a result of `nn.conv2d_winograd_weight_transform` for the same
    tile_size. A tile of 4 needs 1/4 of the multiplications of a direct convolution, a tile of 2 needs 4/9; results
    round differently.
    """
    name = "nn.conv2d_winograd"
    _require_tile(name, tile_size)
    _require_dtype(name, data)
    around = paddings(padding, 2, name)
    inputs = channels_of(name, data, data_layout, "NCHW", LANES)
    _require_weight(name, data, weight, inputs, channels, tile_size)
    batch, _, height, width, *_ = data.shape
    counts = [height + sum(around[0]) - (TAPS - 1), width + sum(around[1]) - (TAPS - 1)]
    if any((known := known_extent(count)) is not None and known < 1 for count in counts):
        raise TeError(f"{name}: a window of {TAPS} by {TAPS} is larger than the image {list(data.shape)}")
    writes_blocks = has_blocks(name, out_layout or data_layout, "NCHW", LANES)
    if writes_blocks and channels % LANES:
        raise TeError(f"{name}: {channels} output channels, expected whole blocks of {LANES}")
    return _Tiles(tile_size, batch, inputs, counts, around).convolution(data, weight, channels, writes_blocks)


# Weights without blocks


def _plain_weight_reference(weight: Array, tile_size: int) -> Array:
    matrix = _array(transforms(tile_size).weight)
    return np.einsum("iy,jx,ocyx->ijoc", matrix, matrix, weight.astype("float64")).astype(weight.dtype)


@operator("nn.contrib_conv2d_winograd_weight_transform", Pattern.OUT_FUSABLE, _plain_weight_reference)
def contrib_conv2d_winograd_weight_transform(weight: Tensor, tile_size: int) -> Tensor:
    """The weights of a convolution of 3 by 3, in the form of `nn.contrib_conv2d_winograd_without_weight_transform`.

    tile_size: the size of the tiles of results, 2 or 4. The weight has the layout OIHW. The result has the axes y and x
    of the points of a tile, output channel and input channel.
    """
    blocks = conv2d_winograd_weight_transform(weight, tile_size)
    points = len(transforms(tile_size).weight)
    return compute(
        (points, points, *weight.shape[:2]),
        lambda i, j, o, c: blocks(i, j, o // LANES, c, o % LANES),
        "winograd_plain_weight",
        "injective",
        varargs_names=["i", "j", "o", "c"],
    )


def _contrib_reference(data: Array, weight: Array, tile_size: int, padding: Window, **_: Any) -> Array:
    channels = weight.shape[2]
    blocks = -(-channels // LANES)
    padded = np.pad(weight, [(0, 0), (0, 0), (0, blocks * LANES - channels), (0, 0)])
    packed = padded.reshape(*weight.shape[:2], blocks, LANES, -1).swapaxes(3, 4)
    return _plain_reference(data, packed, channels, tile_size, padding)


@operator("nn.contrib_conv2d_winograd_without_weight_transform", Pattern.OUT_FUSABLE, _contrib_reference)
def contrib_conv2d_winograd_without_weight_transform(
    data: Tensor,
    weight: Tensor,
    tile_size: int,
    strides: Window = 1,
    padding: Window = 0,
    dilation: Window = 1,
    groups: int = 1,
    channels: int | None = None,
    kernel_size: Window | None = None,
    data_layout: str = "NCHW",
    kernel_layout: str = "OIHW",
    out_layout: str = "",
    out_dtype: str = "",
) -> Tensor:
    """The convolution of an image with windows of 3 by 3 in steps of 1, by Winograd's algorithm.

    The weight is a result of `nn.contrib_conv2d_winograd_weight_transform` for the same tile_size, 2 or 4.  padding:
    the zeros around the image, as of `nn.conv2d`.  channels, kernel_size, data_layout, kernel_layout, out_layout,
    out_dtype: those of the operands or the default.  strides, dilation, groups: 1.
    """
    name = "nn.contrib_conv2d_winograd_without_weight_transform"
    _require_tile(name, tile_size)
    if weight.ndim != 4:
        raise TeError(f"{name}: weight of {weight.ndim} dimensions, expected 4")
    outputs, inputs = require_known_extents(weight.shape[2:], name)
    expected: dict[str, tuple[Any, Sequence[Any]]] = {
        "strides": (strides, (1, [1, 1])),
        "dilation": (dilation, (1, [1, 1])),
        "groups": (groups, (1,)),
        "channels": (channels, (None, outputs)),
        "kernel_size": (kernel_size, (None, TAPS, [TAPS, TAPS])),
        "data_layout": (data_layout, ("NCHW",)),
        "kernel_layout": (kernel_layout, ("OIHW",)),
        "out_layout": (out_layout, ("", "NCHW")),
        "out_dtype": (out_dtype, ("", data.dtype)),
    }
    for attribute, (value, values) in expected.items():
        if (list(value) if isinstance(value, list | tuple) else value) not in values:
            raise TeError(f"{name}: {attribute} {value!r}, expected {' or '.join(map(repr, values))}")
    blocks = -(-outputs // LANES)

    def element(i: PrimExpr, j: PrimExpr, block: PrimExpr, c: PrimExpr, lane: PrimExpr) -> PrimExpr:
        o = block * LANES + lane
        at = weight(i, j, o, c)
        return at if outputs % LANES == 0 else scalar.if_then_else(o < outputs, at, const(0, weight.dtype))

    packed = compute(
        (*weight.shape[:2], blocks, inputs, LANES),
        element,
        "winograd_packed_weight",
        attrs=_STAYS,
        varargs_names=["i", "j", "block", "c", "lane"],
    )
    return conv2d_winograd(data, packed, channels=outputs, tile_size=tile_size, padding=padding)


def _require_weight(name: str, data: Tensor, weight: Tensor, inputs: Any, channels: int, tile_size: int) -> None:
    if weight.ndim != 5:
        raise TeError(f"{name}: weight of {weight.ndim} dimensions, expected 5")
    points = tile_size + TAPS - 1
    expected = [points, points, -(-channels // LANES), known_extent(inputs), LANES]
    if require_known_extents(weight.shape, name) != expected or weight.dtype != data.dtype:
        given = f"weight of shape {list(weight.shape)} of {weight.dtype}"
        raise TeError(f"{name}: {given}, expected {expected} of {data.dtype}")


@dataclass(frozen=True)
class _Tiles:
    """The tiles of a convolution. counts: the extents of the result.  around: the padding of the image.

    The tiles of all images have one axis if the numbers of rows and columns of an image are known, so that tiles of
    sums go on in the next row; else they have the axes n of images, row and column, in groups of `GROUP` by
    `GROUP` elements.
    """

    size: int
    batch: Any
    inputs: Any
    counts: Sequence[Any]
    around: Sequence[tuple[int, int]]

    @property
    def are_flat(self) -> bool:
        """Whether the tiles have one axis."""
        return are_known(self.counts)

    @property
    def grid(self) -> list[Any]:
        """The numbers of tiles along y and x. In images of unknown size they are multiples of those of a group, so that
        no step but the last one has conditions."""
        unit = self.size if self.are_flat else GROUP
        return [(count + unit - 1) // unit * (unit // self.size) for count in self.counts]

    @property
    def padded_columns(self) -> Any:
        """The columns of an image with zeros around it, with room for vectors of columns."""
        return (self.grid[1] * self.size + TAPS - 1 + LANES - 1) // LANES * LANES

    @property
    def extents_of_rows(self) -> list[Any]:
        """The extents of the axes over rows of tiles."""
        rows = self.grid[0]
        return [self.batch * rows] if self.are_flat else [self.batch, rows]

    @property
    def extents(self) -> list[Any]:
        """The extents of the axes over tiles."""
        rows, columns = self.grid
        return [self.batch * rows * columns] if self.are_flat else [self.batch, rows, columns]

    @property
    def names(self) -> list[str]:
        """The names of the axes over tiles."""
        return ["tile"] if self.are_flat else ["n", "row", "column"]

    def image_and_row(self, row: Indices) -> Indices:
        """The image of a row of tiles, and its index in the image."""
        return row if len(row) > 1 else (row[0] // self.grid[0], row[0] % self.grid[0])

    def row_and_column(self, tile: Indices) -> tuple[Indices, PrimExpr]:
        """The indices of the row of tiles of a tile, and its index in the row."""
        *row, last = tile
        return (row, last) if row else ([last // self.grid[1]], last % self.grid[1])

    def tile_at(self, n: PrimExpr, row: PrimExpr, column: PrimExpr) -> Indices:
        """The indices of the tile of an image at a row and a column of tiles."""
        rows, columns = self.grid
        return [(n * rows + row) * columns + column] if self.are_flat else [n, row, column]

    def convolution(self, data: Tensor, weight: Tensor, channels: int, writes_blocks: bool) -> Tensor:
        values = self.values(self.image_of_blocks(data) if data.ndim > 4 else self.image(data))
        points, blocks = len(transforms(self.size).data), weight.shape[2]
        c = reduce_axis((0, self.inputs), "rc")

        def summed(i: PrimExpr, j: PrimExpr, *rest: PrimExpr) -> PrimExpr:
            *tile, block, lane = rest
            return scalar.sum(values(i, j, *tile, c.var) * weight(i, j, block, c.var, lane), axis=c)

        sums = compute(
            (points, points, *self.extents, blocks, LANES),
            summed,
            "winograd_sums",
            attrs={"schedule_rule": "conv2d_winograd"},
            varargs_names=[*self.names, "block", "lane"],
        )
        results = self.results(sums, blocks)
        return self.result_in_blocks(results, blocks) if writes_blocks else self.result(results, channels)

    def image_of_blocks(self, data: Tensor) -> Tensor:
        """As `image`, from an image whose channels are in blocks."""
        (top, _), (left, _) = self.around
        height, width = data.shape[2:4]

        def element(n: PrimExpr, y: PrimExpr, x: PrimExpr, c: PrimExpr) -> PrimExpr:
            inside = scalar.all(y >= top, y < height + top, x >= left, x < width + left)
            at = data(n, c // LANES, y - top, x - left, c % LANES)
            return scalar.if_then_else(inside, at, const(0, data.dtype))

        rows, columns = (count * self.size + TAPS - 1 for count in self.grid)
        shape = (self.batch, rows, columns, self.inputs)
        return compute(shape, element, "winograd_image", attrs=_STAYS, varargs_names=["n", "y", "x", "c"])

    def image(self, data: Tensor) -> Tensor:
        """The image with channels last, and with zeros around it that complete all tiles."""
        (top, _), (left, _) = self.around
        height, width = data.shape[2:]

        def element(n: PrimExpr, c: PrimExpr, y: PrimExpr, x: PrimExpr) -> PrimExpr:
            inside = scalar.all(y >= top, y < height + top, x >= left, x < width + left)
            return scalar.if_then_else(inside, data(n, c, y - top, x - left), const(0, data.dtype))

        rows, columns = (count * self.size + TAPS - 1 for count in self.grid)
        names = ["n", "c", "y", "x"]
        shape = (self.batch, self.inputs, rows, self.padded_columns)
        padded = compute(shape, element, "winograd_padded", attrs=_STAYS, varargs_names=names)
        return compute(
            (self.batch, rows, columns if self.are_flat else self.padded_columns, self.inputs),
            lambda n, y, x, c: padded(n, c, y, x),
            "winograd_image",
            attrs=_STAYS,
            varargs_names=["n", "y", "x", "c"],
        )

    def values(self, image: Tensor) -> Tensor:
        """The values of the tiles at the points."""
        matrix = transforms(self.size).data

        def element_of_row(*place: PrimExpr) -> PrimExpr:
            *row, i, x, c = place
            n, row_of_image = self.image_and_row(row)
            return row_product(matrix, i, lambda y: image(n, row_of_image * self.size + y, x, c))

        by_rows = compute(
            (*self.extents_of_rows, len(matrix), self.grid[1] * self.size + TAPS - 1, self.inputs),
            element_of_row,
            "winograd_rows",
            varargs_names=[*(["row"] if self.are_flat else ["n", "row"]), "i", "x", "c"],
        )

        def element(i: PrimExpr, j: PrimExpr, *place: PrimExpr) -> PrimExpr:
            *tile, c = place
            row, column = self.row_and_column(tile)
            return row_product(matrix, j, lambda x: by_rows(*row, i, column * self.size + x, c))

        shape = (len(matrix), len(matrix), *self.extents, self.inputs)
        return compute(shape, element, "winograd_values", varargs_names=[*self.names, "c"])

    def results(self, sums: Tensor, blocks: Any) -> Tensor:
        """The elements of the result in tiles, output channels last."""
        matrix = transforms(self.size).result
        points = len(matrix[0])
        by_rows = compute(
            (self.size, points, *self.extents, blocks, LANES),
            lambda u, j, *place: row_product(matrix, u, lambda i: sums(i, j, *place)),
            "winograd_result_rows",
            varargs_names=[*self.names, "block", "lane"],
        )

        def element(*place: PrimExpr) -> PrimExpr:
            *tile, u, v, block, lane = place
            return row_product(matrix, v, lambda j: by_rows(u, j, *tile, block, lane))

        return compute(
            (*self.extents, self.size, self.size, blocks, LANES),
            element,
            "winograd_results",
            attrs=_STAYS,
            varargs_names=[*self.names, "u", "v", "block", "lane"],
        )

    def result(self, tiles: Tensor, channels: int) -> Tensor:
        def element(n: PrimExpr, k: PrimExpr, y: PrimExpr, x: PrimExpr) -> PrimExpr:
            tile = self.tile_at(n, y // self.size, x // self.size)
            return tiles(*tile, y % self.size, x % self.size, k // LANES, k % LANES)

        shape = (self.batch, channels, *self.counts)
        return compute(shape, element, "conv2d_winograd", "conv2d_winograd", varargs_names=["nn", "ff", "yy", "xx"])

    def result_in_blocks(self, tiles: Tensor, blocks: Any) -> Tensor:
        """The result with its channels in blocks."""

        def element(n: PrimExpr, block: PrimExpr, y: PrimExpr, x: PrimExpr, lane: PrimExpr) -> PrimExpr:
            tile = self.tile_at(n, y // self.size, x // self.size)
            return tiles(*tile, y % self.size, x % self.size, block, lane)

        shape = (self.batch, blocks, *self.counts, LANES)
        return compute(shape, element, "conv2d_winograd", "conv2d_winograd")

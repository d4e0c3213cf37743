"""Convolutions whose weights are in blocks of output channels, in the order in which processors read them."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from math import prod
from typing import Any

import numpy as np

from ..core.byte_products import GROUP
from ..expressions import functions as scalar
from ..expressions.axes import reduce_axis
from ..expressions.errors import TeError
from ..expressions.expr import PrimExpr, cast, const
from ..expressions.tensor import Tensor, compute
from .convolutions import (
    Along,
    Convolution,
    Groups,
    at_taps,
    padded_image,
    require_windows,
    tap_axes,
    window_counts,
    windows_of,
)
from .definition import Pattern
from .extents import Extent, are_known, known_extent
from .layouts import channels_of, has_blocks, transform_array
from .nn import require_bytes, require_packed_bytes, require_pad_value
from .ranks import ImageOperator, for_rank
from .windows import Window, each_dimension, paddings, require_known_extents

Array = Any


@dataclass(frozen=True)
class _WithBlocks(ImageOperator):
    """The attributes of convolutions with weights in blocks of output channels, and what follows the sums."""

    channels: int
    strides: Window = 1
    padding: Window = 0
    dilation: Window = 1
    weight_layout: str = "OI{image}16o"

    @property
    def lanes(self) -> int:
        """The output channels of a block. TeError for another layout."""
        match = re.fullmatch(rf"OI{self.image}([1-9][0-9]*)o", self.weight_layout)
        if match is None:
            layouts = f"OI{self.image}16o or another size of blocks"
            raise TeError(f"{self.name}: weight_layout {self.weight_layout!r}, expected {layouts}")
        return int(match[1])

    def extents(self, weight: Tensor, inputs: int) -> tuple[int, list[int]]:
        """The numbers of blocks, and of taps along each dimension. inputs: the input channels of each output channel.
        TeError for a weight that they and the attributes do not fit."""
        if weight.ndim != self.rank + 3:
            raise TeError(f"{self.name}: weight of {weight.ndim} dimensions, expected {self.rank + 3}")
        blocks, inner, *sizes, lanes = require_known_extents(weight.shape, self.name)
        if (blocks, inner, lanes) != (-(-self.channels // self.lanes), inputs, self.lanes):
            given = f"weight of shape {list(weight.shape)} in the layout {self.weight_layout}"
            raise TeError(
                f"{self.name}: {given}, for {inputs} input channels of each of {self.channels} output channels"
            )
        return blocks, sizes

    def plain_reference(self, data: Array, weight: Array, groups: int) -> Array:
        """The reference result, by the convolution with weights without blocks."""
        rows = np.moveaxis(weight, -1, 1).reshape(-1, *weight.shape[1:-1])[: self.channels]
        return _plain(self, self.padding, groups).reference(data, rows)


@dataclass(frozen=True)
class _WithBlocksOfImages(_WithBlocks):
    """The layouts of images, whose channels may be in blocks as those of the weights."""

    data_layout: str = field(default="NC{image}", kw_only=True)
    out_layout: str = field(default="", kw_only=True)

    def has_blocks(self, layout: str) -> bool:
        """Whether images of a layout have their channels in blocks. TeError for another layout."""
        return has_blocks(self.name, layout, f"NC{self.image}", self.lanes)

    @property
    def reads_blocks(self) -> bool:
        return self.has_blocks(self.data_layout)

    @property
    def writes_blocks(self) -> bool:
        """Whether the result has its channels in blocks. TeError if there are other channels than those of blocks."""
        writes = self.has_blocks(self.out_layout or self.data_layout)
        if writes and self.channels % self.lanes:
            raise TeError(f"{self.name}: {self.channels} output channels, expected whole blocks of {self.lanes}")
        return writes

    def inputs_of(self, data: Tensor) -> int:
        """The number of input channels. TeError for an image that its layout does not fit."""
        channels = channels_of(self.name, data, self.data_layout, f"NC{self.image}", self.lanes)
        return require_known_extents([channels], self.name)[0]

    def layouts_reference(self, data: Array, weight: Array, groups: int) -> Array:
        """The reference result, by the convolution in layouts without blocks."""
        plain = f"NC{self.image}"
        result = self.plain_reference(transform_array(data, self.data_layout, plain), weight, groups)
        return transform_array(result, plain, self.out_layout or self.data_layout)


@dataclass(frozen=True)
class _PackedConvolution(_WithBlocksOfImages):
    """The convolution of an image, as `nn.conv{rank}d`, with weights in blocks of output channels.

    channels: the number of output channels, without those that fill the last block.  strides, padding, dilation: as of
    `nn.conv{rank}d`.  weight_layout: `OIHW16o` for blocks of 16 output channels: the axes of weight are block, input
    channel, taps, and output channel in the block; other numbers than 16 likewise.  groups: the number of groups of
    input channels, each with its own blocks of output channels.  data_layout, out_layout: NCHW, or NCHW16c for channels
    in blocks of the size of those of the weights; out_layout is data_layout by default.
    """

    groups: int = 1

    def formula(self, data: Tensor, weight: Tensor) -> Tensor:
        inputs = self.inputs_of(data)
        if self.groups < 1 or inputs % self.groups:
            raise TeError(f"{self.name}: {inputs} channels do not go together in {self.groups} groups")
        blocks, sizes = self.extents(weight, inputs // self.groups)
        if self.groups > 1 and self.channels % (self.groups * self.lanes):
            given = f"{self.channels} output channels in {self.groups} groups"
            raise TeError(f"{self.name}: {given}, expected whole blocks of {self.lanes} channels in each group")
        windows = windows_of(self, self.padding, sizes)
        source, counts = padded_image(self.name, data, range(2, self.rank + 2), windows)
        product = self._products(
            source, weight, windows, Groups(self.groups, inputs // self.groups, blocks // self.groups)
        )
        image = list(self.image.lower())
        if self.writes_blocks:
            return compute(
                [data.shape[0], blocks, *counts, self.lanes],
                lambda *at: product(at[0], at[1], at[2:-1], at[-1]),
                "conv_pack",
                "conv_pack",
                varargs_names=["n", "block", *image, "lane"],
            )
        sums = compute(
            [data.shape[0], *counts, blocks, self.lanes],
            lambda *at: product(at[0], at[-2], at[1:-2], at[-1]),
            "conv_blocks",
            attrs={"schedule_rule": "conv_pack", "groups": self.groups},
            varargs_names=["n", *image, "block", "lane"],
        )
        return compute(
            [data.shape[0], self.channels, *counts],
            lambda n, k, *at: sums(n, *at, k // self.lanes, k % self.lanes),
            "conv_pack",
            "conv_pack",
            varargs_names=[2 * letter for letter in image],
        )

    def _products(
        self, source: Tensor, weight: Tensor, windows: Sequence[Along], groups: Groups
    ) -> Callable[[PrimExpr, PrimExpr, Sequence[PrimExpr], PrimExpr], PrimExpr]:
        """The function from image, block of output channels, position and channel in the block to a sum of products.

        source: the padded data.
        """
        taps, size = tap_axes(self, [along.size for along in windows]), self.lanes if self.reads_blocks else 1
        if groups.inner % size and groups.number > 1:
            given = f"{groups.inner} input channels of each group"
            raise TeError(f"{self.name}: {given}, expected whole blocks of {size} as data_layout says")
        outer = Groups(groups.number, groups.inner // size, groups.outer)
        channel = reduce_axis((0, outer.inner), "rc")
        inside = [reduce_axis((0, size), "rb")] if self.reads_blocks else []

        def product(batch: PrimExpr, block: PrimExpr, positions: Sequence[PrimExpr], lane: PrimExpr) -> PrimExpr:
            at, number = at_taps(positions, windows, taps), outer.channel(block, channel.var)
            x = source(batch, number, *at, *(axis.var for axis in inside))
            row = channel.var * size + inside[0].var if inside else channel.var
            w = weight(block, row, *(tap.var for tap in taps), lane)
            return scalar.sum(x * w, axis=[channel, *inside, *taps])

        return product

    def reference(self, data: Array, weight: Array) -> Array:
        return self.layouts_reference(data, weight, self.groups)


contrib_conv2d_pack = for_rank(2, "nn.contrib_conv2d_pack", Pattern.OUT_FUSABLE, _PackedConvolution)


@dataclass(frozen=True)
class _PackedDepthwiseConvolution(_WithBlocksOfImages):
    """The convolution of each channel of an image with a window of its own, with weights in blocks of channels.

    It is that of `nn.conv{rank}d` with as many groups, input channels and output channels. channels: their number,
    without those that fill the last block.  strides, padding, dilation: as of `nn.conv{rank}d`.  weight_layout:
    `OIHW16o` for blocks of 16 channels: the axes of weight are block, 1, taps, and channel in the block; other numbers
    than 16 likewise.  data_layout, out_layout: NCHW, or NCHW16c for channels in blocks of the size of those of the
    weights; out_layout is data_layout by default. A result with blocks needs data with blocks.
    """

    def formula(self, data: Tensor, weight: Tensor) -> Tensor:
        inputs = self.inputs_of(data)
        if inputs != self.channels:
            raise TeError(f"{self.name}: data of {inputs} channels, expected {self.channels}")
        if self.writes_blocks and not self.reads_blocks:
            raise TeError(f"{self.name}: data_layout {self.data_layout}, expected {self.out_layout} as of the result")
        blocks, sizes = self.extents(weight, 1)
        windows, taps = windows_of(self, self.padding, sizes), tap_axes(self, sizes)
        if self.reads_blocks and are_known(data.shape[2:-1]):
            element, counts = _inside(data, windows), window_counts(data.shape[2:-1], windows)
            require_windows(self.name, data, counts, windows)
        else:
            image = data if self.reads_blocks else self._image(data, blocks)
            element, counts = padded_image(self.name, image, range(2, self.rank + 2), windows)

        def product(batch: PrimExpr, block: PrimExpr, place: Sequence[PrimExpr], lane: PrimExpr) -> PrimExpr:
            x = element(batch, block, *at_taps(place, windows, taps), lane)
            return scalar.sum(x * weight(block, 0, *(tap.var for tap in taps), lane), axis=taps)

        if self.writes_blocks:
            return compute(
                [data.shape[0], blocks, *counts, self.lanes],
                lambda *axes: product(axes[0], axes[1], axes[2:-1], axes[-1]),
                "conv_pack",
                "conv_pack",
                attrs={"schedule_rule": "depthwise_conv_pack_blocks"},
                varargs_names=["n", "block", *self.image.lower(), "lane"],
            )
        known = require_known_extents(counts, self.name)
        sums = compute(
            [data.shape[0], blocks, prod(known), self.lanes],
            lambda batch, block, pixel, lane: product(batch, block, _place_of(pixel, known), lane),
            "conv_blocks",
            attrs={"schedule_rule": "depthwise_conv_pack", "columns": known[-1]},
        )
        return compute(
            [data.shape[0], self.channels, *known],
            lambda n, k, *at: sums(n, k // self.lanes, _pixel_at(at, known), k % self.lanes),
            "conv_pack",
            "conv_pack",
            varargs_names=[2 * letter.lower() for letter in self.image],
        )

    def _image(self, data: Tensor, blocks: int) -> Tensor:
        """The image with its channels in blocks, from an image without."""
        spatial = require_known_extents(data.shape[2:], self.name)
        element = _filled_channels(data, self.channels, spatial, self.lanes)
        pixels = compute(
            [data.shape[0], blocks, prod(spatial), self.lanes],
            lambda batch, block, pixel, lane: element(batch, block * self.lanes + lane, pixel),
            "image_blocks",
            attrs={"meta_schedule.inline_rule": "disable"},
        )
        return compute(
            [data.shape[0], blocks, *spatial, self.lanes],
            lambda batch, block, *place: pixels(batch, block, _pixel_at(place[:-1], spatial), place[-1]),
            "image",
            "injective",
            varargs_names=[*self.image.lower(), "lane"],
        )

    def reference(self, data: Array, weight: Array) -> Array:
        return self.layouts_reference(data, weight, self.channels)


contrib_depthwise_conv2d_pack = for_rank(
    2, "nn.contrib_depthwise_conv2d_pack", Pattern.OUT_FUSABLE, _PackedDepthwiseConvolution
)


@dataclass(frozen=True)
class _PackedByteConvolution(_WithBlocks):
    """The convolution of an image of uint8 with weights of int8, as `nn.conv{rank}d` with sums of int32, with weights
    in blocks of 16 output channels by 4 input channels.

    channels: the number of output channels, without those that fill the last block.  strides, padding, dilation: as of
    `nn.conv{rank}d`.  pad_value: the elements around the image. The axes of weight are block of output channels, group
    of 4 input channels, taps, and `4 * output channel + input channel` in the block; weights of input channels that the
    image lacks must be zeros. The data have the layout NCHW.
    """

    weight_layout: str = "OI{image}16o4i"
    pad_value: int = 0

    def formula(self, data: Tensor, weight: Tensor) -> Tensor:
        self.require_rank(data.shape)
        blocks, groups, *sizes, size = require_packed_bytes(data, weight, self.channels, self.rank + 3, self.name)
        (inputs,) = require_known_extents(data.shape[1:2], self.name)
        if groups != -(-inputs // GROUP):
            raise TeError(f"{self.name}: weight of {groups} groups of {GROUP} channels, for {inputs} input channels")
        require_pad_value(self.pad_value, self.name)
        windows, lanes = windows_of(self, self.padding, sizes), size // GROUP
        source, counts = self._image(data, windows)
        channel, group, taps = reduce_axis((0, GROUP), "rc"), reduce_axis((0, groups), "group"), tap_axes(self, sizes)

        def products(*axes: PrimExpr) -> PrimExpr:
            batch, *positions, block, lane = axes
            x = cast("int32", source(batch, group.var, at_taps(positions, windows, taps), channel.var))
            w = weight(block, group.var, *(tap.var for tap in taps), lane * GROUP + channel.var)
            return scalar.sum(x * cast("int32", w), axis=[group, *taps, channel])

        sums = compute(
            [data.shape[0], *counts, blocks, lanes],
            products,
            "conv_blocks",
            attrs={"schedule_rule": "conv_pack_int8"},
            varargs_names=["n", *self.image.lower(), "block", "lane"],
        )
        return compute(
            [data.shape[0], self.channels, *counts],
            lambda n, k, *at: sums(n, *at, k // lanes, k % lanes),
            "conv_pack",
            "conv_pack",
            varargs_names=[2 * letter.lower() for letter in self.image],
        )

    def _image(
        self, data: Tensor, windows: Sequence[Along]
    ) -> tuple[Callable[[PrimExpr, PrimExpr, Sequence[PrimExpr], PrimExpr], PrimExpr], list[Extent]]:
        """The function from batch, group of channels, place in the padded image, and channel in the group to an
        element, and the number of windows along each dimension. The channels of a group are adjacent in memory."""
        inputs, *spatial = require_known_extents(data.shape[1:], self.name)
        groups, stays = -(-inputs // GROUP), {"meta_schedule.inline_rule": "disable"}
        element = _filled_channels(data, inputs, spatial, GROUP)
        rows = compute([data.shape[0], groups * GROUP, prod(spatial)], element, "image_rows", attrs=stays)
        pixels = compute(
            [data.shape[0], groups, prod(spatial) * GROUP],
            lambda batch, group, place: rows(batch, group * GROUP + place % GROUP, place // GROUP),
            "image_groups",
            attrs=stays,
        )

        def at(batch: PrimExpr, group: PrimExpr, place: Sequence[PrimExpr], channel: PrimExpr) -> PrimExpr:
            return pixels(batch, group, _pixel_at(place, spatial) * GROUP + channel)

        if not any(along.front or along.behind for along in windows):
            return at, padded_image(self.name, data, range(2, self.rank + 2), windows)[1]
        image = compute(
            [data.shape[0], groups, *spatial, GROUP],
            lambda batch, group, *place: at(batch, group, place[:-1], place[-1]),
            "image",
            "injective",
            varargs_names=[*self.image.lower(), "channel"],
        )
        padded, counts = padded_image(
            self.name, image, range(2, self.rank + 2), windows, const(self.pad_value, data.dtype)
        )
        return lambda batch, group, place, channel: padded(batch, group, *place, channel), counts

    def reference(self, data: Array, weight: Array) -> Array:
        blocks, groups, *sizes, size = weight.shape
        each = weight.reshape(blocks, groups, *sizes, size // GROUP, GROUP)
        rows = np.moveaxis(each, (-2, -1), (1, 3)).reshape(blocks * size // GROUP, groups * GROUP, *sizes)
        return _byte_reference(self, data, rows[: self.channels, : data.shape[1]])


contrib_conv2d_pack_int8 = for_rank(2, "nn.contrib_conv2d_pack_int8", Pattern.OUT_FUSABLE, _PackedByteConvolution)


_WIDE_COLUMNS, _NARROW_COLUMNS = 16, 8
"""The columns of a block of sums of a depthwise convolution of bytes: the lanes of the widest vectors, or half of
them."""


def _columns_of_block(columns: int) -> int:
    """The columns of a block of sums of a depthwise convolution of bytes: those of a wide block, unless its last block
    lacks more than an eighth of all columns."""
    return _WIDE_COLUMNS if -columns % _WIDE_COLUMNS <= columns // 8 else _NARROW_COLUMNS


@dataclass(frozen=True)
class _PackedDepthwiseByteConvolution(ImageOperator):
    """The convolution of each channel of an image of uint8 with windows of its own of int8, with sums of int32.

    It is that of `nn.conv{rank}d` with as many groups as input channels. channels: the number of output channels, a
    multiple of that of input channels.  kernel_size: the taps of a window.  strides, padding, dilation: as of
    `nn.conv{rank}d`.  pad_value: the elements around the image. The axes of weight are output channel, and taps along
    each dimension; those along the last are filled with zeros to a multiple of 4. The data have the layout NCHW.
    """

    channels: int
    kernel_size: Window
    strides: Window = 1
    padding: Window = 0
    dilation: Window = 1
    pad_value: int = 0

    def formula(self, data: Tensor, weight: Tensor) -> Tensor:
        each, sizes = self._extents(data, weight)
        windows = windows_of(self, self.padding, sizes)
        *others, along = windows
        width = known_extent(data.shape[-1])
        assert width is not None
        counts = require_known_extents(window_counts(data.shape[2:], windows), self.name)
        lanes = _columns_of_block(counts[-1])
        blocks, groups = -(-counts[-1] // lanes), -(-sizes[-1] // GROUP)
        last = (blocks * lanes - 1) * along.step + (groups * GROUP - 1) * along.far + 1
        filled = replace(along, behind=max(along.behind, last - width - along.front))
        source, _ = padded_image(
            self.name, data, range(2, self.rank + 2), [*others, filled], const(self.pad_value, data.dtype)
        )
        taps = tap_axes(self, [*sizes[:-1], groups])
        tap = reduce_axis((0, GROUP), "tap")

        def products(*axes: PrimExpr) -> PrimExpr:
            batch, channel, *positions, block, lane = axes
            at = at_taps([*positions, block * lanes + lane], windows, taps)
            column = (block * lanes + lane) * along.step + (taps[-1].var * GROUP + tap.var) * along.far
            x = cast("int32", source(batch, channel // each, *at[:-1], column))
            w = weight(channel, *(axis.var for axis in taps[:-1]), taps[-1].var * GROUP + tap.var)
            return scalar.sum(x * cast("int32", w), axis=[*taps, tap])

        sums = compute(
            [data.shape[0], self.channels, *counts[:-1], blocks, lanes],
            products,
            "conv_blocks",
            attrs={"schedule_rule": "depthwise_conv_pack_int8", "step": along.step, "far": along.far},
            varargs_names=["n", "c", *self.image[:-1].lower(), "block", "lane"],
        )
        return compute(
            [data.shape[0], self.channels, *counts],
            lambda *at: sums(*at[:-1], at[-1] // lanes, at[-1] % lanes),
            "conv_pack",
            "conv_pack",
            varargs_names=["nn", "cc", *(2 * letter.lower() for letter in self.image)],
        )

    def _extents(self, data: Tensor, weight: Tensor) -> tuple[int, list[int]]:
        """The output channels of each input channel, and the taps along each dimension. TeError for operands that do
        not fit each other or the attributes."""
        name = self.name
        require_bytes(data, weight, name)
        if data.ndim != self.rank + 2 or weight.ndim != self.rank + 1:
            dimensions = f"{data.ndim} and {weight.ndim} dimensions"
            raise TeError(f"{name}: data and weight of {dimensions}, expected {self.rank + 2} and {self.rank + 1}")
        inputs, *_ = require_known_extents(data.shape[1:], name)
        if not inputs or self.channels % inputs:
            raise TeError(f"{name}: {self.channels} output channels, expected a multiple of {inputs} input channels")
        sizes = each_dimension(self.kernel_size, self.rank, f"{name}: kernel_size")
        expected = [self.channels, *sizes[:-1], -(-sizes[-1] // GROUP) * GROUP]
        if (given := require_known_extents(weight.shape, name)) != expected:
            raise TeError(f"{name}: weight of shape {given}, expected {expected} for windows of {sizes}")
        require_pad_value(self.pad_value, name)
        return self.channels // inputs, sizes

    def reference(self, data: Array, weight: Array) -> Array:
        sizes = each_dimension(self.kernel_size, self.rank, self.name)
        return _byte_reference(self, data, weight[:, None, ..., : sizes[-1]], data.shape[1])


contrib_depthwise_conv2d_pack_int8 = for_rank(
    2, "nn.contrib_depthwise_conv2d_pack_int8", Pattern.OUT_FUSABLE, _PackedDepthwiseByteConvolution
)


def _byte_reference(
    op: _PackedByteConvolution | _PackedDepthwiseByteConvolution, data: Array, weight: Array, groups: int = 1
) -> Array:
    """The reference result of a convolution of bytes, from the weights in the order OIHW."""
    around = paddings(op.padding, op.rank, op.name)
    image = np.pad(data, [(0, 0), (0, 0), *around], constant_values=op.pad_value)
    return _plain(op, 0, groups, "int32").reference(image, weight)


def _plain(
    op: _WithBlocks | _PackedDepthwiseByteConvolution, padding: Window, groups: int, out_dtype: str = ""
) -> Convolution:
    """The convolution with the strides and the dilation of an operator, in layouts without blocks."""
    return Convolution(
        op.name,
        op.rank,
        op.strides,
        padding,
        op.dilation,
        groups,
        data_layout=f"NC{op.image}",
        kernel_layout=f"OI{op.image}",
        out_dtype=out_dtype,
    )


def _inside(data: Tensor, windows: Sequence[Along]) -> Callable[..., PrimExpr]:
    """The function from image, block of channels, place in the padded image, and channel in the block to an element:
    zero outside of the image."""

    def element(batch: PrimExpr, block: PrimExpr, *axes: PrimExpr) -> PrimExpr:
        *place, lane = axes
        pairs = [(at, along, extent) for at, along, extent in zip(place, windows, data.shape[2:-1], strict=True)]
        conditions = [
            condition
            for at, along, extent in pairs
            for condition, is_needed in ((at >= along.front, along.front), (at < extent + along.front, along.behind))
            if is_needed
        ]
        x = data(batch, block, *(at - along.front for at, along, _ in pairs), lane)
        return scalar.if_then_else(scalar.all(*conditions), x, const(0, data.dtype)) if conditions else x

    return element


def _filled_channels(
    data: Tensor, inputs: int, spatial: Sequence[int], lanes: int
) -> Callable[[PrimExpr, PrimExpr, PrimExpr], PrimExpr]:
    """The function from batch, channel and number of the pixel to an element of an image, and to zero for the channels
    that fill the last block. inputs, spatial: the extents of the image.  lanes: the channels of a block."""

    def element(batch: PrimExpr, channel: PrimExpr, pixel: PrimExpr) -> PrimExpr:
        value = data(batch, channel, *_place_of(pixel, spatial))
        return value if inputs % lanes == 0 else scalar.if_then_else(channel < inputs, value, const(0, data.dtype))

    return element


def _place_of(pixel: PrimExpr, extents: Sequence[int]) -> list[PrimExpr]:
    """The indices of a pixel along each dimension of an image."""
    place: list[PrimExpr] = []
    for extent in reversed(extents[1:]):
        pixel, index = pixel // extent, pixel % extent
        place.insert(0, index)
    return [pixel, *place]


def _pixel_at(place: Sequence[PrimExpr], extents: Sequence[int]) -> PrimExpr:
    """The number of the pixel with some indices, in the order of memory."""
    pixel, *rest = place
    for index, extent in zip(rest, extents[1:], strict=True):
        pixel = pixel * extent + index
    return pixel

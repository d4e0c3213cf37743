"""The pass `relay-convert-convolutions`."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint

from ...core.remarks import PassRemarks
from ...core.walking import find_ops
from ...module import constants_of
from ...operators.relay import ConstantOp, OperatorOp, RelayBuilder, shape_of
from ...operators.windows import each_dimension, paddings
from ...operators.winograd import POINTS, TAPS
from .graphs import graphs_of, replace
from .plain_convolutions import lack_of_plain_form, whole_blocks

_remarks = PassRemarks("relay-convert-convolutions")

PER_BYTE, PER_WEIGHT_BYTE = 3, 5
"""The operations on floats in the time of a byte that is read from a near cache, or from the farthest."""
USUAL_WORK, LEAST_SIZE = 3584, 7
"""The product of the channels and the rows, or columns, of images of dynamic size in the estimate, and the least rows
or columns: those of the stages of ResNet for images of 224 by 224."""
LEAST_WORK = 4e6
"""The least operations of a direct convolution that is replaced: 40 us or more."""
GAIN = 1.15
"""The least gain by the estimate of tiles of 2 over a direct convolution, and of tiles of 4, whose rounding errors are
larger, over the best of both."""


@dataclass(frozen=True)
class RelayConvertConvolutionsPass(ModulePass):
    """Replaces convolutions by Winograd's algorithm where a cost model estimates less time.

    Supported are `nn.conv2d` of images of f32, with windows of 3 by 3, in the layouts NCHW and OIHW, without strides
    and groups. With dilation, each image, of static extents, is first divided into images of the elements that a window
    reaches (`nn.space_to_batch_nd`), and the results are combined. The cost model compares the operations on floats and
    the bytes that pass between caches (docs/performance.md), for one image if their number is dynamic, and for images
    of 3584 divided by the number of channels, but at least 7, rows or columns if these are dynamic. Constant weights
    are transformed by `relay-fold-constants`, other weights in each run. Results round differently.

    tile-size: the size of tiles, 2 or 4, for all supported convolutions, or 0 for the size of the least estimated time.

    Before
        %0 = relay.nn.conv2d(%x, %w) {padding = 1} : (tensor<1x64x56x56xf32>, tensor<64x64x3x3xf32>)
            -> tensor<1x64x56x56xf32>

    After
        %0 = relay.nn.conv2d_winograd_weight_transform(%w) : (tensor<64x64x3x3xf32>) -> tensor<6x6x4x64x16xf32>
        %1 = relay.nn.conv2d_winograd(%x, %0) {channels = 64, padding = 1}
            : (tensor<1x64x56x56xf32>, tensor<6x6x4x64x16xf32>) -> tensor<1x64x56x56xf32>

    Must hold before: factors of channels are in the weights (`relay-fold-scale-axis`), so that they are constants.

    Gone after: nothing.
    """

    name = "relay-convert-convolutions"

    tile_size: int = 0

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for func in graphs_of(op):
            for inner in list(find_ops(func, OperatorOp)):
                if inner.operator.name == "nn.conv2d":
                    self._convert(inner, RelayBuilder(InsertPoint.before(inner), constants_of(op), inner.location))

    def _convert(self, op: OperatorOp, builder: RelayBuilder) -> None:
        reason = _lack(op)
        if reason:
            _remarks.missed(op, lambda: f"the convolution stays direct: {reason}")
            return
        work = _Work.of(op)
        tile = self.tile_size or work.best_tile()
        gain = work.direct_time() / work.time(tile) if tile else 0
        if not tile:
            _remarks.missed(op, lambda: f"the convolution stays direct: {work.refusal()}")
            return
        _remarks.applied(op, lambda: f"Winograd's algorithm with tiles of {tile}, estimated {gain:.2f} times as fast")
        weights = builder.operator("nn.conv2d_winograd_weight_transform", op.args[1], tile_size=tile)
        kept = {"channels": work.outputs, "tile_size": tile}
        if work.dilation == (1, 1):
            padding = op.attribute_value("padding")
            replace(op, [builder.operator("nn.conv2d_winograd", op.args[0], weights, padding=padding, **kept)])
            return
        blocks, pads, crops = work.blocks(op)
        images = builder.operator("nn.space_to_batch_nd", op.args[0], block_shape=blocks, paddings=pads)
        results = builder.operator("nn.conv2d_winograd", images, weights, **kept)
        replace(op, [builder.operator("nn.batch_to_space_nd", results, block_shape=blocks, crops=crops)])


def _lack(op: OperatorOp) -> str:
    """The reason why a convolution has no form in Winograd's algorithm, "" if it has one."""
    sizes = shape_of(op.args[1])[2:]
    if list(sizes) != [TAPS, TAPS]:
        return f"windows of {' by '.join(map(str, sizes))}, expected {TAPS} by {TAPS}"
    if each_dimension(op.attribute_value("strides"), 2, "strides") != [1, 1]:
        return f"strides {op.attribute_value('strides')}, expected 1"
    is_dilated = each_dimension(op.attribute_value("dilation"), 2, "dilation") != [1, 1]
    return lack_of_plain_form(op, ["float32"], any_pixels=not is_dilated)


@dataclass(frozen=True)
class _Work:
    """The work of a convolution of 3 by 3. images, height, width: the extents of the result.  inputs, outputs: the
    numbers of channels.  dilation: the distances of taps along y and x.  is_constant: whether the weights are
    constants."""

    images: int
    inputs: int
    outputs: int
    height: int
    width: int
    dilation: tuple[int, int]
    is_constant: bool

    @staticmethod
    def of(op: OperatorOp) -> _Work:
        """The work of a supported convolution."""
        images, _, height, width = shape_of(op.outputs[0])
        outputs, inputs = shape_of(op.args[1])[:2]
        assert isinstance(outputs, int)
        assert isinstance(inputs, int)
        usual = max(USUAL_WORK // max(inputs, outputs), LEAST_SIZE)
        y, x = each_dimension(op.attribute_value("dilation"), 2, "dilation")
        return _Work(
            images if isinstance(images, int) else 1,
            inputs,
            outputs,
            height if isinstance(height, int) else usual,
            width if isinstance(width, int) else usual,
            (y, x),
            isinstance(op.args[1].owner, ConstantOp),
        )

    def divided(self) -> tuple[int, int]:
        """The extents of the results of an image of the elements at distances of the dilation."""
        y, x = self.dilation
        return -(-self.height // y), -(-self.width // x)

    def blocks(self, op: OperatorOp) -> tuple[list[int], list[list[int]], list[list[int]]]:
        """The blocks that divide the images of a convolution with dilation, the padding of the images, and the
        elements to cut off from the results."""
        around = paddings(op.attribute_value("padding"), 2, "padding")
        counts, sizes = (self.height, self.width), shape_of(op.args[0])[2:]
        pads, crops = [[0, 0]], [[0, 0]]
        for (before, _), count, part, size, step in zip(
            around, counts, self.divided(), sizes, self.dilation, strict=True
        ):
            assert isinstance(size, int)
            pads.append([before, step * (part + TAPS - 1) - size - before])
            crops.append([0, step * part - count])
        return [1, *self.dilation], pads, crops

    def direct_operations(self) -> float:
        return 2 * TAPS**2 * self.inputs * self.outputs * self.images * self.height * self.width

    def direct_time(self) -> float:
        """The time of a direct convolution, in operations on floats."""
        weights = 4 * TAPS**2 * self.inputs * self.outputs
        return self.direct_operations() + PER_WEIGHT_BYTE * weights

    def time(self, tile: int) -> float:
        """The time of Winograd's algorithm: the products, the bytes of the tensors between its steps, each written and
        read once, and those of the weights."""
        height, width = self.divided()
        rows, columns = -(-height // tile), -(-width // tile)
        points, tiles = (tile + TAPS - 1) ** 2, self.images * prod(self.dilation) * rows * columns
        inputs, outputs = whole_blocks(self.inputs), whole_blocks(self.outputs)
        elements = tiles * (points * (inputs + outputs) + tile**2 * (inputs + outputs))
        if self.dilation != (1, 1):
            elements += self.images * self.height * self.width * (self.inputs + self.outputs)
        weights = 4 * points * self.inputs * outputs
        transforms = 0 if self.is_constant else 3 * weights
        products = 2 * points * tiles * self.inputs * outputs
        return products + PER_BYTE * 2 * 4 * elements + PER_WEIGHT_BYTE * (weights + transforms)

    def best_tile(self) -> int:
        """The size of tiles of the least time, with `GAIN` for each step; 0 for a direct convolution."""
        if self.direct_operations() < LEAST_WORK:
            return 0
        best, time = 0, self.direct_time()
        for tile in sorted(POINTS):
            if self.time(tile) * GAIN < time:
                best, time = tile, self.time(tile)
        return best

    def refusal(self) -> str:
        """The reason for a direct convolution."""
        if self.direct_operations() < LEAST_WORK:
            return f"{self.direct_operations() / 1e6:.1f} million operations, expected {LEAST_WORK / 1e6:.0f} or more"
        gains = [f"{self.direct_time() / self.time(tile):.2f} with tiles of {tile}" for tile in sorted(POINTS)]
        return f"estimated speed of Winograd's algorithm {' and '.join(gains)}, expected {GAIN} or more"

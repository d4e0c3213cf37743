"""The pass `relay-slice-images`."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint

from ...core.remarks import PassRemarks
from ...core.walking import find_ops
from ...module import constants_of
from ...operators.relay import OperatorOp, RelayBuilder, shape_of
from ...operators.windows import each_dimension, paddings
from .graphs import graphs_of, replace
from .plain_convolutions import lack_of_plain_form

_remarks = PassRemarks("relay-slice-images")

LEAST_CHANNELS = 256
"""The least number of channels of an image and of a result by default: the copy of the pixels takes 1 to 5 % of the
time of such a convolution."""


@dataclass(frozen=True)
class RelaySliceImagesPass(ModulePass):
    """Copies the pixels that convolutions of 1 by 1 with strides read, and convolves the copy without strides.

    Pixels that follow each other in memory fill the tiles of sums, whatever the length of a row, and are a fraction of
    the image, as `nn.conv2d` of 1024 channels of 14 by 14 pixels in steps of 2, which takes half the time on Zen 3. A
    `strided_slice` copies the pixels; equal ones of several convolutions are one (`cse`).

    Supported are convolutions of f32 or f64 in the layouts NCHW and OIHW, without groups and padding, of static images.

    least-channels: the least number of channels of the image and of the result.

    Before
        %0 = relay.nn.conv2d(%x, %w) {strides = 2} : (tensor<1x256x56x56xf32>, tensor<512x256x1x1xf32>)
            -> tensor<1x512x28x28xf32>

    After
        %0 = relay.strided_slice(%x) {begin = [0, 0], end = [56, 56], strides = [2, 2], axes = [2, 3]}
            : (tensor<1x256x56x56xf32>) -> tensor<1x256x28x28xf32>
        %1 = relay.nn.conv2d(%0, %w) : (tensor<1x256x28x28xf32>, tensor<512x256x1x1xf32>) -> tensor<1x512x28x28xf32>

    Must hold before: libraries have their operators (`relay-partition`).

    Gone after: nothing.
    """

    name = "relay-slice-images"

    least_channels: int = LEAST_CHANNELS

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for func in graphs_of(op):
            for inner in list(find_ops(func, OperatorOp)):
                if inner.operator.name == "nn.conv2d":
                    self._slice(inner, RelayBuilder(InsertPoint.before(inner), constants_of(op), inner.location))

    def _slice(self, op: OperatorOp, builder: RelayBuilder) -> None:
        strides = each_dimension(op.attribute_value("strides"), 2, "strides")
        if strides == [1, 1]:
            return
        reason = self._obstacle(op)
        if reason:
            _remarks.missed(op, lambda: f"the convolution reads all pixels: {reason}")
            return
        image, weight = op.args
        slices = {"begin": [0, 0], "end": list(shape_of(image)[2:]), "strides": strides, "axes": [2, 3]}
        pixels = builder.operator("strided_slice", image, **slices)
        replace(op, [builder.operator("nn.conv2d", pixels, weight, **{**op.explicit_attributes, "strides": 1})])
        _remarks.applied(op, lambda: f"the pixels in steps of {' and '.join(map(str, strides))} are copied first")

    def _obstacle(self, op: OperatorOp) -> str:
        """The reason why the pixels of a convolution are not copied, "" for none."""
        outputs, inputs, *window = shape_of(op.args[1])
        if window != [1, 1]:
            return f"windows of {' by '.join(map(str, window))}, expected 1 by 1"
        if any(before or after for before, after in paddings(op.attribute_value("padding"), 2, "nn.conv2d")):
            return "padding"
        reason = lack_of_plain_form(op, ["float32", "float64"])
        if not reason and any(isinstance(n, int) and n < self.least_channels for n in (inputs, outputs)):
            return f"{inputs} to {outputs} channels, expected {self.least_channels} or more"
        return reason

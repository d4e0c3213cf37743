"""The pass `relay-convert-conv1d`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint

from ...core.remarks import PassRemarks
from ...core.walking import find_ops
from ...module import constants_of
from ...operators.relay import ConstantOp, FuncOp, OperatorOp, RelayBuilder, shape_of
from ...operators.windows import each_dimension, paddings
from .graphs import adds_to_channels, graphs_of, is_of_elements, replace
from .plain_convolutions import lack_of_plain_form

_remarks = PassRemarks("relay-convert-conv1d")

_ROWS = 2
"""The dimension of the rows of an image."""


@dataclass(frozen=True)
class RelayConvertConv1dPass(ModulePass):
    """Computes `nn.conv1d` of the results of another one as `nn.conv2d` of images of one row.

    Images between convolutions of two dimensions have their channels in blocks (`relay-convert-layout`), and constant
    weights are packed: 256 channels of 3000 elements in steps of 2 take a third of the time on Zen 3. The operators on
    elements between and after the convolutions compute images of one row too, so that no image is copied.

    Supported are convolutions of f32 with constant weights, in the layouts NCW and OIW, without groups, and of a static
    number of channels, one of which reads the result of another one, or of operators on elements of it.

    Before
        %0 = relay.nn.conv1d(%x, %v) : (tensor<1x80x99xf32>, tensor<64x80x3xf32>) -> tensor<1x64x97xf32>
        %1 = relay.nn.relu(%0) : (tensor<1x64x97xf32>) -> tensor<1x64x97xf32>
        %2 = relay.nn.conv1d(%1, %w) : (tensor<1x64x97xf32>, tensor<32x64x3xf32>) -> tensor<1x32x95xf32>

    After
        %0 = relay.expand_dims(%x) {axis = 2} : (tensor<1x80x99xf32>) -> tensor<1x80x1x99xf32>
        %1 = relay.expand_dims(%v) {axis = 2} : (tensor<64x80x3xf32>) -> tensor<64x80x1x3xf32>
        %2 = relay.nn.conv2d(%0, %1) ... -> tensor<1x64x1x97xf32>
        %3 = relay.nn.relu(%2) : (tensor<1x64x1x97xf32>) -> tensor<1x64x1x97xf32>
        %4 = relay.expand_dims(%w) {axis = 2} : (tensor<32x64x3xf32>) -> tensor<32x64x1x3xf32>
        %5 = relay.nn.conv2d(%3, %4) ... -> tensor<1x32x1x95xf32>
        %6 = relay.squeeze(%5) {axis = [2]} : (tensor<1x32x1x95xf32>) -> tensor<1x32x95xf32>

    Must hold before: factors of channels are in the weights (`relay-fold-scale-axis`), so that they are constants.

    Gone after: nothing.
    """

    name = "relay-convert-conv1d"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for func in graphs_of(op):
            convolutions = [each for each in find_ops(func, OperatorOp) if each.operator.name == "nn.conv1d"]
            if convolutions:
                _convert(op, func, _chained(convolutions))


def _chained(convolutions: Sequence[OperatorOp]) -> set[OperatorOp]:
    """The supported convolutions that read the result of another one, and those that are read."""
    chained, reasons = set[OperatorOp](), {op: _lack(op) for op in convolutions}
    for op in convolutions:
        source = _source(op.args[0])
        if source is not None and not reasons[op] and not reasons[source]:
            chained |= {op, source}
    for op in convolutions:
        if op not in chained:
            reason = reasons[op] or "no other one computes or reads its images"
            _remarks.missed(op, lambda reason=reason: f"the convolution keeps its dimension: {reason}")
    return chained


def _source(value: SSAValue) -> OperatorOp | None:
    """The `nn.conv1d` whose result, or operators on elements of it, an image is; None if it is another image."""
    while isinstance(value.owner, OperatorOp):
        op = value.owner
        if op.operator.name == "nn.conv1d":
            return op
        images = [arg for arg in op.args if shape_of(arg) == shape_of(op.outputs[0])]
        if not images or not _takes_rows(op):
            return None
        value = images[0]
    return None


def _takes_rows(op: OperatorOp) -> bool:
    """Whether an operator computes images with a row as those without: it is on elements, or adds to channels."""
    return adds_to_channels(op) or is_of_elements(op)


def _lack(op: OperatorOp) -> str:
    """The reason why a convolution is not supported, "" if it is."""
    is_constant = isinstance(op.args[1].owner, ConstantOp)
    return lack_of_plain_form(op, ["float32"], any_pixels=True) if is_constant else "its weights are no constants"


def _convert(module: ModuleOp, func: FuncOp, chained: AbstractSet[OperatorOp]) -> None:
    """Computes the images of convolutions, and of operators on their elements, with one row."""
    images = dict[SSAValue, SSAValue]()
    for op in list(find_ops(func, OperatorOp)):
        builder = RelayBuilder(InsertPoint.before(op), constants_of(module), op.location)
        if op in chained:
            _remarks.applied(op, lambda: "the image is one of one row")
            image = _convolution(op, builder, images)
        elif any(arg in images for arg in op.args) and _takes_rows(op) and len(shape_of(op.outputs[0])) == 3:
            image = _elements(op, builder, images)
        else:
            continue
        result = builder.operator("squeeze", image, axis=[_ROWS])
        images[result] = image
        replace(op, [result])


def _convolution(op: OperatorOp, builder: RelayBuilder, images: Mapping[SSAValue, SSAValue]) -> SSAValue:
    """The result, with a row, of a convolution. images: those with a row, of images without."""
    data, weight = op.args
    ((before, after),) = paddings(op.attribute_value("padding"), 1, "nn.conv1d")
    window = {name: [1, *each_dimension(op.attribute_value(name), 1, name)] for name in ("strides", "dilation")}
    image = images.get(data) or builder.operator("expand_dims", data, axis=_ROWS)
    weights = builder.operator("expand_dims", weight, axis=_ROWS)
    return builder.operator("nn.conv2d", image, weights, padding=[0, before, 0, after], **window)


def _elements(op: OperatorOp, builder: RelayBuilder, images: Mapping[SSAValue, SSAValue]) -> SSAValue:
    """The result, with a row, of an operator on elements. images: as of `_convolution`."""
    operands = list[SSAValue]()
    for arg in op.args:
        rank = len(shape_of(arg))
        is_vector = rank < 2  # of the elements of a row, or one of channels (`nn.bias_add`)
        operands.append(images.get(arg) or (arg if is_vector else builder.operator("expand_dims", arg, axis=rank - 1)))
    attributes = {**op.explicit_attributes, **({"axis": 1} if op.operator.name == "nn.bias_add" else {})}
    return builder.operator(op.operator.name, *operands, **attributes)

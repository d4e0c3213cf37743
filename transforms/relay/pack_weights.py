"""The pass `relay-pack-weights`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint

from ...core.remarks import PassRemarks
from ...core.walking import find_ops
from ...module import constants_of
from ...operators.relay import ConstantOp, OperatorOp, RelayBuilder, Size, shape_of
from ...operators.windows import each_dimension, paddings
from ...operators.winograd import LANES
from .graphs import graphs_of, replace
from .plain_convolutions import has_static_images, lack_of_dtype, lack_of_plain_form, result_extents, whole_blocks

_remarks = PassRemarks("relay-pack-weights")

LEAST_ROWS = 2
"""The least number of rows of data, or of pixels whose channels are such rows, that share the vectors of weights."""
MOST_FILLED = 1 / 3
"""The largest share of zeros beside the output channels of a convolution."""
FULL = 0.8
"""The least share of pixels in vectors that they fill."""
SHORT = 64
"""The number of products of a result below which vectors of pixels are faster than vectors of channels, if pixels fill
them: the transposition of the results takes longer than the sums."""
_DTYPES = ("float32", "float64")


@dataclass(frozen=True)
class RelayPackWeightsPass(ModulePass):
    """Stores weights in blocks of 16 rows, in the order in which products and convolutions read them.

    Supported are the weights of `nn.dense`, of `nn.matmul`, whose rows are the columns of a second matrix that is not
    transposed, and of `nn.conv2d` in the layouts NCHW and OIHW, without groups, with groups of whole blocks of output
    channels, or with a group for each channel (depthwise). Elements of 16 rows, which are output channels of
    convolutions, are adjacent, as a vector. A product then reads its weights once, in order, without a copy in each
    run; a convolution has vectors of channels, for windows of any size and strides.
    Weights are padded with zeros to whole blocks; `relay-fold-constants` computes the blocks of constants. Weights of
    convolutions that are no constants are stored in blocks in each run, apart from those of depthwise ones.

    Weights stay as they are for one row of data, or a convolution of one pixel, for dynamic sizes other than numbers of
    rows of data, of images and, but for depthwise convolutions, of pixels, and for less than 16 output channels. So do
    the weights of convolutions whose zeros are more than a third of the channels, and those where a known number of
    pixels fills vectors and either the window is 1 by 1 without strides, or a result has less than 64 products. A
    depthwise convolution keeps its weights if a row of the result has more than 16 pixels.

    Before
        %0 = relay.constant @w : tensor<64x32xf32>
        %1 = relay.nn.dense(%x, %0) : (tensor<128x32xf32>, tensor<64x32xf32>) -> tensor<128x64xf32>

    After
        %0 = relay.constant @w : tensor<64x32xf32>
        %1 = relay.reshape(%0) {newshape = [4, 16, 32]} : (tensor<64x32xf32>) -> tensor<4x16x32xf32>
        %2 = relay.transpose(%1) {axes = [0, 2, 1]} : (tensor<4x16x32xf32>) -> tensor<4x32x16xf32>
        %3 = relay.nn.contrib_dense_pack(%x, %2) {weight_layout = "NC16n", units = 64}
            : (tensor<128x32xf32>, tensor<4x32x16xf32>) -> tensor<128x64xf32>

    Must hold before: libraries have their operators (`relay-partition`), and Winograd's algorithm its convolutions
    (`relay-convert-convolutions`).

    Gone after: nothing.
    """

    name = "relay-pack-weights"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for func in graphs_of(op):
            for inner in list(find_ops(func, OperatorOp)):
                form = form_of(inner)
                if form is not None:
                    _pack(inner, form, RelayBuilder(InsertPoint.before(inner), constants_of(op), inner.location))


def form_of(op: OperatorOp) -> Form | None:
    """The form of an operator with packed weights; None for other operators."""
    name = op.operator.name
    is_grouped = name == "nn.conv2d" and op.attribute_value("groups") != 1
    return _DEPTHWISE if is_grouped and shape_of(op.args[1])[1] == 1 else _FORMS.get(name)


def _pack(op: OperatorOp, form: Form, builder: RelayBuilder) -> None:
    is_packed = form.packs_operands or isinstance(op.args[1].owner, ConstantOp)
    reason = form.lack(op) or form.loss(op) if is_packed else "they are no constants"
    if reason:
        _remarks.missed(op, lambda: f"the weights stay as they are: {reason}")
        return
    blocks = -(-rows_of_weights(op) // LANES)
    _remarks.applied(op, lambda: f"the weights are stored in {blocks} blocks of {LANES} rows")
    replace(op, [form.operator(op, builder, op.args[0])])


def rows_of_weights(op: OperatorOp) -> int:
    """The number of rows of the static weights of a product or a convolution, which are output channels there."""
    (rows,) = (size for size in _shape_of_weights(op)[:1] if isinstance(size, int))
    return rows


def _shape_of_weights(op: OperatorOp) -> Sequence[Size]:
    """The shape of weights, with the rows, which are summed, first: the columns of a matrix that is not transposed."""
    shape = shape_of(op.args[1])
    return shape[::-1] if _has_columns(op) else shape


def _has_columns(op: OperatorOp) -> bool:
    """Whether the rows of the weights of a product are the columns of its second matrix."""
    return op.operator.name == "nn.matmul" and not op.attribute_value("transpose_b")


@dataclass(frozen=True)
class Form:
    """An operator with packed weights.

    packed: its name.  lack: the reason why an operator has not this form, "" if it has.  loss: the reason why the form
    is no gain for an operator that has it, "" if it is.  attributes: its attributes, from an operator with weights of a
    number of rows.  packs_operands: whether weights that are no constants are packed too, in each run.
    """

    packed: str
    lack: Callable[[OperatorOp], str]
    loss: Callable[[OperatorOp], str]
    attributes: Callable[[OperatorOp, int], dict[str, Any]]
    packs_operands: bool = False

    def operator(self, op: OperatorOp, builder: RelayBuilder, data: SSAValue, **attributes: Any) -> SSAValue:
        """The result of the operator with packed weights in place of `op`. data: the first operand.  attributes: those
        besides the attributes of `op`."""
        weight, rows = op.args[1], rows_of_weights(op)
        if _has_columns(op):
            weight = builder.operator("transpose", weight, axes=[1, 0])
        others = [size for size in shape_of(weight)[1:] if isinstance(size, int)]
        blocks = -(-rows // LANES)
        if rows % LANES:
            width = [[0, blocks * LANES - rows], *([0, 0] for _ in others)]
            weight = builder.operator("nn.pad", weight, pad_width=width)
        weight = builder.operator("reshape", weight, newshape=[blocks, LANES, *others])
        weight = builder.operator("transpose", weight, axes=[0, *range(2, len(others) + 2), 1])
        return builder.operator(self.packed, data, weight, **self.attributes(op, rows), **attributes)


# Products


def _lack_of_dense(op: OperatorOp) -> str:
    reason = lack_of_dtype(op, _DTYPES)
    if reason:
        return reason
    if op.operator.name == "nn.matmul" and op.attribute_value("transpose_a"):
        return "its first matrix is transposed"
    units, inner = _shape_of_weights(op)
    if not isinstance(units, int) or not isinstance(inner, int):
        return "a dynamic size of weights"
    return "" if units >= LANES else f"{units} rows of weights, expected {LANES} or more"


def _loss_of_dense(op: OperatorOp) -> str:
    rows = shape_of(op.args[0])[:-1]
    known = [n for n in rows if isinstance(n, int)]
    if len(known) == len(rows) and prod(known) < LEAST_ROWS:
        return f"{prod(known)} rows of data, expected {LEAST_ROWS} or more"
    return ""


def _dense_attributes(_op: OperatorOp, units: int) -> dict[str, Any]:
    return {"weight_layout": f"NC{LANES}n", "units": units}


# Convolutions


def _lack_of_convolution(op: OperatorOp) -> str:
    groups = op.attribute_value("groups")
    reason = lack_of_plain_form(op, _DTYPES, groups, any_pixels=True)
    if reason:
        return reason
    channels = rows_of_weights(op)
    if groups > 1 and channels // groups % LANES:
        return f"{channels // groups} output channels of a group, expected whole blocks of {LANES}"
    return _lack_of_blocks(channels)


def _loss_of_convolution(op: OperatorOp) -> str:
    if not has_static_images(*op.args):
        return ""
    _, height, width = result_extents(op)
    is_matrix = _is_product_of_channels(op)
    pixels = height * width if is_matrix else width
    if is_matrix and pixels < LEAST_ROWS:
        return f"{pixels} pixels of the result, expected {LEAST_ROWS} or more"
    summands = prod(n for n in shape_of(op.args[1])[1:] if isinstance(n, int))
    if (is_matrix or summands < SHORT) and pixels >= FULL * whole_blocks(pixels):
        return f"{pixels} pixels of the result fill vectors, of {summands} products each"
    return ""


def _is_product_of_channels(op: OperatorOp) -> bool:
    """Whether a convolution is a product of a matrix of weights and a matrix of pixels."""
    strides = each_dimension(op.attribute_value("strides"), 2, "strides")
    around = paddings(op.attribute_value("padding"), 2, "padding")
    return list(shape_of(op.args[1])[2:]) == [1, 1] and strides == [1, 1] and not any(map(any, around))


def _lack_of_depthwise(op: OperatorOp) -> str:
    channels = shape_of(op.args[0])[1]
    if not isinstance(channels, int) or list(shape_of(op.args[1])[:2]) != [channels, 1]:
        return "groups of several channels"
    return lack_of_plain_form(op, _DTYPES, groups=channels, any_pixels=True) or _lack_of_blocks(channels)


def _loss_of_depthwise(op: OperatorOp) -> str:
    if not has_static_images(*op.args):
        return "a dynamic size"
    width = result_extents(op)[-1]
    return f"{width} columns of the result fill vectors" if width > LANES else ""


def _lack_of_blocks(channels: int) -> str:
    """The reason why channels are not stored in blocks, "" for enough of them."""
    filled = whole_blocks(channels) - channels
    if channels < LANES or filled > MOST_FILLED * channels:
        return f"{channels} output channels in blocks of {LANES} have {filled} channels of zeros"
    return ""


def _convolution_attributes(op: OperatorOp, channels: int) -> dict[str, Any]:
    kept = {name: op.attribute_value(name) for name in ("strides", "padding", "dilation")}
    return {**kept, "weight_layout": f"OIHW{LANES}o", "channels": channels}


def _grouped_attributes(op: OperatorOp, channels: int) -> dict[str, Any]:
    return {**_convolution_attributes(op, channels), "groups": op.attribute_value("groups")}


_DEPTHWISE = Form("nn.contrib_depthwise_conv2d_pack", _lack_of_depthwise, _loss_of_depthwise, _convolution_attributes)
"""The form of `nn.conv2d` with a group for each channel."""
_DENSE = Form("nn.contrib_dense_pack", _lack_of_dense, _loss_of_dense, _dense_attributes)
_FORMS: Mapping[str, Form] = {
    "nn.dense": _DENSE,
    "nn.matmul": _DENSE,
    "nn.conv2d": Form(
        "nn.contrib_conv2d_pack", _lack_of_convolution, _loss_of_convolution, _grouped_attributes, packs_operands=True
    ),
}
"""The forms with packed weights, by the names of operators."""

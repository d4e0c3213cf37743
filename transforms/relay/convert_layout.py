"""The pass `relay-convert-layout`."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from math import prod
from typing import cast

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
from .graphs import adds_to_channels, erase, graphs_of, is_of_elements, replace
from .pack_weights import Form, form_of
from .plain_convolutions import has_static_images

_remarks = PassRemarks("relay-convert-layout")

LONG = 256
"""The least number of summands of a result that take much longer than its transposition from blocks."""
_BLOCKS = f"NCHW{LANES}c"


@dataclass(frozen=True)
class RelayConvertLayoutPass(ModulePass):
    """Stores images between convolutions with their channels in blocks of 16: as `NCHW16c`, in place of `NCHW`.

    Vectors of channels are then contiguous in images too: convolutions store their sums and read windows as they are,
    where images without blocks are transposed, and read pixel by pixel. The weights are packed as by
    `relay-pack-weights`.

    An image has blocks if it has whole blocks of channels, and if the operator that computes it and all operators that
    read it support the layout: `nn.conv2d` with packed weights, `nn.conv2d_winograd`, pools, operators on elements,
    reductions of all rows and columns, concatenations of channels, and slices of rows and columns. Rows and columns may
    be dynamic. Pools, operators on elements, slices and concatenations have blocks in all their images or in none, so
    that no image is copied from one layout to the other. A convolution whose result has no blocks reads an image
    without blocks, if its weights are then not packed (`relay-pack-weights`) and its sums have less than 256 summands.

    Before
        %y = relay.nn.conv2d(%x, %v) : (tensor<1x32x28x28xf32>, tensor<192x32x1x1xf32>) -> tensor<1x192x28x28xf32>
        %z = relay.nn.conv2d(%y, %w) : (tensor<1x192x28x28xf32>, tensor<64x192x1x1xf32>) -> tensor<1x64x28x28xf32>
        ...

    After
        %y = relay.nn.contrib_conv2d_pack(%x, ...) {channels = 192, out_layout = "NCHW16c"}
            : (tensor<1x32x28x28xf32>, tensor<12x32x1x1x16xf32>) -> tensor<1x12x28x28x16xf32>
        %z = relay.nn.contrib_conv2d_pack(%y, ...) {channels = 64, data_layout = "NCHW16c", out_layout = "NCHW16c"}
            : (tensor<1x12x28x28x16xf32>, tensor<4x192x1x1x16xf32>) -> tensor<1x4x28x28x16xf32>
        ...

    Must hold before: libraries have their operators (`relay-partition`), and Winograd's algorithm its convolutions
    (`relay-convert-convolutions`).

    Gone after: nothing.
    """

    name = "relay-convert-layout"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for func in graphs_of(op):
            kinds = {each: kind for each in find_ops(func, OperatorOp) if (kind := _kind_of(each)) is not None}
            _convert(op, kinds, _images_with_blocks(kinds))


def _images_with_blocks(kinds: Mapping[OperatorOp, _Kind]) -> set[SSAValue]:
    """The images that have their channels in blocks: the most that the operators support. kinds: of the operators."""
    results = [(op.outputs[0], op, kind) for op, kind in kinds.items() if len(op.outputs) == 1]
    blocked: set[SSAValue] = {
        image
        for image, op, kind in results
        if _has_blocks(image) and kind.writes(op) and not _other_reader(image, kinds)
    }
    count = -1
    while len(blocked) != count:
        count = len(blocked)
        for op, kind in kinds.items():
            blocked -= kind.without_blocks(op, blocked)
    return blocked


def _other_reader(image: SSAValue, kinds: Mapping[OperatorOp, _Kind]) -> str:
    """The name of an operation that reads an image, and not in blocks; "" without one."""
    for use in image.uses:
        op = use.operation
        kind = kinds.get(op) if isinstance(op, OperatorOp) else None
        if kind is None or not kind.reads(cast(OperatorOp, op), use.index):
            return op.name.removeprefix("relay.")
    return ""


def _convert(module: ModuleOp, kinds: Mapping[OperatorOp, _Kind], blocked: set[SSAValue]) -> None:
    """Converts images to blocks of channels, and the operators that compute and read them."""
    images, converted = dict[SSAValue, SSAValue](), list[OperatorOp]()
    for op, kind in kinds.items():
        result, reads = op.outputs[0], any(arg in blocked for arg in op.args)
        if result not in blocked and isinstance(kind, _Convolution | _Winograd):
            _remarks.missed(op, lambda image=result: f"the result has no blocks: {_reason(image, kinds)}")
        if not reads and result not in blocked:
            continue
        builder = RelayBuilder(InsertPoint.before(op), constants_of(module), op.location)
        value = kind.convert(op, builder, [images.get(arg, arg) for arg in op.args], result in blocked)
        if result in blocked:
            value.name_hint = result.name_hint
            images[result] = value
            converted.append(op)
            channels = shape_of(result)[1]
            _remarks.applied(op, lambda n=channels: f"{n} channels of the result are in blocks of {LANES}")
        else:
            replace(op, [value])
    for op in reversed(converted):
        erase(op)


def _reason(image: SSAValue, kinds: Mapping[OperatorOp, _Kind]) -> str:
    """The reason why the result of a convolution has no blocks."""
    if not _has_blocks(image):
        return f"{' by '.join(map(str, shape_of(image)))} elements are no image of whole blocks of {LANES} channels"
    reader = _other_reader(image, kinds)
    return f"{reader} reads it as it is" if reader else "an operator that reads it has another image without blocks"


def _has_blocks(image: SSAValue) -> bool:
    """Whether a tensor is an image of several pixels, or of any number, with whole blocks of channels."""
    shape = shape_of(image)
    if len(shape) != 4:
        return False
    _, channels, *extents = shape
    return isinstance(channels, int) and not channels % LANES and extents != [1, 1]


# Kinds of operators


class _Kind(ABC):
    """How operators support images with blocks."""

    @abstractmethod
    def reads(self, op: OperatorOp, index: int) -> bool:
        """Whether an operand may be an image with blocks."""

    @abstractmethod
    def writes(self, op: OperatorOp) -> bool:
        """Whether the result may be an image with blocks."""

    def without_blocks(self, op: OperatorOp, blocked: AbstractSet[SSAValue]) -> AbstractSet[SSAValue]:
        """The images that have no blocks since other images of an operator have none. blocked: those that may."""
        images = {*(arg for n, arg in enumerate(op.args) if self.reads(op, n)), op.outputs[0]}
        return set() if images <= blocked else images

    @abstractmethod
    def convert(self, op: OperatorOp, builder: RelayBuilder, args: Sequence[SSAValue], writes: bool) -> SSAValue:
        """The result of an operator with images in blocks in place of `op`. writes: whether it is one."""


def _layouts(op: OperatorOp, args: Sequence[SSAValue], writes: bool) -> dict[str, str]:
    """The attributes for the layouts of a convolution with new operands. writes: whether the result has blocks."""
    reads = args[0] is not op.args[0]
    return {"data_layout": _BLOCKS if reads else "NCHW", "out_layout": _BLOCKS if writes else "NCHW"}


@dataclass(frozen=True)
class _Convolution(_Kind):
    """Direct convolutions with constant weights, which are packed. form: the operator with packed weights."""

    form: Form

    def reads(self, op: OperatorOp, index: int) -> bool:
        inner = shape_of(op.args[1])[1]
        return index == 0 and (op.attribute_value("groups") == 1 or (isinstance(inner, int) and inner % LANES == 0))

    def writes(self, op: OperatorOp) -> bool:
        return True

    def without_blocks(self, op: OperatorOp, blocked: AbstractSet[SSAValue]) -> AbstractSet[SSAValue]:
        summands = prod(size for size in shape_of(op.args[1])[1:] if isinstance(size, int))
        is_loss = op.outputs[0] not in blocked and summands < LONG and self.form.loss(op)
        return {op.args[0]} if is_loss else set()

    def convert(self, op: OperatorOp, builder: RelayBuilder, args: Sequence[SSAValue], writes: bool) -> SSAValue:
        return self.form.operator(op, builder, args[0], **_layouts(op, args, writes))


class _Depthwise(_Convolution):
    """Depthwise convolutions with constant weights. A result with blocks needs an image with blocks; an image with
    blocks, of dynamic size, needs a result with blocks."""

    def reads(self, op: OperatorOp, index: int) -> bool:
        return index == 0

    def without_blocks(self, op: OperatorOp, blocked: AbstractSet[SSAValue]) -> AbstractSet[SSAValue]:
        if op.args[0] not in blocked:
            return {op.outputs[0]}
        return set() if op.outputs[0] in blocked or has_static_images(*op.args) else {op.args[0]}


class _Winograd(_Kind):
    """Convolutions by Winograd's algorithm, with any weights."""

    def reads(self, op: OperatorOp, index: int) -> bool:
        return index == 0 and op.attribute_value("data_layout") == "NCHW"

    def writes(self, op: OperatorOp) -> bool:
        return op.attribute_value("out_layout") in ("", "NCHW")

    def without_blocks(self, op: OperatorOp, blocked: AbstractSet[SSAValue]) -> AbstractSet[SSAValue]:
        return set()

    def convert(self, op: OperatorOp, builder: RelayBuilder, args: Sequence[SSAValue], writes: bool) -> SSAValue:
        attributes = {**op.explicit_attributes, **_layouts(op, args, writes)}
        return builder.operator("nn.conv2d_winograd", *args, **attributes)


class _Elements(_Kind):
    """Operators on elements, and on those of tensors that are broadcast: along rows and columns, or along channels."""

    def reads(self, op: OperatorOp, index: int) -> bool:
        return shape_of(op.args[index]) == shape_of(op.outputs[0])

    def writes(self, op: OperatorOp) -> bool:
        return all(self.reads(op, n) or self._shape(op, n) is not None for n in range(len(op.args)))

    def convert(self, op: OperatorOp, builder: RelayBuilder, args: Sequence[SSAValue], writes: bool) -> SSAValue:
        operands = list[SSAValue]()
        for n, arg in enumerate(args):
            shape = None if self.reads(op, n) else self._shape(op, n)
            operands.append(builder.operator("reshape", arg, newshape=shape) if shape else arg)
        if op.operator.name == "nn.bias_add":
            return builder.operator("add", *operands)
        return builder.operator(op.operator.name, *operands, **op.explicit_attributes)

    def _shape(self, op: OperatorOp, index: int) -> list[int] | None:
        """The shape, with blocks, of an operand that is broadcast; empty for a number, None if it has no such shape."""
        shape: list[Size] = list(shape_of(op.args[index]))
        channels = shape_of(op.outputs[0])[1]
        if op.operator.name == "nn.bias_add" and index == 1:
            shape = [*shape, 1, 1]
        n, c, *image = *([1] * (4 - len(shape))), *shape
        batch, known = n if isinstance(n, int) else -1, [size for size in image if isinstance(size, int)]
        if not shape or len(known) < len(image):
            return None if shape else []
        if c == 1:
            return [batch, 1, *known, 1]
        if c == channels and known == [1, 1] and isinstance(c, int):
            return [batch, c // LANES, 1, 1, LANES]
        return None


class _Pool(_Kind):
    """Pools of windows: those of images of three dimensions, the last of which are the channels of a block."""

    def reads(self, op: OperatorOp, index: int) -> bool:
        return True

    def writes(self, op: OperatorOp) -> bool:
        return op.attribute_value("layout") == "NCHW"

    def convert(self, op: OperatorOp, builder: RelayBuilder, args: Sequence[SSAValue], writes: bool) -> SSAValue:
        name, values = op.operator.name, dict(op.attribute_values)
        for window in ("pool_size", "strides", "dilation"):
            values[window] = [*each_dimension(values[window], 2, window), 1]
        pairs = paddings(values["padding"], 2, name)
        values["padding"] = [*(before for before, _ in pairs), 0, *(after for _, after in pairs), 0]
        return builder.operator(name.replace("2d", "3d"), *args, **{**values, "layout": "NCDHW"})


class _OfPixels(_Kind):
    """Reductions of all rows and columns of an image, whose results have no blocks."""

    def reads(self, op: OperatorOp, index: int) -> bool:
        if op.operator.name in _POOLS_OF_PIXELS:
            return op.attribute_value("layout") == "NCHW" and shape_of(op.outputs[0])[2:] == (1, 1)
        axes = op.attribute_value("axis")
        named = sorted(axis % 4 for axis in axes) if isinstance(axes, list | tuple) else axes
        return named == [2, 3] and not op.attribute_value("exclude")

    def writes(self, op: OperatorOp) -> bool:
        return False

    def without_blocks(self, op: OperatorOp, blocked: AbstractSet[SSAValue]) -> AbstractSet[SSAValue]:
        return set()

    def convert(self, op: OperatorOp, builder: RelayBuilder, args: Sequence[SSAValue], writes: bool) -> SSAValue:
        reduced = builder.operator(_POOLS_OF_PIXELS.get(op.operator.name, op.operator.name), *args, axis=[2, 3])
        shape = [n if isinstance(n, int) else -1 for n in shape_of(op.outputs[0])]
        return builder.operator("reshape", reduced, newshape=shape)


class _Concatenation(_Kind):
    """Concatenations along channels."""

    def reads(self, op: OperatorOp, index: int) -> bool:
        return True

    def writes(self, op: OperatorOp) -> bool:
        return op.attribute_value("axis") in (1, -3)

    def convert(self, op: OperatorOp, builder: RelayBuilder, args: Sequence[SSAValue], writes: bool) -> SSAValue:
        return builder.operator("concatenate", *args, axis=1)


class _Slice(_Kind):
    """Slices of rows and columns."""

    def reads(self, op: OperatorOp, index: int) -> bool:
        return True

    def writes(self, op: OperatorOp) -> bool:
        axes = op.attribute_value("axes")
        return axes is not None and {axis % 4 for axis in axes} <= {2, 3}

    def convert(self, op: OperatorOp, builder: RelayBuilder, args: Sequence[SSAValue], writes: bool) -> SSAValue:
        axes = [axis % 4 for axis in op.attribute_value("axes")]
        return builder.operator("strided_slice", *args, **{**op.explicit_attributes, "axes": axes})


_POOLS_OF_PIXELS = {
    "nn.global_avg_pool2d": "mean",
    "nn.adaptive_avg_pool2d": "mean",
    "nn.global_max_pool2d": "max",
    "nn.adaptive_max_pool2d": "max",
}
"""The reductions that pools compute whose results have one pixel."""
_KINDS: Mapping[str, _Kind] = {
    **dict.fromkeys(("nn.max_pool2d", "nn.avg_pool2d"), _Pool()),
    **dict.fromkeys(("mean", "sum", "max", "min", *_POOLS_OF_PIXELS), _OfPixels()),
    "concatenate": _Concatenation(),
    "strided_slice": _Slice(),
    "nn.conv2d_winograd": _Winograd(),
}
"""The kinds of operators by name, besides direct convolutions and other operators on elements."""
_ELEMENTS = _Elements()


def _kind_of(op: OperatorOp) -> _Kind | None:
    """How an operator supports images with blocks; None if it does not."""
    name = op.operator.name
    if name == "nn.conv2d":
        form = form_of(op)
        if form is None or form.lack(op) or not isinstance(op.args[1].owner, ConstantOp):
            return None
        return _Depthwise(form) if "depthwise" in form.packed else _Convolution(form)
    if name == "nn.bias_add":
        return _ELEMENTS if adds_to_channels(op) else None
    if name in _KINDS:
        return _KINDS[name]
    return _ELEMENTS if is_of_elements(op) else None

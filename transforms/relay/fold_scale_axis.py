"""`relay-fold-scale-axis`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint

from ...core.dtypes import parse_dtype
from ...module import constants_of
from ...operators.relay import ConstantOp, OperatorOp, RelayBuilder, constant_array, dtype_of_tensor, shape_of
from .graphs import erase, graphs, replace

Array: TypeAlias = npt.NDArray[Any]


class RelayFoldScaleAxisPass(ModulePass):
    """Multiply the constant weights of products and convolutions instead of what they compute, or of what they read.

    A factor that is a constant for each channel, or for all, goes from behind a convolution or a product of matrices
    into its weights, and on the way there into biases and constants that are added, and through `nn.relu` if it is
    positive. A factor of each channel in front goes into the weights too. What is multiplied are constants, which
    `relay-fold-constants` computes. Floats only; results may round differently.

    Before
        %0 = relay.nn.dense(%x, %w) : (tensor<2x3xf32>, tensor<4x3xf32>) -> tensor<2x4xf32>
        %1 = relay.multiply(%0, %s) : (tensor<2x4xf32>, tensor<4xf32>) -> tensor<2x4xf32>

    After
        %0 = relay.reshape(%s) {newshape = [-1, 1]} : (tensor<4xf32>) -> tensor<4x1xf32>
        %1 = relay.multiply(%w, %0) : (tensor<4x3xf32>, tensor<4x1xf32>) -> tensor<4x3xf32>
        %2 = relay.nn.dense(%x, %1) : (tensor<2x3xf32>, tensor<4x3xf32>) -> tensor<2x4xf32>

    Must hold before: weights and factors are constants (`relay-fold-constants`); what is folded has no other use.

    Gone after: nothing.
    """

    name = "relay-fold-scale-axis"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for func in graphs(op):
            for inner in [each for each in func.walk() if isinstance(each, OperatorOp)]:
                if inner.operator.name == "multiply" and inner.parent is not None:
                    _fold(inner, constants_of(op))


def _fold(op: OperatorOp, constants: dict[str, Array]) -> None:
    """Fold one multiplication, if it is one by a constant."""
    for data, factor in (op.args, op.args[::-1]):
        scale = _scale_of(factor, data)
        if scale is None or data.type != op.outputs[0].type:
            continue
        folder = _Folder(RelayBuilder(InsertPoint.before(op), constants, op.location), scale)
        made = folder.behind(data)
        if made is not None:
            replace(op, [made])
            _erase_chain(data)
        elif folder.in_front(op, data):
            replace(op, [data])
        else:
            continue
        return


def _erase_chain(value: SSAValue) -> None:
    """Erase what has been written anew: operators that nothing uses, from the last one on."""
    op = value.owner
    if isinstance(op, OperatorOp) and not any(output.uses for output in op.outputs):
        args = list(op.args)
        erase(op)
        for arg in args:
            _erase_chain(arg)


@dataclass(frozen=True)
class _Scale:
    """Constant factors along an axis of a tensor, or for all of it. axis: None for all."""

    value: SSAValue
    axis: int | None


def _scale_of(factor: SSAValue, data: SSAValue) -> _Scale | None:
    """A constant as factors of a tensor, if it is one number for each place along one axis, or for all."""
    rank, shape = len(shape_of(data)), shape_of(factor)
    is_float = parse_dtype(dtype_of_tensor(data)).is_float
    if not isinstance(factor.owner, ConstantOp) or not is_float or len(shape) > rank:
        return None
    long = [d + rank - len(shape) for d, size in enumerate(shape) if size != 1]
    return _Scale(factor, long[0] if long else None) if len(long) < 2 else None


@dataclass(frozen=True)
class _Weights:
    """Which axis of weights has the channels that are computed, and which those that are read; and where these are.

    made, read: axes of the result and of the data.
    """

    made: int
    outputs: int
    read: int
    inputs: int | None


def _weights_of(op: OperatorOp) -> _Weights | None:
    """Of an operator whose second operand are constant weights."""
    name, rank = op.operator.name, len(shape_of(op.args[0]))
    if len(op.args) < 2 or not isinstance(op.args[1].owner, ConstantOp):
        return None
    if name == "nn.dense":
        return _Weights(rank - 1, 0, rank - 1, 1)
    if name == "nn.matmul":
        outputs = 0 if op.value("transpose_b") else 1
        return _Weights(1, outputs, 0 if op.value("transpose_a") else 1, 1 - outputs)
    if not name.startswith("nn.conv") or "kernel_layout" not in {each.name for each in op.operator.attributes}:
        return None
    kernel: str = op.value("kernel_layout")
    data: str = op.value("data_layout")
    is_whole = op.value("groups") == 1
    if name.endswith("_transpose") and not is_whole:
        return None  # an axis counts the outputs of one group
    result: str = op.value("out_layout") or data
    return _Weights(result.index("C"), kernel.index("O"), data.index("C"), kernel.index("I") if is_whole else None)


class _Folder:
    """Moves factors into weights. Operators are written anew in front of the multiplication."""

    def __init__(self, build: RelayBuilder, scale: _Scale):
        self.build = build
        self.scale = scale

    def behind(self, value: SSAValue) -> SSAValue | None:
        """A tensor times the factors, which go into the weights that it is made with; None if there are none."""
        op = value.owner
        if not isinstance(op, OperatorOp) or len(list(value.uses)) != 1:
            return None
        match op.operator.name:
            case "nn.relu":
                inner = self.behind(op.args[0]) if self._is_positive() else None
                return None if inner is None else self.build.operator("nn.relu", inner)
            case "nn.bias_add":
                return self._bias(op)
            case "add" | "subtract":
                return self._sum(op, value)
            case _:
                return self._product(op, value)

    def in_front(self, op: OperatorOp, data: SSAValue) -> bool:
        """Put the factors of what one operator reads into its weights. Returns whether it does."""
        uses = list(op.outputs[0].uses)
        reader = uses[0].operation if len(uses) == 1 else None
        if not isinstance(reader, OperatorOp) or reader.parent is not op.parent or reader.args[0] is not op.outputs[0]:
            return False
        weights = _weights_of(reader)
        if weights is None or weights.inputs is None or self.scale.axis not in (None, weights.read):
            return False
        if dtype_of_tensor(reader.args[1]) != dtype_of_tensor(data):
            return False
        weight = reader.args[1]
        self.build = RelayBuilder(InsertPoint.before(reader), self.build.constants, reader.location)
        factors = self._along(len(shape_of(weight)), weights.inputs)
        reader.operands[1] = self.build.operator("multiply", weight, factors)
        return True

    def _product(self, op: OperatorOp, value: SSAValue) -> SSAValue | None:
        weights = _weights_of(op)
        if weights is None or self.scale.axis not in (None, weights.made):
            return None
        weight = op.args[1]
        if dtype_of_tensor(weight) != dtype_of_tensor(value):
            return None
        scaled = self.build.operator("multiply", weight, self._along(len(shape_of(weight)), weights.outputs))
        return self.build.operator(op.operator.name, op.args[0], scaled, *op.args[2:], **op.values)

    def _bias(self, op: OperatorOp) -> SSAValue | None:
        data, bias = op.args
        axis = op.value("axis") % len(shape_of(data))
        if not isinstance(bias.owner, ConstantOp) or self.scale.axis not in (None, axis):
            return None
        inner = self.behind(data)
        if inner is None:
            return None
        scaled = self.build.operator("multiply", bias, self._along(1, 0))
        return self.build.operator("nn.bias_add", inner, scaled, axis=axis)

    def _sum(self, op: OperatorOp, value: SSAValue) -> SSAValue | None:
        for place, constant in enumerate(op.args):
            data = op.args[1 - place]
            if isinstance(constant.owner, ConstantOp) and data.type == value.type:
                inner = self.behind(data)
                if inner is None:
                    return None
                scaled = self.build.operator("multiply", constant, self.scale.value)
                args = (scaled, inner) if place == 0 else (inner, scaled)
                return self.build.operator(op.operator.name, *args)
        return None

    def _along(self, rank: int, axis: int) -> SSAValue:
        """The factors in the shape in which they go along an axis of a tensor of a number of dimensions."""
        shape = [] if self.scale.axis is None else [-1 if d == axis else 1 for d in range(rank)]
        return self.build.operator("reshape", self.scale.value, newshape=shape)

    def _is_positive(self) -> bool:
        factor = self.scale.value.owner
        assert isinstance(factor, ConstantOp)
        array = constant_array(factor, self.build.constants)
        return array is not None and bool(((array > 0) & np.isfinite(array)).all())

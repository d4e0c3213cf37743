"""The pass `relay-fold-scale-axis`."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint

from ...core.dtypes import parse_dtype
from ...core.remarks import PassRemarks, Place
from ...core.walking import find_ops
from ...module import constants_of
from ...operators.relay import ConstantOp, OperatorOp, RelayBuilder, constant_array, dtype_of_tensor, shape_of
from .graphs import erase_unused, graphs_of, replace

_remarks = PassRemarks("relay-fold-scale-axis")

Array: TypeAlias = npt.NDArray[Any]


class RelayFoldScaleAxisPass(ModulePass):
    """Folds constant factors before or after products and convolutions into their constant weights.

    A factor that is constant for each channel, or a scalar, moves from the result of a convolution or matrix product
    into its weights, and on the way into biases and constants that are added, and through `nn.relu` if it is positive.
    A factor of each channel of the data moves into the weights too. The multiplied weights are constants, which
    `relay-fold-constants` computes. Floats only; results may round differently.

    Before
        %0 = relay.nn.dense(%x, %w) : (tensor<2x3xf32>, tensor<4x3xf32>) -> tensor<2x4xf32>
        %1 = relay.multiply(%0, %s) : (tensor<2x4xf32>, tensor<4xf32>) -> tensor<2x4xf32>

    After
        %0 = relay.reshape(%s) {newshape = [-1, 1]} : (tensor<4xf32>) -> tensor<4x1xf32>
        %1 = relay.multiply(%w, %0) : (tensor<4x3xf32>, tensor<4x1xf32>) -> tensor<4x3xf32>
        %2 = relay.nn.dense(%x, %1) : (tensor<2x3xf32>, tensor<4x3xf32>) -> tensor<2x4xf32>

    Must hold before: weights and factors are constants (`relay-fold-constants`); the folded tensors have no other use.

    Gone after: nothing.
    """

    name = "relay-fold-scale-axis"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for func in graphs_of(op):
            for inner in list(find_ops(func, OperatorOp)):
                if inner.operator.name == "multiply" and inner.parent is not None:
                    _fold(inner, constants_of(op))


def _fold(op: OperatorOp, constants: dict[str, Array]) -> None:
    """Folds one multiplication if one of its operands is a constant factor."""
    place, obstacles = Place.of(op), list[str]()
    for data, factor in (op.args, op.args[::-1]):
        if data.type != op.outputs[0].type or not _is_factor(factor, data):
            continue
        if not isinstance(factor.owner, ConstantOp):
            obstacles.append("it is no constant")
            continue
        folder = _Folder(RelayBuilder(InsertPoint.before(op), constants, op.location), _scale_of(factor, data))
        scaled = folder.scale_result(data)
        if scaled is not None:
            replace(op, [scaled])
            erase_unused(data)
        elif folder.scale_reader(op, data):
            replace(op, [data])
        else:
            obstacles += folder.obstacles
            continue
        _remarks.applied(place, lambda: "the factor is part of constant weights")
        return
    if obstacles:
        _remarks.missed(place, lambda: f"the factor is not folded into weights: {'; '.join(dict.fromkeys(obstacles))}")


@dataclass(frozen=True)
class _Scale:
    """Constant factors along an axis of a tensor; axis None for one factor for the whole tensor."""

    value: SSAValue
    axis: int | None


def _is_factor(factor: SSAValue, data: SSAValue) -> bool:
    """Whether a tensor of floats has factors that vary along at most one axis."""
    is_float = parse_dtype(dtype_of_tensor(data)).is_float
    return is_float and len(shape_of(factor)) <= len(shape_of(data)) and len(_long_axes(factor, data)) < 2


def _scale_of(factor: SSAValue, data: SSAValue) -> _Scale:
    """The factors of a tensor, for which `_is_factor` holds."""
    axes = _long_axes(factor, data)
    return _Scale(factor, axes[0] if axes else None)


def _long_axes(factor: SSAValue, data: SSAValue) -> list[int]:
    """The axes of a tensor along which its factors have several elements."""
    rank, shape = len(shape_of(data)), shape_of(factor)
    return [d + rank - len(shape) for d, size in enumerate(shape) if size != 1]


@dataclass(frozen=True)
class _Weights:
    """The channel axes of weights: outputs and inputs, with the axes of the result and of the data that they correspond
    to.

    made: the channel axis of the result, `outputs` that of the weights.  read: the channel axis of the data, `inputs`
    that of the weights, None for grouped convolutions.
    """

    computed: int
    outputs: int
    read: int
    inputs: int | None


def _weights_of(op: OperatorOp) -> _Weights | None:
    """The channel axes of an operator whose second operand is a weight constant; None for other operators."""
    name, rank = op.operator.name, len(shape_of(op.args[0]))
    if len(op.args) < 2 or not isinstance(op.args[1].owner, ConstantOp):
        return None
    if name == "nn.dense":
        return _Weights(rank - 1, 0, rank - 1, 1)
    if name == "nn.matmul":
        outputs = 0 if op.attribute_value("transpose_b") else 1
        return _Weights(1, outputs, 0 if op.attribute_value("transpose_a") else 1, 1 - outputs)
    if not name.startswith("nn.conv") or "kernel_layout" not in {each.name for each in op.operator.attributes}:
        return None
    kernel: str = op.attribute_value("kernel_layout")
    data: str = op.attribute_value("data_layout")
    is_whole = op.attribute_value("groups") == 1
    if name.endswith("_transpose") and not is_whole:
        return None  # the axis of outputs covers one group only
    result: str = op.attribute_value("out_layout") or data
    return _Weights(result.index("C"), kernel.index("O"), data.index("C"), kernel.index("I") if is_whole else None)


def _reader(op: OperatorOp) -> OperatorOp | None:
    """The only reader of an operator, in its block, if it reads the result as its first operand."""
    uses = list(op.outputs[0].uses)
    reader = uses[0].operation if len(uses) == 1 else None
    if not isinstance(reader, OperatorOp) or reader.parent is not op.parent or reader.args[0] is not op.outputs[0]:
        return None
    return reader


@dataclass
class _Folder:
    """Moves factors into weights. The new operators precede the multiplication.

    obstacles: the reasons why factors stay, if they do.
    """

    build: RelayBuilder
    scale: _Scale
    obstacles: list[str] = field(default_factory=list[str])

    def scale_result(self, value: SSAValue) -> SSAValue | None:
        """The tensor `value` times the factors, computed with scaled weights; None if no weights accept the factors."""
        op = value.owner
        if not isinstance(op, OperatorOp):
            return self._stay("no operator is before it")
        if len(list(value.uses)) != 1:
            return self._stay(f"{op.operator.name} before it has other readers")
        match op.operator.name:
            case "nn.relu":
                if not self._is_positive():
                    return self._stay("nn.relu is before it, and it is not positive")
                inner = self.scale_result(op.args[0])
                return None if inner is None else self.build.operator("nn.relu", inner)
            case "nn.bias_add":
                return self._bias(op)
            case "add" | "subtract":
                return self._sum(op, value)
            case _:
                return self._product(op, value)

    def scale_reader(self, op: OperatorOp, data: SSAValue) -> bool:
        """Moves the factors into the weights of the single reader of `op`. Returns whether it did."""
        reader = _reader(op)
        if reader is None:
            self._stay("no operator alone reads the product")
            return False
        weights = _weights_of(reader)
        if weights is None or weights.inputs is None:
            self._stay(f"{reader.operator.name} after it has no constant weights of all inputs")
            return False
        if not self._fits(reader, weights.read, data):
            return False
        weight = reader.args[1]
        self.build = RelayBuilder(InsertPoint.before(reader), self.build.constants, reader.location)
        factors = self._along(len(shape_of(weight)), weights.inputs)
        reader.operands[1] = self.build.operator("multiply", weight, factors)
        return True

    def _product(self, op: OperatorOp, value: SSAValue) -> SSAValue | None:
        weights = _weights_of(op)
        if weights is None:
            return self._stay(f"{op.operator.name} before it has no constant weights")
        if not self._fits(op, weights.computed, value):
            return None
        weight = op.args[1]
        scaled = self.build.operator("multiply", weight, self._along(len(shape_of(weight)), weights.outputs))
        return self.build.operator(op.operator.name, op.args[0], scaled, *op.args[2:], **op.explicit_attributes)

    def _bias(self, op: OperatorOp) -> SSAValue | None:
        data, bias = op.args
        axis = op.attribute_value("axis") % len(shape_of(data))
        if not isinstance(bias.owner, ConstantOp) or self.scale.axis not in (None, axis):
            return self._stay("the bias before it is no constant, or has another axis")
        inner = self.scale_result(data)
        if inner is None:
            return None
        scaled = self.build.operator("multiply", bias, self._along(1, 0))
        return self.build.operator("nn.bias_add", inner, scaled, axis=axis)

    def _sum(self, op: OperatorOp, value: SSAValue) -> SSAValue | None:
        for index, constant in enumerate(op.args):
            data = op.args[1 - index]
            if isinstance(constant.owner, ConstantOp) and data.type == value.type:
                inner = self.scale_result(data)
                if inner is None:
                    return None
                scaled = self.build.operator("multiply", constant, self.scale.value)
                args = (scaled, inner) if index == 0 else (inner, scaled)
                return self.build.operator(op.operator.name, *args)
        return self._stay(f"no operand of {op.operator.name} before it is a constant")

    def _fits(self, op: OperatorOp, axis: int, data: SSAValue) -> bool:
        """Whether the factors are along the channels of an operator, whose weights have the type of the data."""
        name, dtype = op.operator.name, dtype_of_tensor(op.args[1])
        if self.scale.axis not in (None, axis):
            self._stay(f"it is along axis {self.scale.axis}, the channels of {name} are axis {axis}")
        elif dtype != dtype_of_tensor(data):
            self._stay(f"the weights of {name} are {dtype}, the data {dtype_of_tensor(data)}")
        else:
            return True
        return False

    def _stay(self, obstacle: str) -> None:
        """Records a reason why the factors stay."""
        self.obstacles.append(obstacle)

    def _along(self, rank: int, axis: int) -> SSAValue:
        """The factors, reshaped to broadcast along `axis` of a tensor of rank `rank`."""
        shape = [] if self.scale.axis is None else [-1 if d == axis else 1 for d in range(rank)]
        return self.build.operator("reshape", self.scale.value, newshape=shape)

    def _is_positive(self) -> bool:
        factor = self.scale.value.owner
        assert isinstance(factor, ConstantOp)
        array = constant_array(factor, self.build.constants)
        return array is not None and bool(((array > 0) & np.isfinite(array)).all())

"""Types of operands, such as weights, that follow from the types of the other operands and from attributes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

from .axes import nonnegative_axes, nonnegative_axis
from .definition import Operator
from .windows import SPATIAL, each_dimension, layout_axes, paddings

OperandType: TypeAlias = tuple[Sequence[int | str], str]
"""The shape and the data type of a tensor; a symbolic extent is text."""
OperandTypes: TypeAlias = Mapping[str, OperandType]
AttributeValues: TypeAlias = Mapping[str, Any]


def missing_operands(operator: Operator, known: OperandTypes, attributes: AttributeValues) -> dict[str, OperandType]:
    """The types of the unknown operands that follow from the known operands.

    known: the types of the known operands, by name.  attributes: the attributes that differ from their defaults.
    Nothing is checked: an operator checks its operands when it is applied.
    """
    rule = _RULES.get(operator.name)
    if rule is None or operator.operands[0] not in known:
        return {}
    values = {attribute.name: attribute.default for attribute in operator.attributes} | dict(attributes)
    return {name: kind for name, kind in rule(operator.name, known, values).items() if name not in known}


def _convolution(name: str, known: OperandTypes, attributes: AttributeValues) -> dict[str, OperandType]:
    shape, dtype = known["data"]
    rank = len(shape) - 2
    if attributes["channels"] is None or attributes["kernel_size"] is None or not 1 <= rank <= 3:
        return {}
    image = SPATIAL[3 - rank :]
    channels = shape[layout_axes(attributes["data_layout"], f"NC{image}", name)[1]]
    if not isinstance(channels, int):
        return {}
    outer, inner = attributes["channels"], channels // attributes["groups"]
    if name.endswith("_transpose"):
        outer, inner = attributes["channels"] // attributes["groups"], channels
    sizes = [outer, inner, *each_dimension(attributes["kernel_size"], rank, name)]
    return {"weight": (_in_layout(sizes, attributes["kernel_layout"], f"OI{image}", name), dtype)}


def _deformable(name: str, known: OperandTypes, attributes: AttributeValues) -> dict[str, OperandType]:
    found = _convolution(name, known, attributes)
    shape, dtype = known["data"]
    order = layout_axes(attributes["data_layout"], "NCHW", name)
    images, _, *extents = (shape[axis] for axis in order)
    if not found or not all(isinstance(extent, int) for extent in extents):
        return found
    sizes, steps, far = (each_dimension(attributes[each], 2, name) for each in ("kernel_size", "strides", "dilation"))
    around = paddings(attributes["padding"], 2, name)
    counts = [
        (int(extent) + before + after - (size - 1) * distance - 1) // step + 1
        for extent, size, step, distance, (before, after) in zip(extents, sizes, steps, far, around, strict=True)
    ]
    moves = [images, 2 * sizes[0] * sizes[1] * attributes["deformable_groups"], *counts]
    placed = dict(zip(order, moves, strict=True))
    return {**found, "offset": ([placed[axis] for axis in range(4)], dtype)}


def _in_layout(sizes: Sequence[int], layout: str, letters: str, name: str) -> list[int]:
    extents = dict(zip(layout_axes(layout, letters, name), sizes, strict=True))
    return [extents[d] for d in range(len(letters))]


def _dense(_name: str, known: OperandTypes, attributes: AttributeValues) -> dict[str, OperandType]:
    shape, dtype = known["data"]
    return {} if attributes["units"] is None or not shape else {"weight": ((attributes["units"], shape[-1]), dtype)}


def _along_axis(*operands: str) -> Callable[[str, OperandTypes, AttributeValues], dict[str, OperandType]]:
    """The rule for operands with one element for each index along the axis, or axes."""

    def rule(name: str, known: OperandTypes, attributes: AttributeValues) -> dict[str, OperandType]:
        shape, dtype = known["data"]
        axis = attributes["axis"]
        axes = (
            (nonnegative_axis(axis, len(shape), name),)
            if isinstance(axis, int)
            else nonnegative_axes(axis, len(shape), name)
        )
        return dict.fromkeys(operands, ([shape[d] for d in axes], dtype))

    return rule


_RULES: dict[str, Callable[[str, OperandTypes, AttributeValues], dict[str, OperandType]]] = {
    **{f"nn.conv{rank}d{kind}": _convolution for rank in (1, 2, 3) for kind in ("", "_transpose")},
    "nn.deformable_conv2d": _deformable,
    "nn.dense": _dense,
    "nn.bias_add": _along_axis("bias"),
    "nn.prelu": _along_axis("alpha"),
    **dict.fromkeys(
        ("nn.batch_norm", "nn.batch_norm_training"), _along_axis("gamma", "beta", "moving_mean", "moving_var")
    ),
    **dict.fromkeys(("nn.layer_norm", "nn.instance_norm", "nn.group_norm"), _along_axis("gamma", "beta")),
    "nn.rms_norm": _along_axis("weight"),
}

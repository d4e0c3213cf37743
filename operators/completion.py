"""What the types of operands are that nobody has said, such as weights: what an operator asks for beside the others."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

from .axes import axes_of, axis_of
from .definition import Operator
from .windows import SPATIAL, each_dimension, order_of

Kind: TypeAlias = tuple[Sequence[int | str], str]
"""The shape and the data type of a tensor. Sizes that are not known are text."""
Kinds: TypeAlias = Mapping[str, Kind]
Said: TypeAlias = Mapping[str, Any]


def missing_operands(operator: Operator, known: Kinds, attributes: Said) -> dict[str, Kind]:
    """The types of the operands that are not known, of those that follow from the others.

    known: the types of some operands, by name.  attributes: those that differ from what they are by default. Nothing is
    checked: an operator does so when it is applied.
    """
    find = _RULES.get(operator.name)
    if find is None or operator.operands[0] not in known:
        return {}
    said = {attribute.name: attribute.default for attribute in operator.attributes} | dict(attributes)
    return {name: kind for name, kind in find(operator.name, known, said).items() if name not in known}


def _convolution(name: str, known: Kinds, said: Said) -> dict[str, Kind]:
    shape, dtype = known["data"]
    rank = len(shape) - 2
    if said["channels"] is None or said["kernel_size"] is None or not 1 <= rank <= 3:
        return {}
    image = SPATIAL[3 - rank :]
    channels = shape[order_of(said["data_layout"], f"NC{image}", name)[1]]
    if not isinstance(channels, int):
        return {}
    outer, inner = said["channels"], channels // said["groups"]
    if name.endswith("_transpose"):
        outer, inner = said["channels"] // said["groups"], channels
    usual = [outer, inner, *each_dimension(said["kernel_size"], rank, name)]
    return {"weight": (_in_layout(usual, said["kernel_layout"], f"OI{image}", name), dtype)}


def _in_layout(usual: Sequence[int], layout: str, letters: str, name: str) -> list[int]:
    placed = dict(zip(order_of(layout, letters, name), usual, strict=True))
    return [placed[d] for d in range(len(letters))]


def _dense(name: str, known: Kinds, said: Said) -> dict[str, Kind]:
    shape, dtype = known["data"]
    return {} if said["units"] is None or not shape else {"weight": ((said["units"], shape[-1]), dtype)}


def _along_axis(*operands: str) -> Callable[[str, Kinds, Said], dict[str, Kind]]:
    """Operands that have a number for each place along the axis, or axes."""

    def find(name: str, known: Kinds, said: Said) -> dict[str, Kind]:
        shape, dtype = known["data"]
        axis = said["axis"]
        axes = (axis_of(axis, len(shape), name),) if isinstance(axis, int) else axes_of(axis, len(shape), name)
        return dict.fromkeys(operands, ([shape[d] for d in axes], dtype))

    return find


_RULES: dict[str, Callable[[str, Kinds, Said], dict[str, Kind]]] = {
    **{f"nn.conv{rank}d{kind}": _convolution for rank in (1, 2, 3) for kind in ("", "_transpose")},
    "nn.dense": _dense,
    "nn.bias_add": _along_axis("bias"),
    "nn.prelu": _along_axis("alpha"),
    "nn.batch_norm": _along_axis("gamma", "beta", "moving_mean", "moving_var"),
    **dict.fromkeys(("nn.layer_norm", "nn.instance_norm", "nn.group_norm"), _along_axis("gamma", "beta")),
    "nn.rms_norm": _along_axis("weight"),
}

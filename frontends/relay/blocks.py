"""Operators on tensors in layouts with blocks, such as `NCHW16c`: a graph computes them on tensors without blocks,
between changes of the layouts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from xdsl.ir import SSAValue

from ...operators import Operator
from ...operators.completion import OperandType, missing_operands
from ...operators.layouts import Layout
from ...operators.relay import RelayBuilder

_DATA = ("data_layout", "layout")


def _layouts(operator: Operator, attributes: Mapping[str, Any]) -> dict[str, str]:
    """The layouts of an operator by the name of the attribute; empty unless one of them has blocks, and for operators
    that compute tensors with blocks: those on weights in an order of their own."""
    names = {each.name for each in operator.attributes}
    if operator.name == "layout_transform" or ("data_layout" in names and "kernel_layout" not in names):
        return {}
    values = {each.name: attributes.get(each.name, each.default) for each in operator.attributes}
    layouts = {name: value for name, value in values.items() if name in (*_DATA, "kernel_layout", "out_layout")}
    return layouts if any(any(map(str.isdigit, value)) for value in layouts.values()) else {}


def _operand_layouts(operator: Operator, layouts: Mapping[str, str]) -> dict[str, str]:
    """The layouts by the name of the operand."""
    data = next(layouts[name] for name in _DATA if name in layouts)
    named = {operator.operands[0]: data}
    return {**named, operator.operands[1]: layouts["kernel_layout"]} if "kernel_layout" in layouts else named


def _plain(layouts: Mapping[str, str]) -> dict[str, str]:
    """The layouts without blocks."""
    return {name: Layout.of(value).letters if value else value for name, value in layouts.items()}


def insert_operators(
    builder: RelayBuilder, operator: Operator, operands: Sequence[SSAValue], attributes: Mapping[str, Any]
) -> Sequence[SSAValue]:
    """The results of an operator. TeError for operands and attributes that do not match."""
    layouts = _layouts(operator, attributes)
    if not layouts:
        return builder.operators(operator.name, *operands, **attributes)
    own = _operand_layouts(operator, layouts)
    names = zip(operands, operator.operands, strict=False)
    plain = [
        _transformed(builder, each, own[name], Layout.of(own[name]).letters) if name in own else each
        for each, name in names
    ]
    results = builder.operators(operator.name, *plain, **{**attributes, **_plain(layouts)})
    out = layouts.get("out_layout") or own[operator.operands[0]]
    return [_transformed(builder, each, Layout.of(out).letters, out) for each in results]


def _transformed(builder: RelayBuilder, value: SSAValue, source: str, target: str) -> SSAValue:
    """A tensor in another layout."""
    if source == target:
        return value
    return builder.operator("layout_transform", value, src_layout=source, dst_layout=target)


def unknown_operands(
    operator: Operator, known: Mapping[str, OperandType], attributes: Mapping[str, Any]
) -> dict[str, OperandType]:
    """The types of the unknown operands that follow from the known ones."""
    layouts = _layouts(operator, attributes)
    if not layouts:
        return missing_operands(operator, known, attributes)
    own = _operand_layouts(operator, layouts)
    plain: dict[str, OperandType] = {}
    for name, (shape, dtype) in known.items():
        if name in own:
            if not all(isinstance(size, int) for size in shape):
                return {}
            layout = Layout.of(own[name])
            extents = layout.extents(shape)  # pyright: ignore[reportArgumentType]
            shape = Layout.of(layout.letters).shape(extents)
        plain[name] = (shape, dtype)  # pyright: ignore[reportArgumentType]
    found = missing_operands(operator, plain, {**attributes, **_plain(layouts)})
    return {name: _in_blocks(kind, own.get(name)) for name, kind in found.items()}


def _in_blocks(kind: OperandType, layout: str | None) -> OperandType:
    """The type of a tensor in a layout, from that of the tensor without blocks."""
    if layout is None:
        return kind
    shape, dtype = kind
    target = Layout.of(layout)
    return target.shape(dict(zip(target.letters, shape, strict=True))), dtype  # pyright: ignore[reportArgumentType, reportReturnType]

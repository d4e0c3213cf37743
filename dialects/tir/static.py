"""Conversion of constants in mixed static and dynamic lists from operands to attributes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from xdsl.ir import Operation

from . import AccessOp, BlockOp, ForOp, LaunchThreadOp, Mixed, constant_value
from .base import split_mixed
from .operands import set_operands


def known_constant(value: Mixed) -> Mixed:
    """The integer of a constant, or the value itself."""
    number = value if isinstance(value, int) else constant_value(value)
    return number if isinstance(number, int) else value


def make_static(op: Operation, known: Callable[[Mixed], Mixed] = known_constant) -> bool:
    """Converts the operands of an op for which `known` returns an integer to static attributes.

    The operands are bounds of loops, domains of blocks, boxes of accesses and extents of threads. Returns whether an
    operand changed.
    """
    handler = _HANDLERS.get(type(op))
    if handler is None or not op.operands:
        return False
    before = len(op.operands)
    handler(op, known)
    return len(op.operands) != before


def _loop(op: ForOp, known: Callable[[Mixed], Mixed]) -> None:
    op.static_bounds, op.operands = split_mixed(map(known, op.mixed_bounds))


def _block(op: BlockOp, known: Callable[[Mixed], Mixed]) -> None:
    if op.domains:
        op.static_domains, domains = split_mixed(known(n) for axis in op.axes for n in (axis.low, axis.extent))
        set_operands(op, [op.bindings, domains, [] if op.predicate is None else [op.predicate]])


def _access(op: AccessOp, known: Callable[[Mixed], Mixed]) -> None:
    if op.mins or op.extents:
        region = [(known(low), known(extent)) for low, extent in op.region]
        op.static_mins, mins = split_mixed(low for low, _ in region)
        op.static_extents, extents = split_mixed(extent for _, extent in region)
        set_operands(op, [[op.buffer], mins, extents])


def _threads(op: LaunchThreadOp, known: Callable[[Mixed], Mixed]) -> None:
    op.static_extent, op.operands = split_mixed([known(op.mixed_extent)])


_HANDLERS: dict[type[Operation], Callable[[Any, Callable[[Mixed], Mixed]], None]] = {
    AccessOp: _access,
    BlockOp: _block,
    ForOp: _loop,
    LaunchThreadOp: _threads,
}

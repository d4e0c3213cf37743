"""Other extents of loops, axes and declared regions."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace

from xdsl.dialects.builtin import i32
from xdsl.ir import Attribute
from xdsl.rewriter import Rewriter

from ...dialects.tir import AccessOp, AllocBufferOp, BlockOp, ForOp, MatchBufferOp, Mixed
from ...dialects.tir.base import split_mixed
from ...dialects.tir.operands import set_operands
from ...schedule.rewriting.nest import set_axes


def set_extents(
    op: AllocBufferOp | MatchBufferOp | ForOp | BlockOp | AccessOp,
    numbers: Iterable[int],
    extent: Callable[[int, Attribute], Mixed],
) -> None:
    """Replaces the extent of a loop (number 0), or the extents of the dimensions of a buffer, of the axes of a block or
    of the dimensions of a declared region with some numbers. extent: returns the new extent for a number and a type.

    Another operation takes the place of one that declares a buffer."""
    match op:
        case AllocBufferOp() | MatchBufferOp():
            shape = op.mixed_shape
            for n in numbers:
                shape[n] = extent(n, i32)
            changed = op.copy_with_shape(shape, op.type.memory_space)
            changed.location = op.location
            Rewriter.replace_op(op, changed)
        case ForOp():
            low, _, step = op.mixed_bounds
            static, operands = split_mixed([low, extent(0, op.variable.type), step])
            op.properties["static_bounds"] = static
            op.operands = operands
        case BlockOp():
            axes = op.axes
            for n in numbers:
                axes[n] = replace(axes[n], extent=extent(n, axes[n].binding.type))
            set_axes(op, axes)
        case AccessOp():
            region = op.region
            for n in numbers:
                region[n] = region[n][0], extent(n, i32)
            mins, extents = ([pair[part] for pair in region] for part in (0, 1))
            static_mins, low = split_mixed(mins)
            static_extents, high = split_mixed(extents)
            op.properties |= {"static_mins": static_mins, "static_extents": static_extents}
            set_operands(op, [[op.buffer], low, high])

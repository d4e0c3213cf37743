"""Helpers of the passes that convert loops bound to a GPU's grid to launches."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import i32
from xdsl.ir import Operation, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from ...analysis.names import loop_name
from ...analysis.threads.axes import THREAD_AXES, BoundLoop, bound_loop_range, is_thread_loop, thread_axis_of
from ...analysis.threads.fragments import check_warp, is_fragment_nest
from ...core.diagnostics import where
from ...core.dtypes import dtype_of
from ...core.errors import UnsupportedError
from ...core.gpu import WARP_SIZE
from ...dialects.tir import IfOp, LaunchThreadOp, Mixed, TirBuilder


def launch_extents(loops: Sequence[BoundLoop], kernel: Operation) -> dict[str, Mixed]:
    """The number of blocks or threads that a kernel needs along each axis of `loops`: the maximum over the loops.

    Raises UnsupportedError for a number that is computed in the kernel, and for two numbers not known to be equal.
    """
    extents: dict[str, Mixed] = {}
    for loop in loops:
        axis = thread_axis_of(loop)
        assert axis is not None
        low, extent = bound_loop_range(loop)
        for number in (low, extent):
            if isinstance(number, SSAValue) and kernel.is_ancestor(number.owner):
                raise UnsupportedError(
                    f"{where(loop)}the kernel computes the bounds of {loop_name(loop)}, bound to {axis}"
                )
        end = low + extent if isinstance(low, int) and isinstance(extent, int) else extent
        known = extents.setdefault(axis, end)
        if isinstance(known, int) and isinstance(end, int):
            extents[axis] = max(known, end)
        elif known is not end or low != 0:
            raise UnsupportedError(
                f"{where(loop)}loop {loop_name(loop)} is bound to {axis} as another one is, whose extent is not known "
                "to be the same"
            )
    return extents


def thread_extents(kernel: Operation) -> dict[str, Mixed]:
    """The number of threads that a kernel needs along each axis of its loops over threads, which are those of a warp
    along `threadIdx.x` if the kernel has matrix operations.

    Raises the errors of `launch_extents`, and UnsupportedError for matrix operations beside loops over another number
    of threads along `threadIdx.x`.
    """
    extents = launch_extents([op for op in kernel.walk() if is_thread_loop(op)], kernel)
    nest = next((op for op in kernel.walk() if is_fragment_nest(op)), None)
    if nest is not None:
        check_warp(nest, extents.setdefault(THREAD_AXES[0], WARP_SIZE))
    return extents


def build_launches(
    axes: Sequence[str], extents: dict[str, Mixed], like: Sequence[BoundLoop], point: InsertPoint
) -> list[LaunchThreadOp]:
    """Builds nested launches over some axes, the first axis outermost, with the names of loops over
    these axes where there are some."""
    launches: list[LaunchThreadOp] = []
    for axis in axes:
        if axis not in extents:
            continue
        first = next((loop for loop in like if thread_axis_of(loop) == axis), None)
        if first is None:
            op = LaunchThreadOp(f"t{axis[-1]}", axis, extents[axis], i32)
        else:
            op = LaunchThreadOp(loop_name(first), axis, extents[axis], first.variable.type)
            op.location = first.location
            op.variable.name_hint = first.variable.name_hint
        Rewriter.insert_op(op, point)
        point = InsertPoint.at_end(op.body.block)
        launches.append(op)
    return launches


def replace_loop(loop: BoundLoop, variable: SSAValue, extent: Mixed) -> None:
    """Replaces a loop by its body for the current thread or block: `variable`, of `extent`."""
    low, mine = bound_loop_range(loop)
    builder = TirBuilder(InsertPoint.before(loop), loop.location)
    value = builder.cast(variable, dtype_of(loop.variable.type))
    if low == 0 and (mine is extent or mine == extent):
        target = InsertPoint.before(loop)
    else:
        guard = builder.insert(IfOp(_is_in(builder, value, low, mine)))
        target = InsertPoint.at_end(guard.then.block)
    loop.variable.replace_all_uses_with(value)
    for op in list(loop.body.block.ops):
        op.detach()
        Rewriter.insert_op(op, target)
    loop.detach()
    loop.erase()


def _is_in(builder: TirBuilder, value: SSAValue, low: Mixed, extent: Mixed) -> SSAValue:
    """The condition `low <= value < low + extent`, for a nonnegative value."""
    end = low + extent if isinstance(low, int) and isinstance(extent, int) else builder.binary("add", low, extent)
    below = builder.binary("lt", value, end)
    return below if low == 0 else builder.binary("and", builder.binary("ge", value, low), below)

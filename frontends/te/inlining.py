"""Inlining of all stages of a kind, by the forms of their elements."""

from __future__ import annotations

from collections.abc import Callable

from ...expressions.axes import IterVar
from ...expressions.expr import Var
from ...expressions.tensor import ComputeOp, tensor_loads
from .schedule import Schedule
from .stage import Stage


def AutoInlineElemWise(sch: Schedule) -> None:
    """Inlines the stages without transformations whose elements read elements at their own indices only, outputs left
    out."""
    _inline(sch, lambda op: all(indices == op.axis for indices in _read_axes(op)))


def AutoInlineBroadcast(sch: Schedule) -> None:
    """Inlines as `AutoInlineElemWise`, also the stages that read elements at some of their indices, in their order, and
    those with the tag `broadcast`."""
    _inline(
        sch,
        lambda op: (
            op.tag == "broadcast"
            or all(indices is not None and _is_part(indices, op.axis) for indices in _read_axes(op))
        ),
    )


def AutoInlineInjective(sch: Schedule) -> None:
    """Inlines the stages without transformations that have no reduction, outputs left out."""
    _inline(sch, lambda op: True)


AutoInlineBroarcast = AutoInlineBroadcast
"""The name in TVM."""


def _inline(sch: Schedule, is_chosen: Callable[[ComputeOp], bool]) -> None:
    for stage in sch.stages:
        if isinstance(stage.op, ComputeOp) and not stage.op.reduce_axis and _is_free(stage) and is_chosen(stage.op):
            stage.compute_inline()


def _is_free(stage: Stage) -> bool:
    """Whether a stage has no transformation and no place, and is no output."""
    return not (stage.is_output or stage.is_transformed or stage.attachment)


def _read_axes(op: ComputeOp) -> list[tuple[IterVar, ...] | None]:
    """The axes by which each load in the elements is indexed, None for other indices."""
    axes = {axis.var: axis for axis in op.axis}
    found: list[tuple[IterVar, ...] | None] = []
    for load in tensor_loads(op.body):
        known = [axes.get(index) if isinstance(index, Var) else None for index in load.indices]
        found.append(None if None in known else tuple(axis for axis in known if axis is not None))
    return found


def _is_part(some: tuple[IterVar, ...], axes: tuple[IterVar, ...]) -> bool:
    """Whether axes are some of others, in their order."""
    rest = iter(axes)
    return all(any(axis is each for each in rest) for axis in some)


__all__ = ["AutoInlineBroadcast", "AutoInlineBroarcast", "AutoInlineElemWise", "AutoInlineInjective"]

"""The module `tvm.te.schedule`: what a schedule of tensors computes, before it is lowered."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ...expressions.axes import IterVar, Range
from ...expressions.buffers import Buffer
from ...expressions.expr import IntImm, PrimExpr
from ...expressions.expr import Var as NumberVar
from ...expressions.rewrite import Substitution
from ...expressions.tensor import Operation, PlaceholderOp, Tensor, topological_order
from .. import te
from ..te.apply_schedule import AxisBounds, apply_schedule
from ..te.stage import Singleton
from . import te as names
from .absent import report_absent
from .arith import Analyzer
from .driver.build_module import schedule_to_module
from .nodes import stmt
from .nodes.reading import NodeReader
from .te import *  # noqa: F403

__getattr__ = report_absent("tvm.te.schedule")


def InferBound(schedule: te.Schedule) -> dict[IterVar, Range]:
    """The values of each axis of the stages that are not inlined: of the axes of operations, of those that splits and
    fusions have made, and of the threads that loops are bound to.

    An axis of a stage that is computed at a loop begins at an expression of the axes around it. Errors as of
    `te.apply_schedule`.
    """
    found: dict[IterVar, Range] = {}
    apply_schedule(schedule, parameters(schedule), enable_check=False, observe=_Recorder(schedule, found))
    for stage in schedule.stages:
        for axis, attributes in stage.attributes.items():
            if attributes.thread is not None and axis in found:
                found.setdefault(attributes.thread, Range(IntImm("int32", 0), found[axis].extent))
    return found


def ScheduleOps(schedule: te.Schedule, bounds: Any, debug_keep_trivial_loop: bool = False) -> stmt.Stmt:
    """The loops of a schedule. bounds: those of `InferBound`.  debug_keep_trivial_loop: ignored. Errors as of
    `te.apply_schedule`."""
    return schedule_to_module(schedule, parameters(schedule))["main"].body


def CreateReadGraph(ops: Sequence[Operation]) -> dict[Operation, list[Tensor]]:
    """The tensors that operations read, of all operations that some depend on."""
    reached = topological_order([op.output(n) for op in ops for n in range(op.num_outputs)])
    return {op: list(op.input_tensors) for op in reached}


def PostDFSOrder(roots: Sequence[Operation], graph: Mapping[Operation, Sequence[Tensor]]) -> list[Operation]:
    """The operations that some depend on, each after those that it reads. graph: the tensors that operations read."""
    order: dict[Operation, None] = {}
    todo = [(op, False) for op in reversed(roots)]
    while todo:
        op, is_complete = todo.pop()
        if is_complete:
            order.setdefault(op)
        elif op not in order:
            todo += [(op, True), *((tensor.op, False) for tensor in reversed(graph.get(op, ())))]
    return list(order)


def parameters(schedule: te.Schedule) -> list[Tensor | NumberVar]:
    """The inputs and the results of a schedule."""
    results = [op.output(n) for op in schedule.outputs for n in range(op.num_outputs)]
    inputs = [op.output(0) for op in topological_order(results) if isinstance(op, PlaceholderOp)]
    return [*inputs, *results]


class _Recorder:
    """Records the bounds of axes as expressions of the variables of a schedule."""

    def __init__(self, schedule: te.Schedule, found: dict[IterVar, Range]):
        self._found = found
        self._sizes: dict[str, NumberVar] = {}
        for stage in schedule.stages:
            for n in range(stage.op.num_outputs):
                for size in stage.op.output(n).shape:
                    self._sizes |= {var.name: var for var in _variables(size)}

    def __call__(self, bounds: AxisBounds) -> None:
        self._found[bounds.axis] = Range(self._expr(bounds, bounds.low), self._expr(bounds, bounds.extent))

    def _expr(self, bounds: AxisBounds, value: Any) -> PrimExpr:
        """A number or a value of the function as an expression."""
        dtype = bounds.axis.var.dtype
        if isinstance(value, int):
            return IntImm(dtype, value)
        reader = NodeReader(bounds.func)
        expr = reader.expr(value)
        replacements: dict[NumberVar, PrimExpr] = {}
        for key, var in reader.vars.items():
            if key in bounds.names:
                named = bounds.names[key]
                replacements[var] = IntImm(var.dtype, named) if isinstance(named, int) else named
            elif var.name in self._sizes:
                replacements[var] = self._sizes[var.name]
        return Analyzer().simplify(Substitution(replacements).expr(expr))


def _variables(expr: PrimExpr) -> list[NumberVar]:
    return [expr] if isinstance(expr, NumberVar) else [var for child in expr.children for var in _variables(child)]


__all__ = ["Buffer", "CreateReadGraph", "InferBound", "PostDFSOrder", "ScheduleOps", "Singleton"]
__all__ += names.__all__

"""Tensors with their formulas: `tvm.auto_scheduler.compute_dag`."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from math import prod
from typing import Any

from ....core.errors import OptionError
from ....expressions.expr import BinaryOp, IfThenElse, IntImm, PrimExpr, Select
from ....expressions.tensor import (
    ComputeOp,
    Operation,
    PlaceholderOp,
    ProducerLoad,
    Reduce,
    Tensor,
    topological_order,
)
from ....module import Module
from ...te import create_prim_func
from ...te.schedule import Schedule as TeSchedule
from ..absent import report_absent
from ..driver.build_module import scheduled_module
from ..ir.module import IRModule, PrimFunc
from ..meta_schedule.database import MAIN, Workload, normalized
from ..meta_schedule.space_generator import default_schedule
from ..target.target import Target, target_of
from ..tir import Schedule
from ..tir.analysis import estimate_tir_flops
from .loop_state import State
from .transform_steps import apply_steps, stage_order
from .workload_registry import workload_key_to_tensors

__getattr__ = report_absent("tvm.auto_scheduler.compute_dag")


class LayoutRewriteOption:
    """Changes of the layouts of tensors: no kernel changes them."""

    NO_REWRITE, INSERT_TRANSFORM_STAGE, REWRITE_FOR_PRE_TRANSFORMED = range(3)

    @staticmethod
    def get_target_default(target: Any, in_relay_integration: bool = False) -> int:
        """No change, for each target."""
        del target, in_relay_integration
        return LayoutRewriteOption.NO_REWRITE


class ComputeDAG:
    """Tensors with their formulas, as one kernel. func: its loops without a schedule.  tensors: its parameters, none of
    a kernel of a graph.  target: of default schedules, by default the current target."""

    target: Target | None = None

    def __init__(self, compute_or_sche: Any):
        """compute_or_sche: tensors, the key of a workload, a schedule of tensors, or a kernel. OptionError for another
        value, and for a tensor with two axes of one name."""
        if isinstance(compute_or_sche, str):
            compute_or_sche = workload_key_to_tensors(compute_or_sche)
        if isinstance(compute_or_sche, TeSchedule):
            compute_or_sche = _parameters(compute_or_sche)
        self.tensors: list[Tensor] = []
        if isinstance(compute_or_sche, PrimFunc):
            self.func = compute_or_sche
            return
        if not isinstance(compute_or_sche, Sequence) or not all(isinstance(each, Tensor) for each in compute_or_sche):  # pyright: ignore[reportUnknownVariableType]
            raise OptionError(f"ComputeDAG of {compute_or_sche!r}, expected tensors, a key, a schedule or a kernel")
        self.tensors = list(compute_or_sche)
        for op in stage_order(self.tensors):
            _check_axes(op)
        self.func = PrimFunc(create_prim_func(self.tensors).op)

    @property
    def flop_ct(self) -> float:
        """The operations on numbers of the type of the result, once for each tensor; the attribute "FLOP" of a tensor
        states its number."""
        if not self.tensors:
            return estimate_tir_flops(self.func)
        return sum(map(_operations, stage_order(self.tensors)), 0.0)

    @property
    def init_state(self) -> State:
        """The state without steps: its program has the default schedule."""
        return State(dag=self)

    def get_init_state(self) -> State:
        """The state without steps: its program has the default schedule."""
        return State(dag=self)

    def infer_bound_from_state(self, state: State) -> State:
        """A state whose loops all have bounds; of a state of a record, one that shows its stages. Errors as of
        `te.apply_schedule`."""
        own = state if state.dag is self else State(state.transform_steps, self)
        return own.with_bounds()

    def default_schedule(self) -> Schedule:
        """The kernel with the default schedule."""
        return default_schedule(IRModule({MAIN: self.func}), target_of(self.target))

    def apply_steps_from_state(self, state: State, layout_rewrite: Any = None) -> tuple[Any, list[Tensor]]:
        """The schedule of a state and its tensors: `tvm.lower(sch, args)`, `tvm.build(sch, args)`.

        The schedule of TVM's steps is a `te.Schedule`; without steps it is the kernel with its default schedule.
        layout_rewrite: ignored.  OptionError for steps on a kernel of a graph, the errors of `te.Schedule`.
        """
        if state.transform_steps:
            return apply_steps(self._scheduled_tensors(), state.transform_steps)[0], self.tensors
        return self.default_schedule().mod[MAIN], self.tensors

    def _scheduled_tensors(self) -> list[Tensor]:
        if not self.tensors:
            raise OptionError("a schedule of TVM's steps on the kernel of a graph, expected a workload of tensors")
        return self.tensors

    def print_python_code_from_state(self, state: State) -> str:
        """A schedule as statements of Python: on a `te.Schedule` for TVM's steps, else on a `tvm.tir.Schedule` of the
        kernel."""
        if state.transform_steps:
            return "\n".join(apply_steps(self._scheduled_tensors(), state.transform_steps)[1])
        return str(self.default_schedule().trace)

    def kernel(self, state: State) -> Module:
        """The kernel with the schedule of a state."""
        sch, args = self.apply_steps_from_state(state)
        return scheduled_module(sch, args) if isinstance(sch, TeSchedule) else sch

    def workload_key(self) -> str:
        """A text that is equal for equal formulas and shapes."""
        shapes = [[size.value for size in each.shape if isinstance(size, IntImm)] for each in self.tensors]
        return json.dumps([Workload(normalized(self.func)).key, *shapes])

    def __str__(self) -> str:
        if not self.tensors:
            return str(self.func)
        return "".join(f"{line}\n" for op in stage_order(self.tensors) for line in _formulas(op))

    __repr__ = __str__


def _check_axes(op: Operation) -> None:
    """OptionError for an operation with two axes of one name: steps on its loops would be ambiguous."""
    names = [axis.var.name for axis in (*op.axis, *op.reduce_axis)] if isinstance(op, ComputeOp) else []
    repeated = sorted({name for name in names if names.count(name) > 1})
    if repeated:
        raise OptionError(f"ComputeDAG: tensor {op.name} has several axes {', '.join(repeated)}, expected other names")


def _operations(op: Operation) -> float:
    """The operations on numbers that compute a tensor, 0 with extents that are no constants."""
    if not isinstance(op, ComputeOp):
        return 0.0
    if "FLOP" in op.attrs:
        return float(op.attrs["FLOP"])
    extents = [None if axis.dom is None else axis.dom.extent for axis in (*op.axis, *op.reduce_axis)]
    if not all(isinstance(each, IntImm) for each in extents):
        return 0.0
    kind = op.body[0].data_type.kind
    each = sum(_operations_of(part, kind) for expr in op.body for part in _elements(expr))
    return float(prod(each.value for each in extents if isinstance(each, IntImm)) * each)


def _elements(expr: PrimExpr) -> list[PrimExpr]:
    """The expressions that are computed in each iteration: of a reduction, its source and its combiner."""
    return [*expr.source, *expr.combiner.result] if isinstance(expr, Reduce) else [expr]


def _operations_of(expr: PrimExpr, kind: str) -> int:
    """The operators on numbers of a kind. Of two alternatives, the longer one counts."""
    if isinstance(expr, Select | IfThenElse):
        condition, *values = expr.children
        return _operations_of(condition, kind) + max(_operations_of(value, kind) for value in values)
    if isinstance(expr, ProducerLoad):
        return 0
    own = isinstance(expr, BinaryOp) and any(child.data_type.kind == kind for child in expr.children)
    return own + sum(_operations_of(child, kind) for child in expr.children)


def _parameters(schedule: TeSchedule) -> list[Tensor]:
    """The inputs and the results of a schedule."""
    results = [op.output(n) for op in schedule.outputs for n in range(op.num_outputs)]
    inputs = [op.output(0) for op in topological_order(results) if isinstance(op, PlaceholderOp)]
    return inputs + results


_SIGNS = {"sum": "+=", "prod": "*="}


def _formulas(op: Any) -> Iterator[str]:
    """An operation as lines of text."""
    if not isinstance(op, ComputeOp):
        kind = "PLACEHOLDER" if isinstance(op, PlaceholderOp) else "EXTERN"
        yield f"{op.name} = {kind} [{', '.join(map(str, op.shape))}]"
        return
    axes = ", ".join(axis.var.name for axis in op.axis)
    for n, expr in enumerate(op.body):
        name = f"{op.output(n).name}({axes})"
        if isinstance(expr, Reduce):
            sign = _SIGNS.get(expr.combiner.name, f"{expr.combiner.name}=")
            yield f"{name} {sign} {expr.source[expr.value_index]}"
        else:
            yield f"{name} = {expr}"


__all__ = ["ComputeDAG", "LayoutRewriteOption", "State"]

"""Scans: tensors computed row by row, each row from earlier rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from .axes import IterVar, Range
from .errors import TeError
from .expr import And, BinaryOp, IfThenElse, IntImm, PrimExpr, Var, binary_expr, cast
from .rewrite import ExpressionRewriter
from .tensor import (
    ComputeOp,
    Operation,
    PlaceholderOp,
    ProducerLoad,
    Reduce,
    Tensor,
    is_same_extent,
    location_of_user,
    tensor_loads,
    topological_order,
)


@dataclass(frozen=True, eq=False)
class ScanOp(Operation):
    """Tensors with initial first rows, whose later rows are computed from earlier rows.

    time: the index of the row being computed.  init: the first rows.  state: the placeholders that denote the tensors
    in loads of earlier rows.  steps: the computes of one time step, without the time axis, in order.  rows: the new row
    of each tensor, results of the steps.  origins: the compute with the time axis that each step is a row of, and the
    offset of the row from the current time.  tag, attrs: the kind of operator, and annotations for later passes.
    """

    time: Var
    init: tuple[Tensor, ...]
    state: tuple[Tensor, ...]
    steps: tuple[ComputeOp, ...]
    rows: tuple[Tensor, ...]
    origins: tuple[tuple[Operation, int], ...]
    tag: str = ""
    attrs: Mapping[str, Any] = field(default_factory=dict[str, Any])

    def shape_of(self, index: int) -> tuple[PrimExpr, ...]:
        return self.state[index].shape

    @property
    def scan_axis(self) -> IterVar:
        """The axis of time: the rows after the first ones."""
        first, extent = self.init[0].shape[0], self.state[0].shape[0]
        return IterVar(Range(first, extent - first), self.time, "scan")

    @property
    def input_tensors(self) -> list[Tensor]:
        inside = {*self.state, *(step.output(n) for step in self.steps for n in range(step.num_outputs))}
        read = dict.fromkeys((*self.init, *(tensor for step in self.steps for tensor in step.input_tensors)))
        return [tensor for tensor in read if tensor not in inside]


def scan(
    init: Tensor | Sequence[Tensor],
    update: Tensor | Sequence[Tensor],
    state_placeholder: Tensor | Sequence[Tensor],
    inputs: Sequence[Tensor] | None = None,
    name: str = "scan",
    tag: str = "",
    attrs: Mapping[str, Any] | None = None,
) -> Any:
    """A tensor whose first rows are `init` and whose later rows `t` are rows `t` of `update`, computed in order of `t`;
    a list of tensors for lists of arguments. The first axis is time.

    state_placeholder: a `te.placeholder` of the shape of the result, which denotes the result: `update`, and stages
    between the placeholder and `update`, read rows of it that precede `t`.  update: a `te.compute` of the same shape.
    It reads stages computed from the state at its own time, or at a time a constant number of steps away.  inputs: the
    other tensors to read; they may be omitted.  name: of the result.  tag: the kind of operator.  attrs: annotations of
    the loop over time.

        state = te.placeholder((m, n))
        init = te.compute((1, n), lambda _, i: X[0, i])
        update = te.compute((m, n), lambda t, i: state[t - 1, i] + X[t, i])
        sums = te.scan(init, update, state, inputs=[X])

    TeError for shapes and data types that do not match, and for a load of the state at a time that does not precede
    `t`.
    """
    lists = [
        _tensors(argument, f"scan {name}: {what}")
        for what, argument in (("init", init), ("update", update), ("state_placeholder", state_placeholder))
    ]
    _tensors(inputs or [], f"scan {name}: inputs")
    inits, updates, states = lists
    if not states or not len(inits) == len(updates) == len(states):
        counts = ", ".join(f"{len(each)} {what}" for each, what in zip(lists, ("init", "update", "state"), strict=True))
        raise TeError(f"scan {name}: {counts}, expected the same number of each, at least one")
    _check_kinds(name, inits, updates, states)
    for tensors in zip(inits, updates, states, strict=True):
        _check_shapes(name, *tensors)
    _check_times(name, inits, states)
    first = updates[0].op
    assert isinstance(first, ComputeOp)
    time = Var(first.axis[0].var.name, states[0].shape[0].dtype)
    steps = _Steps(name, inits, updates, states, time)
    op = ScanOp(
        name,
        states[0].shape,
        tuple(state.data_type for state in states),
        location_of_user(),
        time,
        tuple(inits),
        tuple(states),
        tuple(steps.made.values()),
        tuple(steps.made[tensor.op, 0].output(tensor.value_index) for tensor in updates),
        tuple(steps.made),
        tag,
        dict(attrs or {}),
    )
    return op.output(0) if len(states) == 1 else [op.output(n) for n in range(len(states))]


# Checks of the arguments


def _tensors(argument: Any, what: str) -> list[Tensor]:
    tensors: list[Any] = list(argument) if isinstance(argument, list | tuple) else [argument]  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]
    for value in tensors:
        if not isinstance(value, Tensor):
            raise TeError(f"{what} is {value!r}, expected a tensor")
    return tensors


def _check_kinds(name: str, inits: Sequence[Tensor], updates: Sequence[Tensor], states: Sequence[Tensor]) -> None:
    for state in states:
        if not isinstance(state.op, PlaceholderOp):
            raise TeError(f"scan {name}: state {state.name}, expected what te.placeholder gives")
    for update in updates:
        if not isinstance(update.op, ComputeOp):
            raise TeError(f"scan {name}: update {update.name}, expected what te.compute gives")
    for what, tensors in (("state", states), ("update", updates)):
        for n, tensor in enumerate(tensors):
            if tensor in tensors[:n]:
                raise TeError(f"scan {name}: {what} {tensor.name} is given twice")
    for state in states:
        if state.op in topological_order(inits):
            raise TeError(f"scan {name}: init is computed from state {state.name}")


def _check_shapes(name: str, init: Tensor, update: Tensor, state: Tensor) -> None:
    if not state.ndim:
        raise TeError(f"scan {name}: state {state.name} without dimensions, expected time as the first")
    for what, tensor, start in (("update", update, 0), ("init", init, 1)):
        if tensor.dtype != state.dtype:
            raise TeError(f"scan {name}: {what} of type {tensor.dtype}, expected {state.dtype} as the state")
        if tensor.ndim != state.ndim:
            raise TeError(f"scan {name}: {what} of {tensor.ndim} dimensions, expected {state.ndim} as the state")
        for n in range(start, state.ndim):
            if not is_same_extent(tensor.shape[n], state.shape[n]):
                expected = f"expected {state.shape[n]} as of the state"
                raise TeError(f"scan {name}: extent {tensor.shape[n]} of dimension {n} of {what}, {expected}")


def _check_times(name: str, inits: Sequence[Tensor], states: Sequence[Tensor]) -> None:
    rows, end = inits[0].shape[0], states[0].shape[0]
    for init, state in zip(inits, states, strict=True):
        if not (is_same_extent(init.shape[0], rows) and is_same_extent(state.shape[0], end)):
            raise TeError(f"scan {name}: inits or states of different extents of time, the first dimension")
    if not isinstance(rows, IntImm):
        return
    if rows.value < 1 or (isinstance(end, IntImm) and rows.value > end.value):
        raise TeError(f"scan {name}: init of {rows.value} rows, expected 1 to {end}")


# The computes of one time step


class _Steps:
    """Builds the computes of one time step, of one row each, from the computes between the states and the updates.

    made: the new compute for each operation and offset from the current time.
    """

    def __init__(
        self, name: str, inits: Sequence[Tensor], updates: Sequence[Tensor], states: Sequence[Tensor], time: Var
    ):
        self.name = name
        self.states = set(states)
        self.time = time
        self.end = states[0].shape[0]
        self.init_rows = inits[0].shape[0]
        self.made: dict[tuple[Operation, int], ComputeOp] = {}
        stages = self._stages(updates)
        rows = self._rows(stages, updates)
        for op, offsets in rows.items():
            for offset in sorted(offsets):
                self.made[op, offset] = self._row(op, offset)

    def _stages(self, updates: Sequence[Tensor]) -> dict[Operation, ComputeOp]:
        """The stages: the updates and the computes between states and updates, producers before consumers."""
        stages: dict[Operation, ComputeOp] = {}
        last = {update.op for update in updates}
        for op in topological_order(updates):
            if op in last or any(read in self.states or read.op in stages for read in op.input_tensors):
                if not isinstance(op, ComputeOp):
                    raise TeError(f"scan {self.name}: {op.name} is computed from the state, and is no te.compute")
                stages[op] = op
        return stages

    def _rows(self, stages: Mapping[Operation, ComputeOp], updates: Sequence[Tensor]) -> dict[ComputeOp, set[int]]:
        """The offsets from the current time of the rows of each stage that one time step requires."""
        rows: dict[ComputeOp, set[int]] = {op: set() for op in stages.values()}
        for update in updates:
            rows[stages[update.op]].add(0)
        for op in reversed(list(stages.values())):
            certain = _certain_loads(op.body)
            for load in tensor_loads(op.body):
                for offset in rows[op]:
                    if load.producer in self.states:
                        self._check_state(op, load, offset, load in certain)
                    elif load.producer.op in stages:
                        rows[stages[load.producer.op]].add(self._offset(op, load, offset))
        return rows

    def _check_state(self, op: ComputeOp, load: ProducerLoad, offset: int, is_certain: bool) -> None:
        steps = _steps(load.indices[0], op.axis[0].var if op.axis else None)
        if steps is None:
            return
        rows = self.init_rows.value if isinstance(self.init_rows, IntImm) else None
        if steps + offset >= 0:
            raise TeError(f"scan {self.name}: {op.name} reads {load!r}, expected a time before that of the row")
        if rows is not None and is_certain and steps + offset < -rows:
            raise TeError(f"scan {self.name}: {op.name} reads {load!r}, before the {rows} rows of init")

    def _offset(self, op: ComputeOp, load: ProducerLoad, offset: int) -> int:
        """The offset from the current time of the row of a stage that `load` reads. TeError for an invalid index."""
        where = f"scan {self.name}: {op.name} reads {load!r}"
        steps = _steps(load.indices[0], op.axis[0].var if op.axis else None) if load.indices else None
        if steps is None:
            raise TeError(f"{where}, which is computed from the state: expected its first index to be the time, t + c")
        low, end, extent = self.init_rows, self.end, load.producer.shape[0]
        steps += offset
        too_low = isinstance(low, IntImm) and low.value + steps < 0
        known = isinstance(end, IntImm) and isinstance(extent, IntImm)
        if too_low or (known and int(end) + steps > int(extent)):  # pyright: ignore[reportArgumentType]
            raise TeError(f"{where} at a time of which it has no row")
        return steps

    def _row(self, op: ComputeOp, offset: int) -> ComputeOp:
        """A compute for one row: the time at `offset` replaces the first axis."""
        variable = op.axis[0].var
        time = binary_expr("add" if offset > 0 else "sub", self.time, abs(offset))
        change = _TimeSubstitution(self, offset, variable, cast(variable.dtype, time))
        return replace(op, shape=op.shape[1:], axis=op.axis[1:], body=change.body(op.body))


def _certain_loads(body: Sequence[PrimExpr]) -> set[PrimExpr]:
    """The loads that are executed regardless of the values of conditions."""
    seen: set[PrimExpr] = set()
    todo = list(body)
    while todo:
        top = todo.pop()
        if top in seen:
            continue
        seen.add(top)
        match top:
            case IfThenElse():
                todo.append(top.condition)
            case And():
                todo.append(top.a)
            case Reduce() if not isinstance(top.condition, IntImm):
                todo += (top.condition, *top.init)
            case _:
                todo += top.children
    return {expr for expr in seen if isinstance(expr, ProducerLoad)}


def _steps(index: PrimExpr, time: Var | None) -> int | None:
    """The constant `c` if `index` is `time + c`, else None."""
    steps = 0
    while isinstance(index, BinaryOp) and index.operator in ("add", "sub"):
        a, b = index.a, index.b
        if index.operator == "add" and isinstance(a, IntImm):
            a, b = b, a
        if not isinstance(b, IntImm):
            return None
        steps += b.value if index.operator == "add" else -b.value
        index = a
    return steps if index is time else None


class _TimeSubstitution(ExpressionRewriter):
    """Rewrites expressions for one time: replaces the time variable by its value, and loads of stages by loads of
    rows."""

    def __init__(self, steps: _Steps, offset: int, time: Var, value: PrimExpr):
        super().__init__({time: value})
        self.steps = steps
        self.offset = offset
        self.time = time

    def rebuild(self, expr: PrimExpr, children: Sequence[PrimExpr]) -> PrimExpr:
        return self._load(expr, children) if isinstance(expr, ProducerLoad) else super().rebuild(expr, children)

    def _load(self, load: ProducerLoad, indices: Sequence[PrimExpr]) -> ProducerLoad:
        steps = _steps(load.indices[0], self.time) if load.indices else None
        row = None if steps is None else self.steps.made.get((load.producer.op, steps + self.offset))
        if row is None:
            return ProducerLoad(load.producer, indices)
        return ProducerLoad(row.output(load.producer.value_index), indices[1:])

"""Schedules of tensors, as TVM had them up to v0.19: said stage by stage, applied when a function is asked for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ...core.errors import UnsupportedError
from ...expressions.axes import IterVar, Range
from ...expressions.errors import TeError
from ...expressions.expr import IntImm, PrimExpr, Var, binary
from ...expressions.tensor import ComputeOp, Operation, Reduce, Tensor, ordered
from .stage import Fuse, Split, Stage
from .staging import copy_of, factored, outputs, read_through, written_through

LATER = frozenset(("create_group", "normalize"))
"""What TVM's schedules have and these have not yet."""


def create_schedule(ops: Operation | Tensor | Sequence[Operation | Tensor]) -> Schedule:
    """A schedule of tensors and all that they are computed from. ops: the operations of the outputs, or their tensors.

    s = te.create_schedule(C.op)
    outer, inner = s[C].split(C.op.axis[0], factor=8)
    s[C].vectorize(inner)
    """
    given = [ops] if isinstance(ops, Operation | Tensor) else list(ops)
    for op in given:
        if not isinstance(op, Operation | Tensor):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise TeError(f"create_schedule: {op!r}, expected operations")
    if not given:
        raise TeError("create_schedule: no operation")
    return Schedule([op.op if isinstance(op, Tensor) else op for op in given])


class Schedule:
    """How tensors are to be computed: a stage for each operation. The order of what is said about different stages does
    not matter; `apply_schedule` does all of it. A `te.scan` or `te.extern` is computed as it is, in its place.

    outputs: the operations it was made of, as they are now.  stages: each behind those that it reads.
    """

    def __init__(self, outputs: Sequence[Operation]):
        found = ordered([op.output(0) for op in outputs])
        self.stages = [Stage(self, op, is_output=op in outputs) for op in found]
        self._stage_of = dict(zip(found, self.stages, strict=True))
        self._outputs = [self._stage_of[op] for op in dict.fromkeys(outputs)]

    @property
    def outputs(self) -> list[Operation]:
        return [stage.op for stage in self._outputs]

    def __getitem__(self, key: Tensor | Operation) -> Stage:
        """The stage of a tensor or operation. TeError if that is not part of the schedule."""
        op = key.op if isinstance(key, Tensor) else key
        if not isinstance(op, Operation):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise TeError(f"schedule: {key!r}, expected a tensor or operation")
        if op not in self._stage_of:
            raise TeError(
                f"schedule: {op.name} is not part of it (has: {', '.join(stage.name for stage in self.stages)})"
            )
        return self._stage_of[op]

    def __contains__(self, key: Tensor | Operation) -> bool:
        return (key.op if isinstance(key, Tensor) else key) in self._stage_of

    def __getattr__(self, name: str) -> Any:
        if name in LATER:
            raise UnsupportedError(f"{name} of a schedule is not supported yet")
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def current(self, tensor: Tensor) -> Tensor:
        """What a tensor has become by caches and the like."""
        return self[tensor].op.output(tensor.value_index)

    # Caches

    def cache_read(self, tensor: Tensor, scope: str, readers: Any) -> Tensor:
        """Copy a tensor to memory of a scope, and let `readers` (tensors or operations) read the copy.

        Returns the copy, whose stage stands behind that of the tensor. TeError for a reader that does not read it.
        """
        source = self[tensor]
        stages = [self[reader] for reader in (readers if isinstance(readers, list | tuple) else [readers])]  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
        tensor = self.current(tensor)
        for stage in stages:
            if tensor not in map(self.current, stage.op.input_tensors):
                raise TeError(f"cache_read: {stage.name} does not read {tensor.name}")
        cached = copy_of(tensor, f"{tensor.name}.{scope}")
        for stage in stages:
            self._replace(stage, read_through(stage.op, lambda t: cached if self.current(t) == tensor else t))
        self._add(cached.op, self.stages.index(source) + 1).set_scope(scope)
        return cached

    def cache_write(self, tensor: Any, scope: str) -> Any:
        """Compute a tensor in memory of a scope, and copy it from there.

        Returns what is computed now, along axes called `i.c`; its stage stands in front of that of the tensor, which is
        the copy's. All tensors of one operation may be given, and as many are returned. TeError if the loops of the
        stage have been changed before.
        """
        given: list[Tensor] = list(tensor) if isinstance(tensor, list | tuple) else [tensor]  # pyright: ignore[reportUnknownArgumentType]
        stage, op = self._untouched(given[0], "cache_write")
        if len({t.value_index for t in given if self[t] is stage}) != op.num_outputs or len(given) != op.num_outputs:
            raise TeError(f"cache_write: expected all {op.num_outputs} tensors of {op.name}, each once")
        cache, copy = written_through(op, f"{op.name}.{scope}")
        self._replace(stage, copy)
        stage.reset(copy)
        self._add(cache, self.stages.index(stage)).set_scope(scope)
        made = [cache.output(t.value_index) for t in given]
        return made if isinstance(tensor, list | tuple) else made[0]

    # Reductions

    def rfactor(self, tensor: Tensor, axis: IterVar, factor_axis: int = 0) -> Any:
        """Reduce in two steps: along the other axes for each value of `axis`, and along that.

        axis: a loop that the tensor is reduced along.  factor_axis: which dimension of the tensor in between it
        becomes. Returns that tensor (several, if several are reduced at once). The second step, in the stage of the
        tensor, has new axes: `s[B].op.axis`, called ax0, ax1, ..., and one `s[B].op.reduce_axis`.
        TeError if the axis is no such loop, or if other loops than those reduced along have been changed before.
        """
        stage = self[tensor]
        op = stage.op
        if not isinstance(op, ComputeOp) or not isinstance(op.body[0], Reduce):
            raise TeError(f"rfactor: {op.name} is no reduction")
        stage.position(axis)
        if axis.kind != "reduce":
            raise TeError(f"rfactor: axis {axis.var.name} of {op.name} is not reduced along")
        if any(other not in stage.leaf_iter_vars for other in op.axis) or stage.attributes:
            raise TeError(f"rfactor: in stage {op.name} other loops than those reduced along were changed before it")
        rank = len(op.axis)
        position = factor_axis + rank + 1 if factor_axis < 0 else factor_axis
        if not 0 <= position <= rank:
            raise TeError(f"rfactor: dimension {factor_axis}, expected one from 0 to {rank}")
        leaves = [leaf for leaf in stage.leaf_iter_vars if leaf.kind == "reduce"]
        extents = extents_of(stage)
        made = {leaf: _reduced_along(leaf, extents[leaf]) for leaf in leaves}
        values, conditions = _values(stage, {leaf: new.var for leaf, new in made.items()}, extents)
        variables: Mapping[Var, PrimExpr] = {old.var: values[old] for old in op.reduce_axis}
        rest = [made[leaf] for leaf in leaves if leaf is not axis]
        partial, final = factored(op, made[axis], rest, variables, conditions, position)
        self._replace(stage, final)
        stage.reset(final)
        self._add(partial, self.stages.index(stage))
        tensors = outputs(partial)
        return tensors[0] if len(tensors) == 1 else tensors

    # Stages

    def _untouched(self, tensor: Tensor, action: str) -> tuple[Stage, ComputeOp]:
        stage = self[tensor]
        stage.require_computed(action)
        if stage.relations or stage.attributes:
            raise TeError(f"{action}: the loops of stage {stage.name} were changed before it")
        return stage, stage.op

    def _replace(self, stage: Stage, op: Operation) -> None:
        stage.op = op
        self._stage_of[op] = stage

    def _add(self, op: Operation, position: int) -> Stage:
        stage = Stage(self, op)
        self.stages.insert(position, stage)
        self._stage_of[op] = stage
        return stage

    def resolved(self) -> dict[Stage, Operation]:
        """The operation of each stage, as it reads those of the others."""
        made: dict[Stage, Operation] = {}

        def tensor_of(tensor: Tensor) -> Tensor:
            return made[self[tensor]].output(tensor.value_index)

        for stage in self.stages:
            made[stage] = read_through(stage.op, tensor_of)
        return made


# Axes in terms of those they were made into


def extents_of(stage: Stage) -> dict[IterVar, PrimExpr]:
    """The number of iterations of each axis that a stage has had, where it computes all of its operation."""
    op = stage.op
    assert isinstance(op, ComputeOp)
    found = {axis: axis.dom.extent for axis in (*op.axis, *op.reduce_axis) if axis.dom is not None}
    for relation in stage.relations:
        match relation:
            case Split(parent, outer, inner, factor, nparts):
                given = IntImm(parent.var.dtype, factor or nparts or 1)
                other = binary("floordiv", found[parent] + (given - 1), given)
                found[outer], found[inner] = (other, given) if nparts is None else (given, other)
            case Fuse(axes, fused):
                product = found[axes[0]]
                for axis in axes[1:]:
                    product = product * found[axis]
                found[fused] = product
            case _:
                pass
    return found


def _values(
    stage: Stage, leaves: Mapping[IterVar, PrimExpr], extents: Mapping[IterVar, PrimExpr]
) -> tuple[dict[IterVar, PrimExpr], list[PrimExpr]]:
    """The values of all axes in terms of the loops, and what must hold for these to be ones that the axes take."""
    values = dict(leaves)
    conditions: list[PrimExpr] = []
    for relation in reversed(stage.relations):
        match relation:
            case Split(parent, outer, inner):
                values[parent] = values[outer] * extents[inner] + values[inner]
                if not _is_product(extents[parent], extents[outer], extents[inner]):
                    conditions.append(values[parent] < extents[parent])
            case Fuse(axes, fused):
                rest = values[fused]
                for axis in reversed(axes[1:]):
                    values[axis] = rest % extents[axis]
                    rest = rest // extents[axis]
                values[axes[0]] = rest
            case _:
                pass
    op = stage.op
    assert isinstance(op, ComputeOp)
    for axis in op.reduce_axis:
        assert axis.dom is not None
        values[axis] = values[axis] + axis.dom.min
    return values, conditions


def _is_product(whole: PrimExpr, a: PrimExpr, b: PrimExpr) -> bool:
    product = a * b
    return isinstance(whole, IntImm) and isinstance(product, IntImm) and whole.value == product.value


def _reduced_along(axis: IterVar, extent: PrimExpr) -> IterVar:
    variable = Var(axis.var.name, axis.var.dtype)
    return IterVar(Range(IntImm(variable.dtype, 0), extent), variable, "reduce")

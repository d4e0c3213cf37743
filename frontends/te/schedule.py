"""Legacy schedules, as in TVM up to v0.19: recorded stage by stage, applied when a function is requested."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ...core.errors import UnsupportedError
from ...expressions.axes import IterVar, Range
from ...expressions.errors import TeError
from ...expressions.expr import IntImm, PrimExpr, Var, binary_expr
from ...expressions.scan import ScanOp
from ...expressions.tensor import ComputeOp, Operation, PlaceholderOp, Reduce, Tensor, topological_order
from .stage import Fuse, Singleton, Split, Stage
from .staging import (
    Layout,
    computes_of_scan,
    copy_operation,
    outputs,
    rebuild_scan,
    split_cache_write,
    split_reduction,
    substitute_inputs,
    with_inner,
)


def create_schedule(ops: Operation | Tensor | Sequence[Operation | Tensor]) -> Schedule:
    """A schedule of output tensors and all their producers. ops: the operations of the outputs, or their tensors.

    s = te.create_schedule(C.op)
    outer, inner = s[C].split(C.op.axis[0], factor=8)
    s[C].vectorize(inner)
    """
    roots = [ops] if isinstance(ops, Operation | Tensor) else list(ops)
    for op in roots:
        if not isinstance(op, Operation | Tensor):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise TeError(f"create_schedule: {op!r}, expected operations")
    if not roots:
        raise TeError("create_schedule: no operation")
    return Schedule([op.op if isinstance(op, Tensor) else op for op in roots])


class Schedule:
    """A schedule of tensors, with a stage for each operation. The order of calls on different stages does not matter;
    `apply_schedule` applies all of them. A `te.scan` or `te.extern` is computed unchanged, at its own position; the
    computes of a scan have stages, whose loops are those of one time step.

    outputs: the current operations of the outputs.  stages: producers before consumers.  groups: those of
    `create_group`, in order.
    """

    def __init__(self, outputs: Sequence[Operation]):
        operations = topological_order([op.output(0) for op in outputs])
        self.stages: list[Stage] = []
        self.groups: list[StageGroup] = []
        self._stage_of: dict[Operation, Stage] = {}
        for op in operations:
            scan = Stage(self, op, is_output=op in outputs)
            states = [state.op for state in op.state] if isinstance(op, ScanOp) else []
            for step in (*states, *computes_of_scan(op)):
                self.stages.append(Stage(self, step, scan=scan))
                self._stage_of[step] = self.stages[-1]
            self.stages.append(scan)
            self._stage_of[op] = scan
        self._outputs = [self._stage_of[op] for op in dict.fromkeys(outputs)]

    @property
    def outputs(self) -> list[Operation]:
        return [stage.op for stage in self._outputs]

    def __getitem__(self, key: Tensor | Operation) -> Stage:
        """The stage of a tensor or operation. TeError if it is not part of the schedule."""
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

    def normalize(self) -> Schedule:
        """This schedule: the loops of its stages start at 0 already."""
        return self

    def is_thread(self, variable: Var) -> bool:
        """Whether a variable is that of a thread axis that a loop of a stage is bound to."""
        threads = (attributes.thread for stage in self.stages for attributes in stage.attributes.values())
        return any(thread is not None and thread.var is variable for thread in threads)

    def current(self, tensor: Tensor) -> Tensor:
        """The current tensor of the stage of `tensor`, after caches and `rfactor`."""
        return self[tensor].op.output(tensor.value_index)

    def create_group(self, outputs: Any, inputs: Any, include_inputs: bool = False) -> StageGroup:
        """The stages between tensors, as one group to compute at a loop.

        outputs, inputs: tensors, or lists of them; a group has the stages of the outputs and of the tensors that they
        read, up to the inputs, whose stages it has with `include_inputs` alone. TeError for an output that reads none
        of the inputs.
        """
        ends, begins = ([self[each] for each in _listed(tensors)] for tensors in (outputs, inputs))
        found: dict[Stage, None] = {}
        for end in ends:
            between = self._between(end, set(begins))
            if not between & set(begins):
                names = ", ".join(stage.name for stage in begins)
                raise TeError(f"create_group: {end.name} reads none of the inputs {names}")
            found.update(dict.fromkeys(between))
        members = [stage for stage in found if include_inputs or stage not in begins]
        group = StageGroup([stage for stage in self.stages if stage in members and isinstance(stage.op, ComputeOp)])
        self.groups.append(group)
        return group

    def _between(self, stage: Stage, ends: set[Stage]) -> set[Stage]:
        """A stage, and the stages that it reads, up to those of `ends`, on paths to `ends` alone."""
        if stage in ends:
            return {stage}
        found: set[Stage] = set()
        for tensor in stage.op.input_tensors:
            found |= self._between(self[tensor], ends)
        return found | {stage} if found else found

    # Caches

    def cache_read(self, tensor: Tensor, scope: str, readers: Any) -> Tensor:
        """Copies a tensor to memory of a scope, and makes `readers` (tensors or operations) read the copy.

        Returns the copy, whose stage follows the tensor's. TeError for a reader that does not read the tensor.
        """
        source = self[tensor]
        stages = [self[reader] for reader in _listed(readers)]
        tensor = self.current(tensor)
        for stage in stages:
            if tensor not in map(self.current, stage.op.input_tensors):
                raise TeError(f"cache_read: {stage.name} does not read {tensor.name}")
        cached = copy_operation(tensor, f"{tensor.name}.{scope}")
        for stage in stages:
            self._replace(stage, substitute_inputs(stage.op, lambda t: cached if self.current(t) == tensor else t))
        self._add_beside(source, cached.op, self.stages.index(source) + 1).set_scope(scope)
        return cached

    def cache_write(self, tensor: Any, scope: str) -> Any:
        """Computes a tensor in memory of a scope, and copies it from there.

        Returns the cache, which is computed along axes called `i.c`; its stage precedes the tensor's, which becomes the
        copy. All tensors of one operation may be passed, and as many caches are returned. If the loops over elements
        have been divided, fused or reordered, the dimensions of the cache are the loops in their order, and the stage
        of the tensor has its first loops again. TeError for reduction loops that have been transformed, and for loops
        with another kind than serial.
        """
        group: list[Tensor] = _listed(tensor)
        stage, op = self._require_untransformed(group[0], "cache_write", with_relations=True)
        if len({t.value_index for t in group if self[t] is stage}) != op.num_outputs or len(group) != op.num_outputs:
            raise TeError(f"cache_write: expected all {op.num_outputs} tensors of {op.name}, each once")
        cache, copy = split_cache_write(op, f"{op.name}.{scope}", _layout(stage) if stage.relations else None)
        self._replace(stage, copy)
        stage.reset(copy)
        self._add_beside(stage, cache, self.stages.index(stage)).set_scope(scope)
        caches = [cache.output(t.value_index) for t in group]
        return caches if isinstance(tensor, list | tuple) else caches[0]

    # Reductions

    def rfactor(self, tensor: Tensor, axis: IterVar, factor_axis: int = 0) -> Any:
        """Splits a reduction into two steps: along the other reduction axes for each value of `axis`, then along
        `axis`.

        axis: a reduction loop of the tensor.  factor_axis: the dimension of the intermediate tensor that `axis`
        becomes. Returns the intermediate tensor (several, if several are reduced jointly). The second step, in the
        stage of the tensor, has new axes: `s[B].op.axis`, called ax0, ax1, ..., and one `s[B].op.reduce_axis`. The
        splits, fusions and orders of loops over elements are discarded. TeError if `axis` is not a reduction loop, or
        if a loop has another kind than serial or annotations.
        """
        stage = self[tensor]
        op = stage.op
        if not isinstance(op, ComputeOp) or not isinstance(op.body[0], Reduce):
            raise TeError(f"rfactor: {op.name} is no reduction")
        stage.position(axis)
        if axis.kind != "reduce":
            raise TeError(f"rfactor: axis {axis.var.name} of {op.name} is not reduced along")
        if stage.attributes or stage.relayout:
            raise TeError(f"rfactor: the kinds, annotations or layout of stage {op.name} were changed before it")
        rank = len(op.axis)
        position = factor_axis + rank + 1 if factor_axis < 0 else factor_axis
        if not 0 <= position <= rank:
            raise TeError(f"rfactor: dimension {factor_axis}, expected one from 0 to {rank}")
        if stage.scan is not None:
            position = max(position, 1)  # the time is the first dimension
        leaves = [leaf for leaf in stage.leaf_iter_vars if leaf.kind == "reduce"]
        extents = axis_extents(stage)
        new_axes = {
            leaf: leaf if leaf is not axis and _is_whole(leaf) else _reduce_axis(leaf, extents[leaf]) for leaf in leaves
        }
        values, conditions = _axis_values(stage, {leaf: new.var for leaf, new in new_axes.items()}, extents)
        variables: Mapping[Var, PrimExpr] = {old.var: values[old] for old in op.reduce_axis}
        rest = [new_axes[leaf] for leaf in leaves if leaf is not axis]
        partial, final = split_reduction(op, new_axes[axis], rest, variables, conditions, position)
        self._replace(stage, final)
        stage.reset(final)
        self._add_beside(stage, partial, self.stages.index(stage))
        tensors = outputs(partial)
        return tensors[0] if len(tensors) == 1 else tensors

    # Stages

    def _require_untransformed(
        self, tensor: Tensor, action: str, with_relations: bool = False
    ) -> tuple[Stage, ComputeOp]:
        stage = self[tensor]
        stage.require_computed(action)
        if stage.attributes or stage.relayout or (stage.relations and not with_relations):
            raise TeError(f"{action}: the loops of stage {stage.name} were changed before it")
        return stage, stage.op

    def _replace(self, stage: Stage, op: Operation) -> None:
        stage.op = op
        self._stage_of[op] = stage

    def _add(self, op: Operation, position: int, scan: Stage | None = None) -> Stage:
        stage = Stage(self, op, scan=scan)
        self.stages.insert(position, stage)
        self._stage_of[op] = stage
        return stage

    def _add_beside(self, stage: Stage, op: Operation, position: int) -> Stage:
        """A new stage of the scan and of the groups of a stage."""
        new = self._add(op, position, stage.scan)
        if isinstance(stage.group, StageGroup):
            stage.group.add(new, self.stages)
        return new

    def resolved_operations(self) -> dict[Stage, Operation]:
        """The operation of each stage, with its inputs replaced by the current tensors of their stages."""
        operations: dict[Stage, Operation] = {}
        changed = {
            stage: op for stage in self.stages if isinstance(op := stage.op, ScanOp) and self._has_changed(stage)
        }

        def tensor_of(tensor: Tensor) -> Tensor:
            return operations[self[tensor]].output(tensor.value_index)

        for stage in self.stages:
            if stage in changed:
                operations[stage] = rebuild_scan(changed[stage], tensor_of)
            elif stage.scan is None or stage.scan in changed:
                operations[stage] = with_inner(substitute_inputs(stage.op, tensor_of), stage.inner)
            else:
                operations[stage] = stage.op
        return operations

    def _has_changed(self, scan: Stage) -> bool:
        """Whether caches or `rfactor` have changed the computes of a scan. UnsupportedError if they have, and a compute
        has no stage."""
        inside = [stage for stage in self.stages if stage.scan is scan]
        origins = [stage.origin_op for stage in inside if not isinstance(stage.op, PlaceholderOp)]
        if all(stage.op is stage.origin_op for stage in inside) and len(origins) == len(computes_of_scan(scan.op)):
            return False
        if scan.op is not scan.origin_op:
            raise UnsupportedError(f"scan {scan.name}: it reads a cache and has caches, expected one of both")
        for origin, _ in scan.op.origins:
            if origin not in self._stage_of:
                raise UnsupportedError(f"scan {scan.name}: several rows of {origin.name} are read, expected no caches")
        return True


class StageGroup:
    """Stages that are computed at the same loop.

    stages: producers before consumers.  group: the group that contains the group, or the scan that computes its stages,
    or None.  attachment: the place of the group, None for the top level.
    """

    def __init__(self, stages: Sequence[Stage]):
        self.stages = list(stages)
        self.group: StageGroup | Stage | None = None
        self.attachment: tuple[Stage, IterVar] | None = None
        self._join()

    def _join(self) -> None:
        """Makes the stages, and the groups of which all stages belong to this one, parts of this group."""
        outermost: list[StageGroup | Stage] = []
        around: list[StageGroup | Stage | None] = []
        for stage in self.stages:
            part: StageGroup | Stage = stage
            while isinstance(part.group, StageGroup) and set(part.group.stages) <= set(self.stages):
                part = part.group
            if part not in outermost:
                outermost.append(part)
                around.append(part.group)
        if any(each is not around[0] for each in around):
            raise TeError(f"create_group: stages {', '.join(s.name for s in self.stages)} are of different groups")
        self.children = outermost
        self.group = around[0] if around else None
        for part in outermost:
            part.group = self

    def add(self, stage: Stage, order: Sequence[Stage]) -> None:
        """Makes a stage a part of the group. order: all stages."""
        stage.group = self
        self.children.append(stage)
        group: StageGroup | Stage | None = self
        while isinstance(group, StageGroup):
            members = {*group.stages, stage}
            group.stages = [each for each in order if each in members]
            group = group.group

    @property
    def num_child_stages(self) -> int:
        """The number of stages and groups that are parts of the group, without those of its groups."""
        return len(self.children)

    @property
    def attach_stage(self) -> Stage | None:
        """The stage in whose loops the group is computed, or None."""
        return None if self.attachment is None else self.attachment[0]

    @property
    def attach_ivar(self) -> IterVar | None:
        """The axis at which the group is computed, or None."""
        return None if self.attachment is None else self.attachment[1]

    def compute_at(self, parent: Stage, scope: IterVar) -> None:
        """Computes the stages of the group that are not computed at a loop, or inlined, as `Stage.compute_at` does."""
        for stage in self.stages:
            if stage.attachment is None:
                stage.attach(parent, scope)
        self.attachment = (parent, scope)

    def compute_root(self) -> None:
        """Computes all stages of the group at the top level of the function."""
        self.attachment = None
        for stage in self.stages:
            stage.compute_root()


def _listed(tensors: Any) -> list[Any]:
    """A tensor, or several, as a list."""
    return list(tensors) if isinstance(tensors, list | tuple) else [tensors]  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]


# Axes in terms of the loops derived from them


def axis_extents(stage: Stage) -> dict[IterVar, PrimExpr]:
    """The extents of all past and present axes of a stage, where the stage computes its whole operation."""
    op = stage.op
    assert isinstance(op, ComputeOp)
    own = () if stage.relayout is None else stage.relayout.axes
    extents = {axis: axis.dom.extent for axis in (*op.axis, *op.reduce_axis, *own) if axis.dom is not None}
    for relation in stage.relations:
        match relation:
            case Split(parent, outer, inner, factor, nparts):
                factor_extent = IntImm(parent.var.dtype, factor or nparts or 1)
                other = binary_expr("floordiv", extents[parent] + (factor_extent - 1), factor_extent)
                extents[outer], extents[inner] = (other, factor_extent) if nparts is None else (factor_extent, other)
            case Fuse(axes, fused):
                product = extents[axes[0]]
                for axis in axes[1:]:
                    product = product * extents[axis]
                extents[fused] = product
            case Singleton(axis):
                extents[axis] = IntImm(axis.var.dtype, 1)
            case _:
                pass
    return extents


def _axis_values(
    stage: Stage, leaves: Mapping[IterVar, PrimExpr], extents: Mapping[IterVar, PrimExpr]
) -> tuple[dict[IterVar, PrimExpr], list[PrimExpr]]:
    """The values of the axes in terms of the loops, and the conditions that bound them to the axes' domains; of
    reduction axes alone for reduction loops alone."""
    values = dict(leaves)
    conditions: list[PrimExpr] = []
    for relation in reversed(stage.relations):
        match relation:
            case Split(parent, outer, inner) if outer in values:
                values[parent] = values[outer] * extents[inner] + values[inner]
                if not _is_product(extents[parent], extents[outer], extents[inner]):
                    conditions.append(values[parent] < extents[parent])
            case Fuse(axes, fused) if fused in values:
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


def _layout(stage: Stage) -> Layout:
    """The loops of a stage as the dimensions of a tensor. TeError if a reduction loop has been transformed."""
    op = stage.op
    assert isinstance(op, ComputeOp)
    spatial = [leaf for leaf in stage.leaf_iter_vars if leaf not in op.reduce_axis]
    if any(leaf.kind != "spatial" for leaf in spatial):
        raise TeError(f"cache_write: the reduction loops of stage {stage.name} were changed before it")
    extents = axis_extents(stage)
    axes = [
        IterVar(Range(IntImm(leaf.var.dtype, 0), extents[leaf]), Var(f"{leaf.var.name}.c", leaf.var.dtype), "spatial")
        for leaf in spatial
    ]
    leaves: dict[IterVar, PrimExpr] = {leaf: axis.var for leaf, axis in zip(spatial, axes, strict=True)}
    leaves |= {axis: axis.var - axis.dom.min for axis in op.reduce_axis if axis.dom is not None}
    values, conditions = _axis_values(stage, leaves, extents)
    indices = _loop_values(stage, extents)
    return Layout(
        tuple(axes),
        {axis.var: values[axis] for axis in op.axis},
        tuple(conditions),
        tuple(indices[leaf] for leaf in spatial),
    )


def _loop_values(stage: Stage, extents: Mapping[IterVar, PrimExpr]) -> dict[IterVar, PrimExpr]:
    """The values of all loops over elements in terms of the axes."""
    op = stage.op
    assert isinstance(op, ComputeOp)
    values: dict[IterVar, PrimExpr] = {axis: axis.var for axis in op.axis}
    for relation in stage.relations:
        match relation:
            case Split(parent, outer, inner):
                values[outer], values[inner] = values[parent] // extents[inner], values[parent] % extents[inner]
            case Fuse(axes, fused):
                total = values[axes[0]]
                for axis in axes[1:]:
                    total = total * extents[axis] + values[axis]
                values[fused] = total
            case Singleton(axis):
                values[axis] = IntImm(axis.var.dtype, 0)
            case _:
                pass
    return values


def _is_product(whole: PrimExpr, a: PrimExpr, b: PrimExpr) -> bool:
    product = a * b
    return isinstance(whole, IntImm) and isinstance(product, IntImm) and whole.value == product.value


def _is_whole(axis: IterVar) -> bool:
    """Whether an axis is that of an operation, and begins at 0."""
    return axis.dom is not None and isinstance(axis.dom.min, IntImm) and axis.dom.min.value == 0


def _reduce_axis(axis: IterVar, extent: PrimExpr) -> IterVar:
    variable = Var(axis.var.name, axis.var.dtype)
    return IterVar(Range(IntImm(variable.dtype, 0), extent), variable, "reduce")

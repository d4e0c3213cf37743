"""Application of legacy schedules: a program with a block for each stage, transformed by schedule primitives."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import takewhile
from typing import Any, TypeAlias

from xdsl.dialects.builtin import StringAttr
from xdsl.ir import Operation as IrOperation
from xdsl.ir import SSAValue

from ...analysis.names import buffer_name
from ...analysis.scopes import ancestors, depends_on, function_around, reads_of, writes_of
from ...core.errors import ScheduleError, UnsupportedError
from ...core.xdsl_compat import set_name_hint
from ...dialects.tir import AllocBufferOp, BlockOp, BufferOp, ForOp, FuncOp, Mixed
from ...dialects.tir.base import memref_type
from ...expressions.axes import IterVar
from ...expressions.errors import TeError
from ...expressions.expr import IntImm, Var
from ...expressions.scan import ScanOp
from ...expressions.tensor import ComputeOp, Operation, PlaceholderOp, Reduce, Tensor, topological_order
from ...schedule import Schedule as TirSchedule
from ...schedule.handles import BlockRV, LoopRV
from ...schedule.rewriting.init_nests import loops_of_init
from .prim_func import create_prim_func
from .relayout import Relayout
from .schedule import Schedule
from .stage import Attachment, BlockStep, Fuse, Relation, Reorder, Singleton, Split, Stage, Tensorization


@dataclass(frozen=True)
class AxisBounds:
    """The values of an axis of a stage, `extent` from `low` on, in the program where the stage has just been placed.

    func: the function.  low, extent: numbers, or values in the function.  names: the variables of axes by the values of
    their loops; 0 for the loops of the stage itself.
    """

    func: FuncOp
    axis: IterVar
    low: Mixed
    extent: Mixed
    names: Mapping[SSAValue, Var | int]


AxisObserver: TypeAlias = Callable[[AxisBounds], None]


def apply_schedule(
    schedule: Schedule,
    args: Iterable[Tensor | Var],
    *,
    name: str = "main",
    enable_check: bool = True,
    keeps_inits: bool = False,
    observe: AxisObserver | None = None,
) -> TirSchedule:
    """The program of a legacy schedule, transformed with the primitives of `stepwell.Schedule`; returns that schedule.

    args: the parameters of the function, as for `create_prim_func`; an inlined tensor is never written, and an output
    that is missing is computed in memory of the function.  name: its name.  enable_check: as of `Schedule`.
    keeps_inits: whether the inits of reductions stay in their blocks if no stage has transformations, as default
    schedules expect them.  observe: is called with the bounds of each axis of a stage when it is placed.
    Stages are placed from last to first, so that the loops of consumers exist, bound to threads, when producers are
    computed at them. The init of a reduction becomes a block of its own before the reduction loops.
    TeError for a schedule that fits no program: a stage computed at a loop that no
    longer exists. ScheduleError, with the stage and the user's line, for a primitive that is illegal.
    """
    resolved = schedule.resolved_operations()
    params = [_parameter(schedule, resolved, arg) if isinstance(arg, Tensor) else arg for arg in args]
    tensors = [param for param in params if isinstance(param, Tensor)]
    reached = topological_order(tensors)
    hidden = [
        resolved[stage].output(0) for stage in schedule.stages if stage.is_output and resolved[stage] not in reached
    ]
    ops = [op for op in topological_order([*tensors, *hidden]) if not isinstance(op, PlaceholderOp)]
    stage_of = {op: stage for stage, op in resolved.items()}
    for stage in schedule.stages:
        stage.check_store_predicate()
    func = create_prim_func(params, name=name, temporaries=hidden)
    sch = TirSchedule(func, enable_check=enable_check)
    blocks = list(sch.get_child_blocks("root") if ops else [])
    blocks_of: dict[Stage, list[BlockRV]] = {}
    for op in ops:
        count = _num_blocks(sch, op, blocks)
        if isinstance(op, ComputeOp):
            blocks_of[stage_of[op]] = blocks[:count]
        elif isinstance(op, ScanOp):
            blocks_of |= _blocks_of_steps(stage_of, op, [b for b in blocks[:count] if _is_in_scan(sch, b)])
        del blocks[:count]
    application = _Application(sch, {stage: blocks_of[stage] for stage in schedule.stages if stage in blocks_of})
    application.observe = observe
    for stage in schedule.stages:
        if stage.relayout is not None and isinstance(stage.op, PlaceholderOp):
            application.relayout_parameter(stage, params)
    application.hoists_inits = not (keeps_inits and all(map(_is_unchanged, schedule.stages)))
    return application.run()


def _is_unchanged(stage: Stage) -> bool:
    """Whether a stage has no transformation, or is inlined."""
    is_changed = stage.is_transformed or stage.op is not stage.origin_op
    return not is_changed and (stage.attachment is None or _is_inlined(stage))


def _parameter(schedule: Schedule, resolved: Mapping[Stage, Operation], arg: Tensor) -> Tensor:
    """The parameter for a tensor of a schedule. For an inlined stage a placeholder, since no block computes the tensor;
    a placeholder that no stage reads is itself. For another tensor outside the schedule a placeholder and a warning."""
    if arg not in schedule:
        if isinstance(arg.op, PlaceholderOp):
            return arg
        warnings.warn(
            f"argument {arg.name} is no tensor of the schedule: the function leaves it as it is", stacklevel=2
        )
        tensor = arg
    else:
        stage = schedule[arg]
        tensor = resolved[stage].output(arg.value_index)
        if not _is_inlined(stage):
            return tensor
    return PlaceholderOp(tensor.name, tensor.shape, (tensor.data_type,), tensor.op.location).output(0)


def _num_blocks(sch: TirSchedule, op: Operation, blocks: Sequence[BlockRV]) -> int:
    """The number of blocks that compute an operation: one, or one per tensor if several are computed without a joint
    reduction; for a scan the blocks of its time loop and the preceding blocks that copy the initial rows. blocks: the
    remaining blocks, starting with the first of the operation.
    """
    if isinstance(op, ComputeOp):
        return 1 if isinstance(op.body[0], Reduce) else op.num_outputs
    if not isinstance(op, ScanOp):
        return 1
    loops = [sch.get(sch.get_loops(block)[0]) if _is_in_scan(sch, block) else None for block in blocks]
    first = next(n for n, loop in enumerate(loops) if loop is not None)
    return first + sum(1 for _ in takewhile(lambda loop: loop is loops[first], loops[first:]))


def _blocks_of_steps(
    stages: Mapping[Operation, Stage], scan: ScanOp, blocks: Sequence[BlockRV]
) -> dict[Stage, list[BlockRV]]:
    """The blocks of each stage of a scan. stages: those of operations.  blocks: those of its time loop, in order.

    UnsupportedError for a cache of which one time step computes several rows.
    """
    left = list(blocks)
    found: dict[Stage, list[BlockRV]] = {}
    for step, (origin, _) in zip(scan.steps, scan.origins, strict=True):
        count = 1 if isinstance(step.body[0], Reduce) else step.num_outputs
        if origin in stages:
            stage = stages[origin]
            if stage in found:
                raise UnsupportedError(
                    f"stage {stage.name} of scan {scan.name}: one time step reads several rows of it"
                )
            found[stage] = left[:count]
        del left[:count]
    return found


def _is_in_scan(sch: TirSchedule, block: BlockRV) -> bool:
    op = sch.get(block)
    return isinstance(op, BlockOp) and any(axis.kind == "scan" for axis in op.axes)


class _Application:
    """The application of a legacy schedule to a `stepwell.Schedule`.

    blocks: the blocks of each stage, producers before consumers; several for several tensors in one loop nest. loops:
    the loop of each axis, by stage.  leaves: the axes of a stage that are loops, outermost first. inits: the loops
    around hoisted inits, with their axes.  tensorized_inits: the loop of each init to tensorize.  buffers: the names of
    buffers whose scope was set. tiles: the extents of the elements that a stage computes in the loop it is computed at.
    named: the axes that carry attributes or an attached stage. hoists_inits: whether the init of a reduction becomes a
    block of its own.  observe: is called with the bounds of axes.
    """

    def __init__(self, sch: TirSchedule, blocks: dict[Stage, list[BlockRV]]):
        self.sch = sch
        self.blocks = blocks
        self.hoists_inits = True
        self.observe: AxisObserver | None = None
        self.loops: dict[Stage, dict[IterVar, LoopRV]] = {}
        self.leaves: dict[Stage, list[IterVar]] = {}
        self.inits: list[tuple[Stage, IterVar, LoopRV]] = []
        self.tensorized_inits: dict[Stage, LoopRV] = {}
        self.init_blocks: dict[Stage, BlockRV] = {}
        self.buffers: dict[tuple[BlockRV, int], str] = {}
        self.tiles: dict[Stage, list[Mixed]] = {}
        self.threads = _Threads(blocks)
        self.named = {stage: {*stage.attributes} for stage in blocks}
        for stage in blocks:
            if stage.attachment is not None and stage.attachment.stage in blocks and stage.attachment.axis is not None:
                parent = stage.attachment.stage
                self.named[parent].add(parent.innermost(stage.attachment.axis))

    def relayout_parameter(self, stage: Stage, params: Sequence[Tensor | Var]) -> None:
        """Changes the layout of a parameter. params: the parameters of the function. TeError for one that no stage
        reads.
        """
        change = stage.relayout
        assert change is not None
        position = next((n for n, each in enumerate(params) if isinstance(each, Tensor) and each.op is stage.op), None)
        for block in [block for blocks in self.blocks.values() for block in blocks]:
            op = self._block(block)
            read = reads_of(op)
            parameter = None if position is None else _function_of(op).body.block.args[position]
            if parameter is not None and parameter in read:
                with _stage_in_errors(stage, change.where):
                    self._set_layout(block, ("read", read.index(parameter)), change)
                    return
        raise TeError(f"transform_layout: no te.compute of the schedule reads {stage.name} ({change.where})")

    def _set_layout(self, block: BlockRV, buffer: tuple[str, int], change: Relayout) -> None:
        self.sch.transform_layout(block, buffer, change.index_map, axis_separators=change.axis_separators)

    def _relayout(self, stage: Stage, change: Relayout) -> None:
        """Changes the layout of the tensors of a stage, and its loops to the loops over them."""
        blocks = self.blocks[stage]
        for n in range(stage.op.num_outputs):
            block, index = (blocks[n], 0) if len(blocks) > 1 else (blocks[0], n)
            self._set_layout(block, ("write", index), change)
        for block in blocks:
            self.sch.transform_block_layout(block, change.of_block(len(self._block(block).axes)))

    def run(self) -> TirSchedule:
        for stage in self.blocks:
            if stage.relayout is not None:
                with _stage_in_errors(stage, stage.relayout.where):
                    self._relayout(stage, stage.relayout)
        for stage in self.blocks:
            for step in stage.steps:
                with _stage_in_errors(stage, step.where):
                    self._apply_step(stage, step)
        placed = [stage for stage in self.blocks if not _is_inlined(stage)]
        for stage, blocks in self.blocks.items():
            if stage.attachment is not None and _is_inlined(stage):
                with _stage_in_errors(stage, stage.attachment.where):
                    for block in blocks:
                        self.sch.compute_inline(block)
        for stage in reversed(placed):
            self._place(stage)
        self._divide_into_tiles()
        for stage in placed:
            if stage.tensorization is None:
                if self.hoists_inits:
                    self._hoist_init(stage)
            else:
                with _stage_in_errors(stage, stage.tensorization.where):
                    self._tensorize(stage, stage.tensorization)
        own = [
            (stage, axis, self.loops[stage][axis])
            for stage in placed
            for axis in self.leaves[stage]
            if not _is_tensorized(stage, axis)
        ]
        for stage, axis, loop in [*self.inits, *own]:
            self._set_attributes(stage, axis, loop)
        return self.sch

    def _apply_step(self, stage: Stage, step: BlockStep) -> None:
        """Applies a step to the blocks of a stage. Buffers keep their names; the name of a cache already states the
        scope.
        """
        blocks = self.blocks[stage]
        if step.primitive == "annotate":
            for block in blocks:
                self.sch.annotate(block, *step.arguments)
            return
        index, *arguments = step.arguments  # the index of a tensor; each has its own block, or all share one
        block, index = (blocks[index], 0) if len(blocks) > 1 else (blocks[0], index)
        if step.primitive != "set_scope":
            getattr(self.sch, step.primitive)(block, index, *arguments)
            return
        (scope,) = arguments
        name = self.buffers.setdefault((block, index), buffer_name(self._written_buffer(block, index)))
        self.sch.set_scope(block, index, scope)
        self._rename_buffer(block, index, name)

    def _rename_buffer(self, block: BlockRV, index: int, name: str) -> None:
        buffer = self._written_buffer(block, index)
        if isinstance(buffer.owner, BufferOp):
            buffer.owner.buffer_name = StringAttr(name)
            set_name_hint(buffer, name)

    def _name_all(self) -> None:
        """Renames all loops and buffers again: the rollback of a rejected primitive also rolls back names."""
        for stage in self.leaves:
            self._name_loops(stage)
        for _, axis, loop in self.inits:
            self._rename(loop, f"{axis.var.name}_init")
        for (block, index), name in self.buffers.items():
            self._rename_buffer(block, index, name)

    def _written_buffer(self, block: BlockRV, index: int) -> SSAValue:
        return writes_of(self._block(block))[index]

    def _block(self, block: BlockRV) -> BlockOp:
        op = self.sch.get(block)
        assert isinstance(op, BlockOp)
        return op

    # Loops

    def _place(self, stage: Stage) -> None:
        """Moves a stage to its attachment point, and transforms its loops as requested."""
        axes = stage.axes
        if stage.attachment is not None:
            loops = self._attach(stage, stage.attachment, axes)
        else:
            loops = dict(zip(axes, self._own(stage, self.sch.get_loops(self.blocks[stage][0])), strict=True))
        self.loops[stage] = loops
        self._observe_axes(stage, axes)
        leaves: Sequence[IterVar] = [axis for axis in axes if axis in loops]
        for relation in stage.relations:
            with _stage_in_errors(stage, relation.where):
                whole = self._extent(loops[relation.parent]) if isinstance(relation, Split) else None
                if isinstance(relation, Singleton):
                    outermost = loops[leaves[0]] if leaves else self.blocks[stage][0]
                    loops[relation.axis] = self.sch.add_unit_loop(outermost)
                    leaves = [relation.axis, *leaves]
                    continue
                leaves = self._relate(loops, leaves, relation)
            self._observe_relation(loops, relation, whole)
        leaves = self._drop_unit_loops(stage, loops, leaves)
        self.leaves[stage] = leaves = self._move_virtual_threads(stage, loops, leaves)
        self._name_loops(stage)
        for axis in leaves:
            loops[axis] = self._bind(stage, axis, loops[axis])
        if stage.tensorization is not None:
            with _stage_in_errors(stage, stage.tensorization.where):
                self._decompose_tensorized(stage, stage.tensorization)

    def _observe_axes(self, stage: Stage, axes: Sequence[IterVar]) -> None:
        """Reports the bounds of the axes of a stage that has been moved to its attachment point."""
        if self.observe is None:
            return
        block = self._block(self.blocks[stage][0])
        names: dict[SSAValue, Var | int] = {
            self._op(loop).variable: axis.var
            for other, loops in self.loops.items()
            if other is not stage
            for axis, loop in loops.items()
        }
        names |= {self._op(loop).variable: 0 for loop in self.loops[stage].values()}
        func = _function_of(block)
        for axis, own in zip(axes, self._own(stage, block.axes), strict=True):
            extent = self._extent(self.loops[stage][axis]) if axis in self.loops[stage] else 1
            low = own.binding if stage.attachment is not None else own.low
            self.observe(AxisBounds(func, axis, low, extent, names))

    def _observe_relation(self, loops: Mapping[IterVar, LoopRV], relation: Relation, whole: Mixed | None) -> None:
        """Reports the bounds of the axes that a relation has made. whole: the extent of a split loop, which the number
        of a split may exceed."""
        if self.observe is None or isinstance(relation, Reorder | Singleton):
            return
        made = (relation.fused,) if isinstance(relation, Fuse) else (relation.outer, relation.inner)
        for axis in made:
            loop, extent = self._op(loops[axis]), self._extent(loops[axis])
            if isinstance(whole, int) and isinstance(extent, int):
                extent = min(extent, whole)
            self.observe(AxisBounds(_function_of(loop), axis, 0, extent, {}))

    def _own(self, stage: Stage, each: Sequence[Any]) -> Sequence[Any]:
        """The entries that belong to the axes of a stage: in a scan all except that of the time."""
        return each if stage.scan is None else each[1:]

    def _drop_unit_loops(self, stage: Stage, loops: dict[IterVar, LoopRV], leaves: Sequence[IterVar]) -> list[IterVar]:
        """Drops loops of one iteration without attributes by fusing each with the next inner loop, or else with the
        enclosing one. A unit loop stays if the extent of the other loop is dynamic: a division would remain in the
        fused loop.
        """
        left = list(leaves)
        kept = [*self.named[stage], *([] if stage.tensorization is None else [stage.tensorization.axis])]
        for axis in leaves:
            if axis.kind != "spatial" or axis in kept or self._extent(loops[axis]) != 1:
                continue
            position = left.index(axis)
            others = left[position + 1 : position + 2] or left[max(position - 1, 0) : position]
            if not others or not isinstance(self._extent(loops[others[0]]), int):
                continue
            other = others[0]
            pair = (axis, other) if left.index(other) > position else (other, axis)
            loops[other] = self.sch.fuse(*(loops[each] for each in pair))
            del loops[axis]
            left.remove(axis)
        return left

    def _move_virtual_threads(
        self, stage: Stage, loops: Mapping[IterVar, LoopRV], leaves: Sequence[IterVar]
    ) -> list[IterVar]:
        """Moves the loops of virtual threads around those of threads: these share the memory of a block, of which each
        virtual thread has its own. Loops stay where another stage is computed between them.
        """
        tags = {axis: thread.thread_tag for axis in leaves if (thread := _thread_of(stage, axis)) is not None}
        bound = [axis for axis in leaves if axis in tags]
        moved = sorted(bound, key=lambda axis: tags[axis].startswith("threadIdx"))
        last = max((n for n, axis in enumerate(leaves) if axis in tags), default=0)
        used = [leaves.index(axis) for axis in self._axes_computed_at(stage) if axis in leaves]
        if moved == bound or any(n < last for n in used):
            return [*leaves]
        self.sch.reorder(*(loops[axis] for axis in moved))
        order = iter(moved)
        return [next(order) if axis in tags else axis for axis in leaves]

    def _axes_computed_at(self, stage: Stage) -> list[IterVar]:
        """The axes of a stage at which other stages are computed."""
        places = [other.attachment for other in self.blocks if other.attachment is not None]
        return [place.axis for place in places if place.stage is stage and place.axis is not None]

    def _extent(self, loop: LoopRV) -> Mixed:
        return self._op(loop).mixed_bounds[1]

    def _attach(self, stage: Stage, attachment: Attachment, axes: Sequence[IterVar]) -> dict[IterVar, LoopRV]:
        """Moves a stage into a loop. Returns the loops of its axes there: one for each axis, or, if the stage's loops
        carry no relations or attributes, only the loops of more than one iteration.
        """
        parent, axis = attachment.stage, attachment.axis
        assert parent is not None
        assert axis is not None
        what = f"stage {stage.name} is computed at axis {axis.var.name} of stage {parent.name} ({attachment.where})"
        if axis in parent.threads:
            loop = self._loop_of_reading_threads(stage, what)
        elif parent not in self.loops:
            why = "is inlined" if _is_inlined(parent) else "does not come after it"
            raise TeError(f"{what}, which {why}")
        else:
            axis = parent.innermost(axis)
            if axis not in parent.leaf_iter_vars:
                raise TeError(f"{what}, which was fused with loops in it since")
            loop = self.loops[parent][axis]
        keeps_all = bool(stage.relations or self.named[stage])
        blocks = self._blocks_to_attach(stage, loop, what, keeps_all)
        with _stage_in_errors(stage, attachment.where):
            for block in blocks:
                self.sch.compute_at(block, loop, preserve_unit_loops=keeps_all)
                self._set_default_scope(stage, block, loop)
        block = blocks[-1]
        around = self.sch.get_loops(block)
        own = around[[self._op(other) for other in around].index(self._op(loop)) + 1 :]
        if keeps_all:
            loops = dict(zip(axes, self._own(stage, own), strict=True))
            self.tiles[stage] = [self._extent(loops[each]) for each in axes if each.kind == "spatial"]
            return loops
        bindings = self._own(stage, [axis_op.binding for axis_op in self._block(block).axes])
        kept_loops: dict[IterVar, LoopRV] = {}
        for new, binding in zip(axes, bindings, strict=True):
            if own and depends_on([binding], self._op(own[0]).variable):
                kept_loops[new] = own.pop(0)
        self.tiles[stage] = [
            self._extent(kept_loops[each]) if each in kept_loops else 1 for each in axes if each.kind == "spatial"
        ]
        return kept_loops

    def _loop_of_reading_threads(self, stage: Stage, what: str) -> LoopRV:
        """The innermost loop over threads around the only block that reads the results of a stage."""
        written = {buffer for block in self.blocks[stage] for buffer in writes_of(self._block(block))}
        readers = [
            block
            for other, blocks in self.blocks.items()
            if other is not stage
            for block in blocks
            if written & set(reads_of(self._block(block)))
        ]
        around = [loop for block in readers for loop in self.sch.get_loops(block) if self._op(loop).thread is not None]
        if len(readers) != 1 or not around:
            raise UnsupportedError(f"{what}: {len(readers)} blocks read it, expected one in a loop over threads")
        return around[-1]

    def _set_default_scope(self, stage: Stage, block: BlockRV, loop: LoopRV) -> None:
        """Puts the results of a stage without a scope into the memory of those who run a loop: a thread or a block of
        threads.
        """
        if any(step.primitive == "set_scope" for step in stage.steps):
            return
        loops = [self._op(loop), *(each for each in ancestors(self._op(loop)) if isinstance(each, ForOp))]
        tags = [each.thread.data for each in loops if each.thread is not None]
        if not tags:
            return
        scope = "shared" if all(tag.startswith("blockIdx") for tag in tags) else "local"
        for n, buffer in enumerate(writes_of(self._block(block))):
            if isinstance(buffer.owner, AllocBufferOp):
                self._apply_step(stage, BlockStep("set_scope", (n, scope), ""))

    def _blocks_to_attach(self, stage: Stage, loop: LoopRV, what: str, is_single: bool) -> list[BlockRV]:
        """The blocks of a stage whose tensors are read in a loop; from now on they are the blocks of the stage. The
        blocks of its other tensors stay. is_single: whether the loops of the stage have names, so that it needs to be
        one block.
        """
        blocks = self.blocks[stage]
        if len(blocks) > 1:
            readers = [op for op in self._op(loop).walk() if isinstance(op, BlockOp)]
            read = {buffer for reader in readers for buffer in reads_of(reader)}
            needed = [block for block in blocks if set(writes_of(self._block(block))) & read]
            if not needed or (is_single and len(needed) != 1):
                raise UnsupportedError(
                    f"{what}, which reads {len(needed)} tensors of the stage in as many blocks, expected one"
                )
            self.blocks[stage] = needed
        return self.blocks[stage]

    def _relate(
        self, loops: dict[IterVar, LoopRV], leaves: Sequence[IterVar], relation: Split | Fuse | Reorder
    ) -> Sequence[IterVar]:
        """Applies one relation to the loops of a stage. Returns the resulting leaves, outermost first."""
        match relation:
            case Split(parent, outer, inner, factor, nparts, disable_predication):
                factors = [nparts, factor]
                loops[outer], loops[inner] = self.sch.split(
                    loops.pop(parent), factors, disable_predication=disable_predication
                )
                return [new for leaf in leaves for new in ((outer, inner) if leaf is parent else (leaf,))]
            case Fuse(axes, fused):
                loops[fused] = self.sch.fuse(*(loops.pop(axis) for axis in axes))
                return [fused if leaf is axes[0] else leaf for leaf in leaves if leaf not in axes[1:]]
            case Reorder(axes):
                order = iter(axes)
                self.sch.reorder(*(loops[axis] for axis in axes))
                return [next(order) if leaf in axes else leaf for leaf in leaves]

    def _name_loops(self, stage: Stage) -> None:
        """Names the loops of a stage as TVM does."""
        for axis in self.leaves[stage]:
            self._rename(self.loops[stage][axis], axis.var.name)

    def _rename(self, loop: LoopRV, name: str) -> None:
        op = self._op(loop)
        name = name.replace(".", "_")
        op.loop_var = StringAttr(name)
        set_name_hint(op.variable, name)

    def _op(self, loop: LoopRV) -> ForOp:
        op = self.sch.get(loop)
        assert isinstance(op, ForOp)
        return op

    # Execution of loops

    def _hoist_init(self, stage: Stage) -> None:
        """Moves the init of a reduction before the outermost reduction loop; the loops around the init get the
        attributes of the loops around the reduction.
        """
        leaves, loops = self.leaves[stage], self.loops[stage]
        reduced = [axis for axis in leaves if axis.kind == "reduce"]
        if not reduced or any(
            axis in stage.attributes and stage.attributes[axis].thread is not None for axis in reduced
        ):
            return  # the threads of a cross-thread reduction share one init
        axes = {self._op(loops[axis]): axis for axis in leaves[leaves.index(reduced[0]) :]}
        try:
            self._decompose(stage, self.blocks[stage][0], loops[reduced[0]], axes)
        except ScheduleError:
            self._name_all()  # the init stays in the block, and runs at the first reduction iteration

    def _decompose(self, stage: Stage, block: BlockRV, loop: LoopRV, axes: Mapping[ForOp, IterVar]) -> None:
        """Moves the init of a block before a loop. axes: those of the loops from this one on, whose attributes the
        loops around the init get.
        """
        recreated = loops_of_init(self._block(block), list(axes))
        init = self.sch.decompose_reduction(block, loop)
        self.init_blocks[stage] = init
        around = self.sch.get_loops(init)
        for old, new in zip(recreated, around[len(around) - len(recreated) :], strict=True):
            self.inits.append((stage, axes[old], self._bind(stage, axes[old], new)))

    def _decompose_tensorized(self, stage: Stage, tensorization: Tensorization) -> None:
        """Moves the init of a tensorized stage before the reduction loops around the tensorized loop, if there are any,
        while no producer is computed in them: the flow of few values is compared, then.
        """
        leaves, loops = self.leaves[stage], self.loops[stage]
        if tensorization.axis not in leaves:
            raise TeError(f"stage {stage.name}: tensorized axis {tensorization.axis.var.name} was split or fused since")
        position = leaves.index(tensorization.axis)
        reduced = [axis for axis in leaves[:position] if axis.kind == "reduce"]
        if not reduced:
            return
        axes = {self._op(loops[axis]): axis for axis in leaves[leaves.index(reduced[0]) :]}
        recreated = len(self.inits)
        self._decompose(stage, self.blocks[stage][0], loops[reduced[0]], axes)
        new, self.inits = self.inits[recreated:], self.inits[:recreated]
        self.inits += [each for each in new if leaves.index(each[1]) < position]
        inside = [loop for _, axis, loop in new if leaves.index(axis) >= position]
        # A loop of one iteration is none of the init.
        self.tensorized_inits[stage] = inside[0] if inside else self.sch.add_unit_loop(self.init_blocks[stage])

    def _divide_into_tiles(self) -> None:
        """Lays out the results of stages tile by tile, if a tensor intrinsic accesses them by strides that are numbers:
        a tile has the elements that a stage computes in the loop it is computed at, as all its memory has in TVM.
        """
        divided: dict[Stage, None] = {}
        for stage in self.blocks:
            if stage.tensorization is not None and stage.tensorization.intrin.has_numbers_as_strides:
                divided.update(dict.fromkeys(each for each in (*self._read_by(stage), stage) if each in self.tiles))
        for stage in divided:
            with _stage_in_errors(stage, "" if stage.attachment is None else stage.attachment.where):
                for block in self.blocks[stage]:
                    for n, buffer in enumerate(writes_of(self._block(block))):
                        self._divide_buffer(block, n, buffer, self.tiles[stage])

    def _read_by(self, stage: Stage) -> list[Stage]:
        """The stages that compute what a stage reads."""
        read = set(reads_of(self._block(self.blocks[stage][0])))
        return [
            other
            for other, blocks in self.blocks.items()
            if any(buffer in read for block in blocks for buffer in writes_of(self._block(block)))
        ]

    def _divide_buffer(self, block: BlockRV, index: int, buffer: SSAValue, tile: Sequence[Mixed]) -> None:
        """Lays out an allocated buffer tile by tile; a buffer of other sizes than those of whole tiles stays."""
        shape = memref_type(buffer).get_shape()
        if not isinstance(buffer.owner, AllocBufferOp) or len(shape) != len(tile):
            return
        pairs = list(zip(shape, tile, strict=True))
        if any(not isinstance(part, int) or whole < 1 or whole % part for whole, part in pairs):
            return
        divided = {n: part for n, (whole, part) in enumerate(pairs) if isinstance(part, int) and part != whole}
        if not divided:
            return

        def tiles(*indices: Any) -> list[Any]:
            inside = [i % divided[n] if n in divided else i for n, i in enumerate(indices)]
            return [*(indices[n] // part for n, part in divided.items()), *inside]

        name = buffer_name(buffer)
        self.sch.transform_layout(block, ("write", index), tiles)
        self._rename_buffer(block, index, name)

    def _tensorize(self, stage: Stage, tensorization: Tensorization) -> None:
        """Computes the tensorized loop by the intrinsic; in reduction loops by the calls for init and update."""
        whole, init, update = tensorization.intrin.register()
        loop = self.loops[stage][tensorization.axis]
        if stage not in self.tensorized_inits:
            self.sch.tensorize(loop, whole)
            return
        if init is None or update is None:
            raise TeError(
                f"stage {stage.name}: loops that reduce are around the tensorized axis, expected an intrinsic with "
                "calls for init and update"
            )
        self.sch.tensorize(self.tensorized_inits[stage], init)
        self.sch.tensorize(loop, update)

    def _bind(self, stage: Stage, axis: IterVar, loop: LoopRV) -> LoopRV:
        """Binds a loop to the threads of its axis, if any; returns the loop, which may have been replaced. Outer loops
        are bound before producers are placed in them, which compute what all threads that share their memory read.
        """
        if _thread_of(stage, axis) is None:
            return loop
        loop = self._guard(stage, axis, loop)
        with _stage_in_errors(stage, stage.attributes[axis].where):
            self.sch.bind(loop, self.threads.axis_of(stage, axis))
        return loop

    def _guard(self, stage: Stage, axis: IterVar, loop: LoopRV) -> LoopRV:
        """A loop of as many iterations as its kernel has threads along the axis: the further iterations do nothing."""
        extent, threads = self._extent(loop), self.threads.count_of(stage, axis, self._extent(loop))
        if not isinstance(extent, int) or not isinstance(threads, int) or extent == threads:
            return loop
        if extent > threads:
            tag = self.threads.axis_of(stage, axis)
            raise TeError(
                f"stage {stage.name}: axis {axis.var.name} of extent {extent} is bound to {tag} of {threads} threads"
            )
        with _stage_in_errors(stage, stage.attributes[axis].where):
            longer = self.sch.fuse(*self.sch.split(loop, [None, threads]))
        self._rename(longer, axis.var.name)
        return longer

    def _set_attributes(self, stage: Stage, axis: IterVar, loop: LoopRV) -> None:
        """Applies the attributes of an axis to a loop, except its threads."""
        if axis not in stage.attributes:
            return
        attributes = stage.attributes[axis]
        with _stage_in_errors(stage, attributes.where):
            for key, value in attributes.annotations.items():
                self.sch.annotate(loop, key, value)
            if attributes.kind is not None:
                getattr(self.sch, attributes.kind)(loop)


class _Threads:
    """The thread axes of a schedule. All stages computed in one another are one kernel, in which a thread axis has one
    number of threads, and each axis `vthread` a name of its own.
    """

    def __init__(self, stages: Iterable[Stage]):
        self._counts: dict[tuple[Stage, str], Mixed] = {}
        self._virtual: dict[Stage, dict[IterVar, None]] = {}
        bound = [
            (stage, attributes.thread)
            for stage in stages
            for attributes in stage.attributes.values()
            if attributes.thread is not None
        ]
        for stage, thread in bound:
            if thread.thread_tag in _VIRTUAL_TAGS:
                self._virtual.setdefault(_kernel_of(stage), {})[thread] = None
        for stage, thread in bound:
            if thread.dom is not None and isinstance(thread.dom.extent, IntImm):
                key = _kernel_of(stage), self._name(stage, thread)
                self._counts[key] = max(int(self._counts.get(key, 0)), thread.dom.extent.value)  # pyright: ignore[reportArgumentType]

    def axis_of(self, stage: Stage, axis: IterVar) -> str:
        """The name of the thread axis that an axis is bound to. TeError for a fourth virtual axis."""
        thread = _thread_of(stage, axis)
        assert thread is not None
        return self._name(stage, thread)

    def _name(self, stage: Stage, thread: IterVar) -> str:
        if thread.thread_tag not in _VIRTUAL_TAGS:
            return thread.thread_tag
        virtual = list(self._virtual[_kernel_of(stage)])
        if len(virtual) == 1:
            return _VIRTUAL_TAGS[0]
        if len(virtual) > len(_VIRTUAL_AXES):
            raise TeError(f"stage {stage.name}: {len(virtual)} axes vthread, expected at most {len(_VIRTUAL_AXES)}")
        return _VIRTUAL_AXES[next(n for n, each in enumerate(virtual) if each is thread)]

    def count_of(self, stage: Stage, axis: IterVar, extent: Mixed) -> Mixed:
        """The number of threads along the thread axis of an axis: as declared, else the extent of the first loop that
        is bound to it, `extent`.
        """
        return self._counts.setdefault((_kernel_of(stage), self.axis_of(stage, axis)), extent)


_VIRTUAL_TAGS = ("vthread", "cthread")
_VIRTUAL_AXES = ("vthread.x", "vthread.y", "vthread.z")


def _thread_of(stage: Stage, axis: IterVar) -> IterVar | None:
    return stage.attributes[axis].thread if axis in stage.attributes else None


def _kernel_of(stage: Stage) -> Stage:
    """The stage at the top level in whose loops a stage is computed."""
    while stage.attachment is not None and stage.attachment.stage is not None:
        stage = stage.attachment.stage
    return stage


def _function_of(op: IrOperation) -> FuncOp:
    func = function_around(op)
    assert func is not None
    return func


def _is_tensorized(stage: Stage, axis: IterVar) -> bool:
    """Whether an axis has become part of a tensor intrinsic."""
    if stage.tensorization is None or stage.tensorization.axis not in stage.leaf_iter_vars:
        return False
    return stage.leaf_iter_vars.index(axis) >= stage.leaf_iter_vars.index(stage.tensorization.axis)


def _is_inlined(stage: Stage) -> bool:
    return stage.attachment is not None and stage.attachment.stage is None


@contextmanager
def _stage_in_errors(stage: Stage, where: str) -> Generator[None]:
    """Adds the stage and the user's line to the errors of a primitive."""
    try:
        yield
    except ScheduleError as error:
        line = f" ({where})" if where else ""
        error.reason = f"stage {stage.name}{line}: {error.reason}"
        raise

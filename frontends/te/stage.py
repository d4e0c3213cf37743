"""Stages of a legacy schedule: the recorded transformations of one operation."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from operator import index
from typing import TYPE_CHECKING, Any, SupportsIndex, TypeAlias

from ...analysis.threads.axes import BLOCK_AXES, THREAD_AXES
from ...core.errors import UnsupportedError
from ...expressions.axes import IterVar
from ...expressions.errors import TeError, user_frame
from ...expressions.expr import IntImm, PrimExpr, StringImm, Var, as_condition, as_expr
from ...expressions.scan import ScanOp
from ...expressions.tensor import ComputeOp, Operation, PlaceholderOp, Tensor
from .intrinsic_calls import axes_of_call, first_axis_of_call
from .relayout import Relayout, relayout_of

if TYPE_CHECKING:
    from .schedule import Schedule, StageGroup
    from .tensor_intrin import TensorIntrin

UNSUPPORTED_STAGE_METHODS = frozenset(("rolling_buffer",))
"""Methods of TVM's stages that are not supported yet."""


@dataclass(frozen=True)
class Split:
    """A loop split into two. Exactly one of `factor`, the inner extent, and `nparts`, the outer extent, is given."""

    parent: IterVar
    outer: IterVar
    inner: IterVar
    factor: int | None
    nparts: int | None
    disable_predication: bool
    where: str


@dataclass(frozen=True)
class Fuse:
    """Adjacent loops fused into one."""

    axes: tuple[IterVar, ...]
    fused: IterVar
    where: str


@dataclass(frozen=True)
class Reorder:
    """Loops in a new order."""

    axes: tuple[IterVar, ...]
    where: str


@dataclass(frozen=True)
class Singleton:
    """A new outermost loop of one iteration."""

    axis: IterVar
    where: str


Relation: TypeAlias = Split | Fuse | Reorder | Singleton


@dataclass(frozen=True)
class Attachment:
    """The position of a stage: in a loop of another stage, or inlined into its readers if `stage` is None."""

    stage: Stage | None
    axis: IterVar | None
    where: str


@dataclass
class LoopAttributes:
    """The attributes of a loop. kind: a primitive of `stepwell.Schedule`, or None.  annotations: keys and values."""

    kind: str | None = None
    thread: IterVar | None = None
    annotations: dict[str, Any] = field(default_factory=dict[str, Any])
    where: str = ""


@dataclass(frozen=True)
class IterVarAttr:
    """The attributes of a loop, as TVM names them. iter_type: a number of `IterVar`."""

    iter_type: int
    bind_thread: IterVar | None = None
    tensor_intrin: TensorIntrin | None = None
    pragma_keys: tuple[StringImm, ...] = ()
    pragma_values: tuple[Any, ...] = ()

    @staticmethod
    def of(axis: IterVar, attributes: LoopAttributes) -> IterVarAttr:
        """The attributes of an axis."""
        kinds = {"unroll": IterVar.Unrolled, "vectorize": IterVar.Vectorized, "parallel": IterVar.Parallelized}
        pragmas = {key: value for key, value in attributes.annotations.items() if key.startswith("pragma_")}
        keys = tuple(StringImm(key.removeprefix("pragma_")) for key in pragmas)
        kind = axis.iter_type if attributes.kind is None else kinds[attributes.kind]
        values = tuple(
            StringImm(each) if isinstance(each, str) else as_expr(each) if isinstance(each, int | float) else each
            for each in pragmas.values()
        )
        return IterVarAttr(kind, attributes.thread, None, keys, values)


@dataclass(frozen=True)
class Tensorization:
    """The computation of a loop and all loops in it by a tensor intrinsic."""

    axis: IterVar
    intrin: TensorIntrin
    where: str


@dataclass(frozen=True)
class BlockStep:
    """A step on a whole stage: a primitive of `stepwell.Schedule` on its block, with arguments."""

    primitive: str
    arguments: tuple[Any, ...]
    where: str


def user_line() -> str:
    """The user's line as `file:line`, for errors raised later; empty if unknown."""
    frame = user_frame()
    return "" if frame is None else f"{frame.f_code.co_filename}:{frame.f_lineno}"


class Stage:
    """The stage of one operation: the transformations of its loops and buffers.

    op: the current operation, after caches and `rfactor`.  leaf_iter_vars: its loops, outermost first.  relations: the
    loop transformations, in order.  attachment: where the stage is computed, None for the top level of the function.
    scan: the stage of the scan, of whose time steps this stage computes a row each; None for other stages.
    threads: the thread axes of the time steps of a scan.  inner: the axes of loops inside of those along reduction axes
    whose bounds are computed.  group: the group of the stage, or the stage of the scan.
    """

    def __init__(self, schedule: Schedule, op: Operation, *, is_output: bool = False, scan: Stage | None = None):
        self.schedule = schedule
        self.scan = scan
        self.origin_op = op
        self.is_output = is_output
        self.attachment: Attachment | None = None
        self.group: StageGroup | Stage | None = scan
        self.threads: tuple[IterVar, ...] = ()
        self.steps: list[BlockStep] = []
        self.store_predicate: tuple[PrimExpr, str] | None = None
        self.reset(op)

    def reset(self, op: Operation) -> None:
        """Replaces the operation and discards all loop transformations."""
        self.relayout: Relayout | None = None
        self.inner: tuple[IterVar, ...] = ()
        self.op: Any = op  # users access its axes, which only a ComputeOp has
        self.leaf_iter_vars: list[IterVar] = self.axes
        self.relations: list[Relation] = []
        self.attributes: dict[IterVar, LoopAttributes] = {}
        self.tensorization: Tensorization | None = None
        if (called := axes_of_call(op)) is not None:
            intrin, self.leaf_iter_vars = called
            self.relations.append(Reorder(tuple(self.leaf_iter_vars), user_line()))
            self.tensorization = Tensorization(first_axis_of_call(op), intrin, user_line())

    @property
    def all_iter_vars(self) -> list[IterVar]:
        """The axes, and all loops that transformations have made of them, in the order of their creation."""
        made: list[IterVar] = list(self.axes)
        for relation in self.relations:
            match relation:
                case Split():
                    made += [relation.outer, relation.inner]
                case Fuse():
                    made.append(relation.fused)
                case Singleton():
                    made.append(relation.axis)
                case _:
                    pass
        return made

    @property
    def is_transformed(self) -> bool:
        """Whether loops or blocks of the stage have transformations; its place and its operation do not count."""
        changes = (self.relations, self.attributes, self.steps, self.tensorization, self.relayout, self.inner)
        return any(changes)

    @property
    def axes(self) -> list[IterVar]:
        """The axes that are loops of this stage: those of its operation, in a scan without the time. Loops along axes
        whose bounds are computed, and loops in them, are inside of the block, and not among them."""
        if not isinstance(self.op, ComputeOp):
            return []
        reduced = () if self.op.is_ragged else self.op.reduce_axis
        if self.relayout is not None:
            return [*self.relayout.axes, *reduced]
        spatial = [axis for axis in self.op.axis[0 if self.scan is None else 1 :] if axis not in self.inner]
        return [*spatial, *reduced]

    @property
    def name(self) -> str:
        return self.op.name

    @property
    def attach_type(self) -> int:
        """TVM's number of the place of the stage: 1 for the top level, 2 if it is inlined, 4 for a loop, 5 for a time
        step of a scan."""
        if self.attachment is not None:
            return 4 if self.attachment.stage is not None else 2
        return 1 if self.scan is None else 5

    @property
    def attach_ivar(self) -> IterVar | None:
        """The axis at which the stage is computed, or None."""
        return None if self.attachment is None else self.attachment.axis

    @property
    def attach_stage(self) -> Stage | None:
        """The stage in whose loops the stage is computed, or None."""
        return None if self.attachment is None else self.attachment.stage

    @property
    def iter_var_attrs(self) -> dict[IterVar, IterVarAttr]:
        """The attributes of the loops that have some, by axis."""
        found = {axis: IterVarAttr.of(axis, attributes) for axis, attributes in self.attributes.items()}
        if self.tensorization is not None:
            axis, intrin = self.tensorization.axis, self.tensorization.intrin
            found[axis] = replace(
                IterVarAttr.of(axis, LoopAttributes()), iter_type=IterVar.Tensorized, tensor_intrin=intrin
            )
        return found

    def __repr__(self) -> str:
        return f"stage({self.name}, {self.op})"

    def __getattr__(self, name: str) -> Any:
        if name in UNSUPPORTED_STAGE_METHODS:
            raise UnsupportedError(f"{name} of a stage is not supported yet")
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    # Loops

    def split(
        self, parent: IterVar, factor: Any = None, nparts: Any = None, disable_predication: bool = False
    ) -> tuple[IterVar, IterVar]:
        """Splits a loop into two, outer and inner, called `i.outer` and `i.inner`.

        factor: the extent of the inner loop, or nparts: the extent of the outer loop.  disable_predication: no guard; a
        ScheduleError in `apply_schedule` unless the size divides the extent.
        TeError if neither or both are given, or `parent` is not a loop of this stage.
        """
        position = self.position(parent)
        if (factor is None) == (nparts is None):
            raise TeError(f"split of axis {parent.var.name}: expected either factor or nparts")
        outer, inner = (_derive_axis(f"{parent.var.name}.{part}", [parent]) for part in ("outer", "inner"))
        inside, outside = (None if size is None else _size(size, parent) for size in (factor, nparts))
        self.relations.append(Split(parent, outer, inner, inside, outside, disable_predication, user_line()))
        self.leaf_iter_vars[position : position + 1] = [outer, inner]
        return outer, inner

    def tile(
        self, x_parent: IterVar, y_parent: IterVar, x_factor: Any, y_factor: Any
    ) -> tuple[IterVar, IterVar, IterVar, IterVar]:
        """Splits two loops, and moves both outer loops outermost: x.outer, y.outer, x.inner, y.inner."""
        x_outer, x_inner = self.split(x_parent, x_factor)
        y_outer, y_inner = self.split(y_parent, y_factor)
        self.reorder(x_outer, y_outer, x_inner, y_inner)
        return x_outer, y_outer, x_inner, y_inner

    def fuse(self, *args: IterVar) -> IterVar:
        """Fuses loops into one, called `i.j.fused`. args: adjacent loops, outermost first; each may also directly
        enclose those before it. Without arguments, a new outermost loop of one iteration.

        TeError for a loop of another stage, or if the loops are not adjacent.
        """
        if not args:
            return self._unit_loop()
        first, last = self.position(args[0]), self.position(args[0])
        for position in map(self.position, args[1:]):
            if position not in (first - 1, last + 1):
                raise TeError(
                    f"fuse of axes {_names(args)}: not next to each other, outermost first, in stage {self.name} "
                    f"(has: {_names(self.leaf_iter_vars)})"
                )
            first, last = min(first, position), max(last, position)
        if len(args) == 1:
            return args[0]
        axes = tuple(self.leaf_iter_vars[first : last + 1])
        fused = _derive_axis(f"{'.'.join(axis.var.name for axis in axes)}.fused", axes)
        self.relations.append(Fuse(axes, fused, user_line()))
        self.leaf_iter_vars[first : last + 1] = [fused]
        return fused

    def _unit_loop(self) -> IterVar:
        """A new outermost loop of one iteration."""
        axis = IterVar(None, Var("singleton", "int32"), "spatial")
        self.relations.append(Singleton(axis, user_line()))
        self.leaf_iter_vars.insert(0, axis)
        return axis

    def reorder(self, *args: IterVar) -> None:
        """Reorders loops, within the positions that they occupy among the loops of the stage.

        Axes of the operation may follow reduction axes whose bounds are computed: each iteration of the reduction has
        loops along them, which no other method transforms. TeError unless all reduction axes precede them in their
        order, and their bounds depend on none of them.
        """
        if isinstance(self.op, ComputeOp) and self.op.is_ragged and any(axis in self.op.reduce_axis for axis in args):
            self._reorder_ragged(args)
            return
        positions = sorted(self.position(axis) for axis in args)
        for n, axis in enumerate(args):
            if axis in args[:n]:
                raise TeError(f"reorder: axis {axis.var.name} is given twice")
        for position, axis in zip(positions, args, strict=True):
            self.leaf_iter_vars[position] = axis
        self.relations.append(Reorder(args, user_line()))

    def _reorder_ragged(self, args: Sequence[IterVar]) -> None:
        """Moves the axes that follow reduction axes into their loops."""
        reduced, loops = self.op.reduce_axis, [*self.leaf_iter_vars, *self.op.reduce_axis, *self.inner]
        if missing := [axis for axis in args if axis not in loops]:
            self.position(missing[0])
        order, places = list(loops), sorted(loops.index(axis) for axis in args)
        for place, axis in zip(places, args, strict=True):
            order[place] = axis
        first = min(order.index(axis) for axis in reduced)
        inner = order[first + len(reduced) :]
        bounding = self.op.bounding_axes
        if tuple(order[first : first + len(reduced)]) != reduced or any(axis not in self.op.axis for axis in inner):
            raise TeError(
                f"reorder: the loops of stage {self.name} in the order {_names(order)}, expected all of "
                f"{_names(reduced)}, whose bounds are computed, in this order, and then axes of the operation only"
            )
        if wrong := [axis for axis in inner if axis in bounding]:
            raise TeError(
                f"reorder: axis {wrong[0].var.name} of stage {self.name}, on which bounds depend, in the loop"
            )
        for axis in inner:
            if axis in self.attributes or any(
                axis in each.axes for each in self.relations if isinstance(each, Reorder)
            ):
                raise TeError(f"reorder: the loop {axis.var.name} of stage {self.name} was changed before it")
        self.inner, self.leaf_iter_vars = tuple(inner), order[:first]
        self.relations.append(Reorder(tuple(self.leaf_iter_vars), user_line()))

    def vectorize(self, var: IterVar) -> None:
        """Vectorizes a loop."""
        self._attributes(var).kind = "vectorize"

    def parallel(self, var: IterVar) -> None:
        """Runs the iterations of a loop in parallel."""
        self._attributes(var).kind = "parallel"

    def unroll(self, var: IterVar) -> None:
        """Unrolls a loop."""
        self._attributes(var).kind = "unroll"

    def bind(self, ivar: IterVar, thread_ivar: IterVar) -> None:
        """Binds a loop to threads, one iteration per thread. thread_ivar: the result of `te.thread_axis`."""
        if thread_ivar.kind != "thread":
            raise TeError(f"bind of axis {ivar.var.name} to {thread_ivar.var.name}, expected what te.thread_axis gives")
        self._attributes(ivar).thread = thread_ivar

    def tensorize(self, var: IterVar, tensor_intrin: TensorIntrin) -> None:
        """Computes a loop, with all loops in it, by a tensor intrinsic, the result of `te.decl_tensor_intrin`. A
        ScheduleError in `apply_schedule` unless the loops compute what the intrinsic describes.

        With reduction loops around the loop, the calls for the init and the update of the intrinsic are used.
        """
        self.position(var)
        self.tensorization = Tensorization(var, tensor_intrin, user_line())

    def pragma(self, var: IterVar, pragma_type: str, pragma_value: Any = None) -> None:
        """Annotates a loop with `pragma_TYPE`, by default with the value 1. "vectorize" and "unroll" are the methods of
        these names."""
        if pragma_type in ("vectorize", "unroll"):
            getattr(self, pragma_type)(var)
            return
        self._attributes(var).annotations[f"pragma_{pragma_type}"] = 1 if pragma_value is None else pragma_value

    def prefetch(self, tensor: Tensor, var: IterVar, offset: SupportsIndex) -> None:
        """States that a loop reads elements of a tensor `offset` iterations later: an annotation `prefetch_TENSOR` of
        the loop, by which no values change. TeError for a tensor that the stage does not read.
        """
        if tensor not in self.op.input_tensors:
            raise TeError(f"prefetch: {tensor.name} is not read by stage {self.name}")
        self._attributes(var).annotations[f"prefetch_{tensor.name}"] = index(offset)

    def env_threads(self, threads: Sequence[IterVar]) -> None:
        """States the thread axes to which the computes of a scan are bound. Each time step has kernels of its own; a
        stage computed at one of these axes is computed in each step, by each thread that reads it. TeError unless the
        stage is that of a `te.scan`.
        """
        if not isinstance(self.op, ScanOp):
            raise TeError(f"env_threads: {self.name} is no te.scan")
        self.threads = tuple(threads)

    def position(self, axis: IterVar) -> int:
        """The index of an axis among the loops, outermost first. TeError if the axis is not a loop of this stage."""
        if axis not in self.leaf_iter_vars:
            has = _names(self.leaf_iter_vars) or "none"
            raise TeError(f"axis {axis.var.name} is none of the axes of stage {self.name} (has: {has})")
        return self.leaf_iter_vars.index(axis)

    def _attributes(self, axis: IterVar) -> LoopAttributes:
        self.position(axis)
        attributes = self.attributes.setdefault(axis, LoopAttributes())
        attributes.where = user_line()
        return attributes

    # Attachment

    def compute_at(self, parent: Stage, scope: IterVar) -> None:
        """Computes this stage in a loop of a stage that reads it: for each iteration the elements that the iteration
        reads.

        scope: a loop of `parent`, or a thread axis bound to a loop of `parent`. TeError for any other axis. A loop that
        is split afterwards becomes its inner loop, the last of loops that are fused the fused loop.
        """
        group = self.group
        if group is not None and not isinstance(group, Stage) and parent not in group.stages:
            raise TeError(f"compute_at: stage {parent.name} is outside of the group of stage {self.name}")
        self.attach(parent, scope)

    def attach(self, parent: Stage, scope: IterVar) -> None:
        """Computes this stage in a loop, as `compute_at`, whose groups are not checked."""
        self.require_computed("compute_at")
        if parent is self or parent.schedule is not self.schedule:
            raise TeError(f"compute_at: stage {parent.name}, expected another stage of the same schedule")
        self.attachment = Attachment(parent, parent.loop(scope), user_line())

    def loop(self, scope: IterVar) -> IterVar:
        """The loop of `scope`: the loop bound to a thread axis, or the axis itself."""
        if scope in self.threads:
            return scope
        if scope.kind == "thread":
            for axis in self.leaf_iter_vars:
                if axis in self.attributes and self.attributes[axis].thread is scope:
                    return axis
        return self.leaf_iter_vars[self.position(scope)]

    def innermost(self, axis: IterVar) -> IterVar:
        """The innermost loop that an axis has become since by splits and fusions, of which it was the last axis; the
        axis itself if there is none."""
        for relation in self.relations:
            match relation:
                case Split(parent, _, inner) if parent is axis:
                    axis = inner
                case Fuse(axes, fused) if axes[-1] is axis:
                    axis = fused
                case _:
                    pass
        return axis

    def compute_inline(self) -> None:
        """Inlines each element into its readers. TeError for an output."""
        self.require_computed("compute_inline")
        if self.is_output:
            raise TeError(f"compute_inline: {self.name} is an output of the schedule, which nobody reads")
        self.attachment = Attachment(None, None, user_line())

    def compute_root(self) -> None:
        """Computes the whole operation at the top level of the function, the default."""
        self.attachment = None

    # Memory

    def set_scope(self, scope: str) -> None:
        """Stores the elements in memory of a scope: "global", "shared", "local", ..."""
        self.require_computed("set_scope")
        self.steps += [BlockStep("set_scope", (n, scope), user_line()) for n in range(self.op.num_outputs)]

    def transform_layout(self, mapping_function: Callable[..., Any]) -> list[IterVar]:
        """Stores the elements in another layout, and computes them in its order; returns the loops over the elements.

        mapping_function: a function of the indices of an element that returns the new ones, `lambda i, j: [j, i // 4,
        i % 4]`; `te.AXIS_SEPARATOR` among them divides the dimensions of the buffer into groups, as
        `Schedule.set_axis_separator` does. A parameter of the function, and a result, changes its shape. TeError for a
        layout with elements of its own, as of a size that 4 does not divide, or a symbolic shape; if loops of the stage
        have been transformed; and for a part of a scan or a `te.extern`.
        """
        if not isinstance(self.op, ComputeOp | PlaceholderOp) or self.scan is not None:
            raise TeError(
                f"transform_layout: stage {self.name}, expected a te.placeholder or a te.compute outside scans"
            )
        if self.is_transformed or (isinstance(self.op, ComputeOp) and self.op.is_ragged):
            raise TeError(f"transform_layout: the loops of stage {self.name} were changed before it")
        tensor = self.op.output(0)
        dtypes = (
            [axis.var.dtype for axis in self.op.axis]
            if isinstance(self.op, ComputeOp)
            else ["int32"] * len(tensor.shape)
        )
        self.relayout = relayout_of(mapping_function, tensor.shape, dtypes, self.name, user_line())
        self.leaf_iter_vars = self.axes
        return list(self.relayout.axes)

    def storage_align(self, axis: IterVar, factor: int, offset: int) -> None:
        """Aligns the stride of a dimension to `factor * n + offset` elements. axis: one of `op.axis`."""
        axes = list(self.op.axis) if self.inner else [each for each in self.axes if each.kind == "spatial"]
        if axis not in axes:
            raise TeError(f"storage_align: axis {axis.var.name}, expected one of op.axis of stage {self.name}")
        dimension = axes.index(axis)
        self.steps += [
            BlockStep("storage_align", (n, dimension, factor, offset), user_line()) for n in range(self.op.num_outputs)
        ]

    def double_buffer(self) -> None:
        """Annotates the buffer for double buffering, in which writes to one copy overlap with reads of the other."""
        self.require_computed("double_buffer")
        self.steps.append(BlockStep("annotate", ("double_buffer_scope", 0), user_line()))

    def set_store_predicate(self, predicate: Any) -> None:
        """States which of the threads with the same result store it, as in `tx.var.equal(0)` for a reduction across
        `tx`; one thread of them stores it in any case.

        predicate: a condition on thread axes, none of which a spatial axis of this stage is bound to: the results of
        its threads are the same, then. An axis to which no loop is bound has one thread. TeError for other conditions.
        """
        self.require_computed("set_store_predicate")
        self.store_predicate = (as_condition(predicate), user_line())

    def check_store_predicate(self) -> None:
        """TeError if the store predicate selects elements, not threads."""
        if self.store_predicate is None:
            return
        condition, where = self.store_predicate
        own = {
            attributes.thread.var
            for axis, attributes in self.attributes.items()
            if attributes.thread is not None and axis.kind == "spatial"
        }
        for variable in _variables(condition):
            what = f"set_store_predicate of stage {self.name} ({where}): {variable.name}"
            if variable in own:
                raise TeError(f"{what} is bound to a spatial axis of the stage, whose threads store different elements")
            if not self.schedule.is_thread(variable) and variable.name not in (*THREAD_AXES, *BLOCK_AXES):
                raise TeError(f"{what} is no thread axis")

    def require_computed(self, action: str) -> None:
        """TeError unless the operation is a `te.compute`."""
        if isinstance(self.op, PlaceholderOp):
            raise TeError(f"{action}: {self.name} is given by the caller, expected a tensor that is computed")
        if not isinstance(self.op, ComputeOp):
            raise TeError(f"{action}: {self.name} is a te.scan or te.extern, expected a te.compute")


def _variables(expr: PrimExpr) -> Iterator[Var]:
    if isinstance(expr, Var):
        yield expr
    for child in expr.children:
        yield from _variables(child)


def _names(axes: Sequence[IterVar]) -> str:
    return ", ".join(axis.var.name for axis in axes)


def _derive_axis(name: str, parents: Sequence[IterVar]) -> IterVar:
    """An axis derived from others. Its domain follows from theirs, and may depend on where the stage is computed."""
    kind = "reduce" if any(axis.kind == "reduce" for axis in parents) else "spatial"
    return IterVar(None, Var(name, parents[0].var.dtype), kind)


def _size(size: Any, parent: IterVar) -> int:
    value = size.value if isinstance(size, IntImm) else size
    if isinstance(value, bool) or not isinstance(value, SupportsIndex) or (value := index(value)) < 1:
        raise TeError(f"split of axis {parent.var.name}: {size!r}, expected a positive number")
    return value

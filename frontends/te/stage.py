"""Stages of a legacy schedule: how one operation is to be computed, as it was said."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from operator import index
from typing import TYPE_CHECKING, Any, SupportsIndex, TypeAlias

from ...core.errors import UnsupportedError
from ...expressions.axes import IterVar
from ...expressions.errors import TeError, user_frame
from ...expressions.expr import IntImm, Var
from ...expressions.tensor import ComputeOp, Operation, PlaceholderOp

if TYPE_CHECKING:
    from .schedule import Schedule

LATER = frozenset(("env_threads", "prefetch", "rolling_buffer", "set_store_predicate", "tensorize", "transform_layout"))
"""What TVM's stages have and these have not yet."""


@dataclass(frozen=True)
class Split:
    """A loop cut into two. Exactly one of `factor`, of the inner one, and `nparts`, of the outer one, is given."""

    parent: IterVar
    outer: IterVar
    inner: IterVar
    factor: int | None
    nparts: int | None
    where: str


@dataclass(frozen=True)
class Fuse:
    """Loops next to each other joined into one."""

    axes: tuple[IterVar, ...]
    fused: IterVar
    where: str


@dataclass(frozen=True)
class Reorder:
    """Loops in another order."""

    axes: tuple[IterVar, ...]
    where: str


Relation: TypeAlias = Split | Fuse | Reorder


@dataclass(frozen=True)
class Attachment:
    """Where a stage is computed: in a loop of another one, or, if that is None, where its elements are read."""

    stage: Stage | None
    axis: IterVar | None
    where: str


@dataclass
class LoopAttributes:
    """How a loop runs. kind: a primitive of `stepwell.Schedule`, or None.  pragmas: keys and values, as annotations."""

    kind: str | None = None
    thread: IterVar | None = None
    pragmas: dict[str, Any] = field(default_factory=dict[str, Any])
    where: str = ""


@dataclass(frozen=True)
class BlockStep:
    """Something said about the whole stage: a primitive of `stepwell.Schedule` on its block, with arguments."""

    primitive: str
    arguments: tuple[Any, ...]
    where: str


def here() -> str:
    """The user's line, for an error that may come of it later."""
    frame = user_frame()
    return "" if frame is None else f"{frame.f_code.co_filename}:{frame.f_lineno}"


class Stage:
    """How one operation is to be computed.

    op: the operation, as it is after caches and the like.  leaf_iter_vars: its loops, outermost first.  relations:
    what has been done to them, in order.  attachment: where it is computed, None for a place of its own.
    """

    def __init__(self, schedule: Schedule, op: Operation, *, is_output: bool = False):
        self.schedule = schedule
        self.origin_op = op
        self.is_output = is_output
        self.attachment: Attachment | None = None
        self.steps: list[BlockStep] = []
        self.reset(op)

    def reset(self, op: Operation) -> None:
        """Begin anew with another operation."""
        self.op: Any = op  # users go on to its axes, which only computed ones have
        self.leaf_iter_vars: list[IterVar] = [*op.axis, *op.reduce_axis] if isinstance(op, ComputeOp) else []
        self.relations: list[Relation] = []
        self.attributes: dict[IterVar, LoopAttributes] = {}

    @property
    def name(self) -> str:
        return self.op.name

    def __repr__(self) -> str:
        return f"stage({self.name}, {self.op})"

    def __getattr__(self, name: str) -> Any:
        if name in LATER:
            raise UnsupportedError(f"{name} of a stage is not supported yet")
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    # Loops

    def split(
        self, parent: IterVar, factor: Any = None, nparts: Any = None, disable_predication: bool = False
    ) -> tuple[IterVar, IterVar]:
        """Cut a loop in two: outer and inner, called `i.outer` and `i.inner`.

        factor: the extent of the inner one, or nparts: that of the outer one.
        TeError if neither or both are given, or `parent` is no loop of this stage.
        """
        position = self.position(parent)
        if (factor is None) == (nparts is None):
            raise TeError(f"split of axis {parent.var.name}: expected either factor or nparts")
        outer, inner = (_derived(f"{parent.var.name}.{part}", [parent]) for part in ("outer", "inner"))
        sizes = [None if size is None else _size(size, parent) for size in (factor, nparts)]
        self.relations.append(Split(parent, outer, inner, sizes[0], sizes[1], here()))
        self.leaf_iter_vars[position : position + 1] = [outer, inner]
        return outer, inner

    def tile(
        self, x_parent: IterVar, y_parent: IterVar, x_factor: Any, y_factor: Any
    ) -> tuple[IterVar, IterVar, IterVar, IterVar]:
        """Cut two loops in two, and put the outer ones outside: x.outer, y.outer, x.inner, y.inner."""
        x_outer, x_inner = self.split(x_parent, x_factor)
        y_outer, y_inner = self.split(y_parent, y_factor)
        self.reorder(x_outer, y_outer, x_inner, y_inner)
        return x_outer, y_outer, x_inner, y_inner

    def fuse(self, *args: IterVar) -> IterVar:
        """Join loops into one, called `i.j.fused`. args: outermost first, next to each other.

        TeError if they are none of this stage's loops, or stand otherwise.
        """
        if not args:
            raise TeError(f"fuse of no axes in stage {self.name}")
        first, *others = args
        position = self.position(first)
        for n, axis in enumerate(others, 1):
            if self.position(axis) != position + n:
                raise TeError(
                    f"fuse of axes {_names(args)}: not next to each other, outermost first, in stage {self.name} "
                    f"(has: {_names(self.leaf_iter_vars)})"
                )
        if not others:
            return first
        fused = _derived(f"{'.'.join(axis.var.name for axis in args)}.fused", args)
        self.relations.append(Fuse(args, fused, here()))
        self.leaf_iter_vars[position : position + len(args)] = [fused]
        return fused

    def reorder(self, *args: IterVar) -> None:
        """Put loops into this order, in the places that they have among the others."""
        positions = sorted(self.position(axis) for axis in args)
        for n, axis in enumerate(args):
            if axis in args[:n]:
                raise TeError(f"reorder: axis {axis.var.name} is given twice")
        for position, axis in zip(positions, args, strict=True):
            self.leaf_iter_vars[position] = axis
        self.relations.append(Reorder(args, here()))

    def vectorize(self, var: IterVar) -> None:
        """Run a loop as a vector."""
        self._attributes(var).kind = "vectorize"

    def parallel(self, var: IterVar) -> None:
        """Run the iterations of a loop in parallel."""
        self._attributes(var).kind = "parallel"

    def unroll(self, var: IterVar) -> None:
        """Write the iterations of a loop out."""
        self._attributes(var).kind = "unroll"

    def bind(self, ivar: IterVar, thread_ivar: IterVar) -> None:
        """Let each iteration of a loop be a thread. thread_ivar: as `te.thread_axis` gives it."""
        if thread_ivar.kind != "thread":
            raise TeError(f"bind of axis {ivar.var.name} to {thread_ivar.var.name}, expected what te.thread_axis gives")
        self._attributes(ivar).thread = thread_ivar

    def pragma(self, var: IterVar, pragma_type: str, pragma_value: Any = None) -> None:
        """Say something about a loop: the annotation `pragma_TYPE`, 1 if there is no value."""
        self._attributes(var).pragmas[f"pragma_{pragma_type}"] = 1 if pragma_value is None else pragma_value

    def position(self, axis: IterVar) -> int:
        """Which of the loops an axis is. TeError if it is none."""
        if axis not in self.leaf_iter_vars:
            has = _names(self.leaf_iter_vars) or "none"
            raise TeError(f"axis {axis.var.name} is none of the axes of stage {self.name} (has: {has})")
        return self.leaf_iter_vars.index(axis)

    def _attributes(self, axis: IterVar) -> LoopAttributes:
        self.position(axis)
        attributes = self.attributes.setdefault(axis, LoopAttributes())
        attributes.where = here()
        return attributes

    # Where

    def compute_at(self, parent: Stage, scope: IterVar) -> None:
        """Compute in a loop of a stage that reads this, what one iteration of that reads.

        scope: a loop of `parent`, or a thread that one is bound to. TeError if it is none.
        """
        self.require_computed("compute_at")
        if parent is self or parent.schedule is not self.schedule:
            raise TeError(f"compute_at: stage {parent.name}, expected another stage of the same schedule")
        self.attachment = Attachment(parent, parent.loop(scope), here())

    def loop(self, scope: IterVar) -> IterVar:
        """The loop that an axis is, or that is bound to it, if it is a thread."""
        if scope.kind == "thread":
            for axis in self.leaf_iter_vars:
                if axis in self.attributes and self.attributes[axis].thread is scope:
                    return axis
        return self.leaf_iter_vars[self.position(scope)]

    def compute_inline(self) -> None:
        """Compute each element where it is read. TeError for an output."""
        self.require_computed("compute_inline")
        if self.is_output:
            raise TeError(f"compute_inline: {self.name} is an output of the schedule, which nobody reads")
        self.attachment = Attachment(None, None, here())

    def compute_root(self) -> None:
        """Compute all of it in a place of its own, as where nothing else is said."""
        self.attachment = None

    # Memory

    def set_scope(self, scope: str) -> None:
        """Keep the elements in memory of a scope: "global", "shared", "local", ..."""
        self.require_computed("set_scope")
        self.steps += [BlockStep("set_scope", (n, scope), here()) for n in range(self.op.num_outputs)]

    def storage_align(self, axis: IterVar, factor: int, offset: int) -> None:
        """Let the stride of a dimension be `factor * n + offset` elements. axis: one of `op.axis`."""
        axes = self.op.axis if isinstance(self.op, ComputeOp) else ()
        if axis not in axes:
            raise TeError(f"storage_align: axis {axis.var.name}, expected one of op.axis of stage {self.name}")
        dimension = axes.index(axis)
        self.steps += [
            BlockStep("storage_align", (n, dimension, factor, offset), here()) for n in range(self.op.num_outputs)
        ]

    def double_buffer(self) -> None:
        """Keep the elements twice, so that one copy can be written while the other is read: an annotation."""
        self.require_computed("double_buffer")
        self.steps.append(BlockStep("annotate", ("double_buffer_scope", 0), here()))

    def require_computed(self, action: str) -> None:
        """TeError if it is not a `te.compute` whose tensor this is."""
        if isinstance(self.op, PlaceholderOp):
            raise TeError(f"{action}: {self.name} is given by the caller, expected a tensor that is computed")
        if not isinstance(self.op, ComputeOp):
            raise TeError(f"{action}: {self.name} is a te.scan or te.extern, expected a te.compute")


def _names(axes: Sequence[IterVar]) -> str:
    return ", ".join(axis.var.name for axis in axes)


def _derived(name: str, parents: Sequence[IterVar]) -> IterVar:
    """An axis made of others. Its domain follows from theirs, which may depend on where the stage is computed."""
    kind = "reduce" if any(axis.kind == "reduce" for axis in parents) else "spatial"
    return IterVar(None, Var(name, parents[0].var.dtype), kind)


def _size(size: Any, parent: IterVar) -> int:
    value = size.value if isinstance(size, IntImm) else size
    if isinstance(value, bool) or not isinstance(value, SupportsIndex) or (value := index(value)) < 1:
        raise TeError(f"split of axis {parent.var.name}: {size!r}, expected a positive number")
    return value

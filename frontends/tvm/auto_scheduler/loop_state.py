"""Schedules as stages with loops, transformed step by step: `tvm.auto_scheduler.loop_state`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from collections.abc import Iterator as Iteration
from copy import copy
from dataclasses import dataclass, field, replace
from math import prod
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias

from ....core.errors import OptionError
from ....expressions.axes import Range
from ....expressions.expr import IntImm
from ....expressions.tensor import ComputeOp, Operation, PlaceholderOp, Tensor
from ..absent import report_absent
from ..te_schedule import InferBound
from .transform_steps import Replay, replay_steps

if TYPE_CHECKING:
    from .compute_dag import ComputeDAG

__getattr__ = report_absent("tvm.auto_scheduler.loop_state")

ANNOTATIONS = (
    "none", "unroll", "vectorize", "parallel", "vthread", "blockIdx.x", "threadIdx.x", "blockIdx.y", "threadIdx.y",
    "blockIdx.z", "threadIdx.z", "tensorize",
)  # fmt: skip
"""The annotations of loops, by TVM's numbers."""
_THREADS = ANNOTATIONS[4:11]
_ROOT, _INLINED, _IN_LOOP = range(3)
_SPATIAL, _REDUCE, _MIXED = range(3)

StageLike: TypeAlias = "int | Operation | Tensor"


@dataclass(frozen=True, eq=False)
class Iterator:
    """A loop of a stage. range: None for an unknown number of iterations.  iter_kind: 0 for a loop over elements, 1 for
    one that reduces, 2 for both.  annotation: a number of `State.ANNOTATION_TRANS_TABLE`."""

    name: str
    range: Range | None
    iter_kind: int = _SPATIAL
    annotation: int = 0

    @property
    def extent(self) -> int | None:
        """The number of iterations, None if it is no number."""
        size = None if self.range is None else self.range.extent
        return size.value if isinstance(size, IntImm) else None

    def __str__(self) -> str:
        kind = "for" if not self.annotation else ANNOTATIONS[self.annotation]
        bounds = "None" if self.range is None else f"{self.range.min},{self.range.extent}"
        return f"{kind} {self.name} ({bounds})"


@dataclass
class StageAttributes:
    """The attributes of a stage: the limit of unrolled statements, and the offset of its memory."""

    auto_unroll_max_step: int = 0
    storage_offset: int = 0


@dataclass(eq=False)
class Stage:
    """A stage of a state: an operation with its loops, outermost first.

    compute_at: 0 for the top level, 1 if it is inlined, 2 in a loop of another stage.  op_type: 0 for an input, 1 for a
    computation.  place: the stage and the loop at which it is computed, or None.
    """

    op: Operation
    iters: list[Iterator]
    compute_at: int = _ROOT
    attrs: StageAttributes = field(default_factory=StageAttributes)
    place: tuple[Stage, Iterator] | None = None

    @property
    def op_type(self) -> int:
        """0 for an input, 1 for a computation."""
        return 0 if isinstance(self.op, PlaceholderOp) else 1


class State:
    """A schedule of the tensors of a `ComputeDAG`, transformed step by step.

    transform_steps: the steps, as records have them; without one, the program gets its default schedule.  dag: of the
    tensors; a state of a record has none, and shows no stages, nor does one of a kernel of a graph.  Stages are named
    by their operations, tensors or numbers. OptionError for steps that do not fit.
    """

    ANNOTATION_TRANS_TABLE = {name: number for number, name in enumerate(ANNOTATIONS)}

    def __init__(self, transform_steps: Sequence[Any] = (), dag: ComputeDAG | None = None):
        self.dag = dag
        self.transform_steps: list[Any] = []
        self.stages: list[Stage] = []
        if dag is None or not dag.tensors:
            self.transform_steps = list(transform_steps)
            return
        self.stages = [Stage(stage.op, _loops(stage.op)) for stage in replay_steps(dag.tensors, ()).stages]
        for step in transform_steps:
            self._apply(list(step))

    # Stages

    @property
    def stage_ops(self) -> list[Operation]:
        """The operations of the stages."""
        return [stage.op for stage in self.stages]

    def __getitem__(self, key: StageLike) -> Stage:
        """The stage of an operation, a tensor or a number."""
        return self.stages[self._number(key)]

    def _number(self, key: StageLike) -> int:
        """The number of a stage. OptionError for an operation without a stage."""
        if isinstance(key, int):
            return key
        op = key.op if isinstance(key, Tensor) else key
        found = [n for n, stage in enumerate(self.stages) if stage.op is op]
        found = found or [n for n, stage in enumerate(self.stages) if stage.op.name == op.name]
        if not found:
            names = ", ".join(stage.op.name for stage in self.stages) or "none"
            raise OptionError(f"state: no stage {op.name}, expected one of {names}")
        return found[0]

    def _loop(self, stage: int, iterator: Iterator) -> int:
        """The number of a loop of a stage. OptionError for a loop of another stage."""
        iters = self.stages[stage].iters
        if not any(each is iterator for each in iters):
            raise OptionError(f"stage {self.stages[stage].op.name}: loop {iterator.name} is none of its loops")
        return next(n for n, each in enumerate(iters) if each is iterator)

    def copy(self) -> State:
        """A state with the same steps, which later steps on this state do not change."""
        other = State(dag=None)
        other.dag, other.transform_steps = self.dag, list(self.transform_steps)
        copies = {stage: copy(stage) for stage in self.stages}
        for stage in copies.values():
            stage.iters, stage.attrs = list(stage.iters), copy(stage.attrs)
            stage.place = None if stage.place is None else (copies[stage.place[0]], stage.place[1])
        other.stages = list(copies.values())
        return other

    def __eq__(self, other: object) -> bool:
        return isinstance(other, State) and _plain(self.transform_steps) == _plain(other.transform_steps)

    __hash__ = None  # pyright: ignore[reportAssignmentType]

    def _apply(self, step: list[Any]) -> Any:
        """Adds a step and applies it to the loops. OptionError for an unknown step, and without tensors."""
        name, *arguments = step
        if name not in self._APPLICATIONS:
            raise OptionError(f"step {name!r} of a schedule, expected {', '.join(self._APPLICATIONS)}")
        if not self.stages:
            raise OptionError("a step on a state without stages, expected a state of a workload of tensors")
        result = self._APPLICATIONS[name](self, *arguments)
        self.transform_steps.append(step)
        return result

    # Loops

    def split(
        self, stage: StageLike, iterator: Iterator, lengths: Sequence[int | None], inner_to_outer: bool = True
    ) -> list[Iterator]:
        """Splits a loop, and returns the parts, outermost first. lengths: the numbers of iterations of the parts but
        the outermost one, or, without `inner_to_outer`, but the innermost one; None for a number to be chosen later."""
        number = self._number(stage)
        loop = self._loop(number, iterator)
        return self._apply(["SP", number, loop, iterator.extent or 0, list(lengths), int(inner_to_outer)])

    def follow_split(self, stage: StageLike, iterator: Iterator, src_step_id: int, n_split: int) -> list[Iterator]:
        """Splits a loop into `n_split + 1` parts, with the lengths of the step `src_step_id`, a split."""
        number = self._number(stage)
        return self._apply(["FSP", number, self._loop(number, iterator), src_step_id, n_split])

    def follow_fused_split(
        self, stage: StageLike, iterator: Iterator, src_step_ids: Sequence[int], level: int, factor_or_nparts: bool
    ) -> list[Iterator]:
        """Splits a loop in two by the product of the lengths of several splits at a level. factor_or_nparts: whether
        the product is the length of the inner loop."""
        number = self._number(stage)
        loop = self._loop(number, iterator)
        return self._apply(["FFSP", number, loop, list(src_step_ids), level, int(factor_or_nparts)])

    def fuse(self, stage: StageLike, iters: Sequence[Iterator]) -> Iterator:
        """Fuses adjacent loops into one. iters: outermost first."""
        number = self._number(stage)
        return self._apply(["FU", number, [self._loop(number, each) for each in iters]])

    def reorder(self, stage: StageLike, order: Sequence[Iterator]) -> None:
        """Reorders all loops of a stage."""
        number = self._number(stage)
        self._apply(["RE", number, [self._loop(number, each) for each in order]])

    def _annotate(self, stage: StageLike, iterator: Iterator, name: str) -> Iterator:
        number = self._number(stage)
        return self._apply(["AN", number, self._loop(number, iterator), self.ANNOTATION_TRANS_TABLE[name]])

    def bind(self, stage: StageLike, iterator: Iterator, thread_name: str) -> Iterator:
        """Binds a loop to a thread axis: "blockIdx.x", "threadIdx.y", "vthread", ... OptionError for another name."""
        if thread_name not in _THREADS:
            raise OptionError(f"bind: {thread_name!r}, expected {', '.join(_THREADS)}")
        return self._annotate(stage, iterator, thread_name)

    def parallel(self, stage: StageLike, iterator: Iterator) -> Iterator:
        """Runs a loop in parallel."""
        return self._annotate(stage, iterator, "parallel")

    def vectorize(self, stage: StageLike, iterator: Iterator) -> Iterator:
        """Vectorizes a loop."""
        return self._annotate(stage, iterator, "vectorize")

    def unroll(self, stage: StageLike, iterator: Iterator, max_unroll: int | None = None) -> Iterator:
        """Unrolls a loop, unless it has more than `max_unroll` iterations."""
        if max_unroll is not None and iterator.extent is not None and iterator.extent > max_unroll:
            return iterator
        return self._annotate(stage, iterator, "unroll")

    def pragma(self, stage: StageLike, iterator: Iterator, pragma_type: str) -> None:
        """Annotates a loop: "auto_unroll_max_step$64" limits the unrolled statements of the stage."""
        number = self._number(stage)
        self._apply(["PR", number, self._loop(number, iterator), pragma_type])

    def storage_align(self, stage: StageLike, iterator: Iterator, factor: int, offset: int) -> None:
        """Aligns the stride of a dimension to `factor * n + offset` elements."""
        number = self._number(stage)
        self._apply(["SA", number, self._loop(number, iterator), factor, offset])

    # Places

    def compute_at(self, stage: StageLike, target_stage: StageLike, target_iter: Iterator) -> None:
        """Computes a stage in a loop of another stage. `ComputeDAG.infer_bound_from_state` finds its loops."""
        target = self._number(target_stage)
        self._apply(["CA", self._number(stage), target, self._loop(target, target_iter)])

    def compute_inline(self, stage: StageLike) -> None:
        """Inlines a stage into its readers."""
        self._apply(["CI", self._number(stage)])

    def compute_root(self, stage: StageLike) -> None:
        """Computes a stage at the top level."""
        self._apply(["CR", self._number(stage)])

    def cache_read(self, stage: StageLike, scope_name: str, reader_stages: Sequence[StageLike]) -> Operation:
        """Copies the results of a stage to memory of a scope for some readers. Returns the operation of the copy."""
        readers = [self._number(each) for each in reader_stages]
        return self._apply(["CHR", self._number(stage), scope_name, readers])

    def cache_write(self, stage: StageLike, scope_name: str) -> Operation:
        """Computes a stage in memory of a scope, from where it is copied. Returns the operation of the computation."""
        return self._apply(["CHW", self._number(stage), scope_name])

    def rfactor(self, stage: StageLike, iterator: Iterator, factor_iter_id: int) -> Operation:
        """Splits a reduction in two steps, the first for each value of a loop. Returns the operation of the first.
        factor_iter_id: the dimension of its result for the loop."""
        number = self._number(stage)
        return self._apply(["RF", number, self._loop(number, iterator), factor_iter_id])

    # Applications of steps, whose arguments are numbers

    def _replaced(self, stage: int, loops: Sequence[int], new: Sequence[Iterator]) -> None:
        """Replaces adjacent loops of a stage. A stage computed at the last of them is computed at the last new one."""
        target = self.stages[stage]
        last = target.iters[loops[-1]]
        for other in self.stages:
            if other.place is not None and other.place[0] is target and other.place[1] is last:
                other.place = (target, new[-1])
        target.iters = [*target.iters[: loops[0]], *new, *target.iters[loops[-1] + 1 :]]

    def _split(self, stage: int, loop: int, extent: int, lengths: Sequence[int | None], inner: int = 1) -> Any:
        whole = self.stages[stage].iters[loop]
        size = whole.extent
        parts: list[tuple[int | None, int]] = []
        order = list(reversed(lengths)) if inner else list(lengths)
        for n, length in enumerate(order):
            parts.append((length if size is not None else None, len(lengths) - n if inner else n))
            size = None if size is None or length is None else -(-size // length)
        parts.append((size, 0 if inner else len(lengths)))
        new = [replace(whole, name=f"{whole.name}.{n}", range=_range(length)) for length, n in parts]
        new = new[::-1] if inner else new
        self._replaced(stage, [loop], new)
        return new

    def _follow_split(self, stage: int, loop: int, source: int, count: int) -> Any:
        lengths: list[int | None] = self._lengths(source)
        if count > len(lengths) + 1:
            raise OptionError(f"follow_split: {count} parts of a split of {len(lengths)} lengths")
        last = lengths[count - 1 :]
        rest = None if None in last else prod(each for each in last if each is not None)
        return self._split(stage, loop, 0, [*lengths[: count - 1], rest])

    def _follow_fused_split(self, stage: int, loop: int, sources: Sequence[int], level: int, factor: int) -> Any:
        lengths = [self._lengths(source)[level] for source in sources]
        length = None if None in lengths else prod(each for each in lengths if each is not None)
        return self._split(stage, loop, 0, [length], factor)

    def _lengths(self, step: int) -> list[int | None]:
        """The lengths of a split. OptionError for another step."""
        if not 0 <= step < len(self.transform_steps) or self.transform_steps[step][0] != "SP":
            raise OptionError(f"step {step} of the state, expected the number of a split")
        return self.transform_steps[step][4]

    def _fuse(self, stage: int, loops: Sequence[int]) -> Iterator:
        iters = [self.stages[stage].iters[n] for n in loops]
        if not iters or list(loops) != list(range(loops[0], loops[0] + len(loops))):
            names = ", ".join(each.name for each in iters)
            raise OptionError(f"fuse of {names or 'no loops'}, expected adjacent loops, outermost first")
        sizes = [each.extent for each in iters]
        size = None if None in sizes else prod(each for each in sizes if each is not None)
        kinds = {each.iter_kind for each in iters}
        kind = kinds.pop() if len(kinds) == 1 else _MIXED
        fused = Iterator("".join(f"{each.name}@" for each in iters), _range(size), kind, iters[0].annotation)
        self._replaced(stage, loops, [fused])
        return fused

    def _reorder(self, stage: int, loops: Sequence[int]) -> None:
        iters = self.stages[stage].iters
        if sorted(loops) != list(range(len(iters))):
            raise OptionError(f"reorder: {len(loops)} of the {len(iters)} loops, expected each once")
        self.stages[stage].iters = [iters[n] for n in loops]

    def _mark(self, stage: int, loop: int, annotation: int) -> Iterator:
        new = replace(self.stages[stage].iters[loop], annotation=annotation)
        self._replaced(stage, [loop], [new])
        return new

    def _pragma(self, stage: int, loop: int, kind: str) -> None:
        name, _, value = kind.partition("$")
        if name == "auto_unroll_max_step":
            self.stages[stage].attrs.auto_unroll_max_step = int(value)

    def _align(self, stage: int, loop: int, factor: int, offset: int) -> None:
        self.stages[stage].attrs.storage_offset = offset

    def _place(self, stage: int, kind: int, place: tuple[Stage, Iterator] | None = None) -> None:
        """Moves a stage; the bounds of its loops are unknown from now on, unless it is inlined."""
        moved = self.stages[stage]
        moved.compute_at, moved.place = kind, place
        if kind != _INLINED:
            moved.iters = [self._unbounded(moved, each) for each in moved.iters]

    def _unbounded(self, stage: Stage, iterator: Iterator) -> Iterator:
        new = replace(iterator, range=None)
        for other in self.stages:
            if other.place is not None and other.place[0] is stage and other.place[1] is iterator:
                other.place = (stage, new)
        return new

    def _compute_at(self, stage: int, target: int, loop: int) -> None:
        self._place(stage, _IN_LOOP, (self.stages[target], self.stages[target].iters[loop]))

    def _compute_inline(self, stage: int) -> None:
        self._place(stage, _INLINED)

    def _compute_root(self, stage: int) -> None:
        self._place(stage, _ROOT)

    def _insert(self, position: int, is_reset: bool, step: list[Any]) -> Operation:
        """Inserts the stage that a step makes. is_reset: whether the stage after it has new loops."""
        replay = self._replay([*self.transform_steps, step])
        new = Stage(replay.stages[position].op, _loops(replay.stages[position].op))
        self.stages.insert(position, new)
        for stage, other in zip(self.stages, replay.stages, strict=True):
            stage.op = other.op
        if is_reset:
            self.stages[position + 1].iters = _loops(self.stages[position + 1].op)
        return new.op

    def _cache_read(self, stage: int, scope: str, readers: Sequence[int]) -> Operation:
        return self._insert(stage + 1, False, ["CHR", stage, scope, list(readers)])

    def _cache_write(self, stage: int, scope: str) -> Operation:
        return self._insert(stage, True, ["CHW", stage, scope])

    def _rfactor(self, stage: int, loop: int, position: int) -> Operation:
        return self._insert(stage, True, ["RF", stage, loop, position])

    _APPLICATIONS: ClassVar[dict[str, Callable[..., Any]]] = {
        "AN": _mark, "CA": _compute_at, "CHR": _cache_read, "CHW": _cache_write, "CI": _compute_inline,
        "CR": _compute_root, "FFSP": _follow_fused_split, "FSP": _follow_split, "FU": _fuse, "PR": _pragma,
        "RE": _reorder, "RF": _rfactor, "SA": _align, "SP": _split,
    }  # fmt: skip
    """The applications of steps to the loops of a state, by their names in records."""

    # Programs

    def _replay(self, steps: Sequence[Any]) -> Replay:
        assert self.dag is not None
        return replay_steps(self.dag.tensors, steps)

    def with_bounds(self) -> State:
        """The state, whose loops all have bounds. Errors as of `te.apply_schedule`."""
        state = self.copy()
        if not state.stages:
            return state
        replay = self._replay(self.transform_steps)
        bounds = InferBound(replay.schedule)
        for number, other in enumerate(replay.stages):
            for loop, axis in enumerate(replay.loops[other]):
                if axis in bounds:
                    extent = Range(IntImm(axis.var.dtype, 0), bounds[axis].extent)
                    new = replace(state.stages[number].iters[loop], range=extent)
                    state._replaced(number, [loop], [new])
        return state

    def __str__(self) -> str:
        inputs = ", ".join(stage.op.name for stage in self.stages if not stage.op_type)
        lines = [f"Placeholder: {inputs}"]
        for stage in self.stages:
            if stage.op_type and stage.compute_at == _ROOT:
                lines += self._lines(stage, 0)
        return "".join(f"{line}\n" for line in lines)

    __repr__ = __str__

    def _lines(self, stage: Stage, indent: int) -> Iteration[str]:
        """The loops of a stage as text, with the stages in them; loops of one iteration are left out."""
        if stage.attrs.auto_unroll_max_step:
            yield f"{' ' * indent}{stage.op.name} auto_unroll: {stage.attrs.auto_unroll_max_step}"
        if stage.attrs.storage_offset:
            yield f"{' ' * indent}{stage.op.name} storage_offset: {stage.attrs.storage_offset}"
        for iterator in stage.iters:
            if iterator.extent != 1:
                yield f"{' ' * indent}{iterator}"
                indent += 2
            for other in self.stages:
                if other.place is not None and other.place[0] is stage and other.place[1] is iterator:
                    yield from self._lines(other, indent)
        yield f"{' ' * indent}{stage.op.name} = ..."


def _loops(op: Operation) -> list[Iterator]:
    """The loops of an operation without transformations."""
    if not isinstance(op, ComputeOp):
        return []
    loops = [(axis, _SPATIAL) for axis in op.axis] + [(axis, _REDUCE) for axis in op.reduce_axis]
    return [Iterator(axis.var.name, axis.dom, kind) for axis, kind in loops]


def _range(extent: int | None) -> Range | None:
    return None if extent is None else Range(IntImm("int32", 0), IntImm("int32", extent))


def _plain(steps: Any) -> Any:
    """Steps as lists, as they are in records."""
    return [_plain(each) for each in steps] if isinstance(steps, list | tuple) else steps  # pyright: ignore


StateObject = State
"""The state, as TVM names it in C++."""

__all__ = ["Iterator", "Stage", "State", "StateObject"]

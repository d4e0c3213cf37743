"""Mutators of numbers: sizes of tiles, unrolled statements, threads, parallel iterations."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from xdsl.ir import SSAValue

from .....dialects.schedule import AnnotateOp, BindOp, SampleCategoricalOp, SamplePerfectTileOp, SplitOp
from .....schedule.primitives.annotations import annotation_attribute
from .....schedule.trace import Instruction, Trace
from ..schedule_rule.multi_level_tiling import COOPERATIVE_FETCH
from ..schedule_rule.parallel_vectorize_unroll import PARALLEL, UNROLL_EXPLICIT, UNROLL_IMPLICIT
from ..schedule_rule.schedule_rule import cores_of
from .mutator import Mutator

if TYPE_CHECKING:
    from ..tune_context import TuneContext


def _users(value: SSAValue) -> Iterator[AnnotateOp | SplitOp]:
    """The annotations and divisions that use a number."""
    return (use.operation for use in value.uses if isinstance(use.operation, AnnotateOp | SplitOp))


def _categorical(trace: Trace, keys: Sequence[str]) -> list[Instruction]:
    """The choices of several numbers that are annotated under one of some keys."""
    return [
        inst
        for inst in trace.insts
        if isinstance(inst.op, SampleCategoricalOp)
        and len(inst.op.arguments()["candidates"]) > 1
        and any(isinstance(user, AnnotateOp) and user.ann_key.data in keys for user in _users(inst.outputs[0]))
    ]


class _MutateCategorical(Mutator):
    """Replaces the position of a drawn number by another one."""

    def _choices(self, trace: Trace) -> list[Instruction]:
        raise NotImplementedError(f"{type(self).__name__} has no method _choices")

    def apply(self, trace: Trace) -> Trace | None:
        choices = self._choices(trace)
        return self._change(trace, self.random.choice(choices)) if choices else None

    def _change(self, trace: Trace, inst: Instruction) -> Trace:
        count = len(inst.op.arguments()["candidates"])
        others = [n for n in range(count) if n != inst.decision]
        return trace.with_decision(inst, self.random.choice(others), remove_postproc=True)


class MutateUnroll(_MutateCategorical):
    """Draws another number of unrolled statements."""

    def _choices(self, trace: Trace) -> list[Instruction]:
        return _categorical(trace, (UNROLL_EXPLICIT, UNROLL_IMPLICIT))


class MutateThreadBinding(_MutateCategorical):
    """Draws another number of threads."""

    def _choices(self, trace: Trace) -> list[Instruction]:
        bound = {
            op.loop for op in trace.instructions if isinstance(op, BindOp) and op.thread_axis.data == "threadIdx.x"
        }
        return [
            inst
            for inst in trace.insts
            if isinstance(inst.op, SampleCategoricalOp)
            and len(inst.op.arguments()["candidates"]) > 1
            and any(bound & set(user.results) for user in _users(inst.outputs[0]))
        ]


class MutateTileSize(_MutateCategorical):
    """Moves a factor from one tile of a loop to another, or draws another number of elements of vectors."""

    def apply(self, trace: Trace) -> Trace | None:
        tiles = [each for each in trace.insts if isinstance(each.op, SamplePerfectTileOp) and _moves(each)]
        lanes = _categorical(trace, (COOPERATIVE_FETCH,))
        choices = [*tiles, *lanes]
        if not choices:
            return None
        inst = self.random.choice(choices)
        if inst in lanes:
            return self._change(trace, inst)
        source, target, factor = self.random.choice(_moves(inst))
        decision = list(inst.decision)
        decision[source] //= factor
        decision[target] *= factor
        return trace.with_decision(inst, decision, remove_postproc=True)


def _moves(inst: Instruction) -> list[tuple[int, int, int]]:
    """The legal moves of a factor of a tile: (from, to, factor)."""
    tile: list[int] = list(inst.decision or ())
    most = inst.op.arguments()["max_innermost_factor"]
    return [
        (source, target, factor)
        for source, size in enumerate(tile)
        for factor in range(2, size + 1)
        if size % factor == 0
        for target in range(len(tile))
        if target != source and (target < len(tile) - 1 or most == -1 or tile[target] * factor <= most)
    ]


class MutateParallel(Mutator):
    """Replaces the limit of parallel iterations by another number of iterations per core.

    max_jobs_per_core: the greatest number of iterations per core.
    """

    def __init__(self, max_jobs_per_core: int = 16):
        self.max_jobs_per_core = max_jobs_per_core
        self._cores = 1

    def _initialize_with_tune_context(self, context: TuneContext) -> None:
        self._cores = cores_of(context)

    def apply(self, trace: Trace) -> Trace | None:
        copy = trace.without_postproc()
        found = [op for op in copy.instructions if isinstance(op, AnnotateOp) and op.ann_key.data == PARALLEL]
        if not found:
            return None
        (op, *_), limits = found, range(1, self.max_jobs_per_core + 1)
        old = op.arguments()["ann_val"].value.data
        others = [limit for jobs in limits if (limit := self._cores * jobs) != old]
        if not others:
            return None
        op.properties["ann_val"] = annotation_attribute(self.random.choice(others))
        return copy

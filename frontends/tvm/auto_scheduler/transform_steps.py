"""Schedules of TVM's records: steps on the stages of tensors."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Sequence
from math import prod
from typing import Any

from ....core.errors import OptionError
from ....expressions.axes import thread_axis
from ....expressions.tensor import ComputeOp, Operation, Tensor
from ...te.schedule import Schedule, create_schedule

_THREADS = {
    4: "vthread", 5: "blockIdx.x", 6: "threadIdx.x", 7: "blockIdx.y", 8: "threadIdx.y", 9: "blockIdx.z",
    10: "threadIdx.z",
}  # fmt: skip
"""The axis of a grid by TVM's number of an annotation."""
_KINDS = {1: "unroll", 2: "vectorize", 3: "parallel"}
"""The kind of a loop by TVM's number of an annotation; 0 is none."""


def stage_order(tensors: Sequence[Tensor]) -> list[Operation]:
    """The operations of tensors in the order of TVM's numbers of stages: of the operations whose inputs are numbered,
    the one that a search from the last tensor, last inputs first, meets last."""
    priority: dict[Operation, int] = {}
    readers: dict[Operation, list[Operation]] = {}
    stack = [tensor.op for tensor in tensors]
    while stack:
        op = stack.pop()
        if op in priority:
            continue
        priority[op] = len(priority)
        for tensor in op.input_tensors:
            readers.setdefault(tensor.op, []).append(op)
            stack.append(tensor.op)
    missing = {op: len(op.input_tensors) for op in priority}
    ready = [(-priority[op], op) for op, count in missing.items() if not count]
    heapq.heapify(ready)
    order: list[Operation] = []
    while ready:
        order.append(heapq.heappop(ready)[1])
        for op in readers.get(order[-1], ()):
            missing[op] -= 1
            if not missing[op]:
                heapq.heappush(ready, (-priority[op], op))
    return order


def apply_steps(tensors: Sequence[Tensor], steps: Sequence[Sequence[Any]]) -> tuple[Schedule, list[str]]:
    """The schedule of TVM's steps on tensors, and its calls as text. Errors as of `replay_steps`."""
    replay = replay_steps(tensors, steps)
    return replay.schedule, replay.lines


def replay_steps(tensors: Sequence[Tensor], steps: Sequence[Sequence[Any]]) -> Replay:
    """The replay of TVM's steps on tensors. OptionError for an unknown step, the errors of the calls."""
    replay = Replay(tensors, steps)
    for name, *arguments in steps:
        if name not in _STEPS:
            raise OptionError(f"step {name!r} of a schedule, expected {', '.join(_STEPS)}")
        _STEPS[name](replay, *arguments)
    return replay


class Replay:
    """The replay of steps. schedule: of the tensors.  stages, loops: by TVM's numbers.  lines: the calls as text."""

    def __init__(self, tensors: Sequence[Tensor], steps: Sequence[Sequence[Any]]):
        order = stage_order(tensors)
        read = {tensor.op for op in order for tensor in op.input_tensors}
        self.steps = steps
        self.schedule = create_schedule([op for op in order if op not in read])
        self.stages = [self.schedule[op] for op in order]
        self.loops = {stage: list(stage.leaf_iter_vars) for stage in self.stages}
        self.lines: list[str] = []

    def call(self, stage: Any, name: str, *arguments: Any, **named: Any) -> Any:
        """Calls a method of a stage."""
        texts = [_text(each) for each in arguments] + [f"{key}={each}" for key, each in named.items()]
        self.lines.append(f"s[{stage.op.name}].{name}({', '.join(texts)})")
        return getattr(stage, name)(*arguments, **named)

    def _insert(self, position: int, tensor: Tensor, line: str) -> None:
        """Adds the stage of a new tensor at a number."""
        stage = self.schedule[tensor]
        self.stages.insert(position, stage)
        self.loops[stage] = list(stage.leaf_iter_vars)
        self.lines.append(f"{tensor.op.name} = s.{line}")

    # Loops

    def annotate(self, stage: int, loop: int, kind: int) -> None:
        target = self.stages[stage]
        axis = self.loops[target][loop]
        if kind in _THREADS:
            self.call(target, "bind", axis, thread_axis(_THREADS[kind]))
        elif kind in _KINDS:
            self.call(target, _KINDS[kind], axis)
        elif kind:
            raise OptionError(f"annotation {kind} of a loop of {target.name}, expected 0 to 10")

    def fuse(self, stage: int, loops: Sequence[int]) -> None:
        target = self.stages[stage]
        axes = self.loops[target]
        fused = self.call(target, "fuse", *(axes[n] for n in loops))
        axes[loops[0] : loops[-1] + 1] = [fused]

    def pragma(self, stage: int, loop: int, kind: str) -> None:
        target = self.stages[stage]
        name, _, value = kind.partition("$")
        if loop >= len(self.loops[target]):
            return
        axis = self.loops[target][loop]
        if name == "auto_unroll_max_step":
            self.call(target, "pragma", axis, name, int(value))
            self.call(target, "pragma", axis, "unroll_explicit", True)
        else:
            self.call(target, "pragma", axis, kind)

    def reorder(self, stage: int, loops: Sequence[int]) -> None:
        target = self.stages[stage]
        self.loops[target] = [self.loops[target][n] for n in loops]
        self.call(target, "reorder", *self.loops[target])

    def split(self, stage: int, loop: int, extent: int, lengths: Sequence[int | None], inner: int = 1) -> None:
        target = self.stages[stage]
        axis = self.loops[target][loop]
        if None in lengths:
            raise OptionError(f"split of a loop of {target.name} by {lengths}, expected numbers")
        found: list[Any] = []
        for length in reversed(lengths) if inner else lengths:
            outside, inside = self.call(target, "split", axis, **{"factor" if inner else "nparts": length})
            axis = outside if inner else inside
            found.append(inside if inner else outside)
        parts = [axis, *reversed(found)] if inner else [*found, axis]
        self.loops[target][loop : loop + 1] = parts

    def follow_split(self, stage: int, loop: int, source: int, count: int) -> None:
        lengths: list[int] = self.steps[source][4]
        self.split(stage, loop, 0, [*lengths[: count - 1], prod(lengths[count - 1 :])])

    def follow_fused_split(self, stage: int, loop: int, sources: Sequence[int], level: int, factor: int) -> None:
        self.split(stage, loop, 0, [prod(self.steps[n][4][level] for n in sources)], factor)

    def storage_align(self, stage: int, loop: int, factor: int, offset: int) -> None:
        target = self.stages[stage]
        self.call(target, "storage_align", self.loops[target][loop], factor, offset)

    # Stages

    def compute_at(self, stage: int, target: int, loop: int) -> None:
        reader = self.stages[target]
        self.call(self.stages[stage], "compute_at", reader, self.loops[reader][loop])

    def compute_inline(self, stage: int) -> None:
        self.call(self.stages[stage], "compute_inline")

    def compute_root(self, stage: int) -> None:
        self.call(self.stages[stage], "compute_root")

    def cache_read(self, stage: int, scope: str, readers: Sequence[int]) -> None:
        source, users = self.stages[stage], [self.stages[n].op for n in readers]
        cached = self.schedule.cache_read(source.origin_op.output(0), scope, users)
        names = ", ".join(op.name for op in users)
        self._insert(stage + 1, cached, f'cache_read({source.op.name}, "{scope}", [{names}])')

    def cache_write(self, stage: int, scope: str) -> None:
        target = self.stages[stage]
        name = target.op.name
        cached = self.schedule.cache_write([target.op.output(n) for n in range(target.op.num_outputs)], scope)
        self.loops[target] = list(target.leaf_iter_vars)
        self._insert(stage, cached[0], f'cache_write({name}, "{scope}")')

    def rfactor(self, stage: int, loop: int, position: int) -> None:
        target = self.stages[stage]
        axis, name = self.loops[target][loop], target.op.name
        partial = self.schedule.rfactor(target.op.output(0), axis, position)
        self.loops[target] = list(target.leaf_iter_vars)
        first = partial[0] if isinstance(partial, list) else partial
        self._insert(stage, first, f"rfactor({name}, {axis.var.name}, {position})")


def _text(value: Any) -> str:
    """An argument of a call as text."""
    if hasattr(value, "var"):
        return str(value.var.name)
    return f"s[{value.op.name}]" if isinstance(getattr(value, "op", None), ComputeOp) else repr(value)


_STEPS: dict[str, Callable[..., None]] = {
    "AN": Replay.annotate,
    "CA": Replay.compute_at,
    "CHR": Replay.cache_read,
    "CHW": Replay.cache_write,
    "CI": Replay.compute_inline,
    "CR": Replay.compute_root,
    "FFSP": Replay.follow_fused_split,
    "FSP": Replay.follow_split,
    "FU": Replay.fuse,
    "PR": Replay.pragma,
    "RE": Replay.reorder,
    "RF": Replay.rfactor,
    "SA": Replay.storage_align,
    "SP": Replay.split,
}
"""The steps by their names in records."""

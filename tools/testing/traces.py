"""Random traces, and the checks of their results."""

from __future__ import annotations

from collections.abc import Generator, Iterable
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from xdsl.dialects.builtin import i64
from xdsl.ir import Attribute, SSAValue

from ...analysis.dependence import Flow, compare_flows, value_flow
from ...backends.passes import apply_passes
from ...core.errors import ScheduleError, UnsupportedError
from ...core.walking import find_ops
from ...dialects.schedule import LoopType, ScheduleOp
from ...dialects.tir import BlockOp, ForOp, FuncOp
from ...frontends.mlir import parse_mlir
from ...module import Module
from ...schedule import Schedule, Trace
from .choices import Choices, pick
from .program_picker import ProgramPicker
from .scheduling import check_computes_the_same, check_same_outputs
from .steps import MOVES, STEPS


class RecordingSchedule(Schedule):
    """A schedule that records its last attempted primitive."""

    _attempt: tuple[type[ScheduleOp], dict[str, Any]] | None = None

    def record(self, op: type[ScheduleOp], **arguments: Any) -> list[Any]:
        self._attempt = (op, arguments)
        handles = super().record(op, **arguments)
        self._attempt = None
        return handles

    @property
    def attempted_trace(self) -> Trace:
        """The trace, followed by the last attempted primitive if it failed."""
        values: dict[SSAValue, SSAValue] = {}
        copy = Trace(self._trace.clone(value_mapper=values))
        if self._attempt is not None:
            kind, arguments = self._attempt
            tried = kind.create_from(_results(kind, arguments), **{n: self._value(a) for n, a in arguments.items()})
            copy.op.body.block.add_op(tried.clone(value_mapper=values))
            tried.erase()
        return copy


def _results(kind: type[ScheduleOp], arguments: dict[str, Any]) -> list[Attribute]:
    """The types of the results of a failed primitive."""
    return (
        [LoopType()] * len(arguments.get("factors", ())) if kind.RESULT == LoopType() else [i64] * arguments.get("n", 1)
    )


@dataclass
class TraceOutcome:
    """The result of a random trace: for each primitive the numbers of successes and refusals."""

    schedule: RecordingSchedule
    done: dict[str, int] = field(default_factory=dict[str, int])
    refused: dict[str, int] = field(default_factory=dict[str, int])


def random_trace(
    choices: Choices, mod: Module, length: int, primitives: Iterable[str] = tuple(STEPS), *, check_flow: bool = False
) -> TraceOutcome:
    """Attempts `length` random primitives on a schedule of `mod`.

    primitives: the primitives to choose from.  check_flow: whether to compare the value flow of the whole program
    before and after each primitive that only changes loops. Raises AssertionError, with the program and the trace so
    far, if a refused primitive changed the program, or if a primitive raised any other exception.
    """
    outcome = TraceOutcome(RecordingSchedule(mod, seed=0))
    for _ in range(length):
        name = pick(choices, list(primitives))
        try_step(choices, outcome, name, mod, check_flow=check_flow and name in MOVES)
    return outcome


def try_step(
    choices: Choices, outcome: TraceOutcome, name: str, mod: Module, *, check_flow: bool = False
) -> str | None:
    """Attempts a primitive, as `random_trace` does; returns the reason for its refusal, or None."""
    schedule = outcome.schedule
    before, length = str(schedule.mod), len(schedule.trace)
    flows = [(f, value_flow(f)) for f in _functions(schedule.mod)] if check_flow else []
    with reproducible_errors(mod, schedule):
        reason = _refusal(name, ProgramPicker(choices, schedule, _block_names(mod)))
        counts = outcome.done if reason is None else outcome.refused
        counts[name] = counts.get(name, 0) + 1
        if reason is not None:
            after = str(schedule.mod)
            assert after == before, f"refused, and yet changed: {reason}\n{before}\nis now\n{after}"
            return reason
        assert len(schedule.trace) > length, f"{name} is not in the trace"
        for func, flow in flows:
            _check_same_flow(name, flow, value_flow(func))
    return None


def _check_same_flow(name: str, before: Flow, after: Flow) -> None:
    """Raises AssertionError if a primitive changed the value flow. Checks only programs whose instances have unique
    names before and after."""
    for key, statement in before.statements.items():
        if not statement.is_injective or after.statements[key].names != statement.names:
            return
    violation = compare_flows(before, after)
    assert violation is None, f"{name} changed the flow of values: {violation}"


def _refusal(name: str, program: ProgramPicker) -> str | None:
    try:
        STEPS[name](program)
    except (ScheduleError, UnsupportedError) as error:
        return str(error)
    return None


def _block_names(mod: Module) -> frozenset[str]:
    return frozenset(op.block_name.data for op in find_ops(mod.op, BlockOp))


def _functions(mod: Module) -> list[FuncOp]:
    return [op for op in mod.op.body.block.ops if isinstance(op, FuncOp)]


def with_trace(mod: Module, trace: Trace) -> str:
    """The text of a program with a schedule for it, as an input of `stepwell-opt -p apply-schedule`."""
    both = mod.clone()
    both.op.body.block.add_op(trace.simplified().op)
    return str(both)


@contextmanager
def reproducible_errors(mod: Module, schedule: RecordingSchedule) -> Generator[None]:
    """Converts exceptions raised inside the context to AssertionErrors with the input that reproduces them."""
    try:
        yield
    except Exception as error:
        file = with_trace(mod, schedule.attempted_trace)
        raise AssertionError(f"{type(error).__name__}: {error}\nstepwell-opt -p apply-schedule:\n{file}") from error


def check_trace(mod: Module, schedule: RecordingSchedule, *, seed: int = 0) -> None:
    """Raises AssertionError, with the program and the trace, unless the scheduled program is well formed and computes
    the same results as `mod`, with the oracle and, if no loop is bound to threads, as native code."""
    has_threads = any(isinstance(op, ForOp) and op.thread is not None for op in schedule.mod.op.walk())
    with reproducible_errors(mod, schedule):
        check_computes_the_same(mod, schedule.mod, seed=seed, trace=schedule.trace, size=5)
        target = "python" if has_threads else "llvm"
        check_same_outputs(mod, schedule.mod, seed=seed + 1, trace=schedule.trace, size=2, target=target)


def check_replays(mod: Module, schedule: RecordingSchedule) -> None:
    """Raises AssertionError, with the program and the trace, unless a replay of the trace produces the identical
    program: from the trace itself, from its Python text in both styles, simplified, and from its IR in the file of the
    program."""
    expected = str(schedule.mod)
    with reproducible_errors(mod, schedule):
        again = Schedule(mod)
        schedule.trace.apply_to_schedule(again)
        assert str(again.mod) == expected, "the trace gives another program"
        for trace, style in ((schedule.trace, "classic"), (schedule.trace.simplified(), "0.27")):
            again = Schedule(mod, enable_check=False)
            again.replay(trace.as_python(style))
            assert str(again.mod) == expected, f"its {style} text gives another program"
        file = parse_mlir(with_trace(mod, schedule.trace))
        assert str(apply_passes(file, "apply-schedule{check=false}")) == expected, "its IR gives another program"

"""What one does with a schedule besides transforming: look at it, copy it, replay a trace on it."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from random import Random
from typing import Any, Self

from xdsl.ir import Operation, SSAValue

from ..core.errors import UnsupportedError
from ..dialects.schedule import EnterPostprocOp, TraceOp
from .handles import RV
from .recorder import Recorder
from .state import Place, State, Target, applies
from .trace import Trace, replay_script

LATER = frozenset(
    (
        "annotate_buffer_access",
        "cache_index",
        "cache_inplace",
        "can_decompose_padding",
        "fuse_reduction_epilogue",
        "loop_partition",
        "merge",
        "read_at",
        "reindex_cache_read",
        "reindex_cache_write",
        "rolling_buffer",
        "sample_partitioned_tile",
        "set_axis_separator",
        "tensorize",
        "unsafe_hide_buffer_access",
        "unsafe_set_dtype",
        "write_at",
    )
)
"""Primitives of TVM that are not there yet."""


class Session(Recorder):
    """A schedule as a whole."""

    @property
    def trace(self) -> Trace:
        """What has been done, in order. It grows with the schedule."""
        return Trace(self._trace)

    def get(self, rv: RV) -> Operation | Place | int:
        """What a handle stands for now: the op of a block or loop, the number that was drawn.

        ScheduleError if that has gone from the program.
        """
        return self._target(rv)

    def remove_rv(self, rv: RV) -> None:
        """Forget a handle. The instruction that gave it stays in the trace."""
        self._value(rv)
        del self._values[rv]

    def work_on(self, func_name: str) -> None:
        """Look for blocks in this function where no function is named. ScheduleError if there is none of that name."""
        self._state.function(func_name)
        self._state.working_on = func_name

    @property
    def func_working_on(self) -> str | None:
        """The function set by `work_on`."""
        return self._state.working_on

    def seed(self, seed: int) -> None:
        """Draw from now on what follows from `seed`."""
        self._state.random = Random(seed)

    def fork_seed(self) -> int:
        """A seed for another schedule, drawn."""
        return self._state.random.randrange(1, 2**31)

    def show(self, style: str = "classic") -> None:
        """Print the program as it is, and the trace."""
        print(self.mod.script(style))
        print(self.trace.as_python(style))

    def enter_postproc(self) -> None:
        """Mark that what follows in the trace is not part of a search."""
        self.record(EnterPostprocOp)

    @contextmanager
    def unchecked(self) -> Generator[None]:
        """Inside, primitives are not checked against dependences: for steps that are known to be right."""
        self._state.checked = False
        try:
            yield
        finally:
            self._state.checked = self._checked

    def copy(self) -> Self:
        """Another schedule in the same state. Handles of this one are valid in it; changes of one are not seen in the
        other."""
        other = type(self).__new__(type(self))
        other.__dict__.update(self.__dict__)
        values: dict[SSAValue, SSAValue] = {}
        other._trace = self._trace.clone(value_mapper=values)
        other._values = {handle: values[value] for handle, value in self._values.items()}
        other._state = self._copied_state(values)
        return other

    def _copied_state(self, values: dict[SSAValue, SSAValue]) -> State:
        old = self._state
        module = old.module.clone()
        twins = dict(zip(old.module.walk(), module.walk(), strict=True))
        state = State(module, checked=old.checked)
        state.random = Random()
        state.random.setstate(old.random.getstate())
        state.working_on = old.working_on

        def twin(target: Target) -> Any:
            return twins.get(target, target) if isinstance(target, Operation) else target

        state.values = {values[value]: twin(target) for value, target in old.values.items() if value in values}
        return state

    def replay(self, trace: Trace | TraceOp | str) -> None:
        """Do what a trace did: a `Trace`, its op, or its text as Python. What it did joins this schedule's trace.

        ScheduleError if a step cannot be done here; the steps in front of it stay done. ParseError for text that is no
        trace.
        """
        match trace:
            case str():
                replay_script(self, trace)
            case Trace():
                self.replay_instructions(trace.instructions)
            case _:
                self.replay_instructions(Trace(trace).instructions)

    def __getattr__(self, name: str) -> Any:
        if name in LATER:
            raise UnsupportedError(f"schedule primitive {name} is not supported yet")
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")


@applies(EnterPostprocOp)
def enter_postproc(state: State) -> None:
    pass

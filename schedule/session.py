"""The operations on a schedule as a whole: inspection, copies, seeds, and replays of traces."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from random import Random
from typing import Any, Self, cast

from xdsl.ir import Operation, SSAValue

from ..core.diagnostics import did_you_mean
from ..core.errors import ScheduleError, UnknownPrimitiveError, UnsupportedError
from ..core.html import code_html, folded_html
from ..dialects.schedule import EnterPostprocOp, TraceOp
from ..module import Module
from .extending import bound_primitive, primitive_names
from .handles import RV, Handle, Size
from .recorder import Recorder
from .state import ComputeLocation, State, Target, applies
from .trace import Trace, replay_script

EXCLUDED_PRIMITIVES = {
    "unsafe_hide_buffer_access": "the check of dependences needs all accesses",
}
"""Primitives of TVM that contradict a rule of schedules, with the rule."""

UNSUPPORTED_PRIMITIVES = frozenset(EXCLUDED_PRIMITIVES)
"""Primitives of TVM that are not supported."""

_FORMER_PRIMITIVES = {
    "pragma": "annotate sets an annotation",
    "tile": "split both loops and reorder the new ones",
}
"""Primitives of the schedules of TVM 0.7, with their replacements."""


class Session(Recorder):
    """The operations on a schedule as a whole."""

    @property
    def trace(self) -> Trace:
        """The applied primitives, in order. The trace grows with the schedule."""
        return Trace(self._trace)

    def with_trace(self) -> Module:
        """The initial program and the trace as one module, to which the pass `apply-schedule` applies the trace."""
        module = Module(self._start.clone(), self._constants)
        module.op.body.block.add_op(self._trace.clone())
        return module

    def get(self, rv: RV) -> Operation | ComputeLocation | Size | int:
        """The current target of a handle: the op of a block or loop, the sampled number, or the name of a size.

        ScheduleError if the program no longer contains the target.
        """
        return self._target(rv)

    def handle_of(self, value: SSAValue) -> Handle:
        """The handle of a result of an instruction of the trace, as in `trace.insts[0].outputs`. ScheduleError for a
        value of another trace."""
        for handle, known in self._values.items():
            if known is value:
                return handle
        raise ScheduleError("handle_of: expected a result of an instruction of the trace of this schedule")

    def remove_rv(self, rv: RV) -> None:
        """Forget a handle. The instruction that returned it stays in the trace."""
        self._value(rv)
        del self._values[rv]

    def work_on(self, func_name: str) -> None:
        """Set the function that is searched for blocks by default. ScheduleError if no function has this name."""
        self._state.function(func_name)
        self._state.working_on = func_name

    @property
    def func_working_on(self) -> str | None:
        """The name of the function set by `work_on`."""
        return self._state.working_on

    def seed(self, seed: int) -> None:
        """Restart the random numbers of the schedule from a seed."""
        self._state.random = Random(seed)

    def fork_seed(self) -> int:
        """Draw a seed for another schedule."""
        return self._state.random.randrange(1, 2**31)

    def show(self, style: str = "classic") -> None:
        """Print the current program and the trace."""
        print(self.mod.script(style))
        print(self.trace.as_python(style))

    def __repr__(self) -> str:
        return f"<stepwell.Schedule of {', '.join(self.mod.function_ops)}, {len(self.trace)} instructions>"

    def _repr_html_(self) -> str:
        """The current program and the trace, as a notebook shows them."""
        trace = code_html(str(self.trace), "python")
        return code_html(self.mod.script(), "python") + folded_html(f"{len(self.trace)} instructions", trace)

    def enter_postproc(self) -> None:
        """Mark the end of the part of the trace that belongs to a search."""
        self.record(EnterPostprocOp)

    @property
    def checks_dependences(self) -> bool:
        """Whether primitives are checked against dependences."""
        return self._state.checked

    @contextmanager
    def without_checks(self) -> Generator[None]:
        """A context in which primitives are not checked against dependences: for those that are known to be legal."""
        self._state.checked = False
        try:
            yield
        finally:
            self._state.checked = self._checked

    def with_checks(self) -> Self:
        """The schedule itself, whose primitives are checked again: for a copy that was made in `without_checks`."""
        self._state.checked = self._checked
        return self

    def copy(self) -> Self:
        """A schedule in the same state. Handles of the original are valid in the copy; changes of one do not affect the
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
        """Apply a trace: a `Trace`, its op, or its Python text. Its instructions are appended to this schedule's trace.

        ScheduleError if an instruction fails here; the earlier ones remain applied. ParseError for text that is no
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
        if name in UNSUPPORTED_PRIMITIVES:
            rule = EXCLUDED_PRIMITIVES.get(name)
            reason = " yet" if rule is None else f": {rule}"
            raise UnsupportedError(f"schedule primitive {name} is not supported{reason}")
        if name.startswith("_"):
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        if (function := bound_primitive(cast("Any", self), name)) is not None:
            return function
        known = [each for each in (*dir(type(self)), *primitive_names()) if not each.startswith("_")]
        former = _FORMER_PRIMITIVES.get(name)
        hint = did_you_mean(name, known) if former is None else f": {former}"
        raise UnknownPrimitiveError(f"a schedule has no primitive {name!r}{hint}")


@applies(EnterPostprocOp)
def enter_postproc(state: State) -> None:
    pass

"""What belongs to one call from outside."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from xdsl.interpreter import Interpreter, InterpreterFunctions

from ..oracle.checks import Packed, Run


@dataclass
class State:
    """run: packed functions and the rounds of `while` loops.  threads: the thread of each axis that is there."""

    run: Run
    threads: dict[str, int] = field(default_factory=dict[str, int])


class WithState(InterpreterFunctions):
    """Functions that know the call they run in.

    packed: what `tir.call_packed` finds; None for what is registered.  uninitialized: names of buffer parameters whose
    elements count as never written at the start of a call, as those of outputs should.
    """

    def __init__(self, packed: Packed | None = None, uninitialized: Sequence[str] = ()) -> None:
        self.packed = packed
        self.uninitialized = uninitialized

    def begin(self, interpreter: Interpreter) -> None:
        """A call from outside begins."""
        interpreter.set_data(WithState, "state", State(Run(self.packed)))

    def state(self, interpreter: Interpreter) -> State:
        return interpreter.get_data(WithState, "state", lambda: State(Run(self.packed)))

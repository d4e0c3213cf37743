"""The state of one call of a function by a user."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from xdsl.interpreter import Interpreter, InterpreterFunctions

from ..oracle.checks import Packed, Run


@dataclass
class InterpreterCallState:
    """The state of a call. run: packed functions and the iterations of `while` loops.  threads: the current value of
    each thread axis.
    """

    run: Run
    threads: dict[str, int] = field(default_factory=dict[str, int])


class StatefulFunctions(InterpreterFunctions):
    """Implementations with access to the state of the running call.

    packed: the functions for `tir.call_packed`; None for the registered ones.  uninitialized: names of buffer
    parameters whose elements count as uninitialized at the start of a call, as the elements of outputs should.
    """

    def __init__(self, packed: Packed | None = None, uninitialized: Sequence[str] = ()) -> None:
        self.packed = packed
        self.uninitialized = uninitialized

    def begin_call(self, interpreter: Interpreter) -> None:
        """Begins a call by a user, with a new state."""
        interpreter.set_data(StatefulFunctions, "state", InterpreterCallState(Run(self.packed)))

    def state(self, interpreter: Interpreter) -> InterpreterCallState:
        return interpreter.get_data(StatefulFunctions, "state", lambda: InterpreterCallState(Run(self.packed)))

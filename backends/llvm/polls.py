"""Polls in long loops: a signal ends them (`signals.ll`), and so does a failure of another thread.

A function has a budget of work. Its loops subtract the work of their iterations, and poll where the budget is used up:
every few milliseconds. Loops whose whole work is below the budget have no polls. A long loop with short iterations is
divided into parts of many iterations, and polls after each part; a row, a loop over a size of a buffer inside another
long loop, polls after its iterations, and a very long row meanwhile.
"""

from __future__ import annotations

from collections.abc import Callable

from .function import LlvmFunctionEmitter, call_instruction
from .linking import POLL

POLL_WORK = 2**22
"""The work between polls, at most some milliseconds, and at least 0.1 ms: a poll takes some 50 ns."""


def spend(f: LlvmFunctionEmitter, work: str, after_poll: Callable[[], None] | None = None) -> None:
    """Emits the subtraction of `work`, an i64, from the budget of the function, and the poll that follows if the budget
    is used up. after_poll: emits instructions that follow the poll."""
    budget = f.variable("budget", "i64", str(POLL_WORK))
    left = f.emit_value(f"sub i64 {f.emit_value(f'load i64, ptr {budget}')}, {work}")
    f.emit(f"store i64 {left}, ptr {budget}")
    poll, after = f.fresh_label("poll"), f.fresh_label("polled")
    f.branch_if(f.emit_value(f"icmp sgt i64 {left}, 0"), after, poll, ", !prof !0")
    f.start_block(poll)
    f.emit(f"store i64 {POLL_WORK}, ptr {budget}")
    # A handler may see the memory of the loop in any state.
    function = f.module.declare(POLL, "i32", (), "nounwind cold memory(inaccessiblemem: readwrite)")
    f.check_status(f.emit_value(call_instruction(function, "i32", ())))
    if after_poll is not None:
        after_poll()
    f.branch(after)
    f.start_block(after)

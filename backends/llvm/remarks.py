"""Remarks about optimized LLVM IR: the stack buffers that LLVM keeps in registers.

The name of a stack buffer contains a number, unique in the module. LLVM keeps the start of a name where it inlines a
function or divides a buffer into parts, so an `alloca` that remains in the optimized text leads back to its buffer.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence

from xdsl.dialects import memref

from ...core.remarks import PassRemarks
from ...transforms.upstream.allocations import description_of

_remarks = PassRemarks("llvm")

_ALLOCA = re.compile(r"  (%stack(\d+)\.[\w$.-]+) = alloca ")
_NO_ACCESS = re.compile(r"@llvm\.(lifetime|assume|dbg)")


def name_of_stack_buffer(number: int, op: memref.AllocaOp) -> str:
    """The hint for the name of the buffer of an op, the `number`-th of its module."""
    return f"stack{number}.{op.memref.name_hint or ''}"


def report_stack_buffers(buffers: Sequence[memref.AllocaOp], optimized: str) -> None:
    """Reports the stack buffers that LLVM keeps in registers, and those that stay in memory, with the reason.

    buffers: the stack buffers of a module by their numbers.  optimized: its LLVM IR after optimization.
    """
    if not _remarks.are_collected or not buffers:
        return
    remaining = _remaining(optimized)
    for number, op in enumerate(buffers):
        name = description_of(op)
        if number in remaining:
            reasons = "; ".join(dict.fromkeys(remaining[number])) or "LLVM does not divide it into values"
            _remarks.missed(op, lambda: f"{name} stays in memory: {reasons}")
        else:
            _remarks.applied(op, lambda: f"{name} is kept in registers")


def _remaining(optimized: str) -> dict[int, list[str]]:
    """The numbers of the buffers that are still in memory, with the reasons."""
    result: dict[int, list[str]] = {}
    for function in re.split(r"(?m)^}$", optimized):
        names = {name: int(number) for name, number in _ALLOCA.findall(function)}
        if names:
            uses = _uses(function, names)
            for name, number in names.items():
                result.setdefault(number, []).extend(_reasons(name, uses[name]))
    return result


def _uses(function: str, names: dict[str, int]) -> dict[str, list[str]]:
    """The lines of a function that use each of some names, their definitions excluded."""
    uses: defaultdict[str, list[str]] = defaultdict(list)
    for line in function.splitlines():
        if "%stack" in line and not _ALLOCA.match(line) and not _NO_ACCESS.search(line):
            for name in re.findall(r"%stack[\w$.-]+", line):
                if name in names:
                    uses[name].append(line.strip())
    return uses


def _reasons(name: str, uses: Sequence[str]) -> Iterator[str]:
    """The reasons why a buffer is in memory, as far as its uses state them."""
    for use in uses:
        index = re.search(rf"getelementptr .*?ptr {re.escape(name)}, (.*)", use)
        if index is not None and "%" in index[1]:
            yield "an index is not constant"
        elif re.search(r"\bcall\b", use) and "@llvm.mem" not in use:
            yield "its address is an operand of a call"
        elif " = phi " in use or " = select " in use or f"store ptr {name}" in use:
            yield "its address is a value of the program"

"""The loops of kernels that threads share, by an estimate of their time."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import ceil, inf, prod

from xdsl.dialects.builtin import MemRefType
from xdsl.ir import Operation, SSAValue

from ...analysis.names import loop_name
from ...analysis.scopes import depends_on, loops_around, only_child
from ...core.dtypes import element_byte_size
from ...core.remarks import PassRemarks
from ...core.walking import find_ops
from ...dialects.tir import BlockOp, ForOp, FuncOp, LoadOp, StoreOp
from ...dialects.tir.base import DYNAMIC
from ...schedule import Schedule

_PER_OPERATION, _PER_FUNCTION = 0.01, 0.5
"""The nanoseconds of an operation, and of an elementary function, on an element of a vector."""
_PER_BYTE = 0.04
"""The nanoseconds in which a thread loads or stores a byte."""
LEAST_TIME = 8_000
"""The least nanoseconds that a thread works on a part of a loop: some ten times the time to hand the part over."""
_MANY = 16
"""The number of iterations that balance threads: a loop of as many is shared rather than a loop inside."""


@dataclass(frozen=True)
class SharedLoop:
    """A loop of a kernel that threads share. grain: the least number of iterations that a thread executes at a time."""

    loop: ForOp
    grain: int

    def apply(self, schedule: Schedule, function: str) -> None:
        """Makes the loop parallel. schedule: of a module whose function of that name has the loop."""
        block = schedule.get_block(next(_blocks(self.loop)).block_name.data, function)
        shared = next(each for each in schedule.get_loops(block) if schedule.get(each) is self.loop)
        schedule.annotate(shared, "grain", self.grain)
        schedule.parallel(shared)


def shared_loops(func: FuncOp, remarks: PassRemarks | None = None) -> list[SharedLoop]:
    """The loops of a kernel that threads should share, at most one of each loop nest: the outermost of many iterations,
    else the longest. Its iterations compute separate results, as it binds spatial axes alone, and take long enough.

    remarks: receive the decision about each loop nest.
    """
    decisions = [(nest, _decide(nest)) for nest in _nests(func)]
    if remarks is not None and remarks.are_collected:
        for nest, decision in decisions:
            _report(nest, decision, remarks)
    return [decision for _, decision in decisions if isinstance(decision, SharedLoop)]


def _report(nest: ForOp, decision: SharedLoop | str, remarks: PassRemarks) -> None:
    if isinstance(decision, str):
        remarks.missed(nest, lambda: f"one thread executes loop {loop_name(nest)}: {decision}")
    else:
        name, grain = loop_name(decision.loop), decision.grain
        remarks.applied(decision.loop, lambda: f"threads share loop {name}, at least {grain} iterations at a time")


def _decide(nest: ForOp) -> SharedLoop | str:
    """The loop of a nest to share; the reason if there is none."""
    candidates = [loop for loop in _perfect_loops(nest) if _extent(loop) != 1 and _is_independent(loop)]
    if not candidates:
        return "its iterations do not compute separate results"
    extents = [_MANY if (extent := _extent(loop)) is None else extent for loop in candidates]
    chosen = next((n for n, extent in enumerate(extents) if extent >= _MANY), extents.index(max(extents)))
    loop = candidates[chosen]
    grain, extent = _grain(nest, loop), _extent(loop)
    if extent is not None and extent < 2 * grain:
        return "it takes too little time"
    return SharedLoop(loop, grain)


def _nests(func: FuncOp) -> Iterator[ForOp]:
    """The outermost loops."""
    return (op for op in find_ops(func, ForOp) if not loops_around(op) and any(_blocks(op)))


def _blocks(loop: ForOp) -> Iterator[BlockOp]:
    return find_ops(loop, BlockOp)


def _perfect_loops(nest: ForOp) -> list[ForOp]:
    """The serial loops of a nest around all of its blocks, outermost first."""
    loops = list[ForOp]()
    op: Operation | None = nest
    while isinstance(op, ForOp) and op.kind.data == "serial":
        loops.append(op)
        op = only_child(op)
    return loops


def _extent(loop: ForOp) -> int | None:
    """The extent of a loop, None for a dynamic extent."""
    extent = loop.mixed_bounds[1]
    return extent if isinstance(extent, int) else None


def _is_independent(loop: ForOp) -> bool:
    """Whether the iterations of a loop compute separate results: each block in it has spatial axes that depend on the
    loop, and no other such axes."""
    for block in _blocks(loop):
        kinds = {axis.kind for axis in block.axes if depends_on([axis.binding], loop.variable)}
        if kinds != {"spatial"}:
            return False
    return True


def _grain(nest: ForOp, loop: ForOp) -> int:
    """The number of iterations of a loop that take `LEAST_TIME`; 1 if an iteration has an unknown time."""
    around = [*loops_around(loop), loop]
    inner = [op for op in find_ops(loop, ForOp) if op is not loop]
    if any(_extent(each) is None for each in inner):
        return 1
    iterations = prod(_extent(each) or 1 for each in around)
    nanoseconds = sum(_nanoseconds(block) for block in _blocks(nest)) / max(iterations, 1)
    return max(1, ceil(LEAST_TIME / max(nanoseconds, 1e-3)))


def _nanoseconds(block: BlockOp) -> float:
    """An estimate of the time of all instances of a block. A dynamic extent counts as 1."""
    instances = prod(_extent(loop) or 1 for loop in loops_around(block))
    ops = list(block.body.walk())
    functions = sum(op.name.startswith(("math.", "tir.call")) for op in ops)
    buffers = dict.fromkeys(op.buffer for op in ops if isinstance(op, LoadOp | StoreOp))
    elements = sum(min(instances, _element_count(buffer)) * _element_size(buffer) for buffer in buffers)
    return instances * (len(ops) * _PER_OPERATION + functions * _PER_FUNCTION) + elements * _PER_BYTE


def _element_count(buffer: SSAValue) -> float:
    assert isinstance(buffer.type, MemRefType)
    shape = buffer.type.get_shape()
    return inf if DYNAMIC in shape else prod(shape)


def _element_size(buffer: SSAValue) -> int:
    assert isinstance(buffer.type, MemRefType)
    return element_byte_size(buffer.type.element_type)

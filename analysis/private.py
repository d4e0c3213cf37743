"""Memory private to each iteration of a concurrent loop: allocated outside of the loop, and used inside it only."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence

from xdsl.dialects import arith
from xdsl.dialects.builtin import MemRefType
from xdsl.ir import Block, Operation, SSAValue

from ..core.dtypes import dtype_of
from ..dialects.tir import (
    AllocateOp,
    AllocBufferOp,
    AttrOp,
    EvaluateOp,
    ForOp,
    HandleType,
    LaunchThreadOp,
    LetOp,
    LoadOp,
    StoreOp,
    YieldOp,
    constant_value,
)
from ..dialects.tir.tree import is_pure_expression
from .index import Analyzer
from .index.terms import leaves
from .lanes import free_values
from .regions import IndexRange, required_region, touched_box


def uses_of_private_memory(loop: ForOp) -> Iterator[set[Operation]]:
    """For each memory from outside of `loop` that each iteration needs a private copy of: the ops that access it.

    Excludes memory that all iterations can share, because each accesses its own elements only.
    """
    count = _most_iterations(loop)
    for root in _roots(loop):
        uses = uses_of_memory(root)
        if all(loop.is_ancestor(op) for op, _ in uses) and not _has_disjoint_elements(loop, count, uses):
            yield {op for op, _ in uses}


def accesses_own_elements(loop: ForOp | LaunchThreadOp, buffer: SSAValue, analyzer: Analyzer) -> bool:
    """Whether each iteration of a loop, all iterations of the loops in it included, accesses elements of a buffer that
    no other iteration accesses. False for a buffer with uses outside of the loop, or other than loads and stores.
    """
    users = [use.operation for use in buffer.uses]
    accesses = [op for op in users if isinstance(op, LoadOp | StoreOp) and loop.is_ancestor(op)]
    boxes = [touched_box(analyzer, op, loop) for op in accesses]
    if len(accesses) != len(users) or None in boxes:
        return False
    region = required_region(
        analyzer,
        [box for box in boxes if box is not None],
        lambda value: value is loop.variable or not loop.is_ancestor(value.owner),
    )
    return not isinstance(region, str) and any(_advances_by_whole_sides(loop.variable, side) for side in region)


def _advances_by_whole_sides(variable: SSAValue, side: IndexRange) -> bool:
    """Whether a range moves by at least its extent with each value of a variable."""
    stride = side.low.terms.get(variable, 0)
    return 0 < side.most <= abs(stride) and not any(
        variable in leaves(atom) for atom in side.low.terms if atom is not variable
    )


def _most_iterations(loop: ForOp) -> int:
    """The number of iterations of a loop; if it is unknown, as many as its variable has values."""
    _, extent, step = loop.mixed_bounds
    if isinstance(extent, int) and isinstance(step, int):
        return len(range(0, extent, step))
    return 2 ** dtype_of(loop.variable.type).bits // 2


def _is_memory(value: SSAValue) -> bool:
    return isinstance(value.type, HandleType | MemRefType)


def _roots(loop: ForOp) -> list[SSAValue]:
    """The allocations outside of a loop that the loop uses."""
    pending = [v for v in free_values(loop) if _is_memory(v)]
    seen: dict[SSAValue, None] = {}
    while pending:
        value = pending.pop()
        if value not in seen:
            seen[value] = None
            if isinstance(value.owner, Operation):
                pending += [v for inner in value.owner.walk() for v in inner.operands if _is_memory(v)]
    return [v for v in seen if isinstance(v.owner, AllocBufferOp | AllocateOp)]


def uses_of_memory(root: SSAValue) -> list[tuple[Operation, SSAValue]]:
    """The ops that access some memory, each with the buffer or pointer used for the access."""
    pending, seen, uses = [root], {root}, list[tuple[Operation, SSAValue]]()
    while pending:
        value = pending.pop()
        for use in value.uses:
            op = use.operation
            parent = op.parent_op()
            owner = parent if isinstance(op, YieldOp) and parent is not None else op
            views = [r for r in owner.results if _is_memory(r)]
            if not views and not isinstance(op, AttrOp | EvaluateOp):
                uses.append((op, value))
            fresh = [v for v in views if v not in seen]
            seen.update(fresh)
            pending += fresh
    return uses


def _has_disjoint_elements(loop: ForOp, count: int, uses: Sequence[tuple[Operation, SSAValue]]) -> bool:
    """Whether all accesses use one buffer and agree in an index that differs between iterations."""
    accesses = [op for op, _ in uses if isinstance(op, LoadOp | StoreOp)]
    if not accesses or len(accesses) != len(uses) or len({value for _, value in uses}) != 1:
        return False
    return any(_is_injective(loop, count, indices) for indices in zip(*(op.indices for op in accesses), strict=True))


def _is_injective(loop: ForOp, count: int, indices: Sequence[SSAValue]) -> bool:
    """Whether all indices are the same sum of a multiple of the loop variable and of loop-invariant values."""
    keys = {_key(loop, index) for index in indices}
    stride, step = _stride(loop, indices[0]), loop.mixed_bounds[2]
    if len(keys) != 1 or None in keys or stride is None or not isinstance(step, int):
        return False
    return 0 < abs(stride) * step * (count - 1) < 2 ** dtype_of(indices[0].type).bits


def _key(loop: ForOp, value: SSAValue) -> Hashable | None:
    """A key equal for expressions that compute the same value in an iteration; None if unknown."""
    op = value.owner
    if value is loop.variable or not loop.is_ancestor(op):
        return value
    if isinstance(op, LetOp):  # a `tir.let` in an inner loop has many values in an iteration
        return value if op.parent is loop.body.block else None
    if isinstance(op, Block) or op.regions or not is_pure_expression(op):
        return None
    operands = tuple(_key(loop, v) for v in op.operands)
    return None if None in operands else (op.name, tuple(sorted(op.properties.items(), key=str)), value.type, operands)


def _stride(loop: ForOp, value: SSAValue, known: dict[SSAValue, int | None] | None = None) -> int | None:
    """The increment of an integer per increment of the loop variable, up to wrapping; None if unknown."""
    known = {loop.variable: 1} if known is None else known
    if value not in known:
        known[value] = _compute_stride(loop, value, known)
    return known[value]


def _compute_stride(loop: ForOp, value: SSAValue, known: dict[SSAValue, int | None]) -> int | None:
    op = value.owner
    if not loop.is_ancestor(op) or constant_value(value) is not None:
        return 0
    if isinstance(op, LetOp):
        return _stride(loop, op.value, known)
    if not isinstance(op, arith.AddiOp | arith.SubiOp | arith.MuliOp):
        return None
    a, b = (_stride(loop, v, known) for v in op.operands)
    if a is None or b is None:
        return None
    if isinstance(op, arith.AddiOp):
        return a + b
    if isinstance(op, arith.SubiOp):
        return a - b
    return _scale(a, constant_value(op.rhs)) if b == 0 else _scale(b, constant_value(op.lhs)) if a == 0 else None


def _scale(stride: int, factor: int | float | None) -> int | None:
    if stride == 0:
        return 0
    return stride * factor if isinstance(factor, int) else None

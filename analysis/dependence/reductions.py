"""Recognition of stores that contribute to a reduction whose order does not matter."""

from __future__ import annotations

from xdsl.dialects import arith
from xdsl.ir import Operation, SSAValue

from ...dialects.tir import LoadOp, MaxOp, MinOp, StoreOp
from ...dialects.tir.tree import computing_ops, is_pure_expression

# The operands that may be the accumulator; sums and differences may be mixed, other operators may not.
_BOTH, _LEFT = (0, 1), (0,)
_OPERATORS: dict[type[Operation], tuple[str, tuple[int, ...]]] = {
    arith.AddfOp: ("sum", _BOTH),
    arith.AddiOp: ("sum", _BOTH),
    arith.SubfOp: ("sum", _LEFT),
    arith.SubiOp: ("sum", _LEFT),
    arith.MulfOp: ("product", _BOTH),
    arith.MuliOp: ("product", _BOTH),
    MinOp: ("minimum", _BOTH),
    arith.MinSIOp: ("minimum", _BOTH),
    arith.MinUIOp: ("minimum", _BOTH),
    MaxOp: ("maximum", _BOTH),
    arith.MaxSIOp: ("maximum", _BOTH),
    arith.MaxUIOp: ("maximum", _BOTH),
    arith.AndIOp: ("and", _BOTH),
    arith.OrIOp: ("or", _BOTH),
    arith.XOrIOp: ("xor", _BOTH),
}

# A repeated contribution changes nothing.
IDEMPOTENT = frozenset({"minimum", "maximum", "and", "or"})


def accumulation(store: StoreOp) -> tuple[str, LoadOp] | None:
    """The reduction that `C[f] = C[f] op g` contributes to, and the load of `C[f]`; None for any other store.

    g does not load C. The reductions are sum (differences included), product, minimum, maximum, and, or, xor.
    """
    if store.predicate is not None:
        return None
    accumulator = _find(store.value, store, None)
    if accumulator is None:
        return None
    name, load = accumulator
    others = [op for op in computing_ops(store.value) if isinstance(op, LoadOp) and op.buffer is store.buffer]
    return (name, load) if others == [load] else None


def _find(value: SSAValue, store: StoreOp, name: str | None) -> tuple[str, LoadOp] | None:
    """The load of the stored element, reached from `value` through operators of a single reduction."""
    op = value.owner
    if isinstance(op, LoadOp) and name is not None:
        return (name, op) if _same_element(op, store) else None
    entry = _OPERATORS.get(type(op)) if isinstance(op, Operation) else None
    if entry is None or name not in (None, entry[0]):
        return None
    assert isinstance(op, Operation)
    for side in entry[1]:
        if (accumulator := _find(op.operands[side], store, entry[0])) is not None:
            return accumulator
    return None


def _same_element(load: LoadOp, store: StoreOp) -> bool:
    return (
        load.buffer is store.buffer
        and load.predicate is None
        and all(same_expression(a, b) for a, b in zip(load.indices, store.indices, strict=True))
    )


def same_expression(a: SSAValue, b: SSAValue) -> bool:
    """Whether two values of one statement are computed alike. Loads count as alike: the inputs of a block do not change
    during its execution unless it writes them itself, which the caller has to know."""
    if a is b:
        return True
    x, y = a.owner, b.owner
    if not isinstance(x, Operation) or not isinstance(y, Operation) or type(x) is not type(y) or x.regions:
        return False
    if not (is_pure_expression(x) or isinstance(x, LoadOp)):
        return False
    return (
        x.properties == y.properties
        and [r.type for r in x.results] == [r.type for r in y.results]
        and len(x.operands) == len(y.operands)
        and all(same_expression(p, q) for p, q in zip(x.operands, y.operands, strict=True))
    )

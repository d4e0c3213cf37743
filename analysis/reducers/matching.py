"""Matching the update of a block against the known reducers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from xdsl.dialects import arith
from xdsl.dialects.builtin import VectorType
from xdsl.ir import Block, Operation, SSAValue

from ...dialects.text import expression_text
from ...dialects.text.names import source_name
from ...dialects.tir import (
    BINARY_NAMES,
    AddressOfOp,
    AssertOp,
    BlockOp,
    BufferDataOp,
    CallPackedOp,
    EvaluateOp,
    IfOp,
    IfThenElseOp,
    InitOp,
    LetOp,
    LoadOp,
    ReturnOp,
    StoreOp,
    WhileOp,
    YieldOp,
    comparison_name,
)
from ...dialects.tir.tree import computing_ops, has_effect, is_expression_op
from ..index import Analyzer
from ..index.conditions import NEGATED, yielded_values
from ..scopes import is_private, root_buffer, statements
from .expressions import (
    has_same_indices,
    is_same_value,
    lazy_logical_operands,
    logical_operands,
    runs_before,
    strip_lets,
)
from .reducer import KINDS, Accumulator, ArgChoice, Reducer

_SWAPPED = {"lt": "gt", "gt": "lt", "le": "ge", "ge": "le"}
_SHAPES = "C + g, C - g, C * g, min(C, g), max(C, g), C & g, C | g, C ^ g"


class _NoReducer(Exception):
    """The block is no reduction of a known kind; the text is the reason."""


def match_reducer(block: BlockOp, analyzer: Analyzer | None = None) -> Reducer | str:
    """The reducer of the update of a block, with or without init, or the reason why it has none.

    The body must consist of stores, one to each buffer, and `tir.let`; one `tir.if` without else may enclose them. Each
    store is `C[f] = op(C[f], g)`, operands in any order and nested (`C + a + b`), or `C[f] - g`, or a conditional
    between such a value and C[f] itself; or the stores are those of an argmax or argmin. `g` must not read an
    accumulator.
    """
    try:
        return _Matcher(block, analyzer or Analyzer()).match()
    except _NoReducer as reason:
        return f"the body of block {block.block_name.data} is not a reduction that is known: {reason}"


class _Updates:
    """The stores that accumulate into elements, each with the loads of its element.

    stores, loads: the stores, and for each of them the loads of its element that precede it.
    """

    def __init__(self, analyzer: Analyzer):
        self.analyzer = analyzer
        self.stores: list[StoreOp] = []
        self.loads: list[list[LoadOp]] = []

    def _reads(self, value: SSAValue, n: int) -> bool:
        """Whether a value is computed from accumulator `n`."""
        return any(op in self.loads[n] for op in computing_ops(value))

    def _is_free(self, value: SSAValue) -> bool:
        """Whether a value is computed from no accumulator."""
        return not any(self._reads(value, n) for n in range(len(self.stores)))

    def _accumulator(self, n: int, kind: str) -> Accumulator:
        store = self.stores[n]
        return Accumulator(kind, store.buffer, tuple(store.indices), tuple(self.loads[n]), store)

    # Independent accumulators

    def kind(self, n: int) -> str:
        """The operator of a store. _NoReducer if it has none."""
        store = self.stores[n]
        if not self._reads(store.value, n):
            raise _NoReducer(f"{stored_buffer_name(store)} is not computed from its old value")
        chosen = self._keep_condition(n)
        if chosen is not None and chosen.tie is None:  # max(C, g) written as a choice
            self._check_contributions()
            return "max" if chosen.comparison in ("gt", "ge") else "min"
        kinds = self._operators(store.value, n)
        if len(kinds) > 1:
            raise _NoReducer(f"{stored_buffer_name(store)} mixes {' and '.join(sorted(kinds))}")
        if not kinds:
            raise _NoReducer(f"{stored_buffer_name(store)} is only copied to itself")
        return kinds.pop()

    def _operators(self, value: SSAValue, n: int) -> set[str]:
        """The operators between a value and its only load of accumulator `n`."""
        value = strip_lets(value)
        op: Any = value.owner
        match op:
            case LoadOp() if op in self.loads[n]:
                return set()
            case arith.SelectOp() if self._is_free(op.cond):
                return self._branches((op.lhs, op.rhs), n)
            case IfThenElseOp() if self._is_free(op.condition):
                return self._branches(yielded_values(op), n)
            case IfThenElseOp() if (operands := lazy_logical_operands(value)) is not None:
                return self._operands(operands[0], operands[1:], n)
            case arith.SubiOp() | arith.SubfOp() if self._is_free(op.rhs):
                return {"add", *self._operators(op.lhs, n)}
            case Operation() if BINARY_NAMES.get(type(op)) in KINDS:
                return self._operands(BINARY_NAMES[type(op)], tuple(op.operands), n)
            case _:
                raise _NoReducer(
                    f"{stored_buffer_name(self.stores[n])} becomes {expression_text(value)}, expected one of {_SHAPES}"
                )

    def _branches(self, values: Sequence[SSAValue], n: int) -> set[str]:
        return {kind for value in values for kind in self._operators(value, n)}

    def _operands(self, kind: str, operands: Sequence[SSAValue], n: int) -> set[str]:
        reading = [o for o in operands if self._reads(o, n)]
        if len(reading) != 1:
            raise _NoReducer(f"{stored_buffer_name(self.stores[n])} is read {len(reading)} times, expected once")
        return {kind, *self._operators(reading[0], n)}

    # Accumulators of an argmax or argmin

    def _choice(self) -> Reducer:
        conditions = [self._keep_condition(n) for n in range(len(self.stores))]
        keys = {c.key for c in conditions if c is not None}
        if len(keys) != 1:
            raise _NoReducer("its stores depend on each other, but not by one comparison, as in argmax and argmin")
        key = keys.pop()
        # The stored key is the same whichever of two equal keys is chosen.
        others = {c for n, c in enumerate(conditions) if n != key and c is not None}
        own = conditions[key]
        if len(others) != 1 or None in conditions or own is None:
            raise _NoReducer("its stores choose by different comparisons")
        choice = others.pop()
        if own.comparison[0] != choice.comparison[0]:
            raise _NoReducer("its stores choose by different comparisons")
        self._check_contributions()
        return Reducer(tuple(self._accumulator(n, "arg") for n in range(len(self.stores))), choice)

    def _check_contributions(self) -> None:
        """Rejects comparisons with a value other than the contribution."""
        for n in range(len(self.stores)):
            for condition in self._conditions(n):
                for position, other in self._comparisons_in(condition):
                    if not self._is_contribution(position, other):
                        raise _NoReducer(f"it compares with {expression_text(other)}, which it does not take then")

    def _alternatives(self, n: int) -> tuple[SSAValue | None, SSAValue, SSAValue] | None:
        """(condition, value, value) of the conditional stored to accumulator `n`; the condition is None for min and
        max."""
        value = strip_lets(self.stores[n].value)
        op: Any = value.owner
        match op:
            case arith.SelectOp():
                return op.cond, op.lhs, op.rhs
            case IfThenElseOp():
                return op.condition, *yielded_values(op)
            case Operation() if BINARY_NAMES.get(type(op)) in ("min", "max"):
                return None, op.operands[0], op.operands[1]
            case _:
                return None

    def _contribution(self, n: int) -> SSAValue | None:
        """The new value that accumulator `n` may take."""
        alternatives = self._alternatives(n)
        if alternatives is None:
            return None
        new = [v for v in alternatives[1:] if self._is_free(v)]
        old = [v for v in alternatives[1:] if strip_lets(v).owner in self.loads[n]]
        return new[0] if len(new) == 1 and len(old) == 1 else None

    def _is_contribution(self, n: int, value: SSAValue) -> bool:
        contribution = self._contribution(n)
        return contribution is not None and is_same_value(self.analyzer, contribution, value)

    def _keep_condition(self, n: int) -> ArgChoice | None:
        """The condition for accumulator `n` to keep its old value; None if unsupported."""
        alternatives = self._alternatives(n)
        if alternatives is None or self._contribution(n) is None:
            return None
        condition, first, _ = alternatives
        keeps_if = strip_lets(first).owner in self.loads[n]
        if condition is None:
            name = "gt" if BINARY_NAMES[type(strip_lets(self.stores[n].value).owner)] == "max" else "lt"  # pyright: ignore[reportArgumentType]
            return ArgChoice(n, name)
        return self._read_condition(condition, keeps_if)

    def _conditions(self, n: int) -> list[SSAValue]:
        alternatives = self._alternatives(n)
        return [] if alternatives is None or alternatives[0] is None else [alternatives[0]]

    def _comparisons_in(self, condition: SSAValue) -> Iterator[tuple[int, SSAValue]]:
        """(accumulator, other operand) of each comparison in a condition."""
        value = strip_lets(condition)
        parts = logical_operands(value)
        if parts is not None:
            for operand in parts[1:]:
                yield from self._comparisons_in(operand)
        elif (comparison := self._comparison(value)) is not None:
            yield comparison[0], comparison[2]

    def _comparison(self, value: SSAValue) -> tuple[int, str, SSAValue] | None:
        """(accumulator, comparison, other operand) of `accumulator <comparison> other`."""
        op = strip_lets(value).owner
        if not isinstance(op, arith.CmpiOp | arith.CmpfOp) or (name := comparison_name(op)) is None:
            return None
        for ours, other, comparison in ((op.lhs, op.rhs, name), (op.rhs, op.lhs, _SWAPPED.get(name, name))):
            for n, loads in enumerate(self.loads):
                if strip_lets(ours).owner in loads and self._is_free(other):
                    return n, comparison, other
        return None

    def _read_condition(self, condition: SSAValue, keeps_if: bool) -> ArgChoice | None:
        value = strip_lets(condition)
        simple = self._comparison(value)
        if simple is not None:
            name = simple[1] if keeps_if else NEGATED[simple[1]]
            return ArgChoice(simple[0], name) if name in _SWAPPED else None
        parts = logical_operands(value)
        if not keeps_if or parts is None or parts[0] != "or":
            return None
        return self._read_tie(parts[1], parts[2])

    def _read_tie(self, better: SSAValue, otherwise: SSAValue) -> ArgChoice | None:
        """The choice of `better or (equal and tie)`, with operands in any order."""
        for first, second in ((better, otherwise), (otherwise, better)):
            main, both = self._comparison(first), logical_operands(strip_lets(second))
            if main is None or main[1] not in ("lt", "gt") or both is None or both[0] != "and":
                continue
            for a, b in ((both[1], both[2]), (both[2], both[1])):
                equal, tie = self._comparison(a), self._comparison(b)
                if equal is None or tie is None or equal[:2] != (main[0], "eq") or tie[1] not in _SWAPPED:
                    continue
                if tie[0] != main[0]:
                    return ArgChoice(main[0], main[1], (tie[0], tie[1]))
        return None


class _Matcher(_Updates):
    """The matching of the update of a block."""

    def __init__(self, block: BlockOp, analyzer: Analyzer):
        super().__init__(analyzer)
        self.block = block

    def match(self) -> Reducer:
        """The reducer of the block. _NoReducer if it has none."""
        self._collect_stores(self.block.body.block)
        if not self.stores:
            raise _NoReducer("it stores nothing")
        buffers = [root_buffer(s.buffer) for s in self.stores]
        if len(set(buffers)) != len(buffers):
            raise _NoReducer("it stores to one buffer more than once")
        self.loads = [self._accumulator_loads(s) for s in self.stores]
        self._check_control()
        if self._are_interdependent():
            return self._choice()
        return Reducer(tuple(self._accumulator(n, self.kind(n)) for n in range(len(self.stores))))

    def _check_control(self) -> None:
        """Rejects accumulators in conditions and in indices of stores."""
        for op in self._update():
            deciding = op.indices if isinstance(op, StoreOp) else () if is_expression_op(op) else op.operands
            for value in () if isinstance(op, LetOp | YieldOp) else deciding:
                if not self._is_free(value):
                    raise _NoReducer(f"{expression_text(value)} is accumulated and decides what a {op.name} does")

    def _are_interdependent(self) -> bool:
        """Whether a store is computed from the accumulator of another store."""
        stores = list(enumerate(self.stores))
        return any(n != m and self._reads(store.value, m) for n, store in stores for m, _ in stores)

    def accumulates(self) -> bool:
        """Whether each store to a buffer from outside, at any depth, accumulates, and no other op reads the buffer."""
        operators: dict[SSAValue, set[str]] = {}
        try:
            self._collect_nested_stores()
            self._check_control()
            for n, store in enumerate(self.stores):
                operators.setdefault(root_buffer(store.buffer), set()).add(self.kind(n))
        except _NoReducer:
            return False
        accumulated = {load for loads in self.loads for load in loads}
        others = [op for op in self._update() if isinstance(op, LoadOp) and op not in accumulated]
        return all(len(kinds) == 1 for kinds in operators.values()) and not any(
            root_buffer(op.buffer) in operators for op in others
        )

    def _update(self) -> Iterator[Operation]:
        """The ops in the block outside of its init."""
        init = self.block.init
        return (op for op in self.block.walk() if init is None or (op is not init and not init.is_ancestor(op)))

    def _collect_nested_stores(self) -> None:
        """Collects the stores to buffers from outside, each with the loads of the stored element in its value."""
        for op in self._update():
            match op:
                case StoreOp() if is_private(self.block, op.buffer):
                    pass
                case StoreOp():
                    self.stores.append(op)
                    loads = [x for x in computing_ops(op.value) if isinstance(x, LoadOp) and x.buffer is op.buffer]
                    self.loads.append(
                        [x for x in loads if has_same_indices(self.analyzer, x, op) and runs_before(x, op)]
                    )
                case InitOp() | WhileOp() | ReturnOp():
                    raise _NoReducer(f"it has a {op.name} inside")
                case BufferDataOp() | AddressOfOp():
                    raise _NoReducer("it uses a pointer")
                case _ if has_effect(op) or isinstance(op, EvaluateOp | CallPackedOp | AssertOp):
                    raise _NoReducer(f"it has a {op.name} inside")
                case _:
                    pass

    def _collect_stores(self, body: Block) -> None:
        for op in statements(body):
            match op:
                case StoreOp() if op.predicate is None and not isinstance(op.value.type, VectorType):
                    self.stores.append(op)
                case IfOp() if not op.orelse.block.ops and not self.stores:
                    self._collect_stores(op.then.block)
                case LetOp():
                    pass
                case _ if op is self.block.init:
                    pass
                case _:
                    raise _NoReducer(f"expected stores only, got {op.name}")

    def _accumulator_loads(self, store: StoreOp) -> list[LoadOp]:
        """The loads of the element that a store accumulates into: all loads of its buffer in the body."""
        loads: list[LoadOp] = []
        init = self.block.init
        for op in self.block.walk():
            if not isinstance(op, LoadOp) or root_buffer(op.buffer) is not root_buffer(store.buffer):
                continue
            if init is not None and init.is_ancestor(op):
                continue
            if op.buffer is not store.buffer or not has_same_indices(self.analyzer, op, store):
                text = expression_text(op.result)
                raise _NoReducer(
                    f"it reads {text}, expected only the element of {stored_buffer_name(store)} that it writes"
                )
            if not runs_before(op, store):
                raise _NoReducer(f"it reads {expression_text(op.result)} behind the store to it")
            loads.append(op)
        return loads


def is_commutative_update(block: BlockOp, analyzer: Analyzer | None = None) -> bool:
    """Whether the instances of the update of `block` that differ in reduce axes may run in any order, up to rounding
    (and, for argmax and argmin, up to the choice between equal keys).

    This holds for a known reducer; and for any nest of loops, branches and blocks inside in which each store to a
    buffer from outside accumulates with the same operator, and no other op reads these buffers.
    """
    analyzer = analyzer or Analyzer()
    return isinstance(match_reducer(block, analyzer), Reducer) or _Matcher(block, analyzer).accumulates()


def match_update(store: StoreOp, loads: Sequence[LoadOp], analyzer: Analyzer) -> str | None:
    """The operator by which a store accumulates into the element that `loads` read, as in `Accumulator`; None if it
    has none."""
    updates = _Updates(analyzer)
    updates.stores, updates.loads = [store], [list(loads)]
    try:
        return updates.kind(0)
    except _NoReducer:
        return None


def stored_buffer_name(store: StoreOp) -> str:
    """The name of the buffer that a store writes."""
    return source_name(store.buffer) or "_"

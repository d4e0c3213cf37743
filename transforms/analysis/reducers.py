"""Reductions recognised: which commutative, associative operator a block accumulates with.

`match_reducer` looks at the update of a block, `C[f] = op(C[f], g)`. Floats count as associative, as TVM takes them:
what is rounded differs when an order changes. Several buffers may be accumulated at once, each for itself or as the
pair of an argmax or argmin.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from xdsl.dialects import arith
from xdsl.dialects.builtin import MemRefType, VectorType
from xdsl.ir import Block, Operation, SSAValue

from ...core.dtypes import DType, dtype_of, int_range, max_value, min_value
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
    ForOp,
    IfOp,
    IfThenElseOp,
    InitOp,
    LetOp,
    LoadOp,
    ReturnOp,
    StoreOp,
    TirBuilder,
    WhileOp,
    YieldOp,
    comparison_name,
    constant_value,
)
from .index import Analyzer
from .index.conditions import NEGATED
from .scopes import is_private, root_buffer, statements
from .tree import has_effect

Number: TypeAlias = int | float

_KINDS = ("add", "mul", "min", "max", "and", "or", "xor")
_IDEMPOTENT = frozenset(("min", "max", "and", "or", "argmin", "argmax"))
_SWAPPED = {"lt": "gt", "gt": "lt", "le": "ge", "ge": "le"}


@dataclass(frozen=True)
class Accumulator:
    """One element that a block accumulates in: `buffer[indices]`, loaded by `loads` and stored by `store`.

    kind: `add`, `mul`, `min`, `max`, `and`, `or`, `xor`; `arg` for one of a choice by a key (`Choice`).
    """

    kind: str
    buffer: SSAValue
    indices: tuple[SSAValue, ...]
    loads: tuple[LoadOp, ...]
    store: StoreOp

    @property
    def dtype(self) -> DType:
        return dtype_of(self.store.value.type)


@dataclass(frozen=True)
class Choice:
    """How an argmax or argmin chooses: all of the old values where `old[key] <comparison> new[key]`, else all new ones.

    comparison: `ge` or `gt` for argmax, `le` or `lt` for argmin.
    tie: (position, comparison) that decides between equal keys, in front of `comparison`; None if nothing does, so that
    the order of equal keys shows.
    """

    key: int
    comparison: str
    tie: tuple[int, str] | None = None


@dataclass(frozen=True)
class Reducer:
    """The operator a block accumulates with, for each of its buffers in the order in which they are stored.

    choice: set for argmax and argmin, whose values belong together; else each accumulator is for itself.
    """

    accumulators: tuple[Accumulator, ...]
    choice: Choice | None = None

    @property
    def kind(self) -> str:
        """`add`, `max`, ..., `argmax`, `argmin`, or `tuple` for several accumulators of different kinds."""
        if self.choice is not None:
            return "argmax" if self.choice.comparison in ("gt", "ge") else "argmin"
        kinds = {a.kind for a in self.accumulators}
        return kinds.pop() if len(kinds) == 1 else "tuple"

    @property
    def is_commutative(self) -> bool:
        """Whether the order of contributions cannot be seen, but for rounding: not so where equal keys of an argmax are
        told apart by nothing."""
        return self.choice is None or self.choice.tie is not None

    @property
    def is_idempotent(self) -> bool:
        """Whether contributing a value a second time changes nothing, so that parts may start from any common value."""
        return self.choice is not None or all(a.kind in _IDEMPOTENT for a in self.accumulators)

    def combine(self, builder: TirBuilder, lhs: Sequence[SSAValue], rhs: Sequence[SSAValue]) -> list[SSAValue]:
        """What two tuples of accumulated values are together, `lhs` from earlier contributions than `rhs`."""
        if self.choice is None:
            values = zip(self.accumulators, lhs, rhs, strict=True)
            return [builder.binary(a.kind, x, y) for a, x, y in values]
        return [builder.select(self.keeps(builder, lhs, rhs), x, y) for x, y in zip(lhs, rhs, strict=True)]

    def keeps(self, builder: TirBuilder, lhs: Sequence[SSAValue], rhs: Sequence[SSAValue]) -> SSAValue:
        """Whether an argmax or argmin keeps `lhs`. ValueError for another reducer."""
        if self.choice is None:
            raise ValueError(f"a reducer of kind {self.kind} does not choose")
        key, name = self.choice.key, self.choice.comparison
        better = builder.binary(name, lhs[key], rhs[key])
        if self.choice.tie is None:
            return better
        place, tie = self.choice.tie
        equal = builder.binary("eq", lhs[key], rhs[key])
        return builder.binary("or", better, builder.binary("and", equal, builder.binary(tie, lhs[place], rhs[place])))

    def identity(self) -> list[Number]:
        """For each accumulator the value that changes nothing when it is combined with another.

        Infinite for the min and max of floats. The values that an argmax carries beside its key are 0.
        """
        if self.choice is None:
            return [_IDENTITY[a.kind](a.dtype) for a in self.accumulators]
        extreme = _IDENTITY[self.kind.removeprefix("arg")]
        return [extreme(a.dtype) if n == self.choice.key else 0 for n, a in enumerate(self.accumulators)]

    def identities(self, builder: TirBuilder) -> list[SSAValue]:
        """`identity` as constants."""
        return [builder.const(n, a.dtype) for n, a in zip(self.identity(), self.accumulators, strict=True)]


def _extreme(sign: int) -> Callable[[DType], Number]:
    def number(dtype: DType) -> Number:
        if dtype.is_float:
            return sign * math.inf
        low, high = int_range(dtype)
        return high if sign > 0 else low

    return number


def _all_bits(dtype: DType) -> Number:
    return -1 if dtype.kind == "int" else int_range(dtype)[1]


_IDENTITY: dict[str, Callable[[DType], Number]] = {
    "add": lambda dtype: 0.0 if dtype.is_float else 0,
    "mul": lambda dtype: 1.0 if dtype.is_float else 1,
    "min": _extreme(1),
    "max": _extreme(-1),
    "and": _all_bits,
    "or": lambda _: 0,
    "xor": lambda _: 0,
}


class _NoReducer(Exception):
    """The block is no reduction of a known kind; the text says why."""


def match_reducer(block: BlockOp, analyzer: Analyzer | None = None) -> Reducer | str:
    """The reducer of the update of a block, with or without init, or the reason why it has none.

    The body must be stores, one to each buffer, and `tir.let`; one `tir.if` without else may be around them. Each store
    is `C[f] = op(C[f], g)`, operands in any order and nested (`C + a + b`), or `C[f] - g`, or a choice by a condition
    between that and C[f] itself; or the stores are those of an argmax or argmin. `g` must not read what is accumulated.
    """
    try:
        return _Matcher(block, analyzer or Analyzer()).match()
    except _NoReducer as reason:
        return f"the body of block {block.block_name.data} is not a reduction that is known: {reason}"


class _Matcher:
    def __init__(self, block: BlockOp, analyzer: Analyzer):
        self.block = block
        self.analyzer = analyzer
        self.stores: list[StoreOp] = []
        self.loads: list[list[LoadOp]] = []

    def match(self) -> Reducer:
        self._flat(self.block.body.block)
        if not self.stores:
            raise _NoReducer("it stores nothing")
        buffers = [root_buffer(s.buffer) for s in self.stores]
        if len(set(buffers)) != len(buffers):
            raise _NoReducer("it stores to one buffer more than once")
        self.loads = [self._accumulated(s) for s in self.stores]
        if self._are_crossed():
            return self._choice()
        return Reducer(tuple(self._accumulator(n, self._kind(n)) for n in range(len(self.stores))))

    def _are_crossed(self) -> bool:
        """Whether a store is computed from the accumulator of another one."""
        stores = list(enumerate(self.stores))
        return any(n != m and self._reads(store.value, m) for n, store in stores for m, _ in stores)

    def accumulates(self) -> bool:
        """Whether each store to a buffer from outside, at any depth, accumulates, and nothing else reads the buffer."""
        operators: dict[SSAValue, set[str]] = {}
        try:
            self._nested()
            for n, store in enumerate(self.stores):
                operators.setdefault(root_buffer(store.buffer), set()).add(self._kind(n))
        except _NoReducer:
            return False
        accumulated = {load for loads in self.loads for load in loads}
        others = [op for op in self._update() if isinstance(op, LoadOp) and op not in accumulated]
        return all(len(kinds) == 1 for kinds in operators.values()) and not any(
            root_buffer(op.buffer) in operators for op in others
        )

    def _update(self) -> Iterator[Operation]:
        """Everything in the block but its init."""
        init = self.block.init
        return (op for op in self.block.walk() if init is None or (op is not init and not init.is_ancestor(op)))

    def _nested(self) -> None:
        """Find the stores to buffers from outside, each with the loads in its value of what it stores to."""
        for op in self._update():
            match op:
                case StoreOp() if is_private(self.block, op.buffer):
                    pass
                case StoreOp():
                    self.stores.append(op)
                    loads = [x for x in _computing(op.value) if isinstance(x, LoadOp) and x.buffer is op.buffer]
                    self.loads.append([x for x in loads if _same_place(self.analyzer, x, op) and _runs_before(x, op)])
                case InitOp() | WhileOp() | ReturnOp():
                    raise _NoReducer(f"it has a {op.name} inside")
                case BufferDataOp() | AddressOfOp():
                    raise _NoReducer("it uses a pointer")
                case _ if has_effect(op) or isinstance(op, EvaluateOp | CallPackedOp | AssertOp):
                    raise _NoReducer(f"it has a {op.name} inside")
                case _:
                    pass

    def _accumulator(self, n: int, kind: str) -> Accumulator:
        store = self.stores[n]
        return Accumulator(kind, store.buffer, tuple(store.indices), tuple(self.loads[n]), store)

    def _flat(self, body: Block) -> None:
        for op in statements(body):
            match op:
                case StoreOp() if op.predicate is None and not isinstance(op.value.type, VectorType):
                    self.stores.append(op)
                case IfOp() if not op.orelse.block.ops and not self.stores:
                    self._flat(op.then.block)
                case LetOp():
                    pass
                case _ if op is self.block.init:
                    pass
                case _:
                    raise _NoReducer(f"expected stores only, got {op.name}")

    def _accumulated(self, store: StoreOp) -> list[LoadOp]:
        """The loads of what a store accumulates in: all that the body has of its buffer."""
        found: list[LoadOp] = []
        init = self.block.init
        for op in self.block.walk():
            if not isinstance(op, LoadOp) or root_buffer(op.buffer) is not root_buffer(store.buffer):
                continue
            if init is not None and init.is_ancestor(op):
                continue
            if op.buffer is not store.buffer or not _same_place(self.analyzer, op, store):
                place = expression_text(op.result)
                raise _NoReducer(f"it reads {place}, expected only the element of {_name(store)} that it writes")
            if not _runs_before(op, store):
                raise _NoReducer(f"it reads {expression_text(op.result)} behind the store to it")
            found.append(op)
        return found

    def _reads(self, value: SSAValue, n: int) -> bool:
        """Whether a value is computed from accumulator `n`."""
        return any(op in self.loads[n] for op in _computing(value))

    def _free(self, value: SSAValue) -> bool:
        """Whether a value is computed from no accumulator."""
        return not any(self._reads(value, n) for n in range(len(self.stores)))

    # One accumulator by itself

    def _kind(self, n: int) -> str:
        store = self.stores[n]
        if not self._reads(store.value, n):
            raise _NoReducer(f"{_name(store)} is not computed from its old value")
        chosen = self._keeps(n)
        if chosen is not None and chosen.tie is None:  # max(C, g) written as a choice
            self._check_contributions()
            return "max" if chosen.comparison in ("gt", "ge") else "min"
        kinds = self._operators(store.value, n)
        if len(kinds) > 1:
            raise _NoReducer(f"{_name(store)} mixes {' and '.join(sorted(kinds))}")
        if not kinds:
            raise _NoReducer(f"{_name(store)} is only copied to itself")
        return kinds.pop()

    def _operators(self, value: SSAValue, n: int) -> set[str]:
        """The operators between a value and the one load of accumulator `n` in it."""
        value = _unnamed(value)
        op: Any = value.owner
        match op:
            case LoadOp() if op in self.loads[n]:
                return set()
            case arith.SelectOp() if self._free(op.cond):
                return self._branches((op.lhs, op.rhs), n)
            case IfThenElseOp() if self._free(op.condition):
                return self._branches(_yielded(op), n)
            case IfThenElseOp() if (operands := _lazy_logic(value)) is not None:
                return self._operands(operands[0], operands[1:], n)
            case arith.SubiOp() | arith.SubfOp() if self._free(op.rhs):
                return {"add", *self._operators(op.lhs, n)}
            case Operation() if BINARY_NAMES.get(type(op)) in _KINDS:
                return self._operands(BINARY_NAMES[type(op)], tuple(op.operands), n)
            case _:
                raise _NoReducer(f"{_name(self.stores[n])} becomes {expression_text(value)}, expected one of {_SHAPES}")

    def _branches(self, values: Sequence[SSAValue], n: int) -> set[str]:
        return {kind for value in values for kind in self._operators(value, n)}

    def _operands(self, kind: str, operands: Sequence[SSAValue], n: int) -> set[str]:
        reading = [o for o in operands if self._reads(o, n)]
        if len(reading) != 1:
            raise _NoReducer(f"{_name(self.stores[n])} is read {len(reading)} times, expected once")
        return {kind, *self._operators(reading[0], n)}

    # Accumulators that belong together

    def _choice(self) -> Reducer:
        conditions = [self._keeps(n) for n in range(len(self.stores))]
        keys = {c.key for c in conditions if c is not None}
        if len(keys) != 1:
            raise _NoReducer("its stores depend on each other, but not by one comparison, as in argmax and argmin")
        key = keys.pop()
        # The key itself is the same whichever of two equal ones is taken.
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
        """The comparisons must be with what is then taken."""
        for n in range(len(self.stores)):
            for condition in self._conditions(n):
                for place, other in self._compared(condition):
                    if not self._is_contribution(place, other):
                        raise _NoReducer(f"it compares with {expression_text(other)}, which it does not take then")

    def _alternatives(self, n: int) -> tuple[SSAValue | None, SSAValue, SSAValue] | None:
        """(condition, value, value) of the choice that accumulator `n` becomes; no condition for min and max."""
        value = _unnamed(self.stores[n].value)
        op: Any = value.owner
        match op:
            case arith.SelectOp():
                return op.cond, op.lhs, op.rhs
            case IfThenElseOp():
                return op.condition, *_yielded(op)
            case Operation() if BINARY_NAMES.get(type(op)) in ("min", "max"):
                return None, op.operands[0], op.operands[1]
            case _:
                return None

    def _contribution(self, n: int) -> SSAValue | None:
        """The new value that accumulator `n` may become."""
        found = self._alternatives(n)
        if found is None:
            return None
        new = [v for v in found[1:] if self._free(v)]
        old = [v for v in found[1:] if _unnamed(v).owner in self.loads[n]]
        return new[0] if len(new) == 1 and len(old) == 1 else None

    def _is_contribution(self, n: int, value: SSAValue) -> bool:
        contribution = self._contribution(n)
        return contribution is not None and _same_value(self.analyzer, contribution, value)

    def _keeps(self, n: int) -> Choice | None:
        """When accumulator `n` keeps its old value."""
        found = self._alternatives(n)
        if found is None or self._contribution(n) is None:
            return None
        condition, first, _ = found
        keeps_if = _unnamed(first).owner in self.loads[n]
        if condition is None:
            name = "gt" if BINARY_NAMES[type(_unnamed(self.stores[n].value).owner)] == "max" else "lt"  # pyright: ignore[reportArgumentType]
            return Choice(n, name)
        return self._read_condition(condition, keeps_if)

    def _conditions(self, n: int) -> list[SSAValue]:
        found = self._alternatives(n)
        return [] if found is None or found[0] is None else [found[0]]

    def _compared(self, condition: SSAValue) -> Iterator[tuple[int, SSAValue]]:
        """(accumulator, other operand) of each comparison in a condition."""
        value = _unnamed(condition)
        logic = _logic(value)
        if logic is not None:
            for operand in logic[1:]:
                yield from self._compared(operand)
        elif (found := self._comparison(value)) is not None:
            yield found[0], found[2]

    def _comparison(self, value: SSAValue) -> tuple[int, str, SSAValue] | None:
        """(accumulator, comparison, other operand) of `accumulator <comparison> other`."""
        op = _unnamed(value).owner
        if not isinstance(op, arith.CmpiOp | arith.CmpfOp) or (name := comparison_name(op)) is None:
            return None
        for ours, other, found in ((op.lhs, op.rhs, name), (op.rhs, op.lhs, _SWAPPED.get(name, name))):
            for n, loads in enumerate(self.loads):
                if _unnamed(ours).owner in loads and self._free(other):
                    return n, found, other
        return None

    def _read_condition(self, condition: SSAValue, keeps_if: bool) -> Choice | None:
        value = _unnamed(condition)
        simple = self._comparison(value)
        if simple is not None:
            name = simple[1] if keeps_if else NEGATED[simple[1]]
            return Choice(simple[0], name) if name in _SWAPPED else None
        logic = _logic(value)
        if not keeps_if or logic is None or logic[0] != "or":
            return None
        return self._read_tie(logic[1], logic[2])

    def _read_tie(self, better: SSAValue, otherwise: SSAValue) -> Choice | None:
        """`better or (equal and tie)`, operands in any order."""
        for first, second in ((better, otherwise), (otherwise, better)):
            main, both = self._comparison(first), _logic(_unnamed(second))
            if main is None or main[1] not in ("lt", "gt") or both is None or both[0] != "and":
                continue
            for a, b in ((both[1], both[2]), (both[2], both[1])):
                equal, tie = self._comparison(a), self._comparison(b)
                if equal is None or tie is None or equal[:2] != (main[0], "eq") or tie[1] not in _SWAPPED:
                    continue
                if tie[0] != main[0]:
                    return Choice(main[0], main[1], (tie[0], tie[1]))
        return None


_SHAPES = "C + g, C - g, C * g, min(C, g), max(C, g), C & g, C | g, C ^ g"


def _name(store: StoreOp) -> str:
    return source_name(store.buffer) or "_"


def _unnamed(value: SSAValue) -> SSAValue:
    """A value without the names given to it."""
    while isinstance(op := value.owner, LetOp):
        value = op.value
    return value


def _yielded(op: IfThenElseOp) -> tuple[SSAValue, SSAValue]:
    then, orelse = (region.block.last_op for region in op.regions)
    if not isinstance(then, YieldOp) or not isinstance(orelse, YieldOp):
        raise _NoReducer(f"a {op.name} does not yield a value")
    return then.value, orelse.value


def _lazy_logic(value: SSAValue) -> tuple[str, SSAValue, SSAValue] | None:
    """("and" or "or", operands) of a bool that is `if a then b else false` or `if a then true else b`."""
    op = value.owner
    if not isinstance(op, IfThenElseOp) or not dtype_of(value.type).is_bool:
        return None
    then, orelse = _yielded(op)
    if constant_value(orelse) == 0:
        return "and", op.condition, then
    return ("or", op.condition, orelse) if constant_value(then) == 1 else None


def _logic(value: SSAValue) -> tuple[str, SSAValue, SSAValue] | None:
    """("and" or "or", operands) of a bool, lazy or not."""
    op = value.owner
    if isinstance(op, arith.AndIOp | arith.OrIOp) and dtype_of(value.type).is_bool:
        return BINARY_NAMES[type(op)], op.lhs, op.rhs
    return _lazy_logic(value)


def _computing(value: SSAValue) -> Iterator[Operation]:
    """The ops that compute a value, names looked through."""
    seen: set[Operation] = set()
    todo = [value]
    while todo:
        op = todo.pop().owner
        if not isinstance(op, Operation) or op in seen:
            continue
        for inner in op.walk():
            seen.add(inner)
            yield inner
            todo += inner.operands


def _same_place(analyzer: Analyzer, load: LoadOp, store: StoreOp) -> bool:
    pairs = zip(load.indices, store.indices, strict=True)
    return all(_same_value(analyzer, a, b) for a, b in pairs)


def _runs_before(op: Operation, store: StoreOp) -> bool:
    block = store.parent
    ancestor = None if block is None else block.find_ancestor_op_in_block(op)
    return ancestor is None or ancestor.is_before_in_block(store)


def _same_value(analyzer: Analyzer, a: SSAValue, b: SSAValue) -> bool:
    """Whether two values of one instance are the same number, when no store is in between."""
    a, b = _unnamed(a), _unnamed(b)
    if a is b:
        return True
    if a.type != b.type:
        return False
    if dtype_of(a.type).lanes == 1 and dtype_of(a.type).kind == "int" and analyzer.same(a, b):
        return True
    x, y = a.owner, b.owner
    if not isinstance(x, Operation) or not isinstance(y, Operation) or x.regions or type(x) is not type(y):
        return False
    if x.properties != y.properties or len(x.operands) != len(y.operands) or isinstance(x, ForOp | BlockOp):
        return False
    return all(
        p is q if isinstance(p.type, MemRefType) else _same_value(analyzer, p, q)
        for p, q in zip(x.operands, y.operands, strict=True)
    )


# Questions about blocks


def why_not_identity_init(block: BlockOp, reducer: Reducer) -> str | None:
    """None if the init of `block` stores the identity of its reducer, else what it stores instead.

    For min and max of floats the greatest finite number counts as well as infinity, as in TVM. What an argmax carries
    beside its key may start as anything.
    """
    name = block.block_name.data
    if block.init is None:
        return f"block {name} has no init"
    stores = {root_buffer(op.buffer): op for op in block.init.walk() if isinstance(op, StoreOp)}
    for n, (accumulator, expected) in enumerate(zip(reducer.accumulators, reducer.identity(), strict=True)):
        buffer = source_name(accumulator.buffer)
        store = stores.get(root_buffer(accumulator.buffer))
        if store is None:
            return f"the init of block {name} does not write {buffer}"
        if reducer.choice is not None and n != reducer.choice.key:
            continue
        if not _is_identity(constant_value(_unnamed(store.value)), expected, accumulator.dtype):
            return f"the init of block {name} sets {buffer} to {expression_text(store.value)}, expected {expected}"
    return None


def init_is_identity(block: BlockOp, reducer: Reducer) -> bool:
    """Whether the init of `block` stores the identity of its reducer: `why_not_identity_init` has nothing to say."""
    return why_not_identity_init(block, reducer) is None


def _is_identity(number: Number | None, expected: Number, dtype: DType) -> bool:
    if number is None or number == expected:
        return number is not None
    if not dtype.is_float or not math.isinf(expected):
        return False
    return number == (max_value(dtype) if expected > 0 else min_value(dtype))


def is_commutative_update(block: BlockOp, analyzer: Analyzer | None = None) -> bool:
    """Whether the instances of the update of `block` that differ in reduce axes may run in any order, but for rounding
    (and, for argmax and argmin, but for which of equal keys is taken first).

    So it is for a reducer that is known; and for any nest of loops, branches and blocks inside in which each store to a
    buffer from outside accumulates with the same operator, and nothing else reads these buffers.
    """
    analyzer = analyzer or Analyzer()
    return isinstance(match_reducer(block, analyzer), Reducer) or _Matcher(block, analyzer).accumulates()

"""Reducers: accumulators, the combination of two partial results, and the identity element."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from xdsl.ir import SSAValue

from ...core.dtypes import DType, dtype_of, int_range, max_value, min_value, value_bounds
from ...core.walking import find_ops
from ...dialects.text import expression_text
from ...dialects.text.names import source_name
from ...dialects.tir import BlockOp, LoadOp, StoreOp, TirBuilder, constant_value
from ..scopes import root_buffer
from .expressions import strip_lets

Number: TypeAlias = int | float

KINDS = ("add", "mul", "min", "max", "and", "or", "xor")
"""The operators of single accumulators, by their names in `TirBuilder.binary`."""


@dataclass(frozen=True)
class Accumulator:
    """One element that a block accumulates into: `buffer[indices]`, loaded by `loads` and stored by `store`.

    kind: `add`, `mul`, `min`, `max`, `and`, `or`, `xor`; `arg` for an accumulator of an argmax or argmin (`ArgChoice`).
    """

    kind: str
    buffer: SSAValue
    indices: tuple[SSAValue, ...]
    loads: tuple[LoadOp, ...]
    store: StoreOp

    @property
    def dtype(self) -> DType:
        """The data type of the element."""
        return dtype_of(self.store.value.type)

    @property
    def identity(self) -> Number:
        """The identity element; infinite for the min and max of floats that have infinities. Not for `arg`."""
        return _IDENTITY[self.kind](self.dtype)


@dataclass(frozen=True)
class ArgChoice:
    """The selection rule of an argmax or argmin: all old values where `old[key] <comparison> new[key]`, else all new
    values.

    comparison: `ge` or `gt` for argmax, `le` or `lt` for argmin.
    tie: (position, comparison) that decides between equal keys, before `comparison`; None if no such rule exists, so
    that the order of equal keys is observable.
    """

    key: int
    comparison: str
    tie: tuple[int, str] | None = None


@dataclass(frozen=True)
class Reducer:
    """The operator of a reduction block, for each of its buffers in the order of the stores.

    choice: set for argmax and argmin, whose accumulators are selected together; else the accumulators are independent.
    """

    accumulators: tuple[Accumulator, ...]
    choice: ArgChoice | None = None

    @property
    def kind(self) -> str:
        """`add`, `max`, ..., `argmax`, `argmin`, or `tuple` for several accumulators of different kinds."""
        if self.choice is not None:
            return "argmax" if self.choice.comparison in ("gt", "ge") else "argmin"
        kinds = {a.kind for a in self.accumulators}
        return kinds.pop() if len(kinds) == 1 else "tuple"

    @property
    def is_commutative(self) -> bool:
        """Whether the order of contributions is unobservable, up to rounding: false for an argmax without a rule for
        equal keys."""
        return self.choice is None or self.choice.tie is not None

    def combine(self, builder: TirBuilder, lhs: Sequence[SSAValue], rhs: Sequence[SSAValue]) -> list[SSAValue]:
        """Emits the combination of two tuples of partial results; `lhs` has the earlier contributions."""
        if self.choice is None:
            values = zip(self.accumulators, lhs, rhs, strict=True)
            return [builder.binary(a.kind, x, y) for a, x, y in values]
        return [builder.select(self.keeps(builder, lhs, rhs), x, y) for x, y in zip(lhs, rhs, strict=True)]

    def keeps(self, builder: TirBuilder, lhs: Sequence[SSAValue], rhs: Sequence[SSAValue]) -> SSAValue:
        """Emits the condition under which an argmax or argmin keeps `lhs`. ValueError for another reducer."""
        if self.choice is None:
            raise ValueError(f"a reducer of kind {self.kind} does not choose")
        key, name = self.choice.key, self.choice.comparison
        better = builder.binary(name, lhs[key], rhs[key])
        if self.choice.tie is None:
            return better
        position, tie = self.choice.tie
        equal = builder.binary("eq", lhs[key], rhs[key])
        return builder.binary(
            "or", better, builder.binary("and", equal, builder.binary(tie, lhs[position], rhs[position]))
        )

    def identity(self) -> list[Number]:
        """The identity element of each accumulator.

        Infinite for the min and max of floats that have infinities. The values of an argmax other than its key are 0.
        """
        if self.choice is None:
            return [a.identity for a in self.accumulators]
        extreme = _IDENTITY[self.kind.removeprefix("arg")]
        return [extreme(a.dtype) if n == self.choice.key else 0 for n, a in enumerate(self.accumulators)]

    def identities(self, builder: TirBuilder) -> list[SSAValue]:
        """`identity` as constants."""
        return [builder.const(n, a.dtype) for n, a in zip(self.identity(), self.accumulators, strict=True)]


def _extreme(sign: int) -> Callable[[DType], Number]:
    return lambda dtype: value_bounds(dtype)[sign > 0]


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


def why_not_identity_init(block: BlockOp, reducer: Reducer) -> str | None:
    """None if the init of `block` stores the identity of its reducer, else the reason why it does not.

    For min and max of floats the greatest finite number counts as well as infinity, as in TVM. The values of an argmax
    other than its key may start as anything.
    """
    name = block.block_name.data
    if block.init is None:
        return f"block {name} has no init"
    stores = {root_buffer(op.buffer): op for op in find_ops(block.init, StoreOp)}
    for n, (accumulator, expected) in enumerate(zip(reducer.accumulators, reducer.identity(), strict=True)):
        buffer = source_name(accumulator.buffer)
        store = stores.get(root_buffer(accumulator.buffer))
        if store is None:
            return f"the init of block {name} does not write {buffer}"
        if reducer.choice is not None and n != reducer.choice.key:
            continue
        if not _is_identity(constant_value(strip_lets(store.value)), expected, accumulator.dtype):
            return f"the init of block {name} sets {buffer} to {expression_text(store.value)}, expected {expected}"
    return None


def init_is_identity(block: BlockOp, reducer: Reducer) -> bool:
    """Whether the init of `block` stores the identity of its reducer (`why_not_identity_init` is None)."""
    return why_not_identity_init(block, reducer) is None


def _is_identity(number: Number | None, expected: Number, dtype: DType) -> bool:
    if number is None or number == expected:
        return number is not None
    if not dtype.is_float or not math.isinf(expected):
        return False
    return number == (max_value(dtype) if expected > 0 else min_value(dtype))

"""What a random program may use at a place in it."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from xdsl.ir import SSAValue

from ...core.dtypes import DType
from ...dialects.tir import Mixed


@dataclass(frozen=True)
class Features:
    """What a random program may contain.

    dtypes: of buffers and scalars.  blocks: `tir.block`.  symbols: sizes that arguments bind.  vectors: ramps.
    threads: loops bound to threads, which no CPU target takes.  libm: functions that are not correctly rounded.
    calls: more than one function.  legacy: what TVM 0.27 has no TVMScript for: predicates of vector accesses, constant
    arrays.  size: how many statements about.
    """

    dtypes: tuple[str, ...] = (
        "int32",
        "float32",
        "bool",
        "int8",
        "int16",
        "int64",
        "uint8",
        "uint16",
        "uint32",
        "uint64",
        "float16",
        "bfloat16",
        "float64",
        "int4",
        "uint4",
        "float8_e4m3fn",
        "float8_e5m2",
        "float8_e4m3fnuz",
    )
    blocks: bool = True
    symbols: bool = True
    vectors: bool = True
    threads: bool = False
    libm: bool = False
    calls: bool = True
    legacy: bool = True
    size: int = 8


@dataclass(frozen=True)
class Number:
    """An integer value with its range. below: a size that it is less than, when that is not known."""

    value: SSAValue
    low: int
    high: int
    below: SSAValue | None = None

    def indexes(self, extent: Mixed) -> bool:
        """Whether it lies in [0, extent)."""
        if isinstance(extent, int):
            return self.low >= 0 and self.high < extent
        return self.below is extent


@dataclass(frozen=True)
class Slot:
    """A buffer, all of whose elements were written. fixed: the index that a dimension must have, so that concurrent
    iterations stay apart."""

    buffer: SSAValue
    shape: tuple[Mixed, ...]
    dtype: DType
    writable: bool = True
    fixed: tuple[tuple[int, SSAValue], ...] = ()

    def fixed_at(self, dimension: int) -> SSAValue | None:
        return dict(self.fixed).get(dimension)


@dataclass(frozen=True)
class Environment:
    """What can be seen from a place.

    slots: buffers.  numbers: integers that can be an index.  values: any other scalars.  sizes: symbols that are known
    to be positive here.  outer_numbers, outer_values: how many of the numbers and values the body of a block sees:
    those that do not hang on loops.  depth: of nesting.  is_concurrent, in_block: what the place is inside of.
    runs: how often the place is reached at most, about.
    """

    slots: tuple[Slot, ...] = ()
    numbers: tuple[Number, ...] = ()
    values: tuple[tuple[SSAValue, DType], ...] = ()
    sizes: tuple[SSAValue, ...] = ()
    outer_numbers: int = 0
    outer_values: int = 0
    depth: int = 0
    is_concurrent: bool = False
    in_block: bool = False
    runs: int = 1

    def inside(self) -> Environment:
        """One level deeper."""
        return replace(self, depth=self.depth + 1)

    def with_number(self, number: Number) -> Environment:
        return replace(self, numbers=(*self.numbers, number))

    def with_value(self, value: SSAValue, dtype: DType) -> Environment:
        return replace(self, values=(*self.values, (value, dtype)))

    def with_slot(self, slot: Slot) -> Environment:
        return replace(self, slots=(*self.slots, slot))

    def can_index(self, extent: Mixed) -> bool:
        """Whether a number in [0, extent) can be made."""
        if isinstance(extent, int) and extent > 0:
            return True
        return extent in self.sizes or any(n.indexes(extent) for n in self.numbers)

    def reachable(self, *, writable: bool = False, dtype: DType | None = None) -> list[Slot]:
        """The buffers whose elements can be accessed here."""
        return [
            slot
            for slot in self.slots
            if (slot.writable or not writable)
            and dtype in (None, slot.dtype)
            and all(slot.fixed_at(d) is not None or self.can_index(n) for d, n in enumerate(slot.shape))
        ]


@dataclass
class Budget:
    """How many statements may still be written."""

    left: int
    names: dict[str, int] = field(default_factory=dict[str, int])

    def take(self) -> bool:
        self.left -= 1
        return self.left >= 0

    def name(self, base: str) -> str:
        """A name that was not used yet: `base`, or with a number behind it."""
        count = self.names.get(base, 0)
        self.names[base] = count + 1
        return base if count == 0 else f"{base}_{count}"

"""The features of random programs, and the values in scope at a point of a program."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from xdsl.ir import Operation, SSAValue

from ...core.dtypes import DType
from ...dialects.tir import Mixed


@dataclass(frozen=True)
class Features:
    """The features that a random program may use.

    dtypes: data types of buffers and scalars.  blocks: `tir.block`.  symbols: sizes bound by arguments.  vectors:
    ramps.
    threads: loops bound to threads, unsupported by CPU targets.  libm: functions that are not correctly rounded.
    calls: more than one function.  legacy: features without TVMScript in TVM 0.27: predicates of vector accesses,
    constant arrays.  size: the approximate number of statements.  operations: those of other packages, on numbers.
    prints: lines on the standard output.
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
    operations: tuple[type[Operation], ...] = ()
    prints: bool = False


@dataclass(frozen=True)
class BoundedInteger:
    """An integer value with its range. below: a symbolic size that is an exclusive upper bound."""

    value: SSAValue
    low: int
    high: int
    below: SSAValue | None = None

    def indexes(self, extent: Mixed) -> bool:
        """Whether the value lies in [0, extent)."""
        if isinstance(extent, int):
            return self.low >= 0 and self.high < extent
        return self.below is extent


@dataclass(frozen=True)
class Slot:
    """A buffer with all elements initialized. fixed: (dimension, index) pairs that accesses must use, so that
    concurrent iterations access disjoint elements."""

    buffer: SSAValue
    shape: tuple[Mixed, ...]
    dtype: DType
    writable: bool = True
    fixed: tuple[tuple[int, SSAValue], ...] = ()

    def fixed_index(self, dimension: int) -> SSAValue | None:
        return dict(self.fixed).get(dimension)


@dataclass(frozen=True)
class Environment:
    """The values in scope at a point of a program.

    slots: buffers.  numbers: integers for indices.  values: other scalars.  sizes: symbols known to be positive.
    outer_numbers, outer_values: the lengths of the prefixes of numbers and values that are independent of loops and
    therefore visible in the body of a block.  depth: the nesting depth.  is_concurrent, in_block: whether a concurrent
    loop or a block encloses the point.
    runs: the approximate maximum number of executions of the point.
    """

    slots: tuple[Slot, ...] = ()
    numbers: tuple[BoundedInteger, ...] = ()
    values: tuple[tuple[SSAValue, DType], ...] = ()
    sizes: tuple[SSAValue, ...] = ()
    outer_numbers: int = 0
    outer_values: int = 0
    depth: int = 0
    is_concurrent: bool = False
    in_block: bool = False
    runs: int = 1

    def nested_environment(self) -> Environment:
        """The environment one nesting level deeper."""
        return replace(self, depth=self.depth + 1)

    def with_number(self, number: BoundedInteger) -> Environment:
        return replace(self, numbers=(*self.numbers, number))

    def with_value(self, value: SSAValue, dtype: DType) -> Environment:
        return replace(self, values=(*self.values, (value, dtype)))

    def with_slot(self, slot: Slot) -> Environment:
        return replace(self, slots=(*self.slots, slot))

    def can_index(self, extent: Mixed) -> bool:
        """Whether an index in [0, extent) can be built."""
        if isinstance(extent, int) and extent > 0:
            return True
        return extent in self.sizes or any(n.indexes(extent) for n in self.numbers)

    def reachable(self, *, writable: bool = False, dtype: DType | None = None) -> list[Slot]:
        """The buffers whose elements can be accessed."""
        return [
            slot
            for slot in self.slots
            if (slot.writable or not writable)
            and dtype in (None, slot.dtype)
            and all(slot.fixed_index(d) is not None or self.can_index(n) for d, n in enumerate(slot.shape))
        ]


@dataclass
class Budget:
    """The number of statements left, and the names in use."""

    left: int
    names: dict[str, int] = field(default_factory=dict[str, int])

    def take(self) -> bool:
        self.left -= 1
        return self.left >= 0

    def name(self, base: str) -> str:
        """A fresh name: `base`, or `base` with a numeric suffix."""
        count = self.names.get(base, 0)
        self.names[base] = count + 1
        return base if count == 0 else f"{base}_{count}"

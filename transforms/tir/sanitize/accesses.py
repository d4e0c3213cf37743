"""Checks of accesses: bounds of dimensions and memories, alignment, and elements that were never written."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from xdsl.dialects.builtin import i64
from xdsl.ir import Operation, SSAValue
from xdsl.rewriter import InsertPoint

from ....analysis.names import memory_name
from ....analysis.regions.access_regions import buffer_shape
from ....analysis.threads.memories import memory_of
from ....core.dtypes import dtype_of, wrap_int
from ....dialects.tir import (
    AccessPtrOp,
    AllocateConstOp,
    DeclBufferOp,
    IfOp,
    LoadOp,
    MatchRegionOp,
    Mixed,
    RampOp,
    StoreOp,
    TirBuilder,
)
from .arithmetic import lane_of
from .checks import INT64, Checks, describe, integer_dtype, spell_name
from .memories import Positions, byte_size_of
from .shadows import Shadows


@dataclass(frozen=True)
class Accesses:
    """Emits the checks of loads, stores and pointers."""

    checks: Checks
    shadows: Shadows

    def load(self, op: LoadOp) -> None:
        """Checks a load: bounds, and that each element was written."""
        for builder, indices in self._lanes(op, self.checks.builder(op)):
            self.read(builder, op, op.buffer, indices)

    def store(self, op: StoreOp) -> None:
        """Checks the bounds of a store, and marks its elements as written.

        An update needs no mark, as the check of its load has found the element written. A reduction in a vectorized
        loop thus has no mark, which would be a race.
        """
        memory = memory_of(op.buffer)
        if memory is not None and isinstance(memory.owner, AllocateConstOp):
            builder = self.checks.builder(op)
            text = f"{memory_name(op.buffer)} is constant, but is written"
            self.checks.require(builder, op, builder.const(False, "bool"), text)
        for builder, indices in self._lanes(op, self.checks.builder(op)):
            self.check_bounds(builder, op, op.buffer, indices)
        if self._is_update(op):
            return
        for builder, indices in self._lanes(op, TirBuilder(InsertPoint.after(op), op.location)):
            self.shadows.mark(builder, op.buffer, indices)

    def _is_update(self, op: StoreOp) -> bool:
        """Whether a load that precedes a store in the same block reads the same elements."""
        return any(
            isinstance(load, LoadOp)
            and load.parent is op.parent
            and load.is_before_in_block(op)
            and load.predicate is op.predicate
            and all(self._is_same_index(a, b) for a, b in zip(load.indices, op.indices, strict=True))
            for load in (use.operation for use in op.buffer.uses)
        )

    def _is_same_index(self, a: SSAValue, b: SSAValue) -> bool:
        return a is b or (integer_dtype(a) is not None and a.type == b.type and self.checks.analyzer.same(a, b))

    def read(self, builder: TirBuilder, op: Operation, buffer: SSAValue, indices: Sequence[SSAValue]) -> None:
        """Checks a read of one element."""
        self.check_bounds(builder, op, buffer, indices)
        written = self.shadows.is_written(builder, buffer, indices)
        if written is not None:
            where, values = _spell_element(buffer, indices)
            self.checks.require(builder, op, written, f"{where} is read, but was never written", values)

    # Lanes

    def _lanes(self, op: LoadOp | StoreOp, builder: TirBuilder) -> Generator[tuple[TirBuilder, list[SSAValue]]]:
        """The indices of each lane that is accessed, with the builder at a point where the lane is accessed."""
        vectors = op.vector_indices
        if not vectors:
            yield builder, list(op.indices)
            return
        for n in range(dtype_of(vectors[0].type).lanes):
            with self._guard(builder, op.predicate, n):
                yield builder, [_lane_index(builder, i, n) if i in vectors else i for i in op.indices]

    @contextmanager
    def _guard(self, builder: TirBuilder, predicate: SSAValue | None, lane: int) -> Generator[None]:
        """A context that inserts where a lane of a predicate is true."""
        if predicate is None:
            yield
            return
        branch = IfOp(lane_of(builder, predicate, lane))
        builder.insert(branch)
        with self.checks.analyzer.assuming(branch.condition), builder.at(branch.then.block):
            yield
        if not branch.then.block.ops:
            branch.detach()
            branch.erase()

    # Bounds

    def check_bounds(self, builder: TirBuilder, op: Operation, buffer: SSAValue, indices: Sequence[SSAValue]) -> None:
        """Checks the indices of an element: against the shape of its buffer, of the buffers that contain it as a
        region, and against the end of the memory."""
        source: SSAValue = buffer
        position: list[SSAValue] = list(indices)
        while True:
            self._check_shape(builder, op, source, position)
            if not isinstance(region := source.owner, MatchRegionOp):
                break
            position = [builder.value(n) for n in Positions(builder).source_indices(region, position)]
            source = region.source
        if isinstance(source.owner, DeclBufferOp):
            self._check_memory(builder, op, (buffer, indices), (source, position))

    def _check_shape(self, builder: TirBuilder, op: Operation, buffer: SSAValue, indices: Sequence[SSAValue]) -> None:
        where, values = _spell_element(buffer, indices)
        for d, (index, extent) in enumerate(zip(indices, buffer_shape(buffer), strict=True)):
            condition = self.checks.bounds_condition(builder, index, 0, extent)
            if condition is not None:
                (i, n), more = describe([index, extent])
                text = f"{where} is out of bounds: index {i} of dimension {d}, expected 0 <= index < {n}"
                self.checks.require(builder, op, condition, text, [*values, *more])

    def _check_memory(
        self,
        builder: TirBuilder,
        op: Operation,
        access: tuple[SSAValue, Sequence[SSAValue]],
        element: tuple[SSAValue, Sequence[SSAValue]],
    ) -> None:
        """Checks that an element of a declared buffer lies in the memory of its pointer, if that is known."""
        positions = Positions(builder)
        memory = positions.of_buffer(element[0])
        if memory is None:
            return
        start = positions.add(memory.start, positions.element(*element))
        end = positions.add(memory.size, 1 - byte_size_of(element[0]))
        condition = self.checks.bounds_condition(builder, builder.cast(start, INT64), 0, end)
        if condition is not None:
            where, values = _spell_element(*access)
            text = f"{where} lies outside of the memory of {spell_name(memory_name(access[0]))}"
            self.checks.require(builder, op, condition, text, values)

    # Pointers

    def declaration(self, op: DeclBufferOp) -> None:
        """Checks that the pointer of a declared buffer is aligned for its elements, and not null."""
        size = dtype_of(op.type.element_type).bytes
        builder = self.checks.builder(op)
        memory = Positions(builder).of_pointer(op.data)
        if memory is not None and memory.is_allocation:
            self._check_alignment(builder, op, memory.start, size, "byte")
            return
        if memory is not None and byte_size_of(memory.root) % size == 0 and self._is_multiple(memory.start, size):
            return
        address = builder.reinterpret(op.data, i64)
        if memory is None:
            condition = builder.binary("ne", address, builder.const(0, INT64))
            self.checks.require(builder, op, condition, f"{memory_name(op.buffer)} looks behind a null pointer")
        self._check_alignment(builder, op, address, size, "address")

    def _is_multiple(self, number: Mixed, factor: int) -> bool:
        analyzer = self.checks.analyzer
        return analyzer.constant(analyzer.floormod(analyzer.exact(number), factor)) == 0

    def _check_alignment(self, builder: TirBuilder, op: DeclBufferOp, at: Mixed, size: int, unit: str) -> None:
        if self._is_multiple(at, size):
            return
        (text,), values = describe([at])
        rest = builder.binary("and", builder.cast(at, INT64), builder.const(size - 1, INT64))
        condition = builder.binary("eq", rest, builder.const(0, INT64))
        dtype = dtype_of(op.type.element_type).scalar
        name = spell_name(memory_name(op.buffer))
        self.checks.require(
            builder, op, condition, f"{name} is looked at as {dtype} at {unit} {text}, which is not aligned", values
        )

    def derived_pointer(self, op: AccessPtrOp) -> None:
        """Checks that the range of a derived pointer lies in its memory, if that is known."""
        size, builder = byte_size_of(op.pointer), self.checks.builder(op)
        positions = Positions(builder)
        memory = positions.of_pointer(op.data)
        if memory is None:
            return
        start = positions.add(memory.start, positions.mul(op.offset, size))
        end = positions.add(start, positions.mul(op.extent, size))
        low = self.checks.bounds_condition(builder, builder.cast(start, INT64), 0, positions.add(end, 1))
        high = self.checks.bounds_condition(builder, builder.cast(end, INT64), 0, positions.add(memory.size, 1))
        halves = [half for half in (low, high) if half is not None]
        if halves:
            (offset, extent, total), values = describe([op.offset, op.extent, memory.size])
            text = f"{extent} elements of {size} bytes from element {offset} leave the memory, which has {total} bytes"
            self.checks.require(builder, op, builder.conjunction(halves), text, values)


def _lane_index(builder: TirBuilder, indices: SSAValue, lane: int) -> SSAValue:
    """A lane of a vector of indices."""
    if isinstance(ramp := indices.owner, RampOp):
        dtype = dtype_of(ramp.base.type)
        steps = builder.const(wrap_int(lane, dtype), dtype)
        return builder.add(ramp.base, builder.mul(ramp.stride, steps)) if lane else ramp.base
    return lane_of(builder, indices, lane)


def _spell_element(buffer: SSAValue, indices: Sequence[Mixed]) -> tuple[str, list[SSAValue]]:
    """An element in a message, and the values of its placeholders."""
    texts, values = describe(indices)
    return f"{spell_name(memory_name(buffer))}[{', '.join(texts)}]", values

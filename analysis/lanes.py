"""Vectorization of a loop: expressions and accesses of all its iterations at once, with loop-dependent values as
vectors.

A value is the same in all lanes (a scalar), a ramp, or any vector. Ramps are kept as base and stride as long as sums
and products allow, which is exact even where integers wrap.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from math import gcd

from xdsl.dialects import arith
from xdsl.dialects.builtin import VectorType
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.utils.exceptions import VerifyException

from ..core.dtypes import dtype_of, int_fits, mlir_type, parse_dtype, wrap_int
from ..dialects.extensions import scalar_operation
from ..dialects.tir import (
    DIVISIONS,
    SHIFTS,
    CallExternOp,
    CastOp,
    DeclBufferOp,
    FloormodOp,
    ForOp,
    HandleType,
    IfThenElseOp,
    IntrinsicOp,
    LetOp,
    LoadOp,
    Mixed,
    ShuffleOp,
    StoreOp,
    TirBuilder,
    YieldOp,
    constant_value,
)
from ..dialects.tir.tree import is_pure_expression
from .index import Analyzer, Lin
from .threads.memories import is_local

_ON_RAMPS: dict[type[Operation], str] = {arith.AddiOp: "add", arith.SubiOp: "sub", arith.MuliOp: "mul"}


class NotVectorizable(Exception):
    """An op has no equivalent on the lanes of vectors; the text is the reason."""


@dataclass(frozen=True)
class _Ramp:
    """`base + lane * stride`, integers that wrap in the type of the value."""

    base: Mixed
    stride: Mixed


@dataclass(frozen=True)
class _Vector:
    """A vector with one element for each lane."""

    value: SSAValue


@dataclass(frozen=True)
class PartialResults:
    """The partial results of a reduction. buffer: one for each lane.  reached: whether a lane has contributed, None if
    all lanes have.
    """

    buffer: SSAValue
    reached: SSAValue | None = None


_Known = SSAValue | _Ramp | _Vector
"""The values of all lanes for one value of an iteration; an SSA value is the same in each lane."""


class LaneBuilder:
    """Emits the computation of `count` iterations of a loop at once, at the insertion point of `builder`.

    low: the value of the loop variable in the first of the iterations.  mask: the active lanes, a vector of bools; None
    for all. Inactive lanes neither read nor write memory and do nothing excluded. The first mask has an active lane.
    partial: for accesses of an element into which all lanes accumulate, the partial results to access.
    """

    def __init__(self, builder: TirBuilder, loop: ForOp, count: int, low: Mixed, mask: SSAValue | None = None):
        self.builder, self.loop, self.count = builder, loop, count
        self.mask = mask
        self._low = low
        self._is_active = True
        """Whether a lane is active for certain: a result that is the same in all lanes may be computed once."""
        self.partial: dict[Operation, PartialResults] = {}
        step = loop.mixed_bounds[2]
        assert isinstance(step, int)
        self._known: dict[SSAValue, _Known] = {loop.variable: _Ramp(_fold_constant(low), step)}

    # Values

    def is_inside(self, value: SSAValue) -> bool:
        """Whether `value` is defined by the loop."""
        return self.loop.is_ancestor(value.owner)

    def define(self, value: SSAValue, scalar: SSAValue) -> None:
        """Maps `value` of the loop to `scalar` in all lanes."""
        self._known[value] = scalar

    def define_lanes(self, value: SSAValue, vector: SSAValue) -> None:
        """Maps `value` of the loop to the lanes of `vector`."""
        self._known[value] = _Vector(vector)

    def scalar(self, value: SSAValue) -> SSAValue | None:
        """The scalar that equals `value` in all lanes; None if the lanes differ or `value` is not emitted yet."""
        known = self._known.get(value) if self.is_inside(value) else value
        return known if isinstance(known, SSAValue) else None

    def uniform(self, value: SSAValue) -> SSAValue:
        """The scalar that equals `value` in all lanes. NotVectorizable if the lanes differ."""
        scalar = self.scalar(value)
        if scalar is None:
            raise NotVectorizable("a pointer, or a bound of an inner loop, differs between the lanes")
        return scalar

    def value(self, value: SSAValue) -> SSAValue:
        """`value` as a scalar if it is the same in all lanes, else as a vector."""
        scalar = self.scalar(value)
        return self.vector(value) if scalar is None else scalar

    def vector(self, value: SSAValue) -> SSAValue:
        """`value` as a vector."""
        return self._as_vector(self._get(value), value.type)

    def is_repeatable(self, value: SSAValue) -> bool:
        """Whether `value` can be recomputed for one iteration from the loop variable and from values that are the same
        in all lanes."""
        pending, seen = [value], {value}
        while pending:
            value = pending.pop()
            if value is self.loop.variable or self.scalar(value) is not None:
                continue
            op = value.owner
            if not isinstance(op, LetOp) and not (isinstance(op, Operation) and is_pure_expression(op)):
                return False
            fresh = [v for v in free_values(op) if v not in seen]
            seen.update(fresh)
            pending += fresh
        return True

    def _get(self, value: SSAValue) -> _Known:
        known = self._known.get(value) if self.is_inside(value) else value
        if known is None:
            raise NotVectorizable("it uses a value of a statement that is not vectorizable")
        return known

    def _as_vector(self, known: _Known, type: Attribute) -> SSAValue:
        if isinstance(known, _Vector):
            return known.value
        if isinstance(type, VectorType) or isinstance(type, HandleType) or not _is_number(type):
            raise NotVectorizable("a vector, or a pointer, has no vector with one element for each lane")
        if isinstance(known, _Ramp):
            base, stride = (self._scalar_of(n, type) for n in (known.base, known.stride))
            return self.builder.ramp(base, stride, self.count)
        return self.builder.broadcast(known, self.count)

    def _scalar_of(self, number: Mixed, type: Attribute) -> SSAValue:
        return self.builder.const(number, dtype_of(type)) if isinstance(number, int) else number

    def _type(self, type: Attribute) -> Attribute:
        return mlir_type(dtype_of(type).with_lanes(self.count))

    # Lanes that are on

    @contextmanager
    def restrict_mask(self, condition: SSAValue, holds: bool) -> Generator[None]:
        """Restricts the mask to the lanes in which `condition` equals `holds`, in the body."""
        chosen = self.vector(condition)
        if not holds:
            chosen = self.builder.logical_not(chosen)
        saved = self.mask, self._is_active
        self._is_active = self._is_active and self._is_in_first_lane(condition, holds)
        self.mask = chosen if self.mask is None else self.builder.binary("and", self.mask, chosen)
        try:
            yield
        finally:
            self.mask, self._is_active = saved

    def _is_in_first_lane(self, condition: SSAValue, holds: bool) -> bool:
        """Whether `condition` provably equals `holds` in the first lane, if that is the first iteration."""
        low = self.loop.mixed_bounds[0]
        if low is not self._low and low != self._low:
            return False
        analyzer = Analyzer()
        with analyzer.inside(self.loop):
            analyzer.assume_not_negative(analyzer.exact(low) - Lin.of(self.loop.variable))
            return analyzer.decide(condition) is holds

    # Expressions

    def expression(self, op: Operation) -> None:
        """Emits an op that computes a value. NotVectorizable where this is not possible."""
        self.builder.location = op.location
        if isinstance(op, LoadOp):
            self._load(op)
        elif isinstance(op, IfThenElseOp):
            self._choice(op)
        elif not is_pure_expression(op):
            raise NotVectorizable(f"{op.name} has effects")
        elif self._is_uniform_op(op) and (self._is_active or _is_harmless(op)):
            self.clone_uniform(op)
        elif self.mask is not None and not _is_harmless(op):
            raise NotVectorizable(f"{op.name} has an undefined result in inactive lanes")
        else:
            self._compute(op)

    def _is_uniform_op(self, op: Operation) -> bool:
        return all(self.scalar(v) is not None for v in op.operands)

    def clone_uniform(self, op: Operation) -> None:
        """Emits a single copy of an op without regions whose operands are the same in all lanes."""
        copy = op.clone({v: self.uniform(v) for v in op.operands})
        self.builder.insert(copy)
        for old, new in zip(op.results, copy.results, strict=True):
            self._known[old] = new

    def let(self, op: LetOp) -> None:
        """Emits a name; the name of a ramp is dropped, so that its users see the ramp."""
        known = self._get(op.value)
        if isinstance(known, _Ramp):
            self._known[op.result] = known
        elif isinstance(known, _Vector):
            self._known[op.result] = _Vector(self.builder.let(op.var_name.data, known.value))
        else:
            self._known[op.result] = self.builder.let(op.var_name.data, known)

    def _compute(self, op: Operation) -> None:
        types = [v.type for v in (*op.operands, *op.results)]
        if len(op.results) != 1 or isinstance(op, ShuffleOp | CallExternOp) or not all(map(_is_number, types)):
            raise NotVectorizable(f"{op.name} has no form on lanes")
        ramp = self._ramp(op)
        if ramp is not None:
            self._known[op.results[0]] = ramp
            return
        new = type(op).create(
            operands=[self.vector(v) for v in op.operands],
            result_types=[self._type(op.results[0].type)],
            properties=dict(op.properties),
            attributes=dict(op.attributes),
        )
        _check_lanes(new)
        self._known[op.results[0]] = _Vector(self.builder.insert(new).results[0])

    # Ramps

    def _ramp(self, op: Operation) -> _Ramp | SSAValue | None:
        """The ramp that an operator on ramps produces, or its result if all lanes have the same, or None."""
        if isinstance(op, CastOp):
            return self._convert_ramp(op)
        if isinstance(op, arith.FloorDivSIOp | FloormodOp):
            return self._divide_ramp(op)
        name = _ON_RAMPS.get(type(op))
        if name is None:
            return None
        a, b = (self._get(v) for v in op.operands)
        if isinstance(a, _Vector) or isinstance(b, _Vector):
            return None
        type_ = op.results[0].type
        left, right = (k if isinstance(k, _Ramp) else _Ramp(_fold_constant(k), 0) for k in (a, b))
        if name != "mul":
            base = self._arith(name, left.base, right.base, type_)
            return _Ramp(base, self._arith(name, left.stride, right.stride, type_))
        if isinstance(a, _Ramp) and isinstance(b, _Ramp):
            return None
        ramp, factor = (left, right.base) if isinstance(a, _Ramp) else (right, left.base)
        return _Ramp(*(self._arith("mul", n, factor, type_) for n in (ramp.base, ramp.stride)))

    def _divide_ramp(self, op: arith.FloorDivSIOp | FloormodOp) -> _Ramp | SSAValue | None:
        """The quotient or the remainder of a ramp by a positive constant; None unless all lanes provably have the same
        quotient, because the lanes are fewer than the numbers between two multiples of a common divisor of the first
        lane and the constant."""
        ramp, divisor = self._get(op.lhs), constant_value(op.rhs)
        if not isinstance(ramp, _Ramp) or not isinstance(ramp.stride, int) or not isinstance(divisor, int):
            return None
        base = Analyzer().lin(ramp.base)
        # a power of two divides the numbers that wrap, too
        unit = gcd(divisor, 1 << dtype_of(op.lhs.type).bits, base.const, *base.terms.values())
        if divisor <= 0 or not 0 <= ramp.stride * (self.count - 1) < unit:
            return None
        first = self._scalar_of(ramp.base, op.lhs.type)
        if isinstance(op, arith.FloorDivSIOp):
            return self.builder.binary("floordiv", first, divisor)
        return _Ramp(_fold_constant(self.builder.binary("floormod", first, divisor)), ramp.stride)

    def _convert_ramp(self, op: CastOp) -> _Ramp | None:
        """A ramp with constant base and stride, converted to another integer type; None if the conversion does not
        preserve it."""
        known, have, want = self._get(op.value), dtype_of(op.value.type), dtype_of(op.result.type)
        if not isinstance(known, _Ramp) or not isinstance(known.base, int) or not isinstance(known.stride, int):
            return None
        if want.is_float or want.is_bool or not int_fits(known.base + known.stride * (self.count - 1), have):
            return None
        return _Ramp(wrap_int(known.base, want), wrap_int(known.stride, want))

    def _arith(self, name: str, a: Mixed, b: Mixed, type: Attribute) -> Mixed:
        dtype = dtype_of(type)
        if isinstance(a, int) and isinstance(b, int):
            return wrap_int({"add": a + b, "sub": a - b, "mul": a * b}[name], dtype)
        if name == "mul":
            if 0 in (a, b):
                return 0
            if 1 in (a, b):
                return b if a == 1 else a
        elif b == 0:
            return a
        elif a == 0 and name == "add":
            return b
        left, right = (self._scalar_of(n, type) for n in (a, b))
        return self.builder.binary(name, left, right)

    # Choices

    def _choice(self, op: IfThenElseOp) -> None:
        condition = self.scalar(op.condition)
        if condition is not None:
            self._lazy_choice(op, condition)
            return
        chosen = self.vector(op.condition)
        values: list[SSAValue] = []
        for region, holds in ((op.then, True), (op.orelse, False)):
            with self.restrict_mask(op.condition, holds):
                values.append(self._as_vector(self._region(region.block), op.result.type))
        self.builder.location = op.location
        self._known[op.result] = _Vector(self.builder.select(chosen, *values))

    def _lazy_choice(self, op: IfThenElseOp, condition: SSAValue) -> None:
        """Emits a conditional on a condition that is the same in all lanes. The op is inserted first, and gets its type
        once the types of its results are known."""
        new = self.builder.insert(IfThenElseOp(condition, op.result.type))
        results: list[_Known] = []
        for old, region in zip(op.regions, new.regions, strict=True):
            with self.builder.at(region.block):
                results.append(self._region(old.block))
        same = all(isinstance(known, SSAValue) for known in results)
        for known, region in zip(results, new.regions, strict=True):
            with self.builder.at(region.block):
                value = known if isinstance(known, SSAValue) and same else self._as_vector(known, op.result.type)
                self.builder.insert(YieldOp(value))
        self.builder.location = op.location
        if same:
            self._known[op.result] = new.result
            return
        typed = IfThenElseOp(condition, self._type(op.result.type), *(new.detach_region(r) for r in list(new.regions)))
        new.detach()
        new.erase()
        self._known[op.result] = _Vector(self.builder.insert(typed).result)

    def _region(self, block: Block) -> _Known:
        """Emits the ops of a region and returns the value that it yields."""
        for op in block.ops:
            if isinstance(op, YieldOp):
                return self._get(op.value)
            if isinstance(op, LetOp):
                self.let(op)
            else:
                self.expression(op)
        raise NotVectorizable("a choice yields no value")

    # Memory

    def declare(self, op: DeclBufferOp) -> None:
        """Emits a buffer declaration that is the same in all lanes."""
        if not self._is_active:
            raise NotVectorizable("it declares a buffer in a branch on lanes")
        self.clone_uniform(op)

    def _load(self, op: LoadOp) -> None:
        if op in self.partial:
            self._known[op.result] = _Vector(self._load_all(self.partial[op].buffer))
            return
        if self._is_uniform_op(op) and self._is_active:
            self.clone_uniform(op)
            return
        if op.predicate is not None or not op.indices or isinstance(op.result.type, VectorType):
            raise NotVectorizable("it loads with a predicate, without indices, or a vector")
        self._refuse_transpose(op)
        load = LoadOp(self.uniform(op.buffer), self._indices(op.indices), self.mask)
        self._known[op.result] = _Vector(self.builder.insert(load).result)

    def store(self, op: StoreOp) -> None:
        """Emits a store of one element in each lane. Lanes may store to one element: they do so in their order."""
        if op in self.partial:
            self._store_partial(op.value, self.partial[op])
            return
        if op.predicate is not None or isinstance(op.value.type, VectorType) or not op.indices:
            raise NotVectorizable("it stores with a predicate, without indices, or a vector")
        if all(self._is_uniform(index) for index in op.indices):
            raise NotVectorizable("all iterations store to one element")
        self._refuse_transpose(op)
        value = self.vector(op.value)
        self.builder.location = op.location
        stored = self.builder.insert(StoreOp(value, self.uniform(op.buffer), self._indices(op.indices), self.mask))
        stored.attributes.update(op.attributes)

    def _indices(self, indices: Sequence[SSAValue]) -> list[SSAValue]:
        """The indices of an access of vectors: an index that differs between the lanes is a vector, as is the last if
        none does."""
        values = [self._index(index) for index in indices]
        if not any(isinstance(value.type, VectorType) for value in values):
            values[-1] = self.vector(indices[-1])
        return values

    def _index(self, index: SSAValue) -> SSAValue:
        known = self._get(index)
        if isinstance(known, SSAValue):
            return known
        if isinstance(known, _Ramp) and not self._keeps_range(known, index.type):
            return self._wrapping_index(known, index.type)
        return self._as_vector(known, index.type)

    def _store_partial(self, value: SSAValue, partial: PartialResults) -> None:
        """Emits the store of new partial results; inactive lanes keep theirs."""
        values = [(partial.buffer, self.vector(value))]
        if partial.reached is not None:
            values.append((partial.reached, self.builder.const(True, parse_dtype("bool").with_lanes(self.count))))
        for buffer, new in values:
            if self.mask is not None:
                new = self.builder.select(self.mask, new, self._load_all(buffer))
            self.builder.store(new, buffer, [self._all()])

    def _load_all(self, buffer: SSAValue) -> SSAValue:
        return self.builder.load(buffer, [self._all()])

    def _all(self) -> SSAValue:
        """The indices of an element for each lane."""
        return self.builder.ramp(self.builder.const(0, "int32"), 1, self.count)

    def _refuse_transpose(self, op: LoadOp | StoreOp) -> None:
        """Refuses columns of memory in registers. LLVM transposes these registers from scalar code, three times as fast
        as it assembles each column."""
        if is_local(op.buffer) and not all(self._is_uniform(index) for index in op.indices[:-1]):
            raise NotVectorizable("it concerns a column of a buffer in registers")

    def _is_uniform(self, value: SSAValue) -> bool:
        """Whether `value` is known to be the same in all lanes."""
        known = self._get(value)
        return isinstance(known, SSAValue) or (isinstance(known, _Ramp) and known.stride == 0)

    def _wrapping_index(self, ramp: _Ramp, type: Attribute) -> SSAValue:
        """A ramp as a sum: with a ramp itself as the index, the addresses would be computed without wrapping."""
        base, stride = (self._scalar_of(n, type) for n in (ramp.base, ramp.stride))
        b = self.builder
        steps = b.mul(b.ramp(b.const(0, dtype_of(type)), b.const(1, dtype_of(type)), self.count), stride)
        return b.add(b.broadcast(base, self.count), steps)

    def _keeps_range(self, ramp: _Ramp, type: Attribute) -> bool:
        """Whether no index of an active lane has wrapped.

        Signed indices within a buffer differ by less than half of the range, so that neighbours differ by the stride
        itself; and if the first lanes are inactive, a sum that is too large wraps to a negative number.
        """
        dtype = dtype_of(type)
        if isinstance(ramp.base, int) and isinstance(ramp.stride, int):
            return int_fits(ramp.base + ramp.stride * (self.count - 1), dtype)
        if dtype.kind != "int":
            return False
        if self.mask is None:
            return True
        return isinstance(ramp.stride, int) and 0 <= ramp.stride * (self.count - 1) < 2 ** (dtype.bits - 1)


def free_values(op: Operation) -> Iterator[SSAValue]:
    """The values used by `op` and its nested ops and defined outside."""
    for inner in op.walk():
        for value in inner.operands:
            if not op.is_ancestor(value.owner):
                yield value


def _fold_constant(value: Mixed) -> Mixed:
    if isinstance(value, int):
        return value
    known = None if isinstance(value.type, VectorType) else constant_value(value)
    return known if isinstance(known, int) else value


def _is_number(type: Attribute) -> bool:
    """Whether `type` is a scalar type."""
    if isinstance(type, VectorType | HandleType):
        return False
    try:
        dtype_of(type)
    except ValueError:
        return False
    return True


def _check_lanes(op: Operation) -> None:
    """Verifies an operation of another package on vectors. NotVectorizable if it takes none."""
    if scalar_operation(op) is None:
        return
    try:
        op.verify(verify_nested_ops=False)
    except VerifyException as error:
        raise NotVectorizable(f"{op.name} takes no vectors: {error}") from error


def _is_harmless(op: Operation) -> bool:
    """Whether a pure op has a defined result for all values of its operands."""
    if isinstance(op, DIVISIONS):
        return constant_value(op.operands[1]) not in (None, 0)
    if isinstance(op, SHIFTS):
        amount = constant_value(op.operands[1])
        return amount is not None and 0 <= amount < dtype_of(op.operands[1].type).bits
    return not isinstance(op, CallExternOp) and not (isinstance(op, IntrinsicOp) and "shift" in op.intrinsic.data)

"""The regions that a block reads and writes, inferred from its body: the boxes that `T.reads` and `T.writes` name.

The region of a buffer is the smallest box that covers every access to it, over all values of the loops inside the
block. It is expressed in the axes of the block and in values defined outside of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from xdsl.dialects import arith
from xdsl.dialects.builtin import VectorType
from xdsl.ir import Block, Operation, SSAValue
from xdsl.rewriter import InsertPoint

from ...core.dtypes import DType, dtype_of
from ...core.errors import PassError
from ...dialects.tir import (
    AccessOp,
    AccessPtrOp,
    AddressOfOp,
    AllocateConstOp,
    AllocateOp,
    AllocBufferOp,
    BlockOp,
    BufferDataOp,
    BufferOp,
    CallPackedOp,
    DeclBufferOp,
    FloormodOp,
    ForOp,
    IfThenElseOp,
    InitOp,
    LaunchThreadOp,
    LetOp,
    LoadOp,
    MatchRegionOp,
    Mixed,
    Operand,
    RampOp,
    StoreOp,
    SymbolOp,
    TirBuilder,
)
from ...dialects.tir.builder import constant_value

_MAX_TERMS = 64  # an index with more terms counts as unknown


def infer_accesses(block: BlockOp, kinds: Sequence[str] = ("reads", "writes")) -> None:
    """Inserts the `tir.access` ops of `kinds` before the body of `block`, which has none of these kinds.

    A buffer that a block with an init writes is not among its reads; a buffer allocated inside is in neither list.
    PassError if the block uses a pointer to a buffer, because its accesses are unknown.
    """
    reads, writes = _Collector(block).collect()
    if block.init is not None:
        reads = {buffer: region for buffer, region in reads.items() if buffer not in writes}
    first = block.body.block.first_op
    point = InsertPoint.at_end(block.body.block) if first is None else InsertPoint.before(first)
    builder = TirBuilder(point, block.location)
    for kind, regions in (("reads", reads), ("writes", writes)):
        if kind in kinds:
            for buffer, region in regions.items():
                dims = [side.write(builder, extent) for side, extent in zip(region, buffer_shape(buffer), strict=True)]
                builder.insert(AccessOp(kind, buffer, dims))


def buffer_shape(buffer: SSAValue) -> list[Mixed]:
    """The shape of a buffer."""
    if isinstance(buffer.owner, BufferOp):
        return buffer.owner.mixed_shape
    return list(buffer.type.get_shape())  # pyright: ignore


# ---- numbers: linear sums over values


@dataclass(frozen=True)
class Sum:
    """`constant + sum(factor * value)`, with the terms in the order of their first occurrence."""

    constant: int = 0
    terms: tuple[tuple[object, int], ...] = ()

    def plus(self, other: Sum, factor: int = 1) -> Sum:
        """`self + factor * other`."""
        terms = dict(self.terms)
        for value, coefficient in other.terms:
            terms[value] = terms.get(value, 0) + factor * coefficient
        return Sum(self.constant + factor * other.constant, tuple((v, c) for v, c in terms.items() if c != 0))

    def times(self, factor: int) -> Sum:
        """`factor * self`."""
        return Sum().plus(self, factor)

    def write(self, builder: TirBuilder, dtype: DType) -> Mixed:
        """The sum as a number, or as a value emitted by `builder`."""
        if not self.terms:
            return self.constant
        result: Operand = self.constant if self.terms[0][1] < 0 else 0
        constant = self.constant - result
        for atom, factor in self.terms:
            value = atom.write(builder, dtype) if isinstance(atom, Atom) else builder.cast(_value(atom), dtype)
            term = value if abs(factor) == 1 else builder.mul(value, abs(factor))
            if result == 0 and factor > 0:
                result = term
            else:
                result = builder.add(result, term) if factor > 0 else builder.sub(result, term)
        if constant == 0:
            return builder.value(result)
        return builder.add(result, constant) if constant > 0 else builder.sub(result, -constant)


def _value(atom: object) -> SSAValue:
    assert isinstance(atom, SSAValue)
    return atom


@dataclass(frozen=True)
class Atom:
    """A nonlinear term of a sum: `floordiv`, `floormod`, `mul`, `min`, `max`, or `op`, an operation on values that is
    copied unchanged; `key` identifies that operation."""

    name: str
    operands: tuple[Sum, ...]
    op: Operation | None = field(default=None, compare=False)
    key: object = None

    def write(self, builder: TirBuilder, dtype: DType) -> SSAValue:
        """The term as a value emitted by `builder`."""
        if self.op is not None:
            return builder.cast(_copy(builder, self.op), dtype)
        values = [operand.write(builder, dtype) for operand in self.operands]
        first = builder.const(values[0], dtype) if isinstance(values[0], int) else values[0]
        result = first
        for value in values[1:]:
            result = builder.binary(self.name, result, value)
        return result


def _key_of(value: Operation | SSAValue) -> object:
    """A key equal for expressions that compute the same value."""
    op = value.owner if isinstance(value, SSAValue) else value
    if not isinstance(op, Operation) or op.regions or isinstance(op, LetOp | BufferOp | SymbolOp):
        return value
    results = tuple(result.type for result in op.results)
    return op.name, results, tuple(sorted(op.properties.items())), tuple(_key_of(operand) for operand in op.operands)


def _copy(builder: TirBuilder, op: Operation) -> SSAValue:
    """Copies an expression to the insertion point of `builder`."""
    mapping: dict[SSAValue, SSAValue] = {}
    for operand in op.operands:
        owner = operand.owner
        if isinstance(owner, Operation) and not isinstance(owner, LetOp | BufferOp | SymbolOp):
            mapping[operand] = mapping[operand] if operand in mapping else _copy(builder, owner)
        else:
            mapping[operand] = operand
    return builder.insert(op.clone(mapping)).results[0]


@dataclass(frozen=True)
class Side:
    """One dimension of a box: the closed interval from `low` to `high`; None if unknown."""

    low: Sum | None
    high: Sum | None

    def write(self, builder: TirBuilder, extent: Mixed) -> tuple[Mixed, Mixed]:
        """The (min, extent) of the interval, the whole dimension if unknown."""
        if self.low is None or self.high is None:
            return 0, extent
        dtype = _dtype_of_sums((self.low, self.high))
        length = self.high.plus(self.low, -1).plus(Sum(1))
        return self.low.write(builder, dtype), length.write(builder, dtype)


def _dtype_of_sums(sums: Iterable[Sum]) -> DType:
    """int64 if a value in `sums` has 64 bits, else int32."""
    wide = any(dtype_of(value.type).bits == 64 for total in sums for value in _values(total))
    return DType("int", 64 if wide else 32)


def _values(total: Sum) -> list[SSAValue]:
    values: list[SSAValue] = []
    for atom, _ in total.terms:
        if isinstance(atom, Atom):
            values += list(atom.op.results) if atom.op is not None else [v for s in atom.operands for v in _values(s)]
        else:
            values.append(_value(atom))
    return values


def _constant_of(total: Sum) -> int | None:
    return None if total.terms else total.constant


# ---- collecting


class _Collector:
    """Collects the accesses of a block; `ranges` holds the closed intervals of the loops around the current op."""

    def __init__(self, block: BlockOp):
        self.block = block
        self.seen: set[Operation] = set()
        self.ranges: dict[SSAValue, Side] = {}
        self.replaced: dict[SSAValue, Sum] = {}
        self.reads: dict[SSAValue, list[Side]] = {}
        self.writes: dict[SSAValue, list[Side]] = {}
        self.axes = self._domains(block)
        self.written = {op.buffer for op in block.walk() if isinstance(op, StoreOp)}

    def collect(self) -> tuple[dict[SSAValue, list[Side]], dict[SSAValue, list[Side]]]:
        """The regions that the block reads and writes, by buffer."""
        self._block(self.block.body.block)
        return self.reads, self.writes

    def _domains(self, block: BlockOp) -> dict[SSAValue, Side]:
        """The ranges of the axes: they may simplify a bound, but are not relaxed."""
        sides: dict[SSAValue, Side] = {}
        for axis, variable in zip(block.axes, block.variables, strict=True):
            if isinstance(axis.low, int) and isinstance(axis.extent, int):
                sides[variable] = Side(Sum(axis.low), Sum(axis.low + axis.extent - 1))
        return sides

    def _block(self, block: Block) -> None:
        """Visits the statements in order, each with its expressions from the outside in, as in the text."""
        for op in block.ops:
            if not op.results or op.regions or isinstance(op, LetOp):
                self._op(op)
                for operand in op.operands:
                    self._expression(operand)
        for op in block.ops:
            for result in op.results:
                self._expression(result)

    def _expression(self, value: SSAValue) -> None:
        op = value.owner
        if not isinstance(op, Operation) or op in self.seen or not self._is_inside(op):
            return
        self.seen.add(op)
        self._op(op)
        for operand in op.operands:
            self._expression(operand)

    def _op(self, op: Operation) -> None:
        match op:
            case LoadOp():
                self._touch(self.reads, op.buffer, [self._side(i) for i in op.indices])
            case StoreOp():
                self._touch(self.writes, op.buffer, [self._side(i) for i in op.indices])
            case IfThenElseOp():
                self._expression(op.condition)
                for region in op.regions:
                    self._block(region.block)
            case ForOp():
                self._loop(op.variable, *op.mixed_bounds[:2], op.body.block)
            case LaunchThreadOp():
                self._loop(op.variable, 0, op.mixed_extent, op.body.block)
            case BlockOp():
                self._nested_block(op)
            case InitOp() if op.parent_op() is self.block:
                self._init(op)
            case BufferDataOp() | AddressOfOp():
                self._reject_pointer(op.buffer)
            case AccessPtrOp():
                pass  # a BufferDataOp or AddressOfOp produces its pointer
            case CallPackedOp():
                for argument in op.args:
                    if not isinstance(argument.owner, Operation) or isinstance(argument.owner, BufferOp):
                        self._reject_pointer_to_buffer(argument)
            case _:
                for region in op.regions:
                    for block in region.blocks:
                        self._block(block)

    def _reject_pointer_to_buffer(self, value: SSAValue) -> None:
        from xdsl.dialects.builtin import MemRefType

        if isinstance(value.type, MemRefType):
            self._reject_pointer(value)

    def _reject_pointer(self, buffer: SSAValue) -> None:
        source = self._source(buffer)
        if source is not None:
            name = source.owner.buffer_name.data if isinstance(source.owner, BufferOp) else source.name_hint
            raise PassError(f"the block uses a pointer to buffer {name!r}, so what it reads and writes is not known")

    def _init(self, op: InitOp) -> None:
        """Visits an init: its writes are writes of the block."""
        self._block(op.body.block)

    def _loop(self, variable: SSAValue, low: Mixed, extent: Mixed, body: Block) -> None:
        start, length = self._sum(low), self._sum(extent)
        first, last = self._relax(start), self._relax(start.plus(length).plus(Sum(-1)))
        self.ranges[variable] = Side(first.low, last.high)
        self._block(body)
        del self.ranges[variable]

    def _nested_block(self, op: BlockOp) -> None:
        """Visits a nested block: records its declared accesses, with its axes replaced by their bindings."""
        for axis, variable in zip(op.axes, op.variables, strict=True):
            self.replaced[variable] = self._sum(axis.binding)
        for access in op.accesses:
            target = self.writes if access.is_write else self.reads
            sides = [self._box_side(low, extent) for low, extent in access.region]
            self._touch(target, access.buffer, sides)
        for variable in op.variables:
            del self.replaced[variable]

    def _box_side(self, low: Mixed, extent: Mixed) -> Side:
        first = self._relax(self._sum(low))
        last = self._relax(self._sum(low).plus(self._sum(extent)).plus(Sum(-1)))
        return Side(first.low, last.high)

    def _source(self, buffer: SSAValue) -> SSAValue | None:
        """The buffer outside the block at the root of a view; None if the memory is allocated inside the block."""
        owner = buffer.owner
        if not isinstance(owner, Operation) or not self._is_inside(owner):
            return buffer
        match owner:
            case AllocBufferOp() | AllocateOp() | AllocateConstOp():
                return None
            case MatchRegionOp():
                return self._source(owner.source)
            case DeclBufferOp():
                return self._source(owner.data)
            case BufferDataOp() | AddressOfOp():
                return self._source(owner.buffer)
            case LetOp():
                return self._source(owner.value)
            case _:
                return buffer

    def _is_inside(self, op: Operation) -> bool:
        return op is not self.block and self.block.is_ancestor(op)

    def _touch(self, table: dict[SSAValue, list[Side]], buffer: SSAValue, sides: list[Side]) -> None:
        while isinstance(owner := buffer.owner, MatchRegionOp) and self._is_inside(owner):
            sides = self._translate_region(owner, sides)
            buffer = owner.source
        if isinstance(buffer.owner, Operation) and self._is_inside(buffer.owner):
            if isinstance(buffer.owner, DeclBufferOp) and self._source(buffer) is not None:
                self._reject_pointer(buffer)
            return
        if buffer in table:
            sides = [self._union(a, b) for a, b in zip(table[buffer], sides, strict=True)]
        table[buffer] = sides

    def _translate_region(self, op: MatchRegionOp, sides: list[Side]) -> list[Side]:
        """Translates a box of a matched region into a box of its source buffer."""
        missing = len(op.region) - len(sides)
        inner = [Side(Sum(), Sum())] * missing + sides
        return [self._shift(side, low) for side, (low, _) in zip(inner, op.region, strict=True)]

    def _shift(self, side: Side, low: Mixed) -> Side:
        if side.low is None or side.high is None:
            return Side(None, None)
        start = self._relax(self._sum(low))
        if start.low is None or start.high is None:
            return Side(None, None)
        return Side(start.low.plus(side.low), start.high.plus(side.high))

    def _side(self, index: SSAValue) -> Side:
        if isinstance(index.type, VectorType):
            if not isinstance(ramp := index.owner, RampOp):
                return Side(None, None)
            last = self._sum(ramp.base).plus(self._sum(ramp.stride).times(ramp.lanes - 1))
            return self._hull(self._relax(self._sum(ramp.base)), self._relax(last))
        return self._relax(self._sum(index))

    # ---- index expressions as sums

    def _sum(self, value: Mixed) -> Sum:
        if isinstance(value, int):
            return Sum(value)
        if value in self.replaced:
            return self.replaced[value]
        known = constant_value(value)
        if isinstance(known, int):
            return Sum(known)
        op = value.owner
        if not isinstance(op, Operation) or not self._is_inside(op) or (isinstance(op, LetOp) and False):
            return Sum(0, ((value, 1),))
        return self._sum_of_op(op, value)

    def _sum_of_op(self, op: Operation, value: SSAValue) -> Sum:
        match op:
            case arith.AddiOp():
                return self._limit_terms(self._sum(op.lhs).plus(self._sum(op.rhs)), value)
            case arith.SubiOp():
                return self._limit_terms(self._sum(op.lhs).plus(self._sum(op.rhs), -1), value)
            case arith.MuliOp():
                return self._limit_terms(self._product(self._sum(op.lhs), self._sum(op.rhs)), value)
            case arith.FloorDivSIOp():
                return self._atom("floordiv", op)
            case FloormodOp():
                return self._atom("floormod", op)
            case arith.MinSIOp():
                return self._atom("min", op)
            case arith.MaxSIOp():
                return self._atom("max", op)
            case LetOp():
                return self._sum(op.value)
            case _:
                return Sum(0, ((Atom("op", (), op, _key_of(op)), 1),))

    def _limit_terms(self, total: Sum, value: SSAValue) -> Sum:
        return total if len(total.terms) <= _MAX_TERMS else Sum(0, ((value, 1),))

    def _product(self, lhs: Sum, rhs: Sum) -> Sum:
        for a, b in ((lhs, rhs), (rhs, lhs)):
            if (factor := _constant_of(b)) is not None:
                return a.times(factor)
        return Sum(0, ((Atom("mul", (lhs, rhs)), 1),))

    def _atom(self, name: str, op: Operation) -> Sum:
        lhs, rhs = (self._sum(operand) for operand in op.operands)
        a, b = _constant_of(lhs), _constant_of(rhs)
        if a is not None and b is not None and (b != 0 or name in ("min", "max")):
            return Sum(
                {
                    "floordiv": lambda: a // b,
                    "floormod": lambda: a % b,
                    "min": lambda: min(a, b),
                    "max": lambda: max(a, b),
                }[name]()
            )
        return Sum(0, ((Atom(name, (lhs, rhs)), 1),))

    # ---- ranges

    def _relax(self, total: Sum) -> Side:
        """The minimum and maximum of a sum over the loops inside the block."""
        low: Sum | None = Sum(total.constant)
        high: Sum | None = Sum(total.constant)
        for atom, factor in total.terms:
            side = self._relax_atom(atom)
            first, last = (side.low, side.high) if factor > 0 else (side.high, side.low)
            low = None if low is None or first is None else low.plus(first, factor)
            high = None if high is None or last is None else high.plus(last, factor)
        return Side(low, high)

    def _relax_atom(self, atom: object) -> Side:
        itself = Sum(0, ((atom, 1),))
        if not isinstance(atom, Atom):
            return self.ranges.get(_value(atom), Side(itself, itself))
        if atom.op is not None:
            return Side(itself, itself) if self._is_steady(atom.op) else Side(None, None)
        sides = [self._relax(operand) for operand in atom.operands]
        if all(side.low == operand == side.high for side, operand in zip(sides, atom.operands, strict=True)):
            return Side(itself, itself)
        return self._monotone(atom.name, sides)

    def _is_steady(self, op: Operation) -> bool:
        """Whether an expression can be computed before the body: it uses no loop variable of the block and loads no
        element that the block changes."""
        if op.regions or (isinstance(op, LoadOp) and (op.buffer in self.written or not self._is_outside(op.buffer))):
            return False
        if not isinstance(op, LoadOp) and op.dialect_name() not in ("arith", "math") and not op.name.startswith("tir."):
            return False
        for operand in op.operands:
            if operand in self.ranges or operand in self.replaced:
                return False
            owner = operand.owner
            if isinstance(owner, Operation) and self._is_inside(owner) and not isinstance(owner, BufferOp):
                if isinstance(owner, LetOp) or not self._is_steady(owner):
                    return False
        return True

    def _is_outside(self, value: SSAValue) -> bool:
        return not isinstance(value.owner, Operation) or not self._is_inside(value.owner)

    def _monotone(self, name: str, sides: list[Side]) -> Side:
        lhs, rhs = sides
        if lhs.low is None or lhs.high is None or rhs.low is None or rhs.high is None:
            return Side(None, None)
        divisor = _constant_of(rhs.low) if rhs.low == rhs.high else None
        if name in ("min", "max"):
            return Side(self._pick(name, lhs.low, rhs.low), self._pick(name, lhs.high, rhs.high))
        if divisor is None or divisor <= 0:
            return Side(None, None)
        if name == "floordiv":
            return Side(_divide(lhs.low, divisor), _divide(lhs.high, divisor))
        if name == "floormod":
            return self._remainder(lhs.low, lhs.high, divisor)
        return Side(None, None)

    def _remainder(self, low: Sum, high: Sum, divisor: int) -> Side:
        a, b = _constant_of(low), _constant_of(high)
        if a is not None and b is not None and a // divisor == b // divisor:
            return Side(Sum(a % divisor), Sum(b % divisor))
        return Side(Sum(0), Sum(divisor - 1))

    def _union(self, a: Side, b: Side) -> Side:
        return self._hull(a, b)

    def _hull(self, a: Side, b: Side) -> Side:
        if a.low is None or a.high is None or b.low is None or b.high is None:
            return Side(None, None)
        return Side(self._pick("min", a.low, b.low), self._pick("max", a.high, b.high))

    def _pick(self, name: str, a: Sum, b: Sum) -> Sum:
        """The minimum or maximum (`name`) of two sums: one of the sums if known, else a new term."""
        least, greatest = self._difference(a, b)
        if least is not None and least >= 0:
            return b if name == "min" else a
        if greatest is not None and greatest <= 0:
            return a if name == "min" else b
        for one, other in ((a, b), (b, a)):
            if _is_among(other, name, one):
                return one
        return Sum(0, ((Atom(name, (a, b)), 1),))

    def _difference(self, a: Sum, b: Sum) -> tuple[int | None, int | None]:
        """The minimum and maximum of `a - b` over the domains of the axes."""
        difference = a.plus(b, -1)
        least: int | None = difference.constant
        greatest: int | None = difference.constant
        for atom, factor in difference.terms:
            side = self.axes.get(_value(atom)) if isinstance(atom, SSAValue) else None
            first, last = (
                (None, None) if side is None else (_constant_of(_require(side.low)), _constant_of(_require(side.high)))
            )
            if factor < 0:
                first, last = last, first
            least = None if least is None or first is None else least + factor * first
            greatest = None if greatest is None or last is None else greatest + factor * last
        return least, greatest


def _is_among(total: Sum, name: str, extremum: Sum) -> bool:
    """Whether `extremum` is the `name` (min, max) of `total` and another sum."""
    match extremum:
        case Sum(constant=0, terms=((Atom(name=operator, operands=operands), 1),)):
            return operator == name and total in operands
        case _:
            return False


def _require(total: Sum | None) -> Sum:
    assert total is not None
    return total


def _divide(total: Sum, divisor: int) -> Sum:
    if all(factor % divisor == 0 for _, factor in total.terms):
        return Sum(total.constant // divisor, tuple((atom, factor // divisor) for atom, factor in total.terms))
    return Sum(0, ((Atom("floordiv", (total, Sum(divisor))), 1),))

"""The regions that a block reads and writes, inferred from its body: the boxes that `T.reads` and `T.writes` name.

The region of a buffer is the smallest box that covers every access to it, over all values of the loops inside the
block. It is expressed in the axes of the block and in values defined outside of it.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn, TypeAlias

from xdsl.dialects import arith
from xdsl.dialects.builtin import MemRefType, VectorType
from xdsl.ir import Block, BlockArgument, Operation, SSAValue
from xdsl.rewriter import InsertPoint

from ...core.dtypes import DType, dtype_of
from ...core.errors import PassError
from ...core.intervals import Interval, signed_range
from ...core.walking import find_ops
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
from ...dialects.tir.builder import DIVISIONS, constant_value
from ...dialects.tir.copying import copy_expression
from ..index import Analyzer, Atom, Compound, DivAtom, Lin, MaxAtom, MinAtom, ModAtom, type_range
from ..index.export import OPERATORS
from ..index.terms import Extremum
from .relax import Ends, Relaxer, hull

Box: TypeAlias = list[Ends | None]
"""The minimum and maximum in each dimension of a buffer; None if unknown."""


def infer_accesses(
    block: BlockOp, kinds: Sequence[str] = ("reads", "writes"), declared: Collection[SSAValue] = ()
) -> None:
    """Inserts the `tir.access` ops of `kinds` before the body of `block`, which has none of these kinds.

    A buffer that a block with an init writes is not among its reads; a buffer allocated inside is in neither list.
    declared: buffers whose accesses are declared already; the block accesses them through pointers alone. PassError if
    it uses a pointer to any other buffer, or other accesses to one of these, because its accesses are unknown.
    """
    collector = _Collector(block, declared)
    reads, writes = collector.collect()
    if block.init is not None:
        reads = {buffer: region for buffer, region in reads.items() if buffer not in writes}
    first = block.body.block.first_op
    point = InsertPoint.at_end(block.body.block) if first is None else InsertPoint.before(first)
    builder = TirBuilder(point, block.location)
    writer = _Writer(builder, collector.sums)
    for kind, regions in (("reads", reads), ("writes", writes)):
        if kind in kinds:
            for buffer, region in regions.items():
                dims = [writer.side(ends, extent) for ends, extent in zip(region, buffer_shape(buffer), strict=True)]
                builder.insert(AccessOp(kind, buffer, dims))


def buffer_shape(buffer: SSAValue) -> list[Mixed]:
    """The shape of a buffer."""
    if isinstance(buffer.owner, BufferOp):
        return buffer.owner.mixed_shape
    return list(buffer.type.get_shape())  # pyright: ignore


# ---- sums


class _Sums(Analyzer):
    """The index expressions of a block as sums with the spelling of the body.

    A box is text, which TVM's programs name: so sums collect equal terms, and no other rule of the analyzer simplifies
    an index or proves a bound. The only known ranges are the domains of the axes of the block. Sums do not wrap.

    A value from outside of the block is an atom, an axis of a nested block is its binding, and the first of all
    expressions that compute the same value is the atom for all of them.
    """

    def __init__(self, block: BlockOp):
        super().__init__()
        self.block = block
        self._first: dict[object, SSAValue] = {}

    def is_inside(self, value: SSAValue | Operation) -> bool:
        """Whether an op, or the op that defines a value, is inside of the block."""
        owner = value.owner if isinstance(value, SSAValue) else value
        op = owner.parent_op() if isinstance(owner, Block) else owner
        return op is not None and op is not self.block and self.block.is_ancestor(op)

    def value_range(self, value: SSAValue) -> tuple[Interval, list[Lin]]:
        """The range of a value: the domain of an axis of the block, else the range of the type."""
        if isinstance(value, BlockArgument) and value.owner.parent_op() is self.block:
            axis = self.block.axes[value.index]
            if isinstance(axis.low, int) and isinstance(axis.extent, int):
                return (axis.low, axis.low + axis.extent - 1), []
        return type_range(value.type), []

    def _import(self, value: SSAValue) -> Lin:
        number = constant_value(value)
        if isinstance(number, int):
            return Lin(number)
        if not self.is_inside(value):
            return Lin.of(value)
        lin = self._import_inside(value)
        return self._opaque(value) if lin is None or not self.within_limits(lin) else lin

    def _import_inside(self, value: SSAValue) -> Lin | None:
        if isinstance(value, BlockArgument):
            parent = value.owner.parent_op()
            return self.lin(parent.axes[value.index].binding) if isinstance(parent, BlockOp) else None
        op: Any = value.owner
        if isinstance(op, LetOp):
            return self.lin(op.value)
        rule = _SPELLING.get(type(op))
        return None if rule is None else rule(self.lin(op.operands[0]), self.lin(op.operands[1]))

    def may_divide_by_0(self, lin: Lin) -> bool:
        """Whether a sum contains a division by a number that may be 0, other than in a value from outside."""
        return any(map(self._atom_may_divide_by_0, lin.terms))

    def _atom_may_divide_by_0(self, atom: Atom) -> bool:
        if isinstance(atom, SSAValue):
            owner = atom.owner
            if not isinstance(owner, Operation) or not self.is_inside(owner):
                return False
            is_division = isinstance(owner, DIVISIONS) and self._may_be_0(self.lin(owner.operands[1]))
            return is_division or any(map(self._atom_may_divide_by_0, owner.operands))
        if isinstance(atom, DivAtom | ModAtom) and self._may_be_0(atom.divisor):
            return True
        return any(self.may_divide_by_0(arg) for arg in atom.args if isinstance(arg, Lin))

    def _may_be_0(self, lin: Lin) -> bool:
        low, high = self.bounds(lin)
        return low <= 0 <= high

    def _opaque(self, value: SSAValue) -> Lin:
        return Lin.of(self._first.setdefault(_key_of(value), value))

    def atom_bounds(self, atom: Atom) -> Interval:
        """The range of an atom; unknown for a compound atom."""
        return signed_range(64) if isinstance(atom, Compound) else super().atom_bounds(atom)

    def _is_refinable(self, lin: Lin) -> bool:
        del lin  # no sum is refined
        return False

    def _extremum(self, kind: type[Extremum], a: Lin, b: Lin) -> Lin:
        low, high = self.bounds(a - b)
        if low >= 0 or high <= 0:
            return a if (low >= 0) == (kind is MaxAtom) else b
        for one, other in ((a, b), (b, a)):
            if isinstance(one.atom, kind) and other in one.atom.args:
                return one
        return Lin.of(kind(a, b))

    def floordiv(self, a: Lin, b: Lin | int) -> Lin:
        """`floor(a / b)`: term by term if b divides every coefficient."""
        divisor = Lin(b) if isinstance(b, int) else b
        c = divisor.constant
        if a.constant == 0:
            return a
        if not c or any(k % c for k in a.terms.values()):
            return Lin.of(DivAtom(a, divisor))
        return Lin(a.const // c, {atom: k // c for atom, k in a.terms.items()})


class _Times(Compound):
    """A product of two sums that is not multiplied out."""

    __slots__ = ()
    symbol = "*"


def _times(a: Lin, b: Lin) -> Lin:
    return Lin.of(_Times(a, b)) if a.terms and b.terms else a.times(b)


def _spell(kind: type[Compound], compute: Callable[[int, int], int]) -> Callable[[Lin, Lin], Lin]:
    """The rule for an atom of two sums, which is a number if both of them are."""

    def rule(a: Lin, b: Lin) -> Lin:
        if a.terms or b.terms or (kind in (DivAtom, ModAtom) and not b.const):
            return Lin.of(kind(a, b))
        return Lin(compute(a.const, b.const))

    return rule


_SPELLING: dict[type[Any], Callable[[Lin, Lin], Lin]] = {
    arith.AddiOp: Lin.__add__,
    arith.SubiOp: Lin.__sub__,
    arith.MuliOp: _times,
    arith.FloorDivSIOp: _spell(DivAtom, operator.floordiv),
    FloormodOp: _spell(ModAtom, operator.mod),
    arith.MinSIOp: _spell(MinAtom, min),
    arith.MaxSIOp: _spell(MaxAtom, max),
}


def _key_of(value: Operation | SSAValue) -> object:
    """A key equal for expressions that compute the same value."""
    op = value.owner if isinstance(value, SSAValue) else value
    if not isinstance(op, Operation) or op.regions or isinstance(op, LetOp | BufferOp | SymbolOp):
        return value
    results = tuple(result.type for result in op.results)
    return op.name, results, tuple(sorted(op.properties.items())), tuple(_key_of(operand) for operand in op.operands)


# ---- boxes

_OPERATORS = {**OPERATORS, _Times: "mul"}


@dataclass(frozen=True)
class _Writer:
    """Emits boxes before the body of a block, with copies of the expressions of the body in them."""

    builder: TirBuilder
    sums: _Sums

    def side(self, ends: Ends | None, extent: Mixed) -> tuple[Mixed, Mixed]:
        """The (min, extent) of an interval, the whole dimension if unknown."""
        if ends is None:
            return 0, extent
        low, high = ends
        wide = any(dtype_of(value.type).bits == 64 for lin in ends for value in lin.leaves())
        dtype = DType("int", 64 if wide else 32)
        return self.sum(low, dtype), self.sum(high - low + 1, dtype)

    def sum(self, lin: Lin, dtype: DType) -> Mixed:
        """Emits a sum; a number needs no op. The constant comes first if the first term is negative, else last."""
        if not lin.terms:
            return lin.const
        first = next(iter(lin.terms.values()))
        result: Operand = lin.const if first < 0 else 0
        constant = lin.const - result
        for atom, k in lin.terms.items():
            value = self.atom(atom, dtype)
            term = value if abs(k) == 1 else self.builder.mul(value, abs(k))
            if result == 0 and k > 0:
                result = term
            else:
                result = self.builder.add(result, term) if k > 0 else self.builder.sub(result, term)
        if constant == 0:
            return self.builder.value(result)
        return self.builder.add(result, constant) if constant > 0 else self.builder.sub(result, -constant)

    def atom(self, atom: Atom, dtype: DType) -> SSAValue:
        """Emits an atom."""
        if isinstance(atom, SSAValue):
            inside = self.sums.is_inside(atom)
            return self.builder.cast(copy_expression(atom, self.builder, {}) if inside else atom, dtype)
        first, *rest = [self.sum(arg, dtype) for arg in atom.args if isinstance(arg, Lin)]
        result = self.builder.const(first, dtype) if isinstance(first, int) else first
        for value in rest:
            result = self.builder.binary(_OPERATORS[type(atom)], result, value)
        return result


# ---- collecting


class _Collector:
    """Collects the accesses of a block; the relaxer holds the ranges of the loops around the current op."""

    def __init__(self, block: BlockOp, declared: Collection[SSAValue] = ()):
        self.block = block
        self.declared = declared
        self.seen: set[Operation] = set()
        self.sums = _Sums(block)
        self.relaxer = Relaxer(self.sums, self._is_fixed)
        self.reads: dict[SSAValue, Box] = {}
        self.writes: dict[SSAValue, Box] = {}
        self.written = {op.buffer for op in find_ops(block, StoreOp)}
        self.is_nested = False
        """Whether the current op is in a loop, a branch or the init of the block."""

    def collect(self) -> tuple[dict[SSAValue, Box], dict[SSAValue, Box]]:
        """The regions that the block reads and writes, by buffer."""
        self._block(self.block.body.block)
        return self.reads, self.writes

    def _block(self, block: Block) -> None:
        """Visits the statements in order, each with its expressions from the outside in, as in the text."""
        outer, self.is_nested = self.is_nested, block is not self.block.body.block
        ops = list(block.ops)
        for op in ops:
            if not op.results or op.regions or isinstance(op, LetOp):
                self._op(op)
                for operand in op.operands:
                    self._expression(operand)
        for op in ops:
            if op.results and op not in self.seen:
                self._expression(op.results[0])
        self.is_nested = outer

    def _expression(self, value: SSAValue) -> None:
        op = value.owner
        if not isinstance(op, Operation) or op in self.seen or not self.sums.is_inside(op):
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
        if isinstance(value.type, MemRefType):
            self._reject_pointer(value)

    def _reject_pointer(self, buffer: SSAValue) -> None:
        source = self._source(buffer)
        if source is not None and source not in self.declared:
            self._reject(source)

    def _reject(self, buffer: SSAValue) -> NoReturn:
        name = buffer.owner.buffer_name.data if isinstance(buffer.owner, BufferOp) else buffer.name_hint
        raise PassError(f"the block uses a pointer to buffer {name!r}, so what it reads and writes is not known")

    def _loop(self, variable: SSAValue, low: Mixed, extent: Mixed, body: Block) -> None:
        self.relaxer.ranges[variable] = self._range(low, extent)
        self._block(body)
        del self.relaxer.ranges[variable]

    def _nested_block(self, op: BlockOp) -> None:
        """Visits a nested block: records its declared accesses."""
        for access in op.accesses:
            target = self.writes if access.is_write else self.reads
            self._touch(target, access.buffer, [self._range(low, extent) for low, extent in access.region])

    def _range(self, low: Mixed, extent: Mixed) -> Ends | None:
        """The range of `[low +: extent]` over the loops inside the block; None if unknown."""
        start = self.sums.lin(low)
        first, last = self._relax(start), self._relax(start + self.sums.lin(extent) - 1)
        return None if first is None or last is None else (first[0], last[1])

    def _source(self, buffer: SSAValue) -> SSAValue | None:
        """The buffer outside the block at the root of a view; None if the memory is allocated inside the block."""
        owner = buffer.owner
        if not isinstance(owner, Operation) or not self.sums.is_inside(owner):
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

    def _touch(self, table: dict[SSAValue, Box], buffer: SSAValue, sides: Box) -> None:
        while isinstance(owner := buffer.owner, MatchRegionOp) and self.sums.is_inside(owner):
            sides = self._translate_region(owner, sides)
            buffer = owner.source
        if isinstance(buffer.owner, Operation) and self.sums.is_inside(buffer.owner):
            if isinstance(buffer.owner, DeclBufferOp) and self._source(buffer) is not None:
                self._reject_pointer(buffer)
            return
        if buffer in self.declared:
            self._reject(buffer)
        if self.is_nested:  # the block may run none of the accesses, and is to compute its box all the same
            sides = [None if side is None or any(map(self.sums.may_divide_by_0, side)) else side for side in sides]
        if buffer in table:
            sides = [self._hull(a, b) for a, b in zip(table[buffer], sides, strict=True)]
        table[buffer] = sides

    def _translate_region(self, op: MatchRegionOp, sides: Box) -> Box:
        """Translates a box of a matched region into a box of its source buffer."""
        missing = len(op.region) - len(sides)
        inner = [(Lin(), Lin())] * missing + sides
        return [self._shift(side, low) for side, (low, _) in zip(inner, op.region, strict=True)]

    def _shift(self, side: Ends | None, low: Mixed) -> Ends | None:
        start = self._relax(self.sums.lin(low))
        return None if side is None or start is None else (start[0] + side[0], start[1] + side[1])

    def _side(self, index: SSAValue) -> Ends | None:
        if not isinstance(index.type, VectorType):
            return self._relax(self.sums.lin(index))
        if not isinstance(ramp := index.owner, RampOp):
            return None
        first = self.sums.lin(ramp.base)
        last = first + self.sums.lin(ramp.stride) * (ramp.lanes - 1)
        return self._hull(self._relax(first), self._relax(last))

    # ---- ranges

    def _relax(self, lin: Lin) -> Ends | None:
        """The minimum and maximum of a sum over the loops inside the block; None if unknown."""
        return self.relaxer.ends(lin) if self.relaxer.moving(lin) else (lin, lin)

    def _hull(self, a: Ends | None, b: Ends | None) -> Ends | None:
        return None if a is None or b is None else hull(self.sums, (a, b))

    def _is_fixed(self, value: SSAValue) -> bool:
        """Whether a value can be computed before the body."""
        owner = value.owner
        if not self.sums.is_inside(value) or isinstance(owner, BufferOp):
            return True
        return isinstance(owner, Operation) and not isinstance(owner, LetOp) and self._is_steady(owner)

    def _is_steady(self, op: Operation) -> bool:
        """Whether an op can be copied before the body: it uses no loop variable of the block and loads no element that
        the block changes."""
        if op.regions or (isinstance(op, LoadOp) and (op.buffer in self.written or self.sums.is_inside(op.buffer))):
            return False
        if op.dialect_name() not in ("arith", "math", "tir"):
            return False
        return all(map(self._is_fixed, op.operands))

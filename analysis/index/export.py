"""Export of sums as SSA, and its cost."""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from functools import reduce

from xdsl.ir import Attribute, Block, Operation, SSAValue

from ...core.dtypes import DType, dtype_of, int_range, wrap_int
from ...core.intervals import within
from ...dialects.tir import TirBuilder, constant_value
from .ranges import SumRanges
from .terms import Atom, Compound, DivAtom, Lin, MaxAtom, MinAtom, ModAtom, ProductAtom

OPERATORS: dict[type[Compound], str] = {
    DivAtom: "floordiv",
    ModAtom: "floormod",
    MinAtom: "min",
    MaxAtom: "max",
    ProductAtom: "mul",
}


class WidthError(ValueError):
    """An operand of a quotient, minimum or maximum that fits no integer type."""


_COSTS = {"floordiv": 4, "floormod": 4}
_COST = 1


def export(ranges: SumRanges, lin: Lin, builder: TirBuilder, type: Attribute) -> SSAValue:
    """Emits ops that compute `lin` in an integer type, modulo 2**width, at the builder's insertion point; returns their
    result.

    Terms are emitted in their order, the constant last; an SSA value of another integer type is converted. A compound
    atom is computed in `type` if its operands fit, else in a wider type. WidthError if they fit no type.
    """
    return _Exporter(ranges, builder).sum(lin, dtype_of(type))


class _Exporter:
    def __init__(self, ranges: SumRanges, builder: TirBuilder):
        self.ranges = ranges
        self.builder = builder

    def sum(self, lin: Lin, dtype: DType) -> SSAValue:
        """Emits a sum."""
        terms, const = _order_terms(lin)
        total = None if const == lin.const else self.const(lin.const, dtype)
        for atom, k in terms:
            value = self.atom(atom, dtype)
            if total is None:
                total = value if k == 1 else self.builder.mul(value, self.const(k, dtype))
            else:
                term = value if abs(k) == 1 else self.builder.mul(value, self.const(abs(k), dtype))
                total = self.builder.binary("add" if k > 0 else "sub", total, term)
        if total is None:
            return self.const(const, dtype)
        if const:
            total = self.builder.binary("add" if const > 0 else "sub", total, self.const(abs(const), dtype))
        return total

    def const(self, number: int, dtype: DType) -> SSAValue:
        """Emits a constant, wrapped to the type."""
        return self.builder.const(wrap_int(number, dtype), dtype)

    def atom(self, atom: Atom, dtype: DType) -> SSAValue:
        """Emits an atom."""
        if isinstance(atom, SSAValue):
            return self.builder.cast(atom, dtype)
        operator = OPERATORS[type(atom)]
        if isinstance(atom, ProductAtom):
            operands = [self.atom(f, dtype) for f in atom.factors]
            return reduce(lambda a, b: self.builder.binary(operator, a, b), operands)
        sums = [a for a in atom.args if isinstance(a, Lin)]
        wide = _operand_dtype(self.ranges, sums, dtype)
        operands = [self.sum(s, wide) for s in sums]
        return self.builder.cast(reduce(lambda a, b: self.builder.binary(operator, a, b), operands), dtype)


def _order_terms(lin: Lin) -> tuple[list[tuple[Atom, int]], int]:
    """The terms in the order of emission, and the trailing constant: a term with a positive coefficient comes first, if
    any; the constant is 0 if it takes the first position itself."""
    terms = list(lin.terms.items())
    first = next((i for i, (_, k) in enumerate(terms) if k > 0), None)
    if first is None:
        return terms, 0 if terms else lin.const
    return [terms[first], *terms[:first], *terms[first + 1 :]], lin.const


def _operand_dtype(ranges: SumRanges, sums: list[Lin], dtype: DType) -> DType:
    """The type for the operands of a compound atom: `dtype` if the operands fit, else a wider type."""
    for candidate in (dtype, DType("int", 32), DType("int", 64)):
        if candidate.bits >= dtype.bits and all(within(ranges.bounds(s), int_range(candidate)) for s in sums):
            return candidate
    raise WidthError(f"the operands {', '.join(map(repr, sums))} do not fit 64 bits")


# Costs: additions, comparisons and products count 1, divisions 4, conversions 1, constants nothing


def cost(ranges: SumRanges, lin: Lin, type: Attribute) -> int:
    """The cost of the ops that `export` emits."""
    return _cost(ranges, lin, dtype_of(type))


def _cost(ranges: SumRanges, lin: Lin, dtype: DType) -> int:
    terms, const = _order_terms(lin)
    alone = const == lin.const  # nothing precedes the first term
    total = int(bool(const and terms))
    for i, (atom, k) in enumerate(terms):
        joined = i > 0 or not alone
        scaled = abs(k) != 1 if joined else k != 1
        total += _atom_cost(ranges, atom, dtype) + joined + scaled
    return total


def _atom_cost(ranges: SumRanges, atom: Atom, dtype: DType) -> int:
    if isinstance(atom, SSAValue):
        return int(dtype_of(atom.type) != dtype)
    own = _COSTS.get(OPERATORS[type(atom)], _COST) * (len(atom.args) - 1)
    if isinstance(atom, ProductAtom):
        return own + sum(_atom_cost(ranges, f, dtype) for f in atom.factors)
    sums = [a for a in atom.args if isinstance(a, Lin)]
    wide = _operand_dtype(ranges, sums, dtype)
    return own + (wide != dtype) + sum(_cost(ranges, s, wide) for s in sums)


_OP_COSTS: dict[str, int] = {"arith.floordivsi": 4, "tir.floormod": 4, "arith.divsi": 4, "arith.remsi": 4}


def tree_cost(value: SSAValue, leaves: AbstractSet[SSAValue]) -> int:
    """The cost of the ops that compute `value` from `leaves`, in the same units; an op counts once per use.

    The walk stops at constants, at `leaves` and at block arguments.
    """
    total, todo = 0, [value]
    while todo and total < 2**16:  # shared operands make trees of any size
        top = todo.pop()
        owner = top.owner
        if top in leaves or isinstance(owner, Block) or constant_value(top) is not None:
            continue
        total += _op_cost(owner)
        todo += owner.operands
    return total


def _op_cost(op: Operation) -> int:
    return _OP_COSTS.get(op.name, _COST)

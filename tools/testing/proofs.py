"""Proofs by z3: integer values of programs and sums of the index analysis as terms over unbounded integers.

`Terms` translates by the meaning in docs/semantics.md and in the docstrings of `analysis.index.terms`, and shares no
code with the analysis: each machine operation is the exact one, wrapped to its type. A proof is deterministic: the
effort of the solver is limited by its count of steps, not by time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import reduce
from typing import Any

import z3
from xdsl.dialects import arith, math
from xdsl.dialects.builtin import IndexType, IntegerType
from xdsl.ir import Attribute, Block, BlockArgument, SSAValue

from ...analysis.index import Atom, DivAtom, Lin, MaxAtom, MinAtom, ModAtom, ProductAtom
from ...core import intervals
from ...core.comparisons import COMPARE, SIGNED_PREDICATES, UNSIGNED_PREDICATES, predicate_of
from ...core.dtypes import DType, dtype_of, int_range, wrap_int
from ...core.intervals import Interval
from ...dialects.tir import (
    BINARY_NAMES,
    BlockOp,
    CastOp,
    ForOp,
    IfThenElseOp,
    IntrinsicOp,
    LaunchThreadOp,
    LetOp,
    MatchBufferOp,
    Mixed,
    Operand,
    SymbolOp,
    TirBuilder,
    YieldOp,
    comparison_name,
    constant_value,
    element_limit,
)

_SOLVERS = ((6, 2, 500_000), (2, 2, 2_000_000), (6, 0, 2_000_000))
"""z3's solvers of arithmetic and of bit vectors (2: as integers, 0: as bits), each with a limit on its count of steps.
Each decides claims that the others do not."""
_TOGETHER = 8
"""The number of claims that are proven as one: half of the time of as many proofs."""


def prove(claim: z3.BoolRef, assumptions: Iterable[z3.BoolRef] = ()) -> None:
    """Proves that `claim` holds wherever the assumptions do. AssertionError with a counterexample if it does not, or if
    z3 does not decide it."""
    assumptions = tuple(assumptions)
    for arithmetic, bit_vectors, steps in _SOLVERS:
        solver = _solver(arithmetic, bit_vectors, steps)
        solver.add(*assumptions, z3.Not(claim))
        result = solver.check()
        if result == z3.unsat:
            return
        assert result != z3.sat, f"counterexample: {solver.model()}"
    raise AssertionError(f"z3 does not decide {claim}")


def prove_all(claims: Sequence[z3.BoolRef], assumptions: Iterable[z3.BoolRef] = ()) -> None:
    """Proves claims under the same assumptions: `_TOGETHER` claims as one, or each by itself if z3 does not decide them
    as one. Errors: as of `prove`."""
    assumptions = tuple(assumptions)
    for group in (claims[i : i + _TOGETHER] for i in range(0, len(claims), _TOGETHER)):
        solver = _solver(*_SOLVERS[0])
        solver.add(*assumptions, z3.Not(z3.And(*group)))
        if solver.check() != z3.unsat:
            for claim in group:
                prove(claim, assumptions)


def _solver(arithmetic: int, bit_vectors: int, steps: int) -> Any:
    solver = z3.SimpleSolver()
    solver.set("rlimit", steps)
    solver.set("random_seed", 0)
    solver.set("smt.arith.solver", arithmetic)
    solver.set("smt.bv.solver", bit_vectors)
    return solver


# Operations on unbounded integers


def floordiv(a: Any, b: Any) -> Any:
    """`floor(a / b)`; for b = 0, the unknown result of z3's division by 0."""
    return z3.If(b >= 0, a / b, -a / -b)


def floormod(a: Any, b: Any) -> Any:
    """`a - floor(a / b) * b`."""
    return z3.If(b >= 0, a % b, -(-a % -b))


def truncdiv(a: Any, b: Any) -> Any:
    """`a / b` rounded toward 0."""
    return z3.If((a < 0) == (b < 0), _absolute(a) / _absolute(b), -(_absolute(a) / _absolute(b)))


def _absolute(a: Any) -> Any:
    return z3.If(a < 0, -a, a)


def minimum(a: Any, b: Any) -> Any:
    """The smaller of two integers."""
    return z3.If(a <= b, a, b)


def maximum(a: Any, b: Any) -> Any:
    """The larger of two integers."""
    return z3.If(a >= b, a, b)


def within(term: Any, interval: Interval) -> Any:
    """Whether an integer is in an interval."""
    return z3.And(interval[0] <= term, term <= interval[1])


_EXACT: dict[str, Callable[[Any, Any], Any]] = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "floordiv": floordiv,
    "floormod": floormod,
    "truncdiv": truncdiv,
    "truncmod": lambda a, b: a - truncdiv(a, b) * b,
    "min": minimum,
    "max": maximum,
}
_BITWISE: dict[str, Callable[[Any, Any], Any]] = {
    "and": lambda a, b: a & b,
    "or": lambda a, b: a | b,
    "xor": lambda a, b: a ^ b,
    "shl": lambda a, b: a << b,
    "shr": lambda a, b: a >> b,
}
_LOGICAL: dict[str, Callable[[Any, Any], Any]] = {"and": z3.And, "or": z3.Or, "xor": z3.Xor}
_UNSIGNED = (arith.DivUIOp, arith.RemUIOp, arith.MinUIOp, arith.MaxUIOp, arith.ShRUIOp)


def _bitwise(name: str, a: Any, b: Any, bits: int, *, signed: bool) -> Any:
    """A bitwise operator or a shift by less than `bits`, on numbers as bits."""
    lhs, rhs = z3.Int2BV(a, bits), z3.Int2BV(b, bits)
    result = z3.LShR(lhs, rhs) if name == "shr" and not signed else _BITWISE[name](lhs, rhs)
    return z3.BV2Int(result, signed)


class TypedBuilder(TirBuilder):
    """A builder whose literals have one integer type, and wrap to it."""

    def __init__(self, block: Block, type: Attribute):
        super().__init__(block)
        self.dtype = dtype_of(type)

    def value(self, operand: Operand, other: DType | None = None, *, bitwise: bool = False) -> SSAValue:
        """`operand`, a literal as a constant of the type."""
        return operand if isinstance(operand, SSAValue) else self.const(wrap_int(int(operand), self.dtype), self.dtype)


class Terms:
    """Translates integer values and sums to integers of z3; bools are 0 and 1.

    assumptions: the ranges of the variables in the terms so far: of their types, loops, blocks and symbols.
    """

    def __init__(self) -> None:
        self.assumptions: list[Any] = []
        self._values: dict[SSAValue, Any] = {}
        self._unknown = 0

    def unknown(self) -> Any:
        """An unknown integer."""
        self._unknown += 1
        return z3.Int(f"unknown{self._unknown}")

    def wrap(self, term: Any, dtype: DType) -> Any:
        """The number of a type that is congruent to an integer modulo 2**bits: a polynomial of the terms, for which z3
        decides products that it does not decide of remainders."""
        if z3.is_int_value(term):
            return z3.IntVal(wrap_int(term.as_long(), dtype))
        number = term - 2**dtype.bits * self.unknown()
        self.assumptions.append(within(number, int_range(dtype)))
        return number

    # Sums

    def sum(self, lin: Lin) -> Any:
        """A sum of the index analysis, without wrapping."""
        return z3.IntVal(lin.const) + z3.Sum([k * self.atom(atom) for atom, k in lin.terms.items()])

    def atom(self, atom: Atom) -> Any:
        """An atom of the index analysis, without wrapping."""
        match atom:
            case SSAValue():
                return self.value(atom)
            case DivAtom():
                return floordiv(self.sum(atom.dividend), self.sum(atom.divisor))
            case ModAtom():
                return floormod(self.sum(atom.dividend), self.sum(atom.divisor))
            case MinAtom():
                return reduce(minimum, map(self.sum, atom.sums))
            case MaxAtom():
                return reduce(maximum, map(self.sum, atom.sums))
            case ProductAtom():
                return z3.Product([self.atom(factor) for factor in atom.factors])
            case _:
                raise AssertionError(f"no translation of {atom}")

    # Values

    def value(self, value: Mixed) -> Any:
        """The number of an integer value, by the operations that compute it."""
        if isinstance(value, int):
            return z3.IntVal(value)
        if value not in self._values:
            known = constant_value(value)
            self._values[value] = z3.IntVal(int(known)) if known is not None else self._define(value)
        return self._values[value]

    def condition(self, value: SSAValue) -> z3.BoolRef:
        """Whether a bool is true."""
        return self.value(value) != 0

    def _define(self, value: SSAValue) -> Any:
        if isinstance(value, BlockArgument):
            return self._variable(value)
        handler = _VALUES.get(type(value.owner))
        if handler is not None:
            return handler(self, value.owner)
        if type(value.owner) in BINARY_NAMES:
            return self._binary(value.owner)
        return self._free(value)

    def _free(self, value: SSAValue) -> Any:
        """Any number of the type of a value."""
        number = z3.Int(f"{value.name_hint or 'v'}{len(self._values)}")
        self.assumptions.append(within(number, int_range(dtype_of(value.type))))
        return number

    def _variable(self, value: BlockArgument) -> Any:
        """A variable of a loop, a launch or a block, in an iteration or instance that runs; else any number."""
        match value.owner.parent_op():
            case ForOp(mixed_bounds=(low, extent, step)):
                number, first = self._free(value), self.value(low)
                last = first + self.value(extent) - 1
                self.assumptions += [first <= number, number <= last, (number - first) % self.value(step) == 0]
                return number
            case LaunchThreadOp(mixed_extent=extent):
                number = self._free(value)
                self.assumptions += [number >= 0, number < self.value(extent)]
                return number
            case BlockOp(predicate=predicate, axes=axes):
                if predicate is not None:
                    self.assumptions.append(self.condition(predicate))
                return self.value(axes[value.index].binding)
            case _:
                return self._free(value)

    def _symbol(self, op: SymbolOp) -> Any:
        """A symbolic size: not negative, and limited with the other sizes of each parameter."""
        number = self._values[op.result] = self._free(op.result)
        for user in {use.operation for use in op.result.uses}:
            if isinstance(user, MatchBufferOp) and op.result in user.dims:
                self.assumptions.append(number >= 0)
                elements: Any = z3.Product([maximum(self.value(size), z3.IntVal(1)) for size in user.mixed_shape])
                limit = element_limit(user)
                self.assumptions += [] if limit is None else [elements < limit]
        return number

    def _interpret(self, value: SSAValue, *, signed: bool) -> Any:
        """The number of the bits of a value, signed or unsigned."""
        dtype = dtype_of(value.type)
        other = DType("int" if signed else "uint", dtype.bits)
        return self.value(value) if int_range(dtype) == int_range(other) else self.wrap(self.value(value), other)

    def _binary(self, op: Any) -> Any:
        name, dtype = BINARY_NAMES[type(op)], dtype_of(op.results[0].type)
        if dtype.is_bool:
            return _number(_LOGICAL[name](*map(self.condition, op.operands)))
        signed = not isinstance(op, _UNSIGNED) and dtype.kind == "int"
        a, b = (self._interpret(o, signed=signed) for o in op.operands)
        if name in _BITWISE:
            result = _bitwise(name, a, b, dtype.bits, signed=signed)
            if name in ("shl", "shr"):
                result = z3.If(within(b, (0, dtype.bits - 1)), result, self.unknown())
            return self.wrap(result, dtype)
        if name in ("floordiv", "floormod", "truncdiv", "truncmod"):
            return self.wrap(z3.If(b == 0, self.unknown(), _EXACT[name](a, b)), dtype)
        return self.wrap(_EXACT[name](a, b), dtype)

    def _comparison(self, op: arith.CmpiOp) -> Any:
        name, predicate = comparison_name(op), predicate_of(op)
        assert name is not None
        a, b = self.value(op.lhs), self.value(op.rhs)
        if predicate in SIGNED_PREDICATES | UNSIGNED_PREDICATES:
            a, b = (self._interpret(o, signed=predicate in SIGNED_PREDICATES) for o in op.operands)
        return _number(COMPARE[name](a, b))

    def _cast(self, op: CastOp) -> Any:
        if not isinstance(op.value.type, IntegerType | IndexType):
            return self._free(op.result)
        source, target = dtype_of(op.value.type), dtype_of(op.result.type)
        if target.is_bool:
            return _number(self.condition(op.value))
        number = self.value(op.value)
        return number if intervals.within(int_range(source), int_range(target)) else self.wrap(number, target)

    def _choice(self, condition: SSAValue, then: SSAValue, orelse: SSAValue) -> Any:
        return z3.If(self.condition(condition), self.value(then), self.value(orelse))

    def _lazy_choice(self, op: IfThenElseOp) -> Any:
        then, orelse = (region.block.last_op for region in op.regions)
        assert isinstance(then, YieldOp)
        assert isinstance(orelse, YieldOp)
        return self._choice(op.condition, then.value, orelse.value)

    def _count_ones(self, op: math.CtPopOp) -> Any:
        number = self._interpret(op.operand, signed=False)
        return self.wrap(
            z3.Sum([number / 2**i % 2 for i in range(dtype_of(op.result.type).bits)]), dtype_of(op.result.type)
        )

    def _count_zeros(self, op: math.CountLeadingZerosOp) -> Any:
        number, dtype = self._interpret(op.operand, signed=False), dtype_of(op.result.type)
        return self.wrap(z3.Sum([_number(number < 2**i) for i in range(dtype.bits)]), dtype)

    def _extend(self, op: Any, *, signed: bool) -> Any:
        return self.wrap(self._interpret(op.operands[0], signed=signed), dtype_of(op.results[0].type))


def _number(condition: Any) -> Any:
    return z3.If(condition, 1, 0)


_VALUES: dict[type[Any], Callable[[Terms, Any], Any]] = {
    arith.CmpiOp: Terms._comparison,  # pyright: ignore[reportPrivateUsage]
    arith.ExtSIOp: lambda t, op: t._extend(op, signed=True),  # pyright: ignore[reportPrivateUsage]
    arith.ExtUIOp: lambda t, op: t._extend(op, signed=False),  # pyright: ignore[reportPrivateUsage]
    arith.IndexCastOp: lambda t, op: t._extend(op, signed=True),  # pyright: ignore[reportPrivateUsage]
    arith.SelectOp: lambda t, op: t._choice(op.cond, op.lhs, op.rhs),  # pyright: ignore[reportPrivateUsage]
    arith.TruncIOp: lambda t, op: t.wrap(t.value(op.input), dtype_of(op.result.type)),
    math.AbsIOp: lambda t, op: t.wrap(_absolute(t.value(op.operand)), dtype_of(op.result.type)),
    math.CountLeadingZerosOp: Terms._count_zeros,  # pyright: ignore[reportPrivateUsage]
    math.CtPopOp: Terms._count_ones,  # pyright: ignore[reportPrivateUsage]
    CastOp: Terms._cast,  # pyright: ignore[reportPrivateUsage]
    IfThenElseOp: Terms._lazy_choice,  # pyright: ignore[reportPrivateUsage]
    IntrinsicOp: lambda t, op: t.value(op.args[0]) if op.intrinsic.data == "likely" else t._free(op.result),  # pyright: ignore[reportPrivateUsage]
    LetOp: lambda t, op: t.value(op.value),
    SymbolOp: Terms._symbol,  # pyright: ignore[reportPrivateUsage]
}

"""Proofs of the rules of the index analysis by z3, and the lines of the rules that the proofs reach.

A function of `PROOFS` runs rules on sums or values and claims facts about their results. A claim is proven for all
values of the variables, without wrapping (rules on sums) or with the wrapping of each operation (imports, exports and
conditions of 8 to 64 bits). Constants are concrete: both signs, multiples, coprime numbers, powers of two, the ends of
types.
"""

from __future__ import annotations

import inspect
import operator
import sys
from collections.abc import Callable, Iterator, Sequence
from importlib import import_module
from itertools import product
from linecache import getline
from types import CodeType, FrameType
from typing import Any, ClassVar

import pytest
import z3
from xdsl.dialects import arith, math
from xdsl.dialects.builtin import IndexType, IntegerType, Signedness, f32, i1, i8, i16, i32, i64
from xdsl.ir import Attribute, Block, Operation, SSAValue

from stepwell.analysis.index import (
    Analyzer,
    Atom,
    Compound,
    Lin,
    MaxAtom,
    MinAtom,
    ProductAtom,
    WidthError,
    cost,
    export,
)
from stepwell.analysis.index.rules import Rules
from stepwell.core import intervals
from stepwell.core.comparisons import COMPARE
from stepwell.core.dtypes import dtype_of, int_range
from stepwell.core.intervals import signed_range
from stepwell.dialects.tir import (
    COMPARISONS,
    Axis,
    BlockOp,
    CastOp,
    ForOp,
    HandleType,
    IfOp,
    LaunchThreadOp,
    MatchBufferOp,
    Mixed,
    SymbolOp,
    TirBuilder,
)
from stepwell.tools.testing.proofs import (
    Terms,
    TypedBuilder,
    floordiv,
    floormod,
    maximum,
    minimum,
    prove_all,
    truncdiv,
    within,
)

TYPES = (i8, i16, i32, i64)


class World:
    """Variables, expressions of them, and claims about results of an analyzer."""

    Terms: ClassVar[type[Terms]] = Terms

    def __init__(self, type: Attribute = i32) -> None:
        self.block = Block()
        self.b = TypedBuilder(self.block, type)
        self.terms = self.Terms()
        self.analyzer: Any = Analyzer()
        self.claims: dict[tuple[z3.BoolRef, tuple[Any, ...]], None] = {}

    def loop(self, low: Mixed, extent: Mixed, type: IntegerType = i32, *, step: int = 1) -> SSAValue:
        """The variable of a loop."""
        return ForOp("i", low, extent, type, step=step).variable

    def free(self, type: Attribute = i32) -> SSAValue:
        """Any number of a type."""
        return self.block.insert_arg(type, len(self.block.args))

    def claim(self, claim: Any, *given: Any) -> None:
        """Claims a fact under conditions on the variables."""
        self.claims[claim, given] = None

    def prove(self) -> None:
        """Proves the claims."""
        claims: dict[tuple[Any, ...], list[z3.BoolRef]] = {}
        for claim, given in self.claims:
            claims.setdefault(given, []).append(claim)
        for given, group in claims.items():
            prove_all(group, (*self.terms.assumptions, *given))

    # Claims

    def claim_range(self, lin: Lin, *given: Any) -> None:
        """Claims that a sum, and the sums in it, are in the ranges of the analysis."""
        for part in _parts(lin):
            self.claim(within(self.terms.sum(part), self.analyzer.bounds(part)), *given)

    def claim_result(self, result: Lin, expected: Any, *operands: Lin) -> None:
        """Claims that the result of a rule has the expected value, is in its range, and contains no dividend and no
        operand of an extremum that requires a wider type than the operands."""
        self.claim(self.terms.sum(result) == expected)
        self.claim_range(result)
        widths = [self.analyzer.width(part) for operand in operands for part in _parts(operand)]
        known = [width for width in widths if width is not None]
        if len(known) == len(widths):
            for part in list(_parts(result))[1:]:
                self.claim(within(self.terms.sum(part), signed_range(max(known))))


def _parts(lin: Lin) -> Iterator[Lin]:
    """A sum and the sums inside its atoms."""
    yield lin
    todo: list[Atom] = list(lin.terms)
    while todo:
        atom = todo.pop()
        for part in atom.args if isinstance(atom, Compound) else ():
            if isinstance(part, Lin):
                yield from _parts(part)
            else:
                todo.append(part)


Proof = Callable[[], Iterator[World]]
PROOFS: list[Proof] = []


def proof(function: Proof) -> Proof:
    """Registers worlds with claims."""
    PROOFS.append(function)
    return function


# Rules: quotients and remainders

VARIABLES: tuple[Callable[[World], tuple[SSAValue, SSAValue]], ...] = (
    lambda w: (w.loop(0, 8), w.loop(0, 4)),
    lambda w: (w.loop(-5, 9), w.free(i32)),
    lambda w: (w.free(i64), w.loop(0, 3, i64)),
    lambda w: (w.loop(0, 2**31 - 1), w.loop(0, 2**20)),
)
COEFFICIENTS = ((1, 0, 0), (1, 1, 5), (4, 1, 0), (4, -1, -1), (6, 4, 3), (-4, 2, 2**31 - 1), (12, 8, -7))
DIVISORS = (1, 3, 4, 8, 12, 2**31 - 1, -1, -4)


@proof
def quotients_and_remainders_of_sums_by_constants() -> Iterator[World]:
    for variables, (p, q, r) in product(VARIABLES, COEFFICIENTS):
        w = World()
        x, y = variables(w)
        a = Lin(r, {x: p, y: q})
        for c in DIVISORS:
            w.claim_result(w.analyzer.floordiv(a, c), floordiv(w.terms.sum(a), z3.IntVal(c)), a)
            w.claim_result(w.analyzer.floormod(a, c), floormod(w.terms.sum(a), z3.IntVal(c)), a)
        yield w


@proof
def quotients_and_remainders_of_quotients_and_remainders() -> Iterator[World]:
    divisors = ((3, 5), (12, 4), (6, 4), (2**16, 2**16), (2**40, 5), (-6, 3))
    for type, (inner, outer) in product((i32, i64), divisors):
        w = World()
        x, y = w.free(type), w.loop(0, 3, type)
        meaning = {w.analyzer.floordiv: floordiv, w.analyzer.floormod: floormod}
        for a in (Lin.of(x), Lin(1, {x: 3, y: -1})):
            for first, second in product(meaning, repeat=2):
                once = first(a, inner)
                w.claim_result(once, meaning[first](w.terms.sum(a), z3.IntVal(inner)), a, Lin(inner))
                for b in (once, once * 4 + Lin.of(y)):
                    w.claim_result(second(b, outer), meaning[second](w.terms.sum(b), z3.IntVal(outer)), b, Lin(outer))
        yield w


@proof
def sums_of_quotients_and_remainders() -> Iterator[World]:
    for c, k in product((2, 3, 16), (1, -1, 5)):
        w = World()
        x, y, n = w.free(i32), w.loop(0, 100), w.loop(1, 50)
        for dividend in (Lin.of(x), Lin(7, {x: 4, y: 1}), Lin.of(y)):
            quotient, remainder = w.analyzer.floordiv(dividend, c) * (k * c), w.analyzer.floormod(dividend, c) * k
            for a, b in (
                (quotient, remainder),
                (remainder, quotient + 1),
                (dividend * k, -quotient),
                (-quotient + Lin.of(y), dividend * k),
            ):
                w.claim_result(w.analyzer.add(a, b), w.terms.sum(a) + w.terms.sum(b), a, b)
                w.claim_result(w.analyzer.sub(a, b), w.terms.sum(a) - w.terms.sum(b), a, b)
        digit, rest = w.analyzer.floordiv(Lin.of(y), Lin.of(n)), w.analyzer.floormod(Lin.of(y), Lin.of(n)) * k
        for a in (w.analyzer.mul(digit, Lin.of(n)) * k, Lin.of(x)):
            w.claim_result(w.analyzer.add(a, rest), w.terms.sum(a) + w.terms.sum(rest), a, rest)
        yield w


@proof
def quotients_and_remainders_by_symbolic_divisors() -> Iterator[World]:
    w = World()
    n, m, x = w.loop(1, 1000), w.loop(1, 7), w.loop(-4, 9)
    i = w.loop(0, n)
    size = Lin.of(n)
    for times, rest in product(
        (Lin.of(x), Lin.of(m), Lin(3), Lin(-1, {m: 1})), (Lin(), Lin(-1), Lin.of(i), Lin(-1, {i: -1}), Lin.of(x))
    ):
        a = w.analyzer.mul(times, size) + rest
        for b in (size, size * 2, w.analyzer.mul(size, Lin.of(m)), size + 1):
            w.claim_result(w.analyzer.floordiv(a, b), floordiv(w.terms.sum(a), w.terms.sum(b)), a)
            w.claim_result(w.analyzer.floormod(a, b), floormod(w.terms.sum(a), w.terms.sum(b)), a)
    w.claim_range(w.analyzer.floordiv(Lin(7, {i: 2}), Lin.of(m)))
    yield w


@proof
def quotients_by_a_divisor_of_one_value() -> Iterator[World]:
    w = World()
    x = w.free(i32)
    for low in (4, -4):
        n = Lin.of(w.loop(low, 1))
        w.claim_result(w.analyzer.floordiv(Lin.of(x), n), floordiv(w.terms.value(x), z3.IntVal(low)), Lin.of(x))
        w.claim_result(w.analyzer.floormod(Lin.of(x), n), floormod(w.terms.value(x), z3.IntVal(low)), Lin.of(x))
    with pytest.raises(ValueError, match="may be zero"):
        w.analyzer.floordiv(Lin.of(x), Lin.of(w.loop(-1, 3)))
    yield w


# Rules: products, minima, maxima, substitution


@proof
def products() -> Iterator[World]:
    w = World()
    x, y, z = w.free(i32), w.loop(-3, 9), w.loop(0, 5)
    for a, b in product((Lin(2, {x: 3, y: -1}), Lin.of(z), Lin(-7)), (Lin(1, {y: 1, z: 4}), Lin(3), Lin.of(z) * -2)):
        w.claim_result(w.analyzer.mul(a, b), w.terms.sum(a) * w.terms.sum(b), a, b)
    yield w


@proof
def minima_and_maxima() -> Iterator[World]:
    for variables in VARIABLES:
        w = World()
        x, y = variables(w)
        sums = [Lin.of(x), Lin(4, {x: 1}), Lin(-1, {y: 1}), Lin(3), Lin(100), Lin(0, {x: 2, y: -1})]
        for a, b in product(sums, repeat=2):
            w.claim_result(w.analyzer.minimum(a, b), minimum(w.terms.sum(a), w.terms.sum(b)), a, b)
            w.claim_result(w.analyzer.maximum(a, b), maximum(w.terms.sum(a), w.terms.sum(b)), a, b)
            both = w.analyzer.minimum(w.analyzer.maximum(a, b), sums[2])
            w.claim_result(w.analyzer.minimum(both, a), minimum(w.terms.sum(both), w.terms.sum(a)), both, a)
        yield w


@proof
def substitutions() -> Iterator[World]:
    w = World()
    x, y, n, m = w.loop(0, 64), w.free(i32), w.loop(1, 9), w.loop(0, 6)
    rules = w.analyzer
    sums = [
        Lin(3, {x: 2, y: 1}),
        rules.floordiv(Lin(1, {x: 3, y: 1}), 4),
        rules.floormod(Lin.of(x), 6),
        rules.minimum(rules.minimum(Lin.of(x), Lin.of(y)), Lin(7)),
        rules.maximum(Lin.of(x), Lin.of(y)),
        rules.mul(Lin.of(x), Lin.of(y)),
        rules.floordiv(Lin.of(y), Lin.of(n)),
        rules.floormod(Lin.of(y), Lin.of(n)),
    ]
    for lin, other in product(sums, (Lin(2), Lin(1, {m: 4}), rules.floordiv(Lin.of(m), 2), Lin.of(y))):
        result = rules.substitute(lin, {x: other})
        w.claim(w.terms.sum(result) == w.terms.sum(lin), w.terms.value(x) == w.terms.sum(other))
        assert rules.substitute(Lin.of(y), {x: other}) == Lin.of(y)
    for lin in sums[-2:]:  # the divisor is positive where the quotient has a value, though the range of m contains 0
        result = rules.substitute(lin, {n: Lin.of(m)})
        w.claim(w.terms.sum(result) == w.terms.sum(lin), w.terms.value(n) == w.terms.value(m))
    yield w


# Ranges


@proof
def intervals_of_operations() -> Iterator[World]:
    parts = ((0, 7), (3, 5), (-9, -2), (-3, 4), (1, 1), (12, 100), (13, 14), (-(2**63), 2**63 - 1))
    operations: dict[Callable[[Any, Any], Any], Callable[[Any, Any], Any]] = {
        intervals.add: operator.add,
        intervals.sub: operator.sub,
        intervals.mul: operator.mul,
        intervals.minimum: minimum,
        intervals.maximum: maximum,
        intervals.floordiv: floordiv,
        intervals.floormod: floormod,
        intervals.truncdiv: truncdiv,
        intervals.truncmod: lambda a, b: a - truncdiv(a, b) * b,
    }
    w = World()
    x, y = z3.Ints("x y")
    for (interval, exact), a, b in product(operations.items(), parts, parts):
        if exact is operator.mul or b[1] - b[0] < 3:  # z3 decides products and quotients by few divisors
            w.claim(within(exact(x, y), interval(a, b)), within(x, a), within(y, b), y != 0)
    yield w


@proof
def ranges_by_facts() -> Iterator[World]:
    """Ranges of sums that facts of loops, quotients and extrema refine."""
    w = World()
    n, m = w.loop(0, 1000), w.loop(0, 40)
    i, f = w.loop(0, n), w.loop(0, w.b.mul(n, 32))
    j, k = w.loop(n, 8), w.free(i32)
    r, a = w.analyzer, Lin.of
    size = r.maximum(a(n), Lin(1))
    digit, rest = r.floordiv(a(m), 3), r.floormod(a(m), 3)
    least = [Lin.of(kind(a(n), a(m))) for kind in (MinAtom, MaxAtom)]
    parts = [a(i), a(j), a(n), a(m), a(f), a(k), digit, rest, *least, r.floormod(a(m), size), a(n) * -1]
    for left, right in product(parts, repeat=2):
        w.claim_range(left - right)
        w.claim_range(left * 3 + right)
        for name in COMPARISONS:
            decided = r.compare(name, left, right + 1)
            if decided is not None:
                w.claim(COMPARE[name](w.terms.sum(left), w.terms.sum(right) + 1) == decided)
    yield w


@proof
def ranges_of_digits_of_fused_loops() -> Iterator[World]:
    """`f // n` with `f` in `range(n * 32)`, where n is positive because the loop has iterations."""
    for step in (1, 4):
        w = World()
        n = w.free(i32)
        f = w.loop(0, w.b.mul(n, 32), step=step)
        with w.analyzer.assumptions():
            w.analyzer.assume_not_negative(Lin.of(n) - 1)
            w.analyzer.assume_not_negative(-Lin.of(n) + 2**20)
            given = within(w.terms.value(n), (1, 2**20))
            for digit in (w.analyzer.floordiv(Lin.of(f), Lin.of(n)), w.analyzer.floormod(Lin.of(f), Lin.of(n))):
                for lin in (digit, digit - Lin.of(n), Lin.of(f) - digit):
                    w.claim_range(lin, given)
        yield w


@proof
def ranges_of_nested_quotients() -> Iterator[World]:
    """`x // 2` and `x // 16` of one dividend, of which one divisor is a multiple of the other, or is not."""
    w = World()
    dividend = Lin.of(w.loop(0, 1000)) - 100
    for fine, coarse in ((2, 16), (3, 12), (2, 3)):
        ratio = coarse // fine
        first, second = w.analyzer.floordiv(dividend, fine), w.analyzer.floordiv(dividend, coarse)
        for lin in (first - second * ratio, second * ratio - first, first * 3 - second * (3 * ratio)):
            w.claim_range(lin)
        is_multiple = coarse % fine == 0
        w.claim(z3.BoolVal((w.analyzer.bounds(first - second * ratio) == (0, ratio - 1)) == is_multiple))
    yield w


@proof
def comparisons_by_divisors() -> Iterator[World]:
    w = World()
    x, y = w.free(i64), w.free(i64)
    for lin, name in product((Lin(1, {x: 4, y: 6}), Lin(3, {x: 6, y: -9}), Lin(2, {x: 4}), Lin.of(x)), COMPARISONS):
        decided = w.analyzer.compare(name, lin, 0)
        if decided is not None:
            w.claim(COMPARE[name](w.terms.sum(lin), 0) == decided)
    w.claim(z3.BoolVal(w.analyzer.compare("eq", Lin(1, {x: 4, y: 6}), 0) is False))
    yield w


@proof
def consequences_of_facts() -> Iterator[World]:
    """The limits and facts that the analysis records for `lin >= 0`, and ranges under them."""
    for least in (1, 2, 7, 0, -3):
        w = World()
        x, y, n = w.free(i32), w.free(i64), w.loop(0, 100)
        product_ = Lin.of(ProductAtom(n, x))
        for lin in (
            Lin.of(x) * 3,
            Lin.of(x) * -3,
            Lin(0, {x: 1, n: -1}),
            Lin(0, {x: 2, y: 3, n: -5}),
            product_,
            product_ * -2,
            Lin.of(ProductAtom(x, y)),
            w.analyzer.floordiv(Lin.of(x), 16),
            w.analyzer.floordiv(Lin.of(y) + 5, 3) * 2,
            w.analyzer.floormod(Lin.of(y), 12),
            w.analyzer.maximum(Lin.of(x), Lin(0)) * 4,
            w.analyzer.maximum(Lin.of(x), Lin.of(n)),
            w.analyzer.minimum(Lin.of(x), Lin.of(y)),
        ):
            fact = lin - least
            given = w.terms.sum(fact) >= 0
            with w.analyzer.assumptions():
                w.analyzer.assume_not_negative(fact)
                _claim_assumptions(w, given)
                for related in (lin, Lin.of(x), Lin.of(y) - Lin.of(n), Lin.of(x) - Lin.of(n), lin * 2 + Lin.of(n)):
                    w.claim_range(related, given)
        yield w


def _claim_assumptions(w: World, *given: Any) -> None:
    """Claims the limits, facts and known conditions of the current scope."""
    scope = w.analyzer.scope
    for atom, limit in scope.limits.items():
        w.claim(within(w.terms.atom(atom), limit), *given)
    for fact in {fact for facts in scope.facts.values() for fact in facts}:
        w.claim(w.terms.sum(fact) >= 0, *given)
    for condition, truth in scope.known.items():
        w.claim(w.terms.condition(condition) == truth, *given)


# Values: sums and ranges of machine integers

Expression = Callable[[TirBuilder, SSAValue, SSAValue, SSAValue], SSAValue]
EXPRESSIONS: dict[str, Expression] = {
    "sum": lambda b, x, y, n: b.sub(b.add(b.mul(x, 3), 5), b.add(y, x)),
    "wrapped sum": lambda b, x, y, n: b.sub(b.mul(x, 100), b.mul(x, -100)),
    "product": lambda b, x, y, n: b.mul(b.add(y, 1), b.sub(n, 2)),
    "wrapped product": lambda b, x, y, n: b.mul(b.add(x, 1), b.sub(y, x)),
    "product of many terms": lambda b, x, y, n: b.mul(b.add(b.add(x, y), n), b.sub(b.sub(x, y), n)),
    "quotient": lambda b, x, y, n: b.binary("floordiv", b.add(b.mul(y, 4), n), 4),
    "wrapped quotient": lambda b, x, y, n: b.binary("floordiv", b.mul(x, 8), 8),
    "negative divisor": lambda b, x, y, n: b.binary("floordiv", x, -3),
    "remainder by a negative divisor": lambda b, x, y, n: b.binary("floormod", b.add(y, n), -4),
    "remainder": lambda b, x, y, n: b.binary("floormod", b.add(b.mul(x, 3), 1), 5),
    "smallest number by -1": lambda b, x, y, n: b.binary("floordiv", x, -1),
    "symbolic divisor": lambda b, x, y, n: b.binary("floordiv", y, n),
    "symbolic remainder": lambda b, x, y, n: b.binary("floormod", b.add(b.mul(n, 2), y), n),
    "divisor that may be 0": lambda b, x, y, n: b.binary("floordiv", y, b.sub(y, n)),
    "negative symbolic divisor": lambda b, x, y, n: b.binary("floordiv", y, b.sub(-10, n)),
    "truncating quotient": lambda b, x, y, n: b.binary("truncdiv", b.add(y, 7), 3),
    "truncating remainder": lambda b, x, y, n: b.binary("truncmod", b.add(y, 7), 5),
    "truncating, signs": lambda b, x, y, n: b.add(b.binary("truncdiv", x, 3), b.binary("truncmod", x, n)),
    "truncating by a negative divisor": lambda b, x, y, n: b.binary("truncmod", y, -3),
    "extrema": lambda b, x, y, n: b.binary("min", b.binary("max", x, y), b.add(n, 4)),
    "wrapped extremum": lambda b, x, y, n: b.binary("max", b.mul(x, 2), b.sub(0, x)),
    "shift left": lambda b, x, y, n: b.binary("shl", b.add(y, x), 3),
    "shift right": lambda b, x, y, n: b.binary("shr", b.sub(y, 5), 2),
    "largest shifts": lambda b, x, y, n: b.add(
        b.binary("shl", x, dtype_of(x.type).bits - 1), b.binary("shr", x, dtype_of(x.type).bits - 1)
    ),
    "undefined shifts": lambda b, x, y, n: b.add(b.binary("shl", x, -1), b.binary("shr", x, y)),
    "mask": lambda b, x, y, n: b.binary("and", b.sub(x, 3), 15),
    "no mask": lambda b, x, y, n: b.add(b.binary("and", x, 12), b.binary("and", x, -1)),
    "largest mask": lambda b, x, y, n: b.binary("and", x, int_range(dtype_of(x.type))[1]),
    "and": lambda b, x, y, n: b.binary("and", b.sub(y, 0), x),
    "or": lambda b, x, y, n: b.binary("or", y, n),
    "xor": lambda b, x, y, n: b.add(b.binary("xor", y, n), b.binary("xor", x, n)),
    "absolute value": lambda b, x, y, n: b.add(b.unary("abs", y), b.unary("abs", b.sub(-1, n))),
    "unknown absolute value": lambda b, x, y, n: b.add(b.unary("abs", x), b.unary("abs", b.sub(y, 3))),
    "count of ones": lambda b, x, y, n: b.unary("popcount", n),
    "count of zeros": lambda b, x, y, n: b._value(math.CountLeadingZerosOp(n)),
    "select": lambda b, x, y, n: b.select(b.binary("lt", x, n), b.add(y, 1), n),
    "decided select": lambda b, x, y, n: b.select(b.binary("ge", n, 0), b.add(y, 1), x),
    "select of equal sums": lambda b, x, y, n: b.select(b.binary("lt", x, n), b.add(y, x), b.add(x, y)),
    "lazy choice": lambda b, x, y, n: b.if_then_else(
        b.binary("lt", x, n), x.type, lambda: b.add(y, 1), lambda: b.sub(n, 1)
    ),
    "let": lambda b, x, y, n: b.add(b.let("z", b.mul(y, 2)), b.let("c", b.sub(b.add(y, 1), y))),
    "narrower and back": lambda b, x, y, n: b.cast(b.cast(x, "int8"), dtype_of(x.type)),
    "wider and back": lambda b, x, y, n: b.cast(b.cast(b.mul(x, 2), "int64"), dtype_of(x.type)),
    "unsigned and back": lambda b, x, y, n: b.cast(b.cast(b.sub(x, 1), "uint8"), dtype_of(x.type)),
    "from a float": lambda b, x, y, n: b.add(b._value(CastOp(b.const(1.5, "float32"), x.type)), 1),
    "bool": lambda b, x, y, n: b.cast(b.binary("lt", x, y), dtype_of(x.type)),
    "extended bool": lambda b, x, y, n: b._value(arith.ExtSIOp(b.binary("lt", x, y), i64)),
    "sign extension": lambda b, x, y, n: b._value(arith.ExtSIOp(b.cast(x, "int4"), i64)),
    "zero extension": lambda b, x, y, n: b._value(arith.ExtUIOp(b.cast(b.binary("floormod", x, 4), "int4"), i64)),
    "zero extension of negative numbers": lambda b, x, y, n: b._value(arith.ExtUIOp(b.cast(x, "int4"), i64)),
    "truncation": lambda b, x, y, n: b._value(arith.TruncIOp(b.mul(x, 3), IntegerType(4))),
    "index": lambda b, x, y, n: b.add(b._value(arith.IndexCastOp(b.mul(y, 3), IndexType())), 1),
    "unsigned quotients of signed numbers": lambda b, x, y, n: b.add(
        b._value(arith.DivUIOp(x, n)), b._value(arith.RemUIOp(b.add(y, 1), n))
    ),
    "unsigned extrema of signed numbers": lambda b, x, y, n: b._value(arith.MinUIOp(x, n)),
}


@proof
def values_and_ranges_of_expressions() -> Iterator[World]:
    """A sum is congruent to its value and an exact sum is equal to it, also if it is written back."""
    for expression, type in product(EXPRESSIONS.values(), TYPES):
        w = World(type)
        x, y, n = w.free(type), w.loop(-2, 9, type), w.loop(1, 6, type)
        value = expression(w.b, x, y, n)
        _claim_value(w, value)
        yield w


def _claim_value(w: World, value: SSAValue) -> None:
    lin, exact, number = w.analyzer.lin(value), w.analyzer.exact(value), w.terms.value(value)
    w.claim((w.terms.sum(lin) - number) % 2 ** dtype_of(value.type).bits == 0)
    w.claim(w.terms.sum(exact) == number)
    w.claim_range(exact)
    w.claim(w.terms.value(export(w.analyzer, lin, w.b, value.type)) == number)
    assert cost(w.analyzer, lin, value.type) >= 0
    for factor in (2, 3, 4):
        assert w.analyzer.is_multiple(12, factor)
        if w.analyzer.is_multiple(value, factor):
            w.claim(number % factor == 0)
    for operand in value.owner.operands if isinstance(value.owner, Operation) else ():
        if isinstance(operand.type, IntegerType):
            w.claim(within(w.terms.value(operand), w.analyzer.value_range(operand)[0]))
    w.claim(within(number, w.analyzer.value_range(value)[0]))


@proof
def values_of_unsigned_types() -> Iterator[World]:
    for bits, name in product((8, 32, 64), ("floordiv", "floormod", "add", "and", "or", "min", "shr")):
        type = IntegerType(bits, Signedness.UNSIGNED)
        w = World(type)
        x = w.free(type)
        value = w.b.binary(name, x, 5)
        w.claim(w.terms.sum(w.analyzer.exact(value)) == w.terms.value(value))
        w.claim(within(w.terms.value(value), w.analyzer.value_range(value)[0]))
        yield w


SUMS: tuple[Callable[[Analyzer, SSAValue, SSAValue], Lin], ...] = (
    lambda r, x, y: Lin(7, {x: -1}),
    lambda r, x, y: Lin(0, {x: -3, y: -1}),
    lambda r, x, y: Lin(-2, {x: -3, y: 2}),
    lambda r, x, y: Lin(-5),
    lambda r, x, y: Lin(0, {ProductAtom(x, y): 2}),
    lambda r, x, y: r.floordiv(Lin(1, {x: 3}), 4) + 1,
    lambda r, x, y: r.floormod(Lin(-1, {x: 5, y: 1}), 7) * -1,
    lambda r, x, y: r.minimum(Lin(0, {x: 2}), Lin(0, {y: 3})),
    lambda r, x, y: r.maximum(Lin(0, {x: 2**20}), Lin.of(y)),
)


@proof
def exports_to_narrower_and_wider_types() -> Iterator[World]:
    """Terms in the order of emission, operands of quotients and extrema that require a wider type."""
    for source, target, build in product((i8, i32), TYPES, SUMS):
        w = World()
        lin = build(w.analyzer, w.free(source), w.loop(-2, 9, source))
        number = w.terms.value(export(w.analyzer, lin, w.b, target))
        w.claim((w.terms.sum(lin) - number) % 2 ** dtype_of(target).bits == 0)
        assert cost(w.analyzer, lin, target) >= 0
        yield w


def test_an_export_rejects_operands_wider_than_every_type() -> None:
    w = World()
    with pytest.raises(WidthError, match="do not fit 64 bits"):
        export(w.analyzer, w.analyzer.floordiv(Lin.of(w.free(i64)) * 3, 7), w.b, i64)


# Values: variables


@proof
def quotients_by_the_extent_of_a_fused_loop() -> Iterator[World]:
    """`f // n` with `f` in `range(n * 32)`: n is positive where the loop has iterations."""
    for type in (i32, i64):
        w = World(type)
        n = w.loop(-5, 1000, type)
        f = w.loop(0, w.b.mul(n, 32), type)
        for name in ("floordiv", "floormod", "truncdiv"):
            _claim_value(w, w.b.binary(name, f, n))
        yield w


@proof
def ranges_that_depend_on_a_fact_about_the_variable() -> Iterator[World]:
    w = World()
    n = w.loop(1, 100)
    i, j = w.loop(0, n), w.loop(n, 1)
    with w.analyzer.assumptions():
        w.analyzer.assume_not_negative(Lin(-2, {n: 1, i: -1}))
        given = w.terms.value(n) - w.terms.value(i) >= 2
        w.claim_range(Lin.of(i), given)
        w.claim_range(Lin(0, {n: 1, i: -2}), given)
    _claim_value(w, w.b.sub(j, n))
    yield w


@proof
def ranges_of_types() -> Iterator[World]:
    """The ranges of variables without loops or blocks, in a plain `Rules`."""
    for type in (*TYPES, IntegerType(32, Signedness.UNSIGNED), i1):
        w = World(type)
        x = w.free(type)
        w.analyzer = Rules()
        w.claim_range(Lin(0, {x: 3, ProductAtom(x, x): 1}))
        yield w


@proof
def ranges_of_variables_of_loops_and_launches() -> Iterator[World]:
    for type, step in product((i8, i32, i64), (1, 3)):
        w = World(type)
        n, m = w.free(type), w.loop(0, 9, type)
        positive = w.b.binary("max", n, 1)
        bounds = [(0, 7), (-3, 11), (m, 5), (0, n), (m, n), (n, 5), (0, positive), (0, w.b.mul(n, 3)), (n, n), (5, -7)]
        variables = [w.loop(low, extent, type, step=step) for low, extent in bounds]
        variables.append(LaunchThreadOp("t", "threadIdx.x", n, type).body.block.args[0])
        for variable in variables:
            _claim_variable(w, variable)
            yield w
            w.claims.clear()
            w.terms.assumptions.clear()
            w.terms = w.Terms()


def _claim_variable(w: World, variable: SSAValue) -> None:
    interval, facts = w.analyzer.value_range(variable)
    w.claim(within(w.terms.value(variable), interval))
    for fact in facts:
        w.claim(w.terms.sum(fact) >= 0)


@proof
def ranges_of_axes() -> Iterator[World]:
    for type in (i8, i32, i64):
        w = World(type)
        n, i, j = w.free(type), w.loop(0, 9, type), w.loop(2, 6, type)
        predicate = w.b.binary("lt", i, n)
        domains: list[tuple[Mixed, Mixed]] = [(0, 9), (0, 4), (0, n), (2, n), (n, n), (j, 3)]
        for guard, binding, (low, extent) in product((None, predicate), (i, w.b.add(i, j)), domains):
            inner = World()
            _claim_variable(
                inner, BlockOp("b", [Axis("v", "spatial", low, extent, binding)], predicate=guard).variables[0]
            )
            yield inner


@proof
def ranges_of_symbols() -> Iterator[World]:
    for type in (i32, i64):
        w = World()
        n, m, free = (w.b.insert(SymbolOp(name, type)).result for name in "nmk")
        handle = w.free(HandleType())
        w.b.insert(MatchBufferOp("A", handle, f32, [n, 4, m]))
        for symbol in (n, m, free):
            _claim_variable(w, symbol)
        w.claim_range(Lin.of(ProductAtom(n, m)))
        w.claim_range(Lin(1, {ProductAtom(n, m): 4, n: -1}))
        w.claim_range(Lin.of(ProductAtom(n, free)))
        w.claim_range(Lin.of(ProductAtom(n, n)))
        yield w


# Conditions

Condition = Callable[[TirBuilder, SSAValue, SSAValue], SSAValue]


def _comparisons(b: TirBuilder, x: SSAValue, n: SSAValue) -> list[SSAValue]:
    signed = [b.binary(name, x, n) for name in COMPARISONS]
    bounds = [
        b.binary("lt", x, 5),
        b.binary("ge", x, 0),
        b.binary("ne", n, 0),
        b.binary("ne", n, 6),
        b.binary("eq", n, 3),
    ]
    bits = [b._value(arith.CmpiOp(x, n, predicate)) for predicate in ("ult", "uge")]
    bits += [b._value(arith.CmpiOp(b.add(n, 1), n, predicate)) for predicate in ("ult", "uge", "ule")]
    same = [b.binary(name, b.add(x, n), b.add(n, x)) for name in ("eq", "ne")]
    return [*signed, *bounds, *bits, *same, b.binary("gt", b.mul(n, 2), n), b.binary("lt", n, 0)]


def _connectives(b: TirBuilder, x: SSAValue, n: SSAValue) -> list[SSAValue]:
    p, q = b.binary("lt", x, n), b.binary("ge", x, 0)
    true, false = b.binary("ge", n, 0), b.binary("lt", n, 0)
    conditions: list[SSAValue] = [b.const(True, "bool"), b.const(False, "bool")]
    for first, second in ((p, q), (p, true), (false, p), (true, true), (false, false)):
        conditions += [b.binary(name, first, second) for name in ("and", "or", "xor")]
        conditions += [b.binary(name, second, first) for name in ("and", "or", "xor")]
        conditions += [
            b.if_then_else(first, i1, lambda second=second: second, lambda known=known: b.const(known, "bool"))
            for known in (True, False)
        ]
        conditions += [
            b.if_then_else(first, i1, lambda known=known: b.const(known, "bool"), lambda second=second: second)
            for known in (True, False)
        ]
        conditions.append(b.select(first, second, true))
    conditions += [b.let("c", p), b.intrinsic("likely", b.binary("and", p, q)), b.intrinsic("likely", true)]
    conditions += [b.cast(x, "bool"), b.cast(b.add(n, 1), "bool"), b.logical_not(b.binary("or", p, q))]
    conditions += [b.intrinsic("isnan", b.const(1.0, "float32")), b.cast(b.const(1.5, "float32"), "bool")]
    return conditions


@proof
def decisions_and_consequences_of_conditions() -> Iterator[World]:
    """A decided condition, and the limits, facts and decisions that follow from an assumed condition."""
    for type, build in product((i8, i32, i64), (_comparisons, _connectives)):
        w = World(type)
        x, n = w.free(type), w.loop(0, 7, type)
        conditions = build(w.b, x, n)
        assert any(w.analyzer.decide(condition) is not None for condition in conditions)
        _claim_decisions(w, conditions)
        for condition, truth in product(conditions, (True, False)):
            with w.analyzer.assuming(condition, truth):
                given = w.terms.condition(condition) == truth
                _claim_assumptions(w, given)
                _claim_decisions(w, conditions[:3], given)
                w.claim_range(Lin(0, {x: 1, n: -1}), given)
        yield w


def _claim_decisions(w: World, conditions: Sequence[SSAValue], *given: Any) -> None:
    for condition in conditions:
        decided = w.analyzer.decide(condition)
        if decided is not None:
            w.claim(w.terms.condition(condition) == decided, *given)


@proof
def consequences_of_unsigned_comparisons() -> Iterator[World]:
    for bits in (8, 64):
        type = IntegerType(bits, Signedness.UNSIGNED)
        w = World(type)
        x = w.free(type)
        largest = 2**bits - 1
        conditions = [w.b.binary(name, x, number) for name, number in product(COMPARISONS, (0, 5, largest))]
        conditions.append(w.b._value(arith.CmpiOp(x, w.b.const(largest, x.type), "slt")))
        for condition, truth in product(conditions, (True, False)):
            with w.analyzer.assuming(condition, truth):
                given = w.terms.condition(condition) == truth
                _claim_assumptions(w, given)
                _claim_decisions(w, conditions, given)
        yield w


@proof
def decisions_of_deep_and_of_unknown_conditions() -> Iterator[World]:
    w = World()
    x = w.loop(0, 7)
    deep = known = w.b.binary("lt", x, 7)
    for _ in range(100):
        deep = w.b._value(arith.AndIOp(deep, known))
    vector = w.b.broadcast(x, 4)
    conditions = [deep, known, w.b._value(arith.CmpiOp(vector, vector, "eq"))]
    assert [w.analyzer.decide(condition) for condition in conditions] == [None, True, None]
    w.analyzer.assume(conditions[2], True)
    assert w.analyzer.number(5) == 5
    assert w.analyzer.same(x, x)
    _claim_decisions(w, conditions)
    yield w


@proof
def conditions_inside_operations() -> Iterator[World]:
    """The assumptions inside branches, blocks with predicates, and loops."""
    w = World()
    x, n = w.free(i32), w.free(i32)
    branch, loop = IfOp(w.b.binary("lt", x, n)), ForOp("i", 0, n, i32)
    block = BlockOp("b", [Axis("v", "spatial", 0, 8, loop.variable)], predicate=w.b.binary("ge", x, 4))
    innermost = TirBuilder(block.body.block).const(1, "int32").owner
    launch = LaunchThreadOp("t", "threadIdx.x", 4, i32)
    launch.body.block.add_op(block)
    loop.body.block.add_op(launch)
    branch.orelse.block.add_op(loop)
    assert isinstance(innermost, Operation)
    with w.analyzer.inside(innermost):
        given = (
            w.terms.value(x) >= w.terms.value(n),
            w.terms.value(x) >= 4,
            w.terms.value(n) >= 1,
        )
        assert w.analyzer.scope.limits
        _claim_assumptions(w, *given)
        w.claim_range(Lin(0, {x: 1, n: -1}), *given)
    yield w


@pytest.mark.parametrize("proof", PROOFS, ids=lambda proof: proof.__name__)
def test_rules_are_proven(proof: Proof) -> None:
    for world in proof():
        assert world.claims
        world.prove()


# Lines that the proofs reach

MODULES = (
    *(f"analysis.index.{name}" for name in ("rules", "ranges", "conditions", "analyzer", "export")),
    "core.intervals",
)
"""The modules whose every line is reached by a proof."""

UNPROVEN = {
    "_division_range": "runs at the import of the module",
    "_import_floor": "runs at the import of the module",
    "_op_cost": "counts operations",
    "is_index_arithmetic": "tests the kind of an operation",
    "tree_cost": "counts operations",
}
"""Functions without a rule, each with the reason. Lines that raise an error are not proven either."""


def _functions(code: CodeType) -> Iterator[CodeType]:
    """The functions with rules in a code object."""
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            if inner.co_flags & inspect.CO_OPTIMIZED and inner.co_name not in UNPROVEN:  # else the body of a class
                yield inner
            yield from _functions(inner)


def _name(code: CodeType) -> tuple[str, str, int]:
    return code.co_filename, code.co_qualname, code.co_firstlineno


def _lines(code: CodeType) -> set[int]:
    lines = {line for _, _, line in code.co_lines() if line}
    return {line for line in lines if not getline(code.co_filename, line).lstrip().startswith("raise ")}


class NoTerms(Terms):
    """Numbers in place of terms: the proofs run their rules, and have nothing to prove."""

    def sum(self, lin: Lin) -> Any:
        """A number."""
        return 1

    def atom(self, atom: Atom) -> Any:
        """A number."""
        return 1

    def value(self, value: Mixed) -> Any:
        """A number."""
        return 1


def test_every_line_of_the_rules_is_reached_by_a_proof(monkeypatch: pytest.MonkeyPatch) -> None:
    """A new rule, or a new branch of a rule, requires a claim."""
    modules = [import_module(f"stepwell.{name}") for name in MODULES]
    codes = [compile(inspect.getsource(module), inspect.getfile(module), "exec") for module in modules]
    missing = {_name(code): _lines(code) for file in codes for code in _functions(file)}
    files = {name for name, *_ in missing}

    def trace(frame: FrameType, event: str, argument: object) -> Any:
        if frame.f_code.co_filename not in files:
            return None
        lines = missing.get(_name(frame.f_code))
        if not lines:
            return None
        lines.discard(frame.f_lineno)
        return trace

    monkeypatch.setattr(World, "Terms", NoTerms)
    monkeypatch.setattr(World, "claim", lambda world, claim, *given: None)
    monkeypatch.setattr(World, "claim_result", lambda world, result, expected, *operands: None)
    before = sys.gettrace()
    sys.settrace(trace)
    try:
        for function in PROOFS:
            for _ in function():
                pass
    finally:
        sys.settrace(before)
    assert {name: lines for name, lines in missing.items() if lines} == {}

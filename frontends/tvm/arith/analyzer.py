"""Facts about integer expressions: `tvm.arith.Analyzer`, over the passes and the analysis of programs."""

from __future__ import annotations

import math
import operator
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from enum import Flag, IntEnum
from typing import Any

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue

from ....analysis.index import Analyzer as IndexAnalyzer
from ....core.dtypes import int_range, mlir_type
from ....core.walking import find_ops
from ....dialects.tir import ForOp, FuncOp, IfOp, StoreOp, TirBuilder, buffer_type
from ....expressions import axes
from ....expressions.errors import TeError
from ....expressions.expr import IntImm, PrimExpr, Var, as_condition, as_expr, cast
from ....expressions.rewrite import Substitution
from ....expressions.write_expressions import ExpressionEmitter
from ....module import Module
from ....transforms.pipelines import run_pipeline
from ....transforms.tir.simplify import TirSimplifyPass
from ..nodes.functor import post_order_visit
from ..nodes.reading import NodeReader
from .bounds import Ends, interval_bounds
from .int_set import IntervalSet, IntSet, interval_of
from .modular import Congruences, intersection, modular_set
from .widening import Widening


@dataclass(frozen=True)
class ConstIntBound:
    """The interval of the values of an integer expression, both ends included."""

    min_value: int
    max_value: int

    POS_INF = 2**63 - 1
    NEG_INF = -(2**63) + 1


class ProofStrength(IntEnum):
    """How long `can_prove` searches in TVM."""

    DEFAULT = 0
    SYMBOLIC_BOUND = 1


class Extension(Flag):
    """Rules that TVM's `rewrite_simplify` uses on request. `Analyzer` uses all of its rules always."""

    NoExtensions = 0
    TransitivelyProveInequalities = 1
    ConvertBooleanToAndOfOrs = 2
    ApplyConstraintsToBooleanBranches = 4
    ComparisonOfProductAndSum = 8


@dataclass(frozen=True)
class ModularSet:
    """The values `coeff * n + base` of an integer expression, for integers n."""

    coeff: int
    base: int


class Analyzer:
    """An analyzer of integer expressions: ranges of variables and conditions that hold, and what follows from them.

    Arithmetic of int32 and narrower types does not overflow, as TVM assumes: `simplify` and `modular_set` compute in
    int64. That of int64 wraps as programs do (docs/semantics.md). A variable without a range is any number of its type.
    TeError for a variable that is bound twice. enabled_extensions: without an effect.
    """

    def __init__(self) -> None:
        self.enabled_extensions = Extension.NoExtensions
        self._ranges: dict[Var, axes.Range] = {}
        self._values: dict[Var, PrimExpr] = {}
        self._conditions: list[PrimExpr] = []
        self._limits: dict[Var, Ends] = {}

    def bind(self, var: Var, expr: Any, allow_override: bool = False) -> None:
        """Makes a variable range over a `Range`, or stand for an expression."""
        if not allow_override and (var in self._ranges or var in self._values):
            raise TeError(f"bind: variable {var.name} is bound already")
        for known in (self._ranges, self._values, self._limits):
            known.pop(var, None)
        if isinstance(expr, axes.Range):
            self._ranges[var] = expr
        else:
            self._values[var] = cast(var.dtype, expr)

    def update(self, var: Var, info: ConstIntBound, override: bool = False) -> None:
        """Makes a variable range over the interval of `info`, whose ends may be infinite."""
        if info.min_value == ConstIntBound.NEG_INF or info.max_value == ConstIntBound.POS_INF:
            self._limit(var, info, override)
            return
        low, high = (IntImm(var.dtype, value) for value in (info.min_value, info.max_value))
        self.bind(var, axes.Range(low, high - low + 1), override)

    def _limit(self, var: Var, info: ConstIntBound, override: bool) -> None:
        """Makes a variable range over an interval without one of its ends."""
        if not override and (var in self._ranges or var in self._values):
            raise TeError(f"update: variable {var.name} is bound already")
        self._ranges.pop(var, None)
        self._values.pop(var, None)
        low = -math.inf if info.min_value == ConstIntBound.NEG_INF else info.min_value
        high = math.inf if info.max_value == ConstIntBound.POS_INF else info.max_value
        self._limits[var] = (low, high)

    @contextmanager
    def constraint_scope(self, constraint: Any) -> Generator[None]:
        """A context in which a condition holds."""
        self._conditions.append(as_condition(constraint))
        try:
            yield
        finally:
            self._conditions.pop()

    def simplify(self, expr: Any, steps: int = 2) -> PrimExpr:
        """An equal expression that `tir-simplify` makes of an expression. steps: ignored."""
        value = self._binding(as_expr(expr))
        if value.data_type.lanes > 1:
            return value
        if value.data_type.kind != "int" and not value.data_type.is_bool:
            return _Program(self, value).simplified()
        widening, wide, widened = self._widened(value)
        found = widening.narrowed(_Program(wide, widened).simplified(), value)
        return value if found is None else found

    def _widened(self, value: PrimExpr) -> tuple[Widening, Analyzer, PrimExpr]:
        """An expression in int64, and an analyzer with what is known about it."""
        widening = Widening(self._ranges)
        wide = Analyzer()
        wide._ranges = {widening.variable(var): widening.range(interval) for var, interval in self._ranges.items()}
        wide._conditions = [widening.expr(condition) for condition in self.conditions]
        widened = widening.expr(value)
        for variable, interval in widening.ranges_of_leaves():
            wide._ranges.setdefault(variable, interval)
        return widening, wide, widened

    rewrite_simplify = canonical_simplify = simplify

    def can_prove(self, expr: Any, strength: object = None) -> bool:
        """Whether a condition always holds. strength: ignored. False if it may hold, or if the proof is not found."""
        result = self.simplify(as_condition(expr))
        return isinstance(result, IntImm) and bool(result.value)

    def can_prove_equal(self, lhs: Any, rhs: Any) -> bool:
        """Whether two integer expressions are always equal."""
        return self.can_prove(as_expr(lhs) == as_expr(rhs)) or self.can_prove(as_expr(lhs) - as_expr(rhs) == 0)

    def can_prove_less(self, lhs: Any, rhs: Any) -> bool:
        """Whether an integer expression is always less than another."""
        return self.can_prove(as_expr(lhs) < as_expr(rhs))

    def const_int_bound(self, expr: Any) -> ConstIntBound:
        """The interval of the values of an integer expression, as far as the analysis knows. A divisor is not 0."""
        value = self._binding(as_expr(expr))
        program = _Program(self, value)
        analyzer = IndexAnalyzer()
        with analyzer.inside(program.store):
            low, high = analyzer.bounds(analyzer.exact(program.stored))
        lowest, highest = int_range(value.data_type)
        if value.data_type.bits == 64:  # an interval without an end, and constants
            lowest, highest = lowest // 2, highest // 2
        least, most = interval_bounds(value, self._ranges, self._limits)
        least = max(least, -math.inf if low <= lowest else low)
        most = min(most, math.inf if high >= highest else high)
        return ConstIntBound(
            ConstIntBound.NEG_INF if math.isinf(least) else int(least),
            ConstIntBound.POS_INF if math.isinf(most) else int(most),
        )

    def modular_set(self, expr: Any) -> ModularSet:
        """The coefficient and the base of the values of an integer expression: `4 * x + 1` has 4 and 1."""
        value = self._binding(as_expr(expr))
        _, wide, widened = self._widened(value)
        program = _Program(wide, widened)
        analyzer = IndexAnalyzer()
        with analyzer.inside(program.store):
            found = modular_set(analyzer, analyzer.lin(program.stored))
        congruences = Congruences(self.conditions, lambda each: self.const_int_bound(each).min_value >= 0)
        return ModularSet(*intersection(found, congruences.of(value)))

    def int_set(self, expr: Any, dom_map: Mapping[Var, IntSet] | None = None) -> IntervalSet:
        """The interval that an expression takes where variables take all numbers of their sets."""
        return interval_of(self._binding(as_expr(expr)), dict(dom_map or {}), self._ranges)

    def _binding(self, expr: PrimExpr) -> PrimExpr:
        """The expression with variables replaced by the expressions that they stand for."""
        return Substitution(dict(self._values)).expr(expr) if self._values else expr

    @property
    def conditions(self) -> list[PrimExpr]:
        """The conditions that hold."""
        limits = [
            compare(var, int(end))
            for var, (low, high) in self._limits.items()
            for end, compare in ((low, operator.ge), (high, operator.le))
            if not math.isinf(end)
        ]
        return [self._binding(condition) for condition in (*limits, *self._conditions)]

    @property
    def ranges(self) -> dict[Var, axes.Range]:
        """The variables that range over an interval."""
        return dict(self._ranges)


class _Program:
    """A function that stores an expression under the ranges and conditions of an analyzer, for passes to simplify."""

    def __init__(self, analyzer: Analyzer, expr: PrimExpr):
        self.expr = analyzer._binding(expr)  # pyright: ignore[reportPrivateUsage]
        ranges, conditions = analyzer.ranges, analyzer.conditions
        used = _variables([self.expr, *conditions, *(bound for r in ranges.values() for bound in (r.min, r.extent))])
        self.params = [var for var in used if var not in ranges]
        out = _memory_type(self.expr)
        names = [(var.name, mlir_type(var.data_type)) for var in self.params]
        self.func = FuncOp("main", [*names, ("out", out)])
        builder = TirBuilder(self.func.body.block)
        self.values: dict[PrimExpr, SSAValue] = dict(zip(self.params, self.func.body.block.args, strict=False))
        for var, interval in ranges.items():
            emitter = ExpressionEmitter(builder, self.values, {})
            low, extent = (emitter.number(cast(var.dtype, bound)) for bound in (interval.min, interval.extent))
            loop = builder.insert(ForOp(var.name, low, extent, mlir_type(var.data_type)))
            self.values[var] = loop.variable
            builder = TirBuilder(loop.body.block)
        for condition in conditions:
            branch = builder.insert(IfOp(ExpressionEmitter(builder, self.values, {}).write(condition)))
            builder = TirBuilder(branch.then.block)
        stored = ExpressionEmitter(builder, self.values, {}).write(self.expr)
        self.store = builder.store(stored, self.func.body.block.args[-1], [0])
        self.module = ModuleOp([self.func])

    @property
    def stored(self) -> SSAValue:
        """The value of the expression."""
        return self.store.value

    def simplified(self) -> PrimExpr:
        """The expression after `tir-simplify`; itself where nothing can reach it."""
        simple = run_pipeline(Module(self.module), [TirSimplifyPass()])
        (func,) = find_ops(simple.op, FuncOp)
        store = next(iter(find_ops(simple.op, StoreOp)), None)
        if store is None:
            return IntImm("bool", 1) if self.expr.data_type.is_bool else self.expr
        reader = NodeReader(func)
        known: dict[SSAValue, Var] = dict(zip(func.body.block.args, self.params, strict=False))
        loops = [op for op in simple.op.walk() if isinstance(op, ForOp)]
        variables = [var for var in self.values if isinstance(var, Var) and var not in self.params]
        named = {loop.loop_var.data: loop.variable for loop in loops}
        known |= {named[var.name]: var for var in variables if var.name in named}
        reader.vars.update(known)
        return reader.expr(store.value)


def _variables(exprs: list[PrimExpr]) -> list[Var]:
    found: dict[Var, None] = {}

    def visit(node: Any) -> None:
        if isinstance(node, Var):
            found[node] = None

    for expr in exprs:
        post_order_visit(expr, visit)
    return list(found)


def _memory_type(expr: PrimExpr) -> Any:
    """The type of a buffer of one element of the type of an expression."""
    return buffer_type(mlir_type(expr.data_type), [1])

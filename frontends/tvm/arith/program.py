"""Integer expressions as values of a program of loops, for the analyses of programs."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from xdsl.ir import SSAValue

from ....analysis.index import Analyzer as IndexAnalyzer
from ....analysis.index import Lin, export
from ....core.dtypes import mlir_type, parse_dtype
from ....dialects.tir import ForOp, FuncOp, TirBuilder
from ....expressions.axes import Range
from ....expressions.errors import TeError
from ....expressions.expr import IntImm, PrimExpr, Var
from ....expressions.write_expressions import ExpressionEmitter
from ..nodes.reading import NodeReader
from .widening import WIDE, Widening


class IndexProgram:
    """Expressions inside of loops over the ranges of variables, computed in int64.

    ranges: of the variables, outermost first.  loops: their loops.  values: of the expressions.  dtype: the type of
    expressions that `expr` returns, that of the first one.
    """

    def __init__(self, ranges: Mapping[Var, Range], exprs: Sequence[PrimExpr]):
        self._widening = Widening(ranges)
        known = {self._widening.variable(var): self._widening.range(interval) for var, interval in ranges.items()}
        wide = [self._widening.expr(expr) for expr in exprs]
        self.dtype = next((e.dtype for e in exprs if e.data_type.kind == "int"), "int32")
        self._original = next((e for e in exprs if e.dtype == self.dtype), IntImm(self.dtype, 0))
        leaves = dict(self._widening.ranges_of_leaves())
        free = [var for var in self._widening.leaves if var not in known]
        self.func = FuncOp("main", [(var.name, mlir_type(var.data_type)) for var in free])
        builder = TirBuilder(self.func.body.block)
        self._values: dict[PrimExpr, SSAValue] = dict(zip(free, self.func.body.block.args, strict=True))
        self.loops: list[ForOp] = []
        bounded = {var: interval for var, interval in leaves.items() if var in free}
        for var, interval in known.items():
            emitter = ExpressionEmitter(builder, self._values, {})
            low, extent = (emitter.number(bound) for bound in (interval.min, interval.extent))
            loop = builder.insert(ForOp(var.name, low, extent, mlir_type(parse_dtype(WIDE))))
            self._values[var] = loop.variable
            self.loops.append(loop)
            builder = TirBuilder(loop.body.block)
        emitter = ExpressionEmitter(builder, self._values, {})
        self.values = [emitter.write(expr) for expr in wide]
        self._builder = builder
        self.analyzer = IndexAnalyzer()
        for var, interval in bounded.items():
            low, extent = interval.min, interval.extent
            assert isinstance(low, IntImm)
            assert isinstance(extent, IntImm)
            value = Lin.of(self._values[var])
            self.analyzer.assume_not_negative(value - low.value)
            self.analyzer.assume_not_negative(Lin(low.value + extent.value - 1) - value)
        self._variables = {value: var for var, value in self._values.items() if isinstance(var, Var)}

    def lin(self, n: int) -> Lin:
        """The normal form of an expression, inside of the loops."""
        with self.analyzer.inside(self.place):
            return self.analyzer.lin(self.values[n])

    def value_of(self, var: Var) -> SSAValue:
        """The value of a variable that has a range."""
        return self._values[self._widening.variable(var)]

    def leaf_that_depends_on(self, variables: Collection[Var]) -> PrimExpr | None:
        """A part of an expression that counts as a variable, and contains one of some variables; None without one."""
        for leaf in self._widening.leaves.values():
            inside: list[Any] = [] if isinstance(leaf, Var) else [leaf]
            while inside:
                each = inside.pop()
                if each in variables:
                    return leaf
                inside += each.children
        return None

    @property
    def place(self) -> ForOp | FuncOp:
        """The innermost loop, or the function without loops."""
        return self.loops[-1] if self.loops else self.func

    def expr(self, lin: Lin) -> PrimExpr:
        """A sum as an expression of the given variables. TeError for a number that their type does not hold."""
        value = export(self.analyzer, lin, self._builder, mlir_type(parse_dtype(WIDE)))
        reader = NodeReader(self.func)
        reader.vars.update({each: var for each, var in self._variables.items()})
        found = self._widening.narrowed(reader.expr(value), self._original)
        if found is None:
            raise TeError(f"{lin}: a number does not fit {self.dtype}")
        return found


__all__ = ["IndexProgram"]

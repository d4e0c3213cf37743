"""The pass `tir-check-bounds`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NoReturn

from xdsl.context import Context
from xdsl.dialects.builtin import DYNAMIC_INDEX, ModuleOp, VectorType
from xdsl.ir import Block, Operation, SSAValue
from xdsl.passes import ModulePass

from ...analysis.index import Analyzer, Lin
from ...analysis.names import buffer_name
from ...analysis.scopes import ancestors
from ...analysis.threads.axes import BoundLoop, outer_loop_of_axis
from ...core.diagnostics import where
from ...core.errors import PassError
from ...core.intervals import Interval
from ...core.remarks import PassRemarks
from ...dialects.tir import (
    AccessOp,
    AssertOp,
    AttrOp,
    CallExternOp,
    CallIntrinOp,
    CallOp,
    CallPackedOp,
    ForOp,
    FuncOp,
    IfOp,
    LaunchThreadOp,
    LoadOp,
    Mixed,
    RampOp,
    ReturnOp,
    StoreOp,
    WhileOp,
    constant_value,
)
from ...dialects.tir.base import memref_type
from ...dialects.tir.tree import has_effect, is_expression_op
from .preconditions import report_blocks

_remarks = PassRemarks("tir-check-bounds")

_EXITS = (AssertOp, CallExternOp, CallIntrinOp, CallOp, CallPackedOp, ReturnOp)
"""The ops after which a function may not go on."""


class TirCheckBoundsPass(ModulePass):
    """Rejects accesses that every call of the function makes outside of the buffer; changes nothing.

    An access is rejected only where the index analysis proves both: the access is executed (no branch, empty loop,
    assertion, return or call may prevent it), and an index leaves the extent of its dimension for a value of the
    enclosing loop variables. Raises PassError at the access. All other accesses out of bounds remain excluded
    behaviour, which the oracle reports.

    Before
        tir.for serial "i" %i : i32 in [0 +: 64] {
          %x = tir.load %A[%i] : memref<3xf32>
          tir.store %x, %B[%i] : memref<64xf32>
        }

    After
        PassError: A is accessed out of bounds: index 63 of dimension 0, expected 0 <= index < 3

    Must hold before: no tir.block (`tir-resolve-blocks`) and no tir.match_region (`tir-lower-match-buffers`), whose
    accesses are not checked.

    Gone after: nothing.
    """

    name = "tir-check-bounds"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in op.body.block.ops:
            if isinstance(function, FuncOp) and function.private is None:
                _Check(function).block(function.body.block)
                report_blocks(_remarks, function, "are not checked")


class _Check:
    """The check of the statements of a function in order of their execution.

    exits: the ops after which the function may not go on, and the ops around them.  values: for each enclosing loop
    variable the first and last value of the iterations that are executed.
    """

    def __init__(self, function: FuncOp) -> None:
        self.analyzer = Analyzer()
        self.exits = {outer for op in function.walk() if isinstance(op, _EXITS) for outer in (op, *ancestors(op))}
        self.values: dict[SSAValue, Interval] = {}

    def block(self, block: Block) -> None:
        """Checks a block that is executed, up to the first op after which the function may not go on."""
        for op in block.ops:
            self._op(op)
            if op in self.exits:
                return

    def _op(self, op: Operation) -> None:
        match op:
            case LoadOp(predicate=None) | StoreOp(predicate=None):
                self._access(op)
            case ForOp():
                self._loop(op, *op.mixed_bounds)
            case LaunchThreadOp():
                self._loop(op, 0, op.mixed_extent, 1)
            case IfOp():
                truth = self.analyzer.decide(op.condition)
                if truth is not None:
                    self.block((op.then if truth else op.orelse).block)
            case AttrOp():
                self.block(op.body.block)
            case WhileOp():
                self.block(op.condition.block)
            case _:
                pass

    def _loop(self, op: BoundLoop, low: Mixed, extent: Mixed, step: Mixed) -> None:
        """Checks the body of a loop that runs, in all its iterations or, if one may be the last, in the first."""
        if outer_loop_of_axis(op) is not None or self.analyzer.bounds(self.analyzer.exact(extent))[0] < 1:
            return
        if isinstance(low, int) and isinstance(extent, int) and isinstance(step, int):
            last = 0 if op in self.exits else (extent - 1) // step * step
            self.values[op.variable] = (low, low + last)
        self.block(op.body.block)

    def _access(self, op: LoadOp | StoreOp) -> None:
        extents = memref_type(op.buffer).get_shape()
        for dimension, (index, extent) in enumerate(zip(op.indices, extents, strict=True)):
            for low, high in self._lanes(index):
                outside = low if low < 0 else high if high >= extent != DYNAMIC_INDEX else None
                if outside is not None and _is_executed(op):
                    _reject(op, outside, dimension, extent)

    def _lanes(self, index: SSAValue) -> Iterator[Interval]:
        """For the index, or the first and the last lane of a ramp, a bound that its smallest value does not exceed, and
        a bound that its largest value reaches."""
        if not isinstance(index.type, VectorType):
            yield self._reach(self.analyzer.exact(index))
        elif isinstance(ramp := index.owner, RampOp) and isinstance(stride := constant_value(ramp.stride), int):
            base = self.analyzer.exact(ramp.base)
            for lane in (base, base + stride * (ramp.lanes - 1)):
                if self.analyzer.fits(lane, ramp.base.type):
                    yield self._reach(lane)

    def _reach(self, lin: Lin) -> Interval:
        """An upper bound of the smallest and a lower bound of the largest value of a sum in the executed iterations.

        All combinations of the values of enclosing loops are executed, so their extremes are reached together; the
        other terms are only known to lie in their intervals.
        """
        free = Lin(lin.const, {atom: k for atom, k in lin.terms.items() if atom not in self.values})
        at_least, at_most = self.analyzer.bounds(free)
        lowest, highest = at_most, at_least
        for atom, factor in lin.terms.items():
            if isinstance(atom, SSAValue) and atom in self.values:
                ends = [factor * value for value in self.values[atom]]
                lowest, highest = lowest + min(ends), highest + max(ends)
        return lowest, highest


def _is_executed(op: Operation) -> bool:
    """Whether `op` is a statement, or an expression that a statement uses: other loads are left from declarations."""
    if not is_expression_op(op) or has_effect(op):
        return not isinstance(op, AccessOp)
    return any(_is_executed(use.operation) for result in op.results for use in result.uses)


def _reject(op: LoadOp | StoreOp, index: int, dimension: int, extent: int) -> NoReturn:
    limit = "" if extent == DYNAMIC_INDEX else f" < {extent}"
    raise PassError(
        f"{where(op)}{buffer_name(op.buffer)} is accessed out of bounds: index {index} of dimension {dimension}, "
        f"expected 0 <= index{limit}"
    )

"""Bottom-up rewriting of expressions."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from .axes import IterVar, Range
from .expr import PrimExpr, Var
from .tensor import CommReducer, ProducerLoad, Reduce, Tensor, reductions

TensorMap = Callable[[Tensor], Tensor]


class ExpressionRewriter:
    """Rewrites expressions from the leaves up, each node once.

    known: the replacement of each node rewritten so far; subclasses define the other replacements in `rebuild`.
    """

    def __init__(self, known: Mapping[Any, PrimExpr]):
        self.known: dict[PrimExpr, PrimExpr] = {**known}

    def expr(self, expr: PrimExpr) -> PrimExpr:
        """Rewrites an expression."""
        todo = [expr]
        while todo:
            top = todo[-1]
            missing = [child for child in top.children if child not in self.known]
            if top not in self.known and missing:  # children first: no recursion, whose depth would grow with the tree
                todo += missing
                continue
            todo.pop()
            if top not in self.known:
                self.known[top] = self.rebuild(top, [self.known[child] for child in top.children])
        return self.known[expr]

    def exprs(self, exprs: Sequence[PrimExpr]) -> tuple[PrimExpr, ...]:
        """Rewrites several expressions."""
        return tuple(map(self.expr, exprs))

    def body(self, body: Sequence[PrimExpr], axes: Sequence[IterVar] | None = None) -> tuple[PrimExpr, ...]:
        """Rewrites the body of an operation; a reduction reduces `axes`, by default its own."""
        first = body[0]
        if not isinstance(first, Reduce):
            return self.exprs(body)
        along = [self.axis(axis) for axis in first.axis] if axes is None else axes
        combiner = self.combiner(first.combiner)
        return reductions(combiner, self.exprs(first.source), along, self.expr(first.condition), self.exprs(first.init))

    def combiner(self, combiner: CommReducer) -> CommReducer:
        """The combiner with its expressions rewritten, which may contain axes of the operation, or `combiner` itself if
        they are unchanged."""
        result, identity = self.exprs(combiner.result), self.exprs(combiner.identity_element)
        before = (*combiner.result, *combiner.identity_element)
        if all(a is b for a, b in zip((*result, *identity), before, strict=True)):
            return combiner
        return replace(combiner, result=result, identity_element=identity)

    def axis(self, axis: IterVar) -> IterVar:
        """The axis with the bounds of its domain rewritten, or `axis` itself if they are unchanged."""
        assert axis.dom is not None
        low, extent = self.exprs([axis.dom.min, axis.dom.extent])
        if low is axis.dom.min and extent is axis.dom.extent:
            return axis
        return IterVar(Range(low, extent), axis.var, axis.kind, axis.thread_tag)

    def rebuild(self, expr: PrimExpr, children: Sequence[PrimExpr]) -> PrimExpr:
        """The replacement of `expr`: a copy with other operands, or `expr` itself if all operands are unchanged."""
        if all(a is b for a, b in zip(expr.children, children, strict=True)):
            return expr
        return expr.with_children(children)


class Substitution(ExpressionRewriter):
    """Substitutes expressions for variables, and replaces the tensors that expressions load from."""

    def __init__(self, variables: Mapping[Var, PrimExpr], tensors: TensorMap = lambda tensor: tensor):
        super().__init__(variables)
        self.tensors = tensors

    def rebuild(self, expr: PrimExpr, children: Sequence[PrimExpr]) -> PrimExpr:
        if isinstance(expr, ProducerLoad):
            return ProducerLoad(self.tensors(expr.producer), children)
        return super().rebuild(expr, children)

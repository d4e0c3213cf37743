"""Expressions written anew, from their leaves."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from .axes import IterVar
from .expr import PrimExpr, Var
from .tensor import ProducerLoad, Reduce, Tensor, reductions

TensorMap = Callable[[Tensor], Tensor]


class Rewriting:
    """Expressions written anew. `known` says what has become of which; a subclass says what becomes of the others."""

    def __init__(self, known: Mapping[Any, PrimExpr]):
        self.known: dict[PrimExpr, PrimExpr] = {**known}

    def expr(self, expr: PrimExpr) -> PrimExpr:
        """One expression."""
        todo = [expr]
        while todo:
            top = todo[-1]
            missing = [child for child in top.children if child not in self.known]
            if top not in self.known and missing:  # first, so that recursion does not grow with the expression
                todo += missing
                continue
            todo.pop()
            if top not in self.known:
                self.known[top] = self.made(top, [self.known[child] for child in top.children])
        return self.known[expr]

    def exprs(self, exprs: Sequence[PrimExpr]) -> tuple[PrimExpr, ...]:
        """Several expressions."""
        return tuple(map(self.expr, exprs))

    def body(self, body: Sequence[PrimExpr], axes: Sequence[IterVar] | None = None) -> tuple[PrimExpr, ...]:
        """What an operation computes, by the combiner that it had and along `axes`, else along those that it had."""
        first = body[0]
        if not isinstance(first, Reduce):
            return self.exprs(body)
        along = first.axis if axes is None else axes
        return reductions(
            first.combiner, self.exprs(first.source), along, self.expr(first.condition), self.exprs(first.init)
        )

    def made(self, expr: PrimExpr, children: Sequence[PrimExpr]) -> PrimExpr:
        """An expression of other operands. What stays the same stays the same object."""
        if all(a is b for a, b in zip(expr.children, children, strict=True)):
            return expr
        return expr.with_children(children)


class Substitution(Rewriting):
    """Expressions with other values for variables, and other tensors to read from."""

    def __init__(self, variables: Mapping[Var, PrimExpr], tensors: TensorMap = lambda tensor: tensor):
        super().__init__(variables)
        self.tensors = tensors

    def made(self, expr: PrimExpr, children: Sequence[PrimExpr]) -> PrimExpr:
        if isinstance(expr, ProducerLoad):
            return ProducerLoad(self.tensors(expr.producer), children)
        return super().made(expr, children)

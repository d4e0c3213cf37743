"""Axes: variables with their domains."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from .errors import TeError
from .expr import ExprConvertible, ExprLike, ExtentImm, IntImm, Operators, PrimExpr, Var, as_expr, promote_operands


@dataclass(frozen=True)
class Range:
    """The interval `[min, min + extent)` of integers."""

    min: PrimExpr
    extent: PrimExpr


class IterVar(ExprConvertible, Operators):
    """An axis: a variable and its domain. kind: spatial, reduce, scan, opaque, or thread.

    In expressions, including `axis == 2`, an axis converts to its variable.
    """

    __slots__ = ("dom", "kind", "thread_tag", "var")

    DataPar, ThreadIndex, CommReduce, Ordered, Opaque, Unrolled, Vectorized, Parallelized, Tensorized = range(9)

    def __init__(self, dom: Range | None, var: Var, kind: str, thread_tag: str = ""):
        self.dom = dom
        self.var = var
        self.kind = kind
        self.thread_tag = thread_tag

    @property
    def iter_type(self) -> int:
        """TVM's number of the kind: `DataPar`, `ThreadIndex`, `CommReduce`, `Ordered` or `Opaque`."""
        return ("spatial", "thread", "reduce", "scan", "opaque").index(self.kind)

    def asexpr(self) -> PrimExpr:
        return self.var

    def __eq__(self, other: object) -> Any:
        return self.var == other

    def __ne__(self, other: object) -> Any:
        return self.var != other

    def __hash__(self) -> int:
        return id(self)

    def __repr__(self) -> str:
        return f"iter_var({self.var.name}, {self.dom}, {self.kind})"


def as_index(value: Any, what: str) -> PrimExpr:
    """A size, bound or index as an integer expression. TeError for a value of another type; `what` describes it.

    A whole float, such as the quotient `N / 32` of two integers of Python, denotes its integer.
    """
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, float) or (isinstance(value, PrimExpr | ExprConvertible) and not _is_integer(value)):
        raise TeError(f"{what}: {value!r}, expected an integer")
    expr = as_expr(value)
    if expr.data_type.is_bool:
        raise TeError(f"{what}: {value!r}, expected an integer")
    return ExtentImm(expr.dtype, expr.value) if type(expr) is IntImm else expr


def _is_integer(value: Any) -> bool:
    dtype = as_expr(value).data_type
    return dtype.is_int and dtype.lanes == 1


def reduce_axis(dom: Sequence[ExprLike] | Range, name: str = "rv", thread_tag: str = "", span: None = None) -> IterVar:
    """A reduction axis. dom: its lower bound and its exclusive upper bound, or a `Range`."""
    if not isinstance(dom, Range):
        if len(dom) != 2:
            raise TeError(f"reduce_axis {name}: a domain of {len(dom)} numbers, expected the first and the end")
        low, end = promote_operands(*(as_index(bound, f"reduce_axis {name}") for bound in dom))
        dom = Range(low, end - low)
    if isinstance(dom.extent, IntImm) and dom.extent.value < 0:
        raise TeError(f"reduce_axis {name}: ends before it starts")
    return IterVar(dom, Var(name, dom.extent.dtype), "reduce", thread_tag)


def thread_axis(dom: Any = None, tag: str = "", name: str = "", span: None = None) -> IterVar:
    """An axis of the threads or thread blocks of a GPU, or of virtual threads."""
    if isinstance(dom, str):
        dom, tag = None, dom
    if not tag:
        raise TeError("thread_axis: no tag, expected threadIdx.x, blockIdx.x, vthread, ...")
    low_high = None if dom is None else (dom if isinstance(dom, Sequence) else (0, dom))
    known = None
    if low_high is not None:
        low, end = promote_operands(*(as_index(bound, f"thread_axis {tag}") for bound in low_high))  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
        known = Range(low, end - low)
    return IterVar(known, Var(name or tag), "thread", tag)

"""The number of floating-point operations of a schedule."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from .....core.errors import UnsupportedError
from .....expressions.axes import IterVar
from .....expressions.expr import And, BinaryOp, FloatImm, IfThenElse, IntImm, Not, PrimExpr, Select, StringImm, Var
from .....expressions.tensor import ComputeOp, PlaceholderOp, ProducerLoad, Reduce
from ....te.schedule import Schedule


class FlopError(UnsupportedError, RuntimeError):
    """A schedule whose operations are not counted, or that has none."""


def compute_flop(sch: Schedule) -> int:
    """The number of operations of the tensors of a schedule: one for each operator on numbers, none for an index, a
    constant or a cast; a tensor that several read counts for each, as in TVM.

    FlopError for tensors that are not computed element by element, with extents that are no constants, or without an
    operation: expected `cfg.add_flop` in the template.
    """
    count = sum(_flops_of(op) for op in sch.outputs)
    if not count:
        raise FlopError("no operation on numbers to count, expected cfg.add_flop in the template")
    return count


def _flops_of(op: object) -> int:
    if isinstance(op, PlaceholderOp):
        return 0
    if not isinstance(op, ComputeOp) or len(op.body) != 1:
        name = getattr(op, "name", op)
        raise FlopError(f"{name}: expected a te.compute of one tensor, or cfg.add_flop in the template")
    own = _iterations(op.axis) * _count(op.body[0])
    return own + sum(_flops_of(tensor.op) for tensor in op.input_tensors)


def _iterations(axes: Sequence[IterVar]) -> int:
    extents = [axis.dom.extent if axis.dom is not None else None for axis in axes]
    if not all(isinstance(each, IntImm) for each in extents):
        raise FlopError("an extent is no constant, expected cfg.add_flop in the template")
    return prod(each.value for each in extents if isinstance(each, IntImm))


def _count(expr: PrimExpr) -> int:
    match expr:
        case Reduce():
            if len(expr.source) != 1:
                raise FlopError("a reduction of several values, expected cfg.add_flop in the template")
            return _iterations(expr.axis) * (_count(expr.combiner.result[0]) + _count(expr.source[0]))
        case ProducerLoad() | IntImm() | FloatImm() | StringImm() | Var():
            return 0
        case Select() | IfThenElse():
            condition, *values = expr.children
            return _count(condition) + max(map(_count, values))
        case _:
            return isinstance(expr, BinaryOp | And | Not) + sum(map(_count, expr.children))

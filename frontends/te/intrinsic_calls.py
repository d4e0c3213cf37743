"""Tensors whose innermost dimensions a tensor intrinsic computes: `te.compute(shape, lambda i: intrin(A[i, 0:16]))`."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from ...expressions import functions, tensor
from ...expressions.axes import IterVar
from ...expressions.errors import TeError
from ...expressions.expr import PrimExpr, Var, as_expr
from ...expressions.rewrite import ExpressionRewriter
from ...expressions.tensor import ComputeOp, Operation, ProducerLoad, Reduce, Tensor, TensorSlice, reductions

if TYPE_CHECKING:
    from .tensor_intrin import TensorIntrin


@dataclass(frozen=True, eq=False)
class IntrinsicCall:
    """A call of a tensor intrinsic on parts of tensors.

    inputs: a part for each input.  reduced: the axes along which the results of the calls are added.
    """

    intrin: TensorIntrin
    inputs: tuple[TensorSlice, ...]
    reduced: tuple[IterVar, ...]

    def values(self, indices: Sequence[Var]) -> Any:
        """The elements of the results at indices. TeError for several results that are added along `reduced`."""
        op = self.intrin.op
        read = dict(zip(self.intrin.inputs, map(_Part, self.inputs), strict=True))
        change = _Inputs({axis.var: index for axis, index in zip(op.axis, indices, strict=True)}, read)
        first = op.body[0]
        if isinstance(first, Reduce):
            axes = [*self.reduced, *first.axis]
            source, init = change.exprs(first.source), change.exprs(first.init)
            return reductions(first.combiner, source, axes, change.expr(first.condition), init)
        values = list(change.exprs(op.body))
        if not self.reduced:
            return values
        if len(values) > 1:
            raise TeError(f"tensor intrinsic {self.intrin.name}: reduce_axis for {len(values)} results, expected one")
        return [functions.sum(value, axis=list(self.reduced)) for value in values]


class _Part:
    """A part of a tensor: positions in some dimensions, intervals in the others."""

    def __init__(self, part: TensorSlice):
        self.tensor: Tensor = part.tensor
        rest = [slice(None)] * (self.tensor.ndim - len(part.indices))
        self.places: list[Any] = [*part.indices, *rest]

    def load(self, indices: Sequence[PrimExpr]) -> PrimExpr:
        """The element at indices of the part. Leading dimensions of the part may be positions."""
        left = list(indices)
        places: list[PrimExpr] = []
        for place in reversed(self.places):
            if not isinstance(place, slice):
                places.append(as_expr(place))
            elif not left:
                raise TeError(f"part of {self.tensor.name}: more intervals than dimensions of the input")
            else:
                start = left.pop()
                places.append(start if place.start is None else start + place.start)
        if left:
            raise TeError(f"part of {self.tensor.name}: {len(left)} intervals too few for the input")
        return self.tensor(*reversed(places))


class _Inputs(ExpressionRewriter):
    """Replaces the inputs of an intrinsic by parts of tensors."""

    def __init__(self, known: Mapping[Any, PrimExpr], parts: Mapping[Tensor, _Part]):
        super().__init__(known)
        self._parts = parts

    def rebuild(self, expr: PrimExpr, children: Sequence[PrimExpr]) -> PrimExpr:
        if isinstance(expr, ProducerLoad):
            return self._parts[expr.producer].load(children)
        return super().rebuild(expr, children)


_calls: WeakKeyDictionary[Operation, tuple[IntrinsicCall, int]] = WeakKeyDictionary()
"""The call of an operation, and the number of its dimensions that the call does not compute."""


def compute(
    shape: Any,
    fcompute: Callable[..., Any],
    name: str = "compute",
    tag: str = "",
    attrs: Mapping[str, Any] | None = None,
    varargs_names: Sequence[str] | None = None,
) -> Any:
    """`te.compute`; with a function of fewer variables than dimensions, which calls a tensor intrinsic for the last
    ones. The schedule of such a tensor computes these dimensions by the intrinsic.

    TeError as of `te.compute`, and for a function of fewer variables that calls no intrinsic.
    """
    rank = len(shape) if isinstance(shape, list | tuple) else 1  # pyright: ignore[reportUnknownArgumentType]
    parameters = inspect.signature(fcompute).parameters.values()
    names = [parameter.name for parameter in parameters if parameter.kind is parameter.POSITIONAL_OR_KEYWORD]
    if len(names) >= rank or len(names) < len(parameters):
        return tensor.compute(shape, fcompute, name, tag, attrs, varargs_names)
    calls: list[IntrinsicCall] = []

    def element(*indices: Any) -> Any:
        call = fcompute(*indices[: len(names)])
        if not isinstance(call, IntrinsicCall):
            raise TeError(f"compute {name}: a function of {len(names)} variables for {rank} dimensions")
        calls.append(call)
        return call.values(indices[len(names) :])

    inside = [f"ax{n}" for n in range(rank - len(names))]
    result = tensor.compute(shape, element, name, tag, attrs, [*names, *inside])
    op = (result[0] if isinstance(result, tuple) else result).op
    _calls[op] = (calls[0], len(names))
    return result


def axes_of_call(op: Operation) -> tuple[TensorIntrin, list[IterVar]] | None:
    """The intrinsic that computes the innermost loops of an operation, and its loops in their order, those that the
    intrinsic does not compute first; None for another operation."""
    if op not in _calls:
        return None
    call, outer = _calls[op]
    assert isinstance(op, ComputeOp)
    inside = [axis for axis in op.reduce_axis if axis not in call.reduced]
    return call.intrin, [*op.axis[:outer], *call.reduced, *op.axis[outer:], *inside]


def first_axis_of_call(op: Operation) -> IterVar:
    """The outermost loop that the intrinsic of an operation computes."""
    call, outer = _calls[op]
    assert isinstance(op, ComputeOp)
    return [*op.axis[outer:], *(axis for axis in op.reduce_axis if axis not in call.reduced)][0]

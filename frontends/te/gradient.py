"""Gradients of tensors: `te.gradient`, by reverse differentiation of their definitions."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import reduce
from math import pi
from typing import Any, TypeAlias

from ...core.errors import UnsupportedError
from ...expressions import functions as scalar
from ...expressions.axes import IterVar
from ...expressions.errors import TeError
from ...expressions.expr import (
    Add,
    Call,
    Cast,
    CmpOp,
    Div,
    IfThenElse,
    IntImm,
    Max,
    Min,
    Mul,
    PrimExpr,
    Select,
    Sub,
    Var,
    cast,
    const,
)
from ...expressions.rewrite import Substitution
from ...expressions.tensor import (
    CommReducer,
    ComputeOp,
    ProducerLoad,
    Reduce,
    Tensor,
    compute,
    is_same_extent,
    reductions,
    tensor_loads,
    topological_order,
)

Extents: TypeAlias = "Mapping[Var, PrimExpr]"


def gradient(output: Tensor, inputs: Sequence[Tensor] | Tensor, head: Tensor | None = None) -> list[Tensor]:
    """The derivatives of a tensor with respect to others, each of the shape `prefix + input.shape`.

    head: the derivatives of a further value with respect to `output`, of the shape `prefix + output.shape`; by default
    `prefix` is the shape of `output`, and the results are its derivatives element by element.

    Of a maximum or minimum that several elements attain, each counts. TeError for a head of another shape,
    UnsupportedError for an operation that has no derivative here: scans, calls.
    """
    wanted = [inputs] if isinstance(inputs, Tensor) else list(inputs)
    if head is None:
        head = _identity(output)
    rank = head.ndim - output.ndim
    prefix, rest = head.shape[: max(rank, 0)], head.shape[max(rank, 0) :]
    if rank < 0 or not all(is_same_extent(a, b) for a, b in zip(rest, output.shape, strict=True)):
        raise TeError(f"gradient: head of shape {list(head.shape)}, expected one that ends in {list(output.shape)}")
    adjoints: dict[Tensor, Tensor] = {output: head}
    order = topological_order([output])
    needed = _needed(order, set(wanted))
    for op in reversed(order):
        for index in range(op.num_outputs):
            tensor = op.output(index)
            if tensor in adjoints:
                for source in dict.fromkeys(op.input_tensors):
                    if source in needed:
                        part = _adjoint(tensor, source, adjoints[tensor], prefix)
                        adjoints[source] = _sum(adjoints[source], part) if source in adjoints else part
    return [adjoints[each] if each in adjoints else _zeros(each, prefix) for each in wanted]


def _needed(order: Sequence[Any], wanted: set[Tensor]) -> set[Tensor]:
    """The tensors that depend on the wanted ones, and these."""
    needed = set(wanted)
    for op in order:
        if any(tensor in needed for tensor in op.input_tensors):
            needed.update(op.output(n) for n in range(op.num_outputs))
    return needed


def _identity(output: Tensor) -> Tensor:
    rank = output.ndim

    def element(*axes: Any) -> PrimExpr:
        same = [a.equal(b) for a, b in zip(axes[:rank], axes[rank:], strict=True)]
        return scalar.if_then_else(scalar.all(*same), const(1, output.dtype), const(0, output.dtype))

    if not rank:
        return compute((), lambda: const(1, output.dtype), name="head")
    return compute((*output.shape, *output.shape), element, name="head")


def _zeros(tensor: Tensor, prefix: Sequence[PrimExpr]) -> Tensor:
    def element(*axes: Any) -> PrimExpr:
        return const(0, tensor.dtype)

    return compute((*prefix, *tensor.shape), element, name=f"{tensor.name}_grad")


def _sum(a: Tensor, b: Tensor) -> Tensor:
    def element(*axes: Any) -> PrimExpr:
        return a(*axes) + b(*axes)

    return compute(a.shape, element, name=f"{a.name}_sum")


# One step


def _adjoint(tensor: Tensor, source: Tensor, head: Tensor, prefix: Sequence[PrimExpr]) -> Tensor:
    """The part of the derivatives with respect to `source` that passes through `tensor`, which reads it."""
    op = tensor.op
    if not isinstance(op, ComputeOp):
        raise UnsupportedError(f"gradient: {tensor.name} is computed by {type(op).__name__}, expected te.compute")
    body = op.body[tensor.value_index]
    factor: PrimExpr | None = None
    if isinstance(body, Reduce) and not _is_plain(body):
        return _contraction(head, _jacobian(body, tensor, source, op), op, prefix)
    if isinstance(body, Reduce):
        inside, factor = _of_reduction(body, tensor, op)
    else:
        inside = body
    parts: list[Tensor] = []
    for load in tensor_loads([inside]):
        if load.producer == source:
            slope = _derivative(inside, load, tensor.name)
            if slope is not None:
                slope = slope if factor is None else slope * factor
                parts.append(_spread(load, slope, head, prefix, op, isinstance(body, Reduce)))
    return reduce(_sum, parts) if parts else _zeros(source, prefix)


def _is_plain(body: Reduce) -> bool:
    """Whether a reduction is a sum, a maximum or a minimum without initial values."""
    return len(body.source) == 1 and not body.init and isinstance(body.combiner.result[0], Add | Max | Min)


def _of_reduction(body: Reduce, tensor: Tensor, op: ComputeOp) -> tuple[PrimExpr, PrimExpr | None]:
    """The reduced expression of a plain reduction, and the factor of its derivatives."""
    inside = body.source[0]
    factor: PrimExpr | None = None
    if not isinstance(body.combiner.result[0], Add):
        chosen = tensor(*(axis.var for axis in op.axis))
        factor = Select(inside.equal(chosen), const(1, inside.dtype), const(0, inside.dtype))
    if not (isinstance(body.condition, IntImm) and body.condition.value):
        inside = Select(body.condition, inside, const(0, inside.dtype))
    return inside, factor


def _jacobian(body: Reduce, tensor: Tensor, source: Tensor, op: ComputeOp) -> Tensor:
    """The derivatives of the elements of a reduction with respect to those of `source`: values are reduced together
    with their derivatives."""
    places = [Var(f"j{d}", extent.dtype) for d, extent in enumerate(source.shape)]
    kept = [n for n, value in enumerate(body.source) if value.data_type.is_float]

    def slopes(values: Sequence[PrimExpr]) -> list[PrimExpr]:
        return [_slope_at(values[n], source, places, tensor.name) for n in kept]

    combiner = _dual(body.combiner, kept, tensor.name)
    init = [*body.init, *slopes(body.init)] if body.init else []
    fresh = _reduction_axes(body.axis)
    inner = Substitution({old: new.var for old, new in fresh.items()})
    terms = inner.exprs([*body.source, *slopes(body.source)])
    condition = inner.expr(body.condition)

    def element(*indices: Any) -> Any:
        own = Substitution(dict(zip([*(axis.var for axis in op.axis), *places], indices, strict=True)))
        values = own.exprs(terms), list(fresh.values()), own.expr(condition), own.exprs(init)
        return reductions(combiner, *values)

    results = compute((*tensor.shape, *source.shape), element, name=f"{tensor.name}_slopes")
    return results[len(body.source) + kept.index(tensor.value_index)]


def _slope_at(value: PrimExpr, source: Tensor, places: Sequence[Var], name: str) -> PrimExpr:
    """The derivative of a value with respect to the element of `source` at `places`."""
    total = const(0, value.dtype)
    for load in tensor_loads([value]):
        if load.producer == source:
            slope = _derivative(value, load, name)
            if slope is not None:
                same = [
                    index.equal(cast(index.dtype, place)) for index, place in zip(load.indices, places, strict=True)
                ]
                total = total + (Select(scalar.all(*same), slope, const(0, slope.dtype)) if same else slope)
    return total


def _dual(combiner: CommReducer, kept: Sequence[int], name: str) -> CommReducer:
    """The combiner of values and of the derivatives of those in `kept`, which are floats."""
    sides = [combiner.lhs, combiner.rhs]
    more = [tuple(Var(f"{side[n].name}_slope", side[n].dtype) for n in kept) for side in sides]
    results: list[PrimExpr] = []
    for n in kept:
        total = const(0, combiner.result[n].dtype)
        for side, slopes in zip(sides, more, strict=True):
            for k, slope in zip(kept, slopes, strict=True):
                factor = _derivative(combiner.result[n], side[k], name)
                total = total if factor is None else total + factor * slope
        results.append(total)
    zeros = [const(0, combiner.result[n].dtype) for n in kept]
    return CommReducer(
        f"{combiner.name}_gradient",
        (*combiner.lhs, *more[0]),
        (*combiner.rhs, *more[1]),
        (*combiner.result, *results),
        (*combiner.identity_element, *zeros),
    )


def _contraction(head: Tensor, jacobian: Tensor, op: ComputeOp, prefix: Sequence[PrimExpr]) -> Tensor:
    """The sum of the products of `head[p, i]` and `jacobian[i, j]`."""
    axes = list(_reduction_axes(op.axis).values())
    at, rank = [axis.var for axis in axes], len(prefix)

    def element(*indices: Any) -> Any:
        term = head(*indices[:rank], *at) * jacobian(*at, *indices[rank:])
        return scalar.sum(term, axis=axes) if axes else term

    return compute((*prefix, *jacobian.shape[len(axes) :]), element, name="grad")


def _reduction_axes(axes: Sequence[IterVar]) -> dict[Var, IterVar]:
    """New reduction axes with the domains of axes, by the variables of these."""
    return {axis.var: IterVar(axis.dom, Var(axis.var.name, axis.var.dtype), "reduce") for axis in axes}


def _spread(
    load: ProducerLoad, slope: PrimExpr, head: Tensor, prefix: Sequence[PrimExpr], op: ComputeOp, reduced: bool
) -> Tensor:
    """The tensor whose element at `p, j` is the sum of `head[p, i] * slope` over the points at which `load` reads the
    element `j`."""
    axes = [*op.axis, *(op.reduce_axis if reduced else ())]
    places = [Var(f"j{d}", extent.dtype) for d, extent in enumerate(load.producer.shape)]
    found, guards = _solve(load.indices, places, load.producer.shape, axes)
    left = [axis for axis in axes if axis.var not in found]
    fresh = _reduction_axes(left)
    values: dict[Any, PrimExpr] = {old: new.var for old, new in fresh.items()}
    values |= {var: Substitution(values).expr(value) for var, value in found.items()}
    before = [Var(f"p{n}", extent.dtype) for n, extent in enumerate(prefix)]
    term = head(*before, *(axis.var for axis in op.axis)) * slope
    replaced = Substitution(values)
    term = replaced.expr(term)
    if guards:
        condition = scalar.all(*(Substitution(values).expr(guard) for guard in guards))
        term = scalar.if_then_else(condition, term, const(0, term.dtype))

    def element(*indices: Any) -> Any:
        own = dict(zip([*before, *places], indices, strict=True))
        value = Substitution(own).expr(term)
        return scalar.sum(value, axis=list(fresh.values())) if fresh else value

    return compute((*prefix, *load.producer.shape), element, name=f"{load.producer.name}_grad")


def _solve(
    indices: Sequence[PrimExpr], places: Sequence[Var], extents: Sequence[PrimExpr], axes: Sequence[IterVar]
) -> tuple[dict[Var, PrimExpr], list[PrimExpr]]:
    """The axes that the equations `indices == places` determine, in terms of the others, and the conditions under which
    there is a solution."""
    open_axes = {axis.var: axis.dom.extent for axis in axes if axis.dom is not None}
    found: dict[Var, PrimExpr] = {}
    guards: list[PrimExpr] = []
    for index, place, extent in zip(indices, places, extents, strict=True):
        index = Substitution(found).expr(index)
        var = next((each for each in open_axes if _coefficient(index, each) in (1, -1)), None)
        if var is None:
            guards.append(index.equal(cast(index.dtype, place)))
            continue
        is_plain = index is var
        rest = Substitution({var: const(0, var.dtype)}).expr(index)
        at: PrimExpr = cast(index.dtype, place)
        value = cast(var.dtype, place if is_plain else at - rest if _coefficient(index, var) == 1 else rest - at)
        own = open_axes.pop(var)
        if not (is_plain and is_same_extent(own, extent)):
            guards += [value >= 0, value < own]
        found = {each: Substitution({var: value}).expr(old) for each, old in found.items()}
        found[var] = value
    return found, guards


def _coefficient(index: PrimExpr, var: Var) -> int | None:
    """The factor of a variable in a sum, 0 if it does not appear, None for another form."""
    if index is var:
        return 1
    match index:
        case Add(a=a, b=b) | Sub(a=a, b=b):
            left, right = _coefficient(a, var), _coefficient(b, var)
            if left is None or right is None:
                return None
            return left + right if isinstance(index, Add) else left - right
        case Mul(a=a, b=IntImm(value=count)):
            inner = _coefficient(a, var)
            return None if inner is None else inner * count
        case Mul(a=IntImm(value=count), b=b):
            inner = _coefficient(b, var)
            return None if inner is None else inner * count
        case Cast(value=value):
            return _coefficient(value, var)
        case _:
            return None if _contains(index, var) else 0


def _contains(expr: PrimExpr, node: PrimExpr) -> bool:
    todo, seen = [expr], set[PrimExpr]()
    while todo:
        top = todo.pop()
        if top is node:
            return True
        if top not in seen:
            seen.add(top)
            todo += top.children
    return False


# Derivatives of functions

_Slope: TypeAlias = "Callable[[PrimExpr, PrimExpr], Any]"
_SLOPES: dict[str, _Slope] = {
    "exp": lambda x, y: y,
    "exp2": lambda x, y: y * 0.6931471805599453,
    "exp10": lambda x, y: y * 2.302585092994046,
    "log": lambda x, y: 1.0 / x,
    "log2": lambda x, y: 1.4426950408889634 / x,
    "log10": lambda x, y: 0.4342944819032518 / x,
    "log1p": lambda x, y: 1.0 / (x + 1.0),
    "sqrt": lambda x, y: 0.5 / y,
    "rsqrt": lambda x, y: -0.5 * y / x,
    "sigmoid": lambda x, y: y * (1.0 - y),
    "tanh": lambda x, y: 1.0 - y * y,
    "sin": lambda x, y: scalar.cos(x),
    "cos": lambda x, y: -scalar.sin(x),
    "tan": lambda x, y: 1.0 + y * y,
    "sinh": lambda x, y: scalar.cosh(x),
    "cosh": lambda x, y: scalar.sinh(x),
    "asin": lambda x, y: scalar.rsqrt(1.0 - x * x),
    "acos": lambda x, y: -scalar.rsqrt(1.0 - x * x),
    "atan": lambda x, y: 1.0 / (1.0 + x * x),
    "erf": lambda x, y: scalar.exp(-x * x) * (2.0 / pi**0.5),
    "abs": lambda x, y: Select(x >= 0.0, const(1, x.dtype), const(-1, x.dtype)),
    "likely": lambda x, y: const(1, x.dtype),
}
"""The derivative of each function of one float at `x`, where its value is `y`."""
_STEPS = ("floor", "ceil", "round", "trunc", "nearbyint", "isnan", "isinf", "isfinite")
"""The functions that are constant between steps."""


def _derivative(expr: PrimExpr, load: ProducerLoad | Var, name: str) -> PrimExpr | None:
    """The derivative of an expression with respect to an element of a tensor or a variable, None for 0."""
    known: dict[PrimExpr, PrimExpr | None] = {load: const(1, load.dtype)}

    def of(node: PrimExpr) -> PrimExpr | None:
        if node not in known:
            known[node] = _rule(node, of, name) if _contains(node, load) else None
        return known[node]

    return of(expr)


def _rule(node: PrimExpr, of: Callable[[PrimExpr], PrimExpr | None], name: str) -> PrimExpr | None:
    match node:
        case Add(a=a, b=b):
            return _plus(of(a), of(b))
        case Sub(a=a, b=b):
            left, right = of(a), of(b)
            return _plus(left, None if right is None else -right)
        case Mul(a=a, b=b):
            return _plus(_times(of(a), b), _times(of(b), a))
        case Div(a=a, b=b) if node.data_type.is_float:
            left, right = of(a), of(b)
            return _plus(None if left is None else left / b, None if right is None else -(right * a) / (b * b))
        case Max(a=a, b=b) | Min(a=a, b=b):
            first = a >= b if isinstance(node, Max) else a <= b
            return _chosen(Select, first, of(a), of(b), node)
        case Select(condition=condition, true_value=a, false_value=b):
            return _chosen(Select, condition, of(a), of(b), node)
        case IfThenElse(condition=condition, true_value=a, false_value=b):
            return _chosen(IfThenElse, condition, of(a), of(b), node)
        case Cast(value=value):
            inner = of(value)
            is_float = node.data_type.is_float and value.data_type.is_float
            return cast(node.dtype, inner) if is_float and inner is not None else None
        case Call(op=op, args=(x,)) if op in _SLOPES:
            return _times(of(x), _SLOPES[op](x, node))
        case Call(op="pow", args=(x, y)):
            base, exponent = of(x), of(y)
            return _plus(
                _times(base, y * scalar.power(x, y - 1.0)),
                None if exponent is None else exponent * node * scalar.log(x),
            )
        case Call(op=op) if op in _STEPS:
            return None
        case CmpOp():
            return None
        case _ if not node.data_type.is_float:
            return None
        case _:
            kind = node.op if isinstance(node, Call) else type(node).__name__
            raise UnsupportedError(f"gradient: {kind} in {name} has no derivative here")


def _plus(a: PrimExpr | None, b: PrimExpr | None) -> PrimExpr | None:
    return b if a is None else a if b is None else a + b


def _times(slope: PrimExpr | None, factor: PrimExpr) -> PrimExpr | None:
    return None if slope is None else slope * factor


def _chosen(kind: Any, condition: PrimExpr, a: PrimExpr | None, b: PrimExpr | None, node: PrimExpr) -> PrimExpr | None:
    if a is None and b is None:
        return None
    zero = const(0, node.dtype)
    return kind(condition, zero if a is None else a, zero if b is None else b)


__all__ = ["gradient"]

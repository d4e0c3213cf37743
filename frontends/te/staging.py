"""Transformations of operations: reads through a cache, writes through a cache, reductions in two steps."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ...expressions.axes import IterVar, Range
from ...expressions.expr import And, IfThenElse, IntImm, PrimExpr, Var, const
from ...expressions.extern import ExternOp
from ...expressions.rewrite import Substitution, TensorMap
from ...expressions.scan import ScanOp, scan
from ...expressions.tensor import ComputeOp, Operation, Reduce, Tensor, compute, reductions


def outputs(op: ComputeOp) -> list[Tensor]:
    """The tensors of an operation."""
    return [op.output(n) for n in range(op.num_outputs)]


def substitute_inputs(op: Operation, tensors: TensorMap) -> Operation:
    """The operation with each tensor that it reads replaced by its image under `tensors`."""
    match op:
        case ComputeOp():
            return _with_body(op, Substitution({}, tensors))
        case ExternOp():
            return replace(op, inputs=tuple(map(tensors, op.inputs)))
        case ScanOp():
            return _scan_through(op, tensors)
        case _:
            return op


def with_inner(op: Operation, axes: Sequence[IterVar]) -> Operation:
    """The operation with loops along some axes inside of those of its ragged reduction."""
    return replace(op, inner=tuple(op.axis.index(axis) for axis in axes)) if isinstance(op, ComputeOp) and axes else op


def _with_body(op: ComputeOp, change: Substitution, **fields: Any) -> ComputeOp:
    """The operation with its body and the bounds of its reduction rewritten, and with other fields."""
    body = change.body(op.body)
    first = body[0]
    return replace(op, body=body, reduce_axis=first.axis if isinstance(first, Reduce) else (), **fields)


def _scan_through(op: ScanOp, tensors: TensorMap) -> ScanOp:
    steps: dict[Operation, ComputeOp] = {}

    def new_tensor(tensor: Tensor) -> Tensor:
        if tensor in op.state:
            return tensor
        step = steps.get(tensor.op)
        return tensors(tensor) if step is None else step.output(tensor.value_index)

    for step in op.steps:
        steps[step] = replace(step, body=Substitution({}, new_tensor).body(step.body))
    rows = tuple(map(new_tensor, op.rows))
    return replace(op, init=tuple(map(tensors, op.init)), steps=tuple(steps.values()), rows=rows)


def rebuild_scan(op: ScanOp, tensors: TensorMap) -> ScanOp:
    """The scan whose computes are the images, under `tensors`, of those that it had with the time axis."""
    origins = dict(zip(op.steps, op.origins, strict=True))

    def update(row: Tensor) -> Tensor:
        (origin, _) = next(origin for step, origin in origins.items() if step is row.op)
        return tensors(origin.output(row.value_index))

    init, updates = [*map(tensors, op.init)], [*map(update, op.rows)]
    made = scan(init, updates, op.state, name=op.name, tag=op.tag, attrs=op.attrs)
    new: ScanOp = (made[0] if len(updates) > 1 else made).op
    return replace(new, location=op.location)


def computes_of_scan(op: Operation) -> list[ComputeOp]:
    """The computes of a scan of which one time step computes a single row, in order; none for another operation."""
    if not isinstance(op, ScanOp):
        return []
    counts = Counter(origin for origin, _ in op.origins)
    return [origin for origin, _ in op.origins if counts[origin] == 1 and isinstance(origin, ComputeOp)]


def copy_operation(tensor: Tensor, name: str) -> Tensor:
    """A tensor with the elements of `tensor`, computed by an operation called `name`."""
    names = [f"ax{n}" for n in range(tensor.ndim)]
    return compute(tensor.shape, lambda *indices: tensor(*indices), name, varargs_names=names)


@dataclass(frozen=True)
class Layout:
    """The dimensions of a tensor in another order. axes: the dimensions.  values: the former axes in terms of them.
    conditions: of elements that the tensor has in the former order.  indices: the dimensions in terms of the former
    axes."""

    axes: tuple[IterVar, ...]
    values: Mapping[Var, PrimExpr]
    conditions: tuple[PrimExpr, ...]
    indices: tuple[PrimExpr, ...]

    @staticmethod
    def of(op: ComputeOp) -> Layout:
        """The axes of an operation as they are, called `i.c`."""
        axes = tuple(IterVar(axis.dom, Var(f"{axis.var.name}.c", axis.var.dtype), axis.kind) for axis in op.axis)
        values = {old.var: new.var for old, new in zip(op.axis, axes, strict=True)}
        return Layout(axes, values, (), tuple(axis.var for axis in op.axis))


def split_cache_write(op: ComputeOp, name: str, layout: Layout | None = None) -> tuple[ComputeOp, ComputeOp]:
    """An operation split in two: a cache called `name`, and a copy from the cache.

    layout: that of the cache, by default that of the operation.
    """
    order = Layout.of(op) if layout is None else layout
    shape = op.shape if layout is None else tuple(axis.dom.extent for axis in order.axes if axis.dom is not None)
    cache = _with_body(op, Substitution(order.values), name=name, axis=order.axes, shape=shape)
    for condition in order.conditions:
        cache = replace(cache, body=tuple(_where(condition, each) for each in cache.body))
    indices = order.indices
    copy = replace(op, reduce_axis=(), body=tuple(tensor(*indices) for tensor in outputs(cache)))
    return cache, copy


def _where(condition: PrimExpr, value: PrimExpr) -> PrimExpr:
    """A value where a condition holds; elsewhere 0, or a reduction without steps."""
    if isinstance(value, Reduce):
        is_always = isinstance(value.condition, IntImm) and value.condition.value
        both = condition if is_always else And(condition, value.condition)
        return Reduce(value.combiner, value.source, value.axis, both, value.value_index, value.init)
    return IfThenElse(condition, value, const(0, value.dtype))


def split_reduction(
    op: ComputeOp,
    factor: IterVar,
    rest: Sequence[IterVar],
    values: Mapping[Var, PrimExpr],
    conditions: Sequence[PrimExpr],
    position: int,
) -> tuple[ComputeOp, ComputeOp]:
    """A reduction in two steps: along `rest` for each value of `factor`, then along `factor`.

    values: the reduction axes in terms of `factor` and `rest`.  conditions: the bounds of the reduction axes. position:
    the dimension of the intermediate tensor that belongs to `factor`.
    """
    first = op.body[0]
    assert isinstance(first, Reduce)
    change = Substitution(values)
    condition = change.expr(first.condition)
    for other in conditions:
        condition = other if isinstance(condition, IntImm) and condition.value else And(other, condition)
    assert factor.dom is not None
    axes = [*op.axis]
    axes.insert(position, IterVar(factor.dom, factor.var, "spatial"))
    shape = [*op.shape]
    shape.insert(position, factor.dom.extent)
    source, units = change.exprs(first.source), first.combiner.identity_element
    if rest:
        body = reductions(first.combiner, source, rest, condition, ())
    elif isinstance(condition, IntImm):
        body = source
    else:
        body = tuple(IfThenElse(condition, *pair) for pair in zip(source, units, strict=True))
    partial = replace(
        op, name=f"{op.name}.rf", shape=tuple(shape), axis=tuple(axes), reduce_axis=tuple(rest), body=body
    )
    return partial, _second_step(op, first, partial, factor, position)


def _second_step(op: ComputeOp, first: Reduce, partial: ComputeOp, factor: IterVar, position: int) -> ComputeOp:
    """The second step of a reduction in two."""
    assert factor.dom is not None
    axes = tuple(IterVar(axis.dom, Var(f"ax{n}", axis.var.dtype), "spatial") for n, axis in enumerate(op.axis))
    over = IterVar(
        Range(IntImm(factor.var.dtype, 0), factor.dom.extent), Var(f"{factor.var.name}.v", factor.var.dtype), "reduce"
    )
    indices: list[PrimExpr] = [axis.var for axis in axes]
    indices.insert(position, over.var)
    source = [tensor(*indices) for tensor in outputs(partial)]
    init = Substitution({old.var: new.var for old, new in zip(op.axis, axes, strict=True)}).exprs(first.init)
    body = reductions(first.combiner, source, (over,), IntImm("bool", 1), init)
    return replace(op, axis=axes, reduce_axis=(over,), body=body)

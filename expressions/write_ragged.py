"""Translation of reductions along axes whose bounds are computed to ops of `tir`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from xdsl.ir import Attribute, SSAValue

from ..core.dtypes import mlir_type
from ..dialects.tir import Axis, BlockOp, ForOp, IfOp, TirBuilder
from .axes import IterVar
from .expr import IntImm, PrimExpr
from .tensor import ComputeOp, ProducerLoad, Reduce, Tensor
from .write_expressions import ExpressionEmitter


def write_ragged(
    builder: TirBuilder,
    op: ComputeOp,
    known: Mapping[PrimExpr, SSAValue],
    memory: Mapping[Tensor, SSAValue],
    results: Sequence[SSAValue],
    annotations: Mapping[str, Attribute],
) -> None:
    """Emits the loops of the spatial axes of a reduction, and a block that reduces an element by loops of its own, or
    the elements along the inner dimensions together.

    known: the values of sizes.  memory: the buffers of the operands.  results: the buffers of the results.
    """
    location, names = op.location, op.name.replace(".", "_")
    bounds = ExpressionEmitter(builder, known, {})
    axes: list[Axis] = []
    outer = [axis for n, axis in enumerate(op.axis) if n not in op.inner]
    inner = [op.axis[n] for n in op.inner]
    for axis in outer:
        assert axis.dom is not None
        low, extent = bounds.number(axis.dom.min), bounds.number(axis.dom.extent)
        loop = builder.insert(ForOp(axis.var.name, low, extent, mlir_type(axis.var.data_type)))
        axes.append(Axis(f"v_{axis.var.name}", "spatial", low, extent, loop.variable))
        builder = TirBuilder(loop.body.block, location)
    own = axes or [Axis("vi", "spatial", 0, 1, builder.const(0, "int32"))]
    block = builder.insert(BlockOp(names, own, annotations=dict(annotations)))
    builder = TirBuilder(block.body.block, location)
    own_values = list(block.variables) if axes else []
    known = {**known, **{axis.var: value for axis, value in zip(outer, own_values, strict=True)}}
    reduction = op.body[0]
    assert isinstance(reduction, Reduce)
    combiner = reduction.combiner
    beginning, values_of = _open_loops(builder, inner, known, memory)
    starts, at = _LoadEmitter(beginning, values_of, memory), [values_of[axis.var] for axis in op.axis]
    for start, result in zip(reduction.init or combiner.identity_element, results, strict=True):
        beginning.store(starts.write(start), result, at)
    builder, known = _open_loops(builder, [*op.reduce_axis, *inner], known, memory)
    at = [known[axis.var] for axis in op.axis]
    condition = reduction.condition
    if not (isinstance(condition, IntImm) and condition.value):
        branch = builder.insert(IfOp(_LoadEmitter(builder, known, memory).write(condition)))
        builder = TirBuilder(branch.then.block, location)
    values = _LoadEmitter(builder, known, memory)
    found = [values.write(value) for value in reduction.source]
    old = [builder.load(result, at) for result in results]
    variables = dict(zip((*combiner.lhs, *combiner.rhs), [*old, *found], strict=True))
    combined = _LoadEmitter(builder, {**known, **variables}, memory)
    new = [combined.write(value) for value in combiner.result]
    if len(new) > 1:  # all values are computed before the first is stored
        new = [builder.let(f"v_{names}{n}", value) for n, value in enumerate(new)]
    for value, result in zip(new, results, strict=True):
        builder.store(value, result, at)


def _open_loops(
    builder: TirBuilder,
    axes: Sequence[IterVar],
    known: Mapping[PrimExpr, SSAValue],
    memory: Mapping[Tensor, SSAValue],
) -> tuple[TirBuilder, Mapping[PrimExpr, SSAValue]]:
    """Emits nested loops along axes; returns the builder of the innermost body, and the known values there."""
    for axis in axes:
        assert axis.dom is not None
        bounds = _LoadEmitter(builder, known, memory)
        low, extent = bounds.number(axis.dom.min), bounds.number(axis.dom.extent)
        loop = builder.insert(ForOp(axis.var.name, low, extent, mlir_type(axis.var.data_type)))
        builder = TirBuilder(loop.body.block, builder.location)
        known = {**known, axis.var: loop.variable}
    return builder, known


class _LoadEmitter(ExpressionEmitter):
    """Emits expressions whose tensors are in memory."""

    def __init__(self, builder: TirBuilder, known: Mapping[PrimExpr, SSAValue], memory: Mapping[Tensor, SSAValue]):
        super().__init__(builder, known, memory)

    def _emit(self, expr: PrimExpr) -> SSAValue:
        if isinstance(expr, ProducerLoad):
            return self.builder.load(self._tensor(expr.producer), [self.known[index] for index in expr.indices])
        return super()._emit(expr)

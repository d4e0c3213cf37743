"""Translation of reductions along axes whose bounds are computed to ops of `tir`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from xdsl.ir import Attribute, SSAValue

from ..core.dtypes import mlir_type
from ..dialects.tir import Axis, BlockOp, ForOp, IfOp, TirBuilder
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
    """Emits the loops of the spatial axes of a reduction, and a block that reduces an element by loops of its own.

    known: the values of sizes.  memory: the buffers of the operands.  results: the buffers of the results.
    """
    location, names = op.location, op.name.replace(".", "_")
    bounds = ExpressionEmitter(builder, known, {})
    axes: list[Axis] = []
    for axis in op.axis:
        assert axis.dom is not None
        low, extent = bounds.number(axis.dom.min), bounds.number(axis.dom.extent)
        loop = builder.insert(ForOp(axis.var.name, low, extent, mlir_type(axis.var.data_type)))
        axes.append(Axis(f"v_{axis.var.name}", "spatial", low, extent, loop.variable))
        builder = TirBuilder(loop.body.block, location)
    own = axes or [Axis("vi", "spatial", 0, 1, builder.const(0, "int32"))]
    block = builder.insert(BlockOp(names, own, annotations=dict(annotations)))
    builder = TirBuilder(block.body.block, location)
    at = list(block.variables) if axes else []
    known = {**known, **{axis.var: value for axis, value in zip(op.axis, at, strict=True)}}
    reduction = op.body[0]
    assert isinstance(reduction, Reduce)
    combiner = reduction.combiner
    starts = _LoadEmitter(builder, known, memory)
    for start, result in zip(reduction.init or combiner.identity_element, results, strict=True):
        builder.store(starts.write(start), result, at)
    for axis in op.reduce_axis:
        assert axis.dom is not None
        bounds = _LoadEmitter(builder, known, memory)
        low, extent = bounds.number(axis.dom.min), bounds.number(axis.dom.extent)
        loop = builder.insert(ForOp(axis.var.name, low, extent, mlir_type(axis.var.data_type)))
        builder = TirBuilder(loop.body.block, location)
        known = {**known, axis.var: loop.variable}
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


class _LoadEmitter(ExpressionEmitter):
    """Emits expressions whose tensors are in memory."""

    def __init__(self, builder: TirBuilder, known: Mapping[PrimExpr, SSAValue], memory: Mapping[Tensor, SSAValue]):
        super().__init__(builder, known, memory)

    def _emit(self, expr: PrimExpr) -> SSAValue:
        if isinstance(expr, ProducerLoad):
            return self.builder.load(self._tensor(expr.producer), [self.known[index] for index in expr.indices])
        return super()._emit(expr)

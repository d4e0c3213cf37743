"""Translation of tensors to the dialect `te`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from xdsl.dialects.builtin import LocationAttr
from xdsl.ir import Attribute, Block, Region, SSAValue

from ..core.dtypes import mlir_type
from ..core.xdsl_compat import set_name_hint
from ..dialects import te
from ..dialects.te import Axis
from ..dialects.tir import SymbolOp, TirBuilder, buffer_type
from ..dialects.tir.annotations import annotation_key, annotation_value
from .axes import IterVar
from .errors import TeError
from .expr import FloatImm, IntImm, PrimExpr, Var
from .extern import ExternOp
from .scan import ScanOp
from .tensor import ComputeOp, Operation, PlaceholderOp, Reduce, Tensor, topological_order
from .write_expressions import ExpressionEmitter
from .write_ragged import write_ragged
from .write_statements import StatementEmitter


class TeFuncEmitter:
    """Emits a `te.func`. args: its parameters, in order.  temporaries: tensors that it computes besides."""

    def __init__(
        self,
        name: str,
        args: Sequence[Tensor | Var],
        attrs: Mapping[str, Attribute],
        temporaries: Sequence[Tensor] = (),
    ):
        self.args = args
        self.temporaries = temporaries
        self.func = te.FuncOp(name, attrs=dict(attrs))
        self.builder = TirBuilder(self.func.body.block)
        self.tensors: dict[Tensor, SSAValue] = {}
        self.writer = ExpressionEmitter(self.builder, {}, self.tensors)

    def write(self) -> te.FuncOp:
        """The emitted function. TeError if a result cannot be computed from the parameters."""
        tensors = [arg for arg in self.args if isinstance(arg, Tensor)]
        operations = topological_order([*tensors, *self.temporaries])
        for arg in self.args:
            if isinstance(arg, Var):
                self._declare(arg)
        for op in operations:
            if isinstance(op, PlaceholderOp) and op.output(0) not in tensors:
                raise TeError(f"tensor {op.name} is read, and is no argument")
        for op in operations:
            self._sizes(op)
        for op in operations:
            if isinstance(op, PlaceholderOp):
                self._placeholder(op)
        for op in operations:
            if isinstance(op, ComputeOp) and op.is_ragged:
                self._ragged(op)
            elif isinstance(op, ComputeOp):
                self._compute(op, self.builder)
            elif isinstance(op, ScanOp):
                self._scan(op)
            elif isinstance(op, ExternOp):
                self._extern(op)
        params = [self.tensors[arg] if isinstance(arg, Tensor) else self.writer.known[arg] for arg in self.args]
        self.builder.insert(te.ParamsOp(params))
        return self.func

    def _sizes(self, op: Operation) -> None:
        """Declare the variables in the shapes of the results of an operation."""
        for n in range(op.num_outputs):
            for extent in op.shape_of(n):
                for variable in _variables(extent):
                    self._declare(variable)
        for step in op.steps if isinstance(op, ScanOp) else ():
            self._sizes(step)

    def _declare(self, variable: Var) -> None:
        if variable not in self.writer.known:
            symbol = self.builder.insert(SymbolOp(variable.name, mlir_type(variable.data_type)))
            self.writer.known[variable] = symbol.result

    def _placeholder(self, op: PlaceholderOp) -> None:
        self.builder.location = op.location
        shape = [self.writer.number(extent) for extent in op.shape]
        placeholder = self.builder.insert(te.PlaceholderOp(op.name, mlir_type(op.dtypes[0]), shape))
        self.tensors[op.output(0)] = placeholder.result

    def _compute(self, op: ComputeOp, builder: TirBuilder) -> None:
        """Emit a compute at the insertion point of `builder`; its sizes are emitted by the builder of the function."""
        self.builder.location = builder.location = op.location
        axes = [self._axis(axis) for axis in (*op.axis, *op.reduce_axis)]
        variables = [axis.var for axis in (*op.axis, *op.reduce_axis)]
        first = op.body[0]
        combine = init = None
        if isinstance(first, Reduce):
            rank, combiner = len(op.axis), first.combiner
            body = self._region(variables, first.source, op.location, first.condition)
            combine = self._region([*combiner.lhs, *combiner.rhs], combiner.result, op.location)
            init = self._region(variables[:rank], first.init or combiner.identity_element, op.location)
        else:
            body = self._region(variables, op.body, op.location)
        elements = [mlir_type(dtype) for dtype in op.dtypes]
        compute = builder.insert(
            te.ComputeOp(
                op.name,
                axes,
                elements,
                body=body,
                combine=combine,
                init=init,
                tag=op.tag,
                annotations=self._annotations(op),
            )
        )
        for n, result in enumerate(compute.tensors):
            self.tensors[op.output(n)] = result

    def _scan(self, op: ScanOp) -> None:
        for step in op.steps:
            if step.is_ragged:
                raise TeError(f"scan {op.name}: the bounds of a reduction of {step.name} are computed, expected sizes")
        self.builder.location = op.location
        shapes = [[self.writer.number(extent) for extent in state.shape] for state in op.state]
        dims = [extent for shape in shapes for extent in shape if not isinstance(extent, int)]
        types = [
            te.mixed_tensor_type(mlir_type(state.data_type), shape)
            for state, shape in zip(op.state, shapes, strict=True)
        ]
        body = Block(arg_types=[mlir_type(op.time.data_type), *types])
        outside = {state: self.tensors[state] for state in op.state if state in self.tensors}  # also parameters
        self.writer.known[op.time] = body.args[0]
        for state, argument in zip(op.state, body.args[1:], strict=True):
            set_name_hint(argument, state.name)
            self.tensors[state] = argument
        builder = TirBuilder(body, op.location)
        for step in op.steps:
            self._compute(step, builder)
        builder.insert(te.YieldOp([self.tensors[row] for row in op.rows]))
        for state in op.state:
            del self.tensors[state]
        self.tensors.update(outside)
        del self.writer.known[op.time]
        inits = [self.tensors[init] for init in op.init]
        self.builder.location = op.location
        scan = te.ScanOp(
            op.name, op.time.name, inits, dims, Region(body), tag=op.tag, annotations=self._annotations(op)
        )
        for n, result in enumerate(self.builder.insert(scan).tensors):
            self.tensors[op.output(n)] = result

    def _extern(self, op: ExternOp) -> None:
        self.builder.location = op.location
        shapes = [[self.writer.number(extent) for extent in buffer.shape] for buffer in op.buffers]
        kinds = [mlir_type(buffer.data_type) for buffer in op.buffers]
        body = Block(arg_types=[buffer_type(kind, shape) for kind, shape in zip(kinds, shapes, strict=True)])
        memory = dict(zip(op.buffers, body.args, strict=True))
        for buffer, argument in memory.items():
            set_name_hint(argument, buffer.name)
        StatementEmitter(TirBuilder(body, op.location), self.writer.known, memory).write(op.body)
        dims = [extent for shape in shapes[len(op.inputs) :] for extent in shape if not isinstance(extent, int)]
        inputs = [self.tensors[tensor] for tensor in op.inputs]
        extern = te.ExternOp(op.name, inputs, dims, Region(body), tag=op.tag, annotations=self._annotations(op))
        for n, result in enumerate(self.builder.insert(extern).tensors):
            self.tensors[op.output(n)] = result

    def _ragged(self, op: ComputeOp) -> None:
        """Emits a reduction along axes whose bounds are computed: a block of the other axes, with loops in it."""
        self.builder.location = op.location
        shape, inputs = [self.writer.number(extent) for extent in op.shape], op.input_tensors
        tensors = [self.tensors[tensor] for tensor in inputs]
        kinds = [mlir_type(dtype) for dtype in op.dtypes]
        read = [te.tensor_type_of(each) for each in tensors]
        sizes = [[self.writer.number(extent) for extent in tensor.shape] for tensor in inputs]
        given = [buffer_type(type.element_type, size) for type, size in zip(read, sizes, strict=True)]
        body = Block(arg_types=[*given, *(buffer_type(kind, shape) for kind in kinds)])
        for buffer, tensor in zip(body.args, [*inputs, *(op.output(n) for n in range(op.num_outputs))], strict=True):
            set_name_hint(buffer, tensor.name)
        results = body.args[len(inputs) :]
        memory = dict(zip(inputs, body.args, strict=False))
        write_ragged(TirBuilder(body, op.location), op, self.writer.known, memory, results, self._annotations(op))
        dims = [extent for _ in kinds for extent in shape if not isinstance(extent, int)]
        extern = self.builder.insert(te.ExternOp(op.name, tensors, dims, Region(body), tag=op.tag))
        for n, result in enumerate(extern.tensors):
            self.tensors[op.output(n)] = result

    def _annotations(self, op: ComputeOp | ScanOp | ExternOp) -> dict[str, Attribute]:
        try:
            return {annotation_key(key): annotation_value(_number(value)) for key, value in op.attrs.items()}
        except ValueError as error:
            raise TeError(f"attrs of {op.name}: {error}") from None

    def _axis(self, axis: IterVar) -> Axis:
        assert axis.dom is not None
        low, extent = self.writer.number(axis.dom.min), self.writer.number(axis.dom.extent)
        return Axis(axis.var.name, axis.kind, low, extent, mlir_type(axis.var.data_type))

    def _region(
        self,
        variables: Sequence[Var],
        values: Sequence[PrimExpr],
        location: LocationAttr,
        condition: PrimExpr | None = None,
    ) -> Region:
        block = Block(arg_types=[mlir_type(variable.data_type) for variable in variables])
        for variable, argument in zip(variables, block.args, strict=True):
            set_name_hint(argument, variable.name)
        known = {**self.writer.known, **dict(zip(variables, block.args, strict=True))}
        writer = ExpressionEmitter(TirBuilder(block, location), known, self.tensors)
        results = [writer.write(value) for value in values]
        holds = None
        if condition is not None and not (isinstance(condition, IntImm) and condition.value):
            holds = writer.write(condition)
        writer.builder.insert(te.YieldOp(results, holds))
        return Region(block)


def _number(value: Any) -> Any:
    """A value of an annotation: the number of a constant."""
    return value.value if isinstance(value, IntImm | FloatImm) else value


def _variables(expr: PrimExpr) -> Iterable[Var]:
    todo = [expr]
    while todo:
        top = todo.pop()
        if isinstance(top, Var):
            yield top
        todo += reversed(top.children)

"""`convert-te-to-tir`."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Attribute, Operation, Region, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint

from ..dialects import te
from ..dialects.te import tensor_type_of
from ..dialects.tir import (
    DYNAMIC,
    AllocBufferOp,
    Axis,
    BlockOp,
    ForOp,
    FuncOp,
    HandleType,
    IfOp,
    InitOp,
    MatchBufferOp,
    Mixed,
    SymbolOp,
    TirBuilder,
    buffer_type,
)
from .analysis.access_regions import infer_accesses
from .analysis.names import buffer_name, fresh_name
from .analysis.tree import operands_from_outside, treeify


class ConvertTeToTirPass(ModulePass):
    """Make a `tir.func` of each `te.func`: a nest of loops and a block for each computed tensor.

    A parameter of known shape is a buffer, of another shape a handle with a `tir.match_buffer`; the other tensors are
    allocated. A reduction becomes a block with an init; one without steps, a block of what it starts from. Several
    tensors of one `te.compute` without reduction are blocks of one nest, those of a reduction one block. Names are
    those of the tensors and axes, made unique.

    Before
        %B = te.compute "B" (spatial "i" %i : i32 in [0 +: 8]) : tensor<8xf32> {
          %0 = te.read %A[%i] : tensor<8xf32>
          %1 = arith.addf %0, %0 : f32
          te.yield %1 : f32
        }

    After
        tir.for serial "i" %i : i32 in [0 +: 8] {
          tir.block "B" (spatial "v_i" %v_i : i32 in [0 +: 8] = %i) {
            tir.access reads %A[%v_i] : memref<8xf32>
            tir.access writes %B[%v_i] : memref<8xf32>
            %0 = tir.load %A[%v_i] : memref<8xf32>
            %1 = arith.addf %0, %0 : f32
            tir.store %1, %B[%v_i] : memref<8xf32>
          }
        }

    Must hold before: nothing.

    Gone after: te.
    """

    name = "convert-te-to-tir"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for func in [f for f in op.walk() if isinstance(f, te.FuncOp)]:
            converted = _Converter(func).convert()
            block = func.parent
            assert block is not None
            block.insert_op_before(converted, func)
            func.detach()
            func.erase()


class _Converter:
    """Converts one function. Ops of its body move over; tensors become buffers."""

    def __init__(self, func: te.FuncOp):
        self.source = func
        self.buffers: dict[SSAValue, SSAValue] = {}
        self.buffer_names: set[str] = set()
        self.block_names: set[str] = set()

    def convert(self) -> FuncOp:
        params = self.source.params
        names = [self._parameter_name(param) for param in params]
        func = FuncOp(
            self.source.sym_name.data,
            [(name, _parameter_type(param)) for name, param in zip(names, params, strict=True)],
            attrs=self.source.func_attrs,
        )
        func.location = self.source.location
        self.builder = TirBuilder(func.body.block, func.location)
        ops = list(self.source.body.block.ops)
        for op in ops:
            if not isinstance(op, te.PlaceholderOp | te.ComputeOp | te.ParamsOp):
                op.detach()  # sizes, and what is computed from them
                func.body.block.add_op(op)
        for name, param, argument in zip(names, params, func.body.block.args, strict=True):
            if isinstance(param.owner, SymbolOp):
                param.replace_all_uses_with(argument)
                param.owner.detach()
                param.owner.erase()
            else:
                self.buffers[param] = self._parameter(name, param, argument)
        computes = [op for op in ops if isinstance(op, te.ComputeOp)]
        for op in computes:
            self._allocate(op)
        for op in computes:
            self._compute(op)
        for op in reversed(ops):
            if op.parent is self.source.body.block:
                op.detach()
                op.erase()
        treeify(func)
        for block in [op for op in func.walk() if isinstance(op, BlockOp)]:
            infer_accesses(block)
        return func

    # Buffers

    def _parameter_name(self, param: SSAValue) -> str:
        if isinstance(param.owner, SymbolOp):
            return fresh_name(param.owner.var_name.data, self.buffer_names)
        return self._buffer_name(param)

    def _buffer_name(self, tensor: SSAValue) -> str:
        op = tensor.owner
        assert isinstance(op, te.PlaceholderOp | te.ComputeOp)
        name = op.tensor_name.data if isinstance(op, te.PlaceholderOp) else _result_name(op, tensor)
        return fresh_name(name, self.buffer_names)

    def _parameter(self, name: str, tensor: SSAValue, argument: SSAValue) -> SSAValue:
        if not isinstance(argument.type, HandleType):
            return argument
        element = tensor_type_of(tensor).element_type
        return self.builder.insert(MatchBufferOp(name, argument, element, _shape(tensor))).buffer

    def _allocate(self, op: te.ComputeOp) -> None:
        """Declare memory for the results that are no parameters."""
        self.builder.location = op.location
        for tensor in op.tensors:
            if tensor not in self.buffers:
                made = AllocBufferOp(self._buffer_name(tensor), tensor_type_of(tensor).element_type, op.mixed_shape)
                self.buffers[tensor] = self.builder.insert(made).buffer

    # Nests

    def _compute(self, op: te.ComputeOp) -> None:
        self.builder.location = op.location
        is_empty = any(axis.kind == "reduce" and axis.extent == 0 for axis in op.axes)
        loops: list[ForOp] = []
        builder = self.builder
        for axis in op.axes[: op.rank] if is_empty else op.axes:
            loops.append(builder.insert(ForOp(axis.name, axis.low, axis.extent, axis.type)))
            builder = TirBuilder(loops[-1].body.block, op.location)
        if is_empty:
            self._start(op, self._block(op, op.op_name.data, loops, builder))
            return
        if op.is_reduction:
            self._reduction(op, loops, builder)
            return
        for tensor in op.tensors:
            name = _result_name(op, tensor)
            body = op.body.clone() if len(op.tensors) > 1 else op.body
            self._elementwise(op, tensor, self._block(op, name, loops, builder), body)

    def _block(self, op: te.ComputeOp, name: str, loops: Sequence[ForOp], builder: TirBuilder) -> BlockOp:
        axes = [
            Axis(f"v_{axis.name}", axis.kind, axis.low, axis.extent, loop.variable)
            for axis, loop in zip(op.axes, loops, strict=False)
        ]
        if not axes:
            axes = [Axis("vi", "spatial", 0, 1, builder.const(0, "int32"))]
        name = fresh_name(name.replace(".", "_"), self.block_names)
        return builder.insert(BlockOp(name, axes, annotations=op.annotations))

    def _elementwise(self, op: te.ComputeOp, tensor: SSAValue, block: BlockOp, body: Region) -> None:
        builder = TirBuilder(block.body.block, op.location)
        indices = block.variables[: op.rank]
        values, _ = self._inline(builder, body, indices)
        builder.store(values[list(op.tensors).index(tensor)], self.buffers[tensor], indices)  # pyright: ignore

    def _reduction(self, op: te.ComputeOp, loops: Sequence[ForOp], builder: TirBuilder) -> None:
        block = self._block(op, op.op_name.data, loops, builder)
        buffers = [self.buffers[tensor] for tensor in op.tensors]
        builder = TirBuilder(block.body.block, op.location)
        indices = block.variables[: op.rank]
        self._start(op, builder.insert(InitOp()), indices)
        values, condition = self._inline(builder, op.body, block.variables)
        if condition is not None:
            builder = TirBuilder(_guard(builder, condition).then.block, op.location)
        old = [builder.load(buffer, indices) for buffer in buffers]
        new, _ = self._inline(builder, op.combine, [*old, *values])
        if len(new) > 1:  # all are computed before the first is written
            new = [builder.let(f"v_{buffer_name(buffer)}", value) for buffer, value in zip(buffers, new, strict=True)]
        for value, buffer in zip(new, buffers, strict=True):
            builder.store(value, buffer, indices)

    def _start(self, op: te.ComputeOp, place: BlockOp | InitOp, indices: Sequence[SSAValue] | None = None) -> None:
        """Write what a reduction starts from: in its init, or in a block of its own if it has no steps."""
        indices = place.body.block.args[: op.rank] if indices is None else indices
        builder = TirBuilder(place.body.block, op.location)
        starts, _ = self._inline(builder, op.init, indices)
        for start, tensor in zip(starts, op.tensors, strict=True):
            builder.store(start, self.buffers[tensor], indices)

    def _inline(
        self, builder: TirBuilder, region: Region, arguments: Sequence[SSAValue]
    ) -> tuple[list[SSAValue], SSAValue | None]:
        """Move what is in a region to the end of the builder's block: what it yields, and its condition."""
        source, target = region.block, builder.point.block
        assert target is not None
        for variable, value in zip(source.args, arguments, strict=True):
            variable.name_hint = None  # which would go to the value
            variable.replace_all_uses_with(value)
        for op in [op for op in region.walk() if isinstance(op, te.ReadOp)]:
            reading = TirBuilder(InsertPoint.before(op), op.location)
            op.result.replace_all_uses_with(reading.load(self.buffers[op.tensor], op.indices))
            op.detach()
            op.erase()
        last = source.last_op
        assert isinstance(last, te.YieldOp)
        values, condition = list(last.values), last.condition
        last.detach()
        last.erase()
        for op in list(source.ops):
            op.detach()
            target.add_op(op)
        return values, condition


def _guard(builder: TirBuilder, condition: SSAValue) -> IfOp:
    """Put all that stands in front of the builder's point, but for what the condition is computed from, in a branch."""
    block = builder.point.block
    assert block is not None
    ops = [op for op in block.ops if not isinstance(op, InitOp)]
    needed, todo = set[Operation](), [condition]
    while todo:
        owner = todo.pop().owner
        if isinstance(owner, Operation) and owner not in needed and owner.parent is block:
            needed.add(owner)
            todo += operands_from_outside(owner)
    branch = builder.insert(IfOp(condition))
    for op in ops:
        if op not in needed:
            op.detach()
            branch.then.block.add_op(op)
    return branch


def _result_name(op: te.ComputeOp, tensor: SSAValue) -> str:
    if len(op.tensors) == 1:
        return op.op_name.data
    return f"{op.op_name.data}_v{list(op.tensors).index(tensor)}"  # pyright: ignore


def _shape(tensor: SSAValue) -> list[Mixed]:
    op = tensor.owner
    assert isinstance(op, te.PlaceholderOp | te.ComputeOp)
    return op.mixed_shape


def _parameter_type(param: SSAValue) -> Attribute:
    """A buffer, or a handle if the type does not say all sizes; the type of a number."""
    if isinstance(param.owner, SymbolOp):
        return param.type
    type = tensor_type_of(param)
    shape = type.get_shape()
    return HandleType() if DYNAMIC in shape else buffer_type(type.element_type, list(shape))

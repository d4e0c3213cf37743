"""The pass `convert-te-to-tir`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, StringAttr, UnitAttr
from xdsl.ir import Attribute, Operation, Region, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint

from ...analysis.names import buffer_name
from ...analysis.regions.access_regions import infer_accesses
from ...core.identifiers import fresh_name
from ...core.walking import find_ops
from ...dialects import te
from ...dialects.attributes import ABOUT_ARGUMENT, GRAPH_KERNEL
from ...dialects.te import tensor_type_of
from ...dialects.tir import (
    DYNAMIC,
    AccessOp,
    AllocBufferOp,
    AssertOp,
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
from ...dialects.tir.tree import captured_operands, treeify


class ConvertTeToTirPass(ModulePass):
    """Converts each `te.func` to a `tir.func`: a loop nest and a block for each computed tensor.

    A parameter of static shape is a buffer; a parameter of dynamic shape is a handle with a `tir.match_buffer`; all
    other tensors are allocated. A reduction becomes a block with an init; a reduction without iterations becomes a
    block that stores the init values. The tensors of a `te.compute` with several results are blocks of one nest without
    a reduction, and one block with a reduction. A `te.scan` is a loop over time around the nests of its body, whose
    blocks have the time as an axis of kind scan; the first rows are computed in the buffer of the result, or copied to
    it. A `te.extern` is a block without axes, unless it has blocks of its own. Names are the names of the tensors and
    axes, made unique.

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

    Gone after: the `te` dialect.
    """

    name = "convert-te-to-tir"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for func in list(find_ops(op, te.FuncOp)):
            converted = _Converter(func).convert()
            block = func.parent
            assert block is not None
            block.insert_op_before(converted, func)
            func.detach()
            func.erase()


class _Converter:
    """The conversion of one function. Ops of its body move over; tensors become buffers."""

    def __init__(self, func: te.FuncOp):
        self.source = func
        self.buffers: dict[SSAValue, SSAValue] = {}
        self.buffer_names: set[str] = set()
        self.block_names: set[str] = set()
        self.scan: _Scan | None = None  # the scan whose body is being converted

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
        for op in self.source.body.block.ops:
            if isinstance(op, te.ScanOp):
                _copy_rows(op)
        ops = list(self.source.body.block.ops)
        for op in ops:
            if not isinstance(op, te.PlaceholderOp | te.ComputeOp | te.ScanOp | te.ExternOp | te.ParamsOp):
                op.detach()  # sizes, and values computed from them
                func.body.block.add_op(op)
        for name, param, argument in zip(names, params, func.body.block.args, strict=True):
            if isinstance(param.owner, SymbolOp):
                param.replace_all_uses_with(argument)
                param.owner.detach()
                param.owner.erase()
            else:
                self.buffers[param] = self._parameter(name, param, argument)
        computes = [op for op in ops if isinstance(op, te.ComputeOp | te.ScanOp | te.ExternOp)]
        if self.source.func_attrs is not None and GRAPH_KERNEL in self.source.func_attrs.data:
            self._assert_elements([op for op in computes if isinstance(op, te.ComputeOp)])
        for op in computes:
            self._allocate(op)
        for op in computes:
            if isinstance(op, te.ScanOp):
                self._scan(op)
            elif isinstance(op, te.ExternOp):
                self._extern(op)
            else:
                self._compute(op, self.builder)
        for op in reversed(ops):
            if op.parent is self.source.body.block:
                op.detach()
                op.erase()
        treeify(func)
        for block in list(find_ops(func, BlockOp)):
            if not block.accesses:
                infer_accesses(block)
        return func

    def _assert_elements(self, computes: Sequence[te.ComputeOp]) -> None:
        """Emits assertions that reductions of symbolic extents have iterations, unless all results are empty: a block
        whose reduction has none does not run, and leaves its results unwritten."""
        reductions = [
            (op, axis)
            for op in computes
            for axis in op.axes
            if axis.kind == "reduce" and not isinstance(axis.extent, int)
        ]
        if not reductions:
            return
        is_empty = self._emptiness_of_results()
        for op, axis in reductions:
            holds = self.builder.binary("or", self.builder.binary("ge", axis.extent, 1), is_empty)
            message = f"{op.op_name.data}: no elements along the reduction axis {axis.name}, expected at least 1"
            self.builder.insert(AssertOp(holds, message)).attributes[ABOUT_ARGUMENT] = UnitAttr()

    def _emptiness_of_results(self) -> SSAValue:
        """Emits the condition that all results are empty."""
        builder, result = self.builder, self.builder.const(True, "bool")
        for tensor in self.source.params:
            if isinstance(tensor.owner, te.ComputeOp | te.ScanOp | te.ExternOp):
                empty = builder.const(0 in _shape(tensor), "bool")
                for extent in _shape(tensor):
                    if not isinstance(extent, int):
                        empty = builder.binary("or", empty, builder.binary("eq", extent, 0))
                result = builder.binary("and", result, empty)
        return result

    # Buffers

    def _parameter_name(self, param: SSAValue) -> str:
        if isinstance(param.owner, SymbolOp):
            return fresh_name(param.owner.var_name.data, self.buffer_names)
        return self._buffer_name(param)

    def _buffer_name(self, tensor: SSAValue) -> str:
        op = tensor.owner
        assert isinstance(op, te.PlaceholderOp | te.ComputeOp | te.ScanOp | te.ExternOp)
        name = op.tensor_name.data if isinstance(op, te.PlaceholderOp) else _result_name(op, tensor)
        return fresh_name(name, self.buffer_names)

    def _parameter(self, name: str, tensor: SSAValue, argument: SSAValue) -> SSAValue:
        if not isinstance(argument.type, HandleType):
            return argument
        element = tensor_type_of(tensor).element_type
        return self.builder.insert(MatchBufferOp(name, argument, element, _shape(tensor))).buffer

    def _allocate(self, op: te.ComputeOp | te.ScanOp | te.ExternOp) -> None:
        """Assigns buffers to the results that are no parameters: the buffer of the scan whose first rows they are, or a
        new allocation.
        """
        self.builder.location = op.location
        for tensor in op.tensors:
            whole = _whole(tensor)
            if whole not in self.buffers:
                self.buffers[whole] = self._new(whole)
            self.buffers[tensor] = self.buffers[whole]
        if isinstance(op, te.ScanOp):
            self.buffers |= {state: self.buffers[result] for state, result in zip(op.states, op.tensors, strict=True)}
            self.buffers |= {row: self.buffers[result] for row, result in zip(op.updates, op.tensors, strict=True)}
            others = [row for step in op.body.block.ops for row in step.results if row not in self.buffers]
            self.buffers |= {row: self._new(row) for row in others}

    def _new(self, tensor: SSAValue) -> SSAValue:
        alloc = AllocBufferOp(self._buffer_name(tensor), tensor_type_of(tensor).element_type, _shape(tensor))
        return self.builder.insert(alloc).buffer

    # Nests

    def _compute(self, op: te.ComputeOp, builder: TirBuilder) -> None:
        builder.location = op.location
        is_empty = any(axis.kind == "reduce" and axis.extent == 0 for axis in op.axes)
        axes = op.axes[: op.rank] if is_empty else op.axes
        loops, inner = _nest(builder, axes)
        if is_empty:
            block = self._block(op, op.op_name.data, loops, inner)
            self._start(op, TirBuilder(block.body.block, op.location), self._axes(block)[: op.rank])
            return
        if op.is_reduction:
            self._reduction(op, loops, inner)
            return
        for tensor in op.tensors:
            name = _result_name(op, tensor)
            body = op.body.clone() if len(op.tensors) > 1 else op.body
            self._elementwise(op, tensor, self._block(op, name, loops, inner), body)

    def _block(self, op: te.ComputeOp, name: str, loops: Sequence[ForOp], builder: TirBuilder) -> BlockOp:
        pairs = zip(op.axes, loops, strict=False)
        axes = [Axis(f"v_{axis.name}", axis.kind, axis.low, axis.extent, loop.variable) for axis, loop in pairs]
        if self.scan is not None:
            axes.insert(0, self.scan.axis)
        if not axes:
            axes = [Axis("vi", "spatial", 0, 1, builder.const(0, "int32"))]
        predicate = None
        if len(op.tensors) == 1 and (whole := _whole(op.tensors[0])) is not op.tensors[0]:
            predicate = _is_row(builder, loops[0].variable, op.mixed_shape[0], _shape(whole)[0])
        name = fresh_name(name.replace(".", "_"), self.block_names)
        return builder.insert(BlockOp(name, axes, annotations=op.annotations, predicate=predicate))

    def _axes(self, block: BlockOp) -> Sequence[SSAValue]:
        """The axes of a block that correspond to axes of its compute."""
        return block.variables if self.scan is None else block.variables[1:]

    def _element(self, tensor: SSAValue, indices: Sequence[SSAValue]) -> tuple[SSAValue, list[SSAValue]]:
        """The buffer and indices of an element; the first index of a row of a scan is its time."""
        if self.scan is not None and tensor in self.scan.rows:
            indices = [self.scan.time, *indices]
        return self.buffers[tensor], list(indices)

    def _elementwise(self, op: te.ComputeOp, tensor: SSAValue, block: BlockOp, body: Region) -> None:
        builder = TirBuilder(block.body.block, op.location)
        indices = self._axes(block)[: op.rank]
        values, _ = self._inline(builder, body, indices)
        builder.store(values[list(op.tensors).index(tensor)], *self._element(tensor, indices))  # pyright: ignore[reportArgumentType]

    def _reduction(self, op: te.ComputeOp, loops: Sequence[ForOp], builder: TirBuilder) -> None:
        block = self._block(op, op.op_name.data, loops, builder)
        builder = TirBuilder(block.body.block, op.location)
        indices = self._axes(block)[: op.rank]
        elements = [self._element(tensor, indices) for tensor in op.tensors]
        self._start(op, TirBuilder(builder.insert(InitOp()).body.block, op.location), indices)
        values, condition = self._inline(builder, op.body, self._axes(block))
        if condition is not None:
            builder = TirBuilder(_guard(builder, condition).then.block, op.location)
        old = [builder.load(*element) for element in elements]
        new, _ = self._inline(builder, op.combine, [*old, *values])
        if len(new) > 1:  # all values are computed before the first is stored
            names = [f"v_{buffer_name(buffer)}" for buffer, _ in elements]
            new = [builder.let(name, value) for name, value in zip(names, new, strict=True)]
        for value, element in zip(new, elements, strict=True):
            builder.store(value, *element)

    def _start(self, op: te.ComputeOp, builder: TirBuilder, indices: Sequence[SSAValue]) -> None:
        """Stores the init values of a reduction: in its init, or in a block of its own if the reduction has no
        iterations.
        """
        starts, _ = self._inline(builder, op.init, indices)
        for start, tensor in zip(starts, op.tensors, strict=True):
            builder.store(start, *self._element(tensor, indices))

    # Scans

    def _scan(self, op: te.ScanOp) -> None:
        builder, time = self.builder, op.time
        builder.location = op.location
        low, end = _shape(op.inits[0])[0], op.mixed_shapes[0][0]
        extent = end - low if isinstance(low, int) and isinstance(end, int) else builder.sub(end, low)
        loop = builder.insert(ForOp(op.axis_name.data, low, extent, time.type, annotations=op.annotations))
        axis = Axis(f"v_{op.axis_name.data}", "scan", low, extent, loop.variable)
        self.scan = _Scan(time, axis, set(op.updates))
        for step in op.body.block.ops:
            if isinstance(step, te.ComputeOp):
                self._compute(step, TirBuilder(loop.body.block))
        self.scan = None
        for use in list(time.uses):
            block = _block_around(use.operation)
            if block is not None:  # the original of a cloned op is in no block
                use.operation.operands[use.index] = block.variables[0]

    def _extern(self, op: te.ExternOp) -> None:
        self.builder.location = op.location
        blocks = list(find_ops(op.body, BlockOp))
        target = self.builder.point.block if blocks else self._whole_block(op).body.block
        assert target is not None
        for block in blocks:
            block.block_name = StringAttr(fresh_name(block.block_name.data, self.block_names))
        for buffer, tensor in zip(op.buffers, [*op.inputs, *op.tensors], strict=True):
            buffer.name_hint = None  # else the memory would inherit the hint
            buffer.replace_all_uses_with(self.buffers[tensor])
        for inner in list(op.body.block.ops):
            inner.detach()
            target.add_op(inner)

    def _whole_block(self, op: te.ExternOp) -> BlockOp:
        """A block without axes that accesses all elements of the operands and results."""
        name = fresh_name(op.op_name.data.replace(".", "_"), self.block_names)
        block = self.builder.insert(BlockOp(name, annotations=op.annotations))
        builder = TirBuilder(block.body.block, op.location)
        for kind, tensors in (("reads", dict.fromkeys(op.inputs)), ("writes", op.tensors)):
            for tensor in tensors:
                builder.insert(AccessOp(kind, self.buffers[tensor], [(0, extent) for extent in _shape(tensor)]))
        return block

    def _inline(
        self, builder: TirBuilder, region: Region, arguments: Sequence[SSAValue]
    ) -> tuple[list[SSAValue], SSAValue | None]:
        """Moves the ops of a region to the end of the builder's block; returns the yielded values and the condition."""
        source, target = region.block, builder.point.block
        assert target is not None
        for variable, value in zip(source.args, arguments, strict=True):
            variable.name_hint = None  # else the value would inherit the hint
            variable.replace_all_uses_with(value)
        for op in list(find_ops(region, te.ReadOp)):
            reading = TirBuilder(InsertPoint.before(op), op.location)
            op.result.replace_all_uses_with(reading.load(*self._element(op.tensor, op.indices)))
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


@dataclass(frozen=True)
class _Scan:
    """A scan whose body is being converted: its time, the axis of the time in blocks, and the rows that it stores."""

    time: SSAValue
    axis: Axis
    rows: set[SSAValue]


def _copy_rows(op: te.ScanOp) -> None:
    """Lets the rows of a scan be computed in the buffer of its result, through a copy if they have other uses.

    A reduction that reads the tensor that it updates is copied as well: a block with an init does not read the memory
    that it writes.
    """
    for n, (init, result) in enumerate(zip(op.inits, op.tensors, strict=True)):
        if _whole(init) is init:
            copy = _copy_tensor(init, f"{_result_name(op, result)}_init", op)
            op.parent.insert_op_before(copy, op)  # pyright: ignore[reportOptionalMemberAccess]
            op.operands[n] = copy.tensors[0]
    last = op.body.block.last_op
    assert isinstance(last, te.YieldOp)
    rows = list(op.updates)
    for n, row in enumerate(rows):
        step = row.owner
        assert isinstance(step, te.ComputeOp)
        own = {state for state, other in zip(op.states, rows, strict=True) if other.owner is step}
        if step.is_reduction and any(isinstance(read, te.ReadOp) and read.tensor in own for read in step.walk()):
            copy = _copy_tensor(row, _result_name(op, op.tensors[n]), op)
            op.body.block.insert_op_before(copy, last)
            last.operands[n] = copy.tensors[0]


def _copy_tensor(source: SSAValue, name: str, scan: te.ScanOp) -> te.ComputeOp:
    """Builds a tensor with the elements of `source`."""
    axes = [
        te.Axis(f"ax{n}", "spatial", 0, extent, scan.time.type if isinstance(extent, int) else extent.type)
        for n, extent in enumerate(_shape(source))
    ]
    copy = te.ComputeOp(name, axes, [tensor_type_of(source).element_type])
    builder = TirBuilder(copy.body.block, scan.location)
    builder.insert(te.YieldOp([builder.insert(te.ReadOp(source, copy.variables)).result]))
    copy.location = scan.location
    return copy


def _whole(tensor: SSAValue) -> SSAValue:
    """The scan result whose first rows `tensor` is, if that is its only use; else `tensor`."""
    op, uses = tensor.owner, list(tensor.uses)
    if isinstance(op, te.ComputeOp) and len(op.tensors) == 1 and len(uses) == 1:
        user = uses[0].operation
        if isinstance(user, te.ScanOp):
            return user.tensors[uses[0].index]
    return tensor


def _nest(builder: TirBuilder, axes: Sequence[te.Axis]) -> tuple[list[ForOp], TirBuilder]:
    """Builds loops over axes; returns the loops and a builder inside the innermost."""
    loops: list[ForOp] = []
    for axis in axes:
        loops.append(builder.insert(ForOp(axis.name, axis.low, axis.extent, axis.type)))
        builder = TirBuilder(loops[-1].body.block, builder.location)
    return loops, builder


def _is_row(builder: TirBuilder, row: SSAValue, rows: Mixed, end: Mixed) -> SSAValue | None:
    """The condition that an index among the first rows is within the extent; None if both bounds are known."""
    if rows == end or (isinstance(rows, int) and isinstance(end, int)):
        return None
    return builder.binary("lt", row, end)


def _block_around(op: Operation) -> BlockOp | None:
    parent = op.parent_op()
    while parent is not None and not isinstance(parent, BlockOp):
        parent = parent.parent_op()
    return parent


def _guard(builder: TirBuilder, condition: SSAValue) -> IfOp:
    """Moves all ops before the builder's point, except those that compute the condition, into a branch."""
    block = builder.point.block
    assert block is not None
    ops = [op for op in block.ops if not isinstance(op, InitOp)]
    needed, todo = set[Operation](), [condition]
    while todo:
        owner = todo.pop().owner
        if isinstance(owner, Operation) and owner not in needed and owner.parent is block:
            needed.add(owner)
            todo += captured_operands(owner)
    branch = builder.insert(IfOp(condition))
    for op in ops:
        if op not in needed:
            op.detach()
            branch.then.block.add_op(op)
    return branch


def _result_name(op: te.ComputeOp | te.ScanOp | te.ExternOp, tensor: SSAValue) -> str:
    if len(op.tensors) == 1:
        return op.op_name.data
    return f"{op.op_name.data}_v{list(op.tensors).index(tensor)}"  # pyright: ignore[reportArgumentType]


def _shape(tensor: SSAValue) -> list[Mixed]:
    op = tensor.owner
    if isinstance(op, te.ScanOp | te.ExternOp):
        return op.mixed_shapes[list(op.tensors).index(tensor)]  # pyright: ignore[reportArgumentType]
    assert isinstance(op, te.PlaceholderOp | te.ComputeOp)
    return op.mixed_shape


def _parameter_type(param: SSAValue) -> Attribute:
    """The type of a parameter: a buffer, or a handle if a size is dynamic; the type of a scalar."""
    if isinstance(param.owner, SymbolOp):
        return param.type
    type = tensor_type_of(param)
    shape = type.get_shape()
    return HandleType() if DYNAMIC in shape else buffer_type(type.element_type, list(shape))

"""The pass `convert-relay-to-tir`."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from xdsl.context import Context
from xdsl.dialects.builtin import MemRefType, ModuleOp, UnitAttr
from xdsl.ir import Attribute, Block, SSAValue
from xdsl.passes import ModulePass
from xdsl.traits import SymbolTable

from ...core.diagnostics import where
from ...core.dtypes import dtype_of, mlir_type
from ...core.errors import UnsupportedError
from ...core.identifiers import fresh_name
from ...core.walking import find_ops
from ...dialects import tir
from ...dialects.attributes import ABOUT_ARGUMENT, HOST_FUNCTION, SHARED_INPUTS, TIR_NOALIAS, VIEW
from ...dialects.tir import (
    AddressOfOp,
    AllocBufferOp,
    DeclBufferOp,
    HandleType,
    MatchBufferOp,
    Mixed,
    SymbolOp,
    TirBuilder,
    buffer_type,
)
from ...dialects.tir.annotations import annotation_value
from ...expressions.expr import Var, as_extent
from ...expressions.write_expressions import ExpressionEmitter
from ...operators.relay import (
    CallOp,
    ConstantOp,
    FuncOp,
    IfOp,
    Size,
    SizeScope,
    YieldOp,
    dtype_of_tensor,
    free_sizes,
    shape_of,
)
from .copy_results import uncomputed_operands
from .graphs import check_no_operators
from .placement import DynamicPlace, dynamic_places_of, dynamic_workspaces_of, offsets_of, workspace_of


class ConvertRelayToTirPass(ModulePass):
    """Converts each function of calls to a `tir.func`: buffers for its tensors, and calls that write them.

    The parameters are the parameters of the function, the arrays of its constants by name, its results (`output0`,
    ...), `workspace`, the memory planned by `relay-plan-memory`, and the sizes that the caller passes as numbers
    (the attribute `size_parameters`); tensors without a plan are allocated. Assertions check that sizes are within
    their limits. The result is a host function: it only calls other functions and branches. Kernels that are called
    for views alone are erased.

    Before
        relay.func @main("x" %x: tensor<8xf32>) {
          %0 = relay.call @fused_exp(%x) : (tensor<8xf32>) -> tensor<8xf32>
          relay.return %0 : tensor<8xf32>
        }

    After
        tir.func @main("x" %x: memref<8xf32>, "output0" %y: memref<8xf32>) attrs {tir.is_host_func = true, ...} {
          tir.call @fused_exp(%x, %y) : memref<8xf32>, memref<8xf32>
        }

    Must hold before: these functions contain no operators, and their callees are `tir` functions. Each result of a
    function or branch is computed by a call for that result alone (`relay-copy-results`).

    Gone after: the `relay` dialect.
    """

    name = "convert-relay-to-tir"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        check_no_operators(op)
        viewed = {
            each.callee.string_value() for each in op.walk() if isinstance(each, CallOp) and VIEW in each.attributes
        }
        for func in [f for f in op.body.block.ops if isinstance(f, FuncOp)]:
            if func.compiler is not None or func.primitive is not None:
                raise UnsupportedError(f"{where(func)}function {func.sym_name.data} has not been lowered")
            converted = _Host(func).convert()
            block = func.parent
            assert block is not None
            block.insert_op_before(converted, func)
            func.detach()
            func.erase()
        _erase_uncalled(op, viewed)


def _erase_uncalled(module: ModuleOp, kernels: Collection[str]) -> None:
    """Erases those of some kernels that no function calls."""
    called = {op.callee.string_value() for op in find_ops(module, tir.CallOp)} if kernels else set[str]()
    for name in kernels:
        kernel = SymbolTable.lookup_symbol(module, name)
        if name not in called and kernel is not None:
            kernel.detach()
            kernel.erase()


class _Host:
    """The conversion of one function."""

    def __init__(self, func: FuncOp):
        self.source = func
        self.names: set[str] = set()
        self.sizes = SizeScope()
        self.buffers: dict[SSAValue, SSAValue] = {}

    def convert(self) -> tir.FuncOp:
        source = self.source
        self.numbers = source.size_parameters
        arrays = arrays_of(source)
        kinds = [(name, value.type) for name, value in source.params]
        kinds += [(name, op.result.type) for name, op in arrays.items()]
        kinds += [(name, value.type) for name, value in source.results_]
        self._check_sizes([value.type for _, value in source.params])
        params = [(fresh_name(name, self.names), _parameter_type(type)) for name, type in kinds]
        bytes_needed = workspace_of(source)
        if bytes_needed:
            params.append((fresh_name("workspace", self.names), buffer_type(mlir_type("uint8"), [bytes_needed])))
        variables = [self.sizes.variable(name) for name in self.numbers]
        params += [(fresh_name(each.name, self.names), mlir_type(each.data_type)) for each in variables]
        attrs = {HOST_FUNCTION: annotation_value(True)}
        if source.func_attrs is None or SHARED_INPUTS not in source.func_attrs.data:
            attrs[TIR_NOALIAS] = annotation_value(True)
        func = tir.FuncOp(source.sym_name.data, params, attrs=attrs)
        func.location = source.location
        self.builder = TirBuilder(func.body.block, source.location)
        self.workspace = func.body.block.args[len(kinds)] if bytes_needed else None
        self.writer = ExpressionEmitter(self.builder, {}, {})
        numbers = func.body.block.args[len(params) - len(variables) :]
        self.writer.known |= dict(zip(variables, numbers, strict=True))
        for variable in self._variables(kinds):
            if variable in self.writer.known:
                continue
            symbol = self.builder.insert(SymbolOp(variable.name, mlir_type(variable.data_type)))
            self.writer.known[variable] = symbol.result
        buffers = [
            self._parameter(name, type, argument)
            for (name, _), (_, type), argument in zip(params, kinds, func.body.block.args, strict=False)
        ]
        self._assert_limits()
        self.dynamic_workspaces = [
            self._dynamic_workspace(each.number, each.sizes) for each in dynamic_workspaces_of(source)
        ]
        inputs, count = [value for _, value in source.params], len(source.return_values)
        self.buffers |= dict(zip(inputs, buffers, strict=False))
        named = dict(zip(arrays, buffers[len(inputs) :], strict=False))
        for op in source.walk():
            if uncomputed_operands(op):
                raise UnsupportedError(f"{where(op)}{op.name} of what no call computes for it: relay-copy-results")
            if isinstance(op, ConstantOp) and op.array_name is not None:
                self.buffers[op.result] = named[op.array_name.data]
        self._results(source.body.block, source.return_values, buffers[len(buffers) - count :])
        return func

    def _check_sizes(self, types: Sequence[Attribute]) -> None:
        free = [name for name in free_sizes(types, self.source.result_types_) if name not in self.numbers]
        if free:
            func = self.source
            raise UnsupportedError(
                f"{where(func)}function {func.sym_name.data}: no parameter has the size {', '.join(free)} by itself"
            )

    def _variables(self, kinds: Iterable[tuple[str, Attribute]]) -> Iterable[Var]:
        for _, type in kinds:
            for size in shape_of(type):
                self.sizes(size)
        return self.sizes.variables.values()

    def _assert_limits(self) -> None:
        for limit in self.source.size_limits:
            size = self.writer.write(self.sizes(limit.size))
            holds = self.builder.binary("le" if limit.sign == "<=" else "ge", size, limit.number)
            check = self.builder.insert(tir.AssertOp(holds, f"size {limit.size}: expected {limit.requirement}"))
            check.attributes[ABOUT_ARGUMENT] = UnitAttr()

    # Buffers

    def _parameter(self, name: str, type: Attribute, argument: SSAValue) -> SSAValue:
        if not isinstance(argument.type, HandleType):
            return argument
        element = mlir_type(dtype_of_tensor(type))
        return self.builder.insert(MatchBufferOp(name, argument, element, self._shape(type))).buffer

    def _shape(self, type: Attribute) -> list[Mixed]:
        return [size if isinstance(size, int) else self.writer.number(self.sizes(size)) for size in shape_of(type)]

    def _dynamic_workspace(self, number: int, sizes: Sequence[Size]) -> SSAValue:
        """Memory of a number of bytes for each product of some sizes."""
        extents = [self.writer.number(self.sizes(size)) for size in sizes]
        name = fresh_name("dynamic_workspace", self.names)
        return self.builder.insert(AllocBufferOp(name, mlir_type("uint8"), [number, *extents])).buffer

    def _new(self, value: SSAValue, offset: int | None, place: DynamicPlace | None) -> SSAValue:
        """A buffer for a tensor: a view of the workspace at `offset`, or of a dynamic workspace, or a new
        allocation."""
        if place is not None:
            return self._view(value, self.dynamic_workspaces[place.workspace], place.offset)
        if offset is not None and self.workspace is not None:
            return self._view(value, self.workspace, offset)
        name, element = fresh_name(value.name_hint or "t", self.names), mlir_type(dtype_of_tensor(value))
        return self.builder.insert(AllocBufferOp(name, element, self._shape(value.type))).buffer

    def _view(self, value: SSAValue, workspace: SSAValue, offset: int) -> SSAValue:
        """A view of a workspace at an index of its first dimension."""
        name, element = fresh_name(value.name_hint or "t", self.names), mlir_type(dtype_of_tensor(value))
        type = workspace.type
        assert isinstance(type, MemRefType)
        place = self.builder.const(offset, "int32" if offset < 2**31 else "int64")
        zeros = [self.builder.const(0, "int32") for _ in type.get_shape()[1:]]
        start = self.builder.insert(AddressOfOp(workspace, [place, *zeros])).pointer
        return self.builder.insert(DeclBufferOp(name, start, element, self._shape(value.type))).buffer

    # Ops

    def _results(self, block: Block, values: Sequence[SSAValue], targets: Sequence[SSAValue]) -> None:
        """Emits the calls of a block, so that `values` are computed into the buffers `targets`."""
        self.buffers |= dict(zip(values, targets, strict=True))
        for op in block.ops:
            self.builder.location = op.location
            if isinstance(op, CallOp):
                self._call(op)
            elif isinstance(op, IfOp):
                self._branch(op)

    def _allocate(self, op: CallOp | IfOp) -> list[SSAValue]:
        for output, offset, place in zip(op.outputs, offsets_of(op), dynamic_places_of(op), strict=True):
            if output not in self.buffers:
                self.buffers[output] = self._new(output, offset, place)
        return [self.buffers[output] for output in op.outputs]

    def _call(self, op: CallOp) -> None:
        outputs = self._allocate(op)
        if VIEW in op.attributes:
            return
        numbers = self._numbers(op)
        args = [*(self.buffers[arg] for arg in op.args), *outputs, *numbers]
        self.builder.insert(tir.CallOp(op.callee.string_value(), args))

    def _numbers(self, op: CallOp) -> list[SSAValue]:
        """The sizes that follow the tensors, of the types of the parameters of the callee."""
        texts, callee = op.size_texts, SymbolTable.lookup_symbol(op, op.callee)
        sizes = [self.sizes(_size(text)) for text in texts]
        extents = [as_extent(size) if isinstance(size, int) else size for size in sizes]
        values = [self.builder.value(self.writer.write(extent)) for extent in extents]
        if not texts or not isinstance(callee, tir.FuncOp):
            return values
        types = callee.body.block.arg_types[-len(texts) :]
        return [self.builder.cast(value, dtype_of(type)) for value, type in zip(values, types, strict=True)]

    def _branch(self, op: IfOp) -> None:
        outputs = self._allocate(op)
        condition = self.builder.load(self.buffers[op.condition], [])
        branch = self.builder.insert(tir.IfOp(condition))
        for region, target in ((op.then, branch.then), (op.orelse, branch.orelse)):
            last = region.block.last_op
            assert isinstance(last, YieldOp)
            with self.builder.at(target.block):
                self._results(region.block, last.values, outputs)


def arrays_of(func: FuncOp) -> dict[str, ConstantOp]:
    """The arrays that a function refers to: { name -> the first op that refers to the array }."""
    arrays: dict[str, ConstantOp] = {}
    for op in func.walk():
        if isinstance(op, ConstantOp) and op.array_name is not None:
            arrays.setdefault(op.array_name.data, op)
    return arrays


def _size(text: str) -> Size:
    """A number or the text of a symbolic size."""
    return int(text) if text.isdigit() else text


def _parameter_type(type: Attribute) -> Attribute:
    """The type of a parameter: a buffer, or a handle if a size is dynamic."""
    shape = shape_of(type)
    known = [size for size in shape if isinstance(size, int)]
    return buffer_type(mlir_type(dtype_of_tensor(type)), known) if len(known) == len(shape) else HandleType()

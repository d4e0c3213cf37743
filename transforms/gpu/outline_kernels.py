"""`gpu-outline-kernels`."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.context import Context
from xdsl.dialects import arith, func, gpu, memref
from xdsl.dialects.builtin import (
    FunctionType,
    IntegerAttr,
    MemRefType,
    ModuleOp,
    StridedLayoutAttr,
    StringAttr,
    SymbolRefAttr,
    UnitAttr,
)
from xdsl.ir import Block, Operation, Region, SSAValue, Use
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter

from ...analysis.lanes import free_values
from ...core.gpu import C_FUNCTIONS
from ...core.xdsl_compat import hint
from ...dialects.attributes import NOALIAS, ON_DEVICE

_DIMENSIONS = (gpu.DimensionEnum.X, gpu.DimensionEnum.Y, gpu.DimensionEnum.Z)
_KINDS = (gpu.BlockIdOp, gpu.ThreadIdOp, gpu.GridDimOp, gpu.BlockDimOp)
"""What the arguments of a launch's body are, three of each: by x, y, z."""
_COPIED = (arith.ConstantOp, memref.GetGlobalOp)
"""What a kernel computes again rather than being given it."""


class GpuOutlineKernelsPass(ModulePass):
    """Make a function of the device of each launch, and leave a call of it with the numbers of blocks and threads.

    The functions are in one gpu.module, named after the function that launches them. They take what the launch uses;
    constants are copied, and so are declarations of the C functions they call. Memory that is given to kernels, of the
    function that allocates it or of one that it calls, is allocated on the device; so is what C functions are given by
    functions whose attribute `stepwell.on_device` says so. What the host loads there, to branch on it, is copied to the
    host, which waits for it.

    Before
        func.func @main(%A: memref<8xf32>) {
          gpu.launch blocks(...) in (%gx = %c1, ...) threads(%tx, ...) in (%n = %c8, ...) {
            memref.store %cst, %A[%tx] : memref<8xf32>
            gpu.terminator
          }
          func.return
        }

    After
        gpu.module @main_kernels {
          gpu.func @main_kernel(%A : memref<8xf32>) kernel {
            %tx = gpu.thread_id x
            memref.store %cst, %A[%tx] : memref<8xf32>
            gpu.return
          }
        }
        func.func @main(%A: memref<8xf32>) {
          gpu.launch_func @main_kernels::@main_kernel blocks in (...) threads in (...) args(%A : memref<8xf32>)
          func.return
        }

    An element that the host loads

        %x = memref.load %A[%i] : memref<8xf32>

    becomes

        %cell = memref.alloca() : memref<f32>
        %there = memref.subview %A[%i] [1] [1] : memref<8xf32> to memref<f32, strided<[], offset: ?>>
        %here = memref.cast %cell : memref<f32> to memref<f32, strided<[], offset: ?>>
        gpu.memcpy %here, %there
        %x = memref.load %cell[] : memref<f32>

    Must hold before: launches are those of convert-tir-to-scf: operands beside sizes there are none. The host stores
    nothing (`tir-check-launches`).

    Gone after: gpu.launch, gpu.terminator, loads by the host of what is not a constant.
    """

    name = "gpu-outline-kernels"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        functions = [f for f in op.body.block.ops if isinstance(f, func.FuncOp)]
        for function in functions:
            launches = [inner for inner in function.walk() if isinstance(inner, gpu.LaunchOp)]
            if launches:
                op.attributes["gpu.container_module"] = UnitAttr()
                _outline(function, launches)
        _DeviceMemory(functions).allocate()
        for load in [inner for function in functions for inner in function.walk() if isinstance(inner, memref.LoadOp)]:
            if not isinstance(_root(load.memref).owner, memref.GetGlobalOp):
                _copy_to_host(load)
        _move_declarations(op)


def _move_declarations(module: ModuleOp) -> None:
    """Declare C functions that kernels call, and a device has, beside them; and not for the host if it does not."""
    block = module.body.block
    declared = {op.sym_name.data: op for op in block.ops if isinstance(op, func.FuncOp) and op.is_declaration}
    host: set[str] = set()
    device: set[str] = set()
    for top in list(block.ops):
        called = {op.callee.string_value() for op in top.walk() if isinstance(op, func.CallOp)} & declared.keys()
        if not isinstance(top, gpu.ModuleOp):
            host |= called
            continue
        called &= C_FUNCTIONS
        device |= called
        known = {op.sym_name.data for op in top.body.block.ops if isinstance(op, func.FuncOp)}
        for name in sorted(called - known):
            top.body.block.add_op(declared[name].clone())
    for name in device - host:
        declared[name].detach()
        declared[name].erase()


def _outline(function: func.FuncOp, launches: Sequence[gpu.LaunchOp]) -> None:
    name = function.sym_name.data
    module = gpu.ModuleOp(SymbolRefAttr(f"{name}_kernels"), Region(Block()))
    module.properties["sym_name"] = StringAttr(f"{name}_kernels")
    Rewriter.insert_op(module, InsertPoint.before(function))
    for number, launch in enumerate(launches):
        kernel = f"{name}_kernel" if len(launches) == 1 else f"{name}_kernel_{number}"
        operands = _operands(launch)
        device = _device_function(kernel, launch, operands)
        if NOALIAS in function.attributes:
            device.attributes[NOALIAS] = UnitAttr()
        module.body.block.add_op(device)
        call = gpu.LaunchFuncOp(
            SymbolRefAttr(f"{name}_kernels", [StringAttr(kernel)]),
            [launch.gridSizeX, launch.gridSizeY, launch.gridSizeZ],
            [launch.blockSizeX, launch.blockSizeY, launch.blockSizeZ],
            dynamicSharedMemorySize=launch.dynamicSharedMemorySize,
            kernelOperands=operands,
        )
        call.location = launch.location
        Rewriter.insert_op(call, InsertPoint.before(launch))
        launch.detach()
        launch.erase()


def _operands(launch: gpu.LaunchOp) -> list[SSAValue]:
    """What a kernel is given: the values from outside, in the order in which they are used."""
    body = dict.fromkeys(v for region in launch.regions for op in region.walk() for v in _used(op, launch))
    return [v for v in body if not isinstance(v.owner, _COPIED)]


def _used(op: Operation, launch: gpu.LaunchOp) -> list[SSAValue]:
    return [v for v in op.operands if not launch.is_ancestor(v.owner)]


def _device_function(name: str, launch: gpu.LaunchOp, operands: Sequence[SSAValue]) -> gpu.FuncOp:
    body = launch.body.detach_block(0)
    block = Block(arg_types=[v.type for v in operands])
    for argument, operand in zip(block.args, operands, strict=True):
        argument.name_hint = operand.name_hint
    values: dict[SSAValue, SSAValue] = dict(zip(operands, block.args, strict=True))
    for value in dict.fromkeys(v for op in body.ops for v in free_values(op)):
        if isinstance(value.owner, _COPIED):
            copy = value.owner.clone()
            block.add_op(copy)
            values[value] = copy.results[0]
    for number, argument in enumerate(body.args):
        if argument.uses:
            made = _KINDS[number // 3](gpu.DimensionAttr(_DIMENSIONS[number % 3]))
            hint(made.result, argument.name_hint or "id")
            block.add_op(made)
            argument.replace_all_uses_with(made.result)
    for op in list(body.ops):
        op.detach()
        block.add_op(gpu.ReturnOp([]) if isinstance(op, gpu.TerminatorOp) else op)
        for inner in op.walk():
            for n, operand in enumerate(inner.operands):
                if operand in values:
                    inner.operands[n] = values[operand]
    sizes = [_constant(v) for v in (launch.blockSizeX, launch.blockSizeY, launch.blockSizeZ)]
    known = [n for n in sizes if n is not None]
    type = FunctionType.from_lists(block.arg_types, [])
    return gpu.FuncOp(name, type, Region(block), True, known if len(known) == len(sizes) else None)


def _constant(value: SSAValue) -> int | None:
    owner = value.owner
    if isinstance(owner, arith.ConstantOp) and isinstance(owner.value, IntegerAttr):
        return owner.value.value.data
    return None


class _DeviceMemory:
    """Memory that functions give to kernels, or load, is the device's; on the stack is none of it."""

    def __init__(self, functions: Sequence[func.FuncOp]):
        self.functions = {function.sym_name.data: function for function in functions}
        self.known: dict[SSAValue, bool] = {}

    def allocate(self) -> None:
        for function in self.functions.values():
            for op in list(function.walk()):
                if isinstance(op, memref.AllocOp | memref.AllocaOp) and self._reaches_kernel(op.memref):
                    _allocate_on_device(op)

    def _reaches_kernel(self, buffer: SSAValue) -> bool:
        """Whether a buffer, or a view of it, is given to a kernel, or loaded as kernels leave it."""
        if buffer not in self.known:
            self.known[buffer] = False  # while a function that calls itself is looked at
            self.known[buffer] = any(map(self._is_for_kernel, buffer.uses))
        return self.known[buffer]

    def _is_for_kernel(self, use: Use) -> bool:
        op = use.operation
        if isinstance(op, gpu.LaunchFuncOp | memref.LoadOp) or (
            _is_address(op) and ON_DEVICE in _function_of(op).attributes
        ):
            return True
        if isinstance(op, func.CallOp):
            callee = self.functions.get(op.callee.string_value())
            if callee is None or callee.is_declaration:
                return False
            return self._reaches_kernel(callee.body.block.args[use.index])
        return any(self._reaches_kernel(result) for result in op.results if isinstance(result.type, MemRefType))


def _is_address(op: Operation) -> bool:
    return isinstance(op, memref.ExtractAlignedPointerAsIndexOp)


def _function_of(op: Operation) -> func.FuncOp:
    while not isinstance(op, func.FuncOp):
        parent = op.parent_op()
        assert parent is not None
        op = parent
    return op


def _allocate_on_device(op: memref.AllocOp | memref.AllocaOp) -> None:
    frees = [use.operation for use in op.memref.uses if isinstance(use.operation, memref.DeallocOp)]
    new = gpu.AllocOp(op.memref.type, dynamic_sizes=list(op.dynamic_sizes))
    block = op.parent
    Rewriter.replace_op(op, new, [new.result])
    for free in frees:
        Rewriter.replace_op(free, gpu.DeallocOp(new.result))
    if isinstance(op, memref.AllocaOp):
        assert block is not None
        assert block.last_op is not None
        Rewriter.insert_op(gpu.DeallocOp(new.result), InsertPoint.before(block.last_op))


# What the host branches on


def _root(buffer: SSAValue) -> SSAValue:
    """What a buffer is a view of."""
    owner = buffer.owner
    views = [v for v in owner.operands if isinstance(v.type, MemRefType)] if isinstance(owner, Operation) else []
    return _root(views[0]) if views else buffer


def _copy_to_host(load: memref.LoadOp) -> None:
    """Load an element of memory of the device from a copy that the host has waited for."""
    type, name = load.memref.type, load.memref.name_hint
    assert isinstance(type, MemRefType)
    cell_type = MemRefType(type.element_type, [], memory_space=type.memory_space)
    cell = memref.AllocaOp.build(operands=[[], []], result_types=[cell_type], properties={})
    ops: list[Operation] = [cell]
    source, target = load.memref, cell.memref
    if type != cell_type:
        element = MemRefType(type.element_type, [], StridedLayoutAttr([], None), type.memory_space)
        ops += [there := _element_of(load, element), here := memref.CastOp.get(target, element)]
        source, target = there.results[0], here.dest
    for value in (cell.memref, source, target):
        value.name_hint = value.name_hint or name
    again = memref.LoadOp.get(cell.memref, [])
    again.res.name_hint = load.res.name_hint
    for op in (*ops, gpu.MemcpyOp(source, target), again):
        op.location = load.location
        Rewriter.insert_op(op, InsertPoint.before(load))
    Rewriter.replace_op(load, [], [again.res])


def _element_of(load: memref.LoadOp, type: MemRefType) -> memref.SubviewOp | memref.CastOp:
    """A view of the element that is loaded, wherever it is."""
    if not load.indices:
        return memref.CastOp.get(load.memref, type)
    ones = [1] * len(load.indices)
    return memref.SubviewOp.get(load.memref, load.indices, ones, ones, type)

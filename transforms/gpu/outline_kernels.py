"""The pass `gpu-outline-kernels`."""

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
from ...core.gpu import DEVICE_FUNCTIONS
from ...core.walking import find_ops
from ...core.xdsl_compat import set_name_hint
from ...dialects.attributes import CUDA_EXPRESSION, MATRIX_OPERATION, NOALIAS, ON_DEVICE

_DIMENSIONS = (gpu.DimensionEnum.X, gpu.DimensionEnum.Y, gpu.DimensionEnum.Z)
_KINDS = (gpu.BlockIdOp, gpu.ThreadIdOp, gpu.GridDimOp, gpu.BlockDimOp)
"""The operations that replace the arguments of a launch's body, three arguments for each: x, y, z."""
_COPIED = (arith.ConstantOp, memref.GetGlobalOp)
"""Operations that a kernel repeats instead of receiving their results as arguments."""


class GpuOutlineKernelsPass(ModulePass):
    """Outlines each launch into a function of the device, and replaces it by a call with the grid and block sizes.

    The functions are in one gpu.module, named after the function that launches them. Their parameters are the values
    that the launch uses; constants are copied, and so are declarations of the C functions that they call. Memory passed
    to kernels, by the function that allocates it or by a function that it calls, is allocated on the device; so is
    memory passed to C functions by functions with the attribute `stepwell.on_device`. Elements of such memory that the
    host loads, for its branches, are copied to the host, which waits for the copy.

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

    Must hold before: launches have the form that `convert-tir-to-scf` produces, without operands other than sizes. The
    host stores nothing (`tir-check-launches`).

    Gone after: gpu.launch, gpu.terminator, loads by the host except from constants.
    """

    name = "gpu-outline-kernels"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        functions = [f for f in op.body.block.ops if isinstance(f, func.FuncOp)]
        for function in functions:
            launches = list(find_ops(function, gpu.LaunchOp))
            if launches:
                op.attributes["gpu.container_module"] = UnitAttr()
                _outline(function, launches)
        _DeviceMemory(functions).allocate()
        for load in [inner for function in functions for inner in find_ops(function, memref.LoadOp)]:
            if not isinstance(_root(load.memref).owner, memref.GetGlobalOp):
                _copy_to_host(load)
        _move_declarations(op)


def _move_declarations(module: ModuleOp) -> None:
    """Declares the functions that kernels call, and the device has, in the device module; erases host declarations
    without calls.
    """
    block = module.body.block
    declared = {op.sym_name.data: op for op in block.ops if isinstance(op, func.FuncOp) and op.is_declaration}
    host: set[str] = set()
    device: set[str] = set()
    for top in list(block.ops):
        called = {op.callee.string_value() for op in find_ops(top, func.CallOp)} & declared.keys()
        if not isinstance(top, gpu.ModuleOp):
            host |= called
            continue
        called = {name for name in called if _is_on_device(declared[name])}
        device |= called
        known = {op.sym_name.data for op in top.body.block.ops if isinstance(op, func.FuncOp)}
        for name in sorted(called - known):
            top.body.block.add_op(declared[name].clone())
    for name in device - host:
        declared[name].detach()
        declared[name].erase()


def _is_on_device(declaration: func.FuncOp) -> bool:
    """Whether the device has a function: one of CUDA, an expression of CUDA C++, or a matrix operation."""
    own = declaration.attributes.keys() & {CUDA_EXPRESSION, MATRIX_OPERATION}
    return bool(own) or declaration.sym_name.data in DEVICE_FUNCTIONS


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
    """The operands of a kernel: the values from outside, in the order of their first use."""
    body = dict.fromkeys(v for region in launch.regions for op in region.walk() for v in _outside_operands(op, launch))
    return [v for v in body if not isinstance(v.owner, _COPIED)]


def _outside_operands(op: Operation, launch: gpu.LaunchOp) -> list[SSAValue]:
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
            dimension = _KINDS[number // 3](gpu.DimensionAttr(_DIMENSIONS[number % 3]))
            set_name_hint(dimension.result, argument.name_hint or "id")
            block.add_op(dimension)
            argument.replace_all_uses_with(dimension.result)
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
    """Placement of allocations: memory that kernels or loads use is memory of the device, never of the stack."""

    def __init__(self, functions: Sequence[func.FuncOp]):
        self.functions = {function.sym_name.data: function for function in functions}
        self.known: dict[SSAValue, bool] = {}

    def allocate(self) -> None:
        for function in self.functions.values():
            for op in list(function.walk()):
                if isinstance(op, memref.AllocOp | memref.AllocaOp) and self._reaches_kernel(op.memref):
                    _allocate_on_device(op)

    def _reaches_kernel(self, buffer: SSAValue) -> bool:
        """Whether a buffer, or a view of it, is an operand of a kernel, or of a load that reads results of kernels."""
        if buffer not in self.known:
            self.known[buffer] = False  # the assumption for recursive functions
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


# Loads by the host


def _root(buffer: SSAValue) -> SSAValue:
    """The allocation or argument that `buffer` is a view of."""
    owner = buffer.owner
    views = [v for v in owner.operands if isinstance(v.type, MemRefType)] if isinstance(owner, Operation) else []
    return _root(views[0]) if views else buffer


def _copy_to_host(load: memref.LoadOp) -> None:
    """Replaces a load of device memory by a load of a host copy, which the host has waited for."""
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
    """A view of the loaded element alone, with a dynamic offset."""
    if not load.indices:
        return memref.CastOp.get(load.memref, type)
    ones = [1] * len(load.indices)
    return memref.SubviewOp.get(load.memref, load.indices, ones, ones, type)

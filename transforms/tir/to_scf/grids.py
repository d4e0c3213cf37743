"""Launches of blocks and threads (`gpu.launch`), and operations valid only inside a launch."""

from __future__ import annotations

from xdsl.dialects import gpu
from xdsl.dialects.builtin import MemRefType, UnitAttr, i32
from xdsl.ir import Block, Operation, Region, SSAValue

from ....analysis.threads.axes import BLOCK_AXES, THREAD_AXES
from ....analysis.threads.fragments import FILL, MULTIPLY, fragments_of, layout_of
from ....analysis.threads.registers import LDMATRIX, MMA, is_product_of_values, product_of, values_of
from ....analysis.threads.shuffles import ALL_LANES, shuffle_of
from ....core.diagnostics import unsupported_op_error
from ....core.dtypes import dtype_of, wrap_int
from ....core.xdsl_compat import GpuShuffleOp
from ....dialects.attributes import WARP_BARRIER
from ....dialects.tir import CallIntrinOp, ConstOp, LaunchThreadOp
from ....dialects.tir.tree import is_pure_expression
from .casts import convert_value
from .types import INDEX, lower_type
from .writer import Handlers, UpstreamWriter

_AXES = (*BLOCK_AXES, *THREAD_AXES)
_ARGUMENTS = 12
"""The number of arguments of a launch's body: block index, thread index, grid size and block size, each by x, y, z."""


def _launch(w: UpstreamWriter, op: LaunchThreadOp) -> None:
    axis = op.thread.data
    if not w.module.launches:
        raise unsupported_op_error(op, f"target llvm has no threads: {op.var_name.data} is the index of {axis}")
    if axis not in _AXES:
        raise unsupported_op_error(op, f"no axis {axis} of a grid (has: {', '.join(_AXES)})")
    if w.launched is None:
        _outermost(w, op)
        return
    if axis not in w.launched:
        raise unsupported_op_error(op, f"{axis} is launched inside of another launch, whose threads are there already")
    w.indices[op.variable] = w.launched[axis]
    w.statements(op.body.block.ops)


def _outermost(w: UpstreamWriter, op: LaunchThreadOp) -> None:
    nest = _nest(op)
    extents: dict[str, SSAValue] = {}
    for launch in nest:
        extent = launch.mixed_extent
        if isinstance(extent, SSAValue):
            w.statements(_inside(extent, op, launch))
        extents[launch.thread.data] = w.index(w.index_of(extent))
    one = w.index(1)
    sizes = [extents.get(axis, one) for axis in _AXES]
    block = Block(arg_types=[INDEX] * _ARGUMENTS)
    w.launched = dict(zip(_AXES, block.args, strict=False))
    for launch in nest:
        argument = w.launched[launch.thread.data]
        argument.name_hint = launch.variable.name_hint
    with w.inside(block), w.own_stack(block):
        _launch(w, op)
        w.end(gpu.TerminatorOp)
    w.launched = None
    w.insert(gpu.LaunchOp(Region(block), sizes[:3], sizes[3:]))


def _inside(extent: SSAValue, op: LaunchThreadOp, launch: LaunchThreadOp) -> list[Operation]:
    """The ops inside a launch that compute an extent, in order. UnsupportedError if only the kernel can compute it."""
    owner = extent.owner
    if not op.is_ancestor(owner):
        return []
    if not isinstance(owner, Operation) or not is_pure_expression(owner):
        raise unsupported_op_error(launch, f"the kernel computes how many {launch.thread.data} there are")
    needed = [each for operand in owner.operands for each in _inside(operand, op, launch)]
    return list(dict.fromkeys([*needed, owner]))


def _nest(op: LaunchThreadOp) -> list[LaunchThreadOp]:
    """A launch and the nested launches, one for each axis."""
    launches = {op.thread.data: op}
    for inner in op.walk():
        if isinstance(inner, LaunchThreadOp):
            known = launches.setdefault(inner.thread.data, inner)
            if known is not inner:
                raise unsupported_op_error(
                    inner, f"{inner.thread.data} is launched twice in one kernel (`tir-launch-threads`)"
                )
    return list(launches.values())


def barrier(w: UpstreamWriter, *, of_warp: bool = False) -> bool:
    """Emits a barrier for the threads of a block, or of a warp; returns False outside of a launch."""
    if w.launched is None:
        return False
    op = gpu.BarrierOp()
    if of_warp:
        op.attributes[WARP_BARRIER] = UnitAttr()
    w.insert(op)
    return True


def shuffle(w: UpstreamWriter, op: CallIntrinOp) -> None:
    """Emits an exchange of values between the lanes of a warp."""
    if w.launched is None:
        raise unsupported_op_error(op, f"T.{op.intrinsic.data}: target llvm has no threads")
    request = shuffle_of(op)
    lane = convert_value(w, w.value(request.lane), dtype_of(request.lane.type), dtype_of(i32))
    exchange = w.insert(GpuShuffleOp(request.mode, w.value(request.value), lane, w.constant(request.width, i32)))
    w.bind(op.results[0], exchange.shuffled)


def active_mask(w: UpstreamWriter, op: CallIntrinOp) -> None:
    """The mask of active lanes: all lanes."""
    (result,) = op.results
    w.bind(result, w.constant(wrap_int(ALL_LANES, dtype_of(result.type)), lower_type(result.type)))


def matrix_operation(w: UpstreamWriter, op: CallIntrinOp) -> None:
    """Emits a call of a matrix operation of a warp: each fragment as the memory of fragments and a number, a matrix in
    memory as the memory, the position of its first element, and the distance between its rows."""
    name = op.intrinsic.data
    if w.launched is None:
        raise unsupported_op_error(op, f"T.{name}: only a kernel has warps (`tir-lower-fragments` replaces it)")
    operands = [
        v for pointer, number in fragments_of(op) for v in (w.pointer(pointer).base, w.index(w.index_of(number)))
    ]
    layout = None
    if name == FILL:
        operands.append(w.value(op.args[5]))
    elif name != MULTIPLY:
        memory, layout = w.pointer(op.args[5]), layout_of(op)
        if not isinstance(memory.base.type, MemRefType):
            raise unsupported_op_error(op, f"T.{name}: a pointer that was loaded, expected the address of an element")
        operands += [memory.base, w.index(memory.offset), w.index(w.index_of(op.args[6]))]
    callee = w.module.declare_matrix_operation(name, layout, [operand.type for operand in operands])
    w.module.call_named(w, callee, operands, [])


def product(w: UpstreamWriter, op: CallIntrinOp) -> None:
    """Emits a call of a product of matrices in the registers of a warp: the factors and the sums of each lane."""
    if w.launched is None or not is_product_of_values(op):
        raise unsupported_op_error(op, f"T.{op.intrinsic.data}: only a kernel has warps (`tir-lower-fragments`)")
    operands = [w.value(value) for value in values_of(op)]
    (result,) = op.results
    types = [lower_type(result.type)]
    callee = w.module.declare_matrix_operation(MMA, product_of(op).name, [each.type for each in operands], types)
    w.bind(result, w.module.call_named(w, callee, operands, types)[0])


def load_matrices(w: UpstreamWriter, op: CallIntrinOp) -> None:
    """Emits a call of the load of matrices into registers: the memory, and the position of the row of each lane."""
    words, pointer = op.args[0].owner, w.pointer(op.args[1])
    if w.launched is None or not isinstance(words, ConstOp) or not isinstance(pointer.base.type, MemRefType):
        raise unsupported_op_error(op, f"T.{op.intrinsic.data}: only a kernel has warps (`tir-lower-fragments`)")
    (result,) = op.results
    operands, types = [pointer.base, w.index(pointer.offset)], [lower_type(result.type)]
    detail = words.value.data  # pyright: ignore[reportAttributeAccessIssue]
    callee = w.module.declare_matrix_operation(LDMATRIX, detail, [each.type for each in operands], types)
    w.bind(result, w.module.call_named(w, callee, operands, types)[0])


HANDLERS: Handlers = {LaunchThreadOp: _launch}

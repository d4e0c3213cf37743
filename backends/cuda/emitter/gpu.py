"""Lowering of the `gpu` dialect on the device: indices of threads, barriers, shuffles, returns; and calls of `func`."""

from __future__ import annotations

from xdsl.dialects import func, gpu
from xdsl.dialects.builtin import MemRefType, StringAttr
from xdsl.ir import Operation, SSAValue

from ....analysis.threads.registers import LDMATRIX, MMA, WarpProduct
from ....core.gpu import MAX_BLOCK_DIMS, MAX_GRID_DIMS
from ....core.xdsl_compat import GpuShuffleOp
from ....dialects.attributes import CUDA_EXPRESSION, PARAMETER_DTYPE, WARP_BARRIER
from ...llvm.types import lane_count
from .arith import class_of
from .expression import INT, PRIMARY, UNARY, UNSIGNED, WIDTHS, CudaExpr, index_arithmetic, variable_expr
from .fragments import address_in, emit_matrix_operation
from .function import CudaFunctionEmitter, Lowerings, lowering_unsupported
from .memref import address_of, stored_text, value_of_element
from .products import PREFIX_OF_MATRICES, PREFIX_OF_PRODUCT
from .types import memory_type, scalar_type

_BUILTINS = {
    gpu.ThreadIdOp: ("threadIdx", "t"),
    gpu.BlockIdOp: ("blockIdx", "b"),
    gpu.BlockDimOp: ("blockDim", "size"),
    gpu.GridDimOp: ("gridDim", "blocks"),
}


def _size(f: CudaFunctionEmitter, axis: str, *, of_grid: bool) -> tuple[int, int]:
    """The bounds of the number of threads in a block, or of blocks."""
    known = f.grid_size if of_grid else f.block_size
    n = "xyz".index(axis)
    if known is not None and n < len(known):
        return known[n], known[n]
    return 1, (MAX_GRID_DIMS if of_grid else MAX_BLOCK_DIMS)[axis]


def _builtin_variable(f: CudaFunctionEmitter, op: gpu.ThreadIdOp) -> None:
    """A variable for an index or a size, because the built-in one is unsigned."""
    if not op.result.uses:
        return
    builtin, letter = _BUILTINS[class_of(op)]
    axis = str(op.dimension.data)
    value = _builtin(f, builtin, axis)
    f.bind(op.result, f.local(value, op.result.name_hint or f"{letter}{axis}"))


def _builtin(f: CudaFunctionEmitter, builtin: str, axis: str) -> CudaExpr:
    least, most = _size(f, axis, of_grid=builtin in ("blockIdx", "gridDim"))
    range = (0, max(most - 1, 1)) if builtin.endswith("Idx") else (least, most)
    return CudaExpr(f"{builtin}.{axis}", PRIMARY, INT, range)


def _global_id(f: CudaFunctionEmitter, op: gpu.GlobalIdOp) -> None:
    axis = str(op.dimension.data)
    block, size, thread = (
        f.local(_builtin(f, builtin, axis), f"{hint}{axis}")
        for builtin, hint in (("blockIdx", "b"), ("blockDim", "size"), ("threadIdx", "t"))
    )
    f.define(op.result, index_arithmetic("+", index_arithmetic("*", block, size), thread))


def _barrier(f: CudaFunctionEmitter, op: gpu.BarrierOp) -> None:
    f.statement("__syncwarp();" if WARP_BARRIER in op.attributes else "__syncthreads();")


_SHUFFLES = {"idx": "__shfl_sync", "up": "__shfl_up_sync", "down": "__shfl_down_sync", "xor": "__shfl_xor_sync"}


def _shuffle(f: CudaFunctionEmitter, op: GpuShuffleOp) -> None:
    """Exchanges values between the lanes of a warp, all of which must reach it. Types narrower than `int`
    are exchanged as `int`.
    """
    if op.valid.uses:
        raise lowering_unsupported(op, "CUDA does not say whether there is such a lane")
    value, offset, width = f.operands([op.value, op.offset, op.width])
    text = f"{_SHUFFLES[op.mode.data]}(0xffffffffu, {value.text}, {offset.text}, {width.text})"
    kind = scalar_type(op.value.type)
    if WIDTHS.get(kind, 32) < 32:
        text = f"({kind}){text}"
    f.define_effect(op.shuffled, CudaExpr(text, PRIMARY, kind))


def _return(f: CudaFunctionEmitter, op: gpu.ReturnOp) -> None:
    if op.args:
        f.line(f"return {f.operand(op.args[0]).text};")


def _call(f: CudaFunctionEmitter, op: func.CallOp) -> None:
    expression = f.module.expression(op)
    if expression is not None:
        if not op.res:
            f.statement(f"{_expression_text(f, op, expression)};")
            return
        kind = scalar_type(op.res[0].type)
        f.define(op.res[0], CudaExpr(f"({kind})({_expression_text(f, op, expression)})", UNARY, kind))
        return
    if operation := f.module.matrix_operation(op):
        if operation[0] == MMA:
            _product(f, op, operation[1])
        elif operation[0] == LDMATRIX:
            _load_matrices(f, op, operation[1])
        else:
            emit_matrix_operation(f, op, *operation)
        return
    callee, function = f.module.callee(op)
    if len(op.res) > 1 or any(isinstance(r.type, MemRefType) or lane_count(r.type) is not None for r in op.res):
        raise lowering_unsupported(op, "a function on the device gives one scalar")
    if function is None:
        arguments = [part for value in op.arguments for part in _external_argument(f, op, value)]
    else:
        arguments = [part.wide or part for value in op.arguments for part in f.components(value)]
    text = f"{callee}({', '.join(part.text for part in arguments)})"
    if not op.res:
        f.statement(f"{text};")
        return
    f.define_effect(op.res[0], CudaExpr(text, PRIMARY, scalar_type(op.res[0].type)))


def _product(f: CudaFunctionEmitter, op: func.CallOp, name: str) -> None:
    """Emits a call of the function of a product. Its operands are the factors and the sums in the registers of each
    lane, its result the new sums."""
    product = WarpProduct.of_name(name)
    f.emit_pending_reads()
    arrays: list[str] = []
    for value, hint in zip(op.arguments, ("left", "right", "sums"), strict=True):
        lanes = f.lanes(value) if lane_count(value.type) is not None else (f.operand(value),)
        type, new = f.module.use_type(memory_type(value.type)), f.names.fresh(hint)
        f.line(f"__align__(16) {type} {new}[{len(lanes)}] = {{{', '.join(map(stored_text, lanes))}}};")
        arrays.append(new)
    left, right, sums = arrays
    f.statement(f"{f.helper(f'{PREFIX_OF_PRODUCT}{product.name}')}({sums}, {left}, {right});")
    _define_elements(f, op.res[0], sums)


def _load_matrices(f: CudaFunctionEmitter, op: func.CallOp, words: str) -> None:
    """Emits a call of the function that loads matrices into registers. Its operands are memory and the position of the
    row of each lane."""
    memory, position = f.buffer(op.arguments[0]), f.operand(op.arguments[1])
    (result,) = op.res
    f.emit_pending_reads()
    new = f.names.fresh("matrices")
    f.line(f"__align__(16) {f.module.use_type(memory_type(result.type))} {new}[{lane_count(result.type) or 1}];")
    name = f.helper(f"{PREFIX_OF_MATRICES}{words.replace('.', '_')}")
    f.statement(f"{name}({new}, {address_in(memory, position)});")
    _define_elements(f, result, new)


def _define_elements(f: CudaFunctionEmitter, result: SSAValue, array: str) -> None:
    """Binds a result to the elements of an array."""
    kind = memory_type(result.type)
    count = lane_count(result.type)
    read = [value_of_element(variable_expr(f"{array}[{n}]", kind), result.type) for n in range(count or 1)]
    if count is None:
        f.define(result, read[0])
    else:
        f.define_lanes(result, read)


def _expression_text(f: CudaFunctionEmitter, op: func.CallOp, declaration: func.FuncOp) -> str:
    """The expression of CUDA C++ that a declaration states, on the operands of a call."""
    template, arg_attrs = declaration.attributes[CUDA_EXPRESSION], declaration.arg_attrs
    assert isinstance(template, StringAttr)
    assert arg_attrs is not None
    operands: list[str] = []
    for value, attributes in zip(f.operands(op.arguments), arg_attrs, strict=True):
        operand = f.as_repeatable(value, "operand")
        dtype = attributes.data[PARAMETER_DTYPE]
        assert isinstance(dtype, StringAttr)
        cast = f"({UNSIGNED[WIDTHS[value.type]]})" if dtype.data.startswith("uint") else ""
        operands.append(f"({cast}{operand.text})")
    try:
        return template.data.format(*operands)
    except (IndexError, KeyError, ValueError) as error:
        message = f"the expression {template.data!r}: expected {{0}} to {{{len(operands) - 1}}} for the operands"
        raise lowering_unsupported(op, message) from error


def _external_argument(f: CudaFunctionEmitter, op: Operation, value: SSAValue) -> list[CudaExpr]:
    """An argument of a CUDA function: a buffer is passed as the address of its first element."""
    if isinstance(value.type, MemRefType):
        buffer = f.buffer(value)
        return [address_of(buffer, buffer.offset)]
    if lane_count(value.type) is not None:
        raise lowering_unsupported(op, "a vector cannot be passed to an external function")
    return [f.operand(value)]


LOWERINGS: Lowerings = {
    **dict.fromkeys(_BUILTINS, _builtin_variable),
    gpu.GlobalIdOp: _global_id,
    gpu.BarrierOp: _barrier,
    gpu.ReturnOp: _return,
    GpuShuffleOp: _shuffle,
    func.CallOp: _call,
}

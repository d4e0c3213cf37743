"""Calls of other functions, of C symbols and of registered Python functions."""

from __future__ import annotations

from collections.abc import Callable

from xdsl.dialects import memref
from xdsl.dialects.builtin import (
    AnyFloat,
    IntegerAttr,
    IntegerType,
    MemRefType,
    NoneAttr,
    StridedLayoutAttr,
    StringAttr,
    i64,
)
from xdsl.ir import Attribute, Operation, SSAValue

from ....analysis.threads.atomics import Atomic, atomic_of
from ....analysis.threads.barriers import SYNC, is_barrier_of_warp
from ....analysis.threads.fragments import FILL, LOAD, MULTIPLY, STORE
from ....analysis.threads.registers import LDMATRIX, MMA
from ....analysis.threads.shuffles import ACTIVE_MASK, MODES
from ....core.diagnostics import unsupported_op_error
from ....core.dtypes import dtype_of, parse_dtype
from ....core.variadic import VARIADIC
from ....dialects.attributes import CUDA_EXPRESSION
from ....dialects.tir import CallExternOp, CallIntrinOp, CallOp, CallPackedOp, ConstOp, HandleType
from .casts import compare, convert_value
from .control import emit_check
from .grids import active_mask, barrier, load_matrices, matrix_operation, product, shuffle
from .memory import constant_string, data_pointer, pointer_to_element, view
from .types import element_dtype_name, lower_type
from .writer import Handlers, LoweredPointer, UpstreamWriter

_DOUBLE = parse_dtype("float64")
_INT = parse_dtype("int32")


def _bind_result(w: UpstreamWriter, op: Operation, results: list[SSAValue]) -> None:
    for old, new in zip(op.results, results, strict=True):
        w.bind(old, new)


def _result_types(op: Operation) -> list[Attribute]:
    return [lower_type(r.type) for r in op.results]


def _call(w: UpstreamWriter, op: CallOp) -> None:
    _call_function(w, op, op.callee.string_value(), list(op.args))


def _call_function(w: UpstreamWriter, op: Operation, name: str, args: list[SSAValue]) -> None:
    signature = w.module.signatures[name]
    if len(signature) != len(args):
        raise unsupported_op_error(op, f"function {name} takes {len(signature)} arguments, got {len(args)}")
    arguments = [
        _convert_argument(w, op, n, arg, type) for n, (arg, type) in enumerate(zip(args, signature, strict=True))
    ]
    _bind_result(w, op, w.module.call_named(w, name, arguments, _result_types(op)))


def _convert_argument(w: UpstreamWriter, op: Operation, n: int, arg: SSAValue, type: Attribute) -> SSAValue:
    """Argument `n` of a call, converted to the type of the parameter: pointers and buffers convert to each other."""
    if isinstance(type, MemRefType):
        return _as_memref(w, op, n, arg, type)
    if isinstance(arg.type, MemRefType):
        return w.pointer_value(data_pointer(w, arg))
    value = w.value(arg)
    if value.type != type:
        raise unsupported_op_error(op, f"argument {n} is {arg.type}, expected {type}")
    return value


def _as_memref(w: UpstreamWriter, op: Operation, n: int, arg: SSAValue, type: MemRefType[Attribute]) -> SSAValue:
    if isinstance(arg.type, MemRefType):
        value = w.memref(arg)
        have = value.type
        if isinstance(have, MemRefType) and _begins_elsewhere(have, type):
            extents = [
                e if e >= 0 else w.make(memref.DimOp, [value, w.index(d)], [w.index(0).type], {}).result
                for d, e in enumerate(have.get_shape())
            ]
            first = pointer_to_element(w, arg, [0] * have.get_num_dims())
            value = view(w, LoweredPointer(w.pointer_value(first)), type, extents)[0]
        return _fit(w, op, n, value, type)
    pointer = w.pointer(arg)
    base = pointer.base
    whole = base.type if isinstance(base.type, MemRefType) and pointer.offset == 0 else None
    if whole is not None and _castable(whole, type):
        return _fit(w, op, n, base, type)
    shape = type.get_shape()
    if any(extent < 0 for extent in shape) or not isinstance(type.layout, NoneAttr):
        raise unsupported_op_error(op, f"argument {n} is a pointer, whose shape nobody knows, expected {type}")
    if whole is None or not isinstance(whole.layout, NoneAttr):
        # A separate pointer, so that the memref starts at its target.
        pointer = LoweredPointer(w.pointer_value(pointer))
    return view(w, pointer, type, list(shape))[0]


def _castable(have: MemRefType[Attribute], want: MemRefType[Attribute]) -> bool:
    """Whether memref.cast can convert between two types: they agree in all sizes that both state."""
    if have.element_type != want.element_type or have.get_num_dims() != want.get_num_dims():
        return False
    pairs = zip(have.get_shape(), want.get_shape(), strict=True)
    if not all(a == b or min(a, b) < 0 for a, b in pairs):
        return False
    a, b = (_layout(t) for t in (have, want))
    return all(x == y or x is None or y is None for x, y in zip(a, b, strict=True))


def _begins_elsewhere(have: MemRefType[Attribute], want: MemRefType[Attribute]) -> bool:
    """Whether a memref has the strides of another type, but an offset that the other type lacks."""
    same = have.element_type == want.element_type and have.get_num_dims() == want.get_num_dims()
    if not same or not isinstance(want.layout, NoneAttr):
        return False
    *strides, offset = _layout(have)
    return offset != 0 and strides == _layout(want)[:-1] and None not in strides


def _layout(type: MemRefType[Attribute]) -> list[int | None]:
    """The strides and the offset of a type, None for dynamic ones."""
    if isinstance(layout := type.layout, StridedLayoutAttr):
        return [None if isinstance(s, NoneAttr) else s.data for s in (*layout.strides.data, layout.offset)]
    strides: list[int | None] = [1]
    for extent in reversed(type.get_shape()[1:]):
        inner = strides[0]
        strides.insert(0, None if inner is None or extent < 0 else inner * extent)
    return [*strides[: type.get_num_dims()], 0]


def _fit(w: UpstreamWriter, op: Operation, n: int, value: SSAValue, type: MemRefType[Attribute]) -> SSAValue:
    """A memref converted to another type of the same elements; sizes that only the new type states are checked."""
    have = value.type
    assert isinstance(have, MemRefType)
    if have == type:
        return value
    if not _castable(have, type):
        raise unsupported_op_error(op, f"argument {n} is {have}, expected {type}")
    for dim, (a, b) in enumerate(zip(have.get_shape(), type.get_shape(), strict=True)):
        if a < 0 <= b:
            size = w.make(memref.DimOp, [value, w.index(dim)], [w.index(0).type], {}).result
            emit_check(w, compare(w, "eq", size, w.index(b)), f"argument {n}: shape[{dim}] must be {b}")
    if have.memory_space != type.memory_space:
        local = MemRefType(have.element_type, have.get_shape(), have.layout, type.memory_space)
        value = w.op(memref.MemorySpaceCastOp, value, type=local)
    return value if value.type == type else w.op(memref.CastOp, value, type=type)


def _extern(w: UpstreamWriter, op: CallExternOp) -> None:
    name, args = op.callee.data, list(op.args)
    if name in w.module.signatures:
        _call_function(w, op, name, args)
        return
    if (atomic := atomic_of(op)) is not None:
        _atomic(w, op, atomic)
        return
    arguments = [_c_argument(w, arg) for arg in args]
    callee = _declaration(w, op, arguments)
    _bind_result(w, op, w.module.call_named(w, callee, arguments, _result_types(op)))


def _declaration(w: UpstreamWriter, op: CallExternOp, arguments: list[SSAValue]) -> str:
    """The symbol of the function that a call calls; the arguments of a variadic function are promoted in place."""
    name, results = op.callee.data, _result_types(op)
    if isinstance(text := op.attributes.get(CUDA_EXPRESSION), StringAttr):
        dtypes = [element_dtype_name(arg.type) for arg in op.args]
        return w.module.declare_expression(name, text, [a.type for a in arguments], dtypes, results)
    fixed = VARIADIC.get(name)
    if fixed is None:
        return w.module.declare_external(w, name, [a.type for a in arguments], results, op)
    if len(arguments) < fixed:
        raise unsupported_op_error(op, f"C function {name}: expected at least {fixed} arguments, got {len(arguments)}")
    pairs = zip(arguments[fixed:], op.args[fixed:], strict=True)
    arguments[fixed:] = [_promoted(w, value, arg.type) for value, arg in pairs]
    return w.module.declare_variadic(name, [a.type for a in arguments], results)


# memref.atomic_rmw: the values of MLIR's AtomicRMWKind. Extrema of floats follow arith.maximumf and minimumf.
_ATOMIC_KINDS = {
    ("add", "float"): 0, ("add", "int"): 1, ("add", "uint"): 1, ("max", "float"): 3, ("max", "int"): 4,
    ("max", "uint"): 5, ("min", "float"): 6, ("min", "int"): 7, ("min", "uint"): 8,
}  # fmt: skip


def _atomic(w: UpstreamWriter, op: CallExternOp, atomic: Atomic) -> None:
    indices = [w.index(w.index_of(i)) for i in atomic.address.indices]
    value = w.value(op.args[1])
    number = "float" if atomic.dtype.is_float else atomic.dtype.kind
    kind = IntegerAttr(_ATOMIC_KINDS[atomic.kind, number], i64)
    operands = [value, w.memref(atomic.address.buffer), *indices]
    rmw = w.make(memref.AtomicRMWOp, operands, [value.type], {"kind": kind})
    _bind_result(w, op, list(rmw.results[: len(op.results)]))


def _c_argument(w: UpstreamWriter, arg: SSAValue) -> SSAValue:
    """The argument of a C function: a pointer to a buffer, or to the zero-terminated characters of a string."""
    if isinstance(arg.owner, ConstOp) and isinstance(arg.type, HandleType):
        return constant_string(w, arg.owner.value.data)  # pyright: ignore[reportAttributeAccessIssue]
    return w.pointer_value(data_pointer(w, arg)) if isinstance(arg.type, MemRefType) else w.value(arg)


def _promoted(w: UpstreamWriter, value: SSAValue, type: Attribute) -> SSAValue:
    """A variadic argument of the `tir` type `type`, after C's promotions."""
    if not isinstance(type, IntegerType | AnyFloat):
        return value
    dtype = dtype_of(type)
    if dtype.is_float:
        return convert_value(w, value, dtype, _DOUBLE)
    return convert_value(w, value, dtype, _INT) if dtype.bits < _INT.bits else value


def _call_packed(w: UpstreamWriter, op: CallPackedOp) -> None:
    arguments = [_packed_argument(w, op, n, arg) for n, arg in enumerate(op.args)]
    dtypes = [element_dtype_name(a.type) for a in op.args]
    result = [element_dtype_name(r.type) for r in op.results]
    callee = w.module.declare_packed(op.callee.data, [a.type for a in arguments], dtypes, _result_types(op), result)
    _bind_result(w, op, w.module.call_named(w, callee, arguments, _result_types(op)))


def _packed_argument(w: UpstreamWriter, op: CallPackedOp, n: int, arg: SSAValue) -> SSAValue:
    if isinstance(arg.owner, ConstOp) and isinstance(arg.type, HandleType):
        raise unsupported_op_error(
            op, f"argument {n} of packed function {op.callee.data} is a string, which cannot be passed"
        )
    return w.memref(arg) if isinstance(arg.type, MemRefType) else w.value(arg)


def _intrin(w: UpstreamWriter, op: CallIntrinOp) -> None:
    name = op.intrinsic.data
    if name == SYNC and barrier(w, of_warp=is_barrier_of_warp(op)):
        return
    if name not in _BUILTINS:
        raise unsupported_op_error(op, f"target llvm does not know T.{name}")
    _BUILTINS[name](w, op)


def _unspecified(w: UpstreamWriter, op: CallIntrinOp) -> None:
    """Lowers a hint to other passes, or a value that nobody has specified, to zero."""
    if op.results:
        is_float = dtype_of(op.results[0].type).is_float
        w.bind(op.results[0], w.constant(0.0 if is_float else 0, lower_type(op.results[0].type)))


_BUILTINS: dict[str, Callable[[UpstreamWriter, CallIntrinOp], None]] = {
    **dict.fromkeys(("assume", "prefetch", "undef"), _unspecified),
    ACTIVE_MASK: active_mask,
    **dict.fromkeys(MODES, shuffle),
    **dict.fromkeys((LOAD, FILL, MULTIPLY, STORE), matrix_operation),
    MMA: product,
    LDMATRIX: load_matrices,
}
"""The builtins with effects, besides barriers."""


HANDLERS: Handlers = {CallOp: _call, CallExternOp: _extern, CallPackedOp: _call_packed, CallIntrinOp: _intrin}

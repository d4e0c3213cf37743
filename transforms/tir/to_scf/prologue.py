"""Parameters, and the checks of arguments at the start of a function."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from math import prod

from xdsl.dialects import arith, memref
from xdsl.dialects.builtin import MemRefType, i1
from xdsl.ir import SSAValue

from ....analysis.scopes import root_buffer
from ....core.diagnostics import unsupported_op_error
from ....core.dtypes import element_byte_size
from ....core.walking import find_ops
from ....dialects.tir import DYNAMIC, FuncOp, MatchBufferOp, Mixed, StoreOp, SymbolOp, constant_value, element_limit
from ....dialects.tir.describe import format_index
from .casts import compare
from .control import emit_check
from .types import I64, INDEX, element_dtype_name
from .writer import Handlers, Index, LoweredPointer, UpstreamWriter


def matched_buffers(function: FuncOp) -> dict[SSAValue, MatchBufferOp]:
    """{ handle parameter -> its tir.match_buffer }, in parameter order."""
    buffers: dict[SSAValue, MatchBufferOp] = {}
    for op in find_ops(function.body, MatchBufferOp):
        if buffers.setdefault(op.source, op) is not op:
            raise unsupported_op_error(op, "a parameter can be matched by one buffer only")
    return {arg: buffers[arg] for arg in function.body.block.args if arg in buffers}


def bind_function_parameters(w: UpstreamWriter) -> None:
    """Binds arguments to values, and symbols of their shapes to the first size that is the symbol alone."""
    buffers = matched_buffers(w.function)
    for old, new in zip(w.function.body.block.args, w.entry.args, strict=True):
        new.name_hint = old.name_hint
        if old in buffers:
            w.bind(buffers[old].buffer, new)
            new.name_hint = buffers[old].buffer.name_hint
        else:
            w.bind(old, new)
    for old, op in buffers.items():
        w.location = op.location
        _bind_symbols(w, op)
        _check_elements(w, op)
        w.pointers[old] = LoweredPointer(w.memref(op.buffer))
    for op in w.function.body.walk():
        if isinstance(op, SymbolOp) and op.result not in w.indices and op.result.uses:
            raise unsupported_op_error(
                op, f"symbol {op.var_name.data} is not the extent, stride or offset of any parameter"
            )


def _declared_numbers(op: MatchBufferOp) -> Iterator[tuple[str, Mixed]]:
    """The declared shape, strides and offset of a buffer: (name of the number, number)."""
    for n, extent in enumerate(op.mixed_shape):
        yield f"shape[{n}]", extent
    for n, stride in enumerate(op.mixed_strides or ()):
        yield f"strides[{n}]", stride
    yield "offset", op.mixed_offset


def _actual(w: UpstreamWriter, op: MatchBufferOp, what: str) -> SSAValue:
    """The number called `what` of the argument at run time."""
    buffer = w.memref(op.buffer)
    type = buffer.type
    assert isinstance(type, MemRefType)
    number = int(what[what.index("[") + 1 : -1]) if "[" in what else 0
    number_value = w.recall((buffer, what))
    if number_value is not None:
        return number_value
    if what.startswith("shape"):
        return _extent(w, buffer, number)
    rank = type.get_num_dims()
    base = MemRefType(type.element_type, [], memory_space=type.memory_space)
    data = w.make(memref.ExtractStridedMetaDataOp, [buffer], [base, *[INDEX] * (1 + 2 * rank)], {})
    w.remember((buffer, "offset"), data.results[1])
    for n in range(rank):
        w.remember((buffer, f"strides[{n}]"), data.results[2 + rank + n])
    number_value = w.recall((buffer, what))
    assert number_value is not None
    return number_value


def _bind_symbols(w: UpstreamWriter, op: MatchBufferOp) -> None:
    for what, value in _declared_numbers(op):
        if isinstance(value, SSAValue) and isinstance(value.owner, SymbolOp) and value not in w.indices:
            actual = _actual(w, op, what)
            actual.name_hint = value.name_hint
            w.indices[value] = actual
            _check_fits(w, op, what, value, actual)


def _check_fits(w: UpstreamWriter, op: MatchBufferOp, what: str, symbol: SSAValue, actual: SSAValue) -> None:
    """Checks that a size fits into the type of its symbol, so that it is never truncated silently."""
    if symbol.type == I64:
        return
    back = w.to_index(w.value(symbol), symbol.type)
    message = f"{op.buffer_name.data}: {what} does not fit {element_dtype_name(symbol.type)}"
    emit_check(w, compare(w, "eq", back, actual), message, argument=True)


def _check_elements(w: UpstreamWriter, op: MatchBufferOp) -> None:
    """Checks the number of elements of an argument, so that index arithmetic on symbolic extents does not wrap."""
    limit = element_limit(op)
    if limit is None:
        return
    known = prod(max(extent, 1) for extent in op.mixed_shape if isinstance(extent, int))
    most, total = w.index((limit - 1) // known), None if known == 1 else w.index(known)
    dynamic = [n for n, extent in enumerate(op.mixed_shape) if not isinstance(extent, int)]
    for n in dynamic:
        actual = _actual(w, op, f"shape[{n}]")
        message = f"{op.buffer_name.data}: expected fewer than {limit} elements"
        emit_check(w, compare(w, "sle", actual, most), message, argument=True)
        if n != dynamic[-1]:
            factor = w.op(arith.MaxSIOp, actual, w.index(1))
            total = factor if total is None else w.op(arith.MuliOp, factor, total)
            most = w.op(arith.DivSIOp, w.index(limit - 1), total)


def are_disjoint(w: UpstreamWriter) -> SSAValue:
    """The condition that no buffer of the parameters, which are contiguous, overlaps a buffer that may be written."""
    written = {root_buffer(op.buffer) for op in find_ops(w.function, StoreOp)}
    may_write = any(not isinstance(op, StoreOp) and op.name.startswith("tir.call") for op in w.function.walk())
    matched = {arg: op.buffer for arg, op in matched_buffers(w.function).items()}
    buffers = [matched.get(arg, arg) for arg in w.function.body.block.args]
    buffers = [each for each in buffers if isinstance(each.type, MemRefType)]
    spans = {each: _span(w, w.memref(each)) for each in buffers}
    holds: SSAValue | None = None
    for a, b in combinations(buffers, 2):
        if may_write or not written.isdisjoint((a, b)):
            before = compare(w, "sle", spans[a][1], spans[b][0])
            after = compare(w, "sle", spans[b][1], spans[a][0])
            apart = w.op(arith.OrIOp, before, after)
            holds = apart if holds is None else w.op(arith.AndIOp, holds, apart)
    return w.constant(1, i1) if holds is None else holds


def _span(w: UpstreamWriter, buffer: SSAValue) -> tuple[SSAValue, SSAValue]:
    """The addresses of the first byte of a contiguous buffer and after its last byte."""
    type = buffer.type
    assert isinstance(type, MemRefType)
    size: Index = element_byte_size(type.element_type)
    for n, extent in enumerate(type.get_shape()):
        size = w.mul(size, _extent(w, buffer, n) if extent == DYNAMIC else extent)
    first = w.op(memref.ExtractAlignedPointerAsIndexOp, buffer, type=INDEX)
    return first, w.index(w.add(first, size))


def _extent(w: UpstreamWriter, buffer: SSAValue, dimension: int) -> SSAValue:
    """The extent of a buffer along a dimension at run time."""
    key = buffer, f"shape[{dimension}]"
    known = w.recall(key)
    return known or w.remember(key, w.make(memref.DimOp, [buffer, w.index(dimension)], [INDEX], {}).result)


def _match_buffer(w: UpstreamWriter, op: MatchBufferOp) -> None:
    """Checks the argument against declared sizes that are constants or expressions of symbols."""
    for what, value in _declared_numbers(op):
        if not isinstance(value, SSAValue):
            continue  # part of the type, which is checked before the call
        expected: Index = w.index_of(value)
        actual = _actual(w, op, what)
        if expected is actual:
            continue
        text = str(constant_value(value)) if isinstance(expected, int) else format_index(value)
        condition = compare(w, "eq", actual, w.index(expected))
        emit_check(w, condition, f"{op.buffer_name.data}: {what} must be {text}", argument=True)


HANDLERS: Handlers = {MatchBufferOp: _match_buffer}

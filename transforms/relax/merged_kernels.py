"""One kernel from several, whose bodies it executes in turn."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import MemRefType, NoneAttr, StringAttr
from xdsl.ir import Attribute, Operation, SSAValue

from ...core.identifiers import fresh_name
from ...core.walking import find_ops
from ...dialects import tir
from ...operators.relax import CallTirOp
from ...operators.relax.kernels import signature_of
from ...operators.relax.types import known_shape

_HEADER = (tir.SymbolOp, tir.MatchBufferOp, tir.AllocBufferOp)
"""The ops at the head of a kernel, before its steps."""


def can_merge(func: tir.FuncOp, types: Sequence[Attribute]) -> bool:
    """Whether a kernel, called with tensors of some types, may be a part of a merged one: its buffers are compact, and
    each of its symbolic sizes is a size of the caller by itself."""
    buffers = [op for op in func.body.block.ops if isinstance(op, tir.MatchBufferOp)]
    layouts = [op.type for op in buffers] + [
        value.type for _, value in func.params if isinstance(value.type, MemRefType)
    ]
    if len(layouts) != len(func.params) or not all(isinstance(each.layout, NoneAttr) for each in layouts):
        return False
    symbols = [op for op in func.body.block.ops if isinstance(op, tir.SymbolOp)]
    bound = _sizes_of_symbols(func, types)
    return all(bound.get(op.var_name.data, "").isidentifier() for op in symbols)


def _sizes_of_symbols(func: tir.FuncOp, types: Sequence[Attribute]) -> dict[str, str]:
    """The sizes of the caller that the symbols of a kernel are, by their names, for arguments of some types."""
    sizes: dict[str, str] = {}
    for parameter, type in zip(signature_of(func) or (), types, strict=True):
        for own, size in zip(parameter.shape or (), known_shape(type) or (), strict=False):
            if isinstance(own, str) and own.isidentifier():
                sizes.setdefault(own, str(size))
    return sizes


def merge_kernels(calls: Sequence[tuple[CallTirOp, tir.FuncOp]], inputs: Sequence[SSAValue]) -> tir.FuncOp | str:
    """A kernel from `inputs` to the result of the last call, which executes the kernels of the calls in turn; the
    reason for which there is none otherwise. calls: those of which `can_merge` is true, in an order of computation,
    the results of all but the last read by others of them only."""
    merger = _Merger(calls, [*inputs, calls[-1][0].output])
    for call, func in calls:
        reason = merger.add(call, func)
        if reason is not None:
            return reason
    return merger.finish()


class _Merger:
    """The kernel, while it is built. tensors: those of the caller that are its parameters.  buffers: its buffers, by
    the tensors of the caller.  symbols: its symbolic sizes, by their names in the caller."""

    def __init__(self, calls: Sequence[tuple[CallTirOp, tir.FuncOp]], tensors: Sequence[SSAValue]):
        self.names, self.block_names = set[str](), set[str]()
        self.buffers: dict[SSAValue, SSAValue] = {}
        self.symbols: dict[str, SSAValue] = {}
        self.head: list[Operation] = []
        self.steps: list[Operation] = []
        params: list[tuple[str, Attribute]] = []
        for tensor in tensors:
            found = [param for call, func in calls for param in _params_of(call, func, tensor)]
            _, value = next((each for each in found if isinstance(each[1].type, MemRefType)), found[0])
            params.append((fresh_name(found[0][0], self.names), value.type))
        first, *others = ({} if func.func_attrs is None else func.func_attrs.data for _, func in calls)
        attrs = {key: value for key, value in first.items() if all(each.get(key) == value for each in others)}
        self.func = tir.FuncOp("kernel", params, attrs=attrs, private=all(func.private for _, func in calls))
        self.params = dict(zip(tensors, self.func.body.block.args, strict=True))
        self.buffers |= {tensor: arg for tensor, arg in self.params.items() if isinstance(arg.type, MemRefType)}

    def add(self, call: CallTirOp, func: tir.FuncOp) -> str | None:
        """Appends the steps of a kernel; returns the reason for which they cannot be appended, if any."""
        params = list(zip(func.params, (*call.args, call.output), strict=True))
        tensors: dict[SSAValue, SSAValue] = {value: tensor for (_, value), tensor in params}
        values: dict[SSAValue, SSAValue] = {}
        for (name, value), tensor in params:
            if isinstance(value.type, MemRefType):
                if tensor not in self.buffers:
                    self._allocate(tensor, name, value.type, value.type.get_shape())
                reason = self._record(tensor, value, value.type, values)
                if reason is not None:
                    return reason
            elif tensor in self.params:
                values[value] = self.params[tensor]
        sizes = _sizes_of_symbols(func, [tensor.type for tensor in tensors.values()])
        pending: list[Operation] = []
        for op in func.body.block.ops:
            match op:
                case tir.SymbolOp():
                    name = sizes[op.var_name.data]
                    if name not in self.symbols:
                        symbol = tir.SymbolOp(name, op.result.type)
                        self.head.append(symbol)
                        self.symbols[name] = symbol.result
                    if self.symbols[name].type != op.result.type:
                        return f"size {name} is of type {self.symbols[name].type} and of type {op.result.type}"
                    values[op.result] = self.symbols[name]
                case tir.MatchBufferOp():
                    reason = self._match(op, tensors[op.source], pending, values)
                    if reason is not None:
                        return reason
                    pending = []
                case tir.AllocBufferOp():
                    self.head += [each.clone(values) for each in (*pending, op)]
                    self._rename(self.head[-1])
                    pending = []
                case _ if op.regions:
                    self.steps += [each.clone(values) for each in (*pending, op)]
                    self._rename(self.steps[-1])
                    pending = []
                case _:
                    pending.append(op)
        self.steps += [each.clone(values) for each in pending]
        return None

    def _match(
        self, op: tir.MatchBufferOp, tensor: SSAValue, pending: Sequence[Operation], values: dict[SSAValue, SSAValue]
    ) -> str | None:
        """The buffer of a tensor that a kernel views as one: as of `_record`. pending: ops that compute its sizes."""
        if tensor not in self.buffers:
            self.head += [each.clone(values) for each in pending]
            if tensor in self.params:
                view = op.clone(values)
                self.head.append(view)
                self.buffers[tensor] = view.buffer
            else:
                sizes = [size if isinstance(size, int) else values[size] for size in op.mixed_shape]
                self._allocate(tensor, op.buffer_name.data, op.type, sizes)
        return self._record(tensor, op.buffer, op.type, values)

    def _allocate(self, tensor: SSAValue, name: str, type: MemRefType[Attribute], shape: Sequence[tir.Mixed]) -> None:
        """Allocates the buffer of a tensor."""
        alloc = tir.AllocBufferOp(name, type.element_type, shape, space=type.memory_space)
        self._rename(alloc)
        self.head.append(alloc)
        self.buffers[tensor] = alloc.buffer

    def _record(
        self, tensor: SSAValue, own: SSAValue, type: MemRefType[Attribute], values: dict[SSAValue, SSAValue]
    ) -> str | None:
        """Records the buffer of a tensor as the value of the buffer `own` of a kernel; returns the reason for which it
        is none, None if there is none."""
        buffer = values[own] = self.buffers[tensor]
        return None if buffer.type == type else f"a buffer of type {buffer.type} and of type {type}"

    def _rename(self, op: Operation) -> None:
        """Gives blocks and allocated buffers names of their own."""
        for each in find_ops(op, tir.BlockOp, tir.AllocBufferOp):
            if isinstance(each, tir.BlockOp):
                each.block_name = StringAttr(fresh_name(each.block_name.data, self.block_names))
            else:
                each.buffer_name = StringAttr(fresh_name(each.buffer_name.data, self.names))
                each.buffer.name_hint = each.buffer_name.data

    def finish(self) -> tir.FuncOp | str:
        """The kernel; the reason for which there is none if no parameter determines one of its sizes."""
        for op in (*self.head, *self.steps):
            self.func.body.block.add_op(op)
        for name, symbol in self.symbols.items():
            if not any(isinstance(use.operation, tir.MatchBufferOp) for use in symbol.uses):
                return f"no parameter has the size {name}"
        return self.func


def _params_of(call: CallTirOp, func: tir.FuncOp, tensor: SSAValue) -> list[tuple[str, SSAValue]]:
    """The parameters of a kernel that receive a tensor."""
    return [param for param, value in zip(func.params, (*call.args, call.output), strict=True) if value is tensor]

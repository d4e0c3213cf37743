"""Tensor intrinsics of `te`: a computation on small tensors, and the calls that compute it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import count
from typing import Any

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue

from ...analysis.names import buffer_name
from ...analysis.scopes import statements
from ...core.dtypes import mlir_type
from ...dialects.tir import (
    FuncOp,
    HandleType,
    MatchBufferOp,
    SymbolOp,
    TirBuilder,
    memory_space,
)
from ...dialects.tir.base import Mixed
from ...expressions.buffers import Buffer, ExternCall
from ...expressions.errors import TeError
from ...expressions.expr import IntImm, PrimExpr, Var, const
from ...expressions.extern import decl_buffer
from ...expressions.statements import STATEMENTS, Allocation, Statement, buffers_of, flatten_statements, walk
from ...expressions.tensor import ComputeOp, PlaceholderOp, Reduce, Tensor, TensorSlice, compute, placeholder
from ...expressions.write_expressions import ExpressionEmitter
from ...expressions.write_statements import StatementEmitter
from ...module import Module
from ...schedule import Schedule as TirSchedule
from ...schedule.intrinsics import add_tensor_intrin, describe_tensor_intrin
from .intrinsic_calls import IntrinsicCall
from .prim_func import create_prim_func

_numbers = count()


@dataclass(frozen=True, eq=False)
class TensorIntrin:
    """A computation `op` on small tensors, and the calls that compute it.

    buffers: of the inputs, then of the results.  body: the calls for the whole computation.  reduce_init: those for the
    init of a reduction alone.  reduce_update: those that reduce on top of earlier values. None where not given.
    """

    name: str
    op: ComputeOp
    inputs: tuple[Tensor, ...]
    buffers: tuple[Buffer, ...]
    body: tuple[Statement, ...]
    reduce_init: tuple[Statement, ...] | None
    reduce_update: tuple[Statement, ...] | None

    def __call__(self, *args: Any, reduce_axis: Any = None, scalar_inputs: Any = None) -> IntrinsicCall:
        """A call on parts of tensors, `intrin(A[i, 0:16])`, in the function of a `te.compute`.

        args: a tensor, or a part of one, for each input.  reduce_axis: an axis, or several, that the results of the
        calls are added along. TeError for another number of inputs, and for scalar_inputs.
        """
        if scalar_inputs or len(args) != len(self.inputs):
            raise TeError(
                f"tensor intrinsic {self.name}: {len(args)} inputs, expected {len(self.inputs)}, and no numbers"
            )
        parts = tuple(TensorSlice(each, ()) if isinstance(each, Tensor) else each for each in args)
        for each in parts:
            if not isinstance(each, TensorSlice):
                raise TeError(f"tensor intrinsic {self.name}: input {each!r}, expected a part of a tensor")
        reduced = (
            () if reduce_axis is None else reduce_axis if isinstance(reduce_axis, list | tuple) else (reduce_axis,)
        )
        return IntrinsicCall(self, parts, tuple(reduced))  # pyright: ignore[reportUnknownArgumentType]

    @property
    def has_numbers_as_strides(self) -> bool:
        """Whether a buffer has a stride that is a number, other than that of the last dimension."""
        return any(isinstance(stride, IntImm) for buffer in self.buffers for stride in buffer.strides[:-1])

    def register(self) -> tuple[str, str | None, str | None]:
        """Registers the intrinsic for `stepwell.Schedule.tensorize`: the names for the whole computation, for the init
        of a reduction, and for the reduction on top of earlier values; None where it has no calls.
        """
        whole, init, update = self._descriptions()
        prefix = f"{self.name}.{next(_numbers)}"
        parts = [("", whole, self.body), (".init", init, self.reduce_init), (".update", update, self.reduce_update)]
        names: list[str | None] = []
        for suffix, description, calls in parts:
            if description is None or calls is None:
                names.append(None)
                continue
            used = [n for n, buffer in enumerate(_buffers(description)) if _is_used(buffer)]
            implementation = _implementation(self.buffers, used, calls)
            names.append(prefix + suffix)
            functions = map(_module, (_without(description, used), implementation))
            add_tensor_intrin(describe_tensor_intrin(prefix + suffix, *functions))
        assert names[0] is not None
        return names[0], names[1], names[2]

    def _descriptions(self) -> tuple[FuncOp, FuncOp | None, FuncOp | None]:
        """The computation, its init alone, and its reduction alone, as functions."""
        outputs = [self.op.output(n) for n in range(self.op.num_outputs)]
        mod = create_prim_func([*self.inputs, *outputs])
        if not isinstance(self.op.body[0], Reduce):
            if self.reduce_init is None or self.reduce_update is None:
                return _function(mod), None, None
            return _function(mod), *self._parts_of_sum()
        whole = TirSchedule(mod)
        block = whole.get_child_blocks("root")[0]
        whole.blockize(whole.get_loops(block)[0])
        parts: list[FuncOp] = []
        for kept in range(2):
            sch = TirSchedule(mod)
            (block,) = sch.get_child_blocks("root")
            sch.decompose_reduction(block, sch.get_loops(block)[0])
            function = _function(sch.mod)
            removed = statements(function.body.block)[1 - kept]
            removed.detach()
            removed.erase()
            parts.append(function)
        return _function(whole.mod), parts[0], parts[1]

    def _parts_of_sum(self) -> tuple[FuncOp, FuncOp]:
        """The init of a sum, and the addition of the computation to the sum, of which all terms are added by loops
        around the intrinsic."""
        if self.op.num_outputs != 1:
            raise TeError(f"tensor intrinsic {self.name}: calls for init and update of {self.op.num_outputs} results")
        result, (value,) = self.op.output(0), self.op.body
        zero = compute(result.shape, lambda *_: const(0, result.dtype), result.name)
        before = placeholder(result.shape, result.dtype, result.name)
        more = replace(self.op, body=(before(*(axis.var for axis in self.op.axis)) + value,)).output(0)
        init = _function(create_prim_func([*self.inputs, zero]))
        function = _function(create_prim_func([*self.inputs, before, more]))
        old, new = _buffers(function)[-2:]
        old.replace_all_uses_with(new)
        used = [n for n in range(len(self.inputs) + 2) if n != len(self.inputs)]
        return init, _without(function, used)


def decl_tensor_intrin(
    op: ComputeOp,
    fcompute: Callable[..., Any],
    *,
    name: str = "tensor_intrin",
    binds: Mapping[Tensor, Buffer] | None = None,
    scalar_params: Sequence[Var] | None = None,
    default_buffer_params: Mapping[str, Any] | None = None,
) -> TensorIntrin:
    """A tensor intrinsic for `Stage.tensorize`. op: the computation, on placeholders of static shapes.

    fcompute: takes the buffers of the inputs and of the results; returns the calls and statements that compute `op`
    (`te.call_extern`, `te.call_packed`, `buffer.vstore`, what `ir_builder` gathers), or a tuple of three: for the whole
    computation, for the init of a reduction, and for the reduction on top of earlier values, each None without one.
    binds: the buffers of tensors, by default compact ones.  default_buffer_params: arguments of `decl_buffer` for
    these.

    TeError for an operation other than `te.compute` on placeholders, and unless `fcompute` returns calls;
    scalar_params are not supported.
    """
    if not isinstance(op, ComputeOp):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise TeError(f"decl_tensor_intrin {name}: {op!r}, expected the operation of a te.compute")
    if scalar_params:
        raise TeError(f"decl_tensor_intrin {name}: scalar_params are not supported, expected numbers in fcompute")
    inputs = tuple(op.input_tensors)
    for tensor in inputs:
        if not isinstance(tensor.op, PlaceholderOp):
            raise TeError(f"decl_tensor_intrin {name}: input {tensor.name} is computed, expected a placeholder")
    tensors = [*inputs, *(op.output(n) for n in range(op.num_outputs))]
    declared = {tensor: buffer for tensor, buffer in (binds or {}).items()}
    defaults: dict[str, Any] = {"offset_factor": 1, **(default_buffer_params or {})}
    buffers = [
        declared.get(tensor) or decl_buffer(tensor.shape, tensor.dtype, tensor.name, **defaults) for tensor in tensors
    ]
    result = fcompute(buffers[: len(inputs)], buffers[len(inputs) :])
    parts = [*result] if isinstance(result, tuple) and len(result) in (2, 3) else [result]
    body, init, update = [_statements(part, name) for part in (*parts, None, None)][:3]
    if body is None:
        raise TeError(f"decl_tensor_intrin {name}: no calls for the whole computation")
    return TensorIntrin(name, op, inputs, tuple(buffers), body, init, update)


def _statements(part: Any, name: str) -> tuple[Statement, ...] | None:
    """The statements of a part of an intrinsic."""
    if part is None:
        return None
    every = tuple(flatten_statements(part))
    for each in every:
        if not isinstance(each, STATEMENTS):
            raise TeError(f"decl_tensor_intrin {name}: fcompute gives {each!r}, expected calls")
    return every


# Functions


def _function(mod: Any) -> FuncOp:
    """A copy of the only function of a module."""
    (function,) = mod.function_ops.values()
    return function.clone()


def _module(function: FuncOp) -> Module:
    return Module(ModuleOp([function]))


def _buffers(function: FuncOp) -> list[SSAValue]:
    return list(function.body.block.args)


def _is_used(buffer: SSAValue) -> bool:
    return bool(buffer.uses)


def _without(function: FuncOp, used: Sequence[int]) -> FuncOp:
    """A function without the parameters that it does not use."""
    types = [(buffer_name(function.body.block.args[n]), function.body.block.args[n].type) for n in used]
    new = FuncOp(function.sym_name.data, types)
    values = {function.body.block.args[n]: argument for n, argument in zip(used, new.body.block.args, strict=True)}
    for op in function.body.block.ops:
        new.body.block.add_op(op.clone(value_mapper=values))  # pyright: ignore[reportArgumentType]
    return new


def _implementation(buffers: Sequence[Buffer], used: Sequence[int], body: Sequence[Statement]) -> FuncOp:
    """The function of some statements, on some of the buffers."""
    function = FuncOp("implementation", [(buffers[n].name, HandleType()) for n in used])
    builder = TirBuilder(function.body.block)
    emitter = ExpressionEmitter(builder, {}, {})
    memory: dict[Buffer, SSAValue] = {}
    for n in used:
        for expr in (*buffers[n].strides, buffers[n].elem_offset):
            if isinstance(expr, Var) and expr not in emitter.known:
                emitter.known[expr] = builder.insert(SymbolOp(expr.name, mlir_type(expr.data_type))).result
    for n, argument in zip(used, function.body.block.args, strict=True):
        memory[buffers[n]] = _declare(builder, emitter, buffers[n], argument)
    every = list(walk(body))
    own = {each.buffer for each in every if isinstance(each, Allocation)}
    for each in every:
        for buffer in buffers_of(each):
            if buffer not in memory and buffer not in own:
                what = f"{each.name} is called with" if isinstance(each, ExternCall) else "a statement accesses"
                raise TeError(f"tensor intrinsic: {what} {buffer.name}, which is not accessed here")
    StatementEmitter(builder, emitter.known, memory).write(body)
    return function


def _declare(builder: TirBuilder, emitter: ExpressionEmitter, buffer: Buffer, pointer: SSAValue) -> SSAValue:
    strides: list[Mixed] | None = [_layout(emitter, buffer, stride) for stride in buffer.strides] or None
    offset = _layout(emitter, buffer, buffer.elem_offset)
    shape = [_layout(emitter, buffer, extent) for extent in buffer.shape]
    return builder.insert(
        MatchBufferOp(
            buffer.name,
            pointer,
            mlir_type(buffer.data_type),
            shape,
            strides=strides or (_compact(shape) if offset != 0 else None),
            offset=offset,
            space=memory_space(buffer.memory),
            axis_separators=buffer.axis_separators,
        )
    ).buffer


def _layout(emitter: ExpressionEmitter, buffer: Buffer, expr: PrimExpr) -> Mixed:
    if isinstance(expr, IntImm):
        return expr.value
    if isinstance(expr, Var) and expr in emitter.known:
        return emitter.known[expr]
    raise TeError(f"buffer {buffer.name}: {expr!r}, expected a number or a variable")


def _compact(shape: Sequence[Mixed]) -> list[Mixed]:
    """The strides of a compact buffer of static shape."""
    strides: list[Mixed] = []
    size = 1
    for extent in reversed(shape):
        strides.insert(0, size)
        assert isinstance(extent, int)
        size *= extent
    return strides

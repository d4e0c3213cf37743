"""Operators in another data type: `recast`, and other batches: `ChangeBatch`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ....core.errors import ArgumentError, OptionError
from ...relay.expr import Call, Expr, Function, Tuple, Var, operator_name
from ...relay.expr import call as call_of
from ...relay.functor import ExprMutator, bind, post_order
from ...relay.inference import infer_types
from ...relay.types import TensorType
from ..ir.module import IRModule


def recast(
    expr: Function | IRModule,
    dtype: str,
    out_dtype: str,
    ops: Sequence[str] | None = None,
    skip_layers: Sequence[int] | None = None,
) -> Function | IRModule:
    """A function, or a module with a function `main`, whose operators are computed on casts of their operands.

    dtype: of the operands.  out_dtype: of the results of operators with such an attribute; all results are cast to the
    data types that they had.  ops: the names of the operators, by default `nn.conv2d`.  skip_layers: the operators that
    stay, by the number of others before each of them on a path from an input; negative ones count from the last.
    OptionError for another expression.
    """
    func = expr["main"] if isinstance(expr, IRModule) else expr
    if not isinstance(func, Function):
        raise OptionError(f"recast of {func!r}, expected a function or a module")
    infer_types({"main": func})
    names = ["nn.conv2d"] if ops is None else list(ops)
    new = _Recast(func, dtype, out_dtype, names, skip_layers or ()).visit(func)
    return IRModule.from_expr(new) if isinstance(expr, IRModule) else new


class _Recast(ExprMutator):
    def __init__(self, func: Function, dtype: str, out_dtype: str, ops: Sequence[str], skipped: Sequence[int]):
        super().__init__()
        self._dtype, self._out_dtype, self._ops = dtype, out_dtype, ops
        self._depths: dict[Expr, int] = {}
        for node in post_order(func):
            inside = [node.body] if isinstance(node, Function) else node.children if isinstance(node, Expr) else []
            deepest = max((self._depths[each] for each in inside if each in self._depths), default=0)
            self._depths[node] = deepest + (operator_name(node) in ops)
        self._skipped = {each % self._depths[func] if each < 0 else each for each in skipped}

    def visit_call(self, call: Call) -> Expr:
        new = super().visit_call(call)
        assert isinstance(new, Call)
        type = call.known_type
        if operator_name(call) not in self._ops or self._depths[call] - 1 in self._skipped:
            return new
        if not isinstance(type, TensorType):
            raise OptionError(f"recast: {call!r} has several results, expected one")
        attrs: dict[str, Any] = dict(new.attrs)
        if any(each.name == "out_dtype" for each in new.op.attributes):
            attrs["out_dtype"] = self._out_dtype
        return call_of("cast", Call(new.op, [self._cast(each) for each in new.args], attrs), dtype=type.dtype)

    def _cast(self, operand: Expr) -> Expr:
        if isinstance(operand, Tuple):
            return Tuple([self._cast(each) for each in operand.fields])
        return call_of("cast", operand, dtype=self._dtype)


def change_batch(func: Function, axes: Mapping[Var, int], batch_size: int | str) -> Function:
    """A function whose parameters have another batch, or one of any size that has a name.

    axes: the axis of the batch by the variable, or one of its name. ArgumentError for a parameter without a type.
    """
    named = {each.name_hint: axis for each, axis in axes.items()}
    new: dict[Var, Expr] = {}
    params: list[Var] = []
    for param in func.params:
        params.append(param)
        if param.name_hint not in named:
            continue
        type = param.type_annotation
        if not isinstance(type, TensorType):
            raise ArgumentError(f"ChangeBatch: parameter {param.name_hint} of type {type}, expected a tensor")
        shape = list(type.shape)
        shape[named[param.name_hint]] = batch_size
        new[param] = params[-1] = Var(param.name_hint, TensorType(shape, type.dtype))
    return Function(params, bind(func.body, new), None, func.type_params, func.attrs)

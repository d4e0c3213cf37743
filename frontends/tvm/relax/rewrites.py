"""Rewrites of operators: products of sums and of selected columns, transposes of concatenations, repeated reshapes, and
dataflow regions around operators."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, Region
from xdsl.rewriter import InsertPoint, Rewriter

from ....core.xdsl_compat import set_name_hint
from ....operators.relax import (
    ApplyOp,
    CallDpsPackedOp,
    CallOp,
    CallPurePackedOp,
    CallTirOp,
    DataflowOp,
    FuncRefOp,
    IfOp,
    OutputOp,
    PrimValueOp,
    ShapeOp,
    StringOp,
)
from ....operators.relax.functions import impure_ops
from ....operators.relay import ConstantOp, OperatorOp
from ....transforms.relax.functions import relax_functions
from ..ir.module import IRModule
from .analysis import computable_at_compile_time, remove_all_unused
from .block_builder import BlockBuilder
from .calls import op
from .expr import Call, Expr, Op, Tuple, Var
from .expr_functor import PyExprMutator
from .function import Function

Rule: TypeAlias = "Callable[[Call, set[Var]], Expr | None]"
"""A function from a call, and the variables that depend on weights alone, to the expression in its place, or None."""


class _Rewriter(PyExprMutator):
    """Replaces calls by the expressions of a rule."""

    def __init__(self, mod: IRModule, rule: Rule, weights: set[Var]):
        super().__init__(mod)
        self._rule, self._weights = rule, weights

    def visit_call_(self, op: Call) -> Expr:
        new = self._rule(op, self._weights)
        return super().visit_call_(op) if new is None else self.visit_expr(new)


def rewrite(mod: IRModule, rule: Rule) -> IRModule:
    """A module whose calls in functions of relax are replaced by a rule, without operations that nothing uses then."""
    return rewrite_functions(mod, lambda _: rule)


def rewrite_functions(mod: IRModule, rule_of: Callable[[Function], Rule]) -> IRModule:
    """As `rewrite`, by a rule for each function."""
    result = IRModule(mod.op.clone(), dict(mod.constants))
    for name, func in mod.functions.items():
        if isinstance(func, Function):
            weights = set(computable_at_compile_time(func)) if "num_input" in func.attrs else set[Var]()
            result[name] = remove_all_unused(_Rewriter(mod, rule_of(func), weights).visit_expr(func))
    return result


def is_call(expr: Any, name: str) -> bool:
    return isinstance(expr, Call) and isinstance(expr.op, Op) and expr.op.name == f"relax.{name}"


def value_of(expr: Any) -> Any:
    """The expression that a variable is bound to."""
    while isinstance(expr, Var) and expr.bound_value is not None:
        expr = expr.bound_value
    return expr


def _argument(call: Call, index: int, name: str, default: Any = None) -> Any:
    """An argument by position or name."""
    return call.args[index] if index < len(call.args) else call.attrs.get(name, default)


# Products


def expand_product_of_sum(call: Call, weights: set[Var]) -> Expr | None:
    """The sum of two products for the product with a sum, unless weights alone determine the sum."""
    if not is_call(call, "matmul"):
        return None
    first, second = call.args
    inner, axes = value_of(second), None
    if is_call(inner, "permute_dims"):
        axes, inner = (inner.attrs.get("axes"),), value_of(inner.args[0])
    if not is_call(inner, "add"):
        return None
    parts = list(inner.args)
    shapes = [part.struct_info.shape for part in parts]
    if shapes[0] is None or shapes[0] != shapes[1] or all(isinstance(part, Var) and part in weights for part in parts):
        return None
    if axes is not None:
        parts = [op.permute_dims(part, *(each for each in axes if each is not None)) for part in parts]
    given = dict(call.attrs.explicit)
    return op.add(*(op.matmul(first, part, **given) for part in parts))


def take_after_product(call: Call, _: set[Var]) -> Expr | None:
    """The columns of a product for the product with columns of a matrix."""
    if not is_call(call, "matmul"):
        return None
    first, second = call.args
    inner = value_of(second)
    if not is_call(inner, "take"):
        return None
    table, indices = inner.args[:2]
    rank, axis = table.struct_info.ndim, inner.attrs.get("axis")
    if rank < 2 or axis is None or axis % rank != rank - 1 or indices.struct_info.ndim != 1:
        return None
    product = op.matmul(first, table, **dict(call.attrs.explicit))
    return op.take(product, indices, axis=call.struct_info.ndim - 1)


def transpose_after_concatenation(call: Call, _: set[Var]) -> Expr | None:
    """The transpose of a concatenation for the concatenation of transposes by the same axes."""
    if not is_call(call, "concat"):
        return None
    fields = value_of(call.args[0])
    if not isinstance(fields, Tuple):
        return None
    parts = [value_of(each) for each in fields.fields]
    if len(parts) < 2 or not all(is_call(part, "permute_dims") for part in parts):
        return None
    rank = parts[0].args[0].struct_info.ndim
    orders = {tuple(_axes(part, rank)) for part in parts}
    axis = _argument(call, 1, "axis", 0)
    if rank < 0 or len(orders) != 1 or not isinstance(axis, int):
        return None
    order = list(orders.pop())
    whole = op.concat(Tuple([part.args[0] for part in parts]), axis=order[axis % rank])
    return op.permute_dims(whole, order)


def _axes(call: Call, rank: int) -> Sequence[int]:
    axes = call.attrs.get("axes")
    return list(range(rank))[::-1] if axes is None else [axis % rank for axis in axes]


def single_reshape(call: Call, _: set[Var]) -> Expr | None:
    """One reshape for two, and the operand for a reshape to its own shape."""
    if not is_call(call, "reshape"):
        return None
    source, shape = call.args[0], call.struct_info.shape
    if not isinstance(source, Expr):
        return None
    if shape is not None and source.struct_info.shape == shape:
        return source
    inner = value_of(source)
    if not is_call(inner, "reshape") or shape is None:
        return None
    return op.reshape(inner.args[0], list(shape))


# Functions by tensor expressions


def fast_rules() -> dict[str, Callable[[BlockBuilder, Call], Expr]]:
    """Kernels of `tvm.topi` for functions of floats, by the names of operators."""
    # lazy: tvm.topi imports builders of programs
    from ..topi import fast_erf, fast_exp, fast_tanh

    # lazy: as above
    from ..topi.nn import fast_softmax

    functions = {"exp": fast_exp, "erf": fast_erf, "tanh": fast_tanh, "nn.softmax": fast_softmax}

    def rule(function: Any) -> Callable[[BlockBuilder, Call], Expr]:
        return lambda builder, call: builder.call_te(function, *call.args, **dict(call.attrs.explicit))

    return {f"relax.{name}": rule(function) for name, function in functions.items()}


# Dataflow regions


_LITERALS = (ConstantOp, FuncRefOp, PrimValueOp, ShapeOp, StringOp)
"""Operations that stay before the regions, since they are written where they are used."""
_COMPUTATIONS = (ApplyOp, CallDpsPackedOp, CallOp, CallPurePackedOp, CallTirOp, OperatorOp)


def to_dataflow(module: ModuleOp, min_size: int) -> None:
    """Moves consecutive operations without side effects to dataflow regions, in place.

    min_size: the number of computations that a region has at least.
    """
    for func in relax_functions(module):
        blocks = [func.body.block]
        blocks += [region.block for each in func.walk() if isinstance(each, IfOp) for region in each.regions]
        impure = set(impure_ops(func.body))
        for block in blocks:
            for run in _runs(block, impure):
                if sum(isinstance(each, _COMPUTATIONS) for each in run) >= min_size:
                    _enclose(run)


def _runs(block: Block, impure: set[Operation]) -> list[list[Operation]]:
    """The consecutive operations of a block that a dataflow region may have."""
    runs: list[list[Operation]] = [[]]
    for each in list(block.ops)[:-1]:
        if isinstance(each, DataflowOp | IfOp) or each in impure:
            runs.append([])
        elif not isinstance(each, _LITERALS):
            runs[-1].append(each)
    return runs


def _enclose(run: Sequence[Operation]) -> None:
    """Moves operations to a dataflow region at the position of the last one."""
    inside, around, following = set(run), run[0].parent, run[-1].next_op
    assert around is not None
    assert following is not None
    outputs = [
        result
        for each in run
        for result in each.results
        if any(around.find_ancestor_op_in_block(use.operation) not in inside for use in result.uses)
    ]
    block = Block()
    region = DataflowOp([value.type for value in outputs], Region(block))
    Rewriter.insert_op(region, InsertPoint.before(following))
    for each in run:
        each.detach()
        block.add_op(each)
    for value, result in zip(outputs, region.outputs, strict=True):
        value.replace_uses_with_if(result, lambda use: not region.is_ancestor(use.operation))
        if value.name_hint is not None:
            set_name_hint(result, value.name_hint)
    block.add_op(OutputOp(outputs))

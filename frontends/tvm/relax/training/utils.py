"""Functions of models with their losses: `tvm.relax.training.utils`."""

from __future__ import annotations

from collections.abc import Sequence

from .....core.errors import ArgumentError
from ...absent import report_absent
from ...ir.module import IRModule
from ...transform import FunctionalPass, PassContext, PassInfo
from ..bindings import BindingBlock, DataflowBlock, SeqExpr
from ..expr import Expr, Tuple, Var
from ..expr_functor import Substitution
from ..function import Function

__getattr__ = report_absent("tvm.relax.training.utils")


def AppendLoss(
    func_name: str, loss_function: Function, num_backbone_outputs: int = 1, new_func_name: str | None = None
) -> FunctionalPass:
    """Adds the function of a model with its loss: of the parameters of the model and of the loss after the first
    `num_backbone_outputs`, which are the first results of the model. Its results are the loss and the other results.

    new_func_name: by default `NAME_loss`.  The pass raises ArgumentError for a model with fewer results.
    """

    def append(mod: IRModule, ctx: PassContext) -> IRModule:
        model = mod[func_name]
        results = _results(model)
        if len(results) < num_backbone_outputs or len(loss_function.params) < num_backbone_outputs:
            raise ArgumentError(
                f"AppendLoss: {func_name} has {len(results)} results, the loss {len(loss_function.params)} parameters, "
                f"expected {num_backbone_outputs} or more"
            )
        inputs = dict(zip(loss_function.params, results, strict=False))
        targets = list(loss_function.params[num_backbone_outputs:])
        loss = Substitution({var: inputs[var] for var in loss_function.params[:num_backbone_outputs]})
        rest = loss.visit_expr(loss_function.body)
        bindings = [each for block in (*model.body.blocks, *_blocks(rest)) for each in block.bindings]
        value = rest.body if isinstance(rest, SeqExpr) else rest
        others = results[num_backbone_outputs:]
        whole = Tuple([value, *others]) if others else value
        block = DataflowBlock(bindings, [each for each in (value, *others) if isinstance(each, Var)])
        result = IRModule(mod.op.clone(), dict(mod.constants))
        name = new_func_name or f"{func_name}_loss"
        result[name] = Function([*model.params, *targets], SeqExpr([block], whole), attrs={"global_symbol": name})
        return result

    return FunctionalPass(append, PassInfo(0, "AppendLoss"))


def _results(func: Function) -> Sequence[Expr]:
    """The results of a function: the fields of the tuple that it returns, or its result."""
    value = func.body.body
    for binding in (each for block in func.body.blocks for each in block.bindings):
        if binding.var is value and isinstance(value, Var) and isinstance(value.bound_value, Tuple):
            value = value.bound_value
    return value.fields if isinstance(value, Tuple) else [value]


def _blocks(expr: Expr) -> Sequence[BindingBlock]:
    return expr.blocks if isinstance(expr, SeqExpr) else []


__all__ = ["AppendLoss"]

"""Norms of constants, which `FoldConstant` computes as the compiled graph does."""

from __future__ import annotations

from ....module import Module
from ....transforms.pipelines import run_pipeline
from ....transforms.relay.simplify_inference import RelaySimplifyInferencePass
from ...relay.expr import Call, Expr, Function, GlobalVar, Var
from ...relay.functor import ExprMutator, post_order
from ..ir.module import IRModule


class NormSimplifier(ExprMutator):
    """Replaces each `nn.batch_norm` of constants by the product and the sum of `SimplifyInference`.

    Compiled graphs compute the product and the sum, which round otherwise than the formula of the norm: a folded result
    equals the compiled one to the last bit. Other norms stay.
    """

    def visit_call(self, call: Call) -> Expr:
        new = super().visit_call(call)
        assert isinstance(new, Call)
        if getattr(new.op, "name", None) != "nn.batch_norm" or not _is_closed(new):
            return new
        result: Module = run_pipeline(IRModule.from_expr(Function([], new)), [RelaySimplifyInferencePass()])
        return IRModule(result.op, result.constants)["main"].body


def has_norms(mod: IRModule) -> bool:
    """Whether a graph of a module calls `nn.batch_norm`."""
    graphs = (func for _, func in mod.items() if isinstance(func, Function))
    return any(getattr(node, "name", None) == "nn.batch_norm" for func in graphs for node in post_order(func))


def _is_closed(expr: Expr) -> bool:
    """Whether an expression depends on constants alone."""
    return not any(isinstance(node, Var | GlobalVar) for node in post_order(expr))

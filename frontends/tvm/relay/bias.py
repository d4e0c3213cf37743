"""Sums with a bias: `CanonicalizeOps`."""

from __future__ import annotations

from ...relay.expr import Call, Expr, Function, operator_name
from ...relay.expr import call as new_call
from ...relay.functor import TypedMutator


def canonicalize_bias(func: Function) -> Function:
    """A typed graph in which `nn.bias_add` is a sum with the bias in as many dimensions as the data has from its
    axis on."""
    return _Sums().visit(func)


class _Sums(TypedMutator):
    def visit_call(self, call: Call) -> Expr:
        new = super().visit_call(call)
        assert isinstance(new, Call)
        if operator_name(new) != "nn.bias_add":
            return new
        data, bias = new.args
        rank = len(call.args[0].checked_type.shape)
        behind = rank - 1 - call.attrs.axis % rank  # pyright: ignore[reportAttributeAccessIssue]
        wide = new_call("expand_dims", bias, axis=1, num_newaxis=behind) if behind else bias
        return new_call("add", data, wide)

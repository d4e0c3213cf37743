"""One product of matrices in place of several with an equal first operand: `CombineParallelMatmul`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import accumulate
from typing import Any

from .bindings import Binding, BindingBlock, VarBinding
from .calls import op
from .expr import Call, Expr, Op, TupleGetItem, Var
from .expr_functor import PyExprMutator

Check = Callable[[Var, Sequence[Expr], Sequence[Expr], Mapping[Var, Expr]], bool]
"""Whether products are combined, from the first operand, the second ones, their biases, and bindings by variable."""


class CombineProducts(PyExprMutator):
    """Combines the products of each block. check: None for all."""

    def __init__(self, check: Check | None = None):
        super().__init__()
        self._check = check
        self._first: dict[Var, list[VarBinding]] = {}
        self._parts: dict[Var, Expr] = {}

    def visit_binding_block_(self, block: BindingBlock) -> BindingBlock:
        self._prepare(block)
        return super().visit_binding_block_(block)

    def visit_dataflow_block_(self, block: Any) -> BindingBlock:
        self._prepare(block)
        return super().visit_dataflow_block_(block)

    def visit_var_binding_(self, binding: VarBinding) -> None:
        if binding.var in self._first:
            self._combine(self._first[binding.var])
        if binding.var not in self._parts:
            super().visit_var_binding_(binding)
            return
        self.builder_.emit_normalized(VarBinding(binding.var, self._parts[binding.var]))

    def _prepare(self, block: BindingBlock) -> None:
        """Finds the products that are combined at the place of the first one."""
        own = {each.var: n for n, each in enumerate(block.bindings)}
        bound = {each.var: each.value for each in block.bindings if isinstance(each, VarBinding)}
        for group in _groups(block.bindings):
            start = own[group[0].var]
            ready = [each for each in group if own.get(_operands(each)[1], -1) < start]
            first, seconds = _operands(group[0])[0], [_operands(each)[1] for each in ready]
            if len(ready) > 1 and (self._check is None or self._check(first, seconds, [], bound)):
                self._first[ready[0].var] = ready

    def _combine(self, products: Sequence[VarBinding]) -> None:
        """Emits the product with all second operands."""
        first = self.visit_expr(_operands(products[0])[0])
        seconds = [self.visit_expr(_operands(each)[1]) for each in products]
        assert isinstance(products[0].value, Call)
        whole = self.builder_.emit(op.concat(seconds, axis=-1))
        product = self.builder_.emit(op.matmul(first, whole, **dict(products[0].value.attrs)))
        columns = list(accumulate(each.struct_info.shape[-1] for each in seconds))
        parts = self.builder_.emit(op.split(product, columns[:-1], axis=-1))
        self._parts |= {each.var: TupleGetItem(parts, n) for n, each in enumerate(products)}


def _operands(binding: VarBinding) -> tuple[Any, Any]:
    value = binding.value
    assert isinstance(value, Call)
    return value.args[0], value.args[1]


def _groups(bindings: Sequence[Binding]) -> list[list[VarBinding]]:
    """The products of one first operand whose second operands differ in the number of columns alone."""
    groups: dict[Any, list[VarBinding]] = {}
    for each in bindings:
        if not isinstance(each, VarBinding) or not isinstance(each.value, Call):
            continue
        call = each.value
        if not isinstance(call.op, Op) or call.op.name != "relax.matmul":
            continue
        first, second = call.args[:2]
        if not isinstance(first, Var) or not isinstance(second, Var):
            continue
        shape = second.struct_info.shape
        if shape is not None and len(shape) > 1 and isinstance(shape[-1], int):
            key = (first, tuple(shape[:-1]), second.struct_info.dtype, str(dict(call.attrs)))
            groups.setdefault(key, []).append(each)
    return list(groups.values())

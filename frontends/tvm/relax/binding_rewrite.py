"""Dataflow blocks with other bindings: `tvm.relax.binding_rewrite`."""

from __future__ import annotations

from ....core.errors import ArgumentError
from ..ir.module import IRModule
from .analysis import all_vars, remove_all_unused, udchain
from .bindings import Binding, DataflowBlock, MatchCast, SeqExpr, VarBinding
from .block_builder import BlockBuilder
from .expr import DataflowVar, Expr, Var
from .expr_functor import Substitution
from .function import Function


class DataflowBlockRewrite:
    """Changes the bindings of a dataflow block of a function, which both stay as they are; `mutated_dfb` and
    `mutated_root_fn` are the new ones.

    ArgumentError for a block of another function.
    """

    def __init__(self, dfb: DataflowBlock, root_fn: Function):
        blocks = root_fn.body.blocks
        if not any(each is dfb for each in blocks):
            raise ArgumentError("DataflowBlockRewrite: expected a dataflow block of the function")
        self._place = next(n for n, each in enumerate(blocks) if each is dfb)
        self._original = root_fn
        self._block = dfb
        self._body = root_fn.body

    def add_binding(self, binding: Binding) -> None:
        """Appends a binding. ArgumentError for a variable that has one already."""
        var = binding.var
        if any(each.var is var for each in self._block.bindings):
            raise ArgumentError(f"{var.name_hint} has a binding already")
        outputs = self._block.outputs if isinstance(var, DataflowVar) else [*self._block.outputs, var]
        self._replace(DataflowBlock([*self._block.bindings, binding], outputs))

    def add(self, expr: Expr | Binding, name: str | None = None, is_dfvar: bool = False) -> None:
        """Appends a binding, or the binding of an expression to a new variable.

        name: of the variable, by default a new one.  is_dfvar: whether the variable is unknown after the block.
        """
        if isinstance(expr, Binding):
            self.add_binding(expr)
            return
        taken = {each.var.name_hint for block in self._body.blocks for each in block.bindings}
        stem = ("lv" if is_dfvar else "gv") if name is None else name
        new = next(each for each in (stem, *(f"{stem}{n}" for n in range(1, len(taken) + 2))) if each not in taken)
        kind = DataflowVar if is_dfvar else Var
        self.add_binding(VarBinding(kind(new, expr.struct_info), expr))

    def replace_all_uses(self, old_var: Var, new_var: Var) -> None:
        """Replaces a variable in the values of all bindings, and as a result."""
        change = Substitution({old_var: new_var})

        def rewritten(binding: Binding) -> Binding:
            assert isinstance(binding, VarBinding | MatchCast)
            value = change.visit_expr(binding.value)
            if value is binding.value:
                return binding
            if isinstance(binding, MatchCast):
                return MatchCast(binding.var, value, binding.struct_info)
            return VarBinding(binding.var, value)

        outputs: list[Var] = []
        for each in self._block.outputs:
            output = new_var if each is old_var else each
            outputs += [] if output in outputs else [output]
        new = DataflowBlock([rewritten(each) for each in self._block.bindings], outputs)
        blocks = [
            new if n == self._place else type(each)([rewritten(binding) for binding in each.bindings])
            for n, each in enumerate(self._body.blocks)
        ]
        self._block, self._body = new, SeqExpr(blocks, change.visit_expr(self._body.body))

    def remove_unused(self, var: Var, allow_undef: bool = False) -> None:
        """Removes the binding of a variable. allow_undef: whether the block may have none. ArgumentError for a variable
        that is used, and otherwise for one without a binding."""
        kept = [each for each in self._block.bindings if each.var is not var]
        if len(kept) == len(self._block.bindings):
            if not allow_undef:
                raise ArgumentError(f"{var.name_hint} has no binding in the block")
            return
        users = udchain(self._block)[var]
        if users or self._is_used_after(var):
            raise ArgumentError(f"{var.name_hint} is used, expected a variable that nothing uses")
        self._replace(DataflowBlock(kept, [each for each in self._block.outputs if each is not var]))

    def remove_all_unused(self) -> None:
        """Removes the bindings whose variables nothing uses."""
        used = [each for each in self._block.outputs if self._is_used_after(each)]
        self._replace(remove_all_unused(DataflowBlock(self._block.bindings, used)))

    def mutated_dfb(self) -> DataflowBlock:
        """The block with the changes."""
        return self._block

    def mutated_root_fn(self) -> Function:
        """The function with the changes."""
        old = self._original
        return Function(old.params, self._body, None, old.is_pure, old.attrs.data)

    def mutate_irmodule(self, irmodule: IRModule) -> IRModule:
        """A module with the new function in place of the old one. ArgumentError for a module without the old one."""
        for name in irmodule:
            if irmodule[name] == self._original:
                builder = BlockBuilder(irmodule)
                builder.update_func(name, self.mutated_root_fn())
                return builder.finalize()
        raise ArgumentError("mutate_irmodule: expected a module with the function whose block was changed")

    def _is_used_after(self, var: Var) -> bool:
        """Whether the rest of the function uses a variable."""
        rest = SeqExpr(self._body.blocks[self._place + 1 :], self._body.body)
        return any(each is var for each in all_vars(rest))

    def _replace(self, block: DataflowBlock) -> None:
        blocks = [block if n == self._place else each for n, each in enumerate(self._body.blocks)]
        self._block, self._body = block, SeqExpr(blocks, self._body.body)


__all__ = ["DataflowBlockRewrite"]

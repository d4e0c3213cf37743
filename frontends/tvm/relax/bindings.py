"""Bindings of variables, and the blocks and sequences of them."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import Block, Operation, Region, SSAValue

from ....core.errors import UnsupportedError
from ....core.xdsl_compat import set_name_hint
from ....module import Module
from ....operators import relax
from .expr import DataflowVar, Expr, Scriptable, Var
from .struct_info import StructInfo
from .writing import Writer, unknown_variable


class Binding(Scriptable):
    """A binding of a variable."""

    var: Var

    def write(self, writer: Writer) -> None:
        """Inserts the operations of the value, which the variable denotes from then on."""
        value = self.emit(writer)
        if isinstance(value.owner, Operation) and value.name_hint is None:
            set_name_hint(value, self.var.name_hint)
        writer.values[self.var] = value

    def emit(self, writer: Writer) -> SSAValue:
        """Inserts the operations of the value; returns it."""
        raise NotImplementedError


class VarBinding(Binding):
    """`var = value`. UnsupportedError for a function as the value."""

    def __init__(self, var: Var, value: Expr):
        if isinstance(value, Module):
            raise UnsupportedError(f"{var.name_hint}: a function in a function, expected `@R.function` in TVMScript")
        self.var = var
        self.value = value
        var.bound_value = value
        if var.known_struct_info is None:
            var.take_struct_info(value.struct_info)

    def emit(self, writer: Writer) -> SSAValue:
        return self.value.emit(writer)


class MatchCast(Binding):
    """`var = value`, checked at run time to be of a type, whose new sizes become known."""

    def __init__(self, var: Var, value: Expr, struct_info: StructInfo):
        self.var = var
        self.value = value
        self.struct_info = struct_info
        var.take_struct_info(struct_info)

    def emit(self, writer: Writer) -> SSAValue:
        output = writer.insert(relax.MatchCastOp(self.value.emit(writer), self.struct_info.type)).output
        if self.struct_info.device is not None:
            writer.stated.append((output, self.struct_info.device))
        return output


class BindingBlock(Scriptable):
    """Bindings in order."""

    def __init__(self, bindings: Sequence[Binding]):
        self.bindings = list(bindings)

    def write(self, writer: Writer) -> None:
        """Inserts the operations of the bindings."""
        for binding in self.bindings:
            binding.write(writer)


class DataflowBlock(BindingBlock):
    """Bindings without side effects and branches. outputs: the variables that are known after the block, by default
    those that are no `DataflowVar`."""

    def __init__(self, bindings: Sequence[Binding], outputs: Sequence[Var] | None = None):
        super().__init__(bindings)
        known = [each.var for each in self.bindings if not isinstance(each.var, DataflowVar)]
        self.outputs = known if outputs is None else list(outputs)

    def write(self, writer: Writer) -> None:
        block = Block()
        inner = writer.inside(block)
        super().write(inner)
        values = [inner.value_of(var) for var in self.outputs]
        block.add_op(relax.OutputOp(values))
        region = writer.insert(relax.DataflowOp([value.type for value in values], Region(block)))
        for var, output in zip(self.outputs, region.outputs, strict=True):
            set_name_hint(output, var.name_hint)
            writer.values[var] = output


class SeqExpr(Expr):
    """The value of an expression after blocks of bindings."""

    def __init__(self, blocks: Sequence[BindingBlock], body: Expr):
        self.blocks = list(blocks)
        self.body = body

    def emit(self, writer: Writer) -> SSAValue:
        for block in self.blocks:
            block.write(writer)
        return self.body.emit(writer)


class If(Expr):
    """The value of the first branch if the condition holds, else that of the second branch."""

    def __init__(self, cond: Expr, true_branch: Expr, false_branch: Expr):
        self.cond = cond
        self.true_branch = true_branch
        self.false_branch = false_branch

    def emit(self, writer: Writer) -> SSAValue:
        branches = [self._branch(writer, each) for each in (self.true_branch, self.false_branch)]
        last = branches[0].block.last_op
        assert isinstance(last, relax.YieldOp)
        return writer.insert(relax.IfOp(self.cond.emit(writer), last.value.type, *branches)).output

    @staticmethod
    def _branch(writer: Writer, expr: Expr) -> Region:
        block = Block()
        value = expr.emit(writer.inside(block))
        block.add_op(relax.YieldOp(value))
        return Region(block)


def bound_values(blocks: Sequence[BindingBlock]) -> dict[Var, Expr]:
    """The expressions that variables denote."""
    return {each.var: each.value for block in blocks for each in block.bindings if isinstance(each, VarBinding)}


def require_known(expr: Expr, visible: set[Var]) -> None:
    """ArgumentError for an expression with a variable that is not visible."""
    if isinstance(expr, Var) and expr not in visible:
        raise unknown_variable(expr)
    for child in expr.children:
        require_known(child, visible)


__all__ = ["Binding", "BindingBlock", "DataflowBlock", "If", "MatchCast", "SeqExpr", "VarBinding"]

"""Visitors and rewrites of programs: `tvm.relax.expr_functor`.

The methods have TVM's names: `visit_call_` for calls, `visit_var_binding_` for bindings, ...; a subclass overrides
those of the kinds that it handles. `visit_expr`, `visit_binding`, `visit_binding_block` and `visit_var_def` select the
method of a node.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ....core.errors import OptionError
from ....module import Module
from ...relay.expr import GlobalVar
from ..absent import report_absent
from ..subclasses import ClassT, require_subclass
from .bindings import Binding, BindingBlock, DataflowBlock, If, MatchCast, SeqExpr, VarBinding
from .block_builder import BlockBuilder
from .expr import (
    Call,
    Constant,
    DataflowVar,
    Expr,
    ExternFunc,
    Op,
    PrimValue,
    ShapeExpr,
    StringImm,
    Tuple,
    TupleGetItem,
    Var,
)
from .function import Function
from .struct_info import StructInfo

__getattr__ = report_absent("tvm.relax.expr_functor")


_METHODS: dict[type, str] = {
    Constant: "visit_constant_",
    Tuple: "visit_tuple_",
    DataflowVar: "visit_dataflow_var_",
    Var: "visit_var_",
    ShapeExpr: "visit_shape_expr_",
    ExternFunc: "visit_extern_func_",
    GlobalVar: "visit_global_var_",
    Function: "visit_function_",
    Call: "visit_call_",
    SeqExpr: "visit_seq_expr_",
    If: "visit_if_",
    Op: "visit_op_",
    TupleGetItem: "visit_tuple_getitem_",
    PrimValue: "visit_prim_value_",
    StringImm: "visit_string_imm_",
}
"""The methods by the kind of a node."""


def visitor(cls: ClassT) -> ClassT:
    """The decorator of subclasses of `PyExprVisitor`. OptionError for another class."""
    return require_subclass(cls, PyExprVisitor, "visitor")


def mutator(cls: ClassT) -> ClassT:
    """The decorator of subclasses of `PyExprMutator`. OptionError for another class."""
    return require_subclass(cls, PyExprMutator, "mutator")


def _method_of(expr: Any) -> str:
    """The name of the method for a node."""
    method = next((_METHODS[kind] for kind in type(expr).__mro__ if kind in _METHODS), None)
    if method is None:
        raise OptionError(f"visit_expr: a value of type {type(expr).__name__}, expected an expression of relax")
    return method


class _Functor:
    """The selection of the method of a node."""

    def visit_expr(self, expr: Any) -> Any:
        """Visits an expression, an operator or a function. OptionError for a value of another kind."""
        return getattr(self, _method_of(expr))(expr)

    def visit_binding(self, binding: Binding) -> None:
        """Visits a binding."""
        method = "visit_match_cast_" if isinstance(binding, MatchCast) else "visit_var_binding_"
        getattr(self, method)(binding)

    def visit_binding_block(self, block: BindingBlock) -> Any:
        """Visits a block."""
        method = "visit_dataflow_block_" if isinstance(block, DataflowBlock) else "visit_binding_block_"
        return getattr(self, method)(block)

    def visit_var_def(self, var: Var) -> Any:
        """Visits the definition of a variable."""
        method = "visit_dataflow_var_def_" if isinstance(var, DataflowVar) else "visit_var_def_"
        return getattr(self, method)(var)


class PyExprVisitor(_Functor):
    """Visits all expressions of a function in the order of computation."""

    def visit_constant_(self, op: Constant) -> None:
        """Visits a constant."""

    def visit_var_(self, op: Var) -> None:
        """Visits a use of a variable."""

    def visit_dataflow_var_(self, op: DataflowVar) -> None:
        """Visits a use of a variable of a dataflow block."""
        self.visit_var_(op)

    def visit_shape_expr_(self, op: ShapeExpr) -> None:
        """Visits a shape."""

    def visit_extern_func_(self, op: ExternFunc) -> None:
        """Visits a packed function."""

    def visit_global_var_(self, op: GlobalVar) -> None:
        """Visits the name of a function."""

    def visit_op_(self, op: Op) -> None:
        """Visits an operator."""

    def visit_prim_value_(self, op: PrimValue) -> None:
        """Visits a number."""

    def visit_string_imm_(self, op: StringImm) -> None:
        """Visits a text."""

    def visit_tuple_(self, op: Tuple) -> None:
        """Visits a tuple and its fields."""
        for field in op.fields:
            self.visit_expr(field)

    def visit_tuple_getitem_(self, op: TupleGetItem) -> None:
        """Visits a field of a tuple, and the tuple."""
        self.visit_expr(op.tuple_value)

    def visit_call_(self, op: Call) -> None:
        """Visits a call: the called function, and the arguments."""
        self.visit_expr(op.op)
        for arg in op.args:
            self.visit_expr(arg)

    def visit_if_(self, op: If) -> None:
        """Visits a condition and both branches."""
        for part in (op.cond, op.true_branch, op.false_branch):
            self.visit_expr(part)

    def visit_function_(self, op: Function) -> None:
        """Visits the parameters and the body of a function."""
        for param in op.params:
            self.visit_var_def(param)
        self.visit_expr(op.body)

    def visit_seq_expr_(self, op: SeqExpr) -> None:
        """Visits blocks and the value after them."""
        for block in op.blocks:
            self.visit_binding_block(block)
        self.visit_expr(op.body)

    def visit_binding_block_(self, block: BindingBlock) -> None:
        """Visits the bindings of a block."""
        for binding in block.bindings:
            self.visit_binding(binding)

    def visit_dataflow_block_(self, block: DataflowBlock) -> None:
        """Visits the bindings of a dataflow block."""
        for binding in block.bindings:
            self.visit_binding(binding)

    def visit_var_binding_(self, binding: VarBinding) -> None:
        """Visits the value of a binding, and then the definition of its variable."""
        self.visit_expr(binding.value)
        self.visit_var_def(binding.var)

    def visit_match_cast_(self, binding: MatchCast) -> None:
        """Visits the value of a check of types, and then the definition of its variable."""
        self.visit_expr(binding.value)
        self.visit_var_def(binding.var)

    def visit_var_def_(self, var: Var) -> None:
        """Visits the definition of a variable."""

    def visit_dataflow_var_def_(self, var: DataflowVar) -> None:
        """Visits the definition of a variable of a dataflow block."""
        self.visit_var_def_(var)


class PyExprMutator(_Functor):
    """Rewrites a function: each method returns the new node, which is the node itself where nothing changes.

    builder_: receives the bindings of the new function; methods may `emit` more of them, and add functions.
    """

    def __init__(self, mod: Module | None = None):
        self.builder_ = BlockBuilder(mod)
        self._remap: dict[Var, Var] = {}

    # Expressions without parts

    def visit_constant_(self, op: Constant) -> Expr:
        """The new expression of a constant."""
        return op

    def visit_var_(self, op: Var) -> Expr:
        """The new variable for a variable."""
        return self.get_var_remap(op)

    def visit_dataflow_var_(self, op: DataflowVar) -> Expr:
        """The new variable for a variable of a dataflow block."""
        return self.visit_var_(op)

    def visit_shape_expr_(self, op: ShapeExpr) -> Expr:
        """The new expression of a shape."""
        return op

    def visit_extern_func_(self, op: ExternFunc) -> Any:
        """The new packed function."""
        return op

    def visit_global_var_(self, op: GlobalVar) -> Any:
        """The new name of a function."""
        return op

    def visit_op_(self, op: Op) -> Any:
        """The new operator."""
        return op

    def visit_prim_value_(self, op: PrimValue) -> Expr:
        """The new expression of a number."""
        return op

    def visit_string_imm_(self, op: StringImm) -> Expr:
        """The new expression of a text."""
        return op

    # Expressions with parts

    def visit_expr_post_order(self, expr: Any) -> Any:
        """The expression with its parts rewritten, by the methods of this class itself."""
        return getattr(PyExprMutator, _method_of(expr))(self, expr)

    def visit_tuple_(self, op: Tuple) -> Expr:
        """The tuple of the new fields."""
        fields = self._all(op.fields)
        return op if _same(fields, op.fields) else Tuple(fields)

    def visit_tuple_getitem_(self, op: TupleGetItem) -> Expr:
        """The field of the new tuple."""
        value = self.visit_expr(op.tuple_value)
        return op if value is op.tuple_value else TupleGetItem(value, op.index)

    def visit_call_(self, op: Call) -> Expr:
        """The call of the new function with the new arguments."""
        callee, args = self.visit_expr(op.op), self._all(op.args)
        is_same = callee is op.op and _same(args, op.args)
        return op if is_same else Call(callee, args, op.attrs, op.sinfo_args)

    def visit_if_(self, op: If) -> Expr:
        """The branches on the new condition."""
        cond = self.visit_expr(op.cond)
        branches = [self.visit_with_new_scope(each) for each in (op.true_branch, op.false_branch)]
        is_same = cond is op.cond and _same(branches, [op.true_branch, op.false_branch])
        return op if is_same else If(cond, *branches)

    def visit_function_(self, op: Function) -> Function:
        """The function of the new parameters and the new body."""
        params = [self.visit_var_def(param) for param in op.params]
        body = self.visit_with_new_scope(op.body)
        if body is op.body and _same(params, op.params):
            return op
        return Function(params, body, None, op.is_pure, op.attrs.data)

    def visit_seq_expr_(self, op: SeqExpr) -> Expr:
        """The new blocks, and the new value after them."""
        blocks = [self.visit_binding_block(block) for block in op.blocks]
        self.builder_.begin_binding_block()
        body = self.visit_expr(op.body)
        rest = self.builder_.end_block()
        if _same(blocks, op.blocks) and body is op.body and not rest.bindings:
            return op
        return SeqExpr([each for each in (*blocks, rest) if each.bindings], body)

    # Bindings

    def visit_binding_block_(self, block: BindingBlock) -> BindingBlock:
        """The block of the new bindings."""
        self.builder_.begin_binding_block()
        return self._rewritten(block)

    def visit_dataflow_block_(self, block: DataflowBlock) -> BindingBlock:
        """The dataflow block of the new bindings."""
        self.builder_.begin_dataflow_block()
        return self._rewritten(block)

    def _rewritten(self, block: BindingBlock) -> BindingBlock:
        for binding in block.bindings:
            self.visit_binding(binding)
        new = self.builder_.end_block()
        return block if _same(new.bindings, block.bindings) else new

    def visit_var_binding_(self, binding: VarBinding) -> None:
        """Emits the binding of the new value to the variable, or to a new variable if its type has changed."""
        value = self.visit_expr(binding.value)
        if value is binding.value:
            self.builder_.emit_normalized(binding)
            return
        var = self.with_struct_info(self.visit_var_def(binding.var), self.builder_.type_of(value))
        self.set_var_remap(binding.var, var)
        self.builder_.emit_normalized(VarBinding(var, value))

    def visit_match_cast_(self, binding: MatchCast) -> None:
        """Emits the check of the new value."""
        value, var = self.visit_expr(binding.value), self.visit_var_def(binding.var)
        is_same = value is binding.value and var is binding.var
        self.builder_.emit_normalized(binding if is_same else MatchCast(var, value, binding.struct_info))

    def visit_var_def_(self, var: Var) -> Var:
        """The new variable for a definition."""
        return self._remap.get(var, var)

    def visit_dataflow_var_def_(self, var: DataflowVar) -> Var:
        """The new variable for a definition in a dataflow block."""
        return self.visit_var_def_(var)

    # Variables

    def visit_with_new_scope(self, expr: Expr) -> Expr:
        """The new expression of a body or branch, with the bindings that its parts have emitted."""
        if isinstance(expr, SeqExpr):
            return self.visit_expr(expr)
        self.builder_.begin_binding_block()
        body = self.visit_expr(expr)
        block = self.builder_.end_block()
        return SeqExpr([block], body) if block.bindings else body

    def set_var_remap(self, vid: Var, var: Var) -> None:
        """Sets the new variable for a variable."""
        if vid is not var:
            self._remap[vid] = var

    def get_var_remap(self, vid: Var) -> Var:
        """The new variable for a variable."""
        return self._remap.get(vid, vid)

    def lookup_binding(self, var: Var) -> Expr | None:
        """The new expression that a new variable denotes, None for a parameter."""
        return self.builder_.lookup_binding(var)

    def with_struct_info(self, var: Var, struct_info: StructInfo) -> Var:
        """The variable, or a new one of the same name if its type differs."""
        return var if var.struct_info == struct_info else type(var)(var.name_hint, struct_info)

    def _all(self, exprs: Sequence[Any]) -> list[Any]:
        return [self.visit_expr(each) for each in exprs]


class Substitution(PyExprMutator):
    """Replaces variables by expressions."""

    def __init__(self, values: Mapping[Var, Expr]):
        super().__init__()
        self._values = values

    def visit_var_(self, op: Var) -> Expr:
        return self._values.get(op) or self.get_var_remap(op)


def _same(new: Sequence[Any], old: Sequence[Any]) -> bool:
    return len(new) == len(old) and all(a is b for a, b in zip(new, old, strict=True))


ExprVisitor, ExprMutator = PyExprVisitor, PyExprMutator

__all__ = ["ExprMutator", "ExprVisitor", "PyExprMutator", "PyExprVisitor", "mutator", "visitor"]

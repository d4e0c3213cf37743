"""Visitors and rewrites of functions on buffers as classes: `tvm.tir.functor`.

The methods have TVM's names: `visit_for_` for loops, `visit_add_` for sums, ...; a subclass overrides those of the
kinds that it handles. `visit_stmt` and `visit_expr` select the method of a node.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ....expressions.expr import (
    EQ,
    GE,
    GT,
    LE,
    LT,
    NE,
    Add,
    And,
    Call,
    Cast,
    Div,
    FloatImm,
    FloorDiv,
    FloorMod,
    IntImm,
    Max,
    Min,
    Mod,
    Mul,
    Not,
    Or,
    PrimExpr,
    Select,
    SizeVar,
    StringImm,
    Sub,
    Var,
)
from ....expressions.tensor import ProducerLoad, Reduce
from ..absent import report_absent
from ..nodes.blocks import Block, BlockRealize
from ..nodes.expr import Broadcast, BufferLoad, Let, Ramp, Shuffle
from ..nodes.functor import children_of, map_children
from ..nodes.stmt import (
    Allocate,
    AssertStmt,
    AttrStmt,
    BufferRealize,
    BufferStore,
    DeclBuffer,
    Evaluate,
    For,
    IfThenElse,
    LetStmt,
    SeqStmt,
    Stmt,
    While,
)
from ..subclasses import ClassT, require_subclass

__getattr__ = report_absent("tvm.tir.functor")


_METHODS: dict[type, str] = {
    AttrStmt: "visit_attr_stmt_",
    IfThenElse: "visit_if_then_else_",
    LetStmt: "visit_let_stmt_",
    For: "visit_for_",
    While: "visit_while_",
    Allocate: "visit_allocate_",
    DeclBuffer: "visit_decl_buffer_",
    BufferStore: "visit_buffer_store_",
    BufferRealize: "visit_buffer_realize_",
    AssertStmt: "visit_assert_stmt_",
    SeqStmt: "visit_seq_stmt_",
    Evaluate: "visit_evaluate_",
    Block: "visit_block_",
    BlockRealize: "visit_block_realize_",
    SizeVar: "visit_size_var_",
    Var: "visit_var_",
    BufferLoad: "visit_buffer_load_",
    ProducerLoad: "visit_producer_load_",
    Let: "visit_let_",
    Call: "visit_call_",
    Add: "visit_add_",
    Sub: "visit_sub_",
    Mul: "visit_mul_",
    Div: "visit_div_",
    Mod: "visit_mod_",
    FloorDiv: "visit_floor_div_",
    FloorMod: "visit_floor_mod_",
    Min: "visit_min_",
    Max: "visit_max_",
    EQ: "visit_eq_",
    NE: "visit_ne_",
    LT: "visit_lt_",
    LE: "visit_le_",
    GT: "visit_gt_",
    GE: "visit_ge_",
    Or: "visit_or_",
    And: "visit_and_",
    Reduce: "visit_reduce_",
    Cast: "visit_cast_",
    Not: "visit_not_",
    Select: "visit_select_",
    Ramp: "visit_ramp_",
    Broadcast: "visit_broadcast_",
    Shuffle: "visit_shuffle_",
    IntImm: "visit_int_imm_",
    FloatImm: "visit_float_imm_",
    StringImm: "visit_string_imm_",
}
"""The methods by the kind of a node."""


def visitor(cls: ClassT) -> ClassT:
    """The decorator of subclasses of `PyStmtExprVisitor`. OptionError for another class."""
    return require_subclass(cls, PyStmtExprVisitor, "visitor")


def mutator(cls: ClassT) -> ClassT:
    """The decorator of subclasses of `PyStmtExprMutator`. OptionError for another class."""
    return require_subclass(cls, PyStmtExprMutator, "mutator")


class _Functor:
    """The base class of visitors and rewrites."""

    def visit_stmt(self, stmt: Stmt) -> Any:
        """Calls the method of the kind of a statement."""
        return self._visit(stmt)

    def visit_expr(self, expr: PrimExpr) -> Any:
        """Calls the method of the kind of an expression."""
        return self._visit(expr)

    def _visit(self, node: Any) -> Any:
        method = next((_METHODS[kind] for kind in type(node).__mro__ if kind in _METHODS), None)
        return self._visit_parts(node) if method is None else getattr(self, method)(node)

    def _visit_child(self, node: Any) -> Any:
        return self.visit_stmt(node) if isinstance(node, Stmt) else self.visit_expr(node)

    def _visit_parts(self, node: Any) -> Any:
        """Visits the parts of a node."""
        raise NotImplementedError


class PyStmtExprVisitor(_Functor):
    """The base class of visitors. A method `visit_..._` visits the parts of its node by default."""

    def _visit_parts(self, node: Any) -> None:
        for child in children_of(node):
            self._visit_child(child)


class PyStmtExprMutator(_Functor):
    """The base class of rewrites. A method `visit_..._` returns its node with its parts rewritten by default."""

    def _visit_parts(self, node: Any) -> Any:
        return map_children(node, self._visit_child)


def _method(name: str) -> Callable[[Any, Any], Any]:
    def visit(self: Any, op: Any) -> Any:
        return self._visit_parts(op)

    visit.__name__ = name
    return visit


for _name in _METHODS.values():
    setattr(_Functor, _name, _method(_name))


__all__ = ["PyStmtExprMutator", "PyStmtExprVisitor", "mutator", "visitor"]

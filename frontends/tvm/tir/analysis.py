"""The module `tvm.tir.analysis`: facts about functions and expressions."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from xdsl.dialects.builtin import MemRefType

from ....analysis.scopes import ancestors, function_around, output_blocks
from ....analysis.work import static_extent
from ....core.dtypes import dtype_of, element_byte_size
from ....core.errors import StepwellError, UnsupportedError
from ....core.walking import find_ops
from ....dialects.tir import BINARY_NAMES, UNARY_NAMES, AllocateOp, AllocBufferOp, BlockOp, ForOp
from ....dialects.tir.base import DYNAMIC
from ....expressions.expr import PrimExpr, Var
from ....module import Module
from ....schedule import Schedule
from ....schedule.handles import BlockLike
from ..absent import report_absent
from ..ir.comparison import structural_equal
from ..nodes.functor import post_order_visit
from ..nodes.stmt import For, LetStmt, Stmt

__getattr__ = report_absent("tvm.tir.analysis")


def expr_deep_equal(lhs: PrimExpr, rhs: PrimExpr) -> bool:
    """Whether two expressions are equal node by node, with the same variables."""
    return structural_equal(lhs, rhs)


def undefined_vars(node: Stmt | PrimExpr, defs: Sequence[Var] = ()) -> list[Var]:
    """The variables that a statement or an expression uses and does not declare, besides `defs`, in order."""
    used: dict[Var, None] = {}
    declared = set(defs)

    def visit(each: Stmt | PrimExpr) -> None:
        if isinstance(each, Var):
            used[each] = None
        elif isinstance(each, For):
            declared.add(each.loop_var)
        elif isinstance(each, LetStmt):
            declared.add(each.var)

    post_order_visit(node, visit)
    return [variable for variable in used if variable not in declared]


def verify_well_formed(obj: Module, assert_mode: bool = True) -> bool:
    """Whether a module satisfies the constraints of its operations. assert_mode: raises the error instead of False."""
    try:
        obj.verify()
    except StepwellError:
        if assert_mode:
            raise
        return False
    return True


def verify_ssa(func: Module) -> bool:
    """Whether every variable of a function is declared once and before its uses."""
    return verify_well_formed(func, assert_mode=False)


def calculate_workspace_bytes(func: Module, workspace_byte_alignment: int = 1) -> int:
    """The bytes of all memory that a function allocates, each allocation rounded up to the alignment.

    UnsupportedError for an allocation whose size is not known.
    """
    total = 0
    for op in find_ops(func.op, AllocBufferOp, AllocateOp):
        type = op.results[0].type
        assert isinstance(type, MemRefType)
        shape = type.get_shape()
        if DYNAMIC in shape:
            raise UnsupportedError("calculate_workspace_bytes: an allocation whose size is not known")
        size = prod(shape) * element_byte_size(type.element_type)  # pyright: ignore[reportUnknownArgumentType]
        total += -(-size // workspace_byte_alignment) * workspace_byte_alignment
    return total


def estimate_tir_flops(stmt_or_mod: Module) -> float:
    """The number of operations on floats of a module, with the extents of the loops around them.

    UnsupportedError for a loop whose extent is not known.
    """
    total = 0.0
    for op in stmt_or_mod.op.walk():
        if (type(op) in BINARY_NAMES or type(op) in UNARY_NAMES) and dtype_of(op.results[0].type).is_float:
            extents = [static_extent(loop) for loop in ancestors(op) if isinstance(loop, ForOp)]
            if None in extents:
                raise UnsupportedError("estimate_tir_flops: a loop whose extent is not known")
            total += prod(extent for extent in extents if extent is not None)
    return total


# Of schedules: `tvm.tir.schedule.analysis`


def has_block(sch: Schedule, block_name: str) -> bool:
    """Whether a schedule has a block of a name."""
    return any(block.block_name.data == block_name for block in find_ops(sch.mod.op, BlockOp))


def is_output_block(sch: Schedule, block: BlockLike) -> bool:
    """Whether a block writes a parameter of its function."""
    op = sch.op(sch.get_block(block) if isinstance(block, str) else block)
    function = function_around(op) if isinstance(op, BlockOp) else None
    return function is not None and op in output_blocks(function)


__all__ = [
    "calculate_workspace_bytes",
    "estimate_tir_flops",
    "expr_deep_equal",
    "has_block",
    "is_output_block",
    "undefined_vars",
    "verify_ssa",
    "verify_well_formed",
]

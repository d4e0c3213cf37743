"""Parameters of functions whose declaration a schedule changes."""

from __future__ import annotations

from typing import cast

from xdsl.dialects.builtin import MemRefType
from xdsl.ir import Attribute, BlockArgument, Operation, SSAValue
from xdsl.rewriter import Rewriter

from ...analysis.names import buffer_name
from ...core.errors import ScheduleError
from ...dialects.tir import CallOp, FuncOp, HandleType, MatchBufferOp, SymbolOp
from ..state import State
from .nest import builder_before


def match_parameter(parameter: BlockArgument) -> SSAValue:
    """Make a parameter a handle, and its buffer a view of the handle; returns the new buffer."""
    func = cast(FuncOp, parameter.owner.parent_op())
    type = cast("MemRefType[Attribute]", parameter.type)
    name = next(name for name, value in func.params if value is parameter)
    handle = Rewriter.replace_value_with_new_type(parameter, HandleType())
    builder = builder_before(next(op for op in func.body.block.ops if not isinstance(op, SymbolOp)))
    match = MatchBufferOp(name, handle, type.element_type, list(type.get_shape()), space=type.memory_space)
    handle.replace_all_uses_with(match.buffer)
    builder.insert(match)
    match.operands[0] = handle
    return match.buffer


def require_uncalled(state: State, func: FuncOp, parameter: SSAValue) -> None:
    """Raise ScheduleError if a function of the module passes a value to a parameter, whose declaration would change."""
    for other in state.module.walk():
        if isinstance(other, CallOp) and other.callee.root_reference == func.sym_name:
            marks: list[Operation] = [other]
            raise ScheduleError(
                f"buffer {buffer_name(parameter)} is a parameter of function {func.sym_name.data!r}, which another "
                "function calls",
                marks,
            )

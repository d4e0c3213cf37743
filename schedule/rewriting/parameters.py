"""Parameters of functions whose declaration a schedule changes."""

from __future__ import annotations

from typing import cast

from xdsl.dialects.builtin import DictionaryAttr, IntAttr, MemRefType, StridedLayoutAttr
from xdsl.ir import Attribute, BlockArgument, Operation, SSAValue
from xdsl.rewriter import Rewriter

from ...analysis.names import buffer_name
from ...core.errors import ScheduleError
from ...core.xdsl_compat import set_name_hint
from ...dialects.tir import CallOp, FuncOp, HandleType, MatchBufferOp, SymbolOp
from ...dialects.tir.base import rename_parameters, string_array
from ..state import State
from .nest import builder_before


def match_parameter(parameter: BlockArgument) -> SSAValue:
    """Make a parameter a handle, and its buffer a view of the handle; returns the new buffer."""
    func = cast(FuncOp, parameter.owner.parent_op())
    type = cast("MemRefType[Attribute]", parameter.type)
    strides, offset = _layout_of(type)
    name = next(name for name, value in func.params if value is parameter)
    handle = Rewriter.replace_value_with_new_type(parameter, HandleType())
    declarations = (SymbolOp, MatchBufferOp)
    builder = builder_before(next(op for op in func.body.block.ops if not isinstance(op, declarations)))
    match = MatchBufferOp(
        name,
        handle,
        type.element_type,
        list(type.get_shape()),
        strides=strides,
        offset=offset,
        space=type.memory_space,
    )
    handle.replace_all_uses_with(match.buffer)
    builder.insert(match)
    match.operands[0] = handle
    return match.buffer


def _layout_of(type: MemRefType[Attribute]) -> tuple[list[int] | None, int]:
    """The strides, None for a compact buffer, and the offset of a buffer that is a parameter."""
    if not isinstance(layout := type.layout, StridedLayoutAttr):
        return None, 0
    numbers = [entry.data for entry in (*layout.strides, layout.offset) if isinstance(entry, IntAttr)]
    return numbers[:-1], numbers[-1]


def restore_parameter(match: MatchBufferOp) -> None:
    """Make a parameter, of which a view is all of its use, the buffer itself, with the name of the buffer."""
    func, source = cast(FuncOp, match.parent_op()), cast(BlockArgument, match.source)
    names = [name for name, _ in func.params]
    old, names[source.index] = names[source.index], match.buffer_name.data
    func.param_names = string_array(names)
    if func.func_attrs is not None:
        func.func_attrs = cast(DictionaryAttr, rename_parameters(func.func_attrs, {old: names[source.index]}))
    parameter = func.body.block.insert_arg(match.type, source.index)
    set_name_hint(parameter, names[source.index])
    match.buffer.replace_all_uses_with(parameter)
    match.detach()
    match.erase()
    func.body.block.erase_arg(source)


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

"""The names of blocks, loops and buffers in the program, and fresh names."""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.ir import Operation, SSAValue

from ..core.identifiers import fresh_name
from ..core.walking import find_ops
from ..dialects.text.names import source_name
from ..dialects.tir import BlockOp, BufferOp, ForOp, FuncOp, LaunchThreadOp


def block_name(block: BlockOp) -> str:
    """The name of a block in the program."""
    return block.block_name.data


def loop_name(loop: Operation) -> str:
    """The name of the variable of a loop in the program."""
    assert isinstance(loop, ForOp | LaunchThreadOp)
    return loop.loop_var.data if isinstance(loop, ForOp) else loop.var_name.data


def buffer_name(buffer: SSAValue) -> str:
    """The name of a buffer in the program."""
    return source_name(buffer) or "_"


def memory_name(value: SSAValue | None) -> str:
    """The name of a buffer, a pointer or a number in the program; None denotes the world outside of buffers."""
    if value is None:
        return "what is outside of buffers"
    return source_name(value) or value.name_hint or "a pointer"


def fresh_block_name(func: FuncOp, hint: str) -> str:
    """`hint` if no block of the function has this name, else the first free name of `hint_1`, `hint_2`, ...

    TVM creates two blocks of the same name, after which neither is found by name; the other names are TVM's.
    """
    return fresh_name(hint, {block_name(op) for op in find_ops(func, BlockOp)})


def fresh_buffer_name(func: FuncOp, hint: str) -> str:
    """`hint` if no buffer or parameter of the function has this name, else `hint_1`, ... as TVM prints them."""
    taken = {name for name, _ in func.params}
    taken |= {op.buffer_name.data for op in find_ops(func, BufferOp)}
    return fresh_name(hint, taken)


def symbols_of(module: ModuleOp) -> set[str]:
    """The names of the functions of a module, of any landing."""
    names = (op.properties.get("sym_name") for op in module.body.block.ops)
    return {name.data for name in names if isinstance(name, StringAttr)}

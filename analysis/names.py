"""What the program calls its blocks, loops and buffers, and names for new ones."""

from __future__ import annotations

from xdsl.ir import Operation, SSAValue

from ..dialects.text.names import source_name
from ..dialects.tir import BlockOp, BufferOp, ForOp, FuncOp, LaunchThreadOp


def block_name(block: BlockOp) -> str:
    """What the program calls a block."""
    return block.block_name.data


def loop_name(loop: Operation) -> str:
    """What the program calls the variable of a loop."""
    assert isinstance(loop, ForOp | LaunchThreadOp)
    return loop.loop_var.data if isinstance(loop, ForOp) else loop.var_name.data


def buffer_name(buffer: SSAValue) -> str:
    """What the program calls a buffer."""
    return source_name(buffer) or "_"


def memory_name(value: SSAValue | None) -> str:
    """What the program calls a buffer, a pointer or a number; None is all that is no memory of it."""
    if value is None:
        return "what is outside of buffers"
    return source_name(value) or value.name_hint or "a pointer"


def fresh_block_name(func: FuncOp, hint: str) -> str:
    """`hint` if no block of the function is called so, else `hint_1`, `hint_2`, ...: the first that is free.

    TVM gives the same name twice, so that neither block is found by it any more; the others are as in TVM.
    """
    return fresh_name(hint, {block_name(op) for op in func.walk() if isinstance(op, BlockOp)})


def fresh_buffer_name(func: FuncOp, hint: str) -> str:
    """`hint` if no buffer or parameter of the function is called so, else `hint_1`, ... as TVM prints them."""
    taken = {name for name, _ in func.params}
    taken |= {op.buffer_name.data for op in func.walk() if isinstance(op, BufferOp)}
    return fresh_name(hint, taken)


def fresh_name(hint: str, taken: set[str]) -> str:
    """`hint` if that is not taken, else `hint_1`, `hint_2`, ...: the first that is free. It is taken then."""
    name, n = hint, 0
    while name in taken:
        n += 1
        name = f"{hint}_{n}"
    taken.add(name)
    return name

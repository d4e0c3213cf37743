"""Fixtures for programs as text, before and after a change, with blocks and buffers matched by name."""

from collections.abc import Callable
from textwrap import dedent, indent
from typing import Any

import pytest
from xdsl.ir import Operation

from stepwell import parse_tvmscript
from stepwell.analysis.dependence import Init, Violation, compare_flows, value_flow
from stepwell.dialects.tir import BlockOp, BufferOp, ForOp, FuncOp, StoreOp, SymbolOp

HEAD = 'A: T.Buffer((8, 8), "float32"), D: T.Buffer((8, 8), "float32"), I: T.Buffer((8,), "int32")'


def parse_function(body: str, head: str = HEAD) -> FuncOp:
    """The function with the given body, with parameters A and D of 8 x 8 floats and I of 8 integers."""
    module = parse_tvmscript(f"@T.prim_func\ndef main({head}):\n{indent(dedent(body), '    ')}")
    return next(op for op in module.op.walk() if isinstance(op, FuncOp))


def find_block(func: FuncOp, name: str) -> BlockOp:
    return next(op for op in func.walk() if isinstance(op, BlockOp) and op.block_name.data == name)


def find_loop(func: FuncOp, name: str) -> ForOp:
    return next(op for op in func.walk() if isinstance(op, ForOp) and op.loop_var.data == name)


def correspondence(before: FuncOp, after: FuncOp) -> dict[Any, Any]:
    """Maps the loops, blocks, inits, buffers and sizes of a program to the namesakes in another program, and stores
    outside of blocks by their order."""
    pairs: dict[Any, Any] = dict(zip(before.body.block.args, after.body.block.args, strict=True))
    blocks = {op.block_name.data: op for op in after.walk() if isinstance(op, BlockOp)}
    buffers = {op.buffer_name.data: op.buffer for op in after.walk() if isinstance(op, BufferOp)}
    sizes = {op.var_name.data: op.result for op in after.walk() if isinstance(op, SymbolOp)}
    stores = ([op for op in func.walk() if isinstance(op, StoreOp)] for func in (before, after))
    pairs.update(zip(*([op for op in ops if not _is_in_block(op)] for ops in stores), strict=False))
    loops = {op.loop_var.data: op for op in after.walk() if isinstance(op, ForOp)}
    for op in before.walk():
        if isinstance(op, ForOp) and op.loop_var.data in loops:
            pairs[op] = loops[op.loop_var.data]
        elif isinstance(op, BlockOp) and op.block_name.data in blocks:
            name = op.block_name.data
            pairs[op] = blocks[name]
            pairs[Init(op)] = blocks.get(f"{name}_init") or Init(blocks[name])
        elif isinstance(op, BufferOp) and op.buffer_name.data in buffers:
            pairs[op.buffer] = buffers[op.buffer_name.data]
        elif isinstance(op, SymbolOp) and op.var_name.data in sizes:
            pairs[op.result] = sizes[op.var_name.data]
    return pairs


def _is_in_block(op: Operation) -> bool:
    return isinstance(op, BlockOp) or ((parent := op.parent_op()) is not None and _is_in_block(parent))


def compare_texts(
    before: str, after: str, inlined: tuple[str, ...] = (), copies: tuple[str, ...] = (), head: str = HEAD
) -> Violation | None:
    old, new = parse_function(before, head), parse_function(after, head)
    gone = [find_block(old, name) for name in inlined]
    added = [find_block(new, name) for name in copies]
    return compare_flows(value_flow(old), value_flow(new), gone, added, correspondence(old, new))


@pytest.fixture
def compare() -> Callable[..., Violation | None]:
    """Compares the value flow of two texts, `before` and `after`, with blocks and buffers matched by name."""
    return compare_texts


@pytest.fixture
def refusal() -> Callable[..., str]:
    """The reason for the refusal of a change, which must be refused."""

    def compare(before: str, after: str, **options: Any) -> str:
        violation = compare_texts(before, after, **options)
        assert violation is not None
        return str(violation)

    return compare


@pytest.fixture
def function() -> Callable[..., FuncOp]:
    """Parses a function from the text of its body."""
    return parse_function


@pytest.fixture
def block() -> Callable[[FuncOp, str], BlockOp]:
    """Finds a block by name."""
    return find_block


@pytest.fixture
def loop() -> Callable[[FuncOp, str], ForOp]:
    """Finds a loop by name."""
    return find_loop


@pytest.fixture(scope="session")
def pairs() -> Callable[[FuncOp, FuncOp], dict[Any, Any]]:
    """The correspondence of two functions, by name."""
    return correspondence

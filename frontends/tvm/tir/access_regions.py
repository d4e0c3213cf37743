"""The regions that blocks access, and the smallest statements around all accesses to a buffer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from xdsl.dialects.builtin import MemRefType
from xdsl.ir import Operation, SSAValue

from ....analysis.regions.access_regions import infer_accesses
from ....analysis.scopes import function_around
from ....core.errors import ArgumentError
from ....core.walking import find_ops
from ....dialects.tir import (
    AccessOp,
    AccessPtrOp,
    AddressOfOp,
    BlockOp,
    BufferDataOp,
    FuncOp,
    MatchRegionOp,
)
from ....expressions.axes import Range
from ....expressions.expr import Max, Min, PrimExpr, const
from ..ir.module import PrimFunc
from ..nodes.blocks import Block
from ..nodes.expr import Buffer, BufferArg, BufferLoad, BufferRegion
from ..nodes.functor import children_of
from ..nodes.reading import NodeReader
from ..nodes.stmt import BufferStore, Declaration, For, OtherStmt

READ, WRITE = 1, 2
"""The kinds of accesses through a pointer, which `access_ptr` states."""


def get_block_access_region(block: Block, buffer_var_map: Mapping[Any, Any]) -> list[list[BufferRegion]]:
    """The regions that a block reads, that it writes, and that it accesses through pointers.

    block: a block of a program.  buffer_var_map: the buffers to look for, by their addresses. A region is the smallest
    box of all accesses; those through a pointer are to the whole buffer, or region that a view is. ArgumentError for a
    block that no program contains, and for the root of a function.
    """
    reads, writes, opaque = _regions(block, buffer_var_map)
    return [reads, writes, [region for region, _ in opaque]]


def get_block_read_write_region(block: Block, buffer_var_map: Mapping[Any, Any]) -> list[list[BufferRegion]]:
    """The regions that a block reads and that it writes, as of `get_block_access_region`. An access through a pointer
    reads and writes, unless its `access_ptr` states one of both."""
    reads, writes, opaque = _regions(block, buffer_var_map)
    reads += [region for region, kinds in opaque if kinds & READ]
    writes += [region for region, kinds in opaque if kinds & WRITE]
    return [reads, writes]


_Opaque = tuple[BufferRegion, int]


def _regions(
    node: Block, buffer_var_map: Mapping[Any, Any]
) -> tuple[list[BufferRegion], list[BufferRegion], list[_Opaque]]:
    """The regions of a block: those it reads, those it writes, and those of pointers with their kinds of access."""
    block = node.underneath
    if not isinstance(block, BlockOp):
        raise ArgumentError(f"block {node.name_hint}: expected a block of a program that is not the root of a function")
    func = function_around(block)
    assert isinstance(func, FuncOp)
    known = {each.value: each for each in buffer_var_map.values() if isinstance(each, Buffer)}
    new: dict[SSAValue, SSAValue] = {}
    copy = func.clone(new)
    inner = _counterpart(block, func, copy)
    reader = NodeReader(copy)
    reader.adopt({new[value]: buffer for value, buffer in known.items() if value in new})
    reader.vars.update({new[value]: var for value, var in node.reader.vars.items() if value in new})
    for declared in inner.accesses:
        declared.detach()
        declared.erase()
    pointed = _pointed(inner, reader)
    infer_accesses(inner, declared=[buffer for buffer, _, _ in pointed])
    buffers = {new[value] for value in known if value in new}
    found: tuple[list[BufferRegion], list[BufferRegion]] = ([], [])
    for access in inner.accesses:
        if access.buffer in buffers:
            found[access.is_write].append(reader.region(access))
    opaque = [(region, kinds) for buffer, region, kinds in pointed if buffer in buffers]
    return found[0], found[1], opaque


def _counterpart(op: BlockOp, root: Operation, copy: Operation) -> BlockOp:
    """The operation of a copy that is the copy of an operation."""
    found = next(new for old, new in zip(root.walk(), copy.walk(), strict=True) if old is op)
    assert isinstance(found, BlockOp)
    return found


def _pointed(block: BlockOp, reader: NodeReader) -> list[tuple[SSAValue, BufferRegion, int]]:
    """The buffers from outside of a block that it accesses through pointers, with a region and the kinds of access."""
    found: dict[SSAValue, tuple[BufferRegion, int]] = {}
    for op in find_ops(block, BufferDataOp, AddressOfOp):
        buffer: SSAValue = op.buffer
        region = _whole(buffer, reader)
        while isinstance(view := buffer.owner, MatchRegionOp) and block.is_ancestor(view):
            region = reader.region(view)
            buffer = view.source
        owner = buffer.owner
        if isinstance(owner, Operation) and block.is_ancestor(owner):
            continue
        users = [use.operation for use in op.results[0].uses]
        stated = [user.access.value.data for user in users if isinstance(user, AccessPtrOp)]
        kinds = 0 if stated and len(stated) == len(users) else READ | WRITE
        for each in stated:
            kinds |= each
        old, before = found.get(buffer, (region, 0))
        found[buffer] = (_hull(old, region), before | kinds)
    return [(buffer, region, kinds) for buffer, (region, kinds) in found.items()]


def _whole(buffer: SSAValue, reader: NodeReader) -> BufferRegion:
    node = reader.buffer(buffer)
    return BufferRegion(node, tuple(Range(const(0, extent.dtype), extent) for extent in node.shape))


def _hull(a: BufferRegion, b: BufferRegion) -> BufferRegion:
    """The smallest box around two regions of a buffer."""
    return a if a is b else BufferRegion(a.buffer, tuple(map(_around, a.region, b.region)))


def _around(a: Range, b: Range) -> Range:
    # lazy: facts about expressions are written in terms of nodes
    from ..arith import Analyzer

    analyzer = Analyzer()
    low: PrimExpr = analyzer.simplify(Min(a.min, b.min))
    end = analyzer.simplify(Max(a.min + a.extent, b.min + b.extent))
    return Range(low, analyzer.simplify(end - low))


def detect_buffer_access_lca(func: PrimFunc) -> dict[Buffer, Block | For | None]:
    """The smallest block or loop around all accesses to each buffer that a function accesses; None where accesses have
    no block or loop around them. An access to a view is one to the buffer that the region belongs to. Memory that all
    threads see is accessed around the loops over the blocks of threads."""
    paths: dict[SSAValue, list[Block | For]] = {}
    buffers: dict[SSAValue, Buffer] = {}
    views: dict[SSAValue, SSAValue] = {}
    reader = NodeReader(next(find_ops(func.op, FuncOp)))

    def visit(node: Any, path: list[Block | For]) -> None:
        match node:
            case Declaration(op=MatchRegionOp() as view):
                views[view.buffer] = view.source
            case OtherStmt(op=AccessOp()):
                return
            case BufferLoad(buffer=Buffer() as buffer) | BufferStore(buffer=Buffer() as buffer):
                access(buffer.value, path)
            case BufferArg(value=value) if isinstance(value.type, MemRefType):
                access(value, path)
            case _:
                pass
        inside = [*path, node] if isinstance(node, Block | For) else path
        outer = isinstance(node, For)  # bounds are computed outside of the loop
        for child in children_of(node):
            visit(child, path if outer and child is not node.body else inside)

    def access(value: SSAValue, path: list[Block | For]) -> None:
        while value in views:
            value = views[value]
        if value not in buffers:
            buffers[value] = reader.buffer(value)
        if buffers[value].scope() == "global":
            around = [n for n, each in enumerate(path) if isinstance(each, For) and _is_over_blocks(each)]
            path = path[: around[0] + 1] if around else path
        old = paths.get(value, path)
        same = next((n for n, (a, b) in enumerate(zip(old, path, strict=False)) if a != b), min(len(old), len(path)))
        paths[value] = path[:same]

    visit(func.body, [])
    return {buffers[value]: path[-1] if path else None for value, path in paths.items()}


def _is_over_blocks(loop: For) -> bool:
    return (loop.thread_tag or "").startswith("blockIdx")


__all__ = ["detect_buffer_access_lca", "get_block_access_region", "get_block_read_write_region"]

"""Blocks as nodes: `tir.Block`, `tir.BlockRealize`, read from programs or built of their parts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from xdsl.ir import Block as Block_
from xdsl.ir import Operation, Region, SSAValue

from ....core.dtypes import mlir_type
from ....dialects.tir import (
    AccessOp,
    AllocBufferOp,
    Axis,
    BlockOp,
    InitOp,
    MatchRegionOp,
    Mixed,
    buffer_type,
    memory_space,
)
from ....dialects.tir.annotations import annotation_key
from ....expressions.axes import IterVar
from ....expressions.buffers import Buffer as DeclaredBuffer
from ....expressions.errors import TeError
from ....expressions.expr import ExprLike, IntImm, PrimExpr, as_condition, cast, const
from .attributes import attribute_of
from .expr import BufferOperand, BufferRegion, PointerVar
from .stmt import Allocate, Declaration, OtherStmt, SeqStmt, Stmt, layout_of, placeholder_of, placeholders, seq


@dataclass(frozen=True)
class MatchBufferRegion:
    """A buffer that is a region of another one. buffer: the view.  source: the region."""

    buffer: DeclaredBuffer
    source: BufferRegion


class Block(Stmt):
    """The computation of a block on its axes.

    name_hint: the name.  iter_vars: the axes.  reads, writes: the declared regions.  alloc_buffers: its memory.
    match_buffers: its views of regions.  annotations: its attributes.  contents: all statements, declarations of
    regions and memory included.  reader: the reader of the program that has the block, if any.
    """

    __slots__ = (
        "alloc_buffers", "annotations", "contents", "iter_vars", "match_buffers", "name_hint", "reader",
        "reads", "writes",
    )  # fmt: skip
    FIELDS = ("contents",)

    def __init__(
        self,
        iter_vars: Sequence[IterVar],
        reads: Sequence[BufferRegion],
        writes: Sequence[BufferRegion],
        name_hint: str,
        body: Stmt,
        init: Stmt | None = None,
        alloc_buffers: Sequence[DeclaredBuffer] | None = None,
        match_buffers: Sequence[MatchBufferRegion] | None = None,
        annotations: Mapping[str, Any] | None = None,
        span: None = None,
    ):
        """init: the statements that precede the first update of a reduction. TeError for an axis without a domain."""
        statements = body if init is None else seq(OtherStmt(InitOp(Region(Block_())), (), ((),), (init,)), body)
        for match in reversed(match_buffers or ()):
            statements = _view(match, statements)
        for buffer in reversed(alloc_buffers or ()):
            statements = memory_of(buffer, statements)
        regions = [(kind, each) for kind, group in (("reads", reads), ("writes", writes)) for each in group]
        contents = seq(*(_access(kind, each) for kind, each in regions), statements)
        self._set(iter_vars, reads, writes, name_hint, contents, alloc_buffers or (), annotations or {})
        self.match_buffers = tuple(match_buffers or ())
        for axis in self.iter_vars:
            if axis.dom is None:
                raise TeError(f"block {name_hint}: axis {axis.var.name} without a domain")

    @classmethod
    def of_contents(
        cls,
        iter_vars: Sequence[IterVar],
        reads: Sequence[BufferRegion],
        writes: Sequence[BufferRegion],
        name_hint: str,
        contents: Stmt,
        alloc_buffers: Sequence[DeclaredBuffer] = (),
        annotations: Mapping[str, Any] | None = None,
    ) -> Block:
        """The node of an op. contents: all statements."""
        block = cls.__new__(cls)
        block._set(iter_vars, reads, writes, name_hint, contents, alloc_buffers, annotations or {})
        return block

    def _set(
        self,
        iter_vars: Sequence[IterVar],
        reads: Sequence[BufferRegion],
        writes: Sequence[BufferRegion],
        name_hint: str,
        contents: Stmt,
        alloc_buffers: Sequence[DeclaredBuffer],
        annotations: Mapping[str, Any],
    ) -> None:
        Stmt.__init__(self)
        self.iter_vars, self.reads, self.writes = tuple(iter_vars), tuple(reads), tuple(writes)
        self.name_hint, self.contents, self.alloc_buffers = name_hint, contents, tuple(alloc_buffers)
        self.annotations = dict(annotations)
        self.match_buffers: tuple[MatchBufferRegion, ...] = ()
        self.reader: Any = None

    @property
    def init(self) -> Stmt | None:
        """The statements that precede the first update of a reduction, None for a block without them."""
        inits = [each for each in self._statements() if isinstance(each, OtherStmt) and isinstance(each.op, InitOp)]
        return inits[0].bodies[0] if inits else None

    @property
    def body(self) -> Stmt:
        """The statements of the computation."""
        head = (AccessOp, InitOp)
        return seq(*(e for e in self._statements() if not (isinstance(e, OtherStmt) and isinstance(e.op, head))))

    def _statements(self) -> list[Stmt]:
        """The statements in the declarations of memory and regions."""
        found: list[Stmt] = []
        rest: Stmt | None = self.contents
        while rest is not None:
            parts, rest = list(rest.seq) if isinstance(rest, SeqStmt) else [rest], None
            last = parts[-1] if parts else None
            if isinstance(last, Declaration) and isinstance(last.op, AllocBufferOp | MatchRegionOp):
                rest = last.body
                parts.pop()
            found += parts
        return found


class BlockRealize(OtherStmt):
    """A block for values of its axes; the root of a function with blocks encloses its statements."""

    __slots__ = ()

    def __init__(self, iter_values: Sequence[ExprLike], predicate: ExprLike, block: Block, span: None = None):
        """iter_values: of the axes.  predicate: whether the block runs. TeError for another number of values."""
        if len(iter_values) != len(block.iter_vars):
            raise TeError(f"block {block.name_hint}: {len(iter_values)} values of {len(block.iter_vars)} axes")
        bindings = [cast(axis.var.dtype, each) for axis, each in zip(block.iter_vars, iter_values, strict=True)]
        holds = as_condition(predicate)
        domains: list[PrimExpr] = []
        for axis in block.iter_vars:
            assert axis.dom is not None
            domains += [cast(axis.var.dtype, axis.dom.min), cast(axis.var.dtype, axis.dom.extent)]
        numbers, _ = placeholders(domains)
        axes = [
            Axis(axis.var.name, axis.kind, numbers[2 * n], numbers[2 * n + 1], placeholder_of(bindings[n]))
            for n, axis in enumerate(block.iter_vars)
        ]
        always = isinstance(holds, IntImm) and holds.value != 0
        annotations = {annotation_key(key): attribute_of(value) for key, value in block.annotations.items()}
        op = BlockOp(
            block.name_hint, axes, predicate=None if always else placeholder_of(holds), annotations=annotations or None
        )
        args = [*bindings, *(each for each in domains if not isinstance(each, IntImm)), *([] if always else [holds])]
        super().__init__(op, args, ([axis.var for axis in block.iter_vars],), (block,))

    @classmethod
    def of_op(cls, op: Operation, args: Sequence[PrimExpr], variables: Sequence[Any], block: Block) -> BlockRealize:
        """The node of an op."""
        node = cls.__new__(cls)
        OtherStmt.__init__(node, op, args, variables, (block,))
        return node

    @property
    def iter_values(self) -> tuple[PrimExpr, ...]:
        """The value of each axis."""
        return self.args[: len(self.op.bindings)] if isinstance(self.op, BlockOp) else ()

    @property
    def predicate(self) -> PrimExpr:
        """The condition of the computation."""
        has = isinstance(self.op, BlockOp) and self.op.predicate is not None
        return self.args[-1] if has else const(True, "bool")

    @property
    def block(self) -> Block:
        """The computation."""
        (block,) = self.bodies
        assert isinstance(block, Block)
        return block


def allocation_of(buffer: DeclaredBuffer) -> AllocBufferOp:
    """The allocation of a declared buffer, with placeholders for its variable sizes."""
    return AllocBufferOp(
        buffer.name,
        mlir_type(buffer.data_type),
        placeholders(buffer.shape)[0],
        space=memory_space(buffer.memory),
        axis_separators=buffer.axis_separators,
    )


def memory_of(buffer: DeclaredBuffer, body: Stmt) -> Allocate:
    """The memory of a declared buffer, visible in `body`."""
    op = allocation_of(buffer)
    args = [size for size in buffer.shape if not isinstance(size, IntImm)]
    pointer = PointerVar(buffer.name, buffer.dtype, buffer.memory)
    return Allocate.of_op(op, args, body, buffer, pointer, buffer.dtype, buffer.shape, buffer.memory)


class MatchedBuffer(Declaration):
    """A buffer that is a region of another one, visible in `body`. buffer: the buffer."""

    __slots__ = ("buffer",)

    def __init__(self, op: Operation, args: Sequence[PrimExpr], body: Stmt, buffer: DeclaredBuffer):
        super().__init__(op, args, body)
        self.buffer = buffer


def _view(match: MatchBufferRegion, body: Stmt) -> Stmt:
    """The view of a region, visible in `body`."""
    view, source = match.buffer, match.source
    region, parts = _box(source)
    shape, strides, offset, operands = layout_of(view)
    op = MatchRegionOp(
        view.name,
        _value_of(source.buffer),
        region,
        shape,
        strides=strides,
        offset=offset,
        axis_separators=view.axis_separators,
    )
    return MatchedBuffer(op, [BufferOperand(source.buffer), *parts, *operands], body, view)


def _access(kind: str, region: BufferRegion) -> Stmt:
    """The declaration of a region that a block reads or writes."""
    box, parts = _box(region)
    op = AccessOp(kind, _value_of(region.buffer), box)
    return OtherStmt(op, [BufferOperand(region.buffer), *parts], (), ())


def _box(region: BufferRegion) -> tuple[list[tuple[Mixed, Mixed]], list[PrimExpr]]:
    """The sides of a region for an op, and its operands: first the minima that are no numbers, then the extents."""
    lows, extents = [each.min for each in region.region], [each.extent for each in region.region]
    mins, _ = placeholders(lows)
    counts, _ = placeholders(extents)
    return list(zip(mins, counts, strict=True)), [e for e in (*lows, *extents) if not isinstance(e, IntImm)]


def _value_of(buffer: DeclaredBuffer) -> SSAValue:
    """A value of the type of a buffer, which takes its place in the op of a new node."""
    shape, _ = placeholders(buffer.shape)
    type = buffer_type(mlir_type(buffer.data_type), shape, space=memory_space(buffer.memory))
    return Block_(arg_types=[type]).args[0]


__all__ = ["Block", "BlockRealize", "MatchBufferRegion", "MatchedBuffer", "memory_of"]

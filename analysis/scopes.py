"""Positions of ops in a program: the loops around an op, the blocks below it, the producers and consumers of a buffer.

A *scope* is the body of a `tir.func` or of a `tir.block`. The blocks of a scope are the outermost blocks below it;
loops, branches and attributes around them belong to the scope. Producers and consumers are notions of one scope.

Buffers are identified by their memory: a view (`tir.match_region`, `tir.decl_buffer`) counts as its source. The reads
and writes of a block are those that its `tir.access` ops declare.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property

from xdsl.ir import Block, BlockArgument, Operation, SSAValue

from ..core.walking import find_ops
from ..dialects.tir import (
    AccessOp,
    AccessPtrOp,
    AddressOfOp,
    AllocateConstOp,
    AllocateOp,
    AllocBufferOp,
    Axis,
    BlockOp,
    BufferDataOp,
    BufferOp,
    DeclBufferOp,
    ForOp,
    FuncOp,
    HandleType,
    LaunchThreadOp,
    LetOp,
    MatchBufferOp,
    MatchRegionOp,
    ReinterpretOp,
    SymbolOp,
)
from ..dialects.tir.tree import is_expression_op
from .index import Analyzer, Lin, type_range

_DECLARATIONS = (AccessOp, BufferOp, AllocateOp, AllocateConstOp, SymbolOp)


# Around an op


def enclosing_scope(op: Operation) -> FuncOp | BlockOp:
    """The innermost function or block around `op`, `op` itself excluded.

    ValueError if no function or block encloses `op`.
    """
    parent = op.parent_op()
    while parent is not None:
        if isinstance(parent, FuncOp | BlockOp):
            return parent
        parent = parent.parent_op()
    raise ValueError(f"{op.name} is in no function or block")


def ancestors(op: Operation) -> Iterator[Operation]:
    """The ops around `op`, innermost first, without `op`."""
    parent = op.parent_op()
    while parent is not None:
        yield parent
        parent = parent.parent_op()


def function_around(op: Operation) -> FuncOp | None:
    """The function that an op is or is in; None for an op outside of functions."""
    return next((each for each in (op, *ancestors(op)) if isinstance(each, FuncOp)), None)


def ops_between(op: Operation, outer: Operation) -> list[Operation]:
    """The ops between `op` and its ancestor `outer`, outermost first, both excluded. ValueError if `op` is not below
    `outer`."""
    parents: list[Operation] = []
    for parent in ancestors(op):
        if parent is outer:
            return parents[::-1]
        parents.append(parent)
    raise ValueError(f"{op.name} is not inside of {outer.name}")


def loops_around(op: Operation) -> list[ForOp]:
    """The loops around `op` in its scope, outermost first."""
    return [parent for parent in ops_between(op, enclosing_scope(op)) if isinstance(parent, ForOp)]


def outermost_loops(root: Operation) -> Iterator[ForOp]:
    """The loops in an operation that are in no other loop of their scope, in program order."""
    for loop in find_ops(root, ForOp):
        around = next((op for op in ancestors(loop) if isinstance(op, ForOp | BlockOp | FuncOp)), None)
        if not isinstance(around, ForOp):
            yield loop


def lowest_common_ancestor(ops: Iterable[Operation]) -> Operation:
    """The innermost op that is or encloses each of `ops`. ValueError if no op does."""
    first, *rest = ops
    for candidate in (first, *ancestors(first)):
        if all(candidate is op or candidate.is_ancestor(op) for op in rest):
            return candidate
    raise ValueError("the ops have no common ancestor")


def child_towards(outer: Operation, op: Operation) -> Operation:
    """The op directly in a region of `outer` that is or encloses `op`. ValueError if `op` is not below `outer`."""
    path = ops_between(op, outer)
    return path[0] if path else op


def precedes_in_text(a: Operation, b: Operation) -> bool:
    """Whether `a` precedes `b` in the text, neither nested in the other. ValueError if they have no common ancestor."""
    if a is b or a.is_ancestor(b) or b.is_ancestor(a):
        return False
    outer = lowest_common_ancestor((a, b))
    x, y = child_towards(outer, a), child_towards(outer, b)
    if x.parent is y.parent:
        return x.is_before_in_block(y)
    for block in (block for region in outer.regions for block in region.blocks):
        if block is x.parent or block is y.parent:
            return block is x.parent
    raise ValueError("the ops have no common ancestor")


# Below an op


def statements(block: Block) -> list[Operation]:
    """The ops directly in a block that have an effect, in order: stores, loops, blocks, branches, calls, and `tir.let`,
    whose position matters to the ops after it.

    Excludes expressions and `declarations`. `tir.init` is a statement.
    """
    return [op for op in block.ops if not is_expression_op(op) and not isinstance(op, _DECLARATIONS)]


def declarations(block: Block) -> list[Operation]:
    """The ops directly in a block that only declare, in order: buffers and memory (allocated or matched), symbols, and
    `tir.access`."""
    return [op for op in block.ops if isinstance(op, _DECLARATIONS)]


def only_child(op: ForOp) -> Operation | None:
    """The only statement in the body of a loop; None if the body has several statements, none, or declarations."""
    body = op.body.block
    inside = statements(body)
    return inside[0] if len(inside) == 1 and not declarations(body) else None


def child_blocks(op: Operation) -> list[BlockOp]:
    """The outermost blocks below a loop, branch, function or block, in program order."""
    blocks: list[BlockOp] = []
    for block in find_ops(op, BlockOp):
        if block is not op and not (blocks and blocks[-1].is_ancestor(block)):
            blocks.append(block)
    return blocks


def all_blocks(func: FuncOp) -> list[BlockOp]:
    """All blocks of a function, including nested blocks, in program order (outer before inner)."""
    return list(find_ops(func, BlockOp))


# Buffers


def parameter_buffers(func: FuncOp) -> list[SSAValue]:
    """The parameters of a function, in order; in place of a handle that is viewed as a buffer, this buffer."""
    views = {op.source: op.buffer for op in func.body.block.ops if isinstance(op, MatchBufferOp)}
    return [views.get(argument, argument) for argument in func.body.block.args]


def root_buffer(buffer: SSAValue) -> SSAValue:
    """The buffer or pointer at the root of the views that lead to `buffer`; `buffer` itself if it is no view."""
    while isinstance(op := buffer.owner, Operation):
        match op:
            case MatchRegionOp():
                buffer = op.source
            case DeclBufferOp():
                buffer = op.data
            case BufferDataOp() | AddressOfOp():
                buffer = op.buffer
            case AccessPtrOp() | LetOp():
                buffer = op.operands[0]
            case ReinterpretOp() if isinstance(op.value.type, HandleType):
                buffer = op.value
            case _:
                break
    return buffer


def _accessed_buffers(block: BlockOp, *, write: bool) -> list[SSAValue]:
    return list(dict.fromkeys(root_buffer(a.buffer) for a in block.accesses if a.is_write is write))


def reads_of(block: BlockOp) -> list[SSAValue]:
    """The buffers that a block declares to read, without duplicates, in the order of the declarations."""
    return _accessed_buffers(block, write=False)


def writes_of(block: BlockOp) -> list[SSAValue]:
    """The buffers that a block declares to write, without duplicates, in the order of the declarations."""
    return _accessed_buffers(block, write=True)


class BlockScope:
    """The blocks of a scope and the buffers that they access. Results are cached: create a new object after a change of
    the program."""

    def __init__(self, op: FuncOp | BlockOp):
        self.op = op

    @cached_property
    def blocks(self) -> list[BlockOp]:
        """The blocks of the scope, in program order."""
        return child_blocks(self.op)

    @cached_property
    def readers(self) -> dict[SSAValue, list[BlockOp]]:
        """The blocks that read each buffer, in program order."""
        return self._group_by_buffer(reads_of)

    @cached_property
    def writers(self) -> dict[SSAValue, list[BlockOp]]:
        """The blocks that write each buffer, in program order."""
        return self._group_by_buffer(writes_of)

    def _group_by_buffer(self, touched: Callable[[BlockOp], list[SSAValue]]) -> dict[SSAValue, list[BlockOp]]:
        table: dict[SSAValue, list[BlockOp]] = {}
        for block in self.blocks:
            for buffer in touched(block):
                table.setdefault(buffer, []).append(block)
        return table

    @cached_property
    def _positions(self) -> dict[BlockOp, int]:
        return {block: n for n, block in enumerate(self.blocks)}

    def producers(self, block: BlockOp) -> list[BlockOp]:
        """The blocks before `block` that write a buffer that `block` reads or writes.

        The order is TVM's: by buffer, as `block` declares its reads and then its writes, and for each buffer in program
        order.
        """
        position = self._positions[block]
        buffers = [*reads_of(block), *writes_of(block)]
        blocks = (w for b in buffers for w in self.writers.get(b, ()) if self._positions[w] < position)
        return list(dict.fromkeys(blocks))

    def consumers(self, block: BlockOp) -> list[BlockOp]:
        """The blocks after `block` that read or write a buffer that `block` writes, in program order, as in TVM."""
        written = set(writes_of(block))
        following = self.blocks[self._positions[block] + 1 :]
        return [other for other in following if written & {*reads_of(other), *writes_of(other)}]

    def output_blocks(self) -> list[BlockOp]:
        """The blocks that write a buffer allocated outside of the scope, in program order, and their output blocks.

        A nested block directly follows the block that it is an output of, as in TVM.
        """
        blocks: list[BlockOp] = []
        for block in self.blocks:
            blocks += [block] if any(not self.allocates(buffer) for buffer in writes_of(block)) else []
            blocks += BlockScope(block).output_blocks()
        return blocks

    def allocates(self, buffer: SSAValue) -> bool:
        """Whether the memory of a buffer is allocated inside the scope."""
        owner = root_buffer(buffer).owner
        return isinstance(owner, AllocBufferOp | AllocateOp | AllocateConstOp) and self.op.is_ancestor(owner)


def producers(block: BlockOp) -> list[BlockOp]:
    """`BlockScope.producers` in the scope of `block`."""
    return BlockScope(enclosing_scope(block)).producers(block)


def consumers(block: BlockOp) -> list[BlockOp]:
    """`BlockScope.consumers` in the scope of `block`."""
    return BlockScope(enclosing_scope(block)).consumers(block)


def output_blocks(scope: FuncOp | BlockOp) -> list[BlockOp]:
    """`BlockScope.output_blocks`."""
    return BlockScope(scope).output_blocks()


# Values of a block


def is_private(block: BlockOp, buffer: SSAValue) -> bool:
    """Whether the memory of a buffer is allocated inside a block."""
    owner = root_buffer(buffer).owner
    return isinstance(owner, Operation) and block.is_ancestor(owner)


def depends_on(values: Iterable[SSAValue], variable: SSAValue) -> bool:
    """Whether a value is computed from `variable`, including through names, block axes and loop bounds."""
    seen: set[SSAValue] = set()
    todo = list(values)
    while todo:
        value = todo.pop()
        if value is variable:
            return True
        if value in seen:
            continue
        seen.add(value)
        todo += _sources(value)
    return False


def _sources(value: SSAValue) -> Sequence[SSAValue]:
    """The values used to compute `value`."""
    if isinstance(value, BlockArgument):
        match value.block.parent_op():
            case BlockOp() as block:
                return [block.bindings[value.index]]
            case ForOp() as loop:
                return list(loop.bounds)
            case LaunchThreadOp() as launch:
                return list(launch.operands)
            case _:
                return []
    op = value.owner
    assert isinstance(op, Operation)
    if not op.regions:
        return list(op.operands)
    return [operand for inner in op.walk() for operand in inner.operands]


def binding_sums(analyzer: Analyzer, block: BlockOp) -> list[Lin]:
    """The bindings of the axes of a block as sums, equal to the bindings in each instance that runs and is not
    excluded."""
    return [_binding_sum(analyzer, axis) for axis in block.axes]


def _binding_sum(analyzer: Analyzer, axis: Axis) -> Lin:
    """The binding of an axis as a sum. A sum too large for the type wraps to a negative number, which a domain from 0
    on excludes."""
    lin, (least, greatest) = analyzer.lin(axis.binding), type_range(axis.binding.type)
    low, high = analyzer.bounds(lin)
    if low >= least and high <= greatest - least and analyzer.is_provably("ge", analyzer.exact(axis.low), 0):
        return lin
    return analyzer.exact(axis.binding)

"""Where things stand: the loops around an op, the blocks below it, who produces and who consumes a buffer.

A *scope* is the body of a `tir.func` or of a `tir.block`. Its blocks are those below it that are in no other block in
between; loops, branches and attributes in between belong to the scope. Producers, consumers and the kinds of blocks
(complete, reduction) are notions of one scope.

Buffers are told apart by the memory they look at: a view (`tir.match_region`, `tir.decl_buffer`) counts as what it
views. What a block reads and writes is what its `tir.access` ops say.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property

from xdsl.ir import Block, BlockArgument, Operation, SSAValue

from ..dialects.text.names import source_name
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
    LaunchThreadOp,
    LetOp,
    MatchRegionOp,
    StoreOp,
    SymbolOp,
)
from ..dialects.tir.tree import is_expression
from .index import Analyzer, Lin, type_range
from .iter_map import iteration_domain, why_not_affine
from .names import block_name, buffer_name

_DECLARATIONS = (AccessOp, BufferOp, AllocateOp, AllocateConstOp, SymbolOp)


# Around an op


def scope_of(op: Operation) -> FuncOp | BlockOp:
    """The function or block whose body `op` is in: that of a block is what encloses it, not the block itself.

    ValueError if `op` is in neither.
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


def between(op: Operation, outer: Operation) -> list[Operation]:
    """The ops around `op` that are inside of `outer`, outermost first, without either. ValueError if `op` is not below
    `outer`."""
    found: list[Operation] = []
    for parent in ancestors(op):
        if parent is outer:
            return found[::-1]
        found.append(parent)
    raise ValueError(f"{op.name} is not inside of {outer.name}")


def loops_around(op: Operation) -> list[ForOp]:
    """The loops around `op` in its scope, outermost first."""
    return [parent for parent in between(op, scope_of(op)) if isinstance(parent, ForOp)]


def lowest_common_ancestor(ops: Iterable[Operation]) -> Operation:
    """The innermost op that is, or contains, each of `ops`. ValueError if there is none."""
    first, *rest = ops
    for candidate in (first, *ancestors(first)):
        if all(candidate is op or candidate.is_ancestor(op) for op in rest):
            return candidate
    raise ValueError("the ops have no common ancestor")


def child_towards(outer: Operation, op: Operation) -> Operation:
    """The op directly in a region of `outer` that is, or contains, `op`. ValueError if `op` is not below `outer`."""
    path = between(op, outer)
    return path[0] if path else op


def comes_before(a: Operation, b: Operation) -> bool:
    """Whether `a` stands in front of `b` in the text, neither inside of the other. ValueError if they have no common
    ancestor."""
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
    """The ops directly in a region's block that do something, in order: stores, loops, blocks, branches, calls, and
    `tir.let`, whose place matters to those behind it.

    Not among them: expressions, and what only declares (`declarations`). `tir.init` is one.
    """
    return [op for op in block.ops if not is_expression(op) and not isinstance(op, _DECLARATIONS)]


def declarations(block: Block) -> list[Operation]:
    """The ops directly in a region's block that only declare something, in order: buffers and memory (allocated or
    matched), symbols, and `tir.access`."""
    return [op for op in block.ops if isinstance(op, _DECLARATIONS)]


def only_child(op: ForOp) -> Operation | None:
    """The one statement in the body of a loop; None if there are none, several, or declarations beside it."""
    body = op.body.block
    inside = statements(body)
    return inside[0] if len(inside) == 1 and not declarations(body) else None


def child_blocks(op: Operation) -> list[BlockOp]:
    """The blocks below a loop, branch, function or block that are in no other block in between, in program order."""
    found: list[BlockOp] = []
    todo = _inside(op)
    while todo:
        inner = todo.pop()
        if isinstance(inner, BlockOp):
            found.append(inner)
        elif inner.regions:
            todo += _inside(inner)
    return found


def _inside(op: Operation) -> list[Operation]:
    """The ops directly in the regions of `op`, the last one first."""
    return [inner for region in op.regions for block in region.blocks for inner in block.ops][::-1]


def all_blocks(func: FuncOp) -> list[BlockOp]:
    """Every block of a function, nested ones too, in program order (a block in front of those inside of it)."""
    return [op for op in func.walk() if isinstance(op, BlockOp)]


# Buffers


def root_buffer(buffer: SSAValue) -> SSAValue:
    """The buffer or pointer whose memory `buffer` looks at: itself unless it is a view."""
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
            case _:
                break
    return buffer


def _touched(block: BlockOp, *, write: bool) -> list[SSAValue]:
    return list(dict.fromkeys(root_buffer(a.buffer) for a in block.accesses if a.is_write is write))


def reads_of(block: BlockOp) -> list[SSAValue]:
    """The buffers that a block says it reads, each once, in the order it says so."""
    return _touched(block, write=False)


def writes_of(block: BlockOp) -> list[SSAValue]:
    """The buffers that a block says it writes, each once, in the order it says so."""
    return _touched(block, write=True)


class Scope:
    """The blocks of one scope and the buffers they touch. It remembers; make a new one when the program has changed."""

    def __init__(self, op: FuncOp | BlockOp):
        self.op = op

    @cached_property
    def blocks(self) -> list[BlockOp]:
        """The blocks of the scope, in program order."""
        return child_blocks(self.op)

    @cached_property
    def readers(self) -> dict[SSAValue, list[BlockOp]]:
        """The blocks that read each buffer, in program order."""
        return self._by_buffer(reads_of)

    @cached_property
    def writers(self) -> dict[SSAValue, list[BlockOp]]:
        """The blocks that write each buffer, in program order."""
        return self._by_buffer(writes_of)

    def _by_buffer(self, touched: Callable[[BlockOp], list[SSAValue]]) -> dict[SSAValue, list[BlockOp]]:
        table: dict[SSAValue, list[BlockOp]] = {}
        for block in self.blocks:
            for buffer in touched(block):
                table.setdefault(buffer, []).append(block)
        return table

    @cached_property
    def _positions(self) -> dict[BlockOp, int]:
        return {block: n for n, block in enumerate(self.blocks)}

    def producers(self, block: BlockOp) -> list[BlockOp]:
        """The blocks in front of `block` that write what it reads, or what it writes too.

        In the order in which TVM gives them: buffer by buffer, as `block` names its reads and then its writes, and
        for each buffer in program order.
        """
        position = self._positions[block]
        buffers = [*reads_of(block), *writes_of(block)]
        found = (w for b in buffers for w in self.writers.get(b, ()) if self._positions[w] < position)
        return list(dict.fromkeys(found))

    def consumers(self, block: BlockOp) -> list[BlockOp]:
        """The blocks behind `block` that read what it writes, or write it too, in program order, as TVM gives them."""
        written = set(writes_of(block))
        behind = self.blocks[self._positions[block] + 1 :]
        return [other for other in behind if written & {*reads_of(other), *writes_of(other)}]

    def output_blocks(self) -> list[BlockOp]:
        """The blocks that write a buffer which is not allocated in the scope, in program order."""
        return [b for b in self.blocks if any(not self.allocates(buffer) for buffer in writes_of(b))]

    def allocates(self, buffer: SSAValue) -> bool:
        """Whether the memory of a buffer is allocated inside of the scope."""
        owner = root_buffer(buffer).owner
        return isinstance(owner, AllocBufferOp | AllocateOp | AllocateConstOp) and self.op.is_ancestor(owner)


def producers(block: BlockOp) -> list[BlockOp]:
    """`Scope.producers` in the scope that `block` is in."""
    return Scope(scope_of(block)).producers(block)


def consumers(block: BlockOp) -> list[BlockOp]:
    """`Scope.consumers` in the scope that `block` is in."""
    return Scope(scope_of(block)).consumers(block)


def output_blocks(scope: FuncOp | BlockOp) -> list[BlockOp]:
    """`Scope.output_blocks`."""
    return Scope(scope).output_blocks()


# Kinds of blocks, with the reason why one is not of a kind


def why_not_complete(block: BlockOp, within: Operation | None = None) -> str | None:
    """None if `block` is a complete block, else what keeps it from being one.

    A complete block computes each element that it writes in one instance: its axes are spatial, it is the only block
    that writes its buffers, and it does not read them. Whether readers stand behind it is a question of dependences
    and not asked here.

    within: look for other writers only in this op of the scope (TVM's *local* complete block); the whole scope if None.
    """
    name = block_name(block)
    for axis in block.axes:
        if axis.kind != "spatial":
            return f"block {name} is not complete: axis {axis.name} is a {axis.kind} axis, expected only spatial axes"
    reason = why_not_only_writer(block, within) or _reads_what_it_writes(block)
    return None if reason is None else f"block {name} is not complete: {reason}"


def why_not_reduction(block: BlockOp, within: Operation | None = None) -> str | None:
    """None if `block` is a reduction block, else what keeps it from being one.

    A reduction block has an init, axes that are spatial or reduce, an affine binding (`why_not_affine_binding`), is the
    only block that writes its buffers, and chooses what it writes by its spatial axes alone. Whether its update may run
    in any order is asked elsewhere (`reducers.match_reducer`).

    within: as for `why_not_complete`.
    """
    reason = (
        _why_not_reduction_axes(block)
        or why_not_only_writer(block, within)
        or _indexed_by_reduction(block)
        or why_not_affine_binding(block)
    )
    return None if reason is None else f"block {block_name(block)} is not a reduction block: {reason}"


def _why_not_reduction_axes(block: BlockOp) -> str | None:
    if block.init is None:
        return "it has no init"
    for axis in block.axes:
        if axis.kind not in ("spatial", "reduce"):
            return f"axis {axis.name} is a {axis.kind} axis, expected spatial and reduce axes"
    return None


def why_not_only_writer(block: BlockOp, within: Operation | None = None) -> str | None:
    """None if no other block of the scope (of `within`, if given) writes a buffer that `block` writes."""
    written = writes_of(block)
    for other in Scope(scope_of(block)).blocks if within is None else child_blocks(within):
        shared = [] if other is block else [b for b in writes_of(other) if b in written]
        if shared:
            return f"buffer {buffer_name(shared[0])} is written by block {block_name(other)} too, expected one writer"
    return None


def _reads_what_it_writes(block: BlockOp) -> str | None:
    written = writes_of(block)
    for buffer in reads_of(block):
        if buffer in written:
            return f"it reads buffer {buffer_name(buffer)}, which it writes"
    return None


def _indexed_by_reduction(block: BlockOp) -> str | None:
    """Which reduction axis chooses what is written, if any."""
    kinds = zip(block.axes, block.variables, strict=True)
    reduced: list[SSAValue] = [variable for axis, variable in kinds if axis.kind == "reduce"]
    for op in block.walk():
        if isinstance(op, StoreOp):
            buffer, places = op.buffer, list(op.indices)
        elif isinstance(op, AccessOp) and op.is_write and op.parent_op() is block:
            buffer, places = op.buffer, [*op.mins, *op.extents]
        else:
            continue
        used = [v for v in reduced if depends_on(places, v)] if not is_private(block, buffer) else []
        if used:
            return (
                f"reduce axis {source_name(used[0])} is in an index of buffer {buffer_name(buffer)}, which it writes, "
                "expected only spatial axes there"
            )
    return None


def is_private(block: BlockOp, buffer: SSAValue) -> bool:
    """Whether the memory of a buffer is allocated inside of a block."""
    owner = root_buffer(buffer).owner
    return isinstance(owner, Operation) and block.is_ancestor(owner)


def depends_on(values: Iterable[SSAValue], variable: SSAValue) -> bool:
    """Whether a value is computed from `variable`, through names, the axes of blocks and bounds of loops too."""
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
    """The values that `value` is computed from."""
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


def why_not_affine_binding(block: BlockOp, analyzer: Analyzer | None = None) -> str | None:
    """None if the axes of `block` are bound to a quasi-affine map of the loops around it in its scope, in which each
    axis takes its values independently of the others, or each instance runs at most once.

    Values from outside of the scope count as fixed numbers, and the block's predicate restricts the loops.
    """
    analyzer = analyzer or Analyzer()
    domain = iteration_domain(analyzer, loops_around(block), block.predicate)
    names = [f"axis {axis.name}" for axis in block.axes]
    return why_not_affine(analyzer, domain, binding_sums(analyzer, block), names)


def binding_sums(analyzer: Analyzer, block: BlockOp) -> list[Lin]:
    """What the axes of a block are bound to, equal to it in each instance that runs and is not excluded."""
    return [_binding_sum(analyzer, axis) for axis in block.axes]


def _binding_sum(analyzer: Analyzer, axis: Axis) -> Lin:
    """A sum too large for the type wraps to a negative number, which a domain of numbers from 0 on excludes."""
    lin, (least, greatest) = analyzer.lin(axis.binding), type_range(axis.binding.type)
    low, high = analyzer.bounds(lin)
    if low >= least and high <= greatest - least and analyzer.is_provably("ge", analyzer.exact(axis.low), 0):
        return lin
    return analyzer.exact(axis.binding)

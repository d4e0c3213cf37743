"""The correspondence of a block to the description of a tensor intrinsic: `tvm.tir.schedule.analysis`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ....analysis.scopes import ancestors, function_around
from ....core.errors import ScheduleError
from ....dialects.tir import BlockOp, ForOp
from ....expressions.axes import Range
from ....expressions.buffers import Buffer
from ....expressions.expr import Call, IntImm, PrimExpr, Var, as_expr
from ....module import Module
from ....schedule.handles import BlockLike, LoopRV
from ..arith import Analyzer
from ..arith.iter_map import IterMapLevel, IterSplitExpr, IterSumExpr, detect_iter_map
from ..nodes.blocks import Block, BlockRealize
from ..nodes.expr import BufferLoad
from ..nodes.functor import post_order_visit, pre_order_visit
from ..nodes.reading import NodeReader
from ..nodes.stmt import BufferStore, For, Stmt
from .index_map import IndexMap
from .srefs import StmtSRef
from .tensor_intrin import TensorIntrin

if TYPE_CHECKING:
    from . import Schedule


@dataclass(frozen=True)
class TensorizeInfo:
    """The loops of a block that correspond to those of a description.

    loop_map: the loop of the description for each loop of the program.  desc_loop_indexer: the position of each loop of
    the description.  block_iter_paddings: the factor of which the extent of each axis has to become a multiple, None if
    all are.
    """

    loop_map: dict[StmtSRef, For] = field(default_factory=dict[StmtSRef, For])
    desc_loop_indexer: dict[For, int] = field(default_factory=dict[For, int])
    block_iter_paddings: list[int] | None = None


@dataclass(frozen=True)
class AutoTensorizeMappingInfo:
    """Maps of the axes of a block that make its loops those of a description.

    mappings: the possible maps.  lhs_buffer_map: the buffer of the description for each buffer of the program.
    lhs_iters, rhs_iters: the axes of the block and of the description.
    """

    mappings: list[IndexMap]
    lhs_buffer_map: dict[Any, Any]
    lhs_iters: list[Any]
    rhs_iters: list[Any]


@dataclass(frozen=True)
class _Nest:
    """A block with the loops around it, outermost first."""

    loops: list[For]
    realize: BlockRealize

    @property
    def block(self) -> Block:
        return self.realize.block

    @property
    def loop_vars(self) -> list[Var]:
        return [loop.loop_var for loop in self.loops]

    def loop_of(self, binding: PrimExpr) -> For | None:
        """The loop whose variable an axis takes, up to a number that no loop changes."""
        for loop in self.loops:
            rest = Analyzer().simplify(binding - loop.loop_var)
            if not any(isinstance(each, Var) and each in self.loop_vars for each in _parts(rest)):
                return loop
        return None


def get_tensorize_loop_mapping(
    sch: Schedule, block: BlockLike, desc_func: Module, allow_padding: bool = False
) -> TensorizeInfo | None:
    """The loops around a block that an intrinsic with the description `desc_func` replaces, None if axes of the
    description have no counterpart.

    The axes of the block, from the last on, are those of the description of the same kind (spatial or reduction).
    allow_padding: whether the extents of the loops may be other numbers than multiples of those of the description.
    """
    nest, desc = _nest_of(sch, block), _nest_of_description(desc_func)
    info, paddings = TensorizeInfo(), [1] * len(nest.block.iter_vars)
    axis = len(nest.block.iter_vars)
    for wanted, desc_binding in reversed(list(zip(desc.block.iter_vars, desc.realize.iter_values, strict=True))):
        desc_loop = desc.loop_of(desc_binding)
        below = [n for n in range(axis) if nest.block.iter_vars[n].iter_type == wanted.iter_type]
        if desc_loop is None or not isinstance(desc_loop.extent, IntImm) or not below:
            return None
        axis = below[-1]
        loop = nest.loop_of(nest.realize.iter_values[axis])
        if loop is None or loop.underneath is None or not isinstance(loop.extent, IntImm):
            return None
        if loop.extent.value % desc_loop.extent.value:
            paddings[axis] = desc_loop.extent.value
        if info.loop_map.setdefault(StmtSRef(loop.underneath), desc_loop) is not desc_loop:
            return None
    info.desc_loop_indexer.update({loop: n for n, loop in enumerate(desc.loops)})
    if all(each == 1 for each in paddings):
        return info
    return TensorizeInfo(info.loop_map, info.desc_loop_indexer, paddings) if allow_padding else None


def tile_with_tensor_intrin(
    sch: Schedule, block: BlockLike, intrin_name: str, allow_padding: bool = False
) -> LoopRV | None:
    """Splits the loops around a block that an intrinsic replaces by the extents of its description, and makes the new
    loops the innermost ones, for `tensorize`.

    Returns the outermost of the new loops, None if axes of the description have no counterpart.  allow_padding: whether
    `pad_einsum` may make the extents multiples of those of the description. ScheduleError and OptionError as of
    `Schedule.reorder` and `TensorIntrin.get`.
    """
    intrin = TensorIntrin.get(intrin_name)
    assert intrin is not None
    handle = sch.get_block(block) if isinstance(block, str) else block
    info = get_tensorize_loop_mapping(sch, handle, intrin.desc, allow_padding)
    if info is None:
        return None
    positions = [sch.op(loop) for loop in sch.get_loops(handle)]
    wanted = {positions.index(place.underneath): loop for place, loop in info.loop_map.items()}
    if info.block_iter_paddings is not None:
        sch.pad_einsum(handle, info.block_iter_paddings)
    inner: dict[int, LoopRV] = {}
    outer: list[LoopRV] = []
    for n, loop in enumerate(sch.get_loops(handle)):
        if n in wanted:
            loop, inner[info.desc_loop_indexer[wanted[n]]] = sch.split(loop, [None, _number(wanted[n].extent)])
        if inner:
            outer.append(loop)
    new = [inner[n] for n in sorted(inner)]
    sch.reorder(*outer, *new)
    return new[0]


def get_auto_tensorize_mapping_info(
    sch: Schedule, block: BlockLike, desc_func: Module
) -> AutoTensorizeMappingInfo | None:
    """The maps of the axes of a block (`transform_block_layout`) that make its innermost loops those of a description,
    None if the block computes another expression.

    The axes of the block that index the same buffers as an axis of the description become one, in order; axes that
    index all buffers and that the description has none of stay outermost.
    """
    nest, desc = _nest_of(sch, block), _nest_of_description(desc_func)
    buffers: dict[Any, Any] = {}
    pairs = _matching_accesses(nest.block.body, desc.block.body, buffers)
    if pairs is None:
        return None
    lhs, rhs = (_kinds(each.block, [pair[side] for pair in pairs]) for side, each in enumerate((nest, desc)))
    leading = [var for var, (_, uses) in lhs.items() if all(uses) and (_, uses) not in rhs.values()]
    groups = [[var for var, kind in lhs.items() if kind == wanted] for wanted in rhs.values()]
    chosen = [var for group in groups for var in group]
    if any(not group for group in groups) or sorted(map(id, [*leading, *chosen])) != sorted(map(id, lhs)):
        return None
    extents = {axis.var: axis.dom.extent for axis in nest.block.iter_vars if axis.dom is not None}
    indices: list[PrimExpr] = [*leading, *(_fused(group, extents) for group in groups)]
    return AutoTensorizeMappingInfo([IndexMap(list(lhs), indices, None)], buffers, list(lhs), list(rhs))


def suggest_index_map(
    buffer: Buffer, indices: Sequence[Any], loops: Sequence[For], predicate: Any = True
) -> IndexMap | None:
    """A layout of a buffer in which loops reach its elements in the order of memory, None if the position of an element
    is no sum of digits of the loops.

    indices: of the element in terms of the variables of the loops.  predicate: a condition that holds for them.
    """
    shape = [extent.value for extent in buffer.shape if isinstance(extent, IntImm)]
    if len(shape) != len(buffer.shape):
        return None
    domains = {loop.loop_var: Range(loop.min, loop.extent) for loop in loops}
    found = detect_iter_map([_position(indices, shape)], domains, predicate, IterMapLevel.NoCheck)
    digits = _digits(found.indices[0], 1) if found.indices else None
    if not digits or any(_variable_of(digit) not in domains for digit, _ in digits):
        return None
    rank = list(domains)
    order = sorted(digits, key=lambda each: (rank.index(_variable_of(each[0])), -_number(each[0].lower_factor)))
    variables = [Var(f"i{n}", "int32") for n in range(len(shape))]
    analyzer = Analyzer()
    for variable, extent in zip(variables, shape, strict=True):
        analyzer.bind(variable, Range(as_expr(0), as_expr(extent)))
    flat = _position(variables, shape)
    new = [analyzer.simplify(flat // scale % _number(digit.extent)) for digit, scale in order]
    return IndexMap(variables, new, None)


def _position(indices: Sequence[Any], shape: Sequence[int]) -> PrimExpr:
    """The position of an element in row-major order."""
    position = as_expr(0)
    for index, extent in zip(indices, shape, strict=True):
        position = position * extent + as_expr(index)
    return position


def _digits(total: IterSumExpr, scale: int) -> list[tuple[IterSplitExpr, int]] | None:
    """The digits of variables in a sum with their scales, None if a part of the sum is no such digit."""
    if _number(total.base):
        return None
    digits: list[tuple[IterSplitExpr, int]] = []
    for split in total.args:
        factor = scale * _number(split.scale)
        source = split.source.source
        if isinstance(source, IterSumExpr):
            inner = _digits(source, factor)
            whole = _number(split.lower_factor) == 1 and _number(split.extent) == _number(split.source.extent)
            if inner is None or not whole:
                return None
            digits += inner
        else:
            digits.append((split, factor))
    return digits


def _variable_of(digit: IterSplitExpr) -> Any:
    return digit.source.source


def _number(expr: PrimExpr) -> int:
    value = Analyzer().simplify(expr)
    if not isinstance(value, IntImm):
        raise ScheduleError(f"extent or factor {expr!r} of loops, expected a number")
    return value.value


def _fused(variables: Sequence[Var], extents: Mapping[Var, Any]) -> PrimExpr:
    """Several axes as one, in row-major order."""
    fused: PrimExpr = variables[0]
    for variable in variables[1:]:
        fused = fused * extents[variable] + variable
    return fused


def _kinds(block: Block, accesses: Sequence[Sequence[PrimExpr]]) -> dict[Var, tuple[int, tuple[bool, ...]]]:
    """The kind of each axis of a block (spatial or reduction), and whether the indices of each access depend on it."""
    analyzer = Analyzer()
    for axis in block.iter_vars:
        if axis.dom is not None:
            analyzer.bind(axis.var, axis.dom)
    parts = [{part for index in indices for part in _parts(analyzer.simplify(index))} for indices in accesses]
    return {axis.var: (axis.iter_type, tuple(axis.var in each for each in parts)) for axis in block.iter_vars}


def _parts(expr: PrimExpr) -> list[PrimExpr]:
    """An expression and all of its subexpressions."""
    return [expr, *(part for child in expr.children for part in _parts(child))]


Accesses = list[tuple[Sequence[PrimExpr], Sequence[PrimExpr]]]


def _matching_accesses(lhs: Stmt, rhs: Stmt, buffers: dict[Any, Any]) -> Accesses | None:
    """The indices of the corresponding accesses of two stores of the same expression up to buffers and indices, None
    for other statements. buffers: receives the buffer on the right for each buffer on the left."""
    if not isinstance(lhs, BufferStore) or not isinstance(rhs, BufferStore):
        return None
    pairs: Accesses = []
    stores = [(BufferLoad(each.buffer, each.indices), each.value) for each in (lhs, rhs)]
    (a, x), (b, y) = stores
    return pairs if _match(a, b, buffers, pairs) and _match(x, y, buffers, pairs) else None


def _match(lhs: PrimExpr, rhs: PrimExpr, buffers: dict[Any, Any], pairs: Accesses) -> bool:
    if type(lhs) is not type(rhs) or lhs.dtype != rhs.dtype:
        return False
    if isinstance(lhs, BufferLoad) and isinstance(rhs, BufferLoad):
        pairs.append((lhs.indices, rhs.indices))
        return buffers.setdefault(lhs.buffer, rhs.buffer) == rhs.buffer
    if isinstance(lhs, IntImm) and isinstance(rhs, IntImm):
        return lhs.value == rhs.value
    if isinstance(lhs, Call) and isinstance(rhs, Call) and lhs.op != rhs.op:
        return False
    both = len(lhs.children) == len(rhs.children) > 0
    return both and all(_match(a, b, buffers, pairs) for a, b in zip(lhs.children, rhs.children, strict=True))


def _nest_of(sch: Schedule, block: BlockLike) -> _Nest:
    """The block of a handle with the loops around it, in its scope."""
    op = sch.op(sch.get_block(block) if isinstance(block, str) else block)
    function = function_around(op)
    if not isinstance(op, BlockOp) or function is None:
        raise ScheduleError(f"{op}: expected a block")
    around: list[ForOp] = []
    for each in ancestors(op):
        if isinstance(each, BlockOp):
            break
        if isinstance(each, ForOp):
            around.insert(0, each)
    loops: dict[Any, For] = {}
    found: list[BlockRealize] = []

    def visit(node: Any) -> None:
        if isinstance(node, For) and node.underneath in around:
            loops[node.underneath] = node
        elif isinstance(node, BlockRealize) and node.block.underneath is op:
            found.append(node)

    post_order_visit(NodeReader(function).body(), visit)
    return _Nest([loops[each] for each in around], found[0])


def _nest_of_description(desc_func: Any) -> _Nest:
    """The innermost block of a description with all loops."""
    loops: list[For] = []
    blocks: list[BlockRealize] = []

    def visit(node: Any) -> bool:
        if isinstance(node, For):
            loops.append(node)
        elif isinstance(node, BlockRealize):
            blocks.append(node)
        return True

    pre_order_visit(desc_func.body, visit)
    if not blocks or not loops:
        raise ScheduleError("description of an intrinsic: no loops around a block")
    return _Nest(loops, blocks[-1])


__all__ = [
    "AutoTensorizeMappingInfo",
    "TensorizeInfo",
    "get_auto_tensorize_mapping_info",
    "get_tensorize_loop_mapping",
    "suggest_index_map",
    "tile_with_tensor_intrin",
]

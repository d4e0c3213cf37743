"""The pass `tir-collapse-axes`."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import prod

from xdsl.context import Context
from xdsl.dialects.builtin import MemRefType, ModuleOp, NoneAttr, StringAttr
from xdsl.ir import SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter

from ...analysis.index import Analyzer, Lin
from ...analysis.names import block_name, loop_name
from ...analysis.scopes import loops_around, only_child
from ...analysis.unscheduled import has_known_shapes, is_graph_kernel
from ...core.dtypes import dtype_of, int_fits
from ...core.remarks import PassRemarks
from ...core.walking import find_ops
from ...dialects.attributes import SCHEDULE_RULE
from ...dialects.tir import (
    AccessOp,
    AllocBufferOp,
    Axis,
    BlockOp,
    ForOp,
    FuncOp,
    LoadOp,
    StoreOp,
    TirBuilder,
)
from ...dialects.tir.operands import redirect_access, set_operands
from ...dialects.tir.tree import depends_on, erase_if_dead, is_pure_expression
from ...schedule.rewriting.nest import erase_accesses, make_loop, move_to_end, renew_accesses, set_axes
from .kernel_calls import calling_region

COLLAPSED = ".collapsed"
"""The end of the name of a function with collapsed axes, after the name of the kernel that calls it."""
_LONG = 128
"""The number of elements from which on a row is long enough for vectors, if it has whole ones."""
_WHOLE = 16
"""The elements of a whole vector: a multiple of those of the vectors of any processor."""
_remarks = PassRemarks("tir-collapse-axes")


_RULES_OF_AXES = ("conv2d_winograd",)
"""The annotations `schedule_rule` of blocks whose rule needs the axes as they are."""


@dataclass(frozen=True)
class TirCollapseAxesPass(ModulePass):
    """Collapses axes of kernels of graphs into one axis where all elements along them are contiguous, so that vectors
    extend over the ends of short rows: an image of 7 by 7 has 49 elements in a row.

    Two consecutive axes of a block are collapsed if nothing but indices depends on them, and if every access that uses
    them has both as indices of consecutive dimensions, of which the second axis counts through the whole one, or has
    one index that counts through both (`y * 7 + x`). The dimensions are then collapsed in all blocks that access the
    buffer. So are two dimensions whose indices are the quotient and the remainder of an axis (`p // 7` and `p % 7`).

    A kernel is changed only if some rows are short, or no whole vectors. Its name, parameters and results stay: the
    computation moves to a private function with collapsed parameters, `NAME.collapsed`, which the kernel calls.

    Before
        tir.func @add("A" %A: memref<64x7x7xf32>, "B" %B: memref<64xf32>, "C" %C: memref<64x7x7xf32>) {
          tir.for serial "c" %c : i32 in [0 +: 64] {
            tir.for serial "y" %y : i32 in [0 +: 7] {
              tir.for serial "x" %x : i32 in [0 +: 7] {
                ... %C[%vc, %vy, %vx] = %A[%vc, %vy, %vx] + %B[%vc]

    After
        tir.func @add.collapsed("A" %A: memref<64x49xf32>, "B" %B: memref<64xf32>, "C" %C: memref<64x49xf32>) {
          tir.for serial "c" %c : i32 in [0 +: 64] {
            tir.for serial "y_x" %y_x : i32 in [0 +: 49] {
              ... %C[%vc, %vy_vx] = %A[%vc, %vy_vx] + %B[%vc]

    Must hold before: nothing.

    Gone after: nothing.
    """

    name = "tir-collapse-axes"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for func in list(op.body.block.ops):
            if isinstance(func, FuncOp) and is_graph_kernel(func) and _may_collapse(func):
                collapse = _Collapse(func)
                if any(map(collapse.has_short_rows, collapse.blocks)):
                    _move_to_inner_function(func, collapse)
                elif _remarks.are_collected:
                    _report_short_rows(collapse)


def _may_collapse(func: FuncOp) -> bool:
    """Whether a kernel has blocks in loops of their own, on buffers of known shapes, and no rule for their axes."""
    blocks = list(find_ops(func, BlockOp))
    are_plain = all(_has_plain_loops(block) and not _has_rule(block) for block in blocks)
    return bool(blocks) and has_known_shapes(func) and are_plain


def _has_rule(block: BlockOp) -> bool:
    rule = None if block.annotations is None else block.annotations.data.get(SCHEDULE_RULE)
    return isinstance(rule, StringAttr) and rule.data in _RULES_OF_AXES


def _has_plain_loops(block: BlockOp) -> bool:
    """Whether the axes of a block are its loops, in their order, which have known extents and contain it alone."""
    loops = loops_around(block)
    nest = [*loops, block]
    return (
        block.predicate is None
        and [axis.binding for axis in block.axes] == [loop.variable for loop in loops]
        and all(only_child(loop) is inner for loop, inner in zip(loops, nest[1:], strict=True))
        and all(loop.mixed_bounds[0] == 0 and loop.mixed_bounds[2] == 1 for loop in loops)
        and all(loop.kind.data == "serial" and loop.annotations is None for loop in loops)
        and all(axis.low == 0 and isinstance(axis.extent, int) for axis in block.axes)
        and [axis.extent for axis in block.axes] == [loop.mixed_bounds[1] for loop in loops]
    )


@dataclass(frozen=True)
class _Access:
    """A load or a store of a block.

    axes: for each index, the numbers of the axes that it counts through: `(n,)` for axis n, `(n, n + 1)` for the axis n
    times the extent of the next one, plus the next one; () for another index.  parts: the dimensions whose index is the
    quotient of an axis by the next dimension, whose index is the remainder; with the number of the axis.
    """

    op: LoadOp | StoreOp
    axes: Sequence[tuple[int, ...]]
    parts: Mapping[int, int]

    @property
    def buffer(self) -> SSAValue:
        return self.op.buffer

    def axes_of(self, dims: Sequence[int]) -> tuple[int, ...]:
        """The axes that the indices of dimensions that are collapsed count through, or the index of one dimension."""
        if dims[0] in self.parts and len(dims) > 1:
            return (self.parts[dims[0]],)
        return tuple(axis for dim in dims for axis in self.axes[dim])


class _Collapse:
    """The axes of blocks and the dimensions of buffers of a function that are collapsed with the ones after them.

    axes: the numbers of such axes of each block.  dims: the numbers of such dimensions of each buffer.
    """

    def __init__(self, func: FuncOp):
        self.blocks = list(find_ops(func, BlockOp))
        self.accesses = {block: list(_accesses(block)) for block in self.blocks}
        self.axes = {block: _similar_axes(block) for block in self.blocks}
        self.dims = {buffer: _collapsible_dimensions(buffer) for buffer in _buffers(func)}
        for block in self.blocks:
            self.axes[block] -= set(_others(block, self.accesses[block]))
        while any([self._restrict(block, access) for block in self.blocks for access in self.accesses[block]]):
            pass

    def _restrict(self, block: BlockOp, access: _Access) -> bool:
        """Drops the axes and the dimensions that an access does not permit. Returns whether some were dropped."""
        axes, dims = self.axes[block], self.dims[access.buffer]
        pairs = {dim for dim in dims if dim in access.parts or self._is_pair(block, access, dim)}
        for dim in access.parts.keys() & pairs:  # the quotient and the remainder alone
            pairs -= {dim - 1, dim + 1}
        used = [access.axes_of(group) for group in _groups(len(access.axes), pairs)]
        used += [(axis,) for axis in access.parts.values()]
        lost = {end for run in used if run for end in (run[0] - 1, run[-1])} & axes
        changed = pairs != dims or bool(lost)
        self.dims[access.buffer], self.axes[block] = pairs, axes - lost
        return changed

    def _is_pair(self, block: BlockOp, access: _Access, dim: int) -> bool:
        """Whether the indices of a dimension and of the next one are an axis that is collapsed, and the next axis,
        which counts through the whole dimension."""
        assert isinstance(access.buffer.type, MemRefType)
        first, second = access.axes[dim], access.axes[dim + 1]
        if len(first) != 1 or second != (first[0] + 1,) or first[0] not in self.axes[block]:
            return False
        return block.axes[second[0]].extent == access.buffer.type.get_shape()[dim + 1]

    def changes(self, block: BlockOp) -> bool:
        """Whether axes of a block, or dimensions that it accesses, are collapsed."""
        return bool(self.axes[block]) or any(self.dims[access.buffer] for access in self.accesses[block])

    def has_short_rows(self, block: BlockOp) -> bool:
        """Whether a row of several rows that are collapsed is short, or no whole vectors."""
        axes, extents = self.axes[block], _extents(block)
        rows = [(extents[n], extents[n + 1]) for n in axes if n + 1 not in axes]
        for access in self.accesses[block]:
            assert isinstance(access.buffer.type, MemRefType)
            shape = access.buffer.type.get_shape()
            rows += [(shape[dim], shape[dim + 1]) for dim in access.parts if dim in self.dims[access.buffer]]
        return any(count > 1 and _is_short(extent) for count, extent in rows)


def _is_short(extent: int) -> bool:
    return extent > 1 and (extent < _LONG or extent % _WHOLE != 0)


def _extents(block: BlockOp) -> list[int]:
    return [axis.extent for axis in block.axes if isinstance(axis.extent, int)]


def _accesses(block: BlockOp) -> Iterator[_Access]:
    axes = _AxesOfIndices(block)
    for op in find_ops(block, LoadOp, StoreOp):
        yield _Access(op, [axes.counted(index) for index in op.indices], dict(axes.parts(op)))


class _AxesOfIndices:
    """The axes of a block that indices of its accesses are made of."""

    def __init__(self, block: BlockOp):
        self._analyzer = Analyzer()
        self._variables: list[SSAValue] = list(block.variables)
        self._lins = list(zip(map(Lin.of, self._variables), _extents(block), strict=True))

    def counted(self, index: SSAValue) -> tuple[int, ...]:
        """The numbers of the axes that an index counts through, as of `_Access`."""
        if index in self._variables:
            return (self._variables.index(index),)
        lin = self._analyzer.exact(index)
        for n, (axis, _) in enumerate(self._lins):
            if lin == axis:
                return (n,)
        for n, ((first, _), (second, extent)) in enumerate(pairwise(self._lins)):
            if lin == first * extent + second:
                return (n, n + 1)
        return ()

    def parts(self, op: LoadOp | StoreOp) -> Iterator[tuple[int, int]]:
        """The dimensions whose index is a quotient, as of `_Access`, each with the number of the axis."""
        assert isinstance(op.buffer.type, MemRefType)
        sizes = op.buffer.type.get_shape()[1:]
        for dim, ((first, second), size) in enumerate(zip(pairwise(op.indices), sizes, strict=True)):
            if size > 1 and first not in self._variables and second not in self._variables:
                pair = self._analyzer.exact(first), self._analyzer.exact(second)
                for n, (axis, _) in enumerate(self._lins):
                    others = [variable for variable in self._variables if variable is not self._variables[n]]
                    is_pair = pair == (self._analyzer.floordiv(axis, size), self._analyzer.floormod(axis, size))
                    if is_pair and not depends_on(first, others) and not depends_on(second, others):
                        yield dim, n


def _similar_axes(block: BlockOp) -> set[int]:
    """The numbers of the axes whose next axis is of the same kind and type."""
    axes, types = block.axes, [variable.type for variable in block.variables]
    return {
        n
        for n in range(len(axes) - 1)
        if axes[n].kind == axes[n + 1].kind in ("spatial", "reduce") and types[n] == types[n + 1]
        if int_fits(prod(_extents(block)), dtype_of(types[n]))
    }


def _buffers(func: FuncOp) -> Iterator[SSAValue]:
    yield from (value for _, value in func.params)
    yield from (op.buffer for op in find_ops(func, AllocBufferOp))


def _collapsible_dimensions(buffer: SSAValue) -> set[int]:
    """The dimensions of a buffer that are contiguous with the next one; none of a buffer with other uses than accesses
    of elements."""
    type = buffer.type
    assert isinstance(type, MemRefType)
    is_plain = isinstance(type.layout, NoneAttr) and -1 not in type.get_shape()
    if not is_plain or not all(isinstance(use.operation, AccessOp | LoadOp | StoreOp) for use in buffer.uses):
        return set()
    return set(range(type.get_num_dims() - 1))


def _others(block: BlockOp, accesses: Sequence[_Access]) -> Iterator[int]:
    """The numbers of the axes that are used elsewhere than in indices that are axes; and of the axes before these."""
    indices = {access.op: _indices_of_axes(access) for access in accesses}
    for n, variable in enumerate(block.variables):
        if not _is_used_in(variable, indices):
            yield from (n - 1, n)


def _indices_of_axes(access: _Access) -> set[SSAValue]:
    parts = {dim + n for dim in access.parts for n in (0, 1)}
    indices = enumerate(zip(access.op.indices, access.axes, strict=True))
    return {index for dim, (index, axes) in indices if axes or dim in parts}


def _is_used_in(value: SSAValue, indices: Mapping[LoadOp | StoreOp, set[SSAValue]]) -> bool:
    """Whether a value is used only in some indices of accesses, and in declarations of regions."""
    for use in value.uses:
        op = use.operation
        if isinstance(op, LoadOp | StoreOp):
            is_other = value is op.predicate or (isinstance(op, StoreOp) and value is op.value)
            if is_other or value not in indices[op]:
                return False
        elif not isinstance(op, AccessOp):
            if op.regions or not is_pure_expression(op) or not all(_is_used_in(each, indices) for each in op.results):
                return False
    return True


def _report_short_rows(collapse: _Collapse) -> None:
    """Reports the blocks of a kernel whose rows stay short."""
    for block in collapse.blocks:
        *outer, last = [1, *_extents(block)]
        if _is_short(last) and max(outer) > 1:
            _remarks.missed(
                block,
                lambda: (
                    f"rows of block {block_name(block)} have {last} elements: some access has its last axes elsewhere "
                    "than in consecutive whole dimensions"
                ),
            )


# The collapsed function


def _move_to_inner_function(func: FuncOp, collapse: _Collapse) -> None:
    """Moves the body of a kernel to a function with collapsed axes, which the kernel calls."""
    name = func.sym_name.data
    _remarks.applied(func, lambda: f"axes of {name} are collapsed: {_text(collapse)}")
    inner = FuncOp(
        f"{name}{COLLAPSED}",
        [(parameter, value.type) for parameter, value in func.params],
        attrs=func.func_attrs,
        body=func.detach_region(func.body),
        private=True,
    )
    inner.location = func.location
    types = [value.type for value in inner.body.block.args]
    func.add_region(calling_region(func, inner.sym_name.data, types))
    block = func.parent
    assert block is not None
    block.insert_op_before(inner, func)
    changed = [each for each in collapse.blocks if collapse.changes(each)]
    for each in changed:
        _collapse_block(each, collapse)
    for buffer, dims in collapse.dims.items():
        _collapse_buffer(buffer, dims)
    renew_accesses(changed)


def _collapse_block(block: BlockOp, collapse: _Collapse) -> None:
    """Collapses the axes and the loops of a block, and the indices of its accesses."""
    axes, body, old, old_extents = block.axes, block.body.block, list(block.variables), _extents(block)
    groups = _groups(len(axes), collapse.axes[block])
    extents = [prod(old_extents[n] for n in group) for group in groups]
    loops = _collapse_loops(block, groups, extents)
    added = [body.insert_arg(old[group[0]].type, n) for n, group in enumerate(groups)]
    erase_accesses([block])
    new_of = {tuple(group): new for group, new in zip(groups, added, strict=True)}
    for access in collapse.accesses[block]:
        if access.op.parent is not None:  # not a load of an index of a declared region
            _collapse_indices(access, collapse.dims[access.buffer], new_of, old_extents)
    for group, new in zip(groups, added, strict=True):
        if len(group) == 1:
            old[group[0]].replace_all_uses_with(new)
    for variable in old:
        body.erase_arg(variable)
    new_axes = [
        Axis("_".join(axes[n].name for n in group), axes[group[0]].kind, 0, extent, loop.variable)
        for group, extent, loop in zip(groups, extents, loops, strict=True)
    ]
    set_axes(block, new_axes)


def _collapse_loops(block: BlockOp, groups: Sequence[Sequence[int]], extents: Sequence[int]) -> list[ForOp]:
    """Replaces the loops around a block by a loop for each group of loops. Returns the new loops. extents: of these."""
    old, new = loops_around(block), list[ForOp]()
    parent = old[0].parent
    assert parent is not None
    for group, extent in zip(groups, extents, strict=True):
        name = "_".join(loop_name(old[n]) for n in group)
        loop = make_loop(name, 0, extent, old[group[0]].variable.type)
        loop.location = old[group[0]].location
        if new:
            new[-1].body.block.add_op(loop)
        else:
            parent.insert_op_before(loop, old[0])
        new.append(loop)
    move_to_end(block, new[-1].body.block)
    set_operands(block, [[loop.variable for loop in new], [], []])
    old[0].detach()
    old[0].erase()
    return new


def _collapse_indices(
    access: _Access, dims: Collection[int], new_of: Mapping[tuple[int, ...], SSAValue], extents: Sequence[int]
) -> None:
    """Collapses the indices of an access; an index that counts through axes becomes their axis, or is computed from
    the two axes that stay. dims: the dimensions that are collapsed with the next one.  new_of: the new axis by the axes
    that it replaces.  extents: of the axes that are replaced."""
    old = list(access.op.indices)
    builder = TirBuilder(InsertPoint.before(access.op), access.op.location)
    indices = list[SSAValue]()
    for group in _groups(len(old), dims):
        axes, index = access.axes_of(group), old[group[0]]
        if axes in new_of:
            index = new_of[axes]
        elif len(axes) == 2 and all((axis,) in new_of for axis in axes):
            first, second = (new_of[axis,] for axis in axes)
            index = builder.add(builder.mul(first, extents[axes[1]]), second)
        indices.append(index)
    redirect_access(access.op, access.buffer, indices)
    for index in old:
        erase_if_dead(index)


def _collapse_buffer(buffer: SSAValue, dims: Collection[int]) -> None:
    type = buffer.type
    assert isinstance(type, MemRefType)
    shape = type.get_shape()
    collapsed = [prod(shape[dim] for dim in group) for group in _groups(len(shape), dims)]
    Rewriter.replace_value_with_new_type(
        buffer, MemRefType(type.element_type, collapsed, type.layout, type.memory_space)
    )


def _groups(count: int, joined: Collection[int]) -> list[list[int]]:
    """The numbers below `count` in groups: each of some numbers is in a group with the next number."""
    groups: list[list[int]] = []
    for n in range(count):
        if n - 1 in joined:
            groups[-1].append(n)
        else:
            groups.append([n])
    return groups


def _text(collapse: _Collapse) -> str:
    texts = []
    for block in collapse.blocks:
        axes = [axis.name for axis in block.axes]
        texts += [
            " and ".join(axes[n] for n in group) for group in _groups(len(axes), collapse.axes[block]) if group[1:]
        ]
    return ", ".join(dict.fromkeys(texts))

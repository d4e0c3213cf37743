"""The postprocessor `RewriteParallelVectorizeUnroll`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

from xdsl.dialects.builtin import MemRefType

from .....analysis.index import Analyzer, Lin
from .....analysis.scopes import binding_sums, child_blocks, loops_around, only_child
from .....analysis.work import static_extent
from .....dialects.tir import AccessOp, BlockOp, ForOp, FuncOp
from .....dialects.tir.base import memref_type
from .....schedule.handles import LoopRV
from ...tir import SBlockRV, Schedule
from ..blocks import int_annotation, is_root, is_spatial, kind_of_loop
from ..schedule_rule.parallel_vectorize_unroll import PARALLEL, UNROLL_EXPLICIT, UNROLL_IMPLICIT, VECTORIZE
from .postproc import Postproc

UNROLL_STEPS, UNROLL_BY_COMPILER = "pragma_auto_unroll_max_step", "pragma_unroll_explicit"


@dataclass(frozen=True)
class _Limits:
    """The annotations of a root block, None for those that are absent."""

    parallel: int | None
    vectorize: int | None
    explicit: int | None
    implicit: int | None

    @staticmethod
    def take(sch: Schedule, function: FuncOp) -> tuple[SBlockRV, _Limits] | None:
        """Removes the annotations of the root block of a function. None if there are none."""
        root = next(iter(child_blocks(function)), None)
        if root is None or not is_root(root):
            return None
        keys = (PARALLEL, VECTORIZE, UNROLL_EXPLICIT, UNROLL_IMPLICIT)
        values = [int_annotation(root, key) for key in keys]
        if values == [None] * len(keys):
            return None
        rv = sch.get_block(root.block_name.data, function.sym_name.data)
        for key, value in zip(keys, values, strict=True):
            if value is not None:
                sch.unannotate(rv, key)
        return rv, _Limits(*values)


class RewriteParallelVectorizeUnroll(Postproc):
    """Makes the outer loops of each block parallel and its inner loops vectors, within the limits that the rule
    `ParallelizeVectorizeUnroll` has annotated, and annotates the outermost loop of a reduction with the limit of
    unrolled statements."""

    def apply(self, sch: Schedule) -> bool:
        for function in list(sch.mod.function_ops.values()):
            found = _Limits.take(sch, function)
            for block in [] if found is None else sch.get_child_blocks(found[0]):
                assert found is not None
                _rewrite(sch, block, found[1])
        return True


def _rewrite(sch: Schedule, block: SBlockRV, limits: _Limits) -> None:
    op, loops = sch.op(block), sch.get_loops(block)
    assert isinstance(op, BlockOp)
    if not loops:
        return
    nest = _Nest.of(op)
    parallel, vector = nest.count_parallel(limits.parallel), nest.count_vectors(limits.vectorize)
    first = loops[0]
    if parallel and vector and nest.is_one_row:
        assert limits.vectorize is not None
        first, inner = sch.split(_fuse(sch, loops), [None, limits.vectorize])
        sch.parallel(first)
        sch.vectorize(inner)
    else:
        parallel = min(parallel, len(loops) - vector)
        if parallel:
            first = _fuse(sch, loops[:parallel])
            sch.parallel(first)
        if vector:
            inner = _fuse(sch, loops[len(loops) - vector :])
            sch.vectorize(inner)
            first = inner if vector == len(loops) else first
    steps = limits.explicit if limits.explicit is not None else limits.implicit
    if steps and not is_spatial(op):
        sch.annotate(first, UNROLL_STEPS, steps)
        sch.annotate(first, UNROLL_BY_COMPILER, int(limits.explicit is not None))


def _fuse(sch: Schedule, loops: Sequence[LoopRV]) -> LoopRV:
    return sch.fuse(*loops) if len(loops) > 1 else loops[0]


@dataclass(frozen=True)
class _Nest:
    """The loops around a block, outermost first. kinds: of each.  adjacent: the number of inner loops that access
    elements one after another in all buffers."""

    loops: Sequence[ForOp]
    kinds: Sequence[str]
    adjacent: int

    @staticmethod
    def of(block: BlockOp) -> _Nest:
        """The nest of a block."""
        loops, analyzer = loops_around(block), Analyzer()
        axes = dict(zip(block.variables, binding_sums(analyzer, block), strict=True))
        strides = [_strides(analyzer, access, axes, loops) for access in block.accesses]
        adjacent = min((_adjacent(each, loops) for each in strides), default=len(loops))
        return _Nest(loops, [kind_of_loop(loop) for loop in loops], adjacent)

    @property
    def is_one_row(self) -> bool:
        """Whether all loops can be fused and their iterations access elements one after another."""
        return self.adjacent == len(self.loops) and all(
            self._is_free(n) and self.kinds[n] == "spatial" and self._has_one_child(n) for n in range(len(self.loops))
        )

    def _is_free(self, index: int) -> bool:
        """Whether a loop has a known extent, and no kind or annotation that a rule has set."""
        loop = self.loops[index]
        return (
            loop.thread is None and not (loop.annotations and loop.annotations.data) and static_extent(loop) is not None
        )

    def _has_one_child(self, index: int) -> bool:
        return only_child(self.loops[index]) is not None

    def count_parallel(self, most: int | None) -> int:
        """The number of outer loops that become one parallel loop with at least `most` iterations, if there are as
        many; 0 without a limit or without iterations."""
        count, product = 0, 1
        for n in range(len(self.loops) if most is not None else 0):
            if self.kinds[n] != "spatial" or not self._is_free(n):
                break
            count, product = count + 1, product * (static_extent(self.loops[n]) or 1)
            if product > (most or 0) or not self._has_one_child(n):
                break
        return count if product > 1 else 0

    def count_vectors(self, most: int | None) -> int:
        """The number of inner loops that become one vector with at most `most` elements; 0 without a limit or with one
        element."""
        count, product = 0, 1
        for n in reversed(range(len(self.loops) if most is not None else 0)):
            product *= static_extent(self.loops[n]) or 1
            is_plain = self.kinds[n] == "spatial" and self._is_free(n) and self._has_one_child(n)
            if not is_plain or count == self.adjacent or product > (most or 0):
                break
            count += 1
        extents = [static_extent(loop) or 1 for loop in self.loops[len(self.loops) - count :]]
        return count if prod(extents) > 1 else 0


def _strides(analyzer: Analyzer, access: AccessOp, axes: Mapping[Any, Lin], loops: Sequence[ForOp]) -> list[int]:
    """The distance in elements between the accesses of two iterations of each loop, 0 if they are the same."""
    type = memref_type(access.buffer)
    assert isinstance(type, MemRefType)
    sums = [_in_loops(analyzer.exact(low), axes) for low, _ in access.region]
    sizes = [max(size, 1) for size in type.get_shape()]
    strides: list[int] = []
    for loop in loops:
        found = [n for n in reversed(range(len(sums))) if loop.variable in sums[n].terms]
        strides.append(sums[found[0]].terms[loop.variable] * prod(sizes[found[0] + 1 :]) if found else 0)
    return strides


def _in_loops(index: Lin, axes: Mapping[Any, Lin]) -> Lin:
    """An index as a sum of loop variables."""
    total = Lin(index.const)
    for atom, factor in index.terms.items():
        total = total + axes.get(atom, Lin.of(atom)) * factor
    return total


def _adjacent(strides: Sequence[int], loops: Sequence[ForOp]) -> int:
    """The number of inner loops whose iterations access elements one after another, or the same element."""
    count, next_stride = 0, None
    for stride, loop in zip(reversed(strides), reversed(loops), strict=True):
        if stride:
            if (next_stride is None and stride != 1 and count) or (next_stride is not None and stride != next_stride):
                break
            next_stride = stride * (static_extent(loop) or 1)
        count += 1
    return count

"""Random attempts of each schedule primitive, with arguments that are valid often enough, and invalid often enough."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...analysis.scopes import child_blocks, depends_on, enclosing_scope
from ...dialects.tir import BlockOp, ForOp
from ...schedule import BlockRV, LoopRV
from ...schedule.handles import BlockLike
from .choices import flag, pick
from .program_picker import (
    ProgramPicker,
    adds_to_sum,
    is_copy,
    is_epilogue,
    is_initialized,
    is_padding,
    is_reduction,
    is_windowed,
    updates,
    writes_temporary,
)

THREADS = ("threadIdx.x", "blockIdx.x", "vthread.x")
SCOPES = ("global", "local", "shared")


def _split(p: ProgramPicker) -> None:
    loop = p.loop()
    factor = p.integer(1, max(p.extent(loop), 1) + 1)
    factors: list[int | None] = [None, factor] if not p.flag() else [factor, None]
    if flag(p.choices, 4):
        factors.insert(1, p.integer(1, 3))
    p.schedule.split(loop, factors, disable_predication=flag(p.choices, 6))


def _fuse(p: ProgramPicker) -> None:
    loops = p.loops()
    start = 0 if p.flag() else p.integer(0, len(loops) - 1)
    p.schedule.fuse(*loops[start : start + (2 if p.flag() else p.integer(1, 3))])


def _loop_partition(p: ProgramPicker) -> None:
    loop = p.loop()
    factors: list[int | None] = [p.integer(1, max(p.extent(loop) - 1, 1))]
    if p.flag():
        factors.insert(p.integer(0, 1), None)
    p.schedule.loop_partition(loop, factors)


def _merge(p: ProgramPicker) -> None:
    """Merges loops at one depth, usually of two blocks in the same scope."""
    first = p.block()
    op = p.schedule.get(first)
    assert isinstance(op, BlockOp)
    others = [block for block in child_blocks(enclosing_scope(op)) if block is not op]
    second = p.handle(pick(p.choices, others)) if others and not flag(p.choices, 8) else p.block()
    pairs = list(zip(p.loops(first), p.loops(second), strict=False))
    inner, outer = pairs[-1], pairs[0]
    chosen = list(pick(p.choices, [outer, inner]))
    p.schedule.merge(*(chosen if not flag(p.choices, 4) else chosen[::-1]))


def _reorder(p: ProgramPicker) -> None:
    loops = p.loops()
    chosen: list[LoopRV] = []
    for _ in range(p.integer(1, len(loops))):
        rest = [loop for loop in loops if loop not in chosen]
        chosen.append(pick(p.choices, rest[::-1]))
    p.schedule.reorder(*chosen)


def _loop_near(p: ProgramPicker, others: list[BlockRV]) -> LoopRV:
    """A loop that usually encloses one of the blocks `others`."""
    return p.loop(pick(p.choices, others) if others and not flag(p.choices, 6) else None)


def _compute_at(p: ProgramPicker) -> None:
    block = p.block()
    loop = _loop_near(p, p.schedule.get_consumers(block))
    p.schedule.compute_at(block, loop, preserve_unit_loops=flag(p.choices, 4), index=-1 - p.integer(0, 1))


def _reverse_compute_at(p: ProgramPicker) -> None:
    block = p.block()
    loop = _loop_near(p, p.schedule.get_producers(block))
    p.schedule.reverse_compute_at(block, loop, preserve_unit_loops=flag(p.choices, 4), index=-1 - p.integer(0, 1))


def _some_buffer(p: ProgramPicker, block: BlockRV) -> tuple[str, int]:
    """The side and the index of a buffer of a block; the index may be out of range by one."""
    side = pick(p.choices, ["write", "read"])
    return side, min(p.integer(0, p.buffers(block, write=side == "write")), p.integer(0, 2))


def _cache_read(p: ProgramPicker) -> None:
    block = p.block()
    index = min(p.integer(0, p.buffers(block, write=False)), p.integer(0, 2))
    p.schedule.cache_read(block, index, pick(p.choices, SCOPES))


def _cache_write(p: ProgramPicker) -> None:
    block = p.block()
    p.schedule.cache_write(block, _some_buffer(p, block)[1], pick(p.choices, SCOPES))


def _reindex(p: ProgramPicker) -> None:
    block = p.block()
    p.schedule.reindex(block, _some_buffer(p, block))


def _reindex_cache(p: ProgramPicker, side: str) -> None:
    """Copies a buffer of a block with permuted, divided or fused axes."""
    block = p.block()
    index = p.integer(0, p.buffers(block, write=side == "write") - 1)
    used = p.determining_axes(block, index, write=side == "write")
    chosen = pick(p.choices, REINDEXINGS)
    arguments = (block, index, pick(p.choices, SCOPES), lambda *axes: chosen([axes[n] for n in used], axes))
    if side == "write":
        p.schedule.reindex_cache_write(*arguments)
    else:
        p.schedule.reindex_cache_read(*arguments)


REINDEXINGS: list[Callable[..., Any]] = [
    lambda used, _: tuple(used[::-1]),
    lambda used, _: (*used[1:], *(part for axis in used[:1] for part in (axis // 2, axis % 2))),
    lambda used, _: (sum((axis * 64**n for n, axis in enumerate(used)), 0),),
    lambda used, _: tuple(axis + 1 for axis in used),
    lambda _, axes: tuple(axes),
    lambda used, _: tuple(axis // 2 for axis in used),
]
"""Index maps of the axes that determine an element, and of all axes."""


def _cache_inplace(p: ProgramPicker) -> None:
    block = p.block(updates)
    p.schedule.cache_inplace(block, p.integer(0, p.buffers(block, write=False)), pick(p.choices, SCOPES))


def _read_at(p: ProgramPicker) -> None:
    block = p.block()
    index = p.integer(0, p.buffers(block, write=False) - 1)
    p.schedule.read_at(p.loop(block), block, index, pick(p.choices, SCOPES))


def _write_at(p: ProgramPicker) -> None:
    block = p.block()
    index = p.integer(0, p.buffers(block, write=True) - 1)
    p.schedule.write_at(p.loop(block), block, index, pick(p.choices, SCOPES))


def _rolling_buffer(p: ProgramPicker) -> None:
    """Splits a loop around a consumer, moves the producer into it, and rolls its buffer; or rolls any buffer."""
    block = p.block(is_windowed)
    consumers = p.schedule.get_consumers(block)
    with p.schedule.attempt():
        if consumers and not flag(p.choices, 6):
            outer, _ = p.schedule.split(p.loops(pick(p.choices, consumers))[0], [None, p.integer(1, 3)])
            p.schedule.compute_at(block, outer)
        p.schedule.rolling_buffer(block, p.integer(0, p.buffers(block, write=True) - 1))


def _rfactor(p: ProgramPicker) -> None:
    """Factors a reduction, usually along a loop to which a reduction axis is bound."""
    block = p.block(is_reduction)
    loops, op = p.loops(block), p.schedule.get(block)
    assert isinstance(op, BlockOp)
    sums = [axis.binding for axis in op.axes if axis.kind == "reduce"]
    reduced = [rv for rv in loops if isinstance(loop := p.schedule.get(rv), ForOp) and depends_on(sums, loop.variable)]
    loop = pick(p.choices, reduced if reduced and not flag(p.choices, 6) else loops)
    p.schedule.rfactor(loop, p.integer(-1, 1))


def _fuse_epilogue(p: ProgramPicker) -> None:
    """Fuses a block into a reduction, usually one of whose results it reads."""
    block = p.block(adds_to_sum)
    producers = [rv for rv in p.schedule.get_producers(block) if is_initialized(p.schedule.get(rv))]
    p.schedule.fuse_reduction_epilogue(pick(p.choices, producers) if producers else p.block(is_reduction), block)


def _decompose_reduction(p: ProgramPicker) -> None:
    block = p.block(is_reduction)
    p.schedule.decompose_reduction(block, p.loop(block))


def _decompose_padding(p: ProgramPicker) -> None:
    block = p.block(is_padding)
    p.schedule.decompose_padding(block, p.loop(block))


def _transform_layout(p: ProgramPicker) -> None:
    block = p.block()
    side, index = _some_buffer(p, block)
    rank = p.rank(block, index, write=side == "write")
    pad_value = pick(p.choices, [None, 0, 3])
    mapping, separators = _index_map(p, block, rank), None if not flag(p.choices, 4) else [1]
    p.schedule.transform_layout(block, (side, index), mapping, pad_value, axis_separators=separators)


def _transform_block_layout(p: ProgramPicker) -> None:
    block = p.block()
    p.schedule.transform_block_layout(block, _index_map(p, block, p.axes(block)))


def _index_map(p: ProgramPicker, block: BlockRV, rank: int) -> Callable[..., Any]:
    """An index map for some indices; every third one has a parameter."""
    if rank not in PARAMETERIZED_MAPS or not flag(p.choices, 3):
        return pick(p.choices, _MAPS.get(rank, _MAPS[1]))
    parameter, mapping = p.parameter(block), pick(p.choices, PARAMETERIZED_MAPS[rank])
    return lambda *indices: mapping(parameter, *indices)


PARAMETERIZED_MAPS: dict[int, list[Callable[..., Any]]] = {
    1: [
        lambda n, i: (i // n, i % n),
        lambda n, i: (i % n, i // n),
        lambda n, i: (i // (2 * n), i % (2 * n)),
        lambda n, i: (i + n,),
        lambda n, i: (n - 1 - i,),
        lambda n, i: (i * n,),
    ],
    2: [
        lambda n, i, j: (i * n + j,),
        lambda n, i, j: (j * n + i,),
        lambda n, i, j: (i * n * 2 + j,),
        lambda n, i, j: ((i * n + j) // 4, (i * n + j) % 4),
        lambda n, i, j: (j, i // n, i % n),
        lambda n, i, j: (i, j // n, j % n),
        lambda n, i, j: (j, n - 1 - i),
        lambda n, i, j: (i, j + n),
    ],
    3: [
        lambda n, i, j, k: (k, i * n + j),
        lambda n, i, j, k: ((i * n + j) * n + k,),
        lambda n, i, j, k: (j * n + k, i),
        lambda n, i, j, k: (i, k // n, j, k % n),
    ],
}
"""Index maps by rank, of a parameter and the indices."""

_MAPS: dict[int, list[Callable[..., Any]]] = {
    1: [
        lambda i: (i,),
        lambda i: (i // 2, i % 2),
        lambda i: (i % 3, i // 3),
        lambda i: (i + 1,),
        lambda i: ((i + 5) // 4, (i + 5) % 4),
    ],
    2: [
        lambda i, j: (j, i),
        lambda i, j: (i * 64 + j,),
        lambda i, j: (i, j // 2, j % 2),
        lambda i, j: (i + j, j),
        lambda i, j: ((j + 1) // 4, i, (j + 1) % 4),
    ],
    3: [lambda i, j, k: (k, i, j), lambda i, j, k: (i, j * 64 + k)],
}


def _pad_einsum(p: ProgramPicker) -> None:
    block = p.block(is_reduction)
    p.schedule.pad_einsum(block, [p.integer(1, 4) for _ in range(p.axes(block))])


def _sample(p: ProgramPicker) -> None:
    loop = p.loop()
    p.schedule.split(loop, p.schedule.sample_perfect_tile(loop, p.integer(1, 3)))


def _sample_partitioned(p: ProgramPicker) -> None:
    loop, n = p.loop(), p.integer(1, 3)
    p.schedule.split(loop, p.schedule.sample_partitioned_tile(loop, n, p.integer(0, n - 1), p.integer(1, 3)))


def _sample_location(p: ProgramPicker) -> None:
    block = p.block()
    p.schedule.compute_at(block, p.schedule.sample_compute_location(block))


def _blockize(p: ProgramPicker) -> None:
    if flag(p.choices, 3):
        p.schedule.blockize(_adjacent_blocks(p))
    else:
        p.schedule.blockize(p.loop())


def _adjacent_blocks(p: ProgramPicker) -> list[BlockLike]:
    """Up to three consecutive blocks of a scope; the inits of a block and the blocks of its body are consecutive."""
    first = p.block()
    op = p.schedule.get(first)
    assert isinstance(op, BlockOp)
    siblings = child_blocks(enclosing_scope(op))
    start = siblings.index(op)
    return [first, *(p.handle(block) for block in siblings[start + 1 : start + 1 + p.integer(0, 2)])]


def _reorder_axes(p: ProgramPicker) -> None:
    block = p.block()
    order = list(range(p.axes(block)))
    p.schedule.reorder_block_iter_var(block, order[::-1] if p.flag() else [*order[1:], *order[:1]])


def _written_buffer(p: ProgramPicker) -> tuple[BlockRV, int]:
    """A block that usually writes an allocated buffer, and the index of a buffer that it writes."""
    block = p.block(writes_temporary)
    return block, p.integer(0, p.buffers(block, write=True) - 1)


def _storage_align(p: ProgramPicker) -> None:
    p.schedule.storage_align(*_written_buffer(p), -1 - p.integer(0, 1), 8, 1)


def _annotate_access(p: ProgramPicker) -> None:
    block = p.block()
    write = p.flag()
    index = p.integer(0, p.buffers(block, write=write) - 1)
    rank = p.rank(block, index, write=write)
    before, after = p.integer(0, 2), p.integer(-1, 3)

    def ranges(*axes: Any) -> list[Any]:
        sides = [axes[n % len(axes)] if axes else 0 for n in range(rank)]
        return [(side - before, side + after) for side in sides]

    p.schedule.annotate_buffer_access(block, index, "write" if write else "read", ranges)


def _set_scope(p: ProgramPicker) -> None:
    p.schedule.set_scope(*_written_buffer(p), pick(p.choices, SCOPES))


def _set_axis_separator(p: ProgramPicker) -> None:
    block = p.block()
    side, index = _some_buffer(p, block)
    rank = p.rank(block, index, write=side == "write")
    separators = sorted(p.integer(0, rank) for _ in range(p.integer(0, 3)))
    p.schedule.set_axis_separator(block, (side, index), separators if not flag(p.choices, 8) else separators[::-1])


def _annotate(p: ProgramPicker) -> None:
    where = p.block() if p.flag() else p.loop()
    number = p.schedule.sample_categorical([1, 16], [0.5, 0.5])
    p.schedule.annotate(where, "note", number if p.flag() else "text")
    if p.flag():
        p.schedule.unannotate(where, "note")


STEPS: dict[str, Callable[[ProgramPicker], Any]] = {
    "split": _split,
    "fuse": _fuse,
    "reorder": _reorder,
    "merge": _merge,
    "loop_partition": _loop_partition,
    "compute_at": _compute_at,
    "reverse_compute_at": _reverse_compute_at,
    "compute_inline": lambda p: p.schedule.compute_inline(p.block(is_copy)),
    "reverse_compute_inline": lambda p: p.schedule.reverse_compute_inline(p.block(is_epilogue)),
    "cache_read": _cache_read,
    "cache_write": _cache_write,
    "reindex": _reindex,
    "reindex_cache_read": lambda p: _reindex_cache(p, "read"),
    "reindex_cache_write": lambda p: _reindex_cache(p, "write"),
    "cache_index": lambda p: p.schedule.cache_index(p.block(), pick(p.choices, SCOPES), p.integer(0, 3)),
    "cache_inplace": _cache_inplace,
    "read_at": _read_at,
    "write_at": _write_at,
    "rolling_buffer": _rolling_buffer,
    "decompose_reduction": _decompose_reduction,
    "rfactor": _rfactor,
    "fuse_reduction_epilogue": _fuse_epilogue,
    "parallel": lambda p: p.schedule.parallel(p.loop()),
    "vectorize": lambda p: p.schedule.vectorize(p.loop()),
    "unroll": lambda p: p.schedule.unroll(p.loop()),
    "bind": lambda p: p.schedule.bind(p.loop(), pick(p.choices, THREADS)),
    "blockize": _blockize,
    "add_unit_loop": lambda p: p.schedule.add_unit_loop(p.block() if p.flag() else p.loop()),
    "reorder_block_iter_var": _reorder_axes,
    "storage_align": _storage_align,
    "set_scope": _set_scope,
    "set_axis_separator": _set_axis_separator,
    "annotate_buffer_access": _annotate_access,
    "annotate": _annotate,
    "transform_layout": _transform_layout,
    "transform_block_layout": _transform_block_layout,
    "pad_einsum": _pad_einsum,
    "decompose_padding": _decompose_padding,
    "sample_perfect_tile": _sample,
    "sample_partitioned_tile": _sample_partitioned,
    "sample_compute_location": _sample_location,
}
"""A random attempt of each primitive, by name."""

MOVES = frozenset(
    (
        "split",
        "fuse",
        "reorder",
        "merge",
        "compute_at",
        "reverse_compute_at",
        "parallel",
        "vectorize",
        "unroll",
        "bind",
        "annotate",
    )
)
"""Primitives that only change loops: the instances of blocks keep their names and their sources."""

GROUPS = {
    "any": tuple(STEPS),
    "moves": tuple(sorted(MOVES)),
    "several loops": (
        "merge",
        "merge",
        "loop_partition",
        "split",
        "fuse",
        "reorder",
        "compute_at",
        "reverse_compute_at",
    ),
    "fused loops": ("fuse", "fuse", "compute_at", "reverse_compute_at", "split", "bind"),
    "copies": ("cache_read", "cache_write", "reindex", "compute_at", "reverse_compute_at", "split", "reorder", "fuse"),
    "declared regions": (
        "annotate_buffer_access",
        "cache_read",
        "compute_at",
        "reverse_compute_at",
        "split",
        "blockize",
    ),
    "copies in loops": (
        "cache_index",
        "reindex_cache_read",
        "reindex_cache_write",
        "cache_inplace",
        "read_at",
        "write_at",
        "rolling_buffer",
        "decompose_reduction",
        "split",
        "compute_at",
    ),
    "inlines": (
        "compute_inline",
        "reverse_compute_inline",
        "cache_read",
        "cache_write",
        "reindex",
        "compute_at",
        "transform_layout",
    ),
    "reductions": (
        "rfactor",
        "fuse_reduction_epilogue",
        "decompose_reduction",
        "split",
        "reorder",
        "fuse",
        "compute_at",
        "reverse_compute_at",
    ),
    "created blocks": (
        "decompose_reduction",
        "blockize",
        "blockize",
        "cache_write",
        "cache_read",
        "rfactor",
        "reindex",
        "pad_einsum",
        "decompose_padding",
        "transform_layout",
        "transform_block_layout",
        "compute_at",
        "reverse_compute_at",
        "compute_inline",
        "reverse_compute_inline",
        "reorder",
        "split",
        "fuse",
    ),
    "rewrites": (
        "transform_layout",
        "set_axis_separator",
        "pad_einsum",
        "decompose_padding",
        "blockize",
        "reindex",
        "split",
        "cache_write",
    ),
}
"""Groups of primitives for common traces."""

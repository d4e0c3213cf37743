"""The strides of the accesses of a block along the loops around it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import takewhile
from math import gcd, prod

from xdsl.dialects.builtin import AnyFloat, MemRefType, NoneAttr
from xdsl.ir import SSAValue

from ...analysis.index import Analyzer, Atom, DivAtom, Lin
from ...analysis.scopes import only_child
from ...core.dtypes import element_byte_size
from ...dialects.te.base import COMPUTE_AXIS_KINDS
from ...dialects.tir import BlockOp, ForOp, LoadOp, StoreOp
from ...dialects.tir.tree import depends_on
from .kernel import Kernel
from .results import decline_unless

IRREGULAR = 1 << 1000
"""The stride along an axis that changes an address by other numbers than multiples: greater than all strides."""
UNKNOWN = (1 << 31) - 1
"""The extent that represents a dynamic extent, in strides too: large, and a multiple of no other."""
FLOAT_BYTES = 4
"""The least size of a float in a register: smaller floats are computed in f32."""


@dataclass(frozen=True)
class Strides:
    """The loops around a block: the names, kinds and extents of the axes that they run over, and the strides in
    elements of the store and of each load of another buffer along every axis, `IRREGULAR` where no number is the
    stride.

    runs: for each load and axis, the length of the ranges of indices, from each multiple of the length on, in which the
    address is the same; 0 for an address that the axis does not change.  sources: for each load, the index of its
    buffer among the buffers that the block reads.  element_bytes: the size of the largest element in a register.
    shared: the number of leading loops that are around other blocks as well.
    """

    names: Sequence[str]
    kinds: Sequence[str]
    extents: Sequence[int]
    written: Sequence[int]
    read: Sequence[Sequence[int]]
    runs: Sequence[Sequence[int]]
    sources: Sequence[int]
    element_bytes: int
    shared: int

    def of_kind(self, kind: str) -> list[int]:
        """The indices of the axes of a kind whose loops are around this block alone."""
        return [n for n, each in enumerate(self.kinds) if each == kind and n >= self.shared]

    def size(self, axes: Sequence[int]) -> int:
        """The product of the extents of some axes."""
        return prod(self.extents[n] for n in axes)


def strides_of(kernel: Kernel) -> Strides:
    """The strides of a block that stores one element, whose axes are the loops around it, in their order.

    Axes of one element may have no loop; they are omitted then. Raises DeclineError for other blocks.
    """
    block = kernel.block
    decline_unless(set(kernel.kinds.values()) <= set(COMPUTE_AXIS_KINDS), "it has other axes than of results and sums")
    decline_unless(kernel.is_one_store(), "it does more than store one element")
    axes = _axes_of_loops(kernel)
    extents = [_loop_extent(loop) for loop in kernel.loops]
    decline_unless(0 not in extents, "an axis has no elements")
    accesses = _accesses(block)
    analyzer = Analyzer()
    (written, _), *read = [_address(analyzer, block, access) for access in accesses]
    buffers = [access.buffer for access in block.accesses if not access.is_write]
    decline_unless(all(load.buffer in buffers for load in accesses[1:]), "it reads a buffer that it does not declare")
    return Strides(
        names=["" if n is None else block.axes[n].name for n in axes],
        kinds=["spatial" if n is None else block.axes[n].kind for n in axes],
        extents=[1 if n is None else extent for n, extent in zip(axes, extents, strict=True)],
        written=[0 if n is None else written[n] for n in axes],
        read=[[0 if n is None else strides[n] for n in axes] for strides, _ in read],
        runs=[[0 if n is None else runs[n] for n in axes] for _, runs in read],
        sources=[buffers.index(load.buffer) for load in accesses[1:]],
        element_bytes=max(map(_register_bytes, accesses)),
        shared=shared_loops(kernel),
    )


def _axes_of_loops(kernel: Kernel) -> list[int | None]:
    """The index of the axis that each loop runs over: the axis is the variable of the loop, or its sum with multiples
    of loops that are around other blocks as well. None for loops over tiles of such axes, and for loops of one
    iteration, around other blocks as well. Raises DeclineError unless the axes are the loops, in their order."""
    block, shared = kernel.block, shared_loops(kernel)
    axes: list[int | None] = [None] * len(kernel.loops)
    tiles = set[int]()
    for n, axis in enumerate(block.axes):
        loops = _loops_of_axis(kernel, n)
        own = loops[-1] if loops else -1
        if len(loops) == 1 or own >= shared:
            axes[own] = n
            tiles.update(loops[:-1])
        else:
            tiles.update(loops)
            decline_unless(loops or axis.extent == 1, "an axis has no loop of its own")
    looped = [n for n in axes if n is not None]
    rest = (n for n, axis in enumerate(axes) if axis is None and n not in tiles)
    decline_unless(
        all(n < shared and kernel.loops[n].mixed_bounds[1] == 1 for n in rest)
        and all(n < shared for n in tiles)
        and looped == sorted(looped),
        "its axes are not the loops around it, in their order",
    )
    plain = all(loop.mixed_bounds[0] == 0 and loop.mixed_bounds[2] == 1 for loop in kernel.loops)
    decline_unless(plain and all(axis.low == 0 for axis in block.axes), "a loop does not begin at 0, or has a step")
    decline_unless(block.predicate is None or shared, "it has a predicate")
    return axes


def _loops_of_axis(kernel: Kernel, n: int) -> list[int]:
    """The indices of the loops whose sum is the binding of an axis, outermost first; the variable of the innermost one
    has the factor 1. Raises DeclineError for other bindings than such sums and constants."""
    if (axis := kernel.axes[n]) in kernel.loop_of:
        return [kernel.loop_of[axis]]
    binding = Analyzer().lin(kernel.block.axes[n].binding)
    loops = [k for k, loop in enumerate(kernel.loops) if loop.variable in binding.terms]
    is_tile = len(loops) == len(binding.terms) and binding.const == 0
    decline_unless(
        not loops or (is_tile and binding.terms[kernel.loops[loops[-1]].variable] == 1), "an axis is no loop"
    )
    return loops


def _loop_extent(loop: ForOp) -> int:
    extent = loop.mixed_bounds[1]
    return extent if isinstance(extent, int) else UNKNOWN


def shared_loops(kernel: Kernel) -> int:
    """The number of loops around a block that are around other blocks as well."""
    nest = [*kernel.loops, kernel.block]
    own = takewhile(lambda pair: only_child(pair[0]) is pair[1], zip(reversed(kernel.loops), reversed(nest)))  # pyright: ignore[reportArgumentType]
    return len(kernel.loops) - len(list(own))


def store_of(block: BlockOp) -> StoreOp:
    """The store of a block that stores one element."""
    return next(op for op in block.body.block.ops if isinstance(op, StoreOp))


def loads_of(block: BlockOp) -> list[LoadOp]:
    """The loads of a block from other buffers than the buffer that it stores to, outside of conditions."""
    stored = store_of(block).buffer
    return [op for op in block.body.block.ops if isinstance(op, LoadOp) and op.buffer is not stored]


def _accesses(block: BlockOp) -> list[LoadOp | StoreOp]:
    return [store_of(block), *loads_of(block)]


def _register_bytes(access: LoadOp | StoreOp) -> int:
    assert isinstance(access.buffer.type, MemRefType)
    type = access.buffer.type.element_type
    return max(element_byte_size(type), FLOAT_BYTES if isinstance(type, AnyFloat) else 1)


def _address(analyzer: Analyzer, block: BlockOp, access: LoadOp | StoreOp) -> tuple[list[int], list[int]]:
    variables = list(block.variables)
    strides, runs = [0] * len(variables), [0] * len(variables)
    for step, index in zip(_steps(access), access.indices, strict=True):
        for atom, coefficient in analyzer.lin(index).terms.items():
            if atom in variables and step is not None:
                strides[variables.index(atom)] += coefficient * step  # pyright: ignore[reportArgumentType]
                continue
            leaves = set(Lin.of(atom).leaves())
            for axis, variable in enumerate(variables):
                if any(depends_on(leaf, (variable,)) for leaf in leaves):
                    runs[axis] = gcd(runs[axis], _run(atom, variable))
    for axis, run in enumerate(runs):
        if run:
            runs[axis] = 1 if strides[axis] else run
            strides[axis] = IRREGULAR
        elif strides[axis]:
            runs[axis] = 1
    return strides, runs


def _steps(access: LoadOp | StoreOp) -> Sequence[int | None]:
    """The elements between neighbours along each dimension, with `UNKNOWN` for each dynamic extent; None for unknown
    strides of a buffer that is not contiguous."""
    type = access.buffer.type
    assert isinstance(type, MemRefType)
    if not isinstance(type.layout, NoneAttr):
        return type.get_strides() or [None] * len(access.indices)
    extents = [UNKNOWN if extent < 0 else extent for extent in type.get_shape()]
    return [prod(extents[n + 1 :]) for n in range(len(extents))]


def _run(atom: Atom, variable: SSAValue) -> int:
    """The length of the ranges of a variable in which a part of an index is the same, from each multiple on."""
    if isinstance(atom, DivAtom) and atom.args[0] == Lin.of(variable):
        divisor = atom.args[1]
        if isinstance(divisor, Lin) and not divisor.terms:
            return divisor.const
    return 1

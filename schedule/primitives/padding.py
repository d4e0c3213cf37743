"""Blocks that copy with padding, taken apart into one that fills and one that copies."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from xdsl.ir import Block, SSAValue

from ...analysis.dependence import CyclicCopyError
from ...analysis.index import Analyzer, Lin, export
from ...analysis.index.conditions import yielded
from ...analysis.iter_map import lin_text, predicate_constraints
from ...analysis.names import block_name, buffer_name, fresh_block_name, loop_name
from ...analysis.scopes import between, loops_around, only_child, root_buffer
from ...core.errors import ScheduleError
from ...dialects.schedule import DecomposePaddingOp
from ...dialects.tir import Axis, BlockOp, ForOp, FuncOp, IfThenElseOp, StoreOp, TirBuilder, constant_value
from ...dialects.tir.base import split_mixed
from ...dialects.tir.tree import erase_if_dead, has_effect
from ..handles import BlockLike, BlockRV, LoopRV
from ..recorder import Recorder
from ..rewriting.copying import loads_in, require_lasting
from ..rewriting.elementwise import body
from ..rewriting.nest import (
    add_predicate,
    builder_before,
    builder_in_front,
    erase_accesses,
    function_of,
    make_loop,
    renew_accesses,
    replace_by_sum,
    set_axes,
    simplify_blocks,
    simplify_indices,
)
from ..rewriting.rebuild import copy_expression, copy_number
from ..state import State, applies


class PaddingPrimitives(Recorder):
    """Primitives on blocks that copy with padding."""

    def decompose_padding(self, block: BlockLike, loop: LoopRV) -> BlockRV:
        """Cut a block that copies with padding into one that fills everything and one that copies the inner part.

            for i in range(10):                         for i in range(10):
                with T.block("B"):                          with T.block("B_pad_const"):
                    vi = T.axis.spatial(10, i)                  vi = T.axis.spatial(10, i)
                    B[vi] = T.if_then_else(       ->            B[vi] = 0.0
                        1 <= vi and vi < 9,             for i in range(8):
                        A[vi - 1], 0.0)                     with T.block("B"):
                                                                vi = T.axis.spatial(8, i)
                                                                B[vi + 1] = A[vi]

        block: its one statement stores `if_then_else(condition, value, constant)`, where the condition bounds each axis
        by itself, by numbers.  loop: around the block; the new block comes directly in front of it, in loops of its own
        like those from `loop` on. A loop inside that is only there for an axis with a bound runs the inner part alone;
        for others the block gets a predicate.
        Returns the block that fills. Legal if what is filled in front of the loop is not needed there as it was, nor
        written again by the loop. ScheduleError if the block is not of this kind, or with two instances that conflict.
        """
        return self.record(DecomposePaddingOp, block=self._block(block), loop=loop)[0]


@dataclass(frozen=True)
class Padding:
    """A block that stores `value` where each axis is in its range of `inner`, first and last, and else `constant`."""

    block: BlockOp
    store: StoreOp
    value: SSAValue
    constant: SSAValue
    inner: Mapping[SSAValue, tuple[int, int]]


@applies(DecomposePaddingOp)
def decompose_padding(state: State, block: BlockOp, loop: ForOp) -> BlockOp:
    if isinstance(block, FuncOp) or loop not in loops_around(block):
        name = "root" if isinstance(block, FuncOp) else block_name(block)
        raise ScheduleError(f"loop {loop_name(loop)} is not around block {name} in its scope", [loop])
    padding = _match(block)
    nest = _nest(block, loop)
    require_lasting(block, loop)
    try:
        with state.changing([loop]) as change:
            change.copies_before.append(block)
            filling = _write_filling(padding, nest)
            _restrict(padding, nest)
            change.copies_after += [filling, block]
    except CyclicCopyError:
        name = block_name(block)
        raise ScheduleError(
            f"whether block {name} still reads what it read is not known: an iteration of loop {loop_name(loop)} may "
            "read what another one pads",
            [block, loop],
        ) from None
    return filling


def _match(block: BlockOp) -> Padding:
    """What a block pads. ScheduleError if it is no such block."""
    name = block_name(block)
    inside = body(block)
    store = inside[0] if len(inside) == 1 else None
    if not isinstance(store, StoreOp) or store.predicate is not None:
        raise ScheduleError(f"block {name} is more than one store, expected the store of an if_then_else", [block])
    choice = store.value.owner
    if not isinstance(choice, IfThenElseOp):
        raise ScheduleError(f"block {name} stores no if_then_else", [block])
    value, constant = yielded(choice)
    if constant_value(constant) is None:
        raise ScheduleError(f"block {name} does not pad with a constant", [block])
    if any(has_effect(op) for op in block.walk()):
        raise ScheduleError(f"block {name} makes calls, which would be made less often", [block])
    if any(root_buffer(load.buffer) is root_buffer(store.buffer) for load in loads_in(block)):
        raise ScheduleError(f"block {name} reads buffer {buffer_name(store.buffer)}, which it writes", [block])
    return Padding(block, store, value, constant, _inner(block, choice.condition))


def _inner(block: BlockOp, condition: SSAValue) -> dict[SSAValue, tuple[int, int]]:
    """Between which numbers each axis is where a condition holds, for those axes for which that is not all."""
    analyzer = Analyzer()
    constraints, exact = predicate_constraints(analyzer, condition)
    if not exact:
        raise ScheduleError(
            f"the condition of block {block_name(block)} is no conjunction of comparisons of integers", [block]
        )
    axes = dict(zip(block.variables, block.axes, strict=True))
    inner: dict[SSAValue, tuple[int, int]] = {}
    for constraint in constraints:
        atom, factor = next(iter(constraint.terms.items()), (None, 0))
        axis = axes.get(atom) if len(constraint.terms) == 1 else None  # pyright: ignore[reportArgumentType]
        if axis is None or not isinstance(atom, SSAValue):
            raise ScheduleError(
                f"the condition of block {block_name(block)} is that {lin_text(constraint)} >= 0, expected bounds of "
                "one axis each",
                [block],
            )
        if not isinstance(axis.low, int) or not isinstance(axis.extent, int):
            raise ScheduleError(f"not supported yet: the domain of axis {axis.name} is no known number", [block])
        low, last = inner.get(atom, (axis.low, axis.low + axis.extent - 1))
        bound = -(constraint.const // factor) if factor > 0 else constraint.const // -factor
        inner[atom] = (max(low, bound), last) if factor > 0 else (low, min(last, bound))
        if inner[atom][0] > inner[atom][1]:
            raise ScheduleError(f"the condition of block {block_name(block)} never holds: it copies nothing", [block])
    if not inner:
        raise ScheduleError(f"the condition of block {block_name(block)} always holds: it pads nothing", [block])
    return inner


def _nest(block: BlockOp, loop: ForOp) -> list[ForOp]:
    """The loops from `loop` to `block`. ScheduleError if something else is in between."""
    path = [loop, *between(block, loop)]
    nest = [op for op in path if isinstance(op, ForOp)]
    if len(nest) < len(path):
        odd = next(op for op in path if not isinstance(op, ForOp))
        raise ScheduleError(f"block {block_name(block)} is inside of a {odd.name} in loop {loop_name(loop)}", [block])
    if any(op.mixed_bounds[2] != 1 for op in nest):
        raise ScheduleError(f"not supported yet: a step other than 1 around block {block_name(block)}", [block])
    return nest


# The block that fills


def _write_filling(padding: Padding, nest: Sequence[ForOp]) -> BlockOp:
    """Write a block that stores the constant everywhere, in front of the first loop of `nest`, in loops like these."""
    block = padding.block
    known: dict[SSAValue, SSAValue] = {}
    builder = builder_in_front(nest[0])
    for loop in nest:
        low, extent, _ = (copy_number(bound, builder, known) for bound in loop.mixed_bounds)
        copy = builder.insert(make_loop(loop_name(loop), low, extent, loop.variable.type))
        known[loop.variable] = copy.variable
        builder = TirBuilder(copy.body.block, block.location)
    axes = [
        Axis(
            axis.name,
            axis.kind,
            copy_number(axis.low, builder, known),
            copy_number(axis.extent, builder, known),
            copy_expression(axis.binding, builder, known),
        )
        for axis in block.axes
    ]
    predicate = None if block.predicate is None else copy_expression(block.predicate, builder, known)
    name = fresh_block_name(function_of(block), f"{block_name(block)}_pad_const")
    filling = builder.insert(BlockOp(name, axes, predicate=predicate))
    known |= zip(block.variables, filling.variables, strict=True)
    builder = TirBuilder(filling.body.block, block.location)
    value = copy_expression(padding.constant, builder, known)
    builder.store(value, padding.store.buffer, [copy_expression(i, builder, known) for i in padding.store.indices])
    renew_accesses([filling])
    return filling


# The block that copies


def _restrict(padding: Padding, nest: Sequence[ForOp]) -> None:
    """Let the block store the value, and only where that is wanted."""
    block, store = padding.block, padding.store
    erase_accesses([block])
    old = store.value
    store.operands[0] = copy_expression(_detached(padding), builder_before(store), {}, block)
    erase_if_dead(old)
    _shrink_loops(padding, _own_loops(block, nest))
    _shrink_axes(padding)
    simplify_indices(block)
    renew_accesses([block])
    simplify_blocks([nest[0]])


def _detached(padding: Padding) -> SSAValue:
    """The value, with what computes it in front of the choice and not inside of it."""
    choice = padding.store.value.owner
    if isinstance(choice, IfThenElseOp):
        for op in list(choice.then.block.ops)[:-1]:
            op.detach()
            assert isinstance(choice.parent, Block)
            choice.parent.insert_op_before(op, choice)
    return padding.value


def _own_loops(block: BlockOp, nest: Sequence[ForOp]) -> list[ForOp]:
    """The innermost of these loops that have nothing but the block in them."""
    own: list[ForOp] = []
    for outer, inner in reversed(list(pairwise([*nest, block]))):
        if not isinstance(outer, ForOp) or only_child(outer) is not inner:
            break
        own.append(outer)
    return own


def _shrink_loops(padding: Padding, loops: Sequence[ForOp]) -> None:
    """Let loops whose variable, but for a number, an axis is bound to run only where the axis is in its range."""
    analyzer = Analyzer(through_lets=False)
    for binding, variable in zip(padding.block.bindings, padding.block.variables, strict=True):
        if variable not in padding.inner:
            continue
        lin = analyzer.exact(binding)
        offset = lin.const
        loop = next((loop for loop in loops if lin - offset == Lin.of(loop.variable)), None)
        low, extent, _ = (0, 0, 0) if loop is None else loop.mixed_bounds
        if loop is None or not isinstance(low, int) or not isinstance(extent, int):
            continue
        first, last = padding.inner[variable]
        start, stop = max(low, first - offset), min(low + extent, last + 1 - offset)
        loop.static_bounds, loop.operands = split_mixed([0, max(stop - start, 0), 1])
        if start:
            replace_by_sum(analyzer, loop.variable, Lin.of(loop.variable) + start)
        analyzer = Analyzer(through_lets=False)


def _shrink_axes(padding: Padding) -> None:
    """Let axes count from 0 where the block copies, and the block run only there."""
    block = padding.block
    analyzer = Analyzer(through_lets=False)
    axes: list[Axis] = []
    for axis, variable in zip(block.axes, block.variables, strict=True):
        if variable not in padding.inner:
            axes.append(axis)
            continue
        first, last = padding.inner[variable]
        lin, type = analyzer.exact(axis.binding), axis.binding.type
        for name, bound in (("ge", first), ("lt", last + 1)):
            if not analyzer.is_provably(name, lin, bound):
                add_predicate(block, lambda b, n=name, v=lin, m=bound, t=type: _compare(analyzer, b, n, v, m, t))
        binding = export(analyzer, lin - first, builder_before(block), type)
        axes.append(Axis(axis.name, axis.kind, 0, last + 1 - first, binding))
        if first:
            replace_by_sum(Analyzer(), variable, Lin.of(variable) + first)
    bindings = list(block.bindings)
    set_axes(block, axes)
    for binding in bindings:
        erase_if_dead(binding)


def _compare(analyzer: Analyzer, builder: TirBuilder, name: str, lin: Lin, bound: int, type: object) -> SSAValue:
    lhs, rhs = (export(analyzer, side, builder, type) for side in (lin, Lin(bound)))  # pyright: ignore
    return builder.binary(name, lhs, rhs)

"""The primitive `decompose_padding`: copies with padding divided into a filling block and a copying block."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from xdsl.ir import Block, SSAValue

from ...analysis.index import Analyzer, Lin, export
from ...analysis.index.conditions import yielded_values
from ...analysis.iter_map import lin_text, predicate_constraints
from ...analysis.names import block_name, buffer_name, fresh_block_name, loop_name
from ...analysis.scopes import loops_around, only_child, ops_between, root_buffer
from ...core.errors import ScheduleError
from ...dialects.schedule import DecomposePaddingOp
from ...dialects.tir import Axis, BlockOp, ForOp, FuncOp, IfThenElseOp, StoreOp, TirBuilder, constant_value
from ...dialects.tir.base import split_mixed
from ...dialects.tir.copying import copy_bound, copy_expression
from ...dialects.tir.tree import erase_if_dead, has_effect
from ..handles import BlockLike, BlockRV, LoopRV
from ..recorder import Recorder
from ..rewriting.copying import loads_in, require_invariant_values
from ..rewriting.elementwise import block_statements
from ..rewriting.nest import (
    add_predicate,
    builder_before,
    builder_before_expressions,
    erase_accesses,
    function_of,
    make_loop,
    renew_accesses,
    replace_by_sum,
    set_axes,
    simplify_blocks,
    simplify_indices,
)
from ..state import State, applies


class PaddingPrimitives(Recorder):
    """The primitive that decomposes blocks which copy with padding, and the test for it."""

    def decompose_padding(self, block: BlockLike, loop: LoopRV) -> BlockRV:
        """Split a block that copies with padding into one that fills all elements and one that copies the interior.

            for i in range(10):                         for i in range(10):
                with T.block("B"):                          with T.block("B_pad_const"):
                    vi = T.axis.spatial(10, i)                  vi = T.axis.spatial(10, i)
                    B[vi] = T.if_then_else(       ->            B[vi] = 0.0
                        1 <= vi and vi < 9,             for i in range(8):
                        A[vi - 1], 0.0)                     with T.block("B"):
                                                                vi = T.axis.spatial(8, i)
                                                                B[vi + 1] = A[vi]

        block: a block whose only statement stores `if_then_else(condition, value, constant)`, where the condition
        bounds each axis separately, by constants.  loop: a loop around the block; the new block directly precedes it,
        in copies of the loops from `loop` inwards. A nested loop that only serves an axis with a bound runs over the
        interior alone; for other axes the block gets a predicate.
        Returns the filling block. Legal if the old values of the filled elements are not used before the loop, and the
        loop does not write them again. ScheduleError if the block is not of this kind, or with two conflicting
        instances.
        """
        return self.record(DecomposePaddingOp, block=self._block(block), loop=loop)[0]

    def can_decompose_padding(self, block: BlockLike, loop: LoopRV) -> bool:
        """Whether `decompose_padding` would be applied to a block and a loop.

        block, loop: as of `decompose_padding`.
        The answer is not an instruction of the trace. ScheduleError if the program no longer contains the block or the
        loop.
        """
        attempt = self.copy()
        handle = attempt._block(block)
        attempt._target(handle)
        attempt._target(loop)
        try:
            attempt.record(DecomposePaddingOp, block=handle, loop=loop)
        except ScheduleError:
            return False
        return True


@dataclass(frozen=True)
class PaddedCopy:
    """A block that stores `value` where each axis is in its interval (first, last) of `inner`, and else `constant`."""

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
    require_invariant_values(block, loop)
    with state.changing([loop]) as change:
        change.copies_before.append(block)
        filling = _write_filling(padding, nest)
        _restrict(padding, nest)
        change.copies_after += [filling, block]
    return filling


def _match(block: BlockOp) -> PaddedCopy:
    """The parts of a block that copies with padding. ScheduleError for any other block."""
    name = block_name(block)
    inside = block_statements(block)
    store = inside[0] if len(inside) == 1 else None
    if not isinstance(store, StoreOp) or store.predicate is not None:
        raise ScheduleError(f"block {name} is more than one store, expected the store of an if_then_else", [block])
    choice = store.value.owner
    if not isinstance(choice, IfThenElseOp):
        raise ScheduleError(f"block {name} stores no if_then_else", [block])
    value, constant = yielded_values(choice)
    if constant_value(constant) is None:
        raise ScheduleError(f"block {name} does not pad with a constant", [block])
    if any(has_effect(op) for op in block.walk()):
        raise ScheduleError(f"block {name} makes calls, which would be made less often", [block])
    if any(root_buffer(load.buffer) is root_buffer(store.buffer) for load in loads_in(block)):
        raise ScheduleError(f"block {name} reads buffer {buffer_name(store.buffer)}, which it writes", [block])
    return PaddedCopy(block, store, value, constant, _inner(block, choice.condition))


def _inner(block: BlockOp, condition: SSAValue) -> dict[SSAValue, tuple[int, int]]:
    """The interval (first, last) of each axis that a condition restricts."""
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
    """The loops from `loop` to `block`. ScheduleError if other ops are in between, or a loop has a step."""
    path = [loop, *ops_between(block, loop)]
    nest = [op for op in path if isinstance(op, ForOp)]
    if len(nest) < len(path):
        odd = next(op for op in path if not isinstance(op, ForOp))
        raise ScheduleError(f"block {block_name(block)} is inside of a {odd.name} in loop {loop_name(loop)}", [block])
    if any(op.mixed_bounds[2] != 1 for op in nest):
        raise ScheduleError(f"not supported yet: a step other than 1 around block {block_name(block)}", [block])
    return nest


# The filling block


def _write_filling(padding: PaddedCopy, nest: Sequence[ForOp]) -> BlockOp:
    """Build a block that stores the constant to all elements, before the loops of `nest`, in copies of them."""
    block = padding.block
    known: dict[SSAValue, SSAValue] = {}
    builder = builder_before_expressions(nest[0])
    for loop in nest:
        low, extent, _ = (copy_bound(bound, builder, known) for bound in loop.mixed_bounds)
        copy = builder.insert(make_loop(loop_name(loop), low, extent, loop.variable.type))
        known[loop.variable] = copy.variable
        builder = TirBuilder(copy.body.block, block.location)
    axes = [
        Axis(
            axis.name,
            axis.kind,
            copy_bound(axis.low, builder, known),
            copy_bound(axis.extent, builder, known),
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


# The copying block


def _restrict(padding: PaddedCopy, nest: Sequence[ForOp]) -> None:
    """Let the block store the value, and run only in the interior."""
    block, store = padding.block, padding.store
    erase_accesses([block])
    old = store.value
    store.operands[0] = copy_expression(_hoist_value(padding), builder_before(store), {}, block)
    erase_if_dead(old)
    _shrink_loops(padding, _own_loops(block, nest))
    _shrink_axes(padding)
    simplify_indices(block)
    renew_accesses([block])
    simplify_blocks([nest[0]])


def _hoist_value(padding: PaddedCopy) -> SSAValue:
    """Move the expressions of the value from the `if_then_else` to the point before it; returns the value."""
    choice = padding.store.value.owner
    if isinstance(choice, IfThenElseOp):
        for op in list(choice.then.block.ops)[:-1]:
            op.detach()
            assert isinstance(choice.parent, Block)
            choice.parent.insert_op_before(op, choice)
    return padding.value


def _own_loops(block: BlockOp, nest: Sequence[ForOp]) -> list[ForOp]:
    """The loops of `nest` that contain no other statements than the block, innermost first."""
    own: list[ForOp] = []
    for outer, inner in reversed(list(pairwise([*nest, block]))):
        if not isinstance(outer, ForOp) or only_child(outer) is not inner:
            break
        own.append(outer)
    return own


def _shrink_loops(padding: PaddedCopy, loops: Sequence[ForOp]) -> None:
    """Restrict each loop whose variable equals an axis up to a constant to the interval of the axis."""
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


def _shrink_axes(padding: PaddedCopy) -> None:
    """Rebase the axes to count from 0 in the interior, and restrict the block to the interior."""
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
    lhs, rhs = (export(analyzer, side, builder, type) for side in (lin, Lin(bound)))  # pyright: ignore[reportArgumentType]
    return builder.binary(name, lhs, rhs)

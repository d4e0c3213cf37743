"""The init of a reduction as a block of its own in a loop nest of its own.

Used by `decompose_reduction`, and by `blockize` for the init of the block that it builds.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from xdsl.ir import Operation, SSAValue
from xdsl.rewriter import InsertPoint

from ...analysis.index import Analyzer, Lin, export
from ...analysis.iter_map import detect, invert, iteration_domain
from ...analysis.names import block_name, loop_name
from ...analysis.regions.access_regions import infer_accesses
from ...analysis.scopes import depends_on, loops_around, ops_between, root_buffer, statements
from ...analysis.threads.reductions import ThreadReduction, ThreadReductionError, check_begin, check_init
from ...core.errors import PassError, ScheduleError
from ...core.xdsl_compat import set_name_hint
from ...dialects.tir import AccessOp, Axis, BlockOp, ForOp, IfOp, InitOp, LoadOp, MatchRegionOp, Mixed, TirBuilder
from ...dialects.tir.copying import copy_bound, copy_expression
from ...dialects.tir.tree import captured_operands, conjuncts, erase_if_dead, erase_statement, with_expressions
from .nest import builder_before_expressions, simplify_blocks
from .rebuild import emit_bound


@dataclass
class InitPlan:
    """A plan to move the init of `block` to a new block before `place`, or before `front`, a statement beside `place`.

    loops: the loops in `place`, and `place` itself, that the nest of the init recreates.  fixed: the variables of
    the other loops, with their values in the iteration in which the init runs.
    extents: the extents of the other loops that may not be positive; the init does not run then.
    conditions: further conditions of the init, each with its truth value: the branches around the block, its predicate.
    """

    block: BlockOp
    init: InitOp
    destination: Operation
    front: Operation
    loops: list[ForOp] = field(default_factory=list[ForOp])
    fixed: dict[SSAValue, Lin] = field(default_factory=dict[SSAValue, Lin])
    extents: list[Mixed] = field(default_factory=list[Mixed])
    conditions: list[tuple[SSAValue, bool]] = field(default_factory=list[tuple[SSAValue, bool]])


def plan_init(block: BlockOp, place: Operation, front: Operation | None = None) -> InitPlan:
    """The plan to move the init of a block before `place`, which is the block or an op around it, or before the
    statement `front` beside `place`.

    ScheduleError if the block has no init, or the iteration in which it runs is unknown.
    """
    init = block.init
    name = block_name(block)
    if init is None:
        raise ScheduleError(f"block {name} has no init; expected a reduction block", [block])
    plan = InitPlan(block, init, place, front or place)
    inner = [loop for loop in loops_around(block) if loop is place or place.is_ancestor(loop)]
    plan.loops = loops_of_init(block, inner)
    _check_init(plan)
    _add_conditions(plan)
    _fix_reduced(plan, [loop for loop in inner if loop not in plan.loops])
    return plan


def is_reduction_axis(axis: Axis) -> bool:
    """Whether an axis is a reduction axis, which the init does not have."""
    return axis.kind == "reduce"


def loops_of_init(block: BlockOp, inner: Sequence[ForOp]) -> list[ForOp]:
    """The loops that a separate init of a block has: of the loops `inner` around the block, outermost first, those on
    which the axes of the init depend, directly or through the bounds of such loops."""
    wanted = [axis.binding for axis in block.axes if not is_reduction_axis(axis)]
    kept: list[ForOp] = []
    for loop in reversed(inner):
        if depends_on(wanted, loop.variable):
            kept.append(loop)
            wanted += loop.bounds
    return kept[::-1]


def _check_init(plan: InitPlan) -> None:
    """Raise ScheduleError if the init uses a value that its block computes, other than a view."""
    block, name = plan.block, block_name(plan.block)
    for value in captured_operands(plan.init):
        owner = value.owner
        if isinstance(owner, Operation) and block.is_ancestor(owner) and not isinstance(owner, MatchRegionOp):
            raise ScheduleError(f"not supported yet: the init of block {name} uses {owner.name} inside of it", [block])


def _add_conditions(plan: InitPlan) -> None:
    path = ops_between(plan.block, plan.destination) if plan.destination is not plan.block else []
    for op, inner in pairwise([*path, plan.block]):
        if isinstance(op, IfOp):
            plan.conditions.append((op.condition, op.then.is_ancestor(inner)))
        elif not isinstance(op, ForOp):
            raise ScheduleError(
                f"not supported yet: an init taken out of {op.name} around block {block_name(plan.block)}", [plan.block]
            )
    if isinstance(plan.destination, IfOp):
        raise ScheduleError("expected a loop or block, got a branch", [plan.destination])
    if plan.block.predicate is not None:
        plan.conditions += [(condition, True) for condition in conjuncts(plan.block.predicate)]


def _fix_reduced(plan: InitPlan, loops: Sequence[ForOp]) -> None:
    """Determine the iteration of the loops that are not recreated in which the init runs."""
    analyzer = Analyzer()
    axes = [axis for axis in plan.block.axes if is_reduction_axis(axis)]
    bindings = [analyzer.exact(axis.binding) for axis in axes]
    first: dict[SSAValue, Lin] = {loop.variable: analyzer.exact(loop.mixed_bounds[0]) for loop in loops}
    own = set(first)
    alone = [n for n, lin in enumerate(bindings) if _is_alone(plan.block, lin, own)]

    def is_least(values: dict[SSAValue, Lin]) -> bool:
        return all(
            analyzer.is_provably("eq", analyzer.substitute(bindings[n], values), analyzer.exact(axes[n].low))
            for n in alone
        )

    if not is_least(first):
        last = _inverse(analyzer, loops, [(bindings[n], analyzer.exact(axes[n].low)) for n in alone])
        if last is None or not is_least(last):
            names = ", ".join(axes[n].name for n in alone)
            raise ScheduleError(
                f"not supported yet: it is not known in which iteration the init of block {block_name(plan.block)} "
                f"runs: where {names} is least",
                [plan.block],
            )
        first = last
    plan.fixed = first
    extents = [loop.mixed_bounds[1] for loop in loops]
    plan.extents = [n for n in extents if not analyzer.is_provably("gt", analyzer.exact(n), 0)]


def _is_alone(block: BlockOp, lin: Lin, loops: set[SSAValue]) -> bool:
    """Whether a binding depends on no other loops around the block than `loops`."""
    others = {loop.variable for loop in loops_around(block)} - loops
    return not any(leaf in others for leaf in lin.leaves())


def _inverse(
    analyzer: Analyzer, loops: Sequence[ForOp], wanted: Sequence[tuple[Lin, Lin]]
) -> dict[SSAValue, Lin] | None:
    """The iteration of some loops in which sums have the wanted values; None if it is unknown or out of bounds."""
    domain = iteration_domain(analyzer, loops)
    mapping = detect(analyzer, domain, [binding for binding, _ in wanted])
    if isinstance(mapping, str):
        return None
    solution = invert(analyzer, mapping, [value for _, value in wanted])
    if isinstance(solution, str):
        return None
    inside = all(
        analyzer.is_provably("ge", solution[v.value] - v.low, 0)
        and analyzer.is_provably("lt", solution[v.value] - v.low, v.extent * v.step)
        for v in domain.variables
    )
    return solution if inside else None


Conditions = Callable[[TirBuilder], Sequence[SSAValue]]


@dataclass(frozen=True)
class InitNest:
    """The new block of an init, the outermost statement of its nest, and the new variables of the recreated loops."""

    block: BlockOp
    outermost: Operation
    loops: dict[SSAValue, SSAValue]


def build_init_nest(
    plan: InitPlan,
    name: str,
    loop_name: Callable[[str], str] = lambda name: name,
    further: Conditions = lambda _: (),
) -> InitNest:
    """Carry out a plan: the init becomes a block named `name`, and the remaining block declares that it reads its
    accumulators.

    loop_name: computes the name of a copied loop.  further: emits further conditions of the new block.
    """
    builder = builder_before_expressions(plan.front)
    loops: dict[SSAValue, SSAValue] = {}
    outermost: Operation | None = None
    for loop in plan.loops:
        copy = _copy_loop(loop, builder, loops, loop_name, plan.destination)
        outermost = outermost or copy
        builder = TirBuilder(copy.body.block, plan.init.location)
    block = _init_block(plan, name, builder, loops, further)
    outermost = outermost or block
    for op in list(plan.init.body.block.ops):
        op.detach()
        block.body.block.add_op(op)
    _replace_variables(plan, block)
    _own_views(plan.block, block)
    erase_statement(plan.init)
    declare_accumulator_reads(plan.block)
    try:
        infer_accesses(block)
    except PassError as error:
        raise ScheduleError(f"the init of block {block_name(plan.block)}: {error}", [plan.block]) from error
    simplify_blocks([outermost])
    simplify_blocks(statements(block.body.block))
    return InitNest(block, outermost, loops)


def _copy_loop(
    loop: ForOp, builder: TirBuilder, known: dict[SSAValue, SSAValue], name: Callable[[str], str], inside: Operation
) -> ForOp:
    low, extent, step = (copy_bound(bound, builder, known, inside) for bound in loop.mixed_bounds)
    copy = ForOp(
        name(loop_name(loop)),
        low,
        extent,
        loop.variable.type,
        kind=loop.kind.data,
        step=step,
        thread=None if loop.thread is None else loop.thread.data,
        annotations=loop.annotations,
    )
    builder.insert(copy)
    copy.location = loop.location
    known[loop.variable] = copy.variable
    return copy


def _init_block(
    plan: InitPlan, name: str, builder: TirBuilder, known: dict[SSAValue, SSAValue], further: Conditions
) -> BlockOp:
    analyzer = Analyzer()
    values = {v: export(analyzer, lin, builder, v.type) for v, lin in plan.fixed.items()}
    known = known | values
    inside = plan.destination
    axes = [
        Axis(
            axis.name,
            axis.kind,
            copy_bound(axis.low, builder, known, inside),
            copy_bound(axis.extent, builder, known, inside),
            copy_expression(axis.binding, builder, known, inside),
        )
        for axis in plan.block.axes
        if not is_reduction_axis(axis)
    ]
    conditions: list[SSAValue] = []
    for condition, truth in plan.conditions:
        copy = copy_expression(condition, builder, known, inside)
        conditions.append(copy if truth else builder.logical_not(copy))
    for extent in plan.extents:
        conditions.append(builder.binary("gt", copy_bound(extent, builder, known, inside), 0))
    conditions += further(builder)
    joint = builder.conjunction(conditions) if conditions else None
    block = builder.insert(BlockOp(name, axes, predicate=joint, annotations=plan.block.annotations))
    for value in values.values():
        erase_if_dead(value)
    return block


def _replace_variables(plan: InitPlan, block: BlockOp) -> None:
    """Replace the old axes by those of the new block in its body, and a reduction axis by its lower bound."""
    mine = iter(block.variables)
    for axis, old in zip(plan.block.axes, plan.block.variables, strict=True):
        new = None if is_reduction_axis(axis) else next(mine)
        if new is not None:
            set_name_hint(new, axis.name)
        for use in [use for use in old.uses if block.is_ancestor(use.operation)]:
            user = use.operation
            builder = TirBuilder(InsertPoint.before(user), user.location)
            value = emit_bound(axis.low, old.type, builder) if new is None else new
            user.operands[use.index] = value


def _own_views(source: BlockOp, target: BlockOp) -> None:
    """Copy the views of `source` that `target` uses into `target`."""
    first = target.body.block.first_op
    for value in dict.fromkeys(captured_operands(target)):
        owner = value.owner
        if not isinstance(owner, MatchRegionOp) or not source.is_ancestor(owner) or first is None:
            continue
        known: dict[SSAValue, SSAValue] = dict(zip(_init_variables(source), target.variables, strict=True))
        builder = TirBuilder(InsertPoint.before(first), owner.location)
        operands: dict[SSAValue, SSAValue] = {o: copy_expression(o, builder, known) for o in owner.operands}
        view = builder.insert(owner.clone(operands))
        value.replace_uses_with_if(view.buffer, lambda use: target.is_ancestor(use.operation))


def _init_variables(block: BlockOp) -> list[SSAValue]:
    return [v for axis, v in zip(block.axes, block.variables, strict=True) if not is_reduction_axis(axis)]


def declare_accumulator_reads(block: BlockOp) -> None:
    """Declare that a block reads the buffers that it writes, if its body does and the declaration is missing: a
    block with an init does not need it."""
    declared = {root_buffer(access.buffer) for access in block.accesses if not access.is_write}
    accesses = block.accesses
    if not accesses:
        return
    first = with_expressions(accesses[0])[0]
    for access in accesses:
        if access.is_write and root_buffer(access.buffer) not in declared and _loads(block, access.buffer):
            builder = TirBuilder(InsertPoint.before(first), access.location)
            region = [(copy_bound(a, builder, {}), copy_bound(b, builder, {})) for a, b in access.region]
            builder.insert(AccessOp("reads", access.buffer, region))


def _loads(block: BlockOp, buffer: SSAValue) -> bool:
    """Whether a block may read a buffer."""
    memory = root_buffer(buffer)
    for op in block.walk():
        if isinstance(op, LoadOp) and root_buffer(op.buffer) is memory:
            return True
        if isinstance(op, AccessOp) and not op.is_write and op.parent_op() is not block:
            if root_buffer(op.buffer) is memory:
                return True
    return False


def plan_result(reduction: ThreadReduction) -> InitPlan:
    """The plan that moves the init of a block reduced across threads after the loops of the reduction.

    Raises ThreadReductionError, with the reason, if this is impossible.
    """
    check_init(reduction)
    try:
        plan = plan_init(reduction.block, reduction.outermost_loop)
    except ScheduleError as error:
        raise ThreadReductionError(reduction.block, error.reason) from error
    check_begin(reduction, plan.fixed)
    return plan

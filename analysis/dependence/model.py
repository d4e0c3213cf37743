"""The statements of a region: their executions, the names of their instances, and their accesses."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TypeAlias

from xdsl.ir import Block, Operation, SSAValue

from ...dialects.text import expression_text
from ...dialects.tir import (
    AccessOp,
    AllocateConstOp,
    AllocateOp,
    AttrOp,
    BlockOp,
    BufferOp,
    ForOp,
    IfOp,
    InitOp,
    LaunchThreadOp,
    LoadOp,
    StoreOp,
    SymbolOp,
)
from ...dialects.tir.tree import is_expression_op
from .. import isl
from ..index import Atom, type_range
from ..names import memory_name
from ..threads.axes import (
    is_thread_loop,
    is_uniform_across_threads,
    outer_loop_of_axis,
    thread_axes_of,
    thread_axis_of,
    written_memory,
)
from .accesses import AccessCollector, StatementAccess, axis_values, first_steps
from .affine import (
    Affine,
    IndexAnalyzer,
    NotAffineValue,
    Parameters,
    condition,
    function_to,
    iterations,
    map_to,
    parameter_name,
    ranges_of,
)
from .digits import Digit, Step, digits_of, loop_of_step, loop_variable, step_name, step_value
from .statements import Init, Statement, StatementAccesses, project, union_of
from .totality import is_total
from .touched import accessed_memories

Loop: TypeAlias = ForOp | LaunchThreadOp

_INIT = -1
"""The position of the init among the statements of a block: it runs before all others, wherever it is written."""


@dataclass(frozen=True)
class _Site:
    """The position of a statement in the region: the enclosing loops and the positions in their bodies, the branches
    around it, and the expressions with loads that decide whether it runs.

    team: enclosing loops over the threads of a thread block that execute each statement together, one statement after
    the other. In the path they follow all steps that are uniform across threads.
    """

    path: tuple[Operation | Digit | int, ...] = ()
    branches: tuple[tuple[IfOp | InitOp, bool], ...] = ()
    control: tuple[Operation, ...] = ()
    team: tuple[Loop, ...] = ()

    def at(self, step: Operation | int) -> _Site:
        """The site with a further step in its path."""
        return replace(self, path=(*self.path, step))

    def of_one_thread(self) -> _Site:
        """The same site for each thread separately: threads reach nested statements at different times."""
        return replace(self, path=(*self.path, *self.team), team=())

    @property
    def loops(self) -> tuple[Step, ...]:
        """The loops in the path, outermost first; a fused loop as its digits."""
        return tuple(s for s in self.path if isinstance(s, Step))

    def with_digits(self, digits_of_loop: Callable[[Operation], tuple[Digit, ...]]) -> _Site:
        """The site with the digits of fused loops in place of these."""
        steps = ((s,) if isinstance(s, int | Digit) else digits_of_loop(s) or (s,) for s in self.path)
        return replace(self, path=tuple(step for some in steps for step in some))


class Region:
    """The statements of a scope: the body of a function or block, or a loop with its body.

    root: the function, block or loop.  around: whether a loop is itself part of the region, and not only its body.
    is_left_out: a predicate for memory to skip.
    Values computed outside of the region, and the parameters and sizes of a function, are its parameters.
    """

    def __init__(self, root: Operation, *, around: bool = True, is_left_out: Callable[[SSAValue], bool] | None = None):
        self.root = root
        self._is_left_out = is_left_out
        self.is_loop = isinstance(root, ForOp | LaunchThreadOp) and around
        self.parameters = Parameters(self._is_fixed)
        self.places: dict[Operation, _Site] = {}
        self._models: dict[Operation, list[Statement]] = {}
        self._axes: dict[SSAValue | None, tuple[str, ...]] = {}
        self._digits: dict[Operation, tuple[Digit, ...]] = {}
        self.analyzer = IndexAnalyzer()
        if self.is_loop:
            self._op(root, _Site(), 0, ())
        else:
            for block in (b for region in root.regions for b in region.blocks):
                self._block(block, _Site())
        self.places = {op: site.of_one_thread().with_digits(self._digits_of) for op, site in self.places.items()}
        self.depth = max((len(p.path) for p in self.places.values()), default=0)

    def _is_fixed(self, value: SSAValue) -> bool:
        owner = value.owner
        if isinstance(owner, SymbolOp):
            return True
        if isinstance(owner, Block):
            parent = owner.parent_op()
            return parent is None or not self.root.is_ancestor(parent) or (parent is self.root and not self.is_loop)
        return not self.root.is_ancestor(owner)

    def label(self, parameter: str) -> str:
        """The name in the program of a parameter that isl calls `parameter`."""
        return next((parameter_name(v) for v, name in self.parameters.names.items() if name == parameter), parameter)

    # Positions of statements

    def _block(self, block: Block, site: _Site) -> None:
        pending: list[Operation] = []
        for position, op in enumerate(block.ops):
            if is_expression_op(op):
                pending.append(op)
            else:
                self._op(op, site, position, tuple(pending))
                pending = []

    def _op(self, op: Operation, site: _Site, position: int, expressions: tuple[Operation, ...]) -> None:
        here = site.at(position)
        control = (*site.control, *expressions) if any(_contains_load(e) for e in expressions) else site.control
        if here.team and not self._is_uniform(op):
            here = here.of_one_thread()
        match op:
            case _ if is_thread_loop(op):
                self._block(op.body.block, replace(here, control=control, team=(*here.team, op)))
            case ForOp() | LaunchThreadOp():
                self._block(op.body.block, replace(here.at(op), control=control))
            case IfOp():
                for n, region in enumerate(op.regions):
                    branches = (*here.branches, (op, n == 0))
                    self._block(region.block, replace(here.at(n), control=control, branches=branches))
            case AttrOp():
                self._block(op.body.block, replace(here, control=control))
            case BlockOp():
                self.places[op] = replace(here, control=control)
            case InitOp():
                self._block(op.body.block, replace(site.at(_INIT), branches=(*site.branches, (op, True))))
            case BufferOp() | AllocateOp() | AllocateConstOp() | SymbolOp() | AccessOp():
                pass
            case _:
                self.places[op] = replace(here, control=(*site.control, *expressions))

    def _digits_of(self, loop: Operation) -> tuple[Digit, ...]:
        if loop not in self._digits:
            self._digits[loop] = digits_of(self.analyzer, loop, self._is_fixed)
        return self._digits[loop]

    def _is_uniform(self, op: Operation) -> bool:
        """Whether all threads of a thread block reach the body of an op together."""
        if not isinstance(op, ForOp | LaunchThreadOp | IfOp | AttrOp):
            return True
        return all(is_uniform_across_threads(v, self._written_memory) for v in op.operands)

    @cached_property
    def _written_memory(self) -> set[SSAValue | None]:
        return written_memory(self.root)

    def thread_axes(self, memory: SSAValue | None) -> tuple[str, ...]:
        """The cached `thread_axes_of` of some memory."""
        if memory not in self._axes:
            self._axes[memory] = thread_axes_of(memory)
        return self._axes[memory]

    # Statements

    @cached_property
    def memories_of_statements(self) -> dict[Operation, set[SSAValue | None]]:
        """The memory that each statement and the expressions in control of it may access."""
        return {op: {m for o in (op, *site.control) for m in accessed_memories(o)} for op, site in self.places.items()}

    def statements(self, ops: Iterable[Operation] | None = None) -> list[Statement]:
        """The statements of `ops` (None for all), each after its init if any, in program order."""
        statements = [s for op in (self.places if ops is None else ops) for s in self._statements_of(op)]
        if not self.parameters.names:
            return statements
        parameters = ranges_of(self.parameters.names)
        return [s.restrict_parameters(parameters) for s in statements]

    def _statements_of(self, op: Operation) -> list[Statement]:
        """The statements of `op`, cached."""
        if op not in self._models:
            self._models[op] = self._statement(op)
        return self._models[op]

    def _statement(self, op: Operation) -> list[Statement]:
        site = self.places[op]
        loops = site.loops
        affine = Affine(self.analyzer, self.parameters, len(loops))
        affine.dims.update({step_value(loop): n for n, loop in enumerate(loops)})
        domain, exact = self._domain(affine, site)
        collector = self._collector([step_value(loop) for loop in loops], self.analyzer)
        if isinstance(op, BlockOp):
            return self._block_statements(op, site, affine, domain, exact, collector.ops(site.control))
        accesses = collector.ops((*site.control, op))
        identity = isl.Map.identity(domain.get_space().map_from_set())
        names = tuple(step_name(loop) for loop in loops)
        return [self._make(op, _label(op), site, names, domain, exact, identity, identity, True, accesses)]

    def _collector(self, variables: Sequence[Atom], analyzer: IndexAnalyzer) -> AccessCollector:
        return AccessCollector(self.parameters, variables, analyzer, self._is_left_out)

    def _domain(self, affine: Affine, site: _Site) -> tuple[isl.Set, bool]:
        """The executions of a site, and whether this set is exact."""
        where, exact = affine.universe(), True
        for position, loop in enumerate(site.loops):
            if isinstance(loop, Digit):
                count = affine.function_of(loop.count)
                variable = affine.variable(position)
                where = where.intersect(variable.ge_set(affine.constant(0)).intersect(variable.lt_set(count)))
                continue
            low, extent, step = (0, loop.mixed_extent, 1) if isinstance(loop, LaunchThreadOp) else loop.mixed_bounds
            values = iterations(affine, position, low, extent, step)
            if values is None:
                values, exact = affine.between(position, *type_range(loop.variable.type)), False
            where = where.intersect(values)
            if (outer := outer_loop_of_axis(loop)) is not None:
                where = where.intersect(affine.equal(position, affine.function(outer.variable)))
        for op, truth in site.branches:
            holds = self._first_step(affine) if isinstance(op, InitOp) else condition(affine, op.condition)
            if holds is None:
                exact = False
            else:
                where = where.intersect(holds if truth else holds.complement())
        return where, exact

    def _first_step(self, affine: Affine) -> isl.Set | None:
        """The condition under which the init of the block that is the region runs; None if no formula describes it."""
        assert isinstance(self.root, BlockOp)
        return first_steps(affine, self.root)

    def _block_statements(
        self, op: BlockOp, site: _Site, affine: Affine, domain: isl.Set, exact: bool, control: Sequence[StatementAccess]
    ) -> list[Statement]:
        if op.predicate is not None:
            holds = condition(affine, op.predicate)
            exact = exact and holds is not None
            domain = domain if holds is None else domain.intersect(holds)
        axes, is_named = self._bindings(op, affine)
        is_named = is_named and not _uses_directly(op, [loop_variable(loop) for loop in site.loops])
        accesses = self._collector(op.variables, IndexAnalyzer()).block(op)
        names = tuple(a.name for a in op.axes)
        instances = axes
        if not is_named:
            names = tuple(step_name(loop) for loop in site.loops)
            instances = isl.Map.identity(domain.get_space().map_from_set())
        label = op.block_name.data
        statements: list[Statement] = []
        if op.init is not None:
            inner = Affine(IndexAnalyzer(), self.parameters, len(op.variables))
            inner.dims.update({v: n for n, v in enumerate(op.variables)})
            first = first_steps(inner, op)
            first_domain = domain if first is None else domain.intersect(axes.intersect_range(first).domain())
            kept = [n for n, a in enumerate(op.axes) if a.kind != "reduce"] if is_named else list(range(len(names)))
            short = project(instances, kept)
            init_accesses = [a for a in accesses if a.in_init]
            init_names = tuple(names[n] for n in kept)
            statements.append(
                self._make(
                    Init(op),
                    label,
                    site,
                    init_names,
                    first_domain,
                    exact and first is not None,
                    short,
                    axes,
                    is_named,
                    init_accesses,
                    control,
                    phase=0,
                )
            )
        body = [a for a in accesses if not a.in_init]
        statements.append(self._make(op, label, site, names, domain, exact, instances, axes, is_named, body, control))
        return statements

    def _bindings(self, op: BlockOp, affine: Affine) -> tuple[isl.Map, bool]:
        """{ loop values -> axis values }, and whether this is exact."""
        values, exact = list[isl.PwAff | isl.Set](), True
        for axis, variable in zip(op.axes, op.variables, strict=True):
            try:
                values.append(affine.function(axis.binding))
            except NotAffineValue:
                values.append(axis_values(Affine(self.analyzer, self.parameters, 1), 0, axis, variable.type))
                exact = False
        return map_to(affine.universe(), values), exact

    def _make(
        self,
        key: Operation | Init,
        label: str,
        site: _Site,
        names: tuple[str, ...],
        domain: isl.Set,
        exact: bool,
        instances: isl.Map,
        axes: isl.Map,
        is_named: bool,
        found: Sequence[StatementAccess],
        control: Sequence[StatementAccess] = (),
        *,
        phase: int = 2,
    ) -> Statement:
        groups: dict[SSAValue | None, list[tuple[StatementAccess, isl.Map]]] = {}
        for access in found:
            groups.setdefault(access.memory, []).append((access, axes.apply_range(access.relation)))
        for access in control:
            groups.setdefault(access.memory, []).append((access, access.relation))
        groups = {m: [(a, self._append_threads(m, r, site)) for a, r in group] for m, group in groups.items()}
        accesses = {memory: merge_accesses(group, domain, exact and is_named) for memory, group in groups.items()}
        time = self._time(site, domain.get_space(), phase)
        not_affine = tuple(dict.fromkeys(_text(a.op) for a in (*found, *control) if a.not_affine))
        top = key.block if isinstance(key, Init) else key
        may_run = exact and is_named and not not_affine and is_total(top)
        return Statement(
            key, label, site.path, names, domain, instances.intersect_domain(domain), time, phase, exact,
            is_named, accesses, not_affine, may_run,
        )  # fmt: skip

    def _append_threads(self, memory: SSAValue | None, relation: isl.Map, site: _Site) -> isl.Map:
        """{ execution -> element } of memory private to a thread, with the thread indices appended to the element."""
        axes = self.thread_axes(memory)
        if not axes:
            return relation
        dims = {thread_axis_of(loop_of_step(loop)): n for n, loop in reversed(list(enumerate(site.loops)))}
        affine = Affine(self.analyzer, self.parameters, len(site.loops))
        threads = [affine.constant(0) if a not in dims else affine.variable(dims[a]) for a in axes]
        return relation.flat_range_product(map_to(affine.universe(), threads))

    def _time(self, site: _Site, space: isl.Space, phase: int) -> isl.MultiAff:
        local = isl.LocalSpace.from_space(space)
        zero = isl.Aff.zero_on_domain(local)
        affs: list[isl.Aff] = []
        loop = 0
        for step in site.path:
            if isinstance(step, int):
                affs.append(zero.set_constant_val(step))
            else:
                affs.append(isl.Aff.var_on_domain(local, isl.dim_type.set, loop))
                loop += 1
        affs += [zero] * (self.depth - len(affs))
        affs.append(zero.set_constant_val(phase))
        return function_to(space, affs)


def _uses_directly(block: BlockOp, variables: Sequence[SSAValue]) -> bool:
    """Whether the body of a block uses loop variables directly."""
    users = (use.operation for variable in variables for use in variable.uses)
    return any(user is not block and block.is_ancestor(user) for user in users)


def merge_accesses(group: Sequence[tuple[StatementAccess, isl.Map]], domain: isl.Set, exact: bool) -> StatementAccesses:
    """The union of the accesses of a statement to one memory.

    A write that may not happen counts as a write that always happens and may keep the old value, so it is a read, too.
    """
    reads, writes, updates = list[isl.Map](), list[isl.Map](), list[isl.Map]()
    reduction: str | None = None
    for access, relation in group:
        if access.reduction is not None:
            reduction = access.reduction
            if access.is_write:
                updates.append(relation)
        elif access.is_write:
            writes.append(relation)
            if not (exact and access.exact):
                reads.append(relation)
        else:
            reads.append(relation)
    if updates and reads:  # a condition of the statement reads it: the order matters
        writes += updates
        reads += updates
        updates, reduction = [], None
    return StatementAccesses(union_of(reads, domain), union_of(writes, domain), union_of(updates, domain), reduction)


def _contains_load(op: Operation) -> bool:
    return isinstance(op, LoadOp) or any(isinstance(i, LoadOp) for r in op.regions for i in r.walk())


def _label(op: Operation) -> str:
    """The name of a statement outside of blocks in messages."""
    if isinstance(op, StoreOp):
        return f"the store to {memory_name(op.buffer)}"
    return op.name


def _text(op: Operation) -> str:
    """An access as TVMScript text."""
    if isinstance(op, LoadOp | StoreOp):
        return f"{memory_name(op.buffer)}[{', '.join(expression_text(i) for i in op.indices)}]"
    return op.name

"""Statements of a region, with their executions, the names of these, and what they access."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import islpy as isl
from xdsl.ir import Operation, SSAValue

from ...dialects.tir import BlockOp
from ..names import loop_name
from .affine import DIM


@dataclass(frozen=True)
class Init:
    """The init of a reduction block, as a statement of its own: what `decompose_reduction` makes a block of."""

    block: BlockOp


@dataclass(frozen=True)
class Accesses:
    """What a statement does to one memory, in its executions: execution -> element.

    reads: what it reads, but for contributions.  writes: what it writes, but for contributions.  updates: the elements
    it contributes to, by which reduction.
    """

    reads: isl.Map | None = None
    writes: isl.Map | None = None
    updates: isl.Map | None = None
    reduction: str | None = None

    def with_parameters(self, names: Mapping[str, str]) -> Accesses:
        """The same accesses with other names for parameters."""
        reads, writes, updates = (
            None if m is None else _renamed(m, names) for m in (self.reads, self.writes, self.updates)
        )
        return Accesses(reads, writes, updates, self.reduction)

    def within(self, parameters: isl.Set) -> Accesses:
        """The same accesses, for some parameters."""
        reads, writes, updates = (
            None if m is None else m.intersect_params(parameters) for m in (self.reads, self.writes, self.updates)
        )
        return Accesses(reads, writes, updates, self.reduction)

    def of(self, executions: isl.Set) -> Accesses:
        """The accesses of some executions."""
        reads, writes, updates = (
            None if m is None else m.intersect_domain(executions) for m in (self.reads, self.writes, self.updates)
        )
        return Accesses(reads, writes, updates, self.reduction)

    def without_reduction(self, domain: isl.Set) -> Accesses:
        """The same accesses, with contributions as what they are besides: reads and writes."""
        if self.updates is None:
            return self
        reads, writes = (
            union_of([m for m in (other, self.updates) if m is not None], domain) for other in (self.reads, self.writes)
        )
        return Accesses(reads, writes)


@dataclass(eq=False)
class Statement:
    """A block, the init of one, or an op outside of blocks, with all its executions in the region.

    path: where it is in the region: positions, and the loops around it; an execution is a point of their values.
    domain: its executions (more than these if not `exact`).  instances: execution -> what the instance is called: the
    values of `names`, axes of a block, or of an init those that are not reduced, or loop variables.
    time: execution -> when it runs, to be compared with others of the region. Its last entry is `phase`: 0 for an
    init, 2 for what follows it; what a statement writes it writes in the next phase.
    is_named: whether the bindings of its axes are affine, and its body knows the loops by them alone; else it is named
    by loops.
    accesses: of each memory, by what stands for it (`memory_of`); None is the world outside of buffers.
    not_affine: the accesses to unknown elements.  is_total: whether it may run whatever values it reads.
    """

    key: Operation | Init
    label: str
    path: tuple[Operation | int, ...]
    names: tuple[str, ...]
    domain: isl.Set
    instances: isl.Map
    time: isl.MultiAff
    phase: int
    exact: bool = True
    is_named: bool = True
    accesses: dict[SSAValue | None, Accesses] = field(default_factory=dict[SSAValue | None, Accesses])
    not_affine: tuple[str, ...] = ()
    is_total: bool = True

    @property
    def is_block(self) -> bool:
        return isinstance(self.key, Init | BlockOp)

    @property
    def loops(self) -> tuple[Operation, ...]:
        """The loops around it in the region, outermost first."""
        return tuple(step for step in self.path if isinstance(step, Operation))

    @property
    def written(self) -> list[SSAValue | None]:
        """The memory that it writes."""
        return [m for m, a in self.accesses.items() if a.writes is not None or a.updates is not None]

    @property
    def is_called_by_loops(self) -> bool:
        """Whether its instances are called by the loops around it, and not by its axes."""
        return not self.is_block or not self.is_named

    def called_in(self, order: Sequence[int]) -> Statement:
        """The same statement, with the values that call its instances in another order."""
        return replace(self, instances=_project_in(self.instances, order), names=tuple(self.names[n] for n in order))

    def without_reduction(self, memories: Container[SSAValue | None]) -> Statement:
        """The same statement, with its contributions to some memory as reads and writes."""
        accesses = {m: a.without_reduction(self.domain) if m in memories else a for m, a in self.accesses.items()}
        return replace(self, accesses=accesses)

    def naming(self, loops: Sequence[Operation]) -> Statement:
        """The same statement, with the values of some of its loops in the names of its instances."""
        instances, names = self.instances, self.names
        identity = isl.Map.identity(self.domain.get_space().map_from_set())
        for n, loop in enumerate(self.loops):
            if loop in loops:
                instances = instances.flat_range_product(project(identity, [n]))
                names = (*names, loop_name(loop))
        return replace(self, instances=instances, names=names)

    def with_parameters(self, names: Mapping[str, str]) -> Statement:
        """The same statement with other names for parameters."""
        accesses = {m: a.with_parameters(names) for m, a in self.accesses.items()}
        domain, instances, time = (_renamed(x, names) for x in (self.domain, self.instances, self.time))
        return replace(self, domain=domain, instances=instances, time=time, accesses=accesses)

    def within(self, parameters: isl.Set) -> Statement:
        """The same statement, for some parameters."""
        accesses = {m: a.within(parameters) for m, a in self.accesses.items()}
        domain, instances = self.domain.intersect_params(parameters), self.instances.intersect_params(parameters)
        return replace(self, domain=domain, instances=instances, accesses=accesses)

    def restricted(self, executions: isl.Set) -> Statement:
        """The same statement, if only some of its executions happen."""
        accesses = {m: a.of(executions) for m, a in self.accesses.items()}
        instances = self.instances.intersect_domain(executions)
        return replace(self, domain=executions, instances=instances, accesses=accesses)

    @cached_property
    def is_injective(self) -> bool:
        """Whether no instance is executed twice."""
        return self.instances.is_injective()


def _renamed(relation: Any, names: Mapping[str, str]) -> Any:
    """A set, relation or function with other names for its parameters."""
    for prefix in ("new_", ""):  # by way of names that are not in use
        for n in range(relation.dim(DIM.param)):
            old = relation.get_space().get_dim_name(DIM.param, n)
            relation = relation.set_dim_name(DIM.param, n, prefix + names[old] if prefix else old[len("new_") :])
    return relation


def project(relation: isl.Map, kept: Sequence[int]) -> isl.Map:
    """A relation with only some of the dimensions of its range."""
    for n in reversed(range(relation.dim(DIM.out))):
        if n not in kept:
            relation = relation.project_out(DIM.out, n, 1)
    return relation


def _project_in(relation: isl.Map, order: Sequence[int]) -> isl.Map:
    """A relation with the dimensions of its range in another order."""
    result = project(relation, order[:1])
    for n in order[1:]:
        result = result.flat_range_product(project(relation, [n]))
    return result


def union_of(maps: Sequence[isl.Map], domain: isl.Set) -> isl.Map | None:
    """Some relations together, on a domain; None if there are none."""
    if not maps:
        return None
    result = maps[0]
    for relation in maps[1:]:
        result = result.union(relation)
    return result.intersect_domain(domain)

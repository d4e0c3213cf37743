"""The statements of a region, with their executions, instance names and accesses."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from xdsl.ir import Operation, SSAValue

from ...dialects.tir import BlockOp
from .. import isl
from .digits import Digit, step_name


@dataclass(frozen=True)
class Init:
    """The init of a reduction block as a statement of its own: `decompose_reduction` turns it into a block."""

    block: BlockOp


@dataclass(frozen=True)
class StatementAccesses:
    """The accesses of a statement to one memory: { execution -> element }.

    reads: the elements read, except by contributions.  writes: the elements written, except by contributions.  updates:
    the elements contributed to, by `reduction`.
    """

    reads: isl.Map | None = None
    writes: isl.Map | None = None
    updates: isl.Map | None = None
    reduction: str | None = None

    def with_parameters(self, names: Mapping[str, str]) -> StatementAccesses:
        """The same accesses with the parameters renamed."""
        reads, writes, updates = (
            None if m is None else _rename_parameters(m, names) for m in (self.reads, self.writes, self.updates)
        )
        return StatementAccesses(reads, writes, updates, self.reduction)

    def restrict_parameters(self, parameters: isl.Set) -> StatementAccesses:
        """The same accesses, restricted to some values of the parameters."""
        reads, writes, updates = (
            None if m is None else m.intersect_params(parameters) for m in (self.reads, self.writes, self.updates)
        )
        return StatementAccesses(reads, writes, updates, self.reduction)

    def restrict_executions(self, executions: isl.Set) -> StatementAccesses:
        """The same accesses, restricted to some executions."""
        reads, writes, updates = (
            None if m is None else m.intersect_domain(executions) for m in (self.reads, self.writes, self.updates)
        )
        return StatementAccesses(reads, writes, updates, self.reduction)

    def without_reduction(self, domain: isl.Set) -> StatementAccesses:
        """The same accesses, with contributions as reads and writes."""
        if self.updates is None:
            return self
        reads, writes = (
            union_of([m for m in (other, self.updates) if m is not None], domain) for other in (self.reads, self.writes)
        )
        return StatementAccesses(reads, writes)


@dataclass(eq=False)
class Statement:
    """A block, the init of a block, or an op outside of blocks, with all its executions in the region.

    path: its position in the region: positions in bodies, and the loops around it; an execution is a point of their
    values.
    domain: its executions (a superset if not `exact`).  instances: execution -> name of the instance: the values of
    `names`, which are axes of a block (for an init, the axes that are not reduced), or loop variables.
    time: execution -> time, comparable with other statements of the region. Its last entry is `phase`: 0 for an init,
    2 for the op after it; a statement writes in the phase after its own.
    is_named: whether the bindings of its axes are affine, and its body uses the loops through them alone; else it is
    named by loops.
    accesses: by the value that represents the memory (`memory_of`); None is the world outside of buffers.
    not_affine: the accesses to unknown elements.  is_total: whether it may run on any values that it reads.
    """

    key: Operation | Init
    label: str
    path: tuple[Operation | Digit | int, ...]
    names: tuple[str, ...]
    domain: isl.Set
    instances: isl.Map
    time: isl.MultiAff
    phase: int
    exact: bool = True
    is_named: bool = True
    accesses: dict[SSAValue | None, StatementAccesses] = field(default_factory=dict[SSAValue | None, StatementAccesses])
    not_affine: tuple[str, ...] = ()
    is_total: bool = True

    @property
    def is_block(self) -> bool:
        """Whether the statement is a block or the init of a block."""
        return isinstance(self.key, Init | BlockOp)

    @property
    def loops(self) -> tuple[Operation | Digit, ...]:
        """The loops around the statement in the region, outermost first; a fused loop as its digits."""
        return tuple(step for step in self.path if not isinstance(step, int))

    @property
    def written_memories(self) -> list[SSAValue | None]:
        """The memory that the statement writes."""
        return [m for m, a in self.accesses.items() if a.writes is not None or a.updates is not None]

    @property
    def is_named_by_loops(self) -> bool:
        """Whether the instances are named by the loops around the statement, and not by its axes."""
        return not self.is_block or not self.is_named

    def permute_names(self, order: Sequence[int]) -> Statement:
        """The same statement, with the values in the names of its instances in another order."""
        return replace(self, instances=_permute(self.instances, order), names=tuple(self.names[n] for n in order))

    def without_reduction(self, memories: Container[SSAValue | None]) -> Statement:
        """The same statement, with its contributions to some memory as reads and writes."""
        accesses = {m: a.without_reduction(self.domain) if m in memories else a for m, a in self.accesses.items()}
        return replace(self, accesses=accesses)

    def with_loop_names(self, loops: Sequence[Operation | Digit]) -> Statement:
        """The same statement, with the values of some of its loops appended to the names of its instances."""
        instances, names = self.instances, self.names
        identity = isl.Map.identity(self.domain.get_space().map_from_set())
        for n, loop in enumerate(self.loops):
            if loop in loops:
                instances = instances.flat_range_product(project(identity, [n]))
                names = (*names, step_name(loop))
        return replace(self, instances=instances, names=names)

    def with_parameters(self, names: Mapping[str, str]) -> Statement:
        """The same statement with the parameters renamed."""
        accesses = {m: a.with_parameters(names) for m, a in self.accesses.items()}
        domain, instances, time = (_rename_parameters(x, names) for x in (self.domain, self.instances, self.time))
        return replace(self, domain=domain, instances=instances, time=time, accesses=accesses)

    def restrict_parameters(self, parameters: isl.Set) -> Statement:
        """The same statement, restricted to some values of the parameters."""
        accesses = {m: a.restrict_parameters(parameters) for m, a in self.accesses.items()}
        domain, instances = self.domain.intersect_params(parameters), self.instances.intersect_params(parameters)
        return replace(self, domain=domain, instances=instances, accesses=accesses)

    def restrict_executions(self, executions: isl.Set) -> Statement:
        """The same statement, restricted to some of its executions."""
        accesses = {m: a.restrict_executions(executions) for m, a in self.accesses.items()}
        instances = self.instances.intersect_domain(executions)
        return replace(self, domain=executions, instances=instances, accesses=accesses)

    @cached_property
    def is_injective(self) -> bool:
        """Whether no instance is executed twice."""
        return self.instances.is_injective()


def _rename_parameters(relation: Any, names: Mapping[str, str]) -> Any:
    """A set, relation or function with its parameters renamed."""
    for prefix in ("new_", ""):  # through names that are not in use
        for n in range(relation.dim(isl.dim_type.param)):
            old = relation.get_space().get_dim_name(isl.dim_type.param, n)
            relation = relation.set_dim_name(
                isl.dim_type.param, n, prefix + names[old] if prefix else old[len("new_") :]
            )
    return relation


def project(relation: isl.Map, kept: Sequence[int]) -> isl.Map:
    """A relation with only the dimensions `kept` of its range."""
    for n in reversed(range(relation.dim(isl.dim_type.out))):
        if n not in kept:
            relation = relation.project_out(isl.dim_type.out, n, 1)
    return relation


def _permute(relation: isl.Map, order: Sequence[int]) -> isl.Map:
    """A relation with the dimensions of its range in another order."""
    result = project(relation, order[:1])
    for n in order[1:]:
        result = result.flat_range_product(project(relation, [n]))
    return result


def union_of(maps: Sequence[isl.Map], domain: isl.Set) -> isl.Map | None:
    """The union of relations, on a domain; None for an empty sequence."""
    if not maps:
        return None
    result = maps[0]
    for relation in maps[1:]:
        result = result.union(relation)
    return result.intersect_domain(domain)

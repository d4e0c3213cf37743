"""The execution order of statements, relative to each other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.ir import Operation

from .. import isl
from .digits import Digit
from .statements import Statement


@dataclass(frozen=True)
class AccessEvent:
    """The accesses of one kind of a statement to one memory.

    phase: the part of an execution in which they happen.  relation: { execution -> element }.
    """

    statement: Statement
    phase: int
    relation: isl.Map

    def prefix(self, count: int) -> isl.Map:
        """{ the first `count` loop values -> element }."""
        return self.relation.project_out(isl.dim_type.in_, count, self.relation.dim(isl.dim_type.in_) - count)

    def relation_by_instance(self) -> isl.Map:
        """{ instance -> element }."""
        return self.relation.apply_domain(self.statement.instances)


def relative_order(a: AccessEvent, b: AccessEvent) -> tuple[int, int]:
    """The number of loops that two events share, and their order in one iteration of these: -1 if `a` is first, 1 if
    `b` is, 0 if they happen at the same time."""
    shared = 0
    for x, y in zip(a.statement.path, b.statement.path, strict=False):
        if not isinstance(x, int) and x == y:
            shared += 1
        elif x != y:
            return shared, -1 if _index(x) < _index(y) else 1
    return shared, (a.phase > b.phase) - (a.phase < b.phase)


def _index(step: Operation | Digit | int) -> int:
    assert isinstance(step, int)
    return step


def pairs_before(a: AccessEvent, b: AccessEvent, fixed: int = 0) -> isl.Map | None:
    """The pairs of iterations of the shared loops in which `a` happens before `b`, on one element; None if no such pair
    exists.

    fixed: the number of outer loops with the same values for both.
    """
    shared, first = relative_order(a, b)
    pairs = a.prefix(shared).apply_range(b.prefix(shared).reverse())
    for level in range(shared):
        if level >= fixed:
            earlier = pairs.order_lt(isl.dim_type.in_, level, isl.dim_type.out, level)
            if not earlier.is_empty():
                return earlier
        pairs = pairs.equate(isl.dim_type.in_, level, isl.dim_type.out, level)
    return pairs if first < 0 and not pairs.is_empty() else None


def reads_before_writes(reader: AccessEvent, writer: AccessEvent, elements: isl.Set) -> isl.Map:
    """The reads of `elements` that precede every write of the same element: { shared loop values -> element }."""
    shared, first = relative_order(writer, reader)
    rest = reader.prefix(shared).intersect_range(elements)
    if first < 0:
        rest = rest.subtract(writer.prefix(shared))
    for level in reversed(range(shared)):
        if rest.is_empty():
            break
        earlier = writer.prefix(level + 1).apply_domain(_later_iterations(rest.get_space(), level))
        rest = rest.subtract(earlier.insert_dims(isl.dim_type.in_, level + 1, shared - level - 1))
    return rest


def _later_iterations(like: isl.Space, level: int) -> isl.Map:
    """{ p -> q }: the later iterations of the loop at `level`, in the same iterations of the loops around it."""
    result = isl.Map.universe(like.params().add_unnamed_tuple_ui(level + 1).map_from_set())
    for n in range(level):
        result = result.equate(isl.dim_type.in_, n, isl.dim_type.out, n)
    return result.order_lt(isl.dim_type.in_, level, isl.dim_type.out, level)


def lift(relation: isl.Map, count: int) -> isl.Map:
    """{ outer loop values -> element } as a relation of executions in `count` loops."""
    outer = relation.dim(isl.dim_type.in_)
    return relation.insert_dims(isl.dim_type.in_, outer, count - outer)


def is_unique(statement: Statement, fixed: int) -> bool:
    """Whether no instance is executed twice in one iteration of the outer `fixed` loops."""
    domain = statement.domain
    identity = isl.Map.identity(domain.get_space().map_from_set())
    count = domain.dim(isl.dim_type.set)
    return (
        identity.project_out(isl.dim_type.out, fixed, count - fixed)
        .flat_range_product(statement.instances)
        .is_injective()
    )


def common_loop_count(events: Sequence[AccessEvent]) -> int:
    """The number of loops around all events."""
    return min((relative_order(events[0], e)[0] for e in events), default=0)

"""Graphs of patterns over the bindings of a block: `PatternContext`, and chains of patterns, `PatternSeq`.

A pattern of the graph denotes a variable. An edge demands that the value of one variable uses another one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Self

from ...core.errors import ArgumentError
from .relax import bindings, expr

if TYPE_CHECKING:
    from .patterns import DFPattern

ANY = -1
"""The position of an operand that may be at any place."""
Variables = dict["DFPattern", expr.Var]
"""The variables that patterns denote."""
_IN_TUPLE = ("relax.call_tir", "relax.call_tir_inplace", "relax.call_dps_packed")
"""The calls whose operands are the fields of their second argument."""


@dataclass(frozen=True)
class Edge:
    """The value of `consumer` uses `producer`. index: as which operand, or `ANY`.  only: whether no other value of the
    block uses it."""

    producer: DFPattern
    consumer: DFPattern
    index: int
    only: bool


class PatternContext:
    """Patterns of several variables of a block. Inside of `with PatternContext() as ctx`, calls of patterns, `^` and
    `>>` add the demand that one value uses another one."""

    _entered: ClassVar[list[PatternContext]] = []

    def __init__(self, incremental: bool = False):
        """incremental: whether the demands of the context around it hold too. ArgumentError if there is none."""
        outer = PatternContext.current() if incremental else None
        if incremental and outer is None:
            raise ArgumentError("PatternContext: incremental outside of a context, expected `with PatternContext()`")
        self.edges: list[Edge] = [] if outer is None else list(outer.edges)
        self.shapes: list[Sequence[DFPattern]] = [] if outer is None else list(outer.shapes)

    def __enter__(self) -> Self:
        PatternContext._entered.append(self)
        return self

    def __exit__(self, *error: object) -> None:
        PatternContext._entered.pop()

    @staticmethod
    def current() -> PatternContext | None:
        """The innermost context, None without one."""
        return PatternContext._entered[-1] if PatternContext._entered else None

    def match_dfb(self, dfb: bindings.BindingBlock) -> Variables | None:
        """A variable for each pattern, different ones for different patterns, so that all demands hold in a block; None
        if there are none. Earlier bindings have precedence."""
        return self.match_bindings(dfb.bindings)

    def match_bindings(self, several: Sequence[bindings.Binding]) -> Variables | None:
        """As `match_dfb`, in bindings."""
        return _Search(self, several).run()

    @property
    def patterns(self) -> list[DFPattern]:
        """The patterns with demands, in order."""
        connected = [each for edge in self.edges for each in (edge.producer, edge.consumer)]
        return list(dict.fromkeys([*connected, *(each for shape in self.shapes for each in shape)]))


def connect(producer: DFPattern, consumer: DFPattern, index: int = ANY, only: bool = False) -> None:
    """Adds a demand to the current context, if there is one."""
    context = PatternContext.current()
    if context is not None:
        context.edges.append(Edge(producer, consumer, index, only))


def demand_same_shape(patterns: Sequence[DFPattern]) -> None:
    """Demands in the current context that variables have equal shapes. ArgumentError outside of a context."""
    context = PatternContext.current()
    if context is None:
        raise ArgumentError("same_shape_as: outside of a context, expected `with PatternContext()`")
    context.shapes.append(patterns)


class PatternSeq:
    """Patterns of which each is used by the next one."""

    def __init__(self, patterns: Sequence[DFPattern], only_use: bool = False):
        """only_use: whether each is used by the next one only."""
        self.patterns = list(patterns)
        self._only = [only_use] * (len(self.patterns) - 1)
        for first, second in zip(self.patterns, self.patterns[1:], strict=False):
            connect(first, second, only=only_use)

    def __getitem__(self, index: int) -> DFPattern:
        return self.patterns[index]

    def used_by(self, other: DFPattern | PatternSeq, index: int = ANY) -> PatternSeq:
        """The chain with another one, whose first pattern uses the last one of this chain. index: as which operand."""
        return self._followed_by(other, index, only=False)

    def only_used_by(self, other: DFPattern | PatternSeq, index: int = ANY) -> PatternSeq:
        """As `used_by`, where no other value of the block uses the last one of this chain."""
        return self._followed_by(other, index, only=True)

    __xor__ = used_by
    __rshift__ = only_used_by

    def _followed_by(self, other: DFPattern | PatternSeq, index: int, only: bool) -> PatternSeq:
        rest = other if isinstance(other, PatternSeq) else PatternSeq([other])
        connect(self.patterns[-1], rest.patterns[0], index, only)
        return PatternSeq._of([*self.patterns, *rest.patterns], [*self._only, only, *rest._only])

    @staticmethod
    def _of(patterns: Sequence[DFPattern], only: Sequence[bool]) -> PatternSeq:
        """A chain whose demands are in the context."""
        chain = PatternSeq.__new__(PatternSeq)
        chain.patterns, chain._only = list(patterns), list(only)
        return chain

    def dup(self) -> PatternSeq:
        """A chain of new patterns with the same demands."""
        chain = PatternSeq._of([each.dup() for each in self.patterns], self._only)
        for first, second, only in zip(chain.patterns, chain.patterns[1:], self._only, strict=False):
            connect(first, second, only=only)
        return chain

    def fork_to(self, *others: DFPattern | PatternSeq) -> None:
        """Demands that each of others uses the last pattern."""
        for each in others:
            self.used_by(each)


# Search


def _variables_in(value: expr.Expr) -> Iterator[expr.Var]:
    if isinstance(value, expr.Var):
        yield value
    else:
        for child in value.children:
            yield from _variables_in(child)


def _operands(value: expr.Expr) -> Sequence[Any]:
    if not isinstance(value, expr.Call):
        return value.children
    if isinstance(value.op, expr.Op) and value.op.name in _IN_TUPLE and isinstance(value.args[1], expr.Tuple):
        return value.args[1].fields
    return value.args


class _Search:
    """The search for variables, depth first."""

    def __init__(self, context: PatternContext, several: Sequence[bindings.Binding]):
        self.edges, self.shapes, self.patterns = context.edges, context.shapes, context.patterns
        self.values: dict[expr.Var, expr.Expr] = {}
        self.users: dict[expr.Var, list[expr.Var]] = {}
        for each in several:
            if not isinstance(each, bindings.VarBinding | bindings.MatchCast):
                continue
            self.values[each.var] = each.value
            for var in dict.fromkeys(_variables_in(each.value)):
                self.users.setdefault(var, []).append(each.var)
        self.variables = list(dict.fromkeys([*self.users, *self.values]))

    def run(self) -> Variables | None:
        """The variables of all patterns, None without a solution or patterns."""
        return self._complete({}) if self.patterns else None

    def _complete(self, known: Variables) -> Variables | None:
        if len(known) == len(self.patterns):
            return known
        pattern, candidates = self._next(known)
        taken = set(known.values())
        for var in candidates:
            new = {**known, pattern: var}
            if var in taken or not self._holds(pattern, new) or pattern.find(var, dict[Any, Any](known)) is None:
                continue
            found = self._complete(new)
            if found is not None:
                return found
        return None

    def _next(self, known: Variables) -> tuple[DFPattern, Sequence[expr.Var]]:
        """A pattern without a variable, and the variables that it may denote: a pattern next to one with a variable."""
        for edge in self.edges:
            if edge.producer in known and edge.consumer not in known:
                return edge.consumer, self.users.get(known[edge.producer], [])
        for edge in self.edges:
            if edge.consumer in known and edge.producer not in known:
                value = self.values.get(known[edge.consumer])
                return edge.producer, [] if value is None else list(dict.fromkeys(_variables_in(value)))
        consumers = {edge.consumer for edge in self.edges}
        left = [each for each in self.patterns if each not in known]
        return next((each for each in left if each not in consumers), left[0]), self.variables

    def _holds(self, pattern: DFPattern, known: Variables) -> bool:
        """Whether all demands of a pattern hold whose patterns have variables."""
        edges = [each for each in self.edges if pattern in (each.producer, each.consumer)]
        shapes = [each for each in self.shapes if pattern in each]
        return all(self._is_used(each, known) for each in edges) and all(_same_shape(each, known) for each in shapes)

    def _is_used(self, edge: Edge, known: Variables) -> bool:
        if edge.producer not in known or edge.consumer not in known:
            return True
        producer, consumer = known[edge.producer], known[edge.consumer]
        users = self.users.get(producer, [])
        if consumer not in users or (edge.only and len(users) > 1):
            return False
        if edge.index == ANY:
            return True
        operands = _operands(self.values[consumer])
        return edge.index < len(operands) and operands[edge.index] is producer


def _same_shape(patterns: Sequence[DFPattern], known: Mapping[DFPattern, expr.Var]) -> bool:
    shapes = [known[each].struct_info.shape for each in patterns if each in known]
    return not shapes or (shapes[0] is not None and all(each == shapes[0] for each in shapes))


__all__ = ["PatternContext", "PatternSeq"]

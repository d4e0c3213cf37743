"""The values that no clause of a match has a pattern for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product

from ....core.errors import OptionError
from ...relay.adt import (
    Constructor,
    Match,
    Pattern,
    PatternConstructor,
    PatternTuple,
    PatternWildcard,
)
from ...relay.types import GlobalTypeVar, TypeData

Types = Mapping[GlobalTypeVar, TypeData]


def unmatched_patterns(match: Match, types: Types) -> list[Pattern]:
    """Patterns of all values that no clause has, which do not overlap; none for a complete match.

    types: the data types of users by name. OptionError for a constructor of a type that they lack.
    """
    left: list[Pattern] = [PatternWildcard()]
    for clause in match.clauses:
        left = [rest for case in left for rest in _without(case, clause.lhs, types)]
    return left


def _without(case: Pattern, pattern: Pattern, types: Types) -> list[Pattern]:
    """Patterns of the values of a case that a pattern does not have."""
    if not isinstance(pattern, PatternConstructor | PatternTuple):
        return []
    if isinstance(case, PatternWildcard):
        return [rest for each in _cases(pattern, types) for rest in _without(each, pattern, types)]
    if isinstance(case, PatternConstructor) and isinstance(pattern, PatternConstructor):
        if case.constructor is not pattern.constructor:
            return [case]
    return [_with_parts(case, parts) for parts in _parts_without(case.parts, pattern.parts, types)]


def _parts_without(cases: Sequence[Pattern], patterns: Sequence[Pattern], types: Types) -> list[tuple[Pattern, ...]]:
    """The parts of the values of cases of which one at least does not have its pattern: the parts before the first such
    one have theirs."""
    found: list[tuple[Pattern, ...]] = []
    for n, (case, pattern) in enumerate(zip(cases, patterns, strict=True)):
        before = [_within(each, own, types) for each, own in zip(cases[:n], patterns[:n], strict=True)]
        found += product(*before, _without(case, pattern, types), *([each] for each in cases[n + 1 :]))
    return found


def _within(case: Pattern, pattern: Pattern, types: Types) -> list[Pattern]:
    """Patterns of the values of a case that a pattern has."""
    if not isinstance(pattern, PatternConstructor | PatternTuple):
        return [case]
    if isinstance(case, PatternWildcard):
        return [part for each in _cases(pattern, types) for part in _within(each, pattern, types)]
    if isinstance(case, PatternConstructor) and isinstance(pattern, PatternConstructor):
        if case.constructor is not pattern.constructor:
            return []
    parts = [_within(each, own, types) for each, own in zip(case.parts, pattern.parts, strict=True)]
    return [_with_parts(case, each) for each in product(*parts)]


def _cases(pattern: PatternConstructor | PatternTuple, types: Types) -> list[Pattern]:
    """Patterns of all values of the type of a pattern."""
    if isinstance(pattern, PatternTuple):
        return [PatternTuple([PatternWildcard() for _ in pattern.parts])]
    header = pattern.constructor.belong_to
    if header not in types:
        raise OptionError(f"data type {header}, expected one of the module: {', '.join(map(str, types)) or 'none'}")
    return [PatternConstructor(each, [PatternWildcard() for _ in each.inputs]) for each in types[header].constructors]


def _with_parts(case: Pattern, parts: Sequence[Pattern]) -> Pattern:
    if isinstance(case, PatternConstructor):
        constructor: Constructor = case.constructor
        return PatternConstructor(constructor, list(parts))
    return PatternTuple(list(parts))

"""The patterns of the operators that other code generators compute, by name: `cublas.matmul`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from .....core.errors import OptionError
from ...patterns import DFPattern
from ..expr import Expr

_PATTERNS: dict[str, FusionPattern] = {}


@dataclass(frozen=True)
class PatternCheckContext:
    """The facts of a match, for the check of a pattern.

    matched_expr: the whole matched expression.  annotated_expr: those that the named parts of the pattern have matched.
    matched_bindings: the expressions of the matched variables.  var_usages: the variables whose values use each
    variable.  value_to_bound_var: the variables of the matched values.
    """

    matched_expr: Expr
    annotated_expr: Mapping[str, Expr]
    matched_bindings: Mapping[Any, Expr]
    var_usages: Mapping[Any, Sequence[Any]]
    value_to_bound_var: Mapping[Expr, Any]


@dataclass(frozen=True)
class FusionPattern:
    """A pattern of operators that are to be one function.

    annotation_patterns: named parts of the pattern.  check: whether a match is to be used, by default always.
    attrs_getter: the attributes of the function of a match.
    """

    name: str
    pattern: DFPattern
    annotation_patterns: Mapping[str, DFPattern] = field(default_factory=dict[str, DFPattern])
    check: Callable[[PatternCheckContext], bool] | None = None
    attrs_getter: Callable[[Mapping[str, Expr]], Mapping[str, Any]] | None = None


PatternLike: TypeAlias = "FusionPattern | tuple[Any, ...]"
"""A pattern, or the tuple of its fields."""


def as_pattern(given: PatternLike) -> FusionPattern:
    """A pattern in any accepted form. OptionError for another value."""
    if isinstance(given, FusionPattern):
        return given
    if isinstance(given, tuple) and 2 <= len(given) <= 5:  # pyright: ignore[reportUnnecessaryIsInstance]
        name, pattern, *rest = given
        annotations = rest[0] if rest else {}
        return FusionPattern(name, pattern, annotations or {}, *rest[1:])
    raise OptionError(f"pattern {given!r}, expected a FusionPattern, or its name, pattern, named parts and check")


def register_patterns(patterns: Sequence[PatternLike]) -> None:
    """Registers patterns, of which later ones have precedence. A pattern replaces one of the same name."""
    for pattern in map(as_pattern, patterns):
        _PATTERNS.pop(pattern.name, None)
        _PATTERNS[pattern.name] = pattern


def get_patterns_with_prefix(prefix: str) -> list[FusionPattern]:
    """The patterns whose names begin with a prefix, in the order of precedence."""
    return [each for name, each in reversed(_PATTERNS.items()) if name.startswith(prefix)]


def get_pattern(name: str) -> FusionPattern | None:
    """The pattern of a name, None for an unknown one."""
    return _PATTERNS.get(name)

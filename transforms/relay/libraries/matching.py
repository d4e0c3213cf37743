"""Matching of graphs against the patterns of libraries; each operator is in at most one match. Operators that a
library declines are found with the reason."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from xdsl.ir import Block

from ....operators.relay import OperatorOp
from .library import Library
from .patterns import GraphPattern, lone_operators, operators_in


@dataclass(frozen=True)
class Match:
    """Operators of one block, in its order, that a library computes."""

    ops: tuple[OperatorOp, ...]
    library: Library


@dataclass(frozen=True)
class Refusal:
    """An operator that stays outside of a library although the library has a pattern for it."""

    op: OperatorOp
    library: Library
    reason: str


def find_matches(block: Block, libraries: Sequence[Library]) -> list[Match]:
    """The disjoint matches of libraries in a block, in the order of their results.

    Of overlapping matches, the longest is taken, then the match of the first library, of its first pattern, and finally
    the first match.
    """
    order = _operators(block)
    candidates = [
        Match(ops, library)
        for library in libraries
        for entry in library.patterns
        for root in order
        for group in _groups(root, entry.pattern)
        if _is_separate(group, root, order)
        for ops in [tuple(sorted(group, key=order.__getitem__))]
        if entry.check(ops)
    ]
    taken, matches = set[OperatorOp](), list[Match]()
    for match in sorted(candidates, key=lambda match: -len(match.ops)):  # stable
        if taken.isdisjoint(match.ops):
            taken.update(match.ops)
            matches.append(match)
    return sorted(matches, key=lambda match: order[match.ops[-1]])


def find_refusals(block: Block, libraries: Sequence[Library], matches: Sequence[Match]) -> Iterator[Refusal]:
    """The operators of a block outside of `matches` that are the result of a pattern of a library."""
    order = _operators(block)
    taken = {op for match in matches for op in match.ops}
    for root in order:
        if root not in taken and any(result.uses for result in root.results):
            for library in libraries:
                reason = _reason(root, library, order)
                if reason is not None:
                    yield Refusal(root, library, reason)


def _reason(root: OperatorOp, library: Library, order: Mapping[OperatorOp, int]) -> str | None:
    """Why a library does not compute the result of an operator; None if it has no pattern for it."""
    groups = [ops for entry in library.patterns for ops in _groups(root, entry.pattern) if root in ops]
    if not all(_is_separate(ops, root, order) for ops in groups):
        return "a result inside of the pattern has other readers, or is computed outside of the branch"
    if groups or any(root.operator.name in lone_operators(entry.pattern) for entry in library.patterns):
        return "it does not compute these types, shapes and attributes"
    return None


def _operators(block: Block) -> dict[OperatorOp, int]:
    """The operators of a block, with their positions."""
    return {op: n for n, op in enumerate(block.ops) if isinstance(op, OperatorOp)}


def _groups(root: OperatorOp, pattern: GraphPattern) -> Iterator[set[OperatorOp]]:
    """The groups of operators that compute results of `root` and match a pattern."""
    for result in root.outputs:
        for match in pattern.matches(result):
            yield operators_in(match)


def _is_separate(ops: set[OperatorOp], root: OperatorOp, order: Mapping[OperatorOp, int]) -> bool:
    """Whether operators are in one block, and no other op reads their results, except results of the root."""
    inner = ops - {root}
    return (
        root in ops
        and all(op in order for op in inner)
        and any(result.uses for result in root.results)
        and all(use.operation in ops for op in inner for result in op.results for use in result.uses)
    )

"""Matching of graphs against the patterns of libraries; each operator is in at most one match."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from xdsl.ir import Block

from ....operators.relay import OperatorOp
from .library import Library
from .patterns import GraphPattern, operators_in


@dataclass(frozen=True)
class Match:
    """Operators of one block, in its order, that a library computes."""

    ops: tuple[OperatorOp, ...]
    library: Library


def find_matches(block: Block, libraries: Sequence[Library]) -> list[Match]:
    """The disjoint matches of libraries in a block, in the order of their results.

    Of overlapping matches, the longest is taken, then the match of the first library, of its first pattern, and finally
    the first match.
    """
    order = _order(block)
    candidates = [
        Match(ops, library)
        for library in libraries
        for entry in library.patterns
        for root in order
        for ops in _groups(root, entry.pattern, order)
        if entry.check(ops)
    ]
    taken, matches = set[OperatorOp](), list[Match]()
    for match in sorted(candidates, key=lambda match: -len(match.ops)):  # stable
        if taken.isdisjoint(match.ops):
            taken.update(match.ops)
            matches.append(match)
    return sorted(matches, key=lambda match: order[match.ops[-1]])


def refusals_of(block: Block, libraries: Sequence[Library], matches: Sequence[Match]) -> dict[OperatorOp, str]:
    """The operators outside of matches that are the last ones of groups like a pattern, with the reasons why libraries
    do not compute the groups."""
    order = _order(block)
    taken = {op for match in matches for op in match.ops}
    refusals: dict[OperatorOp, str] = {}
    for library in libraries:
        for entry in library.patterns:
            for root in order:
                for ops in _alike(root, entry.pattern):
                    if taken.isdisjoint(ops):
                        is_separate = _is_separate(ops, root, order)
                        reason = f"library {library.name} does not accept its types or attributes"
                        refusals.setdefault(root, reason if is_separate else "a result has other readers, or none")
    return refusals


def _order(block: Block) -> dict[OperatorOp, int]:
    """The positions of the operators of a block."""
    return {op: n for n, op in enumerate(block.ops) if isinstance(op, OperatorOp)}


def _alike(root: OperatorOp, pattern: GraphPattern) -> Iterator[set[OperatorOp]]:
    """The groups of operators that compute results of `root` and match a pattern."""
    for result in root.outputs:
        for match in pattern.matches(result):
            yield operators_in(match)


def _groups(
    root: OperatorOp, pattern: GraphPattern, order: Mapping[OperatorOp, int]
) -> Iterator[tuple[OperatorOp, ...]]:
    """The groups of operators that compute results of `root`, match a pattern and can be outlined."""
    for ops in _alike(root, pattern):
        if _is_separate(ops, root, order):
            yield tuple(sorted(ops, key=lambda op: order[op]))


def _is_separate(ops: set[OperatorOp], root: OperatorOp, order: Mapping[OperatorOp, int]) -> bool:
    """Whether operators are in one block, and no other op reads their results, except results of the root."""
    inner = ops - {root}
    return (
        root in ops
        and all(op in order for op in inner)
        and any(result.uses for result in root.results)
        and all(use.operation in ops for op in inner for result in op.results for use in result.uses)
    )

"""Functions that are equal but for one statement."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import StringAttr
from xdsl.ir import Block, Operation, SSAValue

from ..core.walking import count_ops
from ..dialects.tir import AllocBufferOp, ForOp, FuncOp, HandleType, MatchBufferOp, SymbolOp
from ..dialects.tir.tree import with_expressions
from .index import Analyzer
from .scopes import declarations, statements

LEAST_SHARED = 200
"""The least number of operations that variants share: the functions of fewer are compiled in little time."""


@dataclass(frozen=True)
class Variant:
    """A function, and the statement by which it differs. values: from its values to those of the first function."""

    function: FuncOp
    statement: Operation
    values: dict[SSAValue, SSAValue]


def variants(functions: Iterable[FuncOp], least_shared: int = LEAST_SHARED) -> Iterator[list[Variant]]:
    """The groups of functions that are equal but for one statement, which is directly in a function or in loops that
    are neither unrolled nor vectorized. Each function is in one group at most. The first statements of functions in a
    group have the same bounds.

    least_shared: the least number of operations of the first function of a group besides the statement, which are half
    of the function at least.
    """
    groups: dict[Hashable, list[FuncOp]] = {}
    for function in functions:
        if count_ops(function) > least_shared:
            groups.setdefault(_key(function), []).append(function)
    for group in groups.values():
        yield from _variants_of(group, least_shared)


def _key(function: FuncOp) -> Hashable:
    """A part of a function that all its variants share: the number of its statements, and the head of the first."""
    inside = statements(function.body.block)
    head = () if not inside else (inside[0].name, *inside[0].properties.items())
    return function.func_attrs, function.result_type, len(inside), head


def _variants_of(group: Sequence[FuncOp], least_shared: int) -> Iterator[list[Variant]]:
    """The groups of variants among some functions: the largest with the first function, then those of the others."""
    rest = list(group)
    while len(rest) > 1:
        first, *rest = rest
        found: dict[Operation, list[Variant]] = {}
        for other in rest:
            comparison = _Comparison()
            pair = comparison.difference(first, other)
            if pair is not None and _is_worth_sharing(first, pair[0], least_shared):
                found.setdefault(pair[0], []).append(Variant(other, pair[1], comparison.to_first))
        if found:
            statement, others = max(found.items(), key=lambda item: len(item[1]))
            yield [Variant(first, statement, {}), *others]
            taken = {each.function for each in others}
            rest = [each for each in rest if each not in taken]


def _is_worth_sharing(function: FuncOp, statement: Operation, least_shared: int) -> bool:
    """Whether the operations of a function besides a statement are many."""
    own = count_ops(statement)
    return count_ops(function) - own >= max(least_shared, own)


class _Comparison:
    """A comparison of two functions. Parameters and buffers are equal where equal statements use them alike.

    to_first: the equal values so far, from those of the other function to those of the first.
    """

    def __init__(self) -> None:
        self.to_first: dict[SSAValue, SSAValue] = {}
        self._to_other: dict[SSAValue, SSAValue] = {}
        self._analyzer = Analyzer()

    def difference(self, first: FuncOp, other: FuncOp) -> tuple[Operation, Operation] | None:
        """The only statements by which two functions differ, in the innermost block that has others besides; None for
        functions that are equal or differ otherwise."""
        found = None
        one, two = first.body.block, other.body.block
        while (pair := self._only_difference(one, two)) is not None:
            found = pair if len(statements(one)) > 1 else found
            inside = self._bodies(*pair)
            if inside is None:
                break
            one, two = inside
        return found if found is not None and self._may_move(found[1]) else None

    def _only_difference(self, one: Block, two: Block) -> tuple[Operation, Operation] | None:
        """The only statements by which two blocks differ."""
        ours, theirs = statements(one), statements(two)
        if len(ours) != len(theirs):
            return None
        different = [
            (one, two)
            for one, two in zip(ours, theirs, strict=True)
            if not self._are_equal(with_expressions(one), with_expressions(two))
        ]
        return different[0] if len(different) == 1 else None

    def _bodies(self, one: Operation, two: Operation) -> tuple[Block, Block] | None:
        """The bodies of two loops that differ there only. None for other statements, and around loops that are unrolled
        or vectorized: elements of buffers stay in registers between such loops."""
        if not isinstance(one, ForOp) or not isinstance(two, ForOp):
            return None
        inside = statements(one.body.block)
        if declarations(one.body.block) or not all(map(_is_long_loop, (one, *inside))):
            return None
        heads = [with_expressions(loop) for loop in (one, two)]
        if not self._are_equal(*heads, heads_only=True):
            return None
        return one.body.block, two.body.block

    def _may_move(self, statement: Operation) -> bool:
        """Whether a statement of the other function may be in the first, with parameters and buffers of its own."""
        inside = {op for each in with_expressions(statement) for op in each.walk()}
        used = {operand for op in inside for operand in op.operands}
        ours = {result for op in inside for result in op.results}
        arguments = {each for op in inside for region in op.regions for block in region.blocks for each in block.args}
        return all(map(_is_free, used - ours - arguments - self.to_first.keys()))

    # Equality

    def _are_equal(self, ours: Sequence[Operation], theirs: Sequence[Operation], heads_only: bool = False) -> bool:
        """Whether operations are equal, without their regions if `heads_only`. The values of those that differ are not
        remembered."""
        known = len(self.to_first)
        if self._equal_ops(ours, theirs, heads_only):
            return True
        while len(self.to_first) > known:
            del self._to_other[self.to_first.popitem()[1]]
        return False

    def _equal_ops(self, ours: Sequence[Operation], theirs: Sequence[Operation], heads_only: bool = False) -> bool:
        if len(ours) != len(theirs):
            return False
        for a, b in zip(ours, theirs, strict=True):
            if not self._equal(a, b, heads_only):
                return False
        return True

    def _equal(self, a: Operation, b: Operation, heads_only: bool) -> bool:
        if type(a) is not type(b) or a.properties != b.properties or a.attributes != b.attributes:
            return False
        ours, theirs = tuple(a.operands), tuple(b.operands)
        if (len(ours), len(a.results), len(a.regions)) != (len(theirs), len(b.results), len(b.regions)):
            return False
        for one, two in zip(ours, theirs, strict=True):
            if self.to_first.get(two) is not one and not self._same(one, two):
                return False
        for one, two in zip(a.results, b.results, strict=True):
            if one.type != two.type:
                return False
        self._pair(a.results, b.results)
        for ours, theirs in zip(a.regions, b.regions, strict=True):
            for one, two in zip(ours.blocks, theirs.blocks, strict=True):
                if one.arg_types != two.arg_types:
                    return False
                self._pair(one.args, two.args)
                if not heads_only and not self._equal_ops(list(one.ops), list(two.ops)):
                    return False
        return True

    def _pair(self, ours: Iterable[SSAValue], theirs: Iterable[SSAValue]) -> None:
        for one, two in zip(ours, theirs, strict=True):
            self.to_first[two], self._to_other[one] = one, two

    def _same(self, one: SSAValue, two: SSAValue) -> bool:
        """Whether two values are equal. Parameters, buffers and symbols that no statement has used so far become equal,
        buffers of dynamic size if their sizes are."""
        if two in self.to_first or one in self._to_other:
            return self.to_first.get(two) is one
        if not (_is_free(one) and _is_free(two) and one.type == two.type):
            return False
        ours, theirs = one.owner, two.owner
        if isinstance(ours, AllocBufferOp | MatchBufferOp):
            if not isinstance(theirs, type(ours)) or ours.properties | _NO_NAME != theirs.properties | _NO_NAME:
                return False
            if not all(self._same_size(a, b) for a, b in zip(ours.operands, theirs.operands, strict=True)):
                return False
        elif type(ours) is not type(theirs):
            return False
        self._pair([one], [two])
        return True

    def _same_size(self, one: SSAValue, two: SSAValue) -> bool:
        """Whether two handles are equal, or two extents are equal multiples of equal symbols."""
        if isinstance(one.type, HandleType) or isinstance(two.type, HandleType):
            return self._same(one, two)
        ours, theirs = self._analyzer.exact(one), self._analyzer.exact(two)
        pairs = list(zip(ours.terms.items(), theirs.terms.items(), strict=False))
        return (ours.const, len(ours.terms)) == (theirs.const, len(theirs.terms)) and all(
            k == m and isinstance(a, SSAValue) and isinstance(b, SSAValue) and self._same(a, b)
            for (a, k), (b, m) in pairs
        )


_NO_NAME = {"buffer_name": StringAttr("")}


def _is_long_loop(statement: Operation) -> bool:
    return isinstance(statement, ForOp) and statement.kind.data in ("serial", "parallel")


def _is_free(value: SSAValue) -> bool:
    """Whether a value is a parameter of a function, or a buffer or symbol that it declares."""
    owner = value.owner
    if isinstance(owner, AllocBufferOp | MatchBufferOp | SymbolOp):
        return True
    return isinstance(owner, Block) and isinstance(owner.parent_op(), FuncOp)

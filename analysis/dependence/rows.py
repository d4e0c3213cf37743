"""Rows of symbolic length: elements of a buffer that no two iterations of a loop share, though their indices are not
affine."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import VectorType
from xdsl.ir import SSAValue

from ...core.walking import find_ops
from ...dialects.tir import AccessOp, BlockOp, ForOp, LoadOp, StoreOp
from ..index import Lin, ProductAtom
from ..index.analyzer import assume_iterations
from ..index.terms import exact_quotient
from ..threads.memories import memory_of
from .affine import IndexAnalyzer


def has_own_rows(loop: ForOp, memory: SSAValue) -> bool:
    """Whether each iteration of a loop accesses a row of a memory of its own: an index of all accesses is
    `variable * length + base + column` with the same length and base, which the loop does not change, and with
    `0 <= column < length`.

    False for a memory that other operations than loads and stores of one buffer use.
    """
    if loop.mixed_bounds[2] != 1:
        return False
    accesses = list[LoadOp | StoreOp]()
    for op in loop.body.walk():
        if any(memory_of(value) is memory for value in op.operands):
            if isinstance(op, LoadOp | StoreOp):
                accesses.append(op)
            elif not isinstance(op, AccessOp):
                return False
    if len({op.buffer for op in accesses}) != 1:
        return False
    rows = _Rows(loop)
    return any(rows.are_separate(accesses, dimension) for dimension in range(len(accesses[0].indices)))


class _Rows:
    """The rows of indices in a loop."""

    def __init__(self, loop: ForOp):
        self.loop = loop
        self.analyzer = IndexAnalyzer()
        self.bindings: dict[SSAValue, Lin] = {}
        for block in find_ops(loop, BlockOp):  # outer blocks first
            for axis, variable in zip(block.axes, block.variables, strict=True):
                self.bindings[variable] = self._index(axis.binding)

    def are_separate(self, accesses: Sequence[LoadOp | StoreOp], dimension: int) -> bool:
        """Whether the indices of accesses in a dimension have a row for each iteration."""
        found = set[tuple[Lin, Lin] | None]()
        for op in accesses:
            with self.analyzer.assumptions():
                for loop in find_ops(self.loop, ForOp):
                    if loop.is_ancestor(op):  # the access is executed in an iteration
                        assume_iterations(self.analyzer, Lin.of(loop.variable))
                found.add(self._row(op.indices[dimension]))
        return len(found) == 1 and None not in found

    def _row(self, index: SSAValue) -> tuple[Lin, Lin] | None:
        """The length and the base of the row of an index; None without a row, and for several indices of a vector."""
        if isinstance(index.type, VectorType):
            return None
        variable = self.loop.variable
        lin = self._index(index)
        row, base, column = Lin(), Lin(), Lin(lin.const)
        for atom, factor in lin.terms.items():
            term = Lin.of(atom, factor)
            if atom is variable or (isinstance(atom, ProductAtom) and variable in atom.factors):
                row += term
            elif self._is_fixed(term):
                base += term
            else:
                column += term
        length = exact_quotient(row, Lin.of(variable))
        if length is None or not self._is_fixed(length):
            return None
        for first, rest in ((base, column), (Lin(), base + column)):
            if self.analyzer.is_provably("ge", rest, 0) and self.analyzer.is_provably("lt", rest, length):
                return length, first
        return None

    def _is_fixed(self, lin: Lin) -> bool:
        """Whether the loop does not change a sum."""
        return not any(self.loop.is_ancestor(leaf.owner) for leaf in lin.leaves())

    def _index(self, value: SSAValue) -> Lin:
        """An index as a sum, with the bindings of axes in place of the axes."""
        return self.analyzer.substitute(self.analyzer.exact(value), self.bindings)

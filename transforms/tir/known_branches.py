"""Copies of loops and branches without the branches that are never taken."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from xdsl.ir import Block, Operation, Region, SSAValue

from ...analysis.index import Analyzer
from ...core.walking import find_ops
from ...dialects.tir import ForOp, IfOp, IfThenElseOp, YieldOp
from ...dialects.tir.tree import is_pure_expression


@dataclass
class Place:
    """The place of copies: before an operation, or at the end of a block.

    values: the originals whose copies are here.
    """

    block: Block
    before: Operation | None = None
    values: list[SSAValue] = field(default_factory=list[SSAValue])

    @classmethod
    def before_op(cls, op: Operation) -> Place:
        """The place before an operation."""
        assert op.parent is not None
        return cls(op.parent, op)

    def insert(self, op: Operation) -> None:
        """Inserts a copy, after those that are here."""
        if self.before is None:
            self.block.add_op(op)
        else:
            self.block.insert_op_before(op, self.before)


class KnownBranches:
    """Copies of operations, for which conditions are decided under the assumptions of an analyzer.

    A branch or lazy choice whose condition is decided is replaced by the operations of the side that it takes. A pure
    expression is copied where its value is first used, so that those without uses are left out; branches and loops
    without statements are left out too, except for loops that bind threads.

    values: the copies of values.
    """

    def __init__(self, analyzer: Analyzer):
        self.analyzer = analyzer
        self.values: dict[SSAValue, SSAValue] = {}
        self._places: dict[Block | None, Place] = {}

    def undecided_branches(self, block: Block) -> Iterator[IfOp | IfThenElseOp]:
        """Yields the branches and lazy choices in a block whose conditions are undecided, in the order of the text,
        without those on sides that are never taken."""
        never = list[Region]()
        for op in find_ops(block, IfOp, IfThenElseOp):
            if any(region.is_ancestor(op) for region in never):
                continue
            known = self.analyzer.decide(op.condition)
            if known is None:
                yield op
            else:
                never.append(op.orelse if known else op.then)

    def copy_region(self, region: Region, target: Region) -> bool:
        """Copies the blocks of a region to an empty region. Returns whether the copies have operations."""
        found = False
        for block in region.blocks:
            target.add_block(new := Block(arg_types=block.arg_types))
            for old, argument in zip(block.args, new.args, strict=True):
                argument.name_hint = old.name_hint
            self.copy_block(block, Place(new), new.args)
            found = found or new.first_op is not None
        return found

    def copy_block(self, block: Block, place: Place, arguments: Iterable[SSAValue]) -> None:
        """Copies the operations of a block to a place. arguments: the values of the arguments of the block."""
        self._places[block] = place
        for old, argument in zip(block.args, arguments, strict=True):
            self._set(old, argument, place)
        for op in block.ops:
            self._copy(op, place)
        del self._places[block]
        for value in place.values:
            del self.values[value]

    def copy_loop(self, loop: ForOp, place: Place) -> None:
        """Copies a loop to a place."""
        self._clone(loop, place)

    def value(self, original: SSAValue) -> SSAValue:
        """The copy of a value; the value itself if it is not from a copied region."""
        values, places = self.values, self._places
        todo = [original]
        while todo:
            top = todo[-1]
            place = None if top in values else places.get(_block_of(top))
            if place is None:
                todo.pop()
                continue
            assert isinstance(top.owner, Operation)
            missing = [each for each in top.owner.operands if each not in values and _block_of(each) in places]
            if missing:  # operands first, so that the depth of calls does not grow with the expression
                todo += missing
                continue
            self._clone(top.owner, place)
        return self.values.get(original, original)

    def _set(self, original: SSAValue, value: SSAValue, place: Place) -> None:
        self.values[original] = value
        place.values.append(original)

    def _copy(self, op: Operation, place: Place) -> None:
        """Copies an operation to a place, unless it is a pure expression."""
        if not op.regions:
            if not is_pure_expression(op):
                self._clone(op, place)
        elif isinstance(op, IfOp | IfThenElseOp):
            known = self.analyzer.decide(op.condition)
            if known is None:
                self._clone(op, place)
            else:
                self._copy_side(op, (op.then if known else op.orelse).block, place)
        elif isinstance(op, ForOp):
            self.copy_loop(op, place)
        else:
            self._clone(op, place)

    def _copy_side(self, op: IfOp | IfThenElseOp, side: Block, place: Place) -> None:
        """Copies the operations of the side that a branch or choice takes."""
        self._places[side] = place
        for inner in side.ops:
            if isinstance(inner, YieldOp):
                self._set(op.results[0], self.value(inner.value), place)
            else:
                self._copy(inner, place)
        del self._places[side]

    def _clone(self, op: Operation, place: Place) -> None:
        for operand in op.operands:
            if operand not in self.values:
                self.value(operand)
        copy = op.clone_without_regions(self.values)
        place.values += op.results
        self.add_copy(op, copy, place)

    def add_copy(self, op: Operation, copy: Operation, place: Place) -> None:
        """Copies the regions of an operation to those of its copy, and adds the copy to a place, unless the operation
        is a branch or loop, and the copy has no statements."""
        if op.regions:
            found = [self.copy_region(*regions) for regions in zip(op.regions, copy.regions, strict=True)]
            if not any(found) and isinstance(op, IfOp | ForOp) and not _binds_thread(op):
                copy.erase()
                return
        place.insert(copy)


def _block_of(value: SSAValue) -> Block | None:
    owner = value.owner
    return owner if isinstance(owner, Block) else owner.parent


def _binds_thread(op: Operation) -> bool:
    return isinstance(op, ForOp) and op.kind.data == "thread_binding"

"""Copies of expressions and simple statements, with replacements for some values."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field

from xdsl.ir import Block, Operation, SSAValue

from ...analysis.names import block_name
from ...analysis.scopes import statements
from ...core.errors import ScheduleError
from ...core.walking import find_ops
from ...dialects.text.names import source_name
from ...dialects.tir import AccessOp, BlockOp, IfOp, IfThenElseOp, LetOp, LoadOp, StoreOp, TirBuilder, YieldOp
from ...dialects.tir.tree import is_expression_op

Replace = Callable[[TirBuilder, SSAValue], SSAValue | None]
"""Emits the replacement of a value at a builder's point; None for the value, or a copy of the op that computes it."""


@dataclass
class Copier:
    """Copies the expressions inside of an op; names (`tir.let`) are looked through.

    source: the op; values defined outside of it are used as they are.  replace: called for each value first.
    loads: the copies of loads.
    """

    source: Operation
    replace: Replace
    loads: list[LoadOp] = field(default_factory=list[LoadOp])

    def value(self, builder: TirBuilder, value: SSAValue) -> SSAValue:
        """A copy of the value, computed at the builder's point."""
        return self._value(builder, value, {})

    def _value(self, builder: TirBuilder, value: SSAValue, known: dict[SSAValue, SSAValue]) -> SSAValue:
        if value not in known:
            new = self.replace(builder, value)
            known[value] = self._copy(builder, value, known) if new is None else new
        return known[value]

    def _copy(self, builder: TirBuilder, value: SSAValue, known: dict[SSAValue, SSAValue]) -> SSAValue:
        op = value.owner
        if isinstance(op, Block) or not self.source.is_ancestor(op):
            return value
        if isinstance(op, LetOp):
            return self._value(builder, op.value, known)
        if not is_expression_op(op):
            return value
        operands = {old: self._value(builder, old, known) for old in op.operands}
        if isinstance(op, IfThenElseOp):
            return builder.if_then_else(
                operands[op.condition],
                op.result.type,
                lambda: self._value(builder, _yield_value(op.then.block), dict(known)),
                lambda: self._value(builder, _yield_value(op.orelse.block), dict(known)),
            )
        copy = builder.insert(op.clone(operands))
        if isinstance(copy, LoadOp):
            self.loads.append(copy)
        return copy.results[0]

    def statements(self, builder: TirBuilder, ops: Iterable[Operation], store: Callable[[TirBuilder, StoreOp], None]):
        """Copy statements that `why_not_simple` accepts; `store` emits the replacement of a store."""
        for op in ops:
            match op:
                case StoreOp():
                    store(builder, op)
                case IfOp():
                    branch = builder.insert(IfOp(self.value(builder, op.condition)))
                    for old, new in ((op.then, branch.then), (op.orelse, branch.orelse)):
                        with builder.at(new.block):
                            self.statements(builder, statements(old.block), store)
                case _:
                    pass  # a name (`tir.let`) is looked through


def _yield_value(block: Block) -> SSAValue:
    last = block.last_op
    assert isinstance(last, YieldOp)
    return last.value


def why_not_simple(ops: Iterable[Operation]) -> Operation | None:
    """The first statement that is neither a store of a scalar, nor a name, nor a branch of such statements, or None."""
    for op in ops:
        match op:
            case LetOp():
                pass
            case StoreOp() if op.predicate is None and op.value.type == _element(op):
                pass
            case IfOp():
                inner = next((o for r in op.regions if (o := why_not_simple(statements(r.block))) is not None), None)
                if inner is not None:
                    return inner
            case _:
                return op
    return None


def _element(op: StoreOp) -> object:
    return op.buffer.type.element_type  # pyright: ignore[reportAttributeAccessIssue]


def stores_in(ops: Iterable[Operation]) -> Iterator[StoreOp]:
    """The stores among the statements `ops` and nested in them."""
    for op in ops:
        for inner in op.walk():
            if isinstance(inner, StoreOp):
                yield inner


def loads_in(op: Operation) -> Iterator[LoadOp]:
    """The loads nested in an op."""
    return find_ops(op, LoadOp)


def outer_values(op: Operation) -> Iterator[SSAValue]:
    """The values that the body of a block uses but does not define; the declared accesses do not count as uses."""
    for inner in op.walk():
        if inner is not op and not isinstance(inner, AccessOp):
            yield from (value for value in inner.operands if not op.is_ancestor(value.owner))


def require_invariant_values(block: BlockOp, place: Operation) -> None:
    """Raise ScheduleError unless the region of `place`, or an enclosing one, defines each outer value used by a block.

    Then the values are the same in all statements to which `place` is visible."""
    for value in outer_values(block):
        home = value.owner if isinstance(value.owner, Block) else value.owner.parent
        if home is not None and not home.is_ancestor(place):
            raise ScheduleError(
                f"block {block_name(block)} uses {source_name(value) or 'a value'}, which is none of its axes and may "
                "be another where its values are used",
                [block],
            )

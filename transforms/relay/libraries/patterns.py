"""Patterns of operators in graphs, by the names of TVM's dataflow patterns.

is_op("nn.relu")(is_op("nn.dense")(wildcard(), wildcard()))   a relu of a dense
is_op("nn.dense")(x, x)                                       x: the same tensor twice
a | b                                                         one or the other, the first if both
p.optional(lambda x: is_op("nn.relu")(x))                     a relu of it if there is one
p.has_attr({"axis": -1}), p.has_dtype("float32"), p.has_shape((1, "n"))
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import permutations
from typing import Any

from xdsl.ir import BlockArgument, SSAValue

from ....operators import operator_of
from ....operators.relay import ConstantOp, OperatorOp, Size, dtype_of_tensor, shape_of

Found = Mapping["Pattern", SSAValue]
"""What patterns stand for."""

_COMMUTATIVE = ("add", "multiply")
"""Operators whose operands stand in any order."""


@dataclass(frozen=True, eq=False)
class Pattern:
    """Something that tensors of a graph match or do not. One that stands in several places is the same tensor there."""

    def matches(self, value: SSAValue, found: Found | None = None) -> Iterator[Found]:
        """Each way in which a tensor matches, beside what has been found; that which is written first comes first."""
        found = {} if found is None else found
        if self in found:
            if found[self] is value:
                yield found
            return
        for more in self._inside(value, found):
            yield {**more, self: value}

    def _inside(self, value: SSAValue, found: Found) -> Iterator[Found]:
        """Each way in which the parts of the pattern match."""
        raise NotImplementedError

    def __or__(self, other: Pattern) -> Pattern:
        return AltPattern(self, other)

    def optional(self, option: Callable[[Pattern], Pattern]) -> Pattern:
        """What `option` makes of this, or this alone: the longer one if both match."""
        return AltPattern(option(self), self)

    def has_attr(self, attributes: Mapping[str, Any]) -> Pattern:
        """This, computed by an operator with such attributes, said or by default."""
        return WherePattern(self, lambda value: _has_attributes(value, attributes))

    def has_dtype(self, *dtypes: str) -> Pattern:
        """This, of one of some data types."""
        return WherePattern(self, lambda value: dtype_of_tensor(value) in dtypes)

    def has_shape(self, shape: Sequence[Size]) -> Pattern:
        """This, of a shape; sizes that are not known are expressions of names."""
        return WherePattern(self, lambda value: shape_of(value) == tuple(shape))


class WildcardPattern(Pattern):
    """Any tensor."""

    def _inside(self, value: SSAValue, found: Found) -> Iterator[Found]:
        yield found


class ConstantPattern(Pattern):
    """A constant."""

    def _inside(self, value: SSAValue, found: Found) -> Iterator[Found]:
        if isinstance(value.owner, ConstantOp):
            yield found


class VarPattern(Pattern):
    """A parameter of the function."""

    def _inside(self, value: SSAValue, found: Found) -> Iterator[Found]:
        if isinstance(value, BlockArgument):
            yield found


@dataclass(frozen=True, eq=False)
class CallPattern(Pattern):
    """A result of an operator. args: its operands; None for any."""

    operator: str
    args: tuple[Pattern, ...] | None = None

    def __call__(self, *args: Pattern) -> CallPattern:
        """The operator with such operands."""
        return CallPattern(self.operator, args)

    def _inside(self, value: SSAValue, found: Found) -> Iterator[Found]:
        op = value.owner
        if not isinstance(op, OperatorOp) or op.operator.name != self.operator:
            return
        if self.args is None:
            yield found
        elif len(self.args) == len(op.args):
            orders = permutations(op.args) if self.operator in _COMMUTATIVE else [tuple(op.args)]
            for operands in orders:
                yield from _all(self.args, operands, found)


@dataclass(frozen=True, eq=False)
class AltPattern(Pattern):
    """One or the other."""

    left: Pattern
    right: Pattern

    def _inside(self, value: SSAValue, found: Found) -> Iterator[Found]:
        yield from self.left.matches(value, found)
        yield from self.right.matches(value, found)


@dataclass(frozen=True, eq=False)
class WherePattern(Pattern):
    """A pattern, where something else holds of the tensor."""

    inner: Pattern
    condition: Callable[[SSAValue], bool]

    def _inside(self, value: SSAValue, found: Found) -> Iterator[Found]:
        if self.condition(value):
            yield from self.inner.matches(value, found)


def wildcard() -> Pattern:
    """Any tensor, computed elsewhere."""
    return WildcardPattern()


def is_constant() -> Pattern:
    """A constant: a number or an array."""
    return ConstantPattern()


def is_var() -> Pattern:
    """A parameter."""
    return VarPattern()


def is_op(name: str) -> CallPattern:
    """A result of an operator: `is_op("nn.dense")(wildcard(), wildcard())`. UnknownOperatorError if there is none."""
    return CallPattern(operator_of(name).name)


def operators_in(found: Found) -> set[OperatorOp]:
    """The operators that a match consists of."""
    owners = (value.owner for pattern, value in found.items() if isinstance(pattern, CallPattern))
    return {owner for owner in owners if isinstance(owner, OperatorOp)}


def _all(patterns: Sequence[Pattern], values: Sequence[SSAValue], found: Found) -> Iterator[Found]:
    """Each way in which all of several tensors match."""
    if not patterns:
        yield found
        return
    for more in patterns[0].matches(values[0], found):
        yield from _all(patterns[1:], values[1:], more)


def _has_attributes(value: SSAValue, attributes: Mapping[str, Any]) -> bool:
    op = value.owner
    if not isinstance(op, OperatorOp):
        return False
    names = {each.name for each in op.operator.attributes}
    return all(name in names and op.value(name) == expected for name, expected in attributes.items())

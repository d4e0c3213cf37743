"""Patterns of operators in graphs, by the names of TVM's dataflow patterns.

is_op("nn.relu")(is_op("nn.dense")(wildcard(), wildcard()))   a relu of a dense
is_op("nn.dense")(x, x)                                       the same tensor twice
a | b                                                         an alternative; `a` if both match
p.optional(lambda x: is_op("nn.relu")(x))                     `p`, with a relu of the result if present
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

Bindings = Mapping["GraphPattern", SSAValue]
"""The tensors that patterns match: { pattern -> tensor }."""

_COMMUTATIVE = ("add", "multiply")
"""Operators whose operands match in any order."""


@dataclass(frozen=True, eq=False)
class GraphPattern:
    """A predicate on tensors of a graph. All occurrences of one pattern object match the same tensor."""

    def matches(self, value: SSAValue, found: Bindings | None = None) -> Iterator[Bindings]:
        """The ways in which a tensor matches, as extensions of `found`, in the written order of alternatives."""
        found = {} if found is None else found
        if self in found:
            if found[self] is value:
                yield found
            return
        for more in self._inside(value, found):
            yield {**more, self: value}

    def _inside(self, value: SSAValue, bindings: Bindings) -> Iterator[Bindings]:
        """The ways in which the parts of the pattern match."""
        raise NotImplementedError

    def __or__(self, other: GraphPattern) -> GraphPattern:
        return AltPattern(self, other)

    def optional(self, option: Callable[[GraphPattern], GraphPattern]) -> GraphPattern:
        """The pattern with an optional part: `option` of this pattern, or this pattern alone if `option` does not
        match.
        """
        return AltPattern(option(self), self)

    def has_attr(self, attributes: Mapping[str, Any]) -> GraphPattern:
        """This pattern, for a result of an operator with these attributes, explicit or by default."""
        return WherePattern(self, lambda value: _has_attributes(value, attributes))

    def has_dtype(self, *dtypes: str) -> GraphPattern:
        """This pattern, for a tensor of one of several data types."""
        return WherePattern(self, lambda value: dtype_of_tensor(value) in dtypes)

    def has_shape(self, shape: Sequence[Size]) -> GraphPattern:
        """This pattern, for a tensor of a shape; dynamic sizes are expressions of names."""
        return WherePattern(self, lambda value: shape_of(value) == tuple(shape))


class WildcardPattern(GraphPattern):
    """The pattern of any tensor."""

    def _inside(self, value: SSAValue, bindings: Bindings) -> Iterator[Bindings]:
        yield bindings


class ConstantPattern(GraphPattern):
    """The pattern of a constant."""

    def _inside(self, value: SSAValue, bindings: Bindings) -> Iterator[Bindings]:
        if isinstance(value.owner, ConstantOp):
            yield bindings


class VarPattern(GraphPattern):
    """The pattern of a parameter of the function."""

    def _inside(self, value: SSAValue, bindings: Bindings) -> Iterator[Bindings]:
        if isinstance(value, BlockArgument):
            yield bindings


@dataclass(frozen=True, eq=False)
class CallPattern(GraphPattern):
    """The pattern of a result of an operator. args: the patterns of its operands; None for any operands."""

    operator: str
    args: tuple[GraphPattern, ...] | None = None

    def __call__(self, *args: GraphPattern) -> CallPattern:
        """The pattern of a result of this operator on operands that match `args`."""
        return CallPattern(self.operator, args)

    def _inside(self, value: SSAValue, bindings: Bindings) -> Iterator[Bindings]:
        op = value.owner
        if not isinstance(op, OperatorOp) or op.operator.name != self.operator:
            return
        if self.args is None:
            yield bindings
        elif len(self.args) == len(op.args):
            orders = permutations(op.args) if self.operator in _COMMUTATIVE else [tuple(op.args)]
            for operands in orders:
                yield from _all(self.args, operands, bindings)


@dataclass(frozen=True, eq=False)
class AltPattern(GraphPattern):
    """An alternative between two patterns."""

    left: GraphPattern
    right: GraphPattern

    def _inside(self, value: SSAValue, bindings: Bindings) -> Iterator[Bindings]:
        yield from self.left.matches(value, bindings)
        yield from self.right.matches(value, bindings)


@dataclass(frozen=True, eq=False)
class WherePattern(GraphPattern):
    """A pattern with a condition on the tensor."""

    inner: GraphPattern
    condition: Callable[[SSAValue], bool]

    def _inside(self, value: SSAValue, bindings: Bindings) -> Iterator[Bindings]:
        if self.condition(value):
            yield from self.inner.matches(value, bindings)


def wildcard() -> GraphPattern:
    """The pattern of any tensor, computed elsewhere."""
    return WildcardPattern()


def is_constant() -> GraphPattern:
    """The pattern of a constant: a scalar or an array."""
    return ConstantPattern()


def is_var() -> GraphPattern:
    """The pattern of a parameter."""
    return VarPattern()


def is_op(name: str) -> CallPattern:
    """The pattern of a result of an operator: `is_op("nn.dense")(wildcard(), wildcard())`. UnknownOperatorError if
    unregistered.
    """
    return CallPattern(operator_of(name).name)


def lone_operators(pattern: GraphPattern) -> set[str]:
    """The names of operators that a pattern matches on any operands, under its conditions."""
    match pattern:
        case WherePattern(inner=inner):
            return lone_operators(inner)
        case AltPattern(left=left, right=right):
            return lone_operators(left) | lone_operators(right)
        case CallPattern(operator=name, args=args) if all(isinstance(arg, WildcardPattern) for arg in args or ()):
            return {name}
        case _:
            return set()


def operators_in(found: Bindings) -> set[OperatorOp]:
    """The operators of a match."""
    owners = (value.owner for pattern, value in found.items() if isinstance(pattern, CallPattern))
    return {owner for owner in owners if isinstance(owner, OperatorOp)}


def _all(patterns: Sequence[GraphPattern], values: Sequence[SSAValue], bindings: Bindings) -> Iterator[Bindings]:
    """The ways in which several tensors match together."""
    if not patterns:
        yield bindings
        return
    for more in patterns[0].matches(values[0], bindings):
        yield from _all(patterns[1:], values[1:], more)


def _has_attributes(value: SSAValue, attributes: Mapping[str, Any]) -> bool:
    op = value.owner
    if not isinstance(op, OperatorOp):
        return False
    names = {each.name for each in op.operator.attributes}
    return all(name in names and op.attribute_value(name) == expected for name, expected in attributes.items())

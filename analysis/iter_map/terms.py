"""The data of iterator maps: iteration domains, and sums of digits of iterators."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TypeAlias

from xdsl.ir import SSAValue

from ...dialects.text.names import source_name
from ..index import Analyzer, Lin, render_sum


@dataclass(frozen=True)
class DomainVar:
    """A variable that takes the `extent` values `low, low + step, ...`. Its *number* counts them from 0."""

    value: SSAValue
    low: Lin
    extent: Lin
    step: int = 1

    @property
    def name(self) -> str:
        """The name of the variable in the program."""
        return source_name(self.value) or "_"

    def variables(self) -> Iterator[DomainVar]:
        """The variable itself."""
        yield self

    def number(self, analyzer: Analyzer) -> Lin:
        """The index of the variable's value in its range, from 0."""
        offset = Lin.of(self.value) - self.low
        return offset if self.step == 1 else analyzer.floordiv(offset, self.step)


@dataclass(frozen=True)
class Domain:
    """The iteration points of nested loops: a value for each variable, where all constraints are at least 0.

    variables: outermost first; bounds may depend on variables further out.
    exact: False if further, unknown conditions hold, so that the domain may have fewer points.
    """

    variables: tuple[DomainVar, ...]
    constraints: tuple[Lin, ...] = ()
    exact: bool = True

    def values(self) -> set[SSAValue]:
        """The SSA values of the variables."""
        return {variable.value for variable in self.variables}


@dataclass(frozen=True)
class Fused:
    """A sum of digits that is an iterator of its own: it takes every value from 0 to below `extent` exactly once."""

    sum: IterSum
    extent: Lin

    @property
    def depth(self) -> int:
        """The nesting depth of fused iterators."""
        return 1 + max((s.source.depth for s in self.sum.splits if isinstance(s.source, Fused)), default=0)

    @property
    def name(self) -> str:
        """The text of the sum, in parentheses."""
        return f"({self.sum})"

    def variables(self) -> Iterator[DomainVar]:
        """The variables in the sum."""
        for split in self.sum.splits:
            yield from split.source.variables()

    def number(self, analyzer: Analyzer) -> Lin:
        """The number of the iterator as a sum of the index normal form."""
        return self.sum.lin(analyzer)


DigitSource: TypeAlias = DomainVar | Fused
"""An iterator: its number goes from 0 to below its extent."""


@dataclass(frozen=True)
class IterSplit:
    """`number // lower % extent * scale`: a digit of an iterator's number, times a factor. The factor is not 0."""

    source: DigitSource
    lower: Lin
    extent: Lin
    scale: Lin

    def lin(self, analyzer: Analyzer) -> Lin:
        """The digit as a sum of the index normal form."""
        number = analyzer.floordiv(self.source.number(analyzer), self.lower)
        if not self.is_top(analyzer):
            number = analyzer.floormod(number, self.extent)
        return analyzer.mul(number, self.scale)

    def is_top(self, analyzer: Analyzer) -> bool:
        """Whether the digit is the most significant digit of its iterator."""
        return analyzer.is_provably("ge", analyzer.mul(self.lower, self.extent), self.source.extent)

    def __str__(self) -> str:
        text = self.source.name
        if self.lower.constant != 1:
            text += f"//{_factor(self.lower)}"
        if self.extent != self.source.extent:
            text += f"%{_factor(self.extent)}"
        return text if self.scale.constant == 1 else f"{text}*{_factor(self.scale)}"


@dataclass(frozen=True)
class IterSum:
    """`base + sum of splits`, the splits from the largest factor (by magnitude) to the smallest.

    Each split's factor is at least the range of the splits after it, so that the sum determines every digit.
    """

    splits: tuple[IterSplit, ...]
    base: Lin = field(default_factory=Lin)

    def lin(self, analyzer: Analyzer) -> Lin:
        """The sum in the index normal form."""
        total = self.base
        for split in self.splits:
            total = analyzer.add(total, split.lin(analyzer))
        return total

    def __str__(self) -> str:
        parts = [str(split) for split in self.splits]
        if self.base.terms or self.base.const or not parts:
            parts.append(lin_text(self.base))
        return " + ".join(parts)


@dataclass(frozen=True)
class IterMap:
    """The bindings in terms of their domain.

    domain: the given domain, its variables narrowed by the constraints on each of them alone.
    sums: one for each binding.
    dependence: the reason why the bindings do not take their values independently of each other; None if every
    combination of values occurs.
    loss: the reason why different points may have the same values; None if each point has different values.
    is_empty: whether the domain is known to have no points, so that all other results hold vacuously.
    """

    domain: Domain
    sums: tuple[IterSum, ...]
    dependence: str | None
    loss: str | None
    is_empty: bool = False


def lin_text(lin: Lin) -> str:
    """The text of a sum, with the names of the program, for messages."""
    return render_sum(lin, lambda value: source_name(value) or value.name_hint or "_")


def _factor(lin: Lin) -> str:
    text = lin_text(lin)
    return text if text.isidentifier() or text.isdecimal() else f"({text})"


@contextmanager
def assume_nonempty(analyzer: Analyzer, domain: Domain) -> Generator[None]:
    """Assumes in the body that every loop of a domain runs at least once."""
    with analyzer.assumptions():
        for variable in domain.variables:
            analyzer.assume_not_negative(variable.extent - 1)
        yield


def axis_name(names: Sequence[str] | None, n: int) -> str:
    """The name of binding `n` in messages."""
    return f"binding {n}" if names is None else names[n]

"""Fused loops: a loop variable that is used through quotients and remainders alone, as dimensions in lexicographic
order."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise

from xdsl.dialects import arith
from xdsl.ir import Operation, SSAValue

from ...dialects.text import expression_text
from ...dialects.tir import CastOp, ForOp, LaunchThreadOp
from ..index import Analyzer, Atom, Compound, DivAtom, Lin, ModAtom, ProductAtom
from ..index.analyzer import assume_iterations, is_index_arithmetic
from ..index.terms import exact_quotient, render_sum
from ..names import loop_name
from ..threads.axes import BLOCK_AXES, thread_axis_of


@dataclass(frozen=True)
class Digit:
    """The quotient or remainder of a loop variable, in place of the loop in the path of a statement.

    atom: `f // n`, `f % n` or `f % m // n`, as a value from 0 to below `count`.
    """

    loop: ForOp
    atom: DivAtom | ModAtom
    count: Lin

    @property
    def name(self) -> str:
        """The text of the digit in messages."""
        return render_sum(Lin.of(self.atom), expression_text)


Step = ForOp | LaunchThreadOp | Digit
"""A dimension of the executions of a statement."""


def step_name(step: Operation | Digit) -> str:
    """The name of a loop variable or digit."""
    return step.name if isinstance(step, Digit) else loop_name(step)


def step_value(step: Step) -> Atom:
    """The value of a dimension."""
    return step.atom if isinstance(step, Digit) else step.variable


def loop_variable(step: Step) -> SSAValue:
    """The variable of the loop of a dimension."""
    return (step.loop if isinstance(step, Digit) else step).variable


def loop_of_step(step: Operation | Digit) -> Operation:
    """The loop of a dimension."""
    return step.loop if isinstance(step, Digit) else step


def digits_of(analyzer: Analyzer, loop: Operation, is_fixed: Callable[[SSAValue], bool]) -> tuple[Digit, ...]:
    """The quotient and the remainder of the variable of a loop from 0 to below `K * n`, if it is used only as `f // n`
    and `f % n`; of a loop with a known number of iterations all digits, if it is used only as these and `f % m // n`,
    where each of the numbers divides the next; else nothing.

    The tuples of digits in lexicographic order are the iterations in their order: if the loop has an iteration, n is
    positive, which is proved; else one of the counts is not positive, so that no pair is in range. K and n are sums of
    fixed values.
    """
    if not isinstance(loop, ForOp) or thread_axis_of(loop) not in (None, *BLOCK_AXES):
        return ()
    low, extent, step = loop.mixed_bounds
    if low != 0 or step != 1:
        return ()
    if isinstance(extent, int):
        return _known_digits(analyzer, loop, extent)
    divisors = _Uses(analyzer, loop.variable).divisors()
    if divisors is None or len(divisors) != 1:
        return ()
    (divisor,), variable = divisors, Lin.of(loop.variable)
    with analyzer.assumptions():
        assume_iterations(analyzer, variable)
        count = exact_quotient(analyzer.exact(extent), divisor)
        if count is None or not analyzer.is_provably("gt", divisor, 0):
            return ()
    if not all(isinstance(leaf, SSAValue) and is_fixed(leaf) for lin in (count, divisor) for leaf in lin.terms):
        return ()
    return Digit(loop, DivAtom(variable, divisor), count), Digit(loop, ModAtom(variable, divisor), divisor)


def _known_digits(analyzer: Analyzer, loop: ForOp, extent: int) -> tuple[Digit, ...]:
    """The digits of a loop of a known number of iterations, the most significant first."""
    uses = _KnownUses(analyzer, loop.variable, extent)
    if uses.divisors() is None or not uses.parts:
        return ()
    bounds = sorted({1, extent, *(bound for part in uses.parts for bound in part)})
    pairs = list(pairwise(bounds))
    if len(pairs) < 2 or any(high % low for low, high in pairs) or not uses.parts.keys() <= set(pairs):
        return ()
    variable = Lin.of(loop.variable)
    return tuple(
        Digit(loop, uses.parts.get((low, high)) or _part(variable, low, high, extent), Lin(high // low))
        for low, high in reversed(pairs)
    )


def _part(variable: Lin, low: int, high: int, extent: int) -> DivAtom | ModAtom:
    """`variable % high // low`."""
    if high == extent:
        return DivAtom(variable, Lin(low))
    remainder = ModAtom(variable, Lin(high))
    return remainder if low == 1 else DivAtom(Lin.of(remainder), Lin(low))


_SUMS = (arith.AddiOp, arith.SubiOp, arith.MuliOp, CastOp)
"""The operations that compute neither quotients nor remainders."""


class _NotDigits(Exception):
    """A use of the variable other than through digits."""


class _Uses:
    """The divisors in the uses of a loop variable."""

    def __init__(self, analyzer: Analyzer, variable: SSAValue):
        self.analyzer = analyzer
        self.variable = variable
        self._divisors: dict[Lin, None] = {}

    def divisors(self) -> list[Lin] | None:
        """The symbolic divisors of the variable; None if it is used otherwise, too."""
        values = [self.variable]
        sinks: list[SSAValue] = []
        for value in values:
            users = {use.operation for use in value.uses}
            arithmetic = [user for user in users if is_index_arithmetic(user)]
            values += [user.results[0] for user in arithmetic if user.results[0] not in values]
            sinks += [value] if len(arithmetic) < len(users) else []
        if all(isinstance(value.owner, _SUMS) for value in values[1:]):
            return None  # without a quotient or a remainder, the normal forms need not be computed
        self._dependent = set(values)
        try:
            for sink in sinks:
                self._check(self.analyzer.exact(sink))
        except _NotDigits:
            return None
        return list(self._divisors)

    def _check(self, lin: Lin) -> None:
        """Records the divisors in a sum. _NotDigits if it contains the variable otherwise."""
        for atom in lin.terms:
            self._check_atom(atom)

    def _check_atom(self, atom: Atom) -> None:
        if self._dependent.isdisjoint(Lin.of(atom).leaves()):
            return
        if not isinstance(atom, Compound) or isinstance(atom, ProductAtom):
            raise _NotDigits
        if isinstance(atom, DivAtom | ModAtom) and atom.divisor.terms:
            if atom.dividend.atom is not self.variable:
                raise _NotDigits
            self._divisors[atom.divisor] = None
            return
        for arg in atom.args:
            assert isinstance(arg, Lin)
            self._check(arg)


class _KnownUses(_Uses):
    """The digits in the uses of the variable of a loop of a known number of iterations.

    parts: the expressions equal to `f % high // low`, by `(low, high)`.
    """

    def __init__(self, analyzer: Analyzer, variable: SSAValue, extent: int):
        super().__init__(analyzer, variable)
        self.extent = extent
        self.parts: dict[tuple[int, int], DivAtom | ModAtom] = {}

    def _check_atom(self, atom: Atom) -> None:
        part = self._part(atom)
        if part is None:
            super()._check_atom(atom)
            return
        if not isinstance(atom, DivAtom | ModAtom) or self.parts.setdefault(part, atom) != atom:
            raise _NotDigits

    def _part(self, atom: Atom) -> tuple[int, int] | None:
        """The numbers of a digit, None for other expressions."""
        if atom is self.variable:
            return 1, self.extent
        divisor = atom.divisor.constant if isinstance(atom, DivAtom | ModAtom) else None
        if not isinstance(atom, DivAtom | ModAtom) or divisor is None or divisor <= 0 or atom.dividend.atom is None:
            return None
        inner = self._part(atom.dividend.atom)
        if inner is None or inner[1] % (inner[0] * divisor):
            return None
        middle = inner[0] * divisor
        return (middle, inner[1]) if isinstance(atom, DivAtom) else (inner[0], middle)

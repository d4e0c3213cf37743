"""Regions by isl: exact wherever everything is quasi-affine, with results converted back to sums."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import count

from xdsl.dialects.builtin import VectorType
from xdsl.ir import BlockArgument, SSAValue

from ...dialects.text import expression_text
from ...dialects.tir import ForOp
from .. import isl
from ..index import Analyzer, Atom, DivAtom, Lin, MaxAtom, MinAtom, ModAtom, render_sum, type_range
from ..isl_budget import REGIONS, isl_operation_limit
from .boxes import IndexRange
from .relax import IsFixed, moving_range

_MAX_PIECES = 4
_NAME = re.compile(r"\bv\d+\b")


class NotAffineSum(Exception):
    """A sum without a representation in isl; the message is its text."""


def sum_text(lin: Lin) -> str:
    """The text of a sum, with the names of the program."""
    return render_sum(lin, expression_text)


@dataclass
class IslNames:
    """The names in isl text of values, and of sums of fixed values that are not quasi-affine.

    Fixed values are parameters.  conditions: the range of each named value, as isl text.
    """

    analyzer: Analyzer
    is_fixed: IsFixed
    of: dict[Atom, str] = field(default_factory=dict[Atom, str])
    conditions: dict[Atom, list[str]] = field(default_factory=dict[Atom, list[str]])
    _numbers: Iterator[int] = field(default_factory=count)

    def text(self, lin: Lin) -> str:
        """A sum as isl text. NotAffineSum if it is not quasi-affine."""
        parts = [f"{k}*{self._atom(atom)}" for atom, k in lin.terms.items()]
        return f"({' + '.join([*parts, str(lin.const)])})"

    def condition(self, lin: Lin) -> str | None:
        """`lin >= 0` as isl text; None if the sum is not quasi-affine."""
        try:
            return f"{self.text(lin)} >= 0"
        except NotAffineSum:
            return None

    def _atom(self, atom: Atom) -> str:
        if isinstance(atom, MinAtom | MaxAtom):
            return f"{atom.symbol}({', '.join(self.text(part) for part in atom.sums)})"
        if isinstance(atom, DivAtom | ModAtom) and (c := atom.divisor.constant) is not None and c > 0:
            dividend = self.text(atom.dividend)
            return f"floor({dividend}/{c})" if isinstance(atom, DivAtom) else f"({dividend} mod {c})"
        if not isinstance(atom, SSAValue) and not all(self.is_fixed(leaf) for leaf in Lin.of(atom).leaves()):
            raise NotAffineSum(sum_text(Lin.of(atom)))
        return self.name(atom)

    def name(self, atom: Atom) -> str:
        """The name of a value, or of a sum treated as a value. NotAffineSum for a moving value without a known
        range."""
        if atom not in self.of:
            self.of[atom] = f"v{next(self._numbers)}"
            try:
                self.conditions[atom] = self._range(atom)
            except NotAffineSum:
                del self.of[atom]
                raise
        return self.of[atom]

    def _range(self, atom: Atom) -> list[str]:
        name, fixed = self.of[atom], not isinstance(atom, SSAValue) or self.is_fixed(atom)
        is_lane = isinstance(atom, SSAValue) and isinstance(atom.type, VectorType)
        conditions: list[str] = []
        if isinstance(atom, BlockArgument):
            ends = moving_range(self.analyzer, atom)
            if ends is not None:
                conditions.append(f"{self.text(ends[0])} <= {name} <= {self.text(ends[1])}")
            conditions += self._step(atom)
        elif not fixed and not is_lane:
            raise NotAffineSum(sum_text(Lin.of(atom)))
        bounds = self.analyzer.atom_bounds(atom)
        if is_lane or not isinstance(atom, SSAValue) or bounds != type_range(atom.type):
            conditions.append(f"{bounds[0]} <= {name} <= {bounds[1]}")
        return conditions

    def _step(self, value: BlockArgument) -> list[str]:
        loop = value.owner.parent_op()
        if not isinstance(loop, ForOp) or (step := self.analyzer.number(loop.mixed_bounds[2])) == 1:
            return []
        if step is None or step <= 0:
            raise NotAffineSum(f"the step of {sum_text(Lin.of(value))}")
        return [f"({self.of[value]} - {self.text(self.analyzer.exact(loop.mixed_bounds[0]))}) mod {step} = 0"]

    def fixed_atoms(self) -> list[Atom]:
        """The named values that are fixed."""
        return [a for a in self.of if not isinstance(a, SSAValue) or self.is_fixed(a)]

    def set(self, points: Sequence[str], conditions: Sequence[str], moving: Sequence[str] = ()) -> isl.Set:
        """`{ points : exists moving values : conditions }` over the fixed values, each value in its range.

        moving: further quantified names in `conditions`, which belong to no value.
        """
        fixed = set(self.fixed_atoms())
        known = self._ranges_of_names([*conditions, *(self.of[a] for a in fixed)])
        named = {name for text in (*conditions, *known) for name in _NAME.findall(text)}
        inner = [*moving, *(n for a, n in self.of.items() if a not in fixed and n not in points and n in named)]
        body = " and ".join([*conditions, *known]) or "true"
        quantified = f"exists {', '.join(inner)} : {body}" if inner else body
        head = ", ".join(self.of[a] for a in self.of if a in fixed)
        return isl.Set(f"[{head}] -> {{ [{', '.join(points)}] : {quantified} }}")

    def _ranges_of_names(self, conditions: Sequence[str]) -> list[str]:
        """The ranges of the values named in `conditions`, and transitively in these ranges."""
        ranges = {self.of[atom]: texts for atom, texts in self.conditions.items()}
        seen: dict[str, list[str]] = {}
        todo = list(conditions)
        while todo:
            for name in _NAME.findall(todo.pop()):
                if name not in seen:
                    seen[name] = ranges[name]
                    todo += ranges[name]
        return [text for texts in seen.values() for text in texts]


def ends_of(names: IslNames, values: isl.Set) -> tuple[Lin, Lin] | None:
    """The minimum and maximum of a set of numbers, as sums of fixed values; None if they are not sums, or minima or
    maxima of a few sums."""
    analyzer = names.analyzer
    atoms = {name: atom for atom, name in names.of.items()}
    ends: list[Lin] = []
    for bound in (values.dim_min(0), values.dim_max(0)):
        lin = _lin_of_pieces(analyzer, atoms, bound.coalesce())
        if lin is None:
            return None
        ends.append(lin)
    return ends[0], ends[1]


def sum_range(names: IslNames, lin: Lin) -> tuple[int, int] | None:
    """The minimum and maximum of a sum of fixed values; None if isl cannot determine them."""
    try:
        text = names.text(lin)
        with isl_operation_limit(REGIONS):
            values = names.set(["e"], [f"e = {text}"])
            values = values.project_out(isl.dim_type.param, 0, values.dim(isl.dim_type.param))
            ends = values.dim_min_val(0), values.dim_max_val(0)
    except (NotAffineSum, isl.Error):
        return None
    return None if not all(end.is_int() for end in ends) else (ends[0].to_python(), ends[1].to_python())


def with_constant_extent(analyzer: Analyzer, side: IndexRange, is_fixed: IsFixed) -> IndexRange:
    """The side, with a number as its extent if the extent is constant."""
    if not side.extent.terms:
        return side
    bounds = sum_range(IslNames(analyzer, is_fixed), side.extent)
    if bounds is None:
        return side
    extent = Lin(bounds[0]) if bounds[0] == bounds[1] else side.extent
    return IndexRange(side.low, extent, min(side.most, bounds[1]))


def _lin_of_pieces(analyzer: Analyzer, atoms: dict[str, Atom], bound: isl.PwAff) -> Lin | None:
    bound = bound.gist(bound.domain())
    sums = list(dict.fromkeys(str(aff) for _, aff in bound.get_pieces()))
    affs = {str(aff): aff for _, aff in bound.get_pieces()}
    if not sums or len(sums) > _MAX_PIECES:
        return None
    for pick, choose in ((analyzer.minimum, isl.PwAff.min), (analyzer.maximum, isl.PwAff.max)):
        total = isl.PwAff.from_aff(affs[sums[0]])
        lin = _lin_of(analyzer, atoms, affs[sums[0]])
        for text in sums[1:]:
            total = choose(total, isl.PwAff.from_aff(affs[text]))
            lin = pick(lin, _lin_of(analyzer, atoms, affs[text]))
        if bound.domain().is_subset(bound.eq_set(total)):
            return lin
    return None


def _lin_of(analyzer: Analyzer, atoms: dict[str, Atom], aff: isl.Aff) -> Lin:
    """An affine expression over parameters as a sum, in normal form."""
    denominator = aff.get_denominator_val().get_num_si()

    def scale(value: isl.Val) -> int:
        return value.mul(isl.Val.int_from_si(isl.DEFAULT_CONTEXT, denominator)).get_num_si()

    total = Lin(scale(aff.get_constant_val()))
    for n in range(aff.dim(isl.dim_type.param)):
        k = scale(aff.get_coefficient_val(isl.dim_type.param, n))
        total = total + Lin.of(atoms[str(aff.get_dim_name(isl.dim_type.param, n))], k)
    for n in range(aff.dim(isl.dim_type.div)):
        k = scale(aff.get_coefficient_val(isl.dim_type.div, n))
        if k:
            total = total + _lin_of(analyzer, atoms, aff.get_div(n)) * k
    return analyzer.combine(total if denominator == 1 else analyzer.floordiv(total, denominator))

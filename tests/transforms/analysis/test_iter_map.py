"""Bindings as digits of loops: laws against enumeration, and what is found and refused."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st
from xdsl.dialects.builtin import i32
from xdsl.ir import Block, SSAValue

from stepwell.dialects.tir import BlockOp, ForOp, FuncOp, SymbolOp, TirBuilder
from stepwell.frontends.tvmscript import parse_tvmscript
from stepwell.transforms.analysis.index import Analyzer, Lin
from stepwell.transforms.analysis.iter_map import (
    Domain,
    IterMap,
    detect,
    divide,
    invert,
    iteration_domain,
    lin_text,
    predicate_constraints,
    split_constraints,
    why_not_affine,
    why_not_bijective,
    why_not_injective,
    why_not_onto,
)
from stepwell.transforms.analysis.scopes import loops_around

Point = Mapping[SSAValue, int]


def points(domain: Domain) -> Iterator[Point]:
    """Every point of a static rectangular domain."""
    ranges = []
    for v in domain.variables:
        assert v.low.constant is not None
        assert v.extent.constant is not None
        ranges.append([v.low.constant + v.step * n for n in range(v.extent.constant)])
    for numbers in itertools.product(*ranges):
        point = dict(zip((v.value for v in domain.variables), numbers, strict=True))
        if all(c.evaluate(point.__getitem__) >= 0 for c in domain.constraints):
            yield point


def images(case: Case) -> list[tuple[int, ...]]:
    return [tuple(b.evaluate(p.__getitem__) for b in case.bindings) for p in points(case.domain)]


@dataclass(frozen=True)
class Case:
    analyzer: Analyzer
    domain: Domain
    bindings: list[Lin]

    def __repr__(self) -> str:
        loops = ", ".join(f"{v.name} from {v.low} +{v.step} x{v.extent}" for v in self.domain.variables)
        where = " and ".join(f"{lin_text(c)} >= 0" for c in self.domain.constraints)
        return f"{loops} where {where or 'true'}: {', '.join(map(lin_text, self.bindings))}"

    @property
    def box(self) -> list[tuple[Lin, Lin]]:
        """The smallest box around all values; of one element where there are none."""
        columns = list(zip(*images(self), strict=True)) or [(0,)] * len(self.bindings)
        return [(Lin(min(c)), Lin(max(c) - min(c) + 1)) for c in columns]


def nest(*loops: tuple[int, int, int]) -> list[ForOp]:
    """Loops (low, extent, step) called i, j, k, ... inside of each other."""
    result: list[ForOp] = []
    for name, (low, extent, step) in zip("ijklmn", loops, strict=False):
        op = ForOp(name, low, extent, i32, step=step)
        if result:
            result[-1].body.block.add_op(op)
        result.append(op)
    return result


def case(*extents: int, bind: Callable[..., Sequence[Lin]], where: Callable[..., Sequence[Lin]] | None = None) -> Case:
    """Loops of these extents; what axes are bound to, and constraints, as functions of an analyzer and the loops."""
    analyzer = Analyzer()
    loops = nest(*((0, e, 1) for e in extents))
    variables = [Lin.of(loop.variable) for loop in loops]
    domain = iteration_domain(analyzer, loops)
    constraints = () if where is None else tuple(where(*variables))
    return Case(analyzer, Domain(domain.variables, constraints), list(bind(analyzer, *variables)))


@st.composite
def random_cases(draw: st.DrawFn) -> Case:
    """Loops, constraints, and bindings made of sums, quotients and remainders: digits often, anything else too."""
    count = draw(st.integers(1, 3))
    low = st.sampled_from([0, 0, 0, 4, -3])
    step = st.sampled_from([1, 1, 1, 2])
    loops = nest(*(draw(st.tuples(low, st.integers(0, 7), step)) for _ in range(count)))
    analyzer = Analyzer()
    variables = [Lin.of(loop.variable) for loop in loops]
    domain = iteration_domain(analyzer, loops)
    chosen = st.sampled_from(variables)
    factor = st.sampled_from([1, 1, 2, 3, 4, 6, -1, 7])

    def fused() -> Lin:
        total = Lin()
        for v in draw(st.permutations(domain.variables)) if draw(st.booleans()) else domain.variables:
            extent = max(v.extent.constant or 0, 1) + draw(st.sampled_from([0, 0, 0, 0, 1, -1]))
            number = v.number(analyzer) if draw(st.integers(0, 3)) else Lin.of(v.value)
            total = total * max(extent, 1) + number
        return total

    def term() -> Lin:
        base = fused() if draw(st.booleans()) else draw(chosen)
        match draw(st.integers(0, 3)):
            case 0:
                return analyzer.floordiv(base, draw(st.integers(1, 6)))
            case 1:
                return analyzer.floormod(base, draw(st.integers(1, 6)))
            case _:
                return base

    def digits() -> list[Lin]:
        """A sum taken apart by factors: what split loops are bound to."""
        whole, parts = fused(), list[Lin]()
        for _ in range(draw(st.integers(1, 2))):
            by = draw(st.integers(1, 6))
            parts.append(analyzer.floormod(whole, by))
            whole = analyzer.floordiv(whole, by)
        return [whole, *parts]

    if draw(st.booleans()):
        bindings = digits()
    elif draw(st.booleans()):
        bindings = [v * draw(factor) + draw(st.integers(-2, 2)) for v in draw(st.permutations(variables))]
    else:
        sizes = [draw(st.integers(1, 2)) for _ in range(draw(st.integers(1, 3)))]
        bindings = [sum((term() * draw(factor) for _ in range(n)), start=Lin()) for n in sizes]
    constraints: list[Lin] = []
    for _ in range(draw(st.sampled_from([0, 0, 1, 2]))):
        limited = fused() if draw(st.booleans()) else draw(chosen)
        constraints.append((Lin(draw(st.integers(0, 30))) - limited) * draw(st.sampled_from([1, 1, 1, -1])))
    return Case(analyzer, Domain(domain.variables, tuple(constraints)), bindings)


# Laws


@given(random_cases())
def test_the_digits_are_what_is_bound_at_every_point(case: Case) -> None:
    mapping = detect(case.analyzer, case.domain, case.bindings)
    if isinstance(mapping, IterMap):
        for point, image in zip(points(case.domain), images(case), strict=True):
            assert tuple(s.lin(case.analyzer).evaluate(point.__getitem__) for s in mapping.sums) == image


@given(random_cases())
def test_a_map_said_to_lose_nothing_loses_nothing(case: Case) -> None:
    mapping = detect(case.analyzer, case.domain, case.bindings)
    if isinstance(mapping, IterMap) and mapping.loss is None:
        found = images(case)
        assert len(set(found)) == len(found)


@given(random_cases())
def test_bindings_said_to_be_independent_take_every_combination(case: Case) -> None:
    mapping = detect(case.analyzer, case.domain, case.bindings)
    found = set(images(case))
    if isinstance(mapping, IterMap) and mapping.dependence is None and found:
        assert found == set(itertools.product(*(set(column) for column in zip(*found, strict=True))))


@given(random_cases())
def test_whether_a_map_is_injective_is_decided_exactly(case: Case) -> None:
    found = images(case)
    reason = why_not_injective(case.analyzer, case.domain, case.bindings)
    assert (reason is None) == (len(set(found)) == len(found)), reason


@given(random_cases())
def test_whether_a_map_is_onto_is_decided_exactly(case: Case) -> None:
    sides = [range(low.const, low.const + extent.const) for low, extent in case.box]
    reason = why_not_onto(case.analyzer, case.domain, case.bindings, case.box)
    assert (reason is None) == (set(images(case)) == set(itertools.product(*sides))), reason


@given(random_cases(), st.integers(-1, 1), st.integers(-1, 1))
def test_whether_a_map_is_bijective_is_decided_exactly(case: Case, shift: int, more: int) -> None:
    box = [(low + shift, extent + more) for low, extent in case.box]
    expected = sorted(itertools.product(*(range(low.const, low.const + extent.const) for low, extent in box)))
    reason = why_not_bijective(case.analyzer, case.domain, case.bindings, box)
    assert (reason is None) == (sorted(images(case)) == expected), reason


@given(random_cases())
def test_an_inverted_map_gives_the_loops_back(case: Case) -> None:
    mapping = detect(case.analyzer, case.domain, case.bindings)
    if not isinstance(mapping, IterMap) or mapping.loss is not None:
        return
    block = Block(arg_types=[i32] * len(case.bindings))
    inverse = invert(case.analyzer, mapping, [Lin.of(a) for a in block.args])
    assert not isinstance(inverse, str)
    for point, image in zip(points(case.domain), images(case), strict=True):
        values = dict(zip(block.args, image, strict=True))
        assert {v: lin.evaluate(values.__getitem__) for v, lin in inverse.items()} == dict(point)


@given(random_cases(), st.integers(0, 3))
def test_a_divided_map_is_made_of_outer_and_inner_loops(case: Case, depth: int) -> None:
    mapping = detect(case.analyzer, case.domain, case.bindings)
    if not isinstance(mapping, IterMap):
        return
    inner = {v.value for v in case.domain.variables[depth:]}
    divisions = divide(case.analyzer, mapping, inner)
    if isinstance(divisions, str):
        return
    for division in divisions:
        assert not inner & set(division.outer.leaves())
        assert set(division.inner.leaves()) <= inner
    for point, image in zip(points(case.domain), images(case), strict=True):
        for d, value in zip(divisions, image, strict=True):
            parts = (d.outer, d.inner, d.outer_extent, d.inner_extent, d.factor, d.base)
            outer, inside, outer_extent, inner_extent, factor, base = (p.evaluate(point.__getitem__) for p in parts)
            assert base + outer * factor + inside == value
            assert 0 <= outer < outer_extent
            assert 0 <= inside < inner_extent

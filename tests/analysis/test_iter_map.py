"""Bindings as digits of loops: laws checked by enumeration, detected maps and refusals."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st
from xdsl.dialects.builtin import i32
from xdsl.ir import Block, SSAValue

from stepwell.analysis.index import Analyzer, Lin
from stepwell.analysis.iter_map import (
    Domain,
    IterMap,
    detect,
    divide_bindings,
    invert,
    iteration_domain,
    iteration_variable,
    lin_text,
    predicate_constraints,
    split_constraints,
    why_not_bijective,
    why_not_injective,
    why_not_onto,
)
from stepwell.analysis.scopes import enclosing_scope, loops_around
from stepwell.dialects.tir import BlockOp, ForOp, SymbolOp
from stepwell.frontends.mlir import parse_mlir
from stepwell.frontends.tvmscript import parse_tvmscript

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


@dataclass(frozen=True, repr=False)
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
        """The bounding box of all values; a box of one element if there are no values."""
        columns = list(zip(*images(self), strict=True)) or [(0,)] * len(self.bindings)
        return [(Lin(min(c)), Lin(max(c) - min(c) + 1)) for c in columns]


def nest(*loops: tuple[int, int, int]) -> list[ForOp]:
    """A loop nest of (low, extent, step), with variables i, j, k, ...."""
    result: list[ForOp] = []
    for name, (low, extent, step) in zip("ijklmn", loops, strict=False):
        op = ForOp(name, low, extent, i32, step=step)
        if result:
            result[-1].body.block.add_op(op)
        result.append(op)
    return result


def case(*extents: int, bind: Callable[..., Sequence[Lin]], where: Callable[..., Sequence[Lin]] | None = None) -> Case:
    """A case with loops of the given extents. bind: the bindings of axes, from an analyzer and the loops.  where: the
    constraints, from the loops."""
    analyzer = Analyzer()
    loops = nest(*((0, e, 1) for e in extents))
    variables = [Lin.of(loop.variable) for loop in loops]
    domain = iteration_domain(analyzer, loops)
    constraints = () if where is None else tuple(where(*variables))
    return Case(analyzer, Domain(domain.variables, constraints), list(bind(analyzer, *variables)))


@st.composite
def random_cases(draw: st.DrawFn) -> Case:
    """Loops, constraints, and bindings of sums, quotients and remainders, often digits of a fused loop."""
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
        """The digits of a sum by factors, as in the bindings of split loops."""
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
        values: dict[SSAValue, int] = dict(zip(block.args, image, strict=True))
        assert {v: lin.evaluate(values.__getitem__) for v, lin in inverse.items()} == dict(point)


@given(random_cases(), st.integers(0, 3))
def test_a_divided_map_is_made_of_outer_and_inner_loops(case: Case, depth: int) -> None:
    mapping = detect(case.analyzer, case.domain, case.bindings)
    if not isinstance(mapping, IterMap):
        return
    inner = {v.value for v in case.domain.variables[depth:]}
    divisions = divide_bindings(case.analyzer, mapping, inner)
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


# Detected maps


def described(case: Case) -> str:
    mapping = detect(case.analyzer, case.domain, case.bindings, [f"axis v{n}" for n in range(len(case.bindings))])
    return mapping if isinstance(mapping, str) else ", ".join(map(str, mapping.sums))


def inverted(case: Case) -> str:
    mapping = detect(case.analyzer, case.domain, case.bindings)
    assert isinstance(mapping, IterMap)
    axes = Block(arg_types=[i32] * len(case.bindings)).args
    for n, axis in enumerate(axes):
        axis.name_hint = "xyz"[n]
    loops = invert(case.analyzer, mapping, [Lin.of(a) for a in axes])
    return loops if isinstance(loops, str) else ", ".join(lin_text(loops[v.value]) for v in case.domain.variables)


@pytest.mark.parametrize(
    ("case", "sums", "loops"),
    [
        (case(4, 2, bind=lambda _, i, j: [i * 2 + j]), "i*2 + j", "x//2, x%2"),
        (case(4, 2, bind=lambda _, i, j: [j * 4 + i]), "j*4 + i", "x%4, x//4"),
        (case(4, bind=lambda _, i: [i * 3 + 5]), "i*3 + 5", "(x + 1)//3 - 2"),
        (case(4, bind=lambda _, i: [Lin(3) - i]), "i*(-1) + 3", "-x + 3"),
        (case(4, 1, bind=lambda _, i, j: [i + j]), "i", "x, 0"),
        (
            case(24, bind=lambda a, i: [a.floordiv(i, 6), a.floormod(a.floordiv(i, 2), 3), a.floormod(i, 2)]),
            "i//6%4, i//2%3, i%2",
            "6*x + 2*y + z",
        ),
        (
            case(4, 6, bind=lambda a, i, j: [a.floordiv(i * 6 + j, 8), a.floormod(i * 6 + j, 8)]),
            "(i*6 + j)//8%3, (i*6 + j)%8",
            "(8*x + y)//6, (8*x + y)%6",
        ),
        (
            case(4, 4, bind=lambda _, i, j: [i * 4 + j], where=lambda i, j: [Lin(12) - i * 4 - j]),
            "(i*4 + j)",
            "x//4, x%4",
        ),
        (case(2, bind=lambda _, i: [i], where=lambda i: [i - 1]), "1", "1"),
        (
            case(
                4, 2, 3,
                bind=lambda _, i, j, k: [i * 4 + j * 3 + k],
                where=lambda i, j, k: [Lin(12) - i * 4 - j * 3 - k, Lin(3) - j * 3 - k],
            ),
            "(i*4 + (j*3 + k))",
            "x//4, (x%4)//3, (x%4)%3",
        ),
        (case(2, bind=lambda _, i: [i, i]), "i, i", "x"),
        (case(2, 2, bind=lambda _, i, j: [i * 3 + j]), "i*3 + j", "x//3, x%3"),
    ],
)  # fmt: skip
def test_loops_are_found_in_bindings_and_back(case: Case, sums: str, loops: str) -> None:
    assert described(case) == sums
    assert inverted(case) == loops


@pytest.mark.parametrize(
    ("case", "reason"),
    [
        (
            case(4, 3, bind=lambda _, i, j: [i * 2 + j]),
            "axis v0 is bound to 2*i + j, in which j takes 3 values, but i moves in steps of 2",
        ),
        (
            case(4, 3, bind=lambda _, i, j: [i * 6 + j * 3]),
            "axis v0 is bound to 6*i + 3*j, in which j takes 3 values in steps of 3, but i moves in steps of 6",
        ),
        (
            case(4, 4, bind=lambda a, i, j: [j, a.mul(i, j)]),
            "axis v1 is bound to i*j, in which i*j is a product of loops",
        ),
        (
            case(4, 4, bind=lambda a, i, j: [a.minimum(i, j)]),
            "axis v0 is bound to min(i, j), which is no sum of quotients and remainders of loops",
        ),
        (
            case(4, 4, bind=lambda a, i, j: [a.floordiv(i * 5 + j, 3)]),
            "axis v0 is bound to (5*i + j)//3, in which (5*i + j)//3 divides what does not count up in steps of 1",
        ),
        (
            case(8, bind=lambda a, i: [a.floordiv(i + 1, 4)]),
            "axis v0 is bound to (i + 1)//4, in which (i + 1)//4 does not start at a multiple of 4",
        ),
        (
            case(23, bind=lambda a, i: [a.floormod(a.floordiv(a.floormod(i, 10), 4), 2)]),
            "axis v0 is bound to ((i%10)%8)//4, in which (i%10)%8 divides a remainder unevenly",
        ),
    ],
)
def test_what_is_no_map_is_explained(case: Case, reason: str) -> None:
    assert described(case) == reason


@pytest.mark.parametrize(
    ("case", "reason"),
    [
        (case(4, 3, bind=lambda _, i, j: [i * 2 + j]), "(i=1, j=0) and (i=0, j=2) give the same values"),
        (case(4, 3, bind=lambda _, i, j: [i]), "(i=0, j=1) and (i=0, j=0) give the same values"),
        (case(4, 3, bind=lambda _, i, j: [i, i + j]), None),
        (case(4, 3, bind=lambda _, i, j: [i * 2 + j], where=lambda i, j: [Lin(1) - j]), None),
        (case(7, bind=lambda a, i: [a.floordiv(i, 3), a.floormod(i, 3)]), None),
        (
            case(4, 4, bind=lambda a, i, j: [a.mul(i, j)]),
            "binding 0 is bound to i*j, in which i*j is a product of loops",
        ),
    ],
)
def test_injective_maps_of_any_form_are_told_from_others(case: Case, reason: str | None) -> None:
    assert why_not_injective(case.analyzer, case.domain, case.bindings) == reason


@pytest.mark.parametrize(
    ("case", "box", "reason"),
    [
        (case(4, 2, bind=lambda _, i, j: [i * 2 + j]), [(0, 8)], None),
        (case(4, 2, bind=lambda _, i, j: [i * 2 + j]), [(0, 9)], "binding 0 = 8 is never reached"),
        (case(4, 2, bind=lambda _, i, j: [i * 2 + j]), [(1, 7)], "binding 0 = 0 is outside of the expected domain"),
        (case(4, bind=lambda _, i: [i * 2]), [(0, 7)], "binding 0 = 1 is never reached"),
        (case(3, 4, bind=lambda _, i, j: [i * 4 + j], where=lambda i, j: [Lin(9) - i * 4 - j]), [(0, 10)], None),
        (case(0, bind=lambda _, i: [i]), [(0, 1)], "binding 0 = 0 is never reached"),
        (case(0, bind=lambda _, i: [i]), [(0, 0)], None),
    ],
)
def test_what_is_not_reached_is_named(case: Case, box: list[tuple[int, int]], reason: str | None) -> None:
    sides = [(Lin(low), Lin(extent)) for low, extent in box]
    assert why_not_onto(case.analyzer, case.domain, case.bindings, sides) == reason


def test_conditions_that_are_not_known_leave_open_whether_all_is_reached() -> None:
    split = case(4, 2, bind=lambda _, i, j: [i * 2 + j])
    domain = Domain(split.domain.variables, exact=False)
    assert why_not_injective(split.analyzer, domain, split.bindings) is None
    reason = "a condition on the loops is not known to be affine"
    assert why_not_onto(split.analyzer, domain, split.bindings, split.box) == reason


# Domains of programs, symbolic ranges


def blocks_of(body: str, params: str = "") -> list[BlockOp]:
    lines = "\n    ".join(body.strip("\n").split("\n"))
    module = parse_tvmscript(f"@T.prim_func\ndef f(a: T.handle, b: T.handle{params}):\n    {lines}\n")
    module.verify()
    return [op for op in module.op.walk() if isinstance(op, BlockOp)]


SPLIT = """
n = T.int32()
A = T.match_buffer(a, (n,), "float32")
for i_0, i_1 in T.grid((n + 3) // 4, 4):
    with T.block("A"):
        vi = T.axis.spatial(n, i_0 * 4 + i_1)
        T.where(i_0 * 4 + i_1 < n)
        A[vi] = 1.0
"""


def of_block(block: BlockOp) -> Case:
    """The case of a block in a function, with symbols bounded so that indices do not overflow."""
    analyzer = Analyzer()
    for op in enclosing_scope(block).walk():
        if isinstance(op, SymbolOp):
            analyzer.assume_not_negative(Lin(10**6) - Lin.of(op.result))
    domain = iteration_domain(analyzer, loops_around(block), block.predicate)
    return Case(analyzer, domain, [analyzer.lin(b) for b in block.bindings])


def test_a_split_of_a_symbolic_loop_is_an_iterator() -> None:
    (block,) = blocks_of(SPLIT)
    found = of_block(block)
    box = [(Lin(), found.analyzer.exact(block.axes[0].extent))]
    assert described(found) == "(i_0*4 + i_1)"
    assert inverted(found) == "x//4, x%4"
    assert why_not_bijective(found.analyzer, found.domain, found.bindings, box) is None


FUSED = """
n = T.int32()
A = T.match_buffer(a, (8, n), "float32")
for i, j in T.grid(8, n):
    with T.block("A"):
        v = T.axis.spatial(n * 8, i * n + j)
        A[v // n, v % n] = 1.0
"""


def test_factors_may_be_symbolic() -> None:
    (block,) = blocks_of(FUSED)
    analyzer = Analyzer()
    domain = iteration_domain(analyzer, loops_around(block))
    i, j = (Lin.of(v.value) for v in domain.variables)
    n = domain.variables[1].extent
    symbolic = Case(analyzer, domain, [analyzer.add(analyzer.mul(i, n), j)])
    assert described(symbolic) == "i*n + j"
    with analyzer.assumptions():
        analyzer.assume_not_negative(n - 1)
        assert inverted(symbolic) == "x//n, x%n"
        assert why_not_bijective(analyzer, domain, symbolic.bindings, [(Lin(), n * 8)]) is None
        assert why_not_injective(analyzer, domain, [analyzer.add(i, analyzer.mul(j, n))]) is not None


SHORT = """
n = T.int32()
A = T.match_buffer(a, (n, n), "float32")
for i, j, k in T.grid(8, 2, {extent}):
    with T.block("A"):
        v = T.axis.spatial(n * 8, i * n + j)
        w = T.axis.spatial(n, k)
        A[v % n, w] = 1.0
"""


@pytest.mark.parametrize(
    ("extent", "reason"),
    [
        ("n", "binding 0 is bound to i*n + j, in which i takes 8 values in steps of n, but j moves in steps of 1"),
        ("n - 1", None),
    ],
)
def test_a_loop_is_assumed_to_run_once_but_not_twice(extent: str, reason: str | None) -> None:
    (block,) = blocks_of(SHORT.format(extent=extent))
    analyzer = Analyzer()
    domain = iteration_domain(analyzer, loops_around(block))
    i, j, k = (Lin.of(v.value) for v in domain.variables)
    (n,) = map(Lin.of, domain.variables[2].extent.leaves())
    assert why_not_injective(analyzer, domain, [analyzer.add(analyzer.mul(i, n), j), k]) == reason


REVERSED = """
n = T.int32()
A = T.match_buffer(a, (8, n, 6), "float32")
for i, j, k in T.grid(8, n, 6):
    with T.block("A"):
        v = T.axis.spatial(n * 8, i * n + j)
        w = T.axis.spatial(6, 5 - k)
        A[v // n, v % n, w] = 1.0
"""


def test_a_binding_that_counts_down_has_its_minimum_at_the_last_iteration() -> None:
    (block,) = blocks_of(REVERSED)
    analyzer = Analyzer()
    domain = iteration_domain(analyzer, loops_around(block))
    i, j, k = (Lin.of(v.value) for v in domain.variables)
    n = domain.variables[1].extent
    bindings = [analyzer.add(analyzer.mul(i, n), j), Lin(5) - k]  # products of symbols are beyond isl
    with analyzer.assumptions():
        analyzer.assume_not_negative(n - 1)
        assert why_not_onto(analyzer, domain, bindings, [(Lin(), n * 8), (Lin(), Lin(6))]) is None
        assert why_not_onto(analyzer, domain, bindings, [(Lin(), n * 8), (Lin(1), Lin(6))]) is not None


def test_a_loop_with_a_step_counts_its_rounds() -> None:
    (block,) = blocks_of("""
A = T.match_buffer(a, (16,), "float32")
for i in T.serial(2, 11, step=3):
    for j in range(3):
        with T.block("A"):
            vi = T.axis.spatial(16, i + j)
            A[vi] = 1.0
""")
    found = of_block(block)
    assert described(found) == "i*3 + j + 2"
    assert inverted(found) == "3*((x + 1)//3) - 1, (x + 1)%3"
    assert why_not_bijective(found.analyzer, found.domain, found.bindings, [(Lin(2), Lin(9))]) is None


TRIANGLE = """
A = T.match_buffer(a, (8, 8), "float32")
for i in range(8):
    for j in range(i + 1):
        with T.block("A"):
            vi, vj = T.axis.remap("SS", [i, j])
            A[vi, vj] = 1.0
"""


def test_bounds_that_depend_on_loops_are_left_to_isl() -> None:
    (block,) = blocks_of(TRIANGLE)
    found = of_block(block)
    assert described(found) == "the bounds of j depend on other loops"
    assert why_not_injective(found.analyzer, found.domain, found.bindings) is None
    reason = why_not_onto(found.analyzer, found.domain, found.bindings, [(Lin(), Lin(8)), (Lin(), Lin(8))])
    assert reason == "binding 0 = 0, binding 1 = 7 is never reached"


def test_predicates_become_sums_that_are_not_negative() -> None:
    (block,) = blocks_of("""
A = T.match_buffer(a, (8, 8), "float32")
for i, j in T.grid(8, 8):
    with T.block("A"):
        vi, vj = T.axis.remap("SS", [i, j])
        T.where(i * 8 + j < 60 and T.likely(j >= 2) and i < 9 and i != 3)
        A[vi, vj] = 1.0
""")
    assert block.predicate is not None
    constraints, exact = predicate_constraints(Analyzer(), block.predicate)
    assert [lin_text(c) for c in constraints] == ["-8*i - j + 59", "j - 2"]
    assert not exact


# Division


@pytest.mark.parametrize(
    ("case", "inner", "parts"),
    [
        (case(4, 2, bind=lambda _, i, j: [i * 2 + j]), 1, "0 + i<4 * 2 + j<2"),
        (case(4, 2, bind=lambda _, i, j: [i * 2 + j + 7]), 1, "7 + i<4 * 2 + j<2"),
        (case(4, 2, bind=lambda _, i, j: [i * 8 + j]), 1, "0 + i<4 * 8 + j<2"),
        (case(4, 2, bind=lambda _, i, j: [i * 2 + j]), 0, "0 + 0<1 * 8 + 2*i + j<8"),
        (case(4, 2, bind=lambda _, i, j: [i * 2 - j]), 1, "-1 + i<4 * 2 + -j + 1<2"),
        (case(4, 4, bind=lambda _, i, j: [i, j]), 1, "0 + i<4 * 1 + 0<1, 0 + 0<1 * 4 + j<4"),
        (
            case(4, 4, bind=lambda _, i, j: [i * 4 + j], where=lambda i, j: [Lin(12) - i * 4 - j]),
            1,
            "0 + i<4 * 4 + j<4",
        ),
        (case(4, 2, 3, bind=lambda _, i, j, k: [i * 3 + k, j]), 1, "0 + i<4 * 3 + k<3, 0 + 0<1 * 2 + j<2"),
    ],
)
def test_inner_loops_move_a_part_of_a_binding(case: Case, inner: int, parts: str) -> None:
    mapping = detect(case.analyzer, case.domain, case.bindings)
    assert isinstance(mapping, IterMap)
    divisions = divide_bindings(case.analyzer, mapping, {v.value for v in case.domain.variables[inner:]})
    assert not isinstance(divisions, str)
    texts = [
        f"{lin_text(d.base)} + {lin_text(d.outer)}<{lin_text(d.outer_extent)} * {lin_text(d.factor)} + "
        f"{lin_text(d.inner)}<{lin_text(d.inner_extent)}"
        for d in divisions
    ]
    assert ", ".join(texts) == parts


@pytest.mark.parametrize(
    ("case", "inner", "reason"),
    [
        (
            case(4, 2, bind=lambda _, i, j: [j * 4 + i]),
            1,
            "binding 0 is j*4 + i, in which outer i is a finer part than inner j*4",
        ),
        (
            case(3, 5, bind=lambda a, i, j: [a.floordiv(i * 5 + j, 3)]),
            1,
            "binding 0 is (i*5 + j)//3%5, in which (i*5 + j)//3%5 is a part of inner and outer loops together",
        ),
        (
            case(2, 2, 2, bind=lambda _, i, j, k: [i * 7 + j * 3 + k]),
            2,
            "binding 0 is i*7 + j*3 + k, in which i*7 does not move in steps of 3",
        ),
    ],
)
def test_what_cannot_be_divided_is_explained(case: Case, inner: int, reason: str) -> None:
    mapping = detect(case.analyzer, case.domain, case.bindings)
    assert isinstance(mapping, IterMap)
    assert divide_bindings(case.analyzer, mapping, {v.value for v in case.domain.variables[inner:]}) == reason


def test_constraints_belong_to_outer_loops_to_inner_ones_or_to_both() -> None:
    both = case(4, 4, bind=lambda _, i, j: [i, j], where=lambda i, j: [i - 1, j - 1, i + j - 3])
    inner = {both.domain.variables[1].value}
    texts = [[lin_text(c) for c in part] for part in split_constraints(both.domain, inner)]
    assert texts == [["i - 1"], ["j - 1"], ["i + j - 3"]]


@pytest.mark.parametrize("step", [0, -1])
def test_the_variable_of_a_loop_whose_step_is_not_positive_has_no_range(step: int) -> None:
    module = parse_mlir(f"""
    tir.func @main("A" %A: memref<4xi32>) {{
      %step = arith.constant {step} : i32
      tir.for serial "i" %i : i32 in [0 +: 4] step %step {{
        tir.store %i, %A[%i] : memref<4xi32>
      }}
    }}
    """)
    (loop,) = (op for op in module.op.walk() if isinstance(op, ForOp))
    assert iteration_variable(Analyzer(), loop) is None

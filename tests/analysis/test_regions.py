"""Regions: regions required by accesses, axis values that access a region, and coverage by writes."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from xdsl.ir import Operation, SSAValue

from stepwell import parse_tvmscript
from stepwell.analysis.index import Analyzer, Lin, render_sum
from stepwell.analysis.regions import (
    AccessBox,
    BoxDemand,
    IndexRange,
    access_box,
    axes_region,
    bindings,
    defined_outside,
    finishing_region,
    fixed_inside,
    required_region,
    shape_sides,
    why_not_covered,
    written_box,
)
from stepwell.dialects.text.names import source_name
from stepwell.dialects.tir import AccessOp, BlockOp, ForOp


def name(value: SSAValue) -> str:
    return source_name(value) or "_"


def text(side: IndexRange) -> str:
    """`4*o +: 5`."""
    return f"{render_sum(side.low, name)} +: {render_sum(side.extent, name)}"


def texts(sides: Sequence[IndexRange] | str) -> list[str] | str:
    return sides if isinstance(sides, str) else [text(side) for side in sides]


@dataclass
class Program:
    """The loops and blocks of a program: a block `C` that reads a buffer B, and a block `B` that writes it."""

    loops: dict[str, ForOp]
    blocks: dict[str, BlockOp]

    @staticmethod
    def parse(source: str) -> Program:
        ops = list(parse_tvmscript(source).op.walk())
        return Program(
            {op.loop_var.data: op for op in ops if isinstance(op, ForOp)},
            {op.block_name.data: op for op in ops if isinstance(op, BlockOp)},
        )

    @property
    def write(self) -> AccessOp:
        return next(access for access in self.blocks["B"].accesses if access.is_write)

    @property
    def reads(self) -> list[AccessOp]:
        return [a for a in self.blocks["C"].accesses if not a.is_write and a.buffer is self.write.buffer]


def program(
    reads: str,
    loops: Sequence[tuple[str, Any]],
    bindings: Sequence[str],
    shape: Sequence[Any],
    writes: str = "",
    axes: Sequence[int] = (),
) -> Program:
    """A program with a block C, with axes v0, v1, ... bound to `bindings` in `loops`, which reads `reads`; and a block
    B, with axes of extents `axes` (by default the shape of the buffer), which writes `writes` (by default the element
    at its axes)."""
    extents = axes or shape
    names = [f"v{n}" for n in range(len(extents))]
    writes = writes or f"B[{', '.join(names)}]"
    lines = [
        "from tvm.script import tir as T",
        "@T.prim_func",
        'def main(a: T.handle, I: T.Buffer((64,), "int32")):',
        "    n = T.int32()",
        '    A = T.match_buffer(a, (n,), "float32")',
        f"    B = T.alloc_buffer(({', '.join(map(str, shape))},))",
    ]
    lines += _nest([(f"p{n}", extent) for n, extent in enumerate(extents)])
    lines += _block("B", len(extents), [(f"p{n}", extent) for n, extent in enumerate(extents)], "", writes)
    lines += _nest(loops)
    lines += _block("C", len(loops), [(binding, 1 << 20) for binding in bindings], reads, "")
    return Program.parse("\n".join(lines))


def _nest(loops: Sequence[tuple[str, Any]]) -> list[str]:
    return [f"{'    ' * (n + 1)}for {loop} in range({extent}):" for n, (loop, extent) in enumerate(loops)]


def _block(name: str, depth: int, axes: Sequence[tuple[str, Any]], reads: str, writes: str) -> list[str]:
    margin = "    " * (depth + 1)
    lines = [f'{margin}with T.block("{name}"):']
    lines += [f"{margin}    v{n} = T.axis.spatial({extent}, {value})" for n, (value, extent) in enumerate(axes)]
    return [*lines, f"{margin}    T.reads({reads})", f"{margin}    T.writes({writes})", f"{margin}    T.evaluate(0)"]


def required(p: Program, at: str) -> list[IndexRange] | str:
    analyzer, loop = Analyzer(), p.loops[at]
    shape = shape_sides(analyzer, p.write.buffer.owner.mixed_shape)  # pyright: ignore[reportAttributeAccessIssue]
    return required_region(analyzer, [access_box(analyzer, a, loop) for a in p.reads], fixed_inside(loop), shape)


def axes_needed(p: Program, at: str) -> list[IndexRange]:
    analyzer, region = Analyzer(), required(p, at)
    assert not isinstance(region, str)
    demand = BoxDemand(written_box(analyzer, p.write), region)
    return axes_region(analyzer, p.blocks["B"], [demand], fixed_inside(p.loops[at]))


TILES = [("o", 4), ("i", 4)]

# The read of C with v0 = o*E + i, and the region of B required in one iteration of o: equal to TVM 0.27's where TVM
# returns a constant extent.
REQUIRED = [
    ("B[v0]", 4, 4, 16, "4*o +: 4"),
    ("B[v0]", 4, 5, 16, "5*o +: 5"),
    ("B[v0:v0 + 3]", 2, 7, 16, "7*o +: 9"),
    ("B[v0], B[v0 + 2]", 2, 7, 16, "7*o +: 9"),
    ("B[v0 * 2:v0 * 2 + 2]", 2, 4, 16, "8*o +: 8"),
    ("B[v0 * 2:v0 * 2 + 3]", 3, 3, 20, "6*o +: 7"),
    ("B[v0 // 4]", 8, 8, 16, "2*o +: 2"),
    ("B[v0 // 4]", 10, 6, 15, "(3*o)//2 +: 2"),
    ("B[(v0 + 1) // 4]", 8, 8, 16, "2*o +: 3"),
    ("B[v0 % 4]", 8, 8, 4, "0 +: 4"),
    ("B[v0 % 16]", 8, 8, 16, "8*(o%2) +: 8"),
    ("B[v0 % 5]", 10, 4, 5, "0 +: 5"),
    ("B[15 - v0]", 4, 4, 16, "-4*o + 12 +: 4"),
    ("B[v0 - 1]", 3, 6, 16, "6*o - 1 +: 6"),
    ("B[v0 % 4 * 4 + v0 // 4]", 4, 4, 16, "o +: 13"),
    ("B[v0 % 4 * 4 + v0 // 4]", 2, 8, 16, "2*o +: 14"),
    ("B[v0 // 2], B[v0 // 2 + 1]", 6, 5, 16, "(5*o)//2 +: 4"),
    ("B[v0 // 3]", 12, 4, 16, "(4*o)//3 +: 2"),
    ("B[I[v0]]", 4, 4, 16, "0 +: 16"),
    ("B[v0], B[v0 * 2]", 4, 2, 16, "2*o +: 2*o + 3"),
    ("B[T.min(T.max(v0 - 1, 0), 15)], B[v0]", 4, 4, 16, "max(4*o - 1, 0) +: 4*o - max(4*o - 1, 0) + 4"),
    ("B[v0 // 2 - v0 // 3 + 4]", 4, 4, 16, "2*o - (4*o)//3 + 3 +: 3"),
    ("B[v0 * v0]", 4, 4, 256, "16*o*o +: 24*o + 10"),
    ("B[o * i]", 4, 4, 16, "0 +: 3*o + 1"),
]


@pytest.mark.parametrize(("reads", "outer", "inner", "size", "expected"), REQUIRED)
def test_the_region_of_a_tile(reads: str, outer: int, inner: int, size: int, expected: str):
    p = program(reads.replace("o * i", "v0 // 4 * (v0 % 4)"), [("o", outer), ("i", inner)], [f"o*{inner} + i"], [size])
    assert texts(required(p, "o")) == [expected]


def test_a_region_inside_of_all_loops_is_one_element():
    p = program("B[v0]", TILES, ["o*4 + i"], [16])
    assert texts(required(p, "i")) == ["4*o + i +: 1"]


def test_quotient_and_remainder_make_a_tile_of_two_dimensions():
    for inner, expected in (
        (16, ["2*o +: 2", "0 +: 8"]),
        (8, ["o +: 1", "0 +: 8"]),
        (4, ["o//2 +: 1", "4*(o%2) +: 4"]),
    ):
        p = program("B[v0 // 8, v0 % 8]", [("o", 64 // inner), ("i", inner)], [f"o*{inner} + i"], [8, 8])
        assert texts(required(p, "o")) == expected


def test_a_whole_dimension_ends_with_the_buffer():
    p = program("B[v0, v1]", [("o", 3), ("j0", 3), ("i", 3), ("j1", 3)], ["o*3 + i", "j0*3 + j1"], [8, 8])
    assert texts(required(p, "o")) == ["3*o +: 3", "0 +: 8"]


def test_symbolic_extents_stay_sums():
    p = program("B[v0], B[v0 + 1]", [("o", 4), ("i", "n")], ["i"], ["n + 1"])
    assert texts(required(p, "o")) == ["0 +: n + 1"]


def test_bounds_that_depend_on_other_moving_loops_are_followed():
    p = program("B[v0]", [("o", 4), ("i", 4), ("j", "i + 1")], ["o*4 + i + j"], [32])
    assert texts(required(p, "o")) == ["4*o +: 7"]


def test_a_dimension_without_bounds_is_explained_if_there_is_no_shape():
    p, analyzer = program("B[I[v0]]", TILES, ["o*4 + i"], [16]), Analyzer()
    boxes = [access_box(analyzer, a, p.loops["o"]) for a in p.reads]
    found = required_region(analyzer, boxes, fixed_inside(p.loops["o"]))
    assert found == "what dimension 0 is indexed by has no bounds: I[v0]"


def test_loops_around_may_count_as_moving():
    p, analyzer = program("B[v0]", [("t", 8), ("o", 4), ("i", 2)], ["t*8 + o*2 + i"], [64]), Analyzer()
    boxes = [access_box(analyzer, a, p.loops["o"]) for a in p.reads]
    found = required_region(analyzer, boxes, fixed_inside(p.loops["o"], [p.loops["t"].variable]))
    assert texts(found) == ["2*o +: 58"]


def test_the_greatest_extent_is_known_where_extents_differ():
    p = program("B[v0 // 3]", [("o", 6), ("i", 8)], ["o*8 + i"], [16])
    (side,) = required(p, "o")
    assert isinstance(side, IndexRange)
    assert side.extent.terms
    assert side.most == 4


AXES = [
    ("B[v0 * 4 + v1]", [4, 4], 4, ["o +: 1", "0 +: 4"]),
    ("B[v0 * 4 + v1]", [4, 4], 8, ["2*o +: 2", "0 +: 4"]),
    ("B[v0 * 4 + v1]", [4, 4], 2, ["o//2 +: 1", "2*(o%2) +: 2"]),
    ("B[v0 * 4 + 3 - v1]", [4, 4], 2, ["o//2 +: 1", "-2*(o%2) + 2 +: 2"]),
    ("B[v1 * 4 + v0]", [4, 4], 8, ["0 +: 4", "2*o +: 2"]),
    ("B[v0]", [16], 4, ["4*o +: 4"]),
    ("B[v0 + 1]", [15], 4, ["4*o - 1 +: 4"]),
    ("B[v0 * 2]", [8], 4, ["2*o +: 2"]),
    ("B[v0 * 2 + 1]", [8], 4, ["2*o +: 2"]),
    ("B[v0 * 4:v0 * 4 + 4]", [4], 8, ["2*o +: 2"]),
    ("B[v0 * 4:v0 * 4 + 4]", [4], 2, ["o//2 +: 1"]),
    ("B[15 - v0]", [16], 4, ["-4*o + 12 +: 4"]),
    ("B[v0]", [16, 3], 4, ["4*o +: 4", "0 +: 3"]),
    ("B[I[v0]]", [16], 4, ["0 +: 16"]),
]


@pytest.mark.parametrize(("writes", "axes", "inner", "expected"), AXES)
def test_the_axes_that_write_a_tile(writes: str, axes: list[int], inner: int, expected: list[str]):
    p = program("B[v0]", [("o", 16 // inner), ("i", inner)], [f"o*{inner} + i"], [16], writes, axes)
    assert texts(axes_needed(p, "o")) == expected


def test_axes_that_are_added_up_are_left_to_isl():
    p = program("B[v0]", [("o", 16)], ["o"], [16], "B[v0 + v1]", [9, 8])
    assert texts(axes_needed(p, "o")) == [
        "max(0, o - 7) +: min(8, o) - max(0, o - 7) + 1",
        "max(0, o - 8) +: min(7, o) - max(0, o - 8) + 1",
    ]


def test_digits_of_one_axis_are_put_together_again():
    reads, loops = "B[v0, v1, v2]", [("a", 2), ("b", 4), ("o", 2), ("i", 4)]
    p = program(reads, loops, ["a", "b", "o*4 + i"], [2, 4, 8], "B[v0 // 32, v0 // 8 % 4, v0 % 8]", [64])
    assert texts(axes_needed(p, "o")) == ["32*a + 8*b + 4*o +: 4"]
    assert texts(axes_needed(p, "b")) == ["32*a + 8*b +: 8"]
    assert texts(axes_needed(p, "a")) == ["32*a +: 32"]


def finishing(p: Program, at: str, *, last: bool = True) -> list[IndexRange]:
    """The values of C's axes whose instances are ready after one iteration of the loop `at` around B."""
    analyzer, loop = Analyzer(), p.loops[at]
    produced = required_region(analyzer, [access_box(analyzer, p.write, loop)], fixed_inside(loop))
    assert not isinstance(produced, str)
    demands = [BoxDemand(written_box(analyzer, read), produced) for read in p.reads]
    return finishing_region(analyzer, p.blocks["C"], demands, fixed_inside(loop), last=last)


FINISHING = [
    ("B[v0]", "4*p0 +: 4"),
    ("B[v0 // 2]", "8*p0 +: 8"),
    ("B[v0 * 2]", "2*p0 +: 2"),
    ("B[v0 + 1]", "4*p0 - 1 +: 4"),
    ("B[15 - v0]", "-4*p0 + 12 +: 4"),
    ("B[v0:v0 + 2]", "4*p0 - 1 +: 4"),
    ("B[v0], B[v0 + 1]", "4*p0 - 1 +: 4"),
    ("B[v0 + 3], B[v0 // 2]", "4*p0 - 3 +: 4"),
    ("B[v0 * 2:v0 * 2 + 3]", "2*p0 - 1 +: 2"),
]


@pytest.mark.parametrize(("reads", "expected"), FINISHING)
def test_the_axes_that_can_follow_a_tile(reads: str, expected: str):
    p = program(reads, [("i", 40)], ["i"], [16], "B[v0 * 4:v0 * 4 + 4]", [4])
    assert texts(finishing(p, "p0")) == [expected]


def test_those_that_begin_with_a_tile():
    p = program("B[v0:v0 + 2]", [("i", 40)], ["i"], [16], "B[v0 * 4:v0 * 4 + 4]", [4])
    assert texts(finishing(p, "p0", last=False)) == ["4*p0 +: 4"]


def coverage(p: Program) -> str | None:
    """The reason why B, after all its loops, does not write all elements read by C; None if it does."""
    analyzer = Analyzer()
    function = p.blocks["B"].get_toplevel_object()
    assert isinstance(function, Operation)
    reads = [access_box(analyzer, a) for a in p.reads]
    return why_not_covered(analyzer, [access_box(analyzer, p.write)], reads, defined_outside(function))


def test_what_is_written_covers_what_is_read():
    assert coverage(program("B[v0:v0 + 2]", [("i", 15)], ["i"], [16])) is None


def test_an_element_that_is_not_written_is_named():
    p = program("B[v0:v0 + 2]", [("i", 15)], ["i"], [16], axes=[15])
    assert coverage(p) == "element [15] is not written"


def test_holes_between_what_is_written_are_found():
    p = program("B[v0 * 2 + 1]", [("i", 8)], ["i"], [16], "B[v0 * 2]", [8])
    assert coverage(p) == "element [1] is not written"


def test_the_fixed_values_of_a_counterexample_are_named():
    p, analyzer = program("B[v0]", TILES, ["o*4 + i"], [16]), Analyzer()
    loop = p.loops["o"]
    boxes = [access_box(analyzer, a, loop) for a in p.reads]
    half = AccessBox(((Lin.of(loop.variable, 4), Lin(2)),))
    found = why_not_covered(analyzer, [half], boxes, fixed_inside(loop))
    assert found == "element [2] is not written where o = 0"


def test_fixed_values_that_no_box_names_stay_in_their_ranges():
    p, analyzer = program("B[v0]", TILES, ["0"], [16]), Analyzer()
    loop = p.loops["o"]
    zero, upto_o = AccessBox(((Lin(), Lin(1)),)), AccessBox(((Lin(), Lin.of(loop.variable) + 1),))
    assert why_not_covered(analyzer, [upto_o], [zero], fixed_inside(loop)) is None


def test_predicates_and_branches_are_conditions_of_a_box():
    p = Program.parse("""
from tvm.script import tir as T
@T.prim_func
def main(B: T.Buffer((16,), "float32")):
    for o, i in T.grid(4, 5):
        if o < 3:
            with T.block("B"):
                v = T.axis.spatial(16, o * 5 + i)
                T.where(o * 5 + i < 13)
                B[v] = T.float32(0)
        else:
            with T.block("C"):
                v = T.axis.spatial(16, i)
                T.reads(B[v])
                T.evaluate(0)
""")
    analyzer = Analyzer()
    written, read = access_box(analyzer, p.write, p.loops["o"]), access_box(analyzer, p.reads[0], p.loops["o"])
    assert [render_sum(c, name) for c in written.conditions] == ["-5*o - i + 12", "-o + 2"]
    assert written.is_exact
    assert read.conditions == ()
    assert not read.is_exact


def test_what_runs_under_a_condition_that_is_not_affine_counts_as_not_written():
    p = Program.parse("""
from tvm.script import tir as T
@T.prim_func
def main(I: T.Buffer((16,), "int32"), B: T.Buffer((16,), "float32")):
    for i in range(16):
        with T.block("B"):
            v = T.axis.spatial(16, i)
            T.where(I[i] < 3)
            B[v] = T.float32(0)
    for j in range(16):
        with T.block("C"):
            v = T.axis.spatial(16, j)
            T.reads(B[v])
            T.evaluate(0)
""")
    assert coverage(p) == "element [0] is not written, as far as is known: I[i] is not affine"


def test_conditions_narrow_what_is_written_and_what_is_read():
    p, analyzer = program("B[v0]", TILES, ["o*4 + i"], [16]), Analyzer()
    loop = p.loops["o"]
    (box,) = [access_box(analyzer, a, loop) for a in p.reads]
    narrow = AccessBox(box.sides, (-box.sides[0][0] + 10,))
    assert why_not_covered(analyzer, [box], [narrow], fixed_inside(loop)) is None
    assert why_not_covered(analyzer, [narrow], [box], fixed_inside(loop)) == "element [11] is not written where o = 2"


def test_what_is_not_affine_counts_as_not_written():
    p = program("B[v0]", TILES, ["o*4 + i"], [16], "B[I[v0]]", [16])
    assert coverage(p) == "element [0] is not written, as far as is known: I[v0] is not affine"


# Laws


@dataclass
class Case:
    """An access in two varying loops inside a fixed loop, as Python text; each offset adds an access."""

    index: str
    extents: tuple[int, int, int]
    offsets: list[int]
    width: int

    def touched(self, o: int) -> set[int]:
        found: set[int] = set()
        for i, j in itertools.product(range(self.extents[1]), range(self.extents[2])):
            index = eval(self.index, {"o": o, "i": i, "j": j, "min": min, "max": max})
            found |= {index + offset + k for offset in self.offsets for k in range(self.width)}
        return found

    def program(self) -> Program:
        index = self.index.replace("min", "T.min").replace("max", "T.max")
        index = index.replace("o", "v0").replace("i", "v1").replace("j", "v2").replace("mv1n", "min")
        reads = ", ".join(f"B[{index} + {k}:{index} + {k + self.width}]" for k in self.offsets)
        return program(reads, list(zip("oij", self.extents, strict=True)), ["o", "i", "j"], [1000])


@st.composite
def linear(draw: Any) -> str:
    """A sum of each variable at most once."""
    parts = [f"{draw(st.integers(-6, 6))}*{v}" for v in draw(st.permutations("oij"))]
    return f"({' + '.join(parts)} + {draw(st.integers(-8, 8))})"


@st.composite
def monotone(draw: Any) -> str:
    """A sum, perhaps divided, clamped, scaled."""
    text = draw(linear())
    for wrap in draw(st.lists(st.sampled_from(["div", "min", "max", "scale"]), max_size=3)):
        k = draw(st.integers(1, 9))
        text = {"div": f"({text}//{k})", "min": f"min({text}, {k})", "max": f"max({text}, {k})"}.get(
            wrap, f"({text}*{k - 5})"
        )
    return text


@st.composite
def anything(draw: Any) -> str:
    a, b = draw(monotone()), draw(monotone())
    k = draw(st.integers(1, 9))
    return draw(
        st.sampled_from([f"({a} + {b})", f"({a} % {k})", f"({a} + {b} % {k})", f"min({a}, {b})", f"max({a}, {b})"])
    )


@st.composite
def cases(draw: Any, indices: st.SearchStrategy[str], offsets: int = 3) -> Case:
    extents = tuple(draw(st.integers(1, 6)) for _ in range(3))
    more = draw(st.lists(st.integers(-5, 5), max_size=offsets))
    return Case(draw(indices), extents, [0, *more], draw(st.integers(1, 4)))  # pyright: ignore[reportArgumentType]


def numbers(side: IndexRange, values: dict[SSAValue, int]) -> tuple[int, int]:
    """The minimum and the maximum index of a side."""
    low, extent = side.low.evaluate(values.__getitem__), side.extent.evaluate(values.__getitem__)
    assert extent <= side.most
    return low, low + extent - 1


def check_region(case: Case, *, is_tight: bool) -> None:
    p, analyzer = case.program(), Analyzer()
    loop = p.loops["o"]
    boxes = [access_box(analyzer, a, loop) for a in p.reads]
    found = required_region(analyzer, boxes, fixed_inside(loop))
    assert not isinstance(found, str)
    for o in range(case.extents[0]):
        touched = case.touched(o)
        low, high = numbers(found[0], {loop.variable: o})
        assert low <= min(touched)
        assert high >= max(touched)
        if is_tight:
            assert (low, high) == (min(touched), max(touched))


@given(cases(monotone()))
def test_regions_of_sums_quotients_and_clamps_are_the_smallest(case: Case):
    check_region(case, is_tight=True)


@given(cases(anything()))
def test_regions_contain_what_is_touched(case: Case):
    check_region(case, is_tight=False)


GUARDED = """
@T.prim_func
def main(B: T.Buffer((1000,), "float32")):
    for o, i, j in T.grid(2, {rows}, {columns}):
        if i * {step} + j < {count}:
            with T.block("B"):
                v = T.axis.spatial(1000, i * {step} + j)
                B[v] = T.float32(0)
            with T.block("C"):
                v = T.axis.spatial(1000, i * {step} + j)
                T.reads(B[v // {divisor} + o])
                T.evaluate(0)
"""


@given(*[st.integers(1, 9)] * 3, st.integers(2, 40), st.integers(1, 5))
def test_conditions_bound_sums_that_are_equal(rows: int, columns: int, step: int, count: int, divisor: int):
    p, analyzer = Program.parse(GUARDED.format(**locals())), Analyzer()
    loop = p.loops["o"]
    found = required_region(analyzer, [access_box(analyzer, a, loop) for a in p.reads], fixed_inside(loop))
    assert not isinstance(found, str)
    for o in range(2):
        sums = {i * step + j for i, j in itertools.product(range(rows), range(columns))}
        touched = {each // divisor + o for each in sums if each < count}
        low, high = numbers(found[0], {loop.variable: o})
        assert low <= min(touched)
        assert high >= max(touched)
        if step == columns:  # all sums occur
            assert (low, high) == (min(touched), max(touched))


@given(cases(monotone(), offsets=1), cases(monotone(), offsets=1))
def test_coverage_is_exact(written: Case, read: Case):
    read = replace(read, extents=written.extents)
    p, q = written.program(), read.program()
    analyzer = Analyzer()
    loop, other = p.loops["o"], q.loops["o"]
    given_boxes = [access_box(analyzer, a, loop) for a in p.reads]
    same: dict[SSAValue, Lin] = {other.variable: Lin.of(loop.variable)}
    wanted = [access_box(analyzer, a, other).substitute_values(analyzer, same) for a in q.reads]
    found = why_not_covered(
        analyzer,
        given_boxes,
        wanted,
        lambda v: v is loop.variable or (fixed_inside(loop)(v) and defined_outside(other)(v)),
    )
    covered = all(read.touched(o) <= written.touched(o) for o in range(written.extents[0]))
    assert (found is None) == covered


@st.composite
def packings(draw: Any) -> tuple[str, list[int], int]:
    """An index with the axes as mixed-radix digits, the extents of the axes, and the width of the write."""
    extents = draw(st.lists(st.integers(1, 5), min_size=1, max_size=3))
    order = draw(st.permutations(range(len(extents))))
    scale, parts = draw(st.integers(1, 3)), list[str]()
    for n in order:
        parts.append(f"v{n}*{scale}" if draw(st.booleans()) else f"({extents[n] - 1} - v{n})*{scale}")
        scale *= extents[n]
    return " + ".join(parts) + f" + {draw(st.integers(0, 3))}", extents, draw(st.integers(1, 3))


@given(packings(), cases(linear()))
def test_the_axes_that_are_found_are_those_that_touch(packing: tuple[str, list[int], int], case: Case):
    index, extents, width = packing
    p, analyzer = case.program(), Analyzer()
    loop = p.loops["o"]
    needed = required_region(analyzer, [access_box(analyzer, a, loop) for a in p.reads], fixed_inside(loop))
    assert not isinstance(needed, str)
    producer = program("B[0]", TILES, [], [1000], f"B[{index}:{index} + {width}]", extents)
    block = producer.blocks["B"]
    demand = BoxDemand(written_box(analyzer, producer.write), needed)
    found = axes_region(analyzer, block, [demand], lambda v: fixed_inside(loop)(v))
    for o in range(case.extents[0]):
        first, last = numbers(needed[0], {loop.variable: o})
        values = [numbers(side, {loop.variable: o}) for side in found]
        for axes in itertools.product(*map(range, extents)):
            at = eval(index, {f"v{n}": k for n, k in enumerate(axes)})
            if at <= last and at + width > first:
                assert all(low <= k <= high for k, (low, high) in zip(axes, values, strict=True))


@given(st.integers(1, 5), st.integers(1, 4), st.integers(-3, 9), st.integers(1, 5), st.integers(1, 4))
def test_each_instance_can_run_when_the_last_element_it_touches_is_there(
    tile: int, scale: int, offset: int, width: int, divisor: int
):
    reads = f"B[v0 // {divisor} * {scale} + {offset}:v0 // {divisor} * {scale} + {offset + width}]"
    p = program(reads, [("i", 40)], ["i"], [100], f"B[v0 * {tile}:v0 * {tile} + {tile}]", [6])
    (side,) = finishing(p, "p0")
    for iteration in range(6):
        low, high = numbers(side, {p.loops["p0"].variable: iteration})
        runs = {v for v in range(40) if (v // divisor * scale + offset + width - 1) // tile == iteration}
        assert runs == set(range(max(low, 0), min(high, 39) + 1))


@st.composite
def unpackings(draw: Any) -> tuple[str, str, int]:
    """Two indices computed from one axis, and the extent of the axis."""
    forms = ("{v}//{k}", "{v}%{k}", "{v}//{k}%{m}", "{v}%{m}//{k}", "{v}*{k}", "{m} - {v}", "min({v}, {k})")
    a, b = (
        draw(st.sampled_from(forms)).format(v="v0", k=draw(st.integers(1, 4)), m=draw(st.integers(1, 9)))
        for _ in range(2)
    )
    return a, b, draw(st.integers(1, 24))


@given(unpackings(), st.integers(-2, 9), st.integers(1, 4), st.integers(-2, 9), st.integers(1, 4))
def test_the_axes_that_are_found_for_quotients_and_remainders_contain_those_that_touch(
    unpacking: tuple[str, str, int], low_a: int, size_a: int, low_b: int, size_b: int
):
    a, b, extent = unpacking
    writes = f"B[{a}, {b}]".replace("min", "T.min")
    p = program("B[0, 0]", [("o", 3)], ["o"], [100, 100], writes, [extent])
    analyzer, o = Analyzer(), p.loops["o"].variable
    box = [
        IndexRange.between(analyzer, Lin.of(o) + low, Lin.of(o) + low + size - 1)
        for low, size in ((low_a, size_a), (low_b, size_b))
    ]
    (found,) = axes_region(
        analyzer, p.blocks["B"], [BoxDemand(written_box(analyzer, p.write), box)], fixed_inside(p.loops["o"])
    )
    for shift in range(3):
        low, high = numbers(found, {o: shift})
        for v0 in range(extent):
            x, y = (eval(index, {"v0": v0, "min": min}) - shift for index in (a, b))
            if low_a <= x < low_a + size_a and low_b <= y < low_b + size_b:
                assert low <= v0 <= high


def test_tiles_of_symbolic_buffers_are_regions():
    source = """
from tvm.script import tir as T
@T.prim_func
def main(a: T.handle, c: T.handle):
    n = T.int32()
    A = T.match_buffer(a, (n,), "float32")
    D = T.match_buffer(c, (n,), "float32")
    B = T.alloc_buffer((n,))
    for i in range(n):
        with T.block("B"):
            v = T.axis.spatial(n, i)
            B[v] = A[v]
    for o, i in T.grid((n + 3) // 4, 4):
        with T.block("C"):
            v = T.axis.spatial(n, o * 4 + i)
            T.where(o * 4 + i < n)
            D[v] = B[v]
"""
    p = Program.parse(source)
    assert texts(required(p, "o")) == ["4*o +: 4"]
    assert texts(axes_needed(p, "o")) == ["4*o +: 4"]


def test_sums_that_wrap_at_most_to_negative_numbers_are_taken_apart():
    p = program("B[v0]", [("o", 4), ("i", "n")], ["o*n + i"], ["n * 4"])
    assert texts(required(p, "o")) == ["o*n +: n"]


def test_sums_that_may_wrap_around_are_not_taken_apart():
    p = program("B[v0]", [("o", 9), ("i", "n")], ["o*n + i"], ["n * 9"])
    (side,) = required(p, "o")
    assert isinstance(side, IndexRange)
    assert side.low == Lin()


def test_bindings_are_those_of_the_axes():
    p, analyzer = program("B[v0]", TILES, ["o*4 + i"], [16]), Analyzer()
    ((variable, bound),) = bindings(analyzer, p.blocks["C"]).items()
    assert variable is p.blocks["C"].variables[0]
    assert render_sum(bound, name) == "4*o + i"


def test_the_form_of_fused_and_divided_loops_shows_what_is_written(monkeypatch: pytest.MonkeyPatch):
    loops = [("b", 512), ("v", 8), ("t", 8), ("i", 4), ("j", 4)]
    bindings = ["b//128*128 + v*16 + t//2*4 + i", "b%128*8 + t%2*4 + j"]
    p = program("B[v0, v1]", loops, bindings, [512, 1024], "B[v0, v1]", [512, 1024])
    monkeypatch.setattr("stepwell.analysis.regions.coverage.isl_operation_limit", refuse)
    assert coverage_of_reads(p) is None
    q = program("B[v0, v1]", loops, bindings, [512, 1025], "B[v0, v1]", [512, 1025])
    with pytest.raises(AssertionError, match="isl is asked"):
        coverage_of_reads(q)
    r = program("B[v0, v1]", loops, [*bindings[:1], "b%128*8 + t%2*3 + j"], [512, 1024], "B[v0, v1]", [512, 1024])
    with pytest.raises(AssertionError, match="isl is asked"):
        coverage_of_reads(r)


def coverage_of_reads(p: Program) -> str | None:
    """The reason why C, after all its loops, does not read all elements that B writes; None if it does."""
    analyzer = Analyzer()
    function = p.blocks["B"].get_toplevel_object()
    assert isinstance(function, Operation)
    return why_not_covered(
        analyzer, [access_box(analyzer, a) for a in p.reads], [access_box(analyzer, p.write)], defined_outside(function)
    )


def refuse(_limit: int) -> None:
    raise AssertionError("isl is asked")

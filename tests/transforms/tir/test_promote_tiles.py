"""Tiles of sums with fewer rows or columns are in registers, and all other elements stay as they are."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import stepwell
from stepwell import Module, apply_passes, parse_tvmscript
from stepwell.dialects.tir import AllocBufferOp

PASS = "tir-promote-tiles{masks=true}"


def nested(lines: Sequence[str], depth: int) -> str:
    """Lines of which each contains the next one."""
    return "".join(f"\n{'    ' * (depth + number)}{line}" for number, line in enumerate(lines))


@dataclass(frozen=True)
class Tile:
    """A program that sums tiles of `rows` by `columns` elements of C, of n by m elements.

    lanes: the lanes of a vector of a row.  summands: None for the size k.  limits: the limited axes.  start: the
    statement before the sums.  value: the summand.  is_vector: whether the program has vectors in place of a vectorized
    loop, which then has no limit.
    """

    rows: int
    columns: int
    lanes: int
    summands: int | None
    limits: str
    start: str
    value: str
    is_strict: bool
    is_vector: bool = False

    def text(self) -> str:
        i, j = f"i0 * {self.rows} + i", f"j0 * {self.columns * self.lanes} + j * {self.lanes} + v"
        row = f"{i} < n" if self.is_strict else f"n - 1 >= {i}"
        condition = " and ".join({"i": row, "j": f"{j} < m"}[axis] for axis in self.limits)
        axes = (f"for i in T.unroll({self.rows}):", f"for j in T.unroll({self.columns}):")
        around = (*axes, f"for v in T.vectorized({self.lanes}):", f"if {condition}:")
        starts = (*around, f"C[{i}, {j}] = {self.start}") if self.start else ()
        sums = (*around, f"C[{i}, {j}] = C[{i}, {j}] + {self.value.format(i=i, j=j)}")
        if self.is_vector:
            v = f"T.Ramp(j0 * {self.columns * self.lanes} + j * {self.lanes}, 1, {self.lanes})"
            starts = (*axes, f"if {row}:", f"C[{i}, {v}] = T.Broadcast({self.start}, {self.lanes})") if starts else ()
            product = f"T.Broadcast(A[{i}, r], {self.lanes}) * B[r, {v}]"
            sums = (*axes, f"if {row}:", f"C[{i}, {v}] = C[{i}, {v}] + {product}")
        tiles = [f"({size} + {length - 1}) // {length}" for size, length in self.sizes()]
        return f"""@T.prim_func
def main(a: T.handle, b: T.handle, c: T.handle, x: T.Buffer((16,), "int32")):
    n, m, k = T.int32(), T.int32(), T.int32()
    A = T.match_buffer(a, (n, k), "float32")
    B = T.match_buffer(b, (k, m), "float32")
    C = T.match_buffer(c, (n, m), "float32")
    T.func_attr({{"tir.noalias": True}})
    for i0, j0 in T.grid({tiles[0]}, {tiles[1]}):{nested(starts, 2)}
        for r in range({"k" if self.summands is None else self.summands}):{nested(sums, 3)}
"""

    def sizes(self) -> list[tuple[str, int]]:
        return [("n", self.rows), ("m", self.columns * self.lanes)]


VALUES = (
    "A[{i}, r] * B[r, {j}]",
    "A[{i}, r] * T.if_then_else({j} > 1, B[r, {j} - 1], T.float32(2))",
    "B[r, {j}] * T.float32(3) - A[x[{i}], r]",
    "T.cast({i} * 7 + {j}, 'float32')",
    "T.max(A[0, r], B[0, {j}])",
)
tiles = st.builds(
    Tile,
    st.integers(1, 4),
    st.integers(1, 3),
    st.sampled_from((1, 2, 4)),
    st.sampled_from((None, None, 1, 3)),
    st.sampled_from(("i", "j", "ij")),
    st.sampled_from(("", "T.float32(0)", "T.float32(-1.5)")),
    st.sampled_from(VALUES),
    st.booleans(),
    st.booleans(),
)


def results(module: Module, arrays: list[np.ndarray[Any, Any]], target: str) -> np.ndarray[Any, Any]:
    a, b, c, x = arrays
    after = c.copy()
    stepwell.build(module, target)["main"](a, b, after, x)
    return after


@given(tiles, st.integers(0, 9), st.integers(0, 13), st.integers(0, 3), st.sampled_from(("python", "llvm")))
@example(Tile(4, 2, 4, None, "ij", "T.float32(0)", VALUES[0], True), 6, 13, 3, "llvm")
@example(Tile(4, 2, 4, None, "ij", "", VALUES[0], True), 5, 13, 0, "python")
@example(Tile(4, 1, 4, 3, "i", "", VALUES[2], False), 1, 8, 3, "python")
@example(Tile(4, 2, 4, None, "i", "T.float32(0)", VALUES[0], True, is_vector=True), 6, 16, 3, "llvm")
def test_the_results_stay_the_same(tile: Tile, n: int, m: int, k: int, target: str) -> None:
    if tile.is_vector:
        tile = replace(tile, limits="i", lanes=max(2, tile.lanes))
    k = k if tile.summands is None else tile.summands
    if "i" not in tile.limits:
        n -= n % tile.rows
    if "j" not in tile.limits:
        m -= m % (tile.columns * tile.lanes)
    module = parse_tvmscript(tile.text())
    after = apply_passes(module, PASS)
    assert any(isinstance(op, AllocBufferOp) for op in after.op.walk())
    random = np.random.default_rng(n * 100 + m)
    shapes = ((n, k), (k, m), (n, m))
    arrays: list[Any] = [random.integers(-9, 9, shape).astype("float32") for shape in shapes]
    arrays.append(random.integers(0, max(n, 1), 16).astype("int32"))
    np.testing.assert_array_equal(results(after, arrays, target), results(module, arrays, "python"))


ROWS = Tile(4, 1, 4, None, "i", "T.float32(0)", VALUES[0], True).text()
SUMS = Tile(4, 1, 4, None, "i", "", VALUES[0], True).text()
BOTH = Tile(4, 1, 4, None, "ij", "T.float32(0)", VALUES[0], True).text()


@pytest.mark.parametrize(
    ("text", "passes"),
    [
        (ROWS.replace("A[i0 * 4 + i, r] *", "C[0, 0] *"), PASS),  # another element of the tile's buffer
        (ROWS.replace('"tir.noalias": True', '"tir.noalias": False'), PASS),
        (ROWS.replace("i0 * 4 + i < n", "i0 * 4 + i != n"), PASS),  # not the first rows
        (SUMS.replace("i0 * 4 + i < n", "i0 * 4 + i + r < n"), PASS),  # the summation changes the limit
        (ROWS.replace("A[i0 * 4 + i, r] *", "A[i0 * 4 + i, r // n] *"), PASS),  # a division by 0
        (ROWS.replace("C[i0 * 4 + i, j0", "C[i0 * 4 + i // 2, j0"), PASS),  # one element for two rows
        (ROWS, "tir-promote-tiles{max-bytes=60}"),
        (BOTH, "tir-promote-tiles"),  # no masks
    ],
)
def test_other_loops_stay_as_they_are(text: str, passes: str) -> None:
    module = parse_tvmscript(text)
    assert apply_passes(module, passes).script() == module.script()

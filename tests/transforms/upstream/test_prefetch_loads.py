"""The requests of panels: the passes over a panel request all cache lines of the next one."""

from __future__ import annotations

from itertools import product
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st
from xdsl.dialects import vector

from stepwell.backends.passes import apply_passes
from stepwell.core.walking import find_ops
from stepwell.dialects.attributes import PREFETCH, PREFETCH_PANEL
from stepwell.frontends.mlir import parse_mlir

LINE = 64


def loads(text: str) -> list[vector.LoadOp]:
    """The loads after the pass, for small caches."""
    module = apply_passes(parse_mlir(text), 'prefetch-loads{cpu="avx512,l1_bytes=1,l2_bytes=1" tile-bytes=1}')
    return list(find_ops(module.op, vector.LoadOp))


def nest(bounds: list[tuple[int, int, int]], index: str, shape: str, lines: int = 1) -> str:
    """A function with the loops `%i0`, `%i1`, ... (low, high and step of each), of which the innermost adds vectors of
    successive cache lines. index: the indices of a vector but the last."""
    head, tail = "", ""
    for n, (low, high, step) in enumerate(bounds):
        head += f"%l{n} = arith.constant {low} : index\n%h{n} = arith.constant {high} : index\n"
        head += f"%s{n} = arith.constant {step} : index\nscf.for %i{n} = %l{n} to %h{n} step %s{n} {{\n"
        tail += "}\n"
    for n in range(lines):
        head += f"""%c{n} = arith.constant {n * 16} : index
%x{n} = vector.load %w[{index}, %c{n}] : memref<{shape}xf32>, vector<16xf32>
%y{n} = arith.addf %x{n}, %x{n} : vector<16xf32>
vector.store %y{n}, %out[%c{n}] : memref<64xf32>, vector<16xf32>
"""
    return f"func.func @main(%w: memref<{shape}xf32>, %out: memref<64xf32>) {{\n{head}{tail}func.return\n}}"


@given(data=st.data())
def test_the_passes_over_a_panel_request_all_lines_of_the_next_one(data: st.DataObject) -> None:
    rows, columns, lines = (data.draw(st.integers(1, most)) for most in (5, 12, 4))
    panels = (0, data.draw(st.integers(2, 4)), 1)
    passes = [
        (low, low + count * step - data.draw(st.integers(0, step - 1)), step)
        for low, count, step in data.draw(
            st.lists(st.tuples(st.integers(0, 5), st.integers(1, 6), st.integers(1, 3)), min_size=1, max_size=2)
        )
    ]
    first = len(passes) + 1
    text = nest(
        [panels, *passes, (0, rows, 1), (0, columns, 1)],
        f"%i0, %i{first}, %i{first + 1}",
        f"{panels[1]}x{rows}x{columns}x{16 * lines}",
        lines,
    )
    count = 1
    for low, high, step in passes:
        count *= len(range(low, high, step))
    marked = [
        (n, load.attributes[PREFETCH_PANEL]) for n, load in enumerate(loads(text)) if PREFETCH_PANEL in load.attributes
    ]
    assert bool(marked) == (count > 1)
    requested = set[int]()
    size = rows * columns * lines * LINE
    for n, attribute in marked:
        distance, *changes = cast("Any", attribute).get_values()
        for *around, row, column in product(*(range(*bounds) for bounds in passes), range(rows), range(columns)):
            address = ((row * columns + column) * lines + n) * LINE + distance
            variables = [column, row, *reversed(around)]
            address += sum(change * variable for change, variable in zip(changes, variables, strict=True))
            requested.add(address // LINE)
    if marked:
        missing = set(range(size // LINE, 2 * size // LINE)) - requested
        assert len(missing) <= count  # of a part whose size is no multiple of a line, the last one


@pytest.mark.parametrize("index", ["%half, %i1", "%i1, %half"])
def test_panels_at_computed_indices_are_not_requested(index: str) -> None:
    text = nest([(0, 8, 1), (0, 4, 1)], index, "8x8x16")
    text = text.replace("%c0 =", "%two = arith.constant 2 : index\n%half = arith.divsi %i0, %two : index\n%c0 =")
    assert not any(PREFETCH_PANEL in load.attributes for load in loads(text))


def tile(rows: int, passes: int) -> str:
    """A function with passes over a panel of 8 vectors, of which each is added to some rows of sums."""
    sums = "".join(
        f"""%r{n} = arith.constant {n} : index
%s{n} = vector.load %out[%r{n}, %l] : memref<{rows}x8xf32>, vector<8xf32>
%y{n} = arith.addf %x, %s{n} : vector<8xf32>
vector.store %y{n}, %out[%r{n}, %l] : memref<{rows}x8xf32>, vector<8xf32>
"""
        for n in range(rows)
    )
    return f"""func.func @main(%w: memref<4x8x8xf32>, %out: memref<{rows}x8xf32>) {{
%l = arith.constant 0 : index
%one = arith.constant 1 : index
%panels = arith.constant 4 : index
%passes = arith.constant {passes} : index
%k = arith.constant 8 : index
scf.for %i = %l to %panels step %one {{
scf.for %j = %l to %passes step %one {{
scf.for %n = %l to %k step %one {{
%x = vector.load %w[%i, %n, %l] : memref<4x8x8xf32>, vector<8xf32>
{sums}
}}
}}
}}
func.return
}}"""


@pytest.mark.parametrize(
    ("rows", "passes", "updates", "requests"),
    [
        (3, 16, 2, True),
        (3, 17, 2, False),  # later passes find the panel in a near cache
        (2, 16, 2, False),  # a load and a request for two sums
        (2, 17, 4, True),  # a fast core
    ],
)
def test_a_core_that_is_not_fast_requests_what_is_far(rows: int, passes: int, updates: int, requests: bool) -> None:
    cpu = f"avx2,l1_bytes=1,l2_bytes=1,updates_per_cycle={updates}"
    module = apply_passes(parse_mlir(tile(rows, passes)), f'prefetch-loads{{cpu="{cpu}" tile-bytes=1}}')
    assert any(PREFETCH in load.attributes for load in find_ops(module.op, vector.LoadOp)) == requests

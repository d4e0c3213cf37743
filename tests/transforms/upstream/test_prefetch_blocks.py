"""The requests of blocks: an iteration over a block requests the cache lines that the next one loads."""

from __future__ import annotations

from itertools import product
from typing import Any, cast

from hypothesis import given
from hypothesis import strategies as st
from xdsl.dialects import arith, memref
from xdsl.dialects.builtin import DenseArrayBase, IntegerAttr
from xdsl.ir import SSAValue

from stepwell.backends.passes import apply_passes
from stepwell.core.walking import find_ops, loops_around
from stepwell.dialects.attributes import PREFETCH
from stepwell.frontends.mlir import parse_mlir

LINE = 64
LANES = 16
HEIGHT, WIDTH = 40, 48


def convolution(pixels: list[tuple[int, int]], window: tuple[int, int], low: int, steps: tuple[int, int]) -> str:
    """A function that loads the elements of a convolution of an image in blocks of 16 channels. pixels: the row and
    the column of each element of the tile.  window: its rows and columns, from `low` on.  steps: those of a window."""
    numbers = {low, *window, *steps, 0, 1, 16, 20, low + window[0], low + window[1], *(n for at in pixels for n in at)}
    constants = "".join(f"%c{n} = arith.constant {n} : index\n" for n in sorted(numbers))
    loads = "".join(
        f"""%h{n} = arith.addi %top, %c{y} : index
%w{n} = arith.addi %left, %c{x} : index
%x{n} = memref.load %image[%block, %h{n}, %w{n}, %channel] : memref<20x{HEIGHT}x{WIDTH}x16xf32>
"""
        for n, (y, x) in enumerate(pixels)
    )
    return f"""func.func @main(%image: memref<20x{HEIGHT}x{WIDTH}x16xf32>, %s: vector<16xf32>) {{
{constants}
scf.for %block = %c0 to %c20 step %c1 {{
scf.for %channel = %c0 to %c16 step %c1 {{
scf.for %y = %c{low} to %c{low + window[0]} step %c1 {{
scf.for %x = %c{low} to %c{low + window[1]} step %c1 {{
%top = arith.muli %y, %c{steps[0]} : index
%left = arith.muli %x, %c{steps[1]} : index
{loads}
%sum = arith.addf %s, %s : vector<16xf32>
}}
}}
}}
}}
func.return
}}"""


def value(of: SSAValue, variables: dict[str, int]) -> int:
    """The value of an index. variables: those of the loops, by name."""
    if of.name_hint in variables:
        return variables[of.name_hint]
    if isinstance(of.owner, arith.ConstantOp):
        return cast("IntegerAttr", of.owner.value).value.data
    assert isinstance(of.owner, arith.MuliOp | arith.AddiOp)
    a, b = (value(operand, variables) for operand in of.owner.operands)
    return a * b if isinstance(of.owner, arith.MuliOp) else a + b


def address(load: memref.LoadOp, variables: dict[str, int]) -> int:
    """The offset in bytes of the element that a load reads."""
    block, h, w, channel = (value(index, variables) for index in load.indices)
    return (((block * HEIGHT + h) * WIDTH + w) * LANES + channel) * 4


def distance(load: memref.LoadOp, variables: dict[str, int]) -> int:
    """The distance in bytes from the address of a load to the line that it requests."""
    first, *coefficients = cast("DenseArrayBase[Any]", load.attributes[PREFETCH]).get_values()
    around = (loop.body.block.args[0] for loop in loops_around(load))
    return first + sum(k * value(each, variables) for k, each in zip(coefficients, around, strict=False))


@given(
    pixels=st.lists(st.tuples(st.integers(0, 6), st.integers(0, 12)), min_size=1, max_size=6),
    window=st.tuples(st.integers(1, 3), st.integers(1, 3)),
    low=st.integers(0, 2),
    steps=st.tuples(st.integers(1, 2), st.integers(1, 2)),
)
def test_an_iteration_over_a_block_requests_the_lines_of_the_next_block(
    pixels: list[tuple[int, int]], window: tuple[int, int], low: int, steps: tuple[int, int]
) -> None:
    text = convolution(pixels, window, low, steps)
    module = apply_passes(parse_mlir(text), 'prefetch-blocks{cpu="avx2,l2_bytes=1" tile-bytes=1}')
    requested, loaded = set[int](), set[int]()
    for channel, y, x in product(range(16), range(low, low + window[0]), range(low, low + window[1])):
        for load in find_ops(module.op, memref.LoadOp):
            variables = {"block": 3, "channel": channel, "y": y, "x": x}
            if PREFETCH in load.attributes:
                requested.add((address(load, variables) + distance(load, variables)) // LINE)
            else:
                loaded.add(address(load, {**variables, "block": 4}) // LINE)
    assert loaded <= requested


def test_a_core_that_is_fast_requests_no_blocks() -> None:
    text = convolution([(0, 0)], (1, 1), 0, (1, 1))
    module = apply_passes(parse_mlir(text), 'prefetch-blocks{cpu="avx512,l2_bytes=1" tile-bytes=1}')
    assert not any(PREFETCH in load.attributes for load in find_ops(module.op, memref.LoadOp))

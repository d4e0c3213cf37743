"""Samples of operators that divide axes into blocks."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

from ....operators.layouts import Layout
from .sampling import ALL, Draw, Sample, numbers


def _layout(draw: Draw, letters: str, blocks: dict[str, list[int]]) -> str:
    """A layout of dimensions with blocks of some sizes, each after its dimension."""
    order = draw(st.permutations(letters))
    parts = [f"{size}{letter.lower()}" for letter in order for size in blocks[letter]]
    return "".join([*order, *parts])


@st.composite
def layout_samples(draw: Draw) -> Sample:
    letters = draw(st.sampled_from(("NC", "OIW", "NCHW")))
    divided = [{letter: draw(st.sampled_from(([], [], [2], [4], [2, 2], [1]))) for letter in letters} for _ in range(2)]
    source, target = (_layout(draw, letters, blocks) for blocks in divided)
    extents = {letter: 4 * draw(st.sampled_from((0, 1, 1, 2))) for letter in letters}
    shape = [int(each) for each in Layout.of(source).shape(extents)]
    data = numbers(draw, shape, draw(st.sampled_from(ALL)))
    return Sample([data], {"src_layout": source, "dst_layout": target})


@st.composite
def to_batch_samples(draw: Draw) -> Sample:
    blocks = [draw(st.integers(1, 3)) for _ in range(draw(st.integers(1, 2)))]
    whole = [block * draw(st.integers(2, 3)) for block in blocks]
    pairs = [[draw(st.integers(0, 1)), draw(st.integers(0, 1))] for _ in blocks]
    sizes = [size - sum(pair) for size, pair in zip(whole, pairs, strict=True)]
    shape = (draw(st.integers(1, 2)), *sizes, *draw(st.lists(st.integers(1, 2), max_size=2)))
    data = numbers(draw, shape, draw(st.sampled_from([each for each in ALL if each != "bool"])))
    return Sample([data], {"block_shape": blocks, "paddings": pairs, "pad_value": draw(st.integers(0, 1))})


@st.composite
def to_space_samples(draw: Draw) -> Sample:
    blocks = [draw(st.integers(1, 3)) for _ in range(draw(st.integers(1, 2)))]
    sizes = [draw(st.integers(1, 3)) for _ in blocks]
    crops = [
        [draw(st.integers(0, size * block // 2)), draw(st.integers(0, size * block // 2))]
        for size, block in zip(sizes, blocks, strict=True)
    ]
    batch = int(np.prod(blocks)) * draw(st.integers(1, 2))
    shape = (batch, *sizes, *draw(st.lists(st.integers(1, 2), max_size=2)))
    return Sample([numbers(draw, shape, draw(st.sampled_from(ALL)))], {"block_shape": blocks, "crops": crops})


SAMPLES: dict[str, st.SearchStrategy[Sample]] = {
    "layout_transform": layout_samples(),
    "nn.space_to_batch_nd": to_batch_samples(),
    "nn.batch_to_space_nd": to_space_samples(),
}

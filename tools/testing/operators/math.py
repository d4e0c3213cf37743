"""Samples of elementwise operators on one or two tensors."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import strategies as st

from .sampling import (
    ALL,
    FLOATS,
    INTEGERS,
    NUMBERS,
    SHAPES,
    SIGNED,
    SMALL,
    Draw,
    Sample,
    binary_samples,
    numbers,
    unary_samples,
)


@st.composite
def casts(draw: Draw) -> Sample:
    data = numbers(draw, draw(SHAPES), draw(st.sampled_from((*ALL, *SMALL))), -300, 300)
    return Sample([data], {"dtype": draw(st.sampled_from((*ALL, *SMALL)))})


@st.composite
def bits(draw: Draw) -> Sample:
    size = draw(st.sampled_from((8, 16, 32, 64)))
    kinds = [f"{kind}{size}" for kind in ("int", "uint", "float") if f"{kind}{size}" in NUMBERS]
    data = numbers(draw, draw(SHAPES), draw(st.sampled_from(kinds)), -300, 300)
    return Sample([data], {"dtype": draw(st.sampled_from(kinds))})


@st.composite
def clips(draw: Draw) -> Sample:
    low, high = sorted(draw(st.lists(st.integers(0, 8), min_size=2, max_size=2)))
    return Sample([numbers(draw, draw(SHAPES), draw(st.sampled_from(NUMBERS)))], {"a_min": low, "a_max": high})


_WITHIN: dict[str, tuple[float, float]] = {
    **dict.fromkeys(("acos", "asin"), (-1, 1)),
    "acosh": (1, 8),
    "atanh": (-0.75, 0.75),
    **dict.fromkeys(("exp", "exp2", "sinh", "cosh"), (-4, 4)),
    **dict.fromkeys(("log", "log2", "log10", "rsqrt"), (0.25, 8)),
    "log1p": (-0.75, 8),
    "sqrt": (0, 8),
    "tan": (-1, 1),
}
"""The interval in which a function is defined and not too steep."""

_TYPES: dict[str, Sequence[str]] = {
    "abs": (*FLOATS, *SIGNED),
    "bitwise_not": INTEGERS,
    "copy": ALL,
    "logical_not": ("bool",),
    "negative": (*FLOATS, *SIGNED),
    "sign": NUMBERS,
}
"""The data types of functions that accept other types than floats."""

_FUNCTIONS = """
    abs acos acosh asin asinh atan atanh bitwise_not ceil copy cos cosh erf exp exp2 floor isfinite isinf isnan log
    log10 log1p log2 logical_not negative round rsqrt sigmoid sign sin sinh sqrt tan tanh trunc
""".split()


SAMPLES: dict[str, st.SearchStrategy[Sample]] = {
    **{name: unary_samples(_TYPES.get(name, FLOATS), *_WITHIN.get(name, (-8, 8))) for name in _FUNCTIONS},
    "cast": casts(),
    "clip": clips(),
    "reinterpret": bits(),
    **dict.fromkeys(("add", "subtract", "multiply", "maximum", "minimum"), binary_samples()),
    **dict.fromkeys(("divide", "floor_divide", "trunc_divide", "mod", "floor_mod"), binary_samples(nonzero=True)),
    "atan2": binary_samples(FLOATS),
    "power": binary_samples(FLOATS, (0.25, 4), (-2, 2)),
    **dict.fromkeys(("left_shift", "right_shift"), binary_samples(INTEGERS, right=(0, 7))),
    **dict.fromkeys(("bitwise_and", "bitwise_or", "bitwise_xor"), binary_samples(INTEGERS)),
    **dict.fromkeys(("logical_and", "logical_or", "logical_xor"), binary_samples(("bool",))),
    **dict.fromkeys(("equal", "not_equal", "less", "less_equal", "greater", "greater_equal"), binary_samples()),
}

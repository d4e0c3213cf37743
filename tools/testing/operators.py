"""Random operands and attributes for every operator."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
from hypothesis import strategies as st

from ...core.dtypes import int_range, numpy_dtype, parse_dtype
from ...operators import OPERATORS

Array: TypeAlias = npt.NDArray[Any]
Draw = Callable[[st.SearchStrategy[Any]], Any]

FLOATS = ("float16", "float32", "float64")
SIGNED = ("int8", "int16", "int32", "int64")
UNSIGNED = ("uint8", "uint16", "uint32", "uint64")
INTEGERS = (*SIGNED, *UNSIGNED)
NUMBERS = (*FLOATS, *INTEGERS)
ALL = ("bool", *NUMBERS)

EXTENTS = st.sampled_from((0, 1, 2, 3, 5, 7))
SHAPES = st.lists(EXTENTS, max_size=3).map(tuple)
FILLED = st.lists(st.sampled_from((1, 2, 3, 5, 7)), max_size=3).map(tuple)


@dataclass(frozen=True)
class Sample:
    """operands: the tensors.  attributes: by name."""

    operands: list[Array]
    attributes: dict[str, Any] = field(default_factory=dict[str, Any])


def numbers(draw: Draw, shape: Sequence[int], dtype: str, low: float = -8, high: float = 8) -> Array:
    """Numbers with few digits between bounds, so that sums and products of some of them are exact in any order."""
    choose = np.random.default_rng(draw(st.integers(0, 2**16)))
    kind, target = parse_dtype(dtype), numpy_dtype(dtype)
    if kind.is_bool:
        return np.asarray(choose.integers(0, 2, shape), target)
    if kind.is_float:
        return np.asarray(choose.integers(round(low * 4), round(high * 4) + 1, shape) / 4, target)
    least = max(0 if kind.kind == "uint" else round(low), int_range(kind)[0])
    most = min(round(high), int_range(kind)[1])
    return np.asarray(choose.integers(least, most + 1, shape), target)


@st.composite
def of_one(draw: Draw, dtypes: Sequence[str] = FLOATS, low: float = -8, high: float = 8) -> Sample:
    """One tensor of any shape."""
    return Sample([numbers(draw, draw(SHAPES), draw(st.sampled_from(dtypes)), low, high)])


@st.composite
def of_two(
    draw: Draw,
    dtypes: Sequence[str] = NUMBERS,
    left: tuple[float, float] = (-8, 8),
    right: tuple[float, float] = (-8, 8),
    nonzero: bool = False,
) -> Sample:
    """Two tensors of one type whose shapes go together. nonzero: no element of the second one is 0."""
    whole = draw(SHAPES)
    shapes: list[tuple[int, ...]] = []
    for _ in range(2):
        shape = tuple(1 if draw(st.booleans()) and draw(st.booleans()) else n for n in whole)
        shapes.append(shape[draw(st.integers(0, len(shape))) :] if draw(st.booleans()) else shape)
    dtype = draw(st.sampled_from(dtypes))
    a, b = numbers(draw, shapes[0], dtype, *left), numbers(draw, shapes[1], dtype, *right)
    return Sample([a, np.where(b == 0, np.ones_like(b), b) if nonzero else b])


@st.composite
def along_axes(draw: Draw, dtypes: Sequence[str] = NUMBERS, bound: float = 8, **more: Any) -> Sample:
    """One tensor, and axes to reduce along. more: strategies for other attributes."""
    data = numbers(draw, draw(FILLED), draw(st.sampled_from(dtypes)), -bound, bound)
    axes = st.permutations(range(data.ndim)).flatmap(lambda order: st.integers(0, data.ndim).map(lambda n: order[:n]))
    axis: Any = draw(st.one_of(st.none(), axes.map(tuple)))
    if axis and draw(st.booleans()):
        axis = axis[0] - (data.ndim if draw(st.booleans()) else 0)
    said = {"axis": axis, "keepdims": draw(st.booleans()), "exclude": axis is not None and draw(st.booleans())}
    return Sample([data], said | {name: draw(each) for name, each in more.items()})


@st.composite
def casts(draw: Draw) -> Sample:
    data = numbers(draw, draw(SHAPES), draw(st.sampled_from(ALL)), -300, 300)
    return Sample([data], {"dtype": draw(st.sampled_from(ALL))})


@st.composite
def clips(draw: Draw) -> Sample:
    low, high = sorted(draw(st.lists(st.integers(0, 8), min_size=2, max_size=2)))
    return Sample([numbers(draw, draw(SHAPES), draw(st.sampled_from(NUMBERS)))], {"a_min": low, "a_max": high})


_WITHIN: dict[str, tuple[float, float]] = {
    **dict.fromkeys(("acos", "asin"), (-1, 1)),
    "acosh": (1, 8),
    "atanh": (-0.75, 0.75),
    **dict.fromkeys(("exp", "sinh", "cosh"), (-4, 4)),
    **dict.fromkeys(("log", "log2", "log10", "rsqrt"), (0.25, 8)),
    "sqrt": (0, 8),
    "tan": (-1, 1),
}
"""Where functions are defined, and not too steep."""

_TYPES: dict[str, Sequence[str]] = {
    "abs": (*FLOATS, *SIGNED),
    "bitwise_not": INTEGERS,
    "copy": ALL,
    "logical_not": ("bool",),
    "negative": (*FLOATS, *SIGNED),
    "sign": NUMBERS,
}
"""The data types of those that take others than floats."""

_FUNCTIONS = """
    abs acos acosh asin asinh atan atanh bitwise_not ceil copy cos cosh erf exp floor isfinite isinf isnan log log10
    log2 logical_not negative round rsqrt sigmoid sign sin sinh sqrt tan tanh trunc
""".split()

SAMPLES: dict[str, st.SearchStrategy[Sample]] = {
    **{name: of_one(_TYPES.get(name, FLOATS), *_WITHIN.get(name, (-8, 8))) for name in _FUNCTIONS},
    "cast": casts(),
    "clip": clips(),
    **dict.fromkeys(("add", "subtract", "multiply", "maximum", "minimum"), of_two()),
    **dict.fromkeys(("divide", "floor_divide", "mod", "floor_mod"), of_two(nonzero=True)),
    "power": of_two(FLOATS, (0.25, 4), (-2, 2)),
    **dict.fromkeys(("left_shift", "right_shift"), of_two(INTEGERS, right=(0, 7))),
    **dict.fromkeys(("bitwise_and", "bitwise_or", "bitwise_xor"), of_two(INTEGERS)),
    **dict.fromkeys(("logical_and", "logical_or", "logical_xor"), of_two(("bool",))),
    **dict.fromkeys(("equal", "not_equal", "less", "less_equal", "greater", "greater_equal"), of_two()),
    **dict.fromkeys(("sum", "max", "min"), along_axes()),
    "prod": along_axes(bound=1),
    **dict.fromkeys(("all", "any"), along_axes(("bool",))),
    "mean": along_axes(FLOATS),
    "variance": along_axes(FLOATS, unbiased=st.booleans()),
    **dict.fromkeys(("argmax", "argmin"), along_axes(select_last_index=st.booleans())),
}
"""What to try each operator with."""


def missing() -> set[str]:
    """Operators that are not tried."""
    return set(OPERATORS) - set(SAMPLES)

"""Random tensors, and samples common to many kinds of operators."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
from hypothesis import strategies as st

from ....core.dtypes import int_range, numpy_dtype, parse_dtype

Array: TypeAlias = npt.NDArray[Any]
Draw = Callable[[st.SearchStrategy[Any]], Any]

FLOATS = ("float16", "float32", "float64")
SIGNED = ("int8", "int16", "int32", "int64")
UNSIGNED = ("uint8", "uint16", "uint32", "uint64")
INTEGERS = (*SIGNED, *UNSIGNED)
NUMBERS = (*FLOATS, *INTEGERS)
ALL = ("bool", *NUMBERS)
SMALL = ("bfloat16", "float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz", "float4_e2m1fn", "int4", "uint4", "uint2")

EXTENTS = st.sampled_from((0, 1, 2, 3, 5, 7))
SHAPES = st.lists(EXTENTS, max_size=3).map(tuple)
FILLED = st.lists(st.sampled_from((1, 2, 3, 5, 7)), max_size=3).map(tuple)


@dataclass(frozen=True)
class Sample:
    """The operands and the attributes of a call of an operator."""

    operands: list[Array]
    attributes: dict[str, Any] = field(default_factory=dict[str, Any])


def numbers(draw: Draw, shape: Sequence[int], dtype: str, low: float = -8, high: float = 8) -> Array:
    """An array of random numbers with few digits between bounds, so that their sums and products are exact in any
    order."""
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
def unary_samples(draw: Draw, dtypes: Sequence[str] = FLOATS, low: float = -8, high: float = 8) -> Sample:
    """A tensor of any shape."""
    return Sample([numbers(draw, draw(SHAPES), draw(st.sampled_from(dtypes)), low, high)])


@st.composite
def binary_samples(
    draw: Draw,
    dtypes: Sequence[str] = NUMBERS,
    left: tuple[float, float] = (-8, 8),
    right: tuple[float, float] = (-8, 8),
    nonzero: bool = False,
) -> Sample:
    """Two tensors of one type with broadcastable shapes. nonzero: no element of the second tensor is 0."""
    whole = draw(SHAPES)
    shapes: list[tuple[int, ...]] = []
    for _ in range(2):
        shape = tuple(1 if draw(st.booleans()) and draw(st.booleans()) else n for n in whole)
        shapes.append(shape[draw(st.integers(0, len(shape))) :] if draw(st.booleans()) else shape)
    dtype = draw(st.sampled_from(dtypes))
    a, b = numbers(draw, shapes[0], dtype, *left), numbers(draw, shapes[1], dtype, *right)
    return Sample([a, np.where(b == 0, np.ones_like(b), b) if nonzero else b])


def infinities(draw: Draw, data: Array) -> Array:
    """Replaces some or all floats by infinities of one or both signs."""
    signs = draw(st.sampled_from(((-np.inf, np.inf), (-np.inf,), (np.inf,))))
    if data.dtype.kind != "f":
        return data
    choose = np.random.default_rng(draw(st.integers(0, 2**16)))
    share = draw(st.sampled_from((0.25, 1.0)))
    return np.where(choose.random(data.shape) < share, choose.choice(signs, data.shape), data).astype(data.dtype)


@st.composite
def along_axes(
    draw: Draw, dtypes: Sequence[str] = NUMBERS, bound: float = 8, infinite: bool = False, **more: Any
) -> Sample:
    """A tensor, and the axes of a reduction. infinite: with infinities.  more: strategies for other attributes."""
    data = numbers(draw, draw(FILLED), draw(st.sampled_from(dtypes)), -bound, bound)
    data = infinities(draw, data) if infinite else data
    axes = st.permutations(range(data.ndim)).flatmap(lambda order: st.integers(0, data.ndim).map(lambda n: order[:n]))
    axis: Any = draw(st.one_of(st.none(), axes.map(tuple)))
    if axis and draw(st.booleans()):
        axis = axis[0] - (data.ndim if draw(st.booleans()) else 0)
    attributes = {"axis": axis, "keepdims": draw(st.booleans()), "exclude": axis is not None and draw(st.booleans())}
    return Sample([data], attributes | {name: draw(each) for name, each in more.items()})


@st.composite
def tensor_samples(
    draw: Draw,
    said: Callable[[Draw, Array], dict[str, Any]],
    shapes: st.SearchStrategy[tuple[int, ...]] = SHAPES,
    rank: int = 0,
    dtypes: Sequence[str] = (*ALL, *SMALL),
) -> Sample:
    """A tensor, and the attributes that `said` chooses for it. rank: the minimum rank."""
    data = numbers(draw, draw(shapes.filter(lambda shape: len(shape) >= rank)), draw(st.sampled_from(dtypes)))
    return Sample([data], said(draw, data))


def any_axis(draw: Draw, rank: int) -> int:
    return draw(st.integers(-rank, rank - 1))


def float_samples(said: Callable[[Draw, Array], dict[str, Any]], rank: int = 0) -> st.SearchStrategy[Sample]:
    """A nonempty tensor of floats, and the attributes that `said` chooses for it."""
    return tensor_samples(said, FILLED, rank, FLOATS)


def any_layout(draw: Draw, letters: str) -> str:
    return "".join(draw(st.permutations(letters)))


def change_layout(array: Array, usual: str, layout: str) -> Array:
    """Permutes the axes of an array from the layout `usual` to `layout`."""
    return np.ascontiguousarray(array.transpose([usual.index(letter) for letter in layout]))


def any_padding(draw: Draw, rank: int, most: int) -> Any:
    number = st.integers(0, most)
    return draw(st.one_of(number, *(st.lists(number, min_size=n, max_size=n) for n in (rank, 2 * rank))))

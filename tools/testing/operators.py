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


def infinities(draw: Draw, data: Array) -> Array:
    """Some floats, or all of them, infinite: of both signs, or of one."""
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
    """One tensor, and axes to reduce along. infinite: with such numbers.  more: strategies for other attributes."""
    data = numbers(draw, draw(FILLED), draw(st.sampled_from(dtypes)), -bound, bound)
    data = infinities(draw, data) if infinite else data
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


@st.composite
def moved(
    draw: Draw,
    said: Callable[[Draw, Array], dict[str, Any]],
    shapes: st.SearchStrategy[tuple[int, ...]] = SHAPES,
    rank: int = 0,
    dtypes: Sequence[str] = ALL,
) -> Sample:
    """One tensor, and what `said` says about it. rank: how many dimensions it has at least."""
    data = numbers(draw, draw(shapes.filter(lambda shape: len(shape) >= rank)), draw(st.sampled_from(dtypes)))
    return Sample([data], said(draw, data))


def _axis(draw: Draw, rank: int) -> int:
    return draw(st.integers(-rank, rank - 1))


def _newshape(draw: Draw, data: Array) -> dict[str, Any]:
    """A shape in any of the ways to say it."""
    kind = draw(st.sampled_from(("flat", "same", "rest", "merged", "cut", "ones")))
    if kind == "same":
        return {"newshape": [0] * data.ndim}
    if kind == "rest" and data.ndim:
        return {"newshape": draw(st.sampled_from(([0, -2], [-2])))}
    if kind == "merged" and data.ndim > 1:
        return {"newshape": [-3, *[0] * (data.ndim - 2)]}
    if kind == "cut" and data.ndim:
        return {"newshape": [-4, 1, -1, -2]}
    if kind == "ones":
        return {"newshape": [1, -1]}
    last = [n for n in data.shape[-1:] if n]
    return {"newshape": [-1, *draw(st.sampled_from(([], last)))]}


def _slice(draw: Draw, data: Array) -> dict[str, Any]:
    chosen = draw(st.permutations(range(data.ndim)).map(lambda order: order[: max(1, data.ndim - 1)]))
    count = len(chosen)
    bound, step = st.integers(-9, 9), st.sampled_from((1, 1, 2, 3, -1, -2))
    begin, end, strides = (draw(st.lists(each, min_size=count, max_size=count)) for each in (bound, bound, step))
    return {"begin": begin, "end": end, "strides": strides, "axes": list(chosen)}


def _sections(draw: Draw, data: Array) -> dict[str, Any]:
    axis = _axis(draw, data.ndim)
    extent = data.shape[axis]
    if draw(st.booleans()):
        divisors = [n for n in range(1, extent + 1) if extent % n == 0]
        return {"indices_or_sections": draw(st.sampled_from(divisors)), "axis": axis}
    return {"indices_or_sections": sorted(draw(st.lists(st.integers(0, extent), max_size=3))), "axis": axis}


def _broadcast_shape(draw: Draw, data: Array) -> dict[str, Any]:
    shape = [draw(st.integers(1, 5)) if n == 1 else n for n in data.shape]
    return {"shape": [*draw(st.lists(st.integers(1, 3), max_size=2)), *shape]}


@st.composite
def several(draw: Draw, stacked: bool) -> Sample:
    """Tensors of one type, and of one shape but for the axis along which they are put together."""
    shape, dtype = draw(SHAPES.filter(lambda shape: stacked or bool(shape))), draw(st.sampled_from(ALL))
    axis = _axis(draw, len(shape) + stacked)
    shapes: list[list[int]] = []
    for _ in range(draw(st.integers(1, 4))):
        shapes.append(list(shape))
        if not stacked:
            shapes[-1][axis] = draw(EXTENTS)
    return Sample([numbers(draw, each, dtype) for each in shapes], {"axis": axis})


@st.composite
def choices(draw: Draw) -> Sample:
    """A condition and two tensors whose shapes go together."""
    pair, whole = draw(of_two(ALL)), draw(st.booleans())
    shape = np.broadcast_shapes(*(each.shape for each in pair.operands)) if whole else ()
    return Sample([numbers(draw, shape, "bool"), *pair.operands])


@st.composite
def taken(draw: Draw) -> Sample:
    data = numbers(draw, draw(FILLED), draw(st.sampled_from(ALL)))
    axis = draw(st.one_of(st.none(), st.integers(-data.ndim, data.ndim - 1))) if data.ndim else None
    mode = draw(st.sampled_from(("clip", "wrap", "fast")))
    extent = data.size if axis is None else data.shape[axis]
    indices = numbers(draw, draw(SHAPES), draw(st.sampled_from(INTEGERS)), -20, 20)
    if mode == "fast":
        indices = np.asarray(np.abs(indices) % min(extent, 100), indices.dtype)
    return Sample([data, indices], {"axis": axis, "mode": mode})


@st.composite
def hot(draw: Draw) -> Sample:
    indices = numbers(draw, draw(SHAPES), draw(st.sampled_from(INTEGERS)), -2, 8)
    said = {
        "on_value": draw(st.integers(1, 3)),
        "off_value": draw(st.integers(-1, 0)),
        "depth": draw(st.integers(1, 7)),
    }
    dtype = draw(st.sampled_from((*FLOATS, *SIGNED)))
    return Sample([indices], said | {"axis": _axis(draw, indices.ndim + 1), "dtype": dtype})


# Neural networks


def moved_floats(said: Callable[[Draw, Array], dict[str, Any]], rank: int = 0) -> st.SearchStrategy[Sample]:
    """One tensor of floats that has elements, and what `said` says about it."""
    return moved(said, FILLED, rank, FLOATS)


@st.composite
def images(draw: Draw) -> Sample:
    layout = _layout(draw, "NCHW")
    shape = [draw(st.integers(1, 4)) for _ in layout]
    return Sample([numbers(draw, shape, draw(st.sampled_from(FLOATS)))], {"layout": layout})


@st.composite
def products(draw: Draw, batched: int) -> Sample:
    """Two matrices, given as they are or as transposes; batched: behind how many axes."""
    m, k, n = (draw(st.sampled_from((0, 1, 2, 5, 7))) for _ in range(3))
    transpose_a, transpose_b = draw(st.booleans()), draw(st.booleans())
    dtype = draw(st.sampled_from(("float32", "float64", "int32", "int8")))
    fronts: list[list[int]] = [[], []]
    if batched:
        count = draw(st.sampled_from((1, 2, 3)))
        fronts = [[draw(st.sampled_from((1, count)))], [count]]
        fronts = fronts[:: draw(st.sampled_from((1, -1)))]
    a = numbers(draw, [*fronts[0], *((k, m) if transpose_a else (m, k))], dtype)
    b = numbers(draw, [*fronts[1], *((n, k) if transpose_b else (k, n))], dtype)
    out = draw(st.sampled_from(("", "int32"))) if dtype == "int8" else ""
    return Sample([a, b], {"transpose_a": transpose_a, "transpose_b": transpose_b, "out_dtype": out})


@st.composite
def dense_layers(draw: Draw) -> Sample:
    front, k, n = draw(SHAPES)[:2], draw(EXTENTS), draw(st.integers(1, 5))
    dtype = draw(st.sampled_from(("float32", "float64", "int8")))
    said = {"units": draw(st.sampled_from((None, n))), "out_dtype": "int32" if dtype == "int8" else ""}
    return Sample([numbers(draw, (*front, k), dtype), numbers(draw, (n, k), dtype)], said)


@st.composite
def biases(draw: Draw) -> Sample:
    data = numbers(draw, draw(SHAPES.filter(bool)), draw(st.sampled_from(NUMBERS)), 0, 4)
    axis = _axis(draw, data.ndim)
    return Sample([data, numbers(draw, data.shape[axis : axis + 1 or None], data.dtype.name, 0, 4)], {"axis": axis})


def _layout(draw: Draw, letters: str) -> str:
    return "".join(draw(st.permutations(letters)))


def _arranged(array: Array, usual: str, layout: str) -> Array:
    """An array whose axes are in the usual order, in the order of a layout."""
    return np.ascontiguousarray(array.transpose([usual.index(letter) for letter in layout]))


def _padding(draw: Draw, rank: int, most: int) -> Any:
    number = st.integers(0, most)
    return draw(st.one_of(number, *(st.lists(number, min_size=n, max_size=n) for n in (rank, 2 * rank))))


@st.composite
def convolutions(draw: Draw, rank: int) -> Sample:
    """An image, and weights for windows that go into it."""
    image, dtype = "DHW"[3 - rank :], draw(st.sampled_from(("float32", "float64", "int8")))
    groups, inner, outer = draw(st.sampled_from((1, 1, 2, 3))), draw(st.integers(1, 2)), draw(st.integers(1, 2))
    sizes = [draw(st.integers(1, 3)) for _ in range(rank)]
    far = draw(st.integers(1, 2))
    extents = [far * (size - 1) + 1 + draw(st.integers(0, 4)) for size in sizes]
    layout, kernel = _layout(draw, f"NC{image}"), _layout(draw, f"OI{image}")
    data = numbers(draw, (draw(st.integers(0, 2)), groups * inner, *extents), dtype, -4, 4)
    weight = numbers(draw, (groups * outer, inner, *sizes), dtype, -4, 4)
    strides = draw(st.one_of(st.integers(1, 3), st.lists(st.integers(1, 3), min_size=rank, max_size=rank)))
    said = {"strides": strides, "padding": _padding(draw, rank, 2), "dilation": far, "groups": groups}
    said |= {"data_layout": layout, "kernel_layout": kernel, "out_dtype": "int32" if dtype == "int8" else ""}
    return Sample([_arranged(data, f"NC{image}", layout), _arranged(weight, f"OI{image}", kernel)], said)


@st.composite
def pools(draw: Draw, rank: int, mean: bool) -> Sample:
    image, dtype = "DHW"[3 - rank :], draw(st.sampled_from((*FLOATS, "int32", "uint8")))
    sizes = [draw(st.integers(1, 3)) for _ in range(rank)]
    far = draw(st.integers(1, 2))
    extents = [far * (size - 1) + 1 + draw(st.integers(0, 4)) for size in sizes]
    layout = _layout(draw, f"NC{image}")
    data = numbers(draw, (draw(st.integers(1, 2)), draw(st.integers(1, 2)), *extents), dtype)
    strides = draw(st.one_of(st.integers(1, 3), st.lists(st.integers(1, 3), min_size=rank, max_size=rank)))
    said = {"pool_size": sizes, "strides": strides, "dilation": far, "padding": _padding(draw, rank, min(sizes) // 2)}
    said |= {"layout": layout, "ceil_mode": draw(st.booleans())}
    if mean:
        said["count_include_pad"] = draw(st.booleans())
    elif draw(st.booleans()):
        data = infinities(draw, data)
    return Sample([_arranged(data, f"NC{image}", layout)], said)


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
    "sum": along_axes(),
    **dict.fromkeys(("max", "min"), st.one_of(along_axes(), along_axes(FLOATS, infinite=True))),
    "prod": along_axes(bound=1),
    **dict.fromkeys(("all", "any"), along_axes(("bool",))),
    "mean": along_axes(FLOATS),
    "variance": along_axes(FLOATS, unbiased=st.booleans()),
    **dict.fromkeys(
        ("argmax", "argmin"),
        st.one_of(
            along_axes(select_last_index=st.booleans()),
            along_axes(FLOATS, infinite=True, select_last_index=st.booleans()),
        ),
    ),
    "reshape": moved(_newshape),
    "squeeze": moved(
        lambda draw, data: {
            "axis": draw(st.sampled_from((None, tuple(d for d, n in enumerate(data.shape) if n == 1)[:1])))
        }
    ),
    "expand_dims": moved(
        lambda draw, data: {"axis": _axis(draw, data.ndim + 1), "num_newaxis": draw(st.integers(0, 2))}
    ),
    "broadcast_to": moved(_broadcast_shape),
    "transpose": moved(lambda draw, data: {"axes": draw(st.one_of(st.none(), st.permutations(range(data.ndim))))}),
    "reverse": moved(lambda draw, data: {"axis": _axis(draw, data.ndim)}, rank=1),
    "repeat": moved(lambda draw, data: {"repeats": draw(st.integers(1, 3)), "axis": _axis(draw, data.ndim)}, rank=1),
    "tile": moved(lambda draw, data: {"reps": draw(st.lists(st.integers(1, 3), max_size=4))}),
    "strided_slice": moved(_slice, rank=1),
    "split": moved(_sections, FILLED, rank=1),
    "concatenate": several(stacked=False),
    "stack": several(stacked=True),
    "where": choices(),
    "nn.relu": of_one(NUMBERS),
    "nn.leaky_relu": moved_floats(lambda draw, data: {"alpha": draw(st.sampled_from((0.0, 0.125, 0.5)))}),
    "nn.dense": dense_layers(),
    "nn.matmul": products(0),
    "nn.batch_matmul": products(1),
    "nn.bias_add": biases(),
    **dict.fromkeys(
        ("nn.softmax", "nn.log_softmax"), moved_floats(lambda draw, data: {"axis": _axis(draw, data.ndim)}, rank=1)
    ),
    **{f"nn.conv{rank}d": convolutions(rank) for rank in (1, 2, 3)},
    **{f"nn.{kind}_pool{rank}d": pools(rank, kind == "avg") for kind in ("max", "avg") for rank in (1, 2, 3)},
    **dict.fromkeys(("nn.global_max_pool2d", "nn.global_avg_pool2d"), images()),
    "take": taken(),
    "one_hot": hot(),
}
"""What to try each operator with."""


def missing() -> set[str]:
    """Operators that are not tried."""
    return set(OPERATORS) - set(SAMPLES)

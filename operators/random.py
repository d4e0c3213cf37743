"""Random numbers of the generator Threefry, with the states and the numbers of TVM.

A state is ten numbers of 64 bits: four words of a key, two of a path of splits, two of a counter, of which the second
counts, and two with the bit of the next place in the path. Numbers come in blocks of four, each a function of the key,
the path and the counter alone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import pi, prod
from typing import Any

import numpy as np

from ..expressions import functions as scalar
from ..expressions.errors import TeError
from ..expressions.expr import PrimExpr, Select, cast, const
from ..expressions.functions import reinterpret
from ..expressions.tensor import Tensor
from . import reduction, scans
from .definition import Pattern, operator
from .elements import build_tensor
from .requirements import require_one_of
from .windows import require_known_extents

Array = Any
Word = Any
"""A number of 64 bits without a sign: an expression, or an array of numpy."""

_ROTATIONS = ((14, 16), (52, 57), (23, 40), (5, 37), (25, 33), (46, 12), (58, 22), (32, 32))
"""The rotations of the two pairs of words in eight rounds (Salmon et al., Parallel Random Numbers, 2011)."""
_PARITY, _ALL, _TOP = 0x1BD11BDAA9FC1A22, 2**64 - 1, 2**63


def _block(key: Sequence[Word], counter: Sequence[Word], number: Callable[[int], Word]) -> list[Word]:
    """Four random words: 20 rounds of Threefry, without the key that follows the last round. number: a constant."""
    last = number(_PARITY)
    for word in key:
        last = last ^ word
    keys, words = [*key, last], list(counter)
    for group in range(5):
        words = [word + keys[(group + n) % 5] for n, word in enumerate(words)]
        words[3] = words[3] + number(group)
        for turn in range(4):
            mixed: list[Word] = []
            for pair, by in enumerate(_ROTATIONS[(group * 4 + turn) % 8]):
                a, b = words[2 * pair : 2 * pair + 2]
                a = a + b
                mixed += [a, a ^ ((b << number(by)) | (b >> number(64 - by)))]
            words = [mixed[n] for n in (0, 3, 2, 1)]
    return words


Choose = Callable[[Any, Word, Word], Word]


def _next_place(place: Sequence[Word], number: Callable[[int], Word], choose: Choose) -> list[Word]:
    """The place in the path after another: a bit in two words, one place to the right."""
    (high, low), zero, one = place, number(0), number(1)
    second = choose(high == one, number(_TOP), choose(high == zero, low >> one, zero))
    return [high >> one, second]


def _fresh_state(state: Sequence[Word], count: int, number: Callable[[int], Word], choose: Choose) -> list[Word]:
    """The state from which `count` numbers are drawn: the given one, or another if its counter would overflow."""
    zero, full = number(0), number(_ALL)
    key, path, place = state[:4], state[4:6], state[8:]
    hashed = [*_block(key, [full] * 4, number), zero, zero, zero, zero, number(_TOP), zero]
    longer = [*key, path[0] | place[0], path[1] | place[1], zero, zero, *_next_place(place, number, choose)]
    has_room, has_path = state[7] < number(_ALL - count), (place[0] | place[1]) != zero
    return [
        choose(has_room, own, choose(has_path, split, new))
        for own, split, new in zip(state, longer, hashed, strict=True)
    ]


def _split_states(
    state: Sequence[Word], number: Callable[[int], Word], choose: Choose
) -> tuple[list[Word], list[Word]]:
    """Two states whose numbers differ from each other and from those of the given state."""
    zero = number(0)
    key, path, counter, place = state[:4], state[4:6], state[6:8], state[8:]
    hashed, ends = _block(key, state[4:8], number), [zero, zero, number(_TOP >> 1), zero]
    left, right = [*hashed, zero, zero, *ends], [*hashed, number(_TOP), zero, *ends]
    beyond = _next_place(place, number, choose)
    own = [*state[:8], *beyond]
    other = [*key, path[0] | place[0], path[1] | place[1], *counter, *beyond]
    has_path = (place[0] | place[1]) != zero
    pairs = ((own, left), (other, right))
    first, second = ([choose(has_path, a, b) for a, b in zip(longer, new, strict=True)] for longer, new in pairs)
    return first, second


def _number(value: int) -> PrimExpr:
    return const(value, "uint64")


def _words(state: Tensor, name: str) -> list[PrimExpr]:
    """The words of a state. TeError for another tensor."""
    if state.dtype != "uint64" or len(state.shape) != 1 or repr(state.shape[0]) != "10":
        raise TeError(f"{name}: a state of shape {list(state.shape)} and {state.dtype}, expected [10] and uint64")
    return [state(n) for n in range(10)]


def _vector(words: Sequence[PrimExpr], name: str) -> Tensor:
    """The tensor of the given elements."""

    def element(i: PrimExpr) -> PrimExpr:
        result = words[-1]
        for n, word in reversed(list(enumerate(words[:-1]))):
            result = Select(i == n, word, result)
        return result

    return build_tensor([len(words)], element, name)


def _count(shape: Sequence[int], name: str) -> int:
    """The number of elements. TeError for negative sizes."""
    if any(extent < 0 for extent in shape):
        raise TeError(f"{name}: out_shape {list(shape)}, expected sizes from 0 on")
    return prod(shape)


def _drawn(count: int) -> int:
    """The numbers that the counter counts: whole blocks."""
    return -(-count // 4) * 4


def _random_bits(gen: Tensor, shape: Sequence[int], name: str) -> tuple[Tensor, Tensor]:
    """The state after random words of a shape, and the words."""
    count = _count(shape, name)
    start = _vector(_fresh_state(_words(gen, name), count, _number, Select), f"{name}_state")
    words = [start(n) for n in range(10)]
    words[6], words[7] = _number(0), words[7] + _number(_drawn(count))
    after = _vector(words, f"{name}_new_state")
    whole = count // 4

    def block(n: PrimExpr) -> tuple[PrimExpr, ...]:
        own = [start(m) for m in range(8)]
        step = cast("uint64", n)
        is_whole = n < whole
        counter = [word + Select(is_whole, step, _number(0)) for word in own[4:]]
        counter[3] = counter[3] + Select(is_whole, _number(0), _number(whole * 4))
        return tuple(_block(own[:4], counter, _number))

    if count == 0:
        return after, build_tensor(shape, lambda *i: _number(0), name)
    blocks = build_tensor([_drawn(count) // 4], block, f"{name}_blocks")

    def element(*i: PrimExpr) -> PrimExpr:
        place: PrimExpr = const(0)
        for index, extent in zip(i, shape, strict=True):
            place = place * extent + index
        result = blocks[3](place // 4)
        for n in (2, 1, 0):
            result = Select(place % 4 == n, blocks[n](place // 4), result)
        return result

    return after, build_tensor(shape, element, name)


# The same in numpy


def _wrapped(value: int) -> Array:
    return np.array([value], "uint64")


def _chosen(condition: Array, a: Array, b: Array) -> Array:
    return np.where(condition, a, b)


def _bits_in_numpy(gen: Array, shape: Sequence[int]) -> tuple[Array, Array]:
    count = prod(shape)
    start = _fresh_state([gen[n : n + 1] for n in range(10)], count, _wrapped, _chosen)
    whole = count // 4
    steps = np.arange(whole, dtype="uint64")
    words = np.stack(_block(start[:4], [word + steps for word in start[4:8]], _wrapped), 1).ravel()
    rest = _block(start[:4], [*start[4:7], start[7] + np.uint64(whole * 4)], _wrapped)
    words = np.concatenate([words, *rest])[:count]
    after = np.concatenate(start)
    after[6], after[7] = 0, after[7] + np.uint64(_drawn(count))
    return after, words.reshape(shape)


def _split_in_numpy(gen: Array) -> list[Array]:
    states = _split_states([gen[n : n + 1] for n in range(10)], _wrapped, _chosen)
    return [np.concatenate(state) for state in states]


def _uniform_in_numpy(gen: Array, low: Array, high: Array, out_shape: Sequence[int], out_dtype: str) -> list[Array]:
    after, words = _bits_in_numpy(gen, out_shape)
    bits, fraction = _FORMATS[out_dtype]
    kind = f"uint{bits}"
    one = np.array(1, out_dtype).view(kind)
    unit = ((words.astype(kind) >> np.array(bits - fraction, kind)) | one).view(out_dtype) - np.array(1, out_dtype)
    return [after, unit * (high - low) + low]


def _normal_in_numpy(gen: Array, mean: Array, scale: Array, out_shape: Sequence[int], out_dtype: str) -> list[Array]:
    one = np.array(1, out_dtype)
    after, unit = _uniform_in_numpy(gen, np.array(0, out_dtype), one, [2, *out_shape], out_dtype)
    distance = np.sqrt(np.array(-2, out_dtype) * np.log(one - unit[0]))
    return [after, distance * np.sin(np.array(2 * pi, out_dtype) * unit[1]) * scale + mean]


def _multinomial_in_numpy(gen: Array, probs: Array, num_samples: int) -> list[Array]:
    chances = np.maximum(probs.astype("float32"), 0)
    ends = np.cumsum(chances / chances.sum(-1, keepdims=True), -1, dtype="float32")
    zero, one = np.array(0, "float32"), np.array(1, "float32")
    after, unit = _uniform_in_numpy(gen, zero, one, [*probs.shape[:-1], num_samples], "float32")
    ahead = ends[..., :, None] - unit[..., None, :]
    return [after, np.argmin(np.where(ahead > 0, ahead, one), -2).astype("int32")]


# Operators


@operator("random.threefry_generate", Pattern.OPAQUE, lambda gen, out_shape: list(_bits_in_numpy(gen, out_shape)))
def threefry_generate(gen: Tensor, out_shape: Sequence[int]) -> list[Tensor]:
    """A new state, and random numbers of 64 bits. gen: a state, ten numbers of uint64."""
    return list(_random_bits(gen, list(out_shape), "threefry_generate"))


@operator("random.threefry_split", Pattern.OPAQUE, _split_in_numpy)
def threefry_split(gen: Tensor) -> list[Tensor]:
    """Two states whose numbers differ from each other and from those of `gen`."""
    left, right = _split_states(_words(gen, "threefry_split"), _number, Select)
    return [_vector(left, "threefry_left"), _vector(right, "threefry_right")]


_FORMATS = {"float32": (32, 23), "float64": (64, 52)}
"""The bits of the data types of random floats, and of their fractions."""


def _require_scalars(name: str, out_dtype: str, **values: Tensor) -> None:
    require_one_of(out_dtype, tuple(_FORMATS), f"{name}: out_dtype")
    for what, value in values.items():
        if value.ndim or value.dtype != out_dtype:
            found = f"{value.dtype} of {value.ndim} dimensions"
            raise TeError(f"{name}: {what} of {found}, expected {out_dtype} of 0 dimensions")


def _unit(gen: Tensor, shape: Sequence[int], out_dtype: str, name: str) -> tuple[Tensor, Tensor]:
    """A new state, and floats from 0 to 1, without 1: a fraction of random bits, the exponent of 1, less 1."""
    after, words = _random_bits(gen, list(shape), name)
    bits, fraction = _FORMATS[out_dtype]
    kind, one = f"uint{bits}", int(np.array(1, out_dtype).view(f"uint{bits}"))

    def element(*i: PrimExpr) -> PrimExpr:
        pattern = (cast(kind, words(*i)) >> const(bits - fraction, kind)) | const(one, kind)
        return reinterpret(out_dtype, pattern) - const(1.0, out_dtype)

    return after, build_tensor(shape, element, f"{name}_unit", "injective")


@operator("random.uniform", Pattern.OPAQUE, _uniform_in_numpy)
def uniform(gen: Tensor, low: Tensor, high: Tensor, out_shape: Sequence[int], out_dtype: str) -> list[Tensor]:
    """A new state, and random floats from `low` to `high`. low, high: tensors without dimensions.  out_dtype: float32
    or float64, theirs too."""
    name = "uniform"
    _require_scalars(name, out_dtype, low=low, high=high)
    after, unit = _unit(gen, out_shape, out_dtype, name)
    return [after, build_tensor(out_shape, lambda *i: unit(*i) * (high() - low()) + low(), name, "injective")]


@operator("random.normal", Pattern.OPAQUE, _normal_in_numpy)
def normal(gen: Tensor, mean: Tensor, scale: Tensor, out_shape: Sequence[int], out_dtype: str) -> list[Tensor]:
    """A new state, and random floats of a normal distribution, by the method of Box and Muller. mean, scale: tensors
    without dimensions.  out_dtype: float32 or float64, theirs too."""
    name = "normal"
    _require_scalars(name, out_dtype, mean=mean, scale=scale)
    after, unit = _unit(gen, [2, *out_shape], out_dtype, name)

    def element(*i: PrimExpr) -> PrimExpr:
        distance = scalar.sqrt(const(-2.0, out_dtype) * scalar.log(const(1.0, out_dtype) - unit(0, *i)))
        return distance * scalar.sin(const(2 * pi, out_dtype) * unit(1, *i)) * scale() + mean()

    return [after, build_tensor(out_shape, element, name, "injective")]


@operator("random.multinomial", Pattern.OPAQUE, _multinomial_in_numpy)
def multinomial(gen: Tensor, probs: Tensor, num_samples: int) -> list[Tensor]:
    """A new state, and random positions in the rows of a tensor, each as often as its share of the row says.

    probs: numbers of at least one dimension and one column, negative ones count as 0; not all of a row.
    """
    name = "multinomial"
    if probs.ndim < 1 or probs.data_type.is_bool:
        raise TeError(f"{name}: probs of {probs.dtype} and {probs.ndim} dimensions, expected numbers of at least 1")
    whole = build_tensor(probs.shape, lambda *i: cast("float32", probs(*i)), f"{name}_probs")
    chances = build_tensor(probs.shape, lambda *i: scalar.max(whole(*i), const(0.0)), f"{name}_chances")
    total = reduction.sum(chances, -1, True)
    shares = build_tensor(probs.shape, lambda *i: chances(*i) / total(*i[:-1], 0), f"{name}_shares")
    ends = scans.cumsum(shares, -1)
    rows = require_known_extents(probs.shape[:-1], name)
    after, unit = _unit(gen, [*rows, num_samples], "float32", name)

    def ahead(*i: PrimExpr) -> PrimExpr:
        distance = ends(*i[:-1]) - unit(*i[:-2], i[-1])
        return Select(distance > const(0.0), distance, const(1.0))

    distances = build_tensor([*probs.shape, num_samples], ahead, f"{name}_ahead")
    return [after, reduction.argmin(distances, -2)]

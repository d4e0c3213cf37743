"""Operators that move elements: other shapes, other orders, parts, and tensors put together."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import accumulate, pairwise
from math import prod
from typing import Any

import numpy as np

from ..expressions import functions as scalar
from ..expressions.errors import TeError
from ..expressions.expr import Mul, PrimExpr, Select, cast, const
from ..expressions.tensor import Tensor, compute, elementwise, is_same_extent
from .axes import Axes, axes_of, axis_of
from .definition import Pattern, operator
from .elements import if_any
from .extents import Extent, known_extent
from .requirements import require_integers

Array = Any
"""A size: an expression in formulas, a number in references."""


def _moved(shape: Sequence[Extent], source: Callable[..., PrimExpr], name: str) -> Tensor:
    """A tensor whose element at `ax0, ax1, ...` is that of an operand somewhere."""
    names = [f"ax{n}" for n in range(len(shape))]
    return compute(shape, source, f"T_{name}", "injective", varargs_names=names)


def _product(extents: Sequence[Extent]) -> Extent:
    result: Extent = 1
    for extent in extents:
        result = extent if known_extent(result) == 1 else result if known_extent(extent) == 1 else result * extent
    return result


# Shapes


def reshaped(shape: Sequence[Extent], newshape: Sequence[int]) -> list[Extent]:
    """The shape that `reshape` makes. TeError for what says none, or one of another number of elements."""
    result: list[Extent] = []
    rest, codes, inferred = list(shape), list(newshape), None
    while codes:
        code = codes.pop(0)
        if code > 0:
            result.append(code)
            rest = rest[1:]
        elif code == -1:
            if inferred is not None:
                raise TeError(f"reshape: newshape {list(newshape)} has several -1")
            inferred = len(result)
            result.append(1)
            rest = rest[1:]
        elif code == -2:
            result, rest = result + rest, []
        elif (code == 0 and rest) or (code == -3 and len(rest) > 1):
            count = 1 if code == 0 else 2
            result.append(_product(rest[:count]))
            rest = rest[count:]
        elif code == -4 and rest and len(codes) > 1:
            result += _split_in_two(rest.pop(0), codes.pop(0), codes.pop(0))
        else:
            raise TeError(f"reshape: {code} in newshape {list(newshape)} of a tensor of shape {list(shape)}")
    return _checked_shape(shape, newshape, result, inferred)


def _split_in_two(extent: Extent, first: int, second: int) -> list[Extent]:
    if first == -1:
        return [extent // second, second]
    return [first, extent // first if second == -1 else second]


def _checked_shape(
    shape: Sequence[Extent], newshape: Sequence[int], result: list[Extent], inferred: int | None
) -> list[Extent]:
    """The shape with what is left for its -1."""
    (total, unknown), (count, made) = _factors(shape), _factors(result)
    where = f"reshape: newshape {list(newshape)} of a tensor of shape {list(shape)}"
    for factor in list(made):
        same = next((n for n, other in enumerate(unknown) if is_same_extent(factor, other)), None)
        if same is not None:  # on both sides
            made.remove(factor)
            del unknown[same]
    if inferred is not None:
        if count == 0:
            total, count = _without_zeros(shape, result)
        if count == 0 or (not unknown and not made and total % count):
            raise TeError(f"{where}: nothing stands for -1")
        whole, part = _product([total, *unknown]), _product([count, *made])
        result[inferred] = total // count * _product(unknown) if not made and not total % count else whole // part
    elif unknown or made:
        raise TeError(f"{where}: not known to have as many elements")
    elif total != count:
        raise TeError(f"{where}: {count} elements, expected {total}")
    return result


def _without_zeros(shape: Sequence[Extent], result: Sequence[Extent]) -> tuple[int, int]:
    """The numbers of elements without the extents of 0 that stand on both sides, as for sizes that are not known."""
    (given, zeros), (made, more) = _filled(shape), _filled(result)
    return (0 if zeros > more else given), (0 if more > zeros else made)


def _filled(extents: Sequence[Extent]) -> tuple[int, int]:
    """The product of extents from 1 on, and how many are 0."""
    known = [known_extent(extent) for extent in extents]
    return prod(number for number in known if number), known.count(0)


def _factors(extents: Sequence[Extent]) -> tuple[int, list[PrimExpr]]:
    """Sizes as a number, and those that are not known: the product of all is theirs."""
    number, unknown, todo = 1, list[PrimExpr](), list(extents)
    while todo:
        extent = todo.pop()
        known = known_extent(extent)
        if known is not None:
            number *= known
        elif isinstance(extent, Mul):
            todo += extent.children
        else:
            unknown.append(extent)
    return number, unknown


def _reshape_reference(data: Array, newshape: Sequence[int]) -> Array:
    return data.reshape(reshaped(data.shape, newshape))


@operator("reshape", Pattern.INJECTIVE, _reshape_reference)
def reshape(data: Tensor, newshape: Sequence[int]) -> Tensor:
    """The elements in the order of rows, in another shape.

    newshape: sizes; -1 once for what is left, 0 for the size that stands there, -2 for all that stand from there on, -3
    for the product of the next two, -4 and two numbers (one may be -1) for two whose product is the next.
    """
    shape = reshaped(data.shape, newshape)

    def source(*axes: PrimExpr) -> PrimExpr:
        place: PrimExpr = const(0)
        for n, (axis, extent) in enumerate(zip(axes, shape, strict=True)):
            place = axis if n == 0 else place * extent + axis
        indices: list[PrimExpr] = []
        for n, extent in reversed(list(enumerate(data.shape))):
            indices.insert(0, place if n == 0 else place % extent)
            place = place // extent
        return data(*indices)

    return _moved(shape, source, "reshape")


def _squeezed_reference(data: Array, axis: Axes) -> Array:
    return np.squeeze(data, _squeezed(data.shape, axis))


@operator("squeeze", Pattern.INJECTIVE, _squeezed_reference)
def squeeze(data: Tensor, axis: Axes = None) -> Tensor:
    """Without dimensions of extent 1. axis: which ones; None for all."""
    taken = _squeezed(data.shape, axis)
    kept = [d for d in range(data.ndim) if d not in taken]

    def source(*axes: PrimExpr) -> PrimExpr:
        given = dict(zip(kept, axes, strict=True))
        return data(*(given.get(d, 0) for d in range(data.ndim)))

    return _moved([data.shape[d] for d in kept], source, "squeeze")


def _squeezed(shape: Sequence[Extent], axis: Axes) -> tuple[int, ...]:
    if axis is None:
        return tuple(d for d, extent in enumerate(shape) if known_extent(extent) == 1)
    taken = axes_of(axis, len(shape), "squeeze")
    for d in taken:
        if known_extent(shape[d]) != 1:
            raise TeError(f"squeeze: axis {d} of extent {shape[d]}, expected 1")
    return taken


def _expanded_reference(data: Array, axis: int, num_newaxis: int) -> Array:
    place = axis_of(axis, data.ndim + 1, "expand_dims")
    return data.reshape((*data.shape[:place], *[1] * num_newaxis, *data.shape[place:]))


@operator("expand_dims", Pattern.BROADCAST, _expanded_reference)
def expand_dims(data: Tensor, axis: int, num_newaxis: int = 1) -> Tensor:
    """With dimensions of extent 1 in front of an axis. num_newaxis: how many."""
    place = axis_of(axis, data.ndim + 1, "expand_dims")
    if num_newaxis < 0:
        raise TeError(f"expand_dims: num_newaxis {num_newaxis}, expected at least 0")
    shape = [*data.shape[:place], *[1] * num_newaxis, *data.shape[place:]]
    return _moved(shape, lambda *axes: data(*axes[:place], *axes[place + num_newaxis :]), "expand_dims")


def _broadcast_reference(data: Array, shape: Sequence[int]) -> Array:
    return np.broadcast_to(data, shape)


@operator("broadcast_to", Pattern.BROADCAST, _broadcast_reference)
def broadcast_to(data: Tensor, shape: Sequence[int]) -> Tensor:
    """In a larger shape: dimensions of extent 1, and those that are missing in front, are repeated."""
    behind = len(shape) - data.ndim
    fits = behind >= 0 and all(
        known_extent(own) == 1 or known_extent(own) == whole
        for own, whole in zip(data.shape, shape[behind:], strict=False)
    )
    if not fits:
        raise TeError(f"broadcast_to: a tensor of shape {list(data.shape)} does not go into {list(shape)}")

    def source(*axes: PrimExpr) -> PrimExpr:
        pairs = zip(axes[behind:], data.shape, shape[behind:], strict=True)
        return data(*(0 if known_extent(own) == 1 and whole != 1 else axis for axis, own, whole in pairs))

    return _moved(list(shape), source, "broadcast_to")


# Orders


@operator("transpose", Pattern.INJECTIVE, lambda data, axes: np.transpose(data, axes))
def transpose(data: Tensor, axes: Sequence[int] | None = None) -> Tensor:
    """With the dimensions in another order. axes: which ones, in the order they shall have; None for the reverse."""
    order = tuple(reversed(range(data.ndim))) if axes is None else axes_of(axes, data.ndim, "transpose")
    if len(order) != data.ndim:
        raise TeError(f"transpose: {len(order)} axes of {data.ndim} dimensions")

    def source(*given: PrimExpr) -> PrimExpr:
        place = dict(zip(order, given, strict=True))
        return data(*(place[d] for d in range(data.ndim)))

    return _moved([data.shape[d] for d in order], source, "transpose")


@operator("reverse", Pattern.INJECTIVE, lambda data, axis: np.flip(data, axis))
def reverse(data: Tensor, axis: int) -> Tensor:
    """With the elements along an axis in the reverse order."""
    place = axis_of(axis, data.ndim, "reverse")

    def source(*axes: PrimExpr) -> PrimExpr:
        last = data.shape[place] - 1
        return data(*(last - a if d == place else a for d, a in enumerate(axes)))

    return _moved(data.shape, source, "reverse")


# Parts and repetitions


@operator("repeat", Pattern.INJECTIVE, lambda data, repeats, axis: np.repeat(data, repeats, axis))
def repeat(data: Tensor, repeats: int, axis: int) -> Tensor:
    """Each element along an axis several times, one behind the other."""
    place = axis_of(axis, data.ndim, "repeat")
    if repeats < 1:
        raise TeError(f"repeat: {repeats} times, expected at least once")
    shape = [extent * repeats if d == place else extent for d, extent in enumerate(data.shape)]
    return _moved(shape, lambda *axes: data(*(a // repeats if d == place else a for d, a in enumerate(axes))), "repeat")


@operator("tile", Pattern.INJECTIVE, lambda data, reps: np.tile(data, reps))
def tile(data: Tensor, reps: Sequence[int]) -> Tensor:
    """The whole several times along each axis. reps: how often, for the last axes; there may be more than axes."""
    if any(n < 1 for n in reps):
        raise TeError(f"tile: {list(reps)} times, expected at least once")
    rank = max(data.ndim, len(reps))
    times = [1] * (rank - len(reps)) + list(reps)
    own: list[Extent] = [1] * (rank - data.ndim) + list(data.shape)
    shape = [extent * n for extent, n in zip(own, times, strict=True)]

    def source(*axes: PrimExpr) -> PrimExpr:
        wrapped = [a % extent if n > 1 else a for a, extent, n in zip(axes, own, times, strict=True)]
        return data(*wrapped[rank - data.ndim :])

    return _moved(shape, source, "tile")


def slice_bounds(
    shape: Sequence[Extent],
    begin: Sequence[int],
    end: Sequence[int],
    strides: Sequence[int] | None,
    axes: Sequence[int] | None,
) -> dict[int, tuple[Extent, Extent, int]]:
    """Where a slice begins on each axis, how many elements it takes and how far these are from each other, by Python's
    rules. TeError for a stride of 0, one that goes down an axis of a size that is not known, and lists of different
    lengths."""
    chosen = range(len(begin)) if axes is None else axes_of(axes, len(shape), "strided_slice")
    steps = [1] * len(begin) if strides is None else list(strides)
    if not len(begin) == len(end) == len(chosen) == len(steps) <= len(shape):
        counts = f"{len(begin)} begins, {len(end)} ends, {len(steps)} strides, {len(chosen)} axes"
        raise TeError(f"strided_slice: {counts} of {len(shape)} dimensions")
    found: dict[int, tuple[Extent, Extent, int]] = {}
    for d, first, last, step in zip(chosen, begin, end, steps, strict=True):
        extent = known_extent(shape[d])
        if step == 0 or (extent is None and step < 0):
            what = "0" if step == 0 else f"{step} of extent {shape[d]}, which is not known"
            raise TeError(f"strided_slice: axis {d} with a stride of {what}")
        if extent is None:
            found[d] = *_open_slice(shape[d], first, last, step), step
            continue
        taken = range(*slice(first, last, step).indices(extent))
        found[d] = taken.start, len(taken), step
    return found


_FAR = 2**31 - 1
"""An end that stands for all that is there."""


def _open_slice(extent: PrimExpr, first: int, last: int, step: int) -> tuple[Extent, Extent]:
    """Where a slice begins on an axis whose size is not known, and how many elements it takes."""
    is_open = last >= _FAR
    start: Extent = first if first >= 0 else scalar.max(extent + first, 0)
    if first >= 0:
        end = extent if is_open else scalar.min(extent, last) if last >= 0 else extent + last
        count = end if first == 0 and last >= 0 else scalar.max(end - first, 0)
    elif is_open or last < 0:
        end = extent if is_open else scalar.max(extent + last, 0)
        count = scalar.min(end, max((0 if is_open else last) - first, 0))
    else:
        count = scalar.max(scalar.min(extent, last) - start, 0)
    return start, count if step == 1 else (count + (step - 1)) // step


def _slice_reference(
    data: Array, begin: Sequence[int], end: Sequence[int], strides: Sequence[int] | None, axes: Sequence[int] | None
) -> Array:
    steps = [1] * len(begin) if strides is None else strides
    where = dict(zip(range(len(begin)) if axes is None else [a % data.ndim for a in axes], zip(begin, end, steps)))
    return data[tuple(slice(*where[d]) if d in where else slice(None) for d in range(data.ndim))]


@operator("strided_slice", Pattern.INJECTIVE, _slice_reference)
def strided_slice(
    data: Tensor,
    begin: Sequence[int],
    end: Sequence[int],
    strides: Sequence[int] | None = None,
    axes: Sequence[int] | None = None,
) -> Tensor:
    """Some elements along axes, as `data[begin:end:stride, ...]` takes them in Python.

    begin, end, strides: for the first axes, or for those that `axes` names.
    """
    bounds = slice_bounds(data.shape, begin, end, strides, axes)
    shape = [bounds[d][1] if d in bounds else extent for d, extent in enumerate(data.shape)]

    def source(*given: PrimExpr) -> PrimExpr:
        return data(*(bounds[d][0] + a * bounds[d][2] if d in bounds else a for d, a in enumerate(given)))

    return _moved(shape, source, "strided_slice")


def section_starts(extent: int, indices_or_sections: int | Sequence[int]) -> list[int]:
    """Where the parts of `split` begin, and the extent. TeError for sections that do not go into it."""
    if isinstance(indices_or_sections, int):
        if indices_or_sections < 1 or extent % indices_or_sections:
            raise TeError(f"split: {indices_or_sections} sections of an extent of {extent}")
        size = extent // indices_or_sections
        return [n * size for n in range(indices_or_sections + 1)]
    starts = [0, *indices_or_sections, extent]
    if any(a > b for a, b in pairwise(starts)):
        raise TeError(f"split: at {list(indices_or_sections)} of an extent of {extent}, expected an ascending order")
    return starts


def _split_reference(data: Array, indices_or_sections: int | Sequence[int], axis: int) -> list[Array]:
    return np.split(data, indices_or_sections, axis)


@operator("split", Pattern.INJECTIVE, _split_reference)
def split(data: Tensor, indices_or_sections: int | Sequence[int], axis: int = 0) -> list[Tensor]:
    """Parts along an axis. indices_or_sections: how many of one size, or where the second and the later ones begin."""
    place = axis_of(axis, data.ndim, "split")
    extent = known_extent(data.shape[place])
    if extent is None:
        raise TeError(f"split: axis {place} of extent {data.shape[place]}, which is not known")
    starts = section_starts(extent, indices_or_sections)

    def part(start: int, end: int) -> Tensor:
        shape = [end - start if d == place else size for d, size in enumerate(data.shape)]
        return _moved(shape, lambda *axes: data(*(a + start if d == place else a for d, a in enumerate(axes))), "split")

    return [part(*each) for each in pairwise(starts)]


# Together


def _require_alike(name: str, data: Sequence[Tensor], but: int | None = None) -> None:
    """TeError unless tensors have one data type, and one shape but for an axis."""
    first = data[0]
    for other in data[1:]:
        same = other.dtype == first.dtype and other.ndim == first.ndim
        if not same or not all(
            d == but or is_same_extent(a, b) for d, (a, b) in enumerate(zip(first.shape, other.shape, strict=True))
        ):
            kinds = " and ".join(f"{list(each.shape)} of {each.dtype}" for each in (first, other))
            raise TeError(f"{name}: tensors {kinds} do not go together")


@operator("concatenate", Pattern.INJECTIVE, lambda *data, axis: np.concatenate(data, axis))
def concatenate(*data: Tensor, axis: int = 0) -> Tensor:
    """One tensor behind the other along an axis."""
    if not data:
        raise TeError("concatenate: no tensor")
    place = axis_of(axis, data[0].ndim, "concatenate")
    _require_alike("concatenate", data, place)
    ends = list(accumulate(tensor.shape[place] for tensor in data))
    shape = [ends[-1] if d == place else extent for d, extent in enumerate(data[0].shape)]

    def source(*axes: PrimExpr) -> PrimExpr:
        def at(n: int) -> PrimExpr:
            return data[n](*(a - ends[n - 1] if n and d == place else a for d, a in enumerate(axes)))

        filled = [n for n, tensor in enumerate(data) if known_extent(tensor.shape[place]) != 0] or [0]
        element = at(filled[-1])
        for n in reversed(filled[:-1]):
            element = scalar.if_then_else(axes[place] < ends[n], at(n), element)
        return element

    return _moved(shape, source, "concat")


@operator("stack", Pattern.INJECTIVE, lambda *data, axis: np.stack(data, axis))
def stack(*data: Tensor, axis: int = 0) -> Tensor:
    """Tensors of one shape along an axis of their own, the number of the tensor."""
    if not data:
        raise TeError("stack: no tensor")
    place = axis_of(axis, data[0].ndim + 1, "stack")
    _require_alike("stack", data)

    def source(*axes: PrimExpr) -> PrimExpr:
        inner = (*axes[:place], *axes[place + 1 :])
        element = data[-1](*inner)
        for n in reversed(range(len(data) - 1)):
            element = scalar.if_then_else(axes[place].equal(n), data[n](*inner), element)
        return element

    shape = [*data[0].shape[:place], len(data), *data[0].shape[place:]]
    return _moved(shape, source, "stack")


# Choices


@operator("where", Pattern.BROADCAST, lambda condition, x, y: np.where(condition, x, y))
def where(condition: Tensor, x: Tensor, y: Tensor) -> Tensor:
    """The element of x where that of a bool holds, else that of y; the shapes go together."""
    if not condition.data_type.is_bool:
        raise TeError(f"where: condition of {condition.dtype}, expected bool")
    return elementwise(lambda c, a, b: Select(c, a, b), [condition, x, y], "T_where")


def _take_reference(data: Array, indices: Array, axis: int | None, batch_dims: int, mode: str) -> Array:
    how: Any = "wrap" if mode == "wrap" else "clip"
    if not (data.size if axis is None else data.shape[axis]):
        place = axis_of(axis or 0, max(data.ndim, 1), "take")
        shape = () if axis is None else data.shape
        return np.zeros((*shape[:place], *indices.shape[batch_dims:], *shape[place + 1 :]), data.dtype)
    if not batch_dims:
        return np.take(data, indices.astype("int64"), axis, mode=how)
    place = axis_of(axis or 0, data.ndim, "take")
    count = batch_dims % indices.ndim if batch_dims < 0 else batch_dims
    found = np.zeros((*data.shape[:place], *indices.shape[count:], *data.shape[place + 1 :]), data.dtype)
    for at in np.ndindex(data.shape[:count]):
        found[at] = np.take(data[at], indices[at].astype("int64"), place - count, mode=how)
    return found


@operator("take", Pattern.INJECTIVE, _take_reference)
def take(data: Tensor, indices: Tensor, axis: int | None = None, batch_dims: int = 0, mode: str = "clip") -> Tensor:
    """The elements, or slices along an axis, of the numbers in `indices`.

    axis: None for elements counted row by row.  batch_dims: how many of the first axes data and indices share; a
    negative one counts from the end of those of indices.  mode: what a number outside means: "clip" the nearest one,
    "wrap" the rest by the extent, "fast" that there is none. Of an axis without elements comes 0.
    """
    require_integers(indices, "take: indices")
    if mode not in ("clip", "wrap", "fast"):
        raise TeError(f"take: mode {mode!r}, expected 'clip', 'wrap' or 'fast'")
    flat = data if axis is not None else reshape(data, [-1])
    place = axis_of(0 if axis is None else axis, flat.ndim, "take")
    shared = batch_dims + indices.ndim if batch_dims < 0 else batch_dims
    if not 0 <= shared <= min(place, indices.ndim) or not all(
        map(is_same_extent, flat.shape[:shared], indices.shape[:shared])
    ):
        shapes = f"data of shape {list(flat.shape)} and indices of {list(indices.shape)}"
        raise TeError(f"take: {shapes}, expected the same {batch_dims} axes first, in front of axis {place}")
    extent, behind = flat.shape[place], place + indices.ndim - shared

    def inside(index: PrimExpr) -> PrimExpr:
        if mode == "fast":
            return index
        wide = cast("int64", index) if index.data_type.bits < 64 else index
        limit = cast(wide.dtype, extent)
        if mode == "wrap":
            return cast(extent.dtype, wide % limit)
        return cast(extent.dtype, scalar.min(scalar.max(wide, const(0, wide.dtype)), limit - 1))

    def source(*axes: PrimExpr) -> PrimExpr:
        number = indices(*axes[:shared], *axes[place:behind])
        return if_any([extent], data.dtype, lambda: flat(*axes[:place], inside(number), *axes[behind:]))

    return _moved([*flat.shape[:place], *indices.shape[shared:], *flat.shape[place + 1 :]], source, "take")


def _one_hot_reference(indices: Array, on_value: float, off_value: float, depth: int, axis: int, dtype: str) -> Array:
    place = axis_of(axis, indices.ndim + 1, "one_hot")
    along = np.arange(depth).reshape([depth if d == place else 1 for d in range(indices.ndim + 1)])
    return np.where(np.expand_dims(indices, place) == along, on_value, off_value).astype(dtype)


@operator("one_hot", Pattern.INJECTIVE, _one_hot_reference)
def one_hot(
    indices: Tensor, on_value: float, off_value: float, depth: int, axis: int = -1, dtype: str = "float32"
) -> Tensor:
    """Along a new axis, `on_value` at the place that `indices` has, and `off_value` elsewhere."""
    require_integers(indices, "one_hot: indices")
    place = axis_of(axis, indices.ndim + 1, "one_hot")
    on, off = const(on_value, dtype), const(off_value, dtype)

    def source(*axes: PrimExpr) -> PrimExpr:
        number = indices(*axes[:place], *axes[place + 1 :])
        return Select(cast("int64", number).equal(cast("int64", axes[place])), on, off)

    return _moved([*indices.shape[:place], depth, *indices.shape[place:]], source, "one_hot")

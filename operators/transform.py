"""Operators that move elements: reshaping, reordering, slicing, concatenation and selection."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Sequence
from itertools import accumulate, pairwise
from math import prod
from typing import Any, TypeAlias

import numpy as np

from ..expressions import functions as scalar
from ..expressions.errors import TeError
from ..expressions.expr import Mul, PrimExpr, Select, as_expr, binary_expr, cast, const
from ..expressions.index_dtype import position_dtype
from ..expressions.sizes import normal_form
from ..expressions.tensor import Tensor, compute, elementwise_tensor, is_same_extent
from .axes import Axes, nonnegative_axes, nonnegative_axis
from .definition import Pattern, operator
from .elements import element_or_zero
from .extents import Extent, known_extent, widen_index
from .requirements import require_integers

Array = Any
"""An array of numpy."""
_Factors: TypeAlias = tuple[int, list[PrimExpr]]
"""The product of known extents, and the unknown factors of other extents."""


def _rearrange(shape: Sequence[Extent], source: Callable[..., PrimExpr], name: str) -> Tensor:
    """A tensor whose element at `ax0, ax1, ...` is an element of an operand."""
    names = [f"ax{n}" for n in range(len(shape))]
    return compute(shape, source, f"T_{name}", "injective", varargs_names=names)


def _product(extents: Sequence[Extent]) -> Extent:
    result: Extent = 1
    for extent in extents:
        result = extent if known_extent(result) == 1 else result if known_extent(extent) == 1 else result * extent
    return result


# Shapes


def infer_shape(shape: Sequence[Extent], newshape: Sequence[Extent]) -> list[Extent]:
    """The shape of the result of `reshape`. TeError for an invalid shape, or for another number of elements."""
    result: list[Extent] = []
    rest, codes, inferred = list(shape), [_code(extent) for extent in newshape], None
    while codes:
        code = codes.pop(0)
        if not isinstance(code, int) or code > 0:
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
    return _infer_extent(shape, newshape, result, inferred)


def _code(extent: Extent) -> Extent:
    """A known extent, or a code, as a number; an unknown extent as its expression."""
    known = known_extent(extent)
    return extent if known is None else known


def _split_in_two(extent: Extent, first: Extent, second: Extent) -> list[Extent]:
    if isinstance(first, int) and first == -1:
        return [_quotient([extent], [second]), second]
    return [first, _quotient([extent], [first]) if isinstance(second, int) and second == -1 else second]


def _quotient(whole: Sequence[Extent], part: Sequence[Extent]) -> Extent:
    """The product of some extents divided by the product of others, without their common factors."""
    (total, unknown), (count, others) = _cancel(_factors(whole), _factors(part))
    if not others and count and total % count == 0:
        return total // count * _product(unknown)
    return _product([total, *unknown]) // _product([count, *others])


def _cancel(whole: _Factors, part: _Factors) -> tuple[_Factors, _Factors]:
    """The factors of two products without the unknown factors of both."""
    (total, unknown), (count, others) = whole, part
    unknown, others = list(unknown), list(others)
    for factor in list(others):
        same = next((n for n, other in enumerate(unknown) if is_same_extent(factor, other)), None)
        if same is not None:
            others.remove(factor)
            del unknown[same]
    return (total, unknown), (count, others)


def _infer_extent(
    shape: Sequence[Extent], newshape: Sequence[Extent], result: list[Extent], inferred: int | None
) -> list[Extent]:
    """The shape with the inferred extent in place of its -1."""
    (total, unknown), (count, result_factors) = _cancel(_factors(shape), _factors(result))
    where = f"reshape: newshape {list(newshape)} of a tensor of shape {list(shape)}"
    if inferred is not None:
        if count == 0:
            total, count = _cancel_zeros(shape, result)
        if count == 0 or (not unknown and not result_factors and total % count):
            raise TeError(f"{where}: nothing stands for -1")
        result[inferred] = _quotient([total, *unknown], [count, *result_factors])
    elif unknown or result_factors:
        raise TeError(f"{where}: not known to have as many elements")
    elif total != count:
        raise TeError(f"{where}: {count} elements, expected {total}")
    return result


def _cancel_zeros(shape: Sequence[Extent], result: Sequence[Extent]) -> tuple[int, int]:
    """The numbers of elements of both shapes; extents of 0 on both sides cancel, as unknown extents do."""
    (operand_product, zeros), (result_product, result_zeros) = _nonzero_product(shape), _nonzero_product(result)
    return (0 if zeros > result_zeros else operand_product), (0 if result_zeros > zeros else result_product)


def _nonzero_product(extents: Sequence[Extent]) -> tuple[int, int]:
    """The product of the known nonzero extents, and the number of extents of 0."""
    known = [known_extent(extent) for extent in extents]
    return prod(number for number in known if number), known.count(0)


def _factors(extents: Sequence[Extent]) -> _Factors:
    """The product of the known extents, and the unknown factors of the other extents."""
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
    return data.reshape(infer_shape(data.shape, newshape))


@operator("reshape", Pattern.INJECTIVE, _reshape_reference)
def reshape(data: Tensor, newshape: Sequence[int]) -> Tensor:
    """Changes the shape of a tensor and keeps the row-major order of its elements.

    newshape: extents, or codes: -1 (once) for the inferred extent, 0 for the next extent of data, -2 for all remaining
    extents, -3 for the product of the next two, -4 and two numbers (one may be -1) for two factors of the next extent.
    """
    return with_shape(data, infer_shape(data.shape, newshape))


def _reverse_shape(shape: Sequence[Extent], newshape: Sequence[int]) -> list[Extent]:
    """The shape of the result of `contrib_reverse_reshape`. TeError for codes other than 0, -1 and -3, too."""
    if any(code in (-2, -4) for code in newshape):
        raise TeError(f"contrib_reverse_reshape: newshape {list(newshape)}, expected extents, 0, -1 or -3")
    return infer_shape(shape[::-1], newshape[::-1])[::-1]


@operator(
    "contrib_reverse_reshape",
    Pattern.INJECTIVE,
    lambda data, newshape: data.reshape(_reverse_shape(data.shape, newshape)),
)
def contrib_reverse_reshape(data: Tensor, newshape: Sequence[int]) -> Tensor:
    """Changes the shape of a tensor as `reshape`, where the codes are read from the right.

    newshape: extents, or codes: -1 (once) for the inferred extent, 0 for the next extent of data from the right, -3 for
    the product of the next two.
    """
    return with_shape(data, _reverse_shape(data.shape, newshape))


def with_shape(data: Tensor, shape: Sequence[Any]) -> Tensor:
    """A tensor with another shape of as many elements, in the same row-major order."""
    groups = list(_groups_of_dimensions(data.shape, shape))

    def source(*axes: PrimExpr) -> PrimExpr:
        indices: list[PrimExpr] = []
        for outer, inner in groups:
            indices += _indices_of_group(data.shape[outer], shape[inner], axes[inner])
        return data(*indices)

    return _rearrange(list(shape), source, "reshape")


def _groups_of_dimensions(shape: Sequence[Extent], other: Sequence[Extent]) -> Iterator[tuple[slice, slice]]:
    """The least groups of consecutive dimensions of two shapes of as many elements that have as many elements in both.
    The indices of a group depend on those of the other group alone."""
    ends = {product: n for n, product in enumerate(_products_before(other))}
    start = other_start = 0
    for end, product in enumerate(_products_before(shape)):
        other_end = ends.get(product, 0)
        if other_end > other_start and end > start:
            yield slice(start, end), slice(other_start, other_end)
            start, other_start = end, other_end
    if start < len(shape) or other_start < len(other):
        yield slice(start, len(shape)), slice(other_start, len(other))


def _products_before(shape: Sequence[Extent]) -> Iterator[Hashable]:
    """For each number of leading dimensions, equal values for equal products of their extents."""
    number, unknown = 1, list[Hashable]()
    yield number, ()
    for extent in shape:
        known, factors = _factors([extent])
        number *= known
        unknown += map(normal_form, factors)
        yield number, frozenset(Counter(unknown).items())


def _indices_of_group(shape: Sequence[Extent], other: Sequence[Extent], axes: Sequence[PrimExpr]) -> list[PrimExpr]:
    """The indices of the element of some dimensions at the position that axes of other extents count."""
    counted = [(axis, extent) for axis, extent in zip(axes, other, strict=True) if known_extent(extent) != 1]
    dimensions = [n for n, extent in enumerate(shape) if known_extent(extent) != 1]
    indices: list[PrimExpr] = [const(0, "int32")] * len(shape)
    if not dimensions or not counted:
        return indices
    dtype = position_dtype(shape) if len(counted) > 1 else "int32"
    position = widen_index(counted[0][0], dtype)
    for axis, extent in counted[1:]:
        position = position * extent + axis
    for n in reversed(dimensions):
        indices[n] = position if n == dimensions[0] else position % shape[n]
        position = position // shape[n]
    return indices


def _squeeze_reference(data: Array, axis: Axes) -> Array:
    return np.squeeze(data, _squeezed_axes(data.shape, axis))


@operator("squeeze", Pattern.INJECTIVE, _squeeze_reference)
def squeeze(data: Tensor, axis: Axes = None) -> Tensor:
    """Removes dimensions of extent 1.

    axis: the removed dimensions; None for all dimensions of extent 1.
    """
    removed = _squeezed_axes(data.shape, axis)
    kept = [d for d in range(data.ndim) if d not in removed]

    def source(*axes: PrimExpr) -> PrimExpr:
        kept_indices = dict(zip(kept, axes, strict=True))
        return data(*(kept_indices.get(d, 0) for d in range(data.ndim)))

    return _rearrange([data.shape[d] for d in kept], source, "squeeze")


def _squeezed_axes(shape: Sequence[Extent], axis: Axes) -> tuple[int, ...]:
    if axis is None:
        return tuple(d for d, extent in enumerate(shape) if known_extent(extent) == 1)
    removed = nonnegative_axes(axis, len(shape), "squeeze")
    for d in removed:
        if known_extent(shape[d]) != 1:
            raise TeError(f"squeeze: axis {d} of extent {shape[d]}, expected 1")
    return removed


def _expand_dims_reference(data: Array, axis: int, num_newaxis: int) -> Array:
    dimension = nonnegative_axis(axis, data.ndim + 1, "expand_dims")
    return data.reshape((*data.shape[:dimension], *[1] * num_newaxis, *data.shape[dimension:]))


@operator("expand_dims", Pattern.BROADCAST, _expand_dims_reference)
def expand_dims(data: Tensor, axis: int, num_newaxis: int = 1) -> Tensor:
    """Inserts dimensions of extent 1 before `axis`.

    num_newaxis: the number of inserted dimensions.
    """
    dimension = nonnegative_axis(axis, data.ndim + 1, "expand_dims")
    if num_newaxis < 0:
        raise TeError(f"expand_dims: num_newaxis {num_newaxis}, expected at least 0")
    shape = [*data.shape[:dimension], *[1] * num_newaxis, *data.shape[dimension:]]
    return _rearrange(shape, lambda *axes: data(*axes[:dimension], *axes[dimension + num_newaxis :]), "expand_dims")


def _broadcast_reference(data: Array, shape: Sequence[int]) -> Array:
    return np.broadcast_to(data, shape)


def _goes_into(own: Any, whole: Any) -> bool:
    """Whether an extent is broadcast to another one: 1, or an equal one."""
    known = known_extent(own)
    return is_same_extent(own, whole) if known is None else known in (1, known_extent(whole))


@operator("broadcast_to", Pattern.BROADCAST, _broadcast_reference)
def broadcast_to(data: Tensor, shape: Sequence[int]) -> Tensor:
    """Broadcasts a tensor to a larger shape: repeats dimensions of extent 1, and adds leading dimensions."""
    behind = len(shape) - data.ndim
    fits = behind >= 0 and all(map(_goes_into, data.shape, shape[behind:]))
    if not fits:
        raise TeError(f"broadcast_to: a tensor of shape {list(data.shape)} does not go into {list(shape)}")

    def source(*axes: PrimExpr) -> PrimExpr:
        pairs = zip(axes[behind:], data.shape, shape[behind:], strict=True)
        return data(*(0 if known_extent(own) == 1 and whole != 1 else axis for axis, own, whole in pairs))

    return _rearrange(list(shape), source, "broadcast_to")


# Orders


@operator("transpose", Pattern.INJECTIVE, lambda data, axes: np.transpose(data, axes))
def transpose(data: Tensor, axes: Sequence[int] | None = None) -> Tensor:
    """Permutes the dimensions of a tensor.

    axes: the dimensions in their new order; None for the reverse order.
    """
    order = tuple(reversed(range(data.ndim))) if axes is None else nonnegative_axes(axes, data.ndim, "transpose")
    if len(order) != data.ndim:
        raise TeError(f"transpose: {len(order)} axes of {data.ndim} dimensions")

    def source(*indices: PrimExpr) -> PrimExpr:
        index_of = dict(zip(order, indices, strict=True))
        return data(*(index_of[d] for d in range(data.ndim)))

    return _rearrange([data.shape[d] for d in order], source, "transpose")


@operator("reverse", Pattern.INJECTIVE, lambda data, axis: np.flip(data, axis))
def reverse(data: Tensor, axis: int) -> Tensor:
    """Reverses the order of the elements along `axis`."""
    dimension = nonnegative_axis(axis, data.ndim, "reverse")

    def source(*axes: PrimExpr) -> PrimExpr:
        last = data.shape[dimension] - 1
        return data(*(last - a if d == dimension else a for d, a in enumerate(axes)))

    return _rearrange(data.shape, source, "reverse")


# Parts and repetitions


@operator("repeat", Pattern.INJECTIVE, lambda data, repeats, axis: np.repeat(data, repeats, axis))
def repeat(data: Tensor, repeats: int, axis: int) -> Tensor:
    """Repeats each element along `axis`, the copies next to each other."""
    dimension = nonnegative_axis(axis, data.ndim, "repeat")
    if repeats < 1:
        raise TeError(f"repeat: {repeats} times, expected at least once")
    shape = [extent * repeats if d == dimension else extent for d, extent in enumerate(data.shape)]
    return _rearrange(
        shape, lambda *axes: data(*(a // repeats if d == dimension else a for d, a in enumerate(axes))), "repeat"
    )


@operator("tile", Pattern.INJECTIVE, lambda data, reps: np.tile(data, reps))
def tile(data: Tensor, reps: Sequence[int]) -> Tensor:
    """Repeats the whole tensor along each axis.

    reps: the numbers of repetitions for the last axes; additional numbers add leading axes.
    """
    if any(n < 1 for n in reps):
        raise TeError(f"tile: {list(reps)} times, expected at least once")
    rank = max(data.ndim, len(reps))
    times = [1] * (rank - len(reps)) + list(reps)
    own: list[Extent] = [1] * (rank - data.ndim) + list(data.shape)
    shape = [extent * n for extent, n in zip(own, times, strict=True)]

    def source(*axes: PrimExpr) -> PrimExpr:
        wrapped = [a % extent if n > 1 else a for a, extent, n in zip(axes, own, times, strict=True)]
        return data(*wrapped[rank - data.ndim :])

    return _rearrange(shape, source, "tile")


def slice_bounds(
    shape: Sequence[Extent],
    begin: Sequence[int],
    end: Sequence[int],
    strides: Sequence[int] | None,
    axes: Sequence[int] | None,
    name: str = "strided_slice",
) -> dict[int, tuple[Extent, Extent, int]]:
    """The start, the number of elements and the stride of a slice along each axis, by the rules of Python. TeError for
    a stride of 0, a negative stride along an axis of unknown extent, and lists of different lengths.

    name: that of the operator in errors.
    """
    chosen = range(len(begin)) if axes is None else nonnegative_axes(axes, len(shape), name)
    steps = [1] * len(begin) if strides is None else list(strides)
    if not len(begin) == len(end) == len(chosen) == len(steps) <= len(shape):
        counts = f"{len(begin)} begins, {len(end)} ends, {len(steps)} strides, {len(chosen)} axes"
        raise TeError(f"{name}: {counts} of {len(shape)} dimensions")
    bounds: dict[int, tuple[Extent, Extent, int]] = {}
    for d, first, last, step in zip(chosen, begin, end, steps, strict=True):
        extent = known_extent(shape[d])
        if step == 0 or (extent is None and step < 0):
            what = "0" if step == 0 else f"{step} of extent {shape[d]}, which is not known"
            raise TeError(f"{name}: axis {d} with a stride of {what}")
        if extent is None:
            bounds[d] = *_open_slice(shape[d], first, last, step), step
            continue
        positions = range(*slice(first, last, step).indices(extent))
        bounds[d] = positions.start, len(positions), step
    return bounds


_FAR = 2**31 - 1
"""The least end of a slice that denotes the end of an axis of unknown extent."""


def _open_slice(extent: PrimExpr, first: int, last: int, step: int) -> tuple[Extent, Extent]:
    """The start and the number of elements of a slice along an axis of unknown extent."""
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
    """A slice of a tensor, as `data[begin:end:stride, ...]` in Python.

    begin, end, strides: for the first axes, or for the axes in `axes`.
    """
    bounds = slice_bounds(data.shape, begin, end, strides, axes)
    shape = [bounds[d][1] if d in bounds else extent for d, extent in enumerate(data.shape)]

    def source(*indices: PrimExpr) -> PrimExpr:
        wide = [widen_index(a, extent.dtype) for a, extent in zip(indices, data.shape, strict=True)]
        return data(*(bounds[d][0] + a * bounds[d][2] if d in bounds else a for d, a in enumerate(wide)))

    return _rearrange(shape, source, "strided_slice")


def _set_reference(
    data: Array, v: Array, begin: Sequence[int], end: Sequence[int], strides: Sequence[int] | None
) -> Array:
    result, steps = data.copy(), [1] * len(begin) if strides is None else strides
    result[tuple(slice(*each) for each in zip(begin, end, steps, strict=True))] = v
    return result


@operator("strided_set", Pattern.INJECTIVE, _set_reference)
def strided_set(
    data: Tensor, v: Tensor, begin: Sequence[int], end: Sequence[int], strides: Sequence[int] | None = None
) -> Tensor:
    """A copy of a tensor in which a slice is replaced, as by `data[begin:end:stride, ...] = v` in Python.

    v: a tensor of the shape of the slice.  begin, end, strides: for the first axes.
    """
    name = "strided_set"
    bounds = slice_bounds(data.shape, begin, end, strides, None, name)
    shape = [as_expr(bounds[d][1]) if d in bounds else extent for d, extent in enumerate(data.shape)]
    if v.dtype != data.dtype or v.ndim != data.ndim or not all(map(is_same_extent, v.shape, shape)):
        raise TeError(f"{name}: v of {v.dtype}{list(v.shape)}, expected {data.dtype}{shape}")
    is_empty = any(known_extent(extent) == 0 for extent in shape)

    def source(*indices: PrimExpr) -> PrimExpr:
        if is_empty:
            return data(*indices)
        wide = [widen_index(a, extent.dtype) for a, extent in zip(indices, data.shape, strict=True)]
        inside: list[PrimExpr] = []
        for d, (start, count, step) in bounds.items():
            distance = wide[d] - start if step > 0 else start - wide[d]
            wide[d] = distance // abs(step)
            inside += [distance >= 0, distance % abs(step) == 0, wide[d] < count]
        return scalar.if_then_else(scalar.all(*inside), v(*wide), data(*indices)) if inside else v(*wide)

    return _rearrange(data.shape, source, name)


_MAX_SECTIONS = 2**16
"""The greatest number of results of `split`."""


def _window_reference(data: Array, axis: int, window_shape: Sequence[int], strides: Sequence[int]) -> Array:
    dims = tuple(range(axis % data.ndim, data.ndim))
    windows = np.lib.stride_tricks.sliding_window_view(data, tuple(window_shape), dims)  # pyright: ignore
    return windows[(..., *(slice(None, None, step) for step in strides), *(slice(None) for _ in dims))]


@operator("sliding_window", Pattern.INJECTIVE, _window_reference)
def sliding_window(data: Tensor, axis: int, window_shape: Sequence[int], strides: Sequence[int]) -> Tensor:
    """The windows of a tensor: axes with their number in place of some axes, then axes with their elements.

    axis: the first of the axes along which windows move, up to the last one.  window_shape: the extents of a window
    along these axes.  strides: the steps from one window to the next.
    """
    first = nonnegative_axis(axis, data.ndim, "sliding_window")
    count = data.ndim - first
    if not len(window_shape) == len(strides) == count or min(*window_shape, *strides) < 1:
        windows = f"window_shape {list(window_shape)} and strides {list(strides)}"
        raise TeError(f"sliding_window: {windows}, expected {count} numbers from 1 on for axes from {first} on")
    spans = list(zip(data.shape[first:], window_shape, strides, strict=True))
    if any(known is not None and known < size for extent, size, _ in spans for known in [known_extent(extent)]):
        raise TeError(f"sliding_window: windows {list(window_shape)} of a tensor of shape {list(data.shape)}")
    numbers = [(extent - size) // step + 1 for extent, size, step in spans]

    def source(*i: PrimExpr) -> PrimExpr:
        outer, place, inside = i[:first], i[first : first + count], i[first + count :]
        return data(*outer, *(at * step + n for at, step, n in zip(place, strides, inside, strict=True)))

    return _rearrange([*data.shape[:first], *numbers, *window_shape], source, "sliding_window")


def section_starts(extent: int, indices_or_sections: int | Sequence[int]) -> list[int]:
    """The starts of the parts of `split`, and the extent. TeError for sections that do not fit the extent."""
    if isinstance(indices_or_sections, int):
        if indices_or_sections < 1 or extent % indices_or_sections:
            raise TeError(f"split: {indices_or_sections} sections of an extent of {extent}")
        if indices_or_sections > _MAX_SECTIONS:
            raise TeError(f"split: {indices_or_sections} sections, expected at most {_MAX_SECTIONS}")
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
    """Splits a tensor into parts along `axis`.

    indices_or_sections: the number of equal parts, or the starts of the second and the subsequent parts.
    """
    dimension = nonnegative_axis(axis, data.ndim, "split")
    extent = known_extent(data.shape[dimension])
    if extent is None:
        raise TeError(f"split: axis {dimension} of extent {data.shape[dimension]}, which is not known")
    starts, whole = section_starts(extent, indices_or_sections), data.shape[dimension].dtype

    def part(start: int, end: int) -> Tensor:
        shape = [end - start if d == dimension else size for d, size in enumerate(data.shape)]
        return _rearrange(
            shape,
            lambda *axes: data(*(widen_index(a, whole) + start if d == dimension else a for d, a in enumerate(axes))),
            "split",
        )

    return [part(*each) for each in pairwise(starts)]


# Concatenation


def _require_alike(name: str, data: Sequence[Tensor], but: int | None = None) -> None:
    """TeError unless the tensors have one data type, and one shape except for the extents along an axis."""
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
    """Concatenates tensors along `axis`."""
    if not data:
        raise TeError("concatenate: no tensor")
    dimension = nonnegative_axis(axis, data[0].ndim, "concatenate")
    _require_alike("concatenate", data, dimension)
    ends = list(accumulate(tensor.shape[dimension] for tensor in data))
    shape = [ends[-1] if d == dimension else extent for d, extent in enumerate(data[0].shape)]

    def source(*axes: PrimExpr) -> PrimExpr:
        def at(n: int) -> PrimExpr:
            return data[n](*(a - ends[n - 1] if n and d == dimension else a for d, a in enumerate(axes)))

        filled = [n for n, tensor in enumerate(data) if known_extent(tensor.shape[dimension]) != 0] or [0]
        element = at(filled[-1])
        for n in reversed(filled[:-1]):
            element = scalar.if_then_else(axes[dimension] < ends[n], at(n), element)
        return element

    return _rearrange(shape, source, "concat")


def _buffer_reference(data: Array, buffer: Array, axis: int) -> Array:
    joined, length = np.concatenate((buffer, data), axis), buffer.shape[axis]
    return joined.take(range(joined.shape[axis] - length, joined.shape[axis]), axis)


@operator("nn.fifo_buffer", Pattern.INJECTIVE, _buffer_reference)
def fifo_buffer(data: Tensor, buffer: Tensor, axis: int) -> Tensor:
    """The last slices along an axis of a buffer followed by new data, as many as the buffer has: those that a
    convolution of a stream reads. There are no more slices of data than of the buffer."""
    name = "nn.fifo_buffer"
    axis = nonnegative_axis(axis, buffer.ndim, name)
    _require_alike(name, (data, buffer), axis)
    length, new = (known_extent(each.shape[axis]) for each in (buffer, data))
    if length is None or new is None or new > length:
        shapes = f"data of shape {list(data.shape)}, buffer of shape {list(buffer.shape)}"
        raise TeError(f"{name}: {shapes}, expected no more slices of data along axis {axis}")
    kept = length - new

    def element(*at: PrimExpr) -> PrimExpr:
        older, newer = list(at), list(at)
        older[axis], newer[axis] = at[axis] + new, at[axis] - kept
        return scalar.if_then_else(at[axis] < kept, buffer(*older), data(*newer))

    return _rearrange(buffer.shape, element, "fifo_buffer")


@operator("stack", Pattern.INJECTIVE, lambda *data, axis: np.stack(data, axis))
def stack(*data: Tensor, axis: int = 0) -> Tensor:
    """Stacks tensors of one shape along a new axis."""
    if not data:
        raise TeError("stack: no tensor")
    dimension = nonnegative_axis(axis, data[0].ndim + 1, "stack")
    _require_alike("stack", data)

    def source(*axes: PrimExpr) -> PrimExpr:
        inner = (*axes[:dimension], *axes[dimension + 1 :])
        element = data[-1](*inner)
        for n in reversed(range(len(data) - 1)):
            element = scalar.if_then_else(axes[dimension].equal(n), data[n](*inner), element)
        return element

    shape = [*data[0].shape[:dimension], len(data), *data[0].shape[dimension:]]
    return _rearrange(shape, source, "stack")


# Selection


@operator("where", Pattern.BROADCAST, lambda condition, x, y: np.where(condition, x, y))
def where(condition: Tensor, x: Tensor, y: Tensor) -> Tensor:
    """Selects elements of `x` where `condition` is true, and elements of `y` elsewhere; the shapes broadcast.

    condition: of bool, or numbers, of which all but 0 are true.
    """
    if condition.data_type.is_bool:
        return elementwise_tensor(lambda c, a, b: Select(c, a, b), [condition, x, y], "T_where")
    zero = const(0, condition.dtype)
    return elementwise_tensor(lambda c, a, b: Select(binary_expr("ne", c, zero), a, b), [condition, x, y], "T_where")


def _take_reference(data: Array, indices: Array, axis: int | None, batch_dims: int, mode: str) -> Array:
    how: Any = "wrap" if mode == "wrap" else "clip"
    if not (data.size if axis is None else data.shape[axis]):
        dimension = nonnegative_axis(axis or 0, max(data.ndim, 1), "take")
        shape = () if axis is None else data.shape
        return np.zeros((*shape[:dimension], *indices.shape[batch_dims:], *shape[dimension + 1 :]), data.dtype)
    if not batch_dims:
        return np.take(data, indices.astype("int64"), axis, mode=how)
    dimension = nonnegative_axis(axis or 0, data.ndim, "take")
    count = batch_dims % indices.ndim if batch_dims < 0 else batch_dims
    result = np.zeros((*data.shape[:dimension], *indices.shape[count:], *data.shape[dimension + 1 :]), data.dtype)
    for at in np.ndindex(data.shape[:count]):
        result[at] = np.take(data[at], indices[at].astype("int64"), dimension - count, mode=how)
    return result


@operator("take", Pattern.INJECTIVE, _take_reference)
def take(data: Tensor, indices: Tensor, axis: int | None = None, batch_dims: int = 0, mode: str = "clip") -> Tensor:
    """Takes the elements, or the slices along `axis`, at the positions in `indices`.

    axis: None for positions in row-major order.  batch_dims: the number of leading axes shared by data and indices; a
    negative number counts from the last axis of indices.  mode: for positions out of range, "clip" takes the nearest
    position, "wrap" the position modulo the extent, "fast" assumes none. An axis without elements yields 0.
    """
    require_integers(indices, "take: indices")
    if mode not in ("clip", "wrap", "fast"):
        raise TeError(f"take: mode {mode!r}, expected 'clip', 'wrap' or 'fast'")
    flat = data if axis is not None else reshape(data, [-1])
    dimension = nonnegative_axis(0 if axis is None else axis, flat.ndim, "take")
    shared = batch_dims + indices.ndim if batch_dims < 0 else batch_dims
    if not 0 <= shared <= min(dimension, indices.ndim) or not all(
        map(is_same_extent, flat.shape[:shared], indices.shape[:shared])
    ):
        shapes = f"data of shape {list(flat.shape)} and indices of {list(indices.shape)}"
        raise TeError(f"take: {shapes}, expected the same {batch_dims} axes first, in front of axis {dimension}")
    extent, behind = flat.shape[dimension], dimension + indices.ndim - shared

    def inside(index: PrimExpr) -> PrimExpr:
        if mode == "fast":
            return index
        wide = cast("int64", index) if index.data_type.bits < 64 else index
        limit = cast(wide.dtype, extent)
        if mode == "wrap":
            return cast(extent.dtype, wide % limit)
        return cast(extent.dtype, scalar.min(scalar.max(wide, const(0, wide.dtype)), limit - 1))

    def source(*axes: PrimExpr) -> PrimExpr:
        number = indices(*axes[:shared], *axes[dimension:behind])
        return element_or_zero([extent], data.dtype, lambda: flat(*axes[:dimension], inside(number), *axes[behind:]))

    return _rearrange([*flat.shape[:dimension], *indices.shape[shared:], *flat.shape[dimension + 1 :]], source, "take")


def _one_hot_reference(indices: Array, on_value: float, off_value: float, depth: int, axis: int, dtype: str) -> Array:
    dimension = nonnegative_axis(axis, indices.ndim + 1, "one_hot")
    along = np.arange(depth).reshape([depth if d == dimension else 1 for d in range(indices.ndim + 1)])
    return np.where(np.expand_dims(indices, dimension) == along, on_value, off_value).astype(dtype)


@operator("one_hot", Pattern.INJECTIVE, _one_hot_reference)
def one_hot(
    indices: Tensor, on_value: float, off_value: float, depth: int, axis: int = -1, dtype: str = "float32"
) -> Tensor:
    """One-hot encoding along a new axis: `on_value` at the positions in `indices`, and `off_value` elsewhere."""
    require_integers(indices, "one_hot: indices")
    dimension = nonnegative_axis(axis, indices.ndim + 1, "one_hot")
    on, off = const(on_value, dtype), const(off_value, dtype)

    def source(*axes: PrimExpr) -> PrimExpr:
        number = indices(*axes[:dimension], *axes[dimension + 1 :])
        return Select(cast("int64", number).equal(cast("int64", axes[dimension])), on, off)

    return _rearrange([*indices.shape[:dimension], depth, *indices.shape[dimension:]], source, "one_hot")

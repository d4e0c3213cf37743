"""Slices of tensors, whose extents and bounds may be symbols."""

from __future__ import annotations

from typing import Any

from .call import OperatorCall
from .errors import ModelUnsupportedError
from .shapes import is_foldable, moved_constant
from .symbols import Symbol, is_provably_at_least
from .values import ModelTensor


def slice_along(call: OperatorCall, data: ModelTensor, axis: int, start: Any, end: Any, step: int) -> ModelTensor:
    """A slice along one axis, with Python's semantics, except that a start before the first element is that element."""
    extent = data.extents[axis]
    symbolic = [each for each in (extent, start, end) if isinstance(each, Symbol)]
    if not symbolic:
        first, last, _ = slice(int(start), int(end), step).indices(extent)
        first, last = max(first, 0), _end(last)
        if is_foldable(data):
            assert data.known_elements is not None
            return moved_constant(data, data.known_elements[(*[slice(None)] * axis, slice(first, last, step))])
        if (first, last, step) == (0, extent, 1):
            return data
        return call.op("strided_slice", data, begin=[first], end=[last], strides=[step], axes=[axis])
    return _sliced_symbolic(call, data, axis, extent, start, end, step)


def _end(last: int) -> int:
    """The end of a slice in Python's form, which counts -1, the position before the first element, from the end."""
    return last if last >= 0 else -(2**31)


def _sliced_symbolic(
    call: OperatorCall, data: ModelTensor, axis: int, extent: Any, start: Any, end: Any, step: int
) -> ModelTensor:
    """A slice along an axis with a symbolic extent or bound."""
    if step == -1 and not isinstance(start, Symbol) and start == -1 and _is_far_below(end):
        return call.op("reverse", data, axis=axis)
    first, last = _bound_index(start, extent), _bound_index(end, extent)
    if step == 1 and not isinstance(last - first, Symbol) and last - first == 1:
        call.builder.require_at_least(0, first)
        call.builder.require_at_least(0, extent - last)
        index = call.op("expand_dims", call.builder.size_value(first), axis=0)
        return call.op("take", data, index, axis=axis)
    if step == 1 and not isinstance(extent, Symbol) and isinstance(last, Symbol) and is_provably_at_least(0, first):
        return _take_prefix(call, data, axis, first, last)
    bounds = [_from_end(bound, extent) for bound in (start, end)]
    if step < 1 or isinstance(data.shape[axis], int) or None in bounds:
        words = f"a slice from {start} to {end} by {step} of an extent of {extent}"
        raise ModelUnsupportedError(f"{words}, which are known only when the model runs")
    if bounds == [0, 2**31 - 1] and step == 1:
        return data
    return call.op("strided_slice", data, begin=bounds[:1], end=bounds[1:], strides=[step], axes=[axis])


def _take_prefix(call: OperatorCall, data: ModelTensor, axis: int, first: Any, last: Any) -> ModelTensor:
    """The elements from `first` to `last`, an index known at run time; adds a run-time check `last <= extent`."""
    count = last - first
    if not is_provably_at_least(0, count):
        raise ModelUnsupportedError(f"a slice from {first} to {last}, which may be less")
    call.builder.require_at_most(last, int(data.shape[axis]))
    places = call.builder.index_vector(count)
    if isinstance(first, Symbol) or first != 0:
        places = call.op("add", places, call.builder.size_value(first))
    return call.op("take", data, places, axis=axis)


def _from_end(bound: Any, extent: Any) -> int | None:
    """A bound of a slice as an integer, counted from the end if it is an expression of the extent; None if it is
    unknown."""
    if not isinstance(bound, Symbol):
        return max(min(int(bound), 2**31 - 1), -(2**31) + 1)
    distance = extent - bound
    if isinstance(distance, Symbol) or distance < 0:
        return None
    return -int(distance) if distance else 2**31 - 1


def _is_far_below(bound: Any) -> bool:
    return not isinstance(bound, Symbol) and bound < -(2**31) + 2


def _bound_index(bound: Any, extent: Any) -> Any:
    """A bound of a slice as an index or symbol counted from the start of the axis."""
    if isinstance(bound, Symbol):
        return bound
    if bound >= 2**31 - 1:
        return extent
    return int(bound) if bound >= 0 else extent + int(bound)

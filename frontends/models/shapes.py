"""Results of operators that move elements: reshapes, permutations, concatenations, pads."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from .call import OperatorCall, normalized_axis
from .errors import ModelError, ModelUnsupportedError
from .limits import require_rank
from .symbols import Symbol, UnknownSizeError
from .types import Array
from .values import ModelTensor, known_integers, tensor_of_array, tensor_of_symbols

MOST_KNOWN = 4096
"""The maximum number of elements of a tensor whose elements are moved at import time."""


def is_foldable(*tensors: ModelTensor | None) -> bool:
    """Whether the elements of all tensors are known at import time, and few enough to be moved there."""
    return all(
        tensor is None or (tensor.known_elements is not None and tensor.known_elements.size <= MOST_KNOWN)
        for tensor in tensors
    )


def moved_constant(data: ModelTensor, made: Array) -> ModelTensor:
    """The known tensor with elements `made`, moved from those of `data`."""
    return tensor_of_array(made, data.name) if data.array is not None else tensor_of_symbols(made, data.dtype)


def reshape_to(call: OperatorCall, data: ModelTensor, wanted: Sequence[Any], keep_zero: bool = False) -> ModelTensor:
    """Reshapes a tensor. wanted: 0 copies the extent of the same axis of `data`, unless `keep_zero`; -1 is inferred
    from the other extents."""
    extents = data.extents
    target = list(wanted)
    for axis, extent in enumerate(target):
        if not isinstance(extent, Symbol) and extent == 0 and not keep_zero:
            if axis >= data.rank:
                raise ModelError(f"shape {list(wanted)} of a tensor of {data.rank} dimensions")
            target[axis] = extents[axis]
    rest = [axis for axis, extent in enumerate(target) if not isinstance(extent, Symbol) and extent == -1]
    if len(rest) > 1:
        raise ModelError(f"shape {list(wanted)}, expected -1 once at most")
    if rest:
        target[rest[0]] = _inferred_extent(extents, [extent for axis, extent in enumerate(target) if axis != rest[0]])
    if data.sizes is not None:
        return tensor_of_symbols(data.sizes.reshape(known_integers(target, "shape")), data.dtype)
    return call.builder.reshape(data, target)


def _inferred_extent(extents: Array, others: Sequence[Any]) -> Any:
    """The extent for -1 in a reshape: the number of elements of a shape divided by the product of the other extents."""
    remaining, divisors = list(extents), []
    for extent in others:
        same = [n for n, own in enumerate(remaining) if isinstance(extent, Symbol) and repr(own) == repr(extent)]
        if same:
            del remaining[same[0]]
        else:
            divisors.append(extent)
    whole, part = math.prod(remaining), math.prod(divisors)
    if isinstance(part, Symbol) or isinstance(whole, Symbol):
        try:
            return whole // part
        except UnknownSizeError:
            raise ModelUnsupportedError(f"a reshape of {list(extents)} of which {list(others)} are known") from None
    if part == 0 or whole % part:
        raise ModelError(f"reshape of {list(extents)}: nothing stands for -1 beside {list(others)}")
    return whole // part


def insert_axes(call: OperatorCall, data: ModelTensor, axes: Sequence[int]) -> ModelTensor:
    """Inserts axes of extent 1. axes: their indices in the result."""
    rank = data.rank + len(axes)
    require_rank(rank)
    places = sorted(normalized_axis(axis, rank) for axis in axes)
    if len(set(places)) < len(places):
        raise ModelError(f"{call.op_type}: axes {list(axes)}, one of them twice")
    if is_foldable(data):
        assert data.known_elements is not None
        return moved_constant(data, np.expand_dims(data.known_elements, tuple(places)))
    for axis in places:
        data = call.op("expand_dims", data, axis=axis)
    return data


def permute_axes(call: OperatorCall, data: ModelTensor, order: Sequence[int]) -> ModelTensor:
    """Permutes the axes of a tensor."""
    if list(order) == list(range(data.rank)):
        return data
    if data.sizes is not None:
        return tensor_of_symbols(data.sizes.transpose(order), data.dtype)
    return call.op("transpose", data, axes=tuple(order))


def broadcast_extent(own: Any, given: Any) -> Any:
    """The extent of an expansion of an axis of extent `own` to `given`; 1 keeps the extent."""
    if not isinstance(given, Symbol) and given == 1:
        return own
    if isinstance(own, Symbol) and isinstance(given, Symbol) and own.text == given.text:
        return own
    if not isinstance(own, Symbol) and own == 1:
        return given
    if isinstance(own, Symbol):  # it may be 1
        raise ModelUnsupportedError(f"an expansion of an extent of {own} to {given}: whether it is 1 is not known")
    if not isinstance(given, Symbol) and own != given:
        raise ModelError(f"an expansion of an extent of {own} to {given}")
    return own


def concatenate_along(call: OperatorCall, tensors: Sequence[ModelTensor], axis: int) -> ModelTensor:
    """Concatenates tensors of one rank along an axis."""
    if is_foldable(*tensors) and any(each.sizes is not None for each in tensors):
        return tensor_of_symbols(
            np.concatenate([np.asarray(each.known_elements, object) for each in tensors], axis), tensors[0].dtype
        )
    filled = [each for each in tensors if each.shape[axis] != 0] or list(tensors[:1])
    filled = call.builder.equate_extents(filled, [d for d in range(tensors[0].rank) if d != axis])
    return filled[0] if len(filled) == 1 else call.op("concatenate", *filled, axis=axis)


def split_along(call: OperatorCall, data: ModelTensor, sizes: Sequence[int], axis: int) -> list[ModelTensor]:
    """Splits a tensor along an axis into parts of the given sizes."""
    if not 0 <= axis < data.rank:
        raise ModelError(f"{call.op_type}: axis {axis} of {data.rank} dimensions")
    if sum(sizes) != known_integers([data.shape[axis]], f"{call.op_type} along")[0]:
        raise ModelError(f"{call.op_type}: parts {list(sizes)} of an extent of {data.shape[axis]}")
    if data.known_elements is not None and is_foldable(data):
        cuts = np.cumsum(sizes)[:-1]
        return [moved_constant(data, part) for part in np.split(data.known_elements, cuts, axis)]
    if len(sizes) == 1:
        return [data]
    starts = [sum(sizes[:n]) for n in range(1, len(sizes))]
    return call.ops("split", data, indices_or_sections=starts, axis=axis)


def pad_axes(
    call: OperatorCall, data: ModelTensor, pairs: Sequence[tuple[int, int]], mode: str, value: ModelTensor | None = None
) -> ModelTensor:
    """Pads each dimension before and after its elements. pairs: the two widths of each dimension."""
    if not any(n for pair in pairs for n in pair):
        return data
    if mode != "constant":
        return call.op("nn.pad", data, pad_width=pairs, pad_mode=mode)
    if data.dtype == "bool":
        wide = call.cast(data, "uint8")
        filler = None if value is None else call.cast(value, "uint8")
        return call.cast(pad_axes(call, wide, pairs, mode, filler), "bool")
    if value is None or value.array is not None:
        number = 0.0 if value is None or value.array is None else value.array.ravel()[0].item()
        return call.op("nn.pad", data, pad_width=pairs, pad_value=float(number))
    inside = call.op("nn.pad", call.op("ones_like", data), pad_width=pairs)
    filler = call.builder.reshape(value, [])
    return call.op("where", call.scalar("not_equal", inside, 0), call.op("nn.pad", data, pad_width=pairs), filler)

"""Importers of operators on shapes: reshapes, slices, concatenations, pads, tensors filled with one value."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ....core.dtypes import numpy_dtype
from ..call import Call, normalized_axis
from ..errors import OnnxError, OnnxUnsupportedError
from ..graph import Array
from ..limits import require_created, require_rank
from ..registry import Results, importer
from ..symbols import Symbol, UnknownSizeError, is_provably_at_least, symbol_maximum
from ..values import OnnxTensor, known_integers, tensor_of_array, tensor_of_symbols
from .elementwise import dtype_of_code

MOST_KNOWN = 4096
"""The maximum number of elements of a tensor whose elements are moved at import time."""


def is_foldable(*tensors: OnnxTensor | None) -> bool:
    """Whether the elements of all tensors are known at import time, and few enough to be moved there."""
    return all(
        tensor is None or (tensor.known_elements is not None and tensor.known_elements.size <= MOST_KNOWN)
        for tensor in tensors
    )


def moved_constant(data: OnnxTensor, made: Array) -> OnnxTensor:
    """The known tensor with elements `made`, moved from those of `data`."""
    return tensor_of_array(made, data.name) if data.array is not None else tensor_of_symbols(made, data.dtype)


# Shapes as values


@importer("Constant")
def constant(call: Call) -> OnnxTensor:
    for name, value in call.node.attributes.items():
        match name:
            case "value":
                return tensor_of_array(value, call.node.outputs[0])
            case "value_float" | "value_floats":
                return tensor_of_array(np.asarray(value, "float32"))
            case "value_int" | "value_ints":
                return tensor_of_array(np.asarray(value, "int64"))
            case _:
                raise OnnxUnsupportedError(f"constants by {name} are not supported")
    raise OnnxError("a constant without a value")


@importer("Shape")
def shape(call: Call) -> OnnxTensor:
    data = call.tensor()
    start, end = call.integer("start"), call.integer("end", data.rank)
    return tensor_of_symbols(data.extents[slice(start, end)])


@importer("Size")
def element_count(call: Call) -> OnnxTensor:
    return tensor_of_symbols(np.asarray(math.prod(call.tensor().extents), object))


@importer("ConstantOfShape")
def constant_of_shape(call: Call) -> OnnxTensor:
    value = np.asarray(call.attribute("value", np.zeros(1, "float32")))
    if value.size != 1:
        raise OnnxError(f"attribute 'value': expected one element, got {value.size}")
    value = value.reshape(())
    return call.builder.full(call.required_vector(0, "shape"), value)


@importer("Range")
def arange(call: Call) -> OnnxTensor:
    start, stop, step = (call.constant_scalar(n, what) for n, what in enumerate(("start", "limit", "delta")))
    dtype = call.tensor().dtype
    if not any(isinstance(each, Symbol) for each in (start, stop, step)):
        return _constant_range(start, stop, step, dtype)
    if isinstance(step, Symbol) or step < 1:
        raise OnnxUnsupportedError(f"Range from {start} to {stop} by {step}")
    count = symbol_maximum((stop - start + (step - 1)) // step if step > 1 else stop - start, 0)
    places = call.builder.index_vector(count)
    scaled = places if step == 1 else call.scalar("multiply", places, int(step))
    if isinstance(start, Symbol) or start != 0:
        scaled = call.op("add", scaled, call.builder.size_value(start))
    return call.cast(scaled, dtype)


def _constant_range(start: Any, stop: Any, step: Any, dtype: str) -> OnnxTensor:
    if step == 0:
        raise OnnxError("Range with a delta of 0")
    if "int" in dtype:
        start, stop, step = int(start), int(stop), int(step)
        count = max(-((start - stop) // step), 0)
    else:
        with np.errstate(all="ignore"):
            quotient = (stop - start) / step  # in the data type of the operands
        if not np.isfinite(quotient):
            raise OnnxError(f"Range from {start} to {stop} by {step}, expected a finite number of elements")
        count = max(math.ceil(quotient), 0)
    require_created([count], "Range")
    return tensor_of_array((start + np.arange(count) * step).astype(dtype))


@importer("EyeLike")
def eye_like(call: Call) -> OnnxTensor:
    data = call.tensor()
    code = call.attribute("dtype")
    dtype = data.dtype if code is None else dtype_of_code(code)
    if data.rank != 2:
        raise OnnxError(f"EyeLike of {data.rank} dimensions, expected 2")
    rows, columns = data.static_shape
    return call.op("eye", rows=rows, columns=columns, k=call.integer("k"), dtype=dtype)


# Other shapes


@importer("Reshape")
def reshape(call: Call) -> OnnxTensor:
    data, wanted = call.tensor(), call.required_vector(1, "shape")
    return reshape_to(call, data, wanted.tolist(), keep_zero=call.integer("allowzero") == 1)


def reshape_to(call: Call, data: OnnxTensor, wanted: Sequence[Any], keep_zero: bool = False) -> OnnxTensor:
    """Reshapes a tensor. wanted: 0 copies the extent of the same axis of `data`, unless `keep_zero`; -1 is inferred
    from the other extents."""
    extents = data.extents
    target = list(wanted)
    for axis, extent in enumerate(target):
        if not isinstance(extent, Symbol) and extent == 0 and not keep_zero:
            if axis >= data.rank:
                raise OnnxError(f"shape {list(wanted)} of a tensor of {data.rank} dimensions")
            target[axis] = extents[axis]
    rest = [axis for axis, extent in enumerate(target) if not isinstance(extent, Symbol) and extent == -1]
    if len(rest) > 1:
        raise OnnxError(f"shape {list(wanted)}, expected -1 once at most")
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
            raise OnnxUnsupportedError(f"a reshape of {list(extents)} of which {list(others)} are known") from None
    if part == 0 or whole % part:
        raise OnnxError(f"reshape of {list(extents)}: nothing stands for -1 beside {list(others)}")
    return whole // part


@importer("Flatten")
def flatten(call: Call) -> OnnxTensor:
    data, axis = call.tensor(), call.integer("axis", 1)
    if not -data.rank <= axis <= data.rank:
        raise OnnxError(f"axis {axis} of {data.rank} dimensions")
    axis += data.rank if axis < 0 else 0
    extents = data.extents
    return call.builder.reshape(data, [math.prod(extents[:axis]), math.prod(extents[axis:])])


def axes_argument(call: Call, index: int = 1, since: int = 13) -> tuple[int, ...] | None:
    """The axes of a node: an operand from version `since` on, an attribute before it."""
    return call.constant_integers(index, "axes") if call.version >= since else call.integers("axes")


@importer("Squeeze")
def squeeze(call: Call) -> OnnxTensor:
    data, axes = call.tensor(), axes_argument(call)
    if axes is None:
        if any(isinstance(extent, str) for extent in data.shape):
            raise OnnxUnsupportedError("Squeeze without axes of a tensor whose extents are not known")
        taken = [axis for axis, extent in enumerate(data.shape) if extent == 1]
    else:
        taken = [normalized_axis(axis, data.rank) for axis in axes]
    if any(data.shape[axis] != 1 for axis in taken):
        raise OnnxError(f"Squeeze: axes {taken} of shape {list(data.shape)}, expected extents of 1")
    kept = [axis for axis in range(data.rank) if axis not in taken]
    if is_foldable(data):
        assert data.known_elements is not None
        return moved_constant(data, data.known_elements.reshape([data.known_elements.shape[axis] for axis in kept]))
    return call.op("squeeze", data, axis=taken) if taken else data


@importer("Unsqueeze")
def unsqueeze(call: Call) -> OnnxTensor:
    data = call.tensor()
    axes = axes_argument(call) or ()
    return insert_axes(call, data, axes)


def insert_axes(call: Call, data: OnnxTensor, axes: Sequence[int]) -> OnnxTensor:
    rank = data.rank + len(axes)
    require_rank(rank)
    places = sorted(normalized_axis(axis, rank) for axis in axes)
    if len(set(places)) < len(places):
        raise OnnxError(f"Unsqueeze: axes {list(axes)}, one of them twice")
    if is_foldable(data):
        assert data.known_elements is not None
        return moved_constant(data, np.expand_dims(data.known_elements, tuple(places)))
    for axis in places:
        data = call.op("expand_dims", data, axis=axis)
    return data


@importer("Transpose")
def transpose(call: Call) -> OnnxTensor:
    data = call.tensor()
    order = call.integers("perm") or tuple(reversed(range(data.rank)))
    return permute_axes(call, data, order)


def permute_axes(call: Call, data: OnnxTensor, order: Sequence[int]) -> OnnxTensor:
    """Permutes the axes of a tensor."""
    if list(order) == list(range(data.rank)):
        return data
    if data.sizes is not None:
        return tensor_of_symbols(data.sizes.transpose(order), data.dtype)
    return call.op("transpose", data, axes=tuple(order))


@importer("Expand")
def expand(call: Call) -> OnnxTensor:
    data, wanted = call.tensor(), call.required_vector(1, "shape")
    rank = max(data.rank, len(wanted))
    own = [1] * (rank - data.rank) + list(data.extents)
    target = [1] * (rank - len(wanted)) + list(wanted)
    return call.builder.expand(data, [_broadcast_extent(a, b) for a, b in zip(own, target, strict=True)])


def _broadcast_extent(own: Any, given: Any) -> Any:
    if not isinstance(given, Symbol) and given == 1:
        return own
    if isinstance(own, Symbol) and isinstance(given, Symbol) and own.text == given.text:
        return own
    if not isinstance(own, Symbol) and own == 1:
        return given
    if isinstance(own, Symbol):  # it may be 1
        raise OnnxUnsupportedError(f"Expand of an extent of {own} to {given}: whether it is 1 is not known")
    if not isinstance(given, Symbol) and own != given:
        raise OnnxError(f"Expand: an extent of {own} to {given}")
    return own


@importer("Tile")
def tile(call: Call) -> OnnxTensor:
    data, reps = call.tensor(), call.constant_integers(1, "repeats")
    assert reps is not None
    if len(reps) != data.rank:
        raise OnnxError(f"Tile: {len(reps)} repeats, expected {data.rank}")
    if 0 in reps:
        extents = [extent * n for extent, n in zip(data.static_shape, reps, strict=True)]
        require_created(extents, "Tile")
        return tensor_of_array(np.zeros(extents, numpy_dtype(data.dtype)))
    return call.op("tile", data, reps=reps) if any(n != 1 for n in reps) else data


# Parts


@importer("Concat")
def concat(call: Call) -> OnnxTensor:
    tensors = call.tensors
    axis = normalized_axis(call.integer("axis"), tensors[0].rank)
    if any(each.rank != tensors[0].rank for each in tensors):
        raise OnnxError(f"Concat: tensors of {[each.rank for each in tensors]} dimensions, expected one rank")
    return concatenate_along(call, tensors, axis)


def concatenate_along(call: Call, tensors: Sequence[OnnxTensor], axis: int) -> OnnxTensor:
    if is_foldable(*tensors) and any(each.sizes is not None for each in tensors):
        return tensor_of_symbols(
            np.concatenate([np.asarray(each.known_elements, object) for each in tensors], axis), tensors[0].dtype
        )
    filled = [each for each in tensors if each.shape[axis] != 0] or list(tensors[:1])
    return filled[0] if len(filled) == 1 else call.op("concatenate", *filled, axis=axis)


@importer("Split")
def split(call: Call) -> Results:
    data = call.tensor()
    axis = normalized_axis(call.integer("axis"), data.rank)
    sizes = call.constant_integers(1, "split") if call.version >= 13 else call.integers("split")
    if sizes is None:
        count = call.integer("num_outputs", len(call.node.outputs))
        if count != len(call.node.outputs):
            raise OnnxError(f"{call.op_type}: num_outputs {count} of {len(call.node.outputs)} outputs")
        extent = known_integers([data.shape[axis]], f"{call.op_type} along")[0]
        if call.version < 18 and extent % count:
            raise OnnxError(f"{call.op_type}: {count} equal parts of an extent of {extent}")
        part = -(-extent // count)
        sizes = tuple(max(min(part, extent - n * part), 0) for n in range(count))
    return Results(split_along(call, data, sizes, axis))


def split_along(call: Call, data: OnnxTensor, sizes: Sequence[int], axis: int) -> list[OnnxTensor]:
    """Splits a tensor along an axis into parts of the given sizes."""
    if not 0 <= axis < data.rank:
        raise OnnxError(f"{call.op_type}: axis {axis} of {data.rank} dimensions")
    if sum(sizes) != known_integers([data.shape[axis]], f"{call.op_type} along")[0]:
        raise OnnxError(f"{call.op_type}: parts {list(sizes)} of an extent of {data.shape[axis]}")
    if data.known_elements is not None and is_foldable(data):
        cuts = np.cumsum(sizes)[:-1]
        return [moved_constant(data, part) for part in np.split(data.known_elements, cuts, axis)]
    if len(sizes) == 1:
        return [data]
    starts = [sum(sizes[:n]) for n in range(1, len(sizes))]
    return call.ops("split", data, indices_or_sections=starts, axis=axis)


@importer("Slice")
def slice_tensor(call: Call) -> OnnxTensor:
    data = call.tensor()
    if call.version < 10:
        starts: Any = call.integers("starts") or ()
        ends: Any = call.integers("ends") or ()
        axes, steps = call.integers("axes"), None
    else:
        starts, ends = call.required_vector(1, "starts"), call.required_vector(2, "ends")
        axes, steps = call.constant_integers(3, "axes"), call.constant_integers(4, "steps")
    chosen = [normalized_axis(axis, data.rank) for axis in (range(len(starts)) if axes is None else axes)]
    steps = steps or [1] * len(chosen)
    if not len(starts) == len(ends) == len(chosen) == len(steps) or 0 in steps:
        words = f"{len(starts)} starts, {len(ends)} ends, {len(chosen)} axes and steps {list(steps)}"
        raise OnnxError(f"Slice by {words}, expected as many of each, and no step of 0")
    for axis, start, end, step in zip(chosen, list(starts), list(ends), steps, strict=True):
        data = slice_along(call, data, axis, start, end, step)
    return data


def slice_along(call: Call, data: OnnxTensor, axis: int, start: Any, end: Any, step: int) -> OnnxTensor:
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
    call: Call, data: OnnxTensor, axis: int, extent: Any, start: Any, end: Any, step: int
) -> OnnxTensor:
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
        words = f"Slice from {start} to {end} by {step} of an extent of {extent}"
        raise OnnxUnsupportedError(f"{words}, which are known only when the model runs")
    if bounds == [0, 2**31 - 1] and step == 1:
        return data
    return call.op("strided_slice", data, begin=bounds[:1], end=bounds[1:], strides=[step], axes=[axis])


def _take_prefix(call: Call, data: OnnxTensor, axis: int, first: Any, last: Any) -> OnnxTensor:
    """The elements from `first` to `last`, an index known at run time; adds a run-time check `last <= extent`."""
    count = last - first
    if not is_provably_at_least(0, count):
        raise OnnxUnsupportedError(f"Slice from {first} to {last}, which may be less")
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


@importer("Pad")
def pad(call: Call) -> OnnxTensor:
    data, mode = call.tensor(), call.text("mode", "constant")
    if call.version < 11:
        widths, value = call.integers("pads") or (), call.builder.scalar_constant(call.floating("value"), data.dtype)
        axes: Sequence[int] = range(data.rank)
    else:
        widths = call.constant_integers(1, "pads") or ()
        value = call.optional(2) or call.builder.scalar_constant(0, data.dtype)
        if value.array is not None and value.array.size != 1:
            raise OnnxError(f"Pad: a value of {value.array.size} elements, expected one")
        chosen = call.constant_integers(3, "axes")
        axes = range(data.rank) if chosen is None else [normalized_axis(axis, data.rank) for axis in chosen]
    if len(widths) != 2 * len(axes):
        raise OnnxError(f"Pad: {len(widths)} pads, expected {2 * len(axes)}")
    pairs = [(0, 0)] * data.rank
    for n, axis in enumerate(axes):
        pairs[axis] = (widths[n], widths[n + len(axes)])
    return pad_axes(call, data, pairs, mode, value)


def pad_axes(
    call: Call, data: OnnxTensor, pairs: Sequence[tuple[int, int]], mode: str, value: OnnxTensor | None = None
) -> OnnxTensor:
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


@importer("Trilu")
def trilu(call: Call) -> OnnxTensor:
    data, upper = call.tensor(), bool(call.integer("upper", 1))
    k = int(call.constant_scalar(1, "k", 0))
    if data.dtype == "bool":
        return call.cast(call.op("trilu", call.cast(data, "uint8"), k=k, upper=upper), "bool")
    return call.op("trilu", data, k=k, upper=upper)

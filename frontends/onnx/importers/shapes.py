"""Importers of operators on shapes: reshapes, slices, concatenations, pads, tensors filled with one value."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ....core.dtypes import numpy_dtype
from ...models.call import normalized_axis
from ...models.data_sizes import call_host, call_operator
from ...models.limits import require_created
from ...models.shapes import (
    broadcast_extent,
    concatenate_along,
    insert_axes,
    is_foldable,
    moved_constant,
    pad_axes,
    permute_axes,
    reshape_to,
    split_along,
)
from ...models.slices import slice_along
from ...models.symbols import Symbol, size_of_symbol, symbol_maximum
from ...models.values import ModelTensor, known_integers, tensor_of_array, tensor_of_symbols
from ..call import Call
from ..errors import OnnxError, OnnxUnsupportedError
from ..registry import Results, importer
from .data_sizes import computed, computed_scalar, element_count, is_computed
from .elementwise import dtype_of_code

# Shapes as values


@importer("Constant")
def constant(call: Call) -> ModelTensor:
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
def shape(call: Call) -> ModelTensor:
    data = call.tensor()
    start, end = call.integer("start"), call.integer("end", data.rank)
    return tensor_of_symbols(data.extents[slice(start, end)])


@importer("Size")
def size(call: Call) -> ModelTensor:
    return tensor_of_symbols(np.asarray(math.prod(call.tensor().extents), object))


@importer("ConstantOfShape")
def constant_of_shape(call: Call) -> ModelTensor:
    value = np.asarray(call.attribute("value", np.zeros(1, "float32")))
    if value.size != 1:
        raise OnnxError(f"attribute 'value': expected one element, got {value.size}")
    value = value.reshape(())
    if is_computed(call, 0):
        operands = [call.tensor(0), call.constant(value)]
        return computed(call, "full", operands, str(value.dtype), element_count(call, 0, "shape"))
    return call.builder.full(call.required_vector(0, "shape"), value)


@importer("Range")
def arange(call: Call) -> ModelTensor:
    if is_computed(call, 0, 1, 2):
        return computed(call, "arange", [call.tensor(n) for n in range(3)], call.tensor().dtype, 1)
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


def _constant_range(start: Any, stop: Any, step: Any, dtype: str) -> ModelTensor:
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
def eye_like(call: Call) -> ModelTensor:
    data = call.tensor()
    code = call.attribute("dtype")
    dtype = data.dtype if code is None else dtype_of_code(code)
    if data.rank != 2:
        raise OnnxError(f"EyeLike of {data.rank} dimensions, expected 2")
    rows, columns = data.static_shape
    return call.op("eye", rows=rows, columns=columns, k=call.integer("k"), dtype=dtype)


# Other shapes


@importer("Reshape")
def reshape(call: Call) -> ModelTensor:
    if call.version < 5:
        return reshape_to(call, call.tensor(), list(call.integers("shape") or ()))
    if is_computed(call, 1):
        operands = [call.tensor(0), call.tensor(1), call.integer("allowzero")]
        return computed(call, "reshape", operands, call.tensor().dtype, element_count(call, 1, "shape"))
    data, wanted = call.tensor(), call.required_vector(1, "shape")
    return reshape_to(call, data, wanted.tolist(), keep_zero=call.integer("allowzero") == 1)


@importer("Flatten")
def flatten(call: Call) -> ModelTensor:
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
def squeeze(call: Call) -> ModelTensor:
    data = call.tensor()
    if is_computed(call, 1):
        operands = [data, call.tensor(1)]
        return computed(call, "squeeze", operands, data.dtype, data.rank - element_count(call, 1, "list of axes"))
    axes = axes_argument(call)
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
def unsqueeze(call: Call) -> ModelTensor:
    data = call.tensor()
    if is_computed(call, 1):
        operands = [data, call.tensor(1)]
        return computed(call, "unsqueeze", operands, data.dtype, data.rank + element_count(call, 1, "list of axes"))
    axes = axes_argument(call) or ()
    return insert_axes(call, data, axes)


@importer("Transpose")
def transpose(call: Call) -> ModelTensor:
    data = call.tensor()
    order = call.integers("perm") or tuple(reversed(range(data.rank)))
    return permute_axes(call, data, order)


@importer("Expand")
def expand(call: Call) -> ModelTensor:
    data = call.tensor()
    if is_computed(call, 1):
        rank = max(data.rank, element_count(call, 1, "shape"))
        return computed(call, "expand", [data, call.tensor(1)], data.dtype, rank)
    wanted = call.required_vector(1, "shape")
    rank = max(data.rank, len(wanted))
    own = [1] * (rank - data.rank) + list(data.extents)
    target = [1] * (rank - len(wanted)) + list(wanted)
    return call.builder.expand(data, [broadcast_extent(a, b) for a, b in zip(own, target, strict=True)])


@importer("Tile")
def tile(call: Call) -> ModelTensor:
    data = call.tensor()
    if is_computed(call, 1):
        return computed(call, "tile", [data, call.tensor_of_rank(1, 1)], data.dtype, data.rank)
    reps = call.constant_integers(1, "repeats")
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
def concat(call: Call) -> ModelTensor:
    tensors = call.tensors
    axis = normalized_axis(call.integer("axis", 1), tensors[0].rank)
    if any(each.rank != tensors[0].rank for each in tensors):
        raise OnnxError(f"Concat: tensors of {[each.rank for each in tensors]} dimensions, expected one rank")
    return concatenate_along(call, tensors, axis)


@importer("Split")
def split(call: Call) -> Results:
    data = call.tensor()
    axis = normalized_axis(call.integer("axis"), data.rank)
    if is_computed(call, 1):
        return _computed_split(call, data, axis)
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


def _computed_split(call: Call, data: ModelTensor, axis: int) -> Results:
    count = element_count(call, 1, "split")
    if count != len(call.node.outputs):
        raise OnnxError(f"Split: {count} sizes of {len(call.node.outputs)} outputs")
    sizes = [call.builder.new_size("split") for _ in range(count)]
    types = [(data.dtype, [size if d == axis else n for d, n in enumerate(data.shape)]) for size in sizes]
    return Results(call_host(call.builder, "split", [data, call.tensor(1), axis], types))


@importer("Slice")
def slice_tensor(call: Call) -> ModelTensor:
    data = call.tensor()
    if call.version < 10:
        starts: Any = call.integers("starts") or ()
        ends: Any = call.integers("ends") or ()
        axes, steps = call.integers("axes"), None
    elif is_computed(call, 1, 2, 3, 4):
        return _computed_slice(call, data)
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


def _computed_slice(call: Call, data: ModelTensor) -> ModelTensor:
    count = element_count(call, 1, "start")
    axes = call.optional(3) or call.constant(np.arange(count), "int64")
    steps = call.optional(4) or call.constant(np.ones(count), "int64")
    operands = [data, *(call.tensor_of_rank(n, 1) for n in (1, 2)), axes, steps]
    return computed(call, "strided_slice", operands, data.dtype, data.rank)


@importer("Pad")
def pad(call: Call) -> ModelTensor:
    data, mode = call.tensor(), call.text("mode", "constant")
    if call.version < 11:
        widths = call.integers("pads" if call.version > 1 else "paddings") or ()
        value = call.builder.scalar_constant(call.floating("value"), data.dtype)
        axes: Sequence[int] = range(data.rank)
    elif is_computed(call, 1, 3):
        return _computed_pad(call, data, mode)
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


def _computed_pad(call: Call, data: ModelTensor, mode: str) -> ModelTensor:
    value = call.optional(2) or call.builder.scalar_constant(0, data.dtype)
    axes = call.optional(3) or call.constant(np.arange(data.rank), "int64")
    widths = call.tensor_of_rank(1, 1)
    if size_of_symbol(2 * axes.extents[0]) != widths.shape[0]:
        raise OnnxError(f"Pad: {widths.shape[0]} pads, expected {size_of_symbol(2 * axes.extents[0])}")
    return computed(call, "pad", [data, widths, axes, value, mode], data.dtype, data.rank)


@importer("Trilu")
def trilu(call: Call) -> ModelTensor:
    data, upper = call.tensor(), bool(call.integer("upper", 1))
    if is_computed(call, 1):
        types = [(data.dtype, data.shape)]
        return call_operator(call.builder, "trilu", [data], {"k": computed_scalar(call, 1)}, types, upper=upper)[0]
    k = int(call.constant_scalar(1, "k", 0))
    if data.dtype == "bool":
        return call.cast(call.op("trilu", call.cast(data, "uint8"), k=k, upper=upper), "bool")
    return call.op("trilu", data, k=k, upper=upper)

"""Importers of operators that create tensors."""

from __future__ import annotations

import math

import numpy as np

from ...models.errors import ModelUnsupportedError
from ...models.limits import require_created
from ...models.symbols import Symbol, symbol_maximum
from ...models.values import ModelTensor, tensor_of_array
from ..call import Call
from ..registry import aten


@aten("full.default")
def full(call: Call) -> ModelTensor:
    return call.filled(call.get("size"), call.get("fill_value"), call.result_dtype)


@aten("empty.memory_format")
def empty(call: Call) -> ModelTensor:
    """A tensor whose elements PyTorch leaves open: zeros."""
    return call.filled(call.get("size"), 0, call.result_dtype)


@aten("full_like.default")
def full_like(call: Call) -> ModelTensor:
    return call.filled(call.tensor().extents, call.get("fill_value"), call.result_dtype)


@aten("fill.Scalar")
def fill(call: Call) -> ModelTensor:
    return call.filled(call.tensor().extents, call.get("value"), call.result_dtype)


@aten("scalar_tensor.default")
def scalar_tensor(call: Call) -> ModelTensor:
    return call.filled([], call.get("s"), call.result_dtype)


@aten("arange.start_step")
def arange(call: Call) -> ModelTensor:
    start, end, step = call.get("start"), call.get("end"), call.get("step", 1)
    if any(isinstance(each, Symbol) for each in (start, end, step)):
        return _symbolic_arange(call, start, end, step)
    count = max(math.ceil((end - start) / step), 0)
    require_created([count], call.op_type)
    dtype = call.result_dtype
    if "int" in dtype:
        return tensor_of_array((int(start) + np.arange(count) * int(step)).astype(dtype))
    return call.constant(start + np.arange(count, dtype="float64") * step, dtype)


def _symbolic_arange(call: Call, start: object, end: object, step: object) -> ModelTensor:
    """The numbers from `start` up to `end`, integers or sizes, in steps of 1."""
    sizes = [value for value in (start, end) if isinstance(value, Symbol | int)]
    if len(sizes) < 2 or step != 1:
        raise ModelUnsupportedError(f"arange from {start} to {end} by {step}, of sizes known only when the model runs")
    first, last = sizes
    index = call.builder.index_vector(symbol_maximum(last - first, 0))
    shifted = index if first == 0 else call.op("add", index, call.builder.size_value(first))
    return call.cast(shifted, call.result_dtype)

"""Importers of normalizations."""

from __future__ import annotations

import numpy as np

from ...models.values import ModelTensor, tensor_of_array
from ..call import Call
from ..registry import aten


@aten("_native_batch_norm_legit_no_training.default")
def batch_norm(call: Call) -> list[ModelTensor | None]:
    return [_normalize_batch(call), None, None]


@aten("native_batch_norm.default", "_native_batch_norm_legit.default", "_native_batch_norm_legit.no_stats")
def batch_norm_with_statistics(call: Call) -> list[ModelTensor | None]:
    if "no_stats" in call.op_type:
        return [_normalize_instances(call), None, None]
    call.raise_unsupported_if(call.get("training"), "training")
    return [_normalize_batch(call), None, None]


def _normalize_batch(call: Call) -> ModelTensor:
    x = call.widen_small_floats(call.tensor("input"))
    (channels,) = call.tensor("running_mean").static_shape
    scale, bias = _scale(call, "weight", 1, [channels], x.dtype), _scale(call, "bias", 0, [channels], x.dtype)
    mean, variance = (call.cast(call.tensor(name), x.dtype) for name in ("running_mean", "running_var"))
    result = call.op("nn.batch_norm", x, scale, bias, mean, variance, epsilon=float(call.get("eps")))
    return call.cast(result, call.result_dtype)


def _normalize_instances(call: Call) -> ModelTensor:
    """Normalizes each channel by its moments over the batch and all positions."""
    x = call.widen_small_floats(call.tensor("input"))
    axes = [axis for axis in range(x.rank) if axis != 1]
    mean = call.op("mean", x, axis=axes, keepdims=True)
    offset = call.op("subtract", x, mean)
    variance = call.op("mean", call.op("multiply", offset, offset), axis=axes, keepdims=True)
    result = call.op("multiply", offset, call.op("rsqrt", call.scalar("add", variance, float(call.get("eps")))))
    shape = [x.extents[1], *[1] * (x.rank - 2)]
    for name, operator in (("weight", "multiply"), ("bias", "add")):
        own = call.optional(name)
        if own is not None:
            result = call.op(operator, result, call.builder.reshape(call.cast(own, x.dtype), shape))
    return call.cast(result, call.result_dtype)


def _scale(call: Call, name: str, default: float, shape: list[int], dtype: str) -> ModelTensor:
    """The argument `name`, by default a tensor of equal numbers."""
    own = call.optional(name)
    return tensor_of_array(np.full(shape, default, dtype)) if own is None else call.cast(own, dtype)


@aten("native_layer_norm.default")
def layer_norm(call: Call) -> list[ModelTensor | None]:
    call.raise_unsupported_if(call.result_is_used(1) or call.result_is_used(2), "the moments")
    x, shape = call.widen_small_floats(call.tensor("input")), call.integers("normalized_shape")
    axes = list(range(x.rank - len(shape), x.rank))
    scale, bias = (_scale(call, name, value, list(shape), x.dtype) for name, value in (("weight", 1), ("bias", 0)))
    result = call.op("nn.layer_norm", x, scale, bias, axis=axes, epsilon=float(call.get("eps")))
    return [call.cast(result, call.result_dtype), None, None]


@aten("_fused_rms_norm.default")
def rms_norm(call: Call) -> list[ModelTensor | None]:
    call.raise_unsupported_if(call.result_is_used(1), "the moments")
    x, shape = call.widen_small_floats(call.tensor("input")), call.integers("normalized_shape")
    axes = list(range(x.rank - len(shape), x.rank))
    epsilon = call.get("eps", float(np.finfo(x.dtype).eps))
    result = call.op("nn.rms_norm", x, _scale(call, "weight", 1, list(shape), x.dtype), axis=axes, epsilon=epsilon)
    return [call.cast(result, call.result_dtype), None]


@aten("native_group_norm.default")
def group_norm(call: Call) -> list[ModelTensor | None]:
    call.raise_unsupported_if(call.result_is_used(1) or call.result_is_used(2), "the moments")
    x, channels = call.widen_small_floats(call.tensor("input")), list(call.integers("C"))
    scale, bias = (_scale(call, name, value, channels, x.dtype) for name, value in (("weight", 1), ("bias", 0)))
    result = call.op("nn.group_norm", x, scale, bias, num_groups=call.get("group"), epsilon=float(call.get("eps")))
    return [call.cast(result, call.result_dtype), None, None]

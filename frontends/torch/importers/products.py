"""Importers of matrix products."""

from __future__ import annotations

from ...models.products import matrix_product
from ...models.shapes import permute_axes
from ...models.values import ModelTensor
from ..call import Call
from ..registry import aten


@aten("mm.default", "bmm.default", "matmul.default")
def product(call: Call) -> ModelTensor:
    other = "other" if call.operator == "matmul" else "mat2"
    return multiply_matrices(call, call.tensor(), call.tensor(other))


def multiply_matrices(call: Call, a: ModelTensor, b: ModelTensor) -> ModelTensor:
    """A matrix product; vectors are rows or columns, batches broadcast."""
    if a.rank == b.rank == 1:
        return call.cast(call.op("sum", call.op("multiply", *map(call.widen_small_floats, (a, b)))), a.dtype)
    return matrix_product(call, a, b)


@aten("addmm.default")
def add_product(call: Call) -> ModelTensor:
    bias, a, b = (call.widen_small_floats(call.tensor(name)) for name in ("self", "mat1", "mat2"))
    result = _times(call, matrix_product(call, a, b), call.get("alpha"))
    if call.get("beta") == 0:
        return call.cast(result, call.result_dtype)
    return call.cast(call.op("add", result, _times(call, bias, call.get("beta"))), call.result_dtype)


def _times(call: Call, x: ModelTensor, factor: float) -> ModelTensor:
    return x if factor == 1 else call.op("multiply", x, call.as_tensor(factor, x.dtype))


@aten("linear.default")
def linear(call: Call) -> ModelTensor:
    x, weight = call.widen_small_floats(call.tensor("input")), call.widen_small_floats(call.tensor("weight"))
    bias = call.optional("bias")
    if weight.rank == 1 or x.rank == 1:
        columns = weight if weight.rank == 1 else permute_axes(call, weight, (1, 0))
        result = multiply_matrices(call, x, columns)
    else:
        result = call.op("nn.dense", x, weight)
    if bias is not None:
        result = call.op("add", result, call.widen_small_floats(bias))
    return call.cast(result, call.result_dtype)

"""Products of matrices."""

from __future__ import annotations

import math

from .call import OperatorCall
from .shapes import permute_axes
from .values import ModelTensor


def matrix_product(call: OperatorCall, a: ModelTensor, b: ModelTensor) -> ModelTensor:
    """The matrix product with the semantics of numpy's `matmul`; accumulates floats of 16 bits in float32."""
    dtype = a.dtype
    a, b = call.widen_small_floats(a), call.widen_small_floats(b)
    if a.rank == 1:
        result = _product(call, call.op("expand_dims", a, axis=0), _column(call, b))
        result = call.op(
            "squeeze", result, axis=[result.rank - 2, result.rank - 1] if b.rank == 1 else [result.rank - 2]
        )
        return call.cast(result, dtype)
    if b.rank == 1:
        return call.cast(call.op("squeeze", _product(call, a, _column(call, b)), axis=[a.rank - 1]), dtype)
    return call.cast(_product(call, a, b), dtype)


def _column(call: OperatorCall, b: ModelTensor) -> ModelTensor:
    return call.op("expand_dims", b, axis=1) if b.rank == 1 else b


def _product(call: OperatorCall, a: ModelTensor, b: ModelTensor) -> ModelTensor:
    if a.rank == b.rank == 2:
        return call.op("nn.matmul", a, b)
    if b.rank == 2:
        return call.op("nn.dense", a, permute_axes(call, b, (1, 0)))
    if a.rank == b.rank == 3 and a.shape[0] == b.shape[0]:
        return call.op("nn.batch_matmul", a, b, transpose_b=False)
    if a.shape[:-2] == b.shape[:-2]:
        extents, columns = a.extents, b.extents
        count = math.prod(extents[:-2])
        a = call.builder.reshape(a, [count, *extents[-2:]])
        b = call.builder.reshape(b, [count, *columns[-2:]])
        result = call.op("nn.batch_matmul", a, b, transpose_b=False)
        return call.builder.reshape(result, [*extents[:-1], columns[-1]])
    return call.op("einsum", a, b, equation="...ij,...jk->...ik")

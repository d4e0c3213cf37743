"""Products of narrow floats: with wide sums, they compute the same with converted operands; narrow sums are widened."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stepwell import GraphExecutor, build_graph, relay
from stepwell.core.dtypes import numpy_dtype


def product(kind: str, x: Any, w: Any, sums: str) -> Any:
    if kind == "conv2d":
        return relay.nn.conv2d(x, w, kernel_size=(3, 3), padding=(1, 1), out_dtype=sums)
    if kind == "matmul":
        return relay.nn.matmul(x, w, transpose_b=True, out_dtype=sums)
    return getattr(relay.nn, kind)(x, w, out_dtype=sums)


@pytest.mark.parametrize("are_wide", [True, False])
@settings(max_examples=max(1, settings().max_examples // 2))
@given(data=st.data())
def test_products_of_narrow_floats(are_wide: bool, data: st.DataObject) -> None:
    kind = data.draw(st.sampled_from(["dense", "matmul", "batch_matmul", "conv2d"]))
    dtype = data.draw(st.sampled_from(["float16", "bfloat16"]))
    rows, columns, inner = (data.draw(st.integers(1, 20)) for _ in range(3))
    shapes = {
        "batch_matmul": ((2, rows, inner), (2, columns, inner)),
        "conv2d": ((1, inner, rows, 5), (columns, inner, 3, 3)),
    }.get(kind, ((rows, inner), (columns, inner)))
    random = np.random.default_rng(0)
    arrays = [random.normal(size=shape).astype(numpy_dtype(dtype)) for shape in shapes]
    sizes = shapes[0] if data.draw(st.booleans()) or kind == "conv2d" else ("n", *shapes[0][1:])
    sizes = (2, "n", inner) if sizes[0] == "n" and kind == "batch_matmul" else sizes
    x, w = relay.var("x", shape=sizes, dtype=dtype), relay.var("w", shape=shapes[1], dtype=dtype)
    is_constant = data.draw(st.booleans())
    operands = [x] if is_constant else [x, w]
    sums = "float32" if are_wide else dtype
    result = product(kind, x, relay.const(arrays[1]) if is_constant else w, sums)
    module = relay.module(relay.Function(operands, result))
    results: list[np.ndarray[Any, Any]] = []
    wide = relay.module(
        relay.Function(operands, product(kind, x, relay.const(arrays[1]) if is_constant else w, "float32"))
    )
    for level, each in ((0, wide), (2, module)):
        executor = GraphExecutor(build_graph(each, opt_level=level, winograd=False))
        executor.run(**dict(zip(("x", "w"), arrays[: len(operands)], strict=False)))
        results.append(np.asarray(executor.get_output(0)))
    assert results[1].dtype == numpy_dtype(sums)
    # A widened sum is rounded once: its error is that of one rounding.
    tolerance = 1e-5 if are_wide else float(ml_dtypes.finfo(dtype).eps)
    np.testing.assert_allclose(results[1].astype("float32"), results[0], rtol=tolerance, atol=1e-5)

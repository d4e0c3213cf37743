"""Weights that are transposed or made sparse ahead of time: `tvm.relay.data_dep_optimization`."""

from typing import Any

import numpy as np
import pytest

import stepwell.frontends.tvm as tvm
from stepwell import OptionError
from stepwell.frontends.tvm import relay
from stepwell.frontends.tvm.relay.data_dep_optimization import bsr_conv2d, bsr_dense, simplify_fc_transpose

Array = np.ndarray[Any, Any]


def function(body: relay.Expr) -> relay.Function:
    return relay.Function(relay.analysis.free_vars(body), body)


def evaluate(func: relay.Function, **inputs: Any) -> Array:
    return relay.create_executor("graph", tvm.IRModule.from_expr(func)).evaluate()(**inputs).numpy()


def blocks(rows: int, columns: int, block: tuple[int, int], seed: int = 0) -> Array:
    """A matrix of which few blocks are not zero."""
    choose = np.random.default_rng(seed)
    used = choose.random((rows // block[0], columns // block[1])) < 0.3
    return np.kron(used, np.ones(block)).astype("float32") * choose.random((rows, columns)).astype("float32")


# Transposes


def transposed(axes: list[int] | None = None) -> relay.Function:
    x, w = relay.var("x", shape=(2, 3)), relay.var("w", shape=(3, 4))
    return function(relay.nn.dense(relay.nn.relu(x), relay.transpose(w, axes=axes)))


@pytest.mark.parametrize("axes", [None, [1, 0], [-1, 0]])
def test_transposed_weights_become_parameters(axes: list[int] | None) -> None:
    func = transposed(axes)
    assert relay.analysis.search_fc_transpose(func) == ["w"]
    w, x = np.arange(12, dtype="float32").reshape(3, 4), np.ones((2, 3), "float32")
    expected = evaluate(func, x=x, w=w)
    changed, params = simplify_fc_transpose.convert(func, {"w": tvm.nd.array(w)})
    assert list(params) == ["w.T"]
    assert "transpose" not in relay.analysis.list_op_freqs(changed)
    np.testing.assert_array_equal(evaluate(changed, x=x, **params), expected)


def test_a_transpose_that_changes_nothing_stays() -> None:
    x, w = relay.var("x", shape=(2, 3)), relay.var("w", shape=(4, 3))
    func = function(relay.nn.dense(x, relay.transpose(w, axes=[0, 1])))
    assert relay.analysis.search_fc_transpose(func) == []
    given = {"w": tvm.nd.array(np.ones((4, 3), "float32"))}
    changed, params = simplify_fc_transpose.convert(func, given)
    assert relay.analysis.list_op_freqs(changed) == {"transpose": 1, "nn.dense": 1}
    assert list(params) == ["w"]


def test_a_weight_with_other_uses_stays_a_parameter_too() -> None:
    x, w = relay.var("x", shape=(3, 3)), relay.var("w", shape=(3, 3))
    product = relay.nn.dense(x, relay.transpose(w))
    func = function(relay.nn.dense(product, relay.transpose(w)) + w)
    a, b = np.eye(3, dtype="float32") * 2, np.arange(9, dtype="float32").reshape(3, 3)
    expected = evaluate(func, x=a, w=b)
    changed, params = simplify_fc_transpose.convert(func, {"w": b})
    assert [each.name_hint for each in changed.params] == ["x", "w", "w.T"]
    np.testing.assert_allclose(evaluate(changed, x=a, **params), expected)


def test_a_weight_without_an_array_is_an_error() -> None:
    with pytest.raises(OptionError, match=r"simplify_fc_transpose: no array of the weight 'w' \(has: v\)"):
        simplify_fc_transpose.convert(transposed(), {"v": np.ones(1)})


# Products of matrices


def dense() -> relay.Function:
    x, w = relay.var("x", shape=(2, 8)), relay.var("w", shape=(12, 8))
    return function(relay.nn.relu(relay.nn.dense(x, w)))


@pytest.mark.parametrize("block", [(4, 1), (3, 2), (1, 1)])
def test_products_with_sparse_weights(block: tuple[int, int]) -> None:
    x, w = np.random.default_rng(1).random((2, 8)).astype("float32"), blocks(12, 8, block)
    expected = evaluate(dense(), x=x, w=w)
    changed, params = bsr_dense.convert(dense(), {"w": tvm.nd.array(w)}, block, 0.2)
    assert list(params) == ["w.data", "w.indices", "w.indptr"]
    assert params["w.data"].shape[1:] == block
    assert relay.analysis.list_op_freqs(changed) == {"nn.sparse_dense": 1, "nn.relu": 1}
    np.testing.assert_allclose(evaluate(changed, x=x, **params), expected, 1e-5, 1e-6)


def test_a_weight_with_few_zeros_stays() -> None:
    w = np.ones((12, 8), "float32")
    changed, params = bsr_dense.convert(dense(), {"w": w}, (4, 1), 0.2)
    assert relay.analysis.list_op_freqs(changed) == {"nn.dense": 1, "nn.relu": 1}
    assert list(params) == ["w"]


def test_blocks_that_do_not_fit_are_an_error() -> None:
    with pytest.raises(OptionError, match=r"weight of \[12, 8\], expected whole blocks of \[5, 1\]"):
        bsr_dense.convert(dense(), {"w": np.zeros((12, 8), "float32")}, (5, 1), 0.2)


def test_names_without_shapes_are_an_error() -> None:
    mod = tvm.IRModule.from_expr(dense())
    with pytest.raises(OptionError, match=r"DenseToSparse: 1 names and 0 shapes of weights"):
        relay.transform.DenseToSparse(["w"], [])(mod)


# Convolutions


def convolution(layout: str, **attributes: Any) -> relay.Function:
    is_first = layout == "NCHW"
    x = relay.var("x", shape=(1, 6, 5, 4) if is_first else (1, 5, 4, 6))
    w = relay.var("w", shape=(8, 6, 1, 1) if is_first else (1, 1, 6, 8))
    kernel = "OIHW" if is_first else "HWIO"
    return function(
        relay.nn.conv2d(x, w, channels=8, kernel_size=1, data_layout=layout, kernel_layout=kernel, **attributes)
    )


def arrays(layout: str, block: tuple[int, int]) -> tuple[Array, Array]:
    x, matrix = np.random.default_rng(1).random((1, 6, 5, 4)).astype("float32"), blocks(8, 6, block)
    if layout == "NCHW":
        return x, matrix.reshape(8, 6, 1, 1)
    return np.ascontiguousarray(x.transpose(0, 2, 3, 1)), np.ascontiguousarray(matrix.T).reshape(1, 1, 6, 8)


@pytest.mark.parametrize("layout", ["NCHW", "NHWC"])
@pytest.mark.parametrize("block", [(4, 1), (2, 3)])
def test_convolutions_with_sparse_weights(layout: str, block: tuple[int, int]) -> None:
    (x, w), func = arrays(layout, block), convolution(layout)
    expected = evaluate(func, x=x, w=w)
    changed, params = bsr_conv2d.convert(func, {"w": tvm.nd.array(w)}, block, 0.2, layout)
    assert relay.analysis.list_op_freqs(changed) == {"nn.sparse_conv2d": 1}
    assert len(params["w.data"].shape) == (2 if block[1] == 1 else 3)
    np.testing.assert_allclose(evaluate(changed, x=x, **params), expected, 1e-5, 1e-6)
    frozen: Any = relay.build_module.bind_params_by_name(func, {"w": tvm.nd.array(w)})
    changed, _ = bsr_conv2d.convert2(frozen, {}, block, 0.2, layout, 1)
    assert relay.analysis.list_op_freqs(changed) == {"nn.sparse_conv2d": 1}
    np.testing.assert_allclose(evaluate(changed, x=x), expected, 1e-5, 1e-6)


@pytest.mark.parametrize("attributes", [{"strides": 2}, {"padding": 1}])
def test_convolutions_with_steps_or_padding_stay(attributes: dict[str, int]) -> None:
    _, w = arrays("NCHW", (4, 1))
    changed, params = bsr_conv2d.convert(convolution("NCHW", **attributes), {"w": w}, (4, 1), 0.2, "NCHW")
    assert relay.analysis.list_op_freqs(changed) == {"nn.conv2d": 1}
    assert list(params) == ["w"]

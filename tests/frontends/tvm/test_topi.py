"""`tvm.topi`: names and arguments of TVM's v0.16."""

from typing import Any

import numpy as np
import pytest

import stepwell.frontends.tvm as tvm
from stepwell import UnsupportedError
from stepwell.frontends.tvm import te, topi

X = np.arange(12, dtype="float32").reshape(3, 4)


def run(made: Any, *inputs: tuple[Any, np.ndarray]) -> np.ndarray:
    out = tvm.nd.empty([int(extent) for extent in made.shape], made.dtype)
    tvm.build(te.create_prim_func([*(tensor for tensor, _ in inputs), made]))(*(array for _, array in inputs), out)
    return out.numpy()


def given() -> tuple[Any, np.ndarray]:
    return te.placeholder((3, 4), name="A"), X


def test_a_chain_of_operators() -> None:
    A = given()
    made = topi.sum(topi.exp(topi.subtract(A[0], topi.max(A[0], axis=1, keepdims=True))), axis=-1)
    np.testing.assert_allclose(run(made, A), np.exp(X - X.max(1, keepdims=True)).sum(1), 1e-6)


def test_lists_of_tensors() -> None:
    A = given()
    np.testing.assert_array_equal(run(topi.concatenate([A[0], A[0]], axis=1), A), np.concatenate([X, X], 1))
    np.testing.assert_array_equal(run(topi.stack((A[0], A[0]), 1), A), np.stack([X, X], 1))
    np.testing.assert_array_equal(run(topi.split(A[0], [1], 1)[1], A), X[:, 1:])


def test_places_and_parts() -> None:
    A = given()
    np.testing.assert_array_equal(run(topi.argmax(A[0], 1, True), A), X.argmax(1, keepdims=True))
    np.testing.assert_array_equal(run(topi.argmin(A[0], 0), A), X.argmin(0))
    np.testing.assert_array_equal(run(topi.flip(A[0]), A), X[::-1])
    np.testing.assert_array_equal(run(topi.strided_slice(A[0], [0, 1], [3, 4], [2, 2]), A), X[0:3:2, 1:4:2])
    sized = topi.strided_slice(A[0], [1, 1], [-1, 2], slice_mode="size")
    np.testing.assert_array_equal(run(sized, A), X[1:, 1:3])
    np.testing.assert_array_equal(run(topi.cast(A[0], "int32"), A), X.astype("int32"))


def test_elements_that_are_taken() -> None:
    indices = te.placeholder((2,), "int64", name="I")
    A = given()
    made = run(topi.take(A[0], indices, 0), A, (indices, np.array([2, 9])))
    np.testing.assert_array_equal(made, X[[2, 2]])


def test_what_is_not_there_says_so() -> None:
    A, indices = te.placeholder((3, 4)), te.placeholder((3, 1), "int32")
    with pytest.raises(UnsupportedError, match="take with batch_dims 1 is not supported yet"):
        topi.take(A, indices, 1, batch_dims=1)
    with pytest.raises(UnsupportedError, match="slice_mode 'x', expected 'end' or 'size'"):
        topi.strided_slice(A, [0], [1], slice_mode="x")

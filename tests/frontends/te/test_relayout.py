"""Layouts of the tensors of a schedule: `Stage.transform_layout`."""

import numpy as np
import pytest

import stepwell
from stepwell import te
from stepwell.expressions.errors import TeError
from stepwell.frontends.te.apply_schedule import apply_schedule


def run(s: te.Schedule, tensors: list[te.Tensor], *arrays: np.ndarray) -> None:
    stepwell.build(apply_schedule(s, tensors).mod)(*arrays)


def double(shape: tuple[int, ...]) -> tuple[te.Tensor, te.Tensor]:
    A = te.placeholder(shape, "int32", name="A")
    return A, te.compute(shape, lambda *i: A[i] * 2, name="B")


def test_a_parameter_and_a_result_change_their_shapes() -> None:
    A, B = double((4, 6, 8))
    s = te.create_schedule(B.op)
    assert [str(axis.dom) for axis in s[A].transform_layout(lambda i, j, k: [k, j, i])] == [
        f"Range(min=0, extent={extent})" for extent in (8, 6, 4)
    ]
    axes = s[B].transform_layout(lambda *i, n: [*i, n // 4, "axis_separator", n % 4])
    assert s[B].leaf_iter_vars == axes
    s[B].vectorize(axes[3])
    s[B].fuse(*axes[:2])
    a, b = np.arange(192, dtype="int32").reshape(8, 6, 4), np.zeros((4, 6, 2, 4), "int32")
    run(s, [A, B], a, b)
    np.testing.assert_array_equal(b, 2 * a.transpose(2, 1, 0).reshape(4, 6, 2, 4))


def test_separators_divide_the_dimensions_of_parameters_results_and_memory() -> None:
    A, B = double((4, 6))
    C = te.compute((4, 6), lambda i, j: A[i, j] + B[i, j], name="C")
    s = te.create_schedule(C.op)
    s[A].transform_layout(lambda i, j: [j, te.AXIS_SEPARATOR, i])
    s[B].transform_layout(lambda i, j: [te.AXIS_SEPARATOR, i, j, te.AXIS_SEPARATOR])
    s[C].transform_layout(lambda i, j: [i, te.AXIS_SEPARATOR, j // 2, te.AXIS_SEPARATOR, j % 2])
    mod = apply_schedule(s, [A, C]).mod
    lines = [line.strip() for line in mod.script().splitlines() if "axis_separators" in line]
    assert lines == [
        'A = T.match_buffer(var_A, (6, 4), "int32", axis_separators=[1])',
        'C = T.match_buffer(var_C, (4, 3, 2), "int32", axis_separators=[1, 2])',
        'B = T.alloc_buffer((4, 6), "int32", axis_separators=[0, 2])',
    ]
    a, c = np.arange(24, dtype="int32").reshape(6, 4), np.zeros((4, 3, 2), "int32")
    stepwell.build(mod)(a, c)
    np.testing.assert_array_equal(c, 3 * a.T.reshape(4, 3, 2))


def test_memory_of_the_function_has_the_layout_too() -> None:
    A, B = double((4, 6))
    C = te.compute((4, 6), lambda i, j: B[i, j] + B[3 - i, j], name="C")
    s = te.create_schedule(C.op)
    s[B].transform_layout(lambda i, j: [i * 6 + j])
    s[B].compute_at(s[C], C.op.axis[0])
    a, c = np.arange(24, dtype="int32").reshape(4, 6), np.zeros((4, 6), "int32")
    run(s, [A, C], a, c)
    np.testing.assert_array_equal(c, 2 * (a + a[::-1]))


def test_a_sum_and_a_cache_of_a_parameter() -> None:
    A = te.placeholder((4, 6, 5), "int32", name="A")
    k = te.reduce_axis((0, 5), "k")
    B = te.compute((4, 6), lambda i, j: te.sum(A[i, j, k], k), name="B")
    s = te.create_schedule(B.op)
    s.cache_read(A, "local", [B])
    s[A].transform_layout(lambda i, j, k: [j, k, i])
    s[B].transform_layout(lambda i, j: [j, i])
    a, b = np.arange(120, dtype="int32").reshape(6, 5, 4), np.zeros((6, 4), "int32")
    run(s, [A, B], a, b)
    np.testing.assert_array_equal(b, a.sum(1))


@pytest.mark.parametrize(
    ("mapping", "message"),
    [
        (lambda i, j: [i, j // 4, j % 4], "expected a layout without padding"),
        (lambda i, j: [i + j], "transform_layout of stage B"),
        (lambda i: [i], "an index map of 1 index, expected one of 2 indices"),
    ],
)
def test_layouts_that_lose_or_add_elements_are_refused(mapping, message: str) -> None:  # pyright: ignore[reportMissingParameterType, reportUnknownParameterType]
    _, B = double((4, 6))
    s = te.create_schedule(B.op)
    with pytest.raises(TeError, match=message):
        s[B].transform_layout(mapping)
    assert [axis.var.name for axis in s[B].leaf_iter_vars] == [axis.var.name for axis in s[B].axes]
    assert s[B].relayout is None


def test_a_layout_comes_before_loops_and_caches() -> None:
    A, B = double((4, 6))
    s = te.create_schedule(B.op)
    s[B].transform_layout(lambda i, j: [j, i])
    with pytest.raises(TeError, match="the loops of stage B were changed before it"):
        s[B].transform_layout(lambda i, j: [j, i])
    with pytest.raises(TeError, match="cache_write: the loops of stage B were changed"):
        s.cache_write(B, "local")
    n = te.var("n")
    A = te.placeholder((n,), name="A")
    B = te.compute((n,), lambda i: A[i], name="B")
    with pytest.raises(TeError, match="expected numbers"):
        te.create_schedule(B.op)[B].transform_layout(lambda i: [i // 4, i % 4])

"""Reductions along axes whose bounds are elements of tensors or other axes."""

import re
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from stepwell import build
from stepwell.frontends import te
from stepwell.frontends.te import TeError

X = te.placeholder((3, 6), name="X")
starts = te.placeholder((5,), "int32", "starts")
VALUES = np.random.default_rng(0).normal(size=(3, 6)).astype("float32")
STARTS = np.array([0, 2, 2, 5, 6], "int32")
PARTS = [VALUES[:, a:b] for a, b in pairwise(STARTS)]
SUMS = np.stack([part.sum(1) for part in PARTS], 1)


def segments(reduce: Any = te.sum, **options: Any) -> Any:
    """A reduction of the columns from one start to the next."""

    def total(i: Any, row: Any) -> Any:
        k = te.reduce_axis((starts[row], starts[row + 1]), name="k")
        return reduce(X[i, k], axis=k, **options)

    return te.compute((3, 4), total, name="T")


def computed(result: Any, schedule: Any = None) -> np.ndarray:
    out = np.zeros([int(extent.value) for extent in result.shape], result.dtype)
    made = te.create_prim_func([X, starts, result])
    if schedule is not None:
        made = te.apply_schedule(schedule, [X, starts, result]).mod
    build(made)["main"](VALUES, STARTS, out)
    return out


def test_a_segment_without_elements_has_the_initial_value() -> None:
    np.testing.assert_allclose(computed(segments()), SUMS, 1e-5, 1e-6)
    np.testing.assert_allclose(computed(segments(init=1.0)), SUMS + 1, 1e-5, 1e-6)
    greatest = [part.max(1, initial=np.finfo("float32").min) for part in PARTS]
    np.testing.assert_allclose(computed(segments(te.max)), np.stack(greatest, 1), 1e-5)


def test_the_block_has_the_other_axes_and_loops_inside() -> None:
    text = te.create_prim_func([X, starts, segments()]).script()
    assert "for i, row in T.grid(3, 4):" in text
    assert "for k in range(starts[v_row], starts[v_row] + (starts[v_row + 1] - starts[v_row])):" in text


def test_bounds_may_be_other_axes() -> None:
    def total(i: Any) -> Any:
        k, m = te.reduce_axis((0, i + 1), name="k"), te.reduce_axis((0, 2), name="m")
        return te.sum(X[m, k], axis=[k, m], where=m * 2 <= k)

    lower = np.array([sum(VALUES[m, k] for k in range(n + 1) for m in range(2) if m * 2 <= k) for n in range(6)])
    np.testing.assert_allclose(computed(te.compute((6,), total, name="T")), lower, 1e-5, 1e-6)


def test_several_values_are_combined_together() -> None:
    first = te.comm_reducer(
        lambda a, b: (te.if_then_else(b[1] > a[1], b[0], a[0]), te.max(a[1], b[1])),
        lambda p, v: (te.const(-1, p), te.min_value(v)),
    )

    def total(i: Any, row: Any) -> Any:
        k = te.reduce_axis((starts[row], starts[row + 1]), name="k")
        return first((k.var, X[i, k]), axis=k)

    places, _ = te.compute((3, 4), total, name="T")
    expected = [part.argmax(1) + start if part.size else [-1] * 3 for part, start in zip(PARTS, STARTS, strict=False)]
    np.testing.assert_array_equal(computed(places), np.stack(expected, 1))


def test_loops_of_the_other_axes_can_be_transformed() -> None:
    total = segments()
    after = te.compute((3, 4), lambda i, j: total[i, j] * 2, name="A")
    s = te.create_schedule(after.op)
    cache = s.cache_read(starts, "local", [total])
    outer, _ = s[after].split(after.op.axis[1], 2)
    s[total].compute_at(s[after], outer)
    s[after].parallel(after.op.axis[0])
    assert str(cache.shape[0]) == "5"
    np.testing.assert_allclose(computed(after, s), SUMS * 2, 1e-5, 1e-6)
    s = te.create_schedule(after.op)
    written = s.cache_write(total, "local")
    s[written].compute_at(s[total], total.op.axis[0])
    np.testing.assert_allclose(computed(after, s), SUMS * 2, 1e-5, 1e-6)
    with pytest.raises(TeError, match="axis k is none of the axes of stage T"):
        te.create_schedule(total.op)[total].split(total.op.reduce_axis[0], 2)


def products() -> Any:
    """For each segment the sum of its columns, doubled in another order of the axes: `T[row, i]`."""

    def total(row: Any, i: Any) -> Any:
        k = te.reduce_axis((starts[row], starts[row + 1]), name="k")
        return te.sum(X[i, k] * 2, axis=k)

    return te.compute((4, 3), total, name="T")


def test_axes_follow_a_reduction() -> None:
    total = products()
    row, i = total.op.axis
    s = te.create_schedule(total.op)
    s[total].reorder(row, total.op.reduce_axis[0], i)
    s[total].parallel(row)
    assert [axis.var.name for axis in s[total].leaf_iter_vars] == ["row"]
    made = te.apply_schedule(s, [X, starts, total]).mod.script()
    assert "for row in T.parallel(4):" in made
    assert re.search(
        r"for k, i in T.grid\(starts\[v_row \+ 1\] - starts\[v_row\], 3\)|for k in .*\n *for i in range", made
    )
    np.testing.assert_allclose(computed(total, s), SUMS.T * 2, 1e-5, 1e-6)
    after = te.compute((4, 3), lambda i, j: total[i, j] + 1, name="A")
    s = te.create_schedule(after.op)
    s[total].reorder(total.op.reduce_axis[0], i)
    s[total].compute_at(s[after], after.op.axis[0])
    np.testing.assert_allclose(computed(after, s), SUMS.T * 2 + 1, 1e-5, 1e-6)


def test_all_axes_follow_a_reduction() -> None:
    def total(i: Any, j: Any) -> Any:
        k = te.reduce_axis((starts[1], starts[3]), name="k")
        return te.max(X[i, k] + X[j, k], axis=k)

    greatest = te.compute((3, 3), total, name="T")
    s = te.create_schedule(greatest.op)
    i, j = greatest.op.axis
    s[greatest].reorder(greatest.op.reduce_axis[0], j, i)
    assert s[greatest].leaf_iter_vars == []
    pairs = (VALUES[:, None, 2:5] + VALUES[None, :, 2:5]).max(2)
    np.testing.assert_allclose(computed(greatest, s), pairs, 1e-5, 1e-6)
    text = te.apply_schedule(s, [X, starts, greatest]).mod.script()
    assert text.index("for k") < text.rindex("j") < len(text)


def test_orders_that_no_ragged_reduction_has() -> None:
    def total(row: Any, i: Any) -> Any:
        k, m = te.reduce_axis((starts[row], starts[row + 1]), name="k"), te.reduce_axis((0, 2), name="m")
        return te.sum(X[i, k] + m, axis=[k, m])

    result = te.compute((4, 3), total, name="T")
    (row, i), (k, m) = result.op.axis, result.op.reduce_axis
    for order, message in (
        ((k, row), "the loops of stage T in the order k, i, row, m, expected all of k, m"),
        ((m, k), "the loops of stage T in the order row, i, m, k, expected all of k, m"),
        ((i, k, m, row), "axis row of stage T, on which bounds depend, in the loop"),
        ((te.reduce_axis((0, 2), "z"), k), "axis z is none of the axes of stage T"),
    ):
        with pytest.raises(TeError, match=message):
            te.create_schedule(result.op)[result].reorder(*order)
    s = te.create_schedule(result.op)
    outer, inner = s[result].split(i, 2)
    with pytest.raises(TeError, match="then axes of the operation only"):
        s[result].reorder(outer, k, m, inner)
    s = te.create_schedule(result.op)
    s[result].unroll(i)
    with pytest.raises(TeError, match="the loop i of stage T was changed before it"):
        s[result].reorder(k, m, i)


def test_a_step_of_a_scan_has_no_such_reduction() -> None:
    state = te.placeholder((4, 3), name="s")

    def step(t: Any, i: Any) -> Any:
        k = te.reduce_axis((0, i + 1), name="k")
        return te.sum(state[t - 1, k], axis=k)

    rows = te.scan(te.compute((1, 3), lambda t, i: X[0, i]), te.compute((4, 3), step, name="u"), state, name="rows")
    with pytest.raises(TeError, match="scan rows: the bounds of a reduction of u are computed, expected sizes"):
        te.create_prim_func([X, rows])

"""Tensor intrinsics of tensor expressions: calls that compute loops."""

from typing import Any

import numpy as np
import pytest

import stepwell
from stepwell.backends.runtime import register_func
from stepwell.core.errors import PassError
from stepwell.frontends import te
from stepwell.frontends.te import TeError
from stepwell.tools.testing.legacy_schedules import run_schedule

ROWS, COLUMNS, TILE = 6, 32, 8


def copy_of_a_tile(source_stride: int, copy_stride: int) -> te.TensorIntrin:
    """The copy of a tile, as a call that receives both as arrays, whose strides are numbers."""
    x = te.placeholder((ROWS, TILE), name="x")
    y = te.compute((ROWS, TILE), lambda i, j: x[i, j], name="y")
    buffers = {
        tensor: te.decl_buffer(tensor.shape, tensor.dtype, tensor.name, strides=[stride, 1], offset_factor=1)
        for tensor, stride in ((x, source_stride), (y, copy_stride))
    }
    return te.decl_tensor_intrin(
        y.op, lambda ins, outs: te.call_packed("test.te.copied", ins[0], outs[0]), binds=buffers
    )


def sums_of_copied_tiles(copy_stride: int) -> tuple[Any, Any, Any]:
    """Sums of rows, tile by tile; a call copies each tile before."""
    a = te.placeholder((ROWS, COLUMNS), name="A")
    k = te.reduce_axis((0, COLUMNS), "k")
    c = te.compute((ROWS,), lambda i: te.sum(a[i, k], axis=k), name="C")
    s = te.create_schedule(c.op)
    copy = s.cache_read(a, "global", [c])
    k_o, k_i = s[c].split(c.op.reduce_axis[0], factor=TILE)
    s[c].reorder(k_o, c.op.axis[0], k_i)
    s[copy].compute_at(s[c], k_o)
    s[copy].tensorize(copy.op.axis[0], copy_of_a_tile(COLUMNS, copy_stride))  # pyright: ignore[reportAttributeAccessIssue]
    return s, a, c


def test_memory_of_a_tile_has_the_strides_of_the_tile() -> None:
    strides: list[tuple[int, ...]] = []

    def copied(source: Any, copy: Any) -> None:
        strides.append(copy.strides)
        copy[:] = source

    register_func("test.te.copied", copied, override=True)
    s, a, c = sums_of_copied_tiles(TILE)
    x = np.arange(ROWS * COLUMNS, dtype="float32").reshape(ROWS, COLUMNS)
    np.testing.assert_array_equal(run_schedule(te.apply_schedule(s, [a, c]), x, shape=(ROWS,)), x.sum(1))
    assert strides == [(4 * TILE, 4)] * (COLUMNS // TILE)


def test_strides_that_the_memory_of_a_tile_lacks_are_an_error() -> None:
    s, a, c = sums_of_copied_tiles(TILE + 1)
    sch = te.apply_schedule(s, [a, c])
    with pytest.raises(PassError, match=r"strides\[0\] is 8, expected 9"):
        run_schedule(sch, np.zeros((ROWS, COLUMNS), "float32"), shape=(ROWS,))


def outer_products(order: str) -> tuple[te.Schedule, list[te.Tensor]]:
    """A product of matrices as a sum of outer products of tiles, by an intrinsic whose computation is one product."""
    a, b = te.placeholder((6, 16), name="A"), te.placeholder((6, COLUMNS), name="B")
    k = te.reduce_axis((0, 6), "k")
    c = te.compute((16, COLUMNS), lambda i, j: te.sum(a[k, i] * b[k, j], axis=k), name="C")
    x, y = te.placeholder((TILE,), name="x"), te.placeholder((TILE,), name="y")
    z = te.compute((TILE, TILE), lambda i, j: x[i] * y[j], name="z")
    buffers = {
        tensor: te.decl_buffer(tensor.shape, tensor.dtype, tensor.name, strides=strides, offset_factor=1)
        for tensor, strides in ((x, [1]), (y, [1]), (z, [COLUMNS, 1]))
    }

    def calls(ins: Any, outs: Any) -> tuple[Any, Any, Any]:
        update = te.call_packed("test.te.add_outer", ins[0], ins[1], outs[0])
        return update, te.call_packed("test.te.zero", outs[0]), update

    s = te.create_schedule(c.op)
    x_o, x_i = s[c].split(c.op.axis[0], factor=TILE)
    y_o, y_i = s[c].split(c.op.axis[1], factor=TILE)
    k = c.op.reduce_axis[0]
    s[c].reorder(*([k, x_o, y_o] if order == "k first" else [x_o, y_o, k]), x_i, y_i)
    s[c].tensorize(x_i, te.decl_tensor_intrin(z.op, calls, binds=buffers))
    return s, [a, b, c]


@pytest.mark.parametrize("order", ["k first", "k last"])
def test_a_sum_of_products_is_computed_by_an_intrinsic_without_a_sum(order: str) -> None:
    def add_outer(x: Any, y: Any, z: Any) -> None:
        z += np.outer(x, y)

    def zero(z: Any) -> None:
        z[:] = 0

    register_func("test.te.add_outer", add_outer, override=True)
    register_func("test.te.zero", zero, override=True)
    s, tensors = outer_products(order)
    a, b = np.arange(96, dtype="float32").reshape(6, 16), np.arange(6 * COLUMNS, dtype="float32").reshape(6, COLUMNS)
    result = run_schedule(te.apply_schedule(s, tensors), a, b, shape=(16, COLUMNS))
    np.testing.assert_array_equal(result, a.T @ b)


def test_statements_on_vectors_compute_an_intrinsic() -> None:
    a = te.placeholder((6, 16), name="A")
    b = te.compute((6, 16), lambda i, j: a[i, j] * 2.0 + 1.0, name="B")
    x = te.placeholder((8,), name="x")
    y = te.compute((8,), lambda i: x[i] * 2.0 + 1.0, name="y")

    def statements(ins: Any, outs: Any) -> Any:
        source, target = ins[0], outs[0]
        assert source.vload(0, "float32x4").dtype == "float32x4"
        first = target.vstore(0, source.vload([0], "float32x4"))
        halves = [first, target.vstore(0, target.vload(0, "float32x4") + source.vload(0, "float32x4"))]
        halves += [target.vstore(4 + n, source.vload(4 + n) * te.const(2.0, "float32")) for n in range(4)]
        ones = [target.vstore(n, target.vload(n) + te.const(1.0, "float32")) for n in range(8)]
        return [*halves, *ones]

    s = te.create_schedule(b.op)
    _, inner = s[b].split(b.op.axis[1], factor=8)
    s[b].tensorize(inner, te.decl_tensor_intrin(y.op, statements))
    sch = te.apply_schedule(s, [a, b])
    values = np.random.default_rng(0).random((6, 16), np.float32)
    result = np.zeros((6, 16), "float32")
    stepwell.build(sch.mod)(values, result)
    np.testing.assert_allclose(result, values * 2 + 1, rtol=1e-6)


def test_elements_of_another_data_type_are_no_vector() -> None:
    buffer = te.decl_buffer((8,), "float32", "x")
    with pytest.raises(TeError, match="buffer x: elements of int8x4, expected float32"):
        buffer.vload(0, "int8x4")
    with pytest.raises(TeError, match="2 indices into buffer x of 1 dimensions"):
        buffer.vload([0, 1])
    other = te.decl_buffer((8,), "float32", "other")
    x = te.placeholder((8,), name="x")
    y = te.compute((8,), lambda i: x[i] + 1.0, name="y")
    b = te.compute((8,), lambda i: x[i] + 1.0, name="B")
    s = te.create_schedule(b.op)
    s[b].tensorize(b.op.axis[0], te.decl_tensor_intrin(y.op, lambda _ins, outs: outs[0].vstore(0, other.vload(0))))
    with pytest.raises(TeError, match="a statement accesses other, which is not accessed here"):
        te.apply_schedule(s, [x, b])


def test_loops_of_one_iteration_of_an_intrinsic_may_be_absent() -> None:
    x, w = te.placeholder((4, 8), name="x"), te.placeholder((1, 8), name="w")
    k = te.reduce_axis((0, 8), "k")
    y = te.compute((4, 1), lambda i, j: te.sum(x[i, k] * w[j, k], axis=k), name="y")
    strided = te.decl_buffer(y.shape, y.dtype, "y", strides=[te.var("stride"), 1], offset_factor=1)
    call = lambda ins, outs: te.call_packed("test.te.rows", *ins, outs[0])  # noqa: E731
    intrin = te.decl_tensor_intrin(y.op, call, binds={y: strided})
    register_func("test.te.rows", lambda a, b, c: c.__setitem__(slice(None), a @ b.T), override=True)
    a, v, r = te.placeholder((4, 8), name="A"), te.placeholder((8,), name="V"), te.reduce_axis((0, 8), "r")
    c = te.compute((4,), lambda i: te.sum(a[i, r] * v[r], axis=r), name="C")
    s = te.create_schedule(c.op)
    s[c].tensorize(c.op.axis[0], intrin)
    with pytest.raises(stepwell.ScheduleError, match="does not match"):  # a result of one dimension, not of two
        te.apply_schedule(s, [a, v, c])
    b = te.placeholder((3, 8), name="B")
    c = te.compute((4, 3), lambda i, j: te.sum(a[i, r] * b[j, r], axis=r), name="C")
    s = te.create_schedule(c.op)
    s[c].reorder(c.op.axis[1], c.op.axis[0], r)
    s[c].tensorize(c.op.axis[0], intrin)
    rng = np.random.default_rng(0)
    p, q = rng.integers(0, 9, (4, 8)).astype("float32"), rng.integers(0, 9, (3, 8)).astype("float32")
    sch = te.apply_schedule(s, [a, b, c])
    assert "test.te.rows" in sch.mod.script()
    np.testing.assert_array_equal(run_schedule(sch, p, q, shape=(4, 3)), p @ q.T)

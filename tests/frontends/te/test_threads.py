"""Legacy schedules of GPUs: cooperative copies, virtual threads, guards, on the emulated GPU."""

import re
from typing import Any

import numpy as np
import pytest

from stepwell import build
from stepwell.frontends import te


def product(n: int, k: int) -> tuple[te.Tensor, te.Tensor, te.Tensor]:
    a, b = te.placeholder((n, k), name="A"), te.placeholder((k, n), name="B")
    r = te.reduce_axis((0, k), name="r")
    return a, b, te.compute((n, n), lambda i, j: te.sum(a[i, r] * b[r, j], axis=r), name="C")


def check_product(s: te.Schedule, args: list[Any], n: int, k: int) -> None:
    rng = np.random.default_rng(1)
    a, b = rng.integers(-4, 4, (n, k)).astype("float32"), rng.integers(-4, 4, (k, n)).astype("float32")
    c = np.full((n, n), -1, "float32")
    build(te.apply_schedule(s, args).mod, "cuda-emulated")(a, b, c)
    assert (c == a @ b).all()


def tiled(s: te.Schedule, a: te.Tensor, b: te.Tensor, c: te.Tensor, threads: int, virtual: int = 1) -> None:
    """A product in tiles: copies of both operands in shared memory, filled by all threads; each thread computes 2 x 2
    elements for each pair of virtual threads.
    """
    copies = [s.cache_read(t, "shared", [c]) for t in (a, b)]
    own = s.cache_write(c, "local")
    tx, ty = te.thread_axis((0, threads), "threadIdx.x"), te.thread_axis((0, threads), "threadIdx.y")
    y, x = s[c].op.axis
    size = 2 * threads * virtual
    yo, xo, yi, xi = s[c].tile(y, x, size, size)
    s[c].bind(yo, te.thread_axis("blockIdx.y"))
    s[c].bind(xo, te.thread_axis("blockIdx.x"))
    if virtual > 1:
        vy, yi = s[c].split(yi, nparts=virtual)
        vx, xi = s[c].split(xi, nparts=virtual)
        s[c].bind(vy, te.thread_axis((0, virtual), "vthread", name="vy"))
        s[c].bind(vx, te.thread_axis((0, virtual), "vthread", name="vx"))
        s[c].reorder(vy, vx, yi, xi)
    thread_y, yi = s[c].split(yi, nparts=threads)
    thread_x, xi = s[c].split(xi, nparts=threads)
    s[c].reorder(thread_y, thread_x, yi, xi)
    s[c].bind(thread_y, ty)
    s[c].bind(thread_x, tx)
    s[own].compute_at(s[c], thread_x)
    ko, ki = s[own].split(s[own].op.reduce_axis[0], factor=4)
    s[own].reorder(ko, ki, *s[own].op.axis)
    for copy in copies:
        s[copy].compute_at(s[own], ko)
        fused = s[copy].fuse(*s[copy].op.axis)
        outer, inner = s[copy].split(fused, nparts=threads)
        middle, _ = s[copy].split(inner, nparts=threads)
        s[copy].bind(outer, ty)
        s[copy].bind(middle, tx)


@pytest.mark.parametrize(("threads", "virtual"), [(4, 1), (2, 2), (3, 1)])
def test_threads_of_two_axes_fill_shared_memory_together(threads: int, virtual: int) -> None:
    a, b, c = product(24, 8)
    s = te.create_schedule(c.op)
    tiled(s, a, b, c, threads, virtual)
    check_product(s, [a, b, c], 24, 8)


def test_a_loop_shorter_than_its_thread_axis_is_guarded() -> None:
    a, b, c = product(16, 8)
    s = te.create_schedule(c.op)
    copy = s.cache_read(a, "shared", [c])
    i, j = s[c].op.axis
    threads = te.thread_axis("threadIdx.x")
    s[c].bind(i, te.thread_axis("blockIdx.x"))
    s[c].bind(j, threads)
    s[copy].compute_at(s[c], j)
    s[copy].bind(s[copy].op.axis[1], threads)
    text = te.apply_schedule(s, [a, b, c]).mod.script()
    assert "T.where(ax1 < 8)" in text
    check_product(s, [a, b, c], 16, 8)


def test_a_declared_number_of_threads_exceeds_that_of_the_loop() -> None:
    a = te.placeholder((6, 5), name="A")
    b = te.compute((6, 5), lambda i, j: a[i, j] + 1.0, name="B")
    s = te.create_schedule(b.op)
    s[b].bind(b.op.axis[0], te.thread_axis("blockIdx.x"))
    s[b].bind(b.op.axis[1], te.thread_axis((0, 8), "threadIdx.x"))
    x, y = np.arange(30, dtype="float32").reshape(6, 5), np.zeros((6, 5), "float32")
    build(te.apply_schedule(s, [a, b]).mod, "cuda-emulated")(x, y)
    assert (y == x + 1).all()


def test_several_virtual_axes_have_names_of_their_own() -> None:
    a = te.placeholder((8, 8), name="A")
    b = te.compute((8, 8), lambda i, j: a[i, j] + 1.0, name="B")
    s = te.create_schedule(b.op)
    for axis in b.op.axis:
        outer, _ = s[b].split(axis, nparts=2)
        s[b].bind(outer, te.thread_axis((0, 2), "vthread"))
    text = te.apply_schedule(s, [a, b]).mod.script()
    assert 'thread="vthread.x"' in text
    assert 'thread="vthread.y"' in text


def test_one_thread_stores_a_reduction_across_threads() -> None:
    a = te.placeholder((4, 32), name="A")
    k = te.reduce_axis((0, 32), name="k")
    b = te.compute((4,), lambda i: te.sum(a[i, k], axis=k), name="B")
    s = te.create_schedule(b.op)
    _, inner = s[b].split(s[b].op.reduce_axis[0], factor=8)
    partial = s.rfactor(b, inner)
    threads = te.thread_axis("threadIdx.x")
    s[b].bind(s[b].op.axis[0], te.thread_axis("blockIdx.x"))
    s[b].bind(s[b].op.reduce_axis[0], threads)
    s[partial].compute_at(s[b], s[b].op.reduce_axis[0])
    s[b].set_store_predicate(threads.var.equal(0))
    x, y = np.arange(128, dtype="float32").reshape(4, 32), np.zeros(4, "float32")
    build(te.apply_schedule(s, [a, b]).mod, "cuda-emulated")(x, y)
    assert (y == x.sum(1)).all()


def test_threads_reduce_rows_of_unknown_length() -> None:
    n, m = te.var("n"), te.var("m")
    a = te.placeholder((n, m), name="A")
    k = te.reduce_axis((0, m), name="k")
    b = te.compute((n,), lambda i: te.sum(a[i, k], axis=k), name="B")
    s = te.create_schedule(b.op)
    _, inner = s[b].split(k, factor=8)
    partial = s.rfactor(b, inner)
    outer, row = s[b].split(s[b].op.axis[0], factor=4)
    s[b].bind(outer, te.thread_axis("blockIdx.x"))
    s[b].bind(row, te.thread_axis("threadIdx.y"))
    s[b].bind(s[b].op.reduce_axis[0], te.thread_axis("threadIdx.x"))
    s[partial].compute_at(s[b], s[b].op.reduce_axis[0])
    program = build(te.apply_schedule(s, [a, b]).mod, "cuda-emulated")
    assert "float B_rf[1];" in program.source("cuda")
    for shape in ((6, 19), (4, 8), (1, 3)):
        x, y = np.arange(np.prod(shape), dtype="float32").reshape(shape), np.zeros(shape[0], "float32")
        program(x, y)
        assert (y == x.sum(1)).all()


@pytest.mark.parametrize(("place", "scope"), [("blockIdx.x", "shared"), ("threadIdx.x", "local")])
def test_a_stage_without_a_scope_is_in_the_memory_of_those_who_compute_it(place: str, scope: str) -> None:
    a = te.placeholder((4, 8), name="A")
    b = te.compute((4, 8), lambda i, j: a[i, j] + 1.0, name="B")
    c = te.compute((4, 8), lambda i, j: b[i, j] * 2.0, name="C")
    s = te.create_schedule(c.op)
    axes: dict[str, te.IterVar] = dict(zip(("blockIdx.x", "threadIdx.x"), c.op.axis, strict=True))
    for thread, axis in axes.items():
        s[c].bind(axis, te.thread_axis(thread))
    s[b].compute_at(s[c], axes[place])
    if place == "blockIdx.x":
        s[b].bind(b.op.axis[1], te.thread_axis("threadIdx.x"))
    mod = te.apply_schedule(s, [a, c]).mod
    assert f'scope="{scope}"' in mod.script()
    x, y = np.arange(32, dtype="float32").reshape(4, 8), np.zeros((4, 8), "float32")
    build(mod, "cuda-emulated")(x, y)
    assert (y == (x + 1) * 2).all()


def test_each_step_of_a_scan_is_a_kernel() -> None:
    m, n = te.var("m"), te.var("n")
    x = te.placeholder((m, n), name="X")
    state = te.placeholder((m, n))
    init: Any = te.compute((1, n), lambda _, i: x[0, i])
    update: Any = te.compute((m, n), lambda t, i: state[t - 1, i] + x[t, i])
    scan = te.scan(init, update, state, inputs=[x])
    s = te.create_schedule(scan.op)
    for tensor in (init, update):
        outer, inner = s[tensor].split(tensor.op.axis[1], factor=4)
        s[tensor].bind(outer, te.thread_axis("blockIdx.x"))
        s[tensor].bind(inner, te.thread_axis("threadIdx.x"))
    a = np.arange(30, dtype="float32").reshape(5, 6)
    sums = np.zeros_like(a)
    build(te.apply_schedule(s, [x, scan]).mod, "cuda-emulated")(a, sums)
    assert (sums == a.cumsum(0)).all()


def test_an_output_that_is_left_out_is_memory_of_the_function() -> None:
    a = te.placeholder((8,), name="A")
    b = te.compute((8,), lambda i: a[i] + 1.0, name="B")
    text = te.apply_schedule(te.create_schedule(b.op), [a]).mod.script()
    assert "def main(A: " in text
    assert "B = T.alloc_buffer((8,))" in text


def test_a_whole_float_is_a_size() -> None:
    assert [int(extent) for extent in te.placeholder((64 / 16, 2)).shape] == [4, 2]  # pyright: ignore[reportArgumentType]
    with pytest.raises(te.TeError, match=r"0.5, expected an integer"):
        te.placeholder((1 / 2,))


def test_a_pure_c_function_is_an_expression() -> None:
    a = te.placeholder((4,), name="A")
    b = te.compute((4,), lambda i: te.call_pure_extern("float32", "cosf", a[i]), name="B")
    x, y = np.arange(4, dtype="float32"), np.zeros(4, "float32")
    build(te.create_prim_func([a, b]))(x, y)
    np.testing.assert_allclose(y, np.cos(x), rtol=1e-6)


def test_virtual_threads_in_threads_move_around_them() -> None:
    a, w = te.placeholder((8, 10), name="A"), te.placeholder((8, 4), name="W")
    k = te.reduce_axis((0, 4), "k")
    b = te.compute((8, 10), lambda i, j: te.sum(a[i, j] * w[i, k], axis=k), name="B")
    s = te.create_schedule(b.op)
    shared, local = s.cache_read(w, "shared", [b]), s.cache_write(b, "local")
    i_o, i_i = s[b].split(b.op.axis[0], factor=4)
    j_o, j_i = s[b].split(b.op.axis[1], factor=4)
    y, x = te.thread_axis("threadIdx.y"), te.thread_axis("threadIdx.x")
    s[b].bind(i_o, te.thread_axis("blockIdx.x"))
    s[b].bind(i_i, y)
    s[b].bind(j_o, te.thread_axis("vthread"))
    s[b].bind(j_i, x)
    s[local].compute_at(s[b], j_i)
    s[shared].compute_at(s[local], local.op.reduce_axis[0])
    s[shared].bind(shared.op.axis[0], y)  # pyright: ignore[reportAttributeAccessIssue]
    sch = te.apply_schedule(s, [a, w, b])
    tags = re.findall(r"thread=\"([a-zA-Z.]+)\"", sch.mod.script())
    assert tags[:4] == ["blockIdx.x", "vthread", "threadIdx.y", "threadIdx.x"]
    rng = np.random.default_rng(2)
    rows, factors = (rng.integers(-4, 4, shape).astype("float32") for shape in ((8, 10), (8, 4)))
    got = np.full((8, 10), -1, "float32")
    build(sch.mod, "python")(rows, factors, got)
    np.testing.assert_array_equal(got, rows * factors.sum(1, keepdims=True))


def test_a_thread_without_a_loop_may_store_a_result() -> None:
    a = te.placeholder((8,), name="A")
    k = te.reduce_axis((0, 8), name="k")
    b = te.compute((1,), lambda i: te.sum(a[k], axis=k), name="B")
    s = te.create_schedule(b.op)
    s[b].set_store_predicate(te.thread_axis("threadIdx.x").var.equal(0))
    y = np.zeros(1, "float32")
    build(te.apply_schedule(s, [a, b]).mod)(np.ones(8, "float32"), y)
    assert y == 8

"""The bounds of the axes of a schedule of tensors: `tvm.te.schedule`."""

from typing import Any

import numpy as np

import stepwell.frontends.tvm as tvm
from stepwell.frontends.tvm import te


def stages(shape: Any) -> tuple[Any, Any, Any, Any]:
    a = te.placeholder(shape, name="A")
    b = te.compute(shape, lambda i, j: a[i, j] + 1.0, name="B")
    c = te.compute(shape, lambda i, j: b[i, j] * 2.0, name="C")
    return a, b, c, te.create_schedule(c.op)


def text(bounds: Any, axis: Any) -> str:
    return f"{bounds[axis].min} {bounds[axis].extent}"


def test_axes_of_a_stage_in_a_loop_begin_at_expressions_of_its_axes() -> None:
    m, n = te.var("m"), te.var("n")
    _, b, c, s = stages((m, n))
    x_o, y_o, x_i, y_i = s[c].tile(*c.op.axis, 8, 4)
    s[b].compute_at(s[c], y_o)
    bounds = tvm.te.schedule.InferBound(s.normalize())
    assert isinstance(bounds, tvm.container.Map)
    assert [text(bounds, axis) for axis in (x_o, y_o, x_i, y_i)] == [
        "0 (m + 7) // 8", "0 (n + 3) // 4", "0 8", "0 4"
    ]  # fmt: skip
    assert [text(bounds, axis) for axis in b.op.axis] == ["i.outer * 8 8", "j.outer * 4 4"]
    assert bounds[c.op.axis[0]].extent is m


def test_splits_are_no_longer_than_the_loop() -> None:
    _, _, c, s = stages((8, 6))
    i_o, i_i = s[c].split(c.op.axis[0], factor=32)
    j_o, j_i = s[c].split(c.op.axis[1], nparts=32)
    bounds = tvm.te.schedule.InferBound(s)
    assert [bounds[axis].extent.value for axis in (i_o, i_i, j_o, j_i)] == [1, 8, 6, 1]


def test_threads_and_fused_axes_have_bounds() -> None:
    _, b, c, s = stages((8, 6))
    fused = s[c].fuse(*c.op.axis)
    outer, inner = s[c].split(fused, 16)
    thread = te.thread_axis("threadIdx.x")
    s[c].bind(inner, thread)
    s[b].compute_inline()
    bounds = tvm.te.schedule.InferBound(s)
    assert [text(bounds, axis) for axis in (fused, outer, inner, thread)] == ["0 48", "0 3", "0 16", "0 16"]
    assert b.op.axis[0] not in bounds


def test_the_loops_of_a_schedule_are_statements() -> None:
    _, b, c, s = stages((8, 6))
    s[b].compute_at(s[c], c.op.axis[0])
    stmt = tvm.te.schedule.ScheduleOps(s, tvm.te.schedule.InferBound(s))
    loops: list[str] = []
    tvm.tir.stmt_functor.post_order_visit(
        stmt, lambda node: loops.append(node.loop_var.name) if isinstance(node, tvm.tir.For) else None
    )
    assert loops == ["j", "j", "i"]


def test_the_graph_of_operations() -> None:
    a = te.placeholder((4,), name="A")
    b = te.compute((4,), lambda i: a[i] + 1.0, name="B")
    c = te.compute((4,), lambda i: b[i] + a[i], name="C")
    graph = te.schedule.CreateReadGraph([c.op])
    assert graph == {c.op: [b, a], b.op: [a], a.op: []}
    assert te.schedule.PostDFSOrder([c.op], graph) == [a.op, b.op, c.op]


def test_the_first_step_of_a_reduction_has_the_axes_of_the_sum() -> None:
    a = te.placeholder((4, 6, 8), name="A")
    k, m = te.reduce_axis((0, 6), "k"), te.reduce_axis((0, 8), "m")
    b = te.compute((4,), lambda i: te.sum(a[i, k, m], [k, m]), name="B")
    s = te.create_schedule(b.op)
    first = s.rfactor(b, m)
    assert first.op.reduce_axis == (k,)
    s[first].split(k, 2)
    array, result = np.arange(192, dtype="float32").reshape(4, 6, 8), tvm.nd.empty((4,))
    tvm.build(s, [a, b])(tvm.nd.array(array), result)
    np.testing.assert_allclose(result.numpy(), array.sum((1, 2)))


def test_tensors_with_the_tag_broadcast_are_inlined() -> None:
    a, b = te.placeholder((1,), name="A"), te.placeholder((4,), name="B")
    c = te.compute((4,), lambda i: a[0] * b[i], name="C", tag="broadcast")
    d = te.compute((4,), lambda i: c[i] + 1.0, name="D")
    s = te.create_schedule(d.op)
    te.schedule.AutoInlineBroadcast(s)
    assert s[c].attach_type == 2

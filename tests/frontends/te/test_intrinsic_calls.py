"""Tensors whose innermost dimensions an intrinsic computes, and groups of stages."""

from typing import Any

import numpy as np
import pytest

import stepwell.frontends.tvm as tvm
from stepwell.frontends.te import TeError
from stepwell.frontends.tvm import te, tir

RNG = np.random.default_rng(0)


def add(n: int) -> Any:
    """The intrinsic of sums of two vectors."""
    x, y = te.placeholder((n,), name="x"), te.placeholder((n,), name="y")
    z = te.compute((n,), lambda i: x[i] + y[i], name="z")

    def calls(ins: Any, outs: Any) -> Any:
        ib = tir.ir_builder.create()
        with ib.for_range(0, n, name="q") as q:
            ib.emit(outs[0].vstore([q], ins[0].vload([q]) + ins[1].vload([q])))
        return ib.get()

    return te.decl_tensor_intrin(z.op, calls)


def gemv(m: int, n: int) -> Any:
    """The intrinsic of products of a matrix and a vector, with calls for its init and update."""
    w, x = te.placeholder((m, n), name="w"), te.placeholder((n,), name="x")
    k = te.reduce_axis((0, n), name="k")
    z = te.compute((m,), lambda i: te.sum(w[i, k] * x[k], axis=k), name="z")
    matrix = tir.decl_buffer(w.shape, w.dtype, name="W", offset_factor=1, strides=[te.var("ldw"), 1])

    def calls(ins: Any, outs: Any) -> Any:
        def part(clears: bool, adds: bool) -> Any:
            ib = tir.ir_builder.create()
            with ib.for_range(0, m, name="p") as p:
                if clears:
                    ib.emit(outs[0].vstore([p], 0.0))
                if adds:
                    with ib.for_range(0, n, name="q") as q:
                        product = ins[0].vload([p, q]) * ins[1].vload([q])
                        ib.emit(outs[0].vstore([p], outs[0].vload([p]) + product))
            return ib.get()

        return part(True, True), part(True, False), part(False, True)

    return te.decl_tensor_intrin(z.op, calls, binds={w: matrix})


def run(s: Any, tensors: list[Any], *arrays: Any) -> Any:
    result = np.zeros([int(size) for size in tensors[-1].shape], "float32")
    tvm.build(s, tensors)(*arrays, result)
    return result


def test_intrinsics_compute_inner_dimensions() -> None:
    a, b = te.placeholder((4, 16), name="A"), te.placeholder((4, 16), name="B")
    more = te.compute((4, 16), lambda i, j: b[i, j] + 5, name="more")
    intrin = add(16)
    c = te.compute((4, 16), lambda i: intrin(a[i, 0:16], more[i]), name="C")
    s = te.create_schedule(c.op)
    s[more].compute_at(s[c], c.op.axis[0])
    x, y = (RNG.random((4, 16), dtype="float32") for _ in range(2))
    np.testing.assert_allclose(run(s, [a, b, c], x, y), x + y + 5, rtol=1e-6)
    assert " q in " in str(tvm.lower(s, [a, b, c])) or "for q" in str(tvm.lower(s, [a, b, c]))


def test_results_are_added_along_axes() -> None:
    a, b = te.placeholder((2, 4, 8, 4), name="A"), te.placeholder((32, 4, 4), name="B")
    k = te.reduce_axis((0, 4), name="k")
    intrin = gemv(8, 4)
    c = te.compute((32, 2, 8), lambda i, j: intrin(a[j, k, 0:8, 0:4], b[i, k, 0:4], reduce_axis=k), name="C")
    s = te.create_schedule(c.op)
    i, j, _ = s[c].op.axis
    outer, inner = s[c].split(i, 16)
    s[c].reorder(outer, j, inner)
    x, y = RNG.random((2, 4, 8, 4), dtype="float32"), RNG.random((32, 4, 4), dtype="float32")
    np.testing.assert_allclose(run(s, [a, b, c], x, y), np.einsum("jkpq,ikq->ijp", x, y), rtol=1e-5)


def test_parts_at_other_places() -> None:
    a, b = te.placeholder((4, 16), name="A"), te.placeholder((16,), name="B")
    intrin = add(8)
    c = te.compute((4, 8), lambda i: intrin(a[3 - i, 8:16], b[0:8]), name="C")
    x, y = RNG.random((4, 16), dtype="float32"), RNG.random(16, dtype="float32")
    np.testing.assert_array_equal(run(te.create_schedule(c.op), [a, b, c], x, y), x[::-1, 8:] + y[:8])


def test_errors() -> None:
    a, intrin = te.placeholder((4, 16), name="A"), add(16)
    for fcompute, message in (
        (lambda i: a[i, 0], "a function of 1 variables for 2 dimensions"),
        (lambda i: intrin(a[i]), "1 inputs, expected 2"),
        (lambda i: intrin(a[i], 3), "input 3, expected a part of a tensor"),
        (lambda i: intrin(a[i, 0:8, 0:8], a[i]), "part of A"),
        (lambda i: intrin(a[i, 3], a[i]), "input A\\[i, 3\\], expected a part"),
    ):
        with pytest.raises(TeError, match=message):
            te.compute((4, 16), fcompute)


def chain() -> tuple[Any, ...]:
    n = te.size_var("n")
    x = te.compute((n, n), lambda i, j: tir.const(1, "float32"), name="x")
    y = te.compute((n, n), lambda *i: x(*i) + 1, name="y")
    z = te.compute((n, n), lambda *i: y(*i) + 2, name="z")
    return x, y, z, te.create_schedule(z.op)


def test_groups_contain_groups() -> None:
    x, y, _, s = chain()
    inner = s.create_group(outputs=y, inputs=x)
    outer = s.create_group(outputs=y, inputs=x, include_inputs=True)
    assert s.groups == [inner, outer]
    assert (s[x].group, s[y].group, inner.group, outer.group) == (outer, inner, outer, None)
    assert (inner.num_child_stages, outer.num_child_stages) == (1, 2)


def test_groups_have_places() -> None:
    x, y, z, s = chain()
    group = s.create_group(outputs=y, inputs=x, include_inputs=True)
    group.compute_at(s[z], z.op.axis[1])
    assert group.attach_stage == s[z]
    assert group.attach_ivar is z.op.axis[1]
    cache = s.cache_read(x, "local", [y])
    assert s[cache].group == group
    with pytest.raises(TeError, match="outside of the group"):
        s[x].compute_at(s[z], z.op.axis[0])

"""Legacy schedules: the loops of TVM, and the results of the tensor expressions."""

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given

import stepwell
from stepwell import ScheduleError, UnsupportedError, build
from stepwell.backends.runtime import register_func
from stepwell.frontends import te
from stepwell.frontends.te import TeError
from stepwell.tools.testing.legacy_schedules import (
    LegacySchedule,
    check_legacy_schedule,
    legacy_schedules,
    numbers,
    run_schedule,
)
from stepwell.tools.testing.scheduling import check_same_outputs


def structure(sch: stepwell.Schedule) -> str:
    """The loops and blocks of a program, without the bodies of the blocks."""
    kept: list[str] = []
    inside: int | None = None
    for line in sch.mod.script().split('# with T.block("root"):')[1].splitlines()[1:]:
        depth = len(line) - len(line.lstrip())
        if inside is not None and depth > inside:
            continue
        inside = depth if "with T.block" in line else None
        kept.append(line[8:])
    return re.sub(r'with T.block\("(\w+)"\):', r"\1", "\n".join(kept))


def matmul(m: int, n: int, k: int) -> tuple[Any, Any, Any, Any]:
    r = te.reduce_axis((0, k), "k")
    a = te.placeholder((m, k), name="A")
    b = te.placeholder((k, n), name="B")
    return a, b, te.compute((m, n), lambda i, j: te.sum(a[i, r] * b[r, j], axis=r), name="C"), r


# Loops


def test_a_vector_addition_is_split_and_vectorized() -> None:
    a, b = te.placeholder((100,), name="A"), te.placeholder((100,), name="B")
    c = te.compute((100,), lambda i: a[i] + b[i], name="C")
    s = te.create_schedule(c.op)
    outer, inner = s[c].split(c.op.axis[0], factor=8)
    s[c].vectorize(inner)
    s[c].parallel(outer)
    sch = te.apply_schedule(s, [a, b, c])
    expected = "for i_outer in T.parallel(13):\n    for i_inner in T.vectorized(8):\n        C"
    assert structure(sch) == expected
    x, y = numbers(100), numbers(100) * 2
    np.testing.assert_array_equal(run_schedule(sch, x, y, shape=(100,)), x + y)


def test_nparts_counts_the_outer_loop() -> None:
    a = te.placeholder((100,), name="A")
    c = te.compute((100,), lambda i: a[i] * 2.0, name="C")
    s = te.create_schedule([c.op])
    outer, inner = s[c].split(c.op.axis[0], nparts=np.int64(7))
    assert s[c].leaf_iter_vars == [outer, inner]
    assert structure(te.apply_schedule(s, [a, c])) == "for i_outer, i_inner in T.grid(7, 15):\n    C"


def test_a_stage_states_all_axes_that_it_has_had() -> None:
    a = te.placeholder((8, 8), name="a")
    b = te.compute((8, 8), lambda i, j: a[i, j] + 1, name="b")
    s = te.create_schedule(b.op)
    i, j = s[b].op.axis
    outer, inner = s[b].split(i, factor=4)
    fused = s[b].fuse(inner, j)
    assert s[b].all_iter_vars == [i, j, outer, inner, fused]
    assert s[b].leaf_iter_vars == [outer, fused]


def test_loops_are_fused_by_name() -> None:
    a = te.placeholder((4, 6), name="A")
    c = te.compute((4, 6), lambda i, j: a[i, j] * 2.0, name="C")
    s = te.create_schedule(c.op)
    fused = s[c].fuse(*c.op.axis)
    outer, _ = s[c].split(fused, factor=5)
    s[c].parallel(outer)
    sch = te.apply_schedule(s, [a, c])
    assert structure(sch) == ("for i_j_fused_outer in T.parallel(5):\n    for i_j_fused_inner in range(5):\n        C")
    x = numbers(4, 6)
    np.testing.assert_array_equal(run_schedule(sch, x, shape=(4, 6)), x * 2)


def test_loops_are_fused_in_their_order() -> None:
    a = te.placeholder((4, 6), name="A")
    c = te.compute((4, 6), lambda i, j: a[i, j] * 2.0, name="C")
    s = te.create_schedule(c.op)
    i, j = c.op.axis
    fused = s[c].fuse(j, i)
    assert fused.var.name == "i.j.fused"
    s[c].pragma(fused, "unroll")
    sch = te.apply_schedule(s, [a, c])
    assert structure(sch) == "for i_j_fused in T.unroll(24):\n    C"
    x = numbers(4, 6)
    np.testing.assert_array_equal(run_schedule(sch, x, shape=(4, 6)), x * 2)


def test_no_loops_are_fused_to_a_loop_of_one_iteration() -> None:
    a, k = te.placeholder((8,), name="A"), te.reduce_axis((0, 8), "k")
    c = te.compute((), lambda: te.sum(a[k], axis=k), name="C")
    s = te.create_schedule(c.op)
    outer, inner = s[c].split(s[c].fuse(*c.op.axis), factor=4)
    s[c].bind(outer, te.thread_axis("blockIdx.x"))
    s[c].bind(inner, te.thread_axis("threadIdx.x"))
    sch = te.apply_schedule(s, [a, c])
    assert structure(sch).startswith(
        'for singleton_outer in T.thread_binding(1, thread="blockIdx.x"):\n'
        '    for singleton_inner in T.thread_binding(4, thread="threadIdx.x"):'
    )
    x, y = np.arange(8, dtype="float32"), np.zeros((), "float32")
    build(sch.mod, target="python")(x, y)
    assert y == 28


def test_the_place_and_the_loops_of_a_stage_have_numbers() -> None:
    a = te.placeholder((8, 8), name="A")
    b = te.compute((8, 8), lambda i, j: a[i, j] + 1.0, name="B")
    c = te.compute((8, 8), lambda i, j: b[i, j] * 2.0, name="C")
    s = te.create_schedule(c.op)
    assert (s[b].attach_type, s[b].attach_ivar, s[b].attach_stage) == (1, None, None)
    outer, inner = s[c].split(c.op.axis[0], 4)
    s[b].compute_at(s[c], outer)
    assert (s[b].attach_type, s[b].attach_ivar, s[b].attach_stage) == (4, outer, s[c])
    s[c].unroll(inner)
    s[c].vectorize(c.op.axis[1])
    s[c].pragma(outer, "mark", 3)
    found = s[c].iter_var_attrs
    assert (found[inner].iter_type, found[c.op.axis[1]].iter_type) == (te.IterVar.Unrolled, te.IterVar.Vectorized)
    assert [key.value for key in found[outer].pragma_keys] == ["mark"]
    assert found[outer].pragma_values == (3,)
    s[b].compute_inline()
    assert s[b].attach_type == 2


def test_what_was_said_of_a_loop_goes_with_it() -> None:
    a = te.placeholder((8,), name="A")
    c = te.compute((8,), lambda i: a[i] * 2.0, name="C")
    s = te.create_schedule(c.op)
    s[c].vectorize(c.op.axis[0])
    s[c].split(c.op.axis[0], factor=4)
    assert structure(te.apply_schedule(s, [a, c])) == "for i_outer, i_inner in T.grid(2, 4):\n    C"


def test_pragmas_are_annotations() -> None:
    a = te.placeholder((4,), name="A")
    c = te.compute((4,), lambda i: a[i] * 2.0, name="C")
    s = te.create_schedule(c.op)
    s[c].pragma(c.op.axis[0], "auto_unroll_max_step", 16)
    s[c].pragma(c.op.axis[0], "unroll_explicit")
    text = te.apply_schedule(s, [a, c]).mod.script()
    assert 'annotations={"pragma_auto_unroll_max_step": 16, "pragma_unroll_explicit": 1}' in text


# The tutorial on matrix products

BLOCKED = """\
for i_outer, j_outer in T.grid(2, 3):
    for i_inner_init, j_inner_init in T.grid(32, 16):
        C_init
    for k_outer, k_inner, i_inner, j_inner in T.grid(8, 4, 32, 16):
        C_update"""


def blocked(size: tuple[int, int, int] = (64, 48, 32)) -> tuple[Any, list[Any], list[Any]]:
    a, b, c, k = matmul(*size)
    s = te.create_schedule(c.op)
    i_o, j_o, i_i, j_i = s[c].tile(c.op.axis[0], c.op.axis[1], 32, 16)
    k_o, k_i = s[c].split(k, factor=4)
    s[c].reorder(i_o, j_o, k_o, k_i, i_i, j_i)
    return s, [a, b, c], [i_o, j_o, k_o, k_i, i_i, j_i]


def check_matmul(sch: stepwell.Schedule, m: int = 64, n: int = 48, k: int = 32) -> None:
    x, y = numbers(m, k), numbers(k, n)
    np.testing.assert_allclose(run_schedule(sch, x, y, shape=(m, n)), x @ y, rtol=1e-4, atol=1e-4)


def test_blocks_of_a_matrix_product() -> None:
    s, args, _ = blocked()
    sch = te.apply_schedule(s, args)
    assert structure(sch) == BLOCKED
    check_matmul(sch)


def test_vectors_also_of_the_init() -> None:
    s, (a, b, c), (i_o, _, _, k_i, _, j_i) = blocked()
    s[c].vectorize(j_i)
    s[c].unroll(k_i)
    s[c].parallel(i_o)
    sch = te.apply_schedule(s, [a, b, c])
    lines = [line.strip() for line in structure(sch).splitlines() if "(" in line]
    assert lines == [
        "for i_outer in T.parallel(2):",
        "for j_outer in range(3):",
        "for i_inner_init in range(32):",
        "for j_inner_init in T.vectorized(16):",
        "for k_outer in range(8):",
        "for k_inner in T.unroll(4):",
        "for i_inner in range(32):",
        "for j_inner in T.vectorized(16):",
    ]
    check_matmul(sch)


def test_permuted_loops_of_a_matrix_product() -> None:
    s, (a, b, c), (i_o, j_o, k_o, k_i, i_i, j_i) = blocked()
    s[c].reorder(i_o, j_o, k_o, i_i, k_i, j_i)
    sch = te.apply_schedule(s, [a, b, c])
    assert structure(sch) == BLOCKED.replace(
        "k_inner, i_inner, j_inner in T.grid(8, 4, 32", "i_inner, k_inner, j_inner in T.grid(8, 32, 4"
    )
    check_matmul(sch)


def test_sizes_that_tiles_do_not_divide() -> None:
    s, args, _ = blocked((50, 35, 13))
    check_matmul(te.apply_schedule(s, args), 50, 35, 13)


@pytest.mark.parametrize(("n", "tile"), [(16, (4, 8)), (10, (4, 3))])
@pytest.mark.parametrize("is_fused", [False, True])
def test_a_cache_after_divided_loops_has_them_as_dimensions(n: int, tile: tuple[int, int], is_fused: bool) -> None:
    a, b, r = te.placeholder((n, 5), name="A"), te.placeholder((5, n), name="B"), te.reduce_axis((0, 5), "k")
    c = te.compute((n, n), lambda i, j: te.sum(a[i, r] * b[r, j], axis=r), name="C")
    d = te.compute((n, n), lambda i, j: c[i, j] + a[i, 0], name="D")
    s = te.create_schedule(d.op)
    caches = []
    for tensor in (c, d):
        i, j = tensor.op.axis
        i_o, j_o, _, _ = s[tensor].tile(i, j, tile[0], tile[1])
        if is_fused:
            s[tensor].fuse(i_o, j_o)
        caches.append(s.cache_write(tensor, "local"))
    outer = [-(-n // size) for size in tile]
    assert [int(size) for size in caches[0].shape] == [*([outer[0] * outer[1]] if is_fused else outer), *tile]
    assert [axis.var.name for axis in s[c].leaf_iter_vars] == ["i", "j"]
    s[caches[0]].compute_at(s[c], s[c].op.axis[0])
    x, y = np.random.default_rng(0).random((2, n, 5), np.float32)
    z = np.zeros((n, n), "float32")
    stepwell.build(te.apply_schedule(s, [a, b, d]).mod)(x, np.ascontiguousarray(y.T), z)
    np.testing.assert_allclose(z, x @ y.T + x[:, :1], rtol=1e-5)


def test_a_packed_array_and_a_cache_that_is_written() -> None:
    m, n, k = 64, 48, 32
    r = te.reduce_axis((0, k), "k")
    a, b = te.placeholder((m, k), name="A"), te.placeholder((k, n), name="B")
    packed = te.compute((n // 16, k, 16), lambda bigN, k, littleN: b[k, bigN * 16 + littleN], name="packedB")
    c = te.compute((m, n), lambda i, j: te.sum(a[i, r] * packed[j // 16, r, te.indexmod(j, 16)], axis=r), name="C")
    s = te.create_schedule(c.op)
    cached = s.cache_write(c, "global")
    i_o, j_o, _, _ = s[c].tile(c.op.axis[0], c.op.axis[1], 32, 16)
    s[cached].compute_at(s[c], j_o)
    i_c, j_c = s[cached].op.axis
    (k_axis,) = s[cached].op.reduce_axis
    k_o, k_i = s[cached].split(k_axis, factor=4)
    s[cached].reorder(k_o, i_c, k_i, j_c)
    s[cached].unroll(k_i)
    s[cached].vectorize(j_c)
    s[c].parallel(i_o)
    big, _, little = s[packed].op.axis
    s[packed].vectorize(little)
    s[packed].parallel(big)
    sch = te.apply_schedule(s, [a, b, c])
    assert (
        structure(sch)
        == """\
packedB = T.alloc_buffer((3, 32, 16))
C_global = T.alloc_buffer((64, 48))
for bigN in T.parallel(3):
    for k in range(32):
        for littleN in T.vectorized(16):
            packedB
for i_outer in T.parallel(2):
    for j_outer in range(3):
        for i_c_init in range(32):
            for j_c_init in T.vectorized(16):
                C_global_init
        for k_outer, i_c in T.grid(8, 32):
            for k_inner in T.unroll(4):
                for j_c in T.vectorized(16):
                    C_global_update
        for i_inner, j_inner in T.grid(32, 16):
            C"""
    )
    check_matmul(sch)


# Stages


def convolution() -> tuple[list[Any], Any, Any, Any]:
    a, w = te.placeholder((3, 14, 14), name="A"), te.placeholder((4, 3, 3, 3), name="W")
    pad = te.compute(
        (3, 16, 16),
        lambda c, y, x: te.if_then_else(te.all(y >= 1, y < 15, x >= 1, x < 15), a[c, y - 1, x - 1], 0.0),
        name="P",
    )
    rc, ry, rx = (te.reduce_axis((0, 3), name) for name in ("rc", "ry", "rx"))
    conv = te.compute(
        (4, 14, 14), lambda f, y, x: te.sum(pad[rc, y + ry, x + rx] * w[f, rc, ry, rx], axis=[rc, ry, rx]), name="C"
    )
    relu = te.compute((4, 14, 14), lambda f, y, x: te.max(conv[f, y, x], 0.0), name="R")
    return [a, w, relu], pad, conv, relu


def convolved(x: np.ndarray, w: np.ndarray) -> np.ndarray:
    padded = np.pad(x, ((0, 0), (1, 1), (1, 1)))
    windows = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), axis=(1, 2))
    return np.maximum(np.einsum("cyxij,fcij->fyx", windows, w), 0)


@pytest.mark.parametrize("is_inlined", [True, False])
def test_a_convolution_in_the_loops_of_what_reads_it(is_inlined: bool) -> None:
    args, pad, conv, relu = convolution()
    s = te.create_schedule(relu.op)
    f, y, _ = relu.op.axis
    s[conv].compute_at(s[relu], f)  # applied before the creation of the final enclosing loop
    y_o, _ = s[relu].split(y, factor=4)
    s[conv].compute_at(s[relu], y_o)
    if is_inlined:
        s[pad].compute_inline()
    else:
        s[pad].compute_at(s[relu], y_o)
    s[relu].parallel(f)
    sch = te.apply_schedule(s, args)
    window = "" if is_inlined else "\n        for c, y, x in T.grid(3, 6, 16):\n            P"
    buffers = "" if is_inlined else "P = T.alloc_buffer((3, 16, 16))\n"
    assert (
        structure(sch)
        == f"""\
{buffers}C = T.alloc_buffer((4, 14, 14))
for f in T.parallel(4):
    for y_outer in range(4):{window}
        for y, x in T.grid(4, 14):
            C_init
            for rc, ry, rx in T.grid(3, 3, 3):
                C_update
        for y_inner, x in T.grid(4, 14):
            R"""
    )
    image, weights = numbers(3, 14, 14), numbers(4, 3, 3, 3)
    np.testing.assert_allclose(
        run_schedule(sch, image, weights, shape=(4, 14, 14)), convolved(image, weights), 1e-4, 1e-4
    )


def test_the_order_in_which_stages_are_spoken_of_does_not_matter() -> None:
    texts: list[str] = []
    for is_first in (True, False):
        args, pad, conv, relu = convolution()
        s = te.create_schedule(relu.op)
        if is_first:
            s[conv].compute_at(s[relu], relu.op.axis[0])
            s[conv].vectorize(conv.op.axis[2])
        s[relu].split(relu.op.axis[1], factor=7)
        s[pad].compute_inline()
        if not is_first:
            s[conv].vectorize(conv.op.axis[2])
            s[conv].compute_at(s[relu], relu.op.axis[0])
        texts.append(te.apply_schedule(s, args).mod.script())
    assert texts[0] == texts[1]


def test_a_stage_of_which_one_element_is_needed_has_no_loops() -> None:
    a = te.placeholder((8, 8), name="A")
    b = te.compute((8, 8), lambda i, j: a[i, j] + 1.0, name="B")
    c = te.compute((8, 8), lambda i, j: b[j, i] * 2.0, name="C")
    s = te.create_schedule(c.op)
    s[b].compute_at(s[c], c.op.axis[1])
    assert structure(te.apply_schedule(s, [a, c])).endswith("for i, j in T.grid(8, 8):\n    B\n    C")
    s[b].compute_at(s[c], c.op.axis[0])
    assert structure(te.apply_schedule(s, [a, c])).endswith(
        "for i in range(8):\n    for i_1 in range(8):\n        B\n    for j in range(8):\n        C"
    )


def test_a_stage_stays_at_a_loop_that_is_split_and_fused() -> None:
    a = te.placeholder((8, 12), name="A")
    b = te.compute((8, 12), lambda i, j: a[i, j] + 1.0, name="B")
    c = te.compute((8, 12), lambda i, j: b[i, j] * 2.0, name="C")
    s = te.create_schedule(c.op)
    i, j = c.op.axis
    s[b].compute_at(s[c], j)
    outer, _ = s[c].split(j, factor=3)
    s[c].fuse(i, outer)
    expected = "for i_j_outer_fused, j_inner in T.grid(32, 3):\n    B\n    C"
    assert expected in structure(te.apply_schedule(s, [a, c]))
    s = te.create_schedule(c.op)
    s[b].compute_at(s[c], i)
    s[c].fuse(i, j)
    with pytest.raises(TeError, match=r"stage B is computed at axis i of stage C .*, which was fused with loops in it"):
        te.apply_schedule(s, [a, c])
    s = te.create_schedule(c.op)
    s[b].compute_at(s[c], j)
    s[c].fuse(i, j)
    assert "for i_j_fused in range(96):\n    B\n    C" in structure(te.apply_schedule(s, [a, c]))


def test_compute_root_takes_back_where_a_stage_was() -> None:
    args, pad, conv, relu = convolution()
    s = te.create_schedule(relu.op)
    plain = te.apply_schedule(s, args).mod.script()
    s[pad].compute_inline()
    s[conv].compute_at(s[relu], relu.op.axis[0])
    s[pad].compute_root()
    s[conv].compute_root()
    assert te.apply_schedule(s, args).mod.script() == plain


def test_a_copy_is_read_by_the_readers_that_are_named() -> None:
    a = te.placeholder((8, 8), name="A")
    b = te.compute((8, 8), lambda i, j: a[i, j] + 1.0, name="B")
    c = te.compute((8, 8), lambda i, j: a[j, i] + b[i, j], name="C")
    s = te.create_schedule(c.op)
    copy = s.cache_read(a, "local", [c])
    s[copy].compute_at(s[c], c.op.axis[0])
    assert [stage.name for stage in s.stages] == ["A", "A.local", "B", "C"]
    assert s.outputs == [s[c].op]
    sch = te.apply_schedule(s, [a, c])
    assert (
        structure(sch)
        == """\
A_local = T.alloc_buffer((8, 8), scope="local")
B = T.alloc_buffer((8, 8))
for i, j in T.grid(8, 8):
    B
for i in range(8):
    for ax0 in range(8):
        A_local
    for j in range(8):
        C"""
    )
    assert "B[v_i, v_j] = A[v_i, v_j]" in sch.mod.script()
    assert "C[v_i, v_j] = A_local[v_j, v_i]" in sch.mod.script()
    x = numbers(8, 8)
    np.testing.assert_allclose(run_schedule(sch, x, shape=(8, 8)), x.T + x + 1, rtol=1e-6)


def test_a_tensor_in_between_has_a_scope_and_alignment() -> None:
    a = te.placeholder((8, 8), name="A")
    b = te.compute((8, 8), lambda i, j: a[i, j] + 1.0, name="B")
    c = te.compute((8, 8), lambda i, j: b[i, j] * 2.0, name="C")
    s = te.create_schedule(c.op)
    s[b].set_scope("shared")
    s[b].storage_align(b.op.axis[0], 16, 4)
    s[b].double_buffer()
    text = te.apply_schedule(s, [a, c]).mod.script()
    assert 'B = T.alloc_buffer((8, 8), scope="shared")' in text
    assert 'T.block_attr({"buffer_dim_align": [[0, 0, 16, 4]], "double_buffer_scope": 0})' in text


def test_a_parameter_that_is_inlined_is_not_written() -> None:
    a = te.placeholder((8,), name="A")
    b = te.compute((8,), lambda i: a[i] + 1.0, name="B")
    c = te.compute((8,), lambda i: b[i] * 2.0, name="C")
    s = te.create_schedule(c.op)
    s[b].compute_inline()
    sch = te.apply_schedule(s, [a, b, c])
    assert structure(sch) == "for i in range(8):\n    C"
    assert 'B: T.Buffer((8,), "float32")' in sch.mod.script()
    x, unused = numbers(8), np.zeros(8, "float32")
    np.testing.assert_allclose(run_schedule(sch, x, unused, shape=(8,)), (x + 1) * 2, rtol=1e-6)
    assert not unused.any()


# Reductions


def row_sums(rows: int, columns: int) -> tuple[te.Tensor, te.IterVar, te.Tensor]:
    """A matrix `A`, the reduction axis `k` along its rows, and the sums `B` of its rows."""
    a = te.placeholder((rows, columns), name="A")
    k = te.reduce_axis((0, columns), "k")
    return a, k, te.compute((rows,), lambda i: te.sum(a[i, k], axis=k), name="B")


def test_a_sum_in_two_steps_discards_the_splits_of_elements() -> None:
    a, k, b = row_sums(100, 37)
    s = te.create_schedule(b.op)
    _, inner = s[b].split(k, factor=16)
    s[b].reorder(*s[b].split(s[b].op.axis[0], factor=8), *s[b].leaf_iter_vars[2:])
    partial = s.rfactor(b, inner)
    assert [axis.var.name for axis in s[partial].op.axis] == ["k.inner", "i"]
    assert [axis.var.name for axis in s[b].leaf_iter_vars] == ["ax0", "k.inner.v"]
    data, result = np.random.default_rng(0).random((100, 37), np.float32), np.empty(100, np.float32)
    build(te.apply_schedule(s, [a, b]).mod)(data, result)
    np.testing.assert_allclose(result, data.sum(1), rtol=1e-5)


def test_a_reducer_with_an_axis_is_computed_in_a_cache() -> None:
    x = te.placeholder((10,), name="x")

    def element(i: Any) -> Any:
        greatest = te.comm_reducer(lambda a, b: te.max(a + b, i.astype("float32")), lambda t: te.const(0, t))
        return greatest(x[k], axis=k)

    k = te.reduce_axis((0, 10), "k")
    y = te.compute((10,), element, name="y")
    s = te.create_schedule(y.op)
    s.cache_write(y, "local")
    data, results = np.random.default_rng(0).random(10, np.float32), np.empty((2, 10), np.float32)
    for schedule, result in zip((te.create_schedule(y.op), s), results, strict=True):
        build(te.apply_schedule(schedule, [x, y]).mod)(data, result)
    np.testing.assert_array_equal(results[0], results[1])
    assert len(set(results[0])) > 1


@pytest.mark.parametrize("factor_axis", [0, 1, -1])
def test_a_sum_in_two_steps(factor_axis: int) -> None:
    a, k, b = row_sums(100, 37)
    s = te.create_schedule(b.op)
    _, inner = s[b].split(k, factor=16)
    partial = s.rfactor(b, inner, factor_axis)
    assert [axis.var.name for axis in s[partial].op.axis] == (
        ["k.inner", "i"] if factor_axis == 0 else ["i", "k.inner"]
    )
    assert [axis.var.name for axis in s[b].op.axis] == ["ax0"]
    assert [axis.var.name for axis in s[b].op.reduce_axis] == ["k.inner.v"]
    outer, _ = s[b].split(s[b].op.axis[0], factor=32)
    s[partial].compute_at(s[b], outer)
    sch = te.apply_schedule(s, [a, b])
    axes, sizes = ("k_inner, i", "16, 32") if factor_axis == 0 else ("i, k_inner", "32, 16")
    shape = "16, 100" if factor_axis == 0 else "100, 16"
    assert (
        structure(sch)
        == f"""\
B_rf = T.alloc_buffer(({shape}))
for ax0_outer in range(4):
    for {axes} in T.grid({sizes}):
        B_rf_init
        for k_outer in range(3):
            B_rf_update
    for ax0_inner in range(32):
        B_init
        for k_inner_v in range(16):
            B_update"""
    )
    x = numbers(100, 37)
    np.testing.assert_allclose(run_schedule(sch, x, shape=(100,)), x.sum(1), rtol=1e-3, atol=1e-4)


def test_a_sum_along_fused_axes_in_two_steps() -> None:
    a = te.placeholder((6, 5, 7), name="A")
    j, k = te.reduce_axis((0, 5), "j"), te.reduce_axis((2, 7), "k")
    b = te.compute((6,), lambda i: te.sum(a[i, j, k], axis=[j, k], where=k > 3), name="B")
    s = te.create_schedule(b.op)
    outer, inner = s[b].split(s[b].fuse(j, k), factor=4)
    inmost, _ = s[b].split(inner, nparts=3)
    s.rfactor(b, inmost)
    x = numbers(6, 5, 7)
    result = run_schedule(te.apply_schedule(s, [a, b]), x, shape=(6,))
    np.testing.assert_allclose(result, x[:, :, 4:].sum((1, 2)), rtol=1e-4, atol=1e-5)
    assert outer.kind == "reduce"


def test_a_sum_to_nothing_along_its_only_axis() -> None:
    a = te.placeholder((16,), name="A")
    k = te.reduce_axis((0, 16), "k")
    b = te.compute((), lambda: te.sum(a[k], axis=k), name="B")
    s = te.create_schedule(b.op)
    s[s.rfactor(b, k)].vectorize(s[s.stages[1].op].op.axis[0])
    x = numbers(16)
    np.testing.assert_allclose(run_schedule(te.apply_schedule(s, [a, b]), x, shape=()), x.sum(), rtol=1e-4)


def test_the_place_of_a_maximum_in_two_steps() -> None:
    def combine(x: Any, y: Any) -> Any:
        is_first = te.any(x[1] > y[1], te.all(x[1].equal(y[1]), x[0] < y[0]))
        return te.if_then_else(is_first, x[0], y[0]), te.if_then_else(is_first, x[1], y[1])

    argmax = te.comm_reducer(combine, lambda i, v: (te.max_value(i), te.min_value(v)), name="argmax")
    index, value = te.placeholder((4, 30), "int32", name="I"), te.placeholder((4, 30), name="V")
    k = te.reduce_axis((0, 30), "k")
    where, most = te.compute((4,), lambda i: argmax((index[i, k], value[i, k]), axis=k), name="T")
    s = te.create_schedule(where.op)
    _, inner = s[where].split(k, factor=7)
    partial = s.rfactor(where, inner)
    assert len(partial) == 2
    s[where].parallel(s[where].op.axis[0])
    sch = te.apply_schedule(s, [index, value, where, most])
    places, x = np.tile(np.arange(30, dtype="int32"), (4, 1)), numbers(4, 30)
    found, values = np.empty(4, "int32"), np.empty(4, "float32")
    stepwell.build(sch.mod)(places, x, found, values)
    np.testing.assert_array_equal(found, x.argmax(1))
    np.testing.assert_array_equal(values, x.max(1))


def test_the_init_stays_in_the_block_where_it_cannot_be_taken_out() -> None:
    n, m = te.var("n"), te.var("m")
    a = te.placeholder((n, m), name="A")
    k = te.reduce_axis((0, m), "k")
    b = te.compute((n,), lambda i: te.sum(a[i, k], axis=k), name="B")
    s = te.create_schedule(b.op)
    s[b].reorder(k, b.op.axis[0])
    s[b].split(b.op.axis[0], nparts=4)
    sch = te.apply_schedule(s, [a, b])
    assert structure(sch) == "for k, i_outer, i_inner in T.grid(m, 4, (n + 3) // 4):\n    B"
    x = numbers(10, 9)
    np.testing.assert_allclose(run_schedule(sch, x, shape=(10,)), x.sum(1), rtol=1e-4, atol=1e-5)


# Threads


def test_loops_are_bound_to_threads() -> None:
    n = te.var("n")
    a = te.placeholder((n,), name="A")
    b = te.compute((n,), lambda i: a[i] + 1.0, name="B")
    s = te.create_schedule(b.op)
    block, thread = s[b].split(b.op.axis[0], factor=64)
    s[b].bind(block, te.thread_axis("blockIdx.x"))
    s[b].bind(thread, te.thread_axis((0, 64), "threadIdx.x"))
    sch = te.apply_schedule(s, [a, b])
    assert structure(sch) == (
        'for i_outer in T.thread_binding((n + 63) // 64, thread="blockIdx.x"):\n'
        '    for i_inner in T.thread_binding(64, thread="threadIdx.x"):\n'
        "        B"
    )
    x = numbers(100)
    np.testing.assert_array_equal(run_schedule(sch, x, shape=(100,), target="python"), x + 1)


def test_an_init_has_no_loop_for_a_split_axis_of_extent_1() -> None:
    a, k, b = row_sums(4, 6)
    s = te.create_schedule(b.op)
    outer, inner = s[b].split(k, factor=1)
    partial = s.rfactor(b, inner)
    stage = s[partial]
    one, i = stage.op.axis
    (outer,) = stage.op.reduce_axis
    _, one = stage.split(one, factor=2)
    stage.reorder(outer, one, i)
    stage.vectorize(i)
    sch = te.apply_schedule(s, [a, b])
    first, *_ = structure(sch).partition("B_rf_update")
    assert (
        first
        == """\
B_rf = T.alloc_buffer((1, 4))
for i_init in T.vectorized(4):
    B_rf_init
for k_outer, k_inner_inner in T.grid(6, 2):
    for i in T.vectorized(4):
        """
    )
    x = numbers(4, 6)
    np.testing.assert_allclose(run_schedule(sch, x, shape=(4,), target="python"), x.sum(1), rtol=1e-4, atol=1e-5)


def test_threads_reduce_together() -> None:
    a, k, b = row_sums(20, 37)
    s = te.create_schedule(b.op)
    _, inner = s[b].split(k, factor=16)
    partial = s.rfactor(b, inner)
    thread = te.thread_axis("threadIdx.x")
    s[b].bind(s[b].op.axis[0], te.thread_axis("blockIdx.x"))
    s[b].bind(s[b].op.reduce_axis[0], thread)
    s[partial].compute_at(s[b], thread)
    sch = te.apply_schedule(s, [a, b])
    assert (
        structure(sch)
        == """\
B_rf = T.alloc_buffer((16, 20), scope="local")
for ax0 in T.thread_binding(20, thread="blockIdx.x"):
    for k_inner_v in T.thread_binding(16, thread="threadIdx.x"):
        B_rf_init
        for k_outer in range(3):
            B_rf_update
        B"""
    )
    x = numbers(20, 37)
    np.testing.assert_allclose(run_schedule(sch, x, shape=(20,), target="python"), x.sum(1), rtol=1e-4, atol=1e-5)


def test_a_matrix_product_of_threads_with_caches() -> None:
    a, b, c, k = matmul(16, 16, 16)
    s = te.create_schedule(c.op)
    local = s.cache_write(c, "local")
    shared = s.cache_read(a, "shared", local)
    i_o, j_o, i_i, j_i = s[c].tile(c.op.axis[0], c.op.axis[1], 8, 8)
    for axis, tag in ((i_o, "blockIdx.y"), (j_o, "blockIdx.x"), (i_i, "threadIdx.y"), (j_i, "threadIdx.x")):
        s[c].bind(axis, te.thread_axis(tag))
    s[local].compute_at(s[c], j_i)
    k_o, k_i = s[local].split(k, factor=4)
    s[local].reorder(k_o, k_i, *s[local].op.axis)
    s[local].unroll(k_i)
    s[shared].compute_at(s[local], k_o)
    sch = te.apply_schedule(s, [a, b, c])
    inner = structure(sch).split('thread="threadIdx.x"):\n')[1]
    assert (
        re.sub("^ {16}", "", inner, flags=re.MULTILINE)
        == """\
C_local_init
for k_outer in range(4):
    for ax0, ax1 in T.grid(8, 4):
        A_shared
    for k_inner in T.unroll(4):
        C_local_update
C"""
    )
    x, y = numbers(16, 16), numbers(16, 16) + 1
    np.testing.assert_allclose(run_schedule(sch, x, y, shape=(16, 16), target="python"), x @ y, rtol=1e-4, atol=1e-4)


# Errors

A, B, C, K = matmul(8, 8, 8)
D = te.compute((8, 8), lambda i, j: C[i, j] * 2.0, name="D")
UNRELATED = te.compute((8, 8), lambda i, j: A[i, j] * 2.0, name="E")


def said(*steps: Callable[[Any], object]) -> Callable[[], object]:
    """A function that applies steps to a schedule of D."""

    def function() -> object:
        s = te.create_schedule(D.op)
        for step in steps:
            step(s)
        return te.apply_schedule(s, [A, B, D])

    return function


def split_both(s: Any) -> object:
    return s[D].split(D.op.axis[0], factor=4, nparts=2)


def split_twice(s: Any) -> None:
    s[D].split(D.op.axis[0], factor=4)
    s[D].split(D.op.axis[0], factor=2)


def fuse_what_is_used(s: Any) -> None:
    s[C].compute_at(s[D], D.op.axis[0])
    s[D].fuse(*D.op.axis)


def select_elements(s: Any) -> None:
    threads = te.thread_axis("threadIdx.x")
    s[D].bind(D.op.axis[0], threads)
    s[D].set_store_predicate(threads.var.equal(0))


def rfactor_behind(s: Any) -> None:
    s[C].parallel(C.op.axis[0])
    s.rfactor(C, K)


WRONG: dict[str, tuple[Callable[[], object], str]] = {
    "an axis of another stage": (
        said(lambda s: s[D].split(C.op.axis[0], factor=4)),
        "axis i is none of the axes of stage D (has: i, j)",
    ),
    "an axis that is split": (said(split_twice), "axis i is none of the axes of stage D (has: i.outer, i.inner, j)"),
    "factor and nparts": (said(split_both), "split of axis i: expected either factor or nparts"),
    "neither factor nor nparts": (
        said(lambda s: s[D].split(D.op.axis[0])),
        "split of axis i: expected either factor or nparts",
    ),
    "a factor that is no number": (said(lambda s: s[D].split(D.op.axis[0], 0)), "0, expected a positive number"),
    "axes that are not next to each other": (
        said(lambda s: s[C].fuse(C.op.axis[0], K)),
        "fuse of axes i, k: not next to each other, outermost first, in stage C (has: i, j, k)",
    ),
    "an axis twice": (said(lambda s: s[C].reorder(K, K)), "reorder: axis k is given twice"),
    "a stage that is computed in itself": (
        said(lambda s: s[C].compute_at(s[C], K)),
        "compute_at: stage C, expected another stage of the same schedule",
    ),
    "a stage of another schedule": (
        said(lambda s: s[C].compute_at(te.create_schedule(D.op)[D], D.op.axis[0])),
        "compute_at: stage D, expected another stage of the same schedule",
    ),
    "a loop of another stage": (
        said(lambda s: s[C].compute_at(s[D], K)),
        "axis k is none of the axes of stage D",
    ),
    "a loop that has gone": (
        said(fuse_what_is_used),
        "stage C is computed at axis i of stage D (",
    ),
    "a stage in one in front of it": (
        said(lambda s: s[D].compute_at(s[C], K)),
        "stage D is computed at axis k of stage C (",
    ),
    "an output that is inlined": (said(lambda s: s[D].compute_inline()), "compute_inline: D is an output"),
    "an argument that is inlined": (said(lambda s: s[A].compute_inline()), "compute_inline: A is given by the caller"),
    "an operation that is not there": (
        said(lambda s: s[UNRELATED]),
        "schedule: E is not part of it (has: A, B, C, D)",
    ),
    "something that is no tensor": (said(lambda s: s["C"]), "schedule: 'C', expected a tensor or operation"),
    "a binding to a loop": (said(lambda s: s[D].bind(*D.op.axis)), "expected what te.thread_axis gives"),
    "fewer threads than iterations": (
        said(lambda s: s[D].bind(D.op.axis[0], te.thread_axis((0, 4), "threadIdx.x"))),
        "stage D: axis i of extent 8 is bound to threadIdx.x of 4 threads",
    ),
    "a reader that does not read": (
        said(lambda s: s.cache_read(A, "local", [D])),
        "cache_read: D does not read A",
    ),
    "a cache of an argument": (said(lambda s: s.cache_write(A, "local")), "cache_write: A is given by the caller"),
    "a cache behind other changes": (
        said(lambda s: s[C].vectorize(C.op.axis[1]), lambda s: s.cache_write(C, "local")),
        "cache_write: the loops of stage C were changed before it",
    ),
    "a cache behind changes of a reduction": (
        said(lambda s: s[C].split(C.op.reduce_axis[0], 4), lambda s: s.cache_write(C, "local")),
        "cache_write: the reduction loops of stage C were changed before it",
    ),
    "two steps of what is no reduction": (said(lambda s: s.rfactor(D, D.op.axis[0])), "rfactor: D is no reduction"),
    "two steps along what is not reduced": (
        said(lambda s: s.rfactor(C, C.op.axis[0])),
        "rfactor: axis i of C is not reduced along",
    ),
    "two steps behind other changes": (
        said(rfactor_behind),
        "rfactor: the kinds, annotations or layout of stage C were changed before it",
    ),
    "a dimension that is not there": (
        said(lambda s: s.rfactor(C, K, 3)),
        "rfactor: dimension 3, expected one from 0 to 2",
    ),
    "alignment of no dimension": (
        said(lambda s: s[C].storage_align(K, 16, 0)),
        "storage_align: axis k, expected one of op.axis of stage C",
    ),
    "a schedule of nothing": (lambda: te.create_schedule([]), "create_schedule: no operation"),
    "a schedule of something else": (lambda: te.create_schedule([1]), "create_schedule: 1, expected operations"),  # pyright: ignore[reportArgumentType]
    "a store of some elements": (said(select_elements), "set_store_predicate of stage D ("),
    "a store under a condition on no thread": (
        said(lambda s: s[D].set_store_predicate(te.var("n").equal(0))),
        "n is no thread axis",
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_mistake_is_an_error_at_its_line(name: str) -> None:
    function, message = WRONG[name]
    with pytest.raises(TeError, match=re.escape(message)) as raised:
        function()
    assert re.match(rf"{re.escape(__file__)}:\d+: error: ", str(raised.value))


def test_a_refusal_names_the_stage_and_the_line() -> None:
    s = te.create_schedule(D.op)
    s[C].vectorize(K)
    with pytest.raises(ScheduleError, match=rf"^vectorize: stage C \({re.escape(__file__)}:\d+\): "):
        te.apply_schedule(s, [A, B, D])


def test_a_stage_is_computed_at_a_later_stage() -> None:
    function, _ = WRONG["a stage in one in front of it"]
    with pytest.raises(TeError, match=r"axis k of stage C \(.*\), which does not come after it$"):
        function()


def test_a_split_without_a_guard_divides_the_extent() -> None:
    s, guarded = te.create_schedule(D.op), te.create_schedule(D.op)
    s[D].split(D.op.axis[0], 4, disable_predication=True)
    guarded[D].split(D.op.axis[0], 4)
    assert te.apply_schedule(s, [A, B, D]).mod.script() == te.apply_schedule(guarded, [A, B, D]).mod.script()
    s[D].split(D.op.axis[1], 3, disable_predication=True)
    with pytest.raises(ScheduleError, match=r"loop j.*, so it needs the guard that disable_predication forbids"):
        te.apply_schedule(s, [A, B, D])


def chain() -> tuple[te.Tensor, ...]:
    """A tensor, three tensors computed one from another, and the sums of the rows of the last."""
    tensors = [te.placeholder((8, 8), name="A")]
    for name in "BCD":
        tensors.append(te.compute((8, 8), lambda i, j: tensors[-1][i, j] + 1.0, name=name))
    k = te.reduce_axis((0, 8), "k")
    return (*tensors, te.compute((8,), lambda i: te.sum(tensors[-1][i, k], axis=k), name="E"))


@pytest.mark.parametrize(("includes", "members"), [(False, "CD"), (True, "BCD")])
def test_the_stages_of_a_group_are_computed_at_the_same_loop(includes: bool, members: str) -> None:
    a, b, _, d, e = chain()
    s, plain = te.create_schedule(e.op), te.create_schedule(e.op)
    group = s.create_group(outputs=d, inputs=[b], include_inputs=includes)
    assert "".join(stage.name for stage in group.stages) == members
    group.compute_at(s[e], s[e].leaf_iter_vars[0])
    moved = te.apply_schedule(s, [a, e])
    rows = [line for line in structure(moved).splitlines() if line.startswith("for")]
    assert rows == ["for i in range(8):"] if includes else ["for i, j in T.grid(8, 8):", "for i in range(8):"]
    check_same_outputs(te.apply_schedule(plain, [a, e]).mod, moved.mod, seed=0, target="llvm", size=None)
    group.compute_root()
    assert te.apply_schedule(s, [a, e]).mod.script() == te.apply_schedule(plain, [a, e]).mod.script()


def test_a_group_has_tensors_between_its_inputs_and_outputs() -> None:
    a, b, _, d, e = chain()
    s = te.create_schedule(e.op)
    s[d].compute_at(s[e], s[e].leaf_iter_vars[0])
    group = s.create_group(d, a, include_inputs=True)
    assert [stage.name for stage in group.stages] == ["B", "C", "D"]
    with pytest.raises(TeError, match="create_group: B reads none of the inputs D"):
        s.create_group(b, d)


def test_a_prefetch_is_an_annotation_that_changes_no_values() -> None:
    a = te.placeholder((8, 4), name="A")
    b = te.compute((8, 4), lambda i, j: a[i, j] + 1.0, name="B")
    s = te.create_schedule(b.op)
    s[b].prefetch(a, b.op.axis[0], 2)
    mod = te.apply_schedule(s, [a, b]).mod
    assert 'annotations={"prefetch_A": 2}' in mod.script()
    values = np.arange(32, dtype=np.float32).reshape(8, 4)
    result = np.zeros_like(values)
    build(mod)(values, result)
    np.testing.assert_array_equal(result, values + 1)
    with pytest.raises(TeError, match="prefetch: B is not read by stage B"):
        s[b].prefetch(b, b.op.axis[0], 1)


def test_what_is_not_there_yet_says_so() -> None:
    s = te.create_schedule(D.op)
    with pytest.raises(UnsupportedError, match="rolling_buffer of a stage is not supported yet"):
        s[D].rolling_buffer()
    with pytest.raises(TeError, match=r"env_threads: D is no te\.scan"):
        s[D].env_threads([te.thread_axis("threadIdx.x")])
    with pytest.raises(AttributeError, match="no attribute 'vectorise'"):
        s[D].vectorise(D.op.axis[0])
    with pytest.raises(AttributeError, match="no attribute 'cached_read'"):
        getattr(s, "cached_read")(D, "local", [])


def test_several_tensors_that_are_computed_at_once_share_their_loops() -> None:
    more = te.compute((8, 8), lambda i, j: A[i, j] * 2.0, name="more")
    both = te.compute((8, 8), lambda i, j: (more[i, j] + 1.0, more[i, j] - 1.0), name="both")
    s = te.create_schedule(both[0].op)
    plain = te.apply_schedule(s, [A, *both])
    assert structure(plain).endswith("for i, j in T.grid(8, 8):\n    both_v0\n    both_v1")
    i, j = both[0].op.axis
    outer, inner = s[both[0]].split(j, 4)
    s[both[0]].reorder(outer, i, inner)
    s[both[0]].vectorize(inner)
    s[both[1]].parallel(outer)  # the same stage
    s[more].compute_at(s[both[0]], i)
    made = te.apply_schedule(s, [A, *both])
    assert "for j_outer in T.parallel(2):" in made.mod.script()
    assert made.mod.script().count("T.vectorized") == 1
    a, sums, differences = np.random.default_rng(0).random((8, 8), "float32"), *np.zeros((2, 8, 8), "float32")
    build(made.mod)["main"](a, sums, differences)
    np.testing.assert_array_equal(sums, a * 2 + 1)
    np.testing.assert_array_equal(differences, a * 2 - 1)


def test_several_tensors_that_are_computed_at_once_are_inlined_and_kept_elsewhere() -> None:
    both = te.compute((8, 8), lambda i, j: (A[i, j] + 1.0, A[i, j] - 1.0), name="both")
    product = te.compute((8, 8), lambda i, j: both[0][i, j] * both[1][i, j], name="product")
    s = te.create_schedule(product.op)
    s[both[0]].compute_inline()
    assert structure(te.apply_schedule(s, [A, product])) == "for i, j in T.grid(8, 8):\n    product"
    s = te.create_schedule(product.op)
    s[both[0]].set_scope("local")
    assert te.apply_schedule(s, [A, product]).mod.script().count('scope="local"') == 2
    s[both[0]].compute_at(s[product], product.op.axis[0])
    sch = te.apply_schedule(s, [A, product])
    assert sch.mod.script().count('scope="local"') == 2
    a = numbers(8, 8)
    np.testing.assert_allclose(run_schedule(sch, a, shape=(8, 8)), (a + 1) * (a - 1), rtol=1e-6)
    s[both[0]].split(both[0].op.axis[1], 4)
    with pytest.raises(
        UnsupportedError, match=r"stage both is computed at axis i .*, which reads 2 tensors of the stage"
    ):
        te.apply_schedule(s, [A, product])


def test_one_of_several_tensors_is_computed_in_its_reader() -> None:
    both = te.compute((8, 8), lambda i, j: (A[i, j] + 1.0, A[i, j] - 1.0), name="both")
    double = te.compute((8, 8), lambda i, j: both[0][i, j] * 2.0, name="double")
    s = te.create_schedule(double.op)
    s[both[0]].compute_at(s[double], double.op.axis[0])
    sch = te.apply_schedule(s, [A, double])
    a = numbers(8, 8)
    np.testing.assert_allclose(run_schedule(sch, a, shape=(8, 8)), (a + 1) * 2, rtol=1e-6)


# Any schedule


@given(legacy_schedules())
def test_any_schedule_computes_the_same_or_is_refused(drawn: LegacySchedule) -> None:
    try:
        sch = te.apply_schedule(drawn.schedule, drawn.program.arguments)
    except (ScheduleError, TeError):
        return
    check_legacy_schedule(drawn, sch)


@register_func("test.schedule.scaled")
def scaled(source: Any, result: Any, factor: float) -> None:
    result[...] = source * np.float32(factor)


def test_a_call_stands_among_the_stages() -> None:
    more = te.compute((8, 8), lambda i, j: A[i, j] + 1.0, name="more")
    call = te.extern(
        (8, 8), [more], lambda ins, outs: te.call_packed("test.schedule.scaled", ins[0], outs[0], 3.0), name="call"
    )
    less = te.compute((8, 8), lambda i, j: call[i, j] - 1.0, name="less")
    s = te.create_schedule(less.op)
    s[more].vectorize(more.op.axis[1])
    _, inner = s[less].split(less.op.axis[1], 4)
    s[less].parallel(less.op.axis[0])
    s[less].unroll(inner)
    copy = s.cache_read(more, "global", [call])
    s[copy].reorder(*reversed(s[copy].op.axis))
    a = np.random.default_rng(0).random((8, 8), "float32")
    np.testing.assert_array_equal(run_schedule(te.apply_schedule(s, [A, less]), a, shape=(8, 8)), (a + 1) * 3 - 1)
    with pytest.raises(TeError, match=r"cache_write: call is a te\.scan or te.extern, expected a te.compute"):
        s.cache_write(call, "global")
    with pytest.raises(TeError, match="axis j is none of the axes of stage call"):
        s[call].vectorize(less.op.axis[1])
    s[copy].compute_inline()
    with pytest.raises(ScheduleError, match=r"compute_inline: stage more\.global"):
        te.apply_schedule(s, [A, less])


@pytest.mark.parametrize("shared", [False, True])
def test_scans_stand_among_the_stages(shared: bool) -> None:
    doubled = te.compute((8, 8), lambda t, i: A[t, i] * 2.0, name="doubled")
    init = te.compute((1, 8), lambda _, i: doubled[0, i], name="init")
    scans: list[Any] = []
    for name in ("sums", "totals"):
        state = te.placeholder((8, 8), name="state")
        source = scans[-1] if scans else doubled
        step = te.compute((8, 8), lambda t, i: state[t - 1, i] + source[t, i], name="step")
        first = init if not scans else te.compute((1, 8), lambda _, i: scans[0][0, i], name="first")
        scans.append(te.scan(first, step, state, name=name))
    out = te.compute((8, 8), lambda t, i: scans[1][t, i] + (init[0, i] if shared else 1.0), name="out")
    s = te.create_schedule(out.op)
    s[doubled].compute_inline()
    s[out].vectorize(out.op.axis[1])
    s[init].unroll(init.op.axis[1])
    made = te.apply_schedule(s, [A, out])
    assert "doubled" not in made.mod.script()
    a = np.random.default_rng(0).integers(0, 9, (8, 8)).astype("float32")
    expected = (2 * a).cumsum(0).cumsum(0) + (2 * a[0] if shared else 1)
    np.testing.assert_array_equal(run_schedule(made, a, shape=(8, 8)), expected)
    with pytest.raises(TeError, match=r"compute_at: sums is a te\.scan or te.extern, expected a te.compute"):
        s[scans[0]].compute_at(s[out], out.op.axis[0])


def test_a_unit_loop_beside_one_of_unknown_size_leaves_no_division() -> None:
    n = te.var("n")
    X = te.placeholder((4, n), name="X")
    row = te.compute((1, n), lambda _, i: X[0, i] + 1.0, name="row")
    script = te.apply_schedule(te.create_schedule(row.op), [X, row]).mod.script()
    assert "//" not in script
    assert structure(te.apply_schedule(te.create_schedule(row.op), [X, row])) == "for _, i in T.grid(1, n):\n    row"


def test_tensors_and_scalar_expressions_make_tensors() -> None:
    x, a = te.var("x"), te.placeholder((3, 4), name="A")
    y = te.var("y", "float32")
    d = x + (3 - a) * y / 2 + a[0, 0]
    assert [int(size) for size in d.shape] == [3, 4]
    lib = stepwell.build(te.apply_schedule(te.create_schedule(d.op), [x, y, a, d]).mod)
    values, result = np.random.default_rng(0).random((3, 4), np.float32), np.zeros((3, 4), "float32")
    lib(5, 0.5, values, result)
    np.testing.assert_allclose(result, 5 + (3 - values) * np.float32(0.5) / 2 + values[0, 0], rtol=1e-6)
    with pytest.raises(TeError, match="operator lt on tensor A, expected elements of it"):
        _ = a < x

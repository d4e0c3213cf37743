"""The loops and axes of a block that correspond to the description of a tensor intrinsic."""

from typing import Any

import numpy as np

import stepwell.frontends.tvm as tvm
from stepwell.frontends.tvm import te, tir
from stepwell.frontends.tvm.tir import IndexMap
from stepwell.frontends.tvm.tir.analysis import (
    get_auto_tensorize_mapping_info,
    get_tensorize_loop_mapping,
    suggest_index_map,
)
from stepwell.frontends.tvm.tir.stmt_functor import pre_order_visit
from stepwell.frontends.tvm.tir.tensor_intrin.x86 import VNNI_DOT_16x4_INTRIN, dot_product_16x4_u8i8i32_desc
from stepwell.frontends.tvm.tir.transform import tile_with_tensor_intrin

WMMA = "wmma_sync_16x16x16_f16f16f32"


def dense(rows: int, columns: int, depth: int) -> Any:
    """A product of bytes by weights in tiles of 16 x 4."""
    A = te.placeholder((rows, depth), "uint8", name="A")
    W = te.placeholder((columns // 16, depth // 4, 16, 4), "int8", name="W")
    k = te.reduce_axis((0, depth), "k")

    def element(i: Any, j: Any) -> Any:
        return te.sum(A[i, k].astype("int32") * W[j // 16, k // 4, j % 16, k % 4].astype("int32"), axis=k)

    return te.create_prim_func([A, W, te.compute((rows, columns), element, name="C")])


def loops_of(func: Any) -> list[Any]:
    nodes: list[Any] = []

    def visit(node: Any) -> bool:
        nodes.append(node)
        return True

    pre_order_visit(func.body, visit)
    return [node for node in nodes if isinstance(node, tir.For)]


def test_loops_of_a_block_correspond_to_those_of_a_description() -> None:
    sch = tir.Schedule(dense(8, 32, 16))
    block = sch.get_block("C")
    _, j, k = sch.get_loops(block)
    info = get_tensorize_loop_mapping(sch, block, dot_product_16x4_u8i8i32_desc)
    assert info is not None
    assert info.block_iter_paddings is None
    assert info.loop_map == dict(
        zip([sch.get_sref(j), sch.get_sref(k)], loops_of(dot_product_16x4_u8i8i32_desc), strict=True)
    )


def test_extents_that_are_no_multiples_need_padding() -> None:
    A, B = (te.placeholder(shape, "float16", name=name) for name, shape in (("A", (30, 32)), ("B", (32, 17))))
    k = te.reduce_axis((0, 32), "k")
    C = te.compute(
        (30, 17), lambda i, j: te.sum(A[i, k].astype("float32") * B[k, j].astype("float32"), axis=k), name="C"
    )
    sch = tir.Schedule(te.create_prim_func([A, B, C]))
    desc: Any = tir.TensorIntrin.get(WMMA)
    assert get_tensorize_loop_mapping(sch, "C", desc.desc) is None
    info = get_tensorize_loop_mapping(sch, "C", desc.desc, allow_padding=True)
    assert info is not None
    assert info.block_iter_paddings == [16, 16, 1]


def test_axes_that_index_the_same_buffers_become_one() -> None:
    X = te.placeholder((2, 10, 10, 16), "float16", name="X")
    W = te.placeholder((3, 3, 16, 32), "float16", name="W")
    rh, rw, rc = (te.reduce_axis((0, extent), name) for name, extent in (("rh", 3), ("rw", 3), ("rc", 16)))
    Y = te.compute(
        (2, 8, 8, 32),
        lambda n, h, w, c: te.sum(
            X[n, h + rh, w + rw, rc].astype("float32") * W[rh, rw, rc, c].astype("float32"), axis=[rh, rw, rc]
        ),
        name="Y",
    )
    sch = tir.Schedule(te.create_prim_func([X, W, Y]))
    desc: Any = tir.TensorIntrin.get(WMMA)
    info = get_auto_tensorize_mapping_info(sch, "Y", desc.desc)
    assert info is not None
    expected = IndexMap.from_func(lambda n, h, w, c, rh, rw, rc: (n * 64 + h * 8 + w, c, rh * 48 + rw * 16 + rc))
    assert info.mappings[0].is_equivalent_to(expected)
    assert get_auto_tensorize_mapping_info(sch, "Y", dot_product_16x4_u8i8i32_desc) is None


def test_a_layout_in_the_order_of_the_loops() -> None:
    i, j = tir.Var("i", "int32"), tir.Var("j", "int32")
    loops = [tir.For(var, 0, extent, 0, tir.Evaluate(0)) for var, extent in ((i, 32), (j, 64))]
    indices = [i // 16 * 4 + j // 16, i % 16 * 16 + j % 16]
    found = suggest_index_map(tir.decl_buffer((8, 256)), indices, loops, True)
    assert found is not None
    assert found.is_equivalent_to(IndexMap.from_func(lambda x, y: (x // 4, y // 16, x % 4, y % 16)))
    assert suggest_index_map(tir.decl_buffer((8, 256)), [i * i % 8, j], loops, True) is None


def test_loops_tiled_for_an_intrinsic_are_tensorized() -> None:
    sch = tir.Schedule(dense(4, 32, 16))
    loop = tile_with_tensor_intrin(sch, "C", VNNI_DOT_16x4_INTRIN)
    assert loop is not None
    sch.decompose_reduction("C", sch.get_loops("C")[1])
    sch.tensorize(loop, VNNI_DOT_16x4_INTRIN)
    rng = np.random.default_rng(0)
    a, w = rng.integers(0, 256, (4, 16), "uint8"), rng.integers(-128, 128, (2, 4, 16, 4), "int8")
    c = np.empty((4, 32), "int32")
    tvm.build(sch.mod)(a, w, c)
    np.testing.assert_array_equal(c, a.astype("int32") @ w.transpose(1, 3, 0, 2).reshape(16, 32).astype("int32"))


def test_extents_are_padded_for_an_intrinsic() -> None:
    A, B = (te.placeholder(shape, "float16", name=name) for shape, name in (((20, 16), "A"), ((16, 32), "B")))
    k = te.reduce_axis((0, 16), "k")
    C = te.compute(
        (20, 32), lambda i, j: te.sum(A[i, k].astype("float32") * B[k, j].astype("float32"), axis=k), name="C"
    )
    func = te.create_prim_func([A, B, C])
    assert tile_with_tensor_intrin(tir.Schedule(func), "C", WMMA) is None
    sch = tir.Schedule(func)
    loop = tile_with_tensor_intrin(sch, "C", WMMA, allow_padding=True)
    assert loop is not None
    assert [each.extent for each in map(sch.get, sch.get_loops("C"))] == [2, 2, 1, 16, 16, 16]
    rng = np.random.default_rng(0)
    a, b = (rng.standard_normal(shape).astype("float16") for shape in ((20, 16), (16, 32)))
    c = np.empty((20, 32), "float32")
    tvm.build(sch.mod)(a, b, c)
    np.testing.assert_allclose(c, a.astype("float32") @ b.astype("float32"), rtol=1e-5, atol=1e-5)

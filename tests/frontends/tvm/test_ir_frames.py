"""Programs built by frames (`tvm.script.ir_builder`), and blocks built of their parts."""

from typing import Any

import numpy as np
import pytest

import stepwell.frontends.tvm as tvm
from stepwell.core.errors import StepwellError
from stepwell.expressions.errors import TeError
from stepwell.frontends.tvm import tir
from stepwell.frontends.tvm.ir_frames import IRBuilder
from stepwell.frontends.tvm.ir_frames import ir as I
from stepwell.frontends.tvm.ir_frames import tir as T
from stepwell.script import tir as S


@S.prim_func
def matmul(A: S.Buffer((8, 4), "float32"), B: S.Buffer((4, 8), "float32"), C: S.Buffer((8, 8), "float32")):  # pyright: ignore[reportInvalidTypeForm]
    for i, j, k in S.grid(8, 8, 4):
        with S.block("C"):
            vi, vj, vk = S.axis.remap("SSR", [i, j, k])
            with S.init():
                C[vi, vj] = S.float32(0)
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]


def built_matmul() -> tir.PrimFunc:
    with IRBuilder() as builder, T.prim_func():
        T.func_name("matmul")
        a, b, c = (T.arg(name, T.Buffer(shape)) for name, shape in (("A", (8, 4)), ("B", (4, 8)), ("C", (8, 8))))
        with T.grid(8, 8, 4) as (i, j, k), T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                T.buffer_store(c, 0.0, [vi, vj])
            T.buffer_store(c, c[vi, vj] + a[vi, vk] * b[vk, vj], [vi, vj])
    return builder.get()


def test_a_built_function_equals_its_text():
    expected = tvm.tir.PrimFunc(matmul.op)
    tvm.ir.assert_structural_equal(built_matmul(), expected.with_attr("global_symbol", "matmul"))


def test_a_built_function_is_scheduled_and_computes():
    sch = tir.Schedule(built_matmul())
    i, _j, _k = sch.get_loops(sch.get_block("C"))
    sch.parallel(i)
    a, b = (np.random.default_rng(0).random(shape, "float32") for shape in ((8, 4), (4, 8)))
    c = np.zeros((8, 8), "float32")
    tvm.build(sch.mod, target="llvm")(a, b, c)
    np.testing.assert_allclose(c, a @ b, rtol=1e-5)


def test_statements_of_frames_compute():
    with IRBuilder() as builder, T.prim_func():
        data = T.arg("data", T.Buffer((8,), "int32"))
        table = T.alloc_buffer((8,), "int32")
        with T.serial(8) as i:
            with T.If(i < 4):
                with T.Then():
                    T.buffer_store(table, i * 2, [i])
                with T.Else(), T.LetStmt(i * i) as square:
                    T.buffer_store(table, square, [i])
        with T.allocate_const([3, 1], "int32", [2]) as values:
            pair = T.Buffer((2,), "int32", data=values)
            with T.serial(1, 8) as i:
                T.buffer_store(data, table[i] + pair[i % 2], [i])
    data = np.zeros(8, "int32")
    tvm.build(builder.get(), target="llvm")(data)
    places = np.arange(8)
    expected = np.where(places < 4, places * 2, places**2) + np.array([3, 1])[places % 2]
    np.testing.assert_array_equal(data, np.where(places > 0, expected, 0))


def test_modules_of_built_functions():
    with IRBuilder() as builder, I.ir_module():
        for name, number in (("one", 1.0), ("two", 2.0)):
            with T.prim_func():
                T.func_name(name)
                out = T.arg("out", T.Buffer((1,)))
                T.buffer_store(out, number, [0])
    lib = tvm.build(builder.get(), target="llvm")
    out = np.zeros(1, "float32")
    lib["two"](out)
    assert out[0] == 2


def test_blocks_built_by_hand_have_regions_memory_and_views():
    a, b = tir.decl_buffer((16,), name="A"), tir.decl_buffer((16,), name="B")
    memory, view = tir.decl_buffer((4,), name="M"), tir.decl_buffer((4,), name="V")
    axis, loop, inner, last = (tir.Var(name) for name in ("v", "i", "j", "k"))
    boxes: list[Any] = [a[axis * 4 : axis * 4 + 4], b[axis * 4 : axis * 4 + 4]]
    window = tir.MatchBufferRegion(view, boxes[0])
    body = tir.SeqStmt(
        [
            tir.For(inner, 0, 4, tir.ForKind.SERIAL, tir.BufferStore(memory, view[inner] * 2.0, [inner])),
            tir.For(last, 0, 4, tir.ForKind.SERIAL, tir.BufferStore(b, memory[3 - last], [axis * 4 + last])),
        ]
    )
    block = tir.Block(
        [tir.IterVar((0, 4), axis, tir.IterVar.DataPar)],
        boxes[:1],
        boxes[1:],
        "flip",
        body,
        alloc_buffers=[memory],
        match_buffers=[window],
        annotations={"kind": tir.IntImm("int64", 3)},
    )
    realize = tir.BlockRealize([loop], True, block)
    assert realize.block.annotations
    assert realize.iter_values == (loop,)
    func = tir.PrimFunc([a, b], tir.For(loop, 0, 4, tir.ForKind.SERIAL, realize))
    assert "T.reads(A[v * 4:v * 4 + 4])" in func.script()
    x, y = np.arange(16, dtype="float32"), np.zeros(16, "float32")
    tvm.build(func, target="llvm")(x, y)
    np.testing.assert_array_equal(y, 2 * x.reshape(4, 4)[:, ::-1].reshape(16))


def test_the_memory_of_a_buffer_is_allocated_and_declared():
    out, memory = tir.decl_buffer((4,), name="out"), tir.decl_buffer((4,), name="M")
    i = tir.Var("i")
    store = tir.BufferStore(memory, 3.0, [0])
    body = tir.SeqStmt([store, tir.For(i, 0, 4, 0, tir.BufferStore(out, memory[0], [i]))])
    func = tir.PrimFunc([out], tir.Allocate(memory.data, "float32", (4,), True, tir.DeclBuffer(memory, body)))
    result = np.zeros(4, "float32")
    tvm.build(func, target="llvm")(result)
    np.testing.assert_array_equal(result, np.full(4, 3, "float32"))


@pytest.mark.parametrize(
    ("text", "build"),
    [
        ("expected `with IRBuilder", lambda: T.evaluate(0)),
        ("expected a frame or a statement", lambda: IRBuilder().get()),
    ],
)
def test_errors_of_builders(text: str, build):
    with pytest.raises(ValueError, match=text):
        build()


def test_errors_of_frames():
    with IRBuilder(), pytest.raises(StepwellError, match="expected the variable of a loop"):
        with T.block("B"):
            T.axis.remap("S", [tir.Var("i")])
    with IRBuilder(), pytest.raises(StepwellError, match="expected PrimFuncFrame"):
        with T.block("B"):
            T.func_name("f")
    with pytest.raises(TeError, match="1 values of 0 axes"):
        tir.BlockRealize([0], True, tir.Block([], [], [], "B", tir.Evaluate(0)))
    with pytest.raises(TeError, match="expected one of spatial"):
        tir.IterVar((0, 4), "v", tir.IterVar.Unrolled)

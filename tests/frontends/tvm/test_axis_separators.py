"""Axis separators of buffers by TVM's names: declarations, schedules, traces, comparisons, flat buffers."""

# Annotations are TVMScript here, not types.
# pyright: reportInvalidTypeForm=false, reportGeneralTypeIssues=false, reportUndefinedVariable=false

import json
from typing import Any

import numpy as np
import pytest

import stepwell.frontends.tvm as tvm
from stepwell.core.errors import ScheduleError
from stepwell.frontends.te import TeError
from stepwell.frontends.tvm import te, tir
from stepwell.frontends.tvm.ir_frames import IRBuilder
from stepwell.frontends.tvm.ir_frames import tir as frames
from stepwell.frontends.tvm.script import tir as T


@T.prim_func
def doubled(A: T.Buffer((4, 6), "float32", axis_separators=[1]), B: T.Buffer((4, 6), "float32")):
    C = T.alloc_buffer((4, 6), "float32", axis_separators=[0, 2])
    for i, j in T.grid(4, 6):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = A[vi, vj] + A[vi, vj]
    for i, j in T.grid(4, 6):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = C[vi, vj]


def module(func: Any) -> Any:
    return tvm.IRModule({"main": func})


def check_doubles(mod: Any) -> None:
    a, b = np.arange(24, dtype="float32").reshape(4, 6), np.zeros((4, 6), "float32")
    tvm.build(mod)(a, b)
    np.testing.assert_array_equal(b, 2 * a)


def declarations(mod: Any) -> list[str]:
    return [line.strip() for line in mod.script().splitlines() if "axis_separators" in line]


# Declarations


def test_buffers_state_their_separators() -> None:
    buffers = {buffer.name: list(buffer.axis_separators) for buffer in doubled.buffer_map.values()}
    assert buffers == {"A": [1], "B": []}
    (memory,) = doubled.body.block.alloc_buffers
    assert memory.axis_separators == (0, 2)
    check_doubles(module(doubled))


def test_declared_buffers_have_separators() -> None:
    i = te.var("i")
    A = tir.decl_buffer((8, 4), "float32", name="A", axis_separators=[1])
    B = tir.decl_buffer((8, 4), "float32", name="B", axis_separators=None)
    assert (A.axis_separators, B.axis_separators) == ((1,), ())
    C = tir.decl_buffer((8, 4), "float32", name="C", axis_separators=[1, 2])
    body = tir.SeqStmt(
        [tir.BufferStore(C, tir.BufferLoad(A, [i, 0]), [i, 1]), tir.BufferStore(B, tir.BufferLoad(C, [i, 1]), [i, 2])]
    )
    loop = tir.For(i, 0, 8, tir.ForKind.SERIAL, body)
    func = tir.PrimFunc([A, B], tir.Allocate(C.data, "float32", (8, 4), True, tir.DeclBuffer(C, loop)))
    assert declarations(func) == [
        "A = T.match_buffer(var_A, (8, 4), axis_separators=[1])",
        "C_1 = T.decl_buffer((8, 4), data=C, axis_separators=[1, 2])",
    ]


def test_memory_of_builders_has_separators() -> None:
    ib = tir.ir_builder.create()
    A, B = (tir.decl_buffer((4,), "float32", name=name) for name in "AB")
    rows = ib.allocate("float32", (2, 4), name="rows", axis_separators=[1])
    with ib.for_range(0, 4, name="i") as i:
        rows[1, i] = ib.buffer_ptr(A)[i]
        ib.buffer_ptr(B)[i] = rows[1, i]
    func = tir.PrimFunc([A, B], ib.get())
    assert declarations(func) == ["rows = T.alloc_buffer((2, 4), axis_separators=[1])"]


def test_frames_declare_separators() -> None:
    with IRBuilder() as builder, frames.prim_func():
        frames.func_name("main")
        A = frames.arg("A", frames.Buffer((4, 6), "float32", axis_separators=[1]))
        B = frames.alloc_buffer((4, 6), "float32", axis_separators=[2])
        with frames.grid(4, 6) as (i, j):
            frames.buffer_store(B, A[i, j], [i, j])
    lines = declarations(builder.get())
    assert [line.partition("axis_separators")[2] for line in lines] == ["=[1])", "=[2])"]


@pytest.mark.parametrize(
    ("separators", "message"),
    [
        ([3], r"decl_buffer D: axis_separators \[3\], expected positions from 0 to 2"),
        ([1, 0], r"decl_buffer D: axis_separators \[1, 0\], expected positions from 0 to 2, none less than the one"),
    ],
)
def test_other_positions_are_errors(separators: list[int], message: str) -> None:
    with pytest.raises(TeError, match=message):
        tir.decl_buffer((4, 6), name="D", axis_separators=separators)


def test_buffers_of_tensors_have_no_separators() -> None:
    A = te.placeholder((4, 6), "float32", name="A")
    divided = tir.decl_buffer((4, 6), "float32", name="D", axis_separators=[1])
    with pytest.raises(TeError, match=r"buffer D with axis_separators \[1\], expected none"):
        te.extern((4, 6), [A], lambda ins, outs: tir.call_packed("f", ins[0], outs[0]), in_buffers=[divided])


# Comparisons


def test_separators_are_compared() -> None:
    other = tvm.script.from_source(doubled.script().replace("axis_separators=[0, 2]", "axis_separators=[2]"))
    assert not tvm.ir.structural_equal(doubled, other)
    assert tvm.ir.structural_hash(doubled) != tvm.ir.structural_hash(other)
    first = tvm.script.from_source(doubled.script().replace("axis_separators=[1]", "axis_separators=[2]"))
    lhs, _ = tvm.ir.base.get_first_structural_mismatch(doubled, first)
    assert str(lhs).endswith(".axis_separators[0]")
    assert tvm.ir.structural_equal(doubled, tvm.script.from_source(doubled.script()))


# Schedules


def test_a_buffer_is_given_in_any_form() -> None:
    for form in ("node", ("write", 0), "C", "number"):
        sch = tir.Schedule(module(doubled))
        block = sch.get_block("C")
        match form:
            case "node":
                sch.set_axis_separator(block, sch.get(block).writes[0].buffer, [1])
            case "number":
                sch.set_axis_separator("C", 0, "write", [1])
            case _:
                sch.set_axis_separator(block, buffer=form, axis_separators=[1])
        assert "C = T.alloc_buffer((4, 6), axis_separators=[1])" in sch.mod.script()
        check_doubles(sch.mod)


def test_layouts_of_index_maps_state_separators() -> None:
    sch = tir.Schedule(module(doubled))
    node = sch.get(sch.get_block("C")).reads[0].buffer
    sch.transform_layout("C", node, lambda i, j: [j, tir.IndexMap.AXIS_SEPARATOR, i])
    assert "A = T.match_buffer(var_A, (6, 4), axis_separators=[1])" in sch.mod.script()
    with pytest.raises(ScheduleError, match="block C does not access this buffer A, expected one of its current"):
        sch.transform_layout("C", node, lambda i, j: [j, i])


def test_the_trace_is_read_back_from_json() -> None:
    sch = tir.Schedule(module(doubled))
    sch.set_axis_separator("C", ("write", 0), [1])
    sch.set_axis_separator("B", ("write", 0), [])
    form = json.loads(json.dumps(sch.trace.as_json()))
    assert ["SetAxisSeparator", ["b0"], [0, 1, [1]], []] in form[0]
    again = tir.Schedule(module(doubled))
    tir.schedule.Trace.apply_json_to_schedule(form, again)
    assert again.mod.script() == sch.mod.script()


# Flat buffers


def test_flat_buffers_have_a_dimension_for_each_group() -> None:
    @T.prim_func
    def images(A: T.Buffer((2, 3, 4, 6), axis_separators=[2]), B: T.Buffer((2, 3, 4, 6), axis_separators=[1, 2, 3])):
        C = T.alloc_buffer((2, 3, 4, 6), axis_separators=[0, 3, 3])
        D = T.decl_buffer((2, 3, 4), axis_separators=[1])
        for i, j, k in T.grid(2, 3, 4):
            with T.block("C"):
                vi, vj, vk = T.axis.remap("SSS", [i, j, k])
                T.reads(A[vi, vj, vk, 0:6])
                T.writes(C[vi, vj, vk, 0:6])
                C[vi, vj, vk, 0:6] = A[vi, vj, vk, 0:6]
        for i, j, k in T.grid(2, 3, 4):
            D[i, j, k] = C[i, j, k, 1]
            B[i, j, k, 0:6] = C[i, j, k, 0:6] + T.Broadcast(D[i, j, k], 6)

    mod = module(images)
    flat = tir.transform.FlattenBuffer()(mod)
    text = flat.script()
    assert "A_1 = T.decl_buffer((6, 24), data=A.data, axis_separators=[1])" in text
    assert "C = T.alloc_buffer((1, 24, 1, 6), axis_separators=[1, 2, 3])" in text
    assert 'D = T.allocate([2, 12], "float32", "global")' in text
    assert "T.decl_buffer((2, 12), data=D, axis_separators=[1])" in text
    assert "T.reads(A_1[vi * 3 + vj, vk * 6:vk * 6 + 6])" in text
    assert "C[0, vi * 12 + vj * 4 + vk, 0, 0:6] = A_1[vi * 3 + vj, vk * 6:vk * 6 + 6]" in text
    assert "B[i, j, k, 0:6] =" in text
    assert tir.transform.FlattenBuffer()(flat).script() == text
    a = np.arange(144, dtype="float32").reshape(2, 3, 4, 6)
    for each in (mod, flat):
        b = np.zeros_like(a)
        tvm.build(each)(a, b)
        np.testing.assert_array_equal(b, a + a[..., 1:2])

"""Functions built of parameters and nodes: `tvm.tir.PrimFunc(params, body)`."""

from typing import Any, cast

import numpy as np
import pytest

import stepwell.frontends.tvm as tvm
from stepwell.core.errors import ExecutionError
from stepwell.frontends.te import TeError
from stepwell.frontends.tvm import te, tir

n = te.size_var("n")
A, B = (tir.decl_buffer((n,), "float32", name=name) for name in "AB")
C = tir.decl_buffer((8,), "float32", name="C")
i, j = te.var("i"), te.var("j")
TRUE = tir.const(True, "bool")


def run(func: Any, *arrays: np.ndarray[Any, Any], target: str = "llvm") -> np.ndarray[Any, Any]:
    """The last array after a call."""
    tvm.build(func, target=target)(*arrays)
    return arrays[-1]


def alternating() -> Any:
    """The statements of `B = A`, with 1 added to elements at even places."""
    ib = tir.ir_builder.create()
    a, b = ib.buffer_ptr(A), ib.buffer_ptr(B)
    with ib.for_range(0, n, name="i") as place:
        with ib.if_scope(place % 2 == 0):
            b[place] = a[place] + 1.0
        with ib.else_scope():
            b[place] = a[place]
    return ib.get()


def test_statements_of_a_builder_are_nodes() -> None:
    body: Any = alternating()
    assert isinstance(body, tir.For)
    assert isinstance(body.body, tir.IfThenElse)
    assert isinstance(cast(Any, body.body.then_case).value.a, tir.BufferLoad)
    assert str(body).splitlines()[:2] == ["for i in range(n):", "    if i % 2 == 0:"]


def test_parameters_are_buffers() -> None:
    func = tir.PrimFunc([A, B], alternating()).with_attr("global_symbol", "test")
    x = np.arange(7, dtype="float32")
    mod = tvm.IRModule.from_expr(func)
    y = np.zeros_like(x)
    tvm.build(mod)["test"](x, y)
    np.testing.assert_array_equal(y, x + (np.arange(7) % 2 == 0))


def test_parameters_are_variables_with_buffers() -> None:
    a, b = tir.Var("a", "handle"), tir.Var("b", "handle")
    body = tir.For(i, 0, n, tir.ForKind.PARALLEL, tir.BufferStore(B, tir.BufferLoad(A, [i]) * 2, [i]))
    func = tir.PrimFunc([a, b], body, None, {a: A, b: B})
    x = np.arange(7, dtype="float32")
    np.testing.assert_array_equal(run(func, x, np.zeros_like(x)), 2 * x)
    assert a.dtype == "handle"
    assert isinstance(a, tir.Var)
    assert func.buffer_map[func.params[1]] is B
    assert func.body is body
    other = func.with_body(tir.For(loop_var=i, min_val=0, extent=n, kind=0, body=tir.BufferStore(B, 3, [i])))
    np.testing.assert_array_equal(run(other, x, np.zeros_like(x)), np.full(7, 3))


def test_parameters_are_numbers() -> None:
    k = te.var("k", "int32")
    assert tvm.build(tir.PrimFunc([k], tir.Evaluate(tir.ret(k * 3))))(5) == 15


def test_memory_of_a_pointer() -> None:
    pointer = tir.Var("p", tvm.ir.PointerType(tvm.ir.PrimType("float32"), "local"))
    row = tir.decl_buffer((4,), "float32", data=pointer, name="row")
    assert row.data is pointer
    assert row.scope() == "local"
    fill = tir.For(j, 0, 4, 0, tir.BufferStore(row, tir.Cast("float32", j * 10 + i), [j]))
    copy = tir.BufferStore(C, tir.BufferLoad(row, [tir.Ramp(0, 1, 4)]), [tir.Ramp(i * 4, 1, 4)])
    body = tir.For(i, 0, 2, 0, tir.Allocate(pointer, "float32", [4], TRUE, tir.SeqStmt([fill, copy])))
    expected = np.add.outer(np.arange(2), np.arange(4) * 10).ravel()
    np.testing.assert_array_equal(run(tir.PrimFunc([C], body), np.zeros(8, "float32")), expected)


def test_memory_of_a_builder() -> None:
    ib = tir.ir_builder.create()
    c = ib.buffer_ptr(C)
    with ib.for_range(0, 2, name="i") as row:
        memory = ib.allocate("float32", 4, name="memory", scope="local")
        with ib.for_range(0, 4, name="j") as place:
            memory[place] = tir.Cast("float32", row + place)
        value = ib.let("value", memory[3])
        with ib.for_range(0, 4, name="j") as place:
            c[row * 4 + place] = memory[place] * value
    x = np.add.outer(np.arange(2), np.arange(4)).astype("float32")
    result = run(tir.PrimFunc([C], ib.get()), np.zeros(8, "float32"))
    np.testing.assert_array_equal(result, (x * x[:, 3:]).ravel())


def test_axes_of_threads() -> None:
    block, thread = te.thread_axis("blockIdx.x"), te.thread_axis("threadIdx.x")
    place = block.var * 4 + thread.var
    store = tir.BufferStore(C, tir.Cast("float32", place), [place])
    inside = tir.AttrStmt(thread, "thread_extent", 4, store)
    func = tir.PrimFunc([C], tir.AttrStmt(block, "thread_extent", 2, inside))
    np.testing.assert_array_equal(run(func, np.zeros(8, "float32"), target="cuda-emulated"), np.arange(8))


def test_loops_while_and_assertions() -> None:
    w = tir.decl_buffer((1,), "int32", name="w")
    body = tir.While(tir.BufferLoad(w, [0]) < 10, tir.BufferStore(w, tir.BufferLoad(w, [0]) + 3, [0]))
    assert run(tir.PrimFunc([w], body), np.zeros(1, "int32")) == [12]
    checked = tir.AssertStmt(n > 2, tir.StringImm("too short"), tir.BufferStore(B, 1, [n - 1]))
    func = tvm.build(tir.PrimFunc([B], checked))
    x = np.zeros(3, "float32")
    func(x)
    assert x[2] == 1
    with pytest.raises(ExecutionError, match="too short"):
        func(x[:2])


def test_calls_of_functions() -> None:
    called: list[Any] = []
    tvm.register_func("test.construction", lambda *args: called.append([int(args[0]), args[1].numpy().copy()]), True)
    body = tir.Evaluate(tir.call_packed("test.construction", 7, C))
    run(tir.PrimFunc([C], body), np.ones(8, "float32"))
    assert called[0][0] == 7
    np.testing.assert_array_equal(called[0][1], np.ones(8))


def test_functions_of_buffers_of_other_functions() -> None:
    func = te.create_prim_func([x := te.placeholder((8,), name="x"), te.compute((8,), lambda k: x[k] + 1, name="y")])
    source, result = (func.buffer_map[param] for param in func.params)
    body = tir.For(i, 0, 8, 0, tir.BufferStore(result, tir.BufferLoad(source, [7 - i]), [i]))
    numbers = np.arange(8, dtype="float32")
    np.testing.assert_array_equal(
        run(tir.PrimFunc(func.params, body, buffer_map=func.buffer_map), numbers, np.zeros_like(numbers)), numbers[::-1]
    )


def test_nodes_in_extern() -> None:
    a = te.placeholder((8,), name="a")

    def reversed_of(ins: Any, outs: Any) -> Any:
        return tir.For(i, 0, 8, 0, tir.BufferStore(outs[0], ins[0][7 - i], [i]))

    b = te.extern((8,), [a], reversed_of, dtype="float32")
    x = np.arange(8, dtype="float32")
    np.testing.assert_array_equal(run(te.create_prim_func([a, b]), x, np.zeros_like(x)), x[::-1])


def test_positions_in_memory() -> None:
    buffer = tir.decl_buffer((4, 6), strides=[8, 1], elem_offset=3, name="D")
    (place,) = buffer.offset_of([2, 5])
    assert isinstance(place, tir.IntImm)
    assert place.value == 3 + 2 * 8 + 5


def test_errors() -> None:
    for action, message in (
        (lambda: tir.PrimFunc([A], tir.BufferStore(B, 0, [0])), "buffer B is neither a parameter nor allocated"),
        (lambda: tir.PrimFunc([A], tir.BufferStore(A, 0, [i])), "variable i is declared by no loop"),
        (lambda: tir.PrimFunc(cast(Any, [3]), tir.Evaluate(0)), "parameter 3, expected a buffer or a variable"),
        (lambda: tir.AttrStmt(i, "thread_extent", 4, tir.Evaluate(0)), "expected an axis of threads"),
        (lambda: tir.decl_buffer((4,), buffer_type="auto_broadcast"), "buffer_type 'auto_broadcast'"),
        (lambda: tir.decl_buffer((4,), data=i), "expected a variable of type handle"),
    ):
        with pytest.raises(TeError, match=message):
            action()


def test_statements_of_a_schedule_need_the_buffers_of_its_tensors() -> None:
    a = te.placeholder((21,), name="X")
    s = te.create_schedule(te.compute((21,), lambda i: a[i] + 1.0, name="Y").op)
    statements = tvm.te.schedule.ScheduleOps(s, tvm.te.schedule.InferBound(s))
    with pytest.raises(TeError, match="buffer X is neither a parameter nor allocated around its use"):
        tir.PrimFunc([], statements)

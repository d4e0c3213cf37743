"""Statements written one by one: `tvm.tir.ir_builder` in `te.extern`."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import stepwell.frontends.tvm as tvm
from stepwell.frontends.te import TeError
from stepwell.frontends.tvm import te
from stepwell.frontends.tvm.tir import ir_builder

n = te.var("n")
RNG = np.random.default_rng(0)


def written(body: Callable[[Any, Any, Any], Any], shape: Any = (n, 8), index: str | None = None) -> Any:
    """The function of a tensor that statements compute from another of the same shape. body: takes the builder and the
    elements of the input and of the result.
    """
    a = te.placeholder(shape, name="A")

    def fcompute(ins: Any, outs: Any) -> Any:
        builder = ir_builder.create()
        body(builder, builder.buffer_ptr(ins[0]), builder.buffer_ptr(outs[0]))
        return builder.get()

    b = te.extern(shape, [a], fcompute, name="B", dtype="float32")
    return te.create_prim_func([a, b], index_dtype_override=index)


def run(func: Any, x: Any, target: str = "llvm") -> Any:
    result = np.zeros_like(x)
    tvm.build(func, target=target)(x, result)
    return result


def selected(ib: Any, a: Any, b: Any) -> None:
    """The rows doubled in memory of their own; of them the numbers above 0.5 from column 3 on, else 0."""
    row = ib.allocate("float32", (8,), name="row", scope="local")
    with ib.for_range(0, n, name="i") as i:
        with ib.for_range(0, 8, name="j", kind="vectorize") as j:
            row[j] = a[i, j] * 2.0
        with ib.for_range(0, 8, name="j") as j:
            value = ib.let("value", row[j])
            with ib.if_scope(tvm.tir.all(j > 2, value > 0.5)):
                b[i * 8 + j] = value
            with ib.else_scope():
                b[i * 8 + j] = 0.0


@pytest.mark.parametrize("index", [None, "int64"])
def test_loops_branches_and_memory(index: str | None) -> None:
    x = RNG.random((5, 8), dtype="float32")
    expected = np.where((np.arange(8) > 2) & (2 * x > 0.5), 2 * x, 0)
    np.testing.assert_array_equal(run(written(selected, index=index), x), expected)


def collatz(ib: Any, a: Any, b: Any) -> None:
    """The number of steps to 1."""
    number = ib.allocate("int32", 1, name="number")
    with ib.for_range(0, n, name="i") as i:
        number[0] = tvm.tir.Cast("int32", a[i])
        b[i] = 0.0
        with ib.while_loop(number[0] > 1):
            number[0] = tvm.tir.Select(number[0] % 2 == 0, number[0] // 2, number[0] * 3 + 1)
            b[i] = b[i] + 1.0


def test_a_loop_while_a_condition_holds() -> None:
    x = np.array([1, 2, 3, 6, 7], np.float32)
    np.testing.assert_array_equal(run(written(collatz, (n,)), x), [0, 1, 7, 8, 16])


def by_threads(ib: Any, a: Any, b: Any) -> None:
    block, thread = te.thread_axis("blockIdx.x"), te.thread_axis("threadIdx.x")
    ib.scope_attr(block, "thread_extent", (n * 8 + 31) // 32)
    ib.scope_attr(thread, "thread_extent", 32)
    place = block * 32 + thread
    with ib.if_scope(ib.likely(place < n * 8)):
        b[place] = a[place] + 1.0


def test_threads_of_a_gpu() -> None:
    x = RNG.random((5, 8), dtype="float32")
    np.testing.assert_array_equal(run(written(by_threads), x, "cuda-emulated"), x + 1)


def test_a_shape_of_other_extents() -> None:
    a = te.placeholder((4, 6), name="A")

    def transposed(ins: Any, outs: Any) -> Any:
        ib = ir_builder.create()
        source, target = ib.buffer_ptr(ins[0], shape=(3, 8)), ib.buffer_ptr(outs[0])
        with ib.for_range(0, 3, "i") as i, ib.for_range(0, 8, "j") as j:
            target[j, i] = source[i, j]
        return ib.get()

    b = te.extern((8, 3), [a], transposed, name="B", dtype="float32")
    x, result = np.arange(24, dtype="float32").reshape(4, 6), np.zeros((8, 3), "float32")
    tvm.build(te.create_schedule(b.op), [a, b])(x, result)
    np.testing.assert_array_equal(result, x.reshape(3, 8).T)


def test_errors() -> None:
    ib = ir_builder.create()
    memory = ib.allocate("int32", (4, 4), name="memory")
    for action, message in (
        (lambda: memory[0, 0, 0], "3 indices into memory of 2 dimensions"),
        (lambda: memory.__setitem__(0, tvm.tir.Cast("int64", te.var("x"))), "store of int64 to memory of int32"),
        (lambda: ib.emit(1), "emit of 1, expected a statement"),
        (lambda: ib.else_scope().__enter__(), "expected an if_scope before it"),
        (lambda: ib.for_range(0, 4, kind="tensorize"), "kind 'tensorize'"),
        (lambda: ib.scope_attr(memory, "storage_scope", "shared"), "scope_attr 'storage_scope'"),
        (lambda: ib.buffer_ptr(memory.asobject(), shape=(5,)), "5 elements, expected 16"),
    ):
        with pytest.raises(TeError, match=message):
            action()
    with ib.for_range(0, 4), pytest.raises(TeError, match="get within a scope"):
        ib.get()


def test_a_buffer_is_used_where_it_is_allocated() -> None:
    def outside(ib: Any, a: Any, b: Any) -> None:
        with ib.for_range(0, 8, name="i"):
            memory = ib.allocate("float32", (8,), name="memory")
        with ib.for_range(0, 8, name="i") as i:
            b[i] = memory[i]

    with pytest.raises(TeError, match="buffer memory is used outside of the statements around its allocation"):
        written(outside, (8,))


def test_elements_at_an_address_are_a_parameter() -> None:
    builder = tvm.tir.ir_builder.create()
    n = te.var("n")
    data = builder.pointer("float32", name="data")
    with builder.for_range(0, n, "i") as i:
        data[i] = data[i] * 2.0
        builder.emit(tvm.tir.Evaluate(i + n))
    func = tvm.tir.PrimFunc([data, n], builder.get())
    assert "T.evaluate(i + n)" in func.script()
    array = np.arange(4, dtype=np.float32)
    tvm.build(func)(array.ctypes.data, 4)
    np.testing.assert_array_equal(array, [0, 2, 4, 6])


def test_memory_of_a_scope_ends_with_it() -> None:
    ib = tvm.tir.ir_builder.create()
    a = ib.buffer_ptr(buffer := tvm.tir.decl_buffer((4,), "int32", "a"))
    with ib.new_scope():
        b = ib.allocate("int32", 4, name="b")
        b[0] = a[1] + 1
        a[0] = b[0]
    a[2] = a[0] + 1
    func = tvm.tir.PrimFunc([buffer], ib.get())
    numbers = np.arange(4, dtype="int32")
    tvm.build(func)(numbers)
    np.testing.assert_array_equal(numbers, [2, 1, 3, 3])

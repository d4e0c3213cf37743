"""Tensors computed by registered functions."""

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from stepwell import ArgumentError, ExecutionError, LinkError, build, parse_mlir, parse_tvmscript
from stepwell.backends.runtime import register_func
from stepwell.expressions.statements import for_each
from stepwell.frontends import te, tvm
from stepwell.frontends.te import TeError

TARGETS = ("llvm", "python")
m = te.var("m")


@register_func("test.te.scaled")
def scaled(source: Any, result: Any, factor: Any) -> None:
    result[...] = source * source.dtype.type(factor)


@register_func("test.te.sorted")
def in_order(source: Any, values: Any, places: Any) -> None:
    places[...] = np.argsort(source, kind="stable")
    values[...] = source[places]


@register_func("test.te.filled")
def filled(result: Any, value: int, more: int) -> None:
    result[...] = value + more


@register_func("test.te.failing")
def failing(result: Any) -> None:
    raise KeyError("no")


def between(rows: Any) -> list[Any]:
    """An extern call between two computed tensors."""
    A = te.placeholder((rows, 4), name="A")
    more = te.compute((rows, 4), lambda i, j: A[i, j] + 1.0, name="more")
    times = te.extern(
        (rows, 4), [more], lambda ins, outs: te.call_packed("test.te.scaled", ins[0], outs[0], 3), name="times"
    )
    return [A, te.compute((rows, 4), lambda i, j: times[i, j] - 1.0, name="less")]


def two(size: Any) -> list[Any]:
    """An extern call with two results of different data types."""
    A = te.placeholder((size,), name="A")
    return [
        A,
        *te.extern(
            [(size,), (size,)],
            [A],
            lambda ins, outs: te.call_packed("test.te.sorted", ins[0], *outs),
            name="sorted",
            dtype=["float32", "int64"],
        ),
    ]


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("index", [None, "int64"])
@pytest.mark.parametrize("rows", [5, m])
def test_a_call_between_tensors_that_are_computed(target: str, index: str | None, rows: Any) -> None:
    mod = te.create_prim_func(between(rows), index)
    mod.verify()
    a, got = np.arange(20, dtype="float32").reshape(5, 4), np.zeros((5, 4), "float32")
    build(mod, target=target)["main"](a, got)
    np.testing.assert_array_equal(got, (a + 1) * 3 - 1)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("size", [6, m])
def test_several_results(target: str, size: Any) -> None:
    a = np.array([3, 1, 2, 1, 0, 5], "float32")
    values, places = np.zeros(6, "float32"), np.zeros(6, "int64")
    build(te.create_prim_func(two(size)), target=target)["main"](a, values, places)
    assert values.tolist() == [0, 1, 1, 2, 3, 5]
    assert places.tolist() == [4, 1, 3, 2, 0, 5]


@pytest.mark.parametrize("target", TARGETS)
def test_several_calls_one_after_the_other(target: str) -> None:
    A = te.placeholder((4,), name="A")
    calls = te.extern(
        (4,),
        [A],
        lambda ins, outs: [
            te.call_packed("test.te.scaled", ins[0], outs[0], 2),
            te.call_packed("test.te.scaled", outs[0], outs[0], 5),
        ],
    )
    a, got = np.arange(4, dtype="float32"), np.zeros(4, "float32")
    build(te.create_prim_func([A, calls]), target=target)["main"](a, got)
    assert got.tolist() == [0, 10, 20, 30]


@pytest.mark.parametrize("target", TARGETS)
def test_numbers_and_sizes_are_arguments_and_inputs_need_not_be(target: str) -> None:
    made = te.extern((m,), [], lambda ins, outs: te.call_packed("test.te.filled", outs[0], 4, m * 2), dtype="int32")
    got = np.zeros(5, "int32")
    build(te.create_prim_func([made]), target=target)["main"](got)
    assert got.tolist() == [14] * 5


@pytest.mark.parametrize("target", TARGETS)
def test_first_rows_of_a_scan_that_a_call_gives(target: str) -> None:
    state = te.placeholder((4,), "int32", name="state")
    first = te.extern((2,), [], lambda ins, outs: te.call_packed("test.te.filled", outs[0], 0, 7), dtype="int32")
    update = te.compute((4,), lambda t: state[t - 1] + state[t - 2], name="update")
    got = np.zeros(4, "int32")
    build(te.create_prim_func([te.scan(first, update, state)]), target=target)["main"](got)
    assert got.tolist() == [7, 7, 14, 21]


def test_the_block_says_that_it_reads_all_and_writes_all() -> None:
    wanted = """
@T.prim_func
def main(A: T.Buffer((6,), "float32"), sorted_v0: T.Buffer((6,), "float32"), sorted_v1: T.Buffer((6,), "int64")):
    T.func_attr({"tir.noalias": True})
    with T.block("root"):
        with T.block("sorted"):
            T.reads(A[0:6])
            T.writes(sorted_v0[0:6], sorted_v1[0:6])
            T.call_packed("test.te.sorted", A, sorted_v0, sorted_v1)
"""
    assert te.create_prim_func(two(6)).script() == parse_tvmscript(wanted).script()


@pytest.mark.parametrize("make", [lambda: between(5), lambda: between(m), lambda: two(6), lambda: two(m)])
@pytest.mark.parametrize("index", [None, "int64"])
def test_calls_print_and_parse(make: Callable[[], list[Any]], index: str | None) -> None:
    tensors, program = te.create_te_func(make(), index), te.create_prim_func(make(), index)
    tensors.verify()
    assert str(parse_mlir(str(tensors))) == str(tensors)
    assert parse_tvmscript(program.script()).script() == program.script()


@pytest.mark.parametrize("target", TARGETS)
def test_a_function_that_nobody_registered_is_an_error(target: str) -> None:
    made = te.extern((4,), [], lambda ins, outs: te.call_packed("test.te.nowhere", outs[0]), dtype="int32")
    with pytest.raises(LinkError, match=re.escape("test.te.nowhere")):
        build(te.create_prim_func([made]), target=target)["main"](np.zeros(4, "int32"))


@pytest.mark.parametrize("target", TARGETS)
def test_what_a_function_raises_reaches_the_caller(target: str) -> None:
    made = te.extern((4,), [], lambda ins, outs: te.call_packed("test.te.failing", outs[0]), dtype="int32")
    with pytest.raises((KeyError, ExecutionError), match="no"):
        build(te.create_prim_func([made]), target=target)["main"](np.zeros(4, "int32"))


# Functions of C


def doubled(size: Any) -> list[Any]:
    """A copy by `memcpy`, multiplied by two."""
    A = te.placeholder((size,), name="A")
    copy = te.extern(
        (size,),
        [A],
        lambda ins, outs: te.call_extern(
            "handle", "memcpy", outs[0].data, ins[0].access_ptr("r"), te.const(size, "int64") * 4
        ),
        name="copy",
    )
    return [A, te.compute((size,), lambda i: copy[i] * 2.0, name="B")]


def test_an_address_by_its_position_in_row_major_order() -> None:
    A = te.placeholder((3, 4), name="A")

    def copied(ins: list[Any], outs: list[Any]) -> Any:
        def row(i: Any) -> Any:
            source, target = ins[0].access_ptr("r", offset=(2 - i) * 4), outs[0].access_ptr("w", "handle", offset=i * 4)
            return te.call_extern("handle", "memcpy", target, source, te.const(16, "int64"))

        return for_each(3, row, "i")

    B = te.extern((3, 4), [A], copied, name="B")
    a, b = np.arange(12, dtype="float32").reshape(3, 4), np.zeros((3, 4), "float32")
    build(te.create_prim_func([A, B]))(a, b)
    np.testing.assert_array_equal(b, a[::-1])


@pytest.mark.parametrize("threads", [False, True])
def test_arrays_behind_pointers_for_reads_may_be_read_only(threads: bool) -> None:
    A = te.placeholder((4, 4), name="A")

    def copied(access: str) -> Any:
        def rows(ins: list[Any], outs: list[Any]) -> Any:
            def row(i: Any) -> Any:
                source, target = ins[0].access_ptr(access, offset=i * 4), outs[0].access_ptr("w", offset=i * 4)
                return te.call_extern("handle", "memcpy", target, source, te.const(16, "int64"))

            return for_each(4, row, "i")

        B = te.extern((4, 4), [A], rows, name="B")
        C = te.compute((4, 4), lambda i, j: B[i, j] + A[i, j], name="C")
        sch = te.create_schedule([C.op])
        if threads:
            sch[C].parallel(C.op.axis[0])
        return build(tvm.lower(sch, [A, C]))

    a, c = np.arange(16, dtype="float32").reshape(4, 4), np.zeros((4, 4), "float32")
    a.flags.writeable = False
    copied("r")(a, c)
    np.testing.assert_array_equal(c, a + a)
    with pytest.raises(ArgumentError, match="argument A: expected a writeable array, got a read-only one"):
        copied("rw")(a, c)


def rows_backwards(size: Any) -> list[Any]:
    """Rows in reverse order, each copied by `memcpy`."""
    A = te.placeholder((size, 4), name="A")

    def copied(ins: list[Any], outs: list[Any]) -> Any:
        def row(i: Any) -> Any:
            source, target = ins[0].address_of(size - 1 - i, 0), outs[0].address_of(i, 0)
            return te.call_extern("handle", "memcpy", target, source, te.const(16, "int64"))

        return for_each(size, row, "i")

    return [A, te.extern((size, 4), [A], copied, name="B")]


@pytest.mark.parametrize("index", [None, "int64"])
@pytest.mark.parametrize("size", [5, 1, 0, m])
def test_a_call_for_each_number_takes_addresses_inside_of_buffers(size: Any, index: str | None) -> None:
    rows = 3 if size is m else size
    a = np.arange(rows * 4, dtype="float32").reshape(rows, 4)
    b = np.zeros_like(a)
    build(te.create_prim_func(rows_backwards(size), index_dtype_override=index))["main"](a, b)
    assert np.array_equal(b, a[::-1])


@pytest.mark.parametrize("index", [None, "int64"])
def test_a_function_of_c_takes_addresses(index: str | None) -> None:
    mod = te.create_prim_func(doubled(6), index)
    mod.verify()
    assert parse_tvmscript(mod.script()).script() == mod.script()
    a, got = np.arange(6, dtype="float32"), np.zeros(6, "float32")
    build(mod)["main"](a, got)
    assert got.tolist() == (a * 2).tolist()


def test_a_function_of_c_that_returns_nothing() -> None:
    made = te.extern(
        (4,),
        [],
        lambda ins, outs: te.call_extern("void", "memset", outs[0].data, 1, te.const(16, "int64")),
        dtype="int32",
    )
    got = np.zeros(4, "int32")
    build(te.create_prim_func([made]))["main"](got)
    assert got.tolist() == [0x01010101] * 4


def test_a_function_of_c_that_nobody_has_is_an_error() -> None:
    made = te.extern((4,), [], lambda ins, outs: te.call_extern("int32", "nowhere_at_all", outs[0].data), dtype="int32")
    with pytest.raises(LinkError, match="nowhere_at_all"):
        build(te.create_prim_func([made]))


def test_buffers_of_the_caller_stand_for_those_of_tensors() -> None:
    A = te.placeholder((6,), name="A")
    source, result = (
        te.decl_buffer((6,), name="source", offset_factor=1),
        te.decl_buffer((6,), "float32", name="result"),
    )
    made = te.extern(
        (6,),
        [A],
        lambda ins, outs: te.call_packed("test.te.scaled", source, result, 3),
        in_buffers=source,
        out_buffers=[result],
    )
    assert made.dtype == "float32"
    a, got = np.arange(6, dtype="float32"), np.zeros(6, "float32")
    build(te.create_prim_func([A, made]))["main"](a, got)
    assert got.tolist() == (a * 3).tolist()


# Mistakes

A = te.placeholder((8,), name="A")
I = te.placeholder((8,), "int32", name="I")  # noqa: E741
ROW = te.decl_buffer((8,), name="ROW")
KEPT: list[Any] = []


def call(*args: Any) -> Any:
    return lambda ins, outs: te.call_packed("f", *args)


WRONG: dict[str, tuple[Callable[[], object], str]] = {
    "an input that is no tensor": (lambda: te.extern((8,), [3], call()), "input 3, expected a tensor"),  # pyright: ignore[reportArgumentType]
    "no data type": (lambda: te.extern((8,), [], call()), "inputs of 0 data types, expected dtype to say"),
    "which data type": (lambda: te.extern((8,), [A, I], call()), "inputs of 2 data types, expected dtype to say"),
    "an unknown data type": (lambda: te.extern((8,), [A], call(), dtype="f13"), "extern extern: unknown dtype 'f13'"),
    "data types for too few": (
        lambda: te.extern([(8,), (8,)], [A], call(), dtype=["int32"]),
        "1 data types for 2 shapes",
    ),
    "a negative extent": (lambda: te.extern((-8,), [A], call(), name="E"), "shape of E: extent -8 of dimension 0"),
    "no call": (lambda: te.extern((8,), [A], lambda ins, outs: []), "extern extern: no call"),
    "what is no call": (lambda: te.extern((8,), [A], lambda ins, outs: 3), "fcompute gives 3, expected te.call_packed"),
    "a call of nothing": (lambda: te.call_packed(""), "call_packed of '', expected the name of a function"),
    "a tensor for its buffer": (
        lambda: te.extern((8,), [A], call(A)),
        "call_packed f: tensor A, expected its buffer, one of ins and outs",
    ),
    "an element": (lambda: te.extern((8,), [A], call(A[0])), "A[0] reads a tensor, expected a buffer or a number"),
    "a string": (lambda: te.extern((8,), [A], call("x")), "'x' of type str, expected an expression or a number"),
    "an argument of no kind": (lambda: te.extern((8,), [A], call(None)), "None of type NoneType, expected an"),
    "a buffer of another call": (
        lambda: [
            te.extern((8,), [A], lambda ins, outs: KEPT.append(outs[0]) or te.call_packed("f")),
            te.extern((8,), [A], lambda ins, outs: te.call_packed("f", KEPT[0]), name="E"),
        ],
        "extern E: buffer extern is of another operation",
    ),
    "a tensor as a buffer of the caller": (
        lambda: te.extern((8,), [A], call(), in_buffers=[A]),  # pyright: ignore[reportArgumentType]
        "in_buffers: Tensor(shape=[8], op.name=A), expected what te.decl_buffer gives",
    ),
    "too many buffers of the caller": (
        lambda: te.extern((8,), [A], call(), in_buffers=[te.decl_buffer((8,)), te.decl_buffer((8,))]),
        "extern extern: in_buffers: 2 buffers, expected 1",
    ),
    "a buffer of another shape": (
        lambda: te.extern((8,), [A], call(), out_buffers=te.decl_buffer((8, 1), name="O")),
        "out_buffers: buffer O is [8, 1] of float32, expected [8] of float32",
    ),
    "a buffer of another type": (
        lambda: te.extern((8,), [A], call(), in_buffers=te.decl_buffer((8,), "int32", "P")),
        "in_buffers: buffer P is [8] of int32, expected [8] of float32",
    ),
    "a buffer twice": (
        lambda: te.extern((8,), [A, A], call(), in_buffers=[ROW, ROW]),
        "in_buffers: buffer ROW is given twice",
    ),
    "a buffer with strides": (
        lambda: te.extern((8,), [A], call(), in_buffers=te.decl_buffer((8,), strides=[2], name="T")),
        "in_buffers: buffer T, expected a row-major, compact and global buffer",
    ),
    "a buffer elsewhere": (
        lambda: te.extern((8,), [A], call(), in_buffers=te.decl_buffer((8,), scope="shared", name="T")),
        "in_buffers: buffer T, expected a row-major, compact and global buffer",
    ),
    "too few strides": (lambda: te.decl_buffer((8, 8), strides=[1], name="T"), "T: 1 strides for 2 dimensions"),
    "memory of a buffer": (lambda: te.decl_buffer((8,), data=ROW.data, name="T"), "decl_buffer T: data"),  # pyright: ignore[reportArgumentType]
    "a buffer for its address": (
        lambda: te.extern((8,), [A], lambda ins, outs: te.call_extern("int32", "f", ins[0])),
        'call_extern f: buffer A, expected its address, A.access_ptr("r")',
    ),
    "an address for its buffer": (
        lambda: te.extern((8,), [A], lambda ins, outs: te.call_packed("f", ins[0].address_of(0))),
        "call_packed f: an address in A, expected the buffer",
    ),
    "an address in a buffer of another call": (
        lambda: te.extern((8,), [A], lambda ins, outs: te.call_extern("int32", "f", ROW.data)),
        "extern extern: buffer ROW is of another operation",
    ),
    "another access": (lambda: ROW.access_ptr("x"), "access_ptr of ROW: access_mask 'x', expected 'r', 'w' or 'rw'"),
    "an offset among strides": (
        lambda: te.decl_buffer((8, 8), strides=[16, 2], name="T").access_ptr("r", offset=4),
        "access_ptr of T: offset 4 with last stride 2, expected 1",
    ),
    "an address of vectors": (
        lambda: ROW.access_ptr("r", content_lanes=4),
        "access_ptr of ROW: content_lanes 4, expected 1",
    ),
    "an address with too few indices": (lambda: ROW.address_of(), "address_of ROW: 0 indices for 1 dimensions"),
    "a result of no type": (lambda: te.call_extern("f13", "f"), "call_extern f: unknown dtype 'f13'"),
    "a C function without a name": (lambda: te.call_extern("int32", ""), "call_extern of '', expected the name"),
    "a call of the state": (
        lambda: te.scan(
            te.compute((1,), lambda t: te.const(0.0)),
            te.compute((8,), lambda t: te.extern((8,), [A], call(), name="E")[t], name="U"),
            A,
        ),
        "scan scan: E is computed from the state, and is no te.compute",
    ),
}


@pytest.mark.parametrize("mistake", WRONG)
def test_a_mistake_is_an_error_that_says_what_was_expected(mistake: str) -> None:
    make, message = WRONG[mistake]
    with pytest.raises(TeError, match=re.escape(message)):
        make()


def test_programs_for_tvm_say_call_packed_where_tvm_has_it() -> None:
    made = te.extern((8,), [A], lambda ins, outs: tvm.tir.call_packed("test.te.scaled", ins[0], outs[0], 2))
    a, got = np.arange(8, dtype="float32"), np.zeros(8, "float32")
    build(te.create_prim_func([A, made]))["main"](a, got)
    assert got.tolist() == (a * 2).tolist()

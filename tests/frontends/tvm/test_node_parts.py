"""Parts of nodes that programs of users read and rebuild: types of variables, shuffles, buffers of parameters."""

# pyright: reportInvalidTypeForm=false, reportUnknownParameterType=false

from typing import Any

import numpy as np
import pytest

import stepwell.frontends.tvm as tvm
from stepwell.frontends.te import TeError
from stepwell.frontends.tvm import te, tir
from stepwell.frontends.tvm.script import tir as T

A: Any
B: Any
A, B = (tir.decl_buffer((8,), "float32", name=name) for name in "AB")


def run(body: Any, *arrays: Any) -> Any:
    """The last array after a call of statements on `A` and `B`."""
    tvm.build(tir.PrimFunc([A, B], body), target="llvm")(*arrays)
    return arrays[-1]


def test_variables_of_addresses_have_types() -> None:
    pointer = tvm.ir.PointerType(tvm.ir.PrimType("float32"), "shared")
    assert tir.Var("p", pointer).type_annotation == pointer
    assert tir.Var("h", "handle").type_annotation == tvm.ir.PrimType("handle")
    assert tir.decl_buffer((4,), "float32", data=tir.Var("p", pointer)).scope() == "shared"
    assert tir.decl_buffer((4,), "float32", data=tir.Var("p", pointer), scope="local").scope() == "shared"


def test_nodes_lack_places_in_texts() -> None:
    func = tir.PrimFunc([A, B], tir.BufferStore(B, tir.BufferLoad(A, [0]), [0]))
    assert func.span is func.body.span is func.params[0].span is None
    assert tir.PrimFunc(func.params, func.body, func.ret_type, func.buffer_map, func.attrs, func.span).body is func.body


def test_attributes_have_a_text() -> None:
    func = tir.PrimFunc([A, B], tir.BufferStore(B, tir.BufferLoad(A, [0]), [0])).with_attr("tir.noalias", True)
    assert str(func.attrs) == "{'global_symbol': 'main', 'tir.noalias': True}"


def test_texts_of_expressions_are_tvmscript() -> None:
    a, b, x = te.var("a"), te.var("b"), te.var("x", "float32")
    p: Any
    p, q = te.placeholder((4, 4), name="P"), te.var("q", "uint8")
    texts = {
        "a + b * 3": a + b * 3, "(a + b) * 3": (a + b) * 3, "a - (b - a)": a - (b - a), "a - b - a": a - b - a,
        "a // b % 2": a // b % 2, "10 % a": 10 % a, "T.Div(a, b)": tir.truncdiv(a, b), "x / T.float32(2)": x / 2.0,
        "a < b and b < 3": tir.all(a < b, b < 3), "a < b or b > 3 and a > b": tir.any(a < b, tir.all(b > 3, a > b)),
        "not (a < b or a > b)": tir.Not(tir.any(a < b, a > b)), "not a < b": tir.Not(a < b),
        "T.shift_left(a, b)": a << b, "T.bitwise_and(a, b)": a & b, "T.bitwise_not(a)": ~a, "T.bitwise_not(q)": ~q,
        "T.min(a, b)": tir.min(a, b), "T.exp(x) + T.float32(0.5)": tir.exp(x) + 0.5, "P[a, b]": p(a, b),
        "T.Select(a < b, a, b)": tir.Select(a < b, a, b), "T.if_then_else(a < b, a, b)": tir.if_then_else(a < b, a, b),
        'T.Cast("float16", a)': a.astype("float16"), 'T.float16("inf")': tir.infinity("float16"),
        "T.bool(True)": tir.const(True, "bool"), "T.uint8(3)": tir.const(3, "uint8"), '"text"': tir.StringImm("text"),
        "A[a + 1]": tir.BufferLoad(A, [a + 1]), "A[T.Ramp(a, 1, 4)]": tir.BufferLoad(A, [tir.Ramp(a, 1, 4)]),
        "T.Broadcast(a, 4)": tir.Broadcast(a, 4), "T.Shuffle([a, b], [1, 0])": tir.Shuffle([a, b], [1, 0]),
    }  # fmt: skip
    assert {text: str(expr) for text, expr in texts.items()} == {text: text for text in texts}


def test_buffers_are_the_same() -> None:
    assert A.same_as(A)
    assert not A.same_as(B)


def test_lanes_of_vectors_are_shuffled() -> None:
    low, high = tir.BufferLoad(A, [tir.Ramp(0, 1, 4)]), tir.BufferLoad(A, [tir.Ramp(4, 1, 4)])
    lanes = [7, 0, 6, 1, 5, 2, 4, 3]
    mixed = tir.Shuffle([low, high], [tir.const(each, "int32") for each in lanes])
    x = np.arange(8, dtype="float32")
    np.testing.assert_array_equal(
        run(tir.BufferStore(B, mixed, [tir.Ramp(0, 1, 8)]), x, 0 * x), x[[7, 0, 6, 1, 5, 2, 4, 3]]
    )
    whole = tir.BufferLoad(A, [tir.Ramp(0, 1, 8)])
    parts = tir.vectorhigh("float32x4", whole), tir.vectorlow("float32x4", whole)
    turned = tir.vectorcombine("float32x8", *parts)
    assert (parts[0].dtype, turned.dtype, tir.Shuffle([low], [2]).dtype) == ("float32x4", "float32x8", "float32")
    result = run(tir.BufferStore(B, turned * 2.0, [tir.Ramp(0, 1, 8)]), x, 0 * x)
    np.testing.assert_array_equal(result, 2 * np.roll(x, 4))
    scalars = tir.Shuffle([tir.BufferLoad(A, [3 - n]) for n in range(4)], [0, 1, 2, 3])
    np.testing.assert_array_equal(run(tir.BufferStore(B, scalars, [tir.Ramp(0, 1, 4)]), x, 0 * x)[:4], [3, 2, 1, 0])


def test_shuffles_are_read_from_programs() -> None:
    @T.prim_func
    def func(a: T.Buffer((4,), "float32")):
        a[T.Ramp(0, 1, 4)] = T.Shuffle([a[T.Ramp(0, 1, 4)]], [3, 2, 1, 0])

    read: Any = func
    assert isinstance(read.body.value, tir.Shuffle)
    assert read.body.value.lanes == [3, 2, 1, 0]
    tvm.ir.assert_structural_equal(read.with_body(tir.BufferStore(*store_of(read.body))), read)


def test_offsets_in_buffers_with_strides_are_places_in_memory() -> None:
    rows = tir.decl_buffer((2, 4), "float32", name="rows", strides=[8, 1])
    source, target = rows.access_ptr("r", offset=9, extent=3), B.access_ptr("w", offset=4)
    body = tir.Evaluate(tir.call_extern("handle", "memcpy", target, source, 12))
    wide, result = np.arange(16, dtype="float32").reshape(2, 8), np.zeros(8, "float32")
    tvm.build(tir.PrimFunc([rows, B], body), target="llvm")(wide[:, :4], result)
    np.testing.assert_array_equal(result, [0, 0, 0, 0, 9, 10, 11, 0])


def store_of(store: Any) -> tuple[Any, Any, Any]:
    return store.buffer, tir.Shuffle(store.value.vectors, store.value.indices), store.indices


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: tir.Shuffle([te.var("a"), te.var("b")], [2]), r"Shuffle: lane 2, expected a number in \[0, 2\)"),
        (
            lambda: tir.Shuffle([te.var("a"), te.var("x", "float32")], [0]),
            "vectors of float32, int32 elements",
        ),
        (lambda: tir.BufferLoad(A, [0], te.var("c")), "BufferLoad of A: predicate c, expected None"),
        (lambda: tir.BufferStore(A, 0.0, [0], te.var("c")), "BufferStore of A: predicate c, expected None"),
    ],
)
def test_mistakes_are_errors(make: Any, message: str) -> None:
    with pytest.raises(TeError, match=message):
        make()


def test_the_buffers_of_parameters_are_replaced() -> None:
    @T.prim_func
    def scale(a: T.Buffer((4, 4), "float32"), b: T.Buffer((4, 4), "float32")):
        for i, j in T.grid(4, 4):
            with T.block("scaled"):
                vi, vj = T.axis.remap("SS", [i, j])
                b[vi, vj] = a[vi, vj] * T.float32(3)

    func: Any = scale
    new = {
        param: tir.decl_buffer(old.shape, old.dtype, f"new_{old.name}", old.data, old.strides, old.elem_offset, "", 128)
        for param, old in func.buffer_map.items()
    }
    by_name = {old.name: new[param] for param, old in func.buffer_map.items()}

    def replaced(node: Any) -> Any:
        if isinstance(node, tir.BufferLoad):
            return tir.BufferLoad(by_name[node.buffer.name], node.indices, node.predicate)
        if isinstance(node, tir.BufferStore):
            return tir.BufferStore(by_name[node.buffer.name], node.value, node.indices, node.predicate)
        if isinstance(node, tir.Block):
            reads, writes = (
                [tir.BufferRegion(by_name[each.buffer.name], each.region) for each in regions]
                for regions in (node.reads, node.writes)
            )
            rest = node.init, node.alloc_buffers, node.match_buffers, node.annotations
            return tir.Block(node.iter_vars, reads, writes, node.name_hint, node.body, *rest)
        return None

    kinds = ["tir.BufferStore", "tir.BufferLoad", "tir.Block"]
    body = tir.stmt_functor.ir_transform(func.body, None, replaced, kinds)
    result = tir.PrimFunc(func.params, body, func.ret_type, new, func.attrs, func.span)
    assert [result.buffer_map[param].name for param in result.params] == ["new_a", "new_b"]
    assert "T.writes(new_b[vi, vj])" in result.script()
    tvm.ir.assert_structural_equal(result, func)
    x = np.arange(16, dtype="float32").reshape(4, 4)
    y = np.zeros_like(x)
    tvm.build(result, target="llvm")(x, y)
    np.testing.assert_array_equal(y, 3 * x)


def test_functions_have_the_types_of_programs() -> None:
    @T.prim_func
    def total(a: T.handle, b: T.Buffer((4,), "int8"), k: T.int32) -> T.float32:
        n = T.int64()
        A = T.match_buffer(a, (n, 4))
        T.ret(A[0, k])

    relax = tvm.relax
    n = tir.Var("n", "int64")
    params = [relax.TensorStructInfo([n, 4]), relax.TensorStructInfo([4], "int8"), relax.PrimStructInfo("int32")]
    func: Any = total
    assert func.struct_info == relax.FuncStructInfo(params, relax.PrimStructInfo("float32"))
    copy = tir.PrimFunc([A, B], tir.BufferStore(B, tir.BufferLoad(A, [0]), [0]))
    tensors = [relax.TensorStructInfo([8])] * 2
    assert copy.struct_info == relax.FuncStructInfo(tensors, relax.TupleStructInfo([]), purity=False)


def test_the_sum_of_one_tensor_is_another_tensor() -> None:
    x = te.placeholder((8,), name="x")
    total = tvm.topi.elemwise_sum([x])
    numbers, result = np.arange(8, dtype="float32"), np.zeros(8, "float32")
    tvm.build(te.create_schedule(total.op), [x, total])(numbers, result)
    np.testing.assert_array_equal(result, numbers)

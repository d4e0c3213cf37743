"""Programs as trees of nodes: reading, visiting, transforming, writing."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import stepwell.frontends.tvm as tvm
from stepwell import UnsupportedError, parse_tvmscript
from stepwell.dialects.tir import FuncOp
from stepwell.dialects.tir.tree import treeify
from stepwell.frontends.te import TeError
from stepwell.frontends.tvm import te, tir
from stepwell.frontends.tvm.ir.module import PrimFunc
from stepwell.frontends.tvm.script import tir as T
from stepwell.frontends.tvm.tir.stmt_functor import ir_transform, post_order_visit, pre_order_visit, substitute
from stepwell.tools.testing.choices import SeededChoices
from stepwell.tools.testing.programs import random_module

CORPUS = sorted((Path(__file__).parents[2] / "data" / "corpus" / "tvmscript").glob("*.py"))


def functions(mod: Any) -> list[PrimFunc]:
    """The functions of a module, in statement-tree form."""
    found = [op for op in mod.op.body.block.ops if isinstance(op, FuncOp)]
    for op in found:
        treeify(op)
    return [PrimFunc(op) for op in found]


def statements(func: PrimFunc) -> list[str]:
    """The names of the operations with regions, in order; expressions, which may be duplicated, are excluded."""
    return [op.name for op in func.op.walk() if op.regions and not op.results]


def prim_func(text: str) -> PrimFunc:
    (func,) = functions(parse_tvmscript(text))
    return func


def added(extent: int = 16) -> PrimFunc:
    a, b = te.placeholder((extent,), name="a"), te.placeholder((extent,), name="b")
    func = te.create_prim_func([a, b, te.compute((extent,), lambda i: a[i] + b[i], name="c")])
    return tvm.lower(func)["main"]


@pytest.mark.parametrize("file", CORPUS, ids=lambda file: file.stem)
def test_what_is_read_and_written_is_the_same_program(file: Path) -> None:
    for func in functions(parse_tvmscript(file.read_text())):
        assert func.with_body(func.body).script() == func.script()


@pytest.mark.parametrize("seed", range(60))
def test_a_random_program_is_the_same_when_it_is_read_and_written(seed: int) -> None:
    for func in functions(random_module(SeededChoices(seed))):
        again = func.with_body(func.body)
        try:
            assert again.script("0.27") == func.script("0.27")
        except UnsupportedError:
            assert statements(again) == statements(func)


def test_nodes_are_equal_if_they_are_of_one_op() -> None:
    func = added()
    first, second = func.body, func.body
    assert first == second
    assert first in [second]
    assert {first: 1}[second] == 1
    assert isinstance(first, tir.For)
    assert first.loop_var is second.loop_var  # pyright: ignore[reportAttributeAccessIssue]
    assert first != added().body


def test_a_loop_says_what_it_is() -> None:
    loop = added(16).body
    assert isinstance(loop, tir.For)
    assert (loop.loop_var.name, loop.min.value, loop.extent.value, loop.kind) == ("i", 0, 16, tir.ForKind.SERIAL)  # pyright: ignore[reportAttributeAccessIssue]
    store = loop.body
    assert isinstance(store, tir.BufferStore)
    assert isinstance(store.value, tir.Add)
    assert isinstance(store.value.a, tir.BufferLoad)
    assert (store.buffer.name, store.buffer.dtype, store.value.a.buffer.name) == ("c", "float32", "a")
    assert store.indices[0].same_as(loop.loop_var)


def test_parameters_are_handles_of_the_buffers_of_the_body() -> None:
    func = added()
    loop = func.body
    assert isinstance(loop, tir.For)
    assert [param.dtype for param in func.params] == ["handle"] * 3
    assert func.params[2] is func.params[2]
    assert func.buffer_map[func.params[2]] == loop.body.buffer  # pyright: ignore[reportAttributeAccessIssue]
    assert func.ret_type == tvm.ir.TupleType([])


def test_visits_are_in_post_order_or_pre_order() -> None:
    kinds: list[str] = []
    post_order_visit(added().body, lambda node: kinds.append(type(node).__name__))
    assert kinds[-2:] == ["BufferStore", "For"]
    assert kinds.count("BufferLoad") == 2
    fronts: list[str] = []
    pre_order_visit(added().body, lambda node: fronts.append(type(node).__name__) or not isinstance(node, tir.Add))
    assert fronts[0] == "For"
    assert "BufferLoad" not in fronts


def test_a_transformation_replaces_the_kinds_it_is_asked_about() -> None:
    func = added()

    def doubled(node: Any) -> Any:
        return tir.BufferStore(node.buffer, node.value * 2.0, node.indices)

    both = ir_transform(func.body, None, doubled, ["tir.BufferStore"])
    a, c = np.arange(16, dtype="float32"), np.zeros(16, "float32")
    tvm.build(func.with_body(both))(a, a, c)
    assert c.tolist() == (a * 4).tolist()
    assert ir_transform(func.body, None, doubled, ["tir.While"]) is not None
    assert ir_transform(func.body, None, lambda node: None) == func.body


def test_what_is_replaced_first_is_not_looked_into() -> None:
    func, seen = added(), list[str]()

    def before(node: Any) -> Any:
        return tir.Evaluate(0) if isinstance(node, tir.BufferStore) else None

    result = ir_transform(func.body, before, lambda node: seen.append(type(node).__name__))
    assert "Add" not in seen
    assert isinstance(result, tir.For)
    assert isinstance(result.body, tir.Evaluate)


def test_variables_are_substituted() -> None:
    func = added()
    loop = func.body
    assert isinstance(loop, tir.For)
    outer, inner = te.var("i.outer"), te.var("i.inner")
    body = substitute(loop.body, {loop.loop_var: outer * 4 + inner})
    body = tir.For(outer, 0, 4, tir.ForKind.PARALLEL, tir.For(inner, 0, 4, tir.ForKind.SERIAL, body))
    text = func.with_body(body).script()
    assert "for i_outer in T.parallel(4):" in text
    assert "c[i_outer * 4 + i_inner] = a[i_outer * 4 + i_inner] + b[i_outer * 4 + i_inner]" in text
    assert substitute(loop.body, lambda var: None) is loop.body


def test_statements_are_made_in_python() -> None:
    func = added(4)
    c = func.buffer_map[func.params[2]]
    i, x = te.var("i"), te.var("x", "float32")
    store = tir.LetStmt(x, c_at(c, i) + 1.0, tir.BufferStore(c, x * x, [i]))  # pyright: ignore[reportArgumentType]
    body = tir.For(i, 0, 4, tir.ForKind.SERIAL, tir.IfThenElse(i > 1, store, tir.Evaluate(i)))
    out = np.array([1, 2, 3, 4], "float32")
    tvm.build(func.with_body(tir.SeqStmt([body, body])))(out.copy(), out.copy(), out)
    assert out.tolist() == [1, 2, 289, 676]


no_statement: Any = 3


def first_of(func: Any) -> Any:
    return func.buffer_map[func.params[0]]


def c_at(buffer: Any, index: Any) -> Any:
    return tir.BufferLoad(buffer, [index])


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda func: func.with_body(tir.Evaluate(te.var("k"))), "variable k is declared by no loop, let or parameter"),
        (
            lambda func: tir.BufferStore(first_of(func), 0.0, [0, 0]),
            "2 indices into buffer a of 1 dimensions",
        ),
        (lambda func: tir.BufferLoad(first_of(func), []), "0 indices into buffer a of 1 dimensions"),
        (
            lambda func: tir.For(te.var("i"), 0, 4, tir.ForKind.SERIAL, no_statement),
            "body of loop i: 3, expected a statement",
        ),
        (
            lambda func: tir.For(te.var("i"), 0, 4, tir.ForKind.THREAD_BINDING, func.body),
            "loop i of kind THREAD_BINDING with thread None",
        ),
    ],
)
def test_a_mistake_is_an_error(make: Any, message: str) -> None:
    with pytest.raises(TeError, match=message):
        make(added())


def test_a_loop_has_the_arguments_of_v0_7() -> None:
    func = added()
    loop = func.body
    assert isinstance(loop, tir.For)
    new = tir.For(loop.loop_var, 0, 16, tir.For.Vectorized, 0, loop.body)
    assert new.kind is tir.ForKind.VECTORIZED
    assert new.body is loop.body
    with pytest.raises(TeError, match="two bodies"):
        tir.For(loop.loop_var, 0, 16, tir.For.Serial, loop.body, loop.body)


BLOCKS = """
@T.prim_func
def main(A: T.Buffer((16, 16), "float32"), C: T.Buffer((16,), "float32")):
    B = T.alloc_buffer((16, 16))
    for i, j in T.grid(16, 16):
        with T.block("scaled"):
            vi, vj = T.axis.remap("SS", [i, j])
            T.where(i < 15)
            B[vi, vj] = A[vi, vj] * T.float32(2)
    for i, k in T.grid(16, 16):
        with T.block("sums"):
            vi, vk = T.axis.remap("SR", [i, k])
            T.block_attr({"meta": 1})
            with T.init():
                C[vi] = T.float32(0)
            C[vi] = C[vi] + B[vi, vk]
"""


def test_blocks_are_nodes() -> None:
    root = prim_func(BLOCKS).body
    assert isinstance(root, tir.BlockRealize)
    assert root.block.name_hint == "root"
    assert [buffer.name for buffer in root.block.alloc_buffers] == ["B"]
    loops = root.block.body
    assert isinstance(loops, tir.SeqStmt)
    assert [type(each).__name__ for each in loops.seq] == ["For", "For"]
    found: dict[str, Any] = {}

    def collect(node: Any) -> None:
        if isinstance(node, tir.BlockRealize):
            found[node.block.name_hint] = node

    post_order_visit(root, collect)
    assert list(found) == ["scaled", "sums", "root"]
    scaled, sums = found["scaled"], found["sums"]
    assert [value.name for value in scaled.iter_values] == ["i", "j"]
    assert isinstance(scaled.predicate, tir.LT)
    assert [axis.iter_type for axis in sums.block.iter_vars] == [tir.IterVar.DataPar, tir.IterVar.CommReduce]
    (read,), (write,) = sums.block.reads, sums.block.writes
    assert (read.buffer.name, [int(each.extent) for each in read.region]) == ("B", [1, 1])
    assert (write.buffer.name, write.region[0].min) == ("C", sums.block.iter_vars[0].var)
    assert sums.block.annotations == {"meta": 1}
    assert isinstance(sums.block.init, tir.BufferStore)
    assert isinstance(sums.block.body, tir.BufferStore)
    assert scaled.block.init is None


def test_blocks_are_written_after_a_transformation() -> None:
    func = prim_func(BLOCKS)

    def tripled(node: Any) -> Any:
        return tir.BufferStore(node.buffer, node.value * 1.5, node.indices) if node.buffer.name == "B" else None

    changed = func.with_body(ir_transform(func.body, None, tripled, ["tir.BufferStore"]))
    assert changed.script().replace(" * T.float32(1.5)", "") == func.script()
    a, c = np.ones((16, 16), "float32"), np.zeros(16, "float32")
    tvm.build(changed)(a, c)
    assert c[:15].tolist() == [48.0] * 15


def test_memory_checks_attributes_and_loops_are_nodes() -> None:
    body = prim_func("""
@T.prim_func
def main(A: T.Buffer((16,), "float32"), n: T.int32):
    assert n > 2, "n is too small"
    B = T.alloc_buffer((8,), scope="local")
    p = T.allocate([4], "float32", "global", n > 3)
    P = T.decl_buffer((2, 2), data=p)
    with T.attr(0, "pragma_unroll", 4):
        while A[0] < T.float32(3):
            A[0] = A[0] + T.float32(1)
    with T.launch_thread("threadIdx.x", 16) as tx:
        A[tx] = B[0] + P[0, 1]
""").body
    found: dict[str, Any] = {}
    post_order_visit(body, lambda node: found.setdefault(type(node).__name__, []).append(node))
    (check,) = found["AssertStmt"]
    assert (str(check.condition), check.message.value) == ("n > 2", "n is too small")
    memory = {node.buffer_var.name: node for node in found["Allocate"]}
    assert (memory["B"].dtype, [int(n) for n in memory["B"].extents], memory["B"].scope) == ("float32", [8], "local")
    assert str(memory["p"].condition) == "n > 3"
    assert memory["B"].condition.value == 1
    (declared,) = found["DeclBuffer"]
    assert (declared.buffer.name, [int(n) for n in declared.buffer.shape]) == ("P", [2, 2])
    pragma, thread = sorted(found["AttrStmt"], key=lambda node: node.attr_key)
    assert (pragma.attr_key, pragma.node, pragma.value) == ("pragma_unroll", 0, 4)
    assert (thread.attr_key, thread.node.thread_tag, int(thread.value)) == ("thread_extent", "threadIdx.x", 16)
    (loop,) = found["While"]
    assert isinstance(loop.condition, tir.LT)
    assert isinstance(loop.body, tir.BufferStore)


@pytest.mark.parametrize("kind", [tir.BufferRealize, tir.ProducerStore, tir.Store, tvm.stmt.Free, tir.Load])
def test_statements_that_no_program_has_are_refused(kind: Any) -> None:
    with pytest.raises(TeError, match="expected"):
        kind(None, [], None)


def test_buffers_are_found_by_their_parameters() -> None:
    assert [decorated.buffer_map[each].name for each in decorated.params] == ["a"]


def test_the_decorator_of_tvm_returns_a_function_with_a_body() -> None:
    assert isinstance(decorated, tir.PrimFunc)
    assert isinstance(decorated.body, tir.For)


@T.prim_func
def decorated(a: T.Buffer((4,), "float32")):  # pyright: ignore[reportInvalidTypeForm]
    for i in range(4):
        a[i] = a[i] + T.float32(1)


def test_pointers_of_elements_are_calls() -> None:
    func = parse_tvmscript(
        '@T.prim_func\ndef main(A: T.Buffer((8,), "float32")):\n'
        '    T.call_extern("int32", "update", T.address_of(A[2]), A.access_ptr("r"))'
    )
    names: list[str] = []

    def collect(node: Any) -> None:
        if isinstance(node, tvm.tir.Call):
            op: Any = node.op
            names.append(op.name)

    tvm.tir.stmt_functor.post_order_visit(tvm.tir.PrimFunc(func.op).body, collect)
    assert names == ["tir.address_of", "tir.buffer_data", "tir.tvm_access_ptr", "tir.call_extern"]


def test_programs_are_equal_whatever_the_order_of_their_operations() -> None:
    a, b = te.placeholder((8, 8), name="A"), te.placeholder((8, 8), name="B")
    k = te.reduce_axis((0, 8), name="k")
    c = te.compute((8, 8), lambda i, j: te.sum(a[i, k] * b[j, k], axis=k), name="C")
    func = te.create_prim_func([a, b, c])

    expected = prim_func("""
@T.prim_func
def main(X: T.Buffer((8, 8), "float32"), Y: T.Buffer((8, 8), "float32"), Z: T.Buffer((8, 8), "float32")):
    T.func_attr({"tir.noalias": True})
    for i, j, r in T.grid(8, 8, 8):
        with T.block("Z"):
            vi, vj, vr = T.axis.remap("SSR", [i, j, r])
            with T.init():
                Z[vi, vj] = T.float32(0)
            Z[vi, vj] = Z[vi, vj] + X[vi, vr] * Y[vj, vr]
""")
    tvm.ir.assert_structural_equal(func.without_attr("global_symbol"), expected.without_attr("global_symbol"))
    assert tvm.ir.structural_hash(func.without_attr("global_symbol")) == tvm.ir.structural_hash(
        expected.without_attr("global_symbol")
    )
    swapped = parse_tvmscript(
        expected.script().replace("Z[vi, vj] + X[vi, vr] * Y", "X[vi, vr] * Y[vj, vr] + Z[vi, vj] * Y")
    )
    assert not tvm.ir.structural_equal(swapped, expected)


def test_numbers_are_equal_to_their_constants() -> None:
    assert tvm.ir.structural_equal(tir.const(2, "int32"), 2)
    assert not tvm.ir.structural_equal(tir.const(2, "int64"), 2)
    assert tvm.ir.structural_hash([1, 2.5]) == tvm.ir.structural_hash(
        [tir.const(1, "int32"), tir.const(2.5, "float32")]
    )

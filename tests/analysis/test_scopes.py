"""Enclosing and nested loops and blocks, producers and consumers, complete blocks and reduction blocks."""

from __future__ import annotations

import pytest
from xdsl.dialects.builtin import StringAttr, f32

from stepwell.analysis.names import block_name, fresh_block_name, fresh_buffer_name
from stepwell.analysis.scopes import (
    BlockScope,
    all_blocks,
    child_blocks,
    child_towards,
    consumers,
    declarations,
    depends_on,
    enclosing_scope,
    loops_around,
    lowest_common_ancestor,
    only_child,
    ops_between,
    output_blocks,
    precedes_in_text,
    producers,
    reads_of,
    root_buffer,
    statements,
    writes_of,
)
from stepwell.dialects.tir import AllocBufferOp, BlockOp, ForOp, FuncOp, IfOp, StoreOp
from stepwell.frontends.tvmscript import parse_tvmscript

PARAMS = ", ".join(f'{name}: T.Buffer((8,), "float32")' for name in "ABCDE")


def function(body: str, params: str = PARAMS) -> FuncOp:
    lines = "\n    ".join(body.strip("\n").split("\n"))
    module = parse_tvmscript(f"@T.prim_func\ndef f({params}):\n    {lines}\n")
    module.verify()
    return next(op for op in module.op.walk() if isinstance(op, FuncOp))


def block(func: FuncOp, name: str) -> BlockOp:
    (found,) = (b for b in all_blocks(func) if block_name(b) == name)
    return found


def names(blocks: list[BlockOp]) -> list[str]:
    return [block_name(b) for b in blocks]


NESTED = """
T_ = T.alloc_buffer((8,), "float32")
for i in range(2):
    for j in range(4):
        with T.block("outer"):
            vi, vj = T.axis.remap("SS", [i, j])
            S = T.alloc_buffer((8,), "float32")
            for k in range(8):
                if k < 4:
                    with T.block("first"):
                        vk = T.axis.spatial(8, k)
                        S[vk] = A[vk]
                else:
                    with T.block("second"):
                        vk = T.axis.spatial(8, k)
                        S[vk] = 0.0
            for k in range(8):
                with T.block("third"):
                    vk = T.axis.spatial(8, k)
                    B[vk] = S[vk]
    T_[i] = 1.0
for i in range(8):
    with T.block("last"):
        vi = T.axis.spatial(8, i)
        x: T.float32 = B[vi] * 2.0
        C[vi] = x + T_[vi]
"""


def loop_names(loops: list[ForOp]) -> list[str]:
    return [loop.loop_var.data for loop in loops]


def test_loops_are_those_up_to_the_block_around() -> None:
    func = function(NESTED)
    assert loop_names(loops_around(block(func, "outer"))) == ["i", "j"]
    assert loop_names(loops_around(block(func, "first"))) == ["k"]
    assert enclosing_scope(block(func, "first")) is block(func, "outer")
    assert enclosing_scope(block(func, "outer")) is func


def test_an_op_in_no_function_has_no_scope() -> None:
    with pytest.raises(ValueError, match=r"tir\.func is in no function or block"):
        enclosing_scope(function(NESTED))


def test_blocks_below_an_op_are_not_those_inside_of_other_blocks() -> None:
    func = function(NESTED)
    assert names(child_blocks(func)) == ["outer", "last"]
    assert names(child_blocks(block(func, "outer"))) == ["first", "second", "third"]
    branch = next(op for op in func.walk() if isinstance(op, IfOp))
    assert names(child_blocks(branch)) == ["first", "second"]
    assert names(all_blocks(func)) == ["outer", "first", "second", "third", "last"]


def test_statements_are_neither_expressions_nor_declarations() -> None:
    func = function(NESTED)
    body = block(func, "last").body.block
    assert [op.name for op in statements(body)] == ["tir.let", "tir.store"]
    assert [op.name for op in declarations(body)] == ["tir.access"] * 3
    assert [op.name for op in declarations(func.body.block)] == ["tir.alloc_buffer"]


def test_an_only_child_has_nothing_beside_it() -> None:
    func = function(NESTED)
    outer, inner = loops_around(block(func, "outer"))
    assert only_child(outer) is None
    assert only_child(inner) is block(func, "outer")
    inner.body.block.insert_op_before(AllocBufferOp("U", f32, [4]), block(func, "outer"))
    assert only_child(inner) is None


def test_the_lowest_common_ancestor_may_be_one_of_them() -> None:
    func = function(NESTED)
    first, second, third = (block(func, name) for name in ("first", "second", "third"))
    assert isinstance(lowest_common_ancestor([first, second]), IfOp)
    assert lowest_common_ancestor([first, third, second]) is block(func, "outer")
    assert lowest_common_ancestor([first, block(func, "outer")]) is block(func, "outer")
    assert lowest_common_ancestor([first]) is first
    with pytest.raises(ValueError, match="no common ancestor"):
        lowest_common_ancestor([first, block(function(NESTED), "first")])


def test_paths_lead_down_to_an_op() -> None:
    func = function(NESTED)
    first = block(func, "first")
    loop = loops_around(first)[0]
    assert [op.name for op in ops_between(first, block(func, "outer"))] == ["tir.for", "tir.if"]
    assert child_towards(block(func, "outer"), first) is loop
    assert child_towards(loop, first).name == "tir.if"
    with pytest.raises(ValueError, match=r"tir\.block is not inside of tir\.for"):
        ops_between(block(func, "last"), loop)


def test_order_is_that_of_the_text() -> None:
    func = function(NESTED)
    order = [block(func, name) for name in ("first", "second", "third", "last")]
    for n, a in enumerate(order):
        for m, b in enumerate(order):
            assert precedes_in_text(a, b) == (n < m)
    assert not precedes_in_text(block(func, "outer"), order[0])
    assert not precedes_in_text(order[0], block(func, "outer"))


GRAPH = "\n".join(
    f"for i in range(8):\n    with T.block('{name}'):\n        vi = T.axis.spatial(8, i)\n"
    f"        T.reads({reads})\n        T.writes({writes})\n"
    + "".join(f"        {target.strip()} = A[vi]\n" for target in writes.split(","))
    for name, reads, writes in (
        ("P1", "A[vi]", "B[vi]"),
        ("P2", "A[vi]", "C[vi]"),
        ("P3", "C[vi]", "B[vi]"),
        ("Q1", "C[vi], B[vi]", "D[vi]"),
        ("Q2", "D[vi], C[vi], B[vi]", "C[vi]"),
        ("Q3", "C[vi]", "E[vi], D[vi]"),
    )
)


@pytest.mark.parametrize(
    ("name", "before", "behind"),
    [
        ("P1", [], ["P3", "Q1", "Q2"]),
        ("P2", [], ["P3", "Q1", "Q2", "Q3"]),
        ("P3", ["P2", "P1"], ["Q1", "Q2"]),
        ("Q1", ["P2", "P1", "P3"], ["Q2", "Q3"]),
        ("Q2", ["Q1", "P2", "P1", "P3"], ["Q3"]),
        ("Q3", ["P2", "Q2", "Q1"], []),
    ],
)
def test_producers_and_consumers_come_as_tvm_orders_them(name: str, before: list[str], behind: list[str]) -> None:
    found = block(function(GRAPH), name)
    assert names(producers(found)) == before
    assert names(consumers(found)) == behind


def test_output_blocks_write_what_is_allocated_elsewhere() -> None:
    func = function(NESTED)
    assert names(output_blocks(func)) == ["outer", "third", "last"]
    assert names(output_blocks(block(func, "outer"))) == ["third"]


def test_a_scope_knows_who_touches_a_buffer() -> None:
    func = function(GRAPH)
    scope = BlockScope(func)
    assert names(scope.writers[func.body.block.args[1]]) == ["P1", "P3"]
    assert names(scope.readers[func.body.block.args[1]]) == ["Q1", "Q2"]


VIEWS = """
for i in range(2):
    with T.block("outer"):
        vi = T.axis.spatial(2, i)
        M = T.match_buffer(A[vi * 4:vi * 4 + 4], (4,))
        for j in range(4):
            with T.block("write"):
                vj = T.axis.spatial(4, j)
                M[vj] = 1.0
        for j in range(4):
            with T.block("read"):
                vj = T.axis.spatial(4, j)
                B[vj] = A[vi * 4 + vj]
"""


def test_a_view_is_the_buffer_it_looks_at() -> None:
    func = function(VIEWS)
    write, read = block(func, "write"), block(func, "read")
    assert names(producers(read)) == ["write"]
    assert writes_of(write) == reads_of(read) == [func.body.block.args[0]]
    assert root_buffer(next(op.buffer for op in write.walk() if isinstance(op, StoreOp))) is func.body.block.args[0]


def test_values_depend_on_axes_through_names_and_blocks() -> None:
    func = function(NESTED)
    outer, last = block(func, "outer"), block(func, "last")
    store = next(op for op in last.walk() if isinstance(op, StoreOp))
    assert depends_on([store.value], last.variables[0])
    assert depends_on([store.value], loops_around(last)[0].variable)
    assert not depends_on([store.value], outer.variables[0])


# Names


def test_fresh_names_are_numbered() -> None:
    func = function(NESTED)
    assert fresh_block_name(func, "new") == "new"
    assert fresh_block_name(func, "last") == "last_1"
    block(func, "first").block_name = StringAttr("last_1")
    assert fresh_block_name(func, "last") == "last_2"
    assert fresh_buffer_name(func, "S") == "S_1"
    assert fresh_buffer_name(func, "A") == "A_1"
    assert fresh_buffer_name(func, "A_shared") == "A_shared"

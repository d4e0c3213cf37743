"""Python names denote expressions, which are computed at each use and nowhere else."""

import textwrap

import pytest

from stepwell import Module
from stepwell.core.errors import ParseError
from stepwell.dialects.tir import CallExternOp, LoadOp
from stepwell.frontends.tvmscript import parse_tvmscript
from stepwell.frontends.tvmscript.budget import LIMITS

PARAMS = 'A: T.Buffer((16,), "float32"), J: T.Buffer((16,), "int32"), n: T.int32'


def read(body: str) -> Module:
    return parse_tvmscript(
        f"@T.prim_func\ndef f({PARAMS}):\n" + textwrap.indent(textwrap.dedent(body).strip("\n"), "    ")
    )


def statements(module: Module) -> list[str]:
    lines = [line.strip() for line in module.script().splitlines()]
    return lines[lines.index("@T.prim_func") + 2 :]


def test_an_expression_is_computed_at_each_use() -> None:
    module = read("""
        x = T.meta_var(A[0] + 1.0)
        A[0] = x
        A[1] = x
    """)
    assert statements(module) == ["A[0] = A[0] + T.float32(1.0)", "A[1] = A[0] + T.float32(1.0)"]
    assert sum(isinstance(op, LoadOp) for op in module.op.walk()) == 2


def test_what_is_not_used_is_not_computed() -> None:
    module = read("""
        x = T.meta_var(T.call_extern("float32", "f", A[3]))
        A[0] = 1.0
    """)
    assert not any(isinstance(op, LoadOp | CallExternOp) for op in module.op.walk())


def test_a_call_is_made_at_each_use() -> None:
    module = read("""
        x = T.meta_var(T.call_extern("float32", "f"))
        A[0] = x * x
    """)
    assert sum(isinstance(op, CallExternOp) for op in module.op.walk()) == 2


def test_an_element_is_found_at_each_use() -> None:
    module = read("""
        x = T.meta_var(A[J[0]])
        y = T.meta_var(A[J[1]:J[1] + 4])
        J[0] = 1
        J[1] = 2
        A[0] = x
        A[4:8] = y
    """)
    assert statements(module)[2:] == ["A[0] = A[J[0]]", "A[4:8] = A[J[1]:J[1] + 4]"]


def test_lazy_choices_are_copied_whole() -> None:
    module = read("""
        x = T.meta_var(T.if_then_else(n > 0, A[n - 1], A[n]) + A[3])
        A[0] = x
        A[1] = x
    """)
    expression = "T.if_then_else(n > 0, A[n - 1], A[n]) + A[3]"
    assert statements(module) == [f"A[0] = {expression}", f"A[1] = {expression}"]


def test_expressions_in_lists_and_dictionaries_are_computed_at_each_use() -> None:
    module = read("""
        xs = [A[k] * 2.0 for k in range(2)]
        d = T.meta_var({"x": A[3] * 2.0})
        A[0] = 0.0
        A[1] = xs[0] + d["x"]
    """)
    assert statements(module) == ["A[0] = T.float32(0.0)", "A[1] = A[0] * T.float32(2.0) + A[3] * T.float32(2.0)"]


def test_a_block_accesses_what_it_computes_and_no_more() -> None:
    module = read("""
        for i in range(16):
            with T.block("b"):
                vi = T.axis.spatial(16, i)
                unused = T.meta_var(A[vi] + 1.0)
                moved = T.meta_var(T.if_then_else(vi > 0, A[vi] * 2.0, 0.0))
                T.evaluate((lambda x, y: y)(A[vi] * 2.0, vi))
                assert vi >= 0, '' + f"{A[vi]}"
                J[vi] = 3
                if n > 3:
                    T.evaluate(T.Cast("int32", (lambda x: J[vi])(moved)))
    """)
    lines = statements(module)
    assert lines[4:6] == ["T.reads(J[vi])", "T.writes(J[vi])"]


def test_an_expression_from_before_a_block_is_read_in_the_block() -> None:
    module = read("""
        for i in range(16):
            x = T.meta_var(A[i] + 1.0)
            with T.block("first"):
                J[0] = T.Cast("int32", x)
            with T.block("second"):
                J[1] = T.Cast("int32", x)
    """)
    assert statements(module).count("T.reads(A[i])") == 2
    assert sum(isinstance(op, LoadOp) for op in module.op.walk()) == 2


def test_a_let_is_computed_once() -> None:
    module = read("""
        x = A[0] + 1.0
        y = T.meta_var(x)
        A[0] = y
        A[1] = y
    """)
    assert statements(module)[1:] == ["A[0] = x", "A[1] = x"]


def test_buffers_of_names_are_allocated_once() -> None:
    module = read("""
        bufs = T.meta_var([T.alloc_buffer((4,)) for _ in range(2)])
        bufs[0][1] = 1.0
        bufs[0][2] = bufs[1][0]
    """)
    assert sum("T.alloc_buffer" in line for line in statements(module)) == 2


def test_a_name_may_be_given_again() -> None:
    module = read("""
        i = T.meta_var(1)
        A[i] = 0.0
        i = T.meta_var(i + 1)
        A[i] = 0.0
    """)
    assert statements(module) == ["A[1] = T.float32(0.0)", "A[2] = T.float32(0.0)"]


def test_copies_have_an_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(LIMITS, "operations", 2_000)
    doubled = "x = T.meta_var(x + x)\n" * 20
    with pytest.raises(ParseError, match=r"more than 2[0-9]* operations while the program is read"):
        read(f"x = T.meta_var(A[0])\n{doubled}A[0] = x")


@pytest.mark.parametrize("statement", ["A[T.meta_var(1)] = 0.0", "A[0] = T.meta_var(1.0) + 1.0", "T.meta_var(1)"])
def test_a_name_is_given_by_assignment_only(statement: str) -> None:
    with pytest.raises(ParseError, match=r"T.meta_var\(...\), which has its place in an assignment"):
        read(statement)

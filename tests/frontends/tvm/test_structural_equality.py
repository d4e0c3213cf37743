"""`tvm.ir.structural_equal` of functions of tensor expressions and of TVMScript."""

# Annotations are TVMScript here, not types.
# pyright: reportInvalidTypeForm=false, reportGeneralTypeIssues=false

from typing import Any

import stepwell.frontends.tvm as tvm
from stepwell.frontends.tvm import te
from stepwell.frontends.tvm.script import tir as T


@T.prim_func
def squares(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")):
    T.func_attr({"global_symbol": "main", "tir.noalias": True})
    for i in range(4):
        with T.block("B"):
            vi = T.axis.spatial(4, i)
            B[vi] = (A[vi] + T.float32(1)) * (A[vi] + T.float32(1))


def test_shared_subexpressions_are_equal_to_repeated_ones() -> None:
    def square(i: Any) -> Any:
        shifted = A[i] + 1.0
        return shifted * shifted

    A = te.placeholder((4,), "float32", name="A")
    B = te.compute((4,), square, name="B")
    func = te.create_prim_func([A, B])
    tvm.ir.assert_structural_equal(func, squares)
    assert tvm.ir.structural_hash(func) == tvm.ir.structural_hash(squares)
    other = te.compute((4,), lambda i: (A[i] + 1.0) * (A[i] + 2.0), name="B")
    assert not tvm.ir.structural_equal(te.create_prim_func([A, other]), squares)


def test_arithmetic_around_loops_is_equal_to_arithmetic_in_them() -> None:
    text = """
@T.prim_func
def main(a: T.handle, b: T.handle):
    n = T.int32()
    A = T.match_buffer(a, (4, n))
    B = T.match_buffer(b, (4, n))
    for i, j in T.grid(4, {extent}):
        with T.block("B"):
            vi = T.axis.spatial(4, i)
            vj = T.axis.spatial(n, j)
            B[vi, vj] = A[vi, vj]
"""
    inside = tvm.script.from_source(text.format(extent="(n + 3) // 4 * 4"))
    sch = tvm.tir.Schedule(tvm.script.from_source(text.format(extent="n")))
    other = tvm.tir.Schedule(inside)
    assert not tvm.ir.structural_equal(sch.mod, other.mod)
    _, j = sch.get_loops("B")
    outer, inner = sch.split(j, [None, 4])
    sch.reorder(inner, outer)
    expected = tvm.script.from_source("""
@T.prim_func
def main(a: T.handle, b: T.handle):
    n = T.int32()
    A = T.match_buffer(a, (4, n))
    B = T.match_buffer(b, (4, n))
    for i, j_1, j_0 in T.grid(4, 4, (n + 3) // 4):
        with T.block("B"):
            vi = T.axis.spatial(4, i)
            vj = T.axis.spatial(n, j_0 * 4 + j_1)
            T.where(j_0 * 4 + j_1 < n)
            B[vi, vj] = A[vi, vj]
""")
    assert str(sch.mod).count("scf") == 0
    tvm.ir.assert_structural_equal(
        sch.mod["main"].without_attr("global_symbol"), expected.without_attr("global_symbol")
    )


def test_an_empty_body_is_an_evaluated_number() -> None:
    text = """
@T.prim_func
def main(A: T.Buffer((1,), "float32")):
    {body}
"""
    funcs = [tvm.script.from_source(text.format(body=body)) for body in ("pass", "T.evaluate(0)", "A[0] = 1.0")]
    tvm.ir.assert_structural_equal(funcs[0], funcs[1])
    assert tvm.ir.structural_hash(funcs[0]) == tvm.ir.structural_hash(funcs[1])
    assert not tvm.ir.structural_equal(funcs[1], funcs[2])

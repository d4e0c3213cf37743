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

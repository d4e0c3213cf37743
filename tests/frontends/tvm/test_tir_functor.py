"""Visitors and rewrites as classes: `tvm.tir.functor`."""

# Annotations are TVMScript here, not types.
# pyright: reportInvalidTypeForm=false, reportGeneralTypeIssues=false, reportUnknownMemberType=false

from typing import Any

import numpy as np
import pytest

import stepwell.frontends.tvm as tvm
from stepwell.core.errors import OptionError
from stepwell.frontends.tvm import tir
from stepwell.frontends.tvm.script import tir as T
from stepwell.frontends.tvm.tir.functor import PyStmtExprMutator, PyStmtExprVisitor, mutator, visitor


@T.prim_func
def double(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
    for i in range(8):
        with T.block("B"):
            v = T.axis.spatial(8, i)
            B[v] = A[v] * T.float32(2) + T.float32(1)


def test_a_visitor_sees_every_node() -> None:
    @visitor
    class Names(PyStmtExprVisitor):
        def __init__(self) -> None:
            self.found: list[str] = []

        def visit_for_(self, op: Any) -> None:
            self.found.append(f"for {op.loop_var.name}")
            super().visit_for_(op)  # pyright: ignore[reportAttributeAccessIssue]

        def visit_block_(self, op: Any) -> None:
            self.found.append(f"block {op.name_hint}")
            super().visit_block_(op)  # pyright: ignore[reportAttributeAccessIssue]

        def visit_buffer_load_(self, op: Any) -> None:
            self.found.append(f"load {op.buffer.name}")

        def visit_float_imm_(self, op: Any) -> None:
            self.found.append(f"{op.value}")

    names = Names()
    func: Any = double
    names.visit_stmt(func.body)
    assert names.found == ["block root", "for i", "block B", "load A", "2.0", "1.0"]


def test_a_rewrite_returns_a_statement() -> None:
    @mutator
    class Halve(PyStmtExprMutator):
        def visit_float_imm_(self, op: Any) -> Any:
            return tir.FloatImm(op.dtype, op.value / 2)

        def visit_for_(self, op: Any) -> Any:
            body = self.visit_stmt(op.body)
            return tir.For(op.loop_var, op.min, op.extent, tir.ForKind.PARALLEL, body, annotations={"note": 1})

    func: Any = double
    halved = func.with_body(Halve().visit_stmt(func.body))
    assert 'T.parallel(8, annotations={"note": 1})' in halved.script()
    a, b = np.arange(8, dtype=np.float32), np.empty(8, np.float32)
    tvm.build(halved)(a, b)
    np.testing.assert_array_equal(b, a + np.float32(0.5))


def test_other_classes_are_no_functors() -> None:
    with pytest.raises(OptionError, match="mutator: class Other, expected a subclass of PyStmtExprMutator"):

        @mutator
        class Other:
            pass


def test_loops_have_annotations_and_threads() -> None:
    @T.prim_func
    def bound(A: T.Buffer((8,), "float32")):
        for i in T.thread_binding(8, thread="threadIdx.x", annotations={"note": 3, "names": ["a"]}):
            A[i] = 0.0

    func: Any = bound
    assert func.body.annotations == {"note": 3, "names": ("a",)}
    assert func.body.thread_binding.thread_tag == "threadIdx.x"
    again = tir.For(func.body.loop_var, 0, 8, 4, func.body.body, func.body.thread_binding, func.body.annotations)
    tvm.ir.assert_structural_equal(func.with_body(again), func)


def test_buffers_of_unknown_size_are_those_of_parameters() -> None:
    @T.prim_func
    def scale(a: T.handle, b: T.Buffer((4,), "float32"), n: T.int32):
        A = T.match_buffer(a, (n, 4))
        A[0, 0] = b[0]

    func: Any = scale
    a, b, n = func.params
    assert [str(extent) for extent in func.buffer_map[a].shape] == ["n", "4"]
    assert func.buffer_map[b].shape[0] == 4
    assert [param.dtype for param in func.params] == ["handle", "handle", "int32"]
    assert [param.name for param in func.params] == ["a", "b_handle", "n"]
    assert n not in func.buffer_map

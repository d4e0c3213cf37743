"""Tests of tests: `tvm.testing.CompareBeforeAfter`, and equality of parts of programs."""

# pyright: reportInvalidTypeForm=false

import pytest

import stepwell.frontends.tvm as tvm
from stepwell.frontends.tvm import tir
from stepwell.frontends.tvm.script import tir as T
from stepwell.frontends.tvm.testing import CompareBeforeAfter


class Test_functions(CompareBeforeAfter):
    transform = tir.transform.Simplify()

    def before(A: T.Buffer((4,), "int32")):
        A[0] = 1 + 1

    def expected(A: T.Buffer((4,), "int32")):
        A[0] = 2


class Test_modules(CompareBeforeAfter):
    @pytest.fixture
    def transform(self):
        def split(mod):
            sch = tir.Schedule(mod)
            sch.split(sch.get_loops(sch.get_block("B"))[0], [tir.IntImm("int64", 2), None])
            return sch.mod

        return split

    class Before:
        def main(A: T.Buffer((4,), "int32"), B: T.Buffer((4,), "int32")):
            for i in range(4):
                with T.block("B"):
                    vi = T.axis.spatial(4, i)
                    B[vi] = A[vi]

    class Expected:
        def main(A: T.Buffer((4,), "int32"), B: T.Buffer((4,), "int32")):
            for i, j in T.grid(2, 2):
                with T.block("B"):
                    vi = T.axis.spatial(4, i * 2 + j)
                    B[vi] = A[vi]


class Test_errors(CompareBeforeAfter):
    def transform(self):
        def fail(mod):
            raise ValueError(str(mod))

        return fail

    def before(self):
        return two()

    expected = ValueError


def two() -> tvm.ir.PrimFunc:
    @T.prim_func
    def main(A: T.Buffer((4,), "int32"), C: T.Buffer((1, 4), "int32")):
        B = T.alloc_buffer((1, 4), "int32")
        for i, j in T.grid(1, 4):
            with T.block("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                T.reads(A[vj])
                T.writes(B[vi, vj])
                B[vi, vj] = A[vj]
        for i, j in T.grid(1, 4):
            with T.block("C"):
                vi, vj = T.axis.remap("SS", [i, j])
                C[vi, vj] = B[vi, vj] + 1

    return main


def test_another_program_is_an_error() -> None:
    class Wrong(CompareBeforeAfter):
        pass

    twice = tvm.transform.Sequential([])
    mod = tvm.IRModule({"main": two()})
    with pytest.raises(ValueError, match="structural equality"):
        Wrong().test_compare(mod, tvm.IRModule({"main": two(), "other": two()}), twice)


def test_loops_and_blocks_of_other_programs_are_equal() -> None:
    a, b = tir.Schedule(two()), tir.Schedule(two())
    for name in ("B", "C"):
        assert tvm.ir.structural_equal(a.get(a.get_block(name)), b.get(b.get_block(name)))
        assert tvm.ir.structural_equal(a.get(a.get_loops(name)[0]), b.get(b.get_loops(name)[0]))
    assert not tvm.ir.structural_equal(a.get(a.get_block("B")), b.get(b.get_block("C")))
    assert not tvm.ir.structural_equal(a.get(a.get_loops("B")[0]), b.get(b.get_loops("C")[0]))


def test_a_region_at_the_only_value_of_an_axis_is_equal_to_that_at_the_axis() -> None:
    text = two().script()
    assert "T.writes(B[vi, vj])" in text
    other = tvm.script.from_source(text.replace("T.writes(B[vi, vj])", "T.writes(B[0, vj])"))
    tvm.ir.assert_structural_equal(two(), other)
    moved = tvm.script.from_source(text.replace("T.writes(B[vi, vj])", "T.writes(B[vi, 0:4])"))
    assert not tvm.ir.structural_equal(two(), moved)

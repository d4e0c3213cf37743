"""`TirBuilder`: loops and blocks around the inserted statements."""

from typing import Any

import pytest
from xdsl.dialects.builtin import FloatAttr, IntegerAttr, MemRefType, ModuleOp, f16, f32, i64

from stepwell.dialects.tir import Axis, FuncOp, SymbolOp, TirBuilder
from stepwell.module import Module


def test_loops_and_blocks_hold_what_is_written_inside_of_them() -> None:
    func = FuncOp("main", [("A", MemRefType(f32, [4, 8]))])
    (buffer,) = func.body.block.args
    builder = TirBuilder(func.body.block)
    with builder.loops(["i", "j"], [4, 8], kind="parallel") as (i, j):
        with builder.block("A", [Axis("vi", "spatial", 0, 4, i), Axis("vj", "spatial", 0, 8, j)]) as block:
            builder.store(1.0, buffer, block.variables)
    builder.store(2.0, buffer, [0, 0])
    module = Module(ModuleOp([func]))
    module.verify()
    body = module.script().partition("root")[2]
    assert "for i in T.parallel(4):" in body
    assert "for j in T.parallel(8):" in body
    assert body.index("A[vi, vj] = T.float32(1.0)") < body.index("\n        A[0, 0] = T.float32(2.0)")


def test_a_variable_has_the_type_of_an_extent_that_is_a_value() -> None:
    func = FuncOp("main", [])
    builder = TirBuilder(func.body.block)
    n = builder.insert(SymbolOp("n", i64)).result
    with builder.loops(["i", "j"], [n, 8]) as (i, j):
        pass
    assert i.type == i64
    assert str(j.type) == "i32"
    func.verify()


def test_no_loops_leave_the_place_as_it_is() -> None:
    func = FuncOp("main", [])
    with TirBuilder(func.body.block).loops([], []) as variables:
        assert variables == []
    assert not func.body.block.ops


def test_each_loop_needs_a_name() -> None:
    with (
        pytest.raises(ValueError, match="1 names for 2 extents"),
        TirBuilder(FuncOp("main", []).body.block).loops(["i"], [4, 8]),
    ):
        pass


@pytest.mark.parametrize(
    ("value", "dtype", "expected"),
    [
        (2.5, "float16", "arith.constant 2.500000e+00 : f16"),
        (2.5, f16, "arith.constant 2.500000e+00 : f16"),
        (FloatAttr(2.5, f16), None, "arith.constant 2.500000e+00 : f16"),
        (FloatAttr(2.5, f16), "float64", "arith.constant 2.500000e+00 : f64"),
        (IntegerAttr(3, i64), None, "arith.constant 3 : i64"),
    ],
)
def test_a_constant_has_the_type_that_is_asked_for_or_that_its_attribute_has(
    value: Any, dtype: Any, expected: str
) -> None:
    func = FuncOp("main", [])
    TirBuilder(func.body.block).const(value, dtype)
    assert expected in str(func)


def test_a_plain_number_needs_a_type() -> None:
    with pytest.raises(ValueError, match=r"const 2\.5: expected a data type"):
        TirBuilder(FuncOp("main", []).body.block).const(2.5)

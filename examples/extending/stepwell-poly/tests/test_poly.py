"""The `poly` dialect: what it prints, what it refuses, and that native code computes the numbers."""

from functools import reduce
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from poly.dialect import EvalOp
from xdsl.dialects.builtin import FloatAttr, MemRefType, ModuleOp, f16, f32, f64

import stepwell
from stepwell.dialects.tir import FuncOp, TirBuilder
from stepwell.tools.testing.comparison import same
from stepwell.tools.testing.scheduling import check_well_formed
from stepwell.tools.testing.strategies import inputs_for

Program = tuple[stepwell.Module, list[float], dict[str, Any]]


@st.composite
def programs(draw: st.DrawFn) -> Program:
    """Functions of one `poly.eval` on buffers of any rank and size, its coefficients, and arguments for a call."""
    element = draw(st.sampled_from([f16, f32, f64]))
    buffer = MemRefType(element, draw(st.lists(st.integers(0, 9), max_size=3)))
    coefficients = draw(st.lists(st.floats(width=16), min_size=1, max_size=5))
    func = FuncOp("main", [("X", buffer), ("Y", buffer)])
    x, y = func.body.block.args
    TirBuilder(func.body.block).insert(EvalOp(x, y, [FloatAttr(c, element) for c in coefficients]))
    return stepwell.Module(ModuleOp([func])), coefficients, draw(inputs_for(func))


@given(programs())
def test_text_becomes_the_same_program_again(program: Program) -> None:
    text = str(program[0])
    assert str(stepwell.parse_mlir(text)) == text


@pytest.mark.parametrize(
    ("coefficients", "message"),
    [("[]", r"\(C1\) expected at least one"), ("[1.0 : f64]", r"\(C2\) coefficient 1.0.* for elements of memref")],
)
def test_a_broken_constraint_is_named(coefficients: str, message: str) -> None:
    mod = stepwell.parse_mlir(
        f'tir.func @main("X" %X: memref<8xf32>) {{ poly.eval %X to %X, {coefficients} : memref<8xf32> }}'
    )
    with pytest.raises(stepwell.VerifyError, match=message):
        mod.verify()


@given(programs())
@settings(deadline=None)
def test_native_code_computes_the_polynomial(program: Program) -> None:
    mod, coefficients, arguments = program
    lowered = stepwell.apply_passes(mod, "convert-poly-to-tir")
    check_well_formed(lowered)
    x, y = arguments.values()
    stepwell.build(lowered)(x, y)
    *lower, last = map(x.dtype.type, coefficients)
    with np.errstate(all="ignore"):
        expected = reduce(lambda value, c: c + x * value, reversed(lower), np.full_like(x, last))
    assert same(y, expected)

"""Folding of operators on constants agrees with the oracle."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from xdsl.dialects import arith
from xdsl.dialects.builtin import ModuleOp, f32, i32
from xdsl.ir import Operation, SSAValue

from stepwell import Module
from stepwell.backends.oracle import run_oracle
from stepwell.core.dtypes import DType, dtype_of, int_range, mlir_type, nearest_float, numpy_dtype, parse_dtype
from stepwell.dialects.tir import (
    COMPARISONS,
    FLOAT_BINARY,
    INT_BINARY,
    CastOp,
    FuncOp,
    StoreOp,
    TirBuilder,
    buffer_type,
    comparison,
    constant_value,
)
from stepwell.dialects.tir.fold import fold

INTS = ["int8", "int16", "int32", "int64", "uint8", "uint32", "uint64"]
FLOATS = ["float16", "bfloat16", "float32", "float64"]
DIVISIONS = ("truncdiv", "truncmod", "floordiv", "floormod")


def numbers(dtype: DType) -> st.SearchStrategy[float]:
    """Numbers of a type, mainly small numbers and the ends of the range."""
    if dtype.is_bool:
        return st.integers(0, 1)
    if dtype.is_int:
        low, high = int_range(dtype)
        return st.integers(max(low, -5), 5) | st.sampled_from([low, low + 1, high]) | st.integers(low, high)
    special = st.sampled_from([0.0, -0.0, 1.0, 0.5, math.inf, math.nan, 300.7, -1e4, 65504.0])
    width = {"float16": 16, "float64": 64}.get(dtype.name, 32)
    finite = st.floats(width=width).filter(lambda x: nearest_float(x, dtype) is not None)  # pyright: ignore[reportArgumentType]
    return special | finite


def function(result: DType) -> TirBuilder:
    return TirBuilder(FuncOp("f", [("out", buffer_type(mlir_type(result), [1]))]).body.block)


def check(op: Operation, builder: TirBuilder) -> float | None:
    """Asserts that the folded value of `op`, if any, is equal to the oracle's; returns the folded value or None."""
    result = builder.insert(op).results[0]
    func = builder.point.block.parent_op()
    assert isinstance(func, FuncOp)
    builder.insert(StoreOp(result, func.body.block.args[0], [builder.const(0, "int32")]))
    computed = np.zeros(1, numpy_dtype(dtype_of(result.type).name))
    run_oracle(Module(ModuleOp([func])), "f", [computed])
    value = fold(op)
    folded = None if value is None else constant_value(value)
    if folded is not None:
        assert np.array([folded]).astype(computed.dtype).tobytes() == computed.tobytes(), f"{op}: {folded}, {computed}"
    return folded


@given(st.data(), st.sampled_from(INTS), st.sampled_from(sorted(INT_BINARY)))
def test_integer_operators(data: st.DataObject, name: str, operator: str) -> None:
    dtype = parse_dtype(name)
    a, b = data.draw(numbers(dtype)), data.draw(numbers(dtype))
    if operator in ("shl", "shr"):
        b = data.draw(st.integers(0, dtype.bits - 1))
    if operator in DIVISIONS and b == 0:
        b = 1
    builder = function(dtype)
    op = INT_BINARY[operator][dtype.kind == "uint"](builder.const(a, dtype), builder.const(b, dtype))  # pyright: ignore[reportCallIssue]
    assert check(op, builder) is not None


@given(st.data(), st.sampled_from(FLOATS), st.sampled_from(["add", "sub", "mul", "div", "min", "max"]))
def test_float_operators(data: st.DataObject, name: str, operator: str) -> None:
    dtype = parse_dtype(name)
    builder = function(dtype)
    a, b = (builder.const(data.draw(numbers(dtype)), dtype) for _ in range(2))
    check(FLOAT_BINARY[operator](a, b), builder)  # pyright: ignore[reportCallIssue]


@given(st.data(), st.sampled_from([*INTS, *FLOATS]), st.sampled_from(COMPARISONS))
def test_comparisons(data: st.DataObject, name: str, operator: str) -> None:
    dtype = parse_dtype(name)
    builder = function(parse_dtype("bool"))
    a, b = (builder.const(data.draw(numbers(dtype)), dtype) for _ in range(2))
    check(comparison(operator, a, b), builder)


@given(st.data(), st.sampled_from([*INTS, *FLOATS, "bool"]), st.sampled_from([*INTS, *FLOATS, "bool"]))
def test_casts(data: st.DataObject, source: str, target: str) -> None:
    have, want = parse_dtype(source), parse_dtype(target)
    builder = function(want)
    check(CastOp(builder.const(data.draw(numbers(have)), have), mlir_type(want)), builder)


def constants(builder: TirBuilder, a: float, b: float, dtype: str) -> tuple[SSAValue, SSAValue]:
    return builder.const(a, dtype), builder.const(b, dtype)


@pytest.mark.parametrize("operator", DIVISIONS)
def test_division_by_zero_is_not_folded(operator: str) -> None:
    builder = function(parse_dtype("int32"))
    op = builder.insert(INT_BINARY[operator][0](*constants(builder, 1, 0, "int32")))  # pyright: ignore[reportCallIssue]
    assert fold(op) is None


@pytest.mark.parametrize("amount", [-1, 32])
def test_a_shift_beyond_the_width_is_not_folded(amount: int) -> None:
    builder = function(parse_dtype("int32"))
    assert fold(builder.insert(arith.ShLIOp(*constants(builder, 1, amount, "int32")))) is None


@pytest.mark.parametrize(("a", "b"), [(1.0, 0.0), (math.inf, 1.0), (math.nan, 1.0), (3e38, 1e-5)])
def test_what_is_not_finite_is_not_folded(a: float, b: float) -> None:
    builder = function(parse_dtype("float32"))
    assert fold(builder.insert(arith.DivfOp(*constants(builder, a, b, "float32")))) is None


def test_an_operator_of_the_other_sign_is_not_folded() -> None:
    builder = function(parse_dtype("int32"))
    assert fold(builder.insert(arith.DivUIOp(*constants(builder, -1, 2, "int32")))) is None
    assert fold(builder.insert(arith.CmpiOp(*constants(builder, -1, 2, "int32"), "ult"))) is None


def test_a_constant_lane_is_not_a_scalar() -> None:
    builder = function(parse_dtype("float32"))
    vector = builder.broadcast(builder.const(1.0, "float32"), 4)
    assert vector.type != f32
    assert fold(builder.insert(arith.AddfOp(vector, vector))) is None
    assert fold(builder.insert(CastOp(builder.const(3, "int32"), i32))) is not None

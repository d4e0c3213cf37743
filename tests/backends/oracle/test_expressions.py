"""Every pure operation computes the same values as numpy with the correct dtype."""

import math
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from xdsl.dialects import arith
from xdsl.dialects import math as xmath
from xdsl.dialects.builtin import Float32Type, IntegerType, ModuleOp
from xdsl.ir import Operation, SSAValue

from stepwell.backends.oracle import compile_oracle
from stepwell.backends.oracle.expressions import RULES
from stepwell.backends.oracle.numerics import BF16, F16, bf16_bits, f16_bits
from stepwell.core.comparisons import COMPARE
from stepwell.core.dtypes import FLOAT_FORMATS, DType, int_range, mlir_type, numpy_dtype, parse_dtype, wrap_int
from stepwell.dialects.tir import COMPARISONS, FLOAT_UNARY, FuncOp, IntrinsicOp, ReturnOp, ShuffleOp, TirBuilder

FLOATS = ("float16", "bfloat16", "float32", "float64")
INTS = tuple(f"{kind}{bits}" for kind in ("int", "uint") for bits in (8, 16, 32, 64))
Build = Callable[..., SSAValue]


def function(dtypes: Sequence[str], build: Build) -> Callable[..., Any]:
    """The oracle's Python function for the expression built by `build`, with a parameter of each type."""
    func = FuncOp("main", [(f"x{i}", mlir_type(d)) for i, d in enumerate(dtypes)])
    builder = TirBuilder(func.body.block)
    value = build(builder, *func.body.block.args)
    builder.insert(ReturnOp(value))
    func.properties["result_type"] = value.type
    module = ModuleOp([func])
    module.verify()
    return compile_oracle(module)


@cache
def operator(name: str, *dtypes: str) -> Callable[..., Any]:
    return function(dtypes, lambda b, *args: b.binary(name, *args))


@cache
def cast(source: str, target: str) -> Callable[..., Any]:
    return function([source], lambda b, x: b.cast(x, target))


@cache
def unary(name: str, dtype: str) -> Callable[..., Any]:
    return function([dtype], lambda b, x: b.unary(name, x))


def numbers(dtype: DType) -> st.SearchStrategy[Any]:
    if dtype.is_bool:
        return st.booleans()
    if dtype.is_float:
        whole = st.floats(width=64 if dtype.bits == 64 else 32)
        near = st.floats(-100, 100, width=32)
        return st.one_of(whole, near).map(lambda x: to_float(x, dtype))
    low, high = int_range(dtype)
    return st.one_of(st.integers(low, high), st.integers(max(low, -9), 9), st.sampled_from([low, high]))


def to_float(x: float, dtype: DType) -> float:
    with np.errstate(all="ignore"):
        return float(np.array(x, numpy_dtype(dtype)))


def same(a: Any, b: Any) -> bool:
    """Whether two values are equal: -0 is not 0, NaN is NaN."""
    if isinstance(b, float):
        return (a != a and b != b) or (a == b and math.copysign(1, a) == math.copysign(1, b))
    return a == b and type(a) is type(b)


# Integers

INT_OPERATORS: dict[str, Callable[[int, int], int]] = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "floordiv": lambda a, b: a // b,
    "floormod": lambda a, b: a % b,
    "truncdiv": lambda a, b: int(np.sign(a) * np.sign(b)) * (abs(a) // abs(b)),
    "truncmod": lambda a, b: int(np.sign(a)) * (abs(a) % abs(b)),
    "min": min,
    "max": max,
    "and": lambda a, b: a & b,
    "or": lambda a, b: a | b,
    "xor": lambda a, b: a ^ b,
    "shl": lambda a, b: a << b,
    "shr": lambda a, b: a >> b,
}


@pytest.mark.parametrize("name", INT_OPERATORS)
@given(data=st.data(), dtype=st.sampled_from(INTS))
def test_integer_operators_wrap_at_the_width_of_their_type(name: str, dtype: str, data: st.DataObject) -> None:
    kind = parse_dtype(dtype)
    a = data.draw(numbers(kind), label="a")
    b = data.draw(st.integers(0, kind.bits - 1) if name in ("shl", "shr") else numbers(kind), label="b")
    if b == 0 and name in ("floordiv", "floormod", "truncdiv", "truncmod"):
        b = 1
    assert same(operator(name, dtype, dtype)(a, b), wrap_int(INT_OPERATORS[name](a, b), kind))


@given(data=st.data(), dtype=st.sampled_from((*INTS, *FLOATS)), name=st.sampled_from(COMPARISONS))
def test_comparisons_are_those_of_python(name: str, dtype: str, data: st.DataObject) -> None:
    a, b = (data.draw(numbers(parse_dtype(dtype))) for _ in range(2))
    assert same(operator(name, dtype, dtype)(a, b), COMPARE[name](a, b))


@given(data=st.data(), dtype=st.sampled_from(INTS))
def test_bit_counts(dtype: str, data: st.DataObject) -> None:
    kind = parse_dtype(dtype)
    a = data.draw(numbers(kind))
    bits = f"{a % 2**kind.bits:0{kind.bits}b}"
    assert unary("popcount", dtype)(a) == bits.count("1")
    assert unary("clz", dtype)(a) == (bits.index("1") if "1" in bits else kind.bits)
    if kind.kind == "int":
        assert unary("abs", dtype)(a) == wrap_int(abs(a), kind)


@pytest.mark.parametrize("name", ["and", "or", "xor"])
@pytest.mark.parametrize("a", [False, True])
@pytest.mark.parametrize("b", [False, True])
def test_logic_on_bools_gives_bools(name: str, a: bool, b: bool) -> None:
    assert same(operator(name, "bool", "bool")(a, b), bool(INT_OPERATORS[name](a, b)))


# Floats

ARITHMETIC: dict[str, Callable[[Any, Any], Any]] = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "div": np.divide,
    "min": lambda a, b: a if a < b else b,
    "max": lambda a, b: a if a > b else b,
    "copysign": np.copysign,
}


@pytest.mark.parametrize("name", ARITHMETIC)
@given(data=st.data(), dtype=st.sampled_from(FLOATS))
def test_float_arithmetic_is_rounded_to_its_type(name: str, dtype: str, data: st.DataObject) -> None:
    kind = parse_dtype(dtype)
    a, b = (data.draw(numbers(kind)) for _ in range(2))
    scalar = numpy_dtype(kind).type
    with np.errstate(all="ignore"):
        expected = float(ARITHMETIC[name](scalar(a), scalar(b)))
    assert same(operator(name, dtype, dtype)(a, b), expected)


@given(data=st.data(), dtype=st.sampled_from(FLOATS))
def test_square_roots_are_rounded_once(dtype: str, data: st.DataObject) -> None:
    a = data.draw(numbers(parse_dtype(dtype)))
    with np.errstate(all="ignore"):
        expected = float(np.sqrt(numpy_dtype(dtype).type(a)))
    assert same(unary("sqrt", dtype)(a), expected) or (a < 0 and expected != expected)


ROUNDINGS = {
    "floor": np.floor,
    "ceil": np.ceil,
    "trunc": np.trunc,
    "nearbyint": np.rint,
    "abs": np.abs,
}


@pytest.mark.parametrize("name", ROUNDINGS)
@given(data=st.data(), dtype=st.sampled_from(FLOATS))
def test_rounding_to_integers(name: str, dtype: str, data: st.DataObject) -> None:
    a = data.draw(numbers(parse_dtype(dtype)))
    assert same(unary(name, dtype)(a), float(ROUNDINGS[name](np.float64(a))))


@pytest.mark.parametrize(
    ("x", "expected"), [(0.5, 1.0), (-0.5, -1.0), (2.5, 3.0), (-0.25, -0.0), (0.49999997, 0.0), (math.inf, math.inf)]
)
def test_math_round_is_half_away_from_zero(x: float, expected: float) -> None:
    run = function(["float32"], lambda b, x: b.insert(xmath.RoundOp(x)).result)
    assert same(run(np.float32(x)), expected)


LIBM: dict[str, Callable[[Any], Any]] = {
    "acos": np.arccos,
    "acosh": np.arccosh,
    "asin": np.arcsin,
    "asinh": np.arcsinh,
    "atan": np.arctan,
    "atanh": np.arctanh,
    "cos": np.cos,
    "cosh": np.cosh,
    "exp": np.exp,
    "exp2": np.exp2,
    "log": np.log,
    "log10": np.log10,
    "log1p": np.log1p,
    "log2": np.log2,
    "rsqrt": lambda x: 1 / np.sqrt(x),
    "sin": np.sin,
    "sinh": np.sinh,
    "tan": np.tan,
    "tanh": np.tanh,
    "erf": np.vectorize(math.erf),
}
UNITS = {"float32": 2, "float64": 4, "float16": 1, "bfloat16": 1}


def test_every_float_function_is_compared() -> None:
    assert {*LIBM, *ROUNDINGS, "sqrt"} == set(FLOAT_UNARY)


@pytest.mark.parametrize("name", LIBM)
@given(data=st.data(), dtype=st.sampled_from(FLOATS))
@example(data=None, dtype="float32")
def test_float_functions_are_near_the_c_library(name: str, dtype: str, data: st.DataObject | None) -> None:
    kind = parse_dtype(dtype)
    values = [0.0, -0.0, 1.0, -1.0, 2.0, math.inf, -math.inf, math.nan] if data is None else [data.draw(numbers(kind))]
    for a in values:
        with np.errstate(all="ignore"):
            expected = to_float(float(LIBM[name](np.float64(a))), kind)
        got = unary(name, dtype)(a)
        assert same(got, expected) or (got != got and expected != expected) or near(got, expected, kind), (a, got)


def near(a: float, b: float, dtype: DType) -> bool:
    """Whether two finite numbers differ by few units in the last place."""
    scalar = numpy_dtype(dtype).type
    if not (math.isfinite(a) and math.isfinite(b)):
        return False
    return abs(a - b) <= UNITS[dtype.name] * float(np.spacing(scalar(max(abs(a), abs(b)))))


@given(a=numbers(DType("float", 32)), b=numbers(DType("float", 32)), c=numbers(DType("float", 32)))
@example(a=1.0 + 2**-23, b=1.0 + 2**-23, c=-1.0)
@example(a=1e30, b=1e30, c=-math.inf)
def test_a_fused_multiply_add_rounds_once(a: float, b: float, c: float) -> None:
    fma = function(["float32"] * 3, lambda build, *args: build.fma(*args))
    with np.errstate(all="ignore"):
        exact = np.longdouble(a) * np.longdouble(b) + np.longdouble(c)
        expected = float(np.float32(exact))
    got = fma(a, b, c)
    assert same(got, expected) or abs(got - expected) <= float(np.spacing(np.float32(abs(expected)))) / 2 or got == 0


def test_a_fused_multiply_add_keeps_what_a_product_loses() -> None:
    fma = function(["float32"] * 3, lambda build, *args: build.fma(*args))
    x = 1 + 2**-12
    assert fma(x, x, -1.0) == x * x - 1 != float(np.float32(x) * np.float32(x)) - 1


# Casts


@given(data=st.data(), source=st.sampled_from(("bool", *INTS)), target=st.sampled_from(INTS))
def test_integers_wrap_when_they_are_cast(source: str, target: str, data: st.DataObject) -> None:
    a = data.draw(numbers(parse_dtype(source)))
    got = cast(source, target)(a)
    assert got == wrap_int(int(a), parse_dtype(target))


@given(data=st.data(), source=st.sampled_from(("bool", *INTS)), target=st.sampled_from(FLOATS))
@example(data=None, source="int64", target="float32")
def test_integers_are_rounded_when_they_become_floats(source: str, target: str, data: st.DataObject | None) -> None:
    values = [2**60 + 2**36 + 1, 2**24 + 1, -(2**63)] if data is None else [data.draw(numbers(parse_dtype(source)))]
    for a in values:
        with np.errstate(all="ignore"):
            single = np.array(a, numpy_dtype(source)).astype("float64" if target == "float64" else "float32")
            expected = float(single.astype(numpy_dtype(target)))
        assert same(cast(source, target)(a), expected)


@given(data=st.data(), source=st.sampled_from(FLOATS), target=st.sampled_from(INTS))
def test_floats_saturate_when_they_become_integers(source: str, target: str, data: st.DataObject) -> None:
    a = data.draw(numbers(parse_dtype(source)))
    low, high = int_range(parse_dtype(target))
    expected = 0 if a != a else low if a <= low else high if a >= high else int(a)
    assert same(cast(source, target)(a), expected)


@given(data=st.data(), source=st.sampled_from((*FLOATS, *INTS)))
def test_anything_but_zero_is_true(source: str, data: st.DataObject) -> None:
    a = data.draw(numbers(parse_dtype(source)))
    assert same(cast(source, "bool")(a), bool(a != 0))


@given(data=st.data(), source=st.sampled_from(FLOATS), target=st.sampled_from(FLOATS))
def test_floats_are_rounded_to_even_when_they_are_cast(source: str, target: str, data: st.DataObject) -> None:
    a = data.draw(numbers(parse_dtype(source)))
    with np.errstate(all="ignore"):
        single = np.array(a, numpy_dtype(source))
        if source == "float64" and target != "float64":
            single = single.astype(np.float32)
        expected = float(single.astype(numpy_dtype(target)))
    assert same(cast(source, target)(a), expected)


# Intrinsics and vectors


@pytest.mark.parametrize(
    ("name", "args", "expected"),
    [
        ("exp10", (2.0,), 100.0),
        ("sigmoid", (0.0,), 0.5),
        ("sigmoid", (-1000.0,), 0.0),
        ("hypot", (3.0, 4.0), 5.0),
        ("nextafter", (1.0, 2.0), 1 + 2**-23),
        ("fmod", (-7.0, 3.0), -1.0),
        ("isnan", (math.nan,), True),
        ("isinf", (-math.inf,), True),
        ("isfinite", (math.inf,), False),
    ],
)
def test_intrinsics_on_float32(name: str, args: tuple[float, ...], expected: float) -> None:
    f = function(["float32"] * len(args), lambda b, *values: b.intrinsic(name, *values))
    assert same(f(*args), expected)


def test_ldexp_takes_an_integer() -> None:
    f = function(["float32", "int32"], lambda b, x, n: b.intrinsic("ldexp", x, n))
    assert f(1.5, 4) == 24.0
    assert f(1.0, 1000) == math.inf


def test_a_fixed_point_product_is_rounded_half_up() -> None:
    f = function(["int32"] * 4, lambda b, *args: b.intrinsic("q_multiply_shift", *args))
    assert f(3, 1 << 30, 31, 0) == 2
    assert f(-3, 1 << 30, 31, 0) == -1
    assert f(5, 1 << 30, 31, 2) == 10


def test_the_bits_of_a_value_can_be_taken_for_another_type() -> None:
    f = function(["float32"], lambda b, x: b.reinterpret(x, mlir_type("int32")))
    assert f(1.0) == 0x3F800000
    g = function(["int16"], lambda b, x: b.reinterpret(x, mlir_type("bfloat16")))
    assert g(0x3F80) == 1.0


def test_vectors_are_computed_lane_by_lane() -> None:
    def build(b: TirBuilder, x: SSAValue) -> SSAValue:
        ramp = b.ramp(x, 3, 4)  # x, x + 3, x + 6, x + 9
        floats = b.mul(b.cast(ramp, "float32x4"), 0.1)
        chosen = b.select(b.binary("lt", ramp, 5), floats, b.const(7.0, "float32x4"))
        shuffled = b.insert(ShuffleOp([chosen, b.cast(x, "float32")], [4, 1])).result
        both = b.add(shuffled, shuffled)
        return b.insert(ShuffleOp([both], [1])).result

    f = function(["int32"], build)
    assert f(1) == float(np.float32(np.float32(4) * np.float32(0.1)) * 2)
    assert f(3) == 14.0


def test_a_ramp_wraps() -> None:
    def build(b: TirBuilder, x: SSAValue) -> SSAValue:
        return b.insert(ShuffleOp([b.ramp(x, b.const(1, "int8"), 2)], [1])).result

    assert function(["int8"], build)(127) == -128


def test_select_and_if_then_else_choose() -> None:
    f = function(["bool", "int32", "int32"], lambda b, c, x, y: b.select(c, x, y))
    assert (f(True, 1, 2), f(False, 1, 2)) == (1, 2)
    g = function(["bool", "int32"], lambda b, c, x: b.if_then_else(c, x.type, lambda: b.add(x, 1), lambda: b.mul(x, x)))
    assert (g(True, 5), g(False, 5)) == (6, 25)


# Operations of arith that the builder does not emit

I32 = {
    arith.CeilDivSIOp: ((-7, 2), -3),
    arith.CeilDivUIOp: ((-1, 2**31 - 1), 3),
    arith.DivUIOp: ((-1, 2), 2**31 - 1),
    arith.RemUIOp: ((-1, 7), (2**32 - 1) % 7),
    arith.MinUIOp: ((-1, 3), 3),
    arith.MaxUIOp: ((-1, 3), -1),
    arith.ShRUIOp: ((-1, 4), 2**28 - 1),
    xmath.IPowIOp: ((3, 5), 243),
}


@pytest.mark.parametrize("op", I32, ids=lambda op: op.name)
def test_unsigned_ops_on_signless_integers(op: Any) -> None:
    args, expected = I32[op]
    f = function(["int32", "int32"], lambda b, x, y: b.insert(op(x, y)).results[0])
    assert f(*args) == expected


EXTREMES = {
    arith.MinimumfOp: (math.nan, -0.0),
    arith.MaximumfOp: (math.nan, 0.0),
    arith.MinnumfOp: (1.0, -0.0),
    arith.MaxnumfOp: (1.0, 0.0),
}


@pytest.mark.parametrize("op", EXTREMES, ids=lambda op: op.name)
def test_float_extremes_of_arith(op: Any) -> None:
    f = function(["float32", "float32"], lambda b, x, y: b.insert(op(x, y)).results[0])
    with_nan, of_zeros = EXTREMES[op]
    assert same(f(1.0, math.nan), with_nan)
    assert same(f(math.nan, 1.0), with_nan)
    assert same(f(0.0, -0.0), of_zeros)
    assert same(f(-0.0, 0.0), of_zeros)


def test_casts_of_arith() -> None:
    def built(op: Callable[[SSAValue], Operation], source: str) -> Callable[..., Any]:
        return function([source], lambda b, x: b.insert(op(x)).results[0])

    i32, i8, f32 = IntegerType(32), IntegerType(8), Float32Type()
    assert built(lambda x: arith.ExtSIOp(x, i32), "bool")(True) == -1
    assert built(lambda x: arith.ExtUIOp(x, i32), "bool")(True) == 1
    assert built(lambda x: arith.ExtUIOp(x, i32), "int8")(-1) == 255
    assert built(lambda x: arith.TruncIOp(x, i8), "int32")(255) == -1
    assert built(lambda x: arith.UIToFPOp(x, f32), "int8")(-1) == 255.0
    assert built(lambda x: arith.SIToFPOp(x, f32), "int8")(-1) == -1.0
    assert built(lambda x: arith.FPToUIOp(x, i8), "float32")(200.7) == -56
    assert built(lambda x: arith.NegfOp(x), "float32")(0.0) == 0.0


def test_every_op_of_arith_and_math_has_a_rule() -> None:
    wide = {arith.AddUIExtendedOp, arith.MulUIExtendedOp, arith.MulSIExtendedOp}  # two results
    others = {arith.ConstantOp, arith.BitcastOp}
    operations = {*arith.Arith.operations, *xmath.Math.operations}
    assert operations - wide - others <= set(RULES)
    assert IntrinsicOp in RULES


def test_float16_tables_hold_every_number() -> None:
    for table, bits, dtype in ((F16, f16_bits, np.float16), (BF16, bf16_bits, ml_dtypes.bfloat16)):
        assert len(table) == 65536
        for i in range(0, 65536, 7):
            if table[i] == table[i]:
                assert bits(table[i]) == i
                assert np.uint16(i).view(dtype) == table[i]


SIGNED: dict[str, tuple[Any, Callable[..., Any]]] = {
    "negative": (arith.NegfOp, np.negative),
    "trunc": (xmath.TruncOp, np.trunc),
    "ceil": (xmath.CeilOp, np.ceil),
    "round": (xmath.RoundEvenOp, np.rint),
    "copysign": (xmath.CopySignOp, np.copysign),
}


@pytest.mark.parametrize("dtype", [name for name, format in FLOAT_FORMATS.items() if not format.has_negative_zero])
@pytest.mark.parametrize("name", SIGNED)
def test_results_have_no_sign_that_their_type_lacks(name: str, dtype: str) -> None:
    op, expected = SIGNED[name]
    known, small = parse_dtype(dtype), numpy_dtype(parse_dtype(dtype))
    arity = 2 if name == "copysign" else 1
    compute = function((dtype,) * arity, lambda b, *operands: b.insert(op(*operands)).results[0])
    with np.errstate(invalid="ignore"):
        for x in map(float, np.arange(256, dtype=np.uint8).view(small)):
            args = [x, -1.0 if known.format.semantics.has_sign else x][:arity]
            assert same(compute(*args), float(expected(*map(np.float32, args)).astype(small))), args

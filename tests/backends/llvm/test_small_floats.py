"""Floats of at most 16 bits: every value extends exactly, and rounding agrees with numpy and ml_dtypes."""

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import stepwell
from stepwell.backends.llvm.compile import compile_module
from stepwell.core.dtypes import FLOAT_FORMATS, SMALL_FLOATS, mlir_type, numpy_dtype, parse_dtype
from stepwell.core.errors import UnsupportedError

NAMES = [*SMALL_FLOATS, "float16", "bfloat16"]
WIDE = {"f32": np.float32, "f64": np.float64}


@pytest.fixture(params=["host", "plain"])
def options(request: pytest.FixtureRequest, plain_target) -> dict:
    return {} if request.param == "host" else {"target": plain_target}


def mlir(name: str, lanes: int = 1) -> str:
    return str(mlir_type(parse_dtype(name).with_lanes(lanes)))


def every(name: str) -> np.ndarray:
    """All values of a type, in the order of their bits."""
    dtype = numpy_dtype(name)
    return np.arange(2 ** FLOAT_FORMATS[name].bits, dtype=f"u{dtype.itemsize}").view(dtype)


def raw(values: np.ndarray) -> np.ndarray:
    """The bits of floats with a single NaN, because processors preserve more of a NaN than numpy."""
    bits = values.view(f"u{values.itemsize}").copy()
    with np.errstate(invalid="ignore"):
        bits[np.isnan(values.astype(np.float64))] = 2 ** (8 * values.itemsize) - 1
    return bits


def assert_same(got: np.ndarray, expected: np.ndarray, of: np.ndarray) -> None:
    wrong = raw(got) != raw(expected)
    assert not wrong.any(), (of[wrong][:5], got[wrong][:5], expected[wrong][:5])


def rounded(values: np.ndarray, name: str) -> np.ndarray:
    with np.errstate(all="ignore"):
        return values.astype(numpy_dtype(name))


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(("wide", "lanes"), [("f32", 1), ("f32", 8), ("f64", 8)])
def test_every_value_extends_exactly(elementwise, plain_target, name: str, wide: str, lanes: int) -> None:
    a = every(name)
    out = np.empty(a.shape, WIDE[wide])
    types = mlir(name, lanes), wide if lanes == 1 else f"vector<{lanes}x{wide}>"
    run = elementwise(
        f"%r = arith.extf %x0 : {types[0]} to {types[1]}", [mlir(name)], wide, lanes=lanes, target=plain_target
    )
    run(a, out)
    with np.errstate(invalid="ignore"):
        assert_same(out, a.astype(WIDE[wide]), a)


@pytest.mark.parametrize("name", SMALL_FLOATS)
def test_every_float16_is_rounded_as_ml_dtypes_rounds_it(elementwise, options, name: str) -> None:
    a = np.arange(65536, dtype=np.uint16).view(np.float16)
    out = np.empty(a.shape, numpy_dtype(name))
    elementwise(f"%r = arith.truncf %x0 : f16 to {mlir(name)}", ["f16"], mlir(name), **options)(a, out)
    np.testing.assert_array_equal(out.view(np.uint8), rounded(a, name).view(np.uint8))


@pytest.mark.parametrize("wide", ["f16", "bf16"])
def test_small_floats_become_floats_of_16_bits(elementwise, plain_target, wide: str) -> None:
    dtype = numpy_dtype("float16" if wide == "f16" else "bfloat16")
    for name in SMALL_FLOATS:
        a = every(name)
        out = np.empty(a.shape, dtype)
        elementwise(f"%r = arith.extf %x0 : {mlir(name)} to {wide}", [mlir(name)], wide, target=plain_target)(a, out)
        with np.errstate(all="ignore"):
            assert_same(out, a.astype(dtype), a)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("lanes", [1, 8])
def test_float32_is_rounded_as_numpy_rounds_it(elementwise, options, name: str, lanes: int) -> None:
    a = np.random.default_rng(0).integers(0, 2**32, 80000, dtype=np.uint32).view(np.float32)
    with np.errstate(all="ignore"):
        a[: 2**16 : 2] = np.arange(0, 2**16, 2, dtype=np.uint16).view(np.float16)
        a[1::2][: 2**14] = around(name).astype(np.float32)[: 2**14] if name in SMALL_FLOATS else a[1::2][: 2**14]
    out = np.empty(a.shape, numpy_dtype(name))
    types = ("f32" if lanes == 1 else f"vector<{lanes}xf32>", mlir(name, lanes))
    elementwise(f"%r = arith.truncf %x0 : {types[0]} to {types[1]}", ["f32"], mlir(name), lanes=lanes, **options)(
        a, out
    )
    assert_same(out, rounded(a, name), a)


def around(name: str) -> np.ndarray:
    """All finite values, the midpoints to the next value, and their neighbours, in f64; repeated to a minimum count."""
    values = every(name)
    with np.errstate(invalid="ignore"):
        values = np.unique(values.astype(np.float64))
    values = values[np.isfinite(values)]
    step = values[-1] - values[-2]
    middle = (np.append(values[:-1], values[-1]) + np.append(values[1:], values[-1] + step)) / 2
    ends = np.array([np.inf, -np.inf, np.nan, 1e300, -1e300, 1e-320])
    points = np.concatenate([values, middle, np.nextafter(middle, np.inf), np.nextafter(middle, -np.inf), ends])
    return points if len(points) > 2**14 else np.resize(points, 2**14)


def nearest(values: np.ndarray, name: str) -> np.ndarray:
    """The values of a signed type nearest to f64 values, ties to even, by a search among all values."""
    known, dtype = FLOAT_FORMATS[name], numpy_dtype(name)
    finite = np.arange(known.largest_bits + 1, dtype=f"u{dtype.itemsize}").view(dtype).astype(np.float64)
    middle = (finite + np.append(finite[1:], 2 * finite[-1] - finite[-2])) / 2
    magnitude = np.abs(values)
    low, high = (np.searchsorted(middle, magnitude, side) for side in ("left", "right"))
    bits = np.where((low != high) & (low % 2 == 0), low, high)
    overflow = known.largest_bits + 1 if known.has_infinity else known.nan_bits if known.has_nan else known.largest_bits
    bits = np.where(bits > known.largest_bits, overflow, bits)
    has_sign = known.has_negative_zero | (bits % known.nan_bits != 0)
    bits = bits ^ np.where(np.signbit(values) & has_sign, 1 << known.semantics.sign_shift, 0)
    bits = np.where(np.isnan(values), known.nan_bits, bits)
    return bits.astype(f"u{dtype.itemsize}").view(dtype)


@pytest.mark.parametrize("name", [name for name in NAMES if FLOAT_FORMATS[name].semantics.has_sign])
@pytest.mark.parametrize("wide", ["f32", "f64"])
def test_truncation_rounds_once_to_nearest_even(elementwise, options, name: str, wide: str) -> None:
    with np.errstate(over="ignore"):
        a = around(name).astype(WIDE[wide])
    out = np.empty(a.shape, numpy_dtype(name))
    elementwise(f"%r = arith.truncf %x0 : {wide} to {mlir(name)}", [wide], mlir(name), **options)(a, out)
    assert_same(out, nearest(a.astype(np.float64), name), a)


@pytest.fixture(scope="module")
def truncations(elementwise, plain_target):
    """A function from float32 to each type."""
    return {
        name: elementwise(f"%r = arith.truncf %x0 : f32 to {mlir(name)}", ["f32"], mlir(name), target=plain_target)
        for name in NAMES
    }


@given(bits=st.integers(0, 2**32 - 1))
def test_any_float32_is_rounded_as_numpy_rounds_it(truncations, bits: int) -> None:
    a = np.array([bits], np.uint32).view(np.float32)
    for name, truncate in truncations.items():
        out = np.empty(1, numpy_dtype(name))
        truncate(a, out)
        assert_same(out, rounded(a, name), a)


@pytest.mark.parametrize("name", SMALL_FLOATS)
def test_operations_are_those_of_float32_rounded(elementwise_table, plain_target, name: str) -> None:
    values = every(name)
    a, b = (part.ravel() for part in np.meshgrid(values, values))
    kind, ops = mlir(name), {"addf": np.add, "mulf": np.multiply, "divf": np.divide}
    bodies = {op: f"%r = arith.{op} %x0, %x1 : {kind}" for op in ops}
    for op, function in ops.items():
        out = np.empty_like(a)
        elementwise_table(bodies, op, [kind] * 2, kind, target=plain_target)(a, b, out)
        with np.errstate(all="ignore"):
            expected = function(a.astype(np.float32), b.astype(np.float32))
        assert_same(out, rounded(expected, name), a)


@pytest.mark.parametrize("name", NAMES)
def test_signs_change_as_those_of_float32(elementwise_table, plain_target, name: str) -> None:
    kind, a = mlir(name), every(name)
    b = a[::-1].copy()
    ops = {
        f"%r = arith.negf %x0 : {kind}": np.negative(a.astype(np.float32)),
        f"%r = math.absf %x0 : {kind}": np.abs(a.astype(np.float32)),
        f"%r = math.copysign %x0, %x1 : {kind}": np.copysign(a.astype(np.float32), b.astype(np.float32)),
    }
    for body, expected in ops.items():
        out = np.empty_like(a)
        elementwise_table({each: each for each in ops}, body, [kind, kind], kind, target=plain_target)(a, b, out)
        assert_same(out, rounded(expected, name), a)


def test_fused_multiply_add_of_f16_rounds_once(elementwise, options) -> None:
    rng = np.random.default_rng(1)
    a, b, c = (rng.integers(0, 65536, 20000).astype(np.uint16).view(np.float16) for _ in range(3))
    out = np.empty_like(a)
    elementwise("%r = math.fma %x0, %x1, %x2 : f16", ["f16"] * 3, "f16", **options)(a, b, c, out)
    with np.errstate(all="ignore"):
        exact = a.astype(np.longdouble) * b.astype(np.longdouble) + c.astype(np.longdouble)
        expected = exact.astype(np.float64).astype(np.float16)
    np.testing.assert_array_equal(out, expected)


@pytest.mark.parametrize("name", NAMES)
def test_conversions_never_call_the_compiler_runtime(elementwise, plain_target, name: str) -> None:
    lib = elementwise(f"%r = arith.mulf %x0, %x1 : {mlir(name)}", [mlir(name)] * 2, mlir(name), target=plain_target)
    assert not re.search(r"__(trunc|extend)\w+", lib.source("asm"))


@pytest.mark.parametrize("body", ["arith.addf %a, %a : f16", "math.exp %a : f8E5M2", "arith.negf %a : f8E4M3FNUZ"])
def test_arithmetic_asks_for_the_pass(parse_upstream, body: str) -> None:
    kind = body.split()[-1]
    module = parse_upstream(f"func.func @f(%a: {kind}) -> {kind} {{ %r = {body}\n func.return %r : {kind} }}")
    with pytest.raises(UnsupportedError, match=rf"{body.split()[0]}.*{kind}.*legalize-small-floats"):
        compile_module(module)


@pytest.mark.parametrize("name", NAMES)
def test_constants_are_the_values_that_are_written(compile_text, name: str) -> None:
    kind = mlir(name)
    lib = compile_text(f"func.func @main() -> {kind} {{ %r = arith.constant 1.5 : {kind}\n func.return %r : {kind} }}")
    assert lib() == float(numpy_dtype(name).type(1.5))


def test_c_has_no_small_floats(parse_upstream) -> None:
    module = parse_upstream("""func.func private @abs(f8E5M2) -> f8E5M2
    func.func @f(%a: f8E5M2) -> f8E5M2 { %r = func.call @abs(%a) : (f8E5M2) -> f8E5M2\n func.return %r : f8E5M2 }""")
    with pytest.raises(UnsupportedError, match="abs: C has no type for f8E5M2"):
        compile_module(module)


@pytest.mark.parametrize("kind", ["serial", "vectorized"])
@pytest.mark.parametrize("value", ["T.copysign(A[i], B[i])", "T.Cast('float64', T.atan(T.Cast('float32', A[i])))"])
def test_a_sign_of_f64_is_copied_to_a_half(kind: str, value: str) -> None:
    """LLVM copies the sign after the rounding to f16, and rounds the f64 whose sign it copies by a call."""
    text = f"""
@T.prim_func
def main(A: T.Buffer((8,), "float64"), B: T.Buffer((8,), "float64"), C: T.Buffer((8,), "float16")):
    for i in T.{kind}(8):
        C[i] = T.Cast("float16", T.Cast("float32", {value}))
"""
    a, b = np.random.default_rng(0).normal(size=(2, 8))
    c = np.zeros(8, np.float16)
    stepwell.build(stepwell.parse_tvmscript(text))["main"](a, b, c)
    expected = np.copysign(a, b) if "copysign" in value else np.arctan(a.astype(np.float32))
    np.testing.assert_allclose(c, expected.astype(np.float32).astype(np.float16), rtol=1e-3)

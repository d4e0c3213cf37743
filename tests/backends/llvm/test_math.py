"""The math dialect, compared with numpy and the C library, on edge values too."""

import ctypes
import math

import ml_dtypes
import numpy as np
import pytest

DTYPES = {"f32": np.float32, "f64": np.float64, "f16": np.float16, "bf16": ml_dtypes.bfloat16}
POINTS = [0.0, -0.0, 0.3, -0.3, 0.5, -0.5, 1.0, -1.0, 1.5, 2.5, -2.5, 3.7, -3.7, 20.0, -20.0, 1e-5, 1e5, 1e-40,
          math.inf, -math.inf, math.nan]  # fmt: skip

libm = ctypes.CDLL("libm.so.6")


def c_function(name: str, count: int = 1):
    f = libm[name]
    f.restype, f.argtypes = ctypes.c_double, [ctypes.c_double] * count
    return np.vectorize(lambda *values: f(*(float(v) for v in values)), otypes=[float])


UNARY = {
    "absf": np.abs, "ceil": np.ceil, "floor": np.floor, "trunc": np.trunc, "roundeven": np.rint, "sqrt": np.sqrt,
    "round": c_function("round"), "rsqrt": lambda x: 1 / np.sqrt(x),
    "exp": np.exp, "exp2": np.exp2, "expm1": np.expm1, "log": np.log, "log2": np.log2, "log10": np.log10,
    "log1p": np.log1p, "sin": np.sin, "cos": np.cos, "tan": np.tan, "asin": np.arcsin, "acos": np.arccos,
    "atan": np.arctan, "sinh": np.sinh, "cosh": np.cosh, "tanh": np.tanh, "asinh": np.arcsinh, "acosh": np.arccosh,
    "atanh": np.arctanh, "cbrt": np.cbrt, "erf": c_function("erf"),
}  # fmt: skip
BINARY = {"atan2": np.arctan2, "powf": np.power, "copysign": np.copysign}
TOLERANCE = {"f32": 2e-6, "f64": 2e-15, "f16": 1e-3, "bf16": 8e-3}


def assert_close(actual: np.ndarray, expected: np.ndarray, kind: str) -> None:
    actual, expected = actual.astype(np.float64), expected.astype(np.float64)
    tiny = float(ml_dtypes.finfo(DTYPES[kind]).smallest_subnormal)
    np.testing.assert_allclose(actual, expected, rtol=TOLERANCE[kind], atol=tiny)
    zeros = expected == 0
    np.testing.assert_array_equal(np.signbit(actual[zeros]), np.signbit(expected[zeros]))


@pytest.mark.parametrize("name", UNARY)
@pytest.mark.parametrize("kind", DTYPES)
def test_functions_match_their_definition(elementwise_table, name: str, kind: str) -> None:
    with np.errstate(over="ignore"):
        x = np.array(POINTS).astype(DTYPES[kind])
    out = np.empty_like(x)
    bodies = {name: f"%r = math.{name} %x0 : {kind}" for name in UNARY}
    elementwise_table(bodies, name, [kind], kind)(x, out)
    with np.errstate(all="ignore"):
        assert_close(out, UNARY[name](x.astype(np.float64)).astype(DTYPES[kind]), kind)


IN_LANES = ("exp", "tan", "floor", "rsqrt", "absf")


@pytest.mark.parametrize("name", IN_LANES)
@pytest.mark.parametrize("kind", ["f32", "bf16"])
def test_functions_work_in_every_lane(elementwise_table, plain_target, name: str, kind: str) -> None:
    x = np.linspace(0.25, 4, 16).astype(DTYPES[kind])
    out = np.empty_like(x)
    bodies = {name: f"%r = math.{name} %x0 : vector<8x{kind}>" for name in IN_LANES}
    elementwise_table(bodies, name, [kind], kind, lanes=8, target=plain_target)(x, out)
    assert_close(out, UNARY[name](x.astype(np.float64)).astype(DTYPES[kind]), kind)


@pytest.mark.parametrize("name", BINARY)
@pytest.mark.parametrize("kind", DTYPES)
def test_binary_functions_match_their_definition(elementwise_table, name: str, kind: str) -> None:
    with np.errstate(over="ignore"):
        grid = np.array(POINTS).astype(DTYPES[kind])
    x, y = (np.ascontiguousarray(part.reshape(-1)) for part in np.meshgrid(grid, grid))
    out = np.empty_like(x)
    bodies = {name: f"%r = math.{name} %x0, %x1 : {kind}" for name in BINARY}
    elementwise_table(bodies, name, [kind, kind], kind)(x, y, out)
    with np.errstate(all="ignore"):
        assert_close(out, BINARY[name](x.astype(np.float64), y.astype(np.float64)).astype(DTYPES[kind]), kind)


@pytest.mark.parametrize("kind", ["f32", "f64"])
def test_fused_multiply_add_rounds_once(elementwise, kind: str, plain_target) -> None:
    dtype = DTYPES[kind]
    one = 1 + np.finfo(dtype).eps
    a, b, c = (np.array([value], dtype) for value in (one, one, -1 - 2 * np.finfo(dtype).eps))
    for options in ({}, {"target": plain_target}):
        out = np.empty_like(a)
        elementwise("%r = math.fma %x0, %x1, %x2 : " + kind, [kind] * 3, kind, **options)(a, b, c, out)
        assert out[0] == np.finfo(dtype).eps ** 2


@pytest.mark.parametrize("bits", [8, 16, 32, 64])
def test_bit_counts(elementwise_table, bits: int) -> None:
    dtype = np.dtype(f"i{bits // 8}")
    values = [0, 1, 2, 3, 12, -1, -(2 ** (bits - 1)), 2 ** (bits - 1) - 1]
    x = np.array(values, dtype)
    words = [v % 2**bits for v in values]
    expected = {
        "ctpop": [w.bit_count() for w in words],
        "ctlz": [bits - w.bit_length() for w in words],
        "cttz": [(w & -w).bit_length() - 1 if w else bits for w in words],
        "absi": [(abs(v) + 2 ** (bits - 1)) % 2**bits - 2 ** (bits - 1) for v in values],
    }
    bodies = {name: f"%r = math.{name} %x0 : i{bits}" for name in expected}
    for name, result in expected.items():
        out = np.empty_like(x)
        elementwise_table(bodies, name, [f"i{bits}"], f"i{bits}")(x, out)
        np.testing.assert_array_equal(out, result, err_msg=name)


@pytest.mark.parametrize("lanes", [1, 4])
def test_integer_powers_wrap_and_negative_ones_truncate(elementwise, lanes: int) -> None:
    bases = [0, 1, -1, 2, -2, 3, 7, 46341]
    powers = [0, 1, 2, 3, 5, 31, 33, -1, -2]
    x, y = (np.ascontiguousarray(g.reshape(-1)).astype(np.int32) for g in np.meshgrid(bases, powers))
    out = np.empty_like(x)
    kind = "i32" if lanes == 1 else "vector<4xi32>"
    elementwise(f"%r = math.ipowi %x0, %x1 : {kind}", ["i32", "i32"], "i32", lanes=lanes)(x, y, out)

    def power(base: int, exponent: int) -> int:
        if exponent < 0:
            return base**-exponent if base in (1, -1) else 0
        return (base**exponent + 2**31) % 2**32 - 2**31

    np.testing.assert_array_equal(out, [power(int(a), int(b)) for a, b in zip(x, y, strict=True)])


@pytest.mark.parametrize("kind", ["f32", "f64", "f16"])
def test_float_to_integer_powers(elementwise, kind: str) -> None:
    x = np.array([0.0, 2.0, -2.0, 1.5, -0.5, np.inf], DTYPES[kind])
    for power in (0, 1, 2, -1, -3, 5):
        y = np.full(x.shape, power, np.int32)
        out = np.empty_like(x)
        elementwise(f"%r = math.fpowi %x0, %x1 : {kind}, i32", [kind, "i32"], kind)(x, y, out)
        with np.errstate(divide="ignore"):
            expected = np.power(x.astype(np.float64), float(power)).astype(DTYPES[kind])
        np.testing.assert_allclose(out, expected, rtol=TOLERANCE[kind])

"""`expand-math`: functions as arithmetic, compared with exact values."""

import math
from collections.abc import Callable
from functools import cache
from typing import Any

import mpmath
import numpy as np
import pytest
from xdsl.context import Context
from xdsl.dialects import scf

from stepwell import GraphExecutor, build_graph, parse_mlir, relay
from stepwell.backends.llvm.compile import compile_module
from stepwell.core.cpu import host_cpu
from stepwell.tools import minimax
from stepwell.tools.testing.functions import elementwise_program
from stepwell.transforms.upstream.expand_math import ExpandMathPass, coefficients, powers

DTYPES: dict[str, Any] = {"f32": np.float32, "f64": np.float64}
UNITS = 2
SPECIAL = [
    0.0,
    -0.0,
    math.inf,
    -math.inf,
    math.nan,
    1.0,
    -1.0,
    0.5,
    -0.5,
    2.0,
    -2.0,
    1e-40,
    -1e-40,
    1e-310,
    5e-324,
    1e-45,
]

EXACT: dict[str, Callable[[Any], Any]] = {
    "exp": mpmath.exp, "exp2": lambda x: mpmath.mpf(2) ** x, "expm1": mpmath.expm1, "tanh": mpmath.tanh,
    "sinh": mpmath.sinh, "cosh": mpmath.cosh, "log": mpmath.log, "log2": lambda x: mpmath.log(x, 2),
    "log10": mpmath.log10, "log1p": mpmath.log1p, "sin": mpmath.sin, "cos": mpmath.cos, "tan": mpmath.tan,
    "asin": mpmath.asin, "acos": mpmath.acos, "atan": mpmath.atan, "asinh": mpmath.asinh, "acosh": mpmath.acosh,
    "atanh": mpmath.atanh, "cbrt": lambda x: mpmath.sign(x) * mpmath.cbrt(abs(x)), "erf": mpmath.erf,
}  # fmt: skip
OF_C: dict[str, Callable[..., Any]] = {
    "exp": np.exp, "exp2": np.exp2, "expm1": np.expm1, "tanh": np.tanh, "sinh": np.sinh, "cosh": np.cosh,
    "log": np.log, "log2": np.log2, "log10": np.log10, "log1p": np.log1p, "sin": np.sin, "cos": np.cos,
    "tan": np.tan, "asin": np.arcsin, "acos": np.arccos, "atan": np.arctan, "asinh": np.arcsinh,
    "acosh": np.arccosh, "atanh": np.arctanh, "cbrt": np.cbrt, "erf": np.vectorize(math.erf, otypes=[float]),
}  # fmt: skip
EXACT_OF_TWO: dict[str, Callable[[Any, Any], Any]] = {"powf": mpmath.power, "atan2": mpmath.atan2}
OF_C_OF_TWO: dict[str, Callable[..., Any]] = {"powf": np.power, "atan2": np.arctan2}
CASES = [(name, kind) for name in EXACT for kind in DTYPES]
CASES_OF_TWO = [(name, kind) for name in EXACT_OF_TWO for kind in DTYPES]
SLOW_WITHOUT_FMA = {("acosh", "f64"), ("powf", "f64")}
LANES = 8


def replaced(cases: list[tuple[str, str]]) -> list[tuple[str, str, bool]]:
    """The functions, with and without fused operations, that become arithmetic."""
    return [(*case, fma) for case in cases for fma in (True, False) if fma or case not in SLOW_WITHOUT_FMA]


@cache
def function(name: str, kind: str, fma: bool, count: int = 1) -> Callable[..., None]:
    """The function on arrays whose length is a multiple of `LANES`."""
    module = elementwise_program(name, kind, LANES, count)
    ExpandMathPass(fma, scales=fma and host_cpu().scales).apply(Context(), module.op)
    module.verify()
    return compile_module(module.op)["main"]


def results(name: str, kind: str, fma: bool, *arrays: Any) -> Any:
    padded = [np.append(a, np.zeros(-len(a) % LANES, a.dtype)) for a in arrays]
    out = np.empty_like(padded[0])
    function(name, kind, fma, len(arrays))(*padded, out)
    return out[: len(arrays[0])]


def arguments(kind: str) -> Any:
    """Finite numbers: of all exponents, and of the ranges in which functions change most."""
    rng = np.random.default_rng(0)
    dtype = DTYPES[kind]
    width = 32 if kind == "f32" else 64
    largest = 89 if kind == "f32" else 710
    bits = rng.integers(0, 2**width, 150, dtype=f"uint{width}").view(dtype)
    small = np.exp(rng.uniform(-30, 5, 150)) * rng.choice([-1, 1], 150)
    ranges = [
        rng.uniform(-1, 1, 200),
        rng.uniform(-5, 5, 150),
        rng.uniform(-largest, largest, 100),
        rng.uniform(0.7, 1.5, 100),
    ]
    near = np.array([math.log(2) / 2 * n for n in range(-6, 7)] + [math.pi / 2 * n for n in range(-8, 9)])
    branch_points = (rng.choice([1, 0.5], 100) + np.exp(rng.uniform(-36, -2, 100)) * rng.choice([-1, 1], 100)) * (
        rng.choice([-1, 1], 100)
    )
    parts = (small, *ranges, near, branch_points)
    values = np.concatenate([bits.astype(dtype), *(part.astype(dtype) for part in parts)])
    return values[np.isfinite(values)]


def error(got: float, exact: Any, dtype: Any) -> float:
    """The distance from the exact value in units in the last place of the nearest number."""
    with np.errstate(over="ignore"):
        nearest = dtype(float(exact))
    if np.isinf(nearest) or np.isinf(got):
        return 0.0 if got == nearest else math.inf
    return float(abs(mpmath.mpf(float(got)) - exact) / mpmath.mpf(float(np.spacing(abs(nearest)))))


@pytest.mark.parametrize(("name", "kind", "fma"), replaced(CASES))
def test_results_are_within_two_units_of_the_exact_values(name: str, kind: str, fma: bool) -> None:
    x = arguments(kind)
    if name in ("sin", "cos", "tan"):
        x = x[np.abs(x) < 2.0**16]  # other arguments are left to the C library
    got = results(name, kind, fma, x)
    worst = (0.0, 0.0, 0.0)
    with mpmath.workprec(200):
        for argument, result in zip(x, got, strict=True):
            try:
                exact = EXACT[name](mpmath.mpf(float(argument)))
            except (ValueError, ZeroDivisionError):
                continue  # a pole, which is special
            if isinstance(exact, mpmath.mpc) or mpmath.isnan(exact):
                assert np.isnan(result), (argument, result)
            elif not mpmath.isinf(exact):
                worst = max(worst, (error(result, exact, DTYPES[kind]), float(argument), float(result)))
    assert worst[0] <= UNITS, worst


@pytest.mark.parametrize("fma", [True, False])
@pytest.mark.parametrize(("name", "kind"), CASES)
def test_special_values_are_those_of_the_c_library(name: str, kind: str, fma: bool) -> None:
    x = np.array(SPECIAL, DTYPES[kind])
    got = results(name, kind, fma, x).astype(float)
    with np.errstate(all="ignore"):
        expected = OF_C[name](x.astype(float)).astype(DTYPES[kind]).astype(float)
    for argument, a, b in zip(x, got, expected, strict=True):
        if not np.isfinite(b) or b == 0 or b == 1:
            assert (a == b and np.signbit(a) == np.signbit(b)) or (np.isnan(a) and np.isnan(b)), (argument, a, b)


def pairs(name: str, kind: str) -> tuple[Any, Any]:
    """Finite pairs: of all exponents, near each other, and with a power that has a finite result."""
    rng = np.random.default_rng(1)
    dtype, width, exponent = (np.float32, 32, 126) if kind == "f32" else (np.float64, 64, 1022)
    bits = rng.integers(0, 2**width, (2, 150), dtype=f"uint{width}").view(dtype)
    with np.errstate(all="ignore"):
        near = bits[0] * rng.uniform(0.5, 2, 150).astype(dtype)
    small = 2.0 ** rng.uniform(-8, 8, 150) * rng.choice([-1, 1], 150), rng.integers(-30, 30, 150)
    base = np.concatenate([2.0 ** rng.uniform(-exponent, exponent, 100), 1 + 2.0 ** rng.uniform(-20, -1, 200)])
    power = rng.uniform(-exponent - 60, exponent + 3, 300) / np.log2(base)
    x, y = (
        np.concatenate([np.asarray(part).astype(dtype) for part in parts])
        for parts in zip((bits[0], bits[1]), (bits[0], near), small, (base, power), strict=True)
    )
    keep = np.isfinite(x) & np.isfinite(y)
    return x[keep], y[keep]


@pytest.mark.parametrize(("name", "kind", "fma"), replaced(CASES_OF_TWO))
def test_functions_of_two_operands_are_within_two_units(name: str, kind: str, fma: bool) -> None:
    x, y = pairs(name, kind)
    got = results(name, kind, fma, x, y)
    worst = (0.0, 0.0, 0.0, 0.0)
    with mpmath.workprec(200):
        for a, b, result in zip(x, y, got, strict=True):
            exact = EXACT_OF_TWO[name](mpmath.mpf(float(a)), mpmath.mpf(float(b)))
            if isinstance(exact, mpmath.mpc):
                assert np.isnan(result), (a, b, result)
            else:
                worst = max(worst, (error(result, exact, DTYPES[kind]), float(a), float(b), float(result)))
    assert worst[0] <= UNITS, worst


@pytest.mark.parametrize("fma", [True, False])
@pytest.mark.parametrize(("name", "kind"), CASES_OF_TWO)
def test_special_pairs_have_the_values_of_the_c_library(name: str, kind: str, fma: bool) -> None:
    points = [*SPECIAL, 3.0, -3.0, 1.5, -1.5, 16777216.0, -16777217.0, 0.1, 2.0**53 - 1, 1e30, -1e30, 1e300, -1e300]
    with np.errstate(over="ignore"):
        grid = np.array(points).astype(DTYPES[kind])
    x, y = (np.ascontiguousarray(part.reshape(-1)) for part in np.meshgrid(grid, grid))
    got = results(name, kind, fma, x, y).astype(float)
    with np.errstate(all="ignore"):
        expected = OF_C_OF_TWO[name](x.astype(float), y.astype(float)).astype(DTYPES[kind]).astype(float)
    same = (got == expected) & (np.signbit(got) == np.signbit(expected)) | np.isnan(got) & np.isnan(expected)
    is_special = ~np.isfinite(expected) | (expected == 0) | (np.abs(expected) == 1)
    wrong = np.flatnonzero(is_special & ~same)
    assert not wrong.size, [(x[n], y[n], got[n], expected[n]) for n in wrong[:5]]


@pytest.mark.parametrize("exponent", sorted(powers.OF_EXPONENT))
@pytest.mark.parametrize("kind", DTYPES)
def test_powers_of_constant_exponents(kind: str, exponent: float) -> None:
    module = elementwise_program("powf", kind, LANES, 1, exponent)
    ExpandMathPass(fma=False).apply(Context(), module.op)
    assert "math.powf" not in str(module.op)
    x = np.append(arguments(kind), np.array([*SPECIAL, 1e30, -1e30], DTYPES[kind]))
    x = np.append(x, np.ones(-len(x) % LANES, x.dtype))
    got = np.empty_like(x)
    compile_module(module.op)["main"](x, got)
    with np.errstate(all="ignore"):
        expected = np.power(x.astype(np.longdouble), np.full(len(x), exponent, np.longdouble)).astype(x.dtype)
        near = np.abs(got.astype(np.longdouble) - expected) <= UNITS * np.spacing(np.abs(expected))
    same = (got == expected) & (np.signbit(got) == np.signbit(expected)) | np.isnan(got) & np.isnan(expected)
    is_special = ~np.isfinite(expected) | (expected == 0)
    wrong = np.flatnonzero(~np.where(is_special, same, near))
    assert not wrong.size, [(x[n], got[n], expected[n]) for n in wrong[:5]]


@pytest.mark.parametrize("name", ["log", "log2", "log10"])
@pytest.mark.parametrize("kind", DTYPES)
def test_a_vector_of_normal_numbers_has_the_results_of_other_vectors(name: str, kind: str) -> None:
    x = arguments(kind)
    positive = np.sort(np.abs(x))  # zeros and denormal numbers are in the first vectors
    mixed = np.insert(positive, range(0, len(positive), LANES - 1), -1.0).astype(x.dtype)
    with_negative = results(name, kind, True, mixed)[mixed != -1.0]
    np.testing.assert_array_equal(results(name, kind, True, positive), with_negative)


def test_great_arguments_of_sine_and_cosine_are_left_to_the_c_library() -> None:
    x = np.array([1e5, -1e22, 1e38, 0.5, math.inf, math.nan], np.float32)
    for name in ("sin", "cos", "tan"):
        with np.errstate(invalid="ignore"):
            expected = OF_C[name](x.astype(float))
        np.testing.assert_allclose(results(name, "f32", True, x), expected, rtol=2e-7)


def test_functions_are_gone_but_for_a_branch_that_is_not_taken() -> None:
    for name, kind in (*CASES, *CASES_OF_TWO):
        module = elementwise_program(name, kind, LANES, 2 if name in EXACT_OF_TWO else 1)
        ExpandMathPass().apply(Context(), module.op)
        left = [op for op in module.op.walk() if op.name == f"math.{name}"]
        assert [isinstance(op.parent_op(), scf.IfOp) for op in left] == [True] * (name in ("sin", "cos", "tan"))


def test_functions_that_are_faster_in_c_stay_without_fused_operations() -> None:
    for name, kind in SLOW_WITHOUT_FMA:
        module = elementwise_program(name, kind, LANES, 2 if name in EXACT_OF_TWO else 1)
        before = str(module)
        ExpandMathPass(fma=False).apply(Context(), module.op)
        assert str(module) == before


@pytest.mark.parametrize(
    ("name", "kind", "lanes", "count"),
    [("exp", "f32", 8, 1), ("exp2", "f32", 24, 1), ("cosh", "f32", 8, 1), ("exp", "f64", 8, 0), ("tanh", "f32", 8, 0)],
)
def test_vectors_of_f32_are_multiplied_by_powers_of_two(name: str, kind: str, lanes: int, count: int) -> None:
    module = elementwise_program(name, kind, lanes)
    ExpandMathPass(scales=True).apply(Context(), module.op)
    assert str(module).count("llvm.ldexp") == count


def test_a_processor_without_fused_operations_runs_no_call_of_fma() -> None:
    module = elementwise_program("exp", "f64", LANES)
    ExpandMathPass(fma=False).apply(Context(), module.op)
    assert "math.fma" not in str(module)


@pytest.mark.parametrize("fma", [True, False])
@pytest.mark.parametrize("kind", DTYPES)
@pytest.mark.parametrize("type", ["{0}", "vector<8x{0}>"])
def test_a_quotient_of_one_and_an_exponential_has_one_formula(kind: str, type: str, fma: bool) -> None:
    type = type.format(kind)
    one = "1.0" if type == kind else "dense<1.0>"
    module = parse_mlir(f"""
        func.func @main(%x : memref<{type}>, %y : memref<{type}>) {{
          %v = memref.load %x[] : memref<{type}>
          %one = arith.constant {one} : {type}
          %e = math.exp %v : {type}
          %sum = arith.addf %one, %e : {type}
          %quotient = arith.divf %one, %sum : {type}
          memref.store %quotient, %y[] : memref<{type}>
          func.return
        }}""")
    ExpandMathPass(fma=fma).apply(Context(), module.op)
    module.verify()
    text = str(module)
    # Fewer operations than of an exponential alone, which scales twice.
    assert "math.exp" not in text
    assert (text.count("arith.shli"), text.count("arith.shrsi")) == (1, 0)


@pytest.mark.parametrize(("dtype", "tiny"), [("float32", 3e-39), ("float64", 5.6e-309)])
def test_sigmoid_is_accurate_and_keeps_special_values(dtype: str, tiny: float) -> None:
    limit = -np.log(np.finfo(dtype).tiny)
    x = np.concatenate([np.linspace(-limit, limit, 4001), SPECIAL, [-limit - 3, limit + 30]]).astype(dtype)
    relay_x = relay.var("x", shape=x.shape, dtype=dtype)
    executor = GraphExecutor(build_graph(relay.module(relay.Function([relay_x], relay.sigmoid(relay_x)))))
    executor.run(x=x)
    y = executor.get_output(0)
    with np.errstate(over="ignore"):
        exact = (1 / (1 + np.exp(-x.astype(np.longdouble)))).astype(dtype)
    np.testing.assert_allclose(y, exact, rtol=4 * float(np.finfo(dtype).eps), atol=2 * tiny)
    assert [*y[x == -np.inf], *y[x == np.inf]] == [0.0, 1.0]


@pytest.mark.slow
def test_the_coefficients_are_those_of_the_tool(capsys: pytest.CaptureFixture[str]) -> None:
    minimax.main()
    with open(coefficients.__file__) as file:
        assert file.read() == capsys.readouterr().out

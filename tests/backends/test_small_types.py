"""Programs on floats and integers of at most a byte: native code, the oracle and the interpreter agree."""

import itertools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from stepwell import build
from stepwell.backends.interpreter import interpret
from stepwell.backends.oracle import compile_oracle, numerics, run_oracle
from stepwell.core.dtypes import FLOAT_FORMATS, SMALL_FLOATS, int_range, numpy_dtype, parse_dtype, wrap_int
from stepwell.core.errors import ArgumentError, UnsupportedError
from stepwell.frontends import te
from stepwell.frontends.tvmscript import parse_tvmscript
from stepwell.tools.testing.comparison import same

SMALL_INTEGERS = ("int2", "uint2", "int4", "uint4")
RUNNERS = {"oracle": run_oracle, "interpreter": interpret, "native": lambda mod, name, args: build(mod)[name](*args)}


@dataclass(frozen=True)
class Elementwise:
    """A program `OUT[k] = expression` of `A[k]`, `B[k]`, ..., written `$a`, `$b` in the expression. arrays: of equal
    length, of the types `inputs`."""

    inputs: list[str]
    output: str
    expression: str
    arrays: list[np.ndarray]
    vectorized: bool = False

    def text(self, name: str) -> str:
        """The function `name` of the program."""
        names = [*"ABC"[: len(self.inputs)], "OUT"]
        buffers = zip(names, (*self.inputs, self.output), strict=True)
        expression = self.expression
        for each in names[:-1]:
            expression = expression.replace(f"${each.lower()}", f"{each}[i, j]")
        loop = "T.vectorized" if self.vectorized else "T.serial"
        lines = [
            "@T.prim_func",
            f"def {name}({', '.join(f'{n.lower()}: T.handle' for n in names)}):",
            "    n = T.int32()",
            *(f"    {each} = T.match_buffer({each.lower()}, (n, 8), {dtype!r})" for each, dtype in buffers),
            "    for i in range(n):",
            f"        for j in {loop}(8):",
            f"            OUT[i, j] = {expression}",
        ]
        return "\n".join(lines) + "\n"


def results(*programs: Elementwise) -> list[dict[str, np.ndarray]]:
    """For each program its result with each runner. The programs are compiled as one module, in a fraction of the time
    of as many modules."""
    mod = parse_tvmscript("\n".join(program.text(f"f{i}") for i, program in enumerate(programs)))
    native, oracle = build(mod), compile_oracle(mod).all_functions
    return [
        {
            "oracle": _result(program, oracle[f"f{i}"]),
            "native": _result(program, native[f"f{i}"]),
            **(
                {"interpreter": _result(program, lambda *arrays: interpret(mod, f"f{i}", arrays))}
                if len(program.arrays[0]) <= 64  # it is slow
                else {}
            ),
        }
        for i, program in enumerate(programs)
    ]


def _result(program: Elementwise, run: Callable[..., Any]) -> np.ndarray:
    length = -len(program.arrays[0]) % 8
    padded = [np.concatenate([array, np.repeat(array[-1:], length)]) for array in program.arrays]
    out = np.zeros(len(padded[0]), numpy_dtype(program.output))
    run(*(array.reshape(-1, 8) for array in (*padded, out)))
    return out[: len(program.arrays[0])]


def every(name: str) -> np.ndarray:
    dtype = numpy_dtype(name)
    return np.arange(2 ** parse_dtype(name).bits, dtype=f"u{dtype.itemsize}").view(dtype)


def pairs(name: str) -> list[np.ndarray]:
    return [part.ravel().copy() for part in np.meshgrid(every(name), every(name))]


# Floats


@pytest.mark.parametrize("vectorized", [False, True])
@pytest.mark.parametrize("name", ["float8_e4m3fn", "float8_e5m2fnuz", "float8_e8m0fnu", "float4_e2m1fn"])
def test_casts_to_and_from_small_floats_are_those_of_ml_dtypes(name: str, vectorized: bool) -> None:
    rng = np.random.default_rng(0)
    with np.errstate(all="ignore"):
        wide = np.concatenate([rng.standard_normal(150) * 2.0 ** rng.integers(-20, 20, 150), every(name).astype("f8")])
        others = ("float16", "bfloat16", "float32", "float64", "int32")
        sources = {other: wide.astype(numpy_dtype(other)) for other in others[:-1]}
        sources["int32"] = np.clip(np.nan_to_num(wide, posinf=0, neginf=0), -(2**24), 2**24).astype("i4")
        narrowed = results(
            *(Elementwise([other], name, f'T.Cast("{name}", $a)', [sources[other]], vectorized) for other in others)
        )
        for other, found in zip(others, narrowed, strict=True):
            for got in found.values():
                np.testing.assert_array_equal(got.view("u1"), sources[other].astype(numpy_dtype(name)).view("u1"))
        widened = results(
            *(Elementwise([name], other, f'T.Cast("{other}", $a)', [every(name)], vectorized) for other in others[:-1])
        )
        for other, found in zip(others[:-1], widened, strict=True):
            for got in found.values():
                assert same(got, every(name).astype(numpy_dtype(other)))


@pytest.mark.parametrize("target", ["float16", "bfloat16", *SMALL_FLOATS])
def test_float64_is_rounded_as_numpy_rounds_it(target: str) -> None:
    """float64 is rounded once to float16, and through float32 to the types of ml_dtypes."""
    values = every(target)
    with np.errstate(invalid="ignore"):
        values = np.unique(values.astype("f8"))
    values = values[np.isfinite(values)]
    middle = (values[1:] + values[:-1]) / 2
    a = np.concatenate([middle * (1 + sign * 2.0**-e) for sign in (-1, 1) for e in (20, 30, 40)])[:4096]
    with np.errstate(all="ignore"):
        expected = a.astype(numpy_dtype(target))
    (found,) = results(Elementwise(["float64"], target, f'T.Cast("{target}", $a)', [a]))
    for got in found.values():
        assert same(got, expected)


@pytest.mark.parametrize("name", [name for name in SMALL_FLOATS if FLOAT_FORMATS[name].has_nan])
def test_operators_are_rounded_after_each(name: str) -> None:
    operands = [part[::3] for part in pairs(name)]  # each value of one with every third value of the other
    expressions = ("$a + $b", "$a * $b", "$a / $b", "T.max($a, $b)", "T.min($a - $b, $a)")
    found = results(*(Elementwise([name, name], name, expression, operands) for expression in expressions))
    for expression, each in zip(expressions, found, strict=True):
        assert same(each["native"], each["oracle"]), expression


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(
            name, marks=[] if name.endswith(("8_e4m3fn", "8_e5m2", "e8m0fnu", "4_e2m1fn")) else pytest.mark.slow
        )
        for name in SMALL_FLOATS
    ],
)
def test_classification_knows_what_a_type_does_not_have(name: str) -> None:
    a = every(name)
    wide = a.astype("f4")
    functions = ("isnan", "isinf", "isfinite")
    *classes, as_bool, as_int = results(
        *(Elementwise([name], "bool", f"T.{function}($a)", [a]) for function in functions),
        *(Elementwise([name], to, f'T.Cast("{to}", $a)', [a]) for to in ("bool", "int32")),
    )
    for function, found in zip(functions, classes, strict=True):
        for got in found.values():
            np.testing.assert_array_equal(got, getattr(np, function)(wide))
    for got in as_bool.values():
        np.testing.assert_array_equal(got, wide != 0)
    for got in as_int.values():
        expected = [0 if x != x else int(np.clip(x, -(2.0**31), 2.0**31 - 1)) for x in wide.astype("f8")]
        np.testing.assert_array_equal(got, expected)


@pytest.mark.parametrize("name", ["float16", "bfloat16", "float32", "float64"])
def test_the_neighbour_towards_an_equal_number_is_that_number(name: str) -> None:
    numbers = np.array([0.0, -0.0, 1.0, -1.0, 2.0, np.inf, -np.inf, -2.0]).astype(numpy_dtype(name))
    a, b = (m.ravel() for m in np.meshgrid(numbers, numbers))
    (found,) = results(Elementwise([name, name], name, "T.nextafter($a, $b)", [a, b]))
    assert found.keys() == {"oracle", "interpreter", "native"}
    for got in found.values():
        np.testing.assert_array_equal(got[a == b], b[a == b])
        np.testing.assert_array_equal(np.signbit(got[a == b]), np.signbit(b[a == b]))


@pytest.mark.parametrize("name", SMALL_FLOATS)
def test_neighbours_of_small_floats_are_those_of_the_sorted_numbers(name: str) -> None:
    codes = np.arange(1 << parse_dtype(name).bits, dtype=np.uint8)
    numbers = [float(x) for x in codes.view(numpy_dtype(name)).astype("f8") if x == x]
    order = sorted(set(numbers))
    for x, y in itertools.product(numbers, numbers):
        got = numerics.next_after(x, y, name)
        assert got == (y if x == y else order[order.index(x) + (1 if x < y else -1)])
        assert x != y or np.signbit(got) == np.signbit(y)


def test_neighbours_are_refused_where_bits_have_gaps() -> None:
    name = "float8_e4m3fnuz"
    mod = parse_tvmscript(Elementwise([name, name], name, "T.nextafter($a, $b)", []).text("main"))
    with pytest.raises(UnsupportedError, match="nextafter of float8_e4m3fnuz"):
        build(mod)


@pytest.mark.parametrize("name", ["float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz", "float6_e3m2fn", "float4_e2m1fn"])
def test_reductions_of_tensors(name: str) -> None:
    A = te.placeholder((8, 16), dtype=name, name="A")
    k, m = te.reduce_axis((0, 16), name="k"), te.reduce_axis((0, 16), name="m")
    S = te.compute((8,), lambda i: te.sum(A[i, k].astype("float32"), axis=k), name="S")
    M = te.compute((8,), lambda i: te.max(A[i, m], axis=m), name="M")
    mod = te.create_prim_func([A, S, M])
    a = np.random.default_rng(0).standard_normal((8, 16)).astype(numpy_dtype(name))
    s, most = np.zeros(8, "f4"), np.zeros(8, numpy_dtype(name))
    build(mod)["main"](a, s, most)
    np.testing.assert_allclose(s, a.astype("f4").sum(1), rtol=1e-5)
    np.testing.assert_array_equal(most.astype("f4"), a.astype("f4").max(1))


def test_a_matrix_product_of_float8_in_float32() -> None:
    name = "float8_e4m3fn"
    A, B = te.placeholder((5, 7), dtype=name, name="A"), te.placeholder((7, 3), dtype=name, name="B")
    k = te.reduce_axis((0, 7), name="k")
    C = te.compute((5, 3), lambda i, j: te.sum(A[i, k].astype("float32") * B[k, j].astype("float32"), axis=k), name="C")
    rng = np.random.default_rng(1)
    a, b = rng.standard_normal((5, 7)).astype(numpy_dtype(name)), rng.standard_normal((7, 3)).astype(numpy_dtype(name))
    c = np.zeros((5, 3), "f4")
    build(te.create_prim_func([A, B, C]))["main"](a, b, c)
    np.testing.assert_allclose(c, a.astype("f4") @ b.astype("f4"), rtol=1e-5)


# Integers

COMPARISONS = {"<": np.less, "<=": np.less_equal, "==": np.equal, "!=": np.not_equal, ">": np.greater}
BINARY = {
    "$a + $b": lambda a, b, n: a + b,
    "$a - $b": lambda a, b, n: a - b,
    "$a * $b": lambda a, b, n: a * b,
    "$a & $b": lambda a, b, n: a & b,
    "$a ^ $b": lambda a, b, n: a ^ b,
    "T.max($a, $b)": lambda a, b, n: max(a, b),
    "T.min($a, $b)": lambda a, b, n: min(a, b),
    "$a // $b": lambda a, b, n: a // b,
    "$a % $b": lambda a, b, n: a % b,
    "T.truncdiv($a, $b)": lambda a, b, n: int(a / b),
    "T.shift_left($a, $b)": lambda a, b, n: a << b,
    "T.shift_right($a, $b)": lambda a, b, n: a >> b,
}


@pytest.mark.parametrize("vectorized", [False, True])
@pytest.mark.parametrize("name", SMALL_INTEGERS)
def test_arithmetic_wraps_at_the_width(name: str, vectorized: bool) -> None:
    dtype = parse_dtype(name)
    low, high = int_range(dtype)
    programs, expected = [], []
    for expression, function in BINARY.items():
        shifts, divides = "shift" in expression, any(op in expression for op in ("//", "%", "truncdiv"))
        numbers = [
            (a, b)
            for a, b in itertools.product(range(low, high + 1), repeat=2)
            if not (divides and b == 0) and not (shifts and not 0 <= b < dtype.bits)
        ]
        operands = [np.array(column, numpy_dtype(name)) for column in zip(*numbers, strict=True)]
        programs.append(Elementwise([name, name], name, expression, operands, vectorized))
        expected.append([wrap_int(function(x, y, dtype.bits), dtype) for x, y in numbers])
    for expression, found, numbers in zip(BINARY, results(*programs), expected, strict=True):
        for got in found.values():
            np.testing.assert_array_equal(got.astype("i4"), numbers, err_msg=expression)


@pytest.mark.parametrize("vectorized", [False, True])
@pytest.mark.parametrize("name", SMALL_INTEGERS)
def test_casts_extend_by_the_sign_and_wrap(name: str, vectorized: bool) -> None:
    a = every(name)
    wider = ("int8", "uint8", "int32", "int64", "uint64", "float32", "float16", "bool")
    extended = results(*(Elementwise([name], other, f'T.Cast("{other}", $a)', [a], vectorized) for other in wider))
    for other, found in zip(wider, extended, strict=True):
        for got in found.values():
            np.testing.assert_array_equal(got, a.astype("i8").astype(other))
    sources = [np.arange(-128, 128).astype(other) for other in ("int8", "uint8", "int32", "int64", "bool")]
    sources.append(
        np.array([-1e9, -9, -8.5, -8, -2.5, -1, -0.5, 0, 0.5, 1.5, 3, 7, 7.9, 8, 15, 16, 1e9, np.nan, np.inf], "f4")
    )
    cast = f'T.Cast("{name}", $a)'
    *wrapped, saturated = results(*(Elementwise([wide.dtype.name], name, cast, [wide], vectorized) for wide in sources))
    for wide, found in zip(sources, wrapped, strict=False):
        for got in found.values():
            np.testing.assert_array_equal(got.astype("i4"), [wrap_int(int(x), parse_dtype(name)) for x in wide])
    low, high = int_range(parse_dtype(name))
    expected = [0 if x != x else int(min(max(float(x), low), high)) for x in sources[-1]]
    for got in saturated.values():
        np.testing.assert_array_equal(got.astype("i4"), expected)


@pytest.mark.parametrize("name", SMALL_INTEGERS)
def test_comparisons_and_bits(name: str) -> None:
    a, b = pairs(name)
    x, y = a.astype("i4"), b.astype("i4")
    *compared, counts, zeros = results(
        *(Elementwise([name, name], "bool", f"$a {sign} $b", [a, b]) for sign in COMPARISONS),
        Elementwise([name], name, "T.popcount($a)", [a]),
        Elementwise([name], "int32", "T.clz($a)", [a]),
    )
    for function, found in zip(COMPARISONS.values(), compared, strict=True):
        for got in found.values():
            np.testing.assert_array_equal(got, function(x, y))
    bits = parse_dtype(name).bits
    for got in counts.values():
        expected = [wrap_int((v % 2**bits).bit_count(), parse_dtype(name)) for v in x.tolist()]
        np.testing.assert_array_equal(got.astype("i4"), expected)
    for got in zeros.values():
        np.testing.assert_array_equal(got, [bits - (v % 2**bits).bit_length() for v in x.tolist()])


def test_memory_holds_what_ml_dtypes_puts_there() -> None:
    """Memory holds the low bits of a byte, with zeros above them, also for negative numbers."""
    a, b = np.array([-1, 7, -8], ml_dtypes.int4), np.array([3, 3, 1], ml_dtypes.int4)
    (found,) = results(Elementwise(["int4", "int4"], "int4", "$a * $b", [a, b]))
    for got in found.values():
        assert got.view("u1").tolist() == np.multiply(a, b).view("u1").tolist() == [13, 5, 8]


def test_bytes_are_read_whatever_lies_above() -> None:
    a = np.array([0xF3, 0x1F, 0x88, 0x07, 0, 0, 0, 0], np.uint8)
    (found,) = results(Elementwise(["int4"], "int32", 'T.Cast("int32", $a)', [a.view(ml_dtypes.int4)]))
    for got in found.values():
        assert got[:4].tolist() == [3, -1, -8, 7]


def test_numbers_index_and_are_passed_and_come_back() -> None:
    mod = parse_tvmscript(
        """
@T.prim_func
def main(A: T.Buffer((8,), "float8_e5m2"), I: T.Buffer((4,), "uint4"), s: T.int4, B: T.Buffer((4,), "float8_e5m2")):
    for i in range(4):
        B[i] = A[T.Cast("int32", I[i])] * T.Cast("float8_e5m2", s)
"""
    )
    a = np.arange(8).astype(ml_dtypes.float8_e5m2)
    index = np.array([7, 0, 3, 2], ml_dtypes.uint4)
    for run in RUNNERS.values():
        b = np.zeros(4, a.dtype)
        run(mod, "main", [a, index, -2, b])
        assert b.astype("f4").tolist() == [-14, 0, -6, -4]
    with pytest.raises(ArgumentError, match="argument s: expected int4, from -8 to 7, got 8"):
        build(mod)["main"](a, index, 8, b)
    with pytest.raises(ArgumentError, match="argument I: expected elements of type uint4, got uint8"):
        build(mod)["main"](a, index.astype("uint8"), 1, b)


def test_functions_in_python_get_and_give_small_numbers() -> None:
    import stepwell

    mod = parse_tvmscript(
        """
@T.prim_func
def main(A: T.Buffer((1,), "float8_e4m3fn"), B: T.Buffer((2,), "int4")):
    T.evaluate(T.call_packed("small.seen", A[0], B[1], A, B))
"""
    )
    seen: list[Any] = []

    def see(x: float, y: int, a: Any, b: Any) -> None:
        seen.append((x, y))
        a[0], b[1] = 1.5, b[0]

    stepwell.register_func("small.seen", see, override=True)
    for run in (RUNNERS["native"], RUNNERS["oracle"]):
        a, b = np.array([3], ml_dtypes.float8_e4m3fn), np.array([-3, 2], ml_dtypes.int4)
        run(mod, "main", [a, b])
        assert (float(a[0]), b.astype("i4").tolist()) == (1.5, [-3, -3])
    assert seen == [(3.0, 2)] * 2


@pytest.mark.parametrize(
    ("value", "dtype"),
    [(1000.0, "float8_e4m3fn"), (-1.0, "float8_e8m0fnu"), (0.0, "float8_e8m0fnu"), (7.5, "float4_e2m1fn")],
)
def test_arguments_out_of_range_are_refused(value: float, dtype: str) -> None:
    mod = parse_tvmscript(f"@T.prim_func\ndef main(x: T.{dtype}, A: T.Buffer((1,), '{dtype}')):\n    A[0] = x\n")
    a = np.zeros(1, numpy_dtype(dtype))
    if value == 7.5:  # a type without infinities has a nearest number
        build(mod)["main"](value, a)
        assert float(a[0]) == 6.0
        return
    with pytest.raises(ArgumentError, match=f"argument x: expected {dtype}, got {value}, which is out of its range"):
        build(mod)["main"](value, a)

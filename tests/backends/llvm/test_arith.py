"""Integer and float arithmetic, compared with numpy and Python's integers, on edge values and all pairs of small
values."""

import itertools
import math
import operator

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

BF16 = ml_dtypes.bfloat16
WIDTHS = (8, 16, 32, 64)
FLOATS = {"f32": np.float32, "f64": np.float64}


def edge_integers(bits: int) -> list[int]:
    top = 2 ** (bits - 1)
    values = {0, 1, 2, 3, 5, 7, 8, bits - 1, bits, bits + 1, top - 1, top - 2, top // 3}
    return sorted(v for v in values | {-v for v in values} | {-top} if -top <= v < top)


def pairs(bits: int) -> tuple[np.ndarray, np.ndarray]:
    values = list(range(-128, 128)) if bits == 8 else edge_integers(bits)
    a, b = zip(*itertools.product(values, repeat=2), strict=True)
    pad = -len(a) % 8
    dtype = np.dtype(f"i{bits // 8}")
    return np.array(a + (1,) * pad, dtype), np.array(b + (1,) * pad, dtype)


def wrap(value: int, bits: int) -> int:
    return (value + 2 ** (bits - 1)) % 2**bits - 2 ** (bits - 1)


def unsigned(value: int, bits: int) -> int:
    return value % 2**bits


def truncate(a: int, b: int) -> int:
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


def over_zero(f):
    """Division by zero is defined as 0."""
    return lambda a, b, n: 0 if b == 0 else f(a, b, n)


def on_unsigned(f):
    return lambda a, b, n: f(unsigned(a, n), unsigned(b, n), n)


BINARY = {
    "addi": lambda a, b, n: a + b,
    "subi": lambda a, b, n: a - b,
    "muli": lambda a, b, n: a * b,
    "andi": lambda a, b, n: a & b,
    "ori": lambda a, b, n: a | b,
    "xori": lambda a, b, n: a ^ b,
    "minsi": lambda a, b, n: min(a, b),
    "maxsi": lambda a, b, n: max(a, b),
    "minui": on_unsigned(lambda a, b, n: min(a, b)),
    "maxui": on_unsigned(lambda a, b, n: max(a, b)),
    "divsi": over_zero(lambda a, b, n: truncate(a, b)),
    "remsi": over_zero(lambda a, b, n: a - b * truncate(a, b)),
    "floordivsi": over_zero(lambda a, b, n: a // b),
    "ceildivsi": over_zero(lambda a, b, n: -(-a // b)),
    "divui": over_zero(on_unsigned(lambda a, b, n: a // b)),
    "remui": over_zero(on_unsigned(lambda a, b, n: a % b)),
    "ceildivui": over_zero(on_unsigned(lambda a, b, n: -(-a // b))),
    "shli": on_unsigned(lambda a, b, n: a << b if b < n else 0),
    "shrui": on_unsigned(lambda a, b, n: a >> b if b < n else 0),
    "shrsi": lambda a, b, n: a >> min(unsigned(b, n), n - 1),
}


@pytest.mark.parametrize("name", BINARY)
@pytest.mark.parametrize("bits", WIDTHS)
def test_integer_operations_wrap_and_never_trap(elementwise_table, name: str, bits: int) -> None:
    a, b = pairs(bits)
    expected = [wrap(BINARY[name](int(x), int(y), bits), bits) for x, y in zip(a, b, strict=True)]
    out = np.empty_like(a)
    bodies = {name: f"%r = arith.{name} %x0, %x1 : i{bits}" for name in BINARY}
    elementwise_table(bodies, name, [f"i{bits}"] * 2, f"i{bits}")(a, b, out)
    np.testing.assert_array_equal(out, expected)


@pytest.mark.parametrize("name", BINARY)
def test_integer_operations_work_in_every_lane(elementwise_table, name: str) -> None:
    a, b = pairs(16)
    expected = [wrap(BINARY[name](int(x), int(y), 16), 16) for x, y in zip(a, b, strict=True)]
    out = np.empty_like(a)
    bodies = {name: f"%r = arith.{name} %x0, %x1 : vector<8xi16>" for name in BINARY}
    elementwise_table(bodies, name, ["i16"] * 2, "i16", lanes=8)(a, b, out)
    np.testing.assert_array_equal(out, expected)


@pytest.mark.parametrize("name", ["divsi", "remsi", "floordivsi", "ceildivsi", "divui", "remui", "ceildivui", "shli",
                                  "shrui", "shrsi"])  # fmt: skip
@pytest.mark.parametrize("lanes", [1, 8])
def test_constant_right_operands_mean_the_same(elementwise_table, name: str, lanes: int) -> None:
    a = np.arange(-128, 128, dtype=np.int8)
    kind = "i8" if lanes == 1 else "vector<8xi8>"
    bodies = {}
    for constant in (0, 1, -1, 2, 3, 7, 8, 9, -3, 127, -128):
        literal = f"{constant}" if lanes == 1 else f"dense<{constant}>"
        bodies[constant] = f"%k = arith.constant {literal} : {kind}\n%r = arith.{name} %x0, %k : {kind}"
    for constant in bodies:
        out = np.empty_like(a)
        elementwise_table(bodies, constant, ["i8"], "i8", lanes=lanes)(a, out)
        expected = [wrap(BINARY[name](int(x), constant, 8), 8) for x in a]
        np.testing.assert_array_equal(out, expected, err_msg=str(constant))


ON_BITS = [name for name in BINARY if not name.startswith("sh")]


@pytest.mark.parametrize("name", ON_BITS)
@pytest.mark.parametrize("right", ["%x1", "true", "false"])
def test_integer_operations_on_single_bits(elementwise_table, name: str, right: str) -> None:
    a, b = (np.array(bits, bool) for bits in ([0, 0, 1, 1], [0, 1, 0, 1]))
    out = np.empty_like(a)
    literal = f"%k = arith.constant {right}\n" if right != "%x1" else ""
    bodies = {name: f"{literal}%r = arith.{name} %x0, {'%k' if literal else right} : i1" for name in ON_BITS}
    elementwise_table(bodies, name, ["i1"] * 2, "i1")(a, b, out)
    others = b if not literal else np.full(4, right == "true")
    expected = [BINARY[name](-int(x), -int(y), 1) & 1 for x, y in zip(a, others, strict=True)]
    np.testing.assert_array_equal(out, np.array(expected, bool))


def assert_same(actual: np.ndarray, expected: np.ndarray) -> None:
    """Equal as numbers, with the same signs of zeros; any NaN equals any."""
    with np.errstate(invalid="ignore"):  # signalling NaNs
        np.testing.assert_array_equal(actual.astype(np.float64), expected.astype(np.float64))
    numbers = ~np.isnan(expected)
    np.testing.assert_array_equal(np.signbit(actual[numbers]), np.signbit(expected[numbers]))


COMPARISONS = {
    "eq": operator.eq, "ne": operator.ne, "slt": operator.lt, "sle": operator.le, "sgt": operator.gt,
    "sge": operator.ge, "ult": operator.lt, "ule": operator.le, "ugt": operator.gt, "uge": operator.ge,
}  # fmt: skip


@pytest.mark.parametrize("predicate", COMPARISONS)
def test_integer_comparisons_match_numpy(elementwise_table, predicate: str) -> None:
    a, b = pairs(32)
    out = np.empty(a.shape, bool)
    bodies = {each: f"%r = arith.cmpi {each}, %x0, %x1 : i32" for each in COMPARISONS}
    elementwise_table(bodies, predicate, ["i32", "i32"], "i1")(a, b, out)
    views = (a.view("u4"), b.view("u4")) if predicate.startswith("u") else (a, b)
    np.testing.assert_array_equal(out, COMPARISONS[predicate](*views))


EDGE_FLOATS = [0.0, -0.0, 1.0, -1.0, 1.5, -2.5, 1e-30, 3e38, -3e38, 1e-42, math.inf, -math.inf, math.nan, 0.1, 65504.0]


def float_pairs(dtype) -> tuple[np.ndarray, np.ndarray]:
    a, b = zip(*itertools.product(EDGE_FLOATS, repeat=2), strict=True)
    pad = -len(a) % 4
    with np.errstate(over="ignore"):
        return np.array(a + (1.0,) * pad).astype(dtype), np.array(b + (1.0,) * pad).astype(dtype)


FCMP = {
    "false": lambda a, b, u: u & ~u, "oeq": lambda a, b, u: (a == b) & ~u, "ogt": lambda a, b, u: a > b,
    "oge": lambda a, b, u: a >= b, "olt": lambda a, b, u: a < b, "ole": lambda a, b, u: a <= b,
    "one": lambda a, b, u: (a != b) & ~u, "ord": lambda a, b, u: ~u, "ueq": lambda a, b, u: (a == b) | u,
    "ugt": lambda a, b, u: (a > b) | u, "uge": lambda a, b, u: (a >= b) | u, "ult": lambda a, b, u: (a < b) | u,
    "ule": lambda a, b, u: (a <= b) | u, "une": lambda a, b, u: (a != b) | u, "uno": lambda a, b, u: u,
    "true": lambda a, b, u: u | ~u,
}  # fmt: skip


@pytest.mark.parametrize("predicate", FCMP)
@pytest.mark.parametrize(("kind", "dtype"), [("f32", np.float32), ("bf16", BF16)])
def test_float_comparisons_match_numpy(elementwise_table, predicate: str, kind: str, dtype) -> None:
    a, b = float_pairs(dtype)
    out = np.empty(a.shape, bool)
    bodies = {each: f"%r = arith.cmpf {each}, %x0, %x1 : {kind}" for each in FCMP}
    elementwise_table(bodies, predicate, [kind, kind], "i1")(a, b, out)
    unordered = np.isnan(a) | np.isnan(b)
    expected = FCMP[predicate](a.astype(np.float64), b.astype(np.float64), unordered)
    np.testing.assert_array_equal(out, expected)


FLOAT_ARITHMETIC = {"addf": np.add, "subf": np.subtract, "mulf": np.multiply, "divf": np.divide}


@pytest.mark.parametrize("name", FLOAT_ARITHMETIC)
@pytest.mark.parametrize(("kind", "dtype"), [*FLOATS.items(), ("f16", np.float16), ("bf16", BF16)])
@pytest.mark.parametrize("lanes", [1, 4])
def test_float_arithmetic_is_correctly_rounded(elementwise_table, name: str, kind: str, dtype, lanes: int) -> None:
    a, b = float_pairs(dtype)
    out = np.empty_like(a)
    shown = kind if lanes == 1 else f"vector<4x{kind}>"
    bodies = {name: f"%r = arith.{name} %x0, %x1 : {shown}" for name in FLOAT_ARITHMETIC}
    elementwise_table(bodies, name, [kind, kind], kind, lanes=lanes)(a, b, out)
    with np.errstate(all="ignore"):
        expected = FLOAT_ARITHMETIC[name](a, b)
    assert_same(out, expected)


def ordered(values: np.ndarray) -> np.ndarray:
    """A sort key that orders -0 before +0."""
    return np.where(values == 0, np.where(np.signbit(values), -1e-300, 1e-300), values.astype(np.float64))


EXTREMES = ("maximumf", "minimumf", "maxnumf", "minnumf")


@pytest.mark.parametrize("name", EXTREMES)
@pytest.mark.parametrize(("kind", "dtype"), [*FLOATS.items(), ("f16", np.float16), ("bf16", BF16)])
def test_extremes_order_zeros_and_treat_nan_as_named(elementwise_table, name: str, kind: str, dtype) -> None:
    a, b = float_pairs(dtype)
    out = np.empty_like(a)
    bodies = {name: f"%r = arith.{name} %x0, %x1 : {kind}" for name in EXTREMES}
    elementwise_table(bodies, name, [kind, kind], kind)(a, b, out)
    first = ordered(a) >= ordered(b) if name.startswith("max") else ordered(a) <= ordered(b)
    expected = np.where(first, a, b)
    if name.endswith("numf"):
        expected = np.where(np.isnan(a), b, np.where(np.isnan(b), a, expected))
    else:
        expected = np.where(np.isnan(a), a, np.where(np.isnan(b), b, expected))
    assert_same(out, expected)


@pytest.mark.parametrize("kind", ["f16", "bf16", "f32", "f64"])
def test_negation_flips_the_sign_bit_only(elementwise, kind: str) -> None:
    dtype = {"f16": np.float16, "bf16": BF16, "f32": np.float32, "f64": np.float64}[kind]
    with np.errstate(over="ignore"):
        a = np.array(EDGE_FLOATS).astype(dtype)
    out = np.empty_like(a)
    elementwise(f"%r = arith.negf %x0 : {kind}", [kind], kind)(a, out)
    np.testing.assert_array_equal(np.signbit(out), ~np.signbit(a))
    assert_same(np.abs(out), np.abs(a))


@pytest.mark.parametrize("source", ["f16", "bf16", "f32", "f64"])
@pytest.mark.parametrize("bits", WIDTHS)
@pytest.mark.parametrize("sign", ["s", "u"])
def test_float_to_integer_truncates_and_saturates(elementwise, source: str, bits: int, sign: str) -> None:
    dtype = {"f16": np.float16, "bf16": BF16, "f32": np.float32, "f64": np.float64}[source]
    values = [*EDGE_FLOATS, 127.9, 128.0, -128.9, -129.0, 255.5, 256.0, -0.9, 2.0**31, 2.0**31 - 1, -(2.0**31), 2.0**63,
              -(2.0**63), 2.0**64, 1e300]  # fmt: skip
    with np.errstate(over="ignore"):
        a = np.array(values).astype(dtype)
    out = np.empty(a.shape, f"i{bits // 8}")
    elementwise(f"%r = arith.fpto{sign}i %x0 : {source} to i{bits}", [source], f"i{bits}")(a, out)
    low, high = (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) if sign == "s" else (0, 2**bits - 1)

    def expected(value: float) -> int:
        if math.isnan(value):
            return 0
        if math.isinf(value):
            return high if value > 0 else low
        return min(max(math.trunc(value), low), high)

    result = out if sign == "s" else out.view(f"u{bits // 8}")
    assert [int(v) for v in result] == [expected(float(v)) for v in a]


@pytest.mark.parametrize("target", ["f16", "bf16", "f32", "f64"])
@pytest.mark.parametrize("bits", WIDTHS)
@pytest.mark.parametrize("sign", ["s", "u"])
def test_integers_become_the_nearest_float(elementwise, target: str, bits: int, sign: str) -> None:
    dtype = {"f16": np.float16, "bf16": BF16, "f32": np.float32, "f64": np.float64}[target]
    a = np.array(edge_integers(bits), f"i{bits // 8}")
    out = np.empty(a.shape, dtype)
    elementwise(f"%r = arith.{sign}itofp %x0 : i{bits} to {target}", [f"i{bits}"], target)(a, out)
    source = a if sign == "s" else a.view(f"u{bits // 8}")
    with np.errstate(over="ignore"):
        expected = source.astype(dtype) if target in FLOATS else source.astype(np.float32).astype(dtype)
    np.testing.assert_array_equal(out, expected)


@pytest.mark.parametrize(
    ("op", "source", "target"),
    [("extsi", "i8", "i32"), ("extui", "i8", "i64"), ("trunci", "i64", "i16"), ("extui", "i1", "i8"),
     ("extsi", "i1", "i32"), ("trunci", "i32", "i1")],
)  # fmt: skip
def test_resizing_keeps_the_low_bits(elementwise, op: str, source: str, target: str) -> None:
    def numpy(kind: str) -> np.dtype:
        return np.dtype(bool if kind == "i1" else f"i{int(kind[1:]) // 8}")

    a = np.array([0, 1, 0, 1], bool) if source == "i1" else np.array(edge_integers(int(source[1:])), numpy(source))
    out = np.empty(a.shape, numpy(target))
    elementwise(f"%r = arith.{op} %x0 : {source} to {target}", [source], target)(a, out)
    if op == "extsi" and source == "i1":
        expected = -a.astype(np.int32)
    elif op == "extui":
        expected = (a if source == "i1" else a.view(np.uint8)).astype(numpy(target))
    else:
        expected = a & 1 if target == "i1" else a.astype(numpy(target))
    np.testing.assert_array_equal(out, expected)


def test_index_casts_sign_extend(elementwise) -> None:
    a = np.array([-1, 5, -(2**31)], np.int32)
    out = np.empty(3, np.int64)
    elementwise("%r = arith.index_cast %x0 : i32 to index", ["i32"], "index")(a, out)
    np.testing.assert_array_equal(out, a)


def test_bitcasts_keep_the_bits(elementwise) -> None:
    a = np.array(EDGE_FLOATS, np.float32)
    out = np.empty(a.shape, np.int32)
    elementwise("%r = arith.bitcast %x0 : f32 to i32", ["f32"], "i32")(a, out)
    np.testing.assert_array_equal(out, a.view(np.int32))
    half = np.array([1.5, -0.0, np.nan], np.float16)
    bits = np.empty(3, np.int16)
    elementwise("%r = arith.bitcast %x0 : f16 to i16", ["f16"], "i16")(half, bits)
    np.testing.assert_array_equal(bits, half.view(np.int16))


@pytest.mark.parametrize(("op", "wide"), [("mulsi_extended", np.int64), ("mului_extended", np.uint64)])
def test_extended_products_give_both_halves(elementwise_table, op: str, wide) -> None:
    a, b = pairs(32)
    source = (a, b) if wide is np.int64 else (a.view("u4"), b.view("u4"))
    product = source[0].astype(wide) * source[1].astype(wide)
    halves = {"%l": product.astype("u4"), "%h": (product >> wide(32)).astype("u4")}
    bodies = {
        half: f"%l, %h = arith.{op} %x0, %x1 : i32\n%z = arith.constant 0 : i32\n%r = arith.addi {half}, %z : i32"
        for half in halves
    }
    for half, expected in halves.items():
        out = np.empty_like(a)
        elementwise_table(bodies, half, ["i32", "i32"], "i32")(a, b, out)
        np.testing.assert_array_equal(out.view("u4"), expected)


def test_extended_sum_gives_the_carry(elementwise) -> None:
    a, b = pairs(8)
    out = np.empty(a.shape, bool)
    elementwise("%s, %r = arith.addui_extended %x0, %x1 : i8, i1", ["i8", "i8"], "i1")(a, b, out)
    np.testing.assert_array_equal(out, a.view("u1").astype(int) + b.view("u1") > 255)


def test_flags_on_operations_reach_llvm(compile_text) -> None:
    text = compile_text("""func.func @main(%a: f32, %i: i32) -> f32 {
      %x = arith.addf %a, %a fastmath<fast> : f32
      %y = arith.mulf %x, %a fastmath<nnan,contract> : f32
      %k = arith.addi %i, %i overflow<nsw, nuw> : i32
      %l = arith.addi %i, %k : i32
      %f = arith.sitofp %l : i32 to f32
      %z = arith.addf %y, %f : f32
      func.return %z : f32
    }""").source("llvm")
    assert "fadd afn arcp contract ninf nnan nsz reassoc float" in text
    assert "fmul contract nnan float" in text
    assert "add nsw nuw i32" in text
    assert "= add i32" in text


# constants


@given(st.floats(width=32) | st.sampled_from([float(2**-149), 3.4028234663852886e38]))
def test_float_constants_are_exact(value: float) -> None:
    from xdsl.dialects.builtin import f32

    from stepwell.backends.llvm.types import llvm_float_literal

    bits = int(llvm_float_literal(value, f32), 16).to_bytes(8, "big")
    np.testing.assert_array_equal(np.frombuffer(bits, ">f8")[0], value)


@pytest.mark.parametrize(
    ("kind", "literal", "value"),
    [("f32", "0.1", np.float32(0.1)), ("f64", "0.1", 0.1), ("f16", "0.1", float(np.float16(0.1))),
     ("bf16", "0.1", float(BF16(0.1))), ("i8", "-128", -128), ("i64", "-9223372036854775808", -(2**63)),
     ("i1", "true", True), ("f32", "0x7F800000", math.inf), ("index", "7", 7), ("i32", "2147483647", 2**31 - 1)],
)  # fmt: skip
def test_constants_come_back(compile_text, kind: str, literal: str, value) -> None:
    shown = literal if literal == "true" else f"{literal} : {kind}"
    lib = compile_text(f"func.func @main() -> {kind} {{ %r = arith.constant {shown}\n func.return %r : {kind} }}")
    assert lib() == value
    assert type(lib()) is type(value) or isinstance(value, np.floating)


def test_dense_constants_fill_vectors(elementwise) -> None:
    for literal, expected in (("dense<[1, -2, 3, 4]>", [1, -2, 3, 4]), ("dense<7>", [7] * 4)):
        out = np.empty(4, np.int32)
        body = f"%r = arith.constant {literal} : vector<4xi32>"
        elementwise(body, ["i32"], "i32", lanes=4)(np.zeros(4, np.int32), out)
        np.testing.assert_array_equal(out, expected)


def test_select_works_on_scalars_lanes_and_buffers(compile_text) -> None:
    lib = compile_text("""func.func @main(%c: i1, %a: memref<?xf32>, %b: memref<?xf32>) -> f32 {
      %m = arith.select %c, %a, %b : memref<?xf32>
      %c0 = arith.constant 0 : index
      %n = memref.dim %m, %c0 : memref<?xf32>
      %one = arith.constant 1 : index
      %last = arith.subi %n, %one : index
      %r = memref.load %m[%last] : memref<?xf32>
      func.return %r : f32
    }""")
    a, b = np.array([1, 2], np.float32), np.array([3, 4, 5], np.float32)
    assert (lib(True, a, b), lib(False, a, b)) == (2.0, 5.0)

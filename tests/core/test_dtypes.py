"""Data types: names, promotion and the types of literals, as in TVM 0.27."""

import itertools
import math

import ml_dtypes
import numpy as np
import pytest

from stepwell.core.dtypes import (
    FLOAT_FORMATS,
    SCALAR_DTYPES,
    DType,
    dtype_of,
    dtype_of_numpy,
    int_fits,
    literal_dtype,
    max_value,
    min_value,
    mlir_type,
    nearest_float,
    numpy_dtype,
    parse_dtype,
    preserves_int,
    promote,
    value_bounds,
    wrap_int,
)


@pytest.mark.parametrize("name", [*SCALAR_DTYPES, "float32x4", "boolx8", "uint8x16"])
def test_every_name_is_a_type_and_back(name: str):
    dtype = parse_dtype(name)
    assert dtype.name == name
    assert dtype_of(mlir_type(dtype)) == dtype


@pytest.mark.parametrize(
    ("old", "name"),
    [("boolean", "bool"), ("e4m3_float8", "float8_e4m3fn"), ("e5m2_float8x4", "float8_e5m2x4")],
)
def test_old_names_are_read(old: str, name: str):
    assert parse_dtype(old).name == name


@pytest.mark.parametrize("name", SCALAR_DTYPES)
def test_names_and_limits_are_those_of_numpy(name: str):
    kind, dtype = parse_dtype(name), numpy_dtype(name)
    assert dtype.name == name
    assert dtype_of_numpy(dtype) == kind
    assert kind.bytes == dtype.itemsize
    if not kind.is_bool:
        limits = (ml_dtypes.finfo if kind.is_float else ml_dtypes.iinfo)(dtype)
        assert (min_value(kind), max_value(kind)) == (limits.min, limits.max)


def values_of(name: str) -> set[str]:
    dtype = numpy_dtype(name)
    bits = np.arange(2 ** FLOAT_FORMATS[name].bits, dtype=f"u{dtype.itemsize}")
    with np.errstate(invalid="ignore"):
        return {repr(number) for number in bits.view(dtype).astype("float64").tolist()}


def test_a_format_holds_another_one_if_it_has_all_of_its_values():
    known = {name: values_of(name) for name, known in FLOAT_FORMATS.items() if known.bits <= 16}
    for wide, narrow in itertools.product(known, repeat=2):
        assert FLOAT_FORMATS[wide].represents(FLOAT_FORMATS[narrow]) == (known[narrow] <= known[wide]), (wide, narrow)


@pytest.mark.parametrize("name", [name for name, known in FLOAT_FORMATS.items() if known.bits <= 16])
def test_integers_that_a_type_holds_are_exact(name: str):
    with np.errstate(all="ignore"):
        wrong = [n for n in range(600) if any(float(numpy_dtype(name).type(m)) != m for m in (n, -n))]
    held = [n for n in range(-599, 600) if preserves_int(parse_dtype(name), n)]
    assert all(abs(number) < min(wrong, default=600) for number in held)
    assert preserves_int(parse_dtype(name), 0) == FLOAT_FORMATS[name].semantics.has_zero


def test_extremes_are_the_infinities_where_there_are_some():
    assert value_bounds(parse_dtype("float8_e5m2")) == (-math.inf, math.inf)
    assert value_bounds(parse_dtype("float8_e4m3fn")) == (-448.0, 448.0)
    assert value_bounds(parse_dtype("uint4")) == (0, 15)


@pytest.mark.parametrize(
    ("value", "name", "expected"),
    [
        (0.3, "float8_e5m2", 0.3125),
        (464.0, "float8_e4m3fn", 448.0),
        (465.0, "float8_e4m3fn", None),
        (math.inf, "float8_e4m3fn", None),
        (math.inf, "float8_e5m2", math.inf),
        (0.0, "float8_e8m0fnu", None),
        (-1.0, "float8_e8m0fnu", None),
        (math.nan, "float4_e2m1fn", None),
        (1e9, "float4_e2m1fn", 6.0),
        (65520.0, "float16", None),
        (3.4e38, "bfloat16", None),
    ],
)
def test_a_number_has_a_nearest_one_or_is_out_of_range(value: float, name: str, expected: float | None):
    assert nearest_float(value, parse_dtype(name)) == expected


def test_floats_of_one_width_do_not_meet():
    with pytest.raises(ValueError, match="cannot combine float8_e4m3fn and float8_e5m2: convert one of them"):
        promote(parse_dtype("float8_e4m3fn"), parse_dtype("float8_e5m2"))


@pytest.mark.parametrize("name", ["float8", "integer", "uint128", "int32x0", "float32x", "", "handle"])
def test_an_unknown_name_is_refused(name: str):
    with pytest.raises(ValueError, match="unknown dtype"):
        parse_dtype(name)


@pytest.mark.parametrize(
    ("lhs", "rhs", "expected"),
    [
        ("bool", "bool", "bool"),
        ("bool", "int8", "int8"),
        ("bool", "uint64", "uint64"),
        ("bool", "float16", "float16"),
        ("int8", "int32", "int32"),
        ("int8", "uint8", "uint8"),
        ("int16", "uint8", "int16"),
        ("int32", "uint32", "uint32"),
        ("int32", "uint64", "uint64"),
        ("int64", "uint32", "int64"),
        ("uint8", "uint16", "uint16"),
        ("int64", "float16", "float16"),
        ("uint64", "bfloat16", "bfloat16"),
        ("float16", "bfloat16", "float16"),
        ("bfloat16", "float32", "float32"),
        ("float32", "float64", "float64"),
        ("int32", "float8_e5m2", "float8_e5m2"),
        ("float8_e5m2", "bfloat16", "bfloat16"),
        ("float4_e2m1fn", "float8_e4m3fn", "float8_e4m3fn"),
        ("int4", "int8", "int8"),
        ("int4", "uint4", "uint4"),
        ("bool", "uint2", "uint2"),
        ("int32", "int64x4", "int64x4"),
        ("int32x4", "float32", "float32x4"),
        ("int32x4", "float32x4", "float32x4"),
    ],
)
def test_two_operands_meet_in_one_type_whatever_their_order(lhs: str, rhs: str, expected: str):
    a, b = parse_dtype(lhs), parse_dtype(rhs)
    assert promote(a, b).name == expected
    assert promote(b, a).name == expected


def test_vectors_of_different_lengths_do_not_meet():
    with pytest.raises(ValueError, match="cannot combine int32x4 and int32x8: 4 lanes against 8"):
        promote(parse_dtype("int32x4"), parse_dtype("int32x8"))


@pytest.mark.parametrize(
    ("value", "expected"), [(True, "bool"), (1, "int32"), (-(2**31), "int32"), (2**31, "int64"), (1.5, "float32")]
)
def test_a_literal_alone_is_an_int32_or_float32(value: bool | int | float, expected: str):
    assert literal_dtype(value).name == expected


@pytest.mark.parametrize(
    ("value", "other", "expected"),
    [
        (2, "int8", "int32"),
        (200, "int8", "int32"),
        (-1, "uint8", "int32"),
        (1, "int64", "int64"),
        (5, "uint64", "uint64"),
        (5000000000, "int32", "int64"),
        (1, "bool", "int32"),
        (2, "float16", "float16"),
        (2, "bfloat16", "bfloat16"),
        (2, "float32", "float32"),
        (1.5, "int32", "float32"),
        (1.5, "int64", "float32"),
        (1.5, "bool", "float32"),
        (1.5, "float16", "float32"),
        (2, "float8_e4m3fn", "float8_e4m3fn"),
        (1.5, "float8_e4m3fn", "float32"),
        (2, "int4", "int32"),
        (1.5, "bfloat16", "float32"),
        (0.1, "float64", "float64"),
        (True, "int8", "int8"),
        (True, "float32", "float32"),
        (2, "int64x4", "int64"),
    ],
)
def test_a_literal_beside_an_operand_has_the_type_that_both_become(
    value: bool | int | float, other: str, expected: str
):
    assert literal_dtype(value, parse_dtype(other)).name == expected


@pytest.mark.parametrize(
    ("value", "other", "expected"),
    [(1, "int8", "int8"), (200, "int8", "int32"), (1, "bool", "bool"), (2, "bool", "int32"), (3, "uint16", "uint16")],
)
def test_a_literal_of_a_bitwise_operator_takes_the_type_beside_it_if_it_fits(value: int, other: str, expected: str):
    assert literal_dtype(value, parse_dtype(other), bitwise=True).name == expected


def test_integers_wrap_at_their_width():
    assert wrap_int(200, parse_dtype("int8")) == -56
    assert wrap_int(-1, parse_dtype("uint16")) == 65535
    assert wrap_int(-(2**63) - 1, parse_dtype("int64")) == 2**63 - 1
    assert wrap_int(3, DType("bool", 1)) == 1


def test_limits_are_the_largest_and_smallest_finite_values():
    assert (min_value(parse_dtype("int8")), max_value(parse_dtype("int8"))) == (-128, 127)
    assert (min_value(parse_dtype("bool")), max_value(parse_dtype("bool"))) == (0, 1)
    assert max_value(parse_dtype("float16")) == 65504.0
    assert max_value(parse_dtype("bfloat16")) == float.fromhex("0x1.fep127")
    assert min_value(parse_dtype("float32")) == -float.fromhex("0x1.fffffep127")
    assert int_fits(255, parse_dtype("uint8"))
    assert not int_fits(256, parse_dtype("uint8"))

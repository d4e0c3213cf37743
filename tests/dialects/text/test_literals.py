"""Numbers, strings and attributes as text."""

import numpy as np
import pytest
from xdsl.dialects.builtin import AffineMapAttr, StringAttr, UnitAttr, f64, i8
from xdsl.ir.affine import AffineMap

from stepwell.core.dtypes import numpy_dtype, parse_dtype
from stepwell.core.errors import UnsupportedError
from stepwell.dialects.text.literals import (
    attribute_literal,
    dictionary_literal,
    float_digits,
    number_literal,
    string_literal,
    type_text,
)
from stepwell.dialects.text.styles import CLASSIC, TODAY
from stepwell.dialects.tir import HandleType


@pytest.mark.parametrize(
    ("value", "dtype", "text"),
    [
        (0.0, "float32", "0.0"),
        (-0.0, "float32", "-0.0"),
        (3.0, "float32", "3.0"),
        (1e-5, "float32", "1.0000000000000001e-05"),
        (float(np.float32(5 / 9)), "float32", "0.55555558204650879"),
        (float(np.float32(1e11)), "float32", "100000000000.0"),
        (float(np.finfo(np.float32).min), "float32", "-340282346638528859811704183484516925440.0"),
        (float(np.finfo(np.float32).smallest_subnormal), "float32", "9.9999999999999998e-46"),
        (0.1, "float64", "0.10000000000000001"),
        (1e300, "float64", "1.0000000000000001e+300"),
        (float(np.float16(0.1)), "float16", "0.10000000000000001"),
        (65504.0, "float16", "65504.0"),
    ],
)
def test_floats_have_the_digits_that_tvm_prints(value: float, dtype: str, text: str):
    rounded = float(numpy_dtype(dtype).type(value))
    assert float_digits(rounded, parse_dtype(dtype)) == text
    assert float(numpy_dtype(dtype).type(float(text))) == rounded


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
def test_digits_read_back_as_the_same_number(dtype: str):
    type = numpy_dtype(dtype)
    bits = np.random.default_rng(0).integers(0, 2 ** (8 * type.itemsize), 2000, dtype=f"uint{8 * type.itemsize}")
    for value in bits.view(type).tolist():
        if np.isfinite(value):
            text = float_digits(float(value), parse_dtype(dtype))
            assert type.type(float(text)) == type.type(value)


@pytest.mark.parametrize(
    ("value", "dtype", "text"),
    [
        (3, "int32", "3"),
        (-3, "int32", "-3"),
        (3, "int64", "T.int64(3)"),
        (255, "uint8", "T.uint8(255)"),
        (1, "bool", "T.bool(True)"),
        (float("inf"), "float32", 'T.float32("inf")'),
        (float("-inf"), "float16", 'T.float16("-inf")'),
        (float("nan"), "float64", 'T.float64("nan")'),
        (0, "int32x4", "T.Broadcast(0, 4)"),
        (2**64 - 1, "uint64", "T.uint64(18446744073709551615)"),
    ],
)
def test_a_number_says_its_type_unless_it_is_an_int32(value: int | float, dtype: str, text: str):
    assert number_literal(value, parse_dtype(dtype), CLASSIC) == text


def test_numbers_that_tvm_0_27_cannot_write_are_made_from_others():
    assert number_literal(2**64 - 1, parse_dtype("uint64"), TODAY) == 'T.Cast("uint64", T.int64(-1))'
    assert (
        number_literal(1e300, parse_dtype("float64"), TODAY) == 'T.reinterpret("float64", T.int64(9094988921128908188))'
    )


def test_strings_are_quoted_so_that_python_reads_them():
    assert string_literal('a"b\\c\nd') == r'"a\"b\\c\nd"'


def test_keys_are_sorted_and_spelled_for_their_reader():
    items = {"tir.noalias": UnitAttr(), "a": StringAttr("x")}
    assert dictionary_literal(items, CLASSIC) == '{"a": "x", "tir.noalias": True}'
    assert dictionary_literal(items, TODAY) == '{"a": "x", "tirx.noalias": True}'


def test_the_type_of_a_pointer_names_its_element_type():
    assert type_text(HandleType(), CLASSIC) == "T.handle"
    assert type_text(HandleType(i8), CLASSIC) == 'T.handle("int8")'
    assert type_text(HandleType(f64, "shared"), CLASSIC) == 'T.handle("float64", "shared")'
    assert type_text(HandleType(i8), TODAY) == 'T.handle("int8", "global")'


def test_an_attribute_without_a_form_is_refused():
    with pytest.raises(UnsupportedError, match="TVMScript has no way to write the attribute affine_map"):
        attribute_literal(AffineMapAttr(AffineMap.identity(2)), CLASSIC)

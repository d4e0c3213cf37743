"""Types of at most a byte: round trips through TVMScript and MLIR text."""

import pytest

from stepwell import parse_mlir, parse_tvmscript
from stepwell.core.dtypes import SMALL_FLOATS
from stepwell.core.errors import ParseError
from stepwell.dialects.text import STYLES

NAMES = [*SMALL_FLOATS, "int2", "uint2", "int4", "uint4"]


def program(name: str) -> str:
    return f"""@T.prim_func
def main(A: T.Buffer((8,), "{name}"), B: T.Buffer((8,), "{name}"), x: T.{name}, C: T.Buffer((8,), "float32")):
    L = T.alloc_buffer((8,), "{name}")
    for i in range(8):
        L[i] = T.max(A[i] * x, T.{name}(1))
        C[i] = T.Cast("float32", A[i] + L[i]) + T.Cast("float32", T.Cast("{name}", i))
    B[T.Ramp(0, 1, 8)] = T.Cast("{name}x8", T.Broadcast(T.float32(1.0), 8)) + A[T.Ramp(0, 1, 8)]
"""


@pytest.mark.parametrize("name", NAMES)
def test_programs_are_printed_and_read_again(name: str) -> None:
    mod = parse_tvmscript(program(name))
    mod.verify()
    for style in STYLES:
        text = mod.script(style=style)
        assert f'"{name}"' in text
        assert parse_tvmscript(text).script(style=style) == text
    assert str(parse_mlir(str(mod))) == str(mod)


@pytest.mark.parametrize(("old", "name"), [("e4m3_float8", "float8_e4m3fn"), ("e5m2_float8", "float8_e5m2")])
def test_old_names_are_read(old: str, name: str) -> None:
    assert parse_tvmscript(program(old)).script() == parse_tvmscript(program(name)).script()


@pytest.mark.parametrize(
    ("literal", "message"),
    [
        ("T.float8_e4m3fn(1000.0)", "1000.0 does not fit float8_e4m3fn"),
        ('T.float8_e4m3fn("inf")', "'inf' is not a number of type float8_e4m3fn"),
        ("T.float8_e8m0fnu(0.0)", "0.0 does not fit float8_e8m0fnu"),
        ("T.int4(8)", "8 does not fit int4"),
        ("T.uint2(-1)", "-1 does not fit uint2"),
        ("T.float8_e4m3(1.0) + T.float8_e5m2(1.0)", "cannot combine float8_e4m3 and float8_e5m2"),
        ("T.float8_e5m3(1.0)", "unknown name 'T.float8_e5m3', did you mean"),
    ],
)
def test_what_does_not_fit_is_an_error_at_its_place(literal: str, message: str) -> None:
    text = f"@T.prim_func\ndef main(A: T.Buffer((1,), 'float32')):\n    A[0] = T.Cast('float32', {literal})\n"
    with pytest.raises(ParseError, match=message) as info:
        parse_tvmscript(text)
    assert ":3:" in str(info.value)

"""`expand-math`: floats that are rounded, and become small integers."""

from functools import cache
from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from stepwell import build
from stepwell.core.dtypes import int_range, parse_dtype
from stepwell.frontends.tvmscript import parse_tvmscript
from stepwell.tools.testing.comparison import assert_same
from stepwell.tools.testing.execution import oracle_results, results

SPECIAL = [0.0, -0.0, np.inf, -np.inf, np.nan, 1e38, -1e38, 1e-40, 2.0**31, -(2.0**31), 2.0**24 + 2, 2.0**23 + 1]
NEAR = [0, 5, 128, 256, 300, 32768, 40000, 65536]
PROGRAM = """
@T.prim_func
def main(A: T.Buffer(({count},), "float32"), B: T.Buffer(({count},), "{dtype}")):
    for i in T.{kind}({count}):
        B[i] = T.Cast("{dtype}", {value})
"""


@cache
def numbers() -> Any:
    """Special numbers, and halves near the bounds of integers, with their neighbours."""
    halves = np.array([sign * n + half / 2 for n in NEAR for sign in (1, -1) for half in range(-2, 3)], "float32")
    near = [np.nextafter(halves, np.float32(bound)) for bound in (-np.inf, np.inf)]
    return np.concatenate([np.array(SPECIAL, "float32"), halves, *near])


@st.composite
def conversions(draw: st.DrawFn) -> tuple[str, str]:
    """A rounded number with an offset and bounds, as text, and the data type that it is converted to."""
    dtype = draw(st.sampled_from(["uint8", "int8", "int16", "uint16"]))
    low, high = int_range(parse_dtype(dtype))
    value = "T.nearbyint(A[i])"
    offset = draw(st.sampled_from([None, 0, 1, 3, -7, 120, -128, 40000]))
    if offset is not None:
        value = draw(st.sampled_from([f"{value} + T.float32({offset})", f"T.float32({offset}) + {value}"]))
    for _ in range(draw(st.integers(0, 3))):
        bound = draw(st.sampled_from([low, high, low - 1, high + 1, 0, 5, -5, low + 1, high - 1, 300]))
        word, pair = draw(st.sampled_from(["min", "max"])), [value, f"T.float32({bound})"]
        value = f"T.{word}({', '.join(draw(st.permutations(pair)))})"
    return value, dtype


@given(conversion=conversions(), kind=st.sampled_from(["vectorized", "serial"]))
def test_the_integers_are_those_of_the_conversion(conversion: tuple[str, str], kind: str) -> None:
    value, dtype = conversion
    x = numbers()
    module = parse_tvmscript(PROGRAM.format(count=len(x), dtype=dtype, value=value, kind=kind))
    arguments = {"A": x, "B": np.zeros(len(x), dtype)}
    remarks = list[str]()
    main = build(module, remarks=lambda remark: remarks.append(str(remark)))["main"]
    assert any("a sum, which is rounded" in remark for remark in remarks), remarks
    assert_same(results(main, arguments), oracle_results(module, arguments))

"""Arithmetic that Python lacks, on the values of generated code.

A value of any float type is a Python float that the type can represent; integers are Python integers in the range of
their type; bools are Python bools. Rounding is `f32(x).value`, `f16(x)`, `bf16(x)`, `f8e4m3fn(x)`, ...; the bits of a
value are `f16_bits(x)`, and the value of bits is `F16[bits]`.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Mapping, Sequence
from ctypes import c_float as f32
from fractions import Fraction
from typing import Any

import ml_dtypes
import numpy as np

from ...core.dtypes import FLOAT_FORMATS, DType, mlir_type, numpy_dtype, parse_dtype, wrap_int

_DOUBLE, _QUAD = struct.Struct("=f"), struct.Struct("=I")
_HALF, _BITS = struct.Struct("=e"), struct.Struct("=H")


def short_name(dtype: str) -> str | None:
    """The name of a type whose memory holds encoded bits, not values: as in MLIR, in lower case. These are floats of at
    most 16 bits and integers of less than 8; None for any other type.
    """
    kind = parse_dtype(dtype)
    is_decoded = kind.bits <= 16 if kind.is_float else kind.bits < 8 and kind.is_int
    return str(mlir_type(kind)).lower() if is_decoded else None


def _decode_table(dtype: Any) -> list[float]:
    bits = f"u{np.dtype(dtype).itemsize}"
    return np.arange(np.iinfo(bits).max + 1, dtype=bits).view(dtype).astype(np.float64).tolist()


with np.errstate(all="ignore"):
    F16 = _decode_table(np.float16)
    """The value of each bit pattern of a float16."""
    BF16 = _decode_table(ml_dtypes.bfloat16)
    """The value of each bit pattern of a bfloat16."""


def f16_bits(x: float) -> int:
    """The bits of the float16 nearest to `x`."""
    try:
        return _BITS.unpack(_HALF.pack(x))[0]
    except OverflowError:
        return 0x7C00 if x > 0 else 0xFC00


def f16(x: float) -> float:
    """`x` rounded to float16."""
    try:
        return _HALF.unpack(_HALF.pack(x))[0]
    except OverflowError:
        return math.copysign(math.inf, x)


def bf16_bits(x: float) -> int:
    """The bits of the bfloat16 nearest to `x`."""
    near = f32(x).value
    bits = _QUAD.unpack(_DOUBLE.pack(near))[0]
    if near != x:
        if x != x:
            return bits >> 16 | 0x40
        bits = bits - (abs(near) > abs(x)) | 1  # rounded to odd: a second rounding is then exact
    return bits + 0x7FFF + (bits >> 16 & 1) >> 16


def bf16(x: float) -> float:
    """`x` rounded to bfloat16."""
    return BF16[bf16_bits(x)]


def _f32(x: float) -> float:
    return f32(x).value


def _small_float(name: str) -> tuple[Callable[[float], float], Callable[[float], int], list[float]]:
    """The rounding to a float type of at most 8 bits, the bits of the nearest value, and the value of each byte."""
    dtype = numpy_dtype(name)
    # A value computed in f32 may underflow to 0. For a type with a zero, a single rounding yields 0 as well.
    exact = float if FLOAT_FORMATS[name].semantics.has_zero else _f32

    def nearest(x: float) -> float:
        return float(dtype.type(exact(x)))

    def bits(x: float) -> int:
        return int(np.asarray(dtype.type(exact(x))).view(np.uint8))

    return nearest, bits, _decode_table(dtype)


def _small_integer(name: str) -> tuple[Callable[[int], int], list[int]]:
    """The bits of an integer of a type of less than 8 bits, and the value of each byte."""
    dtype = parse_dtype(name)
    return lambda x: x % 2**dtype.bits, [wrap_int(byte, dtype) for byte in range(256)]


with np.errstate(all="ignore"):
    f4e2m1fn, f4e2m1fn_bits, F4E2M1FN = _small_float("float4_e2m1fn")
    f6e2m3fn, f6e2m3fn_bits, F6E2M3FN = _small_float("float6_e2m3fn")
    f6e3m2fn, f6e3m2fn_bits, F6E3M2FN = _small_float("float6_e3m2fn")
    f8e3m4, f8e3m4_bits, F8E3M4 = _small_float("float8_e3m4")
    f8e4m3, f8e4m3_bits, F8E4M3 = _small_float("float8_e4m3")
    f8e4m3b11fnuz, f8e4m3b11fnuz_bits, F8E4M3B11FNUZ = _small_float("float8_e4m3b11fnuz")
    f8e4m3fn, f8e4m3fn_bits, F8E4M3FN = _small_float("float8_e4m3fn")
    f8e4m3fnuz, f8e4m3fnuz_bits, F8E4M3FNUZ = _small_float("float8_e4m3fnuz")
    f8e5m2, f8e5m2_bits, F8E5M2 = _small_float("float8_e5m2")
    f8e5m2fnuz, f8e5m2fnuz_bits, F8E5M2FNUZ = _small_float("float8_e5m2fnuz")
    f8e8m0fnu, f8e8m0fnu_bits, F8E8M0FNU = _small_float("float8_e8m0fnu")

i2_bits, I2 = _small_integer("int2")
i4_bits, I4 = _small_integer("int4")
ui2_bits, UI2 = _small_integer("uint2")
ui4_bits, UI4 = _small_integer("uint4")

_ROUND: Mapping[str, Callable[[float], float]] = {
    "float64": float,
    "float32": _f32,
    "float16": f16,
    "bfloat16": bf16,
    "float4_e2m1fn": f4e2m1fn,
    "float6_e2m3fn": f6e2m3fn,
    "float6_e3m2fn": f6e3m2fn,
    "float8_e3m4": f8e3m4,
    "float8_e4m3": f8e4m3,
    "float8_e4m3b11fnuz": f8e4m3b11fnuz,
    "float8_e4m3fn": f8e4m3fn,
    "float8_e4m3fnuz": f8e4m3fnuz,
    "float8_e5m2": f8e5m2,
    "float8_e5m2fnuz": f8e5m2fnuz,
    "float8_e8m0fnu": f8e8m0fnu,
}

DECODE: Mapping[str, Sequence[Any]] = {
    "float16": F16,
    "bfloat16": BF16,
    "float4_e2m1fn": F4E2M1FN,
    "float6_e2m3fn": F6E2M3FN,
    "float6_e3m2fn": F6E3M2FN,
    "float8_e3m4": F8E3M4,
    "float8_e4m3": F8E4M3,
    "float8_e4m3b11fnuz": F8E4M3B11FNUZ,
    "float8_e4m3fn": F8E4M3FN,
    "float8_e4m3fnuz": F8E4M3FNUZ,
    "float8_e5m2": F8E5M2,
    "float8_e5m2fnuz": F8E5M2FNUZ,
    "float8_e8m0fnu": F8E8M0FNU,
    "int2": I2,
    "int4": I4,
    "uint2": UI2,
    "uint4": UI4,
}
"""The value of each bit pattern of a type with a short name."""

ENCODE: Mapping[str, Callable[[Any], int]] = {
    "float16": f16_bits,
    "bfloat16": bf16_bits,
    "float4_e2m1fn": f4e2m1fn_bits,
    "float6_e2m3fn": f6e2m3fn_bits,
    "float6_e3m2fn": f6e3m2fn_bits,
    "float8_e3m4": f8e3m4_bits,
    "float8_e4m3": f8e4m3_bits,
    "float8_e4m3b11fnuz": f8e4m3b11fnuz_bits,
    "float8_e4m3fn": f8e4m3fn_bits,
    "float8_e4m3fnuz": f8e4m3fnuz_bits,
    "float8_e5m2": f8e5m2_bits,
    "float8_e5m2fnuz": f8e5m2fnuz_bits,
    "float8_e8m0fnu": f8e8m0fnu_bits,
    "int2": i2_bits,
    "int4": i4_bits,
    "uint2": ui2_bits,
    "uint4": ui4_bits,
}
"""The function from a number to the bits of the nearest value of a type with a short name."""


def round_to(dtype: DType, x: float) -> float:
    """`x` rounded to a float type."""
    return _ROUND[dtype.scalar.name](x)


# Conversions


def int_to_f32(i: int) -> float:
    """The float32 nearest to an integer of any size."""
    if -(1 << 53) <= i <= 1 << 53:
        return f32(i).value
    # Keep 53 bits, the last of which is sticky.
    shift = i.bit_length() - 53
    kept = (abs(i) >> shift | bool(abs(i) & (1 << shift) - 1)) << shift
    return f32(kept if i > 0 else -kept).value


def to_int(x: float, low: int, high: int) -> int:
    """A float truncated to an integer in [low, high]; NaN is 0."""
    if x != x:
        return 0
    if x <= low:
        return low
    return high if x >= high else int(x)


def reinterpret(lanes: Sequence[Any], source: str, target: str) -> list[Any]:
    """The bits of values of one type as values of another."""
    array = np.array(lanes, numpy_dtype(source)).view(numpy_dtype(target))
    return (array.astype(np.float64) if parse_dtype(target).is_float else array).tolist()


# Integers


def trunc_div(a: int, b: int) -> int:
    """`a / b` towards zero."""
    q = abs(a) // abs(b)
    return q if (a < 0) == (b < 0) else -q


def trunc_mod(a: int, b: int) -> int:
    """`a - trunc_div(a, b) * b`, with the sign of a."""
    r = abs(a) % abs(b)
    return -r if a < 0 else r


def trailing_zeros(a: int, bits: int) -> int:
    return (a & -a).bit_length() - 1 if a else bits


def int_power(base: int, power: int) -> int:
    """`base ** power` on integers, truncated if the power is negative."""
    if power >= 0:
        return base**power
    return base if base == 1 or (base == -1 and power % 2) else int(base == -1)


def q_multiply_shift(x: int, y: int, q: int, s: int) -> int:
    """`x * y * 2**(s - q)`, rounded half up: the product of two fixed-point numbers with q fractional
    bits, shifted left by s.
    """
    right = q + max(-s, 0)
    product = (x << max(s, 0)) * y
    return product + (1 << right - 1) >> right if right > 0 else product


# Floats: IEEE results where `math` raises an error


def divide(a: float, b: float) -> float:
    try:
        return a / b
    except ZeroDivisionError:
        if a != a or a == 0:
            return math.nan
        return math.copysign(math.inf, a) * math.copysign(1.0, b)


def _total(function: Callable[..., float], ieee: Callable[..., Any]) -> Callable[..., float]:
    """`function`, or numpy's `ieee` where `function` raises an error."""

    def total(*args: float) -> float:
        try:
            return function(*args)
        except (ValueError, OverflowError):
            with np.errstate(all="ignore"):
                return float(ieee(*args))

    return total


acos = _total(math.acos, np.arccos)
acosh = _total(math.acosh, np.arccosh)
asin = _total(math.asin, np.arcsin)
asinh = _total(math.asinh, np.arcsinh)
atan = _total(math.atan, np.arctan)
atan2 = _total(math.atan2, np.arctan2)
atanh = _total(math.atanh, np.arctanh)
cbrt = _total(math.cbrt, np.cbrt)
copysign = math.copysign
cos = _total(math.cos, np.cos)
cosh = _total(math.cosh, np.cosh)
erf = math.erf
erfc = math.erfc
exp = _total(math.exp, np.exp)
exp2 = _total(math.exp2, np.exp2)
expm1 = _total(math.expm1, np.expm1)
fabs = math.fabs
fmod = _total(math.fmod, np.fmod)
hypot = _total(math.hypot, np.hypot)
log = _total(math.log, np.log)
log10 = _total(math.log10, np.log10)
log1p = _total(math.log1p, np.log1p)
log2 = _total(math.log2, np.log2)
power = _total(math.pow, np.power)
sin = _total(math.sin, np.sin)
sinh = _total(math.sinh, np.sinh)
sqrt = _total(math.sqrt, np.sqrt)
tan = _total(math.tan, np.tan)
tanh = math.tanh
inf, nan = math.inf, math.nan
isnan, isinf, isfinite = math.isnan, math.isinf, math.isfinite


def exp10(x: float) -> float:
    return power(10.0, x)


def rsqrt(x: float) -> float:
    return divide(1.0, sqrt(x))


def sigmoid(x: float) -> float:
    return divide(1.0, 1.0 + exp(-x))


def floor(x: float) -> float:
    return math.copysign(math.floor(x), x) if math.isfinite(x) else x


def ceil(x: float) -> float:
    return math.copysign(math.ceil(x), x) if math.isfinite(x) else x


def trunc(x: float) -> float:
    return math.copysign(math.trunc(x), x) if math.isfinite(x) else x


def round_even(x: float) -> float:
    """Rounds to the nearest integer, half to even."""
    return math.copysign(round(x), x) if math.isfinite(x) else x


def round_away(x: float) -> float:
    """Rounds to the nearest integer, half away from zero."""
    whole = trunc(x)
    return math.copysign(abs(whole) + 1, x) if abs(x - whole) >= 0.5 else whole


def ldexp(x: float, exponent: int) -> float:
    try:
        return math.ldexp(x, exponent)
    except OverflowError:
        return math.copysign(math.inf, x)


def next_after(x: float, y: float, dtype: str) -> float:
    """The neighbour of `x` towards `y` among the numbers of a float type; `y` itself if the two are equal, as in C."""
    if x == y:  # zeros of two signs, for which numpy returns `x` on float16
        return y
    scalar = numpy_dtype(dtype).type
    with np.errstate(all="ignore"):
        return float(np.nextafter(scalar(x), scalar(y)))


def _signed_less(a: float, b: float) -> bool:
    return a < b or (a == b and math.copysign(1.0, a) < math.copysign(1.0, b))


def minimum(a: float, b: float) -> float:
    """The lesser of two numbers, -0 below 0; NaN if either is NaN."""
    if a != a or b != b:
        return math.nan
    return a if _signed_less(a, b) else b


def maximum(a: float, b: float) -> float:
    """The greater of two numbers, -0 below 0; NaN if either is NaN."""
    if a != a or b != b:
        return math.nan
    return b if _signed_less(a, b) else a


def min_num(a: float, b: float) -> float:
    """The lesser of two numbers, -0 below 0; the other number if one is NaN."""
    return b if a != a else a if b != b else minimum(a, b)


def max_num(a: float, b: float) -> float:
    """The greater of two numbers, -0 below 0; the other number if one is NaN."""
    return b if a != a else a if b != b else maximum(a, b)


def _sum_to_odd(p: float, c: float) -> float:
    """`p + c`, rounded so that a further rounding to fewer bits gives the rounding of the exact sum: an inexact result
    has an odd last bit. Source: S. Boldo, G. Melquiond, "Emulation of FMA and correctly rounded sums: proved algorithms
    using rounding to odd", IEEE Transactions on Computers 57(4), 2008."""
    near = p + c
    of_c = near - p
    error = (p - (near - of_c)) + (c - of_c)
    if not error or struct.unpack("=Q", struct.pack("=d", near))[0] & 1:
        return near
    return math.nextafter(near, math.inf if error > 0 else -math.inf)


def fma(a: float, b: float, c: float, dtype: str) -> float:
    """`a * b + c` rounded once to f32 and f64; to f64 and then to f16 and bf16."""
    plain = a * b + c
    if not (math.isfinite(a) and math.isfinite(b) and math.isfinite(c)):
        return plain
    if dtype == "float32":
        return f32(_sum_to_odd(a * b, c)).value  # the product is exact in 53 bits
    if dtype != "float64":
        return _ROUND[dtype](plain)  # likewise
    exact = Fraction(a) * Fraction(b) + Fraction(c)
    if not exact:
        return plain
    try:
        return float(exact)
    except OverflowError:
        return math.inf if exact > 0 else -math.inf

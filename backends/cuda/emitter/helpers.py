"""Helper functions in CUDA C++ for operations that the language leaves undefined. A module contains those it calls.

`NAME_TYPE`: the types are i8 .. i64, f32 and f64. All functions are defined for every argument. `extend_DTYPE` and
`round_DTYPE` are the conversions of floats of at most a byte, represented by their bits, from and to `float`.
`atomic_minimum_DTYPE` and `atomic_maximum_DTYPE` store the extreme in memory and return the previous value.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ....core.dtypes import SMALL_FLOATS, parse_dtype
from ....core.errors import UnsupportedError
from ....core.intervals import signed_range
from .expression import INTEGERS, UNSIGNED, integer_literal
from .names import PREFIX
from .products import PREFIX_OF_MATRICES, PREFIX_OF_PRODUCT, matrices_text, product_text
from .types import BFLOAT, HALF

_HEAD = "static __device__ __forceinline__ "


_BODIES: Mapping[str, str] = {
    "div": "({t} a, {t} b) {{\n  return b == 0 ? 0 : b == -1 ? ({t})(0 - ({u})a) : ({t})(a / b);\n}}",
    "rem": "({t} a, {t} b) {{\n  return b == 0 || b == -1 ? 0 : ({t})(a % b);\n}}",
    "divu": "({t} a, {t} b) {{\n  return b == 0 ? 0 : ({t})(({u})a / ({u})b);\n}}",
    "remu": "({t} a, {t} b) {{\n  return b == 0 ? 0 : ({t})(({u})a % ({u})b);\n}}",
    "floordiv": """({t} a, {t} b) {{
  const {t} q = {p}div_i{n}(a, b), r = {p}rem_i{n}(a, b);
  return r != 0 && (r < 0) != (b < 0) ? ({t})(q - 1) : q;
}}""",
    "ceildiv": """({t} a, {t} b) {{
  const {t} q = {p}div_i{n}(a, b), r = {p}rem_i{n}(a, b);
  return r != 0 && (r < 0) == (b < 0) ? ({t})(q + 1) : q;
}}""",
    "ceildivu": """({t} a, {t} b) {{
  return b == 0 ? 0 : ({t})(({u})a / ({u})b + (({u})a % ({u})b != 0 ? 1 : 0));
}}""",
    "shl": "({t} a, {t} b) {{\n  return ({u})b < {n} ? ({t})(({u})a << b) : 0;\n}}",
    "shru": "({t} a, {t} b) {{\n  return ({u})b < {n} ? ({t})(({u})a >> b) : 0;\n}}",
    "shrs": "({t} a, {t} b) {{\n  return ({t})(a >> (({u})b < {n} ? b : {n} - 1));\n}}",
    "abs": "({t} a) {{\n  return a < 0 ? ({t})(0 - ({u})a) : a;\n}}",
    "cttz": "({t} a) {{\n  return a == 0 ? {n} : ({t})(__ffsll(({u})a) - 1);\n}}",
    "powi": """({t} base, {t} power) {{
  if (power < 0) {{
    return base == 1 ? 1 : base == -1 ? ((power & 1) != 0 ? -1 : 1) : 0;
  }}
  unsigned long long square = base, result = 1;
  for ({u} rest = power; rest != 0; rest >>= 1) {{
    if ((rest & 1) != 0) {{
      result *= square;
    }}
    square *= square;
  }}
  return ({t})result;
}}""",
}
"""Bodies of integer functions. `{t}` is the signed type, `{u}` the unsigned one, `{n}` the number of bits."""

_NEEDS = {"floordiv": ("div", "rem"), "ceildiv": ("div", "rem")}


def _integer(operation: str, bits: int) -> str:
    body = _BODIES[operation].format(t=INTEGERS[bits], u=UNSIGNED[bits], n=bits, p=PREFIX)
    return f"{_HEAD}{INTEGERS[bits]} {PREFIX}{operation}_i{bits}{body}"


_FLOATS = {"f32": ("float", "int", "__float_as_int", "__int_as_float"),
           "f64": ("double", "long long", "__double_as_longlong", "__longlong_as_double")}  # fmt: skip


def _extreme(name: str, kind: str) -> str:
    """The text of a float minimum or maximum. Equal numbers have the same bits, or are zeros: `&` of both is +0 unless
    both are -0, `|` is -0 unless both are -0.
    """
    t, _, bits, value = _FLOATS[kind]
    larger = name.startswith("max")
    compare, join = (">", "&") if larger else ("<", "|")
    nan = ("a", "b") if name.endswith("imum") else ("b", "a")
    return (
        f"{_HEAD}{t} {PREFIX}{name}_{kind}({t} a, {t} b) {{\n"
        f"  return a != a ? {nan[0]} : b != b ? {nan[1]} : a {compare} b ? a : b {compare} a ? b : "
        f"{value}({bits}(a) {join} {bits}(b));\n}}"
    )


@dataclass(frozen=True)
class _Word:
    """A float with the integer type of its atomic exchange. float, word: their types in C++.  kind: the
    type of the computation.  bits, value: the conversions to and from `word`.  extend, round: to and from
    the type of the computation.
    """

    float: str
    word: str
    kind: str
    bits: str
    value: str
    extend: str = ""
    round: str = ""


_WORDS = {
    "float16": _Word(HALF, "unsigned short", "f32", "__half_as_ushort", "__ushort_as_half", "__half2float",
                     "__float2half_rn"),
    "bfloat16": _Word(BFLOAT, "unsigned short", "f32", "__bfloat16_as_ushort", "__ushort_as_bfloat16",
                      "__bfloat162float", "__float2bfloat16_rn"),
    "float32": _Word("float", "unsigned", "f32", "__float_as_uint", "__uint_as_float"),
    "float64": _Word("double", "unsigned long long", "f64", "(unsigned long long)__double_as_longlong",
                     "__longlong_as_double"),
}  # fmt: skip


def _atomic_extreme(name: str, dtype: str) -> str:
    """The text of a loop of compare-and-exchange, until no other thread has written in between. The first expected
    value is a guess; a wrong guess costs one iteration, like an initial load.
    """
    w = _WORDS[dtype]
    extreme = f"{PREFIX}{name.removeprefix('atomic_')}_{w.kind}"
    new = f"{w.round}({extreme}({w.extend}(old), {w.extend}(value)))" if w.round else f"{extreme}(old, value)"
    return f"""{_HEAD}{w.float} {PREFIX}{name}_{dtype}({w.float}* place, {w.float} value) {{
  {w.word} expected, found = {w.bits}(value);
  do {{
    expected = found;
    const {w.float} old = {w.value}(expected);
    found = atomicCAS(reinterpret_cast<{w.word}*>(place), expected,
                      {w.bits}({new}));
  }} while (found != expected);
  return {w.value}(found);
}}"""


def _to_integer(name: str, kind: str) -> str:
    """The text of a conversion to an integer, by comparisons with powers of two, which are exact in every float."""
    signed, bits = name[3] == "s", int(name[4:])
    t, (float_type, *_) = INTEGERS[bits], _FLOATS[kind]
    suffix = "f" if kind == "f32" else ""
    low, high = signed_range(bits) if signed else (0, 2**bits - 1)
    least = integer_literal(low, t).text
    most = integer_literal(high if signed else -1, t).text
    above = f"{float(high + 1)!r}{suffix}"
    unsigned = f"({UNSIGNED[bits]})" if not signed else ""
    below = f"x <= {float(low)!r}{suffix}"
    return (
        f"{_HEAD}{t} {PREFIX}{name}_{kind}({float_type} x) {{\n"
        f"  return x != x ? 0 : {below} ? {least} : x >= {above} ? {most} : ({t}){unsigned}x;\n}}"
    )


_ROUND_TO_ODD = f"""{_HEAD}float {PREFIX}round_to_odd(double x) {{
  const float near = (float)x;
  const double back = near;
  if (back == x || x != x) {{
    return near;
  }}
  const int bits = __float_as_int(near);
  return __int_as_float((fabs(back) > fabs(x) ? bits - 1 : bits) | 1);
}}"""


def _small_float(name: str) -> str:
    """The text of a conversion of floats of at most a byte, with the semantics of `backends.llvm.small_floats`."""
    direction, _, dtype = name.partition("_")
    format = _SmallFloat(dtype)
    body = format.extension() if direction == "extend" else format.rounding()
    types = ("float", "unsigned char bits") if direction == "extend" else ("unsigned char", "float value")
    lines = "\n".join(f"  {line}" for line in body)
    return f"{_HEAD}{types[0]} {PREFIX}{name}({types[1]}) {{\n{lines}\n}}"


_MANTISSA = 23  # of `float`
_HIDDEN_BIT, _BIAS, _INFINITY, _NAN = 1 << _MANTISSA, 127, 0x7F800000, 0x7FC00000


class _SmallFloat:
    """The lines of conversions. Exponent and mantissa are shifted together, as an integer; numbers that are subnormal
    in the small type are multiples of a unit, to which a sum with a large number rounds.
    """

    def __init__(self, dtype: str) -> None:
        known = self.known = parse_dtype(dtype).format
        format = self.format = known.semantics
        self.shift = _MANTISSA - format.mantissa_bits
        self.rebase = (_BIAS - format.exponent_bias) << _MANTISSA
        self.unit = 1 - format.exponent_bias - format.mantissa_bits
        self.magnitude = (1 << format.sign_shift) - 1
        self.sign = 1 << format.sign_shift if format.has_sign else 0
        self.to_sign = 31 - format.sign_shift

    def extension(self) -> list[str]:
        known, format = self.known, self.format
        lines = [f"const unsigned magnitude = bits & 0x{self.magnitude:x}u;"]
        normal = f"(magnitude << {self.shift}) + 0x{self.rebase:x}u"
        if not format.has_zero:
            lines.append(f"unsigned result = magnitude == 0u ? 0x{_HIDDEN_BIT >> 1:x}u : {normal};")
        else:
            least = f"magnitude < {1 << format.mantissa_bits}u"
            lines.append(f"unsigned result = {least} ? __float_as_uint((float)magnitude * 0x1p{self.unit}f)")
            lines.append(f"                                 : {normal};")
        if format.has_sign and not known.has_negative_zero and known.has_nan:
            lines += [f"if (bits == 0x{known.nan_bits:x}u) {{", f"  result = 0x{_NAN:x}u;", "}"]
        elif known.largest_bits < self.magnitude:
            infinity = f"magnitude == 0x{known.largest_bits + 1:x}u ? 0x{_INFINITY:x}u : " if known.has_infinity else ""
            lines += [
                f"if (magnitude > 0x{known.largest_bits:x}u) {{",
                f"  result = {infinity}0x{_NAN:x}u;",
                "}",
            ]
        sign = f" | (bits & 0x{self.sign:x}u) << {self.to_sign}" if self.sign else ""
        return [*lines, f"return __uint_as_float(result{sign});"]

    def rounding(self) -> list[str]:
        known, format = self.known, self.format
        lines = ["const unsigned bits = __float_as_uint(value), magnitude = bits & 0x7fffffffu;"]
        odd = f"(magnitude >> {self.shift} & 1u)"
        if not format.mantissa_bits:
            odd = f"(magnitude >= 0x{_HIDDEN_BIT:x}u ? 1u : 0u)"
        half = self.rebase - (1 << self.shift - 1) + 1
        rebased = f"magnitude - 0x{half:x}u" if half >= 0 else f"magnitude + 0x{-half:x}u"
        lines.append(f"unsigned result = ({rebased} + {odd}) >> {self.shift};")
        if self.rebase:
            start = self.unit + _MANTISSA
            total = f"__float_as_uint(__uint_as_float(magnitude) + 0x1p{start}f)"
            lines += [
                f"if (magnitude < 0x{self.rebase + _HIDDEN_BIT:x}u) {{",
                f"  result = {total} - 0x{start + _BIAS << _MANTISSA:x}u;",
                "}",
            ]
        overflow = (
            known.largest_bits + 1 if known.has_infinity else known.nan_bits if known.has_nan else known.largest_bits
        )
        lines += [f"if (result > 0x{known.largest_bits:x}u) {{", f"  result = 0x{overflow:x}u;", "}"]
        is_nan = f"magnitude > 0x{_INFINITY:x}u" if format.has_sign else f"bits - 1u >= 0x{_INFINITY:x}u"
        lines += [f"if ({is_nan}) {{", f"  result = 0x{known.nan_bits:x}u;", "}"]
        if not self.sign:
            return [*lines, "return (unsigned char)result;"]
        sign = f"bits >> {self.to_sign} & 0x{self.sign:x}u"
        if not known.has_negative_zero:
            sign = f"((result & 0x{self.magnitude:x}u) == 0u ? 0u : {sign})"
            return [*lines, f"return (unsigned char)(result ^ {sign});"]
        return [*lines, f"return (unsigned char)(result ^ ({sign}));"]


def helper_text(name: str) -> tuple[str, tuple[str, ...]]:
    """The definition of the helper function `name`, and the names of its callees."""
    if name == "round_to_odd":
        return _ROUND_TO_ODD, ()
    if name.startswith(PREFIX_OF_PRODUCT):
        return product_text(name.removeprefix(PREFIX_OF_PRODUCT)), ()
    if name.startswith(PREFIX_OF_MATRICES):
        return matrices_text(name.removeprefix(PREFIX_OF_MATRICES)), ()
    if name.partition("_")[2] in SMALL_FLOATS:
        return _small_float(name), ()
    operation, _, kind = name.rpartition("_")
    if operation in _BODIES:
        return _integer(operation, int(kind[1:])), tuple(f"{needed}_{kind}" for needed in _NEEDS.get(operation, ()))
    if operation.startswith("to_"):
        return _to_integer(operation, kind), ()
    if operation in ("atomic_maximum", "atomic_minimum"):
        return _atomic_extreme(operation, kind), (f"{operation.removeprefix('atomic_')}_{_WORDS[kind].kind}",)
    if operation in ("maximum", "minimum", "maxnum", "minnum"):
        return _extreme(operation, kind), ()
    raise UnsupportedError(f"no helper function {name}")

"""The words of the emitted text that C spells otherwise, and the functions that C lacks."""

from __future__ import annotations

import re
from collections.abc import Sequence

from ...core.errors import UnsupportedError
from ..cuda.emitter.names import PREFIX

C_NAMES = frozenset(
    "restrict complex imaginary noreturn thread_local static_assert alignof alignas exit atexit getenv system qsort "
    "bsearch rand srand atof atoi atol strtod strtof strtol calloc realloc memcmp memchr strlen strcpy strcat strcmp "
    "errno va_list div_t ldiv_t lldiv_t wchar_t float_t double_t signgam y0 y1 yn j0 j1 jn".split()
)
"""Names of C, and of the headers that the text includes, which the names of CUDA C++ do not contain."""

_NUMBERS = {"int": "i", "unsigned": "u", "long long": "l", "unsigned long long": "ul"}
"""The types of the operands of `min` and `max`, each with the ending of the function for it."""

_BITS = {
    "__float_as_int": ("int", "float"),
    "__float_as_uint": ("unsigned", "float"),
    "__int_as_float": ("float", "int"),
    "__uint_as_float": ("float", "unsigned"),
    "__double_as_longlong": ("long long", "double"),
    "__longlong_as_double": ("double", "long long"),
}
"""Functions that keep the bits of a value: the types of their result and of their operand."""

_HALF = "unsigned short"


def _leading_zeros(type: str, bits: int) -> str:
    return f"""int NAME({type} x) {{
  int count = 0;
  for (; count < {bits} && x >> {bits - 1} == 0; x <<= 1) {{
    ++count;
  }}
  return count;
}}"""


def _set_bits(type: str) -> str:
    return f"""int NAME({type} x) {{
  int count = 0;
  for (; x != 0; x &= x - 1) {{
    ++count;
  }}
  return count;
}}"""


_FUNCTIONS = {
    "__half_as_ushort": f"{_HALF} NAME({_HALF} x) {{\n  return x;\n}}",
    "__half2float": f"""float NAME({_HALF} x) {{
  const unsigned magnitude = x & 0x7fffu;
  const float value = magnitude >= 0x7c00u ? (magnitude == 0x7c00u ? INFINITY : NAN)
                      : magnitude < 0x400u ? ldexpf((float)magnitude, -24)
                      : ldexpf((float)((magnitude & 0x3ffu) | 0x400u), (int)(magnitude >> 10) - 25);
  return (x & 0x8000u) != 0 ? -value : value;
}}""",
    "__float2half_rn": f"""{_HALF} NAME(float x) {{
  unsigned bits;
  memcpy(&bits, &x, sizeof bits);
  const unsigned sign = bits >> 16 & 0x8000u, magnitude = bits & 0x7fffffffu;
  unsigned result;
  if (magnitude > 0x7f800000u) {{
    result = 0x7e00u;
  }} else if (magnitude >= 0x477ff000u) {{
    result = 0x7c00u;
  }} else if (magnitude < 0x38800000u) {{
    result = (unsigned)rintf(ldexpf(fabsf(x), 24));
  }} else {{
    result = (magnitude - 0x38000000u + 0xfffu + (magnitude >> 13 & 1u)) >> 13;
  }}
  return ({_HALF})(sign | result);
}}""",
    "__bfloat162float": f"""float NAME({_HALF} x) {{
  const unsigned bits = (unsigned)x << 16;
  float value;
  memcpy(&value, &bits, sizeof value);
  return value;
}}""",
    "__float2bfloat16_rn": f"""{_HALF} NAME(float x) {{
  unsigned bits;
  memcpy(&bits, &x, sizeof bits);
  return ({_HALF})(x != x ? 0x7fc0u : (bits + 0x7fffu + (bits >> 16 & 1u)) >> 16);
}}""",
    "__clz": _leading_zeros("unsigned", 32),
    "__clzll": _leading_zeros("unsigned long long", 64),
    "__popc": _set_bits("unsigned"),
    "__popcll": _set_bits("unsigned long long"),
    "__ffsll": """int NAME(unsigned long long x) {
  int place = x != 0;
  for (; x != 0 && (x & 1) == 0; x >>= 1) {
    ++place;
  }
  return place;
}""",
    "__umul64hi": """unsigned long long NAME(unsigned long long a, unsigned long long b) {
  const unsigned long long low = (a & 0xffffffffu) * (b & 0xffffffffu), left = (a >> 32) * (b & 0xffffffffu);
  const unsigned long long right = (a & 0xffffffffu) * (b >> 32), middle = (low >> 32) + (left & 0xffffffffu) + right;
  return (a >> 32) * (b >> 32) + (left >> 32) + (middle >> 32);
}""",
    "__mul64hi": f"""long long NAME(long long a, long long b) {{
  const unsigned long long high = {PREFIX}umul64hi((unsigned long long)a, (unsigned long long)b);
  return (long long)(high - (a < 0 ? (unsigned long long)b : 0) - (b < 0 ? (unsigned long long)a : 0));
}}""",
}
"""The definitions of other functions of CUDA; NAME stands for their name."""

_EXTREMES = {"min": "<", "max": ">"}
"""The functions of CUDA for several types of integers, each with its comparison."""

_NEEDS = {"__mul64hi": ("__umul64hi",)}
"""The other functions that a definition calls."""

_SAME = {"__bfloat16_as_ushort": "__half_as_ushort", "__ushort_as_half": "__half_as_ushort",
         "__ushort_as_bfloat16": "__half_as_ushort"}  # fmt: skip
"""Functions with the definition of another: a half float is its bits."""

_WORDS = {
    "__half": _HALF,
    "__nv_bfloat16": _HALF,
    "__restrict__": "restrict",
    "__align__": "_Alignas",
    "__forceinline__": "inline",
    "nullptr": "NULL",
}
"""Words of CUDA C++, each with the one of C."""

_TOKENS = re.compile(r"[A-Za-z_]\w*|\"(?:[^\"\\]|\\.)*\"|//[^\n]*|[^A-Za-z_\"/]+|/", re.DOTALL)

_HEAD = "// C11. Without -ffp-contract=off some compilers round a product and its sum once.\n"


def translate(text: str, headers: Sequence[str]) -> str:
    """The C of a text in CUDA C++ without threads. headers: those that the result includes.

    UnsupportedError for a word of CUDA that C lacks.
    """
    text = re.sub(r"^#include <cuda_\w+\.h>\n", "", text, flags=re.MULTILINE).replace("static __device__ ", "static ")
    text = _without_cpp_casts(text)
    needed: dict[str, None] = {}
    words = "".join(_word(token, needed) for token in _TOKENS.findall(text))
    includes = "\n".join(f"#include <{header}>" for header in headers)
    functions = [f"{_definition(name)}\n" for name in needed]
    return "\n".join([_HEAD + includes + "\n", *functions, words.lstrip("\n")])


def translate_type(type: str) -> str:
    """The type of C for a type of CUDA C++."""
    return re.sub(r"\w+", lambda match: _WORDS.get(match[0], match[0]), type)


def _word(token: str, needed: dict[str, None]) -> str:
    if token in _WORDS:
        return _WORDS[token]
    name = _SAME.get(token, token)
    if name in _BITS or name in _FUNCTIONS or name in _EXTREMES:
        needed.update(dict.fromkeys([*_NEEDS.get(name, ()), name]))
        return PREFIX + name.strip("_")
    if token.startswith("__") or token in ("reinterpret_cast", "const_cast", "static_cast"):
        raise UnsupportedError(f"c: no C for {token} of CUDA C++")
    return token


def _definition(name: str) -> str:
    new = PREFIX + name.strip("_")
    if name in _EXTREMES:
        return _extreme(new, _EXTREMES[name])
    if name in _FUNCTIONS:
        return f"static inline {_FUNCTIONS[name].replace('NAME', new)}"
    result, operand = _BITS[name]
    return f"""static inline {result} {new}({operand} x) {{
  {result} bits;
  memcpy(&bits, &x, sizeof bits);
  return bits;
}}"""


def _extreme(name: str, comparison: str) -> str:
    """The functions of `min` or `max`, and the macro that selects among them by the types of the operands."""
    functions = [
        f"static inline {type} {name}_{end}({type} a, {type} b) {{\n  return a {comparison} b ? a : b;\n}}"
        for type, end in _NUMBERS.items()
    ]
    choices = ", ".join(f"{type}: {name}_{end}" for type, end in _NUMBERS.items())
    return "\n".join([*functions, f"#define {name}(a, b) _Generic((a) + (b), {choices})(a, b)"])


def _without_cpp_casts(text: str) -> str:
    """The text with the casts of C instead of `reinterpret_cast` and `const_cast`."""
    while (match := re.search(r"\b(?:reinterpret|const)_cast<([^<>]*)>\(", text)) is not None:
        depth, end = 1, match.end()
        while depth:
            depth += {"(": 1, ")": -1}.get(text[end], 0)
            end += 1
        text = f"{text[: match.start()]}(({match[1]})({text[match.end() : end]}){text[end:]}"
    return text

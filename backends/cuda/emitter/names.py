"""Unique names that are legal in CUDA C++."""

from __future__ import annotations

import re
from collections.abc import Generator, Iterable
from contextlib import contextmanager

from ....core.identifiers import is_c_identifier

PREFIX = "sw_"
"""The prefix of the names of helper functions, and of no other name."""

_WORDS = """
alignas alignof and and_eq asm auto bitand bitor bool break case catch char char8_t char16_t char32_t class co_await
co_return co_yield compl concept const const_cast consteval constexpr constinit continue decltype default delete do
double dynamic_cast else enum explicit export extern false float for friend goto if inline int long mutable namespace
new noexcept not not_eq nullptr operator or or_eq private protected public register reinterpret_cast requires return
short signed sizeof static static_assert static_cast struct switch template this thread_local throw true try typedef
typeid typename union unsigned using virtual void volatile wchar_t while xor xor_eq
"""

_KEYWORDS = frozenset(_WORDS.split())

_BUILTINS = """
threadIdx blockIdx blockDim gridDim warpSize dim3 uint3 half half2 nv_bfloat16 nv_bfloat162 size_t ptrdiff_t clock_t
cudaError_t cudaStream_t NULL INFINITY NAN main std min max abs labs llabs div ldiv lldiv printf assert malloc free
memcpy memset memmove clock clock64 linux unix i386 isnan isinf isfinite signbit
acos acosh asin asinh atan atan2 atanh cbrt ceil copysign cos cosh cospi cyl_bessel_i0 cyl_bessel_i1 erf erfc erfcinv
erfcx erfinv exp exp10 exp2 expm1 fabs fdim fdivide floor fma fmax fmin fmod frexp hypot ilogb j0 j1 jn ldexp lgamma
llrint llround log log10 log1p log2 logb lrint lround modf nan nearbyint nextafter norm norm3d norm4d normcdf
normcdfinv pow rcbrt remainder remquo rhypot rint rnorm rnorm3d rnorm4d round rsqrt scalbln scalbn sin sincos sincospi
sinh sinpi sqrt tan tanh tgamma trunc y0 y1 yn gamma
"""


def _vector_types() -> Iterable[str]:
    for scalar in ("char", "uchar", "short", "ushort", "int", "uint", "long", "ulong", "longlong", "ulonglong", "float",
                   "double"):  # fmt: skip
        yield from (f"{scalar}{count}" for count in (1, 2, 3, 4))
        yield from (f"make_{scalar}{count}" for count in (1, 2, 3, 4))


_MATH = _BUILTINS.split("acos acosh", 1)[1].split()
RESERVED = frozenset(
    [*_WORDS.split(), *_BUILTINS.split(), *(f"{word}f" for word in ["acos", *_MATH]), *_vector_types()]
)
"""Keywords of C++, and names that CUDA declares without an include."""

_ILLEGAL = re.compile(r"\W|[^\x00-\x7F]")


def is_callable(name: str) -> bool:
    """Whether a text can call an undefined device function by a name: an identifier, no keyword, no helper's name."""
    return is_c_identifier(name) and name not in _KEYWORDS and not name.startswith(PREFIX)


def legalize_name(name: str) -> str:
    """`name` with illegal characters replaced."""
    text = re.sub(r"__+", "_", _ILLEGAL.sub("_", name)).lstrip("_")
    return f"v{text}" if not text or text[0].isdigit() or text.startswith(PREFIX) else text


class CudaNames:
    """Names in nested scopes: no name hides another, and names of ended scopes are free again."""

    def __init__(self, taken: Iterable[str] = ()) -> None:
        self._scopes: list[set[str]] = [set(taken)]

    def fresh(self, hint: str | None) -> str:
        """A name similar to `hint`, distinct from all visible names."""
        base = legalize_name(hint or "t")
        name, n = base, 0
        while name in RESERVED or any(name in scope for scope in self._scopes):
            n += 1
            name = f"{base}_{n}"
        self._scopes[-1].add(name)
        return name

    def release(self, name: str) -> None:
        """Releases an unused name of the innermost scope."""
        self._scopes[-1].discard(name)

    @contextmanager
    def scope(self) -> Generator[None]:
        """A scope of names: names created inside end with it."""
        self._scopes.append(set())
        yield
        self._scopes.pop()

"""Launch limits of NVIDIA GPUs, by architecture (CUDA C++ Programming Guide, "Technical Specifications per Compute
Capability")."""

from __future__ import annotations

from .diagnostics import did_you_mean
from .errors import OptionError

MAX_GRID_DIMS = {"x": 2**31 - 1, "y": 65535, "z": 65535}
"""The maximum number of thread blocks of a grid, by axis."""
MAX_BLOCK_DIMS = {"x": 1024, "y": 1024, "z": 64}
"""The maximum number of threads of a thread block, by axis."""
MAX_THREADS_PER_BLOCK = 1024
WARP_SIZE = 32
"""The number of threads of a warp."""
SHUFFLE_WIDTHS = tuple(2**n for n in range(WARP_SIZE.bit_length()))
"""The legal widths of a warp shuffle: numbers of lanes that exchange values among themselves."""
DEVICE_FUNCTIONS = frozenset(
    f"{name}{suffix}"
    for name in (
        "acos acosh asin asinh atan atan2 atanh cbrt ceil copysign cos cosh erf erfc exp exp10 exp2 expm1 fabs fdim "
        "floor fma fmax fmin fmod hypot ldexp lgamma log log10 log1p log2 logb nearbyint nextafter pow rcbrt remainder "
        "rint round rsqrt sin sinh sqrt tan tanh tgamma trunc"
    ).split()
    for suffix in ("", "f")
) | frozenset(
    (
        "__expf __exp10f __logf __log2f __log10f __powf __sinf __cosf __tanf __fdividef __saturatef "
        "__fadd_rn __fsub_rn __fmul_rn __fdiv_rn __frcp_rn __fsqrt_rn __frsqrt_rn __fmaf_rn "
        "__dadd_rn __dsub_rn __dmul_rn __ddiv_rn __drcp_rn __dsqrt_rn __fma_rn"
    ).split()
)
"""The functions on numbers that device code can call: those of C's `math.h`, and the fast and the rounded ones of CUDA
(CUDA Math API)."""
DOT4 = "__dp4a"
"""The function of CUDA that adds the products of four bytes to an integer of 32 bits."""
STATIC_SHARED_BYTES = 48 * 1024
"""The maximum size of the statically allocated shared memory of a thread block."""

_SHARED_KIB = {
    "sm_50": 48,
    "sm_52": 48,
    "sm_53": 48,
    "sm_60": 48,
    "sm_61": 48,
    "sm_62": 48,
    "sm_70": 96,
    "sm_72": 96,
    "sm_75": 64,
    "sm_80": 163,
    "sm_86": 99,
    "sm_87": 163,
    "sm_89": 99,
    "sm_90": 227,
    "sm_100": 227,
    "sm_103": 227,
    "sm_120": 99,
}


def max_shared_bytes(arch: str) -> int:
    """The maximum size of the shared memory of a thread block in bytes, static and dynamic.

    `sm_90a` and `compute_90` count as `sm_90`. OptionError for an unknown architecture.
    """
    name = arch.replace("compute_", "sm_").rstrip("af")
    if name not in _SHARED_KIB:
        known = ", ".join(_SHARED_KIB)
        raise OptionError(f"arch {arch!r}{did_you_mean(arch, _SHARED_KIB)}: expected one of {known}")
    return _SHARED_KIB[name] * 1024

"""CUDA's small floats, bit operations and math functions, compared with numpy and ml_dtypes."""

from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from stepwell.backends.cuda.emulation import EmulatedModule, compile_emulated, compiler

pytestmark = pytest.mark.skipif(compiler() is None, reason="g++ is not installed, which the emulation of CUDA needs")

Array = np.ndarray[Any, Any]

SMALL = """
#include <cuda_fp16.h>
#include <cuda_bf16.h>
#include <cuda_fp8.h>

#define EACH(name, to, from, result)                                       \\
  extern "C" __global__ void name(to* y, const from* a, int n) {             \\
    for (int i = threadIdx.x; i < n; i += blockDim.x) { from x = a[i]; y[i] = result; } \\
  }
EACH(half_to_float, float, half, __half2float(x))
EACH(float_to_half, half, float, __float2half_rn(x))
EACH(double_to_half, half, double, __double2half(x))
EACH(bfloat16_to_float, float, __nv_bfloat16, __bfloat162float(x))
EACH(float_to_bfloat16, __nv_bfloat16, float, __float2bfloat16_rn(x))
EACH(e4m3_to_float, float, __nv_fp8_e4m3, float(x))
EACH(e5m2_to_float, float, __nv_fp8_e5m2, float(x))
EACH(float_to_e4m3, unsigned char, float, __nv_cvt_float_to_fp8(x, __NV_SATFINITE, __NV_E4M3))
EACH(float_to_e5m2, unsigned char, float, __nv_cvt_float_to_fp8(x, __NV_NOSAT, __NV_E5M2))
EACH(half_bits, unsigned short, half, __half_as_ushort(__ushort_as_half(__half_as_ushort(x))))
extern "C" __global__ void half_arithmetic(half* y, const half* a, const half* b, int n) {
  for (int i = threadIdx.x; i < n; i += blockDim.x) {
    y[i] = a[i] + b[i];
    y[n + i] = __hmul(a[i], b[i]);
    y[2 * n + i] = a[i] / b[i];
    y[3 * n + i] = a[i] < b[i] ? a[i] : b[i];
  }
}
extern "C" __global__ void vectors(half2* y, const half2* a, half* sum) {
  half2 x = a[threadIdx.x];
  y[threadIdx.x] = make_half2(x.y, x.x);
  atomicAdd(sum, x.x);
}
"""
NAMES = (
    "half_to_float float_to_half double_to_half bfloat16_to_float float_to_bfloat16 e4m3_to_float e5m2_to_float "
    "float_to_e4m3 float_to_e5m2 half_bits half_arithmetic vectors"
).split()


@pytest.fixture(scope="module")
def small() -> EmulatedModule:
    return compile_emulated(SMALL, NAMES)


def _each(module: EmulatedModule, kernel: str, given: Array, result: Any) -> Array:
    given = np.asarray(given)
    out = np.zeros(given.shape, result)
    module.launch(kernel, (1,), (32,), [out, given, np.int32(given.size)])
    return out


def _all(dtype: Any) -> Array:
    """All values of a type of 8 or 16 bits."""
    bits = np.dtype(f"u{np.dtype(dtype).itemsize}")
    return np.arange(1 << 8 * bits.itemsize).astype(bits).view(dtype)


def _rounded(dtype: Any) -> Array:
    """Floats around every value of a small type: the value, the midpoint to the next value, and the neighbours of the
    midpoint."""
    numbers = np.unique(np.abs(_all(dtype).astype(np.float32)))
    numbers = numbers[np.isfinite(numbers)]
    last = 2 * numbers[-1].astype(np.float64) - numbers[-2]
    middles = ((numbers.astype(np.float64) + np.append(numbers[1:].astype(np.float64), last)) / 2).astype(np.float32)
    near = [numbers, middles, np.nextafter(middles, np.float32(0)), np.nextafter(middles, np.float32(np.inf))]
    some = np.concatenate([*near, np.array([1e30, np.inf, np.nan, 1e-30], np.float32)])
    return np.concatenate([some, -some])


def _same(got: Array, expected: Array) -> None:
    """Whether two values have equal bits, or are both NaN."""
    is_nan = np.isnan(expected.astype(np.float32))
    np.testing.assert_array_equal(np.isnan(got.astype(np.float32)), is_nan)
    bits = f"u{expected.dtype.itemsize}"
    np.testing.assert_array_equal(got[~is_nan].view(bits), expected[~is_nan].view(bits))


@pytest.mark.parametrize(
    ("kernel", "dtype"),
    [
        ("half_to_float", np.float16),
        ("bfloat16_to_float", ml_dtypes.bfloat16),
        ("e4m3_to_float", ml_dtypes.float8_e4m3fn),
        ("e5m2_to_float", ml_dtypes.float8_e5m2),
    ],
)
def test_every_small_float_becomes_the_float_that_it_is(small: EmulatedModule, kernel: str, dtype: Any) -> None:
    numbers = _all(dtype)
    _same(_each(small, kernel, numbers, np.float32), numbers.astype(np.float32))


@pytest.mark.parametrize(
    ("kernel", "dtype"), [("float_to_half", np.float16), ("float_to_bfloat16", ml_dtypes.bfloat16)]
)
def test_floats_around_every_small_float_are_rounded_to_nearest_even(
    small: EmulatedModule, kernel: str, dtype: Any
) -> None:
    numbers = _rounded(dtype)
    with np.errstate(over="ignore"):
        expected = numbers.astype(dtype)
    _same(_each(small, kernel, numbers, dtype), expected)


def test_floats_of_8_bits_saturate_only_if_asked(small: EmulatedModule) -> None:
    numbers = _rounded(ml_dtypes.float8_e5m2)
    _same(
        _each(small, "float_to_e5m2", numbers, np.uint8).view(ml_dtypes.float8_e5m2),
        numbers.astype(ml_dtypes.float8_e5m2),
    )
    numbers = _rounded(ml_dtypes.float8_e4m3fn)
    expected = np.clip(numbers, -448, 448).astype(ml_dtypes.float8_e4m3fn)
    _same(_each(small, "float_to_e4m3", numbers, np.uint8).view(ml_dtypes.float8_e4m3fn), expected)


def test_a_double_is_rounded_once_to_a_half(small: EmulatedModule) -> None:
    # 1 + 2**-11 is the midpoint of two half floats; a bit beyond the last bit of a float decides the rounding.
    middle, bit, tiny = 1 + 2**-11, 2**-40, 2.0**-25
    numbers = np.array([middle, middle + bit, 1 + 3 * 2**-11 - bit, tiny, tiny * (1 + bit), 1e-60])
    numbers = np.concatenate([numbers, -numbers])
    _same(_each(small, "double_to_half", numbers, np.float16), numbers.astype(np.float16))


def test_halves_compute_as_numpy_does(small: EmulatedModule) -> None:
    random = np.random.default_rng(0)
    a, b = random.integers(0, 1 << 16, (2, 5000)).astype(np.uint16).view(np.float16)
    out = np.zeros((4, 5000), np.float16)
    small.launch("half_arithmetic", (1,), (32,), [out, a, b, np.int32(5000)])
    with np.errstate(all="ignore"):
        for got, expected in zip(out, [a + b, a * b, a / b, np.where(a < b, a, b)], strict=True):
            _same(got, expected)


def test_bits_of_halves_stay_what_they_are(small: EmulatedModule) -> None:
    numbers = _all(np.float16)
    np.testing.assert_array_equal(_each(small, "half_bits", numbers, np.uint16), numbers.view(np.uint16))


def test_pairs_of_halves_are_vectors(small: EmulatedModule) -> None:
    a = np.arange(16, dtype=np.float16)
    out, total = np.zeros(16, np.float16), np.zeros(1, np.float16)
    small.launch("vectors", (1,), (8,), [out, a, total])
    np.testing.assert_array_equal(out, a.reshape(8, 2)[:, ::-1].ravel())
    assert total[0] == a[::2].sum()


# Functions: name to numpy's

UNARY: dict[str, Callable[[Array], Array]] = {
    "expf(x)": np.exp,
    "__expf(x)": np.exp,
    "exp(x)": np.exp,
    "exp2f(x)": np.exp2,
    "exp10f(x)": lambda x: 10.0**x,
    "log(fabsf(x))": lambda x: np.log(np.abs(x)),
    "__logf(abs(x))": lambda x: np.log(np.abs(x)),
    "log2f(fabsf(x))": lambda x: np.log2(np.abs(x)),
    "log1pf(fabsf(x))": lambda x: np.log1p(np.abs(x)),
    "tanhf(x)": np.tanh,
    "sinf(x)": np.sin,
    "__cosf(x)": np.cos,
    "sqrtf(fabsf(x))": lambda x: np.sqrt(np.abs(x)),
    "rsqrtf(fabsf(x))": lambda x: 1 / np.sqrt(np.abs(x)),
    "erff(x) + erfcf(x)": np.ones_like,
    "floorf(x)": np.floor,
    "ceilf(x)": np.ceil,
    "truncf(x)": np.trunc,
    "rintf(x)": np.rint,
    "nearbyintf(x)": np.rint,
    "powf(fabsf(x), 1.5f)": lambda x: np.abs(x) ** 1.5,
    "fmodf(x, 0.75f)": lambda x: np.fmod(x, 0.75),
    "fmaf(x, x, -1.0f)": lambda x: x * x - 1,
    "__fdividef(x, 3.0f)": lambda x: x / 3,
    "__saturatef(x)": lambda x: np.clip(x, 0, 1),
    "fminf(x, nanf)": lambda x: x,
    "max(min(x, 1.0f), -1.0f)": lambda x: np.clip(x, -1, 1),
    "float(fmax(double(x), 0.5))": lambda x: np.maximum(x, 0.5),
    "copysignf(2.0f, x)": lambda x: np.copysign(2, x),
    "__int_as_float(__float_as_int(x) & 0x7fffffff)": np.abs,
    "__uint_as_float(__float_as_uint(x))": lambda x: x,
    "float(isnan(x) + isinf(x) + isfinite(x))": np.ones_like,
    "float(__float2int_rz(x))": np.trunc,
    "float(__float2int_rn(x))": np.rint,
    "float(__float2int_rd(x))": np.floor,
}


def test_functions_of_floats_are_those_of_numpy() -> None:
    stores = "".join(f"  y[{i} * n + t] = {text};\n" for i, text in enumerate(UNARY))
    module = compile_emulated(
        f'extern "C" __global__ void f(float* y, const float* a, int n) {{\n'
        f"  int t = threadIdx.x;\n  float x = a[t], nanf = __int_as_float(0x7fc00000);\n{stores}}}\n",
        ["f"],
    )
    x = np.array([-3.7, -1.5, -1.0, -0.3, 0.1, 0.5, 1.0, 2.5, 7.9], np.float32)
    out = np.zeros((len(UNARY), x.size), np.float32)
    module.launch("f", (1,), (x.size,), [out, x, np.int32(x.size)])
    for got, (text, function) in zip(out, UNARY.items(), strict=True):
        np.testing.assert_allclose(got, function(x.astype(np.float64)), rtol=1e-5, atol=1e-6, err_msg=text)


INTEGERS: dict[str, Callable[[int], int]] = {
    "__popc(x)": lambda x: x.bit_count(),
    "__clz(int(x))": lambda x: 32 - x.bit_length(),
    "__ffs(int(x))": lambda x: (x & -x).bit_length(),
    "__clzll((long long)x << 8)": lambda x: 64 - (x << 8).bit_length(),
    "__brev(x)": lambda x: int(f"{x:032b}"[::-1], 2),
    "__umulhi(x, 0xdeadbeefu)": lambda x: x * 0xDEADBEEF >> 32,
    "__mulhi(int(x >> 1), 0x7eadbeef)": lambda x: (x >> 1) * 0x7EADBEEF >> 32,
    "__byte_perm(x, 0x12345678u, 0x7021u)": lambda x: (
        0x12 << 24 | (x & 255) << 16 | (x >> 16 & 255) << 8 | x >> 8 & 255
    ),
    "min(x, 77u) + max(x, 5u)": lambda x: min(x, 77) + max(x, 5),
    "__funnelshift_l(x, 3u, 4u)": lambda x: 3 << 4 | x >> 28,
    "unsigned(abs(int(x >> 1)))": lambda x: x >> 1,
}


def test_functions_of_integers_are_those_of_python() -> None:
    stores = "".join(f"  y[{i} * n + t] = {text};\n" for i, text in enumerate(INTEGERS))
    module = compile_emulated(
        f'extern "C" __global__ void f(unsigned* y, const unsigned* a, int n) {{\n'
        f"  int t = threadIdx.x;\n  unsigned x = a[t];\n{stores}}}\n",
        ["f"],
    )
    numbers = [0, 1, 2, 40, 0x1234, 0x80000000, 0xFFFFFFFF, 0xDEADBEEF]
    x = np.array(numbers, np.uint32)
    out = np.zeros((len(INTEGERS), x.size), np.uint32)
    module.launch("f", (1,), (x.size,), [out, x, np.int32(x.size)])
    for got, (text, function) in zip(out.tolist(), INTEGERS.items(), strict=True):
        assert got == [function(number) & 0xFFFFFFFF for number in numbers], text


def test_floats_out_of_range_become_the_nearest_integer() -> None:
    module = compile_emulated(
        """
        extern "C" __global__ void f(long long* y, const double* a) {
          int t = threadIdx.x;
          y[t] = __double2int_rz(a[t]);
          y[6 + t] = __double2uint_rz(a[t]);
          y[12 + t] = __double2ll_rz(a[t]);
        }
        """,
        ["f"],
    )
    out = np.zeros((3, 6), np.int64)
    module.launch("f", (1,), (6,), [out, np.array([1e30, -1e30, np.nan, -1.5, 2.0**31, 2.0**31 - 0.5])])
    low, high = np.iinfo(np.int64).min, np.iinfo(np.int64).max
    assert out[0].tolist() == [2**31 - 1, -(2**31), 0, -1, 2**31 - 1, 2**31 - 1]
    assert out[1].tolist() == [2**32 - 1, 0, 0, 0, 2**31, 2**31 - 1]
    assert out[2].tolist() == [high, low, low, -1, 2**31, 2**31 - 1]

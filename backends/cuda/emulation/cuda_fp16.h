// Half floats with the names of <cuda_fp16.h>: stored in 16 bits, computed as float, rounded to nearest even.

#pragma once

struct __half_raw {
  unsigned short x;
};

STEPWELL_INLINE float stepwell_half_to_float(unsigned short bits) {
  unsigned sign = unsigned(bits & 0x8000u) << 16, magnitude = bits & 0x7fffu;
  if (magnitude >= 0x7c00u) return __uint_as_float(sign | 0x7f800000u | (magnitude & 0x3ffu) << 13);
  if (magnitude >= 0x0400u) return __uint_as_float(sign | ((magnitude << 13) + 0x38000000u));
  float value = float(magnitude) * 0x1p-24f;  // exact: a subnormal is a multiple of 2 ** -24
  return sign != 0 ? -value : value;
}

STEPWELL_INLINE unsigned short stepwell_float_to_half(float value) {
  unsigned bits = __float_as_uint(value), sign = bits >> 16 & 0x8000u, magnitude = bits & 0x7fffffffu;
  if (magnitude > 0x7f800000u) return 0x7fff;  // CUDA's NaN
  if (magnitude >= 0x477ff000u) return (unsigned short)(sign | 0x7c00u);
  if (magnitude >= 0x38800000u) {
    unsigned rounded = magnitude + 0xfffu + (magnitude >> 13 & 1u);
    return (unsigned short)(sign | (rounded - 0x38000000u) >> 13);
  }
  // The unit in the last place of 0.5f is that of a subnormal half, so the addition rounds.
  return (unsigned short)(sign | (__float_as_uint(__uint_as_float(magnitude) + 0.5f) - 0x3f000000u));
}

struct __align__(2) __half {
  unsigned short __x;

  constexpr __half() = default;
  STEPWELL_INLINE __half(__half_raw raw) : __x(raw.x) {}
  STEPWELL_INLINE __half(float value) : __x(stepwell_float_to_half(value)) {}
  STEPWELL_INLINE __half(double value) : __x(stepwell_float_to_half(stepwell_double_to_odd_float(value))) {}
  STEPWELL_INLINE __half(int value) : __half(double(value)) {}
  STEPWELL_INLINE __half(unsigned value) : __half(double(value)) {}
  STEPWELL_INLINE operator float() const { return stepwell_half_to_float(__x); }
  STEPWELL_INLINE operator __half_raw() const { return {__x}; }
};
using half = __half;

struct __align__(4) __half2 {
  __half x, y;
};
using half2 = __half2;

STEPWELL_INLINE float __half2float(__half x) { return stepwell_half_to_float(x.__x); }
STEPWELL_INLINE __half __float2half_rn(float x) { return __half(x); }
STEPWELL_INLINE __half __float2half(float x) { return __half(x); }
STEPWELL_INLINE __half __double2half(double x) { return __half(x); }
STEPWELL_INLINE __half __int2half_rn(int x) { return __half(x); }
STEPWELL_INLINE __half __uint2half_rn(unsigned x) { return __half(x); }
STEPWELL_INLINE int __half2int_rz(__half x) { return __float2int_rz(__half2float(x)); }
STEPWELL_INLINE unsigned __half2uint_rz(__half x) { return __float2uint_rz(__half2float(x)); }
STEPWELL_INLINE unsigned short __half_as_ushort(__half x) { return x.__x; }
STEPWELL_INLINE short __half_as_short(__half x) { return short(x.__x); }
STEPWELL_INLINE __half __ushort_as_half(unsigned short x) { return __half(__half_raw{x}); }
STEPWELL_INLINE __half __short_as_half(short x) { return __half(__half_raw{(unsigned short)x}); }
STEPWELL_INLINE __half2 make_half2(__half x, __half y) { return {x, y}; }
STEPWELL_INLINE __half2 __halves2half2(__half x, __half y) { return {x, y}; }
STEPWELL_INLINE __half2 __half2half2(__half x) { return {x, x}; }
STEPWELL_INLINE __half2 __float2half2_rn(float x) { return {__half(x), __half(x)}; }
STEPWELL_INLINE __half2 __floats2half2_rn(float x, float y) { return {__half(x), __half(y)}; }
STEPWELL_INLINE __half2 __float22half2_rn(float2 x) { return {__half(x.x), __half(x.y)}; }
STEPWELL_INLINE float2 __half22float2(__half2 x) { return {__half2float(x.x), __half2float(x.y)}; }
STEPWELL_INLINE __half __low2half(__half2 x) { return x.x; }
STEPWELL_INLINE __half __high2half(__half2 x) { return x.y; }
STEPWELL_INLINE float __low2float(__half2 x) { return __half2float(x.x); }
STEPWELL_INLINE float __high2float(__half2 x) { return __half2float(x.y); }

// A float has more than twice the bits of a half, so the double rounding of an operation on floats is correct rounding.
#define STEPWELL_HALF_OPERATION(name, operation)                                                                       \
  STEPWELL_INLINE __half name(__half x, __half y) { return __half(__half2float(x) operation __half2float(y)); }        \
  STEPWELL_INLINE __half operator operation(__half x, __half y) { return name(x, y); }
STEPWELL_HALF_OPERATION(__hadd, +)
STEPWELL_HALF_OPERATION(__hsub, -)
STEPWELL_HALF_OPERATION(__hmul, *)
STEPWELL_HALF_OPERATION(__hdiv, /)
STEPWELL_INLINE __half __hneg(__half x) { return __ushort_as_half(x.__x ^ 0x8000u); }
STEPWELL_INLINE __half operator-(__half x) { return __hneg(x); }
STEPWELL_INLINE __half __habs(__half x) { return __ushort_as_half(x.__x & 0x7fffu); }
STEPWELL_INLINE __half __hfma(__half x, __half y, __half z) {  // the product is exact in a float, the sum in a double
  return __half(double(__half2float(x) * __half2float(y)) + double(__half2float(z)));
}

#define STEPWELL_HALF_COMPARISON(name, operation)                                                                      \
  STEPWELL_INLINE bool name(__half x, __half y) { return __half2float(x) operation __half2float(y); }                  \
  STEPWELL_INLINE bool operator operation(__half x, __half y) { return name(x, y); }
STEPWELL_HALF_COMPARISON(__heq, ==)
STEPWELL_HALF_COMPARISON(__hlt, <)
STEPWELL_HALF_COMPARISON(__hle, <=)
STEPWELL_HALF_COMPARISON(__hgt, >)
STEPWELL_HALF_COMPARISON(__hge, >=)
STEPWELL_INLINE bool operator!=(__half x, __half y) { return __half2float(x) != __half2float(y); }
STEPWELL_INLINE bool __hisnan(__half x) { return (x.__x & 0x7fffu) > 0x7c00u; }
STEPWELL_INLINE bool __hisinf(__half x) { return (x.__x & 0x7fffu) == 0x7c00u; }

STEPWELL_INLINE __half __ldg(const __half* address) { return *address; }
STEPWELL_SHUFFLES(__half)
STEPWELL_SHUFFLES(__half2)
STEPWELL_ATOMIC(atomicAdd, __half, old + value)
STEPWELL_ATOMIC(atomicAdd, __half2, (__half2{old.x + value.x, old.y + value.y}))

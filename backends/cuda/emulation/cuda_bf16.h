// bfloat16 with the names of <cuda_bf16.h>: stored in 16 bits, computed as float, rounded to nearest even.

#pragma once

struct __nv_bfloat16_raw {
  unsigned short x;
};

STEPWELL_INLINE float stepwell_bfloat16_to_float(unsigned short bits) { return __uint_as_float(unsigned(bits) << 16); }

STEPWELL_INLINE unsigned short stepwell_float_to_bfloat16(float value) {
  unsigned bits = __float_as_uint(value);
  if ((bits & 0x7fffffffu) > 0x7f800000u) return 0x7fff;  // CUDA's NaN
  return (unsigned short)((bits + 0x7fffu + (bits >> 16 & 1u)) >> 16);
}

struct __align__(2) __nv_bfloat16 {
  unsigned short __x;

  constexpr __nv_bfloat16() = default;
  STEPWELL_INLINE __nv_bfloat16(__nv_bfloat16_raw raw) : __x(raw.x) {}
  STEPWELL_INLINE __nv_bfloat16(float value) : __x(stepwell_float_to_bfloat16(value)) {}
  STEPWELL_INLINE __nv_bfloat16(double value) : __x(stepwell_float_to_bfloat16(stepwell_double_to_odd_float(value))) {}
  STEPWELL_INLINE __nv_bfloat16(int value) : __nv_bfloat16(double(value)) {}
  STEPWELL_INLINE __nv_bfloat16(unsigned value) : __nv_bfloat16(double(value)) {}
  STEPWELL_INLINE operator float() const { return stepwell_bfloat16_to_float(__x); }
  STEPWELL_INLINE operator __nv_bfloat16_raw() const { return {__x}; }
};

struct __align__(4) __nv_bfloat162 {
  __nv_bfloat16 x, y;
};

STEPWELL_INLINE float __bfloat162float(__nv_bfloat16 x) { return stepwell_bfloat16_to_float(x.__x); }
STEPWELL_INLINE __nv_bfloat16 __float2bfloat16_rn(float x) { return __nv_bfloat16(x); }
STEPWELL_INLINE __nv_bfloat16 __float2bfloat16(float x) { return __nv_bfloat16(x); }
STEPWELL_INLINE __nv_bfloat16 __double2bfloat16(double x) { return __nv_bfloat16(x); }
STEPWELL_INLINE __nv_bfloat16 __int2bfloat16_rn(int x) { return __nv_bfloat16(x); }
STEPWELL_INLINE int __bfloat162int_rz(__nv_bfloat16 x) { return __float2int_rz(__bfloat162float(x)); }
STEPWELL_INLINE unsigned short __bfloat16_as_ushort(__nv_bfloat16 x) { return x.__x; }
STEPWELL_INLINE short __bfloat16_as_short(__nv_bfloat16 x) { return short(x.__x); }
STEPWELL_INLINE __nv_bfloat16 __ushort_as_bfloat16(unsigned short x) { return __nv_bfloat16(__nv_bfloat16_raw{x}); }
STEPWELL_INLINE __nv_bfloat16 __short_as_bfloat16(short x) {
  return __nv_bfloat16(__nv_bfloat16_raw{(unsigned short)x});
}
STEPWELL_INLINE __nv_bfloat162 make_bfloat162(__nv_bfloat16 x, __nv_bfloat16 y) { return {x, y}; }
STEPWELL_INLINE __nv_bfloat162 __halves2bfloat162(__nv_bfloat16 x, __nv_bfloat16 y) { return {x, y}; }
STEPWELL_INLINE __nv_bfloat162 __floats2bfloat162_rn(float x, float y) { return {__nv_bfloat16(x), __nv_bfloat16(y)}; }
STEPWELL_INLINE __nv_bfloat162 __float22bfloat162_rn(float2 x) { return {__nv_bfloat16(x.x), __nv_bfloat16(x.y)}; }
STEPWELL_INLINE float2 __bfloat1622float2(__nv_bfloat162 x) { return {__bfloat162float(x.x), __bfloat162float(x.y)}; }

// A float has more than twice the bits of a bfloat16, so double rounding is correct rounding.
#define STEPWELL_BFLOAT16_OPERATION(name, operation)                                                                   \
  STEPWELL_INLINE __nv_bfloat16 name(__nv_bfloat16 x, __nv_bfloat16 y) {                                               \
    return __nv_bfloat16(__bfloat162float(x) operation __bfloat162float(y));                                           \
  }                                                                                                                    \
  STEPWELL_INLINE __nv_bfloat16 operator operation(__nv_bfloat16 x, __nv_bfloat16 y) { return name(x, y); }
STEPWELL_BFLOAT16_OPERATION(__hadd, +)
STEPWELL_BFLOAT16_OPERATION(__hsub, -)
STEPWELL_BFLOAT16_OPERATION(__hmul, *)
STEPWELL_BFLOAT16_OPERATION(__hdiv, /)
STEPWELL_INLINE __nv_bfloat16 __hneg(__nv_bfloat16 x) { return __ushort_as_bfloat16(x.__x ^ 0x8000u); }
STEPWELL_INLINE __nv_bfloat16 operator-(__nv_bfloat16 x) { return __hneg(x); }
STEPWELL_INLINE __nv_bfloat16 __habs(__nv_bfloat16 x) { return __ushort_as_bfloat16(x.__x & 0x7fffu); }

#define STEPWELL_BFLOAT16_COMPARISON(name, operation)                                                                  \
  STEPWELL_INLINE bool name(__nv_bfloat16 x, __nv_bfloat16 y) {                                                        \
    return __bfloat162float(x) operation __bfloat162float(y);                                                          \
  }                                                                                                                    \
  STEPWELL_INLINE bool operator operation(__nv_bfloat16 x, __nv_bfloat16 y) { return name(x, y); }
STEPWELL_BFLOAT16_COMPARISON(__heq, ==)
STEPWELL_BFLOAT16_COMPARISON(__hlt, <)
STEPWELL_BFLOAT16_COMPARISON(__hle, <=)
STEPWELL_BFLOAT16_COMPARISON(__hgt, >)
STEPWELL_BFLOAT16_COMPARISON(__hge, >=)
STEPWELL_INLINE bool operator!=(__nv_bfloat16 x, __nv_bfloat16 y) { return __bfloat162float(x) != __bfloat162float(y); }
STEPWELL_INLINE bool __hisnan(__nv_bfloat16 x) { return (x.__x & 0x7fffu) > 0x7f80u; }

STEPWELL_SHUFFLES(__nv_bfloat16)
STEPWELL_SHUFFLES(__nv_bfloat162)
STEPWELL_ATOMIC(atomicAdd, __nv_bfloat16, old + value)
STEPWELL_ATOMIC(atomicAdd, __nv_bfloat162, (__nv_bfloat162{old.x + value.x, old.y + value.y}))

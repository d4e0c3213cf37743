// 8-bit floats with the names of <cuda_fp8.h>: stored as bytes, converted from and to float, rounded to nearest even.

#pragma once

#include "cuda_fp16.h"

using __nv_fp8_storage_t = unsigned char;
enum __nv_saturation_t { __NV_NOSAT, __NV_SATFINITE };
enum __nv_fp8_interpretation_t { __NV_E4M3, __NV_E5M2 };

STEPWELL_INLINE float stepwell_fp8_to_float(unsigned char bits, bool is_e5m2) {
  // e5m2 is the upper byte of a half.
  if (is_e5m2) return stepwell_half_to_float((unsigned short)(bits << 8));
  unsigned magnitude = bits & 0x7fu;
  float value = magnitude == 0x7fu ? __builtin_nanf("")
                : magnitude < 8u   ? float(magnitude) * 0x1p-9f
                                   : __uint_as_float((magnitude << 20) + 0x3c000000u);
  return (bits & 0x80u) != 0 ? -value : value;
}

STEPWELL_INLINE unsigned char stepwell_float_to_fp8(float value, bool is_e5m2, bool saturates) {
  const unsigned fraction = is_e5m2 ? 2 : 3, dropped = 23 - fraction;
  const unsigned least = is_e5m2 ? 0x38800000u : 0x3c800000u;  // 2 ** -14, 2 ** -6: the smallest normal numbers
  const unsigned highest = is_e5m2 ? 0x7bu : 0x7eu, overflow = is_e5m2 ? 0x7cu : 0x7fu;
  unsigned bits = __float_as_uint(value), sign = bits >> 24 & 0x80u, magnitude = bits & 0x7fffffffu;
  if (magnitude > 0x7f800000u) return 0x7f;
  unsigned result;
  if (magnitude >= least) {
    unsigned rounded = magnitude + ((1u << (dropped - 1)) - 1u) + (magnitude >> dropped & 1u);
    result = (rounded - least + (1u << 23)) >> dropped;
  } else {
    // The sum with a float whose unit in the last place is that of a subnormal number rounds to such units.
    float unit = is_e5m2 ? 0x1p7f : 0x1p14f;
    result = __float_as_uint(__uint_as_float(magnitude) + unit) - __float_as_uint(unit);
  }
  if (result > highest) result = saturates ? highest : overflow;
  return (unsigned char)(sign | result);
}

STEPWELL_INLINE __nv_fp8_storage_t __nv_cvt_float_to_fp8(float x, __nv_saturation_t saturation,
                                                         __nv_fp8_interpretation_t interpretation) {
  return stepwell_float_to_fp8(x, interpretation == __NV_E5M2, saturation == __NV_SATFINITE);
}
STEPWELL_INLINE __half_raw __nv_cvt_fp8_to_halfraw(__nv_fp8_storage_t x, __nv_fp8_interpretation_t interpretation) {
  return {stepwell_float_to_half(stepwell_fp8_to_float(x, interpretation == __NV_E5M2))};
}

#define STEPWELL_FP8(name, is_e5m2)                                                                                    \
  struct name {                                                                                                        \
    __nv_fp8_storage_t __x;                                                                                            \
    constexpr name() = default;                                                                                        \
    STEPWELL_INLINE explicit name(float value) : __x(stepwell_float_to_fp8(value, is_e5m2, true)) {}                   \
    STEPWELL_INLINE explicit operator float() const { return stepwell_fp8_to_float(__x, is_e5m2); }                    \
  };
STEPWELL_FP8(__nv_fp8_e4m3, false)
STEPWELL_FP8(__nv_fp8_e5m2, true)

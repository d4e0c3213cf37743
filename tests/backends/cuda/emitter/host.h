// What CUDA C++ has beyond C++, enough to run a kernel of one thread on the host.
#include <cmath>
#include <cstring>

#define __global__
#define __device__
#define __shared__
#define __forceinline__ inline
#define __launch_bounds__(n)
#define __align__(n) __attribute__((aligned(n)))

struct dim3 { unsigned x, y, z; };
static const dim3 blockDim = {1, 1, 1}, gridDim = {1, 1, 1};
extern "C" { dim3 threadIdx, blockIdx; int trapped; unsigned char shared_dyn[1 << 16]; }
static inline void __trap() { trapped = 1; }

#define VECTORS(t, name, size) \
  struct __align__(2 * size) name##2 { t x, y; }; \
  struct __align__(4 * size) name##4 { t x, y, z, w; }; \
  static inline name##2 make_##name##2(t x, t y) { return {x, y}; } \
  static inline name##4 make_##name##4(t x, t y, t z, t w) { return {x, y, z, w}; }
VECTORS(signed char, char, 1)
VECTORS(unsigned char, uchar, 1)
VECTORS(short, short, 2)
VECTORS(int, int, 4)
VECTORS(long long, longlong, 8)
VECTORS(float, float, 4)
VECTORS(double, double, 8)

template <class To, class From> static inline To same_bits(From x) { To y; memcpy(&y, &x, sizeof(y)); return y; }
static inline int __float_as_int(float x) { return same_bits<int>(x); }
static inline float __int_as_float(int x) { return same_bits<float>(x); }
static inline unsigned __float_as_uint(float x) { return same_bits<unsigned>(x); }
static inline float __uint_as_float(unsigned x) { return same_bits<float>(x); }
static inline long long __double_as_longlong(double x) { return same_bits<long long>(x); }
static inline double __longlong_as_double(long long x) { return same_bits<double>(x); }

#define EXTREMES(t) \
  static inline t min(t a, t b) { return a < b ? a : b; } \
  static inline t max(t a, t b) { return a > b ? a : b; }
EXTREMES(int)
EXTREMES(unsigned)
EXTREMES(long long)
EXTREMES(unsigned long long)

static inline int __clz(int x) { return x == 0 ? 32 : __builtin_clz(x); }
static inline int __clzll(long long x) { return x == 0 ? 64 : __builtin_clzll(x); }
static inline int __ffsll(long long x) { return __builtin_ffsll(x); }
static inline int __popc(unsigned x) { return __builtin_popcount(x); }
static inline int __popcll(unsigned long long x) { return __builtin_popcountll(x); }
static inline long long __mul64hi(long long a, long long b) { return (long long)(((__int128)a * b) >> 64); }
static inline unsigned long long __umul64hi(unsigned long long a, unsigned long long b) {
  return (unsigned long long)(((unsigned __int128)a * b) >> 64);
}

struct __half { unsigned short bits; };
static inline __half __ushort_as_half(unsigned short x) { return {x}; }
static inline unsigned short __half_as_ushort(__half x) { return x.bits; }
static inline float __half2float(__half x) { return (float)same_bits<_Float16>(x.bits); }
static inline __half __float2half_rn(float x) { return {same_bits<unsigned short>((_Float16)x)}; }
struct __align__(4) __half2 { __half x, y; __half2(__half a, __half b) : x(a), y(b) {} };

struct __nv_bfloat16 { unsigned short bits; };
static inline __nv_bfloat16 __ushort_as_bfloat16(unsigned short x) { return {x}; }
static inline unsigned short __bfloat16_as_ushort(__nv_bfloat16 x) { return x.bits; }
static inline float __bfloat162float(__nv_bfloat16 x) { return same_bits<float>((unsigned)x.bits << 16); }
static inline __nv_bfloat16 __float2bfloat16_rn(float x) {
  const unsigned bits = same_bits<unsigned>(x);
  if (x != x) return {0x7fff};
  return {(unsigned short)((bits + 0x7fff + (bits >> 16 & 1)) >> 16)};
}
struct __align__(4) __nv_bfloat162 {
  __nv_bfloat16 x, y;
  __nv_bfloat162(__nv_bfloat16 a, __nv_bfloat16 b) : x(a), y(b) {}
};

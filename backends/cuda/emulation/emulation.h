// The environment of CUDA C++ for g++: kernels run on the CPU, each thread of a block as a fibre.
//
// It precedes the source by `-include`, so the lines of the source keep their numbers. It includes no header, so a
// kernel compiles in a tenth of a second. Functions named `stepwell_` are defined in runtime.cpp. Names that NVRTC
// lacks (int64_t, std::, puts) are missing here too, so that tests reject them.

#pragma once

using size_t = decltype(sizeof 0);
using ptrdiff_t = decltype(static_cast<char*>(nullptr) - static_cast<char*>(nullptr));

using stepwell_i64 = long long;
using stepwell_u64 = unsigned long long;

#define __CUDA_ARCH__ 900
#define STEPWELL_EMULATION 1

// Code whose accesses are not instrumented.
#define STEPWELL_UNWATCHED __attribute__((no_sanitize("thread", "undefined")))
#define STEPWELL_INLINE inline __attribute__((always_inline))

// Declarations

#define __align__(n) __attribute__((aligned(n)))
#define __constant__
#define __device__
#define __forceinline__  // static variables of an inline function would have another kind of linkage
#define __global__
#define __grid_constant__
#define __host__
#define __launch_bounds__(...)
#define __noinline__ __attribute__((noinline))
#define __restrict__
// constinit: without it g++ constructs an array of a class with constructors on first use.
#define __shared__ static constinit __attribute__((section("stepwell_shared"), used))

#define __assume(condition) __builtin_assume(condition)
#define __builtin_assume(condition) ((condition) ? void() : stepwell_broken_assumption(__LINE__))

extern "C" [[noreturn]] void stepwell_broken_assumption(int line);
extern "C" [[noreturn]] void stepwell_trap(int line);

STEPWELL_INLINE void __trap(int line = __builtin_LINE()) { stepwell_trap(line); }

extern "C" int stepwell_printf(const char* format, ...) __attribute__((format(__printf__, 1, 2)));
#define printf stepwell_printf

// Vector types

#define STEPWELL_VECTOR(type, name, align2, align4)                                                                    \
  struct name##1 { type x; };                                                                                          \
  struct __align__(align2) name##2 { type x, y; };                                                                     \
  struct name##3 { type x, y, z; };                                                                                    \
  struct __align__(align4) name##4 { type x, y, z, w; };                                                               \
  STEPWELL_INLINE name##1 make_##name##1(type x) { return {x}; }                                                       \
  STEPWELL_INLINE name##2 make_##name##2(type x, type y) { return {x, y}; }                                            \
  STEPWELL_INLINE name##3 make_##name##3(type x, type y, type z) { return {x, y, z}; }                                 \
  STEPWELL_INLINE name##4 make_##name##4(type x, type y, type z, type w) { return {x, y, z, w}; }

STEPWELL_VECTOR(signed char, char, 2, 4)
STEPWELL_VECTOR(unsigned char, uchar, 2, 4)
STEPWELL_VECTOR(short, short, 4, 8)
STEPWELL_VECTOR(unsigned short, ushort, 4, 8)
STEPWELL_VECTOR(int, int, 8, 16)
STEPWELL_VECTOR(unsigned, uint, 8, 16)
STEPWELL_VECTOR(long, long, 16, 16)
STEPWELL_VECTOR(unsigned long, ulong, 16, 16)
STEPWELL_VECTOR(long long, longlong, 16, 16)
STEPWELL_VECTOR(unsigned long long, ulonglong, 16, 16)
STEPWELL_VECTOR(float, float, 8, 16)
STEPWELL_VECTOR(double, double, 16, 16)

struct dim3 {
  unsigned x, y, z;
  constexpr dim3(unsigned x = 1, unsigned y = 1, unsigned z = 1) : x(x), y(y), z(z) {}
};

// The indices of the current thread. The runtime sets them when it switches to a fibre, so they are constant for the
// code of one thread.

extern const uint3 threadIdx __asm__("stepwell_thread_index");
extern const uint3 blockIdx __asm__("stepwell_block_index");
extern const uint3 blockDim __asm__("stepwell_block_size");
extern const uint3 gridDim __asm__("stepwell_grid_size");
constexpr int warpSize = 32;

// Barriers. The line of a call identifies the barrier.

extern "C" {
void stepwell_barrier(int line, int operation, int predicate);
unsigned stepwell_barrier_result();
void stepwell_sync_warp(unsigned mask, int line);
unsigned stepwell_active_mask(int line);
unsigned stepwell_vote(int operation, unsigned mask, unsigned long long value, int line);
const char* stepwell_exchange(const void* left, unsigned left_bytes, const void* right, unsigned right_bytes, int line);
unsigned long long stepwell_shuffle(int operation, unsigned mask, unsigned long long value, int lane, int width,
                                    int line);
}

STEPWELL_INLINE void __syncthreads(int line = __builtin_LINE()) { stepwell_barrier(line, 0, 0); }

#define STEPWELL_COUNTING_BARRIER(name, operation)                                                                     \
  STEPWELL_INLINE int name(int predicate, int line = __builtin_LINE()) {                                               \
    stepwell_barrier(line, operation, predicate);                                                                      \
    return int(stepwell_barrier_result());                                                                             \
  }
STEPWELL_COUNTING_BARRIER(__syncthreads_count, 1)
STEPWELL_COUNTING_BARRIER(__syncthreads_and, 2)
STEPWELL_COUNTING_BARRIER(__syncthreads_or, 3)

STEPWELL_INLINE void __syncwarp(unsigned mask = 0xffffffffu, int line = __builtin_LINE()) {
  stepwell_sync_warp(mask, line);
}
STEPWELL_INLINE unsigned __activemask(int line = __builtin_LINE()) { return stepwell_active_mask(line); }

// Fences order the memory accesses of one thread for others. They do not wait, so no race is removed by them.
STEPWELL_INLINE void __threadfence() {}
STEPWELL_INLINE void __threadfence_block() {}
STEPWELL_INLINE void __threadfence_system() {}

STEPWELL_INLINE unsigned __ballot_sync(unsigned mask, int predicate, int line = __builtin_LINE()) {
  return stepwell_vote(0, mask, predicate != 0, line);
}
STEPWELL_INLINE int __any_sync(unsigned mask, int predicate, int line = __builtin_LINE()) {
  return stepwell_vote(1, mask, predicate != 0, line) != 0;
}
STEPWELL_INLINE int __all_sync(unsigned mask, int predicate, int line = __builtin_LINE()) {
  return stepwell_vote(2, mask, predicate == 0, line) == 0;
}
STEPWELL_INLINE unsigned __reduce_add_sync(unsigned mask, unsigned value, int line = __builtin_LINE()) {
  return stepwell_vote(3, mask, value, line);
}
STEPWELL_INLINE int __reduce_add_sync(unsigned mask, int value, int line = __builtin_LINE()) {
  return int(stepwell_vote(3, mask, unsigned(value), line));
}
STEPWELL_INLINE unsigned __reduce_min_sync(unsigned mask, unsigned value, int line = __builtin_LINE()) {
  return stepwell_vote(4, mask, value, line);
}
STEPWELL_INLINE int __reduce_min_sync(unsigned mask, int value, int line = __builtin_LINE()) {
  return int(stepwell_vote(6, mask, unsigned(value), line));
}
STEPWELL_INLINE unsigned __reduce_max_sync(unsigned mask, unsigned value, int line = __builtin_LINE()) {
  return stepwell_vote(5, mask, value, line);
}
STEPWELL_INLINE int __reduce_max_sync(unsigned mask, int value, int line = __builtin_LINE()) {
  return int(stepwell_vote(7, mask, unsigned(value), line));
}

// `value` as bits: 8 bytes hold every operand of a shuffle or an atomic operation.
template <class T>
STEPWELL_INLINE unsigned long long stepwell_bits_of(T value) {
  unsigned long long bits = 0;
  __builtin_memcpy(&bits, &value, sizeof(T));
  return bits;
}
template <class T>
STEPWELL_INLINE T stepwell_of_bits(unsigned long long bits) {
  T value;
  __builtin_memcpy(&value, &bits, sizeof(T));
  return value;
}

#define STEPWELL_SHUFFLES(type)                                                                                        \
  STEPWELL_INLINE type __shfl_sync(unsigned mask, type value, int lane, int width = 32, int line = __builtin_LINE()) { \
    return stepwell_of_bits<type>(stepwell_shuffle(0, mask, stepwell_bits_of(value), lane, width, line));              \
  }                                                                                                                    \
  STEPWELL_INLINE type __shfl_up_sync(unsigned mask, type value, unsigned delta, int width = 32,                       \
                                      int line = __builtin_LINE()) {                                                   \
    return stepwell_of_bits<type>(stepwell_shuffle(1, mask, stepwell_bits_of(value), int(delta), width, line));        \
  }                                                                                                                    \
  STEPWELL_INLINE type __shfl_down_sync(unsigned mask, type value, unsigned delta, int width = 32,                     \
                                        int line = __builtin_LINE()) {                                                 \
    return stepwell_of_bits<type>(stepwell_shuffle(2, mask, stepwell_bits_of(value), int(delta), width, line));        \
  }                                                                                                                    \
  STEPWELL_INLINE type __shfl_xor_sync(unsigned mask, type value, int lanes, int width = 32,                           \
                                       int line = __builtin_LINE()) {                                                  \
    return stepwell_of_bits<type>(stepwell_shuffle(3, mask, stepwell_bits_of(value), lanes, width, line));             \
  }

STEPWELL_SHUFFLES(int)
STEPWELL_SHUFFLES(unsigned)
STEPWELL_SHUFFLES(long)
STEPWELL_SHUFFLES(unsigned long)
STEPWELL_SHUFFLES(long long)
STEPWELL_SHUFFLES(unsigned long long)
STEPWELL_SHUFFLES(float)
STEPWELL_SHUFFLES(double)

// Atomic operations: threads switch only at barriers, so it is enough to notify the runtime.

extern "C" void stepwell_atomic(const void* address, unsigned size, int line);

template <class T, class F>
STEPWELL_UNWATCHED inline T stepwell_update(T* address, int line, F change) {
  stepwell_atomic(address, sizeof(T), line);
  T old;
  __builtin_memcpy(&old, address, sizeof(T));
  T value = change(old);
  __builtin_memcpy(address, &value, sizeof(T));
  return old;
}

#define STEPWELL_ATOMIC(name, type, result)                                                                            \
  STEPWELL_INLINE type name(type* address, type value, int line = __builtin_LINE()) {                                  \
    return stepwell_update(address, line, [value](type old) -> type { return result; });                               \
  }
#define STEPWELL_ATOMIC_CAS(type)                                                                                      \
  STEPWELL_INLINE type atomicCAS(type* address, type expected, type value, int line = __builtin_LINE()) {              \
    return stepwell_update(address, line, [=](type old) -> type { return old == expected ? value : old; });            \
  }

STEPWELL_ATOMIC(atomicAdd, int, int(unsigned(old) + unsigned(value)))
STEPWELL_ATOMIC(atomicAdd, unsigned, old + value)
STEPWELL_ATOMIC(atomicAdd, unsigned long long, old + value)
STEPWELL_ATOMIC(atomicAdd, float, old + value)
STEPWELL_ATOMIC(atomicAdd, double, old + value)
STEPWELL_ATOMIC(atomicSub, int, int(unsigned(old) - unsigned(value)))
STEPWELL_ATOMIC(atomicSub, unsigned, old - value)
STEPWELL_ATOMIC(atomicExch, int, value)
STEPWELL_ATOMIC(atomicExch, unsigned, value)
STEPWELL_ATOMIC(atomicExch, unsigned long long, value)
STEPWELL_ATOMIC(atomicExch, float, value)
STEPWELL_ATOMIC(atomicInc, unsigned, old >= value ? 0u : old + 1u)
STEPWELL_ATOMIC(atomicDec, unsigned, old == 0u || old > value ? value : old - 1u)
#define STEPWELL_ATOMIC_ORDERED(type)                                                                                  \
  STEPWELL_ATOMIC(atomicMin, type, value < old ? value : old)                                                          \
  STEPWELL_ATOMIC(atomicMax, type, value > old ? value : old)
STEPWELL_ATOMIC_ORDERED(int)
STEPWELL_ATOMIC_ORDERED(unsigned)
STEPWELL_ATOMIC_ORDERED(stepwell_i64)
STEPWELL_ATOMIC_ORDERED(stepwell_u64)
#define STEPWELL_ATOMIC_BITWISE(type)                                                                                  \
  STEPWELL_ATOMIC(atomicAnd, type, type(old& value))                                                                   \
  STEPWELL_ATOMIC(atomicOr, type, type(old | value))                                                                   \
  STEPWELL_ATOMIC(atomicXor, type, type(old ^ value))
STEPWELL_ATOMIC_BITWISE(int)
STEPWELL_ATOMIC_BITWISE(unsigned)
STEPWELL_ATOMIC_BITWISE(stepwell_u64)
STEPWELL_ATOMIC_CAS(int)
STEPWELL_ATOMIC_CAS(unsigned)
STEPWELL_ATOMIC_CAS(stepwell_u64)
STEPWELL_ATOMIC_CAS(unsigned short)

// Loads and stores with a cache operator, and copies of memory

template <class T>
STEPWELL_INLINE T __ldg(const T* address) {
  return *address;
}
template <class T>
STEPWELL_INLINE T __ldcg(const T* address) {
  return *address;
}
template <class T>
STEPWELL_INLINE T __ldca(const T* address) {
  return *address;
}
template <class T>
STEPWELL_INLINE T __ldcs(const T* address) {
  return *address;
}
template <class T>
STEPWELL_INLINE void __stcg(T* address, T value) {
  *address = value;
}
template <class T>
STEPWELL_INLINE void __stcs(T* address, T value) {
  *address = value;
}

extern "C" {
void* stepwell_memcpy(void* to, const void* from, size_t bytes);
void* stepwell_memset(void* to, int value, size_t bytes);
}
#define memcpy(to, from, bytes) stepwell_memcpy(to, from, bytes)
#define memset(to, value, bytes) stepwell_memset(to, value, bytes)

// Bits

#define STEPWELL_BIT_CAST(name, from, to)                                                                              \
  STEPWELL_INLINE to name(from value) { return __builtin_bit_cast(to, value); }
STEPWELL_BIT_CAST(__int_as_float, int, float)
STEPWELL_BIT_CAST(__uint_as_float, unsigned, float)
STEPWELL_BIT_CAST(__float_as_int, float, int)
STEPWELL_BIT_CAST(__float_as_uint, float, unsigned)
STEPWELL_BIT_CAST(__longlong_as_double, long long, double)
STEPWELL_BIT_CAST(__double_as_longlong, double, long long)

STEPWELL_INLINE int __popc(unsigned x) { return __builtin_popcount(x); }
STEPWELL_INLINE int __popcll(unsigned long long x) { return __builtin_popcountll(x); }
STEPWELL_INLINE int __clz(int x) { return x == 0 ? 32 : __builtin_clz(unsigned(x)); }
STEPWELL_INLINE int __clzll(long long x) { return x == 0 ? 64 : __builtin_clzll((unsigned long long)x); }
STEPWELL_INLINE int __ffs(int x) { return __builtin_ffs(x); }
STEPWELL_INLINE int __ffsll(long long x) { return __builtin_ffsll(x); }
STEPWELL_INLINE unsigned __brev(unsigned x) {
  unsigned result = 0;
  for (int bit = 0; bit < 32; ++bit) result |= (x >> bit & 1u) << (31 - bit);
  return result;
}
STEPWELL_INLINE unsigned long long __brevll(unsigned long long x) {
  return (unsigned long long)__brev(unsigned(x)) << 32 | __brev(unsigned(x >> 32));
}
STEPWELL_INLINE unsigned __byte_perm(unsigned x, unsigned y, unsigned selector) {
  unsigned long long bytes = (unsigned long long)y << 32 | x;
  unsigned result = 0;
  for (int i = 0; i < 4; ++i) result |= unsigned(bytes >> 8 * (selector >> 4 * i & 7u) & 255u) << 8 * i;
  return result;
}
STEPWELL_INLINE int __mulhi(int x, int y) { return int((long long)x * y >> 32); }
STEPWELL_INLINE unsigned __umulhi(unsigned x, unsigned y) { return unsigned((unsigned long long)x * y >> 32); }
STEPWELL_INLINE long long __mul64hi(long long x, long long y) { return (long long)((__int128)x * y >> 64); }
STEPWELL_INLINE unsigned long long __umul64hi(unsigned long long x, unsigned long long y) {
  return (unsigned long long)((unsigned __int128)x * y >> 64);
}
STEPWELL_INLINE int __mul24(int x, int y) { return int(unsigned(x << 8 >> 8) * unsigned(y << 8 >> 8)); }
STEPWELL_INLINE unsigned __sad(int x, int y, unsigned z) {
  return (x > y ? unsigned(x) - unsigned(y) : unsigned(y) - unsigned(x)) + z;
}
STEPWELL_INLINE unsigned __funnelshift_l(unsigned low, unsigned high, unsigned shift) {
  return unsigned(((unsigned long long)high << 32 | low) << (shift & 31u) >> 32);
}
STEPWELL_INLINE unsigned __funnelshift_r(unsigned low, unsigned high, unsigned shift) {
  return unsigned(((unsigned long long)high << 32 | low) >> (shift & 31u));
}
STEPWELL_INLINE int __dp4a(int x, int y, int sum) {
  for (int i = 0; i < 32; i += 8) sum += int((signed char)(x >> i)) * int((signed char)(y >> i));
  return sum;
}
STEPWELL_INLINE unsigned __dp4a(unsigned x, unsigned y, unsigned sum) {
  for (int i = 0; i < 32; i += 8) sum += (x >> i & 255u) * (y >> i & 255u);
  return sum;
}

// Mathematics: libm's functions with the names of C, and with the overloads of C++. CUDA's functions, also its fast
// variants, differ from these by a few units in the last place.

#define STEPWELL_MATH_1(name)                                                                                          \
  extern "C" double name(double) noexcept;                                                                             \
  extern "C" float name##f(float) noexcept;                                                                            \
  STEPWELL_INLINE float name(float x) { return name##f(x); }
#define STEPWELL_MATH_2(name)                                                                                          \
  extern "C" double name(double, double) noexcept;                                                                     \
  extern "C" float name##f(float, float) noexcept;                                                                     \
  STEPWELL_INLINE float name(float x, float y) { return name##f(x, y); }

STEPWELL_MATH_1(acos)
STEPWELL_MATH_1(acosh) STEPWELL_MATH_1(asin) STEPWELL_MATH_1(asinh) STEPWELL_MATH_1(atan) STEPWELL_MATH_1(atanh)
    STEPWELL_MATH_1(cbrt) STEPWELL_MATH_1(ceil) STEPWELL_MATH_1(cos) STEPWELL_MATH_1(cosh) STEPWELL_MATH_1(erf)
        STEPWELL_MATH_1(erfc) STEPWELL_MATH_1(exp) STEPWELL_MATH_1(exp2) STEPWELL_MATH_1(expm1) STEPWELL_MATH_1(fabs)
            STEPWELL_MATH_1(floor) STEPWELL_MATH_1(lgamma) STEPWELL_MATH_1(log) STEPWELL_MATH_1(log10)
                STEPWELL_MATH_1(log1p) STEPWELL_MATH_1(log2) STEPWELL_MATH_1(logb) STEPWELL_MATH_1(nearbyint)
                    STEPWELL_MATH_1(rint) STEPWELL_MATH_1(round) STEPWELL_MATH_1(sin) STEPWELL_MATH_1(sinh)
                        STEPWELL_MATH_1(sqrt) STEPWELL_MATH_1(tan) STEPWELL_MATH_1(tanh) STEPWELL_MATH_1(tgamma)
                            STEPWELL_MATH_1(trunc) STEPWELL_MATH_2(atan2) STEPWELL_MATH_2(copysign)
                                STEPWELL_MATH_2(fdim) STEPWELL_MATH_2(fmax) STEPWELL_MATH_2(fmin) STEPWELL_MATH_2(fmod)
                                    STEPWELL_MATH_2(hypot) STEPWELL_MATH_2(nextafter) STEPWELL_MATH_2(pow)
                                        STEPWELL_MATH_2(remainder)

                                            extern "C" {
  double fma(double, double, double) noexcept;
  float fmaf(float, float, float) noexcept;
  double ldexp(double, int) noexcept;
  float ldexpf(float, int) noexcept;
  double frexp(double, int*) noexcept;
  float frexpf(float, int*) noexcept;
  int ilogb(double) noexcept;
  int ilogbf(float) noexcept;
  long lrint(double) noexcept;
  long lrintf(float) noexcept;
  long lround(double) noexcept;
  long lroundf(float) noexcept;
  long long llrint(double) noexcept;
  long long llrintf(float) noexcept;
  long long llround(double) noexcept;
  long long llroundf(float) noexcept;
  int abs(int) noexcept;
  long labs(long) noexcept;
  long long llabs(long long) noexcept;
}
STEPWELL_INLINE float fma(float x, float y, float z) { return fmaf(x, y, z); }
STEPWELL_INLINE float ldexp(float x, int exponent) { return ldexpf(x, exponent); }
STEPWELL_INLINE long abs(long x) { return labs(x); }
STEPWELL_INLINE long long abs(long long x) { return llabs(x); }
STEPWELL_INLINE float abs(float x) { return fabsf(x); }
STEPWELL_INLINE double abs(double x) { return fabs(x); }

STEPWELL_INLINE float rsqrtf(float x) { return float(1.0 / sqrt(double(x))); }
STEPWELL_INLINE double rsqrt(double x) { return 1.0 / sqrt(x); }
STEPWELL_INLINE float rsqrt(float x) { return rsqrtf(x); }
STEPWELL_INLINE float rcbrtf(float x) { return float(1.0 / cbrt(double(x))); }
STEPWELL_INLINE double rcbrt(double x) { return 1.0 / cbrt(x); }
STEPWELL_INLINE float exp10f(float x) { return float(pow(10.0, double(x))); }
STEPWELL_INLINE double exp10(double x) { return pow(10.0, x); }
STEPWELL_INLINE float sinpif(float x) { return float(sin(3.14159265358979323846 * fmod(double(x), 2.0))); }
STEPWELL_INLINE float cospif(float x) { return float(cos(3.14159265358979323846 * fmod(double(x), 2.0))); }
STEPWELL_INLINE void sincosf(float x, float* sine, float* cosine) { *sine = sinf(x), *cosine = cosf(x); }
STEPWELL_INLINE void sincos(double x, double* sine, double* cosine) { *sine = sin(x), *cosine = cos(x); }

STEPWELL_INLINE bool isnan(float x) { return __builtin_isnan(x); }
STEPWELL_INLINE bool isnan(double x) { return __builtin_isnan(x); }
STEPWELL_INLINE bool isinf(float x) { return __builtin_isinf(x); }
STEPWELL_INLINE bool isinf(double x) { return __builtin_isinf(x); }
STEPWELL_INLINE bool isfinite(float x) { return __builtin_isfinite(x); }
STEPWELL_INLINE bool isfinite(double x) { return __builtin_isfinite(x); }
STEPWELL_INLINE bool signbit(float x) { return __builtin_signbit(x); }
STEPWELL_INLINE bool signbit(double x) { return __builtin_signbit(x); }

STEPWELL_INLINE float __expf(float x) { return expf(x); }
STEPWELL_INLINE float __exp10f(float x) { return exp10f(x); }
STEPWELL_INLINE float __logf(float x) { return logf(x); }
STEPWELL_INLINE float __log2f(float x) { return log2f(x); }
STEPWELL_INLINE float __log10f(float x) { return log10f(x); }
STEPWELL_INLINE float __powf(float x, float y) { return powf(x, y); }
STEPWELL_INLINE float __sinf(float x) { return sinf(x); }
STEPWELL_INLINE float __cosf(float x) { return cosf(x); }
STEPWELL_INLINE float __tanf(float x) { return tanf(x); }
STEPWELL_INLINE float __tanhf(float x) { return tanhf(x); }
STEPWELL_INLINE void __sincosf(float x, float* sine, float* cosine) { sincosf(x, sine, cosine); }
STEPWELL_INLINE float __fdividef(float x, float y) { return x / y; }
STEPWELL_INLINE float __saturatef(float x) { return fminf(fmaxf(x, 0.0f), 1.0f); }

// Operations rounded to nearest, without contraction: the emulation never contracts.
STEPWELL_INLINE float __fadd_rn(float x, float y) { return x + y; }
STEPWELL_INLINE float __fsub_rn(float x, float y) { return x - y; }
STEPWELL_INLINE float __fmul_rn(float x, float y) { return x * y; }
STEPWELL_INLINE float __fdiv_rn(float x, float y) { return x / y; }
STEPWELL_INLINE float __frcp_rn(float x) { return 1.0f / x; }
STEPWELL_INLINE float __fsqrt_rn(float x) { return sqrtf(x); }
STEPWELL_INLINE float __frsqrt_rn(float x) { return rsqrtf(x); }
STEPWELL_INLINE float __fmaf_rn(float x, float y, float z) { return fmaf(x, y, z); }
STEPWELL_INLINE double __dadd_rn(double x, double y) { return x + y; }
STEPWELL_INLINE double __dsub_rn(double x, double y) { return x - y; }
STEPWELL_INLINE double __dmul_rn(double x, double y) { return x * y; }
STEPWELL_INLINE double __ddiv_rn(double x, double y) { return x / y; }
STEPWELL_INLINE double __drcp_rn(double x) { return 1.0 / x; }
STEPWELL_INLINE double __dsqrt_rn(double x) { return sqrt(x); }
STEPWELL_INLINE double __fma_rn(double x, double y, double z) { return fma(x, y, z); }

#define STEPWELL_MIN_MAX(type)                                                                                         \
  STEPWELL_INLINE type min(type x, type y) { return y < x ? y : x; }                                                   \
  STEPWELL_INLINE type max(type x, type y) { return x < y ? y : x; }
STEPWELL_MIN_MAX(int)
STEPWELL_MIN_MAX(unsigned)
STEPWELL_MIN_MAX(long)
STEPWELL_MIN_MAX(unsigned long)
STEPWELL_MIN_MAX(long long)
STEPWELL_MIN_MAX(unsigned long long)
#define STEPWELL_MIN_MAX_MIXED(result, left, right)                                                                    \
  STEPWELL_INLINE result min(left x, right y) { return min(result(x), result(y)); }                                    \
  STEPWELL_INLINE result max(left x, right y) { return max(result(x), result(y)); }
STEPWELL_MIN_MAX_MIXED(unsigned, int, unsigned)
STEPWELL_MIN_MAX_MIXED(unsigned, unsigned, int)
STEPWELL_MIN_MAX_MIXED(stepwell_u64, stepwell_i64, stepwell_u64)
STEPWELL_MIN_MAX_MIXED(stepwell_u64, stepwell_u64, stepwell_i64)
STEPWELL_INLINE float min(float x, float y) { return fminf(x, y); }
STEPWELL_INLINE float max(float x, float y) { return fmaxf(x, y); }
STEPWELL_INLINE double min(double x, double y) { return fmin(x, y); }
STEPWELL_INLINE double max(double x, double y) { return fmax(x, y); }
STEPWELL_MIN_MAX_MIXED(double, float, double)
STEPWELL_MIN_MAX_MIXED(double, double, float)

// Conversions of floats to integers: rounded to a whole number, clamped to the range of the type, NaN to 0 (to the
// smallest number for a 64-bit result), like the instruction.

template <class I, class F>
STEPWELL_INLINE I stepwell_to_integer(F whole) {
  constexpr bool is_signed = I(-1) < I(0);
  constexpr I highest = is_signed ? I(~0ull >> (65 - 8 * sizeof(I))) : I(~I(0));
  constexpr I lowest = is_signed ? I(-highest - 1) : I(0);
  if (__builtin_isnan(whole)) return sizeof(I) == 8 ? I(1ull << 63) : I(0);
  if (whole <= F(lowest)) return lowest;
  if (whole >= F(highest)) return highest;
  return I(whole);
}
#define STEPWELL_TO_INTEGER(from, type, name, integer)                                                                 \
  STEPWELL_INLINE integer name##_rz(type x) { return stepwell_to_integer<integer>(__builtin_trunc##from(x)); }         \
  STEPWELL_INLINE integer name##_rn(type x) { return stepwell_to_integer<integer>(__builtin_nearbyint##from(x)); }     \
  STEPWELL_INLINE integer name##_rd(type x) { return stepwell_to_integer<integer>(__builtin_floor##from(x)); }         \
  STEPWELL_INLINE integer name##_ru(type x) { return stepwell_to_integer<integer>(__builtin_ceil##from(x)); }
STEPWELL_TO_INTEGER(f, float, __float2int, int)
STEPWELL_TO_INTEGER(f, float, __float2uint, unsigned)
STEPWELL_TO_INTEGER(f, float, __float2ll, long long)
STEPWELL_TO_INTEGER(f, float, __float2ull, unsigned long long)
STEPWELL_TO_INTEGER(, double, __double2int, int)
STEPWELL_TO_INTEGER(, double, __double2uint, unsigned)
STEPWELL_TO_INTEGER(, double, __double2ll, long long)
STEPWELL_TO_INTEGER(, double, __double2ull, unsigned long long)

STEPWELL_INLINE float __int2float_rn(int x) { return float(x); }
STEPWELL_INLINE float __uint2float_rn(unsigned x) { return float(x); }
STEPWELL_INLINE float __ll2float_rn(long long x) { return float(x); }
STEPWELL_INLINE float __ull2float_rn(unsigned long long x) { return float(x); }
STEPWELL_INLINE double __int2double_rn(int x) { return double(x); }
STEPWELL_INLINE double __uint2double_rn(unsigned x) { return double(x); }
STEPWELL_INLINE double __ll2double_rn(long long x) { return double(x); }
STEPWELL_INLINE double __ull2double_rn(unsigned long long x) { return double(x); }
STEPWELL_INLINE float __double2float_rn(double x) { return float(x); }

// Rounded to odd: a second rounding to fewer bits then equals a single rounding.
STEPWELL_INLINE float stepwell_double_to_odd_float(double value) {
  float nearest = float(value);
  if (double(nearest) == value || __builtin_isnan(value) || (__float_as_uint(nearest) & 1u) != 0) return nearest;
  unsigned bits = __float_as_uint(nearest);
  bool outward = (value < 0 ? -value : value) > (nearest < 0 ? -double(nearest) : double(nearest));
  if (nearest == 0) return __uint_as_float((value < 0 ? 0x80000000u : 0u) | 1u);
  return __uint_as_float(outward ? bits + 1u : bits - 1u);
}

// The description of kernels in the compiled text, for `stepwell_emulated_launch`: runtime.cpp has the same structs.

struct stepwell_parameter {
  char kind;         // 'p' pointer, 'i' signed, 'u' unsigned, 'f' float, 'x' anything else
  unsigned size;     // in bytes
  unsigned pointee;  // bytes of the pointee, 0 for void and other kinds
};
struct stepwell_kernel {
  unsigned long long magic;
  const char* name;
  void (*run)(void** arguments);
  unsigned parameter_count;
  const stepwell_parameter* parameters;
  unsigned max_threads;     // of __launch_bounds__, else 1024
  unsigned dynamic_shared;  // the limit of a launch, in bytes
  unsigned static_shared;
  void* module;
};

template <class T>
struct stepwell_describe {
  static constexpr bool is_number = requires(T x) { x % 1; } || __is_same(T, bool);
  static constexpr bool is_float = __is_same(T, float) || __is_same(T, double);
  static constexpr char number() {
    if constexpr (is_number) return T(-1) < T(0) ? 'i' : 'u';
    return is_float ? 'f' : 'x';
  }
  static constexpr stepwell_parameter value{number(), sizeof(T), 0};
};
template <class T>
struct stepwell_describe<T*> {
  static constexpr unsigned pointee() {
    if constexpr (requires { sizeof(T) == 0; } && !__is_same(T, void) && !__is_same(T, const void)) return sizeof(T);
    return 0;
  }
  static constexpr stepwell_parameter value{'p', sizeof(T*), pointee()};
};

template <auto kernel>
struct stepwell_entry;
template <class... P, void (*kernel)(P...)>
struct stepwell_entry<kernel> {
  static constexpr unsigned count = sizeof...(P);
  static constexpr stepwell_parameter parameters[count + 1] = {stepwell_describe<P>::value...};

  template <unsigned... index>
  struct Call {
    STEPWELL_UNWATCHED static void run([[maybe_unused]] void** arguments) {
      kernel(*static_cast<P*>(arguments[index])...);
    }
  };
  using Run = Call<__integer_pack(count)...>;
};

#define STEPWELL_KERNEL(function, max_threads)                                                                         \
  extern "C" stepwell_kernel stepwell_kernel_##function;                                                               \
  stepwell_kernel stepwell_kernel_##function = {0x5354455057454c4cull,                                                 \
                                                #function,                                                             \
                                                stepwell_entry<function>::Run::run,                                    \
                                                stepwell_entry<function>::count,                                       \
                                                stepwell_entry<function>::parameters,                                  \
                                                max_threads,                                                           \
                                                0,                                                                     \
                                                0,                                                                     \
                                                nullptr};

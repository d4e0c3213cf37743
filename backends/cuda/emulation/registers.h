// Products of matrices in the registers of a warp: the instruction mma.sync of PTX.
//
// All lanes must reach a product; like a vote, it orders no memory. Each lane shows its registers to the others, and
// computes its own sums, in the order of k. Each sum is rounded to its type, but sums of 16 bits are computed in float
// and rounded once.

#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

constexpr int stepwell_register_bytes = 64;  // of a lane, in stepwell_exchange

struct stepwell_element {
  int lane, index;
};

// The place of elements of the factors and the sums of m x n x k, by the PTX ISA: `per` elements for each register of
// 32 bits. A lane has two columns of sums, and the part of a row of the left factor that fits a register.
template <int m, int per>
struct stepwell_places {
  static constexpr STEPWELL_INLINE stepwell_element left(int row, int k, int) {
    return {row % 8 * 4 + k % (4 * per) / per, (k / (4 * per) * (m / 8) + row / 8) * per + k % per};
  }
  static constexpr STEPWELL_INLINE stepwell_element right(int k, int column, int) {
    return {column * 4 + k % (4 * per) / per, k / (4 * per) * per + k % per};
  }
  static constexpr STEPWELL_INLINE int row(int lane, int index) { return lane / 4 + index / 2 * 8; }
  static constexpr STEPWELL_INLINE int column(int lane, int index) { return lane % 4 * 2 + index % 2; }
};

// Those of products by four lanes and the four that follow them by 16, of compute capability 7.0.
template <bool left_by_rows, bool right_by_rows, bool is_wide>
struct stepwell_quad_places {
  static constexpr STEPWELL_INLINE stepwell_element place(int first, int near, int far, bool by_near) {
    return by_near ? stepwell_element{first + near % 4 + near / 4 * 16, far}
                   : stepwell_element{first + far + near / 4 * 16, near % 4};
  }
  static constexpr STEPWELL_INLINE int first(int lane) { return lane % 16 / 4 * 4; }
  static constexpr STEPWELL_INLINE stepwell_element left(int row, int k, int lane) {
    return place(first(lane), row, k, left_by_rows);
  }
  static constexpr STEPWELL_INLINE stepwell_element right(int k, int column, int lane) {
    return place(first(lane), column, k, !right_by_rows);
  }
  static constexpr STEPWELL_INLINE int row(int lane, int index) {
    return (is_wide ? lane % 2 + index / 2 % 2 * 2 : lane % 4) + lane / 16 * 4;
  }
  static constexpr STEPWELL_INLINE int column(int lane, int index) {
    return is_wide ? index / 4 * 4 + lane / 2 % 2 * 2 + index % 2 : index;
  }
};

// The values of elements: `bits` of them count, and have a sign; 19 of a float are those of tf32.
template <int bits, bool is_signed>
STEPWELL_INLINE int stepwell_value(signed char x) {
  unsigned value = unsigned(x) & ((1u << bits) - 1);
  return is_signed && value >> (bits - 1) ? int(value) - (1 << bits) : int(value);
}
template <int bits, bool is_signed>
STEPWELL_INLINE int stepwell_value(unsigned char x) {
  return stepwell_value<bits, is_signed>((signed char)(x));
}
template <int bits, bool>
STEPWELL_INLINE float stepwell_value(float x) {
  return bits == 19 ? __uint_as_float(__float_as_uint(x) & 0xffffe000u) : x;
}
template <int, bool>
STEPWELL_INLINE double stepwell_value(double x) {
  return x;
}
template <int, bool>
STEPWELL_INLINE float stepwell_value(__half x) {
  return float(x);
}
template <int, bool>
STEPWELL_INLINE float stepwell_value(__nv_bfloat16 x) {
  return float(x);
}
STEPWELL_INLINE int stepwell_sum(int sum, int product) { return int(unsigned(sum) + unsigned(product)); }
STEPWELL_INLINE float stepwell_sum(float sum, float product) { return sum + product; }
STEPWELL_INLINE double stepwell_sum(double sum, double product) { return sum + product; }

template <class S>
struct stepwell_total {
  using type = S;
};
template <>
struct stepwell_total<__half> {
  using type = float;
};

template <class Places, int k, int sums, int left, int right, int left_bits, bool left_sign, int right_bits,
          bool right_sign, class S, class A, class B>
STEPWELL_UNWATCHED inline void stepwell_mma(S* d, const A* a, const B* b, int line = __builtin_LINE()) {
  const char* registers = stepwell_exchange(a, left * sizeof(A), b, right * sizeof(B), line);
  const int lane = int(threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z)) % warpSize;
  for (int index = 0; index < sums; ++index) {
    const int row = Places::row(lane, index), column = Places::column(lane, index);
    typename stepwell_total<S>::type sum(d[index]);
    for (int each = 0; each < k; ++each) {
      const stepwell_element x = Places::left(row, each, lane), y = Places::right(each, column, lane);
      const A* from = reinterpret_cast<const A*>(registers + x.lane * stepwell_register_bytes);
      const B* with = reinterpret_cast<const B*>(registers + y.lane * stepwell_register_bytes + left * sizeof(A));
      sum = stepwell_sum(sum, stepwell_value<left_bits, left_sign>(from[x.index]) *
                                  stepwell_value<right_bits, right_sign>(with[y.index]));
    }
    d[index] = S(sum);
  }
}

STEPWELL_UNWATCHED inline const unsigned short* stepwell_row_of(const char* registers, int lane) {
  const unsigned short* row;
  __builtin_memcpy(&row, registers + lane * stepwell_register_bytes, sizeof row);
  return row;
}

// Loads matrices of 8 rows of 16 bytes: lane 8 * r + i has the address of row i of matrix r.
template <int number, bool is_transposed>
inline void stepwell_ldmatrix(void* d, const void* row, int line = __builtin_LINE()) {
  const char* registers = stepwell_exchange(&row, sizeof row, &row, 0, line);
  const int lane = int(threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z)) % warpSize;
  for (int r = 0; r < number; ++r)
    for (int e = 0; e < 2; ++e) {
      const int place = lane % 4 * 2 + e;
      const unsigned short* from = stepwell_row_of(registers, 8 * r + (is_transposed ? place : lane / 4));
      static_cast<unsigned short*>(d)[r * 2 + e] = from[is_transposed ? lane / 4 : place];
    }
}

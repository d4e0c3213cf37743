// Matrix operations of a warp with the names of <mma.h>.
//
// Each lane has a copy of the factors, and every 32nd element of the sums, from the element with its index on. So all
// lanes read all elements of a factor, each element of the sums is read and written by one lane, and lanes need not
// exchange values. All lanes must reach an operation; like a vote, it orders no memory. A product is rounded to the
// type of the sums, and so is each sum, in the order of k.

#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

namespace nvcuda::wmma {

struct matrix_a {};
struct matrix_b {};
struct accumulator {};
struct row_major {};
struct col_major {};
enum layout_t { mem_row_major, mem_col_major };

template <class Use, int m, int n, int k, class T, class Layout = void>
struct fragment;

template <int m, int n, int k, class T, class Layout>
struct fragment<matrix_a, m, n, k, T, Layout> {
  static constexpr int rows = m, columns = k, num_elements = m * k;
  T x[num_elements];
};
template <int m, int n, int k, class T, class Layout>
struct fragment<matrix_b, m, n, k, T, Layout> {
  static constexpr int rows = k, columns = n, num_elements = k * n;
  T x[num_elements];
};
template <int m, int n, int k, class T>
struct fragment<accumulator, m, n, k, T, void> {
  static constexpr int rows = m, columns = n, num_elements = m * n / 32;
  T x[num_elements];
};

STEPWELL_INLINE int stepwell_lane() {
  return int(threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z)) % warpSize;
}
STEPWELL_INLINE void stepwell_meet(int line) { stepwell_vote(2, 0xffffffffu, 0, line); }

template <class Layout>
constexpr bool stepwell_by_columns = false;
template <>
inline constexpr bool stepwell_by_columns<col_major> = true;

template <class Use, int m, int n, int k, class T, class Layout>
inline void load_matrix_sync(fragment<Use, m, n, k, T, Layout>& a, const T* memory, unsigned distance,
                             int line = __builtin_LINE()) {
  stepwell_meet(line);
  for (int e = 0; e < a.num_elements; ++e) {
    int row = e / a.columns, column = e % a.columns;
    a.x[e] = memory[stepwell_by_columns<Layout> ? column * distance + row : row * distance + column];
  }
}

template <int m, int n, int k, class T>
inline void load_matrix_sync(fragment<accumulator, m, n, k, T>& a, const T* memory, unsigned distance, layout_t layout,
                             int line = __builtin_LINE()) {
  stepwell_meet(line);
  for (int s = 0; s < a.num_elements; ++s) {
    int e = 32 * s + stepwell_lane(), row = e / n, column = e % n;
    a.x[s] = memory[layout == mem_col_major ? column * distance + row : row * distance + column];
  }
}

template <int m, int n, int k, class T>
inline void store_matrix_sync(T* memory, const fragment<accumulator, m, n, k, T>& a, unsigned distance,
                              layout_t layout, int line = __builtin_LINE()) {
  stepwell_meet(line);
  for (int s = 0; s < a.num_elements; ++s) {
    int e = 32 * s + stepwell_lane(), row = e / n, column = e % n;
    memory[layout == mem_col_major ? column * distance + row : row * distance + column] = a.x[s];
  }
}

template <class Use, int m, int n, int k, class T, class Layout, class V>
inline void fill_fragment(fragment<Use, m, n, k, T, Layout>& a, const V& value, int line = __builtin_LINE()) {
  stepwell_meet(line);
  for (int e = 0; e < a.num_elements; ++e) a.x[e] = T(value);
}

// Products of floats are computed in float: those of 16 bits are exact there.
template <class S, class T>
struct stepwell_product {
  static STEPWELL_INLINE S of(T x, T y) { return S(float(x) * float(y)); }
  static STEPWELL_INLINE S plus(S x, S y) { return S(float(x) + float(y)); }
};
template <class T>
struct stepwell_product<int, T> {
  static STEPWELL_INLINE int of(T x, T y) { return int(x) * int(y); }
  static STEPWELL_INLINE int plus(int x, int y) { return int(unsigned(x) + unsigned(y)); }
};

template <int m, int n, int k, class T, class S, class LayoutA, class LayoutB>
STEPWELL_UNWATCHED inline void mma_sync(fragment<accumulator, m, n, k, S>& d,
                                        const fragment<matrix_a, m, n, k, T, LayoutA>& a,
                                        const fragment<matrix_b, m, n, k, T, LayoutB>& b,
                                        const fragment<accumulator, m, n, k, S>& c, int line = __builtin_LINE()) {
  stepwell_meet(line);
  for (int s = 0; s < d.num_elements; ++s) {
    int e = 32 * s + stepwell_lane(), row = e / n, column = e % n;
    S sum = c.x[s];
    for (int each = 0; each < k; ++each)
      sum = stepwell_product<S, T>::plus(
          sum, stepwell_product<S, T>::of(a.x[row * k + each], b.x[each * n + column]));
    d.x[s] = sum;
  }
}

}  // namespace nvcuda::wmma

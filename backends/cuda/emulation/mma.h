// Matrix operations of a warp with the names of <mma.h>.
//
// A lane has the sums of a column: every row of `32 / n`, from the row of the lane on. It loads these rows of the left
// factor, in the order of k, and its column of the right factor. So each element of the sums is read and written by one
// lane, and lanes need not exchange values. All lanes must reach an operation; like a vote, it orders no memory. A product
// is rounded to the type of the sums, and so is each sum, in the order of k.

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
  static constexpr int num_elements = m * n / 32 * k;
  T x[num_elements];
};
template <int m, int n, int k, class T, class Layout>
struct fragment<matrix_b, m, n, k, T, Layout> {
  static constexpr int num_elements = k;
  T x[num_elements];
};
template <int m, int n, int k, class T>
struct fragment<accumulator, m, n, k, T, void> {
  static constexpr int num_elements = m * n / 32;
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

template <int m, int n, int k, class T, class Layout>
inline void load_matrix_sync(fragment<matrix_a, m, n, k, T, Layout>& a, const T* memory, unsigned distance,
                             int line = __builtin_LINE()) {
  stepwell_meet(line);
  constexpr int rows = m * n / 32;
  const T* first = memory + stepwell_lane() / n * (stepwell_by_columns<Layout> ? 1 : distance);
  for (int s = 0; s < rows; ++s)
    for (int each = 0; each < k; ++each)
      a.x[each * rows + s] = first[stepwell_by_columns<Layout> ? each * distance + s * (32 / n)
                                                               : s * (32 / n) * distance + each];
}

template <int m, int n, int k, class T, class Layout>
inline void load_matrix_sync(fragment<matrix_b, m, n, k, T, Layout>& a, const T* memory, unsigned distance,
                             int line = __builtin_LINE()) {
  stepwell_meet(line);
  const T* first = memory + stepwell_lane() % n * (stepwell_by_columns<Layout> ? distance : 1);
  for (int each = 0; each < k; ++each) a.x[each] = first[stepwell_by_columns<Layout> ? each : each * distance];
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
  using wide = float;
  static STEPWELL_INLINE S of(float x, float y) { return S(x * y); }
  static STEPWELL_INLINE S plus(S x, S y) { return S(float(x) + float(y)); }
};
template <class T>
struct stepwell_product<int, T> {
  using wide = int;
  static STEPWELL_INLINE int of(int x, int y) { return x * y; }
  static STEPWELL_INLINE int plus(int x, int y) { return int(unsigned(x) + unsigned(y)); }
};

template <int count, class T, class Wide>
STEPWELL_INLINE void stepwell_widen(const T* from, Wide* to) {
  for (int i = 0; i < count; ++i) to[i] = Wide(from[i]);
}
#ifdef __F16C__
template <int count>
STEPWELL_INLINE void stepwell_widen(const __half* from, float* to) {
  static_assert(count % 8 == 0);
  for (int i = 0; i < count; i += 8) {
    short halves __attribute__((vector_size(16)));
    __builtin_memcpy(&halves, from + i, 16);
    float floats __attribute__((vector_size(32))) = __builtin_ia32_vcvtph2ps256(halves);
    __builtin_memcpy(to + i, &floats, 32);
  }
}
#endif

template <int m, int n, int k, class T, class S, class LayoutA, class LayoutB>
STEPWELL_UNWATCHED inline void mma_sync(fragment<accumulator, m, n, k, S>& d,
                                        const fragment<matrix_a, m, n, k, T, LayoutA>& a,
                                        const fragment<matrix_b, m, n, k, T, LayoutB>& b,
                                        const fragment<accumulator, m, n, k, S>& c, int line = __builtin_LINE()) {
  stepwell_meet(line);
  constexpr int rows = m * n / 32;
  using product = stepwell_product<S, T>;
  S sums[rows];
  typename product::wide column[rows], factors[k];
  stepwell_widen<k>(b.x, factors);
  for (int s = 0; s < rows; ++s) sums[s] = c.x[s];
  for (int each = 0; each < k; ++each) {
    stepwell_widen<rows>(a.x + each * rows, column);
    for (int s = 0; s < rows; ++s) sums[s] = product::plus(sums[s], product::of(column[s], factors[each]));
  }
  for (int s = 0; s < rows; ++s) d.x[s] = sums[s];
}

}  // namespace nvcuda::wmma

// A libcublas whose matrices are in the host's memory, for the calls that are made of it: products by plain loops, of
// matrices by columns as cuBLAS has them. It refuses what cuBLAS refuses, and what is not to be asked of it.

#include <stdint.h>
#include <stdlib.h>

enum { OK = 0, NOT_INITIALIZED = 1, INVALID_VALUE = 7, NOT_SUPPORTED = 15 };
enum { FLOAT = 0, DOUBLE = 1, COMPUTE_32F = 68, COMPUTE_64F = 70 };

static void* created;
static void* stream = (void*)-1;
int calls;          // products
int64_t asked[16];  // what the last one was given: flags, sizes, leading dimensions, steps, batch
int broken;         // the status of the next call

int cublasCreate_v2(void** handle) { *handle = created = malloc(1); return OK; }
int cublasSetStream_v2(void* handle, void* to) {
  stream = to;
  return handle && handle == created ? OK : NOT_INITIALIZED;
}
void* current_stream(void) { return stream; }
const char* cublasGetStatusName(int status) {
  return status == INVALID_VALUE ? "CUBLAS_STATUS_INVALID_VALUE" : "CUBLAS_STATUS_NOT_SUPPORTED";
}

static double at(const void* p, int64_t i, int type) { return type == FLOAT ? ((float*)p)[i] : ((double*)p)[i]; }

int cublasGemmStridedBatchedEx_64(void* handle, int ta, int tb, int64_t m, int64_t n, int64_t k, const void* alpha,
                                  const void* a, int atype, int64_t lda, int64_t astep, const void* b, int btype,
                                  int64_t ldb, int64_t bstep, const void* beta, void* c, int ctype, int64_t ldc,
                                  int64_t cstep, int64_t batch, int compute, int algorithm) {
  if (broken) return broken;
  if (handle != created || !created) return NOT_INITIALIZED;
  const int64_t all[] = {ta, tb, m, n, k, lda, astep, ldb, bstep, ldc, cstep, batch};
  for (int i = 0; i < 12; ++i) asked[i] = all[i];
  ++calls;
  if (ta < 0 || ta > 1 || tb < 0 || tb > 1 || m < 0 || n < 0 || k < 0 || batch < 0) return INVALID_VALUE;
  if (lda < (ta ? k : m) || ldb < (tb ? n : k) || ldc < m || lda < 1 || ldb < 1 || ldc < 1) return INVALID_VALUE;
  if (cstep < ldc * (n - 1) + m && batch > 1) return INVALID_VALUE;
  if (atype != btype || atype != ctype || algorithm != -1) return NOT_SUPPORTED;
  if (compute != (atype == FLOAT ? COMPUTE_32F : COMPUTE_64F) || atype > DOUBLE) return NOT_SUPPORTED;
  if (at(alpha, 0, atype) != 1 || at(beta, 0, atype) != 0) return INVALID_VALUE;
  for (int64_t s = 0; s < batch; ++s)
    for (int64_t i = 0; i < m; ++i)
      for (int64_t j = 0; j < n; ++j) {
        double sum = 0;
        for (int64_t l = 0; l < k; ++l)
          sum += at(a, s * astep + (ta ? l + i * lda : i + l * lda), atype) *
                 at(b, s * bstep + (tb ? j + l * ldb : l + j * ldb), btype);
        if (ctype == FLOAT)
          ((float*)c)[s * cstep + i + j * ldc] = sum;
        else
          ((double*)c)[s * cstep + i + j * ldc] = sum;
      }
  return OK;
}

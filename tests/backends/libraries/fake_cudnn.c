// A libcudnn whose tensors are in the host's memory, for the calls that are made of it: convolutions by plain loops.
// It refuses what cuDNN refuses, and what is not to be asked of it.

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { OK = 0, NOT_INITIALIZED = 1001, BAD_PARAM = 2000, NOT_SUPPORTED = 3000 };
enum { FLOAT = 0, DOUBLE = 1, NCHW = 0, CROSS_CORRELATION = 1, FMA_MATH = 3, RELU = 1, TAKEN = 6, WORKSPACE = 96 };

typedef struct { int kind, n[4]; } Tensor;
typedef struct { int kind, around[2], steps[2], far[2], groups, math; } Convolution;
typedef struct { int algorithm, status; float time; size_t memory; int determinism, math, reserved[3]; } Performance;

static void* created;
static void* stream = (void*)-1;
int planned;  // how many convolutions an algorithm was asked for
int fused;    // how many ran with a bias and a relu
int plain;    // how many without
int broken;   // the status of the next convolution

int cudnnCreate(void** handle) { *handle = created = malloc(1); return OK; }
int cudnnSetStream(void* handle, void* to) { stream = to; return handle == created ? OK : NOT_INITIALIZED; }
void* current_stream(void) { return stream; }
const char* cudnnGetErrorString(int status) {
  return status == BAD_PARAM ? "CUDNN_STATUS_BAD_PARAM" : "CUDNN_STATUS_NOT_SUPPORTED";
}

int cudnnCreateTensorDescriptor(Tensor** made) { *made = calloc(1, sizeof **made); return OK; }
int cudnnSetTensor4dDescriptor(Tensor* to, int format, int kind, int n, int c, int h, int w) {
  const Tensor set = {kind, {n, c, h, w}};
  *to = set;
  return format == NCHW && n > 0 && c > 0 && h > 0 && w > 0 ? OK : BAD_PARAM;
}
int cudnnCreateFilterDescriptor(Tensor** made) { return cudnnCreateTensorDescriptor(made); }
int cudnnSetFilter4dDescriptor(Tensor* to, int kind, int format, int k, int c, int h, int w) {
  return cudnnSetTensor4dDescriptor(to, format, kind, k, c, h, w);
}
int cudnnCreateConvolutionDescriptor(Convolution** made) {
  *made = calloc(1, sizeof **made);
  (*made)->groups = 1;
  return OK;
}
int cudnnSetConvolution2dDescriptor(Convolution* to, int around_h, int around_w, int step_h, int step_w, int far_h,
                                    int far_w, int mode, int kind) {
  const Convolution set = {kind, {around_h, around_w}, {step_h, step_w}, {far_h, far_w}, 1, 0};
  *to = set;
  return mode == CROSS_CORRELATION && around_h >= 0 && around_w >= 0 && step_h > 0 && step_w > 0 && far_h > 0 &&
         far_w > 0 ? OK : BAD_PARAM;
}
int cudnnSetConvolutionGroupCount(Convolution* to, int groups) { to->groups = groups; return OK; }
int cudnnSetConvolutionMathType(Convolution* to, int math) { to->math = math; return OK; }
int cudnnCreateActivationDescriptor(int** made) { *made = calloc(1, sizeof **made); return OK; }
int cudnnSetActivationDescriptor(int* to, int mode, int nan, double ceiling) {
  *to = mode;
  return nan == 0 && ceiling == 0 ? OK : BAD_PARAM;
}

// Whether the descriptors fit to each other.
static int fit(const Tensor* x, const Tensor* w, const Convolution* c, const Tensor* y) {
  if (x->kind != w->kind || x->kind != y->kind || c->kind != x->kind || x->kind > DOUBLE) return 0;
  if (x->n[0] != y->n[0] || w->n[0] != y->n[1] || x->n[1] != w->n[1] * c->groups || w->n[0] % c->groups) return 0;
  for (int d = 0; d < 2; ++d)
    if (y->n[2 + d] != (x->n[2 + d] + 2 * c->around[d] - c->far[d] * (w->n[2 + d] - 1) - 1) / c->steps[d] + 1) return 0;
  return 1;
}

int cudnnGetConvolutionForwardAlgorithm_v7(void* handle, const Tensor* x, const Tensor* w, const Convolution* c,
                                           const Tensor* y, int most, int* count, Performance* found) {
  if (handle != created || !fit(x, w, c, y) || most < 3) return BAD_PARAM;
  ++planned;
  const Performance all[] = {{1, NOT_SUPPORTED, 0, 0, 0, FMA_MATH, {0}},
                             {2, OK, 1, 0, 0, 1, {0}},  // with tensor cores, so in tf32
                             {TAKEN, OK, 2, WORKSPACE, 0, FMA_MATH, {0}}};
  memcpy(found, all, sizeof all);
  *count = 3;
  return OK;
}
int cudnnGetConvolutionForwardWorkspaceSize(void* handle, const Tensor* x, const Tensor* w, const Convolution* c,
                                            const Tensor* y, int algorithm, size_t* size) {
  *size = WORKSPACE;
  return handle == created && fit(x, w, c, y) && algorithm == TAKEN ? OK : BAD_PARAM;
}

static double at(const void* p, int64_t i, int kind) { return kind == FLOAT ? ((float*)p)[i] : ((double*)p)[i]; }

static int convolve(void* handle, const void* one, const Tensor* xd, const void* x, const Tensor* wd, const void* w,
                    const Convolution* c, int algorithm, void* workspace, size_t size, const void* zero,
                    const Tensor* yd, void* y, const void* bias) {
  if (broken) return broken;
  if (handle != created || !fit(xd, wd, c, yd) || algorithm != TAKEN || size < WORKSPACE || !workspace) return BAD_PARAM;
  const int kind = xd->kind;
  if (c->math != (kind == FLOAT ? FMA_MATH : 0)) return NOT_SUPPORTED;
  if (at(one, 0, kind) != 1 || at(zero, 0, kind) != 0) return BAD_PARAM;
  memset(workspace, 255, size);
  const int inner = wd->n[1], outer = wd->n[0] / c->groups;
  int64_t o = 0;
  for (int n = 0; n < yd->n[0]; ++n)
    for (int k = 0; k < yd->n[1]; ++k)
      for (int p = 0; p < yd->n[2]; ++p)
        for (int q = 0; q < yd->n[3]; ++q, ++o) {
          double sum = 0;
          for (int i = 0; i < inner; ++i)
            for (int r = 0; r < wd->n[2]; ++r)
              for (int s = 0; s < wd->n[3]; ++s) {
                const int h = p * c->steps[0] + r * c->far[0] - c->around[0];
                const int v = q * c->steps[1] + s * c->far[1] - c->around[1];
                if (h < 0 || v < 0 || h >= xd->n[2] || v >= xd->n[3]) continue;
                const int64_t channel = k / outer * inner + i;
                sum += at(x, ((n * (int64_t)xd->n[1] + channel) * xd->n[2] + h) * xd->n[3] + v, kind) *
                       at(w, ((k * (int64_t)inner + i) * wd->n[2] + r) * wd->n[3] + s, kind);
              }
          if (bias) sum += at(bias, k, kind);
          if (bias && sum < 0) sum = 0;
          if (kind == FLOAT)
            ((float*)y)[o] = sum;
          else
            ((double*)y)[o] = sum;
        }
  return OK;
}

int cudnnConvolutionForward(void* handle, const void* one, const Tensor* xd, const void* x, const Tensor* wd,
                            const void* w, const Convolution* c, int algorithm, void* workspace, size_t size,
                            const void* zero, const Tensor* yd, void* y) {
  ++plain;
  return convolve(handle, one, xd, x, wd, w, c, algorithm, workspace, size, zero, yd, y, NULL);
}
int cudnnConvolutionBiasActivationForward(void* handle, const void* one, const Tensor* xd, const void* x,
                                          const Tensor* wd, const void* w, const Convolution* c, int algorithm,
                                          void* workspace, size_t size, const void* zero, const Tensor* zd,
                                          const void* z, const Tensor* bd, const void* bias, const int* activation,
                                          const Tensor* yd, void* y) {
  ++fused;
  if (zd != yd || z != y || *activation != RELU) return BAD_PARAM;
  if (bd->kind != xd->kind || bd->n[0] != 1 || bd->n[1] != yd->n[1] || bd->n[2] != 1 || bd->n[3] != 1) return BAD_PARAM;
  return convolve(handle, one, xd, x, wd, w, c, algorithm, workspace, size, zero, yd, y, bias);
}

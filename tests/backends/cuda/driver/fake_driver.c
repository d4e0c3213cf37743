// A libcuda with one device whose memory is the host's, for the calls that are made of it. Its only kernel adds 1 to 8
// floats. A function that needs a context fails where none is current, as the driver's do.

#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { OK = 0, INVALID_VALUE = 1, OUT_OF_MEMORY = 2, INVALID_CONTEXT = 201, NO_BINARY = 209, NOT_FOUND = 500 };
enum { ILLEGAL_ADDRESS = 700, OUT_OF_RESOURCES = 701 };

static _Thread_local void* current;
static int failed;           // what every call says after a kernel has failed
static size_t in_use;        // bytes
static size_t sizes[64][2];  // of allocations, by address

#define NEEDS_CONTEXT if (!current) return INVALID_CONTEXT; if (failed) return failed

int cuGetProcAddress_v2(const char* name, void** function, int version, uint64_t flags, int* status) {
  (void)version, (void)flags;
  *function = dlsym(RTLD_DEFAULT, name);
  Dl_info here, there;
  // Only what is in this file: the process may have functions of the same name.
  if (*function && dladdr(cuGetProcAddress_v2, &here) && dladdr(*function, &there) &&
      strcmp(here.dli_fname, there.dli_fname))
    *function = NULL;
  if (status) *status = *function ? 0 : 1;
  return *function ? OK : NOT_FOUND;
}
int cuGetProcAddress(const char* name, void** function, int version, uint64_t flags) {
  return cuGetProcAddress_v2(name, function, version, flags, NULL);
}
// NVRTC asks for it.
int cuGetExportTable(const void** table, const void* identity) {
  (void)identity;
  *table = NULL;
  return NOT_FOUND;
}
int cuInit(unsigned flags) { return flags ? INVALID_VALUE : OK; }
int cuDriverGetVersion(int* version) { *version = 13010; return OK; }
int cuGetErrorString(int status, const char** text) {
  *text = status == ILLEGAL_ADDRESS ? "an illegal memory access was encountered" : "something is wrong";
  return OK;
}
int cuDeviceGetCount(int* count) { *count = 1; return OK; }
int cuDeviceGet(int* device, int index) { *device = index; return index ? 101 : OK; }
int cuDeviceGetName(char* name, int size, int device) { (void)device; strncpy(name, "Fake", size); return OK; }
int cuDeviceTotalMem(size_t* size, int device) { (void)device; *size = 1 << 30; return OK; }
int cuDeviceGetAttribute(int* value, int attribute, int device) {
  (void)device;
  *value = attribute == 75 ? 9 : attribute == 76 ? 0 : 1;  // compute capability 9.0
  return OK;
}
int cuDeviceGetDefaultMemPool(void** pool, int device) { (void)device; *pool = &in_use; return OK; }
int cuMemPoolSetAttribute(void* pool, int attribute, uint64_t* value) {
  return pool == &in_use && attribute == 4 && *value == UINT64_MAX ? OK : INVALID_VALUE;
}
int cuDevicePrimaryCtxRetain(void** context, int device) { (void)device; *context = &current; return OK; }
int cuCtxGetCurrent(void** context) { *context = current; return OK; }
int cuCtxSetCurrent(void* context) { current = context; return OK; }
int cuCtxPushCurrent(void* context) { current = context; return OK; }
int cuCtxPopCurrent(void** context) { *context = current; current = NULL; return OK; }
int cuCtxSynchronize(void) { NEEDS_CONTEXT; return OK; }

int cuMemAlloc(uintptr_t* address, size_t size) {
  NEEDS_CONTEXT;
  if (!size) return INVALID_VALUE;
  if (size > 1 << 20) return OUT_OF_MEMORY;
  *address = (uintptr_t)aligned_alloc(256, (size + 255) / 256 * 256);
  for (int i = 0; i < 64; ++i)
    if (!sizes[i][0]) {
      sizes[i][0] = *address, sizes[i][1] = size, in_use += size;
      break;
    }
  return OK;
}
int cuMemFree(uintptr_t address) {
  NEEDS_CONTEXT;
  for (int i = 0; i < 64; ++i)
    if (sizes[i][0] == address) in_use -= sizes[i][1], sizes[i][0] = 0;
  free((void*)address);
  return OK;
}
int cuMemAllocAsync(uintptr_t* address, size_t size, void* stream) { (void)stream; return cuMemAlloc(address, size); }
int cuMemFreeAsync(uintptr_t address, void* stream) { (void)stream; return cuMemFree(address); }
int cuMemGetInfo(size_t* left, size_t* whole) {
  NEEDS_CONTEXT;
  *whole = 1 << 30, *left = *whole - in_use;
  return OK;
}
int cuMemcpyHtoDAsync(uintptr_t to, const void* from, size_t size, void* stream) {
  (void)stream;
  NEEDS_CONTEXT;
  memcpy((void*)to, from, size);
  return OK;
}
int cuMemcpyDtoHAsync(void* to, uintptr_t from, size_t size, void* stream) {
  (void)stream;
  NEEDS_CONTEXT;
  memcpy(to, (void*)from, size);
  return OK;
}
int cuMemcpyAsync(uintptr_t to, uintptr_t from, size_t size, void* stream) {
  (void)stream;
  NEEDS_CONTEXT;
  memcpy((void*)to, (void*)from, size);
  return OK;
}
int cuMemcpyDtoDAsync(uintptr_t to, uintptr_t from, size_t size, void* stream) {
  (void)stream;
  NEEDS_CONTEXT;
  memmove((void*)to, (void*)from, size);
  return OK;
}

int cuStreamCreate(void** stream, unsigned flags) {
  NEEDS_CONTEXT;
  *stream = malloc(1);
  return flags ? INVALID_VALUE : OK;
}
int cuStreamDestroy(void* stream) { free(stream); return OK; }
int cuStreamSynchronize(void* stream) { (void)stream; NEEDS_CONTEXT; return OK; }
int cuStreamWaitEvent(void* stream, void* event, unsigned flags) {
  (void)stream;
  NEEDS_CONTEXT;
  return event && !flags ? OK : INVALID_VALUE;
}
int cuEventCreate(void** event, unsigned flags) {
  NEEDS_CONTEXT;
  *event = malloc(1);
  return flags ? INVALID_VALUE : OK;
}
int cuEventDestroy(void* event) { free(event); return OK; }
int cuEventRecord(void* event, void* stream) { (void)stream; NEEDS_CONTEXT; return event ? OK : INVALID_VALUE; }
int cuEventSynchronize(void* event) { NEEDS_CONTEXT; return event ? OK : INVALID_VALUE; }
int cuEventElapsedTime(float* milliseconds, void* start, void* end) {
  *milliseconds = 2;
  return start && end ? OK : INVALID_VALUE;
}

int cuModuleLoadData(void** module, const void* image) {
  NEEDS_CONTEXT;
  *module = malloc(1);
  return memcmp(image, "\177ELF", 4) ? NO_BINARY : OK;
}
int cuModuleGetFunction(void** function, void* module, const char* name) {
  NEEDS_CONTEXT;
  *function = strdup(name);
  return module ? OK : INVALID_VALUE;
}
int cuLaunchKernel(void* function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
                   unsigned shared, void* stream, void** arguments, void** extra) {
  (void)gy, (void)gz, (void)shared, (void)stream, (void)extra;
  NEEDS_CONTEXT;
  if (bx * by * bz > 512) return OUT_OF_RESOURCES;
  if (strstr(function, "breaks")) {
    failed = ILLEGAL_ADDRESS;
    return OK;
  }
  const float* a = *(float**)arguments[0];
  float* b = *(float**)arguments[1];
  for (unsigned i = 0; i < gx * bx; ++i) b[i] = a[i] + 1;
  return OK;
}

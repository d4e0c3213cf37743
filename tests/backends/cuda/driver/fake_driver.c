// A libcuda with one device, or $FAKE_DEVICES of them, whose memory is the host's, for the calls that are made of it.
// Its only kernel adds 1 to 8 floats. A function that needs a context fails where none is current; memory, streams, events
// and functions of another context are errors, as the driver's are.

#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { OK = 0, INVALID_VALUE = 1, OUT_OF_MEMORY = 2, INVALID_DEVICE = 101, INVALID_CONTEXT = 201, NO_BINARY = 209 };
enum { INVALID_HANDLE = 400, NOT_FOUND = 500, ILLEGAL_ADDRESS = 700, OUT_OF_RESOURCES = 701 };
enum { MOST = 256 };

struct context { int device; uint64_t id; int alive, launches; };
// A stream, an event, a module or a function. id: of its context.  launches: of its context, when an event was recorded.
struct object { struct context* context; uint64_t id; int waits, launches; char name[64]; };
struct block { uintptr_t address; size_t size; struct context* context; };

static struct context contexts[MOST];  // the first are primary
static uint64_t last_id;
static _Thread_local struct context* stack[MOST];  // of this thread; the topmost is current
static _Thread_local int depth;
static int failed;  // what every call says after a kernel has failed
static size_t in_use;  // bytes
static struct block blocks[MOST];
static char memory[MOST][1 << 20] __attribute__((aligned(256)));  // of each block: addresses are used again

static struct context* current(void) { return depth ? stack[depth - 1] : NULL; }
#define NEEDS_CONTEXT if (!current() || !current()->alive) return INVALID_CONTEXT; if (failed) return failed
#define NEEDS_ITS_CONTEXT(handle) if (!is_usable((struct object*)(handle))) return INVALID_HANDLE
#define ALSO(name, versioned) __typeof__(name) versioned __attribute__((alias(#name)))  // linkers know these names

static int count(void) { return getenv("FAKE_DEVICES") ? atoi(getenv("FAKE_DEVICES")) : 1; }
static struct block* find(uintptr_t address) {
  for (struct block* each = blocks; each < blocks + MOST; ++each)
    if (each->address && address >= each->address && address < each->address + each->size) return each;
  return NULL;
}
static int is_current(uintptr_t address) {
  struct block* found = find(address);
  return found && found->context == current();
}
static int is_usable(struct object* object) {
  if ((uintptr_t)object <= 2) return 1;  // a default stream
  if (object->id != object->context->id || !object->context->alive) abort();  // destroyed with its context
  return object->context == current();
}
static struct object* create(const char* name) {
  struct object* new = calloc(1, sizeof(struct object));
  new->context = current(), new->id = current()->id;
  strncpy(new->name, name, sizeof new->name - 1);
  return new;
}

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
int cuDeviceGetCount(int* result) { *result = count(); return OK; }
int cuDeviceGet(int* device, int index) { *device = index; return index < count() ? OK : INVALID_DEVICE; }
int cuDeviceGetName(char* name, int size, int device) { (void)device; strncpy(name, "Fake", size); return OK; }
int cuDeviceComputeCapability(int* major, int* minor, int device) {
  (void)device;
  *major = 9, *minor = 0;
  return OK;
}
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

static struct context* open_context(struct context* context, int device) {
  if (!context->alive) *context = (struct context){device, ++last_id, 1, 0};
  return context;
}
int cuDevicePrimaryCtxRetain(struct context** context, int device) {
  *context = open_context(&contexts[device], device);
  return OK;
}
int cuDevicePrimaryCtxGetState(int device, unsigned* flags, int* active) {
  *flags = 0, *active = contexts[device].alive;
  return OK;
}
int cuDevicePrimaryCtxRelease(int device) { (void)device; return OK; }
int cuCtxCreate_v4(struct context** context, void* parameters, unsigned flags, int device) {
  (void)parameters, (void)flags;
  // The handle of a destroyed context is used again.
  struct context* new = contexts + count();
  while (new->alive) ++new;
  *context = stack[depth++] = open_context(new, device);
  return OK;
}
int cuCtxDestroy(struct context* context) {
  if (!context->alive) return INVALID_CONTEXT;
  for (struct block* each = blocks; each < blocks + MOST; ++each)
    if (each->address && each->context == context) in_use -= each->size, each->address = 0;
  context->alive = 0;
  if (context == current()) --depth;
  return OK;
}
int cuCtxDetach(struct context* context) { return cuCtxDestroy(context); }
int cuCtxGetApiVersion(struct context* context, unsigned* version) { (void)context; *version = 3020; return OK; }
int cuCtxGetId(struct context* context, uint64_t* id) {
  if (!context->alive) return INVALID_CONTEXT;
  *id = context->id;
  return OK;
}
int cuCtxGetDevice(int* device) { NEEDS_CONTEXT; *device = current()->device; return OK; }
int cuCtxGetCurrent(struct context** context) { *context = current(); return OK; }
int cuCtxSetCurrent(struct context* context) {
  if (depth) --depth;
  if (context) stack[depth++] = context;
  return OK;
}
int cuCtxPushCurrent(struct context* context) {
  if (!context || !context->alive) return INVALID_CONTEXT;
  stack[depth++] = context;
  return OK;
}
int cuCtxPopCurrent(struct context** context) {
  if (!depth) return INVALID_CONTEXT;
  *context = stack[--depth];
  return OK;
}
int cuCtxSynchronize(void) { NEEDS_CONTEXT; return OK; }

int cuMemAlloc(uintptr_t* address, size_t size) {
  NEEDS_CONTEXT;
  if (!size) return INVALID_VALUE;
  if (size > 1 << 20) return OUT_OF_MEMORY;
  struct block* new = blocks;
  while (new->address) ++new;
  *address = (uintptr_t)memory[new - blocks];
  *new = (struct block){*address, size, current()};
  in_use += size;
  return OK;
}
int cuMemFree(uintptr_t address) {
  NEEDS_CONTEXT;
  struct block* found = find(address);
  if (!found || found->address != address) return INVALID_VALUE;
  in_use -= found->size, found->address = 0;
  return OK;
}
int cuMemAllocAsync(uintptr_t* address, size_t size, void* stream) {
  NEEDS_ITS_CONTEXT(stream);
  return cuMemAlloc(address, size);
}
int cuMemFreeAsync(uintptr_t address, void* stream) { NEEDS_ITS_CONTEXT(stream); return cuMemFree(address); }
int cuMemGetInfo(size_t* left, size_t* whole) {
  NEEDS_CONTEXT;
  *whole = 1 << 30, *left = *whole - in_use;
  return OK;
}
int cuPointerGetAttributes(unsigned number, const int* attributes, void** data, uintptr_t address) {
  struct block* found = find(address);
  for (unsigned i = 0; i < number; ++i) switch (attributes[i]) {
    case 1: *(void**)data[i] = found ? found->context : NULL; break;
    case 2: *(unsigned*)data[i] = found ? 2 : 0; break;
    case 9: *(int*)data[i] = found ? found->context->device : -2; break;
    default: return INVALID_VALUE;
  }
  return OK;
}
static int copy(uintptr_t to, uintptr_t from, size_t size, void* stream) {
  NEEDS_CONTEXT;
  NEEDS_ITS_CONTEXT(stream);
  memmove((void*)to, (void*)from, size);
  return OK;
}
int cuMemcpyHtoDAsync(uintptr_t to, const void* from, size_t size, void* stream) {
  return is_current(to) ? copy(to, (uintptr_t)from, size, stream) : INVALID_VALUE;
}
int cuMemcpyDtoHAsync(void* to, uintptr_t from, size_t size, void* stream) {
  return is_current(from) ? copy((uintptr_t)to, from, size, stream) : INVALID_VALUE;
}
int cuMemcpyAsync(uintptr_t to, uintptr_t from, size_t size, void* stream) { return copy(to, from, size, stream); }
int cuMemcpyDtoDAsync(uintptr_t to, uintptr_t from, size_t size, void* stream) {
  return is_current(to) && is_current(from) ? copy(to, from, size, stream) : INVALID_VALUE;
}
int cuMemcpyHtoD(uintptr_t to, const void* from, size_t size) { return cuMemcpyHtoDAsync(to, from, size, NULL); }
int cuMemcpyDtoH(void* to, uintptr_t from, size_t size) { return cuMemcpyDtoHAsync(to, from, size, NULL); }

int cuStreamCreate(struct object** stream, unsigned flags) {
  NEEDS_CONTEXT;
  *stream = create("stream");
  return flags ? INVALID_VALUE : OK;
}
int cuStreamDestroy(struct object* stream) { NEEDS_ITS_CONTEXT(stream); free(stream); return OK; }
int cuStreamSynchronize(void* stream) { NEEDS_CONTEXT; NEEDS_ITS_CONTEXT(stream); return OK; }
int cuStreamQuery(void* stream) { (void)stream; NEEDS_CONTEXT; return OK; }
int cuStreamGetCtx(struct object* stream, struct context** context) { *context = stream->context; return OK; }
int cuStreamWaitEvent(struct object* stream, struct object* event, unsigned flags) {
  NEEDS_CONTEXT;
  NEEDS_ITS_CONTEXT(stream);
  if ((uintptr_t)stream > 2) ++stream->waits;
  return event && !flags ? OK : INVALID_VALUE;
}
// For tests: how often a stream was made to wait.
int fake_stream_waits(struct object* stream) { return stream->waits; }
int cuEventCreate(struct object** event, unsigned flags) {
  NEEDS_CONTEXT;
  *event = create("event");
  return flags ? INVALID_VALUE : OK;
}
int cuEventDestroy(struct object* event) { NEEDS_ITS_CONTEXT(event); free(event); return OK; }
int cuEventRecord(struct object* event, struct object* stream) {
  NEEDS_CONTEXT;
  NEEDS_ITS_CONTEXT(stream);
  NEEDS_ITS_CONTEXT(event);
  event->launches = current()->launches;
  return OK;
}
int cuEventSynchronize(void* event) { NEEDS_CONTEXT; return event ? OK : INVALID_VALUE; }
int cuEventQuery(void* event) { NEEDS_CONTEXT; return event ? OK : INVALID_VALUE; }
int cuEventElapsedTime(float* milliseconds, struct object* start, struct object* end) {
  *milliseconds = end->launches - start->launches;  // one for each launch
  return start->context == end->context ? OK : INVALID_HANDLE;
}

int cuModuleLoadData(struct object** module, const void* image) {
  NEEDS_CONTEXT;
  *module = create("module");
  return memcmp(image, "\177ELF", 4) ? NO_BINARY : OK;
}
int cuModuleLoadDataEx(struct object** module, const void* image, unsigned number, void* options, void* values) {
  (void)number, (void)options, (void)values;
  return cuModuleLoadData(module, image);
}
int cuModuleUnload(struct object* module) { (void)module; return OK; }
int cuModuleGetFunction(struct object** function, struct object* module, const char* name) {
  NEEDS_CONTEXT;
  NEEDS_ITS_CONTEXT(module);
  *function = create(name);
  return module ? OK : INVALID_VALUE;
}
int cuFuncSetAttribute(struct object* function, int attribute, int value) {
  NEEDS_ITS_CONTEXT(function);
  return attribute == 8 && value <= 227 * 1024 ? OK : INVALID_VALUE;
}
int cuFuncSetBlockShape(struct object* function, int x, int y, int z) {
  NEEDS_ITS_CONTEXT(function);
  return x * y * z > 0 ? OK : INVALID_VALUE;
}
int cuLaunchKernel(struct object* function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
                   unsigned shared, void* stream, void** arguments, void** extra) {
  (void)gy, (void)gz, (void)shared;
  NEEDS_CONTEXT;
  NEEDS_ITS_CONTEXT(function);
  NEEDS_ITS_CONTEXT(stream);
  if (bx * by * bz > 512) return OUT_OF_RESOURCES;
  ++current()->launches;
  // extra: the address of all arguments follows a 1.
  const float* a = extra ? ((float**)extra[1])[0] : *(float**)arguments[0];
  float* b = extra ? ((float**)extra[1])[1] : *(float**)arguments[1];
  if (strstr(function->name, "breaks") || !is_current((uintptr_t)a) || !is_current((uintptr_t)b)) {
    failed = ILLEGAL_ADDRESS;
    return OK;
  }
  for (unsigned i = 0; i < gx * bx; ++i) b[i] = a[i] + 1;
  return OK;
}

ALSO(cuDeviceTotalMem, cuDeviceTotalMem_v2);
ALSO(cuDevicePrimaryCtxRelease, cuDevicePrimaryCtxRelease_v2);
ALSO(cuCtxPushCurrent, cuCtxPushCurrent_v2);
ALSO(cuCtxPopCurrent, cuCtxPopCurrent_v2);
ALSO(cuMemAlloc, cuMemAlloc_v2);
ALSO(cuMemFree, cuMemFree_v2);
ALSO(cuMemGetInfo, cuMemGetInfo_v2);
ALSO(cuMemcpyHtoD, cuMemcpyHtoD_v2);
ALSO(cuMemcpyDtoH, cuMemcpyDtoH_v2);
ALSO(cuMemcpyHtoDAsync, cuMemcpyHtoDAsync_v2);
ALSO(cuMemcpyDtoHAsync, cuMemcpyDtoHAsync_v2);
ALSO(cuMemcpyDtoDAsync, cuMemcpyDtoDAsync_v2);
ALSO(cuStreamDestroy, cuStreamDestroy_v2);
ALSO(cuEventDestroy, cuEventDestroy_v2);
ALSO(cuEventElapsedTime, cuEventElapsedTime_v2);

// Runs kernels compiled with emulation.h, and detects undefined behaviour of CUDA in them.
//
// g++ -fsanitize=thread inserts a call before each memory access (`__tsan_read4(address)`), and its other
// sanitizers insert calls where an index or a pointer is invalid. No sanitizer library of g++ is linked:
// the functions are defined here, and check each access exactly. Threads of a block are fibres that run
// until they wait or end, one after another, warp by warp; blocks run one after another. So the errors of
// a run depend on the program and its input alone.
//
// The detected errors, by the rules of the CUDA C++ Programming Guide:
// - Accesses of different threads to the same bytes, at least one of them a write, are a race unless a __syncthreads()
//   (in a warp: a __syncwarp()) separates them. Shuffles and votes order no memory: "they do not imply a memory
//   barrier". Blocks of a launch are unordered, so protocols of flags and fences are races here.
// - Atomic operations do not conflict with each other, but with plain accesses.
// - Writes of the same value by several threads are allowed if no thread reads it before a barrier.
// - A barrier must be reached by all threads, in the same line: no thread may have ended, or wait elsewhere.
// - A __syncwarp, shuffle or vote must be reached by all lanes in its mask. Lanes that the block lacks are ignored.
// - A shuffle from an inactive lane returns undefined bits: here all bits set, NaN in every type.
// - Shared memory is uninitialized (all bits set) when a block begins; reading it before a write is an error.
// - An access must lie in one buffer or variable, or on the thread's stack, and be aligned to its size.
//
// The accesses of a module without checks (`Module::checks`) are not instrumented. Barriers, shuffles and launches are
// checked all the same; an access out of bounds is an error if it faults, or writes next to a buffer.

#include <cstdarg>
#include <cstdio>
#include <map>
#include <mutex>

#include <pthread.h>
#include <signal.h>

#include "fibres.h"
#include "memory.h"
#include "shadow.h"

using namespace stepwell;

// The structs of emulation.h

struct uint3 {
  unsigned x, y, z;
};
struct stepwell_parameter {
  char kind;
  unsigned size;
  unsigned pointee;
};
struct stepwell_kernel {
  unsigned long long magic;
  const char* name;
  void (*run)(void** arguments);
  unsigned parameter_count;
  const stepwell_parameter* parameters;
  unsigned max_threads;
  unsigned dynamic_shared;
  unsigned static_shared;
  void* module;
};

extern "C" {
uint3 stepwell_thread_index, stepwell_block_index, stepwell_block_size, stepwell_grid_size;
alignas(256) unsigned char stepwell_dynamic_shared[227 * 1024];
}

namespace {

constexpr unsigned long long kMagic = 0x5354455057454c4cull;
constexpr unsigned kSharedByDefault = 48 * 1024;
constexpr unsigned kSharedAtMost = 227 * 1024;
constexpr int kUndefinedByte = 0xff;
constexpr size_t kFar = 1 << 20;  // from this distance on an address is not printed relative to a buffer
constexpr size_t kGap = 4096;     // around each allocation: an index slightly out of bounds hits no other buffer

// Statuses of launches, with the driver's numbers.
constexpr int kSuccess = 0;
constexpr int kInvalidValue = 1;
constexpr int kOutOfMemory = 2;
constexpr int kInvalidHandle = 400;
constexpr int kLaunchFailed = 719;

struct Module {
  std::string path;
  std::string dynamic_name;  // the name of dynamic shared memory in the text
  uintptr_t base = 0;
  bool checks = true;
  std::vector<std::unique_ptr<Region>> variables;
};

enum class Wait : uint8_t { kNothing, kBarrier, kSyncWarp, kShuffle, kVote, kActiveMask, kEnd, kStopped };

struct Thread {
  Wait wait = Wait::kNothing;
  int operation = 0;
  int line = 0;
  uint32_t mask = 0;
  uint64_t value = 0;  // the operand of a shuffle, a vote or a counting barrier, then its result
  int lane = 0;        // argument of a shuffle
  int width = 0;
  bool turn = false;   // the one of two areas that its next exchange of registers uses
  uint3 index{};       // in its block
  Fibre* fibre = nullptr;
};

// A write to bytes that other threads have written since the barrier: allowed if it changes nothing, which is known
// only after the write.
struct Rewrite {
  uintptr_t address = 0;
  Region* region = nullptr;
  std::string old;
  Witness witness;
  Place place = 0;
  int age = 0;
};

enum class Access : uint8_t { kRead, kWrite, kAtomic };

struct Launch {
  const stepwell_kernel* kernel = nullptr;
  Module* module = nullptr;
  void** arguments = nullptr;
  uint3 grid{}, block{};
  unsigned threads = 0, warps = 0;
  std::vector<Thread> thread;
  Regions regions;
  std::vector<Region*> shared;
  std::vector<Rewrite> rewrites;
  Context scheduler;
  Fibre* running = nullptr;
  bool failed = false;
  std::string
      uninitialized;  // the first uninitialized read: reported unless it is a race with a later write
};

std::mutex one_launch;
// A fork waits for the launch of another thread, so that a child process can launch.
const int at_fork = pthread_atfork([] { one_launch.lock(); }, [] { one_launch.unlock(); }, [] { one_launch.unlock(); });
std::string error_text;
Now now;
Launch launch;
std::vector<Fibre*> idle_fibres;
std::map<const void*, std::unique_ptr<Region>> allocations;

// The region that an instruction accessed last, most likely the next one as well.
constexpr size_t kGuesses = 1024;
Region* guesses[kGuesses];

// Texts

std::string format(const char* pattern, ...) __attribute__((format(printf, 1, 2)));
std::string format(const char* pattern, ...) {
  va_list arguments;
  va_start(arguments, pattern);
  char* text = nullptr;
  int length = vasprintf(&text, pattern, arguments);
  va_end(arguments);
  if (length < 0) return pattern;
  std::string result(text, size_t(length));
  std::free(text);
  return result;
}

uint3 at(unsigned index, uint3 size) { return {index % size.x, index / size.x % size.y, index / size.x / size.y}; }

std::string name_of(const char* what, uint3 at) { return format("%s (%u, %u, %u)", what, at.x, at.y, at.z); }
std::string thread_name(unsigned thread) { return name_of("thread", at(thread, launch.block)); }
std::string block_name(uint32_t serial) { return name_of("block", at(serial - now.launch_serial, launch.grid)); }

// " in line 12"; for an offset into the code <path+0x12>, which Python resolves.
std::string in_line(Place place) {
  if (place == 0) return "";
  if (place & kIsLine) return format(" in line %u", place & ~kIsLine);
  return format(" in <%s+0x%x>", launch.module->path.c_str(), place);
}

const char* space_name(Space space) {
  switch (space) {
    case Space::kGlobal:
      return "global memory";
    case Space::kShared:
      return "shared memory";
    case Space::kConstant:
      return "constant memory";
  }
  return "";
}

std::string element_name(const Region& region, uintptr_t address, size_t size) {
  long long offset = (long long)(address - region.begin);
  bool whole = offset % (long long)size == 0;
  std::string element = whole ? format("%s[%lld]", region.name.c_str(), offset / (long long)size)
                              : format("%s at byte %lld", region.name.c_str(), offset);
  return format("%s (%s, %zu byte%s)", element.c_str(), space_name(region.space), size, size == 1 ? "" : "s");
}

const char* wait_name(const Thread& thread) {
  static const char* const barriers[] = {"__syncthreads", "__syncthreads_count", "__syncthreads_and",
                                         "__syncthreads_or"};
  static const char* const shuffles[] = {"__shfl_sync", "__shfl_up_sync", "__shfl_down_sync", "__shfl_xor_sync"};
  static const char* const votes[] = {"__ballot_sync",     "__any_sync",        "__all_sync",
                                      "__reduce_add_sync", "__reduce_min_sync", "__reduce_max_sync",
                                      "__reduce_min_sync", "__reduce_max_sync"};
  switch (thread.wait) {
    case Wait::kBarrier:
      return barriers[thread.operation];
    case Wait::kSyncWarp:
      return "__syncwarp";
    case Wait::kShuffle:
      return shuffles[thread.operation];
    case Wait::kVote:
      return votes[thread.operation];
    case Wait::kActiveMask:
      return "__activemask";
    case Wait::kNothing:
    case Wait::kEnd:
    case Wait::kStopped:
      break;
  }
  return "";
}

std::string wait_text(const Thread& thread) {
  if (thread.wait == Wait::kEnd) return "has ended";
  std::string text = format("waits at %s in line %d", wait_name(thread), thread.line);
  bool masked = thread.wait == Wait::kSyncWarp || thread.wait == Wait::kShuffle || thread.wait == Wait::kVote;
  return masked ? text + format(" with the mask 0x%08x", thread.mask) : text;
}

// Errors

void set_error(const std::string& text) {
  error_text = format("kernel %s: ", launch.kernel == nullptr ? "?" : launch.kernel->name) + text;
  launch.failed = true;
}

// Leaves the fibre for good. Its stack is lost, but kernels own no resources.
[[noreturn]] void stop() {
  if (launch.running == nullptr) {  // in code that runs when a module is loaded
    std::fprintf(stderr, "%s\n", error_text.c_str());
    std::abort();
  }
  Context lost;
  switch_context(lost, launch.scheduler);
  std::abort();
}

[[noreturn]] void fail(const std::string& text) {
  set_error(launch.uninitialized.empty() ? text : launch.uninitialized);
  stop();
}

// Stops the thread, so that it does not use the value. The others run up to the barrier: a thread that writes the
// memory is in a race with the read, which is a more precise error than uninitialized memory.
[[noreturn]] void stop_uninitialized(const std::string& text) {
  if (launch.uninitialized.empty()) launch.uninitialized = text;
  launch.thread[now.thread].wait = Wait::kStopped;
  stop();
}

std::string here(Place place) { return thread_name(now.thread) + " of " + block_name(now.serial) + in_line(place); }

std::string other_name(const Witness& witness) {
  std::string thread = witness.thread < 0 ? "a thread" : thread_name(unsigned(witness.thread));
  return witness.serial == now.serial ? thread : thread + " of " + block_name(witness.serial);
}

[[noreturn]] void fail_race(const Region& region, uintptr_t address, size_t size, const char* verb, Place place,
                            const char* other_verb, const Witness& witness) {
  const char* reason = witness.serial != now.serial ? "nothing orders blocks of one launch"
                       : witness.thread >= 0 && unsigned(witness.thread) / kWarp == now.warp
                           ? "no __syncwarp() or __syncthreads() lies between"
                           : "no __syncthreads() lies between";
  set_error(format("data race on %s: %s %s it, which %s %s%s; %s", element_name(region, address, size).c_str(),
                   here(place).c_str(), verb, other_name(witness).c_str(), other_verb, in_line(witness.place).c_str(),
                   reason));
  stop();
}

const char* const kVerbs[] = {"reads", "writes", "atomically updates"};

[[noreturn]] void fail_outside(uintptr_t address, size_t size, Access access, Place place) {
  std::string text =
      format("out of bounds: %s %s %zu byte%s ", here(place).c_str(), kVerbs[int(access)], size, size == 1 ? "" : "s");
  if (address < kGap) fail(text + "through a null pointer");
  const Region* region = launch.regions.nearest(address);
  if (region == nullptr) fail(text + format("at address 0x%zx, and there is no memory that it may touch", address));
  std::string last =
      format("%s, which has %zu bytes (%s)", region->name.c_str(), region->size, space_name(region->space));
  bool before = address < region->begin;
  size_t away = before ? region->begin - address : address - region->begin;
  if (away > region->size + kFar) fail(text + format("at address 0x%zx; the nearest memory is ", address) + last);
  if (before) fail(text + format("that begin %zu in front of ", away) + last);
  size_t offset = away;
  if (offset % size == 0)
    fail(text + format("at %s[%zu], byte %zu of ", region->name.c_str(), offset / size, offset) + last);
  fail(text + format("at byte %zu of ", offset) + last);
}

// Accesses

Region* find_region(uintptr_t address, size_t size, uintptr_t code) {
  Region*& guess = guesses[(code ^ code >> 10) % kGuesses];
  if (guess == nullptr || !guess->holds(address, size)) guess = launch.regions.holding(address, size);
  return guess;
}

// Checks rewrites that have happened. A hook precedes its access, and a copy of a struct is preceded by two hooks, the
// write's first: so a rewrite has happened at the second hook after its own.
void settle_rewrites(bool all) {
  std::vector<Rewrite> later, due;
  for (Rewrite& rewrite : launch.rewrites) (all || ++rewrite.age >= 2 ? due : later).push_back(std::move(rewrite));
  launch.rewrites = std::move(later);
  for (const Rewrite& each : due)
    if (std::memcmp(reinterpret_cast<void*>(each.address), each.old.data(), each.old.size()) != 0)
      fail_race(*each.region, each.address, each.old.size(), "writes another value to", each.place, "wrote",
                each.witness);
}

[[gnu::noinline]] void add_rewrite(Region& region, uintptr_t address, size_t size, const Witness& witness,
                                   Place place) {
  std::string old(reinterpret_cast<const char*>(address), size);
  launch.rewrites.push_back({address, &region, std::move(old), witness, place, 0});
}

// Whether a thread of this block has written a cell of shared memory.
bool is_written(const Region& region, size_t cell) {
  const Record *writes = region.writes.cells, *atomics = region.atomics.cells;
  return (writes != nullptr && writes[cell].serial == now.serial) ||
         (atomics != nullptr && atomics[cell].serial == now.serial);
}

void check_races(Region& region, uintptr_t address, size_t size, Access access, Place place) {
  size_t offset = address - region.begin;
  if (((offset | size) & ((size_t(1) << region.cell_log) - 1)) != 0 && !region.refine(offset, size))
    fail("no memory to record accesses");
  Records& own = access == Access::kRead ? region.reads : access == Access::kWrite ? region.writes : region.atomics;
  if (own.cells == nullptr && !own.make(region.cells())) fail("no memory to record accesses");
  bool is_shared = region.space == Space::kShared;
  uint32_t first_serial = is_shared ? now.serial : now.launch_serial;
  const Record* reads = access == Access::kRead ? nullptr : region.reads.cells;
  const Record* writes = region.writes.cells;
  const Record* atomics = access == Access::kAtomic ? nullptr : region.atomics.cells;
  bool is_rewrite = false, is_uninitialized = false;
  Witness witness, writer;
  for (size_t cell = offset >> region.cell_log, end = (offset + size) >> region.cell_log; cell < end; ++cell) {
    is_uninitialized |= is_shared && access != Access::kWrite && !is_written(region, cell);
    if (reads != nullptr && now.concurrent(reads[cell], first_serial, witness))
      fail_race(region, address, size, kVerbs[int(access)], place, "read", witness);
    if (atomics != nullptr && now.concurrent(atomics[cell], first_serial, witness))
      fail_race(region, address, size, kVerbs[int(access)], place, "atomically updated", witness);
    if (writes != nullptr && now.concurrent(writes[cell], first_serial, witness)) {
      if (access != Access::kWrite) fail_race(region, address, size, kVerbs[int(access)], place, "wrote", witness);
      is_rewrite = true;
      writer = witness;
    }
    now.add_to(own.cells[cell], first_serial, place);
  }
  if (is_uninitialized)
    stop_uninitialized(format("uninitialized shared memory: %s %s %s, which no thread of the block has written",
                              here(place).c_str(), kVerbs[int(access)], element_name(region, address, size).c_str()));
  if (is_rewrite) add_rewrite(region, address, size, writer, place);
}

inline void watch(uintptr_t address, size_t size, Access access, Place place, uintptr_t code, bool is_aligned) {
  if (launch.running == nullptr || size == 0) return;
  if (!launch.rewrites.empty()) settle_rewrites(false);
  if (address - reinterpret_cast<uintptr_t>(launch.running->stack) < kStackSize) return;
  Region* region = find_region(address, size, code);
  if (region == nullptr) fail_outside(address, size, access, place);
  if (is_aligned && (address & (size - 1)) != 0)
    fail(format("misaligned access: %s %s %zu bytes at byte %zu of %s, expected a multiple of %zu", here(place).c_str(),
                kVerbs[int(access)], size, address - region->begin, region->name.c_str(), size));
  if (region->space == Space::kConstant) {
    if (access != Access::kRead)
      fail(format("constant memory: %s %s %s", here(place).c_str(), kVerbs[int(access)],
                  element_name(*region, address, size).c_str()));
    return;
  }
  check_races(*region, address, size, access, place);
}

inline void watch_code(const void* address, size_t size, Access access, const void* code, bool is_aligned) {
  if (launch.running == nullptr) return;
  // A return address points after the call.
  uintptr_t at = reinterpret_cast<uintptr_t>(code) - 1;
  watch(reinterpret_cast<uintptr_t>(address), size, access, Place(at - launch.module->base), at, is_aligned);
}

// Fibres

void run_threads() {
  for (;;) {
    launch.kernel->run(launch.arguments);
    if (!launch.rewrites.empty()) settle_rewrites(true);
    launch.thread[now.thread].wait = Wait::kEnd;
    switch_context(launch.running->context, launch.scheduler);
  }
}

void make_running(unsigned index) {
  now.move_to(index);
  stepwell_thread_index = launch.thread[index].index;
  launch.running = launch.thread[index].fibre;
}

// Leaves a thread that waits for the next lane of its warp, without a detour through the scheduler, which would resume
// that lane if it can run and has begun.
void run_next() {
  Context& left = launch.running->context;
  unsigned next = now.thread + 1;
  if (next % kWarp == 0 || next >= launch.threads || launch.failed || launch.thread[next].wait != Wait::kNothing ||
      launch.thread[next].fibre == nullptr)
    return switch_context(left, launch.scheduler);
  make_running(next);
  switch_context(left, launch.running->context);
}

// Suspends the running thread until it is resumed.
Thread& suspend(Wait wait, int operation, int line, uint32_t mask = 0, uint64_t value = 0) {
  if (!launch.rewrites.empty()) settle_rewrites(true);
  Thread& thread = launch.thread[now.thread];
  thread.wait = wait, thread.operation = operation, thread.line = line, thread.mask = mask, thread.value = value;
  if (mask != 0 || wait == Wait::kSyncWarp || wait == Wait::kShuffle || wait == Wait::kVote)
    if (!(mask >> now.lane & 1))
      fail(format("%s: %s is lane %u, which the mask 0x%08x does not name", wait_name(thread),
                  here(kIsLine | Place(line)).c_str(), now.lane, mask));
  run_next();
  return launch.thread[now.thread];
}

void resume(unsigned index) {
  Thread& thread = launch.thread[index];
  if (thread.fibre == nullptr) {
    if (idle_fibres.empty()) {
      auto fibre = std::make_unique<Fibre>();
      if (!fibre->begin(run_threads)) return set_error("no memory for the stack of a thread");
      idle_fibres.push_back(fibre.release());
    }
    thread.fibre = idle_fibres.back();
    idle_fibres.pop_back();
  }
  make_running(index);
  switch_context(launch.scheduler, thread.fibre->context);
  launch.running = nullptr;
  Thread& last = launch.thread[now.thread];  // lanes may have run since
  if (last.wait == Wait::kEnd) {
    idle_fibres.push_back(last.fibre);
    last.fibre = nullptr;
  }
}

// Warps

unsigned first_of(unsigned warp) { return warp * kWarp; }
unsigned lanes_of(unsigned warp) { return std::min(kWarp, launch.threads - first_of(warp)); }
uint32_t existing(unsigned warp) { return lanes_of(warp) == kWarp ? ~0u : (1u << lanes_of(warp)) - 1; }
Thread& lane_of(unsigned warp, unsigned lane) { return launch.thread[first_of(warp) + lane]; }

// The source lane of a shuffle.
unsigned source_lane(const Thread& thread, unsigned lane) {
  int width = thread.width, first = int(lane) & ~(width - 1), source = int(lane);
  switch (thread.operation) {
    case 0:
      source = first + (thread.lane & (width - 1));
      break;
    case 1:
      source = int(lane) - thread.lane < first ? int(lane) : int(lane) - thread.lane;
      break;
    case 2:
      source = thread.lane >= width || int(lane) + thread.lane >= first + width ? int(lane) : int(lane) + thread.lane;
      break;
    case 3:
      source = int(lane ^ unsigned(thread.lane)) >= first + width ? int(lane) : int(lane ^ unsigned(thread.lane));
      break;
  }
  return unsigned(source);
}

void finish_shuffle(unsigned warp, uint32_t group) {
  uint64_t brought[kWarp];
  for (unsigned lane = 0; lane < kWarp; ++lane)
    brought[lane] = group >> lane & 1 ? lane_of(warp, lane).value : ~uint64_t(0);
  for (unsigned lane = 0; lane < kWarp; ++lane)
    if (group >> lane & 1) {
      Thread& thread = lane_of(warp, lane);
      unsigned source = source_lane(thread, lane);
      thread.value = source < kWarp ? brought[source] : ~uint64_t(0);
    }
}

uint32_t combine(int operation, uint32_t left, uint32_t right) {
  switch (operation) {
    case 3:
      return left + right;
    case 4:
      return std::min(left, right);
    case 5:
      return std::max(left, right);
    case 6:
      return uint32_t(std::min(int32_t(left), int32_t(right)));
    case 7:
      return uint32_t(std::max(int32_t(left), int32_t(right)));
  }
  return 0;
}

void finish_vote(unsigned warp, uint32_t group) {
  uint32_t result = 0;
  bool is_first = true;
  for (unsigned lane = 0; lane < kWarp; ++lane)
    if (group >> lane & 1) {
      const Thread& thread = lane_of(warp, lane);
      uint32_t value = uint32_t(thread.value);
      if (thread.operation < 3)
        result |= value << lane;
      else
        result = is_first ? value : combine(thread.operation, result, value);
      is_first = false;
    }
  for (unsigned lane = 0; lane < kWarp; ++lane)
    if (group >> lane & 1) lane_of(warp, lane).value = result;
}

bool is_same_wait(const Thread& left, const Thread& right) {
  return left.wait == right.wait && left.operation == right.operation && left.line == right.line &&
         left.mask == right.mask;
}

uint32_t same_waits(unsigned warp, const Thread& thread) {
  uint32_t group = 0;
  for (unsigned lane = 0; lane < lanes_of(warp); ++lane)
    if (is_same_wait(lane_of(warp, lane), thread)) group |= 1u << lane;
  return group;
}

void release(unsigned warp, uint32_t group) {
  for (unsigned lane = 0; lane < kWarp; ++lane)
    if (group >> lane & 1) lane_of(warp, lane).wait = Wait::kNothing;
}

// Releases the lanes of a warp whose groups are complete. No lane of the warp is running. Returns whether
// any was released.
bool meet_lanes(unsigned warp) {
  bool any = false;
  for (unsigned lane = 0; lane < lanes_of(warp); ++lane) {
    const Thread& thread = lane_of(warp, lane);
    if (thread.wait != Wait::kSyncWarp && thread.wait != Wait::kShuffle && thread.wait != Wait::kVote) continue;
    uint32_t group = thread.mask & existing(warp);
    if ((same_waits(warp, thread) & group) != group) continue;
    if (thread.wait == Wait::kSyncWarp) now.join(warp, group);
    if (thread.wait == Wait::kShuffle) finish_shuffle(warp, group);
    if (thread.wait == Wait::kVote) finish_vote(warp, group);
    release(warp, group);
    any = true;
  }
  if (any) return true;
  // A query of the active lanes is answered when all other lanes wait or have ended.
  for (unsigned lane = 0; lane < lanes_of(warp); ++lane) {
    const Thread& thread = lane_of(warp, lane);
    if (thread.wait != Wait::kActiveMask) continue;
    uint32_t group = same_waits(warp, thread);
    for (unsigned each = 0; each < kWarp; ++each)
      if (group >> each & 1) lane_of(warp, each).value = group;
    release(warp, group);
    return true;
  }
  return false;
}

// Runs the threads of a warp until all wait for the block or for lanes that do not arrive.
void run_warp(unsigned warp) {
  do {
    for (unsigned lane = 0; lane < lanes_of(warp); ++lane)
      if (lane_of(warp, lane).wait == Wait::kNothing) {
        resume(first_of(warp) + lane);
        if (launch.failed) return;
      }
  } while (meet_lanes(warp));
}

// Blocks

// Reports the cause of a deadlock: first lanes that wait for others of their warp, then barriers.
void fail_waiting() {
  std::string block = " of " + block_name(now.serial) + " ";
  for (unsigned index = 0; index < launch.threads; ++index) {
    const Thread& thread = launch.thread[index];
    if (thread.wait == Wait::kBarrier || thread.wait == Wait::kEnd) continue;
    unsigned warp = index / kWarp;
    uint32_t missing = thread.mask & existing(warp) & ~same_waits(warp, thread);
    unsigned other = first_of(warp) + unsigned(__builtin_ctz(missing));
    return set_error(format("divergent %s: %s%s%s, for %s (lane %u), which %s", wait_name(thread),
                            thread_name(index).c_str(), block.c_str(), wait_text(thread).c_str(),
                            thread_name(other).c_str(), other % kWarp, wait_text(launch.thread[other]).c_str()));
  }
  // The other threads wait at barriers or have ended.
  auto begin = launch.thread.begin(), end = launch.thread.end();
  auto waiting = std::find_if(begin, end, [](const Thread& each) { return each.wait == Wait::kBarrier; });
  auto is_there = [&](const Thread& each) { return is_same_wait(each, *waiting); };
  auto elsewhere = std::find_if_not(begin, end, is_there);
  set_error(format("divergent barrier: %s%s%s, as do %td of %u threads in all, but %s %s",
                   thread_name(unsigned(waiting - begin)).c_str(), block.c_str(), wait_text(*waiting).c_str(),
                   std::count_if(begin, end, is_there), launch.threads,
                   thread_name(unsigned(elsewhere - begin)).c_str(), wait_text(*elsewhere).c_str()));
}

// Handles the state in which all threads wait at a barrier or have ended. Returns false if the block is done.
bool meet_threads() {
  unsigned ended = 0, together = 0, holds = 0;
  for (unsigned index = 0; index < launch.threads; ++index) {
    const Thread& thread = launch.thread[index];
    ended += thread.wait == Wait::kEnd;
    together += thread.wait == Wait::kBarrier && is_same_wait(thread, launch.thread[0]);
    holds += thread.value != 0;
  }
  if (!launch.uninitialized.empty()) set_error(launch.uninitialized);
  if (ended == launch.threads || launch.failed) return false;
  if (together != launch.threads) {
    fail_waiting();
    return false;
  }
  int operation = launch.thread[0].operation;
  uint64_t result = operation == 1 ? holds : operation == 2 ? holds == launch.threads : holds != 0;
  for (unsigned index = 0; index < launch.threads; ++index) {
    launch.thread[index].wait = Wait::kNothing;
    launch.thread[index].value = result;
  }
  now.next_epoch();
  return true;
}

void run_block() {
  ++now.serial;
  now.next_epoch();
  for (const Region* region : launch.shared)
    std::memset(reinterpret_cast<void*>(region->begin), kUndefinedByte, region->size);
  for (unsigned index = 0; index < launch.threads; ++index) launch.thread[index].wait = Wait::kNothing;
  do {
    for (unsigned warp = 0; warp < launch.warps; ++warp) {
      run_warp(warp);
      if (launch.failed) return;
    }
  } while (meet_threads());
}

// Launches

int refuse(int status, const std::string& text) {
  set_error(text);
  return status;
}

int check_sizes(const stepwell_kernel& kernel, uint3 grid, uint3 block, unsigned shared_bytes) {
  auto text = [](uint3 size) { return format("(%u, %u, %u)", size.x, size.y, size.z); };
  if (grid.x == 0 || grid.y == 0 || grid.z == 0 || grid.x > 0x7fffffffu || grid.y > 65535 || grid.z > 65535)
    return refuse(kInvalidValue, "grid " + text(grid) + ": expected 1 to (2147483647, 65535, 65535) blocks");
  uint64_t threads = uint64_t(block.x) * block.y * block.z;
  if (threads == 0 || block.x > 1024 || block.y > 1024 || block.z > 64 || threads > kMaxThreads)
    return refuse(kInvalidValue, "block " + text(block) + ": expected 1 to (1024, 1024, 64) threads, 1024 in all");
  if (threads > kernel.max_threads)
    return refuse(kInvalidValue, "block " + text(block) +
                                     format(" has %u threads, __launch_bounds__ says %u at most", unsigned(threads),
                                            kernel.max_threads));
  if (uint64_t(shared_bytes) + kernel.static_shared > kSharedAtMost)
    return refuse(kInvalidValue, format("%u bytes of dynamic and %u of static shared memory, expected %u in all",
                                        shared_bytes, kernel.static_shared, kSharedAtMost));
  if (shared_bytes > kernel.dynamic_shared)
    return refuse(kInvalidValue,
                  format("%u bytes of dynamic shared memory, expected %u at most: more must be asked for "
                         "by an attribute of the kernel",
                         shared_bytes, kernel.dynamic_shared));
  return kSuccess;
}

void begin_launch(const stepwell_kernel& kernel, uint3 grid, uint3 block, Region* dynamic, void** arguments) {
  launch.module = static_cast<Module*>(kernel.module);
  launch.arguments = arguments;
  launch.grid = stepwell_grid_size = grid;
  launch.block = stepwell_block_size = block;
  launch.threads = block.x * block.y * block.z;
  launch.warps = (launch.threads + kWarp - 1) / kWarp;
  launch.thread.assign(launch.threads, Thread());
  for (unsigned index = 0; index < launch.threads; ++index) launch.thread[index].index = at(index, block);
  launch.regions = Regions();
  launch.shared.clear();
  for (auto& each : allocations) launch.regions.add(each.second.get());
  for (auto& each : launch.module->variables) {
    launch.regions.add(each.get());
    if (each->space == Space::kShared) launch.shared.push_back(each.get());
  }
  if (dynamic->size != 0) {
    launch.regions.add(dynamic);
    launch.shared.push_back(dynamic);
  }
  std::fill(guesses, guesses + kGuesses, nullptr);
  now.launch_serial = now.serial + 1;
}

// Accesses without checks

pthread_t faulting_host;  // the thread that launches
struct sigaction usual_actions[2];
constexpr int kFaults[] = {SIGSEGV, SIGBUS};

// An access of a kernel to memory that does not exist, or a misaligned access by a vector instruction.
void on_fault(int signal, siginfo_t* fault, void*) {
  if (launch.running == nullptr || !pthread_equal(pthread_self(), faulting_host)) {
    sigaction(signal, &usual_actions[signal != SIGSEGV], nullptr);  // the instruction faults again
    return;
  }
  fail(format("illegal access: %s accesses memory at address %p, which does not exist or is misaligned",
              here(0).c_str(), fault->si_addr));
}

void begin_faults() {
  faulting_host = pthread_self();
  struct sigaction action {};
  action.sa_sigaction = on_fault;
  action.sa_flags = SA_SIGINFO | SA_NODEFER;  // the handler never returns: another fault may follow
  for (int i = 0; i < 2; ++i) sigaction(kFaults[i], &action, &usual_actions[i]);
}

void end_faults() {
  for (int i = 0; i < 2; ++i) sigaction(kFaults[i], &usual_actions[i], nullptr);
}

// The first changed byte of a gap, null if none is. Restores the gap, so that later launches are not blamed.
const char* changed_byte(char* gap) {
  auto is_changed = [](char each) { return each != char(kUndefinedByte); };
  char* changed = std::find_if(gap, gap + kGap, is_changed);
  if (changed == gap + kGap) return nullptr;
  std::memset(gap, kUndefinedByte, kGap);
  return changed;
}

// Reports writes of the launch next to a buffer.
void check_gaps() {
  for (auto& each : allocations) {
    const Region& region = *each.second;
    auto begin = reinterpret_cast<char*>(region.begin);
    const char* before = changed_byte(begin - kGap);
    const char* behind = changed_byte(begin + region.size);
    if ((before == nullptr && behind == nullptr) || launch.failed) continue;
    set_error(format("out of bounds: a thread writes %zu bytes %s %s, which has %zu bytes (%s)",
                     before != nullptr ? size_t(begin - before) : size_t(behind - begin) - region.size,
                     before != nullptr ? "before" : "after the end of", region.name.c_str(), region.size,
                     space_name(region.space)));
  }
}

void run_grid() {
  for (unsigned z = 0; z < launch.grid.z; ++z)
    for (unsigned y = 0; y < launch.grid.y; ++y)
      for (unsigned x = 0; x < launch.grid.x; ++x) {
        stepwell_block_index = {x, y, z};
        run_block();
        if (launch.failed) return;
      }
}

// Restarts fibres that an error left in the middle of a thread.
void take_back_fibres() {
  for (Thread& thread : launch.thread)
    if (thread.fibre != nullptr) {
      thread.fibre->begin(run_threads);
      idle_fibres.push_back(thread.fibre);
      thread.fibre = nullptr;
    }
  launch.running = nullptr;
  launch.rewrites.clear();
}

// The data that g++ passes with its own errors

struct SourceLocation {
  const char* file;
  uint32_t line, column;
};
struct TypeDescriptor {
  uint16_t kind, information;
  char name[1];
};
struct OutOfBounds {
  SourceLocation at;
  const TypeDescriptor *array, *index;
};
struct TypeMismatch {
  SourceLocation at;
  const TypeDescriptor* type;
  uint8_t alignment_log, kind;
};
struct Arithmetic {
  SourceLocation at;
  const TypeDescriptor* type;
};

std::string here(const SourceLocation& at) { return here(kIsLine | at.line); }

// Values of up to 64 bits are passed directly.
std::string index_text(const TypeDescriptor& type, uintptr_t value) {
  unsigned bits = 1u << (type.information >> 1);
  bool is_signed = type.information & 1;
  if (!is_signed) return format("%llu", (unsigned long long)value);
  int unused = bits >= 64 ? 0 : int(64 - bits);
  return format("%lld", (long long)(uint64_t(value) << unused) >> unused);
}

}  // namespace

extern "C" {

// The ABI: signatures and statuses of cuLaunchKernel and cuFuncSetAttribute, so that host code can call either.

int stepwell_emulated_launch(void* handle, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
                             unsigned block_y, unsigned block_z, unsigned shared_bytes, void* stream, void** arguments,
                             void** extra) {
  (void)stream;
  std::lock_guard<std::mutex> lock(one_launch);
  auto kernel = static_cast<const stepwell_kernel*>(handle);
  launch.kernel = nullptr;
  launch.failed = false;
  launch.uninitialized.clear();
  error_text.clear();
  if (kernel == nullptr || kernel->magic != kMagic || kernel->module == nullptr)
    return refuse(kInvalidHandle, "the handle is none of a kernel");
  launch.kernel = kernel;
  if (extra != nullptr) return refuse(kInvalidValue, "arguments in one buffer are not supported, expected `params`");
  if (arguments == nullptr && kernel->parameter_count != 0) return refuse(kInvalidValue, "there are no arguments");
  uint3 grid{grid_x, grid_y, grid_z}, block{block_x, block_y, block_z};
  if (int status = check_sizes(*kernel, grid, block, shared_bytes)) return status;
  const std::string& dynamic_name = static_cast<const Module*>(kernel->module)->dynamic_name;
  Region dynamic(dynamic_name, stepwell_dynamic_shared, shared_bytes, Space::kShared);
  begin_launch(*kernel, grid, block, &dynamic, arguments);
  bool checks = launch.module->checks;
  if (!checks) begin_faults();
  run_grid();
  if (!checks) end_faults();
  if (!checks) check_gaps();
  take_back_fibres();
  std::fflush(stdout);
  return launch.failed ? kLaunchFailed : kSuccess;
}

int stepwell_emulated_set_attribute(void* handle, int attribute, int value) {
  constexpr int kMaxDynamicShared = 8, kSharedCarveout = 9;
  auto kernel = static_cast<stepwell_kernel*>(handle);
  if (kernel == nullptr || kernel->magic != kMagic) return kInvalidHandle;
  if (attribute == kSharedCarveout) return kSuccess;
  if (attribute != kMaxDynamicShared || value < 0 || unsigned(value) + kernel->static_shared > kSharedAtMost)
    return kInvalidValue;
  kernel->dynamic_shared = unsigned(value);
  return kSuccess;
}

const char* stepwell_emulated_error() { return error_text.c_str(); }

// Device memory with undefined bits; null if none is left.
void* stepwell_emulated_alloc(size_t size, const char* name) {
  std::lock_guard<std::mutex> lock(one_launch);
  size_t whole = (size + 2 * kGap + 255) / 256 * 256;
  auto memory = static_cast<char*>(std::aligned_alloc(256, whole));
  if (memory == nullptr) return nullptr;
  std::memset(memory, kUndefinedByte, whole);
  void* address = memory + kGap;
  allocations[address] = std::make_unique<Region>(name == nullptr ? "a buffer" : name, address, size, Space::kGlobal);
  return address;
}

int stepwell_emulated_free(void* address) {
  if (address == nullptr) return kSuccess;
  std::lock_guard<std::mutex> lock(one_launch);
  if (allocations.erase(address) == 0) return kInvalidValue;
  std::free(static_cast<char*>(address) - kGap);
  return kSuccess;
}

// The signatures of cuMemAllocAsync, cuMemFreeAsync, cuMemcpyAsync (from the device to the host) and
// cuStreamSynchronize. Launches are complete when they return, so stream order is trivial.

int stepwell_emulated_alloc_async(void** place, size_t size, void* stream) {
  (void)stream;
  *place = stepwell_emulated_alloc(size, "a buffer between kernels");
  return *place == nullptr ? kOutOfMemory : kSuccess;
}

int stepwell_emulated_free_async(void* address, void* stream) {
  (void)stream;
  return stepwell_emulated_free(address);
}

int stepwell_emulated_copy_async(void* to, const void* from, size_t bytes, void* stream) {
  (void)stream;
  std::lock_guard<std::mutex> lock(one_launch);
  auto address = reinterpret_cast<uintptr_t>(from);
  auto behind = allocations.upper_bound(const_cast<void*>(from));
  if (behind == allocations.begin() || !std::prev(behind)->second->holds(address, bytes)) {
    error_text = format("out of bounds: the host reads %zu bytes outside of every buffer", bytes);
    return kInvalidValue;
  }
  std::memcpy(to, from, bytes);
  return kSuccess;
}

int stepwell_emulated_wait(void* stream) {
  (void)stream;
  return kSuccess;
}

// The registration of a compiled module by Python. `space`: 0 global, 1 shared, 2 constant.

void* stepwell_emulated_module(const char* path, const char* dynamic_name, void* base, int checks) {
  auto module = new Module;
  module->path = path;
  module->dynamic_name = dynamic_name;
  module->base = reinterpret_cast<uintptr_t>(base);
  module->checks = checks != 0;
  return module;
}

void stepwell_emulated_variable(void* module, const char* name, void* address, size_t size, int space) {
  auto& variables = static_cast<Module*>(module)->variables;
  variables.push_back(std::make_unique<Region>(name, address, size, Space(space)));
}

void stepwell_emulated_kernel(void* module, void* handle, unsigned static_shared) {
  auto kernel = static_cast<stepwell_kernel*>(handle);
  kernel->module = module;
  kernel->static_shared = static_shared;
  kernel->dynamic_shared = kSharedByDefault - std::min(static_shared, kSharedByDefault);
}

void stepwell_emulated_forget(void* module) { delete static_cast<Module*>(module); }

// The functions that kernels call

void stepwell_barrier(int line, int operation, int predicate) {
  suspend(Wait::kBarrier, operation, line, 0, predicate != 0);
}
unsigned stepwell_barrier_result() { return unsigned(launch.thread[now.thread].value); }

void stepwell_sync_warp(unsigned mask, int line) { suspend(Wait::kSyncWarp, 0, line, mask); }

unsigned stepwell_active_mask(int line) { return unsigned(suspend(Wait::kActiveMask, 0, line).value); }

unsigned stepwell_vote(int operation, unsigned mask, unsigned long long value, int line) {
  return unsigned(suspend(Wait::kVote, operation, line, mask, value).value);
}

unsigned long long stepwell_shuffle(int operation, unsigned mask, unsigned long long value, int lane, int width,
                                    int line) {
  if (width <= 0 || width > int(kWarp) || (width & (width - 1)) != 0)
    fail(format("shuffle: %s has the width %d, expected a power of 2 up to 32", here(kIsLine | Place(line)).c_str(),
                width));
  launch.thread[now.thread].lane = lane;
  launch.thread[now.thread].width = width;
  return suspend(Wait::kShuffle, operation, line, mask, value).value;
}

// Shows the registers of a lane to the other lanes; returns those of lane 0, `kRegisterBytes` apart for each lane. Lanes
// may still read those of the exchange before, which are in the other area.
const char* stepwell_exchange(const void* left, unsigned left_bytes, const void* right, unsigned right_bytes, int line) {
  constexpr unsigned kRegisterBytes = 64, kThreads = 1024;
  alignas(16) static char registers[2][kThreads][kRegisterBytes];
  Thread& thread = launch.thread[now.thread];
  auto& area = registers[thread.turn];
  thread.turn = !thread.turn;
  std::memcpy(area[now.thread], left, left_bytes);
  std::memcpy(area[now.thread] + left_bytes, right, right_bytes);
  const char* first = area[now.thread - now.lane];
  suspend(Wait::kVote, 2, line, ~0u);
  return first;
}

void stepwell_atomic(const void* address, unsigned size, int line) {
  auto at = reinterpret_cast<uintptr_t>(address);
  watch(at, size, Access::kAtomic, kIsLine | Place(line), Place(line), true);
}

[[noreturn]] void stepwell_broken_assumption(int line) {
  fail("what __builtin_assume says is not so: " + here(kIsLine | Place(line)));
}
[[noreturn]] void stepwell_trap(int line) { fail("trap: " + here(kIsLine | Place(line))); }

int stepwell_printf(const char* pattern, ...) {
  va_list arguments;
  va_start(arguments, pattern);
  int length = std::vprintf(pattern, arguments);
  va_end(arguments);
  return length;
}

void* stepwell_memcpy(void* to, const void* from, size_t bytes) {
  watch_code(from, bytes, Access::kRead, __builtin_return_address(0), false);
  watch_code(to, bytes, Access::kWrite, __builtin_return_address(0), false);
  return std::memmove(to, from, bytes);
}
void* stepwell_memset(void* to, int value, size_t bytes) {
  watch_code(to, bytes, Access::kWrite, __builtin_return_address(0), false);
  return std::memset(to, value, bytes);
}

// The hooks of -fsanitize=thread

#define STEPWELL_HOOKS(size)                                                                                           \
  void __tsan_read##size(void* at) { watch_code(at, size, Access::kRead, __builtin_return_address(0), true); }         \
  void __tsan_write##size(void* at) { watch_code(at, size, Access::kWrite, __builtin_return_address(0), true); }
STEPWELL_HOOKS(1)
STEPWELL_HOOKS(2)
STEPWELL_HOOKS(4)
STEPWELL_HOOKS(8)
STEPWELL_HOOKS(16)
// Accesses by types without an alignment requirement are never misaligned.
#define STEPWELL_UNALIGNED_HOOKS(size)                                                                                 \
  void __tsan_unaligned_read##size(void* at) {                                                                         \
    watch_code(at, size, Access::kRead, __builtin_return_address(0), false);                                           \
  }                                                                                                                    \
  void __tsan_unaligned_write##size(void* at) {                                                                        \
    watch_code(at, size, Access::kWrite, __builtin_return_address(0), false);                                          \
  }
STEPWELL_UNALIGNED_HOOKS(2)
STEPWELL_UNALIGNED_HOOKS(4)
STEPWELL_UNALIGNED_HOOKS(8)
STEPWELL_UNALIGNED_HOOKS(16)
void __tsan_read_range(void* at, size_t size) {
  watch_code(at, size, Access::kRead, __builtin_return_address(0), false);
}
void __tsan_write_range(void* at, size_t size) {
  watch_code(at, size, Access::kWrite, __builtin_return_address(0), false);
}
void __tsan_init() {}
void __tsan_func_entry(void*) {}
void __tsan_func_exit() {}

// The hooks of the other sanitizers

void __ubsan_handle_out_of_bounds(const OutOfBounds* what, uintptr_t index) {
  fail(format("out of bounds: %s takes index %s of an array of type %s", here(what->at).c_str(),
              index_text(*what->index, index).c_str(), what->array->name));
}

void __ubsan_handle_type_mismatch_v1(const TypeMismatch* what, uintptr_t address) {
  uintptr_t alignment = uintptr_t(1) << what->alignment_log;
  const Region* region = launch.regions.before(address);
  std::string where = region != nullptr && address < region->end()
                          ? format("byte %zu of %s", address - region->begin, region->name.c_str())
                          : format("address 0x%zx", address);
  if (address == 0) fail("out of bounds: " + here(what->at) + " goes through a null pointer");
  if ((address & (alignment - 1)) != 0)
    fail(format("misaligned access: %s takes a %s at %s, expected a multiple of %zu", here(what->at).c_str(),
                what->type->name, where.c_str(), alignment));
  fail(format("out of bounds: %s takes a %s at %s, where there is no room for it", here(what->at).c_str(),
              what->type->name, where.c_str()));
}

void __ubsan_handle_divrem_overflow(const Arithmetic* what, uintptr_t, uintptr_t) {
  fail("division of an integer by zero, or of the lowest by -1: " + here(what->at));
}
void __ubsan_handle_shift_out_of_bounds(const Arithmetic* what, uintptr_t, uintptr_t) {
  fail("shift by a negative number of bits or by all of them: " + here(what->at));
}
void __ubsan_handle_builtin_unreachable(const SourceLocation* at) { fail("unreachable code: " + here(*at)); }

}  // extern "C"

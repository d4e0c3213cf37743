// Records of the accesses to memory, and whether they are ordered before an access of the current thread.
//
// Memory is divided into cells of 4 bytes, or of 2 or 1 for a program with smaller accesses (`Region::refine`), so
// every access covers whole cells and the records are exact. Each cell has three records: of plain reads, of plain
// writes, of atomic operations. A record holds all threads that may conflict with a later one:
//
// - threads of other blocks of the launch, which are unordered: their existence is enough;
// - threads of this block since the last __syncthreads(), identified by the number of the interval (`epoch`);
// - of these, if they are of one warp, the order by `__syncwarp`: vector clocks of 32 lanes.
//
// If they are of two warps or more, any later thread conflicts with one of them, so two of them are kept as witnesses.

#pragma once

#include <array>
#include <cstdint>
#include <vector>

namespace stepwell {

constexpr unsigned kWarp = 32;
constexpr unsigned kMaxThreads = 1024;

// A position in the program: an offset into the module's code, or a line if the top bit is set. 0 is unknown.
using Place = uint32_t;
constexpr Place kIsLine = 0x80000000u;

struct Record {
  enum Spread : uint8_t { kOneClock, kManyClocks, kManyWarps };

  uint32_t serial = 0;  // the run of a block that the fields below refer to; 0 for none
  uint32_t epoch = 0;   // the interval between barriers of the accesses
  uint32_t lanes = 0;   // of warp `warp`
  uint32_t clock = 0;   // of these lanes; with kManyClocks, the index into Now::clocks
  Place first_place = 0, last_place = 0;
  uint32_t other_serial = 0;  // an earlier block with the same kind of access
  Place other_place = 0;
  uint16_t first = 0, last = 0;  // threads; of different warps with kManyWarps
  uint8_t warp = 0;
  Spread spread = kOneClock;
};

struct Witness {
  uint32_t serial = 0;  // the run of its block
  int thread = -1;      // -1 if only the block is known
  Place place = 0;
};

// The current thread, and its knowledge of the other lanes of its warp.
struct Now {
  uint32_t serial = 0;         // counts runs of blocks, never reset
  uint32_t launch_serial = 1;  // of the first block of this launch
  uint32_t epoch = 0;          // counts intervals between barriers, never reset
  unsigned thread = 0, warp = 0, lane = 0;

  // seen[warp][a][b]: the clock of lane b up to which lane a is ordered after b. An access of b at clock c is ordered
  // before the accesses of a if seen[warp][a][b] >= c. Never reset, as serials distinguish blocks.
  uint32_t seen[kMaxThreads / kWarp][kWarp][kWarp];
  std::vector<std::array<uint32_t, kWarp>> clocks;  // of the records with kManyClocks, of this epoch

  Now() {
    for (auto& warp : seen)
      for (unsigned lane = 0; lane < kWarp; ++lane)
        for (unsigned other = 0; other < kWarp; ++other) warp[lane][other] = lane == other;
  }

  void move_to(unsigned next) { thread = next, warp = next / kWarp, lane = next % kWarp; }

  void next_epoch() {
    ++epoch;
    clocks.clear();
  }

  // The lanes of `mask` have synchronized.
  void join(unsigned joined_warp, uint32_t mask) {
    auto& of_warp = seen[joined_warp];
    uint32_t joined[kWarp] = {};
    for (unsigned lane = 0; lane < kWarp; ++lane)
      if (mask >> lane & 1)
        for (unsigned other = 0; other < kWarp; ++other)
          if (of_warp[lane][other] > joined[other]) joined[other] = of_warp[lane][other];
    for (unsigned lane = 0; lane < kWarp; ++lane)
      if (mask >> lane & 1) {
        for (unsigned other = 0; other < kWarp; ++other) of_warp[lane][other] = joined[other];
        ++of_warp[lane][lane];
      }
  }

  uint32_t clock_of(const Record& record, unsigned of_lane) const {
    return record.spread == Record::kManyClocks ? clocks[record.clock][of_lane] : record.clock;
  }

  // The lanes of a record, which is of this warp and epoch, that are not ordered before this thread.
  uint32_t unordered(const Record& record) const {
    uint32_t result = 0;
    for (uint32_t left = record.lanes & ~(1u << lane); left != 0; left &= left - 1) {
      unsigned other = unsigned(__builtin_ctz(left));
      if (seen[warp][lane][other] < clock_of(record, other)) result |= 1u << other;
    }
    return result;
  }

  // Whether a thread of the record may run concurrently with this one; sets the witness. `first_serial`: the first
  // relevant run of a block: of this launch for global memory, the current one for shared memory.
  bool concurrent(const Record& record, uint32_t first_serial, Witness& witness) const {
    if (record.serial < first_serial) return false;
    if (record.serial != serial) {
      witness = {record.serial, record.last, record.last_place};
      return true;
    }
    if (record.other_serial >= first_serial) {
      witness = {record.other_serial, -1, record.other_place};
      return true;
    }
    if (record.epoch != epoch) return false;
    if (record.spread == Record::kManyWarps) {
      bool first = record.first / kWarp != warp;
      witness = {serial, first ? record.first : record.last, first ? record.first_place : record.last_place};
      return true;
    }
    if (record.warp != warp) {
      witness = {serial, record.last, record.last_place};
      return true;
    }
    uint32_t others = unordered(record);
    if (others == 0) return false;
    if (others >> record.last % kWarp & 1)
      witness = {serial, record.last, record.last_place};
    else if (others >> record.first % kWarp & 1)
      witness = {serial, record.first, record.first_place};
    else
      witness = {serial, int(warp * kWarp) + __builtin_ctz(others), 0};
    return true;
  }

  // Adds an access of this thread to a record.
  void add_to(Record& record, uint32_t first_serial, Place place) {
    if (record.serial != serial) {
      if (record.serial >= first_serial) {
        record.other_serial = record.serial;
        record.other_place = record.last_place;
      }
      begin(record, place);
    } else if (record.epoch != epoch) {
      begin(record, place);
    } else if (record.spread == Record::kManyWarps) {
      if (record.first / kWarp != warp) set_last(record, place);
    } else if (record.warp != warp) {
      record.spread = Record::kManyWarps;
      set_last(record, place);
    } else if (record.spread == Record::kOneClock && record.clock == seen[warp][lane][lane]) {
      record.lanes |= 1u << lane;
      set_last(record, place);
    } else {
      add_at_other_clock(record, place);
    }
  }

 private:
  void set_last(Record& record, Place place) const {
    record.last = uint16_t(thread);
    record.last_place = place;
  }

  void begin(Record& record, Place place) const {
    record.serial = serial;
    record.epoch = epoch;
    record.lanes = 1u << lane;
    record.clock = seen[warp][lane][lane];
    record.first = record.last = uint16_t(thread);
    record.first_place = record.last_place = place;
    record.warp = uint8_t(warp);
    record.spread = Record::kOneClock;
  }

  // Threads ordered before this one are dropped: a later conflict with them is a conflict with this one too.
  void add_at_other_clock(Record& record, Place place) {
    uint32_t others = unordered(record);
    if (others == 0) return begin(record, place);
    std::array<uint32_t, kWarp> each{};
    for (unsigned other = 0; other < kWarp; ++other)
      if (others >> other & 1) each[other] = clock_of(record, other);
    each[lane] = seen[warp][lane][lane];
    record.lanes = others | 1u << lane;
    record.clock = uint32_t(clocks.size());
    record.spread = Record::kManyClocks;
    clocks.push_back(each);
    set_last(record, place);
  }
};

}  // namespace stepwell

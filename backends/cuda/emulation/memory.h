// The memory that kernels may access, and the records of accesses (shadow.h).

#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "shadow.h"

namespace stepwell {

enum class Space { kGlobal, kShared, kConstant };

// A record per cell. The system zeroes the memory on first access.
class Records {
 public:
  Record* cells = nullptr;

  Records() = default;
  Records(const Records&) = delete;
  Records& operator=(const Records&) = delete;
  ~Records() { std::free(cells); }

  // Returns false if no memory is left.
  bool make(size_t count) {
    cells = static_cast<Record*>(std::calloc(count, sizeof(Record)));
    return cells != nullptr;
  }
  // Splits each cell into `pieces` copies.
  bool split(size_t count, size_t pieces) {
    if (cells == nullptr) return true;
    Record* old = cells;
    if (!make(count * pieces)) return false;
    for (size_t i = 0; i < count * pieces; ++i) cells[i] = old[i / pieces];
    std::free(old);
    return true;
  }
};

// A buffer or a variable. An access beyond its end is an error, whatever lies there.
struct Region {
  std::string name;
  uintptr_t begin;
  size_t size;
  Space space;
  unsigned cell_log = 2;  // a cell has 1 << cell_log bytes
  Records reads, writes, atomics;

  Region(std::string name, const void* address, size_t size, Space space)
      : name(std::move(name)), begin(reinterpret_cast<uintptr_t>(address)), size(size), space(space) {}

  uintptr_t end() const { return begin + size; }
  bool holds(uintptr_t address, size_t bytes) const {
    return address >= begin && bytes <= size && address - begin <= size - bytes;
  }
  size_t cells() const { return (size + (size_t(1) << cell_log) - 1) >> cell_log; }

  // Splits cells until an access to `bytes` bytes at `offset` covers whole cells. Returns false if no memory is left.
  bool refine(size_t offset, size_t bytes) {
    unsigned log = unsigned(__builtin_ctzll(offset | bytes));
    if (log >= cell_log) return true;
    for (Records* records : {&reads, &writes, &atomics})
      if (!records->split(cells(), size_t(1) << (cell_log - log))) return false;
    cell_log = log;
    return true;
  }
};

// Disjoint regions, sorted by address.
class Regions {
 public:
  void add(Region* region) {
    auto behind = [](uintptr_t address, const Region* each) { return address < each->begin; };
    sorted_.insert(std::upper_bound(sorted_.begin(), sorted_.end(), region->begin, behind), region);
  }
  void remove(const Region* region) { sorted_.erase(std::find(sorted_.begin(), sorted_.end(), region)); }

  // The last region that begins at or before an address, or null.
  Region* before(uintptr_t address) const {
    auto behind = [](uintptr_t address, const Region* each) { return address < each->begin; };
    auto next = std::upper_bound(sorted_.begin(), sorted_.end(), address, behind);
    return next == sorted_.begin() ? nullptr : *(next - 1);
  }
  Region* holding(uintptr_t address, size_t bytes) const {
    Region* region = before(address);
    return region != nullptr && region->holds(address, bytes) ? region : nullptr;
  }
  // The region closest to an address, or null.
  Region* nearest(uintptr_t address) const {
    Region* best = nullptr;
    size_t least = SIZE_MAX;
    for (Region* region : sorted_) {
      size_t away = address < region->begin   ? region->begin - address
                    : address < region->end() ? 0
                                              : address - region->end() + 1;
      if (away < least) least = away, best = region;
    }
    return best;
  }

 private:
  std::vector<Region*> sorted_;
};

}  // namespace stepwell

// What is known of each element of checked memory: who read and wrote it since the launch began.
//
// Two accesses are in order if the same lane makes them, or a barrier that both lanes wait at lies between them. Two that are
// not in order race if one of them writes, unless both are relaxed.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include <memory>
#include <string>
#include <vector>

#include <hidp/simt/linkage.hpp>

HIDP_EXECUTOR_BEGIN

constexpr int kWarp = 32;

// A fixed read is of what nobody writes while the kernel runs: machines keep a copy of it.
enum class Access : uint8_t { kRead, kFixedRead, kRelaxedRead, kWrite, kRelaxedWrite };

constexpr bool writes(Access access) { return access == Access::kWrite || access == Access::kRelaxedWrite; }
constexpr bool relaxed(Access access) { return access == Access::kRelaxedRead || access == Access::kRelaxedWrite; }
constexpr bool conflict(Access a, Access b) { return (writes(a) || writes(b)) && !(relaxed(a) && relaxed(b)); }
// Whether whatever races with `b` races with `a`.
constexpr bool covers(Access a, Access b) {
  if (a == b) return true;
  return b != Access::kFixedRead && (a == Access::kWrite || b == Access::kRelaxedRead);
}
// Whether a barrier helps two that conflict.
constexpr bool can_be_ordered(Access a, Access b) { return a != Access::kFixedRead && b != Access::kFixedRead; }

// When a lane does something: clocks rise at barriers.
struct Moment {
  uint32_t block;
  uint32_t thread;
  uint32_t epoch;  // barriers of the block before
  uint32_t clock;  // barriers of the lane's groups in its warp before
};

struct Record {
  Moment when;
  uint32_t place;
  Access access;
};

// Who has seen what of a warp's lanes: a row a lane.
struct WarpClocks {
  uint32_t seen[kWarp][kWarp] = {};

  void join(uint32_t mask) {
    uint32_t joined[kWarp] = {};
    for (int lane = 0; lane < kWarp; ++lane) {
      if ((mask >> lane & 1) == 0) continue;
      for (int of = 0; of < kWarp; ++of) joined[of] = joined[of] > seen[lane][of] ? joined[of] : seen[lane][of];
    }
    for (int lane = 0; lane < kWarp; ++lane) {
      if ((mask >> lane & 1) == 0) continue;
      for (int of = 0; of < kWarp; ++of) seen[lane][of] = joined[of];
      seen[lane][lane] += 1;
    }
  }
};

// Whether what happened at `then` is in order with the lane whose moment is `now` and whose warp has these clocks.
inline bool in_order(const Moment &then, const Moment &now, const WarpClocks &clocks) {
  if (then.block != now.block) return false;
  if (then.thread == now.thread || then.epoch < now.epoch) return true;
  return then.thread / kWarp == now.thread / kWarp && clocks.seen[now.thread % kWarp][then.thread % kWarp] >= then.clock;
}

// How far apart two lanes are: those that are far apart have fewer barriers in common.
inline int distance(const Moment &a, const Moment &b) {
  if (a.block != b.block) return 3;
  if (a.thread / kWarp != b.thread / kWarp) return 2;
  return a.thread != b.thread;
}

// The accesses to some neighbouring bytes that say most.
struct Cell {
  static constexpr int kRecords = 4;

  uint32_t launch = 0;
  // Of them, those of this launch.
  int used = 0;
  Record records[kRecords] = {};

  // Adds an access. What it races with, or null.
  const Record *add(uint32_t this_launch, const Record &record, const WarpClocks &clocks) {
    if (launch != this_launch) {
      launch = this_launch;
      used = 0;
    }
    const Record *race = nullptr;
    Record *slot = nullptr;
    for (int at = 0; at < used; ++at) {
      Record &old = records[at];
      const bool ordered = in_order(old.when, record.when, clocks);
      const bool allowed = ordered && can_be_ordered(old.access, record.access);
      if (!allowed && conflict(old.access, record.access)) race = &old;
      else if (ordered && covers(record.access, old.access)) slot = &old;
    }
    if (race != nullptr) return race;
    if (slot == nullptr) slot = used < kRecords ? &records[used++] : least(record);
    *slot = record;
    return nullptr;
  }

 private:
  // The record that can go: one whose like is farthest from the new one is worth keeping.
  Record *least(const Record &record) {
    Record *found = &records[0];
    int lowest = 4;
    for (Record &old : records) {
      int away = distance(old.when, record.when);
      for (const Record &other : records)
        if (&other != &old && other.access == old.access) away = away < distance(old.when, other.when) ? away : distance(old.when, other.when);
      if (old.access == Access::kWrite || old.access == Access::kFixedRead) away = 4;
      if (away < lowest) lowest = away, found = &old;
    }
    return found;
  }
};

// The cells of some memory, made when first needed. A cell holds as many bytes as the accesses to its page leave together.
class Shadow {
 public:
  explicit Shadow(size_t bytes) : pages_((bytes + kPage - 1) / kPage) {}

  // Calls note(cell) for each cell of these bytes; a false ends that.
  template <class Note>
  void each(size_t offset, size_t bytes, Note note) {
    Page &first = pages_[offset / kPage];
    if (!first.cells.empty() && bytes == size_t{1} << first.shift && offset % bytes == 0) {
      note(first.cells[offset % kPage >> first.shift]);
      return;
    }
    const size_t end = offset + bytes;
    while (offset < end) {
      Page &page = pages_[offset / kPage];
      const int shift = finest(offset, end);
      if (page.cells.empty()) page.start(shift);
      else if (shift < page.shift) page.refine(shift);
      if (!note(page.cells[offset % kPage >> page.shift])) return;
      offset = ((offset >> page.shift) + 1) << page.shift;
    }
  }

 private:
  static constexpr size_t kPage = 1024;

  struct Page {
    int shift = 0;
    std::vector<Cell> cells;

    void start(int wanted) {
      shift = wanted;
      cells.resize(kPage >> shift);
    }
    void refine(int wanted) {
      std::vector<Cell> finer(kPage >> wanted);
      for (size_t at = 0; at < finer.size(); ++at) finer[at] = cells[at >> (shift - wanted)];
      cells.swap(finer);
      shift = wanted;
    }
  };

  // The largest cell, as a power of two, that does not hold more than these bytes.
  static int finest(size_t offset, size_t end) {
    int shift = 3;
    while (((offset | end) & ((size_t{1} << shift) - 1)) != 0) --shift;
    return shift;
  }

  std::vector<Page> pages_;
};

HIDP_EXECUTOR_END

// Looks at an access of a lane: whether the memory is there, was written, and belongs to nobody else at that time.
#pragma once

#include <hidp/simt/executor.hpp>

HIDP_EXECUTOR_BEGIN

inline const char *verb(Access access) {
  switch (access) {
    case Access::kRead: return "reads";
    case Access::kFixedRead: return "reads, as what nobody writes,";
    case Access::kRelaxedRead: return "reads, relaxed,";
    case Access::kWrite: return "writes";
    case Access::kRelaxedWrite: return "writes, relaxed,";
  }
  return "";
}

inline uint32_t counted(Access access, bool reads) {
  if (!writes(access)) return HIDP_COUNTED_LOAD;
  return reads ? HIDP_COUNTED_UPDATE : HIDP_COUNTED_STORE;
}

// What stands at an offset, in elements of this size.
inline std::string element_text(const Allocation &allocation, size_t offset, size_t bytes) {
  const size_t size = bytes > 0 ? bytes : 1;
  const int64_t index = static_cast<int64_t>(offset) / static_cast<int64_t>(size);
  return "element " + std::to_string(index) + " of " + allocation.name + " (" + std::to_string(allocation.bytes / size) + " of " +
         std::to_string(size) + " bytes)";
}

HIDP_EXECUTOR_FUNCTION bool Executor::touch(Allocation *allocation, const void *address, size_t bytes, Access access, bool reads, const Place &place) {
  if (lane_ == nullptr) fail("host access", place, "the host function touches an element of device memory");
  if (++work_ > kMostWork) fail("endless", place, "the kernel does not end");
  const uint32_t number = places.number(place);
  if (!places.last_in_run_time()) lane_->program = number;
  if (allocation == nullptr) {
    report("host address", place, text(*lane_) + " " + verb(access) + " what is no device memory");
    return false;
  }
  const size_t offset = allocation->offset(address);
  if (allocation->freed) {
    report("use after free", place, text(*lane_) + " " + verb(access) + " " + element_text(*allocation, offset, bytes) + ", which was freed");
    return false;
  }
  if (!allocation->holds(offset, bytes, writes(access))) {
    report("out of bounds", place, text(*lane_) + " " + verb(access) + " " + element_text(*allocation, offset, bytes));
    return false;
  }
  if (counts_ != nullptr) ask(allocation, address, bytes, counted(access, reads), place);
  if (reads && !allocation->written(offset, bytes)) {
    report("uninitialised", place, text(*lane_) + " reads " + element_text(*allocation, offset, bytes) + ", which nobody has written");
    allocation->set_written(offset, bytes);
  }
  if (writes(access)) allocation->set_written(offset, bytes);
  if (access == Access::kWrite) got_on();
  if (relaxed(access)) give_way(place);
  const Record record = {lane_->block->moment(*lane_), number, access};
  const WarpClocks &clocks = lane_->block->warp_of(*lane_).clocks;
  allocation->shadow.each(offset, bytes, [&](Cell &cell) {
    const Record *race = cell.add(launch_, record, clocks);
    if (race == nullptr) return true;
    const std::string other = "lane " + std::to_string(race->when.thread) + " of block " + std::to_string(race->when.block);
    const bool can_wait = can_be_ordered(access, race->access);
    report(can_wait ? "data race" : "not read only", place, text(*lane_) + " " + verb(access) + " " + element_text(*allocation, offset, bytes) + "; " + other + " " + verb(race->access) +
                                   " it too (" + text(places.at(race->place)) + "), " + (can_wait ? "without a barrier between" : "in the same kernel"));
    return false;
  });
  return true;
}

HIDP_EXECUTOR_FUNCTION bool Executor::may_touch(Allocation *allocation, const void *address, size_t bytes, Access access, bool reads, const Place &place) {
  return running().touch(allocation, address, bytes, access, reads, place);
}

HIDP_EXECUTOR_FUNCTION void Executor::misaligned(size_t bytes, const Place &place) {
  report("misaligned", place, text(*lane_) + " moves " + std::to_string(bytes) + " bytes at once, at an address that is no multiple of it");
}

HIDP_EXECUTOR_FUNCTION Allocation *Executor::shared(const void *key, size_t bytes, const char *name, const Place &place) {
  Block &block = *lane_->block;
  std::unique_ptr<Allocation> &found = block.shared[key];
  if (found == nullptr) {
    found = std::make_unique<Allocation>(bytes, std::string("the shared array `") + name + "`");
    found->shared = true;
    block.shared_bytes += bytes;
    if (block.shared_bytes > kMostShared)
      report("shared memory", place, "the block's shared arrays have " + std::to_string(block.shared_bytes) + " bytes, more than " + std::to_string(kMostShared));
  }
  return found.get();
}

HIDP_EXECUTOR_END

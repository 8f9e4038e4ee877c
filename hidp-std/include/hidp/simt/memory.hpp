// The memory of the imaginary device: blocks of the host's memory of which every byte knows whether it was written.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <hidp/simt/linkage.hpp>
#include <hidp/simt/shadow.hpp>

HIDP_EXECUTOR_BEGIN

// Some memory: of the device, or an array that a block shares. Stays known after it was freed.
class Allocation {
 public:
  Allocation(size_t bytes, std::string name)
      : bytes(bytes), name(std::move(name)), shadow(room(bytes)), room_(new char[room(bytes) + kAlign]), written_(room(bytes), 0) {
    const uintptr_t address = reinterpret_cast<uintptr_t>(room_.get());
    base = room_.get() + (kAlign - address % kAlign) % kAlign;
    std::memset(base, kGarbage, room(bytes));
    // Element 0 of an empty array is readable.
    if (bytes == 0) set_written(0, room(bytes));
  }

  const size_t bytes;
  std::string name;
  char *base;
  bool freed = false;
  // Whether it is a block's.
  bool shared = false;
  Shadow shadow;

  size_t offset(const void *address) const { return static_cast<size_t>(static_cast<const char *>(address) - base); }
  bool holds(size_t offset, size_t count, bool write) const {
    const size_t end = write || bytes > 0 ? bytes : room(bytes);
    return offset <= end && count <= end - offset;
  }
  void set_written(size_t offset, size_t count) {
    if (count == 4) put_words<uint32_t>(offset);
    else if (count == 8) put_words<uint64_t>(offset);
    else std::memset(written_.data() + offset, 1, count);
  }
  bool written(size_t offset, size_t count) const {
    if (count == 4) return is_word<uint32_t>(offset);
    if (count == 8) return is_word<uint64_t>(offset);
    for (size_t at = offset; at < offset + count; ++at)
      if (written_[at] == 0) return false;
    return true;
  }
  // Only that it was freed is left.
  void drop() {
    shadow = Shadow(0);
    written_ = std::vector<uint8_t>();
    room_.reset();
  }
  void copy_written(size_t offset, const Allocation &from, size_t from_offset, size_t count) {
    std::memmove(written_.data() + offset, from.written_.data() + from_offset, count);
  }

 private:
  static constexpr size_t kAlign = 256;
  static constexpr int kGarbage = 0xA5;
  static constexpr size_t room(size_t bytes) { return bytes > 0 ? bytes : 64; }

  // As many written bytes as the word has.
  template <class Word>
  static constexpr Word kWritten = static_cast<Word>(0x0101010101010101);
  template <class Word>
  void put_words(size_t offset) {
    std::memcpy(written_.data() + offset, &kWritten<Word>, sizeof(Word));
  }
  template <class Word>
  bool is_word(size_t offset) const {
    Word found;
    std::memcpy(&found, written_.data() + offset, sizeof(Word));
    return found == kWritten<Word>;
  }

  std::unique_ptr<char[]> room_;
  std::vector<uint8_t> written_;
};

// All memory of a device.
class Memory {
 public:
  Allocation *take(size_t bytes) {
    auto allocation = std::make_unique<Allocation>(bytes, "device memory");
    Allocation *const found = allocation.get();
    by_base_[reinterpret_cast<uintptr_t>(found->base)] = std::move(allocation);
    held_ += bytes;
    return found;
  }
  // The block that the address is in or at the end of, or null.
  Allocation *find(const void *address) const {
    auto after = by_base_.upper_bound(reinterpret_cast<uintptr_t>(address));
    if (after == by_base_.begin()) return nullptr;
    Allocation *const found = std::prev(after)->second.get();
    return found->offset(address) <= found->bytes ? found : nullptr;
  }
  // What was freed is kept so that its use is noticed, the contents of the oldest not for ever.
  void free(Allocation *allocation) {
    allocation->freed = true;
    freed_.push_back(allocation);
    while (held_ > kMostHeld && first_freed_ < freed_.size()) {
      Allocation *const oldest = freed_[first_freed_++];
      held_ -= oldest->bytes;
      const auto entry = by_base_.find(reinterpret_cast<uintptr_t>(oldest->base));
      dropped_.push_back(std::move(entry->second));
      by_base_.erase(entry);
      oldest->drop();
    }
  }

 private:
  static constexpr size_t kMostHeld = size_t{256} << 20;

  std::map<uintptr_t, std::unique_ptr<Allocation>> by_base_;
  std::vector<Allocation *> freed_;
  std::vector<std::unique_ptr<Allocation>> dropped_;
  size_t first_freed_ = 0;
  size_t held_ = 0;
};

HIDP_EXECUTOR_END

#include "pool.hpp"

#include <new>
#include <stdlib.h>
#if defined(__linux__)
#include <sys/mman.h>
#endif

#include "lock.hpp"

namespace hidp_core {

// Stands before the data. A cache line of its own, so that data stay aligned to one.
struct alignas(64) Block {
  Block *next_idle;
  Block *previous;
  Block *next;
  void *system;
  size_t bytes;
  size_t size_class;
};
static_assert(sizeof(Block) == 64, "the header of a block is one cache line");

namespace {

constexpr size_t kHugePage = size_t{2} << 20;
constexpr size_t kPage = 4096;
constexpr size_t kLine = 64;
constexpr size_t kSmallest = 256;
// Idle storage that is kept whatever the use.
constexpr size_t kKept = size_t{64} << 20;
// From here on the system is asked for its room first: to zero the pages of such a block takes a hundred times as long.
constexpr size_t kLarge = size_t{16} << 20;

// Four classes from one power of two to the next: at most a quarter is wasted.
constexpr size_t class_bytes(size_t size_class) {
  return (4 + size_class % 4) * (kSmallest / 4) << (size_class / 4);
}

size_t class_of(size_t bytes, size_t classes) {
  size_t low = 0, high = classes;
  while (low < high) {
    const size_t middle = low + (high - low) / 2;
    if (class_bytes(middle) < bytes) low = middle + 1; else high = middle;
  }
  return low;
}

// Bases that are equal modulo a page make streams evict each other, so each block starts elsewhere in its page:
// multiples of a line in the order of the golden section, far apart for neighbours.
size_t stagger(uint32_t serial) { return serial * size_t{39} % (kPage / kLine) * kLine; }

Block *header_of(void *data) { return static_cast<Block *>(data) - 1; }

}  // namespace

Pool::Pool() { pthread_mutex_init(&mutex_, nullptr); }

Pool::~Pool() {
  while (all_ != nullptr) destroy(all_);
  pthread_mutex_destroy(&mutex_);
}

void *Pool::take(size_t bytes) {
  const size_t size_class = class_of(bytes, kClasses);
  if (size_class == kClasses) return nullptr;
  Lock lock(&mutex_);
  Block *block = take_idle(size_class);
  if (block == nullptr) block = make(size_class);
  return block == nullptr ? nullptr : block + 1;
}

void Pool::give(void *data) {
  if (data == nullptr) return;
  Lock lock(&mutex_);
  Block *block = header_of(data);
  block->next_idle = idle_[block->size_class];
  idle_[block->size_class] = block;
  idle_bytes_ += block->bytes;
}

size_t Pool::bytes() const {
  Lock lock(&mutex_);
  return held_bytes_;
}

void Pool::limit(size_t most, hidp_room room) {
  Lock lock(&mutex_);
  most_bytes_ = most;
  room_ = room;
}

Block *Pool::take_idle(size_t size_class) {
  Block *block = idle_[size_class];
  if (block == nullptr) return nullptr;
  idle_[size_class] = block->next_idle;
  idle_bytes_ -= block->bytes;
  return block;
}

Block *Pool::make(size_t size_class) {
  const size_t offset = stagger(made_);
  const size_t wanted = class_bytes(size_class) + offset + sizeof(Block);
  const bool huge = wanted >= kHugePage;
  const size_t alignment = huge ? kHugePage : kPage;
  const size_t bytes = (wanted + kPage - 1) / kPage * kPage;
  const size_t in_use = held_bytes_ - idle_bytes_;
  release_idle(4 * (in_use + bytes) + kKept);
  void *system = from_system(alignment, bytes);
  if (system == nullptr) {
    release_idle(0);
    system = from_system(alignment, bytes);
    if (system == nullptr) return nullptr;
  }
#if defined(__linux__) && defined(MADV_HUGEPAGE)
  if (huge) madvise(system, bytes, MADV_HUGEPAGE);
#endif
  ++made_;
  Block *block = new (static_cast<char *>(system) + offset) Block{nullptr, nullptr, all_, system, bytes, size_class};
  if (all_ != nullptr) all_->previous = block;
  all_ = block;
  held_bytes_ += bytes;
  return block;
}

void *Pool::from_system(size_t alignment, size_t bytes) {
  void *system = nullptr;
  return may_hold(bytes) && posix_memalign(&system, alignment, bytes) == 0 ? system : nullptr;
}

// Systems promise more memory than they have, and end the process that uses it: such a promise is not asked for.
bool Pool::may_hold(size_t bytes) const {
  if (held_bytes_ > most_bytes_ || bytes > most_bytes_ - held_bytes_) return false;
  return bytes < kLarge || room_ == nullptr || bytes <= room_();
}

void Pool::destroy(Block *block) {
  if (block->previous != nullptr) block->previous->next = block->next; else all_ = block->next;
  if (block->next != nullptr) block->next->previous = block->previous;
  held_bytes_ -= block->bytes;
  free(block->system);
}

// Gives idle blocks back to the system, largest first, until at most `limit` bytes of them are left.
void Pool::release_idle(size_t limit) {
  for (size_t size_class = kClasses; size_class-- > 0 && idle_bytes_ > limit;) {
    while (idle_bytes_ > limit) {
      Block *block = take_idle(size_class);
      if (block == nullptr) break;
      destroy(block);
    }
  }
}

}  // namespace hidp_core

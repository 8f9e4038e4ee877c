// Where kernels note which segments the iterations of a map write: a log in device memory, which the host allocated.
//
// A log is an array of words: eight for itself, eight for every slot, then the notes, four words each. A slot belongs to one group
// of a launch; its first lane keeps it. Notes of a slot follow one another; when they fill their place, pieces that one
// iteration wrote are joined, and if that is not enough a place of twice the size is taken from what is left.
#pragma once

#include <stdint.h>

#include <hidp/cuda/core.cuh>

HIDP_NAMESPACE_BEGIN

struct SegmentNote {
  int64_t low, high;
  int64_t instance; // number of the iteration
  // Site of the overlap: 28 bits. The call and the array that it writes: 28 bits. Maps around among which the array is shared: 7.
  int64_t tag;

  static constexpr int kKeyShift = 28, kLevelShift = 56;
  static constexpr int64_t kField = (int64_t{1} << kKeyShift) - 1, kLevel = int64_t{1} << kLevelShift;
  HIDP_INLINE uint32_t site() const { return static_cast<uint32_t>(tag & kField); }
  HIDP_INLINE int64_t key() const { return tag >> kKeyShift & kField; }
  HIDP_INLINE int64_t levels() const { return tag >> kLevelShift; }
};

HIDP_INLINE SegmentNote segment_note(uint32_t site, int64_t key, int64_t levels, int64_t instance, int64_t low, int64_t high) {
  const int64_t tag = static_cast<int64_t>(site) | key << SegmentNote::kKeyShift | levels << SegmentNote::kLevelShift;
  return SegmentNote{low, high, instance, tag};
}

constexpr int64_t kLogWords = 8, kSlotWords = 8, kNoteWords = 4;
// Words of the log: notes whose place is taken, those there is place for, and slots.
constexpr int64_t kTaken = 0, kPlaces = 1, kSlots = 2;
// Words of a slot: its first note, how many there are and there is place for, and where the innermost map's begin.
constexpr int64_t kFirst = 0, kCount = 1, kCapacity = 2, kWindow = 3;
constexpr int64_t kFirstCapacity = 8;

// A slot's notes. P is a place.
template <class P>
class SlotNotes {
 public:
  HIDP_DEVICE SlotNotes(P words, int64_t slot)
      : words_(words), head_(words + (kLogWords + slot * kSlotWords)), notes_(words + (kLogWords + load(words + kSlots) * kSlotWords)) {
    first_ = load(head_ + kFirst);
  }
  HIDP_DEVICE int64_t get(int64_t word) const { return load(head_ + word); }
  HIDP_DEVICE void set(int64_t word, int64_t value) const { store(head_ + word, value); }

  HIDP_DEVICE SegmentNote note(int64_t at) const {
    const P words = notes_ + (first_ + at) * kNoteWords;
    return SegmentNote{load(words), load(words + 1), load(words + 2), load(words + 3)};
  }
  HIDP_DEVICE void put(int64_t at, const SegmentNote &note) const {
    const P words = notes_ + (first_ + at) * kNoteWords;
    store(words, note.low);
    store(words + 1, note.high);
    store(words + 2, note.instance);
    store(words + 3, note.tag);
  }

  // Adds a note, joined with the last one where that is of the same iteration and call and they meet. False: there is no place.
  HIDP_DEVICE bool add(const SegmentNote &note) {
    if (note.high <= note.low) return true;
    int64_t count = get(kCount);
    if (count > get(kWindow)) {
      SegmentNote last = this->note(count - 1);
      if (last.tag == note.tag && last.instance == note.instance && note.low <= last.high && note.high >= last.low) {
        last.low = note.low < last.low ? note.low : last.low;
        last.high = note.high > last.high ? note.high : last.high;
        put(count - 1, last);
        return true;
      }
    }
    if (count == get(kCapacity)) {
      if (!make_room(1)) return false;
      count = get(kCount);
    }
    put(count, note);
    set(kCount, count + 1);
    return true;
  }

  // Place for so many more notes.
  HIDP_DEVICE bool make_room(int64_t more) {
    join();
    const int64_t count = get(kCount), capacity = get(kCapacity);
    if (count + more <= capacity && count < capacity - capacity / 4) return true;
    int64_t wanted = capacity == 0 ? kFirstCapacity : 2 * capacity;
    while (wanted < count + more) wanted *= 2;
    const int64_t place = fetch_add(words_ + kTaken, wanted);
    // What is left may be too small to grow into while there still is a place here.
    if (place > load(words_ + kPlaces) - wanted) return count + more <= capacity;
    const SlotNotes from = *this;
    first_ = place;
    for (int64_t at = 0; at < count; ++at) put(at, from.note(at));
    set(kFirst, place);
    set(kCapacity, wanted);
    return true;
  }

  // Orders the notes from `begin` on, in place, not stably.
  template <class Less>
  HIDP_DEVICE void sort(int64_t begin, int64_t n, Less less) const {
    const auto sift = [&](int64_t at, int64_t end) {
      const SegmentNote moved = note(begin + at);
      for (int64_t child = 2 * at + 1; child < end; child = 2 * at + 1) {
        child += child + 1 < end && less(note(begin + child), note(begin + child + 1));
        if (!less(moved, note(begin + child))) break;
        put(begin + at, note(begin + child));
        at = child;
      }
      put(begin + at, moved);
    };
    int64_t ordered = 1;
    while (ordered < n && !less(note(begin + ordered), note(begin + ordered - 1))) ++ordered;
    if (ordered >= n) return;
    for (int64_t at = n / 2; at-- > 0;) sift(at, n);
    for (int64_t end = n - 1; end > 0; --end) {
      const SegmentNote greatest = note(begin);
      put(begin, note(begin + end));
      put(begin + end, greatest);
      sift(0, end);
    }
  }

 private:
  // Joins what one iteration of the innermost map wrote in several pieces.
  HIDP_DEVICE void join() const {
    const int64_t window = get(kWindow), n = get(kCount) - window;
    sort(window, n, [](const SegmentNote &a, const SegmentNote &b) {
      if (a.instance != b.instance) return a.instance < b.instance;
      return a.key() != b.key() ? a.key() < b.key() : a.low < b.low;
    });
    int64_t kept = 0;
    for (int64_t at = 0; at < n; ++at) {
      const SegmentNote note = this->note(window + at);
      if (kept > 0) {
        SegmentNote last = this->note(window + kept - 1);
        if (last.tag == note.tag && last.instance == note.instance && note.low <= last.high) {
          if (last.high < note.high) {
            last.high = note.high;
            put(window + kept - 1, last);
          }
          continue;
        }
      }
      put(window + kept++, note);
    }
    set(kCount, window + kept);
  }

  P words_, head_, notes_;
  int64_t first_;
};

// The greatest end of segments, whose it is, and the greatest of another iteration. Iteration -1: there is none.
struct SegmentReach {
  int64_t end, instance, other_end, other_instance;

  static HIDP_INLINE SegmentReach none() { return SegmentReach{INT64_MIN, -1, INT64_MIN, -1}; }
  static HIDP_INLINE SegmentReach of(const SegmentNote &note) { return SegmentReach{note.high, note.instance, INT64_MIN, -1}; }
  // The iteration that another one, whose segment starts at `low`, overlaps; -1 if none.
  HIDP_INLINE int64_t overlaps(int64_t iteration, int64_t low) const {
    if (instance != iteration) return end > low ? instance : -1;
    return other_end > low ? other_instance : -1;
  }
};

// What segments reach that come after others in order of their starts.
struct JoinReach {
  HIDP_INLINE explicit JoinReach(Trap &) {}
  HIDP_INLINE SegmentReach operator()(const SegmentReach &a, const SegmentReach &b) const {
    SegmentReach result = b.end > a.end ? b : a;
    const SegmentReach &less = b.end > a.end ? a : b;
    consider(result, less.end, less.instance);
    consider(result, less.other_end, less.other_instance);
    return result;
  }

 private:
  static HIDP_INLINE void consider(SegmentReach &result, int64_t end, int64_t instance) {
    if (instance == result.instance || end <= result.other_end) return;
    result.other_end = end;
    result.other_instance = instance;
  }
};

HIDP_NAMESPACE_END

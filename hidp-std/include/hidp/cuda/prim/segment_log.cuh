// segment_log: which segments the iterations of a map write through primitives, where it is not proved that those of different
// iterations share no element: noted while the map runs, compared when it ends. An overlap is a fault at the note's site with the
// numbers of two iterations: that of the segment which, in order of low bounds, first starts below an earlier one's end, and
// that of the earlier one with the greatest end.
//
// Called by: groups (open_segments, note_segment, close_segments; by all their lanes) and host functions (kernel_*). Scratch: a log
// of the host function's, and for the comparison of n notes seven words each, from the device's pool. A host-level map has one log, with a
// slot for each group of its launch. A map in a kernel is a window at the end of its group's slot; when it ends, what it
// wrote counts as written by the iteration around it.
#pragma once

#include <stdint.h>

#include <hidp/cuda/prim/kernel_scan.cuh>
#include <hidp/cuda/prim/merge_sort_on_device.cuh>
#include <hidp/cuda/prim/segment_notes.cuh>

HIDP_NAMESPACE_BEGIN

// A map in a kernel begins; `window` keeps, in the first lane, where the one around it began.
template <class Group, class W, class P>
HIDP_DEVICE void open_segments(W &worker, P words, int64_t slot, int64_t *window) {
  if (is_first<Group>(worker)) {
    const SlotNotes<P> notes(words, slot);
    *window = notes.get(kWindow);
    notes.set(kWindow, notes.get(kCount));
  }
  sync<Group>(worker);
}

// A fault at `memory` if the log is full.
template <class Group, class W, class P>
HIDP_DEVICE bool note_segment(W &worker, uint32_t overlap, uint32_t memory, P words, int64_t slot, int64_t key, int64_t levels,
                              int64_t instance, int64_t low, int64_t high) {
  if (is_first<Group>(worker)) {
    SlotNotes<P> notes(words, slot);
    if (!notes.add(segment_note(overlap, key, levels, instance, low, high)))
      worker.trap.raise(memory, 1, 2 * notes.get(kCapacity) * kNoteWords * static_cast<int64_t>(sizeof(int64_t)));
  }
  sync<Group>(worker);
  return !settle<Group>(worker);
}

// Of several calls the one that was made first is reported.
struct FirstOverlap {
  int64_t began = INT64_MAX, a = -1, b = -1;
  uint32_t site = 0;
};

template <class P>
HIDP_DEVICE FirstOverlap find_overlap(const SlotNotes<P> &notes, int64_t window, int64_t n) {
  FirstOverlap first, own;
  SegmentReach reach = SegmentReach::none();
  for (int64_t at = 0; at < n; ++at) {
    const SegmentNote note = notes.note(window + at);
    own.began = note.instance < own.began ? note.instance : own.began;
    const int64_t other = own.a < 0 ? reach.overlaps(note.instance, note.low) : -1;
    if (other >= 0) {
      own.a = other < note.instance ? other : note.instance;
      own.b = other < note.instance ? note.instance : other;
      own.site = note.site();
    }
    Trap none;
    reach = JoinReach(none)(reach, SegmentReach::of(note));
    if (at + 1 < n && notes.note(window + at + 1).key() == note.key()) continue;
    if (own.a >= 0 && own.began < first.began) first = own;
    own = FirstOverlap();
    reach = SegmentReach::none();
  }
  return first;
}

// A map in a kernel ends, inside iteration `instance` of the one around it.
template <class Group, class W, class P>
HIDP_DEVICE bool close_segments(W &worker, uint32_t, P words, int64_t slot, int64_t window, int64_t instance) {
  if (is_first<Group>(worker)) {
    const SlotNotes<P> notes(words, slot);
    const int64_t begin = notes.get(kWindow), n = notes.get(kCount) - begin;
    notes.sort(begin, n, [](const SegmentNote &a, const SegmentNote &b) {
      if (a.key() != b.key()) return a.key() < b.key();
      return a.low != b.low ? a.low < b.low : a.instance < b.instance;
    });
    const FirstOverlap overlap = find_overlap(notes, begin, n);
    if (overlap.a >= 0) worker.trap.raise(overlap.site, 2, overlap.a, overlap.b);
    int64_t kept = begin;
    for (int64_t at = begin; at < begin + n; ++at) {
      SegmentNote note = notes.note(at);
      if (note.levels() == 1) continue;
      note.tag -= SegmentNote::kLevel;
      note.instance = instance;
      SegmentNote last = kept > begin ? notes.note(kept - 1) : note;
      if (kept > begin && last.tag == note.tag && last.high == note.low) {
        last.high = note.high;
        notes.put(kept - 1, last);
      } else {
        notes.put(kept++, note);
      }
    }
    notes.set(kCount, kept);
    notes.set(kWindow, window);
  }
  sync<Group>(worker);
  return !settle<Group>(worker);
}

// A host-level map begins, whose groups have so many slots. One slot has place for all notes at once.
inline bool kernel_open_segments(Host &host, uint32_t, Any<int64_t> words, int64_t slots, int64_t places) {
  host.went_well(set_zero(host.stream(), words, kLogWords + slots * kSlotWords));
  put(host, words + kPlaces, places);
  put(host, words + kSlots, slots);
  if (slots == 1) {
    put(host, words + kTaken, places);
    put(host, words + (kLogWords + kCapacity), places);
  }
  return !host.failed();
}

struct NoteSegment {
  uint32_t overlap, memory;
  Any<int64_t> words;
  int64_t key, levels, instance, low, high;
  template <class W>
  HIDP_DEVICE void operator()(W &worker) const {
    note_segment<Thread>(worker, overlap, memory, words, 0, key, levels, instance, low, high);
  }
};

// In a map that the host runs.
inline bool kernel_note_segment(Host &host, uint32_t overlap, uint32_t memory, Any<int64_t> words, int64_t key, int64_t levels, int64_t instance,
                                int64_t low, int64_t high) {
  if (high <= low) return !host.failed();
  return run_once<Thread>(host, true, NoteSegment{overlap, memory, words, key, levels, instance, low, high});
}

// How many notes there are.
struct CountNotes {
  Any<int64_t> words, total;
  template <class W>
  HIDP_DEVICE void operator()(W &, int64_t slot) const {
    const int64_t count = SlotNotes<Any<int64_t>>(words, slot).get(kCount);
    if (count > 0) atomic_add(total, count);
  }
};

// Lists the notes of one key, in an order that depends on timing, by their instances.
struct ListNotes {
  Any<int64_t> words;
  int64_t key;
  Any<int64_t> found, instances, places;
  template <class W>
  HIDP_DEVICE void operator()(W &worker, int64_t slot) const {
    const SlotNotes<Any<int64_t>> notes(words, slot);
    const int64_t count = notes.get(kCount), first = notes.get(kFirst);
    for (int64_t at = lane<Block>(worker); at < count; at += kWidth<Block, W>) {
      const SegmentNote note = notes.note(at);
      if (note.key() != key) continue;
      const int64_t position = fetch_add(found, int64_t{1});
      store(instances + position, note.instance);
      store(places + position, first + at);
    }
  }
};

// All notes of a log by their places.
struct LogNotes {
  Any<int64_t> notes;

  HIDP_INLINE LogNotes(Any<int64_t> words, int64_t slots) : notes(words + (kLogWords + slots * kSlotWords)) {}
  HIDP_DEVICE SegmentNote at(int64_t place) const {
    const Any<int64_t> words = notes + place * kNoteWords;
    return SegmentNote{load(words), load(words + 1), load(words + 2), load(words + 3)};
  }
};

struct ListStarts {
  LogNotes notes;
  Any<int64_t> places, lows;
  template <class W>
  HIDP_DEVICE void operator()(W &, int64_t i) const {
    store(lows + i, notes.at(load(places + i)).low);
  }
};

struct ListReaches {
  LogNotes notes;
  Any<int64_t> places;
  Any<SegmentReach> reaches;
  template <class W>
  HIDP_DEVICE void operator()(W &, int64_t i) const {
    store(reaches + i, SegmentReach::of(notes.at(load(places + i))));
  }
};

struct FindFirstOverlap {
  LogNotes notes;
  Any<int64_t> places;
  Any<SegmentReach> reaches;
  int64_t n;
  // How far from the end it is; 0: there is none.
  Any<int64_t> to_end;
  template <class W>
  HIDP_DEVICE void operator()(W &, int64_t i) const {
    const SegmentNote note = notes.at(load(places + i));
    if (load(reaches + i).overlaps(note.instance, note.low) >= 0) atomic_max(to_end, n - i);
  }
};

// Looks through the notes of one call and array, of which there are `total` at most.
inline bool compare_notes(Host &host, uint32_t memory, Any<int64_t> words, int64_t slots, int64_t total, int64_t key, FirstOverlap *first) {
  const Any<int64_t> counts = host.alloc<int64_t>(2, true, memory);
  const Any<int64_t> keys = host.alloc<int64_t>(total, false, memory);
  const Any<int64_t> places = host.alloc<int64_t>(total, false, memory);
  if (host.failed()) return false;
  if (!for_items<Block>(host, slots, false, ListNotes{words, key, counts, keys, places})) return false;
  const int64_t n = host.fetch(counts);
  if (!host.failed() && n > 1) {
    // By low bounds, and among equal ones by iterations: sorts are stable.
    const Any<SegmentReach> reaches = host.alloc<SegmentReach>(n, false, memory);
    if (host.failed() || !merge_sort_on_device(host, memory, keys, keys, places, places, n, false)) return false;
    const int64_t began = host.fetch(keys);
    const LogNotes notes(words, slots);
    if (!for_items<Thread>(host, n, false, ListStarts{notes, places, keys})) return false;
    if (!merge_sort_on_device(host, memory, keys, keys, places, places, n, false)) return false;
    if (!for_items<Thread>(host, n, false, ListReaches{notes, places, reaches})) return false;
    if (!kernel_scan<SegmentReach, JoinReach>(host, memory, reaches, reaches, n, SegmentReach::none(), true, true)) return false;
    if (!for_items<Thread>(host, n, false, FindFirstOverlap{notes, places, reaches, n, counts + 1})) return false;
    const int64_t to_end = host.fetch(counts + 1);
    if (!host.failed() && to_end != 0 && began < first->began) {
      const Any<int64_t> note = notes.notes + host.fetch(places + (n - to_end)) * kNoteWords;
      const int64_t low = host.fetch(note), instance = host.fetch(note + 2), tag = host.fetch(note + 3);
      const int64_t other = host.fetch(reaches + (n - to_end)).overlaps(instance, low);
      first->began = began;
      first->a = other < instance ? other : instance;
      first->b = other < instance ? instance : other;
      first->site = SegmentNote{low, low, instance, tag}.site();
    }
    host.free(reaches);
  }
  host.free(places);
  host.free(keys);
  host.free(counts);
  return !host.failed();
}

// All notes. Keys are below `keys`. `total` gets their number.
inline bool compare_logs(Host &host, uint32_t memory, Any<int64_t> words, int64_t slots, int64_t keys, int64_t *total) {
  const Any<int64_t> count = host.alloc<int64_t>(1, true, memory);
  if (host.failed() || !for_items<Thread>(host, slots, false, CountNotes{words, count})) return false;
  *total = host.fetch(count);
  host.free(count);
  FirstOverlap first;
  for (int64_t key = 0; key < keys && *total > 1 && !host.failed(); ++key) {
    if (!compare_notes(host, memory, words, slots, *total, key, &first)) return false;
  }
  if (!host.failed() && first.a >= 0) host.trap.raise(first.site, 2, first.a, first.b);
  return !host.failed();
}

// A host-level map ends.
inline bool kernel_close_segments(Host &host, uint32_t memory, Any<int64_t> words, int64_t slots, int64_t keys) {
  int64_t total = 0;
  return compare_logs(host, memory, words, slots, keys, &total);
}

struct MakeRoom {
  uint32_t memory;
  Any<int64_t> words;
  int64_t more;
  template <class W>
  HIDP_DEVICE void operator()(W &worker) const {
    SlotNotes<Any<int64_t>> notes(words, 0);
    if (notes.get(kCount) + more <= notes.get(kCapacity) || notes.make_room(more)) return;
    worker.trap.raise(memory, 1, (notes.get(kCount) + more) * kNoteWords * static_cast<int64_t>(sizeof(int64_t)));
  }
};

// Hands on what an inner map's iterations wrote.
struct HandOn {
  Any<int64_t> words, outer;
  int64_t instance;
  template <class W>
  HIDP_DEVICE void operator()(W &worker, int64_t slot) const {
    const SlotNotes<Any<int64_t>> notes(words, slot), to(outer, 0);
    const int64_t count = notes.get(kCount);
    for (int64_t at = lane<Block>(worker); at < count; at += kWidth<Block, W>) {
      SegmentNote note = notes.note(at);
      if (note.levels() == 1) continue;
      note.tag -= SegmentNote::kLevel;
      note.instance = instance;
      to.put(fetch_add(outer + (kLogWords + kCount), int64_t{1}), note);
    }
  }
};

// The same for a map that was launched inside iteration `instance` of one that the host runs.
inline bool kernel_close_inner_segments(Host &host, uint32_t memory, Any<int64_t> words, int64_t slots, int64_t keys, Any<int64_t> outer,
                                        int64_t instance) {
  int64_t total = 0;
  if (!compare_logs(host, memory, words, slots, keys, &total)) return false;
  if (total == 0) return true;
  return run_once<Thread>(host, true, MakeRoom{memory, outer, total}) && for_items<Block>(host, slots, false, HandOn{words, outer, instance});
}

HIDP_NAMESPACE_END

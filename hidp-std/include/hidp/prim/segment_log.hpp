// Which segments the iterations of a map write through primitives, where it is not proved that those of different iterations
// share no element: noted while the map runs, compared when it ends. An overlap is a fault at the note's site with the numbers of
// two iterations: that of the segment which, in order of low bounds, first starts below an earlier one's end, and that of the
// earlier one with the greatest end.
//
// Called by: host functions (run_*) and kernels (worker_*). Scratch: from the pool, given back with the host function.
// A host-level map has one log a worker. A map in a kernel is a window at the end of its worker's log; when it ends, what it
// wrote counts as written by the iteration around it.
#pragma once

#include <stdint.h>

#include <hidp/abi.hpp>
#include <hidp/host.hpp>
#include <hidp/launch.hpp>
#include <hidp/prim/segments.hpp>
#include <hidp/worker.hpp>

HIDP_NAMESPACE_BEGIN

struct SegmentNote {
  int64_t low, high;
  int64_t instance;     // number of the iteration
  uint64_t site : 28,   // of the overlap
      key : 28,         // of the call and the array that it writes
      levels : 8;       // maps around among which the array is shared
};

struct SegmentLog {
  Host *host;
  SegmentNote *notes;
  int64_t count, capacity;
  int64_t window; // where the innermost map's notes begin
  bool mixed;     // not all notes are of one key, of ascending iterations, and behind one another
  int64_t unused[2];
};
static_assert(sizeof(SegmentLog) == 64, "generated code reserves eight words a worker");

inline SegmentLog *segment_log(int64_t *words) { return reinterpret_cast<SegmentLog *>(words); }

// In place, not stable.
template <class Less>
inline void sort_notes(SegmentNote *notes, int64_t n, Less less) {
  const auto sift = [&](int64_t at, int64_t end) {
    const SegmentNote moved = notes[at];
    for (int64_t child = 2 * at + 1; child < end; child = 2 * at + 1) {
      child += child + 1 < end && less(notes[child], notes[child + 1]);
      if (!less(moved, notes[child])) break;
      notes[at] = notes[child];
      at = child;
    }
    notes[at] = moved;
  };
  int64_t ordered = 1;
  while (ordered < n && !less(notes[ordered], notes[ordered - 1])) ++ordered;
  if (ordered >= n) return;
  for (int64_t at = n / 2; at-- > 0;) sift(at, n);
  for (int64_t end = n - 1; end > 0; --end) {
    const SegmentNote greatest = notes[0];
    notes[0] = notes[end];
    notes[end] = greatest;
    sift(0, end);
  }
}

inline bool is_earlier(const SegmentNote &a, const SegmentNote &b) {
  if (a.instance != b.instance) return a.instance < b.instance;
  return a.key != b.key ? a.key < b.key : a.low < b.low;
}

// Workers that helped others have taken iterations out of order.
inline void order_by_iterations(SegmentLog &log) {
  for (int64_t i = 1; i < log.count; ++i) {
    if (log.notes[i].instance < log.notes[i - 1].instance) return sort_notes(log.notes, log.count, is_earlier);
  }
}

// Joins what one iteration wrote in several pieces.
inline void join_notes(SegmentLog &log) {
  SegmentNote *notes = log.notes + log.window;
  const int64_t n = log.count - log.window;
  sort_notes(notes, n, is_earlier);
  int64_t kept = 0;
  for (int64_t i = 0; i < n; ++i) {
    SegmentNote *last = kept > 0 ? &notes[kept - 1] : nullptr;
    const bool joins = last != nullptr && last->key == notes[i].key && last->instance == notes[i].instance && notes[i].low <= last->high;
    if (!joins) notes[kept++] = notes[i];
    else if (last->high < notes[i].high) last->high = notes[i].high;
  }
  log.count = log.window + kept;
}

// Storage for so many notes at first, and so many times as many when they are full.
constexpr int64_t kFirstNotes = 64, kMoreNotes = 4;

// Room for one more note.
HIDP_COLD inline bool make_room(SegmentLog &log) {
  if (log.mixed) join_notes(log);
  if (log.count < log.capacity - log.capacity / 4) return true;
  const int64_t wanted = log.capacity == 0 ? kFirstNotes : kMoreNotes * log.capacity;
  auto *larger = static_cast<SegmentNote *>(log.host->take_shared(bytes_of(wanted, sizeof(SegmentNote))));
  if (larger == nullptr) return false;
  if (log.count > 0) __builtin_memcpy(larger, log.notes, bytes_of(log.count, sizeof(SegmentNote)));
  if (log.notes != nullptr) log.host->free_shared(log.notes);
  log.notes = larger;
  log.capacity = wanted;
  return true;
}

inline bool note_segment(Trap &trap, uint32_t memory, SegmentLog &log, const SegmentNote &note) {
  if (note.high <= note.low) return true;
  if (log.count > 0) {
    SegmentNote &last = log.notes[log.count - 1];
    const bool same = last.key == note.key && last.instance == note.instance;
    if (log.count > log.window && same && note.low <= last.high && note.high >= last.low) {
      if (note.low < last.low) {
        last.low = note.low;
        log.mixed = true;
      }
      if (note.high > last.high) last.high = note.high;
      return true;
    }
    if (HIDP_UNLIKELY(last.key != note.key || last.instance >= note.instance || last.high > note.low)) log.mixed = true;
  }
  if (HIDP_UNLIKELY(log.count == log.capacity) && !make_room(log)) {
    raise_allocation(trap, memory, bytes_of(kMoreNotes * log.capacity, sizeof(SegmentNote)));
    return false;
  }
  log.notes[log.count++] = note;
  return true;
}

// Goes over the segments of one call and array in order of their low bounds.
class SegmentSweep {
 public:
  void look(const SegmentNote &note) {
    if (!any_ || note.instance < first_) first_ = note.instance;
    any_ = true;
    if (overlap_) return;
    const Reach *other = reach_[0].instance != note.instance ? &reach_[0] : &reach_[1];
    if (other->end > note.low) {
      overlap_ = true;
      site_ = note.site;
      a_ = smaller(note.instance, other->instance);
      b_ = note.instance < other->instance ? other->instance : note.instance;
      return;
    }
    const Reach own{note.high, note.instance};
    if (reach_[0].instance == note.instance) {
      if (reach_[0].end < note.high) reach_[0].end = note.high;
    } else if (reach_[0].end < note.high) {
      reach_[1] = reach_[0];
      reach_[0] = own;
    } else if (reach_[1].end < note.high) {
      reach_[1] = own;
    }
  }
  // Of several calls the one that was made first is reported.
  bool is_before(const SegmentSweep *other) const { return overlap_ && (other == nullptr || first_ < other->first_); }
  void raise(Trap &trap) const { trap.raise(site_, 2, a_, b_); }

 private:
  struct Reach {
    int64_t end, instance;
  };
  // The greatest end so far, and the greatest of another iteration.
  Reach reach_[2] = {{INT64_MIN, -1}, {INT64_MIN, -1}};
  bool any_ = false, overlap_ = false;
  uint32_t site_ = 0;
  int64_t first_ = 0, a_ = 0, b_ = 0;
};

// A map in a kernel begins; `window` keeps where the one around it began.
inline void worker_open_segments(Worker &, int64_t *words, int64_t *window) {
  SegmentLog &log = *segment_log(words);
  *window = log.window;
  log.window = log.count;
}

// A map in a kernel ends, inside iteration `instance` of the one around it.
inline bool worker_close_segments(Worker &worker, uint32_t, int64_t *words, int64_t window, int64_t instance) {
  SegmentLog &log = *segment_log(words);
  SegmentNote *notes = log.notes + log.window;
  const int64_t n = log.count - log.window;
  sort_notes(notes, n, [](const SegmentNote &a, const SegmentNote &b) {
    if (a.key != b.key) return a.key < b.key;
    return a.low != b.low ? a.low < b.low : a.instance < b.instance;
  });
  SegmentSweep sweep, worst;
  bool overlap = false;
  int64_t kept = 0;
  for (int64_t i = 0; i < n; ++i) {
    SegmentNote note = notes[i];
    if (i > 0 && notes[i].key != notes[i - 1].key) sweep = SegmentSweep();
    sweep.look(note);
    const bool last_of_key = i + 1 == n || notes[i + 1].key != note.key;
    if (last_of_key && sweep.is_before(overlap ? &worst : nullptr)) {
      worst = sweep;
      overlap = true;
    }
  }
  if (HIDP_UNLIKELY(overlap)) {
    worst.raise(worker.trap);
    return false;
  }
  for (int64_t i = 0; i < n; ++i) {
    SegmentNote note = notes[i];
    if (note.levels == 1) continue;
    if (kept > 0 && notes[kept - 1].key == note.key && notes[kept - 1].high == note.low) {
      notes[kept - 1].high = note.high;
      continue;
    }
    note.levels = note.levels - 1;
    note.instance = instance;
    notes[kept++] = note;
  }
  if (kept > 0) log.mixed = true;
  log.count = log.window + kept;
  log.window = window;
  return true;
}

inline SegmentNote segment_note(uint32_t site, int64_t key, int64_t levels, int64_t instance, int64_t low, int64_t high) {
  SegmentNote note;
  note.low = low;
  note.high = high;
  note.instance = instance;
  note.site = site;
  note.key = static_cast<uint64_t>(key);
  note.levels = static_cast<uint64_t>(levels);
  return note;
}

inline bool worker_note_segment(Worker &worker, uint32_t overlap, uint32_t memory, int64_t *words, int64_t key, int64_t levels,
                                int64_t instance, int64_t low, int64_t high) {
  return note_segment(worker.trap, memory, *segment_log(words), segment_note(overlap, key, levels, instance, low, high));
}

// A host-level map begins: `words` holds eight zeros a worker.
inline void run_open_segments(Host &host, int64_t *words) {
  for (int64_t worker = 0; worker < host.workers(); ++worker) segment_log(words + 8 * worker)->host = &host;
}

inline bool run_note_segment(Host &host, uint32_t overlap, uint32_t memory, int64_t *words, int64_t key, int64_t levels, int64_t instance,
                             int64_t low, int64_t high) {
  return note_segment(host.trap, memory, *segment_log(words), segment_note(overlap, key, levels, instance, low, high));
}

// The notes of all workers in order of the iterations.
class SegmentNotes {
 public:
  SegmentNotes(int64_t *words, int64_t workers, int64_t *next) : words_(words), workers_(workers), next_(next) {
    for (int64_t worker = 0; worker < workers; ++worker) {
      next_[worker] = 0;
      SegmentLog &log = *segment_log(words_ + 8 * worker);
      if (log.mixed) order_by_iterations(log);
    }
    choose();
  }
  const SegmentNote *take() {
    if (from_ < 0) return nullptr;
    const SegmentLog &log = *segment_log(words_ + 8 * from_);
    const SegmentNote *note = &log.notes[next_[from_]++];
    if (next_[from_] == log.count || log.notes[next_[from_]].instance > limit_) choose();
    return note;
  }
  // All notes of one worker up to the next one of another: the first, and the last. No log is mixed.
  const SegmentNote *take_piece(const SegmentNote **last) {
    if (from_ < 0) return nullptr;
    const SegmentLog &log = *segment_log(words_ + 8 * from_);
    const int64_t first = next_[from_];
    int64_t past = first + 1, end = log.count;
    while (past < end) {
      const int64_t middle = past + (end - past) / 2;
      if (log.notes[middle].instance <= limit_) past = middle + 1; else end = middle;
    }
    *last = &log.notes[past - 1];
    next_[from_] = past;
    choose();
    return &log.notes[first];
  }

 private:
  // The worker with the earliest iteration, and the earliest one of the others.
  void choose() {
    from_ = -1;
    limit_ = INT64_MAX;
    int64_t least = INT64_MAX;
    for (int64_t worker = 0; worker < workers_; ++worker) {
      const SegmentLog &log = *segment_log(words_ + 8 * worker);
      if (next_[worker] == log.count) continue;
      const int64_t instance = log.notes[next_[worker]].instance;
      if (from_ < 0 || instance < least) {
        limit_ = smaller(limit_, least);
        least = instance;
        from_ = worker;
      } else {
        limit_ = smaller(limit_, instance);
      }
    }
  }

  int64_t *words_;
  int64_t workers_;
  int64_t *next_;
  int64_t from_ = -1, limit_ = INT64_MAX;
};

// Compares segments that do not come in order.
inline bool compare_segments(Host &host, uint32_t memory, int64_t *words, int64_t *next, int64_t keys, int64_t total) {
  SegmentNote *notes = host.alloc<SegmentNote>(total, false, memory);
  SegmentStart *starts = host.alloc<SegmentStart>(total, false, memory);
  SegmentStart *other = host.alloc<SegmentStart>(total, false, memory);
  SegmentSweep *sweeps = host.alloc<SegmentSweep>(keys, false, memory);
  if (notes == nullptr || starts == nullptr || other == nullptr || sweeps == nullptr) return false;
  SegmentNotes all(words, host.workers(), next);
  for (int64_t i = 0; i < total; ++i) {
    notes[i] = *all.take();
    starts[i] = SegmentStart{notes[i].low, i};
  }
  const SegmentStart *sorted = sort_starts(starts, other, total);
  for (int64_t key = 0; key < keys; ++key) sweeps[key] = SegmentSweep();
  for (int64_t i = 0; i < total; ++i) sweeps[notes[sorted[i].number].key].look(notes[sorted[i].number]);
  const SegmentSweep *worst = nullptr;
  for (int64_t key = 0; key < keys; ++key) {
    if (sweeps[key].is_before(worst)) worst = &sweeps[key];
  }
  if (worst != nullptr) worst->raise(host.trap);
  host.free(sweeps);
  host.free(other);
  host.free(starts);
  host.free(notes);
  return worst == nullptr;
}

// Whether each segment begins where those of all earlier iterations have ended, if no log is mixed: pieces of logs stand for their notes.
inline bool pieces_ascend(SegmentNotes &all) {
  int64_t past = INT64_MIN;
  const SegmentNote *last;
  while (const SegmentNote *first = all.take_piece(&last)) {
    if (first->low < past) return false;
    past = last->high;
  }
  return true;
}

// The same for notes of `keys` calls and arrays, whose segments may overlap one another. `past` has room for so many ends.
inline bool notes_ascend(SegmentNotes &all, int64_t keys, int64_t *past) {
  for (int64_t key = 0; key < keys; ++key) past[key] = INT64_MIN;
  while (const SegmentNote *note = all.take()) {
    if (note->low < past[note->key]) return false;
    past[note->key] = note->high;
  }
  return true;
}

// Keys are below `keys`.
inline bool compare_logs(Host &host, uint32_t memory, int64_t *words, int64_t keys) {
  int64_t total = 0;
  bool mixed = keys > 1;
  for (int64_t worker = 0; worker < host.workers(); ++worker) {
    total += segment_log(words + 8 * worker)->count;
    mixed |= segment_log(words + 8 * worker)->mixed;
  }
  if (total == 0) return true;
  int64_t *next = host.alloc<int64_t>(host.workers(), false, memory);
  int64_t *past = host.alloc<int64_t>(keys, false, memory);
  if (next == nullptr || past == nullptr) return false;
  SegmentNotes all(words, host.workers(), next);
  const bool ascending = mixed ? notes_ascend(all, keys, past) : pieces_ascend(all);
  const bool good = ascending || compare_segments(host, memory, words, next, keys, total);
  host.free(past);
  host.free(next);
  return good;
}

inline void free_logs(Host &host, int64_t *words) {
  for (int64_t worker = 0; worker < host.workers(); ++worker) {
    SegmentLog &log = *segment_log(words + 8 * worker);
    if (log.notes != nullptr) host.free(log.notes);
    log.notes = nullptr;
  }
}

// A host-level map ends.
inline bool run_close_segments(Host &host, uint32_t memory, int64_t *words, int64_t keys) {
  if (!compare_logs(host, memory, words, keys)) return false;
  free_logs(host, words);
  return true;
}

// The same for a map that was launched inside iteration `instance` of one that the host runs.
inline bool run_close_inner_segments(Host &host, uint32_t memory, int64_t *words, int64_t keys, int64_t *outer, int64_t instance) {
  if (!compare_logs(host, memory, words, keys)) return false;
  for (int64_t worker = 0; worker < host.workers(); ++worker) {
    const SegmentLog &log = *segment_log(words + 8 * worker);
    for (int64_t i = 0; i < log.count; ++i) {
      SegmentNote note = log.notes[i];
      if (note.levels == 1) continue;
      note.levels = note.levels - 1;
      note.instance = instance;
      if (!note_segment(host.trap, memory, *segment_log(outer), note)) return false;
    }
  }
  free_logs(host, words);
  return true;
}

HIDP_NAMESPACE_END

// Keys of a sort with their values, or without.
#pragma once

#include <stdint.h>

#include <hidp/abi.hpp>
#include <hidp/prim/radix_key.hpp>

HIDP_NAMESPACE_BEGIN

// Keys with or without values, moved together.
template <class K, class V>
struct SortRun {
  K *key;
  V *val;

  HIDP_INLINE void move(int64_t to, const SortRun<K, V> &source, int64_t from) const {
    key[to] = source.key[from];
    val[to] = source.val[from];
  }
  HIDP_INLINE void exchange(int64_t a, int64_t b) const {
    const K first_key = key[a];
    const V first_val = val[a];
    move(a, *this, b);
    key[b] = first_key;
    val[b] = first_val;
  }
  HIDP_INLINE SortRun at(int64_t offset) const { return SortRun{key + offset, val + offset}; }
};
template <class K>
struct SortRun<K, NoValue> {
  K *key;

  HIDP_INLINE void move(int64_t to, const SortRun<K, NoValue> &source, int64_t from) const { key[to] = source.key[from]; }
  HIDP_INLINE void exchange(int64_t a, int64_t b) const {
    const K first_key = key[a];
    key[a] = key[b];
    key[b] = first_key;
  }
  HIDP_INLINE SortRun at(int64_t offset) const { return SortRun{key + offset}; }
};

template <class K, class V>
inline void copy_run(SortRun<K, V> to, SortRun<K, V> from, int64_t n) {
  if (to.key == from.key) return;
  for (int64_t i = 0; i < n; ++i) to.move(i, from, i);
}

HIDP_NAMESPACE_END

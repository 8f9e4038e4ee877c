// Whole iterations in vector lanes: elements that are accessed in a way of their own, by one lane after the other.
#pragma once

#include <stdint.h>

#include <hidp/abi.hpp>
#include <hidp/access.hpp>
#include <hidp/lanes.hpp>

HIDP_NAMESPACE_BEGIN

// Numbers that are accessed in a way of their own, such as fields of structs or what others may access meanwhile: `access` does it for one
// element.
template <class T, class Access, class Item, int B, int G, class Index>
HIDP_INLINE Wide<T, B, G> wide_load_by(const Mask<B, G> &mask, Item *base, Index index, Access access) {
  using W = Wide<T, B, G>;
  using Element = typename W::Element;
  if (wide_all(mask)) return wide_lanes<W>([&](int lane) { return lane_element<Element>(T(access(base[index(lane)]))); });
  const Spilled<bool, B, G> chosen(mask);
  alignas(64) Element values[W::kLanes];
  for (int lane = 0; lane < W::kLanes; ++lane) {
    values[lane] = 0;
    if (chosen.lane[lane]) values[lane] = lane_element<Element>(T(access(base[index(lane)])));
  }
  return wide_of<W>(values);
}
template <class T, class Access, class Item, int B, int G, class Index>
HIDP_INLINE void wide_store_by(const Mask<B, G> &mask, Item *base, Index index, const Wide<T, B, G> &value, Access access) {
  const Spilled<T, B, G> values(value);
  if (wide_all(mask)) {
#pragma GCC unroll 8
    for (int lane = 0; lane < Wide<T, B, G>::kLanes; ++lane) access(base[index(lane)], lane_value<T>(values.lane[lane]));
    return;
  }
  const Spilled<bool, B, G> chosen(mask);
  for (int lane = 0; lane < Wide<T, B, G>::kLanes; ++lane) {
    if (chosen.lane[lane]) access(base[index(lane)], lane_value<T>(values.lane[lane]));
  }
}
template <class T, class Access, class Item, int B, int G>
HIDP_INLINE Wide<T, B, G> wide_load_every(const Mask<B, G> &mask, Item *from, int64_t stride, Access access) {
  return wide_load_by<T>(mask, from, [=](int lane) { return lane * stride; }, access);
}
template <class T, class Access, class Item, int B, int G>
HIDP_INLINE void wide_store_every(const Mask<B, G> &mask, Item *to, int64_t stride, const Wide<T, B, G> &value, Access access) {
  wide_store_by<T>(mask, to, [=](int lane) { return lane * stride; }, value, access);
}
template <class T, class Access, class Item, int B, int G>
HIDP_INLINE Wide<T, B, G> wide_gather(const Mask<B, G> &mask, Item *base, const Wide<int64_t, B, G> &index, Access access) {
  const Spilled<int64_t, B, G> indices(index);
  return wide_load_by<T>(mask, base, [&](int lane) { return indices.lane[lane]; }, access);
}
template <class T, class Access, class Item, int B, int G>
HIDP_INLINE void wide_scatter(const Mask<B, G> &mask, Item *base, const Wide<int64_t, B, G> &index, const Wide<T, B, G> &value, Access access) {
  const Spilled<int64_t, B, G> indices(index);
  wide_store_by<T>(mask, base, [&](int lane) { return indices.lane[lane]; }, value, access);
}
// One element by all lanes of a mask: what `both` makes of two operands is the same in any order.
template <class T, class Both, class Access, class Item, int B, int G>
HIDP_INLINE void wide_update_one(const Mask<B, G> &mask, Item *to, const Wide<T, B, G> &value, Both both, Access access) {
  const Spilled<bool, B, G> chosen(mask);
  const Spilled<T, B, G> values(value);
  bool some = false;
  T all{};
  for (int lane = 0; lane < Wide<T, B, G>::kLanes; ++lane) {
    if (!chosen.lane[lane]) continue;
    all = some ? both(all, values.lane[lane]) : values.lane[lane];
    some = true;
  }
  if (some) access(*to, all);
}

HIDP_NAMESPACE_END

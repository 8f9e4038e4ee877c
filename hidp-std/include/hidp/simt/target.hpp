// Device code on the host: the names of cuda/target.cuh for the executor, which looks at whatever the lanes do.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include <hidp/abi.hpp>
#include <hidp/arith.hpp>
#include <hidp/simt/device.hpp>
#include <hidp/simt/pointer.hpp>

#define HIDP_GLOBAL(threads) [[maybe_unused]] static __attribute__((noinline)) void
#define HIDP_GLOBAL_AT_ONCE(threads, blocks) HIDP_GLOBAL(threads)
#define HIDP_DEVICE inline
#define HIDP_DEVICE_COLD [[maybe_unused]] static __attribute__((noinline))
#define HIDP_WHERE , const ::hidp::machine::Place &hidp_here = ::hidp::machine::Place::here()
#define HIDP_HERE , hidp_here
#define HIDP_SITE(number) , ::hidp::machine::Place::here(number)
#define HIDP_ITERATION(begin, end) ::hidp::machine::running().iterate(begin, end)
// The lambda is a type of its own for each declaration and each instance of a template.
#define HIDP_SHARED(type, name, count)                                                            \
  const auto name = ::hidp::machine::shared<type>([] { static const char key = 0; return &key; }(), \
                                               static_cast<int64_t>(count), #name, ::hidp::machine::Place::here())
#define HIDP_PARAMETER(type) const type
#define HIDP_UNROLL_BY(times)
#define HIDP_FIELD(place, path) \
  ::hidp::machine::field((place), [&](auto *hidp_whole) { return &(*hidp_whole)path; })

HIDP_NAMESPACE_BEGIN
namespace machine {

template <class T>
inline Pointer<T> shared(const void *key, int64_t count, const char *name, const Place &here) {
  Allocation *const found = running().shared(key, static_cast<size_t>(count) * sizeof(T), name, here);
  return Pointer<T>(reinterpret_cast<T *>(found->base), found);
}

}  // namespace machine

template <class T>
inline T &here(T &frame HIDP_WHERE) {
  machine::running().note(hidp_here);
  return frame;
}

#define HIDP_PLACE const machine::Place &here = machine::Place::here()

template <class T>
using In = machine::ReadOnly<T>;
template <class T>
using Out = machine::Pointer<T>;
template <class T>
using Any = machine::Pointer<T>;

template <class To, class From>
inline machine::Pointer<To> place_as(const machine::Pointer<From> &place) {
  static_assert(sizeof(To) == sizeof(From), "two names of one type");
  return machine::Pointer<To>(reinterpret_cast<To *>(place.address()), place.allocation(), place.fixed());
}

template <class T>
inline machine::Reference<T> at(const machine::Pointer<T> &place, int64_t index, HIDP_PLACE) {
  return machine::Reference<T>(place + index, here);
}
template <class T>
inline std::remove_const_t<T> load(const machine::Pointer<T> &place, HIDP_PLACE) {
  return machine::load(place, machine::Access::kRead, here);
}
template <class T>
inline void store(const machine::Pointer<T> &place, std::common_type_t<T> value, HIDP_PLACE) {
  machine::store(place, value, machine::Access::kWrite, here);
}
template <int Count, class T>
inline void load_several(std::remove_const_t<T> *own, const machine::Pointer<T> &place, HIDP_PLACE) {
  machine::together(place, Count, false, here);
  for (int at = 0; at < Count; ++at) own[at] = machine::load(place + at, machine::Access::kRead, here);
}
template <int Count, class T>
inline void store_several(const machine::Pointer<T> &place, const T *own, HIDP_PLACE) {
  machine::together(place, Count, true, here);
  for (int at = 0; at < Count; ++at) machine::store(place + at, own[at], machine::Access::kWrite, here);
}
template <int Bytes, class T>
inline bool is_aligned(const machine::Pointer<T> &place) {
  return reinterpret_cast<uintptr_t>(place.address()) % Bytes == 0;
}
template <class T>
inline std::remove_const_t<T> load_relaxed(const machine::Pointer<T> &place, HIDP_PLACE) {
  return machine::load(place, machine::Access::kRelaxedRead, here);
}
template <class T>
inline void store_relaxed(const machine::Pointer<T> &place, std::common_type_t<T> value, HIDP_PLACE) {
  machine::store(place, value, machine::Access::kRelaxedWrite, here);
}
template <class T>
inline std::remove_const_t<T> load_shared(const machine::Pointer<T> &place, HIDP_PLACE) {
  return machine::load(place, machine::Access::kRelaxedRead, here);
}
template <class T>
inline void store_shared(const machine::Pointer<T> &place, const std::common_type_t<T> &value, HIDP_PLACE) {
  machine::store(place, value, machine::Access::kRelaxedWrite, here);
}

template <class T, class Next>
inline void update_relaxed(const machine::Pointer<T> &place, Next next, HIDP_PLACE) {
  machine::update(place, next, here);
}
template <class T>
inline T compare_exchange(const machine::Pointer<T> &place, std::common_type_t<T> old, std::common_type_t<T> wanted, HIDP_PLACE) {
  static_assert(sizeof(T) == 4 || sizeof(T) == 8, "the hardware exchanges words");
  return machine::update(place, [&](T found) { return std::memcmp(&found, &old, sizeof(T)) == 0 ? wanted : found; }, here);
}
template <class T>
inline T exchange(const machine::Pointer<T> &place, std::common_type_t<T> wanted, HIDP_PLACE) {
  static_assert(sizeof(T) == 4 || sizeof(T) == 8, "the hardware exchanges words");
  return machine::update(place, [&](T) { return wanted; }, here);
}
template <class T>
inline T fetch_add(const machine::Pointer<T> &place, std::common_type_t<T> value, HIDP_PLACE) {
  static_assert(std::is_integral_v<T> && sizeof(T) >= 4, "the hardware adds words");
  return machine::update(place, [&](T old) { return add<T>(old, value); }, here);
}

#define HIDP_ATOMIC(name, result)                                                                        \
  template <class T>                                                                                     \
  inline void atomic_##name(const machine::Pointer<T> &place, std::common_type_t<T> value, HIDP_PLACE) { \
    machine::update(place, [&](T old) { return result; }, here);                                            \
  }
HIDP_ATOMIC(add, add<T>(old, value))
HIDP_ATOMIC(mul, mul<T>(old, value))
HIDP_ATOMIC(min, min<T>(old, value))
HIDP_ATOMIC(max, max<T>(old, value))
HIDP_ATOMIC(and, static_cast<T>(old & value))
HIDP_ATOMIC(or, static_cast<T>(old | value))
HIDP_ATOMIC(xor, static_cast<T>(old ^ value))
#undef HIDP_ATOMIC

// Lanes see what others wrote as soon as it is written.
inline void fence(HIDP_PLACE) { (void)here; }

inline uint32_t thread_rank() { return machine::running().lane().thread; }
inline uint32_t block_rank(int dimension) { return machine::running().block_rank(dimension); }
inline uint32_t block_count(int dimension) { return machine::running().grid().blocks[dimension]; }

inline void block_barrier(int threads, HIDP_PLACE) { machine::running().sync_block(threads, false, here); }
inline bool block_any(int threads, bool value, HIDP_PLACE) { return machine::running().sync_block(threads, value, here) != 0; }
inline void grid_barrier(const Any<uint32_t> &, uint32_t, int, HIDP_PLACE) { machine::running().sync_grid(here); }
inline void warp_barrier(uint32_t mask, HIDP_PLACE) { machine::running().sync_warp(mask, here); }
inline bool warp_any(uint32_t mask, bool value, HIDP_PLACE) { return machine::running().ballot(mask, value, here) != 0; }
inline uint32_t warp_ballot(uint32_t mask, bool value, HIDP_PLACE) { return machine::running().ballot(mask, value, here); }
template <class T>
inline T shuffle(uint32_t mask, const T &value, uint32_t lane, HIDP_PLACE) {
  static_assert(std::is_trivially_copyable_v<T>, "values are plain data");
  T result = value;
  machine::running().shuffle(mask, &value, &result, sizeof(T), static_cast<int>(lane), here);
  return result;
}

// Errors are numbers, 0 is none. Whatever goes wrong here is reported instead.

template <class T>
inline Any<T> place_at(void *address, HIDP_PLACE) {
  if (address == nullptr) return nullptr;
  return Any<T>(static_cast<T *>(address), machine::running().found(address, 0, here));
}
template <class T>
inline void *address_of(const machine::Pointer<T> &place) {
  return const_cast<std::remove_const_t<T> *>(place.address());
}
template <class T>
inline int copy_to_host(void *, std::remove_const_t<T> *to, const machine::Pointer<T> &place, int64_t count, HIDP_PLACE) {
  machine::running().copy_out(to, address_of(place), static_cast<size_t>(count) * sizeof(T), here);
  return 0;
}
template <class T>
inline int set_zero(void *, const machine::Pointer<T> &place, int64_t count, HIDP_PLACE) {
  machine::running().zero(address_of(place), static_cast<size_t>(count) * sizeof(T), here);
  return 0;
}
inline int wait(void *) { return 0; }

template <auto Kernel>
inline void announce() {
  machine::running().announce(__PRETTY_FUNCTION__);
}
template <class... Params>
inline int blocks_at_a_time(void (*)(Params...), int, int *blocks) {
  *blocks = 1;
  return 0;
}
template <class... Params>
inline int start(void (*kernel)(Params...), uint32_t x, uint32_t y, uint32_t z, int threads, void *, std::common_type_t<Params>... args) {
  const auto body = [=] { kernel(args...); };
  const auto run = [](const void *of) { (*static_cast<decltype(body) *>(of))(); };
  machine::running().launch({{x, y, z}}, static_cast<uint32_t>(threads), {run, &body});
  return 0;
}
template <class... Params>
inline int blocks_together(void (*kernel)(Params...), int threads, int *blocks) {
  return blocks_at_a_time(kernel, threads, blocks);
}
template <class Param>
inline int start_together(void (*kernel)(Param), uint32_t blocks, int threads, void *, const std::common_type_t<Param> &arg) {
  const auto body = [&] { kernel(arg); };
  const auto run = [](const void *of) { (*static_cast<decltype(body) *>(of))(); };
  machine::running().launch({{blocks, 1, 1}}, static_cast<uint32_t>(threads), {run, &body}, true);
  return 0;
}

#undef HIDP_PLACE

HIDP_NAMESPACE_END

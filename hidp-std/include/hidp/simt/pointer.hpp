// Places in checked memory: what device code has for pointers.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include <type_traits>

#include <hidp/abi.hpp>
#include <hidp/simt/executor.hpp>
#if HIDP_EXECUTOR_IS_HERE
#include <hidp/simt/ask.hpp>
#include <hidp/simt/meet.hpp>
#include <hidp/simt/run.hpp>
#include <hidp/simt/touch.hpp>
#endif

HIDP_NAMESPACE_BEGIN
namespace machine {

using namespace executor;

// The place of an element and the memory that it should be in. T may be const: then nothing is written through it.
template <class T>
class Pointer {
 public:
  using Element = std::remove_const_t<T>;

  Pointer() = default;
  Pointer(std::nullptr_t) {}
  Pointer(T *address, Allocation *allocation, bool fixed = false) : address_(address), allocation_(allocation), fixed_(fixed) {}
  template <class From, class = std::enable_if_t<std::is_convertible_v<From *, T *>>>
  Pointer(const Pointer<From> &from) : address_(from.address()), allocation_(from.allocation()), fixed_(from.fixed()) {}

  T *address() const { return address_; }
  Allocation *allocation() const { return allocation_; }
  // Whether nobody writes there while the kernel runs.
  bool fixed() const { return fixed_; }

  explicit operator bool() const { return address_ != nullptr; }
  friend bool operator==(const Pointer &a, const Pointer &b) { return a.address_ == b.address_; }
  friend bool operator!=(const Pointer &a, const Pointer &b) { return a.address_ != b.address_; }

  // Addresses far outside are no undefined behaviour here: only what is touched is looked at.
  Pointer operator+(int64_t count) const {
    const uintptr_t moved = reinterpret_cast<uintptr_t>(address_) + static_cast<uintptr_t>(count) * sizeof(T);
    return {reinterpret_cast<T *>(moved), allocation_, fixed_};
  }
  Pointer operator-(int64_t count) const { return *this + (-count); }
  int64_t operator-(const Pointer &from) const { return address_ - from.address_; }
  Pointer &operator+=(int64_t count) { return *this = *this + count; }
  Pointer &operator-=(int64_t count) { return *this = *this - count; }
  Pointer &operator++() { return *this += 1; }

  bool touch(Access access, bool reads, const Place &here) const {
    static_assert(std::is_trivially_copyable_v<Element>, "elements are plain data");
    const bool fixed = fixed_ && access == Access::kRead;
    return Executor::may_touch(allocation_, address_, sizeof(T), fixed ? Access::kFixedRead : access, reads, here);
  }

 private:
  T *address_ = nullptr;
  Allocation *allocation_ = nullptr;
  bool fixed_ = false;
};

// Reads only, of what nobody writes while the kernel runs.
template <class T>
class ReadOnly : public Pointer<const T> {
 public:
  ReadOnly() = default;
  ReadOnly(std::nullptr_t) {}
  ReadOnly(const Pointer<const T> &from) : Pointer<const T>(from.address(), from.allocation(), true) {}
  ReadOnly(const Pointer<T> &from) : Pointer<const T>(from.address(), from.allocation(), true) {}
};

template <class T>
std::remove_const_t<T> load(const Pointer<T> &from, Access access, const Place &here) {
  std::remove_const_t<T> value = {};
  if (from.touch(access, true, here)) std::memcpy(&value, from.address(), sizeof(T));
  return value;
}
// The next accesses, to so many elements, are one. Its place is a multiple of its bytes.
template <class T>
void together(const Pointer<T> &first, int count, bool write, const Place &here) {
  const size_t bytes = sizeof(T) * static_cast<size_t>(count);
  if (reinterpret_cast<uintptr_t>(first.address()) % bytes != 0) running().misaligned(bytes, here);
  running().together(first.allocation(), first.address(), static_cast<uint32_t>(count), bytes, write, here);
}
template <class T>
void put(const Pointer<T> &to, const T &value) {
  if (std::memcmp(to.address(), &value, sizeof(T)) == 0) return;
  std::memcpy(to.address(), &value, sizeof(T));
  running().got_on();
}
template <class T>
void store(const Pointer<T> &to, const T &value, Access access, const Place &here) {
  static_assert(!std::is_const_v<T>, "nothing is written through a place to read from");
  if (to.touch(access, false, here)) put(to, value);
}

// Stands for an element where C++ has a reference.
template <class T>
class Reference {
 public:
  using Element = std::remove_const_t<T>;

  Reference(const Pointer<T> &to, const Place &here) : to_(to), here_(here) {}
  Reference(const Reference &) = default;

  operator Element() const { return load(to_, Access::kRead, here_); }
  const Reference &operator=(const Element &value) const {
    store(to_, value, Access::kWrite, here_);
    return *this;
  }
  const Reference &operator=(const Reference &from) const { return *this = static_cast<Element>(from); }
  const Reference &operator+=(const Element &value) const { return *this = static_cast<Element>(static_cast<Element>(*this) + value); }
  Pointer<T> operator&() const { return to_; }

 private:
  const Pointer<T> to_;
  const Place here_;
};

// What is at the place before is what `next` gets, indivisibly; what it was.
template <class T, class Next>
T update(const Pointer<T> &to, Next next, const Place &here) {
  if (!to.touch(Access::kRelaxedWrite, true, here)) return T{};
  T before;
  std::memcpy(&before, to.address(), sizeof(T));
  const T after = next(before);
  put(to, after);
  return before;
}

// The place of a field, given how the address of the field follows from that of the whole.
template <class T, class Find>
auto field(const Pointer<T> &of, Find find) {
  auto *const address = find(of.address());
  return Pointer<std::remove_pointer_t<decltype(address)>>(address, of.allocation(), of.fixed());
}

}  // namespace machine
HIDP_NAMESPACE_END

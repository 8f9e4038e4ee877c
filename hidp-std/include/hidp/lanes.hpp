// Whole iterations in vector lanes: values that differ from lane to lane, and masks.
//
// `Wide<T, Bits, Groups>` has Groups times as many lanes as a vector of the instruction set has elements of Bits. It is an array of the
// compiler's own vectors, none of them wider than a register: GCC makes scalar code of those. Lanes are in order, so that an array of
// such values has the elements of a lane a constant distance apart. Operators, and functions of the names that scalars have, mean in
// each lane what they mean there, to the bit.
//
// `hidp/lane_values.hpp` has the type. A mask is a `Wide<bool, …>`; `hidp/lane_masks.hpp` says what its parts are.
#pragma once

#include <stdint.h>
#include <type_traits>

#include <hidp/abi.hpp>
#include <hidp/arith.hpp>
#include <hidp/cast.hpp>
#include <hidp/lane_extremes.hpp>
#include <hidp/lane_masks.hpp>
#include <hidp/lane_parts.hpp>
#include <hidp/lane_values.hpp>

HIDP_NAMESPACE_BEGIN

template <int B, int G, class T>
HIDP_INLINE Wide<T, B, G> wide_splat(T value) {
  using W = Wide<T, B, G>;
  const typename W::Element element = std::is_same_v<T, bool> ? typename W::Element(-int(value)) : typename W::Element(value);
  // A loop over elements becomes as many masked broadcasts in GCC; x - 0 is x, also of -0.0.
  return wide_parts<W>([=](int) HIDP_INLINED { return typename W::Part(element - typename W::Part{}); });
}
template <int B, int G>
HIDP_INLINE Wide<int64_t, B, G> wide_iota(int64_t first) {
  using W = Wide<int64_t, B, G>;
  typename W::Part numbers{};
  for (int lane = 0; lane < W::kPerPart; ++lane) numbers[lane] = lane;
  return wide_parts<W>([=](int at) HIDP_INLINED { return numbers + (first + at * W::kPerPart); });
}
// The first `count` lanes, at least one.
template <int B, int G>
HIDP_INLINE Mask<B, G> wide_first(int64_t count) {
  using M = Mask<B, G>;
  using Number = typename M::Element;
  typename M::Vector numbers{};
  for (int lane = 0; lane < M::kPerPart; ++lane) numbers[lane] = Number(lane);
  const int all = count < M::kLanes ? int(count) : M::kLanes;
  return wide_parts<M>([=](int at) HIDP_INLINED {
    const int left = all - at * M::kPerPart;
    const int inside = left < 0 ? 0 : left > M::kPerPart ? M::kPerPart : left;
    if constexpr (M::kIsBits) return typename M::Part(inside == 0 ? 0 : ~uint64_t{0} >> (64 - inside));
    else return (typename M::Part)(numbers < Number(inside) - typename M::Part{});
  });
}

// The mask of all lanes, known as such.
template <int B, int G>
struct AllLanes : Mask<B, G> {};
template <int B, int G>
HIDP_INLINE AllLanes<B, G> wide_every() {
  return {wide_splat<B, G>(true)};
}
template <int B, int G, class M>
HIDP_INLINE M operator&(const AllLanes<B, G> &, const M &mask) {
  return mask;
}

// Lanes as another type holds them: by pieces of as many lanes as the smaller part has.
template <class W, class From, int B, int G>
HIDP_INLINE W wide_convert(const Wide<From, B, G> &a) {
  using F = Wide<From, B, G>;
  if constexpr (F::kPerPart == W::kPerPart && !F::kIsBits && !W::kIsBits) {
    return wide_parts<W>([&](int at) HIDP_INLINED { return part_cast<typename W::Part>(a.part[at]); });
  } else if constexpr (kNamesInstructions && F::kPerPart < W::kPerPart && sizeof(typename F::Element) == 2 * sizeof(typename W::Element)) {
    return wide_parts<W>([&](int at) HIDP_INLINED { return part_halved<typename W::Part>(a.part[2 * at], a.part[2 * at + 1]); });
  } else if constexpr (kNamesInstructions && F::kPerPart < W::kPerPart && std::is_integral_v<From>) {
    return wide_convert<W>(wide_convert<Wide<LaneInt<int(sizeof(typename F::Element)) * 4>, B, G>>(a));
  } else {
    constexpr int piece = F::kPerPart < W::kPerPart ? F::kPerPart : W::kPerPart;
    using Source = typename LaneVector<typename F::Element, piece>::type;
    using Target = typename LaneVector<typename W::Element, piece>::type;
    W result;
#pragma GCC unroll 64
    for (int at = 0; at < F::kLanes / piece; ++at) {
      Source source;
      __builtin_memcpy(&source, reinterpret_cast<const char *>(&a) + at * sizeof source, sizeof source);
      const Target target = part_cast<Target>(source);
      __builtin_memcpy(reinterpret_cast<char *>(&result) + at * sizeof target, &target, sizeof target);
    }
    return result;
  }
}
#if defined(HIDP_LANE_BITS)
// The bits of the lanes of W's part, from the lowest on.
template <class W, int B, int G>
HIDP_INLINE uint64_t part_mask(const Mask<B, G> &mask, int at) {
  constexpr int most = Mask<B, G>::kPerPart;
  return mask.part[at * W::kPerPart / most] >> at * W::kPerPart % most;
}
// The mask of where a comparison holds.
template <class Compare, class T, int B, int G>
HIDP_INLINE Mask<B, G> wide_compare(const Wide<T, B, G> &a, const Wide<T, B, G> &b) {
  using W = Wide<T, B, G>;
  using M = Mask<B, G>;
  if constexpr (W::kPerPart == M::kPerPart) {
    return wide_parts<M>([&](int at) HIDP_INLINED { return typename M::Part(part_compare<Compare>(a.part[at], b.part[at])); });
  } else {
    // GCC 12 takes a mask that it has spilled for as wide as what it becomes, and loads what lies behind it: it must not know where it is from.
    using Bits = LaneBits<kLaneBytes * 8 / W::kPerPart>;
    M result{};
#pragma GCC unroll 64
    for (int at = 0; at < W::kParts; ++at) {
      const uint64_t bits = kept(Bits(part_compare<Compare>(a.part[at], b.part[at])));
      result.part[at * W::kPerPart / M::kPerPart] |= bits << at * W::kPerPart % M::kPerPart;
    }
    return result;
  }
}
template <class T, int B, int G>
HIDP_INLINE Wide<T, B, G> wide_select(const Mask<B, G> &mask, const Wide<T, B, G> &yes, const Wide<T, B, G> &no) {
  using W = Wide<T, B, G>;
  return wide_parts<W>([&](int at) HIDP_INLINED {
    if constexpr (W::kIsBits) return typename W::Part((mask.part[at] & yes.part[at]) | (~mask.part[at] & no.part[at]));
    else return part_choose(part_mask<W>(mask, at), yes.part[at], no.part[at]);
  });
}
#else
// A mask from numbers narrower than lanes, with the mask of these: what selects such numbers takes it. Compilers leave out the one that
// nobody uses.
template <class Number, int B, int G>
struct Compared : Mask<B, G> {
  Wide<Number, B, G> narrow;
};
// The mask of where a comparison holds.
template <class Compare, class T, int B, int G>
HIDP_INLINE auto wide_compare(const Wide<T, B, G> &a, const Wide<T, B, G> &b) {
  using W = Wide<T, B, G>;
  using Number = LaneInt<int(sizeof(typename W::Element)) * 8>;
  using Result = Wide<Number, B, G>;
  const Result result =
      wide_parts<Result>([&](int at) HIDP_INLINED { return (typename Result::Part)Compare::of(a.part[at], b.part[at]); });
  if constexpr (sizeof(Number) * 8 == B) {
    return wide_parts<Mask<B, G>>([&](int at) HIDP_INLINED { return result.part[at]; });
  } else {
    return Compared<Number, B, G>{wide_convert<Mask<B, G>>(result), result};
  }
}
// A mask for vectors of T: integers as wide as its elements.
template <class T, int B, int G>
HIDP_INLINE auto mask_for(const Mask<B, G> &mask) {
  using Number = LaneInt<int(sizeof(LaneElement<T, B>)) * 8>;
  if constexpr (sizeof(Number) * 8 == B) return mask;
  else return wide_convert<Wide<Number, B, G>>(mask);
}
template <class T, int B, int G>
HIDP_INLINE Wide<T, B, G> wide_select(const Mask<B, G> &mask, const Wide<T, B, G> &yes, const Wide<T, B, G> &no) {
  const auto chosen = mask_for<T>(mask);
  // The sign is what blends look at: GCC would compare all bits with 0 before.
  return wide_parts<Wide<T, B, G>>([&](int at) HIDP_INLINED { return chosen.part[at] < 0 ? yes.part[at] : no.part[at]; });
}
template <class T, class Number, int B, int G>
HIDP_INLINE Wide<T, B, G> wide_select(const Compared<Number, B, G> &mask, const Wide<T, B, G> &yes, const Wide<T, B, G> &no) {
  if constexpr (sizeof(LaneElement<T, B>) == sizeof(Number)) {
    return wide_parts<Wide<T, B, G>>([&](int at) HIDP_INLINED { return mask.narrow.part[at] < 0 ? yes.part[at] : no.part[at]; });
  } else {
    return wide_select<T, B, G>(static_cast<const Mask<B, G> &>(mask), yes, no);
  }
}
#endif

#define HIDP_WIDE_OPERATOR(op)                                                                       \
  template <class T, int B, int G>                                                                   \
  HIDP_INLINE Wide<T, B, G> operator op(const Wide<T, B, G> &a, const Wide<T, B, G> &b) {           \
    return wide_parts<Wide<T, B, G>>([&](int at) HIDP_INLINED { return a.part[at] op b.part[at]; }); \
  }
HIDP_WIDE_OPERATOR(+)
HIDP_WIDE_OPERATOR(-)
HIDP_WIDE_OPERATOR(*)
HIDP_WIDE_OPERATOR(&)
HIDP_WIDE_OPERATOR(|)
HIDP_WIDE_OPERATOR(^)
#undef HIDP_WIDE_OPERATOR
#define HIDP_WIDE_COMPARISON(op, Compare)                                                            \
  template <class T, int B, int G>                                                                   \
  HIDP_INLINE auto operator op(const Wide<T, B, G> &a, const Wide<T, B, G> &b) {              \
    return wide_compare<Compare>(a, b);                                                             \
  }
HIDP_WIDE_COMPARISON(<, LanesLess)
HIDP_WIDE_COMPARISON(<=, LanesLessOrEqual)
HIDP_WIDE_COMPARISON(>, LanesGreater)
HIDP_WIDE_COMPARISON(>=, LanesGreaterOrEqual)
HIDP_WIDE_COMPARISON(==, LanesEqual)
HIDP_WIDE_COMPARISON(!=, LanesDiffer)
#undef HIDP_WIDE_COMPARISON

template <class T, int B, int G>
HIDP_INLINE Wide<T, B, G> operator-(const Wide<T, B, G> &a) {
  return wide_parts<Wide<T, B, G>>([&](int at) HIDP_INLINED { return -a.part[at]; });
}
template <class T, int B, int G>
HIDP_INLINE Wide<T, B, G> operator~(const Wide<T, B, G> &a) {
  return wide_parts<Wide<T, B, G>>([&](int at) HIDP_INLINED { return ~a.part[at]; });
}
#if defined(HIDP_LANE_BITS)
// Masks alone are made in a loop: of parts that are named one by one GCC moves those of loops to other registers and back.
template <class M, class Make>
HIDP_INLINE M mask_parts(Make make) {
  M result;
#pragma GCC unroll 64
  for (int at = 0; at < M::kParts; ++at) result.part[at] = make(at);
  return result;
}
template <int B, int G>
HIDP_INLINE Mask<B, G> operator&(const Mask<B, G> &a, const Mask<B, G> &b) {
  return mask_parts<Mask<B, G>>([&](int at) { return mask_and(a.part[at], b.part[at]); });
}
template <int B, int G>
HIDP_INLINE Mask<B, G> operator|(const Mask<B, G> &a, const Mask<B, G> &b) {
  return mask_parts<Mask<B, G>>([&](int at) { return mask_or(a.part[at], b.part[at]); });
}
template <int B, int G>
HIDP_INLINE Mask<B, G> operator^(const Mask<B, G> &a, const Mask<B, G> &b) {
  return mask_parts<Mask<B, G>>([&](int at) { return mask_xor(a.part[at], b.part[at]); });
}
template <int B, int G>
HIDP_INLINE Mask<B, G> operator~(const Mask<B, G> &a) {
  return mask_parts<Mask<B, G>>([&](int at) { return mask_not(a.part[at]); });
}
template <int B, int G>
HIDP_INLINE Mask<B, G> operator!=(const Mask<B, G> &a, const Mask<B, G> &b) {
  return a ^ b;
}
template <int B, int G>
HIDP_INLINE Mask<B, G> operator==(const Mask<B, G> &a, const Mask<B, G> &b) {
  return ~(a ^ b);
}
#endif
template <int B, int G>
HIDP_INLINE Mask<B, G> operator!(const Mask<B, G> &a) {
  return ~a;
}

template <int B, int G>
HIDP_INLINE bool wide_any(const Mask<B, G> &mask) {
  using M = Mask<B, G>;
  typename M::Part some = mask.part[0];
#if defined(HIDP_LANE_BITS)
#pragma GCC unroll 64
  for (int at = 1; at < M::kParts - 1; ++at) some = mask_or(some, mask.part[at]);
  // The test takes two.
  return mask_any(some, mask.part[M::kParts - 1]);
#else
#pragma GCC unroll 64
  for (int at = 1; at < M::kParts; ++at) some |= mask.part[at];
  // Parts of masks fill a register.
  using Words = typename LaneVector<long long, kLaneBytes / 8>::type;
  const Words words = (Words)some;
#if !defined(HIDP_LANE_BYTES) && defined(__AVX2__)
  return !__builtin_ia32_ptestz256(words, words);
#else
  long long all = 0;
  for (int at = 0; at < kLaneBytes / 8; ++at) all |= words[at];
  return all != 0;
#endif
#endif
}
template <int B, int G>
HIDP_INLINE bool wide_all(const Mask<B, G> &mask) {
  return !wide_any(!mask);
}

// What a lane holds, as the program knows it.
template <class T, class Element>
HIDP_INLINE T lane_value(Element element) {
  if constexpr (std::is_same_v<T, bool>) return element != 0;
  else return element;
}
template <class Element, class T>
HIDP_INLINE Element lane_element(T value) {
  if constexpr (std::is_same_v<T, bool>) return Element(-int(value));
  else return value;
}
// The scalar function, in all lanes: loops without branches are vector code if they call nothing, so lambdas are `HIDP_INLINED`.
template <class R, class Apply, int B, int G, class... T>
HIDP_INLINE Wide<R, B, G> wide_spilled(Apply apply, const Spilled<T, B, G> &...operand) {
  using W = Wide<R, B, G>;
  alignas(64) typename W::Element values[W::kLanes];
#pragma omp simd
  for (int lane = 0; lane < W::kLanes; ++lane)
    values[lane] = lane_element<typename W::Element>(R(apply(lane_value<T>(operand.lane[lane])...)));
  return wide_of<W>(values);
}
template <class R, class Apply, int B, int G, class... T>
HIDP_INLINE Wide<R, B, G> wide_apply(Apply apply, const Wide<T, B, G> &...operand) {
  return wide_spilled<R>(apply, Spilled<T, B, G>(operand)...);
}
// In the lanes of a mask alone, which may be what keeps it from going on for ever.
template <class R, class Apply, int B, int G, class... T>
HIDP_INLINE Wide<R, B, G> wide_call_spilled(Apply apply, const Spilled<bool, B, G> &mask, const Spilled<T, B, G> &...operand) {
  using W = Wide<R, B, G>;
  alignas(64) typename W::Element values[W::kLanes];
  for (int lane = 0; lane < W::kLanes; ++lane) {
    values[lane] = 0;
    if (mask.lane[lane]) values[lane] = lane_element<typename W::Element>(R(apply(lane_value<T>(operand.lane[lane])...)));
  }
  return wide_of<W>(values);
}
template <class R, class Apply, int B, int G, class... T>
HIDP_INLINE Wide<R, B, G> wide_call(Apply apply, const Mask<B, G> &mask, const Wide<T, B, G> &...operand) {
  return wide_call_spilled<R>(apply, Spilled<bool, B, G>(mask), Spilled<T, B, G>(operand)...);
}

template <class To, class From, int B, int G>
HIDP_INLINE Wide<To, B, G> wide_cast(const Wide<From, B, G> &a) {
  if constexpr (std::is_same_v<To, From>) {
    return a;
  } else if constexpr (std::is_same_v<To, bool>) {
    return a != wide_splat<B, G>(From{0});
  } else if constexpr (Wide<From, B, G>::kIsBits) {
    return wide_select(a, wide_splat<B, G>(To{1}), wide_splat<B, G>(To{0}));
  } else if constexpr (std::is_same_v<From, bool>) {
    const auto ones = wide_parts<Mask<B, G>>([&](int at) HIDP_INLINED { return -a.part[at]; });
    return wide_convert<Wide<To, B, G>>(ones);
  } else if constexpr (std::is_floating_point_v<From> && std::is_integral_v<To>) {
    return wide_apply<To>([](From x) HIDP_INLINED { return cast<To>(x); }, a);
  } else {
    return wide_convert<Wide<To, B, G>>(a);
  }
}

// Counts are below the width in all lanes: who calls has chosen harmless ones where nobody is.
template <class T, class N, int B, int G>
HIDP_INLINE Wide<T, B, G> wide_shl(const Wide<T, B, G> &a, const Wide<N, B, G> &count) {
  const auto counts = wide_cast<T>(count);
  return wide_parts<Wide<T, B, G>>([&](int at) HIDP_INLINED { return a.part[at] << counts.part[at]; });
}
template <class T, class N, int B, int G>
HIDP_INLINE Wide<T, B, G> wide_shr(const Wide<T, B, G> &a, const Wide<N, B, G> &count) {
  const auto counts = wide_cast<T>(count);
  return wide_parts<Wide<T, B, G>>([&](int at) HIDP_INLINED { return a.part[at] >> counts.part[at]; });
}

template <class T, int B, int G>
HIDP_INLINE Wide<T, B, G> wide_sqrt(const Wide<T, B, G> &a) {
  return wide_parts<Wide<T, B, G>>([&](int at) HIDP_INLINED { return part_sqrt(a.part[at]); });
}
template <class T, int B, int G>
HIDP_INLINE Wide<T, B, G> wide_abs(const Wide<T, B, G> &a) {
  return wide_parts<Wide<T, B, G>>([&](int at) HIDP_INLINED {
    using Part = typename Wide<T, B, G>::Part;
    if constexpr (std::is_floating_point_v<T>) {
      using Number = LaneInt<int(sizeof(T)) * 8>;
      using Numbers = typename LaneVector<Number, Wide<T, B, G>::kPerPart>::type;
      return (Part)((Numbers)a.part[at] & IntegerRange<Number>::max);
    } else if constexpr (std::is_signed_v<T>) {
      return a.part[at] < 0 ? -a.part[at] : a.part[at];
    } else {
      return a.part[at];
    }
  });
}

template <class T, int B, int G>
HIDP_INLINE Wide<T, B, G> wide_mul_add(const Wide<T, B, G> &a, const Wide<T, B, G> &b, const Wide<T, B, G> &c) {
  return wide_parts<Wide<T, B, G>>([&](int at) HIDP_INLINED { return part_mul_add(a.part[at], b.part[at], c.part[at]); });
}

// The lanes of a part of a mask, a bit for each.
template <int B, int G>
HIDP_INLINE uint64_t lanes_of_part(const Mask<B, G> &mask, int at) {
#if defined(HIDP_LANE_BITS)
  return mask.part[at];
#else
  using M = Mask<B, G>;
  uint64_t lanes = 0;
#if !defined(HIDP_LANE_BYTES) && defined(__AVX2__)
  typedef char Bytes __attribute__((vector_size(32)));
  typedef float Floats __attribute__((vector_size(32)));
  typedef double Doubles __attribute__((vector_size(32)));
  if constexpr (B == 8) return uint32_t(__builtin_ia32_pmovmskb256((Bytes)mask.part[at]));
  else if constexpr (B == 32) return uint64_t(__builtin_ia32_movmskps256((Floats)mask.part[at]));
  else if constexpr (B == 64) return uint64_t(__builtin_ia32_movmskpd256((Doubles)mask.part[at]));
#endif
  for (int lane = 0; lane < M::kPerPart; ++lane) lanes |= uint64_t(mask.part[at][lane] != 0) << lane;
  return lanes;
#endif
}
// Does something in each lane of a mask, in order. Of as many parts together as a word has bits for: fewer loops end.
template <int B, int G, class Apply>
HIDP_INLINE void wide_each(const Mask<B, G> &mask, Apply apply) {
  using M = Mask<B, G>;
  constexpr int fit = 64 / M::kPerPart, step = fit < M::kParts ? fit : M::kParts;
  for (int first = 0; first < M::kParts; first += step) {
    uint64_t left = 0;
#pragma GCC unroll 64
    for (int at = 0; at < step; ++at) left |= lanes_of_part<B, G>(mask, first + at) << at * (M::kPerPart % 64);
    for (; left != 0; left &= left - 1) apply(first * M::kPerPart + __builtin_ctzll(left));
  }
}
// Elements of memory. Lanes that are not in the mask store none, and hold anything.
template <class T, int B, int G, class Index>
HIDP_INLINE Wide<T, B, G> wide_load_lanes(const Mask<B, G> &mask, const T *base, Index index) {
  using W = Wide<T, B, G>;
  const Spilled<bool, B, G> chosen(mask);
  alignas(64) typename W::Element values[W::kLanes];
  for (int lane = 0; lane < W::kLanes; ++lane) {
    values[lane] = 0;
    if (chosen.lane[lane]) values[lane] = lane_element<typename W::Element>(base[index(lane)]);
  }
  return wide_of<W>(values);
}
template <class T, int B, int G, class Index>
HIDP_INLINE void wide_store_lanes(const Mask<B, G> &mask, T *base, Index index, const Wide<T, B, G> &value) {
  const Spilled<bool, B, G> chosen(mask);
  const Spilled<T, B, G> values(value);
  for (int lane = 0; lane < Wide<T, B, G>::kLanes; ++lane) {
    if (chosen.lane[lane]) base[index(lane)] = lane_value<T>(values.lane[lane]);
  }
}
template <class T, int B, int G>
HIDP_INLINE Wide<T, B, G> wide_load_some(const Mask<B, G> &mask, const T *from) {
  using W [[maybe_unused]] = Wide<T, B, G>;
#if defined(HIDP_LANE_BITS)
  constexpr bool in_parts = !std::is_same_v<T, bool> && W::kPerPart * sizeof(T) >= 16;
  if constexpr (in_parts) {
    return wide_parts<W>(
        [&](int at) HIDP_INLINED { return part_load<typename W::Part>(part_mask<W>(mask, at), from + at * W::kPerPart); });
  } else
#elif !defined(HIDP_LANE_BYTES) && defined(__AVX2__)
  constexpr bool in_parts = !std::is_same_v<T, bool> && sizeof(T) >= 4 && W::kPerPart * sizeof(T) == 32;
  if constexpr (in_parts) {
    const auto chosen = mask_for<T>(mask);
    return wide_parts<W>([&](int at) HIDP_INLINED { return part_load<typename W::Part>(chosen.part[at], from + at * W::kPerPart); });
  } else
#endif
    return wide_load_lanes(mask, from, [](int lane) { return lane; });
}
// Neighbours.
template <class T, int B, int G>
HIDP_INLINE Wide<T, B, G> wide_load(const Mask<B, G> &mask, const T *from) {
  if (!wide_all(mask)) return wide_load_some(mask, from);
  if constexpr (std::is_same_v<T, bool>) {
    return wide_cast<bool>(wide_of<Wide<uint8_t, B, G>>(reinterpret_cast<const uint8_t *>(from)));
  } else {
    return wide_of<Wide<T, B, G>>(from);
  }
}
template <class T, int B, int G>
HIDP_INLINE void wide_store(const Mask<B, G> &mask, T *to, const Wide<T, B, G> &value) {
  if (!wide_all(mask)) return wide_store_lanes(mask, to, [](int lane) { return lane; }, value);
  if constexpr (std::is_same_v<T, bool>) {
    wide_to(reinterpret_cast<uint8_t *>(to), wide_cast<uint8_t>(value));
  } else {
    wide_to(to, value);
  }
}
// A constant distance apart.
template <class T, int B, int G>
HIDP_INLINE Wide<T, B, G> wide_load_every(const Mask<B, G> &mask, const T *from, int64_t stride) {
  using W = Wide<T, B, G>;
  if (wide_all(mask)) return wide_lanes<W>([=](int lane) { return lane_element<typename W::Element>(from[lane * stride]); });
  return wide_load_lanes(mask, from, [=](int lane) { return lane * stride; });
}
template <class T, int B, int G>
HIDP_INLINE void wide_store_every(const Mask<B, G> &mask, T *to, int64_t stride, const Wide<T, B, G> &value) {
  wide_store_lanes(mask, to, [=](int lane) { return lane * stride; }, value);
}
// Where indices say. Of what nobody writes, lanes that are not in the mask read the first element, so that no lane asks.
template <class T, int B, int G>
HIDP_INLINE Wide<T, B, G> wide_gather(const Mask<B, G> &mask, const T *base, const Wide<int64_t, B, G> &index) {
  using W = Wide<T, B, G>;
  const Spilled<int64_t, B, G> indices(wide_select(mask, index, wide_splat<B, G>(int64_t{0})));
  return wide_lanes<W>([&](int lane) { return lane_element<typename W::Element>(base[indices.lane[lane]]); });
}
template <class T, int B, int G>
HIDP_INLINE Wide<T, B, G> wide_gather(const Mask<B, G> &mask, T *base, const Wide<int64_t, B, G> &index) {
  const Spilled<int64_t, B, G> indices(index);
  return wide_load_lanes(mask, base, [&](int lane) { return indices.lane[lane]; });
}
#if defined(HIDP_LANE_BITS) && !defined(__clang__)
// Whether lanes may take elements from two registers, which hold 32 of them: where there are fewer lanes, loads do as well.
template <class T, class N, int B, int G>
constexpr bool kLooksUp = sizeof(T) == 4 && std::is_same_v<N, uint8_t> && Wide<T, B, G>::kLanes >= 32;
// Which of 32 elements lanes of a mask want, a bit for each.
template <int B, int G>
HIDP_INLINE uint32_t wanted_elements(const Mask<B, G> &mask, const Wide<int32_t, B, G> &index) {
  using W = Wide<int32_t, B, G>;
  typename W::Part wanted{};
#pragma GCC unroll 64
  for (int at = 0; at < W::kParts; ++at) {
    wanted |= part_choose(part_mask<W>(mask, at), (typename W::Part{} + 1) << (index.part[at] & 31), typename W::Part{});
  }
  const auto words = (typename LaneVector<uint64_t, 8>::type)wanted;
  uint64_t all = 0;
  for (int at = 0; at < 8; ++at) all |= words[at];
  return uint32_t(all | all >> 32);
}
// Of 32 elements, of which only those are accessed that lanes of the mask want.
template <class T, int B, int G>
HIDP_INLINE Wide<T, B, G> wide_look_up(const Mask<B, G> &mask, const T *from, const Wide<uint8_t, B, G> &index) {
  using W = Wide<T, B, G>;
  using Numbers = typename Wide<int32_t, B, G>::Part;
  const auto numbers = wide_cast<int32_t>(index);
  const uint32_t wanted = wanted_elements(mask, numbers);
  const auto lower = part_load<Numbers>(wanted & 0xffff, from), upper = part_load<Numbers>(wanted >> 16, from + 16);
  return wide_parts<W>([&](int at) HIDP_INLINED { return (typename W::Part)__builtin_shuffle(lower, upper, numbers.part[at]); });
}
#endif
// The same where `same` and an index of each lane say, together. Lanes that are not in the mask read what one that is reads.
template <class T, class N, int B, int G>
HIDP_INLINE Wide<T, B, G> wide_gather(const Mask<B, G> &mask, const T *base, int64_t same, const Wide<N, B, G> &index) {
  using W = Wide<T, B, G>;
#if defined(HIDP_LANE_BITS) && !defined(__clang__)
  if constexpr (kLooksUp<T, N, B, G>) {
    if (!wide_any(mask & (index >= wide_splat<B, G>(N{32})))) return wide_look_up(mask, base + same, index);
  }
#endif
  Spilled<N, B, G> indices(index);
  if (HIDP_UNLIKELY(!wide_all(mask))) {
    const Spilled<bool, B, G> chosen(mask);
    int one = 0;
    while (one < W::kLanes && !chosen.lane[one]) ++one;
    if (one == W::kLanes) return wide_splat<B, G>(T{});
    for (int lane = 0; lane < W::kLanes; ++lane) indices.lane[lane] = indices.lane[chosen.lane[lane] ? lane : one];
  }
  const T *from = base + same;
  return wide_lanes<W>([&](int lane) { return lane_element<typename W::Element>(from[int64_t(indices.lane[lane])]); });
}
template <class T, class N, int B, int G>
HIDP_INLINE Wide<T, B, G> wide_gather(const Mask<B, G> &mask, T *base, int64_t same, const Wide<N, B, G> &index) {
  const Spilled<N, B, G> indices(index);
  return wide_load_lanes(mask, base, [&](int lane) { return same + int64_t(indices.lane[lane]); });
}
template <class T, int B, int G>
HIDP_INLINE void wide_scatter(const Mask<B, G> &mask, T *base, const Wide<int64_t, B, G> &index, const Wide<T, B, G> &value) {
  const Spilled<int64_t, B, G> indices(index);
  wide_store_lanes(mask, base, [&](int lane) { return indices.lane[lane]; }, value);
}
// Each lane's own element of an array that has one for each.
template <class W>
HIDP_INLINE typename W::Element own_lane(const W &value, int lane) {
  if constexpr (W::kIsBits) return -typename W::Element(value.part[lane / W::kPerPart] >> lane % W::kPerPart & 1);
  typename W::Element element;
  __builtin_memcpy(&element, reinterpret_cast<const char *>(&value) + lane * sizeof element, sizeof element);
  return element;
}
template <class W>
HIDP_INLINE void set_own_lane(W &value, int lane, typename W::Element element) {
  if constexpr (W::kIsBits) {
    auto &part = value.part[lane / W::kPerPart];
    const auto bit = typename W::Part(typename W::Part{1} << lane % W::kPerPart);
    part = element != 0 ? part | bit : part & ~bit;
  } else {
    __builtin_memcpy(reinterpret_cast<char *>(&value) + lane * sizeof element, &element, sizeof element);
  }
}
template <class T, class N, int B, int G>
HIDP_INLINE Wide<T, B, G> wide_own(const Mask<B, G> &mask, const Wide<T, B, G> *tile, const Wide<N, B, G> &index) {
  using W = Wide<T, B, G>;
  const Spilled<N, B, G> indices(index);
  alignas(64) typename W::Element values[W::kLanes] = {};
  wide_each(mask, [&](int lane) { values[lane] = own_lane(tile[int64_t(indices.lane[lane])], lane); });
  return wide_of<W>(values);
}
template <class T, class N, int B, int G>
HIDP_INLINE void wide_set_own(const Mask<B, G> &mask, Wide<T, B, G> *tile, const Wide<N, B, G> &index, const Wide<T, B, G> &value) {
  const Spilled<N, B, G> indices(index);
  const Spilled<T, B, G> values(value);
  wide_each(mask, [&](int lane) { set_own_lane(tile[int64_t(indices.lane[lane])], lane, values.lane[lane]); });
}

HIDP_NAMESPACE_END

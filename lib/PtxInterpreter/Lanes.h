//===- Lanes.h - convert a function of scalars to an instruction of a warp -----------===//
//
// map<uint32_t, uint32_t, uint32_t>([](uint32_t a, uint32_t b) { return a + b; }) is the handler of add.u32. If a
// function has an additional first parameter, it receives the modifiers.
//
//===----------------------------------------------------------------------===//
#ifndef TILEWRIGHT_LIB_PTXINTERPRETER_LANES_H
#define TILEWRIGHT_LIB_PTXINTERPRETER_LANES_H

#include "lib/PtxInterpreter/Formats.h"
#include "lib/PtxInterpreter/Machine.h"

#include <bit>
#include <tuple>
#include <type_traits>
#include <utility>

namespace tilewright::ptx {

/// Types of operands that map() distinguishes from integers: f16, bf16 and predicates.
enum class Half : uint16_t {};
enum class Bfloat16 : uint16_t {};
enum class Flagged : uint8_t {};

/// Returns the numeric value of `x`.
template <class T> double asNumber(T x) {
  if constexpr (std::is_same_v<T, Half>)
    return halfToFloat(uint16_t(x));
  else if constexpr (std::is_same_v<T, Bfloat16>)
    return bfloat16ToFloat(uint16_t(x));
  else
    return double(x);
}

template <class T> using Cell = std::conditional_t<sizeof(T) <= 4, uint32_t, uint64_t>;

template <class T> T fromCell(Cell<T> cell) {
  if constexpr (sizeof(T) == 1)
    return std::bit_cast<T>(uint8_t(cell));
  else if constexpr (sizeof(T) == 2)
    return std::bit_cast<T>(uint16_t(cell));
  else
    return std::bit_cast<T>(cell);
}
template <class T> Cell<T> toCell(T value) {
  if constexpr (sizeof(T) == 1)
    return std::bit_cast<uint8_t>(value);
  else if constexpr (sizeof(T) == 2)
    return std::bit_cast<uint16_t>(value);
  else
    return std::bit_cast<Cell<T>>(value);
}

template <class F, class R, class... A, size_t... I>
void eachLane(Exec &e, const Instr &in, std::index_sequence<I...>) {
  Cell<R> *result = e.row<Cell<R>>(in, 0);
  auto sources = std::make_tuple(static_cast<const Cell<A> *>(e.row<Cell<A>>(in, 1 + I))...);
  auto one = [&](uint32_t lane) -> Cell<R> {
    if constexpr (std::is_invocable_v<F, uint32_t, A...>)
      return toCell<R>(F{}(in.mods, fromCell<A>(std::get<I>(sources)[lane])...));
    else
      return toCell<R>(F{}(fromCell<A>(std::get<I>(sources)[lane])...));
  };
  if (e.mask == ~0u) {
    Cell<R> made[kLanes];
    for (uint32_t lane = 0; lane < kLanes; ++lane)
      made[lane] = one(lane);
    std::memcpy(result, made, sizeof made);
    return;
  }
  for (uint32_t rest = e.mask; rest; rest &= rest - 1) {
    uint32_t lane = uint32_t(std::countr_zero(rest));
    result[lane] = one(lane);
  }
}

template <class R, class... A, class F> Handler map(F) {
  return [](Exec &e, const Instr &in) { eachLane<F, R, A...>(e, in, std::index_sequence_for<A...>{}); };
}

/// Calls f(lane) for each lane in `mask`, the lowest lane first.
template <class F> void forLanes(uint32_t mask, F f) {
  for (; mask; mask &= mask - 1)
    f(uint32_t(std::countr_zero(mask)));
}

} // namespace tilewright::ptx

#endif

//===- ConvertOps.cpp - cvt between numbers ------------------------------------------------------------===//
//
// Conversions from floating-point types to integers round and then clamp to the integer's range. NaN becomes 0 or, if
// the source or the result has 64 bits, the integer in which only the highest bit is set. Conversions between integers
// wrap around, or clamp with .sat. Conversions to floating-point types round as the instruction specifies.
//
//===----------------------------------------------------------------------===//
#include "lib/PtxInterpreter/Formats.h"
#include "lib/PtxInterpreter/Lanes.h"
#include "lib/PtxInterpreter/Table.h"

#include <limits>

namespace tilewright::ptx {
namespace {

template <class T> constexpr bool kIsInteger = std::is_integral_v<T>;

/// Rounds to an integral value.
double whole(double x, uint32_t mods) {
  switch (Round(mods & ModRound)) {
  case Round::Zero:
    return std::trunc(x);
  case Round::Down:
    return std::floor(x);
  case Round::Up:
    return std::ceil(x);
  default:
    return std::nearbyint(x);
  }
}
template <class D, class S> D toInteger(uint32_t mods, S source) {
  double x = asNumber(source);
  if (mods & ModFtz && std::is_same_v<S, float>)
    x = flushed(float(x));
  if (x != x)
    return sizeof(D) == 8 || sizeof(S) == 8 ? D(uint64_t(1) << (8 * sizeof(D) - 1)) : D(0);
  x = whole(x, mods);
  double low = double(std::numeric_limits<D>::min()),
         high = std::ldexp(1.0, int(8 * sizeof(D)) - (std::is_signed_v<D> ? 1 : 0));
  if (x < low)
    return std::numeric_limits<D>::min();
  if (x >= high)
    return std::numeric_limits<D>::max();
  return D(x);
}
/// Converts a number to double. A 64-bit integer is rounded to odd; other numbers are exact.
template <class S> double exactOrOdd(S source) {
  if constexpr (kIsInteger<S> && sizeof(S) == 8) {
    uint64_t magnitude = source < 0 ? 0 - uint64_t(source) : uint64_t(source);
    int shift = std::max(0, 64 - std::countl_zero(magnitude) - 53);
    uint64_t kept = magnitude >> shift;
    if (shift && magnitude & ((uint64_t(1) << shift) - 1))
      kept |= 1;
    double x = std::ldexp(double(kept), shift);
    return source < 0 ? -x : x;
  } else
    return asNumber(source);
}
template <class D, class S> D toFloat(uint32_t mods, S source) {
  double x = exactOrOdd(source);
  if (mods & ModFtz && std::is_same_v<S, float>)
    x = flushed(float(x));
  if (mods & ModHigh) // cvt.rni and similar modifiers round to an integral value in the same format
    x = whole(x, mods);
  if (mods & ModSat)
    x = x > 0 ? std::min(x, 1.0) : 0.0;
  if (mods & ModRelu)
    x = x > 0 ? x : x == x ? 0.0 : x;
  Round round = mods & ModHigh ? Round::Near : Round(mods & ModRound);
  if constexpr (std::is_same_v<D, double>) {
    if constexpr (kIsInteger<S> && sizeof(S) == 8) {
      double near = double(source);
      long double exact = static_cast<long double>(source);
      if (round == Round::Near || static_cast<long double>(near) == exact)
        return near;
      bool above = static_cast<long double>(near) > exact;
      bool down = round == Round::Down || (round == Round::Zero && near > 0);
      return above == down ? std::nextafter(near, down ? -INFINITY : INFINITY) : near;
    }
    return x;
  } else if constexpr (std::is_same_v<D, float>) {
    float value = toSingle(x, round);
    return mods & ModFtz ? flushed(value) : value;
  } else if constexpr (std::is_same_v<D, Half>)
    return D(uint16_t(encode(x, kHalf, round, mods & ModFinite)));
  else
    return D(uint16_t(encode(x, kBfloat16, round, mods & ModFinite)));
}
template <class D, class S> D toNarrower(uint32_t mods, S source) {
  using Wide = __int128;
  Wide x = source; // NOLINT(bugprone-signed-char-misuse): a negative number stays negative
  if (mods & ModSat)
    return D(std::min<Wide>(std::max<Wide>(x, std::numeric_limits<D>::min()), std::numeric_limits<D>::max()));
  return D(x);
}

/// The register type for an integer of type D. Integers of fewer than 32 bits are extended to 32 bits.
template <class D>
using Kept = std::conditional_t<sizeof(D) >= 4, D, std::conditional_t<std::is_signed_v<D>, int32_t, uint32_t>>;

enum class Way { Integers, ToInteger, Widen, Same, Narrow };

/// Adds the opcodes of one pair of types. This function is not a template, to avoid an instantiation for each of 144
/// pairs.
void addOpcodes(Table &table, Way way, const std::string &types, const std::string &signature, Handler run) {
  auto add = [&](const std::string &middle, uint32_t mods) {
    table.add("cvt" + middle + types, signature.c_str(), run, mods);
  };
  std::initializer_list<Choice> rounds = {
      {".rn", 0}, {".rz", uint32_t(Round::Zero)}, {".rm", uint32_t(Round::Down)}, {".rp", uint32_t(Round::Up)}};
  std::initializer_list<Choice> wholes = {
      {".rni", 0}, {".rzi", uint32_t(Round::Zero)}, {".rmi", uint32_t(Round::Down)}, {".rpi", uint32_t(Round::Up)}};
  std::initializer_list<Choice> flush = {{"", 0}, {".ftz", ModFtz}}, saturate = {{"", 0}, {".sat", ModSat}};
  switch (way) {
  case Way::Integers:
    add("", 0);
    add(".sat", ModSat);
    return;
  case Way::ToInteger:
    return combine("", {wholes, flush, saturate}, "", add);
  case Way::Same: // if ModHigh is set, the conversion rounds to an integral value
    combine("", {wholes, flush, saturate}, "",
            [&](const std::string &middle, uint32_t mods) { add(middle, mods | ModHigh); });
    [[fallthrough]];
  case Way::Widen:
    return combine("", {flush, saturate}, "", add);
  case Way::Narrow:
    return combine("",
                   {rounds,
                    flush,
                    {{"", 0},
                     {".sat", ModSat},
                     {".relu", ModRelu},
                     {".satfinite", ModFinite},
                     {".relu.satfinite", ModRelu | ModFinite},
                     {".satfinite.relu", ModRelu | ModFinite}}},
                   "", add);
  }
}

template <class D, class S> void addPair(Table &table, const std::string &dtype, const std::string &stype) {
  std::string signature = std::string(1, sizeof(D) == 8 ? 'd' : 'v') + "=" + (sizeof(S) == 8 ? 'd' : 'n');
  Way way = kIsInteger<D> && kIsInteger<S>            ? Way::Integers
            : kIsInteger<D>                           ? Way::ToInteger
            : std::is_same_v<D, S>                    ? Way::Same
            : !kIsInteger<S> && sizeof(D) > sizeof(S) ? Way::Widen
                                                      : Way::Narrow;
  Handler run;
  if constexpr (kIsInteger<D> && kIsInteger<S>)
    run = map<Kept<D>, S>([](uint32_t m, S a) { return Kept<D>(toNarrower<D, S>(m, a)); });
  else if constexpr (kIsInteger<D>)
    run = map<Kept<D>, S>([](uint32_t m, S a) { return Kept<D>(toInteger<D, S>(m, a)); });
  else
    run = map<D, S>([](uint32_t m, S a) { return toFloat<D, S>(m, a); });
  addOpcodes(table, way, dtype + stype, signature, run);
}

template <class D> void addTo(Table &table, const std::string &dtype) {
  addPair<D, uint8_t>(table, dtype, ".u8");
  addPair<D, int8_t>(table, dtype, ".s8");
  addPair<D, uint16_t>(table, dtype, ".u16");
  addPair<D, int16_t>(table, dtype, ".s16");
  addPair<D, uint32_t>(table, dtype, ".u32");
  addPair<D, int32_t>(table, dtype, ".s32");
  addPair<D, uint64_t>(table, dtype, ".u64");
  addPair<D, int64_t>(table, dtype, ".s64");
  addPair<D, Half>(table, dtype, ".f16");
  addPair<D, Bfloat16>(table, dtype, ".bf16");
  addPair<D, float>(table, dtype, ".f32");
  addPair<D, double>(table, dtype, ".f64");
}

} // namespace

void addConvertForms(Table &table) {
  addTo<uint8_t>(table, ".u8");
  addTo<int8_t>(table, ".s8");
  addTo<uint16_t>(table, ".u16");
  addTo<int16_t>(table, ".s16");
  addTo<uint32_t>(table, ".u32");
  addTo<int32_t>(table, ".s32");
  addTo<uint64_t>(table, ".u64");
  addTo<int64_t>(table, ".s64");
  addTo<Half>(table, ".f16");
  addTo<Bfloat16>(table, ".bf16");
  addTo<float>(table, ".f32");
  addTo<double>(table, ".f64");
}

} // namespace tilewright::ptx

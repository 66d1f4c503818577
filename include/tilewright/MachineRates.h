//===- MachineRates.h - the speed of a machine, for cost models --------------------===//
//
//   "f32=157 bf16=1280 f16=1280 int8=2560 l2=80 l3=22 dram=11 task=20 kernel=1000"
//
// The same text is used in the file of a calibration, in the option of the pass that selects schedules, and in the key
// of the object cache. Numbers are rounded to powers of 2^(1/4), so that two measurements of a machine seldom differ.
// Schedules depend on the rates only through this text.
//
//===----------------------------------------------------------------------===//
#ifndef TILEWRIGHT_MACHINERATES_H
#define TILEWRIGHT_MACHINERATES_H

#include <algorithm>
#include <charconv>
#include <cmath>
#include <iterator>
#include <string>
#include <string_view>

namespace tilewright {

/// Rates of one thread, measured while all threads of the machine run the same measurement.
struct MachineRates {
  double f32 = 157, bf16 = 1280, f16 = 1280, int8 = 2560; ///< operations per nanosecond; a multiply-add counts as two
  double l2 = 80, l3 = 22, dram = 11;                     ///< bytes read per nanosecond
  double task = 20;                                       ///< nanoseconds to start an empty task
  double kernel = 1000;                                   ///< nanoseconds from one kernel to the next, with a barrier

  bool operator==(const MachineRates &) const = default;
};

struct RateName {
  std::string_view name;
  double MachineRates::*value;
};

inline constexpr RateName rateNames[] = {
    {"f32", &MachineRates::f32},   {"bf16", &MachineRates::bf16}, {"f16", &MachineRates::f16},
    {"int8", &MachineRates::int8}, {"l2", &MachineRates::l2},     {"l3", &MachineRates::l3},
    {"dram", &MachineRates::dram}, {"task", &MachineRates::task}, {"kernel", &MachineRates::kernel}};

/// Returns the nearest of 1, 1.19, 1.41, 1.68, 2, 2.38, ..., rounded to three digits.
inline double roundRate(double rate) {
  double onGrid = std::exp2(std::round(4 * std::log2(std::max(rate, 1.0))) / 4);
  double digit = std::pow(10, std::floor(std::log10(onGrid)) - 2);
  return std::max(1.0, std::round(std::round(onGrid / digit) * digit * 100) / 100);
}

/// Returns the text of all rates, rounded.
inline std::string printRates(const MachineRates &rates) {
  std::string text;
  for (const RateName &row : rateNames) {
    char number[32];
    auto end = std::to_chars(number, number + sizeof number, roundRate(rates.*row.value)).ptr;
    text += (text.empty() ? "" : " ") + std::string(row.name) + "=" + std::string(number, end);
  }
  return text;
}

/// Reads the rates that `text` names, and leaves all other rates unchanged. Returns false for an unknown name, or a
/// value that is not a number from 1 to 1e9.
inline bool parseRates(std::string_view text, MachineRates &rates) {
  while (!text.empty()) {
    size_t end = std::min(text.find(' '), text.size()), equals = text.find('=');
    if (equals >= end)
      return false;
    double value = 0;
    auto parsed = std::from_chars(text.data() + equals + 1, text.data() + end, value);
    const RateName *row = std::begin(rateNames);
    while (row != std::end(rateNames) && row->name != text.substr(0, equals))
      ++row;
    if (row == std::end(rateNames) || parsed.ec != std::errc() || parsed.ptr != text.data() + end ||
        !(value >= 1 && value <= 1e9))
      return false;
    rates.*row->value = value;
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return true;
}

} // namespace tilewright

#endif

//===- Ranges.cpp - ranges of the integers of fixed-point values --------------------===//
#include "lib/Graph/Fixed/Ranges.h"
#include <cmath>

namespace tilewright::fixed {

int Range::bits() const {
  int bits = 1;
  while (!ofBits(bits).holds(*this))
    ++bits;
  return bits;
}

Range operator+(Range a, Range b) { return {a.low + b.low, a.high + b.high}; }
Range operator-(Range a, Range b) { return {a.low - b.high, a.high - b.low}; }
Range operator*(Range a, Range b) {
  const Wide corners[] = {a.low * b.low, a.low * b.high, a.high * b.low, a.high * b.high};
  return {*std::min_element(corners, corners + 4), *std::max_element(corners, corners + 4)};
}
Range shifted(Range a, int by) {
  // Ranges are clamped to this bit width, so that the shift does not overflow Wide. Results of more than 63 bits are
  // refused later.
  constexpr int most = 100;
  if (a.bits() + by > most)
    return Range::ofBits(most);
  return {a.low * (Wide(1) << by), a.high * (Wide(1) << by)};
}

Range rangeOf(const Format &format) {
  Range range = Range::ofBits(format.width);
  if (format.overflow == Overflow::SatSym)
    range.low = -range.high;
  return range;
}

Wide roundedShift(Wide value, int by, Rounding rounding) {
  if (by <= 0)
    return value;
  const Wide half = Wide(1) << (by - 1), whole = value >> by;
  const bool negative = value < 0;
  switch (rounding) {
  case Rounding::Trn:
    return whole;
  case Rounding::TrnZero:
    return (value + (negative ? 2 * half - 1 : 0)) >> by;
  case Rounding::Rnd:
    return (value + half) >> by;
  case Rounding::RndMinInf:
    return (value + half - 1) >> by;
  case Rounding::RndInf:
    return (value + half - negative) >> by;
  case Rounding::RndZero:
    return (value + half - 1 + negative) >> by;
  case Rounding::RndConv:
    return (value + half - 1 + (whole & 1)) >> by;
  }
  return whole;
}

Quantized quantize(const Known &known, int fraction, int width) {
  Quantized made;
  made.fraction = fraction;
  // A weight without a given width has the width that its elements need, up to 62 bits, which suffice for all callers.
  const Range fits = Range::ofBits(width ? width : 62);
  bool first = true;
  for (double element : known.elements) {
    const double scaled = std::nearbyint(std::ldexp(element, fraction));
    // Compare as doubles, because a double outside of the range may not fit in the integer type.
    Wide integer = scaled >= double(fits.high) ? fits.high : scaled <= double(fits.low) ? fits.low : Wide(scaled);
    made.saturates |= scaled > double(fits.high) || scaled < double(fits.low);
    made.integers.push_back(int64_t(integer));
    made.range = first ? Range{integer, integer} : made.range.with({integer, integer});
    first = false;
    made.error = std::max(made.error, std::fabs(element - std::ldexp(double(integer), -fraction)));
  }
  made.width = width ? width : made.range.bits();
  return made;
}

int fractionFor(const Known &known, int width) {
  double largest = 0;
  for (double element : known.elements)
    largest = std::max(largest, std::fabs(element));
  if (largest == 0)
    return width - 1;
  int fraction = 2 * width;
  const double limit = double(Range::ofBits(width).high);
  while (std::nearbyint(std::ldexp(largest, fraction)) > limit)
    --fraction;
  return fraction;
}

SumRange sumOfProducts(const Known &known, const Quantized &weights, int64_t results,
                       llvm::function_ref<int64_t(int64_t)> resultOf, Range input, double inputUnit,
                       double inputError) {
  std::vector<Range> sums(results);
  std::vector<double> errors(results, 0.0);
  const double unit = std::ldexp(1.0, -weights.fraction);
  const double largest = double(input.magnitude()) * inputUnit + inputError;
  for (int64_t i = 0; i < int64_t(weights.integers.size()); ++i) {
    const int64_t result = resultOf(i), weight = weights.integers[i];
    const Range product = Range{weight, weight} * input.with({0, 0});
    sums[result] = sums[result] + product;
    const double kept = double(weight) * unit;
    errors[result] += std::fabs(kept) * inputError + std::fabs(known.elements[i] - kept) * largest;
  }
  SumRange all;
  for (int64_t result = 0; result < results; ++result) {
    all.range = all.range.with(sums[result]);
    all.error = std::max(all.error, errors[result]);
  }
  return all;
}

} // namespace tilewright::fixed

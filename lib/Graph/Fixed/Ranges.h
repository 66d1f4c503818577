//===- Ranges.h - between which integers a value lies -------------------------------===//
//
// All of it is exact: a range of integers that stand for value * 2^fraction. What cannot overflow is proved by these,
// from the formats of the inputs and the elements of the weights.
//
//===----------------------------------------------------------------------===//
#ifndef TILEWRIGHT_GRAPH_FIXED_RANGES_H
#define TILEWRIGHT_GRAPH_FIXED_RANGES_H

#include "lib/Graph/Fixed/Formats.h"
#include "lib/Graph/Fixed/Known.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace tilewright::fixed {

__extension__ typedef __int128 Wide;

struct Range {
  Wide low = 0, high = 0;

  static Range ofBits(int bits) { return {-(Wide(1) << (bits - 1)), (Wide(1) << (bits - 1)) - 1}; }
  /// Bits of the narrowest signed integer that holds all of it.
  int bits() const;
  Wide magnitude() const { return std::max(-low, high); }
  bool holds(Range other) const { return low <= other.low && other.high <= high; }
  Range with(Range other) const { return {std::min(low, other.low), std::max(high, other.high)}; }
};

Range operator+(Range a, Range b);
Range operator-(Range a, Range b);
Range operator*(Range a, Range b);
/// Of a * 2^by.
Range shifted(Range a, int by);

/// What a format's integers may be: of SatSym one fewer.
Range rangeOf(const Format &format);
/// `value` without its last `by` bits, rounded.
Wide roundedShift(Wide value, int by, Rounding rounding);

/// Elements of a weight as integers * 2^-fraction.
struct Quantized {
  std::vector<int64_t> integers;
  int width = 0, fraction = 0;
  Range range;
  double error = 0;       ///< the largest difference of an element
  bool saturates = false; ///< an element lies outside the format
};

/// To the nearest integers, ties to even; `width` bits or, where that is 0, as many as they take.
Quantized quantize(const Known &known, int fraction, int width);
/// The most bits behind the point with which `width` bits hold every element.
int fractionFor(const Known &known, int width);

/// Sums of products of an input in `input` with the weights that one result sees. `resultOf` says which of `results`
/// an element belongs to.
struct SumRange {
  Range range;      ///< of all results, and of 0, from which sums start
  double error = 0; ///< the most that a result is off, in real numbers
};
SumRange sumOfProducts(const Known &known, const Quantized &weights, int64_t results,
                       llvm::function_ref<int64_t(int64_t)> resultOf, Range input, double inputUnit, double inputError);

} // namespace tilewright::fixed

#endif

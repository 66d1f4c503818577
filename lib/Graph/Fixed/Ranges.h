//===- Ranges.h - ranges of the integers of fixed-point values ----------------------===//
//
// An integer i represents the number i * 2^-fraction. A range is a range of such integers, so its bounds are exact.
// Ranges are derived from the formats of the inputs and the elements of the weights, and prove which values cannot
// overflow.
//
//===----------------------------------------------------------------------===//
#ifndef TILEWRIGHT_LIB_GRAPH_FIXED_RANGES_H
#define TILEWRIGHT_LIB_GRAPH_FIXED_RANGES_H

#include "lib/Graph/Fixed/Formats.h"
#include "lib/Graph/Fixed/Known.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace tilewright::fixed {

__extension__ typedef __int128 Wide;

struct Range {
  Wide low = 0, high = 0;

  static Range ofBits(int bits) { return {-(Wide(1) << (bits - 1)), (Wide(1) << (bits - 1)) - 1}; }
  /// Returns the minimum bit width of a signed integer that can represent the whole range.
  int bits() const;
  Wide magnitude() const { return std::max(-low, high); }
  bool holds(Range other) const { return low <= other.low && other.high <= high; }
  Range with(Range other) const { return {std::min(low, other.low), std::max(high, other.high)}; }
};

Range operator+(Range a, Range b);
Range operator-(Range a, Range b);
Range operator*(Range a, Range b);
/// Returns the range of a * 2^by.
Range shifted(Range a, int by);

/// Returns the range of a format's integers; with SatSym it has one number fewer.
Range rangeOf(const Format &format);
/// Returns `value` / 2^by, rounded to an integer. If `by` is not positive, returns `value`.
Wide roundedShift(Wide value, int by, Rounding rounding);

/// The elements of a weight as integers * 2^-fraction.
struct Quantized {
  std::vector<int64_t> integers;
  int width = 0, fraction = 0;
  Range range;
  double error = 0;       ///< the largest error of an element
  bool saturates = false; ///< an element is outside of the format
};

/// Multiplies the elements by 2^`fraction` and rounds them to the nearest integers, ties to even. Integers that do not
/// fit in `width` bits are clamped. If `width` is 0, uses as many bits as the elements need, but at most 62.
Quantized quantize(const Known &known, int fraction, int width);
/// Returns the largest number of fractional bits, up to 2 * `width`, for which the rounded magnitude of every element
/// fits in a signed integer of `width` bits. Returns `width` - 1 if all elements are 0.
int fractionFor(const Known &known, int width);

/// The range of the results of a product with constant weights, which sumOfProducts() returns. Each result is a sum of
/// products of a weight and an input. The inputs are integers in the range `input` times `inputUnit`, and their error
/// is at most `inputError`. `resultOf` maps the index of a weight to the index of the result that uses the weight.
struct SumRange {
  Range range;      ///< includes all results, and 0, from which sums start
  double error = 0; ///< the largest error of a result, in real numbers
};
SumRange sumOfProducts(const Known &known, const Quantized &weights, int64_t results,
                       llvm::function_ref<int64_t(int64_t)> resultOf, Range input, double inputUnit, double inputError);

} // namespace tilewright::fixed

#endif

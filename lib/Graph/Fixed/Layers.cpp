//===- Layers.cpp - results of range analysis for each rounding ----------------------===//
#include "lib/Graph/Fixed/Layers.h"
#include "lib/Interfaces/NumberText.h"
#include "llvm/Support/FormatVariadic.h"
#include <cmath>

using namespace mlir;

namespace tilewright::fixed {
namespace {

/// Returns "cannot overflow", or the effect of an overflow and the range outside of which it occurs.
std::string verdictOf(const Number &exact, const Format &format, int needed) {
  // A value that is rounded up to the largest number of the format does not overflow.
  const int by = exact.fraction - format.fraction();
  const Range allowed = rangeOf(format);
  auto rounded = [&](Wide value) {
    return by > 0 ? roundedShift(value, by, format.rounding) : shifted({value, value}, -by).low;
  };
  if (allowed.low <= rounded(exact.range.low) && rounded(exact.range.high) <= allowed.high)
    return "cannot overflow";
  static constexpr StringLiteral happens[] = {"wraps around", "saturates", "becomes 0", "saturates"};
  const double unit = std::ldexp(1.0, -format.fraction());
  return "needs " + std::to_string(needed) + " integer bits, has " + std::to_string(format.integer) + ": " +
         happens[size_t(format.overflow)].str() +
         numberText(" outside of %.4f to %.4f", double(allowed.low) * unit, double(allowed.high) * unit);
}

} // namespace

Attribute describeRounding(Builder &builder, const Number &exact, const Number &result, const Format &format,
                           StringRef line) {
  const int needed = exact.range.bits() - exact.fraction;
  auto text = [&](StringRef key, const Twine &value) {
    return builder.getNamedAttr(key, builder.getStringAttr(value));
  };
  auto count = [&](StringRef key, int64_t value) {
    return builder.getNamedAttr(key, builder.getI64IntegerAttr(value));
  };
  return builder.getDictionaryAttr({text("layer", exact.layer), text("where", line), text("format", format.cppType()),
                                    count("bits", exact.width()), count("fraction", exact.fraction),
                                    count("needs", needed), count("has", format.integer),
                                    text("verdict", verdictOf(exact, format, needed)),
                                    builder.getNamedAttr("error", builder.getF64FloatAttr(result.error))});
}

Attribute describeWeight(Builder &builder, StringRef name, const Format &format) {
  auto text = [&](StringRef key, const Twine &value) {
    return builder.getNamedAttr(key, builder.getStringAttr(value));
  };
  return builder.getDictionaryAttr({text("layer", name), text("where", ""), text("format", format.cppType()),
                                    text("verdict", "elements of the weight saturate")});
}

} // namespace tilewright::fixed

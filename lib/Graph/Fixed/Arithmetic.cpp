//===- Arithmetic.cpp - fixed-point arithmetic as ops of the graph -------------------===//
#include "lib/Graph/Fixed/Arithmetic.h"
#include <cmath>

using namespace mlir;

namespace tilewright::fixed {

int Number::width() const { return getElementTypeOrSelf(value.getType()).getIntOrFloatBitWidth(); }
double Number::unit() const { return std::ldexp(1.0, -fraction); }

RankedTensorType Arithmetic::typed(Type shape, int width) {
  return graph::withElementType(cast<RankedTensorType>(shape), builder.getIntegerType(width));
}

Value Arithmetic::scalar(int width, Wide value) {
  auto type = RankedTensorType::get({}, builder.getIntegerType(width));
  const APInt number(128, {uint64_t(value), uint64_t(value >> 64)});
  return graph::ConstantOp::create(builder, loc, type,
                                   cast<TypedAttr>(DenseElementsAttr::get(type, number.trunc(width))));
}

Value Arithmetic::resized(Value value, int width) {
  RankedTensorType type = typed(value.getType(), width);
  if (type == value.getType())
    return value;
  // A constant is emitted in the width in which it is read, so that no conversion is needed.
  if (auto constant = value.getDefiningOp<graph::ConstantOp>()) {
    auto elements = cast<DenseElementsAttr>(constant.getValue());
    DenseElementsAttr wide =
        elements.mapValues(type.getElementType(), [&](const APInt &x) { return x.sextOrTrunc(width); });
    return graph::ConstantOp::create(builder, constant.getLoc(), type, cast<TypedAttr>(wide));
  }
  return graph::CastOp::create(builder, loc, type, value);
}

template <typename Op> Value Arithmetic::with(Value value, Wide constant) {
  const int width = getElementTypeOrSelf(value.getType()).getIntOrFloatBitWidth();
  return Op::create(builder, loc, value.getType(), value, scalar(width, constant));
}

Number Arithmetic::constant(const Known &known, const Quantized &quantized) {
  auto type = RankedTensorType::get(known.shape, builder.getIntegerType(quantized.width));
  SmallVector<APInt> elements;
  for (int64_t integer : quantized.integers)
    elements.emplace_back(quantized.width, uint64_t(integer), /*isSigned=*/true);
  Location at = known.name.empty() ? loc : Location(NameLoc::get(builder.getStringAttr(known.name), loc));
  Number number;
  number.value = graph::ConstantOp::create(builder, at, type, cast<TypedAttr>(DenseElementsAttr::get(type, elements)));
  number.fraction = quantized.fraction;
  number.range = quantized.range;
  number.error = quantized.error;
  return number;
}

Number Arithmetic::aligned(const Number &number, int fraction, int width) {
  Number result = number;
  const int by = fraction - number.fraction;
  result.fraction = fraction;
  result.range = shifted(number.range, by);
  result.value = resized(number.value, std::max({number.width(), result.range.bits(), width}));
  if (by > 0)
    result.value = with<graph::ShiftLeftOp>(result.value, by);
  return result;
}

namespace {
/// The ranges of two numbers, aligned to the same number of fractional bits.
struct Pair {
  Pair(const Number &a, const Number &b)
      : fraction(std::max(a.fraction, b.fraction)), left(shifted(a.range, fraction - a.fraction)),
        right(shifted(b.range, fraction - b.fraction)),
        width(std::max({a.width(), b.width(), left.bits(), right.bits()})) {}
  int fraction;
  Range left, right;
  int width; ///< bit width that is sufficient for both numbers
};
} // namespace

Number Arithmetic::add(const Number &a, const Number &b, RankedTensorType shape, bool subtract) {
  const Pair pair(a, b);
  Number result = a;
  result.fraction = pair.fraction;
  result.range = subtract ? pair.left - pair.right : pair.left + pair.right;
  result.error = a.error + b.error;
  result.exact = true;
  const int width = std::max(result.range.bits(), pair.width);
  Value x = aligned(a, pair.fraction, width).value, y = aligned(b, pair.fraction, width).value;
  RankedTensorType type = typed(shape, width);
  result.value = subtract ? graph::SubOp::create(builder, loc, type, x, y).getResult()
                          : graph::AddOp::create(builder, loc, type, x, y).getResult();
  return result;
}

Number Arithmetic::multiply(const Number &a, const Number &b, RankedTensorType shape) {
  Number result = a;
  result.fraction = a.fraction + b.fraction;
  result.range = a.range * b.range;
  const double left = double(a.range.magnitude()) * a.unit(), right = double(b.range.magnitude()) * b.unit();
  result.error = left * b.error + right * a.error + a.error * b.error;
  result.exact = true;
  const int width = std::max({result.range.bits(), a.width(), b.width()});
  result.value =
      graph::MulOp::create(builder, loc, typed(shape, width), resized(a.value, width), resized(b.value, width));
  return result;
}

Number Arithmetic::extreme(const Number &a, const Number &b, RankedTensorType shape, bool largest) {
  const Pair pair(a, b);
  const Range left = pair.left, right = pair.right;
  Number result = a;
  result.fraction = pair.fraction;
  result.range = largest ? Range{std::max(left.low, right.low), std::max(left.high, right.high)}
                         : Range{std::min(left.low, right.low), std::min(left.high, right.high)};
  result.error = std::max(a.error, b.error);
  result.exact = a.exact || b.exact || a.fraction != b.fraction;
  Value x = aligned(a, pair.fraction, pair.width).value, y = aligned(b, pair.fraction, pair.width).value;
  RankedTensorType type = typed(shape, pair.width);
  result.value = largest ? graph::MaximumOp::create(builder, loc, type, x, y).getResult()
                         : graph::MinimumOp::create(builder, loc, type, x, y).getResult();
  return result;
}

Value Arithmetic::inRange(Value value, Range range, Range format, Overflow overflow) {
  if (overflow == Overflow::SatZero) {
    RankedTensorType type = cast<RankedTensorType>(value.getType()), flags = typed(type, 1);
    const int width = type.getElementTypeBitWidth();
    Value below = graph::LtOp::create(builder, loc, flags, value, scalar(width, format.low));
    Value above = graph::GtOp::create(builder, loc, flags, value, scalar(width, format.high));
    Value outside = graph::LogicalOrOp::create(builder, loc, flags, below, above);
    return graph::WhereOp::create(builder, loc, type, outside, scalar(width, 0), value);
  }
  if (range.high > format.high)
    value = with<graph::MinimumOp>(value, format.high);
  if (range.low < format.low)
    value = with<graph::MaximumOp>(value, format.low);
  return value;
}

Number Arithmetic::rounded(const Number &number, const Format &format) {
  const int by = number.fraction - format.fraction();
  Number result = by < 0 ? aligned(number, format.fraction(), 0) : number;
  if (by > 0) {
    const Wide half = Wide(1) << (by - 1);
    // For rounding, at most one unit of the result is added before the shift, and the sum must fit.
    const Range sum = number.range.with(number.range + Range{0, 2 * half});
    const int width = std::max({sum.bits(), number.width(), Range{0, by}.bits()});
    Value x = resized(number.value, width);
    auto sign = [&] { return with<graph::ShiftRightOp>(x, width - 1); }; // -1 for negative numbers, otherwise 0
    auto added = [&](Value y) { return graph::AddOp::create(builder, loc, x.getType(), x, y).getResult(); };
    switch (format.rounding) {
    case Rounding::Trn:
      break;
    case Rounding::TrnZero:
      x = added(with<graph::BitwiseAndOp>(sign(), 2 * half - 1));
      break;
    case Rounding::Rnd:
      x = with<graph::AddOp>(x, half);
      break;
    case Rounding::RndMinInf:
      x = with<graph::AddOp>(x, half - 1);
      break;
    case Rounding::RndInf:
      x = with<graph::AddOp>(added(sign()), half);
      break;
    case Rounding::RndZero: {
      Value less = graph::SubOp::create(builder, loc, x.getType(), x, sign());
      x = with<graph::AddOp>(less, half - 1);
      break;
    }
    case Rounding::RndConv:
      x = with<graph::AddOp>(added(with<graph::BitwiseAndOp>(with<graph::ShiftRightOp>(x, by), 1)), half - 1);
      break;
    }
    result.value = with<graph::ShiftRightOp>(x, by);
    result.range = {roundedShift(number.range.low, by, format.rounding),
                    roundedShift(number.range.high, by, format.rounding)};
    const bool toNearest = format.rounding != Rounding::Trn && format.rounding != Rounding::TrnZero;
    result.error += std::ldexp(toNearest ? 0.5 : 1.0, -format.fraction());
  }
  const Range allowed = rangeOf(format);
  if (!allowed.holds(result.range)) {
    // The width must also be sufficient for the limits of the format.
    const int width = std::max({result.range.bits(), result.width(), format.width});
    Value x = resized(result.value, width);
    if (format.overflow != Overflow::Wrap)
      x = inRange(x, result.range, allowed, format.overflow);
    result.value = x;
    result.range = format.overflow == Overflow::Sat || format.overflow == Overflow::SatSym
                       ? Range{std::clamp(result.range.low, allowed.low, allowed.high),
                               std::clamp(result.range.high, allowed.low, allowed.high)}
                       : allowed;
  }
  result.value = resized(result.value, format.width);
  result.fraction = format.fraction();
  result.exact = false;
  return result;
}

} // namespace tilewright::fixed

//===- ExpandMathLog.cpp - logarithms in f32 -------------------------------------===//
//
//   log(x) = e ln 2 + log(1 + f), x = 2^e (1 + f), 1 + f in [sqrt(1/2), sqrt(2))
//
// With this reduction, e is 0 near 1, and the result has full relative precision there. Coefficients come from
// tools/dev/fit_polynomials.py.
//
// Tests: test/Codegen/CPU/MicroKernels/expand-math.mlir, test/Unit/Codegen/Common
//
//===----------------------------------------------------------------------===//
#include "lib/Codegen/Common/Math/ExpandMath.h"

using namespace mlir;

namespace tilewright::cpu {
namespace {

constexpr uint64_t rootHalfBits = 0x3f3504f3; // sqrt(1/2)
constexpr double smallestNormal = 0x1p-126;

struct BaseConstants {
  double scale;        ///< 1 / ln(base)
  double high, low;    ///< log_base(2) in two parts
  double one, oneLeft; ///< scale in two parts
};

BaseConstants constantsOf(LogBase base) {
  constexpr double ln2 = 0.693147180559945309417, log10Two = 0.301029995663981195214;
  double scale = base == LogBase::E ? 1.0 : base == LogBase::Two ? 1 / ln2 : log10Two / ln2;
  double two = base == LogBase::E ? ln2 : base == LogBase::Two ? 1.0 : log10Two;
  double high = float(two), one = float(scale);
  return {scale, high, two - high, one, scale - one};
}

/// Returns e log_b(2) + log_b(1 + f). Small terms are summed first.
Lanes combine(Lanes e, Lanes f, LogBase base) {
  BaseConstants c = constantsOf(base);
  SmallVector<double> tail{-0.5,        0.333333313,  -0.250008196, 0.200012416,  -0.166234091,
                           0.142015815, -0.131596133, 0.127621993,  -0.0763639957};
  for (double &each : tail)
    each *= c.scale;
  Lanes rest = base == LogBase::Two ? f * c.oneLeft : e * c.low;
  if (base == LogBase::Ten)
    rest = fma(f, c.oneLeft, rest);
  rest = fma(f * f, polynomial(f, tail), rest);
  Lanes near = base == LogBase::E ? f + rest : fma(f, c.one, rest);
  return fma(e, c.high, near);
}

} // namespace

Lanes logWithSpecials(Lanes x, Lanes result) {
  result = select(less(x, INFINITY), result, x); // the logarithm of infinity is infinity, and of NaN is NaN
  Lanes outside = select(equal(x, 0.0), x.number(-INFINITY), NAN);
  return select(greater(x, 0.0), result, outside);
}

Lanes expandLog(Lanes x, LogBase base) {
  Lanes isDenormal = less(x, smallestNormal);
  Lanes normal = select(isDenormal, x * 0x1p23, x);
  Lanes bits = normal.asInteger();
  Lanes offset = bits - bits.integer(rootHalfBits);
  Lanes e = shiftRight(offset, 23);
  e = e.make<arith::SIToFPOp>(x.type(), e.value);
  e = select(isDenormal, e - 23.0, e);
  Lanes f = ((offset & 0x7fffff) + bits.integer(rootHalfBits)).asFloat() - 1.0;
  return logWithSpecials(x, combine(e, f, base));
}

// e is the exponent of the rounded 1 + x, but f = 2^-e (1 + x) - 1 is computed from the exact 1 + x. The smallest 2^-e,
// 2^-128, is a denormal number, so it is computed as 2^-126 / 4.
Lanes expandLog1p(Lanes x) {
  Lanes sum = x + 1.0, bits = sum.asInteger();
  Lanes offset = bits - bits.integer(rootHalfBits);
  Lanes e = shiftRight(offset, 23);
  e = e.make<arith::SIToFPOp>(x.type(), e.value);
  Lanes scale = (bits.integer(0x40800000) - (offset & 0xff800000)).asFloat() * 0.25;
  Lanes f = fma(x, scale, scale - 1.0);
  return copySign(logWithSpecials(sum, combine(e, f, LogBase::E)), x);
}

} // namespace tilewright::cpu

//===- ExpandMath64Log.cpp - logarithms of f64 and functions based on them --------===//
//
//   log(x) = e ln 2 + log(1 + f), x = 2^e (1 + f), 1 + f in [sqrt(1/2), sqrt(2))
//   log(1 + f) = f - h + s (h + z p(z)), h = f^2 / 2, s = f / (f + 2), z = s^2
//
// The second formula is derived from log((1 + s) / (1 - s)) = 2 s + s^3 p(s^2). Its largest term, f, is exact.
// Coefficients come from tools/dev/fit_polynomials.py (log_53).
//
// Tests: test/Codegen/CPU/MicroKernels/expand-math.mlir, test/Unit/Codegen/Common
//
//===----------------------------------------------------------------------===//
#include "lib/Codegen/Common/Math/ExpandMath64.h"

using namespace mlir;

namespace tilewright::cpu::f64 {
namespace {

constexpr uint64_t rootHalfBits = 0x3fe6a09e667f3bcd, mantissaBits = 0x000fffffffffffff;

/// Returns the exponent e of x for `offset`, which is the bits of x minus rootHalfBits.
Lanes exponentOf(Lanes offset) {
  return (shiftRight(offset, 52) + offset.integer(0x4338000000000000)).asFloat() - roundingShift64;
}

/// Returns e log_b(2) + log_b(1 + f).
Lanes combine(Lanes e, Lanes f, LogBase base) {
  Lanes s = f / (f + 2.0), z = s * s, h = f * f * 0.5;
  Lanes p = polynomial(z, {0.66666666666666696, 0.39999999999899449, 0.28571428626001449, 0.22222211130557901,
                           0.1818288943391754, 0.1533171134232183, 0.14616576467144007});
  Lanes rest = s * fma(z, p, h);
  if (base == LogBase::E)
    return fma(e, ln2High, f - (h - fma(e, ln2Low, rest)));
  Lanes natural = f - (h - rest);
  if (base == LogBase::Two)
    return fma(natural, 1.44269504088896340736, e);
  constexpr double high = 0x1.34413509f79ffp-2, low = -0x1.9dc1da994fd21p-59; // log10(2)
  return fma(e, high, fma(natural, 0.434294481903251827651, e * low));
}

/// For a above this bound, asinh(a) and acosh(a) are log(a) + ln 2. For large a, a^2 would overflow.
constexpr double vast = 0x1p28;

} // namespace

Lanes log(Lanes x, LogBase base) {
  Lanes isDenormal = less(x, 0x1p-1022);
  Lanes normal = select(isDenormal, x * 0x1p54, x);
  Lanes offset = normal.asInteger() - normal.asInteger().integer(rootHalfBits);
  Lanes e = exponentOf(offset);
  e = select(isDenormal, e - 54.0, e);
  Lanes f = ((offset & mantissaBits) + offset.integer(rootHalfBits)).asFloat() - 1.0;
  return logWithSpecials(x, combine(e, f, base));
}

// e is the exponent of the rounded 1 + x, but f = 2^-e (1 + x) - 1 is computed from the exact 1 + x. The smallest 2^-e,
// 2^-1024, is a denormal number, so it is computed as 2^-1022 / 4.
Lanes log1p(Lanes x) {
  Lanes sum = x + 1.0, bits = sum.asInteger();
  Lanes offset = bits - bits.integer(rootHalfBits);
  Lanes scale = (bits.integer(0x4010000000000000) - (offset & ~mantissaBits)).asFloat() * 0.25;
  Lanes f = fma(x, scale, scale - 1.0);
  return copySign(logWithSpecials(sum, combine(exponentOf(offset), f, LogBase::E)), x);
}

// log(a + sqrt(a^2 + 1)) = log1p(a + a^2 / (1 + sqrt(a^2 + 1))).
Lanes asinh(Lanes x) {
  Lanes a = abs(x), isVast = greater(a, vast), square = a * a;
  Lanes more = a + square / (sqrt(square + 1.0) + 1.0);
  Lanes result = log1p(select(isVast, a - 1.0, more)) + select(isVast, a.number(ln2High), 0.0);
  return copySign(result, x);
}

Lanes acosh(Lanes x) {
  Lanes isVast = greater(x, vast), t = x - 1.0;
  Lanes result = log1p(select(isVast, t, t + sqrt(fma(t, t, t * 2.0)))) + select(isVast, x.number(ln2High), 0.0);
  return select(less(x, 1.0), NAN, result);
}

Lanes atanh(Lanes x) {
  Lanes a = abs(x);
  return copySign(log1p((a + a) / (1.0 - a)) * 0.5, x);
}

} // namespace tilewright::cpu::f64

//===- ChebyshevPolynomials.cpp - Chebyshev polynomials -------------------------------===//
//
// Chebyshev polynomials of the first to fourth kind (T, U, V, W) are computed in float64 from arccos(x), or from
// arcosh(|x|) if |x| > 1. The degree n may be a tensor. The shifted polynomials have the argument 2 x - 1.
//
// Test: test/Python/ops/test_special_functions.py
//
//===----------------------------------------------------------------------===//
#include "lib/Import/ATen/SpecialFunctions.h"
#include "lib/Import/ATen/Table.h"

namespace tilewright {
namespace {

using namespace constants;

/// The properties of x and n from which the polynomials are computed.
struct Angles {
  Real inner;     ///< x, clamped to [-1, 1]
  Real angle;     ///< arccos(inner)
  Real outer;     ///< arcosh(|x|), and 0 for |x| < 1
  Real odd;       ///< (-1) ** n
  Real side;      ///< (sign x) ** n
  Condition ends; ///< |x| = 1
};

Angles anglesOf(Real x, Real n) {
  Real inner = clamp(x, -1, 1);
  Real odd = where(remainder(n, 2) == 1, -1.0, 1.0);
  return {inner, acos(inner), acosh(maximum(abs(x), 1)), odd, where(x < 0, odd, 1.0), abs(x) == 1};
}

Real first(Real x, Real n) {
  Angles a = anglesOf(x, n);
  return where(abs(x) <= 1, cos(n * a.angle), a.side * cosh(n * a.outer));
}

Real second(Real x, Real n) {
  Angles a = anglesOf(x, n);
  Real trigonometric = sin((n + 1) * a.angle) / sin(a.angle), hyperbolic = sinh((n + 1) * a.outer) / sinh(a.outer);
  return where(a.ends, a.side * (n + 1), where(abs(x) < 1, trigonometric, a.side * hyperbolic));
}

/// Returns the polynomial of the third kind or, with `fourth`, of the fourth kind. W(x) is (-1) ** n V(-x).
template <bool fourth> Real third(Real x, Real n) {
  Angles a = anglesOf(x, n);
  Real y = fourth ? -a.inner : a.inner, angle = acos(y), multiple = n + 0.5;
  Real trigonometric = where(y == -1, 1.0, cos(multiple * angle) / cos(angle / 2));
  Real grown = sinh(multiple * a.outer) / sinh(a.outer / 2), slow = cosh(multiple * a.outer) / cosh(a.outer / 2);
  Real low = a.odd * where(a.ends, 2 * n + 1, grown);
  Real beyond = fourth ? where(x > 0, low, slow) : where(x > 0, slow, low);
  Real value = where(abs(x) < 1, trigonometric, beyond);
  return fourth ? value * a.odd : value;
}

template <Real (*polynomial)(Real, Real), bool shifted> Results chebyshevPolynomial(Node &n) {
  Real x = realOperand(n, 0, "x"), degree = realOperand(n, 1, "n");
  if (n.failed())
    return n.refused();
  if (shifted)
    x = 2 * x - 1;
  degree = trunc(degree);
  Real value = where(degree < 0, 0.0, polynomial(x, degree));
  return rounded(where(isnan(x) & degree > 0, nan, where(degree == 0, 1.0, value)));
}

} // namespace

void registerChebyshevPolynomials(Table &t) {
  for (llvm::StringRef overload : {"default", "n_scalar"}) {
    auto name = [&](llvm::StringRef kind) { return ("aten.special_" + kind + "." + overload).str(); };
    t[name("chebyshev_polynomial_t")] = chebyshevPolynomial<first, false>;
    t[name("chebyshev_polynomial_u")] = chebyshevPolynomial<second, false>;
    t[name("chebyshev_polynomial_v")] = chebyshevPolynomial<third<false>, false>;
    t[name("chebyshev_polynomial_w")] = chebyshevPolynomial<third<true>, false>;
    t[name("shifted_chebyshev_polynomial_t")] = chebyshevPolynomial<first, true>;
    t[name("shifted_chebyshev_polynomial_u")] = chebyshevPolynomial<second, true>;
    t[name("shifted_chebyshev_polynomial_v")] = chebyshevPolynomial<third<false>, true>;
    t[name("shifted_chebyshev_polynomial_w")] = chebyshevPolynomial<third<true>, true>;
  }
}

} // namespace tilewright

//===- GammaFunctions.cpp - log gamma and its derivatives ------------------------------===//
//
// lgamma, digamma and polygamma are computed in float64 for x >= 0.5. For smaller x, they are computed at 1 - x, and a
// reflection formula gives the result.
//
// Test: test/Python/ops/test_special_functions.py
//
//===----------------------------------------------------------------------===//
#include "lib/Import/ATen/SpecialFunctions.h"
#include "lib/Import/ATen/Table.h"
#include <cmath>

namespace tilewright {
namespace {

using namespace constants;

/// Arguments below this number are increased by it, because Stirling's series is only precise for large arguments.
constexpr int shift = 8;

/// The coefficients of Stirling's series for log gamma, and those of its derivative with the opposite sign.
constexpr double stirling[] = {1.0 / 12,   -1.0 / 360,      1.0 / 1260, -1.0 / 1680,
                               1.0 / 1188, -691.0 / 360360, 1.0 / 156,  -3617.0 / 122400};
constexpr double slopes[] = {1.0 / 12, -1.0 / 120, 1.0 / 252, -1.0 / 240, 1.0 / 132, -691.0 / 32760, 1.0 / 12};

/// The Bernoulli numbers of the indices 2, 4, ..., 16.
constexpr double bernoulliNumbers[] = {1.0 / 6,  -1.0 / 30,     1.0 / 42, -1.0 / 30,
                                       5.0 / 66, -691.0 / 2730, 7.0 / 6,  -3617.0 / 510};

double factorial(int n) {
  double product = 1;
  for (int k = 2; k <= n; ++k)
    product *= k;
  return product;
}

/// Returns log gamma of x >= 0.5.
Real lgammaPositive(Real x) {
  Real product = x;
  for (int k = 1; k < shift; ++k)
    product = product * (x + k);
  Condition low = x < shift;
  Real y = where(low, x + shift, x);
  Real series = (y - 0.5) * log(y) - y + 0.5 * std::log(2 * pi) + horner(1 / (y * y), stirling) / y;
  return where(isinf(x), infinity, series - where(low, log(where(low, product, 1.0)), 0.0));
}

/// Returns the signed distance of x to the nearest integer, from which sin(pi x) is computed without cancellation.
Real away(Real x) { return x - round(x); }

Real lgamma(Real x) {
  Condition negative = x < 0.5;
  Real value = lgammaPositive(where(negative, 1 - x, x));
  Real mirrored = log(pi / abs(sin(pi * away(x)))) - value;
  Condition pole = x <= 0 & x == floor(x);
  return where(pole | isinf(x), infinity, where(negative, mirrored, value));
}

Real digamma(Real x) {
  Condition negative = x < 0.5;
  Real y = where(negative, 1 - x, x);
  Real passed = 1 / y;
  for (int k = 1; k < shift; ++k)
    passed = passed + 1 / (y + k);
  Condition low = y < shift;
  y = where(low, y + shift, y);
  Real square = 1 / (y * y);
  Real value = log(y) - 0.5 / y - square * horner(square, slopes) - where(low, passed, 0.0);
  value = where(negative, value - pi / tan(pi * away(x)), value);
  Condition pole = (x < 0 & x == floor(x)) | x == -infinity;
  Real atZero = -1 / x; // an infinity whose sign depends on the sign of the zero
  value = where(x == 0, atZero, where(pole, nan, value));
  return where(x == infinity, infinity, value);
}

/// Returns the sum of (q + k) ** -s over k >= 0 for positive q: the sum of the first ten terms, and the remainder by
/// the Euler-Maclaurin formula.
Real zeta(int s, Real q) {
  Real total = pow(q, -double(s));
  for (int k = 1; k < 10; ++k)
    total = total + pow(q + k, -double(s));
  Real a = q + 10, power = pow(a, -double(s));
  total = total + power * a / (s - 1) + power / 2;
  double factor = s;
  for (auto [i, b] : llvm::enumerate(bernoulliNumbers)) {
    int j = int(i) + 1;
    power = power / a;
    total = total + power * (b * factor / factorial(2 * j));
    power = power / a;
    factor *= double(s + 2 * j - 1) * (s + 2 * j);
  }
  return where(isinf(q), 0.0, total);
}

/// Returns the derivative of pi cot(pi x) of order `order`, which is a polynomial in the cotangent.
Real cotangentDerivative(int order, Real x) {
  SmallVector<double> polynomial{0, 1};
  for (int step = 0; step < order; ++step) { // c' = -pi (1 + c c)
    SmallVector<double> next(polynomial.size() + 1, 0);
    for (size_t k = 1; k < polynomial.size(); ++k) {
      next[k - 1] -= double(k) * polynomial[k];
      next[k + 1] -= double(k) * polynomial[k];
    }
    polynomial = next;
  }
  return horner(1 / tan(pi * away(x)), polynomial) * std::pow(pi, order + 1);
}

/// Returns the derivative of digamma of order `order`, which is at least 1.
Real polygammaOf(int order, Real x) {
  Condition negative = x < 0.5;
  double sign = order % 2 ? 1 : -1;
  Real value = zeta(order + 1, where(negative, 1 - x, x)) * (sign * factorial(order));
  Real mirrored = (order % 2 ? -value : value) - cotangentDerivative(order, x);
  Condition pole = x <= 0 & x == floor(x);
  return where(pole, sign * infinity, where(negative, mirrored, value));
}

/// Imports polygamma(n, self), and polygamma_(self, n).
Results polygamma(Node &n) {
  bool inPlace = n.isTensor(0, "self");
  int64_t order = n.integer(inPlace ? 1 : 0, "n");
  Real x = realOperand(n, inPlace ? 0 : 1, "self");
  if (!n.demand(order >= 0 && order <= 12,
                "derivatives of digamma are supported up to the twelfth; compute higher ones "
                "in eager"))
    return n.refused();
  return rounded(order ? polygammaOf(int(order), x) : digamma(x));
}

} // namespace

void registerGammaFunctions(Table &t) {
  t["aten.lgamma.default"] = special<lgamma>;
  t["aten.digamma.default"] = special<digamma>;
  t["aten.polygamma.default"] = polygamma;
}

} // namespace tilewright

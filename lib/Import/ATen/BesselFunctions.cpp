//===- BesselFunctions.cpp - Bessel functions of the orders 0 and 1 ---------------------===//
//
// Each function except the spherical one is computed in float64 with Chebyshev series (SpecialSeries.h), which differ
// for arguments near 0 and for larger arguments. The series do not contain factors that vary strongly, such as
// exponentials, logarithms, poles and oscillations. Ops of the dialect compute these factors. The spherical function
// needs no series.
//
// Test: test/Python/ops/test_special_functions.py
//
//===----------------------------------------------------------------------===//
#include "lib/Import/ATen/SpecialFunctions.h"
#include "lib/Import/ATen/SpecialSeries.h"
#include "lib/Import/ATen/Table.h"

namespace tilewright {
namespace {

using namespace constants;

/// Returns I(x), multiplied by exp(-|x|) if `scaled`.
template <int order, bool scaled> Real besselI(Real x) {
  ArrayRef<double> near = order ? ArrayRef(series::i1Near) : ArrayRef(series::i0Near);
  ArrayRef<double> far = order ? ArrayRef(series::i1Far) : ArrayRef(series::i0Far);
  Real a = abs(x);
  Real inner = chebyshev(minimum(a, 8) / 4 - 1, near);
  Real outer = chebyshev(16 / maximum(a, 8) - 1, far) / sqrt(maximum(a, 8));
  if (order) {
    inner = inner * clamp(x, -8, 8);
    outer = where(x < 0, -outer, outer);
  }
  Real value = where(a <= 8, inner, outer);
  return where(isnan(x), x, scaled ? value : value * exp(a));
}

/// Returns K(x), multiplied by exp(x) if `scaled`.
template <int order, bool scaled> Real besselK(Real x) {
  ArrayRef<double> near = order ? ArrayRef(series::k1Near) : ArrayRef(series::k0Near);
  ArrayRef<double> far = order ? ArrayRef(series::k1Far) : ArrayRef(series::k0Far);
  ArrayRef<double> nearI = order ? ArrayRef(series::i1Near) : ArrayRef(series::i0Near);
  Real s = clamp(x, 0, 2);
  Real grown = chebyshev(s / 4 - 1, nearI) * exp(s); // I(s)
  Real inner = chebyshev(s * s / 2 - 1, near);
  if (order)
    inner = inner * s + log(s / 2) * (grown * s) + 1 / s;
  else
    inner = inner - log(s / 2) * grown;
  inner = where(s == 0, infinity, inner);
  Real farX = maximum(x, 2);
  Real outer = chebyshev(4 / farX - 1, far) / sqrt(farX);
  Real value = where(x <= 2, scaled ? inner * exp(s) : inner, scaled ? outer : outer * exp(-farX));
  return where(x < 0 | isnan(x), nan, value);
}

/// The terms of the asymptotic form, from which Bessel functions of both kinds are computed for x > 8.
struct Waves {
  Real p, q, phase, size;
};

template <int order> Waves wavesAt(Real x) {
  ArrayRef<double> p = order ? ArrayRef(series::p1Far) : ArrayRef(series::p0Far);
  ArrayRef<double> q = order ? ArrayRef(series::q1Far) : ArrayRef(series::q0Far);
  Real t = 128 / (x * x) - 1;
  return {chebyshev(t, p), chebyshev(t, q) / x, x - (2 * order + 1) * pi / 4, sqrt(2 / (pi * x))};
}

template <int order> Real besselJ(Real x) {
  ArrayRef<double> near = order ? ArrayRef(series::j1Near) : ArrayRef(series::j0Near);
  Real a = abs(x), s = minimum(a, 8);
  Real inner = chebyshev(s * s / 32 - 1, near);
  if (order)
    inner = inner * s;
  Waves w = wavesAt<order>(maximum(a, 8));
  Real outer = where(isinf(a), 0.0, w.size * (w.p * cos(w.phase) - w.q * sin(w.phase)));
  Real value = where(a <= 8, inner, outer);
  if (order)
    value = where(x < 0, -value, value);
  return where(isnan(x), x, value);
}

template <int order> Real besselY(Real x) {
  ArrayRef<double> near = order ? ArrayRef(series::y1Near) : ArrayRef(series::y0Near);
  ArrayRef<double> nearJ = order ? ArrayRef(series::j1Near) : ArrayRef(series::j0Near);
  Real s = clamp(x, 0, 8), t = s * s / 32 - 1;
  Real first = chebyshev(t, nearJ), inner = chebyshev(t, near);
  if (order) {
    first = first * s;
    inner = inner * s;
  }
  inner = inner + 2 / pi * log(s / 2) * first;
  if (order)
    inner = inner - 2 / (pi * s);
  inner = where(s == 0, -infinity, inner);
  Waves w = wavesAt<order>(maximum(x, 8));
  Real outer = where(isinf(x), 0.0, w.size * (w.p * sin(w.phase) + w.q * cos(w.phase)));
  return where(x < 0 | isnan(x), nan, where(x <= 8, inner, outer));
}

/// Returns sin(x) / x, computed with a polynomial near 0.
Real sphericalBesselJ0(Real x) {
  Real square = x * x;
  Real near = 1 - square / 6 * (1 - square / 20 * (1 - square / 42));
  return where(isinf(x), 0.0, where(abs(x) < 0.05, near, sin(x) / x));
}

} // namespace

void registerBesselFunctions(Table &t) {
  t["aten.i0.default"] = t["aten.special_modified_bessel_i0.default"] = special<besselI<0, false>>;
  t["aten.special_i1.default"] = t["aten.special_modified_bessel_i1.default"] = special<besselI<1, false>>;
  t["aten.special_i0e.default"] = special<besselI<0, true>>;
  t["aten.special_i1e.default"] = special<besselI<1, true>>;
  t["aten.special_modified_bessel_k0.default"] = special<besselK<0, false>>;
  t["aten.special_modified_bessel_k1.default"] = special<besselK<1, false>>;
  t["aten.special_scaled_modified_bessel_k0.default"] = special<besselK<0, true>>;
  t["aten.special_scaled_modified_bessel_k1.default"] = special<besselK<1, true>>;
  t["aten.special_bessel_j0.default"] = special<besselJ<0>>;
  t["aten.special_bessel_j1.default"] = special<besselJ<1>>;
  t["aten.special_bessel_y0.default"] = special<besselY<0>>;
  t["aten.special_bessel_y1.default"] = special<besselY<1>>;
  t["aten.special_spherical_bessel_j0.default"] = special<sphericalBesselJ0>;
}

} // namespace tilewright

//===- MathKernel.h - tests of compiled functions of --tw-expand-math ---------===//
#ifndef TILEWRIGHT_TEST_UNIT_MATH_MATHKERNEL_H
#define TILEWRIGHT_TEST_UNIT_MATH_MATHKERNEL_H

#include "lib/Runtime/Jit/Jit.h"

#include <bit>
#include <cmath>
#include <limits>
#include <string>

namespace tilewright {

/// A compiled function, and the JIT that owns its code.
template <typename Float> struct Compiled {
  std::unique_ptr<runtime::Jit> jit;
  void (*run)(const Float *, const Float *, Float *, int64_t) = nullptr;
};

/// Returns the address of a function in `jit` that computes out[i] = op(x[i], y[i]), or null if this machine cannot run
/// it. `op` is the name of a math op, "remf" or "sigmoid"; the suffix "_short" sets the flag afn. 1 lane means scalars.
void *compileKernel(const std::string &op, int operands, const char *element, int lanes, const char *machine,
                    std::unique_ptr<runtime::Jit> &jit);

template <typename Float>
bool compileOp(const std::string &op, int operands, int lanes, const char *machine, Compiled<Float> &result) {
  void *address = compileKernel(op, operands, sizeof(Float) == 8 ? "f64" : "f32", lanes, machine, result.jit);
  result.run = reinterpret_cast<decltype(result.run)>(address);
  return address;
}

/// Returns |got - exact| in ULP of `exact`. If one of the numbers is NaN or rounds to infinity, or if both are zero,
/// returns 0 if they agree, 1 if both are near the largest number, and infinity otherwise. A zero that underflowed may
/// have either sign.
template <typename Float, typename Wide> double ulpError(Float got, Wide exact) {
  using Limits = std::numeric_limits<Float>;
  if (std::isnan(exact) || std::isnan(got))
    return std::isnan(exact) && std::isnan(got) ? 0 : INFINITY;
  Float rounded = Float(exact);
  if (std::isinf(rounded) || std::isinf(got)) {
    if (rounded == got)
      return 0;
    // Near the largest number, the result may round to it or to infinity.
    Wide largest = Limits::max(), last = largest * Limits::epsilon() / 2;
    return std::isinf(exact) || std::fabs(exact) > largest + 3 * last || std::fabs(Wide(got)) < largest - 8 * last
               ? INFINITY
               : 1;
  }
  if (rounded == 0 && got == 0)
    return std::signbit(rounded) == std::signbit(got) || exact != 0 ? 0 : INFINITY;
  int exponent = std::max(std::ilogb(exact), Limits::min_exponent - 1);
  return double(std::fabs(Wide(got) - exact) / std::ldexp(Wide(1), exponent - (Limits::digits - 1)));
}

/// The sample with the largest error.
template <typename Float, typename Wide> struct Worst {
  double ulp = 0;
  Float x = 0, y = 0, got = 0;
  Wide exact = 0;
  void see(Float atX, Float atY, Float result, Wide right) {
    double error = ulpError(result, right);
    if (error > ulp)
      *this = {error, atX, atY, result, right};
  }
};

} // namespace tilewright

#endif

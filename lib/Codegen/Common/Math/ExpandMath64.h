//===- ExpandMath64.h - functions of f64 in vectors -------------------------------===//
//
// Each function takes and returns f64 lanes. dialects/Graph/ScalarFunctions.def states the largest error of each
// function of one argument against the exact value, in units of the last place of f64, and test/Unit/Codegen/Common
// checks these errors. For all functions, the result for NaN is NaN, results below the smallest normal number are
// correct denormals, and odd functions preserve the sign of zeros.
//
//===----------------------------------------------------------------------===//
#ifndef TILEWRIGHT_LIB_CODEGEN_COMMON_MATH_EXPANDMATH64_H
#define TILEWRIGHT_LIB_CODEGEN_COMMON_MATH_EXPANDMATH64_H

#include "lib/Codegen/Common/Math/ExpandMath.h"

namespace tilewright::cpu::f64 {

inline constexpr double ln2High = 0x1.62e42fefa39efp-1, ln2Low = 0x1.abc9e3b39803fp-56; ///< their sum is ln 2

// ExpandMath64Exp.cpp
Lanes exp(Lanes x, bool avx512);
Lanes exp2(Lanes x, bool avx512);
Lanes expM1(Lanes x);
Lanes sinh(Lanes x);
Lanes cosh(Lanes x, bool avx512);
Lanes tanh(Lanes x);
Lanes erf(Lanes x);
Lanes erfc(Lanes x, bool avx512);

// ExpandMath64Log.cpp
Lanes log(Lanes x, LogBase base);
Lanes log1p(Lanes x);
Lanes asinh(Lanes x);
Lanes acosh(Lanes x);
Lanes atanh(Lanes x);

// ExpandMath64Angles.cpp
Lanes atan(Lanes x);
Lanes atan2(Lanes y, Lanes x); ///< 1.9 ULP
Lanes asin(Lanes x);
Lanes acos(Lanes x);
Lanes sin(Lanes x);
Lanes cos(Lanes x);
Lanes tan(Lanes x);

// ExpandMathRemainder.cpp
Lanes remainder(Lanes x, Lanes y); ///< C's fmod of vectors, exact

} // namespace tilewright::cpu::f64

#endif

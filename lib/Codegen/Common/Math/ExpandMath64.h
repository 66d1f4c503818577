//===- ExpandMath64.h - functions of f64 in vectors -------------------------------===//
//
// Each function takes and returns f64 lanes. "n ULP" is the maximum error against the exact value in units of the last
// place of f64; test/Unit/Codegen/Common checks each number. For all functions: NaN gives NaN, results below the
// smallest normal number are correct denormals, and zeros keep their sign if the function is odd.
//
//===----------------------------------------------------------------------===//
#ifndef TILEWRIGHT_LIB_CODEGEN_COMMON_MATH_EXPANDMATH64_H
#define TILEWRIGHT_LIB_CODEGEN_COMMON_MATH_EXPANDMATH64_H

#include "lib/Codegen/Common/Math/ExpandMath.h"

namespace tilewright::cpu::f64 {

inline constexpr double ln2High = 0x1.62e42fefa39efp-1, ln2Low = 0x1.abc9e3b39803fp-56; ///< their sum is ln 2

// ExpandMath64Exp.cpp
Lanes exp(Lanes x, bool avx512);  ///< 1.0 ULP
Lanes exp2(Lanes x, bool avx512); ///< 1.0 ULP
Lanes expM1(Lanes x);             ///< 1.3 ULP
Lanes sinh(Lanes x);              ///< 1.7 ULP
Lanes cosh(Lanes x, bool avx512); ///< 1.4 ULP
Lanes tanh(Lanes x);              ///< 1.6 ULP
Lanes erf(Lanes x);               ///< 1.3 ULP
Lanes erfc(Lanes x, bool avx512); ///< 3.6 ULP

// ExpandMath64Log.cpp
Lanes log(Lanes x, LogBase base); ///< 0.9 ULP; to other bases 1.8
Lanes log1p(Lanes x);             ///< 1.5 ULP
Lanes asinh(Lanes x);             ///< 1.8 ULP
Lanes acosh(Lanes x);             ///< 1.9 ULP
Lanes atanh(Lanes x);             ///< 2.1 ULP

// ExpandMath64Angles.cpp
Lanes atan(Lanes x);           ///< 1.9 ULP
Lanes atan2(Lanes y, Lanes x); ///< 1.9 ULP
Lanes asin(Lanes x);           ///< 1.2 ULP
Lanes acos(Lanes x);           ///< 1.2 ULP
Lanes sin(Lanes x);            ///< 0.9 ULP
Lanes cos(Lanes x);            ///< 0.9 ULP
Lanes tan(Lanes x);            ///< 2.3 ULP

// ExpandMathRemainder.cpp
Lanes remainder(Lanes x, Lanes y); ///< C's fmod of vectors, exact

} // namespace tilewright::cpu::f64

#endif

//===- ExpandMath.h - the functions that --tw-expand-math expands -----------===//
//
// Each function expand...() takes and returns f32 lanes, except that the exponent of expandPow() is f64.
// dialects/Graph/ScalarFunctions.def states the largest error of each function of one argument against the exact value,
// in units of the last place (ULP) of the exact value rounded to f32, and test/Unit/Codegen/Common checks these errors.
// The result for NaN is NaN, except for 1^NaN and NaN^0, which are 1. Results below the smallest normal number are
// correct denormals, except those of expandLogistic(). Odd functions preserve the sign of zeros.
//
//===----------------------------------------------------------------------===//
#ifndef TILEWRIGHT_LIB_CODEGEN_COMMON_MATH_EXPANDMATH_H
#define TILEWRIGHT_LIB_CODEGEN_COMMON_MATH_EXPANDMATH_H

#include "lib/Codegen/Common/Math/MathLanes.h"

namespace tilewright::cpu {

enum class LogBase { E, Two, Ten };

/// Returns x 2^n if `keep` is true, else 0, by one AVX-512 instruction. The vectors have 16 lanes of f32, or 8 of f64.
mlir::Value scaleByInstruction(mlir::ImplicitLocOpBuilder &b, mlir::Value x, mlir::Value n, mlir::Value keep);
/// Returns `result`, a logarithm of x. If x is 0, infinite, negative or NaN, returns the special value instead.
Lanes logWithSpecials(Lanes x, Lanes result);

// ExpandMathExp.cpp: computed in f32, for performance-critical loops.
// With AVX-512, the error of exp is 0.9 ULP. If `shortened`, the relative error is 2^-17, which suffices for results
// that are rounded to 16 bits.
Lanes expandExp(Lanes x, bool avx512, bool shortened = false);
Lanes expandLogistic(Lanes a, Lanes d); ///< a / d with d = 1 + e^z; the error is 1.1 ULP; the result is 0 if d > 2^125
Lanes expandExp2(Lanes x, bool avx512, bool shortened = false); ///< if `shortened`, the relative error is 2^-18
Lanes expandExpM1(Lanes x);
/// Error of 1.5 ULP with AVX-512; larger with AVX2, whose reciprocal instruction has 12 bits.
Lanes expandTanh(Lanes x);
Lanes expandErf(Lanes x);

// ExpandMathLog.cpp
Lanes expandLog(Lanes x, LogBase base);
Lanes expandLog1p(Lanes x);

// ExpandMathTrig.cpp
Lanes expandSin(Lanes x);
Lanes expandCos(Lanes x);
Lanes expandTan(Lanes x);

// ExpandMathDouble.cpp: less frequent functions, computed in f64 and rounded once.
Lanes expandAtan(Lanes x);
Lanes expandAtan2(Lanes y, Lanes x);
Lanes expandAsin(Lanes x);
Lanes expandAcos(Lanes x);
Lanes expandSinh(Lanes x);
Lanes expandCosh(Lanes x);
Lanes expandAsinh(Lanes x);
Lanes expandAcosh(Lanes x);
Lanes expandAtanh(Lanes x);
Lanes expandCbrt(Lanes x);
Lanes expandErfc(Lanes x);
/// Returns C's fmod of vectors (ExpandMathRemainder.cpp). The result is exact.
Lanes expandRemainder(Lanes x, Lanes y);
/// Returns x^y. `y` is f64, which represents every 32-bit integer exponent.
Lanes expandPow(Lanes x, Lanes y);

} // namespace tilewright::cpu

#endif

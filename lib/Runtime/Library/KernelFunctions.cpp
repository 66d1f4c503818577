//===- KernelFunctions.cpp - functions that kernels call and libm lacks -------===//
//
// The JIT provides the same functions to kernels (lib/Runtime/Jit/KernelSymbols.cpp), so that an ahead-of-time library
// and the JIT compute the same results.
//
//===----------------------------------------------------------------------===//
#include "lib/Runtime/Host/HalfConversions.h"

#include <cmath>

extern "C" {

// NOLINTBEGIN(bugprone-reserved-identifier): LLVM's code generator calls these names
float __truncsfbf2(float value) { return tilewright::runtime::truncSfBf2(value); }
float __truncdfbf2(double value) { return tilewright::runtime::truncDfBf2(value); }
float __truncdfhf2(double value) { return tilewright::runtime::truncDfHf2(value); }
// NOLINTEND(bugprone-reserved-identifier)

double roundeven(double value) noexcept { return rint(value); }
float roundevenf(float value) noexcept { return rintf(value); }

} // extern "C"

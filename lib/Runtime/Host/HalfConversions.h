//===- HalfConversions.h - conversions that LLVM lowers to library calls -----===//
//
// Each function returns its 16-bit result in the low half of a float: LLVM returns a bfloat or half in the low bits of
// xmm0, the register in which C++ returns a float.
//
//===----------------------------------------------------------------------===//
#ifndef TILEWRIGHT_LIB_RUNTIME_HOST_HALFCONVERSIONS_H
#define TILEWRIGHT_LIB_RUNTIME_HOST_HALFCONVERSIONS_H

namespace tilewright::runtime {

float truncSfBf2(float value);  ///< __truncsfbf2: to bfloat16
float truncDfBf2(double value); ///< __truncdfbf2
float truncDfHf2(double value); ///< __truncdfhf2: to IEEE half; only AVX512-FP16 has an instruction for it

} // namespace tilewright::runtime

#endif

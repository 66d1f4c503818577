//===- HalfConversions.h - roundings that LLVM leaves to a library -----------===//
//
// Each gives the 16 bits of its result in the low half of a float: LLVM passes a bfloat or half result in xmm0, as C++
// passes a float.
//
//===----------------------------------------------------------------------===//
#ifndef TILEWRIGHT_LIB_RUNTIME_HOST_HALFCONVERSIONS_H
#define TILEWRIGHT_LIB_RUNTIME_HOST_HALFCONVERSIONS_H

namespace tilewright::runtime {

float truncSfBf2(float value);  ///< __truncsfbf2: to bfloat16
float truncDfBf2(double value); ///< __truncdfbf2
float truncDfHf2(double value); ///< __truncdfhf2: to IEEE's half; machines without AVX512-FP16 have it from float alone

} // namespace tilewright::runtime

#endif

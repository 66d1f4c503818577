//===- HalfConversions.cpp - conversions that LLVM lowers to library calls ---===//
#include "lib/Runtime/Host/HalfConversions.h"

#include <cmath>
#include <cstdint>
#include <cstring>

namespace tilewright::runtime {

static uint16_t truncateToBfloat(float value) {
  uint32_t bits;
  memcpy(&bits, &value, sizeof bits);
  if (value != value)
    return uint16_t(bits >> 16 | 0x40); // set the quiet bit of a NaN
  return uint16_t((bits + 0x7FFF + (bits >> 16 & 1)) >> 16);
}

// LLVM returns a bfloat or half in the low bits of xmm0, the register in which C++ returns a float.
static float asLowHalf(uint16_t half) {
  uint32_t bits = half;
  float result;
  memcpy(&result, &bits, sizeof result);
  return result;
}

float truncSfBf2(float value) { return asLowHalf(truncateToBfloat(value)); }

/// Converts `value` to float with rounding to odd, so that rounding the result to 16 bits is equal to rounding `value`
/// once.
static float toOdd(double value) {
  float narrow = float(value);
  if (double(narrow) != value && value == value && std::isfinite(narrow)) {
    uint32_t bits;
    memcpy(&bits, &narrow, sizeof bits);
    if ((bits & 1) == 0)
      bits += std::fabs(double(narrow)) < std::fabs(value) ? 1 : -1;
    memcpy(&narrow, &bits, sizeof bits);
  }
  return narrow;
}

float truncDfBf2(double value) { return truncSfBf2(toOdd(value)); }

__attribute__((target("f16c"))) float truncDfHf2(double value) {
  _Float16 half = _Float16(toOdd(value));
  uint16_t bits;
  memcpy(&bits, &half, sizeof bits);
  return asLowHalf(bits);
}

} // namespace tilewright::runtime

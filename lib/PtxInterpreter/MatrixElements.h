//===- MatrixElements.h - the elements of the tensor cores' operands --------------------===//
#ifndef TILEWRIGHT_LIB_PTXINTERPRETER_MATRIXELEMENTS_H
#define TILEWRIGHT_LIB_PTXINTERPRETER_MATRIXELEMENTS_H

#include "lib/PtxInterpreter/Formats.h"

namespace tilewright::ptx {

// Element formats. kCount is the number of elements per 32-bit word, and get() returns the value of element `i`.
struct F16 {
  static constexpr uint32_t kCount = 2;
  static double get(uint32_t word, uint32_t i) { return halfToFloat(uint16_t(word >> (16 * i))); }
};
struct BF16 {
  static constexpr uint32_t kCount = 2;
  static double get(uint32_t word, uint32_t i) { return bfloat16ToFloat(uint16_t(word >> (16 * i))); }
};
struct TF32 { // the low 13 bits of the float are ignored
  static constexpr uint32_t kCount = 1;
  static double get(uint32_t word, uint32_t) { return std::bit_cast<float>(word & ~0x1fffu); }
};
struct E4M3 {
  static constexpr uint32_t kCount = 4;
  static double get(uint32_t word, uint32_t i) { return decode(word >> (8 * i) & 255, kE4M3); }
};
struct E5M2 {
  static constexpr uint32_t kCount = 4;
  static double get(uint32_t word, uint32_t i) { return decode(word >> (8 * i) & 255, kE5M2); }
};
struct S8 {
  static constexpr uint32_t kCount = 4;
  static int32_t get(uint32_t word, uint32_t i) { return int8_t(word >> (8 * i)); }
};
struct U8 {
  static constexpr uint32_t kCount = 4;
  static int32_t get(uint32_t word, uint32_t i) { return uint8_t(word >> (8 * i)); }
};
struct S4 {
  static constexpr uint32_t kCount = 8;
  static int32_t get(uint32_t word, uint32_t i) { return int32_t(word << (28 - 4 * i)) >> 28; }
};
struct U4 {
  static constexpr uint32_t kCount = 8;
  static int32_t get(uint32_t word, uint32_t i) { return int32_t(word >> (4 * i) & 15); }
};

/// The types of accumulators: f32, f16 (two per register) or s32.
enum class Sum { F32, F16, S32 };

} // namespace tilewright::ptx

#endif

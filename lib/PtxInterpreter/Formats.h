//===- Formats.h - rounding to the floating-point formats of PTX -------------------===//
//
// Operations on formats with less precision than double are computed in double and then rounded to their format. If
// double cannot represent the exact result of an addition, FMA, division or square root, the first rounding is to odd.
// The second rounding then returns the correctly rounded result, because double has at least two bits of precision more
// than the format. The results of approximate instructions (with .approx), and the sums of the products in matrix
// instructions, are rounded to nearest in double.
//
//===----------------------------------------------------------------------===//
#ifndef TILEWRIGHT_LIB_PTXINTERPRETER_FORMATS_H
#define TILEWRIGHT_LIB_PTXINTERPRETER_FORMATS_H

#include <bit>
#include <cmath>
#include <cstdint>

namespace tilewright::ptx {

enum class Round : uint8_t { Near, Zero, Down, Up, Away }; ///< .rn .rz .rm .rp .rna

struct Format {
  int mantissa;      ///< bits after the leading one
  int least;         ///< exponent of the smallest normal number
  uint32_t greatest; ///< bits of the largest finite number, without sign
  uint32_t infinity; ///< bits of infinity; 0 means that the format has no infinity, so NaN replaces it
  uint32_t nan;      ///< bits of the canonical NaN
  int sign;          ///< position of the sign bit
};
inline constexpr Format kSingle = {23, -126, 0x7f7fffff, 0x7f800000, 0x7fffffff, 31};
inline constexpr Format kHalf = {10, -14, 0x7bff, 0x7c00, 0x7fff, 15};
inline constexpr Format kBfloat16 = {7, -126, 0x7f7f, 0x7f80, 0x7fff, 15};
inline constexpr Format kTensor = {10, -126, 0x3fbff, 0x3fc00, 0x3ffff, 18}; ///< tf32, without its 13 low bits
inline constexpr Format kE4M3 = {3, -6, 0x7e, 0, 0x7f, 7};
inline constexpr Format kE5M2 = {2, -14, 0x7b, 0x7c, 0x7f, 7};

/// Returns the bits of x rounded to `format`. With `saturate` (.satfinite), values that exceed the range become the
/// largest finite number.
inline uint32_t encode(double x, const Format &format, Round round = Round::Near, bool saturate = false) {
  uint64_t bits = std::bit_cast<uint64_t>(x);
  uint32_t sign = uint32_t(bits >> 63);
  uint64_t fraction = bits & ((uint64_t(1) << 52) - 1);
  int exponent = int(bits >> 52 & 0x7ff) - 1023;
  uint32_t signBit = sign << format.sign;
  if (exponent == 1024) {
    if (fraction)
      return format.nan;
    if (saturate)
      return signBit | format.greatest;
    return format.infinity ? signBit | format.infinity : signBit | format.nan;
  }
  if (exponent == -1023)
    exponent = -1022;
  else
    fraction |= uint64_t(1) << 52;
  int shift = 52 - format.mantissa, effective = exponent;
  if (exponent < format.least) {
    shift += format.least - exponent;
    effective = format.least;
  }
  if (shift > 60) { // far below the smallest number: any nonzero value rounds in the same way
    fraction = fraction ? 1 : 0;
    shift = 60;
  }
  uint64_t kept = fraction >> shift, rest = fraction & ((uint64_t(1) << shift) - 1), half = uint64_t(1) << (shift - 1);
  bool more = false;
  switch (round) {
  case Round::Near:
    more = rest > half || (rest == half && (kept & 1));
    break;
  case Round::Away:
    more = rest >= half;
    break;
  case Round::Zero:
    break;
  case Round::Down:
    more = rest && sign;
    break;
  case Round::Up:
    more = rest && !sign;
    break;
  }
  uint64_t field =
      (uint64_t(effective - format.least + 1) << format.mantissa) + kept + more - (uint64_t(1) << format.mantissa);
  if (field > format.greatest) {
    bool towards = round == Round::Zero || (round == Round::Down && !sign) || (round == Round::Up && sign);
    if (saturate || (towards && format.infinity))
      return signBit | format.greatest;
    return signBit | (format.infinity ? format.infinity : format.nan);
  }
  return signBit | uint32_t(field);
}

inline double decode(uint32_t bits, const Format &format) {
  uint32_t magnitude = bits & ((1u << format.sign) - 1);
  double sign = bits >> format.sign & 1 ? -1.0 : 1.0;
  if (magnitude > format.greatest)
    return magnitude == format.infinity && format.infinity ? sign * INFINITY : NAN;
  uint32_t field = magnitude >> format.mantissa, fraction = magnitude & ((1u << format.mantissa) - 1);
  double value =
      field ? std::ldexp(double(fraction | 1u << format.mantissa), int(field) - 1 + format.least - format.mantissa)
            : std::ldexp(double(fraction), format.least - format.mantissa);
  return sign * value;
}

inline float halfToFloat(uint16_t bits) {
  uint32_t sign = uint32_t(bits & 0x8000) << 16, magnitude = bits & 0x7fff;
  // The bits of the magnitude, shifted to the fields of a float, represent a value that is too small by a factor of
  // 2^112. For NaN and infinity, all exponent bits must be set.
  float scaled = std::bit_cast<float>(magnitude << 13) * std::bit_cast<float>(uint32_t(254 - 15) << 23);
  uint32_t result = magnitude >= 0x7c00 ? 0x7f800000u | magnitude << 13 : std::bit_cast<uint32_t>(scaled);
  return std::bit_cast<float>(sign | result);
}
inline float bfloat16ToFloat(uint16_t bits) { return std::bit_cast<float>(uint32_t(bits) << 16); }

/// Returns a + b rounded to odd: if the sum is not exact, the last bit of the result is set.
inline double sumToOdd(double a, double b) {
  double sum = a + b;
  if (!std::isfinite(sum))
    return sum;
  double part = sum - a, lost = (a - (sum - part)) + (b - part);
  uint64_t bits = std::bit_cast<uint64_t>(sum);
  if (lost != 0 && !(bits & 1))
    bits += (lost > 0) == (sum > 0) ? 1 : uint64_t(-1);
  return std::bit_cast<double>(bits);
}

/// Returns a quotient or root rounded to odd. `value` is the result rounded to nearest, and `remainder` has the sign of
/// the exact result minus `value`.
inline double withRemainder(double value, double remainder) {
  uint64_t bits = std::bit_cast<uint64_t>(value);
  if (!std::isfinite(value) || value == 0 || remainder == 0 || (bits & 1))
    return value;
  return std::bit_cast<double>(bits + ((remainder > 0) == (value > 0) ? 1 : uint64_t(-1)));
}
inline double quotientToOdd(double a, double b) {
  double value = a / b;
  if (!std::isfinite(value) || value == 0)
    return value;
  double rest = std::fma(-value, b, a);
  return withRemainder(value, b > 0 ? rest : -rest);
}
inline double rootToOdd(double a) {
  double value = std::sqrt(a);
  return std::isfinite(value) && value != 0 ? withRemainder(value, std::fma(-value, value, a)) : value;
}

/// Rounds to single precision; NaN becomes the canonical NaN.
inline float toSingle(double x, Round round = Round::Near) {
  if (round == Round::Near) {
    float value = float(x);
    return value == value ? value : std::bit_cast<float>(kSingle.nan);
  }
  return std::bit_cast<float>(encode(x, kSingle, round));
}
inline float flushed(float x) { return std::fabs(x) < 0x1p-126f ? std::copysign(0.0f, x) : x; }

} // namespace tilewright::ptx

#endif

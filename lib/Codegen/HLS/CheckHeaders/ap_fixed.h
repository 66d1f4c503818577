// This file is part of Tilewright. It replaces the vendor's header of the same name, so that ordinary compilers can
// compile and run a design. It defines fixed-point numbers of 1 to 128 bits. The template parameter I is the number of
// bits before the binary point, Q is the rounding mode of assignments, and O is their overflow mode. Results of +, -
// and * are exact. An operator whose result needs more than 128 bits does not compile.
#ifndef TILEWRIGHT_LIB_CODEGEN_HLS_CHECKHEADERS_AP_FIXED_H
#define TILEWRIGHT_LIB_CODEGEN_HLS_CHECKHEADERS_AP_FIXED_H

#include <ap_int.h>
#include <math.h>

/// AP_TRN rounds down, and AP_TRN_ZERO rounds towards 0. The other modes round to the nearest number. They round a tie
/// up (AP_RND), towards 0 (AP_RND_ZERO), down (AP_RND_MIN_INF), away from 0 (AP_RND_INF) or to even (AP_RND_CONV).
enum ap_q_mode { AP_RND, AP_RND_ZERO, AP_RND_MIN_INF, AP_RND_INF, AP_RND_CONV, AP_TRN, AP_TRN_ZERO };
/// The result for a number that the type cannot represent. SAT: the nearest representable number. SAT_ZERO: 0. SAT_SYM:
/// like SAT, but a signed type never gets its lowest number, so that its range is symmetric. WRAP: the low bits.
enum ap_o_mode { AP_SAT, AP_SAT_ZERO, AP_SAT_SYM, AP_WRAP };

template <int W, int I, ap_q_mode Q = AP_TRN, ap_o_mode O = AP_WRAP> struct ap_fixed;
template <int W, int I, ap_q_mode Q = AP_TRN, ap_o_mode O = AP_WRAP> struct ap_ufixed;

namespace tilewright {

/// An exact number with the value `bits` * 2^-fraction. `bits` is in two's complement if the number has a signed type,
/// and unsigned otherwise.
struct Exact {
  UWide bits;
  bool negative;
  int fraction;
};

/// Traits of an operand's type, which is a fixed-point type, an ap type or a plain integer: total width, bits before
/// the binary point, and the exact value.
template <typename T> struct Point {
  static constexpr int width = Shape<T>::width, integer = Shape<T>::width;
  static constexpr bool isSigned = Shape<T>::isSigned, isFixed = false;
  static Exact exact(const T &value) {
    const UWide bits = Shape<T>::bits(value);
    return {bits, isSigned && (bits >> 127), 0};
  }
};
template <int W, int I, ap_q_mode Q, ap_o_mode O> struct Point<ap_fixed<W, I, Q, O>> {
  static constexpr int width = W, integer = I;
  static constexpr bool isSigned = true, isFixed = true;
  static Exact exact(const ap_fixed<W, I, Q, O> &value) { return {value.bits, (value.bits >> 127) != 0, W - I}; }
};
template <int W, int I, ap_q_mode Q, ap_o_mode O> struct Point<ap_ufixed<W, I, Q, O>> {
  static constexpr int width = W, integer = I;
  static constexpr bool isSigned = false, isFixed = true;
  static Exact exact(const ap_ufixed<W, I, Q, O> &value) { return {value.bits, false, W - I}; }
};

/// A value without its lowest bits (`bits`), the highest of the dropped bits (`first`), and a flag that is true if any
/// other dropped bit is 1 (`others`).
struct Dropped {
  UWide bits;
  bool first, others;
};
inline Dropped drop(UWide value, bool negative, int by) {
  if (by <= 0)
    return {value, false, false};
  const UWide sign = negative ? ~UWide(0) : UWide(0);
  if (by > 128)
    return {sign, negative, value != 0};
  const UWide below = by == 1 ? 0 : value << (129 - by);
  const UWide kept = by == 128 ? sign : negative ? ~(~value >> by) : value >> by;
  return {kept, ((value >> (by - 1)) & 1) != 0, below != 0};
}

inline bool roundsUp(ap_q_mode mode, const Dropped &of, bool negative) {
  switch (mode) {
  case AP_TRN:
    return false;
  case AP_TRN_ZERO:
    return negative && (of.first || of.others);
  case AP_RND:
    return of.first;
  case AP_RND_ZERO:
    return of.first && (of.others || negative);
  case AP_RND_INF:
    return of.first && (of.others || !negative);
  case AP_RND_MIN_INF:
    return of.first && of.others;
  case AP_RND_CONV:
    return of.first && (of.others || (of.bits & 1));
  }
  return false;
}

/// Returns `value` converted to a number of W bits with `fraction` bits after the binary point. The result is
/// sign-extended or zero-extended to 128 bits.
template <int W, bool SIGNED> UWide assign(const Exact &value, int fraction, ap_q_mode rounding, ap_o_mode overflow) {
  const UWide highest = (~UWide(0) >> (128 - W)) >> SIGNED, lowest = SIGNED ? ~highest : 0;
  const int left = fraction - value.fraction;
  UWide bits = value.bits;
  bool negative = value.negative, above, below;
  if (left > 0) { // compare with the limits before the shift, which may overflow
    const Dropped limit = drop(highest, false, left), least = drop(lowest, SIGNED, left);
    above = !negative && bits > limit.bits;
    below = negative && (!SIGNED || Wide(bits) < Wide(least.bits + (least.first || least.others)));
    bits = left < 128 ? bits << left : 0;
  } else {
    const Dropped dropped = drop(bits, negative, -left);
    bits = dropped.bits + roundsUp(rounding, dropped, negative);
    negative = negative && bits != 0;
    above = !negative && bits > highest;
    below = negative && (!SIGNED || Wide(bits) < Wide(lowest));
  }
  const UWide symmetric = lowest + 1;
  if (overflow == AP_SAT_SYM && SIGNED && (below || (negative && !above && bits == lowest)))
    return symmetric;
  if (above || below) {
    if (overflow == AP_SAT_ZERO)
      return 0;
    if (overflow != AP_WRAP)
      return above ? highest : lowest;
  }
  return cut<W, SIGNED>(bits);
}

/// Returns the exact value of a finite double, which is an integer times a power of two.
inline Exact exactOf(double value) {
  int exponent;
  const Wide digits = Wide(ldexp(frexp(value, &exponent), 53));
  return {UWide(digits), digits < 0, 53 - exponent};
}

template <int W, int I, bool SIGNED> struct PickFixed {
  typedef ap_fixed<W, I> type;
};
template <int W, int I> struct PickFixed<W, I, false> {
  typedef ap_ufixed<W, I> type;
};

/// The type RESULT if at least one operand is a fixed-point type and the other is a fixed-point type or an integer.
template <typename A, typename B, typename RESULT = void>
using BothFixed = typename std::enable_if<(Point<A>::isFixed || Point<B>::isFixed) &&
                                              !std::is_floating_point<A>::value && !std::is_floating_point<B>::value,
                                          RESULT>::type;

template <typename A, typename B> struct FixedTypes {
  typedef Point<A> L;
  typedef Point<B> R;
  static constexpr bool anySigned = L::isSigned || R::isSigned;
  static constexpr int left = L::integer + (anySigned && !L::isSigned), right = R::integer + (anySigned && !R::isSigned);
  static constexpr int integer = (left > right ? left : right) + 1;
  static constexpr int fractionLeft = L::width - L::integer, fractionRight = R::width - R::integer;
  static constexpr int fraction = fractionLeft > fractionRight ? fractionLeft : fractionRight;
  typedef typename PickFixed<integer + fraction, integer, anySigned>::type Sum;
  typedef typename PickFixed<integer + fraction, integer, true>::type Difference;
  typedef typename PickFixed<L::width + R::width, L::integer + R::integer, anySigned>::type Product;
};

/// Returns the bits of the number with `fraction` bits after the binary point. The number must not have more bits after
/// the binary point.
inline UWide alignedBits(const Exact &value, int fraction) {
  const int left = fraction - value.fraction;
  return left < 128 ? value.bits << left : 0;
}

/// Returns a < b for operands with any numbers of fraction bits. The operand with more fraction bits is first rounded
/// to the number of fraction bits of the other operand: `a` is rounded down, or `b` up, which does not change the
/// result.
inline bool lessExact(const Exact &a, const Exact &b) {
  if (a.negative != b.negative)
    return a.negative;
  UWide x = a.bits, y = b.bits;
  if (a.fraction >= b.fraction) {
    x = drop(a.bits, a.negative, a.fraction - b.fraction).bits;
  } else {
    const Dropped dropped = drop(b.bits, b.negative, b.fraction - a.fraction);
    y = dropped.bits + (dropped.first || dropped.others);
    if (b.negative && y == 0)
      return true;
  }
  return x < y; // if the signs are equal, an unsigned comparison of two's complement is correct
}

} // namespace tilewright

/// The members of both ap_fixed and ap_ufixed; `bits` is the number times 2^(W - I), sign-extended or zero-extended to
/// 128 bits.
#define TILEWRIGHT_AP_FIXED_TYPE(NAME, SIGNED)                                                                         \
  template <int W, int I, ap_q_mode Q, ap_o_mode O> struct NAME {                                                      \
    static_assert(W >= 1 && W <= 128, "1 to 128 bits");                                                                \
    static constexpr int width = W, iwidth = I;                                                                        \
    tilewright::UWide bits = 0;                                                                                        \
    NAME() = default;                                                                                                  \
    NAME(double value) { set(tilewright::exactOf(value)); }                                                            \
    NAME(float value) { set(tilewright::exactOf(value)); }                                                             \
    template <typename T, typename = typename std::enable_if<!std::is_floating_point<T>::value>::type>                 \
    NAME(const T &value) {                                                                                             \
      set(tilewright::Point<T>::exact(value));                                                                         \
    }                                                                                                                  \
    explicit operator double() const {                                                                                 \
      return ldexp(SIGNED ? double(tilewright::Wide(bits)) : double(bits), I - W);                                     \
    }                                                                                                                  \
    explicit operator float() const { return float(double(*this)); }                                                   \
    double to_double() const { return double(*this); }                                                                 \
    static NAME of_bits(tilewright::UWide given) {                                                                     \
      NAME made;                                                                                                       \
      made.bits = tilewright::cut<W, SIGNED>(given);                                                                   \
      return made;                                                                                                     \
    }                                                                                                                  \
    NAME operator<<(int by) const { return of_bits(by >= W ? tilewright::UWide(0) : bits << by); }                     \
    NAME operator>>(int by) const { return of_bits(tilewright::drop(bits, SIGNED && (bits >> 127), by).bits); }        \
    ap_fixed<W + 1, I + 1> operator-() const { return ap_fixed<W + 1, I + 1>::of_bits(tilewright::UWide(0) - bits); }  \
                                                                                                                       \
  private:                                                                                                             \
    void set(const tilewright::Exact &value) { bits = tilewright::assign<W, SIGNED>(value, W - I, Q, O); }             \
  };
TILEWRIGHT_AP_FIXED_TYPE(ap_fixed, true)
TILEWRIGHT_AP_FIXED_TYPE(ap_ufixed, false)
#undef TILEWRIGHT_AP_FIXED_TYPE

#define TILEWRIGHT_AP_FIXED_SUM(SIGN, RESULT)                                                                          \
  template <typename A, typename B, typename = tilewright::BothFixed<A, B>>                                            \
  typename tilewright::FixedTypes<A, B>::RESULT operator SIGN(const A &a, const B &b) {                                \
    typedef tilewright::FixedTypes<A, B> Types;                                                                        \
    return Types::RESULT::of_bits(tilewright::alignedBits(tilewright::Point<A>::exact(a), Types::fraction)             \
                                      SIGN tilewright::alignedBits(tilewright::Point<B>::exact(b), Types::fraction));  \
  }
TILEWRIGHT_AP_FIXED_SUM(+, Sum)
TILEWRIGHT_AP_FIXED_SUM(-, Difference)
#undef TILEWRIGHT_AP_FIXED_SUM

template <typename A, typename B, typename = tilewright::BothFixed<A, B>>
typename tilewright::FixedTypes<A, B>::Product operator*(const A &a, const B &b) {
  return tilewright::FixedTypes<A, B>::Product::of_bits(tilewright::Point<A>::exact(a).bits *
                                                        tilewright::Point<B>::exact(b).bits);
}

#define TILEWRIGHT_AP_FIXED_COMPARE(SIGN, WHAT)                                                                        \
  template <typename A, typename B>                                                                                    \
  tilewright::BothFixed<A, B, bool> operator SIGN(const A &first, const B &second) {                                   \
    const tilewright::Exact a = tilewright::Point<A>::exact(first), b = tilewright::Point<B>::exact(second);           \
    return WHAT;                                                                                                       \
  }
TILEWRIGHT_AP_FIXED_COMPARE(<, tilewright::lessExact(a, b))
TILEWRIGHT_AP_FIXED_COMPARE(>, tilewright::lessExact(b, a))
TILEWRIGHT_AP_FIXED_COMPARE(<=, !tilewright::lessExact(b, a))
TILEWRIGHT_AP_FIXED_COMPARE(>=, !tilewright::lessExact(a, b))
TILEWRIGHT_AP_FIXED_COMPARE(==, !tilewright::lessExact(a, b) && !tilewright::lessExact(b, a))
TILEWRIGHT_AP_FIXED_COMPARE(!=, tilewright::lessExact(a, b) || tilewright::lessExact(b, a))
#undef TILEWRIGHT_AP_FIXED_COMPARE

#endif

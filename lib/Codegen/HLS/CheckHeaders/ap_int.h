// This file is part of Tilewright. It replaces the vendor's header of the same name, so that ordinary compilers can
// compile and run a design. It defines integers of 1 to 128 bits. A value that is assigned to such an integer wraps
// around. The results of ~ and of shifts have the type of the first operand. The result of any other arithmetic or
// bitwise operator has as many bits as the exact result needs, but at most 128.
#ifndef TILEWRIGHT_LIB_CODEGEN_HLS_CHECKHEADERS_AP_INT_H
#define TILEWRIGHT_LIB_CODEGEN_HLS_CHECKHEADERS_AP_INT_H

#include <stdint.h>

#include <type_traits>

template <int W> struct ap_int;
template <int W> struct ap_uint;

namespace tilewright {

__extension__ typedef __int128 Wide;
__extension__ typedef unsigned __int128 UWide;

constexpr int narrower(int bits) { return bits > 128 ? 128 : bits; }

/// Returns the low W bits of `bits`, sign-extended or zero-extended.
template <int W, bool SIGNED> constexpr UWide cut(UWide bits) {
  static_assert(W >= 1 && W <= 128, "1 to 128 bits");
  if (W == 128)
    return bits;
  const UWide mask = (UWide(1) << (W % 128)) - 1;
  const bool negative = SIGNED && ((bits >> (W - 1)) & 1);
  return negative ? bits | ~mask : bits & mask;
}

/// Traits of an operand's type, which is an ap type or a plain integer: its width, its signedness, and its bits.
template <typename T> struct Shape {
  static constexpr int width = int(sizeof(T)) * 8;
  static constexpr bool isSigned = std::is_signed<T>::value;
  static constexpr UWide bits(T value) { return UWide(Wide(value)); }
};
template <> struct Shape<bool> {
  static constexpr int width = 1;
  static constexpr bool isSigned = false;
  static constexpr UWide bits(bool value) { return value; }
};
template <int W> struct Shape<ap_int<W>> {
  static constexpr int width = W;
  static constexpr bool isSigned = true;
  static constexpr UWide bits(const ap_int<W> &value) { return value.bits; }
};
template <int W> struct Shape<ap_uint<W>> {
  static constexpr int width = W;
  static constexpr bool isSigned = false;
  static constexpr UWide bits(const ap_uint<W> &value) { return value.bits; }
};

template <int W, bool SIGNED> struct Pick {
  typedef ap_int<W> type;
};
template <int W> struct Pick<W, false> {
  typedef ap_uint<W> type;
};

template <typename T> struct IsAp : std::false_type {};
template <int W> struct IsAp<ap_int<W>> : std::true_type {};
template <int W> struct IsAp<ap_uint<W>> : std::true_type {};
/// True if at least one operand is an ap type and the other is an ap type or an integer.
template <typename A, typename B>
using BothFit = typename std::enable_if<(IsAp<A>::value && (IsAp<B>::value || std::is_integral<B>::value)) ||
                                        (IsAp<B>::value && std::is_integral<A>::value)>::type;

template <typename A, typename B> struct Types {
  typedef Shape<A> L;
  typedef Shape<B> R;
  static constexpr bool anySigned = L::isSigned || R::isSigned;
  /// Bits of the operands in a common type. If only one operand is signed, the unsigned operand needs an additional bit
  /// for the sign.
  static constexpr int left = L::width + (anySigned && !L::isSigned);
  static constexpr int right = R::width + (anySigned && !R::isSigned);
  static constexpr int common = left > right ? left : right;
  typedef typename Pick<narrower(common + 1), anySigned>::type Sum;
  typedef typename Pick<narrower(common + 1), true>::type Difference;
  typedef typename Pick<narrower(L::width + R::width), anySigned>::type Product;
  typedef typename Pick<narrower(L::width + R::isSigned), anySigned>::type Quotient;
  /// Bits of the divisor in a type that is signed if the dividend is signed, like the type of the remainder.
  static constexpr int divisor = R::width + (L::isSigned && !R::isSigned);
  typedef typename Pick<(L::width < divisor ? L::width : divisor), L::isSigned>::type Remainder;
  typedef typename Pick<narrower(common), anySigned>::type Bitwise;
};

/// Returns the absolute value of `value`, and sets `negative` to its sign.
template <typename T> UWide magnitude(const T &value, bool &negative) {
  const UWide bits = Shape<T>::bits(value);
  negative = Shape<T>::isSigned && (bits >> 127);
  return negative ? UWide(0) - bits : bits;
}

template <typename A, typename B> bool less(const A &a, const B &b) {
  bool negativeA, negativeB;
  const UWide x = magnitude(a, negativeA), y = magnitude(b, negativeB);
  if (negativeA != negativeB)
    return negativeA;
  return negativeA ? y < x : x < y;
}

} // namespace tilewright

/// The members of both ap_int and ap_uint; `bits` is the number, sign-extended or zero-extended to 128 bits.
#define TILEWRIGHT_AP_TYPE(NAME, SIGNED)                                                                               \
  template <int W> struct NAME {                                                                                       \
    static constexpr int width = W;                                                                                    \
    tilewright::UWide bits = 0;                                                                                        \
    NAME() = default;                                                                                                  \
    template <typename T, typename = typename std::enable_if<std::is_integral<T>::value>::type>                        \
    NAME(T value) : bits(tilewright::cut<W, SIGNED>(tilewright::Shape<T>::bits(value))) {}                             \
    NAME(tilewright::Wide value) : bits(tilewright::cut<W, SIGNED>(tilewright::UWide(value))) {}                       \
    NAME(tilewright::UWide value) : bits(tilewright::cut<W, SIGNED>(value)) {}                                         \
    NAME(float value) : NAME(double(value)) {}                                                                         \
    NAME(double value) : NAME(tilewright::Wide(value)) {}                                                              \
    template <int V> NAME(const ap_int<V> &other) : bits(tilewright::cut<W, SIGNED>(other.bits)) {}                    \
    template <int V> NAME(const ap_uint<V> &other) : bits(tilewright::cut<W, SIGNED>(other.bits)) {}                   \
    explicit operator bool() const { return bits != 0; }                                                               \
    explicit operator double() const { return SIGNED ? double(tilewright::Wide(bits)) : double(bits); }                \
    explicit operator float() const { return SIGNED ? float(tilewright::Wide(bits)) : float(bits); }                   \
    template <typename T, typename = typename std::enable_if<std::is_integral<T>::value>::type>                        \
    explicit operator T() const {                                                                                      \
      return T(bits);                                                                                                  \
    }                                                                                                                  \
    NAME operator~() const { return NAME(~bits); }                                                                     \
    NAME operator<<(int by) const { return by >= W ? NAME() : NAME(bits << by); }                                      \
    NAME operator>>(int by) const {                                                                                    \
      const bool negative = SIGNED && (bits >> 127);                                                                   \
      if (by >= W)                                                                                                     \
        return negative ? NAME(~tilewright::UWide(0)) : NAME();                                                        \
      return negative ? NAME(~(~bits >> by)) : NAME(bits >> by);                                                       \
    }                                                                                                                  \
  };
TILEWRIGHT_AP_TYPE(ap_int, true)
TILEWRIGHT_AP_TYPE(ap_uint, false)
#undef TILEWRIGHT_AP_TYPE

#define TILEWRIGHT_AP_WRAPPING(SIGN, RESULT)                                                                           \
  template <typename A, typename B, typename = tilewright::BothFit<A, B>>                                              \
  typename tilewright::Types<A, B>::RESULT operator SIGN(const A &a, const B &b) {                                     \
    return typename tilewright::Types<A, B>::RESULT(tilewright::Shape<A>::bits(a) SIGN tilewright::Shape<B>::bits(b)); \
  }
TILEWRIGHT_AP_WRAPPING(+, Sum)
TILEWRIGHT_AP_WRAPPING(-, Difference)
TILEWRIGHT_AP_WRAPPING(*, Product)
TILEWRIGHT_AP_WRAPPING(&, Bitwise)
TILEWRIGHT_AP_WRAPPING(|, Bitwise)
TILEWRIGHT_AP_WRAPPING(^, Bitwise)
#undef TILEWRIGHT_AP_WRAPPING

/// Returns the quotient, rounded towards zero as in C++.
template <typename A, typename B, typename = tilewright::BothFit<A, B>>
typename tilewright::Types<A, B>::Quotient operator/(const A &a, const B &b) {
  bool negativeA, negativeB;
  const tilewright::UWide quotient = tilewright::magnitude(a, negativeA) / tilewright::magnitude(b, negativeB);
  return typename tilewright::Types<A, B>::Quotient(negativeA != negativeB ? tilewright::UWide(0) - quotient : quotient);
}
/// Returns the remainder, which has the sign of the dividend.
template <typename A, typename B, typename = tilewright::BothFit<A, B>>
typename tilewright::Types<A, B>::Remainder operator%(const A &a, const B &b) {
  bool negativeA, negativeB;
  const tilewright::UWide rest = tilewright::magnitude(a, negativeA) % tilewright::magnitude(b, negativeB);
  return typename tilewright::Types<A, B>::Remainder(negativeA ? tilewright::UWide(0) - rest : rest);
}

template <typename A, typename B, typename = tilewright::BothFit<A, B>> bool operator<(const A &a, const B &b) {
  return tilewright::less(a, b);
}
template <typename A, typename B, typename = tilewright::BothFit<A, B>> bool operator>(const A &a, const B &b) {
  return tilewright::less(b, a);
}
template <typename A, typename B, typename = tilewright::BothFit<A, B>> bool operator<=(const A &a, const B &b) {
  return !tilewright::less(b, a);
}
template <typename A, typename B, typename = tilewright::BothFit<A, B>> bool operator>=(const A &a, const B &b) {
  return !tilewright::less(a, b);
}
template <typename A, typename B, typename = tilewright::BothFit<A, B>> bool operator==(const A &a, const B &b) {
  return !tilewright::less(a, b) && !tilewright::less(b, a);
}
template <typename A, typename B, typename = tilewright::BothFit<A, B>> bool operator!=(const A &a, const B &b) {
  return !(a == b);
}

#endif

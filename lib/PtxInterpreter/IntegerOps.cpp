//===- IntegerOps.cpp - integer arithmetic ---------------------------------------------------===//
//
// Integer arithmetic wraps around, except with .sat. A division by zero returns a quotient with all bits set and the
// dividend as the remainder. The PTX ISA does not specify the results of a division by zero.
//
//===----------------------------------------------------------------------===//
#include "lib/PtxInterpreter/Lanes.h"
#include "lib/PtxInterpreter/Table.h"

#include <algorithm>
#include <limits>

namespace tilewright::ptx {
namespace {

using Wide = __int128;
template <class T> using Unsigned = std::make_unsigned_t<T>;
template <class T> constexpr bool kSigned = std::is_signed_v<T>;

template <class T> T wrapped(Wide value) { return T(Unsigned<T>(static_cast<unsigned __int128>(value))); }
template <class T> T saturated(Wide value) {
  return T(std::clamp<Wide>(value, std::numeric_limits<T>::min(), std::numeric_limits<T>::max()));
}
template <class T> T quotient(T a, T b) {
  if (b == 0)
    return T(~T(0));
  if constexpr (kSigned<T>)
    if (b == T(-1))
      return T(Unsigned<T>(0) - Unsigned<T>(a));
  return T(a / b);
}
template <class T> T remainder(T a, T b) {
  if (b == 0)
    return a;
  if constexpr (kSigned<T>)
    if (b == T(-1))
      return 0;
  return T(a % b);
}

template <class T> void addIntegerType(Table &table, const std::string &type) {
  using U = Unsigned<T>;
  std::string letter(1, sizeof(T) == 2 ? 'h' : sizeof(T) == 4 ? 'w' : 'd');
  std::string two = letter + "=" + letter, three = two + letter, four = three + letter;
  auto binary = [&](const std::string &opcode, auto f) { table.add(opcode + type, three.c_str(), map<T, T, T>(f)); };
  binary("add", [](T a, T b) { return T(U(a) + U(b)); });
  binary("sub", [](T a, T b) { return T(U(a) - U(b)); });
  binary("mul.lo", [](T a, T b) { return wrapped<T>(Wide(a) * Wide(b)); });
  binary("mul.hi", [](T a, T b) {
    if constexpr (kSigned<T>)
      return T((Wide(a) * b) >> (8 * sizeof(T)));
    else
      return T((static_cast<unsigned __int128>(a) * b) >> (8 * sizeof(T)));
  });
  binary("div", [](T a, T b) { return quotient(a, b); });
  binary("rem", [](T a, T b) { return remainder(a, b); });
  binary("min", [](T a, T b) { return std::min(a, b); });
  binary("max", [](T a, T b) { return std::max(a, b); });
  table.add("mad.lo" + type, four.c_str(),
            map<T, T, T, T>([](T a, T b, T c) { return wrapped<T>(Wide(a) * Wide(b) + Wide(c)); }));
  table.add("mad.hi" + type, four.c_str(), map<T, T, T, T>([](T a, T b, T c) {
              if constexpr (kSigned<T>)
                return wrapped<T>(((Wide(a) * b) >> (8 * sizeof(T))) + c);
              else
                return T(((static_cast<unsigned __int128>(a) * b) >> (8 * sizeof(T))) + c);
            }));
  table.add("sad" + type, four.c_str(),
            map<T, T, T, T>([](T a, T b, T c) { return T(U(c) + (a > b ? U(a) - U(b) : U(b) - U(a))); }));
  if constexpr (kSigned<T>) {
    table.add("abs" + type, two.c_str(), map<T, T>([](T a) { return a < 0 ? T(U(0) - U(a)) : a; }));
    table.add("neg" + type, two.c_str(), map<T, T>([](T a) { return T(U(0) - U(a)); }));
  }
  if constexpr (sizeof(T) < 8) {
    using W = std::conditional_t<sizeof(T) == 2, std::conditional_t<kSigned<T>, int32_t, uint32_t>,
                                 std::conditional_t<kSigned<T>, int64_t, uint64_t>>;
    std::string wide(1, sizeof(T) == 2 ? 'w' : 'd');
    table.add("mul.wide" + type, (wide + "=" + letter + letter).c_str(),
              map<W, T, T>([](T a, T b) { return W(Wide(a) * Wide(b)); }));
    table.add("mad.wide" + type, (wide + "=" + letter + letter + wide).c_str(),
              map<W, T, T, W>([](T a, T b, W c) { return wrapped<W>(Wide(a) * Wide(b) + Wide(c)); }));
  }
}

/// Returns the function of dp4a, which adds four products of bytes.
template <class A, class B> auto dotFour() {
  return [](uint32_t a, uint32_t b, uint32_t c) {
    for (int i = 0; i < 4; ++i)
      c += uint32_t(int32_t(A(a >> (8 * i))) * int32_t(B(b >> (8 * i))));
    return c;
  };
}
template <class A, class B, int first> auto dotTwo() {
  using A16 = std::conditional_t<std::is_signed_v<A>, int16_t, uint16_t>;
  return [](uint32_t a, uint32_t b, uint32_t c) {
    for (int i = 0; i < 2; ++i)
      c += uint32_t(int32_t(A16(a >> (16 * i))) * int32_t(B(b >> (8 * (i + first)))));
    return c;
  };
}
template <class A, class B> void addDots(Table &table, const std::string &types) {
  table.add("dp4a" + types, "w=www", map<uint32_t, uint32_t, uint32_t, uint32_t>(dotFour<A, B>()));
  table.add("dp2a.lo" + types, "w=www", map<uint32_t, uint32_t, uint32_t, uint32_t>(dotTwo<A, B, 0>()));
  table.add("dp2a.hi" + types, "w=www", map<uint32_t, uint32_t, uint32_t, uint32_t>(dotTwo<A, B, 2>()));
}

int32_t signedMul24(int32_t a) { return int32_t(uint32_t(a) << 8) >> 8; }

} // namespace

void addIntegerForms(Table &table) {
  addIntegerType<int16_t>(table, ".s16");
  addIntegerType<uint16_t>(table, ".u16");
  addIntegerType<int32_t>(table, ".s32");
  addIntegerType<uint32_t>(table, ".u32");
  addIntegerType<int64_t>(table, ".s64");
  addIntegerType<uint64_t>(table, ".u64");
  table.add("add.sat.s32", "w=ww",
            map<int32_t, int32_t, int32_t>([](int32_t a, int32_t b) { return saturated<int32_t>(Wide(a) + b); }));
  table.add("sub.sat.s32", "w=ww",
            map<int32_t, int32_t, int32_t>([](int32_t a, int32_t b) { return saturated<int32_t>(Wide(a) - b); }));
  table.add("mad.hi.sat.s32", "w=www", map<int32_t, int32_t, int32_t, int32_t>([](int32_t a, int32_t b, int32_t c) {
              return saturated<int32_t>(((Wide(a) * b) >> 32) + c);
            }));
  table.add("mul24.lo.s32", "w=ww", map<int32_t, int32_t, int32_t>([](int32_t a, int32_t b) {
              return wrapped<int32_t>(Wide(signedMul24(a)) * signedMul24(b));
            }));
  table.add("mul24.lo.u32", "w=ww", map<uint32_t, uint32_t, uint32_t>([](uint32_t a, uint32_t b) {
              return uint32_t((a & 0xffffff) * uint64_t(b & 0xffffff));
            }));
  table.add("min.relu.s32", "w=ww",
            map<int32_t, int32_t, int32_t>([](int32_t a, int32_t b) { return std::max(0, std::min(a, b)); }));
  table.add("max.relu.s32", "w=ww",
            map<int32_t, int32_t, int32_t>([](int32_t a, int32_t b) { return std::max(0, std::max(a, b)); }));
  addDots<int8_t, int8_t>(table, ".s32.s32");
  addDots<int8_t, uint8_t>(table, ".s32.u32");
  addDots<uint8_t, int8_t>(table, ".u32.s32");
  addDots<uint8_t, uint8_t>(table, ".u32.u32");
}

} // namespace tilewright::ptx

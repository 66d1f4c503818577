//===- HalfOps.cpp - arithmetic of f16 and bf16, scalar and packed ----------------------------------===//
//
// Each operation on f16 or bf16 is computed in double, either exactly or rounded to odd, and is then rounded to its
// format. There are two exceptions: tanh.approx and ex2.approx are computed in double with rounding to nearest, and neg
// and abs without .ftz change only the sign bit.
//
//===----------------------------------------------------------------------===//
#include "lib/PtxInterpreter/Formats.h"
#include "lib/PtxInterpreter/Lanes.h"
#include "lib/PtxInterpreter/Table.h"

namespace tilewright::ptx {
namespace {

template <class T> constexpr const Format &formatOf() {
  if constexpr (std::is_same_v<T, Half>)
    return kHalf;
  else
    return kBfloat16;
}
template <class T> double value(T bits, uint32_t mods = 0) {
  float x = std::is_same_v<T, Half> ? halfToFloat(uint16_t(bits)) : bfloat16ToFloat(uint16_t(bits));
  if (mods & ModFtz && std::is_same_v<T, Half> && std::fabs(x) < 0x1p-14f)
    return std::copysign(0.0, x);
  return x;
}
template <class T> T rounded(uint32_t mods, double x) {
  if (mods & ModSat)
    x = x > 0 ? std::min(x, 1.0) : 0.0;
  if (mods & ModRelu)
    x = x > 0 ? x : x == x ? 0.0 : x;
  uint32_t bits = encode(x, formatOf<T>());
  if (mods & ModFtz && std::is_same_v<T, Half> && !(bits & 0x7c00))
    bits &= 0x8000;
  return T(uint16_t(bits));
}

/// Applies an operation on 16-bit scalars to pairs of scalars in 32-bit registers.
template <class T, class F> struct Pairs {
  static uint32_t two(uint32_t m, uint32_t a) { return both(F{}(m, T(uint16_t(a))), F{}(m, T(uint16_t(a >> 16)))); }
  static uint32_t both(T low, T high) { return uint32_t(uint16_t(low)) | uint32_t(uint16_t(high)) << 16; }
};
template <class T, class F>
void unary(Table &table, const std::string &opcode, uint32_t mods, const std::string &type, F) {
  table.add(opcode + type, "h=h", map<T, T>([](uint32_t m, T a) { return F{}(m, a); }), mods);
  table.add(opcode + type + "x2", "w=w",
            map<uint32_t, uint32_t>([](uint32_t m, uint32_t a) { return Pairs<T, F>::two(m, a); }), mods);
}
template <class T, class F>
void binary(Table &table, const std::string &opcode, uint32_t mods, const std::string &type, F) {
  table.add(opcode + type, "h=hh", map<T, T, T>([](uint32_t m, T a, T b) { return F{}(m, a, b); }), mods);
  table.add(opcode + type + "x2", "w=ww", map<uint32_t, uint32_t, uint32_t>([](uint32_t m, uint32_t a, uint32_t b) {
              return Pairs<T, F>::both(F{}(m, T(uint16_t(a)), T(uint16_t(b))),
                                       F{}(m, T(uint16_t(a >> 16)), T(uint16_t(b >> 16))));
            }),
            mods);
}
template <class T, class F>
void ternary(Table &table, const std::string &opcode, uint32_t mods, const std::string &type, F) {
  table.add(opcode + type, "h=hhh", map<T, T, T, T>([](uint32_t m, T a, T b, T c) { return F{}(m, a, b, c); }), mods);
  table.add(opcode + type + "x2", "w=www",
            map<uint32_t, uint32_t, uint32_t, uint32_t>([](uint32_t m, uint32_t a, uint32_t b, uint32_t c) {
              return Pairs<T, F>::both(F{}(m, T(uint16_t(a)), T(uint16_t(b)), T(uint16_t(c))),
                                       F{}(m, T(uint16_t(a >> 16)), T(uint16_t(b >> 16)), T(uint16_t(c >> 16))));
            }),
            mods);
}

template <class T> T least(uint32_t m, T first, T second, bool greatest) {
  double a = value(first, m), b = value(second, m);
  double sign = std::signbit(a) != std::signbit(b) ? -1.0 : 1.0;
  if (m & ModAbs)
    a = std::fabs(a), b = std::fabs(b);
  if (a != a || b != b) {
    if (m & ModNan || (a != a && b != b))
      return T(uint16_t(0x7fff));
    return rounded<T>(0, a != a ? b : a);
  }
  bool takeFirst = a == b ? std::signbit(a) != greatest : (a < b) != greatest;
  double chosen = takeFirst ? a : b;
  return rounded<T>(m & ModFtz, m & ModXorSign ? std::copysign(chosen, sign) : chosen);
}

template <class T> void addHalfType(Table &table, const std::string &type) {
  bool half = std::is_same_v<T, Half>;
  std::initializer_list<Choice> rounds = {{"", 0}, {".rn", 0}}, none = {{"", 0}};
  auto flush = half ? std::initializer_list<Choice>{{"", 0}, {".ftz", ModFtz}} : none;
  auto saturate = half ? std::initializer_list<Choice>{{"", 0}, {".sat", ModSat}} : none;
  combine("add", {rounds, flush, saturate}, "", [&](const std::string &o, uint32_t m) {
    binary<T>(table, o, m, type,
              [](uint32_t m, T a, T b) { return rounded<T>(m, sumToOdd(value(a, m), value(b, m))); });
  });
  combine("sub", {rounds, flush, saturate}, "", [&](const std::string &o, uint32_t m) {
    binary<T>(table, o, m, type,
              [](uint32_t m, T a, T b) { return rounded<T>(m, sumToOdd(value(a, m), -value(b, m))); });
  });
  combine("mul", {rounds, flush, saturate}, "", [&](const std::string &o, uint32_t m) {
    binary<T>(table, o, m, type, [](uint32_t m, T a, T b) { return rounded<T>(m, value(a, m) * value(b, m)); });
  });
  combine("fma", {{{".rn", 0}}, flush, {{"", 0}, {".sat", ModSat}, {".relu", ModRelu}}}, "",
          [&](const std::string &o, uint32_t m) {
            ternary<T>(table, o, m, type, [](uint32_t m, T a, T b, T c) {
              return rounded<T>(m, sumToOdd(value(a, m) * value(b, m), value(c, m)));
            });
          });
  combine("neg", {flush}, "", [&](const std::string &o, uint32_t m) {
    unary<T>(table, o, m, type, [](uint32_t m, T a) {
      return T(uint16_t(uint16_t(m & ModFtz ? rounded<T>(m, value(a, m)) : a) ^ 0x8000));
    });
  });
  combine("abs", {flush}, "", [&](const std::string &o, uint32_t m) {
    unary<T>(table, o, m, type, [](uint32_t m, T a) {
      return T(uint16_t(uint16_t(m & ModFtz ? rounded<T>(m, value(a, m)) : a) & 0x7fff));
    });
  });
  combine("min",
          {flush,
           {{"", 0},
            {".NaN", ModNan},
            {".xorsign.abs", ModXorSign | ModAbs},
            {".NaN.xorsign.abs", ModNan | ModXorSign | ModAbs}}},
          "", [&](const std::string &o, uint32_t m) {
            binary<T>(table, o, m, type, [](uint32_t m, T a, T b) { return least(m, a, b, false); });
          });
  combine("max",
          {flush,
           {{"", 0},
            {".NaN", ModNan},
            {".xorsign.abs", ModXorSign | ModAbs},
            {".NaN.xorsign.abs", ModNan | ModXorSign | ModAbs}}},
          "", [&](const std::string &o, uint32_t m) {
            binary<T>(table, o, m, type, [](uint32_t m, T a, T b) { return least(m, a, b, true); });
          });
  unary<T>(table, "tanh.approx", 0, type, [](uint32_t m, T a) { return rounded<T>(m, std::tanh(value(a))); });
  for (const char *opcode : {"ex2.approx", "ex2.approx.ftz"})
    unary<T>(table, opcode, 0, type, [](uint32_t m, T a) { return rounded<T>(m, std::exp2(value(a))); });
}

} // namespace

void addHalfForms(Table &table) {
  addHalfType<Half>(table, ".f16");
  addHalfType<Bfloat16>(table, ".bf16");
}

} // namespace tilewright::ptx

//===- BitOps.cpp - logic, shifts and fields ---------------------------------------------------===//
#include "lib/PtxInterpreter/Lanes.h"
#include "lib/PtxInterpreter/Table.h"

#include <algorithm>

namespace tilewright::ptx {
namespace {

template <class T> void addLogic(Table &table, const std::string &type, const std::string &letter) {
  std::string two = letter + "=" + letter, three = two + letter;
  table.add("and" + type, three.c_str(), map<T, T, T>([](T a, T b) { return T(uint64_t(a) & uint64_t(b)); }));
  table.add("or" + type, three.c_str(), map<T, T, T>([](T a, T b) { return T(uint64_t(a) | uint64_t(b)); }));
  table.add("xor" + type, three.c_str(), map<T, T, T>([](T a, T b) { return T(uint64_t(a) ^ uint64_t(b)); }));
  table.add("not" + type, two.c_str(),
            map<T, T>([](T a) { return std::is_same_v<T, Flagged> ? T(!uint64_t(a)) : T(~uint64_t(a)); }));
  if constexpr (!std::is_same_v<T, Flagged>)
    table.add("cnot" + type, two.c_str(), map<T, T>([](T a) { return T(a == 0); }));
}

template <class T> void addShifts(Table &table, const std::string &bits, const std::string &letter) {
  using S = std::make_signed_t<T>;
  constexpr uint32_t width = 8 * sizeof(T);
  std::string signature = letter + "=" + letter + "w";
  table.add("shl.b" + bits, signature.c_str(),
            map<T, T, uint32_t>([](T a, uint32_t b) { return b >= width ? T(0) : T(a << b); }));
  for (const char *type : {"shr.u", "shr.b"})
    table.add(type + bits, signature.c_str(),
              map<T, T, uint32_t>([](T a, uint32_t b) { return b >= width ? T(0) : T(a >> b); }));
  table.add("shr.s" + bits, signature.c_str(),
            map<S, S, uint32_t>([](S a, uint32_t b) { return S(a >> std::min(b, width - 1)); }));
}

template <class T> void addCounts(Table &table, const std::string &bits, const std::string &letter) {
  using S = std::make_signed_t<T>;
  std::string one = "w=" + letter, same = letter + "=" + letter;
  table.add("popc.b" + bits, one.c_str(), map<uint32_t, T>([](T a) { return uint32_t(std::popcount(a)); }));
  table.add("clz.b" + bits, one.c_str(), map<uint32_t, T>([](T a) { return uint32_t(std::countl_zero(a)); }));
  table.add("brev.b" + bits, same.c_str(), map<T, T>([](T a) {
              T result = 0;
              for (uint32_t i = 0; i < 8 * sizeof(T); ++i)
                result |= T(a >> i & 1) << (8 * sizeof(T) - 1 - i);
              return result;
            }));
  auto highest = [](T a) { return a ? uint32_t(8 * sizeof(T) - 1) - uint32_t(std::countl_zero(a)) : ~0u; };
  auto toShift = [](T a) { return a ? uint32_t(std::countl_zero(a)) : ~0u; };
  table.add("bfind.u" + bits, one.c_str(), map<uint32_t, T>(highest));
  table.add("bfind.shiftamt.u" + bits, one.c_str(), map<uint32_t, T>(toShift));
  table.add("bfind.s" + bits, one.c_str(), map<uint32_t, S>([](S a) {
              T bits = T(a < 0 ? ~a : a);
              return bits ? uint32_t(8 * sizeof(T) - 1) - uint32_t(std::countl_zero(bits)) : ~0u;
            }));
  table.add("bfind.shiftamt.s" + bits, one.c_str(), map<uint32_t, S>([](S a) {
              T bits = T(a < 0 ? ~a : a);
              return bits ? uint32_t(std::countl_zero(bits)) : ~0u;
            }));
}

/// Adds bfe and bfi, which extract and insert a field of bits. The last two operands are the position of the field's
/// lowest bit and the number of its bits. An extracted field is zero-extended or sign-extended.
template <class T> void addFields(Table &table, const std::string &bits, const std::string &letter) {
  using S = std::make_signed_t<T>;
  constexpr uint32_t width = 8 * sizeof(T);
  std::string extract = letter + "=" + letter + "ww", insert = letter + "=" + letter + letter + "ww";
  table.add("bfe.u" + bits, extract.c_str(), map<T, T, uint32_t, uint32_t>([](T a, uint32_t b, uint32_t c) {
              b &= 255, c &= 255;
              T field = b >= width ? T(0) : T(a >> b);
              return c >= width ? field : T(field & ((T(1) << c) - 1));
            }));
  table.add("bfe.s" + bits, extract.c_str(), map<S, S, uint32_t, uint32_t>([](S a, uint32_t b, uint32_t c) {
              b &= 255, c &= 255;
              if (c == 0)
                return S(0);
              uint32_t last = std::min(b + c - 1, width - 1);
              bool sign = T(a) >> last & 1;
              T result = 0;
              for (uint32_t i = 0; i < width; ++i) {
                bool bit = i < c && b + i < width ? T(a) >> (b + i) & 1 : sign;
                result |= T(bit) << i;
              }
              return S(result);
            }));
  table.add("bfi.b" + bits, insert.c_str(), map<T, T, T, uint32_t, uint32_t>([](T a, T b, uint32_t at, uint32_t count) {
              at &= 255, count &= 255;
              for (uint32_t i = 0; i < count && at + i < width; ++i)
                b = T((b & ~(T(1) << (at + i))) | (T(a >> i & 1) << (at + i)));
              return b;
            }));
}

uint32_t permuted(uint32_t a, uint32_t b, uint32_t selector) {
  uint64_t bytes = uint64_t(b) << 32 | a;
  uint32_t result = 0;
  for (int i = 0; i < 4; ++i) {
    uint32_t choice = selector >> (4 * i) & 15, byte = uint32_t(bytes >> (8 * (choice & 7))) & 255;
    if (choice & 8)
      byte = byte & 128 ? 255 : 0;
    result |= byte << (8 * i);
  }
  return result;
}
uint32_t rotatedSelector(const std::string &mode, uint32_t c) {
  uint32_t s = 0;
  c &= 3;
  for (uint32_t i = 0; i < 4; ++i) {
    uint32_t pick = mode == ".f4e"   ? c + i
                    : mode == ".b4e" ? (8 + c - i) & 7
                    : mode == ".rc8" ? c
                    : mode == ".ecl" ? std::max(i, c)
                    : mode == ".ecr" ? std::min(i, c)
                                     : i % 2 + 2 * (c & 1);
    s |= pick << (4 * i);
  }
  return s;
}

} // namespace

void addBitForms(Table &table) {
  addLogic<Flagged>(table, ".pred", "p");
  addLogic<uint16_t>(table, ".b16", "h");
  addLogic<uint32_t>(table, ".b32", "w");
  addLogic<uint64_t>(table, ".b64", "d");
  addShifts<uint16_t>(table, "16", "h");
  addShifts<uint32_t>(table, "32", "w");
  addShifts<uint64_t>(table, "64", "d");
  addCounts<uint32_t>(table, "32", "w");
  addCounts<uint64_t>(table, "64", "d");
  addFields<uint32_t>(table, "32", "w");
  addFields<uint64_t>(table, "64", "d");
  using U = uint32_t;
  table.add("lop3.b32", "w=wwww", map<U, U, U, U, U>([](U a, U b, U c, U lut) {
              U result = 0;
              for (U i = 0; i < 8; ++i)
                if (lut >> i & 1)
                  result |= (i & 4 ? a : ~a) & (i & 2 ? b : ~b) & (i & 1 ? c : ~c);
              return result;
            }));
  table.add("shf.l.wrap.b32", "w=www",
            map<U, U, U, U>([](U a, U b, U c) { return U((uint64_t(b) << 32 | a) << (c & 31) >> 32); }));
  table.add("shf.r.wrap.b32", "w=www",
            map<U, U, U, U>([](U a, U b, U c) { return U((uint64_t(b) << 32 | a) >> (c & 31)); }));
  table.add("shf.l.clamp.b32", "w=www",
            map<U, U, U, U>([](U a, U b, U c) { return c >= 32 ? a : U((uint64_t(b) << 32 | a) << c >> 32); }));
  table.add("shf.r.clamp.b32", "w=www",
            map<U, U, U, U>([](U a, U b, U c) { return U((uint64_t(b) << 32 | a) >> std::min(c, 32u)); }));
  table.add("prmt.b32", "w=www", map<U, U, U, U>([](U a, U b, U c) { return permuted(a, b, c); }));
  table.add("prmt.b32.f4e", "w=www",
            map<U, U, U, U>([](U a, U b, U c) { return permuted(a, b, rotatedSelector(".f4e", c)); }));
  table.add("prmt.b32.b4e", "w=www",
            map<U, U, U, U>([](U a, U b, U c) { return permuted(a, b, rotatedSelector(".b4e", c)); }));
  table.add("prmt.b32.rc8", "w=www",
            map<U, U, U, U>([](U a, U b, U c) { return permuted(a, b, rotatedSelector(".rc8", c)); }));
  table.add("prmt.b32.ecl", "w=www",
            map<U, U, U, U>([](U a, U b, U c) { return permuted(a, b, rotatedSelector(".ecl", c)); }));
  table.add("prmt.b32.ecr", "w=www",
            map<U, U, U, U>([](U a, U b, U c) { return permuted(a, b, rotatedSelector(".ecr", c)); }));
  table.add("prmt.b32.rc16", "w=www",
            map<U, U, U, U>([](U a, U b, U c) { return permuted(a, b, rotatedSelector(".rc16", c)); }));
  table.add("bmsk.clamp.b32", "w=ww",
            map<U, U, U>([](U a, U b) { return a >= 32 ? 0u : (b >= 32 ? ~0u : (1u << b) - 1) << a; }));
  table.add("bmsk.wrap.b32", "w=ww", map<U, U, U>([](U a, U b) { return ((1u << (b & 31)) - 1) << (a & 31); }));
}

} // namespace tilewright::ptx

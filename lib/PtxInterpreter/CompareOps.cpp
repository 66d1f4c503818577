//===- CompareOps.cpp - setp, set, selp, slct ---------------------------------------------------------===//
//
// setp.CMP{.BOOL}.type p{|q}, a, b{, c} computes p = (a CMP b) BOOL c and q = !(a CMP b) BOOL c. A floating-point
// comparison with the suffix u is also true if an operand is NaN.
//
//===----------------------------------------------------------------------===//
#include "lib/PtxInterpreter/Formats.h"
#include "lib/PtxInterpreter/Lanes.h"
#include "lib/PtxInterpreter/Table.h"

namespace tilewright::ptx {
namespace {

enum : uint32_t {
  Eq,
  Ne,
  Lt,
  Le,
  Gt,
  Ge,
  Num,
  Nan,
  CompareMask = 7,
  Unordered = 8,
  Plain = 0,
  And = 16,
  Or = 32,
  Xor = 48,
  BoolMask = 48
};
constexpr uint32_t kUnit = ModUser;

template <class T> bool holds(uint32_t mods, T a, T b) {
  uint32_t code = mods / kUnit;
  if constexpr (!std::is_integral_v<T>) {
    double x = asNumber(a), y = asNumber(b);
    if (mods & ModFtz && std::is_same_v<T, float>)
      x = flushed(float(x)), y = flushed(float(y));
    bool nan = x != x || y != y;
    switch (code & CompareMask) {
    case Num:
      return !nan;
    case Nan:
      return nan;
    default:
      if (nan)
        return code & Unordered;
    }
    switch (code & CompareMask) {
    case Eq:
      return x == y;
    case Ne:
      return x != y;
    case Lt:
      return x < y;
    case Le:
      return x <= y;
    case Gt:
      return x > y;
    default:
      return x >= y;
    }
  } else {
    switch (code & CompareMask) {
    case Eq:
      return a == b;
    case Ne:
      return a != b;
    case Lt:
      return a < b;
    case Le:
      return a <= b;
    case Gt:
      return a > b;
    default:
      return a >= b;
    }
  }
}
bool joined(uint32_t mods, bool value, bool other) {
  switch (mods / kUnit & BoolMask) {
  case And:
    return value && other;
  case Or:
    return value || other;
  case Xor:
    return value != other;
  default:
    return value;
  }
}

template <class T> void runSetp(Exec &e, const Instr &in) {
  uint32_t *p = e.row<uint32_t>(in, 0);
  uint32_t second = e.operand(in, 1);
  uint32_t *q = second == kNoRow ? nullptr : e.rowAt<uint32_t>(second);
  const Cell<T> *a = e.row<Cell<T>>(in, 2), *b = e.row<Cell<T>>(in, 3);
  const uint32_t *c = in.sources > 2 ? e.row<uint32_t>(in, 4) : nullptr;
  forLanes(e.mask, [&](uint32_t lane) {
    bool value = holds<T>(in.mods, fromCell<T>(a[lane]), fromCell<T>(b[lane])), other = c ? c[lane] & 1 : false;
    p[lane] = joined(in.mods, value, other);
    if (q)
      q[lane] = joined(in.mods, !value, other);
  });
}
/// Executes setp on pairs, which computes one predicate per half. If q is missing, computes only the predicate of the
/// low half.
template <class T> void runSetpPair(Exec &e, const Instr &in) {
  uint32_t *p = e.row<uint32_t>(in, 0);
  uint32_t second = e.operand(in, 1);
  uint32_t *q = second == kNoRow ? nullptr : e.rowAt<uint32_t>(second);
  const uint32_t *a = e.row<uint32_t>(in, 2), *b = e.row<uint32_t>(in, 3);
  const uint32_t *c = in.sources > 2 ? e.row<uint32_t>(in, 4) : nullptr;
  forLanes(e.mask, [&](uint32_t lane) {
    bool low = holds<T>(in.mods, T(uint16_t(a[lane])), T(uint16_t(b[lane]))),
         high = holds<T>(in.mods, T(uint16_t(a[lane] >> 16)), T(uint16_t(b[lane] >> 16)));
    bool other = c ? c[lane] & 1 : false;
    p[lane] = joined(in.mods, low, other);
    if (q)
      q[lane] = joined(in.mods, high, other);
  });
}
/// Executes set.CMP.dtype.stype. If the comparison is true, the result is 1.0f for the dtype f32, and has all bits set
/// for other dtypes.
template <class T, bool Float> void runSet(Exec &e, const Instr &in) {
  uint32_t *d = e.row<uint32_t>(in, 0);
  const Cell<T> *a = e.row<Cell<T>>(in, 1), *b = e.row<Cell<T>>(in, 2);
  const uint32_t *c = in.sources > 2 ? e.row<uint32_t>(in, 3) : nullptr;
  forLanes(e.mask, [&](uint32_t lane) {
    bool value =
        joined(in.mods, holds<T>(in.mods, fromCell<T>(a[lane]), fromCell<T>(b[lane])), c ? c[lane] & 1 : false);
    d[lane] = value ? (Float ? 0x3f800000u : ~0u) : 0;
  });
}

template <class T> void addComparisons(Table &table, const std::string &type, const std::string &letter) {
  constexpr bool isFloat = !std::is_integral_v<T>;
  std::vector<Choice> compares = {{".eq", Eq * kUnit}, {".ne", Ne * kUnit}, {".lt", Lt * kUnit},
                                  {".le", Le * kUnit}, {".gt", Gt * kUnit}, {".ge", Ge * kUnit}};
  if (isFloat)
    for (Choice more : {Choice{".equ", (Eq | Unordered) * kUnit},
                        {".neu", (Ne | Unordered) * kUnit},
                        {".ltu", (Lt | Unordered) * kUnit},
                        {".leu", (Le | Unordered) * kUnit},
                        {".gtu", (Gt | Unordered) * kUnit},
                        {".geu", (Ge | Unordered) * kUnit},
                        {".num", Num * kUnit},
                        {".nan", Nan * kUnit}})
      compares.push_back(more);
  else if (std::is_unsigned_v<T> && type[1] == 'u')
    for (Choice more : {Choice{".lo", Lt * kUnit}, {".ls", Le * kUnit}, {".hi", Gt * kUnit}, {".hs", Ge * kUnit}})
      compares.push_back(more);
  for (const Choice &compare : compares)
    combine("",
            {{{"", 0}, {".and", And * kUnit}, {".or", Or * kUnit}, {".xor", Xor * kUnit}}, {{"", 0}, {".ftz", ModFtz}}},
            type, [&](const std::string &rest, uint32_t mods) {
              mods |= compare.mods;
              bool third = mods / kUnit & BoolMask;
              table.add(std::string("setp") + compare.text + rest,
                        ("p|=" + letter + letter + (third ? "p" : "")).c_str(), runSetp<T>, mods);
              for (const char *dtype : {".u32", ".s32", ".f32"}) {
                std::string opcode = std::string("set") + compare.text + rest;
                opcode.insert(opcode.size() - type.size(), dtype);
                table.add(opcode, ("w=" + letter + letter + (third ? "p" : "")).c_str(),
                          dtype[1] == 'f' ? runSet<T, true> : runSet<T, false>, mods);
              }
              if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, Bfloat16>)
                table.add(std::string("setp") + compare.text + rest + "x2", third ? "p|=wwp" : "p|=ww", runSetpPair<T>,
                          mods);
            });
}

template <class T> void addSelect(Table &table, const std::string &bits, const std::string &letter) {
  for (const char *type : {".b", ".u", ".s", ".f"}) {
    Form form;
    form.signature = letter + "=" + letter + letter + "p";
    form.run = map<T, T, T, Flagged>([](T a, T b, Flagged c) { return uint8_t(c) & 1 ? a : b; });
    form.flags = FlagMove;
    if (type[1] == 'f')
      form.signature = sizeof(T) == 4 ? "f=ffp" : sizeof(T) == 8 ? "g=ggp" : form.signature;
    table.add("selp" + (type + bits), form);
    std::string select = letter + "=" + letter + letter;
    if (sizeof(T) > 2 || type[1] != 'f') {
      table.add("slct" + (type + bits) + ".s32", (select + "w").c_str(),
                map<T, T, T, int32_t>([](T a, T b, int32_t c) { return c >= 0 ? a : b; }));
      table.add("slct" + (type + bits) + ".f32", (select + "f").c_str(),
                map<T, T, T, float>([](T a, T b, float c) { return c >= 0 ? a : b; }));
    }
  }
}

} // namespace

void addCompareForms(Table &table) {
  addComparisons<uint16_t>(table, ".b16", "h");
  addComparisons<uint16_t>(table, ".u16", "h");
  addComparisons<int16_t>(table, ".s16", "h");
  addComparisons<uint32_t>(table, ".b32", "w");
  addComparisons<uint32_t>(table, ".u32", "w");
  addComparisons<int32_t>(table, ".s32", "w");
  addComparisons<uint64_t>(table, ".b64", "d");
  addComparisons<uint64_t>(table, ".u64", "d");
  addComparisons<int64_t>(table, ".s64", "d");
  addComparisons<float>(table, ".f32", "f");
  addComparisons<double>(table, ".f64", "g");
  addComparisons<Half>(table, ".f16", "h");
  addComparisons<Bfloat16>(table, ".bf16", "h");
  addSelect<uint16_t>(table, "16", "h");
  addSelect<uint32_t>(table, "32", "w");
  addSelect<uint64_t>(table, "64", "d");
}

} // namespace tilewright::ptx

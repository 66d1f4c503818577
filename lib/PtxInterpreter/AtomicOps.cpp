//===- AtomicOps.cpp - atom and red -------------------------------------------------------------------------===//
//
// An atomic instruction without a memory-order modifier is relaxed. Lanes that access the same address are processed
// sequentially, the lowest lane first.
//
//===----------------------------------------------------------------------===//
#include "lib/PtxInterpreter/Formats.h"
#include "lib/PtxInterpreter/Lanes.h"
#include "lib/PtxInterpreter/Table.h"

#include <algorithm>

namespace tilewright::ptx {
namespace {

/// The sum of an f32 atomic. Only additions in global memory flush subnormal operands and results (PTX ISA, `atom`).
struct AddSingle {
  float operator()(float a, float b, Space space) const {
    const bool flushes = space == Space::Global;
    const float sum = toSingle(flushes ? sumToOdd(flushed(a), flushed(b)) : sumToOdd(a, b));
    return flushes ? flushed(sum) : sum;
  }
};

/// Executes an atomic operation. The functor F has the signature T(T old, T b), T(T old, T b, Space), or
/// T(T old, T b, T c, int) for cas. If `hasResult` is false, the instruction is red, which has no result.
template <class T, class F, bool hasResult, bool hasThird> void runAtomic(Exec &e, const Instr &in) {
  uint32_t first = hasResult ? 1 : 0;
  Cell<T> *result = hasResult ? e.row<Cell<T>>(in, 0) : nullptr;
  const Cell<T> *b = e.row<Cell<T>>(in, first + 1);
  const Cell<T> *c = hasThird ? e.row<Cell<T>>(in, first + 2) : b;
  if (in.mods & ModRelease)
    e.release();
  forLanes(e.mask, [&](uint32_t lane) {
    uint64_t address = e.address(in, first, lane);
    T bv = fromCell<T>(b[lane]), cv = fromCell<T>(c[lane]), old{};
    if (uint8_t *data = e.reach(lane, in.space, address, sizeof(T), Access::ReadWrite, true)) {
      std::memcpy(&old, data, sizeof(T));
      T value;
      if constexpr (hasThird)
        value = F{}(old, bv, cv, 0);
      else if constexpr (std::is_invocable_v<F, T, T, Space>)
        value = F{}(old, bv, in.space == Space::Generic ? spaceOf(address) : in.space);
      else
        value = F{}(old, bv);
      std::memcpy(data, &value, sizeof(T));
      e.observe(address);
      e.publish(address);
    }
    if (hasResult)
      result[lane] = toCell<T>(old);
  });
  if (in.mods & ModAcquire)
    e.acquire();
}

void addOpcodes(Table &table, const std::string &operation, const std::string &type, const std::string &letter,
                bool third, Handler atom, Handler red) {
  struct {
    const char *text;
    Space space;
  } const spaces[] = {{"", Space::Generic},
                      {".global", Space::Global},
                      {".shared", Space::Shared},
                      {".shared::cta", Space::Shared},
                      {".shared::cluster", Space::Cluster}};
  for (const auto &space : spaces)
    combine("",
            {{{"", 0},
              {".relaxed", 0},
              {".acquire", ModAcquire},
              {".release", ModRelease},
              {".acq_rel", ModAcquire | ModRelease}},
             {{"", 0}, {".cta", 0}, {".cluster", 0}, {".gpu", 0}, {".sys", 0}}},
            "", [&](const std::string &middle, uint32_t mods) {
              Form form;
              form.mods = mods;
              form.space = space.space;
              form.signature = letter + "=m" + letter + (third ? letter : "");
              form.run = atom;
              table.add("atom" + middle + space.text + operation + type, form);
              if (third || operation == ".exch")
                return;
              form.signature = "m" + letter;
              form.run = red;
              table.add("red" + middle + space.text + operation + type, form);
            });
}

template <class T, class F> void add(Table &table, const std::string &operation, const std::string &type, F) {
  constexpr bool third = std::is_invocable_v<F, T, T, T, int>;
  std::string letter = sizeof(T) == 2   ? "h"
                       : sizeof(T) == 4 ? (type == ".f32" ? "f" : "w")
                       : type == ".f64" ? "g"
                                        : "d";
  addOpcodes(table, operation, type, letter, third, runAtomic<T, F, true, third>, runAtomic<T, F, false, third>);
}

template <class T> void addBits(Table &table, const std::string &type) {
  add<T>(table, ".and", type, [](T a, T b) { return T(a & b); });
  add<T>(table, ".or", type, [](T a, T b) { return T(a | b); });
  add<T>(table, ".xor", type, [](T a, T b) { return T(a ^ b); });
  add<T>(table, ".exch", type, [](T, T b) { return b; });
  add<T>(table, ".cas", type, [](T a, T b, T c, int) { return a == b ? c : a; });
}
template <class T> void addOrdered(Table &table, const std::string &type) {
  add<T>(table, ".min", type, [](T a, T b) { return std::min(a, b); });
  add<T>(table, ".max", type, [](T a, T b) { return std::max(a, b); });
  add<T>(table, ".add", type, [](T a, T b) { return T(std::make_unsigned_t<T>(a) + std::make_unsigned_t<T>(b)); });
}
Half plus(Half a, Half b) {
  return Half(uint16_t(encode(double(halfToFloat(uint16_t(a))) + halfToFloat(uint16_t(b)), kHalf)));
}
Bfloat16 plus(Bfloat16 a, Bfloat16 b) {
  return Bfloat16(uint16_t(encode(sumToOdd(bfloat16ToFloat(uint16_t(a)), bfloat16ToFloat(uint16_t(b))), kBfloat16)));
}
template <class T> uint32_t plusPair(uint32_t a, uint32_t b) {
  return uint32_t(uint16_t(plus(T(uint16_t(a)), T(uint16_t(b))))) |
         uint32_t(uint16_t(plus(T(uint16_t(a >> 16)), T(uint16_t(b >> 16))))) << 16;
}

} // namespace

void addAtomicForms(Table &table) {
  addBits<uint32_t>(table, ".b32");
  addBits<uint64_t>(table, ".b64");
  add<uint16_t>(table, ".cas", ".b16", [](uint16_t a, uint16_t b, uint16_t c, int) { return a == b ? c : a; });
  addOrdered<uint32_t>(table, ".u32");
  addOrdered<int32_t>(table, ".s32");
  addOrdered<uint64_t>(table, ".u64");
  addOrdered<int64_t>(table, ".s64");
  using U = uint32_t;
  add<U>(table, ".inc", ".u32", [](U a, U b) { return a >= b ? 0u : a + 1; });
  add<U>(table, ".dec", ".u32", [](U a, U b) { return a == 0 || a > b ? b : a - 1; });
  add<float>(table, ".add", ".f32", AddSingle());
  add<double>(table, ".add", ".f64", [](double a, double b) { return a + b; });
  add<Half>(table, ".add.noftz", ".f16", [](Half a, Half b) { return plus(a, b); });
  add<Bfloat16>(table, ".add.noftz", ".bf16", [](Bfloat16 a, Bfloat16 b) { return plus(a, b); });
  add<U>(table, ".add.noftz", ".f16x2", [](U a, U b) { return plusPair<Half>(a, b); });
  add<U>(table, ".add.noftz", ".bf16x2", [](U a, U b) { return plusPair<Bfloat16>(a, b); });
}

} // namespace tilewright::ptx

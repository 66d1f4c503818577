//===- PackedConvertOps.cpp - cvt to and from pairs, fp8 and tf32 -------------------===//
//
// The first source of a pair goes into the high half: cvt.rn.bf16x2.f32 d, a, b gives d = {high: a, low: b}.
//
//===----------------------------------------------------------------------===//
#include "lib/PtxInterpreter/Formats.h"
#include "lib/PtxInterpreter/Lanes.h"
#include "lib/PtxInterpreter/Table.h"

namespace tilewright::ptx {
namespace {

double relu(uint32_t mods, double x) { return mods & ModRelu && !(x > 0) && x == x ? 0.0 : x; }

template <const Format &format, int width> uint32_t packed(uint32_t mods, double high, double low) {
  Round round = Round(mods & ModRound);
  bool finite = mods & ModFinite;
  return encode(relu(mods, high), format, round, finite) << width | encode(relu(mods, low), format, round, finite);
}
template <const Format &format> void addPair(Table &table, const char *type) {
  combine("cvt",
          {{{".rn", 0}, {".rz", uint32_t(Round::Zero)}},
           {{"", 0},
            {".relu", ModRelu},
            {".satfinite", ModFinite},
            {".relu.satfinite", ModRelu | ModFinite},
            {".satfinite.relu", ModRelu | ModFinite}}},
          std::string(type) + ".f32", [&](const std::string &opcode, uint32_t mods) {
            table.add(opcode, "w=ff", map<uint32_t, float, float>([](uint32_t m, float a, float b) {
                        return packed<format, 16>(m, a, b);
                      }),
                      mods);
          });
}
template <const Format &format> void addEight(Table &table, const std::string &type) {
  for (bool rectified : {false, true}) {
    std::string stem = std::string("cvt.rn.satfinite") + (rectified ? ".relu" : "") + type;
    uint32_t mods = ModFinite | (rectified ? uint32_t(ModRelu) : 0);
    table.add(stem + ".f32", "h=ff", map<uint16_t, float, float>([](uint32_t m, float a, float b) {
                return uint16_t(packed<format, 8>(m, a, b));
              }),
              mods);
    table.add(stem + ".f16x2", "h=w", map<uint16_t, uint32_t>([](uint32_t m, uint32_t a) {
                return uint16_t(packed<format, 8>(m, halfToFloat(uint16_t(a >> 16)), halfToFloat(uint16_t(a))));
              }),
              mods);
    table.add(std::string("cvt.rn") + (rectified ? ".relu" : "") + ".f16x2" + type, "w=h",
              map<uint32_t, uint16_t>([](uint32_t m, uint16_t a) {
                return packed<kHalf, 16>(m, decode(a >> 8, format), decode(a & 255, format));
              }),
              rectified ? uint32_t(ModRelu) : 0);
  }
}

} // namespace

void addPackedConvertForms(Table &table) {
  addPair<kHalf>(table, ".f16x2");
  addPair<kBfloat16>(table, ".bf16x2");
  addEight<kE4M3>(table, ".e4m3x2");
  addEight<kE5M2>(table, ".e5m2x2");
  combine("cvt",
          {{{".rna", uint32_t(Round::Away)}, {".rn", 0}, {".rz", uint32_t(Round::Zero)}},
           {{"", 0},
            {".relu", ModRelu},
            {".satfinite", ModFinite},
            {".relu.satfinite", ModRelu | ModFinite},
            {".satfinite.relu", ModRelu | ModFinite}}},
          ".tf32.f32", [&](const std::string &opcode, uint32_t mods) {
            table.add(opcode, "w=f", map<uint32_t, float>([](uint32_t m, float a) {
                        return encode(relu(m, a), kTensor, Round(m & ModRound), m & ModFinite) << 13;
                      }),
                      mods);
          });
  table.add("cvt.pack.sat.s16.s32", "w=ww", map<uint32_t, int32_t, int32_t>([](int32_t a, int32_t b) {
              auto clamp = [](int32_t x) { return uint32_t(uint16_t(std::min(std::max(x, -32768), 32767))); };
              return clamp(a) << 16 | clamp(b);
            }));
  table.add("cvt.pack.sat.s8.s32.b32", "w=www",
            map<uint32_t, int32_t, int32_t, uint32_t>([](int32_t a, int32_t b, uint32_t c) {
              auto clamp = [](int32_t x) { return uint32_t(uint8_t(std::min(std::max(x, -128), 127))); };
              return c << 16 | clamp(a) << 8 | clamp(b);
            }));
  table.add("cvt.pack.sat.u8.s32.b32", "w=www",
            map<uint32_t, int32_t, int32_t, uint32_t>([](int32_t a, int32_t b, uint32_t c) {
              auto clamp = [](int32_t x) { return uint32_t(uint8_t(std::min(std::max(x, 0), 255))); };
              return c << 16 | clamp(a) << 8 | clamp(b);
            }));
}

} // namespace tilewright::ptx

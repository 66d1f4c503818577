//===- KnobAttrs.h - the attributes of schedules in addition to tiles --------------------===//
//
//   tw.schedule = {tiles = array<i64: 64, 96>, order = 1 : i64, k_block = 256 : i64, block = 6 : i64}
//
// This file declares the names of all knobs. Passes, schedule files, the tuner's space and its records use these names,
// or call knobOr() (dialects/Tile/Knobs.h).
//
//===----------------------------------------------------------------------===//
#ifndef TILEWRIGHT_LIB_CODEGEN_CPU_SCHEDULE_KNOBATTRS_H
#define TILEWRIGHT_LIB_CODEGEN_CPU_SCHEDULE_KNOBATTRS_H

#include "dialects/Tile/Knobs.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

namespace tilewright::tiled {

struct KnobAttr {
  llvm::StringRef name;
  int64_t least, most;
  llvm::StringRef meaning;
};

inline llvm::ArrayRef<KnobAttr> knobAttrs() {
  static constexpr KnobAttr all[] = {
      {tile::orderKnob, 0, 1, "1: the tasks of a column of tiles are consecutive"},
      {tile::kBlockKnob, 16, 4096, "K-block of a product, which is summed in registers"},
      {tile::blockKnob, 1, 16, "rows of a product's register block"},
      {tile::unrollKnob, 1, 64, "number of vectors that are unrolled"},
      {tile::keysKnob, 16, 4096, "keys per block of attention"},
      {tile::scoresKnob, 1, 512, "rows of a block of attention scores"},
      {tile::accumulatorsKnob, 1, 8, "accumulators of a long reduction, in vectors"},
  };
  return all;
}

inline const KnobAttr *findKnobAttr(llvm::StringRef name) {
  for (const KnobAttr &knob : knobAttrs())
    if (knob.name == name)
      return &knob;
  return nullptr;
}

inline std::string knobNames() {
  std::string names;
  for (const KnobAttr &knob : knobAttrs())
    names += (names.empty() ? "" : ", ") + knob.name.str();
  return names;
}

} // namespace tilewright::tiled

#endif

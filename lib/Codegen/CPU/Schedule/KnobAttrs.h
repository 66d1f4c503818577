//===- KnobAttrs.h - the attributes of schedules in addition to tiles --------------------===//
//
//   tw.schedule = {tiles = array<i64: 64, 96>, order = 1 : i64, depth = 256 : i64, block = 6 : i64}
//
// Knobs are declared once. The passes that read them, schedule files, the tuner's space and its records take the names
// from here or call knobOr() of dialects/Tile/Knobs.h.
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
      {tile::orderKnob, 0, 1, "1: tasks of one column of tiles follow each other"},
      {tile::depthKnob, 16, 4096, "k of a product that are summed in registers at a time"},
      {tile::blockKnob, 1, 16, "rows of a product in registers at a time"},
      {tile::unrollKnob, 1, 64, "so many vectors are computed without a loop"},
      {tile::keysKnob, 16, 4096, "keys that attention looks at at a time"},
      {tile::scoresKnob, 1, 512, "rows of attention whose scores are there at a time"},
      {tile::chainsKnob, 1, 8, "vectors that a long reduction sums side by side"},
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

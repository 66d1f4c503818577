//===- KnobNames.cpp - former names of knobs --------------------------------------------===//
#include "dialects/Schedule/KnobNames.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringSwitch.h"

namespace tilewright::schedule {

llvm::StringRef presentKnobName(llvm::StringRef name) {
  return llvm::StringSwitch<llvm::StringRef>(name)
      .Case("depth", "k_block")
      .Case("straight", "unroll")
      .Case("chains", "accumulators")
      .Case("group_m", "consumer_rows")
      .Case("raster", "tile_rows_per_band")
      .Case("in_turn", "tiles_per_block")
      .Default(name);
}

std::string withPresentKnobNames(llvm::StringRef point) {
  llvm::SmallVector<llvm::StringRef> parts;
  point.split(parts, ' ');
  std::string text;
  for (auto [index, part] : llvm::enumerate(parts)) {
    auto [name, value] = part.split('=');
    text += (index ? " " : "") + presentKnobName(name).str() + (part.contains('=') ? "=" : "") + value.str();
  }
  return text;
}

} // namespace tilewright::schedule

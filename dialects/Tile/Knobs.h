//===- Knobs.h - what a kernel's schedule says beside its tiles -----------------------------===//
//
// Integers of the dictionary tw.schedule on the kernel, each absent where the pass that reads it goes by its own rule.
//
//===----------------------------------------------------------------------===//
#ifndef TILEWRIGHT_DIALECTS_TILE_KNOBS_H
#define TILEWRIGHT_DIALECTS_TILE_KNOBS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace tilewright::tile {

inline constexpr llvm::StringLiteral orderKnob = "order";   ///< of tasks (lib/Tiled/ApplySchedule.cpp)
inline constexpr llvm::StringLiteral depthKnob = "depth";   ///< of a product's blocks (lib/Target/CPU/MicroKernel.h)
inline constexpr llvm::StringLiteral blockKnob = "block";   ///< rows of a product in registers, the same
inline constexpr llvm::StringLiteral chainsKnob = "chains"; ///< of a reduction (lib/Vector/VectorizeLoops.cpp)
inline constexpr llvm::StringLiteral straightKnob = "straight"; ///< vectors without a loop, the same
inline constexpr llvm::StringLiteral keysKnob = "keys"; ///< of attention, at a time (lib/Vector/ExpandAttention.cpp)
inline constexpr llvm::StringLiteral scoresKnob = "scores"; ///< rows of them at a time, the same

/// `block`: as many rows as registers and the first-level cache keep.
inline constexpr int64_t wholeBlocks = 16;

/// The value of `knob` in the schedule of `kernel`, or `otherwise`.
inline int64_t knobOr(mlir::func::FuncOp kernel, llvm::StringRef knob, int64_t otherwise) {
  auto schedule = kernel ? kernel->getAttrOfType<mlir::DictionaryAttr>("tw.schedule") : mlir::DictionaryAttr();
  auto value = schedule ? schedule.getAs<mlir::IntegerAttr>(knob) : mlir::IntegerAttr();
  return value ? value.getInt() : otherwise;
}

} // namespace tilewright::tile

#endif

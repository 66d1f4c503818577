//===- Knobs.h - entries of a kernel's schedule in addition to its tiles --------------------===//
//
// Integers of the kernel's dictionary tw.schedule. If one is absent, the pass that reads it applies its own rule.
//
//===----------------------------------------------------------------------===//
#ifndef TILEWRIGHT_DIALECTS_TILE_KNOBS_H
#define TILEWRIGHT_DIALECTS_TILE_KNOBS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "tilewright/AttributeNames.h"

namespace tilewright::tile {

inline constexpr llvm::StringLiteral orderKnob =
    "order"; ///< order of tasks (lib/Codegen/CPU/Schedule/ApplySchedule.cpp)
inline constexpr llvm::StringLiteral kBlockKnob =
    "k_block"; ///< K-block of a product (lib/Codegen/CPU/MicroKernels/MicroKernel.h)
inline constexpr llvm::StringLiteral blockKnob =
    "block"; ///< register block's rows (lib/Codegen/CPU/MicroKernels/MicroKernel.h)
inline constexpr llvm::StringLiteral accumulatorsKnob =
    "accumulators"; ///< accumulators of a reduction (VectorizeLoops.cpp)
inline constexpr llvm::StringLiteral unrollKnob =
    "unroll"; ///< unrolled vectors (lib/Codegen/CPU/Vectorize/VectorizeLoops.cpp)
inline constexpr llvm::StringLiteral keysKnob =
    "keys"; ///< attention's keys at a time (lib/Codegen/CPU/Vectorize/ExpandAttention.cpp)
inline constexpr llvm::StringLiteral scoresKnob = "scores"; ///< attention's score rows at a time (ExpandAttention.cpp)

/// Value of `block` for as many rows as registers and the L1 cache hold.
inline constexpr int64_t wholeBlocks = 16;

/// Returns the value of `knob` in the schedule of `kernel`, or `otherwise`.
inline int64_t knobOr(mlir::func::FuncOp kernel, llvm::StringRef knob, int64_t otherwise) {
  auto schedule = kernel ? kernel->getAttrOfType<mlir::DictionaryAttr>(scheduleAttrName) : mlir::DictionaryAttr();
  auto value = schedule ? schedule.getAs<mlir::IntegerAttr>(knob) : mlir::IntegerAttr();
  return value ? value.getInt() : otherwise;
}

} // namespace tilewright::tile

#endif

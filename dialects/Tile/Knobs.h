//===- Knobs.h - entries of a kernel's schedule in addition to its tiles --------------------===//
//
// The knobs are integers in the kernel's dictionary tw.schedule. If a knob is absent, the pass that reads it uses a
// default.
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
    "block"; ///< rows of a register block (lib/Codegen/CPU/MicroKernels/MicroKernel.h)
inline constexpr llvm::StringLiteral accumulatorsKnob =
    "accumulators"; ///< accumulators of a reduction (VectorizeLoops.cpp)
inline constexpr llvm::StringLiteral unrollKnob =
    "unroll"; ///< unrolled vectors (lib/Codegen/CPU/Vectorize/VectorizeLoops.cpp)
inline constexpr llvm::StringLiteral keysKnob =
    "keys"; ///< number of keys per block of attention (lib/Codegen/CPU/Vectorize/ExpandAttention.cpp)
inline constexpr llvm::StringLiteral scoresKnob = "scores"; ///< rows per block of attention's scores (ExpandAttention)

/// Value of `block` for the largest number of rows that the registers and the L1 cache allow.
inline constexpr int64_t wholeBlocks = 16;

/// Returns the value of `knob` in the schedule of `kernel`, or `otherwise`.
inline int64_t knobOr(mlir::func::FuncOp kernel, llvm::StringRef knob, int64_t otherwise) {
  auto schedule = kernel ? kernel->getAttrOfType<mlir::DictionaryAttr>(scheduleAttrName) : mlir::DictionaryAttr();
  auto value = schedule ? schedule.getAs<mlir::IntegerAttr>(knob) : mlir::IntegerAttr();
  return value ? value.getInt() : otherwise;
}

} // namespace tilewright::tile

#endif

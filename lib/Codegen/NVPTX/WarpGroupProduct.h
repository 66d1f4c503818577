//===- WarpGroupProduct.h - contractions by warp groups, with TMA and wgmma ---------------===//
//
// A contraction of bf16, f16, f32 (as tf32), 8-bit floats or int8 whose operands TMA can load in boxes. An operand must
// be dense, and its dimensions must be one run of the reduction loops, one run of its rows (or columns), and those of
// the batch, as in
//
//   A: tensor<8x128x96xbf16>, (b, m, k)   ->  a map of (k: 96, m: 128, b: 8), a box of 64 k and the tile's rows
//   A: tensor<2x70x96xbf16>, (m0, m1, k)  ->  a map of (k: 96, m: 140): dimensions of one run are one of the map
//   B: tensor<96x64xbf16>, (k, n)         ->  a map of (n: 64, k: 96), boxes of 64 n and 64 k: n is contiguous
//
// All strides must be multiples of 16 bytes. For types other than 16-bit ones the reduction loops must be contiguous,
// because wgmma transposes 16-bit elements only.
//
//===----------------------------------------------------------------------===//
#ifndef TILEWRIGHT_LIB_CODEGEN_NVPTX_WARPGROUPPRODUCT_H
#define TILEWRIGHT_LIB_CODEGEN_NVPTX_WARPGROUPPRODUCT_H

#include "lib/Codegen/NVPTX/Product.h"
#include "tilewright/TensorMapRecipe.h"

namespace tilewright::cuda {

/// Bytes of a line of a tile in shared memory, which is the period of the swizzle; a step over k is one line.
inline constexpr int64_t lineBytes = 128;
inline int64_t lineElements(mlir::Type element) { return lineBytes / (element.getIntOrFloatBitWidth() / 8); }
/// Rows of A for one wgmma, and the bytes of its depth.
inline constexpr int64_t groupRows = 64, groupDepthBytes = 32;

/// Registers of a thread that loads and of one that multiplies, if two warp groups multiply: three groups are launched
/// with 168 registers per thread, and one gives registers to the others.
inline constexpr int64_t producerRegisters = 40, consumerRegisters = 232;
/// Registers of a consumer that addresses and the epilogue need.
inline constexpr int64_t otherRegisters = 96;

/// An operand as a tensor of TMA.
struct MappedOperand {
  enum class Part { Batch, Side, Depth };
  struct Run {
    Part part;
    llvm::SmallVector<unsigned> loops; ///< of the contraction, the slowest first
    int64_t factor = 1;                ///< its size is this, times
    llvm::SmallVector<uint32_t> sizes; ///< the kernel's index arguments with these numbers
  };
  llvm::SmallVector<Run> runs; ///< the fastest first
  mlir::Type element;
  bool alongK = true; ///< the reduction loops are contiguous, else rows of A or columns of B

  /// Returns the recipe of the tensor map for boxes of a tile with `side` rows of A (columns of B).
  TensorMapRecipe recipe(uint32_t buffer, int64_t side) const;
  /// Returns the number of boxes of a tile.
  int64_t boxes(int64_t side) const { return alongK ? 1 : side / lineElements(element); }
};

/// Multiplies `run`'s size by `size`. Returns false if it is not a product of constants and index arguments.
bool multiplySize(MappedOperand::Run &run, mlir::AffineExpr size);

/// Returns `operand` of `product`, whose rows (of A, columns of B) are the loops `side`, or null with the reason.
std::optional<MappedOperand> mapOperand(Contraction product, mlir::OpOperand *operand, llvm::ArrayRef<unsigned> side,
                                        std::string &reason);

/// Returns why warp groups cannot compute the product, or an empty string if a schedule `wgmma` can.
std::string whyNotOnWarpGroups(Contraction product, TensorFormats formats);

/// Returns the approximate registers of a consumer's thread with this many sets of sums.
int64_t registersOfConsumer(const Schedule &schedule, int64_t sets);
/// Returns the bytes of shared memory: the tiles of all stages, two mbarriers per stage, and alignment.
int64_t bytesOfRing(const Schedule &schedule);

/// Returns why a schedule cannot be emitted for this much shared memory, or an empty string if it can.
std::string whyNotWgmma(const Schedule &schedule, Contraction product, int64_t sharedBytes);

} // namespace tilewright::cuda

#endif

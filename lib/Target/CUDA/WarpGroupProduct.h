//===- WarpGroupProduct.h - contractions that warp groups take, with TMA and wgmma --------===//
//
// A contraction of bf16, f16, f32 (as tf32) or int8 whose operands TMA can load in boxes: an operand is dense, its
// dimensions fall into one run that is the sum's loops, one that is its rows (or columns), and those of the batch, as
// in
//
//   A: tensor<8x128x96xbf16>, (b, m, k)   ->  a map of (k: 96, m: 128, b: 8), a box of 64 of k and the tile's rows
//   A: tensor<2x70x96xbf16>, (m0, m1, k)  ->  a map of (k: 96, m: 140): dimensions of one run are one of the map
//   B: tensor<96x64xbf16>, (k, n)         ->  a map of (n: 64, k: 96), boxes of 64 of n and 64 of k: n is contiguous
//
// and all strides are multiples of 16 bytes. Of int8 and f32 the sum's loops are contiguous: wgmma turns over 16 bits
// only.
//
//===----------------------------------------------------------------------===//
#ifndef TILEWRIGHT_LIB_TARGET_CUDA_WARPGROUPPRODUCT_H
#define TILEWRIGHT_LIB_TARGET_CUDA_WARPGROUPPRODUCT_H

#include "lib/Target/CUDA/Product.h"
#include "tilewright/TensorMapRecipe.h"

namespace tilewright::cuda {

/// Bytes of a line of a tile in shared memory, after which the swizzle begins anew; a step over k is one of them.
inline constexpr int64_t lineBytes = 128;
inline int64_t lineElements(mlir::Type element) { return lineBytes / (element.getIntOrFloatBitWidth() / 8); }
/// Rows of A for one wgmma, and bytes of its depth.
inline constexpr int64_t groupRows = 64, groupDepthBytes = 32;

/// Registers of a thread that loads and of one that multiplies, where two warp groups multiply: of three groups that
/// are launched with 168 each, one gives its own to the others.
inline constexpr int64_t producerRegisters = 40, consumerRegisters = 232;
/// Of a consumer's, what addresses and what follows the product take.
inline constexpr int64_t besideSums = 96;

/// An operand as TMA sees it.
struct MappedOperand {
  enum class Part { Batch, Side, Depth };
  struct Run {
    Part part;
    llvm::SmallVector<unsigned> loops; ///< of the contraction, the slowest first
    int64_t factor = 1;                ///< its size: this, times
    llvm::SmallVector<uint32_t> sizes; ///< the kernel's index arguments of these numbers
  };
  llvm::SmallVector<Run> runs; ///< the fastest first
  mlir::Type element;
  bool alongK = true; ///< the sum's loops are contiguous, else rows of A or columns of B

  /// The recipe of its map for boxes of a tile with so many rows (of A, columns of B).
  TensorMapRecipe recipe(uint32_t buffer, int64_t side) const;
  /// How many boxes a tile takes.
  int64_t boxes(int64_t side) const { return alongK ? 1 : side / lineElements(element); }
};

/// Multiplies `run`'s size by `size`; false where it is no product of numbers and index arguments.
bool multiplySize(MappedOperand::Run &run, mlir::AffineExpr size);

/// `operand` of `product`, whose rows (of A, columns of B) are `side`; null with the reason.
std::optional<MappedOperand> mapOperand(Contraction product, mlir::OpOperand *operand, llvm::ArrayRef<unsigned> side,
                                        std::string &reason);

/// Why warp groups do not compute it; empty: they do, by a schedule `wgmma`.
std::string whyNotOnWarpGroups(Contraction product, TensorFormats formats);

/// Registers of a consumer's thread with so many sets of sums, about.
int64_t registersOfConsumer(const Schedule &schedule, int64_t sets);
/// Bytes of shared memory: the tiles of all stages, two mbarriers for each, and what aligns them.
int64_t bytesOfRing(const Schedule &schedule);

/// Why a schedule cannot be emitted on such a block; empty: it can.
std::string whyNotWgmma(const Schedule &schedule, Contraction product, int64_t sharedBytes);

} // namespace tilewright::cuda

#endif

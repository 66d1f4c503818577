//===- WarpGroupProduct.h - contractions by warp groups, with TMA and wgmma ---------------===//
//
// The schedule `wgmma` supports contractions of bf16, f16, f32 (as tf32), 8-bit floats and int8 whose operands TMA can
// load in boxes. An operand must be dense. A run is a group of adjacent dimensions that become one dimension of the
// tensor map. An operand must consist of one run of the reduction loops, one run of its rows (or columns), and the
// batch dimensions. For example:
//
//   A: tensor<8x128x96xbf16>, (b, m, k)   ->  a map of (k: 96, m: 128, b: 8), boxes of 64 (k) x rows of the tile
//   A: tensor<2x70x96xbf16>, (m0, m1, k)  ->  a map of (k: 96, m: 140): a run is one dimension of the map
//   B: tensor<96x64xbf16>, (k, n)         ->  a map of (n: 64, k: 96), boxes of 64 (n) x 64 (k): n is contiguous
//
// The image of a convolution (WindowOperand.h) is loaded by a map of windows. The reduction loops are then divided into
// the taps of a window and all others. The other reduction loops must be contiguous in both operands. For each tap, the
// sum over these loops is like that of a product:
//
//   A: tensor<8x14x14x96xbf16>, (n, oh + kh - 1, ow + kw - 1, c)  ->  a map of windows of (c: 96, w: 14, h: 14, n: 8)
//   B: tensor<3x3x96x64xbf16>, (kh, kw, c, f)                     ->  a map of (f: 64, c: 96, taps: 9)
//
// In the gradient of a convolution's weight, A consists of patches (PaddedImage.h): windows are along k, and taps and
// channels are rows of A. The same kind of map loads 64 channels at one tap for 64 windows.
//
// All strides except that of the contiguous dimension must be multiples of 16 bytes. For types that do not have 16
// bits, the reduction loops must be contiguous, because wgmma transposes only 16-bit elements.
//
//===----------------------------------------------------------------------===//
#ifndef TILEWRIGHT_LIB_CODEGEN_GPU_SCHEDULE_WARPGROUPPRODUCT_H
#define TILEWRIGHT_LIB_CODEGEN_GPU_SCHEDULE_WARPGROUPPRODUCT_H

#include "lib/Codegen/GPU/Schedule/PaddedImage.h"
#include "lib/Codegen/GPU/Schedule/Product.h"
#include "lib/Codegen/GPU/Schedule/WindowOperand.h"
#include "tilewright/TensorMapRecipe.h"

namespace tilewright::gpu {

/// Bytes of a line of a tile in shared memory, which is the period of the swizzle; a step over k is one line.
inline constexpr int64_t lineBytes = 128;
inline int64_t lineElements(mlir::Type element) { return lineBytes / (element.getIntOrFloatBitWidth() / 8); }
/// The number of rows of A for one wgmma, and the depth of a wgmma in bytes.
inline constexpr int64_t groupRows = 64, groupDepthBytes = 32;

/// The registers of a thread of the producer group, and of a thread of a consumer group, if there are two consumer
/// groups. Three groups are launched with 168 registers per thread. The producer group then releases registers for the
/// consumer groups.
inline constexpr int64_t producerRegisters = 40, consumerRegisters = 232;
/// Registers of a consumer thread that are used for addresses and the epilogue.
inline constexpr int64_t otherRegisters = 96;

/// An operand in the form of a TMA tensor.
struct MappedOperand {
  enum class Part { Batch, Side, Depth, Tap, Window };
  struct Run {
    Part part;
    llvm::SmallVector<unsigned> loops; ///< loops of the contraction, from the slowest to the fastest
    int64_t factor = 1;                ///< constant factor of the run's size
    llvm::SmallVector<uint32_t> sizes; ///< numbers of the kernel's index arguments that are factors of the size
    std::optional<WindowDimension> window = {}; ///< dimension of windows, for the part Window
    /// For the part Depth: if set, the run contains the terms of all products of this batch loop, in order. The number
    /// of terms of one product is a whole number of lines.
    std::optional<unsigned> batch = {};
    mlir::AffineExpr index = {}; ///< for the part Tap: if set, the index of a bf16 part (SplitF32.h)
  };
  /// The runs, from the fastest to the slowest. If there are runs of the part Window, the last run has the part Side,
  /// and may have no loops.
  llvm::SmallVector<Run> runs;
  /// If the operand is a matrix of patches, the runs are: the channels (Side), the windows, and the images (Depth).
  std::optional<Patches> patches = {};
  mlir::Type element;
  bool alongK = true; ///< true: the reduction loops are contiguous; false: the rows of A or columns of B are contiguous

  /// Returns the recipe of the tensor map for boxes of a tile with `side` rows of A (columns of B).
  TensorMapRecipe recipe(uint32_t buffer, int64_t side) const;
  /// Returns the number of boxes of a tile.
  int64_t boxes(int64_t side) const { return alongK ? 1 : side / lineElements(element); }
  bool hasWindows() const {
    return llvm::any_of(runs, [](const Run &run) { return run.part == Part::Window; });
  }
};

/// Multiplies `run`'s size by `size`. Returns false if `size` is not a product of constants and index arguments, or if
/// the constant factor overflows.
bool multiplySize(MappedOperand::Run &run, mlir::AffineExpr size);

/// Returns `operand` of `product` as a TMA tensor. `side` are the loops of the operand's rows (A) or columns (B). If
/// TMA cannot load the operand, returns std::nullopt and sets `reason`.
std::optional<MappedOperand> mapOperand(Contraction product, mlir::OpOperand *operand, llvm::ArrayRef<unsigned> side,
                                        std::string &reason);

/// Returns the reduction loops that are not taps. Loops of one iteration are left out if there are longer ones.
llvm::SmallVector<unsigned> depthOf(Contraction product);
/// Returns an estimate of the number of steps along k: for each tap, the sum is divided into tiles of `k` elements.
int64_t stepsOf(Contraction product, int64_t k);

/// Returns `product`, or the transposed product if `schedule` swaps the operands (`swapped`).
Contraction inOrderOf(const Schedule &schedule, Contraction product);

/// Returns the reason why warp groups cannot compute the product, or an empty string if a schedule `wgmma` can.
std::string whyNotOnWarpGroups(Contraction product, TensorFormats formats);

/// Returns the approximate number of registers of a consumer's thread with this many sets of sums.
int64_t registersOfConsumer(const Schedule &schedule, int64_t sets);
/// Returns the number of columns of a tile that one block writes. With `split_k`, each block of the cluster writes a
/// part of the columns, at least eight. If there are fewer parts than blocks, the other blocks write no columns.
int64_t columnsOfBlock(const Schedule &schedule);
/// Returns the size in bytes of the memory of the tiles of all stages. With `split_k`, the sums of a tile are stored in
/// this memory after the last product, and may be larger than the tiles.
int64_t bytesOfSlots(const Schedule &schedule);
/// Returns the size of shared memory in bytes: bytesOfSlots(), and two mbarriers per stage.
int64_t bytesOfRing(const Schedule &schedule);

/// Returns the reason why a tile of a pair of products cannot have `width` columns of B, of both products together. The
/// tile has whole fragments, and whole boxes of each B. Returns an empty string for single products.
std::string whyNotColumns(Contraction product, int64_t width);

/// Returns the reason why a schedule cannot be emitted with this much shared memory, or an empty string if it can.
/// `product` may have either order of operands.
std::string whyNotWgmma(const Schedule &schedule, Contraction product, int64_t sharedBytes);

} // namespace tilewright::gpu

#endif

//===- MicroKernel.h - register-blocked products -------------------------------===//
//
// C[rows, panel] = sum over the reduction loops of A[row, r...] * B[r..., panel], with `rows` x `vectors` accumulators
// in registers. A is read one element per row and step and broadcast, B by whole vectors from its panel. 8x48 (8 rows,
// 3 vectors of 16) uses 24 accumulators, 3 for B and 1 for A of the 32 AVX-512 registers.
//
//===----------------------------------------------------------------------===//
#ifndef TILEWRIGHT_LIB_TARGET_CPU_MICROKERNEL_H
#define TILEWRIGHT_LIB_TARGET_CPU_MICROKERNEL_H

#include "mlir/IR/Builders.h"

namespace tilewright::cpu {

/// The innermost reduction runs in blocks of this many steps unless a schedule's `depth` says another number, each
/// summed on its own and then added to C: a block of B (24 KiB of a 48-column panel) shares the first-level cache with
/// A, and the error of a long sum grows with the block, not with K.
inline constexpr int64_t defaultReductionBlock = 128;

/// Where the operands of one block lie.
struct BlockAccess {
  mlir::Value lhs, rhs, out;
  /// Indices of A's element for `row` (an index value within the tile) at reduction ivs.
  std::function<llvm::SmallVector<mlir::Value>(mlir::OpBuilder &, mlir::Value row, mlir::ValueRange reduction)> lhsAt;
  /// Indices of the first element of the row of B's `panel` at reduction ivs.
  std::function<llvm::SmallVector<mlir::Value>(mlir::OpBuilder &, mlir::Value panel, mlir::ValueRange reduction)> rhsAt;
  /// Indices of C's element at `row` and `column`.
  std::function<llvm::SmallVector<mlir::Value>(mlir::OpBuilder &, mlir::Value row, mlir::Value column)> outAt;
  /// Extents of the reduction loops.
  llvm::SmallVector<mlir::Value> reductionSizes;
  /// Opens a loop over B's panels, sets `panel` and `firstColumn`, and calls the body inside.
  std::function<void(llvm::function_ref<void()>)> overPanels;
  mlir::Value panel;       ///< the current panel of B
  mlir::Value panels;      ///< how many there are
  mlir::Value firstColumn; ///< of the panel in C
  mlir::Value columns;     ///< of C: stores past it are masked
  /// Not null where the task computes several lines of an image, each with all of B: opens a loop over them, sets
  /// `rowsBefore`, the rows of the lines before (null where their number is not known), and calls the body inside.
  std::function<void(llvm::function_ref<void()>)> overLines;
  mlir::Value rowsBefore;
  int64_t rowsInTask = 0; ///< of all lines
  /// Not null: what is to be done with the rows [from, to) of C once they are complete. A kernel may do it while it
  /// computes later rows; it leaves the last 32 of whole blocks, and what follows them.
  std::function<void(mlir::OpBuilder &, mlir::Value from, mlir::Value to)> rowsDone;
  bool rhsNear = false;     ///< the task packed B itself: it is in the second-level cache, nothing is fetched ahead
  bool wholePanels = false; ///< columns is a multiple of the panel
  int64_t reductionBlock = defaultReductionBlock; ///< steps of the innermost reduction that are summed in registers
  int64_t blockRows = 0; ///< rows in registers at a time; 0 or tile::wholeBlocks: as many as fit
  int64_t tileRows = 0;  ///< of the matrix unit's tiles of A and C; 0: as rowsOfTiles() has them
  /// Dimensions of A that rows and the innermost reduction run over, and of C that rows run over; a row of the tile is
  /// `lhsRowStep` elements of A's dimension (a convolution's stride).
  int64_t lhsRowDim = 0, lhsDepthDim = 1, outRowDim = 0, lhsRowStep = 1;

  /// Whether consecutive k of A are neighbours.
  bool lhsDepthContiguous() const;
  /// Whether the outer reductions are single steps.
  bool hasOneRun() const;
  /// Whether there are outer reductions, around an innermost one so long that each of its runs is added to C.
  /// (shorter ones too, where operands are widened in blocks before, which registers through all reductions rule out).
  bool runsApart() const;
  bool widens = false; ///< operands narrower than f32 are multiplied in f32
};

/// The stride of a buffer's dimension, where its type says it.
std::optional<int64_t> staticStride(mlir::Value value, int64_t dim);

/// Memory of `element` in the kernel's stack frame.
mlir::Value onStack(mlir::OpBuilder &builder, mlir::Location loc, llvm::ArrayRef<int64_t> sizes, mlir::Type element);

/// Where B is read next, behind one panel's part of a block of k.
struct NextBlock {
  mlir::Value panel, steps; ///< the panel, and how far from here its k begin
};

/// The next panel at the same k; after the last panel the first one at the next k, `depth` steps from here. Where there
/// is one panel, the next k, behind which lies the next task's panel.
NextBlock nextBlock(mlir::OpBuilder &builder, mlir::Location loc, const BlockAccess &access, int64_t depth);

/// The rows of a tile at most; 0: not known.
int64_t mostRows(mlir::OpFoldResult rows);

/// Rows at a time for `vectors` accumulator vectors per row and `registers` vector registers, `others` of them taken.
int64_t rowsPerBlock(int64_t vectors, int64_t registers, int64_t others = 0);

/// How a step of the reduction multiplies: one k in f32; a pair of k in f32, one after the other; a pair of bf16 by
/// vdpbf16ps; four bytes by vpdpbusd; a pair of bytes, widened, by vpmaddwd. B holds the k of a step side by side.
enum class Product { Fma, PairFma, PairDot, ByteDot, WordDot };

/// k of one step.
inline int64_t stepOf(Product product) { return product == Product::Fma ? 1 : product == Product::ByteDot ? 4 : 2; }

/// Emits the product of `rows` rows (a value) from row 0 on with all panels, in blocks of rowsPerBlock and a ladder of
/// powers of two. Blocks of the reduction run around the panels (Goto and van de Geijn, "Anatomy of high-performance
/// matrix multiplication", 2008): a block of A stays in the second-level cache, each panel of B is read once.
void emitPanels(mlir::OpBuilder &builder, mlir::Location loc, BlockAccess &access, mlir::OpFoldResult rows,
                int64_t vectors, int64_t lanes, int64_t registers, Product product);

} // namespace tilewright::cpu

#endif

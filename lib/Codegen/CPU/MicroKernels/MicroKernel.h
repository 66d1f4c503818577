//===- MicroKernel.h - register-blocked products -------------------------------===//
//
// C[rows, panel] = sum over the reduction loops of A[row, r...] * B[r..., panel], with `rows` x `vectors` accumulators
// in registers. In each step, one element of A per row is broadcast (or several elements along k, see Product), and
// whole vectors of a panel of B are loaded. For example, a block of 8 rows and 3 vectors of 16 columns (8x48) uses 24
// accumulators, 3 registers for B and 1 for A, of the 32 AVX-512 registers.
//
//===----------------------------------------------------------------------===//
#ifndef TILEWRIGHT_LIB_CODEGEN_CPU_MICROKERNELS_MICROKERNEL_H
#define TILEWRIGHT_LIB_CODEGEN_CPU_MICROKERNELS_MICROKERNEL_H

#include "dialects/Schedule/CpuSchedule.h"
#include "mlir/IR/Builders.h"

namespace tilewright::cpu {

/// The operands of a product, and how its blocks access them.
struct BlockAccess {
  mlir::Value lhs, rhs, out;
  /// Returns the indices of A's element for `row` (an index in the tile) and the induction variables `reduction`.
  std::function<llvm::SmallVector<mlir::Value>(mlir::OpBuilder &, mlir::Value row, mlir::ValueRange reduction)> lhsAt;
  /// Returns the indices of the first element of a row of B's `panel`, for the induction variables `reduction`.
  std::function<llvm::SmallVector<mlir::Value>(mlir::OpBuilder &, mlir::Value panel, mlir::ValueRange reduction)> rhsAt;
  /// Returns the indices of C's element at `row` and `column`.
  std::function<llvm::SmallVector<mlir::Value>(mlir::OpBuilder &, mlir::Value row, mlir::Value column)> outAt;
  /// Extents of the reduction loops.
  llvm::SmallVector<mlir::Value> reductionSizes;
  /// Emits a loop over B's panels, sets `panel` and `firstColumn`, and calls the body inside.
  std::function<void(llvm::function_ref<void()>)> overPanels;
  mlir::Value panel;       ///< the current panel of B
  mlir::Value panels;      ///< number of panels
  mlir::Value firstColumn; ///< index of the panel's first column in C
  mlir::Value columns;     ///< number of columns of C; stores to later columns are masked
  /// Emits a loop over the lines (rows of pixels) of a convolution, sets `rowsBefore` to the number of rows of the
  /// previous lines (null if it is not known), and calls the body inside. Null unless lines are computed separately, so
  /// that each line needs all of B.
  std::function<void(llvm::function_ref<void()>)> overLines;
  mlir::Value rowsBefore;
  int64_t rowsInTask = 0; ///< number of rows of all lines of the task
  /// If not null, emits the code after the product for the rows [from, to) of C, which are complete. This code may run
  /// while later rows are computed. The caller of the kernel emits the code for rows for which the kernel does not call
  /// rowsDone.
  std::function<void(mlir::OpBuilder &, mlir::Value from, mlir::Value to)> rowsDone;
  bool rhsNear = false;     ///< true: B is in the L2 cache (packed by the task, or small), so it is not prefetched
  bool wholePanels = false; ///< true: `columns` is known to be a multiple of the panel's width
  int64_t reductionBlock = schedule::defaultKBlock; ///< number of steps of a K-block
  /// Rows of a block; 0 or schedule::wholeBlocks: limited by the registers and the sets of the L1 cache.
  int64_t blockRows = 0;
  int64_t tileRows = 0; ///< rows of the AMX tiles of A and C; 0: as rowsOfTiles() returns
  /// `lhsRowDim` and `lhsDepthDim` are the dimensions of A that the row number and the innermost reduction loop index.
  /// `outRowDim` is the dimension of C that the row number indexes. The indices of adjacent rows in dimension
  /// `lhsRowDim` of A differ by `lhsRowStep` (the stride of a convolution).
  int64_t lhsRowDim = 0, lhsDepthDim = 1, outRowDim = 0, lhsRowStep = 1;

  /// Returns true if A is contiguous along k.
  bool lhsDepthContiguous() const;
  /// Returns true if every reduction loop except the innermost has the constant trip count 1, so that the reduction is
  /// one contiguous run.
  bool hasOneRun() const;
  /// Returns true if an outer reduction loop may have more than one iteration, and the innermost reduction (a run) has
  /// an unknown length or is so long that each run should be added to C separately. The limit is lower for operands
  /// that are converted to f32, because they can be converted block by block only if runs are separate.
  bool hasSeparateRuns() const;
  bool widens = false; ///< true: operands of less than 32 bits are multiplied in f32
};

/// Returns the stride of dimension `dim` of the buffer `value` if the buffer's type contains it, otherwise
/// std::nullopt.
std::optional<int64_t> staticStride(mlir::Value value, int64_t dim);

/// Allocates a buffer of shape `sizes` in the kernel's stack frame, aligned to 64 bytes.
mlir::Value onStack(mlir::OpBuilder &builder, mlir::Location loc, llvm::ArrayRef<int64_t> sizes, mlir::Type element);

/// The block of B that the kernel reads after the current K-block of the current panel.
struct NextBlock {
  mlir::Value panel, steps; ///< the panel, and the number of steps from the current k to the first k of the block
};

/// Returns the next block of B. This is the block of the next panel at the same k. After the last panel, it is the
/// block of the first panel `depth` steps after the current k. If there is only one panel, the next block is the block
/// of this panel `depth` steps after the current k. After the last K-block, this address is in the panel of the next
/// task, because that panel is stored after this panel.
NextBlock nextBlock(mlir::OpBuilder &builder, mlir::Location loc, const BlockAccess &access, int64_t depth);

/// Returns an upper bound of `rows`, the number of rows of a tile, or 0 if no constant bound is known.
int64_t mostRows(mlir::OpFoldResult rows);

/// Returns the number of rows per block for `vectors` accumulators per row, if `others` of the `registers` vector
/// registers contain other values.
int64_t rowsPerBlock(int64_t vectors, int64_t registers, int64_t others = 0);

/// The multiplication in a step of the reduction. Fma: one k in f32. PairFma: a pair of k in f32, one after the other.
/// PairDot: a pair of bf16 by vdpbf16ps. ByteDot: four bytes by vpdpbusd. WordDot: a pair of widened bytes by vpmaddwd.
/// The elements of B that a step multiplies are adjacent along k.
enum class Product { Fma, PairFma, PairDot, ByteDot, WordDot };

/// Returns the number of elements along k that one step multiplies.
inline int64_t stepOf(Product product) { return product == Product::Fma ? 1 : product == Product::ByteDot ? 4 : 2; }

/// Emits the product of `rows` rows (static or a value) from row 0 on with all panels, in blocks of at most
/// rowsPerBlock() rows and smaller blocks for the remaining rows. K-blocks are the outer loop and panels the inner loop
/// (Goto and van de Geijn, "Anatomy of high-performance matrix multiplication", 2008): a block of A stays in the L2
/// cache, and each panel of B is read once.
void emitPanels(mlir::OpBuilder &builder, mlir::Location loc, BlockAccess &access, mlir::OpFoldResult rows,
                int64_t vectors, int64_t lanes, int64_t registers, Product product);

} // namespace tilewright::cpu

#endif

//===- GradientRows.h - rows of the gradient of attention in a warp's registers -----------===//
//
// This is the part of the gradient that does not depend on the multiply instruction. One launch has two kinds of
// blocks. Each block processes one head. The kinds differ in the rows that a block owns:
//
//   own keys, values    iterate over queries and result gradients:  dK = scale * sums of dS' Q,  dV = sums of P' dO
//   own queries, dO     iterate over keys and values:               dQ = scale * sums of dS K
//
//   P  = exp(own_0 x other_0 * scale + mask - log-sum-exp), 0 if hidden
//   dS = P * (own_1 x other_1 - delta)                      delta = sum(dO * O) of the query's row, an operand
//
// If the block's own rows are keys, P and dS are transposed. Therefore, in both kinds of blocks, the fragments of
// scores have the layout of the second product's left operand, and no score is stored in memory. Because both kinds
// compute the scores, there are seven products instead of five. The advantage is that only one block computes each
// result, so results are bitwise reproducible without atomics. A query has two statistics, delta and a base. The base
// is that of the query's weights (AttentionCode.h), or +inf if the query attends to no key.
//
//===----------------------------------------------------------------------===//
#ifndef TILEWRIGHT_LIB_CODEGEN_NVPTX_GRADIENTROWS_H
#define TILEWRIGHT_LIB_CODEGEN_NVPTX_GRADIENTROWS_H

#include "lib/Codegen/GPU/Schedule/AttentionGradient.h"
#include "lib/Codegen/NVPTX/AttentionCode.h"

namespace tilewright::cuda {
using namespace tilewright::gpu;

/// The base class of the emitters of the gradient. A thread has two own rows. For each of them, it has two adjacent
/// rows in each group of eight other rows.
class GradientRows : protected AttentionCode {
protected:
  GradientRows(ThreadKernel &kernel, const AttentionGradient &gradient);

  /// Sets the grid, and emits a branch for each kind of block. In each branch, sets the members that depend on the
  /// kind, and then calls `emit`.
  void forBothKinds(llvm::function_ref<void()> emit);

  /// Return the operand with the block's own rows, or with the rows that the block iterates over. Operand 0 has the
  /// head size (keys or queries), operand 1 the value size (values or dO).
  AttentionGradient::Operand ownOperand(unsigned number) const;
  AttentionGradient::Operand otherOperand(unsigned number) const;
  Operand operand(unsigned number) { return {gradient.op.getInputs()[number], gradient.dims[number]}; }
  int64_t columnsOf(unsigned number) const { return number == 0 ? gradient.headSize : gradient.valueSize; }
  /// Returns the number of sums that a thread has for all results of this kind of block.
  size_t numSums() const { return size_t((gradient.headSize + (ofKeys ? gradient.valueSize : 0)) / 2); }

  /// Return a statistic of the query `position`.
  mlir::Value baseOf(mlir::Value position);
  mlir::Value deltaOf(mlir::Value position);
  /// Loads the statistics of this thread's own queries. The block's own rows must be queries.
  void loadOwnStatistics();
  /// Returns the smaller one of `position` and the index of the last row of the other operands.
  mlir::Value clampedOther(mlir::Value position);

  /// Converts scores to weights in place. The scores are products of own rows and of other rows, which start at
  /// `begin`. `bases` is a pointer to the bases of the other rows in shared memory, and is not used if the other rows
  /// are keys.
  void toWeights(mlir::Value begin, llvm::MutableArrayRef<mlir::Value> scores, mlir::Value bases);
  /// Converts products of dO and values to dS in place. `deltas` is a pointer to the deltas of the other rows, like
  /// `bases`.
  void toSlopes(llvm::ArrayRef<mlir::Value> weights, llvm::MutableArrayRef<mlir::Value> products, mlir::Value deltas);
  /// Stores the sums as the results of this kind of block.
  void write(llvm::ArrayRef<mlir::Value> sums);

  /// Returns the other row of the score at `position`, relative to the thread's first other row. A thread has four
  /// scores per group of eight other rows.
  static int64_t offsetInTile(size_t position) { return int64_t(position / 4 * 8 + position % 2); }

  AttentionGradient gradient;
  ScoreScale scale;
  mlir::Value pair; ///< in each group of eight other rows, the first of this thread's two adjacent rows
  // The following members depend on the kind of block that is being emitted:
  bool ofKeys = false; ///< the block's own rows are keys, else queries
  mlir::Value ownCount, otherCount, batch, head, blockRow, warpRow;
  mlir::Value firstTile, endTile; ///< the tiles of other rows that the block iterates over

private:
  struct Row {
    mlir::Value position;
    mlir::Value valid; ///< null: the row is always valid; an invalid row is clamped to the last row
  };

  mlir::AffineExpr blocksFor(unsigned number);
  bool causal() { return gradient.op.getCausal(); }
  void locate(mlir::Value block);
  /// Returns the statistics for the four scores that a thread has in a group of eight other rows.
  std::array<mlir::Value, 4> statisticsOf(std::array<mlir::Value, 2> own, mlir::Value others, int64_t group);
  void addMask(mlir::Value first, llvm::MutableArrayRef<mlir::Value> scores);
  /// Sets the scores of rows after the last row of the other operands to -inf. If there is a causal mask, also sets the
  /// scores of keys after the query to -inf. The code is in a branch, because few tiles need it.
  void hideUnseen(mlir::Value begin, mlir::Value first, llvm::MutableArrayRef<mlir::Value> scores);
  /// Multiplies the sums by `factor` (null: 1) and stores them as result number `result`.
  void write(unsigned result, llvm::ArrayRef<mlir::Value> sums, mlir::Value factor);

  std::array<Row, 2> row;                   ///< own rows of this thread
  std::array<mlir::Value, 2> bases, deltas; ///< statistics of the own rows, if these are queries
};

} // namespace tilewright::cuda

#endif

//===- AttentionRows.h - rows of attention in a warp's registers: their softmax -------------===//
//
// What attention is whichever instruction multiplies: which rows a block, a warp and a thread have, the online softmax
// of a tile of scores, and what is stored in the end. A warp has 16 rows; of each eight of their columns a thread has
// two in each of two rows, as mma.sync and wgmma give sums and take the left operand.
//
//===----------------------------------------------------------------------===//
#ifndef TILEWRIGHT_LIB_TARGET_CUDA_ATTENTIONROWS_H
#define TILEWRIGHT_LIB_TARGET_CUDA_ATTENTIONROWS_H

#include "lib/Target/CUDA/Attention.h"
#include "lib/Target/CUDA/AttentionCode.h"

namespace tilewright::cuda {

/// The base of what emits attention. The state of a thread's rows: sums, for both rows the maximum, and this thread's
/// part of both totals.
class AttentionRows : protected AttentionCode {
protected:
  AttentionRows(ThreadKernel &kernel, Attention attention);

  struct Row {
    mlir::Value head, place;
    mlir::Value valid; ///< null: always; a row that is not is the last one
  };

  Operand operand(Attention::Operand which) { return {attention.op.getInputs()[which], places[which]}; }
  mlir::Value sizeOf(Attention::Operand which, unsigned dim) { return size(operand(which), dim); }
  mlir::Value columns() { return sizeOf(Attention::Key, 2); }

  /// Which head and rows are this block's, and which two rows this thread's: of warp `warp`.
  void placeRows();
  /// Row `number` of those that blocks share.
  Row placeOf(mlir::Value number);
  /// How many columns a row of this block sees at most.
  mlir::Value columnsSeen();
  /// The state before the first tile.
  llvm::SmallVector<mlir::Value> beginning();
  /// Products of queries and a tile of keys become weights of values; the state becomes that of the larger maxima.
  void weigh(mlir::Value tile, llvm::MutableArrayRef<mlir::Value> scores, llvm::MutableArrayRef<mlir::Value> state);
  void write(llvm::SmallVector<mlir::Value> state);

  Attention attention;
  llvm::SmallVector<int64_t, 4> places[4]; ///< of each operand and the result
  mlir::Value batch, keyHead, blockRow, warpRow;
  mlir::Value firstHead; ///< of this block: of keys where rows are of a group of heads, else of queries
  mlir::Value rows;      ///< that blocks share
  mlir::Value pair;      ///< the first of the two columns of each eight that are this thread's
  std::array<Row, 2> row;

private:
  /// The four lanes that share a row, combined.
  mlir::Value inQuad(mlir::Value value, llvm::function_ref<mlir::Value(mlir::Value, mlir::Value)> combine);
  /// `max`, or 0 for a row that has seen nothing, so that its exponentials are 0.
  mlir::Value orZero(mlir::Value max);
  void addMask(mlir::Value firstColumn, llvm::MutableArrayRef<mlir::Value> scores);
  /// -inf for columns behind the last one and, where it is causal, behind the row. Tiles that need it are few.
  void hideUnseen(mlir::Value tile, mlir::Value firstColumn, llvm::MutableArrayRef<mlir::Value> scores);
};

} // namespace tilewright::cuda

#endif

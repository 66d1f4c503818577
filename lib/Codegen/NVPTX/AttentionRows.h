//===- AttentionRows.h - rows of attention in a warp's registers, and their softmax ---------===//
//
// This is the part of attention that does not depend on the multiply instruction: the assignment of rows to blocks,
// warps and threads, the online softmax of a tile of scores, and the stores of the results. A warp has 16 rows. In each
// group of eight columns, a thread has two columns of each of two rows. mma.sync and wgmma use this layout for the
// accumulator and for the left operand.
//
//===----------------------------------------------------------------------===//
#ifndef TILEWRIGHT_LIB_CODEGEN_NVPTX_ATTENTIONROWS_H
#define TILEWRIGHT_LIB_CODEGEN_NVPTX_ATTENTIONROWS_H

#include "lib/Codegen/GPU/Schedule/Attention.h"
#include "lib/Codegen/NVPTX/AttentionCode.h"

namespace tilewright::cuda {
using namespace tilewright::gpu;

/// The base class of the emitters of attention. The state of a thread consists of three parts: its columns of the sums
/// of its two rows, the maximum of each row, and its part of each row's total.
class AttentionRows : protected AttentionCode {
protected:
  AttentionRows(ThreadKernel &kernel, Attention attention);

  struct Row {
    mlir::Value head, position;
    mlir::Value valid; ///< null: the row is always valid; an invalid row is clamped to the last row
  };

  Operand operand(Attention::Operand number) { return {attention.op.getInputs()[number], dims[number]}; }
  mlir::Value sizeOf(Attention::Operand number, unsigned dim) { return size(operand(number), dim); }
  mlir::Value columns() { return sizeOf(Attention::Key, 2); }

  /// Sets the grid, and computes the head and the rows of this block, and the two rows of this thread in warp `warp`.
  void locateRows();
  /// Returns row `number` of the rows that are divided among blocks.
  Row rowAt(mlir::Value number);
  /// Returns the number of leading columns that include all columns to which the rows of this block attend.
  mlir::Value columnsSeen();
  /// Returns the state before the first tile.
  llvm::SmallVector<mlir::Value> beginning();
  /// Converts scores (queries times a tile of keys) to softmax weights in place, and updates `statistics`, the last
  /// four values of the state. Returns the factors by which rescale() must multiply the sums of both rows.
  std::array<mlir::Value, 2> weigh(mlir::Value tile, llvm::MutableArrayRef<mlir::Value> scores,
                                   llvm::MutableArrayRef<mlir::Value> statistics);
  void rescale(llvm::MutableArrayRef<mlir::Value> sums, std::array<mlir::Value, 2> factors);
  void write(llvm::SmallVector<mlir::Value> state);

  Attention attention;
  ScoreScale scale;
  llvm::SmallVector<int64_t, 4> dims[4]; ///< tensor dimensions of each operand and of the result
  mlir::Value batch, keyHead, blockRow, warpRow;
  mlir::Value firstHead; ///< first head of this block: a key head if rows are grouped over query heads
  mlir::Value rows;      ///< number of rows that are divided among blocks
  mlir::Value pair;      ///< this thread's first column of each group of eight
  std::array<Row, 2> row;

private:
  /// Combines the values of the four lanes that share a row.
  mlir::Value inQuad(mlir::Value value, llvm::function_ref<mlir::Value(mlir::Value, mlir::Value)> combine);
  /// Returns `max`, or 0 if the row attends to no column. The exponentials of such a row are then 0.
  mlir::Value orZero(mlir::Value max);
  /// Returns the maximum of a row's scores, multiplied by the scale.
  mlir::Value scaled(mlir::Value max);
  void addMask(mlir::Value firstColumn, llvm::MutableArrayRef<mlir::Value> scores);
  /// Sets the scores of columns after the last column to -inf. If there is a causal mask, also sets the scores of
  /// columns after the row's own index to -inf. The code is in a branch, because few tiles need it.
  void hideUnseen(mlir::Value tile, mlir::Value firstColumn, llvm::MutableArrayRef<mlir::Value> scores);
};

} // namespace tilewright::cuda

#endif

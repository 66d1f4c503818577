//===- AttentionCode.h - what attention and its gradient share on tensor cores ----------===//
#ifndef TILEWRIGHT_LIB_TARGET_CUDA_ATTENTIONCODE_H
#define TILEWRIGHT_LIB_TARGET_CUDA_ATTENTIONCODE_H

#include "lib/Target/CUDA/TileCode.h"

namespace tilewright::cuda {

/// Numbers of f32, tiles of rows of a head, and masks.
class AttentionCode : protected TileCode {
protected:
  /// An operand of four dimensions, (batch, head, row, column), each of which lies somewhere in the tensor.
  struct Operand {
    mlir::Value tensor;
    llvm::ArrayRef<int64_t> places;
  };
  /// Rows of one head.
  struct Rows {
    Operand operand;
    mlir::Value batch, head;
    mlir::Value count;   ///< rows that there are
    int64_t columns = 0; ///< numbers of a row
  };

  AttentionCode(ThreadKernel &kernel, mlir::Type element);

  mlir::Value number(double value);
  mlir::Value maximum(mlir::Value a, mlir::Value b);
  mlir::Value times(mlir::Value a, mlir::Value b);
  mlir::Value plus(mlir::Value a, mlir::Value b);
  mlir::Value minus(mlir::Value a, mlir::Value b);
  /// exp(a - b).
  mlir::Value expOfDifference(mlir::Value a, mlir::Value b);
  /// Two numbers in the type of the operands, as a fragment.
  mlir::Value packed(llvm::ArrayRef<mlir::Value> two);

  mlir::Value size(const Operand &operand, unsigned dim);
  /// `at` in the order that the tensor has.
  static llvm::SmallVector<mlir::Value> placed(const Operand &operand, std::array<mlir::Value, 4> at);
  mlir::Value globalAddress(const Operand &operand, std::array<mlir::Value, 4> at);
  /// Copies `tile.rows` rows from `first` on into a tile by cp.async: zeros behind the last row, and behind the last
  /// column where the tile has more.
  void copyRows(const SharedTile &tile, mlir::Value slot, const Rows &rows, mlir::Value first);
  /// The first number of a chunk, or of the row where it lies behind the last one and is not `inside`.
  mlir::Value columnOf(mlir::Value chunk, const SharedTile &tile, int64_t columns, mlir::Value &inside);

  /// A score that a mask changes at (batch, head, query, key): what is added, or -inf where a boolean says no. The mask
  /// has the last dimensions of those, or ones.
  mlir::Value masked(mlir::Value score, mlir::Value mask, std::array<mlir::Value, 4> at);

  mlir::Type f32;
  mlir::Value zero, lowest;
};

} // namespace tilewright::cuda

#endif

//===- LowerRows.h - a tensor as rows that are reduced -----------------------===//
#ifndef TILEWRIGHT_LIB_KERNELS_LOWERROWS_H
#define TILEWRIGHT_LIB_KERNELS_LOWERROWS_H

#include "dialects/Tile/Tile.h"
#include "lib/Kernels/Lowering.h"

namespace tilewright::structured {

using RowBody = llvm::function_ref<mlir::Value(mlir::OpBuilder &, mlir::Location, mlir::ValueRange)>;

/// The iteration space of a tensor, some of whose dimensions are reduced; the other dimensions are the rows. Every op
/// of a normalization runs over this one space or over its rows, so that tiles of rows can be fused.
struct Rows {
  Rows(Lowering &l, mlir::RankedTensorType type, llvm::ArrayRef<int64_t> dims);

  /// Reads a graph value over the whole space. Every reduced dimension appears in the map.
  Read full(mlir::Value graphValue);
  /// Read a tensor of rows, or a tensor of the whole space, over the whole space.
  Read row(mlir::Value rows) { return Lowering::of(rows, rowMap); }
  Read whole(mlir::Value tensor) { return Lowering::of(tensor, l.identity(sizes.size())); }

  /// Combines body(inputs) along the rows, in `accumulator`.
  mlir::Value reduce(tile::Combiner kind, mlir::Type accumulator, llvm::ArrayRef<Read> inputs, bool isUnsigned,
                     RowBody body);
  /// Does the same with several accumulators: body(inputs, accumulators) returns their next values,
  /// beginning with `starts`.
  llvm::SmallVector<mlir::Value> fold(llvm::ArrayRef<mlir::TypedAttr> starts, llvm::ArrayRef<Read> inputs,
                                      BodyBuilder body);
  /// Computes one element for each row, from tensors of rows.
  mlir::Value perRow(mlir::Type type, llvm::ArrayRef<mlir::Value> rows, RowBody body);
  /// Computes one element for each element of the whole space.
  mlir::Value perElement(mlir::Type storage, llvm::ArrayRef<Read> inputs, RowBody body);

  /// Returns the number of reduced elements of a row.
  mlir::Value countAs(mlir::OpBuilder &b, mlir::Location at, mlir::Type type);
  /// Returns the mean of each row and the sum of the squared differences from it. With `parts`, each element is the
  /// mean of `elements.count` elements, whose own squared differences are `within` (Chan, Golub, LeVeque 1983).
  struct Parts {
    Read within;
    Rows &elements;
  };
  struct Moments {
    mlir::Value mean, squares;
  };
  Moments moments(mlir::Type f, const Read &input, std::optional<Parts> parts = std::nullopt);

  /// Sets a result of the op to a tensor of rows, with the reduced dimensions either dropped or of size 1.
  void setResult(mlir::Value graphValue, mlir::Value rows);

  Lowering &l;
  llvm::SmallVector<mlir::AffineExpr> sizes, rowSizes;
  llvm::SmallVector<mlir::utils::IteratorType> iterators;
  mlir::AffineMap rowMap; // the whole space -> rows
  mlir::AffineExpr count;
};

/// Returns (value, index) after a comparison of x at `index` with the best so far. The result is the first maximum or
/// minimum, whatever the order of visits. NaN wins. With `lastNaN` each NaN replaces the previous one, as in torch's
/// pooling.
llvm::SmallVector<mlir::Value> keepExtreme(mlir::OpBuilder &b, mlir::Location at, bool isMax, bool isUnsigned,
                                           mlir::Value x, mlir::Value index, mlir::Value best, mlir::Value bestIndex,
                                           bool lastNaN = false);

} // namespace tilewright::structured

#endif

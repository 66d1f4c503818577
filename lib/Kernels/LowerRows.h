//===- LowerRows.h - a tensor as rows that are reduced -----------------------===//
#ifndef TILEWRIGHT_LIB_KERNELS_LOWERROWS_H
#define TILEWRIGHT_LIB_KERNELS_LOWERROWS_H

#include "dialects/Tile/Tile.h"
#include "lib/Kernels/Lowering.h"

namespace tilewright::structured {

using RowBody = llvm::function_ref<mlir::Value(mlir::OpBuilder &, mlir::Location, mlir::ValueRange)>;

/// The iteration space of a tensor with reduced dimensions. The dimensions that are not reduced index the rows. Every
/// op of a normalization iterates over this space or over its rows, so that tiles of rows can be fused.
struct Rows {
  Rows(Lowering &l, mlir::RankedTensorType type, llvm::ArrayRef<int64_t> dims);

  /// Reads a graph value over the whole space. Every reduced dimension appears in the map.
  Read full(mlir::Value graphValue);
  /// row() reads a tensor with one element per row, and broadcasts each element along the reduced dimensions. whole()
  /// reads a tensor with one element for each element of the space.
  Read row(mlir::Value rows) { return Lowering::of(rows, rowMap); }
  Read whole(mlir::Value tensor) { return Lowering::of(tensor, l.identity(sizes.size())); }

  /// Reduces body(inputs) along each row, in the type `accumulator`.
  mlir::Value reduce(tile::Combiner kind, mlir::Type accumulator, llvm::ArrayRef<Read> inputs, bool isUnsigned,
                     RowBody body);
  /// Reduces each row with several accumulators, whose initial values are `starts`: body(inputs, accumulators) returns
  /// their next values.
  llvm::SmallVector<mlir::Value> fold(llvm::ArrayRef<mlir::TypedAttr> starts, llvm::ArrayRef<Read> inputs,
                                      BodyBuilder body);
  /// Computes one element for each row, from tensors that have one element per row.
  mlir::Value perRow(mlir::Type type, llvm::ArrayRef<mlir::Value> rows, RowBody body);
  /// Computes one element for each element of the whole space.
  mlir::Value perElement(mlir::Type storage, llvm::ArrayRef<Read> inputs, RowBody body);

  /// Returns the number of reduced elements of a row, in the type `type`.
  mlir::Value countAs(mlir::OpBuilder &b, mlir::Location at, mlir::Type type);
  /// moments() returns the mean of each row and the sum of the squared differences from the mean. With `parts`, each
  /// input element is the mean of `elements.count` elements, whose sum of squared differences is `within` (Chan, Golub,
  /// LeVeque 1983).
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
  mlir::AffineMap rowMap; // maps the whole space to the rows
  mlir::AffineExpr count;
};

/// Compares x, at `index`, with the best element so far, and returns the better one and its index. The final result is
/// the first maximum or minimum, for any order of visits. NaN is better than every number. With `lastNaN`, each NaN
/// replaces the previous one, as in torch's pooling.
llvm::SmallVector<mlir::Value> keepExtreme(mlir::OpBuilder &b, mlir::Location at, bool isMax, bool isUnsigned,
                                           mlir::Value x, mlir::Value index, mlir::Value best, mlir::Value bestIndex,
                                           bool lastNaN = false);

} // namespace tilewright::structured

#endif

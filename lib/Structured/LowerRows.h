//===- LowerRows.h - a tensor seen as rows to reduce --------------------------===//
#ifndef TILEWRIGHT_STRUCTURED_LOWERROWS_H
#define TILEWRIGHT_STRUCTURED_LOWERROWS_H

#include "dialects/Tile/Tile.h"
#include "lib/Structured/Lowering.h"

namespace tilewright::structured {

using RowBody = llvm::function_ref<mlir::Value(mlir::OpBuilder &, mlir::Location, mlir::ValueRange)>;

/// The iteration space of a tensor of which some dimensions are reduced; what is left are the rows. Everything a
/// normalization does runs over this one space or over the rows, so that tiles of rows fuse.
struct Rows {
  Rows(Lowering &l, mlir::RankedTensorType type, llvm::ArrayRef<int64_t> dims);

  /// The value read over the whole space; every reduced dimension shows in the map.
  Read full(mlir::Value graphValue);
  /// A tensor of rows, or one of the whole space, read over the whole space.
  Read row(mlir::Value rows) { return Lowering::of(rows, rowMap); }
  Read whole(mlir::Value tensor) { return Lowering::of(tensor, l.identity(sizes.size())); }

  /// body(inputs) combined along the rows, in `accumulator`.
  mlir::Value reduce(Combine kind, mlir::Type accumulator, llvm::ArrayRef<Read> inputs, bool isUnsigned, RowBody body);
  /// The same of several accumulators: body(inputs, accumulators so far) gives their next values, from `starts`.
  llvm::SmallVector<mlir::Value> fold(llvm::ArrayRef<mlir::TypedAttr> starts, llvm::ArrayRef<Read> inputs,
                                      BodyBuilder body);
  /// One element for each row, from tensors of rows.
  mlir::Value perRow(mlir::Type type, llvm::ArrayRef<mlir::Value> rows, RowBody body);
  /// One element for each of the whole space.
  mlir::Value perElement(mlir::Type storage, llvm::ArrayRef<Read> inputs, RowBody body);

  /// The number of reduced elements of a row.
  mlir::Value countAs(mlir::OpBuilder &b, mlir::Location at, mlir::Type type);
  /// The mean of each row and the sum of the squared differences from it. `parts`: the elements are means of `count`
  /// elements each, whose own squared differences are `within` (Chan, Golub, LeVeque 1983).
  struct Parts {
    Read within;
    Rows &elements;
  };
  struct Moments {
    mlir::Value mean, squares;
  };
  Moments moments(mlir::Type f, const Read &input, std::optional<Parts> parts = std::nullopt);

  /// Makes a tensor of rows a result of the op, with or without the reduced dimensions kept as 1.
  void setResult(mlir::Value graphValue, mlir::Value rows);

  Lowering &l;
  llvm::SmallVector<mlir::AffineExpr> sizes, rowSizes;
  llvm::SmallVector<mlir::utils::IteratorType> iterators;
  mlir::AffineMap rowMap; // the whole space -> rows
  mlir::AffineExpr count;
};

/// (value, index) after meeting x at `index`: the first extreme element, whatever the order of visits; NaN wins.
/// With `lastNaN` each NaN replaces the last one, as torch's pooling has it.
llvm::SmallVector<mlir::Value> keepExtreme(mlir::OpBuilder &b, mlir::Location at, bool isMax, bool isUnsigned,
                                           mlir::Value x, mlir::Value index, mlir::Value best, mlir::Value bestIndex,
                                           bool lastNaN = false);

} // namespace tilewright::structured

#endif
